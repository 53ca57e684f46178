//! Claims about random functions of the position in the launch, checked against all threads of many
//! workgroups.

use super::masks;
use phalanx::prelude::*;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use std::fmt::Write as _;

const SIZES: &[[u32; 3]] = &[
    [32, 1, 1],
    [64, 1, 1],
    [96, 1, 1],
    [128, 1, 1],
    [256, 1, 1],
    [512, 1, 1],
    [1024, 1, 1],
    [1, 1, 1],
    [7, 1, 1],
    [33, 1, 1],
    [48, 1, 1],
    [100, 1, 1],
    [32, 8, 1],
    [64, 4, 1],
    [96, 2, 1],
    [16, 16, 1],
    [48, 2, 1],
    [33, 2, 1],
    [8, 8, 1],
    [1, 64, 1],
    [8, 32, 1],
    [128, 2, 1],
    [5, 13, 1],
    [64, 1, 4],
    [1, 1, 64],
    [8, 4, 2],
    [16, 8, 2],
    [32, 2, 2],
    [4, 4, 4],
    [3, 5, 7],
    [16, 4, 4],
    [2, 2, 32],
];

/// The value of an operation in a thread, from those of the earlier ones; none is poison.
type Function = Box<dyn Fn(&[Option<u32>]) -> Option<u32>>;

/// One operation: its text and its value.
type Step = (String, Function);

fn constant(rng: &mut SmallRng) -> u32 {
    match rng.random_range(0..4) {
        0 => rng.random_range(0..9),
        1 => 1 << rng.random_range(0..10),
        2 => (1u32 << rng.random_range(0..10)).wrapping_neg(),
        _ => *[3, 31, 63, 48, 96, 255, 256, 65, 1000].choose(rng).expect("there are some"),
    }
}

