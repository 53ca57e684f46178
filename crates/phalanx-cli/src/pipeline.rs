//! LLVM's textual pass pipelines: `module(function(print<uniformity>)),verify`.
//!
//! Grammar: passes separated by commas; a pass is a name with optional `<parameters>`; an adaptor is
//! `module`, `cgscc` or `function` with a pipeline in parentheses. Nesting carries no
//! meaning here beyond grouping, so it is read with a counter, not with recursion.

use std::fmt;

/// A pass that `phalanx opt` runs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// `verify`: the whole module.
    Verify,
    /// A pass on each function.
    Function(FunctionPass),
}

/// A printing pass, on one function at a time: what it prints.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum FunctionPass {
    Uniformity,
    Cycles,
    DomTree,
    PostDomTree,
    DomFrontier,
}

/// Passes in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pipeline {
    pub(crate) passes: Vec<Pass>,
}

/// What is wrong with a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PipelineError {
    pipeline: String,
    at: usize,
    message: String,
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in -passes\n  {}\n  {}^", self.message, self.pipeline, " ".repeat(self.at))
    }
}

impl std::error::Error for PipelineError {}

const KNOWN: &str = "print<uniformity>, print<cycles>, print<domtree>, print<postdomtree>, print<domfrontier>, verify";

impl Pipeline {
    /// Reads a pipeline; the empty text is the empty pipeline.
    pub(crate) fn parse(text: &str) -> Result<Pipeline, PipelineError> {
        let error =
            |at: usize, message: String| PipelineError { pipeline: text.to_owned(), at, message };
        let mut passes = Vec::new();
        let (mut start, mut depth, mut angle) = (0, 0usize, 0usize);
        // After `)` only another `)`, a comma or the end may come.
        let mut closed = false;
        for (at, c) in text.char_indices().chain([(text.len(), ',')]) {
            match c {
                '<' => angle += 1,
                '>' => {
                    angle =
                        angle.checked_sub(1).ok_or_else(|| error(at, "`>` without `<`".into()))?;
                }
                _ if angle > 0 && at < text.len() => {}
                '(' => {
                    let adaptor = text[start..at].trim();
                    let known = ["module", "cgscc", "function", "function<eager-inv>"];
                    if !known.contains(&adaptor) {
                        return Err(error(start, format!("unknown pass manager `{adaptor}`")));
                    }
                    depth += 1;
                    start = at + 1;
                }
                ')' | ',' => {
                    let name = text[start..at].trim();
                    match (closed, name.is_empty()) {
                        (true, true) => {}
                        (true, false) => return Err(error(start, "expected `,` or `)`".into())),
                        (false, true) if text.is_empty() => {}
                        (false, true) => return Err(error(start, "expected a pass name".into())),
                        (false, false) => {
                            let pass = pass(name).ok_or_else(|| {
                                error(start, format!("unknown pass `{name}` (known: {KNOWN})"))
                            })?;
                            passes.extend(pass);
                        }
                    }
                    closed = c == ')';
                    if closed {
                        depth = depth
                            .checked_sub(1)
                            .ok_or_else(|| error(at, "`)` without `(`".into()))?;
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        match (depth, angle) {
            (0, 0) => Ok(Pipeline { passes }),
            _ => Err(error(text.len(), "missing `)` or `>`".into())),
        }
    }

    /// Runs of passes of one kind: LLVM gives each function to all of a run before the next function.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for &pass in &self.passes {
            match (pass, groups.last_mut()) {
                (Pass::Verify, _) => groups.push(Group::Verify),
                (Pass::Function(pass), Some(Group::Functions(run))) => run.push(pass),
                (Pass::Function(pass), _) => groups.push(Group::Functions(vec![pass])),
            }
        }
        groups
    }
}

/// A run of passes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    /// The verifier, over the module.
    Verify,
    /// These passes, function by function.
    Functions(Vec<FunctionPass>),
}

/// The pass of a name; `Some(None)` for passes that only ask for or drop what is computed on demand here.
fn pass(name: &str) -> Option<Option<Pass>> {
    let function = |pass| Some(Some(Pass::Function(pass)));
    match name {
        "print<uniformity>" => function(FunctionPass::Uniformity),
        "print<cycles>" => function(FunctionPass::Cycles),
        "print<domtree>" => function(FunctionPass::DomTree),
        "print<postdomtree>" => function(FunctionPass::PostDomTree),
        "print<domfrontier>" => function(FunctionPass::DomFrontier),
        "verify" => Some(Some(Pass::Verify)),
        "no-op-module" | "no-op-function" | "no-op-cgscc" => Some(None),
        _ => {
            let inner = ["require<", "invalidate<", "verify<"]
                .iter()
                .find_map(|prefix| name.strip_prefix(prefix)?.strip_suffix('>'))?;
            let known = [
                "uniformity",
                "cycles",
                "domtree",
                "postdomtree",
                "domfrontier",
                "all",
                "targetir",
                "loops",
            ];
            known.contains(&inner).then_some(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FunctionPass::{Cycles, DomTree, Uniformity};

    fn parse(text: &str) -> Vec<Pass> {
        Pipeline::parse(text).unwrap_or_else(|e| panic!("{e}")).passes
    }

    #[test]
    fn passes_nest_and_follow_each_other() {
        assert_eq!(
            parse("module(function(print<uniformity>, print<cycles>),verify)"),
            [Pass::Function(Uniformity), Pass::Function(Cycles), Pass::Verify]
        );
        assert_eq!(
            parse("require<domtree>,verify<cycles>,print<domtree>"),
            [Pass::Function(DomTree)]
        );
        assert_eq!(parse(""), []);
    }

    #[test]
    fn groups_end_at_module_passes() {
        let groups =
            Pipeline::parse("print<cycles>,print<domtree>,verify,print<cycles>").unwrap().groups();
        assert_eq!(
            groups,
            [
                Group::Functions(vec![Cycles, DomTree]),
                Group::Verify,
                Group::Functions(vec![Cycles])
            ]
        );
    }

    #[test]
    fn errors_point_at_the_place() {
        expect_test::expect![[r#"
            unknown pass `gvn` (known: print<uniformity>, print<cycles>, print<domtree>, print<postdomtree>, print<domfrontier>, verify) in -passes
              verify,gvn
                     ^"#]]
        .assert_eq(&Pipeline::parse("verify,gvn").unwrap_err().to_string());
        for bad in [
            "verify,",
            "(verify)",
            "function(verify",
            "function(verify))",
            "verify>",
            "function(verify)x",
            ",",
        ] {
            assert!(Pipeline::parse(bad).is_err(), "{bad}");
        }
    }
}
