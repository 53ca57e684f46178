; ModuleID = '<stdin>'
source_filename = "opencl/state_machine.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: nofree norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)
define protected amdgpu_kernel void @irreducible_walk(ptr addrspace(1) noundef readonly align 4 captures(none) %seed, ptr addrspace(1) noundef writeonly align 4 captures(none) %steps, ptr addrspace(1) noundef align 4 %trace, i32 noundef %limit) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
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
  %arrayidx.i = getelementptr inbounds i32, ptr addrspace(1) %seed, i64 %idxprom.i
  %5 = load i32, ptr addrspace(1) %arrayidx.i, align 4, !tbaa !4, !amdgpu.noclobber !13
  %and.i = and i32 %5, 1
  %tobool.not.i = icmp eq i32 %and.i, 0
  br i1 %tobool.not.i, label %even.i.preheader, label %odd.i

even.i.preheader:                                 ; preds = %odd.i, %entry
  %n.0.i.ph = phi i32 [ %add16.i, %odd.i ], [ %5, %entry ]
  %count.0.i.ph = phi i32 [ %count.1.i, %odd.i ], [ 0, %entry ]
  br label %even.i

even.i:                                           ; preds = %if.end8.i, %even.i.preheader
  %n.0.i = phi i32 [ %div36.i, %if.end8.i ], [ %n.0.i.ph, %even.i.preheader ]
  %count.0.i = phi i32 [ %inc.i, %if.end8.i ], [ %count.0.i.ph, %even.i.preheader ]
  %and1.i = and i32 %count.0.i, 63
  %idxprom2.i = zext nneg i32 %and1.i to i64
  %arrayidx3.i = getelementptr inbounds nuw i32, ptr addrspace(1) %trace, i64 %idxprom2.i
  store i32 %n.0.i, ptr addrspace(1) %arrayidx3.i, align 4, !tbaa !4
  %inc.i = add nuw i32 %count.0.i, 1
  %cmp.i = icmp uge i32 %inc.i, %limit
  %cmp5.i = icmp ult i32 %n.0.i, 4
  %or.cond.i = or i1 %cmp5.i, %cmp.i
  br i1 %or.cond.i, label %__clang_ocl_kern_imp_irreducible_walk.exit, label %if.end8.i

if.end8.i:                                        ; preds = %even.i
  %div36.i = lshr i32 %n.0.i, 1
  %6 = and i32 %n.0.i, 2
  %cmp10.i = icmp eq i32 %6, 0
  br i1 %cmp10.i, label %even.i, label %odd.i.loopexit

odd.i.loopexit:                                   ; preds = %if.end8.i
  %7 = add nuw i32 %count.0.i, 2
  br label %odd.i

odd.i:                                            ; preds = %odd.i.loopexit, %entry
  %n.1.i = phi i32 [ %5, %entry ], [ %div36.i, %odd.i.loopexit ]
  %count.1.i = phi i32 [ 1, %entry ], [ %7, %odd.i.loopexit ]
  %arrayidx14.i = getelementptr inbounds nuw i8, ptr addrspace(1) %trace, i64 256
  %8 = atomicrmw volatile add ptr addrspace(1) %arrayidx14.i, i32 %n.1.i syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !13, !amdgpu.no.remote.memory !13
  %mul15.i = mul i32 %n.1.i, 3
  %add16.i = add i32 %mul15.i, 1
  %cmp18.i = icmp ult i32 %count.1.i, %limit
  br i1 %cmp18.i, label %even.i.preheader, label %__clang_ocl_kern_imp_irreducible_walk.exit

__clang_ocl_kern_imp_irreducible_walk.exit:       ; preds = %odd.i, %even.i
  %count.2.i = phi i32 [ %count.1.i, %odd.i ], [ %inc.i, %even.i ]
  %arrayidx23.i = getelementptr inbounds i32, ptr addrspace(1) %steps, i64 %idxprom.i
  store i32 %count.2.i, ptr addrspace(1) %arrayidx23.i, align 4, !tbaa !4
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

attributes #0 = { nofree norecurse nounwind memory(argmem: readwrite, inaccessiblemem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
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
!8 = !{i32 1, i32 1, i32 1, i32 0}
!9 = !{!"none", !"none", !"none", !"none"}
!10 = !{!"uint*", !"uint*", !"uint*", !"uint"}
!11 = !{!"const", !"", !"", !""}
!12 = !{i16 1, i16 1025}
!13 = !{}
