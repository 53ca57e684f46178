//! Rewrites regions one by one, in one transaction.
//!
//! 1. Visit blocks in order. Each edge of the new control flow carries a *state*. For every later
//!    block, the state has a mask: whether a thread that takes this edge takes part in that block.
//!    For every phi of a later block it has the value collected so far. Initially a mask is `false`
//!    and a value is poison.
//! 2. Where several edges lead to a block, states are joined by phis.
//! 3. A block reads its mask and the values of its phis from its state, guards its instructions,
//!    and adds to the states of its edges: the mask of a successor is true where its own is and the
//!    branch leads there, and a phi of it gets its value by a selection on that.
//! 4. Then edges change, and phis get their values.
//!
//! The first value that a phi may have needs no selection: a thread that does not want it gets
//! another value later, or does not use the phi. If all threads that execute one block also execute
//! a later block, that block has the same mask.
//!
//! Cost: O(blocks * values in a state).

use phalanx_ir::{
    BlockId, InstId, Opcode, Type, Value,
    builder::InstBuilder as _,
    constant::ConstKind,
    edit::Transaction,
    inst::IntPredicate,
    metadata::{Attachment, kind},
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{
    apply::{Slots, apply},
    guards::Guard,
    order::Way,
    region::Region,
};
use crate::{
    locations::Locations,
    pass::PassError,
    speculated::{self, forget_uniform},
};

/// What a state collects for a later block: its mask, or the value of its phi with this number.
///
/// Sorted by block, so that what is for the next block stands first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Item {
    block: usize,
    phi: Option<usize>,
}

impl Item {
    fn mask(block: usize) -> Item {
        Item { block, phi: None }
    }

    fn phi(block: usize, phi: usize) -> Item {
        Item { block, phi: Some(phi) }
    }
}

/// The collected masks and values, sorted.
#[derive(Clone, Default, Debug)]
struct State(Vec<(Item, Value)>);

impl State {
    fn get(&self, item: Item) -> Option<Value> {
        self.0.binary_search_by_key(&item, |entry| entry.0).ok().map(|at| self.0[at].1)
    }

    fn set(&mut self, item: Item, value: Value) {
        match self.0.binary_search_by_key(&item, |entry| entry.0) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (item, value)),
        }
    }
}

/// Linearizes regions; `space` is the address space of stack slots.
pub(super) fn rewrite(
    edit: &mut Transaction<'_>,
    regions: Vec<Region>,
    space: u32,
    locations: &mut Locations,
) -> Result<(), PassError> {
    let mut slots = Slots::new(space);
    for mut region in regions {
        let markers = std::mem::take(&mut region.markers);
        for marker in markers {
            // Several regions may list the same marker.
            if edit.body().block_of(marker).is_some() {
                edit.erase(marker)?;
            }
        }
        let join = match region.join {
            Some(join) => join,
            None => one_return(edit, &region, locations)?,
        };
        Rewriter::new(edit, &region, join, &mut slots).run()?;
    }
    Ok(())
}

/// Merges all returns of a region into one.
fn one_return(
    edit: &mut Transaction<'_>,
    region: &Region,
    locations: &mut Locations,
) -> Result<BlockId, PassError> {
    let exit = edit.create_block("exit", region.blocks.last().copied())?;
    let mut returns: Vec<(BlockId, Option<Value>, Vec<Attachment>)> = Vec::new();
    for &block in &region.blocks {
        let Some(end) = edit.body().terminator(block) else { continue };
        if edit.body().inst(end).opcode == Opcode::Ret {
            let value = edit.body().operands(end).first().copied();
            let location = edit.extras().attachments_of(end).filter(|a| a.kind == kind::DBG);
            returns.push((block, value, location.collect()));
        }
    }
    let ty = returns.iter().find_map(|r| r.1).and_then(|value| edit.type_of(value));
    let end = match ty {
        None => edit.at_end(exit).ret_void()?,
        Some(ty) => {
            let phi = edit.at_start(exit).named("result").phi(ty)?;
            edit.at_end(exit).ret(phi)?
        }
    };
    if let Some((_, _, location)) = returns.first() {
        attach(edit, end, location)?;
    }
    let phi = edit.body().phis(exit).next();
    for (block, value, location) in returns {
        let jump = edit.replace_terminator(block).br(exit)?;
        attach(edit, jump, &location)?;
        locations.merge(edit, end, jump)?;
        if let (Some(phi), Some(value)) = (phi, value) {
            edit.add_phi_input(phi, value, block)?;
        }
    }
    Ok(exit)
}

