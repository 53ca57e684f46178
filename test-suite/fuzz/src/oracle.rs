//! Checks claims of uniformity against execution.
//!
//! The interpreter runs a module. For each value, use and branch the oracle records whether threads
//! that were converged there, within a wave, a workgroup, a cluster or the grid, ever had different
//! values. A claim of uniformity at a scope is *unsound* if a difference was seen there. Runs that
//! run out of fuel, hang or fault count up to that point, since earlier convergence does not depend
//! on later execution. Poison may be any value, so it differs from nothing.
//!
//! Convergence follows the function's own cycle hierarchy and others, since an answer has to hold
//! for each.

mod claims;
pub(crate) mod programs;
mod reduce;
mod wrong;

use std::fmt;

use phalanx::{
    FunctionId, Session,
    analysis::{
        divergence::{Divergence, FlowFacts, Omitted, solve_without},
        lower::{OmittedPart, OmittedRead},
    },
    db::{Database, FunctionInput, queries},
    ir,
    target::{Extent, LaunchFacts, Scope, SourceSet, varying},
};
use phalanx_simt::{Arg, Launch, Memory, Program, launch::Order};
use phalanx_testing::{
    abstract_program::AbstractProgram,
    generate::{self, Options},
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

use claims::Varies;
use claims::definitions;
pub(crate) use claims::group;
pub use claims::{Claims, Shares};
pub use programs::{Kind, runnable, runnable_alone};
pub use reduce::reduced;
pub use wrong::Wrong;
pub(crate) use wrong::{Right, with_code};

/// What was checked and what was found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Functions.
    pub functions: u64,
    /// Functions with irreducible cycles.
    pub irreducible: u64,
    /// Values.
    pub values: u64,
    /// Claims "uniform" of a value, use or branch at a scope, for entities that were executed.
    pub claims: u64,
    /// Claims "uniform" in quads, for entities that are divergent in a wave.
    pub of_quads: u64,
    /// Instructions executed.
    pub steps: u64,
    /// Values that the analysis calls divergent in a wave.
    pub divergent: u64,
    /// Divergent values that were seen to differ.
    pub observed: u64,
    /// Values that LLVM 22 calls divergent, by its own rules without fixes.
    pub llvm_divergent: u64,
    /// Such values that were seen to differ.
    pub llvm_observed: u64,
    /// Values that LLVM 22 calls uniform and that were seen to differ.
    pub llvm_unsound: u64,
    /// Claims that were seen to be wrong.
    pub unsound: Vec<String>,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.functions += other.functions;
        self.irreducible += other.irreducible;
        self.values += other.values;
        self.claims += other.claims;
        self.of_quads += other.of_quads;
        self.steps += other.steps;
        self.divergent += other.divergent;
        self.observed += other.observed;
        self.llvm_divergent += other.llvm_divergent;
        self.llvm_observed += other.llvm_observed;
        self.llvm_unsound += other.llvm_unsound;
        self.unsound.extend(other.unsound);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let never = |seen: u64, all: u64| 100.0 - 100.0 * seen as f64 / all.max(1) as f64;
        let share = never(self.observed, self.divergent);
        let llvm_share = never(self.llvm_observed, self.llvm_divergent);
        writeln!(f, "functions               {:>12}", self.functions)?;
        writeln!(f, "  with irreducible flow {:>12}", self.irreducible)?;
        writeln!(f, "values                  {:>12}", self.values)?;
        writeln!(f, "claims checked          {:>12}", self.claims)?;
        writeln!(f, "  of quads alone        {:>12}", self.of_quads)?;
        writeln!(f, "instructions executed   {:>12}", self.steps)?;
        writeln!(f, "divergent values        {:>12}", self.divergent)?;
        writeln!(f, "  never seen to differ  {share:>11.1}%")?;
        writeln!(f, "unsound claims          {:>12}", self.unsound.len())?;
        writeln!(f, "LLVM 22: divergent      {:>12}", self.llvm_divergent)?;
        writeln!(f, "  never seen to differ  {llvm_share:>11.1}%")?;
        write!(f, "  uniform, seen to differ {:>10}", self.llvm_unsound)
    }
}

