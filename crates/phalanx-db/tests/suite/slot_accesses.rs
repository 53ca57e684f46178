//! Loads and stores of stack slots are inserted, removed or changed: what else is examined, and
//! that divergence equals that from scratch.

#[path = "support.rs"]
mod support;

use phalanx_db::queries;
use phalanx_ir::{InstBuilder, InstId, Opcode, Type, Value};
use phalanx_testing::many_slots;
use support::Fixture;

/// A kernel with two slots that are written in the entry, one with two parts, one whose address
/// another one holds, and many more.
fn text(long: usize) -> String {
    let slots = many_slots::slots(long);
    let blocks = many_slots::blocks(long, &["%n", "%tid"]);
    format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(ptr %out, i32 %n) {{
entry:
  %p = alloca i32
  %q = alloca i32
  %z = alloca [2 x i32]
  %x = alloca i32
  %hold = alloca ptr
{slots}  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %n, ptr %p
  store i32 %tid, ptr %q
  store [2 x i32] zeroinitializer, ptr %z
  store ptr %x, ptr %hold
  store i32 %n, ptr %x
  %v = load i32, ptr %p
  %c = icmp slt i32 %v, 7
  br i1 %c, label %one, label %s0
one:
  store i32 %tid, ptr %p
  br label %s0
{blocks}s{long}:
  %lp = load i32, ptr %p
  %lq = load i32, ptr %q
  %lz = load [2 x i32], ptr %z
  %sum = add i32 %lp, %lq
  %held = load ptr, ptr %hold
  %lh = load i32, ptr %held
  %lx = load i32, ptr %x
  %more = add i32 %lh, %lx
  store i32 %sum, ptr %out
  store i32 %more, ptr %out
  ret void
}}
"#
    )
}

impl Fixture {
    fn warm() -> Self {
        let mut fixture = Fixture::of(&text(30), "kernel");
        fixture.check("at first");
        for operand in [4, 5, 4] {
            let (at, operand) = (fixture.named("c"), fixture.context.const_i32(operand));
            fixture.edit(|edit| edit.set_operand(at, 1, Value::constant(operand)));
            fixture.check("an integer");
        }
        fixture
    }

    #[track_caller]
    fn check(&self, what: &str) {
        let (cold, entries) = self.cold();
        for (warm, cold_entry) in self.module.functions(&self.db).iter().zip(&entries) {
            let now = queries::divergence(&self.db, warm.input);
            assert!(now == queries::divergence(&cold, cold_entry.input), "{what}");
        }
    }

    /// The number of scanned objects, and of scans of the whole function.
    fn looks(&self) -> (u64, u64) {
        let looks = queries::slot_looks(&self.db, self.edited());
        (looks.objects, looks.whole)
    }

    /// The first instruction behind a named one that has an opcode.
    fn behind(&self, name: &str, opcode: Opcode) -> InstId {
        let body = self.edited().body(&self.db);
        let mut all = std::iter::successors(Some(self.named(name)), |&at| body.next(at));
        all.find(|&inst| body.inst(inst).opcode == opcode).expect("there is one")
    }
}

type Edit = fn(&mut Fixture);

