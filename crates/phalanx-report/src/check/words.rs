//! The sentences of each rule.

use phalanx_analysis::{
    check::{CountFault, Evaluated, Finding, Geometry, Level, Rule, What as Evaluates, Witness},
    loads::Refusal,
    spaces::SpaceSet,
};
use phalanx_target::{
    Scope, SourceSet,
    intrinsics::{Barrier, BarrierPhase, Role},
};

use super::{access, memory};
use crate::explain::words::{self as sources, Dialect};
use crate::spaces::words as memories;

/// The operation that a diagnostic is about.
pub(super) struct What {
    /// The subject of a sentence.
    pub(super) text: String,
    /// Whether it is the arrival or the wait of a split barrier.
    pub(super) phase: Option<BarrierPhase>,
    /// The program's name for a value that is known at run time only.
    pub(super) symbol: Option<String>,
}

impl What {
    /// The subject for a barrier.
    pub(super) fn barrier(barrier: Option<Barrier>) -> What {
        let Some(barrier) = barrier else { return What::named("the barrier".to_owned()) };
        let of = match (barrier.scope, barrier.partial) {
            (Scope::Cluster | Scope::Grid, _) => format!(" of {}", sources::of(barrier.scope)),
            (_, true) => " of some threads".to_owned(),
            (_, false) => String::new(),
        };
        let text = match barrier.phase {
            BarrierPhase::Both => format!("the barrier{of}"),
            BarrierPhase::Arrive => format!("the arrival at the barrier{of}"),
            BarrierPhase::Wait => format!("the wait at the barrier{of}"),
        };
        What { text, phase: Some(barrier.phase), symbol: None }
    }

    /// The subject for any other operation.
    pub(super) fn named(text: String) -> What {
        What { text, phase: None, symbol: None }
    }
}

