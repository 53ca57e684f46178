//! A small dialect: one operation of each kind that the adapter knows.

use phalanx_pliron::{
    Convergence, Decision, Meaning, Rule, Scope, SimtOp, SimtRegionOp, SourceSet,
};
use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::{
    BranchOpInterface, IsTerminatorInterface, OneRegionInterface as _, OperandSegmentInterface,
    RegionBranchOpInterface, RegionBranchPoint, RegionEdge, RegionSuccessor,
};
use pliron::builtin::ops::FuncOp;
use pliron::builtin::types::{FunctionType, IntegerType, Signedness};
use pliron::context::{Context, Ptr};
use pliron::derive::{op_interface_impl, pliron_op};
use pliron::ident;
use pliron::irbuild::inserter::Inserter;
use pliron::irbuild::rewriter::Rewriter;
use pliron::linked_list::ContainsLinkedList as _;
use pliron::op::Op;
use pliron::operation::Operation;
use pliron::opts::mem2reg::{
    AllocInfo, PromotableAllocationInterface, PromotableOpInterface, PromotableOpKind,
};
use pliron::region::Region;
use pliron::result::Result;
use pliron::r#type::TypeHandle;
use pliron::value::Value;

/// Operations with one result, what it is made of, and which threads they concern together.
macro_rules! operations {
    ($($name:ident $text:literal $meaning:expr, $together:expr;)*) => {$(
        #[pliron_op(name = $text, format, verifier = "succ")]
        pub(crate) struct $name;

        #[op_interface_impl]
        impl SimtOp for $name {
            fn meaning(&self, _: &Context, _: usize) -> Meaning {
                $meaning
            }

            fn convergence(&self, _: &Context) -> Convergence {
                $together
            }
        }
    )*};
}

const TOGETHER: Convergence = Convergence::Together(Scope::Wave);

operations! {
    Constant "toy.constant" Meaning::Rule(Rule::Pure), Convergence::Single;
    Pure "toy.pure" Meaning::Rule(Rule::Pure), Convergence::Single;
    ThreadId "toy.thread_id" Meaning::Source(SourceSet::X), Convergence::Single;
    Lane "toy.lane" Meaning::Source(SourceSet::LANE), Convergence::Single;
    Shared "toy.shared" Meaning::Rule(Rule::Load), Convergence::Single;
    Sum "toy.sum" Meaning::Rule(Rule::Collective), TOGETHER;
    First "toy.first" Meaning::Rule(Rule::Agree), TOGETHER;
    OfQuad "toy.of_quad" Meaning::Rule(Rule::Quad), TOGETHER;
    Shuffle "toy.shuffle" Meaning::Rule(Rule::Shuffle { lane: Some(1) }), TOGETHER;
}

/// Threads of a workgroup wait for each other.
#[pliron_op(name = "toy.barrier", format, verifier = "succ")]
pub(crate) struct Barrier;

impl Barrier {
    pub(crate) fn add(ctx: &mut Context, at: Ptr<BasicBlock>) -> Ptr<Operation> {
        let op = Operation::new(ctx, Self::get_concrete_op_info(), vec![], vec![], vec![], 0);
        op.insert_at_back(at, ctx);
        op
    }
}

#[op_interface_impl]
impl SimtOp for Barrier {
    fn convergence(&self, _: &Context) -> Convergence {
        Convergence::Barrier(Scope::Workgroup)
    }
}

/// An operation that says nothing.
#[pliron_op(name = "toy.atomic", format, verifier = "succ")]
pub(crate) struct Atomic;

/// The type of everything.
pub(crate) fn word(ctx: &mut Context) -> TypeHandle {
    IntegerType::get(ctx, 64, Signedness::Signed).into()
}

/// A function with so many arguments, and its entry.
pub(crate) fn function(ctx: &mut Context, arguments: usize) -> (FuncOp, Ptr<BasicBlock>) {
    let word = word(ctx);
    let ty = FunctionType::get(ctx, vec![word; arguments], vec![]);
    let function = FuncOp::new(ctx, ident!("f"), ty);
    let entry = function.get_entry_block(ctx);
    (function, entry)
}

/// A block at the end of the region of another one.
pub(crate) fn block(ctx: &mut Context, like: Ptr<BasicBlock>, arguments: usize) -> Ptr<BasicBlock> {
    let word = word(ctx);
    let block = BasicBlock::new(ctx, None, vec![word; arguments]);
    let region = like.deref(ctx).get_parent_region().expect("it is in a region");
    block.insert_at_back(region, ctx);
    block
}

