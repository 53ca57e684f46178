//! Sums, prefix sums, histograms and pipelines of workgroups.

use super::{Case, case, floats, fractions, numbers};
use crate::kernels::device::{args, ensure};

pub(super) fn cases() -> Vec<Case> {
    let mut all = sums();
    all.extend(scans());
    all.extend(histograms());
    all.extend([pipeline_rounds(), producer_consumer()]);
    all.extend(synchronisation());
    all
}

fn sums() -> Vec<Case> {
    let tree = case("opencl/reduce", &["reduce_sum"], |device| {
        let (n, groups) = (700usize, 4u32);
        let a = fractions(1, n);
        let (given, partial) = (device.input(&a), device.buffer(&[-1f32; 4]));
        device.line("reduce_sum", groups, 256, args![given, partial, n as i32])?;
        let stride = groups as usize * 256;
        let sum = |group: usize| {
            if group * 256 >= n {
                return -1.0;
            }
            let sum = |t| (group * 256 + t..n).step_by(stride).fold(0.0, |sum, i| sum + a[i]);
            halved((0..256).map(sum).collect())
        };
        device.expect(partial, &(0..4).map(sum).collect::<Vec<_>>())
    });
    let max = case("opencl/reduce", &["reduce_max_atomic"], |device| {
        let v: Vec<i32> = numbers(2, 700, 100_000).iter().map(|n| n - 200_000).collect();
        let (given, result) = (device.input(&v), device.buffer(&[i32::MIN]));
        device.line("reduce_max_atomic", 2, 64, args![given, result, 700])?;
        device.expect(result, &[v.iter().copied().max().unwrap_or(0)])
    });
    let shuffle = case("cuda/warp_reduce", &["block_sum_shuffle"], |device| {
        // Blocks add up in any order: the sum is exact.
        let a = floats(3, 600);
        let (given, total) = (device.input(&a), device.buffer(&[0.5f32]));
        device.line("block_sum_shuffle", 2, 256, args![given, total, 600])?;
        let exact: f64 = a.iter().map(|&x| f64::from(x)).sum();
        device.expect(total, &[exact as f32 + 0.5])
    });
    let redux = case("cuda/warp_reduce", &["warp_sum_redux"], |device| {
        let v: Vec<i32> = numbers(4, 128, 20).iter().map(|n| n - 7).collect();
        let (given, out) = (device.input(&v), device.buffer(&[-1i32; 4]));
        device.line("warp_sum_redux", 2, 64, args![given, out])?;
        let sums: Vec<i32> = v.chunks(32).map(|warp| warp.iter().sum()).collect();
        let expected = sums.iter().map(|&sum| if sum > 100 { sum } else { -1 });
        device.expect(out, &expected.collect::<Vec<_>>())
    });
    let count = case("cuda/warp_reduce", &["block_count"], |device| {
        for first in [0, 1] {
            let mut v = numbers(5, 192, 50);
            v[64..128].fill(3);
            v[0] = first;
            let (given, out) = (device.input(&v), device.buffer(&[-1i32; 3]));
            device.line("block_count", 3, 64, args![given, out, 30])?;
            // A block without any leaves early, if the first number is positive.
            let expected = v.chunks(64).map(|block| {
                let above = block.iter().filter(|&&v| v > 30).count() as i32;
                if above == 0 && first > 0 { -1 } else { above }
            });
            device.expect(out, &expected.collect::<Vec<_>>())?;
        }
        Ok(())
    });
    vec![tree, max, shuffle, redux, count]
}

/// The sum by a tree whose halves are added element by element.
fn halved(mut scratch: Vec<f32>) -> f32 {
    while scratch.len() > 1 {
        let half = scratch.len() / 2;
        scratch = (0..half).map(|t| scratch[t] + scratch[t + half]).collect();
    }
    scratch[0]
}

/// Sums of all elements up to each.
fn prefix_sums(v: &[i32]) -> Vec<i32> {
    let next = |sum: &mut i32, &x: &i32| {
        *sum += x;
        Some(*sum)
    };
    v.iter().scan(0, next).collect()
}

