//! Which addresses may lead to private memory.
//!
//! # What
//!
//! A generic pointer may lead anywhere, and private memory is another memory in each thread at equal addresses. So what is loaded
//! through a generic pointer can differ between threads even if the address does not, unless it is known where the
//! pointer comes from. An address *may be private* when its space can be and one of these holds:
//!
//! - it comes from a stack slot, from memory, from an integer, from a call, or is an argument of a function that is called;
//! - it is made from such an address by steps, casts, phis or selections.
//!
//! Arguments of a kernel are not: they come from the host, which has no addresses of private memory. Only a `byval` argument is excepted,
//! of which each thread may have a copy. A cast from a space that is shared is not either.
//!
//! # How
//!
//! Reachability from the addresses of the first kind, along operands; the rest is what is left. Loops of phis need no care.
//! O(instructions + operands).

mod follow;

use phalanx_ir::{
    Const, InstId, Opcode, Type, TypeKind, Value, ValueKind, attributes::AttrKind,
    constant::ConstKind,
};
use phalanx_target::{
    address_space::{AddressSpace, Sharing},
    calling_convention::{self, Entry},
};

use super::by_inst::trim;
use crate::lower::{Code, Surroundings};

/// What is known of the addresses of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// By instruction: whether it is an address that is not private although its space can be. Ends with the last that is.
    is_shared: Vec<bool>,
    /// The same of arguments.
    shared_arguments: Vec<bool>,
}

impl Origins {
    /// Those of a function.
    #[must_use]
    pub fn new(code: Code<'_>, around: Surroundings<'_>) -> Self {
        let scan = Scan::new(code, around);
        let shared_arguments = (0..code.header.params.len() as u32)
            .map(|position| scan.is_shared_argument(position))
            .collect();
        let body = code.body;
        let mut is_shared = vec![false; body.id_count()];
        // Users by address, as a list of edges; few instructions are addresses in a space that can be private.
        let mut edges: Vec<(InstId, InstId)> = Vec::new();
        let mut private: Vec<InstId> = Vec::new();
        for inst in body.all_ids() {
            if body.block_of(inst).is_none() || !scan.can_be_private(body.inst(inst).ty) {
                continue;
            }
            is_shared[number(inst)] = true;
            let mut is_private = scan.is_private_only(body.inst(inst).ty);
            scan.made_from(inst, |made_from| match made_from {
                From::Inst(operand) => edges.push((operand, inst)),
                From::Private => is_private = true,
                From::Shared => {}
            });
            if is_private {
                private.push(inst);
            }
        }
        edges.sort_unstable_by_key(|(from, to)| (number(*from), number(*to)));
        for inst in &private {
            is_shared[number(*inst)] = false;
        }
        while let Some(inst) = private.pop() {
            let first = edges.partition_point(|(from, _)| number(*from) < number(inst));
            for &(_, user) in edges[first..].iter().take_while(|(from, _)| *from == inst) {
                if std::mem::replace(&mut is_shared[number(user)], false) {
                    private.push(user);
                }
            }
        }
        trim(&mut is_shared);
        Self { is_shared, shared_arguments }
    }

    /// Whether an address whose space can be private is known not to be. Of constants, [`is_shared_constant`] says that.
    #[must_use]
    pub fn is_shared(&self, address: Value) -> bool {
        match address.kind() {
            ValueKind::Inst(inst) => self.is_shared.get(number(inst)).copied().unwrap_or(false),
            ValueKind::Arg(position) => {
                self.shared_arguments.get(position as usize).copied().unwrap_or(false)
            }
            _ => false,
        }
    }

    /// Instructions with an operand about which this says something else than `old`.
    #[must_use]
    pub fn users_of_others(&self, code: Code<'_>, old: &Self) -> Vec<InstId> {
        let body = code.body;
        let is_other = |operand: &Value| {
            operand.as_inst().is_some() && self.is_shared(*operand) != old.is_shared(*operand)
        };
        let of = |inst: &InstId| {
            body.block_of(*inst).is_some() && body.operands(*inst).iter().any(is_other)
        };
        body.all_ids().filter(of).collect()
    }
}

pub(crate) fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

/// Whether values of a type are pointers or vectors of them.
pub(crate) fn is_pointer(code: Code<'_>, ty: Type) -> bool {
    match code.context.type_kind(ty) {
        TypeKind::Ptr(_) => true,
        TypeKind::Vector { elem, .. } => matches!(code.context.type_kind(*elem), TypeKind::Ptr(_)),
        _ => false,
    }
}

/// What an address is made from.
enum From {
    /// The address that an instruction gives.
    Inst(InstId),
    /// Something that may be private.
    Private,
    /// Something that is not.
    Shared,
}

