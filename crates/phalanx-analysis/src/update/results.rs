//! Incremental update of the summary of a function that is being edited.
//!
//! A summary has three parts, each of which is updated after edits in its own way:
//!
//! | part | found from | after an edit |
//! |---|---|---|
//! | [`Besides`](crate::summary::Besides): effects | single instructions | the same, unless an instruction has changed that [concerns](effects_depend_on) it |
//! | [`Through`](crate::code::calls::Through): what is done through pointers | solutions, if the memory behind a pointer argument is tracked | the same if none is tracked, and no instruction has changed that [concerns](pointers_depend_on) pointers; otherwise the solutions are repaired ([`ThroughUpdater`](super::ThroughUpdater)) |
//! | [`Results`] | solutions with the function's own sources and with its arguments | the solutions are repaired ([`ResultUpdater`]) |
//!
//! **Results.** The [`DivergenceUpdater`] of the function has the solutions. The [`Returns`] depend
//! on the graph, on the `ret` instructions, and on where the returned values are computed; they are
//! found again when one of these changes. Whether the result depends on the time of the call is
//! shown by one *witness*, an instruction that is not pure. While the witness has not changed, it
//! proves that there is one. If there was none, only a changed instruction can be one now.
//!
//! **Complexity.** The cost of the repairs, and O(returns).

use phalanx_core::divergence::FlowFacts;
use phalanx_graph::PostDomTree;
use phalanx_ir::{InstId, Opcode, Type};

use super::divergence::DivergenceUpdater;
use super::subject::{Answers, Changes, Found, Purpose, Stamp, Subject};
use crate::assumed_facts::AssumedFacts;
use crate::code::{Code, Environment, Numbering};
use crate::memory::has_pointers;
use crate::summary::{
    Reading, Results, WithoutArguments, first_impure, is_timeless, returns::Returns,
};

/// Whether the [effects](crate::code::calls::Effects) of a function may depend on an instruction,
/// apart from its block.
#[must_use]
pub fn effects_depend_on(code: Code<'_>, inst: InstId) -> bool {
    let opcode = code.body.inst(inst).opcode;
    // The analysis of effects looks through these to the base of an address.
    let makes_address = matches!(
        opcode,
        Opcode::Alloca | Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
    );
    let accesses = matches!(
        opcode,
        Opcode::Load
            | Opcode::Store
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
            | Opcode::Fence
            | Opcode::VaArg
    );
    opcode.is_terminator() || opcode.is_call() || accesses || makes_address
}

/// Whether the answer "nothing is known of what is done through pointers" may depend on an
/// instruction.
#[must_use]
pub fn pointers_depend_on(code: Code<'_>, inst: InstId) -> bool {
    effects_depend_on(code, inst) || has_pointers(code, inst)
}

/// Updates the [`Results`] of a summary after edits.
#[derive(Debug)]
pub struct ResultUpdater {
    updater: DivergenceUpdater,
    known: Option<Known>,
}

/// What [`Results`] need besides the solutions.
#[derive(Debug)]
struct Known {
    /// Identity of the control flow.
    flow: u64,
    returns: Returns,
    /// An instruction that is not pure, if there is one.
    witness: Option<InstId>,
}

impl ResultUpdater {
    /// For a function that was summarized from scratch before, at that position of its history.
    #[must_use]
    pub fn seen(position: u64) -> Self {
        Self { updater: DivergenceUpdater::seen_for(Purpose::Results, position), known: None }
    }

    /// The [`Results`] of the function as it is now, as [`summarize`](crate::summary::summarize)
    /// finds them, and how they were found; none where no state can be retained. `since` says what
    /// happened to the body since an earlier position.
    pub fn results<'h>(
        &mut self,
        (code, env): (Code<'_>, Environment<'_>),
        (flow, postdom): (FlowFacts<'_>, &PostDomTree),
        stamp: Stamp,
        since: impl FnOnce(u64) -> Option<Changes<'h>>,
    ) -> Option<(Results, Found)> {
        let facts = WithoutArguments(env.calls, code);
        let env = Environment { calls: &facts, ..env };
        let assumed_facts = AssumedFacts::nothing();
        let subject = Subject { code, env, flow, stamp, assumed_facts, private: None };
        let known = self.known.take();
        let mut changes = Changes::default();
        let answers = self.updater.answers(subject, |position| {
            let since = since(position);
            changes = since.unwrap_or_default();
            since
        });
        let Answers { own, passes, found, .. } = answers.ok()?;
        let is_pure = |inst| own.is_pure(Numbering::new(code.header).inst(inst));
        let is_followed = matches!(found, Found::Repaired { .. } | Found::Rebuilt);
        let is_same_flow = |known: &Known| is_followed && known.flow == stamp.flow && !changes.flow;
        let known = match known.filter(is_same_flow) {
            Some(known) => {
                let changed: Vec<InstId> =
                    changes.insts.iter().copied().chain(passes.edited(code)).collect();
                let returns =
                    match changed.iter().any(|&inst| known.returns.dependencies(code, inst)) {
                        true => Returns::new(code, flow, postdom),
                        false => known.returns,
                    };
                let is_there = |inst: &&InstId| code.body.block_of(**inst).is_some();
                let is_other = match known.witness {
                    Some(witness) => changed.contains(&witness),
                    None => {
                        let mut placed = changed.iter().filter(is_there);
                        placed.any(|&inst| !is_timeless(code, inst, is_pure))
                    }
                };
                let witness = match is_other {
                    true => first_impure(code, is_pure),
                    false => known.witness,
                };
                Known { returns, witness, ..known }
            }
            None => {
                let returns = Returns::new(code, flow, postdom);
                Known { flow: stamp.flow, returns, witness: first_impure(code, is_pure) }
            }
        };
        let is_timeless = known.witness.is_none();
        let results = if code.header.ret == Type::VOID {
            Results { is_timeless, ..Results::default() }
        } else {
            let mut reading = Reading::new(code, env, &known.returns);
            reading.own(own.answer());
            for (pass, solution) in passes.solutions() {
                reading.pass(pass, solution.answer());
            }
            reading.finish(is_timeless)
        };
        self.known = Some(known);
        Some((results, found))
    }
}
