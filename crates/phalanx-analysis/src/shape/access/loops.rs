//! Phis of loops whose incoming values differ by what is equal in the wave; see [the rule](super).

use phalanx_core::affect::Value;
use phalanx_graph::{BitSet, Node};
use phalanx_ir::{BlockId, InstId, Opcode, flow::node_of};
use rustc_hash::FxHashMap;

use super::{Facts, Finder};
use crate::shape::{
    Shapes, Trust,
    form::{Form, Rest},
};

/// What the solution of loops has read, in all rounds: an edit can change a form under an
/// assumption that was dropped, although it does not under those that hold.
#[derive(Debug, Default)]
pub(super) struct LoopReads {
    /// Values whose instruction was read (arguments included), and phis with an assumption in some
    /// round.
    pub(super) values: BitSet,
    /// Values whose divergence was read; sorted.
    pub(super) atoms: Vec<Value>,
}

/// The outcome of an assumption about a phi.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Holds,
    /// Holds modulo the width, but perhaps not for integers. If `assumes`, it holds only if no
    /// index wraps.
    Weaker {
        wraps: bool,
        assumes: bool,
    },
    Fails,
}

impl Finder<'_> {
    /// Finds phis of loops whose incoming values differ by what is equal in the wave.
    pub(super) fn solve_loops(&mut self) {
        if !self.facts.cycles.all_reducible() {
            return;
        }
        let mut assumed = self.candidates();
        self.note_round();
        if let Some(reads) = &mut self.of_loops {
            let numbering = self.place.numbering;
            for &phi in assumed.keys() {
                reads.values.insert(numbering.inst(phi).index());
            }
        }
        while !assumed.is_empty() {
            let mut shapes = Shapes::with_phis(self.place, Trust::Indices, assumed.clone());
            // Assumed forms refer to existing expressions, so the table of expressions moves along.
            std::mem::swap(&mut shapes.exprs, &mut self.shapes.exprs);
            self.shapes = shapes;
            let numbering = self.place.numbering;
            self.uniform = assumed.keys().map(|&phi| numbering.inst(phi)).collect();
            let phis: Vec<InstId> = assumed.keys().copied().collect();
            let outcome: Vec<Outcome> =
                phis.iter().map(|&phi| self.outcome(phi, &assumed[&phi])).collect();
            self.note_round();
            if outcome.iter().all(|outcome| *outcome == Outcome::Holds) {
                return;
            }
            for (phi, outcome) in phis.into_iter().zip(outcome) {
                match (outcome, assumed.get_mut(&phi)) {
                    (Outcome::Weaker { wraps, assumes }, Some(form)) => {
                        form.is_signed &= !wraps;
                        form.rest.assumes |= assumes;
                    }
                    (Outcome::Fails, _) => drop(assumed.remove(&phi)),
                    _ => {}
                }
            }
        }
        self.shapes = Shapes::new(self.facts.code, self.facts.env, Trust::Indices);
        self.uniform.clear();
    }

    /// Phis of headers with one entering edge and one back edge, with the thread part of the value
    /// from outside.
    fn candidates(&mut self) -> FxHashMap<InstId, Form> {
        let code = self.facts.code;
        let mut found = FxHashMap::default();
        for &block in code.flow.order() {
            let node = node_of(block);
            if !has_candidates(self.facts, node) {
                continue;
            }
            for phi in code.body.phis(block) {
                let Some(width) = self.place.width(code.body.inst(phi).ty) else { continue };
                let entry =
                    code.body.phi_incoming(phi).find(|&(_, from)| !self.is_inside(node, from));
                let Some((value, _)) = entry else { continue };
                let Some(form) = self.shapes.operand(self.place, value, width) else { continue };
                if self.shapes.exprs.indices(form.thread).is_empty() {
                    continue;
                }
                let assumes = form.rest.assumes;
                let rest = Rest { assumes, ..Rest::atom(self.place.numbering.inst(phi), 0) };
                let form = Form { rest, is_unsigned: false, ..form };
                found.insert(phi, form);
            }
        }
        found
    }

    fn is_inside(&self, header: Node, block: BlockId) -> bool {
        let cycle = self.facts.cycles.innermost(header);
        cycle.is_some_and(|cycle| self.facts.cycles.contains(cycle, node_of(block)))
    }

    /// Checks that both incoming values have the assumed thread part, and a rest that is equal in
    /// the wave.
    fn outcome(&mut self, phi: InstId, assumed: &Form) -> Outcome {
        let body = self.facts.code.body;
        let Some(width) = self.place.width(body.inst(phi).ty) else { return Outcome::Fails };
        let (mut wraps, mut assumes) = (false, false);
        for (value, from) in body.phi_incoming(phi) {
            let Some(form) = self.shapes.operand(self.place, value, width) else {
                return Outcome::Fails;
            };
            // A constant difference counts as a part of the rest.
            let difference = self.shapes.exprs.binary(Opcode::Sub, form.thread, assumed.thread);
            let is_same = difference.is_some_and(|d| self.shapes.exprs.constant_value(d).is_some());
            if !is_same || !self.is_uniform(&form.rest, node_of(from)) {
                return Outcome::Fails;
            }
            let differ = self.shapes.exprs.differ_as_integers(form.thread, assumed.thread);
            wraps |= assumed.is_signed && !(form.is_signed && differ);
            assumes |= form.rest.assumes && !assumed.rest.assumes;
        }
        match wraps || assumes {
            true => Outcome::Weaker { wraps, assumes },
            false => Outcome::Holds,
        }
    }

    /// Records what a round has read.
    fn note_round(&mut self) {
        if let Some(reads) = &mut self.of_loops {
            for value in self.shapes.known() {
                reads.values.insert(value.index());
            }
            reads.atoms.append(&mut self.read);
        }
        self.read.clear();
    }
}

/// Whether a block can have phis with assumptions: it is the header of a cycle with one entering
/// edge and one back edge.
pub(super) fn has_candidates(Facts { cfg, cycles, .. }: Facts<'_>, block: Node) -> bool {
    cycles.is_header(block) && cfg.predecessors(block).len() == 2
}
