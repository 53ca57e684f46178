//! Dependencies between instructions that occur in few programs: after an edit of one, facts about
//! the others are updated. Here are the cases that depend on which question comes first, and those
//! that are more than edits of one function; the others are edit scripts, `test-suite/edits`.

#[path = "support.rs"]
mod support;

use phalanx_analysis::loads::LoadClass;
use phalanx_db::queries;
use phalanx_ir::{BuildError, InstBuilder, Value, builder::Callee};
use support::Fixture;

/// A function in the target's terms with this body, so long that tables of divergence are kept from
/// the first question on: `%v..` are sums of `%n` behind the entry.
fn large(before: &str, target: &str, head: &str, entry: &str, rest: &str) -> String {
    let mut text = format!("target triple = \"{target}\"\n{before}\n{head} {{\nentry:\n{entry}");
    text.push_str("  %v0 = add i32 %n, 1\n");
    for at in 1..1200 {
        text.push_str(&format!("  %v{at} = add i32 %v{}, %n\n", at - 1));
    }
    text.push_str(rest);
    text.push_str("}\n");
    text
}

/// Asks, so that divergence is followed from now on.
fn followed(text: &str) -> Fixture {
    let mut fixture = Fixture::of(text, "kernel");
    assert!(fixture.edited().is_large(&fixture.db));
    let v = fixture.named("v7");
    for operand in [7, 8] {
        check(&fixture, "at first");
        let operand = Value::constant(fixture.context.const_i32(operand));
        fixture.edit(|edit| edit.set_operand(v, 1, operand));
    }
    check(&fixture, "it is followed");
    fixture
}

/// Whether divergence by both sets of rules, and facts about memory, are what a new database finds.
#[track_caller]
fn check(fixture: &Fixture, what: &str) {
    let (cold, entries) = fixture.cold();
    let names = |db: &phalanx_db::Database, f: phalanx_db::FunctionInput| f.header(db).name;
    let own = names(&fixture.db, fixture.edited());
    let fresh = entries.iter().find(|e| names(&cold, e.input) == own).expect("it is there").input;
    let (db, function) = (&fixture.db, fixture.edited());
    assert!(queries::divergence(db, function) == queries::divergence(&cold, fresh), "{what}");
    assert!(queries::uniformity(db, function) == queries::uniformity(&cold, fresh), "{what}");
    assert!(
        queries::private_memory(db, function) == queries::private_memory(&cold, fresh),
        "{what}"
    );
    assert!(queries::pointer_flow(db, function) == queries::pointer_flow(&cold, fresh), "{what}");
    assert!(queries::load_classes(db, function) == queries::load_classes(&cold, fresh), "{what}");
    assert!(queries::memory_kinds(db, function) == queries::memory_kinds(&cold, fresh), "{what}");
    assert!(
        queries::written_spaces(db, function) == queries::written_spaces(&cold, fresh),
        "{what}"
    );
}

/// A function to be called.
fn callee(fixture: &Fixture, name: &str) -> Callee {
    let header = fixture.function(name).header(&fixture.db);
    Callee::indirect(fixture.context.const_global(header.name, 0).into(), header.ty)
}

/// One instruction lets two slots escape. It is removed after one of them was scanned again.
#[test]
fn who_lets_two_slots_escape_is_known_of_both() {
    let text = large(
        "",
        "nvptx64-nvidia-cuda",
        "define ptx_kernel void @kernel(i1 %c, i32 %n)",
        "  %o = alloca i32
           %a = alloca i32
           %s = select i1 %c, ptr %o, ptr %a
           store i32 7, ptr %a
           %v = load i32, ptr %a
        ",
        "  ret void\n",
    );
    let mut fixture = Fixture::of(&text, "kernel");
    let is_known = |f: &Fixture| queries::private_memory(&f.db, f.edited()).is_some();
    let [o, s] = ["o", "s"].map(|name| fixture.named(name));
    assert!(is_known(&fixture));
    fixture.edit(|edit| edit.set_align(o, 16));
    // Divergence is found from what was followed until now.
    assert!(is_known(&fixture));
    check(&fixture, "another alignment");
    fixture.edit(|edit| edit.erase(s));
    check(&fixture, "nobody lets them escape any more");
}

/// A call that does nothing with the address of a slot has it all the same: what it gives may
/// depend on what is there.
#[test]
fn a_call_that_touches_nothing_is_given_a_slot() {
    let text = large(
        "define internal i32 @leaf(ptr %p, i1 %c) {
           br i1 %c, label %a, label %b
         a:
           %l = load i32, ptr %p
           ret i32 %l
         b:
           ret i32 0
         }",
        "nvptx64-nvidia-cuda",
        "define ptx_kernel void @kernel(ptr addrspace(1) %out, i1 %c, i32 %n)",
        "  %a = alloca i32
           store i32 7, ptr %a
           %r = call i32 @leaf(ptr readnone captures(none) null, i1 %c)
        ",
        "  store i32 %r, ptr addrspace(1) %out\n  ret void\n",
    );
    let mut fixture = Fixture::of(&text, "kernel");
    let is_known = |f: &Fixture| queries::private_memory(&f.db, f.edited()).is_some();
    assert!(is_known(&fixture));
    let [a, r] = ["a", "r"].map(|name| fixture.named(name));
    fixture.edit(|edit| edit.set_operand(r, 0, a));
    // What is at hand is taken for what goes through calls, if it says so.
    assert!(is_known(&fixture));
    check(&fixture, "a slot");
}

