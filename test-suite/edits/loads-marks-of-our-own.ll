; `phalanx.invariant.load` is no promise, `invariant.load` is one.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) {
entry:
  %m = load i32, ptr addrspace(1) %q, !other !0
  store i32 1, ptr addrspace(1) %q
  %l = load i32, ptr addrspace(1) %p
  ; 300 rows
  store i32 %l, ptr addrspace(1) %q
  ret void
}

!0 = !{}

; expect load %l = plain
; edit attach %l phalanx.invariant.load from %m
; expect load %l = plain
; edit attach %l invariant.load from %m
; expect load %l = scalar
; edit detach %l invariant.load
; expect load %l = plain
