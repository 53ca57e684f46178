//! Records several changes of locations in a row, and checks the resulting locations.

use std::sync::Arc;

use phalanx_db::{Database, TargetOverrides};
use phalanx_ir::{
    Context, InstId,
    edit::Transaction,
    metadata::{Field, Metadata, MetadataId, kind},
};

use super::{Locations, int, node, scope};
use crate::pass::PassError;

/// Instructions of `f`, by number: calls of a function at lines 1, 1, 3 and 2 (the latter in a
/// block of the source); a call at line 44 of a function that was inlined there, one at line 45
/// likewise, one at line 61 of another that was; a call without a location, one of an intrinsic;
/// three sums at lines 1, 1 and 3, and two at lines 5 and 2 of that block; two calls that were
/// inlined from one function into two others, which were inlined at one place.
const TEXT: &str = r#"
define amdgpu_kernel void @f(i32 %a) !dbg !10 {
  call void @callee(), !dbg !1
  call void @callee(), !dbg !1
  call void @callee(), !dbg !3
  call void @callee(), !dbg !2
  call void @callee(), !dbg !4
  call void @callee(), !dbg !6
  call void @callee(), !dbg !7
  call void @callee()
  %x = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !1
  %s = add i32 %a, 1, !dbg !1
  %t = add i32 %a, 2, !dbg !1
  %u = add i32 %a, 3, !dbg !3
  %v = add i32 %a, 4, !dbg !5
  %w = add i32 %a, 5, !dbg !2
  call void @callee(), !dbg !8
  call void @callee(), !dbg !9
  ret void, !dbg !3
}
declare void @callee()
declare i32 @llvm.amdgcn.workitem.id.x()
!llvm.dbg.cu = !{!11}
!llvm.module.flags = !{!12}
!1 = !DILocation(line: 1, column: 7, scope: !10)
!2 = !DILocation(line: 2, column: 7, scope: !15)
!3 = !DILocation(line: 3, column: 7, scope: !10)
!4 = !DILocation(line: 44, column: 7, scope: !16, inlinedAt: !2)
!5 = !DILocation(line: 5, column: 9, scope: !15)
!6 = !DILocation(line: 45, column: 7, scope: !16, inlinedAt: !2)
!7 = !DILocation(line: 61, column: 7, scope: !17, inlinedAt: !2)
!8 = !DILocation(line: 62, column: 7, scope: !17, inlinedAt: !4)
!9 = !DILocation(line: 63, column: 7, scope: !17, inlinedAt: !7)
!10 = distinct !DISubprogram(name: "f", file: !13, line: 10, type: !14, unit: !11, spFlags: DISPFlagDefinition)
!11 = distinct !DICompileUnit(language: DW_LANG_C99, file: !13, emissionKind: FullDebug)
!12 = !{i32 2, !"Debug Info Version", i32 3}
!13 = !DIFile(filename: "f.c", directory: "/")
!14 = !DISubroutineType(types: !{})
!15 = distinct !DILexicalBlock(scope: !10, file: !13, line: 20)
!16 = distinct !DISubprogram(name: "callee", file: !13, line: 40, type: !14, unit: !11, spFlags: DISPFlagDefinition)
!17 = distinct !DISubprogram(name: "other", file: !13, line: 60, type: !14, unit: !11, spFlags: DISPFlagDefinition)
"#;

const ONE: usize = 0;
const SAME: usize = 1;
const THREE: usize = 2;
const TWO: usize = 3;
const INLINED: usize = 4;
const INLINED_TOO: usize = 5;
const OF_OTHER: usize = 6;
const NOWHERE: usize = 7;
const INTRINSIC: usize = 8;
const SUM: usize = 9;
const SAME_SUM: usize = 10;
const OTHER_SUM: usize = 11;
const SUM_IN_BLOCK: usize = 12;
const SUM_BESIDE: usize = 13;
const DEEP: usize = 14;
const DEEP_ELSEWHERE: usize = 15;

type Steps = fn(&mut Locations, &mut Transaction<'_>, &[InstId]) -> Result<(), PassError>;

/// Locations of instructions after some recorded changes: line, column and the line of the scope,
/// innermost first.
fn places<const N: usize>(steps: Steps, of: [usize; N]) -> [String; N] {
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), TEXT.as_bytes());
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}"));
    let mut db = Database::new();
    let module = db.load(parsed.module, None, TargetOverrides::default());
    let function = module.functions(&db)[0].input;
    let insts: Vec<InstId> = function.body(&db).all_ids().collect();
    let mut locations = Locations::new();
    let done = db.edit(function, |edit| steps(&mut locations, edit, &insts));
    done.expect("they are instructions of the function");
    locations.finish(&mut db, function).expect("what is made is well-formed");
    let metadata = &module.shell(&db).metadata;
    of.map(|at| {
        let mut attached = function.extras(&db).attachments_of(insts[at]);
        let own = attached.find(|attachment| attachment.kind == kind::DBG);
        own.map_or_else(|| "none".to_owned(), |own| place(metadata, own.node))
    })
}

