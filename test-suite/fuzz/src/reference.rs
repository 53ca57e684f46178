//! Compares the interpreter with an independent model of the same semantics.
//!
//! A toy program is written twice: as a kernel that `phalanx-simt` runs, and in the notation of the
//! model. Both compute the same numbers. So the values of each thread in each instance of a block,
//! and which instances are converged, can be compared as text. An operation "fresh for each thread"
//! becomes a generator of numbers with a state per thread. An operation "fresh for each group"
//! becomes a ballot or the value of the first lane, which depend on the group.
//!
//! The model is a Python program outside of this project; `PHALANX_REFERENCE` names its folder.
//! `reference.py` drives it by a protocol of lines:
//!
//! ```text
//! program                  then the program, then `end`
//! hierarchy H:A,B,H ...    a cycle hierarchy: each header with all blocks of its cycle
//! run THREADS A0 A1 FUEL   answered by one line for each thread and `end`
//! cycles                   answered by the hierarchy that the model finds itself
//! ```

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use phalanx::ir::{BlockId, Context, InstId, flow::node_of};
use phalanx_graph::{Cfg, Cycles, Node};
use phalanx_simt::{
    Arg, Launch, Observer, Program, Reconvergence, Value, convergence::Key, launch::Order,
    observe::Moment,
};
use phalanx_testing::abstract_program::{AbstractProgram, Operand, Operation, Terminator};
use rustc_hash::FxHashMap;

/// A toy program in two languages.
#[derive(Clone, Debug)]
pub struct Twins {
    /// A module with the kernel `@f(i32 %a0, i32 %a1)`.
    pub llvm: String,
    /// The same for the model.
    pub model: String,
}

/// One execution.
#[derive(Copy, Clone, Debug)]
pub struct Setting {
    /// Threads, at most a wave of 32.
    pub threads: u32,
    /// Arguments.
    pub args: [u32; 2],
    /// How many blocks each thread executes.
    pub fuel: u32,
    /// The model of reconvergence.
    pub reconvergence: Reconvergence,
}

