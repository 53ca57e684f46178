//! Random programs: what is claimed of them holds when they are executed, and after pliron's
//! `mem2reg`.

use phalanx_graph::DomTree;
use phalanx_pliron::{Analysis, LaunchFacts, Scope, SourceSet, varying};
use phalanx_testing::abstract_oracle::{Effort, hierarchies};
use phalanx_testing::abstract_program::{Operand, Operation as Toy};
use phalanx_testing::block_arguments::run::{Reader, observe};
use phalanx_testing::block_arguments::{Access, Program, generate};
use pliron::basic_block::BasicBlock;
use pliron::builtin::ops::FuncOp;
use pliron::context::{Context, Ptr};
use pliron::op::Op as _;
use pliron::operation::{Operation, verify_operation};
use pliron::opts::mem2reg::mem2reg;
use pliron::pass::AnalysisManager;
use pliron::value::Value;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::dialect::{
    Atomic, Branch, Constant, Load, Pure, Shared, Store, Sum, ThreadId, Variable, Yield, add,
    block, function, region,
};

/// A program as pliron has it.
pub(crate) struct Lowered {
    pub(crate) function: FuncOp,
    /// By number of the program.
    pub(crate) values: Vec<Option<Value>>,
    /// By block: what ends it.
    ends: Vec<Ptr<Operation>>,
}

/// What builds a block.
struct Builder<'a> {
    ctx: &'a mut Context,
    values: Vec<Option<Value>>,
    variables: Vec<Value>,
}

impl Builder<'_> {
    fn operand(&mut self, at: Ptr<BasicBlock>, operand: Operand) -> Value {
        match operand {
            Operand::Value(value) => self.values[value as usize].expect("computed before"),
            Operand::Constant(_) | Operand::Undef => add::<Constant>(self.ctx, at, &[]),
        }
    }

    fn operation(&mut self, at: Ptr<BasicBlock>, operation: &Toy, loaded: Option<Value>) -> Value {
        let mut operands = Vec::new();
        for operand in operation.operands() {
            operands.push(self.operand(at, operand));
        }
        if let (Toy::Pure(..), Some(loaded)) = (operation, loaded) {
            // What is loaded takes the place of the second operand.
            let Toy::Pure(_, [first, _]) = operation else { unreachable!() };
            operands = vec![self.operand(at, *first), loaded];
        }
        match operation {
            Toy::ThreadId => add::<ThreadId>(self.ctx, at, &[]),
            Toy::Uniform => add::<Shared>(self.ctx, at, &[]),
            Toy::AlwaysUniform(_) => add::<Sum>(self.ctx, at, &operands),
            Toy::Divergent => add::<Atomic>(self.ctx, at, &[]),
            _ => add::<Pure>(self.ctx, at, &operands),
        }
    }

    /// What a block does with variables before an operation; what that loads.
    fn variables(
        &mut self,
        at: Ptr<BasicBlock>,
        of: &Program,
        block: usize,
        before: usize,
    ) -> Option<Value> {
        let mut loaded = None;
        let entries: Vec<_> = of.blocks[block].slots_at(before).cloned().collect();
        for entry in entries {
            let variable = self.variables[entry.slot as usize];
            let stored = match entry.access {
                Access::Load => {
                    loaded = Some(add::<Load>(self.ctx, at, &[variable]));
                    continue;
                }
                Access::Kill => add::<Constant>(self.ctx, at, &[]),
                Access::Store(operand) => self.operand(at, operand),
                Access::Update(operand) => {
                    let held = add::<Load>(self.ctx, at, &[variable]);
                    let operand = self.operand(at, operand);
                    add::<Pure>(self.ctx, at, &[held, operand])
                }
            };
            Store::add(self.ctx, at, variable, stored);
        }
        loaded
    }
}

/// Lowers a program with so many slots.
pub(crate) fn lower(ctx: &mut Context, program: &Program, slots: u32) -> Lowered {
    let (function, entry) = function(ctx, 0);
    let mut blocks = vec![entry];
    for toy in &program.blocks[1..] {
        blocks.push(block(ctx, entry, toy.arguments.len()));
    }
    let variables = (0..slots).map(|_| add::<Variable>(ctx, entry, &[])).collect();
    let mut values = vec![None; program.value_count as usize];
    for (toy, block) in program.blocks.iter().zip(&blocks) {
        for (position, value) in toy.arguments.iter().enumerate() {
            values[*value as usize] = Some(block.deref(ctx).get_argument(position));
        }
    }
    let mut builder = Builder { ctx, values, variables };
    let mut ends = vec![None; blocks.len()];
    let cfg = program.cfg();
    let dom = DomTree::new(&cfg);
    for node in dom.preorder().to_vec() {
        let number = node.index();
        let (toy, at) = (&program.blocks[number], blocks[number]);
        for (position, (value, operation)) in toy.operations.iter().enumerate() {
            let loaded = builder.variables(at, program, number, position);
            let made = builder.operation(at, operation, loaded);
            builder.values[*value as usize] = Some(made);
        }
        builder.variables(at, program, number, toy.operations.len());
        let condition = toy.end.read().map(|operand| builder.operand(at, operand));
        let mut ways = Vec::new();
        for edge in &toy.end.edges {
            let brings =
                edge.arguments.iter().map(|&operand| builder.operand(at, operand)).collect();
            ways.push((blocks[edge.to], brings));
        }
        ends[number] = Some(match ways.is_empty() {
            true => Yield::add(builder.ctx, at, &[]),
            false => Branch::add(builder.ctx, at, condition, ways),
        });
    }
    let ends = ends.into_iter().map(|end| end.expect("all blocks are reached")).collect();
    Lowered { function, values: builder.values, ends }
}

