//! Tables that follow edits of instructions are those of the edited function, and so are the
//! answers.

mod edits;

use edits::{code, edit_flow, edits};
use std::sync::Arc;

use phalanx_analysis::assumed_facts::AssumedFacts;
use phalanx_analysis::code::TypeLayout;
use phalanx_analysis::lower::{self, Environment, Neighbours};
use phalanx_analysis::memory::PrivateMemory;
use phalanx_analysis::update::{Changes, DivergenceUpdater, Found, Sources, Stamp, Subject};
use phalanx_core::divergence::{
    FlowFacts, Rules, User, UserKind, ValueTable, repair::Retained, solve,
};
use phalanx_graph::sync::SyncDependence;
use phalanx_graph::{Cfg, Cycles, DomTree, Node};
use phalanx_ir::inst::Opcode;
use phalanx_ir::{Body, Context, Function, InstId, Value};
use phalanx_target::{LaunchFacts, SourceSet, Target};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// What looks at neighbours: members of a call's result, masks and shifts of the thread index.
const LOOKING: &str = r#"
declare i32 @llvm.amdgcn.workitem.id.x()
declare { i1, i32 } @llvm.amdgcn.if(i1)
declare { i32, i1 } @llvm.uadd.with.overflow.i32(i32, i32)

define amdgpu_kernel void @looking(ptr addrspace(1) %p, i32 %n) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.x()
  %a = lshr i32 %x, 6
  %b = and i32 %x, -64
  %s = shl i32 %n, 6
  %m = and i32 %s, %y
  %q = udiv i32 %y, 64
  %o = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %a, i32 %q)
  %o0 = extractvalue { i32, i1 } %o, 0
  %o1 = extractvalue { i32, i1 } %o, 1
  %i = call { i1, i32 } @llvm.amdgcn.if(i1 %o1)
  %i0 = extractvalue { i1, i32 } %i, 0
  %i1 = extractvalue { i1, i32 } %i, 1
  br i1 %i0, label %then, label %loop
then:
  %t = extractvalue { i1, i32 } %i, 1
  %u = and i32 %t, %b
  br label %loop
loop:
  %k = phi i32 [ %u, %then ], [ %m, %entry ], [ %k1, %loop ]
  %k1 = add i32 %k, %s
  %c = icmp slt i32 %k1, %i1
  br i1 %c, label %loop, label %exit
exit:
  %r = add i32 %k1, %o0
  store i32 %r, ptr addrspace(1) %p
  ret void
}
"#;

struct Graph {
    cfg: Cfg,
    dom: DomTree,
    cycles: Cycles,
    sync: SyncDependence,
}

impl Graph {
    fn new(function: &Function) -> Option<Self> {
        let cfg = function.flow.cfg()?;
        let (dom, cycles) = (DomTree::new(&cfg), Cycles::new(&cfg));
        let sync = SyncDependence::new(&cfg, &dom, &cycles);
        Some(Self { cfg, dom, cycles, sync })
    }

    fn flow(&self) -> FlowFacts<'_> {
        FlowFacts { cfg: &self.cfg, dom: &self.dom, cycles: &self.cycles, sync: &self.sync }
    }
}

fn goes_round(body: &Body) -> bool {
    let is_linked =
        |inst: &InstId| body.block_of(*inst).is_some() && body.inst(*inst).opcode != Opcode::Phi;
    let mut left: Vec<InstId> = body.all_ids().filter(is_linked).collect();
    loop {
        let open: std::collections::BTreeSet<InstId> = left.iter().copied().collect();
        let is_open = |operand: &Value| operand.as_inst().is_some_and(|of| open.contains(&of));
        let before = left.len();
        left.retain(|&inst| body.operands(inst).iter().any(is_open));
        if left.len() == before {
            return before > 0;
        }
    }
}

