//! The pass over a function that finds its private objects and what is done to them: steps 1 and 3
//! of [`super`].

mod calls;
mod finish;

use phalanx_graph::{DomTree, Node};
use phalanx_ir::{
    InstId, Opcode, Type, TypeKind, Value, ValueKind,
    flow::block_of,
    inst::{InstFlags, Ordering},
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::accesses::{Access, Address, Object, Reach};
use super::entries::Entries;
use super::holders::{HeldAddress, SlotContents, holders, slot_of};
use super::objects::{STEPS, has_copies, is_address, is_pointee, is_trackable, pointee_of};
use super::touch::{Effect, Passed};
use crate::code::{Code, Environment, TypeSizes, value_type};
use crate::memory::by_inst::InstSet;

const NO_ADDRESS: u32 = u32::MAX;

/// The largest size in bytes of a part that counts as one scalar when a callee accesses it.
const SCALAR: i64 = 16;

pub(super) struct Scan<'a> {
    code: Code<'a>,
    env: Environment<'a>,
    reach: Reach,
    sizes: TypeSizes<'a>,
    /// By instruction: the entry in `addresses`. Without capacity in a scan of a single
    /// instruction.
    address: Entries,
    addresses: Vec<Address>,
    objects: Vec<Object>,
    accesses: Vec<Access>,
    affected: InstSet,
    /// Whether there is any alloca.
    has_slots: bool,
    /// Whether no address was stored or given to a function that is called, as far as was looked.
    is_plain: bool,
    /// Instructions with an address as an operand, and its object.
    users: Vec<(InstId, u32)>,
    /// The instruction that is being scanned, and the operand.
    current: Option<(InstId, Value)>,
    /// By argument: the entry in `addresses`. Empty if arguments are not objects.
    arguments: Vec<u32>,
    /// Allocas that hold one address.
    holders: FxHashMap<InstId, SlotContents>,
    /// Loads from `holders`, with the address.
    held: Vec<(InstId, Address)>,
    /// Addresses that are passed to calls, with the number of the object.
    passed: Vec<(u32, Passed)>,
}

impl<'a> Scan<'a> {
    /// A new scan of the whole function.
    pub(super) fn new(code: Code<'a>, env: Environment<'a>, dom: &DomTree, reach: Reach) -> Self {
        let address = Entries::All(vec![0; code.body.id_count()]);
        let mut scan = Scan { address, ..Scan::of_one(code, env, reach) };
        if let (true, Some(entry)) = (reach.follows_calls, code.flow.entry()) {
            // Unreachable stores do not count.
            let blocks = dom.preorder().iter().map(|&node| block_of(node));
            let insts = blocks.flat_map(|block| code.body.block_insts(block));
            scan.holders = holders(code, code.body.block_insts(entry), insts);
        }
        if reach.has_pointees {
            let count = code.header.params.len() as u32;
            scan.pointees((0..count).map(|at| is_pointee(code, env, at)));
        }
        scan
    }

    /// A new scan of some objects: allocas, and objects that arguments point to. `insts` are all
    /// reachable instructions that use them. Calls are followed.
    pub(super) fn of_some(
        code: Code<'a>,
        env: Environment<'a>,
        (slots, pointees): (&[InstId], &[InstId]),
        insts: &[InstId],
    ) -> Self {
        let has_pointees = !pointees.is_empty();
        let reach = Reach { follows_calls: true, has_pointees, ..Reach::default() };
        let address = Entries::Some(FxHashMap::default());
        let holders = holders(code, slots.iter().copied(), insts.iter().copied());
        let mut scan = Scan { address, holders, ..Scan::of_one(code, env, reach) };
        if has_pointees {
            let count = code.header.params.len() as u32;
            scan.pointees((0..count).map(|at| pointees.contains(&pointee_of(at))));
        }
        scan
    }

