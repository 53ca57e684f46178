//! Turns a [`phalanx_target::Transfer`], which looks at all operands at once, into a rule that
//! looks at one operand at a time.
//!
//! The analysis is reachability: a value gets a source because *one* operand has one. A transfer
//! that distributes over operands and sources is turned into that form exactly, by evaluating it on
//! single sources. One transfer does not distribute: the result of a shuffle is uniform if its data
//! *or* its lane number is. Its rule is found for the sources of the lane number, under the
//! assumption that the data differ between lanes. That loses little precision: programs rarely
//! shuffle uniform data, while a loop over lanes that broadcasts the value of each has a uniform
//! lane number.

use phalanx_core::divergence::{self, Definition};
use phalanx_target::{
    SourceSet, Transfer,
    transfer::{Operands, TransferContext},
};

use super::rule::{Reads, Rule};

/// An operand as a transfer sees it. [`Probe`] adds the sources.
#[derive(Copy, Clone, Debug)]
pub(crate) struct OperandFacts {
    /// An integer constant.
    pub(crate) constant: Option<u64>,
    /// Whether it is a value of the function; others have no sources.
    pub(crate) varies: bool,
    /// Whether it may point to memory of which each thread has its own.
    pub(crate) may_be_private: bool,
}

struct Probe<'a> {
    operands: &'a [OperandFacts],
    /// The operand that has sources, and its sources.
    set: Option<(usize, SourceSet)>,
    /// The operand that differs between the lanes of a wave.
    mixed: Option<usize>,
}

impl Operands for Probe<'_> {
    fn count(&self) -> usize {
        self.operands.len()
    }

    fn sources(&self, index: usize) -> SourceSet {
        match (self.set, self.mixed) {
            (Some((at, sources)), _) if at == index => sources,
            (_, Some(at)) if at == index => SourceSet::OPAQUE_THREAD,
            _ => SourceSet::EMPTY,
        }
    }

    fn constant(&self, index: usize) -> Option<u64> {
        self.operands.get(index).and_then(|operand| operand.constant)
    }

    fn may_be_private(&self, index: usize) -> bool {
        self.operands.get(index).is_none_or(|operand| operand.may_be_private)
    }
}

/// The rule of a call with this transfer. `is_pure` as in [`Definition::is_pure`].
pub(crate) fn rule_of(
    transfer: &Transfer,
    operands: &[OperandFacts],
    context: &TransferContext,
    is_pure: bool,
) -> Rule {
    match plain_rule(transfer, operands, is_pure) {
        Some(rule) => rule,
        None => rule_by_evaluation(transfer, operands, context, is_pure),
    }
}

/// The rule, if it can be read off the transfer, as is usual.
fn plain_rule(transfer: &Transfer, operands: &[OperandFacts], is_pure: bool) -> Option<Rule> {
    if operands.len() > 64 {
        return None;
    }
    let (seed, is_fixed, reads) = match *transfer {
        Transfer::Source(seed) => (seed, transfer.is_timeless(), 0),
        Transfer::Propagate(seed) if seed != SourceSet::ALL => {
            let varies = operands.iter().enumerate().filter(|(_, operand)| operand.varies);
            let reads = varies.fold(0u64, |reads, (position, _)| reads | 1 << position);
            (seed, reads == 0, reads)
        }
        _ => return None,
    };
    let transfer = match is_fixed {
        true => divergence::Transfer::Fixed,
        false => divergence::Transfer::Propagate,
    };
    let definition = Definition { seed, transfer, is_pure };
    Some(Rule { definition, image: None, reads: Reads::Some(reads) })
}

/// The rule of any transfer, found by evaluating it for each source of each operand.
fn rule_by_evaluation(
    transfer: &Transfer,
    operands: &[OperandFacts],
    context: &TransferContext,
    is_pure: bool,
) -> Rule {
    // A shuffle with a lane number does not read its data: threads of a wave with the same number
    // have the same result.
    let varies = |at: u8| operands.get(usize::from(at)).is_some_and(|operand| operand.varies);
    let mixed = match *transfer {
        Transfer::Shuffle { data, lane: Some(lane), .. } if varies(data) && varies(lane) => {
            Some(usize::from(data))
        }
        _ => None,
    };
    let evaluate = |set: Option<(usize, SourceSet)>, mixed: Option<usize>| {
        transfer.evaluate(&Probe { operands, set, mixed }, context)
    };
    // If one number means another lane for each lane or quad, as in segments, the rule reads the
    // data instead, and takes the number to differ.
    let of_number = SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_QUAD;
    let mixed = match (mixed, transfer) {
        (Some(_), Transfer::Shuffle { lane: Some(lane), .. })
            if evaluate(None, mixed).intersects(of_number) =>
        {
            Some(usize::from(*lane))
        }
        _ => mixed,
    };
    let seed = evaluate(None, mixed);
    let mut image = [SourceSet::EMPTY; SourceSet::COUNT];
    let mut identity = true;
    let mut reads = 0u64;
    for (position, operand) in operands.iter().enumerate() {
        if !operand.varies || Some(position) == mixed {
            continue;
        }
        let mut matters = position >= 64;
        for (bit, all_gained) in image.iter_mut().enumerate() {
            let source = SourceSet::from_bits(1 << bit);
            let result = evaluate(Some((position, source)), mixed);
            let gained = result - seed;
            matters |= !gained.is_empty();
            *all_gained |= gained;
        }
        if matters && position < 64 {
            reads |= 1 << position;
        }
    }
    for (bit, gained) in image.iter().enumerate() {
        let source = SourceSet::from_bits(1 << bit);
        identity &= seed.contains(source) || *gained == source;
    }
    // What is read at a moment (memory, a clock) is one value for the threads that read it
    // together. In a cycle that is assumed to be divergent, it is not known which threads these
    // are. So only a result that has no moment, or that the group makes itself, is fixed.
    let has_no_moment = transfer.is_timeless()
        || matches!(
            transfer,
            Transfer::Collective { .. }
                | Transfer::Agree { .. }
                | Transfer::Differ { .. }
                | Transfer::Shuffle { .. }
                | Transfer::Quad { .. }
                | Transfer::Clustered { .. }
                | Transfer::BarrierReduction { .. }
        );
    let unread = reads == 0 && (operands.len() <= 64 || operands[64..].iter().all(|o| !o.varies));
    let transfer = match unread && has_no_moment {
        true => divergence::Transfer::Fixed,
        false => divergence::Transfer::Propagate,
    };
    let definition = Definition { seed, transfer, is_pure };
    Rule { definition, image: (!identity && !unread).then_some(image), reads: Reads::Some(reads) }
}

