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
//! After an edit of instructions, [`follow`] and [`splice`] look again at the objects in question.
//!
//! [`PrivateMemory::through_calls`] follows addresses further: into functions whose [summary] says
//! what they do with what an argument points to, and through slots that hold one address
//! ([`holders`]). For the summary itself [`PrivateMemory::with_pointees`] takes what arguments
//! point to for objects. In a kernel, structures that it is passed by value are objects as well:
//! each thread has a copy that nobody else has an address of, and all copies hold the same when the
//! kernel starts. So what is loaded from one depends on what the thread has written there, and on
//! nothing else.
//!
//! **What is taken for granted.** Content that was never written is undef, one value for all threads (see docs/divergence.md). An
//! access whose address was made from an object is inside that object; otherwise the program has no defined meaning.
//!
//! **Complexity.** O(instructions + operands), sorting accesses per object, and [`ssa`](super::ssa).

pub(crate) mod compare;
mod concern;
pub(crate) mod follow;
mod holders;
mod passed;
pub(crate) mod readers;
mod scan;
mod slots;
mod splice;

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{
    Body, Context, GlobalName, InstId, Opcode, Type, TypeKind, Value, attributes::AttrKind,
    constant::ConstKind, flow::block_of, inst::InstFlags,
};
use phalanx_target::calling_convention::Entry;

use self::concern::{Concern, Wanted};
pub use self::passed::Passed;
use self::scan::{Entries, Scan};
use super::by_inst::InstSet;
use super::origins::Origins;
use super::ssa::{Events, Ssa, Version};
use crate::{
    lower::{Code, Surroundings},
    summary,
};

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
    /// A function that is called may read it, through something that it was [`Passed`].
    ReadByCall,
    /// A function that is called may write it, through something that it was [`Passed`].
    WriteByCall,
    /// The function returns, and what is there is its caller's: a part of what an argument points to.
    Return,
}

impl Effect {
    /// Whether it is what a function that is called does, as its summary says.
    #[must_use]
    pub const fn is_by_call(self) -> bool {
        matches!(self, Effect::ReadByCall | Effect::WriteByCall)
    }
}

/// How far objects are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reach {
    /// Into functions that are called and of which a summary is known, and through slots that hold one address.
    follows_calls: bool,
    /// What arguments point to is taken for objects.
    has_pointees: bool,
    /// Which of them are put into SSA form.
    wanted: Wanted,
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
    /// The first of what the instruction does to private objects.
    access: u32,
}

/// A part of an object that is one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The object.
    pub alloca: InstId,
    /// Its bytes, counted from the start of the object; all of it if they are not known.
    pub range: Option<(i64, i64)>,
}

/// Private objects of a function, in SSA form. Equal if they say the same.
#[derive(Clone, Debug, Default)]
pub struct PrivateMemory {
    slots: Vec<Slot>,
    /// In the order of blocks in the dominator tree's preorder, and of execution in each.
    touches: Vec<Touch>,
    /// First touch by instruction. Ends with the last instruction that has one.
    first: Entries,
    /// The touch of each event.
    touch_of: Vec<u32>,
    events: Events,
    ssa: Ssa,
    /// Instructions whose change may change any of this: allocas, addresses made from them, and whatever has one for an operand. Not told
    /// where calls are followed.
    concerned: InstSet,
    /// Instructions with the address of a stack slot for an operand, and that slot, by number. Told where calls are followed, or are nothing to it.
    users: Vec<(InstId, InstId)>,
    /// Whether there is any stack slot.
    has_slots: bool,
    /// Whether it was found from scratch, and no address is stored or given to a function that is called.
    is_plain: bool,
    /// The same more closely, where calls are not followed.
    concern: Concern,
    origins: Origins,
    /// All private objects, accessed or not, in order of their numbers.
    objects: Vec<InstId>,
    /// What calls are given of them and do as their summaries say, by call and position.
    passed: Vec<Passed>,
    /// Loads that give the address of an object, by number, and whether that is at a constant offset.
    held: Vec<(InstId, bool)>,
}

