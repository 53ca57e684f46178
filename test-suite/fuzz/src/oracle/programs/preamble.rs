//! The common start of every program: declarations, and initial contents of memory.
//!
//! The names are those that the operations of `super` read and write.

/// Declarations for AMDGPU, and functions that every kernel uses: numbers that are fresh for each
/// thread, a store by another thread.
pub(super) const AMDGCN: &str = r#"target triple = "amdgcn-amd-amdhsa"
@counter = addrspace(1) global i32 0
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.cluster.id.x()
declare i32 @llvm.amdgcn.cluster.workgroup.id.x()
declare i32 @llvm.amdgcn.cluster.workgroup.max.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.ds.permute(i32, i32)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32)
declare i32 @llvm.amdgcn.mov.dpp.i32(i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.wave.reduce.umin.i32(i32, i32)
declare i32 @llvm.amdgcn.wave.reduce.umax.i32(i32, i32)
declare i32 @llvm.amdgcn.wave.reduce.and.i32(i32, i32)
declare i32 @llvm.amdgcn.wave.reduce.or.i32(i32, i32)
declare i32 @llvm.amdgcn.wave.reduce.add.i32(i32, i32)
declare i32 @llvm.amdgcn.wave.reduce.xor.i32(i32, i32)
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal void @set(ptr addrspace(5) %to, i32 %what) {
  store i32 %what, ptr addrspace(5) %to, align 4
  ret void
}
define internal i32 @next(ptr addrspace(5) %state) {
  %old = load i32, ptr addrspace(5) %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr addrspace(5) %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
"#;

/// The start of every function for AMDGPU: the seed of its thread, objects in private memory, its
/// own place in workgroup memory.
pub(super) const AMDGCN_START: &str = r#"  %state = alloca i32, align 4, addrspace(5)
  %seed.x = call i32 @llvm.amdgcn.workitem.id.x()
  %seed.y = call i32 @llvm.amdgcn.workitem.id.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr addrspace(5) %state, align 4
  %slot = alloca i32, align 4, addrspace(5)
  %m = alloca i32, align 4, addrspace(5)
  %gen = addrspacecast ptr addrspace(1) %gp to ptr
  %pub = alloca i32, align 4, addrspace(5)
  %pub.gen = addrspacecast ptr addrspace(5) %pub to ptr
  store i32 %seed.0, ptr addrspace(5) %pub, align 4
  %k = alloca i32, align 4, addrspace(5)
  %one = alloca { i32, i32, i32 }, align 4, addrspace(5)
  %two = alloca { i32, i32, i32 }, align 4, addrspace(5)
  %row = alloca [4 x i32], align 4, addrspace(5)
  %one.1 = getelementptr { i32, i32, i32 }, ptr addrspace(5) %one, i32 0, i32 1
  %one.2 = getelementptr { i32, i32, i32 }, ptr addrspace(5) %one, i32 0, i32 2
  %two.1 = getelementptr { i32, i32, i32 }, ptr addrspace(5) %two, i32 0, i32 1
  store i32 %a0, ptr addrspace(5) %m, align 4
  store i32 %a1, ptr addrspace(5) %k, align 4
  call void @llvm.memset.p5.i64(ptr addrspace(5) %one, i8 1, i64 12, i1 false)
  call void @llvm.memset.p5.i64(ptr addrspace(5) %two, i8 2, i64 12, i1 false)
  call void @llvm.memset.p5.i64(ptr addrspace(5) %row, i8 3, i64 16, i1 false)
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
"#;

/// As [`AMDGCN`], for NVPTX.
pub(super) const NVPTX: &str = r#"target triple = "nvptx64-nvidia-cuda"
@counter = addrspace(1) global i32 0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.nctaid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.nvvm.redux.sync.umax(i32, i32)
declare i32 @llvm.nvvm.redux.sync.and(i32, i32)
declare i32 @llvm.nvvm.redux.sync.or(i32, i32)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare i32 @llvm.nvvm.redux.sync.xor(i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32, i32, i32, i32)
declare { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32, i32)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
declare { i32, i1 } @llvm.nvvm.elect.sync(i32)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.uni.sync(i32, i1)
declare i32 @llvm.nvvm.activemask()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal void @set(ptr %to, i32 %what) {
  store i32 %what, ptr %to, align 4
  ret void
}
define internal i32 @next(ptr %state) {
  %old = load i32, ptr %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
"#;

/// As [`AMDGCN_START`], for NVPTX.
pub(super) const NVPTX_START: &str = r#"  %state = alloca i32, align 4
  %seed.x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %seed.y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr %state, align 4
  %slot = alloca i32, align 4
  %m = alloca i32, align 4
  %gen = addrspacecast ptr addrspace(1) %gp to ptr
  %pub.gen = alloca i32, align 4
  store i32 %seed.0, ptr %pub.gen, align 4
  %k = alloca i32, align 4
  %one = alloca { i32, i32, i32 }, align 4
  %two = alloca { i32, i32, i32 }, align 4
  %row = alloca [4 x i32], align 4
  %one.1 = getelementptr { i32, i32, i32 }, ptr %one, i32 0, i32 1
  %one.2 = getelementptr { i32, i32, i32 }, ptr %one, i32 0, i32 2
  %two.1 = getelementptr { i32, i32, i32 }, ptr %two, i32 0, i32 1
  store i32 %a0, ptr %m, align 4
  store i32 %a1, ptr %k, align 4
  call void @llvm.memset.p0.i64(ptr %one, i8 1, i64 12, i1 false)
  call void @llvm.memset.p0.i64(ptr %two, i8 2, i64 12, i1 false)
  call void @llvm.memset.p0.i64(ptr %row, i8 3, i64 16, i1 false)
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
"#;