/// Adds an operation with one result at the end of a block.
pub(crate) fn add<T: Op>(ctx: &mut Context, at: Ptr<BasicBlock>, operands: &[Value]) -> Value {
    let word = word(ctx);
    let info = T::get_concrete_op_info();
    let op = Operation::new(ctx, info, vec![word], operands.to_vec(), vec![], 0);
    op.insert_at_back(at, ctx);
    op.deref(ctx).get_result(0)
}

/// Where a branch leads, and what it brings.
pub(crate) type Way = (Ptr<BasicBlock>, Vec<Value>);

/// Leads to one of several blocks, by the first operand.
#[pliron_op(
    name = "toy.branch",
    format,
    interfaces = [IsTerminatorInterface],
    verifier = "succ"
)]
pub(crate) struct Branch;

#[op_interface_impl]
impl OperandSegmentInterface for Branch {
    fn expected_num_segments(&self, ctx: &Context) -> Option<usize> {
        Some(self.get_operation().deref(ctx).get_num_successors() + 1)
    }
}

impl Branch {
    /// Ends a block.
    pub(crate) fn add(
        ctx: &mut Context,
        at: Ptr<BasicBlock>,
        condition: Option<Value>,
        ways: Vec<Way>,
    ) -> Ptr<Operation> {
        let op = Self::make(ctx, condition, ways);
        op.insert_at_back(at, ctx);
        op
    }

    /// Such an operation, in no block.
    pub(crate) fn make(
        ctx: &mut Context,
        condition: Option<Value>,
        ways: Vec<Way>,
    ) -> Ptr<Operation> {
        let (targets, brings): (Vec<_>, Vec<_>) = ways.into_iter().unzip();
        let segments = [condition.into_iter().collect()].into_iter().chain(brings).collect();
        let (operands, sizes) = Self::compute_segment_sizes(segments);
        let info = Self::get_concrete_op_info();
        let op = Operation::new(ctx, info, vec![], operands, targets, 0);
        Self { op }.set_operand_segment_sizes(ctx, sizes);
        op
    }

    /// The condition and the ways of one.
    pub(crate) fn parts(ctx: &Context, op: Ptr<Operation>) -> Option<(Option<Value>, Vec<Way>)> {
        let branch = Operation::get_op::<Self>(op, ctx)?;
        let condition = branch.get_segment(ctx, 0).first().copied();
        let targets: Vec<Ptr<BasicBlock>> = op.deref(ctx).successors().collect();
        let brings = |(at, to)| (to, branch.successor_operands(ctx, at));
        Some((condition, targets.into_iter().enumerate().map(brings).collect()))
    }
}

#[op_interface_impl]
impl BranchOpInterface for Branch {
    fn verify_successor_operand_layout(&self, _: &Context) -> Result<()> {
        Ok(())
    }

    fn successor_operand_range(&self, ctx: &Context, at: usize) -> std::ops::Range<usize> {
        self.segment_range(ctx, at + 1)
    }

    fn add_successor_operand(&self, ctx: &mut Context, at: usize, operand: Value) -> usize {
        self.push_to_segment(ctx, at + 1, operand)
    }

    fn remove_successor_operand(&self, ctx: &mut Context, at: usize, argument: usize) -> Value {
        self.remove_from_segment(ctx, at + 1, argument)
    }
}

/// The end of a function, or of a region: its operands go to what comes next.
#[pliron_op(name = "toy.yield", format, interfaces = [IsTerminatorInterface], verifier = "succ")]
pub(crate) struct Yield;

impl Yield {
    pub(crate) fn add(
        ctx: &mut Context,
        at: Ptr<BasicBlock>,
        operands: &[Value],
    ) -> Ptr<Operation> {
        let info = Self::get_concrete_op_info();
        let op = Operation::new(ctx, info, vec![], operands.to_vec(), vec![], 0);
        op.insert_at_back(at, ctx);
        op
    }
}

/// A private variable.
#[pliron_op(name = "toy.variable", format, verifier = "succ")]
pub(crate) struct Variable;

#[op_interface_impl]
impl PromotableAllocationInterface for Variable {
    fn alloc_info(&self, ctx: &Context) -> Vec<AllocInfo> {
        let op = self.get_operation().deref(ctx);
        vec![AllocInfo { ptr: op.get_result(0), ty: op.get_type(0) }]
    }

    fn default_value(
        &self,
        ctx: &mut Context,
        inserter: &mut dyn Inserter,
        _: &AllocInfo,
    ) -> Result<Value> {
        let word = word(ctx);
        let info = Constant::get_concrete_op_info();
        let op = Operation::new(ctx, info, vec![word], vec![], vec![], 0);
        inserter.insert_operation(ctx, op);
        let value = op.deref(ctx).get_result(0);
        Ok(value)
    }

