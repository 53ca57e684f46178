//! Classes of loads, and reasons.

use expect_test::{Expect, expect};
use phalanx::{Session, analysis::loads::LoadClass, ir::Opcode};

/// By load: its name, its classes, and why it is not of the others.
fn classes(text: &str, kernel: &str) -> String {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    let function = session.function(module, kernel).expect("defined");
    let code = session.code(function);
    let mut out = String::new();
    for load in session.load_classes(function).expect("a body").loads() {
        assert_eq!(code.body.inst(load.inst).opcode, Opcode::Load);
        let name = code.extras.names.inst(load.inst).unwrap_or(b"?");
        let answers = LoadClass::ALL.map(|class| match load.refusal(class) {
            None => "yes".to_owned(),
            Some(refusal) => match refusal.culprit() {
                Some(by) => {
                    format!("{} at {}", refusal.code(), session.print_inst(function, by).trim())
                }
                None => refusal.code().to_owned(),
            },
        });
        out += &format!("{}: {}\n", String::from_utf8_lossy(name), answers.join(" | "));
    }
    out
}

fn nvptx(body: &str) -> String {
    format!(
        r#"target triple = "nvptx64-nvidia-cuda"
@table = internal addrspace(1) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@quiet = internal addrspace(1) global [4 x i32] zeroinitializer
@loud = internal addrspace(1) global [4 x i32] zeroinitializer
@seen = addrspace(1) global [4 x i32] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @unknown(ptr)
{body}"#
    )
}

fn amdgcn(body: &str) -> String {
    format!(
        r#"target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1"
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare i32 @pure(ptr addrspace(1)) memory(none)
{body}"#
    )
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&classes(text, "f"));
}

