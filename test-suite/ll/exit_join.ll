; A join behind a loop: some lanes come from the body, others from the header one round later.
;
; Expected: in the first round lanes below the limit leave from `%body`; the others go round and leave from `%head`,
; uniformly, when the second round begins. Both ways end in `%exit`, where all lanes meet again: `%how` says which way a
; lane came and is divergent, though it merges two constants and the exit from the header is uniform. LLVM 22.1 calls it
; uniform: it notes `%exit` as an exit of the loop and no longer looks at it as a join.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @exit_join(ptr addrspace(1) %out, i32 %limit) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  br label %head ; => uniform

head:
  %again = phi i1 [ false, %entry ], [ true, %body ] ; => uniform
  br i1 %again, label %exit, label %body ; => uniform

body:
  %low = icmp ult i32 %id, %limit ; => divergent
  br i1 %low, label %exit, label %head ; => divergent

exit:
  %how = phi i32 [ 100, %body ], [ 200, %head ] ; => divergent (LLVM 22: uniform)
  store i32 %how, ptr addrspace(1) %out, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