/// The amount of work.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Launches per hierarchy.
    pub launches: u32,
    /// Other hierarchies of functions with irreducible flow.
    pub hierarchies: u32,
    /// Instructions per launch.
    pub fuel: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { launches: 2, hierarchies: 3, fuel: 6_000 }
    }
}

/// Geometries that are launched: of workgroups, of the grid.
const GEOMETRIES: &[([u32; 3], [u32; 3])] = &[
    ([32, 1, 1], [1, 1, 1]),
    ([64, 1, 1], [2, 1, 1]),
    ([8, 4, 2], [1, 2, 1]),
    ([16, 2, 1], [2, 1, 1]),
    ([33, 2, 1], [1, 1, 1]),
    ([4, 1, 1], [3, 1, 1]),
    ([4, 1, 1], [4, 1, 1]),
    ([8, 2, 1], [2, 2, 1]),
];

/// Checks all claims about one kernel of a text; `seed` chooses launches.
///
/// The kernel takes a pointer to global memory, of which it may read 64 bytes, and two integers.
///
/// None if the text is refused or has no such kernel.
#[must_use]
pub fn check(text: &str, name: &str, seed: u64, effort: Effort) -> Option<Tally> {
    check_others(text, name, seed, effort, &|_, _, _| None, &varying)
}

/// As [`check`], but with sources that supposedly do not vary within a scope: a negative control.
#[must_use]
pub fn check_scope_without(
    text: &str,
    name: &str,
    seed: u64,
    effort: Effort,
    (of, omitted): (Scope, SourceSet),
) -> Option<Tally> {
    let varies = |scope: Scope, facts: &LaunchFacts| match scope == of {
        true => varying(scope, facts) - omitted,
        false => varying(scope, facts),
    };
    check_others(text, name, seed, effort, &|_, _, _| None, &varies)
}

/// As [`check`], but with all workgroups supposedly of the stated size: a negative control.
#[must_use]
pub fn check_as_if_uniform(text: &str, name: &str, seed: u64, effort: Effort) -> Option<Tally> {
    let varies = |scope: Scope, facts: &LaunchFacts| {
        varying(scope, &LaunchFacts { uniform_work_group_size: true, ..facts.clone() })
    };
    check_others(text, name, seed, effort, &|_, _, _| None, &varies)
}

/// What a negative control leaves out.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Without {
    /// A rule of the analysis.
    Rule(Omitted),
    /// A dependency of loads from private memory.
    Read(OmittedRead),
    /// A part of the analysis of shapes.
    Part(OmittedPart),
}

/// As [`check`], for an answer without one of the rules: a negative control.
#[must_use]
pub fn check_without(
    text: &str,
    name: &str,
    seed: u64,
    effort: Effort,
    without: Without,
) -> Option<Tally> {
    let answer = |session: &Session, function: FunctionId, is_checked: bool| {
        let (database, input) = (session.database(), function.input());
        let table = queries::affect_map(database, input).as_ref().filter(|_| is_checked)?;
        match without {
            Without::Rule(omitted) => Some(solve_without(flow(database, input)?, table, omitted)),
            Without::Read(omitted) => wrong::without_read(database, input, omitted),
            Without::Part(omitted) => wrong::without_part(database, input, omitted),
        }
    };
    check_others(text, name, seed, effort, &answer, &varying)
}

/// As [`check`], for answers with wrong facts about calls: a negative control.
#[must_use]
pub fn check_calls(
    text: &str,
    name: &str,
    seed: u64,
    effort: Effort,
    wrong: Wrong,
) -> Option<Tally> {
    let answer = |session: &Session, function: FunctionId, _: bool| {
        wrong::divergence(session.database(), function.input(), wrong)
    };
    check_others(text, name, seed, effort, &answer, &varying)
}

/// As [`check`], for answers that ignore tokens: a negative control.
#[must_use]
pub fn check_without_tokens(text: &str, name: &str, seed: u64, effort: Effort) -> Option<Tally> {
    let answer = |session: &Session, function: FunctionId, is_checked: bool| {
        wrong::without_tokens(session.database(), function.input()).filter(|_| is_checked)
    };
    check_others(text, name, seed, effort, &answer, &varying)
}

