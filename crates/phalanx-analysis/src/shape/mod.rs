//! Shapes: values as functions of the thread and of other values.
//!
//! # What
//!
//! `value = thread(x, y, z, lane) + rest(atoms)`, in arithmetic modulo the width. `thread` is a
//! function of the thread's indices alone: an expression that can be evaluated for each thread.
//! `rest` is a function of at most four other values, with a number of low bits that are zero; if
//! possible, a sum of multiples of these values. Values without such a form are *atoms*: phis,
//! loads, calls, and all values that do not depend on the thread's indices.
//!
//! ```text
//! %t = tid.x                 ; thread: x              rest: 0
//! %i = add i32 %t, %n        ; thread: x              rest: %n
//! %j = mul i32 %i, 4         ; thread: 4 * x          rest: 4 * %n, two low bits are zero
//! %w = lshr i32 %t, 5        ; thread: x >> 5         rest: 0, equal in each wave of 32 lanes
//! ```
//!
//! Besides the form, a shape has the known zero bits at both ends of a value, and whether it can be
//! poison in some threads and not in others.
//!
//! This is the affine shape of Karrenberg and Hack (*Improving Performance of OpenCL on CPUs*,
//! CC 2012) and of RV (Moll and Hack, *Partial Control-Flow Linearization*, PLDI 2018), with exact
//! functions of the indices where these have strides.
//!
//! # What for
//!
//! - [`dependence`](Shapes::dependence): the sources of a value, if it depends on less than its
//!   operands do: `tid >> 5`, `(x + a) - x`, `8 * x & 7`, `tid < 1024` in a workgroup of 256. To
//!   decide how a function of the indices varies, it is evaluated for all threads ([`geometry`]).
//!   So the answer is right even if rows are not whole waves.
//! - [`are_congruent`](Shapes::are_congruent): incoming values of a phi, arms of a select.
//! - [`access`]: what the lanes of a wave touch.
//!
//! # Why it is right
//!
//! An atom of a value dominates it. Between a value and its users, no atom is executed again unless
//! the value is, too (else there would be a path around the value). So at each execution of `v`, in
//! each thread, the equation holds with the current values of the atoms. Besides the indices, `v`
//! depends on what its atoms depend on *at `v`*. Since the atoms are read there, threads that left
//! a cycle around an atom in different iterations are accounted for.
//!
//! **Poison.** `v` may be poison if the right side is not. If a value is poison in some threads and
//! equal in all others, it counts as uniform, since only `freeze` can tell the difference. So a
//! form must not hide possible poison. With [`Trust::Nothing`], an operation is an atom if its
//! flags may be violated according to known ranges. An atom may cancel out only if it is never
//! poison in some threads only. [`Trust::Flags`] assumes that flags hold: it is for addresses,
//! which must not be poison when they are used. A frozen value has no such use.
//!
//! # Invariants
//!
//! - The form of a value depends only on the definitions of its operands, which come before it. So
//!   no fixpoint is needed: phis are atoms. In unreachable code a value can depend on itself; there
//!   any form is right.
//! - Expressions are interned: equal numbers are equal functions. Each value has a form of its own.
//!
//! # Cost
//!
//! O(1) for each instruction. A new function of the indices is evaluated for the threads of a
//! workgroup, until it is seen to vary.

pub mod access;
mod algebra;
pub mod banks;
pub(crate) mod expr;
pub(crate) mod form;
mod geometry;
mod ids;
mod ops;
mod rule;
mod strides;
mod update;

use phalanx_core::affect::Value;
use phalanx_ir::{Const, InstId, Opcode, Type, TypeKind, Value as Operand, ValueKind};
use phalanx_target::{Intrinsic, Scope, varying};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::code::{Code, Environment, Numbering};
use expr::{Exprs, Varying};
pub(crate) use form::ATOMS;
use form::{Fact, Form, Progress};
pub use geometry::Geometry;
pub(crate) use rule::{Dependence, asks};
pub(crate) use strides::compared_with;

/// What shapes may assume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: facts hold even for values that are poison and frozen later.
    Nothing,
    /// The flags of operations hold: facts are about values that are not poison.
    Flags,
    /// The flags hold, and indices do not wrap: the lanes that execute an operation together differ
    /// by the same amount before and after the extension of a 32-bit number. Forms that use this
    /// assumption are [marked](form::Rest::assumes).
    Indices,
}

