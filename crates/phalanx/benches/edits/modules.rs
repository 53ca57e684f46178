//! Benches of edits in a module of many small functions.

use super::common::{EditPlace, is_sum, percentiles, places, us};
use phalanx::db::queries;
use phalanx::ir::{BuildError, Value};
use phalanx::{FunctionId, Session};
use phalanx_testing::abstract_program::DECLARATIONS;
use phalanx_testing::inlined::inlined;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

pub(crate) fn module(count: usize) {
    let program = inlined(60);
    let mut text = format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}");
    for number in 0..count {
        text.push_str(&program.to_llvm(&format!("f{number}")));
    }
    edits_in_module("module", &text, count);
}

/// Kernels that call functions, which call functions.
pub(crate) fn calls(count: usize) {
    let mut text = format!("target triple = \"amdgcn-amd-amdhsa\"\n{DECLARATIONS}");
    let body = "  %s = add i32 %a, 1\n  %t = add i32 %s, %b\n  %u = add i32 %t, %s\n";
    for number in 0..count {
        let callee = number % 100;
        text.push_str(&format!(
            "define amdgpu_kernel void @k{number}(i32 %a, i32 %b) {{\n{body}  \
             %r = call i32 @mid{callee}(i32 %u, i32 %a)\n  \
             %c = icmp eq i32 %r, 0\n  br i1 %c, label %x, label %y\nx:\n  br label %y\ny:\n  ret void\n}}\n"
        ));
    }
    for number in 0..100 {
        let callee = number % 10;
        text.push_str(&format!(
            "define internal i32 @mid{number}(i32 %a, i32 %b) {{\n{body}  \
             %r = call i32 @low{callee}(i32 %u, i32 %a)\n  ret i32 %r\n}}\n"
        ));
    }
    for number in 0..10 {
        text.push_str(&format!(
            "define internal i32 @low{number}(i32 %a, i32 %b) {{\n{body}  ret i32 %u\n}}\n"
        ));
    }
    edits_in_module("calls", &text, count);
}

/// Small kernels that call one function; each is edited once, and only that kernel is queried.
pub(crate) fn once(count: usize) {
    let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n".to_owned();
    text.push_str("define i32 @shared(i32 %a) {\n  %s = add i32 %a, 1\n  ret i32 %s\n}\n");
    for number in 0..count {
        let _ = write!(
            text,
            "define amdgpu_kernel void @k{number}(i32 %a, i32 %b) {{\n  %s = add i32 %a, %b\n  \
             %t = add i32 %s, %b\n  %u = add i32 %t, %s\n  %r = call i32 @shared(i32 %u)\n  ret void\n}}\n"
        );
    }
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let functions: Vec<FunctionId> = session.functions(module).skip(1).collect();
    let ask = |session: &Session, function: FunctionId| {
        black_box(queries::divergence(session.database(), function.input()));
    };
    let start = Instant::now();
    functions.iter().for_each(|&function| ask(&session, function));
    let first = start.elapsed();
    let mut rng = SmallRng::seed_from_u64(1);
    let each = functions.iter().map(|&function| {
        let change = change(&session, function, &mut rng);
        let start = Instant::now();
        apply(&mut session, function, change);
        ask(&session, function);
        start.elapsed()
    });
    let times = each.collect();
    print("once", count, first, times);
}

/// Edits the first 100 functions, and asks for the divergent branches of the module after each
/// edit: the first edit of each function, and later ones.
fn edits_in_module(table: &str, text: &str, count: usize) {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("generated programs are well-formed");
    let functions: Vec<FunctionId> = session.functions(module).take(100).collect();
    let ask = |session: &Session| {
        black_box(queries::module_divergent_branches(session.database(), module.input()))
    };
    let start = Instant::now();
    ask(&session);
    let first = start.elapsed();
    let mut rng = SmallRng::seed_from_u64(1);
    let (mut firsts, mut times) = (Vec::new(), Vec::new());
    for round in 0..800 {
        let random = rng.random_range(0..functions.len());
        let function = functions[if round < functions.len() { round } else { random }];
        let change = change(&session, function, &mut rng);
        let start = Instant::now();
        apply(&mut session, function, change);
        ask(&session);
        let of = if round < functions.len() { &mut firsts } else { &mut times };
        of.push(start.elapsed());
    }
    print(&format!("{table} 1st"), count, first, firsts);
    print(table, count, first, times);
}

/// Replaces an operand of a sum.
fn change(session: &Session, function: FunctionId, rng: &mut SmallRng) -> (EditPlace, Value) {
    let body = session.code(function).body;
    let places = places(session, function, is_sum).into_iter();
    let mut changes: Vec<(EditPlace, Value)> = places
        .flat_map(|place| {
            let others = place.others.clone().into_iter();
            let others = others.filter(|other| body.operands(place.inst)[0] != *other);
            let at = move |other| (EditPlace { others: Vec::new(), ..place }, other);
            others.map(at).collect::<Vec<_>>()
        })
        .collect();
    let at = rng.random_range(0..changes.len());
    changes.swap_remove(at)
}

fn apply(session: &mut Session, function: FunctionId, (place, other): (EditPlace, Value)) {
    let done: Result<(), BuildError> = session
        .edit(function, |edit| edit.verifying(false).set_operand(place.inst, place.index, other));
    done.expect("the value is there");
}

fn print(table: &str, count: usize, first: Duration, mut times: Vec<Duration>) {
    let [median, p90, p99] = percentiles(&mut times);
    println!(
        "{table:<10} {count:>7} {:>12.0} {:>8} {median:>8.1} {p90:>8.1} {p99:>8.1} {:>10.0}",
        us(first),
        "",
        us(first) / median
    );
}
