//! The command line, as clap sees it.
//!
//! `phalanx opt` takes LLVM's spelling, where long options have one dash (`-passes=...`,
//! `-mtriple x`). clap does not know such options, so [`normalize`] gives the words after `opt` a
//! second dash first.

mod check;
mod performance;
mod source;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum, builder::Styles};

use crate::shell::{CompletionsArgs, ManArgs};
use crate::terminal::Terminal;
pub(crate) use check::{CheckArgs, CheckFormat, LevelArg};
pub(crate) use performance::PerformanceArgs;
pub(crate) use source::SourceArgs;

/// What `phalanx --help` says.
#[derive(Parser, Debug)]
#[command(
    name = "phalanx",
    version,
    about = "Which threads move as one, which break rank, and why",
    long_about = "Phalanx tells which threads of a GPU kernel move as one, which break rank, and why. It reads CUDA, HIP, OpenCL and LLVM IR.",
    styles = Styles::styled(),
    after_help = EXAMPLES,
    propagate_version = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Worker threads; 0 takes one per core. The output does not depend on it.
    #[arg(long, short = 'j', global = true, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(..=MAX_THREADS))]
    pub(crate) threads: u16,
}

/// More threads than any machine has cores would take longer to start than they save.
const MAX_THREADS: i64 = 1024;

const EXAMPLES: &str = "\
Examples:
  phalanx check kernel.cu                             barriers that hang, accesses that race
  phalanx analyze kernel.ll                           what diverges, function by function
  phalanx analyze --format json kernel.ll             the same for a program
  phalanx explain kernel.ll @f %v                     why it diverges
  phalanx opt -passes='print<uniformity>' kernel.ll   in LLVM's format
  phalanx graph --format svg kernel.ll > kernel.svg   a picture
  phalanx report kernel.cu                            a page to look at: report.html
  phalanx run kernel.ll @f --group 64 --arg i32:5     execute it

Exit status: 0 fine, 1 findings (errors of `check`, rules that are broken for `opt`, faults of `run`), 2 bad usage or bad input.";

/// When to use colours.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// All facts, per function, for people or programs.
    Analyze(AnalyzeArgs),
    /// Why something diverges: the shortest chain of causes to a source.
    Explain(ExplainArgs),
    /// What is wrong with kernels, or may be: barriers that can hang, races, wrong masks and
    /// bounds.
    Check(CheckArgs),
    /// The part of LLVM's `opt` that Phalanx implements.
    Opt(OptArgs),
    /// Graphs of a function in DOT, or as SVG.
    Graph(GraphArgs),
    /// What accesses, branches and loops cost a wave, most expensive first, and what could be done.
    Performance(PerformanceArgs),
    /// A page to look at: source and code side by side, what differs and why, findings.
    Report(ReportArgs),
    /// Executes a kernel thread by thread, and looks for races.
    Run(RunArgs),
    /// Completions of commands and options for a shell.
    Completions(CompletionsArgs),
    /// Manual pages.
    Man(ManArgs),
}

/// Options of `phalanx run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Arguments of the kernel, in order, each with --arg:
  i32:5  i64:-1  f32:1.5  f64:0.5     a number of the parameter's type; i16:0x3c00 also for half or bfloat, by its bits,
                                      and i64:0 for a pointer, by its address
  buf:f32:1,2,3                       a buffer in global memory with these elements
  buf:i32:zero*64  buf:i32:iota*64    64 zeros; 0, 1, 2 ... 63
  shared:256                          256 bytes of workgroup memory

Examples:
  phalanx run kernel.ll @saxpy --grid 2 --group 64 --arg f32:2 --arg buf:f32:iota*128 --arg buf:f32:zero*128
  phalanx run --trace --group 4 kernel.ll @f     the table of converged dynamic instances
  phalanx run --order random:7 kernel.ll @f      another schedule; results must not depend on it
  phalanx run --frozen ones kernel.ll @f         whatever differs hangs on frozen poison or `undef`

