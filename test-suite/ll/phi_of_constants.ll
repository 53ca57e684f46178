; Phis of constants at the join of a divergent branch.
;
; Expected: `%same` has one value on all ways in and `%some` one value besides poison, so the branch cannot make them
; differ: uniform. `%which` has two constants: it says which way a lane came, and is divergent although no operand is.
; The same phi under the uniform branch of `@constants_uniform` is uniform.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @constants_divergent(ptr addrspace(1) %out) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %even = trunc i32 %id to i1 ; => divergent
  br i1 %even, label %left, label %right ; => divergent

left:
  br label %join ; => uniform

right:
  br label %join ; => uniform

join:
  %same = phi i32 [ 5, %left ], [ 5, %right ] ; => uniform
  %some = phi i32 [ 5, %left ], [ poison, %right ] ; => uniform
  %which = phi i32 [ 5, %left ], [ 6, %right ] ; => divergent
  %sum = add i32 %same, %some ; => uniform
  %all = add i32 %sum, %which ; => divergent
  store i32 %all, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @constants_uniform(ptr addrspace(1) %out, i1 %even) {
entry:
  br i1 %even, label %left, label %right ; => uniform

left:
  br label %join ; => uniform

right:
  br label %join ; => uniform

join:
  %which = phi i32 [ 5, %left ], [ 6, %right ] ; => uniform
  store i32 %which, ptr addrspace(1) %out
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