fn scans() -> Vec<Case> {
    let inclusive = case("opencl/scan", &["scan_inclusive"], |device| {
        let v = numbers(1, 400, 1000);
        let (given, out) = (device.input(&v), device.buffer(&[-1i32; 400]));
        device.line("scan_inclusive", 2, 256, args![given, out, 400])?;
        device.expect(out, &v.chunks(256).flat_map(prefix_sums).collect::<Vec<_>>())
    });
    let exclusive = case("opencl/scan", &["scan_exclusive"], |device| {
        let v = numbers(2, 1024, 1000);
        let (given, out) = (device.input(&v), device.buffer(&[-1i32; 1024]));
        let sums = device.buffer(&[-1i32; 2]);
        device.line("scan_exclusive", 2, 256, args![given, out, sums])?;
        let before = v.iter().zip(v.chunks(512).flat_map(prefix_sums)).map(|(v, sum)| sum - v);
        device.expect(out, &before.collect::<Vec<_>>())?;
        device.expect(sums, &v.chunks(512).map(|c| c.iter().sum()).collect::<Vec<_>>())
    });
    let segmented = case("opencl/segmented_scan", &["segmented_scan"], |device| {
        let (v, n) = (numbers(3, 200, 1000), 200usize);
        let heads: Vec<u8> = numbers(4, n, 6).iter().map(|&n| u8::from(n == 0)).collect();
        let (given, head) = (device.input(&v), device.input(&heads));
        let out = device.buffer(&vec![0i32; n]);
        device.line("segmented_scan", 2, 128, args![given, head, out, n as i32])?;
        let mut expected = Vec::new();
        for i in 0..n {
            let before = if i % 128 == 0 || heads[i] == 1 { 0 } else { expected[i - 1] };
            expected.push(before + v[i]);
        }
        device.expect(out, &expected)
    });
    let block = case("cuda/warp_scan", &["block_scan"], |device| {
        let v = numbers(5, 300, 1000);
        let (given, out) = (device.input(&v), device.buffer(&[-1i32; 300]));
        device.line("block_scan", 2, 160, args![given, out, 300])?;
        device.expect(out, &v.chunks(160).flat_map(prefix_sums).collect::<Vec<_>>())
    });
    vec![inclusive, exclusive, segmented, block]
}

fn counts(of: impl Iterator<Item = usize>, bins: usize) -> Vec<u32> {
    let mut counts = vec![0; bins];
    of.for_each(|bin| counts[bin] += 1);
    counts
}

fn histograms() -> Vec<Case> {
    let bytes = |seed, n| numbers(seed, n, 200).iter().map(|&n| n as u8).collect::<Vec<u8>>();
    let local = case("opencl/histogram", &["histogram_local"], move |device| {
        let data = bytes(1, 700);
        // As many bins for each thread, and more for some.
        for group in [64, 48] {
            let (given, bins) = (device.input(&data), device.buffer(&[0u32; 256]));
            device.line("histogram_local", 2, group, args![given, bins, 700])?;
            device.expect(bins, &counts(data.iter().map(|&b| b.into()), 256))?;
        }
        Ok(())
    });
    let private = case("opencl/histogram", &["histogram_private"], move |device| {
        let data = bytes(2, 64 * 11);
        let (given, bins) = (device.input(&data), device.buffer(&[0u32; 8]));
        device.line("histogram_private", 2, 32, args![given, bins, 11])?;
        device.expect(bins, &counts(data.iter().map(|b| (b >> 5).into()), 8))
    });
    let shared = case("cuda/histogram", &["histogram_shared"], move |device| {
        let data = bytes(3, 500);
        for block in [96, 48] {
            let (given, bins) = (device.input(&data), device.buffer(&[0u32; 256]));
            device.line("histogram_shared", 2, block, args![given, bins, 500])?;
            device.expect(bins, &counts(data.iter().map(|&b| b.into()), 256))?;
        }
        Ok(())
    });
    let aggregated = case("cuda/histogram", &["histogram_aggregated"], |device| {
        let keys: Vec<u32> = numbers(4, 128, 1000).iter().map(|&n| n as u32).collect();
        let (given, bins) = (device.input(&keys), device.buffer(&[0u32; 16]));
        device.line("histogram_aggregated", 2, 64, args![given, bins, 15u32])?;
        device.expect(bins, &counts(keys.iter().map(|key| (key % 16) as usize), 16))
    });
    vec![local, private, shared, aggregated]
}

