//! The rules against simulated waves, and the laws that a fixpoint needs.

use expect_test::expect;

use super::*;
use crate::intrinsics;

const LANES: usize = 32;

/// One value per lane.
type Lanes = [u64; LANES];

/// A small deterministic generator (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn lanes(&mut self, n: u64) -> Lanes {
        std::array::from_fn(|_| self.below(n))
    }
}

/// A wave that executes one operation: which lanes are active, and what the registers of inactive
/// lanes hold.
struct Wave {
    active: u64,
    stale: Lanes,
    counter: u64,
}

impl Wave {
    fn is_active(&self, lane: usize) -> bool {
        self.active >> lane & 1 == 1
    }

    fn active(&self) -> impl Iterator<Item = usize> {
        (0..LANES).filter(|lane| self.is_active(*lane))
    }
}

/// Simulates an operation lane by lane, as the ISA documents describe it. `None`: undefined for
/// these operands.
fn simulate(name: &str, wave: &Wave, args: &[Lanes]) -> Option<Vec<Lanes>> {
    let first = wave.active().next()?;
    // The lanes that take part together with `lane` under a member mask operand.
    let members = |mask: &Lanes, lane: usize| -> Option<Vec<usize>> {
        let all: Vec<_> = (0..LANES).filter(|other| mask[lane] >> other & 1 == 1).collect();
        let fine = all.contains(&lane)
            && all.iter().all(|other| wave.is_active(*other) && mask[*other] == mask[lane]);
        fine.then_some(all)
    };
    let everyone: Vec<_> = wave.active().collect();
    let per_lane = |f: &dyn Fn(usize) -> Option<u64>| -> Option<Lanes> {
        let mut result = [0; LANES];
        for lane in wave.active() {
            result[lane] = f(lane)?;
        }
        Some(result)
    };
    let fold = |data: &Lanes, lanes: &[usize], name: &str| -> u64 {
        let values = || lanes.iter().map(|lane| data[*lane]);
        match name {
            "add" => values().fold(0, u64::wrapping_add),
            "xor" => values().fold(0, |a, b| a ^ b),
            "and" => values().fold(u64::MAX, |a, b| a & b),
            "or" => values().fold(0, |a, b| a | b),
            "umax" => values().max().unwrap(),
            "umin" => values().min().unwrap(),
            "all" => u64::from(values().all(|v| v & 1 == 1)),
            "any" => u64::from(values().any(|v| v & 1 == 1)),
            "uni" => u64::from(values().all(|v| v & 1 == data[lanes[0]] & 1)),
            "ballot" => {
                lanes.iter().filter(|lane| data[**lane] & 1 == 1).map(|lane| 1 << lane).sum()
            }
            _ => panic!("{name}"),
        }
    };
    let shuffle = |mode: &str, lane: usize, b: u64, c: u64| -> (usize, bool) {
        let segment = (c >> 8 & 0x1f) as usize;
        let clamp = (c & 0x1f) as usize;
        let b = (b & 0x1f) as usize;
        let highest = (lane & segment) | (clamp & !segment);
        let (from, valid) = match mode {
            "up" => (lane.wrapping_sub(b), lane >= b && lane - b >= highest),
            "down" => (lane + b, lane + b <= highest),
            "bfly" => (lane ^ b, lane ^ b <= highest),
            "idx" => {
                let from = (lane & segment) | (b & !segment);
                (from, from <= highest)
            }
            _ => panic!("{mode}"),
        };
        if valid { (from, true) } else { (lane, false) }
    };
    let parts: Vec<&str> = name.split('.').collect();
    let results = match parts[..] {
        ["llvm", "nvvm", "vote", what, "sync"] => {
            vec![per_lane(&|lane| Some(fold(&args[1], &members(&args[0], lane)?, what)))?]
        }
        ["llvm", "nvvm", "vote", what] => {
            vec![per_lane(&|_| Some(fold(&args[0], &everyone, what)))?]
        }
        ["llvm", "nvvm", "redux", "sync", what] => {
            vec![per_lane(&|lane| Some(fold(&args[0], &members(&args[1], lane)?, what)))?]
        }
        ["llvm", "nvvm", "match", "any", ..] => vec![per_lane(&|lane| {
            let same = |other: &&usize| args[1][**other] == args[1][lane];
            Some(members(&args[0], lane)?.iter().filter(same).map(|other| 1 << other).sum())
        })?],
        ["llvm", "nvvm", "match", "all", ..] => {
            let equal = |lane: usize| -> Option<(u64, u64)> {
                let members = members(&args[0], lane)?;
                let same = members.iter().all(|other| args[1][*other] == args[1][lane]);
                Some(if same { (members.iter().map(|m| 1 << m).sum(), 1) } else { (0, 0) })
            };
            vec![per_lane(&|lane| Some(equal(lane)?.0))?, per_lane(&|lane| Some(equal(lane)?.1))?]
        }
        ["llvm", "nvvm", "elect", "sync"] => {
            let leader = |lane| Some(members(&args[0], lane)?[0] as u64);
            vec![
                per_lane(&leader)?,
                per_lane(&|lane| Some(u64::from(leader(lane)? == lane as u64)))?,
            ]
        }
        ["llvm", "nvvm", "shfl", "sync", mode, _] => {
            let read = |lane: usize| -> Option<(u64, u64)> {
                let members = members(&args[0], lane)?;
                let (from, valid) = shuffle(mode, lane, args[2][lane], args[3][lane]);
                members.contains(&from).then(|| (args[1][from], u64::from(valid)))
            };
            vec![per_lane(&|lane| Some(read(lane)?.0))?, per_lane(&|lane| Some(read(lane)?.1))?]
        }
        ["llvm", "amdgcn", "ballot"] => {
            vec![per_lane(&|_| Some(fold(&args[0], &everyone, "ballot")))?]
        }
        ["llvm", "amdgcn", "readfirstlane"] => vec![[args[0][first]; LANES]],
        ["llvm", "amdgcn", "readlane"] => {
            let lane = (args[1][first] % LANES as u64) as usize;
            let uniform = wave.active().all(|other| args[1][other] == args[1][first]);
            let value = if wave.is_active(lane) { args[0][lane] } else { wave.stale[lane] };
            uniform.then_some(vec![[value; LANES]])?
        }
        ["llvm", "amdgcn", "writelane"] => {
            let uniform =
                [0, 1].iter().all(|i| wave.active().all(|lane| args[*i][lane] == args[*i][first]));
            let at = args[1][first] % LANES as u64;
            let write =
                |lane: usize| if lane as u64 == at { args[0][first] } else { args[2][lane] };
            uniform.then(|| per_lane(&|lane| Some(write(lane))))?.map(|result| vec![result])?
        }
        ["llvm", "amdgcn", "wave", "reduce", what] => {
            vec![[fold(&args[0], &everyone, what); LANES]]
        }
        ["llvm", "amdgcn", "ds", "bpermute"] => vec![per_lane(&|lane| {
            let from = (args[0][lane] / 4 % LANES as u64) as usize;
            Some(if wave.is_active(from) { args[1][from] } else { 0 })
        })?],
        ["llvm", "amdgcn", "ds", "permute"] => {
            let mut result = [0; LANES];
            for lane in wave.active() {
                result[(args[0][lane] / 4 % LANES as u64) as usize] = args[1][lane];
            }
            vec![result]
        }
        ["llvm", "amdgcn", "ds", "swizzle"] => vec![per_lane(&|lane| {
            let pattern = args[1][lane] as usize;
            let from = match pattern >> 15 {
                0 => {
                    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
                    ((lane & and) | or) ^ xor
                }
                _ => (lane & !3) + (pattern >> (2 * (lane % 4)) & 3),
            };
            Some(if wave.is_active(from) { args[0][from] } else { 0 })
        })?],
        ["llvm", "amdgcn", "permlane64"] => vec![per_lane(&|lane| {
            let from = lane ^ (LANES / 2);
            Some(if wave.is_active(from) { args[0][from] } else { wave.stale[from] })
        })?],
        ["llvm", "amdgcn", "update", "dpp"] => vec![per_lane(&|lane| {
            let of = |i: usize| args[i][lane] as usize;
            let (control, row, at) = (of(2), lane & !15, lane % 16);
            if of(3) >> (lane / 16) & 1 == 0 || of(4) >> (at / 4) & 1 == 0 {
                return Some(args[0][lane]);
            }
            let by = control & 15;
            let from = match control >> 4 {
                0..16 => Some((lane & !3) + (control >> (2 * (lane % 4)) & 3)),
                16 => (at + by < 16).then(|| lane + by),
                17 => (at >= by).then(|| lane - by),
                18 => Some(row + (at + 16 - by) % 16),
                20 if by == 0 => Some(row + 15 - at),
                20 if by == 1 => Some((lane & !7) + 7 - lane % 8),
                21 => Some(row + by),
                22 => Some(row + (at ^ by)),
                _ => return None,
            };
            let old = if of(5) == 1 { 0 } else { args[0][lane] };
            Some(from.filter(|from| wave.is_active(*from)).map_or(old, |from| args[1][from]))
        })?],
        ["llvm", "amdgcn", "mov", "dpp8"] => vec![per_lane(&|lane| {
            let from = (lane & !7) + (args[1][lane] as usize >> (3 * (lane % 8)) & 7);
            Some(if wave.is_active(from) { args[0][from] } else { 0 })
        })?],
        ["llvm", "amdgcn", "mbcnt", "lo"] => vec![per_lane(&|lane| {
            Some(u64::from((args[0][lane] & ((1 << lane) - 1)).count_ones()) + args[1][lane])
        })?],
        ["llvm", "amdgcn", "inverse", "ballot"] => {
            vec![per_lane(&|lane| Some(args[0][lane] >> lane & 1))?]
        }
        ["llvm", "amdgcn", "ds", "append"] => vec![[wave.counter; LANES]],
        ["llvm", "amdgcn", "wqm", "vote"] => vec![per_lane(&|lane| {
            let quad = (lane & !3)..(lane & !3) + 4;
            Some(u64::from(
                wave.active().any(|other| quad.contains(&other) && args[0][other] & 1 == 1),
            ))
        })?],
        _ => panic!("no model of {name}"),
    };
    Some(results)
}

