//! Checks findings about split barriers against execution: without a finding, all threads alternate
//! between arriving and waiting.
//!
//! Random kernels get arrivals and waits in a few blocks and run, in workgroups and clusters of
//! several waves.
//!
//! | finding ([`Rule::UnpairedBarrier`]) | what must be observed |
//! |---|---|
//! | none | no thread arrives twice without waiting, or waits without arriving; no barrier opens before all have come |
//! | an error | each thread that executes the operation is out of turn there |
//! | a warning | nothing; it is counted how often a thread was out of turn, a barrier opened early, or the kernel hung |
//!
//! The test tracks turns by the executions of each thread, not by the interpreter's count of
//! arrivals.

use std::fmt::{self, Write as _};

use phalanx::{
    Session,
    analysis::check::{Finding, Level, Rule},
    ir::{ConstKind, GlobalName, InstId},
    transform::code::Code,
};
use phalanx_simt::{Failure, Observer, Program, Value, observe::Moment};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::oracle::{self, Kind, random_program, runnable_alone};

/// What was run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Programs that arrive or wait.
    pub programs: u64,
    /// Programs without a finding about turns.
    pub silent: u64,
    /// Barriers that were passed in these.
    pub passed: u64,
    /// Programs without any finding about barriers in which a launch hung.
    pub hung_in_silence: u64,
    /// Programs with a finding.
    pub found: u64,
    /// Programs with a finding in which some thread was seen out of turn.
    pub out_of_turn: u64,
    /// Programs with a finding in which a barrier opened early.
    pub early: u64,
    /// Programs with a finding that hung.
    pub hung: u64,
    /// Times that a thread executed an operation that is an error.
    pub errors: u64,
    /// Programs that contradict their findings.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.programs += other.programs;
        self.silent += other.silent;
        self.passed += other.passed;
        self.hung_in_silence += other.hung_in_silence;
        self.found += other.found;
        self.out_of_turn += other.out_of_turn;
        self.early += other.early;
        self.hung += other.hung;
        self.errors += other.errors;
        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "programs with arrivals  {:>12}", self.programs)?;
        writeln!(f, "nothing found           {:>12}", self.silent)?;
        writeln!(f, "  barriers passed       {:>12}", self.passed)?;
        writeln!(f, "  hung, silent about all{:>12}", self.hung_in_silence)?;
        writeln!(f, "something found         {:>12}", self.found)?;
        writeln!(f, "  out of turn           {:>12}", self.out_of_turn)?;
        writeln!(f, "  opened early          {:>12}", self.early)?;
        writeln!(f, "  hung                  {:>12}", self.hung)?;
        writeln!(f, "errors come by          {:>12}", self.errors)?;
        write!(f, "wrong                   {:>12}", self.wrong.len())
    }
}

/// A deliberate fault of the check, which the test has to detect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distortion {
    /// None: what is claimed.
    None,
    /// Findings about turns are dropped.
    Silent,
    /// Warnings count as errors.
    Strict,
}

/// One half of a barrier, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    Arrive,
    Wait,
    Both,
}

fn callee(code: &Code<'_>, call: InstId) -> Option<String> {
    match code.context.const_data(code.body.const_callee(call)?).kind {
        ConstKind::Global(GlobalName::Named(symbol)) => {
            Some(code.context.text(symbol).into_owned())
        }
        _ => None,
    }
}

fn half(name: &str) -> Option<Half> {
    match name {
        "llvm.amdgcn.s.barrier" => Some(Half::Both),
        _ if name.starts_with("llvm.amdgcn.s.barrier.signal") => Some(Half::Arrive),
        "llvm.amdgcn.s.barrier.wait" => Some(Half::Wait),
        _ if name.starts_with("llvm.nvvm.barrier.cluster.arrive") => Some(Half::Arrive),
        _ if name.starts_with("llvm.nvvm.barrier.cluster.wait") => Some(Half::Wait),
        _ => None,
    }
}

/// Watches the turns of threads.
#[derive(Default)]
struct Watch {
    function: usize,
    halves: FxHashMap<InstId, Half>,
    errors: FxHashSet<InstId>,
    has_arrived: FxHashMap<u32, bool>,
    out_of_turn: u64,
    errors_come_by: u64,
    errors_in_turn: u64,
}

impl Observer for Watch {
    fn value(&mut self, at: Moment<'_>, _: &Value) {
        if at.function != self.function {
            return;
        }
        let Some(&half) = self.halves.get(&at.inst) else { return };
        let has_arrived = self.has_arrived.entry(at.thread.number).or_default();
        let is_in_turn = *has_arrived == (half == Half::Wait);
        *has_arrived = half == Half::Arrive;
        self.out_of_turn += u64::from(!is_in_turn);
        let is_error = self.errors.contains(&at.inst);
        self.errors_come_by += u64::from(is_error);
        self.errors_in_turn += u64::from(is_error && is_in_turn);
    }
}

