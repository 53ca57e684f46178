//! Inputs that are large in one respect take time in proportion to their size.
//!
//! Each test is so large that quadratic work would take minutes while linear work takes less than a
//! second. So the limit can be generous.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use phalanx::prelude::*;
use phalanx::transform::{Pass as _, early_cse::EarlyCse};

const HEAD: &str = "target triple = \"amdgcn-amd-amdhsa\"\n";

/// Far above what linear work takes, and far below what quadratic work takes.
const LIMIT: Duration = Duration::from_secs(25);

/// Reads and verifies a module, and asks something of its function `@f`.
fn within_limit(text: &str, ask: impl FnOnce(&Session, FunctionId)) {
    let start = Instant::now();
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is right");
    ask(&session, session.function(module, "f").expect("it is defined"));
    let taken = start.elapsed();
    assert!(taken < LIMIT, "{taken:?}");
}

#[test]
fn a_block_has_many_phis() {
    let mut text =
        format!("{HEAD}define void @f(i32 %a, i1 %c) {{\n  br i1 %c, label %l, label %j\n");
    text.push_str("l:\n  br label %j\nj:\n");
    for i in 0..250_000 {
        let _ = writeln!(text, "  %p{i} = phi i32 [ {i}, %0 ], [ %a, %l ]");
    }
    text.push_str("  ret void\n}\n");
    within_limit(&text, |_, _| {});
}

#[test]
fn many_accesses_share_a_long_list_of_scopes() {
    let count = 40_000;
    let mut text = format!("{HEAD}define void @f(ptr %a) {{\n");
    for _ in 0..count {
        let _ = writeln!(text, "  load i32, ptr %a, !noalias !1");
    }
    text.push_str("  ret void\n}\n!0 = distinct !{!0}\n!1 = !{!2");
    (3..count).for_each(|i| _ = write!(text, ", !{i}"));
    text.push_str("}\n");
    (2..count).for_each(|i| _ = writeln!(text, "!{i} = distinct !{{!{i}, !0}}"));
    within_limit(&text, |_, _| {});
}

#[test]
fn many_loads_stand_before_a_fence() {
    let mut text = format!("{HEAD}define amdgpu_kernel void @f(ptr addrspace(1) %a) {{\n");
    for i in 0..200_000 {
        let _ = writeln!(text, "  %g{i} = getelementptr i32, ptr addrspace(1) %a, i32 {i}");
        let _ = writeln!(text, "  %v{i} = load i32, ptr addrspace(1) %g{i}");
    }
    text.push_str("  fence acquire\n  ret void\n}\n");
    within_limit(&text, |session, function| {
        let classes = session.load_classes(function).expect("a body");
        assert_eq!(classes.loads().len(), 200_000);
    });
}

#[test]
fn many_loads_follow_many_stores_to_slots() {
    let count = 200_000;
    let mut text = format!("{HEAD}define amdgpu_kernel void @f(ptr addrspace(1) %a) {{\n");
    (0..count).for_each(|i| _ = writeln!(text, "  %s{i} = alloca i32, addrspace(5)"));
    (0..count).for_each(|i| _ = writeln!(text, "  store i32 {i}, ptr addrspace(5) %s{i}"));
    for i in 0..count {
        let _ = writeln!(text, "  %v{i} = load i32, ptr addrspace(5) %s{i}");
        let _ = writeln!(text, "  store i32 %v{i}, ptr addrspace(1) %a");
    }
    text.push_str("  ret void\n}\n");
    let start = Instant::now();
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("the text is right");
    let function = session.function(module, "f").expect("it is defined");
    let done = EarlyCse.run(session.database_mut(), function.input());
    done.expect("all edits are right");
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}
