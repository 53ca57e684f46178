//! Executes our kernels, and compares the contents of memory afterwards with a plain computation.
//!
//! Each file of kernels is compiled by clang for each of its targets at -O0 and -O2, and its
//! kernels run in three schedules; with `PHALANX_LONG` also at -O1, and at -O0 for both widths of
//! waves. The results must equal the host's every time ([`host`]). Every kernel must have such a
//! check, and each check must fail for a device that does nothing or gets a bit wrong.

mod device;
mod host;
mod library;
mod linear;
mod races;
mod transforms;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use device::{Defect, Device};
use host::Case;
use phalanx_fuzz::oracle::{Claims, Shares, Tally};
use phalanx_ir::{CallConv, Context, Function, Module};
use phalanx_simt::{Program, launch::Order};
use phalanx_target::Target;
use phalanx_test_suite::kernels::{Manifest, Variant};
use phalanx_testing::llvm_tools;
use rayon::prelude::*;

/// Where compiled kernels are kept.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels")
}

/// Whether a file leaves functions to the linker.
fn is_linked(variant: &Variant) -> bool {
    variant.file.ends_with("library_calls.cl")
}

/// The text that clang makes of a file.
fn text(manifest: &Manifest, compiler: &llvm_tools::Program, variant: &Variant) -> String {
    let path = manifest.compile(compiler, variant, &folder()).expect("it compiles");
    #[allow(clippy::disallowed_methods, reason = "tests read files")]
    let mut text = std::fs::read_to_string(path).expect("it was written");
    if is_linked(variant) {
        text = library::link(&text, &variant.target);
    }
    text
}

/// The module of that text.
fn compiled(manifest: &Manifest, compiler: &llvm_tools::Program, variant: &Variant) -> Module {
    let text = text(manifest, compiler, variant);
    let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes());
    parsed.unwrap_or_else(|error| panic!("{}: {error}", variant.name())).module
}

/// The variants without debug information, which does not affect execution. Code at -O0 takes long,
/// and is much the same for waves of 64; code at -O1 is much that at -O2.
fn variants(manifest: &Manifest) -> Vec<Variant> {
    let is_wanted = |variant: &Variant| match variant.level.as_str() {
        "-O0" => phalanx_fuzz::is_long() || wave(variant) == 32,
        level => phalanx_fuzz::is_long() || level == "-O2",
    };
    all_variants(manifest).into_iter().filter(is_wanted).collect()
}

/// The same at all levels, for both widths of waves.
fn all_variants(manifest: &Manifest) -> Vec<Variant> {
    manifest.variants().into_iter().filter(|variant| !variant.debug).collect()
}

/// The file of a variant as cases name it.
fn file(variant: &Variant) -> String {
    Path::new(&variant.file).with_extension("").display().to_string()
}

/// The program of a module, for its target.
fn program<'m>(module: &'m Module) -> Program<'m> {
    let triple = module.triple.map(|t| module.context.text(t).into_owned()).unwrap_or_default();
    Program::new(module, &Target::new(&triple, "")).expect("it is interpreted")
}

fn wave(variant: &Variant) -> u32 {
    if variant.target == "amdgcn" { 64 } else { 32 }
}

/// In which orders threads are executed.
const ORDERS: [Order; 3] = [Order::Lockstep, Order::Turns(50), Order::Random(3)];

/// One order, variants taking turns; all if tests may take long. For kernels that were changed: as
/// they are they run in each.
fn orders(variant: &Variant) -> &'static [Order] {
    let turn = turn(variant, ORDERS.len());
    if phalanx_fuzz::is_long() { &ORDERS } else { &ORDERS[turn..=turn] }
}

/// A number below a count that variants take turns with.
fn turn(variant: &Variant, count: usize) -> usize {
    variant.name().bytes().map(usize::from).sum::<usize>() % count
}

/// Runs the checks of a file in these orders of threads; returns what is wrong.
fn check(module: &Module, variant: &Variant, cases: &[Case], orders: &[Order]) -> Vec<String> {
    let program = program(module);
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| case.file == file(variant)) {
        for &order in orders {
            let mut device = Device::new(&program, wave(variant), order, None);
            let what = || format!("{:?} of {} in {order:?}", case.kernels, variant.name());
            if let Err(error) = (case.check)(&mut device) {
                wrong.push(format!("{}: {error}", what()));
            }
            let launched = device.launched().iter().map(String::as_str);
            if !launched.eq(case.kernels.iter().copied().collect::<BTreeSet<_>>()) {
                wrong.push(format!("{} launches {:?}", what(), device.launched()));
            }
        }
    }
    wrong
}

