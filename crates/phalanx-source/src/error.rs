//! What can go wrong between a source and its IR, in words for whoever called us.

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
    /// The program that was named is no clang, or not one that is understood.
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
    /// A list of compile commands that makes no sense.
    #[error("{path}: {what}")]
    Database {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A folder of a toolkit that is none.
    #[error("{path}: {what}")]
    Toolkit {
        /// The folder.
        path: PathBuf,
        /// What it lacks.
        what: String,
    },
    /// The compiler could not be started, or its result not be stored.
    #[error("cannot run {program}: {error}")]
    Run {
        /// The program.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The compiler refused the source. `diagnostics` is what it said, with files and lines.
    #[error("{file} does not compile with {compiler}{hint}")]
    Refused {
        /// The source.
        file: PathBuf,
        /// The compiler's name and version.
        compiler: String,
        /// What the compiler said.
        diagnostics: String,
        /// What may be the reason, where that is known.
        hint: String,
    },
}
