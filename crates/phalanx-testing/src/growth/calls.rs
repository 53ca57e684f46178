//! Call graphs: chains, rings, one large strongly connected component, calls through pointers.

use rand::Rng as _;

use super::{Family, Text, module, w};

pub(super) const FAMILIES: &[Family] = &[
    module("functions", functions),
    module("call_chain", |text, n| links(text, n, false, false)),
    module("call_cycle", |text, n| links(text, n, true, false)),
    module("call_chain_pointer", |text, n| links(text, n, false, true)),
    module("call_cycle_pointer", |text, n| links(text, n, true, true)),
    module("many_callees", many_callees),
    module("one_callee", one_callee),
    module("one_callee_slots", one_callee_slots),
    module("many_callers", many_callers),
    module("indirect_calls", indirect_calls),
    module("call_graph", |text, n| random_graph(text, n, false)),
    module("call_component", |text, n| random_graph(text, n, true)),
    module("argument_tree", argument_tree),
    module("callbacks", callbacks),
];

/// A function that adds a constant, stores the sum through the pointer and returns it.
fn writer(text: &mut Text, name: &str, constant: usize) {
    w!(text, "define internal i32 @{name}(ptr %q, i32 %n) {{");
    w!(text, "  %x = add i32 %n, {constant}\n  store i32 %x, ptr %q\n  ret i32 %x\n}}");
}

/// `n` kernels that call nothing.
fn functions(text: &mut Text, n: usize) {
    for i in 0..n {
        w!(text, "define amdgpu_kernel void @k{i}(ptr addrspace(1) %p, i32 %n) {{\nentry:");
        w!(text, "  %tid = call i32 @llvm.amdgcn.workitem.id.x()");
        w!(text, "  %c = icmp slt i32 %tid, %n\n  br i1 %c, label %a, label %b");
        w!(text, "a:\n  %g = getelementptr i32, ptr addrspace(1) %p, i32 %tid");
        w!(text, "  store i32 {i}, ptr addrspace(1) %g\n  br label %b\nb:");
        text.end();
    }
}

/// `n` functions, each of which calls the next one under a condition. With `around`, the last one
/// calls the first. With `pointer`, a pointer is passed along and written through.
fn links(text: &mut Text, n: usize, around: bool, pointer: bool) {
    let (parameter, passed) = if pointer { ("ptr %q, ", "ptr %q, ") } else { ("", "") };
    for i in 0..n {
        w!(text, "define internal i32 @f{i}({parameter}i32 %n) {{\n  %x = add i32 %n, {i}");
        if pointer {
            w!(text, "  store i32 %x, ptr %q");
        }
        let next = if i + 1 < n { Some(i + 1) } else { around.then_some(0) };
        if let Some(next) = next {
            w!(text, "  %c = icmp slt i32 %x, 9\n  br i1 %c, label %a, label %b");
            w!(text, "a:\n  %y = call i32 @f{next}({passed}i32 %x)\n  br label %b");
            w!(text, "b:\n  %z = phi i32 [ %x, %0 ], [ %y, %a ]\n  ret i32 %z\n}}");
        } else {
            w!(text, "  ret i32 %x\n}}");
        }
    }
    text.kernel("ptr %p, i32 %n");
    w!(text, "  %r = call i32 @f0({}i32 %tid)", if pointer { "ptr %p, " } else { "" });
    w!(text, "  store i32 %r, ptr %p");
    text.end();
}

/// A kernel that calls `n` functions, one after the other.
fn many_callees(text: &mut Text, n: usize) {
    (0..n).for_each(|i| writer(text, &format!("f{i}"), i));
    text.kernel("ptr %p, i32 %n");
    w!(text, "  %v0 = add i32 %tid, 0");
    (0..n).for_each(|i| w!(text, "  %v{} = call i32 @f{i}(ptr %p, i32 %v{i})", i + 1));
    text.end();
}

/// A kernel that calls one function `n` times.
fn one_callee(text: &mut Text, n: usize) {
    writer(text, "f", 1);
    text.kernel("ptr %p, i32 %n");
    w!(text, "  %v0 = add i32 %tid, 0");
    (0..n).for_each(|i| w!(text, "  %v{} = call i32 @f(ptr %p, i32 %v{i})", i + 1));
    text.end();
}

