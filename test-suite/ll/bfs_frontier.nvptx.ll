; ModuleID = '<stdin>'
source_filename = "cuda/bfs_frontier.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: convergent mustprogress noinline norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local ptx_kernel void @bfs_frontier(ptr noalias noundef readonly captures(none) %row, ptr noalias noundef readonly captures(none) %edge, ptr noundef captures(none) %level, ptr noalias noundef readonly captures(none) %frontier, i32 noundef %size, ptr noundef writeonly captures(none) %next, ptr noundef captures(none) %next_size, i32 noundef %depth) local_unnamed_addr #0 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i = mul i32 %0, %1
  %div = sdiv i32 %mul.i, 32
  %2 = tail call noundef range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %mul.i70 = mul i32 %3, %1
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add.i = add i32 %mul.i70, %4
  %div3 = sdiv i32 %add.i, 32
  %cmp73 = icmp slt i32 %div3, %size
  br i1 %cmp73, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:                                   ; preds = %entry
  %cmp31 = icmp eq i32 %2, 0
  %5 = tail call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  br label %for.body

for.cond.cleanup:                                 ; preds = %for.cond.cleanup13, %entry
  ret void

for.body:                                         ; preds = %for.cond.cleanup13, %for.body.lr.ph
  %f.074 = phi i32 [ %div3, %for.body.lr.ph ], [ %add50, %for.cond.cleanup13 ]
  %idxprom = sext i32 %f.074 to i64
  %arrayidx = getelementptr inbounds i32, ptr %frontier, i64 %idxprom
  %6 = addrspacecast ptr %arrayidx to ptr addrspace(1)
  %7 = load i32, ptr addrspace(1) %6, align 4, !invariant.load !7
  %idxprom5 = sext i32 %7 to i64
  %arrayidx6 = getelementptr inbounds i32, ptr %row, i64 %idxprom5
  %8 = addrspacecast ptr %arrayidx6 to ptr addrspace(1)
  %9 = load i32, ptr addrspace(1) %8, align 4, !invariant.load !7
  %arrayidx9 = getelementptr i8, ptr %arrayidx6, i64 4
  %10 = addrspacecast ptr %arrayidx9 to ptr addrspace(1)
  %11 = load i32, ptr addrspace(1) %10, align 4, !invariant.load !7
  %cmp1271 = icmp slt i32 %9, %11
  br i1 %cmp1271, label %for.body14, label %for.cond.cleanup13

for.cond.cleanup13:                               ; preds = %cleanup, %for.body
  %add50 = add nsw i32 %f.074, %div
  %cmp = icmp slt i32 %add50, %size
  br i1 %cmp, label %for.body, label %for.cond.cleanup, !llvm.loop !8

for.body14:                                       ; preds = %cleanup, %for.body
  %base.072 = phi i32 [ %add47, %cleanup ], [ %9, %for.body ]
  %add15 = add nsw i32 %base.072, %2
  %cmp16 = icmp slt i32 %add15, %11
  br i1 %cmp16, label %if.then, label %if.end25

if.then:                                          ; preds = %for.body14
  %idxprom17 = sext i32 %add15 to i64
  %arrayidx18 = getelementptr inbounds i32, ptr %edge, i64 %idxprom17
  %12 = addrspacecast ptr %arrayidx18 to ptr addrspace(1)
  %13 = load i32, ptr addrspace(1) %12, align 4, !invariant.load !7
  %idxprom20 = sext i32 %13 to i64
  %arrayidx21 = getelementptr inbounds i32, ptr %level, i64 %idxprom20
  %14 = cmpxchg ptr %arrayidx21, i32 -1, i32 %depth monotonic monotonic, align 4
  %cmp23.not = extractvalue { i32, i1 } %14, 1
  %spec.select = select i1 %cmp23.not, i32 %13, i32 -1
  br label %if.end25

if.end25:                                         ; preds = %if.then, %for.body14
  %neighbour.0 = phi i32 [ -1, %for.body14 ], [ %spec.select, %if.then ]
  %cmp26 = icmp sgt i32 %neighbour.0, -1
  %15 = tail call noundef i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %cmp26)
  %cmp28 = icmp eq i32 %15, 0
  br i1 %cmp28, label %cleanup, label %if.end30

if.end30:                                         ; preds = %if.end25
  br i1 %cmp31, label %if.then32, label %if.end35

if.then32:                                        ; preds = %if.end30
  %16 = tail call noundef range(i32 1, 33) i32 @llvm.ctpop.i32(i32 %15)
  %17 = atomicrmw add ptr %next_size, i32 %16 monotonic, align 4
  br label %if.end35

if.end35:                                         ; preds = %if.then32, %if.end30
  %first.0 = phi i32 [ %17, %if.then32 ], [ 0, %if.end30 ]
  %18 = tail call noundef i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %first.0, i32 0, i32 31)
  br i1 %cmp26, label %if.then38, label %cleanup

if.then38:                                        ; preds = %if.end35
  %and = and i32 %15, %5
  %19 = tail call noundef range(i32 0, 33) i32 @llvm.ctpop.i32(i32 %and)
  %add41 = add nsw i32 %18, %19
  %idxprom42 = sext i32 %add41 to i64
  %arrayidx43 = getelementptr inbounds i32, ptr %next, i64 %idxprom42
  store i32 %neighbour.0, ptr %arrayidx43, align 4, !tbaa !3
  br label %cleanup

cleanup:                                          ; preds = %if.then38, %if.end35, %if.end25
  %add47 = add nsw i32 %base.072, 32
  %cmp12 = icmp slt i32 %add47, %11
  br i1 %cmp12, label %for.body14, label %for.cond.cleanup13, !llvm.loop !11
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, -2147483648) i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #3

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt() #1

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
!7 = !{}
!8 = distinct !{!8, !9, !10}
!9 = !{!"llvm.loop.mustprogress"}
!10 = !{!"llvm.loop.unroll.disable"}
!11 = distinct !{!11, !9, !10}
