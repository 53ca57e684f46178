; An element of a vector of addresses is an address on the way of what reads it.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) %b, i32 %n) {
entry:
  %w = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %a, i32 0
  %w2 = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %b, i32 0
  store i32 0, ptr addrspace(1) %b
  ; 300 rows
  ret void
}

; edit insert before %row299: %frozen = freeze <2 x ptr addrspace(1)> %w
; edit insert before %row299: %address = extractelement <2 x ptr addrspace(1)> %frozen, i32 0
; edit insert before %row299: %l = load i32, ptr addrspace(1) %address
; expect load %l = scalar non-coherent ldu
; edit set %frozen 0 = %w2
; expect load %l = plain
; edit set %frozen 0 = %w
; expect load %l = scalar non-coherent ldu
