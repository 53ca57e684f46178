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
  %v21 = or i32 %v2, %v0
  br label %b2
b1:
  %v24.less = icmp ult i32 %v0, %v0
  %v24 = select i1 %v24.less, i32 %v0, i32 %a0
  br label %b4
b2:
  %v3 = phi i32 [ 322, %b0 ], [ %v11, %b4 ]
  %v4 = phi i32 [ %v2, %b0 ], [ %v1, %b4 ]
  %v8.sum = add i32 %v3, %v2
  store i32 %v8.sum, ptr %slot, align 4
  %v8 = load i32, ptr %slot, align 4
  %v15 = call i32 @next(ptr %state)
  %v16.s = lshr i32 %v15, 2
  %v16 = trunc i32 %v16.s to i1
  %v22 = mul i32 %v2, %v1
  br i1 %v16, label %b3, label %b5
b3:
  %v9 = add i32 %v1, %v8
  %v17.s = lshr i32 %v15, 2
  %v17 = trunc i32 %v17.s to i1
  %v23.sum = add i32 %v9, %v1
  store i32 %v23.sum, ptr addrspace(3) %own, align 4
  %v23 = load i32, ptr addrspace(3) %own, align 4
  br i1 %v17, label %b1, label %b5
b4:
  %v11 = call i32 @llvm.umin.i32(i32 %v2, i32 %v4)
  %v12.less = icmp ult i32 %v4, %v3
  %v12 = select i1 %v12.less, i32 %v4, i32 %a0
  %v18.s = lshr i32 %v0, 1
  %v18 = trunc i32 %v18.s to i1
  %v25 = add i32 %v9, %v0
  br i1 %v18, label %b2, label %b6
b5:
  %v5 = phi i32 [ 674, %b2 ], [ 709, %b3 ]
  %v10 = call i32 @llvm.nvvm.redux.sync.umin(i32 %v4, i32 -1)
  br label %b6
b6:
  %v6 = phi i32 [ 664, %b4 ], [ 436, %b5 ], [ 513, %b6 ], [ 513, %b6 ]
  %v7 = phi i32 [ 604, %b4 ], [ 812, %b5 ], [ 624, %b6 ], [ 624, %b6 ]
  %v13 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %seed.0, i32 1, i32 31)
  %v14 = add i32 %v3, %v8
  %v19 = call i32 @next(ptr %state)
  %v20.s = lshr i32 %v19, 2
  %v20 = trunc i32 %v20.s to i1
  %v26 = or i32 %v15, %v1
  br i1 %v20, label %b6, label %b6
}
