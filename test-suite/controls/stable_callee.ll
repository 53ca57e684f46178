; As `stable_acquire.ll`, where the load is in a function that is called.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

@flag = internal addrspace(1) global i32 0

define internal void @reads(ptr addrspace(1) %p) {
  %v = load i32, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @f(ptr addrspace(1) noalias readonly %r, ptr addrspace(1) noalias %w, ptr addrspace(1) noalias %q, ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %is.first.group = icmp eq i32 %c, 0
  %lane = and i32 %x, 3
  %is.first.lane = icmp eq i32 %lane, 0
  %goes = and i1 %is.first.group, %is.first.lane
  br i1 %goes, label %start, label %end
start:
  %is.late = icmp ne i32 %x, 0
  br i1 %is.late, label %wait, label %read
wait:
  %seen = load atomic i32, ptr addrspace(1) @flag acquire, align 4
  %is.set = icmp eq i32 %seen, 1
  br i1 %is.set, label %write, label %wait
write:
  store i32 77, ptr addrspace(1) %a
  br label %read
read:
  call void @reads(ptr addrspace(1) %a)
  store atomic i32 1, ptr addrspace(1) @flag release, align 4
  br label %end
end:
  ret void
}
