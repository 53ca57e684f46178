//! Edits of a module: functions that come and go, and headers.

#[expect(dead_code, reason = "it serves tests of other edits as well")]
#[path = "support.rs"]
mod support;

use expect_test::expect;
use phalanx_db::{Mentions, ModuleEditError, queries};
use phalanx_ir::{
    BuildError, Const, Function, FunctionHeader, GlobalName, InstId, Module, Symbol, Type, Value,
    metadata::{Attachment, DebugRecord, LocalMetadata, MetadataId, MetadataValue, NodeBuilder},
    module::{GlobalVariable, Linkage},
};
use phalanx_llvm::ModulePrinter;
use phalanx_target::LaunchStatement;
use support::Fixture;

const TEXT: &str = r#"
define void @kernel(ptr %p, i32 %n) {
  store i32 %n, ptr %p
  ret void
}
define void @spare(ptr %p, i32 %n) {
  ret void
}
"#;

/// A copy of the kernel under another name.
fn copy(fixture: &Fixture, name: &str) -> Function {
    let mut copy = fixture.edited().view(&fixture.db).to_function();
    copy.header.name = GlobalName::Named(fixture.context.symbol(name.as_bytes()));
    copy
}

/// The place of a function that was removed is given to one other, however often it was named.
#[test]
fn a_function_that_is_named_twice_is_removed_once() {
    let mut fixture = Fixture::of(TEXT, "kernel");
    let (module, spare) = (fixture.module, fixture.function("spare"));
    fixture.db.remove_functions(module, &[spare, spare]).expect("nobody calls it");
    let [a, b] = ["a", "b"].map(|name| {
        let function = copy(&fixture, name);
        fixture.db.add_function(module, function).expect("the name is free")
    });
    assert_ne!(a, b);
    assert_eq!(fixture.function("a"), a);
    fixture.db.remove_functions(module, &[a, a]).expect("nobody calls it");
    assert_eq!(module.functions(&fixture.db).len(), 2);
    let error = fixture.db.remove_functions(module, &[a]).expect_err("it is gone");
    assert_eq!(error.to_string(), "@a is not a function of this module");
}

/// Calls and constants elsewhere know a function by its type.
#[test]
fn a_header_keeps_what_others_know_it_by() {
    let mut fixture = Fixture::of(TEXT, "kernel");
    let kernel = fixture.edited();
    let before = kernel.header(&fixture.db).clone();
    let other = FunctionHeader::new(&fixture.context, before.name, Type::I32, &[], true);
    type Change = fn(&mut FunctionHeader, &FunctionHeader);
    let changes: [Change; 6] = [
        |header, _| header.address_space = 1,
        |header, other| header.params = other.params.clone(),
        |header, other| header.ret = other.ret,
        |header, other| header.vararg = other.vararg,
        |header, other| header.ty = other.ty,
        |header, _| header.name = GlobalName::Numbered(7),
    ];
    for change in changes {
        let error = fixture.db.edit_header(kernel, |header| change(header, &other));
        let error = error.expect_err("it is another function's").to_string();
        assert_eq!(error, "@kernel cannot change its name, its type or its address space");
        assert_eq!(*kernel.header(&fixture.db), before);
    }
}

#[test]
fn a_function_that_was_removed_is_not_edited() {
    let mut fixture = Fixture::of(TEXT, "kernel");
    let (module, spare) = (fixture.module, fixture.function("spare"));
    fixture.db.remove_functions(module, &[spare]).expect("nobody calls it");
    let error = fixture.db.edit(spare, |_| Ok::<_, BuildError>(())).expect_err("it is gone");
    assert_eq!(error.to_string(), "@spare: the function was removed from its module");
    let stranger = ModuleEditError::Stranger("@spare".into());
    assert_eq!(fixture.db.edit_header(spare, |_| ()), Err(stranger.clone()));
    assert_eq!(fixture.db.set_launch(spare, LaunchStatement::default()), Err(stranger));
    let again = copy(&fixture, "again");
    let again = fixture.db.add_function(module, again).expect("the name is free");
    fixture.db.edit(again, |_| Ok::<_, BuildError>(())).expect("it is there");
}

