//! The kernels as clang compiles them.

use std::path::PathBuf;

use phalanx_test_suite::kernels::Manifest;
use rayon::prelude::*;

/// One way to compile each kernel; all ways are the business of `cargo xtask conformance`.
#[test]
fn every_kernel_is_read_and_verified() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let opt = crate::phalanx().with("opt").with("-passes=verify").with("-disable-output");
    let faults: Vec<String> = manifest
        .sample()
        .par_iter()
        .filter_map(|variant| {
            let file = manifest
                .compile(&compiler, variant, &folder)
                .unwrap_or_else(|error| panic!("{error:#}"));
            let outcome = opt.run([&file], &[]).expect("it starts");
            let silent =
                outcome.success() && outcome.stderr.is_empty() && outcome.stdout.is_empty();
            (!silent).then(|| format!("{}: {}", variant.name(), outcome.summary()))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_kernel_that_does_not_compile_is_an_error() {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let folder = tempfile::tempdir().expect("folder");
    let variant = &manifest.sample()[0];
    let broken =
        compiler.with("-DSIZE_THAT_NO_KERNEL_HAS").with("-include").with("no-such-header.h");
    let error = manifest.compile(&broken, variant, folder.path()).expect_err("no such header");
    assert!(error.to_string().contains("no-such-header.h"), "{error}");
}
