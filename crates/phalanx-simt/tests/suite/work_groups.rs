//! Work-group functions of OpenCL C that are only declared: what each thread gets, and copies by
//! all of a workgroup.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_simt::{Arg, Failure, Launch, Program, Races, run};
use phalanx_target::Target;

/// Threads of two waves, and what each brings.
const BROUGHT: [i32; 8] = [5, -3, 12, 0, 7, 7, -8, 2];

const BEGIN: &str = "target triple = \"amdgcn-amd-amdhsa\"
@s = internal addrspace(3) global [8 x i32] undef
declare i32 @_Z19get_local_linear_idv()
declare void @_Z7barrierj(i32) convergent
declare ptr @_Z21async_work_group_copyPU3AS3iPU3AS1Kim9ocl_event(ptr addrspace(3), ptr addrspace(1), i64, ptr) convergent
declare ptr @_Z29async_work_group_strided_copyPU3AS3iPU3AS1Kimm9ocl_event(ptr addrspace(3), ptr addrspace(1), i64, i64, ptr) convergent
declare void @_Z17wait_group_eventsiPU9ocl_event(i32, ptr) convergent
";

/// A kernel that stores `%r`, computed from `%x` and the thread's number `%i`.
fn kernel(body: &str, declarations: &str) -> String {
    format!(
        "{BEGIN}{declarations}
define amdgpu_kernel void @k(ptr addrspace(1) %p) {{
  %i = call i32 @_Z19get_local_linear_idv()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %x = load i32, ptr addrspace(1) %at
{body}
  store i32 %r, ptr addrspace(1) %at
  ret void
}}
!opencl.ocl.version = !{{!0}}
!0 = !{{i32 3, i32 0}}
"
    )
}

/// What a workgroup of 4 x 2 threads in waves of four leaves, and the number of races.
fn launched(text: &str) -> Result<(Vec<i32>, usize), Failure> {
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}")).module;
    let program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let bytes: Vec<u8> = BROUGHT.iter().flat_map(|x| x.to_le_bytes()).collect();
    let buffer = memory.buffer(&bytes).unwrap();
    let launch =
        Launch { block: [4, 2, 1], wave: 4, args: vec![Arg::bits(buffer)], ..Launch::default() };
    let mut races = Races::new();
    run(&program, "k", &launch, &mut memory, &mut races)?;
    let left = memory.bytes(buffer, 32).unwrap();
    let number = |four: &[u8]| i32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    Ok((left.chunks(4).map(number).collect(), races.found().len()))
}

fn results(body: &str, declarations: &str) -> Vec<i32> {
    launched(&kernel(body, declarations)).unwrap_or_else(|failure| panic!("{failure}\n{body}")).0
}

/// The function of a name and of mangled types, called with `%x` and more arguments.
fn of(name: &str, types: &str, more: &str) -> Vec<i32> {
    let parameters: String =
        more.split(", ").filter(|more| !more.is_empty()).map(|_| ", i64").collect();
    let mangled = format!("_Z{}{name}{types}", name.len());
    let more = if more.is_empty() { String::new() } else { format!(", {more}") };
    results(
        &format!("  %r = call i32 @{mangled}(i32 %x{more}) convergent"),
        &format!("declare i32 @{mangled}(i32{parameters}) convergent"),
    )
}

#[test]
fn all_threads_as_one() {
    assert_eq!(of("work_group_reduce_add", "i", ""), [22; 8]);
    assert_eq!(of("work_group_reduce_min", "i", ""), [-8; 8]);
    assert_eq!(of("work_group_reduce_max", "j", ""), [-3; 8]);
    assert_eq!(of("work_group_all", "i", ""), [0; 8]);
    assert_eq!(of("work_group_any", "i", ""), [1; 8]);
    assert_eq!(of("work_group_broadcast", "imm", "i64 2, i64 1"), [-8; 8]);
    assert_eq!(of("work_group_broadcast", "immm", "i64 1, i64 0, i64 0"), [-3; 8]);
}

#[test]
fn threads_before_this_one() {
    let inclusive = [5, 2, 14, 14, 21, 28, 20, 22];
    assert_eq!(of("work_group_scan_inclusive_add", "i", ""), inclusive);
    let exclusive = [0, 5, 2, 14, 14, 21, 28, 20];
    assert_eq!(of("work_group_scan_exclusive_add", "i", ""), exclusive);
}

/// All threads have to stand at one call, which is a barrier as well.
#[test]
fn threads_wait_for_each_other() {
    let mangled = "_Z21work_group_reduce_addi";
    let declared = format!("declare i32 @{mangled}(i32) convergent");
    let apart = kernel(
        &format!(
            "  %c = icmp ult i32 %i, 4
  br i1 %c, label %yes, label %no
yes:
  %r1 = call i32 @{mangled}(i32 %x) convergent
  br label %end
no:
  call void @_Z7barrierj(i32 1) convergent
  br label %end
end:
  %r = phi i32 [ %r1, %yes ], [ 0, %no ]"
        ),
        &declared,
    );
    assert!(matches!(launched(&apart), Err(Failure::Hang(_))));
    let handed = |between: &str| {
        kernel(
            &format!(
                "  %own = getelementptr i32, ptr addrspace(3) @s, i32 %i
  store i32 %x, ptr addrspace(3) %own
{between}
  %j = sub i32 7, %i
  %other = getelementptr i32, ptr addrspace(3) @s, i32 %j
  %r = load i32, ptr addrspace(3) %other"
            ),
            &declared,
        )
    };
    let meeting = format!("  %sum = call i32 @{mangled}(i32 %x) convergent");
    assert_eq!(launched(&handed(&meeting)).unwrap(), ([2, -8, 7, 7, 0, 12, -3, 5].into(), 0));
    assert!(launched(&handed("")).unwrap().1 > 0);
}

/// What is copied is there once the event was waited for, and no sooner.
#[test]
fn copies_by_all_threads() {
    let waits = "  call void @_Z17wait_group_eventsiPU9ocl_event(i32 1, ptr null) convergent";
    let plain = "  %e = call ptr @_Z21async_work_group_copyPU3AS3iPU3AS1Kim9ocl_event(ptr addrspace(3) @s, ptr addrspace(1) %p, i64 8, ptr null) convergent";
    let every_other = "  %e = call ptr @_Z29async_work_group_strided_copyPU3AS3iPU3AS1Kimm9ocl_event(ptr addrspace(3) @s, ptr addrspace(1) %p, i64 4, i64 2, ptr null) convergent";
    let read = |copy: &str, wait: &str, from: &str| {
        kernel(
            &format!(
                "{copy}\n{wait}\n  %from = {from}
  %there = getelementptr i32, ptr addrspace(3) @s, i32 %from
  %r = load i32, ptr addrspace(3) %there"
            ),
            "",
        )
    };
    let found = launched(&read(plain, waits, "sub i32 7, %i")).unwrap();
    assert_eq!(found, ([2, -8, 7, 7, 0, 12, -3, 5].into(), 0));
    let found = launched(&read(every_other, waits, "and i32 %i, 3")).unwrap();
    assert_eq!(found, ([5, 12, 7, -8, 5, 12, 7, -8].into(), 0));
    assert!(launched(&read(plain, "", "sub i32 7, %i")).unwrap().1 > 0);
}
