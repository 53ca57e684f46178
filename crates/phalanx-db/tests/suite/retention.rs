//! What is kept of a function between edits, and when nothing is: of small functions, after large
//! edits, and after it was dropped. What each edit leaves as it is, edit scripts say:
//! `test-suite/edits`.

#[path = "support.rs"]
mod support;

use std::sync::Arc;

use phalanx_analysis::stable::Assumptions;
use phalanx_core::barriers::BarrierModel;
use phalanx_db::queries::{self, Repairs, Ways};
use phalanx_ir::{InstBuilder, InstId, Opcode, Type, Value, builder::Callee, types::StructBody};
use phalanx_target::{LaunchStatement, SourceSet};
use support::Fixture;

/// Race-free programs whose barriers are used rightly.
const STRICT: Assumptions = Assumptions { barriers: Some(BarrierModel::Strict), race_free: true };

/// Four sets of assumptions, as many as a function retains, and one more.
const FIVE: [Assumptions; 5] = [
    Assumptions { barriers: None, race_free: true },
    Assumptions { barriers: Some(BarrierModel::Lenient), race_free: false },
    STRICT,
    Assumptions { barriers: Some(BarrierModel::Strict), race_free: false },
    Assumptions { barriers: Some(BarrierModel::Lenient), race_free: true },
];

/// A kernel with a stack slot, structures, a load before a barrier and one behind it, barriers that
/// some threads do not come to, and `long` sums.
fn text(long: usize) -> String {
    let mut text = String::from(
        r#"
target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, i32 }
@w = internal addrspace(1) global i32 0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare void @computes(ptr addrspace(1)) memory(none)
declare void @outside(ptr addrspace(1))
declare i32 @llvm.made.up(i32)

define internal void @leaf(ptr addrspace(1) %p, i32 %n) {
  store i32 %n, ptr addrspace(1) @w
  ret void
}

define ptx_kernel void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) {
entry:
  %slot = alloca i32
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %n, ptr %slot
  %of.slot = load i32, ptr %slot
  %pairs = alloca [2 x %pair]
  %second = getelementptr %pair, ptr %pairs, i32 1
  store i32 0, ptr %pairs
  store i32 %tid, ptr %second
  %behind = getelementptr i8, ptr %pairs, i32 8
  %of.second = load i32, ptr %behind
  %pair.at = getelementptr %pair, ptr addrspace(1) %p, i32 %tid, i32 1
  %of.pair = load i32, ptr addrspace(1) %pair.at
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %n
  %early = load i32, ptr addrspace(1) %at
  %up = call i32 @llvm.made.up(i32 %n)
  call void @leaf(ptr addrspace(1) %p, i32 %n)
  call void @outside(ptr addrspace(1) %p)
  %c = icmp slt i32 %early, %tid
  br i1 %c, label %one, label %last
one:
  call void @llvm.nvvm.barrier0()
  %late = load i32, ptr addrspace(1) %at
  %d = icmp slt i32 %tid, 7
  br i1 %d, label %two, label %last
two:
  call void @llvm.nvvm.barrier0()
  br label %last
last:
  %v0 = add i32 %n, 1
"#,
    );
    for at in 1..long {
        text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    text.push_str(&format!("  store i32 %v{}, ptr addrspace(1) %q\n  ret void\n}}\n", long - 1));
    text
}

/// The answers that are the very same as long as they are kept.
fn addresses(f: &Fixture) -> Vec<*const ()> {
    let (db, kernel, body) = (&f.db, f.edited(), "it has a body");
    vec![
        Arc::as_ptr(queries::private_memory(db, kernel).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::address_memory(db, kernel).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::memory_ssa(db, kernel).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::classic_memory_ssa(db, kernel).as_ref().expect(body)).cast(),
        Arc::as_ptr(queries::pointer_flow(db, kernel)).cast(),
        Arc::as_ptr(queries::memory_accesses(db, kernel).as_ref().expect(body)).cast(),
    ]
}

impl Fixture {
    fn new(long: usize) -> Self {
        Fixture::warm(&text(long))
    }

    /// With everything asked often enough to be kept.
    fn warm(text: &str) -> Self {
        let mut f = Fixture::of(text, "kernel");
        f.ask();
        for operand in [7, 8, 7] {
            f.set("v1", 1, f.number(operand));
            f.ask();
        }
        f
    }

    fn number(&self, number: i32) -> Value {
        Value::constant(self.context.const_i32(number))
    }

