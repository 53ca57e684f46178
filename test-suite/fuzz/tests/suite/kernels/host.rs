//! Computes the results of the kernels on the host.
//!
//! Every kernel of the test suite has a check here. The check makes an input, computes the expected
//! results by an algorithm of the host, and compares them with the device's memory, bit for bit.
//! Floating-point numbers are computed in the order of the kernel, products rounded before they are
//! added, since the interpreter rounds them too where a compiler might contract. Where atomics add
//! numbers in any order, the inputs are chosen such that sums are exact. Where a result depends on
//! the order of threads, it must be the result of some order, and the check says which results
//! these are.

mod arithmetic;
mod dense;
mod flow;
mod graphs;
mod groups;
mod searches;
mod simulation;
mod waves;

use crate::kernels::device::{Device, Outcome};

/// A check of some kernels of one file.
pub(crate) struct Case {
    /// The file without its extension, in the folder of kernels.
    pub(crate) file: &'static str,
    /// The kernels that it launches.
    pub(crate) kernels: &'static [&'static str],
    /// Launches them and returns what is wrong.
    pub(crate) check: Box<dyn Fn(&mut Device<'_>) -> Outcome + Send + Sync>,
}

fn case(
    file: &'static str,
    kernels: &'static [&'static str],
    check: impl Fn(&mut Device<'_>) -> Outcome + Send + Sync + 'static,
) -> Case {
    Case { file, kernels, check: Box::new(check) }
}

/// All checks.
pub(crate) fn cases() -> Vec<Case> {
    let parts = [
        arithmetic::cases,
        dense::cases,
        flow::cases,
        graphs::cases,
        groups::cases,
        searches::cases,
        simulation::cases,
        waves::cases,
    ];
    parts.iter().flat_map(|part| part()).collect()
}

/// Pseudorandom numbers below a limit.
fn numbers(seed: u32, count: usize, limit: u32) -> Vec<i32> {
    // splitmix64.
    let mut state = u64::from(seed) << 32;
    let next = |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % u64::from(limit)) as i32
    };
    (0..count).map(next).collect()
}

/// Numbers below 125 with three binary digits behind the point: few enough that sums of them are
/// exact.
fn floats(seed: u32, count: usize) -> Vec<f32> {
    numbers(seed, count, 1000).into_iter().map(|n| n as f32 / 8.0).collect()
}

/// Numbers between -1 and 1 that use all digits.
fn fractions(seed: u32, count: usize) -> Vec<f32> {
    numbers(seed, count, 2_000_003).into_iter().map(|n| n as f32 / 1_000_001.5 - 1.0).collect()
}
