; Where a pointer leads that is made from an integer, or loaded from a constant table, follows edits
; of the integer and of the steps into the table.
target triple = "nvptx64-nvidia-cuda"
@near = addrspace(3) global [64 x i32] undef
@far = addrspace(1) global [64 x i32] zeroinitializer
@table = addrspace(4) constant [2 x ptr] [ptr addrspacecast (ptr addrspace(3) @near to ptr), ptr addrspacecast (ptr addrspace(1) @far to ptr)]

define ptx_kernel void @kernel(ptr addrspace(1) %out, i64 %n, i1 %c) {
entry:
  %s = addrspacecast ptr addrspace(3) @near to ptr
  %g = addrspacecast ptr addrspace(1) @far to ptr
  %of.s = ptrtoint ptr %s to i64
  %of.g = ptrtoint ptr %g to i64
  %sum = add i64 %of.s, 16
  %far.sum = add i64 %sum, 32
  %which = select i1 %c, i64 %far.sum, i64 %of.s
  %made = inttoptr i64 %which to ptr
  %step = getelementptr i32, ptr %made, i64 1
  %l = load i32, ptr %step
  %cell = getelementptr [2 x ptr], ptr addrspace(4) @table, i32 0, i32 0
  %same = getelementptr i8, ptr addrspace(4) %cell, i64 0
  %held = load ptr, ptr addrspace(4) %same
  %at = getelementptr i32, ptr %held, i64 %n
  %m = load i32, ptr %at
  store i32 %m, ptr %step
  ; 300 rows
  ret void
}

; expect space %made = {shared}
; expect space %held = {shared}
; edit set %sum 0 = %of.g
; expect space %made = {global, shared}
; edit set %which 2 = %of.g
; expect space %made = {global}
; edit set %far.sum 0 = %n
; expect space %made = {anything}
; edit set %far.sum 0 = %sum
; expect space %made = {global}
; edit set %cell 2 = i32 1
; expect space %held = {global}
; edit set %same 1 = %n
; expect space %held = {global, shared}
; edit set %same 1 = i64 0
; expect space %held = {global}
; edit set %same 0 = ptr addrspace(4) @table
; expect space %held = {shared}
; expect space %at = {shared, null}

; each edit
; random edits
