//! Which edit leaves which facts about the memory of a function as they are, and that these are
//! those from scratch.

mod cases;
mod small;

#[path = "support.rs"]
mod support;

use std::sync::Arc;

use phalanx_analysis::{data_flow::twin, lower::Code};
use phalanx_db::{Did, queries};
use phalanx_ir::{
    BuildError, InstBuilder, InstId, Opcode, Type, Value,
    inst::{InstFlags, IntPredicate},
    metadata::MetadataId,
};
use phalanx_target::LaunchStatement;
use phalanx_testing::files::check_table;
use support::Fixture;

/// A kernel with accesses of all kinds; `long` instructions between.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [64 x i32] undef
@dev = internal addrspace(1) global [4 x i32] zeroinitializer
@fixed = internal addrspace(1) constant [4 x i32] zeroinitializer
declare void @outside(ptr)
declare void @computes(ptr) memory(none)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

define internal void @leaf(i32 %n) {
  %here = addrspacecast ptr addrspace(3) @lds to ptr
  %there = addrspacecast ptr addrspace(1) @dev to ptr
  store i32 %n, ptr %here
  ret void
}

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c) {
entry:
  %slot = alloca i32
  %kept = alloca ptr
  %word = alloca i64
  %v0 = add i32 %n, 1
  %v1 = mul i32 %v0, %v0
  store i32 %v0, ptr %slot
  %s = addrspacecast ptr addrspace(3) @lds to ptr
  %g = addrspacecast ptr addrspace(1) @dev to ptr
  %a = getelementptr inbounds i32, ptr %s, i32 %n
  %b = getelementptr inbounds i32, ptr %a, i32 1
  %f = getelementptr inbounds i32, ptr addrspace(1) @fixed, i32 %n
  %h = getelementptr inbounds i32, ptr addrspace(1) %f, i32 1
  store ptr %a, ptr %kept
  store i64 0, ptr %word
  %p = load ptr, ptr %kept
  %wide = load i64, ptr %word
  %k = icmp eq i32 %v0, %v1
  %unread = add i32 %v0, 3
  %l = load i32, ptr %b
  %m = load i32, ptr addrspace(1) %h
  store i32 %v0, ptr %out, !marked !0
  %o = load i32, ptr %slot
  call void @leaf(i32 %o)
  call void @llvm.prefetch.p0(ptr %out, i32 0, i32 3, i32 1)
  br i1 %k, label %then, label %done
then:
  call void @outside(ptr %out)
  br label %done
done:
  %w0 = add i32 %n, 1
"#,
    );
    for at in 1..=long {
        text.push_str(&format!("  %w{at} = add i32 %w{}, %n\n", at - 1));
    }
    text.push_str("  ret void\n}\n!0 = !{}\n");
    text
}

impl Fixture {
    fn new(long: usize) -> Self {
        Fixture::warm(&text(long))
    }

    /// With kinds and pointers asked often enough to be repaired.
    fn warm(text: &str) -> Self {
        let mut fixture = Fixture::of(text, "kernel");
        fixture.ask();
        for operand in [7, 8, 7] {
            let (at, next) = (fixture.named("w0"), fixture.behind("w0"));
            let operand = Value::constant(fixture.context.const_i32(operand));
            let (b, one) = (fixture.named("b"), Value::constant(fixture.context.const_i32(1)));
            fixture.edit(|edit| {
                edit.set_name(next, "warm")?;
                edit.set_operand(b, 1, operand)?;
                edit.set_operand(b, 1, one)?;
                edit.set_operand(at, 1, operand)
            });
            // What has been edited once is expected to be edited again; a fact that comes out equal
            // counts as the one of before from then on.
            let leaf = fixture.function("leaf");
            let store = leaf.body(&fixture.db).all_ids().nth(2).expect("it has instructions");
            let done: Result<(), BuildError> =
                fixture.db.edit(leaf, |edit| edit.set_operand(store, 0, operand));
            done.expect("the edit breaks no rule");
            fixture.ask();
        }
        fixture.db.take_log();
        fixture
    }

    fn repairs(&self) -> queries::MemoryRepairs {
        queries::memory_repairs(&self.db, self.function("kernel"))
    }

    /// The instruction behind a named one.
    fn behind(&self, name: &str) -> InstId {
        let body = self.function("kernel").body(&self.db);
        body.next(self.named(name)).expect("something stands behind it")
    }

    fn ask(&self) {
        let (db, f) = (&self.db, self.function("kernel"));
        queries::private_memory(db, f);
        queries::data_flow(db, f);
        queries::classic_memory_ssa(db, f);
        queries::pointer_flow(db, f);
        queries::parameter_uses(db, f);
        queries::variables_written(db, f);
    }

