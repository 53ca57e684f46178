//! Turns the files on the command line into LLVM IR: modules, standard input, bitcode, and sources,
//! which the installed clang compiles.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context as _, bail};
use phalanx_source::{
    About, Cache, Compiled, Compiler, Defaults, Digest, FileDigests, Headers, Language,
    SourceError, Unit, compile, compile_changed, disassemble,
};

use crate::{
    args::{SourceArgs, TargetArgs},
    file_kind,
    terminal::Terminal,
};

/// The text of a module, and its names in messages.
pub(crate) struct Source {
    /// The file on the command line.
    pub(crate) name: String,
    /// The name of the text where its lines are shown.
    pub(crate) module: String,
    pub(crate) text: Vec<u8>,
    /// Its source, if it was compiled.
    pub(crate) compiled: Option<Origin>,
}

/// How a module was compiled from a source.
pub(crate) struct Origin {
    pub(crate) about: About,
    /// A digest of the module and all its inputs.
    pub(crate) digest: Digest,
    /// The files that were read.
    pub(crate) reads: Vec<(PathBuf, Digest)>,
    pub(crate) unit: Unit,
}

impl Source {
    /// Says how it was compiled, if it was.
    pub(crate) fn note(&self, terminal: &Terminal) {
        if let Some(origin) = &self.compiled {
            terminal.note(&format!("{}: {}", self.name, compiled_by(&origin.about)));
        }
    }
}

/// How a source was compiled, in words.
pub(crate) fn compiled_by(about: &About) -> String {
    let About { compiler, language, level, architecture, headers } = about;
    format!("{language} compiled by {compiler} at -{level} for {architecture}, with {headers}")
}

/// The largest file: offsets in a source map have 32 bits.
const MAX_BYTES: u64 = u32::MAX as u64;

/// Reads modules, and compiles sources to modules.
pub(crate) struct Reader {
    compiler: OnceLock<Compiler>,
    clang: Option<PathBuf>,
    flags: Vec<String>,
    defaults: Defaults,
    headers: Headers,
    cache: Option<Cache>,
    digests: FileDigests,
}

impl Reader {
    pub(crate) fn new(args: &SourceArgs, target: &TargetArgs) -> Reader {
        let cache = match args.no_cache {
            true => None,
            false => Cache::open(args.cache_dir.as_deref()),
        };
        Reader {
            compiler: OnceLock::new(),
            clang: args.clang.clone(),
            flags: args.flags.clone(),
            defaults: Defaults {
                architecture: target.mcpu.clone(),
                triple: target.mtriple.clone(),
                level: None,
                threads: None,
                keeps_calls: false,
            },
            headers: Headers {
                cuda_path: args.cuda_path.clone(),
                rocm_path: args.rocm_path.clone(),
                folder: cache.as_ref().map(|cache| cache.folder().to_owned()),
            },
            cache,
            digests: FileDigests::default(),
        }
    }

    /// States the size of workgroups for compilations.
    pub(crate) fn launched_with(mut self, workgroup: Option<[u32; 3]>) -> Reader {
        let product = |size: [u32; 3]| size.into_iter().map(u64::from).product();
        self.defaults.threads = workgroup.map(product);
        self
    }

    /// The cache of earlier findings.
    pub(crate) fn cache(&self) -> Option<(&Cache, &FileDigests)> {
        self.cache.as_ref().map(|cache| (cache, &self.digests))
    }

    /// Forgets all contents, since files may have changed.
    pub(crate) fn forget(&self) {
        self.digests.forget();
    }

    /// The compiler, searched for when the first source needs it.
    fn compiler(&self) -> Result<&Compiler, SourceError> {
        if let Some(compiler) = self.compiler.get() {
            return Ok(compiler);
        }
        let compiler = Compiler::find(self.clang.as_deref())?;
        Ok(self.compiler.get_or_init(|| compiler))
    }

