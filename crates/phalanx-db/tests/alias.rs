//! How the first two accesses of a kernel relate.

#[path = "support/definition.rs"]
mod definition;

use phalanx_analysis::memory::alias::Alias;
use phalanx_db::queries;
use phalanx_ir::{InstId, Opcode};

use definition::definition;

const AMD: &str = r#"target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"
"#;

/// The two accesses of `@f` in a module with this head and these instructions; arguments are `%l` and `%n`.
#[track_caller]
fn alias(head: &str, instructions: &str) -> Alias {
    let text = format!(
        "{head}define amdgpu_kernel void @f(ptr addrspace(3) %l, i32 %n) {{\n{instructions}\n  ret void\n}}\n"
    );
    let (db, function) = definition(&text);
    let body = function.body(&db);
    let is_access = |inst: &InstId| matches!(body.inst(*inst).opcode, Opcode::Load | Opcode::Store);
    let accesses: Vec<InstId> = body.all_ids().filter(is_access).collect();
    queries::alias(&db, function, accesses[0], accesses[1]).expect("both access memory")
}

/// A byte at an offset from `%l`, and `%l` itself.
#[track_caller]
fn alias_of_offset(offset: i64) -> Alias {
    let text = format!(
        "  %a = getelementptr i8, ptr addrspace(3) %l, i64 {offset}\n  \
           store i8 1, ptr addrspace(3) %a\n  store i8 2, ptr addrspace(3) %l"
    );
    alias(AMD, &text)
}

#[test]
fn an_offset_is_as_wide_as_an_index_of_the_space() {
    assert_eq!(alias_of_offset(1 << 32), Alias::Must);
    assert_eq!(alias_of_offset((1 << 32) + 1), Alias::No);
    assert_eq!(alias_of_offset(1 << 31), Alias::No);
    // A product may wrap as well.
    let text = "  %a = getelementptr i64, ptr addrspace(3) %l, i64 2305843009213693952\n  \
         store i8 1, ptr addrspace(3) %a\n  store i8 2, ptr addrspace(3) %l";
    assert_eq!(alias(AMD, text), Alias::Must);
}

#[test]
fn an_offset_of_a_constant_address_is_as_wide_as_an_index() {
    let head = format!("{AMD}@g = internal addrspace(3) global [4 x i8] poison\n");
    let text = "  store i8 1, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @g, i64 4294967296)\n  \
         store i8 2, ptr addrspace(3) @g";
    assert_eq!(alias(&head, text), Alias::Must);
}

#[test]
fn beyond_a_cast_to_wider_addresses_a_step_can_be_the_way_back() {
    // Where the variable is at zero, the first step wraps, and both are one byte.
    let text = "  %a = getelementptr i8, ptr addrspace(3) %l, i32 -16\n  \
         %b = addrspacecast ptr addrspace(3) %a to ptr\n  \
         %c = getelementptr i8, ptr %b, i64 -4294967280\n  %d = addrspacecast ptr addrspace(3) %l to ptr\n  \
         store i8 1, ptr %c\n  store i8 2, ptr %d";
    assert_eq!(alias(AMD, text), Alias::May);
}

/// Accesses of these two variables of workgroup memory; a sized one is `@sized`.
#[track_caller]
fn alias_of_shared(a: &str, b: &str) -> Alias {
    let head = format!(
        "{AMD}@one = external addrspace(3) global [0 x i8], align 4\n\
         @other = external addrspace(3) global [0 x i32], align 4\n\
         @own = internal addrspace(3) global [0 x i32] poison, align 4\n\
         @elsewhere = external addrspace(3) global [4 x i32], align 4\n\
         @sized = internal addrspace(3) global [4 x i32] poison, align 4\n\
         @more = internal addrspace(3) global [4 x i32] poison, align 4\n\
         @device = external addrspace(1) global [0 x i32], align 4\n\
         @devices = external addrspace(1) global [0 x i32], align 4\n"
    );
    let space = |name: &str| if name.starts_with("@device") { 1 } else { 3 };
    let text = format!(
        "  store i32 1, ptr addrspace({}) {a}\n  store i32 2, ptr addrspace({}) {b}",
        space(a),
        space(b)
    );
    alias(&head, &text)
}

#[test]
fn variables_of_workgroup_memory_without_a_size_begin_at_one_place() {
    assert_eq!(alias_of_shared("@one", "@other"), Alias::May);
    assert_eq!(alias_of_shared("@one", "@own"), Alias::May);
    assert_eq!(alias_of_shared("@one", "@elsewhere"), Alias::May);
    assert_eq!(alias_of_shared("@one", "@one"), Alias::Must);
    // It is behind those that have one, and these are apart.
    assert_eq!(alias_of_shared("@one", "@sized"), Alias::No);
    assert_eq!(alias_of_shared("@sized", "@more"), Alias::No);
    assert_eq!(alias_of_shared("@device", "@devices"), Alias::No);
}

#[test]
fn elements_of_a_vector_are_without_gaps() {
    let text = "  %a = getelementptr <4 x i24>, ptr addrspace(3) %l, i32 0, i32 2\n  \
         %b = getelementptr i8, ptr addrspace(3) %l, i32 6\n  \
         store i8 1, ptr addrspace(3) %a\n  store i8 2, ptr addrspace(3) %b";
    assert_eq!(alias(AMD, text), Alias::Must);
    // In an array they are aligned.
    assert_eq!(alias(AMD, &text.replace("<4 x i24>", "[4 x i24]")), Alias::No);
}
