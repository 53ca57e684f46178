; ModuleID = '<stdin>'
source_filename = "opencl/control_flow.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected amdgpu_kernel void @nested_breaks(ptr addrspace(1) noundef readonly align 4 captures(none) %in, ptr addrspace(1) noundef writeonly align 4 captures(none) %out, i32 noundef %rows, i32 noundef %columns, i32 noundef %stop) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
entry:
  %0 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %1 = tail call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %2 = getelementptr inbounds nuw i8, ptr addrspace(4) %1, i64 12
  %3 = load i16, ptr addrspace(4) %2, align 4, !range !12, !invariant.load !13, !noundef !13
  %conv.i = zext nneg i16 %3 to i32
  %mul.i = mul nsw i32 %0, %conv.i
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %add.i = add nsw i32 %mul.i, %4
  %cmp.i7 = icmp slt i32 %rows, 1
  %cmp2.i8 = icmp eq i32 %stop, 0
  %or.cond.i9 = or i1 %cmp.i7, %cmp2.i8
  br i1 %or.cond.i9, label %__clang_ocl_kern_imp_nested_breaks.exit, label %for.cond4.i.preheader.lr.ph

for.cond4.i.preheader.lr.ph:                      ; preds = %entry
  %cmp5.i1 = icmp sgt i32 %columns, 0
  %5 = add i32 %stop, -1
  %6 = add nsw i32 %rows, -1
  %umin = tail call i32 @llvm.umin.i32(i32 %5, i32 %6)
  %7 = add nuw nsw i32 %umin, 1
  br label %for.cond4.i.preheader

for.cond4.i.preheader:                            ; preds = %for.end.i, %for.cond4.i.preheader.lr.ph
  %sum.0.i11 = phi i32 [ 0, %for.cond4.i.preheader.lr.ph ], [ %add19.i, %for.end.i ]
  %i.0.i10 = phi i32 [ 0, %for.cond4.i.preheader.lr.ph ], [ %inc21.i, %for.end.i ]
  br i1 %cmp5.i1, label %for.body7.i.lr.ph, label %for.end.i

for.body7.i.lr.ph:                                ; preds = %for.cond4.i.preheader
  %mul8.i = mul nuw nsw i32 %i.0.i10, %columns
  br label %for.body7.i

for.body7.i:                                      ; preds = %for.inc.i, %for.body7.i.lr.ph
  %sum.1.i3 = phi i32 [ %sum.0.i11, %for.body7.i.lr.ph ], [ %sum.2.i, %for.inc.i ]
  %j.0.i2 = phi i32 [ 0, %for.body7.i.lr.ph ], [ %inc.i, %for.inc.i ]
  %xor.i = xor i32 %j.0.i2, %add.i
  %add9.i = add nsw i32 %xor.i, %mul8.i
  %idxprom.i = sext i32 %add9.i to i64
  %arrayidx.i = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %idxprom.i
  %8 = load i32, ptr addrspace(1) %arrayidx.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  %cmp10.i = icmp eq i32 %8, 0
  %cmp14.i = icmp eq i32 %8, %add.i
  %9 = select i1 %cmp10.i, i1 true, i1 %cmp14.i
  %spec.select.i = select i1 %9, i32 0, i32 %8
  %sum.2.i = add nsw i32 %spec.select.i, %sum.1.i3
  %not.cmp10.i = xor i1 %cmp10.i, true
  %10 = select i1 %not.cmp10.i, i1 %cmp14.i, i1 false
  br i1 %10, label %for.end.i, label %for.inc.i

for.inc.i:                                        ; preds = %for.body7.i
  %inc.i = add nuw nsw i32 %j.0.i2, 1
  %exitcond.not = icmp eq i32 %inc.i, %columns
  br i1 %exitcond.not, label %for.end.i, label %for.body7.i, !llvm.loop !14

for.end.i:                                        ; preds = %for.inc.i, %for.body7.i, %for.cond4.i.preheader
  %j.0.i.lcssa = phi i32 [ 0, %for.cond4.i.preheader ], [ %columns, %for.inc.i ], [ %j.0.i2, %for.body7.i ]
  %sum.3.i = phi i32 [ %sum.0.i11, %for.cond4.i.preheader ], [ %sum.2.i, %for.body7.i ], [ %sum.2.i, %for.inc.i ]
  %add19.i = add nsw i32 %sum.3.i, %j.0.i.lcssa
  %inc21.i = add nuw nsw i32 %i.0.i10, 1
  %exitcond14 = icmp eq i32 %i.0.i10, %umin
  br i1 %exitcond14, label %__clang_ocl_kern_imp_nested_breaks.exit.loopexit, label %for.cond4.i.preheader, !llvm.loop !16

__clang_ocl_kern_imp_nested_breaks.exit.loopexit: ; preds = %for.end.i
  %11 = add nsw i32 %add19.i, %7
  br label %__clang_ocl_kern_imp_nested_breaks.exit

__clang_ocl_kern_imp_nested_breaks.exit:          ; preds = %__clang_ocl_kern_imp_nested_breaks.exit.loopexit, %entry
  %add23.i = phi i32 [ 0, %entry ], [ %11, %__clang_ocl_kern_imp_nested_breaks.exit.loopexit ]
  %idxprom24.i = sext i32 %add.i to i64
  %arrayidx25.i = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %idxprom24.i
  store i32 %add23.i, ptr addrspace(1) %arrayidx25.i, align 4, !tbaa !4
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.umin.i32(i32, i32) #2

attributes #0 = { nofree norecurse nosync nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

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
!8 = !{i32 1, i32 1, i32 0, i32 0, i32 0}
!9 = !{!"none", !"none", !"none", !"none", !"none"}
!10 = !{!"int*", !"int*", !"int", !"int", !"int"}
!11 = !{!"const", !"", !"", !"", !""}
!12 = !{i16 1, i16 1025}
!13 = !{}
!14 = distinct !{!14, !15}
!15 = !{!"llvm.loop.unroll.disable"}
!16 = distinct !{!16, !15}
