//! Edits of stack slots and of what is done with them: private memory is repaired, and is that from
//! scratch.

#[path = "support.rs"]
mod support;

use phalanx_analysis::{
    edited::Edited,
    lower::{Code, Environment, Library},
    memory::{
        PrivateMemory, UpdatedFact,
        ssa::{Frontiers, Graph},
    },
    summary::NoCallFacts,
};
use phalanx_db::queries;
use phalanx_ir::{
    BuildError, InstBuilder, InstId, Opcode, Type, Value,
    inst::{InstFlags, IntPredicate},
};
use phalanx_testing::many_slots;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use support::Fixture;

/// Slots of all kinds, and all that is done with slots; then `long` times the same with slots of
/// their own.
fn text(long: usize) -> String {
    let text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, i64, ptr }
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.lifetime.start.p0(ptr)
declare void @peek(ptr, ptr)
declare void @take(ptr)

define ptx_kernel void @kernel(ptr %out, i32 %n, i1 %c, ptr byval(%pair) %v) {
entry:
  %a = alloca i32
  %b = alloca i32
  %p = alloca ptr
  %d = alloca [4 x i32]
  %e = alloca [4 x i32]
  %s = alloca %pair
  %gone = alloca i32
  %x = alloca i64
SLOTS  %m = add i32 %n, 3
  %k = and i32 %n, 3
  call void @llvm.lifetime.start.p0(ptr %a)
  store i32 %n, ptr %a
  store i32 0, ptr %b
  store i64 0, ptr %x
  store i32 %n, ptr %gone
  store ptr %gone, ptr %out
  call void @llvm.memset.p0.i64(ptr %d, i8 0, i64 16, i1 false)
  store [4 x i32] zeroinitializer, ptr %e
  store ptr %out, ptr %p
  %xa = addrspacecast ptr %x to ptr addrspace(5)
  %xb = load i32, ptr addrspace(5) %xa
  br i1 %c, label %one, label %two
one:
  %dx = getelementptr [4 x i32], ptr %d, i32 0, i32 1
  store i32 %n, ptr %dx
  store i32 7, ptr %b
  call void @peek(ptr captures(none) %a, ptr captures(none) %b)
  br label %two
two:
  %w = phi ptr [ %out, %entry ], [ %out, %one ], [ %w, %two ]
  %lb = load i32, ptr %b
  %la = load volatile i32, ptr %a
  %dy = getelementptr [4 x i32], ptr %d, i32 0, i32 %k
  %ld = load i32, ptr %dy
  %sum = add i32 %lb, %ld
  store i32 %sum, ptr %a
  %lp = load ptr, ptr %p
  store ptr %lp, ptr %p
  %sel = select i1 %c, ptr %out, ptr %out
  %old = atomicrmw add ptr %b, i32 %n monotonic
  %cx = cmpxchg ptr %a, i32 %n, i32 %old monotonic monotonic
  %again = icmp slt i32 %sum, %n
  br i1 %again, label %two, label %three
three:
  call void @llvm.memcpy.p0.p0.i64(ptr %e, ptr %d, i64 16, i1 false)
  %ex = getelementptr i8, ptr %e, i64 4
  %ey = getelementptr i8, ptr %ex, i64 4
  %le = load i32, ptr %ey
  %all = load [4 x i32], ptr %e
  %sx = getelementptr %pair, ptr %s, i32 0, i32 1
  store i64 5, ptr %sx
  store i32 %le, ptr %s
  %ls = load %pair, ptr %s
  %at = load atomic i32, ptr %b monotonic, align 4
  %same = icmp eq ptr %a, %ex
  %lx = load i64, ptr %x
  %vx = getelementptr i8, ptr %v, i64 4
  %vs = select i1 %c, ptr %vx, ptr %v
  %vy = getelementptr i8, ptr %vs, i64 4
  %lv = load i32, ptr %vy
  br i1 %same, label %s0, label %s0
"#,
    );
    let mut text = text.replace("SLOTS", &many_slots::slots(long));
    text.push_str(&many_slots::blocks(long, &["%n"]));
    text.push_str(&format!("s{long}:\n  ret void\n"));
    text.push_str("dead:\n  br label %never\nnever:\n  %ph = phi ptr [ %out, %dead ]\n");
    text.push_str("  store i32 %n, ptr %ph\n  ret void\n}\n");
    text
}

