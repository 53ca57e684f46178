//! Memory: stack slots as compilers emit them without optimisation, addresses, stores in a row.

use rand::Rng as _;

use super::{Family, Text, module, third, w};

pub(super) const FAMILIES: &[Family] = &[
    module("slots", slots),
    module("slots_in_branches", |text, n| slots_across_blocks(text, n, false)),
    module("slots_in_loop", |text, n| slots_across_blocks(text, n, true)),
    module("pointer_slots", |text, n| pointer_slots(text, n, false)),
    module("pointer_slots_written", |text, n| pointer_slots(text, n, true)),
    module("pointer_chain", pointer_chain),
    module("stores_of_argument", stores_of_argument),
    module("stores_of_array", stores_of_array),
    module("stores_at_unknown", stores_at_unknown),
    module("address_chain", address_chain),
    module("workgroup_memory", workgroup_memory),
    module("loops_with_memory", loops_with_memory),
    module("nest_memory", nest_memory),
    module("state_machine", state_machine),
    module("arguments", arguments),
    module("atomics", atomics),
];

/// A store through a pointer that is computed from a value, so that the value affects an address.
fn store_at(text: &mut Text, i: usize, value: &str) {
    w!(text, "  %q{i} = getelementptr i32, ptr addrspace(1) %p, i32 {value}");
    w!(text, "  store i32 {i}, ptr addrspace(1) %q{i}");
}

/// `n` slots, each written once and read once.
fn slots(text: &mut Text, n: usize) {
    text.usual_kernel();
    (0..n).for_each(|i| w!(text, "  %a{i} = alloca i32, addrspace(5)"));
    (0..n).for_each(|i| w!(text, "  store i32 {}, ptr addrspace(5) %a{i}", third(i)));
    for i in 0..n {
        w!(text, "  %l{i} = load i32, ptr addrspace(5) %a{i}");
        store_at(text, i, &format!("%l{i}"));
    }
    text.end();
}

/// `n` conditionals in a row; each reads some slot and writes one of its own. With `again`, in a
/// loop.
fn slots_across_blocks(text: &mut Text, n: usize, again: bool) {
    text.usual_kernel();
    for i in 0..n {
        w!(text, "  %a{i} = alloca i32, addrspace(5)");
        if again {
            w!(text, "  store i32 0, ptr addrspace(5) %a{i}");
        }
    }
    w!(text, "  br label %b0");
    for i in 0..n {
        let some = text.rng.random_range(0..n);
        w!(text, "b{i}:\n  %l{i} = load i32, ptr addrspace(5) %a{some}");
        w!(text, "  %c{i} = icmp slt i32 %l{i}, {}", third(i));
        w!(text, "  br i1 %c{i}, label %t{i}, label %b{}", i + 1);
        w!(text, "t{i}:\n  store i32 {i}, ptr addrspace(5) %a{i}\n  br label %b{}", i + 1);
    }
    w!(text, "b{n}:");
    if again {
        w!(text, "  %e = icmp eq i32 %l{}, %n\n  br i1 %e, label %x, label %b0\nx:", n - 1);
    }
    text.end();
}

/// `n` slots that hold each other's addresses. With `written`, memory at these addresses is written
/// too.
fn pointer_slots(text: &mut Text, n: usize, written: bool) {
    text.usual_kernel();
    for i in 0..n {
        w!(text, "  %a{i} = alloca ptr, addrspace(5)");
        w!(text, "  %f{i} = addrspacecast ptr addrspace(5) %a{i} to ptr");
    }
    for i in 0..n {
        let other = if written { (i + 1) % n } else { text.rng.random_range(0..n) };
        w!(text, "  store ptr %f{other}, ptr addrspace(5) %a{i}");
    }
    for i in 0..n {
        w!(text, "  %l{i} = load ptr, ptr addrspace(5) %a{i}\n  %m{i} = load ptr, ptr %l{i}");
        match written {
            true => w!(text, "  store ptr %m{i}, ptr %l{i}"),
            false => w!(text, "  store i32 {i}, ptr %m{i}"),
        }
    }
    text.end();
}

/// `n` loads in a row, each through the pointer that the one before loaded.
fn pointer_chain(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  %a = alloca [64 x ptr], addrspace(5)");
    w!(text, "  %c0 = addrspacecast ptr addrspace(5) %a to ptr\n  store ptr %c0, ptr %c0");
    for i in 0..n {
        w!(text, "  %c{} = load ptr, ptr %c{i}\n  store ptr %c{i}, ptr %c{}", i + 1, i + 1);
    }
    text.end();
}

