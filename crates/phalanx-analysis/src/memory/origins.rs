//! Which addresses may lead to private memory.
//!
//! # What
//!
//! A generic pointer may lead anywhere. In private memory, equal addresses name a different
//! location in each thread. So a value loaded through a generic pointer can differ between threads
//! even if the address does not, unless it is known where the pointer comes from. An address *may
//! be private* if its address space allows that and one of these holds:
//!
//! - it comes from a stack slot, from memory, from an integer or from a call, or it is an argument
//!   of a function that is not a kernel;
//! - it is computed from such an address by steps, casts, phis or selections, or by way of a stack
//!   slot that holds only addresses ([`slots`]).
//!
//! Arguments of a kernel are not private: they come from the host, which has no addresses of
//! private memory. The exception is a `byval` argument that the kernel may write, since each thread
//! may have its own copy. If the kernel only reads it (`readonly`, or as `copies` finds), all
//! copies hold what the host passed. A cast from a shared space does not give a private address,
//! either.
//!
//! In SPIR-V, variables such as `__spirv_BuiltInLocalInvocationId` hold another value in each
//! thread at one address, in a space that is shared (1, by translators) or an input (7). If a
//! module declares such variables, any address in their spaces may be the address of one.
//! Exceptions are addresses computed from kernel arguments, since the host has no addresses of
//! these variables, or from other variables.
//!
//! An address is *passed* if it is computed only from `byval` arguments of a kernel that are only
//! read: the memory there has the same content in the whole launch. In other functions, a copy that
//! is only read is passed as well if it is known what the callers pass: then the content depends
//! only on the argument.
//!
//! # How
//!
//! Reachability along def-use edges, from the addresses in the first item ([`addresses`]); all
//! other addresses are not private. Cycles of phis need no special case. Passed addresses are found
//! in the same way: the search marks those that are not passed. O(instructions + operands).

mod addresses;
pub(crate) mod copies;
mod slots;
mod update;

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
use self::slots::{SlotTraffic, Users};
use super::by_inst::trim;
use crate::code::{Code, Environment};

/// What is known of the addresses of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Addresses that are not private although their space can be.
    shared: Known,
    /// Addresses that are *passed*.
    passed: Known,
    /// The users of stack slots that hold only addresses.
    users: Users,
}

/// The addresses that have a property: not private, or passed.
#[derive(Clone, Debug, Default)]
struct Known {
    /// By instruction. Ends with the last one that has the property.
    insts: Vec<bool>,
    arguments: Vec<bool>,
    /// The addresses without the property, as a repairable fixpoint. Built at the first incremental
    /// update.
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
    /// The origins of the addresses of a function.
    #[must_use]
    pub fn new(code: Code<'_>, env: Environment<'_>) -> Self {
        let of = |kind| Known::new(Scan::new(code, env, kind));
        Self { shared: of(Kind::Shared), passed: of(Kind::Passed), users: Users::new(code) }
    }

    /// Whether an address is known not to be private although its space can be. For constants use
    /// [`is_shared_constant`].
    #[must_use]
    pub fn is_shared(&self, address: Value) -> bool {
        self.shared.holds(address)
    }

    /// Whether an address leads into a structure that was passed by value. If the host passed it,
    /// what is there depends on nothing but the address. If callers passed it, what is there
    /// depends on nothing but the argument.
    #[must_use]
    pub fn is_passed(&self, address: Value) -> bool {
        self.passed.holds(address)
    }

    /// Instructions with an operand for which this answer differs from `old`. If the set of passed
    /// arguments has changed, also all users of passed addresses.
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

/// An address or value from which an address is computed.
enum From {
    /// The address that an instruction gives.
    Inst(InstId),
    /// A value without the property.
    Other,
    /// A value with the property.
    Known,
}

/// The property of addresses that a scan computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Not private.
    Shared,
    /// *Passed*.
    Passed,
}

struct Scan<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    is_kernel: bool,
    kind: Kind,
    /// Arguments passed by value that are only read. Outside kernels, filled only for
    /// [`Kind::Passed`].
    only_read: SmallVec<[u32; 2]>,
    /// A cache of examined slots.
    slots: RefCell<FxHashMap<InstId, Rc<SlotTraffic>>>,
}