/// The memory of addresses, followed without a database.
struct Alone {
    memory: PrivateMemory,
    position: u64,
    /// From scratch, the very same, repaired.
    ways: [u64; 3],
}

impl Fixture {
    fn new(long: usize) -> Self {
        Fixture::of(&text(long), "kernel")
    }

    fn code(&self) -> Code<'_> {
        let view = self.edited().view(&self.db);
        let (header, flow, body) = (view.header, view.flow, view.body);
        Code { context: &self.context, header, flow, body, library: Library::NONE }
    }

    fn with<R>(&self, run: impl FnOnce(Environment<'_>, Frontiers<'_>) -> R) -> R {
        let (db, f) = (&self.db, self.edited());
        let env = Environment {
            target: queries::target(db, self.module),
            layout: queries::type_layout(db, self.module),
            launch: queries::launch_facts(db, f),
            lockstep: false,
            scratch_is_global: false,
            permutes_halves: false,
            callee: &|_| None,
            calls: &NoCallFacts,
            node_string: &|_| None,
        };
        let graph = "it has a body";
        let cfg = queries::cfg(db, f).expect(graph);
        let dom = queries::dom_tree(db, f).expect(graph);
        let frontier = || queries::dom_frontier(db, f).expect(graph);
        run(env, Frontiers { cfg, dom, frontier: &frontier })
    }

    fn alone(&self) -> Alone {
        let memory = self
            .with(|env, graph| PrivateMemory::of_addresses(self.code(), env, graph.cfg, graph.dom));
        Alone { memory, position: self.code().body.journal().position(), ways: [0; 3] }
    }

    /// Follows what has been edited since.
    fn update(&self, alone: &mut Alone, what: &str) {
        let code = self.code();
        let journal = code.body.journal();
        let changes = journal.since(alone.position).expect("the journal reaches back");
        self.with(|env, graph| {
            let scratch = PrivateMemory::of_addresses(code, env, graph.cfg, graph.dom);
            let same = (Graph { cfg: graph.cfg, dom: graph.dom }, graph);
            match alone.memory.update(code, env, same, Edited::insts(&changes.insts)) {
                UpdatedFact::Same => alone.ways[1] += 1,
                UpdatedFact::Other(new) => {
                    alone.memory = new;
                    alone.ways[2] += 1;
                }
                UpdatedFact::Unknown => {
                    alone.memory = scratch.clone();
                    alone.ways[0] += 1;
                }
            }
            assert!(alone.memory == scratch, "{what}: of addresses");
        });
        alone.position = journal.position();
    }

    /// Whether private memory is that from scratch.
    #[track_caller]
    fn check(&self, what: &str) {
        let (db, entries) = self.cold();
        for (warm, cold) in self.module.functions(&self.db).iter().zip(&entries) {
            let (now, of_cold) = (warm.input, cold.input);
            let memory = queries::private_memory(&self.db, now);
            assert!(memory == queries::private_memory(&db, of_cold), "{what}");
            let ssa = queries::memory_ssa(&self.db, now);
            assert!(ssa == queries::memory_ssa(&db, of_cold), "{what}: what is made of it");
        }
    }

    fn ways(&self) -> queries::Ways {
        queries::memory_repairs(&self.db, self.edited()).private
    }

    /// The next instruction behind a named one that has an opcode.
    fn behind(&self, name: &str, opcode: Opcode) -> InstId {
        let body = self.code().body;
        let mut all = std::iter::successors(Some(self.named(name)), |&at| body.next(at));
        all.find(|&inst| body.inst(inst).opcode == opcode).expect("there is one")
    }
}

type Edit = fn(&mut Fixture);

