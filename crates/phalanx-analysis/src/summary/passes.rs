//! Solutions of a function with its arguments as the only sources, which follow its edits.
//!
//! The function itself is followed with its own sources ([`Retained`]); for each [`Pass`] there is another solution beside that, whose tables are the same
//! but for sources and images. What has been edited in the first is restated in the others, which are then repaired for themselves.
//!
//! **Equality.** Parameters are told apart as from scratch. There, one token per parameter does where no operation makes something else of
//! sources, and four are needed elsewhere. With four the outcome is the same where one would do, as long as no parameter has to share them; where
//! one would not do any more, the solutions are made anew ([`Tokens::followed_image`]).
//!
//! **Cost.** One repair for each pass, of which there are at most four.

use phalanx_graph::Node;
use phalanx_ir::InstId;
use phalanx_target::{SourceSet, TransferContext};

use super::is_copied;
use super::outcome::{Pass, Tokens};
use crate::affect::Value;
use crate::divergence::{
    Divergence, Flow, ValueTable,
    repair::{Outcome, Retained, Unfit},
};
use crate::lower::{Code, Numbering, Surroundings};

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Passes {
    tokens: Tokens,
    all: Vec<(Pass, Retained)>,
    /// What was restated last, whatever passes there are.
    edited: Vec<Value>,
}

/// What is found with the arguments of a function as the only sources: for each pass, which they are.
pub(super) fn seeds(code: Code<'_>, pass: &Pass) -> Vec<(Value, SourceSet)> {
    let numbering = Numbering::new(code.header);
    pass.seeds(|parameter| numbering.argument(parameter as u32)).collect()
}

/// The passes of a function. A copy is its own source; of which argument does not matter.
pub(super) fn passes(code: Code<'_>, tokens: &Tokens) -> Vec<Pass> {
    tokens.passes(|position| !is_copied(code.context, code.header, position))
}

/// How parameters are told apart.
pub(super) fn tokens(code: Code<'_>, around: Surroundings<'_>, table: &ValueTable) -> Tokens {
    let wave = TransferContext::new(around.launch, around.lockstep).wave;
    Tokens::new(table, wave, code.header.params.len())
}

impl Passes {
    /// Those of a function with these tables.
    ///
    /// # Errors
    /// When they cannot be followed.
    pub(crate) fn new(
        code: Code<'_>,
        around: Surroundings<'_>,
        flow: Flow<'_>,
        table: &ValueTable,
    ) -> Result<Passes, Unfit> {
        let tokens = tokens(code, around, table);
        if !tokens.is_regardless_of_images() || tokens.unconditional(table).is_some() {
            return Err(Unfit::TooLarge);
        }
        let mut all = Vec::new();
        for pass in passes(code, &tokens) {
            let seeds = seeds(code, &pass);
            if !seeds.is_empty() {
                let retained = Retained::new(flow, tokens.table(table, &seeds))?;
                all.push((pass, retained));
            }
        }
        Ok(Passes { tokens, all, edited: Vec::new() })
    }

    /// Restates what has been edited in the tables of the function since their last repair.
    ///
    /// # Errors
    /// When something cannot be said of tokens. Then these are of no use any more.
    pub(crate) fn restate(&mut self, of: &Retained) -> Result<(), Unfit> {
        self.edited.clear();
        self.edited.extend(of.edited());
        for (_, retained) in &mut self.all {
            retained.restate(of, |image| self.tokens.followed_image(image))?;
        }
        Ok(())
    }

    /// Repairs all of them, after an edit of the control flow if that is given. What `outcome` was for the function itself becomes that for all.
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
    pub(super) fn edited(&self, code: Code<'_>) -> impl Iterator<Item = InstId> {
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
    pub(super) fn answers(&self) -> impl Iterator<Item = (&Pass, &Divergence)> {
        self.all.iter().map(|(pass, retained)| (pass, retained.answer()))
    }
}
