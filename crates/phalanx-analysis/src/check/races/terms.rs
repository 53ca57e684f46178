//! Values of threads: numbers if they are known, and terms if they are not.
//!
//! A [`Val`] is a *base* plus an offset. A value without a base is a number. A base stands for an
//! unknown value, such as an argument of the kernel or the address of a variable:
//!
//! ```text
//! %i = mul i32 %n, 4             ; n * 4 + 0        %n is an argument
//! %j = add i32 %i, %tid          ; n * 4 + 7        in thread 7
//! %p = getelementptr i32, ptr addrspace(3) @tile, i32 %tid   ; @tile + 28
//! ```
//!
//! Bases are interned by how they are computed. So two values with one base differ by the
//! difference of their offsets, whichever threads computed them. Extensions are assumed not to
//! wrap: an index that wraps leads out of its object.
//!
//! O(operands) for each operation.

use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Type,
    inst::{InstFlags, IntPredicate},
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::evaluate::{evaluate, ones, signed};
use crate::code::Code;

/// A term that is not a number; [`Base::NONE`] is number 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Base(u32);

impl Base {
    pub(super) const NONE: Base = Base(0);
}

/// A value: an unknown base, and an offset from it.
///
/// A number has no base, and is the bits of its type. The offset of other values is signed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Val {
    pub(super) base: Base,
    pub(super) offset: i64,
}

impl Val {
    pub(super) const fn number(number: u64) -> Val {
        Val { base: Base::NONE, offset: number as i64 }
    }

    pub(super) const fn of(base: Base) -> Val {
        Val { base, offset: 0 }
    }

    pub(super) fn as_number(self) -> Option<u64> {
        (self.base == Base::NONE).then_some(self.offset as u64)
    }
}

pub(super) type Vals = SmallVec<[Val; 3]>;