    /// A new scan of one instruction.
    pub(super) fn of_one(code: Code<'a>, env: Environment<'a>, reach: Reach) -> Self {
        Scan {
            code,
            env,
            reach,
            sizes: TypeSizes::new(code.context, env.layout),
            address: Entries::default(),
            addresses: Vec::new(),
            objects: Vec::new(),
            accesses: Vec::new(),
            affected: InstSet::default(),
            has_slots: false,
            is_plain: !has_copies(code, env),
            users: Vec::new(),
            current: None,
            arguments: Vec::new(),
            holders: FxHashMap::default(),
            held: Vec::new(),
            passed: Vec::new(),
        }
    }

    /// Scans one operand of an instruction, which may be the address of an object. Returns whether
    /// the use is an access and nothing else: no escape, and no computation of another address.
    /// `known` gives the addresses of objects among values that are not computed from allocas.
    pub(super) fn look_at(
        &mut self,
        inst: InstId,
        block: Node,
        (position, operand): (usize, Value),
        known: impl Fn(Value) -> Option<HeldAddress>,
    ) -> bool {
        let Some(address) = self.update(operand, known) else { return false };
        let count = self.addresses.len();
        self.operand(inst, block, position, address);
        self.addresses.len() == count && self.objects.iter().all(|object| object.is_private)
    }

    /// The object and offset of an address, found by walking up to the object and computing down
    /// again.
    fn update(
        &mut self,
        operand: Value,
        known: impl Fn(Value) -> Option<HeldAddress>,
    ) -> Option<Address> {
        let body = self.code.body;
        let mut steps: SmallVec<[InstId; 8]> = SmallVec::new();
        let mut at = operand;
        let HeldAddress { object, offset } = loop {
            if let Some(address) = known(at) {
                break address;
            }
            let step = at.as_inst()?;
            if body.inst(step).opcode == Opcode::Alloca {
                break HeldAddress { object: step, offset: Some(0) };
            }
            if !is_address(body, step) || steps.len() == STEPS {
                return None;
            }
            steps.push(step);
            at = body.operands(step)[0];
        };
        let known = self.objects.iter().position(|of| of.alloca == object);
        let object = known.unwrap_or_else(|| {
            self.objects.push(Object::new(object));
            self.objects.len() - 1
        });
        let steps = steps.into_iter().rev();
        let offset = steps.fold(offset, |offset, step| self.stepped(offset, step));
        Some(Address { object: object as u32, offset })
    }

    /// Whether no address was stored or given to a function that is called, as far as was looked.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The accesses found so far.
    pub(super) fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// The object of an access.
    pub(super) fn alloca(&self, access: &Access) -> InstId {
        self.objects[access.object as usize].alloca
    }

    /// The offset of an address that is computed from another address at offset `from`.
    fn stepped(&mut self, from: Option<i64>, by: InstId) -> Option<i64> {
        match self.code.body.inst(by).opcode {
            Opcode::GetElementPtr => {
                let step = self.sizes.gep_offset(self.code.body, by);
                from.and_then(|at| at.checked_add(step?))
            }
            Opcode::AddrSpaceCast => {
                // In a space with narrower addresses, an address below the object may have wrapped.
                let bits = |value| self.sizes.index_bits(value_type(self.code, value)?);
                let is_as_wide = bits(self.code.body.operands(by)[0]) == bits(Value::inst(by));
                from.filter(|&at| is_as_wide || at >= 0)
            }
            _ => from,
        }
    }

    /// Adds an object for each argument for which `are_objects` says so.
    fn pointees(&mut self, are_objects: impl Iterator<Item = bool>) {
        for (is_object, position) in are_objects.zip(0..) {
            let mut entry = NO_ADDRESS;
            if is_object {
                entry = self.addresses.len() as u32;
                let object = self.objects.len() as u32;
                let alloca = pointee_of(position);
                self.objects.push(Object::new(alloca));
                self.addresses.push(Address { object, offset: Some(0) });
            }
            self.arguments.push(entry);
        }
    }

