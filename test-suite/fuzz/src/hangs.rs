//! Checks findings about barriers against execution: a kernel without such a finding does not hang.
//!
//! Random programs get barriers in a few blocks and run. If no function of the program has a
//! finding, no launch may hang. For programs with a finding, it is counted how many of them hang in
//! a launch: this measures how precise the rules are.
//!
//! If a finding names two threads that decide a branch differently, these threads are watched.
//!
//! In some programs barriers have numbers that depend on the thread's index, or on computed values.
//! If a finding names two threads that come to one barrier with different numbers, these threads
//! are watched, too.
//!
//! [`Ignored`] drops findings: a deliberately wrong check, which the test has to detect.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

use phalanx::{
    Session,
    analysis::check::{Callee, CountFault, Evaluated, Finding, Level, Rule, Witness},
    db::queries,
    ir::{BlockId, InstId, flow},
};
use phalanx_simt::{Failure, Observer, Program, Silent, Value, observe::Moment};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

use crate::oracle::{self, Kind, random_program, runnable, runnable_alone};

/// What was run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Programs with barriers.
    pub programs: u64,
    /// Programs without a finding.
    pub silent: u64,
    /// Launches of them in which barriers were passed.
    pub passed: u64,
    /// Programs whose only finding is that a barrier is executed after some threads have returned.
    pub exits: u64,
    /// Programs with a finding.
    pub found: u64,
    /// Programs with a finding that were seen to hang.
    pub hung: u64,
    /// Pairs of threads that were named, and took different edges in a launch.
    pub witnesses: u64,
    /// Findings about numbers of barriers.
    pub numbers: u64,
    /// Pairs of threads that were named with different barrier numbers, and used these numbers in a
    /// launch.
    pub differing: u64,
    /// Programs without a finding that hung, and programs in which two named threads took the same
    /// edge.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.programs += other.programs;
        self.silent += other.silent;
        self.passed += other.passed;
        self.exits += other.exits;
        self.found += other.found;
        self.hung += other.hung;
        self.witnesses += other.witnesses;
        self.numbers += other.numbers;
        self.differing += other.differing;
        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "programs with barriers  {:>12}", self.programs)?;
        writeln!(f, "nothing found           {:>12}", self.silent)?;
        writeln!(f, "  early exits only      {:>12}", self.exits)?;
        writeln!(f, "  launches past one     {:>12}", self.passed)?;
        writeln!(f, "something found         {:>12}", self.found)?;
        writeln!(f, "  seen to hang          {:>12}", self.hung)?;
        writeln!(f, "witnesses seen          {:>12}", self.witnesses)?;
        writeln!(f, "numbers that may differ {:>12}", self.numbers)?;
        writeln!(f, "  seen to differ        {:>12}", self.differing)?;
        write!(f, "wrong                   {:>12}", self.wrong.len())
    }
}

/// Which findings are ignored: none for the real check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignored {
    /// None.
    Nothing,
    /// The findings of a rule.
    Of(Rule),
}

/// Whether a finding says that threads may wait for ever.
fn is_about_hanging(finding: &Finding) -> bool {
    let rules = [
        Rule::DivergentBarrier,
        Rule::BarrierInDivergentLoop,
        Rule::UnmatchedBarriers,
        Rule::DifferentBarrierNumbers,
    ];
    rules.contains(&finding.rule)
}

/// Runs a random program with barriers a few times.
///
/// # Panics
/// A generated program is not well-formed.
#[must_use]
pub fn check_random(seed: u64, launches: u32, ignored: Ignored) -> Tally {
    let (program, kind) = random_program(seed);
    let mut rng = SmallRng::seed_from_u64(seed);
    // Calls in every other program: barriers in them, and calls under divergent control.
    let text = match seed / 2 % 2 {
        0 => runnable_alone(&program, kind, seed),
        _ => runnable(&program, kind, seed),
    };
    let text = with_barriers(&text, kind, &mut rng);
    check(&text, &mut rng, launches, ignored)
        .unwrap_or_else(|| panic!("a generated program is refused:\n{text}"))
}

