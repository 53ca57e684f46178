//! Builds slots and their SSA form from the accesses that a scan has found.

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{InstId, Opcode};
use rustc_hash::FxHashMap;

use super::Scan;
use crate::memory::{
    origins::Origins,
    private::{
        Effect, Passed, PrivateMemory, Slot, Touch,
        accesses::{Address, Object, Wanted},
        dependencies::DependencySet,
        entries::Entries,
        holders::{HeldAddress, Holder, SlotContents},
        objects::{is_address, number},
        passed::calls_of,
        slots::{divide, event_kind, writes},
    },
    ssa::{Event, Events, Frontiers, Pruning, Ssa},
};

impl Scan<'_> {
    /// Finishes a scan of the whole function.
    pub(in crate::memory::private) fn finish(mut self, cfg: &Cfg, dom: &DomTree) -> PrivateMemory {
        let (code, body) = (self.code, self.code.body);
        let phis = code.flow.order().iter().flat_map(|&block| body.phis(block));
        self.escape_over_phis(phis);
        let form = |by_block: &[(Node, Event)], variables| {
            let (events, place) = Events::new(cfg.node_count(), by_block);
            let ssa = Ssa::new(cfg, dom, &events, variables, Pruning::Live);
            (events, ssa, place)
        };
        let room = Entries::All(vec![0; body.id_count()]);
        self.formed(room, form)
    }

    /// Finishes a scan of some objects: `insts` are all instructions that use them, and the
    /// reachable ones were scanned.
    pub(in crate::memory::private) fn finish_some(
        mut self,
        graph: Frontiers<'_>,
        insts: &[InstId],
    ) -> PrivateMemory {
        let body = self.code.body;
        let is_phi = |inst: &&InstId| body.inst(**inst).opcode == Opcode::Phi;
        self.escape_over_phis(insts.iter().filter(is_phi).copied());
        let form = |by_block: &[(Node, Event)], variables| {
            let (events, ssa) = Ssa::sparse(graph, by_block, variables);
            let place = (0..events.len() as u32).collect();
            (events, ssa, place)
        };
        self.formed(Entries::Some(FxHashMap::default()), form)
    }

    /// Builds the result. `form` computes the SSA form from events by block, and gives the number
    /// of each event. `room` is an empty table by instruction.
    fn formed(
        mut self,
        room: Entries,
        form: impl FnOnce(&[(Node, Event)], u32) -> (Events, Ssa, Vec<u32>),
    ) -> PrivateMemory {
        let mut dependencies = self.dependencies_of_all();
        let objects = std::mem::take(&mut self.objects);
        let mut accesses = std::mem::take(&mut self.accesses);
        let mut is_wanted = vec![self.reach.wanted == Wanted::All; objects.len()];
        for access in accesses.iter().filter(|access| access.has_address) {
            is_wanted[access.object as usize] = true;
        }
        accesses.retain(|access| {
            let object = access.object as usize;
            is_wanted[object] && objects[object].is_private
        });
        for (object, _) in objects.iter().zip(is_wanted).filter(|(_, is_wanted)| !is_wanted) {
            dependencies.unwanted.insert(object.alloca);
        }
        if self.reach.has_pointees {
            // A return does not count as an access of an object without other accesses.
            let mut is_accessed = vec![false; objects.len()];
            for access in accesses.iter().filter(|access| access.effect != Effect::Return) {
                is_accessed[access.object as usize] = true;
            }
            accesses.retain(|access| is_accessed[access.object as usize]);
        }
        let mut slots: Vec<Slot> = Vec::new();
        let divided = divide(&objects, &accesses, &mut slots);
        let mut touches: Vec<Touch> = Vec::with_capacity(accesses.len());
        let mut by_block: Vec<(Node, Event)> = Vec::with_capacity(accesses.len());
        let mut counted = 0;
        // Accesses are in program order; a copy between two objects reads before it writes.
        for group in accesses.chunk_by(|a, b| a.inst == b.inst) {
            let reads = group.iter().filter(|access| !writes(access.effect));
            let writes = group.iter().filter(|access| writes(access.effect));
            let calls = calls_of(group, &slots, &divided);
            let first_access = counted;
            counted += group.len() as u32;
            for access in reads.chain(writes).filter(|access| !access.effect.is_by_call()) {
                for slot in divided.touched(&slots, access) {
                    let kind = event_kind(access, &slots[slot as usize]);
                    touches.push(Touch {
                        inst: access.inst,
                        slot,
                        effect: access.effect,
                        event: 0,
                        is_at_variable_offset: !access.is_fixed,
                        at: access.range.map(|(at, _)| at),
                        access: first_access,
                    });
                    by_block.push((access.block, Event { variable: slot, kind }));
                }
            }
            for (slot, effect, kind) in calls {
                touches.push(Touch {
                    inst: group[0].inst,
                    slot,
                    effect,
                    event: 0,
                    is_at_variable_offset: false,
                    at: None,
                    access: first_access,
                });
                by_block.push((group[0].block, Event { variable: slot, kind }));
            }
        }
        let (events, mut ssa, place) = form(&by_block, slots.len() as u32);
        ssa.forget_replaced(&events);
        let mut touch_of = vec![0; touches.len()];
        // Touches of an instruction are adjacent.
        let mut last = None;
        let mut first = if touches.is_empty() { Entries::default() } else { room };
        for (i, touch) in touches.iter_mut().enumerate() {
            touch.event = place[i];
            touch_of[place[i] as usize] = i as u32;
            if last != Some(touch.inst) {
                first.set(touch.inst, i as u32);
                last = Some(touch.inst);
            }
        }
        first.trim();
        if dependencies.is_known() {
            dependencies.accesses = accesses;
        }
        let (affected, has_slots) = (self.affected, self.has_slots);
        let is_plain = self.is_plain;
        let origins = Origins::default();
        let mut passed: Vec<Passed> = self
            .passed
            .iter()
            .filter(|(object, _)| objects[*object as usize].is_private)
            .map(|(_, passed)| *passed)
            .collect();
        passed.sort_by_key(|passed| (number(passed.call), passed.position));
        let named = |address: Address| {
            let Object { alloca: object, is_private, .. } = objects[address.object as usize];
            is_private.then_some(HeldAddress { object, offset: address.offset })
        };
        let held = self.held.iter().filter_map(|&(load, address)| Some((load, named(address)?)));
        let mut held: Vec<(InstId, HeldAddress)> = held.collect();
        held.sort_unstable_by_key(|(load, _)| number(*load));
        let holder = |(&slot, held): (&InstId, &SlotContents)| match *held {
            SlotContents::Address(address, store) => {
                Some((slot, Holder { held: named(address)?, store }))
            }
            SlotContents::Nothing | SlotContents::Other => None,
        };
        let mut holders: Vec<(InstId, Holder)> = self.holders.iter().filter_map(holder).collect();
        holders.sort_unstable_by_key(|(slot, _)| number(*slot));
        let mut users: Vec<(InstId, InstId)> = Vec::new();
        // If there are no calls to follow, the result equals that of a scan that follows calls, so
        // it needs `users` as well.
        if self.reach.follows_calls || is_plain && self.reach.wanted == Wanted::All {
            let named = self.users.iter().map(|&(user, of)| (user, objects[of as usize].alloca));
            users.extend(named);
            users.sort_unstable_by_key(|(user, object)| (number(*user), number(*object)));
            users.dedup();
        }
        let private = objects.iter().filter(|object| object.is_private);
        let mut objects: Vec<InstId> = private.map(|object| object.alloca).collect();
        objects.sort_unstable_by_key(|object| number(*object));
        PrivateMemory {
            users,
            has_slots,
            is_plain,
            objects,
            slots,
            touches,
            first,
            touch_of,
            events,
            ssa,
            affected,
            dependencies,
            origins,
            passed,
            held,
            holders,
        }
    }

    /// The dependency set of the answer, without the accesses.
    fn dependencies_of_all(&self) -> DependencySet {
        // Effects of callees depend on more than instructions of this function.
        if self.reach.follows_calls || self.reach.has_pointees {
            return DependencySet::default();
        }
        let mut dependencies = DependencySet::new(self.reach);
        let body = self.code.body;
        dependencies.allocas = self.objects.iter().map(|object| object.alloca).collect();
        let is_private = |object: u32| self.objects[object as usize].is_private;
        for &(user, _) in self.users.iter().filter(|(_, object)| is_private(*object)) {
            match self.address_of(user.into()).is_some() {
                true => dependencies.addresses.insert(user),
                false => dependencies.users.insert(user),
            }
        }
        for object in &self.objects {
            match object.witness {
                None => dependencies.addresses.insert(object.alloca),
                Some((by, operand)) => {
                    let mut witness = |inst| dependencies.witnesses.push((inst, object.alloca));
                    witness(by);
                    // The steps from the escaping address up to the object: each address is
                    // computed from one other.
                    let mut at = operand.as_inst();
                    while let Some(step) = at {
                        witness(step);
                        let is_step = is_address(body, step) && step != object.alloca;
                        at = is_step.then(|| body.operands(step)[0].as_inst()).flatten();
                    }
                }
            }
        }
        let place = |(inst, object): &(InstId, InstId)| (number(*inst), number(*object));
        dependencies.witnesses.sort_unstable_by_key(place);
        dependencies
    }

    /// Marks objects as escaped whose address comes into a phi over an edge that the scan had not
    /// met when it met the phi.
    fn escape_over_phis(&mut self, phis: impl Iterator<Item = InstId>) {
        let body = self.code.body;
        for phi in phis {
            for &value in body.phi_values(phi) {
                if let Some(address) = self.address_of(value) {
                    self.dependencies(phi);
                    self.users.push((phi, address.object));
                    self.current = Some((phi, value));
                    self.escape(address);
                }
            }
        }
    }
}
