; Barriers in the text of GCN assembly. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @wrong_branch(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "s_waitcnt lgkmcnt(0)\0As_barrier", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; In a comment.
define amdgpu_kernel void @right_comment(ptr addrspace(1) %p) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "s_nop 0 ; s_barrier", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; A scalar register of what is one for the grid.
define amdgpu_kernel void @right_scalar(ptr addrspace(1) %p, i32 %n) {
  %m = call i32 asm "s_lshl_b32 $0, $1, 2", "=s,s"(i32 %n)
  %few = icmp ult i32 %m, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "s_barrier", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; A register that other code has written is anything.
define amdgpu_kernel void @wrong_register(ptr addrspace(1) %p) {
  %m = call i32 asm "v_mov_b32 $0, v0", "=v"()
  %few = icmp ult i32 %m, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "s_barrier_signal -1\0As_barrier_wait -1", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}
