; ModuleID = '<stdin>'
source_filename = "cuda/state_machine.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define dso_local ptx_kernel void @protocol(ptr noundef readonly captures(none) %events, ptr noundef writeonly captures(none) %result, i32 noundef %count, i32 noundef %max_retries) local_unnamed_addr #0 !dbg !11 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !14
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !20
  %mul.i = mul i32 %0, %1, !dbg !23
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !24
  %add.i = add i32 %mul.i, %2, !dbg !27
  %cmp32 = icmp sgt i32 %count, 0, !dbg !28
  br i1 %cmp32, label %for.body.lr.ph, label %for.cond.cleanup, !dbg !29

for.body.lr.ph:                                   ; preds = %entry
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %mul.i31 = mul i32 %3, %1
  br label %for.body, !dbg !29

for.cond.cleanup.loopexit:                        ; preds = %sw.epilog
  %4 = icmp eq i8 %state.1, 4, !dbg !30
  br label %for.cond.cleanup, !dbg !30

for.cond.cleanup:                                 ; preds = %for.cond.cleanup.loopexit, %entry
  %acknowledged.0.lcssa = phi i32 [ 0, %entry ], [ %acknowledged.1, %for.cond.cleanup.loopexit ], !dbg !31
  %state.0.lcssa = phi i1 [ false, %entry ], [ %4, %for.cond.cleanup.loopexit ], !dbg !32
  %sub = sub nsw i32 0, %acknowledged.0.lcssa, !dbg !33
  %cond17 = select i1 %state.0.lcssa, i32 %sub, i32 %acknowledged.0.lcssa, !dbg !33
  %idxprom18 = sext i32 %add.i to i64, !dbg !34
  %arrayidx19 = getelementptr inbounds i32, ptr %result, i64 %idxprom18, !dbg !34
  store i32 %cond17, ptr %arrayidx19, align 4, !dbg !35, !tbaa !7
  ret void, !dbg !36

for.body:                                         ; preds = %sw.epilog, %for.body.lr.ph
  %retries.036 = phi i32 [ 0, %for.body.lr.ph ], [ %retries.1, %sw.epilog ]
  %k.035 = phi i32 [ 0, %for.body.lr.ph ], [ %inc15, %sw.epilog ]
  %state.034 = phi i8 [ 0, %for.body.lr.ph ], [ %state.1, %sw.epilog ]
  %acknowledged.033 = phi i32 [ 0, %for.body.lr.ph ], [ %acknowledged.1, %sw.epilog ]
  %mul = mul nsw i32 %mul.i31, %k.035, !dbg !37
  %add = add nsw i32 %mul, %add.i, !dbg !38
  %idxprom = sext i32 %add to i64, !dbg !39
  %arrayidx = getelementptr inbounds i8, ptr %events, i64 %idxprom, !dbg !39
  %5 = load i8, ptr %arrayidx, align 1, !dbg !39, !tbaa !40
  switch i8 %state.034, label %sw.epilog [
    i8 0, label %sw.bb
    i8 1, label %sw.bb3
    i8 2, label %sw.bb4
    i8 3, label %sw.bb11
  ], !dbg !41

sw.bb:                                            ; preds = %for.body
  %6 = and i8 %5, 1, !dbg !42
  br label %sw.epilog, !dbg !43

sw.bb3:                                           ; preds = %for.body
  br label %sw.epilog, !dbg !44

sw.bb4:                                           ; preds = %for.body
  switch i8 %5, label %sw.epilog [
    i8 2, label %if.then
    i8 3, label %if.then9
  ], !dbg !45

if.then:                                          ; preds = %sw.bb4
  %inc = add nsw i32 %acknowledged.033, 1, !dbg !46
  br label %sw.epilog, !dbg !47

if.then9:                                         ; preds = %sw.bb4
  br label %sw.epilog, !dbg !48

sw.bb11:                                          ; preds = %for.body
  %inc12 = add nsw i32 %retries.036, 1, !dbg !49
  %cmp13.not = icmp slt i32 %retries.036, %max_retries, !dbg !50
  %cond14 = select i1 %cmp13.not, i8 1, i8 4, !dbg !49
  br label %sw.epilog, !dbg !51

