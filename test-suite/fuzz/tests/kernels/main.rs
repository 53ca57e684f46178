//! Our kernels, executed: what is in memory afterwards is what a plain computation gives.
//!
//! Each kernel is compiled by clang for each of its targets at -O0, -O1 and -O2 and runs in three schedules; the result
//! must be the same every time and equal the host's. The comparison is exact, floating-point numbers included: the host
//! computes in the same order.

mod host;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use host::{Case, Given};
use phalanx_ir::Context;
use phalanx_simt::{Arg, Launch, Program, Silent, launch::Order, run};
use phalanx_target::Target;
use phalanx_test_suite::kernels::Manifest;
use rayon::prelude::*;

/// Buffers after a run, by argument.
fn execute(text: &[u8], case: &Case, wave: u32, order: Order) -> Result<Vec<Vec<u8>>, String> {
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text)
        .map_err(|error| error.to_string())?;
    let module = parsed.module;
    let triple = module.triple.map(|t| module.context.text(t).into_owned()).unwrap_or_default();
    let program = Program::new(&module, &Target::new(&triple, "")).map_err(|e| e.to_string())?;
    let mut memory = program.memory(7).map_err(|e| e.to_string())?;
    let mut buffers = Vec::new();
    let mut args = Vec::new();
    for given in &case.args {
        args.push(match given {
            Given::Bits(bits) => Arg::bits(*bits),
            Given::Shared(bytes) => Arg::Shared(*bytes),
            Given::Buffer(bytes) => {
                let address = memory.buffer(bytes).map_err(|e| e.to_string())?;
                buffers.push((address, bytes.len() as u64));
                Arg::bits(address)
            }
        });
    }
    let launch =
        Launch { grid: case.grid, block: case.block, wave, args, order, ..Launch::default() };
    run(&program, case.kernel, &launch, &mut memory, &mut Silent).map_err(|e| e.to_string())?;
    buffers
        .into_iter()
        .map(|(address, size)| Ok(memory.bytes(address, size).map_err(|e| e.to_string())?.to_vec()))
        .collect()
}

/// All ways to compile and run one kernel; what was wrong.
fn check(manifest: &Manifest, folder: &Path, case: &Case) -> Vec<String> {
    let Some(compiler) = manifest.compiler() else { return Vec::new() };
    let variants = manifest.variants();
    let stem = format!("{}.", case.file);
    let mut wrong = Vec::new();
    let mut runs = 0;
    let is_meant =
        |name: &str| name.starts_with(&stem) && name.contains(".opencl.") && !name.ends_with(".g");
    for variant in variants.iter().filter(|v| is_meant(v.name())) {
        let path = manifest.compile(&compiler, variant, folder).expect("it compiles");
        #[allow(clippy::disallowed_methods, reason = "tests read files")]
        let text = std::fs::read(path).expect("it was written");
        let wave = if variant.name().contains("amdgcn") { 64 } else { 32 };
        for order in [Order::Lockstep, Order::Turns(50), Order::Random(3)] {
            runs += 1;
            let what = format!("{} of {} in {order:?}", case.kernel, variant.name());
            match execute(&text, case, wave, order) {
                Err(error) => wrong.push(format!("{what}: {error}")),
                Ok(found) => {
                    for (i, (found, expected)) in found.iter().zip(&case.expected).enumerate() {
                        let differs = found.iter().zip(expected).position(|(a, b)| a != b);
                        if let (Some(at), true) = (differs, !expected.is_empty()) {
                            wrong.push(format!("{what}: buffer {i} differs from byte {at} on"));
                        }
                    }
                }
            }
        }
    }
    assert!(runs > 0, "no kernel file is called {}", case.file);
    wrong
}

#[test]
fn results_are_those_of_the_host() {
    let manifest = Manifest::read().expect("manifest");
    if manifest.compiler().is_none() {
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let wrong: Vec<String> =
        host::cases().par_iter().flat_map(|case| check(&manifest, &folder, case)).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
