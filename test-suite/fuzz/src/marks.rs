//! Checks the marks of `annotate-uniform` and `mark-loads` for AMDGPU's backend against execution.
//!
//! A mark `!amdgpu.uniform` on a branch states that all threads that execute it together take one
//! edge. On an address it states that they load from one place at each load of it. Random kernels
//! are marked and executed under both models of reconvergence, and every mark is watched:
//!
//! ```text
//! br i1 %c, label %a, label %b, !amdgpu.uniform    ; wrong if threads of one group go both ways
//! ```
//!
//! Some kernels call functions, so that marks depend on what callers pass. Some let threads leave a
//! loop in different rounds, where the two models differ.

use std::fmt;

use phalanx::{
    Session,
    db::queries,
    ir::{BlockId, InstId, Opcode},
    target::Scope,
    transform::{Manager, Options, Pipeline, Registry},
};
use phalanx_simt::{Observer, Program, Reconvergence, Value, convergence::Key, observe::Moment};

use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    motions::counted,
    oracle::{
        self,
        programs::{Kind, runnable},
    },
    transforms::module_of,
};

/// How many instructions a launch may execute.
const FUEL: u64 = 8_000;

/// What was watched, and the results.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Marks that were put on branches and on addresses.
    pub marks: u64,
    /// Groups that executed a marked branch, or a load of a marked address.
    pub groups: u64,
    /// Programs with a mark that does not hold.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.marks += other.marks;
        self.groups += other.groups;
        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { marks, groups, wrong } = self;
        write!(f, "{marks} marks, {groups} groups, {} wrong", wrong.len())
    }
}

/// A random kernel for AMD GPUs: loops of all kinds, calls, or rounds that a stack of masks mixes.
#[must_use]
pub fn random(seed: u64) -> String {
    let rng = &mut SmallRng::seed_from_u64(seed);
    match seed % 3 {
        0 => counted::random(rng),
        1 => {
            let options = phalanx_testing::generate::Options { blocks: 14, ..Default::default() };
            let program = phalanx_testing::generate::program_from(rng, options);
            runnable(&program, Kind::Amdgcn, seed)
        }
        _ => mixing(rng),
    }
}

/// A loop from which threads continue to `%low` in different rounds, by their index or by a uniform
/// value. There is a branch on the number of the round, in the kernel or in a function that it
/// calls, and a load from an address that depends on it.
fn mixing(rng: &mut SmallRng) -> String {
    let limit = ["and i32 %x, 3", "and i32 %a1, 3", "lshr i32 %x, 2"].choose(rng).expect("some");
    let number = ["add i32 %i, 0", "add i32 %i, %a0", "and i32 %a1, 7", "xor i32 %i, %x"];
    let number = number.choose(rng).expect("there are some");
    let branch = match rng.random_range(0..3) {
        0 => "  %v = call i32 @ask(i32 %number)\n  br label %end\n",
        _ => {
            "  %odd = trunc i32 %number to i1\n  br i1 %odd, label %one, label %end\n\
             one:\n  store i32 1, ptr addrspace(1) %own, align 4\n  br label %end\n"
        }
    };
    // Whether rounds of `%h` are also rounds of the loop around.
    let back = if rng.random() { "%h" } else { "%outer" };
    let first = if back == "%h" { "[ 0, %outer ], [ %n, %end ]" } else { "[ %k, %outer ]" };
    let outer = if back == "%h" { "" } else { "  %k = phi i32 [ 0, %entry ], [ %n, %end ]\n" };
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
define internal i32 @ask(i32 %n) noinline {{
entry:
  %odd = trunc i32 %n to i1
  br i1 %odd, label %one, label %two
one:
  ret i32 1
two:
  ret i32 2
}}
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {{
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %most = {limit}
  %place = add i32 %x, 16
  %own = getelementptr i32, ptr addrspace(1) %gp, i32 %place
  br label %outer
outer:
{outer}  br label %h
h:
  %i = phi i32 {first}, [ %n, %h ]
  %n = add i32 %i, 1
  %goes.on = icmp ult i32 %i, %most
  br i1 %goes.on, label %h, label %low
low:
  %number = {number}
  %few = and i32 %number, 7
  %at = getelementptr i32, ptr addrspace(1) %gp, i32 %few
  %there = load i32, ptr addrspace(1) %at, align 4
{branch}end:
  %more = icmp ult i32 %i, 6
  br i1 %more, label {back}, label %exit
exit:
  ret void
}}
"
    )
}

