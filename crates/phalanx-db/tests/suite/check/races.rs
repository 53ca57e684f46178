//! Accesses of workgroup memory: races, reads of memory that was never written, and accesses
//! outside of an array.

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_analysis::check::{Finding, races::Object};
use phalanx_db::{Database, TargetOverrides, queries};
use phalanx_ir::Context;

pub(super) const NVPTX: &str = r#"target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [64 x i32] undef
@flag = internal addrspace(3) global i32 undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
"#;

pub(super) const AMDGCN: &str = r#"target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x i32] undef
@flag = internal addrspace(3) global i32 undef
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
"#;

/// A kernel of 64 threads. `tid`, `group`, `barrier` and `meet` stand for calls; `tile[%i]` for the
/// address of an element, with a name of its own.
pub(super) fn kernel(target: &str, body: &str) -> String {
    let is_nvptx = target.contains("nvptx");
    let (convention, attributes, tid, group, barrier) = match is_nvptx {
        true => (
            "ptx_kernel",
            "\"nvvm.reqntid\"=\"64\"",
            "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        ),
        false => (
            "amdgpu_kernel",
            "\"uniform-work-group-size\"=\"true\" \"amdgpu-flat-work-group-size\"=\"64,64\" \
             \"target-cpu\"=\"gfx90a\"",
            "call i32 @llvm.amdgcn.workitem.id.x()",
            "call i32 @llvm.amdgcn.workgroup.id.x()",
            "call void @llvm.amdgcn.s.barrier()",
        ),
    };
    let mut out = format!(
        "{target}define {convention} void @k(ptr addrspace(1) %out, i32 %n) {attributes} {{\nentry:\n  \
         %t = {tid}\n"
    );
    for (number, line) in body.lines().enumerate() {
        let mut line = match line.trim() {
            "barrier" => barrier.to_owned(),
            "meet" => "call void @llvm.nvvm.bar.warp.sync(i32 -1)".to_owned(),
            other => other.replace("= group", &format!("= {group}")),
        };
        while let Some(at) = line.find("tile[") {
            let end = at + line[at..].find(']').expect("it is closed");
            let index = line[at + 5..end].to_owned();
            out +=
                &format!("  %p{number} = getelementptr i32, ptr addrspace(3) @tile, i32 {index}\n");
            line.replace_range(at..=end, &format!("ptr addrspace(3) %p{number}"));
        }
        out += &format!("  {line}\n");
    }
    out + "}\n"
}

/// Rule, level, threads and element of each finding.
fn line(context: &Context, finding: &Finding) -> String {
    let clash = finding.clash.as_ref().expect("two threads are named");
    let object = match clash.object {
        Object::Variable(name) => {
            name.symbol().map_or_else(String::new, |s| context.text(s).into())
        }
        Object::Argument(position) => format!("argument {position}"),
        Object::Private(_) => "private".to_owned(),
    };
    let verb = |writes: bool| if writes { "writes" } else { "reads" };
    let [one, other] =
        [0, 1].map(|at| format!("{} {}", clash.threads[at][0], verb(clash.writes[at])));
    let (code, level, indices) = (finding.rule.code(), finding.level.name(), &clash.indices);
    match code {
        "PHX052" | "PHX053" => format!("{code} {level}: {one} {object}{indices:?}\n"),
        _ => format!("{code} {level}: {one}, {other} {object}{indices:?}\n"),
    }
}

pub(super) fn found(text: &str) -> String {
    let mut db = Database::default();
    let context = Arc::new(Context::new());
    let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let module = db.load(parsed.module, None, TargetOverrides::default());
    let entries = module.functions(&db).clone();
    let found = entries.iter().filter_map(|e| queries::workgroup_memory(&db, e.input).as_ref());
    found.flat_map(|found| &found.findings).map(|finding| line(&context, finding)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(target: &str, body: &str, expected: Expect) {
    expected.assert_eq(&found(&kernel(target, body)));
}

#[test]
fn a_barrier_keeps_a_write_and_a_read_apart() {
    let body = "%i = sub i32 63, %t
        store i32 %t, tile[%t]
        barrier
        %x = load i32, tile[%i]
        ret void";
    check(NVPTX, body, expect![""]);
    let racy = &body.replace("barrier", "");
    check(
        NVPTX,
        racy,
        expect![[r#"
            PHX050 error: 63 reads, 0 writes tile[0]
        "#]],
    );
    // 64 threads are one wave, which executes in lockstep.
    check(AMDGCN, racy, expect![""]);
}

/// `tile[n - 1 - t]` of 64 threads is all of the array, or outside of it: thread 0 reads its end.
#[test]
fn indices_that_can_be_only_one_place() {
    let body = "%b = sub i32 %n, %t
        %i = sub i32 %b, 1
        store i32 %t, tile[%t]
        barrier
        %x = load i32, tile[%i]
        ret void";
    check(NVPTX, body, expect![""]);
    check(
        NVPTX,
        &body.replace("barrier", ""),
        expect![[r#"
        PHX050 error: 63 reads, 0 writes tile[0]
    "#]],
    );
    // A number that each thread loads may be another for each.
    let loaded = body
        .replace("barrier", "")
        .replace("sub i32 %n, %t", "sub i32 %m, %t")
        .replace("%b =", "%m = load i32, ptr addrspace(1) %out\n        %b =");
    check(NVPTX, &loaded, expect![""]);
    // Of half of the threads it can be several.
    let half = body
        .replace("barrier", "")
        .replace(
            "store i32 %t",
            "%h = and i32 %t, 31
        store i32 %t",
        )
        .replace("sub i32 %n, %t", "sub i32 %n, %h");
    check(NVPTX, &half, expect![""]);
}

#[test]
fn lanes_of_a_warp_meet() {
    let body = "%i = xor i32 %t, 1
        store i32 %t, tile[%t]
        meet
        %x = load i32, tile[%i]
        ret void";
    check(NVPTX, body, expect![""]);
    check(
        NVPTX,
        &body.replace("meet", ""),
        expect![[r#"
            PHX051 warning: 1 reads, 0 writes tile[0]
        "#]],
    );
}

#[test]
fn one_value_is_no_race() {
    check(NVPTX, "store i32 1, ptr addrspace(3) @flag\nret void", expect![""]);
    check(NVPTX, "store i32 %n, ptr addrspace(3) @flag\nret void", expect![""]);
    check(
        NVPTX,
        "store i32 %t, ptr addrspace(3) @flag\nret void",
        expect![[r#"
        PHX050 error: 1 writes, 0 writes flag[]
    "#]],
    );
    // Data may be the same for all.
    let data = "%p = getelementptr i32, ptr addrspace(1) %out, i32 %t
        %x = load i32, ptr addrspace(1) %p
        store i32 %x, ptr addrspace(3) @flag
        ret void";
    check(
        NVPTX,
        data,
        expect![[r#"
        PHX050 warning: 1 writes, 0 writes flag[]
    "#]],
    );
}

#[test]
fn atomic_accesses_do_not_race_with_each_other() {
    let body = "%o = atomicrmw add ptr addrspace(3) @flag, i32 %t monotonic
        %x = load atomic i32, ptr addrspace(3) @flag monotonic, align 4
        ret void";
    check(NVPTX, body, expect![""]);
    let plain = &body.replace(
        "load atomic i32, ptr addrspace(3) @flag monotonic, align 4",
        "load i32, ptr addrspace(3) @flag",
    );
    check(
        NVPTX,
        plain,
        expect![[r#"
        PHX050 error: 32 reads, 0 writes flag[]
    "#]],
    );
}

/// A tree of sums, whose steps are known from the first to the last.
#[test]
fn rounds_of_a_loop_are_executed() {
    let body = "store i32 %t, tile[%t]
        br label %loop
        loop:
        %s = phi i32 [ 32, %entry ], [ %next, %latch ]
        barrier
        %c = icmp ult i32 %t, %s
        br i1 %c, label %add, label %latch
        add:
        %j = add i32 %t, %s
        %a = load i32, tile[%j]
        store i32 %a, tile[%t]
        br label %latch
        latch:
        %next = lshr i32 %s, 1
        %more = icmp ne i32 %next, 0
        br i1 %more, label %loop, label %exit
        exit:
        ret void";
    check(NVPTX, body, expect![""]);
    check(
        NVPTX,
        &body.replace("barrier", ""),
        expect![[r#"
        PHX050 error: 0 reads, 32 writes tile[32]
    "#]],
    );
}

/// What is read in one round is written in the next: of a loop of which the rounds are not known.
#[test]
fn a_round_meets_the_next() {
    let body = "%i = sub i32 63, %t
        br label %loop
        loop:
        %k = phi i32 [ 0, %entry ], [ %next, %loop ]
        store i32 %k, tile[%t]
        barrier
        %x = load i32, tile[%i]
        BETWEEN
        %next = add i32 %k, 1
        %more = icmp slt i32 %next, %n
        br i1 %more, label %loop, label %exit
        exit:
        ret void";
    check(NVPTX, &body.replace("BETWEEN", "barrier"), expect![""]);
    check(
        NVPTX,
        &body.replace("BETWEEN", ""),
        expect![[r#"
        PHX050 error: 63 reads, 0 writes tile[0]
    "#]],
    );
}

#[test]
fn conditions_on_arguments_are_tried_both_ways() {
    let body = "%i = sub i32 63, %t
        %c = icmp eq i32 %n, FIRST
        br i1 %c, label %write, label %next
        write:
        store i32 %t, tile[%t]
        br label %next
        next:
        %d = icmp eq i32 %n, SECOND
        br i1 %d, label %read, label %end
        read:
        %x = load i32, tile[%i]
        br label %end
        end:
        ret void";
    let with = |first: &str, second: &str| body.replace("FIRST", first).replace("SECOND", second);
    check(
        NVPTX,
        &with("1", "1"),
        expect![[r#"
        PHX050 error: 63 reads, 0 writes tile[0]
    "#]],
    );
    // Both do not hold in one launch.
    check(NVPTX, &with("1", "2"), expect![""]);
}

/// `group * 64 + tid < n` holds for all threads, or for none.
#[test]
fn no_thread_is_at_the_edge_of_the_data() {
    let body = "%g = group
        %base = shl i32 %g, 6
        %at = add i32 %base, %t
        %c = icmp slt i32 %at, %n
        %i = sub i32 63, %t
        br i1 %c, label %work, label %end
        work:
        store i32 %t, tile[%t]
        %x = load i32, tile[%i]
        br label %end
        end:
        ret void";
    check(
        NVPTX,
        body,
        expect![[r#"
        PHX050 error: 63 reads, 0 writes tile[0]
    "#]],
    );
}

/// One thread, chosen by an argument, writes what all threads read. Where a bound has been decided
/// before, the number is tried that makes the last thread the chosen one.
#[test]
fn one_thread_is_chosen_by_an_argument() {
    let body = "%c = icmp BOUND i32 %t, %n
        br i1 %c, label %read, label %next
        read:
        %x = load i32, tile[0]
        br label %next
        next:
        %last = sub i32 %n, OFFSET
        %d = icmp eq i32 %t, %last
        br i1 %d, label %write, label %end
        write:
        store i32 %t, tile[0]
        br label %end
        end:
        ret void";
    let with = |bound: &str, offset: &str| body.replace("BOUND", bound).replace("OFFSET", offset);
    check(
        NVPTX,
        &with("slt", "1"),
        expect![[r#"
            PHX050 warning: 63 writes, 0 reads tile[0]
        "#]],
    );
    check(
        NVPTX,
        &with("ne", "0"),
        expect![[r#"
            PHX050 warning: 0 writes, 32 reads tile[0]
        "#]],
    );
    // The thread that writes is the only one that reads.
    check(NVPTX, &with("eq", "0"), expect![[r#""#]]);
}

/// What is executed under a condition on data is left out.
#[test]
fn data_is_not_followed() {
    let body = "%i = sub i32 63, %t
        %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
        %x = load i32, ptr addrspace(1) %p
        %c = icmp eq i32 %x, 7
        br i1 %c, label %write, label %end
        write:
        store i32 %t, tile[%t]
        br label %end
        end:
        %y = load i32, tile[%i]
        ret void";
    check(NVPTX, body, expect![""]);
}

/// A lock orders what is done under it.
#[test]
fn who_waits_for_others_is_ordered() {
    let body = "br label %spin
        spin:
        %o = cmpxchg ptr addrspace(3) @flag, i32 0, i32 1 acquire monotonic
        %done = extractvalue { i32, i1 } %o, 1
        br i1 %done, label %own, label %spin
        own:
        %x = load i32, tile[0]
        %y = add i32 %x, %t
        store i32 %y, tile[0]
        store atomic i32 0, ptr addrspace(3) @flag release, align 4
        ret void";
    check(NVPTX, body, expect![""]);
}

#[test]
fn what_nobody_wrote_is_read() {
    let body = "store i32 0, tile[%t]
        barrier
        %x = load i32, ptr addrspace(3) @flag
        ret void";
    check(
        NVPTX,
        body,
        expect![[r#"
        PHX052 error: 0 reads flag[]
    "#]],
    );
    // Some thread may have written it.
    let perhaps = "%x = load i32, ptr addrspace(1) %out
        %c = icmp eq i32 %x, %t
        br i1 %c, label %write, label %read
        write:
        store i32 1, ptr addrspace(3) @flag
        br label %read
        read:
        barrier
        %y = load i32, ptr addrspace(3) @flag
        ret void";
    check(NVPTX, perhaps, expect![""]);
}

#[test]
fn an_index_is_outside_of_the_array() {
    let body = "%i = add i32 %t, 1
        store i32 0, tile[%t]
        barrier
        %x = load i32, tile[%i]
        ret void";
    check(
        NVPTX,
        body,
        expect![[r#"
        PHX053 error: 63 reads tile[64]
    "#]],
    );
    let own = "%a = alloca [4 x i32]
        %i = and i32 %t, 7
        %e = getelementptr [4 x i32], ptr %a, i32 0, i32 %i
        store i32 0, ptr %e
        ret void";
    check(
        NVPTX,
        own,
        expect![[r#"
        PHX053 error: 4 writes private[4]
    "#]],
    );
    check(NVPTX, &own.replace("and i32 %t, 7", "and i32 %t, 3"), expect![""]);
}

/// Where the size of workgroups is not known, sizes that the code is not written for say nothing.
#[test]
fn several_sizes_are_tried() {
    let body = "%i = xor i32 %t, 63
        store i32 %t, tile[%t]
        barrier
        %x = load i32, tile[%i]
        ret void";
    let open = |body: &str| kernel(NVPTX, body).replace("\"nvvm.reqntid\"=\"64\"", "");
    expect![""].assert_eq(&found(&open(body)));
    expect![[r#"
        PHX050 warning: 63 reads, 0 writes tile[0]
    "#]]
    .assert_eq(&found(&open(&body.replace("barrier", ""))));
}

/// A barrier in a function that is called is one; so are accesses.
#[test]
fn calls_are_followed() {
    let callee = "define internal void @put(ptr addrspace(3) %p, i32 %v) {
          store i32 %v, ptr addrspace(3) %p
          ret void
        }
        define internal void @meet() {
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          ret void
        }
        ";
    let body = "%i = sub i32 63, %t
        %own = getelementptr i32, ptr addrspace(3) @tile, i32 %t
        call void @put(ptr addrspace(3) %own, i32 %t)
        call void @meet()
        %x = load i32, tile[%i]
        ret void";
    let with = |body: &str| format!("{}{callee}", kernel(NVPTX, body));
    expect![""].assert_eq(&found(&with(body)));
    expect![[r#"
        PHX050 error: 63 reads, 0 writes tile[0]
    "#]]
    .assert_eq(&found(&with(&body.replace("call void @meet()", ""))));
}

/// Clang writes parts of a vector by a load, insertions and a store of the whole.
#[test]
fn all_threads_write_parts_of_a_vector() {
    let body = "%old = load <4 x i32>, ptr addrspace(3) @tile
        %one = insertelement <4 x i32> %old, i32 %n, i64 0
        %two = insertelement <4 x i32> %one, i32 7, i64 1
        store <4 x i32> %two, ptr addrspace(3) @tile
        ret void";
    check(NVPTX, body, expect![""]);
    let shuffled = "%old = load <4 x i32>, ptr addrspace(3) @tile
        %one = insertelement <4 x i32> poison, i32 %n, i64 0
        %two = shufflevector <4 x i32> %one, <4 x i32> %old, <4 x i32> <i32 0, i32 5, i32 poison, i32 7>
        store <4 x i32> %two, ptr addrspace(3) @tile
        ret void";
    check(NVPTX, shuffled, expect![""]);
    // A part that moves.
    let moved = shuffled.replace("i32 5", "i32 6");
    check(
        NVPTX,
        &moved,
        expect![[r#"
        PHX050 error: 32 writes, 0 reads tile[0]
    "#]],
    );
    check(
        NVPTX,
        &body.replace("i32 7", "i32 %t"),
        expect![[r#"
        PHX050 error: 32 writes, 0 reads tile[0]
    "#]],
    );
    // Two stores of different values.
    let other = "%low = icmp ult i32 %t, 32
        br i1 %low, label %a, label %b
        a:
        %one = load <4 x i32>, ptr addrspace(3) @tile
        %two = insertelement <4 x i32> %one, i32 1, i64 0
        store <4 x i32> %two, ptr addrspace(3) @tile
        br label %b
        b:
        %three = load <4 x i32>, ptr addrspace(3) @tile
        %four = insertelement <4 x i32> %three, i32 2, i64 0
        store <4 x i32> %four, ptr addrspace(3) @tile
        ret void";
    check(
        NVPTX,
        other,
        expect![[r#"
        PHX050 error: 32 writes, 0 writes tile[0]
    "#]],
    );
    // A thread that writes the same may read what is there.
    let read = body.replace("ret void", "store <4 x i32> %old, ptr addrspace(1) %out\n ret void");
    check(NVPTX, &read, expect![[r#""#]]);
}
