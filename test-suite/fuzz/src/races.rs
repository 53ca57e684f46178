//! Checks findings about races in workgroup memory against execution: every error must be observed
//! as a race.
//!
//! Random kernels store and load elements of an array in workgroup memory, under conditions, in
//! loops and between barriers. Each is launched with many small arguments, and accesses that race
//! are watched.
//!
//! ```text
//! if (t < 32) tile[t + 1] = t;  barrier;  for (k = 0; k < n; ++k) { x = tile[t ^ k]; tile[t] = k; }
//! ```
//!
//! | finding | what must be observed |
//! |---|---|
//! | an error about a race | these two accesses race, in some launch |
//! | an error about a read of unwritten memory | the instruction reads unwritten memory, in some launch |
//! | an error about an index | there must be none: all indices are inside the array |
//! | none | nothing; it is counted how many racing kernels have a finding |

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

use phalanx::{
    Session,
    analysis::check::{Level, Rule},
    ir::InstId,
    target::Target,
};
use phalanx_simt::{
    Arg, Launch, Observer, Program, Races, Unwritten,
    launch::Order,
    memory::Region,
    observe::{Access, Moment},
    run,
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

/// What was run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Kernels.
    pub kernels: u64,
    /// Kernels that were seen to race, and how many of them have a finding.
    pub racy: u64,
    /// Racing kernels with a finding.
    pub found: u64,
    /// Kernels that were not seen to race, and have a warning.
    pub suspected: u64,
    /// Errors that were observed.
    pub errors: u64,
    /// Errors that were not observed.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.kernels += other.kernels;
        self.racy += other.racy;
        self.found += other.found;
        self.suspected += other.suspected;
        self.errors += other.errors;
        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { kernels, racy, found, suspected, errors, wrong } = self;
        writeln!(f, "kernels          {kernels:>8}")?;
        writeln!(f, "seen to race     {racy:>8}")?;
        writeln!(f, "  with a finding {found:>8}")?;
        writeln!(f, "others warned of {suspected:>8}")?;
        writeln!(f, "errors seen      {errors:>8}")?;
        write!(f, "errors not seen  {:>8}", wrong.len())
    }
}

/// The executed kernel: the checked one, or another one, which the test has to detect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Executed {
    /// The kernel.
    Same,
    /// The kernel with barriers where the checked one has none.
    WithBarriers,
}

/// Threads of a workgroup: three waves.
const THREADS: u32 = 96;
/// Elements of the array.
const ELEMENTS: u32 = 256;
/// Replaces a barrier that was left out, by one instruction.
const LEFT_OUT: &str = "  store i32 3, ptr addrspace(1) %data\n";
const BARRIER: &str = "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

/// Makes a kernel, checks it, and launches it.
///
/// # Panics
/// A generated kernel is not well-formed.
#[must_use]
pub fn check_random(seed: u64, executed: Executed) -> Tally {
    let text = Maker::new(seed).kernel();
    let seen = match executed {
        Executed::Same => seen(&text),
        Executed::WithBarriers => seen(&text.replace(LEFT_OUT, BARRIER)),
    };
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("a generated kernel is well-formed");
    let function = session.function(module, "k").expect("there is a kernel");
    let findings = session.workgroup_memory(function);
    let mut tally = Tally { kernels: 1, ..Tally::default() };
    let (seen, unwritten) = seen;
    let is_race = |rule| matches!(rule, Rule::WorkgroupRace | Rule::WaveSynchronous);
    let has_finding = findings.iter().any(|finding| is_race(finding.rule));
    tally.racy = u64::from(!seen.is_empty());
    tally.found = u64::from(has_finding && !seen.is_empty());
    tally.suspected = u64::from(has_finding && seen.is_empty());
    for finding in findings.iter().filter(|finding| finding.level == Level::Error) {
        let other = finding.other.unwrap_or(finding.inst);
        let is_seen = match finding.rule {
            Rule::WorkgroupRace => {
                seen.contains(&[finding.inst, other]) || seen.contains(&[other, finding.inst])
            }
            Rule::ReadBeforeWritten => unwritten.contains(&finding.inst),
            _ => false,
        };
        match is_seen {
            true => tally.errors += 1,
            false => tally.wrong.push(format!("seed {seed}: {finding:?}\n{text}")),
        }
    }
    tally
}

