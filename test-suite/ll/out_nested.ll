; What functions leave in memory of their callers, through other functions and where threads part.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()

define internal void @set(i32 %a, ptr addrspace(5) %to) {
  %twice = shl i32 %a, 1 ; => divergent
  store i32 %twice, ptr addrspace(5) %to, align 4
  ret void
}

define internal void @outer(i32 %b, ptr addrspace(5) %there) {
  %more = add i32 %b, 3 ; => divergent
  call void @set(i32 %more, ptr addrspace(5) %there)
  ret void
}

define internal void @choose(i32 %c, ptr addrspace(5) %at) {
entry:
  %is_small = icmp ult i32 %c, 7 ; => divergent
  br i1 %is_small, label %small, label %large ; => divergent
small:
  store i32 1, ptr addrspace(5) %at, align 4
  ret void
large:
  store i32 2, ptr addrspace(5) %at, align 4
  ret void
}

define amdgpu_kernel void @kernel(i32 %n) {
  %first = alloca i32, align 4, addrspace(5)
  %second = alloca i32, align 4, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  call void @outer(i32 %id, ptr addrspace(5) %first)
  call void @choose(i32 %id, ptr addrspace(5) %second)
  %nested = load i32, ptr addrspace(5) %first, align 4 ; => divergent
  %chosen = load i32, ptr addrspace(5) %second, align 4 ; => divergent
  ret void
}
