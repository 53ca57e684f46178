//! Control flow with content: barriers, phis, chains of values.

use rand::Rng as _;

use super::{Family, Text, module, third, w};

pub(super) const FAMILIES: &[Family] = &[
    module("barriers", barriers),
    module("nest_barriers", nest_barriers),
    module("join_phis", join_phis),
    module("rotating_phis", rotating_phis),
    module("pointer_phis", pointer_phis),
    module("select_chain", select_chain),
    module("mixed", mixed),
    module("backward_branches", backward_branches),
    module("ladder_in_loop", ladder_in_loop),
];

/// `n` conditionals in a row with a barrier in each.
fn barriers(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  br label %b0");
    for i in 0..n {
        let of = if i % 4 == 0 { "%tid" } else { "%n" };
        w!(text, "b{i}:\n  %x{i} = add i32 {of}, {i}\n  %c{i} = icmp slt i32 %x{i}, 5");
        w!(text, "  br i1 %c{i}, label %t{i}, label %b{}", i + 1);
        w!(text, "t{i}:\n  call void @llvm.amdgcn.s.barrier()\n  br label %b{}", i + 1);
    }
    w!(text, "b{n}:");
    text.end();
}

/// Loops nested `n` deep with a barrier at each level.
fn nest_barriers(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  br label %h0");
    for i in 0..n {
        let before = if i == 0 { "entry".to_owned() } else { format!("h{}", i - 1) };
        w!(text, "h{i}:\n  %i{i} = phi i32 [ 0, %{before} ], [ %n{i}, %l{i} ]");
        w!(text, "  call void @llvm.amdgcn.s.barrier()");
        let inner = if i + 1 < n { format!("h{}", i + 1) } else { format!("l{i}") };
        w!(text, "  br label %{inner}");
    }
    for i in (0..n).rev() {
        let of = if i % 5 == 0 { "%tid" } else { "%n" };
        w!(text, "l{i}:\n  %n{i} = add i32 %i{i}, 1\n  %c{i} = icmp slt i32 %n{i}, {of}");
        let outer = if i == 0 { "x".to_owned() } else { format!("l{}", i - 1) };
        w!(text, "  br i1 %c{i}, label %h{i}, label %{outer}");
    }
    w!(text, "x:");
    text.end();
}

/// A join with `n` phis, each the index of a store.
fn join_phis(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  %c = icmp slt i32 %tid, %n\n  br i1 %c, label %a, label %b\na:");
    (0..n).for_each(|i| w!(text, "  %x{i} = add i32 %n, {i}"));
    w!(text, "  br label %b\nb:");
    (0..n).for_each(|i| w!(text, "  %p{i} = phi i32 [ {i}, %entry ], [ %x{i}, %a ]"));
    for i in 0..n {
        w!(text, "  %q{i} = getelementptr i32, ptr addrspace(1) %p, i32 %p{i}");
        w!(text, "  store i32 0, ptr addrspace(1) %q{i}");
    }
    text.end();
}

/// A loop with `n` phis; each takes the value that the next one had in the previous round.
fn rotating_phis(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  br label %h\nh:");
    for i in 0..n {
        let first = if i == 0 { "%tid".to_owned() } else { i.to_string() };
        w!(text, "  %p{i} = phi i32 [ {first}, %entry ], [ %p{}, %h ]", (i + 1) % n);
    }
    w!(text, "  %c = icmp slt i32 %p0, %n\n  br i1 %c, label %h, label %x");
    w!(text, "x:\n  store i32 %p{}, ptr addrspace(1) %p", n - 1);
    text.end();
}

/// As `rotating_phis`, with pointers and a store through each.
fn pointer_phis(text: &mut Text, n: usize) {
    text.kernel("ptr %p, ptr addrspace(1) %g, i32 %n");
    w!(text, "  %gg = addrspacecast ptr addrspace(1) %g to ptr\n  br label %h\nh:");
    for i in 0..n {
        let first = if i == 0 { "%p" } else { "%gg" };
        w!(text, "  %p{i} = phi ptr [ {first}, %entry ], [ %p{}, %h ]", (i + 1) % n);
    }
    (0..n).for_each(|i| w!(text, "  store i32 {i}, ptr %p{i}"));
    w!(text, "  %c = icmp slt i32 %tid, %n\n  br i1 %c, label %h, label %x\nx:");
    text.end();
}

/// `n` selects of pointers in a row, with a store through each.
fn select_chain(text: &mut Text, n: usize) {
    text.kernel("ptr %p, ptr %q, i32 %n");
    w!(text, "  %s0 = getelementptr i8, ptr %p, i32 0");
    for i in 0..n {
        w!(text, "  %c{i} = icmp slt i32 %n, {i}");
        w!(text, "  %s{} = select i1 %c{i}, ptr %s{i}, ptr %q", i + 1);
        w!(text, "  store i32 {i}, ptr %s{}", i + 1);
    }
    text.end();
}

/// One block with arithmetic, addresses, loads and stores that depend on each other.
fn mixed(text: &mut Text, n: usize) {
    text.usual_kernel();
    let mut last = "%n".to_owned();
    for i in 0..n {
        w!(text, "  %a{i} = add i32 {last}, {i}\n  %b{i} = xor i32 %a{i}, %tid");
        w!(text, "  %g{i} = getelementptr i32, ptr addrspace(1) %p, i32 %b{i}");
        w!(text, "  %l{i} = load i32, ptr addrspace(1) %g{i}");
        w!(text, "  store i32 %a{i}, ptr addrspace(1) %g{i}");
        w!(text, "  %m{i} = mul i32 %l{i}, %n");
        last = format!("%m{i}");
    }
    text.end();
}

/// `n` blocks in a row with a store in each, and backward branches over up to 20 of them.
fn backward_branches(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  br label %b0");
    for i in 0..n {
        w!(text, "b{i}:\n  store i32 {i}, ptr addrspace(1) %p");
        w!(text, "  %c{i} = icmp slt i32 {}, {i}", third(i));
        // The first of these blocks has no backward branch to it: LLVM's simplifications keep it
        // separate.
        let back = match i {
            0 => 1,
            _ => text.rng.random_range(i.saturating_sub(20).max(1)..=i),
        };
        w!(text, "  br i1 %c{i}, label %b{back}, label %b{}", i + 1);
    }
    w!(text, "b{n}:");
    text.end();
}

/// A loop around `n` two-entry cycles in a row, each with an access to memory.
fn ladder_in_loop(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  br label %head");
    w!(text, "head:\n  %i = phi i32 [ 0, %entry ], [ %next, %latch ]");
    w!(text, "  %c = icmp slt i32 %i, %tid\n  br i1 %c, label %a0, label %b0");
    for i in 0..n {
        let last = i + 1 == n;
        let below = |side: &str| if last { "latch".to_owned() } else { format!("{side}{}", i + 1) };
        w!(text, "a{i}:\n  store i32 {i}, ptr addrspace(1) %p");
        w!(text, "  %e{i} = icmp sgt i32 {}, {i}", third(i));
        w!(text, "  br i1 %e{i}, label %b{i}, label %{}", below("a"));
        w!(text, "b{i}:\n  %l{i} = load i32, ptr addrspace(1) %p");
        w!(text, "  %f{i} = icmp slt i32 %l{i}, %n");
        w!(text, "  br i1 %f{i}, label %a{i}, label %{}", below("b"));
    }
    w!(text, "latch:\n  %next = add i32 %i, 1\n  %d = icmp slt i32 %next, %n");
    w!(text, "  br i1 %d, label %head, label %x\nx:");
    text.end();
}
