//! The verifier: what every well-formed module satisfies.
//!
//! Analyses and transforms may rely on these rules without checking them. Within the rules below,
//! the verifier accepts and rejects what LLVM 22's verifier does. If LLVM has a message for a
//! mistake, the message here is the same. Debug information that describes code is kept but not
//! checked.
//!
//! # Rules
//!
//! **Tables** ([`integrity`]) Operands, types, blocks and index lists exist; operand and successor
//! counts fit the opcode; the block order names a block once; blocks outside of it are empty and
//! not referred to. If a function fails here, no other rule is checked. The same holds for a module
//! whose variables, types, names or metadata ([`tables`]) are not of its context.
//!
//! **Modules** ([`module`]) Names, comdats and identified types are defined once. Declarations have
//! external or weak linkage and no comdat; imported ones are no definitions. Initialisers have the
//! variable's type, which is sized and not scalable; common variables are zero, writable and in no
//! comdat; `appending` variables are arrays; `llvm.used`, `llvm.global_ctors` and their like have
//! the type and members that their names demand. Aliases have a permitted linkage, point to
//! definitions, never to interposable aliases, and form no cycle; an ifunc's resolver is a defined
//! function that returns a pointer. Block addresses name blocks that exist and are no entry.
//!
//! **Constants** ([`constants`]) Members fit their aggregate; expressions obey the rules of their
//! instruction; names refer to entities of the module.
//!
//! **Functions** ([`header`]) Result and parameters have permitted types; tokens and metadata are
//! for intrinsics only; `sret` goes with `void`. Kernels return nothing and, with the other entry
//! points of AMD GPUs, take no `sret`, `byval`, `inalloca`, `preallocated` or stack `byref`; such
//! conventions take no variable arguments. Intrinsics have no body; declarations have no
//! personality. A naked function does not use its arguments.
//!
//! **Attributes** ([`attrs`]) stand where they may, on types that they fit, without contradicting
//! each other.
//!
//! **Blocks** ([`function`](mod@function)) end in their only terminator. The entry has no
//! predecessors. Phis come first, with one entry per incoming edge and equal values for parallel
//! edges.
//!
//! **Dominance** ([`function`](mod@function)) The definition of an operand dominates its use; a phi
//! uses its operand at the end of the incoming block; the result of an `invoke` is available on the
//! normal edge only. In unreachable blocks any value may be used, even by its own definition; a
//! definition in an unreachable block must not be used in reachable ones.
//!
//! **Instructions** ([`values`], [`memory`], [`control`]) Operands and results have the types that
//! the opcode demands; results are first-class; metadata is for calls only; intrinsics and inline
//! assembly are called, not stored. Sizes of atomic operations are powers of two of at least a
//! byte, and their orderings are valid for the operation. Stack objects on AMD GPUs are in address
//! space 5; case values are distinct constants; flags are known to the opcode. Phis and selects
//! have no tokens.
//!
//! **Calls** ([`call`], [`intrinsics`], [`inline_asm`]) Arguments fit the function type; the
//! convention permits calls; bundles that may occur once do. Intrinsics are only called, with their
//! own type. Those of all targets and of GPUs have LLVM's signature, with immediate arguments where
//! it demands them. Lifetimes are of stack objects. Constraints of inline assembly fit its type.
//! `musttail` calls match their caller and stand before a return of their result. `swifterror`
//! slots are loaded, stored to and passed on, and nothing else.
//!
//! **Exception handling** ([`eh`]) Pads come first in their block, in a function with a
//! personality, and are entered by unwinding only; landing pads and resumes of a function agree on
//! a type; catch switches lead to catch pads.
//!
//! **Metadata** ([`metadata`], [`tbaa`], [`profile`], [`attached`]) `!range`, `!nonnull`, `!align`,
//! `!dereferenceable`, `!fpmath`, `!prof`, `!mmra`, `!annotation` and the like are attached to
//! permitted instructions and have the required shape; tags of `!tbaa` lead from their base to the
//! type of the access at their offset; scopes of aliasing have domains; module flags are
//! well-formed, unique and meet the requirements of others.
//!
//! **Debug information** ([`debug_info`]) Of nodes that named metadata leads to: expressions have
//! known operations with their operands, types and ranges have the fields that go together, compile
//! units are listed.
//!
//! **Operands of intrinsics** ([`intrinsic_values`], [`call`]) Immediates are in their range;
//! operands whose types the signature does not distinguish fit each other.
//!
//! **Convergence control** ([`convergence`]) Tokens come from the three intrinsics; functions use
//! them everywhere or nowhere; regions nest; a cycle has one heart, in its header.
//!
//! # Errors
//!
//! Errors of a function are collected in the order of the text: of each instruction the first
//! broken rule. Phis that do not fit their edges and rules of convergence control are reported in
//! addition. Rules are pure look-ups and nothing is recursive. The whole is O(n log n) in
//! instructions and edges at worst.

