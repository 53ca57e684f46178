//! The same of functions that are not large.

use expect_test::expect;
use phalanx_db::queries;
use phalanx_ir::{InstBuilder, Opcode, Value};

use super::{EDITS, support::Fixture};

/// The rows in which a small function differs from a large one: changes that are not few, and
/// versions that are others.
#[test]
fn what_differs_from_a_large_function() {
    let mut rows = String::new();
    for (kind, edit) in EDITS {
        let [small, large] = [40, 400].map(|long| {
            let mut fixture = Fixture::new(long);
            assert_eq!(fixture.edited().is_large(&fixture.db), long > 40);
            let before = fixture.repairs();
            edit(&mut fixture);
            let found = fixture.found(before);
            fixture.check(kind);
            found
        });
        let ways = |found: &str| found.rsplit_once(" | ").expect("it has cells").0.to_owned();
        if ways(&small) != ways(&large) {
            rows.push_str(&format!("{kind}: {}\n", ways(&small)));
        }
    }
    expect![[r#"
        a call more: kept | kept | anew | repaired | kept
        a block split: anew | anew | anew | anew | kept
        a callee promises to access nothing: anew | anew | anew | anew | anew
        a variable is constant no more: anew | anew | anew | anew | anew
    "#]]
    .assert_eq(&rows);
}

/// To follow many changes costs more than to look at all of it.
#[test]
fn many_changes_are_not_followed() {
    let ways = |count: usize| {
        let mut fixture = Fixture::new(60);
        let (at, before) = (fixture.named("v1"), fixture.repairs());
        fixture.edit(|edit| {
            (0..count).try_for_each(|_| edit.after(at).add(at, Value::arg(1)).map(drop))
        });
        let found = fixture.found(before);
        fixture.check("integers");
        found
    };
    assert_eq!(ways(8), "kept | kept | kept | kept | kept | nothing");
    assert_eq!(ways(40), "anew | anew | anew | anew | anew | nothing");
}

/// A callee that does something else is something to classes of memory alone; one that promises
/// something else, to all.
#[test]
fn what_callees_do_is_read_for_classes_of_memory() {
    let mut fixture = Fixture::new(40);
    let leaf = fixture.function("leaf");
    let store = leaf.body(&fixture.db).all_ids().nth(2).expect("it has instructions");
    let there = leaf.body(&fixture.db).all_ids().nth(1).expect("it has instructions");
    assert_eq!(leaf.body(&fixture.db).inst(store).opcode, Opcode::Store);
    let before = fixture.repairs();
    let done: Result<(), phalanx_ir::BuildError> =
        fixture.db.edit(leaf, |edit| edit.set_operand(store, 1, Value::inst(there)));
    done.expect("the edit breaks no rule");
    let found = fixture.found(before);
    let ways = found.rsplit_once(" | ").expect("it has cells").0;
    assert_eq!(ways, "not asked | not asked | anew | not asked | not asked");
    fixture.check("a callee writes elsewhere");

    let prefetch = fixture.function("llvm.prefetch.p0");
    let attributes = fixture.function("computes").header(&fixture.db).attributes;
    let before = fixture.repairs();
    let header = fixture.db.edit_header(prefetch, |header| header.attributes = attributes);
    header.expect("the header is right");
    let found = fixture.found(before);
    let ways = found.rsplit_once(" | ").expect("it has cells").0;
    assert_eq!(
        ways, "anew | anew | anew | anew | anew",
        "promises are told with all that is around"
    );
    fixture.check("an intrinsic accesses nothing");
}

/// Validating dependents of a small, unedited function takes as long as validating the function
/// itself.
#[test]
fn nothing_is_kept_of_functions_of_few_instructions() {
    let text = "
        define i32 @kernel(ptr %p, i32 %n) {
          %slot = alloca i32
          %sum = add i32 %n, 1
          store i32 %sum, ptr %slot
          %v = load i32, ptr %slot
          ret i32 %v
        }";
    let mut fixture = Fixture::of(text, "kernel");
    fixture.ask();
    let sum = fixture.named("sum");
    fixture.edit(|edit| edit.set_operand(sum, 1, Value::arg(1)));
    fixture.ask();
    fixture.check("a sum");
    assert_eq!(fixture.repairs(), queries::MemoryRepairs::default());
}

/// A function that grows or shrinks keeps what is known of it only as long as what is around it is
/// told alike.
#[test]
fn a_function_that_becomes_large_is_looked_at_anew() {
    let mut fixture = Fixture::new(40);
    let at = fixture.named("v1");
    let before = fixture.repairs();
    fixture.edit(|edit| (0..400).try_for_each(|_| edit.after(at).add(at, Value::arg(1)).map(drop)));
    assert!(fixture.edited().is_large(&fixture.db));
    let ways = fixture.found(before);
    assert!(ways.starts_with("anew | anew | anew | anew | anew"), "{ways}");
    fixture.check("a function that has grown");
    let before = fixture.repairs();
    fixture.edit(|edit| edit.set_operand(at, 1, Value::arg(1)));
    assert_eq!(fixture.found(before), "kept | kept | kept | kept | kept | nothing");
    fixture.check("an integer there");
}
