//! Toy programs as tables, and LLVM's answers about them.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::{BTreeMap, BTreeSet};

use phalanx_core::SourceSet;
use phalanx_core::divergence::{
    Definition, FlowFacts, Incoming, PhiKey, Value, ValueTable, ValueTableBuilder,
};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, Node};
use phalanx_testing::abstract_program::{AbstractProgram, DECLARATIONS, Operand, Operation};
use phalanx_testing::llvm_tools::Program;

/// A program with everything the analysis reads.
pub(crate) struct Case {
    pub program: AbstractProgram,
    pub cfg: Cfg,
    pub dom: DomTree,
    pub cycles: Cycles,
    pub sync: SyncDependence,
    pub table: ValueTable,
}

impl Case {
    pub(crate) fn new(program: AbstractProgram) -> Self {
        Self::with_sources(program, |_| SourceSet::X)
    }

    /// With the sources of each divergent operation chosen by its value number.
    pub(crate) fn with_sources(
        program: AbstractProgram,
        sources: impl Fn(u32) -> SourceSet,
    ) -> Self {
        let cfg = program.cfg();
        let dom = DomTree::new(&cfg);
        let cycles = Cycles::new(&cfg);
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        let table = table(&program, sources);
        Self { program, cfg, dom, cycles, sync, table }
    }

    pub(crate) fn flow(&self) -> FlowFacts<'_> {
        FlowFacts { cfg: &self.cfg, dom: &self.dom, cycles: &self.cycles, sync: &self.sync }
    }
}

/// The tables of a program. Value numbers are the program's.
pub(crate) fn table(program: &AbstractProgram, sources: impl Fn(u32) -> SourceSet) -> ValueTable {
    let mut operations: Vec<(u32, Node, &Operation)> = Vec::new();
    for (i, block) in program.blocks.iter().enumerate() {
        operations.extend(block.operations.iter().map(|(v, op)| (*v, Node::new(i), op)));
    }
    operations.sort_by_key(|entry| entry.0);
    let mut builder = ValueTableBuilder::with_capacity(program.blocks.len(), operations.len());
    for &(number, block, operation) in &operations {
        match operation {
            Operation::Phi(_) => builder.phi(block, Definition::PURE),
            Operation::Argument(_) | Operation::Pure(..) | Operation::Test(_) => {
                builder.value(block, Definition::PURE)
            }
            Operation::ThreadId => {
                builder.value(block, Definition { seed: sources(number), ..Definition::PURE })
            }
            Operation::Uniform => builder.value(block, Definition::IMPURE),
            Operation::AlwaysUniform(_) => {
                builder.value(block, Definition::fixed(SourceSet::EMPTY))
            }
            Operation::Divergent => builder.value(block, Definition::source(sources(number))),
        };
    }
    for &(number, _, operation) in &operations {
        let user = Value::from_raw(number);
        if let Operation::Phi(entries) = operation {
            for &(pred, operand) in entries {
                let (value, key) = match operand {
                    Operand::Value(v) => {
                        (Some(Value::from_raw(v)), PhiKey::value(Value::from_raw(v)))
                    }
                    Operand::Constant(c) => (None, PhiKey::constant(c)),
                    Operand::Undef => (None, PhiKey::UNDEF),
                };
                builder.incoming(user, Incoming { pred, value, key });
            }
            continue;
        }
        for operand in operation.operands() {
            if let Operand::Value(v) = operand {
                builder.operand(Value::from_raw(v), user);
            }
        }
    }
    for (i, block) in program.blocks.iter().enumerate() {
        if let Some(Operand::Value(v)) = block.terminator.condition() {
            builder.terminator_operand(Value::from_raw(v), Node::new(i));
        }
    }
    builder.finish()
}

/// What `print<uniformity>` says about one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printed {
    pub values: BTreeSet<u32>,
    pub terminators: BTreeSet<u32>,
    /// Header and blocks.
    pub assumed: BTreeSet<(String, BTreeSet<String>)>,
    pub divergent_exits: BTreeSet<(String, BTreeSet<String>)>,
    /// Value, user, header of the cycle.
    pub temporal: BTreeSet<(String, String, String)>,
}

/// Lets opt analyse programs, all in one run. Function `i` is called `f{i}`.
pub(crate) fn run_opt(opt: &Program, programs: &[AbstractProgram]) -> BTreeMap<usize, Printed> {
    let mut text = String::from(DECLARATIONS);
    for (i, program) in programs.iter().enumerate() {
        text.push_str(&program.to_llvm(&format!("f{i}")));
    }
    let arguments = ["-mtriple=amdgcn--", "-passes=print<uniformity>", "-disable-output", "-"];
    let outcome = opt.run(arguments, text.as_bytes()).expect("opt runs");
    assert!(outcome.success(), "{}", outcome.summary());
    parse(&outcome.errors())
}

fn cycle(line: &str) -> Option<(String, BTreeSet<String>)> {
    let (_, rest) = line.split_once("entries(")?;
    let (entries, others) = rest.split_once(')')?;
    let blocks = entries.split_whitespace().chain(others.split_whitespace());
    let header = entries.split_whitespace().next()?.to_owned();
    Some((header, blocks.map(str::to_owned).collect()))
}

/// The name that a printed instruction defines, or its text.
fn subject(line: &str) -> String {
    let text = line.split_once(':').map_or(line, |(_, text)| text).trim();
    text.split_once(" =").map_or(text, |(name, _)| name).to_owned()
}

fn parse(text: &str) -> BTreeMap<usize, Printed> {
    let mut all = BTreeMap::new();
    let mut current = 0;
    let (mut section, mut block, mut pair) = ("", 0, Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("UniformityInfo for function 'f") {
            current = name.trim_end_matches(['\'', ':']).parse().expect("f and a number");
            all.insert(current, Printed::default());
            continue;
        }
        let Some(printed) = all.get_mut(&current) else { continue };
        match line {
            "CYCLES ASSUMED DIVERGENT:"
            | "CYCLES WITH DIVERGENT EXIT:"
            | "DEFINITIONS"
            | "TERMINATORS" => section = line,
            _ if line.starts_with("TEMPORAL DIVERGENCE LIST") => section = "TEMPORAL",
            _ if line.starts_with("BLOCK ") => {
                block = line["BLOCK b".len()..].parse().expect("b and a number");
            }
            _ if line.starts_with("  depth=") && section == "CYCLES ASSUMED DIVERGENT:" => {
                printed.assumed.extend(cycle(line));
            }
            _ if line.starts_with("  depth=") && section == "CYCLES WITH DIVERGENT EXIT:" => {
                printed.divergent_exits.extend(cycle(line));
            }
            _ if line.starts_with("Value ") || line.starts_with("Used by ") => {
                pair.push(subject(line));
            }
            _ if line.starts_with("Outside cycle") => {
                if let ([value, user], Some((header, _))) = (pair.as_slice(), cycle(line)) {
                    printed.temporal.insert((value.clone(), user.clone(), header));
                }
                pair.clear();
            }
            _ if line.starts_with("  DIVERGENT:") => {
                if section == "TERMINATORS" {
                    printed.terminators.insert(block);
                } else if let Some(number) = subject(line).strip_prefix("%v") {
                    printed.values.insert(number.parse().expect("a number"));
                }
            }
            _ => {}
        }
    }
    all
}
