//! Older spellings become today's. The tests compare each result with LLVM's.

use crate::support;

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_ir::Context;
use phalanx_llvm::parse_module;
use support::{Llvm, ours};

/// Lines of the functions that have bodies, without comments.
fn bodies(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        inside |= line.starts_with("define ");
        if inside {
            out += line.split(" ; preds").next().unwrap_or_default();
            out.push('\n');
        }
        inside &= line != "}";
    }
    out
}

/// The function around a call, after reading; LLVM must agree. `call` is what stands there,
/// `declaration` its callee.
#[track_caller]
fn check(declaration: &str, call: &str, expected: &Expect) {
    let values = "i32 %i, i32 %j, i64 %l, float %f, ptr %p, ptr addrspace(1) %g, ptr addrspace(3) %s, <4 x i32> %v, <4 x i1> %m";
    let text = format!(
        "{declaration}\ndefine void @f({values}) {{\n  {call}\n  ret void\n}}\n!0 = !{{}}\n"
    );
    let read = ours(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let ours = bodies(&read);
    let inside: String = ours
        .lines()
        .skip(1)
        .take_while(|line| *line != "  ret void")
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join("\n");
    // A blank line would be blanks in a golden that is indented.
    expected.assert_eq(&if inside.is_empty() { inside } else { inside + "\n" });
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(text.as_bytes()).expect("LLVM reads the text");
        assert_eq!(ours, bodies(&theirs), "LLVM makes something else of it");
        let again = llvm.rewrite(&read).expect("LLVM reads what we wrote");
        assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&theirs));
    }
}

