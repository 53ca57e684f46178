//! Fractals, random numbers, particles, light.

use super::{Case, case, floats, fractions, numbers};
use crate::kernels::device::{args, ensure};

pub(super) fn cases() -> Vec<Case> {
    let mut all = fractals();
    all.extend([pi_estimate(), random_walk(), barrier_option()]);
    all.extend([nbody_step(), ray_sphere(), cell_forces(), integrate_half()]);
    all
}

fn fractals() -> Vec<Case> {
    let mandelbrot = case("opencl/fractal", &["mandelbrot"], |device| {
        let (width, height, limit) = (22i32, 10i32, 40);
        let (x0, y0, step) = (-2.0f32, -1.03f32, 0.13f32);
        let count = device.buffer(&vec![-1i32; (width * height) as usize]);
        let args = args![count, x0, y0, step, width, height, limit];
        device.launch("mandelbrot", [3, 3, 1], [8, 4, 1], args)?;
        let rounds = |at: i32| {
            let (cx, cy) = (x0 + step * (at % width) as f32, y0 + step * (at / width) as f32);
            let (mut x, mut y) = (0f32, 0f32);
            let leaves = |_: &i32| {
                let (xx, yy) = (x * x, y * y);
                (x, y) = (xx - yy + cx, 2.0 * x * y + cy);
                xx + yy > 4.0
            };
            (0..limit).find(leaves).unwrap_or(limit)
        };
        device.expect(count, &(0..width * height).map(rounds).collect::<Vec<_>>())
    });
    let julia = case("opencl/fractal", &["julia_smooth"], |device| {
        let (width, limit) = (16i32, 30);
        let (cx, cy, step) = (-0.74f64, 0.11f64, 0.17f64);
        let shade = device.buffer(&[-1f32; 16 * 12]);
        let args = args![shade, cx, cy, step, width, limit];
        device.launch("julia_smooth", [2, 3, 1], [8, 4, 1], args)?;
        let colour = |at: i32| {
            let place = |p: i32| step * f64::from(p - width / 2);
            let (mut x, mut y) = (place(at % width), place(at / width));
            let mut k = 0;
            while k < limit && x * x + y * y < 256.0 {
                (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                k += 1;
            }
            let norm = x * x + y * y;
            if k == limit { 0.0 } else { k as f32 + 1.0 - (norm / 65536.0) as f32 }
        };
        device.expect(shade, &(0..16 * 12).map(colour).collect::<Vec<_>>())
    });
    vec![mandelbrot, julia]
}

fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn pi_estimate() -> Case {
    case("opencl/monte_carlo", &["pi_estimate"], |device| {
        let (seed, samples) = (0x1234_5678_9abc_def1u64, 40);
        let hits = device.buffer(&[3u32]);
        device.line("pi_estimate", 2, 64, args![hits, seed, samples])?;
        let mut expected = 3;
        for i in 0..128 {
            let mut state = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(i + 1);
            for _ in 0..samples {
                let bits = next_random(&mut state);
                let place = |bits: u64| bits as f32 / 16_777_216.0;
                let (x, y) = (place(bits & 0xff_ffff), place(bits >> 40));
                expected += u32::from(x * x + y * y < 1.0);
            }
        }
        let share = f64::from(expected - 3) / f64::from(128 * samples);
        assert!((4.0 * share - std::f64::consts::PI).abs() < 0.1, "{share}");
        device.expect(hits, &[expected])
    })
}

fn random_walk() -> Case {
    case("opencl/monte_carlo", &["random_walk"], |device| {
        let (seed, radius, limit) = (99u64, 5, 60);
        let length = device.buffer(&[-1i32; 64]);
        device.line("random_walk", 2, 32, args![length, seed, radius, limit])?;
        let walk = |i: u64| {
            let mut state = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let (mut x, mut y) = (0i32, 0i32);
            let leaves = |_: &i32| {
                let (dx, dy) =
                    [(1, 0), (-1, 0), (0, 1), (0, -1)][(next_random(&mut state) >> 62) as usize];
                (x, y) = (x + dx, y + dy);
                x * x + y * y > radius * radius
            };
            (0..limit).find(leaves).unwrap_or(limit)
        };
        let expected: Vec<i32> = (0..64).map(walk).collect();
        assert!(expected.contains(&limit) && expected.iter().any(|&n| n < limit));
        device.expect(length, &expected)
    })
}

/// The first block has surviving paths in each batch; with a level above the start no path survives
/// and all threads leave at once.
fn barrier_option() -> Case {
    case("cuda/option_pricing", &["barrier_option"], |device| {
        let (spot, strike, drift, volatility) = (100.0f64, 95.0f64, 0.001f64, 0.02f64);
        let (steps, batches) = (6, 3);
        for level in [97.0f64, 1000.0] {
            let payoff = device.buffer(&[-1f64; 64]);
            let args = args![payoff, spot, strike, level, drift, volatility, steps, batches];
            device.line("barrier_option", 2, 32, args)?;
            let mut expected = vec![0f64; 64];
            for block in 0..2u64 {
                let seed = |t: u64| (block * 32 + t + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                let mut states: Vec<u64> = (0..32).map(seed).collect();
                for _ in 0..batches {
                    let mut alive = 0;
                    for (t, state) in states.iter_mut().enumerate() {
                        let path = price_path(state, spot, level, drift, volatility, steps);
                        alive += usize::from(path.is_some());
                        if let Some(price) = path.filter(|&price| price > strike) {
                            expected[block as usize * 32 + t] += price - strike;
                        }
                    }
                    if alive == 0 {
                        break;
                    }
                }
            }
            device.expect(payoff, &expected)?;
        }
        Ok(())
    })
}

/// The last price of a path, unless it falls to the level.
fn price_path(
    state: &mut u64,
    spot: f64,
    level: f64,
    drift: f64,
    volatility: f64,
    steps: i32,
) -> Option<f64> {
    let mut price = spot;
    for _ in 0..steps {
        let uniform = |_| {
            *state ^= *state >> 12;
            *state ^= *state << 25;
            *state ^= *state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 * 2f64.powi(-53)
        };
        let normal = (0..12).map(uniform).fold(-6.0, |sum, x| sum + x);
        price *= 1.0 + drift + volatility * normal;
        if price <= level {
            return None;
        }
    }
    Some(price)
}

fn nbody_step() -> Case {
    case("opencl/nbody", &["nbody_step"], |device| {
        let n = 128usize;
        let (mut bodies, speeds, dt) = (fractions(1, 4 * n), fractions(2, 4 * n), 0.05f32);
        bodies.iter_mut().skip(3).step_by(4).for_each(|mass| *mass = mass.abs());
        let (position, velocity) = (device.input(&bodies), device.buffer(&speeds));
        let moved = device.buffer(&vec![0f32; 4 * n]);
        device.line("nbody_step", 1, 128, args![position, velocity, moved, dt, 1])?;
        let (mut velocities, mut places) = (Vec::new(), Vec::new());
        for (own, speed) in bodies.chunks(4).zip(speeds.chunks(4)) {
            let mut a = [0f32; 4];
            for other in bodies.chunks(4) {
                let d = [other[0] - own[0], other[1] - own[1], other[2] - own[2]];
                let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-4).sqrt();
                let pull = other[3] * inverse * inverse * inverse;
                (0..3).for_each(|k| a[k] += pull * d[k]);
            }
            let mut v: Vec<f32> = (0..4).map(|k| speed[k] + dt * a[k]).collect();
            velocities.extend(v.clone());
            v[3] = 0.0;
            places.extend((0..4).map(|k| own[k] + dt * v[k]));
        }
        device.expect(velocity, &velocities)?;
        device.expect(moved, &places)
    })
}

fn ray_sphere() -> Case {
    case("opencl/ray_sphere", &["ray_sphere"], |device| {
        let (width, height) = (14i32, 10i32);
        let mut balls = fractions(3, 5 * 7);
        for ball in balls.chunks_mut(5) {
            ball[2] = 2.0 + 3.0 * ball[2];
            ball[3] = 0.4 + ball[3].abs();
        }
        // The eye is on this one: whether a ray enters it is for rounding to say.
        balls[15..19].copy_from_slice(&[-0.375, 0.5, 0.0, 0.625]);
        let spheres = device.input(&balls);
        let image = device.buffer(&vec![-1f32; (width * height) as usize]);
        device.launch(
            "ray_sphere",
            [2, 2, 1],
            [8, 8, 1],
            args![spheres, 7, image, width, height],
        )?;
        let pixel = |at: i32| {
            let (px, py) = (at % width, at / width);
            let dx = (2 * px - width) as f32 / width as f32;
            let dy = (2 * py - height) as f32 / width as f32;
            let scale = 1.0 / (dx * dx + dy * dy + 1.0).sqrt();
            let (dx, dy, dz) = (dx * scale, dy * scale, scale);
            let mut hit: Option<(f32, f32)> = None;
            for ball in balls.chunks(5) {
                let &[x, y, z, radius, shade] = ball else { continue };
                let along = x * dx + y * dy + z * dz;
                let gap = x * x + y * y + z * z - along * along;
                let chord = radius * radius - gap;
                if along < 0.0 || chord < 0.0 {
                    continue;
                }
                let t = along - chord.sqrt();
                if t > 0.0 && hit.is_none_or(|(nearest, _)| t < nearest) {
                    hit = Some((t, shade));
                }
            }
            hit.map_or(0.0, |(nearest, shade)| shade / (1.0 + nearest))
        };
        let expected: Vec<f32> = (0..width * height).map(pixel).collect();
        let hits = expected.iter().filter(|&&x| x != 0.0).count();
        assert!(hits > 20 && hits < expected.len(), "{hits} hits");
        device.expect(image, &expected)
    })
}

/// `rsqrt.approx` is exactly rounded here, as in the interpreter.
fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

fn cell_forces() -> Case {
    case("cuda/particles", &["cell_forces"], |device| {
        let (n, cells, reach) = (60usize, 6, 0.25f32);
        let places = fractions(4, 2 * n);
        let mut cell_of: Vec<i32> = numbers(5, n, cells as u32);
        cell_of.sort_unstable();
        let mut particles = Vec::new();
        for i in 0..n {
            let (x, y) = (cell_of[i] as f32 * 0.2 + 0.1 * places[2 * i], 0.2 * places[2 * i + 1]);
            particles.push((x, y, cell_of[i]));
        }
        let starts: Vec<i32> =
            (0..=cells).map(|c| cell_of.partition_point(|&of| of < c) as i32).collect();
        let raw: Vec<u32> =
            particles.iter().flat_map(|p| [p.0.to_bits(), p.1.to_bits(), p.2 as u32]).collect();
        let (given, start) = (device.input(&raw), device.input(&starts));
        let force = device.buffer(&[-1f32; 128]);
        device.line("cell_forces", 2, 32, args![given, start, force, cells, reach, n as i32])?;
        let mut expected = Vec::new();
        for (i, p) in particles.iter().enumerate() {
            let mut f = [0f32; 2];
            for (j, q) in particles.iter().enumerate() {
                let (dx, dy) = (p.0 - q.0, p.1 - q.1);
                let distance = (dx * dx + dy * dy).sqrt();
                if i == j || (p.2 - q.2).abs() > 1 || distance >= reach {
                    continue;
                }
                let gap = 1.0 - distance / reach;
                let strength = gap * gap * rsqrt(distance + 0.01);
                f = [f[0] + strength * dx, f[1] + strength * dy];
            }
            expected.extend(f);
        }
        ensure(expected.iter().filter(|&&x| x != 0.0).count() > 60, || {
            "nobody is near".to_owned()
        })?;
        expected.resize(128, -1.0);
        device.expect(force, &expected)
    })
}

/// Velocities are small whole numbers, which `half` holds exactly, and so are their halves.
fn integrate_half() -> Case {
    case("cuda/particles", &["integrate_half"], |device| {
        let (n, dt) = (60usize, 0.13f32);
        let places: Vec<f32> = floats(6, 2 * n).iter().map(|x| x / 125.0).collect();
        let small = |seed| numbers(seed, n, 14).iter().map(|n| 2 * n - 14).collect::<Vec<i32>>();
        let halves =
            |v: &[i32]| v.iter().map(|&v| super::arithmetic::half_bits(v)).collect::<Vec<u16>>();
        let (mut vx, mut vy) = (small(7), small(8));
        // A zero changes its sign to one that whole numbers do not have.
        vx.iter_mut().chain(&mut vy).for_each(|v| *v = if *v == 0 { 4 } else { *v });
        let raw: Vec<u32> = places
            .chunks(2)
            .enumerate()
            .flat_map(|(i, p)| [p[0].to_bits(), p[1].to_bits(), i as u32])
            .collect();
        let particles = device.buffer(&raw);
        let (speed_x, speed_y) = (device.buffer(&halves(&vx)), device.buffer(&halves(&vy)));
        device.line("integrate_half", 2, 32, args![particles, speed_x, speed_y, dt, n as i32])?;
        let mut expected = Vec::new();
        for (i, place) in places.chunks(2).enumerate() {
            let (x, y) = (place[0] + dt * vx[i] as f32, place[1] + dt * vy[i] as f32);
            if !(0.0..=1.0).contains(&x) {
                vx[i] = -vx[i];
            }
            if !(0.0..=1.0).contains(&y) {
                vy[i] /= -2;
            }
            expected.extend([x.to_bits(), y.to_bits(), i as u32]);
        }
        device.expect(particles, &expected)?;
        device.expect(speed_x, &halves(&vx))?;
        device.expect(speed_y, &halves(&vy))
    })
}
