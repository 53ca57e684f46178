//! Which edit leaves the accesses of a large kernel as they are, and that these are those from
//! scratch.

#[path = "support.rs"]
mod support;

use std::sync::Arc;

use phalanx_db::Did;
use phalanx_db::queries::{self, Ways};
use phalanx_ir::{
    BuildError, InstBuilder, InstId, Opcode, Type, Value, inst::InstFlags, types::StructBody,
};
use phalanx_target::LaunchStatement;
use phalanx_testing::files::check_table;
use support::Fixture;

/// A kernel with a row of a matrix, a column of a tile, and loops over a grid; `long` instructions
/// behind.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, i32 }
@tile = internal addrspace(3) global [33 x [33 x float]] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n, i32 %m) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %far.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %x
  %far = load i32, ptr addrspace(1) %far.at, align 4
  %own.at = getelementptr inbounds ptr addrspace(1), ptr addrspace(1) %q, i32 %x
  %own = load ptr addrspace(1), ptr addrspace(1) %own.at, align 8
  %from = add i32 %n, 11
  %shift.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %from
  %shift = load i32, ptr addrspace(1) %shift.at, align 4
  %j = add nsw i32 %shift, %x
  %shifted.at = getelementptr inbounds i32, ptr addrspace(1) %p, i32 %j
  %shifted = load i32, ptr addrspace(1) %shifted.at, align 4
  %thrice = mul i32 %x, 3
  %of.pair = getelementptr inbounds %pair, ptr addrspace(1) %p, i32 %x, i32 1
  %v0 = add i32 %n, 1
  %v1 = mul i32 %v0, %v0
  %rows = add i32 %n, 5
  %row = mul i32 %rows, 33
  %once = mul i32 %x, 1
  %i = add nsw i32 %row, %once
  %wide = sext i32 %i to i64
  %a = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %wide
  %a1 = getelementptr inbounds i32, ptr addrspace(1) %a, i32 1
  %unread = add i32 %v0, 3
  %l = load i32, ptr addrspace(1) %a1, align 4
  store i32 %v0, ptr addrspace(1) %a, align 4
  %t = getelementptr inbounds [33 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %x, i32 %n
  %s = load float, ptr addrspace(3) %t, align 4
  %member = load i32, ptr addrspace(1) %of.pair, align 4
  %base = mul i32 %b, 256
  %start = add nsw i32 %base, %x
  br label %loop
loop:
  %k = phi i32 [ %start, %entry ], [ %next, %loop ]
  %c = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %k
  %o = load i32, ptr addrspace(1) %c, align 4
  %u = add i32 %o, %v1
  store i32 %u, ptr addrspace(1) %c, align 4
  %step = add i32 %m, 1
  %next = add nsw i32 %k, %step
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %second
second:
  %d0 = add i32 %m, 9
  %size.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %d0
  %size = load i32, ptr addrspace(1) %size.at, align 4
  br label %again
again:
  %k2 = phi i32 [ %x, %second ], [ %next2, %again ]
  %c2 = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %k2
  %o2 = load i32, ptr addrspace(1) %c2, align 4
  %next2 = add nsw i32 %k2, %size
  %more2 = icmp slt i32 %next2, %n
  br i1 %more2, label %again, label %done
done:
  %w0 = add i32 %n, 1
"#,
    );
    for at in 1..=long {
        text.push_str(&format!("  %w{at} = add i32 %w{}, %n\n", at - 1));
    }
    text.push_str("  ret void\n}\n");
    text
}

impl Fixture {
    fn new(long: usize) -> Self {
        Fixture::warm(&text(long))
    }

    /// With facts asked often enough to be followed.
    fn warm(text: &str) -> Self {
        let mut fixture = Fixture::of(text, "kernel");
        fixture.ask();
        for operand in [7, 8, 7] {
            let (at, operand) = (fixture.named("w0"), constant(&fixture, operand));
            fixture.edit(|edit| edit.set_operand(at, 1, operand));
            fixture.ask();
        }
        fixture.db.take_log();
        fixture
    }