fn place(metadata: &Metadata, at: MetadataId) -> String {
    let of_scope = scope(metadata, at).map_or(0, |scope| int(metadata, scope, Field::Line));
    let [line, column] = [Field::Line, Field::Column].map(|field| int(metadata, at, field));
    let own = format!("{line}:{column} in {of_scope}");
    match node(metadata, at, Field::InlinedAt) {
        Some(outer) => format!("{own}, {}", place(metadata, outer)),
        None => own,
    }
}

#[test]
fn equal_locations_stay() {
    let found = places(|to, edit, of| to.merge(edit, of[ONE], of[SAME]), [ONE, SAME]);
    assert_eq!(found, ["1:7 in 10", "1:7 in 10"]);
}

#[test]
fn what_stands_for_something_merged_stands_for_all_of_it() {
    let steps: Steps = |to, edit, of| {
        to.merge(edit, of[SAME], of[THREE])?;
        to.merge(edit, of[ONE], of[SAME])
    };
    assert_eq!(places(steps, [ONE, SAME]), ["0:0 in 10", "1:7 in 10"]);
    let steps: Steps = |to, edit, of| {
        to.merge(edit, of[ONE], of[THREE])?;
        to.merge(edit, of[ONE], of[SAME])
    };
    assert_eq!(places(steps, [ONE]), ["0:0 in 10"]);
}

#[test]
fn a_scope_is_one_that_both_are_in() {
    let steps: Steps = |to, edit, of| {
        to.merge(edit, of[TWO], of[ONE])?;
        to.merge(edit, of[SUM_IN_BLOCK], of[TWO])?;
        to.merge(edit, of[SUM], of[OTHER_SUM])
    };
    assert_eq!(places(steps, [SUM_IN_BLOCK, SUM]), ["0:0 in 10", "0:0 in 10"]);
    let steps: Steps = |to, edit, of| to.merge(edit, of[SUM_IN_BLOCK], of[TWO]);
    assert_eq!(places(steps, [SUM_IN_BLOCK]), ["0:0 in 20"]);
}

#[test]
fn of_what_was_inlined_the_place_stays_that_is_one() {
    let steps: Steps = |to, edit, of| to.merge(edit, of[INLINED], of[INLINED_TOO]);
    assert_eq!(places(steps, [INLINED]), ["0:0 in 40, 2:7 in 20"]);
    let steps: Steps = |to, edit, of| to.merge(edit, of[INLINED], of[OF_OTHER]);
    assert_eq!(places(steps, [INLINED]), ["2:7 in 20"]);
    let steps: Steps = |to, edit, of| to.merge(edit, of[DEEP], of[DEEP_ELSEWHERE]);
    assert_eq!(places(steps, [DEEP]), ["2:7 in 20"]);
}

#[test]
fn a_call_that_moves_is_somewhere_in_its_function() {
    let steps: Steps = |to, edit, of| {
        to.drop(edit, of[ONE])?;
        to.drop(edit, of[INLINED])?;
        to.drop(edit, of[INTRINSIC])?;
        to.drop(edit, of[SUM])
    };
    let found = places(steps, [ONE, INLINED, INTRINSIC, SUM]);
    assert_eq!(found, ["0:0 in 10", "0:0 in 10", "none", "none"]);
    let steps: Steps = |to, edit, of| to.merge(edit, of[SUM], of[NOWHERE]);
    assert_eq!(places(steps, [SUM]), ["none"]);
}

#[test]
fn what_stands_for_something_that_has_moved_has_no_line_either() {
    let steps: Steps = |to, edit, of| {
        to.drop(edit, of[SAME])?;
        to.merge(edit, of[ONE], of[SAME])
    };
    assert_eq!(places(steps, [ONE]), ["0:0 in 10"]);
    let steps: Steps = |to, edit, of| {
        to.merge(edit, of[SUM], of[OTHER_SUM])?;
        to.drop(edit, of[SUM])
    };
    assert_eq!(places(steps, [SUM]), ["none"]);
    // The same locations; one call has moved as well.
    let steps: Steps = |to, edit, of| {
        to.merge(edit, of[TWO], of[SUM_IN_BLOCK])?;
        to.drop(edit, of[TWO])?;
        to.merge(edit, of[SUM_IN_BLOCK], of[SUM_BESIDE])
    };
    assert_eq!(places(steps, [TWO, SUM_IN_BLOCK]), ["0:0 in 10", "0:0 in 20"]);
}

#[test]
fn of_what_is_gone_nothing_is_made() {
    let steps: Steps = |to, edit, of| {
        to.merge(edit, of[SUM], of[OTHER_SUM])?;
        Ok(edit.erase(of[SUM])?)
    };
    assert_eq!(places(steps, [SAME_SUM]), ["1:7 in 10"]);
}
