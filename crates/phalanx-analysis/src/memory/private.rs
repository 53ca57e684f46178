//! Private memory that only the function itself can reach: its variables, and what each instruction does to them.
//!
//! # What
//!
//! An `alloca` of the entry block whose address is used for nothing but access in place is private to one thread and to
//! this function: nobody else can name it. Its content is then as good as a register. [`PrivateMemory`] finds
//! these objects, divides each into *slots* that no scalar access crosses, and puts the slots into SSA form ([`ssa`](super::ssa)).
//!
//! # How
//!
//! 1. Blocks are visited in the dominator tree's preorder, so that an address is met before what is made from it. Addresses
//!    are made by `getelementptr` and casts of address spaces. Uses that are understood: loads and stores,
//!    atomics, `memcpy`, `memmove`, `memset`, comparisons, calls that take the address without capturing it. Any other use is an
//!    *escape*: the object is given up. A phi or `select` of addresses is one, too.
//! 2. **Slots** of an object are the connected unions of byte ranges of scalar accesses. An access at an offset
//!    that is not known makes the whole object one slot. Accesses of aggregates and blocks of memory are *wide*: they do not
//!    join slots but touch several, and what only they touch is a slot of its own.
//! 3. A store *must define* its slot when it writes all of it; then the old content does not count.
//!
//! **What is taken for granted.** Content that was never written is undef, one value for all threads (see docs/divergence.md). An
//! access whose address was made from an object is inside that object; otherwise the program has no defined meaning.
//!
//! **Complexity.** O(instructions + operands), sorting accesses per object, and [`ssa`](super::ssa).

use phalanx_graph::{BitSet, Cfg, DomTree, Node};
use phalanx_ir::{
    Body, Context, GlobalName, InstId, Opcode, Type, TypeKind, Value,
    attributes::{AttrKind, AttrSetData, Captures, MemoryEffects, MemoryLocation},
    constant::ConstKind,
    flow::block_of,
    inst::{InstFlags, Ordering},
};

use super::origins::Origins;
use super::sizes::TypeSizes;
use super::ssa::{Event, EventKind, Events, Pruning, Ssa, Version};
use crate::lower::{Code, Surroundings};

/// What an instruction does to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A load: its result is what the slot holds.
    Load,
    /// It may read the slot and give what it read to the outside.
    Read,
    /// A store of the value that it is given.
    Store,
    /// `memset`.
    Fill,
    /// The source of a copy.
    CopyFrom,
    /// The destination of a copy.
    CopyTo,
    /// It leaves anything in the slot.
    Clobber,
}

/// One instruction and one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The instruction.
    pub inst: InstId,
    /// The slot.
    pub slot: u32,
    /// What it does.
    pub effect: Effect,
    /// Number of the event in the SSA form.
    pub event: u32,
    /// Whether which part of the object is touched is not known, or depends on operands of the address.
    pub is_at_variable_offset: bool,
    /// The first byte of the object that the instruction touches, if it is known.
    pub at: Option<i64>,
}

/// A part of an object that is one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The object.
    pub alloca: InstId,
    /// Its bytes, counted from the start of the object; all of it if they are not known.
    pub range: Option<(i64, i64)>,
}

/// Private objects of a function, in SSA form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivateMemory {
    slots: Vec<Slot>,
    /// In the order of blocks in the dominator tree's preorder, and of execution in each.
    touches: Vec<Touch>,
    /// First touch by instruction, plus one; zero for none. Empty when there are no touches.
    first: Vec<u32>,
    /// The touch of each event.
    touch_of: Vec<u32>,
    events: Events,
    ssa: Ssa,
    /// Instructions whose change may change any of this: allocas, addresses made from them, and whatever has one for an operand.
    concerned: Concerned,
    origins: Origins,
    /// All private objects, accessed or not, in order of their numbers.
    objects: Vec<InstId>,
}

/// Instructions that matter, by number. Equal if they hold the same, however long they are.
#[derive(Clone, Debug, Default)]
struct Concerned(Vec<u64>);

impl Concerned {
    fn insert(&mut self, inst: InstId) {
        let i = inst.into_raw().into_u32() as usize;
        if self.0.len() <= i / 64 {
            self.0.resize(i / 64 + 1, 0);
        }
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn contains(&self, inst: InstId) -> bool {
        let i = inst.into_raw().into_u32() as usize;
        self.0.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 != 0)
    }
}

