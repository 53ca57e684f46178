; Special registers and votes of NVPTX.
;
; Expected: block index, block size and grid size are the same for all threads of a block, so `%block.low` and the
; branch on it are uniform; thread index and lane number are not. The ballot's result is the same for the whole warp, so
; the branch on `%any` is uniform although `%inside` is divergent. LLVM 22 calls the result of every call divergent on
; this target, registers that are the same for a block included.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @registers(ptr addrspace(1) %out, i32 %n) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() ; => divergent
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid() ; => divergent
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() ; => uniform (LLVM 22: divergent)
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x() ; => uniform (LLVM 22: divergent)
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() ; => uniform (LLVM 22: divergent)
  %start = mul i32 %block, %size ; => uniform (LLVM 22: divergent)
  %total = mul i32 %blocks, %size ; => uniform (LLVM 22: divergent)
  %index = add i32 %start, %thread ; => divergent
  %block.low = icmp ult i32 %start, %n ; => uniform (LLVM 22: divergent)
  br i1 %block.low, label %vote, label %exit ; => uniform (LLVM 22: divergent)

vote:
  %inside = icmp ult i32 %index, %n ; => divergent
  %mask = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %inside) ; => uniform (LLVM 22: divergent)
  %any = icmp ne i32 %mask, 0 ; => uniform (LLVM 22: divergent)
  br i1 %any, label %store, label %exit ; => uniform (LLVM 22: divergent)

store:
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %lane ; => divergent
  store i32 %total, ptr addrspace(1) %at, align 4
  br label %exit ; => uniform

exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
