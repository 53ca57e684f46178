; Two threads enter an irreducible cycle together and go different ways inside.
;
; If R is a header, they meet at the first R of each. If P is the only header, they meet in each round at P.
target triple = "amdgcn-amd-amdhsa"
@ways = internal addrspace(1) constant [2 x i32] [i32 7, i32 13]
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @diverged_entry() {
Entry:
  %ways = alloca i32, align 4, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr [2 x i32], ptr addrspace(1) @ways, i32 0, i32 %id
  %all = load i32, ptr addrspace(1) %at, align 4
  store i32 %all, ptr addrspace(5) %ways, align 4
  %entry = load i32, ptr addrspace(5) %ways, align 4
  %entry.rest = lshr i32 %entry, 1
  store i32 %entry.rest, ptr addrspace(5) %ways, align 4
  %entry.way = trunc i32 %entry to i1
  br i1 %entry.way, label %P, label %R
P:
  br label %Q
Q:
  %q = load i32, ptr addrspace(5) %ways, align 4
  %q.rest = lshr i32 %q, 1
  store i32 %q.rest, ptr addrspace(5) %ways, align 4
  %q.way = trunc i32 %q to i1
  br i1 %q.way, label %R, label %S
R:
  br label %S
S:
  %s = load i32, ptr addrspace(5) %ways, align 4
  %s.rest = lshr i32 %s, 1
  store i32 %s.rest, ptr addrspace(5) %ways, align 4
  %s.way = trunc i32 %s to i1
  br i1 %s.way, label %P, label %Exit
Exit:
  ret void
}