/// The control flow in the form that the solver needs.
fn flow(database: &Database, input: FunctionInput) -> Option<FlowFacts<'_>> {
    Some(FlowFacts {
        cfg: queries::cfg(database, input)?,
        dom: queries::dom_tree(database, input)?,
        cycles: queries::cycles(database, input)?,
        sync: queries::sync_dependence(database, input)?,
    })
}

/// Gives other answers for some functions, to see whether they are refuted; the flag says whether
/// the function is the kernel.
type Others<'a> = &'a dyn Fn(&Session, FunctionId, bool) -> Option<Divergence>;

/// Without other answers, Phalanx's own are checked. With others, nothing is run if they equal
/// Phalanx's.
fn check_others(
    text: &str,
    name: &str,
    seed: u64,
    effort: Effort,
    answer: Others<'_>,
    varies: Varies<'_>,
) -> Option<Tally> {
    let mut session = Session::new();
    let module_id = session.read(text.as_bytes()).ok()?;
    let function = session.function(module_id, name)?;
    // The same text gives equal instruction ids.
    let context = std::sync::Arc::new(ir::Context::new());
    let module = phalanx::llvm::parse_module(context, text.as_bytes()).ok()?.module;
    let mut program = Program::new(&module, session.target(module_id)).ok()?;
    let number = program.function(name)?;
    let functions = definitions(&session, module_id);
    let given: Vec<Option<Divergence>> =
        functions.iter().map(|&(each, _)| answer(&session, each, each == function)).collect();
    let is_ours = |(&(each, _), given): (&(FunctionId, String), &Option<Divergence>)| {
        let ours = queries::divergence(session.database(), each.input()).as_deref();
        given.is_some() && given.as_ref() == ours
    };
    let others = given.iter().filter(|given| given.is_some()).count();
    if others > 0 && functions.iter().zip(&given).filter(|&pair| is_ours(pair)).count() == others {
        return Some(Tally { functions: 1, ..Tally::default() });
    }
    let stated = queries::launch_facts(session.database(), function.input()).clone();
    let mut claims = Claims::new(session, functions, &given, &program, varies)?;
    let hierarchies = claims.hierarchies(&program, seed, effort.hierarchies as usize);
    let (_, own) = program.graph(number)?;
    let irreducible = u64::from(!own.all_reducible());
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut steps = 0;
    for at in 0..hierarchies.iter().map(|(_, all)| all.len()).max().unwrap_or(1) {
        for (of, all) in &hierarchies {
            program.set_hierarchy(*of, all[at % all.len()].clone());
        }
        for _ in 0..effort.launches {
            claims.next_run();
            let mut memory = program.memory(rng.random()).ok()?;
            let mut launch = launch(&mut rng, &mut memory, effort.fuel)?;
            launch.cluster = cluster(&mut rng, launch.grid, &stated);
            as_stated(&mut launch, &stated);
            launch.partial = partial(&mut rng, &launch, &stated);
            let ran = phalanx_simt::run(&program, name, &launch, &mut memory, &mut claims);
            steps += ran.map_or(effort.fuel / 2, |report| report.steps);
        }
    }
    Some(Tally { functions: 1, irreducible, steps, ..claims.tally() })
}

/// Clusters of a grid: any that fit, but not more workgroups than a program allows.
fn cluster(rng: &mut SmallRng, grid: [u32; 3], facts: &LaunchFacts) -> [u32; 3] {
    let cluster = grid.map(|extent| {
        let whole: Vec<u32> = (1..=extent).filter(|n| extent.is_multiple_of(*n)).collect();
        whole.choose(rng).copied().unwrap_or(1)
    });
    match facts.max_workgroups() {
        Some(most) if cluster.iter().product::<u32>() > most => [1; 3],
        _ => cluster,
    }
}

