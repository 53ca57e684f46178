//! Dependencies between instructions that occur in few programs: after an edit of one, facts about
//! the others are updated.

#[path = "support.rs"]
mod support;

use expect_test::expect;
use phalanx_analysis::loads::LoadClass;
use phalanx_db::queries;
use phalanx_ir::{BuildError, InstBuilder, Type, Value, builder::Callee};
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

/// Whether an argument that a function does not return is read depends on whether it was computed
/// in another block.
#[test]
fn an_argument_of_an_invoke_moves_to_another_block() {
    let text = large(
        "declare i32 @llvm.amdgcn.workitem.id.x()
         define internal i32 @leaf(i32 %a, i32 %b) {
           ret i32 %a
         }",
        "amdgcn-amd-amdhsa",
        "define amdgpu_kernel void @kernel(ptr addrspace(1) %out, i32 %n) personality ptr null",
        "  %x = call i32 @llvm.amdgcn.workitem.id.x()\n",
        "  br label %a
         a:
           %last = add i32 %n, 3
           br label %b
         b:
           %r = invoke i32 @leaf(i32 %n, i32 %x) to label %ok unwind label %pad
         ok:
           store i32 %r, ptr addrspace(1) %out
           ret void
         pad:
           %caught = landingpad { ptr, i32 } cleanup
           resume { ptr, i32 } %caught
         ",
    );
    let mut fixture = followed(&text);
    let [x, last, first, r] = ["x", "last", "v0", "r"].map(|name| fixture.named(name));
    let values = |fixture: &Fixture| {
        let found =
            queries::divergence(&fixture.db, fixture.edited()).as_ref().expect("it is defined");
        let numbering =
            phalanx_analysis::lower::Numbering::new(fixture.edited().header(&fixture.db));
        found.value(numbering.inst(r))
    };
    let before = values(&fixture);
    for _ in 0..2 {
        fixture.edit(|edit| edit.move_before(x, last));
        check(&fixture, "in a block between");
        assert_ne!(values(&fixture), before, "it makes a difference");
        fixture.edit(|edit| edit.move_before(x, first));
        check(&fixture, "in the entry");
    }
}

/// In unreachable code an edit may make a value its own operand. The old facts about the value must
/// not support themselves.
#[test]
fn a_value_that_reads_itself_where_nobody_comes() {
    let text = large(
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "nvptx64-nvidia-cuda",
        "define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n)",
        "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n",
        "  ret void
         nobody:
           %y = and i32 %n, 8
           %w = and i32 %t, 8
           %x = or i32 %y, %w
           %z = lshr i32 %x, 4
           store i32 %z, ptr addrspace(1) %out
           ret void
         ",
    );
    let mut fixture = followed(&text);
    let [x, y] = ["x", "y"].map(|name| fixture.named(name));
    for operand in [Value::inst(x), Value::arg(1)] {
        fixture.edit(|edit| edit.set_operand(y, 0, operand));
        check(&fixture, "another operand");
    }
}

/// An element of a vector of addresses is an address on the way of what reads it.
#[test]
fn an_address_is_taken_out_of_another_vector() {
    let text = large(
        "",
        "nvptx64-nvidia-cuda",
        "define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) %b, i32 %n)",
        "  %w = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %a, i32 0
           %w2 = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %b, i32 0
           store i32 0, ptr addrspace(1) %b
        ",
        "  ret void\n",
    );
    let mut fixture = followed(&text);
    let [w, other, last] = ["w", "w2", "v1199"].map(|name| fixture.named(name));
    let frozen = fixture.edit(|edit| {
        let frozen = edit.before(last).freeze(w)?;
        let index = edit.context().const_i32(0);
        let address = edit.before(last).extract_element(frozen, index)?;
        edit.before(last).load(Type::I32, address)?;
        Ok::<_, BuildError>(frozen.as_inst().expect("it is new"))
    });
    check(&fixture, "a load more");
    fixture.edit(|edit| edit.set_operand(frozen, 0, other));
    check(&fixture, "another vector");
}

