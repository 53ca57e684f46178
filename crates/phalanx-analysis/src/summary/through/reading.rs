//! Builds [`Through`] from solutions of the function.

use phalanx_core::{affect::Value, divergence::Divergence};
use phalanx_target::SourceSet;

use super::super::outcome::Pass;
use super::super::returns::Returns;
use super::seeded::Seeded;
use super::slots::SlotFacts;
use crate::code::calls::{Input, Outcome, Part, Through};

/// Reads one solution after the other.
pub(crate) struct Reading<'a> {
    seeded: &'a Seeded,
    /// By part.
    facts: Vec<&'a SlotFacts>,
    returns: Option<&'a Returns>,
    inputs: &'a [(Input, Value)],
    outcomes: Vec<Outcome>,
    result: Option<Outcome>,
}

impl<'a> Reading<'a> {
    /// `facts` has the facts about all slots of each argument.
    pub(crate) fn new(
        (seeded, facts): (&'a Seeded, &'a [Vec<SlotFacts>]),
        returns: Option<&'a Returns>,
        inputs: &'a [(Input, Value)],
        wave: SourceSet,
    ) -> Self {
        let facts: Vec<&SlotFacts> = facts.iter().flatten().collect();
        let nothing = Outcome::new(wave, inputs.len());
        let outcomes = vec![nothing.clone(); facts.len()];
        Reading { seeded, facts, inputs, outcomes, result: returns.map(|_| nothing), returns }
    }

    fn read(
        &mut self,
        answer: &Divergence,
        value: impl Fn(Value) -> SourceSet,
        mut add: impl FnMut(&mut Outcome, SourceSet),
    ) {
        if let (Some(result), Some(returns)) = (&mut self.result, self.returns) {
            add(result, returns.whole(answer));
        }
        let parts = self.seeded.slots().zip(&self.facts).zip(&mut self.outcomes);
        for (((_, slot), facts), outcome) in parts.filter(|((_, facts), _)| facts.is_written) {
            let mut sources: SourceSet = slot.exits.iter().map(|&at| value(at)).collect();
            sources |= facts.parting.iter().map(|&node| answer.terminator(node)).collect();
            add(outcome, sources);
        }
    }

    /// Reads the solution with the function's own sources. `value` gives the sources of values that
    /// stand for versions of memory.
    pub(crate) fn own(&mut self, answer: &Divergence, value: impl Fn(Value) -> SourceSet) {
        self.read(answer, value, |outcome, sources| outcome.sources |= sources);
    }

    /// Reads a solution with inputs as the only sources.
    pub(crate) fn pass(
        &mut self,
        pass: &Pass,
        answer: &Divergence,
        value: impl Fn(Value) -> SourceSet,
    ) {
        self.read(answer, value, |outcome, found| pass.note(outcome, found));
    }

    pub(crate) fn finish(self) -> Through {
        let Reading { seeded, facts, inputs, outcomes, result, .. } = self;
        let is_read = |part: u32| {
            let at = inputs.iter().position(|(input, _)| *input == Input::Content(part));
            let reads = |outcome: &Outcome| at.is_some_and(|at| !outcome.arguments[at].is_none());
            result.as_ref().is_some_and(reads) || outcomes.iter().any(reads)
        };
        let read: Vec<bool> = (0..outcomes.len() as u32).map(is_read).collect();
        let slots = seeded.slots().zip(facts).zip(outcomes.into_iter().zip(read));
        let part = |(((parameter, slot), facts), (content, is_read))| {
            let (slot, facts): (&super::seeded::PointeeSlot, &SlotFacts) = (slot, facts);
            Part {
                parameter,
                range: slot.range,
                is_read,
                content: facts.is_written.then_some(content),
                is_certain: facts.is_certain,
            }
        };
        Through {
            parts: slots.map(part).collect(),
            inputs: inputs.iter().map(|(input, _)| *input).collect(),
            result,
            followed: seeded.arguments().map(|pointee| pointee.is_some()).collect(),
        }
    }
}