mod amdgpu;
mod attached;
mod attrs;
mod call;
mod constants;
mod control;
mod convergence;
mod debug_info;
mod eh;
pub(crate) mod env;
pub(crate) mod fault;
mod function;
mod gc;
mod header;
mod inline_asm;
pub(crate) mod integrity;
mod intrinsic_values;
mod intrinsics;
mod memory;
mod metadata;
mod module;
mod profile;
pub(crate) mod result;
pub(crate) mod rules;
pub(crate) mod tables;
mod target_attrs;
mod tbaa;
pub(crate) mod types;
mod values;
pub(crate) mod view;

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use self::{constants::Constants, env::Env};
pub use self::{
    env::{Headers, ModuleIndex},
    fault::{Related, VerifyError},
};
use crate::{
    describe,
    function::{Function, FunctionHeader, FunctionRef},
    module::Module,
};

/// The verifier of one module. Functions can be verified one at a time, in any order, from any
/// thread.
///
/// ```
/// use std::sync::Arc;
/// use phalanx_ir::{Context, Module, Verifier};
///
/// let module = Module::new(Arc::new(Context::new()));
/// assert!(Verifier::new(&module).module().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Verifier<'m> {
    module: &'m Module,
    index: ModuleIndex,
    convergent_intrinsic: fn(&[u8]) -> bool,
    threads: usize,
}

impl<'m> Verifier<'m> {
    /// A verifier of the functions and globals of a module. O(entities).
    pub fn new(module: &'m Module) -> Self {
        let index = ModuleIndex::new(module);
        Verifier { module, index, convergent_intrinsic: |_| false, threads: 1 }
    }

    /// Sets the predicate that says which intrinsics are convergent operations whether or not their
    /// declaration says so.
    ///
    /// LLVM knows that of all its intrinsics; here the tables of the targets know it.
    #[must_use]
    pub fn with_convergent_intrinsics(mut self, is_convergent: fn(&[u8]) -> bool) -> Self {
        self.convergent_intrinsic = is_convergent;
        self
    }

    /// Verifies the functions of a module in at most so many threads. The errors do not depend on
    /// it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// All broken rules of the module: those of its functions in order, then those of everything
    /// else.
    pub fn module(&self) -> Vec<VerifyError> {
        let functions: Vec<FunctionRef<'_>> =
            self.module.functions.iter().map(Function::view).collect();
        in_pieces(&|| self.env(), &functions, true, self.threads)
    }

    /// All broken rules of one function. The function need not be in the module yet, but everything
    /// that it refers to must be.
    pub fn function(&self, function: &Function) -> Vec<VerifyError> {
        self.function_view(function.view())
    }

    /// As [`Verifier::function`], for a function whose parts are stored separately.
    pub fn function_view(&self, function: FunctionRef<'_>) -> Vec<VerifyError> {
        function::check(&self.env(), &mut Constants::default(), function)
    }

    fn env(&self) -> Env<'_> {
        let mut env = Env::new(self.module, &self.index);
        env.convergent_intrinsic = self.convergent_intrinsic;
        env
    }
}