/// In unreachable code an address may be computed from itself: the search for its base must end.
#[test]
fn a_ring_of_new_addresses_where_nobody_comes() {
    let text = large(
        "",
        "nvptx64-nvidia-cuda",
        "define ptx_kernel void @kernel(ptr %out, i32 %n)",
        "",
        "  ret void
         nobody:
           %last = add i32 %n, 3
           ret void
        ",
    );
    let mut fixture = followed(&text);
    let last = fixture.named("last");
    let first = fixture.edit(|edit| {
        let one = edit.context().const_i32(1);
        let a = edit.before(last).gep(Type::I8, Value::arg(0), &[one.into()])?;
        let b = edit.before(last).gep(Type::I8, a, &[one.into()])?;
        edit.before(last).load(Type::I32, b)?;
        let a = a.as_inst().expect("it is new");
        edit.set_operand(a, 0, b)?;
        Ok::<_, BuildError>(a)
    });
    let (cold, entries) = fixture.cold();
    let fresh = entries.iter().find(|e| e.is_definition).expect("it is there").input;
    let of = |db: &phalanx_db::Database, function: phalanx_db::FunctionInput| {
        let (code_body, context) = (function.body(db), function.module(db).context(db));
        let (header, flow) = (function.header(db), function.flow(db));
        let code = phalanx_analysis::lower::Code {
            context,
            header,
            flow,
            body: code_body,
            library: queries::library(db, function.module(db)),
        };
        queries::pointer_flow(db, function).of(code, Value::inst(first))
    };
    assert_eq!(of(&fixture.db, fixture.edited()), of(&cold, fresh));
    check(&fixture, "a ring");
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

/// A slot that holds an address may be read through a chain of four casts.
#[test]
fn a_slot_is_read_through_many_casts() {
    let text = large(
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "nvptx64-nvidia-cuda",
        "define ptx_kernel void @kernel(ptr addrspace(1) %out, i32 %n)",
        "  %s = alloca ptr
           %a = alloca i32
           %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
           %c1 = bitcast ptr %s to ptr
           %c2 = bitcast ptr %c1 to ptr
           %c3 = bitcast ptr %c2 to ptr
           %c4 = bitcast ptr %c3 to ptr
           %c5 = bitcast ptr %c4 to ptr
           store ptr %a, ptr %s
           store i32 0, ptr %a
           %l = load ptr, ptr %c5
           store i32 %t, ptr %l
           %v = load i32, ptr %a
        ",
        "  store i32 %v, ptr addrspace(1) %out\n  ret void\n",
    );
    let fixture = followed(&text);
    let found = queries::divergence(&fixture.db, fixture.edited()).as_ref().expect("it is defined");
    let numbering = phalanx_analysis::lower::Numbering::new(fixture.edited().header(&fixture.db));
    assert!(
        !found.value(numbering.inst(fixture.named("v"))).is_empty(),
        "each thread stores its own number"
    );
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

/// Marks of our own are no promises, but what is before a load depends on them.
#[test]
fn a_load_gets_marks_of_our_own() {
    let text = large(
        "",
        "amdgcn-amd-amdhsa",
        "define amdgpu_kernel void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n)",
        "  store i32 1, ptr addrspace(1) %q, !other !0
           %l = load i32, ptr addrspace(1) %p
        ",
        "  store i32 %l, ptr addrspace(1) %q\n  ret void\n",
    ) + "!0 = !{}\n";
    let mut fixture = followed(&text);
    let l = fixture.named("l");
    let classes = |f: &Fixture| queries::load_classes(&f.db, f.edited()).clone();
    let before = classes(&fixture);
    let node =
        fixture.edited().extras(&fixture.db).attachments.first().expect("there is one").1.node;
    for marks in [Some(node), None] {
        for kind in ["invariant.load", "phalanx.invariant.load"] {
            fixture.edit(|edit| edit.attach(l, kind, marks));
        }
        check(&fixture, "marks");
        assert_eq!(classes(&fixture) == before, marks.is_none(), "they make a difference");
    }
}

/// In unreachable code casts may be operands of each other: the search for their base must end.
#[test]
fn casts_of_each_other_where_nobody_comes() {
    let text = "
        target triple = \"amdgcn-amd-amdhsa\"
        declare void @llvm.amdgcn.s.barrier()
        declare i32 @llvm.amdgcn.workitem.id.x()
        define amdgpu_kernel void @kernel() {
        entry:
          br label %spin
        spin:
          call void @llvm.amdgcn.s.barrier()
          br label %spin
        nobody:
          %a = addrspacecast ptr %b to ptr addrspace(5)
          %b = addrspacecast ptr addrspace(5) %a to ptr
          %l = load i1, ptr addrspace(5) %a
          %t = call i32 @llvm.amdgcn.workitem.id.x()
          %p = icmp ult i32 %t, 5
          %c = xor i1 %p, %l
          br i1 %c, label %spin, label %end
        end:
          call void @llvm.amdgcn.s.barrier()
          ret void
        }";
    let fixture = Fixture::of(text, "kernel");
    assert!(queries::diagnostics(&fixture.db, fixture.edited()).is_some());
}

/// An `llvm.assume` counts only for code behind it.
#[test]
fn an_assumption_moves_in_its_block() {
    let text = large(
        "declare i1 @llvm.nvvm.isspacep.shared(ptr)
         declare void @llvm.assume(i1)
         declare void @may_exit()",
        "nvptx64-nvidia-cuda",
        "define void @kernel(ptr %p, i32 %n)",
        "  %t = call i1 @llvm.nvvm.isspacep.shared(ptr %p)
           call void @llvm.assume(i1 %t)
           %l = load i32, ptr %p
           call void @may_exit()
           %m = load i32, ptr %p
        ",
        "  ret void\n",
    );
    let mut fixture = followed(&text);
    let sets = |f: &Fixture| {
        let (body, kinds) = (f.edited().body(&f.db), queries::memory_kinds(&f.db, f.edited()));
        let kinds = kinds.as_ref().expect("it is defined");
        ["l", "m"].map(|name| kinds.at(body, f.named(name), 0).to_string())
    };
    expect![[r#"["{shared}", "{shared}"]"#]].assert_eq(&format!("{:?}", sets(&fixture)));
    let [t, m] = ["t", "m"].map(|name| fixture.named(name));
    let assume = fixture.edited().body(&fixture.db).uses_of(t.into()).next().expect("it is read");
    fixture.edit(|edit| edit.move_before(assume.user, m));
    check(&fixture, "behind a load");
    expect![[r#"["{global, constant, shared, cluster, private, param, null}", "{shared}"]"#]]
        .assert_eq(&format!("{:?}", sets(&fixture)));
    let l = fixture.named("l");
    fixture.edit(|edit| edit.move_before(assume.user, l));
    check(&fixture, "and back");
    expect![[r#"["{shared}", "{shared}"]"#]].assert_eq(&format!("{:?}", sets(&fixture)));
}

/// A test is combined with many conditions: those that contain no test are not visited.
#[test]
fn a_test_is_joined_with_many_conditions() {
    let mut entry = String::from("  %t = call i1 @llvm.nvvm.isspacep.shared(ptr %p)\n");
    entry.push_str("  %x20 = and i1 %y, %y\n");
    for at in (1..20).rev() {
        entry.push_str(&format!("  %x{at} = and i1 %y, %x{}\n", at + 1));
    }
    entry.push_str("  %c = and i1 %t, %x1\n");
    let text = large(
        "declare i1 @llvm.nvvm.isspacep.shared(ptr)",
        "nvptx64-nvidia-cuda",
        "define void @kernel(ptr %p, i1 %y, i32 %n)",
        &entry,
        "  br i1 %c, label %a, label %b
         a:
           %l = load i32, ptr %p
           ret void
         b:
           ret void
        ",
    );
    let mut fixture = followed(&text);
    let [x1, x2, l] = ["x1", "x2", "l"].map(|name| fixture.named(name));
    for operand in [Value::arg(1), Value::inst(x2)] {
        fixture.edit(|edit| edit.set_operand(x1, 1, operand));
        check(&fixture, "fewer conditions, or more");
        let (body, function) = (fixture.edited().body(&fixture.db), fixture.edited());
        let kinds = queries::memory_kinds(&fixture.db, function).as_ref().expect("it is defined");
        assert_eq!(kinds.at(body, l, 0).to_string(), "{shared}");
    }
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

/// The query must not ask a former callee what it writes: it may call the function itself.
#[test]
fn a_callee_becomes_the_caller() {
    let text = large(
        "define void @other(ptr addrspace(1) %p) {
           store i32 0, ptr addrspace(1) %p
           ret void
         }",
        "amdgcn-amd-amdhsa",
        "define void @kernel(ptr addrspace(1) %p, i32 %n)",
        "  store i32 1, ptr addrspace(1) %p
           call void @other(ptr addrspace(1) %p)
        ",
        "  ret void\n",
    );
    let mut fixture = followed(&text);
    let itself = callee(&fixture, "kernel");
    let body = fixture.edited().body(&fixture.db);
    let call = body.all_ids().find(|&i| body.const_callee(i).is_some()).expect("there is one");
    fixture.edit(|edit| edit.erase(call));
    let other = fixture.function("other");
    let first = other.body(&fixture.db).all_ids().next().expect("it has code");
    let result: Result<_, BuildError> = fixture.db.edit(other, |edit| {
        let zero = edit.context().const_i32(0);
        edit.before(first).call(itself, &[Value::arg(0), zero.into()])
    });
    result.expect("it may call it");
    check(&fixture, "the other way round");
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

/// The bytes that an index leads to are not tracked: the retained facts about a load do not depend
/// on how the index is computed.
#[test]
fn an_index_is_computed_from_something_else() {
    let text = large(
        "",
        "amdgcn-amd-amdhsa",
        "define amdgpu_kernel void @kernel(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %out, i32 %n, i64 %k)",
        "  %m = add i64 %k, 256
           %to = getelementptr i32, ptr addrspace(1) %p, i64 %k
           %from = getelementptr i32, ptr addrspace(1) %p, i64 %m
           store i32 1, ptr addrspace(1) %to
           %l = load i32, ptr addrspace(1) %from
           store i32 %l, ptr addrspace(1) %out
        ",
        "  ret void\n",
    );
    let mut fixture = followed(&text);
    let m = fixture.named("m");
    for step in [0, 256, 0] {
        let step = Value::constant(fixture.context.const_i64(step));
        fixture.edit(|edit| edit.set_operand(m, 1, step));
        check(&fixture, "it may be the one that is written");
    }
}
