//! Why an address may lead to a memory: the shortest chain of rules from the address to the place
//! where the memory comes in.
//!
//! # What
//!
//! A [`SpaceChain`] begins at an address and ends at an *origin*: a stack slot, the address of a
//! variable, an argument, or a value of which nothing is known. Each [`SpaceLink`] is one rule of
//! [`rules`](super::rules): its place may lead to the memory because the next place may.
//!
//! ```text
//! %s = addrspacecast ptr addrspace(3) @buffer to ptr
//! %p = select i1 %c, ptr %s, ptr %local   ; shared: %p, made from %s, made from @buffer (origin)
//! ```
//!
//! # How
//!
//! Sets are least fixpoints of unions, cut down by fixed bounds. So a memory is in a set exactly if
//! a path along inputs leads to an origin, on which no bound removes the memory; this is the
//! argument for the solver, too. A breadth-first search from the address to its inputs finds a
//! shortest path. Among paths of equal length, the order of operands decides.
//!
//! The solver retains nothing for this. O(analysis + edges looked at) for each question.

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{InstId, Opcode, Value, ValueKind, attributes::AttrKind};
use rustc_hash::FxHashSet;

use super::{MemoryKinds, SpaceFacts, rules::Input, solve::Solver};
use crate::code::SpaceSet;
use crate::{
    code::{Code, Environment},
    memory::{PrivateMemory, private::readers::ReaderNode},
};

/// Something that may lead to a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpacePlace {
    /// A value.
    Value(Value),
    /// What an instruction writes to a private object.
    Write(InstId),
    /// What a private object holds at a memory phi.
    Join {
        /// The block.
        block: Node,
        /// The stack slot.
        object: InstId,
    },
}

/// Why a place may lead to a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceCause {
    /// The value is made from the next place: by a step, a cast, a selection, or a call that
    /// returns its argument.
    Made,
    /// The place is a phi, which has the next place as its entry from this block.
    From(Node),
    /// The value is loaded from private memory, which holds the next place.
    Held,
    /// The write stores the next place.
    Stored,
    /// The memory comes in here.
    Origin(SpaceOrigin),
}

/// Where a memory comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceOrigin {
    /// A stack slot.
    StackSlot,
    /// A constant: the address of a variable, null, a number.
    Constant,
    /// An argument of a kernel: the host passes addresses of device memory.
    Kernel,
    /// An argument by value: a copy that the kernel or function is passed.
    ByValue,
    /// An argument of a function all of whose callers are known.
    Passed,
    /// An argument of a function that may be called from outside.
    Argument,
    /// A load from memory whose content is not tracked.
    Loaded,
    /// A load from memory that only the host writes.
    Host,
    /// A load from a constant table.
    Table,
    /// The result of a call whose callee returns an address of its own.
    Returned,
    /// The result of a call of which nothing is known.
    Called,
    /// An integer that is not tracked.
    Integer,
    /// Private memory whose content is not tracked, or that was not written before.
    Content,
    /// Anything else: the value may lead to all that its type can address.
    Type,
}

/// One rule of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpaceLink {
    /// The place that may lead to the memory.
    pub place: SpacePlace,
    /// Why it may.
    pub cause: SpaceCause,
}

/// A chain that says why an address may lead to some memories, all for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceChain {
    /// The memories.
    pub memories: SpaceSet,
    /// The address first, the origin last.
    pub links: Vec<SpaceLink>,
}

/// An address that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceSubject {
    /// A value, wherever it is used.
    Value(Value),
    /// An operand where an instruction reads it.
    Use(InstId, u32),
}

impl SpaceSubject {
    /// What it may lead to.
    #[must_use]
    pub fn set(self, code: Code<'_>, kinds: &MemoryKinds) -> SpaceSet {
        match self {
            SpaceSubject::Value(value) => kinds.of(value),
            SpaceSubject::Use(user, index) => kinds.at(code.body, user, index),
        }
    }

    /// The value.
    #[must_use]
    pub fn value(self, code: Code<'_>) -> Option<Value> {
        match self {
            SpaceSubject::Value(value) => Some(value),
            SpaceSubject::Use(user, index) => code.body.operands(user).get(index as usize).copied(),
        }
    }
}

