//! Threads that decide a branch differently.
//!
//! Facts about divergence are upper bounds: a branch that depends on the thread's index may still
//! go one way for all threads. If the index of the thread in its workgroup alone decides the
//! branch, it is evaluated for one thread after the other, until two are found that go different
//! ways. That is a proof for launches that have both threads.
//!
//! ```c
//! if (threadIdx.x < 16)   // thread 0 goes one way, thread 16 the other
//! ```
//!
//! The expression is traced through integer arithmetic, and through stack slots that are written
//! once, before they are read: unoptimized code keeps everything in such slots. The evaluation
//! ends, without a witness, at anything else that the expression depends on, and at poison.
//!
//! O(expression × threads looked at); both are bounded.

use phalanx_graph::Node;
use phalanx_ir::{
    InstId, Opcode, Type, TypeKind, Value, ValueKind,
    edit::Use,
    flow::{block_of, node_of},
};
use phalanx_target::{
    LaunchFacts, Scope, Transfer, inline_asm::AsmValue, intrinsics::Intrinsic, transfer::Coordinate,
};

use super::finding::Witness;
use super::{
    Facts,
    evaluate::{evaluate, ones},
    sites::{called, inline_assembly, integer, intrinsic},
};
use crate::code::read_assembly;

/// Expressions with more operations than this are not evaluated.
const OPERATIONS: usize = 64;
/// Slots that are written more often than this are not looked through.
const STORES: usize = 4;
/// How many threads are looked at along one dimension if the size of workgroups is not known.
const THREADS: u32 = 1024;
/// How many threads in a row every launch is assumed to have if nothing is known of launches.
const USUAL: u32 = 32;

/// Two threads, one of which goes from a branch to a block for which `comes` holds, and the other
/// to one for which `stays_away` holds. If `in_wave`, they are in one wave.
pub(super) fn witness(
    facts: Facts<'_>,
    branch: Node,
    in_wave: bool,
    comes: impl Fn(Node) -> bool,
    stays_away: impl Fn(Node) -> bool,
) -> Option<Witness> {
    let expression = Expression::of_branch(facts, branch)?;
    let launch = facts.launch;
    let exact = exact_size(launch);
    let rows: Vec<Vec<[u32; 3]>> = match exact {
        Some(size) => vec![threads(size)],
        None => (0..3).map(|axis| row(axis, launch.max_extent(axis).min(THREADS))).collect(),
    };
    for row in rows {
        let mut found: [Option<[u32; 3]>; 2] = [None, None];
        let limit = match (in_wave, launch.wave_width) {
            (true, Some(width)) => width as usize,
            (true, None) => 1,
            (false, _) => usize::MAX,
        };
        for thread in row.into_iter().take(limit) {
            let target = expression.target(facts, branch, thread, exact)?;
            if comes(target) {
                found[0].get_or_insert(thread);
            } else if stays_away(target) {
                found[1].get_or_insert(thread);
            }
            if let [Some(comes), Some(stays_away)] = found {
                let is_usual = |thread: [u32; 3]| thread[0] < USUAL && thread[1..] == [0, 0];
                let is_certain = exact.is_some() || (is_usual(comes) && is_usual(stays_away));
                return Some(Witness { comes, stays_away, is_certain });
            }
        }
    }
    None
}

/// What evaluation tells about a branch that may part threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// It may part them.
    Unknown,
    /// It does not if rows of workgroups consist of whole waves.
    TogetherInRows,
    /// It does not.
    Together,
}

/// Whether all threads of a scope decide a branch alike, by evaluation for each of them.
pub(super) fn decision(facts: Facts<'_>, branch: Node, scope: Scope) -> Decision {
    let launch = facts.launch;
    let width = launch.wave_width.filter(|&width| width > 1).map(|width| width as usize);
    let exact = exact_size(launch);
    // If all threads of a larger workgroup decide alike, so do those of a smaller one.
    let largest = [0, 1, 2].map(|axis| launch.max_extent(axis));
    let product = largest.iter().try_fold(1u32, |all, &extent| all.checked_mul(extent));
    let is_bounded = scope != Scope::Wave && product.is_some_and(|threads| threads <= THREADS);
    if exact.is_none() && !is_bounded && (scope != Scope::Wave || width.is_none()) {
        return Decision::Unknown;
    }
    let Some(expression) = Expression::of_branch(facts, branch) else { return Decision::Unknown };
    let (threads, answer) = match exact {
        Some(size) => (threads(size), Decision::Together),
        None if is_bounded => (threads(largest), Decision::Together),
        None if expression.is_of_row() && launch.max_extent(0) > 1 => {
            let extent = launch.max_extent(0).min(THREADS);
            (row(0, extent), Decision::TogetherInRows)
        }
        None => return Decision::Unknown,
    };
    let group = match (scope, width) {
        (Scope::Wave, Some(width)) => width,
        (Scope::Wave, None) => return Decision::Unknown,
        _ => threads.len().max(1),
    };
    let is_alike = threads.chunks(group).all(|threads| {
        let mut targets =
            threads.iter().map(|&thread| expression.target(facts, branch, thread, exact));
        let first = targets.next().flatten();
        first.is_some() && targets.all(|target| target == first)
    });
    if is_alike { answer } else { Decision::Unknown }
}

