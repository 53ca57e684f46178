//! What the lanes of a wave touch in kernels as clang-22 compiles them. `UPDATE_EXPECT=1` accepts changes.

use std::path::PathBuf;

use expect_test::{Expect, expect};
use phalanx_test_suite::kernels::Manifest;

/// The memory accesses of the kernels of a source, compiled with -O2 and launched so.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(file: &str, target: &str, block: &str, expected: Expect) {
    let manifest = Manifest::read().expect("manifest");
    let Some(compiler) = manifest.compiler() else { return };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let variants = manifest.variants();
    let variant = variants
        .iter()
        .find(|v| v.file == file && v.target == target && v.level == "-O2" && !v.debug)
        .unwrap_or_else(|| panic!("{file} is not compiled for {target}"));
    let path =
        manifest.compile(&compiler, variant, &folder).unwrap_or_else(|error| panic!("{error:#}"));
    let mut command = crate::phalanx().with("analyze").with("--print").with("accesses");
    if !block.is_empty() {
        command = command.with("--block").with(block);
    }
    let outcome = command.run([&path], &[]).expect("it starts");
    assert!(outcome.success(), "{}", outcome.summary());
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let mut out = String::new();
    for line in text.lines().skip_while(|line| !line.contains('@')) {
        // What is accessed, without the names that clang gave.
        let line = line.split(", !").next().unwrap_or_default().trim_end();
        if !line.is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn saxpy() {
    check("cuda/saxpy.cu", "nvptx", "256", expect![[""]]);
}

#[test]
fn matmul() {
    check("cuda/matmul.cu", "nvptx", "32x8", expect![[""]]);
}

#[test]
fn stencil() {
    check("cuda/stencil.cu", "nvptx", "32x8", expect![[""]]);
}

#[test]
fn transpose() {
    check("opencl/transpose.cl", "amdgcn", "", expect![[""]]);
}

#[test]
fn reduce() {
    check("opencl/reduce.cl", "amdgcn", "", expect![[""]]);
}