fn attach(
    edit: &mut Transaction<'_>,
    inst: InstId,
    attachments: &[Attachment],
) -> Result<(), PassError> {
    for attachment in attachments {
        let name = edit.context().text(attachment.kind).into_owned();
        edit.attach(inst, &name, Some(attachment.node))?;
    }
    Ok(())
}

/// An internal error: an expected mask or value is missing.
pub(super) fn missing(what: &str) -> PassError {
    PassError::Other(format!("linearize: {what} is missing"))
}

struct Rewriter<'e, 's, 'r> {
    edit: &'e mut Transaction<'s>,
    region: &'r Region,
    slots: &'r mut Slots,
    /// The blocks of the region and the join, with their numbers.
    blocks: Vec<BlockId>,
    numbers: FxHashMap<BlockId, usize>,
    /// Phis of each block and the join before anything changes.
    phis: Vec<SmallVec<[InstId; 4]>>,
    /// The mask of each block; none if all threads take part.
    masks: Vec<Option<Value>>,
    /// For each block and the join: the states of its incoming edges, with the blocks that they
    /// come from.
    incoming: Vec<Vec<(usize, State)>>,
    /// Instructions that compute masks, in order.
    made: Vec<InstId>,
    /// Values of phis by edge, to be added after the edges exist.
    inputs: Vec<(InstId, BlockId, Value)>,
    /// Phis that join states.
    new_phis: Vec<InstId>,
}

impl<'e, 's, 'r> Rewriter<'e, 's, 'r> {
    fn new(
        edit: &'e mut Transaction<'s>,
        region: &'r Region,
        join: BlockId,
        slots: &'r mut Slots,
    ) -> Self {
        let mut blocks = region.blocks.clone();
        blocks.push(join);
        let numbers = blocks.iter().enumerate().map(|(at, &block)| (block, at)).collect();
        let phis = blocks.iter().map(|&block| edit.body().phis(block).collect()).collect();
        let (masks, incoming) = (vec![None; blocks.len()], vec![Vec::new(); blocks.len()]);
        let (made, inputs, new_phis) = (Vec::new(), Vec::new(), Vec::new());
        Rewriter {
            edit,
            region,
            slots,
            blocks,
            numbers,
            phis,
            masks,
            incoming,
            made,
            inputs,
            new_phis,
        }
    }

    fn join(&self) -> usize {
        self.region.blocks.len()
    }

    fn run(mut self) -> Result<(), PassError> {
        for at in 0..self.join() {
            let state = self.enter(at)?;
            if at > 0 {
                self.guard(at)?;
            }
            self.leave(at, state)?;
        }
        let join = self.join();
        let arrivals = std::mem::take(&mut self.incoming[join]);
        for (place, phi) in self.phis[join].clone().into_iter().enumerate() {
            for (from, state) in &arrivals {
                let value = match state.get(Item::phi(join, place)) {
                    Some(value) => value,
                    None => self.nothing(self.edit.body().inst(phi).ty),
                };
                self.inputs.push((phi, self.blocks[*from], value));
            }
        }
        self.change_edges()?;
        self.set_phis()?;
        self.clean()
    }

    fn nothing(&self, ty: Type) -> Value {
        self.edit.context().const_poison(ty).into()
    }

    /// The state of a block, without the entries for the block itself: these replace its phis.
    fn enter(&mut self, at: usize) -> Result<State, PassError> {
        if at == 0 {
            return Ok(State::default());
        }
        let arrivals = std::mem::take(&mut self.incoming[at]);
        let mut state = self.joined(at, &arrivals)?;
        let own = state.0.partition_point(|entry| entry.0.block <= at);
        let own: Vec<(Item, Value)> = state.0.drain(..own).collect();
        let own = State(own);
        let mask = match self.region.inherits[at] {
            Some(above) => self.masks[above],
            None => {
                let nobody = self.edit.context().const_bool(false);
                Some(own.get(Item::mask(at)).unwrap_or_else(|| nobody.into()))
            }
        };
        self.masks[at] = mask;
        for (place, phi) in self.phis[at].clone().into_iter().enumerate() {
            let value = match own.get(Item::phi(at, place)) {
                Some(value) => value,
                None => self.nothing(self.edit.body().inst(phi).ty),
            };
            speculated::replace(self.edit, phi, value)?;
        }
        Ok(state)
    }

