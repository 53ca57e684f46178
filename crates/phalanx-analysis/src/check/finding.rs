//! What a finding is: which rule, how sure, and what it follows from.
//!
//! Plain data, read by every rule and by the code that renders findings; nothing is computed here.

use phalanx_graph::Node;
use phalanx_ir::{GlobalName, InstId, Value};
use phalanx_target::{Scope, SourceSet, intrinsics::Role};

use crate::code::SpaceSet;
use crate::loads::Refusal;
use crate::spaces::SpaceSubject;

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Worth knowing.
    Note,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
}

impl Level {
    /// Its name, as SARIF and people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident $code:literal $slug:literal $summary:literal,)*) => {
        /// A rule that is checked. Codes are stable: the code of a rule that is no longer in use is
        /// not given to another rule.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule { $($(#[$doc])* $name),* }

        impl Rule {
            /// Every rule, by code.
            pub const ALL: &'static [Rule] = &[$(Rule::$name),*];

            /// The stable code.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Rule::$name => $code),* }
            }

            /// The name, in words joined by dashes.
            #[must_use]
            pub const fn slug(self) -> &'static str {
                match self { $(Rule::$name => $slug),* }
            }

            /// A description, in a few words.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self { $(Rule::$name => $summary),* }
            }
        }
    };
}