    fn promote(
        &self,
        ctx: &mut Context,
        rewriter: &mut dyn Rewriter,
        _: &[AllocInfo],
    ) -> Result<()> {
        rewriter.erase_operation(ctx, self.get_operation());
        Ok(())
    }
}

/// Reads a variable.
#[pliron_op(name = "toy.load", format, verifier = "succ")]
pub(crate) struct Load;

#[op_interface_impl]
impl PromotableOpInterface for Load {
    fn promotion_kind(&self, ctx: &Context, info: &AllocInfo) -> PromotableOpKind {
        match self.get_operation().deref(ctx).get_operand(0) == info.ptr {
            true => PromotableOpKind::Load,
            false => PromotableOpKind::NonPromotableUse,
        }
    }

    fn promote(
        &self,
        ctx: &mut Context,
        reaching: &[(AllocInfo, Value)],
        rewriter: &mut dyn Rewriter,
    ) -> Result<()> {
        let op = self.get_operation();
        rewriter.replace_operation_with_values(ctx, op, vec![reaching[0].1]);
        Ok(())
    }
}

/// Writes the second operand to a variable.
#[pliron_op(name = "toy.store", format, verifier = "succ")]
pub(crate) struct Store;

impl Store {
    pub(crate) fn add(ctx: &mut Context, at: Ptr<BasicBlock>, to: Value, stored: Value) {
        let info = Self::get_concrete_op_info();
        let op = Operation::new(ctx, info, vec![], vec![to, stored], vec![], 0);
        op.insert_at_back(at, ctx);
    }
}

#[op_interface_impl]
impl PromotableOpInterface for Store {
    fn promotion_kind(&self, ctx: &Context, info: &AllocInfo) -> PromotableOpKind {
        let op = self.get_operation().deref(ctx);
        match op.get_operand(0) == info.ptr && op.get_operand(1) != info.ptr {
            true => PromotableOpKind::Store(op.get_operand(1)),
            false => PromotableOpKind::NonPromotableUse,
        }
    }

    fn promote(
        &self,
        ctx: &mut Context,
        _: &[(AllocInfo, Value)],
        rewriter: &mut dyn Rewriter,
    ) -> Result<()> {
        rewriter.erase_operation(ctx, self.get_operation());
        Ok(())
    }
}

/// `if`, by the operand: one region or the other. What they yield is the result.
#[pliron_op(name = "toy.if", format, verifier = "succ")]
pub(crate) struct If;

/// `while`: operands go into the region. It ends by a yield of whether it goes on, and of what goes
/// into the next round, or is the result.
#[pliron_op(name = "toy.while", format, verifier = "succ")]
pub(crate) struct While;

/// `for`, from the first operand up to the second one: the number of the round goes into the
/// region, and is made by the operation.
#[pliron_op(name = "toy.for", format, verifier = "succ")]
pub(crate) struct For;

/// An operation with a region that says nothing about it.
#[pliron_op(name = "toy.mystery", format, verifier = "succ")]
pub(crate) struct Mystery;

/// Adds an operation with so many regions of one block each, and so many arguments of these.
pub(crate) fn add_regions<T: Op>(
    ctx: &mut Context,
    at: Ptr<BasicBlock>,
    operands: &[Value],
    results: usize,
    regions: &[usize],
) -> (Ptr<Operation>, Vec<Ptr<BasicBlock>>) {
    let word = word(ctx);
    let info = T::get_concrete_op_info();
    let results = vec![word; results];
    let op = Operation::new(ctx, info, results, operands.to_vec(), vec![], regions.len());
    op.insert_at_back(at, ctx);
    let mut blocks = Vec::new();
    for (number, arguments) in regions.iter().enumerate() {
        let block = BasicBlock::new(ctx, None, vec![word; *arguments]);
        let region = op.deref(ctx).get_region(number);
        block.insert_at_back(region, ctx);
        blocks.push(block);
    }
    (op, blocks)
}

/// The yield of the last block of a region.
fn yield_of(ctx: &Context, region: Ptr<Region>) -> Ptr<Operation> {
    let last = region.deref(ctx).get_tail().expect("a region has blocks");
    last.deref(ctx).get_tail().expect("a block has an end")
}

fn arguments_of(ctx: &Context, region: Ptr<Region>) -> Vec<Value> {
    let first = region.deref(ctx).get_head().expect("a region has blocks");
    first.deref(ctx).arguments().collect()
}

