//! The fixpoint: starting from empty sets, every set becomes the union of its inputs.
//!
//! # Algorithm
//!
//! 1. One sweep over the blocks in reverse postorder evaluates every node once: definitions come
//!    before uses, except for values that come around a loop.
//! 2. Phis, of values and of memory, are evaluated again. If none would grow, the fixpoint is
//!    reached.
//! 3. Otherwise these phis are repaired by [`phalanx_fixpoint`]: so far, nothing came to them
//!    around loops.
//!
//! The rules are unions and intersections with fixed bounds, so they are monotone and distributive.
//! The least fixpoint is the union over all paths from a seed to the value. Each node grows at most
//! 64 times, in practice two or three.
//!
//! **Complexity.** O(instructions + operands), times the height of the lattice in the worst case.

use phalanx_fixpoint::{Fixpoint, Limits};
use phalanx_graph::{Cfg, Dfs, DomTree, Node};
use phalanx_ir::{Const, InstId, Opcode, Value, constant::ConstKind, flow::block_of};
use rustc_hash::FxHashMap;

use super::{
    facts::SpaceFacts,
    kinds::MemoryKinds,
    nodes::{Nodes, Sets, SetsOf},
    numbers::number,
    predicates::{Refinements, Support, tested},
    rules::SpaceRules,
    unions::Unions,
};
use crate::code::SpaceSet;
use crate::{
    code::{Code, Environment},
    memory::{PrivateMemory, private::readers::ReaderNode},
};

/// Which memories each pointer of a function may lead to.
#[must_use]
pub fn memory_kinds(
    code: Code<'_>,
    env: Environment<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
) -> MemoryKinds {
    let mut solver = Solver::new(code, env, graph, memory, facts, false);
    solver.solve();
    solver.finish().0
}

/// As [`memory_kinds`], by rounds over all nodes until no set grows: the slow twin.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn memory_kinds_by_rounds(
    code: Code<'_>,
    env: Environment<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
) -> MemoryKinds {
    let mut solver = Solver::new(code, env, graph, memory, facts, false);
    solver.solve_by_rounds();
    solver.finish().0
}

/// The analysis of one function.
pub(super) struct Solver<'a> {
    pub(super) nodes: Nodes<'a>,
    pub(super) sets: Sets,
    /// Blocks in the order of the sweep.
    order: Vec<Node>,
    /// Nodes in the order of the sweep.
    swept: Vec<ReaderNode>,
    /// Tests of addresses, and the instructions that their refinements depend on.
    pub(super) tests: (Vec<InstId>, Support),
}

