//! Rare edits, one behaviour each: what reaches a slot, what becomes a pointer, what is mentioned
//! where.

use super::{support::Fixture, text};
use phalanx_db::queries;
use phalanx_ir::{InstBuilder, Opcode, Type, Value};

/// The slot escapes: its accesses become accesses of a class, and private ones again, although no
/// edit changes them.
#[test]
fn a_slot_is_reached_by_others_and_by_nobody() {
    let mut fixture = Fixture::new(400);
    let (slot, before) = (fixture.named("slot"), fixture.named("m"));
    let touched = |fixture: &Fixture| {
        let ssa = queries::memory_ssa(&fixture.db, fixture.function("kernel")).as_ref();
        ssa.expect("it has a body").of(fixture.named("o")).count()
    };
    assert_eq!(touched(&fixture), 0);
    fixture.edit(|edit| edit.before(before).store(slot, Value::arg(0)));
    fixture.check("a slot that others may reach");
    assert_ne!(touched(&fixture), 0);
    let body = fixture.function("kernel").body(&fixture.db);
    let store = body.prev(before).expect("the store");
    let ways = fixture.repairs();
    fixture.edit(|edit| edit.erase(store));
    fixture.check("a slot that nobody else reaches");
    assert_eq!(touched(&fixture), 0);
    assert_eq!(fixture.repairs().hssa.repaired, ways.hssa.repaired + 1);
}

/// Integers in slots count as addresses as long as one is made a pointer, and the first that was
/// may go.
#[test]
fn integers_become_pointers_and_are_none_again() {
    let mut fixture = Fixture::new(400);
    let (k, wide, word) = (fixture.named("k"), fixture.named("wide"), fixture.named("word"));
    let zero = fixture.context.const_zero(Type::I64);
    let is_there = |fixture: &Fixture| {
        let memory = queries::address_memory(&fixture.db, fixture.function("kernel")).as_ref();
        memory.expect("it has a body").slots().iter().any(|slot| slot.alloca == word)
    };
    assert!(!is_there(&fixture));
    let casts = [0; 2].map(|_| {
        let cast = fixture.edit(|edit| edit.before(k).cast(Opcode::IntToPtr, wide, Type::PTR));
        fixture.check("an integer is made a pointer");
        assert!(is_there(&fixture));
        cast.as_inst().expect("it is an instruction")
    });
    // Who takes part of it over knows of the cast as well.
    fixture.edit(|edit| edit.after(wide).store(Value::constant(zero), word));
    fixture.check("a store to the slot more");
    for (cast, is_left) in casts.into_iter().zip([true, false]) {
        fixture.edit(|edit| edit.erase(cast));
        fixture.check("a pointer that was an integer less");
        assert_eq!(is_there(&fixture), is_left);
    }
}

/// A step that was inserted after the last query has no entry. If its base changes, the accesses of
/// its users change.
#[test]
fn a_new_step_is_made_from_another_pointer() {
    let mut fixture = Fixture::new(400);
    let (store, s, before) = (fixture.behind("m"), fixture.named("s"), fixture.repairs());
    let step = fixture.edit(|edit| {
        let step = edit.after(store).gep(Type::I32, Value::arg(0), &[Value::arg(1)])?;
        let step_inst = step.as_inst().expect("it is an instruction");
        edit.after(step_inst).store(Value::arg(1), step)?;
        Ok(step_inst)
    });
    fixture.check("a store through an argument that is written already");
    assert_eq!(fixture.repairs().pointers.kept, before.pointers.kept + 1);
    fixture.edit(|edit| edit.set_operand(step, 0, s));
    fixture.check("a store through a variable that nobody wrote");
}

/// The first instruction that mentions a variable is recorded, whatever it does with it.
#[test]
fn a_variable_is_mentioned_earlier_and_later() {
    let early = "entry:\n  %early = load i32, ptr %out\n";
    let mut fixture = Fixture::warm(&text(400).replace("entry:\n", early));
    let (early, g) = (fixture.named("early"), fixture.named("g"));
    let dev = fixture.function("kernel").body(&fixture.db).operands(g)[0];
    for address in [dev, Value::arg(0)] {
        fixture.edit(|edit| edit.set_operand(early, 0, address));
        fixture.check("another address");
    }
}

/// A pointer stored in a slot without loads is not captured. A pointer that is loaded as a number
/// is captured.
#[test]
fn what_is_put_into_slots_goes_nowhere() {
    let text = "
target triple = \"nvptx64-nvidia-cuda\"
define internal void @puts(ptr %p, ptr %q) {
  %a = alloca ptr
  %b = alloca ptr
  store ptr %p, ptr %a
  store ptr %q, ptr %b
  %number = load i64, ptr %b
  store i64 %number, ptr %q
  ret void
}
";
    let fixture = Fixture::of(text, "puts");
    let uses = queries::parameter_uses(&fixture.db, fixture.edited());
    let found: Vec<_> = uses.iter().map(|found| (found.writes, found.escapes)).collect();
    assert_eq!(found, [(false, false), (true, true)]);
}

/// The search for the base of an argument stops after a number of steps, so removing a step matters
/// to arguments that are far away.
#[test]
fn steps_are_counted() {
    let mut chain = String::from("  %g0 = getelementptr i8, ptr %slot, i32 0\n");
    for at in 1..=70 {
        chain.push_str(&format!("  %g{at} = getelementptr i8, ptr %g{}, i32 0\n", at - 1));
    }
    chain.push_str("  call void @peek(ptr captures(none) %g70)\n");
    let text = text(400).replace("  %w0 =", &format!("{chain}  %w0 =")).replace(
        "declare void @computes",
        "declare void @peek(ptr) memory(argmem: read)\ndeclare void @computes",
    );
    let mut fixture = Fixture::warm(&text);
    let touched = |fixture: &Fixture| {
        let ssa = queries::memory_ssa(&fixture.db, fixture.function("kernel")).as_ref();
        ssa.expect("it has a body").of(fixture.behind("g70")).count()
    };
    assert_eq!(touched(&fixture), 1);
    let (step, base) = (fixture.named("g60"), fixture.named("g20"));
    fixture.edit(|edit| edit.set_operand(step, 0, base));
    fixture.check("a chain with fewer steps");
    assert_eq!(touched(&fixture), 0);
}
