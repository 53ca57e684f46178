//! LLVM's own tests: what LLVM reads we read, what it refuses we refuse.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::{fs, sync::Arc};

use phalanx_ir::Context;
use phalanx_llvm::parse_module;
use phalanx_testing::llvm_tools::require_corpus;

#[test]
fn corpus() {
    let Some(folder) = require_corpus() else { return };
    let answers = fs::read_to_string(folder.join("ORACLE.tsv")).expect("ORACLE.tsv is readable");
    let (mut accepted, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in answers.lines() {
        let mut fields = line.split('\t');
        let (Some(file), Some(answer)) = (fields.next(), fields.nth(2)) else { continue };
        let source = fs::read(folder.join(file)).expect("files of the corpus are readable");
        let wanted = !answer.starts_with("does not parse");
        match parse_module(Arc::new(Context::new()), &source) {
            Ok(_) if wanted => accepted += 1,
            Err(_) if !wanted => refused += 1,
            Ok(_) => wrong.push(format!("{file}: accepted, but LLVM says: {answer}")),
            Err(error) => {
                let (line, column) = error.line_col(&source);
                wrong.push(format!("{file}:{line}:{column}: {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted > 100 && refused > 0, "{accepted} accepted, {refused} refused");
}
