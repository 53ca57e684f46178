//! Where `getelementptr` leads.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_simt::{Launch, Observer, Program, Value, observe::Moment, run};
use phalanx_target::Target;

/// The last number that was computed.
#[derive(Default)]
struct Last(u128);

impl Observer for Last {
    fn value(&mut self, _: Moment<'_>, value: &Value) {
        if let Value::Bits(bits) = value {
            self.0 = *bits;
        }
    }
}

/// The address that a `getelementptr` with these operands gives.
#[track_caller]
fn address(operands: &str) -> u128 {
    let text = format!(
        "target triple = \"amdgcn-amd-amdhsa\"\n\
         define amdgpu_kernel void @k() {{\n  %a = getelementptr {operands}\n  ret void\n}}\n"
    );
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = module.unwrap_or_else(|error| panic!("{error}")).module;
    let program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let mut last = Last::default();
    run(&program, "k", &Launch::default(), &mut memory, &mut last).unwrap();
    last.0
}

#[test]
fn elements_of_a_vector_are_without_gaps() {
    assert_eq!(address("<4 x i24>, ptr null, i32 0, i32 2"), 6);
    assert_eq!(address("[4 x i24], ptr null, i32 0, i32 2"), 8);
    assert_eq!(address("<4 x i24>, ptr null, i32 1, i32 1"), 19);
}

#[test]
fn indices_wider_than_addresses_wrap() {
    let most = i128::MAX;
    assert_eq!(address(&format!("[2 x i8], ptr null, i128 {most}, i128 {most}")), (1 << 64) - 3);
    assert_eq!(address(&format!("[2 x i8], ptr null, i128 {most}, i128 3")), 1);
}