/// Everything that a table says, whatever the numbers of its images.
fn listing(table: &ValueTable) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reads: Vec<(User, phalanx_core::Value)> = Vec::new();
    for value in table.values() {
        let image: Vec<SourceSet> =
            SourceSet::ALL.iter().map(|source| table.transfer(value, source)).collect();
        lines.push(format!(
            "{value:?} in {:?}: {:?} {} {} {} {image:?}",
            table.block(value),
            table.seed(value),
            table.is_fixed(value),
            table.is_pure(value),
            table.is_phi(value),
        ));
        reads.extend(table.affects().users(value).iter().map(|user| (*user, value)));
    }
    reads.sort_unstable();
    reads.dedup();
    lines.extend(reads.iter().map(|(user, value)| match user.kind() {
        UserKind::Value(user) => format!("{user:?} reads {value:?}"),
        UserKind::Terminator(block) => format!("terminator of {block:?} reads {value:?}"),
    }));
    for block in (0..table.block_count()).map(Node::new) {
        let mut phis: Vec<String> = table.phis(block).map(|phi| format!("{phi:?}")).collect();
        phis.sort_unstable();
        lines.extend(phis);
        lines.push(format!("{block:?} {}", table.is_fixed_terminator(block)));
    }
    let mut seeded = table.seeded_terminators().to_vec();
    seeded.sort_unstable();
    lines.push(format!("{seeded:?}"));
    lines
}

/// Names the first thing that two tables say otherwise.
fn assert_same(updated: &ValueTable, fresh: &ValueTable, after: &str) {
    let (updated, fresh) = (listing(updated), listing(fresh));
    let other = updated.iter().zip(&fresh).find(|(updated, fresh)| updated != fresh);
    assert_eq!(other, None, "{after}");
    assert_eq!(updated.len(), fresh.len(), "{after}");
}

fn check(context: &Context, function: &Function, rng: &mut SmallRng, rounds: usize) -> usize {
    let mut function = function.clone();
    let Some(graph) = Graph::new(&function) else { return 0 };
    let target = Target::new("amdgcn-amd-amdhsa", "gfx900");
    let launch = LaunchFacts::exact(64, 1, 1, 64);
    let layout = TypeLayout::default();
    let env = Environment {
        target: &target,
        layout: &layout,
        launch: &launch,
        lockstep: true,
        scratch_is_global: false,
        permutes_halves: false,
        callee: &|_| None,
        calls: &phalanx_analysis::summary::NoCallFacts,
        node_string: &|_| None,
    };
    let mut repaired = 0;
    for as_llvm in [false, true] {
        let lower = |function: &Function| match as_llvm {
            false => lower::full(code(context, function), env),
            true => lower::as_llvm(code(context, function), env),
        };
        let mut neighbours = match as_llvm {
            false => Neighbours::of_full(code(context, &function), env),
            true => Neighbours::of_llvm(),
        };
        let Ok(mut retained) = Retained::new(graph.flow(), lower(&function)) else { continue };
        for _ in 0..rounds {
            let changed = edits(context, &mut function, rng, 3);
            let code = code(context, &function);
            match as_llvm {
                false => {
                    if !neighbours.update_full(code, env, &changed, retained.table()) {
                        break;
                    }
                }
                true => neighbours.update_as_llvm(code, env, &changed, retained.table()),
            }
            let fresh = lower(&function);
            assert_same(&retained.table().to_table(), &fresh, &format!("{as_llvm}"));
            if retained.repair(graph.flow()).is_err() {
                break;
            }
            assert_eq!(**retained.answer(), solve(graph.flow(), &fresh, Rules::Precise));
            repaired += 1;
        }
    }
    repaired
}

/// Segments of straight code, a conditional and a loop each, enough of them for a function that is
/// followed. Assembly that does not name its last operand reads it nevertheless, unless that is
/// computed in the same block, which may be split, or in the entry, into which the first segment
/// may be merged.
fn large(segments: usize) -> String {
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\n\
         declare i32 @llvm.amdgcn.workitem.id.x()\n\
         define amdgpu_kernel void @large(ptr addrspace(1) %p, i32 %n) {\n\
         entry:\n  %x = call i32 @llvm.amdgcn.workitem.id.x()\n  %v0 = add i32 %n, 1\n  br label %a1\n",
    );
    for i in 1..=segments {
        let before = i - 1;
        let tested = ["%x", "%n", "%v0"][i % 3];
        text.push_str(&format!(
            "a{i}:\n  %s{i} = shl i32 %v{before}, 6\n  %m{i} = and i32 %s{i}, %x\n  \
             %w{i} = lshr i32 %x, 6\n  \
             %y{i} = call i32 asm \"v_mov_b32 $0, $1\", \"=v,v,v\"(i32 %n, i32 %w{i})\n  \
             %c{i} = icmp slt i32 {tested}, %v{before}\n  \
             br i1 %c{i}, label %b{i}, label %l{i}\n\
             b{i}:\n  %t{i} = mul i32 %w{i}, %n\n  br label %l{i}\n\
             l{i}:\n  %k{i} = phi i32 [ %m{i}, %a{i} ], [ %t{i}, %b{i} ], [ %d{i}, %l{i} ]\n  \
             %d{i} = add i32 %k{i}, 1\n  %e{i} = icmp slt i32 %d{i}, %s{i}\n  \
             br i1 %e{i}, label %l{i}, label %f{i}\n\
             f{i}:\n  %r{i} = call i32 asm \"v_mov_b32 $0, $1\", \"=v,v,v\"(i32 %s{i}, i32 %w{i})\n  \
             %q{i} = add i32 %r{i}, %s{i}\n  %v{i} = sub i32 %d{i}, %q{i}\n  br label %a{}\n",
            i + 1
        ));
    }
    let last = segments + 1;
    text.push_str(&format!(
        "a{last}:\n  store i32 %v{segments}, ptr addrspace(1) %p\n  ret void\n}}\n"
    ));
    text
}

