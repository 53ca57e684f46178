//! Kernels that use operations of a wave or a launch: votes, shuffles, ballots, permutes; ids,
//! time, library functions.

use super::{Case, case, fractions, numbers};
use crate::kernels::device::{args, ensure, pieces};

pub(super) fn cases() -> Vec<Case> {
    let mut all = amdgcn();
    all.extend(nvptx());
    all.extend(launches());
    all
}

/// Waves of 64.
fn amdgcn() -> Vec<Case> {
    let compact = case("opencl/wave", &["wave_compact"], |device| {
        let v = numbers(1, 256, 1000);
        let (given, out) = (device.input(&v), device.buffer(&[-1i32; 256]));
        let total = device.buffer(&[0i32]);
        device.line("wave_compact", 2, 128, args![given, out, total, 600])?;
        // Waves append in any order, lanes of a wave in theirs.
        let kept = |wave: &[i32]| wave.iter().copied().filter(|&v| v > 600).collect::<Vec<_>>();
        let waves: Vec<Vec<i32>> = v.chunks(64).map(kept).collect();
        let count: usize = waves.iter().map(Vec::len).sum();
        device.expect(total, &[count as i32])?;
        let found = device.read(out);
        pieces(&found[..count], &waves)?;
        ensure(found[count..].iter().all(|&v| v == -1), || "too much is written".to_owned())
    });
    let waterfall = case("opencl/wave", &["waterfall"], |device| {
        let (selectors, table) = (numbers(2, 128, 9), numbers(3, 9, 1000));
        let (selector, values) = (device.input(&selectors), device.input(&table));
        let out = device.buffer(&[-1i32; 128]);
        device.line("waterfall", 2, 64, args![selector, values, out])?;
        device.expect(out, &selectors.iter().map(|&s| table[s as usize]).collect::<Vec<_>>())
    });
    let exchange = case("opencl/wave", &["lane_exchange"], |device| {
        let v = numbers(4, 128, 100_000);
        let (given, out) = (device.input(&v), device.buffer(&[0i32; 128]));
        device.line("lane_exchange", 1, 128, args![given, out])?;
        let expected = v.chunks(64).flat_map(|v| {
            (0..64usize).map(|lane| {
                let turned = v[(lane + 1) % 64];
                let pushed = v[lane ^ 5];
                let swizzled = v[lane ^ 1];
                let shifted = if lane % 16 == 0 { 0 } else { v[lane - 1] };
                turned + pushed + swizzled + shifted + v[63]
            })
        });
        device.expect(out, &expected.collect::<Vec<_>>())
    });
    let added = |v: u32, number: u32| {
        let v = if number == 1 { v >> 4 & 255 } else { v };
        let differences = v.to_le_bytes().into_iter().zip(number.to_le_bytes());
        let sum: u32 = differences.map(|(a, b)| u32::from(a.abs_diff(b))).sum();
        v.wrapping_add(sum + 1)
    };
    let branch = case("opencl/wave", &["wave_uniform_branch"], move |device| {
        let mut v: Vec<u32> = numbers(5, 384, 1 << 24).iter().map(|&n| n as u32 * 251).collect();
        v[128..192].fill(0);
        v[320..384].fill(0);
        v[5] = 0;
        let (given, out) = (device.input(&v), device.buffer(&[7u32; 384]));
        device.line("wave_uniform_branch", 2, 192, args![given, out])?;
        let mut expected = Vec::new();
        for (number, wave) in v.chunks(64).enumerate() {
            let number = number as u32 % 3;
            expected.extend(wave.iter().map(|&v| {
                if wave.iter().all(|&v| v == 0) {
                    return 7;
                }
                added(v, number)
            }));
        }
        device.expect(out, &expected)?;
        // In two rows the second wave has the end of one and the beginning of the other. Both rows
        // do the same.
        let mut v = v[..96].to_vec();
        v[5] = 1;
        let (given, out) = (device.input(&v), device.buffer(&[7u32; 96]));
        device.launch("wave_uniform_branch", [1; 3], [96, 2, 1], args![given, out])?;
        let rest = v.iter().enumerate().map(|(x, &v)| added(v, x as u32 / 64));
        device.expect(out, &rest.collect::<Vec<_>>())
    });
    vec![compact, waterfall, exchange, branch]
}

