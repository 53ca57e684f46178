; A loop that runs until the whole wave is done, by ballots, and serves the lanes of one key per round.
;
; Expected: `%waiting` is divergent, the ballot of it is the same in every lane: uniform at wave scope, and so is the
; loop's exit. Hence `%round` is uniform inside and after the loop. The key read from the leader's lane is uniform; whether
; a lane is served now is not. (At work-group scope the ballot differs from wave to wave.)
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @ballot_loop(ptr addrspace(1) %keys, ptr addrspace(1) %out) #0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x() ; => divergent
  %key.at = getelementptr i32, ptr addrspace(1) %keys, i32 %id ; => divergent
  %key = load i32, ptr addrspace(1) %key.at, align 4 ; => divergent
  br label %loop ; => uniform

loop:
  %round = phi i32 [ 0, %entry ], [ %round.next, %latch ] ; => uniform
  %waiting = phi i1 [ true, %entry ], [ %waiting.next, %latch ] ; => divergent
  %left = call i64 @llvm.amdgcn.ballot.i64(i1 %waiting) ; => uniform
  %all.done = icmp eq i64 %left, 0 ; => uniform
  br i1 %all.done, label %exit, label %pick ; => uniform

pick:
  %leader = call i64 @llvm.cttz.i64(i64 %left, i1 true) ; => uniform
  %leader.lane = trunc i64 %leader to i32 ; => uniform
  %served = call i32 @llvm.amdgcn.readlane.i32(i32 %key, i32 %leader.lane) ; => uniform
  %mine = icmp eq i32 %key, %served ; => divergent
  %now = and i1 %mine, %waiting ; => divergent
  br i1 %now, label %serve, label %latch ; => divergent

serve:
  %out.at = getelementptr i32, ptr addrspace(1) %out, i32 %id ; => divergent
  store i32 %round, ptr addrspace(1) %out.at, align 4
  br label %latch ; => uniform

latch:
  %waiting.next = phi i1 [ %waiting, %pick ], [ false, %serve ] ; => divergent
  %round.next = add i32 %round, 1 ; => uniform
  br label %loop ; => uniform

exit:
  %rounds = add i32 %round, 0 ; => uniform
  store i32 %rounds, ptr addrspace(1) %keys, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i64 @llvm.cttz.i64(i64, i1 immarg)

attributes #0 = { "target-cpu"="gfx90a" }
