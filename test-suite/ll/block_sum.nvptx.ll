; ModuleID = '<stdin>'
source_filename = "cuda/warp_reduce.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ17block_sum_shuffleE4part = internal unnamed_addr addrspace(3) global [8 x float] undef, align 4

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @block_sum_shuffle(ptr noundef readonly captures(none) %in, ptr noundef captures(none) %total, i32 noundef %n) local_unnamed_addr #0 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul.i = mul i32 %0, %1
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add.i = add i32 %mul.i, %2
  %cmp46 = icmp slt i32 %add.i, %n
  br i1 %cmp46, label %for.body.lr.ph, label %for.body.i.preheader

for.body.i.preheader:                             ; preds = %for.body, %entry
  %v.addr.06.i.ph = phi float [ 0.000000e+00, %entry ], [ %add, %for.body ]
  br label %for.body.i

for.body.lr.ph:                                   ; preds = %entry
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %mul.i37 = mul i32 %3, %1
  br label %for.body

for.body.i:                                       ; preds = %for.body.i, %for.body.i.preheader
  %with.07.i = phi i32 [ %div5.i, %for.body.i ], [ 16, %for.body.i.preheader ]
  %v.addr.06.i = phi float [ %add.i38, %for.body.i ], [ %v.addr.06.i.ph, %for.body.i.preheader ]
  %4 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v.addr.06.i, i32 range(i32 1, -2147483648) %with.07.i, i32 31)
  %add.i38 = fadd contract float %v.addr.06.i, %4
  %div5.i = lshr i32 %with.07.i, 1
  %cmp.not.i = icmp eq i32 %div5.i, 0
  br i1 %cmp.not.i, label %_ZL8warp_sumf.exit, label %for.body.i, !llvm.loop !7

_ZL8warp_sumf.exit:                               ; preds = %for.body.i
  %5 = tail call noundef range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %cmp6 = icmp eq i32 %5, 0
  br i1 %cmp6, label %if.then, label %if.end

for.body:                                         ; preds = %for.body, %for.body.lr.ph
  %v.048 = phi float [ 0.000000e+00, %for.body.lr.ph ], [ %add, %for.body ]
  %i.047 = phi i32 [ %add.i, %for.body.lr.ph ], [ %add2, %for.body ]
  %idxprom = sext i32 %i.047 to i64
  %arrayidx = getelementptr inbounds float, ptr %in, i64 %idxprom
  %6 = load float, ptr %arrayidx, align 4, !tbaa !10
  %add = fadd contract float %v.048, %6
  %add2 = add nsw i32 %i.047, %mul.i37
  %cmp = icmp slt i32 %add2, %n
  br i1 %cmp, label %for.body, label %for.body.i.preheader, !llvm.loop !12

if.then:                                          ; preds = %_ZL8warp_sumf.exit
  %div34 = lshr i32 %2, 5
  %idxprom7 = zext nneg i32 %div34 to i64
  %arrayidx8 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17block_sum_shuffleE4part to ptr), i64 %idxprom7
  store float %add.i38, ptr %arrayidx8, align 4, !tbaa !10
  br label %if.end

if.end:                                           ; preds = %if.then, %_ZL8warp_sumf.exit
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %cmp11 = icmp samesign ult i32 %2, 32
  br i1 %cmp11, label %if.then12, label %if.end27

if.then12:                                        ; preds = %if.end
  %cmp15 = icmp samesign ult i32 %2, 8
  br i1 %cmp15, label %cond.true, label %for.body.i39.preheader

cond.true:                                        ; preds = %if.then12
  %idxprom18 = zext nneg i32 %2 to i64
  %arrayidx19 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ17block_sum_shuffleE4part to ptr), i64 %idxprom18
  %7 = load float, ptr %arrayidx19, align 4, !tbaa !10
  br label %for.body.i39.preheader

for.body.i39.preheader:                           ; preds = %cond.true, %if.then12
  %v.addr.06.i41.ph = phi float [ %7, %cond.true ], [ 0.000000e+00, %if.then12 ]
  br label %for.body.i39

for.body.i39:                                     ; preds = %for.body.i39, %for.body.i39.preheader
  %with.07.i40 = phi i32 [ %div5.i43, %for.body.i39 ], [ 16, %for.body.i39.preheader ]
  %v.addr.06.i41 = phi float [ %add.i42, %for.body.i39 ], [ %v.addr.06.i41.ph, %for.body.i39.preheader ]
  %8 = tail call contract noundef float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v.addr.06.i41, i32 range(i32 1, -2147483648) %with.07.i40, i32 31)
  %add.i42 = fadd contract float %v.addr.06.i41, %8
  %div5.i43 = lshr i32 %with.07.i40, 1
  %cmp.not.i44 = icmp eq i32 %div5.i43, 0
  br i1 %cmp.not.i44, label %_ZL8warp_sumf.exit45, label %for.body.i39, !llvm.loop !7

_ZL8warp_sumf.exit45:                             ; preds = %for.body.i39
  %cmp23 = icmp eq i32 %2, 0
  br i1 %cmp23, label %if.then24, label %if.end27

if.then24:                                        ; preds = %_ZL8warp_sumf.exit45
  %9 = atomicrmw fadd ptr %total, float %add.i42 monotonic, align 4
  br label %if.end27

if.end27:                                         ; preds = %if.then24, %_ZL8warp_sumf.exit45, %if.end
  ret void
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, -2147483648) i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() #2

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32) #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.laneid() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

attributes #0 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "nvvm.maxntid"="256" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx70,+sm_80" "uniform-work-group-size"="true" }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }

!llvm.module.flags = !{!0, !1, !2}
!llvm.errno.tbaa = !{!3}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!2 = !{i32 7, !"frame-pointer", i32 2}
!3 = !{!4, !4, i64 0}
!4 = !{!"int", !5, i64 0}
!5 = !{!"omnipotent char", !6, i64 0}
!6 = !{!"Simple C++ TBAA"}
!7 = distinct !{!7, !8, !9}
!8 = !{!"llvm.loop.mustprogress"}
!9 = !{!"llvm.loop.unroll.disable"}
!10 = !{!11, !11, i64 0}
!11 = !{!"float", !5, i64 0}
!12 = distinct !{!12, !8, !9}
