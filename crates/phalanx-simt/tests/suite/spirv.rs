//! SPIR-V's functions among threads, compared with OpenCL's functions of the same meaning, and
//! accesses of memory by several lanes.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_simt::{Arg, Failure, Launch, Program, Races, run};
use phalanx_target::Target;

/// Threads of two waves of four, and what each brings.
const BROUGHT: [i32; 8] = [5, -3, 12, 0, 7, 7, -8, 2];

/// A kernel that stores `%r`, computed from `%x` and the thread's number `%i`.
fn kernel(body: &str, declarations: &str) -> String {
    format!(
        "target triple = \"spirv64-unknown-unknown\"
@s = internal addrspace(3) global [16 x i32] undef
declare i32 @_Z19get_local_linear_idv()
declare void @_Z7barrierj(i32) convergent
{declarations}
define spir_kernel void @k(ptr addrspace(1) %p) {{
  %i = call i32 @_Z19get_local_linear_idv()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %x = load i32, ptr addrspace(1) %at
  call void @_Z7barrierj(i32 2) convergent
{body}
  store i32 %r, ptr addrspace(1) %at
  ret void
}}
"
    )
}

/// What a workgroup of 4 x 2 threads leaves, and the number of races.
fn launched(text: &str) -> Result<(Vec<i32>, usize), Failure> {
    launched_in_waves(4, text)
}

