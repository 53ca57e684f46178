//! Which edit leaves what is known of the calls and the writes of a large function as it is, and
//! that it is what a new database finds.

mod findings;

mod random;
mod splits;
#[path = "support.rs"]
mod support;

use std::sync::Arc;

use phalanx_analysis::{check::Rule, stable::Assumptions};
use phalanx_core::barriers::BarrierModel;
use phalanx_db::queries;
use phalanx_ir::{BuildError, InstBuilder, InstId, Type, Value};
use phalanx_target::{LaunchStatement, SourceSet};
use phalanx_testing::files::check_table;
use support::Fixture;

const ASSUMED: Assumptions = Assumptions { barriers: Some(BarrierModel::Strict), race_free: false };

/// A kernel with two branches, one within the other; calls of what is defined here, elsewhere and
/// in the target; and `long` sums.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global [4 x i32] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @computes(i32) memory(none)
declare void @together(i32) convergent memory(none)

define internal void @leaf(i32 %n) {
  %here = addrspacecast ptr addrspace(3) @lds to ptr
  %there = addrspacecast ptr addrspace(1) @dev to ptr
  store i32 %n, ptr %here
  call void @computes(i32 %n)
  ret void
}

define void @meet(i32 %n) {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v0 = add i32 %n, 1
  %v1 = mul i32 %v0, %v0
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %g = addrspacecast ptr addrspace(1) @dev to ptr
  %a = getelementptr inbounds i32, ptr %s, i32 %n
  %b = getelementptr inbounds i32, ptr %a, i32 1
  store i32 %v0, ptr %b
  call void @leaf(i32 %v0)
  %u = add i32 %v0, %n
  call void @computes(i32 %u)
  %c = icmp slt i32 %v1, %n
  br i1 %c, label %outer, label %exit
outer:
  %w = add i32 %v1, %n
  %d = icmp slt i32 %w, %v0
  br i1 %d, label %inner, label %join
inner:
  call void @together(i32 %w)
  br label %join
join:
  call void @together(i32 %n)
  store i32 %n, ptr addrspace(1) %out
  br label %exit
exit:
  %x0 = add i32 %n, 1
"#,
    );
    for at in 1..=long {
        text.push_str(&format!("  %x{at} = add i32 %x{}, %n\n", at - 1));
    }
    text.push_str("  ret void\n}\n");
    text
}

impl Fixture {
    /// With everything asked often enough to be kept.
    fn new(long: usize) -> Self {
        Fixture::warm(&text(long))
    }

    fn warm(text: &str) -> Self {
        let mut fixture = Fixture::of(text, "kernel");
        fixture.ask();
        for operand in [7, 8, 7] {
            let (at, operand) = (fixture.named("x0"), constant(&fixture, operand));
            fixture.edit(|edit| edit.set_operand(at, 1, operand));
            fixture.ask();
        }
        // A branch diverges otherwise, and back.
        let (w, tid) = (fixture.named("w"), fixture.named("tid"));
        let was = fixture.edited().body(&fixture.db).operands(w)[1];
        for operand in [tid.into(), was] {
            fixture.edit(|edit| edit.set_operand(w, 1, operand));
            fixture.ask();
        }
        fixture
    }

    fn ask(&self) {
        for entry in self.module.functions(&self.db).iter().filter(|e| e.is_definition) {
            queries::control_divergence(&self.db, entry.input);
            queries::edge_divergence(&self.db, entry.input);
            queries::own_barriers(&self.db, entry.input);
            queries::diagnostics(&self.db, entry.input);
            queries::callees(&self.db, entry.input);
            queries::convergence(&self.db, entry.input);
            queries::written_spaces(&self.db, entry.input);
            queries::space_conflicts(&self.db, entry.input);
        }
    }

    fn counts(&self) -> queries::KeptAnswers {
        queries::kept_answers(&self.db, self.edited())
    }

