//! Which addresses may lead to private memory.
//!
//! # What
//!
//! A generic pointer may lead anywhere, and private memory is another memory in each thread at
//! equal addresses. So what is loaded through a generic pointer can differ between threads even if
//! the address does not, unless it is known where the pointer comes from. An address *may be
//! private* when its space can be and one of these holds:
//!
//! - it comes from a stack slot, from memory, from an integer, from a call, or is an argument of a
//!   function that is called;
//! - it is made from such an address by steps, casts, phis or selections, or by way of a stack slot
//!   in which nothing but addresses is put ([`slots`]).
//!
//! Arguments of a kernel are not: they come from the host, which has no addresses of private
//! memory. Only a `byval` argument is excepted, of which each thread may have a copy, unless it is
//! only read (`readonly`, or as `copies` finds): then all copies are what the host passed. A cast
//! from a space that is shared is not either.
//!
//! In SPIR-V, variables such as `__spirv_BuiltInLocalInvocationId` hold another value in each
//! thread at one address, in a space that is shared (1, by translators) or an input (7). Where a
//! module declares some, any address of their spaces may be one of theirs, unless it is made from
//! arguments of a kernel, since the host has no addresses of them, or from other variables.
//!
//! An address is *passed* if it is made from such copies that are only read and nothing else: what
//! is there is the same in the whole launch. In a function that is called, and of which it is known
//! what callers pass, copies that are only read are passed as well: what is there depends on what
//! the argument does.
//!
//! # How
//!
//! Reachability from the addresses of the first kind, along operands ([`addresses`]); the rest is
//! what is left. Loops of phis need no care. Passed addresses are found in the same way, from what
//! is not passed, in kernels that have such arguments. O(instructions + operands).

mod addresses;
pub(crate) mod copies;
mod follow;
mod slots;

use std::{cell::RefCell, rc::Rc};

use phalanx_fixpoint::{Fixpoint, Limits, Ranks};
use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Type, TypeKind, Value, ValueKind, attributes::AttrKind,
    constant::ConstKind,
};
use phalanx_target::{
    address_space::{AddressSpace, Sharing},
    calling_convention::Entry,
    library,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::addresses::Addresses;
use self::slots::{Slot, Users};
use super::by_inst::trim;
use crate::code::{Code, Surroundings};

/// What is known of the addresses of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Which are not private although their space can be.
    shared: Known,
    /// Which lead to what a launch passes.
    passed: Known,
    /// Who uses stack slots in which addresses are put.
    users: Users,
}

/// Of which addresses something holds.
#[derive(Clone, Debug, Default)]
struct Known {
    /// By instruction. Ends with the last of which it does.
    insts: Vec<bool>,
    arguments: Vec<bool>,
    /// Of which it does not: the same as facts, once it has been followed.
    others: Option<Fixpoint<u32, bool>>,
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        (&self.insts, &self.arguments) == (&other.insts, &other.arguments)
    }
}

impl Eq for Known {}

impl Known {
    fn new(scan: Scan<'_>) -> Self {
        let arguments = scan.known_arguments();
        if !scan.can_hold(&arguments) {
            return Known { arguments, ..Known::default() };
        }
        let body = scan.code.body;
        let mut insts = vec![false; body.id_count()];
        // Few instructions are addresses in a space that can be private.
        let mut addresses: Vec<u32> = Vec::new();
        let mut users: Vec<(u32, InstId)> = Vec::new();
        for inst in body.all_ids().filter(|&inst| scan.is_address(inst)) {
            addresses.push(number(inst) as u32);
            insts[number(inst)] = true;
            scan.made_from(inst, |from| match from {
                From::Inst(operand) => users.push((number(operand) as u32, inst)),
                From::Other | From::Known => {}
            });
        }
        users.sort_unstable_by_key(|(from, to)| (*from, number(*to)));
        let mut rules = Addresses { scan, users: Some(users), looked_at: 0 };
        let mut others = Fixpoint::new(Ranks::None);
        let _ = others.solve(&mut rules, addresses.iter().copied(), Limits::NONE);
        for at in addresses.into_iter().filter(|at| others.get(*at)) {
            insts[at as usize] = false;
        }
        trim(&mut insts);
        Known { insts, arguments, others: None }
    }

