//! Evaluates values under assumptions about other values.
//!
//! An [`Evaluator`] follows pure operations from a value up to the assumptions: phis with a given
//! constant, conditions that are known on a path. `and`, `or` and `select` are known when the
//! operand that decides them is. Everything else is unknown, which is always a valid answer.
//!
//! `and` of false with an unknown value may also be poison. For a branch that reads it, it is
//! false. A `freeze` of it may be any value, the same one for all readers, so the freeze is
//! unknown.
//!
//! An assumption holds for one execution of its instruction. The caller must make sure that all
//! values on the way belong to that execution. The evaluator follows no phi without an assumption.
//!
//! O(operations followed), which are bounded.

use phalanx_ir::{Const, InstId, Opcode, TypeKind, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{code::Code, fold::fold_with};

/// How many operations the evaluator follows for one value.
const OPERATIONS: usize = 64;

/// Values under assumptions. See the [module documentation](self).
pub(crate) struct Evaluator<'e, 'a> {
    code: Code<'a>,
    /// Results so far; none for a value that is known to be unknown.
    known: FxHashMap<InstId, Option<Const>>,
    /// Operations that are either their known constant or poison.
    loose: FxHashSet<InstId>,
    /// Another source of constants, for operations whose operands are unknown.
    besides: &'e dyn Fn(InstId) -> Option<Const>,
}

impl<'e, 'a> Evaluator<'e, 'a> {
    /// Makes an evaluator from constants for some instructions and another source of constants.
    pub(crate) fn new(
        code: Code<'a>,
        assumed: impl IntoIterator<Item = (InstId, Const)>,
        besides: &'e dyn Fn(InstId) -> Option<Const>,
    ) -> Self {
        let known = assumed.into_iter().map(|(inst, value)| (inst, Some(value))).collect();
        Evaluator { code, known, loose: FxHashSet::default(), besides }
    }

    /// States that some of the assumed values may be poison instead.
    pub(crate) fn loosely(mut self, insts: impl IntoIterator<Item = InstId>) -> Self {
        self.loose.extend(insts);
        self
    }

    /// Whether a known value may be poison instead.
    pub(crate) fn is_loose(&self, value: Value) -> bool {
        value.as_inst().is_some_and(|inst| self.loose.contains(&inst))
    }

    /// The constant that a value is.
    pub(crate) fn value(&mut self, value: Value) -> Option<Const> {
        if let Some(constant) = value.as_const() {
            return Some(constant);
        }
        let mut work = vec![value.as_inst()?];
        let mut followed = 0;
        while let Some(&inst) = work.last() {
            if self.known.contains_key(&inst) {
                work.pop();
                continue;
            }
            let operands = self.code.body.operands(inst);
            let is_followed = followed < OPERATIONS && self.is_operation(inst);
            let open = |known: &FxHashMap<_, _>| {
                let mut all = operands.iter().filter_map(|operand| operand.as_inst());
                all.find(|operand| !known.contains_key(operand))
            };
            match open(&self.known).filter(|_| is_followed) {
                // An operation that reads itself is unreachable.
                Some(operand) if work.contains(&operand) => {
                    self.known.insert(operand, None);
                }
                Some(operand) => {
                    followed += 1;
                    work.push(operand);
                }
                None => {
                    let found = is_followed.then(|| self.operation(inst)).flatten();
                    let found = found.or_else(|| (self.besides)(inst));
                    self.known.insert(inst, found);
                    work.pop();
                }
            }
        }
        self.constant(value)
    }

    /// The known truth value of a condition.
    pub(crate) fn condition(&mut self, value: Value) -> Option<bool> {
        let constant = self.value(value)?;
        let is_bit = self.code.type_of(constant.into()) == phalanx_ir::Type::I1;
        self.code.int(constant.into()).filter(|_| is_bit).map(|bit| bit != 0)
    }

    fn is_operation(&self, inst: InstId) -> bool {
        let opcode = self.code.body.inst(inst).opcode;
        let divides = matches!(opcode, Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem);
        divides || self.code.is_pure_operation(inst)
    }

    fn constant(&self, value: Value) -> Option<Const> {
        match value.as_inst() {
            Some(inst) => self.known.get(&inst).copied().flatten(),
            None => value.as_const(),
        }
    }

    fn operation(&mut self, inst: InstId) -> Option<Const> {
        let operands = self.code.body.operands(inst);
        let values: Vec<Option<Const>> = operands.iter().map(|&v| self.constant(v)).collect();
        let opcode = self.code.body.inst(inst).opcode;
        let is_decided = matches!(opcode, Opcode::And | Opcode::Or) && values.contains(&None);
        if is_decided || operands.iter().any(|&operand| self.is_loose(operand)) {
            if opcode == Opcode::Freeze {
                return None;
            }
            self.loose.insert(inst);
        }
        match (opcode, values.as_slice()) {
            (Opcode::Select, &[Some(condition), one, other]) => {
                match self.code.int(condition.into())? {
                    0 => other,
                    _ => one,
                }
            }
            (Opcode::And | Opcode::Or, &[one, other]) => {
                let decides = |value: &Const| self.decides(opcode, *value);
                match [one, other].into_iter().flatten().find(decides) {
                    Some(value) => Some(value),
                    None => self.fold(inst, &values),
                }
            }
            _ => self.fold(inst, &values),
        }
    }

    fn fold(&self, inst: InstId, values: &[Option<Const>]) -> Option<Const> {
        let values: Option<Vec<Const>> = values.iter().copied().collect();
        fold_with(&self.code, inst, &values?)
    }

    /// Whether one known operand of `and` or `or` decides the result.
    fn decides(&self, opcode: Opcode, value: Const) -> bool {
        let ones = match *self.code.context.type_kind(self.code.type_of(value.into())) {
            TypeKind::Int(bits @ 1..=128) => u128::MAX >> (128 - bits),
            _ => return false,
        };
        self.code.int(value.into()) == Some(if opcode == Opcode::And { 0 } else { ones })
    }
}
