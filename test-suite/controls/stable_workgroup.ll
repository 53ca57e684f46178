; Each workgroup has its own: by one address, with no race, each reads what it wrote.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

@local = internal addrspace(3) global i32 undef

define ptx_kernel void @f(ptr addrspace(1) noalias readonly %r, ptr addrspace(1) noalias %w, ptr addrspace(1) noalias %q, ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %goes = icmp eq i32 %x, 0
  br i1 %goes, label %read, label %end
read:
  store i32 %c, ptr addrspace(3) @local
  %v = load i32, ptr addrspace(3) @local
  br label %end
end:
  ret void
}
