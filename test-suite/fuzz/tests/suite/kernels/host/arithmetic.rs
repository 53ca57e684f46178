//! Kernels whose threads are on their own: vectors, numbers of all types, calls.

use std::f32::consts::PI;

use super::{Case, case, floats, fractions, numbers};
use crate::kernels::device::{args, same};

pub(super) fn cases() -> Vec<Case> {
    let mut all = vectors();
    all.extend([mixed_types(), vector_shapes(), collatz(), tagged_area()]);
    all.extend(indirect_calls());
    all
}

fn vectors() -> Vec<Case> {
    let add = case("opencl/vector_add", &["vector_add"], |device| {
        let (a, b, n) = (fractions(1, 100), fractions(2, 130), 100);
        let (left, right) = (device.input(&a), device.input(&b));
        let sum = device.buffer(&[7.0f32; 128]);
        device.line("vector_add", 2, 64, args![left, right, sum, n])?;
        let expected: Vec<f32> = (0..100).map(|i| a[i] + b[i]).chain([7.0; 28]).collect();
        device.expect(sum, &expected)
    });
    let grid_stride = case("opencl/saxpy", &["saxpy_grid_stride"], |device| {
        let (a, b) = (fractions(1, 100), fractions(2, 100));
        let (x, y) = (device.input(&a), device.buffer(&b));
        device.line("saxpy_grid_stride", 1, 32, args![x, y, 2.7f32, 100])?;
        // Written with `fma`, which rounds once.
        device.expect(y, &(0..100).map(|i| 2.7f32.mul_add(a[i], b[i])).collect::<Vec<_>>())
    });
    let vector = case("opencl/saxpy", &["saxpy_vector"], |device| {
        let (a, b) = (fractions(1, 104), fractions(2, 104));
        let (x, y) = (device.input(&a), device.buffer(&b));
        // The last vector is cut off after one element; what is behind it stays.
        device.line("saxpy_vector", 1, 32, args![x, y, 2.7f32, 101])?;
        let expected = (0..104).map(|i| if i < 101 { 2.7f32 * a[i] + b[i] } else { b[i] });
        device.expect(y, &expected.collect::<Vec<_>>())?;
        let untouched = device.buffer(&b);
        device.line("saxpy_vector", 1, 32, args![x, untouched, 0.0f32, 101])?;
        device.expect(untouched, &b)
    });
    let cuda = case("cuda/saxpy", &["saxpy"], |device| {
        let (a, b) = (fractions(3, 150), fractions(4, 150));
        let (x, y) = (device.input(&a), device.buffer(&b));
        device.line("saxpy", 2, 32, args![x, y, -1.3f32, 149])?;
        let expected = (0..150).map(|i| if i < 149 { -1.3f32 * a[i] + b[i] } else { b[i] });
        device.expect(y, &expected.collect::<Vec<_>>())
    });
    const PLUS: &str = "_Z14axpby_templateIfLb0EEvPKT_PS0_S0_S0_i";
    const MINUS: &str = "_Z14axpby_templateIdLb1EEvPKT_PS0_S0_S0_i";
    let template = case("cuda/saxpy", &[PLUS, MINUS], |device| {
        let (a, b) = (fractions(5, 70), fractions(6, 70));
        let (x, y) = (device.input(&a), device.buffer(&b));
        device.line(PLUS, 2, 32, args![x, y, 1.1f32, 0.3f32, 60])?;
        let expected = (0..70).map(|i| if i < 60 { 1.1 * a[i] + 0.3 * b[i] } else { b[i] });
        device.expect(y, &expected.collect::<Vec<f32>>())?;
        let wide = |x: Vec<f32>| x.into_iter().map(|x| f64::from(x) / 3.0).collect::<Vec<_>>();
        let (a, b) = (wide(a), wide(b));
        let (x, y) = (device.input(&a), device.buffer(&b));
        device.line(MINUS, 2, 32, args![x, y, 1.1f64, 0.3f64, 60])?;
        let expected = (0..70).map(|i| if i < 60 { -(1.1 * a[i] + 0.3 * b[i]) } else { b[i] });
        device.expect(y, &expected.collect::<Vec<f64>>())
    });
    vec![add, grid_stride, vector, cuda, template]
}

/// The bits of a small whole number as `half`.
pub(super) fn half_bits(value: i32) -> u16 {
    let sign = if value < 0 { 0x8000 } else { 0 };
    let size = value.unsigned_abs();
    assert!(size < 2048, "{value} has more digits than a half");
    if size == 0 {
        return sign;
    }
    let exponent = size.ilog2();
    let fraction = (size << (10 - exponent)) & 1023;
    sign | ((exponent + 15) << 10 | fraction) as u16
}

fn mixed_types() -> Case {
    case("opencl/types", &["mixed_types"], |device| {
        let whole: Vec<i32> = numbers(1, 64, 2000).iter().map(|n| n - 1000).collect();
        let d: Vec<f64> = fractions(2, 64).iter().map(|&x| f64::from(x) * 1e3).collect();
        let s: Vec<i16> =
            numbers(3, 64, 65536).iter().map(|&n| (n as u16 & !31) as i16 | 3).collect();
        // Every eighth has a byte of zero.
        let s: Vec<i16> =
            s.iter().enumerate().map(|(i, &s)| if i % 8 == 0 { 0 } else { s }).collect();
        let h: Vec<u16> = whole.iter().map(|&n| half_bits(n)).collect();
        let (halves, doubles, shorts) = (device.input(&h), device.input(&d), device.input(&s));
        let out = device.buffer(&[0i64; 64]);
        let scale = 3.0e6f64 + 0.1;
        device.line("mixed_types", 2, 32, args![halves, doubles, shorts, out, scale])?;
        let expected = (0..64).map(|i| {
            // Twice the half, and half of that: both exact.
            let wide = f64::from(whole[i]).mul_add(scale, d[i]);
            let narrow = s[i].wrapping_shl(3);
            let byte = (narrow ^ (narrow >> 8)) as u8;
            let value =
                if wide > 1e9 { wide as i64 } else { i64::from(byte) * -3 + i64::from(narrow % 7) };
            if byte == 0 { value - i64::from(value.count_ones()) } else { value }
        });
        device.expect(out, &expected.collect::<Vec<i64>>())
    })
}

