//! What is found where a block is split, in a graph that is large enough for that to be followed.

use super::Fixture;
use phalanx_analysis::check::Rule;
use phalanx_db::queries;
use phalanx_ir::{InstBuilder, Value, builder::Callee, edit::Transaction};

/// A function of 71 blocks, of which the last parts threads and leads to `b` and `x`.
fn parted(head: &str, tail: &str) -> String {
    let mut text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         @lds = internal addrspace(3) global [64 x i32] undef\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n{head} {{\n"
    );
    for at in 0..70 {
        let sums = (1..5).map(|v| format!("  %v{at}.{v} = add i32 %n, {v}\n")).collect::<String>();
        text.push_str(&format!("p{at}:\n{sums}  br label %p{}\n", at + 1));
    }
    text.push_str(
        "p70:\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %c = icmp ult i32 %tid, %n\n  \
         br i1 %c, label %b, label %x\n",
    );
    text + tail + "}\n"
}

/// A barrier that some threads come to and others do not, as others return at the end of `x`.
#[test]
fn a_block_is_split_and_no_way_out_any_more() {
    let barrier = "@llvm.nvvm.barrier.cta.sync.aligned.all(i32";
    let mut fixture = Fixture::of(
        &parted(
            &format!("declare void {barrier})\ndefine void @kernel(i32 %n)"),
            &format!(
                "b:\n  call void {barrier} 0)\n  ret void\n\
                 x:\n  store i32 %n, ptr addrspace(3) @lds\n  ret void\n"
            ),
        ),
        "kernel",
    );
    assert_eq!(fixture.rules(), [Rule::DivergentBarrier]);
    let made =
        |fixture: &Fixture| queries::kept_answers(&fixture.db, fixture.edited()).findings.solved;
    let before = made(&fixture);
    let place = |edit: &Transaction<'_>| {
        let &last =
            edit.flow().order().iter().rfind(|&&b| edit.body().block_insts(b).count() > 1)?;
        edit.body().block_insts(last).next()
    };
    fixture.edit(|edit| {
        let store = place(edit).expect("the store is the first in the last block");
        edit.split_before(store, "").map(drop)
    });
    assert_eq!(fixture.rules(), [Rule::DivergentBarrier]);
    assert_eq!(made(&fixture), before, "it has nothing to do with the barrier");
    fixture.edit(|edit| {
        let store = place(edit).expect("the store is the first in the last block");
        let rest = edit.split_before(store, "")?;
        edit.replace_terminator(rest).unreachable().map(drop)
    });
    assert_eq!(fixture.rules(), [Rule::BarrierAfterExit]);
}

/// A barrier for as many threads as a workgroup has. It is a barrier of all threads, unless a
/// callee may execute it, too.
#[test]
fn a_block_is_split_and_somebody_is_called() {
    let barrier = "@llvm.nvvm.barrier.cta.sync.count(i32";
    let head = format!(
        "declare void {barrier}, i32)\ndeclare void @computes(i32) memory(none)\n\
         define ptx_kernel void @kernel(i32 %n) \"nvvm.reqntid\"=\"64\""
    );
    let tail = format!("b:\n  call void {barrier} 0, i32 64)\n  br label %x\nx:\n  ret void\n");
    let mut fixture = Fixture::of(&parted(&head, &tail), "kernel");
    assert_eq!(fixture.rules(), [Rule::BarrierAfterExit]);
    let sum = fixture.named("v3.1");
    let header = fixture.function("computes").header(&fixture.db).clone();
    let callee = fixture.context.const_global(header.name, 0).into();
    let computes = Callee::indirect(callee, header.ty);
    fixture.edit(|edit| {
        edit.before(sum).call(computes, &[Value::arg(0)])?;
        edit.split_before(sum, "").map(drop)
    });
    assert_eq!(fixture.rules(), []);
}