impl PartialEq for Concerned {
    fn eq(&self, other: &Self) -> bool {
        let common = self.0.len().min(other.0.len());
        let rest = self.0[common..].iter().chain(&other.0[common..]);
        self.0[..common] == other.0[..common] && rest.copied().all(|word| word == 0)
    }
}

impl Eq for Concerned {}

/// An address made from an object.
#[derive(Clone, Copy, Debug)]
struct Address {
    object: u32,
    /// Where in the object, if it is a constant.
    offset: Option<i64>,
}

/// A use of an address.
#[derive(Clone, Copy, Debug)]
struct Access {
    inst: InstId,
    block: Node,
    object: u32,
    effect: Effect,
    /// First byte and the one after the last, if they are known.
    range: Option<(i64, i64)>,
    /// Whether the address is at a constant offset.
    is_fixed: bool,
    /// Whether it may touch several slots.
    is_wide: bool,
    /// Whether it writes every bit of its range with what it is given.
    is_full: bool,
}

#[derive(Clone, Debug)]
struct Object {
    alloca: InstId,
    is_private: bool,
}

impl PrivateMemory {
    /// That of a function.
    #[must_use]
    pub fn new(code: Code<'_>, around: Surroundings<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        let objects = Self::without_origins(code, around, cfg, dom);
        match code.flow.entry() {
            Some(_) => PrivateMemory { origins: Origins::new(code, around), ..objects },
            None => objects,
        }
    }

    /// The same, with nothing said about where other pointers come from.
    #[must_use]
    pub fn without_origins(
        code: Code<'_>,
        around: Surroundings<'_>,
        cfg: &Cfg,
        dom: &DomTree,
    ) -> Self {
        let Some(entry) = code.flow.entry() else { return Self::default() };
        let body = code.body;
        let is_object =
            |inst: InstId| body.inst(inst).opcode == Opcode::Alloca && is_trackable(body, inst);
        if !body.block_insts(entry).any(is_object) {
            return Self::default();
        }
        let mut scan = Scan {
            code,
            sizes: TypeSizes::new(code.context, around.layout),
            address: vec![NO_ADDRESS; body.id_count()],
            addresses: Vec::new(),
            objects: Vec::new(),
            accesses: Vec::new(),
            concerned: Concerned::default(),
        };
        for &node in dom.preorder() {
            let block = block_of(node);
            for inst in body.block_insts(block) {
                scan.visit(inst, node, block == entry);
            }
        }
        scan.finish(cfg, dom)
    }

    /// Whether there is no private object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Which addresses may be private at all.
    #[must_use]
    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// The variables.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The SSA form of the slots.
    #[must_use]
    pub fn ssa(&self) -> &Ssa {
        &self.ssa
    }

    /// What the SSA form was made from.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// All touches: of each instruction together, reads before writes.
    #[must_use]
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// The touch that an event is.
    #[must_use]
    pub fn touch_of(&self, event: u32) -> &Touch {
        &self.touches[self.touch_of[event as usize] as usize]
    }

    /// What an instruction touches.
    #[inline]
    #[must_use]
    pub fn of(&self, inst: InstId) -> &[Touch] {
        let number = inst.into_raw().into_u32() as usize;
        let Some(first) = self.first.get(number).and_then(|first| first.checked_sub(1)) else {
            return &[];
        };
        let rest = &self.touches[first as usize..];
        let count = rest.iter().take_while(|touch| touch.inst == inst).count();
        &rest[..count]
    }

    /// Whether what a load gives is what private slots hold.
    #[inline]
    #[must_use]
    pub fn is_load(&self, inst: InstId) -> bool {
        self.of(inst).first().is_some_and(|touch| touch.effect == Effect::Load)
    }

    /// The stack slot that an address is made from, a few steps up.
    #[must_use]
    pub fn object_of(&self, body: &Body, mut address: Value) -> Option<InstId> {
        for _ in 0..STEPS {
            let inst = address.as_inst().filter(|&inst| is_address(body, inst))?;
            if body.inst(inst).opcode == Opcode::Alloca {
                return Some(inst);
            }
            address = body.operands(inst)[0];
        }
        None
    }

    /// Whether an alloca is an object that nobody else can reach.
    #[must_use]
    pub fn is_object(&self, alloca: InstId) -> bool {
        self.objects.binary_search_by_key(&number(alloca), |object| number(*object)).is_ok()
    }

