//! `cargo xtask conformance`: `phalanx` against LLVM 22.
//!
//! | section | what is compared |
//! |---|---|
//! | facts | every fact that the printing passes print about LLVM's tests (answers beside the files) and our kernels |
//! | tests | LLVM's own tests of these facts, by their `RUN:` lines and FileCheck |
//! | random | uniformity of random functions, value by value, for AMDGPU and NVPTX |
//! | accept | which files, and mutants of them, are accepted |
//! | round | what `-S` writes |
//!
//! Three counts matter for uniformity: how often we say divergent where LLVM 22 is wrong, how often
//! we say uniform where LLVM is less precise, and how many differences are unexplained.
//! [`classify`] distinguishes them. The run fails if any section has an unexplained difference.
//!
//! LLVM's tests are read from the folder that `--corpus` or `PHALANX_CORPUS` names. Parts whose
//! inputs are missing on the machine are skipped, and the report says so.

mod acceptance;
mod classify;
mod corpus;
mod facts;
mod filecheck;
mod llvm_report;
mod llvm_tests;
mod random;
mod report;
mod roundtrip;
mod spelling;

use std::{env, path::PathBuf, time::Instant};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use phalanx_test_suite::kernels::Manifest;
use phalanx_testing::llvm_tools::{self, Program};
use rayon::prelude::*;

use self::{
    acceptance::Candidate,
    corpus::CorpusFile,
    report::{Class, Section},
};

/// What to compare.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Options {
    /// LLVM's tests; by default the folder that PHALANX_CORPUS names.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// How many random functions to compare on each target.
    #[arg(long, value_name = "N")]
    random: Option<usize>,
    /// How many mutants to read.
    #[arg(long, value_name = "N")]
    mutants: Option<usize>,
    /// A minute instead of many: a sample of everything.
    #[arg(long)]
    quick: bool,
    /// Compare our answers by LLVM's rules alone; they must be LLVM's.
    #[arg(long)]
    exact_llvm: bool,
    /// Only these sections.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME")]
    section: Vec<Part>,
    /// Where random numbers start.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// How many explained differences to list per kind.
    #[arg(long, default_value_t = 10, value_name = "N")]
    show: usize,
    /// Keep the files with random functions, and mutants that are read differently, in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Use this binary instead of the workspace's.
    #[arg(long, value_name = "FILE")]
    phalanx: Option<PathBuf>,
    /// Read, verify and print every file of LLVM's test tree (`llvm/test`) instead of the sections.
    #[arg(long, value_name = "DIR")]
    llvm_tests: Option<PathBuf>,
    /// Of LLVM's test tree, this many files that the seed chooses.
    #[arg(long, value_name = "N", requires = "llvm_tests")]
    sample: Option<usize>,
    /// Keep LLVM's answers about its test tree in this file, and use those that are there.
    #[arg(long, value_name = "FILE", requires = "llvm_tests")]
    verdicts: Option<PathBuf>,
    /// Write every difference about LLVM's test tree to this file, one a line.
    #[arg(long, value_name = "FILE", requires = "llvm_tests")]
    findings: Option<PathBuf>,
    /// Of LLVM's test tree, only the files that this file, written by `--findings`, names.
    #[arg(long, value_name = "FILE", requires = "llvm_tests")]
    again: Option<PathBuf>,
    /// Workers for LLVM's test tree; as many as there are cores by default.
    #[arg(long, value_name = "N", requires = "llvm_tests")]
    jobs: Option<usize>,
    /// Put opt-22 in our place: tests this chore, and must find nothing.
    #[arg(long)]
    self_test: bool,
}

/// The sections.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    Facts,
    Tests,
    Random,
    Accept,
    Round,
}

/// The programs of a run.
#[derive(Debug)]
struct Tools {
    /// `opt-22`
    opt: Program,
    /// `phalanx opt`, or what stands in for it.
    subject: Program,
    /// `phalanx opt --exact-llvm`; `None` if that is the subject.
    exact: Option<Program>,
    /// `phalanx opt -S`, or what stands in for it: writes the module it reads.
    printer: Program,
}

/// Runs the chore and prints its report.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(folder) = &options.llvm_tests {
        return llvm_tests::run(folder, options);
    }
    let Some(tools) = tools(options)? else { bail!("conformance needs LLVM 22: opt") };
    let version = tools.opt.run(["--version"], &[])?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let version =
        version.lines().find_map(|line| line.split_once("version ")).map_or("22", |(_, v)| v);
    println!("{} against LLVM {}\n", tools.subject.name(), version.trim());
    let started = Instant::now();
    let mut unexplained = 0;
    for section in sections(&tools, options)? {
        unexplained += section.of_class(Class::Unexplained);
        println!("{}", section.render(options.show));
    }
    eprintln!("{:.0} s", started.elapsed().as_secs_f64());
    if unexplained > 0 {
        bail!("{unexplained} unexplained differences");
    }
    println!("no unexplained differences");
    Ok(())
}