/// As [`large`], with the numbers kept in the frame: scalars, members of a structure, an array with
/// an index that varies, blocks that are copied.
fn large_with_memory(segments: usize) -> String {
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\n\
         declare i32 @llvm.amdgcn.workitem.id.x()\n\
         declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)\n\
         declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)\n\
         define amdgpu_kernel void @large(ptr addrspace(1) %p, i32 %n) {\n\
         entry:\n  %a = alloca i32, addrspace(5)\n  %b = alloca { i32, i32, i32 }, addrspace(5)\n  \
         %c = alloca { i32, i32, i32 }, addrspace(5)\n  %d = alloca [8 x i32], addrspace(5)\n  \
         %x = call i32 @llvm.amdgcn.workitem.id.x()\n  \
         store i32 %n, ptr addrspace(5) %a\n  \
         call void @llvm.memset.p5.i64(ptr addrspace(5) %b, i8 0, i64 12, i1 false)\n  br label %a1\n",
    );
    for i in 1..=segments {
        let field = i % 3;
        let index = ["%x", "%n", "%u"][i % 3];
        let (index, loaded) = match index {
            "%u" => (format!("%u{i}"), true),
            other => (other.to_owned(), false),
        };
        let extra = if loaded { format!("  %u{i} = and i32 %o{i}, 7\n") } else { String::new() };
        text.push_str(&format!(
            "a{i}:\n  %o{i} = load i32, ptr addrspace(5) %a\n{extra}  \
             %g{i} = getelementptr {{ i32, i32, i32 }}, ptr addrspace(5) %b, i32 0, i32 {field}\n  \
             %h{i} = load i32, ptr addrspace(5) %g{i}\n  \
             %c{i} = icmp slt i32 {}, %h{i}\n  br i1 %c{i}, label %b{i}, label %l{i}\n\
             b{i}:\n  store i32 %o{i}, ptr addrspace(5) %g{i}\n  \
             %j{i} = getelementptr [8 x i32], ptr addrspace(5) %d, i32 0, i32 {index}\n  \
             store i32 %n, ptr addrspace(5) %j{i}\n  br label %l{i}\n\
             l{i}:\n  %r{i} = load i32, ptr addrspace(5) %a\n  %d{i} = add i32 %r{i}, 1\n  \
             store i32 %d{i}, ptr addrspace(5) %a\n  %e{i} = icmp slt i32 %d{i}, {}\n  \
             br i1 %e{i}, label %l{i}, label %f{i}\n\
             f{i}:\n  call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) {}, ptr addrspace(5) {}, i64 8, i1 false)\n  \
             %q{i} = getelementptr [8 x i32], ptr addrspace(5) %d, i32 0, i32 {}\n  \
             %v{i} = load i32, ptr addrspace(5) %q{i}\n  br label %a{}\n",
            ["%x", "%n", "%o"][i % 3].to_owned() + if i % 3 == 2 { format!("{i}") } else { String::new() }.as_str(),
            ["%h", "%n", "%x"][i % 3].to_owned() + if i % 3 == 0 { format!("{i}") } else { String::new() }.as_str(),
            ["%b", "%c"][i % 2],
            ["%c", "%b"][i % 2],
            i % 8,
            i + 1
        ));
    }
    let last = segments + 1;
    text.push_str(&format!(
        "a{last}:\n  store i32 %v{segments}, ptr addrspace(1) %p\n  ret void\n}}\n"
    ));
    text
}