    /// How each of the five was found after an edit, as cells of a table; and what ran besides.
    fn found(&self, before: queries::MemoryRepairs) -> String {
        self.ask();
        let now = self.repairs();
        let way = |before: queries::Ways, now: queries::Ways| match (
            now.solved - before.solved,
            now.kept - before.kept,
            now.repaired - before.repaired,
        ) {
            (0, 0, 0) => "not asked",
            (0, _, 0) => "kept",
            (0, 0, _) => "repaired",
            _ => "anew",
        };
        let ways = [
            way(before.private, now.private),
            way(before.addresses, now.addresses),
            way(before.hssa, now.hssa),
            way(before.classic, now.classic),
            way(before.pointers, now.pointers),
        ];
        let behind = ["memory_flow", "parameter_uses", "variables_written"];
        let about = |query: &str| behind.contains(&query) || query.ends_with("_version");
        let log = self.db.take_log().into_iter();
        let kernel = self.function("kernel").id();
        let ran = log.filter(|entry| entry.did == Did::Run && entry.key == kernel);
        let mut ran: Vec<String> =
            ran.filter(|entry| about(&entry.query)).map(|e| format!("`{}`", e.query)).collect();
        ran.sort();
        let ran = if ran.is_empty() { "nothing".into() } else { ran.join(", ") };
        format!("{} | {ran}", ways.join(" | "))
    }

    /// Whether all of them are what a new database finds.
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
            same!(private_memory address_memory memory_ssa classic_memory_ssa pointer_flow memory_kinds);
            let flow = queries::data_flow(&self.db, warm.input).expect("it has a body");
            let users = |from| flow.users(from).map(move |(to, edge)| (from, to, edge));
            let memory = queries::memory_ssa(&db, cold.input).as_ref().expect("it has a body");
            let code = Code {
                context: &self.context,
                header: cold.input.header(&db),
                flow: cold.input.flow(&db),
                body: cold.input.body(&db),
                library: phalanx_analysis::lower::Library::NONE,
            };
            let defined = twin::edges(code, memory);
            assert!(flow.entities().flat_map(users).eq(defined), "{what}: data flow");
        }
    }
}

/// The node of the attachment that one store has.
fn node(fixture: &Fixture) -> MetadataId {
    let extras = fixture.function("kernel").extras(&fixture.db);
    extras.attachments.first().expect("there is one").1.node
}

type Edit = fn(&mut Fixture);

fn constant(fixture: &Fixture, number: i32) -> Value {
    Value::constant(fixture.context.const_i32(number))
}

