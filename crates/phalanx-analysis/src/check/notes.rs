//! What was read of a function to judge its operations, so that after an edit only those are judged
//! again of which that changed.

use std::cell::RefCell;

use phalanx_core::affect::{User, Value};
use phalanx_graph::Node;
use phalanx_ir::{GlobalName, InstId};
use phalanx_target::SourceSet;

use super::facts::{Edges, Facts};

/// What was read of the function to judge an operation, besides the graph.
#[derive(Debug, Default)]
pub struct Reads {
    /// Blocks: what their execution depends on.
    pub(super) controlled: Vec<Node>,
    /// Blocks: the sources of the branches at their ends.
    pub(super) branches: Vec<Node>,
    /// Instructions that were evaluated.
    pub(super) insts: Vec<InstId>,
    /// Whether the blocks have an effect.
    pub(super) effects: Vec<(Node, bool)>,
    /// Values, and their sources.
    pub(super) values: Vec<(Value, SourceSet)>,
    /// Values where an instruction reads them, and their sources there.
    pub(super) uses: Vec<(Value, User, SourceSet)>,
    /// Whether it was asked what is stored in a stack slot.
    pub(super) slots: bool,
    /// What threads come to the function by, if that was asked.
    pub(super) callers: Option<SourceSet>,
    /// What functions that are called do at their ends.
    pub(super) callees: Vec<(GlobalName, Edges)>,
}

/// Where reads are put down.
pub type Notes = RefCell<Reads>;

impl Facts<'_> {
    fn note(&self, note: impl FnOnce(&mut Reads)) {
        if let Some(notes) = self.notes {
            note(&mut notes.borrow_mut());
        }
    }

    /// Puts down that the sources of the branch at the end of a block are read.
    pub(super) fn reads_branch(&self, block: Node) {
        self.note(|reads| reads.branches.push(block));
    }

    /// Puts down that it is read what the execution of a block depends on.
    pub(super) fn reads_control(&self, block: Node) {
        self.note(|reads| reads.controlled.push(block));
    }

    /// Puts down that an instruction is evaluated.
    pub(super) fn reads_inst(&self, inst: InstId) {
        self.note(|reads| reads.insts.push(inst));
    }

    /// Puts down that it is asked whether a block has an effect.
    pub(super) fn reads_effect(&self, block: Node, has_effect: bool) {
        self.note(|reads| reads.effects.push((block, has_effect)));
    }

    /// Puts down that the sources of a value are read.
    pub(super) fn reads_value(&self, value: Value, sources: SourceSet) {
        self.note(|reads| reads.values.push((value, sources)));
    }

    /// Puts down that the sources of a value are read as they are for an instruction.
    pub(super) fn reads_use(&self, value: Value, user: User, sources: SourceSet) {
        self.note(|reads| reads.uses.push((value, user, sources)));
    }

    /// What threads come to the function by; puts it down.
    pub(super) fn entered_by(&self) -> SourceSet {
        let sources = (self.called_under)();
        self.note(|reads| reads.callers = Some(sources));
        sources
    }

    /// What a function that is called does with workgroup memory at its ends; puts it down.
    pub(super) fn at_edges(&self, name: GlobalName) -> Edges {
        let edges = (self.edges)(name);
        self.note(|reads| reads.callees.push((name, edges)));
        edges
    }

    /// Puts down that it is asked what is in a stack slot.
    pub(super) fn reads_slots(&self) {
        self.note(|reads| reads.slots = true);
    }
}
