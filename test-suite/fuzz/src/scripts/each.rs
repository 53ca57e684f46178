//! Every single edit of a function, as lines of a script.
//!
//! An answer after an edit can be wrong only if something that has changed was not looked at again.
//! Random edits find that now and then; here each instruction and each block is edited in each way,
//! one at a time, always beginning with the function as it is in the script. So whatever a rule
//! reads of another instruction is once the only thing that has changed. What fails can be put into
//! a script as it is printed.
//!
//! | of | edits |
//! |---|---|
//! | an instruction | each operand becomes a constant, an argument, instructions before and behind; it is erased, replaced, moved to the end of its block and to that of the entry; one that reads it is inserted; its block is split before it |
//! | a block | it is merged with its successor; it ends in a branch to one successor, or in a return; each edge is split, or goes to another block |
//!
//! **Cost**: one analysis of the module from scratch for each edit.

use phalanx::{
    ir::{BlockId, Context, InstId, Opcode, Type, Value, function::FunctionRef},
    llvm::ModulePrinter,
};

use super::Run;

/// The lines for a function. Rows and blocks that only make it large are left out. Some are
/// refused when they are carried out.
pub(super) fn edits(run: &Run) -> Vec<String> {
    let names = Names::new(run);
    let mut lines = Vec::new();
    let code = run.session.code(run.function);
    let blocks = code.flow.order();
    let own = || blocks.iter().filter(|&&block| !names.is_filling(block));
    for &block in own() {
        let of_block = names.block(block);
        for inst in code.body.block_insts(block).filter(|&inst| !names.is_row(inst)) {
            names.of_inst(inst, &mut lines);
        }
        lines.push(format!("merge {of_block}"));
        lines.push(format!("end {of_block}: ret"));
        for (at, &to) in code.flow.successors(block).iter().enumerate() {
            lines.push(format!("end {of_block}: br {}", names.block(to)));
            lines.push(format!("split edge {of_block} {at}: edge"));
            for &other in own().skip(1).filter(|&&other| other != to) {
                lines.push(format!("redirect {of_block} {at} = {}", names.block(other)));
            }
        }
    }
    lines
}

/// Carries out the edits of the function with a name one by one: those whose number is a multiple
/// of `step`. Returns how many were not refused.
///
/// # Errors
/// If the script cannot be read.
///
/// # Panics
/// When a fact after an edit is not what it is from scratch.
pub(super) fn run(text: &str, name: &str, step: usize) -> Result<usize, String> {
    let lines = edits(&Run::read(text, name)?);
    let mut done = 0;
    for line in lines.iter().step_by(step) {
        let mut run = Run::read(text, name)?;
        run.warm()?;
        let failure = Failure(line);
        done += usize::from(run.edit(&[line]).is_ok());
        drop(failure);
    }
    Ok(done)
}

/// Says after which edit a fact was wrong.
struct Failure<'a>(&'a str);

#[expect(clippy::print_stderr, reason = "beside the message of the fact")]
impl Drop for Failure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("; edit {}", self.0);
        }
    }
}

/// What a script calls the parts of a function.
struct Names<'a> {
    context: &'a Context,
    code: FunctionRef<'a>,
    printer: ModulePrinter<'a>,
}

impl<'a> Names<'a> {
    fn new(run: &'a Run) -> Self {
        let shell = run.module.input().shell(run.session.database());
        let printer = ModulePrinter::with_functions(shell, Vec::new());
        let (context, code) = (run.session.context(), run.session.code(run.function));
        Names { context, code, printer }
    }

