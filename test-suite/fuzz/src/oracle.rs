//! Claims of uniformity held against execution.
//!
//! A module is run by the interpreter; for each value, use and branch the oracle notes whether threads that were converged
//! there, within a wave, a workgroup or the grid, ever had different ones. Whatever was called uniform at a scope and was
//! seen to differ is *unsound*. Runs that are out of fuel, hang or fault count as far as they went: what converged
//! before is converged. Poison may be any value, so it differs from nothing.
//!
//! Convergence follows the function's own cycle hierarchy and others, since an answer has to hold for each.

pub(crate) mod programs;
mod reduce;
mod wrong;

use std::fmt;

use phalanx::{
    FunctionId, ModuleId, Session,
    analysis::{
        affect::User,
        divergence::{Divergence, Flow, Omitted, solve_without},
        lower::{Numbering, OmittedRead},
    },
    db::{Database, FunctionInput, queries},
    ir::{self, BlockId, InstId, flow::node_of},
    target::{Scope, SourceSet, varying},
};
use phalanx_simt::{
    Arg, Launch, Memory, Observer, Program, Value, convergence::Key, launch::Order, observe::Moment,
};
use phalanx_testing::{
    abstract_oracle::hierarchies,
    abstract_program::AbstractProgram,
    generate::{self, Options},
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use rustc_hash::FxHashMap;

pub use programs::{Kind, runnable, runnable_alone};
pub use reduce::reduced;
pub use wrong::Wrong;

/// The scopes at which claims are checked.
const SCOPES: [Scope; 3] = [Scope::Wave, Scope::Workgroup, Scope::Grid];

/// What was checked and what was found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Functions.
    pub functions: u64,
    /// Those with irreducible cycles.
    pub irreducible: u64,
    /// Values.
    pub values: u64,
    /// Claims "uniform" of a value, use or branch at a scope, of things that were executed.
    pub claims: u64,
    /// Instructions executed.
    pub steps: u64,
    /// Values that are called divergent in a wave.
    pub divergent: u64,
    /// Of these, those seen to differ.
    pub observed: u64,
    /// Values that LLVM 22 calls divergent, by its own rules without fixes.
    pub llvm_divergent: u64,
    /// Of these, those seen to differ.
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
        writeln!(f, "instructions executed   {:>12}", self.steps)?;
        writeln!(f, "divergent values        {:>12}", self.divergent)?;
        writeln!(f, "  never seen to differ  {share:>11.1}%")?;
        writeln!(f, "unsound claims          {:>12}", self.unsound.len())?;
        writeln!(f, "LLVM 22: divergent      {:>12}", self.llvm_divergent)?;
        writeln!(f, "  never seen to differ  {llvm_share:>11.1}%")?;
        write!(f, "  uniform, seen to differ {:>10}", self.llvm_unsound)
    }
}

/// One thing that is watched: at the largest scope at which it is called uniform, since a difference within a smaller
/// one is a difference within that; in the wave if at none, to know how often a divergent value is seen to differ.
#[derive(Copy, Clone, Debug)]
struct Watched {
    /// Number of the scope in [`SCOPES`].
    scope: usize,
    /// At how many scopes it is called uniform.
    claims: u64,
    differs: bool,
    executed: bool,
}