    /// How each was found after an edit, as cells of a table.
    fn found(&self) -> String {
        let before = self.counts();
        self.ask();
        let now = self.counts();
        let answer = |of: fn(&queries::KeptAnswers) -> queries::Ways| {
            let (before, now) = (&of(&before), &of(&now));
            let is_more = |of: fn(&queries::Ways) -> u64| of(now) > of(before);
            match [is_more(|a| a.solved), is_more(|a| a.repaired), is_more(|a| a.kept)] {
                [true, ..] => "anew",
                [_, true, _] => "repaired",
                [.., true] => "kept",
                _ => "not asked",
            }
        };
        let answers = [
            answer(|all| all.waits),
            answer(|all| all.sites),
            answer(|all| all.findings),
            answer(|all| all.callees),
            answer(|all| all.convergence),
            answer(|all| all.written),
            answer(|all| all.conflicts),
        ];
        answers.join(" | ")
    }

    /// What is found in the function that is edited.
    fn rules(&self) -> Vec<Rule> {
        let found = queries::diagnostics(&self.db, self.edited()).as_deref().into_iter().flatten();
        found.map(|finding| finding.rule).collect()
    }

    /// Whether all of it is what a new database finds.
    #[track_caller]
    fn check(&self, what: &str) {
        let (db, cold) = self.cold();
        let all = self.module.functions(&self.db).iter().zip(&cold);
        for (warm, cold) in all.filter(|(warm, _)| warm.is_definition) {
            macro_rules! same {
                ($($query:ident)*) => {$(
                    let (known, found) =
                        (queries::$query(&self.db, warm.input), queries::$query(&db, cold.input));
                    assert!(known == found, "{what}: {}", stringify!($query));
                )*};
            }
            same!(control_divergence edge_divergence own_barriers diagnostics callees convergence);
            same!(written_spaces space_conflicts load_classes);
            let control = |db, f| queries::assumed_control_divergence(db, f, ASSUMED);
            let (known, found) = (control(&self.db, warm.input), control(&db, cold.input));
            assert!(known == found, "{what}: control divergence under assumptions");
        }
    }
}

fn constant(fixture: &Fixture, number: i32) -> Value {
    Value::constant(fixture.context.const_i32(number))
}

/// The first call of a function in the kernel.
fn call_of(fixture: &Fixture, name: &str) -> InstId {
    let body = fixture.edited().body(&fixture.db);
    let symbol = fixture.context.find_symbol(name.as_bytes()).expect("the name is interned");
    let calls = fixture.edited().mentions(&fixture.db).calls().iter();
    let mut calls = calls.filter(|(call, _)| body.block_of(*call).is_some());
    calls.find(|(_, of)| of.symbol() == Some(symbol)).expect("it is called").0
}

/// Something that is called, as an operand.
fn callee_of(fixture: &Fixture, call: InstId) -> Value {
    fixture.edited().body(&fixture.db).callee(call)
}

type Edit = fn(&mut Fixture);

