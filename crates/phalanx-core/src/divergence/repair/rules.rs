//! The rules of divergence in both directions: what follows from a fact, and what supports one.

use std::cell::RefCell;
use std::ops::ControlFlow;

use crate::SourceSet;
use phalanx_fixpoint::Rules;
use phalanx_graph::sync::{LeavingEdge, SyncView};
use phalanx_graph::{CycleId, Node};
use rustc_hash::FxHashMap;

use super::control::{Control, ControlGraph};
use super::levels::Levels;
use super::outside::{Attachment, Outside, Scene};
use super::regions::Members;
use super::subject::{Known, Subject, subject};
use super::table::EditableTable;
use crate::affect::{User, UserKind, Value};
use crate::divergence::FlowFacts;
use crate::divergence::remaining::Remaining;
use crate::divergence::selection::{Keys, Selections};

/// What is known, and what it is known from.
pub(super) struct DivergenceRules<'r, 'f> {
    pub(super) flow: FlowFacts<'f>,
    pub(super) view: SyncView<'f>,
    pub(super) table: &'r EditableTable,
    pub(super) graph: &'r mut ControlGraph,
    pub(super) levels: Option<&'r Levels>,
    pub(super) outside: &'r Outside,
    pub(super) selections: &'r mut FxHashMap<Value, Selections>,
    pub(super) members: &'r RefCell<Members>,
    pub(super) work: usize,
    /// How large the graph of consequences may become.
    pub(super) room: usize,
    /// While facts only grow: by source, the exits that are not known to have it.
    pub(super) remaining: Option<Vec<Option<Remaining>>>,
}