/// An edge by which the operands of an operation from a position on flow into values.
fn edge(
    ctx: &Context,
    (from, of): (RegionBranchPoint, Ptr<Operation>),
    first: usize,
    to: RegionSuccessor,
    into: Vec<Value>,
) -> RegionEdge {
    let flows = into.into_iter().enumerate();
    let flows = flows.map(|(at, into)| (of.deref(ctx).get_operand_as_use(first + at), into));
    RegionEdge { from, to, flows: flows.collect(), reads: Vec::new() }
}

#[op_interface_impl]
impl RegionBranchOpInterface for If {
    fn verify_region_edges_layout(&self, _: &Context) -> Result<()> {
        Ok(())
    }

    fn region_edges(&self, ctx: &Context) -> Vec<RegionEdge> {
        let op = self.get_operation();
        let results: Vec<Value> = op.deref(ctx).results().collect();
        let parent = (RegionBranchPoint::Parent, op);
        let mut edges = Vec::new();
        for region in op.deref(ctx).regions() {
            let end = yield_of(ctx, region);
            let from = (RegionBranchPoint::Terminator(end), end);
            edges.push(edge(ctx, parent, 1, RegionSuccessor::Region(region), Vec::new()));
            edges.push(edge(ctx, from, 0, RegionSuccessor::After, results.clone()));
        }
        edges
    }
}

#[op_interface_impl]
impl SimtRegionOp for If {
    fn decision(&self, ctx: &Context, _: RegionBranchPoint) -> Decision {
        Decision::by(vec![self.get_operation().deref(ctx).get_operand(0)])
    }
}

#[op_interface_impl]
impl RegionBranchOpInterface for While {
    fn verify_region_edges_layout(&self, _: &Context) -> Result<()> {
        Ok(())
    }

    fn region_edges(&self, ctx: &Context) -> Vec<RegionEdge> {
        let op = self.get_operation();
        let body = op.deref(ctx).get_region(0);
        let results: Vec<Value> = op.deref(ctx).results().collect();
        let end = yield_of(ctx, body);
        let (parent, from) =
            ((RegionBranchPoint::Parent, op), (RegionBranchPoint::Terminator(end), end));
        let arguments = || arguments_of(ctx, body);
        vec![
            edge(ctx, parent, 0, RegionSuccessor::Region(body), arguments()),
            edge(ctx, from, 1, RegionSuccessor::Region(body), arguments()),
            edge(ctx, from, 1, RegionSuccessor::After, results),
        ]
    }
}

#[op_interface_impl]
impl SimtRegionOp for While {
    fn decision(&self, ctx: &Context, from: RegionBranchPoint) -> Decision {
        match from {
            RegionBranchPoint::Terminator(end) => Decision::by(vec![end.deref(ctx).get_operand(0)]),
            RegionBranchPoint::Parent => Decision::by(Vec::new()),
        }
    }
}

#[op_interface_impl]
impl RegionBranchOpInterface for For {
    fn verify_region_edges_layout(&self, _: &Context) -> Result<()> {
        Ok(())
    }

    fn region_edges(&self, ctx: &Context) -> Vec<RegionEdge> {
        let op = self.get_operation();
        let body = op.deref(ctx).get_region(0);
        let end = yield_of(ctx, body);
        let points = [(RegionBranchPoint::Parent, op), (RegionBranchPoint::Terminator(end), end)];
        let to = [RegionSuccessor::Region(body), RegionSuccessor::After];
        let pairs = points.into_iter().flat_map(|from| to.map(|to| (from, to)));
        pairs.map(|(from, to)| edge(ctx, from, 0, to, Vec::new())).collect()
    }
}

impl For {
    fn bounds(&self, ctx: &Context) -> Vec<Value> {
        self.get_operation().deref(ctx).operands().collect()
    }

    fn round(&self, ctx: &Context) -> Value {
        arguments_of(ctx, self.get_operation().deref(ctx).get_region(0))[0]
    }
}

#[op_interface_impl]
impl SimtRegionOp for For {
    fn decision(&self, ctx: &Context, from: RegionBranchPoint) -> Decision {
        let mut reads = self.bounds(ctx);
        if from != RegionBranchPoint::Parent {
            reads.push(self.round(ctx));
        }
        Decision::by(reads)
    }

    fn made(&self, ctx: &Context, from: RegionBranchPoint, _: Value) -> Option<Vec<Value>> {
        Some(match from {
            RegionBranchPoint::Parent => vec![self.bounds(ctx)[0]],
            RegionBranchPoint::Terminator(_) => vec![self.round(ctx)],
        })
    }
}

/// The region of a function.
pub(crate) fn region(ctx: &Context, function: FuncOp) -> Ptr<Region> {
    function.get_region(ctx)
}