/// Numbers of another context or module name nothing here, and text has no words for what the other
/// changes say.
#[test]
fn a_header_refers_to_what_there_is() {
    let node = MetadataId::from_raw(1000.into());
    let mut fixture = Fixture::of(TEXT, "kernel");
    let kernel = fixture.edited();
    let prof = fixture.context.symbol(b"prof");
    let mut change = |edit: &dyn Fn(&mut FunctionHeader)| {
        let error = fixture.db.edit_header(kernel, edit).expect_err("it is not well-formed");
        error.to_string()
    };
    let far = Const::from_raw(100_000_000);
    expect!["@kernel is not well-formed: Referring to a constant of another context!"]
        .assert_eq(&change(&|header| header.prefix = Some(far)));
    expect!["@kernel is not well-formed: Referring to a name of another context!"]
        .assert_eq(&change(&|header| header.section = Some(Symbol::from_raw(100_000_000))));
    expect!["@kernel is not well-formed: Referring to metadata of another module!"].assert_eq(
        &change(&|header| header.metadata = Box::new([Attachment { kind: prof, node }])),
    );
    expect!["@kernel is not well-formed: alignment is not a power of two"]
        .assert_eq(&change(&|header| header.align = Some(3)));
    expect!["@kernel is not well-formed: invalid linkage for function definition"]
        .assert_eq(&change(&|header| header.linkage = Linkage::ExternWeak));
}

#[test]
fn a_function_with_metadata_of_another_module_is_not_added() {
    let mut fixture = Fixture::of(TEXT, "kernel");
    let (module, node) = (fixture.module, MetadataId::from_raw(1000.into()));
    let kind = fixture.context.symbol(b"prof");
    let first = InstId::from_raw(0.into());
    let changes: [&dyn Fn(&mut Function); 3] = [
        &|f| f.extras.set_attachments(first, vec![Attachment { kind, node }]),
        &|f| {
            let record = DebugRecord::Label { label: node, location: node };
            f.extras.set_debug_records(first, vec![record]);
        },
        &|f| {
            f.body.add_local_metadata(LocalMetadata::Node(node));
        },
    ];
    for change in changes {
        let mut strange = copy(&fixture, "strange");
        change(&mut strange);
        let error = fixture.db.add_function(module, strange).expect_err("it has no such metadata");
        assert!(error.to_string().contains("Referring to metadata of another module!"), "{error}");
    }
}