/// The sentence that a diagnostic opens with. `what` is the operation.
pub(super) fn message(finding: &Finding, what: &What) -> String {
    let what = &*what.text;
    let threads = sources::threads(finding.scope.name());
    let is_evaluated = finding.evaluated.is_some() && finding.level == Level::Error;
    let is_sure = is_evaluated || finding.witness.is_some_and(|witness| witness.is_certain);
    let may = if is_sure { "" } else { "may " };
    match finding.rule {
        Rule::DivergentBarrier => match is_sure {
            true => format!("{what} is not executed by all {threads}"),
            false => format!("{what} may not be executed by all {threads}"),
        },
        Rule::BarrierInDivergentLoop => {
            format!("{what} is in a loop that {threads} {may}leave in different iterations")
        }
        Rule::BarrierAfterExit => {
            format!("{what} is executed after some {threads} may have returned")
        }
        Rule::UnmatchedBarriers => {
            format!("{threads} {may}wait at different barriers: {what} is one of them")
        }
        Rule::DivergentGroupOperation => {
            format!("which {threads} take part in {what} depends on divergent control")
        }
        Rule::MissingMembers => match is_sure {
            true => format!("the mask of {what} includes lanes that do not execute it"),
            false => format!("the mask of {what} includes lanes that may not execute it"),
        },
        Rule::UnstatedLaunch => {
            format!("{threads} part at this branch, but not if more were said of launches")
        }
        Rule::WrongBarrierCount => match finding.fault {
            Some(CountFault::NoWholeWaves { threads, width }) => {
                format!("{what} waits for {threads} threads, which are no whole waves of {width}")
            }
            Some(CountFault::TooMany { threads, most }) => {
                format!("{what} waits for {threads} threads, and a workgroup has {most} at most")
            }
            Some(CountFault::TooFew { threads, come }) => {
                format!("{what} waits for {threads} threads, and {come} come at most")
            }
            None => format!("{what} waits for a number of threads that cannot come"),
        },
        Rule::UnpairedBarrier => {
            let verb = if finding.level == Level::Error { "is" } else { "may be" };
            format!("{what} {verb} out of turn")
        }
        Rule::DifferentBarrierNumbers => {
            let verb = if finding.level == Level::Error { "come" } else { "may come" };
            let with = match finding.evaluated.map(|evaluated| evaluated.what) {
                Some(Evaluates::Count) => "counts",
                _ => "numbers",
            };
            format!("{threads} {verb} to {what} with different {with}")
        }
        Rule::NotInMask => match finding.level {
            Level::Error => format!("a lane that executes {what} is not in its mask"),
            _ => format!("a lane that may execute {what} is not in its mask"),
        },
        Rule::DifferentMasks => format!("lanes execute {what} together with different masks"),
        Rule::SourceNotInMask => {
            let verb = if finding.level == Level::Error { "reads" } else { "may read" };
            format!("a lane {verb} by {what} from one that is not in its mask")
        }
        Rule::DivergentArgument => {
            let verb = if finding.level == Level::Error { "differs" } else { "may differ" };
            let (role, of) = (of_role(finding), sources::of(finding.scope));
            format!("the {role} of {what} {verb} within {of}")
        }
        Rule::ActiveMask => format!("the mask of {what} is the set of lanes that are active here"),
        Rule::LanesWait => "lanes of a wave may wait for each other".to_owned(),
        Rule::GridWait => "workgroups wait here for others that may not come".to_owned(),
        Rule::WrittenTooSoon => {
            "workgroup memory may be written again before all waves have read it".to_owned()
        }
        Rule::WorkgroupRace
        | Rule::WaveSynchronous
        | Rule::ReadBeforeWritten
        | Rule::OutOfBounds
        | Rule::LostIndex
        | Rule::LostGroup => memory::message(finding, what),
        Rule::UncoalescedAccess | Rule::BankConflict => {
            // A distance that is known at run time only may be small.
            let is_symbolic = finding.access.is_some_and(|cost| cost.symbol.is_some());
            let may = if is_symbolic { "may " } else { "" };
            match finding.rule {
                Rule::BankConflict => {
                    format!("lanes of a wave {may}access one bank of workgroup memory")
                }
                _ => format!("lanes of a wave {may}access global memory far apart"),
            }
        }
        Rule::SameAddressAtomic => "lanes of a wave update one address".to_owned(),
        Rule::PendingCopy => {
            "memory is accessed while a copy in the background may still go on".to_owned()
        }
        Rule::BarrierBecameDivergent => {
            format!("{what} was executed by all {threads}, and may no longer be")
        }
        Rule::GroupChanged => {
            let than = if finding.level == Level::Note { "less" } else { "more" };
            format!("which {threads} take part in {what} depends on {than} than before")
        }
        Rule::GroupParted => {
            format!("{threads} may come to {what} apart, on hardware that joins them late")
        }
        Rule::BarrierMoved => "no barrier keeps these accesses apart any more".to_owned(),
        Rule::ResultChanged => "the kernel leaves other bytes in memory".to_owned(),
        Rule::NothingInCommon => "the modules have no function in common".to_owned(),
        Rule::NotExecuted => "the two versions could not be executed".to_owned(),
        Rule::ConstantStore => "constant memory is written".to_owned(),
        Rule::ContradictedCast => {
            format!(
                "{what} is cast to a space that it does not lead to: it is in {}",
                led(finding, 0)
            )
        }
        Rule::EscapingPrivate => {
            format!("the address of private memory is stored in {}", led(finding, 1))
        }
        Rule::MixedSpaces => match finding.level {
            Level::Error => format!("{what} may lead to {}", led(finding, 0)),
            _ => format!("nothing is known of where {what} leads"),
        },
        Rule::FixedAddress => match (finding.address, finding.level) {
            (Some(0) | None, _) => "a null pointer is accessed".to_owned(),
            (Some(bytes), Level::Error) => {
                format!("a null pointer is accessed: byte {bytes} of what it leads to")
            }
            (Some(number), _) => format!("the address {number:#x} is accessed"),
        },
        Rule::CoherentLoad => "nothing here writes this memory, but it may be written".to_owned(),
        Rule::LaneByLaneLoad => "each lane loads what is one for the wave".to_owned(),
    }
}

/// The role of an argument that must be equal in all threads.
fn of_role(finding: &Finding) -> &'static str {
    finding.role.map_or("argument", Role::text)
}

