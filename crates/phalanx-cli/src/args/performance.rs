//! Arguments of `phalanx performance`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, SourceArgs, TargetArgs};

/// Options of `phalanx performance`.
#[derive(Args, Debug)]
#[command(after_help = "\
One unit of cost is a transaction of 32 bytes, a turn of a bank, an update or an instruction that a
wave could be spared; each loop around counts eight times. It is an order, and no time.

Examples:
  phalanx performance kernel.cu                    the most expensive first, by function
  phalanx performance --group 32x8 kernel.cu       with the size of workgroups: exact counts
  phalanx performance --all kernel.cl              also what costs nothing that is known
  phalanx performance --format json kernel.ll      for programs

Exit status: 0 fine, whatever was found; 2 bad usage or bad input.")]
pub(crate) struct PerformanceArgs {
    /// LLVM IR, bitcode, or sources in CUDA, HIP or OpenCL; `-` is LLVM IR from standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Also what costs nothing that is known.
    #[arg(long)]
    pub(crate) all: bool,
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
