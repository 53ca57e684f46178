//! Sources of the value that a function returns to threads that are converged at a call.
//!
//! Two returns give the same value if they return the same constant or argument, or the same
//! instruction outside of all cycles. A branch is *parting* if returns of different values are
//! reached from it, and it has no post-dominator outside of all cycles. [The module
//! above](super#returns) proves that only these branches matter. O(blocks + edges).

use phalanx_core::{
    affect::User,
    divergence::{Divergence, FlowFacts},
};
use phalanx_graph::{Cfg, Cycles, Node, PostDomTree};
use phalanx_ir::{InstId, Opcode, Value, ValueKind, constant::ConstKind, flow::node_of};
use phalanx_target::SourceSet;

use crate::code::{Code, Numbering};
use crate::explain::Fact;

/// The returns of a function, and the branches at which threads part for different ones.
#[derive(Debug)]
pub struct Returns {
    returns: Vec<(Node, Option<Value>)>,
    parting: Vec<Node>,
}

/// The values that are returned by paths from a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Nothing,
    One(u32),
    Many,
}

impl Reached {
    fn and(self, other: Reached) -> Reached {
        match (self, other) {
            (Reached::Nothing, any) | (any, Reached::Nothing) => any,
            (a, b) if a == b => a,
            _ => Reached::Many,
        }
    }
}

impl Returns {
    /// Finds the returns of a function.
    #[must_use]
    pub fn new(code: Code<'_>, flow: FlowFacts<'_>, postdom: &PostDomTree) -> Returns {
        let mut returns = Vec::new();
        let mut known: Vec<Value> = Vec::new();
        let mut reached = vec![Reached::Nothing; code.flow.id_count()];
        for &block in code.flow.order() {
            let node = node_of(block);
            let Some(inst) = code.body.terminator(block) else { continue };
            if code.body.inst(inst).opcode != Opcode::Ret || !flow.dom.is_reachable(node) {
                continue;
            }
            let value = code.body.operands(inst).first().copied();
            returns.push((node, value));
            let Some(value) = value.filter(|value| !is_undefined(code, *value)) else { continue };
            let number = match is_once(code, flow.cycles, value) {
                // A new number, since this value may differ from itself in another round.
                false => known.len() as u32,
                true => known.iter().position(|k| *k == value).unwrap_or(known.len()) as u32,
            };
            if number as usize == known.len() {
                known.push(value);
            }
            reached[node.index()] = Reached::One(number);
        }
        let parting = match known.len() {
            0 | 1 => Vec::new(),
            _ => parting(flow.cfg, flow.cycles, postdom, reached),
        };
        Returns { returns, parting }
    }

    /// The same without parting branches.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn without_parting(self) -> Returns {
        Returns { parting: Vec::new(), ..self }
    }

    /// Whether a change of this instruction may change the returns or the parting branches. The
    /// graph has to be the same.
    #[must_use]
    pub fn dependencies(&self, code: Code<'_>, inst: InstId) -> bool {
        let is_returned = || self.returns.iter().any(|(_, value)| *value == Some(inst.into()));
        code.body.inst(inst).opcode == Opcode::Ret || is_returned()
    }

    /// The sources of the returned value.
    #[must_use]
    pub fn whole(&self, answer: &Divergence) -> SourceSet {
        let returned = self.returns.iter().map(|(node, _)| answer.terminator(*node));
        returned.chain(self.parted(answer)).collect()
    }

    /// The facts whose union is [`Returns::whole`] or, for a member, [`Returns::member`]: first the
    /// returns, then the parting branches.
    #[must_use]
    pub fn facts(&self, code: Code<'_>, numbering: Numbering, member: Option<u32>) -> Vec<Fact> {
        let returned = self.returns.iter().filter_map(|&(node, value)| {
            let inserted = member.zip(value).and_then(|(m, value)| inserted(code, node, value, m));
            match inserted {
                None => Some(Fact::Terminator(node)),
                Some((value, user)) => {
                    Some(Fact::Use(numbering.operand(value)?, User::value(numbering.inst(user))))
                }
            }
        });
        returned.chain(self.parting.iter().map(|&node| Fact::Terminator(node))).collect()
    }

    fn parted<'a>(&'a self, answer: &'a Divergence) -> impl Iterator<Item = SourceSet> + 'a {
        self.parting.iter().map(|node| answer.terminator(*node))
    }

    /// The sources of one member of a returned structure: those of the value that `insertvalue`
    /// puts there, if it is in the block of the return. Otherwise the sources of the whole
    /// structure.
    #[must_use]
    pub fn member(
        &self,
        code: Code<'_>,
        numbering: Numbering,
        answer: &Divergence,
        member: u32,
    ) -> SourceSet {
        let mut sources: SourceSet = self.parted(answer).collect();
        for &(node, value) in &self.returns {
            let inserted = value.and_then(|value| inserted(code, node, value, member));
            sources |= match inserted {
                None => answer.terminator(node),
                Some((value, user)) => {
                    let user = User::value(numbering.inst(user));
                    let value = numbering.operand(value);
                    value.map_or(SourceSet::EMPTY, |value| answer.at_use(value, user))
                }
            };
        }
        sources
    }
}