rules! {
    /// A barrier that some threads of a workgroup execute while others go on without.
    DivergentBarrier "PHX001" "divergent-barrier" "barrier under divergent control",
    /// A barrier in a cycle that threads of a workgroup leave in different iterations.
    BarrierInDivergentLoop "PHX002" "divergent-loop-barrier" "barrier in a loop that threads leave in different iterations",
    /// A barrier that other threads do not come to because they have ended.
    BarrierAfterExit "PHX003" "barrier-after-exit" "barrier after some threads have returned",
    /// Threads that part wait at different barriers.
    UnmatchedBarriers "PHX004" "unmatched-barriers" "different barriers on the ways from a divergent branch",
    /// A vote, a shuffle or the like among the threads that are active there, where divergent
    /// control decides which these are.
    DivergentGroupOperation "PHX005" "divergent-group-operation" "which threads take part depends on divergent control",
    /// An operation that names threads which do not all come to it.
    MissingMembers "PHX006" "missing-members" "the mask names threads that may not take part",
    /// A branch that would be uniform if the module stated more about launches.
    UnstatedLaunch "PHX007" "unstated-launch" "branch that is uniform for some launches",
    /// A barrier that waits for a number of threads that cannot come.
    WrongBarrierCount "PHX008" "barrier-count" "a barrier waits for a number of threads that cannot come",
    /// Arrivals at a split barrier and waits for it that do not take turns.
    UnpairedBarrier "PHX009" "unpaired-barrier" "arrivals at a barrier and waits for it do not take turns",
    /// A barrier for which threads give different numbers, or counts.
    DifferentBarrierNumbers "PHX013" "barrier-number" "threads come to one barrier with different numbers",
    /// A lane that executes an operation with a mask that does not name it.
    NotInMask "PHX014" "not-in-mask" "a lane is not in its own mask",
    /// Lanes that come to one operation with different masks.
    DifferentMasks "PHX015" "different-masks" "lanes of one mask come with different masks",
    /// A shuffle that reads from a lane that does not take part.
    SourceNotInMask "PHX016" "source-not-in-mask" "a lane reads from one that the mask does not name",
    /// An argument that differs between lanes, but has to be the same for the wave.
    DivergentArgument "PHX017" "divergent-argument" "an argument that has to be one for all lanes differs",
    /// The mask is the result of `activemask` under divergent control.
    ActiveMask "PHX018" "active-mask" "the mask is the set of lanes that are active here",
    /// Lanes of a wave that wait for each other in a loop.
    LanesWait "PHX019" "lanes-wait" "lanes of a wave may wait for each other",
    /// Lanes of a wave that touch global memory far apart.
    UncoalescedAccess "PHX011" "uncoalesced-access" "lanes of a wave access global memory far apart",
    /// Lanes of a wave that meet in one bank of workgroup memory.
    BankConflict "PHX012" "bank-conflict" "lanes of a wave access one bank of workgroup memory",
    /// Lanes of a wave that update one address.
    SameAddressAtomic "PHX044" "same-address-atomic" "lanes of a wave update one address",
    /// Between two versions of a module: a barrier that was executed by all threads and no longer
    /// is.
    BarrierBecameDivergent "PHX020" "barrier-became-divergent" "a transform brought a barrier under divergent control",
    /// Between two versions: the threads that take part in an operation of a wave depend on more
    /// than before.
    GroupChanged "PHX021" "group-changed" "a transform changed which threads take part",
    /// Between two versions: a barrier no longer separates accesses that it separated.
    BarrierMoved "PHX022" "barrier-moved" "a transform removed a barrier, or moved it over an access",
    /// Between two versions: other bytes are in memory at the end, or only the later one faults.
    ResultChanged "PHX023" "result-changed" "a transform changed what a kernel leaves in memory",
    /// Between two versions: threads that part come to an operation before they are together again,
    /// on hardware that waits for the immediate post-dominator.
    GroupParted "PHX024" "group-parted" "a transform parts a group on hardware that joins threads at post-dominators",
    /// Two modules that have no function in common.
    NothingInCommon "PHX025" "nothing-in-common" "the modules have no function in common",
    /// Between two versions: a function was compared by its control only, or not at all.
    NotExecuted "PHX026" "not-executed" "two versions of a kernel could not be executed to compare them",
    /// A write of constant memory.
    ConstantStore "PHX030" "constant-store" "a write of constant memory",
    /// A cast to a space that has none of the memories that the pointer may lead to.
    ContradictedCast "PHX031" "contradicted-cast" "a cast to a space that the pointer does not lead to",
    /// An address of private memory that is stored where other threads read it.
    EscapingPrivate "PHX032" "escaping-private" "the address of private memory is stored where other threads read it",
    /// An access through a pointer that may lead to more than one space.
    MixedSpaces "PHX033" "mixed-spaces" "an access of which no single memory space is known",
    /// An access of an address that the program states as a number, or of null.
    FixedAddress "PHX034" "fixed-address" "an access of null, or of an address that is a number",
    /// Memory that a kernel only reads, but that cannot be treated as read-only.
    CoherentLoad "PHX040" "coherent-load" "memory that is only read is loaded as if others wrote it",
    /// A load with one address for the wave that is no scalar load.
    LaneByLaneLoad "PHX041" "lane-by-lane-load" "what is one for the wave is loaded by each lane",
    /// A wait for other workgroups that only some workgroups execute.
    GridWait "PHX042" "grid-wait" "workgroups wait for others that may not come",
    /// Workgroup memory that is written again before all have read it.
    WrittenTooSoon "PHX043" "written-too-soon" "no barrier between a read and the next write of workgroup memory",
    /// Two threads that access one address of workgroup memory, with no barrier in between.
    WorkgroupRace "PHX050" "workgroup-race" "threads access workgroup memory with no barrier in between",
    /// Two lanes of a wave that do so, and are ordered only by lockstep.
    WaveSynchronous "PHX051" "wave-synchronous" "lanes of a wave rely on lockstep for an order of accesses",
    /// A read of workgroup memory that no thread has written.
    ReadBeforeWritten "PHX052" "read-before-written" "workgroup memory is read that no thread has written",
    /// An access outside of an array.
    OutOfBounds "PHX053" "out-of-bounds" "a thread accesses an array outside of its bounds",
    /// Threads that write different values to one address of global memory.
    LostIndex "PHX054" "lost-index" "threads write different values to one address of global memory",
    /// Memory of a copy in the background that is accessed before a wait for the copy.
    PendingCopy "PHX055" "pending-copy" "memory is accessed while a copy in the background goes on",
    /// Workgroups that write different values to one address of global memory.
    LostGroup "PHX056" "lost-group" "workgroups write different values to one address of global memory",
}

