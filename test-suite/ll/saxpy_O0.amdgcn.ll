; ModuleID = '<stdin>'
source_filename = "opencl/saxpy.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @saxpy_grid_stride(ptr addrspace(1) noundef align 4 %x, ptr addrspace(1) noundef align 4 %y, float noundef %alpha, i32 noundef %n) #0 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !7 !kernel_arg_base_type !7 !kernel_arg_type_qual !8 {
entry:
  %x.addr = alloca ptr addrspace(1), align 8, addrspace(5)
  %y.addr = alloca ptr addrspace(1), align 8, addrspace(5)
  %alpha.addr = alloca float, align 4, addrspace(5)
  %n.addr = alloca i32, align 4, addrspace(5)
  %x.addr.ascast = addrspacecast ptr addrspace(5) %x.addr to ptr
  %y.addr.ascast = addrspacecast ptr addrspace(5) %y.addr to ptr
  %alpha.addr.ascast = addrspacecast ptr addrspace(5) %alpha.addr to ptr
  %n.addr.ascast = addrspacecast ptr addrspace(5) %n.addr to ptr
  store ptr addrspace(1) %x, ptr %x.addr.ascast, align 8
  store ptr addrspace(1) %y, ptr %y.addr.ascast, align 8
  store float %alpha, ptr %alpha.addr.ascast, align 4
  store i32 %n, ptr %n.addr.ascast, align 4
  %0 = load ptr addrspace(1), ptr %x.addr.ascast, align 8
  %1 = load ptr addrspace(1), ptr %y.addr.ascast, align 8
  %2 = load float, ptr %alpha.addr.ascast, align 4
  %3 = load i32, ptr %n.addr.ascast, align 4
  call void @__clang_ocl_kern_imp_saxpy_grid_stride(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, float noundef %2, i32 noundef %3) #4
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define internal void @__clang_ocl_kern_imp_saxpy_grid_stride(ptr addrspace(1) noundef align 4 %x, ptr addrspace(1) noundef align 4 %y, float noundef %alpha, i32 noundef %n) #1 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !7 !kernel_arg_base_type !7 !kernel_arg_type_qual !8 {
entry:
  %x.addr = alloca ptr addrspace(1), align 8, addrspace(5)
  %y.addr = alloca ptr addrspace(1), align 8, addrspace(5)
  %alpha.addr = alloca float, align 4, addrspace(5)
  %n.addr = alloca i32, align 4, addrspace(5)
  %step = alloca i32, align 4, addrspace(5)
  %i = alloca i32, align 4, addrspace(5)
  %x.addr.ascast = addrspacecast ptr addrspace(5) %x.addr to ptr
  %y.addr.ascast = addrspacecast ptr addrspace(5) %y.addr to ptr
  %alpha.addr.ascast = addrspacecast ptr addrspace(5) %alpha.addr to ptr
  %n.addr.ascast = addrspacecast ptr addrspace(5) %n.addr to ptr
  store ptr addrspace(1) %x, ptr %x.addr.ascast, align 8
  store ptr addrspace(1) %y, ptr %y.addr.ascast, align 8
  store float %alpha, ptr %alpha.addr.ascast, align 4
  store i32 %n, ptr %n.addr.ascast, align 4
  %0 = call align 4 dereferenceable(64) ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %1 = getelementptr i8, ptr addrspace(4) %0, i32 12
  %2 = load i32, ptr addrspace(4) %1, align 4, !range !9, !invariant.load !10
  %3 = call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %4 = getelementptr i8, ptr addrspace(4) %3, i32 12
  %5 = load i16, ptr addrspace(4) %4, align 2, !range !11, !invariant.load !10, !noundef !10
  %conv = zext i16 %5 to i32
  %div = udiv i32 %2, %conv
  %6 = call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %7 = getelementptr i8, ptr addrspace(4) %6, i32 12
  %8 = load i16, ptr addrspace(4) %7, align 2, !range !11, !invariant.load !10, !noundef !10
  %conv1 = zext i16 %8 to i32
  %mul = mul nsw i32 %div, %conv1
  store i32 %mul, ptr addrspace(5) %step, align 4
  %9 = call i32 @llvm.amdgcn.workgroup.id.x()
  %10 = call align 8 dereferenceable(256) ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %11 = getelementptr i8, ptr addrspace(4) %10, i32 12
  %12 = load i16, ptr addrspace(4) %11, align 2, !range !11, !invariant.load !10, !noundef !10
  %conv2 = zext i16 %12 to i32
  %mul3 = mul nsw i32 %9, %conv2
  %13 = call i32 @llvm.amdgcn.workitem.id.x()
  %add = add nsw i32 %mul3, %13
  store i32 %add, ptr addrspace(5) %i, align 4
  br label %for.cond

for.cond:                                         ; preds = %for.inc, %entry
  %14 = load i32, ptr addrspace(5) %i, align 4
  %15 = load i32, ptr %n.addr.ascast, align 4
  %cmp = icmp slt i32 %14, %15
  br i1 %cmp, label %for.body, label %for.end

for.body:                                         ; preds = %for.cond
  %16 = load float, ptr %alpha.addr.ascast, align 4
  %17 = load ptr addrspace(1), ptr %x.addr.ascast, align 8
  %18 = load i32, ptr addrspace(5) %i, align 4
  %idxprom = sext i32 %18 to i64
  %arrayidx = getelementptr inbounds float, ptr addrspace(1) %17, i64 %idxprom
  %19 = load float, ptr addrspace(1) %arrayidx, align 4
  %20 = load ptr addrspace(1), ptr %y.addr.ascast, align 8
  %21 = load i32, ptr addrspace(5) %i, align 4
  %idxprom5 = sext i32 %21 to i64
  %arrayidx6 = getelementptr inbounds float, ptr addrspace(1) %20, i64 %idxprom5
  %22 = load float, ptr addrspace(1) %arrayidx6, align 4
  %23 = call float @llvm.fma.f32(float %16, float %19, float %22)
  %24 = load ptr addrspace(1), ptr %y.addr.ascast, align 8
  %25 = load i32, ptr addrspace(5) %i, align 4
  %idxprom7 = sext i32 %25 to i64
  %arrayidx8 = getelementptr inbounds float, ptr addrspace(1) %24, i64 %idxprom7
  store float %23, ptr addrspace(1) %arrayidx8, align 4
  br label %for.inc

for.inc:                                          ; preds = %for.body
  %26 = load i32, ptr addrspace(5) %step, align 4
  %27 = load i32, ptr addrspace(5) %i, align 4
  %add9 = add nsw i32 %27, %26
  store i32 %add9, ptr addrspace(5) %i, align 4
  br label %for.cond

for.end:                                          ; preds = %for.cond
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef nonnull align 4 ptr addrspace(4) @llvm.amdgcn.dispatch.ptr() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #3

attributes #0 = { convergent noinline norecurse nounwind optnone "amdgpu-flat-work-group-size"="1,256" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { convergent noinline norecurse nounwind optnone "amdgpu-flat-work-group-size"="1,256" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2, !3}
!opencl.ocl.version = !{!4}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{i32 7, !"frame-pointer", i32 2}
!4 = !{i32 2, i32 0}
!5 = !{i32 1, i32 1, i32 0, i32 0}
!6 = !{!"none", !"none", !"none", !"none"}
!7 = !{!"float*", !"float*", !"float", !"int"}
!8 = !{!"const", !"", !"", !""}
!9 = !{i32 1, i32 0}
!10 = !{}
!11 = !{i16 1, i16 1025}
