; ModuleID = '<stdin>'
source_filename = "cuda/votes.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @any_negative(ptr noundef readonly captures(none) %in, ptr noundef writeonly captures(none) %out, ptr noundef writeonly captures(none) %flags) local_unnamed_addr #0 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i27 = mul i32 %0, %1
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add.i29 = add i32 %mul.i27, %2
  %idxprom = sext i32 %add.i29 to i64
  %arrayidx = getelementptr inbounds float, ptr %in, i64 %idxprom
  %3 = load float, ptr %arrayidx, align 4, !tbaa !7
  %cmp = fcmp contract olt float %3, 0.000000e+00
  %4 = tail call noundef i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %cmp)
  br i1 %4, label %if.then, label %if.end9

if.then:                                          ; preds = %entry
  %5 = tail call noundef range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %cmp3 = icmp eq i32 %5, 0
  br i1 %cmp3, label %if.then4, label %if.end

if.then4:                                         ; preds = %if.then
  %div = sdiv i32 %add.i29, 32
  %idxprom6 = sext i32 %div to i64
  %arrayidx7 = getelementptr inbounds i32, ptr %flags, i64 %idxprom6
  store i32 1, ptr %arrayidx7, align 4, !tbaa !3
  br label %if.end

if.end:                                           ; preds = %if.then4, %if.then
  %6 = tail call contract noundef float @llvm.fabs.f32(float %3)
  br label %if.end9

if.end9:                                          ; preds = %if.end, %entry
  %v.0 = phi float [ %6, %if.end ], [ %3, %entry ]
  %cmp10 = fcmp contract oeq float %v.0, 0.000000e+00
  %7 = tail call noundef i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %cmp10)
  br i1 %7, label %if.end16, label %if.then12

if.then12:                                        ; preds = %if.end9
  %arrayidx15 = getelementptr inbounds float, ptr %out, i64 %idxprom
  store float %v.0, ptr %arrayidx15, align 4, !tbaa !7
  br label %if.end16

if.end16:                                         ; preds = %if.then12, %if.end9
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @leader_compact(ptr noundef readonly captures(none) %in, ptr noundef writeonly captures(none) %out, ptr noundef captures(none) %total, i32 noundef %n) local_unnamed_addr #0 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i = mul i32 %0, %1
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add.i = add i32 %mul.i, %2
  %cmp.not = icmp slt i32 %add.i, %n
  br i1 %cmp.not, label %lor.lhs.false, label %cleanup

lor.lhs.false:                                    ; preds = %entry
  %idxprom = sext i32 %add.i to i64
  %arrayidx = getelementptr inbounds i32, ptr %in, i64 %idxprom
  %3 = load i32, ptr %arrayidx, align 4, !tbaa !3
  %cmp1 = icmp eq i32 %3, 0
  br i1 %cmp1, label %cleanup, label %if.end

if.end:                                           ; preds = %lor.lhs.false
  %4 = tail call noundef i32 @llvm.nvvm.activemask()
  %5 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %4, i1 true)
  %iszero.i = icmp eq i32 %4, 0
  %sub = select i1 %iszero.i, i32 -1, i32 %5
  %6 = tail call noundef range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %cmp5 = icmp eq i32 %6, %sub
  br i1 %cmp5, label %if.then6, label %if.end9

if.then6:                                         ; preds = %if.end
  %7 = tail call noundef range(i32 0, 33) i32 @llvm.ctpop.i32(i32 %4)
  %8 = atomicrmw add ptr %total, i32 %7 monotonic, align 4
  br label %if.end9

if.end9:                                          ; preds = %if.then6, %if.end
  %base.0 = phi i32 [ %8, %if.then6 ], [ 0, %if.end ]
  %9 = tail call noundef i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %4, i32 %base.0, i32 range(i32 -1, 32) %sub, i32 31)
  %10 = load i32, ptr %arrayidx, align 4, !tbaa !3
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  %and = and i32 %4, %11
  %12 = tail call noundef range(i32 0, 33) i32 @llvm.ctpop.i32(i32 %and)
  %add = add nsw i32 %9, %12
  %idxprom15 = sext i32 %add to i64
  %arrayidx16 = getelementptr inbounds i32, ptr %out, i64 %idxprom15
  store i32 %10, ptr %arrayidx16, align 4, !tbaa !3
  br label %cleanup