/// Whether in each wave all lanes that a mask names come if any lane does, by evaluation of a
/// branch for each thread.
pub(super) fn named_come(
    facts: Facts<'_>,
    branch: Node,
    lanes: u64,
    comes: impl Fn(Node) -> bool,
) -> Decision {
    let launch = facts.launch;
    let width = launch.wave_width.filter(|&width| width > 1);
    let (Some(width), Some(expression)) = (width, Expression::of_branch(facts, branch)) else {
        return Decision::Unknown;
    };
    let exact = exact_size(launch);
    let (threads, answer) = match exact {
        Some(size) => (threads(size), Decision::Together),
        None if expression.is_of_row() && launch.max_extent(0) > 1 => {
            (row(0, launch.max_extent(0).min(THREADS)), Decision::TogetherInRows)
        }
        None => return Decision::Unknown,
    };
    let is_right = threads.chunks(width as usize).all(|wave| {
        let targets = wave.iter().map(|&thread| expression.target(facts, branch, thread, exact));
        let Some(targets) = targets.collect::<Option<Vec<Node>>>() else { return false };
        let is_named = |lane: usize| lane < 64 && lanes >> lane & 1 == 1;
        let stays = |(lane, &target): (usize, &Node)| is_named(lane) && !comes(target);
        !targets.iter().any(|&target| comes(target)) || !targets.iter().enumerate().any(stays)
    });
    if is_right { answer } else { Decision::Unknown }
}

/// Threads that represent all threads of workgroups, as far as an expression is concerned. None if
/// there is no bound.
pub(super) fn all_threads(facts: Facts<'_>, expression: &Expression) -> Option<Vec<[u32; 3]>> {
    if let Some(size) = exact_size(facts.launch) {
        return Some(threads(size));
    }
    let largest = [0, 1, 2].map(|axis| facts.launch.max_extent(axis));
    let product = largest.iter().try_fold(1u32, |all, &extent| all.checked_mul(extent));
    if product.is_some_and(|all| all <= THREADS) {
        return Some(threads(largest));
    }
    // One row is enough if the expression uses no other index.
    let is_along = |axis: usize| {
        move |(step, _): &(Step, u32)| match step {
            Step::Index(of) => *of == axis,
            Step::Lane => false,
            _ => true,
        }
    };
    let axis = (0..3).find(|&axis| expression.steps.iter().all(is_along(axis)))?;
    (largest[axis] <= THREADS).then(|| row(axis, largest[axis]))
}

/// The size of all workgroups, if it is known and within bounds.
pub(super) fn exact_size(launch: &LaunchFacts) -> Option<[u32; 3]> {
    let size = [0, 1, 2].map(|axis| launch.extent_divisor(axis));
    let is_exact = (0..3).all(|axis| launch.max_extent(axis) == size[axis]);
    let product: u64 = size.iter().map(|&n| u64::from(n)).product();
    (is_exact && launch.uniform_work_group_size && product <= u64::from(THREADS)).then_some(size)
}

/// The threads of a workgroup, in the order in which waves are formed.
pub(super) fn threads([x, y, z]: [u32; 3]) -> Vec<[u32; 3]> {
    let plane = |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z]));
    (0..z).flat_map(plane).collect()
}

pub(super) fn row(axis: usize, extent: u32) -> Vec<[u32; 3]> {
    let thread = |at| {
        let mut thread = [0; 3];
        thread[axis] = at;
        thread
    };
    (0..extent).map(thread).collect()
}

/// One operation; operands are positions of earlier operations.
#[derive(Clone, Debug)]
enum Step {
    Constant(u64),
    Index(usize),
    Lane,
    Same(usize),
    Inst { inst: InstId, operands: Vec<usize>, from_bits: u32 },
}

