//! Checks `linearize` against execution.
//!
//! Random kernels with few convergent operations and without calls go through `linearize` and are
//! compared as in [`transforms`]. In addition, no block of a linearized region may have a divergent
//! branch afterwards, and no region may be left.
//!
//! [`Broken`] removes parts of the result: a deliberately wrong pass, which the check has to
//! detect.

use std::{collections::BTreeMap, fmt, fmt::Write as _, sync::Arc};

use phalanx::{
    FunctionId, Session,
    db::{Database, FunctionInput, queries},
    ir::{InstId, Opcode, flow::node_of},
    target::{Scope, varying},
    transform::{Outcome, Pass, PassError, Registry, linearize::Linearize},
};
use phalanx_testing::generate::{self, Options as ProgramOptions};
use rand::{Rng as _, RngCore, SeedableRng as _, rngs::SmallRng};

use crate::{
    oracle::programs::{Kind, runnable_alone},
    transforms,
};

/// Results for regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Functions with a divergent branch.
    pub functions: u64,
    /// Regions that were linearized.
    pub regions: u64,
    /// Divergent branches in them.
    pub removed: u64,
    /// Uniform branches in them, and those that stayed.
    pub uniform: [u64; 2],
    /// Divergent branches that were refused, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// What was compared by execution.
    pub executed: transforms::Tally,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.functions += other.functions;
        self.regions += other.regions;
        self.removed += other.removed;
        self.uniform[0] += other.uniform[0];
        self.uniform[1] += other.uniform[1];
        for (why, count) in other.refused {
            *self.refused.entry(why).or_default() += count;
        }
        self.executed.merge(other.executed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stay: u64 = self.refused.values().sum();
        let [uniform, kept] = self.uniform;
        write!(f, "{} functions, {} regions: ", self.functions, self.regions)?;
        write!(f, "{} divergent branches went, {stay} stay; ", self.removed)?;
        write!(f, "{kept} of {uniform} uniform branches inside stay;")?;
        self.refused.iter().try_for_each(|(why, count)| write!(f, " {why} {count}"))
    }
}

/// What the pass finds in a function.
#[must_use]
pub fn survey(session: &Session, function: FunctionId) -> Tally {
    let survey = Linearize::default().survey(session.database(), function.input());
    let mut tally = Tally {
        functions: u64::from(!survey.regions.is_empty() || !survey.refused.is_empty()),
        regions: survey.regions.len() as u64,
        ..Tally::default()
    };
    for region in &survey.regions {
        tally.removed += region.divergent as u64;
        tally.uniform[0] += region.uniform as u64;
        tally.uniform[1] += region.kept as u64;
    }
    for refused in &survey.refused {
        *tally.refused.entry(refused.why.slug()).or_default() += 1;
    }
    tally
}

/// Runs the pass on a function; returns what it found, after checking the result.
///
/// # Panics
/// A block of a region has a divergent branch afterwards, or a region is left.
#[must_use]
pub fn straighten(session: &mut Session, function: FunctionId) -> Tally {
    let tally = survey(session, function);
    let before = Linearize::default().survey(session.database(), function.input());
    let done = Linearize::default().run(session.database_mut(), function.input());
    done.unwrap_or_else(|error| panic!("linearize fails: {error}"));
    let after = Linearize::default().survey(session.database(), function.input());
    assert!(after.regions.is_empty(), "regions are left: {:?}", after.regions);
    let db = session.database();
    let varying = varying(Scope::Wave, queries::launch_facts(db, function.input()));
    let facts = queries::divergence(db, function.input()).as_ref();
    for &block in before.regions.iter().flat_map(|region| region.blocks()) {
        let branch = facts.map(|facts| facts.terminator(node_of(block)));
        let ways = function.input().flow(db).successors(block);
        let is_branch = ways.iter().any(|&to| to != ways[0]);
        let is_divergent = is_branch && branch.is_some_and(|sources| sources.intersects(varying));
        assert!(!is_divergent, "a divergent branch in {block:?}");
    }
    tally
}

