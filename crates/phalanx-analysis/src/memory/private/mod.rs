//! Private memory that only the function itself can access: its variables, and what each
//! instruction does to them.
//!
//! # What
//!
//! An `alloca` in the entry block whose address is used only to access it within the function is
//! private to one thread and to this function: no other code can form its address. Its content can
//! be treated like a register. [`PrivateMemory`] finds these objects, divides each into *slots*
//! that no scalar access crosses, and puts the slots into SSA form ([`ssa`](super::ssa)).
//!
//! ```text
//! %p = alloca { i32, i32 }                    ; object with two slots: bytes 0..4 and 4..8
//! %q = getelementptr i8, ptr %p, i64 4
//! store i32 1, ptr %p                         ; must define slot 0
//! store i32 %x, ptr %q                        ; must define slot 1
//! %v = load i32, ptr %p                       ; use of slot 0: reads 1
//! ```
//!
//! # How
//!
//! 1. The scan visits blocks in the preorder of the dominator tree, so that it meets an address
//!    before the addresses computed from it. Addresses are computed by `getelementptr` and casts of
//!    address spaces. The scan understands these uses: loads and stores, atomics, `memcpy`,
//!    `memmove`, `memset`, comparisons, and calls that do not capture the address. Any other use is
//!    an *escape*: the object is not private then. A phi or `select` of addresses is an escape,
//!    too.
//! 2. **Slots** of an object are the connected unions of byte ranges of scalar accesses. An access
//!    at an unknown offset makes the whole object one slot. Accesses of aggregates and blocks of
//!    memory are *wide*: they do not join slots but touch several. Bytes that only wide accesses
//!    touch form slots of their own.
//! 3. A store *must define* its slot when it writes all of it; then the old content does not
//!    matter.
//!
//! After an edit, [`update`] scans only the affected objects again: lowering asks it, and so
//! divergence. An answer that is one table for the whole function is kept while no edit
//! [concerns](dependencies) it, and after a [split] of a block; else it is found from scratch.
//!
//! [`PrivateMemory::through_calls`] follows addresses further: into callees whose
//! [summary](crate::summary) says what they do with the memory that an argument points to, and
//! through slots that hold one address ([`holders`]). To compute such a summary,
//! [`PrivateMemory::with_pointees`] treats the memory that an argument points to as an object. In a
//! kernel, structures passed by value are objects as well: each thread has a copy of which no other
//! code has an address, and all copies have the same content when the kernel starts. So a value
//! loaded from one depends only on what the thread has written there.
//!
//! **Assumptions.** Content that was never written is undef, one value for all threads (see
//! docs/divergence.md). An access through an address computed from an object is inside that object;
//! otherwise the program has undefined behaviour.
//!
//! **Complexity.** O(instructions + operands), sorting accesses per object, and
//! [`ssa`](super::ssa).

mod accesses;
pub(crate) mod compare;
mod dependencies;
mod entries;
mod holders;
mod objects;
mod passed;
pub(crate) mod readers;
mod scan;
mod slots;
mod split;
mod touch;
pub(crate) mod update;

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{Body, InstId, Opcode, Value, flow::block_of};

use self::accesses::{Reach, Wanted};
use self::dependencies::DependencySet;
use self::entries::Entries;
use self::holders::{HeldAddress, Holder};
use self::objects::{STEPS, has_copies, is_address, is_cast, is_trackable, number};
pub(crate) use self::objects::{is_pointee, parameter_of, pointee_of};
use self::scan::Scan;
pub use self::touch::{Effect, Passed, Slot, Touch};
use super::by_inst::InstSet;
use super::origins::Origins;
use super::ssa::{Events, Ssa, Version};
use crate::code::{Code, Environment};