/// The expression that decides a branch, as a list of operations, operands first.
pub(super) struct Expression {
    steps: Vec<(Step, u32)>,
}

impl Expression {
    fn of_branch(facts: Facts<'_>, branch: Node) -> Option<Expression> {
        let body = facts.code.body;
        let terminator = body.terminator(block_of(branch))?;
        facts.reads_inst(terminator);
        match body.inst(terminator).opcode {
            Opcode::Br | Opcode::Switch => {}
            _ => return None,
        }
        Expression::new(facts, *body.operands(terminator).first()?)
    }

    /// The expression of a value; none if it cannot be evaluated.
    pub(super) fn new(facts: Facts<'_>, root: Value) -> Option<Expression> {
        let mut steps: Vec<(Step, u32)> = Vec::new();
        let mut known: Vec<(Value, usize)> = Vec::new();
        // Each value is visited twice: first its operands are pushed, then its step is made.
        let mut work = vec![(root, false)];
        while let Some((value, is_ready)) = work.pop() {
            if known.iter().any(|(of, _)| *of == value) {
                continue;
            }
            if steps.len() > OPERATIONS || work.len() > 4 * OPERATIONS {
                return None;
            }
            let operands = operands(facts, value)?;
            if !is_ready {
                work.push((value, true));
                work.extend(operands.iter().map(|&operand| (operand, false)));
                continue;
            }
            let position = |operand: &Value| {
                known.iter().find(|(of, _)| of == operand).map(|&(_, position)| position)
            };
            let places: Option<Vec<usize>> = operands.iter().map(position).collect();
            let step = step(facts, value, places?, &steps)?;
            known.push((value, steps.len()));
            steps.push((step, bits(facts, value)?));
        }
        Some(Expression { steps })
    }

    /// Whether the expression depends on no index but that along x.
    pub(super) fn is_of_row(&self) -> bool {
        let is_other = |(step, _): &(Step, u32)| matches!(step, Step::Index(1..) | Step::Lane);
        !self.steps.iter().any(is_other)
    }

    /// The operations of both expressions, to find the threads that represent all values of both.
    pub(super) fn with(&self, other: &Expression) -> Expression {
        Expression { steps: self.steps.iter().chain(&other.steps).cloned().collect() }
    }

    /// The value in a thread; none if it is undefined.
    pub(super) fn value(
        &self,
        facts: Facts<'_>,
        thread: [u32; 3],
        size: Option<[u32; 3]>,
    ) -> Option<u64> {
        let mut values: Vec<u64> = Vec::with_capacity(self.steps.len());
        for (step, bits) in &self.steps {
            let value = match step {
                Step::Constant(value) => *value,
                Step::Index(axis) => u64::from(thread[*axis]),
                Step::Lane => u64::from(lane(facts.launch, thread, size)?),
                Step::Same(of) => values[*of],
                Step::Inst { inst, operands, from_bits } => {
                    let operands: Vec<u64> = operands.iter().map(|&at| values[at]).collect();
                    evaluate(facts.code, *inst, &operands, *bits, *from_bits)?
                }
            };
            values.push(value & ones(*bits));
        }
        values.last().copied()
    }

    /// The successor to which a thread goes; none if it is undefined.
    fn target(
        &self,
        facts: Facts<'_>,
        branch: Node,
        thread: [u32; 3],
        size: Option<[u32; 3]>,
    ) -> Option<Node> {
        let decided = self.value(facts, thread, size)?;
        let (body, flow) = (facts.code.body, facts.code.flow);
        let terminator = body.terminator(block_of(branch))?;
        let successors = flow.successors(block_of(branch));
        let position = match body.inst(terminator).opcode {
            // The first successor is that for true.
            Opcode::Br => usize::from(decided == 0),
            _ => {
                let cases = &body.operands(terminator)[1..];
                let mut found = 0;
                for (at, &case) in cases.iter().enumerate() {
                    if integer(facts.code, case)? == decided {
                        found = at + 1;
                        break;
                    }
                }
                found
            }
        };
        successors.get(position).map(|&block| node_of(block))
    }
}

