; `simplifycfg` finds that the default of a switch has one value left, and makes a case of it: the new default is unreachable. Nothing to say.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()

define amdgpu_kernel void @cases(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  call void @llvm.amdgcn.s.barrier()
  %value = load i32, ptr addrspace(1) %at
  %kind = and i32 %value, 3
  switch i32 %kind, label %latch [ i32 0, label %one
                                   i32 1, label %two
                                   i32 2, label %one ]
one:
  store i32 1, ptr addrspace(1) %at
  br label %latch
two:
  store i32 2, ptr addrspace(1) %at
  br label %latch
latch:
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
