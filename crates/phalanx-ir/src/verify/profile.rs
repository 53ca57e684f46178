//! Rules of `!prof` and of other profile metadata: how often something was executed, or with which
//! values.

use crate::{
    body::InstId,
    function::FunctionRef,
    inst::Opcode,
    metadata::{MetadataId, MetadataValue, kind},
    verify::{
        env::Env,
        fault::{Check, Related, ensure},
    },
};

/// Operands of a node.
pub(crate) struct Operands<'e, 'a> {
    env: &'e Env<'a>,
    pub(crate) all: Vec<MetadataValue>,
}

impl<'e, 'a> Operands<'e, 'a> {
    pub(crate) fn new(env: &'e Env<'a>, node: MetadataId) -> Self {
        Operands { env, all: env.module.metadata.values(node).collect() }
    }

    pub(crate) fn node(&self, at: usize) -> Option<MetadataId> {
        self.all.get(at).and_then(|value| value.as_node())
    }

    pub(crate) fn string(&self, at: usize) -> Option<&'a [u8]> {
        let symbol = self.all.get(at).and_then(|value| value.as_string())?;
        Some(self.env.types.context.bytes(symbol))
    }

    pub(crate) fn is_int(&self, at: usize) -> bool {
        let constant = self.all.get(at).and_then(|value| value.as_const());
        constant.is_some_and(|constant| self.env.types.is_plain_int(constant))
    }

    pub(crate) fn int(&self, at: usize) -> Option<u64> {
        let constant = self.all.get(at).and_then(|value| value.as_const());
        let constant = constant.filter(|&constant| self.env.types.is_plain_int(constant))?;
        self.env.types.const_int(constant)
    }
}

/// `!prof` of an instruction.
pub(crate) fn instruction(
    env: &Env<'_>,
    function: FunctionRef<'_>,
    inst: InstId,
    node: MetadataId,
) -> Check {
    let operands = Operands::new(env, node);
    let len = operands.all.len();
    ensure!(len >= 1, "!prof annotations should have at least 1 operand");
    ensure!(operands.all[0] != MetadataValue::Null, "first operand should not be null");
    let Some(name) = operands.string(0) else {
        ensure!(false, "expected string with name of the !prof annotation");
        return Ok(());
    };
    let opcode = function.body.inst(inst).opcode;
    let branches = match opcode {
        Opcode::Br | Opcode::Switch | Opcode::IndirectBr | Opcode::CallBr => {
            let block = function.body.block_of(inst);
            block.map_or(0, |block| function.flow.successors(block).len())
        }
        Opcode::Call => 1,
        Opcode::Select => 2,
        _ => 0,
    };
    if name == b"unknown" {
        ensure!(
            branches > 0 || opcode == Opcode::Invoke,
            "'unknown' !prof should only appear on instructions on which 'branch_weights' would"
        );
        return unknown(&operands);
    }
    ensure!(len >= 2, "!prof annotations should have no less than 2 operands");
    match name {
        b"branch_weights" => {
            // An optional string says where the weights come from.
            let first = if operands.string(1).is_some() { 2 } else { 1 };
            let weights = len - first;
            if opcode == Opcode::Invoke {
                ensure!(
                    weights == 1 || weights == 2,
                    "Wrong number of InvokeInst branch_weights operands"
                );
            } else {
                ensure!(branches > 0, "!prof branch_weights are not allowed for this instruction");
                ensure!(weights == branches, "Wrong number of operands");
            }
            for at in first..len {
                ensure!(
                    operands.all[at] != MetadataValue::Null,
                    "second operand should not be null"
                );
                ensure!(operands.is_int(at), "!prof brunch_weights operand is not a const int");
            }
            Ok(())
        }
        b"VP" => value_profile(&operands, opcode),
        _ => {
            ensure!(false, "expected either branch_weights or VP profile name");
            Ok(())
        }
    }
}

/// A value profile: a kind, a total count, and pairs of a value and its count.
fn value_profile(operands: &Operands<'_, '_>, opcode: Opcode) -> Check {
    /// Indirect calls, sizes of memory operations, virtual tables.
    const KINDS: std::ops::RangeInclusive<u64> = 0..=2;
    let len = operands.all.len();
    ensure!(len >= 5, "invalid value profiling metadata");
    let Some(kind) = operands.int(1) else {
        ensure!(false, "VP !prof missing kind argument");
        return Ok(());
    };
    ensure!(KINDS.contains(&kind), "Invalid VP !prof kind");
    ensure!(len % 2 == 1, "VP !prof should have an even number of arguments after 'VP'");
    ensure!(
        kind == 2 || opcode.is_call(),
        "VP !prof indirect call or memop size expected to be applied to CallBase instructions only"
    );
    Ok(())
}

