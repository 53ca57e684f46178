; ModuleID = '<stdin>'
source_filename = "opencl/interpreter.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected amdgpu_kernel void @stack_machine(ptr addrspace(4) noundef readonly align 4 captures(none) %code, ptr addrspace(1) noundef readonly align 4 captures(none) %input, ptr addrspace(1) noundef writeonly align 4 captures(none) %result, i32 noundef %fuel) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
entry:
  %0 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %1 = tail call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %2 = getelementptr inbounds nuw i8, ptr addrspace(4) %1, i64 12
  %3 = load i16, ptr addrspace(4) %2, align 4, !range !12, !invariant.load !13, !noundef !13
  %conv.i = zext nneg i16 %3 to i32
  %mul.i = mul nsw i32 %0, %conv.i
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %add.i = add nsw i32 %mul.i, %4
  %idxprom17.i = sext i32 %add.i to i64
  %arrayidx18.i = getelementptr inbounds i32, ptr addrspace(1) %input, i64 %idxprom17.i
  br label %while.cond.i

while.cond.i:                                     ; preds = %cleanup.i, %entry
  %promotealloca11 = phi <16 x i32> [ zeroinitializer, %entry ], [ %promotealloca10, %cleanup.i ]
  %pc.0.i = phi i32 [ 0, %entry ], [ %pc.2.i, %cleanup.i ]
  %top.0.i = phi i32 [ 0, %entry ], [ %top.2.i, %cleanup.i ]
  %fuel.addr.0.i = phi i32 [ %fuel, %entry ], [ %dec.i, %cleanup.i ]
  %dec.i = add nsw i32 %fuel.addr.0.i, -1
  %cmp.i = icmp sgt i32 %fuel.addr.0.i, 0
  br i1 %cmp.i, label %while.body.i, label %done.i

while.body.i:                                     ; preds = %while.cond.i
  %and.i = and i32 %top.0.i, 15
  %5 = extractelement <16 x i32> %promotealloca11, i32 %and.i
  %sub.i = add i32 %top.0.i, 15
  %and3.i = and i32 %sub.i, 15
  %6 = extractelement <16 x i32> %promotealloca11, i32 %and3.i
  %inc.i = add nsw i32 %pc.0.i, 1
  %idxprom6.i = sext i32 %pc.0.i to i64
  %arrayidx7.i = getelementptr inbounds i32, ptr addrspace(4) %code, i64 %idxprom6.i
  %7 = load i32, ptr addrspace(4) %arrayidx7.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  switch i32 %7, label %sw.default.i [
    i32 0, label %cleanup.i
    i32 1, label %sw.bb8.i
    i32 2, label %sw.bb16.i
    i32 3, label %sw.bb23.i
    i32 4, label %sw.bb29.i
    i32 5, label %sw.bb35.i
    i32 10, label %sw.bb41.i
    i32 6, label %sw.bb48.i
    i32 7, label %sw.bb53.i
    i32 8, label %sw.bb61.i
    i32 9, label %sw.bb64.i
  ]

sw.bb8.i:                                         ; preds = %while.body.i
  %inc9.i = add nsw i32 %pc.0.i, 2
  %idxprom10.i = sext i32 %inc.i to i64
  %arrayidx11.i = getelementptr inbounds i32, ptr addrspace(4) %code, i64 %idxprom10.i
  %8 = load i32, ptr addrspace(4) %arrayidx11.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  %inc12.i = add nsw i32 %top.0.i, 1
  %and13.i = and i32 %inc12.i, 15
  %9 = insertelement <16 x i32> %promotealloca11, i32 %8, i32 %and13.i
  br label %cleanup.i

sw.bb16.i:                                        ; preds = %while.body.i
  %10 = load i32, ptr addrspace(1) %arrayidx18.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  %inc19.i = add nsw i32 %top.0.i, 1
  %and20.i = and i32 %inc19.i, 15
  %11 = insertelement <16 x i32> %promotealloca11, i32 %10, i32 %and20.i
  br label %cleanup.i

sw.bb23.i:                                        ; preds = %while.body.i
  %add24.i = add nsw i32 %6, %5
  %dec25.i = add nsw i32 %top.0.i, -1
  %and26.i = and i32 %dec25.i, 15
  %12 = insertelement <16 x i32> %promotealloca11, i32 %add24.i, i32 %and26.i
  br label %cleanup.i

sw.bb29.i:                                        ; preds = %while.body.i
  %sub30.i = sub nsw i32 %6, %5
  %dec31.i = add nsw i32 %top.0.i, -1
  %and32.i = and i32 %dec31.i, 15
  %13 = insertelement <16 x i32> %promotealloca11, i32 %sub30.i, i32 %and32.i
  br label %cleanup.i

sw.bb35.i:                                        ; preds = %while.body.i
  %mul36.i = mul nsw i32 %6, %5
  %dec37.i = add nsw i32 %top.0.i, -1
  %and38.i = and i32 %dec37.i, 15
  %14 = insertelement <16 x i32> %promotealloca11, i32 %mul36.i, i32 %and38.i
  br label %cleanup.i

sw.bb41.i:                                        ; preds = %while.body.i
  %cmp42.i = icmp slt i32 %6, %5
  %conv43.i = zext i1 %cmp42.i to i32
  %dec44.i = add nsw i32 %top.0.i, -1
  %and45.i = and i32 %dec44.i, 15
  %15 = insertelement <16 x i32> %promotealloca11, i32 %conv43.i, i32 %and45.i
  br label %cleanup.i

