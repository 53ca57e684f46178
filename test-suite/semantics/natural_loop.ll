; A natural loop that two threads leave in different rounds.
;
; Each round of the header is one converged execution of the threads that are still in the loop, whatever way they
; took through the loop before. They meet again at the exit.
target triple = "amdgcn-amd-amdhsa"
@ways = internal addrspace(1) constant [2 x i32] [i32 3, i32 30]
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @natural_loop() {
Entry:
  %ways = alloca i32, align 4, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr [2 x i32], ptr addrspace(1) @ways, i32 0, i32 %id
  %all = load i32, ptr addrspace(1) %at, align 4
  store i32 %all, ptr addrspace(5) %ways, align 4
  br label %H
H:
  %h = load i32, ptr addrspace(5) %ways, align 4
  %h.rest = lshr i32 %h, 1
  store i32 %h.rest, ptr addrspace(5) %ways, align 4
  %h.way = trunc i32 %h to i1
  br i1 %h.way, label %B, label %L
B:
  br label %L
L:
  %l = load i32, ptr addrspace(5) %ways, align 4
  %l.rest = lshr i32 %l, 1
  store i32 %l.rest, ptr addrspace(5) %ways, align 4
  %l.way = trunc i32 %l to i1
  br i1 %l.way, label %H, label %Exit
Exit:
  ret void
}