fn launched_in_waves(wave: u32, text: &str) -> Result<(Vec<i32>, usize), Failure> {
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}")).module;
    let program = Program::new(&module, &Target::new("spirv64-unknown-unknown", "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let bytes: Vec<u8> = BROUGHT.iter().flat_map(|x| x.to_le_bytes()).collect();
    let buffer = memory.buffer(&bytes).unwrap();
    let launch =
        Launch { block: [4, 2, 1], wave, args: vec![Arg::bits(buffer)], ..Launch::default() };
    let mut races = match program.has_narrow_scopes() {
        true => Races::with_scopes(),
        false => Races::new(),
    };
    run(&program, "k", &launch, &mut memory, &mut races)?;
    let left = memory.bytes(buffer, 32).unwrap();
    let number = |four: &[u8]| i32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    Ok((left.chunks(4).map(number).collect(), races.found().len()))
}

/// The function called as written, `type @name(type value, ..)`, with `types` mangled.
fn result(ty: &str, name: &str, types: &str, args: &str, ready: &str, after: &str) -> Vec<i32> {
    let text = called(ty, name, types, args, ready, after);
    launched(&text).unwrap_or_else(|failure| panic!("{name}: {failure}")).0
}

fn called(ty: &str, name: &str, types: &str, args: &str, ready: &str, after: &str) -> String {
    let mangled = format!("_Z{}{name}{types}", name.len());
    let parameters: Vec<&str> =
        args.split(", ").map(|arg| arg.rsplit_once(' ').map_or("", |(ty, _)| ty)).collect();
    let declared = format!("declare {ty} @{mangled}({}) convergent", parameters.join(", "));
    let body = format!("{ready}\n  %g = call {ty} @{mangled}({args}) convergent\n{after}");
    kernel(&body, &declared)
}

/// The result of a function that gives a number.
fn number(name: &str, types: &str, args: &str) -> Vec<i32> {
    result("i32", name, types, args, "", "  %r = add i32 %g, 0")
}

/// The result of SPIR-V's function that gives a truth, and takes one.
fn truth(name: &str, args: &str) -> Vec<i32> {
    let ready = "  %b = icmp ne i32 %x, 0";
    result("i1", name, "ib", args, ready, "  %r = zext i1 %g to i32")
}

#[test]
fn combinations_are_those_of_opencl() {
    let forms = [
        ("IAdd", "add", "i"),
        ("SMin", "min", "i"),
        ("SMax", "max", "i"),
        ("UMin", "min", "j"),
        ("UMax", "max", "j"),
        ("IMul", "mul", "i"),
        ("BitwiseAnd", "and", "i"),
        ("BitwiseOr", "or", "i"),
        ("BitwiseXor", "xor", "i"),
    ];
    let kinds = [(0, "reduce"), (1, "scan_inclusive"), (2, "scan_exclusive")];
    for (op, plain, ty) in forms {
        for (number_of, kind) in kinds {
            let args = format!("i32 3, i32 {number_of}, i32 %x");
            let given = number(&format!("__spirv_GroupNonUniform{op}"), &format!("ii{ty}"), &args);
            let wanted = number(&format!("sub_group_{kind}_{plain}"), ty, "i32 %x");
            assert_eq!(given, wanted, "{op} {kind}");
        }
        let clustered = "i32 3, i32 3, i32 %x, i32 2";
        let given = number(&format!("__spirv_GroupNonUniform{op}"), &format!("ii{ty}j"), clustered);
        let name = format!("sub_group_clustered_reduce_{plain}");
        assert_eq!(given, number(&name, &format!("{ty}j"), "i32 %x, i32 2"), "{op} of clusters");
    }
    for (op, plain, ty) in &forms[..5] {
        for (number_of, kind) in kinds {
            for (scope, group) in [(2, "work_group"), (3, "sub_group")] {
                let args = format!("i32 {scope}, i32 {number_of}, i32 %x");
                let given = number(&format!("__spirv_Group{op}"), &format!("ii{ty}"), &args);
                let wanted = number(&format!("{group}_{kind}_{plain}"), ty, "i32 %x");
                assert_eq!(given, wanted, "{op} {group}_{kind}");
            }
        }
    }
    // The sum of three of the four that come before, in each wave.
    let exclusive = number("__spirv_GroupNonUniformIAdd", "iii", "i32 3, i32 2, i32 %x");
    assert_eq!(exclusive, [0, 5, 2, 14, 0, 7, 14, 6]);
}

#[test]
fn truths_of_groups() {
    assert_eq!(truth("__spirv_GroupAll", "i32 2, i1 %b"), [0; 8]);
    assert_eq!(truth("__spirv_GroupAny", "i32 2, i1 %b"), [1; 8]);
    assert_eq!(truth("__spirv_GroupAll", "i32 3, i1 %b"), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(truth("__spirv_GroupNonUniformAll", "i32 3, i1 %b"), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(truth("__spirv_GroupNonUniformAny", "i32 3, i1 %b"), [1; 8]);
    assert_eq!(truth("__spirv_GroupNonUniformAllEqual", "i32 3, i1 %b"), [0, 0, 0, 0, 1, 1, 1, 1]);
    let elect =
        result("i1", "__spirv_GroupNonUniformElect", "i", "i32 3", "", "  %r = zext i1 %g to i32");
    assert_eq!(elect, [1, 0, 0, 0, 1, 0, 0, 0]);
    let xor = truth("__spirv_GroupNonUniformLogicalXor", "i32 3, i32 1, i1 %b");
    assert_eq!(xor, [1, 0, 1, 1, 1, 0, 1, 0]);
}

#[test]
fn lanes_read_lanes() {
    let read = |name: &str, args: &str| number(&format!("__spirv_{name}"), "iii", args);
    let own = BROUGHT.to_vec();
    let of = |lane: &dyn Fn(usize) -> usize| -> Vec<i32> {
        (0..8).map(|i| BROUGHT[i / 4 * 4 + lane(i % 4)]).collect()
    };
    let reversed = "  %j = sub i32 3, %i\n  %k = and i32 %j, 3";
    let shuffled = result(
        "i32",
        "__spirv_GroupNonUniformShuffle",
        "iii",
        "i32 3, i32 %x, i32 %k",
        reversed,
        "  %r = add i32 %g, 0",
    );
    assert_eq!(shuffled, of(&|lane| 3 - lane));
    assert_eq!(read("GroupNonUniformShuffleXor", "i32 3, i32 %x, i32 2"), of(&|lane| lane ^ 2));
    // A lane without a source keeps its own.
    let up = read("GroupNonUniformShuffleUp", "i32 3, i32 %x, i32 1");
    assert_eq!(up, of(&|lane| lane.saturating_sub(1)));
    let down = read("GroupNonUniformShuffleDown", "i32 3, i32 %x, i32 1");
    assert_eq!(down, of(&|lane| (lane + 1).min(3)));
    let rotated = read("GroupNonUniformRotateKHR", "i32 3, i32 %x, i32 1");
    assert_eq!(rotated, of(&|lane| (lane + 1) % 4));
    let pairs = "i32 3, i32 %x, i32 1, i32 2";
    assert_eq!(read("GroupNonUniformRotateKHR", pairs), of(&|lane| lane ^ 1));
    assert_eq!(read("GroupNonUniformBroadcast", "i32 3, i32 %x, i32 2"), of(&|_| 2));
    assert_eq!(read("GroupNonUniformBroadcastFirst", "i32 3, i32 %x"), of(&|_| 0));
    assert_eq!(read("GroupBroadcast", "i32 3, i32 %x, i32 2"), of(&|_| 2));
    // The thread (2, 1) of the workgroup.
    let pair = "  %v0 = insertelement <2 x i64> poison, i64 2, i32 0
  %v = insertelement <2 x i64> %v0, i64 1, i32 1";
    let args = "i32 2, i32 %x, <2 x i64> %v";
    let there =
        result("i32", "__spirv_GroupBroadcast", "iiDv2_m", args, pair, "  %r = add i32 %g, 0");
    assert_eq!(there, [-8; 8]);
    assert_eq!(read("SubgroupShuffleINTEL", "i32 %x, i32 1"), of(&|_| 1));
    assert_eq!(read("SubgroupShuffleXorINTEL", "i32 %x, i32 1"), of(&|lane| lane ^ 1));
    assert_eq!(read("SubgroupShuffleUpINTEL", "i32 %x, i32 %x, i32 0"), own);
    let wrapped = read("SubgroupShuffleDownINTEL", "i32 %x, i32 %x, i32 1");
    assert_eq!(wrapped, of(&|lane| (lane + 1) % 4));
}

/// Two quads in one wave of eight.
#[test]
fn quads() {
    let number = |name: &str, args: &str| {
        let name = format!("__spirv_GroupNonUniformQuad{name}");
        let text = called("i32", &name, "iii", args, "", "  %r = add i32 %g, 0");
        launched_in_waves(8, &text).unwrap().0
    };
    let of = |lane: &dyn Fn(usize) -> usize| -> Vec<i32> {
        (0..8).map(|i| BROUGHT[i / 4 * 4 + lane(i % 4)]).collect()
    };
    assert_eq!(number("Broadcast", "i32 3, i32 %x, i32 1"), of(&|_| 1));
    for direction in 0..3 {
        let swapped = number("Swap", &format!("i32 3, i32 %x, i32 {direction}"));
        assert_eq!(swapped, of(&|lane| lane ^ (direction + 1)), "direction {direction}");
    }
    let truth = |name: &str, above: i32| {
        let name = format!("__spirv_GroupNonUniformQuad{name}KHR");
        let ready = format!("  %b = icmp sgt i32 %x, {above}");
        let text = called("i1", &name, "b", "i1 %b", &ready, "  %r = zext i1 %g to i32");
        launched_in_waves(8, &text).unwrap().0
    };
    assert_eq!(truth("All", -9), [1; 8]);
    assert_eq!(truth("All", -4), [1, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(truth("Any", 8), [1, 1, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn ballots_and_what_is_asked_of_them() {
    let ready = "  %b = icmp sgt i32 %x, 2
  %v = call <4 x i32> @_Z29__spirv_GroupNonUniformBallotib(i32 3, i1 %b) convergent";
    let asked = |ty: &str, name: &str, args: &str| {
        let name = format!("__spirv_GroupNonUniform{name}");
        let mangled = format!("_Z{}{name}ii", name.len());
        let parameters: Vec<&str> =
            args.split(", ").map(|arg| arg.rsplit_once(' ').map_or("", |(ty, _)| ty)).collect();
        let widened = match ty {
            "i1" => "  %r = zext i1 %g to i32",
            _ => "  %r = add i32 %g, 0",
        };
        let declared = format!(
            "declare <4 x i32> @_Z29__spirv_GroupNonUniformBallotib(i32, i1) convergent
declare {ty} @{mangled}({}) convergent",
            parameters.join(", ")
        );
        let body = format!("{ready}\n  %g = call {ty} @{mangled}({args}) convergent\n{widened}");
        launched(&kernel(&body, &declared)).unwrap().0
    };
    // Lanes 0 and 2, and lanes 0 and 1, bring more than 2.
    let v = "<4 x i32> %v";
    assert_eq!(asked("i1", "InverseBallot", &format!("i32 3, {v}")), [1, 0, 1, 0, 1, 1, 0, 0]);
    let extract = asked("i1", "BallotBitExtract", &format!("i32 3, {v}, i32 2"));
    assert_eq!(extract, [1, 1, 1, 1, 0, 0, 0, 0]);
    let count = |op: u32| asked("i32", "BallotBitCount", &format!("i32 3, i32 {op}, {v}"));
    assert_eq!(count(0), [2; 8]);
    assert_eq!(count(1), [1, 1, 2, 2, 1, 2, 2, 2]);
    assert_eq!(count(2), [0, 1, 1, 2, 0, 1, 2, 2]);
    let last = asked("i32", "BallotFindMSB", &format!("i32 3, {v}"));
    assert_eq!(last, [2, 2, 2, 2, 1, 1, 1, 1]);
    assert_eq!(asked("i32", "BallotFindLSB", &format!("i32 3, {v}")), [0; 8]);
}

/// Atomics of all threads on one place: no update is lost, and none races.
#[test]
fn atomics_of_all_threads() {
    let updated = |name: &str, args: &str, first: &str| {
        let mangled = format!("_Z{}{name}PU3AS3iiii", name.len());
        let parameters = args.split(", ").map(|arg| arg.rsplit_once(' ').map_or("", |(ty, _)| ty));
        let parameters: Vec<&str> = parameters.collect();
        let declared = format!("declare i32 @{mangled}({})", parameters.join(", "));
        let body = format!(
            "  store i32 {first}, ptr addrspace(3) @s
  call void @_Z7barrierj(i32 1) convergent
  %old = call i32 @{mangled}({args})
  call void @_Z7barrierj(i32 1) convergent
  %r = load i32, ptr addrspace(3) @s"
        );
        // All threads store the first number: not what is looked at here.
        let body = body.replacen(
            "  store",
            "  %c = icmp eq i32 %i, 0\n  br i1 %c, label %one, label %all\none:\n  store",
            1,
        );
        let body = body.replacen("  call void @_Z7", "  br label %all\nall:\n  call void @_Z7", 1);
        let (left, races) = launched(&kernel(&body, &declared)).unwrap();
        assert_eq!(races, 0, "{name}");
        left
    };
    let of =
        |name: &str, first: &str| updated(name, "ptr addrspace(3) @s, i32 2, i32 8, i32 %x", first);
    assert_eq!(of("__spirv_AtomicIAdd", "100"), [122; 8]);
    assert_eq!(of("__spirv_AtomicISub", "100"), [78; 8]);
    assert_eq!(of("__spirv_AtomicSMin", "1"), [-8; 8]);
    assert_eq!(of("__spirv_AtomicSMax", "1"), [12; 8]);
    assert_eq!(of("__spirv_AtomicUMax", "1"), [-3; 8]);
    assert_eq!(of("__spirv_AtomicOr", "0"), [-1; 8]);
    assert_eq!(
        updated("__spirv_AtomicIIncrement", "ptr addrspace(3) @s, i32 2, i32 8", "3"),
        [11; 8]
    );
    // The first that comes finds 3, and stores 5; none finds 3 after that.
    let once = "ptr addrspace(3) @s, i32 2, i32 8, i32 8, i32 5, i32 3";
    assert_eq!(updated("__spirv_AtomicCompareExchange", once, "3"), [5; 8]);
    // Only the wave is in its reach: the other wave's updates race.
    let narrow = kernel(
        "  %old = call i32 @_Z18__spirv_AtomicIAddPU3AS3iiii(ptr addrspace(3) @s,
    i32 3, i32 8, i32 %x)
  %r = add i32 %x, 0",
        "declare i32 @_Z18__spirv_AtomicIAddPU3AS3iiii(ptr addrspace(3), i32, i32, i32)",
    );
    assert!(launched(&narrow).unwrap().1 > 0);
}

/// Copies with strides, of lines, and of planes; no thread reads before it has waited.
#[test]
fn copies_by_all_threads() {
    let event = "call ptr";
    let wait =
        "  call void @_Z23__spirv_GroupWaitEventsiiP9ocl_event(i32 2, i32 1, ptr null) convergent";
    let copied = |name: &str, types: &str, args: &str| {
        let mangled = format!("_Z{}{name}{types}", name.len());
        let parameters = args.split(", ").map(|arg| arg.rsplit_once(' ').map_or("", |(ty, _)| ty));
        let parameters: Vec<&str> = parameters.collect();
        let declared = format!(
            "declare ptr @{mangled}({}) convergent
declare void @_Z23__spirv_GroupWaitEventsiiP9ocl_event(i32, i32, ptr) convergent",
            parameters.join(", ")
        );
        let body = |wait: &str| {
            format!(
                "  %e = {event} @{mangled}({args}) convergent
{wait}
  %there = getelementptr i32, ptr addrspace(3) @s, i32 %i
  %r = load i32, ptr addrspace(3) %there"
            )
        };
        assert!(launched(&kernel(&body(""), &declared)).unwrap().1 > 0, "{name}: no race");
        let (left, races) = launched(&kernel(&body(wait), &declared)).unwrap();
        assert_eq!(races, 0, "{name}");
        left
    };
    let strided = copied(
        "__spirv_GroupAsyncCopy",
        "iPU3AS3iPU3AS1Kimm9ocl_event",
        "i32 2, ptr addrspace(3) @s, ptr addrspace(1) %p, i64 4, i64 2, ptr null",
    );
    assert_eq!(strided[..4], [5, 12, 7, -8]);
    // Two lines of two elements, of which the first is the second of four; here three apart.
    let lines = copied(
        "async_work_group_copy_2D2D",
        "PU3AS3vmPU3AS1KvmmmmmmP9ocl_event",
        "ptr addrspace(3) @s, i64 0, ptr addrspace(1) %p, i64 1, i64 4, i64 2, i64 2, \
         i64 4, i64 3, ptr null",
    );
    assert_eq!([&lines[..2], &lines[3..5]].concat(), [-3, 12, 7, -8]);
    // Two planes of one line of two elements.
    let planes = copied(
        "async_work_group_copy_3D3D",
        "PU3AS3vmPU3AS1KvmmmmmmmmmP9ocl_event",
        "ptr addrspace(3) @s, i64 0, ptr addrspace(1) %p, i64 0, i64 4, i64 2, i64 1, \
         i64 2, i64 2, i64 4, i64 2, i64 2, ptr null",
    );
    assert_eq!(planes[..4], [5, -3, 7, 7]);
}

/// A copy of more than memory holds ends, with a fault.
#[test]
fn copies_have_an_end() {
    let mangled = "_Z26async_work_group_copy_2D2DPU3AS3vmPU3AS1KvmmmmmmP9ocl_event";
    let body = format!(
        "  %e = call ptr @{mangled}(ptr addrspace(3) @s, i64 0, ptr addrspace(1) %p, i64 0,
    i64 1, i64 1, i64 -1, i64 0, i64 0, ptr null) convergent
  %r = add i32 %x, 0"
    );
    let declared = format!(
        "declare ptr @{mangled}(ptr addrspace(3), i64, ptr addrspace(1), i64, i64, i64, i64, i64, \
         i64, ptr) convergent"
    );
    assert!(matches!(launched(&kernel(&body, &declared)), Err(Failure::Fault(_))));
}

/// Each lane reads and writes places of its own, a wave apart.
#[test]
fn blocks_of_lanes() {
    let body = "  %own = getelementptr i32, ptr addrspace(3) @s, i32 %i
  store i32 %x, ptr addrspace(3) %own
  call void @_Z7barrierj(i32 1) convergent
  %v = call <2 x i32> @_Z30__spirv_SubgroupBlockReadINTELPU3AS3Kj(ptr addrspace(3) @s) convergent
  %a = extractelement <2 x i32> %v, i32 0
  %b = extractelement <2 x i32> %v, i32 1
  %ten = mul i32 %a, 10
  %r = add i32 %ten, %b";
    let declared = "declare <2 x i32> @_Z30__spirv_SubgroupBlockReadINTELPU3AS3Kj(
    ptr addrspace(3)) convergent";
    let (left, races) = launched(&kernel(body, declared)).unwrap();
    // Lane 1 of both waves reads the second and the sixth.
    assert_eq!((left, races), (vec![57, -23, 112, 2, 57, -23, 112, 2], 0));
    let body = "  %c = icmp ult i32 %i, 4
  br i1 %c, label %write, label %all
write:
  call void @_Z27intel_sub_group_block_writePU3AS3jj(ptr addrspace(3) @s, i32 %x) convergent
  br label %all
all:
  call void @_Z7barrierj(i32 1) convergent
  %k = and i32 %i, 3
  %there = getelementptr i32, ptr addrspace(3) @s, i32 %k
  %r = load i32, ptr addrspace(3) %there";
    let declared =
        "declare void @_Z27intel_sub_group_block_writePU3AS3jj(ptr addrspace(3), i32) convergent";
    let (left, races) = launched(&kernel(body, declared)).unwrap();
    assert_eq!((left, races), (vec![5, -3, 12, 0, 5, -3, 12, 0], 0));
}

/// A scope that is no number, or has no meaning, is refused by the function's name.
#[test]
fn other_scopes_are_refused() {
    for scope in ["%x", "1", "4"] {
        let body = format!(
            "  %r = call i32 @_Z17__spirv_GroupIAddiii(i32 {scope}, i32 0, i32 %x) convergent"
        );
        let declared = "declare i32 @_Z17__spirv_GroupIAddiii(i32, i32, i32) convergent";
        let failure = launched(&kernel(&body, declared)).unwrap_err().to_string();
        assert!(failure.contains("__spirv_GroupIAdd"), "{failure}");
    }
}
