; One of everything that the reader knows.
source_filename = "a\22b.c"
target datalayout = "e-m:e-p:64:64-i64:64-n32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
module asm "nop"
%T = type { i32, [4 x %U], ptr }
%U = type <{ i8, i64 }>
%O = type opaque
%0 = type { %T }
%"q uoted" = type { half, bfloat, float, double, x86_fp80, fp128, ppc_fp128 }
$c = comdat any
$d = comdat largest
$e = comdat nodeduplicate
@g = global i32 0
@h = private unnamed_addr constant [4 x i8] c"ab\00\22", align 1
@i = internal thread_local(localexec) global %T zeroinitializer, section ".x", comdat($c), align 16
@j = linkonce_odr hidden local_unnamed_addr global i64 ptrtoint (ptr @g to i64), comdat($d)
@k = external addrspace(3) externally_initialized global [3 x i8]
@l = weak dso_local dllexport global ptr getelementptr inbounds (%T, ptr @i, i64 0, i32 1, i64 2, i32 1)
@m = common global i32 0, code_model "large"
@n = appending global [1 x i32] [i32 5]
@o = global <4 x i32> <i32 1, i32 undef, i32 poison, i32 u0xFF>
@p = global <4 x i8> splat (i8 7)
@q = global { i32, <{ i8, ptr }> } { i32 -1, <{ i8, ptr }> <{ i8 3, ptr null }> }
@r = global half 0xH3C00
@s = global [7 x double] [double 1.0, double -2.5e10, double 0x7FF0000000000000, double 0x3FF123456789ABCD, double undef, double +1.0e-5, double 3.]
@t = global x86_fp80 0xK3FFF8000000000000000
@u = global fp128 0xL00000000000000003FFF000000000000
@v = global ppc_fp128 0xM3FF00000000000000000000000000000
@w = global bfloat 0xR3F80
@x = global ptr dso_local_equivalent @f
@y = global ptr no_cfi @f
@z = global ptr ptrauth (ptr @f, i32 2, i64 5, ptr @g)
@aa = global ptr blockaddress(@f, %bb)
@ab = global i8 trunc (i32 ptrtoint (ptr @g to i32) to i8)
@ac = global i64 sub nuw (i64 ptrtoint (ptr @g to i64), i64 ptrtoint (ptr @h to i64))
@ad = global i64 ptrtoaddr (ptr @g to i64)
@ae = global ptr addrspace(1) addrspacecast (ptr @g to ptr addrspace(1))
@af = global i128 340282366920938463463374607431768211455
@ag = global i65 s0x1FFFFFFFFFFFFFFFF
@ah = global ptr getelementptr nuw inrange(-16, 32) (i8, ptr @g, i64 8)
@ai = global i32 extractelement (<2 x i32> <i32 1, i32 2>, i32 ptrtoint (ptr @g to i32))
@aj = global <2 x i32> insertelement (<2 x i32> undef, i32 3, i32 0)
@ak = global <2 x i32> shufflevector (<2 x i32> <i32 1, i32 2>, <2 x i32> undef, <2 x i32> <i32 1, i32 3>)
@"weird name" = global i1 true, no_sanitize_address, sanitize_memtag
@0 = global ptr @1
@1 = global ptr @0, partition "p1"
@al1 = alias i32, ptr @g
@al2 = weak hidden unnamed_addr alias i8, getelementptr (i8, ptr @g, i64 1)
@if1 = ifunc void (), ptr @res
define ptr @res() { ret ptr null }
declare i32 @pers(...)
declare !foo !1 void @ext(i32 noundef signext, ptr noalias captures(none) %x, ...) #1
declare x86_stdcallcc zeroext i8 @cc1(i64) unnamed_addr nounwind section "s" gc "g"
define weak_odr protected fastcc noundef i32 @f(i32 %a, ptr byval(%T) align 8 %b, i1 %c, <4 x float> %v, token %t, metadata %md) local_unnamed_addr #0 section "t" comdat($e) align 32 gc "statepoint-example" prefix i32 4 prologue i8 5 personality ptr @pers !foo !1 {
entry:
  %al = alloca inalloca %T, i32 %a, align 8
  %1 = alloca swifterror ptr
  br i1 %c, label %bb, label %2