/// As [`large_with_memory`], with a structure that is passed by value, which all branches are
/// decided by, and pointers of other origins.
fn large_with_structure(segments: usize) -> String {
    let mut text = large_with_memory(segments);
    let arguments = "i32 %n, ptr byval({ i32, i32, i32 }) readonly %s, ptr %t) {";
    text = text.replace("i32 %n) {", arguments);
    let first = "  %y = alloca i32, addrspace(5)\n  %gy = addrspacecast ptr addrspace(5) %y to ptr\n  \
                 %w0 = getelementptr i8, ptr %s, i64 4\n  %x = call";
    text = text.replace("  %x = call", first);
    for i in 1..=segments {
        let load = format!(
            "  %w{i} = getelementptr i8, ptr %w{}, i64 0\n  %z{i} = load i32, ptr %w{i}\n  %c{i} = icmp",
            i - 1
        );
        text = text.replace(&format!("  %c{i} = icmp"), &load);
        text = text.replace(&format!(", %h{i}\n  br"), &format!(", %z{i}\n  br"));
    }
    text
}

#[test]
fn a_function_that_is_passed_a_structure_is_followed_through_edits() {
    check_updater(&large_with_structure(40));
}

#[test]
fn a_function_is_followed_through_edits() {
    check_updater(&large(40));
}

#[test]
fn a_function_with_private_memory_is_followed_through_edits() {
    check_updater(&large_with_memory(30));
}

fn check_updater(text: &str) {
    let context = Arc::new(Context::new());
    let mut looked_into = 0;
    let has_memory = text.contains("alloca");
    let layout = TypeLayout::default();
    let parsed = phalanx_llvm::parse_module(Arc::clone(&context), text.as_bytes());
    let module = parsed.unwrap_or_else(|e| panic!("{e:?}")).module;
    let original = module.functions.iter().find(|f| f.flow.entry().is_some()).expect("a body");
    let target = Target::new("amdgcn-amd-amdhsa", "gfx900");
    let launches = [LaunchFacts::exact(64, 1, 1, 64), LaunchFacts::default()];
    for (sources, is_assumed) in
        [(Sources::Full, false), (Sources::Full, true), (Sources::Llvm, false)]
    {
        let mut rng = SmallRng::seed_from_u64(9);
        let mut assumed_facts = AssumedFacts::default();
        let mut effects = 0;
        let mut function = original.clone();
        let mut graph = Graph::new(&function).expect("a definition");
        let mut updater = DivergenceUpdater::new(sources);
        let mut stamp = Stamp { position: 0, flow: 0, env: 0 };
        let mut found = Vec::new();
        for round in 0..400 {
            let (mut changed, mut is_flow) = (Vec::new(), false);
            match rng.random_range(0..20) {
                0 => stamp.env += 1,
                1 => {
                    changed = edit_flow(&mut function, &mut rng);
                    is_flow = true;
                    graph = Graph::new(&function).expect("a definition");
                    stamp.flow += 1;
                    stamp.position += 1;
                }
                2 => {}
                _ => {
                    // Now and then too many for a repair, and few enough to state them again.
                    let count = if rng.random_bool(0.05) { 24 } else { 1 };
                    changed = edits(&context, &mut function, &mut rng, count);
                    stamp.position += 1;
                }
            }
            if is_assumed && (changed.is_empty() || rng.random_bool(0.3)) {
                assumed_facts = grant(&assumed_facts, &function, &graph, &mut rng);
            }
            // Now and then the history is gone.
            let is_known = round == 0 || rng.random_bool(0.95);
            let env = Environment {
                target: &target,
                layout: &layout,
                launch: &launches[stamp.env as usize % 2],
                lockstep: true,
                scratch_is_global: false,
                permutes_halves: false,
                callee: &|_| None,
                calls: &phalanx_analysis::summary::NoCallFacts,
                node_string: &|_| None,
            };
            let code = code(&context, &function);
            let mut table = match sources {
                Sources::Full => {
                    let memory = PrivateMemory::through_calls(code, env, &graph.cfg, &graph.dom);
                    looked_into += usize::from(!memory.is_empty());
                    let private = PrivateMemory::without_origins(code, env, &graph.cfg, &graph.dom);
                    let (cfg, dom) = (&graph.cfg, &graph.dom);
                    assert!(private.followed_through_calls(code, env, cfg, dom) == memory);
                    lower::full_with(code, env, &memory, 0)
                }
                Sources::Llvm => lower::as_llvm(code, env),
            };
            let without = is_assumed.then(|| solve(graph.flow(), &table, Rules::Precise));
            let fresh = table.clone();
            assumed_facts.apply(code.header, &mut table);
            let scratch = solve(graph.flow(), &table, Rules::Precise);
            if let Some(without) = without {
                let has_none = assumed_facts.is_without_effect(code.header, &without);
                assert!(!has_none || without == scratch, "round {round}");
                effects += usize::from(without != scratch);
            }
            let private = None;
            let subject = Subject {
                code,
                env,
                flow: graph.flow(),
                stamp,
                assumed_facts: &assumed_facts,
                private,
            };
            let since =
                |_| is_known.then_some(Changes { insts: &changed, flow: is_flow, blocks: &[] });
            let (answer, how) = updater.answer(subject, since, || scratch.clone());
            assert!(*answer == scratch, "{sources:?}, {is_assumed}, round {round}, {how:?}");
            found.push(how);
            // Other queries may use the table of the solution, if its stamp is the current one and
            // it contains no assumptions.
            let table = updater.table(stamp);
            let is_plain = assumed_facts == AssumedFacts::default();
            assert_eq!(table.is_some(), is_plain, "round {round}");
            if let Some(table) = table {
                // Versions of memory are numbered in another order.
                if !has_memory {
                    assert_same(&table, &fresh, &format!("{how:?}, round {round}"));
                }
                assert!(solve(graph.flow(), &table, Rules::Precise) == scratch, "round {round}");
            }
            let other = Stamp { position: stamp.position + 1, ..stamp };
            assert!(updater.table(other).is_none());
        }
        assert!(!is_assumed || effects > 300, "{effects}");
        assert_eq!(found[0], Found::Solved);
        let count = |is: fn(&Found) -> bool| found.iter().filter(|how| is(how)).count();
        let few = if has_memory { 150 } else { 250 };
        let repaired = count(|how| matches!(how, Found::Repaired { visited: 0..60 }));
        assert!(repaired > few, "{repaired}");
        assert!(count(|how| *how == Found::Kept) > 10);
        let rebuilt = count(|how| *how == Found::Rebuilt);
        assert!(rebuilt < if has_memory { 100 } else { 5 }, "{rebuilt}");
    }
    assert!(!has_memory || looked_into > 300, "{looked_into}");
}

