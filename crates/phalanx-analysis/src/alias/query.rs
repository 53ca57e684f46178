//! Compares addresses: whether two accesses may touch the same bytes.
//!
//! # What
//!
//! The question is about one thread and one moment: both addresses have the values that come from
//! the last execution of each instruction that they are computed from. `No` says that the two
//! ranges have no byte in common then. It says nothing about different iterations of a loop around
//! the bases of the addresses.
//!
//! | answer | because |
//! |---|---|
//! | no | the address spaces do not overlap |
//! | no | the addresses lead to different memories, as far as [`spaces`](crate::spaces) knows |
//! | no, partial, must | both have one base, and steps that differ by a constant: ranges are compared |
//! | no | both have one base, and steps that differ by a constant and multiples of a power of two, and no multiple brings them together |
//! | no | they have different objects as bases: stack slots, variables of the module, `noalias` arguments, results of `noalias` calls |
//! | may | two variables of workgroup memory without a size, which begin at one place |
//! | no | a stack slot, and an argument |
//! | no | a stack slot whose address does not escape, and anything that is not based on it |
//! | may | anything else; types may say no where addresses do not ([`tbaa`](super::tbaa)) |
//!
//! `must` means that both start at one byte, whatever their sizes, as in LLVM; `partial` that they
//! overlap otherwise.
//!
//! # How
//!
//! An address is taken apart into a base and a distance ([`Address`]), in a bounded number of
//! steps. A phi or selection is not looked through. Indices that are no constants are taken apart
//! into [sums](super::linear), for answers that are not retained. A retained answer would otherwise
//! depend on everything that the indices are computed from, so it uses
//! [`AliasQuery::by_constant_steps`]. O(steps) per address.

use phalanx_ir::{
    GlobalName, InstId, Opcode, TypeKind, Value, ValueKind, attributes::AttrKind,
    constant::ConstKind,
};
use phalanx_target::address_space::AddressSpace;
use smallvec::SmallVec;

use super::linear::{Distance, Sum, are_apart_modulo};
use crate::{
    code::{Code, Environment, SpaceModel, TypeSizes, value_type},
    memory::PrivateMemory,
    spaces::MemoryKinds,
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

/// The bytes that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The address.
    pub address: Value,
    /// How many bytes from there on, if known.
    pub size: Option<u64>,
    /// Whether bytes before the address may be accessed as well: a callee that is given an address
    /// inside of an object may do that.
    pub reaches_back: bool,
}

impl Location {
    /// `size` bytes from an address on, if known.
    #[must_use]
    pub const fn behind(address: Value, size: Option<u64>) -> Self {
        Self { address, size, reaches_back: false }
    }

    /// Any bytes of the object that an address leads to.
    #[must_use]
    pub const fn env(address: Value) -> Self {
        Self { address, size: None, reaches_back: true }
    }
}

/// An address as a base and a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The base: the first value on the way that is no step.
    pub base: Value,
    /// The distance from the base, if it is a constant.
    pub offset: Option<i64>,
    /// How many low bits of the address this arithmetic is about: those of an index in the
    /// narrowest of the spaces on the way.
    pub bits: u32,
    /// Whether another space on the way has a wider index. Then the higher bits of the address are
    /// known only if nothing has wrapped.
    pub is_mixed: bool,
}

impl Address {
    /// An address that is its own base.
    fn start(base: Value, bits: Option<u32>) -> Self {
        let at = Address { base, offset: Some(0), bits: i64::BITS, is_mixed: false };
        at.within(bits, true)
    }

    /// The same, with a pointer on the way whose space has an index of `bits` bits.
    fn within(self, bits: Option<u32>, is_first: bool) -> Self {
        let Some(bits) = bits else { return Address { offset: None, ..self } };
        let is_mixed = self.is_mixed || !is_first && bits != self.bits;
        Address { bits: bits.min(self.bits), is_mixed, ..self }
    }

    /// The same, from `base`, which this address's base is `step` behind.
    fn from(self, base: Value, step: Option<i64>) -> Self {
        let offset = self.offset.and_then(|offset| Some(offset.wrapping_add(step?)));
        Address { base, offset, ..self }
    }
}

