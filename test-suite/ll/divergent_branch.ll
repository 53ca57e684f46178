; A branch on the work-item id, with a join.
;
; Expected: the condition and the branch diverge. `%twice` and `%opposite` are computed from a uniform argument and stay
; uniform where they are computed; the phi that chooses between them by the way a lane came is divergent. `%after`,
; computed in the join from uniform operands, is uniform: lanes have met again.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @divergent_branch(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %low = icmp ult i32 %id, 7 ; => divergent
  br i1 %low, label %then, label %else ; => divergent

then:
  %twice = shl i32 %n, 1 ; => uniform
  br label %join ; => uniform

else:
  %opposite = sub i32 0, %n ; => uniform
  br label %join ; => uniform

join:
  %v = phi i32 [ %twice, %then ], [ %opposite, %else ] ; => divergent
  %after = add i32 %n, 1 ; => uniform
  %sum = add i32 %v, %after ; => divergent
  store i32 %sum, ptr addrspace(1) %out
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