/// A random operation as value `at` on earlier ones.
fn step(rng: &mut SmallRng, at: usize, given: usize) -> Step {
    let a = rng.random_range(0..at.min(given + 6).max(1));
    let a = if rng.random_bool(0.6) && at > given { rng.random_range(given..at) } else { a };
    let b = rng.random_range(0..at);
    let k = constant(rng);
    let is_constant = rng.random_bool(0.65);
    let right = if is_constant { (k as i32).to_string() } else { format!("%v{b}") };
    let other = move |v: &[Option<u32>]| if is_constant { Some(k) } else { v[b] };
    let shift = k % 34;
    match rng.random_range(0..16) {
        0..=5 => {
            let name = ["add", "sub", "mul", "and", "or", "xor"][rng.random_range(0..6)];
            let flags = match (name, rng.random_range(0..4)) {
                ("add" | "sub" | "mul", 0) => "nuw ",
                ("add" | "sub" | "mul", 1) => "nsw ",
                ("or", 0) => "disjoint ",
                _ => "",
            };
            let value = move |v: &[Option<u32>]| {
                let (a, b) = (v[a]?, other(v)?);
                let (sa, sb) = (a as i32, b as i32);
                Some(match (name, flags) {
                    ("add", "nuw ") => a.checked_add(b)?,
                    ("add", "nsw ") => sa.checked_add(sb)? as u32,
                    ("add", _) => a.wrapping_add(b),
                    ("sub", "nuw ") => a.checked_sub(b)?,
                    ("sub", "nsw ") => sa.checked_sub(sb)? as u32,
                    ("sub", _) => a.wrapping_sub(b),
                    ("mul", "nuw ") => a.checked_mul(b)?,
                    ("mul", "nsw ") => sa.checked_mul(sb)? as u32,
                    ("mul", _) => a.wrapping_mul(b),
                    ("and", _) => a & b,
                    ("or", "disjoint ") if a & b != 0 => return None,
                    ("or", _) => a | b,
                    _ => a ^ b,
                })
            };
            (format!("{name} {flags}i32 %v{a}, {right}"), Box::new(value))
        }
        6..=8 => {
            let name = ["shl", "lshr", "ashr"][rng.random_range(0..3)];
            let exact = if name != "shl" && rng.random_bool(0.2) { "exact " } else { "" };
            let amount = move |v: &[Option<u32>]| if is_constant { Some(shift) } else { v[b] };
            let value = move |v: &[Option<u32>]| {
                let (a, by) = (v[a]?, amount(v)?);
                if by >= 32 || !exact.is_empty() && a & ((1 << by) - 1) != 0 {
                    return None;
                }
                Some(match name {
                    "shl" => a << by,
                    "lshr" => a >> by,
                    _ => (a as i32 >> by) as u32,
                })
            };
            let by = if is_constant { shift.to_string() } else { right };
            (format!("{name} {exact}i32 %v{a}, {by}"), Box::new(value))
        }
        9 | 10 => {
            let by = k.max(1);
            let name = ["udiv", "urem", "sdiv", "srem"][rng.random_range(0..4)];
            let value = move |v: &[Option<u32>]| {
                let a = v[a]?;
                Some(match name {
                    "udiv" => a / by,
                    "urem" => a % by,
                    // The least number by minus one is no value.
                    "sdiv" => (a as i32).wrapping_div(by as i32) as u32,
                    _ => (a as i32).wrapping_rem(by as i32) as u32,
                })
            };
            (format!("{name} i32 %v{a}, {}", by as i32), Box::new(value))
        }
        11 => {
            let value = move |v: &[Option<u32>]| Some(v[a]?.min(other(v)?));
            let text = format!("call i32 @llvm.umin.i32(i32 %v{a}, i32 {right})");
            (text, Box::new(value))
        }
        // A comparison, whose result chooses or is extended.
        12 | 13 => {
            let name =
                ["eq", "ne", "ult", "uge", "slt", "sgt", "ule", "sle"][rng.random_range(0..8)];
            let (c, d) = (rng.random_range(0..at), rng.random_range(0..at));
            let is_less = move |v: &[Option<u32>]| {
                let (a, b) = (v[a]?, other(v)?);
                let (sa, sb) = (a as i32, b as i32);
                Some(match name {
                    "eq" => a == b,
                    "ne" => a != b,
                    "ult" => a < b,
                    "uge" => a >= b,
                    "slt" => sa < sb,
                    "sgt" => sa > sb,
                    "ule" => a <= b,
                    _ => sa <= sb,
                })
            };
            let head = format!("icmp {name} i32 %v{a}, {right}\n  %v{at} = ");
            if rng.random_bool(0.5) {
                let value = move |v: &[Option<u32>]| is_less(v).map(u32::from);
                (format!("{head}zext i1 %c{at} to i32"), Box::new(value))
            } else {
                let value = move |v: &[Option<u32>]| if is_less(v)? { v[c] } else { v[d] };
                (format!("{head}select i1 %c{at}, i32 %v{c}, i32 %v{d}"), Box::new(value))
            }
        }
        14 => {
            let (name, bits) =
                (["zext", "sext"][rng.random_range(0..2)], [8u32, 16][rng.random_range(0..2)]);
            let value = move |v: &[Option<u32>]| {
                let low = v[a]? << (32 - bits);
                Some(if name == "zext" {
                    low >> (32 - bits)
                } else {
                    (low as i32 >> (32 - bits)) as u32
                })
            };
            (
                format!("trunc i32 %v{a} to i{bits}\n  %v{at} = {name} i{bits} %c{at} to i32"),
                Box::new(value),
            )
        }
        _ => {
            // Poison in some threads and not in others is seen by what freezes it.
            let value = move |v: &[Option<u32>]| Some(v[a].unwrap_or(0x5eed));
            (format!("freeze i32 %v{a}"), Box::new(value))
        }
    }
}

#[derive(Default, Debug)]
struct Counts {
    values: usize,
    wrong: usize,
    /// Values that are uniform in waves, by enumeration of all threads.
    uniform: usize,
    /// Those of them that the analysis claims to be uniform.
    claimed: usize,
    /// The same in functions of the indices alone.
    of_indices: [usize; 2],
}