/// `n` elements of one argument are written, then read and written in the opposite order.
fn stores_of_argument(text: &mut Text, n: usize) {
    text.kernel("ptr addrspace(1) noalias %p, i32 %n");
    for i in 0..n {
        w!(text, "  %g{i} = getelementptr i32, ptr addrspace(1) %p, i32 {i}");
        w!(text, "  store i32 {i}, ptr addrspace(1) %g{i}");
    }
    for i in 0..n {
        w!(text, "  %h{i} = getelementptr i32, ptr addrspace(1) %p, i32 {}", n - 1 - i);
        w!(text, "  %l{i} = load i32, ptr addrspace(1) %h{i}");
        w!(text, "  store i32 %l{i}, ptr addrspace(1) %h{i}");
    }
    text.end();
}

/// `n` elements of one array on the stack are written, then read in the opposite order.
fn stores_of_array(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  %a = alloca [{n} x i32], addrspace(5)");
    for i in 0..n {
        w!(text, "  %g{i} = getelementptr i32, ptr addrspace(5) %a, i32 {i}");
        w!(text, "  store i32 {}, ptr addrspace(5) %g{i}", third(i));
    }
    for i in 0..n {
        w!(text, "  %h{i} = getelementptr i32, ptr addrspace(5) %a, i32 {}", n - 1 - i);
        w!(text, "  %l{i} = load i32, ptr addrspace(5) %h{i}");
        store_at(text, i, &format!("%l{i}"));
    }
    text.end();
}

/// `n` elements of one array on the stack, at unknown positions, are written and read.
fn stores_at_unknown(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  %a = alloca [{n} x i32], addrspace(5)");
    for i in 0..n {
        w!(text, "  %x{i} = add i32 %n, {i}");
        w!(text, "  %g{i} = getelementptr i32, ptr addrspace(5) %a, i32 %x{i}");
        w!(text, "  store i32 {}, ptr addrspace(5) %g{i}", third(i));
        w!(text, "  %l{i} = load i32, ptr addrspace(5) %g{i}");
        store_at(text, i, &format!("%l{i}"));
    }
    text.end();
}

/// `n` steps of one address, with a store after each.
fn address_chain(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  %s0 = getelementptr i8, ptr addrspace(1) %p, i32 %tid");
    for i in 0..n {
        let step = if i % 2 == 0 { "%n".to_owned() } else { (i % 7).to_string() };
        let next = i + 1;
        w!(text, "  %s{next} = getelementptr i32, ptr addrspace(1) %s{i}, i32 {step}");
        w!(text, "  store i32 {i}, ptr addrspace(1) %s{next}");
    }
    text.end();
}

/// `n` writes and reads of workgroup memory, with a barrier after each eighth write.
fn workgroup_memory(text: &mut Text, n: usize) {
    w!(text, "@s = internal addrspace(3) global [1024 x i32] poison");
    text.usual_kernel();
    for i in 0..n {
        w!(text, "  %x{i} = add i32 %tid, {i}");
        w!(text, "  %g{i} = getelementptr i32, ptr addrspace(3) @s, i32 %x{i}");
        w!(text, "  store i32 %n, ptr addrspace(3) %g{i}");
        if i % 8 == 0 {
            w!(text, "  call void @llvm.amdgcn.s.barrier()");
        }
        w!(text, "  %l{i} = load i32, ptr addrspace(3) %g{i}");
        store_at(text, i, &format!("%l{i}"));
    }
    text.end();
}

/// `n` loops in a row; each reads one buffer and writes to another at the position that was read.
fn loops_with_memory(text: &mut Text, n: usize) {
    text.kernel("ptr addrspace(1) noalias %p, ptr addrspace(1) %q, i32 %n");
    w!(text, "  br label %h0");
    for i in 0..n {
        let before = if i == 0 { "entry".to_owned() } else { format!("h{}", i - 1) };
        w!(text, "h{i}:\n  %i{i} = phi i32 [ 0, %{before} ], [ %n{i}, %h{i} ]");
        w!(text, "  %a{i} = getelementptr i32, ptr addrspace(1) %q, i32 %i{i}");
        w!(text, "  %l{i} = load i32, ptr addrspace(1) %a{i}");
        w!(text, "  %b{i} = getelementptr i32, ptr addrspace(1) %p, i32 %l{i}");
        w!(text, "  store i32 %i{i}, ptr addrspace(1) %b{i}\n  %n{i} = add i32 %i{i}, 1");
        w!(text, "  %c{i} = icmp slt i32 %n{i}, {}", third(i));
        w!(text, "  br i1 %c{i}, label %h{i}, label %h{}", i + 1);
    }
    w!(text, "h{n}:");
    text.end();
}