const EDITS: &[(&str, Edit)] = &[
    ("an operand of an integer", |f| {
        let (v, seven) = (f.named("v1"), constant(f, 7));
        f.edit(|edit| edit.set_operand(v, 1, seven));
    }),
    ("a predicate", |f| {
        let k = f.named("k");
        f.edit(|edit| edit.set_int_predicate(k, IntPredicate::Ne));
    }),
    ("an integer more, among accesses", |f| {
        let (m, v) = (f.named("m"), f.named("v0"));
        f.edit(|edit| edit.before(m).add(v, v));
    }),
    ("an integer less", |f| {
        let unread = f.named("unread");
        f.edit(|edit| edit.erase(unread));
    }),
    ("what is stored", |f| {
        let (store, v) = (f.behind("m"), f.named("v1"));
        f.edit(|edit| edit.set_operand(store, 0, v));
    }),
    ("what is stored in a slot", |f| {
        let (store, v) = (f.behind("v1"), f.named("v1"));
        f.edit(|edit| edit.set_operand(store, 0, v));
    }),
    ("a load more", |f| {
        let (m, b) = (f.named("m"), f.named("b"));
        f.edit(|edit| edit.before(m).load(Type::I32, b));
    }),
    ("a store becomes volatile", |f| {
        let store = f.behind("m");
        f.edit(|edit| edit.set_flags(store, InstFlags::VOLATILE));
    }),
    ("a load becomes volatile", |f| {
        let l = f.named("l");
        f.edit(|edit| edit.set_flags(l, InstFlags::VOLATILE));
    }),
    ("a load less", |f| {
        let l = f.named("l");
        f.edit(|edit| edit.erase(l));
    }),
    ("a load behind a store that was before it", |f| {
        let (m, o) = (f.named("m"), f.named("o"));
        f.edit(|edit| edit.move_before(m, o));
    }),
    ("a load among integers, before the same access", |f| {
        let (l, unread) = (f.named("l"), f.named("unread"));
        f.edit(|edit| edit.move_before(l, unread));
    }),
    ("a store more", |f| {
        let (m, v, b) = (f.named("m"), f.named("v0"), f.named("b"));
        f.edit(|edit| edit.before(m).store(v, b));
    }),
    ("a store less", |f| {
        let store = f.behind("m");
        f.edit(|edit| edit.erase(store));
    }),
    ("a store goes to a slot", |f| {
        let (store, slot) = (f.behind("m"), f.named("slot"));
        f.edit(|edit| edit.set_operand(store, 1, slot));
    }),
    ("a load of a slot less", |f| {
        let (o, v) = (f.named("o"), f.named("v0"));
        f.edit(|edit| edit.replace(o, v));
    }),
    ("a store of another address in a slot", |f| {
        let (store, b) = (f.behind("h"), f.named("b"));
        f.edit(|edit| edit.set_operand(store, 0, b));
    }),
    ("a load of an address from a slot less", |f| {
        let p = f.named("p");
        f.edit(|edit| edit.erase(p));
    }),
    ("an integer from a slot is made a pointer", |f| {
        let (k, wide) = (f.named("k"), f.named("wide"));
        f.edit(|edit| edit.before(k).cast(Opcode::IntToPtr, wide, Type::PTR));
    }),
    ("a store to a slot more", |f| {
        let (m, v, slot) = (f.named("m"), f.named("v0"), f.named("slot"));
        f.edit(|edit| edit.before(m).store(v, slot));
    }),
    ("an address of a slot that nobody uses", |f| {
        let (m, v, slot) = (f.named("m"), f.named("v0"), f.named("slot"));
        f.edit(|edit| edit.before(m).gep(Type::I32, slot, &[v.into()]));
    }),
    ("an address of a slot is stored: others may reach it", |f| {
        let (m, slot) = (f.named("m"), f.named("slot"));
        f.edit(|edit| edit.before(m).store(slot, Value::arg(0)));
    }),
    ("an index", |f| {
        let (a, v) = (f.named("a"), f.named("v0"));
        f.edit(|edit| edit.set_operand(a, 1, v));
    }),
    ("a base, far from the access; it leads elsewhere", |f| {
        let (a, g) = (f.named("a"), f.named("g"));
        f.edit(|edit| edit.set_operand(a, 0, g));
    }),
    ("a base of constant memory", |f| {
        let (h, dev) = (f.named("h"), f.named("g"));
        let dev = f.function("kernel").body(&f.db).operands(dev)[0];
        f.edit(|edit| edit.set_operand(h, 0, dev));
    }),
    ("the address of a load", |f| {
        let (l, out) = (f.named("l"), Value::arg(0));
        f.edit(|edit| edit.set_operand(l, 0, out));
    }),
    ("the address of a load of constant memory", |f| {
        let (m, g) = (f.named("m"), f.named("g"));
        let dev = f.function("kernel").body(&f.db).operands(g)[0];
        f.edit(|edit| edit.set_operand(m, 0, dev));
    }),
    ("the address of a store becomes null", |f| {
        let (store, null) = (f.behind("m"), f.context.const_zero(Type::PTR));
        f.edit(|edit| edit.set_operand(store, 1, null));
    }),
    ("a call more", |f| {
        let call = f.behind("o");
        f.edit(|edit| edit.after(call).clone_of(call));
    }),
    ("a stack slot more", |f| {
        let v = f.named("v0");
        f.edit(|edit| edit.before(v).alloca(Type::I32, 0));
    }),
    ("the last stack slot less", |f| {
        let slot = f.named("slot");
        f.edit(|edit| edit.replace(slot, Value::arg(0)));
    }),
    ("`!invariant.load` on a load", |f| {
        let (l, node) = (f.named("l"), node(f));
        f.edit(|edit| edit.attach(l, "invariant.load", Some(node)));
    }),
    ("another attachment of a load", |f| {
        let (l, node) = (f.named("l"), node(f));
        f.edit(|edit| edit.attach(l, "marked", Some(node)));
    }),
    ("a name", |f| {
        let l = f.named("l");
        f.edit(|edit| edit.set_name(l, "other"));
    }),
    ("a block split", |f| {
        let m = f.named("m");
        f.edit(|edit| edit.split_before(m, "").map(drop));
    }),
    ("two blocks in another order", |f| {
        let order = f.function("kernel").flow(&f.db).order().to_vec();
        f.edit(|edit| edit.move_block_after(order[1], order[2]));
    }),
    ("an aborted edit of a store", |f| {
        let (store, v) = (f.behind("m"), f.named("v1"));
        let kernel = f.function("kernel");
        let done: Result<(), BuildError> = f.db.edit(kernel, |edit| {
            edit.set_operand(store, 0, v)?;
            edit.erase(v)
        });
        assert!(done.is_err(), "what is read cannot be erased");
    }),
    ("a callee promises to access nothing", |f| {
        let attributes = f.function("computes").header(&f.db).attributes;
        let outside = f.function("outside");
        let done = f.db.edit_header(outside, |header| header.attributes = attributes);
        done.expect("the header is right");
    }),
    ("a callee: a store of it leads elsewhere", |f| {
        let leaf = f.function("leaf");
        let insts: Vec<InstId> = leaf.body(&f.db).all_ids().collect();
        let done: Result<(), BuildError> =
            f.db.edit(leaf, |edit| edit.set_operand(insts[2], 1, insts[1]));
        done.expect("the edit breaks no rule");
    }),
    ("a callee: what it stores", |f| {
        let (leaf, nine) = (f.function("leaf"), constant(f, 9));
        let insts: Vec<InstId> = leaf.body(&f.db).all_ids().collect();
        let done: Result<(), BuildError> =
            f.db.edit(leaf, |edit| edit.set_operand(insts[2], 0, nine));
        done.expect("the edit breaks no rule");
    }),
    ("the size of launches", |f| {
        let kernel = f.function("kernel");
        let launch =
            LaunchStatement { workgroup_size: Some([64, 1, 1]), ..LaunchStatement::default() };
        f.db.set_launch(kernel, launch).expect("the module says nothing else");
    }),
    ("a variable is constant no more", |f| {
        f.db.edit_shell(f.module, |shell| shell.variables[2].is_constant = false)
            .expect("no rule is broken");
    }),
];