    fn holds(&self, address: Value) -> bool {
        match address.kind() {
            ValueKind::Inst(inst) => self.insts.get(number(inst)).copied().unwrap_or(false),
            ValueKind::Arg(position) => {
                self.arguments.get(position as usize).copied().unwrap_or(false)
            }
            _ => false,
        }
    }
}

impl Origins {
    /// Those of a function.
    #[must_use]
    pub fn new(code: Code<'_>, around: Surroundings<'_>) -> Self {
        let of = |kind| Known::new(Scan::new(code, around, kind));
        Self { shared: of(Kind::Shared), passed: of(Kind::Passed), users: Users::new(code) }
    }

    /// Whether an address whose space can be private is known not to be. Of constants,
    /// [`is_shared_constant`] says that.
    #[must_use]
    pub fn is_shared(&self, address: Value) -> bool {
        self.shared.holds(address)
    }

    /// Whether what is at an address is a structure that was passed by value: by the host, so that
    /// it depends on nothing but what the address does, or by callers, so that it depends on
    /// nothing but the arguments.
    #[must_use]
    pub fn is_passed(&self, address: Value) -> bool {
        self.passed.holds(address)
    }

    /// Instructions with an operand about which this says something else than `old`, or which leads
    /// to something that is passed, where that is something else.
    #[must_use]
    pub fn users_of_others(&self, code: Code<'_>, old: &Self) -> Vec<InstId> {
        let body = code.body;
        let is_other_passed = self.passed.arguments != old.passed.arguments;
        let is_other = |operand: &Value| {
            let of = |origins: &Self| (origins.is_shared(*operand), origins.is_passed(*operand));
            operand.as_const().is_none()
                && (of(self) != of(old) || is_other_passed && self.is_passed(*operand))
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
    /// Something of which it does not hold.
    Other,
    /// Something of which it does.
    Known,
}

/// What is asked of addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Whether they are not private.
    Shared,
    /// Whether they lead to what a launch passes.
    Passed,
}

struct Scan<'a> {
    code: Code<'a>,
    around: Surroundings<'a>,
    is_kernel: bool,
    kind: Kind,
    /// Arguments that are copies which are only read; in a function that is called, where that is
    /// asked.
    only_read: SmallVec<[u32; 2]>,
    /// Slots that were looked at.
    slots: RefCell<FxHashMap<InstId, Rc<Slot>>>,
}

impl<'a> Scan<'a> {
    fn new(code: Code<'a>, around: Surroundings<'a>, kind: Kind) -> Self {
        let entry = code.entry(around.target.architecture());
        let is_kernel = entry == Entry::Kernel;
        let is_only_read = |&position: &u32| {
            let attributes = code.context.param_attrs(code.header.attributes, position as usize);
            attributes.has(AttrKind::ByVal)
                && (attributes.has(AttrKind::ReadOnly) || copies::is_only_read(code, position))
        };
        // Of what callers pass it is known what it depends on.
        let is_known = |&position: &u32| {
            copies::is_only_content(code, position) && around.calls.argument(position).is_some()
        };
        let arguments = 0..code.header.params.len() as u32;
        let only_read = match (entry, kind) {
            (Entry::Kernel, _) => arguments.filter(is_only_read).collect(),
            (Entry::Call, Kind::Passed) => arguments.filter(is_known).collect(),
            _ => SmallVec::new(),
        };
        Scan { code, around, is_kernel, kind, only_read, slots: RefCell::default() }
    }

    /// What is done with the stack slot that an address is, if nothing but addresses is put there.
    fn slot(&self, address: Value) -> Option<Rc<Slot>> {
        let slot = slots::of_address(self.code, address).filter(|_| self.kind == Kind::Shared)?;
        let mut known = self.slots.borrow_mut();
        let found = known.entry(slot).or_insert_with(|| Rc::new(Slot::new(self.code, slot)));
        found.stored.is_some().then(|| Rc::clone(found))
    }

    /// Whether addresses of a type can be private as far as their space goes. False for what is no
    /// address.
    fn can_be_private(&self, ty: Type) -> bool {
        let context = self.code.context;
        let space = match context.type_kind(ty) {
            TypeKind::Ptr(space) => Some(*space),
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
            _ => None,
        };
        let of = |number| AddressSpace::of(self.around.target.architecture(), number);
        let library = self.code.library;
        space.is_some_and(|number| library.may_be_private(of(number), self.is_kernel))
    }