Exit status: 0 fine; 1 the kernel faults, hangs, races, reads workgroup memory that no thread has
written, breaks a rule of barriers or masks, or runs out of fuel; 2 bad usage or bad input.")]
pub(crate) struct RunArgs {
    /// LLVM IR, bitcode, or a source in CUDA, HIP or OpenCL; `-` is LLVM IR from standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The kernel, with or without `@`.
    #[arg(value_name = "FUNCTION")]
    pub(crate) function: String,
    /// Workgroups: `4`, `4x2` or `4x2x1`.
    #[arg(long, default_value = "1", value_name = "N[xN[xN]]")]
    pub(crate) grid: String,
    #[command(flatten)]
    pub(crate) group: GroupArgs,
    /// Threads of the workgroups at the far edge of the grid, where these are smaller, as OpenCL
    /// allows: `20`, `20x3`. In dimensions that are left out they are whole.
    #[arg(long, value_name = "N[xN[xN]]")]
    pub(crate) partial: Option<String>,
    /// Workgroups of a cluster: `2` or `2x2x1`. The grid has whole clusters.
    #[arg(long, default_value = "1", value_name = "N[xN[xN]]")]
    pub(crate) cluster: String,
    /// Lanes of a wave; unless it is stated those of the processor, 32 where their number is not
    /// known.
    #[arg(long, value_name = "N")]
    pub(crate) wave: Option<u32>,
    /// An argument of the kernel; see below.
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// Bytes of workgroup memory for variables without a size: `extern __shared__` arrays.
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub(crate) shared: u64,
    /// How many instructions all threads together may execute.
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    pub(crate) fuel: u64,
    /// In which order threads advance: `lockstep`, `turns:N` or `random:SEED`.
    #[arg(long, default_value = "lockstep", value_name = "ORDER")]
    pub(crate) order: String,
    /// Where threads of a wave are together again that parted at a branch: as early as cycles
    /// allow, or at the immediate post-dominator of the branch, as on hardware with a stack of
    /// masks.
    #[arg(long, value_enum, default_value_t = Reconverge::Maximal, value_name = "MODEL")]
    pub(crate) reconverge: Reconverge,
    /// Chooses the contents of memory that was never written.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Bits of frozen poison and of `undef`, cut to the type: `zero`, `ones` or `random:SEED`.
    #[arg(long, default_value = "zero", value_name = "BITS")]
    pub(crate) frozen: String,
    /// Print the table of converged dynamic instances: threads as rows, a column per converged
    /// execution of a block.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Look for data races in all memory, not that of workgroups alone: accesses of different
    /// threads to the same bytes, one a write and not both atomic, that no barrier, fence or atomic
    /// orders. Writes of one value race, too.
    #[arg(long)]
    pub(crate) races: bool,
    /// Look for no data races, and for no reads of workgroup memory that no thread has written.
    #[arg(long, conflicts_with = "races")]
    pub(crate) no_races: bool,
    /// Print all elements of large buffers, not the first and last ones alone.
    #[arg(long)]
    pub(crate) all: bool,
    /// Text for people or JSON for programs.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Models of reconvergence.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Reconverge {
    /// As early as cycles allow.
    Maximal,
    /// At immediate post-dominators.
    PostDominator,
}

/// Options that say what the code runs on.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct TargetArgs {
    /// Target triple, in place of the file's own.
    #[arg(long, value_name = "TRIPLE")]
    pub(crate) mtriple: Option<String>,
    /// Processor, such as gfx90a or sm_80.
    #[arg(long, value_name = "CPU")]
    pub(crate) mcpu: Option<String>,
    /// What functions that the module only declares do, and what its machine is: a file with rows
    /// as in `docs/own-functions.md`.
    #[arg(long, value_name = "FILE")]
    pub(crate) own_functions: Option<PathBuf>,
}

