//! NVIDIA's machine instructions before and after `infer-address-spaces`.

use std::{collections::BTreeMap, path::PathBuf};

use expect_test::expect;
use phalanx_test_suite::kernels::Manifest;
use phalanx_testing::llvm_tools;

/// Loads and stores of an assembly text, by space; generic ones have none.
fn instructions(ptx: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in ptx.lines() {
        let word = line.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        let mut parts = word.split('.');
        if !matches!(parts.next(), Some("ld" | "st")) {
            continue;
        }
        let spaces = ["global", "shared", "local", "const", "param"];
        let space = parts.find_map(|part| {
            spaces
                .into_iter()
                .find(|space| part == *space || part.starts_with(&format!("{space}::")))
        });
        if space != Some("param") {
            *counts.entry(space.unwrap_or("generic")).or_default() += 1;
        }
    }
    counts.iter().map(|(space, count)| format!("{space} {count}")).collect::<Vec<_>>().join(", ")
}

/// As `llc-22 -O0` prints them, which infers nothing by itself.
#[test]
fn generic_instructions_become_those_of_their_space() {
    let manifest = Manifest::read().expect("manifest");
    let (Some(compiler), Some(llc)) = (manifest.compiler(), llvm_tools::require("llc")) else {
        return;
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let opt = crate::phalanx().with("opt").with("-passes=infer-address-spaces").with("-S");
    let mut lines = Vec::new();
    for variant in manifest.variants() {
        let is_wanted = [
            "histogram.nvptx.cuda.O2",
            "matmul.nvptx.cuda.O2",
            "particles.nvptx.cuda.O2",
            "recursion.nvptx.cuda.O0",
            "state_machine.nvptx.cuda.O0",
            "reduce.nvptx.opencl.O0",
        ]
        .contains(&variant.name());
        if !is_wanted {
            continue;
        }
        let file = manifest.compile(&compiler, &variant, &folder);
        let file = file.unwrap_or_else(|error| panic!("{error:#}"));
        let before = std::fs::read(&file).expect("the file is there");
        let after = opt.run([&file], &[]).expect("it starts");
        assert!(after.success(), "{}", after.summary());
        let ptx = |text: &[u8]| {
            let outcome = llc.run(["-mcpu=sm_80", "-O0", "-o", "-"], text).expect("it starts");
            assert!(outcome.success(), "{}: {}", variant.name(), outcome.summary());
            instructions(&String::from_utf8_lossy(&outcome.stdout))
        };
        lines.push(format!("{}: {} -> {}", variant.name(), ptx(&before), ptx(&after.stdout)));
    }
    expect![[r#"
        reduce.nvptx.opencl.O0: generic 71, global 5, shared 8 -> global 5, local 71, shared 8
        histogram.nvptx.cuda.O2: generic 4 -> global 2, shared 2
        matmul.nvptx.cuda.O2: generic 25 -> global 12, shared 13
        particles.nvptx.cuda.O2: generic 18 -> global 18
        recursion.nvptx.cuda.O0: generic 87 -> global 12, local 76
        state_machine.nvptx.cuda.O0: generic 69 -> global 9, local 60"#]]
    .assert_eq(&lines.join("\n"));
}