const EDITS: &[(&str, Edit)] = &[
    ("an operand of a sum", |f| {
        let (x, seven) = (f.named("x1"), constant(f, 7));
        f.edit(|edit| edit.set_operand(x, 1, seven));
    }),
    ("an operand; another branch diverges", |f| {
        let (w, tid) = (f.named("w"), f.named("tid"));
        f.edit(|edit| edit.set_operand(w, 1, tid));
    }),
    ("an operand; all branches diverge", |f| {
        let (v, tid) = (f.named("v0"), f.named("tid"));
        f.edit(|edit| edit.set_operand(v, 0, tid));
    }),
    ("a sum more, before a call", |f| {
        let (call, v) = (call_of(f, "leaf"), f.named("v0"));
        f.edit(|edit| edit.before(call).add(v, v));
    }),
    ("what is stored", |f| {
        let (b, v) = (f.named("b"), f.named("v1"));
        let store = f.edited().body(&f.db).next(b).expect("a store");
        f.edit(|edit| edit.set_operand(store, 0, v));
    }),
    ("a load more", |f| {
        let (v, b) = (f.named("u"), f.named("b"));
        f.edit(|edit| edit.before(v).load(Type::I32, b));
    }),
    ("a store more", |f| {
        let (u, v, b) = (f.named("u"), f.named("v0"), f.named("b"));
        f.edit(|edit| edit.before(u).store(v, b));
    }),
    ("a base, far from the store; it leads elsewhere", |f| {
        let (a, g) = (f.named("a"), f.named("g"));
        f.edit(|edit| edit.set_operand(a, 0, g));
    }),
    ("what a function is given", |f| {
        let (call, v) = (call_of(f, "together"), f.named("v0"));
        f.edit(|edit| edit.set_operand(call, 0, v));
    }),
    ("another function is called", |f| {
        let (call, other) = (call_of(f, "computes"), call_of(f, "together"));
        let callee = callee_of(f, other);
        f.edit(|edit| edit.set_operand(call, 1, callee));
    }),
    ("a call more", |f| {
        let call = call_of(f, "leaf");
        f.edit(|edit| edit.after(call).clone_of(call));
    }),
    ("a call less", |f| {
        let call = call_of(f, "together");
        f.edit(|edit| edit.erase(call));
    }),
    ("a call in another block", |f| {
        let (call, d) = (call_of(f, "together"), f.named("d"));
        f.edit(|edit| edit.move_before(call, d));
    }),
    ("a block split", |f| {
        let u = f.named("u");
        f.edit(|edit| edit.split_before(u, "").map(drop));
    }),
    ("an aborted edit of a call", |f| {
        let (call, v, kernel) = (call_of(f, "leaf"), f.named("v1"), f.edited());
        let done: Result<(), BuildError> = f.db.edit(kernel, |edit| {
            edit.set_operand(call, 0, v)?;
            edit.erase(v)
        });
        assert!(done.is_err(), "what is read cannot be erased");
    }),
    ("a callee: a store of it leads elsewhere", |f| {
        let leaf = f.function("leaf");
        let insts: Vec<InstId> = leaf.body(&f.db).all_ids().collect();
        let done: Result<(), BuildError> =
            f.db.edit(leaf, |edit| edit.set_operand(insts[2], 1, insts[1]));
        done.expect("the edit breaks no rule");
    }),
    ("a callee comes to have a barrier", |f| {
        let (meet, leaf) = (f.function("meet"), f.function("leaf"));
        let barrier = meet.body(&f.db).all_ids().next().expect("it has a barrier");
        let barrier = meet.body(&f.db).callee(barrier);
        let call = leaf.body(&f.db).all_ids().nth(3).expect("it calls something");
        let done: Result<(), BuildError> =
            f.db.edit(leaf, |edit| edit.set_operand(call, 1, barrier));
        done.expect("the edit breaks no rule");
    }),
    ("a callee becomes convergent", |f| {
        let attributes = f.function("together").header(&f.db).attributes;
        let computes = f.function("computes");
        let done = f.db.edit_header(computes, |header| header.attributes = attributes);
        done.expect("the header is right");
    }),
    ("the size of launches", |f| {
        let kernel = f.edited();
        let launch =
            LaunchStatement { workgroup_size: Some([64, 1, 1]), ..LaunchStatement::default() };
        f.db.set_launch(kernel, launch).expect("the module says nothing else");
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited in a large kernel | `own_barriers` | sites of `diagnostics` | `diagnostics` | `callees` | `convergence` | `written_spaces` | `space_conflicts` |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (kind, edit) in EDITS {
        let mut fixture = Fixture::new(400);
        edit(&mut fixture);
        table.push_str(&format!("| {kind} | {} |\n", fixture.found()));
        fixture.check(kind);
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edited in a large kernel | `own_barriers` |", &table);
}

/// Back and forth, with all edits after each other.
#[test]
fn what_is_known_follows_sequences_of_edits() {
    let mut fixture = Fixture::new(400);
    for round in 0..6 {
        for at in [round, 3 * round + 1, 7 * round + 4] {
            // Some calls are there no more after a while.
            let (kind, edit) = &EDITS[at % EDITS.len()];
            if !matches!(*kind, "a call less" | "a call in another block" | "a block split") {
                edit(&mut fixture);
            }
        }
        fixture.check("a sequence of edits");
        let (w, v) = (fixture.named("w"), [Value::arg(1), fixture.named("tid").into()]);
        fixture.edit(|edit| edit.set_operand(w, 1, v[round % 2]));
        fixture.check("a branch, back and forth");
    }
    let answers = fixture.counts();
    assert!(answers.waits.kept > 0 && answers.convergence.kept > 0, "{answers:?}");
}

/// A branch gets a source and loses it: so do the blocks that it controls, and the edges into the
/// block where its ways meet. Edits of the graph count as well.
#[test]
fn control_and_edges_are_those_of_the_branches() {
    let mut fixture = Fixture::new(400);
    let control = |fixture: &Fixture| -> Vec<SourceSet> {
        let control = queries::control_divergence(&fixture.db, fixture.edited()).as_ref();
        control.expect("it has a body").iter().copied().collect()
    };
    let edges = |fixture: &Fixture| -> Vec<SourceSet> {
        let edges = queries::edge_divergence(&fixture.db, fixture.edited()).as_ref();
        let edges = edges.expect("it has a body");
        let cfg = queries::cfg(&fixture.db, fixture.edited()).expect("it has a body");
        cfg.nodes().map(|block| edges.into_block(block)).collect()
    };
    let nothing = SourceSet::EMPTY;
    let (w, tid) = (fixture.named("w"), fixture.named("tid"));
    for _ in 0..3 {
        fixture.edit(|edit| edit.set_operand(w, 1, tid));
        assert_eq!(control(&fixture), [nothing, nothing, SourceSet::X, nothing, nothing]);
        assert_eq!(edges(&fixture), [nothing, nothing, nothing, SourceSet::X, nothing]);
        fixture.edit(|edit| edit.set_operand(w, 1, Value::arg(1)));
        assert_eq!(control(&fixture), [nothing; 5]);
        assert_eq!(edges(&fixture), [nothing; 5]);
    }
    fixture.edit(|edit| edit.set_operand(w, 1, tid));
    fixture.edit(|edit| edit.split_before(w, "").map(drop));
    assert_eq!(edges(&fixture), [nothing, nothing, nothing, SourceSet::X, nothing, nothing]);
    fixture.check("a block split");
    // Its ways meet further down.
    let order = fixture.edited().flow(&fixture.db).order().to_vec();
    let [exit, last] = [order[5], order[2]];
    fixture.edit(|edit| edit.redirect_edge(last, 1, exit));
    assert_eq!(edges(&fixture), [nothing, nothing, nothing, nothing, SourceSet::X, nothing]);
    fixture.check("an edge leads elsewhere");
}

/// The order of blocks is no part of the body, and not told by its journal when a module is read
/// again.
#[test]
fn blocks_are_put_back_by_a_reload() {
    // Findings are in the order of the text: a barrier in each of two blocks that only some threads
    // execute.
    let barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    let text = text(400)
        .replace("mul i32 %v0, %v0", "mul i32 %v0, %tid")
        .replace("call void @together(i32 %w)", barrier)
        .replace("call void @together(i32 %n)", barrier);
    let mut fixture = Fixture::warm(&text);
    let kernel = fixture.edited();
    assert_eq!(queries::diagnostics(&fixture.db, kernel).as_deref().map(<[_]>::len), Some(2));
    let order = kernel.flow(&fixture.db).order().to_vec();
    fixture.edit(|edit| edit.move_block_after(order[2], order[3]));
    fixture.check("blocks in another order");
    let position = kernel.body(&fixture.db).journal().position();
    let edited = text.replace("%x0 = add i32 %n, 1", "%x0 = add i32 %n, 7");
    let parsed = phalanx_llvm::parse_module(Arc::clone(&fixture.context), edited.as_bytes());
    let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}"));
    fixture.db.reload(fixture.module, parsed.module, None);
    assert_eq!(kernel.flow(&fixture.db).order(), order);
    assert_eq!(kernel.body(&fixture.db).journal().position(), position, "the body is the same");
    fixture.check("blocks in their old order");
}

#[test]
fn nothing_is_kept_of_small_functions_and_of_what_was_dropped() {
    let mut small = Fixture::new(1);
    let w = small.named("w");
    let tid = small.named("tid");
    small.edit(|edit| edit.set_operand(w, 1, tid));
    small.check("a small function");
    assert_eq!(small.counts(), Default::default());
    let mut fixture = Fixture::new(400);
    fixture.db.trim(fixture.module);
    let (w, tid) = (fixture.named("w"), fixture.named("tid"));
    fixture.edit(|edit| edit.set_operand(w, 1, tid));
    assert_eq!(fixture.found(), ["anew"; 7].join(" | "));
}