/// How a base is computed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Term {
    /// An argument of the kernel.
    Argument(u32),
    /// The address of a variable.
    Variable(GlobalName),
    /// The address of private memory: an `alloca` of a function, at this depth of calls.
    Slot { unit: u32, inst: InstId, depth: u32 },
    /// A constant that is no integer.
    Constant(Const),
    /// The number of the workgroup in the grid, by the call that gives it and its operands.
    Block(&'static str, Vals),
    /// The result of another call that depends on its operands alone, and is the same in the
    /// workgroup.
    Register(&'static str, Vals),
    /// A pure operation. Its number, predicate and type are those of the instruction.
    Pure { opcode: Opcode, sub: u8, ty: Type, operands: Vals },
    /// Anything else: one execution of an instruction.
    Placed { unit: u32, inst: InstId, count: u32, operands: Vals },
}

/// All terms of a run.
#[derive(Default)]
pub(super) struct Terms {
    known: FxHashMap<Term, u32>,
    /// The terms by number, and whether each is made from arguments and the number of the workgroup
    /// alone.
    all: Vec<(Term, bool)>,
}

impl Terms {
    pub(super) fn intern(&mut self, term: Term) -> Base {
        if let Some(&known) = self.known.get(&term) {
            return Base(known);
        }
        let is_of_launch = match &term {
            Term::Argument(_) => true,
            Term::Block(_, operands)
            | Term::Register(_, operands)
            | Term::Pure { operands, .. } => {
                operands.iter().all(|operand| self.is_of_launch(*operand))
            }
            _ => false,
        };
        self.all.push((term.clone(), is_of_launch));
        let number = self.all.len() as u32;
        self.known.insert(term, number);
        Base(number)
    }

    pub(super) fn get(&self, base: Base) -> Option<&Term> {
        let at = (base.0 as usize).checked_sub(1)?;
        self.all.get(at).map(|(term, _)| term)
    }

    /// Whether a value depends on the launch alone: on arguments, and on the number of the
    /// workgroup.
    pub(super) fn is_of_launch(&self, value: Val) -> bool {
        match (value.base.0 as usize).checked_sub(1) {
            None => true,
            Some(at) => self.all.get(at).is_some_and(|(_, is_of_launch)| *is_of_launch),
        }
    }

    /// Whether an address is the sum of an object and of what depends on the launch alone. False
    /// for a sum of too many parts.
    pub(super) fn is_of_launch_behind(&self, object: Base, address: Base) -> bool {
        let mut work = vec![address];
        for _ in 0..64 {
            let Some(at) = work.pop() else { return true };
            if at == object || self.is_of_launch(Val::of(at)) {
                continue;
            }
            match self.get(at) {
                Some(Term::Pure { opcode: Opcode::Add, operands, .. }) => {
                    work.extend(operands.iter().map(|operand| operand.base));
                }
                _ => return false,
            }
        }
        false
    }

    /// The largest number that an unknown part of an address can be: of data that is extended from
    /// fewer bits, masked or a remainder, and of sums and products of these.
    /// `object` counts as 0. None if it is not bounded so.
    pub(super) fn most(&self, object: Base, base: Base, depth: u32) -> Option<i64> {
        if base == object || base == Base::NONE {
            return Some(0);
        }
        let depth = depth.checked_sub(1)?;
        let Term::Pure { opcode, sub, operands, .. } = self.get(base)? else { return None };
        let number = |value: &Val| value.as_number().and_then(|number| i64::try_from(number).ok());
        match (opcode, &operands[..]) {
            (Opcode::ZExt, [of]) => {
                let known = self.most(object, of.base, depth);
                known
                    .filter(|_| of.offset == 0)
                    .or_else(|| 1i64.checked_shl(u32::from(*sub))?.checked_sub(1))
            }
            // Without the sign bit.
            (Opcode::SExt, [of]) if of.offset == 0 => {
                let limit = 1i64.checked_shl(u32::from(*sub).checked_sub(1)?)?;
                self.most(object, of.base, depth).filter(|&most| most < limit)
            }
            (Opcode::And, [a, b]) => number(a).or(number(b)),
            (Opcode::URem, [_, by]) => number(by)?.checked_sub(1),
            (Opcode::Add, [a, b]) => {
                let offset = a.offset.checked_add(b.offset)?;
                let sum = self
                    .most(object, a.base, depth)?
                    .checked_add(self.most(object, b.base, depth)?)?;
                sum.checked_add(offset)
            }
            (Opcode::Mul, [a, by]) => {
                let most = self.most(object, a.base, depth)?.checked_add(a.offset)?;
                number(by)?.checked_mul(most)
            }
            _ => None,
        }
    }

    /// The result of an instruction with integers or addresses as operands.
    ///
    /// None if it is poison, undefined, or not tracked.
    pub(super) fn compute(
        &mut self,
        code: Code<'_>,
        inst: InstId,
        operands: &[Val],
        (bits, from): (u32, u32),
    ) -> Option<Val> {
        let numbers: Option<SmallVec<[u64; 3]>> =
            operands.iter().map(|value| value.as_number()).collect();
        if let Some(numbers) = numbers {
            let result = evaluate(code, inst, &numbers, bits, from)?;
            return Some(Val::number(result & ones(bits)));
        }
        let data = code.body.inst(inst);
        let with_sign = |value: Val| match value.as_number() {
            Some(number) => signed(number, from),
            None => value.offset,
        };
        let (opcode, ty) = (data.opcode, data.ty);
        let pure =
            |operands: &[Val], sub| Term::Pure { opcode, sub, ty, operands: operands.into() };
        match (opcode, operands) {
            (Opcode::Or, _) if !data.flags.contains(InstFlags::DISJOINT) => {
                Some(Val::of(self.intern(pure(operands, 0))))
            }
            (Opcode::Add | Opcode::Or, &[a, b]) => {
                let offset = with_sign(a).wrapping_add(with_sign(b));
                let base = self.sum(a.base, b.base, ty);
                Some(Val { base, offset: cut(offset, bits) })
            }
            (Opcode::Sub, &[a, b]) => {
                let offset = with_sign(a).wrapping_sub(with_sign(b));
                if a.base == b.base {
                    return Some(Val::number(offset as u64 & ones(bits)));
                }
                let base = match b.base {
                    Base::NONE => a.base,
                    _ => self.intern(pure(&[Val::of(a.base), Val::of(b.base)], 0)),
                };
                Some(Val { base, offset: cut(offset, bits) })
            }
            (Opcode::Mul, &[a, b]) if a.base == Base::NONE || b.base == Base::NONE => {
                let (value, by) = if b.base == Base::NONE { (a, b) } else { (b, a) };
                self.product(value, with_sign(by), (ty, bits))
            }
            (Opcode::Shl, &[a, by]) if by.base == Base::NONE && by.offset < 32 => {
                self.product(a, 1i64.checked_shl(by.offset as u32)?, (ty, bits))
            }
            (Opcode::SExt | Opcode::ZExt, &[a]) => {
                let base = self.intern(pure(&[Val::of(a.base)], from as u8));
                Some(Val { base, offset: a.offset })
            }
            (Opcode::Trunc, &[a]) => {
                let base = self.intern(pure(&[Val::of(a.base)], from as u8));
                Some(Val { base, offset: cut(a.offset, bits) })
            }
            (Opcode::ICmp, &[a, b]) if a.base == b.base => {
                let holds = data.int_predicate();
                let order = a.offset.cmp(&b.offset);
                Some(Val::number(u64::from(holds.holds(order, order))))
            }
            (Opcode::ICmp, _) => {
                // The order of values is that of signed numbers.
                let number = |value: &Val| Val { offset: with_sign(*value), ..*value };
                let operands: Vals = operands.iter().map(number).collect();
                Some(Val::of(self.intern(pure(&operands, data.sub))))
            }
            _ => Some(Val::of(self.intern(pure(operands, data.sub)))),
        }
    }

    /// The sum of two bases.
    pub(super) fn sum(&mut self, a: Base, b: Base, ty: Type) -> Base {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        if a == Base::NONE {
            return b;
        }
        let operands = [Val::of(a), Val::of(b)].into_iter().collect();
        self.intern(Term::Pure { opcode: Opcode::Add, sub: 0, ty, operands })
    }

    /// A value times a number.
    pub(super) fn product(&mut self, value: Val, by: i64, (ty, bits): (Type, u32)) -> Option<Val> {
        if let Some(number) = value.as_number() {
            return Some(Val::number((number as i64).wrapping_mul(by) as u64 & ones(bits)));
        }
        match by {
            0 => return Some(Val::number(0)),
            1 => return Some(value),
            _ => {}
        }
        let operands = [Val::of(value.base), Val::number(by as u64)].into_iter().collect();
        let base = self.intern(Term::Pure { opcode: Opcode::Mul, sub: 0, ty, operands });
        Some(Val { base, offset: cut(value.offset.checked_mul(by)?, bits) })
    }

    /// The terms that a base is made from, and whether each is combined by more than sums, products
    /// and extensions.
    pub(super) fn leaves(&self, base: Base) -> Vec<(Base, bool)> {
        let mut leaves = Vec::new();
        let mut work = vec![(base, false)];
        for _ in 0..64 {
            let Some((at, is_derived)) = work.pop() else { break };
            match self.get(at) {
                Some(Term::Pure { opcode, operands, .. }) => {
                    let is_linear = matches!(
                        opcode,
                        Opcode::Add
                            | Opcode::Sub
                            | Opcode::Mul
                            | Opcode::SExt
                            | Opcode::ZExt
                            | Opcode::Trunc
                    );
                    let operands = operands.iter().map(|operand| operand.base);
                    work.extend(operands.map(|base| (base, is_derived || !is_linear)));
                }
                Some(_) => leaves.push((at, is_derived)),
                None => {}
            }
        }
        leaves
    }

    /// The comparison that a base stands for: the predicate and two values.
    pub(super) fn comparison(&self, base: Base) -> Option<(IntPredicate, Val, Val)> {
        match self.get(base)? {
            Term::Pure { opcode: Opcode::ICmp, sub, operands, .. } => {
                let &[a, b] = &operands[..] else { return None };
                Some((IntPredicate::from_number(*sub), a, b))
            }
            _ => None,
        }
    }
}

/// The low bits of an offset as a signed number.
fn cut(offset: i64, bits: u32) -> i64 {
    signed(offset as u64 & ones(bits), bits)
}