/// The values that a value is computed from; none if it cannot be evaluated.
fn operands(facts: Facts<'_>, value: Value) -> Option<Vec<Value>> {
    let inst = match value.kind() {
        ValueKind::Const(_) => return integer(facts.code, value).map(|_| Vec::new()),
        ValueKind::Inst(inst) => inst,
        _ => return None,
    };
    facts.reads_inst(inst);
    let body = facts.code.body;
    match body.inst(inst).opcode {
        Opcode::Call => Some(Vec::new()),
        Opcode::Load => stored(facts, inst).map(|value| vec![value]),
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::UDiv | Opcode::URem | Opcode::Shl => {
            Some(body.operands(inst).to_vec())
        }
        Opcode::LShr | Opcode::AShr | Opcode::And | Opcode::Or | Opcode::Xor | Opcode::ICmp => {
            Some(body.operands(inst).to_vec())
        }
        Opcode::SDiv | Opcode::SRem => Some(body.operands(inst).to_vec()),
        Opcode::Trunc | Opcode::ZExt | Opcode::SExt | Opcode::Select | Opcode::Freeze => {
            Some(body.operands(inst).to_vec())
        }
        _ => None,
    }
}

fn step(
    facts: Facts<'_>,
    value: Value,
    operands: Vec<usize>,
    steps: &[(Step, u32)],
) -> Option<Step> {
    let ValueKind::Inst(inst) = value.kind() else {
        return integer(facts.code, value).map(Step::Constant);
    };
    match facts.code.body.inst(inst).opcode {
        Opcode::Load | Opcode::Freeze => Some(Step::Same(operands[0])),
        Opcode::Call => register(facts, inst),
        _ => {
            let from_bits = operands.first().map_or(0, |&at| steps[at].1);
            Some(Step::Inst { inst, operands, from_bits })
        }
    }
}

/// The axis of the thread's index that a call reads.
pub(super) fn register_index(facts: Facts<'_>, call: InstId) -> Option<usize> {
    match register(facts, call)? {
        Step::Index(axis) => Some(axis),
        _ => None,
    }
}

/// Whether a call reads the number of the lane.
pub(super) fn is_lane(facts: Facts<'_>, call: InstId) -> bool {
    matches!(register(facts, call), Some(Step::Lane))
}

/// The intrinsic of a call, or of assembly that moves a special register.
pub(super) fn read_register(facts: Facts<'_>, call: InstId) -> Option<Intrinsic> {
    if called(facts.code, call).is_some() {
        return intrinsic(facts.code, call);
    }
    let assembly = inline_assembly(facts.code, call)?;
    let read = read_assembly(facts.code, assembly, facts.target.architecture());
    let &[result] = &read.results[..] else { return None };
    let AsmValue::Result { operation, index: 0 } = read.values[result] else { return None };
    Some(read.operations.get(operation)?.intrinsic)
}

/// The step for a call that reads the index of the thread.
fn register(facts: Facts<'_>, call: InstId) -> Option<Step> {
    let found = read_register(facts, call)?;
    let axis = |name: &str| match name {
        "x" => Some(Step::Index(0)),
        "y" => Some(Step::Index(1)),
        "z" => Some(Step::Index(2)),
        _ => None,
    };
    if found.info.result == Transfer::Coordinate(Coordinate::Thread) {
        let axis = facts.code.body.call_args(call).first().and_then(|&d| integer(facts.code, d));
        return axis.filter(|axis| *axis < 3).map(|axis| Step::Index(axis as usize));
    }
    let prefixes = ["workitem.id.", "read.ptx.sreg.tid."];
    if let Some(name) = prefixes.iter().find_map(|prefix| found.base.strip_prefix(prefix)) {
        return axis(name);
    }
    (found.base == "read.ptx.sreg.laneid").then_some(Step::Lane)
}

pub(super) fn lane(
    launch: &LaunchFacts,
    [x, y, z]: [u32; 3],
    size: Option<[u32; 3]>,
) -> Option<u32> {
    let width = launch.wave_width?;
    let linear = match size {
        Some([dx, dy, _]) => x + dx * (y + dy * z),
        None if y == 0 && z == 0 => x,
        None => return None,
    };
    linear.checked_rem(width)
}

/// The value of an integer constant, also of one that was stored in a stack slot.
pub(super) fn constant(facts: Facts<'_>, value: Value) -> Option<u64> {
    let mut at = value;
    for _ in 0..OPERATIONS {
        if let Some(found) = integer(facts.code, at) {
            return Some(found);
        }
        let inst = at.as_inst()?;
        facts.reads_inst(inst);
        if facts.code.body.inst(inst).opcode != Opcode::Load {
            return None;
        }
        at = stored(facts, inst)?;
    }
    None
}

