//! Checks transforms that move, merge and copy convergent operations against execution.
//!
//! All checks are made under maximal convergence and on a machine that reconverges at
//! post-dominators.
//!
//! Such a transform may move an operation, so operations are compared by *class*: the callee. A
//! random kernel is executed before and after. For each class it is recorded which sets of threads
//! executed its operations, at the scope at which they communicate, and how often each set did.
//!
//! - After a pipeline the sets must be a part of those before, or the same if nothing was deleted;
//!   bytes in memory must be the same: [`check`].
//! - For single motions ([`instances`]) the sets are compared with the promise of
//!   [`Legality`](phalanx_core::legality::Legality).

pub mod barriers;
mod compare;
pub mod counted;
mod demote;
pub mod instances;
mod tally;

use std::{collections::BTreeMap, fmt::Write as _};

use phalanx::{
    Session,
    ir::{ConstKind, GlobalName, InstId, Module},
    target::{Scope, intrinsics},
    transform::{Event, Manager, Options, Pipeline, Registry, code::Code},
};
use phalanx_simt::{Observer, Reconvergence, Value, convergence::Key, observe::Moment};
use phalanx_testing::generate::{self, Options as ProgramOptions};
use rand::{Rng as _, RngCore, seq::IndexedRandom as _};
use rustc_hash::FxHashMap;

pub use self::demote::demote;
use crate::{
    edits::facts_are_right,
    oracle,
    oracle::programs::{Kind, runnable_alone},
    transforms::{MODELS, comparable, launch_watched, module_of},
};

/// Pipelines that move convergent operations, and whether they keep every execution of each.
pub const PIPELINES: &[(&str, bool)] = &[
    ("move-convergent", false),
    ("licm,move-convergent,early-cse,dce,simplifycfg", false),
    ("combine-ballots", false),
];

/// How many instructions a launch of the original may execute.
pub(crate) const FUEL: u64 = 8_000;

/// The operations that are compared, by number of the class and of the scope.
pub(crate) type Classes = FxHashMap<InstId, (u32, usize)>;

/// How often each set of threads executed a class.
pub(crate) type Company = FxHashMap<(u32, Vec<u32>), u32>;

/// Records which threads were together at operations.
#[derive(Debug)]
pub(crate) struct Together<'w> {
    function: usize,
    classes: &'w Classes,
    /// Whether waves are compared separately: at post-dominators they do not wait for each other.
    by_wave: bool,
    groups: FxHashMap<(InstId, Key, u32), Vec<u32>>,
}

impl<'w> Together<'w> {
    pub(crate) fn new(function: usize, classes: &'w Classes, model: Reconvergence) -> Self {
        let by_wave = model == Reconvergence::PostDominator;
        Together { function, classes, by_wave, groups: FxHashMap::default() }
    }

    pub(crate) fn company(self) -> Company {
        let mut company = Company::default();
        for ((inst, _, _), mut threads) in self.groups {
            threads.sort_unstable();
            *company.entry((self.classes[&inst].0, threads)).or_default() += 1;
        }
        company
    }
}

impl Observer for Together<'_> {
    fn value(&mut self, at: Moment<'_>, _: &Value) {
        if at.function != self.function {
            return;
        }
        let Some(&(_, scope)) = self.classes.get(&at.inst) else { return };
        let scope = if self.by_wave { 0 } else { scope };
        let group = oracle::group(&at, [Scope::Wave, Scope::Workgroup][scope]);
        self.groups.entry((at.inst, at.key, group)).or_default().push(at.thread.number);
    }
}

/// Classes of convergent operations by name, so that two modules agree on them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        let next = self.names.len() as u32;
        *self.names.entry(name.to_owned()).or_insert(next)
    }

    /// The convergent operations of a function.
    pub(crate) fn classes(&mut self, code: &Code<'_>) -> Classes {
        let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let mut classes = Classes::default();
        for inst in all.filter(|&inst| code.is_convergent(inst)) {
            let name = code.body.const_callee(inst).and_then(|callee| {
                match code.context.const_data(callee).kind {
                    ConstKind::Global(GlobalName::Named(symbol)) => {
                        Some(code.context.text(symbol).into_owned())
                    }
                    _ => None,
                }
            });
            let name = name.unwrap_or_default();
            let barrier = intrinsics::lookup(&name).and_then(|found| found.info.barrier);
            let scope = match barrier {
                Some(barrier) => usize::from(barrier.scope != Scope::Wave),
                None => 0,
            };
            classes.insert(inst, (self.number(&name), scope));
        }
        classes
    }
}