cleanup:                                          ; preds = %if.end9, %lor.lhs.false, %entry
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @match_groups(ptr noundef readonly captures(none) %keys, ptr noundef writeonly captures(none) %size) local_unnamed_addr #0 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i8 = mul i32 %0, %1
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add.i10 = add i32 %mul.i8, %2
  %idxprom = sext i32 %add.i10 to i64
  %arrayidx = getelementptr inbounds i32, ptr %keys, i64 %idxprom
  %3 = load i32, ptr %arrayidx, align 4, !tbaa !3
  %4 = tail call noundef i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %3)
  %5 = tail call noundef range(i32 0, 33) i32 @llvm.ctpop.i32(i32 %4)
  %arrayidx5 = getelementptr inbounds i32, ptr %size, i64 %idxprom
  store i32 %5, ptr %arrayidx5, align 4, !tbaa !3
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @ballot_loop(ptr noundef readonly captures(none) %keys, ptr noundef writeonly captures(none) %rounds, ptr noundef writeonly captures(none) %out) local_unnamed_addr #0 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i25 = mul i32 %0, %1
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add.i27 = add i32 %mul.i25, %2
  %idxprom = sext i32 %add.i27 to i64
  %arrayidx = getelementptr inbounds i32, ptr %keys, i64 %idxprom
  %3 = load i32, ptr %arrayidx, align 4, !tbaa !3
  %arrayidx8 = getelementptr inbounds i32, ptr %out, i64 %idxprom
  br label %while.cond

while.cond:                                       ; preds = %if.end, %entry
  %waiting.0.off0 = phi i1 [ true, %entry ], [ %waiting.1.off0, %if.end ]
  %round.0 = phi i32 [ 0, %entry ], [ %inc, %if.end ]
  %4 = tail call noundef i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %waiting.0.off0)
  %cmp.not = icmp eq i32 %4, 0
  br i1 %cmp.not, label %while.end, label %while.body

while.body:                                       ; preds = %while.cond
  %5 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 %4, i1 true)
  %6 = tail call noundef i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %3, i32 range(i32 -1, 32) %5, i32 31)
  br i1 %waiting.0.off0, label %land.lhs.true, label %if.end

land.lhs.true:                                    ; preds = %while.body
  %cmp5 = icmp eq i32 %3, %6
  br i1 %cmp5, label %if.then, label %if.end

if.then:                                          ; preds = %land.lhs.true
  store i32 %round.0, ptr %arrayidx8, align 4, !tbaa !3
  br label %if.end

if.end:                                           ; preds = %if.then, %land.lhs.true, %while.body
  %waiting.1.off0 = phi i1 [ false, %if.then ], [ true, %land.lhs.true ], [ false, %while.body ]
  %inc = add nuw nsw i32 %round.0, 1
  br label %while.cond, !llvm.loop !9

while.end:                                        ; preds = %while.cond
  %div = sdiv i32 %add.i27, 32
  %idxprom10 = sext i32 %div to i64
  %arrayidx11 = getelementptr inbounds i32, ptr %rounds, i64 %idxprom10
  store i32 %round.0, ptr %arrayidx11, align 4, !tbaa !3
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid() #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fabs.f32(float) #3

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1) #2

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.activemask() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.cttz.i32(i32, i1 immarg) #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #3

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt() #1

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32) #2

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1) #2

attributes #0 = { convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx70,+sm_80" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #3 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !1, !2}
!llvm.errno.tbaa = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!2 = !{i32 7, !"frame-pointer", i32 2}
!3 = !{!4, !4, i64 0}
!4 = !{!"int", !5, i64 0}
!5 = !{!"omnipotent char", !6, i64 0}
!6 = !{!"Simple C++ TBAA"}
!7 = !{!8, !8, i64 0}
!8 = !{!"float", !5, i64 0}
!9 = distinct !{!9, !10, !11}
!10 = !{!"llvm.loop.mustprogress"}
!11 = !{!"llvm.loop.unroll.disable"}
