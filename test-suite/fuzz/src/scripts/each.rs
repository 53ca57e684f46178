//! Every single edit of a function, and random sequences of them, as lines of a script.
//!
//! An answer after an edit can be wrong only if something that has changed was not looked at again.
//! Random edits find that now and then; here each instruction and each block is edited in each way,
//! one at a time, always beginning with the function as it is in the script. So whatever a rule
//! reads of another instruction is once the only thing that has changed. In a sequence the state
//! that is kept has been brought up to date several times, and not all of it after each edit. What
//! fails can be put into a script as it is printed.
//!
//! | of | edits |
//! |---|---|
//! | an instruction | each operand becomes a constant, an argument, instructions before and behind; it is erased, replaced, repeated, moved to the end of its block and to that of the entry; one that reads it is inserted; its block is split before it |
//! | a pointer | a load, a store and a step of it more; it is stored where another one leads |
//! | a load | it becomes volatile |
//! | a block | it is merged with its successor; it ends in a branch to one successor, or in a return; each edge is split, or goes to another block |
//!
//! **Cost**: one analysis of the module from scratch for each edit.

use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};

use phalanx::{
    ir::{BlockId, Context, InstId, Opcode, Type, TypeKind, Value, function::FunctionRef},
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
/// of `step`. Returns how many were not refused, and how many were tried.
///
/// # Errors
/// If the script cannot be read.
///
/// # Panics
/// When a fact after an edit is not what it is from scratch.
pub(super) fn run(text: &str, name: &str, step: usize) -> Result<(usize, usize), String> {
    let lines = edits(&Run::read(text, name)?);
    let mut done = 0;
    for line in lines.iter().step_by(step) {
        let mut run = Run::read(text, name)?;
        run.warm()?;
        let failure = Failure(vec![format!("; edit {line}")]);
        done += usize::from(run.edit(&[line]).is_ok());
        drop(failure);
    }
    Ok((done, lines.len().div_ceil(step)))
}

/// Carries out `count` edits of the function with a name, chosen at random, a few in a transaction.
/// Facts are compared after one in two transactions. Returns how many were not refused.
///
/// # Errors
/// If the script cannot be read.
///
/// # Panics
/// When a fact after an edit is not what it is from scratch.
pub(super) fn random(text: &str, name: &str, seed: u64, count: usize) -> Result<usize, String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut run = Run::read(text, name)?;
    run.warm()?;
    let (mut all, mut done, mut tried) = (Failure(Vec::new()), 0, 0);
    while done < count && tried < 8 * count {
        let lines = edits(&run);
        let some = [1, 1, 2, 3][rng.random_range(0..4)];
        let some: Vec<&str> =
            (0..some).filter_map(|_| lines.choose(&mut rng)).map(String::as_str).collect();
        tried += some.len();
        if run.change(&some).is_err() {
            continue;
        }
        done += some.len();
        all.0.extend(some.iter().map(|line| format!("; edit {line}")));
        // Lines that follow each other would be one transaction.
        all.0.push(";".to_owned());
        if rng.random_bool(0.5) {
            run.compare();
        }
    }
    run.compare();
    all.0.clear();
    Ok(done)
}

/// Says after which edits a fact was wrong.
struct Failure(Vec<String>);

#[expect(clippy::print_stderr, reason = "beside the message of the fact")]
impl Drop for Failure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0.join("\n"));
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
        let mut found = vec![match ty {
            Type::I32 => "i32 33".to_owned(),
            _ => format!("{} zeroinitializer", self.type_text(ty)),
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
        lines.push(format!("repeat {name}"));
        if data.opcode == Opcode::Load {
            let volatile = format!("load volatile {}, ", self.type_text(data.ty));
            let pointer = body.operands(inst)[0].as_inst().map(|of| self.typed(of));
            lines.extend(pointer.map(|pointer| format!("like {name}: {volatile}{pointer}")));
        }
        self.of_pointer(inst, lines);
        if data.ty == Type::I32 && data.opcode != Opcode::Phi {
            let reader = format!("%reads = add i32 {name}, 1");
            lines.push(format!("insert before end of {}: {reader}", self.own_block(inst)));
        }
    }

    /// What more can be done with a pointer, at the end of its block.
    fn of_pointer(&self, inst: InstId, lines: &mut Vec<String>) {
        let kind = |of: &InstId| self.context.type_kind(self.code.body.inst(*of).ty);
        let is_pointer = |of: &InstId| matches!(kind(of), TypeKind::Ptr(_));
        if self.code.extras.names.inst(inst).is_none() || !is_pointer(&inst) {
            return;
        }
        let (pointer, block) = (self.typed(inst), self.own_block(inst));
        let mut at_end = |text: &str| lines.push(format!("insert before end of {block}: {text}"));
        at_end(&format!("%again = load i32, {pointer}"));
        at_end(&format!("store i32 7, {pointer}"));
        at_end(&format!("%step = getelementptr i8, {pointer}, i64 4"));
        let insts = self.code.flow.order().iter().flat_map(|&of| self.code.body.block_insts(of));
        let is_named = |of: &InstId| self.code.extras.names.inst(*of).is_some();
        let earlier = insts.take_while(|&of| of != inst).filter(is_named).filter(is_pointer).last();
        if let Some(other) = earlier {
            at_end(&format!("store {pointer}, {}", self.typed(other)));
            at_end(&format!("%from = load {}, {}", self.type_text(Type::PTR), self.typed(other)));
        }
    }

    fn type_text(&self, ty: Type) -> String {
        let mut text = Vec::new();
        self.printer.type_name(ty, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// An instruction as an operand, with its type.
    fn typed(&self, inst: InstId) -> String {
        format!("{} {}", self.type_text(self.code.body.inst(inst).ty), self.inst(inst))
    }

    fn own_block(&self, inst: InstId) -> String {
        self.code.body.block_of(inst).map_or_else(String::new, |block| self.block(block))
    }
}