#[cfg(test)]
mod tests {
    use phalanx_target::{LaunchFacts, Scope, intrinsics::Family, varying};
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    use super::*;

    /// The sources that a rule gives to the result, for operands with these sources.
    fn applied(rule: &Rule, operands: &[SourceSet]) -> SourceSet {
        let reads = |at: usize| match rule.reads {
            Reads::Some(mask) => mask >> at & 1 == 1,
            _ => true,
        };
        let of = |source: SourceSet| match rule.image {
            Some(image) => image[source.bits().trailing_zeros() as usize],
            None => source,
        };
        let read = operands.iter().enumerate().filter(|(at, _)| reads(*at));
        let found = read.flat_map(|(_, sources)| sources.iter()).map(of);
        match rule.definition.transfer {
            divergence::Transfer::Fixed => rule.definition.seed,
            _ => rule.definition.seed | found.collect(),
        }
    }

    /// A rule looks at one operand at a time, and never says "uniform" if the transfer of all
    /// operands does not.
    #[test]
    fn rules_say_no_more_than_transfers() {
        let mut rng = SmallRng::seed_from_u64(2);
        let facts = [LaunchFacts::default(), LaunchFacts::exact(64, 2, 1, 32)];
        let rows = Family::ALL.iter().flat_map(|family| family.entries());
        let library = Family::Library.entries();
        let all = rows.chain(library).map(|entry| entry.info.result);
        let mut transfers: Vec<Transfer> = Vec::new();
        for one in all {
            if !transfers.contains(&one) {
                transfers.push(one);
            }
        }
        let (mut uniform, mut numbers) =
            (0, [31, 0x1c1f, 0x181f, 0xb1, 0x55, 0x128, 15, 1, 4, 8].iter().cycle());
        for transfer in &transfers {
            for _ in 0..400 {
                let launch = &facts[rng.random_range(0..2)];
                let context = TransferContext::new(launch, true);
                let operand = |_| {
                    let constant = rng.random::<bool>().then(|| *numbers.next().unwrap_or(&0));
                    OperandFacts { constant, varies: constant.is_none(), may_be_private: false }
                };
                let operands: Vec<OperandFacts> = (0..6).map(operand).collect();
                let sources: Vec<SourceSet> = operands
                    .iter()
                    .map(|operand| match operand.varies && rng.random() {
                        true => SourceSet::from_bits(1 << rng.random_range(0..SourceSet::COUNT)),
                        false => SourceSet::EMPTY,
                    })
                    .collect();
                let rule = rule_of(transfer, &operands, &context, true);
                let claimed = applied(&rule, &sources);
                let held: Vec<phalanx_target::transfer::Operand> = (operands.iter().zip(&sources))
                    .map(|(operand, &sources)| phalanx_target::transfer::Operand {
                        sources,
                        constant: operand.constant,
                        may_be_private: false,
                    })
                    .collect();
                let together = transfer.evaluate(&held[..], &context);
                for scope in Scope::ALL {
                    let within = varying(scope, launch);
                    if !claimed.intersects(within) {
                        uniform += 1;
                        assert!(
                            !together.intersects(within),
                            "{transfer:?} of {held:?}: {claimed}, {together} at {scope}"
                        );
                    }
                }
            }
        }
        assert!(uniform > 5000, "{uniform}");
    }

    #[test]
    fn what_is_read_off_is_what_evaluation_gives() {
        let mut rng = SmallRng::seed_from_u64(1);
        let context = TransferContext::new(&LaunchFacts::default(), false);
        let mut plain = 0;
        for _ in 0..2000 {
            let seed = match rng.random_range(0..4) {
                0 => SourceSet::EMPTY,
                1 => SourceSet::ALL,
                _ => SourceSet::from_bits(rng.random()),
            };
            let transfer = match rng.random() {
                true => Transfer::Source(seed),
                false => Transfer::Propagate(seed),
            };
            let count = rng.random_range(0..6) + if rng.random_ratio(1, 20) { 63 } else { 0 };
            let operand = |_| OperandFacts {
                constant: rng.random::<bool>().then_some(3),
                varies: rng.random(),
                may_be_private: rng.random(),
            };
            let operands: Vec<OperandFacts> = (0..count).map(operand).collect();
            if let Some(rule) = plain_rule(&transfer, &operands, true) {
                plain += 1;
                let expected = rule_by_evaluation(&transfer, &operands, &context, true);
                assert_eq!(rule, expected, "{transfer:?} of {operands:?}");
            }
        }
        assert!(plain > 1000, "{plain}");
    }
}
