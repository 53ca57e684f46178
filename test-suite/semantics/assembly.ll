; Assembly of one instruction, as `phalanx run` executes it.
target triple = "nvptx64-nvidia-cuda"

; Blocks, threads of the last one, lanes that vote, and a sum of these in the block.
define ptx_kernel void @known(ptr addrspace(1) %p) {
  %b = call i32 asm "mov.u32 $0, %ctaid.x;", "=r"()
  %t = call i32 asm sideeffect "mov.u32 $0, %tid.x;", "=r"()
  %mask = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent
  call void asm sideeffect "bar.sync 0;", "~{memory}"() convergent
  %sum = call i32 asm sideeffect "redux.sync.add.s32 $0, $1, $2;", "=r,r,r"(i32 1, i32 %mask) convergent
  store i32 %b, ptr addrspace(1) %p
  %p1 = getelementptr i32, ptr addrspace(1) %p, i64 1
  store i32 %t, ptr addrspace(1) %p1
  %p2 = getelementptr i32, ptr addrspace(1) %p, i64 2
  store i32 %sum, ptr addrspace(1) %p2
  ret void
}

; Half of the workgroup waits at another barrier.
define ptx_kernel void @hangs() {
  %t = call i32 asm sideeffect "mov.u32 $0, %tid.x;", "=r"()
  %number = lshr i32 %t, 5
  call void asm sideeffect "barrier.sync $0;", "r"(i32 %number) convergent
  ret void
}

define ptx_kernel void @unknown() {
  call void asm sideeffect "bar.sync 0; frobnicate;", ""() convergent
  ret void
}