#[test]
fn results_are_those_of_the_host() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    let check = |variant: &Variant| {
        check(&compiled(&manifest, &compiler, variant), variant, &cases, &ORDERS)
    };
    let wrong: Vec<String> = variants(&manifest).par_iter().flat_map(check).collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Checks claims about the kernels of a file against their execution, under several hierarchies;
/// returns what differs within waves.
fn held(text: &str, module: &Module, variant: &Variant, cases: &[Case]) -> (Tally, Shares) {
    let mut program = program(module);
    let mut claims = Claims::of(text, &program).expect("the text was read before");
    let hierarchies = claims.hierarchies(&program, 1, 2);
    for at in 0..hierarchies.iter().map(|(_, all)| all.len()).max().unwrap_or(1) {
        for (of, all) in &hierarchies {
            program.set_hierarchy(*of, all[at % all.len()].clone());
        }
        for case in cases.iter().filter(|case| case.file == file(variant)) {
            let order = [Order::Random(3), Order::Lockstep][at % 2];
            let mut device = Device::new(&program, wave(variant), order, None).holding(&mut claims);
            // Results equal the host's under the function's own hierarchy only, but claims must
            // hold under any hierarchy.
            let _ = (case.check)(&mut device);
        }
    }
    // Functions that are linked to it are not counted.
    let own = |name: &str| !is_linked(variant) || name.ends_with("library_calls");
    (Tally { functions: kernels_of(module).len() as u64, ..claims.tally() }, claims.shares(own))
}

/// Writes down what was seen to differ, for `cargo xtask precision --seen`: a line for each file as
/// compiled.
#[expect(clippy::disallowed_methods, reason = "a chore reads it")]
fn write_down(mut seen: Vec<(&Variant, Shares)>) {
    seen.sort_by_key(|(variant, _)| variant.name());
    let line = |(variant, shares): &(&Variant, Shares)| {
        let numbers: Vec<String> = shares.numbers().map(|n| n.to_string()).collect();
        let Variant { target, level, .. } = variant;
        format!("{target} {level} {} {}\n", file(variant), numbers.join(" "))
    };
    let lines: String = seen.iter().map(line).collect();
    std::fs::write(folder().join("seen_to_differ.txt"), lines).expect("it can be written");
}

/// The kernel whose load races with writes of other threads: it reads a maximum that may be out of
/// date, possibly another one in each thread. A program with such a race has no defined meaning,
/// and the claim that the load is uniform assumes that there is none.
const RACING_LOAD: &str = "@reduce_max_atomic.best";

#[test]
fn claims_about_kernels_hold() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    let held = |variant: &Variant| {
        let text = text(&manifest, &compiler, variant);
        let module = compiled(&manifest, &compiler, variant);
        let (mut tally, shares) = held(&text, &module, variant, &cases);
        for unsound in &mut tally.unsound {
            unsound.insert_str(0, &format!("{}: ", variant.name()));
        }
        (tally, shares)
    };
    let variants = all_variants(&manifest);
    let parts: Vec<(Tally, Shares)> = variants.par_iter().map(held).collect();
    let mut all = Tally::default();
    let mut seen = Vec::new();
    for (variant, (tally, shares)) in variants.iter().zip(parts) {
        all.merge(tally);
        // Without unsound claims, only values that are called divergent differ; unsound claims are
        // handled below.
        assert!((0..3).all(|what| shares.seen[what] <= shares.divergent[what]), "{shares:?}");
        seen.push((variant, shares));
    }
    write_down(seen);
    let (racing, wrong): (Vec<String>, Vec<String>) =
        all.unsound.iter().cloned().partition(|unsound| unsound.contains(RACING_LOAD));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The check must detect the wrong claim.
    assert!(!racing.is_empty(), "the race is not seen");
    assert!(all.claims > 20_000 && all.observed > 10_000, "{all}");
}

