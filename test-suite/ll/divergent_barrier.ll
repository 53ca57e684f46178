; Barriers under divergent, uniform and wave-uniform control.
;
; Expected: in `@hangs` only some lanes of a wave come to the barrier: an error. In `@safe` the condition is a kernel
; argument: all of the group or nobody. In `@by_wave` the condition is the wave's number: uniform in each wave (which is
; the scope of the marks here), yet some waves of the group never arrive: an error that wave-level uniformity cannot
; see.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @hangs(ptr addrspace(3) %shared) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %low = icmp ult i32 %id, 10 ; => divergent
  br i1 %low, label %meet, label %exit ; => divergent

meet:
  store i32 1, ptr addrspace(3) %shared, align 4
  call void @llvm.amdgcn.s.barrier()
  br label %exit ; => uniform

exit:
  ret void
}

define amdgpu_kernel void @safe(ptr addrspace(3) %shared, i1 %wanted) #0 {
entry:
  br i1 %wanted, label %meet, label %exit ; => uniform

meet:
  store i32 1, ptr addrspace(3) %shared, align 4
  call void @llvm.amdgcn.s.barrier()
  br label %exit ; => uniform

exit:
  ret void
}

define amdgpu_kernel void @by_wave(ptr addrspace(3) %shared) #0 !reqd_work_group_size !0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %wave = lshr i32 %id, 6 ; => uniform
  %first = icmp eq i32 %wave, 0 ; => uniform
  br i1 %first, label %meet, label %exit ; => uniform

meet:
  store i32 1, ptr addrspace(3) %shared, align 4
  call void @llvm.amdgcn.s.barrier()
  br label %exit ; => uniform

exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()

attributes #0 = { "target-cpu"="gfx90a" "uniform-work-group-size"="true" }

!0 = !{i32 256, i32 1, i32 1}