impl<'f> DivergenceRules<'_, 'f> {
    /// What a user makes of sources of an operand.
    #[inline]
    pub(super) fn transfer(&self, user: User, bits: u16) -> u16 {
        match user.kind() {
            UserKind::Value(value) => self.table.transfer(value, SourceSet::from_bits(bits)).bits(),
            UserKind::Terminator(block) if self.table.is_fixed_terminator(block) => 0,
            UserKind::Terminator(block) => {
                self.table.terminator_transfer(block, SourceSet::from_bits(bits)).bits()
            }
        }
    }

    /// Whether a phi tells threads apart that meet as a join says.
    fn selects(&mut self, control: Control, phi: Value) -> bool {
        if !self.table.is_joinable(phi) {
            return false;
        }
        let (edges, row) = match control {
            Control::Join(_) => return true,
            Control::JoinOver(block, edges) => (edges, self.view.entering(block)),
            Control::JoinBack(cycle, edges) => (edges, self.view.back_edges(cycle)),
            _ => return false,
        };
        let edges = &self.graph.edges[edges as usize];
        let phi = self.table.phi(phi);
        self.work += phi.incoming.len().min(16) + edges.ranges.len();
        let known = self.selections.entry(phi.value).or_default();
        let mut keys = known.over(&self.view, row, &phi, &edges.ranges);
        if let Control::JoinBack(cycle, _) = control {
            for &node in &edges.late {
                if keys != Keys::Many {
                    keys = keys.and(known.back_from(&self.view, cycle, &phi, node));
                }
            }
        }
        keys == Keys::Many
    }

    /// Tells the phis of a block.
    fn join(
        &mut self,
        control: Control,
        block: Node,
        bits: u16,
        tell: &mut impl FnMut(Subject, u16) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let table = self.table;
        for &phi in table.phis(block) {
            self.work += 1;
            if !table.is_fixed(phi) && self.selects(control, phi) {
                tell(Subject::Value(phi.raw()), bits)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Uses whose moment depends on a fact about control flow.
    pub(super) fn uses_of(&mut self, control: Control) -> Vec<(Value, User)> {
        let Some(levels) = self.levels else { return Vec::new() };
        let scene = Scene { view: &self.view, cycles: self.flow.cycles, table: self.table, levels };
        let mut found = Vec::new();
        let mut check = |value: Value, user: User, holds: &dyn Fn(Attachment) -> bool| {
            let mut is_there = false;
            if scene.table.reads(user, value) {
                scene.attachments(value, user, |attachment| is_there |= holds(attachment));
            }
            if is_there {
                found.push((value, user));
            }
        };
        match control {
            Control::Exit(edge) => {
                for (value, user) in self.outside.on(edge) {
                    check(value, user, &|a| a == Attachment::Edge(edge));
                }
            }
            Control::Reach(cycle, node) => {
                let (first, end) = self.view.dominated(node);
                for (value, user) in self.outside.behind(cycle, first, end) {
                    check(
                        value,
                        user,
                        &|a| matches!(a, Attachment::Cycle(c, at) if c == cycle && first <= at && at < end),
                    );
                }
            }
            Control::LiveOut(cycle) => found = self.uses_outside(cycle),
            Control::Assumed(region) => found = self.uses_apart(region),
            _ => {}
        }
        self.work += found.len();
        found
    }

    /// Uses that may be outside of a cycle of what is computed inside.
    pub(super) fn uses_leaving(&self, cycle: CycleId) -> Vec<(Value, User)> {
        let behind = self.outside.behind(cycle, 0, u32::MAX);
        let edges = self.flow.cycles.exit_edges(cycle);
        let edges = edges.filter_map(|(from, to)| self.view.leaving_edge(from, to));
        let mut found: Vec<_> =
            behind.chain(edges.flat_map(|edge| self.outside.on(edge))).collect();
        // Cycles of a region have no places there.
        found.extend(self.uses_across(cycle));
        found
    }

    /// What the moment of a use depends on, as far as is known.
    pub(super) fn temporal(&mut self, value: Value, user: User, known: Known<'_>) -> u16 {
        let Some(levels) = self.levels else { return 0 };
        let scene = Scene { view: &self.view, cycles: self.flow.cycles, table: self.table, levels };
        let graph = &mut *self.graph;
        let (mut found, mut work) = (0, 1);
        scene.attachments(value, user, |attachment| match attachment {
            Attachment::Edge(edge) => {
                work += 1;
                if let Some(exit) = graph.exit_number(edge) {
                    found |= known.get(Subject::Control(exit));
                }
            }
            Attachment::Cycle(cycle, at) => {
                graph.prepare_reached(cycle);
                for reached in graph.reached(cycle, at) {
                    work += 1;
                    found |= known.get(Subject::Control(reached));
                }
            }
        });
        self.work += work;
        found | self.live_out(value, user, known)
    }

    /// Tells the edges of a range that leave cycles of a depth.
    fn exits(
        &mut self,
        (first, end, depth): (u32, u32, u32),
        bits: u16,
        tell: &mut impl FnMut(Subject, u16) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Self { view, graph, remaining, .. } = self;
        let mut exit = |edge: u32, bits: u16| {
            tell(Subject::Control(graph.exit(view, LeavingEdge::from_raw(edge))), bits)
        };
        let Some(remaining) = remaining else {
            self.work += (end - first) as usize;
            for edge in first..end {
                if view.depth_kept(edge as usize) < depth {
                    exit(edge, bits)?;
                }
            }
            return ControlFlow::Continue(());
        };
        for source in SourceSet::from_bits(bits).iter() {
            let number = source.bits().trailing_zeros() as usize;
            let left = remaining[number].get_or_insert_with(|| {
                Remaining::new((0..view.leaving_edges()).map(|i| view.depth_kept(i)))
            });
            while let Some(edge) = left.take(first, end, depth) {
                exit(edge, source.bits())?;
            }
        }
        ControlFlow::Continue(())
    }

    fn of_user(&mut self, user: User, want: u16, known: Known<'_>) -> u16 {
        let mut found = self.seed(subject(user)) & want;
        let is_fixed = match user.kind() {
            UserKind::Value(value) => self.table.is_fixed(value),
            UserKind::Terminator(block) => self.table.is_fixed_terminator(block),
        };
        if is_fixed {
            return found;
        }
        let table = self.table;
        let operands = table.operands(user);
        for &operand in operands {
            if found == want {
                return found;
            }
            self.work += 1;
            let bits = known.get(Subject::Value(operand.raw()));
            if bits != 0 {
                found |= self.transfer(user, bits) & want;
            }
        }
        let joinable = match user.kind() {
            UserKind::Value(phi) => Some(phi).filter(|phi| table.is_joinable(*phi)),
            UserKind::Terminator(_) => None,
        };
        if let Some(phi) = joinable {
            let mut others: Vec<u32> = Vec::new();
            for join in self.graph.joins(table.block(phi)) {
                self.work += 1;
                let bits = known.get(Subject::Control(join)) & want & !found;
                match self.graph.kinds[join as usize] {
                    Control::Join(_) => found |= bits,
                    _ if bits != 0 => others.push(join),
                    _ => {}
                }
                if found == want {
                    return found;
                }
            }
            for join in others {
                let bits = known.get(Subject::Control(join)) & want & !found;
                if bits != 0 && self.selects(self.graph.kinds[join as usize], phi) {
                    found |= bits;
                }
            }
        }
        if !self.graph.assumed.is_empty() {
            found |= self.of_apart(user, want & !found, known);
        }
        if self.levels.is_some() {
            for &operand in operands {
                if found == want {
                    return found;
                }
                let bits = self.temporal(operand, user, known);
                if bits != 0 {
                    found |= self.transfer(user, bits) & want;
                }
            }
        }
        found
    }

    fn of_control(&mut self, number: u32, want: u16, known: Known<'_>) -> u16 {
        const FEW: usize = 8;
        let mut found = 0;
        let supports = &mut self.graph.supports[number as usize];
        for at in 0..supports.len() {
            if found == want {
                return found;
            }
            self.work += 1;
            let more = known.get(supports[at]) & want & !found;
            // What has supported it may well do so again.
            if more != 0 && at >= FEW {
                supports.swap(at, at % FEW);
            }
            found |= more;
        }
        if let Control::Exit(edge) = self.graph.kinds[number as usize] {
            let kept = self.view.depth_kept(edge.index());
            for &range in &self.graph.ranges {
                if found == want {
                    return found;
                }
                self.work += 1;
                let Control::Exits { first, end, depth } = self.graph.kinds[range as usize] else {
                    continue;
                };
                if (first..end).contains(&(edge.index() as u32)) && kept < depth {
                    found |= known.get(Subject::Control(range)) & want;
                }
            }
        }
        found
    }
}

impl Rules for DivergenceRules<'_, '_> {
    type Subject = Subject;
    type Bits = u16;
    type Step = ();

    #[inline]
    fn seed(&mut self, of: Subject) -> u16 {
        match of {
            Subject::Value(value) => self.table.seed(Value::from_raw(value)).bits(),
            Subject::Branch(block) => self.table.terminator_seed(Node::from_raw(block)).bits(),
            Subject::Control(_) => 0,
        }
    }

    fn supported(&mut self, subject: Subject, want: u16, known: Known<'_>) -> u16 {
        match subject {
            Subject::Value(value) => self.of_user(User::value(Value::from_raw(value)), want, known),
            Subject::Branch(block) => {
                self.of_user(User::terminator(Node::from_raw(block)), want, known)
            }
            Subject::Control(number) => self.of_control(number, want, known),
        }
    }

    fn gives(
        &mut self,
        of: Subject,
        bits: u16,
        _: Known<'_>,
        tell: &mut impl FnMut(Subject, u16, ()) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut told = 0;
        let told_on = self.tell_on(of, bits, &mut |next, bits| {
            told += 1;
            match bits {
                0 => ControlFlow::Continue(()),
                bits => tell(next, bits, ()),
            }
        });
        self.work += told;
        told_on
    }

    fn work(&self) -> usize {
        match self.graph.is_irregular || self.graph.size > self.room {
            true => usize::MAX,
            false => self.work,
        }
    }
}

impl DivergenceRules<'_, '_> {
    /// Tells everything that rests on bits of a subject. It may tell of none.
    fn tell_on(
        &mut self,
        of: Subject,
        bits: u16,
        tell: &mut impl FnMut(Subject, u16) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if bits == 0 {
            return ControlFlow::Continue(());
        }
        match of {
            Subject::Value(value) => {
                let mut told = ControlFlow::Continue(());
                self.table.each_user(Value::from_raw(value), |user| {
                    if told.is_continue() {
                        told = tell(subject(user), self.transfer(user, bits));
                    }
                });
                told
            }
            Subject::Branch(block) => {
                let block = Node::from_raw(block);
                if !self.flow.cfg.is_branch(block) {
                    return ControlFlow::Continue(());
                }
                let next = self.graph.of_branch(&mut self.view, self.flow, block);
                next.iter().try_for_each(|next| tell(Subject::Control(*next), bits))
            }
            Subject::Control(number) => {
                let control = self.graph.kinds[number as usize];
                match control {
                    Control::Join(block) | Control::JoinOver(block, _) => {
                        self.join(control, block, bits, tell)?;
                    }
                    Control::JoinBack(cycle, _) => {
                        self.join(control, self.flow.cycles.header(cycle), bits, tell)?;
                    }
                    Control::Exits { first, end, depth } => {
                        self.exits((first, end, depth), bits, tell)?;
                    }
                    Control::Assumed(region) => self.run_apart(region, bits, tell)?,
                    Control::Reach(..) | Control::Exit(_) | Control::LiveOut(_) => {
                        for (_, user) in self.uses_of(control) {
                            tell(subject(user), self.transfer(user, bits))?;
                        }
                    }
                    Control::ExitsFrom(_)
                    | Control::Onward(..)
                    | Control::Left(_)
                    | Control::Gone => {}
                }
                let next = self.graph.of_control(&mut self.view, self.flow, number);
                next.iter().try_for_each(|next| tell(Subject::Control(*next), bits))
            }
        }
    }
}