/// One group settles and stops, the other goes on until the limit.
fn pipeline_rounds() -> Case {
    case("opencl/barriers", &["pipeline_rounds"], |device| {
        let mut a = fractions(1, 256);
        a[..128].iter_mut().for_each(|x| *x *= 0.02);
        let (tolerance, limit) = (0.005f32, 9);
        let data = device.buffer(&a);
        device.line("pipeline_rounds", 2, 128, args![data, tolerance, limit])?;
        let mut rounds = Vec::new();
        for group in a.chunks_mut(128) {
            let mut line = vec![0f32; 130];
            line[1..129].copy_from_slice(group);
            let mut round = 0;
            while round < limit {
                let mut busy = false;
                for colour in 0..2 {
                    for at in (1..129).filter(|at| (at - 1) % 2 == colour) {
                        let next = 0.5 * (line[at - 1] + line[at + 1]);
                        busy |= (next - line[at]).abs() > tolerance;
                        line[at] = next;
                    }
                }
                round += 1;
                if !busy {
                    break;
                }
            }
            rounds.push(round);
            group.copy_from_slice(&line[1..129]);
        }
        assert!(rounds[0] < limit && rounds[1] == limit, "{rounds:?}");
        device.expect(data, &a)
    })
}

fn producer_consumer() -> Case {
    case("opencl/barriers", &["producer_consumer"], |device| {
        let rounds = 5;
        let v = numbers(1, 2 * rounds * 64, 1000);
        let (given, out) = (device.input(&v), device.buffer(&[0i32; 128]));
        device.line("producer_consumer", 2, 128, args![given, out, rounds as i32])?;
        let expected = v.chunks(rounds * 64).flat_map(|group| {
            (0..64).map(|t| (0..rounds).map(|r| group[r * 64 + 63 - t]).sum()).collect::<Vec<i32>>()
        });
        device.expect(out, &expected.collect::<Vec<_>>())
    })
}

/// Threads that take turns by a lock, and blocks of which the last finishes the job.
fn synchronisation() -> Vec<Case> {
    let lock = case("cuda/spin_lock", &["locked_update"], |device| {
        let amounts: Vec<i32> = numbers(1, 90, 1000).iter().map(|n| n - 300).collect();
        let (lock, account) = (device.buffer(&[0i32]), device.buffer(&[5i64]));
        let given = device.input(&amounts);
        device.line("locked_update", 3, 32, args![lock, account, given, 90])?;
        let sum: i32 = amounts.iter().sum();
        device.expect(account, &[5 + i64::from(sum)])?;
        device.expect(lock, &[0])
    });
    let last = case("cuda/spin_lock", &["last_block_sum"], |device| {
        let a = floats(2, 160);
        let (given, partial) = (device.input(&a), device.buffer(&[0f32; 5]));
        let (arrived, total) = (device.buffer(&[0u32]), device.buffer(&[0f32]));
        device.line("last_block_sum", 5, 32, args![given, partial, arrived, total])?;
        let sums: Vec<f32> = a.chunks(32).map(|block| block.iter().sum()).collect();
        device.expect(partial, &sums)?;
        let sum: f32 = sums.iter().sum();
        device.expect(total, &[sum])?;
        // The counter has wrapped around, ready for the next launch.
        let count = device.read(arrived)[0];
        ensure(count == 0, || format!("{count} blocks are still counted"))
    });
    vec![lock, last]
}
