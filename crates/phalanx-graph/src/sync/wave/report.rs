//! The reports of a wave: joins as they are found, and at its end which labels come back to the
//! header and which leave apart.

use crate::cycles::CycleId;
use crate::dfs::NONE;
use crate::node::Node;

use super::{Back, Consequence, Crossed, End, EnteringEdges, REST, Visit, Wave, WayOut};

impl Wave<'_> {
    /// The edges into a node that implicitly carry the label of the rest. `None` unless one of them
    /// was not crossed by a label.
    pub(super) fn edges_of_the_rest(&self, visit: &Visit) -> Option<(u32, u32)> {
        let (first, end) = self.rest?;
        let row = self.graph.entering(visit.node);
        let (low, high) = self.graph.at_positions(row, first, end);
        let mut left = high - low;
        let mut at = visit.crossed;
        while at != NONE && left > 0 {
            let Crossed { edges, next } = self.crossed[at as usize];
            let (from, to) = (edges.first.max(low), edges.end.min(high));
            left -= to.saturating_sub(from);
            at = next;
        }
        (left > 0).then_some((low, high))
    }

    pub(super) fn report_join(&mut self, visit: &Visit, rest: Option<(u32, u32)>) {
        let node = visit.node;
        if let Some(region) = self.region(node) {
            self.found.push(Consequence::Assume(region));
            return;
        }
        self.ranges.clear();
        self.ranges.extend(rest);
        let mut at = visit.crossed;
        while at != NONE {
            let Crossed { edges, next } = self.crossed[at as usize];
            self.ranges.push((edges.first, edges.end));
            at = next;
        }
        merge(&mut self.ranges);
        let is_all = match self.ranges[..] {
            [all] => all == self.graph.entering(node) && !self.cycles.is_header(node),
            _ => false,
        };
        if is_all {
            self.found.push(Consequence::Join(node));
            return;
        }
        for (i, &(first, end)) in self.ranges.iter().enumerate() {
            let edges = EnteringEdges { first, end };
            self.found.push(match i {
                0 => Consequence::JoinOver(node, edges),
                _ => Consequence::Also(edges),
            });
        }
    }

    /// The irreducible region that a node stands for.
    pub(super) fn region(&self, node: Node) -> Option<CycleId> {
        let inner = self.cycles.innermost(node)?;
        (!self.cycles.is_reducible(inner)).then_some(inner)
    }

    /// Compares the labels on the ways out of the level with the label of the threads that go
    /// round.
    ///
    /// Every node of the level has a way back to its header, so threads that are still under way
    /// will come back too.
    pub(super) fn conclude(&mut self, end: End) {
        if let (End::Onward(node, _), Some(cycle)) = (end, self.behind) {
            self.found.push(Consequence::Onward(cycle, node));
        }
        let Some(level) = self.level else { return };
        let are_alone = matches!(self.back, Back::Nobody | Back::One(REST));
        if are_alone && matches!(end, End::Onward(..)) {
            // All threads that come back, but those of the rest, come from the node. Threads that
            // left before are apart from them.
            self.ways_out.retain(|way| way.0 != REST);
            self.report_ways_out(level);
            return;
        }
        let has_met = matches!(end, End::Met(..));
        self.rest_comes_back(level, has_met);
        // The threads that met in `node` come back apart from the others, unless no other label is
        // back.
        let mut late = None;
        if let End::Met(node, label) | End::Onward(node, label) = end {
            self.come_back(label);
            late = (self.back != Back::One(label)).then_some(node);
        }
        if self.back == Back::Many {
            self.report_join_back(level, late, has_met);
        }
        self.report_ways_out(level);
        if let Some(node) = late {
            self.found.push(Consequence::ExitsFrom(node));
        }
        if self.back != Back::One(REST) {
            self.exits_of_the_rest(level, has_met);
        }
    }

    /// Reports the ways out of the level that carry another label than the threads that come back.
    fn report_ways_out(&mut self, level: CycleId) {
        let depth = self.cycles.depth(level);
        for at in 0..self.ways_out.len() {
            let (label, way) = self.ways_out[at];
            if self.back != Back::One(label) {
                self.found.push(match way {
                    WayOut::Edge(edge) => Consequence::Exit(edge),
                    WayOut::Numbers(first, end) => Consequence::Exits { first, end, depth },
                });
            }
        }
    }

    /// Reports that different labels are back at the header of the level. `late` is a node where
    /// threads met whose label was not passed on further.
    fn report_join_back(&mut self, level: CycleId, late: Option<Node>, has_met: bool) {
        merge(&mut self.back_ranges);
        let mut merged = self.back_ranges.iter().map(|&(first, end)| EnteringEdges { first, end });
        let first = merged.next().unwrap_or(EnteringEdges { first: 0, end: 0 });
        self.found.push(Consequence::JoinBack(level, first));
        self.found.extend(merged.map(Consequence::Also));
        self.found.extend(late.map(Consequence::AlsoFrom));
        if !has_met {
            let waiting = self.visits.iter().filter(|v| !v.is_over).map(|v| v.node);
            self.found.extend(waiting.map(Consequence::AlsoFrom));
        }
    }

    /// Determines whether threads of the rest come back to the header of the level.
    fn rest_comes_back(&mut self, level: CycleId, has_met: bool) {
        let Some((first, end)) = self.rest else { return };
        let graph = self.graph;
        let count = |first, end| {
            let (low, high) = graph.at_positions(graph.back(level), first, end);
            high - low
        };
        let mut left = count(first, end);
        self.back_ranges.push(graph.at_positions(graph.back(level), first, end));
        for visit in self.over_within(first, end) {
            let (first, end) = graph.interval(visit);
            left -= count(first, end);
        }
        if self.left_by.is_some_and(|(_, to)| to == self.cycles.header(level)) {
            left = left.saturating_sub(1);
        }
        if left > 0 || !has_met && self.live > 0 {
            self.come_back(REST);
        }
    }

    /// Nodes within the positions of the rest that another label has reached, in order of position.
    fn over_within(&self, first: u32, end: u32) -> Vec<Node> {
        let within = |node: Node| {
            let at = self.graph.interval(node).0;
            first <= at && at < end
        };
        let over = self.visits.iter().filter(|v| v.is_over && v.has_label && within(v.node));
        let mut nodes: Vec<Node> = over.map(|v| v.node).collect();
        nodes.sort_unstable_by_key(|&node| self.graph.interval(node).0);
        nodes
    }

    /// Reports that threads of the rest leave the level apart from those that go round.
    fn exits_of_the_rest(&mut self, level: CycleId, has_met: bool) {
        let Some((first, end)) = self.rest else { return };
        let depth = self.cycles.depth(level);
        let mut at = first;
        let mut gaps = Vec::new();
        for node in self.over_within(first, end) {
            let (low, high) = self.graph.interval(node);
            gaps.push((at, low));
            at = high;
        }
        gaps.push((at, end));
        for (low, high) in gaps {
            let (first, end) = self.graph.leaving.at_positions(low, high);
            if self.graph.leaving.any_leaves(first, end, depth) {
                self.found.push(Consequence::Exits { first, end, depth });
            }
        }
        if !has_met {
            let waiting = self.visits.iter().filter(|v| !v.is_over).map(|v| v.node);
            self.found.extend(waiting.map(Consequence::ExitsFrom));
        }
    }
}

/// Sorts ranges and merges those that overlap or touch; drops empty ones.
fn merge(ranges: &mut Vec<(u32, u32)>) {
    ranges.retain(|(first, end)| first != end);
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1;
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
}