/// What is edited, how private memory is found (`k`ept, `r`epaired, `a`new), and the edit.
const EDITS: &[(&str, char, Edit)] = &[
    ("an integer", 'k', |f| {
        let sum = f.named("sum");
        f.edit(|edit| edit.set_operand(sum, 0, Value::arg(1)));
    }),
    ("another value is stored", 'k', |f| {
        let store = f.behind("sum", Opcode::Store);
        f.edit(|edit| edit.set_operand(store, 0, Value::arg(1)));
    }),
    ("a load more", 'r', |f| {
        let load = f.named("b3");
        f.edit(|edit| edit.after(load).clone_of(load));
    }),
    ("a load less", 'r', |f| {
        let load = f.named("xb");
        f.edit(|edit| edit.erase(load));
    }),
    ("a store more", 'r', |f| {
        let (test, slot) = (f.named("d5"), f.named("a5"));
        f.edit(|edit| edit.before(test).store(Value::arg(1), slot).map(drop));
    }),
    ("a store less", 'r', |f| {
        let store = f.behind("ey", Opcode::Store);
        f.edit(|edit| edit.erase(store));
    }),
    ("a store behind a load", 'r', |f| {
        let (load, test) = (f.named("b8"), f.named("d8"));
        let store = f.code().body.prev(load).expect("the store stands before it");
        f.edit(|edit| edit.move_before(store, test));
    }),
    ("a load becomes volatile", 'r', |f| {
        let load = f.named("b3");
        f.edit(|edit| edit.set_flags(load, InstFlags::VOLATILE));
    }),
    ("a slot more, not used", 'r', |f| {
        let a = f.named("a7");
        f.edit(|edit| edit.after(a).clone_of(a));
    }),
    ("a slot less", 'r', |f| {
        let (a, b) = (f.named("a7"), f.named("a8"));
        f.edit(|edit| {
            edit.replace_all_uses(a, b)?;
            edit.erase(a)
        });
    }),
    ("slots in another order", 'r', |f| {
        let (a, b) = (f.named("a7"), f.named("a2"));
        f.edit(|edit| edit.move_before(a, b));
    }),
    ("a slot escapes", 'r', |f| {
        let (load, slot) = (f.named("f6"), f.named("a6"));
        f.edit(|edit| edit.before(load).store(slot, Value::arg(0)).map(drop));
    }),
    ("a slot escapes no longer", 'r', |f| {
        let (store, out) = (f.behind("gone", Opcode::Store), Value::arg(0));
        let all = std::iter::successors(Some(store), |&at| f.code().body.next(at));
        let gone = Value::from(f.named("gone"));
        let store = { all }.find(|&at| f.code().body.operands(at)[0] == gone).expect("it is there");
        f.edit(|edit| edit.set_operand(store, 0, out));
    }),
    ("a slot that escapes escapes again", 'k', |f| {
        let (lx, gone) = (f.named("lx"), f.named("gone"));
        f.edit(|edit| edit.before(lx).store(gone, Value::arg(0)).map(drop));
    }),
    ("a copy takes from another slot", 'r', |f| {
        let (next, s) = (f.named("ex"), f.named("s"));
        let copy = f.code().body.prev(next).expect("the copy stands before it");
        f.edit(|edit| edit.set_operand(copy, 1, s));
    }),
    ("a step of an address", 'r', |f| {
        let (ex, eight) = (f.named("ex"), Value::constant(f.context.const_i64(8)));
        f.edit(|edit| edit.set_operand(ex, 1, eight));
    }),
    ("a base far above", 'r', |f| {
        let (ex, d) = (f.named("ex"), f.named("d"));
        f.edit(|edit| edit.set_operand(ex, 0, d));
    }),
    ("an index becomes variable", 'r', |f| {
        let (dx, k) = (f.named("dx"), f.named("k"));
        f.edit(|edit| edit.set_operand(dx, 2, k));
    }),
    ("a selection of slots", 'r', |f| {
        let (sel, b) = (f.named("sel"), f.named("b"));
        f.edit(|edit| edit.set_operand(sel, 1, b));
    }),
    ("what the launch passes, or another argument", 'k', |f| {
        let sel = f.named("vs");
        f.edit(|edit| edit.set_operand(sel, 2, Value::arg(0)));
    }),
    ("what the launch passes, or a slot", 'r', |f| {
        let (sel, b) = (f.named("vs"), f.named("b"));
        f.edit(|edit| edit.set_operand(sel, 2, b));
    }),
    ("what the launch passes is written", 'k', |f| {
        let (load, address) = (f.named("lv"), f.named("vy"));
        f.edit(|edit| edit.before(load).store(Value::arg(1), address).map(drop));
    }),
    ("another argument, and what the launch passes", 'k', |f| {
        let sel = f.named("sel");
        f.edit(|edit| edit.set_operand(sel, 1, Value::arg(3)));
    }),
    ("a slot where nobody comes", 'a', |f| {
        let (phi, b) = (f.named("ph"), f.named("b"));
        f.edit(|edit| edit.set_operand(phi, 0, b));
    }),
    ("a store where nobody comes", 'k', |f| {
        let (phi, b) = (f.named("ph"), f.named("b"));
        let store = f.code().body.next(phi).expect("the store");
        f.edit(|edit| edit.set_operand(store, 1, b));
    }),
    ("a load of a slot that a function is given with another", 'r', |f| {
        let (call, a) = (f.behind("dx", Opcode::Call), f.named("a"));
        f.edit(|edit| edit.before(call).load(Type::I32, a));
    }),
    ("the last slots are gone", 'r', |f| {
        let (all, s) = (f.named("ls"), f.named("s"));
        f.edit(|edit| {
            edit.erase(all)?;
            edit.replace_all_uses(s, Value::arg(0))?;
            edit.erase(s)
        });
    }),
];

