//! What a test of an address tells about the address, in the code that the test guards.
//!
//! # What
//!
//! `llvm.nvvm.isspacep.*` and `llvm.amdgcn.is.shared`, `is.private` tell whether a generic address
//! is in a space. If a branch depends on such a test, or `llvm.assume` states it, the address is
//! known to be in the space or not:
//!
//! - in blocks that are dominated by an edge of the branch: the edge leads to a block that has no
//!   other predecessor;
//! - after an `llvm.assume`, in its block and in the blocks that this block dominates.
//!
//! ```text
//!   %t = call i1 @llvm.nvvm.isspacep.shared(ptr %p)
//!   br i1 %t, label %yes, label %no
//! yes:
//!   %x = load i32, ptr %p                 ; here %p leads to shared memory
//! ```
//!
//! Conjunctions, disjunctions and negations of tests are taken apart. A fact about an address also
//! holds for everything that it is made from by steps and casts, and for everything that is made
//! from it so, since a step stays in its object. So facts are stored by the *root* of the chain.
//! The values of root and address belong together: a definition that is on every path to the use is
//! not executed again after the edge.
//!
//! # How
//!
//! Branches and assumptions that may tell something are found from the tests downwards, by users.
//! What a branch tells is found from its condition upwards.
//!
//! # Cost
//!
//! O(tests, and values computed from their results); O(1) in a function without tests.

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{
    BlockId, GlobalName, InstId, Opcode, Value,
    constant::{ConstKind, Int},
    flow::{block_of, node_of},
    inst::InstFlags,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::code::{Code, SpaceSet};

/// How many steps of a chain, and how many parts of a condition, are looked at.
pub(super) const STEPS: usize = 16;

/// Where a fact holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// In this block and the blocks that it dominates.
    Block(Node),
    /// After this instruction of the block, and in the blocks that the block dominates.
    After(InstId, Node),
}

/// In one place, an address leads to these memories and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    place: Extent,
    bound: SpaceSet,
}

/// All facts that tests tell in a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refinements {
    by_root: FxHashMap<Value, SmallVec<[Fact; 2]>>,
    /// The position of each instruction in its block, for blocks in which a fact begins in the
    /// middle.
    order: FxHashMap<InstId, u32>,
}

/// The instructions that the facts depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct Support {
    /// Tests, and conditions that are computed from them.
    pub(super) conditions: FxHashSet<InstId>,
    /// The conditions, the branches and assumptions that read them, and the steps from tested
    /// addresses to their roots.
    pub(super) all: FxHashSet<InstId>,
    /// Blocks in which a fact begins in the middle.
    pub(super) ordered: FxHashSet<BlockId>,
}

/// The memories that a test is about. It is true for addresses of these, and false for all others
/// but those that [`may_pass`] adds.
#[must_use]
pub fn tested(code: Code<'_>, inst: InstId) -> Option<SpaceSet> {
    let Code { context, body, .. } = code;
    if body.inst(inst).opcode != Opcode::Call {
        return None;
    }
    let ConstKind::Global(GlobalName::Named(symbol)) =
        context.const_data(body.const_callee(inst)?).kind
    else {
        return None;
    };
    Some(match context.bytes(symbol) {
        b"llvm.amdgcn.is.shared" | b"llvm.nvvm.isspacep.shared" => SpaceSet::SHARED,
        b"llvm.amdgcn.is.private" | b"llvm.nvvm.isspacep.local" => SpaceSet::PRIVATE,
        b"llvm.nvvm.isspacep.global" => SpaceSet::GLOBAL,
        b"llvm.nvvm.isspacep.const" => SpaceSet::CONSTANT,
        b"llvm.nvvm.isspacep.shared.cluster" => SpaceSet::SHARED.or(SpaceSet::PEERS),
        _ => return None,
    })
}

