; A branch on a kernel argument: every lane takes the same way.
;
; Expected: `%flag` is a kernel argument and so is the same for the whole grid; the branch on it is uniform, and the phi
; at the join merges two uniform values under a uniform branch: uniform. Only the address made of the work-item id
; diverges.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @uniform_branch(ptr addrspace(1) %out, i32 %flag) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %positive = icmp sgt i32 %flag, 0 ; => uniform
  br i1 %positive, label %then, label %else ; => uniform

then:
  %twice = shl i32 %flag, 1 ; => uniform
  br label %join ; => uniform

else:
  %opposite = sub i32 0, %flag ; => uniform
  br label %join ; => uniform

join:
  %v = phi i32 [ %twice, %then ], [ %opposite, %else ] ; => uniform
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id ; => divergent
  store i32 %v, ptr addrspace(1) %at
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
