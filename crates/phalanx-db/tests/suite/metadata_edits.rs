//! Metadata that comes or changes: what no analysis reads has none asked again.

#[path = "support.rs"]
mod support;

use expect_test::expect;
use phalanx_analysis::lower::Numbering;
use phalanx_db::{Database, Did, FunctionInput, queries};
use phalanx_ir::metadata::{MetadataId, MetadataValue, NodeBuilder};
use phalanx_ir::{BuildError, Opcode};
use support::Fixture;

/// Reads variables of every kind, a register that metadata name, and an address of no known memory;
/// with `sums` more additions.
fn program(sums: usize) -> String {
    let head = r#"
target triple = "amdgcn-amd-amdhsa"
@table = internal constant [2 x i32] [i32 1, i32 2]
@state = internal addrspace(1) global i32 0
@seen = addrspace(1) global i32 0
declare i32 @llvm.read_register.i32(metadata)
declare void @unknown()
define internal void @helper(ptr %p) {
  store i32 0, ptr %p
  ret void
}
define amdgpu_kernel void @kernel(ptr %p, i64 %i, i32 %n) {
  %q = getelementptr [2 x i32], ptr @table, i64 0, i64 %i
  %a = load i32, ptr %q
  %b = load i32, ptr addrspace(1) @state
  %c = load i32, ptr addrspace(1) @seen
  %register = call i32 @llvm.read_register.i32(metadata !0)
  %ab = add i32 %a, %b
  %abc = add i32 %ab, %c
  %v0 = add i32 %abc, %register
"#;
    let mut text = head.to_owned();
    for at in 0..sums {
        text.push_str(&format!("  %v{} = add i32 %v{at}, %n\n", at + 1));
    }
    text.push_str(&format!("  store i32 %v{sums}, ptr %p\n  call void @helper(ptr %p)\n"));
    text.push_str("  ret void\n}\n!0 = !{!\"s4\"}\n");
    text
}

/// Runs queries about functions and module. Returns the queries that ran, in the order of names.
fn asked(fixture: &Fixture) -> String {
    let db = &fixture.db;
    for entry in fixture.module.functions(db).iter().filter(|entry| entry.is_definition) {
        let function = entry.input;
        queries::cycles(db, function);
        queries::divergence(db, function);
        queries::uniformity(db, function);
        queries::memory_ssa(db, function);
        queries::classic_memory_ssa(db, function);
        queries::load_classes(db, function);
        queries::space_conflicts(db, function);
        queries::mixed_spaces(db, function);
        queries::written_spaces(db, function);
        queries::memory_accesses(db, function);
        queries::convergence(db, function);
        queries::diagnostics(db, function);
    }
    queries::call_graph(db, fixture.module);
    let log = db.take_log().into_iter().filter(|entry| entry.did == Did::Run);
    let mut lines: Vec<String> = log.map(|entry| format!("{}\n", entry.query)).collect();
    lines.sort();
    lines.concat()
}

/// Debug locations, for one, are added while transforms run: what runs is about the module alone.
#[test]
fn metadata_that_come_have_no_function_asked_about_again() {
    for sums in [0, 1500] {
        let mut fixture = Fixture::of(&program(sums), "kernel");
        assert_eq!(fixture.edited().is_large(&fixture.db), sums > 0);
        asked(&fixture);
        let module = fixture.module;
        fixture.db.edit_metadata(module, |metadata| {
            metadata.add(NodeBuilder::tuple(true, [])).expect("it names nothing");
        });
        let ran = expect![[r#"
            aliases
            constant_variables
            hidden_variables
            language
            named_by_shell
            register_names
            target
            type_layout
            variable_alignments
            variables
        "#]];
        ran.assert_eq(&asked(&fixture));
    }
}

/// What is attached to a function matters to others if an analysis reads it. Where none does, memos
/// are valid in one step, and what they were made from is not looked at.
#[test]
fn an_attachment_that_no_analysis_reads_is_nothing_to_other_functions() {
    let mut fixture = Fixture::of(&program(0), "kernel");
    let (kernel, load) = (fixture.edited(), fixture.named("b"));
    let helper = fixture
        .module
        .functions(&fixture.db)
        .iter()
        .find(|entry| entry.is_definition && entry.input != kernel);
    let helper = helper.expect("there is one").input;
    let node = fixture.db.edit_metadata(fixture.module, |metadata| {
        metadata.add(NodeBuilder::tuple(false, [])).expect("it names nothing")
    });
    let ask = |fixture: &Fixture| {
        for function in [helper, kernel] {
            queries::divergence(&fixture.db, function);
            queries::load_classes(&fixture.db, function);
        }
        let log = fixture.db.take_log().into_iter();
        log.map(|entry| format!("{:?} {}\n", entry.did, entry.query)).collect::<String>()
    };
    ask(&fixture);
    let attach = |fixture: &mut Fixture, kind: &str| {
        let attached: Result<(), BuildError> =
            fixture.db.edit(kernel, |edit| edit.attach(load, kind, Some(node)));
        attached.expect("the load is there");
    };
    attach(&mut fixture, "test");
    // The edit itself looks for what instructions name.
    expect![[r#"
        Run module_index
        Validate divergence
        Validate load_classes
        Validate divergence
        Validate load_classes
    "#]]
    .assert_eq(&ask(&fixture));
    attach(&mut fixture, "invariant.load");
    let with_mark = ask(&fixture);
    assert!(with_mark.contains("Run promises_of_others"), "{with_mark}");
    assert!(with_mark.contains("Run load_classes"), "{with_mark}");
    let aborted: Result<(), BuildError> = fixture.db.edit(kernel, |edit| {
        edit.attach(load, "invariant.load", None)?;
        edit.attach(load, "test", Some(MetadataId::from_raw(99.into())))
    });
    aborted.expect_err("there is no such node");
    assert_eq!(queries::promised_loads(&fixture.db, kernel), &[load]);
}

/// One thread takes a number, all read it between two barriers; two accesses are of types that may
/// or may not be at one place.
const ATTACHED: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@job = internal addrspace(3) global i32 undef
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @kernel(ptr addrspace(1) %next, ptr addrspace(1) %out, i32 %n) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %is.first = icmp eq i32 %id, 0
  br label %loop
loop:
  %first = load i32, ptr addrspace(1) %out
  br i1 %is.first, label %take, label %wait
take:
  %taken = atomicrmw add ptr addrspace(1) %next, i32 1 monotonic
  store i32 %taken, ptr addrspace(3) @job
  br label %wait
wait:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %mine = load i32, ptr addrspace(3) @job
  %typed = load i32, ptr addrspace(1) %next
  store i32 %mine, ptr addrspace(1) %out, !tbaa !3
  %is.over = icmp sge i32 %mine, %n
  br i1 %is.over, label %exit, label %work
work:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %loop
exit:
  ret void
}
!all = !{!0, !1, !3, !5}
!0 = !{}
!1 = !{!"amdgpu-as", !"local"}
!2 = !{!"root"}
!3 = !{!4, !4, i64 0}
!4 = !{!"int", !2, i64 0}
!5 = !{!6, !6, i64 0}
!6 = !{!"float", !2, i64 0}
"#;

/// What is said of [`ATTACHED`], as far as attachments can matter.
fn attached_facts(db: &Database, function: FunctionInput) -> String {
    let body = function.body(db);
    let of = |opcode: Opcode| body.all_ids().filter(move |&inst| body.inst(inst).opcode == opcode);
    let outside = of(Opcode::Store).last().expect("there is one");
    let loads: Vec<_> = of(Opcode::Load)
        .map(|load| {
            let alias = queries::alias(db, function, load, outside);
            (load, alias, queries::nearest_clobber(db, function, load))
        })
        .collect();
    format!(
        "{:?}\n{:?}\n{loads:?}\n{:?}\n{:?}\n",
        queries::promised_loads(db, function),
        queries::load_classes(db, function),
        queries::diagnostics(db, function),
        queries::divergence(db, function),
    )
}

/// An edit that attaches, exchanges or removes what an analysis reads has the answers of a new
/// database. Each kind makes a difference here, so one that is left out of the marks is noticed.
#[test]
fn attachments_that_analyses_read_are_followed() {
    let mut fixture = Fixture::of(ATTACHED, "kernel");
    let function = fixture.edited();
    let (body, shell) = (function.body(&fixture.db), fixture.module.shell(&fixture.db));
    let [empty, local, int, float] = *shell.metadata.named()[0].operands else {
        panic!("there are 4")
    };
    let fence = body.all_ids().find(|&inst| body.inst(inst).opcode == Opcode::Fence);
    let [fence, first, typed] =
        [fence.expect("there is one"), fixture.named("first"), fixture.named("typed")];
    for (kind, inst, nodes) in [
        ("invariant.load", first, [int, empty]),
        (queries::OUR_INVARIANT, first, [int, empty]),
        ("mmra", fence, [local, local]),
        ("tbaa", typed, [int, float]),
    ] {
        let mut seen = Vec::new();
        let mut attach = |fixture: &mut Fixture, kind: &str, node: Option<MetadataId>| {
            fixture.edit(|edit| edit.attach(inst, kind, node));
            let (cold, entries) = fixture.cold();
            let at = fixture.module.functions(&fixture.db).iter().position(|e| e.input == function);
            let fresh = attached_facts(&cold, entries[at.expect("it is there")].input);
            let now = attached_facts(&fixture.db, function);
            assert_eq!(now, fresh, "{kind} {node:?}");
            seen.push(now);
        };
        match kind {
            // This one is about the other one.
            queries::OUR_INVARIANT => attach(&mut fixture, "invariant.load", Some(empty)),
            _ => attach(&mut fixture, kind, None),
        }
        for node in [Some(nodes[0]), Some(nodes[1]), None] {
            attach(&mut fixture, kind, node);
        }
        let [without, _, with, after] = &*seen else { panic!("{} answers", seen.len()) };
        assert_ne!(without, with, "{kind} says nothing");
        assert_eq!(without, after, "{kind}");
    }
}

/// What names a register is read.
#[test]
fn a_register_of_another_name_is_another() {
    for sums in [0, 1500] {
        let mut fixture = Fixture::of(&program(sums), "kernel");
        let register = fixture.named("register");
        let is_divergent = |fixture: &Fixture| {
            let found = queries::uniformity(&fixture.db, fixture.edited()).as_ref();
            let numbering = Numbering::new(fixture.edited().header(&fixture.db));
            !found.expect("it is defined").value(numbering.inst(register)).is_empty()
        };
        assert!(!is_divergent(&fixture));
        let name = fixture.context.symbol(b"v4");
        let edited = fixture.db.edit_shell(fixture.module, |shell| {
            let node = NodeBuilder::tuple(false, [MetadataValue::String(name)]);
            shell.metadata.define(MetadataId::from_raw(0.into()), node)
        });
        edited.expect("it is well-formed").expect("it is a node");
        assert!(is_divergent(&fixture));
    }
}

/// After its retained state is dropped, an answer from scratch reads as many inputs as before,
/// although the function reads no register. Otherwise salsa would panic: an equal answer must have
/// read an input that changed as late.
#[test]
fn what_was_dropped_reads_as_much_as_before() {
    let mut text = "target triple = \"amdgcn-amd-amdhsa\"\n\
        declare i32 @llvm.read_register.i32(metadata)\n\
        declare i32 @llvm.amdgcn.workitem.id.x()\n\
        define amdgpu_kernel void @kernel(i32 %n) {\n\
        \x20 %id = call i32 @llvm.amdgcn.workitem.id.x()\n\
        \x20 %v0 = add i32 %n, 1\n"
        .to_owned();
    for at in 0..300 {
        text.push_str(&format!("  %v{} = add i32 %v{at}, %n\n", at + 1));
    }
    text.push_str("  ret void\n}\n");
    let mut fixture = Fixture::of(&text, "kernel");
    let (module, kernel) = (fixture.module, fixture.edited());
    let name_register = |fixture: &mut Fixture, name: &[u8]| {
        let name = fixture.context.symbol(name);
        fixture.db.edit_metadata(module, |metadata| {
            let node = NodeBuilder::tuple(true, [MetadataValue::String(name)]);
            metadata.add(node).expect("it names nothing");
        });
    };
    let ask = |fixture: &Fixture| queries::divergence(&fixture.db, kernel).clone();
    ask(&fixture);
    for (sum, operand) in [("v3", "v1"), ("v5", "v2"), ("v7", "id")] {
        let (sum, operand) = (fixture.named(sum), fixture.named(operand));
        fixture.edit(|edit| edit.set_operand(sum, 1, operand));
        name_register(&mut fixture, b"s4");
        ask(&fixture);
    }
    let found = ask(&fixture);
    fixture.db.trim(module);
    name_register(&mut fixture, b"s5");
    assert_eq!(ask(&fixture), found);
}
