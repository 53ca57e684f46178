//! Random transactions on constructs that random programs lack: block addresses, indirect branches,
//! inline assembly that jumps, exception pads, blocks that are their own predecessor, parallel
//! edges, and debug information about all that.
//!
//! A transaction that is undone or refused changes nothing, including facts. A committed one breaks
//! no rule except dominance, which is up to the transform that moves code.

use phalanx::{
    FunctionId, ModuleId, Session,
    db::queries,
    ir::{BuildError, InstBuilder, edit::Transaction},
    prelude::*,
};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};

const TEXT: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@where = constant ptr blockaddress(@f, %taken)
declare i32 @g()
declare void @llvm.test(metadata)
define i32 @f(i1 %c, i32 %n, ptr %p) personality ptr null !dbg !5 {
entry:
  %x = add i32 %n, 1
    #dbg_value(i32 %x, !7, !DIExpression(), !8)
  br i1 %c, label %self, label %taken
self:
  %i = phi i32 [ %x, %entry ], [ %j, %self ]
  %j = add i32 %i, 1
  call void @llvm.test(metadata i32 %j), !dbg !8
  %t = icmp slt i32 %j, 10
    #dbg_value(!DIArgList(i32 %i, i32 %j), !7, !DIExpression(DW_OP_LLVM_arg, 0), !8)
  br i1 %t, label %self, label %many
many:
  %m = phi i32 [ %j, %self ]
  switch i32 %m, label %join [
    i32 0, label %join
    i32 1, label %round
    i32 2, label %round
  ], !prof !0
round:
  %k = phi i32 [ %m, %many ], [ %m, %many ], [ %l, %round ], [ %l, %round ]
  %l = mul i32 %k, 3
  switch i32 %l, label %join [
    i32 3, label %round
    i32 4, label %round
  ]
taken:
  %a = phi i32 [ %x, %entry ], [ %b, %asm ]
  indirectbr ptr %p, [label %asm, label %join, label %asm]
asm:
  %b = add i32 %a, 7
  callbr void asm sideeffect "", "!i,!i"() to label %call [label %taken, label %join]
call:
  %v = invoke i32 @g() to label %join unwind label %pad
pad:
  %w = landingpad { ptr, i32 } cleanup
    #dbg_value({ ptr, i32 } %w, !7, !DIExpression(), !8)
  resume { ptr, i32 } %w
join:
  %r = phi i32 [ %m, %many ], [ %m, %many ], [ %l, %round ], [ %a, %taken ], [ %b, %asm ], [ %v, %call ]
  ret i32 %r
}
define i32 @funclets(i1 %c, i32 %n) personality ptr @__CxxFrameHandler3 {
entry:
  %v = invoke i32 @g() to label %done unwind label %switch
switch:
  %s = catchswitch within none [label %handler] unwind to caller
handler:
  %h = catchpad within %s [ptr null, i32 64, ptr null]
  %q = call i32 @g() [ "funclet"(token %h) ]
  catchret from %h to label %done
done:
  %d = phi i32 [ %v, %entry ], [ %q, %handler ]
  br i1 %c, label %done2, label %done2
done2:
  %e = phi i32 [ %d, %done ], [ %d, %done ]
  ret i32 %e
}
declare i32 @__CxxFrameHandler3(...)
!llvm.dbg.cu = !{!3}
!llvm.module.flags = !{!1}
!0 = !{!"branch_weights", i32 1, i32 2, i32 3, i32 4}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "f.c", directory: "/")
!3 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: FullDebug)
!4 = !DISubroutineType(types: !6)
!5 = distinct !DISubprogram(name: "f", file: !2, type: !4, unit: !3, spFlags: DISPFlagDefinition)
!6 = !{null}
!7 = !DILocalVariable(name: "v", scope: !5, file: !2)
!8 = !DILocation(line: 1, scope: !5)
"#;

/// Gives the phis of a block zero for edges without a value.
fn complete(edit: &mut Transaction<'_>, to: BlockId) -> Result<(), BuildError> {
    let phis: Vec<InstId> = edit.body().phis(to).collect();
    for from in edit.flow().order().to_vec() {
        let edges = edit.flow().successors(from).iter().filter(|&&next| next == to).count();
        for &phi in &phis {
            let zero = edit.context().const_zero(edit.body().inst(phi).ty);
            let present = edit.body().phi_incoming(phi).filter(|(_, b)| *b == from).count();
            for _ in present..edges {
                edit.add_phi_input(phi, zero, from)?;
            }
        }
    }
    Ok(())
}