const HEAD: &str = r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
define internal i32 @next(ptr addrspace(5) %state) {
  %old = load i32, ptr addrspace(5) %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr addrspace(5) %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
define amdgpu_kernel void @f(i32 %a0, i32 %a1) {
b0:
  %state = alloca i32, align 4, addrspace(5)
  %me = call i32 @llvm.amdgcn.workitem.id.x()
  %scaled = mul i32 %me, 747796405
  %seed = add i32 %scaled, %a0
  store i32 %seed, ptr addrspace(5) %state, align 4
"#;

/// A program in both languages. `None` if it reads undefined values, which the model does not know.
#[must_use]
pub fn translate(program: &AbstractProgram) -> Option<Twins> {
    let mut operands = program
        .blocks
        .iter()
        .flat_map(|block| block.operations.iter().flat_map(|(_, op)| op.operands()));
    if operands.any(|operand| operand == Operand::Undef) {
        return None;
    }
    let cfg = program.cfg();
    let (mut llvm, mut model) = (HEAD.to_owned(), "b0:\nme = tid\n".to_owned());
    for (number, block) in program.blocks.iter().enumerate() {
        if number > 0 {
            let _ = writeln!(llvm, "b{number}:");
            let _ = writeln!(model, "b{number}:");
        }
        // Phis come first in both.
        let is_phi = |op: &Operation| matches!(op, Operation::Phi(_));
        let (phis, others): (Vec<_>, Vec<_>) =
            block.operations.iter().partition(|(_, op)| is_phi(op));
        for (value, operation) in phis.into_iter().chain(others) {
            if let Operation::Phi(entries) = operation {
                phi(&mut llvm, &mut model, &cfg, (number, *value), entries);
            } else {
                let _ = write_operation(&mut llvm, &mut model, *value, operation);
            }
        }
        let _ = write_terminator(&mut llvm, &mut model, number, &block.terminator);
    }
    llvm.push_str("}\n");
    Some(Twins { llvm, model })
}

/// The operand as the model writes it.
fn plain(operand: Operand) -> String {
    operand.to_string().trim_start_matches('%').to_owned()
}

fn phi(
    llvm: &mut String,
    model: &mut String,
    cfg: &Cfg,
    (block, value): (usize, u32),
    entries: &[(Node, Operand)],
) {
    let of = |pred: Node| entries.iter().find(|entry| entry.0 == pred).map(|entry| entry.1);
    let mut incoming = Vec::new();
    for &pred in cfg.predecessors(Node::new(block)) {
        incoming.extend(of(pred).map(|operand| format!("[ {operand}, %b{pred} ]")));
    }
    let _ = writeln!(llvm, "  %v{value} = phi i32 {}", incoming.join(", "));
    let _ = write!(model, "v{value} = phi");
    for (pred, operand) in entries {
        let _ = write!(model, " b{pred}:{}", plain(*operand));
    }
    model.push('\n');
}

fn write_operation(
    llvm: &mut String,
    model: &mut String,
    value: u32,
    operation: &Operation,
) -> std::fmt::Result {
    let v = format!("v{value}");
    match operation {
        Operation::Phi(_) => Ok(()),
        Operation::Argument(number) => {
            writeln!(llvm, "  %{v} = add i32 %a{number}, 0")?;
            writeln!(model, "{v} = arg a{number}")
        }
        Operation::ThreadId => {
            writeln!(llvm, "  %{v} = add i32 %me, 0")?;
            writeln!(model, "{v} = add me 0")
        }
        Operation::Uniform if value.is_multiple_of(3) => {
            writeln!(llvm, "  %{v} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %me)")?;
            writeln!(model, "{v} = bcast me")
        }
        Operation::Uniform => {
            // A thread's vote depends on the thread, or on the thread and the time.
            if value % 3 == 1 {
                writeln!(llvm, "  %{v}.n = lshr i32 %me, {}", value % 2)?;
                writeln!(model, "{v}.n = shr me {}", value % 2)?;
            } else {
                writeln!(llvm, "  %{v}.n = call i32 @next(ptr addrspace(5) %state)")?;
                writeln!(model, "{v}.n = next 0 0")?;
            }
            writeln!(llvm, "  %{v}.bit = trunc i32 %{v}.n to i1")?;
            writeln!(llvm, "  %{v}.all = call i64 @llvm.amdgcn.ballot.i64(i1 %{v}.bit)")?;
            writeln!(llvm, "  %{v} = trunc i64 %{v}.all to i32")?;
            writeln!(model, "{v} = ballot {v}.n")
        }
        Operation::AlwaysUniform(a) => {
            writeln!(llvm, "  %{v} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 {a})")?;
            writeln!(model, "{v} = bcast {}", plain(*a))
        }
        Operation::Divergent => {
            writeln!(llvm, "  %{v} = call i32 @next(ptr addrspace(5) %state)")?;
            writeln!(model, "{v} = next 0 0")
        }
        Operation::Pure(number, [a, b]) => {
            // A mixed sum of odd multiples, one of them of the function's number.
            let salt = number.wrapping_mul(0xc2b2_ae3d);
            writeln!(llvm, "  %{v}.a = mul i32 {a}, {}", 0x9e37_79b1u32)?;
            writeln!(llvm, "  %{v}.b = mul i32 {b}, {}", 0x85eb_ca77u32)?;
            writeln!(llvm, "  %{v}.c = add i32 %{v}.a, %{v}.b")?;
            writeln!(llvm, "  %{v}.d = add i32 %{v}.c, {salt}")?;
            writeln!(llvm, "  %{v}.e = lshr i32 %{v}.d, 15")?;
            writeln!(llvm, "  %{v} = xor i32 %{v}.d, %{v}.e")?;
            writeln!(model, "{v}.c = sum {} {}", plain(*a), plain(*b))?;
            writeln!(model, "{v} = blend {v}.c {salt}")
        }
        Operation::Test(a) => {
            let bit = if let Operand::Constant(_) = a { 0 } else { value % 3 };
            writeln!(llvm, "  %{v}.s = lshr i32 {a}, {bit}")?;
            writeln!(llvm, "  %{v} = trunc i32 %{v}.s to i1")?;
            writeln!(model, "{v}.s = shr {} {bit}", plain(*a))?;
            writeln!(model, "{v} = and {v}.s 1")
        }
    }
}

fn write_terminator(
    llvm: &mut String,
    model: &mut String,
    block: usize,
    terminator: &Terminator,
) -> std::fmt::Result {
    match terminator {
        Terminator::Return => {
            writeln!(llvm, "  ret void")?;
            writeln!(model, "ret")
        }
        Terminator::Jump(to) => {
            writeln!(llvm, "  br label %b{to}")?;
            writeln!(model, "jmp b{to}")
        }
        Terminator::Branch(condition, [yes, no]) => {
            let bit = match condition {
                Operand::Constant(number) => (number & 1 == 1).to_string(),
                other => other.to_string(),
            };
            writeln!(llvm, "  br i1 {bit}, label %b{yes}, label %b{no}")?;
            writeln!(model, "br {} b{yes} b{no}", plain(*condition))
        }
        Terminator::Switch(condition, to) => {
            writeln!(llvm, "  %s{block} = urem i32 {condition}, {}", to.len())?;
            let cases =
                to[1..].iter().enumerate().map(|(i, to)| format!("i32 {}, label %b{to}", i + 1));
            let cases = cases.collect::<Vec<_>>().join(" ");
            writeln!(llvm, "  switch i32 %s{block}, label %b{} [ {cases} ]", to[0])?;
            write!(model, "switch {}", plain(*condition))?;
            to.iter().try_for_each(|to| write!(model, " b{to}"))?;
            writeln!(model)
        }
    }
}

/// A hierarchy as the protocol writes it.
#[must_use]
pub fn hierarchy(cycles: &Cycles) -> String {
    let one = |cycle| {
        let mut blocks: Vec<Node> = cycles.blocks(cycle).to_vec();
        blocks.sort_unstable();
        let blocks: Vec<String> = blocks.iter().map(|block| format!("b{block}")).collect();
        (cycles.header(cycle), blocks.join(","))
    };
    let all: BTreeMap<Node, String> = cycles.iter().map(one).collect();
    let words: Vec<String> =
        all.iter().map(|(header, blocks)| format!("b{header}:{blocks}")).collect();
    words.join(" ")
}

/// One execution of a block by a thread.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The block.
    pub block: Node,
    /// Its class: instances are converged where this is the same.
    pub key: Key,
    /// What was computed in it, by number of the value in the toy program.
    pub values: BTreeMap<u32, u128>,
}

/// What each thread executed, in order.
#[derive(Clone, Debug)]
pub struct Execution {
    /// By thread.
    pub threads: Vec<Vec<Instance>>,
}

impl Execution {
    /// Threads as lines of blocks, each block with the number of its class (in order of first
    /// occurrence) and the values computed there.
    #[must_use]
    pub fn text(&self) -> String {
        let mut classes = FxHashMap::default();
        let mut out = String::new();
        for thread in &self.threads {
            for (position, instance) in thread.iter().enumerate() {
                let next = classes.len();
                let class = *classes.entry(instance.key).or_insert(next);
                let space = if position == 0 { "" } else { " " };
                let _ = write!(out, "{space}b{}#{class}", instance.block);
                for (number, bits) in &instance.values {
                    let _ = write!(out, ",v{number}={bits}");
                }
            }
            out.push('\n');
        }
        out
    }
}

/// Watches one kernel.
struct Watch {
    function: usize,
    /// Numbers of values in the toy program.
    numbers: FxHashMap<InstId, u32>,
    execution: Execution,
}

impl Observer for Watch {
    fn block(&mut self, at: Moment<'_>, block: BlockId, _from: Option<BlockId>) {
        if at.function == self.function {
            let instance = Instance { block: node_of(block), key: at.key, values: BTreeMap::new() };
            self.execution.threads[at.thread.number as usize].push(instance);
        }
    }

    fn value(&mut self, at: Moment<'_>, value: &Value) {
        let (Some(&number), true) = (self.numbers.get(&at.inst), at.function == self.function)
        else {
            return;
        };
        let thread = &mut self.execution.threads[at.thread.number as usize];
        if let (Some(instance), Some(bits)) = (thread.last_mut(), value.bits()) {
            instance.values.insert(number, bits);
        }
    }
}

/// Runs the interpreter on a translated program under a hierarchy of cycles.
///
/// # Panics
/// The program is no text of [`translate`], or it faults.
#[must_use]
pub fn execute(llvm: &str, cycles: &Cycles, setting: Setting, order: Order) -> Execution {
    let parsed = phalanx::llvm::parse_module(Arc::new(Context::new()), llvm.as_bytes());
    let module = parsed.unwrap_or_else(|error| panic!("{error}\n{llvm}")).module;
    let target = phalanx::target::Target::new("amdgcn-amd-amdhsa", "");
    let mut program = Program::new(&module, &target).expect("the program is interpreted");
    let function = program.function("f").expect("a kernel");
    program.set_hierarchy(function, cycles.clone());
    let code = program.code(function);
    let mut numbers = FxHashMap::default();
    for &block in code.flow.order() {
        for inst in code.body.block_insts(block) {
            let name = code.extras.names.inst(inst).and_then(|name| std::str::from_utf8(name).ok());
            let number = name.and_then(|name| name.strip_prefix('v')).and_then(|n| n.parse().ok());
            numbers.extend(number.map(|number: u32| (inst, number)));
        }
    }
    let threads = vec![Vec::new(); setting.threads as usize];
    let mut watch = Watch { function, numbers, execution: Execution { threads } };
    let launch = Launch {
        block: [setting.threads, 1, 1],
        args: setting.args.iter().map(|&arg| Arg::bits(arg)).collect(),
        blocks: Some(setting.fuel),
        order,
        reconvergence: setting.reconvergence,
        ..Launch::default()
    };
    let mut memory = program.memory(0).expect("there is nothing to place");
    let outcome = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch);
    outcome.unwrap_or_else(|failure| panic!("{failure}\n{llvm}"));
    watch.execution
}
