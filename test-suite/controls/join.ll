; A random program that refutes the answer found without the rule: see the tests of the oracle.
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
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v10 = load volatile i32, ptr addrspace(1) %gp, align 4
  %v11 = load volatile i32, ptr addrspace(1) %gp, align 4
  br label %b1
b1:
  %v3 = phi i32 [ %v10, %b0 ], [ %v11, %b3 ]
  %v4 = phi i32 [ 957, %b0 ], [ %v1, %b3 ]
  %v12 = or i32 %v1, %v0
  %v24 = sub i32 %v2, %v1
  br label %b3
b2:
  %v6 = phi i32 [ %v25, %b3 ]
  %v15 = add i32 %v13, %v14
  %v21 = call i32 @next(ptr %state)
  %v22.s = lshr i32 %v21, 1
  %v22 = trunc i32 %v22.s to i1
  %v26 = add i32 %v15, %v1
  br i1 %v22, label %b4, label %b5
b3:
  %v5 = phi i32 [ 610, %b1 ]
  %v13 = sub i32 %v4, %v1
  %v14 = load volatile i32, ptr addrspace(1) %gp, align 4
  %v19 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v20.s = lshr i32 %v19, 2
  %v20 = trunc i32 %v20.s to i1
  %v25 = sub i32 %v4, %v0
  br i1 %v20, label %b2, label %b1
b4:
  %v7 = phi i32 [ %v24, %b2 ]
  %v8 = phi i32 [ %v26, %b2 ]
  %v16 = call i32 @llvm.umin.i32(i32 %v3, i32 %v4)
  %v23.s = lshr i32 %v6, 1
  %v23 = trunc i32 %v23.s to i1
  br i1 %v23, label %b6, label %b7
b5:
  %v9 = phi i32 [ 251, %b2 ], [ 583, %b7 ]
  %v18 = call i32 @next(ptr %state)
  ret void
b6:
  %v17 = call i32 @llvm.nvvm.redux.sync.umin(i32 %v12, i32 -1)
  br label %b7
b7:
  br label %b5
}
