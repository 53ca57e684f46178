//! Chains of causes on random programs: one exists exactly when the fact holds, every link holds by
//! itself, and no chain is shorter.

use crate::support;

use phalanx_core::SourceSet;
use phalanx_core::affect::{User, UserKind};
use phalanx_core::control::control_divergence;
use phalanx_core::divergence::{Rules, solve};
use phalanx_core::explain::check::Implications;
use phalanx_core::explain::{Cause, Derivations, Fact};
use phalanx_graph::PostDomTree;
use phalanx_testing::generate::{Options, program};
use support::Case;

#[derive(Default, Debug)]
struct Seen {
    chains: usize,
    links: usize,
    joins: usize,
    without_ways: usize,
    temporal: usize,
    assumed: usize,
    control: usize,
    longest: usize,
    irreducible: usize,
}

const KINDS: [SourceSet; 4] =
    [SourceSet::X, SourceSet::Y, SourceSet::OPAQUE_THREAD, SourceSet::LANE];

fn check(seed: u64, seen: &mut Seen) {
    let source = |value: u32| KINDS[value as usize % KINDS.len()];
    let case = Case::with_sources(program(seed, Options::default()), source);
    let (flow, table) = (case.flow(), &case.table);
    let is_reducible = case.cycles.all_reducible();
    seen.irreducible += usize::from(!is_reducible);
    let answer = solve(flow, table, Rules::Precise);
    let postdom = PostDomTree::new(&case.cfg);
    let control = control_divergence(&case.cfg, &postdom, answer.terminators());
    let derivations = Derivations::new(flow, table, &answer);
    let twin = Implications::new(flow, table, &answer, is_reducible);
    for sources in KINDS.into_iter().chain([SourceSet::ALL]) {
        let blocks = twin.block_lengths(&postdom, sources);
        let mut facts: Vec<(Fact, bool, Option<usize>)> = Vec::new();
        for value in table.values() {
            let (fact, holds) = (Fact::Value(value), answer.value(value).intersects(sources));
            facts.push((fact, holds, twin.length(fact, sources)));
            for &user in table.affects().users(value) {
                let holds = answer.at_use(value, user).intersects(sources);
                let fact = Fact::Use(value, user);
                facts.push((fact, holds, twin.length(fact, sources)));
            }
        }
        for block in case.cfg.nodes().filter(|&b| case.cfg.is_branch(b)) {
            let fact = Fact::Terminator(block);
            let holds = answer.terminator(block).intersects(sources);
            facts.push((fact, holds, twin.length(fact, sources)));
        }
        for block in case.cfg.nodes() {
            let holds = control[block.index()].intersects(sources);
            facts.push((Fact::Block(block), holds, blocks.get(&block).copied()));
        }
        for (fact, holds, length) in facts {
            let chain = derivations.of(flow, table, Some(&postdom), fact, sources);
            let show = || {
                format!(
                    "seed {seed}: {fact:?} of {sources:?}: {chain:#?}\n{}",
                    case.program.to_llvm("f")
                )
            };
            assert_eq!(
                !chain.is_empty(),
                holds,
                "a chain without a fact or a fact without a chain, {}",
                show()
            );
            if chain.is_empty() {
                continue;
            }
            if let Err(error) = twin.check(&postdom, fact, sources, &chain) {
                panic!("{error}\n{}", show());
            }
            assert_eq!(Some(chain.len()), length, "{}", show());
            seen.chains += 1;
            seen.links += chain.len();
            seen.longest = seen.longest.max(chain.len());
            for link in &chain {
                match &link.cause {
                    Cause::Join(separation) => {
                        seen.joins += 1;
                        seen.without_ways += usize::from(separation.ways.is_none());
                    }
                    Cause::Temporal { .. } => seen.temporal += 1,
                    Cause::Assumed { .. } => seen.assumed += 1,
                    Cause::Control { .. } => seen.control += 1,
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn chains_exist_hold_and_are_shortest() {
    let mut seen = Seen::default();
    for seed in 0..4000 {
        check(seed, &mut seen);
    }
    assert!(
        seen.joins > 100 && seen.temporal > 100 && seen.assumed > 100 && seen.control > 100,
        "{seen:?}"
    );
}

/// A checker that accepts anything proves nothing.
#[test]
fn broken_chains_are_found_out() {
    let mut found = 0;
    for seed in 0..60 {
        let case = Case::new(program(seed, Options::default()));
        let (flow, table) = (case.flow(), &case.table);
        let answer = solve(flow, table, Rules::Precise);
        let postdom = PostDomTree::new(&case.cfg);
        let derivations = Derivations::new(flow, table, &answer);
        let twin = Implications::new(flow, table, &answer, case.cycles.all_reducible());
        for value in table.values() {
            let fact = Fact::Value(value);
            let chain = derivations.of(flow, table, None, fact, SourceSet::ALL);
            if chain.len() < 3 {
                continue;
            }
            assert_eq!(twin.check(&postdom, fact, SourceSet::ALL, &chain), Ok(()), "seed {seed}");
            for at in 0..chain.len() {
                let mut broken = chain.clone();
                broken.remove(at);
                assert!(twin.check(&postdom, fact, SourceSet::ALL, &broken).is_err());
            }
            // A cause that is real, but of something else.
            let mut broken = chain.clone();
            if let Cause::Join(separation) = &mut broken[0].cause {
                let others = case.cfg.nodes().filter(|&b| case.cfg.is_branch(b));
                for other in others {
                    let leads =
                        phalanx_core::divergence::twin::of_branch(flow, table, other, false);
                    if !leads.values.contains(&value) {
                        separation.branch = other;
                        separation.ways = None;
                        assert!(twin.check(&postdom, fact, SourceSet::ALL, &broken).is_err());
                        found += 1;
                        break;
                    }
                }
            }
        }
        let users = table.values().flat_map(|v| table.affects().users(v).to_vec());
        assert!(users.filter(|u: &User| matches!(u.kind(), UserKind::Value(_))).count() > 0);
    }
    assert!(found > 10, "{found}");
}
