//! Accesses at indices from data, and others of the whole array: warnings.

use expect_test::{Expect, expect};

use super::races::{AMDGCN, NVPTX, found, kernel};

#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(target: &str, body: &str, expected: Expect) {
    expected.assert_eq(&found(&kernel(target, body)));
}

/// Threads clear their elements, count their data, and read their elements.
const HISTOGRAM: &str = "store i32 0, tile[%t]
        FIRST
        %own = getelementptr i32, ptr addrspace(1) %out, i32 %t
        %key = load i32, ptr addrspace(1) %own
        %at = and i32 %key, 63
        %o = atomicrmw add tile[%at], i32 1 monotonic
        SECOND
        %x = load i32, tile[%t]
        ret void";

fn histogram(first: &str, second: &str) -> String {
    HISTOGRAM.replace("FIRST", first).replace("SECOND", second)
}

#[test]
fn counting_before_all_is_cleared() {
    check(NVPTX, &histogram("barrier", "barrier"), expect![""]);
    check(
        NVPTX,
        &histogram("", "barrier"),
        expect![[r#"
        PHX050 warning: 0 writes, 32 writes tile[32]
    "#]],
    );
    check(
        NVPTX,
        &histogram("barrier", ""),
        expect![[r#"
        PHX050 warning: 32 reads, 0 writes tile[32]
    "#]],
    );
    // A kernel without a barrier is for one wave, or each thread keeps to its own.
    check(NVPTX, &histogram("", ""), expect![""]);
    // 64 threads are one wave.
    check(AMDGCN, &histogram("", "barrier"), expect![""]);
}

/// Each warp has a row of its own.
#[test]
fn rows_of_threads() {
    let rows = histogram("", "barrier").replace(
        "%at = and i32 %key, 63",
        "%in.row = and i32 %key, 31\n%row = and i32 %t, 32\n%at = add i32 %row, %in.row",
    );
    check(NVPTX, &rows, expect![""]);
}

/// Data is bounded by its mask: elements that it does not reach are others.
#[test]
fn elements_out_of_reach() {
    let upper = histogram("", "barrier").replace(
        "store i32 0, tile[%t]",
        "%low = and i32 %t, 31\n%high = add i32 %low, 32\nstore i32 0, tile[%high]",
    );
    let masked = |mask: &str| upper.replace("%key, 63", &format!("%key, {mask}"));
    check(NVPTX, &masked("31"), expect![""]);
    check(
        NVPTX,
        &masked("63"),
        expect![[r#"
        PHX050 warning: 0 writes, 32 writes tile[32]
    "#]],
    );
    let byte = upper.replace("and i32 %key, 63", "zext i8 %byte to i32");
    let of = |bits: &str| {
        byte.replace("%at = ", &format!("%byte = trunc i32 %key to i{bits}\n%at = "))
            .replace("zext i8", &format!("zext i{bits}"))
    };
    check(NVPTX, &of("5"), expect![""]);
    check(
        NVPTX,
        &of("8"),
        expect![[r#"
        PHX050 warning: 0 writes, 32 writes tile[32]
    "#]],
    );
}

#[test]
fn atomic_accesses_of_both_kinds() {
    let atomic = histogram("", "barrier")
        .replace("store i32 0, tile[%t]", "%z = atomicrmw and tile[%t], i32 0 monotonic");
    check(NVPTX, &atomic, expect![""]);
}

/// What one thread does to one element is not the whole array.
#[test]
fn one_element_is_not_the_array() {
    let one = histogram("", "barrier").replace("store i32 0, tile[%t]", "store i32 0, tile[3]");
    check(NVPTX, &one, expect![""]);
}