/// How many steps of an address are looked at.
const STEPS: usize = 64;

/// The kind of object that a name of the module stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A variable that is an object of its own.
    Object,
    /// A variable of workgroup memory to which the module gives no place. At a launch, all
    /// variables of this kind begin at one place, behind those that have one. So such a variable is
    /// disjoint from other objects, but not from others of its kind.
    Added,
}

/// Alias queries about the accesses of one function.
pub struct AliasQuery<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    private: &'a PrivateMemory,
    variable: &'a dyn Fn(GlobalName) -> Option<Named>,
    sizes: TypeSizes<'a>,
    kinds: Option<&'a MemoryKinds>,
    with_indices: bool,
}

/// What kind of object the base of an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    /// A stack slot; true if its address does not escape.
    Slot(bool),
    /// A variable of the module.
    Variable(Named),
    /// An argument to whose memory nothing else leads while the function runs.
    NoAliasArgument,
    /// Memory that a call has just allocated.
    Fresh,
    /// An argument.
    Argument,
    /// Anything.
    Unknown,
}

impl Object {
    /// Whether it is disjoint from every other identified object.
    fn is_identified(self) -> bool {
        !matches!(self, Object::Argument | Object::Unknown)
    }

    /// Whether it was created in this run of the function, or only this function holds it.
    fn is_of_function(self) -> bool {
        matches!(self, Object::Slot(_) | Object::NoAliasArgument | Object::Fresh)
    }
}

impl<'a> AliasQuery<'a> {
    /// Queries about a function; `variable` says which names are variables of the module.
    #[must_use]
    pub fn new(
        code: Code<'a>,
        env: Environment<'a>,
        private: &'a PrivateMemory,
        variable: &'a dyn Fn(GlobalName) -> Option<Named>,
    ) -> Self {
        let sizes = TypeSizes::new(code.context, env.layout);
        Self { code, env, private, variable, sizes, kinds: None, with_indices: true }
    }

    /// The same, with facts about which memories addresses lead to.
    #[must_use]
    pub fn with_kinds(self, kinds: Option<&'a MemoryKinds>) -> Self {
        Self { kinds, ..self }
    }

    /// The same, but indices that are no constants are not looked into.
    #[must_use]
    pub fn by_constant_steps(self) -> Self {
        Self { with_indices: false, ..self }
    }

    /// Whether both addresses may lead to one memory.
    fn may_meet(&self, a: Value, b: Value) -> bool {
        let Some(kinds) = self.kinds else { return true };
        let model = SpaceModel::new(self.env.target.architecture());
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
        Some(Location::behind(address, self.sizes.store_size(ty)))
    }

    /// What a call may access through an argument: the whole object, unless the call copies or
    /// fills memory from the address on.
    #[must_use]
    pub fn through_argument(&self, call: InstId, argument: Value) -> Location {
        let Code { context, body, .. } = self.code;
        let callee = body.const_callee(call).map(|callee| &context.const_data(callee).kind);
        let is_forward = |name: &[u8]| {
            ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."]
                .iter()
                .any(|prefix| name.starts_with(prefix.as_bytes()))
        };
        match callee {
            Some(ConstKind::Global(GlobalName::Named(symbol)))
                if is_forward(context.bytes(*symbol)) =>
            {
                let length = body.call_args(call).get(2).copied();
                let length = length.and_then(|length| self.sizes.integer_operand(length));
                Location::behind(argument, length.and_then(|length| u64::try_from(length).ok()))
            }
            _ => Location::env(argument),
        }
    }

    /// How two accesses relate.
    pub fn alias(&mut self, a: Location, b: Location) -> Alias {
        self.alias_over((a, b), &|_| true)
    }

