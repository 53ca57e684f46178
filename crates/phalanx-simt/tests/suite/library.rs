//! Sub-group functions of OpenCL C that are only declared: what each lane gets, on every target.

use std::sync::Arc;

use phalanx_ir::Context;
use phalanx_simt::{Arg, Launch, Program, Silent, run};
use phalanx_target::Target;

/// Lanes of the wave, and what each brings.
const BROUGHT: [i32; 8] = [5, -3, 12, 0, 7, 7, -8, 2];

const TARGETS: [(&str, &str, &str); 3] = [
    ("amdgcn-amd-amdhsa", "amdgpu_kernel", "amdgcn-amd-amdhsa"),
    ("nvptx64-nvidia-cuda", "ptx_kernel", "nvptx64-nvidia-cuda"),
    ("spir64-unknown-unknown", "spir_kernel", "spir64-unknown-unknown"),
];

/// What each lane of a wave of eight gets from a body that computes `%r` from `%x` and `%lane`.
fn results(body: &str, declarations: &str) -> Vec<i32> {
    let mut all: Vec<Vec<i32>> = Vec::new();
    for (triple, convention, target) in TARGETS {
        let text = format!(
            "target triple = \"{triple}\"
declare i32 @_Z22get_sub_group_local_idv()
{declarations}
define {convention} void @k(ptr addrspace(1) %p) {{
  %lane = call i32 @_Z22get_sub_group_local_idv()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %lane
  %x = load i32, ptr addrspace(1) %at
{body}
  store i32 %r, ptr addrspace(1) %at
  ret void
}}
!opencl.ocl.version = !{{!0}}
!0 = !{{i32 3, i32 0}}
"
        );
        let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
        let module = module.unwrap_or_else(|error| panic!("{error}\n{text}")).module;
        let program = Program::new(&module, &Target::new(target, "")).unwrap();
        let mut memory = program.memory(0).unwrap();
        let bytes: Vec<u8> = BROUGHT.iter().flat_map(|x| x.to_le_bytes()).collect();
        let buffer = memory.buffer(&bytes).unwrap();
        let launch = Launch {
            block: [8, 1, 1],
            wave: 8,
            args: vec![Arg::bits(buffer)],
            ..Launch::default()
        };
        run(&program, "k", &launch, &mut memory, &mut Silent)
            .unwrap_or_else(|failure| panic!("{failure}\n{text}"));
        let left = memory.bytes(buffer, 32).unwrap();
        let number = |four: &[u8]| i32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        all.push(left.chunks(4).map(number).collect());
    }
    assert!(all.iter().all(|one| *one == all[0]), "{body}: {all:?}");
    all.remove(0)
}

/// The function of a name and of mangled types, called with `%x` and more arguments.
fn of(name: &str, types: &str, more: &str) -> Vec<i32> {
    let parameters = more.split(", ").filter(|more| !more.is_empty()).map(|_| ", i32");
    let parameters: String = parameters.collect();
    let mangled = format!("_Z{}{name}{types}", name.len());
    let more = if more.is_empty() { String::new() } else { format!(", {more}") };
    results(
        &format!("  %r = call i32 @{mangled}(i32 %x{more}) convergent"),
        &format!("declare i32 @{mangled}(i32{parameters}) convergent"),
    )
}

/// What is expected of each lane.
fn each(expected: impl Fn(usize) -> i32) -> Vec<i32> {
    (0..BROUGHT.len()).map(expected).collect()
}

#[test]
fn all_lanes_as_one() {
    let all = |what: i32| each(|_| what);
    assert_eq!(of("sub_group_all", "i", ""), all(0));
    assert_eq!(of("sub_group_any", "i", ""), all(1));
    assert_eq!(of("sub_group_non_uniform_all", "i", ""), all(0));
    assert_eq!(of("sub_group_non_uniform_all_equal", "i", ""), all(0));
    assert_eq!(of("sub_group_reduce_add", "i", ""), all(22));
    assert_eq!(of("sub_group_reduce_min", "i", ""), all(-8));
    assert_eq!(of("sub_group_reduce_max", "i", ""), all(12));
    assert_eq!(of("sub_group_reduce_min", "j", ""), all(0));
    assert_eq!(of("sub_group_reduce_max", "j", ""), all(-3));
    assert_eq!(of("sub_group_non_uniform_reduce_mul", "i", ""), all(0));
    let xor = BROUGHT.iter().fold(0, |all, x| all ^ x);
    assert_eq!(of("sub_group_non_uniform_reduce_xor", "i", ""), all(xor));
    assert_eq!(of("sub_group_non_uniform_reduce_logical_and", "i", ""), all(0));
    assert_eq!(of("sub_group_non_uniform_reduce_logical_or", "i", ""), all(1));
    assert_eq!(of("sub_group_non_uniform_reduce_logical_xor", "i", ""), all(1));
    assert_eq!(of("sub_group_broadcast", "ij", "i32 2"), all(12));
    assert_eq!(of("sub_group_non_uniform_broadcast", "ij", "i32 4"), all(7));
    assert_eq!(of("sub_group_broadcast_first", "i", ""), all(5));
}