/// What was compared.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Programs that a pipeline changed.
    pub changed: u64,
    /// Launches that ended, before and after.
    pub launches: u64,
    /// Converged executions of convergent operations before.
    pub groups: u64,
    /// How many fewer there were after.
    pub fewer: u64,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.changed += other.changed;
        self.launches += other.launches;
        self.groups += other.groups;
        self.fewer += other.fewer;
    }
}

/// Runs a text before and after a pipeline. `keeps_all`: whether every execution of a convergent
/// operation must stay.
///
/// # Errors
/// What is not as it has to be.
pub fn check(
    registry: &Registry,
    text: &str,
    pipeline: (&str, bool),
    seed: u64,
    launches: u64,
) -> Result<Tally, String> {
    check_under(registry, text, pipeline, (seed, launches), &MODELS)
}

/// As [`check`], under some models of reconvergence.
///
/// # Errors
/// What is not as it has to be.
pub fn check_under(
    registry: &Registry,
    text: &str,
    (pipeline, keeps_all): (&str, bool),
    (seed, launches): (u64, u64),
    models: &[Reconvergence],
) -> Result<Tally, String> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f").expect("the kernel is called @f");
    let before = module_of(&session, module);
    let mut names = Names::default();
    let classes = |session: &Session, names: &mut Names| {
        names.classes(&Code::of(session.database(), function.input()))
    };
    let classes_before = classes(&session, &mut names);
    let passes = Pipeline::parse(pipeline, registry).expect("the pipeline is one");
    let mut manager = Manager::new(Options { verify_each: true, statistics: false });
    let (mut broken, mut changed) = (Vec::new(), false);
    let done =
        manager.run(session.database_mut(), module.input(), &passes, &mut |_, event| match event {
            Event::Changed { .. } => changed = true,
            Event::Broken { pass, errors, .. } => broken.push(format!("{pass:?}: {errors:?}")),
            _ => {}
        });
    done.map_err(|error| format!("{pipeline} fails: {error}\n{text}"))?;
    if !broken.is_empty() {
        return Err(format!("{pipeline} breaks rules: {}\n{text}", broken.join("\n")));
    }
    let mut tally = Tally { changed: u64::from(changed), ..Tally::default() };
    if !changed {
        return Ok(tally);
    }
    let printed = String::from_utf8_lossy(&session.print(module)).into_owned();
    let mut again = Session::new();
    let read = again.read(printed.as_bytes()).map_err(|e| format!("{e}\n{printed}"))?;
    assert_eq!(String::from_utf8_lossy(&again.print(read)), printed, "{pipeline}");
    facts_are_right(&session, module, function);
    let after = module_of(&session, module);
    let classes_after = classes(&session, &mut names);
    let run = |module: &Module, classes: &Classes, launch: (u64, Reconvergence), fuel: u64| {
        let watch = |f| Together::new(f, classes, launch.1);
        let (bytes, watch) = launch_watched(module, launch, fuel, watch)?;
        Some((bytes, watch.company()))
    };
    let models = models.iter().copied();
    for (number, model) in (0..launches).flat_map(|number| models.clone().map(move |m| (number, m)))
    {
        let seed = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let say = |what: &str| {
            Err(format!(
                "{what}: {pipeline}, launch {seed}, {model:?}\n{text}\n; becomes\n{printed}"
            ))
        };
        // A launch that faults, hangs or does not end may change arbitrarily.
        let Some((old_bytes, old)) = run(&before, &classes_before, (seed, model), FUEL) else {
            continue;
        };
        let Some((new_bytes, new)) = run(&after, &classes_after, (seed, model), 5 * FUEL) else {
            return say("no longer ends well");
        };
        if old_bytes != new_bytes {
            return say("other results");
        }
        let is_part = new.iter().all(|(group, count)| old.get(group) >= Some(count));
        if !is_part || keeps_all && old != new {
            return say("other groups");
        }
        let count = |company: &Company| company.values().map(|&n| u64::from(n)).sum::<u64>();
        tally.launches += 1;
        tally.groups += count(&old);
        tally.fewer += count(&old) - count(&new);
    }
    Ok(tally)
}

/// How often each set of threads executed an operation, by its number.
pub type Groups = BTreeMap<(u32, Vec<u32>), u32>;