    fn address_of(&self, operand: Value) -> Option<Address> {
        let number = match operand.kind() {
            ValueKind::Inst(inst) => self.address.get(inst)?,
            ValueKind::Arg(position) => *self.arguments.get(position as usize)?,
            _ => return None,
        };
        self.addresses.get(number as usize).copied()
    }

    fn define(&mut self, inst: InstId, address: Address) {
        self.address.set(inst, self.addresses.len() as u32);
        self.addresses.push(address);
    }

    /// Scans an instruction. Blocks have to come in the preorder of the dominator tree.
    pub(super) fn visit(&mut self, inst: InstId, block: Node, is_entry: bool) {
        let body = self.code.body;
        let data = body.inst(inst);
        if data.opcode == Opcode::Alloca {
            self.has_slots = true;
            self.dependencies(inst);
            if is_entry && is_trackable(body, inst) {
                let object = self.objects.len() as u32;
                self.objects.push(Object::new(inst));
                self.define(inst, Address { object, offset: Some(0) });
            }
            return;
        }
        let operands = body.operands(inst);
        let mut is_affected = false;
        let passed = self.passed.len();
        for (position, &operand) in operands.iter().enumerate() {
            let Some(address) = self.address_of(operand) else { continue };
            is_affected = true;
            self.users.push((inst, address.object));
            self.current = Some((inst, operand));
            self.operand(inst, block, position, address);
        }
        if self.passed.len() > passed {
            self.followed(inst, block, passed);
        }
        if data.opcode == Opcode::Load && !self.holders.is_empty() {
            self.load_of_holder(inst);
        }
        if self.reach.has_pointees && data.opcode == Opcode::Ret {
            self.returned(inst, block);
        }
        if is_affected {
            self.dependencies(inst);
        } else if data.opcode == Opcode::Phi {
            // A value of the phi may be met later, over a back edge; `escape_over_phis` checks the
            // phi at the end.
            let is_pointer = matches!(
                self.code.context.type_kind(data.ty),
                TypeKind::Ptr(_) | TypeKind::Vector { .. }
            );
            if is_pointer {
                self.dependencies(inst);
            }
        }
    }

    /// Records that the answer depends on an instruction. If calls are followed, `users` serves
    /// instead.
    fn dependencies(&mut self, inst: InstId) {
        if !self.reach.follows_calls {
            self.affected.insert(inst);
        }
    }

    fn escape(&mut self, address: Address) {
        let object = &mut self.objects[address.object as usize];
        object.is_private = false;
        object.witness = object.witness.or(self.current);
    }

    fn operand(&mut self, inst: InstId, block: Node, position: usize, address: Address) {
        let body = self.code.body;
        let data = body.inst(inst);
        match (data.opcode, position) {
            (Opcode::Load, 0) => {
                let is_timed = data.flags.contains(InstFlags::VOLATILE)
                    || data.mem().ordering() != Ordering::NotAtomic;
                let effect = if is_timed { Effect::Read } else { Effect::Load };
                self.access(inst, block, address, effect, data.ty);
            }
            (Opcode::Store, 1) => {
                let value = body.operands(inst)[0];
                match value_type(self.code, value) {
                    Some(ty) => self.access(inst, block, address, Effect::Store, ty),
                    None => self.escape(address),
                }
            }
            (Opcode::Store, 0) if self.hold(inst, address) => {}
            (Opcode::AtomicRmw | Opcode::CmpXchg, 0) => {
                match value_type(self.code, body.operands(inst)[1]) {
                    Some(ty) => {
                        self.access(inst, block, address, Effect::Read, ty);
                        self.access(inst, block, address, Effect::Clobber, ty);
                    }
                    None => self.escape(address),
                }
            }
            (Opcode::GetElementPtr, 0) => {
                if !self.is_scalar_pointer(data.ty) {
                    return self.escape(address);
                }
                let offset = self.stepped(address.offset, inst);
                self.define(inst, Address { offset, ..address });
            }
            (Opcode::AddrSpaceCast | Opcode::BitCast, 0) => {
                if !self.is_scalar_pointer(data.ty) {
                    return self.escape(address);
                }
                let offset = self.stepped(address.offset, inst);
                self.define(inst, Address { offset, ..address });
            }
            (Opcode::ICmp, _) => {}
            (opcode, _) if opcode.is_call() => self.call(inst, block, position, address),
            _ => self.escape(address),
        }
    }

