//! What barriers show about branches, held against execution: runs in which a barrier is executed
//! by some threads only do not count.

use crate::support;

use phalanx_core::SourceSet;
use phalanx_core::barriers::BarrierModel;
use phalanx_core::barriers::invariant_branches;
use phalanx_core::divergence::{Rules, solve};
use phalanx_graph::{BitSet, Node, PostDomTree};
use phalanx_testing::abstract_oracle::{Effort, hierarchies, observe_with_barriers};
use phalanx_testing::generate::{Options, program};
use support::Case;

#[derive(Default, Debug)]
struct Tally {
    runs: u64,
    claims: usize,
    /// Claims about branches that diverge when wrong runs count as well.
    with_content: usize,
    wrong: usize,
    /// Values that are uniform by the assumption only.
    values: usize,
    wrong_values: usize,
}

type Claims = fn(&Case, &PostDomTree, &[Node], BarrierModel) -> Vec<Node>;

fn sound(case: &Case, postdom: &PostDomTree, barriers: &[Node], model: BarrierModel) -> Vec<Node> {
    invariant_branches(&case.cfg, postdom, &case.cycles, barriers, model)
}

/// Kong's: every branch on which a barrier is control dependent, directly or not.
fn iterated(case: &Case, postdom: &PostDomTree, barriers: &[Node], _: BarrierModel) -> Vec<Node> {
    let cfg = &case.cfg;
    let depends = |block: Node, branch: Node| {
        cfg.successors(branch).iter().any(|&s| postdom.post_dominates(block, s))
            && !postdom.strictly_post_dominates(block, branch)
    };
    let mut found: Vec<Node> = Vec::new();
    let mut work: Vec<Node> = barriers.to_vec();
    while let Some(block) = work.pop() {
        for branch in cfg.nodes().filter(|&b| cfg.is_branch(b)) {
            if depends(block, branch) && !found.contains(&branch) {
                found.push(branch);
                work.push(branch);
            }
        }
    }
    found
}

fn check(seed: u64, model: BarrierModel, claims: Claims, tally: &mut Tally) {
    let case = Case::new(program(seed, Options::default()));
    let postdom = PostDomTree::new(&case.cfg);
    let blocks: Vec<Node> = case.cfg.nodes().collect();
    // One or two blocks, not the entry.
    let pick = |salt: u64| blocks[1 + (seed.wrapping_mul(salt) >> 7) as usize % (blocks.len() - 1)];
    let mut barriers = vec![pick(0x9e37_79b9)];
    if seed.is_multiple_of(3) {
        barriers.push(pick(0x85eb_ca6b));
    }
    let claimed = claims(&case, &postdom, &barriers, model);
    if claimed.is_empty() {
        return;
    }
    let mut set = BitSet::new(blocks.len());
    for barrier in &barriers {
        set.insert(barrier.index());
    }
    let plain = solve(case.flow(), &case.table, Rules::Precise);
    let mut table = case.table.clone();
    for &branch in &claimed {
        table.assume_uniform_in_group(branch);
    }
    let assumed = solve(case.flow(), &table, Rules::Precise);
    let effort = Effort { runs: 120, threads: 3, fuel: 40 };
    let lenient = model == BarrierModel::Lenient;
    tally.claims += claimed.len();
    for cycles in hierarchies(&case.cfg, seed, 4) {
        let (seen, runs) = observe_with_barriers(&case.program, &cycles, effort, &set, lenient);
        tally.runs += runs;
        let none = BitSet::new(blocks.len());
        let (all, _) = observe_with_barriers(&case.program, &cycles, effort, &none, lenient);
        for branch in &claimed {
            tally.wrong += usize::from(seen.terminators.contains(branch.index()));
            tally.with_content += usize::from(all.terminators.contains(branch.index()));
        }
        for value in case.table.values() {
            if !plain.value(value).intersects(SourceSet::X)
                || assumed.value(value).intersects(SourceSet::X)
            {
                continue;
            }
            tally.values += 1;
            tally.wrong_values += usize::from(seen.values.contains(value.index()));
        }
    }
}

/// A claim about a branch with three ways that this program refutes was made once: all threads or
/// none go to the barrier, but those that do not can go two ways.
#[test]
fn a_switch_that_once_failed() {
    let mut tally = Tally::default();
    check(648, BarrierModel::Strict, sound, &mut tally);
    assert_eq!(tally.wrong, 0);
}

fn run(seeds: u64, model: BarrierModel, claims: Claims) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..seeds {
        check(seed, model, claims, &mut tally);
    }
    tally
}

#[test]
fn no_claim_is_refuted() {
    for model in [BarrierModel::Strict, BarrierModel::Lenient] {
        let tally = run(500, model, sound);
        assert_eq!((tally.wrong, tally.wrong_values), (0, 0), "{model:?}");
        assert!(tally.runs > 1000 && tally.with_content > 8 && tally.values > 20, "{tally:?}");
    }
}

/// The rule of the paper is refuted, so the test above can fail.
#[test]
fn iterated_control_dependence_is_refuted() {
    assert!(run(100, BarrierModel::Strict, iterated).wrong > 0);
}

/// What holds when all threads must come does not when those that ended do not count.
#[test]
fn the_strict_rule_is_refuted_in_the_lenient_model() {
    let strict: Claims =
        |case, postdom, barriers, _| sound(case, postdom, barriers, BarrierModel::Strict);
    assert!(run(100, BarrierModel::Lenient, strict).wrong > 0);
}
