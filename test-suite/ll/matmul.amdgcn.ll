; ModuleID = '<stdin>'
source_filename = "opencl/matmul.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@matmul_tiled.tile_a = internal unnamed_addr addrspace(3) global [16 x [17 x float]] undef, align 4
@matmul_tiled.tile_b = internal unnamed_addr addrspace(3) global [16 x [17 x float]] undef, align 4

; Function Attrs: convergent nofree norecurse nounwind
define protected amdgpu_kernel void @matmul_tiled(ptr addrspace(1) noundef readonly align 4 captures(none) %a, ptr addrspace(1) noundef readonly align 4 captures(none) %b, ptr addrspace(1) noundef writeonly align 4 captures(none) %c, i32 noundef %n) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 !reqd_work_group_size !12 {
entry:
  %0 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %1 = tail call i32 @llvm.amdgcn.workitem.id.y()
  %2 = tail call i32 @llvm.amdgcn.workgroup.id.y()
  %mul.i = shl nsw i32 %2, 4
  %add.i = add nsw i32 %mul.i, %1
  %3 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %mul1.i = shl nsw i32 %3, 4
  %add2.i = add nsw i32 %mul1.i, %0
  %cmp.i3 = icmp sgt i32 %n, 0
  br i1 %cmp.i3, label %for.body.i.lr.ph, label %for.cond.cleanup.i

for.body.i.lr.ph:                                 ; preds = %entry
  %cmp3.i = icmp slt i32 %add.i, %n
  %mul6.i = mul nsw i32 %n, %add.i
  %add7.i = add i32 %mul6.i, %0
  %arrayidx10.i = getelementptr inbounds nuw [17 x float], ptr addrspace(3) @matmul_tiled.tile_a, i32 %1
  %arrayidx12.i = getelementptr inbounds nuw float, ptr addrspace(3) %arrayidx10.i, i32 %0
  %cmp13.i = icmp slt i32 %add2.i, %n
  %arrayidx27.i = getelementptr inbounds nuw [17 x float], ptr addrspace(3) @matmul_tiled.tile_b, i32 %1
  %arrayidx29.i = getelementptr inbounds nuw float, ptr addrspace(3) %arrayidx27.i, i32 %0
  %invariant.gep = getelementptr inbounds nuw float, ptr addrspace(3) @matmul_tiled.tile_b, i32 %0
  br label %for.body.i

for.cond.cleanup.i:                               ; preds = %for.cond.cleanup32.i, %entry
  %sum.0.i.lcssa = phi float [ 0.000000e+00, %entry ], [ %8, %for.cond.cleanup32.i ]
  %cmp45.i = icmp slt i32 %add.i, %n
  %cmp47.i = icmp slt i32 %add2.i, %n
  %or.cond86.i = select i1 %cmp45.i, i1 %cmp47.i, i1 false
  br i1 %or.cond86.i, label %if.then.i, label %__clang_ocl_kern_imp_matmul_tiled.exit

for.body.i:                                       ; preds = %for.cond.cleanup32.i, %for.body.i.lr.ph
  %base.0.i5 = phi i32 [ 0, %for.body.i.lr.ph ], [ %add43.i, %for.cond.cleanup32.i ]
  %sum.0.i4 = phi float [ 0.000000e+00, %for.body.i.lr.ph ], [ %8, %for.cond.cleanup32.i ]
  %add4.i = add nuw nsw i32 %base.0.i5, %0
  %cmp5.i = icmp slt i32 %add4.i, %n
  %or.cond.i = select i1 %cmp3.i, i1 %cmp5.i, i1 false
  br i1 %or.cond.i, label %cond.true.i, label %cond.end.i

cond.true.i:                                      ; preds = %for.body.i
  %add8.i = add i32 %add7.i, %base.0.i5
  %idxprom.i = sext i32 %add8.i to i64
  %arrayidx.i = getelementptr inbounds float, ptr addrspace(1) %a, i64 %idxprom.i
  %4 = load float, ptr addrspace(1) %arrayidx.i, align 4, !tbaa !13, !amdgpu.noclobber !15
  br label %cond.end.i

cond.end.i:                                       ; preds = %cond.true.i, %for.body.i
  %cond.i = phi float [ %4, %cond.true.i ], [ 0.000000e+00, %for.body.i ]
  store float %cond.i, ptr addrspace(3) %arrayidx12.i, align 4, !tbaa !13
  br i1 %cmp13.i, label %land.lhs.true14.i, label %cond.end24.i

land.lhs.true14.i:                                ; preds = %cond.end.i
  %add15.i = add nuw nsw i32 %base.0.i5, %1
  %cmp16.i = icmp slt i32 %add15.i, %n
  br i1 %cmp16.i, label %cond.true17.i, label %cond.end24.i

cond.true17.i:                                    ; preds = %land.lhs.true14.i
  %mul19.i = mul nuw nsw i32 %add15.i, %n
  %add20.i = add nsw i32 %mul19.i, %add2.i
  %idxprom21.i = sext i32 %add20.i to i64
  %arrayidx22.i = getelementptr inbounds float, ptr addrspace(1) %b, i64 %idxprom21.i
  %5 = load float, ptr addrspace(1) %arrayidx22.i, align 4, !tbaa !13, !amdgpu.noclobber !15
  br label %cond.end24.i

cond.end24.i:                                     ; preds = %cond.true17.i, %land.lhs.true14.i, %cond.end.i
  %cond25.i = phi float [ %5, %cond.true17.i ], [ 0.000000e+00, %land.lhs.true14.i ], [ 0.000000e+00, %cond.end.i ]
  store float %cond25.i, ptr addrspace(3) %arrayidx29.i, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %for.body33.i

for.cond.cleanup32.i:                             ; preds = %for.body33.i
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %add43.i = add nuw nsw i32 %base.0.i5, 16
  %cmp.i = icmp slt i32 %add43.i, %n
  br i1 %cmp.i, label %for.body.i, label %for.cond.cleanup.i, !llvm.loop !16

for.body33.i:                                     ; preds = %for.body33.i, %cond.end24.i
  %k.0.i2 = phi i32 [ 0, %cond.end24.i ], [ %inc.i, %for.body33.i ]
  %sum.1.i1 = phi float [ %sum.0.i4, %cond.end24.i ], [ %8, %for.body33.i ]
  %arrayidx37.i = getelementptr inbounds nuw float, ptr addrspace(3) %arrayidx10.i, i32 %k.0.i2
  %6 = load float, ptr addrspace(3) %arrayidx37.i, align 4, !tbaa !13
  %gep = getelementptr inbounds nuw [17 x float], ptr addrspace(3) %invariant.gep, i32 %k.0.i2
  %7 = load float, ptr addrspace(3) %gep, align 4, !tbaa !13
  %8 = tail call float @llvm.fma.f32(float %6, float %7, float %sum.1.i1)
  %inc.i = add nuw nsw i32 %k.0.i2, 1
  %exitcond.not = icmp eq i32 %inc.i, 16
  br i1 %exitcond.not, label %for.cond.cleanup32.i, label %for.body33.i, !llvm.loop !18

if.then.i:                                        ; preds = %for.cond.cleanup.i
  %mul48.i = mul nsw i32 %n, %add.i
  %add49.i = add nsw i32 %mul48.i, %add2.i
  %idxprom50.i = sext i32 %add49.i to i64
  %arrayidx51.i = getelementptr inbounds float, ptr addrspace(1) %c, i64 %idxprom50.i
  store float %sum.0.i.lcssa, ptr addrspace(1) %arrayidx51.i, align 4, !tbaa !13
  br label %__clang_ocl_kern_imp_matmul_tiled.exit

__clang_ocl_kern_imp_matmul_tiled.exit:           ; preds = %if.then.i, %for.cond.cleanup.i
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.y() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.y() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #2

; Function Attrs: convergent nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #3

attributes #0 = { convergent nofree norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nofree nounwind willreturn }

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
!8 = !{i32 1, i32 1, i32 1, i32 0}
!9 = !{!"none", !"none", !"none", !"none"}
!10 = !{!"float*", !"float*", !"float*", !"int"}
!11 = !{!"const", !"const", !"", !""}
!12 = !{i32 16, i32 16, i32 1}
!13 = !{!14, !14, i64 0}
!14 = !{!"float", !6, i64 0}
!15 = !{}
!16 = distinct !{!16, !17}
!17 = !{!"llvm.loop.unroll.disable"}
!18 = distinct !{!18, !17}
