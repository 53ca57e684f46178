; ModuleID = '<stdin>'
source_filename = "opencl/wave.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)
define protected amdgpu_kernel void @wave_compact(ptr addrspace(1) noundef readonly align 4 captures(none) %in, ptr addrspace(1) noundef writeonly align 4 captures(none) %out, ptr addrspace(1) noundef align 4 %total, i32 noundef %threshold) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
entry:
  %0 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %1 = tail call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %2 = getelementptr inbounds nuw i8, ptr addrspace(4) %1, i64 12
  %3 = load i16, ptr addrspace(4) %2, align 4, !range !12, !invariant.load !13, !noundef !13
  %conv.i = zext nneg i16 %3 to i32
  %mul.i = mul nsw i32 %0, %conv.i
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %add.i = add nsw i32 %mul.i, %4
  %idxprom.i = sext i32 %add.i to i64
  %arrayidx.i = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %idxprom.i
  %5 = load i32, ptr addrspace(1) %arrayidx.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  %cmp.i = icmp sgt i32 %5, %threshold
  %6 = tail call i64 @llvm.amdgcn.ballot.i64(i1 %cmp.i)
  %7 = tail call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %8 = tail call noundef i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %7)
  %cmp2.i = icmp eq i32 %8, 0
  br i1 %cmp2.i, label %if.then.i, label %if.end.i

if.then.i:                                        ; preds = %entry
  %elt.ctpop.i = tail call range(i64 0, 65) i64 @llvm.ctpop.i64(i64 %6)
  %conv4.i = trunc nuw nsw i64 %elt.ctpop.i to i32
  %9 = atomicrmw volatile add ptr addrspace(1) %total, i32 %conv4.i syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !13, !amdgpu.no.remote.memory !13
  br label %if.end.i

if.end.i:                                         ; preds = %if.then.i, %entry
  %base.0.i = phi i32 [ %9, %if.then.i ], [ 0, %entry ]
  %10 = tail call i32 @llvm.amdgcn.readfirstlane.i32(i32 %base.0.i)
  br i1 %cmp.i, label %if.then9.i, label %__clang_ocl_kern_imp_wave_compact.exit

if.then9.i:                                       ; preds = %if.end.i
  %shr.i = lshr i64 %6, 32
  %conv6.i = trunc nuw i64 %shr.i to i32
  %conv7.i = trunc i64 %6 to i32
  %11 = tail call i32 @llvm.amdgcn.mbcnt.lo(i32 %conv7.i, i32 0)
  %12 = tail call i32 @llvm.amdgcn.mbcnt.hi(i32 %conv6.i, i32 %11)
  %add10.i = add nsw i32 %12, %10
  %idxprom11.i = sext i32 %add10.i to i64
  %arrayidx12.i = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %idxprom11.i
  store i32 %5, ptr addrspace(1) %arrayidx12.i, align 4, !tbaa !4
  br label %__clang_ocl_kern_imp_wave_compact.exit

__clang_ocl_kern_imp_wave_compact.exit:           ; preds = %if.then9.i, %if.end.i
  ret void
}

; Function Attrs: convergent nofree norecurse nounwind memory(argmem: readwrite)
define protected amdgpu_kernel void @waterfall(ptr addrspace(1) noundef readonly align 4 captures(none) %selector, ptr addrspace(1) noundef readonly align 4 captures(none) %table, ptr addrspace(1) noundef writeonly align 4 captures(none) %out) local_unnamed_addr #1 !kernel_arg_addr_space !14 !kernel_arg_access_qual !15 !kernel_arg_type !16 !kernel_arg_base_type !16 !kernel_arg_type_qual !17 {
entry:
  %0 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %1 = tail call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %2 = getelementptr inbounds nuw i8, ptr addrspace(4) %1, i64 12
  %3 = load i16, ptr addrspace(4) %2, align 4, !range !12, !invariant.load !13, !noundef !13
  %conv.i = zext nneg i16 %3 to i32
  %mul.i = mul nsw i32 %0, %conv.i
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %add.i = add nsw i32 %mul.i, %4
  %idxprom.i = sext i32 %add.i to i64
  %arrayidx.i = getelementptr inbounds i32, ptr addrspace(1) %selector, i64 %idxprom.i
  %5 = load i32, ptr addrspace(1) %arrayidx.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  %idxprom2.i = sext i32 %5 to i64
  %arrayidx3.i = getelementptr inbounds i32, ptr addrspace(1) %table, i64 %idxprom2.i
  br label %while.cond.i

while.cond.i:                                     ; preds = %cleanup.i, %entry
  %result.0.i = phi i32 [ 0, %entry ], [ %result.1.i, %cleanup.i ]
  %6 = tail call i32 @llvm.amdgcn.readfirstlane.i32(i32 %5)
  %cmp.i.not = icmp eq i32 %6, %5
  br i1 %cmp.i.not, label %if.then.i, label %cleanup.i

if.then.i:                                        ; preds = %while.cond.i
  %7 = load i32, ptr addrspace(1) %arrayidx3.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  br label %cleanup.i

cleanup.i:                                        ; preds = %if.then.i, %while.cond.i
  %result.1.i = phi i32 [ %7, %if.then.i ], [ %result.0.i, %while.cond.i ]
  br i1 %cmp.i.not, label %__clang_ocl_kern_imp_waterfall.exit, label %while.cond.i

__clang_ocl_kern_imp_waterfall.exit:              ; preds = %cleanup.i
  %arrayidx5.i = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %idxprom.i
  store i32 %result.1.i, ptr addrspace(1) %arrayidx5.i, align 4, !tbaa !4
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #2

; Function Attrs: convergent nocallback nocreateundeforpoison nofree nounwind willreturn memory(none)
declare i64 @llvm.amdgcn.ballot.i64(i1) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.ctpop.i64(i64) #4

; Function Attrs: convergent nocallback nocreateundeforpoison nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32) #5

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32) #5

attributes #0 = { convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { convergent nofree norecurse nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nocreateundeforpoison nofree nounwind willreturn memory(none) }
attributes #4 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }

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
!10 = !{!"int*", !"int*", !"int*", !"int"}
!11 = !{!"const", !"", !"", !""}
!12 = !{i16 1, i16 1025}
!13 = !{}
!14 = !{i32 1, i32 1, i32 1}
!15 = !{!"none", !"none", !"none"}
!16 = !{!"int*", !"int*", !"int*"}
!17 = !{!"const", !"const", !""}