/// Private objects of a function, in SSA form. Equality ignores what only incremental updates need.
#[derive(Clone, Debug, Default)]
pub struct PrivateMemory {
    slots: Vec<Slot>,
    /// Blocks in the preorder of the dominator tree, and the order of execution within each.
    touches: Vec<Touch>,
    /// The first touch of each instruction. Ends with the last instruction that has one.
    first: Entries,
    /// The touch of each event.
    touch_of: Vec<u32>,
    events: Events,
    ssa: Ssa,
    /// Instructions whose change may change this answer: allocas, addresses computed from them, and
    /// users of these. Empty if calls are followed.
    affected: InstSet,
    /// Instructions with the address of an object as an operand, with that object, sorted. Filled
    /// if calls are followed, or if following calls would make no difference.
    users: Vec<(InstId, InstId)>,
    /// Whether there is any alloca.
    has_slots: bool,
    /// Whether no address is stored or passed to a function, and the function is no kernel with
    /// structures passed by value. Then following calls makes no difference.
    is_plain: bool,
    /// The dependencies of this answer in more detail. Empty if calls are followed.
    dependencies: DependencySet,
    origins: Origins,
    /// All private objects, accessed or not, sorted by number.
    objects: Vec<InstId>,
    /// Addresses of objects that are passed to calls with a summary, sorted by call and position.
    passed: Vec<Passed>,
    /// Loads that give the address of an object, with that address, sorted.
    held: Vec<(InstId, HeldAddress)>,
    /// Allocas that hold the address of an object, with the store that puts it there, sorted.
    holders: Vec<(InstId, Holder)>,
}

