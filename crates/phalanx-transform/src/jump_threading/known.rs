//! Where a block leads when it is entered by one edge.
//!
//! On an edge `P -> B`, two things are known:
//!
//! - the phis of `B`, by their value for the edge;
//! - the conditions of the branches that were taken on the way: the branch of `P`, and the branches
//!   at edges that dominate `P`. If an `and` holds, both operands hold, and likewise for `or`; a
//!   comparison implies others ([`implied`]).
//!
//! From these facts an [`Evaluator`] computes the condition of `B`. All values belong to the same
//! execution: a dominating edge is taken after its condition was computed, and `B` computes its
//! values after the edge, since `B` is no header.
//!
//! O(dominators visited × operations), both bounded.

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{
    BlockId, Const, InstId, Opcode, Value,
    flow::{block_of, node_of},
};
use smallvec::SmallVec;

use super::implied::implied;
use crate::{code::Code, evaluate::Evaluator, fold::is_defined};

/// How many dominators the search visits at most.
const DOMINATORS: usize = 16;

/// How many facts the search collects at most.
const FACTS: usize = 32;

/// Answers about the edges of one function.
#[derive(Copy, Clone)]
pub(super) struct Known<'a> {
    pub(super) code: Code<'a>,
    pub(super) cfg: &'a Cfg,
    pub(super) dom: &'a DomTree,
}

/// Instructions that are known to be constants on a path.
type Facts = SmallVec<[(InstId, Const); 8]>;

/// The value of a phi on an edge.
struct Entry {
    phi: InstId,
    value: Const,
    /// Whether it may be poison instead.
    is_loose: bool,
}

