//! Calls of debug intrinsics become debug records.
//!
//! `call void @llvm.dbg.value(metadata i32 %x, metadata !7, metadata !DIExpression()), !dbg !9` is
//! `#dbg_value(i32 %x, !7, !DIExpression(), !9)` before the next instruction. A call without a
//! place in the source program is left as it is, for the verifier to refuse.

use std::sync::Arc;

use phalanx_ir::{
    ConstKind, Context, Function, GlobalName, InstId, Module, Opcode, Value, ValueKind,
    metadata::{
        DebugAssign, DebugRecord, DebugVariable, DebugVariableKind, LocalMetadata, MetadataId, kind,
    },
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::parser::Parsed;

#[derive(Copy, Clone)]
enum Form {
    Variable(DebugVariableKind),
    Assign,
    Label,
}

/// Rewrites all functions and takes out the declarations.
///
/// # Errors
/// With a call, when the module has records as well.
pub(super) fn upgrade(parsed: &mut Parsed) -> Result<(), (usize, InstId)> {
    let module = &mut parsed.module;
    let forms = forms(module);
    if forms.is_empty() {
        return Ok(());
    }
    let context = Arc::clone(&module.context);
    let has_records = module.functions.iter().any(|f| !f.extras.debug_records.is_empty());
    let mut plans = Vec::with_capacity(module.functions.len());
    for (index, function) in module.functions.iter().enumerate() {
        let plan = plan(&context, function, &forms, has_records).map_err(|inst| (index, inst))?;
        // Calls and records do not mix: where one call is no record, all stay.
        let Some(plan) = plan else { return Ok(()) };
        plans.push(plan);
    }
    for (function, plan) in module.functions.iter_mut().zip(plans) {
        rewrite(function, plan);
    }
    let names: FxHashSet<GlobalName> = forms.values().map(|&(name, _)| name).collect();
    super::remove_declarations(parsed, |header| names.contains(&header.name));
    Ok(())
}

/// The debug intrinsics that are declared, by callee.
fn forms(module: &Module) -> FxHashMap<Value, (GlobalName, Form)> {
    let context = &*module.context;
    let mut forms = FxHashMap::default();
    for function in &module.functions {
        let name = function.header.name;
        let form = match name.symbol().map(|symbol| context.bytes(symbol)) {
            Some(b"llvm.dbg.value") => Form::Variable(DebugVariableKind::Value),
            Some(b"llvm.dbg.declare") => Form::Variable(DebugVariableKind::Declare),
            Some(b"llvm.dbg.assign") => Form::Assign,
            Some(b"llvm.dbg.label") => Form::Label,
            _ => continue,
        };
        let ty = context.ptr_type(function.header.address_space);
        let callee = context.constant(ty, ConstKind::Global(name));
        forms.insert(callee.into(), (name, form));
    }
    forms
}

/// A call and the record it becomes, before an instruction.
struct Rewritten {
    call: InstId,
    before: InstId,
    record: DebugRecord,
}

/// What becomes of the calls of one function.
#[derive(Default)]
struct Plan {
    rewritten: Vec<Rewritten>,
    dropped: Vec<InstId>,
}

/// What becomes of the calls of one function; none if one of them is no record.
fn plan(
    context: &Context,
    function: &Function,
    forms: &FxHashMap<Value, (GlobalName, Form)>,
    has_records: bool,
) -> Result<Option<Plan>, InstId> {
    let Function { flow, body, extras, .. } = function;
    let Plan { mut rewritten, mut dropped } = Plan::default();
    for &block in flow.order() {
        // Calls that wait for the instruction their record is to stand before.
        let mut waiting = rewritten.len();
        for inst in body.block_insts(block) {
            let form = match body.inst(inst).opcode {
                Opcode::Call => forms.get(&body.callee(inst)),
                _ => None,
            };
            let Some(&(_, form)) = form else {
                rewritten[waiting..].iter_mut().for_each(|call| call.before = inst);
                waiting = rewritten.len();
                continue;
            };
            if has_records {
                return Err(inst);
            }
            let location = extras.attachments_of(inst).find(|a| a.kind == kind::DBG);
            let operands: SmallVec<[Option<&LocalMetadata>; 6]> = body
                .call_args(inst)
                .iter()
                .map(|value| match value.kind() {
                    ValueKind::Metadata(id) => Some(body.local_metadata(id)),
                    _ => None,
                })
                .collect();
            let mut operands = operands;
            // Before there were expressions, the offset into the variable was an operand.
            if matches!(form, Form::Variable(DebugVariableKind::Value))
                && operands.len() == 4
                && operands[1].is_none()
            {
                operands.remove(1);
                if !is_zero(context, body.call_args(inst)[1]) {
                    // LLVM drops what has another offset than 0.
                    dropped.push(inst);
                    continue;
                }
            }
            match location.and_then(|location| record(form, &operands, location.node)) {
                Some(record) => rewritten.push(Rewritten { call: inst, before: inst, record }),
                None => return Ok(None),
            }
        }
        // Blocks end in a terminator, so nothing waits here; a block that does not is kept as it
        // is.
        if waiting != rewritten.len() {
            return Ok(None);
        }
    }
    Ok(Some(Plan { rewritten, dropped }))
}

/// Puts records in the place of calls.
fn rewrite(function: &mut Function, plan: Plan) {
    let Plan { rewritten, dropped } = plan;
    if rewritten.is_empty() && dropped.is_empty() {
        return;
    }
    let Function { body, extras, .. } = function;
    let calls = rewritten.iter().map(|call| call.call);
    let gone: FxHashSet<InstId> = calls.chain(dropped.iter().copied()).collect();
    dropped.into_iter().for_each(|call| body.unlink(call));
    extras.attachments.retain(|(inst, _)| !gone.contains(inst));
    for Rewritten { call, before, record } in rewritten {
        body.unlink(call);
        extras.debug_records.push((before, record));
    }
    extras.debug_records.sort_by_key(|&(before, _)| before);
}

fn is_zero(context: &Context, value: Value) -> bool {
    let kind = value.as_const().map(|constant| &context.const_data(constant).kind);
    match kind {
        Some(ConstKind::Int(number)) => number.to_u64() == Some(0),
        kind => matches!(kind, Some(ConstKind::Zero)),
    }
}

fn record(
    form: Form,
    operands: &[Option<&LocalMetadata>],
    location: MetadataId,
) -> Option<DebugRecord> {
    let node = |at: usize| operands.get(at).copied().flatten()?.as_node();
    let value = |at: usize| operands.get(at).copied().flatten().cloned();
    Some(match form {
        Form::Variable(kind) => DebugRecord::Variable(DebugVariable {
            kind,
            value: value(0)?,
            variable: node(1)?,
            expression: node(2)?,
            location,
        }),
        Form::Assign => DebugRecord::Assign(Box::new(DebugAssign {
            value: value(0)?,
            variable: node(1)?,
            expression: node(2)?,
            id: node(3)?,
            address: value(4)?,
            address_expression: node(5)?,
            location,
        })),
        Form::Label => DebugRecord::Label { label: node(0)?, location },
    })
}
