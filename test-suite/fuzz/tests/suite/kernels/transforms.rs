//! Our kernels after transforms: LLVM accepts them, and they still compute what the host does.

use std::{path::PathBuf, sync::Arc};

use phalanx::{
    Session,
    transform::{Event, Manager, Options, Pipeline, Registry, Statistics},
};
use phalanx_fuzz::transforms::{PIPELINES, random};
use phalanx_ir::Context;
use phalanx_test_suite::{
    kernels::{Manifest, Variant},
    shipped,
};
use phalanx_testing::llvm_tools::{Program, require};
use rand::{SeedableRng as _, rngs::SmallRng};
use rayon::prelude::*;

use crate::kernels::{check, compiled, folder, host, orders, variants};

const WHOLE: &str = "simplifycfg<select-uniform>,instsimplify,early-cse,simplifycfg,licm,early-cse,dce,annotate-uniform";

/// What moves, copies and removes convergent operations.
const MOVING: &str = "simplifycfg,licm,jump-threading,loop-unroll<count=2>,move-convergent,\
    combine-ballots,remove-redundant-barriers,early-cse,dce";

/// The text after a pipeline, every pass verified.
fn transformed(text: &[u8], pipeline: &str) -> Result<(Vec<u8>, Statistics), String> {
    let mut session = Session::new();
    let module = session.read(text).map_err(|error| error.to_string())?;
    let passes = Pipeline::parse(pipeline, &Registry::standard()).map_err(|e| e.to_string())?;
    let mut manager = Manager::new(Options { verify_each: true, statistics: true });
    let mut broken = Vec::new();
    let mut tell = |_: &phalanx::db::Database, event: Event<'_>| {
        if let Event::Broken { pass, errors, .. } = event {
            broken.push(format!("{pass:?}: {errors:?}"));
        }
    };
    let done = manager.run(session.database_mut(), module.input(), &passes, &mut tell);
    done.map_err(|error| error.to_string())?;
    match broken.is_empty() {
        true => Ok((session.print(module), manager.statistics().clone())),
        false => Err(broken.join("; ")),
    }
}

fn read(path: &PathBuf) -> Vec<u8> {
    #[allow(clippy::disallowed_methods, reason = "tests read files")]
    std::fs::read(path).expect("it is there")
}

/// What is wrong with a text by LLVM, if anything.
fn refused(opt: &Program, text: &[u8]) -> Option<String> {
    let outcome = opt.run(["-passes=verify", "-disable-output", "-"], text).expect("opt runs");
    (!outcome.success()).then(|| outcome.summary())
}

/// Everything there is, compiled without optimisation, goes through all passes.
#[test]
fn llvm_accepts_what_becomes_of_kernels() {
    let Some(opt) = require("opt") else { return };
    let manifest = Manifest::read().expect("manifest");
    let folder = folder();
    let mut files = shipped().expect("the folder is there");
    if let Some(compiler) = manifest.compiler() {
        let plain = manifest.variants().into_iter().filter(|v| v.name().ends_with(".O0"));
        let mut variants: Vec<_> = plain.collect();
        variants.extend(manifest.sample());
        let compiled: Vec<PathBuf> = variants
            .par_iter()
            .map(|variant| manifest.compile(&compiler, variant, &folder).expect("it compiles"))
            .collect();
        files.extend(compiled);
    }
    let through = |pipeline: &str| -> Vec<(String, Result<Statistics, String>)> {
        let of = |path: &PathBuf| {
            let result = transformed(&read(path), pipeline).and_then(|(new, statistics)| {
                match refused(&opt, &new) {
                    None => Ok(statistics),
                    Some(why) => Err(why),
                }
            });
            (path.display().to_string(), result)
        };
        files.par_iter().map(of).collect()
    };
    let mut results = through(MOVING);
    for pass in MOVING.split(',').map(str::trim) {
        for level in [".O0", ".O2"] {
            let of_level = results.iter().filter(|(name, _)| name.contains(level));
            let statistics = of_level.filter_map(|(_, result)| result.as_ref().ok());
            let steps = statistics.flat_map(|s| &s.steps).filter(|step| step.pass == pass);
            let (mut functions, mut changed, mut ms) = (0, 0, 0.0);
            for step in steps {
                functions += step.functions;
                changed += step.changed_functions;
                ms += 1e3 * step.time.as_secs_f64();
            }
            println!("{pass} at {level}: {changed} of {functions} functions, {ms:.1} ms");
        }
    }
    results.extend(through(WHOLE));
    let wrong: Vec<String> = results
        .iter()
        .filter_map(|(name, result)| Some(format!("{name}: {}", result.as_ref().err()?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
    let all = results.iter().filter_map(|(_, result)| result.as_ref().ok());
    let erased: u64 = all.flat_map(|s| &s.steps).map(|step| step.erased).sum();
    println!("{} modules, {erased} instructions less", files.len());
    assert!(erased > 10 * files.len() as u64, "{erased} instructions went from {}", files.len());
}

#[test]
fn llvm_accepts_what_becomes_of_random_programs() {
    let Some(opt) = require("opt") else { return };
    (0..60u64).into_par_iter().for_each(|seed| {
        let text = random(&mut SmallRng::seed_from_u64(seed), 16);
        let pipeline = PIPELINES[seed as usize % PIPELINES.len()];
        let (new, _) = transformed(text.as_bytes(), pipeline).unwrap_or_else(|e| panic!("{e}"));
        if let Some(why) = refused(&opt, &new) {
            panic!("{pipeline}: {why}\n{}", String::from_utf8_lossy(&new));
        }
    });
}

/// At each level, with the checks of every kernel.
#[test]
fn results_after_transforms_are_those_of_the_host() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let cases = host::cases();
    let check = |variant: &Variant| {
        let text = phalanx_llvm::print_module(&compiled(&manifest, &compiler, variant));
        // Both ways for the price of one: what moves comes first.
        let moved = transformed(&text, MOVING);
        let (text, _) = match moved.and_then(|(text, _)| transformed(&text, WHOLE)) {
            Ok(done) => done,
            Err(error) => return vec![format!("{}: {error}", variant.name())],
        };
        let parsed = phalanx_llvm::parse_module(Arc::new(Context::new()), &text);
        match parsed {
            Ok(parsed) => check(&parsed.module, variant, &cases, orders(variant)),
            Err(error) => vec![format!("{}: {error}", variant.name())],
        }
    };
    let wrong: Vec<String> = variants(&manifest).par_iter().flat_map(check).collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
