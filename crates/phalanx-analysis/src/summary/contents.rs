//! What a call passes: the sources of its arguments, and of the structures that they lead to.
//!
//! # What
//!
//! If all callers of a function are known, the analysis of the function uses the sources of the
//! arguments that they pass. For a pointer to a structure that is passed by value (`byval`) or by
//! reference (`byref`), these are the sources of the *content*, since the address alone says
//! nothing about it:
//!
//! ```text
//! define amdgpu_kernel void @k(ptr addrspace(4) byref(%big) %info) {
//!   %copy = alloca %big, addrspace(5)
//!   call void @llvm.memcpy(%copy, %info, 112)                ; one for the launch
//!   call void @body(ptr addrspace(5) byref(%big) %copy)      ; so is what @body finds there
//! ```
//!
//! Clang compiles each OpenCL kernel for AMD GPUs in this way: the kernel calls its body, and a
//! structure of more than 16 registers goes by reference. Helper functions are passed such
//! structures likewise.
//!
//! # By reference
//!
//! The content that a call passes are the versions that reach the call in the slots of the object
//! ([`PrivateMemory`]), taken together. The sources of the content are known if
//!
//! 1. the address is one of a private object of the caller: only the caller, and functions whose
//!    summaries say that they keep no address of it, can write there;
//! 2. no other argument of the call is an address of that object;
//! 3. the callee only reads through the address ([`is_only_content`]).
//!
//! **Proof.** Take two threads that execute a load through the argument together. They were
//! together at the call, since the key of a block of the callee ends in the call. Between the call
//! and the load the object is not written: not by the callee through this argument (3) or another
//! one (2), and no other function has an address of it (1). So the load gives what the object held
//! at the call, a part of the content. Two threads that are together at the call and agree on all
//! sources of the versions that reach it have equal content there (the invariant of private
//! memory). If there are several calls, the argument has the sources of all of them.
//!
//! In all other cases the content may be anything, as for any load from private memory.
//!
//! # Cost
//!
//! A function with a call that passes a structure by reference is lowered and solved once more,
//! with a row for each such argument: O(function), and again after each edit. Other functions cost
//! nothing.

use phalanx_core::{
    affect::User,
    divergence::{Divergence, FlowFacts, Rules, solve},
};
use phalanx_ir::{InstId, Value as IrValue, attributes::AttrKind, flow::node_of};
use phalanx_target::{SourceSet, calling_convention::Entry};
use rustc_hash::FxHashMap;

use crate::code::{Code, Environment, Numbering};
use crate::lower;
use crate::memory::{Origins, PrivateMemory, origins::copies};

/// Whether a parameter is a pointer to a structure, passed by value or by reference, of which only
/// the content matters. Then the sources of the argument may be those of the content.
#[must_use]
pub fn is_only_content(code: Code<'_>, position: u32) -> bool {
    copies::is_only_content(code, position)
}

/// The sources of the structures that the calls of a function pass by reference, by call and
/// position.
#[derive(Clone, Debug, Default)]
pub struct Contents(FxHashMap<(InstId, u32), SourceSet>);

impl Contents {
    /// Computes the contents for some calls. `flow` is called only if one of them passes a
    /// structure by reference.
    #[must_use]
    pub fn new<'f>(
        code: Code<'_>,
        env: Environment<'_>,
        flow: impl FnOnce() -> Option<FlowFacts<'f>>,
        calls: impl Iterator<Item = InstId>,
    ) -> Contents {
        let arguments = |call: InstId| {
            let count = code.body.call_args(call).len() as u32;
            (0..count)
                .filter(move |&at| is_by(code, call, at, AttrKind::ByRef))
                .map(move |at| (call, at))
        };
        let wanted: Vec<(InstId, u32)> = calls.flat_map(arguments).collect();
        if wanted.is_empty() {
            return Contents::default();
        }
        let Some(flow) = flow() else { return Contents::default() };
        let memory = PrivateMemory::through_calls(code, env, flow.cfg, flow.dom);
        let (table, values) = lower::full_with_contents(code, env, &memory, &wanted);
        let answer = solve(flow, &table, Rules::Precise);
        let known = wanted.into_iter().zip(values);
        Contents(known.filter_map(|(at, value)| Some((at, answer.value(value?)))).collect())
    }
}

/// Whether an argument of a call has the attribute `kind`.
fn is_by(code: Code<'_>, call: InstId, position: u32, kind: AttrKind) -> bool {
    let attributes = code.body.call_info(call).attributes;
    code.context.param_attrs(attributes, position as usize).has(kind)
}

/// The sources of the arguments of a call, one per argument, at the call: the sources of the
/// callee's parameters. For a structure passed by value or by reference, the sources of its
/// content.
#[must_use]
pub fn argument_sources(
    code: Code<'_>,
    env: Environment<'_>,
    (answer, contents): (&Divergence, &Contents),
    call: InstId,
) -> Vec<SourceSet> {
    let numbering = Numbering::new(code.header);
    let Some(block) = code.body.block_of(call).map(node_of) else { return Vec::new() };
    let user = match code.body.inst(call).opcode.is_terminator() {
        true => User::terminator(block),
        false => User::value(numbering.inst(call)),
    };
    let sources = |argument: IrValue| {
        let value = numbering.operand(argument);
        value.map_or(SourceSet::EMPTY, |value| answer.at_use(value, user))
    };
    let of = |(&argument, position): (&IrValue, u32)| {
        if is_by(code, call, position, AttrKind::ByVal) {
            copied(code, env, &sources, (call, argument)).unwrap_or(SourceSet::OPAQUE_THREAD)
        } else if is_by(code, call, position, AttrKind::ByRef) {
            contents.0.get(&(call, position)).copied().unwrap_or(SourceSet::OPAQUE_THREAD)
        } else {
            sources(argument)
        }
    };
    code.body.call_args(call).iter().zip(0..).map(of).collect()
}

/// The sources of a structure that is passed by value, if it is a copy of an argument of the
/// caller.
fn copied(
    code: Code<'_>,
    env: Environment<'_>,
    sources: &dyn Fn(IrValue) -> SourceSet,
    (call, argument): (InstId, IrValue),
) -> Option<SourceSet> {
    let position = copies::copied_argument(code, call, argument)?;
    let from = IrValue::arg(position);
    let known = match code.entry(env.target.architecture()) == Entry::Kernel {
        true => Some(sources(from)),
        false => env.calls.argument(position),
    };
    known.filter(|_| Origins::new(code, env).is_passed(from))
}