/// Runs a random kernel with arrivals and waits a few times.
///
/// # Panics
/// A generated program is not well-formed.
#[must_use]
pub fn check_random(seed: u64, launches: u32, distortion: Distortion) -> Tally {
    let (program, kind) = random_program(seed);
    let mut rng = SmallRng::seed_from_u64(seed);
    let text = with_halves(&runnable_alone(&program, kind, seed), kind, &mut rng);
    check(&text, &mut rng, launches, distortion)
        .unwrap_or_else(|| panic!("a generated program is refused:\n{text}"))
}

/// Runs `@f` of a text. None if the text is refused.
#[must_use]
pub fn check(
    text: &str,
    rng: &mut SmallRng,
    launches: u32,
    distortion: Distortion,
) -> Option<Tally> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).ok()?;
    session.set_whole(module, true);
    let kernel = session.function(module, "f")?;
    let code = Code::of(session.database(), kernel.input());
    let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let halves: FxHashMap<InstId, Half> = all
        .filter(|&inst| code.body.inst(inst).opcode.is_call())
        .filter_map(|inst| Some((inst, half(&callee(&code, inst)?)?)))
        .collect();
    let mut tally = Tally::default();
    if halves.is_empty() {
        return Some(tally);
    }
    tally.programs = 1;
    let findings: Vec<&Finding> = session.diagnostics(kernel).iter().collect();
    let about_turns = findings
        .iter()
        .filter(|f| f.rule == Rule::UnpairedBarrier && distortion != Distortion::Silent);
    let errors: FxHashSet<InstId> = about_turns
        .clone()
        .filter(|f| f.level == Level::Error || distortion == Distortion::Strict)
        .map(|f| f.inst)
        .collect();
    let is_found = about_turns.clone().next().is_some();
    let hanging = [Rule::DivergentBarrier, Rule::BarrierInDivergentLoop, Rule::UnmatchedBarriers];
    let is_silent = !is_found && !findings.iter().any(|f| hanging.contains(&f.rule));
    let context = std::sync::Arc::new(phalanx::ir::Context::new());
    let parsed = phalanx::llvm::parse_module(context, text.as_bytes()).ok()?.module;
    let program = Program::new(&parsed, session.target(module)).ok()?;
    let function = program.function("f")?;
    let (mut out_of_turn, mut early, mut hung, mut passed) = (false, false, false, 0);
    let mut in_turn = 0;
    for _ in 0..launches {
        let mut memory = program.memory(rng.random()).ok()?;
        let mut launch = oracle::launch(rng, &mut memory, 6_000)?;
        if rng.random() {
            launch.cluster = launch.grid;
        }
        let mut watch =
            Watch { function, halves: halves.clone(), errors: errors.clone(), ..Watch::default() };
        match phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch) {
            Ok(report) => {
                passed += report.barriers;
                early |= report.early > 0;
            }
            Err(Failure::Hang(_)) => hung = true,
            Err(_) => {}
        }
        out_of_turn |= watch.out_of_turn > 0;
        tally.errors += watch.errors_come_by;
        in_turn += watch.errors_in_turn;
    }
    match is_found {
        true => {
            tally.found = 1;
            tally.out_of_turn = u64::from(out_of_turn);
            tally.early = u64::from(early);
            tally.hung = u64::from(hung);
        }
        false => {
            tally.silent = 1;
            tally.passed = passed;
            tally.hung_in_silence = u64::from(is_silent && hung);
        }
    }
    if in_turn > 0 || !is_found && (out_of_turn || early) {
        tally.wrong.push(text.to_owned());
    }
    Some(tally)
}

/// The text with arrivals and waits before the ends of some blocks, and no other barriers.
fn with_halves(text: &str, kind: Kind, rng: &mut SmallRng) -> String {
    let (arrive, wait, other) = match kind {
        Kind::Amdgcn => (
            "@llvm.amdgcn.s.barrier.signal(i32 -1)",
            "@llvm.amdgcn.s.barrier.wait(i16 -1)",
            "call void @llvm.amdgcn.s.barrier",
        ),
        Kind::Nvptx => (
            "@llvm.nvvm.barrier.cluster.arrive()",
            "@llvm.nvvm.barrier.cluster.wait()",
            "call void @llvm.nvvm.barrier",
        ),
    };
    let rarity = rng.random_range(3..12u32);
    let mut out = String::new();
    let mut is_in_kernel = false;
    for line in text.lines() {
        if line.starts_with("define") {
            is_in_kernel = line.contains("@f(");
        }
        let word = line.trim_start().split(' ').next().unwrap_or_default();
        if line.contains(other) {
            continue;
        }
        if is_in_kernel && ["br", "ret", "switch"].contains(&word) && rng.random_ratio(1, rarity) {
            let halves: &[&str] = match rng.random_range(0..12) {
                0 | 1 => &[arrive],
                2 => &[wait],
                3 => &[arrive, arrive, wait],
                _ => &[arrive, wait],
            };
            for half in halves {
                let _ = writeln!(out, "  call void {half}");
            }
        }
        let _ = writeln!(out, "{line}");
    }
    let types = match kind {
        Kind::Amdgcn => ["@llvm.amdgcn.s.barrier.signal(i32)", "@llvm.amdgcn.s.barrier.wait(i16)"],
        Kind::Nvptx => [arrive, wait],
    };
    for declared in types {
        let _ = writeln!(out, "declare void {declared}");
    }
    out
}