/// Checks claims about random operations on the indices, at both scopes, against all threads of a
/// workgroup. With `told`, the analysis gets another size of workgroups, and wrong claims are
/// counted.
fn enumerate(seed: u64, told: Option<[u32; 3]>, counts: &mut Counts) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let size = SIZES[seed as usize % SIZES.len()];
    let wave = if rng.random() { 32 } else { 64 };
    let has_argument = rng.random_bool(0.5);
    let given = if has_argument { 6 } else { 4 };
    let mut body = String::from(
        "
  %v0 = add i32 %x, 0
  %v1 = add i32 %y, 0
  %v2 = add i32 %z, 0
  %v3 = add i32 %lane, 0
",
    );
    if has_argument {
        body.push_str("  %v4 = add i32 %a, 0\n  %v5 = mul i32 %b, 256\n");
    }
    let mut steps: Vec<Function> = Vec::new();
    for at in given..given + 14 {
        let (text, value) = step(&mut rng, at, given);
        let is_two = text.contains('\n');
        let _ = writeln!(body, "  %{}{at} = {text}", if is_two { 'c' } else { 'v' });
        steps.push(value);
    }
    body.push_str("  ret void\n");
    let argument = *[0u32, 1, 77, 4096, u32::MAX].choose(&mut rng).expect("there are some");
    let [dx, dy, dz] = size;
    let mut rows = Vec::new();
    for number in 0..dx * dy * dz {
        let (x, y, z) = (number % dx, number / dx % dy, number / dx / dy);
        let mut values = vec![Some(x), Some(y), Some(z), Some(number % wave)];
        if has_argument {
            values.extend([Some(argument), Some(argument.wrapping_mul(3).wrapping_mul(256))]);
        }
        for step in &steps {
            let value = step(&values);
            values.push(value);
        }
        rows.push(values);
    }
    let text = masks(&body, told.unwrap_or(size), wave);
    let [tx, ty, tz] = told.unwrap_or(size);
    let facts = phalanx::target::LaunchFacts::exact(tx, ty, tz, wave);
    for line in text.lines() {
        let Some((name, mask)) = line.split_once(": ") else { continue };
        let Some(at) = name.strip_prefix('v').and_then(|n| n.parse::<usize>().ok()) else {
            continue;
        };
        let is_free = |scope: Scope| {
            let varying = phalanx::target::varying(scope, &facts);
            let mut sources = mask.trim_matches(['{', '}']).split(", ").filter(|s| !s.is_empty());
            !sources.any(|s| varying.intersects(SourceSet::from_name(s).expect("a source")))
        };
        let is_equal = |rows: &[Vec<Option<u32>>]| {
            let mut all = rows.iter().filter_map(|row| row[at]);
            let first = all.next();
            all.all(|value| Some(value) == first)
        };
        let in_waves = rows.chunks(wave as usize).all(is_equal);
        let context =
            || format!("seed {seed}: {name} of {size:?} in waves of {wave}: {mask}\n{body}");
        let is_wrong =
            !in_waves && is_free(Scope::Wave) || !is_equal(&rows) && is_free(Scope::Workgroup);
        assert!(told.is_some() || !is_wrong, "not uniform: {}", context());
        counts.wrong += usize::from(is_wrong);
        // A value that is poison everywhere, or an operation that has none, says nothing.
        let is_real = rows.iter().all(|row| row[at].is_some());
        if at >= given && is_real {
            counts.values += 1;
            counts.uniform += usize::from(in_waves);
            counts.claimed += usize::from(is_free(Scope::Wave));
            if !has_argument {
                counts.of_indices[0] += usize::from(in_waves);
                counts.of_indices[1] += usize::from(is_free(Scope::Wave));
            }
        }
    }
}

#[test]
fn no_claim_is_refuted_by_any_thread() {
    let count = std::env::var("PHALANX_CAMPAIGN").ok().and_then(|n| n.parse().ok());
    let mut counts = Counts::default();
    for seed in 0..count.unwrap_or(1500) {
        enumerate(seed, None, &mut counts);
    }
    println!("{counts:?}");
    assert!(counts.of_indices[1] * 100 > counts.of_indices[0] * 80, "{counts:?}");
}

/// A negative control: claims for rows of 64 are wrong for other workgroups, and these programs
/// show it.
#[test]
fn claims_about_other_workgroups_are_refuted() {
    let mut counts = Counts::default();
    for seed in 0..200 {
        enumerate(seed, Some([64, 1, 1]), &mut counts);
    }
    assert!(counts.wrong > 100, "{counts:?}");
}
