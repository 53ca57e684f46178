//! Edits of the control flow: the answer is repaired from what is different between the old graph
//! and the new one.
//!
//! | what | how it follows |
//! |---|---|
//! | consequences of branches and exits | [`super::carry`]: renamed, and drawn again where the search could end otherwise |
//! | facts about ends of blocks | go with the end when a block is split or merged |
//! | what varies in which cycles | values in blocks that are in other cycles now are examined, with their users |
//! | lists of uses outside of cycles | renamed; uses of what has moved are added |
//! | phis | those of joins over other edges are examined, and those in headers of cycles in which the order of meetings may be another |
//! | temporal uses | those in blocks with other dominators are examined |
//!
//! Everything else keeps its facts with their ranks; what was named is handed to the engine as
//! changed, along with the instructions that the caller stated.

use std::cell::RefCell;
use std::sync::Arc;

use crate::SourceSet;
use phalanx_graph::sync::{Carry, SyncView};
use phalanx_graph::{BitSet, CycleId, Cycles, Node};
use rustc_hash::FxHashMap;

use super::control::{Control, is_plain_region};
use super::levels::Levels;
use super::outside::Scene;
use super::state::{GivenUp, State, Uses, assumed, exits, grow};
use super::subject::{Subject, Subjects, subject};
use super::table::EditableTable;
use crate::affect::{User, Value};
use crate::divergence::{Divergence, FlowFacts, TemporalUse};

/// What is to be examined because of the control flow.
#[derive(Debug, Default)]
struct Examined {
    changed: Subjects,
    uses: Uses,
}

impl Examined {
    /// A use is at another place or moment.
    fn add(&mut self, value: Value, user: User) {
        self.uses.push((value, user));
        self.changed.push(subject(user));
    }

    fn all_of(&mut self, table: &EditableTable, user: User) {
        self.changed.push(subject(user));
        self.uses.extend(table.operands(user).iter().map(|value| (*value, user)));
    }
}

impl State {
    /// Follows an edit of the control flow, and of instructions as the table lists them. The uses
    /// in `elsewhere` are in other blocks of the same cycles.
    pub(super) fn update_flow(
        &mut self,
        flow: FlowFacts<'_>,
        (old, carry): (&SyncView<'_>, &Carry<'_>),
        (table, elsewhere): (&EditableTable, &[(Value, User)]),
        answer: &mut Arc<Divergence>,
    ) -> Result<usize, GivenUp> {
        let cycles = flow.cycles;
        let is_other = self.levels.is_none() != cycles.is_empty() && self.levels.is_none();
        let is_worn = self.graph.gone > self.graph.len() / 2 + 1024;
        if is_other || is_worn || !Levels::is_possible(cycles, table.len()) {
            return Err(GivenUp);
        }
        self.make_room(table);
        grow(answer, table);
        self.room = Self::room(flow);
        self.selections.clear();
        self.members = RefCell::default();
        let mut view = SyncView::new(flow.sync, flow.cfg, flow.dom, cycles);
        let mut examined = Examined::default();
        self.move_ends(carry, &mut examined, Arc::make_mut(answer));
        let mut carried = self.graph.rename(carry, &view);
        let env = (&mut view, flow);
        self.graph.redraw(carry, env, &self.known, &mut carried);
        if self.graph.is_irregular || !self.has_plain_regions(flow, &view) {
            return Err(GivenUp);
        }
        for (number, control) in carried.gone {
            if self.known.get(Subject::Control(number)) != 0 {
                self.known.renumber([(Subject::Control(number), None)]);
                self.examine_gone(old, control, table, &mut examined);
            }
        }
        for number in carried.reshaped {
            let block = match self.graph.kinds[number as usize] {
                Control::JoinOver(block, _) => block,
                Control::JoinBack(cycle, _) => cycles.header(cycle),
                _ => continue,
            };
            examined.changed.extend(table.phis(block).iter().map(|phi| Subject::Value(phi.raw())));
        }
        examined.changed.extend(carried.changed.into_iter().map(Subject::Control));
        self.examine_late_joins(carry, &view, cycles, table, &mut examined);
        if let Some(levels) = &mut self.levels {
            levels.deepen(cycles, table);
        }
        examine_recycled(carry, flow, table, &mut examined);
        self.outside.rename(carry, &view, cycles.len());
        if let Some(levels) = &self.levels {
            // What is read outside of its cycles is listed by the position of the reader.
            let scene = Scene { view: &view, cycles, table, levels };
            for &(value, user) in elsewhere {
                self.outside.add(&scene, value, user);
            }
        }
        for &(first, end) in carry.redominated() {
            let left: Vec<CycleId> = self.graph.reached.keys().copied().collect();
            for cycle in left {
                for (value, user) in self.outside.behind(cycle, first, end) {
                    examined.add(value, user);
                }
            }
        }
        if !carry.has_same_cycles() {
            let answer = Arc::make_mut(answer);
            rename_cycles(carry, answer, &mut examined);
            answer.divergent_exits = exits(&self.graph, &self.known).into();
        }
        let Examined { mut changed, mut uses } = examined;
        let visited = self.update(flow, table, (false, &mut changed, &mut uses), answer)?;
        Arc::make_mut(answer).assumed = assumed(&self.graph, &self.known, flow);
        Ok(visited)
    }