sw.epilog:                                        ; preds = %sw.bb11, %if.then9, %if.then, %sw.bb4, %sw.bb3, %sw.bb, %for.body
  %acknowledged.1 = phi i32 [ %acknowledged.033, %for.body ], [ %acknowledged.033, %sw.bb ], [ %acknowledged.033, %sw.bb3 ], [ %inc, %if.then ], [ %acknowledged.033, %if.then9 ], [ %acknowledged.033, %sw.bb4 ], [ %acknowledged.033, %sw.bb11 ], !dbg !52
  %state.1 = phi i8 [ %state.034, %for.body ], [ %6, %sw.bb ], [ 2, %sw.bb3 ], [ 0, %if.then ], [ 3, %if.then9 ], [ 2, %sw.bb4 ], [ %cond14, %sw.bb11 ], !dbg !52
  %retries.1 = phi i32 [ %retries.036, %for.body ], [ %retries.036, %sw.bb ], [ %retries.036, %sw.bb3 ], [ %retries.036, %if.then ], [ %retries.036, %if.then9 ], [ %retries.036, %sw.bb4 ], [ %inc12, %sw.bb11 ], !dbg !52
  %inc15 = add nuw nsw i32 %k.035, 1, !dbg !53
  %cmp = icmp slt i32 %inc15, %count, !dbg !28
  %cmp1 = icmp ne i8 %state.1, 4, !dbg !54
  %7 = select i1 %cmp, i1 %cmp1, i1 false, !dbg !54
  br i1 %7, label %for.body, label %for.cond.cleanup.loopexit, !dbg !29, !llvm.loop !55
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, -2147483648) i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() #1

attributes #0 = { mustprogress nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx70,+sm_80" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5, !6}
!llvm.errno.tbaa = !{!7}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "cuda/state_machine.cu", directory: ".")
!2 = !{i32 7, !"Dwarf Version", i32 2}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!6 = !{i32 7, !"frame-pointer", i32 2}
!7 = !{!8, !8, i64 0}
!8 = !{!"int", !9, i64 0}
!9 = !{!"omnipotent char", !10, i64 0}
!10 = !{!"Simple C++ TBAA"}
!11 = distinct !DISubprogram(name: "protocol", scope: !1, file: !1, line: 32, type: !12, scopeLine: 32, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 26, column: 1, scope: !15, inlinedAt: !17)
!15 = distinct !DISubprogram(name: "get_x", scope: !16, file: !16, line: 26, type: !12, scopeLine: 26, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!16 = !DIFile(filename: "cuda/phalanx_cuda.h", directory: ".")
!17 = distinct !DILocation(line: 42, column: 36, scope: !18, inlinedAt: !19)
!18 = distinct !DISubprogram(name: "global_index", scope: !16, file: !16, line: 42, type: !12, scopeLine: 42, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!19 = distinct !DILocation(line: 33, column: 11, scope: !11)
!20 = !DILocation(line: 27, column: 1, scope: !21, inlinedAt: !22)
!21 = distinct !DISubprogram(name: "get_x", scope: !16, file: !16, line: 27, type: !12, scopeLine: 27, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!22 = distinct !DILocation(line: 42, column: 49, scope: !18, inlinedAt: !19)
!23 = !DILocation(line: 42, column: 47, scope: !18, inlinedAt: !19)
!24 = !DILocation(line: 25, column: 1, scope: !25, inlinedAt: !26)
!25 = distinct !DISubprogram(name: "get_x", scope: !16, file: !16, line: 25, type: !12, scopeLine: 25, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!26 = distinct !DILocation(line: 42, column: 62, scope: !18, inlinedAt: !19)
!27 = !DILocation(line: 42, column: 60, scope: !18, inlinedAt: !19)
!28 = !DILocation(line: 35, column: 21, scope: !11)
!29 = !DILocation(line: 35, column: 3, scope: !11)
!30 = !DILocation(line: 51, column: 21, scope: !11)
!31 = !DILocation(line: 33, column: 40, scope: !11)
!32 = !DILocation(line: 34, column: 9, scope: !11)
!33 = !DILocation(line: 51, column: 15, scope: !11)
!34 = !DILocation(line: 51, column: 3, scope: !11)
!35 = !DILocation(line: 51, column: 13, scope: !11)
!36 = !DILocation(line: 52, column: 1, scope: !11)
!37 = !DILocation(line: 36, column: 36, scope: !11)
!38 = !DILocation(line: 36, column: 55, scope: !11)
!39 = !DILocation(line: 36, column: 27, scope: !11)
!40 = !{!9, !9, i64 0}
!41 = !DILocation(line: 37, column: 5, scope: !11)
!42 = !DILocation(line: 38, column: 37, scope: !11)
!43 = !DILocation(line: 38, column: 70, scope: !11)
!44 = !DILocation(line: 39, column: 47, scope: !11)
!45 = !DILocation(line: 41, column: 17, scope: !11)
!46 = !DILocation(line: 42, column: 9, scope: !11)
!47 = !DILocation(line: 44, column: 7, scope: !11)
!48 = !DILocation(line: 45, column: 9, scope: !11)
!49 = !DILocation(line: 47, column: 32, scope: !11)
!50 = !DILocation(line: 47, column: 42, scope: !11)
!51 = !DILocation(line: 47, column: 87, scope: !11)
!52 = !DILocation(line: 0, scope: !11)
!53 = !DILocation(line: 35, column: 56, scope: !11)
!54 = !DILocation(line: 35, column: 29, scope: !11)
!55 = distinct !{!55, !29, !56, !57, !58}
!56 = !DILocation(line: 50, column: 3, scope: !11)
!57 = !{!"llvm.loop.mustprogress"}
!58 = !{!"llvm.loop.unroll.disable"}
