//! Whether a phi can tell threads apart that reach it over some of its edges.
//!
//! If threads come to a join with different labels over a set of edges, and the values that the phi
//! takes on these edges are not all equal, then two edges with different labels and different
//! values exist: given two different values on edges with equal labels, an edge with another label
//! differs from one of them. So labels need not be remembered, only which edges are reached; and of
//! the values on these edges it only matters whether there is none, one or more ([`Keys`]).
//!
//! A phi with few edges is examined directly. For the others a [`KeyRow`] lists the keys in the
//! order of the edges, with the distance to the next different one, which answers for a range of
//! edges in constant time. "All edges back that are reached from this node" is answered per node
//! and kept.

use phalanx_graph::sync::{EnteringEdges, SyncView};
use phalanx_graph::{CycleId, Node};
use rustc_hash::FxHashMap;

use crate::affect::Value;
use crate::divergence::table::{Phi, PhiKey};

/// Rows of up to this many edges are examined directly.
const FEW: u32 = 16;

/// How many different values there are, undef not counted.
///
/// The phi itself counts: a thread that keeps the value of the last iteration differs from one that
/// takes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    None,
    One(PhiKey),
    Many,
}

impl Keys {
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, keys) | (keys, Self::None) => keys,
            (Self::One(a), Self::One(b)) if a == b => self,
            _ => Self::Many,
        }
    }
}

/// The keys of one phi by edge.
#[derive(Debug)]
struct KeyRow {
    /// Number of the first edge.
    base: u32,
    /// By edge: its key, or that of the next edge that has one.
    keys: Vec<PhiKey>,
    /// By edge: the first position that has a key, here or after.
    known: Vec<u32>,
    /// By edge: the first position after whose key differs from the one here.
    differs: Vec<u32>,
}

/// Answers given so far.
#[derive(Debug, Default)]
pub(crate) struct Selections {
    /// By phi and first edge of the row: forward and backward edges are different rows.
    rows: FxHashMap<(Value, u32), KeyRow>,
    /// By phi: what comes back from everything reached from a node.
    from: FxHashMap<(Value, Node), Keys>,
    stack: Vec<Node>,
}

impl Selections {
    /// The values on edges in some ranges of a row of edges.
    pub(crate) fn over(
        &mut self,
        view: &SyncView<'_>,
        row: EnteringEdges,
        phi: &Phi<'_>,
        ranges: &[EnteringEdges],
    ) -> Keys {
        if row.end - row.first <= FEW {
            return over_few(view, phi, ranges);
        }
        let keys = self.rows.entry((phi.value, row.first));
        keys.or_insert_with(|| KeyRow::new(view, row, phi)).over(ranges)
    }

    /// The values on the edges back to a cycle's header that are reached from a node in one round.
    pub(crate) fn back_from(
        &mut self,
        view: &SyncView<'_>,
        cycle: CycleId,
        phi: &Phi<'_>,
        node: Node,
    ) -> Keys {
        let row = view.back_edges(cycle);
        self.stack.push(node);
        while let Some(&at) = self.stack.last() {
            if self.from.contains_key(&(phi.value, at)) {
                self.stack.pop();
                continue;
            }
            // Each level is acyclic, so the walk terminates.
            let before = self.stack.len();
            let mut keys = Keys::None;
            for next in view.frontier(at) {
                match self.from.get(&(phi.value, next)) {
                    Some(&known) => keys = keys.and(known),
                    None => self.stack.push(next),
                }
            }
            if self.stack.len() == before {
                let below = view.edges_below(at, row);
                let keys = keys.and(self.over(view, row, phi, &[below]));
                self.from.insert((phi.value, at), keys);
                self.stack.pop();
            }
        }
        self.from[&(phi.value, node)]
    }
}

/// Looks at every entry.
fn over_few(view: &SyncView<'_>, phi: &Phi<'_>, ranges: &[EnteringEdges]) -> Keys {
    let is_reached = |pred: Node| ranges.iter().any(|r| view.sources(*r).any(|s| s == pred));
    let mut keys = Keys::None;
    for entry in phi.incoming {
        if entry.key != PhiKey::UNDEF && is_reached(entry.pred) {
            keys = keys.and(Keys::One(entry.key));
        }
    }
    keys
}

impl KeyRow {
    fn new(view: &SyncView<'_>, row: EnteringEdges, phi: &Phi<'_>) -> Self {
        let mut by_source: FxHashMap<Node, PhiKey> = FxHashMap::default();
        for entry in phi.incoming {
            by_source.insert(entry.pred, entry.key);
        }
        let keys = view.sources(row).map(|s| by_source.get(&s).copied());
        let mut keys: Vec<PhiKey> = keys.map(|key| key.unwrap_or(PhiKey::UNDEF)).collect();
        let n = keys.len();
        let mut known = vec![n as u32; n];
        let mut differs = vec![n as u32; n];
        for i in (0..n).rev() {
            let next = keys.get(i + 1).copied().unwrap_or(PhiKey::UNDEF);
            if keys[i] != PhiKey::UNDEF {
                known[i] = i as u32;
                if i + 1 < n {
                    let same = next == keys[i] || next == PhiKey::UNDEF;
                    differs[i] = if same { differs[i + 1] } else { known[i + 1] };
                }
            } else if i + 1 < n {
                (keys[i], known[i], differs[i]) = (next, known[i + 1], differs[i + 1]);
            }
        }
        Self { base: row.first, keys, known, differs }
    }

    fn over(&self, ranges: &[EnteringEdges]) -> Keys {
        let mut all = Keys::None;
        for range in ranges {
            let (at, end) = ((range.first - self.base) as usize, range.end - self.base);
            if range.first < range.end && self.known[at] < end {
                let differs = self.differs[at] < end;
                all = all.and(if differs { Keys::Many } else { Keys::One(self.keys[at]) });
            }
        }
        all
    }
}
