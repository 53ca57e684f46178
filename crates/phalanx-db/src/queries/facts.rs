//! The tables from which divergence is solved: of small functions, and of large ones from scratch.

use phalanx_analysis::{lower, memory::PrivateMemory};
use phalanx_core::divergence::{self as solver, ValueTable};
use phalanx_ir::{Body, Flow as Blocks, Opcode};

use super::called::{Attributes, NO_CALLEES, attributes_of_callees};
use super::known_calls::KnownCalls;
use super::memory::private_memory;
use super::own_environment::{with_attributes, with_code, with_parts};
use crate::FunctionInput;
use crate::queries::graph::flow_facts;

use salsa::Database as Db;

/// The affect map, and what each definition contributes by itself.
///
/// *Reads* `header`, `flow`, `body`, the graph facts, `module_facts`, `launch` or [`launch_facts`],
/// summaries of the callees, [`argument_facts`]; of a small function with stack slots
/// [`private_memory`]. *Changes when* an instruction does. *Cost* near-linear.
///
/// [`argument_facts`]: super::argument_facts
/// [`launch_facts`]: super::launch_facts
#[salsa::tracked(returns(ref))]
pub fn affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    let flow = flow_facts(db, function)?;
    if function.is_large(db) || !has_slots(function.flow(db), function.body(db)) {
        let parts = (function.flow(db), function.body(db));
        return Some(new_affect_map(
            db,
            (function, parts),
            &KnownCalls::of_any(db, function),
            flow,
        ));
    }
    // Not looked through again, where others ask for it as well.
    let slots = private_memory(db, function).as_ref()?;
    with_code(db, function, NO_CALLEES, |code, env| {
        let memory = slots.followed_through_calls(code, env, flow.cfg, flow.dom);
        lower::full_with(code, env, &memory, 0)
    })
}

/// Whether there may be stack slots that are private memory.
fn has_slots(flow: &Blocks, body: &Body) -> bool {
    let mut insts = flow.entry().into_iter().flat_map(|entry| body.block_insts(entry));
    insts.any(|inst| body.inst(inst).opcode == Opcode::Alloca)
}

/// As [`affect_map`], computed from scratch for a function with a body. Not a query.
pub(super) fn new_affect_map(
    db: &dyn Db,
    code: (FunctionInput, (&Blocks, &Body)),
    calls: &KnownCalls<'_>,
    flow: solver::FlowFacts<'_>,
) -> ValueTable {
    with_parts(db, code, (Attributes::Of(NO_CALLEES), calls), |code, env| {
        let memory = PrivateMemory::through_calls(code, env, flow.cfg, flow.dom);
        lower::full_with(code, env, &memory, 0)
    })
}

/// As [`affect_map`], with LLVM 22's sources and always-uniform values.
///
/// *Reads*, *changes*, *costs* as [`affect_map`]; reads [`callees`] as well, or
/// [`function_attributes`].
#[salsa::tracked(returns(ref))]
pub fn llvm_affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    new_llvm_affect_map(db, function)
}

/// As [`llvm_affect_map`], computed from scratch. Not a query.
pub(super) fn new_llvm_affect_map(db: &dyn Db, function: FunctionInput) -> Option<ValueTable> {
    with_attributes(db, function, attributes_of_callees(db, function), lower::as_llvm)
}
