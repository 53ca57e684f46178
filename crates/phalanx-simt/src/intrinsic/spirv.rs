//! SPIR-V's functions among threads: the first argument is a scope, and numbers select the
//! operation.
//!
//! ```text
//! __spirv_GroupNonUniformIAdd(3, 1, x)       the sub-group's inclusive scan: x
//! __spirv_GroupIAdd(2, 0, x)                 the workgroup's sum: x
//! __spirv_AtomicIAdd(p, 1, 8, x)             an atomic of the device, both ways ordered: p, x
//! ```
//!
//! Each corresponds to a function of OpenCL C with some of the arguments; a [`Form`] says which
//! function and which arguments. Scopes and operations are constants in SPIR-V. If they are not
//! constant, or have no meaning for the function, there is no form and the function is not
//! executed.
//!
//! Source: the SPIR-V specification, *Group and Subgroup Instructions*, *Non-Uniform Instructions*,
//! *Atomic Instructions*, *Scope*, *Group Operation*, *Memory Semantics*.

use phalanx_ir::inst::{Ordering, RmwOp};

use super::{Intrinsic, Reduce, library};
use crate::{
    collective::Collective,
    library_memory::operations::{Access, Atomic, Order},
    reach::Reach,
    sub_groups::{Combine, From, OfBallot, Over, SubGroup, WorkGroup},
};

/// The operation of a call, and the arguments that it uses.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Form {
    pub(crate) intrinsic: Intrinsic,
    /// Positions among the arguments of the call.
    pub(crate) arguments: Vec<usize>,
}

/// The threads that an operation is among.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Among {
    WorkGroup,
    SubGroup,
}

/// The form of a call, by the function's name in the table, the name that is called, and the
/// constant arguments.
pub(crate) fn form(
    base: &str,
    called: &str,
    number: &dyn Fn(usize) -> Option<u64>,
) -> Option<Form> {
    let name = base.strip_prefix("__spirv_")?;
    if let Some(name) = name.strip_prefix("Atomic") {
        return atomic(name, number);
    }
    if let Some(name) = name.strip_prefix("Subgroup") {
        return intel(name);
    }
    let name = name.strip_prefix("Group")?;
    if let Some(name) = name.strip_prefix("NonUniformQuad") {
        return quads(name, number);
    }
    let among = match number(0)? {
        2 => Among::WorkGroup,
        3 => Among::SubGroup,
        _ => return None,
    };
    match name.strip_prefix("NonUniform") {
        Some(name) if among == Among::SubGroup => {
            non_uniform(name, number).or_else(|| combined(name, among, number))
        }
        Some(_) => None,
        None => uniform(name, called, among).or_else(|| combined(name, among, number)),
    }
}

fn of(intrinsic: Intrinsic, arguments: &[usize]) -> Option<Form> {
    Some(Form { intrinsic, arguments: arguments.to_vec() })
}

fn lanes(what: SubGroup, arguments: &[usize]) -> Option<Form> {
    of(Intrinsic::Collective(Collective::SubGroup(what)), arguments)
}

/// Functions that all threads of the scope reach together.
fn uniform(name: &str, called: &str, among: Among) -> Option<Form> {
    let both = |what| match among {
        Among::WorkGroup => of(Intrinsic::WorkGroup(WorkGroup::As(what)), &[1]),
        Among::SubGroup => lanes(what, &[1]),
    };
    match (name, among) {
        ("All", _) => both(SubGroup::All),
        ("Any", _) => both(SubGroup::Any),
        ("Broadcast", Among::WorkGroup) => of(Intrinsic::WorkGroup(WorkGroup::Broadcast), &[1, 2]),
        ("Broadcast", Among::SubGroup) => of(Intrinsic::Collective(Collective::ReadLane), &[1, 2]),
        ("AsyncCopy", Among::WorkGroup) => {
            // The scope is the first of the mangled parameters.
            let parameters = called.rsplit_once("AsyncCopy")?.1.get(1..)?;
            let copy = library::copied(parameters, true)?;
            of(Intrinsic::Access(Access::Copy(copy)), &[1, 2, 3, 4, 5])
        }
        ("WaitEvents", Among::WorkGroup) => of(library::WORKGROUP_BARRIER, &[1, 2]),
        ("WaitEvents", Among::SubGroup) => of(Intrinsic::Collective(Collective::Meet), &[]),
        _ => None,
    }
}