    fn ask(&self) {
        queries::memory_accesses(&self.db, self.edited());
    }

    fn repairs(&self) -> Ways {
        queries::access_repairs(&self.db, self.edited())
    }

    /// The instruction behind a named one.
    fn behind(&self, name: &str) -> InstId {
        self.edited().body(&self.db).next(self.named(name)).expect("something stands behind it")
    }

    /// How the accesses were found after an edit, and what ran besides.
    fn found(&self, before: Ways) -> String {
        self.ask();
        let now = self.repairs();
        let ways = [
            (now.kept - before.kept, "kept"),
            (now.repaired - before.repaired, "repaired"),
            (now.solved - before.solved, "anew"),
        ];
        let way = ways.iter().find(|(count, _)| *count > 0).map_or("not asked", |way| way.1);
        let log = self.db.take_log().into_iter();
        let kernel = self.edited().id();
        let ran = log.filter(|entry| entry.did == Did::Run && entry.key == kernel);
        let versions = ran.filter(|entry| entry.query.ends_with("_version"));
        let mut versions: Vec<String> = versions.map(|e| format!("`{}`", e.query)).collect();
        versions.sort();
        let versions = if versions.is_empty() { "nothing".into() } else { versions.join(", ") };
        format!("{way} | {versions}")
    }

    /// Whether the accesses are what a new database finds.
    #[track_caller]
    fn check(&self, what: &str) {
        let (db, cold) = self.cold();
        let all = self.module.functions(&self.db).iter().zip(&cold);
        for (warm, cold) in all.filter(|(warm, _)| warm.is_definition) {
            let (known, found) = (
                queries::memory_accesses(&self.db, warm.input),
                queries::memory_accesses(&db, cold.input),
            );
            assert_eq!(known, found, "{what}");
        }
    }
}

type Edit = fn(&mut Fixture);

fn constant(fixture: &Fixture, number: i32) -> Value {
    Value::constant(fixture.context.const_i32(number))
}

/// Gives an instruction another operand: a named one.
fn set(f: &mut Fixture, name: &str, index: u32, other: &str) {
    let (inst, other) = (f.named(name), f.named(other));
    f.edit(|edit| edit.set_operand(inst, index, other));
}

