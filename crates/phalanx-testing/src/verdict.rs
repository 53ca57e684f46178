//! The verdict of LLVM's reader on a text.

use crate::llvm_tools::Outcome;

/// The result of giving a text to an LLVM program on standard input, with the verifier on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was read and found well-formed.
    Accepted,
    /// The reader refused it, for a reason that every reader can know. Holds the line of LLVM's
    /// message.
    RefusedByReader(String),
    /// Something else refused it: the verifier, the driver (which checks the triple), or the
    /// reader's knowledge of the names of all intrinsics of all targets.
    Refused(String),
    /// The program crashed or took too long: there is no verdict.
    None,
}

impl Verdict {
    /// The verdict of a run.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Verdict {
        if outcome.crashed() {
            return Verdict::None;
        }
        if outcome.success() {
            return Verdict::Accepted;
        }
        let errors = outcome.errors();
        // Messages of the reader have a line number; the verifier names only the file.
        let has_line = |line: &str| {
            line.split_once("<stdin>:")
                .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        match errors.lines().find(|line| has_line(line) && line.contains(": error: ")) {
            Some(line) if !line.contains("error: unknown intrinsic") => {
                Verdict::RefusedByReader(line.to_owned())
            }
            Some(line) => Verdict::Refused(line.to_owned()),
            None => {
                let first = errors.lines().find(|line| !line.trim().is_empty());
                Verdict::Refused(first.unwrap_or_default().to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(errors: &str) -> Verdict {
        Verdict::of(&Outcome {
            status: Some(1),
            signal: None,
            timed_out: false,
            stdout: Vec::new(),
            stderr: errors.as_bytes().to_vec(),
        })
    }

    #[test]
    fn the_readers_refusals_are_told_from_the_verifiers() {
        let place = "opt: <stdin>:3:1: error: expected top-level entity";
        let reader = refused(&format!("{place}\nx\n^\n"));
        assert_eq!(reader, Verdict::RefusedByReader(place.to_owned()));
        let verifier = refused(
            "Instruction does not dominate all uses!\n  %x\nopt: <stdin>: error: input module is broken!\n",
        );
        let rule = "Instruction does not dominate all uses!";
        assert_eq!(verifier, Verdict::Refused(rule.to_owned()));
        let knows = refused("opt: <stdin>:3:1: error: unknown intrinsic 'llvm.x'\n");
        assert!(matches!(knows, Verdict::Refused(_)));
        let driver = refused("opt: unrecognized architecture 'x' provided.\n");
        assert!(matches!(driver, Verdict::Refused(_)));
    }
}
