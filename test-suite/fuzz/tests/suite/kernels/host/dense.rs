//! Matrices, images and grids of cells.

use super::{Case, case, floats, fractions, numbers};
use crate::kernels::device::args;

pub(super) fn cases() -> Vec<Case> {
    let mut all = products();
    all.extend(stencils());
    all.extend([transpose(), life(), lu(), fourier()]);
    all.extend(convolutions());
    all.extend([
        heat::<1>("_Z9heat_stepILi1EEvPKfPfii", &["_Z9heat_stepILi1EEvPKfPfii"]),
        heat::<2>("_Z9heat_stepILi2EEvPKfPfii", &["_Z9heat_stepILi2EEvPKfPfii"]),
    ]);
    all
}

/// A matrix times a matrix, each sum from the left.
fn product(
    a: &[f32],
    b: &[f32],
    n: usize,
    multiply_add: impl Fn(f32, f32, f32) -> f32,
) -> Vec<f32> {
    let entry = |at: usize| {
        let (row, column) = (at / n, at % n);
        (0..n).fold(0.0, |sum, k| multiply_add(a[row * n + k], b[k * n + column], sum))
    };
    (0..n * n).map(entry).collect()
}

fn products() -> Vec<Case> {
    let size = 20;
    let naive = case("opencl/matmul", &["matmul_naive"], move |device| {
        let (a, b) = (fractions(1, size * size), fractions(2, size * size));
        let (left, right) = (device.input(&a), device.input(&b));
        let out = device.buffer(&vec![0f32; size * size]);
        let args = args![left, right, out, size as i32];
        device.launch("matmul_naive", [3, 3, 1], [8, 8, 1], args)?;
        device.expect(out, &product(&a, &b, size, f32::mul_add))
    });
    let tiled = case("opencl/matmul", &["matmul_tiled"], move |device| {
        // The edge of the matrix is between two waves, or within one.
        for size in [size, 18] {
            let (a, b) = (fractions(1, size * size), fractions(2, size * size));
            let (left, right) = (device.input(&a), device.input(&b));
            let out = device.buffer(&vec![0f32; size * size]);
            let args = args![left, right, out, size as i32];
            device.launch("matmul_tiled", [2, 2, 1], [16, 16, 1], args)?;
            device.expect(out, &product(&a, &b, size, f32::mul_add))?;
        }
        Ok(())
    });
    let blocked = case("cuda/matmul", &["matmul_blocked"], |device| {
        let n = 64;
        let (a, b) = (fractions(1, n * n), fractions(2, n * n));
        let (left, right) = (device.input(&a), device.input(&b));
        let out = device.buffer(&vec![0f32; n * n]);
        // One block of four: the upper left quarter.
        device.launch("matmul_blocked", [1; 3], [32, 8, 1], args![left, right, out, n as i32])?;
        let mut expected = product(&a, &b, n, |a, b, sum| a * b + sum);
        for (at, entry) in expected.iter_mut().enumerate() {
            if at / n >= 32 || at % n >= 32 {
                *entry = 0.0;
            }
        }
        device.expect(out, &expected)
    });
    vec![naive, tiled, blocked]
}

fn transpose() -> Case {
    case("opencl/transpose", &["transpose_tiled"], |device| {
        let (width, height) = (39usize, 33usize);
        let m = floats(1, width * height);
        let (given, out) = (device.input(&m), device.buffer(&vec![0f32; width * height]));
        let args = args![given, out, width as i32, height as i32];
        device.launch("transpose_tiled", [2, 2, 1], [32, 8, 1], args)?;
        let turned = (0..width * height).map(|at| m[at % height * width + at / height]);
        device.expect(out, &turned.collect::<Vec<_>>())
    })
}

fn life() -> Case {
    case("opencl/life", &["life_step"], |device| {
        let (width, height) = (20i32, 12i32);
        let cells: Vec<u8> = numbers(1, 240, 3).iter().map(|&n| u8::from(n == 0)).collect();
        let (given, next) = (device.input(&cells), device.buffer(&[9u8; 240]));
        device.launch("life_step", [3, 2, 1], [8, 8, 1], args![given, next, width, height])?;
        let rule = |at: i32| {
            let (x, y) = (at % width, at / width);
            let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
            let alive: u8 = around
                .filter(|&d| d != (0, 0))
                .map(|(dx, dy)| {
                    let (x, y) = ((x + dx).rem_euclid(width), (y + dy).rem_euclid(height));
                    cells[(y * width + x) as usize]
                })
                .sum();
            u8::from(alive == 3 || alive == 2 && cells[at as usize] == 1)
        };
        device.expect(next, &(0..240).map(rule).collect::<Vec<_>>())
    })
}

