; Barriers, votes and special registers in the text of assembly. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

; Whether a barrier is one is not up to the attribute.
define ptx_kernel void @wrong_branch(ptr addrspace(1) %p) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "{ // wait\0A bar.sync 0; }", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; What assembly reads is one for the block.
define ptx_kernel void @right_block(ptr addrspace(1) %p) {
  %block = call i32 asm sideeffect "mov.u32 $0, %ctaid.x;", "=r"()
  %odd = and i32 %block, 1
  %is_odd = icmp ne i32 %odd, 0
  br i1 %is_odd, label %then, label %exit
then:
  call void asm sideeffect "barrier.sync.aligned 0;", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; What it reads differs between threads, and is evaluated.
define ptx_kernel void @wrong_thread(ptr addrspace(1) %p) {
  %id = call i32 asm "mov.u32 $0, %tid.x;", "=r"()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "barrier.sync.aligned 0;", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; Arithmetic over what is one for the block, and over what is not.
define ptx_kernel void @right_arithmetic(ptr addrspace(1) %p, i32 %n) {
  %m = call i32 asm "{ .reg .b32 t; shl.b32 t, $1, 2; lop3.b32 $0, t, $1, 5, 0x96; }", "=r,r"(i32 %n)
  %few = icmp ult i32 %m, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "bar.sync 0;", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @wrong_arithmetic(ptr addrspace(1) %p, i32 %n) {
  %m = call i32 asm "{ .reg .b32 t; mov.b32 t, %laneid; add.u32 $0, t, $1; }", "=r,r"(i32 %n)
  %few = icmp ult i32 %m, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "bar.sync 0;", "~{memory}"()
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; The condition is in the text.
define ptx_kernel void @wrong_predicate(ptr addrspace(1) %p) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void asm sideeffect "{ .reg .pred q; setp.lt.u32 q, $0, 7; @q bar.sync 0; }", "r"(i32 %id)
  store i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @right_predicate(ptr addrspace(1) %p, i32 %n) {
  call void asm sideeffect "{ .reg .pred q; setp.lt.u32 q, $0, 7; @q bar.sync 0; }", "r"(i32 %n)
  store i32 1, ptr addrspace(1) %p
  ret void
}

; A wait for an object in memory, and copies, are no barriers.
define ptx_kernel void @right_copies(ptr addrspace(1) %p) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  call void asm sideeffect "cp.async.commit_group; cp.async.wait_group 0; fence.proxy.async;", "~{memory}"() convergent
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

; For more threads than there are.
define ptx_kernel void @wrong_count(ptr addrspace(1) %p) "nvvm.reqntid"="64" {
  call void asm sideeffect "bar.sync 1, 128;", "~{memory}"()
  ret void
}

; The mask names those that do not come.
define ptx_kernel void @wrong_shuffle(ptr addrspace(1) %p, i32 %x) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  %y = call i32 asm sideeffect "shfl.sync.down.b32 $0, $1, 1, 0x1f, 0xffffffff;", "=r,r"(i32 %x)
  store i32 %y, ptr addrspace(1) %p
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @right_shuffle(ptr addrspace(1) %p, i32 %x) "nvvm.reqntid"="64" {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %few = icmp ult i32 %id, 16
  br i1 %few, label %then, label %exit
then:
  %y = call i32 asm sideeffect "shfl.sync.down.b32 $0, $1, 1, 0x1f, 0xffff;", "=r,r"(i32 %x)
  store i32 %y, ptr addrspace(1) %p
  br label %exit
exit:
  store i32 1, ptr addrspace(1) %p
  ret void
}
