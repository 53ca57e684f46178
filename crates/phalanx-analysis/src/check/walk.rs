//! Executes a function for single threads, up to an operation.
//!
//! # What
//!
//! A function is executed for one thread at a time, as far as the thread's index decides: through
//! loops, joins, and stack slots. Arguments are known if a call is given, with what the thread
//! passes there ([`entries`](super::entries)). What comes from elsewhere (memory, other threads) is
//! not known, and neither is what is computed from it. The answer says whether the thread comes to
//! the operation, and with which arguments each time ([`Came`]).
//!
//! ```text
//! mask = 0xff << (tid / 8 * 8);               // known for each thread
//! for (o = 4; o; o /= 2) v += shfl(mask, v, lane ^ o);   // three arrivals, with 4, 2 and 1
//! ```
//!
//! # Branches that are not known
//!
//! - If one side leads to the operation and the others do not, a thread that comes has gone that
//!   way. If the branch can part threads, it is not sure which others come along
//!   ([`Arrival::is_sure`]).
//! - If all sides meet again before the operation, the walk continues where they meet. It then
//!   knows nothing of what is computed or stored on the sides.
//! - Otherwise, and after the first arrival, the walk ends.
//!
//! So what is known of an arrival holds for each thread of that index that comes to the operation
//! for the first time, and for later arrivals if it comes at all.
//!
//! # Invariants
//!
//! - Poison is not known. The content of a slot is tracked only if the slot is used by nothing but
//!   whole loads and stores.
//! - Two arrivals with the same [`Arrival::rounds`] are of one round of all cycles around the
//!   operation.
//! - Everything that is read is recorded, as by other rules ([`judged`](super::judged)).
//!
//! **Complexity.** O(instructions on the way), at most [`FUEL`] per thread.

use std::{cell::RefCell, rc::Rc};

use phalanx_graph::{BitSet, CycleId, Node};
use phalanx_ir::{
    InstId, Opcode, Value, ValueKind,
    edit::Use,
    flow::{block_of, node_of},
};
use phalanx_target::Scope;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Facts,
    evaluate::{evaluate, of_call, ones},
    facts::{Entries, Entry},
    sites::{Argument, Site, arguments, integer},
    witness::{bits, is_marker, slot},
};

/// How many instructions are executed for one thread.
const FUEL: usize = 4096;
/// How many arrivals are looked at.
const ARRIVALS: usize = 8;

/// A thread that comes to an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Arrival {
    /// The round in each cycle around the operation, from the innermost cycle on; then the rounds
    /// in the cycles around the call.
    pub(super) rounds: Vec<u32>,
    /// The arguments, as far as known.
    pub(super) arguments: Vec<Option<u64>>,
    /// Whether the arrival of one thread implies that of all threads of the scope that would come,
    /// as far as is known.
    pub(super) is_sure: bool,
}

/// Whether a thread comes to an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Came {
    /// It does if any thread does that decides alike; with all arrivals that are known.
    Comes(Vec<Arrival>),
    /// It does not: from this block no path leads to the operation.
    StaysAway(Node),
    /// It does not come to the call by which other threads come to the function.
    NotCalled,
    /// It may or may not come.
    Unknown,
}

/// Walks to one operation.
pub(super) struct Walks<'a> {
    facts: Facts<'a>,
    inst: InstId,
    block: Node,
    scope: Scope,
    arguments: Vec<Argument>,
    /// Blocks from which a path leads to the operation.
    before: BitSet,
    /// Cycles around the operation, the innermost first.
    env: Vec<CycleId>,
    size: Option<[u32; 3]>,
    regions: RefCell<FxHashMap<Node, Option<Rc<Region>>>>,
    own: RefCell<FxHashMap<InstId, bool>>,
    /// Instructions that have been recorded as read.
    noted: RefCell<FxHashSet<InstId>>,
}

/// The blocks between a branch and the block where its sides meet.
struct Region {
    join: Node,
    blocks: Vec<Node>,
}

/// What is known of one thread during a walk.
#[derive(Default)]
struct State<'e> {
    /// The call by which the thread comes, if one is given.
    entry: Option<&'e Entry>,
    values: FxHashMap<InstId, u64>,
    /// The content of a slot, and how many bits it has.
    slots: FxHashMap<InstId, (u64, u32)>,
    rounds: Vec<u32>,
    fuel: usize,
    is_sure: bool,
}