fn tools(options: &Options) -> anyhow::Result<Option<Tools>> {
    let Some(opt) = llvm_tools::require("opt") else { return Ok(None) };
    let printing = |program: &Program| {
        ["-S", "-disable-verify", "-o", "-", "-"].iter().fold(program.clone(), |p, a| p.with(*a))
    };
    if options.self_test {
        let (subject, exact, printer) = (opt.clone(), Some(opt.clone()), printing(&opt));
        return Ok(Some(Tools { opt, subject, exact, printer }));
    }
    let phalanx = match &options.phalanx {
        Some(path) => {
            Program::new(path.canonicalize().with_context(|| path.display().to_string())?)
        }
        None => llvm_tools::phalanx_binary()?,
    };
    let subject = phalanx.with("opt").named("phalanx opt");
    let printer = printing(&subject);
    let exact = subject.clone().with("--exact-llvm").named("phalanx opt --exact-llvm");
    let (subject, exact) = if options.exact_llvm { (exact, None) } else { (subject, Some(exact)) };
    Ok(Some(Tools { opt, subject, exact, printer }))
}

/// The chosen sections, in order.
fn sections(tools: &Tools, options: &Options) -> anyhow::Result<Vec<Section>> {
    let wanted = |part| options.section.is_empty() || options.section.contains(&part);
    let folder =
        options.corpus.clone().or_else(|| env::var_os("PHALANX_CORPUS").map(PathBuf::from));
    let folder = folder.filter(|folder| folder.is_dir());
    let tests = match &folder {
        Some(folder) => corpus::read(folder)?,
        None => Vec::new(),
    };
    let (kernels, no_kernels) = kernels(options)?;
    let shipped = phalanx_test_suite::shipped()?;
    let mut out = Vec::new();
    let progress = |text: &str| {
        if !cfg!(test) {
            eprintln!("conformance: {text}");
        }
    };
    let of_tests = |make: &dyn Fn(&[CorpusFile]) -> anyhow::Result<Section>, title: &str| {
        let mut section = if folder.is_some() { make(&tests)? } else { Section::new(title) };
        if folder.is_none() {
            section.skip("PHALANX_CORPUS names no folder with LLVM's tests");
        }
        anyhow::Ok(section)
    };
    if wanted(Part::Facts) {
        progress("facts");
        out.push(of_tests(&|files| facts::corpus(tools, files), "Facts about LLVM's tests")?);
        let mut section =
            facts::files(tools, "Facts about our kernels", &[&kernels[..], &shipped].concat())?;
        no_kernels.iter().for_each(|reason| section.skip(reason));
        out.push(section);
    }
    if wanted(Part::Tests) {
        progress("tests");
        out.push(of_tests(&|files| filecheck::run(tools, files), "LLVM's tests")?);
    }
    if wanted(Part::Random) {
        progress("random functions");
        let count = options.random.unwrap_or(if options.quick { 2000 } else { 100_000 });
        for target in random::Target::ALL {
            out.push(random::run(tools, target, count, options)?);
        }
    }
    let candidates: Vec<Candidate> = candidates(&tests, &[&shipped[..], &kernels].concat());
    if wanted(Part::Accept) {
        progress("accepted and refused");
        out.push(acceptance::files(tools, &candidates)?);
        let count = options.mutants.unwrap_or(if options.quick { 200 } else { 3000 });
        out.push(acceptance::mutants(tools, &candidates, count, options)?);
    }
    if wanted(Part::Round) {
        progress("round trips");
        let files: Vec<(String, PathBuf)> =
            candidates.iter().map(|c| (c.place.clone(), c.path.clone())).collect();
        let mut section = roundtrip::run(tools, "Round trips", &files)?;
        no_kernels.iter().for_each(|reason| section.skip(reason));
        out.push(section);
    }
    Ok(out)
}

fn candidates(tests: &[CorpusFile], others: &[PathBuf]) -> Vec<Candidate> {
    let of_test = |file: &CorpusFile| Candidate {
        place: file.name.clone(),
        path: file.path.clone(),
        target: file.target(),
    };
    let of_path = |path: &PathBuf| Candidate {
        place: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.clone(),
        target: Vec::new(),
    };
    tests.iter().map(of_test).chain(others.iter().map(of_path)).collect()
}

/// Our kernels as clang compiles them: one way each, or all ways; and why there are none.
fn kernels(options: &Options) -> anyhow::Result<(Vec<PathBuf>, Option<String>)> {
    let manifest = Manifest::read()?;
    let Some(compiler) = manifest.compiler() else {
        return Ok((Vec::new(), Some("clang-22 not found".to_owned())));
    };
    let folder = env::current_exe()?
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map_or_else(env::temp_dir, |target| target.join("kernels"));
    let variants = if options.quick { manifest.sample() } else { manifest.variants() };
    let files: anyhow::Result<Vec<PathBuf>> =
        variants.par_iter().map(|variant| manifest.compile(&compiler, variant, &folder)).collect();
    Ok((files?, None))
}

#[cfg(test)]
mod tests;