/// Why an address may lead to each of some memories: a shortest chain for each, shared by memories
/// with the same chain. There is none for memories to which the address does not lead.
#[must_use]
pub fn space_chains(
    code: Code<'_>,
    env: Environment<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
    (subject, memories): (SpaceSubject, SpaceSet),
) -> Vec<SpaceChain> {
    let mut solver = Solver::new(code, env, graph, memory, facts, false);
    solver.solve();
    let mut chains: Vec<SpaceChain> = Vec::new();
    for memory in memories.iter() {
        let Some(links) = chain(&mut solver, subject, memory) else { continue };
        match chains.iter_mut().find(|chain| chain.links == links) {
            Some(same) => same.memories |= memory,
            None => chains.push(SpaceChain { memories: memory, links }),
        }
    }
    chains
}

/// What the search visits: a node, or a value that is no node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Item {
    Node(ReaderNode),
    Fixed(Value),
}

/// A visited item, how the search came to it, and from which item.
struct Seen {
    item: Item,
    cause: SpaceCause,
    before: usize,
}

fn chain(
    solver: &mut Solver<'_>,
    subject: SpaceSubject,
    memory: SpaceSet,
) -> Option<Vec<SpaceLink>> {
    let bit = u64::from(memory.bits());
    let code = solver.nodes.rules.code;
    let value = subject.value(code)?;
    let set = match subject {
        SpaceSubject::Use(user, _) if code.body.inst(user).opcode != Opcode::Phi => {
            solver.nodes.at(&solver.sets, value, (user, None))
        }
        _ => solver.of(value),
    };
    if set & bit == 0 {
        return None;
    }
    let first = item(solver, value);
    let mut seen = vec![Seen { item: first, cause: SpaceCause::Made, before: 0 }];
    let mut known: FxHashSet<Item> = FxHashSet::from_iter([first]);
    let mut at = 0;
    while at < seen.len() {
        let node = match seen[at].item {
            Item::Fixed(value) => {
                let origin = origin_of(solver, value);
                return Some(links(solver, &seen, at, origin));
            }
            Item::Node(node) => node,
        };
        let mut inputs: Vec<Input> = Vec::new();
        let user = solver.nodes.inputs(node, |input| inputs.push(input));
        let is_origin = |input: &Input| matches!(input, Input::Set(set) if set & bit != 0);
        if inputs.iter().any(is_origin) {
            let origin = match solver.place(node) {
                SpacePlace::Value(value) => origin_of(solver, value),
                _ => SpaceOrigin::Content,
            };
            return Some(links(solver, &seen, at, origin));
        }
        for input in inputs {
            if solver.nodes.read(&solver.sets, input, user) & bit == 0 {
                continue;
            }
            let is_write = !matches!(solver.place(node), SpacePlace::Value(_));
            let (next, cause) = match input {
                Input::Set(_) => continue,
                Input::Value(value) if is_write => (item(solver, value), SpaceCause::Stored),
                Input::Value(value) => (item(solver, value), SpaceCause::Made),
                Input::Incoming(value, from) => (item(solver, value), SpaceCause::From(from)),
                Input::Version(version) => match solver.nodes.rules.memory.number_of(version) {
                    Some(at) => (Item::Node(ReaderNode::Content(at as u32)), SpaceCause::Held),
                    None => continue,
                },
            };
            if known.insert(next) {
                seen.push(Seen { item: next, cause, before: at });
            }
        }
        at += 1;
    }
    // Every bit of a least fixpoint has an origin.
    None
}

fn item(solver: &mut Solver<'_>, value: Value) -> Item {
    match (solver.nodes.rules.fixed(value), value.as_inst()) {
        (None, Some(inst)) => Item::Node(ReaderNode::Value(inst)),
        _ => Item::Fixed(value),
    }
}

/// The path of the search, from its start to an item that is an origin.
fn links(solver: &Solver<'_>, seen: &[Seen], last: usize, origin: SpaceOrigin) -> Vec<SpaceLink> {
    let place = |at: usize| match seen[at].item {
        Item::Node(node) => solver.place(node),
        Item::Fixed(value) => SpacePlace::Value(value),
    };
    let mut links = vec![SpaceLink { place: place(last), cause: SpaceCause::Origin(origin) }];
    let mut at = last;
    while at != 0 {
        let cause = seen[at].cause;
        at = seen[at].before;
        links.push(SpaceLink { place: place(at), cause });
    }
    links.reverse();
    links
}

