//! Solutions of a function with its arguments as the only sources, or with other inputs, which
//! follow its edits.
//!
//! The function itself is followed with its own sources ([`Retained`]); for each [`Pass`] there is
//! another solution beside that, whose tables are the same but for sources and images. What has
//! been edited in the first is restated in the others, which are then repaired for themselves.
//!
//! **Equality.** Inputs are told apart as from scratch. There, one token per input does where no
//! operation makes something else of sources, and four are needed elsewhere. With four the outcome
//! is the same where one would do, as long as no input has to share them. The solutions are made
//! anew where one would not do any more ([`Tokens::followed_image`]), and where one would do again
//! and inputs share the four ([`Tokens::are_those_of`]).
//!
//! **Cost.** One repair for each pass, of which there are at most four.

use phalanx_core::{
    affect::Value,
    divergence::{
        Flow, ValueTable,
        repair::{Outcome, Retained, Unfit},
    },
};
use phalanx_graph::Node;
use phalanx_ir::InstId;
use phalanx_target::{SourceSet, TransferContext};
use rustc_hash::FxHashSet;

use super::outcome::{Pass, Tokens};
use crate::code::{Code, Numbering, Surroundings, calls::is_copied};

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Passes {
    tokens: Tokens,
    /// The only sources; none for what is left out.
    inputs: Box<[Option<Value>]>,
    all: Vec<(Pass, Retained)>,
    /// What was restated last, whatever passes there are.
    edited: Vec<Value>,
}

/// The arguments of a function. A copy is its own source; of which argument does not matter.
pub(crate) fn arguments(code: Code<'_>) -> Vec<Option<Value>> {
    let numbering = Numbering::new(code.header);
    let arguments = 0..code.header.params.len();
    let is_open = |at: &usize| !is_copied(code.context, code.header, *at);
    arguments.map(|at| Some(at).filter(is_open).map(|at| numbering.argument(at as u32))).collect()
}

/// How inputs are told apart.
pub(crate) fn tokens(around: Surroundings<'_>, table: &ValueTable, count: usize) -> Tokens {
    let wave = TransferContext::new(around.launch, around.lockstep).wave;
    Tokens::new(table, wave, count)
}

/// What is found with these inputs as the only ones: for each pass, which they are.
pub(crate) fn seeded<'a>(
    tokens: &Tokens,
    inputs: &'a [Option<Value>],
) -> impl Iterator<Item = (Pass, Vec<(Value, SourceSet)>)> + use<'a> {
    let passes = tokens.passes(|at| inputs[at].is_some()).into_iter().map(|pass| {
        // Only what is not left out has bits.
        let seeds = pass.seeds(|at| inputs[at].unwrap_or(Value::from_raw(0))).collect::<Vec<_>>();
        (pass, seeds)
    });
    passes.filter(|(_, seeds)| !seeds.is_empty())
}

impl Passes {
    /// Those of a function with these tables.
    ///
    /// # Errors
    /// When they cannot be followed.
    pub(crate) fn new(
        around: Surroundings<'_>,
        flow: Flow<'_>,
        table: &ValueTable,
        inputs: Vec<Option<Value>>,
    ) -> Result<Passes, Unfit> {
        let tokens = tokens(around, table, inputs.len());
        if tokens.unconditional(table).is_some() {
            return Err(Unfit::TooLarge);
        }
        let mut all = Vec::new();
        for (pass, seeds) in seeded(&tokens, &inputs) {
            all.push((pass, Retained::new(flow, tokens.table(table, &seeds))?));
        }
        Ok(Passes { tokens, inputs: inputs.into(), all, edited: Vec::new() })
    }

    /// Whether these are the inputs.
    pub(crate) fn are_of(&self, inputs: &[Option<Value>]) -> bool {
        *self.inputs == *inputs
    }

    /// Restates what has been edited in the tables of the function since their last repair.
    ///
    /// # Errors
    /// When something cannot be said of tokens, others would be taken from scratch, or an input is
    /// stated anew. Then these are of no use any more.
    pub(crate) fn restate(&mut self, of: &Retained) -> Result<(), Unfit> {
        self.edited.clear();
        self.edited.extend(of.edited());
        let edited: FxHashSet<Value> = self.edited.iter().copied().collect();
        let has_other_tokens = !self.tokens.are_those_of(of.edited_table());
        if has_other_tokens || self.inputs.iter().flatten().any(|input| edited.contains(input)) {
            return Err(Unfit::Full);
        }
        for (_, retained) in &mut self.all {
            retained.restate(of, |image| self.tokens.followed_image(image))?;
        }
        Ok(())
    }

    /// Repairs all of them, after an edit of the control flow if that is given. What `outcome` was
    /// for the function itself becomes that for all.
    ///
    /// # Errors
    /// When the function can be followed no longer.
    pub(crate) fn repair(
        &mut self,
        flow: Flow<'_>,
        edited: Option<Option<&[Node]>>,
        mut outcome: Outcome,
    ) -> Result<Outcome, Unfit> {
        for (_, retained) in &mut self.all {
            let found = match edited {
                None => retained.repair(flow)?,
                Some(touched) => retained.repair_flow(flow, touched)?,
            };
            outcome = match (outcome, found) {
                (Outcome::Repaired { visited }, Outcome::Repaired { visited: more }) => {
                    Outcome::Repaired { visited: visited + more }
                }
                _ => Outcome::Rebuilt,
            };
        }
        Ok(outcome)
    }

    /// The instructions that were restated last.
    pub(crate) fn edited(&self, code: Code<'_>) -> impl Iterator<Item = InstId> {
        let first = code.header.params.len();
        let end = first + code.body.id_count();
        // Other values stand for versions of memory.
        let of_insts =
            self.edited.iter().map(|value| value.index()).filter(move |&value| value < end);
        of_insts.filter_map(move |value| {
            let number = u32::try_from(value.checked_sub(first)?).ok()?;
            Some(InstId::from_raw(number.into()))
        })
    }

    /// The passes, and what was found.
    pub(crate) fn solutions(&self) -> impl Iterator<Item = (&Pass, &Retained)> {
        self.all.iter().map(|(pass, retained)| (pass, retained))
    }
}