/// Where a walk continues.
enum Next {
    To(Node),
    /// Behind a region of which nothing is known.
    Behind(Rc<Region>),
    End,
}

impl<'a> Walks<'a> {
    /// Walks to an operation. O(blocks + edges).
    pub(super) fn new(facts: Facts<'a>, site: &Site, scope: Scope) -> Self {
        let arguments = arguments(facts, site);
        Walks { arguments, ..Walks::to(facts, (site.inst, site.block), scope) }
    }

    /// Walks to an instruction of a block. O(blocks + edges).
    pub(super) fn to(facts: Facts<'a>, (inst, block): (InstId, Node), scope: Scope) -> Self {
        let innermost = facts.cycles.innermost(block);
        Walks {
            facts,
            inst,
            block,
            scope,
            arguments: Vec::new(),
            before: super::barriers::backwards(facts, [block]),
            env: innermost.into_iter().flat_map(|of| facts.cycles.ancestors(of)).collect(),
            size: super::witness::exact_size(facts.launch),
            regions: RefCell::default(),
            own: RefCell::default(),
            noted: RefCell::default(),
        }
    }

    /// Records that an instruction is read, once for all threads that execute it.
    fn reads(&self, inst: InstId) {
        if self.noted.borrow_mut().insert(inst) {
            self.facts.reads_inst(inst);
        }
    }

    /// Whether a thread comes, and with which arguments: by any call, or by the one with these
    /// entries.
    pub(super) fn of(&self, thread: [u32; 3], entries: Option<&Entries>) -> Came {
        let facts = self.facts;
        let by = entries.and_then(|entries| entries.of(thread));
        if let (Some(entries), None) = (entries, by) {
            return if entries.is_away(thread) { Came::NotCalled } else { Came::Unknown };
        }
        let together = || !facts.entered_by().intersects(facts.varying(self.scope));
        let entry = facts.cfg.entry();
        let mut state = State {
            entry: by,
            rounds: vec![0; self.env.len()],
            fuel: FUEL,
            is_sure: by.map_or_else(together, |by| by.is_sure),
            ..State::default()
        };
        let mut arrivals = Vec::new();
        // The block that the thread comes from, and whether the edge is known.
        let (mut from, mut at): (Option<(Node, bool)>, Node) = (None, entry);
        loop {
            if !self.before.contains(at.index()) {
                return match arrivals.is_empty() {
                    true => Came::StaysAway(at),
                    false => Came::Comes(arrivals),
                };
            }
            self.count_round(from.map(|(from, _)| from), at, &mut state);
            let edge = from.and_then(|(from, is_known)| is_known.then_some(from));
            self.phis(edge, at, &mut state);
            let is_over = self.block(at, thread, &mut state, &mut arrivals);
            if is_over || state.fuel == 0 {
                break;
            }
            match self.next(at, &mut state, !arrivals.is_empty()) {
                Next::To(next) => (from, at) = (Some((at, true)), next),
                Next::Behind(region) => {
                    self.forget(&region, &mut state);
                    (from, at) = (Some((at, false)), region.join);
                }
                Next::End => break,
            }
        }
        match arrivals.is_empty() {
            true => Came::Unknown,
            false => Came::Comes(arrivals),
        }
    }

    fn count_round(&self, from: Option<Node>, at: Node, state: &mut State<'_>) {
        let cycles = self.facts.cycles;
        for (number, &cycle) in self.env.iter().enumerate() {
            if cycles.header(cycle) != at {
                continue;
            }
            let is_back = from.is_some_and(|from| cycles.contains(cycle, from));
            state.rounds[number] = if is_back { state.rounds[number].saturating_add(1) } else { 0 };
        }
    }

    /// Evaluates the phis of a block, all at once.
    fn phis(&self, from: Option<Node>, at: Node, state: &mut State<'_>) {
        let body = self.facts.code.body;
        let mut new = Vec::new();
        for inst in body.block_insts(block_of(at)) {
            if body.inst(inst).opcode != Opcode::Phi {
                break;
            }
            self.reads(inst);
            let entry = from.and_then(|from| {
                body.phi_incoming(inst).find(|(_, block)| node_of(*block) == from)
            });
            let value = entry.and_then(|(value, _)| self.value(value, state));
            new.push((inst, value));
        }
        for (inst, value) in new {
            set(state, inst, value);
        }
    }