/// What is watched in a function, and what was seen.
struct Watch {
    function: usize,
    values: Vec<Watched>,
    branches: Vec<Watched>,
    /// Uses in other blocks, by user. Within a block an operand is what it was where it was computed.
    uses: Vec<Vec<(usize, Watched)>>,
    /// First values, by what is watched (values first, then uses), execution and group.
    first: FxHashMap<(u32, u32, Key, u32), Value>,
    first_way: FxHashMap<(InstId, Key, u32), BlockId>,
    /// Values that are called truly uniform: whichever thread of a wave computes them, whenever.
    truly: Vec<Option<Watched>>,
    /// First values of these, by instruction and wave.
    first_ever: FxHashMap<(InstId, u32), Value>,
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

impl Watch {
    /// What an answer says of a function.
    fn new(
        code: ir::function::FunctionRef<'_>,
        facts: &Divergence,
        varying: impl Fn(Scope) -> SourceSet,
        function: usize,
    ) -> Watch {
        let numbering = Numbering::new(code.header);
        let watched = |mask: SourceSet| {
            let uniform = |&&scope: &&Scope| !mask.intersects(varying(scope));
            // Scopes grow, and what varies within them does.
            let claims = SCOPES.iter().take_while(|scope| uniform(scope)).count();
            let scope = claims.saturating_sub(1);
            Watched { scope, claims: claims as u64, differs: false, executed: false }
        };
        let count = code.body.id_count();
        let nothing = watched(SourceSet::EMPTY);
        let mut watch = Watch {
            function,
            values: vec![nothing; count],
            branches: vec![nothing; count],
            uses: vec![Vec::new(); count],
            first: FxHashMap::default(),
            first_way: FxHashMap::default(),
            truly: vec![None; count],
            first_ever: FxHashMap::default(),
        };
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                let is_terminator = code.body.inst(inst).opcode.is_terminator();
                watch.values[number(inst)] = watched(facts.value(numbering.inst(inst)));
                watch.branches[number(inst)] = watched(facts.terminator(node_of(block)));
                let user = match is_terminator {
                    true => User::terminator(node_of(block)),
                    false => User::value(numbering.inst(inst)),
                };
                for (position, operand) in code.body.operands(inst).iter().enumerate() {
                    let Some(of) = operand.as_inst() else { continue };
                    if code.body.block_of(of) == Some(block) {
                        continue;
                    }
                    let use_ = watched(facts.at_use(numbering.inst(of), user));
                    if use_.claims > 0 {
                        watch.uses[number(inst)].push((position, use_));
                    }
                }
            }
        }
        watch
    }

    /// Keys of another run mean other executions.
    fn next_run(&mut self) {
        self.first.clear();
        self.first_way.clear();
        self.first_ever.clear();
    }

    /// Watches values that are called truly uniform.
    fn expect_truly_uniform(
        &mut self,
        session: &Session,
        function: FunctionId,
        code: ir::function::FunctionRef<'_>,
    ) {
        let nothing = Watched { scope: 0, claims: 1, differs: false, executed: false };
        for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
            if session.is_truly_uniform(function, ir::Value::inst(inst)) {
                self.truly[number(inst)] = Some(nothing);
            }
        }
    }

    /// Counts what was executed, and names what was wrong.
    fn judge(
        &self,
        code: ir::function::FunctionRef<'_>,
        llvm: &Divergence,
        print: impl Fn(InstId) -> String,
        tally: &mut Tally,
    ) {
        let numbering = Numbering::new(code.header);
        let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        for inst in all {
            let mut claim = |watched: &Watched, what: &str| {
                if !watched.executed {
                    return;
                }
                tally.claims += watched.claims;
                if watched.differs && watched.claims > 0 {
                    let scope = SCOPES[watched.scope];
                    tally.unsound.push(format!(
                        "the {what} is called uniform in the {scope:?}: {}",
                        print(inst).trim()
                    ));
                }
            };
            let value = &self.values[number(inst)];
            claim(value, "value");
            if let Some(truly) = &self.truly[number(inst)] {
                claim(truly, "value for all lanes at all times");
            }
            claim(&self.branches[number(inst)], "branch");
            for (position, use_) in &self.uses[number(inst)] {
                claim(use_, &format!("operand {position}"));
            }
            if value.executed {
                tally.values += 1;
                // A value that is uniform in more than the wave is watched there: what differs then is unsound.
                let differs = value.differs && value.scope == 0;
                match llvm.value(numbering.inst(inst)).is_empty() {
                    true => tally.llvm_unsound += u64::from(differs),
                    false => {
                        tally.llvm_divergent += 1;
                        tally.llvm_observed += u64::from(differs);
                    }
                }
                if value.claims == 0 {
                    tally.divergent += 1;
                    tally.observed += u64::from(value.differs);
                }
            }
        }
    }
}

/// The group of a scope that a thread belongs to.
pub(crate) fn group(at: &Moment<'_>, scope: usize) -> u32 {
    let place = at.thread;
    let [x, y, z] = place.block;
    let workgroup = x + place.grid_size[0] * (y + place.grid_size[1] * z);
    match scope {
        0 => workgroup << 10 | place.wave,
        1 => workgroup,
        _ => 0,
    }
}

