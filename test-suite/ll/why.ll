; Chains of causes: one of each kind.
;
; Expected: `%picked` merges different values because of a branch on the thread's index; `%loaded` is divergent
; through its address; `%lane` through an argument; `%right` is executed only by threads that a divergent branch sends there,
; `%under` because of that.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @causes(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %odd = trunc i32 %id to i1 ; => divergent
  br i1 %odd, label %left, label %right ; => divergent

left:
  br label %join ; => uniform

right:
  %some = icmp eq i32 %n, 0 ; => uniform
  br i1 %some, label %under, label %join ; => uniform

under:
  br label %join ; => uniform

join:
  %picked = phi i32 [ 1, %left ], [ 2, %right ], [ 2, %under ] ; => divergent
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %picked ; => divergent
  %loaded = load i32, ptr addrspace(1) %at ; => divergent
  %lane = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 %loaded) ; => divergent
  store i32 %lane, ptr addrspace(1) %at
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
