//! Whether two accesses may touch the same bytes.
//!
//! # What
//!
//! The question is about one thread and one moment: both addresses as they are when what they are made from has been computed, the
//! last instance of each instruction. `No` says that no byte is in both ranges then; nothing is said of different iterations of a loop
//! around what the addresses are made from.
//!
//! | answer | because |
//! |---|---|
//! | no | the address spaces do not overlap |
//! | no | the addresses lead to different memories, as far as [`spaces`](crate::spaces) knows |
//! | no, partial, must | both are made from one address by constant steps: ranges are compared |
//! | no | made from two different objects: stack slots, variables of the module, `noalias` arguments, results of `noalias` calls |
//! | no | a stack slot, and an argument |
//! | no | a stack slot whose address goes nowhere, and anything that is not made from it |
//! | may | anything else; types may say no where addresses do not ([`tbaa`](super::tbaa)) |
//!
//! `must` is said when both start at one byte, whatever their sizes, as LLVM does; `partial` when they overlap otherwise.
//!
//! # How
//!
//! An address is taken apart into what it is made from and a distance ([`Address`]), a bounded number of steps up. A phi or selection is not
//! looked through. O(steps) per address.

use phalanx_ir::{
    GlobalName, InstId, Opcode, TypeKind, Value, ValueKind, attributes::AttrKind,
    constant::ConstKind,
};
use phalanx_target::address_space::AddressSpace;

use super::private::{PrivateMemory, value_type};
use super::sizes::TypeSizes;
use crate::{
    lower::{Code, Surroundings},
    spaces::{MemoryKinds, SpaceModel},
};

/// How two accesses relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Alias {
    /// They touch no common byte.
    No,
    /// Nothing is known.
    May,
    /// They overlap, and start at different bytes.
    Partial,
    /// They start at the same byte.
    Must,
}

/// What an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The address.
    pub address: Value,
    /// How many bytes from there on, if it is known.
    pub size: Option<u64>,
}

/// An address, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What it is made from.
    pub base: Value,
    /// How far from there, if that is a constant.
    pub offset: Option<i64>,
}

/// How many steps of an address are looked at.
const STEPS: usize = 64;

/// Answers about the accesses of one function.
pub struct AliasQuery<'a> {
    code: Code<'a>,
    around: Surroundings<'a>,
    private: &'a PrivateMemory,
    is_variable: &'a dyn Fn(GlobalName) -> bool,
    sizes: TypeSizes<'a>,
    kinds: Option<&'a MemoryKinds>,
}

/// What an address is made from, as far as that is an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    /// A stack slot. Whether its address goes nowhere.
    Slot(bool),
    /// A variable of the module.
    Variable,
    /// An argument that nothing else leads to while the function runs.
    NoAliasArgument,
    /// Memory that a call has just made.
    Fresh,
    /// An argument.
    Argument,
    /// Anything.
    Unknown,
}

impl Object {
    /// Whether it is apart from every other identified object.
    fn is_identified(self) -> bool {
        !matches!(self, Object::Argument | Object::Unknown)
    }

    /// Whether it came into being in this run of the function, or is held by it alone.
    fn is_of_function(self) -> bool {
        matches!(self, Object::Slot(_) | Object::NoAliasArgument | Object::Fresh)
    }
}

impl<'a> AliasQuery<'a> {
    /// About a function; `is_variable` says which names are variables of the module, each an object of its own.
    #[must_use]
    pub fn new(
        code: Code<'a>,
        around: Surroundings<'a>,
        private: &'a PrivateMemory,
        is_variable: &'a dyn Fn(GlobalName) -> bool,
    ) -> Self {
        let sizes = TypeSizes::new(code.context, around.layout);
        Self { code, around, private, is_variable, sizes, kinds: None }
    }

    /// The same, with what is known of where addresses lead.
    #[must_use]
    pub fn with_kinds(self, kinds: Option<&'a MemoryKinds>) -> Self {
        Self { kinds, ..self }
    }

    /// Whether both addresses may lead to one memory.
    fn may_meet(&self, a: Value, b: Value) -> bool {
        let Some(kinds) = self.kinds else { return true };
        let model = SpaceModel::new(self.around.target.architecture());
        model.may_overlap(kinds.of(a), kinds.of(b))
    }

