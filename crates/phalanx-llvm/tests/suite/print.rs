//! The spelling of every construct: what is read in LLVM's own spelling is written in it again.
//!
//! Each test holds one theme in the form LLVM 22 writes. Where LLVM is installed, it confirms that
//! form.

use crate::support;

mod constants;
mod instructions;
mod modules;
mod numbering;

use support::{Llvm, first_difference, normalized, ours};

/// The text is LLVM's spelling of itself, and ours.
#[track_caller]
fn check(text: &str) {
    check_becomes(text, text);
}

/// LLVM and we both write `text` as `expected`.
#[track_caller]
fn check_becomes(text: &str, expected: &str) {
    let expected = normalized(expected.as_bytes());
    let written = ours(text.as_bytes()).unwrap_or_else(|message| panic!("not read: {message}"));
    if let Some(difference) = first_difference(&written, &expected) {
        panic!("ours and the expected text differ at {difference}");
    }
    if let Some(llvm) = Llvm::find() {
        let theirs = llvm.rewrite(text.as_bytes()).unwrap_or_else(|m| panic!("LLVM refuses: {m}"));
        if let Some(difference) = first_difference(&theirs, &expected) {
            panic!("LLVM's and the expected text differ at {difference}");
        }
    }
}

/// A function around instructions; arguments `%i` (i32), `%p` (ptr), `%f` (float), `%v` (<4 x
/// i32>).
#[track_caller]
fn check_insts(lines: &str) {
    let mut text = "define void @f(i32 %i, ptr %p, float %f, <4 x i32> %v) {\n".to_owned();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        text += line;
        text += "\n";
    }
    check(&(text + "  ret void\n}\n"));
}