/// Warps of 32.
fn nvptx() -> Vec<Case> {
    let negative = case("cuda/votes", &["any_negative"], |device| {
        let mut v = fractions(1, 128);
        v[32..64].iter_mut().for_each(|x| *x = x.abs());
        v[64..96].fill(0.0);
        let (given, out) = (device.input(&v), device.buffer(&[9f32; 128]));
        let flags = device.buffer(&[0i32; 4]);
        device.line("any_negative", 2, 64, args![given, out, flags])?;
        device.expect(flags, &[1, 0, 0, 1])?;
        let expected = v.iter().enumerate().map(|(i, x)| if i / 32 == 2 { 9.0 } else { x.abs() });
        device.expect(out, &expected.collect::<Vec<_>>())
    });
    let compact = case("cuda/votes", &["leader_compact"], |device| {
        let v = numbers(2, 120, 3);
        // Each nonzero number tells where it comes from.
        let v: Vec<i32> =
            v.iter().enumerate().map(|(i, &v)| if v == 0 { 0 } else { 1 + i as i32 }).collect();
        let (given, out) = (device.input(&v), device.buffer(&[-1i32; 128]));
        let total = device.buffer(&[0i32]);
        device.line("leader_compact", 2, 64, args![given, out, total, 120])?;
        let warps: Vec<Vec<i32>> =
            v.chunks(32).map(|w| w.iter().copied().filter(|&v| v != 0).collect()).collect();
        let count: usize = warps.iter().map(Vec::len).sum();
        device.expect(total, &[count as i32])?;
        let found = device.read(out);
        pieces(&found[..count], &warps)?;
        ensure(found[count..].iter().all(|&v| v == -1), || "too much is written".to_owned())
    });
    let groups = case("cuda/votes", &["match_groups"], |device| {
        let keys = numbers(3, 128, 9);
        let (given, size) = (device.input(&keys), device.buffer(&[0i32; 128]));
        device.line("match_groups", 2, 64, args![given, size])?;
        let same = |warp: &[i32]| -> Vec<i32> {
            warp.iter().map(|key| warp.iter().filter(|k| *k == key).count() as i32).collect()
        };
        device.expect(size, &keys.chunks(32).flat_map(same).collect::<Vec<_>>())
    });
    let ballots = case("cuda/votes", &["ballot_loop"], |device| {
        let keys = numbers(4, 96, 7);
        let given = device.input(&keys);
        let (rounds, out) = (device.buffer(&[0i32; 3]), device.buffer(&[-1i32; 96]));
        device.line("ballot_loop", 3, 32, args![given, rounds, out])?;
        let (mut counts, mut served) = (Vec::new(), Vec::new());
        for warp in keys.chunks(32) {
            // A round serves the key of the first lane that waits.
            let mut order = Vec::new();
            for key in warp {
                let round = order.iter().position(|k| k == key).unwrap_or(order.len());
                if round == order.len() {
                    order.push(*key);
                }
                served.push(round as i32);
            }
            counts.push(order.len() as i32);
        }
        device.expect(rounds, &counts)?;
        device.expect(out, &served)
    });
    vec![negative, compact, groups, ballots]
}

fn launches() -> Vec<Case> {
    vec![launch_facts(), generic_pointers(), clocks(), library_calls()]
}