/// All broken rules of a module whose functions are stored elsewhere. As [`Verifier::module`];
/// O(module). Function bodies are not checked if they are known to break no rule.
pub fn module_in(
    module: &Module,
    functions: &[FunctionRef<'_>],
    convergent_intrinsic: fn(&[u8]) -> bool,
    with_bodies: bool,
) -> Vec<VerifyError> {
    let index = ModuleIndex::with_functions(module, functions.iter().map(|f| f.header.name));
    let headers = Pieces(functions);
    let env = || {
        let mut env = Env::over(module, &index, &headers);
        env.convergent_intrinsic = convergent_intrinsic;
        env
    };
    in_pieces(&env, functions, with_bodies, 1)
}

/// An error of [`module_in`] as text for people, with its entities named.
pub fn told(module: &Module, functions: &[FunctionRef<'_>], error: &VerifyError) -> String {
    let function = functions.iter().find(|f| Some(f.header.name) == error.function).copied();
    let text = describe::error(module, function, error);
    match function {
        Some(function) => {
            format!("{}: {text}", describe::global(&module.context, function.header.name))
        }
        None => text,
    }
}

/// Headers of functions that are stored separately.
struct Pieces<'a>(&'a [FunctionRef<'a>]);

impl Headers for Pieces<'_> {
    fn header(&self, at: usize) -> Option<&FunctionHeader> {
        Some(self.0.get(at)?.header)
    }
}

/// All broken rules of a module in surroundings that each thread makes for itself.
fn in_pieces<'e>(
    make: &(dyn Fn() -> Env<'e> + Sync),
    functions: &[FunctionRef<'_>],
    with_bodies: bool,
    threads: usize,
) -> Vec<VerifyError> {
    let mut env = make();
    let mut errors = tables::check(env.module);
    if !errors.is_empty() {
        return errors;
    }
    env.misused = module::misused_intrinsics(&env, functions, with_bodies);
    let bodies = if with_bodies || !env.misused.is_empty() { functions } else { &[] };
    let mut constants = Constants::default();
    if env.misused.is_empty() && all_are_good(make, bodies, threads) {
        return module::check(&env, &mut constants, functions);
    }
    for &function in bodies {
        errors.append(&mut function::check(&env, &mut constants, function));
    }
    errors.append(&mut module::check(&env, &mut constants, functions));
    errors
}

/// Whether several threads find no function that breaks a rule. If one does, its errors depend on
/// which constants have been judged before, so all are found again in order.
fn all_are_good<'e>(
    make: &(dyn Fn() -> Env<'e> + Sync),
    functions: &[FunctionRef<'_>],
    threads: usize,
) -> bool {
    let instructions = functions.iter().map(|function| function.body.id_count()).sum::<usize>();
    let threads = threads.min(functions.len()).min(instructions / WORTH_A_THREAD);
    if threads < 2 {
        return false;
    }
    let (next, is_bad) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let (env, mut constants) = (make(), Constants::default());
        while !is_bad.load(Ordering::Relaxed)
            && let Some(&function) = functions.get(next.fetch_add(1, Ordering::Relaxed))
        {
            if !function::check(&env, &mut constants, function).is_empty() {
                is_bad.store(true, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    !is_bad.into_inner()
}

/// So many instructions take longer to verify than a thread takes to begin.
const WORTH_A_THREAD: usize = 1000;

/// All broken rules of a function, with an index that the caller provides. As
/// [`Verifier::function`].
pub(crate) fn function(
    module: &Module,
    index: &ModuleIndex,
    function: &Function,
) -> Vec<VerifyError> {
    function::check(&Env::new(module, index), &mut Constants::default(), function.view())
}

/// All broken rules of a function whose module is in pieces: `headers` are those of the functions
/// that the index knows. As [`Verifier::function_view`].
pub fn function_in(
    (module, index, headers): (&Module, &ModuleIndex, &dyn Headers),
    convergent_intrinsic: fn(&[u8]) -> bool,
    function: FunctionRef<'_>,
) -> Vec<VerifyError> {
    let mut env = Env::over(module, index, headers);
    env.convergent_intrinsic = convergent_intrinsic;
    function_over(&env, function)
}

/// All broken rules of a function in a given environment. As [`Verifier::function`].
pub(crate) fn function_over(env: &Env<'_>, function: FunctionRef<'_>) -> Vec<VerifyError> {
    function::check(env, &mut Constants::default(), function)
}
