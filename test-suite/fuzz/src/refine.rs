//! The refinement law: a pass must not make a program less defined.
//!
//! A random kernel with `undef`, poison and freezes ([`programs`]) goes through every pass and
//! every ordered pair of passes of the registry. It is launched in the same way before and after,
//! as a *bound*: `undef` and unwritten memory are tracked, value by value and byte by byte
//! ([`phalanx_simt::unknown`]). If the original ends well,
//!
//! - the result must end well: it must not branch on or divide by poison or `undef`, violate a
//!   `noundef` or an assumption, or read memory that does not exist;
//! - a defined byte must stay the same; an `undef` byte must not become poison; a poison byte may
//!   become anything.
//!
//! If the original faults, hangs or does not end, every result is allowed, so such launches are
//! skipped.
//!
//! Freezing chooses the same bits on both sides. A pass may choose others (`freeze` of a phi of
//! `%x` and `undef` is `%x`). So if the results differ, the original is launched again with frozen
//! values kept unknown; if a branch depends on one, several launches take different edges. If one
//! of these launches allows the result, it is no finding ([`Tally::chosen`]). If a branch depends
//! on a frozen value and none of the launches allows the result, it is not judged
//! ([`Tally::open_ways`]).
//!
//! For example, `select i1 %c, i1 %p, i1 false` must not become `and i1 %c, %p`, and a branch on
//! `undef` in an arm that is not taken must not move before the arm:
//!
//! ```text
//! seed 17, simplifycfg,licm, launch 3: thread 2: undefined behaviour: branch on poison
//! ```
//!
//! Equal texts are judged once, so the cost depends on the number of different ones; [`Tally`]
//! counts both.

pub mod broken;
mod operations;
pub mod pairs;
pub mod programs;
mod reduce;
mod ways;

use std::{fmt, sync::Arc};

use phalanx::{
    Session,
    ir::Module,
    transform::{Event, Manager, Options, Pipeline, Registry},
};
use phalanx_simt::{Arg, Failure, Launch, Program, Silent, launch::Order, unknown::State};
use rand::{Rng as _, RngCore, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use rustc_hash::FxHashMap;

use crate::{Entropy, transforms::module_of};
use programs::{AREA, INPUT};
pub use reduce::reduced;

/// Passes with parameters, tested in addition to passes by name.
const VARIANTS: &[&str] = &["simplifycfg<select-uniform;speculate=8>", "loop-unroll<count=2>"];

/// Instructions that all threads together may execute before.
const FUEL: u64 = 20_000;

/// Threads of a workgroup; each has an area of its own.
const GEOMETRIES: &[[u32; 3]] = &[[4, 1, 1], [3, 1, 1], [2, 2, 1], [8, 1, 1]];

/// Areas that a buffer has.
const AREAS: u64 = 8;

/// What was done.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Random programs.
    pub programs: u64,
    /// Programs of which no launch ended well.
    pub undefined: u64,
    /// Pipelines that programs went through.
    pub pipelines: u64,
    /// Pipelines that changed them.
    pub changed: u64,
    /// Different results of pipelines, which were launched.
    pub results: u64,
    /// Pairs of launches, before and after, that were compared.
    pub launches: u64,
    /// Pairs that differ only in the choices of freezing.
    pub chosen: u64,
    /// Pairs that differ where branches depend on the choices of freezing.
    pub open_ways: u64,
    /// Bytes that had to stay.
    pub defined: u64,
    /// Bytes that were `undef` or poison.
    pub open: u64,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.programs += other.programs;
        self.undefined += other.undefined;
        self.pipelines += other.pipelines;
        self.changed += other.changed;
        self.results += other.results;
        self.launches += other.launches;
        self.chosen += other.chosen;
        self.open_ways += other.open_ways;
        self.defined += other.defined;
        self.open += other.open;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { programs, undefined, pipelines, changed, results, .. } = self;
        write!(
            f,
            "{programs} programs ({undefined} undefined), {pipelines} program-pipeline runs, "
        )?;
        write!(f, "{changed} with changes, {results} different results; ")?;
        write!(f, "{} launches compared, {} with other choices, ", self.launches, self.chosen)?;
        write!(f, "{} not judged; ", self.open_ways)?;
        write!(f, "{} bytes defined, {} undef or poison", self.defined, self.open)
    }
}

/// A result that is worse than the original.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The passes.
    pub pipeline: String,
    /// The seed of the launch.
    pub launch: u64,
    /// What got worse.
    pub what: String,
    /// The original.
    pub before: String,
    /// The result.
    pub after: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { pipeline, launch, what, before, after } = self;
        write!(f, "{pipeline}, launch {launch}: {what}\n{before}\n; becomes\n{after}")
    }
}

