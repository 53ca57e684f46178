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
  %v2 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v5 = call i32 @next(ptr addrspace(5) %state)
  %v6.s = lshr i32 %v5, 1
  %v6 = trunc i32 %v6.s to i1
  %v10 = add i32 %v5, %v1
  br i1 %v6, label %b1, label %b2
b1:
  %v7.s = lshr i32 %v0, 1
  %v7 = trunc i32 %v7.s to i1
  br i1 %v7, label %b2, label %b2
b2:
  %v3 = phi i32 [ %v1, %b0 ], [ %v2, %b1 ], [ %v2, %b1 ]
  %v4.sum = add i32 %v2, %v3
  store i32 %v4.sum, ptr addrspace(5) %slot, align 4
  %v4 = load i32, ptr addrspace(5) %slot, align 4
  %v8 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %v5)
  %v9.s = lshr i32 %v8, 2
  %v9 = trunc i32 %v9.s to i1
  %v11.sum = add i32 %v3, %v1
  store i32 %v11.sum, ptr addrspace(5) %slot, align 4
  %v11 = load i32, ptr addrspace(5) %slot, align 4
  br i1 %v9, label %b1, label %b1
}