bb:
  %ph = phi i32 [ 0, %entry ], [ %add, %bb ], [ %fwd, %2 ]
  %add = add nuw nsw i32 %ph, 1
  %sh = shl nuw i32 %add, 2
  %or = or disjoint i32 %sh, 1
  %ud = udiv exact i32 %or, 3
  %tr = trunc nuw nsw i32 %ud to i8
  %ze = zext nneg i8 %tr to i64
  %cmp = icmp samesign ult i32 %ud, %a
  br i1 %cmp, label %bb, label %sw, !prof !2
2:
  %fwd = mul i32 %a, %a
  %fa = fadd fast float 1.0, 2.0
  %fb = fmul nnan ninf nsz arcp contract afn reassoc float %fa, 0x3FF0000000000000
  %fc = fcmp nnan ueq float %fa, %fb
  %se = select nsz i1 %fc, float %fa, float %fb
  %fn = fneg <4 x float> %v
  br label %bb
sw:
  switch i32 %a, label %def [
    i32 1, label %c1
    i32 -2, label %c1
  ]
c1:
  %ev = extractvalue { i32, { i8, i16 } } { i32 1, { i8, i16 } { i8 2, i16 3 } }, 1, 0
  %iv = insertvalue [2 x i32] poison, i32 %a, 1
  %ee = extractelement <4 x float> %v, i32 %a
  %ie = insertelement <4 x float> %v, float %ee, i64 1
  %sv = shufflevector <4 x float> %v, <4 x float> %ie, <2 x i32> <i32 0, i32 7>
  %ld = load atomic volatile i32, ptr %b syncscope("agent") acquire, align 4, !nontemporal !2
  store atomic i32 %ld, ptr %b release, align 4
  fence syncscope("singlethread") seq_cst
  %cx = cmpxchg weak volatile ptr %b, i32 %a, i32 1 acq_rel monotonic, align 4
  %rm = atomicrmw volatile uinc_wrap ptr %b, i32 5 syncscope("wave") monotonic, align 4
  %ge = getelementptr inbounds nuw %T, ptr %b, i64 0, i32 1, i32 %a
  %gv = getelementptr i8, <2 x ptr> zeroinitializer, <2 x i64> <i64 1, i64 2>
  %va = va_arg ptr %b, i32
  %fz = freeze i32 %va
  %ca = tail call fastcc i32 @f(i32 %a, ptr byval(%T) align 8 %b, i1 true, <4 x float> zeroinitializer, token none, metadata !1) #2 [ "deopt"(i32 1, ptr null), "x"() ]
  call void (i32, ptr, ...) @ext(i32 noundef 4, ptr @g, double 1.0)
  call void asm sideeffect alignstack inteldialect "mov $0, $1", "r,r"(i32 1, i32 2)
  %ia = call i32 asm "nop", "=r"() nounwind
  musttail call void %b()
  ret i32 0
def:
  invoke void @ext2() to label %ok unwind label %lp
ok:
  %cb = callbr i32 asm "", "=r,!i"() to label %ok2 [label %ok3]
ok2:
  indirectbr ptr %b, [label %ok3, label %bb]
ok3:
  unreachable
lp:
  %l = landingpad { ptr, i32 } cleanup catch ptr null filter [1 x ptr] [ptr @g]
  resume { ptr, i32 } %l
cs:
  %csw = catchswitch within none [label %cp] unwind to caller
cp:
  %cpd = catchpad within %csw [ptr null, i32 64, ptr %b]
  catchret from %cpd to label %ok3