impl Known<'_> {
    /// The block that a terminator always leads to.
    pub(super) fn always(&self, block: BlockId) -> Option<BlockId> {
        let facts = self.dominating(node_of(block));
        if facts.is_empty() {
            return None;
        }
        self.target(block, &facts, &[])
    }

    /// The successor of a block, which is no header, when it is entered by the edge from `from`.
    pub(super) fn from(&self, from: BlockId, block: BlockId) -> Option<BlockId> {
        let mut facts = Facts::new();
        self.add(&mut facts, from, block);
        for fact in self.dominating(node_of(from)) {
            self.fact(&mut facts, fact);
        }
        let besides = |inst| self.besides(&facts, inst);
        let mut before = Evaluator::new(self.code, [], &besides);
        let body = self.code.body;
        let phis = body.phis(block).filter_map(|phi| {
            let mut entries = body.phi_incoming(phi).filter(|entry| entry.1 == from);
            let incoming = entries.next()?.0;
            let value = before.value(incoming)?;
            // Each use of `undef` may give another value.
            let is_loose = before.is_loose(incoming);
            is_defined(self.code.context, value).then_some(Entry { phi, value, is_loose })
        });
        let phis: Vec<_> = phis.collect();
        if phis.is_empty() && facts.is_empty() {
            return None;
        }
        self.target(block, &facts, &phis)
    }

    fn target(&self, block: BlockId, facts: &Facts, phis: &[Entry]) -> Option<BlockId> {
        let body = self.code.body;
        let terminator = body.terminator(block)?;
        let successors = self.code.flow.successors(block);
        let operands = body.operands(terminator);
        let on = *operands.first()?;
        // A branch on a constant is left to other passes.
        on.as_inst()?;
        let besides = |inst| self.besides(facts, inst);
        let assumed = phis.iter().map(|entry| (entry.phi, entry.value));
        let loose = phis.iter().filter(|entry| entry.is_loose).map(|entry| entry.phi);
        let mut evaluator = Evaluator::new(self.code, assumed, &besides).loosely(loose);
        match body.inst(terminator).opcode {
            Opcode::Br => {
                let holds = evaluator.condition(on)?;
                successors.get(usize::from(!holds)).copied()
            }
            Opcode::Switch => {
                let value = evaluator.value(on)?;
                self.code.int(value.into())?;
                let case = operands[1..].iter().position(|&case| case == Value::from(value));
                successors.get(case.map_or(0, |case| case + 1)).copied()
            }
            _ => None,
        }
    }

    /// The facts of all edges that dominate a block.
    fn dominating(&self, node: Node) -> Facts {
        let (mut facts, mut at) = (Facts::new(), node);
        for _ in 0..DOMINATORS {
            if let &[pred] = self.cfg.predecessors(at) {
                self.add(&mut facts, block_of(pred), block_of(at));
            }
            match self.dom.idom(at) {
                Some(above) if facts.len() < FACTS => at = above,
                _ => break,
            }
        }
        facts
    }

    /// Adds the facts of an edge.
    fn add(&self, facts: &mut Facts, from: BlockId, to: BlockId) {
        let (code, body) = (&self.code, self.code.body);
        let successors = code.flow.successors(from);
        let Some(terminator) = body.terminator(from) else { return };
        let mut places = (0..).zip(successors).filter(|&(_, &s)| s == to).map(|(at, _)| at);
        let (Some(place), None) = (places.next(), places.next()) else { return };
        let operands = body.operands(terminator);
        match body.inst(terminator).opcode {
            Opcode::Br if successors.len() == 2 => {
                if let Some(condition) = operands[0].as_inst() {
                    self.fact(facts, (condition, code.context.const_bool(place == 0)));
                }
            }
            Opcode::Switch if place > 0 => {
                if let (Some(on), Some(case)) =
                    (operands[0].as_inst(), operands.get(place).and_then(|v| v.as_const()))
                {
                    self.fact(facts, (on, case));
                }
            }
            _ => {}
        }
    }

    /// Adds a fact and its implications.
    fn fact(&self, facts: &mut Facts, fact: (InstId, Const)) {
        let (code, body) = (&self.code, self.code.body);
        let mut work: SmallVec<[(InstId, Const); 4]> = SmallVec::new();
        work.push(fact);
        while let Some((inst, value)) = work.pop() {
            if facts.len() >= FACTS {
                return;
            }
            if facts.iter().any(|fact| fact.0 == inst) {
                continue;
            }
            facts.push((inst, value));
            let bit = match code.type_of(value.into()) {
                phalanx_ir::Type::I1 => code.int(value.into()),
                _ => None,
            };
            let operands = body.operands(inst);
            let parts = match (body.inst(inst).opcode, bit) {
                (Opcode::And, Some(1)) | (Opcode::Or, Some(0)) => &operands[..2],
                // `select a, b, false` is the poison-safe form of `and`.
                (Opcode::Select, Some(1)) if code.int(operands[2]) == Some(0) => &operands[..2],
                (Opcode::Select, Some(0)) if code.int(operands[1]) == Some(1) => {
                    work.extend(operands[0].as_inst().map(|part| (part, value)));
                    &operands[2..3]
                }
                (Opcode::Xor, Some(bit)) if code.int(operands[1]) == Some(1) => {
                    let other = code.context.const_bool(bit == 0);
                    work.extend(operands[0].as_inst().map(|part| (part, other)));
                    &[]
                }
                _ => &[],
            };
            work.extend(parts.iter().filter_map(|part| Some((part.as_inst()?, value))));
        }
    }

    /// The constant that the facts imply for an instruction.
    fn besides(&self, facts: &Facts, inst: InstId) -> Option<Const> {
        if let Some(&(_, value)) = facts.iter().find(|fact| fact.0 == inst) {
            return Some(value);
        }
        if self.code.body.inst(inst).opcode != Opcode::ICmp {
            return None;
        }
        let found = facts.iter().find_map(|&(known, value)| {
            let is_comparison = self.code.body.inst(known).opcode == Opcode::ICmp;
            let holds = is_comparison.then(|| self.code.int(value.into())).flatten()? != 0;
            implied(&self.code, (known, holds), inst)
        });
        found.map(|holds| self.code.context.const_bool(holds))
    }
}
