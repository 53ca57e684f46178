; Loops in which threads wait for others. Kernels whose name begins with `wrong_` have findings, the others have none.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

@arrived = internal addrspace(1) global i32 0
@flags = internal addrspace(3) global [256 x i32] undef

; Lanes that wait for the lock keep the one that has it.
define ptx_kernel void @wrong_lock(ptr addrspace(1) %lock, ptr addrspace(1) %x) {
  br label %take
take:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 monotonic monotonic
  %has = extractvalue { i32, i1 } %pair, 1
  br i1 %has, label %work, label %take
work:
  %old = load i32, ptr addrspace(1) %x
  %new = add i32 %old, 1
  store i32 %new, ptr addrspace(1) %x
  %was = atomicrmw xchg ptr addrspace(1) %lock, i32 0 monotonic
  ret void
}

; The same with an exchange, by those that have work.
define ptx_kernel void @wrong_exchange(ptr addrspace(1) %lock, ptr addrspace(1) %x, i32 %n) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %has.work = icmp slt i32 %id, %n
  br i1 %has.work, label %take, label %exit
take:
  %taken = atomicrmw xchg ptr addrspace(1) %lock, i32 1 monotonic
  %has = icmp eq i32 %taken, 0
  br i1 %has, label %work, label %take
work:
  store i32 1, ptr addrspace(1) %x
  store atomic i32 0, ptr addrspace(1) %lock monotonic, align 4
  br label %exit
exit:
  ret void
}

; One lane.
define ptx_kernel void @right_one(ptr addrspace(1) %lock, ptr addrspace(1) %x) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.first = icmp eq i32 %id, 0
  br i1 %is.first, label %take, label %exit
take:
  %taken = atomicrmw xchg ptr addrspace(1) %lock, i32 1 monotonic
  %has = icmp eq i32 %taken, 0
  br i1 %has, label %work, label %take
work:
  store i32 1, ptr addrspace(1) %x
  store atomic i32 0, ptr addrspace(1) %lock monotonic, align 4
  br label %exit
exit:
  ret void
}

; Released within the loop.
define ptx_kernel void @right_within(ptr addrspace(1) %lock, ptr addrspace(1) %x) {
  br label %take
take:
  %taken = atomicrmw xchg ptr addrspace(1) %lock, i32 1 monotonic
  %has = icmp eq i32 %taken, 0
  br i1 %has, label %work, label %next
work:
  store i32 1, ptr addrspace(1) %x
  store atomic i32 0, ptr addrspace(1) %lock monotonic, align 4
  br label %next
next:
  br i1 %has, label %exit, label %take
exit:
  ret void
}

; A barrier of the grid for every other workgroup.
define ptx_kernel void @wrong_grid() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %all = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %odd = and i32 %group, 1
  %comes = icmp eq i32 %odd, 0
  br i1 %comes, label %arrive, label %exit
arrive:
  %count = atomicrmw add ptr addrspace(1) @arrived, i32 1 monotonic
  br label %wait
wait:
  %here = load volatile i32, ptr addrspace(1) @arrived
  %is.open = icmp uge i32 %here, %all
  br i1 %is.open, label %exit, label %wait
exit:
  ret void
}

; The same by assembly, in the memory of a cooperative launch.
define ptx_kernel void @wrong_grid_of_launch() {
  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %all = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %low = call i32 asm "mov.u32 $0, %envreg2;", "=r"()
  %wide = zext i32 %low to i64
  %arrived = inttoptr i64 %wide to ptr
  %comes = icmp ult i32 %group, 3
  br i1 %comes, label %arrive, label %exit
arrive:
  %count = call i32 asm sideeffect "atom.add.release.gpu.u32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr %arrived, i32 1)
  br label %wait
wait:
  %here = call i32 asm sideeffect "ld.acquire.gpu.u32 $0,[$1];", "=r,l,~{memory}"(ptr %arrived)
  %is.open = icmp uge i32 %here, %all
  br i1 %is.open, label %exit, label %wait
exit:
  ret void
}

; All workgroups come.
define ptx_kernel void @right_grid_of_launch() {
  %all = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %low = call i32 asm "mov.u32 $0, %envreg2;", "=r"()
  %wide = zext i32 %low to i64
  %arrived = inttoptr i64 %wide to ptr
  %count = call i32 asm sideeffect "atom.add.release.gpu.u32 $0,[$1],$2;", "=r,l,r,~{memory}"(ptr %arrived, i32 1)
  br label %wait
wait:
  %here = call i32 asm sideeffect "ld.acquire.gpu.u32 $0,[$1];", "=r,l,~{memory}"(ptr %arrived)
  %is.open = icmp uge i32 %here, %all
  br i1 %is.open, label %exit, label %wait
exit:
  ret void
}

; For all of them.
define ptx_kernel void @right_grid() {
  %all = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %count = atomicrmw add ptr addrspace(1) @arrived, i32 1 monotonic
  br label %wait
wait:
  %here = load volatile i32, ptr addrspace(1) @arrived
  %is.open = icmp uge i32 %here, %all
  br i1 %is.open, label %exit, label %wait
exit:
  ret void
}

; The first workgroup waits for all.
define ptx_kernel void @right_first_group() {
  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %all = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %count = atomicrmw add ptr addrspace(1) @arrived, i32 1 monotonic
  %is.first = icmp eq i32 %group, 0
  br i1 %is.first, label %wait, label %exit
wait:
  %here = load volatile i32, ptr addrspace(1) @arrived
  %is.open = icmp uge i32 %here, %all
  br i1 %is.open, label %exit, label %wait
exit:
  ret void
}

; Lanes take turns.
define ptx_kernel void @right_turns(ptr addrspace(1) %lock, ptr addrspace(1) %x) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = and i32 %id, 31
  br label %turn
turn:
  %lane = phi i32 [ 0, %0 ], [ %next, %end ]
  %is.own = icmp eq i32 %own, %lane
  br i1 %is.own, label %take, label %end
take:
  %taken = atomicrmw xchg ptr addrspace(1) %lock, i32 1 monotonic
  %has = icmp eq i32 %taken, 0
  br i1 %has, label %work, label %take
work:
  store i32 1, ptr addrspace(1) %x
  store atomic i32 0, ptr addrspace(1) %lock monotonic, align 4
  br label %end
end:
  %next = add i32 %lane, 1
  %go.on = icmp ult i32 %next, 32
  br i1 %go.on, label %turn, label %exit
exit:
  ret void
}

; All lanes in each turn.
define ptx_kernel void @wrong_turns(ptr addrspace(1) %lock, ptr addrspace(1) %x) {
  br label %turn
turn:
  %lane = phi i32 [ 0, %0 ], [ %next, %work ]
  br label %take
take:
  %taken = atomicrmw xchg ptr addrspace(1) %lock, i32 1 monotonic
  %has = icmp eq i32 %taken, 0
  br i1 %has, label %work, label %take
work:
  store i32 1, ptr addrspace(1) %x
  store atomic i32 0, ptr addrspace(1) %lock monotonic, align 4
  %next = add i32 %lane, 1
  %go.on = icmp ult i32 %next, 32
  br i1 %go.on, label %turn, label %exit
exit:
  ret void
}