    fn set(&mut self, name: &str, index: u32, value: Value) {
        let inst = self.named(name);
        self.edit(|edit| edit.set_operand(inst, index, value));
    }

    fn ask(&self) {
        let (db, kernel) = (&self.db, self.edited());
        addresses(self);
        queries::divergence(db, kernel);
        queries::diagnostics(db, kernel);
        queries::load_classes(db, kernel);
        queries::assumed_divergence(db, kernel, STRICT);
        queries::convergence(db, kernel);
        queries::written_spaces(db, kernel);
        queries::space_conflicts(db, kernel);
    }

    /// How the answers were found so far.
    fn ways(&self) -> Vec<(&'static str, Ways)> {
        let (db, kernel) = (&self.db, self.edited());
        let mut all = queries::memory_repairs(db, kernel).by_query().to_vec();
        all.push(("memory_accesses", queries::access_repairs(db, kernel)));
        all.push(("memory_kinds", queries::kind_repairs(db, kernel)));
        all.extend(queries::kept_answers(db, kernel).by_query());
        all
    }

    /// The answers that are found from scratch when all is asked for.
    fn anew(&self) -> String {
        let before = self.ways();
        self.ask();
        let both = self.ways().into_iter().zip(before);
        let anew = both.filter(|((_, now), (_, before))| now.solved > before.solved);
        anew.map(|((name, _), _)| name).collect::<Vec<_>>().join(" ")
    }

    /// Whether all of it is what a new database finds.
    #[track_caller]
    fn check(&self, what: &str) {
        let (db, cold) = self.cold();
        let all = self.module.functions(&self.db).iter().zip(&cold);
        for (warm, cold) in all.filter(|(warm, _)| warm.is_definition) {
            let (warm, cold) = (warm.input, cold.input);
            macro_rules! same {
                ($($query:ident)*) => {$(
                    let (known, found) =
                        (queries::$query(&self.db, warm), queries::$query(&db, cold));
                    assert!(known == found, "{what}: {}", stringify!($query));
                )*};
            }
            same!(private_memory address_memory memory_ssa classic_memory_ssa pointer_flow);
            same!(memory_accesses memory_kinds divergence diagnostics load_classes convergence);
            same!(written_spaces space_conflicts summary);
            for assumptions in FIVE {
                let known = queries::assumed_divergence(&self.db, warm, assumptions);
                let found = queries::assumed_divergence_from_scratch(&db, cold, assumptions);
                assert!(known.as_deref() == found.as_ref(), "{what}: {assumptions:?}");
            }
        }
    }

    fn assumed(&self) -> Repairs {
        queries::assumed_repairs(&self.db, self.edited())
    }
}

#[test]
fn what_is_kept_is_the_very_same() {
    let mut f = Fixture::new(400);
    let before = addresses(&f);
    for number in 0..40 {
        let (v, operand) = (f.named("v3"), f.number(number));
        f.edit(|edit| {
            edit.set_operand(v, 1, operand)?;
            edit.after(v).add(v, operand)
        });
        assert_eq!(addresses(&f), before);
    }
    f.check("integers");
    // Edits without a question between are handled by one update.
    let (late, ways) = (f.named("late"), f.ways());
    f.edit(|edit| edit.erase(late));
    f.set("at", 1, Value::inst(f.named("tid")));
    assert_ne!(addresses(&f), before);
    let both = f.ways().into_iter().zip(ways);
    let found = both.map(|((_, now), (_, before))| now.repaired - before.repaired);
    assert_eq!(found.max(), Some(1));
    f.check("an index, and a load less");
}

/// The order of blocks is no part of the body, and not told by its journal when a module is read
/// again. Findings and accesses are in the order of the text.
#[test]
fn blocks_are_put_back_by_a_reload() {
    let mut f = Fixture::new(400);
    let kernel = f.edited();
    assert_eq!(queries::diagnostics(&f.db, kernel).as_deref().map(<[_]>::len), Some(2));
    let order = kernel.flow(&f.db).order().to_vec();
    f.edit(|edit| edit.move_block_after(order[1], order[2]));
    f.check("blocks in another order");
    let position = kernel.body(&f.db).journal().position();
    let edited = text(400).replace("%v1 = add i32 %v0, %n", "%v1 = add i32 %v0, 7");
    let parsed = phalanx_llvm::parse_module(Arc::clone(&f.context), edited.as_bytes());
    let parsed = parsed.unwrap_or_else(|e| panic!("{e:?}"));
    f.db.reload(f.module, parsed.module, None);
    assert_eq!(kernel.flow(&f.db).order(), order);
    assert_eq!(kernel.body(&f.db).journal().position(), position, "the body is the same");
    f.check("blocks in their old order");
}

