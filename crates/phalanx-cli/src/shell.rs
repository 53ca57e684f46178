//! Completions, manual pages, and a hint for new users.
//!
//! All of these are generated from clap's description of the command line, so they agree with
//! `--help`:
//!
//! ```text
//! phalanx completions bash > ~/.local/share/bash-completion/completions/phalanx
//! phalanx man ~/.local/share/man/man1
//! ```

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{args::Cli, status::Status, terminal::Terminal};

/// The output of `phalanx` without arguments.
pub(crate) const FIRST: &str = "\
Phalanx tells which threads of a GPU kernel move as one, which break rank, and why.

Try first, with a kernel of yours in CUDA, HIP, OpenCL or LLVM IR:
  phalanx check kernel.cu       barriers that hang, accesses that race
  phalanx report kernel.cu      a page to look at: report.html
  phalanx analyze kernel.ll     what differs between threads, function by function

`phalanx --help` lists all commands; `phalanx COMMAND --help` shows examples of each.
";

/// Options of `phalanx completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  phalanx completions bash > ~/.local/share/bash-completion/completions/phalanx
  phalanx completions zsh > ~/.zfunc/_phalanx          # a folder of fpath
  phalanx completions fish > ~/.config/fish/completions/phalanx.fish

Exit status: 0 fine, 2 bad usage.")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Options of `phalanx man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  phalanx man ~/.local/share/man/man1      then: man phalanx-check

Exit status: 0 fine, 2 bad usage, or the pages cannot be written.")]
pub(crate) struct ManArgs {
    /// The folder; it is made if it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a script with completions to standard output.
pub(crate) fn completions(args: &CompletionsArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "phalanx", &mut script);
    terminal.out(&String::from_utf8_lossy(&script))?;
    Ok(Status::Fine)
}

/// Writes `phalanx.1`, and a page for each command.
pub(crate) fn man(args: &ManArgs, terminal: &Terminal) -> anyhow::Result<Status> {
    let folder = &args.folder;
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("cannot make {shown}"))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("cannot write to {shown}"))?;
    terminal.note(&format!("{shown}: `man {shown}/phalanx.1` shows the first page"));
    Ok(Status::Fine)
}