    /// The joined state where several edges meet.
    fn joined(&mut self, at: usize, arrivals: &[(usize, State)]) -> Result<State, PassError> {
        if let [(_, state)] = arrivals {
            return Ok(state.clone());
        }
        let mut items: Vec<Item> =
            arrivals.iter().flat_map(|(_, state)| state.0.iter().map(|entry| entry.0)).collect();
        items.sort_unstable();
        items.dedup();
        let mut state = State::default();
        for item in items {
            let (ty, absent): (Type, Value) = match item.phi {
                None => (Type::I1, self.edit.context().const_bool(false).into()),
                Some(place) => {
                    let ty = self.edit.body().inst(self.phis[item.block][place]).ty;
                    (ty, self.nothing(ty))
                }
            };
            let values: SmallVec<[Value; 4]> =
                arrivals.iter().map(|(_, s)| s.get(item).unwrap_or(absent)).collect();
            let value = match values.iter().all(|value| *value == values[0]) {
                true => values[0],
                false => {
                    let mut cursor = self.edit.at_start(self.blocks[at]);
                    if item.phi.is_none() {
                        cursor.named("mask");
                    }
                    let phi = cursor.phi(ty)?;
                    let Some(inst) = phi.as_inst() else { return Err(missing("a phi")) };
                    self.new_phis.push(inst);
                    for ((from, _), &value) in arrivals.iter().zip(&values) {
                        self.inputs.push((inst, self.blocks[*from], value));
                    }
                    if item.phi.is_none() {
                        self.made.push(inst);
                    }
                    phi
                }
            };
            state.set(item, value);
        }
        Ok(state)
    }

    /// Guards the instructions of a block.
    fn guard(&mut self, at: usize) -> Result<(), PassError> {
        let Some(mask) = self.masks[at] else { return Ok(()) };
        let guarded: Vec<(InstId, Guard)> = self
            .edit
            .body()
            .block_insts(self.blocks[at])
            .filter_map(|inst| Some((inst, *self.region.guards.get(&inst)?)))
            .collect();
        for (inst, guard) in guarded {
            apply(self.edit, self.slots, inst, guard, mask)?;
        }
        // Metadata holds for the threads that took part. So does the assumption of a kept branch
        // that its condition is a wave-uniform register. Debug records set a variable in these
        // threads only.
        let insts: Vec<InstId> = self.edit.body().block_insts(self.blocks[at]).collect();
        for inst in insts {
            forget_uniform(self.edit, inst)?;
            self.edit.forget_debug_values(inst)?;
        }
        Ok(())
    }

    /// Passes the state of a block on along its edges.
    fn leave(&mut self, at: usize, state: State) -> Result<(), PassError> {
        let region = self.region;
        match &region.ways[at] {
            Way::Straight(next) => {
                let mut state = state;
                for (target, taken) in self.taken(at)? {
                    self.send(at, target, taken, &mut state)?;
                }
                self.incoming[*next].push((at, state));
            }
            Way::Kept(ways) => {
                for &(target, next) in ways {
                    let mut state = state.clone();
                    self.send(at, target, self.masks[at], &mut state)?;
                    self.incoming[next].push((at, state));
                }
            }
        }
        Ok(())
    }

