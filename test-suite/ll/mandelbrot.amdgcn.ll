; ModuleID = '<stdin>'
source_filename = "opencl/fractal.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: write)
define protected amdgpu_kernel void @mandelbrot(ptr addrspace(1) noundef writeonly align 4 captures(none) %count, float noundef %x0, float noundef %y0, float noundef %step, i32 noundef %width, i32 noundef %height, i32 noundef %limit) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
entry:
  %0 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %1 = tail call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %2 = getelementptr inbounds nuw i8, ptr addrspace(4) %1, i64 12
  %3 = load i16, ptr addrspace(4) %2, align 4, !range !12, !invariant.load !13, !noundef !13
  %conv.i = zext nneg i16 %3 to i32
  %mul.i = mul nsw i32 %0, %conv.i
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %add.i = add nsw i32 %mul.i, %4
  %5 = tail call i32 @llvm.amdgcn.workgroup.id.y()
  %6 = getelementptr inbounds nuw i8, ptr addrspace(4) %1, i64 14
  %7 = load i16, ptr addrspace(4) %6, align 2, !range !12, !invariant.load !13, !noundef !13
  %conv1.i = zext nneg i16 %7 to i32
  %mul2.i = mul nsw i32 %5, %conv1.i
  %8 = tail call i32 @llvm.amdgcn.workitem.id.y()
  %add3.i = add nsw i32 %mul2.i, %8
  %cmp.not.i = icmp slt i32 %add.i, %width
  %cmp5.not.i = icmp slt i32 %add3.i, %height
  %or.cond.i = select i1 %cmp.not.i, i1 %cmp5.not.i, i1 false
  br i1 %or.cond.i, label %if.end.i, label %__clang_ocl_kern_imp_mandelbrot.exit

if.end.i:                                         ; preds = %entry
  %conv7.i = sitofp i32 %add.i to float
  %9 = tail call float @llvm.fmuladd.f32(float %step, float %conv7.i, float %x0)
  %conv9.i = sitofp i32 %add3.i to float
  %10 = tail call float @llvm.fmuladd.f32(float %step, float %conv9.i, float %y0)
  %cmp11.i1 = icmp sgt i32 %limit, 0
  br i1 %cmp11.i1, label %for.body.i, label %for.end.i

for.body.i:                                       ; preds = %for.inc.i, %if.end.i
  %k.0.i3 = phi i32 [ %inc.i, %for.inc.i ], [ 0, %if.end.i ]
  %11 = phi <2 x float> [ %17, %for.inc.i ], [ zeroinitializer, %if.end.i ]
  %12 = fmul <2 x float> %11, %11
  %shift = shufflevector <2 x float> %12, <2 x float> poison, <2 x i32> <i32 1, i32 poison>
  %foldExtExtBinop = fadd <2 x float> %12, %shift
  %add15.i = extractelement <2 x float> %foldExtExtBinop, i64 0
  %cmp16.i = fcmp ogt float %add15.i, 4.000000e+00
  br i1 %cmp16.i, label %for.end.i, label %for.inc.i

for.inc.i:                                        ; preds = %for.body.i
  %shift7 = shufflevector <2 x float> %12, <2 x float> poison, <2 x i32> <i32 1, i32 poison>
  %foldExtExtBinop8 = fsub <2 x float> %shift7, %12
  %sub.i = extractelement <2 x float> %foldExtExtBinop8, i64 0
  %add22.i = fadd float %9, %sub.i
  %13 = extractelement <2 x float> %11, i64 1
  %mul20.i = fmul float %13, 2.000000e+00
  %14 = extractelement <2 x float> %11, i64 0
  %15 = tail call float @llvm.fmuladd.f32(float %mul20.i, float %14, float %10)
  %inc.i = add nuw nsw i32 %k.0.i3, 1
  %exitcond.not = icmp eq i32 %inc.i, %limit
  %16 = insertelement <2 x float> poison, float %15, i64 0
  %17 = insertelement <2 x float> %16, float %add22.i, i64 1
  br i1 %exitcond.not, label %for.end.i, label %for.body.i, !llvm.loop !14

for.end.i:                                        ; preds = %for.inc.i, %for.body.i, %if.end.i
  %k.0.i.lcssa = phi i32 [ 0, %if.end.i ], [ %limit, %for.inc.i ], [ %k.0.i3, %for.body.i ]
  %mul24.i = mul nsw i32 %add3.i, %width
  %add25.i = add nsw i32 %mul24.i, %add.i
  %idxprom.i = sext i32 %add25.i to i64
  %arrayidx.i = getelementptr inbounds i32, ptr addrspace(1) %count, i64 %idxprom.i
  store i32 %k.0.i.lcssa, ptr addrspace(1) %arrayidx.i, align 4, !tbaa !4
  br label %__clang_ocl_kern_imp_mandelbrot.exit

__clang_ocl_kern_imp_mandelbrot.exit:             ; preds = %for.end.i, %entry
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.y() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.y() #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #2

attributes #0 = { nofree norecurse nosync nounwind memory(argmem: write) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
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
!8 = !{i32 1, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0}
!9 = !{!"none", !"none", !"none", !"none", !"none", !"none", !"none"}
!10 = !{!"int*", !"float", !"float", !"float", !"int", !"int", !"int"}
!11 = !{!"", !"", !"", !"", !"", !"", !""}
!12 = !{i16 1, i16 1025}
!13 = !{}
!14 = distinct !{!14, !15}
!15 = !{!"llvm.loop.unroll.disable"}
