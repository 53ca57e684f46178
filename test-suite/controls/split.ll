; A random program that refutes the answer found without the rule: see the tests of the oracle.
target triple = "nvptx64-nvidia-cuda"
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
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) "nvvm.reqntid"="32,1,1" {
b0:
  %state = alloca i32, align 4
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
  %v0 = add i32 %a0, 0
  %v1 = add i32 %a1, 0
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %v9 = call i32 @next(ptr %state)
  %v10.s = lshr i32 %v9, 1
  %v10 = trunc i32 %v10.s to i1
  %v14 = add i32 %v9, %v1
  br i1 %v10, label %b1, label %b3
b1:
  %v5.sum = add i32 %v0, %v0
  store i32 %v5.sum, ptr addrspace(3) %own, align 4
  %v5 = load i32, ptr addrspace(3) %own, align 4
  %v11.s = lshr i32 %v1, 1
  %v11 = trunc i32 %v11.s to i1
  %v15 = xor i32 %v9, %v0
  br i1 %v11, label %b2, label %b2
b2:
  %v3 = phi i32 [ %v14, %b1 ], [ %v14, %b1 ], [ 635, %b3 ]
  %v6.sum = add i32 %v0, %v0
  store i32 %v6.sum, ptr addrspace(3) %own, align 4
  %v6 = load i32, ptr addrspace(3) %own, align 4
  %v7 = xor i32 %v1, %v0
  %v12.s = lshr i32 %v0, 0
  %v12 = trunc i32 %v12.s to i1
  br i1 %v12, label %b4, label %b3
b3:
  %v8.at = getelementptr i32, ptr addrspace(1) %gp, i32 8
  %v8 = load i32, ptr addrspace(1) %v8.at, align 4
  %v13.s = lshr i32 %v0, 0
  %v13 = trunc i32 %v13.s to i1
  br i1 %v13, label %b4, label %b2
b4:
  %v4 = phi i32 [ 466, %b2 ], [ 929, %b3 ], [ 651, %b4 ]
  %v16.sum = add i32 %v4, %v1
  store i32 %v16.sum, ptr %slot, align 4
  %v16 = load i32, ptr %slot, align 4
  br label %b4
}