    /// The object of a touch.
    #[must_use]
    pub fn object(&self, touch: &Touch) -> InstId {
        self.slots[touch.slot as usize].alloca
    }

    /// The version before a touch.
    #[must_use]
    pub fn reaching(&self, touch: &Touch) -> Version {
        self.ssa.reaching(touch.event)
    }

    /// Whether anything here may be otherwise after these instructions were inserted, removed, moved or changed. The graph is
    /// the same.
    #[must_use]
    pub fn concerns(&self, code: Code<'_>, changed: &[InstId]) -> bool {
        Origins::concerns(code, changed) || self.concerns_objects(code, changed)
    }

    /// The same of what [`PrivateMemory::without_origins`] says.
    #[must_use]
    pub fn concerns_objects(&self, code: Code<'_>, changed: &[InstId]) -> bool {
        let body = code.body;
        changed.iter().any(|&inst| {
            self.concerned.contains(inst)
                || body.inst(inst).opcode == Opcode::Alloca
                || body
                    .operands(inst)
                    .iter()
                    .filter_map(|operand| operand.as_inst())
                    .any(|operand| self.concerned.contains(operand) && is_address(body, operand))
        })
    }

    /// Loads that read private memory here or in `old` but not in both, in order.
    pub fn other_loads<'a>(&'a self, old: &'a Self) -> impl Iterator<Item = InstId> + 'a {
        let loads = |memory: &'a Self, other: &'a Self| {
            let loads = memory.touches.iter().filter(|touch| touch.effect == Effect::Load);
            loads.map(|touch| touch.inst).filter(move |load| !other.is_load(*load))
        };
        loads(self, old).chain(loads(old, self))
    }

    /// Whether there is any stack slot in the entry block, private or not: whether edits of the graph can matter.
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        !self.concerned.0.is_empty()
    }
}

/// Whether an instruction can make an address of an object.
fn is_address(body: &Body, inst: InstId) -> bool {
    matches!(
        body.inst(inst).opcode,
        Opcode::Alloca | Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
    )
}

/// Whether an alloca of the entry block is a plain piece of the frame.
fn is_trackable(body: &Body, inst: InstId) -> bool {
    let flags = body.inst(inst).flags;
    !flags.contains(InstFlags::IN_ALLOCA) && !flags.contains(InstFlags::SWIFT_ERROR)
}

const NO_ADDRESS: u32 = u32::MAX;

/// How many steps from an address to its object are looked at.
const STEPS: usize = 64;

struct Scan<'a> {
    code: Code<'a>,
    sizes: TypeSizes<'a>,
    /// By instruction: the entry in `addresses`.
    address: Vec<u32>,
    addresses: Vec<Address>,
    objects: Vec<Object>,
    accesses: Vec<Access>,
    concerned: Concerned,
}