/// Extents of the workgroups at the edge of the grid: sometimes smaller ones, if the program allows
/// them.
fn partial(rng: &mut SmallRng, launch: &Launch, facts: &LaunchFacts) -> [u32; 3] {
    if facts.uniform_work_group_size || launch.cluster != [1; 3] || rng.random_bool(0.5) {
        return [0; 3];
    }
    launch.block.map(|extent| rng.random_range(0..=extent))
}

/// Adjusts a launch to what a program states.
pub(crate) fn as_stated(launch: &mut Launch, facts: &LaunchFacts) {
    for (extent, stated) in launch.block.iter_mut().zip(facts.workgroup_size) {
        if let Extent::Exactly(n) = stated {
            *extent = n;
        }
    }
    for (dim, stated) in facts.cluster_size.iter().enumerate() {
        if let Extent::Exactly(n) = *stated {
            launch.cluster[dim] = n;
            launch.grid[dim] = launch.grid[dim].next_multiple_of(n);
        }
    }
    launch.wave = facts.wave_width.unwrap_or(launch.wave);
}

pub(crate) fn launch(rng: &mut SmallRng, memory: &mut Memory, fuel: u64) -> Option<Launch> {
    let (block, grid) = *GEOMETRIES.choose(rng).unwrap_or(&GEOMETRIES[0]);
    let contents: Vec<u8> = (0..64).map(|_| rng.random()).collect();
    let buffer = memory.buffer(&contents).ok()?;
    let orders = [Order::Lockstep, Order::Turns(7), Order::Random(rng.random())];
    Some(Launch {
        grid,
        block,
        wave: 32,
        args: vec![
            Arg::bits(buffer),
            Arg::bits(u128::from(rng.random_range(0..16u32))),
            Arg::bits(u128::from(rng.random::<u32>())),
        ],
        fuel,
        order: *orders.choose(rng).unwrap_or(&Order::Lockstep),
        seed: rng.random(),
        frozen: rng.random(),
        ..Launch::default()
    })
}

/// A random program for a target, from a seed. Its kernel is `@f`, see [`runnable`].
#[must_use]
pub fn random_program(seed: u64) -> (AbstractProgram, Kind) {
    let kind = if seed.is_multiple_of(2) { Kind::Amdgcn } else { Kind::Nvptx };
    let blocks = [8, 11, 11, 16, 24][(seed / 2 % 5) as usize];
    (generate::program(seed, Options { blocks, ..Options::default() }), kind)
}

/// Checks a random program; a text that refutes a claim is made small.
///
/// # Panics
/// A generated program is not well-formed.
#[must_use]
pub fn check_random(seed: u64, effort: Effort) -> (Tally, Option<String>) {
    let (program, kind) = random_program(seed);
    let text = runnable(&program, kind, seed);
    let tally = check(&text, "f", seed, effort);
    let tally = tally.unwrap_or_else(|| panic!("a generated program is refused:\n{text}"));
    let is_wrong = |program: &AbstractProgram| {
        let text = runnable(program, kind, seed);
        // More launches, since a smaller program may need more of them to show the difference.
        let effort = Effort { launches: 2 * effort.launches, ..effort };
        check(&text, "f", seed, effort).is_some_and(|tally| !tally.unsound.is_empty())
    };
    let small =
        (!tally.unsound.is_empty()).then(|| runnable(&reduced(program, &is_wrong), kind, seed));
    (tally, small)
}

/// Checks that execution refutes no claim about the program that the bytes encode.
pub fn divergence(data: &[u8]) {
    let mut choices = crate::Entropy::new(data);
    let program = generate::program_from(&mut choices, Options::default());
    let seed = fxhash::hash64(data);
    let kind = if seed.is_multiple_of(2) { Kind::Amdgcn } else { Kind::Nvptx };
    let text = runnable(&program, kind, seed);
    let effort = Effort { launches: 1, hierarchies: 2, fuel: 3000 };
    let tally = check(&text, "f", seed, effort);
    let tally = tally.unwrap_or_else(|| panic!("a generated program is refused:\n{text}"));
    assert!(tally.unsound.is_empty(), "{}\n{text}", tally.unsound.join("\n"));
}