/// The memories that an address of a finding may point to.
fn led(finding: &Finding, at: usize) -> String {
    memories(finding.leads.get(at).map_or(SpaceSet::EMPTY, |lead| lead.memories))
}

/// The label at the operation.
pub(super) fn label(finding: &Finding, what: &What) -> String {
    if let Some(Witness { comes, stays_away, .. }) = finding.witness {
        let verb = if finding.rule == Rule::BarrierInDivergentLoop { "leaves" } else { "does not" };
        return format!(
            "thread {} comes here, thread {} {verb}{}",
            index(comes),
            index(stays_away),
            if verb == "leaves" { " the loop" } else { "" }
        );
    }
    if let Some(cost) = finding.access {
        return access::label(finding.rule, cost, what.symbol.as_deref());
    }
    if let Some(evaluated) = finding.evaluated {
        return of_threads(evaluated);
    }
    match finding.rule {
        Rule::DivergentBarrier | Rule::BarrierBecameDivergent
            if what.phase == Some(BarrierPhase::Arrive) =>
        {
            "those that do not come here may be waited for"
        }
        Rule::DivergentBarrier | Rule::BarrierBecameDivergent => {
            "some may wait here for others that do not come"
        }
        Rule::BarrierInDivergentLoop => "some may wait here for others that have left the loop",
        Rule::BarrierAfterExit => "those that are left wait here",
        Rule::UnmatchedBarriers => "some may wait here, and others elsewhere",
        Rule::DivergentGroupOperation | Rule::GroupChanged => "among those that come here together",
        Rule::GroupParted => "each side of the branch may execute this by itself",
        Rule::BarrierMoved | Rule::ResultChanged | Rule::NothingInCommon | Rule::NotExecuted => "",
        Rule::MissingMembers => "all that the mask names are expected here",
        Rule::WrongBarrierCount => "those that come wait for ever",
        Rule::DifferentBarrierNumbers => "those with one number wait for those with another",
        Rule::NotInMask => "who executes it has to be named",
        Rule::DifferentMasks => "all that are named have to come with one mask",
        Rule::SourceNotInMask => "the result is undefined",
        Rule::DivergentArgument => "what it does is undefined",
        Rule::ActiveMask => "others that would come by the program may be missing",
        Rule::LanesWait => "who has left this loop may have to wait for those who are in it",
        Rule::GridWait => "the others are waited for whether they come or not",
        Rule::WrittenTooSoon => "one wave may read this after another has written it again",
        Rule::WorkgroupRace
        | Rule::WaveSynchronous
        | Rule::ReadBeforeWritten
        | Rule::OutOfBounds
        | Rule::LostIndex
        | Rule::LostGroup => return memory::label(finding, &what.text),
        Rule::UnpairedBarrier => match what.phase {
            Some(BarrierPhase::Wait) => "no thread arrived since the last wait",
            _ => "no thread waited since the last arrival",
        },
        Rule::PendingCopy => "no thread has waited for the copy",
        Rule::UncoalescedAccess | Rule::BankConflict | Rule::SameAddressAtomic => {
            "slower than it had to be"
        }
        Rule::UnstatedLaunch => "divergent as far as is known",
        Rule::ConstantStore => "this memory does not change during a launch",
        Rule::ContradictedCast => match finding.other {
            Some(_) => "an access through the result is undefined",
            None => "nothing can be accessed through the result",
        },
        Rule::EscapingPrivate => "in the hands of another thread it leads elsewhere",
        Rule::MixedSpaces => "no single space has all of it",
        Rule::FixedAddress => match finding.level {
            Level::Error => "no object is at this address",
            _ => "no object is known to be at this address",
        },
        Rule::CoherentLoad => "no `ld.global.nc`",
        Rule::LaneByLaneLoad => "no `s_load`",
    }
    .to_owned()
}

