//! Random programs must behave the same before and after transforms.
//!
//! A random kernel is executed, goes through a pipeline of transforms and is executed again.
//! Defined behaviour must be the same after:
//! - bytes in memory, to which each thread writes some of its values, at places of its own;
//! - at every convergent operation that is still there, which threads are together how often, and
//!   the value each of them gets.
//!
//! Both must hold under maximal convergence and on a machine that reconverges at post-dominators.
//!
//! In addition, the verifier must accept the function after each pass, the text of the result must
//! parse, and facts must equal those of a new database.

use std::fmt::Write as _;

use phalanx::{
    Session,
    ir::{InstId, Module},
    target::Scope,
    transform::{Event, Manager, Options, Pipeline, Registry, code::Code},
};
use phalanx_simt::{
    Arg, Launch, Observer, Program, Reconvergence, Value, convergence::Key, launch::Order,
    observe::Moment,
};
use phalanx_testing::generate::{self, Options as ProgramOptions};
use rand::{Rng as _, RngCore, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Entropy,
    edits::facts_are_right,
    oracle,
    oracle::programs::{Kind, runnable_alone},
};

/// Pipelines that programs go through.
pub const PIPELINES: &[&str] = &[
    "dce",
    "instsimplify,dce",
    "simplifycfg",
    "simplifycfg<select-uniform;speculate=8>",
    "early-cse",
    "licm",
    "simplifycfg,instsimplify,early-cse,licm,dce",
    "instsimplify,simplifycfg<select-uniform>,early-cse,simplifycfg,licm,early-cse,dce,annotate-uniform",
    "early-cse,instsimplify,simplifycfg,early-cse,instsimplify,simplifycfg,licm,dce",
];

/// The models that programs are executed under.
pub(crate) const MODELS: [Reconvergence; 2] =
    [Reconvergence::Maximal, Reconvergence::PostDominator];

/// Bytes of the buffer that a kernel is given.
const BUFFER: usize = 64 + 640 * 64 * 4;

/// What was compared.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Programs that a pipeline changed.
    pub changed: u64,
    /// Launches that ended, before and after.
    pub launches: u64,
    /// Converged executions of convergent operations that were compared.
    pub groups: u64,
    /// Erased instructions.
    pub erased: u64,
    /// Erased convergent operations.
    pub erased_convergent: u64,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.changed += other.changed;
        self.launches += other.launches;
        self.groups += other.groups;
        self.erased += other.erased;
        self.erased_convergent += other.erased_convergent;
    }
}

