//! LLVM's rules without fixes give what `opt-22` prints, on random functions.

use crate::support;

use std::collections::BTreeSet;

use phalanx_core::divergence::{LlvmFixes, Rules, UserKind, solve};
use phalanx_graph::{CycleId, Node};
use phalanx_testing::abstract_program::AbstractProgram;
use phalanx_testing::generate::{Options, program};
use phalanx_testing::llvm_tools;
use support::{Case, Printed, run_opt};

/// Programs from a seed on.
fn batch(seed: u64, count: u64, options: Options) -> Vec<AbstractProgram> {
    (seed..seed + count).map(|seed| program(seed, options)).collect()
}

/// Our answer in the form of LLVM's.
fn ours(case: &Case) -> Printed {
    let result = solve(case.flow(), &case.table, Rules::Llvm(LlvmFixes::NONE));
    let cycle = |c: CycleId| {
        let name = |node: Node| format!("b{node}");
        let blocks: BTreeSet<String> = case.cycles.blocks(c).iter().map(|b| name(*b)).collect();
        (name(case.cycles.header(c)), blocks)
    };
    let user = |user: UserKind| match user {
        UserKind::Value(value) => format!("%v{}", value.raw()),
        UserKind::Terminator(_) => "terminator".to_owned(),
    };
    let values = case.table.values().filter(|v| !result.value(*v).is_empty());
    let blocks = case.cfg.nodes().filter(|b| !result.terminator(*b).is_empty());
    Printed {
        values: values.map(|v| v.raw()).collect(),
        terminators: blocks.map(Node::raw).collect(),
        assumed: result.assumed_divergent_cycles().iter().map(|(c, _)| cycle(*c)).collect(),
        divergent_exits: result
            .cycles_with_divergent_exit()
            .iter()
            .map(|(c, _)| cycle(*c))
            .collect(),
        temporal: result
            .temporal_uses()
            .iter()
            .map(|t| (format!("%v{}", t.value.raw()), user(t.user.kind()), cycle(t.cycle).0))
            .collect(),
    }
}

/// Whether LLVM's answer depends on the order in which it finds things: an operation that is always
/// uniform stands in a cycle that is assumed divergent. Uses outside diverge exactly if LLVM
/// notices the cycle's divergent exits before it assumes the cycle divergent.
fn is_order_dependent(case: &Case, ours: &Printed, theirs: &Printed) -> bool {
    let blocks = |side: &Printed| -> BTreeSet<String> {
        side.assumed.iter().flat_map(|(_, blocks)| blocks.iter().cloned()).collect()
    };
    let fixed = |v: &phalanx_core::Value| case.table.is_fixed(*v);
    let (ours, theirs) = (blocks(ours), blocks(theirs));
    let mut names = case.table.values().filter(fixed).map(|v| format!("b{}", case.table.block(v)));
    names.any(|name| ours.contains(&name) && theirs.contains(&name))
}

/// Compares all but the lists that depend on the order in which LLVM happens to find things.
///
/// Counts functions, irreducible ones, differing lists of assumed cycles, differing lists about
/// exits, and answers that depend on the order.
fn check(programs: Vec<AbstractProgram>) -> [usize; 5] {
    let Some(opt) = llvm_tools::require("opt") else { return [0; 5] };
    let printed = run_opt(&opt, &programs);
    let mut counts = [0; 5];
    for (i, program) in programs.into_iter().enumerate() {
        let case = Case::new(program);
        let (mut ours, mut theirs) = (ours(&case), printed[&i].clone());
        for side in [&mut ours, &mut theirs] {
            let named = std::mem::take(&mut side.temporal).into_iter();
            side.temporal = named
                .map(|(v, u, c)| (v, if u.starts_with('%') { u } else { "terminator".into() }, c))
                .collect();
        }
        counts[0] += 1;
        counts[1] += usize::from(!case.cycles.all_reducible());
        if (&ours.values, &ours.terminators) != (&theirs.values, &theirs.terminators)
            && is_order_dependent(&case, &ours, &theirs)
        {
            counts[4] += 1;
            continue;
        }
        let context = || format!("function {i}\n{}", case.program.to_llvm("f"));
        assert_eq!(ours.values, theirs.values, "values of {}", context());
        assert_eq!(ours.terminators, theirs.terminators, "terminators of {}", context());
        counts[2] += usize::from(ours.assumed != theirs.assumed);
        counts[3] += usize::from(
            ours.assumed.is_empty()
                && (ours.divergent_exits != theirs.divergent_exits
                    || ours.temporal != theirs.temporal),
        );
    }
    counts
}

#[test]
fn random_functions_as_opt_22() {
    check(batch(1, 300, Options::default()));
    check(batch(1, 100, Options { undef: true, ..Options::default() }));
    check(batch(1, 60, Options { blocks: 40, ..Options::default() }));
}

/// Says on standard error what a campaign found, past the capture of the test harness.
fn report(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "campaign: {text}");
}

/// Seeds of its own, as many as `PHALANX_CAMPAIGN` says: few by default, 100,000 and more before a
/// release.
#[test]
fn campaign() {
    let count: u64 =
        std::env::var("PHALANX_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let first: u64 =
        std::env::var("PHALANX_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut total = [0; 5];
    for start in (first..first + count).step_by(500) {
        let blocks = if start % 2000 == 0 { 30 } else { 11 };
        let options = Options { undef: start % 1000 == 0, blocks, ..Options::default() };
        let counts = check(batch(start, 500.min(first + count - start), options));
        total.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
    }
    let [functions, irreducible, assumed, lists, order] = total;
    report(&format!(
        "{functions} functions ({irreducible} irreducible) agree; \
         assumed lists differ in {assumed}, exit lists in {lists}; {order} depend on order"
    ));
}
