//! Random graphs of blocks in the `cf` dialect: what is claimed of a plane holds when they are
//! executed, and answers are the same after cubecl's `mem2reg`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cubecl_ir::interfaces::uniformity::Uniformity;
use cubecl_ir::prelude::Pass as _;
use cubecl_opt::passes::mem2reg::Mem2RegPass;
use cubecl_opt::passes::uniformity::uniformity_solver;
use phalanx_cubecl::{Scope, analyse};
use phalanx_graph::DomTree;
use phalanx_pliron::{LaunchFacts, SourceSet, varying};
use phalanx_testing::abstract_oracle::{Effort, hierarchies};
use phalanx_testing::abstract_program::{Operand, Operation};
use phalanx_testing::block_arguments::run::observe;
use phalanx_testing::block_arguments::{Access, Program, generate};
use pliron::builtin::op_interfaces::OneRegionInterface as _;
use pliron::builtin::ops::FuncOp;
use pliron::context::Context;
use pliron::op::Op as _;
use pliron::pass::AnalysisManager;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::random::{campaign, count};
use crate::text::{Named, context, names, parse, theirs};

const BINARY: &str = "[] [] : <(cube.index, cube.index) -> (cube.index)>";
const UNARY: &str = "[] [] : <(cube.index) -> (cube.index)>";
const POINTER: &str = "cube.ptr <cube.index, Local>";

/// A random program by its number, and how many variables it has.
fn program(seed: u64) -> (Program, u32) {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let (slots, blocks) = (rng.random_range(0..4), rng.random_range(2..7));
    match slots {
        0 => (generate::program(rng, blocks), 0),
        _ => (generate::with_slots(rng, blocks, slots), slots),
    }
}

/// Writes blocks. Values of the program have their numbers; others are counted.
#[derive(Default)]
struct Writer {
    text: String,
    others: usize,
}

impl Writer {
    /// A value that the program does not have.
    fn other(&mut self, line: &str) -> String {
        self.others += 1;
        let name = format!("x{}", self.others);
        let _ = writeln!(self.text, "{name} = {line};");
        name
    }

    /// What is the same for all, and nothing that cubecl could compute.
    fn scalar(&mut self, number: u32) -> String {
        self.other(&format!("cube.read_scalar <cube.index>[{number}] : cube.index"))
    }

    fn operand(&mut self, operand: Operand) -> String {
        match operand {
            Operand::Value(value) => format!("v{value}"),
            Operand::Constant(of) => self.scalar(10 + of),
            Operand::Undef => self.scalar(9),
        }
    }

    fn operation(&mut self, value: u32, operation: &Operation, loaded: Option<String>) {
        let read: Vec<String> = operation.operands().map(|of| self.operand(of)).collect();
        let shared = "cube.ptr <cube.index, Shared>";
        let line = match operation {
            Operation::Argument(of) => format!("cube.read_scalar <cube.index>[{of}] : cube.index"),
            Operation::ThreadId => "cube.read_builtin (UnitPos) : cube.index".to_owned(),
            Operation::Uniform => {
                format!("memory.load (word) [] [] : <({shared}) -> (cube.index)>")
            }
            Operation::AlwaysUniform(_) => format!("plane.i_sum ({}) {UNARY}", read[0]),
            Operation::Divergent => format!(
                "atomic.i_add (word, zero) [] [] : <({shared}, cube.index) -> (cube.index)>"
            ),
            Operation::Pure(..) => {
                let second = loaded.unwrap_or_else(|| read[1].clone());
                format!("math.i_add ({}, {second}) {BINARY}", read[0])
            }
            Operation::Test(_) => format!("bitwise.not ({}) {UNARY}", read[0]),
            Operation::Phi(_) => unreachable!("a program with block arguments has no phis"),
        };
        let _ = writeln!(self.text, "v{value} = {line};");
    }

    /// What a block does with variables before an operation; what that loads.
    fn variables(&mut self, of: &Program, block: usize, before: usize) -> Option<String> {
        let mut loaded = None;
        for entry in of.blocks[block].slots_at(before) {
            let slot = entry.slot;
            let load = format!("memory.load (slot{slot}) [] [] : <({POINTER}) -> (cube.index)>");
            let stored = match entry.access {
                Access::Load => {
                    loaded = Some(self.other(&load));
                    continue;
                }
                Access::Kill => self.scalar(9),
                Access::Store(operand) => self.operand(operand),
                Access::Update(operand) => {
                    let (held, operand) = (self.other(&load), self.operand(operand));
                    self.other(&format!("math.i_add ({held}, {operand}) {BINARY}"))
                }
            };
            let line = format!("memory.store (slot{slot}, {stored}) [] [] : <({POINTER}, ");
            let _ = writeln!(self.text, "{line}cube.index) -> ()>;");
        }
        loaded
    }

