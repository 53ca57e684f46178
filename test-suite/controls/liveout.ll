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
  %v8 = xor i32 %v2, %v2
  %v10.s = lshr i32 %v0, 2
  %v10 = trunc i32 %v10.s to i1
  %v13 = sub i32 %v1, %v1
  br i1 %v10, label %b2, label %b3
b1:
  %v6 = phi i32 [ %v14, %b1 ], [ %v3, %b2 ]
  %v7 = phi i32 [ 268, %b1 ], [ 888, %b2 ]
  %v16.sum = add i32 %v3, %v1
  store i32 %v16.sum, ptr %slot, align 4
  %v16 = load i32, ptr %slot, align 4
  br label %b1
b2:
  %v3 = phi i32 [ 995, %b0 ], [ %v1, %b3 ]
  %v4 = phi i32 [ 71, %b0 ], [ 560, %b3 ]
  %v9 = call i32 @llvm.umin.i32(i32 %v3, i32 %v1)
  %v11 = call i32 @next(ptr %state)
  %v12.s = lshr i32 %v11, 1
  %v12 = trunc i32 %v12.s to i1
  %v14 = sub i32 %v8, %v1
  br i1 %v12, label %b1, label %b3
b3:
  %v5 = phi i32 [ 873, %b0 ], [ 466, %b2 ]
  %v15 = add i32 %v8, %v0
  br label %b2
}