/// The shapes of a function.
#[derive(Clone, Debug)]
pub struct Shapes {
    trust: Trust,
    /// The sources that vary within a wave, and within a quad.
    varying: Varying,
    facts: Vec<Fact>,
    exprs: Exprs,
    forms: Vec<Form>,
    /// Assumed forms of phis. Empty unless the caller has proven them, or is about to.
    phis: FxHashMap<InstId, Form>,
    /// A cache: the intrinsic of each callee.
    callees: FxHashMap<Const, Option<Intrinsic>>,
    /// The number of forms and expressions before the first edit.
    initial: usize,
    /// Some value depends on itself other than through a phi.
    is_circular: bool,
    /// A buffer for the queue of incremental updates.
    room: Vec<update::Queued>,
}

/// The context of a computation: the code, the numbers of its values, and its environment.
#[derive(Clone, Copy)]
pub(crate) struct ShapeContext<'a> {
    pub(crate) code: Code<'a>,
    pub(crate) numbering: Numbering,
    pub(crate) env: Environment<'a>,
}

impl<'a> ShapeContext<'a> {
    pub(crate) fn new(code: Code<'a>, env: Environment<'a>) -> Self {
        ShapeContext { code, numbering: Numbering::new(code.header), env }
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
    /// An empty table for a function.
    fn empty(place: ShapeContext<'_>, trust: Trust) -> Shapes {
        let launch = place.env.launch;
        let geometry = Geometry::new(launch, place.env.target.architecture());
        Shapes {
            trust,
            varying: Varying {
                in_wave: varying(Scope::Wave, launch),
                in_quad: varying(Scope::Quad, launch),
            },
            facts: Vec::new(),
            exprs: Exprs::new(geometry),
            forms: Vec::new(),
            phis: FxHashMap::default(),
            callees: FxHashMap::default(),
            initial: 0,
            is_circular: false,
            room: Vec::new(),
        }
    }

    /// Shapes that are computed lazily.
    #[must_use]
    pub fn new(code: Code<'_>, env: Environment<'_>, trust: Trust) -> Shapes {
        Self::with_phis(ShapeContext::new(code, env), trust, FxHashMap::default())
    }

    fn with_phis(place: ShapeContext<'_>, trust: Trust, phis: FxHashMap<InstId, Form>) -> Shapes {
        Shapes { phis, ..Self::empty(place, trust) }
    }

    /// Makes room for all values.
    #[cold]
    fn grow(&mut self, place: ShapeContext<'_>) {
        let arguments = place.code.header.params.len();
        let known = self.facts.len();
        let count = arguments + place.code.body.id_count();
        self.facts.resize(count.max(known), Fact::default());
        for position in known..arguments {
            self.facts[position] = self.argument(place, position as u32);
        }
    }

    /// Whether edits have left so many unused forms that a new start is better.
    fn is_crowded(&self) -> bool {
        self.forms.len() + self.exprs.len() > 4 * self.initial + 4096
    }

    /// Whether the next edit can be an incremental update, and that is worthwhile.
    pub(crate) fn can_be_updated(&self) -> bool {
        !self.is_crowded() && !self.is_circular
    }

    /// Values whose facts have been computed.
    fn known(&self) -> impl Iterator<Item = Value> + '_ {
        let known = self.facts.iter().enumerate().filter(|(_, fact)| fact.is_known());
        known.map(|(number, _)| Value::new(number))
    }

    /// Marks the end of the computation from scratch; incremental updates may follow.
    pub(crate) fn settle(&mut self) {
        self.initial = self.forms.len() + self.exprs.len();
    }

    /// The fact of a value that has been computed before.
    #[inline]
    pub(crate) fn fact(&self, value: Value) -> Fact {
        self.facts.get(value.index()).copied().unwrap_or_default()
    }

    /// Computes the fact of an instruction, and first those of its operands.
    #[inline]
    pub(crate) fn find(&mut self, place: ShapeContext<'_>, inst: InstId) -> Fact {
        let at = place.numbering.inst(inst).index();
        match self.facts.get(at) {
            Some(fact) if fact.is_known() => return *fact,
            Some(_) => {}
            None => self.grow(place),
        }
        // Most instructions are always atoms.
        if !ops::is_looked_into(place.code.body.inst(inst).opcode) {
            self.facts[at] = Fact::UNKNOWN;
            return Fact::UNKNOWN;
        }
        match self.next_unknown(place, inst) {
            None => self.facts[at] = self.compute(place, inst),
            Some(_) => self.find_behind(place, inst),
        }
        self.facts[at]
    }