impl Rule {
    /// The usual level of its findings: the highest that needs no two named threads.
    #[must_use]
    pub const fn usual_level(self) -> Level {
        match self {
            Rule::BarrierBecameDivergent
            | Rule::WrongBarrierCount
            | Rule::NotInMask
            | Rule::DifferentMasks
            | Rule::SourceNotInMask
            | Rule::ConstantStore => Level::Error,
            Rule::DivergentBarrier
            | Rule::BarrierInDivergentLoop
            | Rule::UnmatchedBarriers
            | Rule::MissingMembers
            | Rule::UnpairedBarrier
            | Rule::DifferentBarrierNumbers
            | Rule::DivergentArgument
            | Rule::ActiveMask
            | Rule::WrittenTooSoon
            | Rule::GroupChanged
            | Rule::BarrierMoved
            | Rule::ResultChanged
            | Rule::GroupParted
            | Rule::NothingInCommon
            | Rule::ContradictedCast
            | Rule::EscapingPrivate
            | Rule::WorkgroupRace
            | Rule::WaveSynchronous
            | Rule::ReadBeforeWritten
            | Rule::OutOfBounds
            | Rule::LostIndex
            | Rule::LostGroup
            | Rule::PendingCopy
            | Rule::FixedAddress
            | Rule::MixedSpaces => Level::Warning,
            Rule::BarrierAfterExit
            | Rule::DivergentGroupOperation
            | Rule::UnstatedLaunch
            | Rule::LanesWait
            | Rule::GridWait
            | Rule::NotExecuted
            | Rule::UncoalescedAccess
            | Rule::BankConflict
            | Rule::SameAddressAtomic
            | Rule::CoherentLoad
            | Rule::LaneByLaneLoad => Level::Note,
        }
    }

    /// Whether it is about threads that do not come to a barrier.
    pub(crate) const fn is_about_coming(self) -> bool {
        matches!(
            self,
            Rule::DivergentBarrier
                | Rule::BarrierInDivergentLoop
                | Rule::BarrierAfterExit
                | Rule::UnmatchedBarriers
        )
    }

    /// The rule with a code or a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Rule> {
        let is_named = |rule: &Rule| rule.code().eq_ignore_ascii_case(name) || rule.slug() == name;
        Rule::ALL.iter().copied().find(is_named)
    }
}

/// A broken rule at an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// How sure it is that something is wrong.
    pub level: Level,
    /// The operation.
    pub inst: InstId,
    /// The threads that should execute it together.
    pub scope: Scope,
    /// The block at whose end threads part.
    pub branch: Option<Node>,
    /// The sources that decide the branch and vary within the scope.
    pub sources: SourceSet,
    /// The function that has the barrier, if the operation is a call of it.
    pub callee: Option<GlobalName>,
    /// The barrier at which threads wait that went the other way; or an access through a pointer
    /// that is cast wrongly.
    pub other: Option<InstId>,
    /// Two threads that go different ways.
    pub witness: Option<Witness>,
    /// The argument that the finding is about, if it is about an argument of a call.
    pub argument: Option<usize>,
    /// The role of that argument, if it has to be the same in all threads.
    pub role: Option<Role>,
    /// Evaluated numbers of two threads, if there are such.
    pub evaluated: Option<Evaluated>,
    /// Launches for which the finding does not hold.
    pub safe: Vec<Geometry>,
    /// How lanes access memory, if the finding is about that.
    pub access: Option<AccessCost>,
    /// Addresses that lead where they should not, if the finding is about that.
    pub leads: Vec<Lead>,
    /// The number that the program states as an address, if the finding is about that.
    pub address: Option<u64>,
    /// Why no launch has the threads that a barrier waits for, if the finding is about that.
    pub fault: Option<CountFault>,
    /// Why a load is in no cheaper class, if the finding is about that.
    pub refusal: Option<Refusal>,
    /// Where two threads access workgroup memory, if the finding is about that.
    pub clash: Option<Clash>,
}

impl Finding {
    /// A finding without further details.
    #[must_use]
    pub fn new(rule: Rule, level: Level, inst: InstId, scope: Scope) -> Finding {
        Finding {
            rule,
            level,
            inst,
            scope,
            branch: None,
            sources: SourceSet::EMPTY,
            callee: None,
            other: None,
            witness: None,
            argument: None,
            role: None,
            evaluated: None,
            safe: Vec::new(),
            access: None,
            leads: Vec::new(),
            address: None,
            fault: None,
            refusal: None,
            clash: None,
        }
    }
}

/// The meaning of the numbers in [`Evaluated`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The number of a barrier, in each of two threads.
    Number,
    /// The number of threads that a barrier is for, in each of two threads.
    Count,
    /// An argument that has to be the same, in each of two threads.
    Argument,
    /// A mask, in each of two threads; or the mask and the lane of one thread.
    Mask,
    /// The mask of one thread, and the lane that it reads from.
    Source,
    /// The mask of a thread that comes, and the lane of a thread that does not.
    Absent,
}