    /// Whether threads that run apart in a region still leave it by each edge apart. What is a
    /// region no longer has nothing that says that they do.
    fn has_plain_regions(&self, flow: FlowFacts<'_>, view: &SyncView<'_>) -> bool {
        let is_region = |region| view.region_around(flow.cycles.header(region)) == Some(region);
        let mut regions = self.graph.assumed.keys().filter(|region| is_region(**region));
        regions.all(|&region| is_plain_region(view, flow, region))
    }

    /// Facts about the end of a block go where the end has gone.
    fn move_ends(&mut self, carry: &Carry<'_>, examined: &mut Examined, answer: &mut Divergence) {
        let moves = || carry.tails().iter().filter(|(old, new)| old != new);
        let branch = |block: Node| Subject::Branch(block.raw());
        self.known.renumber(moves().map(|&(old, new)| (branch(old), Some(branch(new)))));
        for &(old, new) in moves() {
            for block in [old, new] {
                let sources = SourceSet::from_bits(self.known.get(branch(block)));
                answer.terminators.set(block.index(), sources);
                examined.changed.push(branch(block));
            }
        }
    }

    /// What may have rested on a node that is gone, by the old numbers.
    fn examine_gone(
        &self,
        old: &SyncView<'_>,
        control: Control,
        table: &EditableTable,
        examined: &mut Examined,
    ) {
        match control {
            Control::Join(block) | Control::JoinOver(block, _) => {
                let phis = table.phis(block).iter();
                examined.changed.extend(phis.map(|phi| Subject::Value(phi.raw())));
            }
            Control::JoinBack(cycle, _) => {
                let phis = table.phis(old.header(cycle)).iter();
                examined.changed.extend(phis.map(|phi| Subject::Value(phi.raw())));
            }
            Control::Exit(edge) => {
                self.outside.on(edge).for_each(|(value, user)| examined.add(value, user));
            }
            Control::Reach(cycle, node) => {
                let (first, end) = old.dominated(node);
                let uses = self.outside.behind(cycle, first, end);
                uses.for_each(|(value, user)| examined.add(value, user));
            }
            Control::Exits { .. } => {
                // Whatever exit was in the range.
                let exits =
                    self.graph.exits.iter().filter(|number| **number != super::control::NONE);
                examined.changed.extend(exits.map(|number| Subject::Control(*number)));
            }
            // Blocks of a cycle that is gone are in other cycles, and are examined for that.
            Control::Assumed(_) | Control::LiveOut(_) => {}
            Control::ExitsFrom(_) | Control::Onward(..) | Control::Left(_) | Control::Gone => {}
        }
    }

    /// Which edges back are reached from a node in one round may be others when anything in the
    /// cycle is stale.
    fn examine_late_joins(
        &self,
        carry: &Carry<'_>,
        view: &SyncView<'_>,
        cycles: &Cycles,
        table: &EditableTable,
        examined: &mut Examined,
    ) {
        let mut found: Vec<CycleId> = Vec::new();
        for node in carry.stale().filter(|node| carry.has(*node)) {
            let Some(inner) = view.canonical_cycle(node) else { continue };
            found.push(inner);
            if cycles.header(inner) == node {
                found.extend(cycles.parent(inner));
            }
        }
        found.sort_unstable();
        found.dedup();
        for cycle in found {
            let header = cycles.header(cycle);
            let is_late = |join: u32| match self.graph.kinds[join as usize] {
                Control::JoinBack(_, edges) => !self.graph.edges[edges as usize].late.is_empty(),
                _ => false,
            };
            if self.graph.joins(header).any(is_late) {
                let phis = table.phis(header).iter();
                examined.changed.extend(phis.map(|phi| Subject::Value(phi.raw())));
            }
        }
    }
}

/// Values of blocks that are in other cycles than before vary in others, and are used in and
/// outside of others.
fn examine_recycled(
    carry: &Carry<'_>,
    flow: FlowFacts<'_>,
    table: &EditableTable,
    examined: &mut Examined,
) {
    if carry.recycled().is_empty() {
        return;
    }
    let mut blocks = BitSet::new(flow.cfg.node_count());
    for &block in carry.recycled() {
        blocks.insert(block.index());
        examined.all_of(table, User::terminator(block));
        for &next in flow.cfg.successors(block) {
            for &phi in table.phis(next) {
                examined.all_of(table, User::value(phi));
            }
        }
    }
    for value in (0..table.len() as u32).map(Value::from_raw) {
        if blocks.contains(table.block(value).index()) {
            examined.all_of(table, User::value(value));
            table.each_user(value, |user| examined.add(value, user));
        }
    }
}

/// Temporal uses are blamed on the same cycles, by other numbers.
fn rename_cycles(carry: &Carry<'_>, answer: &mut Divergence, examined: &mut Examined) {
    for list in [&mut answer.temporal, &mut answer.unlisted] {
        let mut uses: Vec<TemporalUse> = Vec::new();
        for entry in &*list {
            match carry.cycle(entry.cycle) {
                Some(cycle) => uses.push(TemporalUse { cycle, ..*entry }),
                None => examined.uses.push((entry.value, entry.user)),
            }
        }
        *list = uses.into();
        list.share();
    }
}

/// Old positions and edges by new ones in lists of uses.
pub(super) fn renamed_keys<K: std::hash::Hash + Eq, V>(
    map: &mut FxHashMap<K, V>,
    rename: impl Fn(K) -> Option<K>,
) {
    let old = std::mem::take(map);
    map.extend(old.into_iter().filter_map(|(key, list)| Some((rename(key)?, list))));
}
