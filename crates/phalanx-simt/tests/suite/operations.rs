//! What single instructions give: fast-math flags, orders of lanes, addresses of blocks.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_simt::{Launch, Observer, Program, Value, observe::Moment, run};
use phalanx_target::Target;

/// The last value that was computed, as text.
#[derive(Default)]
struct Last(String);

impl Observer for Last {
    fn value(&mut self, _: Moment<'_>, value: &Value) {
        if *value != Value::Unit {
            self.0 = format!("{value:?}");
        }
    }
}

/// What the last instruction of a kernel with this body gives, or why there is no result.
fn last(body: &str) -> String {
    with_bits(body, 0)
}

/// Likewise, where frozen poison and `undef` have these bits.
fn with_bits(body: &str, bits: u128) -> String {
    let text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"\ndefine amdgpu_kernel void @k() {{\n{body}\n  ret void\n}}\n"
    );
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = module.unwrap_or_else(|error| panic!("{error}")).module;
    let mut program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    program.set_undef(bits);
    let mut memory = program.memory(0).unwrap();
    let mut last = Last::default();
    let launch = Launch { frozen: bits, ..Launch::default() };
    match run(&program, "k", &launch, &mut memory, &mut last) {
        Ok(_) => last.0,
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn promises_of_numbers_that_are_not_kept_give_poison() {
    let nan = "float 0x7FF8000000000000";
    assert_eq!(last(&format!("%a = fcmp nnan uno {nan}, 0.0")), "poison");
    assert_eq!(last(&format!("%a = fcmp uno {nan}, 0.0")), "0x1");
    assert_eq!(last(&format!("%a = fneg nnan {nan}")), "poison");
    assert_eq!(last("%a = fpext ninf float 0x7FF0000000000000 to double"), "poison");
    let lanes = "<2 x float> <float 0x7FF8000000000000, float 1.0>";
    let select = format!("%a = select nnan i1 true, {lanes}, <2 x float> zeroinitializer");
    assert_eq!(last(&select), "[poison, 0x3f800000]");
}

#[test]
fn promises_of_calls_are_of_their_arguments_too() {
    let call = |flags: &str| {
        last(&format!(
            "%a = call {flags} <2 x float> @llvm.minnum.v2f32(<2 x float> <float 0x7FF8000000000000, float 1.0>, \
             <2 x float> <float 2.0, float 3.0>)"
        ))
    };
    assert_eq!(call(""), "[0x40000000, 0x3f800000]");
    assert_eq!(call("nnan"), "[poison, 0x3f800000]");
    let sum = "call nnan float @llvm.vector.reduce.fmax.v2f32(<2 x float> <float 0x7FF8000000000000, float 1.0>)";
    assert_eq!(last(&format!("%a = {sum}")), "poison");
}

#[test]
fn lanes_change_places() {
    let call = |text: &str| last(&format!("%a = call {text}"));
    let (low, high) = ("<2 x i8> <i8 1, i8 2>", "<2 x i8> <i8 3, i8 4>");
    let all = "<4 x i8> <i8 1, i8 2, i8 3, i8 4>";
    assert_eq!(call(&format!("<2 x i8> @llvm.vector.reverse.v2i8({low})")), "[0x2, 0x1]");
    let both = format!("<4 x i8> @llvm.vector.interleave2.v4i8({low}, {high})");
    assert_eq!(call(&both), "[0x1, 0x3, 0x2, 0x4]");
    let two = format!("{{ <2 x i8>, <2 x i8> }} @llvm.vector.deinterleave2.v4i8({all})");
    assert_eq!(call(&two), "[[0x1, 0x3], [0x2, 0x4]]");
    let put = format!("<4 x i8> @llvm.vector.insert.v4i8.v2i8({all}, {high}, i64 0)");
    assert_eq!(call(&put), "[0x3, 0x4, 0x3, 0x4]");
    let taken = format!("<2 x i8> @llvm.vector.extract.v2i8.v4i8({all}, i64 2)");
    assert_eq!(call(&taken), "[0x3, 0x4]");
}

#[test]
fn a_reduction_to_the_greatest_is_nan_where_a_lane_is() {
    let call = |how: &str| {
        last(&format!(
            "%a = call float @llvm.vector.reduce.{how}.v2f32(<2 x float> <float 0x7FF8000000000000, float 1.0>)"
        ))
    };
    assert_eq!(call("fmaximum"), "0x7fc00000");
    assert_eq!(call("fminimum"), "0x7fc00000");
    assert_eq!(call("fmax"), "0x3f800000");
}

#[test]
fn jumps_to_addresses_of_blocks() {
    let jump = |to: &str| {
        last(&format!(
            "  indirectbr ptr {to}, [label %a, label %b]\n\
             a:\n  %x = add i8 0, 1\n  ret void\n\
             b:\n  %y = add i8 0, 2\n  ret void\n\
             c:\n  %z = add i8 0, 3"
        ))
    };
    assert_eq!(jump("blockaddress(@k, %a)"), "0x1");
    assert_eq!(jump("blockaddress(@k, %b)"), "0x2");
    let refused = jump("blockaddress(@k, %c)");
    assert!(refused.contains("a jump to a block that is not listed"), "{refused}");
    let poison = jump("poison");
    assert!(poison.contains("a jump to poison"), "{poison}");
}

#[test]
fn what_may_have_any_bits_has_those_of_the_launch() {
    for any in
        ["freeze <2 x i4> <i4 poison, i4 1>", "add <2 x i4> <i4 undef, i4 1>, zeroinitializer"]
    {
        assert_eq!(with_bits(&format!("%a = {any}"), 0), "[0x0, 0x1]");
        assert_eq!(with_bits(&format!("%a = {any}"), u128::MAX), "[0xf, 0x1]");
    }
    assert_eq!(with_bits("%a = select i1 true, half undef, half 0.0", 0x7_1234), "0x1234");
}
