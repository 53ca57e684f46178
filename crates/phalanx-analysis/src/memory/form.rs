//! SSA form of a few variables that stand for much memory, with cheap incremental updates.
//!
//! # What
//!
//! Instructions use and define such variables. No definition replaces all of a variable: each is a
//! may-definition, which also reads the version before it. Otherwise the form is that of
//! [`ssa`](super::ssa), with other names for versions. There a version is a number, and an inserted
//! access renumbers all versions after it. Here a version is named by what makes it ([`Version`]):
//! an instruction, or the phi of a block.
//!
//! # How
//!
//! The form has two levels.
//!
//! - The [row](rows) of a block lists its touches in order. The version before a touch is a
//!   definition in the same row or, if there is none, the version with which the block begins.
//! - The version with which a block begins ([`joins`]) is the phi of a block, or *the end of* a
//!   block, whichever definition is the last one there. So this level changes for a variable only
//!   when a block begins or ceases to use or define it. It is computed from facts about blocks
//!   alone.
//!
//! All tables share unchanged parts with their copies. [`update`] is the incremental update after
//! edits of instructions or of the graph.
//!
//! **Invariants.** Two forms are equal if and only if all instructions touch the same variables in
//! the same order and the graphs are equal. So a form after incremental updates equals the one from
//! scratch.
//!
//! # Complexity
//!
//! From scratch: O(instructions + blocks + edges). The version before a touch, and the last
//! definition of a block: O(1). The versions that come into a phi: O(predecessors). The readers of
//! a version: O(touches of the blocks in which it is read), and O(blocks + edges) the first time.

mod change;
mod joins;
mod rows;
#[cfg(test)]
mod tests;
mod update;

pub use self::change::Graphs;
pub(super) use self::update::Look;

use std::sync::Arc;

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{Body, InstId, flow::block_of};

use self::{
    joins::{Graph, Joins, Start, Taker},
    rows::{Entry, Rows},
};
use super::{pages::Pages, ssa::Pruning};

/// The largest number of variables.
pub(super) const VARIABLES: usize = 8;

/// What an instruction does, as sets of variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Does {
    /// The variables that it may read.
    pub(super) uses: u8,
    /// The variables that it may change.
    pub(super) defines: u8,
}

impl Does {
    pub(super) const NOTHING: Does = Does { uses: 0, defines: 0 };

    const fn and(self, other: Does) -> Does {
        Does { uses: self.uses | other.uses, defines: self.defines | other.defines }
    }
}

/// A version of a variable, by what makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The content at function entry: `liveOnEntry`.
    Entry,
    /// Made by an instruction.
    Def(InstId),
    /// Made by the phi of a block.
    Phi(Node),
}

/// What one instruction does to one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) inst: InstId,
    pub(super) variable: u8,
    pub(super) uses: bool,
    pub(super) defines: bool,
    /// The version before it.
    pub(super) before: Version,
}

/// A reader of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// An instruction, and whether it also defines the variable.
    Touch(InstId, bool),
    /// The phi of a block: the version comes in over an edge.
    Phi(Node),
}

/// Where the entries of an instruction are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entries {
    block: u32,
    /// The position of its first entry in the row of the block, plus one. Zero if it has no entry.
    first: u32,
}

/// See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    rows: Rows,
    places: Pages<Entries>,
    /// By variable.
    joins: Vec<Arc<Joins>>,
    is_pruned: bool,
}

impl Form {
    /// The form of a function; `does` gives what each instruction does. With [`Pruning::None`],
    /// [`Form::readers`] may not be called. With [`Pruning::Live`], instructions in unreachable
    /// blocks have no touches.
    pub(super) fn new(
        body: &Body,
        graph: (&Cfg, &DomTree),
        (variables, pruning): (u8, Pruning),
        mut does: impl FnMut(InstId) -> Does,
    ) -> Self {
        let (cfg, dom) = graph;
        let mut places = vec![Entries::default(); body.id_count()];
        let rows = Rows::new(cfg.node_count(), |page, node| {
            let is_reachable = dom.is_reachable(node);
            let is_wanted = is_reachable || pruning == Pruning::None;
            let insts = is_wanted.then(|| body.block_insts(block_of(node)));
            let insts = insts.into_iter().flatten().map(|inst| (inst, does(inst)));
            let row = page.push(insts, is_reachable);
            for (inst, place) in placed(node, row.entries) {
                places[number(inst)] = place;
            }
        });
        let mut graph = Graph::new(graph);
        let joins = |variable| Arc::new(Joins::new(&mut graph, &rows, variable, pruning));
        let joins = (0..variables).map(joins).collect();
        let is_pruned = pruning == Pruning::Live;
        Self { rows, places: Pages::new(&places), joins, is_pruned }
    }

    fn place(&self, inst: InstId) -> Option<Entries> {
        self.places.get(number(inst)).copied().filter(|place| place.first > 0)
    }

