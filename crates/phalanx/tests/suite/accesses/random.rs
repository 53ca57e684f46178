//! Claims about random accesses, checked against the addresses that the lanes of a launch access.

use super::{HEAD, accesses};
use phalanx::{
    analysis::shape::access::{Access, Pattern, Within},
    ir,
    prelude::*,
    simt::{
        Arg, Launch, Observer, Program,
        convergence::Key,
        observe::{self, Moment},
    },
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};
use rustc_hash::FxHashMap;
use std::{fmt::Write as _, sync::Arc};

/// An address, and the place of the lane: x, y, z, and its number in the wave.
type Lane = (u64, [u32; 4]);

/// What lanes touched, by execution and wave.
#[derive(Default)]
struct Touched(FxHashMap<(InstId, Key, u32, u32), Vec<Lane>>);

impl Observer for Touched {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, at: Moment<'_>, access: &observe::Access) {
        let place = at.thread;
        let [x, y, z] = place.thread;
        let key = (at.inst, at.key, place.block[0], place.wave);
        self.0.entry(key).or_default().push((access.address, [x, y, z, place.lane]));
    }
}

/// Whether a claim about an access is true of these lanes.
fn is_right(access: &Access, lanes: &[Lane]) -> bool {
    let stride = match access.pattern {
        Pattern::Broadcast => 0,
        Pattern::Consecutive => i64::from(access.size),
        Pattern::Strided(stride) => stride,
        Pattern::Gather => return true,
    };
    let steps = |(from, a): Lane, (to, b): Lane| {
        let step = match access.within {
            Within::Wave => i64::from(b[3]) - i64::from(a[3]),
            Within::Row if a[1..3] != b[1..3] => return true,
            Within::Row => i64::from(b[0]) - i64::from(a[0]),
        };
        to.wrapping_sub(from) as i64 == stride * step
    };
    let regular = lanes.iter().all(|&a| lanes.iter().all(|&b| steps(a, b)));
    let touched = |segment: u64| {
        let mut all: Vec<u64> = lanes
            .iter()
            .flat_map(|&(at, _)| at / segment..=(at + u64::from(access.size) - 1) / segment)
            .collect();
        all.sort_unstable();
        all.dedup();
        all.len() as u32
    };
    // As lanes are served: 32 words at a time.
    let banks = || {
        let together = (128 / access.size).clamp(1, 32);
        let mut words: FxHashMap<(u32, u64), Vec<u64>> = FxHashMap::default();
        for &(at, lane) in lanes {
            for word in at / 4..=(at + u64::from(access.size) - 1) / 4 {
                words.entry((lane[3] / together, word % 32)).or_default().push(word);
            }
        }
        let different = words.into_values().map(|mut words| {
            words.sort_unstable();
            words.dedup();
            words.len() as u32
        });
        different.max().unwrap_or(0)
    };
    regular
        && access.bank_degree.is_none_or(|most| banks() <= most)
        && access.segments.is_none_or(|most| touched(128) <= most)
        && access.sectors.is_none_or(|most| touched(32) <= most)
}

