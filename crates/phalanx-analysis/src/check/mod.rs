//! Diagnostics: what is wrong with a kernel, or may be, and why.
//!
//! # What
//!
//! A [`Finding`] says that a [`Rule`] is broken at an instruction, how sure that is ([`Level`]), and what it follows from: the branch
//! that parts threads, the sources that its direction depends on, two threads that go different ways where such can be
//! named. Texts are made elsewhere.
//!
//! | module | rules |
//! |---|---|
//! | [`barriers`] | barriers that not all threads of a workgroup execute |
//! | [`coverage`] | what of all this is judged, and what is not |
//! | [`kinds`] | which threads a barrier is for, and how many |
//! | `symbolic` | distances between lanes that are known at run time only |
//! | `split` | arrivals at barriers and waits for them |
//! | `masks` | masks, lane by lane |
//! | `numbers` | numbers and counts of barriers, and other arguments that have to be one for all |
//! | `walk` | what single threads come to an operation with |
//! | `entries` | what single threads call a function with |
//! | `evaluate` | what operations give for numbers that are known |
//! | [`members`] | operations of a wave: who takes part, and who was expected to |
//! | [`accesses`] | accesses of memory that take longer than they had to |
//! | [`spins`] | loops in which threads wait for others |
//! | [`spaces`] | accesses that cannot be right where the address leads |
//! | [`loads`] | loads that would take a cheaper way but for one obstacle |
//! | [`launch`] | what could be said of launches so that something is uniform |
//! | `counted` | loops of which all threads make the same number of rounds, where the counter is in a stack slot |
//! | [`races`] | races in workgroup memory |
//! | `rereads` | workgroup memory that is written again too soon |
//! | `rounds` | what decides whether a round of a cycle comes to an operation |
//! | `sites` | where the operations are that rules speak of |
//! | `ways` | ways through the graph, looked for no further than they can lead |
//! | `judged` | findings about operations, and which are looked at again after an edit |
//! | `witness` | threads that decide a branch differently |
//!
//! # Invariants
//!
//! - A kernel without a finding about barriers, that calls nothing unknown and uses no barrier of some threads only, does not hang at a
//!   barrier, in the model in which threads that have ended are not waited for ([`barriers`] has the argument).
//! - An *error* names two threads, found by evaluation, of which one comes to the operation and the other does not; or a number that no launch
//!   fits; or an order of operations that all ways through a function have. Everything else is at most a warning: facts about divergence are upper
//!   bounds.
//! - A function has at most one finding per rule and instruction; they are in the order of the text.

pub mod accesses;
pub mod barriers;
mod counted;
pub mod coverage;
mod entries;
mod evaluate;
mod judged;
pub mod kinds;
pub mod launch;
pub mod loads;
mod masks;
pub mod members;
mod multiples;
mod numbers;
pub mod races;
mod rereads;
mod rounds;
mod sites;
mod sizes;
pub mod spaces;
pub mod spins;
mod split;
mod symbolic;
mod walk;
mod ways;
mod witness;

use phalanx_graph::{Cfg, ControlDependence, Cycles, Dfs, DomTree, Node, PostDomTree};
use phalanx_ir::{GlobalName, InstId};
use phalanx_target::{LaunchFacts, Scope, SourceSet, Target, intrinsics::Role};

use crate::divergence::{Divergence, SourceSets};
use crate::listing::relisted;
use crate::loads::Refusal;
use crate::lower::Code;

