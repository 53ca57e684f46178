//! LLVM's textual pass pipelines: `function(simplifycfg,dce),verify,print<uniformity>`.
//!
//! Grammar: passes separated by commas; a pass is a name with optional `<parameters>`; an adaptor
//! is `module`, `cgscc` or `function` with a pipeline in parentheses. Nesting is read with a stack,
//! not with recursion.
//!
//! # Order
//!
//! As in LLVM, function passes that stand next to each other are a [`Group`]: each function goes
//! through all of them before the next one begins. `function(..)` is a group of its own, and
//! `verify` looks at the whole module.

use std::{fmt, sync::Arc};

use crate::pass::Pass;
use crate::registry::Registry;

/// A pass of a pipeline.
#[derive(Clone)]
pub struct Step {
    /// As written, parameters included.
    pub text: String,
    /// The pass itself.
    pub pass: Arc<dyn Pass>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Passes that run together.
#[derive(Clone, Debug)]
pub enum Group {
    /// The verifier, over the module.
    Verify,
    /// These passes, function by function.
    Functions(Vec<Step>),
}

/// Groups of passes, in order.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    /// The groups.
    pub groups: Vec<Group>,
}

/// What is wrong with a pipeline, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PipelineError {
    pipeline: String,
    at: usize,
    message: String,
    unknown: Option<String>,
}

impl PipelineError {
    /// The unknown pass name, if that is the error.
    #[must_use]
    pub fn unknown_pass(&self) -> Option<&str> {
        self.unknown.as_deref()
    }
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in -passes\n  {}\n  {}^", self.message, self.pipeline, " ".repeat(self.at))
    }
}

impl std::error::Error for PipelineError {}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Adaptor {
    Module,
    Function,
}

impl Adaptor {
    fn of(text: &str) -> Option<Adaptor> {
        match text {
            "module" | "cgscc" => Some(Adaptor::Module),
            "function" | "function<eager-inv>" => Some(Adaptor::Function),
            _ => None,
        }
    }
}

struct Parser<'p> {
    text: &'p str,
    registry: &'p Registry,
    groups: Vec<Group>,
    adaptors: Vec<Adaptor>,
    /// Whether the next function pass joins the last group.
    joins: bool,
}

impl Parser<'_> {
    fn error(&self, at: usize, message: impl Into<String>) -> PipelineError {
        PipelineError { pipeline: self.text.to_owned(), at, message: message.into(), unknown: None }
    }

    fn open(&mut self, at: usize, name: &str) -> Result<(), PipelineError> {
        let adaptor = Adaptor::of(name)
            .ok_or_else(|| self.error(at, format!("unknown pass manager `{name}`")))?;
        self.joins &= self.adaptors.contains(&Adaptor::Function);
        self.adaptors.push(adaptor);
        Ok(())
    }

    fn close(&mut self, at: usize) -> Result<(), PipelineError> {
        match self.adaptors.pop() {
            Some(_) => self.joins &= self.adaptors.contains(&Adaptor::Function),
            None => return Err(self.error(at, "`)` without `(`")),
        }
        Ok(())
    }

    fn pass(&mut self, at: usize, name: &str) -> Result<(), PipelineError> {
        if name == "verify" {
            self.groups.push(Group::Verify);
            self.joins = false;
            return Ok(());
        }
        let pass = match self.registry.find(name) {
            Some(pass) => pass.map_err(|message| self.error(at, message))?,
            None if is_without_effect(name) => return Ok(()),
            None => {
                let known: Vec<&str> = self.registry.names().chain(["verify"]).collect();
                let known = known.join(", ");
                let error = self.error(at, format!("unknown pass `{name}` (known: {known})"));
                return Err(PipelineError { unknown: Some(name.to_owned()), ..error });
            }
        };
        let step = Step { text: name.to_owned(), pass };
        match self.groups.last_mut() {
            Some(Group::Functions(steps)) if self.joins => steps.push(step),
            _ => self.groups.push(Group::Functions(vec![step])),
        }
        self.joins = true;
        Ok(())
    }
}

