//! Parts of a module written one by one, as messages and reports need them.

use crate::support;

use std::sync::Arc;

use expect_test::{Expect, expect};
use phalanx_ir::{Context, Function, InstId, Module, Type, Value};
use phalanx_llvm::{FunctionPrinter, ModulePrinter, parse_module, print_module, write_module};
use support::{Llvm, first_difference, normalized};

fn read(text: &str) -> Module {
    let parsed = parse_module(Arc::new(Context::new()), text.as_bytes());
    parsed.unwrap_or_else(|error| panic!("not read: {}", error.message)).module
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("the names are UTF-8")
}

fn insts(function: &Function) -> impl Iterator<Item = InstId> + '_ {
    function.flow.order().iter().flat_map(|&block| function.body.block_insts(block))
}

/// Arguments, blocks and instructions of each function that has a body.
fn check(source: &str, expected: &Expect) {
    let module = read(source);
    let printer = ModulePrinter::new(&module);
    let mut out = String::new();
    for function in module.functions.iter().filter(|f| !f.is_declaration()) {
        let printer = printer.function(function.view());
        for position in 0..function.header.params.len() as u32 {
            out += &format!("argument {}\n", text(|out| printer.arg(position, out)));
        }
        for &block in function.flow.order() {
            let name = text(|out| printer.block_name(block, out));
            let label = text(|out| printer.block_label(block, out));
            let operand = text(|out| printer.block_operand(block, out));
            out += &format!("block [{name}] [{label}] [{operand}]\n");
            for inst in function.body.block_insts(block) {
                out += &format!("  {}\n", text(|out| printer.inst(inst, out)));
            }
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn names_of_blocks_and_arguments() {
    check(
        r#"
define void @f(i32 %0, ptr %"a b") {
  br label %"x$ y"
"x$ y":
  br label %2
2:
  ret void
}
"#,
        &expect![[r#"
            argument i32 %0
            argument ptr %"a b"
            block [1] [1] [%1]
              br label %"x$ y"
            block [x$ y] ["x$ y"] [%"x$ y"]
              br label %2
            block [2] [2] [%2]
              ret void
        "#]],
    );
}

/// What one function mentions is numbered after what the module and the headers mention, whatever
/// other functions mention; only metadata that is passed to an intrinsic has the number it has in
/// the whole module.
#[test]
fn numbers_do_not_depend_on_other_functions() {
    check(
        r#"
define i32 @f(i32 %x) "x"="1" {
  %a = call i32 @g(i32 %x) nounwind, !foo !3
  %b = call i32 @g(i32 %x) willreturn, !foo !5
  ret i32 %a
}
define i32 @h(i32 %x) "x"="2" {
  %a = call i32 @g(i32 %x) nosync, !foo !4
  %b = call i32 @g(i32 %x) nocallback, !foo !5
  %c = call i32 @llvm.read_register.i32(metadata !6)
  %d = call i32 @g(i32 %x) #0, !foo !7
  ret i32 %b
}
declare i32 @g(i32)
declare i32 @llvm.read_register.i32(metadata)
attributes #0 = { "x"="2" }
!named = !{!2}
!2 = !{!"named"}
!3 = !{!"3"}
!4 = !{!"4"}
!5 = !{!"5"}
!6 = !{!"6"}
!7 = !{!7, !"7"}
"#,
        &expect![[r#"
            argument i32 %x
            block [0] [0] [%0]
              %a = call i32 @g(i32 %x) #2, !foo !1
              %b = call i32 @g(i32 %x) #3, !foo !2
              ret i32 %a
            argument i32 %x
            block [0] [0] [%0]
              %a = call i32 @g(i32 %x) #2, !foo !1
              %b = call i32 @g(i32 %x) #3, !foo !2
              %c = call i32 @llvm.read_register.i32(metadata !4)
              %d = call i32 @g(i32 %x) #1, !foo !4
              ret i32 %b
        "#]],
    );
}

/// Use-list orders that came with the text are kept, and the order of predecessors follows them, as
/// LLVM's does.
#[test]
fn use_list_orders() {
    let source = r#"@g = global i32 0

define ptr @f(i1 %c) {
  br i1 %c, label %p, label %q

p:                                                ; preds = %0
  br i1 %c, label %r, label %s

q:                                                ; preds = %0
  br label %r

s:                                                ; preds = %p
  br i1 %c, label %r, label %t

t:                                                ; preds = %s
  br label %r

r:                                                ; preds = %q, %t, %p, %s
  store ptr @g, ptr @g, align 8
  ret ptr @g

; uselistorder directives
  uselistorder i1 %c, { 2, 1, 0 }
  uselistorder label %r, { 1, 3, 0, 2 }
}

; uselistorder directives
uselistorder ptr @g, { 1, 2, 0 }
"#;
    let written = normalized(&print_module(&read(source)));
    assert_eq!(String::from_utf8(written).expect("ASCII"), source);
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(source.as_bytes()).expect("LLVM reads use-list orders");
        let line = b"r:                                                ; preds = %q, %t, %p, %s";
        assert!(theirs.split(|&byte| byte == b'\n').any(|l| l == line));
    }
}

/// An edit may change the uses so that an order does not fit any more. Such orders are not printed,
/// since LLVM would refuse the text.
#[test]
fn use_list_orders_that_an_edit_made_false() {
    let mut module = read(
        r#"@g = global i32 0
@h = global ptr @g

define i32 @f(i32 %x, i32 %y) {
  %a = load i32, ptr @g, align 4
  %b = add i32 %x, %x
  %c = add i32 %b, %b
  %d = add i32 %y, %y
  br label %e

e:
  switch i32 %d, label %e [
    i32 1, label %e
    i32 2, label %k
  ]

k:
  ret i32 %d
  uselistorder i32 %x, { 1, 0 }
  uselistorder i32 %y, { 1, 0 }
  uselistorder i32 %b, { 1, 0 }
  uselistorder i32 %d, { 1, 0 }
  uselistorder label %e, { 2, 1, 0 }
  uselistorder ptr @g, { 1, 0 }
}

uselistorder ptr @g, { 1, 0 }
uselistorder_bb @f, %e, { 1, 0, 2 }
"#,
    );
    let function = &mut module.functions[0];
    let ids: Vec<InstId> = insts(function).collect();
    // The load of @g and the sums %b and %c.
    for &id in ids[..3].iter().rev() {
        function.body.unlink(id);
    }
    let written = String::from_utf8(print_module(&module)).expect("ASCII");
    let orders: Vec<&str> = written.lines().filter(|line| line.contains("uselistorder")).collect();
    assert_eq!(
        orders,
        [
            "; uselistorder directives",
            "  uselistorder i32 %y, { 1, 0 }",
            "  uselistorder i32 %d, { 1, 0 }",
            "  uselistorder label %e, { 2, 1, 0 }",
            "; uselistorder directives",
            "uselistorder_bb @f, %e, { 1, 0, 2 }"
        ]
    );
    // A function alone has the same ones.
    let mut alone = Vec::new();
    ModulePrinter::new(&module).function(module.functions[0].view()).text(&mut alone);
    let alone = String::from_utf8(alone).expect("ASCII");
    let of_function: Vec<&str> =
        alone.lines().filter(|line| line.contains("uselistorder")).collect();
    assert_eq!(of_function, orders[..4]);
    if let Some(llvm) = Llvm::find() {
        llvm.rewrite(written.as_bytes()).expect("LLVM reads it");
    }
}

/// The address of a block uses the block, not its function.
#[test]
fn use_list_orders_of_the_function_of_a_block_address() {
    let source = r#"@a = global ptr blockaddress(@f, %b)

define void @g() {
  call void @f()
  call void @f()
  ret void

; uselistorder directives
  uselistorder ptr @f, { 1, 0 }
}

define void @f() {
  br label %b

b:                                                ; preds = %0
  ret void
}

; uselistorder directives
uselistorder ptr @f, { 1, 0 }
"#;
    let written = normalized(&print_module(&read(source)));
    assert_eq!(String::from_utf8(written).expect("ASCII"), source);
    if let Some(llvm) = Llvm::find() {
        llvm.rewrite(source.as_bytes()).expect("LLVM reads it");
    }
}

#[test]
fn operands_types_and_constants() {
    let module = read(
        r#"
%s = type { i32 }
@g = global %s zeroinitializer
define void @f(i32 %x) {
  %1 = add i32 %x, 7
  ret void
}
"#,
    );
    let function = &module.functions[0];
    let printer = ModulePrinter::new(&module);
    let add = insts(function).next().expect("the function has instructions");
    let seven = function.body.operands(add)[1];
    let constant = seven.as_const().expect("a number is a constant");
    assert_eq!(text(|out| printer.constant(constant, true, out)), "i32 7");
    assert_eq!(text(|out| printer.constant(constant, false, out)), "7");
    assert_eq!(text(|out| printer.type_name(module.variables[0].ty, out)), "%s");
    assert_eq!(text(|out| printer.type_name(Type::PTR3, out)), "ptr addrspace(3)");
    assert_eq!(text(|out| printer.global(module.variables[0].name, out)), "@g");
    let printer = printer.function(function.view());
    assert_eq!(text(|out| printer.operand(Value::inst(add), true, out)), "i32 %1");
    assert_eq!(text(|out| printer.operand(Value::inst(add), false, out)), "%1");
    assert_eq!(text(|out| printer.operand(seven, true, out)), "i32 7");
}

/// Erasing and adding instructions renumbers; an erased one has no number and says so.
#[test]
fn after_an_edit() {
    let mut module = read(
        "define i32 @f(i32 %0) {\n  %2 = add i32 %0, 1\n  %3 = add i32 %2, 1\n  ret i32 %3\n}\n",
    );
    let function = &mut module.functions[0];
    let ids: Vec<InstId> = insts(function).collect();
    function.body.unlink(ids[0]);
    let function = &module.functions[0];
    let printer = ModulePrinter::new(&module);
    let printer: FunctionPrinter<'_> = printer.function(function.view());
    assert_eq!(text(|out| printer.inst(ids[1], out)), "%2 = add i32 <badref>, 1");
    assert_eq!(text(|out| printer.inst(ids[2], out)), "ret i32 %2");
}

#[test]
fn a_writer_gets_the_same_text() {
    let source = "@g = global i32 1\n\ndefine void @f() {\n  ret void\n}\n\ndefine void @h() {\n  ret void\n}\n\n!named = !{!0}\n\n!0 = !{}\n";
    let module = read(source);
    let mut out = Vec::new();
    write_module(&module, &mut out).expect("a vector takes everything");
    assert_eq!(out, print_module(&module));
    assert_eq!(String::from_utf8(normalized(&out)).expect("ASCII"), source);
}

#[test]
fn errors_of_a_writer_are_handed_on() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = write_module(&read("@g = global i32 1\n"), &mut Full).expect_err("nothing fits");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

/// Nothing recurses over types, constants or metadata.
#[test]
fn deep_nesting() {
    const DEPTH: usize = 50_000;
    let (open, close) = ("{ ".repeat(DEPTH), " }".repeat(DEPTH));
    let mut constant = String::new();
    for _ in 0..DEPTH {
        constant += "getelementptr (i8, ptr ";
    }
    constant += "@a";
    constant += &", i64 ptrtoint (ptr @a to i64))".repeat(DEPTH);
    let mut source = format!("@a = global {open}i32{close} undef\n@b = global ptr {constant}\n");
    source += "\ndefine void @f() {\n  ret void, !foo !0\n}\n\n";
    for node in 0..DEPTH {
        source += &format!("!{node} = !{{!{}}}\n", node + 1);
    }
    source += &format!("!{DEPTH} = !{{}}\n");
    let written = normalized(&print_module(&read(&source)));
    assert_eq!(first_difference(&written, source.as_bytes()), None);
}

/// Numbers of all magnitudes, those included where LLVM does not round to the nearest six digits.
#[test]
fn floating_point_numbers_like_llvm() {
    let Some(llvm) = Llvm::find() else { return };
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut doubles: Vec<f64> = (1..1000).map(|n| f64::from(n) / 1000.0).collect();
    for exponent in -323..=308 {
        let digits = random() % 1_000_000;
        doubles.extend(format!("-{digits}e{}", exponent - 5).parse::<f64>());
    }
    doubles.extend((0..1000).map(|_| f64::from_bits(random())));
    doubles.extend((0..200).map(|n| f64::from_bits(random() >> (12 + n % 52))));
    let mut source = String::new();
    for (number, value) in doubles.iter().enumerate() {
        source += &format!("@d{number} = global double 0x{:016X}\n", value.to_bits());
        let single = *value as f32;
        if !single.is_nan() {
            let bits = f64::from(single).to_bits();
            source += &format!("@f{number} = global float 0x{bits:016X}\n");
        }
    }
    let theirs = llvm.rewrite(source.as_bytes()).expect("LLVM reads numbers");
    let ours = normalized(&print_module(&read(&source)));
    assert_eq!(first_difference(&ours, &theirs), None);
}