pub use accesses::{AccessCost, Symbol, WaveCost};
pub use entries::{CALLS, DEPTH, Entries, entries, passes_one};
pub use judged::{Judged, Notes, Reads, Split, concerns_memory, findings};
pub use kinds::CountFault;
pub use launch::Geometry;
pub use rereads::{Edges, edges};
pub use sites::{Callee, Calls, called, may_be_barrier, may_be_site, own_barriers};
pub use ways::is_undefined;
use witness::Decision;
pub use witness::Witness;

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Good to know.
    Note,
    /// It may be wrong.
    Warning,
    /// It is wrong.
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
        /// What is checked. Codes are stable: one that is no longer in use is not given to another rule.
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

            /// What it is about, in a few words.
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
    /// A vote, shuffle or the like among whoever happens to be there.
    DivergentGroupOperation "PHX005" "divergent-group-operation" "which threads take part depends on divergent control",
    /// An operation that names threads which do not all come to it.
    MissingMembers "PHX006" "missing-members" "the mask names threads that may not take part",
    /// A branch that would be uniform if more were said of launches.
    UnstatedLaunch "PHX007" "unstated-launch" "branch that is uniform for some launches",
    /// A barrier that waits for a number of threads that cannot come.
    WrongBarrierCount "PHX008" "barrier-count" "a barrier waits for a number of threads that cannot come",
    /// Arrivals at a split barrier and waits for it that do not take turns.
    UnpairedBarrier "PHX009" "unpaired-barrier" "arrivals at a barrier and waits for it do not take turns",
    /// A barrier of which threads give different numbers, or counts.
    DifferentBarrierNumbers "PHX013" "barrier-number" "threads come to one barrier with different numbers",
    /// A lane that executes an operation with a mask that does not name it.
    NotInMask "PHX014" "not-in-mask" "a lane is not in its own mask",
    /// Lanes of one operation that come with different masks.
    DifferentMasks "PHX015" "different-masks" "lanes of one mask come with different masks",
    /// A shuffle that reads from a lane that does not take part.
    SourceNotInMask "PHX016" "source-not-in-mask" "a lane reads from one that the mask does not name",
    /// An argument that has to be one for the wave and is not.
    DivergentArgument "PHX017" "divergent-argument" "an argument that has to be one for all lanes differs",
    /// The mask is the result of `activemask` under divergent control.
    ActiveMask "PHX018" "active-mask" "the mask is the set of lanes that are active here",
    /// Lanes of a wave that wait for each other in a loop.
    LanesWait "PHX019" "lanes-wait" "lanes of a wave may wait for each other",
    /// Lanes of a wave that touch global memory far apart.
    UncoalescedAccess "PHX011" "uncoalesced-access" "lanes of a wave access global memory far apart",
    /// Lanes of a wave that meet in one bank of workgroup memory.
    BankConflict "PHX012" "bank-conflict" "lanes of a wave access one bank of workgroup memory",
    /// Between two versions of a module: a barrier that was executed by all threads and no longer is.
    BarrierBecameDivergent "PHX020" "barrier-became-divergent" "a transform brought a barrier under divergent control",
    /// Between two versions: who takes part in an operation of a wave depends on more than before.
    GroupChanged "PHX021" "group-changed" "a transform changed which threads take part",
    /// Between two versions: a barrier no longer keeps apart accesses that it did.
    BarrierMoved "PHX022" "barrier-moved" "a transform removed a barrier, or moved it over an access",
    /// Between two versions: other bytes are in memory at the end, or only the later one faults.
    ResultChanged "PHX023" "result-changed" "a transform changed what a kernel leaves in memory",
    /// Between two versions: threads that part come to an operation before they are together again, on hardware that waits for the immediate post-dominator.
    GroupParted "PHX024" "group-parted" "a transform parts a group on hardware that joins threads at post-dominators",
    /// Two modules of which one is no version of the other.
    NothingInCommon "PHX025" "nothing-in-common" "the modules have no function in common",
    /// Between two versions: something was compared by its control only, or not at all.
    NotExecuted "PHX026" "not-executed" "two versions of a kernel could not be executed to compare them",
    /// A write of memory that does not change.
    ConstantStore "PHX030" "constant-store" "a write of constant memory",
    /// A cast to a space that has nothing of what the pointer leads to.
    ContradictedCast "PHX031" "contradicted-cast" "a cast to a space that the pointer does not lead to",
    /// An address of private memory where other threads read it.
    EscapingPrivate "PHX032" "escaping-private" "the address of private memory is stored where other threads read it",
    /// An access through a pointer that may lead to more than one space.
    MixedSpaces "PHX033" "mixed-spaces" "an access of which no single memory space is known",
    /// Memory that a kernel only reads, and that cannot be taken for such.
    CoherentLoad "PHX040" "coherent-load" "memory that is only read is loaded as if others wrote it",
    /// One address for the wave, and no scalar load.
    LaneByLaneLoad "PHX041" "lane-by-lane-load" "what is one for the wave is loaded by each lane",
    /// A wait for other workgroups, in some workgroups only.
    GridWait "PHX042" "grid-wait" "workgroups wait for others that may not come",
    /// Workgroup memory that is written again before all have read it.
    WrittenTooSoon "PHX043" "written-too-soon" "no barrier between a read and the next write of workgroup memory",
    /// Two threads that access one address of workgroup memory, with no barrier in between.
    WorkgroupRace "PHX050" "workgroup-race" "threads access workgroup memory with no barrier in between",
    /// Two lanes of a wave that do, and that only lockstep would keep in order.
    WaveSynchronous "PHX051" "wave-synchronous" "lanes of a wave rely on lockstep for an order of accesses",
    /// A read of workgroup memory that no thread has written.
    ReadBeforeWritten "PHX052" "read-before-written" "workgroup memory is read that no thread has written",
    /// An access outside of an array.
    OutOfBounds "PHX053" "out-of-bounds" "a thread accesses an array outside of its bounds",
}

