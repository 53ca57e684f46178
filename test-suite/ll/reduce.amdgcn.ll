; ModuleID = '<stdin>'
source_filename = "opencl/reduce.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@reduce_sum.scratch = internal unnamed_addr addrspace(3) global [256 x float] undef, align 4

; Function Attrs: convergent nofree norecurse nounwind
define protected amdgpu_kernel void @reduce_sum(ptr addrspace(1) noundef readonly align 4 captures(none) %in, ptr addrspace(1) noundef writeonly align 4 captures(none) %partial, i32 noundef %n) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 !reqd_work_group_size !12 {
entry:
  %0 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %1 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %mul.i = shl nsw i32 %1, 8
  %cmp.not.i = icmp slt i32 %mul.i, %n
  br i1 %cmp.not.i, label %if.end.i, label %__clang_ocl_kern_imp_reduce_sum.exit

if.end.i:                                         ; preds = %entry
  %add.i = add nsw i32 %mul.i, %0
  %cmp1.i1 = icmp slt i32 %add.i, %n
  br i1 %cmp1.i1, label %for.body.i.lr.ph, label %for.cond.cleanup.i

for.body.i.lr.ph:                                 ; preds = %if.end.i
  %2 = tail call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %3 = load i32, ptr addrspace(4) %2, align 8, !invariant.load !13, !noundef !13
  %mul3.i = shl nsw i32 %3, 8
  br label %for.body.i

for.cond.cleanup.i:                               ; preds = %for.body.i, %if.end.i
  %sum.0.i.lcssa = phi float [ 0.000000e+00, %if.end.i ], [ %add2.i, %for.body.i ]
  %arrayidx6.i = getelementptr inbounds nuw float, ptr addrspace(3) @reduce_sum.scratch, i32 %0
  store float %sum.0.i.lcssa, ptr addrspace(3) %arrayidx6.i, align 4, !tbaa !14
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %for.body11.i

for.body.i:                                       ; preds = %for.body.i, %for.body.i.lr.ph
  %i.0.i3 = phi i32 [ %add.i, %for.body.i.lr.ph ], [ %add4.i, %for.body.i ]
  %sum.0.i2 = phi float [ 0.000000e+00, %for.body.i.lr.ph ], [ %add2.i, %for.body.i ]
  %idxprom.i = sext i32 %i.0.i3 to i64
  %arrayidx.i = getelementptr inbounds float, ptr addrspace(1) %in, i64 %idxprom.i
  %4 = load float, ptr addrspace(1) %arrayidx.i, align 4, !tbaa !14, !amdgpu.noclobber !13
  %add2.i = fadd float %sum.0.i2, %4
  %add4.i = add nsw i32 %mul3.i, %i.0.i3
  %cmp1.i = icmp slt i32 %add4.i, %n
  br i1 %cmp1.i, label %for.body.i, label %for.cond.cleanup.i, !llvm.loop !16

for.cond.cleanup10.i:                             ; preds = %if.end21.i
  %cmp25.i = icmp eq i32 %0, 0
  br i1 %cmp25.i, label %if.then27.i, label %__clang_ocl_kern_imp_reduce_sum.exit

for.body11.i:                                     ; preds = %if.end21.i, %for.cond.cleanup.i
  %half_size.0.i4 = phi i32 [ 128, %for.cond.cleanup.i ], [ %div2345.i, %if.end21.i ]
  %cmp12.i = icmp samesign ult i32 %0, %half_size.0.i4
  br i1 %cmp12.i, label %if.then14.i, label %if.end21.i

if.then14.i:                                      ; preds = %for.body11.i
  %arrayidx17.i = getelementptr inbounds nuw float, ptr addrspace(3) %arrayidx6.i, i32 %half_size.0.i4
  %5 = load float, ptr addrspace(3) %arrayidx17.i, align 4, !tbaa !14
  %6 = load float, ptr addrspace(3) %arrayidx6.i, align 4, !tbaa !14
  %add20.i = fadd float %5, %6
  store float %add20.i, ptr addrspace(3) %arrayidx6.i, align 4, !tbaa !14
  br label %if.end21.i

if.end21.i:                                       ; preds = %if.then14.i, %for.body11.i
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %div2345.i = lshr i32 %half_size.0.i4, 1
  %cmp8.not.i = icmp eq i32 %div2345.i, 0
  br i1 %cmp8.not.i, label %for.cond.cleanup10.i, label %for.body11.i, !llvm.loop !18

if.then27.i:                                      ; preds = %for.cond.cleanup10.i
  %idxprom28.i = sext i32 %1 to i64
  %arrayidx29.i = getelementptr inbounds float, ptr addrspace(1) %partial, i64 %idxprom28.i
  %7 = load float, ptr addrspace(3) @reduce_sum.scratch, align 4, !tbaa !14
  store float %7, ptr addrspace(1) %arrayidx29.i, align 4, !tbaa !14
  br label %__clang_ocl_kern_imp_reduce_sum.exit

__clang_ocl_kern_imp_reduce_sum.exit:             ; preds = %if.then27.i, %for.cond.cleanup10.i, %entry
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1

; Function Attrs: convergent nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #2

attributes #0 = { convergent nofree norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nofree nounwind willreturn }

!llvm.module.flags = !{!0, !1, !2}
!opencl.ocl.version = !{!3}
!llvm.errno.tbaa = !{!4}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{i32 2, i32 0}
!4 = !{!5, !5, i64 0}
!5 = !{!"int", !6, i64 0}
!6 = !{!"omnipotent char", !7, i64 0}
!7 = !{!"Simple C/C++ TBAA"}
!8 = !{i32 1, i32 1, i32 0}
!9 = !{!"none", !"none", !"none"}
!10 = !{!"float*", !"float*", !"int"}
!11 = !{!"const", !"", !""}
!12 = !{i32 256, i32 1, i32 1}
!13 = !{}
!14 = !{!15, !15, i64 0}
!15 = !{!"float", !6, i64 0}
!16 = distinct !{!16, !17}
!17 = !{!"llvm.loop.unroll.disable"}
!18 = distinct !{!18, !17}