    /// The distinct successors of a block, with the mask of the threads that continue there; none
    /// if all do.
    fn taken(&mut self, at: usize) -> Result<Vec<(usize, Option<Value>)>, PassError> {
        let block = self.blocks[at];
        let end = self.edit.body().terminator(block).ok_or_else(|| missing("a terminator"))?;
        let operands: SmallVec<[Value; 4]> = self.edit.body().operands(end).into();
        let successors: SmallVec<[usize; 4]> =
            self.edit.flow().successors(block).iter().map(|to| self.numbers[to]).collect();
        let mask = self.masks[at];
        let first = successors[0];
        if successors.iter().all(|&to| to == first) {
            return Ok(vec![(first, mask)]);
        }
        if self.edit.body().inst(end).opcode == Opcode::Br {
            let not = self.not(end, operands[0])?;
            let yes = self.both(end, mask, operands[0])?;
            let no = self.both(end, mask, not)?;
            return Ok(vec![(first, Some(yes)), (successors[1], Some(no))]);
        }
        // A switch: its first target is the default.
        let mut hits: Vec<(usize, Value)> = Vec::new();
        for (&case, &to) in operands[1..].iter().zip(&successors[1..]) {
            if to == first {
                continue;
            }
            let hit = self.edit.before(end).icmp(IntPredicate::Eq, operands[0], case)?;
            self.made.extend(hit.as_inst());
            match hits.iter().position(|other| other.0 == to) {
                Some(place) => hits[place].1 = self.either(end, hits[place].1, hit)?,
                None => hits.push((to, hit)),
            }
        }
        let mut any = hits[0].1;
        for &(_, hit) in &hits[1..] {
            any = self.either(end, any, hit)?;
        }
        let not = self.not(end, any)?;
        let mut all = vec![(first, Some(self.both(end, mask, not)?))];
        for (to, hit) in hits {
            all.push((to, Some(self.both(end, mask, hit)?)));
        }
        Ok(all)
    }

    fn not(&mut self, end: InstId, condition: Value) -> Result<Value, PassError> {
        let ones = self.edit.context().const_bool(true);
        let not = self.edit.before(end).xor(condition, ones)?;
        self.made.extend(not.as_inst());
        Ok(not)
    }

    fn either(&mut self, end: InstId, a: Value, b: Value) -> Result<Value, PassError> {
        let either = self.edit.before(end).or(a, b)?;
        self.made.extend(either.as_inst());
        Ok(either)
    }

    /// The mask of the threads that take part and fulfil a condition. The condition may be poison
    /// in other threads, so this is a `select` rather than an `and`.
    fn both(
        &mut self,
        end: InstId,
        mask: Option<Value>,
        condition: Value,
    ) -> Result<Value, PassError> {
        let Some(mask) = mask else { return Ok(condition) };
        let nobody = self.edit.context().const_bool(false);
        let both = self.edit.before(end).named("mask").select(mask, condition, nobody)?;
        self.made.extend(both.as_inst());
        Ok(both)
    }

    /// Adds to a state that the threads of a mask continue to a block.
    fn send(
        &mut self,
        at: usize,
        target: usize,
        taken: Option<Value>,
        state: &mut State,
    ) -> Result<(), PassError> {
        let block = self.blocks[at];
        let end = self.edit.body().terminator(block).ok_or_else(|| missing("a terminator"))?;
        if target < self.join() && self.region.inherits[target].is_none() {
            let everybody = self.edit.context().const_bool(true);
            let taken = taken.unwrap_or_else(|| everybody.into());
            let item = Item::mask(target);
            let mask = match state.get(item) {
                Some(mask) => self.either(end, mask, taken)?,
                None => taken,
            };
            state.set(item, mask);
        }
        for (place, phi) in self.phis[target].clone().into_iter().enumerate() {
            let Some(value) = self.edit.phi_input(phi, block) else { continue };
            let item = Item::phi(target, place);
            let selected = match (state.get(item), taken) {
                (Some(old), Some(taken)) if old != value => {
                    let flags = self.edit.body().inst(phi).flags;
                    let name = self.edit.extras().names.inst(phi);
                    let name = name.map(|n| format!("{}.sel", String::from_utf8_lossy(n)));
                    let mut cursor = self.edit.before(end);
                    cursor.flagged(flags).named(&name.unwrap_or_default());
                    cursor.select(taken, value, old)?
                }
                _ => value,
            };
            state.set(item, selected);
        }
        Ok(())
    }