cl:
  %clp = cleanuppad within %cpd []
  cleanupret from %clp unwind label %cs
}
declare void @ext2()
define void @dbg(ptr %p) !dbg !10 {
    #dbg_value(i32 5, !13, !DIExpression(), !14)
    #dbg_declare(ptr %p, !13, !DIExpression(DW_OP_deref, DW_OP_plus_uconst, 8), !14)
  %x = add i32 1, 2, !dbg !14
    #dbg_value(!DIArgList(i32 %x, i32 4), !13, !DIExpression(DW_OP_LLVM_arg, 0), !14)
    #dbg_label(!15, !14)
  ret void, !dbg !14
}
declare void @llvm.dbg.value(metadata, metadata, metadata)
attributes #0 = { nounwind memory(argmem: readwrite, inaccessiblemem: read) "k"="v" "z" alignstack=4 uwtable(sync) allockind("alloc,zeroed") vscale_range(1,16) allocsize(0,1) }
attributes #1 = { convergent mustprogress }
attributes #2 = { cold nobuiltin }
!llvm.module.flags = !{!3, !4}
!llvm.dbg.cu = !{!5}
!named = !{}
!1 = !{!"str\00", i32 5, null, !2, ptr @g, !{i64 1}}
!2 = !{!"branch_weights", i32 1, i32 2}
!3 = !{i32 7, !"Dwarf Version", i32 5}
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DICompileUnit(language: DW_LANG_C11, file: !6, producer: "me", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, enums: !7, splitDebugInlining: false, nameTableKind: None)
!6 = !DIFile(filename: "a.c", directory: "/x", checksumkind: CSK_MD5, checksum: "00000000000000000000000000000000")
!7 = !{}
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DISubroutineType(types: !7)
!10 = distinct !DISubprogram(name: "dbg", scope: !6, file: !6, line: 1, type: !9, scopeLine: 1, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !5, retainedNodes: !7)
!11 = !DILexicalBlock(scope: !10, file: !6, line: 2, column: 3)
!12 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !8, size: 64)
!13 = !DILocalVariable(name: "x", arg: 1, scope: !10, file: !6, line: 1, type: !8)
!14 = !DILocation(line: 3, column: 5, scope: !11, inlinedAt: !16)
!15 = !DILabel(scope: !10, name: "l", file: !6, line: 3)
!16 = distinct !DILocation(line: 4, scope: !10)
!17 = distinct !{!17, !18}
!18 = !{!"llvm.loop.mustprogress"}
!19 = !DICompositeType(tag: DW_TAG_structure_type, name: "S", file: !6, line: 1, size: 64, elements: !20, identifier: "id")
!20 = !{!21, !22}
!21 = !DIDerivedType(tag: DW_TAG_member, name: "m", scope: !19, file: !6, line: 2, baseType: !8, size: 32, offset: 32)
!22 = !DISubrange(count: 5, lowerBound: 0)
!23 = !DIEnumerator(name: "A", value: -5)
!24 = !DIGlobalVariableExpression(var: !25, expr: !DIExpression(DW_OP_constu, 7, DW_OP_stack_value))
!25 = distinct !DIGlobalVariable(name: "g", scope: !5, file: !6, line: 9, type: !8, isLocal: false, isDefinition: true)
!26 = !DIImportedEntity(tag: DW_TAG_imported_module, scope: !5, entity: !10, file: !6, line: 3)
!27 = !DITemplateTypeParameter(name: "T", type: !8)
!28 = !DITemplateValueParameter(name: "V", type: !8, value: i32 3)
!29 = !DINamespace(name: "n", scope: null, exportSymbols: true)
!30 = !DIObjCProperty(name: "p", file: !6, line: 1)
!31 = !DIMacro(type: DW_MACINFO_define, line: 1, name: "M", value: "1")
!32 = !DIMacroFile(line: 0, file: !6, nodes: !33)
!33 = !{!31}
!34 = !GenericDINode(tag: 4, header: "h", operands: {!1, null})
!35 = distinct !DIAssignID()
^0 = module: (path: "a.o", hash: (1, 2, 3, 4, 5))
^1 = gv: (guid: 5, summaries: (function: (module: ^0, flags: (linkage: external, visibility: default), insts: 3)))
^2 = flags: 8
^3 = blockcount: 0