/// A declaration that gets code is a function as others are: whom it calls is called by it.
#[test]
fn a_declaration_gets_code() {
    let text = "
        target triple = \"amdgcn-amd-amdhsa\"
        declare i32 @llvm.amdgcn.workitem.id.x()
        declare void @late()
        define internal i32 @leaf(i32 %x) {
          %r = add i32 %x, 1
          ret i32 %r
        }
        define amdgpu_kernel void @kernel(ptr addrspace(1) %p) {
          %t = call i32 @llvm.amdgcn.workitem.id.x()
          %r = call i32 @leaf(i32 7)
          store i32 %r, ptr addrspace(1) %p
          call void @late()
          ret void
        }";
    let mut fixture = Fixture::of(text, "leaf");
    let argument = |f: &Fixture| {
        let found = queries::divergence(&f.db, f.edited()).as_ref().expect("it is defined");
        let numbering = phalanx_analysis::lower::Numbering::new(f.edited().header(&f.db));
        found.value(numbering.argument(0)).is_empty()
    };
    assert!(argument(&fixture), "all pass 7");
    let late = fixture.function("late");
    let [id, leaf] = ["llvm.amdgcn.workitem.id.x", "leaf"].map(|name| callee(&fixture, name));
    let result: Result<_, BuildError> = fixture.db.edit(late, |edit| {
        let block = edit.create_block("entry", None)?;
        let t = edit.at_end(block).call(id, &[])?;
        edit.at_end(block).call(leaf, &[t])?;
        edit.at_end(block).ret_void()
    });
    result.expect("it is a function now");
    assert!(!argument(&fixture), "one passes the thread's number");
    check(&fixture, "a caller");
    let entries = fixture.module.functions(&fixture.db);
    assert!(entries.iter().any(|entry| entry.input == late && entry.is_definition));
}

/// Text tells not what has changed since: where it leads elsewhere, no edit before or after it may
/// be taken for all that has changed.
#[test]
fn an_edge_is_read_again_between_edits() {
    let text = |to: &str| {
        large(
            "",
            "amdgcn-amd-amdhsa",
            "define amdgpu_kernel void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %q, i1 %w, i32 %n)",
            "",
            &format!(
                "  switch i32 %n, label %a [ i32 1, label %b
                                             i32 2, label %j
                                             i32 3, label %k ]
                 a:
                   br i1 %w, label %j, label %k
                 b:
                   store i32 1, ptr addrspace(1) %p
                   br i1 %w, label %{to}, label %m
                 j:
                   %l = load i32, ptr addrspace(1) %p
                   store i32 %l, ptr addrspace(1) %q
                   ret void
                 k:
                   ret void
                 m:
                   %z = add i32 %n, 1
                   ret void
                "
            ),
        )
    };
    let mut fixture = Fixture::of(&text("k"), "kernel");
    check(&fixture, "at first");
    let again =
        phalanx_llvm::parse_module(std::sync::Arc::clone(&fixture.context), text("j").as_bytes())
            .unwrap_or_else(|e| panic!("{e:?}"));
    fixture.db.reload(fixture.module, again.module, None);
    let z = fixture.named("z");
    fixture.edit(|edit| edit.split_before(z, "rest"));
    check(&fixture, "an edge that was read, and a block that was split");
}

/// Text that is read again gives instructions other numbers: what was a step from the argument may
/// be an address of which nothing is known.
#[test]
fn a_step_is_a_load_when_the_text_is_read_again() {
    let text = |address: &str| {
        large(
            "",
            "nvptx64-nvidia-cuda",
            "define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly %p, ptr addrspace(1) noalias %q, i32 %n)",
            &format!(
                "  %at = {address}
                   %l = load i32, ptr addrspace(1) %at
                   store i32 %l, ptr addrspace(1) %q
                "
            ),
            "  ret void\n",
        )
    };
    let assumed_facts = |f: &Fixture| {
        let classes = queries::load_classes(&f.db, f.edited());
        let classes = classes.as_ref().expect("it has code");
        classes.of(f.named("l")).is_some_and(|load| load.is(LoadClass::NonCoherent))
    };
    let mut fixture = followed(&text("getelementptr i32, ptr addrspace(1) %p, i32 1"));
    assert!(assumed_facts(&fixture));
    let loaded = text("load ptr addrspace(1), ptr addrspace(1) %p");
    let again = phalanx_llvm::parse_module(fixture.context.clone(), loaded.as_bytes());
    let again = again.unwrap_or_else(|e| panic!("{e:?}"));
    fixture.db.reload(fixture.module, again.module, None);
    assert!(!assumed_facts(&fixture));
    check(&fixture, "an address that is loaded");
}
