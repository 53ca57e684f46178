//! Accesses of workgroup memory that are not compared with others: each is counted, with a reason.

use std::{collections::BTreeMap, sync::Arc};

use expect_test::{Expect, expect};
use phalanx_db::{Database, TargetOverrides, queries};
use phalanx_ir::Context;

use super::races::{NVPTX, found, kernel};

/// How many accesses are left out for each reason.
fn left_out(body: &str) -> String {
    let text = kernel(NVPTX, body);
    let mut db = Database::default();
    let context = Arc::new(Context::new());
    let parsed = phalanx_llvm::parse_module(context, text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let module = db.load(parsed.module, None, TargetOverrides::default());
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for entry in module.functions(&db).clone().iter() {
        let found = queries::workgroup_memory(&db, entry.input).as_ref();
        for (_, why) in found.iter().flat_map(|found| &found.left_out) {
            *counts.entry(*why).or_default() += 1;
        }
    }
    counts.into_iter().map(|(why, count)| format!("{why:?} {count}\n")).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(body: &str, expected: Expect) {
    expected.assert_eq(&left_out(body));
}

/// Each thread writes where its data says.
const SCATTER: &str = "%own = getelementptr i32, ptr addrspace(1) %out, i32 %t
        %key = load i32, ptr addrspace(1) %own
        %at = and i32 %key, 63
        store i32 %t, tile[%at]
        barrier
        %x = load i32, tile[%t]
        ret void";

#[test]
fn indices_that_are_loaded() {
    // The barrier keeps the write from the read, and nothing else is to be compared.
    check(
        SCATTER,
        expect![[r#"
        Index 1
    "#]],
    );
    check(
        &SCATTER.replace("barrier", ""),
        expect![[r#"
        Index 1
    "#]],
    );
    // Atomic accesses do not race with each other.
    let counted =
        SCATTER.replace("store i32 %t, tile[%at]", "%o = atomicrmw add tile[%at], i32 1 monotonic");
    check(&counted, expect![""]);
    check(
        &counted.replace("barrier", ""),
        expect![[r#"
        Index 1
    "#]],
    );
}

/// Any element may be the one that was written, so none is known to be unwritten.
#[test]
fn what_is_written_where_data_says_is_written() {
    expect![""].assert_eq(&found(&kernel(NVPTX, SCATTER)));
    let gather = "store i32 %t, tile[%t]
        %own = getelementptr i32, ptr addrspace(1) %out, i32 %t
        %key = load i32, ptr addrspace(1) %own
        %at = and i32 %key, 63
        barrier
        %x = load i32, tile[%at]
        ret void";
    expect![""].assert_eq(&found(&kernel(NVPTX, gather)));
    let unwritten = gather.replace("store i32 %t, tile[%t]", "");
    expect![[r#"
        PHX052 error: 0 reads tile[]
    "#]]
    .assert_eq(&found(&kernel(NVPTX, &unwritten)));
}

#[test]
fn an_index_on_an_argument_among_others() {
    // Of half of the array, so that there are many places where it may begin.
    let body = "%h = and i32 %t, 31
        %i = add i32 %h, %n
        store i32 %t, tile[%i]
        %x = load i32, tile[%t]
        ret void";
    check(
        body,
        expect![[r#"
        Argument 1
    "#]],
    );
    check(&body.replace("tile[%t]", "tile[%i]"), expect![""]);
}

#[test]
fn conditions_on_data() {
    let body = "%own = getelementptr i32, ptr addrspace(1) %out, i32 %t
        %key = load i32, ptr addrspace(1) %own
        %c = icmp eq i32 %key, 7
        br i1 %c, label %then, label %end
        then:
        store i32 %t, tile[%t]
        br label %end
        end:
        ret void";
    check(
        body,
        expect![[r#"
        Condition 1
    "#]],
    );
    check(&body.replace("i32 %key, 7", "i32 %t, 7"), expect![""]);
}

#[test]
fn what_follows_the_end_of_execution() {
    let body = "CALL
        store i32 %t, tile[%t]
        ret void";
    check(
        &body.replace("CALL", "call void asm sideeffect \"bar.sync 1, 32;\", \"\"() convergent"),
        expect![[r#"
        Unreached 1
    "#]],
    );
    check(&body.replace("CALL", ""), expect![""]);
    // No thread of the launch executes it.
    let never = "%c = icmp ugt i32 %t, 64
        br i1 %c, label %then, label %end
        then:
        store i32 %t, tile[%t]
        br label %end
        end:
        ret void";
    check(never, expect![""]);
}

/// Threads that wait in a loop are ordered by what they wait for.
#[test]
fn accesses_behind_a_loop_that_waits() {
    let body = "br label %wait
        wait:
        %f = load atomic volatile i32, ptr addrspace(1) %out acquire, align 4
        %c = icmp eq i32 %f, %t
        br i1 %c, label %go, label %wait
        go:
        store i32 %t, tile[%t]
        ret void";
    check(
        body,
        expect![[r#"
        Wait 1
    "#]],
    );
}

/// A kernel for at most 64 threads is executed with 64.
#[test]
fn small_workgroups_are_tried() {
    let body = "%i = xor i32 %t, 33
        store i32 %t, tile[%t]
        %x = load i32, tile[%i]
        ret void";
    let bounded = |body: &str| kernel(NVPTX, body).replace("nvvm.reqntid", "nvvm.maxntid");
    expect![[r#"
        PHX050 warning: 33 reads, 0 writes tile[0]
    "#]]
    .assert_eq(&found(&bounded(body)));
    expect![""].assert_eq(&found(&bounded(&body.replace("%x", "barrier\n%x"))));
}
