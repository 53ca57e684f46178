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
  %v2 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v8.s = lshr i32 %v1, 2
  %v8 = trunc i32 %v8.s to i1
  %v9 = call i32 @llvm.umin.i32(i32 %v1, i32 %v0)
  br i1 %v8, label %b1, label %b2
b1:
  %v3 = phi i32 [ %v2, %b0 ]
  %v4 = phi i32 [ 885, %b0 ]
  %v6 = or i32 %v4, %v2
  br label %b2
b2:
  %v5 = phi i32 [ 245, %b0 ], [ 189, %b1 ]
  %v7 = call i32 @llvm.umin.i32(i32 %v0, i32 %v5)
  %v10.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v0, i32 %v1, i32 %deeper)
  %v10 = extractvalue { i32, i32 } %v10.both, 1
  ret i32 %a0
}
define internal { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %a0, i32 %a1, i32 %depth) {
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
  %bottom.p = insertvalue { i32, i32 } poison, i32 %a1, 0
  %bottom.q = insertvalue { i32, i32 } %bottom.p, i32 %a0, 1
  ret { i32, i32 } %bottom.q
b0:
  %v0 = add i32 %a0, 0
  %v1 = add i32 %a1, 0
  %v2 = call i32 @llvm.amdgcn.workitem.id.x()
  %v5.bit = trunc i32 %seed.0 to i1
  %v5.b = call i64 @llvm.amdgcn.ballot.i64(i1 %v5.bit)
  %v5 = trunc i64 %v5.b to i32
  %v6.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v2, i32 %v1, i32 %deeper)
  %v6 = extractvalue { i32, i32 } %v6.both, 1
  %v12 = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4
  %v13.s = lshr i32 %v12, 1
  %v13 = trunc i32 %v13.s to i1
  %v19.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v2, i32 %v0, i32 %deeper)
  %v19 = extractvalue { i32, i32 } %v19.both, 0
  br i1 %v13, label %b1, label %b2
b1:
  %v4 = phi i32 [ %v1, %b0 ], [ %v1, %b1 ], [ %v1, %b1 ]
  %v18.s = lshr i32 %v5, 2
  %v18 = trunc i32 %v18.s to i1
  %v22.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v12, i32 %v0, i32 %deeper)
  %v22 = extractvalue { i32, i32 } %v22.both, 0
  br i1 %v18, label %b1, label %b1
b2:
  %v7.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v2, i32 %v1, i32 %deeper)
  %v7 = extractvalue { i32, i32 } %v7.both, 1
  %v14 = call i32 @next(ptr addrspace(5) %state)
  %v15.s = lshr i32 %v14, 1
  %v15 = trunc i32 %v15.s to i1
  %v20.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v2, i32 %v1, i32 %deeper)
  %v20 = extractvalue { i32, i32 } %v20.both, 1
  br i1 %v15, label %b5, label %b3
b3:
  %v10 = xor i32 %v5, %v7
  %v11 = or i32 %v0, %v1
  br label %b4
b4:
  br label %b4
b5:
  %v3 = phi i32 [ %v19, %b2 ]
  %v8.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v7, i32 %v5, i32 %deeper)
  %v8 = extractvalue { i32, i32 } %v8.both, 1
  %v9 = call i32 @llvm.amdgcn.wave.reduce.or.i32(i32 %v5, i32 0)
  %v16 = call i32 @next(ptr addrspace(5) %state)
  %v17.s = lshr i32 %v16, 1
  %v17 = trunc i32 %v17.s to i1
  %v21.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v20, i32 %v0, i32 %deeper)
  %v21 = extractvalue { i32, i32 } %v21.both, 1
  br i1 %v17, label %b4, label %b3
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
  %v7 = add i32 %v1, %v2
  %v8 = call i32 @llvm.amdgcn.ds.swizzle(i32 %v0, i32 32996)
  br label %b1
b1:
  %v9 = call i32 @h0(ptr addrspace(1) %gp, i32 %v0, i32 %v2, i32 2)
  br label %b2
b2:
  %v10.bit = trunc i32 %v8 to i1
  %v10.b = call i64 @llvm.amdgcn.ballot.i64(i1 %v10.bit)
  %v10 = trunc i64 %v10.b to i32
  %v11.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v2, i32 %v0, i32 2)
  %v11 = extractvalue { i32, i32 } %v11.both, 0
  %v15 = call i32 @llvm.amdgcn.readlane.i32(i32 %v1, i32 0)
  %v16.s = lshr i32 %v15, 1
  %v16 = trunc i32 %v16.s to i1
  br i1 %v16, label %b3, label %b4
b3:
  %v21 = call i32 @llvm.umin.i32(i32 %v8, i32 %v1)
  ret void
b4:
  %v12.bit = trunc i32 %seed.0 to i1
  %v12.b = call i64 @llvm.amdgcn.ballot.i64(i1 %v12.bit)
  %v12 = trunc i64 %v12.b to i32
  %v17.at = getelementptr i32, ptr addrspace(1) %gp, i32 1
  %v17 = load i32, ptr addrspace(1) %v17.at, align 4
  %v18.s = lshr i32 %v17, 1
  %v18 = trunc i32 %v18.s to i1
  %v19.sum = add i32 %v10, %v1
  store i32 %v19.sum, ptr addrspace(5) %slot, align 4
  %v19 = load i32, ptr addrspace(5) %slot, align 4
  br i1 %v18, label %b6, label %b5
b5:
  %v3 = phi i32 [ 627, %b4 ], [ 136, %b5 ]
  %v4 = phi i32 [ %v8, %b4 ], [ %v3, %b5 ]
  %v13.both = call { i32, i32 } @h1(ptr addrspace(1) %gp, i32 %v12, i32 %v9, i32 1)
  %v13 = extractvalue { i32, i32 } %v13.both, 1
  %v20 = call i32 @h0(ptr addrspace(1) %gp, i32 %v12, i32 %v1, i32 2)
  br label %b5
b6:
  %v5 = phi i32 [ %v11, %b4 ]
  %v6 = phi i32 [ 456, %b4 ]
  %v14.bit = trunc i32 %seed.0 to i1
  %v14.b = call i64 @llvm.amdgcn.ballot.i64(i1 %v14.bit)
  %v14 = trunc i64 %v14.b to i32
  ret void
}