/// A random kernel whose results can be compared: without atomics, whose order is unspecified, and
/// with stores of computed values.
///
/// `folds` makes some conditions constant, so that there is something to fold.
#[must_use]
pub fn comparable(text: &str, kind: Kind, rng: &mut dyn RngCore, folds: bool) -> String {
    let next = match kind {
        Kind::Amdgcn => "call i32 @next(ptr addrspace(5) %state)",
        Kind::Nvptx => "call i32 @next(ptr %state)",
    };
    let atomic = "atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4";
    let text = text.replace(atomic, next);
    let mut out = String::new();
    let mut waiting = String::new();
    let (mut stores, mut votes, mut is_ready) = (0, 0, false);
    for line in text.lines() {
        if !waiting.is_empty() && !line.contains(" = phi ") {
            out.push_str(&waiting);
            waiting.clear();
        }
        let result = line.trim().strip_prefix("%v").and_then(|rest| rest.split_once(" = "));
        let number = result.and_then(|(number, _)| number.parse::<u32>().ok());
        let is_int =
            result.is_some_and(|(_, op)| !op.contains("to i1") && !op.starts_with("trunc"));
        match (number, line.contains("= trunc i32") && line.ends_with("to i1")) {
            // The condition of a branch.
            (Some(number), true) if folds && rng.random_bool(0.3) => {
                let side = rng.random::<bool>();
                let _ = writeln!(out, "  %v{number} = icmp eq i32 0, {}", i32::from(side));
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
        if line.trim_start().starts_with("%own = ") {
            out.push_str("  %bit.0 = trunc i32 %seed.0 to i1\n");
            is_ready = true;
        }
        if is_ready && number.is_some() && rng.random_bool(0.3) {
            votes += 1;
            let vote = match kind {
                Kind::Amdgcn => "call i64 @llvm.amdgcn.ballot.i64(i1 %bit.0)",
                Kind::Nvptx => "call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %bit.0)",
            };
            let _ = writeln!(waiting, "  %vote{votes} = {vote}");
            let is_wide = kind == Kind::Amdgcn;
            if is_wide {
                let _ = writeln!(waiting, "  %vote{votes}.n = trunc i64 %vote{votes} to i32");
            }
            let suffix = if is_wide { ".n" } else { "" };
            stores += 1;
            let at = 16 + stores * 64;
            let _ = writeln!(waiting, "  %vote{votes}.i = add i32 %own.i, {at}");
            let _ = writeln!(
                waiting,
                "  %vote{votes}.at = getelementptr i32, ptr addrspace(1) %gp, i32 %vote{votes}.i"
            );
            let _ = writeln!(
                waiting,
                "  store i32 %vote{votes}{suffix}, ptr addrspace(1) %vote{votes}.at, align 4"
            );
        }
        if let Some(number) = number
            && is_int
            && stores < 250
            && rng.random_bool(0.4)
        {
            stores += 1;
            let at = 16 + stores * 64;
            let _ = writeln!(waiting, "  %at{number}.i = add i32 %own.i, {at}");
            let _ = writeln!(
                waiting,
                "  %at{number} = getelementptr i32, ptr addrspace(1) %gp, i32 %at{number}.i"
            );
            let _ =
                writeln!(waiting, "  store i32 %v{number}, ptr addrspace(1) %at{number}, align 4");
        }
    }
    out
}

/// Groups at convergent operations, and their results.
#[derive(Debug)]
struct Watch<'w> {
    function: usize,
    watched: &'w FxHashSet<InstId>,
    /// Executions so far, by instruction and thread.
    counts: FxHashMap<(InstId, u32), u32>,
    /// Whether waves are compared separately: at post-dominators they do not wait for each other.
    by_wave: bool,
    /// Threads with the number of their execution, by instruction and converged execution.
    groups: FxHashMap<(InstId, Key, u32), Vec<(u32, u32)>>,
    values: FxHashMap<(InstId, u32, u32), Value>,
}

impl<'w> Watch<'w> {
    fn new(function: usize, watched: &'w FxHashSet<InstId>, model: Reconvergence) -> Self {
        Watch {
            function,
            watched,
            by_wave: model == Reconvergence::PostDominator,
            counts: FxHashMap::default(),
            groups: FxHashMap::default(),
            values: FxHashMap::default(),
        }
    }

    /// All groups, independent of their keys.
    fn partition(&self) -> Vec<(u32, Vec<(u32, u32)>)> {
        let mut all: Vec<_> = self
            .groups
            .iter()
            .map(|((inst, _, _), threads)| {
                let mut threads = threads.clone();
                threads.sort_unstable();
                (inst.into_raw().into_u32(), threads)
            })
            .collect();
        all.sort_unstable();
        all
    }
}

impl Observer for Watch<'_> {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if at.function != self.function || !self.watched.contains(&at.inst) {
            return;
        }
        let thread = at.thread.number;
        let count = self.counts.entry((at.inst, thread)).or_default();
        let wave = if self.by_wave { oracle::group(&at, Scope::Wave) } else { 0 };
        self.groups.entry((at.inst, at.key, wave)).or_default().push((thread, *count));
        self.values.insert((at.inst, thread, *count), value.clone());
        *count += 1;
    }
}

/// The result of a launch.
pub(crate) struct Left {
    pub(crate) bytes: Vec<u8>,
    pub(crate) partition: Vec<(u32, Vec<(u32, u32)>)>,
    pub(crate) values: FxHashMap<(InstId, u32, u32), Value>,
}

/// Geometries in which every thread has a place of its own.
const GEOMETRIES: &[[u32; 3]] = &[[8, 1, 1], [5, 1, 1], [4, 2, 1], [12, 1, 1], [33, 1, 1]];

pub(crate) fn launch(
    module: &Module,
    (seed, model): (u64, Reconvergence),
    watched: &FxHashSet<InstId>,
    fuel: u64,
) -> Option<Left> {
    let watch = |f| Watch::new(f, watched, model);
    let (bytes, watch) = launch_watched(module, (seed, model), fuel, watch)?;
    Some(Left { bytes, partition: watch.partition(), values: watch.values })
}

/// Launches the kernel `@f` as a seed determines, with observers for the function with that number.
/// Returns the contents of the buffer; none if the launch fails.
pub(crate) fn launch_watched<O: Observer>(
    module: &Module,
    (seed, reconvergence): (u64, Reconvergence),
    fuel: u64,
    watch: impl FnOnce(usize) -> O,
) -> Option<(Vec<u8>, O)> {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let triple = module.triple.map(|t| module.context.text(t).into_owned()).unwrap_or_default();
    let target = phalanx::target::Target::new(&triple, "");
    let program = Program::new(module, &target).ok()?;
    let number = program.function("f")?;
    let mut memory = program.memory(rng.random()).ok()?;
    let contents: Vec<u8> = (0..BUFFER).map(|at| if at < 64 { rng.random() } else { 0 }).collect();
    let buffer = memory.buffer(&contents).ok()?;
    let orders = [Order::Lockstep, Order::Turns(7), Order::Random(rng.random())];
    let launch = Launch {
        block: *GEOMETRIES.choose(rng)?,
        wave: *[4, 8, 32].choose(rng)?,
        args: vec![
            Arg::bits(buffer),
            Arg::bits(u128::from(rng.random_range(0..16u32))),
            Arg::bits(u128::from(rng.random::<u32>())),
        ],
        fuel,
        order: *orders.choose(rng)?,
        seed: rng.random(),
        reconvergence,
        ..Launch::default()
    };
    let mut watch = watch(number);
    phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch).ok()?;
    let bytes = memory.bytes(buffer, BUFFER as u64).ok()?.to_vec();
    Some((bytes, watch))
}