    /// Whether an instruction is an address about which something is to be said.
    fn is_address(&self, inst: InstId) -> bool {
        let body = self.code.body;
        body.block_of(inst).is_some() && self.can_be_private(body.inst(inst).ty)
    }

    /// Whether it can hold of any address, if it holds of these arguments.
    fn can_hold(&self, arguments: &[bool]) -> bool {
        self.kind == Kind::Shared || arguments.contains(&true)
    }

    fn known_arguments(&self) -> Vec<bool> {
        (0..self.code.header.params.len() as u32).map(|at| self.is_known_argument(at)).collect()
    }

    fn is_known_argument(&self, position: u32) -> bool {
        let Code { context, header, .. } = self.code;
        let attributes = context.param_attrs(header.attributes, position as usize);
        let Some(&ty) = header.params.get(position as usize) else { return false };
        let is_structure = attributes.has(AttrKind::ByVal) || attributes.has(AttrKind::ByRef);
        let is_passed = is_structure && self.only_read.contains(&position);
        let is_elsewhere = is_structure && !is_passed
            || attributes.has(AttrKind::InAlloca)
            || attributes.has(AttrKind::Preallocated)
            || attributes.has(AttrKind::StructRet);
        let is_known = (self.is_kernel || is_passed)
            && is_pointer(self.code, ty)
            // A caller's structure is known wherever it is.
            && (!self.is_kernel || !self.is_private_only(ty))
            && !is_elsewhere;
        is_known && (self.kind == Kind::Shared || is_passed)
    }

    /// Whether addresses of a type lead to private memory and nowhere else, wherever they come
    /// from.
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
        // What is read from a copy that is passed on depends on nothing but the argument, so
        // nothing else may choose the place.
        if self.kind == Kind::Passed && !self.is_kernel {
            return call(match body.inst(inst).opcode {
                Opcode::GetElementPtr if operands[1..].iter().any(|by| by.as_const().is_none()) => {
                    From::Other
                }
                Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast => {
                    self.of(operands[0])
                }
                _ => From::Other,
            });
        }
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
            Opcode::Load => {
                match self.slot(operands[0]).filter(|slot| slot.loads.contains(&inst)) {
                    Some(slot) => {
                        slot.stored.iter().flatten().for_each(|&stored| call(self.of(stored)));
                    }
                    None => call(From::Other),
                }
            }
            _ => call(From::Other),
        }
    }

    fn of(&self, operand: Value) -> From {
        match operand.kind() {
            ValueKind::Inst(inst) if self.can_be_private(self.code.body.inst(inst).ty) => {
                From::Inst(inst)
            }
            ValueKind::Arg(position) if self.is_known_argument(position) => From::Known,
            _ if self.kind == Kind::Passed => From::Other,
            ValueKind::Inst(inst) if is_pointer(self.code, self.code.body.inst(inst).ty) => {
                From::Known
            }
            ValueKind::Arg(position) => match self.code.header.params.get(position as usize) {
                Some(&ty) if is_pointer(self.code, ty) && !self.can_be_private(ty) => From::Known,
                _ => From::Other,
            },
            ValueKind::Const(constant) if self.is_shared_constant(constant) => From::Known,
            _ => From::Other,
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
                // A variable of a shared space that is none of SPIR-V's for each thread.
                ConstKind::Global(name) => return self.is_shared_variable(*name, data.ty),
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

    fn is_shared_variable(&self, name: GlobalName, ty: Type) -> bool {
        let context = self.code.context;
        let bytes = name.symbol().map(|symbol| context.bytes(symbol));
        let space = context.type_kind(ty).address_space();
        let of = |number| AddressSpace::of(self.around.target.architecture(), number);
        bytes.is_none_or(|bytes| library::built_in_variable(bytes).is_none())
            && space.is_some_and(|number| !of(number).may_be_private(self.is_kernel))
    }
}

/// How many steps of a constant address are looked at.
const STEPS: usize = 64;

/// Whether a constant address is known not to be private.
#[must_use]
pub fn is_shared_constant(code: Code<'_>, around: Surroundings<'_>, constant: Const) -> bool {
    Scan::new(code, around, Kind::Shared).is_shared_constant(constant)
}