    /// What a load, store or atomic operation accesses.
    pub fn location(&mut self, inst: InstId) -> Option<Location> {
        let body = self.code.body;
        let operands = body.operands(inst);
        let (address, ty) = match body.inst(inst).opcode {
            Opcode::Load => (operands[0], body.inst(inst).ty),
            Opcode::Store => (operands[1], value_type(self.code, operands[0])?),
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                (operands[0], value_type(self.code, operands[1])?)
            }
            _ => return None,
        };
        Some(Location { address, size: self.sizes.store_size(ty) })
    }

    /// How two accesses relate.
    pub fn alias(&mut self, a: Location, b: Location) -> Alias {
        if a.size == Some(0) || b.size == Some(0) {
            return Alias::No;
        }
        if let (Some(a), Some(b)) = (self.space(a.address), self.space(b.address))
            && !a.may_overlap(b)
        {
            return Alias::No;
        }
        if !self.may_meet(a.address, b.address) {
            return Alias::No;
        }
        let (from, to) = (self.address(a.address), self.address(b.address));
        if from.base == to.base {
            return ranges((from.offset, a.size), (to.offset, b.size));
        }
        if let (Some(a), Some(b)) = (self.space(from.base), self.space(to.base))
            && !a.may_overlap(b)
        {
            return Alias::No;
        }
        match (self.object(from.base), self.object(to.base)) {
            (x, y) if x.is_identified() && y.is_identified() => Alias::No,
            (x, Object::Argument) | (Object::Argument, x) if x.is_of_function() => Alias::No,
            (Object::Slot(true), _) | (_, Object::Slot(true)) => Alias::No,
            _ => Alias::May,
        }
    }

    /// Takes an address apart.
    pub fn address(&mut self, address: Value) -> Address {
        let body = self.code.body;
        let mut at = Address { base: address, offset: Some(0) };
        for _ in 0..STEPS {
            let (base, step) = match at.base.kind() {
                ValueKind::Inst(inst) if is_scalar(self.code, body.inst(inst).ty) => {
                    match body.inst(inst).opcode {
                        Opcode::GetElementPtr => {
                            (body.operands(inst)[0], self.sizes.gep_offset(body, inst))
                        }
                        Opcode::AddrSpaceCast | Opcode::BitCast => {
                            (body.operands(inst)[0], Some(0))
                        }
                        _ => break,
                    }
                }
                ValueKind::Const(constant) => {
                    let ConstKind::Expr(expr) = &self.code.context.const_data(constant).kind else {
                        break;
                    };
                    let Some((&base, indices)) = expr.operands.split_first() else { break };
                    let step = match (expr.opcode, expr.source_type) {
                        (Opcode::GetElementPtr, Some(ty)) => {
                            self.sizes.offset(ty, indices.iter().map(|index| Some(*index)))
                        }
                        (Opcode::AddrSpaceCast | Opcode::BitCast, _) => Some(0),
                        _ => break,
                    };
                    (Value::constant(base), step)
                }
                _ => break,
            };
            let offset = at.offset.and_then(|offset| offset.checked_add(step?));
            at = Address { base, offset };
        }
        at
    }

    fn space(&self, address: Value) -> Option<AddressSpace> {
        let ty = value_type(self.code, address)?;
        let number = self.code.context.type_kind(ty).address_space()?;
        Some(AddressSpace::of(self.around.target.architecture(), number))
    }

    fn object(&self, base: Value) -> Object {
        let Code { context, header, body, .. } = self.code;
        match base.kind() {
            ValueKind::Inst(inst) => match body.inst(inst).opcode {
                Opcode::Alloca => Object::Slot(self.private.is_object(inst)),
                opcode if opcode.is_call() => {
                    let info = body.call_info(inst);
                    let mut is_fresh = context.return_attrs(info.attributes).has(AttrKind::NoAlias);
                    if let Some(callee) = body.const_callee(inst)
                        && let ConstKind::Global(name) = context.const_data(callee).kind
                        && let Some(attributes) = (self.around.callee)(name)
                    {
                        is_fresh |= context.return_attrs(attributes).has(AttrKind::NoAlias);
                    }
                    if is_fresh { Object::Fresh } else { Object::Unknown }
                }
                _ => Object::Unknown,
            },
            ValueKind::Arg(position) => {
                let attributes = context.param_attrs(header.attributes, position as usize);
                match attributes.has(AttrKind::NoAlias) || attributes.has(AttrKind::ByVal) {
                    true => Object::NoAliasArgument,
                    false => Object::Argument,
                }
            }
            ValueKind::Const(constant) => match context.const_data(constant).kind {
                ConstKind::Global(name) if (self.is_variable)(name) => Object::Variable,
                _ => Object::Unknown,
            },
            _ => Object::Unknown,
        }
    }
}

fn is_scalar(code: Code<'_>, ty: phalanx_ir::Type) -> bool {
    matches!(code.context.type_kind(ty), TypeKind::Ptr(_))
}

/// Two ranges from one base.
fn ranges(a: (Option<i64>, Option<u64>), b: (Option<i64>, Option<u64>)) -> Alias {
    let (Some(at), Some(bt)) = (a.0, b.0) else { return Alias::May };
    let ((first, size), second) = if at <= bt { ((at, a.1), bt) } else { ((bt, b.1), at) };
    if first == second {
        return Alias::Must;
    }
    let Some(size) = size else { return Alias::May };
    match second.abs_diff(first) >= size {
        true => Alias::No,
        false => Alias::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges against the bytes that they are made of.
    #[test]
    fn ranges_are_sets_of_bytes() {
        for at in -3i64..4 {
            for bt in -3i64..4 {
                for (n, m) in (1u64..5).flat_map(|n| (1u64..5).map(move |m| (n, m))) {
                    let bytes = |at: i64, n: u64| at..at + n as i64;
                    let meet = bytes(at, n).any(|byte| bytes(bt, m).contains(&byte));
                    let expected = match (meet, at == bt) {
                        (false, _) => Alias::No,
                        (true, true) => Alias::Must,
                        (true, false) => Alias::Partial,
                    };
                    assert_eq!(ranges((Some(at), Some(n)), (Some(bt), Some(m))), expected);
                    let unknown = ranges((Some(at), None), (Some(bt), Some(m)));
                    assert!(unknown == expected || unknown == Alias::May || at > bt);
                }
            }
        }
        assert_eq!(ranges((Some(i64::MIN), Some(1)), (Some(i64::MAX), Some(1))), Alias::No);
        assert_eq!(ranges((None, Some(1)), (Some(0), Some(1))), Alias::May);
    }
}