/// The values of an operand in a test.
#[derive(Clone, Copy)]
enum Kind {
    /// A number below the bound: one for the launch, or one per lane.
    Data(u64),
    /// The same, as a constant of the program.
    Immediate(u64),
    /// One of these numbers, as a constant of the program.
    OneOf(&'static [u64]),
    /// The constant 31: a shuffle in one segment.
    Clamp,
    /// A member mask: the active lanes, or one half of them.
    Members,
}

/// Runs two waves of one workgroup, with different active lanes but the same launch constants, and
/// compares what the table says with the results.
fn check(name: &str, kinds: &[Kind], random: &mut Random) -> [usize; 3] {
    let info = intrinsics::lookup(name).unwrap().info;
    let facts = LaunchFacts { wave_width: Some(LANES as u32), ..LaunchFacts::default() };
    let mut claims = [0; 3];
    for round in 0..400 {
        let full = random.below(4) == 0;
        let constants: Vec<_> = kinds
            .iter()
            .map(|kind| match kind {
                Kind::Data(n) | Kind::Immediate(n) => random.below(*n),
                Kind::OneOf(numbers) => numbers[random.below(numbers.len() as u64) as usize],
                Kind::Clamp => 31,
                Kind::Members => 0,
            })
            .collect();
        // Varies among lanes, or among quads.
        let varies: Vec<_> = kinds
            .iter()
            .map(|kind| match kind {
                Kind::Immediate(_) | Kind::OneOf(_) | Kind::Clamp => None,
                _ => [None, None, Some(Scope::Wave), Some(Scope::Quad)][random.below(4) as usize],
            })
            .collect();
        let waves: Vec<Wave> = (0..2)
            .map(|_| Wave {
                active: if full {
                    u64::from(u32::MAX)
                } else {
                    random.below(u64::from(u32::MAX)) + 1
                },
                stale: random.lanes(1000),
                counter: random.below(1000),
            })
            .collect();
        let mut results: Vec<(Vec<Lanes>, u64)> = Vec::new();
        for wave in &waves {
            let split = random.next();
            let of_quad =
                |lane: usize, varies| if varies == Some(Scope::Quad) { lane & !3 } else { lane };
            let args: Vec<Lanes> = (0..kinds.len())
                .map(|i| match (kinds[i], varies[i]) {
                    (Kind::Data(n), Some(scope)) => {
                        let lanes = random.lanes(n);
                        std::array::from_fn(|lane| lanes[of_quad(lane, Some(scope))])
                    }
                    (Kind::Members, varies) => {
                        let side = |lane: usize| split >> of_quad(lane, varies) & 1;
                        let mates = |lane| (0..LANES).filter(move |&o| side(o) == side(lane));
                        std::array::from_fn(|lane| match varies {
                            None => wave.active,
                            Some(_) => wave.active & mates(lane).map(|o| 1 << o).sum::<u64>(),
                        })
                    }
                    _ => [constants[i]; LANES],
                })
                .collect();
            let Some(result) = simulate(name, wave, &args) else { continue };
            results.push((result, wave.active));
        }
        let operands: Vec<Operand> = (0..kinds.len())
            .map(|i| match kinds[i] {
                Kind::Immediate(_) | Kind::OneOf(_) | Kind::Clamp => {
                    Operand::constant(constants[i])
                }
                // The member mask of a wave is a ballot, unless it is set lane by lane.
                Kind::Members if varies[i].is_none() => Operand::of(SourceSet::OPAQUE_WAVE),
                _ => Operand::of(match varies[i] {
                    Some(Scope::Quad) => SourceSet::OPAQUE_QUAD,
                    Some(_) => SourceSet::X,
                    None => SourceSet::EMPTY,
                }),
            })
            .collect();
        let context =
            TransferContext { all_lanes_active: full, ..TransferContext::new(&facts, true) };
        let count = results.first().map_or(0, |(result, _)| result.len());
        for index in 0..count {
            let said = info.result_at(index).evaluate(&operands[..], &context);
            let groups = |lanes: usize| -> Vec<Vec<u64>> {
                let of = |(result, active): &(Vec<Lanes>, u64), first: usize| {
                    let lanes = (first..first + lanes).filter(|lane| active >> lane & 1 == 1);
                    lanes.map(|lane| result[index][lane]).collect()
                };
                let firsts = || (0..LANES).step_by(lanes);
                results.iter().flat_map(|wave| firsts().map(move |first| of(wave, first))).collect()
            };
            let (quads, groups) = (groups(4), groups(LANES));
            let place = format!("{name} result {index}, round {round}: {said} for {operands:?}");
            if !said.intersects(context.quad) {
                claims[0] += 1;
                for quad in &quads {
                    assert!(quad.windows(2).all(|pair| pair[0] == pair[1]), "{place}: {quad:?}");
                }
            }
            if !said.intersects(context.wave) {
                claims[1] += 1;
                for group in &groups {
                    assert!(group.iter().all(|value| *value == group[0]), "{place}: {group:?}");
                }
            }
            if !said.intersects(context.workgroup) {
                claims[2] += 1;
                assert!(
                    groups.iter().flatten().all(|value| *value == groups[0][0]),
                    "{place}: {groups:?}"
                );
            }
        }
    }
    claims
}

/// No claim of uniformity where the simulation differs. The numbers say how often uniformity was
/// claimed (quad, wave, workgroup), so that claiming nothing does not pass the test.
#[test]
fn rules_hold_in_simulated_waves() {
    use Kind::{Clamp, Data, Immediate, Members, OneOf};
    let masks: &[u64] = &[15, 15, 3, 9];
    let segments: &[u64] = &[31, 0x181f, 0x1c1f, 0x1e1f, 0x1003, 0x1f];
    let ups: &[u64] = &[0, 0x1800, 0x1c00];
    let controls: &[u64] = &[0, 0x55, 0xb1, 0x114, 0x128, 0x140, 0x141, 0x155, 0x168];
    let cases: [(&str, &[Kind]); 40] = [
        ("llvm.nvvm.vote.all.sync", &[Members, Data(2)]),
        ("llvm.nvvm.vote.any.sync", &[Members, Data(2)]),
        ("llvm.nvvm.vote.uni.sync", &[Members, Data(2)]),
        ("llvm.nvvm.vote.ballot.sync", &[Members, Data(2)]),
        ("llvm.nvvm.vote.any", &[Data(2)]),
        ("llvm.nvvm.vote.ballot", &[Data(2)]),
        ("llvm.nvvm.redux.sync.add", &[Data(9), Members]),
        ("llvm.nvvm.redux.sync.xor", &[Data(9), Members]),
        ("llvm.nvvm.redux.sync.and", &[Data(9), Members]),
        ("llvm.nvvm.redux.sync.umax", &[Data(9), Members]),
        ("llvm.nvvm.match.any.sync.i32", &[Members, Data(3)]),
        ("llvm.nvvm.match.all.sync.i32p", &[Members, Data(2)]),
        ("llvm.nvvm.elect.sync", &[Members]),
        ("llvm.nvvm.shfl.sync.idx.i32p", &[Members, Data(9), Data(32), Immediate(0x2000)]),
        ("llvm.nvvm.shfl.sync.idx.i32p", &[Members, Data(9), Data(32), Immediate(32)]),
        ("llvm.nvvm.shfl.sync.idx.f32p", &[Members, Data(9), Data(32), Clamp]),
        ("llvm.nvvm.shfl.sync.up.i32p", &[Members, Data(9), Data(32), Immediate(0x2000)]),
        ("llvm.nvvm.shfl.sync.down.i32p", &[Members, Data(9), Data(32), Data(0x2000)]),
        ("llvm.nvvm.shfl.sync.bfly.i32p", &[Members, Data(9), Data(32), Immediate(32)]),
        ("llvm.amdgcn.ballot", &[Data(2)]),
        ("llvm.amdgcn.readfirstlane", &[Data(9)]),
        ("llvm.amdgcn.readlane", &[Data(9), Data(32)]),
        ("llvm.amdgcn.writelane", &[Data(9), Data(32), Data(9)]),
        ("llvm.amdgcn.wave.reduce.umin", &[Data(9)]),
        ("llvm.amdgcn.wave.reduce.add", &[Data(9)]),
        ("llvm.amdgcn.ds.bpermute", &[Data(128), Data(9)]),
        ("llvm.amdgcn.ds.permute", &[Data(128), Data(9)]),
        ("llvm.amdgcn.ds.swizzle", &[Data(9), OneOf(&[0x8000, 0x80b1, 0x041f, 0x401f, 0x0060])]),
        ("llvm.amdgcn.permlane64", &[Data(9)]),
        (
            "llvm.amdgcn.update.dpp",
            &[Data(9), Data(9), Immediate(256), OneOf(masks), OneOf(masks), Immediate(2)],
        ),
        (
            "llvm.amdgcn.update.dpp",
            &[Data(9), Data(9), OneOf(controls), OneOf(masks), OneOf(masks), Immediate(2)],
        ),
        ("llvm.amdgcn.mov.dpp8", &[Data(9), Immediate(1 << 24)]),
        ("llvm.amdgcn.mov.dpp8", &[Data(9), OneOf(&[0, 0o11111111, 0o33330000, 0o45671230])]),
        ("llvm.nvvm.shfl.sync.idx.i32p", &[Members, Data(9), Data(32), OneOf(segments)]),
        ("llvm.nvvm.shfl.sync.bfly.i32p", &[Members, Data(9), Immediate(32), OneOf(segments)]),
        ("llvm.nvvm.shfl.sync.down.i32p", &[Members, Data(9), OneOf(&[1, 4, 8]), OneOf(segments)]),
        ("llvm.nvvm.shfl.sync.up.i32p", &[Members, Data(9), OneOf(&[1, 4, 8]), OneOf(ups)]),
        ("llvm.amdgcn.mbcnt.lo", &[Data(1 << 32), Data(9)]),
        ("llvm.amdgcn.ds.append", &[Data(9)]),
        ("llvm.amdgcn.wqm.vote", &[Data(2)]),
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let report: String = cases
        .iter()
        .map(|(name, kinds)| {
            let [quad, wave, workgroup] = check(name, kinds, &mut random);
            format!("{name:<31} {quad:>4} {wave:>4} {workgroup:>4}\n")
        })
        .collect();
    expect![[r#"
        llvm.nvvm.vote.all.sync          299  195   87
        llvm.nvvm.vote.any.sync          297  193   88
        llvm.nvvm.vote.uni.sync          300  205  103
        llvm.nvvm.vote.ballot.sync       300  194    0
        llvm.nvvm.vote.any               400  400  193
        llvm.nvvm.vote.ballot            400  400    0
        llvm.nvvm.redux.sync.add         294  197    0
        llvm.nvvm.redux.sync.xor         295  195    0
        llvm.nvvm.redux.sync.and         309  212  103
        llvm.nvvm.redux.sync.umax        290  194   87
        llvm.nvvm.match.any.sync.i32     216   94    0
        llvm.nvvm.match.all.sync.i32p    608  394    0
        llvm.nvvm.elect.sync             284  190    0
        llvm.nvvm.shfl.sync.idx.i32p      84   62   62
        llvm.nvvm.shfl.sync.idx.i32p      95   80   79
        llvm.nvvm.shfl.sync.idx.f32p     112  105   57
        llvm.nvvm.shfl.sync.up.i32p      131   98   98
        llvm.nvvm.shfl.sync.down.i32p    107   74   74
        llvm.nvvm.shfl.sync.bfly.i32p     60   55   55
        llvm.amdgcn.ballot               400  400    0
        llvm.amdgcn.readfirstlane        400  400  198
        llvm.amdgcn.readlane             198  198    0
        llvm.amdgcn.writelane              0    0    0
        llvm.amdgcn.wave.reduce.umin     400  400  188
        llvm.amdgcn.wave.reduce.add      400  400    0
        llvm.amdgcn.ds.bpermute          323  227   47
        llvm.amdgcn.ds.permute             0    0    0
        llvm.amdgcn.ds.swizzle           209   57   57
        llvm.amdgcn.permlane64            49   49   49
        llvm.amdgcn.update.dpp            58   10   10
        llvm.amdgcn.update.dpp           152    8    8
        llvm.amdgcn.mov.dpp8              46   45   45
        llvm.amdgcn.mov.dpp8             309   60   60
        llvm.nvvm.shfl.sync.idx.i32p      83   54   47
        llvm.nvvm.shfl.sync.bfly.i32p     40   21   21
        llvm.nvvm.shfl.sync.down.i32p    121   60   60
        llvm.nvvm.shfl.sync.up.i32p       97   54   54
        llvm.amdgcn.mbcnt.lo               0    0    0
        llvm.amdgcn.ds.append            295  204    0
        llvm.amdgcn.wqm.vote             400  194  194
    "#]]
    .assert_eq(&report);
}

/// The simulation detects errors: it refutes rules that are known to be wrong.
#[test]
fn the_simulation_refutes_wrong_rules() {
    let mut random = Random(7);
    let mut differs = |name: &str, args: &mut dyn FnMut(&mut Random, &Wave) -> Vec<Lanes>| {
        (0..200).any(|_| {
            let wave = Wave {
                active: random.next() & 0xffff_ffff | 1,
                stale: random.lanes(9),
                counter: 0,
            };
            let args = args(&mut random, &wave);
            simulate(name, &wave, &args).is_some_and(|results| {
                let values: Vec<_> = wave.active().map(|lane| results[0][lane]).collect();
                values.iter().any(|value| *value != values[0])
            })
        })
    };
    // Uniform data comes back as zero from inactive lanes.
    assert!(differs("llvm.amdgcn.ds.swizzle", &mut |_, _| vec![[5; LANES], [0x041f; LANES]]));
    assert!(differs("llvm.amdgcn.ds.permute", &mut |_, _| vec![[8; LANES], [5; LANES]]));
    assert!(differs("llvm.amdgcn.update.dpp", &mut |_, _| {
        [1, 5, 0xb1, 15, 15, 0].map(|n| [n; LANES]).to_vec()
    }));
    // One lane number, four segments.
    assert!(
        differs("llvm.nvvm.shfl.sync.idx.i32", &mut |random, _| vec![
            [0xffff_ffff; LANES],
            random.lanes(99),
            [0; LANES],
            [0x181f; LANES],
        ]) || {
            // That is defined only with all lanes active, so all are.
            let wave = Wave { active: 0xffff_ffff, stale: [0; LANES], counter: 0 };
            let data = std::array::from_fn(|lane| lane as u64);
            let args = [[0xffff_ffff; LANES], data, [0; LANES], [0x181f; LANES]];
            let result = simulate("llvm.nvvm.shfl.sync.idx.i32", &wave, &args).unwrap();
            result[0][0] == 0 && result[0][31] == 24
        }
    );
}

fn all_transfers() -> Vec<Transfer> {
    let mut transfers: Vec<Transfer> = intrinsics::Family::ALL
        .iter()
        .flat_map(|family| family.entries())
        .flat_map(|entry| [entry.info.result, entry.info.further_results])
        .collect();
    let mut seen = rustc_hash::FxHashSet::default();
    transfers.retain(|transfer| seen.insert(*transfer));
    transfers
}

/// More sources in operands never give fewer in the result; more launch facts never give more.
#[test]
fn evaluation_is_monotone() {
    let transfers = all_transfers();
    assert!(transfers.len() > 30, "{}", transfers.len());
    let mut random = Random(42);
    let launches = [
        LaunchFacts::default(),
        LaunchFacts::exact(64, 4, 1, 32),
        LaunchFacts::exact(16, 1, 1, 32),
        LaunchFacts::exact(1, 1, 1, 64),
    ];
    for transfer in &transfers {
        for _ in 0..500 {
            let facts = &launches[random.below(4) as usize];
            let lockstep = random.below(2) == 0;
            let all_lanes_active = random.below(4) == 0;
            let context =
                TransferContext { all_lanes_active, ..TransferContext::new(facts, lockstep) };
            let small: Vec<Operand> = (0..5)
                .map(|_| Operand {
                    sources: SourceSet::from_bits(
                        (random.next() & random.next() & random.next()) as u16,
                    ),
                    constant: (random.below(3) == 0).then(|| random.below(0x2000)),
                    may_be_private: random.below(2) == 0,
                })
                .collect();
            let large: Vec<Operand> = small
                .iter()
                .map(|operand| Operand {
                    sources: operand.sources
                        | SourceSet::from_bits((random.next() & random.next()) as u16),
                    ..*operand
                })
                .collect();
            let (a, b) =
                (transfer.evaluate(&small[..], &context), transfer.evaluate(&large[..], &context));
            assert!(b.contains(a), "{transfer:?} {small:?} -> {a}, {large:?} -> {b}");
            // Without facts the answer is better at no scope.
            let nothing = TransferContext::new(&LaunchFacts::default(), false);
            let blind = transfer.evaluate(&small[..], &nothing);
            for scope in Scope::ALL {
                let uniform = |sources: SourceSet| !sources.intersects(varying(scope, facts));
                assert!(
                    uniform(a) || !uniform(blind),
                    "{transfer:?} {small:?}: {a} {blind} {scope}"
                );
            }
        }
    }
}

#[test]
fn coordinates_follow_their_dimension() {
    let context = TransferContext::new(&LaunchFacts::default(), false);
    let of = |name: &str, operand: Operand| {
        let info = intrinsics::lookup(name).unwrap().info;
        info.result.evaluate(&[operand][..], &context).to_string()
    };
    expect!["{y}"].assert_eq(&of("llvm.spv.thread.id.in.group.i32", Operand::constant(1)));
    expect!["{z, block.z}"].assert_eq(&of("llvm.spv.thread.id.i32", Operand::constant(2)));
    expect!["{block.x, block.y, block.z}"]
        .assert_eq(&of("llvm.spv.group.id.i32", Operand::of(SourceSet::EMPTY)));
}

/// A value that each lane reads at its own moment is one value per wave only in lock step.
#[test]
fn clocks_need_lockstep() {
    let clock = intrinsics::lookup("llvm.nvvm.read.ptx.sreg.clock").unwrap().info;
    let of = |lockstep| {
        clock.result.evaluate(&[][..], &TransferContext::new(&LaunchFacts::default(), lockstep))
    };
    expect!["{opaque.wave}"].assert_eq(&of(true).to_string());
    expect!["{opaque.thread, opaque.wave, opaque.quad}"].assert_eq(&of(false).to_string());
}

#[test]
fn loads_depend_on_who_owns_the_memory() {
    let context = TransferContext::new(&LaunchFacts::default(), true);
    let masked = intrinsics::lookup("llvm.masked.load.v4i32.p1").unwrap().info.result;
    let pointer = |private| Operand { may_be_private: private, ..Operand::of(SourceSet::BLOCK_X) };
    expect!["{block.x, opaque.wave}"]
        .assert_eq(&masked.evaluate(&[pointer(false)][..], &context).to_string());
    expect!["{block.x, opaque.thread, opaque.wave, opaque.quad}"]
        .assert_eq(&masked.evaluate(&[pointer(true)][..], &context).to_string());
}

/// A lane number names a lane of the wave, or one lane in each half of it.
#[test]
fn halves_of_a_wave_that_are_permuted_apart() {
    let rule = intrinsics::lookup("llvm.amdgcn.ds.bpermute").expect("it is known").info.result;
    let operands = [Operand::constant(20), Operand::of(SourceSet::LANE)];
    let sources = |width: Option<u32>, halves: bool| {
        let facts = LaunchFacts { wave_width: width, ..LaunchFacts::default() };
        let context = TransferContext::new(&facts, true);
        let context = if halves { context.with_halves(&facts) } else { context };
        rule.evaluate(&operands[..], &context)
    };
    assert_eq!(sources(Some(64), false), SourceSet::OPAQUE_WAVE);
    // Both halves consist of whole quads.
    assert_eq!(sources(Some(64), true), PER_QUAD);
    assert_eq!(sources(None, true), PER_QUAD);
    assert_eq!(sources(Some(32), true), SourceSet::OPAQUE_WAVE);
}
