//! Divergence that follows edits of instructions: the answer of [`solve`](super::solve), at the
//! price of what changed.
//!
//! # What
//!
//! [`Retained`] holds tables that can be edited, everything that is known with the order in which
//! it was derived, and the answer. After instructions have changed, the caller states what they are
//! now ([`EditableTable`]) and asks for [`Retained::repair`]. The answer is equal to the one from
//! scratch, always: the analysis has a unique least solution, and what is retained only changes how
//! fast it is found.
//!
//! # How
//!
//! Delete and rederive with ranks, see [`phalanx_fixpoint`], over the rules of
//! [`precise`](super::precise) in both directions:
//!
//! | module | what |
//! |---|---|
//! | [`table`] | what values are and read, editable |
//! | [`subject`] | what facts are about |
//! | [`control`] | consequences of branches and divergent exits: of the graph alone, never retracted |
//! | [`carry`], [`flow`] | the same when the control flow is edited |
//! | [`levels`] | what varies in which cycles |
//! | [`outside`] | uses outside of cycles |
//! | [`regions`] | irreducible regions |
//! | [`rules`] | divergence |
//!
//! **Bounds.** Repair gives up when it has visited a quarter of the values, or examined about as
//! many supports as a solution from scratch derives. It then solves the edited tables from scratch.
//! So a repair costs at most a constant factor more than solving from scratch.
//!
//! **Edits of the control flow** are followed too ([`Retained::repair_flow`]): the old graph is
//! compared with the new one, and what both have in common keeps its facts.
//!
//! **Irreducible regions** in which threads run apart are rules like all others ([`regions`]).
//! In two cases the consequences do not follow by rules with one antecedent: threads must be
//! assumed to run apart in a cycle within a region, or edges lead from one block of a region to
//! several blocks outside. Then nothing can be retained ([`Unfit`]), and the caller solves from
//! scratch.

mod carry;
mod control;
mod flow;
mod levels;
mod outside;
mod regions;
mod rows;
mod rules;
mod state;
mod subject;
mod table;

use std::sync::Arc;

use crate::SourceSet;
use phalanx_graph::sync::{Carry, GraphCopy, SyncView};
use phalanx_graph::{Cfg, DomTree, Node};
use rustc_hash::FxHashSet;

use self::levels::Levels;
use self::state::{GivenUp, State};
use self::subject::Subject;
pub use self::table::{EditableTable, Image};
use crate::affect::Value;
use crate::divergence::{Divergence, FlowFacts, ValueTable};

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Repaired. `visited` counts the visited values and other subjects.
    Repaired {
        /// Subjects whose consequences were drawn or withdrawn.
        visited: usize,
    },
    /// Derived again, since repair was too much.
    Rebuilt,
}

/// The retained state of a function between edits.
#[derive(Debug)]
pub struct Retained {
    table: EditableTable,
    /// The control flow that everything is built on, kept to compare with.
    graph: Arc<GraphCopy>,
    state: State,
    /// Shared with callers. A repair only copies the parts that change.
    answer: Arc<Divergence>,
}

/// Why nothing can be retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Threads must be assumed to run apart in a part of an irreducible region, or do not leave it
    /// by each edge apart. May end when instructions change.
    Irregular,
    /// Cycles are nested too deep, or there is too much to keep. As long as the control flow is the
    /// same.
    TooLarge,
    /// The tables have met more kinds of operations than they can hold. New ones may do.
    Full,
}

impl Retained {
    /// Solves and keeps what it takes to follow edits. A few times the price of
    /// [`solve`](super::solve).
    ///
    /// # Errors
    /// When the function cannot be followed.
    pub fn new(flow: FlowFacts<'_>, table: ValueTable) -> Result<Self, Unfit> {
        Self::of(flow, EditableTable::new(table))
    }

