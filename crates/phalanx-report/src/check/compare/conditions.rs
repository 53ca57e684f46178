//! Spells the conditions under which an operation is executed as text that is equal in both
//! versions of a module.
//!
//! Ids and names of values differ between versions, so a condition is spelled by what it computes:
//!
//! ```text
//! %x = call i32 @llvm.amdgcn.workitem.id.x()
//! %c = icmp ult i32 %x, %n              icmp/6(llvm.amdgcn.workitem.id.x(), arg 1)
//! br i1 %c, label %in, label %out       ... goes 1 of 2
//! ```
//!
//! A branch belongs to the conditions of a block if the block's execution depends on it. If each of
//! them leads to the block by one edge only, the branches form a chain, and a thread executes the
//! block if it takes the right edge at all of them. So blocks of two versions with the same
//! conditions are executed by the same threads. This holds for blocks outside of cycles only. A
//! condition that reads memory, a phi or results from other threads has no spelling, since its
//! value depends on more than its operands.
//!
//! ```text
//! if (c) { if (d) X }        c goes 1 of 2, d goes 1 of 2
//! if (c) X else if (d) X     c goes both ways: no conclusion
//! ```
//!
//! Cost: O(branches × blocks) per block, and at most [`PARTS`] instructions per condition.

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::Node;
use phalanx_ir::{ConstKind, GlobalName, Opcode, Value, ValueKind, flow::block_of};
use phalanx_target::intrinsics;

use super::parted::Graph;

/// How many instructions of a condition are spelled, and how deep they may nest.
const PARTS: usize = 64;
const DEPTH: usize = 16;

/// The conditions of a block; none if they cannot be spelled.
pub(super) fn conditions(
    (db, input): (&Database, FunctionInput),
    graph: &Graph<'_>,
    block: Node,
) -> Option<Vec<String>> {
    if queries::cycles(db, input)?.innermost(block).is_some() {
        return None;
    }
    let body = input.body(db);
    let mut all = Vec::new();
    for (branch, ways) in graph.deciding(block) {
        let end = body.terminator(block_of(branch))?;
        let [way] = ways[..] else { return None };
        if body.inst(end).opcode != Opcode::Br {
            return None;
        }
        let condition = *body.operands(end).first()?;
        let mut text = String::new();
        spell((db, input), condition, DEPTH, &mut { PARTS }, &mut text)?;
        all.push(format!("{text} goes {way}"));
    }
    all.sort();
    all.dedup();
    Some(all)
}

/// Spells a value; none if it depends on anything besides arguments and the ids that the target
/// gives each thread.
fn spell(
    (db, input): (&Database, FunctionInput),
    value: Value,
    depth: usize,
    parts: &mut usize,
    out: &mut String,
) -> Option<()> {
    let (context, body) = (input.module(db).context(db), input.body(db));
    *parts = parts.checked_sub(1)?;
    let inst = match value.kind() {
        ValueKind::Arg(position) => {
            out.push_str(&format!("arg {position}"));
            return Some(());
        }
        ValueKind::Const(constant) => {
            match &context.const_data(constant).kind {
                ConstKind::Int(int) => out.push_str(&format!("{:?}", int.words())),
                ConstKind::Null | ConstKind::Zero => out.push('0'),
                _ => return None,
            }
            return Some(());
        }
        ValueKind::Inst(inst) => inst,
        _ => return None,
    };
    let data = body.inst(inst);
    let operands = match data.opcode {
        Opcode::Call => {
            let ConstKind::Global(GlobalName::Named(name)) =
                context.const_data(body.const_callee(inst)?).kind
            else {
                return None;
            };
            let known = intrinsics::lookup(context.bytes(name))?.info;
            if known.convergent || !known.speculatable {
                return None;
            }
            out.push_str(&context.text(name));
            body.call_args(inst)
        }
        opcode if opcode.is_binary() || opcode.is_cast() || opcode == Opcode::ICmp => {
            let bits = context.type_kind(data.ty).number_bits().unwrap_or(0);
            out.push_str(&format!("{}/{}:{bits}", opcode.text(), data.sub));
            body.operands(inst)
        }
        Opcode::Select | Opcode::Freeze => {
            out.push_str(data.opcode.text());
            body.operands(inst)
        }
        _ => return None,
    };
    let depth = depth.checked_sub(1)?;
    out.push('(');
    for &operand in operands {
        spell((db, input), operand, depth, parts, out)?;
        out.push(',');
    }
    out.push(')');
    Some(())
}
