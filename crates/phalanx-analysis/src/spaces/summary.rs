//! The memories that a function returns to its callers, and those that it passes to its callees.
//!
//! [`returned`] solves the function with a bit for each generic parameter in place of the memories
//! that the parameter may lead to. Sets grow by union only, so the bits that reach a `ret` are the
//! parameters to whose memories the result may lead. If a cast or a test bounds a parameter, the
//! bound replaces it.
//!
//! [`passed`] reads the sets of the arguments of a call.

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{InstId, Opcode};

use super::{Returned, SpaceFacts, kinds::MemoryKinds, rules::MEMORIES, solve::Solver};
use crate::code::SpaceSet;
use crate::{
    code::{Code, Environment},
    memory::PrivateMemory,
};

/// Which memories the result of a function may lead to.
#[must_use]
pub fn returned(
    code: Code<'_>,
    env: Environment<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
) -> Returned {
    let mut solver = Solver::new(code, env, graph, memory, facts, true);
    solver.solve();
    let mut set = 0;
    for &block in graph.1.preorder() {
        let Some(last) = code.body.terminator(phalanx_ir::flow::block_of(block)) else { continue };
        if code.body.inst(last).opcode == Opcode::Ret
            && let Some(&value) = code.body.operands(last).first()
        {
            set |= solver.nodes.at(&solver.sets, value, (last, None));
        }
    }
    Returned {
        own: SpaceSet::from_bits((set & MEMORIES) as u16),
        arguments: set >> 16,
        function_type: code.header.ty,
    }
}

/// Which memories a call passes, by position.
pub fn passed<'a>(
    code: Code<'a>,
    kinds: &'a MemoryKinds,
    call: InstId,
) -> impl Iterator<Item = SpaceSet> + 'a {
    let count = code.body.call_args(call).len() as u32;
    (0..count).map(move |at| kinds.at(code.body, call, at))
}
