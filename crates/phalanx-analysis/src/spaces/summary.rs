//! What a function says of memories to those who call it and whom it calls.
//!
//! [`returned`] solves the function with a bit for each generic parameter in place of what the
//! parameter may lead to. Sets only ever grow by union, so the bits that reach a `ret` are the
//! parameters whose memories the result may lead to. Where a cast or a test bounds a parameter, the
//! bound takes its place.
//!
//! [`passed`] reads off the arguments of calls.

use phalanx_graph::{Cfg, DomTree};
use phalanx_ir::{InstId, Opcode};

use super::{Returned, SpaceFacts, kinds::MemoryKinds, rules::MEMORIES, solve::Solver};
use crate::code::SpaceSet;
use crate::{
    code::{Code, Surroundings},
    memory::PrivateMemory,
};

/// What a function returns.
#[must_use]
pub fn returned(
    code: Code<'_>,
    around: Surroundings<'_>,
    graph: (&Cfg, &DomTree),
    memory: &PrivateMemory,
    facts: &dyn SpaceFacts,
) -> Returned {
    let mut solver = Solver::new(code, around, graph, memory, facts, true);
    solver.solve();
    let mut set = 0;
    for &block in graph.1.preorder() {
        let Some(last) = code.body.terminator(phalanx_ir::flow::block_of(block)) else { continue };
        if code.body.inst(last).opcode == Opcode::Ret
            && let Some(&value) = code.body.operands(last).first()
        {
            set |= solver.at(value, last, None);
        }
    }
    Returned {
        own: SpaceSet::from_bits((set & MEMORIES) as u16),
        arguments: set >> 16,
        function_type: code.header.ty,
    }
}

/// What a call passes, by position.
pub fn passed<'a>(
    code: Code<'a>,
    kinds: &'a MemoryKinds,
    call: InstId,
) -> impl Iterator<Item = SpaceSet> + 'a {
    let count = code.body.call_args(call).len() as u32;
    (0..count).map(move |at| kinds.at(code.body, call, at))
}
