; Early exits: by a uniform test, by a divergent one, and what is left afterwards.
;
; Expected: the first return is taken by all or none. The second is taken by some lanes; those that stay are still
; together, and since they come to `%work` by one edge, nothing there depends on who has left: `%scaled` is uniform. A
; join exists only at the function's end, where nothing is computed.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @early_exit(ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %nothing = icmp eq i32 %n, 0 ; => uniform
  br i1 %nothing, label %leave, label %check ; => uniform

check:
  %outside = icmp uge i32 %id, %n ; => divergent
  br i1 %outside, label %leave, label %work ; => divergent

work:
  %scaled = mul i32 %n, 3 ; => uniform
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id ; => divergent
  store i32 %scaled, ptr addrspace(1) %at, align 4
  ret void

leave:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