#[test]
fn read_only_arguments() {
    check(
        &nvptx(
            "define ptx_kernel void @f(ptr noalias readonly %in, ptr noalias %silent, ptr noalias %out, ptr readonly %plain) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %one = load i32, ptr %in
  %p = getelementptr i32, ptr %in, i32 %x
  %each = load i32, ptr %p
  %inferred = load i32, ptr %silent
  %written = load i32, ptr %out
  %aliased = load i32, ptr %plain
  %s = add i32 %one, %each
  store i32 %s, ptr %out
  ret void
}",
        ),
        &expect![[r#"
            one: yes | yes | yes
            each: divergent-address | yes | divergent-address
            inferred: yes | yes | yes
            written: yes | written at store i32 %s, ptr %out, align 4 | written at store i32 %s, ptr %out, align 4
            aliased: yes | aliased | aliased
        "#]],
    );
}

#[test]
fn what_an_address_is_made_from() {
    check(
        &nvptx(
            "define ptx_kernel void @f(ptr noalias readonly %in, ptr noalias readonly %other, ptr noalias %out, i1 %c) {
entry:
  %slot = alloca i32
  br label %loop
loop:
  %p = phi ptr [ %in, %entry ], [ %next, %loop ]
  %walk = load i32, ptr %p
  %next = getelementptr i32, ptr %p, i32 1
  %q = select i1 %c, ptr %next, ptr %other
  %either = load i32, ptr %q
  %m = select i1 %c, ptr %next, ptr %out
  %mixed = load i32, ptr %m
  %r = load ptr, ptr %in
  %through = load i32, ptr %r
  %own = load i32, ptr %slot
  %d = icmp eq i32 %walk, 0
  br i1 %d, label %loop, label %exit
exit:
  store i32 %mixed, ptr %out
  ret void
}",
        ),
        &expect![[r#"
            walk: yes | yes | yes
            either: yes | yes | yes
            mixed: yes | written at store i32 %mixed, ptr %out, align 4 | written at store i32 %mixed, ptr %out, align 4
            r: yes | yes | yes
            through: origin | origin | origin
            own: space | space | space
        "#]],
    );
}

#[test]
fn variables() {
    check(
        &nvptx(
            "define void @other(i32 %v) {
  store i32 %v, ptr addrspace(1) @loud
  ret void
}
define ptx_kernel void @f() {
  %constant = load i32, ptr addrspace(1) @table
  %never = load i32, ptr addrspace(1) @quiet
  %sometimes = load i32, ptr addrspace(1) @loud
  %visible = load i32, ptr addrspace(1) @seen
  ret void
}",
        ),
        &expect![[r#"
            constant: yes | yes | yes
            never: yes | yes | yes
            sometimes: yes | variable-written | variable-written
            visible: yes | visible | visible
        "#]],
    );
}

#[test]
fn what_others_do_with_an_argument() {
    check(
        &nvptx(
            "define internal i32 @reads(ptr %p) {
  %v = load i32, ptr %p
  ret i32 %v
}
define internal void @writes(ptr %p, i32 %v) {
  store i32 %v, ptr %p
  ret void
}
define internal void @passes(ptr %p, i32 %v) {
  call void @writes(ptr %p, i32 %v)
  ret void
}
define ptx_kernel void @f(ptr noalias %a, ptr noalias %b, ptr noalias %c, ptr noalias %d) {
  %x = call i32 @reads(ptr %a)
  call void @passes(ptr %b, i32 %x)
  call void @unknown(ptr %c)
  store ptr %d, ptr %b
  %la = load i32, ptr %a
  %lb = load i32, ptr %b
  %lc = load i32, ptr %c
  %ld = load i32, ptr %d
  ret void
}",
        ),
        &expect![[r#"
            la: yes | yes | yes
            lb: acquire at call void @unknown(ptr %c) | written at call void @passes(ptr %b, i32 %x) | written at call void @passes(ptr %b, i32 %x)
            lc: acquire at call void @unknown(ptr %c) | written at call void @unknown(ptr %c) | written at call void @unknown(ptr %c)
            ld: acquire at call void @unknown(ptr %c) | escapes at store ptr %d, ptr %b, align 8 | escapes at store ptr %d, ptr %b, align 8
        "#]],
    );
}

#[test]
fn device_functions_promise_nothing_for_a_launch() {
    check(
        &nvptx(
            "define i32 @f(ptr addrspace(1) noalias readonly %p) {
  %v = load i32, ptr addrspace(1) %p
  %k = load i32, ptr addrspace(1) @table
  %sum = add i32 %v, %k
  ret i32 %sum
}",
        ),
        &expect![[r#"
            v: divergent-address | of-call | divergent-address
            k: yes | yes | yes
        "#]],
    );
}

#[test]
fn accesses_that_are_more_than_loads() {
    check(
        &nvptx(
            "define ptx_kernel void @f(ptr addrspace(1) noalias readonly %p, ptr addrspace(3) noalias readonly %s) {
  %volatile = load volatile i32, ptr addrspace(1) %p
  %atomic = load atomic i32, ptr addrspace(1) %p monotonic, align 4
  %shared = load i32, ptr addrspace(3) %s
  %promised = load i32, ptr addrspace(1) %p, !invariant.load !0
  %loose = load i32, ptr addrspace(1) %p, align 1
  %byte = load i8, ptr addrspace(1) %p
  %odd = load i24, ptr addrspace(1) %p
  %wide = load <8 x i32>, ptr addrspace(1) %p
  ret void
}
!0 = !{}",
        ),
        &expect![[r#"
            volatile: volatile | volatile | volatile
            atomic: atomic | atomic | atomic
            shared: space | space | space
            promised: yes | yes | yes
            loose: misaligned | yes | misaligned
            byte: narrow | yes | yes
            odd: narrow | yes | type
            wide: yes | yes | type
        "#]],
    );
}

#[test]
fn a_mark_of_ours_proves_nothing() {
    check(
        &nvptx(
            "define ptx_kernel void @f(ptr addrspace(1) %p) {
  %theirs = load i32, ptr addrspace(1) %p, !invariant.load !0
  %ours = load i32, ptr addrspace(1) %p, !invariant.load !0, !phalanx.invariant.load !0
  ret void
}
!0 = !{}",
        ),
        &expect![[r#"
            theirs: yes | yes | yes
            ours: yes | aliased | aliased
        "#]],
    );
}

#[test]
fn memory_as_it_was_at_the_entry() {
    check(
        &amdgcn(
            "define amdgpu_kernel void @f(ptr addrspace(1) %a, ptr addrspace(1) noalias %b, ptr addrspace(3) %s) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %first = load i32, ptr addrspace(1) %a
  store i32 %first, ptr addrspace(3) %s
  %local = load i32, ptr addrspace(1) %a
  store i32 %first, ptr addrspace(1) %b
  %apart = load i32, ptr addrspace(1) %a
  %a1 = getelementptr i32, ptr addrspace(1) %a, i32 1
  store i32 %first, ptr addrspace(1) %a1
  %beside = load i32, ptr addrspace(1) %a
  %same = load i32, ptr addrspace(1) %a1
  %ax = getelementptr i32, ptr addrspace(1) %a, i32 %x
  %lane = load i32, ptr addrspace(1) %ax
  store i32 %first, ptr addrspace(1) %ax
  %after = load i32, ptr addrspace(1) %a
  ret void
}",
        ),
        &expect![[r#"
            first: yes | written at store i32 %first, ptr addrspace(1) %a1, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4
            local: yes | written at store i32 %first, ptr addrspace(1) %a1, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4
            apart: yes | written at store i32 %first, ptr addrspace(1) %a1, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4
            beside: yes | written at store i32 %first, ptr addrspace(1) %a1, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4
            same: clobbered at store i32 %first, ptr addrspace(1) %a1, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4
            lane: divergent-address | written at store i32 %first, ptr addrspace(1) %a1, align 4 | divergent-address
            after: clobbered at store i32 %first, ptr addrspace(1) %ax, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4 | written at store i32 %first, ptr addrspace(1) %a1, align 4
        "#]],
    );
}

#[test]
fn code_that_is_given_an_address_may_write_before_it() {
    check(
        &amdgcn(
            "declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
define internal void @before(ptr addrspace(1) %q) noinline {
  %p = getelementptr i8, ptr addrspace(1) %q, i64 -8
  store i32 7, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @f(ptr addrspace(1) %a) {
  %a8 = getelementptr i8, ptr addrspace(1) %a, i64 8
  call void @llvm.memset.p1.i64(ptr addrspace(1) %a8, i8 0, i64 8, i1 false)
  %beside = load i32, ptr addrspace(1) %a
  call void @before(ptr addrspace(1) %a8)
  %after = load i32, ptr addrspace(1) %a
  ret void
}",
        ),
        &expect![[r#"
            beside: yes | written at call void @llvm.memset.p1.i64(ptr addrspace(1) %a8, i8 0, i64 8, i1 false) | written at call void @llvm.memset.p1.i64(ptr addrspace(1) %a8, i8 0, i64 8, i1 false)
            after: clobbered at call void @before(ptr addrspace(1) %a8) | written at call void @llvm.memset.p1.i64(ptr addrspace(1) %a8, i8 0, i64 8, i1 false) | written at call void @llvm.memset.p1.i64(ptr addrspace(1) %a8, i8 0, i64 8, i1 false)
        "#]],
    );
}

/// LLVM 22 marks both loads `!amdgpu.noclobber`. Another wave may have written `%p` before the
/// barrier.
#[test]
fn a_barrier_makes_stores_of_others_visible() {
    check(
        &amdgcn(
            "define amdgpu_kernel void @f(ptr addrspace(1) %p, ptr addrspace(1) noalias readonly %k, i1 %c) {
entry:
  %before = load i32, ptr addrspace(1) %p
  br i1 %c, label %writer, label %join
writer:
  store i32 1, ptr addrspace(1) %p
  br label %join
join:
  fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire
  br i1 %c, label %exit, label %reader
reader:
  %behind = load i32, ptr addrspace(1) %p
  %fixed = load i32, ptr addrspace(1) %k
  br label %exit
exit:
  ret void
}
define amdgpu_kernel void @alone(ptr addrspace(1) %p) {
  call void @llvm.amdgcn.s.barrier()
  %v = load i32, ptr addrspace(1) %p
  ret void
}",
        ),
        &expect![[r#"
            before: yes | written at store i32 1, ptr addrspace(1) %p, align 4 | written at store i32 1, ptr addrspace(1) %p, align 4
            behind: acquire at call void @llvm.amdgcn.s.barrier() | written at store i32 1, ptr addrspace(1) %p, align 4 | written at store i32 1, ptr addrspace(1) %p, align 4
            fixed: yes | yes | yes
        "#]],
    );
}

#[test]
fn other_iterations() {
    check(
        &amdgcn(
            "define amdgpu_kernel void @f(ptr addrspace(1) %a, i32 %n) {
entry:
  %fixed = getelementptr i32, ptr addrspace(1) %a, i32 4
  br label %loop
loop:
  %p = phi ptr addrspace(1) [ %a, %entry ], [ %p1, %loop ]
  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]
  %p1 = getelementptr i32, ptr addrspace(1) %p, i32 1
  %ahead = load i32, ptr addrspace(1) %p1
  store i32 %ahead, ptr addrspace(1) %p
  %i1 = add i32 %i, 1
  %c = icmp slt i32 %i1, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}",
        ),
        &expect![[r#"
            ahead: clobbered at store i32 %ahead, ptr addrspace(1) %p, align 4 | written at store i32 %ahead, ptr addrspace(1) %p, align 4 | written at store i32 %ahead, ptr addrspace(1) %p, align 4
        "#]],
    );
}

#[test]
fn acquires_in_calls_and_in_loops() {
    check(
        &amdgcn(
            "define internal void @meets() {
  call void @llvm.amdgcn.s.barrier()
  ret void
}
define internal void @stores(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @f(ptr addrspace(1) %a, ptr addrspace(1) noalias %b, i1 %c) {
entry:
  %r = call i32 @pure(ptr addrspace(1) %a)
  %after_pure = load i32, ptr addrspace(1) %a
  call void @stores(ptr addrspace(1) %b)
  %after_other = load i32, ptr addrspace(1) %a
  br label %loop
loop:
  %in_loop = load i32, ptr addrspace(1) %a
  call void @meets()
  %behind = load i32, ptr addrspace(1) %a
  br i1 %c, label %loop, label %exit
exit:
  ret void
}",
        ),
        &expect![[r#"
            after_pure: yes | escapes at %r = call i32 @pure(ptr addrspace(1) %a) | escapes at %r = call i32 @pure(ptr addrspace(1) %a)
            after_other: yes | escapes at %r = call i32 @pure(ptr addrspace(1) %a) | escapes at %r = call i32 @pure(ptr addrspace(1) %a)
            in_loop: acquire at call void @meets() | escapes at %r = call i32 @pure(ptr addrspace(1) %a) | escapes at %r = call i32 @pure(ptr addrspace(1) %a)
            behind: acquire at call void @meets() | escapes at %r = call i32 @pure(ptr addrspace(1) %a) | escapes at %r = call i32 @pure(ptr addrspace(1) %a)
        "#]],
    );
}

/// Scalar loads are of whole words at addresses of words; `ldu` is aligned as a whole.
#[test]
fn narrow_and_misaligned_loads() {
    check(
        &amdgcn(
            "define amdgpu_kernel void @f(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out) {
  %word = load i32, ptr addrspace(1) %in, align 4
  %half = load i32, ptr addrspace(1) %in, align 2
  %narrow = load i16, ptr addrspace(1) %in, align 4
  %wide = load i64, ptr addrspace(1) %in, align 4
  ret void
}",
        ),
        &expect![[r#"
            word: yes | yes | yes
            half: misaligned | yes | misaligned
            narrow: narrow | yes | yes
            wide: yes | yes | misaligned
        "#]],
    );
}

/// A callee may write through a pointer that it reads out of a private slot, in any round.
#[test]
fn pointers_that_callees_read_out_of_slots() {
    check(
        &amdgcn(
            r#"
define internal void @through(ptr addrspace(5) %s) {
  %p = load ptr addrspace(1), ptr addrspace(5) %s
  store i32 1, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @f(ptr addrspace(1) noalias %w, i32 %n) {
entry:
  %slot = alloca ptr addrspace(1), addrspace(5)
  store ptr addrspace(1) %w, ptr addrspace(5) %slot
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %v = load i32, ptr addrspace(1) %w
  call void @through(ptr addrspace(5) captures(none) %slot)
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %out
out:
  ret void
}"#,
        ),
        &expect![[r#"
            v: clobbered at call void @through(ptr addrspace(5) captures(none) %slot) | escapes at call void @through(ptr addrspace(5) captures(none) %slot) | escapes at call void @through(ptr addrspace(5) captures(none) %slot)
        "#]],
    );
}
