//! The worked example of `docs/add-an-analysis.md`: an analysis, its twin, its query, and the tests
//! that every analysis has. The page shows parts of this file; a test compares them.

#[path = "support.rs"]
mod support;

use expect_test::expect;
use phalanx_analysis::lower::Numbering;
use phalanx_db::{FunctionInput, queries};
use phalanx_ir::{BlockId, Body, Flow, InstBuilder, InstId, Opcode, flow::block_of};
use support::Fixture;

// [analysis]
/// The longest chain of operations that each depend on the one before and on the thread: how long
/// one lane has to wait at least. Chains through phis are cut, so a loop counts once.
///
/// Blocks come in reverse post-order, in which definitions stand before their uses. O(operands).
fn longest_chain(body: &Body, order: &[BlockId], is_divergent: impl Fn(InstId) -> bool) -> u32 {
    let mut length = vec![0; body.id_count()];
    for inst in order.iter().flat_map(|&block| body.block_insts(block)) {
        if body.inst(inst).opcode == Opcode::Phi || !is_divergent(inst) {
            continue;
        }
        let before = body.operands(inst).iter().filter_map(|operand| operand.as_inst());
        let longest = before.map(|operand| length[number(operand)]).max();
        length[number(inst)] = 1 + longest.unwrap_or(0);
    }
    length.into_iter().max().unwrap_or(0)
}
// [end]

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

// [query]
/// The longest chain of operations that depend on the thread. 0 for a declaration.
///
/// *Reads* `header`, `body`, `divergence`, `dfs`. *Changes when* the length does. *Cost*
/// O(operands).
#[salsa::tracked(returns(copy))]
fn longest_divergent_chain(db: &dyn salsa::Database, function: FunctionInput) -> u32 {
    let (Some(divergence), Some(dfs)) =
        (queries::divergence(db, function).as_ref(), queries::dfs(db, function))
    else {
        return 0;
    };
    let order: Vec<BlockId> = dfs.rpo().map(block_of).collect();
    let numbering = Numbering::new(function.header(db));
    let is_divergent = |inst| !divergence.value(numbering.inst(inst)).is_empty();
    longest_chain(function.body(db), &order, is_divergent)
}
// [end]

// [twin]
/// The definition again, from each operation upwards, with no order of blocks.
fn longest_chain_slowly(body: &Body, flow: &Flow, is_divergent: impl Fn(InstId) -> bool) -> u32 {
    let counts = |inst: InstId| body.inst(inst).opcode != Opcode::Phi && is_divergent(inst);
    let all = flow.order().iter().flat_map(|&block| body.block_insts(block));
    let mut longest = 0;
    for inst in all.filter(|&inst| counts(inst)) {
        let mut work = vec![(inst, 1)];
        while let Some((inst, length)) = work.pop() {
            longest = longest.max(length);
            let before = body.operands(inst).iter().filter_map(|operand| operand.as_inst());
            work.extend(before.filter(|&inst| counts(inst)).map(|inst| (inst, length + 1)));
        }
    }
    longest
}
// [end]

const TEXT: &str = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = mul i32 %tid, 3
  %uniform = mul i32 %n, 3
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %b = add i32 %a, %i
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %b
  store i32 %uniform, ptr addrspace(1) %to
  ret void
}
"#;

fn twin(fixture: &Fixture) -> u32 {
    let (db, function) = (&fixture.db, fixture.edited());
    let divergence = queries::divergence(db, function).as_ref().expect("it has a body");
    let numbering = Numbering::new(function.header(db));
    let is_divergent = |inst| !divergence.value(numbering.inst(inst)).is_empty();
    longest_chain_slowly(function.body(db), function.flow(db), is_divergent)
}

// [golden]
#[test]
fn a_chain_ends_at_what_all_threads_share() {
    let fixture = Fixture::of(TEXT, "k");
    let found = longest_divergent_chain(&fixture.db, fixture.edited());
    // %tid, %a, %b, %to and the store.
    expect!["5"].assert_eq(&found.to_string());
    assert_eq!(found, twin(&fixture));
}
// [end]

// [edits]
#[test]
fn warm_equals_cold() {
    let mut fixture = Fixture::of(TEXT, "k");
    longest_divergent_chain(&fixture.db, fixture.edited());
    let [a, b, uniform] = ["a", "b", "uniform"].map(|name| fixture.named(name));
    type Edit = fn([InstId; 3], &mut Fixture);
    let edits: [Edit; 4] = [
        |[_, b, _], f| f.edit(|edit| edit.after(b).add(b, b).map(drop)),
        |[a, b, _], f| f.edit(|edit| edit.set_operand(b, 1, a)),
        |[_, b, uniform], f| f.edit(|edit| edit.set_operand(b, 0, uniform)),
        |[_, b, _], f| f.edit(|edit| edit.split_before(b, "").map(drop)),
    ];
    for edit in edits {
        edit([a, b, uniform], &mut fixture);
        let (cold, entries) = fixture.cold();
        let fresh = entries.iter().find(|entry| entry.is_definition).expect("the kernel");
        let found = longest_divergent_chain(&fixture.db, fixture.edited());
        assert_eq!(found, longest_divergent_chain(&cold, fresh.input), "from scratch");
        assert_eq!(found, twin(&fixture), "by the definition");
    }
}
// [end]

/// Each part of the page that names a section of this file shows that section.
#[test]
fn the_page_shows_this_file() {
    let page = include_str!("../../../../docs/add-an-analysis.md");
    let file = include_str!("an_analysis.rs");
    for section in ["analysis", "query", "twin", "golden", "edits"] {
        let begin = format!("// [{section}]\n");
        let (_, behind) = file.split_once(&begin).expect("the section");
        let (text, _) = behind.split_once("// [end]\n").expect("it ends");
        assert!(page.contains(&format!("```rust\n{text}```")), "[{section}] is not on the page");
    }
}