#[test]
fn nothing_is_kept_of_functions_of_few_instructions() {
    let mut f = Fixture::new(2);
    f.set("v1", 0, Value::inst(f.named("tid")));
    f.check("a sum");
    assert!(f.ways().iter().all(|(_, ways)| *ways == Ways::default()), "{:?}", f.ways());
}

/// Of a function that is not large the facts about memory are kept, while few of its instructions
/// have changed.
#[test]
fn few_facts_are_kept_of_functions_that_are_not_large() {
    let memory = "private_memory address_memory memory_ssa classic_memory_ssa pointer_flow";
    for (count, anew) in [(8, ""), (40, memory)] {
        let mut f = Fixture::new(60);
        assert!(!f.edited().is_large(&f.db));
        let v = f.named("v1");
        f.edit(|edit| (0..count).try_for_each(|_| edit.after(v).add(v, v).map(drop)));
        assert_eq!(f.anew(), anew);
        f.check("integers");
    }
    // One that grows is looked at anew, and is a large one from then on.
    let mut f = Fixture::new(60);
    let v = f.named("v1");
    f.edit(|edit| (0..400).try_for_each(|_| edit.after(v).add(v, v).map(drop)));
    assert!(f.edited().is_large(&f.db));
    assert!(f.anew().starts_with(memory));
    f.check("a function that has grown");
    f.set("v1", 1, Value::arg(2));
    assert_eq!(f.anew(), "");
    f.check("an integer there");
}

#[test]
fn nothing_is_kept_after_it_was_dropped() {
    let mut f = Fixture::new(400);
    f.db.trim(f.module);
    f.set("v1", 1, f.number(9));
    let (anew, not_asked) = (f.anew(), ["effects", "through", "own_barriers"]);
    for (name, _) in f.ways() {
        assert_eq!(anew.split(' ').any(|of| of == name), !not_asked.contains(&name), "{name}");
    }
    f.set("v1", 1, f.number(8));
    assert_eq!(f.anew(), "");
    f.check("what was dropped");
}

/// After a rewrite of a quarter of the function accesses are solved from scratch, and nothing is
/// kept of the first of several.
#[test]
fn many_changes_at_a_time_are_not_followed() {
    let mut f = Fixture::new(400);
    for (count, anew) in [(200, true), (200, true), (1, false)] {
        let v = f.named("v1");
        f.edit(|edit| (0..count).try_for_each(|_| edit.after(v).add(v, v).map(drop)));
        assert_eq!(f.anew().contains("memory_accesses"), anew);
        f.check("integers");
    }
}

/// A function retains the state of a few sets of assumptions. Questions that alternate between more
/// are solved from scratch each time.
#[test]
fn sets_of_assumptions_are_few() {
    let mut f = Fixture::new(400);
    let values = [Value::inst(f.named("v1")), Value::inst(f.named("tid"))];
    let mut ask = |assumptions: &[Assumptions], rounds: usize| {
        let before = f.assumed();
        for round in 0..rounds {
            // Near the end, so that few others depend on it.
            f.set("v390", 0, values[round % 2]);
            for &assumptions in assumptions {
                queries::assumed_divergence(&f.db, f.edited(), assumptions);
            }
        }
        let now = f.assumed();
        (now.repaired - before.repaired, now.solved + now.kept - before.solved - before.kept)
    };
    // Each of four is solved, solved and kept, and then repaired, but for the one that is kept
    // already.
    let (repaired, solved) = ask(&FIVE[..4], 10);
    assert!(repaired >= 31 && solved <= 8, "{repaired} {solved}");
    // The fifth takes the place of the first, and so on.
    let (repaired, solved) = ask(&FIVE, 6);
    assert!(repaired <= 4 && solved >= 26, "{repaired} {solved}");
}

/// A pass over a whole function makes larger edits. Then divergence under assumptions is solved
/// from the tables of `divergence`. State is retained again once edits are very small.
#[test]
fn after_larger_edits_nothing_is_kept() {
    let mut f = Fixture::new(4000);
    let late = f.named("v3990");
    f.db.trim(f.module);
    let mut ask = |inserted: usize| {
        let before = f.assumed();
        f.edit(|edit| {
            let mut xor = || edit.before(late).xor(Value::arg(2), Value::arg(2)).map(drop);
            (0..inserted).try_for_each(|_| xor())
        });
        queries::assumed_divergence(&f.db, f.edited(), STRICT);
        let now = f.assumed();
        [now.solved - before.solved, now.kept - before.kept, now.repaired - before.repaired]
    };
    ask(12);
    for inserted in [12, 12, 12] {
        assert_eq!(ask(inserted), [1, 0, 0]);
    }
    assert_eq!(ask(4), [0, 1, 0]);
    assert_eq!(ask(12), [0, 0, 1]);
}