fn unknown(operands: &Operands<'_, '_>) -> Check {
    ensure!(operands.all.len() == 2, "'unknown' !prof should have a single additional operand");
    let name = operands.string(1);
    ensure!(name.is_some(), "'unknown' !prof should have an additional operand of type string");
    ensure!(name != Some(b""), "the 'unknown' !prof operand should not be an empty string");
    Ok(())
}

/// `!prof` and `!kcfi_type` of a function.
pub(crate) fn function(env: &Env<'_>, function: FunctionRef<'_>) -> Check {
    let attached = |wanted| function.header.metadata.iter().filter(move |a| a.kind == wanted);
    for attachment in attached(kind::PROF) {
        entry_count(&Operands::new(env, attachment.node))?;
    }
    for attachment in attached(kind::KCFI_TYPE) {
        let operands = Operands::new(env, attachment.node);
        ensure!(operands.all.len() == 1, "!kcfi_type must have exactly one operand");
        ensure!(operands.all[0] != MetadataValue::Null, "!kcfi_type operand must not be null");
        let Some(constant) = operands.all[0].as_const() else {
            ensure!(false, "expected a constant operand for !kcfi_type");
            return Ok(());
        };
        ensure!(operands.is_int(0), "expected a constant integer operand for !kcfi_type");
        ensure!(
            env.types.context.const_data(constant).ty == crate::Type::I32,
            "expected a 32-bit integer constant operand for !kcfi_type"
        );
    }
    let me = || Related::Global(function.header.name);
    if function.is_declaration() {
        ensure!(
            attached(kind::PROF).next().is_none(),
            "function declaration may not have a !prof attachment",
            me()
        );
        return Ok(());
    }
    ensure!(
        attached(kind::PROF).count() <= 1,
        "function must have a single !prof attachment",
        me()
    );
    ensure!(
        attached(kind::KCFI_TYPE).count() <= 1,
        "function must have a single !kcfi_type attachment",
        me()
    );
    Ok(())
}

fn entry_count(operands: &Operands<'_, '_>) -> Check {
    ensure!(operands.all.len() >= 2, "!prof annotations should have no less than 2 operands");
    if operands.string(0) == Some(b"unknown") {
        return unknown(operands);
    }
    ensure!(operands.all[0] != MetadataValue::Null, "first operand should not be null");
    let name = operands.string(0);
    ensure!(name.is_some(), "expected string with name of the !prof annotation");
    ensure!(
        matches!(name, Some(b"function_entry_count" | b"synthetic_function_entry_count")),
        "first operand should be 'function_entry_count' or 'synthetic_function_entry_count'"
    );
    ensure!(operands.all[1] != MetadataValue::Null, "second operand should not be null");
    ensure!(
        operands.all[1].as_const().is_some(),
        "expected integer argument to function_entry_count"
    );
    Ok(())
}

/// `!callsite`, and what `!memprof` begins with: a list of integers.
pub(crate) fn call_stack(operands: &Operands<'_, '_>) -> Check {
    ensure!(!operands.all.is_empty(), "call stack metadata should have at least 1 operand");
    ensure!(
        (0..operands.all.len()).all(|at| operands.is_int(at)),
        "call stack metadata operand should be constant integer"
    );
    Ok(())
}

/// `!memprof`: for each context a call stack, a string, and pairs of integers.
pub(crate) fn contexts(env: &Env<'_>, operands: &Operands<'_, '_>) -> Check {
    ensure!(
        !operands.all.is_empty(),
        "!memprof annotations should have at least 1 metadata operand (MemInfoBlock)"
    );
    for value in &operands.all {
        let block = value.as_node().map(|node| Operands::new(env, node));
        let Some(block) = block.filter(|block| block.all.len() >= 2) else {
            ensure!(false, "Each !memprof MemInfoBlock should have at least 2 operands");
            return Ok(());
        };
        ensure!(
            block.all[0] != MetadataValue::Null,
            "!memprof MemInfoBlock first operand should not be null"
        );
        let Some(stack) = block.node(0) else {
            ensure!(false, "!memprof MemInfoBlock first operand should be an MDNode");
            return Ok(());
        };
        call_stack(&Operands::new(env, stack))?;
        ensure!(
            block.string(1).is_some(),
            "!memprof MemInfoBlock second operand should be an MDString"
        );
        for at in 2..block.all.len() {
            let Some(pair) = block.node(at).map(|node| Operands::new(env, node)) else {
                ensure!(false, "Not all !memprof MemInfoBlock operands 2 to N are MDNode");
                return Ok(());
            };
            ensure!(
                pair.all.len() == 2,
                "Not all !memprof MemInfoBlock operands 2 to N are MDNode with 2 operands"
            );
            ensure!(
                pair.is_int(0) && pair.is_int(1),
                "Not all !memprof MemInfoBlock operands 2 to N are MDNode with ConstantInt operands"
            );
        }
    }
    Ok(())
}
