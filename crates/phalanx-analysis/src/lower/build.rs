//! One pass over a function, which turns rules into the table of values.

use phalanx_core::{
    affect::Value,
    divergence::{self, ValueTable, ValueTableBuilder},
};
use phalanx_fixpoint::interrupt;
use phalanx_graph::Node;
use phalanx_ir::{Body, InstId, Opcode, flow::node_of};

use super::rule::{
    LoweringRules, Reads, TerminatorRule, has_operands, incoming, operands, rule_of,
};
use crate::code::{Code, Numbering};

/// One pass over the blocks in order: definitions, uses, phis and terminators. `rules` is a type of
/// its own so that the common case, a pure function of all operands, costs no call.
pub(super) fn lower<R: LoweringRules>(code: Code<'_>, rules: &mut R) -> ValueTable {
    lower_open(code, rules).finish()
}

/// As [`lower`], but the caller can add to the table.
pub(super) fn lower_open<R: LoweringRules>(code: Code<'_>, rules: &mut R) -> ValueTableBuilder {
    let Code { context, header, flow, body, .. } = code;
    let numbering = Numbering::new(header);
    let values = header.params.len() + body.id_count();
    let Some(entry) = flow.entry().map(node_of) else {
        return ValueTableBuilder::new(flow.id_count());
    };
    let mut table = ValueTableBuilder::with_values(flow.id_count(), values, entry);
    for position in 0..header.params.len() as u32 {
        table.define(numbering.argument(position), entry, rules.argument(position));
    }
    let mut seen = 0;
    for &block in flow.order() {
        interrupt::poll();
        let node = node_of(block);
        for inst in body.block_insts(block) {
            seen += 1;
            let opcode = body.inst(inst).opcode;
            let user = numbering.inst(inst);
            if rules.is_plain(opcode) {
                table.define_pure(user, node);
                for operand in body.operands(inst).iter().filter_map(|&o| numbering.operand(o)) {
                    table.operand(operand, user);
                }
                continue;
            }
            if opcode == Opcode::Phi {
                table.define_phi(user, node, divergence::Definition::PURE);
                incoming(context, body, numbering, rules, inst, |entry| {
                    table.incoming(user, entry);
                });
                continue;
            }
            if has_operands(opcode) {
                let reads = define(&mut table, rules, body, inst, (user, node));
                operands(body, numbering, inst, reads, |operand| table.operand(operand, user));
            } else {
                table.define(user, node, divergence::Definition::IMPURE);
            }
            if opcode.is_terminator() {
                match rules.terminator(inst) {
                    TerminatorRule::Fixed => {
                        table.fix_terminator(node);
                        continue;
                    }
                    TerminatorRule::Source(sources) => table.seed_terminator(node, sources),
                    TerminatorRule::Operands => {}
                }
                let operands = body.operands(inst).iter();
                operands
                    .filter_map(|&operand| numbering.operand(operand))
                    .for_each(|operand| table.terminator_operand(operand, node));
            }
        }
    }
    if seen < body.id_count() {
        define_unlisted(&mut table, rules, code);
    }
    table
}

/// States the definition of an instruction that is no phi; returns what it reads.
#[inline(always)]
fn define<R: LoweringRules>(
    table: &mut ValueTableBuilder,
    rules: &mut R,
    body: &Body,
    inst: InstId,
    (value, block): (Value, Node),
) -> Reads {
    let rule = rule_of(body, rules, inst);
    let mut definition = rule.definition;
    if let Some(image) = rule.image {
        definition.transfer = table.image(image);
    }
    table.define(value, block, definition);
    rule.reads
}

/// Definitions of instructions in blocks that are not listed in the order. These blocks are never
/// executed, so uses do not count.
#[cold]
fn define_unlisted<R: LoweringRules>(table: &mut ValueTableBuilder, rules: &mut R, code: Code<'_>) {
    let Code { header, flow, body, .. } = code;
    let numbering = Numbering::new(header);
    let mut is_listed = vec![false; flow.id_count()];
    for &block in flow.order() {
        is_listed[node_of(block).index()] = true;
    }
    for inst in body.all_ids() {
        let Some(block) = body.block_of(inst).map(node_of) else { continue };
        if is_listed[block.index()] {
            continue;
        }
        let value = numbering.inst(inst);
        if body.inst(inst).opcode == Opcode::Phi {
            table.define_phi(value, block, divergence::Definition::PURE);
        } else {
            define(table, rules, body, inst, (value, block));
        }
    }
}