#[test]
fn the_table_in_the_documentation_is_what_happens() {
    let mut table = String::from(
        "| edited in a large function | `private_memory` | `address_memory` | `memory_ssa` | `classic_memory_ssa` | `pointer_flow` | runs besides |\n|---|---|---|---|---|---|---|\n",
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
    check_table(page, "| edited in a large function |", &table);
}

/// Addresses of the five answers.
fn addresses(fixture: &Fixture) -> [*const (); 5] {
    let (db, f) = (&fixture.db, fixture.function("kernel"));
    let body = "it has a body";
    [
        Arc::as_ptr(queries::private_memory(db, f).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::address_memory(db, f).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::memory_ssa(db, f).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::classic_memory_ssa(db, f).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::pointer_flow(db, f)).cast(),
    ]
}

#[test]
fn what_is_kept_is_the_very_same() {
    let mut fixture = Fixture::new(400);
    let before = addresses(&fixture);
    for number in 0..40 {
        let (v, operand) = (fixture.named("v1"), constant(&fixture, number));
        fixture.edit(|edit| {
            edit.set_operand(v, 1, operand)?;
            edit.after(v).add(v, operand)
        });
        assert_eq!(addresses(&fixture), before);
    }
    fixture.check("integers");
    // Edits without a query in between are handled by one update.
    let (v, store) = (fixture.named("v1"), fixture.behind("m"));
    fixture.edit(|edit| edit.erase(store));
    fixture.edit(|edit| edit.set_operand(v, 1, Value::arg(1)));
    assert_ne!(addresses(&fixture), before);
    fixture.check("a store less, and an integer");
}

#[test]
fn nothing_is_kept_of_what_was_dropped() {
    for long in [40, 400] {
        let mut fixture = Fixture::new(long);
        fixture.db.trim(fixture.module);
        let (v, before) = (fixture.named("v1"), fixture.repairs());
        fixture.edit(|edit| edit.set_operand(v, 1, Value::arg(1)));
        assert_eq!(fixture.found(before), "anew | anew | anew | anew | anew | nothing");
    }
}

/// Accesses too far apart to compare their neighbours: the row of their block is rebuilt.
#[test]
fn what_is_far_apart_is_found_in_its_block() {
    let far =
        text(400).replace("  ret void\n}\n!0", "  store i32 %w0, ptr %out\n  ret void\n}\n!0");
    let mut fixture = Fixture::warm(&far);
    let (store, w) = (fixture.behind("w400"), fixture.named("w2"));
    let before = fixture.repairs();
    fixture.edit(|edit| edit.set_operand(store, 0, w));
    assert_eq!(fixture.found(before), "kept | kept | kept | kept | kept | nothing");
    fixture.check("an access that stands alone");
}

/// The order of blocks is no part of the body, and not told by its journal when a module is read
/// again.
#[test]
fn blocks_are_put_back_by_a_reload() {
    let mut fixture = Fixture::new(400);
    let kernel = fixture.function("kernel");
    let order = kernel.flow(&fixture.db).order().to_vec();
    fixture.edit(|edit| edit.move_block_after(order[1], order[2]));
    fixture.ask();
    let position = kernel.body(&fixture.db).journal().position();
    let edited = text(400).replace("%w0 = add i32 %n, 1", "%w0 = add i32 %n, 7");
    let parsed = phalanx_llvm::parse_module(Arc::clone(&fixture.context), edited.as_bytes());
    let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}"));
    fixture.db.reload(fixture.module, parsed.module, None);
    assert_eq!(kernel.flow(&fixture.db).order(), order);
    assert_eq!(kernel.body(&fixture.db).journal().position(), position, "the body is the same");
    fixture.check("blocks in their old order");
}
