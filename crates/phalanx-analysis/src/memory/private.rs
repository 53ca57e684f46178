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

mod scan;
mod slots;

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{Body, InstId, Opcode, Type, Value, flow::block_of, inst::InstFlags};

use self::scan::Scan;
use super::origins::Origins;
use super::ssa::{Events, Ssa, Version};
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
    /// It leaves anything in the slot. What may also read it is a [`Read`](Self::Read) before: the version before a definition that nobody reads
    /// is not always known.
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
        let mut scan = Scan::new(code, around);
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

/// How many steps from an address to its object are looked at.
const STEPS: usize = 64;

fn number(inst: InstId) -> u32 {
    inst.into_raw().into_u32()
}

pub(crate) fn value_type(code: Code<'_>, value: Value) -> Option<Type> {
    match value.kind() {
        phalanx_ir::ValueKind::Inst(inst) => Some(code.body.inst(inst).ty),
        phalanx_ir::ValueKind::Arg(position) => code.header.params.get(position as usize).copied(),
        phalanx_ir::ValueKind::Const(constant) => Some(code.context.const_data(constant).ty),
        _ => None,
    }
}
