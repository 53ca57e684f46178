//! How the first two accesses of a kernel relate.

#[path = "support/definition.rs"]
mod definition;

use phalanx_analysis::alias::Alias;
use phalanx_db::queries;
use phalanx_ir::{InstId, Opcode};

use definition::definition;

const AMD: &str = r#"target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"
"#;

/// The two accesses of `@f` in a module with this head and these instructions; arguments are `%l`
/// and `%n`.
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

/// Two accesses of four bytes at `%l` by indices of some type, made from `%n` by these
/// instructions.
#[track_caller]
fn alias_of_indices(numbers: &str, [a, b]: [&str; 2]) -> Alias {
    let text = format!(
        "  {numbers}\n  \
           %a = getelementptr i32, ptr addrspace(3) %l, {a}\n  %b = getelementptr i32, ptr addrspace(3) %l, {b}\n  \
           store i32 1, ptr addrspace(3) %a\n  store i32 2, ptr addrspace(3) %b"
    );
    alias(AMD, &text)
}

#[test]
fn indices_that_differ_by_a_constant_are_that_far_apart() {
    let plus = "%m = add i32 %n, 256";
    assert_eq!(alias_of_indices(plus, ["i32 %n", "i32 %m"]), Alias::No);
    assert_eq!(alias_of_indices(plus, ["i32 %m", "i32 %m"]), Alias::Must);
    // A multiple of 2^30 elements is no way at all in 32 bits.
    let far = "%m = add i32 %n, 1073741824";
    assert_eq!(alias_of_indices(far, ["i32 %n", "i32 %m"]), Alias::Must);
    let back = "%m = shl i32 %n, 1\n  %k = sub i32 %m, %n";
    assert_eq!(alias_of_indices(back, ["i32 %n", "i32 %k"]), Alias::Must);
}

#[test]
fn a_narrow_index_counts_where_it_does_not_wrap() {
    let wide = |flags| format!("%c = trunc i32 %n to i8\n  %m = add {flags} i8 %c, 64");
    assert_eq!(alias_of_indices(&wide("nsw"), ["i8 %c", "i8 %m"]), Alias::No);
    assert_eq!(alias_of_indices(&wide(""), ["i8 %c", "i8 %m"]), Alias::May);
    let extended = |flags, how: &str| {
        format!("{}\n  %x = {how} i8 %c to i32\n  %y = {how} i8 %m to i32", wide(flags))
    };
    for (flags, how, expected) in [
        ("nsw", "sext", Alias::No),
        ("nuw", "sext", Alias::May),
        ("nuw", "zext", Alias::No),
        ("nsw", "zext", Alias::May),
        ("nsw", "zext nneg", Alias::No),
    ] {
        let numbers = extended(flags, how);
        assert_eq!(alias_of_indices(&numbers, ["i32 %x", "i32 %y"]), expected, "{flags} {how}");
    }
}

#[test]
fn multiples_of_a_power_of_two_do_not_come_together() {
    let even = "%k = call i32 @number()\n  %x = shl i32 %n, 1\n  %m = mul i32 %k, 6\n  %y = or disjoint i32 %m, 1";
    let head = format!("{AMD}declare i32 @number()\n");
    let both = |y: &str| {
        let text = format!(
            "  {even}\n  %a = getelementptr i32, ptr addrspace(3) %l, i32 %x\n  \
               %b = getelementptr i32, ptr addrspace(3) %l, i32 {y}\n  \
               store i32 1, ptr addrspace(3) %a\n  store i32 2, ptr addrspace(3) %b"
        );
        alias(&head, &text)
    };
    assert_eq!([both("%y"), both("%m"), both("%k")], [Alias::No, Alias::May, Alias::May]);
}

/// Bytes that are narrow numbers, and what is made of them: [`alias_of_indices`] of these.
#[track_caller]
fn alias_of_bytes(numbers: &str, indices: [&str; 2]) -> Alias {
    alias_of_indices(&format!("%c = trunc i32 %n to i8\n  {numbers}"), indices)
}

#[test]
fn differences_and_products_of_bytes_may_wrap() {
    let sub = |flags| format!("%m = sub {flags} i8 %c, 64");
    assert_eq!(alias_of_bytes(&sub("nsw"), ["i8 %c", "i8 %m"]), Alias::No);
    assert_eq!(alias_of_bytes(&sub("nuw"), ["i8 %c", "i8 %m"]), Alias::May);
    for product in ["mul", "shl"] {
        let factor = if product == "mul" { 2 } else { 1 };
        let twice = |flags| {
            format!(
                "%m = {product} {flags} i8 %c, {factor}\n  %x = sext i8 %c to i32\n  \
                 %d = mul i32 %x, 2\n  %y = add i32 %d, 1"
            )
        };
        assert_eq!(alias_of_bytes(&twice("nsw"), ["i8 %m", "i32 %y"]), Alias::No, "{product}");
        assert_eq!(alias_of_bytes(&twice("nuw"), ["i8 %m", "i32 %y"]), Alias::May, "{product}");
    }
}