sw.bb48.i:                                        ; preds = %while.body.i
  %inc49.i = add nsw i32 %top.0.i, 1
  %and50.i = and i32 %inc49.i, 15
  %16 = insertelement <16 x i32> %promotealloca11, i32 %5, i32 %and50.i
  br label %cleanup.i

sw.bb53.i:                                        ; preds = %while.body.i
  %17 = insertelement <16 x i32> %promotealloca11, i32 %6, i32 %and.i
  %18 = insertelement <16 x i32> %17, i32 %5, i32 %and3.i
  br label %cleanup.i

sw.bb61.i:                                        ; preds = %while.body.i
  %idxprom62.i = sext i32 %inc.i to i64
  %arrayidx63.i = getelementptr inbounds i32, ptr addrspace(4) %code, i64 %idxprom62.i
  %19 = load i32, ptr addrspace(4) %arrayidx63.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  br label %cleanup.i

sw.bb64.i:                                        ; preds = %while.body.i
  %dec65.i = add nsw i32 %top.0.i, -1
  %cmp66.i = icmp eq i32 %5, 0
  br i1 %cmp66.i, label %cond.true.i, label %cond.false.i

cond.true.i:                                      ; preds = %sw.bb64.i
  %idxprom68.i = sext i32 %inc.i to i64
  %arrayidx69.i = getelementptr inbounds i32, ptr addrspace(4) %code, i64 %idxprom68.i
  %20 = load i32, ptr addrspace(4) %arrayidx69.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  br label %cleanup.i

cond.false.i:                                     ; preds = %sw.bb64.i
  %add70.i = add nsw i32 %pc.0.i, 2
  br label %cleanup.i

sw.default.i:                                     ; preds = %while.body.i
  br label %cleanup.i

cleanup.i:                                        ; preds = %sw.default.i, %cond.false.i, %cond.true.i, %sw.bb61.i, %sw.bb53.i, %sw.bb48.i, %sw.bb41.i, %sw.bb35.i, %sw.bb29.i, %sw.bb23.i, %sw.bb16.i, %sw.bb8.i, %while.body.i
  %promotealloca10 = phi <16 x i32> [ %promotealloca11, %sw.default.i ], [ %promotealloca11, %while.body.i ], [ %9, %sw.bb8.i ], [ %11, %sw.bb16.i ], [ %12, %sw.bb23.i ], [ %13, %sw.bb29.i ], [ %14, %sw.bb35.i ], [ %15, %sw.bb41.i ], [ %16, %sw.bb48.i ], [ %18, %sw.bb53.i ], [ %promotealloca11, %sw.bb61.i ], [ %promotealloca11, %cond.true.i ], [ %promotealloca11, %cond.false.i ]
  %pc.2.i = phi i32 [ %inc.i, %sw.default.i ], [ %inc.i, %while.body.i ], [ %inc9.i, %sw.bb8.i ], [ %inc.i, %sw.bb16.i ], [ %inc.i, %sw.bb23.i ], [ %inc.i, %sw.bb29.i ], [ %inc.i, %sw.bb35.i ], [ %inc.i, %sw.bb41.i ], [ %inc.i, %sw.bb48.i ], [ %inc.i, %sw.bb53.i ], [ %19, %sw.bb61.i ], [ %20, %cond.true.i ], [ %add70.i, %cond.false.i ]
  %top.2.i = phi i32 [ -1, %sw.default.i ], [ %top.0.i, %while.body.i ], [ %inc12.i, %sw.bb8.i ], [ %inc19.i, %sw.bb16.i ], [ %dec25.i, %sw.bb23.i ], [ %dec31.i, %sw.bb29.i ], [ %dec37.i, %sw.bb35.i ], [ %dec44.i, %sw.bb41.i ], [ %inc49.i, %sw.bb48.i ], [ %top.0.i, %sw.bb53.i ], [ %top.0.i, %sw.bb61.i ], [ %dec65.i, %cond.true.i ], [ %dec65.i, %cond.false.i ]
  %21 = phi i1 [ false, %sw.default.i ], [ false, %while.body.i ], [ true, %sw.bb8.i ], [ true, %sw.bb16.i ], [ true, %sw.bb23.i ], [ true, %sw.bb29.i ], [ true, %sw.bb35.i ], [ true, %sw.bb41.i ], [ true, %sw.bb48.i ], [ true, %sw.bb53.i ], [ true, %sw.bb61.i ], [ true, %cond.true.i ], [ true, %cond.false.i ]
  br i1 %21, label %while.cond.i, label %done.i

done.i:                                           ; preds = %cleanup.i, %while.cond.i
  %promotealloca = phi <16 x i32> [ %promotealloca10, %cleanup.i ], [ %promotealloca11, %while.cond.i ]
  %top.3.i = phi i32 [ %top.2.i, %cleanup.i ], [ %top.0.i, %while.cond.i ]
  %and76.i = and i32 %top.3.i, 15
  %22 = extractelement <16 x i32> %promotealloca, i32 %and76.i
  %cmp72.i.inv = icmp sgt i32 %top.3.i, -1
  %spec.select = select i1 %cmp72.i.inv, i32 %22, i32 -1
  %arrayidx82.i = getelementptr inbounds i32, ptr addrspace(1) %result, i64 %idxprom17.i
  store i32 %spec.select, ptr addrspace(1) %arrayidx82.i, align 4, !tbaa !4
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

attributes #0 = { nofree norecurse nosync nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

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
!8 = !{i32 2, i32 1, i32 1, i32 0}
!9 = !{!"none", !"none", !"none", !"none"}
!10 = !{!"int*", !"int*", !"int*", !"int"}
!11 = !{!"const", !"const", !"", !""}
!12 = !{i16 1, i16 1025}
!13 = !{}