    /// An operand whose fact is not known yet and has to be computed.
    #[inline]
    fn next_unknown(&mut self, place: ShapeContext<'_>, inst: InstId) -> Option<InstId> {
        let body = place.code.body;
        if body.inst(inst).opcode == Opcode::Phi {
            return None;
        }
        for operand in body.operands(inst).iter().filter_map(|operand| operand.as_inst()) {
            let at = place.numbering.inst(operand).index();
            if self.facts[at].is_known() {
                continue;
            }
            let opcode = body.inst(operand).opcode;
            if ops::is_looked_into(opcode) && opcode != Opcode::Phi {
                return Some(operand);
            }
            self.facts[at] = self.compute(place, operand);
        }
        None
    }

    /// Computes missing facts of operands, and then that of the instruction, without recursion.
    #[cold]
    fn find_behind(&mut self, place: ShapeContext<'_>, inst: InstId) {
        let mut stack: SmallVec<[InstId; 16]> = smallvec![inst];
        while let Some(&top) = stack.last() {
            let at = place.numbering.inst(top).index();
            if !self.facts[at].is_known()
                && let Some(next) = self.next_unknown(place, top)
            {
                let fact = &mut self.facts[place.numbering.inst(next).index()];
                match fact.progress {
                    Progress::New => {
                        fact.progress = Progress::Entered;
                        stack.push(next);
                    }
                    // In unreachable code a value can depend on itself. Then the result depends on
                    // the order.
                    _ => {
                        *fact = Fact::UNKNOWN;
                        self.is_circular = true;
                    }
                }
                continue;
            }
            stack.pop();
            if !self.facts[at].is_known() {
                self.facts[at] = self.compute(place, top);
            }
        }
    }

    /// The fact of an instruction, from those of its operands.
    #[inline]
    fn compute(&mut self, place: ShapeContext<'_>, inst: InstId) -> Fact {
        let body = place.code.body;
        match ops::is_looked_into(body.inst(inst).opcode) && body.block_of(inst).is_some() {
            true => ops::fact(self, place, inst),
            false => Fact::UNKNOWN,
        }
    }

    /// Computes the fact of an instruction again. Returns whether it has changed.
    fn renew(&mut self, place: ShapeContext<'_>, inst: InstId) -> bool {
        let at = place.numbering.inst(inst).index();
        let old = std::mem::take(&mut self.facts[at]);
        let new = self.find(place, inst);
        let is_equal = Fact { form: 0, ..old } == Fact { form: 0, ..new }
            && self.form_of(old) == self.form_of(new);
        // The new form is the last one in the list: move it to the place of the old one.
        if old.form != 0 && new.form as usize == self.forms.len() {
            self.forms.swap_remove(old.form as usize - 1);
            self.facts[at].form = old.form;
        }
        !is_equal
    }

    /// Stores a form, and returns its number plus one.
    fn keep(&mut self, form: Form) -> u32 {
        self.forms.push(form);
        self.forms.len() as u32
    }

    pub(crate) fn form_of(&self, fact: Fact) -> Option<&Form> {
        self.forms.get((fact.form as usize).wrapping_sub(1))
    }

    /// The form of an operand that has one, or is a constant.
    pub(crate) fn operand(
        &mut self,
        place: ShapeContext<'_>,
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
                let fact = match operand.as_inst() {
                    Some(inst) => self.find(place, inst),
                    None => self.fact(value),
                };
                if let Some(form) = self.form_of(fact) {
                    return Some(form.clone());
                }
                let thread = self.exprs.constant(0, width);
                let rest = form::Rest::atom(value, fact.zeros.min(width));
                Some(Form { thread, rest, is_signed: true, is_unsigned: true })
            }
        }
    }

    fn argument(&self, place: ShapeContext<'_>, position: u32) -> Fact {
        Fact { is_defined: ids::argument_is_defined(place, position), ..Fact::UNKNOWN }
    }
}
