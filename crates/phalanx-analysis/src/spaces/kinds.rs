//! The answer of the analysis: which memories each address may lead to.

use std::sync::Arc;

use phalanx_ir::{Body, Const, InstId, Value, ValueKind};

use super::{numbers::number, pages::Pages};
use crate::code::SpaceSet;

/// Which memories each pointer of a function may lead to, and each integer that holds an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryKinds {
    /// By instruction.
    pub(super) values: Pages,
    pub(super) arguments: Box<[SpaceSet]>,
    /// Operands whose set is smaller than that of their values, sorted.
    pub(super) uses: Box<[((InstId, u32), SpaceSet)]>,
    /// Constants that are accessed or passed, sorted.
    pub(super) constants: Arc<[(Const, SpaceSet)]>,
}

impl MemoryKinds {
    pub(super) fn new(
        values: &[SpaceSet],
        arguments: Box<[SpaceSet]>,
        uses: Vec<((InstId, u32), SpaceSet)>,
        constants: Vec<(Const, SpaceSet)>,
    ) -> Self {
        MemoryKinds {
            values: Pages::new(values),
            arguments,
            uses: uses.into(),
            constants: constants.into(),
        }
    }

    /// Which memories a value may lead to, wherever it is used. Anything, if nothing is known.
    #[must_use]
    pub fn of(&self, value: Value) -> SpaceSet {
        let known = match value.kind() {
            ValueKind::Inst(inst) => self.values.get(number(inst)),
            ValueKind::Arg(position) => self.arguments.get(position as usize).copied(),
            ValueKind::Const(constant) => {
                let at = self.constants.binary_search_by_key(&constant, |(of, _)| *of).ok();
                at.map(|at| self.constants[at].1)
            }
            _ => None,
        };
        known.unwrap_or(SpaceSet::ALL)
    }

    /// Which memories an operand may lead to where an instruction reads it. Tests of the address
    /// may exclude memories that its value may lead to elsewhere.
    #[must_use]
    pub fn at(&self, body: &Body, user: InstId, index: u32) -> SpaceSet {
        let key = (number(user), index);
        match self.uses.binary_search_by_key(&key, |((inst, at), _)| (number(*inst), *at)) {
            Ok(at) => self.uses[at].1,
            Err(_) if !body.has(user) => SpaceSet::ALL,
            Err(_) => {
                body.operands(user).get(index as usize).map_or(SpaceSet::ALL, |&v| self.of(v))
            }
        }
    }

    /// Instructions whose results have another set than in `old`; none if arguments, constants or
    /// refined operands differ. O(entries / 4096) if the tables share pages, and O(4096) for each
    /// page that differs.
    #[must_use]
    pub fn other_results(&self, old: &Self) -> Option<Vec<InstId>> {
        let is_same = self.arguments == old.arguments
            && self.uses == old.uses
            && self.constants == old.constants;
        let inst = |at: usize| InstId::from_raw((at as u32).into());
        let values = || self.values.others(&old.values, SpaceSet::ALL).into_iter();
        is_same.then(|| values().map(inst).collect())
    }

    /// The sets of the arguments.
    #[must_use]
    pub fn arguments(&self) -> &[SpaceSet] {
        &self.arguments
    }

    /// The operands of an instruction whose sets are smaller than those of their values.
    pub fn refined_of(&self, user: InstId) -> impl Iterator<Item = u32> + '_ {
        let first = self.uses.partition_point(|((inst, _), _)| number(*inst) < number(user));
        let own = self.uses[first..].iter().take_while(move |((inst, _), _)| *inst == user);
        own.map(|((_, index), _)| *index)
    }

    /// The operands whose sets are smaller than those of their values, because of tests.
    #[must_use]
    pub fn refined_uses(&self) -> &[((InstId, u32), SpaceSet)] {
        &self.uses
    }
}