fn is_assume(code: Code<'_>, inst: InstId) -> bool {
    let callee = code.body.const_callee(inst);
    let name = callee.map(|callee| &code.context.const_data(callee).kind);
    matches!(name, Some(ConstKind::Global(GlobalName::Named(symbol)))
        if code.context.bytes(*symbol) == b"llvm.assume")
}

/// The base that an address is made from, by a bounded number of `inbounds` steps and casts.
fn root(code: Code<'_>, mut address: Value) -> Value {
    for _ in 0..STEPS {
        match step(code, address, true) {
            Some(base) => address = base,
            None => break,
        }
    }
    address
}

/// Whether an instruction makes an address from this one by one step or cast.
pub(super) fn is_step_of(code: Code<'_>, inst: InstId, address: Value) -> bool {
    step(code, inst.into(), false) == Some(address)
}

/// What an address is made from by one step or cast.
fn step(code: Code<'_>, address: Value, is_inbounds: bool) -> Option<Value> {
    let inst = address.as_inst()?;
    let data = code.body.inst(inst);
    let is_step = match data.opcode {
        Opcode::GetElementPtr => !is_inbounds || data.flags.contains(InstFlags::INBOUNDS),
        Opcode::AddrSpaceCast | Opcode::BitCast => true,
        _ => false,
    };
    (is_step && !is_vector(code, inst)).then(|| code.body.operands(inst)[0])
}

fn is_vector(code: Code<'_>, inst: InstId) -> bool {
    code.context.type_kind(code.body.inst(inst).ty).address_space().is_none()
}

/// What a condition tells about addresses if it is true.
type Said = SmallVec<[(Value, SpaceSet); 4]>;

/// What a condition tells if it has the value `truth`. Only conditions that are computed from tests
/// are looked at; others tell nothing, and do not count as steps.
fn said(code: Code<'_>, support: &Support, condition: Value, truth: bool) -> Said {
    let mut all = Said::new();
    let mut work: SmallVec<[(Value, bool); 4]> = SmallVec::from_slice(&[(condition, truth)]);
    let mut left = STEPS;
    while let Some((condition, truth)) = work.pop() {
        let made_of_tests = |inst: &InstId| support.conditions.contains(inst);
        let Some(inst) = condition.as_inst().filter(made_of_tests) else { continue };
        if left == 0 {
            break;
        }
        left -= 1;
        if let Some(space) = tested(code, inst) {
            let address = root(code, code.body.call_args(inst)[0]);
            all.push((address, bound(space, truth)));
            continue;
        }
        let operands = code.body.operands(inst);
        let constant = |value: Value| boolean(code, value);
        match code.body.inst(inst).opcode {
            Opcode::Xor if constant(operands[1]) == Some(true) => work.push((operands[0], !truth)),
            Opcode::Xor if constant(operands[0]) == Some(true) => work.push((operands[1], !truth)),
            Opcode::And if truth => work.extend([(operands[0], true), (operands[1], true)]),
            Opcode::Or if !truth => work.extend([(operands[0], false), (operands[1], false)]),
            Opcode::Select if constant(operands[2]) == Some(false) && truth => {
                work.extend([(operands[0], true), (operands[1], true)]);
            }
            Opcode::Select if constant(operands[1]) == Some(true) && !truth => {
                work.extend([(operands[0], false), (operands[2], false)]);
            }
            // At least one of two tests of the same address is true.
            Opcode::Or if truth => either(code, &mut all, (operands[0], true), (operands[1], true)),
            Opcode::And if !truth => {
                either(code, &mut all, (operands[0], false), (operands[1], false));
            }
            _ => {}
        }
    }
    all
}

/// The memories for whose addresses a test may be true that is about `space`, as [`tested`] gives
/// it. On NVPTX the window of kernel parameters is inside that of device memory (PTX ISA,
/// `isspacep`). On processors that have no such window, the result for parameters is open.
#[must_use]
pub fn may_pass(space: SpaceSet) -> SpaceSet {
    match space.contains(SpaceSet::GLOBAL) {
        true => space | SpaceSet::PARAMETER,
        false => space,
    }
}