/// Runs `@f` of a text. None if the text is refused.
#[must_use]
pub fn check(text: &str, rng: &mut SmallRng, launches: u32, ignored: Ignored) -> Option<Tally> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).ok()?;
    session.set_whole(module, true);
    let functions: Vec<_> = session.functions(module).collect();
    let database = session.database();
    let has_barrier =
        functions.iter().any(|f| queries::own_barriers(database, f.input()) == Callee::Barrier);
    let is_judged = |f: &phalanx::FunctionId| queries::barriers_are_judged(database, f.input());
    let mut tally = Tally::default();
    if !has_barrier || !functions.iter().all(is_judged) {
        return Some(tally);
    }
    tally.programs = 1;
    let findings: Vec<&Finding> =
        functions.iter().flat_map(|&function| session.diagnostics(function)).collect();
    let mut named = Vec::new();
    let mut numbered = Vec::new();
    for &function in &functions {
        let body = session.code(function).body;
        for finding in session.diagnostics(function) {
            tally.numbers += u64::from(finding.rule == Rule::DifferentBarrierNumbers);
            if let (Some(evaluated), Level::Error) = (finding.evaluated, finding.level) {
                numbered.push((session.name(function), finding.inst, evaluated));
            }
            let branch = finding.branch.and_then(|b| body.terminator(flow::block_of(b)));
            if let (Some(branch), Some(witness)) = (branch, finding.witness) {
                named.push((session.name(function), branch, witness));
            }
        }
    }
    let counts =
        |finding: &&&Finding| is_about_hanging(finding) && ignored != Ignored::Of(finding.rule);
    let is_found = findings.iter().any(|finding| counts(&finding));
    let has_exit = findings.iter().any(|finding| finding.rule == Rule::BarrierAfterExit);
    let context = std::sync::Arc::new(phalanx::ir::Context::new());
    let parsed = phalanx::llvm::parse_module(context, text.as_bytes()).ok()?.module;
    let program = Program::new(&parsed, session.target(module)).ok()?;
    let kernel = session.function(module, "f")?;
    let stated = queries::launch_facts(database, kernel.input()).clone();
    let mut has_hung = false;
    let mut watch = Watch::default();
    for (name, branch, witness) in named {
        watch.pairs.push(Pair {
            function: program.function(&name)?,
            branch,
            witness,
            ways: Default::default(),
        });
    }
    for (name, barrier, evaluated) in numbered {
        let function = program.function(&name)?;
        watch.numbers.push(Numbers { function, barrier, evaluated, seen: Default::default() });
    }
    for _ in 0..launches {
        watch.numbers.iter_mut().for_each(|numbers| numbers.seen = Default::default());
        let mut memory = program.memory(rng.random()).ok()?;
        let mut launch = oracle::launch(rng, &mut memory, 6_000)?;
        oracle::as_stated(&mut launch, &stated);
        let outcome = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch);
        for Numbers { evaluated, seen, .. } in &watch.numbers {
            let has = |at: usize| seen[at].contains(&evaluated.values[at]);
            tally.differing += u64::from(has(0) && has(1));
            // If a launch hangs, threads may not reach the branch.
            let is_wrong = |at: usize| !seen[at].is_empty() && !has(at);
            if outcome.is_ok() && (is_wrong(0) || is_wrong(1)) {
                tally.wrong.push(text.to_owned());
            }
        }
        match outcome {
            Ok(report) => tally.passed += u64::from(!is_found && report.barriers > 0),
            Err(Failure::Hang(_)) => has_hung = true,
            Err(_) => {}
        }
    }
    for pair in &watch.pairs {
        let [comes, stays_away] = &pair.ways;
        match comes.iter().any(|way| stays_away.contains(way)) {
            true => tally.wrong.push(text.to_owned()),
            false => tally.witnesses += u64::from(!comes.is_empty() && !stays_away.is_empty()),
        }
    }
    match is_found {
        true => {
            tally.found = 1;
            tally.hung = u64::from(has_hung);
        }
        false => {
            tally.silent = 1;
            tally.exits = u64::from(has_exit);
        }
    }
    if !is_found && has_hung {
        tally.wrong.push(text.to_owned());
    }
    Some(tally)
}