/// The evaluated values, as a sentence.
fn of_threads(Evaluated { threads, values: [first, second], what }: Evaluated) -> String {
    let [one, other] = threads.map(index);
    match what {
        Evaluates::Mask if threads[0] == threads[1] => {
            format!("thread {one} is lane {second}, and its mask is 0x{first:08x}")
        }
        Evaluates::Mask => format!(
            "thread {one} comes with the mask 0x{first:08x}, thread {other} with 0x{second:08x}"
        ),
        Evaluates::Source => {
            format!("thread {one} reads from lane {second}, and its mask is 0x{first:08x}")
        }
        Evaluates::Absent => format!(
            "thread {one} comes with the mask 0x{first:08x}, thread {other}, lane {second}, does not come"
        ),
        Evaluates::Count => {
            format!("thread {one} comes with a count of {first}, thread {other} with {second}")
        }
        Evaluates::Number | Evaluates::Argument => {
            format!("thread {one} comes with {first}, thread {other} with {second}")
        }
    }
}

/// The label at the branch that separates threads.
pub(super) fn parting(finding: &Finding, sources: SourceSet, dialect: Dialect) -> String {
    let names: Vec<&str> = sources.iter().map(|one| sources::source(one, dialect)).collect();
    let how = match finding.rule {
        Rule::BarrierAfterExit => "some return after this",
        _ => "threads part here",
    };
    format!("{how}: the way depends on {}", list(&names))
}

/// The label at a call where threads call different functions.
pub(super) fn choice(sources: SourceSet, dialect: Dialect) -> String {
    let names: Vec<&str> = sources.iter().map(|one| sources::source(one, dialect)).collect();
    format!("threads may call different functions here: which one depends on {}", list(&names))
}