impl Finding {
    /// Whether a byte is worse; otherwise the result does not end well.
    #[must_use]
    pub fn is_byte(&self) -> bool {
        self.what.starts_with("byte ")
    }
}

/// What is in the buffer after a launch.
struct Left {
    bytes: Vec<u8>,
    states: Vec<State>,
    /// Whether a branch depends on an unknown frozen value.
    has_guesses: bool,
}

/// Whether other choices of freezing allow a result.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Allowed {
    Yes,
    No,
    Open,
}

/// A launch of `@f` that follows from a seed.
fn launch(
    module: &Module,
    seed: u64,
    fuel: u64,
    follow_frozen: Option<u64>,
) -> Result<Left, Failure> {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let triple = module.triple.map(|t| module.context.text(t).into_owned()).unwrap_or_default();
    let target = phalanx::target::Target::new(&triple, "");
    let refuse = |what: String| Failure::Launch(what);
    let mut program = Program::new(module, &target).map_err(|kind| refuse(kind.to_string()))?;
    program.follow_undef();
    let mut memory = program.memory(0).map_err(|kind| refuse(kind.to_string()))?;
    let size = INPUT + AREAS * AREA;
    // Small numbers, so that comparisons have both outcomes.
    let small = [0u32, 1, 2, 3, 5, 7, 8, 31, 32, 40, 255, 0x7fff_ffff, 0x8000_0000, u32::MAX];
    let mut contents: Vec<u8> = Vec::new();
    for _ in 0..INPUT / 4 {
        let number =
            if rng.random_bool(0.8) { *small.choose(rng).unwrap_or(&0) } else { rng.random() };
        contents.extend(number.to_le_bytes());
    }
    contents.resize(size as usize, 0);
    let buffer = memory.buffer(&contents).map_err(|kind| refuse(kind.to_string()))?;
    let orders = [Order::Lockstep, Order::Turns(7), Order::Random(rng.random())];
    let chosen = [0, u128::MAX, rng.random::<u128>(), 1];
    let launch = Launch {
        block: *GEOMETRIES.choose(rng).unwrap_or(&[4, 1, 1]),
        wave: *[2, 4, 32].choose(rng).unwrap_or(&4),
        args: vec![
            Arg::bits(buffer),
            Arg::bits(u128::from(rng.random_range(0..16u32))),
            Arg::bits(u128::from(*small.choose(rng).unwrap_or(&0))),
        ],
        fuel,
        order: *orders.choose(rng).unwrap_or(&Order::Lockstep),
        frozen: *chosen.choose(rng).unwrap_or(&0),
        follow_frozen,
        ..Launch::default()
    };
    let report = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut Silent)?;
    let read = |kind: phalanx_simt::FaultKind| refuse(kind.to_string());
    Ok(Left {
        bytes: memory.bytes(buffer, size).map_err(read)?.to_vec(),
        states: memory.states(buffer, size).map_err(read)?.to_vec(),
        has_guesses: report.guesses > 0,
    })
}

/// What is worse after than before.
fn worse(before: &Left, after: &Left) -> Option<String> {
    let old = before.bytes.iter().zip(&before.states);
    let new = after.bytes.iter().zip(&after.states);
    let (at, ((old, was), (new, is))) =
        old.zip(new).enumerate().find(|(_, ((old, was), (new, is)))| {
            let is_same = **was != State::Defined || old == new;
            !was.may_become(**is) || !is_same
        })?;
    let at = at as u64;
    let place = match at.checked_sub(INPUT) {
        Some(at) => format!("byte {} of thread area {}", at % AREA, at / AREA),
        None => format!("byte {at} of the input"),
    };
    let text = |byte: &u8, state: &State| match state {
        State::Defined => format!("{byte:#04x}"),
        State::Frozen => "frozen".to_owned(),
        State::Undef => "undef".to_owned(),
        State::Poison => "poison".to_owned(),
    };
    Some(format!("{place} was {} and is {}", text(old, was), text(new, is)))
}

/// A kernel and what its launches leave.
struct Original {
    text: String,
    module: Module,
    launches: Vec<(u64, Left)>,
}