fn analyse(ctx: &Context, lowered: &Lowered) -> Analysis {
    Analysis::new(ctx, region(ctx, lowered.function), |_| SourceSet::EMPTY)
}

/// How many claims about a program hold, and how many do not.
fn execute(program: &Program, claims: &Claims, seed: u64) -> (usize, usize) {
    let cfg = program.cfg();
    let effort = Effort { runs: 3, threads: 6, fuel: 120 };
    let (mut right, mut wrong) = (0, 0);
    for cycles in hierarchies(&cfg, seed, 2) {
        let seen = observe(program, &cycles, effort);
        let mut count = |claimed: bool, differs: bool| {
            right += usize::from(claimed && !differs);
            wrong += usize::from(claimed && differs);
        };
        for (value, claimed) in claims.values.iter().enumerate() {
            count(*claimed, seen.values.contains(value));
        }
        for (block, claimed) in claims.ends.iter().enumerate() {
            count(*claimed, seen.ends.contains(block));
        }
        for (value, reader) in seen.uses {
            count(claims.uses.contains(&(value, reader)), true);
        }
    }
    (right, wrong)
}

/// What is called the same for all threads.
struct Claims {
    values: Vec<bool>,
    ends: Vec<bool>,
    uses: Vec<(u32, Reader)>,
}

impl Claims {
    fn new(ctx: &Context, program: &Program, lowered: &Lowered, varies: SourceSet) -> Self {
        let analysis = analyse(ctx, lowered);
        let is_one = |sources: Option<SourceSet>| sources.is_some_and(|of| !of.intersects(varies));
        let value = |number: u32| lowered.values[number as usize];
        let mut uses = Vec::new();
        for block in &program.blocks {
            for (user, operation) in &block.operations {
                let user_op = value(*user).and_then(|value| value.defining_op());
                for operand in operation.operands() {
                    let Operand::Value(number) = operand else { continue };
                    let (Some(read), Some(op)) = (value(number), user_op) else { continue };
                    if is_one(analysis.at_use(ctx, read, op)) {
                        uses.push((number, Reader::Value(*user)));
                    }
                }
            }
        }
        let of = |value: &Option<Value>| is_one(value.and_then(|value| analysis.sources(value)));
        // Of edges that lead to one block and bring the same, none is chosen.
        let is_choice = |block: usize| {
            let edges = &program.blocks[block].end.edges;
            edges.iter().any(|edge| *edge != edges[0])
        };
        let end = |(block, end): (usize, &Ptr<Operation>)| {
            is_choice(block) && is_one(analysis.branch(ctx, *end))
        };
        Self {
            values: lowered.values.iter().map(of).collect(),
            ends: lowered.ends.iter().enumerate().map(end).collect(),
            uses,
        }
    }
}

/// A random program by its number, and how many slots it has.
pub(crate) fn program(seed: u64) -> (Program, u32) {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let slots = rng.random_range(0..4);
    let blocks = rng.random_range(2..9);
    match slots {
        0 => (generate::program(rng, blocks), 0),
        _ => (generate::with_slots(rng, blocks, slots), slots),
    }
}

#[test]
fn no_claim_is_refuted_by_execution() {
    let in_a_wave = varying(Scope::Wave, &LaunchFacts::default());
    let (mut right, mut wrong, mut divergent) = (0, 0, 0);
    for seed in 0..1000 {
        let ctx = &mut Context::new();
        let (program, slots) = program(seed);
        let lowered = lower(ctx, &program, slots);
        verify_operation(lowered.function.get_operation(), ctx).expect("the lowering is valid");
        let claims = Claims::new(ctx, &program, &lowered, in_a_wave);
        divergent += claims.values.iter().filter(|claimed| !**claimed).count();
        let found = execute(&program, &claims, seed);
        right += found.0;
        wrong += found.1;
        assert_eq!(wrong, 0, "seed {seed}: {program:?}");
    }
    assert!(right > 10_000 && divergent > 2_000, "{right} right, {divergent} divergent");
}

/// The law can fail: as if the thread's index did not vary.
#[test]
fn wrong_claims_are_refuted() {
    let nothing = SourceSet::OPAQUE_THREAD;
    let mut wrong = 0;
    for seed in 0..50 {
        let ctx = &mut Context::new();
        let (program, slots) = program(seed);
        let lowered = lower(ctx, &program, slots);
        wrong += execute(&program, &Claims::new(ctx, &program, &lowered, nothing), seed).1;
    }
    assert!(wrong > 100, "{wrong}");
}

/// Variables in memory have the answers that pliron's own values have after `mem2reg`.
#[test]
fn answers_are_the_same_after_mem2reg() {
    let mut compared = 0;
    for seed in 0..1000 {
        let ctx = &mut Context::new();
        let (program, slots) = program(seed);
        let lowered = lower(ctx, &program, slots);
        let before = analyse(ctx, &lowered);
        let sources = |analysis: &Analysis, value: &Option<Value>| {
            value.and_then(|value| analysis.sources(value))
        };
        let known: Vec<_> = lowered.values.iter().map(|value| sources(&before, value)).collect();
        let mut analyses = AnalysisManager::default();
        mem2reg(lowered.function.get_operation(), ctx, &mut analyses).expect("it is promoted");
        let after = analyse(ctx, &lowered);
        for (number, (value, known)) in lowered.values.iter().zip(&known).enumerate() {
            assert_eq!(sources(&after, value), *known, "seed {seed}, v{number}: {program:?}");
            compared += usize::from(slots > 0);
        }
    }
    assert!(compared > 5_000, "{compared}");
}