/// As numbers without a sign, -56 is 200.
#[test]
fn constants_are_extended_as_what_they_are_added_to() {
    let sum = "%m = add nuw i8 %c, -56\n  %y = zext i8 %m to i32\n  %x = zext i8 %c to i32\n  %z = add i32 %x, 200";
    assert_eq!(alias_of_bytes(sum, ["i32 %y", "i32 %z"]), Alias::Must);
    let product = sum.replace("add", "mul");
    assert_eq!(alias_of_bytes(&product, ["i32 %y", "i32 %z"]), Alias::Must);
}

#[test]
fn a_sign_that_is_followed_by_zeros_is_none() {
    let twice = "%s = sext i8 %c to i16\n  %y = zext i16 %s to i32";
    assert_eq!(alias_of_bytes(twice, ["i8 %c", "i32 %y"]), Alias::May);
    assert_eq!(alias_of_bytes(&twice.replace("zext", "sext"), ["i8 %c", "i32 %y"]), Alias::Must);
}

#[test]
fn what_is_cut_off_counts() {
    assert_eq!(alias_of_bytes("", ["i8 %c", "i32 %n"]), Alias::May);
    assert_eq!(alias_of_indices("%s = trunc nsw i32 %n to i8", ["i8 %s", "i32 %n"]), Alias::Must);
}

#[test]
fn an_or_is_a_sum_where_no_bit_is_in_both() {
    assert_eq!(alias_of_indices("%m = or i32 %n, 1", ["i32 %n", "i32 %m"]), Alias::May);
    assert_eq!(alias_of_indices("%m = or disjoint i32 %n, 1", ["i32 %n", "i32 %m"]), Alias::No);
}

/// What is left out of a sum for its length is not taken for nothing.
#[test]
fn sums_of_many_parts_are_not_looked_at() {
    let of = |count: usize| {
        let mut text = String::from("  %s0 = call i32 @number()\n");
        for at in 1..=count {
            text += &format!(
                "  %v{at} = call i32 @number()\n  %s{at} = add i32 %s{}, %v{at}\n",
                at - 1
            );
        }
        let accesses = format!(
            "  %a = getelementptr i32, ptr addrspace(3) %l, i32 %s{count}\n  \
               %b = getelementptr i32, ptr addrspace(3) %l, i32 %s{}\n  \
               %d = getelementptr i32, ptr addrspace(3) %b, i32 %v{count}\n  \
               store i32 1, ptr addrspace(3) %a\n  store i32 2, ptr addrspace(3) %d",
            count - 1
        );
        alias(&format!("{AMD}declare i32 @number()\n"), &(text + &accesses))
    };
    assert_eq!([of(7), of(8)], [Alias::Must, Alias::May]);
}

/// A place of a ring that is long enough for what begins there, and not for what begins elsewhere.
#[test]
fn accesses_reach_into_the_next_round_of_a_ring() {
    let of = |[from, to]: [&str; 2]| {
        let text = format!(
            "  %k = call i32 @number()\n  %x = shl i32 %n, 1\n  %m = shl i32 %k, 1\n  %y = or disjoint i32 %m, 1\n  \
               %a = getelementptr i32, ptr addrspace(3) %l, i32 %x\n  \
               %b = getelementptr i32, ptr addrspace(3) %l, i32 %y\n  \
               store {from} 1, ptr addrspace(3) %a\n  store {to} 2, ptr addrspace(3) %b"
        );
        alias(&format!("{AMD}declare i32 @number()\n"), &text)
    };
    assert_eq!(of(["i32", "i32"]), Alias::No);
    assert_eq!(of(["i32", "i64"]), Alias::May);
    assert_eq!(of(["i64", "i32"]), Alias::May);
}

/// Where the first step wraps, what comes behind a cast is not where it would be without one.
#[test]
fn an_index_before_a_cast_to_wider_addresses_may_wrap() {
    let of = |last: u32| {
        let text = format!(
            "  %a = getelementptr i8, ptr addrspace(3) %l, i32 %n\n  \
               %e = getelementptr i8, ptr addrspace(3) %a, i32 {last}\n  \
               %b = addrspacecast ptr addrspace(3) %a to ptr\n  %c = getelementptr i8, ptr %b, i64 16\n  \
               store i8 1, ptr addrspace(3) %e\n  store i8 2, ptr %c"
        );
        alias(AMD, &text)
    };
    assert_eq!(of(16), Alias::May);
}
