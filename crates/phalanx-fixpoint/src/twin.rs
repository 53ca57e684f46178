//! What the engine finds, found slowly; and whether rules are what they must be. For tests.
//!
//! [`solve`] goes round until nothing changes. [`check`] holds a solution against it, and the two
//! halves of the rules against each other.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::facts::Seen;
use crate::fixpoint::Fixpoint;
use crate::rules::{Bits, Rules, Subject};

/// Everything that a subject gives.
type Given<S, B> = BTreeMap<S, B>;

/// The least solution, in rounds over all that holds.
pub fn solve<R: Rules>(
    rules: &mut R,
    subjects: impl IntoIterator<Item = R::Subject>,
) -> BTreeMap<R::Subject, R::Bits> {
    let mut known: BTreeMap<R::Subject, R::Bits> =
        subjects.into_iter().map(|subject| (subject, rules.seed(subject))).collect();
    loop {
        let solution = Fixpoint::of(known.clone());
        let before = known.clone();
        for (&subject, &bits) in &before {
            for (next, more) in given(rules, subject, bits, solution.seen()) {
                let bits = known.entry(next).or_insert(R::Bits::NONE);
                *bits = bits.union(more);
            }
        }
        if known == before {
            known.retain(|_, bits| *bits != R::Bits::NONE);
            return known;
        }
    }
}

/// Whether a solution is the least one, and the rules keep their laws in it. `subjects` are all
/// that may have a seed or a fact.
///
/// # Errors
/// What is wrong, with the subject.
pub fn check<R: Rules>(
    rules: &mut R,
    solution: &Fixpoint<R::Subject, R::Bits>,
    subjects: &[R::Subject],
) -> Result<(), String> {
    let seen = solution.seen();
    let mut least = solve(rules, subjects.iter().copied());
    let mut pushed: Given<R::Subject, R::Bits> = BTreeMap::new();
    for &subject in subjects {
        let (bits, expected) =
            (solution.get(subject), least.remove(&subject).unwrap_or(R::Bits::NONE));
        if bits != expected {
            return Err(format!("{subject:?} has {bits:?}, the least solution {expected:?}"));
        }
        let all = given(rules, subject, bits, seen);
        let mut single: Given<R::Subject, R::Bits> = BTreeMap::new();
        for bit in bits.each() {
            merge(&mut single, given(rules, subject, bit, seen));
        }
        if single != all {
            return Err(format!("{subject:?} does not distribute: {single:?} are not {all:?}"));
        }
        let nothing = given(rules, subject, R::Bits::NONE, seen);
        if !nothing.is_empty() {
            return Err(format!("{subject:?} gives {nothing:?} of nothing"));
        }
        merge(&mut pushed, all);
        let seed = rules.seed(subject);
        merge(&mut pushed, BTreeMap::from([(subject, seed)]));
        for n in 0.. {
            let Some((group, rank)) = solution.facts().group(subject, n) else { break };
            let lower = Seen::below(solution.facts(), rank);
            let rest = group.minus(rules.supported(subject, group, lower));
            if solution.facts().has_ranks() && rest != R::Bits::NONE {
                return Err(format!("{rest:?} of {subject:?} has no support of lower rank"));
            }
        }
    }
    if let Some((subject, bits)) = least.pop_first() {
        return Err(format!("{subject:?} has {bits:?} and was not named"));
    }
    for &subject in subjects {
        let push = pushed.get(&subject).copied().unwrap_or(R::Bits::NONE);
        let pull = rules.supported(subject, R::Bits::ALL, seen);
        if push != pull {
            return Err(format!("{subject:?} is given {push:?}, but supported in {pull:?}"));
        }
    }
    Ok(())
}

fn given<R: Rules>(
    rules: &mut R,
    of: R::Subject,
    bits: R::Bits,
    seen: Seen<'_, R::Subject, R::Bits>,
) -> Given<R::Subject, R::Bits> {
    let mut all = BTreeMap::new();
    let _ = rules.gives(of, bits, seen, &mut |next, bits, _| {
        merge(&mut all, BTreeMap::from([(next, bits)]));
        ControlFlow::Continue(())
    });
    all
}

fn merge<S: Subject, B: Bits>(into: &mut Given<S, B>, more: Given<S, B>) {
    for (subject, bits) in more {
        if bits != B::NONE {
            let known = into.entry(subject).or_insert(B::NONE);
            *known = known.union(bits);
        }
    }
}