    /// The same, if the indices may be computed from values that differ between the two accesses:
    /// those that are not `same`. The bases must not differ.
    pub fn alias_over(
        &mut self,
        (a, b): (Location, Location),
        same: &dyn Fn(Value) -> bool,
    ) -> Alias {
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
            if a.reaches_back || b.reaches_back {
                return Alias::May;
            }
            return self
                .by_indices((from, a), (to, b), same)
                .unwrap_or_else(|| ranges((from, a.size), (to, b.size)));
        }
        if let (Some(a), Some(b)) = (self.space(from.base), self.space(to.base))
            && !a.may_overlap(b)
        {
            return Alias::No;
        }
        match (self.object(from.base), self.object(to.base)) {
            (Object::Variable(Named::Added), Object::Variable(Named::Added)) => Alias::May,
            (x, y) if x.is_identified() && y.is_identified() => Alias::No,
            (x, Object::Argument) | (Object::Argument, x) if x.is_of_function() => Alias::No,
            (Object::Slot(true), _) | (_, Object::Slot(true)) => Alias::No,
            _ => Alias::May,
        }
    }

    /// Takes an address apart.
    pub fn address(&mut self, address: Value) -> Address {
        let body = self.code.body;
        let mut at = Address::start(address, self.index_bits(address));
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
                            let of = self.code.context.const_data(constant).ty;
                            self.sizes.offset(of, ty, indices.iter().map(|index| Some(*index)))
                        }
                        (Opcode::AddrSpaceCast | Opcode::BitCast, _) => Some(0),
                        _ => break,
                    };
                    (Value::constant(base), step)
                }
                _ => break,
            };
            at = at.from(base, step).within(self.index_bits(base), false);
        }
        at
    }

    /// How two accesses with one base relate, if that takes a look into the indices.
    fn by_indices(
        &mut self,
        (from, a): (Address, Location),
        (to, b): (Address, Location),
        same: &dyn Fn(Value) -> bool,
    ) -> Option<Alias> {
        let is_plain = !from.is_mixed && !to.is_mixed && from.bits == to.bits;
        if !self.with_indices || !is_plain || from.offset.is_some() && to.offset.is_some() {
            return None;
        }
        let first = self.sum(a.address, from)?;
        let second = self.sum(b.address, to)?;
        match second.distance_from(&first, same) {
            Distance::Exact(distance) => {
                let at = |offset| Address { offset: Some(offset), ..from };
                Some(ranges((at(0), a.size), (at(distance), b.size)))
            }
            Distance::Modulo(distance, power) => {
                are_apart_modulo(distance, power, [a.size, b.size]).then_some(Alias::No)
            }
        }
    }

    /// The distance from an address to its base.
    fn sum(&mut self, address: Value, apart: Address) -> Option<Sum> {
        let body = self.code.body;
        let mut sum = Sum::new(apart.bits);
        let mut at = address;
        while at != apart.base {
            let ValueKind::Inst(inst) = at.kind() else {
                // A constant expression has constant indices only.
                let rest = self.address(at);
                sum.add_constant(rest.offset?);
                return (rest.base == apart.base).then_some(sum);
            };
            let operands = body.operands(inst);
            if body.inst(inst).opcode == Opcode::GetElementPtr {
                let (code, sizes) = (self.code, &mut self.sizes);
                let mut indices: SmallVec<[(Value, i64); 4]> = SmallVec::new();
                let steps = sizes.steps(
                    body.inst(inst).element_type(),
                    operands[1..].iter().map(|index| index.as_const()),
                    |position, stride| {
                        indices.push((operands[1 + position], stride));
                        true
                    },
                )?;
                sum.add_constant(steps);
                let mut added = indices
                    .into_iter()
                    .map(|(index, stride)| sum.add_index(code, sizes, index, stride));
                added.all(|is_known| is_known).then_some(())?;
            }
            at = operands[0];
        }
        Some(sum)
    }

    fn index_bits(&self, address: Value) -> Option<u32> {
        self.sizes.index_bits(value_type(self.code, address)?)
    }

    fn space(&self, address: Value) -> Option<AddressSpace> {
        let ty = value_type(self.code, address)?;
        let number = self.code.context.type_kind(ty).address_space()?;
        Some(AddressSpace::of(self.env.target.architecture(), number))
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
                        && let Some(attributes) = (self.env.callee)(name)
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
                ConstKind::Global(name) => {
                    (self.variable)(name).map_or(Object::Unknown, Object::Variable)
                }
                _ => Object::Unknown,
            },
            _ => Object::Unknown,
        }
    }
}

