//! The expected answers in the comments of hand-written functions.
//!
//! ```llvm
//!   %where = add i32 %i, 1 ; => divergent
//!   %rounds = add i32 %i, 2 ; => uniform (LLVM 22: divergent)
//! ```
//!
//! A mark says whether the value that its line defines, or the terminator on its line, is uniform
//! among the lanes that execute it together. In brackets it states LLVM 22's answer, if that
//! differs. The mark of a `switch` stands on its closing bracket.

use anyhow::{Context as _, bail};
use phalanx_testing::compare::uniformity::{Block, Uniformity};

/// What a mark is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The value of this name, `%x`.
    Value(String),
    /// The terminator of the block.
    Terminator,
}

/// One mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Its line, from 1.
    pub line: usize,
    /// The name of the function.
    pub function: String,
    /// The number of the block in the function, from 0.
    pub block: usize,
    /// What it is about.
    pub subject: Subject,
    /// The right answer.
    pub divergent: bool,
    /// LLVM's answer.
    pub llvm_divergent: bool,
}

const SIGN: &str = "; => ";
const TERMINATORS: [&str; 7] =
    ["br", "switch", "ret", "indirectbr", "invoke", "callbr", "unreachable"];

/// All marks of a file.
///
/// # Errors
/// A mark that is not understood, or that stands where nothing can be marked.
pub fn read(source: &str) -> anyhow::Result<Vec<Mark>> {
    let mut out = Vec::new();
    let mut function: Option<(String, usize)> = None;
    let mut empty = true;
    for (number, line) in source.lines().enumerate() {
        let (code, mark) =
            line.split_once(SIGN).map_or((line, None), |(code, mark)| (code, Some(mark)));
        let place = || format!("line {}: {line}", number + 1);
        if let Some(header) = line.strip_prefix("define ") {
            let name = header.split_once('@').and_then(|(_, rest)| rest.split_once('('));
            let (name, _) = name.with_context(place)?;
            function = Some((name.to_owned(), 0));
            empty = true;
        } else if line.starts_with('}') {
            function = None;
        } else if let Some((_, block)) = &mut function
            && !line.starts_with([' ', ';'])
            && code.split(';').next().is_some_and(|label| label.trim_end().ends_with(':'))
        {
            // The label of the entry block may be there or not.
            *block += usize::from(!empty);
            empty = false;
        } else if function.is_some() && line.starts_with(' ') {
            empty = false;
        }
        let Some(mark) = mark else { continue };
        let (name, block) = function.as_ref().with_context(place)?;
        let code = code.trim();
        let first = code.split_whitespace().next().unwrap_or_default();
        let subject = match code.split_once(" = ") {
            Some((value, _)) if value.starts_with('%') => Subject::Value(value.to_owned()),
            _ if first == "]" || TERMINATORS.contains(&first) => Subject::Terminator,
            _ => bail!("a mark on nothing: {}", place()),
        };
        let (divergent, llvm_divergent) = answers(mark).with_context(place)?;
        let (function, block) = (name.clone(), *block);
        out.push(Mark { line: number + 1, function, block, subject, divergent, llvm_divergent });
    }
    Ok(out)
}

/// Reads `divergent (LLVM 22: uniform)`.
fn answers(mark: &str) -> anyhow::Result<(bool, bool)> {
    let word = |text: &str| match text {
        "divergent" => Ok(true),
        "uniform" => Ok(false),
        _ => bail!("`{text}` is neither divergent nor uniform"),
    };
    match mark.trim().split_once(" (LLVM 22: ") {
        None => word(mark.trim()).map(|answer| (answer, answer)),
        Some((ours, llvm)) => {
            let llvm = llvm.strip_suffix(')').context("the bracket is not closed")?;
            let (ours, llvm) = (word(ours)?, word(llvm)?);
            if ours == llvm {
                bail!("the bracket repeats the answer");
            }
            Ok((ours, llvm))
        }
    }
}

impl Mark {
    /// The printed answer about the marked entity; `None` if there is none.
    #[must_use]
    pub fn answer(&self, printed: &Uniformity) -> Option<bool> {
        if printed.all_uniform {
            return Some(false);
        }
        let block: &Block = printed.blocks.get(self.block)?;
        match &self.subject {
            Subject::Terminator => block.terminators.first().map(|item| item.divergent),
            Subject::Value(name) => {
                let items = block.definitions.iter().chain(&block.terminators);
                let mut named = items.filter(|item| {
                    item.text.split_once(" = ").is_some_and(|(value, _)| value == name)
                });
                named.next().map(|item| item.divergent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
; words before
define void @f(i32 %a) {
  %x = add i32 %a, 1 ; => divergent
  br label %next ; => uniform

next:                    ; preds = %entry
  switch i32 %x, label %next [
    i32 0, label %end
  ] ; => divergent (LLVM 22: uniform)
end: ; and words
  store i32 0, ptr null
  ret void
}
define void @g() {
entry:
  %y = add i32 1, 1 ; => uniform
";

    #[test]
    fn marks_have_a_function_a_block_and_a_subject() {
        let marks = read(SOURCE).expect("well-formed");
        let shown: Vec<_> = marks
            .iter()
            .map(|m| (m.line, m.function.as_str(), m.block, m.divergent, m.llvm_divergent))
            .collect();
        assert_eq!(
            shown,
            [
                (3, "f", 0, true, true),
                (4, "f", 0, false, false),
                (9, "f", 1, true, false),
                (16, "g", 0, false, false)
            ]
        );
        assert_eq!(marks[0].subject, Subject::Value("%x".to_owned()));
        assert_eq!(marks[2].subject, Subject::Terminator);
    }

    #[test]
    fn misplaced_or_misspelt_marks_are_errors() {
        for (from, to) in [
            ("divergent\n", "diverges\n"),
            ("(LLVM 22: uniform)", "(LLVM 22: divergent)"),
            ("(LLVM 22: uniform)", "(LLVM 22: uniform"),
            ("  store i32 0, ptr null", "  store i32 0, ptr null ; => uniform"),
            ("; words before", "%x = add i32 1, 1 ; => uniform"),
        ] {
            assert!(read(&SOURCE.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
    }
}