/// The stack slot that an address is of.
pub(super) fn slot(facts: Facts<'_>, address: Value) -> Option<InstId> {
    let body = facts.code.body;
    let mut own = address.as_inst()?;
    // In unreachable code a cast may be made from itself.
    let mut left = OPERATIONS;
    while body.inst(own).opcode == Opcode::AddrSpaceCast {
        left = left.checked_sub(1)?;
        own = body.operands(own)[0].as_inst()?;
    }
    (body.inst(own).opcode == Opcode::Alloca).then_some(own)
}

/// The value of a load from a stack slot, if the slot is written as a whole before the load: once,
/// or several times one after the other.
pub(super) fn stored(facts: Facts<'_>, load: InstId) -> Option<Value> {
    facts.reads_slots();
    let body = facts.code.body;
    let own = slot(facts, body.operands(load)[0])?;
    // All uses of the slot, for any type of its address.
    let mut written: Vec<InstId> = Vec::new();
    let mut addresses = vec![own];
    while let Some(address) = addresses.pop() {
        for Use { user, index } in body.uses_of(address.into()) {
            match body.inst(user).opcode {
                Opcode::Load => {}
                Opcode::AddrSpaceCast => addresses.push(user),
                Opcode::Store if index == 1 && written.len() < STORES => written.push(user),
                Opcode::Call if is_marker(facts, user) => {}
                _ => return None,
            }
        }
    }
    // A slot that was not written holds an undefined value. So the store has to come before the
    // load on every path.
    if !written.iter().all(|&store| is_before(facts, store, load)) {
        return None;
    }
    // Stores that all come before the same instruction on every path come one after the other.
    let is_last = |&store: &InstId| {
        written.iter().all(|&other| other == store || is_before(facts, other, store))
    };
    let last = written.iter().copied().find(is_last)?;
    let value = body.operands(last)[0];
    let is_whole = type_of(facts, value)? == body.inst(load).ty;
    // A store in a cycle may store another value in each round, unless it is the only store, of a
    // constant.
    let is_in_rounds = |&store: &InstId| {
        body.block_of(store).is_none_or(|block| facts.cycles.innermost(node_of(block)).is_some())
    };
    let is_one =
        written.len() == 1 && value.as_const().is_some() || !written.iter().any(is_in_rounds);
    (is_whole && is_one).then_some(value)
}

/// The value stored in the slot that a load reads, if the slot is written at one place: by the last
/// round that came there.
pub(super) fn only_stored(facts: Facts<'_>, load: InstId) -> Option<Value> {
    let body = facts.code.body;
    if body.inst(load).opcode != Opcode::Load {
        return None;
    }
    facts.reads_slots();
    let own = slot(facts, body.operands(load)[0])?;
    let is_other =
        |of: &Use| body.inst(of.user).opcode != Opcode::Load && !is_marker(facts, of.user);
    let mut uses = body.uses_of(own.into()).filter(is_other);
    let (Some(Use { user, index: 1 }), None) = (uses.next(), uses.next()) else { return None };
    (body.inst(user).opcode == Opcode::Store).then(|| body.operands(user)[0])
}

/// Whether an instruction comes before another on every path to the other.
fn is_before(facts: Facts<'_>, first: InstId, second: InstId) -> bool {
    let body = facts.code.body;
    let (Some(one), Some(other)) = (body.block_of(first), body.block_of(second)) else {
        return false;
    };
    match one == other {
        true => body.block_insts(one).find(|&i| i == first || i == second) == Some(first),
        false => facts.dom.dominates(node_of(one), node_of(other)),
    }
}

/// Whether a call only marks how long a slot is in use.
pub(super) fn is_marker(facts: Facts<'_>, call: InstId) -> bool {
    let found = intrinsic(facts.code, call);
    found.is_some_and(|found| found.base.starts_with("lifetime."))
}

pub(super) fn type_of(facts: Facts<'_>, value: Value) -> Option<Type> {
    match value.kind() {
        ValueKind::Inst(inst) => Some(facts.code.body.inst(inst).ty),
        ValueKind::Arg(position) => facts.code.header.params.get(position as usize).copied(),
        ValueKind::Const(constant) => Some(facts.code.context.const_data(constant).ty),
        _ => None,
    }
}

pub(super) fn bits(facts: Facts<'_>, value: Value) -> Option<u32> {
    match facts.code.context.type_kind(type_of(facts, value)?) {
        &TypeKind::Int(bits) if bits <= 64 => Some(bits),
        _ => None,
    }
}