/// A random kernel with regions that can be linearized: state is advanced in place, and most
/// convergent operations are removed.
#[must_use]
pub fn random(rng: &mut dyn RngCore, blocks: usize) -> String {
    let program = generate::program_from(rng, ProgramOptions { blocks, ..Default::default() });
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let text = runnable_alone(&program, kind, rng.next_u64());
    let text = transforms::comparable(&text, kind, rng, false);
    let pointer = match kind {
        Kind::Amdgcn => "ptr addrspace(5)",
        Kind::Nvptx => "ptr",
    };
    let rarity = if rng.random_bool(0.7) { 0.0 } else { 0.3 };
    let mut out = String::new();
    let mut is_kernel = false;
    for line in text.lines() {
        is_kernel |= line.contains("@f(");
        let result = line.trim().strip_prefix('%').and_then(|rest| rest.split_once(" = call "));
        match result {
            Some((name, call)) if is_kernel && call.contains("@next(") => {
                let _ = writeln!(
                    out,
                    "  %{name}.o = load i32, {pointer} %state, align 4
  %{name}.m = mul i32 %{name}.o, 1664525
  %{name}.n = add i32 %{name}.m, 1013904223
  store i32 %{name}.n, {pointer} %state, align 4
  %{name} = lshr i32 %{name}.n, 13"
                );
            }
            Some((name, call)) if is_kernel && communicates(call) && !rng.random_bool(rarity) => {
                let _ = match call.split(' ').next() {
                    Some("i32") => writeln!(out, "  %{name} = xor i32 %seed.0, 5"),
                    Some("i64") => writeln!(out, "  %{name} = zext i32 %seed.0 to i64"),
                    Some("i1") => writeln!(out, "  %{name} = trunc i32 %seed.0 to i1"),
                    _ => writeln!(out, "{line}"),
                };
            }
            _ if is_kernel && line.contains("call void @set(") => {
                let arguments = line.split_once("@set(").map_or("", |parts| parts.1);
                let to = arguments.split(',').next().and_then(|a| a.rsplit(' ').next());
                let what = arguments.rsplit(' ').next().map(|a| a.trim_end_matches(')'));
                if let (Some(to), Some(what)) = (to, what) {
                    let _ = writeln!(out, "  store i32 {what}, {pointer} {to}, align 4");
                }
            }
            _ if is_kernel && line.contains("barrier") && !rng.random_bool(rarity) => {}
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn communicates(call: &str) -> bool {
    const WORDS: &[&str] = &[
        "ballot",
        "lane",
        "dpp",
        "permute",
        "swizzle",
        "reduce",
        "vote",
        "shfl",
        "redux",
        "match.",
        "elect",
        "activemask",
    ];
    call.contains("@llvm.") && WORDS.iter().any(|word| call.contains(word))
}

/// A kernel goes through the pass and runs before and after.
///
/// # Panics
/// When something is not as it has to be.
#[must_use]
pub fn check(registry: &Registry, text: &str, pass: &str, seed: u64, launches: u64) -> Tally {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let function = session.function(module, "f").expect("the kernel is called @f");
    let mut tally = straighten(&mut session, function);
    tally.executed = transforms::check_with(registry, text, pass, seed, launches);
    tally
}

/// A random kernel through the pass.
#[must_use]
pub fn check_random(seed: u64, blocks: usize, launches: u64) -> Tally {
    let text = random(&mut SmallRng::seed_from_u64(seed), blocks);
    check(&Registry::standard(), &text, "linearize", seed, launches)
}

/// The pass, with some guards removed by name: an idle thread then uses the same operand as an
/// active one.
#[derive(Copy, Clone, Debug)]
pub struct Broken {
    /// Prefix of the names of selections that are removed.
    pub prefix: &'static str,
}

impl Pass for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let outcome = Linearize::default().run(db, function)?;
        let (flow, body) = (function.flow(db), function.body(db));
        let names = &function.extras(db).names;
        let all = flow.order().iter().flat_map(|&block| body.block_insts(block));
        let is_named = |&inst: &InstId| {
            let name = names.inst(inst).unwrap_or_default();
            body.inst(inst).opcode == Opcode::Select && name.starts_with(self.prefix.as_bytes())
        };
        let chosen: Vec<InstId> = all.filter(is_named).collect();
        db.edit(function, |edit| {
            chosen.into_iter().try_for_each(|inst| {
                let taken = edit.body().operands(inst)[1];
                edit.set_operand(inst, 2, taken)
            })
        })?;
        Ok(outcome)
    }
}

/// The standard passes and the broken one.
#[must_use]
pub fn broken(prefix: &'static str) -> Registry {
    let mut registry = Registry::standard();
    registry.add(Arc::new(Broken { prefix }));
    registry
}