impl Scan<'_> {
    fn address_of(&self, operand: Value) -> Option<Address> {
        let inst = operand.as_inst()?;
        let number = self.address[inst.into_raw().into_u32() as usize];
        self.addresses.get(number as usize).copied()
    }

    fn define(&mut self, inst: InstId, address: Address) {
        self.address[inst.into_raw().into_u32() as usize] = self.addresses.len() as u32;
        self.addresses.push(address);
    }

    fn visit(&mut self, inst: InstId, block: Node, is_entry: bool) {
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
                    Some(ty) => self.access(inst, block, address, Effect::Clobber, ty),
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
        if may_write {
            self.range(inst, block, anywhere, Effect::Clobber, (None, false));
        } else if may_read {
            self.range(inst, block, anywhere, Effect::Read, (None, false));
        }
    }

    fn finish(mut self, cfg: &Cfg, dom: &DomTree) -> PrivateMemory {
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

fn number(inst: InstId) -> u32 {
    inst.into_raw().into_u32()
}

fn writes(effect: Effect) -> bool {
    matches!(effect, Effect::Store | Effect::Fill | Effect::CopyTo | Effect::Clobber)
}

fn event_kind(access: &Access, slot: &Slot) -> EventKind {
    if !writes(access.effect) {
        return EventKind::Use;
    }
    match (access.range, slot.range) {
        (Some((at, end)), Some((first, last)))
            if access.is_full && access.is_fixed && at <= first && last <= end =>
        {
            EventKind::MustDef
        }
        _ => EventKind::MayDef,
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

pub(crate) fn value_type(code: Code<'_>, value: Value) -> Option<Type> {
    match value.kind() {
        phalanx_ir::ValueKind::Inst(inst) => Some(code.body.inst(inst).ty),
        phalanx_ir::ValueKind::Arg(position) => code.header.params.get(position as usize).copied(),
        phalanx_ir::ValueKind::Const(constant) => Some(code.context.const_data(constant).ty),
        _ => None,
    }
}

/// The slots of each object: a range of the list, sorted by their first byte.
struct Divided {
    /// By object.
    slots: Vec<(u32, u32)>,
}

impl Divided {
    /// The slots that an access touches.
    fn touched(&self, slots: &[Slot], access: &Access) -> std::ops::Range<u32> {
        let (first, end) = self.slots[access.object as usize];
        let Some((at, last)) = access.range else { return first..end };
        let of_object = &slots[first as usize..end as usize];
        if of_object.iter().any(|slot| slot.range.is_none()) {
            return first..end;
        }
        let from = of_object.partition_point(|slot| slot.range.is_some_and(|(_, end)| end <= at));
        let to = of_object.partition_point(|slot| slot.range.is_some_and(|(at, _)| at < last));
        first + from as u32..first + to as u32
    }
}

/// Divides objects into slots.
fn divide(objects: &[Object], accesses: &[Access], slots: &mut Vec<Slot>) -> Divided {
    let mut of_object: Vec<(u32, (i64, i64))> = Vec::with_capacity(accesses.len());
    let mut is_whole = BitSet::new(objects.len());
    let mut is_touched = BitSet::new(objects.len());
    for access in accesses {
        is_touched.insert(access.object as usize);
        match access.range {
            // A callee that reads or writes anywhere touches whatever slots there are.
            None if access.is_wide && matches!(access.effect, Effect::Read | Effect::Clobber) => {}
            None => {
                is_whole.insert(access.object as usize);
            }
            Some(range) if !access.is_wide => of_object.push((access.object, range)),
            Some(_) => {}
        }
    }
    of_object.sort_unstable();
    // Unions of ranges that overlap.
    of_object.dedup();
    let mut merged: Vec<(u32, (i64, i64))> = Vec::with_capacity(of_object.len());
    for (object, (at, end)) in of_object {
        match merged.last_mut() {
            Some((last, range)) if *last == object && at < range.1 => range.1 = range.1.max(end),
            _ => merged.push((object, (at, end))),
        }
    }
    if accesses.iter().any(|access| access.is_wide && access.range.is_some()) {
        merged.extend(gaps(&merged, accesses));
        merged.sort_unstable();
    }
    let mut ranges = vec![(0, 0); objects.len()];
    slots.reserve(merged.len().max(objects.len()));
    let mut next = 0;
    for (number, object) in objects.iter().enumerate() {
        let first = slots.len() as u32;
        let own = merged[next..].iter().take_while(|(of, _)| *of as usize == number).count();
        let own = &merged[next..next + own];
        next += own.len();
        if is_whole.contains(number) || own.is_empty() && is_touched.contains(number) {
            slots.push(Slot { alloca: object.alloca, range: None });
        } else {
            slots.extend(
                own.iter().map(|(_, range)| Slot { alloca: object.alloca, range: Some(*range) }),
            );
        }
        ranges[number] = (first, slots.len() as u32);
    }
    Divided { slots: ranges }
}

/// What only wide accesses touch, between the slots that are there, sorted by object and first byte.
fn gaps(slots: &[(u32, (i64, i64))], accesses: &[Access]) -> Vec<(u32, (i64, i64))> {
    let mut wide: Vec<(u32, (i64, i64))> = accesses
        .iter()
        .filter(|access| access.is_wide)
        .filter_map(|access| Some((access.object, access.range?)))
        .collect();
    wide.sort_unstable();
    let mut merged: Vec<(u32, (i64, i64))> = Vec::new();
    for (object, (at, end)) in wide {
        match merged.last_mut() {
            Some((last, range)) if *last == object && at <= range.1 => range.1 = range.1.max(end),
            _ => merged.push((object, (at, end))),
        }
    }
    let mut found = Vec::new();
    for (object, (mut at, end)) in merged {
        let from = slots.partition_point(|&(of, (_, last))| (of, last) <= (object, at));
        for &(of, (first, last)) in &slots[from..] {
            if of != object || first >= end {
                break;
            }
            if at < first {
                found.push((object, (at, first)));
            }
            at = at.max(last);
        }
        if at < end {
            found.push((object, (at, end)));
        }
    }
    found
}
