//! What functions do through pointers to private memory of their callers.

use expect_test::{Expect, expect};
use phalanx_analysis::{code::calls::Input, lower::Numbering};
use phalanx_db::{Did, queries};
use phalanx_ir::{Opcode, Value};

use super::Module;

/// What each function does through its arguments, and what loads, calls and members of results with
/// a name of a kernel give.
fn facts(module: &Module) -> String {
    let db = &module.db;
    let mut out = String::new();
    for (name, input) in module.definitions() {
        let code = input.view(db);
        if !queries::is_kernel(db, input) {
            let summary = queries::summary(db, input);
            let Some(through) = &summary.through else {
                out.push_str(&format!("@{name}: nothing is followed\n"));
                continue;
            };
            let count = code.header.params.len();
            let followed: Vec<usize> = (0..count).filter(|&at| through.is_followed(at)).collect();
            out.push_str(&format!("@{name}: follows {followed:?}\n"));
            let of = |outcome: &phalanx_analysis::summary::Outcome| {
                let depends = through.inputs.iter().zip(&outcome.arguments);
                let depends = depends.filter(|(_, how)| !how.is_none()).map(|(input, how)| {
                    let input = match input {
                        Input::Argument(at) => format!("argument {at}"),
                        Input::Loaded(at) => format!("loads through {at}"),
                        Input::Content(part) => format!("part {part}"),
                    };
                    format!("{input} {how:?}")
                });
                format!("{} {}", outcome.sources, depends.collect::<Vec<_>>().join(", "))
            };
            for (number, part) in through.parts.iter().enumerate() {
                let range = part.range.map_or("all".into(), |(at, end)| format!("{at}..{end}"));
                let read = if part.is_read { " read" } else { "" };
                let written = match (&part.content, part.is_certain) {
                    (None, _) => String::new(),
                    (Some(content), true) => format!(" written: {}", of(content)),
                    (Some(content), false) => format!(" perhaps written: {}", of(content)),
                };
                let parameter = part.parameter;
                out.push_str(&format!("  part {number}: {parameter}[{range}]{read}{written}\n"));
            }
            if let Some(result) = &through.result {
                out.push_str(&format!("  result: {}\n", of(result)));
            }
            continue;
        }
        let answer = queries::divergence(db, input).as_ref().expect("it has a body");
        let numbering = Numbering::new(code.header);
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                let name = code.extras.names.inst(inst).unwrap_or_default();
                let opcode = code.body.inst(inst).opcode;
                let is_shown = matches!(opcode, Opcode::Call | Opcode::Load | Opcode::ExtractValue);
                if is_shown && name.starts_with(b"r") {
                    let name = String::from_utf8_lossy(name);
                    out.push_str(&format!("  %{name} {}\n", answer.value(numbering.inst(inst))));
                }
            }
        }
    }
    out
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&facts(&Module::new(text)));
}

