//! What is said of each rule.

use phalanx_analysis::{
    check::{AccessCost, Finding, Geometry, Rule, Witness},
    loads::Refusal,
};
use phalanx_target::{Scope, SourceSet};

use crate::explain::words as sources;

/// The sentence that a diagnostic opens with. `what` is the operation.
pub(super) fn message(finding: &Finding, what: &str) -> String {
    let threads = sources::threads(finding.scope.name());
    let is_sure = finding.witness.is_some_and(|witness| witness.is_certain);
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
            true => format!("{what} names {threads} that do not come to it"),
            false => format!("{what} names {threads} that may not come to it"),
        },
        Rule::UnstatedLaunch => {
            format!("{threads} part at this branch, but not if more were said of launches")
        }
        Rule::UncoalescedAccess => "lanes of a wave access global memory far apart".to_owned(),
        Rule::BankConflict => "lanes of a wave access one bank of workgroup memory".to_owned(),
        Rule::BarrierBecameDivergent => {
            format!("{what} was executed by all {threads}, and may no longer be")
        }
        Rule::GroupChanged => {
            format!("which {threads} take part in {what} depends on more than before")
        }
        Rule::CoherentLoad => "nothing here writes this memory, but it may be written".to_owned(),
        Rule::LaneByLaneLoad => "each lane loads what is one for the wave".to_owned(),
    }
}

/// What stands at the operation.
pub(super) fn label(finding: &Finding) -> String {
    if let Some(Witness { comes, stays_away, .. }) = finding.witness {
        let verb = if finding.rule == Rule::BarrierInDivergentLoop { "leaves" } else { "does not" };
        return format!(
            "thread {} comes here, thread {} {verb}{}",
            index(comes),
            index(stays_away),
            if verb == "leaves" { " the loop" } else { "" }
        );
    }
    if let Some(AccessCost { stride, size, count }) = finding.access {
        return match finding.rule {
            Rule::BankConflict => format!(
                "{count} lanes at a time want one bank: each is {stride} bytes from the next"
            ),
            _ => format!(
                "{size} bytes per lane, {stride} bytes from one to the next: {count} sectors of 32 bytes"
            ),
        };
    }
    match finding.rule {
        Rule::DivergentBarrier | Rule::BarrierBecameDivergent => {
            "some may wait here for others that do not come"
        }
        Rule::BarrierInDivergentLoop => "some may wait here for others that have left the loop",
        Rule::BarrierAfterExit => "those that are left wait here",
        Rule::UnmatchedBarriers => "some may wait here, and others elsewhere",
        Rule::DivergentGroupOperation | Rule::GroupChanged => "among those that come here together",
        Rule::MissingMembers => "all that the mask names are expected here",
        Rule::UncoalescedAccess | Rule::BankConflict => "slower than it had to be",
        Rule::UnstatedLaunch => "divergent as far as is known",
        Rule::CoherentLoad => "no `ld.global.nc`",
        Rule::LaneByLaneLoad => "no `s_load`",
    }
    .to_owned()
}

/// What is said where threads part.
pub(super) fn parting(finding: &Finding, sources: SourceSet) -> String {
    let names: Vec<&str> = sources.iter().map(sources::source).collect();
    let how = match finding.rule {
        Rule::BarrierAfterExit => "some return after this",
        _ => "threads part here",
    };
    format!("{how}: the way depends on {}", list(&names))
}

/// `a, b and c`
fn list(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What could be done.
pub(super) fn help(finding: &Finding) -> Vec<String> {
    let remedy = match finding.rule {
        Rule::DivergentBarrier | Rule::BarrierBecameDivergent => {
            "move the barrier to where all threads of the workgroup come, and leave only the rest under the condition"
        }
        Rule::BarrierInDivergentLoop => {
            "let all threads of the workgroup make the same number of rounds, and guard the work in a round instead"
        }
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
        Rule::CoherentLoad | Rule::LaneByLaneLoad => finding.refusal.map_or("", unblock),
        Rule::DivergentGroupOperation | Rule::UnstatedLaunch | Rule::GroupChanged => "",
    };
    let mut help: Vec<String> = Vec::new();
    if !remedy.is_empty() {
        help.push(remedy.to_owned());
    }
    let safe: Vec<String> = finding.safe.iter().map(geometry).collect();
    if !safe.is_empty() {
        let what = match (finding.rule, finding.scope) {
            (Rule::UnstatedLaunch, _) => "uniform if",
            (_, Scope::Wave) => "all lanes of a wave go one way if",
            _ => "nothing is wrong if",
        };
        help.push(format!("{what} {}", safe.join(", or ")));
    }
    help
}

/// What takes an obstacle away.
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

fn index([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}