/// The size of workgroups.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct GroupArgs {
    /// Threads of every workgroup: `256`, `32x8` or `8x8x4`. Without it that is what the file says;
    /// `run` takes 1 where it says nothing.
    #[arg(long, value_name = "N[xN[xN]]")]
    group: Option<String>,
    /// The old spelling.
    #[arg(long, hide = true, conflicts_with = "group")]
    block: Option<String>,
}

impl GroupArgs {
    /// What is stated; the old spelling is told.
    pub(crate) fn of(&self, terminal: &Terminal) -> Option<&str> {
        if self.block.is_some() {
            terminal.warn("--block is now --group; it means a basic block in `explain` only");
        }
        self.group.as_deref().or(self.block.as_deref())
    }
}

/// Options of `phalanx analyze`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  phalanx analyze kernel.ll
  phalanx analyze --scope workgroup --print branches,cycles kernel.ll
  phalanx analyze --function reduce --print all kernel.ll
  phalanx analyze --group 32x8 --wave 32 kernel.ll    what is known of the launch
  clang-22 -x cl ... -S -emit-llvm -o - k.cl | phalanx analyze -

Exit status: 0 fine, divergent or not; 2 bad usage or bad input.")]
pub(crate) struct AnalyzeArgs {
    /// LLVM IR, bitcode, or sources in CUDA, HIP or OpenCL; `-` is LLVM IR from standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How far `uniform` reaches.
    #[arg(long, value_enum, default_value_t = ScopeArg::Wave)]
    pub(crate) scope: ScopeArg,
    /// Which facts to print.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Section::Summary, Section::Branches, Section::Cycles, Section::Values, Section::Uses])]
    pub(crate) print: Vec<Section>,
    /// Text for people or JSON for programs.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Only functions with this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    #[command(flatten)]
    pub(crate) group: GroupArgs,
    /// Lanes of a wave, where the processor does not say, and that they are cut from the line x,
    /// then y, then z.
    #[arg(long, value_name = "N")]
    pub(crate) wave: Option<u32>,
    /// Workgroups of every cluster, where the file does not say: `2` or `2x2x1`.
    #[arg(long, value_name = "N[xN[xN]]")]
    pub(crate) cluster: Option<String>,
    /// Take it that aligned barriers of workgroups are executed by all threads (strict), or by all
    /// that have not ended (lenient): branches that decide about one are then uniform in each
    /// workgroup.
    #[arg(long, value_enum, value_name = "MODEL", num_args = 0..=1, require_equals = true, default_missing_value = "lenient")]
    pub(crate) assume_barriers: Option<BarrierArg>,
    /// Take it that no two threads race for a byte: between barriers, a load gives one value to all
    /// threads of a workgroup that read one address together.
    #[arg(long)]
    pub(crate) assume_race_free: bool,
    /// The module is a whole program: nothing outside of it calls its functions, but for launches
    /// of kernels, or replaces its weak definitions.
    #[arg(long)]
    pub(crate) whole_program: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Options of `phalanx explain`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  phalanx explain kernel.ll @f %v             a value
  phalanx explain kernel.ll @f --branch bb    the way that the terminator of %bb takes
  phalanx explain kernel.ll @f --use %v:0     the first operand of %v where it reads it
  phalanx explain kernel.ll @f --block bb     whether %bb is executed
  phalanx explain kernel.ll @f --line 42      everything divergent on a line, by debug locations if there are any
  phalanx explain kernel.ll @f --load %v      why a load is no scalar, non-coherent or LDU load; also by line
  phalanx explain kernel.ll @f --generic %p   why a pointer may lead to each memory, and so is generic
  phalanx explain --scope workgroup --json kernel.ll @f %v
  phalanx explain --whole-program kernel.ll @helper %v     with what its callers pass

Exit status: 0 fine, divergent or not; 2 bad usage or bad input.")]
#[command(override_usage = "phalanx explain [OPTIONS] <FILE> <FUNCTION> \
    <VALUE|--line N|--branch BLOCK|--use NAME:N|--block BLOCK|--load PLACE|--generic VALUE>")]
#[command(group(clap::ArgGroup::new("subject").required(true)))]
pub(crate) struct ExplainArgs {
    /// LLVM IR, bitcode, or a source in CUDA, HIP or OpenCL; `-` is LLVM IR from standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The function, with or without `@`.
    #[arg(value_name = "FUNCTION")]
    pub(crate) function: String,
    /// A value, with or without `%`, or a variable of the program.
    #[arg(value_name = "VALUE", group = "subject")]
    pub(crate) value: Option<String>,
    /// The terminator of a block.
    #[arg(long, value_name = "BLOCK", group = "subject")]
    pub(crate) branch: Option<String>,
    /// An operand of an instruction: its name, or the name of a block for its terminator, and the
    /// number of the operand.
    #[arg(long = "use", value_name = "NAME:N", group = "subject")]
    pub(crate) use_: Option<String>,
    /// Whether a block is executed.
    #[arg(long, value_name = "BLOCK", group = "subject")]
    pub(crate) block: Option<String>,
    /// Why a load is not done in a cheaper way: its name with the `%`, or its line in the file.
    #[arg(long, value_name = "PLACE", group = "subject")]
    pub(crate) load: Option<String>,
    /// Why a pointer may lead where it does: its name, or `NAME:N` for an operand.
    #[arg(long, value_name = "VALUE", group = "subject")]
    pub(crate) generic: Option<String>,
    /// Everything divergent on a line.
    #[arg(long, value_name = "N", group = "subject")]
    pub(crate) line: Option<u32>,
    /// Between which threads.
    #[arg(long, value_enum, default_value_t = ScopeArg::Wave)]
    pub(crate) scope: ScopeArg,
    /// JSON in place of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads of every workgroup, where the file does not say: `256`, `32x8` or `8x8x4`.
    #[arg(long = "group", value_name = "N[xN[xN]]")]
    pub(crate) group: Option<String>,
    /// Lanes of a wave, where the processor does not say, and that they are cut from the line x,
    /// then y, then z.
    #[arg(long, value_name = "N")]
    pub(crate) wave: Option<u32>,
    /// Workgroups of every cluster, where the file does not say: `2` or `2x2x1`.
    #[arg(long, value_name = "N[xN[xN]]")]
    pub(crate) cluster: Option<String>,
    /// Take it that aligned barriers are used rightly; see `phalanx analyze --help`.
    #[arg(long, value_enum, value_name = "MODEL", num_args = 0..=1, require_equals = true, default_missing_value = "lenient")]
    pub(crate) assume_barriers: Option<BarrierArg>,
    /// Take it that no two threads race for a byte; see `phalanx analyze --help`.
    #[arg(long)]
    pub(crate) assume_race_free: bool,
    /// The module is a whole program: nothing outside of it calls its functions, but for launches
    /// of kernels, or replaces its weak definitions.
    #[arg(long)]
    pub(crate) whole_program: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Scopes by name.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Four lanes of a wave, 4k to 4k + 3, among which derivatives are taken.
    Quad,
    /// Threads that hardware executes together: warp, wavefront.
    Wave,
    /// Threads that share barriers and workgroup memory.
    Workgroup,
    /// Workgroups that run together.
    Cluster,
    /// All threads of a launch.
    Grid,
}

/// Models of barriers by name.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BarrierArg {
    /// All threads execute the same barriers.
    Strict,
    /// All that have not ended do.
    Lenient,
}

