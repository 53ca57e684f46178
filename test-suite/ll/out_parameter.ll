; What a function leaves in memory of its caller: a stack slot holds what the function wrote there, as a register would.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()

define internal void @next(i32 %a, ptr addrspace(5) %out) {
  %sum = add i32 %a, 1 ; => divergent
  store i32 %sum, ptr addrspace(5) %out, align 4
  ret void
}

define internal i32 @bump(ptr addrspace(5) %at) {
  %old = load i32, ptr addrspace(5) %at, align 4 ; => divergent
  %new = add i32 %old, 1 ; => divergent
  store i32 %new, ptr addrspace(5) %at, align 4
  ret i32 %old
}

define internal void @number(ptr addrspace(5) %out) {
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  store i32 %id, ptr addrspace(5) %out, align 4
  ret void
}

define amdgpu_kernel void @kernel(i32 %n) {
  %pair = alloca { i32, i32 }, align 4, addrspace(5)
  %second = getelementptr { i32, i32 }, ptr addrspace(5) %pair, i32 0, i32 1
  %own = alloca i32, align 4, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  call void @next(i32 %n, ptr addrspace(5) %pair)
  call void @next(i32 %id, ptr addrspace(5) %second)
  %same = load i32, ptr addrspace(5) %pair, align 4
  %other = load i32, ptr addrspace(5) %second, align 4 ; => divergent
  %found = call i32 @bump(ptr addrspace(5) %second) ; => divergent
  %more = load i32, ptr addrspace(5) %second, align 4 ; => divergent
  call void @number(ptr addrspace(5) %own)
  %numbered = load i32, ptr addrspace(5) %own, align 4 ; => divergent
  ret void
}
