//! Uniformity in quads: facts about named values of small kernels.

use expect_test::{Expect, expect};
use phalanx::prelude::*;
use phalanx::target::LaunchStatement;

const AMDGPU: &str = r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mov.dpp.i32(i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
"#;

const NVPTX: &str = r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
"#;

const SPIRV: &str = r#"target triple = "spirv64-unknown-unknown"
declare i64 @_Z12get_local_idj(i32)
declare i64 @_Z36__spirv_GroupNonUniformQuadBroadcastimi(i32, i64, i32)
declare i64 @_Z31__spirv_GroupNonUniformQuadSwapimi(i32, i64, i32)
declare i1 @_Z33__spirv_GroupNonUniformQuadAllKHRb(i1)
"#;

/// Per named value, the smallest scope whose threads may hold different ones, and its sources.
fn check(head: &str, body: &str, size: [u32; 3], expected: &Expect) {
    let is_amd = head.starts_with(AMDGPU);
    let convention = match head {
        _ if is_amd => "amdgpu_kernel",
        _ if head.starts_with(SPIRV) => "spir_kernel",
        _ => "ptx_kernel",
    };
    let text = format!(
        "{head}define {convention} void @k(i32 %a) \"target-cpu\"=\"gfx1030\" {{{body}}}\n"
    );
    let text = if is_amd { text } else { text.replace("gfx1030", "sm_80") };
    let mut session = Session::new();
    let module = session
        .read(text.as_bytes())
        .unwrap_or_else(|e| panic!("{}", e.render("test", text.as_bytes())));
    let function = session.function(module, "k").expect("defined");
    let launch = LaunchStatement { workgroup_size: Some(size), ..Default::default() };
    session.set_launch(function, launch).expect("nothing else is said");
    let (code, divergence) =
        (session.code(function), session.divergence(function).expect("a body"));
    let mut out = String::new();
    for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
        let Some(name) = code.extras.names.inst(inst) else { continue };
        let value = Value::inst(inst);
        let differs = Scope::ALL.into_iter().find(|&scope| !divergence.is_uniform(value, scope));
        let differs = differs.map_or("nothing", Scope::name);
        let mask = divergence.mask(value);
        out.push_str(&format!("{}: {differs} {mask}\n", String::from_utf8_lossy(name)));
    }
    expected.assert_eq(&out);
}

