; A loop counter that is uniform in the loop and divergent after it.
;
; Expected: in every round all lanes still in the loop hold the same `%i`: uniform. Lanes leave in different rounds,
; since the exit depends on their id, so a use of `%i` after the loop sees values of different rounds: `%after` is
; divergent although its operand is uniform where it is defined. In the second function the exit is uniform, and so is
; everything after.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @divergent_exit(ptr addrspace(1) %out) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  br label %loop ; => uniform

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ] ; => uniform
  %next = add i32 %i, 1 ; => uniform
  %more = icmp ult i32 %next, %id ; => divergent
  br i1 %more, label %loop, label %exit ; => divergent

exit:
  %after = mul i32 %i, 3 ; => divergent
  store i32 %after, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @uniform_exit(ptr addrspace(1) %out, i32 %n) {
entry:
  br label %loop ; => uniform

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ] ; => uniform
  %next = add i32 %i, 1 ; => uniform
  %more = icmp ult i32 %next, %n ; => uniform
  br i1 %more, label %loop, label %exit ; => uniform

exit:
  %after = mul i32 %i, 3 ; => uniform
  store i32 %after, ptr addrspace(1) %out
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
