//! Shapes: what a value is as a function of the thread, and of other values.
//!
//! # What
//!
//! `value = thread(x, y, z, lane) + rest(atoms)` in the arithmetic of its width, where `thread` is a function of the thread's
//! indices alone, held as an expression that can be evaluated for each thread, and `rest` is a function of at most four other
//! values, a sum of multiples of them if that is known, with a number of low bits that are zero. Values that have no such form are
//! *atoms*: phis, loads, calls, and whatever does not depend on the thread's indices.
//!
//! Beside it: zero bits at both ends of a value, and whether it can be poison in some threads and not in others.
//!
//! This is the affine shape of Karrenberg and Hack (*Improving Performance of OpenCL on CPUs*, CC 2012) and of RV (Moll and
//! Hack, *Partial Control-Flow Linearization*, PLDI 2018), with exact functions of the indices where these have strides.
//!
//! # What for
//!
//! - [`dependence`](Shapes::dependence): what a value depends on, where that is less than its operands do: `tid >> 5`,
//!   `(x + a) - x`, `8 * x & 7`, `tid < 1024` in a workgroup of 256. How a function of the indices varies is decided by
//!   looking at all threads ([`geometry`]), so it is right for rows that are not whole waves.
//! - [`are_congruent`](Shapes::are_congruent): incoming values of a phi, arms of a select.
//! - [`access`]: what the lanes of a wave touch.
//!
//! # Why it is right
//!
//! An atom of a value dominates it, and no atom is executed again between the value and who reads it without the
//! value being so too (else there were a way around the value). So at each execution of `v`, in each thread, the equation holds
//! with the atoms as they are then. What `v` depends on beside the indices is what its atoms depend on *where `v` is*:
//! they are read there, so threads that left a cycle of an atom in different iterations are seen to.
//!
//! **Poison.** `v` may be poison where the right side is not. A value in some threads and poison in others are
//! the same to everybody but `freeze`. So nothing is dropped that may be poison: in [`Trust::Nothing`] an operation whose
//! flags can be violated, as far as ranges tell, makes an atom, and an atom is dropped only if it is never poison in some threads only.
//! [`Trust::Flags`] takes flags for granted: for addresses, which must not be poison where they are used.
//!
//! # Invariants
//!
//! - The form of a value depends on the definitions of its operands only, and these are defined before it: no fixpoint. Phis
//!   are atoms. In code that is not reached values can depend on themselves; there anything is right.
//! - Forms and expressions are interned: equal numbers are equal forms.
//!
//! # Cost
//!
//! O(1) for each instruction; a function of the indices that has not been met is evaluated for the threads of a workgroup, until
//! it is seen to vary.

pub mod access;
pub(crate) mod expr;
mod follow;
pub(crate) mod form;
mod geometry;
mod ids;
mod ops;
mod rule;

use phalanx_ir::{InstId, Opcode, Type, TypeKind, Value as Operand, ValueKind};
use phalanx_target::{SourceSet, TransferContext};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    affect::Value,
    lower::{Code, Numbering, Surroundings},
};
use expr::Exprs;
pub(crate) use form::ATOMS;
use form::{Fact, Form};
pub use geometry::Geometry;
pub(crate) use rule::{Dependence, looks};

/// What may be taken for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: what is said holds even where poison is frozen later.
    Nothing,
    /// The flags of operations: what is said holds of values that are not poison.
    Flags,
}

/// The shapes of a function.
#[derive(Clone, Debug)]
pub struct Shapes {
    trust: Trust,
    /// What varies within a wave.
    in_wave: SourceSet,
    facts: Vec<Fact>,
    exprs: Exprs,
    forms: Vec<Form>,
    numbers: FxHashMap<Form, u32>,
    /// Forms that phis are taken to have. Empty unless somebody has shown them to.
    phis: FxHashMap<InstId, Form>,
    /// How many forms and expressions there were when all were made.
    initial: usize,
}

/// Where shapes are found: the code, and the numbers of its values.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) code: Code<'a>,
    pub(crate) numbering: Numbering,
    pub(crate) around: Surroundings<'a>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(code: Code<'a>, around: Surroundings<'a>) -> Self {
        Place { code, numbering: Numbering::new(code.header), around }
    }

    /// The width of an integer type of at most 64 bits.
    #[inline]
    pub(crate) fn width(&self, ty: Type) -> Option<u8> {
        match ty {
            Type::I32 => Some(32),
            Type::I64 => Some(64),
            Type::I1 => Some(1),
            _ => match *self.code.context.type_kind(ty) {
                TypeKind::Int(bits @ 1..=64) => Some(bits as u8),
                _ => None,
            },
        }
    }
}

impl Shapes {
    /// None yet, for a function in its surroundings.
    fn empty(place: Place<'_>, trust: Trust) -> Shapes {
        let launch = place.around.launch;
        let geometry = Geometry::new(launch, place.around.target.architecture());
        Shapes {
            trust,
            in_wave: TransferContext::new(launch, place.around.lockstep).wave,
            facts: Vec::new(),
            exprs: Exprs::new(geometry),
            forms: Vec::new(),
            numbers: FxHashMap::default(),
            phis: FxHashMap::default(),
            initial: 0,
        }
    }

    /// The shapes of all values. O(instructions + operands).
    #[must_use]
    pub fn new(code: Code<'_>, around: Surroundings<'_>, trust: Trust) -> Shapes {
        Self::with_phis(Place::new(code, around), trust, FxHashMap::default())
    }