const EDITS: &[(&str, Edit)] = &[
    ("an operand of an integer", |f| {
        let (v, seven) = (f.named("v1"), constant(f, 7));
        f.edit(|edit| edit.set_operand(v, 1, seven));
    }),
    ("an integer more, among accesses", |f| {
        let (l, v) = (f.named("l"), f.named("v0"));
        f.edit(|edit| edit.before(l).add(v, v));
    }),
    ("an integer less", |f| {
        let unread = f.named("unread");
        f.edit(|edit| edit.erase(unread));
    }),
    ("what is stored", |f| {
        let (store, v) = (f.behind("l"), f.named("v1"));
        f.edit(|edit| edit.set_operand(store, 0, v));
    }),
    ("an index; the pattern is the same", |f| {
        let (row, five) = (f.named("row"), constant(f, 5));
        f.edit(|edit| edit.set_operand(row, 1, five));
    }),
    ("an index; another stride", |f| set(f, "t", 2, "v0")),
    ("what an index is made of; another stride", |f| {
        let (once, three) = (f.named("once"), constant(f, 3));
        f.edit(|edit| edit.set_operand(once, 1, three));
    }),
    ("what an index is made of; it differs", |f| set(f, "rows", 1, "far")),
    ("where an index is loaded from; it differs", |f| set(f, "from", 0, "far")),
    ("flags of an index: it may wrap", |f| {
        let i = f.named("i");
        f.edit(|edit| edit.set_flags(i, InstFlags::NONE));
    }),
    ("a base that is equal in the wave as well", |f| {
        let a = f.named("a");
        f.edit(|edit| edit.set_operand(a, 0, Value::arg(1)));
    }),
    ("a base that differs", |f| set(f, "a1", 0, "own")),
    ("the address of a load", |f| set(f, "l", 0, "of.pair")),
    ("the alignment of a load", |f| {
        let l = f.named("l");
        f.edit(|edit| edit.set_align(l, 8));
    }),
    ("a load more", |f| {
        let (l, a) = (f.named("l"), f.named("a"));
        f.edit(|edit| edit.before(l).load(Type::I32, a));
    }),
    ("a load less", |f| {
        let s = f.named("s");
        f.edit(|edit| edit.erase(s));
    }),
    ("a load behind a store that was before it", |f| {
        let (l, s) = (f.named("l"), f.named("s"));
        f.edit(|edit| edit.move_before(l, s));
    }),
    ("a load among integers, before the same access", |f| {
        let (l, unread) = (f.named("l"), f.named("unread"));
        f.edit(|edit| edit.move_before(l, unread));
    }),
    ("an address out of a loop, and what reads it", |f| {
        let (c, o, a) = (f.named("c"), f.named("o"), f.named("a"));
        f.edit(|edit| {
            edit.set_operand(c, 1, Value::arg(2))?;
            edit.move_before(c, a)?;
            edit.move_before(o, a)
        });
    }),
    ("the step of a loop", |f| {
        let (step, two) = (f.named("step"), constant(f, 2));
        f.edit(|edit| edit.set_operand(step, 1, two));
    }),
    ("what comes in from outside of a loop", |f| {
        let (k, v) = (f.named("k"), f.named("v0"));
        f.edit(|edit| edit.set_operand(k, 0, v));
    }),
    ("what the step of a loop is made of; it differs", |f| set(f, "size.at", 1, "far")),
    ("a phi more, in the header of a loop", |f| {
        let (k, c) = (f.named("k"), f.named("c"));
        let incoming: Vec<_> = f.edited().body(&f.db).phi_incoming(k).collect();
        f.edit(|edit| {
            let new = edit.after(k).phi(Type::I32)?;
            let phi = new.as_inst().expect("it is an instruction");
            incoming.iter().try_for_each(|&(value, from)| edit.add_phi_input(phi, value, from))?;
            edit.set_operand(c, 1, new)
        });
    }),
    ("an aborted edit of an index", |f| {
        let (once, v, kernel) = (f.named("once"), f.named("v0"), f.edited());
        let done: Result<(), BuildError> = f.db.edit(kernel, |edit| {
            edit.set_operand(once, 0, v)?;
            edit.erase(v)
        });
        assert!(done.is_err(), "what is read cannot be erased");
    }),
    ("a name", |f| {
        let l = f.named("l");
        f.edit(|edit| edit.set_name(l, "other"));
    }),
    ("a block split", |f| {
        let l = f.named("l");
        f.edit(|edit| edit.split_before(l, "").map(drop));
    }),
    ("two blocks in another order", |f| {
        let order = f.edited().flow(&f.db).order().to_vec();
        f.edit(|edit| edit.move_block_after(order[1], order[2]));
    }),
    ("the size of launches", |f| {
        let kernel = f.edited();
        let launch =
            LaunchStatement { workgroup_size: Some([64, 1, 1]), ..LaunchStatement::default() };
        f.db.set_launch(kernel, launch).expect("the module says nothing else");
    }),
    ("a structure has a member more", |f| {
        let done = f.db.edit_shell(f.module, |shell| {
            let (_, body) = &mut shell.structs[0];
            *body = StructBody::Fields { packed: false, fields: [Type::I32; 3].into() };
        });
        done.expect("no rule is broken");
    }),
    ("a variable is constant", |f| {
        f.db.edit_shell(f.module, |shell| shell.variables[0].is_constant = true)
            .expect("no rule is broken");
    }),
    ("a variable is aligned otherwise", |f| {
        f.db.edit_shell(f.module, |shell| shell.variables[0].align = Some(128))
            .expect("no rule is broken");
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited in a large kernel | `memory_accesses` | runs besides |\n|---|---|---|\n",
    );
    for (kind, edit) in EDITS {
        let mut fixture = Fixture::new(400);
        let before = fixture.repairs();
        edit(&mut fixture);
        let found = fixture.found(before);
        fixture.check(kind);
        table.push_str(&format!("| {kind} | {found} |\n"));
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-runs.md");
    check_table(page, "| edited in a large kernel | `memory_accesses` |", &table);
}

/// What a vote gives is equal among those that vote together: with whom threads are together behind
/// depends on how they came into the cycle.
#[test]
fn threads_that_come_to_run_apart_in_a_cycle_with_two_entries() {
    let text = text(400).replace(
        "label %done\ndone:\n",
        "label %entries
entries:
  %some = icmp ult i32 %n, 16
  br i1 %some, label %left, label %right
left:
  %votes = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)
  %cell = getelementptr inbounds [32 x i32], ptr addrspace(1) %p, i32 %votes, i32 %x
  br label %behind
behind:
  store i32 %x, ptr addrspace(1) %cell, align 4
  br label %right
right:
  %once.more = icmp ult i32 %n, %m
  br i1 %once.more, label %left, label %done
done:
",
    );
    let declared = "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n\ndefine";
    let mut fixture = Fixture::warm(&text.replacen("define", declared, 1));
    for (other, found) in [("x", "anew"), ("b", "anew"), ("x", "anew")] {
        let before = fixture.repairs();
        set(&mut fixture, "some", 0, other);
        assert_eq!(fixture.found(before), format!("{found} | nothing"));
        fixture.check("how threads come into the cycle");
    }
}

#[test]
fn what_is_kept_is_the_very_same() {
    let address = |fixture: &Fixture| {
        let found = queries::memory_accesses(&fixture.db, fixture.edited());
        Arc::as_ptr(found.as_ref().expect("it has a body"))
    };
    let mut fixture = Fixture::new(400);
    let before = address(&fixture);
    for number in 0..40 {
        let (v, operand) = (fixture.named("v1"), constant(&fixture, number));
        fixture.edit(|edit| {
            edit.set_operand(v, 1, operand)?;
            edit.after(v).add(v, operand)
        });
        assert_eq!(address(&fixture), before);
    }
    fixture.check("integers");
    // Edits without a query in between are handled by one update.
    let (once, s) = (fixture.named("once"), fixture.named("s"));
    let (found, three) = (fixture.repairs(), constant(&fixture, 3));
    fixture.edit(|edit| edit.set_operand(once, 1, three));
    fixture.edit(|edit| edit.erase(s));
    assert_ne!(address(&fixture), before);
    assert_eq!(fixture.repairs(), Ways { repaired: found.repaired + 1, ..found });
    fixture.check("a stride, and a load less");
}

#[test]
fn nothing_is_kept_of_small_kernels_and_of_what_was_dropped() {
    let mut small = Fixture::new(1);
    set(&mut small, "once", 0, "v0");
    small.check("a small kernel");
    assert_eq!(small.repairs(), Ways::default());
    let mut fixture = Fixture::new(400);
    fixture.db.trim(fixture.module);
    for (found, number) in [("anew", 7), ("repaired", 8), ("repaired", 9)] {
        let (once, before) = (fixture.named("once"), fixture.repairs());
        let number = constant(&fixture, number);
        fixture.edit(|edit| edit.set_operand(once, 1, number));
        assert_eq!(fixture.found(before), format!("{found} | nothing"));
        fixture.check("what was dropped");
    }
}

/// After a rewrite of a whole function, the query solves from scratch and retains nothing.
#[test]
fn many_changes_at_a_time_are_not_followed() {
    let mut fixture = Fixture::new(400);
    for found in ["anew", "anew", "kept"] {
        let (v, before) = (fixture.named("v1"), fixture.repairs());
        fixture.edit(|edit| {
            let count = if before.solved < 3 { 200 } else { 1 };
            (0..count).try_for_each(|_| edit.after(v).add(v, v).map(drop))
        });
        assert_eq!(fixture.found(before), format!("{found} | nothing"));
        fixture.check("many integers");
    }
}

/// What is read is another thing after a repair.
#[test]
fn what_was_looked_at_again_is_followed_from_there() {
    let mut fixture = Fixture::new(400);
    let store = fixture.behind("l");
    let (pair, thrice) = (fixture.named("of.pair"), fixture.named("thrice"));
    let five = constant(&fixture, 5);
    for (inst, index, other) in
        [(store, 1, pair.into()), (pair, 1, thrice.into()), (thrice, 1, five)]
    {
        let before = fixture.repairs();
        fixture.edit(|edit| edit.set_operand(inst, index, other));
        assert_eq!(fixture.found(before), "repaired | nothing", "{inst:?}");
        fixture.check("what a store reads now");
    }
}

/// The order of blocks is no part of the body, and not told by its journal when a module is read
/// again.
#[test]
fn blocks_are_put_back_by_a_reload() {
    let mut fixture = Fixture::new(400);
    let order = fixture.edited().flow(&fixture.db).order().to_vec();
    fixture.edit(|edit| edit.move_block_after(order[1], order[2]));
    fixture.ask();
    let position = fixture.edited().body(&fixture.db).journal().position();
    let edited = text(400).replace("%w0 = add i32 %n, 1", "%w0 = add i32 %n, 7");
    let parsed = phalanx_llvm::parse_module(Arc::clone(&fixture.context), edited.as_bytes());
    let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}"));
    fixture.db.reload(fixture.module, parsed.module, None);
    let kernel = fixture.edited();
    assert_eq!(kernel.flow(&fixture.db).order(), order);
    assert_eq!(kernel.body(&fixture.db).journal().position(), position, "the body is the same");
    fixture.check("blocks in their old order");
}

