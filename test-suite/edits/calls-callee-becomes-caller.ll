; A question must not ask a former callee what it writes: it may call the function itself by now.
target triple = "amdgcn-amd-amdhsa"

define void @other(ptr addrspace(1) %p) {
start:
  store i32 0, ptr addrspace(1) %p
  ret void
}

define void @kernel(ptr addrspace(1) %p, i32 %n) {
entry:
  store i32 1, ptr addrspace(1) %p
  call void @other(ptr addrspace(1) %p)
  ; 300 rows
  ret void
}

; edit erase entry:1
; function @other
; edit insert before start:0: call void @kernel(ptr addrspace(1) %p, i32 0)
; expect control start = {}