impl Rule {
    /// The level that its findings have as a rule: the highest that does not need two threads named.
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
            | Rule::MixedSpaces => Level::Warning,
            Rule::BarrierAfterExit
            | Rule::DivergentGroupOperation
            | Rule::UnstatedLaunch
            | Rule::LanesWait
            | Rule::GridWait
            | Rule::NotExecuted
            | Rule::UncoalescedAccess
            | Rule::BankConflict
            | Rule::CoherentLoad
            | Rule::LaneByLaneLoad => Level::Note,
        }
    }

    /// Whether it says that threads do not come to a barrier.
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

/// Something that a rule has to say about an instruction.
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
    /// What the direction of the branch depends on, of what varies within the scope.
    pub sources: SourceSet,
    /// The function that has the barrier, when the operation is a call of it.
    pub callee: Option<GlobalName>,
    /// The barrier at which threads wait that went the other way; an access through a pointer that is cast wrongly.
    pub other: Option<InstId>,
    /// Two threads that go different ways.
    pub witness: Option<Witness>,
    /// The argument that it is about, where it is about one of a call.
    pub argument: Option<usize>,
    /// What that argument is, where it has to be the same in all threads.
    pub role: Option<Role>,
    /// What threads come with, where that was evaluated.
    pub evaluated: Option<Evaluated>,
    /// Launches for which there is nothing to say.
    pub safe: Vec<Geometry>,
    /// How lanes access memory, where that is what it is about.
    pub access: Option<AccessCost>,
    /// Addresses that lead where they should not, where that is what it is about.
    pub leads: Vec<spaces::Lead>,
    /// Why no launch has the threads that a barrier waits for, where that is what it is about.
    pub fault: Option<CountFault>,
    /// Why a load takes no cheaper way, where that is what it is about.
    pub refusal: Option<Refusal>,
    /// Where two threads access workgroup memory, where that is what it is about.
    pub clash: Option<races::Clash>,
}

impl Finding {
    /// One of which no more is known.
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
            fault: None,
            refusal: None,
            clash: None,
        }
    }
}

/// What was evaluated, of two threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The number of a barrier: two threads, and what each has.
    Number,
    /// The number of threads that a barrier is for: likewise.
    Count,
    /// An argument that has to be one: likewise.
    Argument,
    /// A mask: likewise; of one thread the mask and its lane.
    Mask,
    /// One thread, its mask, and the lane that it reads from.
    Source,
    /// A thread that comes and one that does not, the mask of the first and the lane of the second.
    Absent,
}

/// What threads come to an operation with: a concrete case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evaluated {
    /// Two threads of a workgroup, by their indices; twice the same if it takes only one.
    pub threads: [[u32; 3]; 2],
    /// What was evaluated.
    pub values: [u64; 2],
    /// What that is.
    pub what: What,
}

/// What the checks read of a function.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The function.
    pub code: Code<'a>,
    /// Its blocks and edges, without those to blocks that [nobody comes to](is_undefined).
    pub cfg: &'a Cfg,
    /// A search from the entry; it may follow these edges as well.
    pub dfs: &'a Dfs,
    /// Dominators; likewise.
    pub dom: &'a DomTree,
    /// Post-dominators of that graph.
    pub postdom: &'a PostDomTree,
    /// Control dependence in it.
    pub control: &'a ControlDependence,
    /// Cycles.
    pub cycles: &'a Cycles,
    /// What diverges.
    pub divergence: &'a Divergence,
    /// By block: the sources that its execution depends on.
    pub controlled: &'a SourceSets,
    /// What is known of launches.
    pub launch: &'a LaunchFacts,
    /// By scope, as [`Scope::ALL`] orders them: what varies within it, by what is known of launches. It is asked for at every branch.
    pub varying: [SourceSet; Scope::ALL.len()],
    /// What it runs on.
    pub target: &'a Target,
    /// Whether threads start here, and end where it returns.
    pub is_kernel: bool,
    /// Whether arguments are known to be what callers pass; else anything may come.
    pub callers_are_known: bool,
    /// What is known of a function that is called.
    pub callee: &'a dyn Fn(GlobalName) -> Callee,
    /// What a function that is called does with workgroup memory at its ends.
    pub edges: &'a dyn Fn(GlobalName) -> Edges,
    /// What it depends on whether a thread comes to this function: nothing, in a kernel. It takes a
    /// look at all callers.
    pub called_under: &'a dyn Fn() -> SourceSet,
    /// What the calls of this function are known to pass. It takes a look at all callers.
    pub passed: &'a dyn Passed,
    /// Where it is put down what is read.
    pub notes: Option<&'a Notes>,
}