impl PartialEq for PrivateMemory {
    fn eq(&self, other: &Self) -> bool {
        // Not what it hangs on: of that an answer knows more if instructions have come and gone that are nothing to it.
        let Self { slots, touches, first, touch_of, events, ssa, origins, objects, .. } = self;
        slots == &other.slots
            && touches == &other.touches
            && (first, touch_of) == (&other.first, &other.touch_of)
            && (events, ssa) == (&other.events, &other.ssa)
            && (origins, objects) == (&other.origins, &other.objects)
            && (&self.passed, &self.held) == (&other.passed, &other.held)
    }
}

impl Eq for PrivateMemory {}

impl PrivateMemory {
    /// That of a function.
    #[must_use]
    pub fn new(code: Code<'_>, around: Surroundings<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        Self::without_origins(code, around, cfg, dom).with_origins(code, around)
    }

    /// That of a function, with what is done to it in functions that are called, as far as their summaries tell.
    #[must_use]
    pub fn through_calls(
        code: Code<'_>,
        around: Surroundings<'_>,
        cfg: &Cfg,
        dom: &DomTree,
    ) -> Self {
        let has_pointees = has_copies(code, around);
        let reach = Reach { follows_calls: true, has_pointees, ..Reach::default() };
        Self::reaching_to(code, around, (cfg, dom), reach).with_origins(code, around)
    }

    /// As [`PrivateMemory::through_calls`], where this is what [`PrivateMemory::without_origins`] has found: with nothing to follow it is the same.
    #[must_use]
    pub fn followed_through_calls(
        &self,
        code: Code<'_>,
        around: Surroundings<'_>,
        cfg: &Cfg,
        dom: &DomTree,
    ) -> Self {
        match self.is_plain {
            true => self.without_concern().with_origins(code, around),
            false => Self::through_calls(code, around, cfg, dom),
        }
    }

    /// The same, with nothing said about what it hangs on.
    fn without_concern(&self) -> Self {
        PrivateMemory {
            slots: self.slots.clone(),
            touches: self.touches.clone(),
            first: self.first.clone(),
            touch_of: self.touch_of.clone(),
            events: self.events.clone(),
            ssa: self.ssa.clone(),
            users: self.users.clone(),
            has_slots: self.has_slots,
            is_plain: self.is_plain,
            objects: self.objects.clone(),
            passed: self.passed.clone(),
            held: self.held.clone(),
            ..PrivateMemory::default()
        }
    }

    /// Whether it is what [`PrivateMemory::through_calls`] finds but for where other pointers come from, as is known at once.
    #[must_use]
    pub fn is_through_calls(&self) -> bool {
        self.is_plain
    }

    /// As [`PrivateMemory::through_calls`], where what arguments point to is private to the thread, and nobody has another pointer to it.
    #[must_use]
    pub fn with_pointees(
        code: Code<'_>,
        around: Surroundings<'_>,
        cfg: &Cfg,
        dom: &DomTree,
    ) -> Self {
        let reach = Reach { follows_calls: true, has_pointees: true, ..Reach::default() };
        Self::reaching_to(code, around, (cfg, dom), reach).with_origins(code, around)
    }