#[test]
fn private_memory_is_repaired() {
    for &(what, how, edit) in EDITS {
        let mut fixture = Fixture::new(30);
        fixture.check("at first");
        let before = fixture.ways();
        edit(&mut fixture);
        fixture.check(what);
        let ways = fixture.ways();
        let found = match [ways.kept - before.kept, ways.repaired - before.repaired] {
            [1, _] => 'k',
            [_, 1] => 'r',
            _ => 'a',
        };
        assert_eq!(found, how, "{what}");
        // What is found is as good as new.
        let (load, slot) = (fixture.named("b9"), fixture.named("a9"));
        fixture.edit(|edit| edit.before(load).store(Value::arg(1), slot).map(drop));
        fixture.check(what);
        assert_eq!(fixture.ways().repaired, ways.repaired + 1, "{what}");
    }
}

/// What was put in later and takes part no longer is told from what is known of it.
#[test]
fn a_load_more_is_one_less_again() {
    let mut fixture = Fixture::new(30);
    fixture.check("at first");
    let load = fixture.named("b3");
    let copy = fixture.edit(|edit| edit.after(load).clone_of(load));
    fixture.check("a load more");
    fixture.edit(|edit| edit.set_operand(copy, 0, Value::arg(0)));
    fixture.check("a load from elsewhere");
    assert_eq!(fixture.ways().repaired, 2);
}

/// An address without uses changes no fact, but it changes the dependency set: a later use of it
/// accesses the slot.
#[test]
fn an_address_is_known_before_it_is_used() {
    let mut fixture = Fixture::new(30);
    fixture.check("at first");
    let (load, slot) = (fixture.named("b3"), fixture.named("a3"));
    let address = fixture.edit(|edit| edit.before(load).gep(Type::I32, slot, &[Value::arg(1)]));
    fixture.check("an address");
    fixture.edit(|edit| edit.before(load).store(Value::arg(1), address).map(drop));
    fixture.check("a store there");
    // The same in a solution from scratch, which does not examine phis in unreachable code.
    let (phi, b, load) = (fixture.named("ph"), fixture.named("b"), fixture.named("le"));
    fixture.edit(|edit| edit.set_operand(phi, 0, b));
    fixture.check("a slot that escapes");
    fixture.edit(|edit| edit.set_operand(phi, 0, Value::arg(0)));
    fixture.check("a slot that escapes no longer");
    let before = fixture.ways().solved;
    let a = fixture.named("a");
    let address = fixture.edit(|edit| {
        edit.set_operand(phi, 0, a)?;
        edit.before(load).gep(Type::I8, b, &[Value::arg(1)])
    });
    fixture.check("another address");
    fixture.edit(|edit| edit.before(load).store(Value::arg(1), address).map(drop));
    fixture.check("a store to that");
    assert!(fixture.ways().solved > before);
}