/// Whether a barrier is reported to wait for threads that do not come, and how many launches hung
/// and how many ended. None if the text is refused.
#[must_use]
pub fn waits_for_too_many(text: &str, rng: &mut SmallRng) -> Option<(bool, [u32; 2])> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).ok()?;
    session.set_whole(module, true);
    let kernel = session.function(module, "f")?;
    let is_few = session
        .diagnostics(kernel)
        .iter()
        .any(|finding| matches!(finding.fault, Some(CountFault::TooFew { .. })));
    let context = std::sync::Arc::new(phalanx::ir::Context::new());
    let parsed = phalanx::llvm::parse_module(context, text.as_bytes()).ok()?.module;
    let program = Program::new(&parsed, session.target(module)).ok()?;
    let stated = queries::launch_facts(session.database(), kernel.input()).clone();
    let mut outcomes = [0; 2];
    for _ in 0..4 {
        let mut memory = program.memory(rng.random()).ok()?;
        let mut launch = oracle::launch(rng, &mut memory, 6_000)?;
        oracle::as_stated(&mut launch, &stated);
        match phalanx_simt::run(&program, "f", &launch, &mut memory, &mut Silent) {
            Err(Failure::Hang(_)) => outcomes[0] += 1,
            Ok(_) => outcomes[1] += 1,
            Err(_) => {}
        }
    }
    Some((is_few, outcomes))
}

/// Two threads that are claimed to decide a branch differently, and the edges that they took.
struct Pair {
    function: usize,
    branch: InstId,
    witness: Witness,
    ways: [BTreeSet<BlockId>; 2],
}

/// Two threads that are claimed to come to a barrier with different numbers, and the numbers that
/// they used.
struct Numbers {
    function: usize,
    barrier: InstId,
    evaluated: Evaluated,
    seen: [BTreeSet<u64>; 2],
}

#[derive(Default)]
struct Watch {
    pairs: Vec<Pair>,
    numbers: Vec<Numbers>,
}

impl Observer for Watch {
    fn wants_operands(&self) -> bool {
        !self.numbers.is_empty()
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, _of: InstId, value: &Value) {
        for numbers in &mut self.numbers {
            if (numbers.function, numbers.barrier) != (at.function, at.inst) || position != 0 {
                continue;
            }
            for (thread, seen) in numbers.evaluated.threads.iter().zip(&mut numbers.seen) {
                if at.thread.thread == *thread {
                    seen.extend(value.bits().map(|bits| bits as u64));
                }
            }
        }
    }

    fn branch(&mut self, at: Moment<'_>, to: BlockId) {
        for pair in &mut self.pairs {
            if (pair.function, pair.branch) != (at.function, at.inst) {
                continue;
            }
            let named = [pair.witness.comes, pair.witness.stays_away];
            for (thread, ways) in named.iter().zip(&mut pair.ways) {
                if at.thread.thread == *thread {
                    ways.insert(to);
                }
            }
        }
    }
}