    /// The block of an instruction, the entries of that block, and the position of the first one
    /// that is of the instruction.
    #[inline]
    fn entries(&self, inst: InstId) -> Option<(Node, &[Entry], usize)> {
        let place = self.place(inst)?;
        let block = Node::from_raw(place.block);
        Some((block, self.rows.of(block).entries, place.first as usize - 1))
    }

    fn touch(&self, block: Node, entries: &[Entry], entry: &Entry) -> Touch {
        let &Entry { inst, before, variable, uses, defines } = entry;
        let before = match before.checked_sub(1) {
            Some(at) => Version::Def(entries[at as usize].inst),
            None => self.start(variable, block),
        };
        Touch { inst, variable, uses, defines, before }
    }

    /// The touches of an instruction, one per variable, in the order of variables.
    pub(super) fn of(&self, inst: InstId) -> impl Iterator<Item = Touch> + Clone + '_ {
        let found = self.entries(inst);
        found.into_iter().flat_map(move |(block, entries, first)| {
            let own = entries[first..].iter().take_while(move |entry| entry.inst == inst);
            own.map(move |entry| self.touch(block, entries, entry))
        })
    }

    /// The touch of one variable by an instruction.
    pub(super) fn of_variable(&self, inst: InstId, variable: u8) -> Option<Touch> {
        self.of(inst).find(|touch| touch.variable == variable)
    }

    /// What an instruction does to all variables.
    pub(super) fn does(&self, inst: InstId) -> Does {
        let Some((_, entries, first)) = self.entries(inst) else { return Does::NOTHING };
        let own = entries[first..].iter().take_while(|entry| entry.inst == inst);
        own.fold(Does::NOTHING, |all, entry| {
            let set = |is: bool| u8::from(is) << entry.variable;
            all.and(Does { uses: set(entry.uses), defines: set(entry.defines) })
        })
    }

    /// All touches: blocks in order of their numbers, and the order of instructions within each.
    pub(super) fn touches(&self) -> impl Iterator<Item = Touch> + '_ {
        self.rows.iter().flat_map(move |(block, row)| {
            row.entries.iter().map(move |entry| self.touch(block, row.entries, entry))
        })
    }

    /// The number of blocks, with and without touches.
    pub(super) fn block_count(&self) -> usize {
        self.rows.len()
    }

    /// The version with which a block begins.
    fn start(&self, variable: u8, block: Node) -> Version {
        self.version(variable, self.joins[usize::from(variable)].start(block))
    }

    #[inline]
    fn version(&self, variable: u8, start: Start) -> Version {
        match start {
            Start::Entry => Version::Entry,
            Start::Phi(block) => Version::Phi(block),
            Start::End(block) => {
                self.rows.of(block).last(variable).map_or(Version::Entry, Version::Def)
            }
        }
    }

    /// The blocks that have a phi, in order.
    pub(super) fn phis(&self, variable: u8) -> impl ExactSizeIterator<Item = Node> + '_ {
        self.joins[usize::from(variable)].phis()
    }

    /// The versions that come into the phi of a block: one from each distinct predecessor, sorted
    /// by predecessor. From an unreachable one it is [`Version::Entry`].
    pub(super) fn incoming(
        &self,
        variable: u8,
        block: Node,
    ) -> Option<impl ExactSizeIterator<Item = (Node, Version)> + '_> {
        let joins = &self.joins[usize::from(variable)];
        let preds = joins.preds(block)?.iter();
        Some(preds.map(move |&pred| (pred, self.version(variable, joins.end(pred)))))
    }

    /// Calls `call` for each reader of a version. [`Version::Entry`] has no listed readers.
    pub(super) fn readers(&self, variable: u8, version: Version, mut call: impl FnMut(Reader)) {
        debug_assert!(self.is_pruned, "who touches a variable is not known");
        // Reports the entries up to the next definition, and returns whether there is one.
        let mut read = |entries: &[Entry]| {
            let mut own = entries.iter().filter(|entry| entry.variable == variable);
            own.any(|entry| {
                call(Reader::Touch(entry.inst, entry.defines));
                entry.defines
            })
        };
        let start = match version {
            Version::Entry => return,
            Version::Phi(block) => Start::Phi(block),
            Version::Def(inst) => {
                let Some((block, entries, first)) = self.entries(inst) else { return };
                let own = entries[first..].iter().take_while(|entry| entry.inst == inst).count();
                if read(&entries[first + own..]) {
                    return;
                }
                Start::End(block)
            }
        };
        let takers = self.joins[usize::from(variable)].takers(start);
        for &taker in takers {
            if let Taker::Block(block) = taker {
                read(self.rows.of(block).entries);
            }
        }
        for &taker in takers {
            if let Taker::Phi(block) = taker {
                call(Reader::Phi(block));
            }
        }
    }
}

/// The first entry of each instruction of a row.
fn placed(block: Node, entries: &[Entry]) -> impl Iterator<Item = (InstId, Entries)> + '_ {
    let mut before = None;
    entries.iter().enumerate().filter_map(move |(at, entry)| {
        let is_first = before.replace(entry.inst) != Some(entry.inst);
        let place = Entries { block: block.raw(), first: at as u32 + 1 };
        is_first.then_some((entry.inst, place))
    })
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}