/// As `one_callee`, with a stack slot for each call to write to.
fn one_callee_slots(text: &mut Text, n: usize) {
    writer(text, "f", 1);
    text.kernel("ptr %p, i32 %n");
    for i in 0..n {
        w!(text, "  %a{i} = alloca i32, addrspace(5)");
        w!(text, "  %f{i} = addrspacecast ptr addrspace(5) %a{i} to ptr");
    }
    for i in 0..n {
        w!(text, "  %v{i} = call i32 @f(ptr %f{i}, i32 %n)");
        w!(text, "  %l{i} = load i32, ptr %f{i}\n  store i32 %l{i}, ptr %p");
    }
    text.end();
}

/// `n` kernels that call one function.
fn many_callers(text: &mut Text, n: usize) {
    writer(text, "f", 1);
    for i in 0..n {
        w!(text, "define amdgpu_kernel void @k{i}(ptr %p, i32 %n) {{");
        w!(text, "  %tid = call i32 @llvm.amdgcn.workitem.id.x()");
        let passed = if i % 2 == 0 { "%n" } else { "%tid" };
        w!(text, "  %v = call i32 @f(ptr %p, i32 {passed})");
        text.end();
    }
}

/// `n` calls through pointers out of a table of `n` functions.
fn indirect_calls(text: &mut Text, n: usize) {
    let entries: Vec<String> = (0..n).map(|i| format!("ptr @f{i}")).collect();
    w!(text, "@table = internal addrspace(4) constant [{n} x ptr] [{}]", entries.join(", "));
    (0..n).for_each(|i| writer(text, &format!("f{i}"), i));
    text.kernel("ptr %p, i32 %n");
    for i in 0..n {
        let index = if i % 2 == 0 { "%n".to_owned() } else { i.to_string() };
        w!(text, "  %g{i} = getelementptr ptr, ptr addrspace(4) @table, i32 {index}");
        w!(text, "  %t{i} = load ptr, ptr addrspace(4) %g{i}");
        w!(text, "  %v{i} = call i32 %t{i}(ptr %p, i32 %tid)");
    }
    text.end();
}

/// `n` functions with three calls each: of later functions, or with `around` of any.
fn random_graph(text: &mut Text, n: usize, around: bool) {
    for i in 0..n {
        w!(text, "define internal i32 @f{i}(ptr %q, i32 %n) {{\n  %x = add i32 %n, {i}");
        w!(text, "  store i32 %x, ptr %q\n  %c = icmp eq i32 %x, %n");
        w!(text, "  br i1 %c, label %b, label %a\na:");
        let mut value = "%x".to_owned();
        let callees = if around { 0..n } else { i + 1..n.min(i + 50) };
        for call in 0..3 {
            if callees.is_empty() {
                break;
            }
            let callee = text.rng.random_range(callees.clone());
            w!(text, "  %y{call} = call i32 @f{callee}(ptr %q, i32 {value})");
            value = format!("%y{call}");
        }
        w!(text, "  ret i32 {value}\nb:\n  ret i32 0\n}}");
    }
    text.kernel("ptr %p, i32 %n");
    w!(text, "  %v = call i32 @f0(ptr %p, i32 %tid)");
    text.end();
}

/// A binary tree of `n` functions that pass two pointers down, swapped on one side.
fn argument_tree(text: &mut Text, n: usize) {
    for i in 0..n {
        w!(text, "define internal void @f{i}(ptr %a, ptr %b) {{");
        w!(text, "  %l = load i32, ptr %a\n  store i32 %l, ptr %b");
        if 2 * i + 1 < n {
            w!(text, "  call void @f{}(ptr %b, ptr %a)", 2 * i + 1);
        }
        if 2 * i + 2 < n {
            w!(text, "  call void @f{}(ptr %a, ptr %b)", 2 * i + 2);
        }
        text.end();
    }
    text.kernel("ptr %p, i32 %n");
    w!(text, "  %s = alloca i32, addrspace(5)");
    w!(text, "  %t = addrspacecast ptr addrspace(5) %s to ptr\n  call void @f0(ptr %p, ptr %t)");
    text.end();
}

/// `n` functions, each of which stores a function, loads it again and calls it.
fn callbacks(text: &mut Text, n: usize) {
    for i in 0..n {
        w!(
            text,
            "define internal void @f{i}(ptr %a) {{\n  store ptr @f{}, ptr %a",
            (3 * i + 1) % n
        );
        w!(text, "  %g = load ptr, ptr %a\n  call void %g(ptr %a)");
        text.end();
    }
    text.kernel("ptr %p, i32 %n");
    w!(text, "  call void @f0(ptr %p)");
    text.end();
}
