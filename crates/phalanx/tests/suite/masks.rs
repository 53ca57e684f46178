//! The sources that each kind of instruction contributes: masks of the named values of small
//! functions.

use expect_test::{Expect, expect};
use phalanx::prelude::*;

const AMDGPU: &str = "target triple = \"amdgcn-amd-amdhsa\"\n";
const NVPTX: &str = "target triple = \"nvptx64-nvidia-cuda\"\n";

/// One line per named result: its sources.
fn check(triple: &str, body: &str, expected: &Expect) {
    let text = format!("{triple}{body}");
    let mut session = Session::new();
    let module = session
        .read(text.as_bytes())
        .unwrap_or_else(|e| panic!("{}", e.render("test", text.as_bytes())));
    let mut out = String::new();
    for function in session.functions(module) {
        let code = session.code(function);
        let divergence = session.divergence(function).expect("it has a body");
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                if let Some(name) = code.extras.names.inst(inst) {
                    let mask = divergence.mask(Value::inst(inst));
                    out.push_str(&format!("{}: {mask}\n", String::from_utf8_lossy(name)));
                }
            }
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn thread_and_block_indices_on_amdgpu() {
    check(
        AMDGPU,
        r#"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
define amdgpu_kernel void @k(i32 %n) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %bx = call i32 @llvm.amdgcn.workgroup.id.x()
  %lane = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %global = add i32 %x, %bx
  %arg = add i32 %n, 1
  ret void
}
"#,
        &expect![[r#"
            x: {x}
            y: {y}
            bx: {block.x}
            lane: {lane}
            global: {x, block.x}
            arg: {}
        "#]],
    );
}

#[test]
fn special_registers_and_votes_on_nvptx() {
    check(
        NVPTX,
        r#"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
define ptx_kernel void @k(i32 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %odd = trunc i32 %tid to i1
  %ballot = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)
  %partial = call i32 @llvm.nvvm.vote.ballot.sync(i32 %tid, i1 %odd)
  %broadcast = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 0, i32 31)
  %rotate = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 1, i32 31)
  %sum = call i32 @llvm.nvvm.redux.sync.add(i32 %tid, i32 -1)
  ret void
}
"#,
        &expect![[r#"
            tid: {x}
            ctaid: {block.y}
            ntid: {}
            lane: {lane}
            odd: {x}
            ballot: {opaque.wave}
            partial: {opaque.thread, opaque.wave, opaque.quad}
            broadcast: {opaque.wave}
            rotate: {opaque.thread, opaque.wave, opaque.quad}
            sum: {opaque.wave}
        "#]],
    );
}

#[test]
fn loads_by_address_space() {
    check(
        AMDGPU,
        r#"
@lds = internal addrspace(3) global [64 x i32] poison
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %g, ptr addrspace(4) %c, ptr %flat) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %slot = alloca i32, addrspace(5)
  %global = load i32, ptr addrspace(1) %g
  %constant = load i32, ptr addrspace(4) %c
  %shared = load i32, ptr addrspace(3) @lds
  %private = load i32, ptr addrspace(5) %slot
  %generic = load i32, ptr %flat
  %address = getelementptr i32, ptr addrspace(1) %g, i32 %x
  %gather = load i32, ptr addrspace(1) %address
  %atomic = load atomic i32, ptr addrspace(1) %g monotonic, align 4
  %old = atomicrmw add ptr addrspace(1) %g, i32 1 monotonic
  ret void
}
"#,
        &expect![[r#"
            x: {x}
            slot: {}
            global: {opaque.wave}
            constant: {}
            shared: {opaque.wave}
            private: {}
            generic: {opaque.wave}
            address: {x}
            gather: {x, opaque.wave}
            atomic: {opaque.wave}
            old: {opaque.thread}
        "#]],
    );
}

#[test]
fn an_atomic_load_is_read_by_each_lane_at_its_own_time_without_lockstep() {
    check(
        NVPTX,
        r#"
define ptx_kernel void @k(ptr addrspace(1) %g) {
  %atomic = load atomic i32, ptr addrspace(1) %g monotonic, align 4
  %volatile = load volatile i32, ptr addrspace(1) %g
  %plain = load i32, ptr addrspace(1) %g
  ret void
}
"#,
        &expect![[r#"
            atomic: {opaque.thread, opaque.wave}
            volatile: {opaque.thread, opaque.wave}
            plain: {opaque.wave}
        "#]],
    );
}

#[test]
fn calls_arguments_and_frames_of_other_functions() {
    check(
        AMDGPU,
        r#"
declare i32 @ext(i32)
define i32 @f(i32 %v, i32 inreg %s) {
  %slot = alloca i32, addrspace(5)
  %vector = add i32 %v, 1
  %scalar = add i32 %s, 1
  %unknown = call i32 @ext(i32 1)
  ret i32 %vector
}
"#,
        &expect![[r#"
            slot: {opaque.wave}
            vector: {opaque.thread}
            scalar: {opaque.wave}
            unknown: {opaque.thread}
        "#]],
    );
}

#[test]
fn assembly_by_register_class() {
    check(
        AMDGPU,
        r#"
define amdgpu_kernel void @k() {
  %s = call i32 asm "s_mov_b32 $0, 7", "=s"()
  %v = call i32 asm "v_mov_b32 $0, 7", "=v"()
  %lane = call i32 asm "v_mov_b32 $0, v0", "=v"()
  %wave = call i32 asm "s_mov_b32 $0, s4", "=s"()
  %both = call { i32, i32 } asm "; $0 $1", "=s,=v"()
  %first = extractvalue { i32, i32 } %both, 0
  %second = extractvalue { i32, i32 } %both, 1
  ret void
}
"#,
        &expect![[r#"
            s: {}
            v: {}
            lane: {opaque.thread}
            wave: {opaque.wave}
            both: {opaque.thread}
            first: {opaque.wave}
            second: {opaque.thread}
        "#]],
    );
}

#[test]
fn a_member_taken_after_a_divergent_loop_is_divergent() {
    check(
        AMDGPU,
        r#"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k() {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %pair = call { i32, i32 } asm sideeffect "; $0 $1", "=s,=s"()
  %inside = extractvalue { i32, i32 } %pair, 0
  %more = icmp ult i32 %next, %x
  br i1 %more, label %loop, label %exit
exit:
  %outside = extractvalue { i32, i32 } %pair, 0
  ret void
}
"#,
        &expect![[r#"
            x: {x}
            i: {}
            next: {}
            pair: {opaque.wave}
            inside: {opaque.wave}
            more: {x}
            outside: {x, opaque.wave}
        "#]],
    );
}

#[test]
fn freeze_of_undef_is_anything() {
    check(
        AMDGPU,
        r#"
define amdgpu_kernel void @k(i32 %n) {
  %undef = freeze i32 undef
  %element = freeze <2 x i32> <i32 poison, i32 1>
  %member = freeze { i32, [2 x i8] } { i32 0, [2 x i8] [i8 1, i8 undef] }
  %known = freeze <2 x i32> <i32 0, i32 1>
  %value = freeze i32 %n
  ret void
}
"#,
        &expect![[r#"
            undef: {opaque.thread}
            element: {opaque.thread}
            member: {opaque.thread}
            known: {}
            value: {}
        "#]],
    );
}

#[test]
fn a_generic_address_of_scratch_differs_by_lane_on_gfx1250() {
    let text = |cpu: &str| {
        format!(
            "define amdgpu_kernel void @k() \"target-cpu\"=\"{cpu}\" {{
  %slot = alloca i32, addrspace(5)
  %generic = addrspacecast ptr addrspace(5) %slot to ptr
  ret void
}}
"
        )
    };
    check(
        AMDGPU,
        &text("gfx900"),
        &expect![[r#"
        slot: {}
        generic: {}
    "#]],
    );
    check(
        AMDGPU,
        &text("gfx1250"),
        &expect![[r#"
        slot: {}
        generic: {lane, opaque.wave}
    "#]],
    );
}

#[test]
fn rows_of_whole_waves_make_y_uniform_in_a_wave() {
    let uniform = |size: &str| {
        let text = format!(
            "{NVPTX}declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
define ptx_kernel void @k() \"nvvm.reqntid\"=\"{size}\" {{
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  ret void
}}
"
        );
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
        let function = session.function(module, "k").expect("defined");
        let entry = session.code(function).flow.entry().expect("defined");
        let y = session.code(function).body.first(entry).expect("not empty");
        session.divergence(function).expect("defined").is_uniform(Value::inst(y), Scope::Wave)
    };
    let sizes = ["32,8", "64,4", "96,2", "16,16", "48,2", "256"];
    assert_eq!(sizes.map(uniform), [true, true, true, false, false, true]);
}

#[test]
fn the_wave_number_is_uniform_in_a_wave() {
    check(
        NVPTX,
        r#"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @rows_of_256() "nvvm.reqntid"="256" {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wave = lshr i32 %x, 5
  %half = lshr i32 %x, 4
  %base = and i32 %x, -32
  %pair = udiv i32 %x, 64
  %third = udiv i32 %x, 48
  ret void
}
define ptx_kernel void @rows_of_48() "nvvm.reqntid"="48,2" {
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %not.a.wave = lshr i32 %y, 5
  ret void
}
"#,
        &expect![[r#"
            x: {x}
            wave: {wave}
            half: {wave, quad}
            base: {wave}
            pair: {wave}
            third: {wave, quad}
            y: {x}
            not.a.wave: {wave, quad}
        "#]],
    );
}

#[test]
fn annotated_kernels_of_older_compilers_are_kernels() {
    check(
        NVPTX,
        r#"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @k(i32 %n) {
  %arg = add i32 %n, 1
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wave = lshr i32 %x, 5
  ret void
}
!nvvm.annotations = !{!0, !1}
!0 = !{ptr @k, !"kernel", i32 1}
!1 = !{ptr @k, !"reqntidx", i32 64, !"reqntidy", i32 2}
"#,
        &expect![[r#"
            arg: {}
            x: {x}
            wave: {wave}
        "#]],
    );
}

/// All threads that read one lane get the value of that lane, also in a loop over lanes. With
/// segments, one number means several lanes.
#[test]
fn shuffles_by_a_number_that_is_not_constant() {
    check(
        "target triple = \"amdgcn-amd-amdhsa\"\n",
        r#"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
define amdgpu_kernel void @whole(i32 %n) "target-cpu"="gfx90a" {
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %one = call i32 @llvm.amdgcn.ds.bpermute(i32 %n, i32 %tid)
  %several = call i32 @llvm.amdgcn.ds.bpermute(i32 %tid, i32 %n)
  ret void
}
define amdgpu_kernel void @halves(i32 %n) "target-cpu"="gfx1030" "target-features"="+wavefrontsize64" {
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %two = call i32 @llvm.amdgcn.ds.bpermute(i32 %n, i32 %tid)
  ret void
}
"#,
        &expect![[r#"
            tid: {x}
            one: {opaque.wave}
            several: {opaque.thread, opaque.wave, opaque.quad}
            tid: {x}
            two: {opaque.thread, opaque.wave, opaque.quad}
        "#]],
    );
    check(
        "target triple = \"nvptx64-nvidia-cuda\"\n",
        r#"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
define ptx_kernel void @k(i32 %n, i32 %m) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %one = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 %n, i32 31)
  %own = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 %tid, i32 31)
  %two = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 %n, i32 4127)
  %same = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %m, i32 %tid, i32 4127)
  %known = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 4, i32 %tid, i32 31)
  %masked = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %tid, i32 %tid, i32 %n, i32 31)
  ret void
}
"#,
        &expect![[r#"
            tid: {x}
            one: {opaque.wave}
            own: {opaque.thread, opaque.wave, opaque.quad}
            two: {opaque.thread, opaque.wave, opaque.quad}
            same: {}
            known: {}
            masked: {opaque.thread, opaque.wave, opaque.quad}
        "#]],
    );
}

/// A structure that a kernel is passed by value, and only reads, is the same in all threads; one
/// that it writes holds what each thread has put there.
#[test]
fn structures_that_are_passed_by_value() {
    check(
        "target triple = \"nvptx64-nvidia-cuda\"\n",
        r#"
%s = type { i32, i32 }
declare void @callee(ptr byval(%s))
declare void @take(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptx_kernel void @reads(ptr byval(%s) readonly %p) {
  %q = getelementptr i8, ptr %p, i64 4
  %kept = load i32, ptr %q
  call void @callee(ptr byval(%s) %p)
  ret void
}
define ptx_kernel void @copies(ptr byval(%s) %p) {
  %copy = alloca %s
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %p, i64 8, i1 false)
  %first = load i32, ptr %copy
  %second = getelementptr i8, ptr %p, i64 4
  %unmarked = load i32, ptr %second
  call void @callee(ptr byval(%s) %p)
  ret void
}
define ptx_kernel void @gives_away(ptr byval(%s) %p) {
  %before = load i32, ptr %p
  call void @take(ptr %p)
  ret void
}
define ptx_kernel void @writes(ptr byval(%s) %p, i32 %n) {
  store i32 %n, ptr %p
  %changed = load i32, ptr %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @writes_its_own(ptr byval(%s) %p) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %tid, ptr %p
  %own = load i32, ptr %p
  ret void
}
define void @function(ptr byval(%s) readonly %p) {
  %passed = load i32, ptr %p
  ret void
}
"#,
        &expect![[r#"
            q: {}
            kept: {}
            copy: {}
            first: {}
            second: {}
            unmarked: {}
            before: {opaque.thread, opaque.wave}
            changed: {}
            tid: {x}
            own: {x}
            passed: {opaque.thread, opaque.wave}
        "#]],
    );
}

/// If there is only one successor, all threads continue alike, whatever the terminator returns or
/// reads.
#[test]
fn a_terminator_with_one_way_to_go() {
    let text = br#"
        target triple = "amdgcn-amd-amdhsa"
        declare i32 @llvm.amdgcn.workitem.id.x()
        define i32 @f() {
          %x = call i32 @llvm.amdgcn.workitem.id.x()
          %low = icmp ult i32 %x, 7
          br i1 %low, label %one, label %one
        one:
          switch i32 %x, label %two [ i32 0, label %two ]
        two:
          br i1 %low, label %three, label %four
        three:
          br label %four
        four:
          ret i32 %x
        }"#;
    let mut session = Session::new();
    let module = session.read(text).expect("it is IR");
    let function = session.function(module, "f").expect("it is there");
    let view = session.divergence(function).expect("it has a body");
    let variance = session.variance(function).expect("it has a body");
    let mut divergent = Vec::new();
    for (at, &block) in session.code(function).flow.order().iter().enumerate() {
        let is_divergent = view.is_divergent_branch(block, Scope::Wave);
        assert_eq!(variance.terminator(block).is_empty(), !is_divergent);
        let chain = session.explain(function, Subject::Branch(block), Scope::Wave);
        assert_eq!(chain.is_empty(), !is_divergent);
        divergent.extend(is_divergent.then_some(at));
    }
    assert_eq!(divergent, [2]);
    let db = session.database();
    assert_eq!(phalanx::db::queries::divergent_branches(db, function.input()), 1);
}
