//! Unknown values: `undef`, unwritten memory and frozen values; and promises of programs.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_llvm::parse_module;
use phalanx_simt::{Launch, Memory, Observer, Program, Value, observe::Moment, unknown::State};
use phalanx_target::Target;

#[derive(Debug)]
struct Last(Value);

impl Observer for Last {
    fn value(&mut self, _: Moment<'_>, value: &Value) {
        if *value != Value::Unit {
            self.0 = value.clone();
        }
    }
}

/// The last value of a function that follows `undef`, or what is wrong.
fn run(body: &str, follow_frozen: Option<u64>) -> String {
    let text = format!(
        "declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare void @llvm.assume(i1)
define noundef i32 @same(i32 noundef %x) {{\n ret i32 %x\n}}
define i32 @made() {{\n ret i32 undef\n}}
define void @f() {{
  %slot = alloca [4 x i8]
  %fresh = load i32, ptr %slot
{body}
  ret void
}}
!0 = !{{}}
!1 = !{{i32 0, i32 8}}
"
    );
    let module = parse_module(Arc::new(Context::new()), text.as_bytes()).unwrap().module;
    let mut program = Program::new(&module, &Target::new("", "")).unwrap();
    program.follow_undef();
    let launch = Launch { frozen: 5, follow_frozen, ..Launch::default() };
    let mut last = Last(Value::Unit);
    let mut memory = program.memory(0).unwrap();
    match phalanx_simt::run(&program, "f", &launch, &mut memory, &mut last) {
        Ok(_) => format!("{:?}", last.0),
        Err(failure) => failure.to_string().replace("thread 0: ", ""),
    }
}

fn value(body: &str) -> String {
    run(body, None)
}

#[test]
fn operations_are_as_bad_as_their_operands() {
    let all = [
        ("add i32 %fresh, 1", "undef"),
        ("add nsw i32 %fresh, 1", "poison"),
        ("add i32 %fresh, poison", "poison"),
        ("and i32 %fresh, 0", "0x0"),
        ("or i32 -1, undef", "0xffffffff"),
        ("and i32 poison, 0", "poison"),
        ("mul <2 x i32> <i32 undef, i32 undef>, <i32 0, i32 3>", "[0x0, undef]"),
        ("shl i32 1, undef", "poison"),
        ("shl i32 undef, 1", "undef"),
        ("icmp eq i32 undef, undef", "undef"),
        ("icmp samesign ult i32 undef, 1", "poison"),
        ("trunc i32 %fresh to i8", "undef"),
        ("trunc nuw i32 %fresh to i8", "poison"),
        ("zext nneg i32 %fresh to i64", "poison"),
        ("select i1 undef, i32 1, i32 1", "0x1"),
        ("select i1 undef, i32 1, i32 2", "undef"),
        ("select i1 true, i32 1, i32 undef", "0x1"),
        (
            "select <2 x i1> <i1 true, i1 undef>, <2 x i32> <i32 1, i32 1>, <2 x i32> <i32 0, i32 0>",
            "[0x1, undef]",
        ),
        ("bitcast <2 x i16> <i16 undef, i16 0> to i32", "undef"),
        ("bitcast <2 x i16> <i16 undef, i16 7> to <4 x i8>", "[undef, undef, 0x7, 0x0]"),
        ("freeze i32 undef", "0x5"),
        ("freeze <2 x i32> <i32 poison, i32 3>", "[0x5, 0x3]"),
        ("getelementptr i8, ptr null, i32 %fresh", "undef"),
        ("getelementptr nuw i8, ptr null, i32 %fresh", "poison"),
        ("call i32 @llvm.umin.i32(i32 undef, i32 1)", "undef"),
        ("call i32 @llvm.ctlz.i32(i32 undef, i1 true)", "poison"),
        ("call i32 @llvm.fshl.i32(i32 1, i32 1, i32 undef)", "undef"),
        ("insertelement <2 x i32> poison, i32 undef, i32 0", "[undef, poison]"),
        ("extractelement <2 x i32> <i32 undef, i32 1>, i32 1", "0x1"),
    ];
    for (operation, expected) in all {
        assert_eq!(value(&format!("  %v = {operation}")), expected, "{operation}");
    }
}