fn stencils() -> Vec<Case> {
    let line = case("opencl/stencil", &["stencil_1d"], |device| {
        let weights = [0.05f32, 0.1, 0.2, 0.3, 0.2, 0.1, 0.07];
        let weight = device.input(&weights);
        // The end is within the third workgroup, or within what the second reads of it.
        for n in [300, 257] {
            let a = fractions(1, n);
            let (given, out) = (device.input(&a), device.buffer(&vec![0f32; n]));
            device.line("stencil_1d", 3, 128, args![given, out, weight, n as i32])?;
            let at = |i: i32| usize::try_from(i).ok().and_then(|i| a.get(i)).copied();
            let term = |i: i32, k: usize| weights[k] * at(i + k as i32 - 3).unwrap_or(0.0);
            let sum = |i: i32| (0..7).fold(0f32, |sum, k| term(i, k) + sum);
            device.expect(out, &(0..n as i32).map(sum).collect::<Vec<_>>())?;
        }
        Ok(())
    });
    let plane = case("opencl/stencil", &["stencil_2d"], |device| {
        let (w, h) = (21usize, 13usize);
        let a = fractions(2, w * h);
        let (given, out) = (device.input(&a), device.buffer(&vec![0f32; w * h]));
        let args = args![given, out, w as i32, h as i32];
        device.launch("stencil_2d", [3, 2, 1], [8, 8, 1], args)?;
        let next = (0..w * h).map(|at| {
            let (x, y) = (at % w, at / w);
            if x == 0 || y == 0 || x == w - 1 || y == h - 1 {
                return a[at];
            }
            0.5 * a[at] + 0.125 * (a[at - 1] + a[at + 1] + a[at - w] + a[at + w])
        });
        device.expect(out, &next.collect::<Vec<_>>())
    });
    let space = case("opencl/stencil", &["stencil_3d"], |device| {
        let (nx, ny, nz) = (10usize, 12usize, 6usize);
        let plane = nx * ny;
        let a = fractions(3, plane * nz);
        let (given, out) = (device.input(&a), device.buffer(&vec![0f32; plane * nz]));
        let args = args![given, out, nx as i32, ny as i32, nz as i32];
        device.launch("stencil_3d", [2, 2, 1], [8, 8, 1], args)?;
        let next = (0..plane * nz).map(|at| {
            let (x, y, z) = (at % nx, at / nx % ny, at / plane);
            if [x, y, z].contains(&0) || x == nx - 1 || y == ny - 1 || z == nz - 1 {
                return 0.0;
            }
            let along = a[at - plane] + a[at + plane];
            along + a[at - 1] + a[at + 1] + a[at - nx] + a[at + nx] - 6.0 * a[at]
        });
        device.expect(out, &next.collect::<Vec<_>>())
    });
    vec![line, plane, space]
}

fn convolutions() -> Vec<Case> {
    let rows = case("opencl/convolution", &["convolve_separable_rows"], |device| {
        let (width, height) = (100usize, 3usize);
        let gauss = [0.01f32, 0.05, 0.12, 0.20, 0.24, 0.20, 0.12, 0.05, 0.01];
        let a = fractions(1, width * height);
        let (given, out) = (device.input(&a), device.buffer(&vec![0f32; width * height]));
        let args = args![given, out, width as i32];
        device.launch("convolve_separable_rows", [2, 3, 1], [64, 1, 1], args)?;
        let mut expected = Vec::new();
        for row in a.chunks(width) {
            for x in 0..width {
                let pixel = |k: usize| (x + k).checked_sub(4).and_then(|x| row.get(x)).copied();
                let sum = |sum: f32, k: usize| gauss[k] * pixel(k).unwrap_or(0.0) + sum;
                expected.push((0..9).fold(0f32, sum));
            }
        }
        device.expect(out, &expected)
    });
    let clamped = case("opencl/convolution", &["convolve_clamped"], |device| {
        let (width, height, radius) = (13i32, 9i32, 1i32);
        let weights = [0.05f32, 0.1, 0.05, 0.1, 0.39, 0.1, 0.05, 0.1, 0.05];
        let image: Vec<u8> =
            numbers(2, (width * height * 4) as usize, 256).iter().map(|&n| n as u8).collect();
        let (given, weight) = (device.input(&image), device.input(&weights));
        let out = device.buffer(&vec![0u8; image.len()]);
        let args = args![given, out, weight, radius, width, height];
        device.launch("convolve_clamped", [2, 2, 1], [8, 8, 1], args)?;
        let mut expected = Vec::new();
        for y in 0..height {
            for x in 0..width {
                for colour in 0..4 {
                    let mut sum = 0f32;
                    for (k, weight) in weights.iter().enumerate() {
                        let (dx, dy) = (k as i32 % 3 - 1, k as i32 / 3 - 1);
                        let (x, y) = ((x + dx).clamp(0, width - 1), (y + dy).clamp(0, height - 1));
                        sum += weight * f32::from(image[(4 * (y * width + x) + colour) as usize]);
                    }
                    expected.push(sum as u8);
                }
            }
        }
        device.expect(out, &expected)
    });
    vec![rows, clamped]
}

