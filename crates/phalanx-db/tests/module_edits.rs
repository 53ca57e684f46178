//! Edits of a module: functions that come and go, and headers.

mod support;

use phalanx_ir::{Function, GlobalName};
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