struct Scan<'a> {
    code: Code<'a>,
    around: Surroundings<'a>,
    is_kernel: bool,
}

impl<'a> Scan<'a> {
    fn new(code: Code<'a>, around: Surroundings<'a>) -> Self {
        let entry = calling_convention::entry(code.header.call_conv, around.target.architecture());
        Scan { code, around, is_kernel: entry == Entry::Kernel }
    }

    /// Whether addresses of a type can be private as far as their space goes. False for what is no address.
    fn can_be_private(&self, ty: Type) -> bool {
        let context = self.code.context;
        let space = match context.type_kind(ty) {
            TypeKind::Ptr(space) => Some(*space),
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
            _ => None,
        };
        let of = |number| AddressSpace::of(self.around.target.architecture(), number);
        space.is_some_and(|number| of(number).may_be_private(self.is_kernel))
    }

    fn is_shared_argument(&self, position: u32) -> bool {
        let Code { context, header, .. } = self.code;
        let attributes = context.param_attrs(header.attributes, position as usize);
        let Some(&ty) = header.params.get(position as usize) else { return false };
        let is_copied = attributes.has(AttrKind::ByVal)
            || attributes.has(AttrKind::ByRef)
            || attributes.has(AttrKind::InAlloca)
            || attributes.has(AttrKind::Preallocated)
            || attributes.has(AttrKind::StructRet);
        self.is_kernel && is_pointer(self.code, ty) && !self.is_private_only(ty) && !is_copied
    }

    /// Whether addresses of a type lead to private memory and nowhere else, wherever they come from.
    fn is_private_only(&self, ty: Type) -> bool {
        let context = self.code.context;
        let space = match context.type_kind(ty) {
            TypeKind::Ptr(space) => Some(*space),
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
            _ => None,
        };
        let of = |number| AddressSpace::of(self.around.target.architecture(), number);
        space.is_some_and(|number| of(number).sharing() == Sharing::PerThread)
    }

    fn made_from(&self, inst: InstId, mut call: impl FnMut(From)) {
        let body = self.code.body;
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            Opcode::GetElementPtr
            | Opcode::AddrSpaceCast
            | Opcode::BitCast
            | Opcode::Freeze
            | Opcode::ExtractElement => call(self.of(operands[0])),
            Opcode::Select => operands[1..].iter().for_each(|&operand| call(self.of(operand))),
            Opcode::InsertElement | Opcode::ShuffleVector => {
                operands[..2].iter().for_each(|&operand| call(self.of(operand)));
            }
            Opcode::Phi => {
                body.phi_values(inst).iter().for_each(|&operand| call(self.of(operand)));
            }
            _ => call(From::Private),
        }
    }

    fn of(&self, operand: Value) -> From {
        match operand.kind() {
            ValueKind::Inst(inst) if self.can_be_private(self.code.body.inst(inst).ty) => {
                From::Inst(inst)
            }
            ValueKind::Inst(inst) if is_pointer(self.code, self.code.body.inst(inst).ty) => {
                From::Shared
            }
            ValueKind::Arg(position) if self.is_shared_argument(position) => From::Shared,
            ValueKind::Arg(position) => match self.code.header.params.get(position as usize) {
                Some(&ty) if is_pointer(self.code, ty) && !self.can_be_private(ty) => From::Shared,
                _ => From::Private,
            },
            ValueKind::Const(constant) if self.is_shared_constant(constant) => From::Shared,
            _ => From::Private,
        }
    }

    /// A constant of a shared space, or one that a cast makes from such.
    fn is_shared_constant(&self, mut constant: Const) -> bool {
        for _ in 0..STEPS {
            let data = self.code.context.const_data(constant);
            if self.is_private_only(data.ty) {
                return false;
            }
            if is_pointer(self.code, data.ty) && !self.can_be_private(data.ty) {
                return true;
            }
            match &data.kind {
                // Nothing can be loaded through these.
                ConstKind::Null | ConstKind::Undef | ConstKind::Poison => return true,
                ConstKind::Expr(expr)
                    if matches!(
                        expr.opcode,
                        Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
                    ) =>
                {
                    match expr.operands.first() {
                        Some(base) => constant = *base,
                        None => return false,
                    }
                }
                _ => return false,
            }
        }
        false
    }
}

/// How many steps of a constant address are looked at.
const STEPS: usize = 64;

/// Whether a constant address is known not to be private.
#[must_use]
pub fn is_shared_constant(code: Code<'_>, around: Surroundings<'_>, constant: Const) -> bool {
    Scan::new(code, around).is_shared_constant(constant)
}
