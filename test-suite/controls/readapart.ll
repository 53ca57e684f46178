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
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %v16 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v17.s = lshr i32 %v16, 2
  %v17 = trunc i32 %v17.s to i1
  br i1 %v17, label %b1, label %b5
b1:
  %v7 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %seed.0, i32 1, i32 31)
  %v8.bit = trunc i32 %seed.0 to i1
  %v8 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %v8.bit)
  %v18 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v19.s = lshr i32 %v18, 0
  %v19 = trunc i32 %v19.s to i1
  %v23 = or i32 %v2, %v1
  br i1 %v19, label %b2, label %b3
b2:
  %v6 = phi i32 [ %v23, %b1 ], [ %v23, %b2 ]
  %v15 = add i32 %v1, %v0
  %v21.bit = trunc i32 %seed.0 to i1
  %v21 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %v21.bit)
  %v22.s = lshr i32 %v21, 2
  %v22 = trunc i32 %v22.s to i1
  %v26 = or i32 %v23, %v0
  br i1 %v22, label %b2, label %b1
b3:
  %v9.at = getelementptr i32, ptr addrspace(1) %gp, i32 9
  %v9 = load i32, ptr addrspace(1) %v9.at, align 4
  %v10 = add i32 %v8, %v2
  %v24 = sub i32 %v0, %v1
  br label %b5
b4:
  %v14.bit = trunc i32 %seed.0 to i1
  %v14 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %v14.bit)
  %v25 = sub i32 %v1, %v0
  br label %b1
b5:
  %v3 = phi i32 [ %v0, %b0 ], [ %v8, %b3 ]
  %v11 = xor i32 %v2, %v1
  %v20.s = lshr i32 %v0, 0
  %v20 = trunc i32 %v20.s to i1
  br i1 %v20, label %b4, label %b6
b6:
  %v4 = phi i32 [ %v11, %b5 ]
  %v5 = phi i32 [ 425, %b5 ]
  %v12 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v13 = or i32 %v5, %v12
  ret void
}