/// The memories that remain possible if a test for a space has this result. Null is in no space
/// except, on some targets, that of device memory.
fn bound(space: SpaceSet, truth: bool) -> SpaceSet {
    match truth {
        true if space.contains(SpaceSet::GLOBAL) => may_pass(space) | SpaceSet::NOWHERE,
        true => space,
        false => SpaceSet::ALL.without(space),
    }
}

fn either(code: Code<'_>, all: &mut Said, a: (Value, bool), b: (Value, bool)) {
    let single = |(condition, truth): (Value, bool)| {
        let space = tested(code, condition.as_inst()?)?;
        let address = root(code, code.body.call_args(condition.as_inst()?)[0]);
        Some((address, bound(space, truth)))
    };
    if let (Some((x, left)), Some((y, right))) = (single(a), single(b))
        && x == y
    {
        all.push((x, left | right));
    }
}

fn boolean(code: Code<'_>, value: Value) -> Option<bool> {
    match code.context.const_data(value.as_const()?).kind {
        ConstKind::Int(Int::Small(number)) => Some(number & 1 == 1),
        _ => None,
    }
}

impl Support {
    /// Finds the conditions that are computed from tests. Returns the branches and assumptions that
    /// read one of them, sorted.
    fn new(code: Code<'_>, tests: &[InstId]) -> (Self, Vec<InstId>) {
        let body = code.body;
        let mut support = Support::default();
        let mut ends: Vec<InstId> = Vec::new();
        support.conditions.extend(tests);
        let mut level = tests.to_vec();
        // To the depth to which conditions are taken apart.
        for _ in 0..STEPS {
            let mut next = Vec::new();
            for user in level.iter().flat_map(|&inst| body.uses_of(inst.into())).map(|one| one.user)
            {
                match body.inst(user).opcode {
                    Opcode::Xor | Opcode::And | Opcode::Or | Opcode::Select
                        if support.conditions.insert(user) =>
                    {
                        next.push(user);
                    }
                    Opcode::Br => ends.push(user),
                    Opcode::Call if is_assume(code, user) => ends.push(user),
                    _ => {}
                }
            }
            level = next;
        }
        ends.sort_unstable();
        ends.dedup();
        support.all.extend(support.conditions.iter().chain(&ends));
        for &test in tests {
            let mut address = code.body.call_args(test)[0];
            for _ in 0..STEPS {
                let Some(base) = step(code, address, true) else { break };
                support.all.extend(address.as_inst());
                address = base;
            }
            // The instruction that ends the chain: after an edit it may be a step.
            support.all.extend(address.as_inst());
        }
        (support, ends)
    }
}

impl Refinements {
    /// The facts of a function, and the instructions that they depend on. `tests` are the calls
    /// that [`tested`] knows; without any, nothing is looked at.
    #[must_use]
    pub(super) fn new(
        code: Code<'_>,
        cfg: &Cfg,
        dom: &DomTree,
        tests: &[InstId],
    ) -> (Self, Support) {
        let mut refinements = Refinements::default();
        let (mut support, ends) = Support::new(code, tests);
        for inst in ends {
            let Some(block) = code.body.block_of(inst) else { continue };
            let node = node_of(block);
            if !dom.is_reachable(node) {
                continue;
            }
            if code.body.inst(inst).opcode == Opcode::Call {
                let place = Extent::After(inst, node);
                for (address, bound) in said(code, &support, code.body.call_args(inst)[0], true) {
                    support.ordered.insert(block);
                    refinements.add(code, address, Fact { place, bound });
                }
                continue;
            }
            let targets = code.flow.successors(block);
            if targets.len() != 2 || targets[0] == targets[1] {
                continue;
            }
            let condition = code.body.operands(inst)[0];
            for (&target, truth) in targets.iter().zip([true, false]) {
                if cfg.predecessors(node_of(target)).len() != 1 {
                    continue;
                }
                let place = Extent::Block(node_of(target));
                for (address, bound) in said(code, &support, condition, truth) {
                    refinements.add(code, address, Fact { place, bound });
                }
            }
        }
        (refinements, support)
    }

