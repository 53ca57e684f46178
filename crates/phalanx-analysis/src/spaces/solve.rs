//! The fixpoint: starting from empty sets, every set becomes the union of its inputs.
//!
//! # Algorithm
//!
//! 1. One sweep over the blocks in reverse postorder evaluates every node once: definitions come
//!    before uses, except for values that come around a loop.
//! 2. Phis, of values and of memory, are evaluated again. If none has grown, the fixpoint is
//!    reached.
//! 3. Otherwise the edges between nodes are collected, and a worklist runs from the phis that have
//!    grown.
//!
//! The rules are unions and intersections with fixed bounds, so they are monotone and distributive.
//! The least fixpoint is the union over all paths from a seed to the value. Each node grows at most
//! 64 times, in practice two or three.
//!
//! **Complexity.** O(instructions + operands), times the height of the lattice in the worst case.

use phalanx_graph::{BitSet, Cfg, Dfs, DomTree, Node};
use phalanx_ir::{Const, InstId, Opcode, Value, ValueKind, constant::ConstKind, flow::block_of};
use rustc_hash::FxHashMap;

use super::{
    facts::SpaceFacts,
    kinds::MemoryKinds,
    numbers::{inst_of, number},
    predicates::{Refinements, Support, tested},
    rules::{Input, SpaceRules, restrict},
};
use crate::code::SpaceSet;
use crate::{
    code::{Code, Environment},
    memory::{PrivateMemory, ssa::Version},
};

const ANYTHING: u64 = SpaceSet::ALL.bits() as u64;

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
    pub(super) rules: SpaceRules<'a>,
    dom: &'a DomTree,
    /// Blocks in the order of the sweep.
    order: Vec<Node>,
    /// By node: instructions, then definitions of private memory, then memory phis.
    pub(super) sets: Sets,
    /// Nodes in the order of the sweep.
    pub(super) nodes: Vec<u32>,
    insts: usize,
    definitions: usize,
    /// Tests of addresses, and the instructions that their refinements depend on.
    pub(super) tests: (Vec<InstId>, Support),
}

/// Sets by node: those of instructions, and what versions of private memory hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    pub(super) values: Vec<u64>,
    pub(super) content: Vec<u64>,
}

impl Sets {
    #[inline]
    pub(super) fn get(&self, node: usize) -> u64 {
        match self.values.get(node) {
            Some(set) => *set,
            None => self.content[node - self.values.len()],
        }
    }