/// What metadata mentions is not kept alive by it.
#[test]
fn metadata_forgets_functions_that_are_removed() {
    let text = r#"
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.test(metadata)
define void @kernel(i32 %n) !dbg !5 {
    #dbg_value(ptr @spare, !7, !DIExpression(), !8)
    #dbg_value(!DIArgList(i32 %n, ptr @spare), !7, !DIExpression(DW_OP_LLVM_arg, 0), !8)
  call void @llvm.test(metadata ptr @spare), !dbg !8
  ret void, !dbg !8
}
define void @spare() {
  ret void
}
!nvvm.annotations = !{!10, !11}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a", directory: "b")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !4)
!4 = !{}
!5 = distinct !DISubprogram(name: "u", file: !1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!7 = !DILocalVariable(name: "x", scope: !5, file: !1, type: !9)
!8 = !DILocation(line: 1, scope: !5)
!9 = !DIBasicType(name: "p", size: 64)
!10 = !{ptr @spare, !"kernel", i32 1}
!11 = !{ptr @kernel, !"kernel", i32 1}
"#;
    let mut fixture = Fixture::of(text, "kernel");
    let (kernel, spare) = (fixture.edited(), fixture.function("spare"));
    assert!(queries::is_kernel(&fixture.db, kernel) && queries::is_kernel(&fixture.db, spare));
    let position = kernel.body(&fixture.db).journal().position();
    fixture.db.remove_functions(fixture.module, &[spare]).expect("nobody calls it");
    assert!(queries::is_kernel(&fixture.db, kernel));
    let changes = kernel.body(&fixture.db).journal().since(position).expect("it reaches back");
    assert_eq!(changes.insts.len(), 1, "the call reads something else");
    let functions = fixture.module.functions(&fixture.db).iter();
    let functions = functions.map(|entry| entry.input.view(&fixture.db)).collect();
    let shell = fixture.module.shell(&fixture.db);
    let mut text = Vec::new();
    ModulePrinter::with_functions(shell, functions).module(&mut text);
    let printed = String::from_utf8_lossy(&text).into_owned();
    assert!(!printed.contains("spare"), "{printed}");
    let lines = printed.lines().filter(|line| line.contains("poison") || line.contains("null"));
    expect![[r##"
        #dbg_value(ptr poison, !8, !DIExpression(), !10)
        #dbg_value(!DIArgList(i32 %n, ptr poison), !8, !DIExpression(DW_OP_LLVM_arg, 0), !10)
        call void @llvm.test(metadata ptr poison), !dbg !10
        !0 = !{null, !"kernel", i32 1}
        !5 = distinct !DISubprogram(name: "u", scope: null, file: !3, type: !6, spFlags: DISPFlagDefinition, unit: !2)
    "##]]
    .assert_eq(&lines.map(|line| format!("{}\n", line.trim())).collect::<String>());
    let again = Fixture::of(&printed, "kernel");
    assert!(queries::is_kernel(&again.db, again.edited()));
}

const SHELL: &str = r#"
target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, i32 }
@table = internal constant [2 x i32] [i32 1, i32 2]
@spare = global %pair zeroinitializer
define void @kernel(ptr %p, i64 %i) {
  %q = getelementptr [2 x i32], ptr @table, i64 0, i64 %i
  %n = load i32, ptr %q
  store i32 %n, ptr %p, !mine !0
  ret void
}
!0 = !{!"text"}
"#;

/// What functions refer to does not go from below them, and what is not of the context does not
/// come in.
#[test]
fn what_stands_beside_functions_breaks_no_rule() {
    let mut fixture = Fixture::of(SHELL, "kernel");
    let (module, context) = (fixture.module, std::sync::Arc::clone(&fixture.context));
    let function = copy(&fixture, "another");
    let print = |fixture: &Fixture| {
        let functions = module.functions(&fixture.db).iter();
        let functions = functions.map(|entry| entry.input.view(&fixture.db)).collect();
        let mut out = Vec::new();
        ModulePrinter::with_functions(module.shell(&fixture.db), functions).module(&mut out);
        String::from_utf8(out).expect("ASCII")
    };
    let before = print(&fixture);
    let index = queries::module_index(&fixture.db, module).clone();
    let mut refused = |edit: &dyn Fn(&mut Module)| {
        let error = fixture.db.edit_shell(module, edit).expect_err("it is refused").to_string();
        assert_eq!(print(&fixture), before, "{error}");
        assert_eq!(*queries::module_index(&fixture.db, module), index);
        error
    };
    expect!["@another cannot be added with what a module has beside its functions"]
        .assert_eq(&refused(&|shell| shell.functions.push(function.clone())));
    expect!["the module is of another context"]
        .assert_eq(&refused(&|shell| *shell = Module::new(Default::default())));
    expect!["the module is not well-formed: @kernel: %bb0: %q (getelementptr): Referencing global in another module! (@table)"].assert_eq(&refused(&|shell| drop(shell.variables.remove(0))));
    expect!["the module is not well-formed: @kernel: %bb0: %q (getelementptr): Constant does not match its type! (ptr @table)"].assert_eq(&refused(&|shell| shell.variables[0].address_space = 3));
    expect!["the module is not well-formed: Global is external, but doesn't have external or weak linkage! (@table)"].assert_eq(&refused(&|shell| shell.variables[0].initializer = None));
    expect!["the module is not well-formed: Name is defined twice! (@kernel)"].assert_eq(&refused(
        &|shell| {
            shell.variables[1].name = GlobalName::Named(context.symbol(b"kernel"));
        },
    ));
    expect!["the module is not well-formed: @kernel: %bb0: %i2 (store): Referring to metadata of another module!"].assert_eq(&refused(&|shell| shell.metadata = Default::default()));
    expect!["the module is not well-formed: Global variable initializer must be sized (@spare)"]
        .assert_eq(&refused(&|shell| shell.structs.clear()));
    let far = 100_000_000;
    expect!["the module is not well-formed: Referring to a type of another context! (@table)"]
        .assert_eq(&refused(&|shell| shell.variables[0].ty = Type::from_raw(far)));
    expect!["the module is not well-formed: Referring to a name of another context!"]
        .assert_eq(&refused(&|shell| shell.triple = Some(Symbol::from_raw(far))));
    expect!["the module is not well-formed: Referring to a name of another context!"].assert_eq(
        &refused(&|shell| {
            shell.variables[1].name = GlobalName::Named(Symbol::from_raw(far));
        }),
    );
    expect!["the module is not well-formed: Referring to metadata of another module!"].assert_eq(
        &refused(&|shell| {
            let strange = [MetadataValue::Node(MetadataId::from_raw(far.into()))];
            shell.metadata.add(NodeBuilder::tuple(false, strange)).expect("it is a tuple");
        }),
    );
}

/// A module that was not verified when it was read keeps the mistakes it has.
#[test]
fn a_module_that_broke_rules_before_may_be_edited() {
    let text =
        "@a = internal global i32 0\n@b = common global i32 1\ndefine void @f() { ret void }";
    let mut fixture = Fixture::of(text, "f");
    let module = fixture.module;
    let edit = |shell: &mut Module| shell.variables[0].is_constant = true;
    fixture.db.edit_shell(module, edit).expect("that breaks none");
    let edit = |shell: &mut Module| shell.variables[0].initializer = None;
    let error = fixture.db.edit_shell(module, edit).expect_err("that breaks another");
    expect!["the module is not well-formed: Global is external, but doesn't have external or weak linkage! (@a)"].assert_eq(&error.to_string());
}

/// An added variable is verified, and so are functions that it refers to.
#[test]
fn a_variable_that_is_added_breaks_no_rule_either() {
    let text = "declare i32 @llvm.ctpop.i32(i32)\ndefine void @f() { ret void }";
    let mut fixture = Fixture::of(text, "f");
    let (module, context) = (fixture.module, std::sync::Arc::clone(&fixture.context));
    let pointer = context.ptr_type(0);
    let variable = |name: &[u8], initializer| GlobalVariable {
        name: GlobalName::Named(context.symbol(name)),
        initializer: Some(initializer),
        ..GlobalVariable::new(pointer)
    };
    let intrinsic = context.const_global(GlobalName::Named(context.symbol(b"llvm.ctpop.i32")), 0);
    let add = |variable| move |shell: &mut Module| shell.variables.push(variable);
    let error = fixture.db.edit_shell(module, add(variable(b"a", intrinsic)));
    expect![
        "the module is not well-formed: @llvm.ctpop.i32: Invalid user of intrinsic instruction!"
    ]
    .assert_eq(&error.expect_err("an intrinsic has no address").to_string());
    fixture
        .db
        .edit_shell(module, add(variable(b"a", context.const_null(pointer))))
        .expect("it is new");
    let error = fixture.db.edit_shell(module, add(variable(b"a", context.const_null(pointer))));
    expect!["the module is not well-formed: Name is defined twice! (@a)"]
        .assert_eq(&error.expect_err("it is there").to_string());
    assert_eq!(module.shell(&fixture.db).variables.len(), 1);
}

/// An edit that changes nothing has nothing asked again.
#[test]
fn a_module_that_stays_equal_is_not_touched() {
    let mut fixture = Fixture::of(SHELL, "kernel");
    let module = fixture.module;
    queries::module_index(&fixture.db, module);
    fixture.db.take_log();
    let name = fixture.db.edit_shell(module, |shell| {
        shell.variables[0].is_constant = true;
        shell.variables[0].name
    });
    assert_eq!(name, Ok(module.shell(&fixture.db).variables[0].name));
    queries::module_index(&fixture.db, module);
    assert!(fixture.db.take_log().is_empty());
}

/// Metadata that is added refers to what there is.
#[test]
fn metadata_is_added_beside_what_there_is() {
    let mut fixture = Fixture::of(SHELL, "kernel");
    let module = fixture.module;
    let count = module.shell(&fixture.db).metadata.len();
    let (old, new) = fixture.db.edit_metadata(module, |metadata| {
        let old = MetadataId::from_raw(0.into());
        let strange = [MetadataValue::Node(MetadataId::from_raw(1000.into()))];
        let refused = metadata.add(NodeBuilder::tuple(false, strange));
        expect!["Referring to metadata of another module!"]
            .assert_eq(&refused.expect_err("there is no such node"));
        let refused = metadata.define(old, NodeBuilder::tuple(false, []));
        expect!["!0 is not a node that was added here"]
            .assert_eq(&refused.expect_err("it was there"));
        let new = metadata.reserve();
        let values = [MetadataValue::Node(new), MetadataValue::Node(old)];
        metadata.define(new, NodeBuilder::tuple(true, values)).expect("it is new");
        (old, new)
    });
    let metadata = &module.shell(&fixture.db).metadata;
    assert_eq!(metadata.len(), count + 1);
    assert_eq!(metadata.operands(new).as_slice(), [new, old]);
}

/// Functions that a body names are an input beside it: an edit that takes names away, or brings
/// others, sets it.
#[test]
fn what_a_body_names_follows_its_edits() {
    let text = "declare void @a(ptr)\ndeclare void @b(ptr)\n\
                define void @kernel(ptr %p) {\n  call void @a(ptr %p)\n  store ptr @b, ptr %p\n  \
                store ptr %p, ptr %p\n  ret void\n}\n";
    let mut fixture = Fixture::of(text, "kernel");
    let (kernel, context) = (fixture.edited(), fixture.context.clone());
    let insts: Vec<InstId> = kernel.body(&fixture.db).all_ids().collect();
    let [a, b] = ["a", "b"].map(|name| GlobalName::Named(context.symbol(name.as_bytes())));
    let named = |fixture: &Fixture| {
        let found = kernel.mentions(&fixture.db);
        assert_eq!(*found, Mentions::of(&context, kernel.body(&fixture.db)));
        (found.callees().to_vec(), found.taken())
    };
    assert_eq!(named(&fixture), (vec![a], vec![b]));
    let erase = |fixture: &mut Fixture, inst: InstId| {
        let erased: Result<(), BuildError> = fixture.db.edit(kernel, |edit| edit.erase(inst));
        erased.expect("nobody reads it");
    };
    erase(&mut fixture, insts[0]);
    assert_eq!(named(&fixture), (vec![], vec![b]));
    let second = kernel.body(&fixture.db).operands(insts[1])[0];
    let set: Result<(), BuildError> =
        fixture.db.edit(kernel, |edit| edit.set_operand(insts[2], 0, second));
    set.expect("a pointer is a pointer");
    assert_eq!(named(&fixture), (vec![], vec![b]));
    erase(&mut fixture, insts[1]);
    assert_eq!(named(&fixture), (vec![], vec![b]));
    erase(&mut fixture, insts[2]);
    assert_eq!(named(&fixture), (vec![], vec![]));
}

/// A function that calls another one, and changes of that.
struct Calling(Fixture);

impl Calling {
    fn new() -> Self {
        let sums: String =
            (0..300).map(|at| format!("  %v{} = add i32 %v{at}, %n\n", at + 1)).collect();
        let text = format!(
            "target triple = \"amdgcn-amd-amdhsa\"\n\
             declare i32 @llvm.amdgcn.workitem.id.x()\n\
             define internal i32 @callee(i32 %n) {{\n\
             \x20 %t = call i32 @llvm.amdgcn.workitem.id.x()\n\
             \x20 %sum = add i32 %n, 1\n  ret i32 %sum\n}}\n\
             define amdgpu_kernel void @kernel(i32 %n) {{\n\
             \x20 %v0 = call i32 @callee(i32 %n)\n{sums}\
             \x20 %c = icmp eq i32 %v300, 0\n  br i1 %c, label %then, label %exit\n\
             then:\n  br label %exit\nexit:\n  ret void\n}}\n\
             define void @spare(i32 %n) {{\n  ret void\n}}\n"
        );
        Calling(Fixture::of(&text, "kernel"))
    }

    /// Adds a function without callers.
    fn add(&mut self, name: &str) {
        let Calling(fixture) = self;
        let mut function = fixture.function("spare").view(&fixture.db).to_function();
        function.header.name = GlobalName::Named(fixture.context.symbol(name.as_bytes()));
        fixture.db.add_function(fixture.module, function).expect("the name is free");
    }

    /// What the callee returns is of the thread, or not.
    fn set_divergent(&mut self, is_divergent: bool) {
        let Calling(fixture) = self;
        let callee = fixture.function("callee");
        let mut insts = callee.view(&fixture.db).body.all_ids();
        let (thread, sum) = (insts.next().expect("two"), insts.next().expect("two"));
        let operand = if is_divergent { Value::inst(thread) } else { Value::arg(0) };
        let done: Result<(), BuildError> =
            fixture.db.edit(callee, |edit| edit.set_operand(sum, 0, operand));
        done.expect("it is there");
    }

    fn ask(&self) {
        assert!(queries::divergence(&self.0.db, self.0.edited()).is_some());
    }

    /// Branches of the kernel that threads go different ways at.
    fn divergent_branches(&self) -> usize {
        queries::module_divergent_branches(&self.0.db, self.0.module)
    }
}

/// Adding functions does not change the list of summaries that a function reads. Suppose the first
/// query read the inputs of the list, and the next query read the list itself. Then the next query
/// would have read no input that changed as late, and salsa would panic.
#[test]
fn functions_come_before_and_after_the_first_question() {
    for is_listed_before in [false, true] {
        let mut calling = Calling::new();
        if is_listed_before {
            queries::environment(&calling.0.db, calling.0.edited());
        }
        calling.add("one");
        calling.ask();
        calling.add("two");
        calling.ask();
        calling.add("three");
        calling.ask();
    }
}

/// The same for a callee that changes before the first query and changes back after it: dependent
/// queries would not see the change.
#[test]
fn a_callee_changes_before_the_first_question_and_back_after_it() {
    for is_listed_before in [false, true] {
        let mut calling = Calling::new();
        // A list that is as durable as the next one.
        calling.set_divergent(true);
        calling.set_divergent(false);
        if is_listed_before {
            queries::environment(&calling.0.db, calling.0.edited());
        }
        calling.set_divergent(true);
        assert_eq!(calling.divergent_branches(), 1);
        calling.set_divergent(false);
        assert_eq!(calling.divergent_branches(), 0);
        calling.set_divergent(true);
        assert_eq!(calling.divergent_branches(), 1);
    }
}
