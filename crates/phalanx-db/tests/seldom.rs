//! Ways on which what is said of an instruction follows from others, and which programs seldom have: it is found again when these change.

mod support;

use phalanx_db::queries;
use phalanx_ir::{BuildError, InstBuilder, Type, Value};
use support::Fixture;

/// A function in the target's terms with this body, so long that tables of divergence are kept from the first question on: `%v..` are sums of `%n` behind the
/// entry.
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
}

/// Whether an argument that a function does not return is read depends on whether it was computed in another block.
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

/// Where nobody comes a value may come to read itself: what was known of it before is no reason for it.
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

/// Where nobody comes an address may be made from itself, and has no end to be looked for.
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
        let code = phalanx_analysis::lower::Code { context, header, flow, body: code_body };
        queries::pointer_flow(db, function).of(code, Value::inst(first))
    };
    assert_eq!(of(&fixture.db, fixture.edited()), of(&cold, fresh));
    check(&fixture, "a ring");
}

/// One instruction keeps two slots from being private. It goes, after one of them was looked at again.
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

/// A slot that holds an address is read by whoever reads it through a cast of a cast of a cast of a cast.
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

/// A call that does nothing with the address of a slot has it all the same: what it gives may depend on what is there.
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

/// Where nobody comes casts may be made from each other: whoever looks for what they are made from comes to an end.
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