    fn with_phis(place: Place<'_>, trust: Trust, phis: FxHashMap<InstId, Form>) -> Shapes {
        let mut shapes = Self::empty(place, trust);
        shapes.phis = phis;
        shapes.grow(place);
        for &block in place.code.flow.order() {
            for inst in place.code.body.block_insts(block) {
                shapes.find(place, inst);
            }
        }
        shapes.initial = shapes.forms.len() + shapes.exprs.len();
        shapes
    }

    /// Makes room for all values.
    pub(crate) fn grow(&mut self, place: Place<'_>) {
        let arguments = place.code.header.params.len();
        let known = self.facts.len();
        let count = arguments + place.code.body.id_count();
        self.facts.resize(count.max(known), Fact::default());
        for position in known..arguments {
            self.facts[position] = self.argument(place, position as u32);
        }
    }

    /// Whether more forms are kept than are worth it, after edits.
    pub(crate) fn is_crowded(&self) -> bool {
        self.forms.len() + self.exprs.len() > 4 * self.initial + 4096
    }

    #[inline]
    pub(crate) fn fact(&self, value: Value) -> Fact {
        self.facts[value.index()]
    }

    /// Finds the fact of an instruction, and those of its operands before it.
    #[inline]
    fn find(&mut self, place: Place<'_>, inst: InstId) {
        if self.fact(place.numbering.inst(inst)).is_known {
            return;
        }
        let data = place.code.body.inst(inst);
        // Most instructions are none that is looked into.
        if !ops::is_looked_into(data.opcode) {
            self.facts[place.numbering.inst(inst).index()] = Fact::UNKNOWN;
            return;
        }
        if self.next_unknown(place, inst).is_none() {
            let fact = self.compute(place, inst);
            self.facts[place.numbering.inst(inst).index()] = fact;
            return;
        }
        self.find_behind(place, inst);
    }

    /// An operand whose fact is not known yet.
    #[inline]
    fn next_unknown(&self, place: Place<'_>, inst: InstId) -> Option<InstId> {
        if place.code.body.inst(inst).opcode == Opcode::Phi {
            return None;
        }
        let operands = place.code.body.operands(inst).iter();
        let insts = operands.filter_map(|operand| operand.as_inst());
        insts.into_iter().find(|&o| !self.fact(place.numbering.inst(o)).is_known)
    }

    /// Blocks are not in the order of dominance: goes back to what is not known, without recursion.
    #[cold]
    fn find_behind(&mut self, place: Place<'_>, inst: InstId) {
        let mut stack = vec![inst];
        let mut entered = FxHashSet::default();
        while let Some(&top) = stack.last() {
            let at = place.numbering.inst(top).index();
            let is_ready = self.facts[at].is_known
                || place.code.body.block_of(top).is_none()
                || !ops::is_looked_into(place.code.body.inst(top).opcode);
            // What is entered is taken for an atom until it is left: who meets it again is not executed.
            if !is_ready && let Some(next) = self.next_unknown(place, top) {
                if entered.insert(next) {
                    stack.push(next);
                    continue;
                }
                self.facts[place.numbering.inst(next).index()] = Fact::UNKNOWN;
                continue;
            }
            stack.pop();
            if !self.facts[at].is_known {
                self.facts[at] = self.compute(place, top);
            }
        }
    }

    /// The fact of an instruction, from those of its operands.
    #[inline]
    pub(crate) fn compute(&mut self, place: Place<'_>, inst: InstId) -> Fact {
        if place.code.body.block_of(inst).is_none() {
            return Fact::UNKNOWN;
        }
        ops::fact(self, place, inst)
    }

    /// Computes the fact of an instruction anew. Whether it is another one.
    pub(crate) fn renew(&mut self, place: Place<'_>, inst: InstId) -> bool {
        let new = match ops::is_looked_into(place.code.body.inst(inst).opcode) {
            true => self.compute(place, inst),
            false => Fact::UNKNOWN,
        };
        let at = place.numbering.inst(inst).index();
        std::mem::replace(&mut self.facts[at], new) != new
    }

    /// The number of a form plus one.
    fn number(&mut self, form: Form) -> u32 {
        if let Some(&known) = self.numbers.get(&form) {
            return known;
        }
        self.forms.push(form.clone());
        let number = self.forms.len() as u32;
        self.numbers.insert(form, number);
        number
    }

    pub(crate) fn form_of(&self, fact: Fact) -> Option<&Form> {
        self.forms.get((fact.form as usize).wrapping_sub(1))
    }

    /// The form of an operand that has one, or is a constant.
    pub(crate) fn operand(
        &mut self,
        place: Place<'_>,
        operand: Operand,
        width: u8,
    ) -> Option<Form> {
        match operand.kind() {
            ValueKind::Const(constant) => {
                let value = ids::integer(place, constant)?;
                let thread = self.exprs.constant(value, width);
                Some(Form {
                    thread,
                    rest: form::Rest::default(),
                    is_signed: true,
                    is_unsigned: true,
                })
            }
            _ => {
                let value = place.numbering.operand(operand)?;
                let fact = self.fact(value);
                if let Some(form) = self.form_of(fact) {
                    return Some(form.clone());
                }
                let thread = self.exprs.constant(0, width);
                let rest = form::Rest::atom(value, fact.zeros.min(width));
                Some(Form { thread, rest, is_signed: true, is_unsigned: true })
            }
        }
    }

    fn argument(&self, place: Place<'_>, position: u32) -> Fact {
        Fact { is_defined: ids::argument_is_defined(place, position), ..Fact::UNKNOWN }
    }
}
