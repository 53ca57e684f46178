//! Facts of large functions that reuse retained results of other queries: they equal the facts
//! without such reuse.

#[path = "support.rs"]
mod support;

use std::sync::Arc;

use phalanx_core::Divergence;
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{InstBuilder, InstId, Type, types::StructBody};
use support::Fixture;

/// A function with a stack slot, and what it loads from there; `long` sums behind, of an argument,
/// which it gives back.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define i32 @function(i32 %n, i32 %m) {
entry:
  %slot = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 0, ptr %slot
  %loaded = load i32, ptr %slot
  %is.zero = icmp eq i32 %loaded, 0
  %v0 = select i1 %is.zero, i32 %m, i32 %m
"#,
    );
    for at in 1..=long {
        text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    text.push_str(&format!("  ret i32 %v{long}\n}}\n"));
    text
}

/// A function so large that tables are retained from the first query on.
fn warm() -> Fixture {
    let fixture = Fixture::of(&text(1200), "function");
    assert!(fixture.edited().is_large(&fixture.db));
    fixture
}

/// Whether it is what a new database finds.
#[track_caller]
fn check<T: PartialEq>(fixture: &Fixture, of: impl Fn(&Database, FunctionInput) -> T, what: &str) {
    let (cold, entries) = fixture.cold();
    let fresh = entries.iter().find(|e| e.is_definition).expect("there is one").input;
    assert!(of(&fixture.db, fixture.edited()) == of(&cold, fresh), "{what}");
}

fn divergence(db: &Database, function: FunctionInput) -> Option<Arc<Divergence>> {
    queries::divergence(db, function).clone()
}

/// Stores the thread's number to the slot before it is loaded from.
fn store_thread(fixture: &mut Fixture) -> InstId {
    let [loaded, tid, slot] = ["loaded", "tid", "slot"].map(|name| fixture.named(name));
    fixture.edit(|edit| edit.before(loaded).store(tid, slot));
    let body = fixture.edited().body(&fixture.db);
    body.prev(loaded).expect("the store stands there")
}

/// In the tables of divergence arguments are what callers may pass, in a summary what the result
/// depends on.
#[test]
fn a_summary_from_the_tables_of_divergence() {
    let fixture = warm();
    let divergence = divergence(&fixture.db, fixture.edited());
    assert!(divergence.is_some_and(|found| found.values().iter().any(|of| !of.is_empty())));
    check(&fixture, |db, f| queries::summary(db, f).clone(), "a summary");
}

#[test]
fn stack_slots_that_have_been_edited_since_are_not_taken() {
    let mut fixture = warm();
    assert!(queries::private_memory(&fixture.db, fixture.edited()).is_some());
    store_thread(&mut fixture);
    check(&fixture, divergence, "another store");
}

#[test]
fn who_uses_stack_slots_is_known_after_an_edit() {
    let mut fixture = warm();
    assert!(queries::private_memory(&fixture.db, fixture.edited()).is_some());
    let store = store_thread(&mut fixture);
    assert!(queries::private_memory(&fixture.db, fixture.edited()).is_some());
    check(&fixture, divergence, "another store");
    fixture.edit(|edit| edit.erase(store));
    check(&fixture, divergence, "one store less");
}

/// A structure gets another size: what is stored to the second one is not loaded any longer.
#[test]
fn stack_slots_of_other_types_are_not_taken() {
    let slots = r#"
  %pairs = alloca [2 x %pair]
  %second = getelementptr %pair, ptr %pairs, i32 1
  store i32 0, ptr %pairs
  store i32 %tid, ptr %second
  %behind = getelementptr i8, ptr %pairs, i32 8
  %of.second = load i32, ptr %behind
  %slot = alloca i32"#;
    let text = text(1200)
        .replace("define i32", "%pair = type { i32, i32 }\ndefine i32")
        .replace("\n  %slot = alloca i32", "")
        .replace("sreg.tid.x()\n  store", &format!("sreg.tid.x(){slots}\n  store"))
        .replace("ret i32 %v1200", "ret i32 %of.second");
    let mut fixture = Fixture::of(&text, "function");
    assert!(queries::private_memory(&fixture.db, fixture.edited()).is_some());
    divergence(&fixture.db, fixture.edited());
    let done = fixture.db.edit_shell(fixture.module, |shell| {
        shell.structs[0].1 = StructBody::Fields { packed: false, fields: [Type::I32; 3].into() };
    });
    done.expect("no rule is broken");
    check(&fixture, divergence, "a larger structure");
}
