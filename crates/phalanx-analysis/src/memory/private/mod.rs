//! Private memory that only the function itself can reach: its variables, and what each instruction
//! does to them.
//!
//! # What
//!
//! An `alloca` in the entry block whose address is used only to access it within the function is
//! private to one thread and to this function: no other code can form its address. Its content can
//! be treated like a register. [`PrivateMemory`] finds these objects, divides each into *slots*
//! that no scalar access crosses, and puts the slots into SSA form ([`ssa`](super::ssa)).
//!
//! # How
//!
//! 1. Blocks are visited in the dominator tree's preorder, so that an address is met before what is
//!    made from it. Addresses are made by `getelementptr` and casts of address spaces. Uses that
//!    are understood: loads and stores, atomics, `memcpy`, `memmove`, `memset`, comparisons, calls
//!    that take the address without capturing it. Any other use is an *escape*: the object is given
//!    up. A phi or `select` of addresses is one, too.
//! 2. **Slots** of an object are the connected unions of byte ranges of scalar accesses. An access
//!    at an offset that is not known makes the whole object one slot. Accesses of aggregates and
//!    blocks of memory are *wide*: they do not join slots but touch several, and what only they
//!    touch is a slot of its own.
//! 3. A store *must define* its slot when it writes all of it; then the old content does not count.
//!
//! After an edit of instructions, [`follow`] and [`splice`] look again at the objects in question;
//! after a [split] of a block nothing is looked at again.
//!
//! [`PrivateMemory::through_calls`] follows addresses further: into functions whose
//! [summary](crate::summary) says what they do with what an argument points to, and through slots
//! that hold one address ([`holders`]). For the summary itself [`PrivateMemory::with_pointees`]
//! takes what arguments point to for objects. In a kernel, structures that it is passed by value
//! are objects as well: each thread has a copy that nobody else has an address of, and all copies
//! hold the same when the kernel starts. So what is loaded from one depends on what the thread has
//! written there, and on nothing else.
//!
//! **What is taken for granted.** Content that was never written is undef, one value for all
//! threads (see docs/divergence.md). An access whose address was made from an object is inside that
//! object; otherwise the program has no defined meaning.
//!
//! **Complexity.** O(instructions + operands), sorting accesses per object, and
//! [`ssa`](super::ssa).

mod accesses;
pub(crate) mod compare;
mod concern;
mod entries;
pub(crate) mod follow;
mod holders;
mod objects;
mod passed;
pub(crate) mod readers;
mod scan;
mod slots;
mod splice;
mod split;
mod touch;

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{Body, InstId, Opcode, Value, flow::block_of};

use self::accesses::{Reach, Wanted};
use self::concern::Concern;
use self::entries::Entries;
use self::holders::{HeldAddress, Holder};
use self::objects::{STEPS, has_copies, is_address, is_cast, is_trackable, number};
pub(crate) use self::objects::{is_pointee, parameter_of, pointee_of};
use self::scan::Scan;
pub use self::touch::{Effect, Passed, Slot, Touch};
use super::by_inst::InstSet;
use super::origins::Origins;
use super::ssa::{Events, Ssa, Version};
use crate::code::{Code, Surroundings};

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
    /// Instructions whose change may change any of this: allocas, addresses made from them, and
    /// whatever has one for an operand. Not told where calls are followed.
    concerned: InstSet,
    /// Instructions with the address of a stack slot for an operand, and that slot, by number. Told
    /// where calls are followed, or are nothing to it.
    users: Vec<(InstId, InstId)>,
    /// Whether there is any stack slot.
    has_slots: bool,
    /// Whether it was found from scratch, and no address is stored or given to a function that is
    /// called.
    is_plain: bool,
    /// The same more closely, where calls are not followed.
    concern: Concern,
    origins: Origins,
    /// All private objects, accessed or not, in order of their numbers.
    objects: Vec<InstId>,
    /// What calls are given of them and do as their summaries say, by call and position.
    passed: Vec<Passed>,
    /// Loads that give the address of an object, by number, and that address.
    held: Vec<(InstId, HeldAddress)>,
    /// Slots that hold the address of an object, by number, and the store that puts it there.
    holders: Vec<(InstId, Holder)>,
}

impl PartialEq for PrivateMemory {
    fn eq(&self, other: &Self) -> bool {
        // Not what it hangs on: of that an answer knows more if instructions have come and gone
        // that are nothing to it.
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

    /// That of a function, with what is done to it in functions that are called, as far as their
    /// summaries tell.
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

    /// As [`PrivateMemory::through_calls`], where this is what [`PrivateMemory::without_origins`]
    /// has found: with nothing to follow it is the same.
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
            holders: self.holders.clone(),
            ..PrivateMemory::default()
        }
    }

    /// Whether it is what [`PrivateMemory::through_calls`] finds but for where other pointers come
    /// from, as is known at once.
    #[must_use]
    pub fn is_through_calls(&self) -> bool {
        self.is_plain
    }

    /// As [`PrivateMemory::through_calls`], where what arguments point to is private to the thread,
    /// and nobody has another pointer to it.
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

    /// The same of objects alone in which addresses are put, or from which they may be loaded: what
    /// is known of pointers follows from these. Others have no slots.
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

    /// Whether a load gives the address of an object, from a slot that holds one address; and if so
    /// whether it is at a constant offset.
    #[must_use]
    pub fn held(&self, load: InstId) -> Option<bool> {
        Some(self.held_address(load)?.offset.is_some())
    }

    /// The address of an object that a load gives.
    fn held_address(&self, load: InstId) -> Option<HeldAddress> {
        let at = self.held.binary_search_by_key(&number(load), |(load, _)| number(*load)).ok()?;
        Some(self.held[at].1)
    }

    /// What a slot holds, if that is the address of an object.
    fn holder(&self, slot: InstId) -> Option<Holder> {
        let at = self.holders.binary_search_by_key(&number(slot), |(of, _)| number(*of)).ok()?;
        Some(self.holders[at].1)
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
