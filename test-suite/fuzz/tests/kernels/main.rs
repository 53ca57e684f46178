//! Our kernels, executed: what is in memory afterwards is what a plain computation gives.
//!
//! Each kernel is compiled by clang for each of its targets at -O0, -O1 and -O2 and runs in three schedules; the result
//! must be the same every time and equal the host's. The comparison is exact, floating-point numbers included: the host
//! computes in the same order.

mod host;
mod transforms;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use host::{Case, Given};
use phalanx_analysis::launch::launch_facts;
use phalanx_ir::{CallConv, Context, Type, TypeKind};
use phalanx_simt::{Arg, Launch, Program, Silent, launch::Order, run};
use phalanx_target::{Extent, Target};
use phalanx_test_suite::kernels::Manifest;
use rayon::prelude::*;

/// Buffers after a run, by argument.
fn execute(text: &[u8], case: &Case, wave: u32, order: Order) -> Result<Vec<Vec<u8>>, String> {
    execute_named(text, case.kernel, case, wave, order)
}

fn execute_named(
    text: &[u8],
    kernel: &str,
    case: &Case,
    wave: u32,
    order: Order,
) -> Result<Vec<Vec<u8>>, String> {
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
    let launch = Launch {
        grid: case.grid,
        block: case.block,
        wave,
        args,
        order,
        fuel: 8_000_000,
        ..Launch::default()
    };
    run(&program, kernel, &launch, &mut memory, &mut Silent).map_err(|e| e.to_string())?;
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

/// A launch of a kernel of which only the types of its parameters are known: buffers of small numbers, small numbers.
fn some_launch(text: &[u8], name: &str) -> Option<Case> {
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text).ok()?.module;
    let function = module.function(name)?;
    let small: Vec<u8> = (0..4096u32).flat_map(|i| (i % 7).to_le_bytes()).collect();
    let given = |&ty: &Type| {
        Some(match *module.context.type_kind(ty) {
            TypeKind::Ptr(3) => Given::Shared(8192),
            TypeKind::Ptr(_) => Given::Buffer(small.clone()),
            TypeKind::Int(_) => Given::Bits(12),
            TypeKind::Float => Given::Bits(1.5f32.to_bits().into()),
            TypeKind::Double => Given::Bits(1.5f64.to_bits().into()),
            _ => return None,
        })
    };
    let args = function.header.params.iter().map(given).collect::<Option<_>>()?;
    let triple = module.triple.map(|t| module.context.text(t).into_owned()).unwrap_or_default();
    let target = Target::new(&triple, "");
    let facts = launch_facts(&module.context, &function.header, &module.metadata, &target);
    let block = match facts.workgroup_size {
        [Extent::Exactly(x), Extent::Exactly(y), Extent::Exactly(z)] => [x, y, z],
        _ => [64, 1, 1],
    };
    Some(Case { file: "", kernel: "", block, grid: [1; 3], args, expected: Vec::new() })
}

/// Kernels of a compiled file, by name.
fn kernels_of(text: &[u8]) -> Vec<String> {
    let Ok(parsed) = phalanx_llvm::parse_module(Arc::new(Context::new()), text) else {
        return Vec::new();
    };
    let module = parsed.module;
    let is_kernel = |f: &&phalanx_ir::Function| {
        let conv = f.header.call_conv;
        !f.is_declaration()
            && [CallConv::AMDGPU_KERNEL, CallConv::PTX_KERNEL, CallConv::SPIR_KERNEL]
                .contains(&conv)
    };
    let name = |f: &phalanx_ir::Function| {
        f.header.name.symbol().map(|s| module.context.text(s).into_owned()).unwrap_or_default()
    };
    module.functions.iter().filter(is_kernel).map(name).collect()
}

/// Every kernel runs on some arguments, and what it computes does not depend on how it was optimised.
///
/// Arguments are made up, so a kernel may well leave its buffers: then nothing is compared, but that has to be said here.
#[test]
fn results_do_not_depend_on_the_level() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let variants = manifest.variants();
    let plain: Vec<_> = variants.iter().filter(|v| v.name().ends_with(".O0")).collect();
    let found: Vec<(String, Result<bool, String>)> = plain
        .par_iter()
        .flat_map(|variant| {
            let base = variant.name().trim_end_matches("O0");
            let texts: Vec<Vec<u8>> = ["O0", "O1", "O2"]
                .iter()
                .map(|level| {
                    let name = format!("{base}{level}");
                    let variant = variants.iter().find(|v| v.name() == name).expect("all levels");
                    let path = manifest.compile(&compiler, variant, &folder).expect("it compiles");
                    #[allow(clippy::disallowed_methods, reason = "tests read files")]
                    std::fs::read(path).expect("it was written")
                })
                .collect();
            let wave = if base.contains("amdgcn") { 64 } else { 32 };
            let run = |kernel: String| {
                let results: Result<Vec<_>, String> = texts
                    .iter()
                    .map(|text| {
                        let case = some_launch(text, &kernel).ok_or("parameters of other types")?;
                        execute_named(text, &kernel, &case, wave, Order::Lockstep)
                    })
                    .collect();
                let same = results.map(|r| r.windows(2).all(|pair| pair[0] == pair[1]));
                (format!("{base}{kernel}"), same)
            };
            kernels_of(&texts[0]).into_iter().map(run).collect::<Vec<_>>()
        })
        .collect();
    let mut wrong = Vec::new();
    for (name, result) in &found {
        let why_not = EXCEPTIONS.iter().find(|(kernel, _)| name.ends_with(kernel));
        match (result, why_not) {
            (Ok(true), None) | (Err(_) | Ok(false), Some(_)) => {}
            (Ok(true), Some((_, why))) => {
                // Some are excused on one target only.
                if !found.iter().any(|(n, r)| n.ends_with(name_of(name)) && *r != Ok(true)) {
                    wrong.push(format!("{name} is the same at all levels, although {why}"));
                }
            }
            (Ok(false), None) => wrong.push(format!("{name} differs between levels")),
            (Err(error), None) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let compared = found.iter().filter(|(_, result)| *result == Ok(true)).count();
    assert!(compared >= 140, "{compared} of {} kernels were compared", found.len());
}

fn name_of(kernel: &str) -> &str {
    kernel.rsplit('.').next().unwrap_or(kernel)
}

/// Kernels that cannot be compared on arguments that were made up, and why not.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("launch.amdgcn.opencl.clocks", "it measures time"),
    ("state_machine.amdgcn.opencl.irreducible_walk", "its threads race for a trace"),
    ("library_calls", "it calls a library that is not there"),
    ("fft_radix2", "it takes the size of its memory from an argument"),
    ("hash_lookup", "the table is full, so it never finds an empty place"),
    ("list_sum", "it follows pointers in its data"),
    ("nbody_step", "it takes the number of its bodies from the launch"),
    ("matmul_blocked", "it needs a block of 16 by 16 threads"),
    ("tree_depth", "the numbers are no tree"),
    ("tree_search", "the numbers are no tree"),
    ("irreducible_parser", "the numbers are no truth values"),
];
