//! Comparisons that decide how many rounds a loop with a stride makes.

use expect_test::expect;
use phalanx::prelude::*;

use super::{HEAD, masks};

/// A loop over the elements of a workgroup of 256: all threads make the same number of rounds if
/// that ends at a multiple.
#[test]
fn rounds_of_a_stride() {
    let body = |limit: &str, step: &str, compare: &str| {
        format!(
            "
  %up = add i32 %a, 255
  %whole = and i32 %up, -256
  %warps = and i32 %up, -32
  %grid = shl i32 %a, 8
  br label %loop
loop:
  %i = phi i32 [ %x, %0 ], [ %next, %loop ]
  %later = shl i32 %a, 8
  %next = add nuw nsw i32 %i, {step}
  %more = icmp {compare}, {limit}
  br i1 %more, label %loop, label %exit
exit:
  %after = icmp {compare}, {limit}
  ret void
"
        )
    };
    let more = |limit, step, compare, wave| {
        let found = masks(&body(limit, step, compare), [256, 1, 1], wave);
        let line = found.lines().find(|line| line.starts_with("more: ")).expect("it is named");
        line["more: ".len()..].to_string()
    };
    assert_eq!(more("768", "256", "ult i32 %i", 32), "{}");
    assert_eq!(more("%whole", "256", "slt i32 %next", 32), "{}");
    assert_eq!(more("769", "256", "ult i32 %i", 32), "{x}");
    assert_eq!(more("768", "255", "ult i32 %i", 32), "{x}");
    assert_eq!(more("%a", "256", "ult i32 %i", 32), "{x}");
    assert_eq!(more("%whole", "256", "ne i32 %i", 32), "{x}");
    // A step that is a multiple, and is the same in all rounds.
    assert_eq!(more("%whole", "%grid", "ult i32 %next", 32), "{}");
    assert_eq!(more("%whole", "%a", "ult i32 %next", 32), "{x}");
    assert_eq!(more("%whole", "%later", "ult i32 %next", 32), "{x}");
    // A bound that is a multiple of the wave: waves leave by themselves.
    assert_eq!(more("%warps", "256", "slt i32 %next", 32), "{wave}");
    // Half a wave is a number of quads.
    assert_eq!(more("%warps", "256", "slt i32 %next", 64), "{wave, quad}");
    // Behind the loop threads of several rounds are together.
    let found = masks(
        "
  %seven = and i32 %x, 7
  br label %loop
loop:
  %i = phi i32 [ %x, %0 ], [ %next, %latch ]
  %few = icmp ult i32 %i, 768
  %stop = icmp eq i32 %seven, 3
  br i1 %stop, label %exit, label %latch
latch:
  %next = add i32 %i, 256
  br i1 %few, label %loop, label %exit
exit:
  %late = xor i1 %few, true
  %after = icmp ult i32 %i, 768
  ret void
",
        [256, 1, 1],
        32,
    );
    expect![[r#"
        seven: {x}
        i: {x}
        few: {}
        stop: {x}
        next: {x}
        late: {x}
        after: {x}
    "#]]
    .assert_eq(&found);
}

/// Where the signs are others the comparison is poison, in all threads of a workgroup or in none:
/// what drops it depends on the workgroup still.
#[test]
fn both_sides_have_one_sign() {
    let found = masks(
        "
  %base = shl i32 %b, 8
  %i = add i32 %base, %x
  %some = icmp samesign ult i32 %i, 65536
  %part = icmp samesign ult i32 %i, 65537
  %none = and i1 %some, false
  %frozen = freeze i1 %none
  ret void
",
        [256, 1, 1],
        32,
    );
    expect![[r#"
        base: {block.x}
        i: {x, block.x}
        some: {block.x}
        part: {x, block.x}
        none: {block.x}
        frozen: {block.x}
    "#]]
    .assert_eq(&found);
}

/// The instruction with a name.
fn named(session: &Session, function: FunctionId, name: &str) -> InstId {
    let code = session.code(function);
    let is = |inst: &InstId| code.extras.names.inst(*inst) == Some(name.as_bytes());
    code.body.all_ids().find(is).expect("it is there")
}

/// What it depends on.
fn mask_of(session: &Session, function: FunctionId, name: &str) -> String {
    let value = Value::inst(named(session, function, name));
    session.divergence(function).expect("it has a body").mask(value).to_string()
}

/// What it depends on in a session that has seen nothing of the edits.
fn mask_from_scratch(session: &Session, module: ModuleId, name: &str) -> String {
    let mut fresh = Session::new();
    let read = fresh.read(&session.print(module)).expect("well-formed");
    let cold = fresh.function(read, "k").expect("defined");
    mask_of(&fresh, cold, name)
}

/// Facts about a stride are updated after edits of its operands, however far these are from the
/// comparison.
#[test]
fn strides_follow_edits() {
    let padding: String = (0..300).map(|n| format!("  %p{n} = add i32 %x, {n}\n")).collect();
    let text = format!(
        "{HEAD}define amdgpu_kernel void @k(i32 %a) !reqd_work_group_size !0 {{
  %x = call i32 @llvm.amdgcn.workitem.id.x()
{padding}  %first = add i32 %x, 0
  %none = mul i32 %x, 0
  %step = add i32 %none, 256
  %limit = and i32 %a, -256
  br label %loop
loop:
  %i = phi i32 [ %first, %0 ], [ %next, %loop ]
  %next = add i32 %i, %step
  %ahead = sub i32 %i, 0
  %more = icmp ult i32 %ahead, %limit
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}
!0 = !{{i32 256, i32 1, i32 1}}
"
    );
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("well-formed");
    let k = session.function(module, "k").expect("defined");
    assert_eq!(mask_of(&session, k, "more"), "{}");
    let edits = [
        ("p0", 1, 9),
        ("first", 1, 1),
        ("first", 1, 0),
        ("step", 1, 255),
        ("step", 1, 256),
        ("limit", 1, -128),
        ("limit", 1, -256),
        ("ahead", 1, 3),
        ("ahead", 1, 256),
    ];
    let expected = ["{}", "{x}", "{}", "{x}", "{}", "{wave}", "{}", "{x}", "{}"];
    for ((name, at, number), expected) in edits.into_iter().zip(expected) {
        let inst = named(&session, k, name);
        session
            .edit(k, |edit| edit.set_operand(inst, at, edit.context().const_i32(number)))
            .expect("it is as good as before");
        let found = mask_of(&session, k, "more");
        assert_eq!(found, mask_from_scratch(&session, module, "more"), "{name} {number}");
        assert_eq!(found, expected, "{name} {number}");
    }
}

/// A comparison at the end of a round is no longer there when its block is split behind it, though
/// only the branch has moved, and the phi only reads from another block.
#[test]
fn strides_follow_splits() {
    let padding: String = (0..300).map(|n| format!("  %p{n} = add i32 %x, {n}\n")).collect();
    let text = format!(
        "{HEAD}define amdgpu_kernel void @k(i1 %stop) !reqd_work_group_size !0 {{
  %x = call i32 @llvm.amdgcn.workitem.id.x()
{padding}  br label %loop
loop:
  %i = phi i32 [ %x, %0 ], [ %next, %latch ]
  br i1 %stop, label %exit, label %latch
latch:
  %next = add i32 %i, 256
  %few = icmp ult i32 %next, 768
  %other = add i32 %i, 1
  br i1 %few, label %loop, label %exit
exit:
  ret void
}}
!0 = !{{i32 256, i32 1, i32 1}}
"
    );
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).expect("well-formed");
    let k = session.function(module, "k").expect("defined");
    let check = |session: &Session, expected| {
        let found = mask_of(session, k, "few");
        assert_eq!(found, mask_from_scratch(session, module, "few"));
        assert_eq!(found, expected);
    };
    check(&session, "{}");
    // What repairs need is kept from the first edit on.
    let first = named(&session, k, "p0");
    let number = session.code(k).body.operands(named(&session, k, "p9"))[1];
    session.edit(k, |edit| edit.set_operand(first, 1, number)).expect("it is as good as before");
    check(&session, "{}");
    let other = named(&session, k, "other");
    session.edit(k, |edit| edit.split_before(other, "").map(drop)).expect("it can be split");
    check(&session, "{x}");
}