/// A whole LU factorisation, a launch for each column.
fn lu() -> Case {
    case("opencl/dynamic_programming", &["lu_column"], |device| {
        let n = 12usize;
        let mut m = fractions(1, n * n);
        for i in 0..n {
            m[i * n + i] += 8.0;
        }
        // Factors of zero.
        (2..n).step_by(3).for_each(|row| m[row * n] = 0.0);
        let matrix = device.buffer(&m);
        for k in 0..n as i32 {
            device.line("lu_column", 1, 8, args![matrix, n as i32, k])?;
        }
        let given = m.clone();
        for k in 0..n {
            let pivot = 1.0 / m[k * n + k];
            for r in k + 1..n {
                let factor = m[r * n + k] * pivot;
                m[r * n + k] = factor;
                for c in k + 1..n {
                    m[r * n + c] -= factor * m[k * n + c];
                }
            }
        }
        // The factors do give the matrix that they are made from.
        for (at, &given) in given.iter().enumerate() {
            let (r, c) = (at / n, at % n);
            let lower = |k: usize| if k == r { 1.0 } else { f64::from(m[r * n + k]) };
            let sum: f64 = (0..=r.min(c)).map(|k| lower(k) * f64::from(m[k * n + c])).sum();
            assert!((sum - f64::from(given)).abs() < 1e-5, "{at}: {sum} {given}");
        }
        device.expect(matrix, &m)
    })
}

fn fourier() -> Case {
    case("opencl/dynamic_programming", &["fft_radix2"], |device| {
        // More points than threads, as many for each or not, and fewer.
        for (log_n, group) in [(6u32, 16), (6, 24), (3, 16)] {
            let (n, groups) = (1usize << log_n, 2usize);
            let a = fractions(1, 2 * n * groups);
            let angle = |k: usize| -2.0 * std::f64::consts::PI * k as f64 / n as f64;
            let twiddle: Vec<f32> =
                (0..n / 2).flat_map(|k| [angle(k).cos() as f32, angle(k).sin() as f32]).collect();
            let (given, factors) = (device.input(&a), device.input(&twiddle));
            let out = device.buffer(&vec![0f32; a.len()]);
            let scratch = crate::kernels::device::Given::Shared(8 * n as u64);
            let args = args![given, out, factors, scratch, log_n];
            device.line("fft_radix2", groups as u32, group, args)?;
            let mut expected = Vec::new();
            for part in a.chunks(2 * n) {
                let result = butterflies(part, &twiddle, log_n);
                // Within rounding that is the sum that a Fourier transform is.
                for f in 0..n {
                    let (mut re, mut im) = (0f64, 0f64);
                    for k in 0..n {
                        let (x, y) = (f64::from(part[2 * k]), f64::from(part[2 * k + 1]));
                        let (sin, cos) = angle(k * f % n).sin_cos();
                        re += x * cos - y * sin;
                        im += x * sin + y * cos;
                    }
                    assert!((re - f64::from(result[2 * f])).abs() < 1e-4, "{f}");
                    assert!((im - f64::from(result[2 * f + 1])).abs() < 1e-4, "{f}");
                }
                expected.extend(result);
            }
            device.expect(out, &expected)?;
        }
        Ok(())
    })
}

fn butterflies(part: &[f32], twiddle: &[f32], log_n: u32) -> Vec<f32> {
    let n = part.len() / 2;
    let mut s = vec![(0f32, 0f32); n];
    for k in 0..n {
        s[k.reverse_bits() >> (usize::BITS - log_n)] = (part[2 * k], part[2 * k + 1]);
    }
    for half in (0..log_n).map(|stage| 1usize << stage) {
        for low in (0..n).filter(|low| low & half == 0) {
            let turn = (low % half) * (n / (2 * half));
            let (wx, wy) = (twiddle[2 * turn], twiddle[2 * turn + 1]);
            let (a, b) = (s[low], s[low + half]);
            let p = (wx * b.0 - wy * b.1, wx * b.1 + wy * b.0);
            s[low] = (a.0 + p.0, a.1 + p.1);
            s[low + half] = (a.0 - p.0, a.1 - p.1);
        }
    }
    s.into_iter().flat_map(|(x, y)| [x, y]).collect()
}

/// The weights are a constant that the host sets.
fn heat<const RADIUS: usize>(name: &'static str, names: &'static [&'static str]) -> Case {
    case("cuda/stencil", names, move |device| {
        let (w, h) = (20i32, 18i32);
        let weights = [0.4f32, 0.1, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0];
        let a = fractions(1, (w * h) as usize);
        let (given, out) = (device.input(&a), device.buffer(&vec![0f32; a.len()]));
        device.set_variable("weights", &weights)?;
        device.launch(name, [2, 2, 1], [16, 16, 1], args![given, out, w, h])?;
        let pixel = |x: i32, y: i32| a[(y.clamp(0, h - 1) * w + x.clamp(0, w - 1)) as usize];
        let next = (0..w * h).map(|at| {
            let (x, y) = (at % w, at / w);
            (1..=RADIUS as i32).fold(weights[0] * pixel(x, y), |sum, r| {
                let cross = pixel(x - r, y) + pixel(x + r, y) + pixel(x, y - r) + pixel(x, y + r);
                sum + weights[r as usize] * cross
            })
        });
        device.expect(out, &next.collect::<Vec<_>>())
    })
}