/// A kernel that reads where a random function of its indices says.
fn random_body(rng: &mut SmallRng) -> String {
    let mut body = String::new();
    let small = |rng: &mut SmallRng| *[0, 1, 1, 2, 3, 4, 16, 33].choose(rng).expect("some");
    let flags = |rng: &mut SmallRng| *["", "nsw ", "nuw nsw "].choose(rng).expect("some");
    for (name, of) in [("tx", "x"), ("ty", "y"), ("tb", "b"), ("tn", "n")] {
        let _ = writeln!(body, "  %{name} = mul {}i32 %{of}, {}", flags(rng), small(rng));
    }
    let shifts = ["lshr i32 %x, 3", "and i32 %x, 7", "udiv i32 %x, 32", "add i32 %x, 5"];
    let _ = writeln!(body, "  %s = {}", shifts.choose(rng).expect("some"));
    // A row of a matrix whose width is known at run time only.
    let _ = writeln!(body, "  %yn = mul {}i32 %y, %n", flags(rng));
    let mut sum = "%tx".to_owned();
    for (at, name) in ["%ty", "%tb", "%tn", "%s", "%yn"].into_iter().enumerate() {
        if rng.random_bool(if at == 4 { 0.2 } else { 0.5 }) {
            let _ = writeln!(body, "  %sum{at} = add {}i32 {sum}, {name}", flags(rng));
            sum = format!("%sum{at}");
        }
    }
    let types = [("i32", 4), ("i16", 2), ("i64", 8), ("<4 x float>", 16)];
    let (ty, align) = *types.choose(rng).expect("some");
    let [space, base] = match rng.random() {
        true => ["ptr addrspace(1)", "%p"],
        false => ["ptr addrspace(3)", "@big"],
    };
    let read = |body: &mut String, name: &str, index: &str, cast: &str| {
        let _ = writeln!(body, "  %w.{name} = {cast} i32 {index} to i64");
        let _ = writeln!(
            body,
            "  %a.{name} = getelementptr inbounds {ty}, {space} {base}, i64 %w.{name}
  %v.{name} = load {ty}, {space} %a.{name}, align {align}"
        );
    };
    let cast = if rng.random() { "sext" } else { "zext" };
    read(&mut body, "once", &sum, cast);
    if rng.random_bool(0.6) {
        let step = if rng.random() { "%n".to_owned() } else { rng.random_range(1..40).to_string() };
        // Threads leave in different iterations.
        let bound = if rng.random() { "%m" } else { "%tx" };
        let _ = writeln!(
            body,
            "  br label %loop
loop:
  %i = phi i32 [ {sum}, %entry ], [ %next, %loop ]
  %k = phi i32 [ 0, %entry ], [ %k.next, %loop ]"
        );
        read(&mut body, "loop", "%i", cast);
        let _ = writeln!(
            body,
            "  %next = add {}i32 %i, {step}
  %k.next = add i32 %k, 1
  %k.few = and i32 %k, 7
  %more.k = icmp ne i32 %k.few, 7
  %more.i = icmp ult i32 %k, {bound}
  %more = and i1 %more.k, %more.i
  br i1 %more, label %loop, label %exit
exit:",
            flags(rng)
        );
        read(&mut body, "last", "%i", cast);
    }
    body.push_str("  ret void\n");
    body
}

const SIZES: &[[u32; 3]] =
    &[[32, 1, 1], [64, 1, 1], [96, 1, 1], [16, 4, 1], [33, 2, 1], [32, 3, 1], [8, 8, 1], [5, 1, 1]];

#[test]
fn no_claim_is_refuted_by_an_address() {
    let (mut checked, mut conflicts, mut assumed) = ([0; 4], 0, 0);
    for seed in 0..400 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let body = random_body(rng);
        let size = *SIZES.choose(rng).expect("some");
        let stated = rng.random_bool(0.7).then_some(size);
        let (session, _, found) = accesses(&body, stated);
        let text = format!("{HEAD}{body}}}\n");
        let context = Arc::new(ir::Context::new());
        let module = phalanx::llvm::parse_module(context, text.as_bytes()).expect("read").module;
        let target = phalanx::target::Target::new("nvptx64-nvidia-cuda", "");
        let program = Program::new(&module, &target).expect("can be run");
        let mut memory = program.memory(seed).expect("there is room");
        let buffer = memory.buffer(&vec![0; 1 << 16]).expect("there is room");
        let args = vec![
            Arg::bits(buffer),
            Arg::bits(buffer),
            Arg::bits(u128::from(rng.random_range(0..9u32))),
            Arg::bits(u128::from(rng.random_range(0..9u32))),
        ];
        let launch =
            Launch { block: size, grid: [2, 1, 1], args, fuel: 200_000, ..Launch::default() };
        let mut touched = Touched::default();
        // What came before a fault happened as well.
        let _ = phalanx::simt::run(&program, "k", &launch, &mut memory, &mut touched);
        for ((inst, ..), lanes) in &touched.0 {
            let access = found.iter().find(|access| access.inst == *inst).expect("it is known");
            checked[match access.pattern {
                Pattern::Broadcast => 0,
                Pattern::Consecutive => 1,
                Pattern::Strided(_) => 2,
                Pattern::Gather => 3,
            }] += 1;
            conflicts += u32::from(access.bank_degree.is_some_and(|degree| degree > 1));
            // No index of these kernels wraps.
            assumed += u32::from(access.assumes_no_wrap);
            assert!(
                is_right(access, lanes),
                "seed {seed}: {access:?} of {size:?}\n{lanes:?}\n{body}"
            );
        }
        drop(session);
    }
    let is_rich = checked.iter().all(|&count| count > 60) && conflicts > 30 && assumed > 60;
    assert!(is_rich, "{checked:?}, {conflicts}, {assumed}");
}