/// What random edits choose from, in order of blocks that can be reached.
struct Choice {
    here: Vec<InstId>,
    slots: Vec<InstId>,
    /// Slots, and what is made from pointers.
    pointers: Vec<InstId>,
    accesses: Vec<InstId>,
    calls: Vec<InstId>,
    /// Phis and selections.
    joins: Vec<InstId>,
    /// Stores and selections of pointers.
    escapes: Vec<InstId>,
}

impl Choice {
    fn of(fixture: &Fixture) -> Self {
        let Code { flow, body, .. } = fixture.code();
        let blocks = &flow.order()[..flow.order().len() - 2];
        let here: Vec<InstId> = blocks.iter().flat_map(|&block| body.block_insts(block)).collect();
        let of = |wanted: &[Opcode]| -> Vec<InstId> {
            let opcode = |inst: InstId| body.inst(inst).opcode;
            here.iter().copied().filter(|&inst| wanted.contains(&opcode(inst))).collect()
        };
        let pointers = of(&[Opcode::Alloca, Opcode::GetElementPtr]);
        let is_pointer = |value: &Value| value.as_inst().is_some_and(|v| pointers.contains(&v));
        let mut escapes = of(&[Opcode::Store, Opcode::Phi, Opcode::Select]);
        escapes.retain(|&inst| match body.inst(inst).opcode {
            Opcode::Store => is_pointer(&body.operands(inst)[0]),
            _ => body.operands(inst).iter().any(is_pointer),
        });
        let accesses = [Opcode::Load, Opcode::Store, Opcode::AtomicRmw, Opcode::CmpXchg];
        let others = [Opcode::Call, Opcode::GetElementPtr, Opcode::AddrSpaceCast, Opcode::IntToPtr];
        Choice {
            slots: of(&[Opcode::Alloca]),
            accesses: of(&[&accesses[..], &others].concat()),
            calls: of(&[Opcode::Call]),
            joins: of(&[Opcode::Phi, Opcode::Select]),
            escapes,
            pointers,
            here,
        }
    }
}

/// One of the first of these, or of all: the first ones have more to do with each other.
fn pick(rng: &mut SmallRng, all: &[InstId], first: usize) -> Option<InstId> {
    let count = if rng.random_bool(0.7) { first.min(all.len()) } else { all.len() };
    all[..count].choose(rng).copied()
}