impl<'a> Scan<'a> {
    fn new(code: Code<'a>, env: Environment<'a>, kind: Kind) -> Self {
        let entry = code.entry(env.target.architecture());
        let is_kernel = entry == Entry::Kernel;
        let is_only_read = |&position: &u32| {
            let attributes = code.context.param_attrs(code.header.attributes, position as usize);
            attributes.has(AttrKind::ByVal)
                && (attributes.has(AttrKind::ReadOnly) || copies::is_only_read(code, position))
        };
        // It is known what the content that callers pass depends on.
        let is_known = |&position: &u32| {
            copies::is_only_content(code, position) && env.calls.argument(position).is_some()
        };
        let arguments = 0..code.header.params.len() as u32;
        let only_read = match (entry, kind) {
            (Entry::Kernel, _) => arguments.filter(is_only_read).collect(),
            (Entry::Call, Kind::Passed) => arguments.filter(is_known).collect(),
            _ => SmallVec::new(),
        };
        Scan { code, env, is_kernel, kind, only_read, slots: RefCell::default() }
    }

    /// The uses of the stack slot at an address, if only addresses are stored in it.
    fn slot(&self, address: Value) -> Option<Rc<SlotTraffic>> {
        let slot = slots::of_address(self.code, address).filter(|_| self.kind == Kind::Shared)?;
        let mut known = self.slots.borrow_mut();
        let found = known.entry(slot).or_insert_with(|| Rc::new(SlotTraffic::new(self.code, slot)));
        found.stored.is_some().then(|| Rc::clone(found))
    }

    /// Whether the address space of a type can have private addresses. False for other types.
    fn can_be_private(&self, ty: Type) -> bool {
        let context = self.code.context;
        let space = match context.type_kind(ty) {
            TypeKind::Ptr(space) => Some(*space),
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
            _ => None,
        };
        let of = |number| AddressSpace::of(self.env.target.architecture(), number);
        let library = self.code.library;
        space.is_some_and(|number| library.may_be_private(of(number), self.is_kernel))
    }

    /// Whether an instruction gives an address in a space that can be private.
    fn is_address(&self, inst: InstId) -> bool {
        let body = self.code.body;
        body.block_of(inst).is_some() && self.can_be_private(body.inst(inst).ty)
    }

    /// Whether any address can have the property, given the arguments that have it.
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
            // The content of a caller's structure is known, in whatever space it is.
            && (!self.is_kernel || !self.is_private_only(ty))
            && !is_elsewhere;
        is_known && (self.kind == Kind::Shared || is_passed)
    }

    /// Whether all addresses of a type lead to private memory.
    fn is_private_only(&self, ty: Type) -> bool {
        let context = self.code.context;
        let space = match context.type_kind(ty) {
            TypeKind::Ptr(space) => Some(*space),
            TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
            _ => None,
        };
        let of = |number| AddressSpace::of(self.env.target.architecture(), number);
        space.is_some_and(|number| of(number).sharing() == Sharing::PerThread)
    }

    fn made_from(&self, inst: InstId, mut call: impl FnMut(From)) {
        let body = self.code.body;
        let operands = body.operands(inst);
        // What is read from a copy that a caller passed must depend on nothing but the argument. So
        // no variable offset may choose the place.
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

    /// Whether a constant is an address in a shared space, or a cast of one.
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
                // A variable in a shared space that is not one of SPIR-V's per-thread variables.
                ConstKind::Global(name) => return self.is_shared_variable(*name, data.ty),
                // No value can be loaded through these.
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
        let of = |number| AddressSpace::of(self.env.target.architecture(), number);
        bytes.is_none_or(|bytes| library::built_in_variable(bytes).is_none())
            && space.is_some_and(|number| !of(number).may_be_private(self.is_kernel))
    }
}

/// The largest number of nested constant expressions that are examined.
const STEPS: usize = 64;

/// Whether a constant address is known not to be private.
#[must_use]
pub fn is_shared_constant(code: Code<'_>, env: Environment<'_>, constant: Const) -> bool {
    Scan::new(code, env, Kind::Shared).is_shared_constant(constant)
}
