//! Solutions of a function with its arguments, or other inputs, as the only sources; updated after
//! edits.
//!
//! One retained solution of the function has its own sources ([`Retained`]). For each [`Pass`]
//! there is another one, whose tables differ only in sources and images. An update restates the
//! edited values of the first in the tables of the others, and repairs each solution by itself.
//!
//! **Equality.** The result has to equal that from scratch. From scratch, an input has one token if
//! no operation converts sources, and four tokens otherwise. If one would be enough, four give the
//! same outcome unless inputs share them. So the solutions are computed from scratch in two cases:
//! one token is no longer enough ([`Tokens::refined_image`]), or one is enough again and inputs
//! share their four ([`Tokens::are_those_of`]).
//!
//! **Cost.** One repair for each pass, of which there are at most four.

use phalanx_core::{
    affect::Value,
    divergence::{
        FlowFacts, ValueTable,
        repair::{Outcome, Retained, Unfit},
    },
};
use phalanx_graph::Node;
use phalanx_ir::InstId;
use phalanx_target::{SourceSet, TransferContext};
use rustc_hash::FxHashSet;

use super::outcome::{Pass, Tokens};
use crate::code::{Code, Environment, Numbering, calls::is_copied};

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Passes {
    tokens: Tokens,
    /// The inputs. `None` for an input that is left out.
    inputs: Box<[Option<Value>]>,
    all: Vec<(Pass, Retained)>,
    /// The values that the last update restated.
    edited: Vec<Value>,
}

/// The arguments of a function, without copies (`byval`): these are sources of their own, whatever
/// is passed.
pub(crate) fn arguments(code: Code<'_>) -> Vec<Option<Value>> {
    let numbering = Numbering::new(code.header);
    let arguments = 0..code.header.params.len();
    let is_open = |at: &usize| !is_copied(code.context, code.header, *at);
    arguments.map(|at| Some(at).filter(is_open).map(|at| numbering.argument(at as u32))).collect()
}

/// The tokens that distinguish inputs.
pub(crate) fn tokens(env: Environment<'_>, table: &ValueTable, count: usize) -> Tokens {
    let wave = TransferContext::new(env.launch, env.lockstep).wave;
    Tokens::new(table, wave, count)
}

/// The passes for these inputs, each with its seeds.
pub(crate) fn seeded<'a>(
    tokens: &Tokens,
    inputs: &'a [Option<Value>],
) -> impl Iterator<Item = (Pass, Vec<(Value, SourceSet)>)> + use<'a> {
    let passes = tokens.passes(|at| inputs[at].is_some()).into_iter().map(|pass| {
        // Left-out inputs have no bits, so their value does not matter.
        let seeds = pass.seeds(|at| inputs[at].unwrap_or(Value::from_raw(0))).collect::<Vec<_>>();
        (pass, seeds)
    });
    passes.filter(|(_, seeds)| !seeds.is_empty())
}

impl Passes {
    /// Solves all passes for a function with these tables.
    ///
    /// # Errors
    /// If the solutions cannot be updated incrementally.
    pub(crate) fn new(
        env: Environment<'_>,
        flow: FlowFacts<'_>,
        table: &ValueTable,
        inputs: Vec<Option<Value>>,
    ) -> Result<Passes, Unfit> {
        let tokens = tokens(env, table, inputs.len());
        if tokens.unconditional(table).is_some() {
            return Err(Unfit::TooLarge);
        }
        let mut all = Vec::new();
        for (pass, seeds) in seeded(&tokens, &inputs) {
            all.push((pass, Retained::new(flow, tokens.table(table, &seeds))?));
        }
        Ok(Passes { tokens, inputs: inputs.into(), all, edited: Vec::new() })
    }

    /// Whether the passes are for these inputs.
    pub(crate) fn are_of(&self, inputs: &[Option<Value>]) -> bool {
        *self.inputs == *inputs
    }

    /// Restates the values that were edited in the tables of the function since the last repair.
    ///
    /// # Errors
    /// If an image cannot be expressed with these tokens, if a computation from scratch would use
    /// other tokens, or if an input was edited. Then the passes must be dropped.
    pub(crate) fn restate(&mut self, of: &Retained) -> Result<(), Unfit> {
        self.edited.clear();
        self.edited.extend(of.edited());
        let edited: FxHashSet<Value> = self.edited.iter().copied().collect();
        let has_other_tokens = !self.tokens.are_those_of(of.edited_table());
        if has_other_tokens || self.inputs.iter().flatten().any(|input| edited.contains(input)) {
            return Err(Unfit::Full);
        }
        for (_, retained) in &mut self.all {
            retained.restate(of, |image| self.tokens.refined_image(image))?;
        }
        Ok(())
    }

    /// Repairs all passes, after an edit of control flow if `edited` is given. `outcome` is that of
    /// the function itself; the result covers all passes.
    ///
    /// # Errors
    /// If the function can no longer be updated incrementally.
    pub(crate) fn repair(
        &mut self,
        flow: FlowFacts<'_>,
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
        // Values with larger numbers stand for versions of memory.
        let of_insts =
            self.edited.iter().map(|value| value.index()).filter(move |&value| value < end);
        of_insts.filter_map(move |value| {
            let number = u32::try_from(value.checked_sub(first)?).ok()?;
            Some(InstId::from_raw(number.into()))
        })
    }

    /// The passes with their solutions.
    pub(crate) fn solutions(&self) -> impl Iterator<Item = (&Pass, &Retained)> {
        self.all.iter().map(|(pass, retained)| (pass, retained))
    }
}