#[test]
fn barriers() {
    check(
        "declare void @llvm.nvvm.barrier0()",
        "call void @llvm.nvvm.barrier0()",
        &expect![[r#"
              call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
        "#]],
    );
}

#[test]
fn a_barrier_that_counts() {
    check(
        "declare i32 @llvm.nvvm.barrier0.popc(i32)",
        "%r = call i32 @llvm.nvvm.barrier0.popc(i32 %i)",
        &expect![[r#"
              %1 = icmp ne i32 %i, 0
              %2 = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %1)
        "#]],
    );
}

#[test]
fn a_barrier_that_combines() {
    check(
        "declare i32 @llvm.nvvm.barrier0.or(i32)",
        "%r = call i32 @llvm.nvvm.barrier0.or(i32 %i), !foo !0",
        &expect![[r#"
              %1 = icmp ne i32 %i, 0
              %2 = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 %1)
              %3 = zext i1 %2 to i32
        "#]],
    );
}

#[test]
fn loads_of_read_only_data() {
    check(
        "declare i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1), i32)",
        "%r = call i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1) %g, i32 4)",
        &expect![[r#"
              %1 = load i32, ptr addrspace(1) %g, align 4, !invariant.load !0
        "#]],
    );
}

#[test]
fn loads_of_read_only_data_by_a_generic_address() {
    check(
        "declare i32 @llvm.nvvm.ldg.global.i.i32.p0(ptr, i32)",
        "%r = call i32 @llvm.nvvm.ldg.global.i.i32.p0(ptr %p, i32 8)",
        &expect![[r#"
              %1 = addrspacecast ptr %p to ptr addrspace(1)
              %2 = load i32, ptr addrspace(1) %1, align 8, !invariant.load !0
        "#]],
    );
}

#[test]
fn conversions_of_addresses() {
    check(
        "declare ptr addrspace(3) @llvm.nvvm.ptr.gen.to.shared.p3.p0(ptr)",
        "%r = call ptr addrspace(3) @llvm.nvvm.ptr.gen.to.shared.p3.p0(ptr %p)",
        &expect![[r#"
              %1 = addrspacecast ptr %p to ptr addrspace(3)
        "#]],
    );
}

#[test]
fn bits_of_another_type() {
    check(
        "declare i32 @llvm.nvvm.bitcast.f2i(float)",
        "%r = call i32 @llvm.nvvm.bitcast.f2i(float %f)",
        &expect![[r#"
              %1 = bitcast float %f to i32
        "#]],
    );
}

#[test]
fn renamed_intrinsics_keep_everything() {
    check(
        "declare i32 @llvm.nvvm.max.ui(i32, i32)",
        "%r = tail call noundef i32 @llvm.nvvm.max.ui(i32 noundef %i, i32 %j), !foo !0",
        &expect![[r#"
              %r = tail call noundef i32 @llvm.umax.i32(i32 noundef %i, i32 %j), !foo !0
        "#]],
    );
}

#[test]
fn a_count_of_bits_that_is_narrower() {
    check(
        "declare i32 @llvm.nvvm.clz.ll(i64)",
        "%ctlz = call i32 @llvm.nvvm.clz.ll(i64 %l)",
        &expect![[r#"
              %ctlz1 = call i64 @llvm.ctlz.i64(i64 %l, i1 false)
              %ctlz.trunc = trunc i64 %ctlz1 to i32
        "#]],
    );
}

#[test]
fn an_absolute_value() {
    check(
        "declare i32 @llvm.nvvm.abs.i(i32)",
        "%abs = call i32 @llvm.nvvm.abs.i(i32 %i)\n  %neg = call i32 @llvm.nvvm.abs.i(i32 %j)",
        &expect![[r#"
              %neg = sub i32 0, %i
              %abs.cond3 = icmp sge i32 %i, 0
              %abs4 = select i1 %abs.cond3, i32 %i, i32 %neg
              %neg1 = sub i32 0, %j
              %abs.cond = icmp sge i32 %j, 0
              %abs2 = select i1 %abs.cond, i32 %j, i32 %neg1
        "#]],
    );
}

#[test]
fn a_rotation() {
    check(
        "declare i64 @llvm.nvvm.rotate.b64(i64, i32)",
        "%r = call i64 @llvm.nvvm.rotate.b64(i64 %l, i32 %i)",
        &expect![[r#"
              %1 = zext i32 %i to i64
              %2 = call i64 @llvm.fshl.i64(i64 %l, i64 %l, i64 %1)
        "#]],
    );
}

#[test]
fn atomics_of_nvvm() {
    check(
        "declare float @llvm.nvvm.atomic.load.add.f32.p1(ptr addrspace(1), float)",
        "%r = call float @llvm.nvvm.atomic.load.add.f32.p1(ptr addrspace(1) %g, float %f)",
        &expect![[r#"
              %1 = atomicrmw fadd ptr addrspace(1) %g, float %f seq_cst, align 4
        "#]],
    );
}

#[test]
fn atomics_of_amdgcn() {
    check(
        "declare i32 @llvm.amdgcn.atomic.inc.i32.p3(ptr addrspace(3), i32, i32, i32, i1)",
        "%r = call i32 @llvm.amdgcn.atomic.inc.i32.p3(ptr addrspace(3) %s, i32 %i, i32 0, i32 0, i1 true)",
        &expect![[r#"
              %1 = atomicrmw volatile uinc_wrap ptr addrspace(3) %s, i32 %i syncscope("agent") seq_cst, align 4
        "#]],
    );
}

#[test]
fn atomics_of_amdgcn_in_global_memory() {
    check(
        "declare float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1), float)",
        "%r = call float @llvm.amdgcn.global.atomic.fadd.f32.p1.f32(ptr addrspace(1) %g, float %f)",
        &expect![[r#"
              %1 = atomicrmw fadd ptr addrspace(1) %g, float %f syncscope("agent") seq_cst, align 4, !amdgpu.no.fine.grained.memory !0, !amdgpu.ignore.denormal.mode !0
        "#]],
    );
}

#[test]
fn atomics_of_amdgcn_anywhere() {
    check(
        "declare float @llvm.amdgcn.flat.atomic.fmin.f32.p0.f32(ptr, float)",
        "%r = call float @llvm.amdgcn.flat.atomic.fmin.f32.p0.f32(ptr %p, float %f)",
        &expect![[r#"
              %1 = atomicrmw fmin ptr %p, float %f syncscope("agent") seq_cst, align 4, !noalias.addrspace !0, !amdgpu.no.fine.grained.memory !1
        "#]],
    );
}

#[test]
fn a_suffix_that_was_left_out() {
    check(
        "declare i32 @llvm.amdgcn.readfirstlane(i32)",
        "%r = call i32 @llvm.amdgcn.readfirstlane(i32 %i)",
        &expect![[r#"
              %r = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %i)
        "#]],
    );
}

#[test]
fn a_suffix_of_typed_pointers() {
    check(
        "declare void @llvm.memcpy.p0i8.p1i8.i64(ptr, ptr addrspace(1), i64, i1)",
        "call void @llvm.memcpy.p0i8.p1i8.i64(ptr %p, ptr addrspace(1) %g, i64 %l, i1 false)",
        &expect![[r#"
              call void @llvm.memcpy.p0.p1.i64(ptr %p, ptr addrspace(1) %g, i64 %l, i1 false)
        "#]],
    );
}

#[test]
fn copies_with_an_alignment() {
    check(
        "declare void @llvm.memcpy.p0.p1.i64(ptr, ptr addrspace(1), i64, i32, i1)",
        "call void @llvm.memcpy.p0.p1.i64(ptr nonnull %p, ptr addrspace(1) %g, i64 %l, i32 8, i1 false)",
        &expect![[r#"
              call void @llvm.memcpy.p0.p1.i64(ptr nonnull align 8 %p, ptr addrspace(1) align 8 %g, i64 %l, i1 false)
        "#]],
    );
}

#[test]
fn masked_loads_with_an_alignment() {
    check(
        "declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)",
        "%r = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> %m, <4 x i32> %v)",
        &expect![[r#"
              %r = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> %m, <4 x i32> %v)
        "#]],
    );
}

#[test]
fn lifetimes_of_allocations() {
    check(
        "declare void @llvm.lifetime.start.p0(i64, ptr)",
        "%a = alloca i32\n  %b = getelementptr i8, ptr %a, i64 0\n  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %b)",
        &expect![[r#"
              %a = alloca i32, align 4
              %b = getelementptr i8, ptr %a, i64 0
              call void @llvm.lifetime.start.p0(ptr %a)
        "#]],
    );
}

#[test]
fn lifetimes_of_anything_else() {
    check(
        "declare void @llvm.lifetime.end.p0(i64, ptr)",
        "call void @llvm.lifetime.end.p0(i64 4, ptr %p)",
        &expect![""],
    );
}

#[test]
fn an_address_in_a_cluster() {
    check(
        "declare ptr addrspace(3) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)",
        "%r = call ptr addrspace(3) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %s, i32 %i)",
        &expect![[r#"
              %r = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %s, i32 %i)
              %1 = addrspacecast ptr addrspace(7) %r to ptr addrspace(3)
        "#]],
    );
}

/// Each call is of the intrinsic that its own types make, whatever suffix it is written with.
#[test]
fn undeclared_intrinsics_at_several_types() {
    check(
        "",
        "%a = call i32 @llvm.umax(i32 %i, i32 %j)\n  %b = call i64 @llvm.umax(i64 %l, i64 1)\n  %c = call <4 x i32> @llvm.umax(<4 x i32> %v, <4 x i32> %v)\n  %d = call i64 @llvm.umax(i64 %b, i64 2)",
        &expect![[r#"
            %a = call i32 @llvm.umax.i32(i32 %i, i32 %j)
            %b = call i64 @llvm.umax.i64(i64 %l, i64 1)
            %c = call <4 x i32> @llvm.umax.v4i32(<4 x i32> %v, <4 x i32> %v)
            %d = call i64 @llvm.umax.i64(i64 %b, i64 2)
        "#]],
    );
}

#[test]
fn a_rotation_by_a_constant() {
    check(
        "declare i64 @llvm.nvvm.rotate.b64(i64, i32)",
        "%r = call i64 @llvm.nvvm.rotate.b64(i64 %l, i32 3)",
        &expect![[r#"
              %1 = call i64 @llvm.fshl.i64(i64 %l, i64 %l, i64 3)
        "#]],
    );
}

#[test]
fn suffixes_of_structures() {
    check(
        "declare {i32, [2 x float]} @llvm.ssa.copy({i32, [2 x float]})",
        "%a = call {i32, [2 x float]} @llvm.ssa.copy({i32, [2 x float]} zeroinitializer)",
        &expect![[r#"
            %a = call { i32, [2 x float] } @llvm.ssa.copy.sl_i32a2f32s({ i32, [2 x float] } zeroinitializer)
        "#]],
    );
}

#[test]
fn an_unknown_intrinsic_stays() {
    check(
        "declare void @llvm.convergent()",
        "call void @llvm.convergent()",
        &expect![[r#"
              call void @llvm.convergent()
        "#]],
    );
}

/// A debug session that compilers before LLVM 19 wrote.
const WITH_CALLS: &str = "define i32 @f(i32 %x) !dbg !5 {
  call void @llvm.dbg.value(metadata i32 %x, metadata !6, metadata !DIExpression()), !dbg !7
  call void @llvm.dbg.declare(metadata ptr null, metadata !6, metadata !DIExpression(DW_OP_deref)), !dbg !7
  %y = add i32 %x, 1, !dbg !7
  call void @llvm.dbg.label(metadata !8), !dbg !7
  ret i32 %y
}
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare void @llvm.dbg.declare(metadata, metadata, metadata)
declare void @llvm.dbg.label(metadata)
!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!1}
!1 = !{i32 2, !\"Debug Info Version\", i32 3}
!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !3)
!3 = !DIFile(filename: \"a\", directory: \"b\")
!5 = distinct !DISubprogram(name: \"f\", unit: !2)
!6 = !DILocalVariable(name: \"x\", scope: !5)
!7 = !DILocation(line: 1, scope: !5)
!8 = !DILabel(scope: !5, name: \"l\", file: !3, line: 2)
";

#[test]
fn debug_calls_become_records() {
    let read = ours(WITH_CALLS.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    expect![[r#"
        define i32 @f(i32 %x) !dbg !3 {
            #dbg_value(i32 %x, !4, !DIExpression(), !5)
            #dbg_declare(ptr null, !4, !DIExpression(DW_OP_deref), !5)
          %y = add i32 %x, 1, !dbg !5
            #dbg_label(!6, !5)
          ret i32 %y
        }
    "#]]
    .assert_eq(&bodies(&read));
    assert!(!String::from_utf8_lossy(&read).contains("llvm.dbg.value"), "declarations are gone");
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(WITH_CALLS.as_bytes()).expect("LLVM reads the text");
        assert_eq!(String::from_utf8_lossy(&read), String::from_utf8_lossy(&theirs));
    }
}

#[test]
fn debug_calls_and_records_do_not_mix() {
    let record = "    #dbg_value(i32 1, !6, !DIExpression(), !7)\n  ret";
    let text = WITH_CALLS.replace("  ret", record);
    let error = parse_module(Arc::new(Context::new()), text.as_bytes()).expect_err("mixed");
    assert_eq!(error.line_col(text.as_bytes()), (2, 3));
    if let Some(llvm) = Llvm::find() {
        assert!(llvm.rewrite(text.as_bytes()).is_err());
    }
}

#[test]
fn a_debug_call_with_an_offset() {
    let text = |offset: u32| {
        let call = format!("metadata i32 %x, i64 {offset}, metadata");
        let text = WITH_CALLS.replace("metadata i32 %x, metadata", &call);
        assert_ne!(text, WITH_CALLS);
        text.replace(
            "declare void @llvm.dbg.value(metadata, metadata",
            "declare void @llvm.dbg.value(metadata, i64, metadata",
        )
    };
    for (offset, count) in [(0, 1), (8, 0)] {
        let read = ours(text(offset).as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let read = String::from_utf8_lossy(&read).into_owned();
        assert_eq!(read.matches("#dbg_value").count(), count, "{read}");
        assert!(!read.contains("call void @llvm.dbg.value"), "{read}");
    }
}

#[test]
fn the_end_of_a_coroutine() {
    check(
        "declare void @llvm.coro.end(ptr, i1, ...)",
        "call void (ptr, i1, ...) @llvm.coro.end(ptr null, i1 false)",
        &expect![[r#"
              call void @llvm.coro.end(ptr null, i1 false, token none)
        "#]],
    );
    check(
        "declare i1 @llvm.coro.end(ptr, i1)",
        "call i1 @llvm.coro.end(ptr null, i1 false)",
        &expect![[r#"
              call void @llvm.coro.end(ptr null, i1 false, token none)
        "#]],
    );
}

#[test]
fn minimum_numbers_are_no_atomicrmw() {
    check(
        "declare float @llvm.amdgcn.global.atomic.fmin.num.f32.p1.f32(ptr addrspace(1), float)",
        "%r = call float @llvm.amdgcn.global.atomic.fmin.num.f32.p1.f32(ptr addrspace(1) %g, \
         float %f)",
        &expect![[r#"
              %r = call float @llvm.amdgcn.global.atomic.fmin.num.f32.p1.f32(ptr addrspace(1) %g, float %f)
        "#]],
    );
}

#[test]
fn attributes_of_masked_accesses() {
    check(
        "declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)",
        "%r = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr nonnull %p, i32 8, <4 x i1> %m, \
         <4 x i32> %v)",
        &expect![[r#"
              %r = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 8 %p, <4 x i1> %m, <4 x i32> %v)
        "#]],
    );
}

#[test]
fn annotations_become_attributes() {
    let text = "define void @f(ptr %p) {\n  ret void\n}\n!nvvm.annotations = !{!0, !1}\n\
        !0 = !{ptr @f, !\"kernel\", i32 1}\n!1 = !{ptr @f, !\"reqntidx\", i32 32, !\"maxntidy\", i32 4}\n";
    let read = ours(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    expect![[r#"
        define ptx_kernel void @f(ptr %p) #0 {
          ret void
        }
    "#]]
    .assert_eq(&bodies(&read));
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(text.as_bytes()).expect("LLVM reads the text");
        assert_eq!(bodies(&read), bodies(&theirs));
    }
}