/// Passes without an effect here: they request or discard analyses that Phalanx computes on demand.
fn is_without_effect(name: &str) -> bool {
    const ANALYSES: &[&str] = &[
        "uniformity",
        "cycles",
        "domtree",
        "postdomtree",
        "domfrontier",
        "all",
        "targetir",
        "loops",
    ];
    if matches!(name, "no-op-module" | "no-op-function" | "no-op-cgscc") {
        return true;
    }
    ["require<", "invalidate<", "verify<"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix)?.strip_suffix('>'))
        .is_some_and(|inner| ANALYSES.contains(&inner))
}

impl Pipeline {
    /// Parses a pipeline of passes of a registry; the empty text is the empty pipeline.
    ///
    /// # Errors
    /// When the text does not follow the grammar, or names an unknown pass.
    pub fn parse(text: &str, registry: &Registry) -> Result<Pipeline, PipelineError> {
        let mut parser =
            Parser { text, registry, groups: Vec::new(), adaptors: Vec::new(), joins: false };
        let (mut start, mut angle) = (0, 0usize);
        // After `)` only another `)`, a comma or the end may come.
        let mut closed = false;
        for (at, c) in text.char_indices().chain([(text.len(), ',')]) {
            match c {
                '<' => angle += 1,
                '>' => {
                    angle =
                        angle.checked_sub(1).ok_or_else(|| parser.error(at, "`>` without `<`"))?;
                }
                _ if angle > 0 && at < text.len() => {}
                '(' => {
                    parser.open(start, text[start..at].trim())?;
                    start = at + 1;
                }
                ')' | ',' => {
                    let name = text[start..at].trim();
                    match (closed, name.is_empty()) {
                        (true, true) => {}
                        (true, false) => return Err(parser.error(start, "expected `,` or `)`")),
                        (false, true) if text.is_empty() => {}
                        (false, true) => return Err(parser.error(start, "expected a pass name")),
                        (false, false) => parser.pass(start, name)?,
                    }
                    closed = c == ')';
                    if closed {
                        parser.close(at)?;
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        match (parser.adaptors.is_empty(), angle) {
            (true, 0) => Ok(Pipeline { groups: parser.groups }),
            _ => Err(parser.error(text.len(), "missing `)` or `>`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &str) -> String {
        let pipeline = Pipeline::parse(text, &Registry::standard());
        format!("{:?}", pipeline.unwrap_or_else(|e| panic!("{e}")).groups)
    }

    #[test]
    fn passes_that_stand_together_are_a_group() {
        assert_eq!(
            groups("dce,simplifycfg<no-select>,verify,dce"),
            "[Functions([dce, simplifycfg<no-select>]), Verify, Functions([dce])]"
        );
        assert_eq!(groups("require<domtree>, dce ,no-op-function"), "[Functions([dce])]");
        assert_eq!(groups(""), "[]");
    }

    #[test]
    fn an_adaptor_is_a_group() {
        assert_eq!(
            groups("function(dce,licm),function(dce),dce"),
            "[Functions([dce, licm]), Functions([dce]), Functions([dce])]"
        );
        assert_eq!(
            groups("module(function(dce,function(licm),dce),verify)"),
            "[Functions([dce, licm, dce]), Verify]"
        );
    }

    #[test]
    fn errors_point_at_the_place() {
        let error = |text| Pipeline::parse(text, &Registry::standard()).unwrap_err().to_string();
        expect_test::expect![[r#"
            unknown pass `gvn` (known: dce, instsimplify, simplifycfg, early-cse, licm, linearize, loop-unroll, jump-threading, move-convergent, combine-ballots, remove-redundant-barriers, infer-address-spaces, infer-convergence-attrs, infer-convergence-tokens, drop-convergence-tokens, amdgpu-annotate-uniform, annotate-uniform, mark-loads, verify) in -passes
              verify,gvn
                     ^"#]]
        .assert_eq(&error("verify,gvn"));
        expect_test::expect![[r#"
            dce has no parameters in -passes
              dce<now>
              ^"#]]
        .assert_eq(&error("dce<now>"));
        for bad in [
            "verify,",
            "(verify)",
            "function(verify",
            "function(verify))",
            "verify>",
            "function(verify)x",
            ",",
        ] {
            assert!(Pipeline::parse(bad, &Registry::standard()).is_err(), "{bad}");
        }
    }
}
