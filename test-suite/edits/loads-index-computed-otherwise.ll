; The bytes that an index leads to are not tracked: what is retained about a load does not depend on
; how the index is computed.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @kernel(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %out, i32 %n, i64 %k) {
entry:
  %m = add i64 %k, 256
  %to = getelementptr i32, ptr addrspace(1) %p, i64 %k
  %from = getelementptr i32, ptr addrspace(1) %p, i64 %m
  store i32 1, ptr addrspace(1) %to
  %l = load i32, ptr addrspace(1) %from
  store i32 %l, ptr addrspace(1) %out
  ; 300 rows
  ret void
}

; expect load %l = plain
; edit set %m 1 = i64 0
; expect load %l = plain
; edit set %m 1 = i64 256
; expect load %l = plain
