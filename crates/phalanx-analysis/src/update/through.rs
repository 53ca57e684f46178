//! Incremental update of what a function does through pointers, while it is edited.
//!
//! # How
//!
//! The [`DivergenceUpdater`] of the function solves it [with
//! pointees](crate::memory::PrivateMemory::with_pointees): its tables have rows for the memory that
//! arguments point to. After an edit, the rows of affected objects are stated again
//! ([`PrivateMemoryUpdater`](crate::memory::PrivateMemoryUpdater)). The updater retains the
//! solution with the function's own sources, and one solution for each input of [`Through`] as the
//! only source.
//!
//! What is read off the solutions depends on the SSA form of the objects ([`SlotFacts`]) and on the
//! [`Returns`], as for results. The SSA form is looked at again for objects that a changed
//! instruction accesses, and for objects to which an edit of the control flow gave another form.
//! The branches at which threads part depend on the whole graph, and are found again when the graph
//! changes.
//!
//! Everything is found anew if an edit changes the inputs, or the values that stand for them:
//! another argument is tracked, an object has other slots, or there are more than
//! [`PARTS`](crate::code::calls::PARTS). While no argument is tracked, only private memory is
//! updated (`unknown_through`).
//!
//! **Complexity.** The cost of the repairs, and O(uses of the affected objects).

use phalanx_core::divergence::FlowFacts;
use phalanx_graph::PostDomTree;
use phalanx_ir::InstId;
use phalanx_target::TransferContext;

use super::divergence::DivergenceUpdater;
use super::subject::{Answers, Changes, Found, Missing, Purpose, Stamp, Subject};
use crate::assumed_facts::AssumedFacts;
use crate::code::{Code, Environment, calls::Through};
use crate::memory::{PrivateMemory, private::pointee_of};
use crate::summary::{
    WithoutArguments,
    returns::Returns,
    through::{self, Reading, SlotFacts, may_be_followed, positions},
};

/// Updates [`Through`] after edits. See the [module
/// documentation](self).
#[derive(Debug)]
pub struct ThroughUpdater {
    updater: DivergenceUpdater,
    known: Option<Known>,
}

/// What [`Through`] needs besides the solutions.
#[derive(Debug)]
struct Known {
    /// Identity of the control flow.
    flow: u64,
    /// The returns, if the result is told apart for private objects.
    returns: Option<Returns>,
    /// By argument, the facts of all its slots.
    facts: Vec<Vec<SlotFacts>>,
}

impl ThroughUpdater {
    /// For a function that may have been summarized before, at that position of its history.
    #[must_use]
    pub fn seen(position: u64) -> Self {
        Self { updater: DivergenceUpdater::seen_for(Purpose::Through, position), known: None }
    }

    /// What the function does through pointers as it is now, as
    /// [`summarize`](crate::summary::summarize) finds it, and how that was found. `since` says what
    /// happened to the body since an earlier position.
    pub fn through<'h>(
        &mut self,
        (code, env): (Code<'_>, Environment<'_>),
        (flow, postdom): (FlowFacts<'_>, &PostDomTree),
        stamp: Stamp,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
    ) -> (Option<Box<Through>>, Found) {
        let facts = WithoutArguments(env.calls, code);
        let env = Environment { calls: &facts, ..env };
        let known = self.known.take();
        if !may_be_followed(code, env) {
            return (None, Found::Solved);
        }
        let assumed_facts = AssumedFacts::nothing();
        let subject = Subject { code, env, flow, stamp, assumed_facts, private: None };
        let mut changes = Changes::default();
        let answers = self.updater.answers(subject, |position| {
            let since = since(position);
            changes = since.unwrap_or_default();
            since
        });
        let answers = match answers {
            Ok(answers) => answers,
            Err(Missing::Nothing(found)) => return (None, found),
            Err(Missing::Unknown) => {
                let found = through::through(code, env, (flow, postdom), true);
                return (found.map(Box::new), Found::Solved);
            }
        };
        let graphs = (code, flow, postdom);
        let known = match known.filter(|_| !answers.is_whole_new) {
            Some(mut known) => {
                let edited = answers.passes.edited(code);
                known.update(changes.insts.iter().copied().chain(edited), graphs, &answers);
                if known.flow != stamp.flow || changes.flow {
                    known.update_graph(stamp.flow, graphs);
                }
                known
            }
            None => Known {
                flow: stamp.flow,
                returns: through::returns(code, flow, postdom),
                facts: slot_facts(graphs, &answers),
            },
        };
        let wave = TransferContext::new(env.launch, env.lockstep).wave;
        let inputs = answers.seeded.inputs(code);
        let of = (answers.seeded, known.facts.as_slice());
        let mut reading = Reading::new(of, known.returns.as_ref(), &inputs, wave);
        let own = answers.own;
        reading.own(own.answer(), |value| own.sources(value));
        for (pass, solution) in answers.passes.solutions() {
            reading.pass(pass, solution.answer(), |value| solution.sources(value));
        }
        let found = reading.finish();
        self.known = Some(known);
        (Some(Box::new(found)), answers.found)
    }
}

impl Known {
    /// Updates the facts after changes of these instructions.
    fn update(
        &mut self,
        mut changed: impl Iterator<Item = InstId>,
        graphs: (Code<'_>, FlowFacts<'_>, &PostDomTree),
        answers: &Answers<'_>,
    ) {
        let (code, flow, postdom) = graphs;
        if let Some(returns) = &self.returns
            && changed.any(|inst| returns.dependencies(code, inst))
        {
            self.returns = Some(Returns::new(code, flow, postdom));
        }
        for (objects, memory) in answers.memory.found_again() {
            if positions(objects).next().is_none() {
                continue;
            }
            let all = SlotFacts::all(graphs, memory);
            for position in positions(objects) {
                let pointee = answers.seeded.arguments().nth(position as usize).flatten();
                self.facts[position as usize] = SlotFacts::of_pointee(&all, pointee);
            }
        }
    }

    /// Finds again what depends on the graph, after a change of the graph.
    fn update_graph(
        &mut self,
        number: u64,
        graphs @ (code, flow, postdom): (Code<'_>, FlowFacts<'_>, &PostDomTree),
    ) {
        self.flow = number;
        self.returns = through::returns(code, flow, postdom);
        self.facts.iter_mut().flatten().for_each(|facts| facts.find_parting(graphs));
    }
}

/// What is known of the slots of each argument.
fn slot_facts(
    graphs: (Code<'_>, FlowFacts<'_>, &PostDomTree),
    answers: &Answers<'_>,
) -> Vec<Vec<SlotFacts>> {
    let mut known: Vec<(&PrivateMemory, Vec<SlotFacts>)> = Vec::new();
    let of = |(pointee, position)| {
        let memory = answers.memory.memory_of(pointee_of(position));
        let at = known.iter().position(|(of, _)| std::ptr::eq(*of, memory)).unwrap_or_else(|| {
            // A patch is read for its own objects only: what it has of other objects may be out of
            // date.
            let is_told = |object| std::ptr::eq(answers.memory.memory_of(object), memory);
            known.push((memory, SlotFacts::of_objects(graphs, memory, is_told)));
            known.len() - 1
        });
        SlotFacts::of_pointee(&known[at].1, pointee)
    };
    answers.seeded.arguments().zip(0..).map(of).collect()
}