/// Functions among the threads that execute them together.
fn non_uniform(name: &str, number: &dyn Fn(usize) -> Option<u64>) -> Option<Form> {
    let of_ballot = |asked, arguments: &[usize]| of(Intrinsic::OfBallot(asked), arguments);
    match name {
        "Elect" => lanes(SubGroup::Elect, &[]),
        "All" => lanes(SubGroup::All, &[1]),
        "Any" => lanes(SubGroup::Any, &[1]),
        "AllEqual" => lanes(SubGroup::AllEqual, &[1]),
        "Ballot" => lanes(SubGroup::Ballot, &[1]),
        "BroadcastFirst" => of(Intrinsic::Collective(Collective::First), &[1]),
        "Broadcast" | "Shuffle" => lanes(SubGroup::Read(From::Index), &[1, 2]),
        "ShuffleXor" => lanes(SubGroup::Read(From::Xor), &[1, 2]),
        "ShuffleUp" => lanes(SubGroup::Read(From::Up), &[1, 2]),
        "ShuffleDown" => lanes(SubGroup::Read(From::Down), &[1, 2]),
        "RotateKHR" => match number(3) {
            Some(_) => lanes(SubGroup::Read(From::RotateCluster), &[1, 2, 3]),
            None => lanes(SubGroup::Read(From::Rotate), &[1, 2]),
        },
        "InverseBallot" => of_ballot(OfBallot::Inverse, &[1]),
        "BallotBitExtract" => of_ballot(OfBallot::Extract, &[1, 2]),
        "BallotFindLSB" => of_ballot(OfBallot::First, &[1]),
        "BallotFindMSB" => of_ballot(OfBallot::Last, &[1]),
        "BallotBitCount" => {
            let asked = match number(1)? {
                0 => OfBallot::Count,
                1 => OfBallot::Inclusive,
                2 => OfBallot::Exclusive,
                _ => return None,
            };
            of_ballot(asked, &[2])
        }
        _ => None,
    }
}

/// Functions among the lanes of each quad; those of an extension have no scope.
fn quads(name: &str, number: &dyn Fn(usize) -> Option<u64>) -> Option<Form> {
    let vote = |op| {
        let combine = Combine { op, is_logical: true, over: Over::Quad };
        lanes(SubGroup::Combine(combine), &[0])
    };
    match name {
        "AllKHR" => vote(Reduce::And),
        "AnyKHR" => vote(Reduce::Or),
        _ if number(0)? != 3 => None,
        "Broadcast" => lanes(SubGroup::Read(From::OfQuad), &[1, 2]),
        "Swap" => lanes(SubGroup::Read(From::QuadSwap), &[1, 2]),
        _ => None,
    }
}