/// The text with barriers before the ends of some blocks, and no others; some branches are decided
/// by the thread's index alone.
fn with_barriers(text: &str, kind: Kind, rng: &mut SmallRng) -> String {
    let name = match kind {
        Kind::Amdgcn => "@llvm.amdgcn.s.barrier(",
        Kind::Nvptx => "@llvm.nvvm.barrier.cta.sync.aligned.all(",
    };
    // Few barriers, so that some programs are correct.
    let rarity = rng.random_range(4..16u32);
    let mut out = String::new();
    let mut is_in_program = false;
    for line in text.lines() {
        if line.starts_with("define") {
            is_in_program = line.contains("@f(") || line.contains("@h");
        }
        let word = line.trim_start().split(' ').next().unwrap_or_default();
        if line.contains(name) && line.contains("call void") {
            continue;
        }
        if is_in_program && ["br", "ret", "switch"].contains(&word) && rng.random_ratio(1, rarity) {
            // A thread that waits at one barrier does not arrive at another.
            let number = match kind {
                Kind::Amdgcn => String::new(),
                Kind::Nvptx if rng.random_ratio(1, 8) => {
                    // A number that depends on the thread, or seems to.
                    let name = format!("%number{}", out.len());
                    number_of_thread(&name, rng, &mut out);
                    format!("i32 {name}")
                }
                Kind::Nvptx => format!("i32 {}", out.len() % 3),
            };
            let is_computed = number.contains('%');
            // In every other program, inline assembly states the barrier instead of an intrinsic,
            // whatever attributes say.
            let _ = match (rng.random_ratio(1, 2), kind) {
                (false, _) => writeln!(out, "  call void {name}{number})"),
                (true, Kind::Amdgcn) => writeln!(
                    out,
                    "  call void asm sideeffect \"; all of them\\0As_barrier ; s_nop 0\", \"~{{memory}}\"()"
                ),
                (true, Kind::Nvptx) if is_computed => writeln!(
                    out,
                    "  call void asm sideeffect \"barrier.cta.sync.aligned $0;\", \"r\"({number})"
                ),
                (true, Kind::Nvptx) => {
                    let number = out.len() % 3;
                    let (text, constraint, argument) = match rng.random_range(0..3) {
                        0 => (format!("bar.sync {number};"), "", String::new()),
                        1 => (
                            "{ barrier.cta.sync.aligned $0; }".to_owned(),
                            "n",
                            format!("i32 {number}"),
                        ),
                        _ => {
                            (format!("// all\\0Abarrier.sync.aligned {number};"), "", String::new())
                        }
                    };
                    writeln!(
                        out,
                        "  call void asm sideeffect \"{text}\", \"{constraint}\"({argument})"
                    )
                }
            };
        }
        let condition = line.strip_prefix("  br i1 ").and_then(|rest| rest.split_once(','));
        match condition.filter(|_| is_in_program && rng.random_ratio(1, 3)) {
            Some((_, targets)) => {
                let name = format!("%own{}", out.len());
                condition_of_thread(&name, kind, rng, &mut out);
                let _ = writeln!(out, "  br i1 {name},{targets}");
            }
            None => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    let size = "declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()";
    if kind == Kind::Nvptx && !text.contains(size) {
        let _ = writeln!(out, "{size}");
    }
    out
}

/// A barrier number as a function of the thread's index, which may be constant.
fn number_of_thread(name: &str, rng: &mut SmallRng, out: &mut String) {
    let _ = writeln!(out, "  {name}.0 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()");
    let _ = writeln!(out, "  {name}.1 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()");
    let text = match rng.random_range(0..6) {
        0 => format!("and i32 {name}.0, 1"),
        1 => format!("lshr i32 {name}.0, {}", rng.random_range(3..12)),
        2 => format!("urem i32 {name}.0, 3"),
        3 => format!("and i32 {name}.1, 3"),
        4 => format!("and i32 {name}.0, 0"),
        _ => format!("udiv i32 {name}.0, {name}.1"),
    };
    let _ = writeln!(out, "  {name} = {text}");
}

/// A condition that depends only on the thread's index, so that the check can evaluate it.
fn condition_of_thread(name: &str, kind: Kind, rng: &mut SmallRng, out: &mut String) {
    let register = match kind {
        Kind::Amdgcn => "llvm.amdgcn.workitem.id.x",
        Kind::Nvptx => "llvm.nvvm.read.ptx.sreg.tid.x",
    };
    let _ = writeln!(out, "  {name}.0 = call i32 @{register}()");
    let steps = rng.random_range(0..4);
    for step in 0..steps {
        let (opcode, constant) = match rng.random_range(0..10) {
            0 => ("add", rng.random_range(-9..40)),
            1 => ("sub", rng.random_range(-9..40)),
            2 => ("mul", rng.random_range(-3..9)),
            3 => ("and", rng.random_range(0..64)),
            4 => ("or", rng.random_range(0..64)),
            5 => ("xor", rng.random_range(-1..64)),
            6 => ("lshr", rng.random_range(0..6)),
            7 => ("ashr", rng.random_range(0..6)),
            8 => ("urem", rng.random_range(1..40)),
            _ => ("shl", rng.random_range(0..31)),
        };
        let next = step + 1;
        let _ = writeln!(out, "  {name}.{next} = {opcode} i32 {name}.{step}, {constant}");
    }
    let predicates = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];
    let predicate = predicates[rng.random_range(0..predicates.len())];
    let bound = rng.random_range(-4..48);
    let _ = writeln!(out, "  {name} = icmp {predicate} i32 {name}.{steps}, {bound}");
}
