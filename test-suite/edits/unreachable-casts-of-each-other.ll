; In unreachable code casts may be operands of each other: the search for their base must end.
target triple = "amdgcn-amd-amdhsa"
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @kernel() {
entry:
  br label %spin
spin:
  call void @llvm.amdgcn.s.barrier()
  br label %spin
unreachable:
  %a = addrspacecast ptr %b to ptr addrspace(5)
  %b = addrspacecast ptr addrspace(5) %a to ptr
  %l = load i1, ptr addrspace(5) %a
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = icmp ult i32 %t, 5
  %c = xor i1 %p, %l
  br i1 %c, label %spin, label %end
end:
  call void @llvm.amdgcn.s.barrier()
  ret void
}

; expect findings = PHX004