/// Loops nested `n` deep that read a buffer and write a slot at each level.
fn nest_memory(text: &mut Text, n: usize) {
    text.kernel("ptr addrspace(1) noalias %p, ptr addrspace(1) %q, i32 %n");
    w!(text, "  %s = alloca i32, addrspace(5)\n  store i32 0, ptr addrspace(5) %s");
    w!(text, "  br label %h0");
    for i in 0..n {
        let before = if i == 0 { "entry".to_owned() } else { format!("h{}", i - 1) };
        w!(text, "h{i}:\n  %i{i} = phi i32 [ 0, %{before} ], [ %n{i}, %l{i} ]");
        w!(text, "  %a{i} = getelementptr i32, ptr addrspace(1) %q, i32 %i{i}");
        w!(text, "  %v{i} = load i32, ptr addrspace(1) %a{i}");
        w!(text, "  store i32 %v{i}, ptr addrspace(5) %s");
        let inner = if i + 1 < n { format!("h{}", i + 1) } else { format!("l{i}") };
        w!(text, "  br label %{inner}");
    }
    for i in (0..n).rev() {
        let of = if i % 5 == 0 { "%tid" } else { "%n" };
        w!(text, "l{i}:\n  %w{i} = load i32, ptr addrspace(5) %s");
        w!(text, "  %n{i} = add i32 %i{i}, %w{i}\n  %c{i} = icmp slt i32 %n{i}, {of}");
        let outer = if i == 0 { "x".to_owned() } else { format!("l{}", i - 1) };
        w!(text, "  br i1 %c{i}, label %h{i}, label %{outer}");
    }
    w!(text, "x:");
    text.end();
}

/// A loop around a switch with `n` cases on a state that is held in a slot.
fn state_machine(text: &mut Text, n: usize) {
    text.usual_kernel();
    w!(text, "  %s = alloca i32, addrspace(5)\n  store i32 0, ptr addrspace(5) %s");
    w!(text, "  br label %loop\nloop:\n  %v = load i32, ptr addrspace(5) %s");
    w!(text, "  switch i32 %v, label %x [");
    (0..n).for_each(|i| w!(text, "    i32 {i}, label %c{i}"));
    w!(text, "  ]");
    for i in 0..n {
        let of = if i % 9 == 0 { "%tid" } else { "%n" };
        w!(text, "c{i}:\n  %d{i} = icmp slt i32 {of}, {i}");
        w!(text, "  %e{i} = select i1 %d{i}, i32 {}, i32 {}", (i * 7 + 1) % n, i + 1);
        w!(text, "  store i32 %e{i}, ptr addrspace(5) %s\n  br label %loop");
    }
    w!(text, "x:");
    text.end();
}

/// A kernel with `n` buffers, every other one `noalias`, each read and one of them written.
fn arguments(text: &mut Text, n: usize) {
    let parameter = |i: usize| {
        format!("ptr addrspace(1){} %p{i}", if i.is_multiple_of(2) { "" } else { " noalias" })
    };
    let parameters: Vec<String> = (0..n).map(parameter).collect();
    text.kernel(&parameters.join(", "));
    for i in 0..n {
        w!(text, "  %l{i} = load i32, ptr addrspace(1) %p{i}");
        w!(text, "  store i32 %l{i}, ptr addrspace(1) %p{}", (i * 7) % n);
    }
    text.end();
}

/// `n` atomic additions to one location; the result of each is the index of a store.
fn atomics(text: &mut Text, n: usize) {
    text.usual_kernel();
    for i in 0..n {
        w!(text, "  %x{i} = atomicrmw add ptr addrspace(1) %p, i32 {i} monotonic");
        store_at(text, i, &format!("%x{i}"));
    }
    text.end();
}