/// If no assumption makes a difference, the answer is the one without assumptions, and nothing is
/// solved.
#[test]
fn without_effect_it_is_divergence() {
    let sums: String =
        (1..400).map(|at| format!("  %v{at} = add i32 %v{}, %n\n", at - 1)).collect();
    let text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"\n\
         define amdgpu_kernel void @kernel(ptr addrspace(4) %c, ptr addrspace(1) %p, i32 %n) {{\n  \
         %l = load i32, ptr addrspace(4) %c\n  %v0 = add i32 %l, %n\n{sums}  \
         store i32 %v399, ptr addrspace(1) %p\n  ret void\n}}\n"
    );
    let mut f = Fixture::of(&text, "kernel");
    for operand in [Value::arg(2), Value::inst(f.named("v1")), Value::arg(2)] {
        f.set("v2", 1, operand);
        f.check("no effect");
        assert!(!queries::stable_loads(&f.db, f.edited(), STRICT).is_empty());
        assert_eq!(f.assumed(), Repairs::default());
    }
}

/// A variable, a structure, what callees promise and do, and the size of launches.
#[test]
fn what_is_around_a_function_changes() {
    let mut f = Fixture::new(400);
    let constant = |f: &mut Fixture, is_constant| {
        f.db.edit_shell(f.module, |shell| shell.variables[0].is_constant = is_constant)
            .expect("no rule is broken");
    };
    f.db.edit_shell(f.module, |shell| shell.variables[0].align = Some(128)).expect("no rule");
    f.check("a variable is aligned otherwise");
    let leaf = f.function("leaf");
    let store = leaf.body(&f.db).all_ids().next().expect("it stores");
    assert_eq!(leaf.body(&f.db).inst(store).opcode, Opcode::Store);
    let one = f.number(1);
    for (what, index, value) in [("what it stores", 0, one), ("where it stores", 1, Value::arg(0))]
    {
        let done: Result<(), phalanx_ir::BuildError> =
            f.db.edit(leaf, |edit| edit.set_operand(store, index, value));
        done.expect("the edit breaks no rule");
        f.check(what);
    }
    constant(&mut f, true);
    f.check("a variable is constant");
    let pairs = StructBody::Fields { packed: false, fields: [Type::I32; 3].into() };
    f.db.edit_shell(f.module, |shell| shell.structs[0].1 = pairs).expect("no rule is broken");
    f.check("a structure has a member more");
    for (of, like) in [("outside", "computes"), ("llvm.made.up", "computes")] {
        let attributes = f.function(like).header(&f.db).attributes;
        let done = f.db.edit_header(f.function(of), |header| header.attributes = attributes);
        done.expect("the header is right");
        f.check(of);
    }
    let (launch, kernel) = ([64, 1, 1], f.edited());
    let launch = LaunchStatement { workgroup_size: Some(launch), ..LaunchStatement::default() };
    f.db.set_launch(kernel, launch).expect("the module says nothing else");
    f.check("the size of launches");
    f.set("v1", 1, f.number(9));
    assert_eq!(f.anew(), "");
}

/// A call of a function of which nothing is known comes and goes, beside one that stays.
#[test]
fn a_call_comes_and_goes() {
    let mut f = Fixture::new(400);
    let left = |f: &Fixture| {
        let stable = queries::stable_loads(&f.db, f.edited(), STRICT);
        stable.iter().find(|(load, _)| *load == f.named("late")).map(|(_, left)| *left)
    };
    let before: Option<SourceSet> = left(&f);
    let (at, header) = (f.named("v2"), f.function("outside").header(&f.db).clone());
    let callee = Callee::indirect(f.context.const_global(header.name, 0).into(), header.ty);
    let call = f.edit(|edit| edit.before(at).call(callee, &[Value::arg(0)]));
    let call: InstId = call.as_inst().expect("a call is an instruction");
    f.check("a call more");
    f.edit(|edit| edit.erase(call));
    f.check("a call less");
    assert_eq!(left(&f), before);
}