#[test]
fn what_depends_on_what_is_not_known_is_undefined() {
    let all = [
        ("br i1 undef, label %a, label %a\na:", "undefined behaviour: branch on undef"),
        ("br i1 poison, label %a, label %a\na:", "undefined behaviour: branch on poison"),
        ("switch i32 %fresh, label %a []\na:", "undefined behaviour: switch on undef"),
        ("%v = udiv i32 1, %fresh", "undefined behaviour: division by undef, or by what is frozen"),
        ("%v = sdiv i32 undef, -1", "undefined behaviour: division of undef that overflows"),
        ("%v = load i32, ptr undef", "undefined behaviour: `load` at a poison address"),
        (
            "%v = call i32 @same(i32 undef)",
            "undefined behaviour: an argument is not defined, against `noundef`",
        ),
        (
            "%v = call i32 @llvm.umin.i32(i32 noundef poison, i32 1)",
            "undefined behaviour: an argument is not defined, against `noundef`",
        ),
        (
            "%v = call noundef i32 @made()",
            "undefined behaviour: a result is not defined, against `noundef`",
        ),
        (
            "%v = load i32, ptr %slot, !noundef !0",
            "undefined behaviour: what is loaded is not defined, against `!noundef`",
        ),
        (
            "%c = icmp eq i32 %fresh, 0\n call void @llvm.assume(i1 %c)",
            "undefined behaviour: an assumption is not true",
        ),
    ];
    for (text, expected) in all {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn promises_that_are_broken_give_poison() {
    let loaded = |promise: &str, number: i32| {
        value(&format!("  store i32 {number}, ptr %slot\n  %v = load i32, ptr %slot, {promise}"))
    };
    assert_eq!(loaded("!range !1", 7), "0x7");
    assert_eq!(loaded("!range !1", 8), "poison");
    assert_eq!(value("  %v = load i32, ptr %slot, !range !1"), "poison");
    let null = "  store ptr null, ptr %at\n  %v = load ptr, ptr %at, !nonnull !0";
    assert_eq!(value(&format!("  %at = alloca ptr\n{null}")), "poison");
    let range = "call i32 @same(i32 range(i32 0, 4) 4)";
    assert_eq!(
        value(&format!("  %v = {range}")),
        "undefined behaviour: an argument is not defined, against `noundef`"
    );
}

#[test]
fn what_is_frozen_can_be_followed() {
    assert_eq!(run("%v = freeze i32 %fresh\n%w = add i32 %v, 1", Some(0)), "frozen");
    assert_eq!(run("%v = freeze i1 poison\n%w = or i1 %v, true", Some(0)), "0x1");
    // A branch on it goes a way that the launch chooses.
    let branch = "%v = freeze i1 undef\nbr i1 %v, label %a, label %b\na:
  %w = add i32 0, 1\n ret void\nb:\n %x = add i32 0, 2";
    assert_eq!([0, 1].map(|ways| run(branch, Some(ways))), ["0x1", "0x2"]);
    let stored = "%v = freeze i8 poison\nstore i8 %v, ptr %slot\n%w = load i8, ptr %slot";
    assert_eq!(run(stored, Some(0)), "frozen");
    assert_eq!(run(stored, None), "0x5");
}

#[test]
fn bytes_of_memory_are_followed() {
    let text = "@g = global [4 x i8] undef
define void @f() {
  %second = getelementptr i8, ptr @g, i32 1
  store i8 7, ptr %second
  %third = getelementptr i8, ptr @g, i32 2
  store i8 poison, ptr %third
  ret void
}";
    let module = parse_module(Arc::new(Context::new()), text.as_bytes()).unwrap().module;
    let mut program = Program::new(&module, &Target::new("", "")).unwrap();
    program.follow_undef();
    let states = |memory: &Memory| {
        let (address, size) = program.variable("g").unwrap();
        memory.states(address, size).unwrap().to_vec()
    };
    let mut memory = program.memory(0).unwrap();
    assert_eq!(states(&memory), [State::Undef; 4]);
    let mut last = Last(Value::Unit);
    phalanx_simt::run(&program, "f", &Launch::default(), &mut memory, &mut last).unwrap();
    assert_eq!(states(&memory), [State::Undef, State::Defined, State::Poison, State::Undef]);
}