impl Watch {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if at.function != self.function || matches!(value, Value::Unit) {
            return;
        }
        if let Some(truly) = &mut self.truly[number(at.inst)]
            && !value.has_poison()
        {
            truly.executed = true;
            let first = self.first_ever.entry((at.inst, group(&at, 0)));
            truly.differs |= *first.or_insert_with(|| value.clone()) != *value;
        }
        let watched = &mut self.values[number(at.inst)];
        watched.executed = true;
        if watched.differs || value.has_poison() {
            return;
        }
        let key = (number(at.inst) as u32, 0, at.key, group(&at, watched.scope));
        watched.differs = *self.first.entry(key).or_insert_with(|| value.clone()) != *value;
    }

    fn branch(&mut self, at: Moment<'_>, to: BlockId) {
        if at.function != self.function {
            return;
        }
        let watched = &mut self.branches[number(at.inst)];
        watched.executed = true;
        let key = (at.inst, at.key, group(&at, watched.scope));
        watched.differs |= *self.first_way.entry(key).or_insert(to) != to;
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, _: InstId, value: &Value) {
        if at.function != self.function || matches!(value, Value::Unit) || value.has_poison() {
            return;
        }
        let uses = &mut self.uses[number(at.inst)];
        let Some((_, watched)) = uses.iter_mut().find(|(of, _)| *of == position) else { return };
        watched.executed = true;
        let key = (number(at.inst) as u32, position as u32 + 1, at.key, group(&at, watched.scope));
        watched.differs |= *self.first.entry(key).or_insert_with(|| value.clone()) != *value;
    }
}

/// How much to run.
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
];

/// Checks all claims about one kernel of a text; `seed` chooses launches.
///
/// The kernel takes a pointer to global memory, of which it may read 64 bytes, and two integers.
///
/// None if the text is refused or has no such kernel.
#[must_use]
pub fn check(text: &str, name: &str, seed: u64, effort: Effort) -> Option<Tally> {
    check_others(text, name, seed, effort, &|_, _, _| None)
}

/// What an answer is found without.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Without {
    /// A rule of the analysis.
    Rule(Omitted),
    /// Something that loads from private memory depend on.
    Read(OmittedRead),
}

/// As [`check`], of an answer that was found without one of the rules: a negative control.
#[must_use]
pub fn check_without(
    text: &str,
    name: &str,
    seed: u64,
    effort: Effort,
    without: Without,
) -> Option<Tally> {
    check_others(text, name, seed, effort, &|session, function, is_checked| {
        let (database, input) = (session.database(), function.input());
        let table = queries::affect_map(database, input).as_ref().filter(|_| is_checked)?;
        match without {
            Without::Rule(omitted) => Some(solve_without(flow(database, input)?, table, omitted)),
            Without::Read(omitted) => wrong::without_read(database, input, omitted),
        }
    })
}

/// As [`check`], of answers that were found with wrong facts about calls: a negative control.
#[must_use]
pub fn check_calls(
    text: &str,
    name: &str,
    seed: u64,
    effort: Effort,
    wrong: Wrong,
) -> Option<Tally> {
    check_others(text, name, seed, effort, &|session, function, _| {
        wrong::divergence(session.database(), function.input(), wrong)
    })
}

/// What the solver needs to know of the control flow.
fn flow(database: &Database, input: FunctionInput) -> Option<Flow<'_>> {
    Some(Flow {
        cfg: queries::cfg(database, input).as_ref()?,
        dom: queries::dom_tree(database, input).as_ref()?,
        cycles: queries::cycles(database, input).as_ref()?,
        sync: queries::sync_dependence(database, input).as_ref()?,
    })
}

/// Gives other answers for some functions, to see whether they are found wrong; says of each whether it is the kernel.
type Others<'a> = &'a dyn Fn(&Session, FunctionId, bool) -> Option<Divergence>;