/// The groups of the convergent operations of a kernel `@f` in a launch; none if it does not end
/// well. Operations are numbered by what they call, in the order of the text.
///
/// # Panics
/// The text is not well-formed.
#[must_use]
pub fn groups(text: &str, seed: u64) -> Option<Groups> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is well-formed");
    let function = session.function(module, "f").expect("the kernel is called @f");
    let code = Code::of(session.database(), function.input());
    let classes = Names::default().classes(&code);
    let module = module_of(&session, module);
    let model = Reconvergence::Maximal;
    let watch = |f| Together::new(f, &classes, model);
    let (_, watch) = launch_watched(&module, (seed, model), FUEL, watch)?;
    Some(watch.company().into_iter().collect())
}

/// A random program with more votes and uniform branches than others: many blocks start with a
/// vote, whose result is stored there or further down.
#[must_use]
pub fn voting(rng: &mut dyn RngCore, blocks: usize) -> String {
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    voting_for(kind, rng, blocks)
}

/// As [`voting`], for a target.
pub(crate) fn voting_for(kind: Kind, rng: &mut dyn RngCore, blocks: usize) -> String {
    let program = generate::program_from(rng, ProgramOptions { blocks, ..Default::default() });
    let text = comparable(&runnable_alone(&program, kind, rng.next_u64()), kind, rng, false);
    let is_amd = text.contains("amdgcn-amd-amdhsa");
    let mut out = String::new();
    let (mut is_ready, mut votes, mut is_start) = (false, 0, false);
    for line in text.lines() {
        let is_instruction = line.starts_with("  ") && !line.contains(" = phi ");
        if is_ready && is_start && is_instruction && rng.random_bool(0.6) {
            votes += 1;
            let slot = rng.random_range(0..8u32);
            // Different blocks often have equal votes.
            let operand = *["%bit.0", "true", "%uni.7"].choose(rng).unwrap_or(&"true");
            let _ = match (is_amd, rng.random_range(0..3)) {
                // Two votes that are put together.
                (true, choice @ 0..=1) => writeln!(
                    out,
                    "  %ask{votes}.v = call i64 @llvm.amdgcn.ballot.i64(i1 {operand})
  %ask{votes}.w = call i64 @llvm.amdgcn.ballot.i64(i1 %uni.6)
  %ask{votes}.b = {} i64 %ask{votes}.w, %ask{votes}.v
  %ask{votes} = trunc i64 %ask{votes}.b to i32",
                    ["xor", "or"][choice]
                ),
                (true, _) => writeln!(
                    out,
                    "  %ask{votes}.w = call i64 @llvm.amdgcn.ballot.i64(i1 {operand})
  %ask{votes} = trunc i64 %ask{votes}.w to i32"
                ),
                (false, _) => writeln!(
                    out,
                    "  %ask{votes} = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 {operand})"
                ),
            };
            let _ = writeln!(
                out,
                "  %told{votes} = load i32, ptr addrspace(1) %slot.{slot}, align 4
  %tmix{votes} = mul i32 %told{votes}, 31
  %tnew{votes} = add i32 %tmix{votes}, %ask{votes}
  store i32 %tnew{votes}, ptr addrspace(1) %slot.{slot}, align 4"
            );
        }
        is_start &= !is_instruction;
        is_start |= line.ends_with(':');
        match line.strip_prefix("  br i1 %v").and_then(|rest| rest.split_once(',')) {
            Some((_, targets)) if is_ready && rng.random_bool(0.5) => {
                let condition = match rng.random_range(0..10u32) {
                    0 => "bit.0".to_owned(),
                    _ => format!("uni.{}", rng.random_range(0..8u32)),
                };
                let _ = writeln!(out, "  br i1 %{condition},{targets}");
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
        if line.trim_start().starts_with("%own = ") && !is_ready {
            is_ready = true;
            for bit in 0..8 {
                let _ = writeln!(
                    out,
                    "  %uni.{bit}.n = lshr i32 %a1, {bit}
  %uni.{bit} = trunc i32 %uni.{bit}.n to i1
  %slot.{bit}.i = add i32 %own.i, {}
  %slot.{bit} = getelementptr i32, ptr addrspace(1) %gp, i32 %slot.{bit}.i",
                    16 + (620 + bit) * 64
                );
            }
        }
    }
    out
}

/// A random program through some pipeline.
///
/// # Errors
/// As [`check`].
pub fn run(rng: &mut dyn RngCore, blocks: usize, launches: u64) -> Result<Tally, String> {
    let text = voting(rng, blocks);
    let pipeline = PIPELINES.choose(rng).copied().unwrap_or(PIPELINES[0]);
    check(&Registry::standard(), &text, pipeline, rng.next_u64(), launches)
}