/// One edit of what has to do with slots, whatever it makes of the program. An edit that would
/// break a rule is none.
fn random_edit(fixture: &mut Fixture, rng: &mut SmallRng) -> Option<()> {
    let function = fixture.edited();
    let choice = Choice::of(fixture);
    let (slot, other) = (pick(rng, &choice.slots, 9)?, pick(rng, &choice.slots, 9)?);
    let (inst, near) = (pick(rng, &choice.accesses, 45)?, pick(rng, &choice.accesses, 45)?);
    let (at, pointer) = (*choice.here.choose(rng)?, *choice.pointers.choose(rng)?);
    let body = function.body(&fixture.db);
    let ty = *[Type::I32, Type::I64, Type::PTR, body.inst(near).ty].choose(rng)?;
    let constant = Value::constant(fixture.context.const_i32(rng.random_range(0..3)));
    let number = *[Value::arg(1), constant, Value::from(at)].choose(rng)?;
    let position = rng.random_range(0..body.operands(inst).len().max(1)) as u32;
    let what = rng.random_range(0..27);
    let done: Result<(), BuildError> = fixture.db.edit(function, |edit| match what {
        0 => edit.before(at).store(number, slot).map(drop),
        1 => edit.before(at).load(ty, pointer).map(drop),
        2 | 3 => edit.after(inst).clone_of(inst).map(drop),
        4 | 5 => edit.erase(inst),
        6 | 7 => edit.move_before(inst, near),
        8 => edit.after(slot).clone_of(slot).map(drop),
        9 => {
            edit.replace_all_uses(slot, other)?;
            edit.erase(slot)
        }
        10 => edit.move_before(slot, if rng.random_bool(0.5) { other } else { choice.here[0] }),
        11 => edit.before(at).store(slot, Value::arg(0)).map(drop),
        12 | 13 => match choice.escapes.choose(rng).copied() {
            Some(store) if edit.body().inst(store).opcode == Opcode::Store => edit.erase(store),
            Some(other) => edit.replace_all_uses(other, Value::arg(0)).map(drop),
            None => Ok(()),
        },
        14 => match choice.calls.choose(rng).copied() {
            Some(call) => edit.set_operand(call, rng.random_range(0..2), slot),
            None => Ok(()),
        },
        15 => edit.before(at).gep(Type::I32, pointer, &[number]).map(drop),
        16 => {
            let made = edit.before(at).gep(Type::I8, slot, &[constant])?;
            edit.before(at).store(Value::arg(1), made).map(drop)
        }
        17 | 18 => edit.set_operand(inst, position, pointer),
        19 => edit.set_operand(inst, position, number),
        20 => {
            let mut flags = edit.body().inst(inst).flags;
            flags.0 ^= InstFlags::VOLATILE.0;
            edit.set_flags(inst, flags)
        }
        21 => match choice.joins.choose(rng).copied() {
            Some(join) => edit.set_operand(join, rng.random_range(0..3), slot),
            None => Ok(()),
        },
        22 => edit.set_operand(inst, position, Value::arg(0)),
        23 => edit.before(at).inttoptr(Value::arg(1), Type::PTR).map(drop),
        24 => edit.before(at).icmp(IntPredicate::Eq, slot, pointer).map(drop),
        _ => {
            let ty = [Type::I32, Type::I64, Type::PTR][rng.random_range(0..3)];
            let new = edit.after(slot).alloca(ty, 0)?;
            edit.before(inst).store(number, new).map(drop)
        }
    });
    done.ok()
}

/// How many runs: more than the usual ones where `PHALANX_SLOTS` says so.
fn seeds() -> u64 {
    std::env::var("PHALANX_SLOTS").ok().and_then(|count| count.parse().ok()).unwrap_or(12)
}

#[test]
fn private_memory_follows_random_edits() {
    let (mut edits, mut ways, mut alone_ways) = (0, [0; 3], [0; 3]);
    for seed in 0..seeds() {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::new(24);
        fixture.check("at first");
        let mut alone = fixture.alone();
        for round in 0..150 {
            let count = [1, 1, 2, 4][rng.random_range(0..4)];
            let done = (0..count).filter(|_| random_edit(&mut fixture, &mut rng).is_some()).count();
            edits += done;
            let what = format!("seed {seed}, round {round}");
            fixture.check(&what);
            fixture.update(&mut alone, &what);
        }
        let found = fixture.ways();
        for (sum, more) in ways.iter_mut().zip([found.solved, found.kept, found.repaired]) {
            *sum += more;
        }
        (0..3).for_each(|at| alone_ways[at] += alone.ways[at]);
    }
    println!("{edits} edits: {ways:?}, of addresses: {alone_ways:?}");
    let [solved, kept, repaired] = ways;
    assert!(repaired > 300 && kept > 100 && solved * 10 < repaired, "{edits} {ways:?}");
    let [solved, _, repaired] = alone_ways;
    assert!(repaired > 100 && solved < repaired, "{edits} {alone_ways:?}");
}