/// All groups write to the same place: each word is what one of them writes.
fn launch_facts() -> Case {
    case("opencl/launch", &["launch_facts"], |device| {
        // In rows of 60 a wave has threads of several rows. The file is compiled for workgroups
        // that need not be uniform.
        for (grid, row) in [([3u32, 1, 1], 64), ([2, 3, 2], 64), ([3, 1, 1], 60)] {
            let out = device.buffer(&[u32::MAX; 256]);
            let partial = [row, 0, 0];
            device.launch_partly("launch_facts", grid, [64, 2, 2], partial, args![out])?;
            for (at, found) in device.read(out).into_iter().enumerate() {
                let (y, z) = (at / 64 % 2, at / 128);
                let value = |(group_y, group_z): (u32, u32)| {
                    let first = if y == 1 { group_y } else { 0 };
                    let second = if z == 1 { group_z + grid[2] } else { 0 };
                    // The third half word of the packet is the size of a group in x; the grid has 2
                    // threads per group in y.
                    first + second + 64 + 2 * grid[1]
                };
                let groups = (0..grid[1]).flat_map(|y| (0..grid[2]).map(move |z| (y, z)));
                let values: Vec<u32> = groups.map(value).collect();
                ensure(values.contains(&found), || {
                    format!("word {at} is {found}, not in {values:?}")
                })?;
            }
        }
        Ok(())
    })
}

fn generic_pointers() -> Case {
    case("opencl/launch", &["generic_pointers"], |device| {
        let v = numbers(1, 100, 1000);
        // The kernel reads at most 64 elements through a pointer to workgroup memory.
        for (use_local, n, used) in [(0, 100usize, 100usize), (1, 100, 64), (1, 40, 40)] {
            let mut contents = v.clone();
            contents.resize(200, -1);
            let g = device.buffer(&contents);
            device.line("generic_pointers", 1, 64, args![g, use_local, n as i32])?;
            contents[used..used + 64].fill(v[..used].iter().sum());
            device.expect(g, &contents)?;
        }
        Ok(())
    })
}

/// Time must pass: more for more work.
fn clocks() -> Case {
    case("opencl/launch", &["clocks"], |device| {
        let given = device.input(&[1.5f32; 64]);
        let mut before = 0;
        for n in [1, 8, 64] {
            let out = device.buffer(&[0u64]);
            // One thread alone, for which no other's steps pass.
            device.line("clocks", 1, 1, args![out, given, n])?;
            let time = device.read(out)[0];
            ensure(time > before && time > n as u64, || {
                format!("{n} rounds took {time}, fewer rounds {before}")
            })?;
            before = time;
        }
        ensure(before < 100_000, || format!("64 rounds took {before}"))
    })
}

/// The library is linked by the test, see `library.rs`.
fn library_calls() -> Case {
    case("opencl/library_calls", &["library_calls"], |device| {
        let (n, scale) = (60usize, 1.7f32);
        // In the first quarter of the circle, so that the power is of a positive number.
        let angles: Vec<f32> =
            numbers(1, 64, 1500).iter().map(|&n| n as f32 / 1000.0 + 0.01).collect();
        let (given, out) = (device.input(&angles), device.buffer(&[-1f32; 64]));
        let ticket = device.buffer(&[0i32]);
        device.line("library_calls", 2, 32, args![given, out, ticket, scale, n as i32])?;
        let found = device.read(out);
        ensure(found[n..] == [-1.0; 4], || "elements behind the last were written".to_owned())?;
        // Threads that draw a ticket draw different ones, in any order.
        let mut tickets = Vec::new();
        for (i, &found) in found[..n].iter().enumerate() {
            let mut v = f64::from(angles[i]).sin() as f32 * scale;
            if i < 32 {
                v = f64::from(v).powf(2.5) as f32 + 32.0;
            }
            if v > 0.5 {
                let drawn = (0..n).find(|&t| v + t as f32 == found);
                tickets.push(drawn.ok_or_else(|| format!("element {i}: {found} from {v}"))?);
            } else {
                ensure(found == v, || format!("element {i} is {found}, not {v}"))?;
            }
        }
        tickets.sort_unstable();
        ensure(tickets.iter().copied().eq(0..tickets.len()), || format!("tickets {tickets:?}"))?;
        assert!(tickets.len() < n, "some draw none");
        device.expect(ticket, &[tickets.len() as i32])
    })
}
