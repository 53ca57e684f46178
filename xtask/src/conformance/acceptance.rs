//! We must accept what LLVM accepts, and refuse what its parser refuses.
//!
//! The inputs are files and mutants of them: most files are valid, most mutants are almost valid.
//! If only LLVM's verifier refuses a mutant, the case is counted by LLVM's message, since our
//! verifier promises only a part of LLVM's rules. Every other difference is unexplained, and so is
//! a crash of ours on any text.

use std::{fs, path::PathBuf};

use phalanx_testing::{
    llvm_tools::{Outcome, Program},
    mutate::mutant,
    verdict::Verdict,
};
use rayon::prelude::*;

use super::{
    Options, Tools,
    report::{Class, Entry, Section},
};

/// A text to be accepted or refused.
pub(super) struct Candidate {
    pub(super) place: String,
    pub(super) path: PathBuf,
    pub(super) target: Vec<String>,
}

/// The files as they are.
pub(super) fn files(tools: &Tools, candidates: &[Candidate]) -> anyhow::Result<Section> {
    let mut section = Section::new("Files accepted and refused");
    let found: Vec<anyhow::Result<Section>> = candidates
        .par_iter()
        .map(|candidate| {
            let text = fs::read(&candidate.path)?;
            let mut section = Section::default();
            compare(tools, candidate, &candidate.place, &text, Strictness::Full, &mut section)?;
            Ok(section)
        })
        .collect();
    for part in found {
        section.merge(part?);
    }
    Ok(section)
}

/// Mutants of the files, in turn.
pub(super) fn mutants(
    tools: &Tools,
    candidates: &[Candidate],
    count: usize,
    options: &Options,
) -> anyhow::Result<Section> {
    let mut section = Section::new("Mutants of the files accepted and refused");
    if candidates.is_empty() {
        section.skip("no files");
        return Ok(section);
    }
    let found: Vec<anyhow::Result<Section>> = (0..count)
        .into_par_iter()
        .map(|number| {
            let candidate = &candidates[number % candidates.len()];
            let source = fs::read(&candidate.path)?;
            let text = mutant(
                &String::from_utf8_lossy(&source),
                options.seed.wrapping_mul(1 << 32).wrapping_add(number as u64),
            );
            let place = format!("mutant {number} of {}", candidate.place);
            let mut section = Section::default();
            compare(tools, candidate, &place, text.as_bytes(), Strictness::Reader, &mut section)?;
            if let Some(folder) =
                options.keep.as_ref().filter(|_| section.of_class(Class::Unexplained) > 0)
            {
                fs::create_dir_all(folder)?;
                fs::write(folder.join(format!("mutant.{}.{number}.ll", options.seed)), &text)?;
            }
            Ok(section)
        })
        .collect();
    for part in found {
        section.merge(part?);
    }
    Ok(section)
}

/// Which of LLVM's refusals we must share.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Strictness {
    /// All.
    Full,
    /// Those of LLVM's parser.
    Reader,
}

fn compare(
    tools: &Tools,
    candidate: &Candidate,
    place: &str,
    text: &[u8],
    strictness: Strictness,
    section: &mut Section,
) -> anyhow::Result<()> {
    let verify = |program: &Program| -> anyhow::Result<Outcome> {
        let mut arguments = candidate.target.clone();
        arguments.extend(["-passes=verify", "-disable-output", "-"].map(str::to_owned));
        program.run(arguments, text)
    };
    let theirs = verify(&tools.opt)?;
    let ours = verify(&tools.subject)?;
    if ours.crashed() {
        section.push(Entry::unexplained(place, format!("ours crashes: {}", ours.summary())));
        return Ok(());
    }
    if theirs.crashed() {
        section.count("on which LLVM crashes", 1);
        return Ok(());
    }
    match (theirs.success(), ours.success()) {
        (true, true) => section.count("accepted by both", 1),
        (false, false) => section.count("refused by both", 1),
        (true, false) => {
            section.push(Entry::unexplained(
                place,
                format!("only ours refuses it: {}", ours.summary()),
            ));
        }
        (false, true) => {
            let verdict = Verdict::of(&theirs);
            let class = match (strictness, &verdict) {
                (Strictness::Reader, Verdict::Refused(_)) => Class::Explained,
                _ => Class::Unexplained,
            };
            let (Verdict::Refused(text) | Verdict::RefusedByReader(text)) = verdict else {
                return Ok(());
            };
            section.push(Entry::new(class, place, format!("only LLVM refuses it: {text}")));
        }
    }
    Ok(())
}