impl Original {
    fn new(text: &str, seed: u64, launches: u64) -> Original {
        let module = module_from(text).expect("generated programs are well-formed");
        let seeds = (0..launches).map(|n| seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let launches = seeds
            .filter_map(|seed| Some((seed, launch(&module, seed, FUEL, None).ok()?)))
            .collect();
        Original { text: text.to_owned(), module, launches }
    }

    /// Whether some other choice of freezing allows the buffer that a result left, or its failure.
    fn allows(&self, seed: u64, after: Option<&Left>) -> Allowed {
        let mut has_guesses = false;
        for ways in 0..12 {
            match launch(&self.module, seed, FUEL, Some(ways)) {
                Ok(before) if after.is_some_and(|after| worse(&before, after).is_none()) => {
                    return Allowed::Yes;
                }
                Ok(before) if !before.has_guesses => return Allowed::No,
                Ok(_) => has_guesses = true,
                // For some choice the original may do anything, or its behaviour is unknown.
                Err(_) => return Allowed::Open,
            }
        }
        if has_guesses { Allowed::Open } else { Allowed::No }
    }

    /// What is worse of a result, if anything is.
    fn judge(&self, after: &str, tally: &mut Tally) -> Option<(u64, String)> {
        let module = match module_from(after) {
            Ok(module) => module,
            Err(error) => return Some((0, format!("the result does not read: {error}"))),
        };
        for (seed, before) in &self.launches {
            tally.launches += 1;
            // Linearized code executes more instructions.
            let (after, what) = match launch(&module, *seed, 20 * FUEL, None) {
                Ok(after) => {
                    let what = worse(before, &after);
                    (Some(after), what)
                }
                Err(failure) => (None, Some(failure.to_string())),
            };
            let Some(what) = what else { continue };
            match self.allows(*seed, after.as_ref()) {
                Allowed::Yes => tally.chosen += 1,
                Allowed::Open => tally.open_ways += 1,
                Allowed::No => return Some((*seed, what)),
            }
        }
        None
    }
}

fn module_from(text: &str) -> Result<Module, String> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(module_of(&session, module))
}

/// The passes and launches of the law.
pub struct Law {
    passes: Vec<(String, Pipeline)>,
    launches: u64,
    /// So many pipelines of up to seven passes instead of all pairs.
    chains: Option<u32>,
}

impl Law {
    /// All passes of a registry, and as many launches of each program.
    ///
    /// # Panics
    /// A variant of a standard pass is not known.
    #[must_use]
    pub fn new(registry: &Registry, launches: u64) -> Law {
        let names = registry.names().chain(VARIANTS.iter().copied());
        Law::of(registry, &names.collect::<Vec<_>>(), launches)
    }

    /// These passes.
    ///
    /// # Panics
    /// One is not known.
    #[must_use]
    pub fn of(registry: &Registry, names: &[&str], launches: u64) -> Law {
        let pipeline = |name: &&str| {
            let read = Pipeline::parse(name, registry);
            ((*name).to_owned(), read.unwrap_or_else(|error| panic!("{error}")))
        };
        Law { passes: names.iter().map(pipeline).collect(), launches, chains: None }
    }

    /// The law with so many random pipelines of three to seven passes instead of all pairs.
    #[must_use]
    pub fn with_chains(self, count: u32) -> Law {
        Law { chains: Some(count), ..self }
    }

    /// The law with the standard passes.
    #[must_use]
    pub fn standard(launches: u64) -> Law {
        Law::new(&Registry::standard(), launches)
    }