/// A loop gets another back edge: the assumption about its phi no longer holds. If there was no
/// assumption, accesses do not change.
#[test]
fn another_edge_to_the_header_of_a_loop() {
    // The value over the back edge is computed from the phi, or it is not. In the second case no
    // rule has read the phi.
    for (start, next, found) in
        [("0", "r.next", "kept"), ("%x", "r.next", "anew"), ("%x", "beside", "anew")]
    {
        let round = format!(
            "label %third
third:
  %beside = add nsw i32 %x, %m
  br label %round
round:
  %r = phi i32 [ {start}, %third ], [ %{next}, %latch ]
  %r.at = getelementptr inbounds i32, ptr addrspace(1) %q, i32 %r
  %r.l = load i32, ptr addrspace(1) %r.at, align 4
  %r.next = add nsw i32 %r, %m
  %is.zero = icmp eq i32 %m, 0
  br i1 %is.zero, label %skip, label %latch
skip:
  %twice = add i32 %m, %m
  br label %latch
latch:
  %more3 = icmp slt i32 %m, %n
  br i1 %more3, label %round, label %done
done:
"
        );
        let text = text(400).replace("label %done\ndone:\n", &round);
        let mut fixture = Fixture::warm(&text);
        let r = fixture.named("r");
        let (next, twice) = (fixture.named(next), fixture.named("twice"));
        let body = fixture.edited().body(&fixture.db);
        let (header, skip) = (body.block_of(r), body.block_of(twice));
        let (header, skip) = header.zip(skip).expect("they are in blocks");
        let before = fixture.repairs();
        fixture.edit(|edit| {
            edit.redirect_edge(skip, 0, header)?;
            edit.add_phi_input(r, next, skip)
        });
        assert_eq!(fixture.found(before), format!("{found} | nothing"), "{start}, {next:?}");
        fixture.check("another edge");
    }
}

