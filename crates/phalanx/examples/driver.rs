//! A small compiler driver: it builds a kernel without any text, transforms it, and asks what
//! diverges after each transform.
//!
//! `cargo run -p phalanx --example driver`. `docs/embedding.md` walks through it.

use std::fmt::Write as _;

use phalanx::{
    Did, FunctionId, ModuleId, Session,
    ir::{
        BuildError, InstBuilder, InstId, Opcode, Type, Value, ValueKind, builder::FunctionSpec,
        edit::Transaction, inst::IntPredicate,
    },
    prelude::{Scope, TargetOverrides},
};

/// Terms of the polynomial: enough for a function whose facts are repaired rather than found again.
const TERMS: i32 = 100;

/// `out[i] = p(i)`, twice that where `i < limit`; the terms are unrolled, each as a front end
/// writes it: `sum * 2 + i * 0 + term`.
fn build(session: &mut Session) -> Result<(ModuleId, FunctionId), Box<dyn std::error::Error>> {
    let context = session.context().clone();
    let mut module = session.builder();
    let global = context.ptr_type(1);
    let index = module.declare_function("llvm.amdgcn.workitem.id.x", Type::I32, &[])?;
    let spec = FunctionSpec::new(Type::VOID)
        .param(global, "out")
        .param(Type::I32, "limit")
        .call_conv(phalanx::ir::CallConv::AMDGPU_KERNEL);
    let mut f = module.define_function("polynomial", &spec)?;
    let [out, limit] = f.args();
    let [entry, twice, done] = ["entry", "twice", "done"].map(|name| f.block(name));
    f.switch_to(entry);
    let i = f.named("i").call(index, &[])?;
    let mut sum: Value = context.const_i32(1).into();
    for term in 0..TERMS {
        let doubled = f.mul(sum, context.const_i32(2))?;
        let nothing = f.mul(i, context.const_i32(0))?;
        let plus = f.add(doubled, nothing)?;
        sum = f.named("sum").add(plus, context.const_i32(term))?;
    }
    let below = f.named("below").icmp(IntPredicate::Slt, i, limit)?;
    f.cond_br(below, twice, done)?;
    f.switch_to(twice);
    let more = f.named("more").add(sum, sum)?;
    f.br(done)?;
    f.switch_to(done);
    let result = f.named("result").phi(Type::I32)?;
    f.add_incoming(result, sum, entry)?;
    f.add_incoming(result, more, twice)?;
    let at = f.gep(Type::I32, out, &[i])?;
    f.store(result, at)?;
    f.ret_void()?;
    f.finish()?;
    let module = session.add(
        module.finish()?,
        TargetOverrides { triple: Some("amdgcn-amd-amdhsa".into()), cpu: None },
    )?;
    let function = session.function(module, "polynomial").ok_or("it was defined above")?;
    Ok((module, function))
}

/// Instructions of one opcode.
fn all(edit: &Transaction<'_>, opcode: Opcode) -> Vec<InstId> {
    let body = edit.body();
    let is_it = |&inst: &InstId| body.inst(inst).opcode == opcode && body.block_of(inst).is_some();
    body.all_ids().filter(is_it).collect()
}

/// The number that an operand is.
fn number(edit: &Transaction<'_>, operand: Value) -> Option<u64> {
    let ValueKind::Const(constant) = operand.kind() else { return None };
    match &edit.context().const_data(constant).kind {
        phalanx::ir::ConstKind::Int(int) => int.to_u64(),
        _ => None,
    }
}

/// `x * 0` is 0, `x + 0` is x.
fn identities(edit: &mut Transaction<'_>) -> Result<(), BuildError> {
    for mul in all(edit, Opcode::Mul) {
        let right = edit.body().operands(mul)[1];
        if number(edit, right) == Some(0) {
            edit.replace(mul, right)?;
        }
    }
    for add in all(edit, Opcode::Add) {
        let [left, right] = [0, 1].map(|at| edit.body().operands(add)[at]);
        if number(edit, right) == Some(0) {
            edit.replace(add, left)?;
        }
    }
    Ok(())
}

