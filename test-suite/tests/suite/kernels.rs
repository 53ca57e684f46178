//! The kernels as clang compiles them.

use std::path::PathBuf;

use phalanx_test_suite::{
    giants::{NAME, giant},
    kernels::Manifest,
};
use rayon::prelude::*;

/// One compilation of each kernel; `cargo xtask conformance` tests all of them.
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

/// All kernels of a target inlined into one function; benches use every level.
#[test]
fn giants_are_read_and_verified() {
    let manifest = Manifest::read().expect("manifest");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let opt = crate::phalanx().with("opt").with("-passes=verify").with("-disable-output");
    for (what, least) in [(("amdgcn", "-O0"), 5_000), (("nvptx", "-O2"), 5_000)] {
        let made = giant(&manifest, what, 1, &folder).unwrap_or_else(|error| panic!("{error:#}"));
        let Some(file) = made else { return };
        let outcome = opt.run([&file], &[]).expect("it starts");
        assert!(outcome.success() && outcome.stderr.is_empty(), "{}", outcome.summary());
        let text = std::fs::read_to_string(&file).expect("a file");
        let of_giant = text.split(&format!("@{NAME}(")).nth(1).expect("it is defined");
        let body: Vec<&str> = of_giant.lines().take_while(|line| *line != "}").collect();
        assert!(body.len() > least, "{} lines", body.len());
        // What is recursive, or called by its address, cannot be inlined.
        assert!(text.matches("\ndefine ").count() < 10 && !text.contains("define void"));
        // A second request finds the file.
        let times = |file: &PathBuf| std::fs::metadata(file).and_then(|data| data.modified());
        let before = times(&file).expect("it has a time");
        let again = giant(&manifest, what, 1, &folder).expect("it was made before");
        assert_eq!(again.as_deref(), Some(&*file));
        assert_eq!(times(&file).expect("it has a time"), before);
    }
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
