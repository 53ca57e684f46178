//! Options of `phalanx check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{SourceArgs, TargetArgs};

/// Options of `phalanx check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  phalanx check kernel.cu                                 a source: the clang that is installed compiles it
  phalanx check kernel.cl -- -DTILE=16 -Iinclude          with flags of clang
  phalanx check -p build                                  a project, by its compile_commands.json
  phalanx check kernel.ll                                 LLVM IR
  phalanx check --group 256 --level warning kernel.ll     what is known of the launch; no notes
  phalanx check --group 256 --group scan=512 kernels.cu   kernels that are launched with several sizes
  phalanx check --deny PHX003 --allow PHX005 kernel.ll
  phalanx check --deny not-judged kernel.ll               fail where something could not be judged
  phalanx check --format sarif kernel.ll > kernel.sarif   for code scanning
  phalanx check --write-baseline known.json kernel.ll     then: --baseline known.json
  phalanx check --against before.ll after.ll              what a transform made worse
  phalanx check --watch kernel.ll                         again on each save
  phalanx check --fix kernel.cu                           make the fixes that were tried and work
  phalanx check --explain PHX001                          what a code means

Sources are compiled for the device, with debug information, at -O2 unless flags say otherwise. LLVM IR needs
debug information for findings in lines of its source: compile it with -g (-gline-tables-only is enough).
A comment `phalanx: allow(PHX003)` on a line, or on the one before, keeps a finding from being reported.

The last lines say how many kernels and barriers were judged, and what was not, and why.

Exit status: 0 no errors, 1 errors, 2 bad usage or bad input.")]
pub(crate) struct CheckArgs {
    /// Sources in CUDA, HIP or OpenCL, LLVM IR, bitcode, or folders with such; `-` is LLVM IR from
    /// standard input.
    #[arg(required_unless_present_any = ["explain", "list_rules", "project"], value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// All sources with code for a device of a project: its `compile_commands.json`, or the folder
    /// that this is in.
    #[arg(long, short = 'p', value_name = "DIR", conflicts_with = "watch")]
    pub(crate) project: Option<PathBuf>,
    /// Leave out a source of the project: a path relative to the current folder, or the beginning
    /// of one and `*`; may be given several times.
    #[arg(long, value_name = "NAME", requires = "project")]
    pub(crate) skip: Vec<String>,
    /// Output.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub(crate) format: CheckFormat,
    /// Change sources: make the fixes that are shown below findings, and check again.
    #[arg(long, conflicts_with_all = ["watch", "against", "write_baseline"])]
    pub(crate) fix: bool,
    /// Report findings of a rule as errors; a code, a name, `all` rules, `warnings`, or
    /// `not-judged`.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Report findings of a rule as warnings.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) warn: Vec<String>,
    /// Do not report findings of a rule.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Report barriers after an early return as warnings: the languages want all threads there.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Report nothing below a level.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) level: Option<LevelArg>,
    /// File with levels, in place of the nearest `phalanx.toml`.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Do not report what is listed in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the list that `--baseline` reads, and report nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// An earlier version of the module: report what became worse since.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub(crate) against: Option<PathBuf>,
    /// Check again when a file changes, and say which findings are new and which are gone.
    #[arg(long, conflicts_with = "write_baseline")]
    pub(crate) watch: bool,
    /// Stop watching after so many checks.
    #[arg(long, hide = true, requires = "watch")]
    pub(crate) watch_rounds: Option<usize>,
    /// Also report branches that would be uniform if more were said of launches.
    #[arg(long)]
    pub(crate) suggest_launch: bool,
    /// Also report accesses of memory that take longer than they had to.
    #[arg(long)]
    pub(crate) performance: bool,
    /// Take the target for one without generic accesses: also report accesses of which no single
    /// memory space is known.
    #[arg(long)]
    pub(crate) no_generic: bool,
    /// Also report loads that would take a cheaper way but for one obstacle.
    #[arg(long)]
    pub(crate) loads: bool,
    /// List all rules, with their usual levels.
    #[arg(long)]
    pub(crate) list_rules: bool,
    /// Print what a code means.
    #[arg(long, value_name = "RULE")]
    pub(crate) explain: Option<String>,
    /// Name source files by what follows this folder, where they are below it.
    #[arg(long, value_name = "DIR")]
    pub(crate) srcroot: Option<PathBuf>,
    /// Only functions with this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    /// Threads of every workgroup, where the file does not say: `256`, `32x8` or `8x8x4`; of the
    /// kernels with a name: `scan=512`, `reduce*=32x8`. May be given several times.
    #[arg(long = "group", value_name = "[NAME=]N[xN[xN]]")]
    pub(crate) group: Vec<String>,
    /// Lanes of a wave, where the processor does not say, and that they are cut from the line x,
    /// then y, then z.
    #[arg(long, value_name = "N")]
    pub(crate) wave: Option<u32>,
    /// The module is a part of a program: functions may be called from other modules, with any
    /// arguments.
    #[arg(long)]
    pub(crate) part_of_program: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Output formats of `check`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people.
    Text,
    /// A line for each finding, as compilers write it: for editors.
    Line,
    /// Annotations of GitHub's.
    Github,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// Levels by name.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LevelArg {
    /// Good to know.
    Note,
    /// It may be wrong.
    Warning,
    /// It is wrong.
    Error,
}

impl LevelArg {
    /// The name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            LevelArg::Note => "note",
            LevelArg::Warning => "warning",
            LevelArg::Error => "error",
        }
    }

    /// The level with a name.
    pub(crate) fn from_name(name: &str) -> Option<LevelArg> {
        [LevelArg::Note, LevelArg::Warning, LevelArg::Error].into_iter().find(|l| l.name() == name)
    }
}
