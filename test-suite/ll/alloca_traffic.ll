; Values that go through private memory, as in unoptimised code.
;
; Expected: every lane has its own copy of an alloca, so a load from one may give a different value in each lane even
; though the address is uniform. `%n.again` reads back the kernel argument that was stored just before: uniform for
; whoever follows memory; LLVM 22 calls every load from private memory divergent. `%id.again` reads back the id and is
; divergent for all. `%v` reads a slot that was written under a divergent branch: divergent, because of who wrote and
; not of what was written.
target datalayout = "A5"
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @alloca_traffic(ptr addrspace(1) %out, i32 %n) {
entry:
  %n.slot = alloca i32, align 4, addrspace(5) ; => uniform
  %id.slot = alloca i32, align 4, addrspace(5) ; => uniform
  %v.slot = alloca i32, align 4, addrspace(5) ; => uniform
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  store i32 %n, ptr addrspace(5) %n.slot, align 4
  store i32 %id, ptr addrspace(5) %id.slot, align 4
  store i32 0, ptr addrspace(5) %v.slot, align 4
  %n.again = load i32, ptr addrspace(5) %n.slot, align 4 ; => uniform (LLVM 22: divergent)
  %id.again = load i32, ptr addrspace(5) %id.slot, align 4 ; => divergent
  %odd = trunc i32 %id.again to i1 ; => divergent
  br i1 %odd, label %write, label %join ; => divergent

write:
  store i32 1, ptr addrspace(5) %v.slot, align 4
  br label %join ; => uniform

join:
  %v = load i32, ptr addrspace(5) %v.slot, align 4 ; => divergent
  %sum = add i32 %v, %n.again ; => divergent
  store i32 %sum, ptr addrspace(1) %out, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