    /// Redirects blocks to their new successors.
    fn change_edges(&mut self) -> Result<(), PassError> {
        let region = self.region;
        // A loop keeps its metadata at the branch that ends its rounds.
        let mut of_loop: Vec<Attachment> = Vec::new();
        for (at, way) in region.ways.iter().enumerate() {
            let block = self.blocks[at];
            let Some(old) = self.edit.body().terminator(block) else { continue };
            let attachments: Vec<Attachment> = self.edit.extras().attachments_of(old).collect();
            of_loop.extend(attachments.iter().filter(|a| a.kind == kind::LOOP).copied());
            match way {
                Way::Straight(next) => {
                    let next = self.blocks[*next];
                    if self.edit.flow().successors(block) == [next] {
                        continue;
                    }
                    let new = self.edit.replace_terminator(block).br(next)?;
                    let location: Vec<Attachment> =
                        attachments.into_iter().filter(|a| a.kind == kind::DBG).collect();
                    attach(self.edit, new, &location)?;
                }
                Way::Kept(ways) => {
                    // More threads execute this branch now, and its condition must be defined in
                    // all of them. A literal `undef` or `poison` is frozen like a computed
                    // condition.
                    let condition = self.edit.body().operands(old)[0];
                    let is_number = condition.as_const().is_some_and(|constant| {
                        let constant = self.edit.context().const_data(constant);
                        matches!(constant.kind, ConstKind::Int(_))
                    });
                    if !is_number {
                        let frozen = self.edit.before(old).freeze(condition)?;
                        self.edit.set_operand(old, 0, frozen)?;
                    }
                    let successors: Vec<BlockId> = self.edit.flow().successors(block).to_vec();
                    for (index, to) in successors.into_iter().enumerate() {
                        let number = self.numbers[&to];
                        let Some(&(_, next)) = ways.iter().find(|way| way.0 == number) else {
                            return Err(missing("a way"));
                        };
                        self.edit.redirect_edge(block, index, self.blocks[next])?;
                    }
                }
            }
        }
        if !region.joins_at_header || of_loop.is_empty() {
            return Ok(());
        }
        let join = self.blocks[self.join()];
        for &block in &region.blocks {
            let Some(end) = self.edit.body().terminator(block) else { continue };
            if self.edit.flow().successors(block).contains(&join) {
                attach(self.edit, end, &of_loop[..1])?;
            }
        }
        Ok(())
    }

    fn set_phis(&mut self) -> Result<(), PassError> {
        for (phi, from, value) in std::mem::take(&mut self.inputs) {
            let Some(block) = self.edit.body().block_of(phi) else { continue };
            if self.edit.phi_input(phi, from).is_some() {
                self.edit.remove_phi_input(phi, from)?;
            }
            let edges = self.edit.flow().successors(from).iter().filter(|&&to| to == block).count();
            for _ in 0..edges {
                self.edit.add_phi_input(phi, value, from)?;
            }
        }
        for phi in std::mem::take(&mut self.new_phis) {
            self.set_unreachable(phi)?;
        }
        Ok(())
    }

    /// Gives a phi a value for edges from unreachable blocks.
    fn set_unreachable(&mut self, phi: InstId) -> Result<(), PassError> {
        let Some(block) = self.edit.body().block_of(phi) else { return Ok(()) };
        let known = self.edit.body().phi_incoming(phi).count();
        if known == self.edit.flow().in_degree(block) as usize {
            return Ok(());
        }
        let nothing = self.nothing(self.edit.body().inst(phi).ty);
        let flow = self.edit.flow();
        let from: Vec<BlockId> = { flow.order().iter() }
            .flat_map(|&from| flow.successors(from).iter().map(move |&to| (from, to)))
            .filter(|&(_, to)| to == block)
            .map(|(from, _)| from)
            .collect();
        for from in from
            .into_iter()
            .filter(|&from| self.edit.phi_input(phi, from).is_none())
            .collect::<Vec<_>>()
        {
            self.edit.add_phi_input(phi, nothing, from)?;
        }
        Ok(())
    }

    /// Erases masks that nothing reads.
    fn clean(&mut self) -> Result<(), PassError> {
        while let Some(inst) = self.made.pop() {
            if self.edit.body().block_of(inst).is_some() && !self.edit.is_used(inst) {
                self.edit.erase(inst)?;
            }
        }
        Ok(())
    }
}