#[test]
fn an_argument_is_written_through_a_pointer() {
    check(
        "define internal void @out(i32 %a, ptr addrspace(5) %to) {
           %s = add i32 %a, 1
           store i32 %s, ptr addrspace(5) %to
           ret void
         }
         define amdgpu_kernel void @k(i32 %n) {
           %slot = alloca { i32, i32 }, addrspace(5)
           %second = getelementptr i32, ptr addrspace(5) %slot, i32 1
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           call void @out(i32 %n, ptr addrspace(5) %slot)
           call void @out(i32 %x, ptr addrspace(5) %second)
           %r1 = load i32, ptr addrspace(5) %slot
           %r2 = load i32, ptr addrspace(5) %second
           call void @out(i32 %n, ptr addrspace(5) %second)
           %r3 = load i32, ptr addrspace(5) %second
           ret void
         }",
        &expect![[r#"
            @out: follows [1]
              part 0: 1[0..4] written: {} argument 0 plain
              %r1 {}
              %r2 {x}
              %r3 {}
        "#]],
    );
}

#[test]
fn a_write_that_not_all_threads_do() {
    check(
        "define internal void @some(i1 %when, ptr addrspace(5) %to) {
           br i1 %when, label %yes, label %no
         yes:
           store i32 1, ptr addrspace(5) %to
           br label %no
         no:
           ret void
         }
         define amdgpu_kernel void @k(i32 %n) {
           %slot = alloca i32, addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           %of.x = icmp eq i32 %x, 3
           %of.n = icmp eq i32 %n, 3
           store i32 0, ptr addrspace(5) %slot
           call void @some(i1 %of.n, ptr addrspace(5) %slot)
           %r1 = load i32, ptr addrspace(5) %slot
           call void @some(i1 %of.x, ptr addrspace(5) %slot)
           %r2 = load i32, ptr addrspace(5) %slot
           call void @some(i1 %of.n, ptr addrspace(5) %slot)
           %r3 = load i32, ptr addrspace(5) %slot
           ret void
         }",
        &expect![[r#"
            @some: follows [1]
              part 0: 1[0..4] read perhaps written: {} argument 0 plain, part 0 plain
              %r1 {}
              %r2 {x}
              %r3 {x}
        "#]],
    );
}

#[test]
fn what_is_there_is_read_and_written() {
    check(
        "define internal i32 @bump(ptr addrspace(5) %at, i32 %a) {
           %old = load i32, ptr addrspace(5) %at
           %new = add i32 %old, %a
           store i32 %new, ptr addrspace(5) %at
           ret i32 %old
         }
         define amdgpu_kernel void @k(i32 %n) {
           %slot = alloca i32, addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           store i32 %n, ptr addrspace(5) %slot
           %r1 = call i32 @bump(ptr addrspace(5) %slot, i32 %x)
           %r2 = load i32, ptr addrspace(5) %slot
           %r3 = call i32 @bump(ptr addrspace(5) %slot, i32 %n)
           ret void
         }",
        &expect![[r#"
            @bump: follows [0]
              part 0: 0[0..4] read written: {} argument 1 plain, loads through 0 plain, part 0 plain
              result: {} loads through 0 plain, part 0 plain
              %r1 {}
              %r2 {x}
              %r3 {x}
        "#]],
    );
}

#[test]
fn what_is_collapsed_on_the_way() {
    check(
        "define internal void @first(ptr addrspace(5) %at, i32 %a) {
           %old = load i32, ptr addrspace(5) %at
           %sum = add i32 %old, %a
           %one = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %sum)
           store i32 %one, ptr addrspace(5) %at
           ret void
         }
         define amdgpu_kernel void @k(i32 %n) {
           %slot = alloca { i32, i32 }, addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           store i32 %x, ptr addrspace(5) %slot
           call void @first(ptr addrspace(5) %slot, i32 %n)
           %r1 = load i32, ptr addrspace(5) %slot
           ret void
         }",
        &expect![[r#"
            @first: follows [0]
              part 0: 0[0..4] read written: {} argument 1 {"rest", "wave"}, loads through 0 {"rest", "wave"}, part 0 {"rest", "wave"}
              %r1 {opaque.wave}
        "#]],
    );
}

#[test]
fn pointers_that_are_kept_in_a_slot_of_their_own() {
    check(
        "define internal void @out(i32 %a, ptr %to) {
           %to.addr = alloca ptr, addrspace(5)
           %to.cast = addrspacecast ptr addrspace(5) %to.addr to ptr
           store ptr %to, ptr %to.cast
           %p = load ptr, ptr %to.cast
           %second = getelementptr i32, ptr %p, i32 1
           store i32 %a, ptr %second
           ret void
         }
         define internal void @twice(i32 %a, ptr %to) {
           %to.addr = alloca ptr, addrspace(5)
           store ptr %to, ptr addrspace(5) %to.addr
           store ptr null, ptr addrspace(5) %to.addr
           ret void
         }
         define amdgpu_kernel void @k(i32 %n) {
           %slot = alloca { i32, i32 }, addrspace(5)
           %flat = addrspacecast ptr addrspace(5) %slot to ptr
           store { i32, i32 } zeroinitializer, ptr %flat
           call void @out(i32 %n, ptr %flat)
           %r1 = load i32, ptr %flat
           %second = getelementptr i32, ptr %flat, i32 1
           %r2 = load i32, ptr %second
           ret void
         }",
        &expect![[r#"
            @out: follows [1]
              part 0: 1[4..8] written: {} argument 0 plain
            @twice: nothing is followed
              %r1 {}
              %r2 {}
        "#]],
    );
}

#[test]
fn two_names_for_one_object() {
    check(
        "define internal void @swap(ptr addrspace(5) %p, ptr addrspace(5) %q) {
           %a = load i32, ptr addrspace(5) %p
           %b = load i32, ptr addrspace(5) %q
           store i32 %b, ptr addrspace(5) %p
           store i32 %a, ptr addrspace(5) %q
           ret void
         }
         define amdgpu_kernel void @k(i32 %n) {
           %one = alloca { i32, i32 }, addrspace(5)
           %other = alloca i32, addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           store i32 %n, ptr addrspace(5) %one
           store i32 %x, ptr addrspace(5) %other
           call void @swap(ptr addrspace(5) %one, ptr addrspace(5) %other)
           %r1 = load i32, ptr addrspace(5) %one
           %r2 = load i32, ptr addrspace(5) %other
           %second = getelementptr i32, ptr addrspace(5) %one, i32 1
           call void @swap(ptr addrspace(5) %one, ptr addrspace(5) %second)
           %r3 = load i32, ptr addrspace(5) %second
           ret void
         }",
        &expect![[r#"
            @swap: follows [0, 1]
              part 0: 0[0..4] read written: {} loads through 1 plain, part 1 plain
              part 1: 1[0..4] read written: {} loads through 0 plain, part 0 plain
              %r1 {x}
              %r2 {}
              %r3 {opaque.thread}
        "#]],
    );
}

#[test]
fn what_is_loaded_through_other_pointers_may_be_anything() {
    check(
        "define internal void @copy(ptr addrspace(5) %to, ptr %from) {
           %a = load i32, ptr %from
           store i32 %a, ptr addrspace(5) %to
           ret void
         }
         define amdgpu_kernel void @k(ptr %p, i32 %n) {
           %slot = alloca i32, addrspace(5)
           %other = alloca i32, addrspace(5)
           %flat = addrspacecast ptr addrspace(5) %other to ptr
           store i32 %n, ptr %flat
           call void @copy(ptr addrspace(5) %slot, ptr %flat)
           %r1 = load i32, ptr addrspace(5) %slot
           call void @copy(ptr addrspace(5) %slot, ptr %p)
           %r2 = load i32, ptr addrspace(5) %slot
           ret void
         }",
        &expect![[r#"
            @copy: follows [0, 1]
              part 0: 0[0..4] written: {} loads through 1 plain, part 1 plain
              part 1: 1[0..4] read
              %r1 {}
              %r2 {opaque.thread}
        "#]],
    );
}

#[test]
fn pointers_that_somebody_keeps_are_not_followed() {
    check(
        "declare void @unknown(ptr addrspace(5))
         define internal void @stores(ptr addrspace(5) %p, ptr addrspace(1) %to) {
           store ptr addrspace(5) %p, ptr addrspace(1) %to
           ret void
         }
         define internal ptr addrspace(5) @returns(ptr addrspace(5) %p) {
           ret ptr addrspace(5) %p
         }
         define internal void @passes(ptr addrspace(5) %p) {
           call void @unknown(ptr addrspace(5) %p)
           ret void
         }
         define internal i64 @counts(ptr addrspace(5) %p) {
           %n = ptrtoint ptr addrspace(5) %p to i64
           ret i64 %n
         }
         define internal void @hands.on(ptr addrspace(5) %p) {
           call void @passes(ptr addrspace(5) %p)
           ret void
         }
         define weak void @another_may_come(ptr addrspace(5) %p) {
           ret void
         }",
        &expect![[r#"
            @stores: nothing is followed
            @returns: nothing is followed
            @passes: nothing is followed
            @counts: nothing is followed
            @hands.on: nothing is followed
            @another_may_come: nothing is followed
        "#]],
    );
}

#[test]
fn pointers_are_not_followed_round_a_recursion() {
    check(
        "define internal void @down(ptr addrspace(5) %p, i32 %n) {
           store i32 %n, ptr addrspace(5) %p
           call void @down(ptr addrspace(5) %p, i32 %n)
           ret void
         }
         define internal void @over(ptr addrspace(5) %p, i32 %n) {
           store i32 %n, ptr addrspace(5) %p
           call void @down(ptr addrspace(5) null, i32 %n)
           call void @over(ptr addrspace(5) null, i32 %n)
           ret void
         }",
        &expect![[r#"
            @down: nothing is followed
            @over: follows [0]
              part 0: 0[0..4] written: {} argument 1 plain
        "#]],
    );
}

#[test]
fn threads_that_return_apart_hold_different_contents() {
    check(
        "define internal void @apart(i1 %c, ptr addrspace(5) %to) {
           br i1 %c, label %yes, label %no
         yes:
           store i32 1, ptr addrspace(5) %to
           ret void
         no:
           store i32 2, ptr addrspace(5) %to
           ret void
         }
         define internal void @alike(i1 %c, ptr addrspace(5) %to) {
           store i32 1, ptr addrspace(5) %to
           br i1 %c, label %yes, label %no
         yes:
           ret void
         no:
           ret void
         }",
        &expect![[r#"
            @apart: follows [1]
              part 0: 1[0..4] written: {} argument 0 plain
            @alike: follows [1]
              part 0: 1[0..4] written: {} 
        "#]],
    );
}

#[test]
fn a_place_that_is_not_known() {
    check(
        "define internal void @at(ptr addrspace(5) %row, i32 %i) {
           %p = getelementptr i32, ptr addrspace(5) %row, i32 %i
           store i32 1, ptr addrspace(5) %p
           ret void
         }
         define internal void @one(ptr addrspace(5) %p) {
           store i32 1, ptr addrspace(5) %p
           ret void
         }
         define amdgpu_kernel void @k(i32 %n) {
           %row = alloca [4 x i32], addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           call void @llvm.memset.p5.i64(ptr addrspace(5) %row, i8 0, i64 16, i1 false)
           call void @at(ptr addrspace(5) %row, i32 %n)
           %r1 = load i32, ptr addrspace(5) %row
           %p = getelementptr i32, ptr addrspace(5) %row, i32 %n
           call void @one(ptr addrspace(5) %p)
           %r2 = load i32, ptr addrspace(5) %row
           %q = getelementptr i32, ptr addrspace(5) %row, i32 %x
           call void @one(ptr addrspace(5) %q)
           %r3 = load i32, ptr addrspace(5) %row
           ret void
         }",
        &expect![[r#"
            @at: follows [0]
              part 0: 0[all] read perhaps written: {} argument 1 plain, part 0 plain
            @one: follows [0]
              part 0: 0[0..4] written: {} 
              %r1 {}
              %r2 {}
              %r3 {x}
        "#]],
    );
}

/// A structure built from private memory has one outcome as a whole, unless more is known about a
/// member.
#[test]
fn structures_are_made_of_what_is_pointed_to() {
    check(
        "define internal { i32, i32 } @copied(ptr addrspace(5) %from) {
           %slot = alloca { i32, i32 }, addrspace(5)
           %v = load i32, ptr addrspace(5) %from
           store i32 %v, ptr addrspace(5) %slot
           %all = load { i32, i32 }, ptr addrspace(5) %slot
           ret { i32, i32 } %all
         }
         define internal { i32, i32 } @put(i32 %a, ptr addrspace(5) %from) {
           %v = load i32, ptr addrspace(5) %from
           %first = insertvalue { i32, i32 } poison, i32 %a, 0
           %both = insertvalue { i32, i32 } %first, i32 %v, 1
           ret { i32, i32 } %both
         }
         define amdgpu_kernel void @k(i32 %n) {
           %slot = alloca i32, addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           store i32 %n, ptr addrspace(5) %slot
           %r1 = call { i32, i32 } @copied(ptr addrspace(5) %slot)
           %r2 = extractvalue { i32, i32 } %r1, 0
           store i32 %x, ptr addrspace(5) %slot
           %r3 = call { i32, i32 } @copied(ptr addrspace(5) %slot)
           %r4 = extractvalue { i32, i32 } %r3, 0
           %r5 = call { i32, i32 } @put(i32 %n, ptr addrspace(5) %slot)
           %r6 = extractvalue { i32, i32 } %r5, 0
           %r7 = extractvalue { i32, i32 } %r5, 1
           ret void
         }",
        &expect![[r#"
            @copied: follows [0]
              part 0: 0[0..4] read
              result: {} loads through 0 plain, part 0 plain
            @put: follows [1]
              part 0: 1[0..4] read
              result: {} argument 0 plain, loads through 1 plain, part 0 plain
              %r1 {}
              %r2 {}
              %r3 {x}
              %r4 {x}
              %r5 {x}
              %r6 {}
              %r7 {x}
        "#]],
    );
}

/// The functions that were analysed again after an edit.
fn divergences(module: &Module) -> Vec<String> {
    for (_, input) in module.definitions() {
        queries::divergence(&module.db, input);
    }
    let log = module.db.take_log().into_iter();
    let ran = log.filter(|entry| entry.did == Did::Run && entry.query == "divergence");
    let mut names: Vec<String> = ran
        .filter_map(|entry| {
            let mut all = module.definitions().into_iter();
            all.find(|(_, input)| input.id() == entry.key).map(|(name, _)| name)
        })
        .collect();
    names.sort();
    names
}

#[test]
fn an_equal_summary_stops_an_edit() {
    let mut module = Module::new(
        "define internal void @out(i32 %a, i32 %b, ptr addrspace(5) %to) {
           %s = add i32 %a, 1
           %t = add i32 %s, %a
           store i32 %t, ptr addrspace(5) %to
           ret void
         }
         define amdgpu_kernel void @k(i32 %n) {
           %slot = alloca i32, addrspace(5)
           %x = call i32 @llvm.amdgcn.workitem.id.x()
           call void @out(i32 %n, i32 %x, ptr addrspace(5) %slot)
           %r = load i32, ptr addrspace(5) %slot
           ret void
         }",
    );
    divergences(&module);
    let out = module.function("out");
    let code = out.view(&module.db);
    let entry = code.flow.entry().expect("it has a body");
    let sums: Vec<_> = code.body.block_insts(entry).take(2).collect();
    let mut edited = |inst, operand| {
        let edit = module.db.edit(out, |edit| edit.set_operand(inst, 1, operand));
        edit.expect("it is well-formed");
        divergences(&module)
    };
    // An edited part has low durability, and its readers see that as a change.
    edited(sums[0], Value::arg(1));
    edited(sums[0], Value::arg(0));
    assert_eq!(edited(sums[1], Value::inst(sums[0])), ["out"]);
    assert_eq!(edited(sums[1], Value::arg(1)), ["k", "out"]);
    assert!(facts(&module).ends_with("%r {x}\n"));
}
