//! Random edits of instructions.

use phalanx::ir::{
    BlockId, Body, BuildError, Flow, InstBuilder, InstId, Opcode, Type, Value,
    edit::Transaction,
    inst::{InstFlags, IntPredicate},
};
use phalanx_graph::{Cfg, DomTree};
use rand::{Rng, RngCore, seq::IndexedRandom};

/// Dominance at the start of the transaction.
pub(crate) struct Graph {
    dom: DomTree,
}

impl Graph {
    pub(crate) fn new(flow: &Flow) -> Self {
        let cfg: Cfg = flow.cfg().expect("the function has a body");
        Graph { dom: DomTree::new(&cfg) }
    }

    /// Values of a type that are available before an instruction, judged by blocks only.
    fn available(&self, body: &Body, at: InstId, ty: Type, arguments: &[Value]) -> Vec<Value> {
        let Some(block) = body.block_of(at) else { return Vec::new() };
        let node = |b: BlockId| phalanx::ir::flow::node_of(b);
        let mut out: Vec<Value> = arguments.to_vec();
        for inst in body.all_ids().filter(|&i| body.inst(i).ty == ty) {
            let Some(b) = body.block_of(inst) else { continue };
            let count = self.dom.node_count();
            let is_known = node(b).index() < count && node(block).index() < count;
            let is_above =
                b != block && is_known && self.dom.strictly_dominates(node(b), node(block));
            let is_before =
                b == block && body.block_insts(b).take_while(|&i| i != at).any(|i| i == inst);
            if is_above || is_before {
                out.push(Value::inst(inst));
            }
        }
        out
    }
}

/// Any instruction of any block.
pub(super) fn any_inst(edit: &Transaction<'_>, rng: &mut dyn RngCore) -> Option<InstId> {
    let block = *edit.flow().order().choose(rng)?;
    let insts: Vec<InstId> = edit.body().block_insts(block).collect();
    insts.choose(rng).copied()
}

fn arguments(edit: &Transaction<'_>, ty: Type) -> Vec<Value> {
    let params = edit.header().params.iter().enumerate();
    params.filter(|(_, t)| **t == ty).map(|(at, _)| Value::arg(at as u32)).collect()
}

/// A value of a type that is available before an instruction, or a constant.
pub(super) fn any_value(
    edit: &Transaction<'_>,
    graph: &Graph,
    at: InstId,
    ty: Type,
    rng: &mut dyn RngCore,
) -> Value {
    let constant = match ty {
        Type::I32 => edit.context().const_i32(rng.random_range(-2..70)),
        ty => edit.context().const_zero(ty),
    };
    let mut all = graph.available(edit.body(), at, ty, &arguments(edit, ty));
    all.push(constant.into());
    *all.choose(rng).expect("there is a constant")
}

/// One edit of instructions.
pub(crate) fn instructions(
    edit: &mut Transaction<'_>,
    graph: &Graph,
    rng: &mut dyn RngCore,
) -> Result<(), BuildError> {
    let Some(inst) = any_inst(edit, rng) else { return Ok(()) };
    let (data, operands) = (*edit.body().inst(inst), edit.body().operands(inst).to_vec());
    match rng.random_range(0..12) {
        0..=3 if !operands.is_empty() => {
            let index = rng.random_range(0..operands.len());
            let Some(ty) = edit.type_of(operands[index]) else { return Ok(()) };
            // A phi reads its operand at the end of the block that it comes from.
            let at = match data.opcode {
                Opcode::Phi => {
                    let from = edit.body().phi_incoming(inst).nth(index % (operands.len() / 2));
                    from.and_then(|(_, from)| edit.body().last(from)).unwrap_or(inst)
                }
                _ => inst,
            };
            let value = any_value(edit, graph, at, ty, rng);
            edit.set_operand(inst, index as u32, value)
        }
        4 | 5 if data.opcode != Opcode::Phi => {
            let a = any_value(edit, graph, inst, Type::I32, rng);
            let b = any_value(edit, graph, inst, Type::I32, rng);
            let new = edit.before(inst).named("new").sub(a, b)?;
            let reading = operands.iter().position(|&o| edit.type_of(o) == Some(Type::I32));
            match reading {
                Some(index) => edit.set_operand(inst, index as u32, new),
                None => Ok(()),
            }
        }
        6 => edit.erase(inst),
        7 if data.ty != Type::VOID => {
            let value = any_value(edit, graph, inst, data.ty, rng);
            edit.replace(inst, value)
        }
        8 if data.opcode.is_binary() => {
            let opcodes = [Opcode::Add, Opcode::Sub, Opcode::Xor, Opcode::And, Opcode::LShr];
            edit.set_opcode(inst, *opcodes.choose(rng).expect("there are some"))?;
            edit.set_flags(inst, if rng.random() { InstFlags::NUW } else { InstFlags::NONE })
        }
        9 => {
            let copy = edit.after(inst).clone_of(inst)?;
            match operands.iter().position(|&o| edit.type_of(o) == Some(Type::I32)) {
                Some(index) => {
                    let value = any_value(edit, graph, copy, Type::I32, rng);
                    edit.set_operand(copy, index as u32, value)
                }
                None => Ok(()),
            }
        }
        10 => {
            let Some(before) = any_inst(edit, rng) else { return Ok(()) };
            edit.move_before(inst, before)
        }
        11 if data.opcode == Opcode::ICmp => {
            let all = IntPredicate::ALL;
            edit.set_int_predicate(inst, *all.choose(rng).expect("there are some"))
        }
        _ => edit.set_name(inst, "renamed"),
    }
}
