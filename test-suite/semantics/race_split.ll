; As `race.ll`, with a barrier in two halves: without the wait nothing orders the read after the neighbour's write.
target triple = "amdgcn-amd-amdhsa"
@left = internal addrspace(3) global [64 x i32] undef
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier.signal(i32)
declare void @llvm.amdgcn.s.barrier.wait(i16)
define amdgpu_kernel void @neighbours(ptr addrspace(1) %out, i1 %wait) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %mine = getelementptr [64 x i32], ptr addrspace(3) @left, i32 0, i32 %id
  %square = mul i32 %id, %id
  store i32 %square, ptr addrspace(3) %mine
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  br i1 %wait, label %meet, label %read
meet:
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  br label %read
read:
  %before = sub i32 %id, 1
  %from = and i32 %before, 3
  %other = getelementptr [64 x i32], ptr addrspace(3) @left, i32 0, i32 %from
  %value = load i32, ptr addrspace(3) %other
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %value, ptr addrspace(1) %at
  ret void
}