    fn with_origins(self, code: Code<'_>, around: Surroundings<'_>) -> Self {
        match code.flow.entry() {
            Some(_) => PrivateMemory { origins: Origins::new(code, around), ..self },
            None => self,
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
        Self::reaching_to(code, around, (cfg, dom), Reach::default())
    }

    /// The same of objects alone in which addresses are put, or from which they may be loaded: what is known of pointers follows from these. Others have
    /// no slots.
    #[must_use]
    pub fn of_addresses(
        code: Code<'_>,
        around: Surroundings<'_>,
        cfg: &Cfg,
        dom: &DomTree,
    ) -> Self {
        let body = code.body;
        let cast = body.all_ids().find(|&inst| is_cast(body, inst));
        let wanted = Wanted::Addresses { has_integers: cast.is_some() };
        let reach = Reach { wanted, ..Reach::default() };
        let mut memory = Self::reaching_to(code, around, (cfg, dom), reach);
        memory.concern.cast = cast;
        memory
    }

    fn reaching_to(
        code: Code<'_>,
        around: Surroundings<'_>,
        (cfg, dom): (&Cfg, &DomTree),
        reach: Reach,
    ) -> Self {
        let Some(entry) = code.flow.entry() else { return Self::default() };
        let body = code.body;
        let is_object =
            |inst: InstId| body.inst(inst).opcode == Opcode::Alloca && is_trackable(body, inst);
        if !reach.has_pointees && !body.block_insts(entry).any(is_object) {
            return PrivateMemory { is_plain: !has_copies(code, around), ..Self::default() };
        }
        let mut scan = Scan::new(code, around, dom, reach);
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

    /// Whether there is any stack slot that may be a private object, where calls are followed.
    pub(crate) fn has_slots(&self) -> bool {
        self.has_slots
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
        let Some(first) = self.first.get(inst) else { return &[] };
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

    /// What a call is given of private objects and does as its summary says, by position.
    #[must_use]
    pub fn passed(&self, call: InstId) -> &[Passed] {
        let of = |passed: &Passed| number(passed.call);
        let first = self.passed.partition_point(|passed| of(passed) < number(call));
        let rest = &self.passed[first..];
        &rest[..rest.iter().take_while(|passed| passed.call == call).count()]
    }

    /// Whether a load gives the address of an object, from a slot that holds one address; and if so whether it is at a constant offset.
    #[must_use]
    pub fn held(&self, load: InstId) -> Option<bool> {
        let at = self.held.binary_search_by_key(&number(load), |(load, _)| number(*load)).ok()?;
        Some(self.held[at].1)
    }

    /// The stack slot that an address is made from, a few steps up.
    #[must_use]
    pub fn object_of(&self, body: &Body, mut address: Value) -> Option<InstId> {
        for _ in 0..STEPS {
            let inst =
                address.as_inst().filter(|&inst| body.has(inst) && is_address(body, inst))?;
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

    /// Whether there is an argument that points to an object that nobody else can reach.
    pub(crate) fn has_pointees(&self) -> bool {
        // In order of numbers.
        self.objects.last().is_some_and(|&object| parameter_of(object).is_some())
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

    /// Whether an instruction has to do with addresses of objects, private or not.
    fn concerns_at_all(&self, code: Code<'_>, inst: InstId) -> bool {
        let body = code.body;
        let matters = |operand: InstId| {
            self.concerned.contains(operand) && is_address(body, operand)
                || self.held(operand).is_some()
        };
        self.concerned.contains(inst)
            || body.inst(inst).opcode == Opcode::Alloca
            || body.operands(inst).iter().filter_map(|operand| operand.as_inst()).any(matters)
    }
}

/// The number of what the first argument points to: no function has so many instructions.
const POINTEES: u32 = Value::LIMIT as u32 + 1;

/// The number of the object that an argument points to: one that no instruction has, however many there come to be.
pub(crate) fn pointee_of(position: u32) -> InstId {
    InstId::from_raw((POINTEES + position).into())
}

/// The argument that points to an object with that number, if it is none of a stack slot.
pub(crate) fn parameter_of(object: InstId) -> Option<u32> {
    number(object).checked_sub(POINTEES)
}

/// Whether an argument is a pointer to an object that nobody else has an address of, where such are
/// followed: in a function that is called, of a caller's private memory, as far as is known; in a
/// kernel, a structure that it is passed by value.
pub(crate) fn is_pointee(code: Code<'_>, around: Surroundings<'_>, position: u32) -> bool {
    summary::may_be_private_argument(code, around, position) || is_copy(code, around, position)
}

/// Whether an argument of a kernel is a structure passed by value: each thread has a copy of what
/// the host passed.
fn is_copy(code: Code<'_>, around: Surroundings<'_>, position: u32) -> bool {
    let attributes = code.context.param_attrs(code.header.attributes, position as usize);
    attributes.has(AttrKind::ByVal)
        && code.entry(around.target.architecture()) == Entry::Kernel
        && code
            .header
            .params
            .get(position as usize)
            .is_some_and(|&ty| matches!(code.context.type_kind(ty), TypeKind::Ptr(_)))
}

fn has_copies(code: Code<'_>, around: Surroundings<'_>) -> bool {
    (0..code.header.params.len() as u32).any(|at| is_copy(code, around, at))
}

/// Whether an instruction can make an address of an object.
fn is_address(body: &Body, inst: InstId) -> bool {
    matches!(
        body.inst(inst).opcode,
        Opcode::Alloca | Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
    )
}

/// Whether an instruction makes a pointer of an integer.
fn is_cast(body: &Body, inst: InstId) -> bool {
    body.inst(inst).opcode == Opcode::IntToPtr && body.block_of(inst).is_some()
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
