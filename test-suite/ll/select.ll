; Selects: data flow where a branch would be control flow.
;
; Expected: a select is divergent when any of its operands is, unless both arms are the same value (`%either`, which
; LLVM 22 does not see). `%clamped` has a uniform condition and uniform arms.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @select(ptr addrspace(1) %out, i32 %n, i32 %m) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %below = icmp ult i32 %id, %n ; => divergent
  %chosen = select i1 %below, i32 %n, i32 %m ; => divergent
  %either = select i1 %below, i32 %n, i32 %n ; => uniform (LLVM 22: divergent)
  %large = icmp ugt i32 %n, %m ; => uniform
  %clamped = select i1 %large, i32 %m, i32 %n ; => uniform
  %mixed = select i1 %large, i32 %id, i32 %n ; => divergent
  %a = add i32 %chosen, %either ; => divergent
  %b = add i32 %clamped, %mixed ; => divergent
  %sum = add i32 %a, %b ; => divergent
  store i32 %sum, ptr addrspace(1) %out, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
