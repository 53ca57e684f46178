//! The pass over a function that finds its private objects and what is done to them: steps 1 and 3 of [`super`].

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{
    Body, Context, GlobalName, InstId, Opcode, Type, TypeKind, Value,
    attributes::{AttrKind, AttrSetData, Captures, MemoryEffects, MemoryLocation},
    constant::ConstKind,
    inst::{InstFlags, Ordering},
};

use super::slots::{divide, event_kind, writes};
use super::{Concerned, Effect, PrivateMemory, Slot, Touch, is_trackable, number, value_type};
use crate::lower::{Code, Surroundings};
use crate::memory::{
    origins::Origins,
    sizes::TypeSizes,
    ssa::{Event, Events, Pruning, Ssa},
};

/// An address made from an object.
#[derive(Clone, Copy, Debug)]
struct Address {
    object: u32,
    /// Where in the object, if it is a constant.
    offset: Option<i64>,
}

/// A use of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) inst: InstId,
    pub(super) block: Node,
    pub(super) object: u32,
    pub(super) effect: Effect,
    /// First byte and the one after the last, if they are known.
    pub(super) range: Option<(i64, i64)>,
    /// Whether the address is at a constant offset.
    pub(super) is_fixed: bool,
    /// Whether it may touch several slots.
    pub(super) is_wide: bool,
    /// Whether it writes every bit of its range with what it is given.
    pub(super) is_full: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) alloca: InstId,
    pub(super) is_private: bool,
}

const NO_ADDRESS: u32 = u32::MAX;

pub(super) struct Scan<'a> {
    code: Code<'a>,
    sizes: TypeSizes<'a>,
    /// By instruction: the entry in `addresses`.
    address: Vec<u32>,
    addresses: Vec<Address>,
    objects: Vec<Object>,
    accesses: Vec<Access>,
    concerned: Concerned,
}

impl<'a> Scan<'a> {
    /// Nothing seen yet.
    pub(super) fn new(code: Code<'a>, around: Surroundings<'a>) -> Self {
        Scan {
            code,
            sizes: TypeSizes::new(code.context, around.layout),
            address: vec![NO_ADDRESS; code.body.id_count()],
            addresses: Vec::new(),
            objects: Vec::new(),
            accesses: Vec::new(),
            concerned: Concerned::default(),
        }
    }

    fn address_of(&self, operand: Value) -> Option<Address> {
        let inst = operand.as_inst()?;
        let number = self.address[inst.into_raw().into_u32() as usize];
        self.addresses.get(number as usize).copied()
    }

    fn define(&mut self, inst: InstId, address: Address) {
        self.address[inst.into_raw().into_u32() as usize] = self.addresses.len() as u32;
        self.addresses.push(address);
    }

    /// What an instruction does; blocks come in the dominator tree's preorder.
    pub(super) fn visit(&mut self, inst: InstId, block: Node, is_entry: bool) {
        let body = self.code.body;
        let data = body.inst(inst);
        if data.opcode == Opcode::Alloca {
            self.concerned.insert(inst);
            if is_entry && is_trackable(body, inst) {
                let object = self.objects.len() as u32;
                self.objects.push(Object { alloca: inst, is_private: true });
                self.define(inst, Address { object, offset: Some(0) });
            }
            return;
        }
        let operands = body.operands(inst);
        let mut is_concerned = false;
        for (position, &operand) in operands.iter().enumerate() {
            let Some(address) = self.address_of(operand) else { continue };
            is_concerned = true;
            self.operand(inst, block, position, address);
        }
        if is_concerned {
            self.concerned.insert(inst);
        } else if data.opcode == Opcode::Phi {
            // An entry over a back edge may be met later; the phi is asked again at the end.
            let is_pointer = matches!(
                self.code.context.type_kind(data.ty),
                TypeKind::Ptr(_) | TypeKind::Vector { .. }
            );
            if is_pointer {
                self.concerned.insert(inst);
            }
        }
    }