impl<'a> Solver<'a> {
    pub(super) fn new(
        code: Code<'a>,
        env: Environment<'a>,
        (cfg, dom): (&Cfg, &'a DomTree),
        memory: &'a PrivateMemory,
        facts: &'a dyn SpaceFacts,
        is_symbolic: bool,
    ) -> Self {
        let mut rules = SpaceRules::new(code, env, memory, facts, is_symbolic);
        let (tests, has_integers) = scan(code);
        rules.has_integers = has_integers;
        let (refinements, support) = Refinements::new(code, cfg, dom, &tests);
        rules.refinements = refinements;
        let sets = Sets {
            values: vec![0; code.body.id_count()],
            content: vec![0; memory.version_count()],
        };
        let order = Dfs::new(cfg).rpo().collect();
        let nodes = Nodes { rules, dom };
        Solver { nodes, sets, order, swept: Vec::new(), tests: (tests, support) }
    }

    /// The present set of a value, without refinements by tests.
    pub(super) fn of(&mut self, value: Value) -> u64 {
        self.nodes.value(&self.sets, value)
    }

    /// Evaluates every node once, in order; returns the phis.
    fn sweep(&mut self) -> Vec<ReaderNode> {
        let mut phis = Vec::new();
        let (code, memory) = (self.nodes.rules.code, self.nodes.rules.memory);
        let definitions = memory.events().len();
        for block in std::mem::take(&mut self.order) {
            for phi in memory.ssa().phis_of(block) {
                let node = ReaderNode::Content((definitions + phi) as u32);
                phis.push(node);
                self.visit(node);
            }
            for inst in code.body.block_insts(block_of(block)) {
                if self.nodes.rules.is_tracked(inst) {
                    if code.body.inst(inst).opcode == Opcode::Phi {
                        phis.push(ReaderNode::Value(inst));
                    }
                    self.visit(ReaderNode::Value(inst));
                }
                for touch in memory.of(inst) {
                    self.visit(ReaderNode::Content(touch.event));
                }
            }
        }
        phis
    }

    fn visit(&mut self, node: ReaderNode) {
        self.swept.push(node);
        let set = self.nodes.evaluate(&self.sets, node);
        self.sets.put(node, set);
    }

    /// Computes the least fixpoint.
    pub(super) fn solve(&mut self) {
        let mut phis = self.sweep();
        phis.retain(|&phi| self.nodes.evaluate(&self.sets, phi) != self.sets.of(phi));
        if phis.is_empty() {
            return;
        }
        let readers = self.nodes.rules.memory.readers();
        let mut facts = Fixpoint::of(self.sets.all());
        let nodes = &mut self.nodes;
        let mut unions = Unions { nodes, readers: &readers, limit: usize::MAX, looked_at: 0 };
        let _ = facts.repair(&mut unions, &phis, Limits::NONE);
        for change in facts.changes() {
            self.sets.put(change.subject, facts.get(change.subject));
        }
    }

    /// The same by rounds over all nodes, last ones first, until no set grows: slow, and obviously
    /// the least fixpoint.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn solve_by_rounds(&mut self) {
        self.sweep();
        self.sets.values.fill(0);
        self.sets.content.fill(0);
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for &node in self.swept.iter().rev() {
                let set = self.nodes.evaluate(&self.sets, node);
                grows |= self.sets.put(node, set) != set;
            }
        }
    }

    /// The answer, and the sets.
    pub(super) fn finish(mut self) -> (MemoryKinds, Sets) {
        let code = self.nodes.rules.code;
        let arguments = (0..code.header.params.len() as u32)
            .map(|at| SpaceSet::from_bits(self.of(Value::arg(at)) as u16))
            .collect();
        let mut values = vec![SpaceSet::ALL; self.sets.values.len()];
        for &node in &self.swept {
            if let ReaderNode::Value(inst) = node {
                values[number(inst)] = SpaceSet::from_bits(self.sets.of(node) as u16);
            }
        }
        let mut uses: Vec<((InstId, u32), SpaceSet)> = Vec::new();
        let mut constants: FxHashMap<Const, SpaceSet> = FxHashMap::default();
        let has_refinements = !self.nodes.rules.refinements.is_empty();
        for &block in self.nodes.dom.preorder() {
            for inst in code.body.block_insts(block_of(block)) {
                for constant in constant_addresses(code, inst) {
                    constants.entry(constant).or_insert_with(|| {
                        let set = self.of(Value::constant(constant));
                        SpaceSet::from_bits(set as u16)
                    });
                }
                if has_refinements {
                    self.nodes.refined(&self.sets, inst, &mut uses);
                }
            }
        }
        uses.sort_unstable_by_key(|((inst, at), _)| (number(*inst), *at));
        let mut constants: Vec<(Const, SpaceSet)> = constants.into_iter().collect();
        constants.sort_unstable();
        (MemoryKinds::new(&values, arguments, uses, constants), self.sets)
    }
}

/// Constants whose sets the answer has because of an instruction: addresses that it accesses,
/// compares or passes on.
pub(super) fn constant_addresses(code: Code<'_>, inst: InstId) -> impl Iterator<Item = Const> {
    let Code { context, body, .. } = code;
    let addresses: &[Value] = match body.inst(inst).opcode {
        Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => &body.operands(inst)[..1],
        Opcode::Store => &body.operands(inst)[1..],
        Opcode::ICmp => body.operands(inst),
        opcode if opcode.is_call() => body.call_args(inst),
        _ => &[],
    };
    let is_pointer = move |constant: &Const| {
        let data = context.const_data(*constant);
        context.type_kind(data.ty).address_space().is_some()
            && !matches!(data.kind, ConstKind::Null | ConstKind::Undef | ConstKind::Poison)
    };
    addresses.iter().filter_map(|address| address.as_const()).filter(is_pointer)
}

/// Finds tests of addresses, and whether some integer becomes a pointer.
fn scan(code: Code<'_>) -> (Vec<InstId>, bool) {
    let body = code.body;
    let (mut tests, mut has_integers) = (Vec::new(), false);
    let mut is_test: FxHashMap<Const, bool> = FxHashMap::default();
    for inst in body.all_ids() {
        match body.inst(inst).opcode {
            Opcode::IntToPtr if body.block_of(inst).is_some() => has_integers = true,
            Opcode::Call if body.block_of(inst).is_some() => {
                let Some(callee) = body.const_callee(inst) else { continue };
                let known = is_test.entry(callee).or_insert_with(|| tested(code, inst).is_some());
                if *known {
                    tests.push(inst);
                }
            }
            _ => {}
        }
    }
    (tests, has_integers)
}