fn is_scalar(code: Code<'_>, ty: phalanx_ir::Type) -> bool {
    matches!(code.context.type_kind(ty), TypeKind::Ptr(_))
}

/// Compares two ranges with one base.
fn ranges(a: (Address, Option<u64>), b: (Address, Option<u64>)) -> Alias {
    let (Some(at), Some(bt)) = (a.0.offset, b.0.offset) else { return Alias::May };
    let bits = a.0.bits.min(b.0.bits);
    let of_low_bits = on_ring((at, a.1), (bt, b.1), bits);
    let is_mixed = a.0.is_mixed || b.0.is_mixed || a.0.bits != b.0.bits;
    // Ranges that are disjoint in the low bits are disjoint.
    match is_mixed && on_ring((at, a.1), (bt, b.1), i64::BITS) != of_low_bits {
        true if of_low_bits != Alias::No => Alias::May,
        _ => of_low_bits,
    }
}

/// Compares two ranges whose distances have `bits` bits, at most 64, in arithmetic that wraps.
fn on_ring((at, size): (i64, Option<u64>), (bt, other): (i64, Option<u64>), bits: u32) -> Alias {
    let mask = u64::MAX >> (i64::BITS - bits.min(i64::BITS));
    // The distance upwards from one to the other.
    let up = |from: i64, to: i64| to.wrapping_sub(from) as u64 & mask;
    if up(at, bt) == 0 {
        return Alias::Must;
    }
    // No object is as large as half of the address space.
    let reaches = |size: Option<u64>, distance: u64| match size {
        Some(size) => Some(size > distance),
        None => (distance > mask / 2).then_some(false),
    };
    match (reaches(size, up(at, bt)), reaches(other, up(bt, at))) {
        (Some(false), Some(false)) => Alias::No,
        (Some(true), _) | (_, Some(true)) => Alias::Partial,
        _ => Alias::May,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges_of(a: (Option<i64>, Option<u64>), b: (Option<i64>, Option<u64>)) -> Alias {
        let of = |offset| Address { base: Value::arg(0), offset, bits: 64, is_mixed: false };
        ranges((of(a.0), a.1), (of(b.0), b.1))
    }

    /// Compares [`ranges`] with sets of bytes.
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
                    assert_eq!(ranges_of((Some(at), Some(n)), (Some(bt), Some(m))), expected);
                    let unknown = ranges_of((Some(at), None), (Some(bt), Some(m)));
                    assert!(unknown == expected || unknown == Alias::May || at > bt);
                }
            }
        }
        assert_eq!(ranges_of((Some(i64::MIN), Some(1)), (Some(i64::MAX), Some(1))), Alias::No);
        assert_eq!(ranges_of((None, Some(1)), (Some(0), Some(1))), Alias::May);
    }

    /// Two bytes at these distances, and the same with an address on the way whose space has an
    /// index of 64 bits.
    #[test]
    fn distances_are_as_wide_as_an_index() {
        let both = |at: i64, bt: i64| {
            let of = |offset, is_mixed| {
                let base = Value::arg(0);
                (Address { base, offset: Some(offset), bits: 32, is_mixed }, Some(2))
            };
            [ranges(of(at, false), of(bt, false)), ranges(of(at, true), of(bt, false))]
        };
        assert_eq!(both(0, 1 << 32), [Alias::Must, Alias::May]);
        assert_eq!(both(0, (1 << 32) + 1), [Alias::Partial, Alias::May]);
        assert_eq!(both(-1, (1 << 32) - 2), [Alias::Partial, Alias::May]);
        assert_eq!(both(i32::MIN.into(), i32::MAX.into()), [Alias::Partial, Alias::May]);
        assert_eq!(both(0, (1 << 32) + 2), [Alias::No; 2]);
        assert_eq!(both(8, 8), [Alias::Must; 2]);
        assert_eq!(both(8, 9), [Alias::Partial; 2]);
    }
}