#[test]
fn lanes_below() {
    let sum = |to: usize| BROUGHT[..to].iter().sum();
    assert_eq!(of("sub_group_scan_exclusive_add", "i", ""), each(sum));
    assert_eq!(of("sub_group_scan_inclusive_add", "i", ""), each(|lane| sum(lane + 1)));
    let most = |to: usize| BROUGHT[..to].iter().copied().max().unwrap_or(i32::MIN);
    assert_eq!(of("sub_group_scan_exclusive_max", "i", ""), each(most));
    let least = |to: usize| BROUGHT[..to].iter().copied().min().unwrap_or(i32::MAX);
    assert_eq!(of("sub_group_non_uniform_scan_exclusive_min", "i", ""), each(least));
    let least = |to: usize| BROUGHT[..to].iter().map(|&x| x as u32).min().unwrap_or(u32::MAX);
    let least_unsigned = of("sub_group_scan_exclusive_min", "j", "");
    assert_eq!(least_unsigned, each(|lane| least(lane) as i32));
    let product = |to: usize| BROUGHT[..to].iter().product();
    assert_eq!(of("sub_group_non_uniform_scan_exclusive_mul", "i", ""), each(product));
    let truth = |to: usize| i32::from(BROUGHT[..to].iter().all(|&x| x != 0));
    assert_eq!(of("sub_group_non_uniform_scan_exclusive_logical_and", "i", ""), each(truth));
}

#[test]
fn lanes_of_a_cluster() {
    let four = |lane: usize| &BROUGHT[lane / 4 * 4..lane / 4 * 4 + 4];
    let sum = of("sub_group_clustered_reduce_add", "ij", "i32 4");
    assert_eq!(sum, each(|lane| four(lane).iter().sum()));
    let most = of("sub_group_clustered_reduce_max", "ij", "i32 4");
    assert_eq!(most, each(|lane| *four(lane).iter().max().expect("four")));
    let rotated = of("sub_group_clustered_rotate", "iij", "i32 3, i32 4");
    assert_eq!(rotated, each(|lane| four(lane)[(lane % 4 + 3) % 4]));
}

#[test]
fn other_lanes() {
    let at = |lane: Option<usize>, own: usize| BROUGHT[lane.filter(|&at| at < 8).unwrap_or(own)];
    let reversed = results(
        "  %other = sub i32 7, %lane
  %r = call i32 @_Z17sub_group_shuffleij(i32 %x, i32 %other) convergent",
        "declare i32 @_Z17sub_group_shuffleij(i32, i32) convergent",
    );
    assert_eq!(reversed, each(|lane| BROUGHT[7 - lane]));
    assert_eq!(of("sub_group_shuffle_xor", "ij", "i32 3"), each(|lane| BROUGHT[lane ^ 3]));
    let up = of("sub_group_shuffle_up", "ij", "i32 2");
    assert_eq!(up, each(|lane| at(lane.checked_sub(2), lane)));
    let down = of("sub_group_shuffle_down", "ij", "i32 2");
    assert_eq!(down, each(|lane| at(Some(lane + 2), lane)));
    assert_eq!(of("sub_group_rotate", "ii", "i32 3"), each(|lane| BROUGHT[(lane + 3) % 8]));
    let two = |name: &str| of(name, "iij", "i32 %lane, i32 3");
    let down = two("intel_sub_group_shuffle_down");
    assert_eq!(down, each(|lane| if lane < 5 { BROUGHT[lane + 3] } else { lane as i32 - 5 }));
    let up = two("intel_sub_group_shuffle_up");
    assert_eq!(up, each(|lane| if lane < 3 { BROUGHT[lane + 5] } else { lane as i32 - 3 }));
}