    /// Handles a store of an address. Returns whether its destination holds this one address.
    fn hold(&mut self, store: InstId, address: Address) -> bool {
        self.is_plain = false;
        let body = self.code.body;
        let slot = body.operands(store)[1].as_inst().and_then(|to| slot_of(body, to));
        match slot.and_then(|slot| self.holders.get_mut(&slot)) {
            Some(held @ SlotContents::Nothing) => {
                *held = SlotContents::Address(address, store);
                true
            }
            _ => false,
        }
    }

    /// Treats a load from an alloca that holds an address as that address.
    fn load_of_holder(&mut self, load: InstId) {
        let body = self.code.body;
        let from = body.operands(load)[0].as_inst().and_then(|from| slot_of(body, from));
        let Some(held) = from.and_then(|slot| self.holders.get_mut(&slot)) else { return };
        match *held {
            SlotContents::Address(address, _) => {
                self.define(load, address);
                self.held.push((load, address));
            }
            // The scan has not met the store: a load in a later iteration may still see its
            // address. The alloca is disqualified.
            SlotContents::Nothing | SlotContents::Other => *held = SlotContents::Other,
        }
    }

    /// Adds an access of each object of an argument: its caller may read them after the return.
    fn returned(&mut self, ret: InstId, block: Node) {
        let pointees = self.arguments.iter().filter_map(|&at| self.addresses.get(at as usize));
        let pointees: Vec<Address> = pointees.copied().collect();
        for address in pointees {
            let anywhere = Address { offset: None, ..address };
            self.range(ret, block, anywhere, Effect::Return, (None, false));
        }
    }

    fn is_scalar_pointer(&self, ty: Type) -> bool {
        matches!(self.code.context.type_kind(ty), TypeKind::Ptr(_))
    }

    fn access(&mut self, inst: InstId, block: Node, address: Address, effect: Effect, ty: Type) {
        let size = self.sizes.store_size(ty);
        let is_full = self.sizes.is_scalar(ty);
        let known = self.accesses.len();
        self.range(inst, block, address, effect, (size, is_full));
        if let Some(access) = self.accesses[known..].first_mut() {
            let wanted = self.reach.wanted;
            access.has_address = match effect {
                Effect::Load => wanted.is_among(self.code, ty),
                Effect::Store => wanted.is_put(self.code, ty),
                _ => false,
            };
        }
    }

    /// Records an access of a scalar or of a block of memory, with its size if that is known.
    fn range(
        &mut self,
        inst: InstId,
        block: Node,
        address: Address,
        effect: Effect,
        (size, is_scalar): (Option<u64>, bool),
    ) {
        let end = address.offset.and_then(|at| at.checked_add(i64::try_from(size?).ok()?));
        let range = address.offset.and_then(|at| Some((at, end?)));
        if range.is_some_and(|(at, end)| at == end) {
            return;
        }
        let is_full = match effect {
            Effect::Store => is_scalar,
            Effect::Fill | Effect::CopyTo => true,
            _ => false,
        };
        self.accesses.push(Access {
            inst,
            block,
            object: address.object,
            effect,
            range,
            is_fixed: range.is_some(),
            is_wide: !is_scalar,
            is_full,
            has_address: effect == Effect::CopyFrom,
        });
    }
}