    /// Reads a module, a source, or standard input for `-`.
    pub(crate) fn read(&self, path: &Path) -> anyhow::Result<Source> {
        let is_named = Language::is_source(path) || !self.flags.is_empty() && !is_module(path);
        if is_named && !is_stdin(path) {
            // A missing file is an error in any language.
            File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            return self.unit(&Unit::of_file(path, &self.flags)?, None);
        }
        let (name, text) = bytes(path)?;
        if file_kind::is_bitcode(&text) && !is_stdin(path) {
            let text = disassemble(self.compiler()?, path)?;
            return Ok(Source { module: name.clone(), name, text, compiled: None });
        }
        if let Some(what) = file_kind::recognize(&text) {
            bail!("{name} is {what}");
        }
        Ok(Source { module: name.clone(), name, text, compiled: None })
    }

    /// Compiles a unit, at its own optimization level or at another.
    pub(crate) fn unit(&self, unit: &Unit, level: Option<&str>) -> anyhow::Result<Source> {
        let level = level.map(str::to_owned);
        let defaults = Defaults { level, ..self.defaults.clone() };
        let compiled = compile(self.compiler()?, unit, &defaults, &self.headers, self.cache())?;
        Ok(Self::compiled(unit, compiled))
    }

    /// Compiles a unit so that functions of OpenCL's library stay calls.
    pub(crate) fn with_calls(&self, unit: &Unit) -> anyhow::Result<Source> {
        let defaults = Defaults { keeps_calls: true, ..self.defaults.clone() };
        let compiled = compile(self.compiler()?, unit, &defaults, &self.headers, self.cache())?;
        Ok(Self::compiled(unit, compiled))
    }

    /// Compiles a unit with another text in place of its file.
    pub(crate) fn changed(&self, unit: &Unit, text: &[u8]) -> anyhow::Result<Source> {
        let compiler = self.compiler()?;
        let compiled = compile_changed(compiler, unit, &self.defaults, &self.headers, text)?;
        Ok(Self::compiled(unit, compiled))
    }

    fn compiled(unit: &Unit, compiled: Compiled) -> Source {
        let name = unit.file.display().to_string();
        let digest = compiled.digest();
        let (about, reads) = (compiled.about, compiled.reads);
        let origin = Origin { about, digest, reads, unit: unit.clone() };
        Source { module: format!("{name} (IR)"), name, text: compiled.text, compiled: Some(origin) }
    }
}

/// Reads the one module of a command, and prints how a source was compiled.
pub(crate) fn read_one(
    path: &Path,
    args: &SourceArgs,
    target: &TargetArgs,
    workgroup: Option<[u32; 3]>,
    terminal: &Terminal,
) -> anyhow::Result<Source> {
    let source = Reader::new(args, target).launched_with(workgroup).read(path)?;
    source.note(terminal);
    Ok(source)
}

/// Prints an error, after the output of the compiler if there is any.
pub(crate) fn tell(error: &anyhow::Error, terminal: &Terminal) {
    terminal.err(&said(error));
    terminal.error(&format!("{error:#}"));
}

/// The output of a compiler about a source that it refused.
pub(crate) fn said(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        Some(SourceError::Refused { diagnostics, .. }) => diagnostics.clone(),
        _ => String::new(),
    }
}

fn bytes(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let from_stdin = is_stdin(path);
    let name = if from_stdin { "<stdin>".to_owned() } else { path.display().to_string() };
    let mut text = Vec::new();
    if from_stdin {
        std::io::stdin()
            .lock()
            .take(MAX_BYTES + 1)
            .read_to_end(&mut text)
            .context("cannot read standard input")?;
    } else {
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        if let Ok(metadata) = file.metadata() {
            if metadata.is_dir() {
                bail!("cannot read {name}: it is a folder");
            }
            text.reserve_exact(metadata.len().min(MAX_BYTES) as usize + 1);
        }
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut text)
            .with_context(|| format!("cannot read {name}"))?;
    }
    if text.len() as u64 > MAX_BYTES {
        bail!("{name} is larger than 4 GiB");
    }
    Ok((name, text))
}

/// Refuses to read standard input more than once: it is empty the second time.
pub(crate) fn read_stdin_once<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> anyhow::Result<()> {
    if paths.into_iter().filter(|path| is_stdin(path)).count() > 1 {
        bail!("standard input (`-`) can be read only once");
    }
    Ok(())
}

/// Whether a path stands for standard input or output.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether a file is a module, judging by its name.
fn is_module(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("ll" | "bc"))
}