/// What `analyze` can print.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Section {
    /// Counts.
    Summary,
    /// Branches and what their conditions depend on.
    Branches,
    /// The cycle hierarchy, exits and their divergence.
    Cycles,
    /// Divergent values and their sources.
    Values,
    /// Uses made divergent by leaving a cycle in different iterations.
    Uses,
    /// Blocks under divergent control.
    Blocks,
    /// Memory accesses: what the lanes of a wave touch.
    Accesses,
    /// Loads that may be scalar, non-coherent or LDU, and why others may not.
    Loads,
    /// Pointers, and the memories that they may lead to.
    Spaces,
    /// Dominator and post-dominator trees.
    Trees,
    /// Convergent operations and the tokens that control them.
    Convergence,
    /// Everything, uniform values included.
    All,
}

/// Output formats.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Options of `phalanx opt`.
#[derive(Args, Debug)]
#[command(
    about = "The part of LLVM's `opt` that Phalanx implements",
    long_about = "Takes LLVM's spelling: long options with one dash or two. Printing passes write to standard error,\n\
        as in LLVM. The module is written with -S or -o only, as text.",
    after_help = "\
Passes: dce instsimplify simplifycfg early-cse licm loop-unroll jump-threading move-convergent combine-ballots
        linearize remove-redundant-barriers infer-address-spaces infer-convergence-attrs infer-convergence-tokens drop-convergence-tokens
        annotate-uniform mark-loads
        print<uniformity> print<cycles> print<domtree> print<postdomtree> print<domfrontier>
        print<memoryssa> print<hssa> print<alias>
        verify require<...> verify<...> invalidate<...> no-op-module no-op-function, function(...), module(...)