#[test]
fn numbers_of_quads() {
    let body = "
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %lane = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %quad = lshr i32 %x, 2
  %first = and i32 %x, -4
  %part = and i32 %x, 3
  %pair = lshr i32 %x, 1
  %of.lane = lshr i32 %lane, 2
  %mixed = add i32 %quad, %y
  ret void
";
    // Rows of whole waves, of whole quads, and rows that end in the middle of a quad.
    check(
        AMDGPU,
        body,
        [64, 2, 1],
        &expect![[r#"
        x: quad {x}
        y: workgroup {y}
        lane: quad {lane}
        quad: wave {wave, quad}
        first: wave {wave, quad}
        part: quad {x}
        pair: quad {x}
        of.lane: wave {quad}
        mixed: wave {y, wave, quad}
    "#]],
    );
    check(
        AMDGPU,
        body,
        [8, 8, 1],
        &expect![[r#"
        x: quad {x}
        y: wave {y}
        lane: quad {lane}
        quad: wave {wave, quad}
        first: wave {wave, quad}
        part: quad {x}
        pair: quad {x}
        of.lane: wave {quad}
        mixed: wave {y, wave, quad}
    "#]],
    );
    check(
        AMDGPU,
        body,
        [6, 8, 1],
        &expect![[r#"
        x: quad {x}
        y: quad {y}
        lane: quad {lane}
        quad: quad {x}
        first: quad {x}
        part: quad {x}
        pair: quad {x}
        of.lane: wave {quad}
        mixed: quad {x, y}
    "#]],
    );
}

#[test]
fn lanes_read_by_data_parallel_primitives() {
    let body = "
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %quad = lshr i32 %x, 2
  %broadcast = call i32 @llvm.amdgcn.mov.dpp.i32(i32 %x, i32 170, i32 15, i32 15, i1 true)
  %keeps.own = call i32 @llvm.amdgcn.mov.dpp.i32(i32 %x, i32 170, i32 15, i32 15, i1 false)
  ; One image stands for all operands: what is kept says that it depends on x.
  %keeps.quad = call i32 @llvm.amdgcn.update.dpp.i32(i32 %quad, i32 %x, i32 170, i32 15, i32 5, i1 true)
  %swap = call i32 @llvm.amdgcn.mov.dpp.i32(i32 %quad, i32 177, i32 15, i32 15, i1 true)
  %shift = call i32 @llvm.amdgcn.mov.dpp.i32(i32 %quad, i32 273, i32 15, i32 15, i1 true)
  %swizzle = call i32 @llvm.amdgcn.ds.swizzle(i32 %x, i32 33023)
  %not.constant = call i32 @llvm.amdgcn.ds.swizzle(i32 %quad, i32 31)
  ret void
";
    check(
        AMDGPU,
        body,
        [64, 1, 1],
        &expect![[r#"
        x: quad {x}
        quad: wave {wave, quad}
        broadcast: wave {opaque.quad}
        keeps.own: quad {x, opaque.quad}
        keeps.quad: quad {x, wave, quad, opaque.quad}
        swap: quad {wave, opaque.thread, opaque.wave, opaque.quad}
        shift: quad {wave, opaque.thread, opaque.wave, opaque.quad}
        swizzle: wave {opaque.quad}
        not.constant: quad {wave, opaque.thread, opaque.wave, opaque.quad}
    "#]],
    );
}

#[test]
fn lanes_read_by_shuffles() {
    let body = "
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %quad = lshr i32 %x, 2
  %first = and i32 %lane, -4
  %of.quad = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 0, i32 7199)
  %of.eight = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 3, i32 6175)
  %of.pair = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 0, i32 7711)
  %named = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 %first, i32 31)
  %other.quad = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %quad, i32 8, i32 31)
  %own.quad = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %quad, i32 1, i32 31)
  %of.lanes = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 8, i32 31)
  %mask = shl i32 15, %first
  %bit = trunc i32 %x to i1
  %vote = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 %bit)
  ret void
";
    check(
        NVPTX,
        body,
        [64, 1, 1],
        &expect![[r#"
        x: quad {x}
        lane: quad {lane}
        quad: wave {wave, quad}
        first: wave {quad}
        of.quad: wave {opaque.wave, opaque.quad}
        of.eight: wave {opaque.wave, opaque.quad}
        of.pair: quad {opaque.thread, opaque.wave, opaque.quad}
        named: wave {opaque.wave, opaque.quad}
        other.quad: wave {wave, opaque.wave, opaque.quad}
        own.quad: wave {wave, quad, opaque.quad}
        of.lanes: quad {opaque.thread, opaque.wave, opaque.quad}
        mask: wave {quad}
        bit: quad {x}
        vote: wave {opaque.wave, opaque.quad}
    "#]],
    );
}

#[test]
fn branches_and_joins_of_quads() {
    let body = "
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %quad = lshr i32 %x, 2
  %bit = trunc i32 %quad to i1
  br i1 %bit, label %then, label %exit
then:
  br label %exit
exit:
  %joined = phi i32 [ 1, %entry ], [ 2, %then ]
  br label %head
head:
  %i = phi i32 [ 0, %exit ], [ %next, %head ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %quad
  br i1 %more, label %head, label %end
end:
  %rounds = phi i32 [ %next, %head ]
  ret void
";
    check(
        NVPTX,
        body,
        [64, 1, 1],
        &expect![[r#"
        x: quad {x}
        quad: wave {wave, quad}
        bit: wave {wave, quad}
        joined: wave {wave, quad}
        i: nothing {}
        next: nothing {}
        more: wave {wave, quad}
        rounds: wave {wave, quad}
    "#]],
    );
}

/// Clusters hold whole quads, or parts of them.
#[test]
fn clusters_of_lanes() {
    let head = format!(
        "{AMDGPU}declare i32 @_Z30sub_group_clustered_reduce_addij(i32, i32)\n\
         declare i32 @_Z26sub_group_clustered_rotateiij(i32, i32, i32)\n\
         !opencl.ocl.version = !{{!0}}\n!0 = !{{i32 3, i32 0}}\n"
    );
    let body = "
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %quad = lshr i32 %x, 2
  %eight = call i32 @_Z30sub_group_clustered_reduce_addij(i32 %x, i32 8)
  %two = call i32 @_Z30sub_group_clustered_reduce_addij(i32 %x, i32 2)
  %unknown = call i32 @_Z30sub_group_clustered_reduce_addij(i32 %x, i32 %a)
  %round.quad = call i32 @_Z26sub_group_clustered_rotateiij(i32 %quad, i32 1, i32 4)
  %by.quad = call i32 @_Z26sub_group_clustered_rotateiij(i32 %quad, i32 4, i32 16)
  %by.lane = call i32 @_Z26sub_group_clustered_rotateiij(i32 %quad, i32 1, i32 16)
  ret void
";
    check(
        &head,
        body,
        [64, 1, 1],
        &expect![[r#"
            x: quad {x}
            quad: wave {wave, quad}
            eight: wave {opaque.quad}
            two: quad {opaque.thread, opaque.wave, opaque.quad}
            unknown: quad {opaque.thread, opaque.wave, opaque.quad}
            round.quad: wave {wave, quad, opaque.quad}
            by.quad: wave {wave, opaque.wave, opaque.quad}
            by.lane: quad {wave, opaque.thread, opaque.wave, opaque.quad}
        "#]],
    );
}

#[test]
fn spirv() {
    let body = "
  %x = call i64 @_Z12get_local_idj(i32 0)
  %first = call i64 @_Z36__spirv_GroupNonUniformQuadBroadcastimi(i32 3, i64 %x, i32 0)
  %beside = call i64 @_Z31__spirv_GroupNonUniformQuadSwapimi(i32 3, i64 %x, i32 0)
  %low = icmp ult i64 %x, 5
  %all = call i1 @_Z33__spirv_GroupNonUniformQuadAllKHRb(i1 %low)
  ret void
";
    check(
        SPIRV,
        body,
        [64, 1, 1],
        &expect![[r#"
            x: quad {x}
            first: wave {opaque.quad}
            beside: quad {opaque.thread, opaque.wave, opaque.quad}
            low: quad {x}
            all: wave {opaque.quad}
        "#]],
    );
}