/// What kind of origin a value is.
fn origin_of(solver: &mut Solver<'_>, value: Value) -> SpaceOrigin {
    let rules = &mut solver.nodes.rules;
    let Code { context, header, body, .. } = rules.code;
    let inst = match value.kind() {
        ValueKind::Inst(inst) => inst,
        ValueKind::Arg(position) => {
            let attributes = context.param_attrs(header.attributes, position as usize);
            return match rules.facts.argument(position) {
                _ if attributes.has(AttrKind::ByVal) || attributes.has(AttrKind::ByRef) => {
                    SpaceOrigin::ByValue
                }
                _ if rules.is_kernel => SpaceOrigin::Kernel,
                Some(_) => SpaceOrigin::Passed,
                None => SpaceOrigin::Argument,
            };
        }
        ValueKind::Const(_) => return SpaceOrigin::Constant,
        _ => return SpaceOrigin::Type,
    };
    let data = *body.inst(inst);
    match data.opcode {
        Opcode::Alloca => SpaceOrigin::StackSlot,
        Opcode::Load => {
            let address = body.operands(inst)[0];
            match rules.memory.is_load(inst) {
                true => SpaceOrigin::Content,
                false if rules.initial(data.ty, address).is_some() => SpaceOrigin::Table,
                false if rules.generic_of(data.ty) && rules.is_written_by_host(address) => {
                    SpaceOrigin::Host
                }
                false => SpaceOrigin::Loaded,
            }
        }
        Opcode::PtrToInt
        | Opcode::IntToPtr
        | Opcode::Add
        | Opcode::Sub
        | Opcode::And
        | Opcode::Or => SpaceOrigin::Integer,
        opcode if opcode.is_call() => match rules.is_known_call(inst) {
            true => SpaceOrigin::Returned,
            false => SpaceOrigin::Called,
        },
        _ => SpaceOrigin::Type,
    }
}

impl Solver<'_> {
    /// What a node stands for.
    fn place(&self, node: ReaderNode) -> SpacePlace {
        let memory = self.nodes.rules.memory;
        let at = match node {
            ReaderNode::Value(inst) => return SpacePlace::Value(inst.into()),
            ReaderNode::Content(at) => at,
        };
        match (at as usize).checked_sub(memory.events().len()) {
            None => SpacePlace::Write(memory.touch_of(at).inst),
            Some(phi) => {
                let phi = &memory.ssa().phis()[phi];
                let object = memory.slots()[phi.variable as usize].alloca;
                SpacePlace::Join { block: phi.block, object }
            }
        }
    }
}

/// Whether every link of a chain holds by itself, and the whole chain for a memory: the slow and
/// plain check that tests use.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn chain_holds(
    code: Code<'_>,
    env: Environment<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
    chain: &SpaceChain,
) -> bool {
    let mut solver = Solver::new(code, env, graph, memory, facts, false);
    solver.solve();
    let bits = u64::from(chain.memories.bits());
    let Some((last, _)) = chain.links.split_last() else { return false };
    let mut is_sound = matches!(last.cause, SpaceCause::Origin(_));
    for pair in chain.links.windows(2) {
        let nodes = solver.sets.all().map(|(node, _)| node);
        let nodes: Vec<ReaderNode> =
            nodes.filter(|&node| solver.place(node) == pair[0].place).collect();
        let mut is_input = false;
        for node in nodes {
            let mut inputs = Vec::new();
            let user = solver.nodes.inputs(node, |input| inputs.push(input));
            for input in inputs {
                let place = match input {
                    Input::Set(_) => continue,
                    Input::Value(value) | Input::Incoming(value, _) => SpacePlace::Value(value),
                    Input::Version(version) => match memory.number_of(version) {
                        Some(at) => solver.place(ReaderNode::Content(at as u32)),
                        None => continue,
                    },
                };
                let set = solver.nodes.read(&solver.sets, input, user);
                let clamped = match node {
                    ReaderNode::Value(inst) => solver.nodes.rules.clamp(inst, set),
                    ReaderNode::Content(_) => set,
                };
                is_input |= place == pair[1].place && clamped & bits == bits;
            }
        }
        is_sound &= is_input;
    }
    is_sound
}
