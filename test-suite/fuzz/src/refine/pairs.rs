//! Pairs of a module before and after passes, for a translation validator such as Alive2.
//!
//! A validator proves for all inputs what the law tests on some, but for one thread only. So a pair
//! names the functions whose meaning for one thread must be preserved: those without convergent
//! operations, before and after. Random kernels are converted to functions without a target
//! ([`plain`]): one address space, coordinates as parameters, and no operations of a wave.
//!
//! ```text
//! %v7 = call i64 @llvm.amdgcn.ballot.i64(i1 %v2)      becomes      %v7 = zext i1 %v2 to i64
//! ```
//!
//! Invariant: before and after have the same functions with the same parameters.

use std::fmt::Write as _;

use phalanx::{
    Session,
    transform::{Pipeline, Registry},
};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

use super::{programs, transformed};
use crate::transforms::convergent;

/// Passes that change what one thread executes.
const PASSES: &[&str] = &[
    "dce",
    "instsimplify",
    "simplifycfg",
    "simplifycfg<select-uniform;speculate=8>",
    "early-cse",
    "licm",
    "linearize",
    "loop-unroll",
    "jump-threading",
];

/// A module before and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// What it is called.
    pub name: String,
    /// The passes between.
    pub pipeline: String,
    /// Functions that one thread executes alone, and that the passes changed.
    pub functions: Vec<String>,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
}

/// The kernel of the law as a function of one thread, without a target.
#[must_use]
pub fn plain(kernel: &str) -> String {
    let mut out = String::new();
    for line in kernel.lines() {
        let is_of_target =
            ["target triple", "declare i32 @llvm.amdgcn", "declare i64 @llvm.amdgcn"]
                .iter()
                .chain(&[
                    "declare void @llvm.amdgcn",
                    "declare i32 @llvm.nvvm",
                    "declare void @llvm.nvvm",
                ])
                .any(|start| line.starts_with(start));
        let is_place = line.starts_with("  %x = call") || line.starts_with("  %y = call");
        if is_of_target
            || is_place
            || line.contains("call void @llvm.amdgcn.s.barrier")
            || line.contains("call void @llvm.nvvm.barrier")
        {
            continue;
        }
        if line.starts_with("define") && line.contains("@f(") {
            let _ = writeln!(
                out,
                "define void @f(ptr noundef %gp, i32 noundef %a0, i32 noundef %a1, i32 noundef %x, \
                 i32 noundef %y) {{"
            );
            continue;
        }
        let _ = writeln!(out, "{}", alone(&without_spaces(line)));
    }
    out
}

/// An operation of a wave, replaced by its result for a single thread.
fn alone(line: &str) -> String {
    let Some((result, call)) = line.split_once(" = call ") else {
        return line.replace(" convergent {", " {");
    };
    let argument = |before: &str| {
        let rest = call.split_once(before)?.1;
        Some(rest.split([',', ')']).next().unwrap_or_default().to_owned())
    };
    match call.split('(').next().unwrap_or_default() {
        "i64 @llvm.amdgcn.ballot.i64" => {
            format!("{result} = zext i1 {} to i64", argument("(i1 ").unwrap_or_default())
        }
        "i32 @llvm.nvvm.vote.ballot.sync" => {
            format!("{result} = zext i1 {} to i32", argument(", i1 ").unwrap_or_default())
        }
        "i32 @llvm.amdgcn.readfirstlane.i32" => {
            format!("{result} = add i32 {}, 0", argument("(i32 ").unwrap_or_default())
        }
        "i32 @llvm.nvvm.shfl.sync.idx.i32" => {
            format!("{result} = add i32 {}, 0", argument(", i32 ").unwrap_or_default())
        }
        _ => line.to_owned(),
    }
}

/// A line with one address space.
fn without_spaces(line: &str) -> String {
    let mut rest = line
        .replace("addrspacecast ptr addrspace(1) %own to ptr", "getelementptr i8, ptr %own, i32 0");
    rest = rest.replace(".p1.p1.", ".p0.p0.").replace(".p1.i64", ".p0.i64");
    for space in ["1", "3", "5"] {
        rest = rest.replace(&format!(", addrspace({space})"), "");
        rest = rest.replace(&format!(" addrspace({space})"), "");
    }
    rest
}

/// A random program of one thread and what some passes make of it; none when they change nothing.
///
/// # Panics
/// A pass fails, or a generated program is not well-formed.
#[must_use]
pub fn random(seed: u64) -> Option<Pair> {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let size = rng.random_range(2..9);
    let text = plain(&programs::random(rng, size));
    let count = rng.random_range(1..3);
    let passes: Vec<&str> =
        (0..count).map(|_| PASSES.choose(rng).copied().unwrap_or("dce")).collect();
    let pair = of_text(&format!("random_{seed}"), &text, &passes.join(","));
    pair.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"))
}

/// A module and what a pipeline makes of it; none when it changes nothing, or when no function is
/// one thread's.
///
/// # Errors
/// The text is no module, or a pass fails.
pub fn of_text(name: &str, text: &str, pipeline: &str) -> Result<Option<Pair>, String> {
    let passes = Pipeline::parse(pipeline, &Registry::standard()).map_err(|e| e.to_string())?;
    let Some(after) = transformed(text, &passes)? else { return Ok(None) };
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).map_err(|error| error.to_string())?;
    let before = String::from_utf8_lossy(&session.print(module)).into_owned();
    let functions: Vec<String> = session
        .functions(module)
        .filter(|&function| session.cfg(function).is_some())
        .filter(|&function| convergent(&session, function).is_empty())
        .map(|function| session.name(function))
        .filter(|name| body(&before, name) != body(&after, name))
        .collect();
    let (name, pipeline) = (name.to_owned(), pipeline.to_owned());
    let pair = Pair { name, pipeline, functions, before, after };
    Ok((!pair.functions.is_empty()).then_some(pair))
}

/// The text of a function in that of a module.
fn body<'t>(module: &'t str, name: &str) -> Option<&'t str> {
    let is_it = |line: &str| {
        line.starts_with("define ")
            && (line.contains(&format!("@{name}(")) || line.contains(&format!("@\"{name}\"(")))
    };
    let mut at = 0;
    for line in module.split_inclusive('\n') {
        if is_it(line) {
            let end = module[at..].find("\n}\n").map_or(module.len(), |end| at + end);
            return Some(&module[at..end]);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_programs_are_of_one_thread() {
        let pairs: Vec<Pair> = (0..40).filter_map(random).collect();
        let kernels = pairs.iter().filter(|pair| pair.functions.iter().any(|name| name == "f"));
        assert!(kernels.count() > 15, "{}", pairs.len());
        for pair in &pairs {
            for text in [&pair.before, &pair.after] {
                let has_target = ["addrspace", "amdgcn", "nvvm", "triple"]
                    .iter()
                    .any(|word| text.contains(word));
                assert!(!has_target, "{text}");
            }
        }
    }

    #[test]
    fn functions_that_communicate_are_left_out() {
        let text = "declare void @g() convergent
define void @one() convergent {\n call void @g() convergent\n ret void\n}
define i32 @two(i32 %x) {\n %y = add i32 %x, 0\n ret i32 %y\n}
";
        let pair = of_text("text", text, "instsimplify,dce").unwrap().unwrap();
        assert_eq!(pair.functions, ["two"]);
        assert_eq!(of_text("text", text, "mark-loads").unwrap(), None);
    }
}