    /// The end of a block. An edge is taken by its number.
    fn end(&mut self, of: &Program, block: usize) {
        let end = &of.blocks[block].end;
        let decides = end.read().map(|operand| self.operand(operand));
        let mut ways = Vec::new();
        for edge in &end.edges {
            let brings: Vec<String> = edge.arguments.iter().map(|&it| self.operand(it)).collect();
            ways.push(format!("^b{}({})", edge.to, brings.join(", ")));
        }
        let count = ways.len();
        let line = match (&ways[..], decides) {
            ([], _) => "branch.return".to_owned(),
            ([way], _) | ([way, ..], None) => format!("cf.branch {way}"),
            ([first, second], Some(by)) => {
                let equals = "[] [] : <(cube.index, cube.index) -> (cube.bool)>";
                let bool = self.other(&format!("cmp.i_equal ({by}, zero) {equals}"));
                format!("cf.branch_conditional if {bool} {first} else {second}")
            }
            ([first, others @ ..], Some(by)) => {
                let word = "builtin.integer ui32";
                let cast = format!("cube.cast ({by}) [] [] : <(cube.index) -> ({word})>");
                let by = self.other(&cast);
                let case = |(at, way): (usize, &String)| format!("{{ <{}: ui32>: {way} }}", at + 1);
                let cases: Vec<String> = others.iter().enumerate().map(case).collect();
                assert_eq!(cases.len() + 1, count);
                format!("cf.switch {by}, {first}[{}]", cases.join(", "))
            }
        };
        let _ = writeln!(self.text, "{line}");
    }
}

/// A program in the `cf` dialect.
fn text(of: &Program, slots: u32) -> String {
    let mut writer = Writer::default();
    writer.text.push_str(
        "zero = builtin.constant <cube.index 0> : cube.index;
         shared = memory.declare_variable cube.array [cube.index; 8] Shared, align = 4, init = ;
         word = memory.index shared[zero] : cube.ptr <cube.index, Shared>;\n",
    );
    for slot in 0..slots {
        let line = "memory.declare_variable cube.index Local, align = 4, init = cube.index 0";
        let _ = writeln!(writer.text, "slot{slot} = {line};");
    }
    let cfg = of.cfg();
    let dom = DomTree::new(&cfg);
    for node in dom.preorder() {
        let (number, block) = (node.index(), &of.blocks[node.index()]);
        if number > 0 {
            let argument = |value: &u32| format!("v{value}: cube.index");
            let arguments: Vec<String> = block.arguments.iter().map(argument).collect();
            let _ = writeln!(writer.text, "^b{number}({}):", arguments.join(", "));
        }
        for (position, (value, operation)) in block.operations.iter().enumerate() {
            let loaded = writer.variables(of, number, position);
            writer.operation(*value, operation, loaded);
        }
        writer.variables(of, number, block.operations.len());
        writer.end(of, number);
    }
    writer.text
}

/// The sources of all that has a name.
fn sources(ctx: &Context, function: FuncOp) -> BTreeMap<String, SourceSet> {
    let analysis = analyse(ctx, function);
    let of = |(name, named)| match named {
        Named::Value(value) => Some((name, analysis.sources(value)?)),
        Named::Block(_) => None,
    };
    names(ctx, function.get_region(ctx)).into_iter().filter_map(of).collect()
}

#[test]
fn no_claim_about_a_graph_is_refuted_by_execution() {
    let in_a_wave = varying(Scope::Wave, &LaunchFacts::default());
    let [ours, cubecl] = campaign(|seed, [ours, cubecl]| {
        let ctx = &mut context();
        let (program, slots) = program(seed);
        let (module, function) = parse(ctx, &text(&program, slots));
        let known = sources(ctx, function);
        let solver = uniformity_solver(module.get_operation(), ctx).expect("it can be solved");
        let all = names(ctx, function.get_region(ctx)).into_iter();
        let their: BTreeMap<String, bool> = all
            .filter_map(|(name, named)| match named {
                Named::Value(value) => Some((
                    name,
                    match theirs(&solver, value) {
                        Uniformity::Device | Uniformity::Cube | Uniformity::Plane => true,
                        Uniformity::None | Uniformity::Uninitialized => false,
                    },
                )),
                Named::Block(_) => None,
            })
            .collect();
        let effort = Effort { runs: 3, threads: 6, fuel: 120 };
        let seen: Vec<_> = hierarchies(&program.cfg(), seed, 2)
            .iter()
            .map(|cycles| observe(&program, cycles, effort))
            .collect();
        let differs = |value: u32| seen.iter().any(|seen| seen.values.contains(value as usize));
        let name = |value: u32| format!("v{value}");
        let values = 0..program.value_count;
        let claimed = values.clone().filter(|&value| {
            known.get(&name(value)).is_some_and(|sources| !sources.intersects(in_a_wave))
        });
        ours.add(claimed.map(differs));
        let claimed = values.filter(|&value| their.get(&name(value)).is_some_and(|is_one| *is_one));
        cubecl.add(claimed.map(differs));
        assert_eq!(ours.wrong, 0, "seed {seed}: {}", text(&program, slots));
    });
    println!("graphs: ours {ours:?}\ngraphs: cubecl {cubecl:?}");
    assert!(ours.claims as u64 > 2 * count() && cubecl.wrong > 0, "{ours:?} {cubecl:?}");
}

#[test]
fn answers_about_graphs_are_the_same_after_mem2reg() {
    let [compared] = campaign(|seed, [compared]| {
        let ctx = &mut context();
        let (program, slots) = program(seed);
        if slots == 0 {
            return;
        }
        let (module, function) = parse(ctx, &text(&program, slots));
        let before = sources(ctx, function);
        Mem2RegPass
            .run(module.get_operation(), ctx, &mut AnalysisManager::default())
            .expect("variables become values");
        for (name, after) in sources(ctx, function) {
            if let Some(known) = before.get(&name).filter(|_| name.starts_with('v')) {
                assert_eq!(*known, after, "seed {seed}, {name}: {}", text(&program, slots));
                compared.claims += 1;
            }
        }
    });
    assert!(compared.claims as u64 > 2 * count(), "{compared:?}");
}
