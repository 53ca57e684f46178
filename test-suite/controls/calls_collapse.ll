; A random program that refutes the answer found with wrong facts about calls: see the tests of the oracle.
target triple = "nvptx64-nvidia-cuda"
@counter = addrspace(1) global i32 0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
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
declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal i32 @next(ptr %state) {
  %old = load i32, ptr %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
define internal i32 @h0(ptr addrspace(1) %gp, i32 %a0, i32 %a1, i32 %depth) {
entry:
  %state = alloca i32, align 4
  %seed.x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %seed.y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr %state, align 4
  %slot = alloca i32, align 4
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
  %deeper = sub i32 %depth, 1
  %stop = icmp slt i32 %depth, 1
  br i1 %stop, label %bottom, label %b0
bottom:
  ret i32 %a1
b0:
  %v0 = add i32 %a0, 0
  %v1 = add i32 %a1, 0
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %v3 = add i32 %v1, %v1
  %v9.s = lshr i32 %v3, 1
  %v9 = trunc i32 %v9.s to i1
  br i1 %v9, label %b2, label %b1
b1:
  %v4 = call i32 @h0(ptr addrspace(1) %gp, i32 %v1, i32 %v2, i32 %deeper)
  %v10.s = lshr i32 %v1, 0
  %v10 = trunc i32 %v10.s to i1
  %v11 = call i32 @llvm.umin.i32(i32 %v1, i32 %v1)
  br i1 %v10, label %b3, label %b4
b2:
  %v13 = call i32 @llvm.umin.i32(i32 %v1, i32 %v0)
  ret i32 %v3
b3:
  %v7 = mul i32 %v0, %v0
  %v8 = call i32 @next(ptr %state)
  %v12 = call i32 @h0(ptr addrspace(1) %gp, i32 %v7, i32 %v1, i32 %deeper)
  br label %b2
b4:
  %v5 = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %v1)
  %v6 = call i32 @llvm.umin.i32(i32 %v5, i32 %v0)
  ret i32 %v6
}
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
b0:
  %state = alloca i32, align 4
  %seed.x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %seed.y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr %state, align 4
  %slot = alloca i32, align 4
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
  %v0 = add i32 %a0, 0
  %v1 = add i32 %a1, 0
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %v10 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %seed.0, i32 1, i32 31)
  %v11 = call i32 @h0(ptr addrspace(1) %gp, i32 %v1, i32 %v1, i32 2)
  %v24.depth = and i32 %seed.0, 1
  %v24 = call i32 @h0(ptr addrspace(1) %gp, i32 %v0, i32 %v0, i32 %v24.depth)
  br label %b1
b1:
  %v3 = phi i32 [ 716, %b0 ], [ 222, %b6 ]
  %v4 = phi i32 [ %v11, %b0 ], [ %v19, %b6 ]
  %v12.less = icmp ult i32 %v10, %v4
  %v12 = select i1 %v12.less, i32 %v10, i32 %a0
  br label %b3
b2:
  %v8 = phi i32 [ %v7, %b6 ]
  %v9 = phi i32 [ %v10, %b6 ]
  %v18 = call i32 @h0(ptr addrspace(1) %gp, i32 %v3, i32 %v9, i32 2)
  %v28.sum = add i32 %v2, %v1
  store i32 %v28.sum, ptr addrspace(3) %own, align 4
  %v28 = load i32, ptr addrspace(3) %own, align 4
  ret void
b3:
  %v19.at = getelementptr i32, ptr addrspace(1) %gp, i32 3
  %v19 = load i32, ptr addrspace(1) %v19.at, align 4
  %v20.s = lshr i32 %v19, 2
  %v20 = trunc i32 %v20.s to i1
  br i1 %v20, label %b5, label %b4
b4:
  %v13 = call i32 @h0(ptr addrspace(1) %gp, i32 %v11, i32 %v2, i32 1)
  br label %b7
b5:
  %v6 = phi i32 [ 414, %b3 ]
  %v17 = xor i32 %v10, %v1
  %v27 = call i32 @h0(ptr addrspace(1) %gp, i32 %v4, i32 %v0, i32 1)
  br label %b6
b6:
  %v7 = phi i32 [ 415, %b5 ], [ %v19, %b9 ]
  %v23.s = lshr i32 %v7, 1
  %v23 = trunc i32 %v23.s to i1
  br i1 %v23, label %b2, label %b1
b7:
  %v5 = phi i32 [ 350, %b4 ], [ 795, %b8 ]
  %v14.less = icmp ult i32 %v0, %v2
  %v14 = select i1 %v14.less, i32 %v0, i32 %a0
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v21 = load volatile i32, ptr addrspace(1) %gp, align 4
  %v22.s = lshr i32 %v21, 0
  %v22 = trunc i32 %v22.s to i1
  %v25.bit = trunc i32 %v5 to i1
  %v25 = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %v25.bit)
  br i1 %v22, label %b9, label %b8
b8:
  %v15.at = getelementptr i32, ptr addrspace(1) %gp, i32 15
  %v15 = load i32, ptr addrspace(1) %v15.at, align 4
  %v26 = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %v19)
  br label %b7
b9:
  %v16 = or i32 %v2, %v3
  br label %b6
}
