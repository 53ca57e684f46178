//! Edits of a module: functions that come and go, and headers.

#[expect(dead_code, reason = "it serves tests of other edits as well")]
mod support;

use expect_test::expect;
use phalanx_db::ModuleEditError;
use phalanx_ir::{
    BuildError, Const, Function, FunctionHeader, GlobalName, InstId, Symbol, Type,
    metadata::{Attachment, DebugRecord, LocalMetadata, MetadataId},
    module::Linkage,
};
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

/// Numbers of another context or module name nothing here, and text has no words for what the other changes say.
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