/// Without other answers our own are checked; with some, nothing is run if they are as ours.
fn check_others(
    text: &str,
    name: &str,
    seed: u64,
    effort: Effort,
    answer: Others<'_>,
) -> Option<Tally> {
    let mut session = Session::new();
    let module_id = session.read(text.as_bytes()).ok()?;
    let function = session.function(module_id, name)?;
    // The same text gives the same numbers of instructions.
    let context = std::sync::Arc::new(ir::Context::new());
    let module = phalanx::llvm::parse_module(context, text.as_bytes()).ok()?.module;
    let mut program = Program::new(&module, session.target(module_id)).ok()?;
    let number = program.function(name)?;
    let database = session.database();
    let definitions = definitions(&session, module_id);
    let given: Vec<Option<Divergence>> =
        definitions.iter().map(|&(each, _)| answer(&session, each, each == function)).collect();
    let is_ours = |((each, _), given): (&(FunctionId, String), &Option<Divergence>)| {
        let ours = queries::divergence(database, each.input()).as_ref();
        given.is_some() && given.as_ref() == ours
    };
    let others = given.iter().filter(|given| given.is_some()).count();
    if others > 0 && definitions.iter().zip(&given).filter(|&pair| is_ours(pair)).count() == others
    {
        return Some(Tally { functions: 1, ..Tally::default() });
    }
    let mut tally = Tally { functions: 1, ..Tally::default() };
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut watches = Watches::default();
    let mut others = Vec::new();
    for ((each, name), given) in definitions.into_iter().zip(&given) {
        let of = program.function(&name)?;
        let facts = match given {
            Some(given) => given,
            None => queries::divergence(database, each.input()).as_ref()?,
        };
        let launch_facts = queries::launch_facts(database, each.input());
        let varying = |scope| varying(scope, launch_facts);
        let mut watch = Watch::new(session.code(each), facts, varying, of);
        if given.is_none() {
            watch.expect_truly_uniform(&session, each, session.code(each));
        }
        watches.0.push((each, watch));
        if let Some((cfg, own)) = program.graph(of) {
            tally.irreducible += u64::from(of == number && !own.all_reducible());
            others.push((of, hierarchies(cfg, seed, effort.hierarchies as usize)));
        }
    }
    let tries = others.iter().map(|(_, all)| all.len()).max().unwrap_or(1);
    for at in 0..tries {
        for (of, all) in &others {
            program.set_hierarchy(*of, all[at % all.len()].clone());
        }
        for _ in 0..effort.launches {
            watches.next_run();
            let mut memory = program.memory(rng.random()).ok()?;
            let launch = launch(&mut rng, &mut memory, effort.fuel)?;
            let ran = phalanx_simt::run(&program, name, &launch, &mut memory, &mut watches);
            tally.steps += ran.map_or(effort.fuel / 2, |report| report.steps);
        }
    }
    for (function, watch) in &watches.0 {
        let llvm = queries::exact_llvm_uniformity(database, function.input())?;
        let print = |inst| session.print_inst(*function, inst);
        watch.judge(session.code(*function), &llvm, print, &mut tally);
    }
    Some(tally)
}

/// The functions of a module that have a body.
fn definitions(session: &Session, module: ModuleId) -> Vec<(FunctionId, String)> {
    let database = session.database();
    let mut all = Vec::new();
    for entry in module.input().functions(database).iter().filter(|e| e.is_definition) {
        let name = entry.name.symbol().map(|s| module.input().context(database).text(s));
        let name = name.unwrap_or_default().into_owned();
        all.extend(session.function(module, &name).map(|function| (function, name)));
    }
    all
}

/// What is watched in each function.
#[derive(Default)]
struct Watches(Vec<(FunctionId, Watch)>);

impl Watches {
    fn of(&mut self, function: usize) -> Option<&mut Watch> {
        self.0.iter_mut().map(|(_, watch)| watch).find(|watch| watch.function == function)
    }

    fn next_run(&mut self) {
        self.0.iter_mut().for_each(|(_, watch)| watch.next_run());
    }
}

impl Observer for Watches {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if let Some(watch) = self.of(at.function) {
            watch.value(at, value);
        }
    }

    fn branch(&mut self, at: Moment<'_>, to: BlockId) {
        if let Some(watch) = self.of(at.function) {
            watch.branch(at, to);
        }
    }

    fn wants_operands(&self) -> bool {
        true
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, inst: InstId, value: &Value) {
        if let Some(watch) = self.of(at.function) {
            watch.operand(at, position, inst, value);
        }
    }
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
        // More launches, so that a smaller program has the chance to show it.
        let effort = Effort { launches: 2 * effort.launches, ..effort };
        check(&text, "f", seed, effort).is_some_and(|tally| !tally.unsound.is_empty())
    };
    let small =
        (!tally.unsound.is_empty()).then(|| runnable(&reduced(program, &is_wrong), kind, seed));
    (tally, small)
}

/// No claim about the program that the bytes stand for is refuted by execution.
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