/// Changes the assumptions at random: adds, removes or changes entries, sometimes all of them.
/// Entries are for any instruction, not only for loads.
fn grant(
    before: &AssumedFacts,
    function: &Function,
    graph: &Graph,
    rng: &mut SmallRng,
) -> AssumedFacts {
    let left = [SourceSet::EMPTY, SourceSet::OPAQUE_GROUP];
    let mut loads = before.loads.to_vec();
    let mut branches = before.branches.to_vec();
    let all: Vec<InstId> = function.body.all_ids().collect();
    for _ in 0..if rng.random_bool(0.05) { all.len() } else { 2 } {
        let inst = *all.choose(rng).expect("there are instructions");
        loads.retain(|(other, _)| *other != inst);
        if rng.random_bool(0.7) {
            loads.push((inst, *left.choose(rng).expect("there are two")));
        }
        let block = Node::new(rng.random_range(0..graph.cfg.node_count()));
        branches.retain(|other| *other != block);
        branches.extend(rng.random_bool(0.7).then_some(block));
    }
    loads.sort_unstable_by_key(|(inst, _)| inst.into_raw().into_u32());
    branches.sort_unstable();
    AssumedFacts { loads: loads.into(), branches: branches.into() }
}

fn check_text(text: &[u8], seed: u64, rounds: usize) -> usize {
    let context = Arc::new(Context::new());
    let module = phalanx_llvm::parse_module(Arc::clone(&context), text)
        .unwrap_or_else(|e| panic!("{e:?}"))
        .module;
    let mut rng = SmallRng::seed_from_u64(seed);
    module.functions.iter().map(|function| check(&context, function, &mut rng, rounds)).sum()
}

#[test]
fn neighbours_are_lowered_again() {
    assert!(check_text(LOOKING.as_bytes(), 1, 400) == 800);
}

#[test]
fn kernels() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-suite/ll");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the kernels are there")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ll"))
        .collect();
    files.sort();
    let mut repaired = 0;
    for (seed, path) in files.iter().enumerate() {
        repaired += check_text(&phalanx_testing::files::bytes(path), seed as u64, 30);
    }
    assert!(repaired > 1000, "{repaired}");
}