/// Combines values of several threads; the second argument says of which threads.
fn combined(name: &str, among: Among, number: &dyn Fn(usize) -> Option<u64>) -> Option<Form> {
    let name = name.strip_suffix("KHR").unwrap_or(name);
    let (op, is_logical) = match name {
        "IAdd" => (Reduce::Add, false),
        "IMul" => (Reduce::Mul, false),
        "FAdd" => (Reduce::FAdd, false),
        "FMul" => (Reduce::FMul, false),
        "SMin" => (Reduce::SMin, false),
        "SMax" => (Reduce::SMax, false),
        "UMin" => (Reduce::UMin, false),
        "UMax" => (Reduce::UMax, false),
        "FMin" => (Reduce::FMin, false),
        "FMax" => (Reduce::FMax, false),
        "BitwiseAnd" => (Reduce::And, false),
        "BitwiseOr" => (Reduce::Or, false),
        "BitwiseXor" => (Reduce::Xor, false),
        "LogicalAnd" => (Reduce::And, true),
        "LogicalOr" => (Reduce::Or, true),
        "LogicalXor" => (Reduce::Xor, true),
        _ => return None,
    };
    let (over, arguments): (Over, &[usize]) = match (number(1)?, among) {
        (0, _) => (Over::All, &[2]),
        (1, _) => (Over::UpTo, &[2]),
        (2, _) => (Over::Before, &[2]),
        (3, Among::SubGroup) => (Over::Cluster, &[2, 3]),
        _ => return None,
    };
    let what = SubGroup::Combine(Combine { op, is_logical, over });
    match among {
        Among::WorkGroup => of(Intrinsic::WorkGroup(WorkGroup::As(what)), arguments),
        Among::SubGroup => lanes(what, arguments),
    }
}

/// Functions of Intel's extensions, which have no scope.
fn intel(name: &str) -> Option<Form> {
    match name {
        "ShuffleINTEL" => lanes(SubGroup::Read(From::Index), &[0, 1]),
        "ShuffleXorINTEL" => lanes(SubGroup::Read(From::Xor), &[0, 1]),
        "ShuffleUpINTEL" => lanes(SubGroup::Read(From::UpOfTwo), &[0, 1, 2]),
        "ShuffleDownINTEL" => lanes(SubGroup::Read(From::DownOfTwo), &[0, 1, 2]),
        "BlockReadINTEL" => of(Intrinsic::Access(Access::Block { is_store: false }), &[0]),
        "BlockWriteINTEL" => of(Intrinsic::Access(Access::Block { is_store: true }), &[0, 1]),
        _ => None,
    }
}

/// An atomic: a scope and memory semantics follow the address.
fn atomic(name: &str, number: &dyn Fn(usize) -> Option<u64>) -> Option<Form> {
    let update = |op| (Atomic::Update(op), &[0, 3][..]);
    let (what, arguments) = match name {
        "Load" => (Atomic::Load, &[0][..]),
        "Store" => (Atomic::Store, &[0, 3][..]),
        "CompareExchange" | "CompareExchangeWeak" => (Atomic::Compare, &[0, 5, 4][..]),
        "IIncrement" => (Atomic::Step(RmwOp::Add), &[0][..]),
        "IDecrement" => (Atomic::Step(RmwOp::Sub), &[0][..]),
        "FlagTestAndSet" => (Atomic::TestAndSet, &[0][..]),
        "FlagClear" => (Atomic::Clear, &[0][..]),
        "Exchange" => update(RmwOp::Xchg),
        "IAdd" => update(RmwOp::Add),
        "ISub" => update(RmwOp::Sub),
        "SMin" => update(RmwOp::Min),
        "SMax" => update(RmwOp::Max),
        "UMin" => update(RmwOp::UMin),
        "UMax" => update(RmwOp::UMax),
        "And" => update(RmwOp::And),
        "Or" => update(RmwOp::Or),
        "Xor" => update(RmwOp::Xor),
        "FAddEXT" => update(RmwOp::FAdd),
        "FMinEXT" => update(RmwOp::FMin),
        "FMaxEXT" => update(RmwOp::FMax),
        _ => return None,
    };
    let reach = match number(1)? {
        0 | 1 => Reach::Device,
        2 => Reach::Workgroup,
        3 => Reach::Wave,
        4 => Reach::Thread,
        _ => return None,
    };
    // Bits for the ordering; higher bits say which memory is ordered, here always all of it.
    let ordering = match number(2)? & 0b1_1110 {
        0 => Ordering::Monotonic,
        2 => Ordering::Acquire,
        4 => Ordering::Release,
        8 => Ordering::AcqRel,
        16 => Ordering::SeqCst,
        _ => return None,
    };
    of(Intrinsic::Access(Access::Atomic(what, Order::Is(ordering, reach))), arguments)
}