/// `x * 2` is `x << 1`.
fn strength(edit: &mut Transaction<'_>) -> Result<(), BuildError> {
    for mul in all(edit, Opcode::Mul) {
        let [left, right] = [0, 1].map(|at| edit.body().operands(mul)[at]);
        if number(edit, right) == Some(2) {
            let one = edit.context().const_i32(1);
            let shift = edit.before(mul).shl(left, one)?;
            edit.replace(mul, shift)?;
        }
    }
    Ok(())
}

/// The caller knows that all threads are below the limit if the first is: the branch can ask that.
fn ask_the_first(edit: &mut Transaction<'_>) -> Result<(), BuildError> {
    for compare in all(edit, Opcode::ICmp) {
        let zero = edit.context().const_i32(0);
        edit.set_operand(compare, 0, zero)?;
    }
    Ok(())
}

/// Puts the store into a block of its own.
fn split(edit: &mut Transaction<'_>) -> Result<(), BuildError> {
    for store in all(edit, Opcode::Store) {
        edit.split_before(store, "write")?;
    }
    Ok(())
}

/// Asks, and says what was divergent and what it took to know.
fn report(session: &Session, function: FunctionId, name: &str, out: &mut String) {
    let ways = session.repairs(function);
    session.take_log();
    let Some(facts) = session.divergence(function) else { return };
    let code = session.code(function);
    let blocks = code.flow.order().iter();
    let branches = blocks.filter(|&&b| facts.is_divergent_branch(b, Scope::Wave)).count();
    let values = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let (mut divergent, mut count) = (0, 0);
    for inst in values.filter(|&inst| code.body.inst(inst).ty != Type::VOID) {
        count += 1;
        divergent += usize::from(facts.is_divergent(inst.into(), Scope::Wave));
    }
    let (mut ran, mut reused) = (Vec::new(), 0);
    for entry in session.take_log() {
        match entry.did {
            Did::Run => ran.push(entry.query),
            Did::Validate => reused += 1,
        }
    }
    let now = session.repairs(function);
    let how = match (now.repaired > ways.repaired, now.kept > ways.kept, now.rebuilt > ways.rebuilt)
    {
        (true, _, _) => "repaired",
        (_, true, _) => "found again and kept",
        (_, _, true) => "derived again",
        _ if now.solved > ways.solved => "found",
        _ => "as it was",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{name}: {divergent} of {count} values and {branches} branches diverge; divergence was {how}; {} queries ran, {reused} answers were still good",
        ran.len(),
    );
}

/// The whole of it; what is printed.
pub(crate) fn run() -> Result<String, Box<dyn std::error::Error>> {
    let mut out = String::new();
    let mut session = Session::with_event_log();
    let (module, function) = build(&mut session)?;
    report(&session, function, "built", &mut out);
    type Transform = fn(&mut Transaction<'_>) -> Result<(), BuildError>;
    let transforms: [(&str, Transform); 4] = [
        ("identities", identities),
        ("strength", strength),
        ("ask the first", ask_the_first),
        ("split", split),
    ];
    for (name, transform) in transforms {
        session.edit(function, transform)?;
        report(&session, function, name, &mut out);
    }
    // An edit that is refused at its second change takes back the first one, too.
    let before = session.print(module);
    let refused = session.edit(function, |edit| {
        let (compare, one) = (all(edit, Opcode::ICmp)[0], edit.context().const_i32(1));
        edit.set_operand(compare, 0, one)?;
        let store = all(edit, Opcode::Store)[0];
        let address = edit.body().operands(store)[1].as_inst().expect("computed above");
        edit.erase(address)
    });
    writeln!(out, "refused: {}", refused.expect_err("the store reads the address"))?;
    assert_eq!(before, session.print(module));
    report(&session, function, "the same", &mut out);
    Ok(out)
}

#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "the example prints; as a part of the tests it does not"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", run()?);
    Ok(())
}
