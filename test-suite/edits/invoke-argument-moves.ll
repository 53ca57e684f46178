; Whether an argument that a function does not return is read depends on whether it was computed in
; another block than that of the invoke.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()

define internal i32 @leaf(i32 %a, i32 %b) {
  ret i32 %a
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %out, i32 %n) personality ptr null {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %first = add i32 %n, 2
  ; 300 rows
  br label %a
a:
  %last = add i32 %n, 3
  br label %b
b:
  %r = invoke i32 @leaf(i32 %n, i32 %x) to label %ok unwind label %pad
ok:
  store i32 %r, ptr addrspace(1) %out
  ret void
pad:
  %caught = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %caught
}

; expect %r = {}
; edit move %x before %last
; expect %r = {x}
; edit move %x before %first
; expect %r = {}
; edit move %x before %last
; expect %r = {x}