/// In code that is not reached a value, and an address, can be made from itself, and then the order
/// of questions matters.
#[test]
fn kernels_with_blocks_that_are_not_reached_are_found_from_scratch() {
    let text = text(400).replace(
        "done:\n",
        "done:
  br label %end
nowhere:
  %r = add i32 %n, 1
  %r2 = and i32 %r, 0
  %r.x = add i32 %r, %x
  %h = getelementptr i32, ptr addrspace(1) %p, i32 %r.x
  store i32 %r, ptr addrspace(1) %h, align 4
  %h2 = getelementptr i32, ptr addrspace(1) %p, i32 %r2
  store i32 %r, ptr addrspace(1) %h2, align 4
  br label %nowhere
end:
",
    );
    let mut fixture = Fixture::warm(&text);
    let before = fixture.repairs();
    set(&mut fixture, "r", 0, "r2");
    assert_eq!(fixture.found(before), "anew | nothing");
    fixture.check("a value that is made from itself");
    set(&mut fixture, "h", 0, "h");
    fixture.check("an address that is made from itself");
}

/// Accesses too far apart to compare their neighbours: the row of their block is rebuilt.
#[test]
fn accesses_that_stand_alone_are_in_their_place() {
    let last = "  ret void\n}\n";
    let text = text(400).replace(last, &format!("  store i32 %w0, ptr addrspace(1) %q\n{last}"));
    let mut fixture = Fixture::warm(&text);
    let (store, l, w) = (fixture.behind("w400"), fixture.named("l"), fixture.named("w9"));
    let before = fixture.repairs();
    fixture.edit(|edit| edit.set_operand(store, 0, w));
    assert_eq!(fixture.found(before), "kept | nothing");
    fixture.check("what is stored");
    let before = fixture.repairs();
    fixture.edit(|edit| edit.move_before(l, w));
    assert_eq!(fixture.found(before), "repaired | nothing");
    fixture.check("from one block to another");
    let s = fixture.named("s");
    for (inst, place) in [(l, "w100"), (s, "w250"), (l, "w320")] {
        let place = fixture.named(place);
        fixture.edit(|edit| edit.move_before(inst, place));
        fixture.check("far from all others of the block");
    }
}

