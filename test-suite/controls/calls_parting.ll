; A random program that refutes the answer found with wrong facts about calls: see the tests of the oracle.
target triple = "amdgcn-amd-amdhsa"
@counter = addrspace(1) global i32 0
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
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
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal i32 @next(ptr addrspace(5) %state) {
  %old = load i32, ptr addrspace(5) %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr addrspace(5) %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
define internal i32 @h0(ptr addrspace(1) %gp, i32 %a0, i32 %a1, i32 %depth) {
entry:
  %state = alloca i32, align 4, addrspace(5)
  %seed.x = call i32 @llvm.amdgcn.workitem.id.x()
  %seed.y = call i32 @llvm.amdgcn.workitem.id.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr addrspace(5) %state, align 4
  %slot = alloca i32, align 4, addrspace(5)
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
  %v2 = call i32 @llvm.amdgcn.workitem.id.y()
  %v11 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %v0)
  %v12.s = lshr i32 %v11, 1
  %v12 = trunc i32 %v12.s to i1
  br i1 %v12, label %b1, label %b2
b1:
  %v6 = call i32 @next(ptr addrspace(5) %state)
  br label %b3
b2:
  %v5 = phi i32 [ %v11, %b0 ], [ %v11, %b4 ]
  %v10 = add i32 %v1, %v2
  ret i32 1
b3:
  %v3 = phi i32 [ 760, %b1 ]
  %v13.s = lshr i32 %v6, 0
  %v13 = trunc i32 %v13.s to i1
  %v14 = call i32 @llvm.amdgcn.wave.reduce.and.i32(i32 %v6, i32 0)
  br i1 %v13, label %b4, label %b5
b4:
  %v8.at = getelementptr i32, ptr addrspace(1) %gp, i32 8
  %v8 = load i32, ptr addrspace(1) %v8.at, align 4
  %v9 = call i32 @llvm.amdgcn.update.dpp.i32(i32 %v0, i32 %v8, i32 289, i32 15, i32 15, i1 true)
  br label %b2
b5:
  %v4 = phi i32 [ 23, %b3 ]
  %v7.to = shl i32 %seed.y, 2
  %v7 = call i32 @llvm.amdgcn.ds.bpermute(i32 %v7.to, i32 %seed.0)
  ret i32 %v14
}
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
b0:
  %state = alloca i32, align 4, addrspace(5)
  %seed.x = call i32 @llvm.amdgcn.workitem.id.x()
  %seed.y = call i32 @llvm.amdgcn.workitem.id.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr addrspace(5) %state, align 4
  %slot = alloca i32, align 4, addrspace(5)
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
  %v0 = add i32 %a0, 0
  %v1 = add i32 %a1, 0
  %v2 = call i32 @llvm.amdgcn.workitem.id.y()
  %v5.s = lshr i32 %v0, 1
  %v5 = trunc i32 %v5.s to i1
  br i1 %v5, label %b1, label %b2
b1:
  %v6.s = lshr i32 %v1, 2
  %v6 = trunc i32 %v6.s to i1
  %v9 = call i32 @h0(ptr addrspace(1) %gp, i32 %v2, i32 %v1, i32 2)
  br i1 %v6, label %b2, label %b2
b2:
  %v3 = phi i32 [ 449, %b0 ], [ 944, %b1 ], [ 944, %b1 ]
  %v4 = phi i32 [ %v2, %b0 ], [ %v2, %b1 ], [ %v2, %b1 ]
  %v7 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v8.s = lshr i32 %v7, 2
  %v8 = trunc i32 %v8.s to i1
  %v10.depth = and i32 %seed.0, 1
  %v10 = call i32 @h0(ptr addrspace(1) %gp, i32 %v0, i32 %v1, i32 %v10.depth)
  br i1 %v8, label %b1, label %b1
}
