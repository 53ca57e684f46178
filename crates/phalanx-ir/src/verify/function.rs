//! The verifier of one function: blocks, order, dominance.

use phalanx_graph::{Cfg, DomTree};

use crate::{
    body::InstId,
    flow::{BlockId, block_of, node_of},
    function::FunctionRef,
    inst::{InstFlags, Opcode},
    metadata::LocalMetadata,
    types::Type,
    value::{Value, ValueKind},
    verify::{
        call,
        constants::Constants,
        convergence, eh,
        env::Env,
        fault::{Check, Fault, Related, VerifyError, ensure},
        header, integrity, metadata, rules,
        view::{OperandTypes, type_of, view},
    },
};

/// A function with consistent tables, with its graph facts.
pub(crate) struct Context<'a> {
    pub(crate) env: &'a Env<'a>,
    pub(crate) function: FunctionRef<'a>,
    pub(crate) cfg: Cfg,
    pub(crate) dom: DomTree,
    /// Position in its block of each linked instruction, by id.
    positions: Vec<u32>,
}

impl<'a> Context<'a> {
    fn new(env: &'a Env<'a>, function: FunctionRef<'a>) -> Option<Self> {
        let cfg = function.flow.cfg()?;
        let dom = DomTree::new(&cfg);
        let mut positions = vec![0; function.body.id_count()];
        for &block in function.flow.order() {
            for (position, inst) in function.body.block_insts(block).enumerate() {
                positions[inst.into_raw().into_u32() as usize] = position as u32;
            }
        }
        Some(Context { env, function, cfg, dom, positions })
    }

    pub(crate) fn type_of(&self, value: Value) -> Type {
        type_of(&self.env.types, self.function.header, self.function.body, value)
    }

    /// Blocks with an edge to this one, one for each edge.
    pub(crate) fn predecessors(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.cfg.predecessors(node_of(block)).iter().map(|&node| block_of(node))
    }

    pub(crate) fn is_reachable(&self, block: BlockId) -> bool {
        self.dom.is_reachable(node_of(block))
    }

    fn position(&self, inst: InstId) -> u32 {
        self.positions[inst.into_raw().into_u32() as usize]
    }

    /// Whether the result of `def` is available when operand `use_block`/`user` is read.
    ///
    /// A phi reads its operand at the end of the incoming block, which the caller gives as
    /// `use_block`, with no user.
    fn dominates_use(&self, def: InstId, use_block: BlockId, user: Option<InstId>) -> bool {
        let body = self.function.body;
        let Some(def_block) = body.block_of(def) else { return false };
        if !self.is_reachable(use_block) {
            return true;
        }
        if !self.is_reachable(def_block) {
            return false;
        }
        if body.inst(def).opcode == Opcode::Invoke {
            return self.invoke_reaches(def_block, use_block, user);
        }
        if def_block != use_block {
            return self.dom.dominates(node_of(def_block), node_of(use_block));
        }
        user.is_none_or(|user| self.position(def) < self.position(user))
    }

    /// Whether every path to the use takes the normal edge of the invoke that ends `def_block`.
    fn invoke_reaches(&self, def_block: BlockId, use_block: BlockId, user: Option<InstId>) -> bool {
        let successors = self.function.flow.successors(def_block);
        let (normal, unwind) = (successors[0], successors[1]);
        if normal == unwind {
            // Broken edges are reported elsewhere; the uses cannot be judged.
            return true;
        }
        if user.is_none() && use_block == def_block {
            // The use is at the end of the invoke's own block; the caller has checked that the phi
            // is in the normal destination.
            return true;
        }
        let dominates = |a, b| self.dom.dominates(node_of(a), node_of(b));
        dominates(normal, use_block)
            && self.predecessors(normal).all(|pred| {
                pred == def_block || !self.is_reachable(pred) || dominates(normal, pred)
            })
    }
}

/// All broken rules of a function, in the order of the text.
pub(crate) fn check(
    env: &Env<'_>,
    constants: &mut Constants,
    function: FunctionRef<'_>,
) -> Vec<VerifyError> {
    let mut errors = integrity::check(env, function);
    if !errors.is_empty() {
        return errors;
    }
    let body = function.body;
    for &block in function.flow.order() {
        if body.terminator(block).is_none() {
            errors.push(VerifyError {
                function: Some(function.header.name),
                block: Some(block),
                inst: None,
                message: "Basic Block in function does not have terminator!".into(),
                related: Vec::new(),
            });
        }
    }
    if !errors.is_empty() {
        return errors;
    }
    let mut report = |block, inst, fault: Fault| {
        errors.push(VerifyError {
            function: Some(function.header.name),
            block,
            inst,
            message: fault.message,
            related: fault.related,
        });
    };
    header::check(env, constants, function, &mut |fault| report(None, None, fault));
    let Some(cx) = Context::new(env, function) else { return errors };
    if let Some(entry) = function.flow.entry()
        && cx.predecessors(entry).next().is_some()
    {
        report(
            Some(entry),
            None,
            Fault::new("Entry block to function must not have predecessors!", Vec::new()),
        );
    }
    let mut pads = eh::PadState::default();
    let mut seen = metadata::Seen::default();
    let mut convergence = convergence::Checker::new(&cx);
    for &block in function.flow.order() {
        convergence.enter_block(block);
        if let Err((inst, fault)) = phis_agree(&cx, block) {
            report(Some(block), Some(inst), fault);
        }
        for inst in body.block_insts(block) {
            let mut operand_types = OperandTypes::new();
            operand_types.extend(body.operands(inst).iter().map(|&v| cx.type_of(v)));
            let view = view(function.header, body, inst, &operand_types);
            let mut checks = || -> Check {
                rules::check(env, &view)?;
                eh::check(&cx, &mut pads, block, inst)?;
                in_block(&cx, block, inst)?;
                if view.data.flags.contains(InstFlags::MUST_TAIL) && view.opcode() == Opcode::Call {
                    call::must_tail(env, &view, inst)?;
                }
                operand_values(&cx, constants, block, inst)?;
                metadata::attachments(env, &mut seen, function, &view, inst)
            };
            if let Err(fault) = checks() {
                report(Some(block), Some(inst), fault);
            }
            convergence.visit(inst, &view, &mut |fault| report(Some(block), Some(inst), fault));
        }
    }
    convergence.finish(&mut |inst: InstId, fault| report(body.block_of(inst), Some(inst), fault));
    errors
}