fn one(edit: &mut Transaction<'_>, rng: &mut SmallRng) -> Result<(), BuildError> {
    let order = edit.flow().order().to_vec();
    let [a, b] = [0, 1].map(|_| *order.choose(rng).expect("it has blocks"));
    let insts: Vec<InstId> = order.iter().flat_map(|&b| edit.body().block_insts(b)).collect();
    let [x, y] = [0, 1].map(|_| *insts.choose(rng).expect("it has instructions"));
    let index = rng.random_range(0..4);
    let value = edit.context().const_i32(rng.random_range(0..6));
    // Of the same type as `x`: another instruction, or nothing in particular.
    let ty = edit.body().inst(x).ty;
    let same: Vec<InstId> =
        insts.iter().copied().filter(|&i| edit.body().inst(i).ty == ty && i != x).collect();
    let other: Value = match same.choose(rng) {
        Some(&other) if rng.random_bool(0.7) => other.into(),
        _ if ty == phalanx::ir::Type::VOID => x.into(),
        _ => edit.context().const_poison(ty).into(),
    };
    match rng.random_range(0..17) {
        0 | 1 => edit.redirect_edge(a, index, b),
        2 => edit.split_before(x, "split").map(drop),
        3 => edit.split_edge(a, index, "edge").map(drop),
        4 | 5 => edit.merge_successor(a),
        6 | 7 => {
            let region: Vec<BlockId> =
                order.iter().copied().filter(|_| rng.random_bool(0.3)).collect();
            let clones = edit.clone_blocks(&region)?;
            match clones.block(b) {
                Some(clone) => edit.redirect_edge(a, index, clone),
                None => Ok(()),
            }
        }
        8 => edit.erase_unreachable().map(drop),
        9 => edit.replace_all_uses(x, other),
        10 => edit.replace(x, other),
        11 => edit.replace_uses_where(x, other, |_| rng.random_bool(0.5)),
        12 => edit.add_case(a, value, b).map(drop),
        13 => edit.remove_case(a, index),
        14 => edit.move_before(x, y),
        15 => edit.erase_block(a),
        _ => match index {
            0 => edit.replace_terminator(a).br(b).map(drop),
            1 => edit.replace_terminator(a).switch(value, b, &[(value, b)]).map(drop),
            2 => edit.replace_terminator(a).cond_br(Value::arg(0), b, a).map(drop),
            _ => edit.replace_terminator(a).ret(value).map(drop),
        },
    }
}

/// What is known of a function.
fn facts(session: &Session, function: FunctionId) -> String {
    let (db, f) = (session.database(), function.input());
    format!(
        "{:?}{:?}{:?}{:?}{:?}{:?}{:?}{:?}",
        queries::divergence(db, f),
        queries::uniformity(db, f),
        queries::control_divergence(db, f),
        queries::memory_kinds(db, f),
        queries::memory_accesses(db, f),
        queries::load_classes(db, f),
        queries::diagnostics(db, f),
        session.cycles(function),
    )
}

fn print(session: &Session, module: ModuleId) -> String {
    String::from_utf8(session.print(module)).expect("it is UTF-8")
}

#[test]
fn what_is_taken_back_leaves_nothing_and_what_is_kept_breaks_nothing() {
    let mut kept = 0;
    for seed in 0..150 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut session = Session::new();
        let module = session.read(TEXT.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
        let name = if seed % 3 == 0 { "funclets" } else { "f" };
        let function = session.function(module, name).expect("it is defined");
        for round in 0..12 {
            let (before, text) = (session.code(function).to_function(), print(&session, module));
            let known = facts(&session, function);
            let aborts = rng.random_bool(0.3);
            let done: Result<(), BuildError> = session.edit(function, |edit| {
                edit.verifying(false);
                if rng.random_bool(0.5) {
                    edit.is_used(Value::arg(0));
                }
                let mut done = 0;
                for _ in 0..30 {
                    done += usize::from(one(edit, rng).is_ok());
                    if done > round % 3 {
                        break;
                    }
                }
                for block in edit.flow().order().to_vec() {
                    complete(edit, block)?;
                }
                match aborts {
                    true => edit.erase(InstId::from_raw(100_000_000.into())),
                    false => Ok(()),
                }
            });
            let after = print(&session, module);
            if done.is_err() {
                assert!(session.code(function).to_function() == before, "{seed}: {text}\n{after}");
                assert_eq!(after, text, "{seed}");
                assert_eq!(facts(&session, function), known, "{seed}: {text}");
                continue;
            }
            let mut fresh = Session::new();
            match fresh.read(after.as_bytes()) {
                Ok(copy) => {
                    kept += 1;
                    assert_eq!(print(&fresh, copy), after, "{seed}");
                }
                Err(error) => {
                    let error = error.to_string();
                    let is_for_who_moves = error.contains("does not dominate")
                        || error.contains("Only PHI nodes may reference their own value!");
                    assert!(is_for_who_moves, "{seed}: {error}\n{text}\n{after}");
                    session.reread(module, text.as_bytes()).expect("it was read before");
                }
            }
        }
    }
    assert!(kept > 500, "only {kept} were kept");
}
