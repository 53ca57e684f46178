//! A first driver: it asks which branches part threads and why, edits the kernel, and asks again.
//!
//! `cargo run -p phalanx --example again`. `docs/first-driver.md` goes through it.

use std::error::Error;

use phalanx::{Did, ir::BuildError, ir::edit::Transaction, prelude::*};

// [kernel]
const KERNEL: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @store(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %inside = icmp ult i32 %id, %n
  br i1 %inside, label %work, label %exit
work:
  store i32 %n, ptr addrspace(1) %out
  br label %exit
exit:
  ret void
}
"#;
// [end]

// [ask]
/// Which branches of a function part the threads of a wave, and why.
fn ask(session: &Session, module: ModuleId, function: FunctionId) -> String {
    let Some(divergence) = session.divergence(function) else { return String::new() };
    let printer = session.printer(module);
    let why = session.explainer(function, &printer, KERNEL.as_bytes());
    let mut out = String::new();
    for &block in session.code(function).flow.order() {
        if !divergence.is_divergent_branch(block, Scope::Wave) {
            continue;
        }
        out += "a branch parts threads of a wave:\n";
        let steps = why.explain(Subject::Branch(block), Scope::Wave).map(|found| found.steps);
        for step in steps.unwrap_or_default() {
            out += &format!("  {}\n", step.sentence);
        }
    }
    match out.is_empty() {
        true => "no branch parts threads of a wave\n".to_owned(),
        false => out,
    }
}
// [end]

// [edit]
/// The driver knows that either all threads are below `%n` or none is: ask it of thread 0.
fn ask_of_thread_0(edit: &mut Transaction<'_>) -> Result<(), BuildError> {
    let body = edit.body();
    let compares: Vec<InstId> =
        body.all_ids().filter(|&inst| body.inst(inst).opcode == Opcode::ICmp).collect();
    for compare in compares {
        let zero = edit.context().const_i32(0);
        edit.set_operand(compare, 0, zero)?;
    }
    Ok(())
}
// [end]

/// What is printed.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    // [begin]
    let mut session = Session::with_event_log();
    let module = session.read(KERNEL.as_bytes())?;
    let kernel = session.function(module, "store").ok_or("the module has no such kernel")?;
    let mut out = ask(&session, module, kernel);

    session.edit(kernel, ask_of_thread_0)?;
    session.take_log();
    out += "after the edit: ";
    out += &ask(&session, module, kernel);
    // [end]
    // [log]
    let log = session.take_log();
    let ran: Vec<&str> =
        log.iter().filter(|entry| entry.did == Did::Run).map(|entry| &*entry.query).collect();
    let kept = log.iter().filter(|entry| entry.did == Did::Validate).count();
    out += &format!("computed again: {}; {kept} answers were still good\n", ran.join(", "));
    // [end]
    // [reread]
    let text = KERNEL.replace("store i32 %n", "store i32 %id");
    let report = session.reread(module, text.as_bytes())?;
    out += &format!("read again: {} changed, {} did not\n", report.changed.len(), report.unchanged);
    out += &ask(&session, module, kernel);
    // [end]
    Ok(out)
}

#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "the example prints; as a part of the tests it does not"
)]
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