/// `a, b and c`
fn list(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The help for a barrier that threads skip by leaving the kernel.
pub(super) const LEAVES: &str = "the threads that skip it leave the kernel: current hardware does \
     not wait for them, but CUDA and OpenCL leave it undefined";

/// What could be done.
pub(super) fn help(finding: &Finding) -> Vec<String> {
    let threads = sources::threads(finding.scope.name());
    let (come, rounds, one);
    let remedy = match finding.rule {
        Rule::DivergentBarrier
        | Rule::BarrierInDivergentLoop
        | Rule::BarrierAfterExit
        | Rule::UnmatchedBarriers
            if is_of_waves(finding) =>
        {
            one = format!(
                "let all {threads} read one value: with a barrier between the read and the next write, or handed on by one of them through workgroup memory"
            );
            &*one
        }
        Rule::DivergentBarrier | Rule::BarrierBecameDivergent => {
            come = format!(
                "move it to where all {threads} come, and leave only the rest under the condition"
            );
            &*come
        }
        Rule::BarrierInDivergentLoop => {
            rounds = format!(
                "let all {threads} make the same number of rounds, and guard the work in a round instead"
            );
            &*rounds
        }
        Rule::WrongBarrierCount => {
            "state the number of threads that come, arriving ones included: a multiple of the wave's width"
        }
        Rule::UnpairedBarrier => {
            "on every way through the kernel, let each arrival be followed by one wait before the next arrival"
        }
        Rule::DifferentBarrierNumbers => {
            "let all threads that have to wait for each other come with one number and one count"
        }
        Rule::NotInMask => "let the mask of each lane name that lane, or let it not come",
        Rule::DifferentMasks => {
            "let all lanes that a mask names come with that mask: lanes that work by themselves have masks without a lane in common"
        }
        Rule::SourceNotInMask => "read from a lane of the mask, or name that lane and let it come",
        Rule::DivergentArgument => match (finding.role, finding.scope) {
            (Some(Role::Lane), Scope::Wave) => {
                "let all lanes have one value, by that of the first for one, or use a shuffle"
            }
            (_, Scope::Wave) => "let all lanes have one value, by that of the first for one",
            _ => "let all threads have one value",
        },
        Rule::ActiveMask => "compute the mask before the branch, with a ballot over its condition",
        Rule::LanesWait => {
            "do what is done under the lock, and release it, within the loop; or let one lane of each wave take it"
        }
        Rule::GridWait => "let all workgroups come here, or wait for as many as do",
        Rule::WrittenTooSoon => {
            "put a barrier between the read and the next write, or let the next round write elsewhere"
        }
        Rule::WorkgroupRace
        | Rule::WaveSynchronous
        | Rule::ReadBeforeWritten
        | Rule::OutOfBounds
        | Rule::LostIndex
        | Rule::LostGroup => return memory::help(finding),
        Rule::UnmatchedBarriers => "let both ways meet in one barrier",
        Rule::MissingMembers => {
            "compute the mask before the branch, with a ballot over its condition, or move the operation out of it"
        }
        Rule::BarrierAfterExit => {
            "OpenCL, SPIR-V and CUDA before compute capability 7.0 want all threads at a barrier: keep threads without work until the end"
        }
        Rule::UncoalescedAccess => {
            "let lanes that follow each other access what follows each other: exchange the loops, or go through workgroup memory"
        }
        Rule::BankConflict => {
            "make rows one element longer than they have to be, so that columns go through all banks"
        }
        Rule::PendingCopy => {
            "wait first: `wait_group_events` of its event; `cp.async.wait_all` and a barrier in CUDA"
        }
        Rule::SameAddressAtomic => {
            "let lanes sum up among themselves first (`__reduce_add_sync`, `sub_group_reduce_add`, shuffles), and one of them update memory"
        }
        Rule::ConstantStore => "write to a variable of device memory, or let the host do it",
        Rule::ContradictedCast => "cast to the space that it leads to, or test it first",
        Rule::EscapingPrivate => {
            "store the value, or let the object be in workgroup or device memory"
        }
        Rule::MixedSpaces => {
            "make a copy of the code for each space, or let the pointer come from one of them"
        }
        Rule::FixedAddress => "access an object of the program, or let the host pass the address",
        Rule::CoherentLoad | Rule::LaneByLaneLoad => finding.refusal.map_or("", unblock),
        Rule::GroupParted => {
            "let all ways to the operation lead through the block where threads are together again"
        }
        Rule::DivergentGroupOperation
        | Rule::UnstatedLaunch
        | Rule::GroupChanged
        | Rule::BarrierMoved
        | Rule::ResultChanged
        | Rule::NothingInCommon
        | Rule::NotExecuted => "",
    };
    let mut help: Vec<String> = Vec::new();
    if !remedy.is_empty() {
        help.push(remedy.to_owned());
    }
    let safe: Vec<String> = finding.safe.iter().map(geometry).collect();
    if !safe.is_empty() {
        let what = match (finding.rule, finding.scope) {
            (Rule::UnstatedLaunch, _) => "uniform if",
            (Rule::NotInMask, _) => "nothing is wrong if",
            (_, Scope::Wave) => "all lanes of a wave go one way if",
            _ => "nothing is wrong if",
        };
        help.push(format!("{what} {}", safe.join(", or ")));
    }
    help
}

/// Whether the only known difference is that waves may read different values.
fn is_of_waves(finding: &Finding) -> bool {
    finding.scope == Scope::Workgroup && finding.sources == SourceSet::OPAQUE_WAVE
}

/// How to remove an obstacle.
fn unblock(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Aliased(_) => {
            "if no other pointer of the launch leads to what is written, declare it `const ... *__restrict__`"
        }
        Refusal::Escapes { .. } => "do not store the pointer, or pass it to code that is not known",
        Refusal::Visible(_) => "make the variable `static`, or `__constant__`",
        Refusal::Clobbered(_) | Refusal::Acquire(_) => {
            "load it before that and keep the value, or declare the argument `const ... restrict` if nothing is written there"
        }
        Refusal::Misaligned { .. } => "align the address to four bytes",
        Refusal::Divergent(_) => "compute the address from what all lanes share, or broadcast it",
        _ => "",
    }
}

fn geometry(geometry: &Geometry) -> String {
    let axes = ["x", "y", "z"];
    match geometry {
        Geometry::RowsOfWaves(width) => {
            format!("every workgroup has a multiple of {width} threads along x")
        }
        Geometry::OneAlong(dimensions) => {
            let names: Vec<&str> =
                axes.into_iter().zip(dimensions).filter(|(_, one)| **one).map(|(n, _)| n).collect();
            format!("every workgroup has one thread along {}", list(&names))
        }
        Geometry::OneWave(width) => format!("no workgroup has more than {width} threads: one wave"),
        Geometry::AtMost { axis, threads } => {
            format!("no workgroup has more than {threads} threads along {}", axes[*axis % 3])
        }
    }
}

pub(super) fn index([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}