/// A negative control.
#[test]
fn defects_are_noticed() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    let mut unnoticed = Vec::new();
    for variant in variants(&manifest).into_iter().filter(|variant| variant.level == "-O2") {
        let module = compiled(&manifest, &compiler, &variant);
        let program = program(&module);
        for case in cases.iter().filter(|case| case.file == file(&variant)) {
            let mut is_noticed = |defect| {
                let order = Order::Turns(50);
                let mut device = Device::new(&program, wave(&variant), order, Some(defect));
                let is_open = is_open(case, defect);
                if (case.check)(&mut device).is_ok() != is_open {
                    unnoticed.push(format!("{defect:?}: {:?} of {}", case.kernels, variant.name()));
                }
                device.output_count()
            };
            let outputs = is_noticed(Defect::Idle);
            for number in 0..outputs {
                is_noticed(Defect::WrongBit(number));
            }
        }
    }
    assert!(
        unnoticed.is_empty(),
        "not noticed, or noticed and called open:\n{}",
        unnoticed.join("\n")
    );
}

/// Defects that no check can detect: a time that is off by one, and the second launch of kernels
/// whose groups race.
fn is_open(case: &Case, defect: Defect) -> bool {
    match (case.kernels, defect) {
        (["clocks"], Defect::WrongBit(_)) => true,
        (["launch_facts"], Defect::WrongBit(number)) => number == 1,
        _ => false,
    }
}

/// Kernels whose threads race, and why that does not affect the checked results.
const RACY: &[(&str, &str)] = &[
    ("ballot_loop", "a warp writes its count from every lane"),
    ("bfs_level", "whoever finds a node writes the same level"),
    ("block_count", "a block writes its count from every thread"),
    ("components_hook", "a parent that is out of date is hooked again in the next round"),
    ("components_jump", "every parent on the way leads to the same root"),
    ("hash_insert", "whoever finds no place writes the same"),
    ("irreducible_walk", "any of the traces is right"),
    ("launch_facts", "any of the groups is right"),
    ("odd_even_sort", "whoever swaps writes the same"),
    ("pipeline_rounds", "whoever is busy writes the same"),
    ("reduce_max_atomic", "a maximum that is out of date costs an atomic operation"),
    ("sssp_relax", "a distance that is out of date is relaxed again in the next round"),
    ("warp_sum_redux", "a warp writes its sum from every lane"),
    ("wave_uniform_branch", "the threads of a column write the same"),
];

#[test]
fn races_are_known() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    let variants: Vec<Variant> =
        all_variants(&manifest).into_iter().filter(|variant| variant.level == "-O1").collect();
    let racy_of = |variant: &Variant| {
        let module = compiled(&manifest, &compiler, variant);
        let program = program(&module);
        let mut racy = BTreeSet::new();
        for case in cases.iter().filter(|case| case.file == file(variant)) {
            let order = Order::Turns(50);
            let mut device = Device::new(&program, wave(variant), order, None).watching();
            (case.check)(&mut device).unwrap_or_else(|e| panic!("{:?}: {e}", case.kernels));
            racy.extend(device.racy().map(str::to_owned));
        }
        racy
    };
    let found: BTreeSet<String> = variants.par_iter().flat_map_iter(racy_of).collect();
    let known: BTreeSet<String> = RACY.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, known, "kernels that race, and those that are known to");
}

/// Kernels of a compiled file, by name.
fn kernels_of(module: &Module) -> BTreeSet<String> {
    let is_kernel = |f: &&Function| {
        let conv = f.header.call_conv;
        !f.is_declaration()
            && [CallConv::AMDGPU_KERNEL, CallConv::PTX_KERNEL, CallConv::SPIR_KERNEL]
                .contains(&conv)
    };
    let name = |f: &Function| {
        f.header.name.symbol().map(|s| module.context.text(s).into_owned()).unwrap_or_default()
    };
    module.functions.iter().filter(is_kernel).map(name).collect()
}

#[test]
fn every_kernel_is_checked() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    let mut count = 0;
    for variant in all_variants(&manifest).iter().filter(|variant| variant.level == "-O0") {
        let present = kernels_of(&compiled(&manifest, &compiler, variant));
        let of_file = cases.iter().filter(|case| case.file == file(variant));
        let checked: BTreeSet<String> =
            of_file.flat_map(|case| case.kernels).map(|&name| name.to_owned()).collect();
        assert_eq!(present, checked, "kernels of {} and those that are checked", variant.name());
        count += present.len();
    }
    let files: BTreeSet<String> = variants(&manifest).iter().map(file).collect();
    let lost: Vec<&str> =
        cases.iter().map(|case| case.file).filter(|&file| !files.contains(file)).collect();
    assert_eq!(lost, Vec::<&str>::new(), "files that are checked and not there");
    assert!(count >= 150, "{count} kernels");
    println!("{count} kernels, one for each target, in {} checks", cases.len());
}