/// An edit of accesses of the slot `%a7`, which is in a patch, or of others: its name, the number
/// of objects that are scanned for it, and the edit.
const EDITS: &[(&str, u64, Edit)] = &[
    ("a load more", 0, |f| {
        let load = f.named("f7");
        f.edit(|edit| edit.after(load).clone_of(load).map(drop));
    }),
    ("a load more, where it was not accessed", 0, |f| {
        let (at, slot) = (f.named("b9"), f.named("a7"));
        f.edit(|edit| edit.before(at).load(Type::I32, slot).map(drop));
    }),
    ("a load less", 0, |f| {
        let load = f.named("f7");
        f.edit(|edit| {
            edit.replace_all_uses(load, Value::arg(1))?;
            edit.erase(load)
        });
    }),
    ("a load of a part", 0, |f| {
        let (at, slot) = (f.named("f7"), f.named("a7"));
        f.edit(|edit| edit.before(at).load(Type::I8, slot).map(drop));
    }),
    ("a store more, before a load", 0, |f| {
        let (at, slot, tid) = (f.named("f7"), f.named("a7"), f.named("tid"));
        f.edit(|edit| edit.before(at).store(tid, slot).map(drop));
    }),
    ("a store more, where there was none", 0, |f| {
        let (slot, tid) = (f.named("a7"), f.named("tid"));
        let store = f.behind("e3", Opcode::Store);
        f.edit(|edit| edit.after(store).store(tid, slot).map(drop));
    }),
    ("a store of a part", 0, |f| {
        let (at, slot, tid) = (f.named("f7"), f.named("a7"), f.named("tid"));
        f.edit(|edit| {
            let byte = edit.before(at).trunc(tid, Type::I8)?;
            edit.before(at).store(byte, slot).map(drop)
        });
    }),
    ("a store less", 0, |f| {
        let store = f.behind("e7", Opcode::Store);
        f.edit(|edit| edit.erase(store));
    }),
    ("what is stored", 0, |f| {
        let (store, tid) = (f.behind("e7", Opcode::Store), f.named("tid"));
        f.edit(|edit| edit.set_operand(store, 0, tid));
    }),
    ("a store is moved behind a load", 0, |f| {
        let (load, at) = (f.named("b7"), f.named("d7"));
        let store = f.edited().body(&f.db).prev(load).expect("a store");
        f.edit(|edit| edit.move_before(store, at));
    }),
    ("an address that nobody uses", 0, |f| {
        let (at, slot) = (f.named("f7"), f.named("a7"));
        f.edit(|edit| edit.before(at).gep(Type::I32, slot, &[Value::arg(1)]).map(drop));
    }),
    ("a store and a load more", 0, |f| {
        let (at, slot, tid) = (f.named("f7"), f.named("a7"), f.named("tid"));
        f.edit(|edit| {
            edit.before(at).store(tid, slot)?;
            let load = edit.before(at).load(Type::I32, slot)?;
            edit.set_operand(at, 0, slot)?;
            edit.before(at).add(load, load).map(drop)
        });
    }),
    ("an address, and a load from there", 1, |f| {
        let (at, slot) = (f.named("f7"), f.named("a7"));
        f.edit(|edit| {
            let address = edit.before(at).gep(Type::I32, slot, &[Value::arg(1)])?;
            edit.before(at).load(Type::I32, address).map(drop)
        });
    }),
    ("a store more, by an address that a slot holds", 0, |f| {
        let (at, held, tid) = (f.named("lh"), f.named("held"), f.named("tid"));
        f.edit(|edit| edit.before(at).store(tid, held).map(drop));
    }),
    ("a load more, by such an address", 0, |f| {
        let (at, held) = (f.named("more"), f.named("held"));
        f.edit(|edit| {
            let load = edit.before(at).load(Type::I32, held)?;
            edit.set_operand(at, 0, load)
        });
    }),
    ("the address is loaded once more", 0, |f| {
        let held = f.named("held");
        f.edit(|edit| edit.after(held).clone_of(held).map(drop));
    }),
    ("it is loaded once more, and what is there is loaded", 2, |f| {
        let held = f.named("held");
        f.edit(|edit| {
            let again = edit.after(held).clone_of(held)?;
            edit.after(again).load(Type::I32, again).map(drop)
        });
    }),
    ("it is loaded before it is there", 2, |f| {
        let (at, hold) = (f.named("tid"), f.named("hold"));
        f.edit(|edit| edit.before(at).load(Type::PTR, hold).map(drop));
    }),
    ("it is loaded as a number", 2, |f| {
        let (at, hold) = (f.named("held"), f.named("hold"));
        f.edit(|edit| edit.before(at).load(Type::I64, hold).map(drop));
    }),
    ("another address is put there", 3, |f| {
        let (at, hold, slot) = (f.named("held"), f.named("hold"), f.named("a7"));
        f.edit(|edit| edit.before(at).store(slot, hold).map(drop));
    }),
    ("a load of another slot", 0, |f| {
        let (load, other) = (f.named("f7"), f.named("a8"));
        f.edit(|edit| edit.set_operand(load, 0, other));
    }),
    ("its address is stored", 1, |f| {
        let (at, slot) = (f.named("f7"), f.named("a7"));
        f.edit(|edit| edit.before(at).store(slot, Value::arg(0)).map(drop));
    }),
];

#[test]
fn an_access_costs_itself() {
    for (what, objects, edit) in EDITS {
        let mut fixture = Fixture::warm();
        let (load, at) = (fixture.named("f7"), fixture.named("h7"));
        fixture.edit(|edit| edit.before(at).clone_of(load).map(drop));
        fixture.check("a patch tells of the slot");
        let before = fixture.looks();
        edit(&mut fixture);
        fixture.check(what);
        let now = fixture.looks();
        assert_eq!((now.0 - before.0, now.1 - before.1), (*objects, 0), "{what}");
        // The retained state is equivalent to a new one.
        let (load, tid, slot) = (fixture.named("h7"), fixture.named("tid"), fixture.named("a7"));
        fixture.edit(|edit| edit.before(load).store(tid, slot).map(drop));
        fixture.check(&format!("{what}, and a store"));
        fixture.edit(|edit| edit.before(load).load(Type::I32, slot).map(drop));
        fixture.check(&format!("{what}, and a load"));
    }
}