/// Place of an instruction in its block.
fn in_block(cx: &Context<'_>, block: BlockId, inst: InstId) -> Check {
    let body = cx.function.body;
    let data = body.inst(inst);
    ensure!(
        !data.opcode.is_terminator() || body.last(block) == Some(inst),
        "Terminator found in the middle of a basic block!"
    );
    if data.opcode == Opcode::Phi {
        let leads = body.prev(inst).is_none_or(|prev| body.inst(prev).opcode == Opcode::Phi);
        ensure!(leads, "PHI nodes not grouped at top of basic block!", Related::Block(block));
    }
    ensure!(
        data.ty != Type::VOID || cx.function.extras.names.inst(inst).is_none(),
        "Instruction has a name, but provides a void value!"
    );
    Ok(())
}

/// Each phi has one entry per incoming edge; entries of parallel edges agree.
fn phis_agree(cx: &Context<'_>, block: BlockId) -> Result<(), (InstId, Fault)> {
    let body = cx.function.body;
    let mut phis = body.phis(block).peekable();
    if phis.peek().is_none() {
        return Ok(());
    }
    // With multiplicity. Rows are in the order of the layout.
    let mut preds = cx.cfg.predecessors(node_of(block)).to_vec();
    preds.sort_unstable();
    let mut incoming: Vec<(BlockId, Value)> = Vec::with_capacity(preds.len());
    for phi in phis {
        let fail = |message: &'static str, related| Err((phi, Fault::new(message, related)));
        incoming.clear();
        incoming.extend(body.phi_incoming(phi).map(|(value, from)| (from, value)));
        if incoming.len() != preds.len() {
            return fail(
                "PHINode should have one entry for each predecessor of its parent basic block!",
                Vec::new(),
            );
        }
        incoming.sort_unstable();
        for pair in incoming.windows(2) {
            if pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1 {
                return fail(
                    "PHI node has multiple entries for the same basic block with different incoming values!",
                    vec![
                        Related::Block(pair[0].0),
                        Related::Value(pair[0].1),
                        Related::Value(pair[1].1),
                    ],
                );
            }
        }
        let mismatch =
            incoming.iter().zip(&preds).find(|&(&(from, _), &pred)| node_of(from) != pred);
        if let Some((&(from, _), &pred)) = mismatch {
            return fail(
                "PHI node entries do not match predecessors!",
                vec![Related::Block(from), Related::Block(block_of(pred))],
            );
        }
    }
    Ok(())
}

/// Operands that are instructions, constants or wrapped in metadata.
fn operand_values(
    cx: &Context<'_>,
    constants: &mut Constants,
    block: BlockId,
    inst: InstId,
) -> Check {
    let body = cx.function.body;
    let opcode = body.inst(inst).opcode;
    let operands = body.operands(inst);
    for (at, &operand) in operands.iter().enumerate() {
        match operand.kind() {
            ValueKind::Inst(def) => {
                ensure!(
                    def != inst || opcode == Opcode::Phi || !cx.is_reachable(block),
                    "Only PHI nodes may reference their own value!"
                );
                ensure!(
                    body.block_of(def).is_some(),
                    "Referring to an instruction in another function!"
                );
                let is_there = if opcode == Opcode::Phi {
                    let from = operands[operands.len() / 2 + at].as_block().unwrap_or(block);
                    phi_operand_is_there(cx, def, from, block)
                } else {
                    cx.dominates_use(def, block, Some(inst))
                };
                ensure!(
                    is_there,
                    "Instruction does not dominate all uses!",
                    Related::Inst(def),
                    Related::Inst(inst)
                );
            }
            ValueKind::Const(constant) => constants.check(cx.env, constant)?,
            ValueKind::Metadata(id) => {
                let is_linked =
                    |value: Value| value.as_inst().is_none_or(|i| body.block_of(i).is_some());
                let fits = match body.local_metadata(id) {
                    LocalMetadata::Value(value) => is_linked(*value),
                    LocalMetadata::ArgList(list) => list.iter().all(|&value| is_linked(value)),
                    _ => true,
                };
                ensure!(fits, "function-local metadata used in wrong function");
            }
            ValueKind::Arg(_) | ValueKind::Block(_) => {}
        }
    }
    Ok(())
}

fn phi_operand_is_there(cx: &Context<'_>, def: InstId, from: BlockId, phi_block: BlockId) -> bool {
    let body = cx.function.body;
    let defined_in = body.block_of(def);
    if body.inst(def).opcode == Opcode::Invoke && defined_in == Some(from) && cx.is_reachable(from)
    {
        // The result of an invoke is available on the normal edge only.
        return cx.function.flow.successors(from)[0] == phi_block;
    }
    cx.dominates_use(def, from, None)
}
