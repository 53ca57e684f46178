; A row is a whole wave, so all threads of a wave have the same y: except in workgroups at the edge of the grid, which need not be whole.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) #0 !reqd_work_group_size !0 {
b0:
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %second = icmp eq i32 %y, 1
  br i1 %second, label %b1, label %b2

b1:
  br label %b2

b2:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.y()

attributes #0 = { "target-cpu"="gfx90a" "uniform-work-group-size"="false" }

!0 = !{i32 64, i32 2, i32 1}