/// What is asked of a ballot of the lanes that bring an odd number: 0, 1, 4 and 5.
#[test]
fn ballots() {
    let ask = |name: &str, types: &str, more: &str, parameter: &str| {
        results(
            &format!(
                "  %odd = and i32 %x, 1
  %b = call <4 x i32> @_Z16sub_group_balloti(i32 %odd) convergent
  %r = call i32 @_Z{}{name}{types}(<4 x i32> %b{more})",
                name.len()
            ),
            &format!(
                "declare <4 x i32> @_Z16sub_group_balloti(i32) convergent
declare i32 @_Z{}{name}{types}(<4 x i32>{parameter})",
                name.len()
            ),
        )
    };
    let of = |name: &str| ask(name, "Dv4_j", "", "");
    let is_odd = |lane: usize| BROUGHT[lane] & 1;
    assert_eq!(of("sub_group_inverse_ballot"), each(is_odd));
    assert_eq!(of("sub_group_ballot_bit_count"), each(|_| 4));
    let below = |lane: usize| (0..lane).map(is_odd).sum();
    assert_eq!(of("sub_group_ballot_exclusive_scan"), each(below));
    assert_eq!(of("sub_group_ballot_inclusive_scan"), each(|lane| below(lane + 1)));
    assert_eq!(of("sub_group_ballot_find_lsb"), each(|_| 0));
    assert_eq!(of("sub_group_ballot_find_msb"), each(|_| 5));
    let extract = ask("sub_group_ballot_bit_extract", "Dv4_jj", ", i32 %lane", ", i32");
    assert_eq!(extract, each(is_odd));
}

/// Lanes are those that come: the others go another way.
#[test]
fn lanes_that_do_not_come_bring_nothing() {
    let found = results(
        "  %low = icmp ult i32 %lane, 3
  br i1 %low, label %here, label %there
here:
  %sum = call i32 @_Z32sub_group_non_uniform_reduce_addi(i32 %x) convergent
  br label %end
there:
  %first = call i32 @_Z15sub_group_electv() convergent
  br label %end
end:
  %r = phi i32 [ %sum, %here ], [ %first, %there ]",
        "declare i32 @_Z32sub_group_non_uniform_reduce_addi(i32) convergent
declare i32 @_Z15sub_group_electv() convergent",
    );
    assert_eq!(found, [14, 14, 14, 1, 0, 0, 0, 0]);
}

#[test]
fn masks_and_sizes() {
    let mask = |name: &str| {
        results(
            &format!(
                "  %m = call <4 x i32> @_Z{}{name}v()\n  %r = extractelement <4 x i32> %m, i32 0",
                name.len()
            ),
            &format!("declare <4 x i32> @_Z{}{name}v()", name.len()),
        )
    };
    assert_eq!(mask("get_sub_group_eq_mask"), each(|lane| 1 << lane));
    assert_eq!(mask("get_sub_group_lt_mask"), each(|lane| (1 << lane) - 1));
    assert_eq!(mask("get_sub_group_le_mask"), each(|lane| (2 << lane) - 1));
    assert_eq!(mask("get_sub_group_gt_mask"), each(|lane| 0xff & !((2 << lane) - 1)));
    assert_eq!(mask("get_sub_group_ge_mask"), each(|lane| 0xff & !((1 << lane) - 1)));
    let size = results(
        "  %r = call i32 @_Z18get_sub_group_sizev()",
        "declare i32 @_Z18get_sub_group_sizev()",
    );
    assert_eq!(size, each(|_| 8));
}

/// Numbers with a point: sums are rounded as such, and the first lane of a scan gets what changes
/// nothing.
#[test]
fn numbers_with_a_point() {
    let of = |name: &str| {
        let mangled = format!("_Z{}{name}f", name.len());
        results(
            &format!(
                "  %f = sitofp i32 %x to float
  %h = fmul float %f, 0.5
  %s = call float @{mangled}(float %h) convergent
  %t = fmul float %s, 2.0
  %r = fptosi float %t to i32"
            ),
            &format!("declare float @{mangled}(float) convergent"),
        )
    };
    assert_eq!(of("sub_group_reduce_add"), each(|_| 22));
    assert_eq!(of("sub_group_reduce_min"), each(|_| -8));
    let sum = |to: usize| BROUGHT[..to].iter().sum();
    assert_eq!(of("sub_group_scan_exclusive_add"), each(sum));
}
