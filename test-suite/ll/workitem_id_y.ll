; The second dimension of the work-item id under three launch shapes, in waves of 64.
;
; Expected: lanes are numbered along x first (and groups are uniform, so none is smaller). When x spans whole waves (64x4) all lanes of a wave have the same y:
; uniform. With 16x16 a wave holds four rows: divergent. With 96x2 the second wave holds the end of row 0 and the start
; of row 1: divergent. In the 64x4 shape `id.x / 64` is zero and `id.x` itself takes all values in every wave.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @rows_of_64(ptr addrspace(1) %out) #0 !reqd_work_group_size !0 {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %y = call i32 @llvm.amdgcn.workitem.id.y() ; => uniform
  %first.row = icmp eq i32 %y, 0 ; => uniform
  br i1 %first.row, label %store, label %exit ; => uniform

store:
  store i32 %x, ptr addrspace(1) %out, align 4
  br label %exit ; => uniform

exit:
  ret void
}

define amdgpu_kernel void @rows_of_16(ptr addrspace(1) %out) #0 !reqd_work_group_size !1 {
entry:
  %y = call i32 @llvm.amdgcn.workitem.id.y() ; => divergent
  %first.row = icmp eq i32 %y, 0 ; => divergent
  br i1 %first.row, label %store, label %exit ; => divergent

store:
  store i32 %y, ptr addrspace(1) %out, align 4
  br label %exit ; => uniform

exit:
  ret void
}

define amdgpu_kernel void @rows_of_96(ptr addrspace(1) %out) #0 !reqd_work_group_size !2 {
entry:
  %y = call i32 @llvm.amdgcn.workitem.id.y() ; => divergent
  %first.row = icmp eq i32 %y, 0 ; => divergent
  br i1 %first.row, label %store, label %exit ; => divergent

store:
  store i32 %y, ptr addrspace(1) %out, align 4
  br label %exit ; => uniform

exit:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()

attributes #0 = { "target-cpu"="gfx90a" "uniform-work-group-size"="true" }

!0 = !{i32 64, i32 4, i32 1}
!1 = !{i32 16, i32 16, i32 1}
!2 = !{i32 96, i32 2, i32 1}