    /// The addresses that facts are about.
    pub(super) fn roots(&self) -> impl Iterator<Item = Value> + '_ {
        self.by_root.keys().copied()
    }

    /// The addresses about which the facts differ from those in `old`.
    pub(super) fn others<'a>(&'a self, old: &'a Self) -> impl Iterator<Item = Value> + 'a {
        let of = |all: &Self, root| all.by_root.get(&root).cloned().unwrap_or_default();
        let is_other = move |root: &Value| of(self, *root) != of(old, *root);
        self.roots().chain(old.roots()).filter(is_other)
    }

    /// The addresses about which one of these instructions, which are sorted, is an assumption.
    pub(super) fn assumed_by<'a>(
        &'a self,
        insts: &'a [InstId],
    ) -> impl Iterator<Item = Value> + 'a {
        let is_one = |fact: &Fact| match fact.place {
            Extent::After(inst, _) => insts.binary_search(&inst).is_ok(),
            Extent::Block(_) => false,
        };
        let is_said = move |(_, facts): &(&Value, &SmallVec<[Fact; 2]>)| facts.iter().any(is_one);
        self.by_root.iter().filter(is_said).map(|(root, _)| *root)
    }

    fn add(&mut self, code: Code<'_>, address: Value, fact: Fact) {
        if let Extent::After(inst, node) = fact.place
            && !self.order.contains_key(&inst)
        {
            self.order.extend(code.body.block_insts(block_of(node)).zip(0..));
        }
        self.by_root.entry(address).or_default().push(fact);
    }

    /// Whether there are no facts.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.by_root.is_empty()
    }

    /// What is known of an address where an instruction reads it; for a phi, at the end of the
    /// block that the value comes from.
    #[must_use]
    pub(super) fn at(
        &self,
        code: Code<'_>,
        dom: &DomTree,
        address: Value,
        user: InstId,
        from: Option<Node>,
    ) -> SpaceSet {
        let mut bound = SpaceSet::ALL;
        if self.by_root.is_empty() {
            return bound;
        }
        let Some(here) = from.or_else(|| code.body.block_of(user).map(node_of)) else {
            return bound;
        };
        let mut next = Some(address);
        for _ in 0..STEPS {
            let Some(address) = next else { break };
            let facts = self.by_root.get(&address).into_iter().flatten();
            for fact in facts.filter(|fact| self.holds(dom, fact, user, here, from.is_some())) {
                bound = bound.and(fact.bound);
            }
            next = step(code, address, false);
        }
        bound
    }

    /// Whether a fact holds at an instruction, or at the end of a block.
    fn holds(&self, dom: &DomTree, fact: &Fact, user: InstId, here: Node, is_at_end: bool) -> bool {
        match fact.place {
            Extent::Block(node) => dom.dominates(node, here),
            Extent::After(assume, node) if node == here => {
                is_at_end || self.order.get(&assume) < self.order.get(&user)
            }
            Extent::After(_, node) => dom.dominates(node, here),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_leave() {
        let device = SpaceSet::GLOBAL | SpaceSet::PARAMETER | SpaceSet::NOWHERE;
        assert_eq!(bound(SpaceSet::GLOBAL, true), device);
        // Not on all processors do parameters have a window.
        assert_eq!(bound(SpaceSet::GLOBAL, false), SpaceSet::ALL.without(SpaceSet::GLOBAL));
        assert_eq!(bound(SpaceSet::SHARED, true), SpaceSet::SHARED);
        assert_eq!(bound(SpaceSet::SHARED, false), SpaceSet::ALL.without(SpaceSet::SHARED));
    }
}