/// Marks `@f` and what it calls by a pipeline, and executes it a few times under some models.
///
/// # Panics
/// The text is not well-formed, or the pipeline fails.
#[must_use]
pub fn check(text: &str, pipeline: &str, seed: u64, models: &[Reconvergence]) -> Tally {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let registry = Registry::standard();
    let passes = Pipeline::parse(pipeline, &registry).expect("the pipeline is one");
    let mut manager = Manager::new(Options::default());
    let done = manager.run(session.database_mut(), module.input(), &passes, &mut |_, _| {});
    done.unwrap_or_else(|error| panic!("{pipeline} fails: {error}\n{text}"));
    let marked = module_of(&session, module);
    let marks = marks(&marked);
    let mut tally = Tally { marks: marks.len() as u64, ..Tally::default() };
    let program = Program::new(&marked, session.target(module)).expect("it can be run");
    let kernel = session.function(module, "f").expect("the kernel is called @f");
    let stated = queries::launch_facts(session.database(), kernel.input()).clone();
    for &model in models {
        for number in 0..2 {
            let rng = &mut SmallRng::seed_from_u64(seed.wrapping_mul(31).wrapping_add(number));
            let mut memory = program.memory(rng.random()).expect("there is room");
            let mut launch = oracle::launch(rng, &mut memory, FUEL).expect("there is room");
            oracle::as_stated(&mut launch, &stated);
            launch.reconvergence = model;
            let mut watch =
                Watch { module: &marked, marks: &marks, seen: FxHashMap::default(), wrong: None };
            // Observations before a fault, or before the fuel was used up, count as well.
            let _ = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch);
            tally.groups += watch.seen.len() as u64;
            if let Some(inst) = watch.wrong {
                let printed = String::from_utf8_lossy(&session.print(module)).into_owned();
                tally.wrong.push(format!("{inst:?}, {model:?}, seed {seed}:\n{printed}"));
            }
        }
    }
    tally
}

/// Instructions with a mark, by number of the function.
type Marks = FxHashSet<(usize, InstId)>;

fn marks(module: &phalanx::ir::Module) -> Marks {
    let uniform = module.context.find_symbol(b"amdgpu.uniform");
    let mut marks = Marks::default();
    for (number, function) in module.functions.iter().enumerate() {
        let attachments = function.extras.attachments.iter();
        let marked = attachments.filter(|(_, a)| Some(a.kind) == uniform);
        marks.extend(marked.map(|&(inst, _)| (number, inst)));
    }
    marks
}

/// A group at an instruction: function, instruction, converged execution and wave.
type Group = (usize, InstId, Key, u32);

struct Watch<'a> {
    module: &'a phalanx::ir::Module,
    marks: &'a Marks,
    /// The edge that the first thread of the group took, or the address that it loaded from.
    seen: FxHashMap<Group, u128>,
    wrong: Option<InstId>,
}

impl Watch<'_> {
    fn does(&mut self, at: Moment<'_>, what: u128) {
        let group = (at.function, at.inst, at.key, oracle::group(&at, Scope::Wave));
        if *self.seen.entry(group).or_insert(what) != what {
            self.wrong = Some(at.inst);
        }
    }
}

impl Observer for Watch<'_> {
    fn wants_operands(&self) -> bool {
        true
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, of: InstId, value: &Value) {
        let body = &self.module.functions[at.function].body;
        let is_load = body.inst(at.inst).opcode == Opcode::Load && position == 0;
        if is_load && self.marks.contains(&(at.function, of)) {
            self.does(at, value.bits().unwrap_or(u128::MAX));
        }
    }

    fn branch(&mut self, at: Moment<'_>, to: BlockId) {
        if self.marks.contains(&(at.function, at.inst)) {
            self.does(at, to.into_raw().into_u32().into());
        }
    }
}
