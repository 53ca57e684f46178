//! Uniformity of random functions, value by value.
//!
//! The functions are small and dense: random or structured control flow, including irreducible
//! cycles, filled with sources of divergence, phis and uses across cycles. One file has many
//! functions, since starting a program costs more than analysing a function.

use std::fs;

use phalanx_testing::{
    abstract_program::DECLARATIONS,
    compare::{self, Fact},
    generate,
};
use rayon::prelude::*;

use super::{
    Options, Tools,
    corpus::target_arguments,
    facts::{self, Question},
    report::{Entry, Section},
};

/// Functions per file.
const BATCH: usize = 200;

/// The target of the functions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Amdgcn,
    Nvptx,
}

impl Target {
    pub(super) const ALL: [Target; 2] = [Target::Amdgcn, Target::Nvptx];

    fn triple(self) -> &'static str {
        match self {
            Target::Amdgcn => "amdgcn-amd-amdhsa",
            Target::Nvptx => "nvptx64-nvidia-cuda",
        }
    }

    /// The module, written for AMDGPU, for this target.
    ///
    /// NVPTX has no operation whose result LLVM takes as uniform whatever its operand is: a call in
    /// its place.
    fn translate(self, module: String) -> String {
        match self {
            Target::Amdgcn => module,
            Target::Nvptx => module
                .replace("amdgpu_kernel", "ptx_kernel")
                .replace("@llvm.amdgcn.workitem.id.x", "@llvm.nvvm.read.ptx.sreg.tid.x")
                .replace("@llvm.amdgcn.readfirstlane.i32", "@lane"),
        }
    }
}

/// Compares `count` functions.
pub(super) fn run(
    tools: &Tools,
    target: Target,
    count: usize,
    options: &Options,
) -> anyhow::Result<Section> {
    let mut section =
        Section::new(&format!("Uniformity of random functions for {}", target.triple()));
    let starts: Vec<usize> = (0..count).step_by(BATCH).collect();
    let found: Vec<anyhow::Result<Section>> = starts
        .into_par_iter()
        .map(|start| batch(tools, target, start..count.min(start + BATCH), options))
        .collect();
    for part in found {
        section.merge(part?);
    }
    Ok(section)
}

/// The module with the functions of the given numbers.
fn module(target: Target, numbers: impl Iterator<Item = usize>, seed: u64) -> String {
    let mut text = format!("target triple = \"{}\"\n{DECLARATIONS}", target.triple());
    for number in numbers {
        let options = generate::Options {
            shape: None,
            // Mostly small functions, where all rules interact; sometimes larger ones.
            blocks: [8, 11, 11, 16, 30][number % 5],
            undef: number % 7 == 6,
        };
        let program =
            generate::program(seed.wrapping_mul(1 << 32).wrapping_add(number as u64), options);
        text.push_str(&program.to_llvm(&format!("f{number}")));
    }
    target.translate(text)
}

fn batch(
    tools: &Tools,
    target: Target,
    numbers: std::ops::Range<usize>,
    options: &Options,
) -> anyhow::Result<Section> {
    let mut section = Section::default();
    let name = format!("random.{}.{}.{}.ll", target.triple(), options.seed, numbers.start);
    let text = module(target, numbers, options.seed);
    let (folder, _temporary) = match &options.keep {
        Some(folder) => (folder.clone(), None),
        None => {
            let temporary = tempfile::tempdir()?;
            (temporary.path().to_owned(), Some(temporary))
        }
    };
    fs::create_dir_all(&folder)?;
    let path = folder.join(&name);
    fs::write(&path, text)?;
    let place = name.clone();
    let question = Question {
        path,
        place: name,
        target: target_arguments("", None),
        facts: Fact::ALL.to_vec(),
        stored: Vec::new(),
    };
    let theirs = facts::print(&tools.opt, &question.facts, &question.target, &question.path)?;
    if !theirs.success() {
        section.push(Entry::unexplained(
            place,
            format!("LLVM refuses the generator's text: {}", theirs.summary()),
        ));
        return Ok(section);
    }
    let ours = facts::print(&tools.subject, &question.facts, &question.target, &question.path)?;
    if !ours.success() {
        section.push(Entry::unexplained(
            place,
            format!("{}: {}", tools.subject.name(), ours.summary()),
        ));
        return Ok(section);
    }
    let (theirs, ours) = (theirs.errors(), ours.errors());
    section.count("functions", compare::function_count(Fact::Uniformity, &theirs));
    facts::compare_texts(tools, &question, &|_| &theirs, &ours, &mut section)?;
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_a_function_of_the_seed_and_differ_by_target() {
        let amd = module(Target::Amdgcn, 0..5, 1);
        assert_eq!(amd, module(Target::Amdgcn, 0..5, 1));
        assert_ne!(amd, module(Target::Amdgcn, 0..5, 2));
        let nv = module(Target::Nvptx, 0..5, 1);
        assert_eq!(amd.matches("\ndefine amdgpu_kernel void").count(), 5);
        assert_eq!(nv.matches("\ndefine ptx_kernel void").count(), 5);
        assert!(!nv.contains("amdgcn"));
    }
}