/// A concrete case: what two threads come to an operation with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evaluated {
    /// Two threads of a workgroup, by their indices; the same thread twice if the case needs only
    /// one.
    pub threads: [[u32; 3]; 2],
    /// The evaluated numbers.
    pub values: [u64; 2],
    /// Their meaning.
    pub what: What,
}

/// What an access costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCost {
    /// Bytes from one lane to the next, if that is the same for all.
    pub stride: Option<i64>,
    /// Bytes that a lane accesses.
    pub size: u32,
    /// The distance, if it is known at run time only.
    pub symbol: Option<Symbol>,
    /// The cost for the width of waves, or for each possible width.
    pub waves: [Option<WaveCost>; 2],
    /// Whether the stride is between lanes that have y and z in common.
    pub in_rows: bool,
    /// Whether that holds only if no index wraps around between two lanes.
    pub assumes_no_wrap: bool,
}

/// What an access costs a wave: sectors of global memory that it touches, how often workgroup
/// memory serves its lanes, or updates of one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveCost {
    /// Lanes of the wave.
    pub lanes: u32,
    /// The count for this access.
    pub count: u32,
    /// The least possible count.
    pub least: u32,
}

/// A distance that is a constant times a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The value, which is known at run time.
    pub value: Value,
    /// The constant, in bytes.
    pub bytes: i64,
}

/// An address of a finding, and the memories of it that the finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lead {
    /// The address.
    pub subject: SpaceSubject,
    /// The memories that it may lead to.
    pub memories: SpaceSet,
}

/// Why no launch has the threads that a barrier waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountFault {
    /// The number is no multiple of the width of a wave.
    NoWholeWaves {
        /// Threads that are waited for.
        threads: u64,
        /// Lanes of a wave.
        width: u32,
    },
    /// The number is larger than workgroups are.
    TooMany {
        /// Threads that are waited for.
        threads: u64,
        /// The largest possible number.
        most: u64,
    },
    /// The number is larger than the number of threads that come.
    TooFew {
        /// Threads that are waited for.
        threads: u64,
        /// The largest number of threads that come, in whole waves.
        come: u64,
    },
}

/// A property of launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Geometry {
    /// The extent of workgroups along x is a multiple of the width of a wave.
    RowsOfWaves(u32),
    /// Workgroups have one thread along these dimensions.
    OneAlong([bool; 3]),
    /// A workgroup is one wave at most.
    OneWave(u32),
    /// At most this many threads along a dimension.
    AtMost {
        /// The dimension: 0 for x.
        axis: usize,
        /// How many.
        threads: u32,
    },
}

/// Two threads of a workgroup, by their indices: one comes to the operation, the other does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The thread that comes.
    pub comes: [u32; 3],
    /// The thread that goes another way.
    pub stays_away: [u32; 3],
    /// Whether every launch has both threads, as far as is known, or at least every usual launch:
    /// each with a row of 32 threads.
    pub is_certain: bool,
}

/// Two accesses that conflict, or one that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clash {
    /// Two threads, by their indices; the same thread twice if there is only one access.
    pub threads: [[u32; 3]; 2],
    /// Whether each writes.
    pub writes: [bool; 2],
    /// Whether the accesses certainly conflict; otherwise they may write the same value.
    pub is_certain: bool,
    /// The object.
    pub object: Object,
    /// The element of the object, dimension by dimension; empty if that is not known.
    pub indices: Vec<i64>,
    /// The functions and instructions of the accesses, if they are in callees of the kernel.
    pub called: [Option<(GlobalName, InstId)>; 2],
    /// The size of the workgroup.
    pub group: [u32; 3],
    /// Whether launches may have other sizes.
    pub is_assumed: bool,
    /// Numbers with which a launch comes there, if several conditions have to hold together.
    pub launch: Vec<(LaunchNumber, i64)>,
}

/// A number that is the same in a workgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchNumber {
    /// An argument of the kernel, by its position.
    Argument(u32),
    /// The number of the workgroup in the grid along a dimension: 0 for x.
    Group(usize),
}

/// The object of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// A variable.
    Variable(GlobalName),
    /// The memory that an argument of the kernel points to.
    Argument(u32),
    /// Private memory of the thread; with the `alloca`, if it is one of the kernel.
    Private(Option<InstId>),
}
