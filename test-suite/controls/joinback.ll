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
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v5 = add i32 %v0, %v1
  %v9.sum = add i32 %v2, %v0
  store i32 %v9.sum, ptr addrspace(3) %own, align 4
  %v9 = load i32, ptr addrspace(3) %own, align 4
  br label %b1
b1:
  %v3 = phi i32 [ 126, %b0 ], [ 119, %b1 ], [ 436, %b2 ]
  %v4 = phi i32 [ 748, %b0 ], [ 906, %b1 ], [ 681, %b2 ]
  %v7 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v8.s = lshr i32 %v7, 1
  %v8 = trunc i32 %v8.s to i1
  %v10 = xor i32 %v9, %v0
  br i1 %v8, label %b2, label %b1
b2:
  %v6.at = getelementptr i32, ptr addrspace(1) %gp, i32 6
  %v6 = load i32, ptr addrspace(1) %v6.at, align 4
  br label %b1
}