    /// Executes a block except its phis and its terminator. Returns whether the walk is over.
    fn block(
        &self,
        at: Node,
        thread: [u32; 3],
        state: &mut State<'_>,
        arrivals: &mut Vec<Arrival>,
    ) -> bool {
        let body = self.facts.code.body;
        for inst in body.block_insts(block_of(at)) {
            let opcode = body.inst(inst).opcode;
            if opcode == Opcode::Phi || opcode.is_terminator() {
                continue;
            }
            let Some(left) = state.fuel.checked_sub(1) else { return true };
            state.fuel = left;
            if inst == self.inst {
                arrivals.push(self.arrival(state));
                if arrivals.len() == ARRIVALS {
                    return true;
                }
            }
            self.reads(inst);
            self.execute(inst, thread, state);
        }
        false
    }

    fn arrival(&self, state: &State<'_>) -> Arrival {
        let argument = |argument: &Argument| match *argument {
            Argument::Value(value) => self.value(value, state),
            Argument::Integer(number) => Some(number as u64),
            Argument::Computed => None,
        };
        let outer = state.entry.map_or(&[][..], |entry| &entry.rounds);
        Arrival {
            rounds: [&state.rounds, outer].concat(),
            arguments: self.arguments.iter().map(argument).collect(),
            is_sure: state.is_sure,
        }
    }

