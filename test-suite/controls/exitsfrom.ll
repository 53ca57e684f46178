; A random program that refutes the answer found without the rule: see the tests of the oracle.
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
  %v2 = call i32 @llvm.amdgcn.workitem.id.x()
  %v20 = call i32 @llvm.umin.i32(i32 %v2, i32 %v1)
  br label %b1
b1:
  %v4.bit = trunc i32 %seed.0 to i1
  %v4.b = call i64 @llvm.amdgcn.ballot.i64(i1 %v4.bit)
  %v4 = trunc i64 %v4.b to i32
  %v13 = call i32 @next(ptr addrspace(5) %state)
  %v14.s = lshr i32 %v13, 2
  %v14 = trunc i32 %v14.s to i1
  %v21 = xor i32 %v2, %v1
  br i1 %v14, label %b3, label %b1
b2:
  %v11.sum = add i32 %v4, %v8
  store i32 %v11.sum, ptr addrspace(5) %slot, align 4
  %v11 = load i32, ptr addrspace(5) %slot, align 4
  %v12 = load volatile i32, ptr addrspace(1) %gp, align 4
  ret void
b3:
  %v5 = mul i32 %v4, %v4
  %v22.sum = add i32 %v1, %v1
  store i32 %v22.sum, ptr addrspace(5) %slot, align 4
  %v22 = load i32, ptr addrspace(5) %slot, align 4
  br label %b4
b4:
  %v3 = phi i32 [ 300, %b3 ], [ 639, %b6 ]
  %v6.sum = add i32 %v1, %v4
  store i32 %v6.sum, ptr addrspace(5) %slot, align 4
  %v6 = load i32, ptr addrspace(5) %slot, align 4
  %v15.bit = trunc i32 %seed.0 to i1
  %v15.b = call i64 @llvm.amdgcn.ballot.i64(i1 %v15.bit)
  %v15 = trunc i64 %v15.b to i32
  %v16.s = lshr i32 %v15, 2
  %v16 = trunc i32 %v16.s to i1
  br i1 %v16, label %b1, label %b6
b5:
  %v9 = mul i32 %v1, %v0
  %v10 = load volatile i32, ptr addrspace(1) %gp, align 4
  %v19.s = lshr i32 %v1, 1
  %v19 = trunc i32 %v19.s to i1
  %v24 = or i32 %v23, %v0
  br i1 %v19, label %b1, label %b2
b6:
  %v7 = add i32 %v2, %v2
  %v8 = xor i32 %v5, %v4
  %v17 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %seed.0, i32 273, i32 15, i32 15, i1 true)
  %v18.s = lshr i32 %v17, 0
  %v18 = trunc i32 %v18.s to i1
  %v23 = or i32 %v7, %v0
  br i1 %v18, label %b4, label %b5
}
