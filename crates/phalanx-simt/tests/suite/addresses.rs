//! Results of `getelementptr`.

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

/// Whether a `getelementptr` with these operands, in a kernel with objects of eight bytes, gives
/// poison.
#[track_caller]
fn is_poison(operands: &str) -> bool {
    outcome(&format!("  %a = getelementptr {operands}\n  %b = ptrtoint ptr %a to i64")).0.is_none()
}

/// The number that the last instruction of a kernel gives, and why the kernel ended early.
#[track_caller]
fn outcome(body: &str) -> (Option<u128>, Option<String>) {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\n@g = addrspace(1) global i64 0\n@h = global i64 0\n\
         define internal void @make() {{\n  %made = alloca i64\n  ret void\n}}\n\
         define ptx_kernel void @k() {{\n  %own = alloca i64\n{body}\n  ret void\n}}\n"
    );
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = module.unwrap_or_else(|error| panic!("{error}")).module;
    let program = Program::new(&module, &Target::new("nvptx64-nvidia-cuda", "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let mut watch = Latest::default();
    let result = run(&program, "k", &Launch::default(), &mut memory, &mut watch);
    (watch.0, result.err().map(|failure| failure.to_string()))
}

/// The bits of the value that was computed last, none for poison.
#[derive(Default)]
struct Latest(Option<u128>);

impl Observer for Latest {
    fn value(&mut self, _: Moment<'_>, value: &Value) {
        if *value != Value::Unit {
            self.0 = value.bits();
        }
    }
}

#[test]
fn in_bounds_is_up_to_the_end_of_an_object() {
    for object in ["@h", "%own"] {
        assert!(!is_poison(&format!("inbounds i8, ptr {object}, i64 8")));
        assert!(is_poison(&format!("inbounds i8, ptr {object}, i64 9")));
        assert!(is_poison(&format!("inbounds i8, ptr {object}, i64 -1")));
        assert!(!is_poison(&format!("i8, ptr {object}, i64 -1")));
    }
}

#[test]
fn in_bounds_holds_behind_each_step() {
    assert!(is_poison("inbounds [4 x i8], ptr @h, i64 3, i64 -8"));
    assert!(!is_poison("inbounds [4 x i8], ptr @h, i64 2, i64 -8"));
}

#[test]
fn nothing_is_out_of_bounds_of_what_does_not_move() {
    assert!(!is_poison("inbounds i64, ptr null, i64 0"));
    assert!(is_poison("inbounds i64, ptr null, i64 1"));
}

#[test]
fn code_has_no_bounds() {
    assert!(!is_poison("inbounds i8, ptr @make, i64 4"));
}

#[test]
fn freed_memory_keeps_its_bounds() {
    let far = "  %a = getelementptr inbounds i8, ptr %own, i64 9\n  %b = ptrtoint ptr %a to i64";
    assert_eq!(outcome(far).0, None);
    assert!(outcome(&format!("  call void @make()\n{far}")).0.is_some());
}

#[test]
fn offsets_without_a_sign_do_not_wrap() {
    assert!(!is_poison("nuw i8, ptr @h, i64 100"));
    assert!(is_poison("nuw i8, ptr @h, i32 -1"));
    assert!(is_poison("nuw i32, ptr null, i64 4611686018427387904"));
    assert!(!is_poison("nuw i8, ptr null, i64 -1"));
    assert!(is_poison("nuw [2 x i8], ptr null, i64 4611686018427387904, i64 -9223372036854775808"));
    assert!(is_poison("nuw i8, ptr null, i128 18446744073709551617"));
}

#[test]
fn offsets_with_a_sign_do_not_wrap() {
    assert!(!is_poison("nusw i8, ptr @h, i64 -1"));
    assert!(is_poison("nusw i8, ptr null, i64 -1"));
    assert!(is_poison("nusw i32, ptr null, i64 2305843009213693952"));
    assert!(is_poison("nusw [1 x i8], ptr null, i64 9223372036854775807, i64 1"));
    assert!(is_poison("nusw i8, ptr null, i128 18446744073709551617"));
}

#[test]
fn an_access_through_a_broken_promise_says_where_it_leads() {
    let body = "  %a = getelementptr inbounds i8, ptr addrspace(1) @g, i64 8\n  \
                %b = getelementptr inbounds i8, ptr addrspace(1) %a, i64 8\n  \
                %c = addrspacecast ptr addrspace(1) %b to ptr\n  %v = load i8, ptr %c";
    let fault = outcome(body).1.unwrap();
    let says = "`load` at a poison address: a `getelementptr` goes to global address 0x50 against its flags";
    assert!(fault.contains(says), "{fault}");
}

/// Types that nothing computes with have their sizes all the same.
#[test]
fn floats_that_are_not_interpreted_take_their_room() {
    assert_eq!(address("fp128, ptr null, i32 2"), 32);
    assert_eq!(address("{ fp128, i32 }, ptr null, i32 0, i32 1"), 16);
    assert_eq!(address("[3 x { i8, fp128 }], ptr null, i32 1, i32 1"), 128);
    assert_eq!(address("x86_fp80, ptr null, i32 1"), 16);
    assert_eq!(address("ppc_fp128, ptr null, i32 1"), 16);
    assert_eq!(address("bfloat, ptr null, i32 3"), 6);
}

/// A slot of the frame has one address in all threads, also behind an allocation of another size in
/// each.
#[test]
fn slots_are_alike_behind_allocations_that_differ() {
    #[derive(Default)]
    struct Slots(Vec<u128>);
    impl Observer for Slots {
        fn value(&mut self, at: Moment<'_>, value: &Value) {
            // The last three values of a thread: of its own allocation, and of two slots.
            if let (Value::Bits(bits), 3..) = (value, at.inst.into_raw().into_u32()) {
                self.0.push(*bits);
            }
        }
    }
    let text = "target triple = \"nvptx64-nvidia-cuda\"
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        define ptx_kernel void @k() {
          %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %m = mul i32 %t, 100
          %d = alloca i64, i32 %m
          %a = alloca i32
          %b = alloca [4 x i64]
          ret void
        }";
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = module.unwrap_or_else(|error| panic!("{error}")).module;
    let program = Program::new(&module, &Target::new("nvptx64-nvidia-cuda", "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let mut slots = Slots::default();
    let launch = Launch { block: [4, 1, 1], ..Launch::default() };
    run(&program, "k", &launch, &mut memory, &mut slots).unwrap();
    let mut distinct = slots.0.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(slots.0.len(), 8, "two slots of each of four threads");
    assert_eq!(distinct.len(), 2, "{:?}", slots.0);
}