fn vector_shapes() -> Case {
    case("opencl/types", &["vector_shapes"], |device| {
        let a = floats(1, 64 * 16);
        // Only the sign of a lane of the mask decides.
        let mask: Vec<i32> =
            numbers(2, 64 * 4, 20).iter().map(|&n| n - 9).map(|n| n * 11).collect();
        let (vectors, masks) = (device.input(&a), device.input(&mask));
        let (out, bytes) = (device.buffer(&[0f32; 128]), device.buffer(&[9u8; 256]));
        device.line("vector_shapes", 2, 32, args![vectors, masks, out, bytes])?;
        let (mut expected, mut triples) = (Vec::new(), Vec::new());
        for i in 0..64 {
            let (v, m) = (&a[16 * i..][..16], &mask[4 * i..][..4]);
            let sum: Vec<f32> = (0..8).map(|k| v[2 * k] * v[2 * k + 1] + v[k]).collect();
            let mut folded: Vec<f32> = (0..4).map(|k| sum[4 + k] - sum[3 - k]).collect();
            let chosen: Vec<f32> =
                (0..4).map(|k| if m[k] < 0 { folded[k] } else { -folded[k] }).collect();
            folded[(m[0] & 3) as usize] = chosen[1];
            expected.extend([folded[0].max(chosen[2]), folded[1].max(chosen[3])]);
            triples.push([1, m[1] as u8, (chosen[2] as i32) as u8]);
        }
        device.expect(out, &expected)?;
        // The fourth byte of a vector of three is unspecified.
        let found: Vec<u8> = device.read(bytes).chunks(4).flat_map(|c| c[..3].to_vec()).collect();
        same(&found, &triples.concat())
    })
}

fn collatz() -> Case {
    case("opencl/types", &["collatz_64"], |device| {
        let start: Vec<u64> = (1..=64).map(|i| i * 7 + 1).collect();
        let (first, steps) = (device.input(&start), device.buffer(&[0u16; 64]));
        let ceiling = 5000u64;
        device.line("collatz_64", 2, 32, args![first, steps, ceiling])?;
        let expected = start.iter().map(|&start| {
            let mut walk = vec![start];
            while walk[walk.len() - 1] != 1 && walk[walk.len() - 1] < ceiling {
                let n = walk[walk.len() - 1];
                walk.push(if n % 2 == 1 { 3 * n + 1 } else { n >> n.trailing_zeros() });
            }
            if walk[walk.len() - 1] == 1 { walk.len() as u16 - 1 } else { u16::MAX }
        });
        device.expect(steps, &expected.collect::<Vec<_>>())
    })
}

fn tagged_area() -> Case {
    case("opencl/linked_list", &["tagged_area"], |device| {
        let sizes = floats(1, 200);
        let (mut shapes, mut expected) = (Vec::new(), Vec::new());
        let scale = 0.7f32;
        let unit = PI * scale * scale;
        for (i, tag) in numbers(2, 90, 3).into_iter().enumerate() {
            let (a, b) = (sizes[2 * i], sizes[2 * i + 1]);
            shapes.extend([tag as u32, a.to_bits(), b.to_bits()]);
            expected.push(match tag {
                0 => a * b,
                1 => unit * a * a,
                _ => (a.to_bits() ^ b.to_bits()) as f32,
            });
        }
        let (shapes, out) = (device.input(&shapes), device.buffer(&[-1f32; 96]));
        device.line("tagged_area", 3, 32, args![shapes, out, scale, 90])?;
        expected.extend([-1.0; 6]);
        device.expect(out, &expected)
    })
}

fn indirect_calls() -> Vec<Case> {
    let table = case("cuda/indirect_calls", &["apply_table"], |device| {
        let (choice, data) = (numbers(1, 64, 100), fractions(2, 64));
        let data: Vec<f32> = data.iter().map(|x| 2.0 * x).collect();
        let apply = |which: i32, v: f32| match which & 3 {
            0 => v * v,
            1 => 0.5 * v,
            2 => v.clamp(0.0, 1.0),
            _ => v,
        };
        for ours in 4..8 {
            let (choices, values) = (device.input(&choice), device.buffer(&data));
            device.line("apply_table", 2, 32, args![choices, values, ours])?;
            let expected = (0..64).map(|i| apply(choice[i], apply(ours, data[i])));
            device.expect(values, &expected.collect::<Vec<_>>())?;
        }
        Ok(())
    });
    let virtual_calls = case("cuda/indirect_calls", &["apply_virtual"], |device| {
        let sizes = fractions(1, 64);
        let (given, out) = (device.input(&sizes), device.buffer(&[0f32; 64]));
        device.line("apply_virtual", 2, 32, args![given, out, 40])?;
        let area = |i: usize| match i < 40 {
            true => PI * sizes[i] * sizes[i],
            false => sizes[i] * sizes[i],
        };
        device.expect(out, &(0..64).map(|i| 2.0 * area(i)).collect::<Vec<_>>())
    });
    vec![table, virtual_calls]
}
