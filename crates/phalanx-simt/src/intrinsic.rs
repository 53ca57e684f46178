//! The intrinsics that the interpreter executes.

mod library;
mod names;
mod pure;
mod spirv;

pub(crate) use pure::{pure, reduce_all};
pub(crate) use spirv::{Form, form};

use crate::{
    collective::Collective,
    library_memory::operations::Access,
    reach::Reach,
    split::Split,
    sub_groups::{OfBallot, WorkGroup},
};

/// What an intrinsic does.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Intrinsic {
    /// No effect and no result.
    Nothing,
    /// An assumption: no effect, unless the program is held to its promises.
    Assume,
    /// Orders memory among these threads.
    Fence(Reach),
    /// Gives its first argument.
    First,
    /// Gives this number.
    Number(u64),
    /// A function of its arguments.
    Pure(Pure),
    /// The position of a thread, or a size of the launch.
    Coordinate(Coordinate),
    /// A position among the lanes, as a ballot.
    LaneMask(Coordinate),
    /// A query about a ballot.
    OfBallot(OfBallot),
    /// A library function that reads or writes memory.
    Access(Access),
    /// `memcpy`, `memmove`
    Copy,
    /// `memset`
    Set,
    /// A load that is cached differently.
    Load,
    /// Whether a generic address is in shared memory.
    IsShared,
    /// Whether a generic address is in private memory.
    IsPrivate,
    /// Whether a generic address is in global memory.
    IsGlobal,
    /// A time that advances.
    Clock,
    /// Stops the launch.
    Trap,
    /// Communicates among the threads converged with this one.
    Collective(Collective),
    /// Waits for the workgroup.
    Barrier(Barrier),
    /// Arrives at a barrier of the workgroup or cluster, waits for it, or both.
    Split(Split),
    /// Waits for the workgroup, and combines operands of its threads.
    WorkGroup(WorkGroup),
    /// `llvm.experimental.convergence.entry`, `.anchor`, `.loop`
    Token(Token),
}

/// A barrier whose number is the first argument.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Barrier {
    /// Whether the second argument is the number of threads that it is for; otherwise it is for the
    /// whole workgroup.
    pub(crate) is_counted: bool,
    /// What it computes from a predicate, its last argument.
    pub(crate) gives: Gives,
}

/// The result of a barrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Gives {
    /// Nothing: there is no predicate.
    Nothing,
    /// The number of threads whose predicate holds.
    Count,
    /// Whether all predicates hold.
    And,
    /// Whether some predicate holds.
    Or,
}

/// Which intrinsic makes a convergence control token.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    Entry,
    Anchor,
    Loop,
}

/// A position of a thread, or a size of the launch.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Coordinate {
    Thread(usize),
    Block(usize),
    /// Extent of a workgroup.
    BlockSize(usize),
    /// Number of workgroups.
    GridSize(usize),
    /// Position of the cluster.
    Cluster(usize),
    /// Number of clusters.
    ClusterCount(usize),
    /// Position of the workgroup in its cluster.
    InCluster(usize),
    /// Number of the workgroup in its cluster.
    ClusterRank,
    /// Workgroups of a cluster along a dimension, minus this number.
    ClusterSize(usize, u32),
    /// Workgroups of a cluster, minus this number.
    ClusterBlocks(u32),
    /// A value for the dimension that the first argument names.
    Along(Along),
    /// The number of dimensions of a launch: three, some of which may have extent 1.
    Dimensions,
    /// The number of the thread in its workgroup.
    Linear,
    /// The number of the thread in the grid.
    GlobalLinear,
    Lane,
    Wave,
    WaveSize,
    WaveCount,
    /// How many threads are in the wave.
    WaveThreads,
    LanesEqual,
    LanesBelow,
    LanesUpTo,
    LanesAbove,
    LanesFrom,
    /// `llvm.amdgcn.mbcnt.lo`: lanes below this one in the low half of a mask, plus a number.
    CountLow,
    /// `llvm.amdgcn.mbcnt.hi`
    CountHigh,
    DispatchPacket,
    ImplicitArguments,
}

/// A query for one dimension.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Along {
    Thread,
    Block,
    Global,
    BlockSize,
    GridSize,
    GlobalSize,
    /// The start of the grid: 0.
    Offset,
}

/// A function of its arguments.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Pure {
    Abs,
    SMax,
    SMin,
    UMax,
    UMin,
    CtPop,
    CtLz,
    CtTz,
    BSwap,
    BitReverse,
    FunnelLeft,
    FunnelRight,
    SAddOverflow,
    UAddOverflow,
    SSubOverflow,
    USubOverflow,
    SMulOverflow,
    UMulOverflow,
    SAddSat,
    UAddSat,
    SSubSat,
    USubSat,
    SShlSat,
    UShlSat,
    /// Less, equal or greater, as -1, 0 or 1.
    UCompare,
    SCompare,
    Fma,
    MulAdd,
    MinNum,
    MaxNum,
    Minimum,
    Maximum,
    CopySign,
    Unary(Unary),
    Pow,
    PowI,
    /// Times a power of two.
    Scale,
    /// Whether a number is of one of these classes.
    IsClass,
    ToSignedSat,
    ToUnsignedSat,
    Reduce(Reduce),
    PtrMask,
    /// Lanes of vectors in another order.
    Lanes(Lanes),
    /// Sum of differences of bytes.
    SumOfDifferences,
    /// Bits from a place on, unsigned or signed.
    Field(bool),
    MulLow24(bool),
    MulHigh(bool),
    FMed3,
}

/// Mathematical functions of one argument.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unary {
    Sqrt,
    RSqrt,
    Rcp,
    Abs,
    Floor,
    Ceil,
    Trunc,
    RoundEven,
    Round,
    Exp,
    Exp2,
    Exp10,
    Log,
    Log2,
    Log10,
    Sin,
    Cos,
    Tan,
    /// The part behind the point.
    Fract,
    Canonicalize,
}

/// What becomes of lanes that keep their values.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Lanes {
    Reverse,
    /// Of several vectors in turn.
    Interleave,
    /// To so many vectors in turn.
    Deinterleave(usize),
    /// A vector takes the place of some lanes of another.
    Insert,
    /// Some lanes of a vector.
    Extract,
}

/// How lanes of a vector become one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reduce {
    Add,
    Mul,
    And,
    Or,
    Xor,
    SMax,
    SMin,
    UMax,
    UMin,
    FAdd,
    FMul,
    FMax,
    FMin,
    FMaximum,
    FMinimum,
}

impl Intrinsic {
    pub(crate) fn is_token(self) -> bool {
        matches!(self, Intrinsic::Token(_))
    }
}