/// A slot that is only accessed as a whole is divided by the first scalar in it.
#[test]
fn a_part_of_what_was_accessed_as_a_whole() {
    let mut fixture = Fixture::warm();
    let (whole, slot, tid) = (fixture.named("lz"), fixture.named("z"), fixture.named("tid"));
    fixture.edit(|edit| edit.before(whole).clone_of(whole).map(drop));
    fixture.check("a patch tells of it");
    fixture.edit(|edit| edit.before(whole).store(tid, slot).map(drop));
    fixture.check("a store of the first half");
    fixture.edit(|edit| edit.after(whole).load(Type::I32, slot).map(drop));
    fixture.check("a load of it");
    fixture.edit(|edit| {
        let at = edit.before(whole).gep(Type::I32, slot, &[Value::arg(1)])?;
        edit.before(whole).load(Type::I32, slot)?;
        edit.before(whole).load(Type::I32, at).map(drop)
    });
    fixture.check("a load of any part");
}

/// An address gets another base, which may be private but is no known object: a store through it
/// goes elsewhere.
#[test]
fn an_address_that_is_used_is_made_from_a_loaded_pointer() {
    let mut fixture = Fixture::warm();
    let (at, slot, tid) = (fixture.named("lz"), fixture.named("z"), fixture.named("tid"));
    let [hold, other] = ["hold", "q"].map(|name| fixture.named(name));
    fixture.edit(|edit| {
        // With two stores the slot holds no address for sure.
        edit.before(at).store(other, hold)?;
        let part = edit.before(at).gep(Type::I32, slot, &[Value::arg(1)])?;
        edit.before(at).store(tid, part).map(drop)
    });
    fixture.check("a store by an address");
    let body = fixture.edited().body(&fixture.db);
    let store = body.prev(at).expect("it is there");
    let part = body.operands(store)[1].as_inst().expect("it is a step");
    let held = fixture.named("held");
    fixture.edit(|edit| edit.move_before(held, part));
    fixture.check("the pointer is loaded before");
    fixture.edit(|edit| edit.set_operand(part, 0, held));
    fixture.check("the address is made from what is loaded");
}

/// A slot whose address is put elsewhere too late to be held is private again when it is not put
/// there any more.
#[test]
fn an_address_that_is_stored_is_not_stored_any_more() {
    let mut fixture = Fixture::warm();
    let (x, tid, at) = (fixture.named("x"), fixture.named("tid"), fixture.named("lx"));
    let body = fixture.edited().body(&fixture.db);
    let stores = |user: &InstId| {
        body.inst(*user).opcode == Opcode::Store && body.operands(*user)[0] == x.into()
    };
    let store = body.uses_of(x.into()).map(|read| read.user).find(stores).expect("there is one");
    fixture.edit(|edit| edit.move_before(store, at));
    fixture.check("the store is behind the load");
    fixture.edit(|edit| edit.set_operand(store, 0, tid));
    fixture.check("a number is stored");
}

/// A split leaves all versions as they are, so no slot is scanned again. A later access of one slot
/// does not affect the others.
#[test]
fn a_split_looks_at_no_slot() {
    let mut fixture = Fixture::warm();
    let store = fixture.behind("tid", Opcode::Store);
    let before = fixture.looks();
    fixture.edit(|edit| edit.split_before(store, "").map(drop));
    fixture.check("a split");
    assert_eq!(fixture.looks(), before);
    let (at, slot) = (fixture.named("c"), fixture.named("p"));
    fixture.edit(|edit| {
        let address = edit.before(at).gep(Type::I32, slot, &[Value::arg(1)])?;
        edit.before(at).load(Type::I32, address).map(drop)
    });
    fixture.check("a load of one");
    assert_eq!(fixture.looks(), (before.0 + 1, before.1));
}

/// A slot that a split takes out of the entry block is no private memory any more.
#[test]
fn a_split_takes_slots_out_of_the_entry_block() {
    let mut fixture = Fixture::warm();
    let slot = fixture.named("z");
    fixture.edit(|edit| edit.split_before(slot, "").map(drop));
    fixture.check("a split");
}