    /// Names of passes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.passes.iter().map(|(name, _)| name.as_str())
    }

    /// Through each pass, and each ordered pair of passes or some longer pipelines: what was done,
    /// and what is found.
    #[must_use]
    pub fn check(&self, text: &str, seed: u64) -> (Tally, Vec<Finding>) {
        let mut tally = Tally { programs: 1, ..Tally::default() };
        let original = Original::new(text, seed, self.launches);
        let mut findings: Vec<Finding> = Vec::new();
        if original.launches.is_empty() {
            tally.undefined = 1;
            return (tally, findings);
        }
        for state in original.launches.iter().flat_map(|(_, left)| &left.states) {
            match state {
                State::Defined => tally.defined += 1,
                _ => tally.open += 1,
            }
        }
        // The texts that were judged, and whether each is worse.
        let mut judged: FxHashMap<Arc<str>, bool> = FxHashMap::default();
        // The results of passes on texts.
        let mut made: FxHashMap<(Arc<str>, usize), Arc<str>> = FxHashMap::default();
        let whole: Arc<str> = printed(text).into();
        judged.insert(Arc::clone(&whole), false);
        let mut apply = |text: &Arc<str>, pass: usize| -> Result<Arc<str>, String> {
            if let Some(known) = made.get(&(Arc::clone(text), pass)) {
                return Ok(Arc::clone(known));
            }
            let result: Arc<str> = match transformed(text, &self.passes[pass].1)? {
                Some(result) => result.into(),
                None => Arc::clone(text),
            };
            made.insert((Arc::clone(text), pass), Arc::clone(&result));
            Ok(result)
        };
        let mut judge = |names: &[&str], result: Result<Arc<str>, String>, tally: &mut Tally| {
            tally.pipelines += 1;
            let (worse, after) = match result {
                Ok(after) => {
                    tally.changed += u64::from(after != whole);
                    if let Some(&is_worse) = judged.get(&after) {
                        return (!is_worse).then_some(after);
                    }
                    tally.results += 1;
                    let worse = original.judge(&after, tally);
                    judged.insert(Arc::clone(&after), worse.is_some());
                    (worse, after)
                }
                Err(error) => (Some((0, error)), "".into()),
            };
            let Some((launch, what)) = worse else { return Some(after) };
            findings.push(Finding {
                pipeline: names.join(","),
                launch,
                what,
                before: original.text.clone(),
                after: after.to_string(),
            });
            None
        };
        for (first, (name, _)) in self.passes.iter().enumerate() {
            let result = apply(&whole, first);
            // If one pass fails, no second one is tried.
            let Some(middle) = judge(&[name], result, &mut tally) else { continue };
            if self.chains.is_some() {
                continue;
            }
            for (second, (other, _)) in self.passes.iter().enumerate() {
                let result = apply(&middle, second);
                judge(&[name, other], result, &mut tally);
            }
        }
        let rng = &mut SmallRng::seed_from_u64(!seed);
        for _ in 0..self.chains.unwrap_or(0) {
            let length = rng.random_range(3..8);
            let chain: Vec<usize> =
                (0..length).map(|_| rng.random_range(0..self.passes.len())).collect();
            let mut result = Ok(Arc::clone(&whole));
            for &pass in &chain {
                result = result.and_then(|text| apply(&text, pass));
            }
            let names: Vec<&str> = chain.iter().map(|&pass| self.passes[pass].0.as_str()).collect();
            judge(&names, result, &mut tally);
        }
        (tally, findings)
    }

    /// A random program through the law.
    #[must_use]
    pub fn run(&self, seed: u64) -> (Tally, Vec<Finding>) {
        self.check(&random(seed), seed)
    }

    /// Whether a pipeline of these passes still fails on a program, in the same launches.
    #[must_use]
    pub fn shows(&self, text: &str, pipeline: &str, seed: u64) -> Option<Finding> {
        if module_from(text).is_err() {
            return None;
        }
        let original = Original::new(text, seed, self.launches);
        let mut after = printed(text);
        for step in pipeline.split(',') {
            let (_, pass) = self.passes.iter().find(|(name, _)| name == step)?;
            if let Some(result) = transformed(&after, pass).ok()? {
                after = result;
            }
        }
        let (launch, what) = original.judge(&after, &mut Tally::default())?;
        let pipeline = pipeline.to_owned();
        Some(Finding { pipeline, launch, what, before: text.to_owned(), after })
    }
}

/// The random program of a seed.
#[must_use]
pub fn random(seed: u64) -> String {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let size = rng.random_range(10..60);
    programs::random(rng, size)
}

/// The text as it is printed.
fn printed(text: &str) -> String {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    String::from_utf8_lossy(&session.print(module)).into_owned()
}

/// The result of a pipeline on a text; none if it does not change.
fn transformed(text: &str, pipeline: &Pipeline) -> Result<Option<String>, String> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).map_err(|e| format!("does not read: {e}"))?;
    let mut manager = Manager::new(Options { verify_each: true, statistics: false });
    let (mut changed, mut broken) = (false, None);
    let done =
        manager.run(
            session.database_mut(),
            module.input(),
            pipeline,
            &mut |_, event| match event {
                Event::Changed { .. } => changed = true,
                Event::Broken { pass, errors, .. } => {
                    broken = Some(format!("{pass:?} breaks rules: {errors:?}"));
                }
                _ => {}
            },
        );
    done.map_err(|error| format!("fails: {error}"))?;
    match broken {
        Some(broken) => Err(broken),
        None => Ok(changed.then(|| String::from_utf8_lossy(&session.print(module)).into_owned())),
    }
}

/// Checks the program and the pipeline that the bytes encode.
///
/// # Panics
/// The result is worse.
pub fn refinement(data: &[u8]) {
    let mut choices = Entropy::new(data);
    let registry = Registry::standard();
    let all: Vec<&str> = registry.names().chain(VARIANTS.iter().copied()).collect();
    let mut pick = || all.choose(&mut choices).copied().unwrap_or("dce");
    let names = [pick(), pick()];
    let text = programs::random(&mut choices, 20);
    let law = Law::of(&registry, &names, 2);
    if let Some(finding) = law.shows(&text, &names.join(","), choices.next_u64()) {
        panic!("{finding}");
    }
}
