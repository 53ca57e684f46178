//! Why a fact holds: the shortest chain of rules from a seed to it.
//!
//! A search in breadth over single bits, forward from the seeds, by the steps that [`Rules::gives`]
//! names. Where a rule rests on two facts, the chain shows one of them; the other holds in the
//! solution too.
//!
//! **Complexity.** O(facts and steps that are nearer to a seed than the one that is asked for).

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use crate::fixpoint::Fixpoint;
use crate::rules::{Bits, Rules};

/// A fact on the way, and the step that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<S, B, T> {
    /// What the fact is about.
    pub subject: S,
    /// Its bit.
    pub bit: B,
    /// By which rule it follows from the link before; none where it is a seed.
    pub step: Option<T>,
}

/// Links from a seed to a fact.
pub type Chain<R> = Vec<Link<<R as Rules>::Subject, <R as Rules>::Bits, <R as Rules>::Step>>;

/// A found fact, and where it came from.
struct Found<S, B, T> {
    link: Link<S, B, T>,
    from: Option<usize>,
}

/// A chain as short as any from a seed to one bit of a subject, seed first; none if that does not
/// hold. `subjects` are those that may have a seed. Of several shortest chains it is the first one,
/// in the order of `subjects` and rules.
pub fn explain<R: Rules>(
    rules: &mut R,
    solution: &Fixpoint<R::Subject, R::Bits>,
    subjects: impl IntoIterator<Item = R::Subject>,
    (subject, bit): (R::Subject, R::Bits),
) -> Option<Chain<R>> {
    let mut found: Vec<Found<R::Subject, R::Bits, R::Step>> = Vec::new();
    let mut known: FxHashMap<R::Subject, R::Bits> = FxHashMap::default();
    for subject in subjects {
        for bit in rules.seed(subject).each() {
            let bits = known.entry(subject).or_insert(R::Bits::NONE);
            *bits = bits.union(bit);
            found.push(Found { link: Link { subject, bit, step: None }, from: None });
        }
    }
    let mut at = 0;
    while at < found.len() {
        let Link { subject: of, bit: own, .. } = found[at].link;
        if of == subject && own == bit {
            return Some(chain(&found, at));
        }
        let is_found = rules.gives(of, own, solution.seen(), &mut |next, bits, step| {
            let have = known.entry(next).or_insert(R::Bits::NONE);
            for new in bits.minus(*have).each() {
                let link = Link { subject: next, bit: new, step: Some(step) };
                found.push(Found { link, from: Some(at) });
                if next == subject && new == bit {
                    return ControlFlow::Break(());
                }
            }
            *have = have.union(bits);
            ControlFlow::Continue(())
        });
        if is_found.is_break() {
            return Some(chain(&found, found.len() - 1));
        }
        at += 1;
    }
    None
}

fn chain<S: Copy, B: Copy, T: Copy>(found: &[Found<S, B, T>], last: usize) -> Vec<Link<S, B, T>> {
    let back = std::iter::successors(Some(last), |at| found[*at].from);
    let mut links: Vec<_> = back.map(|at| found[at].link).collect();
    links.reverse();
    links
}