Parameters: simplifycfg<speculate=N;select-uniform;no-select> mark-loads<ldu>
            remove-redundant-barriers<assume-aligned> loop-unroll<full-size=N;count=N> jump-threading<size=N> linearize<max-blocks=N>
            <machines=maximal|post-dominator|all>: machines that the result has to be right for, of simplifycfg loop-unroll
            jump-threading move-convergent combine-ballots annotate-uniform mark-loads

Examples:
  phalanx opt -passes='print<uniformity>' -disable-output kernel.ll
  phalanx opt -mtriple=amdgcn-- -passes='print<cycles>,print<domtree>' kernel.ll
  phalanx opt -passes='print<uniformity>,simplifycfg,dce,print<uniformity>' -disable-output kernel.ll
  phalanx opt -passes='simplifycfg,early-cse,licm,dce,annotate-uniform' -stats -S kernel.ll -o out.ll

Exit status: 0 fine, 1 a rule of the IR is broken, in the input or behind a pass, 2 bad usage, text that is no IR, or a pass that failed."
)]
pub(crate) struct OptArgs {
    /// LLVM IR, bitcode, or a source in CUDA, HIP or OpenCL; `-`, or nothing, is standard input.
    #[arg(default_value = "-", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Passes, separated by commas.
    #[arg(long, default_value = "", value_name = "PIPELINE")]
    pub(crate) passes: String,
    /// Write the module as text.
    #[arg(short = 'S')]
    pub(crate) text: bool,
    /// Where to write the module; `-` is standard output.
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write no module.
    #[arg(long)]
    pub(crate) disable_output: bool,
    /// Do not verify the input.
    #[arg(long)]
    pub(crate) disable_verify: bool,
    /// Verify functions after each pass that changed them.
    #[arg(long)]
    pub(crate) verify_each: bool,
    /// Print functions after each pass that changed them, on standard error.
    #[arg(long)]
    pub(crate) print_changed: bool,
    /// Say what each pass changed and asked.
    #[arg(long)]
    pub(crate) stats: bool,
    /// Say how long each pass took.
    #[arg(long)]
    pub(crate) time_passes: bool,
    /// Uniformity by LLVM 22's own rules, its unsound answers included. For comparisons only.
    #[arg(long, hide = true)]
    pub(crate) exact_llvm: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Options of `phalanx graph`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  phalanx graph kernel.ll | dot -Tsvg > cfg.svg
  phalanx graph --kind domtree --function reduce kernel.ll

Exit status: 0 fine; 2 bad usage or bad input.")]
pub(crate) struct GraphArgs {
    /// LLVM IR, bitcode, or a source in CUDA, HIP or OpenCL; `-` is LLVM IR from standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Which graph.
    #[arg(long, value_enum, default_value_t = GraphKind::Cfg)]
    pub(crate) kind: GraphKind,
    /// In which format.
    #[arg(long, value_enum, default_value_t = GraphFormat::Dot)]
    pub(crate) format: GraphFormat,
    /// Only functions with this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Formats of graphs.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GraphFormat {
    /// For Graphviz and its like: one graph for each function.
    Dot,
    /// One drawing, of up to 400 nodes for each function.
    Svg,
}

/// Options of `phalanx report`.
#[derive(Args, Debug)]
#[command(after_help = "\
The page is one file; any browser shows it, also without a network. Of several files each gets a
page of its own in a folder beside, and the page that is named has links to all functions.

Examples:
  phalanx report kernel.cu                         writes report.html
  phalanx report a.cu b.cu -o all.html             writes all.html, all/a.cu.html and all/b.cu.html
  phalanx report kernel.ll -o - > page.html        to standard output
  phalanx report kernel.cl --function scan         one function alone
  phalanx report after.ll --against before.ll      what a transform changed, side by side

Exit status: 0 fine, whatever was found; 2 bad usage or bad input.")]
pub(crate) struct ReportArgs {
    /// LLVM IR, bitcode, or sources in CUDA, HIP or OpenCL; `-` is LLVM IR from standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Where the page is written; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// An earlier version: its code is shown beside, with what differs between other threads now.
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Only functions with this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    /// Threads of every workgroup, where the file does not say: `256`, `32x8` or `8x8x4`.
    #[arg(long, value_name = "N[xN[xN]]")]
    pub(crate) group: Option<String>,
    /// Lanes of a wave, where the processor does not say, and that they are cut from the line x,
    /// then y, then z.
    #[arg(long, value_name = "N")]
    pub(crate) wave: Option<u32>,
    /// Other modules may call the functions of this one.
    #[arg(long)]
    pub(crate) part_of_program: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Graphs by name.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GraphKind {
    /// Blocks and edges; divergent branches and blocks are marked.
    Cfg,
    /// The dominator tree.
    Domtree,
    /// The post-dominator tree.
    Postdomtree,
    /// The control-flow graph with cycles as nested boxes.
    Cycles,
    /// Which values affect which; divergent ones are marked.
    Affect,
}

/// Gives the long options after `opt` their second dash.
pub(crate) fn normalize(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (mut in_opt, mut in_flags) = (false, false);
    let mut out = Vec::new();
    for (position, arg) in args.into_iter().enumerate() {
        let text = arg.to_str().unwrap_or_default();
        // What follows is for the compiler of sources.
        in_flags |= text == "--";
        if in_flags || position > 0 && !in_opt {
            in_opt |= text == "opt";
            out.push(arg);
            continue;
        }
        let single = text.starts_with('-') && !text.starts_with("--") && text.len() > 2;
        let short = text.starts_with("-o") || text.starts_with("-j");
        if position > 0 && single && !short {
            out.push(format!("-{text}").into());
        } else {
            out.push(arg);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        normalize(line.split(' ').map(OsString::from))
            .into_iter()
            .map(|w| w.into_string().expect("test words are UTF-8"))
            .collect()
    }

    #[test]
    fn llvm_spelling_gets_a_second_dash_after_opt_only() {
        assert_eq!(
            words("phalanx opt -passes=verify -S -o x -disable-output --mtriple a -").join(" "),
            "phalanx opt --passes=verify -S -o x --disable-output --mtriple a -"
        );
        assert_eq!(
            words("phalanx opt -stats k.cu -- -Iinc").join(" "),
            "phalanx opt --stats k.cu -- -Iinc"
        );
        assert_eq!(words("phalanx analyze -j2 a.ll").join(" "), "phalanx analyze -j2 a.ll");
    }

    #[test]
    fn definition_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