/// Watches races, and reads of unwritten memory.
#[derive(Default)]
struct Watch {
    races: Races,
    unwritten: Unwritten,
}

impl Observer for Watch {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, at: Moment<'_>, access: &Access) {
        self.races.access(at, access);
        self.unwritten.access(at, access);
    }

    fn meet(&mut self, threads: &[u32]) {
        self.races.meet(threads);
    }
}

/// Pairs of accesses that race in some launch, and reads of unwritten memory.
fn seen(text: &str) -> (BTreeSet<[InstId; 2]>, BTreeSet<InstId>) {
    let context = std::sync::Arc::new(phalanx::ir::Context::new());
    let parsed = phalanx::llvm::parse_module(context, text.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{text}")).module;
    let target = Target::new("nvptx64-nvidia-cuda", "");
    let program = Program::new(&parsed, &target).expect("it is interpreted");
    let (mut pairs, mut unwritten) = (BTreeSet::new(), BTreeSet::new());
    for (n, m) in (0..5u128).flat_map(|n| (0..5).map(move |m| (n, m))) {
        let mut memory = program.memory(1).expect("there is memory");
        // Data is other in each thread.
        let data: Vec<u8> = (0..THREADS).flat_map(|t| (t * 7 % 5).to_le_bytes()).collect();
        let buffer = memory.buffer(&data).expect("there is memory");
        let launch = Launch {
            block: [THREADS, 1, 1],
            wave: 32,
            args: vec![Arg::bits(u128::from(buffer)), Arg::bits(n), Arg::bits(m)],
            order: if (n + m) % 2 == 0 { Order::Lockstep } else { Order::Random(n as u64 + 1) },
            fuel: 4_000_000,
            ..Launch::default()
        };
        let mut watch = Watch::default();
        run(&program, "k", &launch, &mut memory, &mut watch)
            .unwrap_or_else(|failure| panic!("{failure}\n{text}"));
        let shared = watch.races.found().iter().filter(|race| race.region == Region::Shared);
        pairs.extend(shared.map(|race| [race.first.inst, race.second.inst]));
        unwritten.extend(watch.unwritten.found().iter().map(|read| read.inst));
    }
    (pairs, unwritten)
}

/// Writes a kernel.
struct Maker {
    rng: SmallRng,
    body: String,
    /// Numbers of values and blocks.
    next: u32,
    /// The block that is written, for phis.
    block: String,
    /// Uniform values: arguments and counters.
    counters: Vec<String>,
    left: u32,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        Maker {
            rng: SmallRng::seed_from_u64(seed),
            body: String::new(),
            next: 0,
            block: "entry".to_owned(),
            counters: Vec::new(),
            left: 14,
        }
    }

    fn kernel(mut self) -> String {
        self.statements(0, true);
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"\n\
             @tile = internal addrspace(3) global [{ELEMENTS} x i32] undef\n\
             declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
             declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n\
             define ptx_kernel void @k(ptr addrspace(1) %data, i32 %n, i32 %m) \
             \"nvvm.reqntid\"=\"{THREADS}\" {{\nentry:\n  \
             %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n{}  ret void\n}}\n",
            self.body
        )
    }

    fn line(&mut self, line: &str) {
        self.body.push_str("  ");
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn value(&mut self, what: &str) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        self.line(&format!("{name} = {what}"));
        name
    }

    fn open(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
        label.clone_into(&mut self.block);
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.rng.random_range(0..choices.len())]
    }

    /// A uniform or divergent number.
    fn number(&mut self) -> String {
        let small = self.rng.random_range(0..40u32).to_string();
        let counter = self.counters.last().cloned();
        match self.rng.random_range(0..10) {
            0..5 => "%t".to_owned(),
            5..7 => counter.unwrap_or(small),
            7 => self.one_of(&["%n", "%m"]).to_owned(),
            8 => self.data(),
            _ => small,
        }
    }

    /// What is loaded for the thread.
    fn data(&mut self) -> String {
        let own = self.value("getelementptr i32, ptr addrspace(1) %data, i32 %t");
        self.value(&format!("load i32, ptr addrspace(1) {own}"))
    }

    /// The address of an element, by an index within the array.
    fn element(&mut self) -> String {
        let mut index = self.number();
        for _ in 0..self.rng.random_range(0..3) {
            let other = self.number();
            let by = self.rng.random_range(1..4u32);
            index = match self.rng.random_range(0..4) {
                0 => self.value(&format!("add i32 {index}, {other}")),
                1 => self.value(&format!("xor i32 {index}, {other}")),
                2 => self.value(&format!("mul i32 {index}, {by}")),
                _ => self.value(&format!("sub i32 95, {index}")),
            };
        }
        let mask = ELEMENTS - 1;
        let index = self.value(&format!("and i32 {index}, {mask}"));
        self.value(&format!("getelementptr i32, ptr addrspace(3) @tile, i32 {index}"))
    }

    fn condition(&mut self) -> String {
        let (left, right) = (self.number(), self.rng.random_range(0..4u32) * 16);
        // Launches have small arguments only.
        let left = if ["%n", "%m"].contains(&&*left) { "%t".to_owned() } else { left };
        let predicate = self.one_of(&["ult", "eq", "ne", "uge"]);
        match self.rng.random_range(0..6) {
            0 => {
                let data = self.data();
                self.value(&format!("icmp {predicate} i32 {data}, 2"))
            }
            1 => {
                let argument = self.one_of(&["%n", "%m"]);
                let limit = self.rng.random_range(0..4u32);
                self.value(&format!("icmp {predicate} i32 {argument}, {limit}"))
            }
            _ => self.value(&format!("icmp {predicate} i32 {left}, {right}")),
        }
    }

    /// Statements; barriers only where all threads execute them.
    fn statements(&mut self, depth: u32, all_come: bool) {
        for _ in 0..self.rng.random_range(2..5) {
            let Some(left) = self.left.checked_sub(1) else { return };
            self.left = left;
            match self.rng.random_range(0..12) {
                0..3 => {
                    let (element, value) = (self.element(), self.number());
                    self.line(&format!("store i32 {value}, ptr addrspace(3) {element}"));
                }
                3..6 => {
                    let element = self.element();
                    self.value(&format!("load i32, ptr addrspace(3) {element}"));
                }
                6 => {
                    let (element, value) = (self.element(), self.number());
                    self.value(&format!(
                        "atomicrmw add ptr addrspace(3) {element}, i32 {value} monotonic"
                    ));
                }
                7..9 if all_come => {
                    let is_left_out = self.rng.random_range(0..4) == 0;
                    self.body.push_str(if is_left_out { LEFT_OUT } else { BARRIER });
                }
                9 if depth < 3 => self.branch(depth),
                10 | 11 if depth < 2 => self.repeat(depth, all_come),
                _ => {}
            }
        }
    }

    fn branch(&mut self, depth: u32) {
        let condition = self.condition();
        self.next += 1;
        let [then, end] = ["then", "end"].map(|part| format!("{part}{}", self.next));
        self.line(&format!("br i1 {condition}, label %{then}, label %{end}"));
        self.open(&then);
        self.statements(depth + 1, false);
        self.line(&format!("br label %{end}"));
        self.open(&end);
    }

    /// A loop with as many rounds as a number or an argument says, at least one.
    fn repeat(&mut self, depth: u32, all_come: bool) {
        self.next += 1;
        let number = self.next;
        let [head, end] = ["head", "done"].map(|part| format!("{part}{number}"));
        let (first, step) = match self.rng.random_range(0..2) {
            0 => ("0", "add i32"),
            _ => ("32", "lshr i32"),
        };
        let bound = match (first, self.rng.random_range(0..2)) {
            ("0", 0) => self.rng.random_range(1..4u32).to_string(),
            ("0", _) => self.one_of(&["%n", "%m"]).to_owned(),
            _ => "0".to_owned(),
        };
        let (counter, next) = (format!("%k{number}"), format!("%next{number}"));
        let before = self.block.clone();
        self.line(&format!("br label %{head}"));
        self.open(&head);
        let hole = format!("<phi {number}>");
        self.line(&hole);
        self.counters.push(counter.clone());
        self.statements(depth + 1, all_come);
        self.counters.pop();
        self.line(&format!("{next} = {step} {counter}, 1"));
        let predicate = if first == "0" { "slt" } else { "ne" };
        let more = self.value(&format!("icmp {predicate} i32 {next}, {bound}"));
        self.line(&format!("br i1 {more}, label %{head}, label %{end}"));
        let latch = self.block.clone();
        let phi = format!("{counter} = phi i32 [ {first}, %{before} ], [ {next}, %{latch} ]");
        self.body = self.body.replace(&hole, &phi);
        self.open(&end);
    }
}