/// The value of a member and the `insertvalue` that puts it there, searched upwards from a return
/// in its block.
fn inserted(code: Code<'_>, node: Node, mut value: Value, member: u32) -> Option<(Value, InstId)> {
    // The bound limits the cost of long chains.
    for _ in 0..64 {
        let inst = value.as_inst()?;
        let is_here = code.body.block_of(inst).map(node_of) == Some(node);
        if !is_here || code.body.inst(inst).opcode != Opcode::InsertValue {
            return None;
        }
        let &[aggregate, element] = code.body.operands(inst) else { return None };
        match *code.body.indices(inst) {
            [first] if first == member => return Some((element, inst)),
            // Only a part of the member is inserted.
            [first, ..] if first == member => return None,
            _ => value = aggregate,
        }
    }
    None
}

fn is_undefined(code: Code<'_>, value: Value) -> bool {
    let is = |constant| {
        matches!(code.context.const_data(constant).kind, ConstKind::Undef | ConstKind::Poison)
    };
    value.as_const().is_some_and(is)
}

/// Whether a value is computed at most once per call.
fn is_once(code: Code<'_>, cycles: &Cycles, value: Value) -> bool {
    match value.kind() {
        ValueKind::Const(_) | ValueKind::Arg(_) => true,
        ValueKind::Inst(inst) => {
            let block = code.body.block_of(inst).map(node_of);
            block.is_some_and(|block| cycles.innermost(block).is_none())
        }
        _ => false,
    }
}

/// The parting branches for some blocks with values, as for returns. `given` has each block with
/// its value, and whether that value is computed at most once per call.
pub(super) fn parting_for<T: PartialEq + Copy>(
    flow: FlowFacts<'_>,
    postdom: &PostDomTree,
    blocks: usize,
    given: &[(Node, T, bool)],
) -> Vec<Node> {
    let mut reached = vec![Reached::Nothing; blocks];
    let mut known: Vec<T> = Vec::new();
    for &(node, what, is_once) in given {
        let same = known.iter().position(|k| *k == what).filter(|_| is_once);
        let number = same.unwrap_or(known.len());
        if number == known.len() {
            known.push(what);
        }
        reached[node.index()] = Reached::One(number as u32);
    }
    match known.len() {
        0 | 1 => Vec::new(),
        _ => parting(flow.cfg, flow.cycles, postdom, reached),
    }
}

/// The parting branches. `reached` has the values that each block itself returns.
fn parting(
    cfg: &Cfg,
    cycles: &Cycles,
    postdom: &PostDomTree,
    mut reached: Vec<Reached>,
) -> Vec<Node> {
    let has_any = |node: &Node| reached[node.index()] != Reached::Nothing;
    let mut work: Vec<Node> = cfg.nodes().filter(has_any).collect();
    while let Some(node) = work.pop() {
        for &pred in cfg.predecessors(node) {
            let old = reached[pred.index()];
            let new = old.and(reached[node.index()]);
            if new != old {
                reached[pred.index()] = new;
                work.push(pred);
            }
        }
    }
    // Whether a block has a post-dominator outside of all cycles. Ancestors in the tree come first.
    let mut followed = vec![false; cfg.node_count()];
    let mut nodes: Vec<Node> = cfg.nodes().collect();
    nodes.sort_by_key(|node| postdom.level(*node));
    for &node in &nodes {
        followed[node.index()] = postdom
            .ipdom(node)
            .is_some_and(|next| cycles.innermost(next).is_none() || followed[next.index()]);
    }
    let mut found: Vec<Node> = nodes
        .into_iter()
        .filter(|node| cfg.is_branch(*node))
        .filter(|node| reached[node.index()] == Reached::Many && !followed[node.index()])
        .collect();
    found.sort_unstable();
    found
}