/// Whether a value may be poison in some threads only depends on atoms that are not operands of it.
#[test]
fn poison_of_atoms_is_followed() {
    let text = text(400).replace(
        "  %unread = ",
        "  %x.wide = zext i32 %x to i64
  %b.wide = zext i32 %b to i64
  %m.wide = zext i32 %m to i64
  %e = add nuw i64 %b.wide, 1
  %e.x = add i64 %e, %x.wide
  %e.far = add i64 %e.x, %m.wide
  %e.only = sub i64 %e.far, %m.wide
  %frozen = freeze i64 %e.only
  %f = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %frozen
  %of.frozen = load i32, ptr addrspace(1) %f, align 4
  %both = add i64 %e.x, %first
  %less = sub i64 %e.far, %both
  %unread = ",
    );
    let text =
        text.replace("  %v0 =", "  %first = load i64, ptr addrspace(1) %p, align 8\n  %v0 =");
    let mut fixture = Fixture::warm(&text);
    for flags in [InstFlags::NONE, InstFlags::NUW, InstFlags::NONE] {
        let e = fixture.named("e");
        assert_eq!(fixture.edited().body(&fixture.db).inst(e).opcode, Opcode::Add);
        let before = fixture.repairs();
        fixture.edit(|edit| edit.set_flags(e, flags));
        let (db, cold) = fixture.cold();
        let mut both = fixture.module.functions(&fixture.db).iter().zip(&cold);
        let kernel = fixture.edited();
        let (_, cold) = both.find(|(warm, _)| warm.input == kernel).expect("it is in the module");
        let found = queries::divergence(&db, cold.input);
        assert!(queries::divergence(&fixture.db, kernel) == found);
        assert_eq!(fixture.found(before), "repaired | nothing");
        fixture.check("flags of an atom");
    }
}