    /// As [`new`](Self::new), of tables that may have been edited.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(flow: FlowFacts<'_>, mut table: EditableTable) -> Result<Self, Unfit> {
        table.grow(0, flow.cfg.node_count());
        table.forget_edits();
        let mut state = State::new(flow, &table)?;
        let answer = Arc::new(state.whole_answer(flow, &table));
        Ok(Self { table, graph: copy(flow), state, answer })
    }

    /// Whether a function with this answer can be followed, as far as its irreducible regions are
    /// concerned. Cheap.
    #[must_use]
    pub fn is_possible(flow: FlowFacts<'_>, answer: &Divergence) -> bool {
        let view = || SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let mut assumed = answer.assumed.iter();
        assumed.all(|(cycle, _)| control::is_plain_region(&view(), flow, *cycle))
    }

    /// Whether a function with this graph can be followed whatever diverges in it, as far as its
    /// irreducible regions are concerned. Cheap.
    #[must_use]
    pub fn is_always_possible(flow: FlowFacts<'_>) -> bool {
        let cycles = flow.cycles;
        if cycles.all_reducible() {
            return true;
        }
        let view = SyncView::new(flow.sync, flow.cfg, flow.dom, cycles);
        let mut irreducible = cycles.iter().filter(|cycle| !cycles.is_reducible(*cycle));
        irreducible.all(|cycle| {
            cycles.children(cycle).next().is_none() && control::is_plain_region(&view, flow, cycle)
        })
    }

    /// Whether cycles are nested too deeply for incremental updates of a function with this number
    /// of values. Cheap.
    #[must_use]
    pub fn is_too_deep(flow: FlowFacts<'_>, values: usize) -> bool {
        !Levels::is_possible(flow.cycles, values)
    }

    /// The answer as of the last repair.
    #[must_use]
    pub fn answer(&self) -> &Arc<Divergence> {
        &self.answer
    }

    /// The sources of a value as of the last repair. Also for a value that answers do not report.
    pub fn sources(&self, value: Value) -> SourceSet {
        SourceSet::from_bits(self.state.known.get(Subject::Value(value.raw())))
    }

    /// The graph as of the last repair, its dominator tree, and the tables, to state what has
    /// changed.
    pub fn parts(&mut self) -> (&Cfg, &DomTree, &mut EditableTable) {
        (self.graph.cfg(), self.graph.dom_tree(), &mut self.table)
    }

    /// What everything was derived from.
    pub fn into_parts(self) -> (Arc<GraphCopy>, EditableTable) {
        (self.graph, self.table)
    }

    /// The tables as they are.
    pub fn edited_table(&self) -> &EditableTable {
        &self.table
    }

    /// The tables, to state what has changed. The answer is out of date until the next repair.
    pub fn table(&mut self) -> &mut EditableTable {
        &mut self.table
    }

    /// States here what has been edited in the tables of the same code with other sources, since
    /// their last repair; see [`EditableTable::restate`].
    ///
    /// # Errors
    /// Where `image` does not tell what becomes of an image. Then this is of no use any more.
    pub fn restate(
        &mut self,
        of: &Retained,
        image: impl Fn(&Image) -> Option<Image>,
    ) -> Result<(), Unfit> {
        match self.table.restate(&of.table, image) {
            true => Ok(()),
            false => Err(Unfit::Full),
        }
    }

    /// The values that have been edited since the last repair.
    pub fn edited(&self) -> impl Iterator<Item = Value> {
        self.table.edited()
    }

    /// Whether the result of a definition is a function of its operands alone, as its tables say;
    /// see [`ValueTable::is_pure`].
    pub fn is_pure(&self, value: Value) -> bool {
        self.table.is_pure(value)
    }

    /// Whether what is known is the least solution, and the rules say the same asked from either
    /// end. Slow; after this it is of no use any more.
    ///
    /// # Errors
    /// What is wrong.
    #[cfg(any(test, feature = "testing"))]
    pub fn check_rules(mut self, flow: FlowFacts<'_>) -> Result<(), String> {
        let values = (0..self.table.len() as u32).map(Subject::Value);
        let branches = (0..self.table.block_count() as u32).map(Subject::Branch);
        let controls = (0..self.state.graph.len() as u32).map(Subject::Control);
        let subjects: Vec<Subject> = values.chain(branches).chain(controls).collect();
        let (known, mut rules) = self.state.rules(flow, &self.table);
        phalanx_fixpoint::twin::check(&mut rules, known, &subjects)
    }

    /// Derives everything from the tables and this control flow.
    ///
    /// # Errors
    /// When the function can be followed no longer; then this is of no use any more.
    pub fn rebuild(&mut self, flow: FlowFacts<'_>) -> Result<Outcome, Unfit> {
        if self.table.is_full() {
            return Err(Unfit::Full);
        }
        self.table.grow(0, flow.cfg.node_count());
        self.table.forget_edits();
        self.state = State::new(flow, &self.table)?;
        self.graph = copy(flow);
        self.answer = Arc::new(self.state.whole_answer(flow, &self.table));
        Ok(Outcome::Rebuilt)
    }

    /// Follows an edit of the control flow, and what has been stated since the last repair. What
    /// blocks end with and hold, and what phis take from where, must have been stated as it is now.
    ///
    /// `touched` are the blocks whose successors may be others, if they are known. Blocks keep
    /// their numbers, new ones have greater numbers, and the entry is the same; otherwise
    /// everything is derived again.
    ///
    /// # Errors
    /// As [`rebuild`](Self::rebuild).
    pub fn repair_flow(
        &mut self,
        flow: FlowFacts<'_>,
        touched: Option<&[Node]>,
    ) -> Result<Outcome, Unfit> {
        self.table.grow(0, flow.cfg.node_count());
        let Some(visited) = self.update_flow(flow, touched) else { return self.rebuild(flow) };
        self.graph = copy(flow);
        Ok(Outcome::Repaired { visited })
    }

    /// How many subjects were visited, or nothing when everything must be derived again.
    fn update_flow(&mut self, flow: FlowFacts<'_>, touched: Option<&[Node]>) -> Option<usize> {
        let old = self.graph.view();
        let new = SyncView::new(flow.sync, flow.cfg, flow.dom, flow.cycles);
        let carry = Carry::new(&old, &new, touched)?;
        // Where blocks were only split, nothing but its cycles depends on the block of a value, and
        // nothing on that of an entry whose edge begins in the new block.
        let is_nothing = |was, is| carry.is_split() && carry.is_in_same_cycles(was, is);
        let tails: FxHashSet<(Node, Node)> = carry.tails().iter().copied().collect();
        let is_same_end = |was, is| carry.is_split() && tails.contains(&(was, is));
        let elsewhere = self.table.settle_moves(is_nothing, is_same_end);
        let (both, table) = ((&old, &carry), (&self.table, &*elsewhere));
        let visited = self.state.update_flow(flow, both, table, &mut self.answer);
        self.table.forget_edits();
        visited.ok()
    }

    /// Follows what has been stated since the last repair. The control flow must be the one that
    /// everything was built on.
    ///
    /// # Errors
    /// As [`rebuild`](Self::rebuild).
    pub fn repair(&mut self, flow: FlowFacts<'_>) -> Result<Outcome, Unfit> {
        self.table.settle_moves(|_, _| false, |_, _| false);
        let repaired = self.state.repair(flow, &self.table, &mut self.answer);
        self.table.forget_edits();
        match repaired {
            Ok(visited) => Ok(Outcome::Repaired { visited }),
            Err(GivenUp) => self.rebuild(flow),
        }
    }
}

fn copy(flow: FlowFacts<'_>) -> Arc<GraphCopy> {
    flow.sync.copy_graph(flow.cfg, flow.dom, flow.cycles)
}
