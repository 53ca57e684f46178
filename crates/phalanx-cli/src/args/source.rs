//! Options about inputs that are sources: which compiler, which headers, which cache.

use std::path::PathBuf;

use clap::Args;

/// Options of all commands that take sources beside modules.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Sources")]
pub(crate) struct SourceArgs {
    /// The clang that compiles sources, in place of the newest that is installed.
    #[arg(long, value_name = "PATH")]
    pub(crate) clang: Option<PathBuf>,
    /// A CUDA toolkit, or a folder with its Python packages; `none` takes phalanx's own header.
    #[arg(long, value_name = "DIR")]
    pub(crate) cuda_path: Option<PathBuf>,
    /// The folder of ROCm; `none` takes phalanx's own header.
    #[arg(long, value_name = "DIR")]
    pub(crate) rocm_path: Option<PathBuf>,
    /// Where results are kept for the next run, in place of the user's folder of caches.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Keep no results, and use none.
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Flags of clang for sources: `-I`, `-D`, `-std`, `-x`, `-O1`, `--offload-arch` ...
    #[arg(last = true, value_name = "CLANG FLAGS", allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}