    /// Replaces a set; returns the old one.
    #[inline]
    pub(super) fn put(&mut self, node: usize, set: u64) -> u64 {
        let count = self.values.len();
        let place = match node < count {
            true => &mut self.values[node],
            false => &mut self.content[node - count],
        };
        std::mem::replace(place, set)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() + self.content.len()
    }
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
        let definitions = memory.events().len();
        let sets = Sets {
            values: vec![0; code.body.id_count()],
            content: vec![0; definitions + memory.ssa().phis().len()],
        };
        let order = Dfs::new(cfg).rpo().collect();
        Solver { order, tests: (tests, support), ..Solver::resume(rules, dom, sets) }
    }

    /// A solver that continues from sets that were found before.
    pub(super) fn resume(rules: SpaceRules<'a>, dom: &'a DomTree, sets: Sets) -> Self {
        let (insts, definitions) = (sets.values.len(), rules.memory.events().len());
        let (order, nodes) = (Vec::new(), Vec::new());
        let tests = Default::default();
        Solver { rules, dom, order, sets, nodes, insts, definitions, tests }
    }

    pub(super) fn version(&self, version: Version) -> Option<usize> {
        match version {
            Version::Entry => None,
            Version::Def(event) => Some(self.insts + event as usize),
            Version::Phi(phi) => Some(self.insts + self.definitions + phi as usize),
        }
    }

    /// The version of private memory that a node stands for.
    pub(super) fn version_of(&self, node: usize) -> Option<Version> {
        let event = node.checked_sub(self.insts)?;
        Some(match event.checked_sub(self.definitions) {
            None => Version::Def(event as u32),
            Some(phi) => Version::Phi(phi as u32),
        })
    }

    /// The present set of a value, without refinements by tests.
    pub(super) fn of(&mut self, value: Value) -> u64 {
        match self.rules.fixed(value) {
            Some(set) => set,
            None => match value.kind() {
                ValueKind::Inst(inst) => self.sets.get(number(inst)),
                _ => ANYTHING,
            },
        }
    }

    pub(super) fn at(&mut self, value: Value, user: InstId, from: Option<Node>) -> u64 {
        let set = self.of(value);
        if self.rules.refinements.is_empty() {
            return set;
        }
        let bound = self.rules.refinements.at(self.rules.code, self.dom, value, user, from);
        match bound == SpaceSet::ALL {
            true => set,
            false => restrict(set, u64::from(bound.bits())),
        }
    }

    pub(super) fn read(&mut self, input: Input, user: InstId) -> u64 {
        match input {
            Input::Set(set) => set,
            Input::Value(value) => self.at(value, user, None),
            Input::Incoming(value, from) => self.at(value, user, Some(from)),
            // Content that was never written is undefined.
            Input::Version(version) => match self.version(version) {
                None => u64::from(SpaceSet::NOWHERE.bits()),
                Some(node) => self.sets.get(node),
            },
        }
    }

    /// The inputs of a node, and the instruction that reads them.
    pub(super) fn inputs(&mut self, node: usize, mut tell: impl FnMut(Input)) -> Option<InstId> {
        if node < self.insts {
            let inst = inst_of(node);
            self.rules.inputs(inst, tell);
            return Some(inst);
        }
        let memory = self.rules.memory;
        if node < self.insts + self.definitions {
            let event = (node - self.insts) as u32;
            self.rules.stored(event, tell);
            return Some(memory.touch_of(event).inst);
        }
        let phi = &memory.ssa().phis()[node - self.insts - self.definitions];
        for &(_, version) in memory.ssa().incoming(phi) {
            tell(Input::Version(version));
        }
        None
    }

    /// The union of the inputs of a node, as they are now.
    pub(super) fn evaluate(&mut self, node: usize) -> u64 {
        // Most nodes have one or two inputs; a phi has as many as its block has edges.
        let mut inputs: smallvec::SmallVec<[Input; 8]> = smallvec::SmallVec::new();
        let user = self.inputs(node, |input| inputs.push(input));
        let mut set = 0;
        for input in inputs {
            set |= self.read(input, user.unwrap_or_else(|| inst_of(0)));
        }
        match node < self.insts {
            true => self.rules.clamp(inst_of(node), set),
            false => set,
        }
    }

    /// Evaluates every node once, in order; returns the phis.
    fn sweep(&mut self) -> Vec<u32> {
        let mut phis = Vec::new();
        let (code, memory) = (self.rules.code, self.rules.memory);
        for block in std::mem::take(&mut self.order) {
            for phi in memory.ssa().phis_of(block) {
                phis.push((self.insts + self.definitions + phi) as u32);
                self.visit(self.insts + self.definitions + phi);
            }
            for inst in code.body.block_insts(block_of(block)) {
                if self.rules.is_tracked(inst) {
                    if code.body.inst(inst).opcode == Opcode::Phi {
                        phis.push(number(inst) as u32);
                    }
                    self.visit(number(inst));
                }
                for touch in memory.of(inst) {
                    self.visit(self.insts + touch.event as usize);
                }
            }
        }
        phis
    }

    fn visit(&mut self, node: usize) {
        self.nodes.push(node as u32);
        let set = self.evaluate(node);
        self.sets.put(node, set);
    }

    /// Computes the least fixpoint.
    pub(super) fn solve(&mut self) {
        let phis = self.sweep();
        let mut work: Vec<u32> = Vec::new();
        for &phi in &phis {
            let set = self.evaluate(phi as usize);
            if set != self.sets.put(phi as usize, set) {
                work.push(phi);
            }
        }
        if work.is_empty() {
            return;
        }
        let users = self.users();
        let mut is_waiting = BitSet::new(self.sets.len());
        while let Some(node) = work.pop() {
            is_waiting.remove(node as usize);
            for &user in users.of(node) {
                let set = self.evaluate(user as usize);
                if set != self.sets.put(user as usize, set) && is_waiting.insert(user as usize) {
                    work.push(user);
                }
            }
        }
    }

    /// The same by rounds over all nodes, last ones first, until no set grows: slow, and obviously
    /// the least fixpoint.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn solve_by_rounds(&mut self) {
        self.sweep();
        self.sets.values.fill(0);
        self.sets.content.fill(0);
        let nodes = self.nodes.clone();
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for &node in nodes.iter().rev() {
                let set = self.evaluate(node as usize);
                grows |= self.sets.put(node as usize, set) != set;
            }
        }
    }

    /// The readers of each node.
    fn users(&mut self) -> Users {
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let nodes = std::mem::take(&mut self.nodes);
        for &node in &nodes {
            let mut inputs: smallvec::SmallVec<[Input; 8]> = smallvec::SmallVec::new();
            self.inputs(node as usize, |input| inputs.push(input));
            for input in inputs {
                let from = match input {
                    Input::Set(_) => None,
                    Input::Value(value) | Input::Incoming(value, _) => value.as_inst().map(number),
                    Input::Version(version) => self.version(version),
                };
                if let Some(from) = from {
                    edges.push((from as u32, node));
                }
            }
        }
        self.nodes = nodes;
        Users::new(self.sets.len(), &edges)
    }

    /// Adds the operands of an instruction whose sets are smaller than those of their values.
    pub(super) fn refined(&mut self, inst: InstId, uses: &mut Vec<((InstId, u32), SpaceSet)>) {
        let body = self.rules.code.body;
        if body.inst(inst).opcode == Opcode::Phi {
            return;
        }
        for (&operand, at) in body.operands(inst).iter().zip(0..) {
            let set = self.of(operand);
            let here = self.at(operand, inst, None);
            if here != set {
                uses.push(((inst, at), SpaceSet::from_bits(here as u16)));
            }
        }
    }

    /// Drops everything but the sets.
    pub(super) fn into_sets(self) -> Sets {
        self.sets
    }

    /// The answer, and the sets.
    pub(super) fn finish(mut self) -> (MemoryKinds, Sets) {
        let code = self.rules.code;
        let arguments = (0..code.header.params.len() as u32)
            .map(|at| SpaceSet::from_bits(self.of(Value::arg(at)) as u16))
            .collect();
        let mut values = vec![SpaceSet::ALL; self.insts];
        for &node in self.nodes.iter().filter(|&&node| (node as usize) < self.insts) {
            values[node as usize] = SpaceSet::from_bits(self.sets.get(node as usize) as u16);
        }
        let mut uses: Vec<((InstId, u32), SpaceSet)> = Vec::new();
        let mut constants: FxHashMap<Const, SpaceSet> = FxHashMap::default();
        let has_refinements = !self.rules.refinements.is_empty();
        for &block in self.dom.preorder() {
            for inst in code.body.block_insts(block_of(block)) {
                for constant in constant_addresses(code, inst) {
                    constants.entry(constant).or_insert_with(|| {
                        let set = self.of(Value::constant(constant));
                        SpaceSet::from_bits(set as u16)
                    });
                }
                if has_refinements {
                    self.refined(inst, &mut uses);
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

/// Readers by node.
struct Users {
    start: Vec<u32>,
    list: Vec<u32>,
}

impl Users {
    fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        let mut start = vec![0u32; nodes + 1];
        for (from, _) in edges {
            start[*from as usize + 1] += 1;
        }
        for i in 0..nodes {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut list = vec![0; edges.len()];
        for (from, to) in edges {
            let at = &mut next[*from as usize];
            list[*at as usize] = *to;
            *at += 1;
        }
        Users { start, list }
    }

    fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.list[self.start[node] as usize..self.start[node + 1] as usize]
    }
}
