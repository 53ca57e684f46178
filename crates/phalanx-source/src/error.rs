//! Errors between a source and its IR, in words for the user.

use std::{io, path::PathBuf};

/// Why there is no IR.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No clang was found.
    #[error(
        "cannot compile sources: no clang is installed (looked on PATH for {looked_for}); \
         install one (Debian, Ubuntu: `apt install clang-22`), or name one with --clang"
    )]
    NoClang {
        /// The names that were looked for.
        looked_for: String,
    },
    /// The named program is no clang, or an unsupported one.
    #[error("{path}: {what}")]
    Compiler {
        /// The program.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file that is not in a language for GPUs.
    #[error(
        "{0}: neither CUDA, HIP nor OpenCL by its name and text; \
         say which by `-- -x cuda`, `-- -x hip` or `-- -x cl`"
    )]
    Language(PathBuf),
    /// A file that cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// An invalid list of compile commands.
    #[error("{path}: {what}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A folder that is named as a toolkit but is none.
    #[error("{path}: {what}")]
    Toolkit {
        /// The folder.
        path: PathBuf,
        /// What it lacks.
        what: String,
    },
    /// The compiler could not be started, or its result could not be stored.
    #[error("cannot run {program}: {error}")]
    Run {
        /// The program.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The compiler refused the source. `diagnostics` is its output, with files and lines.
    #[error("{file} does not compile with {compiler}{hint}")]
    Refused {
        /// The source.
        file: PathBuf,
        /// The compiler's name and version.
        compiler: String,
        /// The compiler's output.
        diagnostics: String,
        /// A possible reason, if known.
        hint: String,
    },
}
