//! Records of what was read of a function to judge an operation. After an edit only those
//! operations are judged again of which that has changed.

use std::cell::RefCell;

use phalanx_core::affect::{User, Value};
use phalanx_graph::Node;
use phalanx_ir::{GlobalName, InstId};
use phalanx_target::SourceSet;

use super::facts::{Edges, Facts};

/// The facts about the function that were read to judge an operation, besides the graph.
#[derive(Debug, Default)]
pub struct Reads {
    /// Blocks the sources of whose execution were read.
    pub(super) controlled: Vec<Node>,
    /// Blocks the sources of whose branches were read.
    pub(super) branches: Vec<Node>,
    /// Instructions that were evaluated.
    pub(super) insts: Vec<InstId>,
    /// Blocks, and whether they have an effect.
    pub(super) effects: Vec<(Node, bool)>,
    /// Values, with their sources.
    pub(super) values: Vec<(Value, SourceSet)>,
    /// Values at an instruction that reads them, with their sources there.
    pub(super) uses: Vec<(Value, User, SourceSet)>,
    /// Whether the content of a stack slot was read.
    pub(super) slots: bool,
    /// The sources that decide whether threads come to the function, if they were read.
    pub(super) callers: Option<SourceSet>,
    /// What callees do at their ends.
    pub(super) callees: Vec<(GlobalName, Edges)>,
}

/// Where reads are recorded.
pub type Notes = RefCell<Reads>;

impl Facts<'_> {
    fn note(&self, note: impl FnOnce(&mut Reads)) {
        if let Some(notes) = self.notes {
            note(&mut notes.borrow_mut());
        }
    }

    /// Records that the sources of the branch at the end of a block are read.
    pub(super) fn reads_branch(&self, block: Node) {
        self.note(|reads| reads.branches.push(block));
    }

    /// Records that the sources of the execution of a block are read.
    pub(super) fn reads_control(&self, block: Node) {
        self.note(|reads| reads.controlled.push(block));
    }

    /// Records that an instruction is evaluated.
    pub(super) fn reads_inst(&self, inst: InstId) {
        self.note(|reads| reads.insts.push(inst));
    }

    /// Records whether a block has an effect, which is read.
    pub(super) fn reads_effect(&self, block: Node, has_effect: bool) {
        self.note(|reads| reads.effects.push((block, has_effect)));
    }

    /// Records that the sources of a value are read.
    pub(super) fn reads_value(&self, value: Value, sources: SourceSet) {
        self.note(|reads| reads.values.push((value, sources)));
    }

    /// Records that the sources of a value at an instruction are read.
    pub(super) fn reads_use(&self, value: Value, user: User, sources: SourceSet) {
        self.note(|reads| reads.uses.push((value, user, sources)));
    }

    /// The sources that decide whether threads come to the function; records them.
    pub(super) fn entered_by(&self) -> SourceSet {
        let sources = (self.called_under)();
        self.note(|reads| reads.callers = Some(sources));
        sources
    }

    /// What a callee does with workgroup memory at its ends; records it.
    pub(super) fn at_edges(&self, name: GlobalName) -> Edges {
        let edges = (self.edges)(name);
        self.note(|reads| reads.callees.push((name, edges)));
        edges
    }

    /// Records that the content of a stack slot is read.
    pub(super) fn reads_slots(&self) {
        self.note(|reads| reads.slots = true);
    }
}
