//! Compiles kernels in CUDA, HIP and OpenCL C to LLVM IR text, with the installed clang.
//!
//! ```no_run
//! use phalanx_source::{Compiler, Defaults, Headers, Unit};
//!
//! let compiler = Compiler::find(None)?;
//! let unit = Unit::of_file("kernel.cu".as_ref(), &[])?;
//! let headers = Headers::default();
//! let compiled = phalanx_source::compile(&compiler, &unit, &Defaults::default(), &headers, None)?;
//! println!("{} bytes of IR for {}", compiled.text.len(), compiled.about.architecture);
//! # Ok::<(), phalanx_source::SourceError>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`Language`] | the language of a file |
//! | [`Compiler`] | the clang that is run |
//! | [`flags`] | command lines of clang, nvcc and hipcc as flags of clang for the device |
//! | [`units`] | the translation units of a `compile_commands.json` |
//! | [`Headers`] | CUDA's headers, ROCm's, or ours; libraries of the device |
//! | [`compile`] | the command that is run, and its result |
//! | [`Cache`] | earlier results, by the content of all files that were read |
//!
//! This crate starts compilers and reads files. It knows neither IR nor analyses; nothing here uses
//! the network.
#![allow(clippy::disallowed_methods, reason = "this crate reads files and starts compilers")]

mod cache;
mod clang;
mod compile;
mod database;
mod digest;
mod error;
pub mod flags;
mod headers;
mod language;
mod own;

use std::path::{Path, PathBuf};

pub use cache::{Cache, Entry};
pub use clang::Compiler;
pub use compile::{About, Compiled, Defaults, compile, compile_changed, disassemble};
pub use database::{Units, units};
pub use digest::{Digest, FileDigests, Hasher};
pub use error::SourceError;
pub use headers::Headers;
pub use language::Language;

use flags::Flags;

/// A source file and how it is compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The folder that the compiler runs in; relative names are relative to it.
    pub folder: PathBuf,
    /// The language of the file.
    pub language: Language,
    /// The flags of the compile command.
    pub flags: Flags,
}

impl Unit {
    /// A file that is compiled from the current folder, with flags of clang.
    ///
    /// # Errors
    /// If its language is not one for GPUs.
    pub fn of_file(file: &Path, flags: &[String]) -> Result<Unit, SourceError> {
        let folder = std::env::current_dir()
            .map_err(|error| SourceError::Read { path: ".".into(), error })?;
        let flags = Flags::of_clang(flags);
        let language = flags.language.or_else(|| Language::of_file(&folder.join(file)));
        let language = language.ok_or_else(|| SourceError::Language(file.to_owned()))?;
        Ok(Unit { file: file.to_owned(), folder, language, flags })
    }

    /// The file by its absolute name.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.file)
    }
}