pub(crate) fn module_of(session: &Session, module: phalanx::ModuleId) -> Module {
    let db = session.database();
    let mut copy: Module = module.input().shell(db).clone();
    copy.functions =
        module.input().functions(db).iter().map(|e| e.input.view(db).to_function()).collect();
    copy
}

/// Convergent operations of the kernel.
pub(crate) fn convergent(session: &Session, function: phalanx::FunctionId) -> FxHashSet<InstId> {
    let code = Code::of(session.database(), function.input());
    let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    all.filter(|&inst| code.is_convergent(inst)).collect()
}

/// A text goes through a pipeline and runs before and after.
///
/// # Panics
/// When something is not as the module says.
#[must_use]
pub fn check(text: &str, pipeline: &str, seed: u64, launches: u64) -> Tally {
    check_with(&Registry::standard(), text, pipeline, seed, launches)
}

/// As [`check`], with other passes.
///
/// # Panics
/// As [`check`].
#[must_use]
pub fn check_with(
    registry: &Registry,
    text: &str,
    pipeline: &str,
    seed: u64,
    launches: u64,
) -> Tally {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f").expect("the kernel is called @f");
    let before = module_of(&session, module);
    let watched_before = convergent(&session, function);
    let passes = Pipeline::parse(pipeline, registry).expect("the pipeline is one");
    let mut manager = Manager::new(Options { verify_each: true, statistics: true });
    let mut broken = Vec::new();
    let mut changed = false;
    let done =
        manager.run(session.database_mut(), module.input(), &passes, &mut |_, event| match event {
            Event::Changed { .. } => changed = true,
            Event::Broken { pass, errors, .. } => broken.push(format!("{pass:?}: {errors:?}")),
            _ => {}
        });
    done.unwrap_or_else(|error| panic!("{pipeline} fails: {error}\n{text}"));
    assert!(broken.is_empty(), "{pipeline} breaks rules: {}\n{text}", broken.join("\n"));
    let mut tally = Tally { changed: u64::from(changed), ..Tally::default() };
    tally.erased = manager.statistics().steps.iter().map(|step| step.erased).sum();
    if !changed {
        return tally;
    }
    let printed = session.print(module);
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let mut again = Session::new();
    let read = again.read(printed.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(String::from_utf8_lossy(&again.print(read)), printed, "{pipeline}");
    facts_are_right(&session, module, function);
    let after = module_of(&session, module);
    let watched = convergent(&session, function);
    tally.erased_convergent = watched_before.len() as u64 - watched.len() as u64;
    assert!(watched.is_subset(&watched_before), "{pipeline} makes convergent operations\n{text}");
    for (number, model) in (0..launches).flat_map(|number| MODELS.map(|model| (number, model))) {
        let seed = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // A launch that faults, hangs or does not end may change arbitrarily.
        let Some(old) = launch(&before, (seed, model), &watched, 8_000) else { continue };
        let say = || format!("{pipeline}, launch {seed}, {model:?}\n{text}\n; becomes\n{printed}");
        let Some(new) = launch(&after, (seed, model), &watched, 20_000) else {
            panic!("no longer ends well: {}", say());
        };
        assert!(old.bytes == new.bytes, "other results: {}", say());
        let differs = old.partition.iter().zip(&new.partition).find(|(old, new)| old != new);
        assert!(
            old.partition.len() == new.partition.len() && differs.is_none(),
            "other groups: {differs:?} {}",
            say()
        );
        for (place, value) in &old.values {
            let same = value.has_poison() || new.values.get(place) == Some(value);
            assert!(same, "another value at {place:?}: {}", say());
        }
        tally.launches += 1;
        tally.groups += old.partition.len() as u64;
    }
    tally
}

/// A random program through some pipeline.
#[must_use]
pub fn run(rng: &mut dyn RngCore, blocks: usize, launches: u64) -> Tally {
    let text = random(rng, blocks);
    let pipeline = PIPELINES.choose(rng).copied().unwrap_or("dce");
    check(&text, pipeline, rng.next_u64(), launches)
}

/// A random program whose results can be compared.
#[must_use]
pub fn random(rng: &mut dyn RngCore, blocks: usize) -> String {
    let program = generate::program_from(rng, ProgramOptions { blocks, ..Default::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = runnable_alone(&program, kind, rng.next_u64());
    let folds = rng.random_bool(0.5);
    comparable(&text, kind, rng, folds)
}

/// Checks that the program that the bytes encode behaves the same before and after the pipeline
/// that they encode.
pub fn transforms(data: &[u8]) {
    let mut choices = Entropy::new(data);
    let blocks = *[6, 11, 16].choose(&mut choices).unwrap_or(&11);
    let _ = run(&mut choices, blocks, 1);
}