/// What is asked about calls of a function. Nothing is known by default.
pub trait Passed {
    /// What these threads come with, once for each [way](entries()) to the function that is known.
    fn entries(&self, _threads: &[[u32; 3]], _scope: Scope) -> Vec<Entries> {
        Vec::new()
    }

    /// Whether every call [passes one value](passes_one) for an argument.
    fn is_one(&self, _argument: usize, _scope: Scope) -> bool {
        false
    }
}

impl Facts<'_> {
    fn varying(&self, scope: Scope) -> SourceSet {
        self.varying[scope as usize]
    }

    /// Sources by which threads of a scope part at the end of a block. None where evaluation shows that no two do.
    fn parting(&self, block: Node, scope: Scope) -> SourceSet {
        if !self.cfg.is_branch(block) {
            return SourceSet::EMPTY;
        }
        self.reads_branch(block);
        let sources = self.divergence.terminator(block) & self.varying(scope);
        let are_together = || {
            witness::decision(*self, block, scope) == Decision::Together
                || counted::is_alike(*self, block, scope)
        };
        match sources.is_empty() || !are_together() {
            true => sources,
            false => SourceSet::EMPTY,
        }
    }

    /// Whether the execution of a block depends on something that varies within a scope.
    fn is_parted(&self, block: Node, scope: Scope) -> bool {
        self.reads_control(block);
        self.controlled[block.index()].intersects(self.varying(scope))
    }
}

/// An operation among threads, for comparisons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The call.
    pub inst: InstId,
    /// Its block.
    pub block: Node,
    /// Who is called; empty when that is not said by name.
    pub name: String,
    /// Whether all threads of a workgroup or more wait for each other.
    pub is_barrier: bool,
    /// The threads that it is for.
    pub scope: Scope,
}

/// All operations among threads, calls of functions that may have one included, in the order of the text. O(instructions).
#[must_use]
pub fn operations(code: Code<'_>, calls: Calls<'_>) -> Vec<Operation> {
    let operation = |site: sites::Site| {
        let name = called(code, site.inst).and_then(GlobalName::symbol);
        let scope = match site.kind {
            sites::SiteKind::Barrier { barrier, .. } => barrier.scope,
            sites::SiteKind::Group { .. } => Scope::Wave,
            _ => Scope::Workgroup,
        };
        Operation {
            inst: site.inst,
            block: site.block,
            name: name.map_or_else(
                || sites::named_in_assembly(code, &site, calls),
                |name| code.context.text(name).into_owned(),
            ),
            is_barrier: !matches!(
                site.kind,
                sites::SiteKind::Group { .. } | sites::SiteKind::Unknown
            ),
            scope,
        }
    };
    let all = sites::sites(code, calls).into_iter();
    all.filter(|site| site.kind != sites::SiteKind::Arguments).map(operation).collect()
}

/// Operations of a function that rules are about, in the order of the text. They follow from calls alone, where these stand, and what is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sites(Vec<sites::Site>);

impl Sites {
    /// Those of a function. O(instructions).
    #[must_use]
    pub fn new(code: Code<'_>, calls: Calls<'_>) -> Sites {
        Sites(sites::sites(code, calls))
    }

    /// The same after these instructions have changed. None if it is what it was. See [`relisted`] for the cost.
    #[must_use]
    pub fn after(&self, code: Code<'_>, calls: Calls<'_>, changed: &[InstId]) -> Option<Sites> {
        let look = |inst| sites::sites_at(code, inst, calls).into_iter().collect();
        relisted(code, &self.0, |site| site.inst, changed, look).map(Sites)
    }

    /// Whether no rule is about anything in the function.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
