; ModuleID = '<stdin>'
source_filename = "cuda/spin_lock.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ14last_block_sumE4last = internal unnamed_addr addrspace(3) global i8 undef, align 1
@_ZZ14last_block_sumE3sum = internal addrspace(3) global float undef, align 4

; Function Attrs: mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @locked_update(ptr noundef captures(none) %lock, ptr noundef %account, ptr noundef readonly captures(none) %amount, i32 noundef %n) local_unnamed_addr #0 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i = mul i32 %0, %1
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add.i = add i32 %mul.i, %2
  %cmp.not = icmp slt i32 %add.i, %n
  br i1 %cmp.not, label %while.body, label %cleanup

while.body:                                       ; preds = %while.body, %entry
  %3 = cmpxchg ptr %lock, i32 0, i32 1 monotonic monotonic, align 4
  %cmp2 = extractvalue { i32, i1 } %3, 1
  br i1 %cmp2, label %if.then3, label %while.body

if.then3:                                         ; preds = %while.body
  %idxprom = sext i32 %add.i to i64
  %arrayidx4 = getelementptr inbounds i32, ptr %amount, i64 %idxprom
  tail call void @llvm.nvvm.membar.gl()
  %4 = load volatile i64, ptr %account, align 8, !tbaa !7
  %5 = load i32, ptr %arrayidx4, align 4, !tbaa !3
  %conv = sext i32 %5 to i64
  %add = add nsw i64 %4, %conv
  store volatile i64 %add, ptr %account, align 8, !tbaa !7
  tail call void @llvm.nvvm.membar.gl()
  %6 = atomicrmw xchg ptr %lock, i32 0 monotonic, align 4
  br label %cleanup, !llvm.loop !9

cleanup:                                          ; preds = %if.then3, %entry
  ret void
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @last_block_sum(ptr noundef readonly captures(none) %in, ptr noundef %partial, ptr noundef captures(none) %arrived, ptr noundef captures(none) %total) local_unnamed_addr #1 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cmp = icmp eq i32 %0, 0
  br i1 %cmp, label %if.then, label %if.end

if.then:                                          ; preds = %entry
  store float 0.000000e+00, ptr addrspacecast (ptr addrspace(3) @_ZZ14last_block_sumE3sum to ptr), align 4, !tbaa !12
  br label %if.end

if.end:                                           ; preds = %if.then, %entry
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i = mul i32 %1, %2
  %add.i = add i32 %mul.i, %0
  %idxprom = sext i32 %add.i to i64
  %arrayidx = getelementptr inbounds float, ptr %in, i64 %idxprom
  %3 = load float, ptr %arrayidx, align 4, !tbaa !12
  %4 = atomicrmw fadd ptr addrspacecast (ptr addrspace(3) @_ZZ14last_block_sumE3sum to ptr), float %3 monotonic, align 4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %cmp, label %if.then6, label %if.end18

if.then6:                                         ; preds = %if.end
  %5 = load float, ptr addrspacecast (ptr addrspace(3) @_ZZ14last_block_sumE3sum to ptr), align 4, !tbaa !12
  %idxprom9 = zext nneg i32 %1 to i64
  %arrayidx10 = getelementptr inbounds nuw float, ptr %partial, i64 %idxprom9
  store volatile float %5, ptr %arrayidx10, align 4, !tbaa !12
  tail call void @llvm.nvvm.membar.gl()
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %sub = add nsw i32 %6, -1
  %7 = atomicrmw uinc_wrap ptr %arrived, i32 %sub seq_cst, align 4
  %cmp17 = icmp eq i32 %7, %sub
  %storedv = zext i1 %cmp17 to i8
  store i8 %storedv, ptr addrspacecast (ptr addrspace(3) @_ZZ14last_block_sumE4last to ptr), align 1, !tbaa !14
  br label %if.end18

if.end18:                                         ; preds = %if.then6, %if.end
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %8 = load i8, ptr addrspacecast (ptr addrspace(3) @_ZZ14last_block_sumE4last to ptr), align 1, !tbaa !14, !range !16, !noundef !17
  %loadedv = trunc nuw i8 %8 to i1
  br i1 %loadedv, label %for.cond.preheader, label %return

for.cond.preheader:                               ; preds = %if.end18
  %9 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %cmp2536 = icmp samesign ult i32 %0, %9
  br i1 %cmp2536, label %for.body, label %for.cond.cleanup

for.cond.cleanup:                                 ; preds = %for.body, %for.cond.preheader
  %mine.0.lcssa = phi float [ 0.000000e+00, %for.cond.preheader ], [ %add, %for.body ]
  %10 = atomicrmw fadd ptr %total, float %mine.0.lcssa monotonic, align 4
  br label %return

for.body:                                         ; preds = %for.body, %for.cond.preheader
  %b.038 = phi i32 [ %add30, %for.body ], [ %0, %for.cond.preheader ]
  %mine.037 = phi float [ %add, %for.body ], [ 0.000000e+00, %for.cond.preheader ]
  %idxprom26 = zext nneg i32 %b.038 to i64
  %arrayidx27 = getelementptr inbounds nuw float, ptr %partial, i64 %idxprom26
  %11 = load volatile float, ptr %arrayidx27, align 4, !tbaa !12
  %add = fadd contract float %mine.037, %11
  %add30 = add nuw i32 %b.038, %2
  %cmp25 = icmp ult i32 %add30, %9
  br i1 %cmp25, label %for.body, label %for.cond.cleanup, !llvm.loop !18

return:                                           ; preds = %for.cond.cleanup, %if.end18
  ret void
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

; Function Attrs: nocallback nounwind
declare void @llvm.nvvm.membar.gl() #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #4

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #4

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, -2147483648) i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() #4

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #4

attributes #0 = { mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx70,+sm_80" "uniform-work-group-size"="true" }
attributes #1 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx70,+sm_80" "uniform-work-group-size"="true" }
attributes #2 = { convergent nocallback nounwind }
attributes #3 = { nocallback nounwind }
attributes #4 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

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
!8 = !{!"long long", !5, i64 0}
!9 = distinct !{!9, !10, !11}
!10 = !{!"llvm.loop.mustprogress"}
!11 = !{!"llvm.loop.unroll.disable"}
!12 = !{!13, !13, i64 0}
!13 = !{!"float", !5, i64 0}
!14 = !{!15, !15, i64 0}
!15 = !{!"bool", !5, i64 0}
!16 = !{i8 0, i8 2}
!17 = !{}
!18 = distinct !{!18, !10, !11}