    fn escape(&mut self, address: Address) {
        self.objects[address.object as usize].is_private = false;
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
                let step = self.sizes.gep_offset(body, inst);
                let offset = match (address.offset, step) {
                    (Some(at), Some(step)) => at.checked_add(step),
                    _ => None,
                };
                self.define(inst, Address { offset, ..address });
            }
            (Opcode::AddrSpaceCast | Opcode::BitCast, 0) => {
                if !self.is_scalar_pointer(data.ty) {
                    return self.escape(address);
                }
                self.define(inst, address);
            }
            (Opcode::ICmp, _) => {}
            (opcode, _) if opcode.is_call() => self.call(inst, block, position, address),
            _ => self.escape(address),
        }
    }

    fn is_scalar_pointer(&self, ty: Type) -> bool {
        matches!(self.code.context.type_kind(ty), TypeKind::Ptr(_))
    }

    fn access(&mut self, inst: InstId, block: Node, address: Address, effect: Effect, ty: Type) {
        let size = self.sizes.store_size(ty);
        let is_full = self.sizes.is_scalar(ty);
        self.range(inst, block, address, effect, (size, is_full));
    }

    /// Records an access of so many bytes, if that is known; of a scalar or of a block of memory.
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
        });
    }

    fn call(&mut self, inst: InstId, block: Node, position: usize, address: Address) {
        let body = self.code.body;
        let arguments = body.call_args(inst);
        if position >= arguments.len() {
            // A bundle's operand, or the callee.
            return self.escape(address);
        }
        if let Some(name) = intrinsic_name(self.code.context, body, inst) {
            let starts = |prefix: &[u8]| name.starts_with(prefix);
            if starts(b"llvm.lifetime.") || starts(b"llvm.prefetch") {
                return;
            }
            let is_copy = starts(b"llvm.memcpy.") || starts(b"llvm.memmove.");
            let is_plain = !starts(b"llvm.memcpy.element")
                && !starts(b"llvm.memmove.element")
                && !starts(b"llvm.memset.element");
            if is_plain && (is_copy || starts(b"llvm.memset.")) && arguments.len() >= 3 {
                let size = self.sizes.integer_operand(arguments[2]);
                let size = size.and_then(|size| u64::try_from(size).ok());
                let effect = match (position, is_copy) {
                    (0, true) => Effect::CopyTo,
                    (0, false) => Effect::Fill,
                    (1, true) => Effect::CopyFrom,
                    _ => return self.escape(address),
                };
                return self.range(inst, block, address, effect, (size, false));
            }
        }
        let context = self.code.context;
        let info = body.call_info(inst);
        let attributes = context.param_attrs(info.attributes, position);
        let of_call = context.function_attrs(info.attributes);
        let memory = of_call.memory().unwrap_or(MemoryEffects::UNKNOWN);
        if attributes.has(AttrKind::ByVal) {
            // The callee gets a copy.
            let size = attributes.type_of(AttrKind::ByVal);
            let size = size.and_then(|ty| self.sizes.store_size(ty));
            return self.range(inst, block, address, Effect::Read, (size, false));
        }
        if !is_not_captured(attributes) {
            return self.escape(address);
        }
        let access = memory.access(MemoryLocation::ArgMem);
        let may_write = access.writes() && !attributes.has(AttrKind::ReadOnly);
        let may_read = access.reads() && !attributes.has(AttrKind::WriteOnly);
        if attributes.has(AttrKind::ReadNone) {
            return;
        }
        // Which bytes the callee touches is not known: any of the object.
        let anywhere = Address { offset: None, ..address };
        if may_read {
            self.range(inst, block, anywhere, Effect::Read, (None, false));
        }
        if may_write {
            self.range(inst, block, anywhere, Effect::Clobber, (None, false));
        }
    }

    /// Slots and their SSA form, when all blocks were visited.
    pub(super) fn finish(mut self, cfg: &Cfg, dom: &DomTree) -> PrivateMemory {
        self.escape_over_phis();
        let objects = std::mem::take(&mut self.objects);
        let mut accesses = std::mem::take(&mut self.accesses);
        accesses.retain(|access| objects[access.object as usize].is_private);
        let mut slots: Vec<Slot> = Vec::new();
        let divided = divide(&objects, &accesses, &mut slots);
        let mut touches: Vec<Touch> = Vec::with_capacity(accesses.len());
        let mut by_block: Vec<(Node, Event)> = Vec::with_capacity(accesses.len());
        // Accesses are in program order; a copy inside the frame reads before it writes.
        for group in accesses.chunk_by(|a, b| a.inst == b.inst) {
            let reads = group.iter().filter(|access| !writes(access.effect));
            let writes = group.iter().filter(|access| writes(access.effect));
            for access in reads.chain(writes) {
                for slot in divided.touched(&slots, access) {
                    let kind = event_kind(access, &slots[slot as usize]);
                    touches.push(Touch {
                        inst: access.inst,
                        slot,
                        effect: access.effect,
                        event: 0,
                        is_at_variable_offset: !access.is_fixed,
                        at: access.range.map(|(at, _)| at),
                    });
                    by_block.push((access.block, Event { variable: slot, kind }));
                }
            }
        }
        let (events, place) = Events::new(cfg.node_count(), &by_block);
        let mut touch_of = vec![0; touches.len()];
        let mut first = Vec::new();
        if !touches.is_empty() {
            first = vec![0u32; self.address.len()];
        }
        for (i, touch) in touches.iter_mut().enumerate() {
            touch.event = place[i];
            touch_of[place[i] as usize] = i as u32;
            let entry = &mut first[touch.inst.into_raw().into_u32() as usize];
            if *entry == 0 {
                *entry = i as u32 + 1;
            }
        }
        let ssa = Ssa::new(cfg, dom, &events, slots.len() as u32, Pruning::Live);
        let concerned = self.concerned;
        let origins = Origins::default();
        let private = objects.iter().filter(|object| object.is_private);
        let mut objects: Vec<InstId> = private.map(|object| object.alloca).collect();
        objects.sort_unstable_by_key(|object| number(*object));
        PrivateMemory { objects, slots, touches, first, touch_of, events, ssa, concerned, origins }
    }

    /// Gives up objects whose address a phi takes over an edge that was not visited when the phi was.
    fn escape_over_phis(&mut self) {
        let body = self.code.body;
        for &block in self.code.flow.order() {
            for phi in body.phis(block) {
                for &value in body.phi_values(phi) {
                    if let Some(address) = self.address_of(value) {
                        self.concerned.insert(phi);
                        self.escape(address);
                    }
                }
            }
        }
    }
}

fn is_not_captured(attributes: &AttrSetData) -> bool {
    let address_at_most = |captures: Captures| {
        let components = captures.other.union(captures.ret);
        components.union(phalanx_ir::attributes::CaptureComponents::ADDRESS)
            == phalanx_ir::attributes::CaptureComponents::ADDRESS
    };
    attributes.captures().is_some_and(address_at_most)
}

/// The name of the intrinsic that is called.
fn intrinsic_name<'a>(context: &'a Context, body: &Body, call: InstId) -> Option<&'a [u8]> {
    let callee = body.const_callee(call)?;
    match context.const_data(callee).kind {
        ConstKind::Global(GlobalName::Named(symbol)) => {
            Some(context.bytes(symbol)).filter(|name| name.starts_with(b"llvm."))
        }
        _ => None,
    }
}