impl PartialEq for PrivateMemory {
    fn eq(&self, other: &Self) -> bool {
        // Dependencies are not compared: after edits of irrelevant instructions, the recorded
        // dependencies may be larger than those from scratch.
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
    /// The private memory of a function. Calls are not followed.
    #[must_use]
    pub fn new(code: Code<'_>, env: Environment<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        Self::without_origins(code, env, cfg, dom).with_origins(code, env)
    }

    /// The private memory of a function, including the effects of callees according to their
    /// summaries.
    #[must_use]
    pub fn through_calls(code: Code<'_>, env: Environment<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        let has_pointees = has_copies(code, env);
        let reach = Reach { follows_calls: true, has_pointees, ..Reach::default() };
        Self::reaching_to(code, env, (cfg, dom), reach).with_origins(code, env)
    }

    /// As [`PrivateMemory::through_calls`], given the result of [`PrivateMemory::without_origins`].
    /// That result is reused if there are no calls to follow.
    #[must_use]
    pub fn followed_through_calls(
        &self,
        code: Code<'_>,
        env: Environment<'_>,
        cfg: &Cfg,
        dom: &DomTree,
    ) -> Self {
        match self.is_plain {
            true => self.without_dependencies().with_origins(code, env),
            false => Self::through_calls(code, env, cfg, dom),
        }
    }

    /// A copy without dependencies.
    fn without_dependencies(&self) -> Self {
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

    /// Whether this equals the result of [`PrivateMemory::through_calls`], apart from origins.
    /// O(1), so it may return false although the two are equal.
    #[must_use]
    pub fn is_through_calls(&self) -> bool {
        self.is_plain
    }

    /// As [`PrivateMemory::through_calls`], under the assumption that the memory that an argument
    /// points to is private to the thread and is accessed through this argument only.
    #[must_use]
    pub fn with_pointees(code: Code<'_>, env: Environment<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        let reach = Reach { follows_calls: true, has_pointees: true, ..Reach::default() };
        Self::reaching_to(code, env, (cfg, dom), reach).with_origins(code, env)
    }

    fn with_origins(self, code: Code<'_>, env: Environment<'_>) -> Self {
        match code.flow.entry() {
            Some(_) => PrivateMemory { origins: Origins::new(code, env), ..self },
            None => self,
        }
    }

    /// As [`PrivateMemory::new`], without origins.
    #[must_use]
    pub fn without_origins(code: Code<'_>, env: Environment<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        Self::reaching_to(code, env, (cfg, dom), Reach::default())
    }

    /// As [`PrivateMemory::without_origins`], but only objects in which addresses are stored, or
    /// from which they may be loaded, have slots. This is enough for facts about pointers.
    #[must_use]
    pub fn of_addresses(code: Code<'_>, env: Environment<'_>, cfg: &Cfg, dom: &DomTree) -> Self {
        let body = code.body;
        let cast = body.all_ids().find(|&inst| is_cast(body, inst));
        let wanted = Wanted::Addresses { has_integers: cast.is_some() };
        let reach = Reach { wanted, ..Reach::default() };
        let mut memory = Self::reaching_to(code, env, (cfg, dom), reach);
        memory.dependencies.cast = cast;
        memory
    }

    fn reaching_to(
        code: Code<'_>,
        env: Environment<'_>,
        (cfg, dom): (&Cfg, &DomTree),
        reach: Reach,
    ) -> Self {
        let Some(entry) = code.flow.entry() else { return Self::default() };
        let body = code.body;
        let is_object =
            |inst: InstId| body.inst(inst).opcode == Opcode::Alloca && is_trackable(body, inst);
        if !reach.has_pointees && !body.block_insts(entry).any(is_object) {
            return PrivateMemory { is_plain: !has_copies(code, env), ..Self::default() };
        }
        let mut scan = Scan::new(code, env, dom, reach);
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

    /// Whether there is any alloca, which may be a private object if calls are followed.
    pub(crate) fn has_slots(&self) -> bool {
        self.has_slots
    }

    /// Which addresses may lead to private memory.
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

    /// The events from which the SSA form was computed.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// All touches. Those of an instruction are adjacent, reads before writes.
    #[must_use]
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// The touch of an event.
    #[must_use]
    pub fn touch_of(&self, event: u32) -> &Touch {
        &self.touches[self.touch_of[event as usize] as usize]
    }

    /// The touches of an instruction.
    #[inline]
    #[must_use]
    pub fn of(&self, inst: InstId) -> &[Touch] {
        let Some(first) = self.first.get(inst) else { return &[] };
        let rest = &self.touches[first as usize..];
        let count = rest.iter().take_while(|touch| touch.inst == inst).count();
        &rest[..count]
    }

    /// Whether a load reads private slots.
    #[inline]
    #[must_use]
    pub fn is_load(&self, inst: InstId) -> bool {
        self.of(inst).first().is_some_and(|touch| touch.effect == Effect::Load)
    }

    /// The addresses of private objects that a call with a summary is passed, by position.
    #[must_use]
    pub fn passed(&self, call: InstId) -> &[Passed] {
        let of = |passed: &Passed| number(passed.call);
        let first = self.passed.partition_point(|passed| of(passed) < number(call));
        let rest = &self.passed[first..];
        &rest[..rest.iter().take_while(|passed| passed.call == call).count()]
    }

    /// Whether a load gives the address of an object, from a slot that holds one address.
    /// `Some(true)` if the address is at a constant offset.
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

    /// The alloca from which an address is computed, up to a bounded number of steps.
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

    /// Whether an alloca is a private object.
    #[must_use]
    pub fn is_object(&self, alloca: InstId) -> bool {
        self.objects.binary_search_by_key(&number(alloca), |object| number(*object)).is_ok()
    }

    /// Whether some argument points to a private object.
    pub(crate) fn has_pointees(&self) -> bool {
        // Sorted by number, and the objects of arguments have the largest numbers.
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

    /// Whether an instruction is, makes or uses an address of an object, private or not.
    fn depends_on_at_all(&self, code: Code<'_>, inst: InstId) -> bool {
        let body = code.body;
        let matters = |operand: InstId| {
            self.affected.contains(operand) && is_address(body, operand)
                || self.held(operand).is_some()
        };
        self.affected.contains(inst)
            || body.inst(inst).opcode == Opcode::Alloca
            || body.operands(inst).iter().filter_map(|operand| operand.as_inst()).any(matters)
    }
}
