; Every single edit of a kernel that keeps what it computes with in stack slots, passes their
; addresses on, and has pointers to several memories.
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [64 x i32] poison
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @keep(ptr)

define internal void @set(ptr %to, i32 %what) {
start:
  store i32 %what, ptr %to
  ret void
}

define internal i32 @get(ptr %from) {
start:
  %v = load i32, ptr %from
  ret i32 %v
}

define ptx_kernel void @kernel(ptr addrspace(1) %out, ptr noalias readonly %in, i32 %n, i1 %c) {
entry:
  %a = alloca i32
  %b = alloca { i32, i32 }
  %d = alloca [4 x i32]
  %e = alloca ptr
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %and = and i32 %tid, 3
  store i32 %n, ptr %a
  %b1 = getelementptr { i32, i32 }, ptr %b, i32 0, i32 1
  store i32 %tid, ptr %b1
  br i1 %c, label %then, label %join
then:
  ; 300 rows
  call void @set(ptr %b, i32 %and)
  store ptr %a, ptr %e
  br label %join
join:
  %p = phi ptr [ %b1, %then ], [ %a, %entry ]
  %l = load i32, ptr %p
  %di = getelementptr [4 x i32], ptr %d, i32 0, i32 %and
  store i32 %l, ptr %di
  %g = call i32 @get(ptr %b)
  %tg = addrspacecast ptr addrspace(3) @tile to ptr
  %q = select i1 %c, ptr %tg, ptr %in
  %ql = load i32, ptr %q
  call void @llvm.nvvm.barrier0()
  %ti = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %and
  store i32 %ql, ptr addrspace(3) %ti
  br label %loop
loop:
  %i = phi i32 [ 0, %join ], [ %i1, %loop ]
  %r = load i32, ptr %a
  %r1 = add i32 %r, %g
  store i32 %r1, ptr %a
  %ii = getelementptr i32, ptr %in, i32 %i
  %il = load i32, ptr %ii
  %i1 = add i32 %i, 1
  %more = icmp slt i32 %i1, %r1
  br i1 %more, label %loop, label %exit
exit:
  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %d, i64 8, i1 false)
  %x = load i32, ptr %b
  %kl = load i32, ptr addrspace(4) @table
  %s = add i32 %x, %kl
  %s1 = add i32 %s, %il
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %s1, ptr addrspace(1) %o
  %el = load ptr, ptr %e
  call void @keep(ptr %d)
  ret void
}

; each edit
; random edits