    fn block(&self, block: BlockId) -> String {
        let name = self.code.extras.names.block(block).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    fn is_row(&self, inst: InstId) -> bool {
        self.code.extras.names.inst(inst).is_some_and(|name| name.starts_with(b"row"))
    }

    /// Whether a block only makes the function large.
    fn is_filling(&self, block: BlockId) -> bool {
        self.code.extras.names.block(block).is_some_and(|name| name.starts_with(b"blk"))
    }

    fn inst(&self, inst: InstId) -> String {
        if let Some(name) = self.code.extras.names.inst(inst) {
            return format!("%{}", String::from_utf8_lossy(name));
        }
        let body = self.code.body;
        let Some(block) = body.block_of(inst) else { return String::new() };
        let position = body.block_insts(block).position(|of| of == inst).unwrap_or_default();
        format!("{}:{position}", self.block(block))
    }

    fn type_of(&self, value: Value) -> Option<Type> {
        if let Some(inst) = value.as_inst() {
            return Some(self.code.body.inst(inst).ty);
        }
        if let Some(at) = value.as_arg() {
            return self.code.header.params.get(at as usize).copied();
        }
        Some(self.context.const_data(value.as_const()?).ty)
    }

    /// Values that an operand may become: a constant, the first argument of the type, and the
    /// nearest two instructions on either side.
    fn others(&self, of: Value, at: InstId) -> Vec<String> {
        let Some(ty) = self.type_of(of) else { return Vec::new() };
        let mut text = Vec::new();
        self.printer.type_name(ty, &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut found = vec![match ty {
            Type::I32 => "i32 33".to_owned(),
            _ => format!("{text} zeroinitializer"),
        }];
        let names = &self.code.extras.names;
        let is_argument = |at: &usize| self.code.header.params[*at] == ty;
        let argument = (0..self.code.header.params.len()).find(is_argument);
        let argument = argument.and_then(|at| names.arg(at as u32));
        found.extend(argument.map(|name| format!("%{}", String::from_utf8_lossy(name))));
        let body = self.code.body;
        let blocks = self.code.flow.order().iter();
        let all: Vec<InstId> = blocks.flat_map(|&block| body.block_insts(block)).collect();
        let middle = all.iter().position(|&inst| inst == at).unwrap_or_default();
        let is_like = |inst: &&InstId| {
            body.inst(**inst).ty == ty
                && names.inst(**inst).is_some()
                && !self.is_row(**inst)
                && Value::inst(**inst) != of
        };
        let before = all[..middle].iter().rev().filter(is_like).take(2);
        let behind = all[middle..].iter().filter(is_like).take(2);
        found.extend(before.chain(behind).map(|&inst| self.inst(inst)));
        found
    }

    fn of_inst(&self, inst: InstId, lines: &mut Vec<String>) {
        let (body, name) = (self.code.body, self.inst(inst));
        let data = body.inst(inst);
        for (at, &operand) in body.operands(inst).iter().enumerate() {
            if operand.as_block().is_none() {
                let others = self.others(operand, inst);
                lines.extend(others.iter().map(|other| format!("set {name} {at} = {other}")));
            }
        }
        lines.push(format!("split before {name}: behind"));
        if data.opcode.is_terminator() {
            return;
        }
        lines.push(format!("erase {name}"));
        if data.ty != Type::VOID {
            let others = self.others(Value::inst(inst), inst);
            lines.extend(others.iter().map(|other| format!("replace {name} = {other}")));
        }
        let ends = [body.block_of(inst), self.code.flow.entry()];
        for end in ends.into_iter().flatten() {
            lines.push(format!("move {name} before end of {}", self.block(end)));
        }
        if data.opcode == Opcode::Load {
            // The same address is read once more.
            if let Some(pointer) = body.operands(inst)[0].as_inst() {
                let pointer_name = self.inst(pointer);
                let mut ty = Vec::new();
                self.printer.type_name(body.inst(pointer).ty, &mut ty);
                let ty = String::from_utf8_lossy(&ty).into_owned();
                lines.push(format!("insert before {name}: %again = load i32, {ty} {pointer_name}"));
            }
        }
        if data.ty == Type::I32 && data.opcode != Opcode::Phi {
            let reader = format!("%reads = add i32 {name}, 1");
            lines.push(format!("insert before end of {}: {reader}", self.own_block(inst)));
        }
    }

    fn own_block(&self, inst: InstId) -> String {
        self.code.body.block_of(inst).map_or_else(String::new, |block| self.block(block))
    }
}
