//! Intrinsics: which there are.

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
    /// Nothing, and gives nothing.
    Nothing,
    /// An assumption, which is nothing unless the program is held to it.
    Assume,
    /// Orders memory, among these threads.
    Fence(Reach),
    /// Gives its first argument.
    First,
    /// Gives this number.
    Number(u64),
    /// A function of its arguments.
    Pure(Pure),
    /// What a thread knows of itself and of the launch.
    Place(Place),
    /// A place among the lanes, as a ballot.
    LaneMask(Place),
    /// What is asked of a ballot.
    OfBallot(OfBallot),
    /// Memory that a function of a library reads or writes.
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
    /// A time that goes on.
    Clock,
    /// Stops everything.
    Trap,
    /// Concerns the threads converged with this one.
    Collective(Collective),
    /// Waits for the workgroup.
    Barrier(Barrier),
    /// Arrives at a barrier of the workgroup or cluster, waits for it, or both.
    Split(Split),
    /// Waits for the workgroup, and gives something of what its threads bring.
    WorkGroup(WorkGroup),
    /// `llvm.experimental.convergence.entry`, `.anchor`, `.loop`
    Token(Token),
}

/// A barrier with a number, its first argument.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Barrier {
    /// Whether the second argument is how many threads it is for; else it is for all of the
    /// workgroup.
    pub(crate) is_counted: bool,
    /// What it gives back of a predicate, its last argument.
    pub(crate) gives: Gives,
}

/// What a barrier gives back.
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

/// How a convergence control token comes to be.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    Entry,
    Anchor,
    Loop,
}

/// What a thread knows of itself and of the launch.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
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
    /// Workgroups of a cluster, less this number.
    ClusterSize(usize, u32),
    /// The same of all dimensions together.
    ClusterBlocks(u32),
    /// A place along the dimension that the first argument names.
    Along(Along),
    /// How many dimensions launches have: three, of which some may be one long.
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

/// What is asked along a dimension.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Along {
    Thread,
    Block,
    Global,
    BlockSize,
    GridSize,
    GlobalSize,
    /// Where the grid begins: at 0.
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
