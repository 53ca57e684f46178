//! What tests of an address say about it where they have held.
//!
//! # What
//!
//! `llvm.nvvm.isspacep.*` and `llvm.amdgcn.is.shared`, `is.private` tell whether a generic address is in a space. Where a branch has gone the way of
//! such a test, or `llvm.assume` has taken it for granted, the address is in the space or is not:
//!
//! - in blocks that are dominated by an edge of the branch: the edge leads to a block with no other way in;
//! - after an `llvm.assume`, in its block and in those that the block dominates.
//!
//! Conjunctions, disjunctions and negations of tests are taken apart. What is said of an address holds of everything it is made from by
//! steps and casts and of everything that is made from it so, since a step stays in its object: facts are kept by the *root* of the
//! chain. The root and the address are those of one time: a definition on every way to the use is not passed again after the edge.
//!
//! # Cost
//!
//! O(calls) to find; nothing is looked at in a function without tests.

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{
    GlobalName, InstId, Opcode, Value,
    constant::{ConstKind, Int},
    flow::{block_of, node_of},
    inst::InstFlags,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::set::SpaceSet;
use crate::lower::Code;

/// How many steps of a chain, and how many parts of a condition, are looked at.
const STEPS: usize = 16;

/// Where something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In this block and those it dominates.
    Block(Node),
    /// After this instruction of the block, and in those the block dominates.
    After(InstId, Node),
}

/// That an address leads to these memories and no others, somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    place: Place,
    bound: SpaceSet,
}

/// What tests say in a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refinements {
    by_root: FxHashMap<Value, SmallVec<[Fact; 2]>>,
    /// Where each instruction is in its block, in blocks in which something is known from the middle on.
    order: FxHashMap<InstId, u32>,
}

/// The memories that a test asks for.
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

/// What an address is made from by steps that stay in the object, and casts, a few of them up.
fn root(code: Code<'_>, mut address: Value) -> Value {
    for _ in 0..STEPS {
        match step(code, address, true) {
            Some(base) => address = base,
            None => break,
        }
    }
    address
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

/// What a condition says of addresses when it holds.
type Said = SmallVec<[(Value, SpaceSet); 4]>;

/// What a condition says when it is `truth`.
fn said(code: Code<'_>, condition: Value, truth: bool) -> Said {
    let mut all = Said::new();
    let mut work: SmallVec<[(Value, bool); 4]> = SmallVec::from_slice(&[(condition, truth)]);
    for _ in 0..STEPS {
        let Some((condition, truth)) = work.pop() else { break };
        let Some(inst) = condition.as_inst() else { continue };
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
            // One of two tests of the same address holds.
            Opcode::Or if truth => either(code, &mut all, (operands[0], true), (operands[1], true)),
            Opcode::And if !truth => {
                either(code, &mut all, (operands[0], false), (operands[1], false));
            }
            _ => {}
        }
    }
    all
}

/// What is left when a test for a space has this result. Null is in no space but that of device memory, if the target likes.
fn bound(space: SpaceSet, truth: bool) -> SpaceSet {
    match truth {
        true if space.contains(SpaceSet::GLOBAL) => space | SpaceSet::NOWHERE,
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

impl Refinements {
    /// Those of a function. `tests` are the calls that [`tested`] knows; without any, nothing is looked at.
    #[must_use]
    pub(super) fn new(code: Code<'_>, cfg: &Cfg, dom: &DomTree, tests: &[InstId]) -> Self {
        let mut refinements = Refinements::default();
        if tests.is_empty() {
            return refinements;
        }
        for &node in dom.preorder() {
            let block = block_of(node);
            for inst in code.body.block_insts(block) {
                let data = code.body.inst(inst);
                if data.opcode == Opcode::Call && is_assume(code, inst) {
                    let place = Place::After(inst, node);
                    for (address, bound) in said(code, code.body.call_args(inst)[0], true) {
                        refinements.add(code, address, Fact { place, bound });
                    }
                }
                let targets = code.flow.successors(block);
                if data.opcode == Opcode::Br && targets.len() == 2 && targets[0] != targets[1] {
                    let condition = code.body.operands(inst)[0];
                    for (&target, truth) in targets.iter().zip([true, false]) {
                        if cfg.predecessors(node_of(target)).len() != 1 {
                            continue;
                        }
                        let place = Place::Block(node_of(target));
                        for (address, bound) in said(code, condition, truth) {
                            refinements.add(code, address, Fact { place, bound });
                        }
                    }
                }
            }
        }
        refinements
    }

    fn add(&mut self, code: Code<'_>, address: Value, fact: Fact) {
        if let Place::After(inst, node) = fact.place
            && !self.order.contains_key(&inst)
        {
            self.order.extend(code.body.block_insts(block_of(node)).zip(0..));
        }
        self.by_root.entry(address).or_default().push(fact);
    }

    /// Nothing is said of anything.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.by_root.is_empty()
    }

    /// What is known of an address where an instruction reads it; for a phi, at the end of the block that the value comes from.
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

    /// Whether a fact is known at an instruction, or at the end of a block.
    fn holds(&self, dom: &DomTree, fact: &Fact, user: InstId, here: Node, is_at_end: bool) -> bool {
        match fact.place {
            Place::Block(node) => dom.dominates(node, here),
            Place::After(assume, node) if node == here => {
                is_at_end || self.order.get(&assume) < self.order.get(&user)
            }
            Place::After(_, node) => dom.dominates(node, here),
        }
    }
}