    fn execute(&self, inst: InstId, thread: [u32; 3], state: &mut State<'_>) {
        let facts = self.facts;
        let body = facts.code.body;
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            Opcode::Store => {
                if let Some(own) = self.own_slot(operands[1]) {
                    let stored = self.value(operands[0], state);
                    let known = stored.zip(bits(facts, operands[0]));
                    match known {
                        Some(known) => _ = state.slots.insert(own, known),
                        None => _ = state.slots.remove(&own),
                    }
                }
            }
            Opcode::Load => {
                let known = self.own_slot(operands[0]).and_then(|own| state.slots.get(&own));
                let &(value, of) = known.unwrap_or(&(0, 0));
                let is_whole = bits(facts, inst.into()) == Some(of);
                set(state, inst, is_whole.then_some(value));
            }
            Opcode::Alloca => _ = state.slots.remove(&inst),
            Opcode::Freeze => {
                let value = self.value(operands[0], state);
                set(state, inst, value);
            }
            Opcode::Call => {
                let arguments: Vec<Option<u64>> =
                    body.call_args(inst).iter().map(|&value| self.value(value, state)).collect();
                let value = of_call(facts, inst, &arguments, (thread, self.size));
                set(state, inst, value);
            }
            _ => {
                let value = self.computed(inst, state);
                set(state, inst, value);
            }
        }
    }

    /// The result of arithmetic.
    fn computed(&self, inst: InstId, state: &State<'_>) -> Option<u64> {
        let (facts, body) = (self.facts, self.facts.code.body);
        let of = bits(facts, inst.into())?;
        let operands = body.operands(inst);
        let values: Vec<Option<u64>> =
            operands.iter().map(|&value| self.value(value, state)).collect();
        let known = match (body.inst(inst).opcode, &values[..]) {
            (Opcode::Select, &[Some(decided), one, other]) => {
                return if decided == 0 { other } else { one };
            }
            (Opcode::And | Opcode::Mul, values) if values.contains(&Some(0)) => Some(0),
            (_, values) => {
                let values: Option<Vec<u64>> = values.iter().copied().collect();
                let from = operands.first().and_then(|&first| bits(facts, first))?;
                evaluate(facts.code, inst, &values?, of, from)
            }
        };
        known.map(|value| value & ones(of))
    }

    fn value(&self, value: Value, state: &State<'_>) -> Option<u64> {
        match value.kind() {
            ValueKind::Inst(inst) => state.values.get(&inst).copied(),
            ValueKind::Const(_) => integer(self.facts.code, value),
            ValueKind::Arg(position) => {
                state.entry.and_then(|entry| *entry.arguments.get(position as usize)?)
            }
            _ => None,
        }
    }

    /// The slot that an address is of, if the slot is used by nothing but whole loads and stores.
    fn own_slot(&self, address: Value) -> Option<InstId> {
        let facts = self.facts;
        let own = slot(facts, address)?;
        if let Some(&is_own) = self.own.borrow().get(&own) {
            return is_own.then_some(own);
        }
        facts.reads_slots();
        let body = facts.code.body;
        let mut addresses = vec![own];
        let mut is_own = true;
        while let Some(address) = addresses.pop().filter(|_| is_own) {
            for Use { user, index } in body.uses_of(address.into()) {
                match body.inst(user).opcode {
                    Opcode::Load => {}
                    Opcode::AddrSpaceCast => addresses.push(user),
                    Opcode::Store if index == 1 => {}
                    Opcode::Call if is_marker(facts, user) => {}
                    _ => is_own = false,
                }
            }
        }
        self.own.borrow_mut().insert(own, is_own);
        is_own.then_some(own)
    }

    fn next(&self, at: Node, state: &mut State<'_>, has_come: bool) -> Next {
        let facts = self.facts;
        let body = facts.code.body;
        let flow = facts.code.flow;
        let Some(terminator) = body.terminator(block_of(at)) else { return Next::End };
        self.reads(terminator);
        let mut targets = facts.cfg.successors(at).to_vec();
        targets.sort_unstable();
        targets.dedup();
        if let [one] = targets[..] {
            return Next::To(one);
        }
        let opcode = body.inst(terminator).opcode;
        let decided = match opcode {
            Opcode::Br | Opcode::Switch => {
                body.operands(terminator).first().and_then(|&value| self.value(value, state))
            }
            _ => return Next::End,
        };
        if let Some(decided) = decided {
            let position = match opcode {
                // The first successor is that for true.
                Opcode::Br => usize::from(decided == 0),
                _ => {
                    let cases = &body.operands(terminator)[1..];
                    let is_case = |&case: &Value| integer(facts.code, case) == Some(decided);
                    cases.iter().position(is_case).map_or(0, |found| found + 1)
                }
            };
            let target = flow.successors(block_of(at)).get(position).map(|&block| node_of(block));
            return match target.filter(|target| targets.contains(target)) {
                Some(target) => Next::To(target),
                None => Next::End,
            };
        }
        if has_come {
            return Next::End;
        }
        facts.reads_branch(at);
        let parts = facts.divergence.terminator(at).intersects(facts.varying(self.scope));
        let coming: Vec<Node> =
            targets.iter().copied().filter(|to| self.before.contains(to.index())).collect();
        match coming[..] {
            [] => Next::End,
            [one] => {
                state.is_sure &= !parts;
                Next::To(one)
            }
            _ => match self.region(at, &targets) {
                Some(region) => Next::Behind(region),
                None => Next::End,
            },
        }
    }

    /// The region between a branch and the block where its sides meet, if the operation is not in
    /// it.
    fn region(&self, branch: Node, targets: &[Node]) -> Option<Rc<Region>> {
        if let Some(known) = self.regions.borrow().get(&branch) {
            return known.clone();
        }
        let find = || {
            let join = self.facts.postdom.ipdom(branch)?;
            let mut seen = FxHashSet::default();
            let mut work: Vec<Node> = targets.to_vec();
            let mut blocks = Vec::new();
            while let Some(at) = work.pop() {
                if at == join || !seen.insert(at) {
                    continue;
                }
                blocks.push(at);
                work.extend(self.facts.cfg.successors(at));
            }
            let is_there = blocks.contains(&self.block);
            (!is_there).then(|| Rc::new(Region { join, blocks }))
        };
        let found = find();
        self.regions.borrow_mut().insert(branch, found.clone());
        found
    }

    /// Forgets what may be computed and stored in a region.
    fn forget(&self, region: &Region, state: &mut State<'_>) {
        let body = self.facts.code.body;
        self.facts.reads_slots();
        for &block in &region.blocks {
            for inst in body.block_insts(block_of(block)) {
                state.values.remove(&inst);
                if body.inst(inst).opcode == Opcode::Store
                    && let Some(own) = self.own_slot(body.operands(inst)[1])
                {
                    state.slots.remove(&own);
                }
            }
        }
    }
}

fn set(state: &mut State<'_>, inst: InstId, value: Option<u64>) {
    match value {
        Some(value) => _ = state.values.insert(inst, value),
        None => _ = state.values.remove(&inst),
    }
}
