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
  %v7 = add i32 %v0, %v1
  %v8.at = getelementptr i32, ptr addrspace(1) %gp, i32 8
  %v8 = load i32, ptr addrspace(1) %v8.at, align 4
  %v12 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v13.s = lshr i32 %v12, 2
  %v13 = trunc i32 %v13.s to i1
  %v18 = xor i32 %v7, %v1
  br i1 %v13, label %b2, label %b1
b1:
  %v3 = phi i32 [ 567, %b0 ], [ 516, %b2 ]
  %v4 = phi i32 [ %v8, %b0 ], [ 233, %b2 ]
  %v11.sum = add i32 %v3, %v2
  store i32 %v11.sum, ptr addrspace(3) %own, align 4
  %v11 = load i32, ptr addrspace(3) %own, align 4
  %v16.bit = trunc i32 %seed.0 to i1
  %v16.any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %v16.bit)
  %v16 = zext i1 %v16.any to i32
  %v17.s = lshr i32 %v16, 0
  %v17 = trunc i32 %v17.s to i1
  br i1 %v17, label %b3, label %b2
b2:
  %v9 = add i32 %v0, %v0
  %v10 = call i32 @llvm.umin.i32(i32 %v1, i32 %v1)
  %v14 = load volatile i32, ptr addrspace(1) %gp, align 4
  %v15.s = lshr i32 %v14, 1
  %v15 = trunc i32 %v15.s to i1
  %v19 = add i32 %v12, %v0
  br i1 %v15, label %b1, label %b3
b3:
  %v5 = phi i32 [ %v18, %b1 ], [ %v18, %b2 ], [ 729, %b3 ]
  %v6 = phi i32 [ 143, %b1 ], [ 420, %b2 ], [ 873, %b3 ]
  br label %b3
}
