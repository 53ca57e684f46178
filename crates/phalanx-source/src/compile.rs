//! The compiler command for a source, and its result.
//!
//! ```text
//! clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 … -O2 -g … -S -emit-llvm -o out.ll k.cu
//! ```
//!
//! Only device code is compiled, with full debug information (so that variables have names), at an
//! optimization level that the result states. Warnings are suppressed, since the build reports
//! them; errors are passed on. Clang runs in the folder of the unit, so relative names mean the
//! same as in the build.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    Cache, Compiler, Digest, Entry, FileDigests, Headers, Language, SourceError, Unit,
    headers::Chosen,
};

/// The default level of optimization.
const LEVEL: &str = "-O2";

/// Clang's default limit of threads in a workgroup, for OpenCL kernels on AMD without an attribute.
const USUAL_THREADS: u64 = 256;

/// Settings for sources whose flags do not say otherwise.
#[derive(Clone, Default, Debug)]
pub struct Defaults {
    /// The processor.
    pub architecture: Option<String>,
    /// The target triple: needed for OpenCL, which has no usual one.
    pub triple: Option<String>,
    /// The level of optimization; overrides the flags.
    pub level: Option<String>,
    /// The number of threads of a workgroup, if known.
    pub threads: Option<u64>,
    /// Whether calls of OpenCL's library functions stay calls, known by name: libclc is not linked.
    pub keeps_calls: bool,
}

/// How a source was compiled.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct About {
    /// The compiler's name and version.
    pub compiler: String,
    /// The language's name.
    pub language: String,
    /// The level of optimization, without the dash: `O2`.
    pub level: String,
    /// The processor.
    pub architecture: String,
    /// Which headers were used.
    pub headers: String,
}

/// The IR of a source, and its inputs.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module as text.
    pub text: Vec<u8>,
    /// How it was compiled.
    pub about: About,
    /// The files that were read, each with the digest of its content.
    pub reads: Vec<(PathBuf, Digest)>,
    /// The result is from the cache.
    pub is_cached: bool,
}

impl Compiled {
    /// The digest of the module and of all its inputs.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = crate::Hasher::default().with(&self.text);
        for (path, digest) in &self.reads {
            let path = path.to_string_lossy();
            hasher = hasher.with(path.as_bytes()).with(digest.to_string().as_bytes());
        }
        hasher.finish()
    }
}

/// Compiles a source, or returns the result from the cache.
///
/// # Errors
/// If the compiler cannot be run or refuses the source, or if a named toolkit does not exist.
pub fn compile(
    compiler: &Compiler,
    unit: &Unit,
    defaults: &Defaults,
    headers: &Headers,
    cache: Option<(&Cache, &FileDigests)>,
) -> Result<Compiled, SourceError> {
    let flags = &unit.flags;
    let usual = match unit.language {
        Language::Cuda => "sm_80",
        Language::Hip => "gfx90a",
        Language::OpenCl => match flags.triple.as_ref().or(defaults.triple.as_ref()) {
            Some(triple) if triple.starts_with("nvptx") => "sm_80",
            Some(triple) if triple.starts_with("spir") => triple,
            _ => "gfx90a",
        },
    };
    let architecture = flags.architecture.clone().or_else(|| defaults.architecture.clone());
    let architecture = architecture.unwrap_or_else(|| usual.to_owned());
    let triple = flags.triple.clone().or_else(|| defaults.triple.clone());
    let triple = triple.unwrap_or_else(|| match architecture.starts_with("sm_") {
        true => "nvptx64-nvidia-cuda".to_owned(),
        false => "amdgcn-amd-amdhsa".to_owned(),
    });
    let level = defaults.level.as_deref().or(flags.level.as_deref()).unwrap_or(LEVEL);
    let chosen = headers.choose(unit.language, flags, &triple, compiler, defaults.keeps_calls)?;
    let about = About {
        compiler: compiler.name(),
        language: unit.language.name().to_owned(),
        level: level.trim_start_matches('-').to_owned(),
        architecture: architecture.clone(),
        headers: chosen.name.clone(),
    };
    let arguments = arguments(compiler, unit, (&architecture, &triple, level), &chosen);
    // The limit is for AMD's GPUs only. It is raised if neither flags nor defaults name a processor
    // or a triple.
    let is_for_any = flags.architecture.is_none() && defaults.architecture.is_none();
    let is_for_any = is_for_any && flags.triple.is_none() && defaults.triple.is_none();
    let threads = defaults.threads.filter(|_| is_for_any && unit.language == Language::OpenCl);
    let raised = |text| match threads {
        Some(threads) if threads > USUAL_THREADS => with_bound(text, threads),
        _ => text,
    };
    let key = key(compiler, unit, &arguments);
    if let Some((cache, files)) = cache
        && let Some(entry) = cache.get(key, files)
    {
        let Entry { reads, payload } = entry;
        return Ok(Compiled { text: raised(payload), about, reads, is_cached: true });
    }
    let digests = cache.map(|(_, files)| files);
    let mut compiled = run(compiler, unit, &arguments, chosen, about, digests)?;
    if let Some((cache, _)) = cache {
        cache.put(key, &Entry { reads: compiled.reads.clone(), payload: compiled.text.clone() });
    }
    compiled.text = raised(compiled.text);
    Ok(compiled)
}

/// The module with clang's limit of threads in a workgroup replaced.
fn with_bound(text: Vec<u8>, threads: u64) -> Vec<u8> {
    let bound = |threads| format!("\"amdgpu-flat-work-group-size\"=\"1,{threads}\"");
    match String::from_utf8(text) {
        Ok(text) => text.replace(&bound(USUAL_THREADS), &bound(threads)).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

/// Compiles a source as if its file had another text; the file does not change.
///
/// The compiler is told to read the text in place of the file, so names in debug information, and
/// headers that are relative to the file, stay what they are.
///
/// # Errors
/// If the compiler cannot be run or refuses the text.
pub fn compile_changed(
    compiler: &Compiler,
    unit: &Unit,
    defaults: &Defaults,
    headers: &Headers,
    text: &[u8],
) -> Result<Compiled, SourceError> {
    let scratch = Scratch::new();
    let write = |extension: &str, bytes: &[u8]| {
        let path = scratch.path(extension);
        fs::write(&path, bytes).map_err(|error| SourceError::Read { path, error })
    };
    write("text", text)?;
    let quoted = |path: &Path| format!("{:?}", path.display().to_string());
    let overlay = format!(
        "{{\"version\": 0, \"case-sensitive\": \"true\", \"use-external-names\": false, \"roots\": \
         [{{\"type\": \"file\", \"name\": {}, \"external-contents\": {}}}]}}",
        quoted(&unit.path()),
        quoted(&scratch.path("text")),
    );
    write("yaml", overlay.as_bytes())?;
    let mut unit = unit.clone();
    unit.flags.kept.extend(["-ivfsoverlay".to_owned(), scratch.name("yaml")]);
    compile(compiler, &unit, defaults, headers, None)
}

/// The PTX version to compile for. A version that is too old for a device lacks features; one that
/// is too new does no harm.
fn ptx(compiler: &Compiler) -> &'static str {
    match compiler.major() {
        20.. => "ptx86",
        18.. => "ptx83",
        17 => "ptx81",
        _ => "ptx77",
    }
}

fn arguments(
    compiler: &Compiler,
    unit: &Unit,
    (architecture, triple, level): (&str, &str, &str),
    chosen: &Chosen,
) -> Vec<String> {
    let mut words: Vec<String> = vec!["-x".to_owned(), unit.language.option().to_owned()];
    let mut add = |text: &str| words.extend(text.split(' ').map(str::to_owned));
    match unit.language {
        Language::Cuda => {
            add(&format!("--cuda-device-only --cuda-gpu-arch={architecture}"));
            add(&format!("--cuda-feature=+{} -Xclang -target-sdk-version=12.4", ptx(compiler)));
        }
        Language::Hip => {
            add(&format!("--cuda-device-only --offload-arch={architecture}"));
        }
        // Clang selects NVIDIA's GPUs by `-march`, other processors by `-mcpu`.
        Language::OpenCl if triple.starts_with("nvptx") => {
            let feature = ptx(compiler);
            add(&format!(
                "-target {triple} -march={architecture} -Xclang -target-feature -Xclang +{feature}"
            ));
        }
        // SPIR-V has no processor.
        Language::OpenCl if triple.starts_with("spir") => add(&format!("-target {triple}")),
        Language::OpenCl => add(&format!("-target {triple} -mcpu={architecture}")),
    }
    // In CUDA, `-g` alone gives no variables above -O0. Sources are identified by their checksums.
    add(&format!("{level} -g -Xclang -debug-info-kind=constructor -Xclang -dwarf-version=5"));
    // Keeps unoptimized functions open to later passes.
    add("-w -Qn -Xclang -disable-O0-optnone -ferror-limit=20");
    add(match unit.language {
        // What each runtime defines.
        Language::OpenCl => "-D__OPENCL_VERSION__=200",
        // nvcc takes it as a warning.
        Language::Cuda | Language::Hip => "-Wno-register",
    });
    words.extend(chosen.arguments.iter().cloned());
    words.extend(unit.flags.kept.iter().cloned());
    let has_standard = |word: &String| word.starts_with("-std=") || word.starts_with("-cl-std=");
    if !unit.flags.kept.iter().any(has_standard) {
        words.push(match unit.language {
            Language::OpenCl => "-cl-std=CL2.0".to_owned(),
            Language::Cuda | Language::Hip => "-std=c++17".to_owned(),
        });
    }
    words
}

fn key(compiler: &Compiler, unit: &Unit, arguments: &[String]) -> Digest {
    let mut hasher = crate::Hasher::default()
        .with(compiler.identity().to_string().as_bytes())
        .with(unit.folder.to_string_lossy().as_bytes())
        .with(unit.file.to_string_lossy().as_bytes());
    for argument in arguments {
        hasher = hasher.with(argument.as_bytes());
    }
    hasher.finish()
}

fn run(
    compiler: &Compiler,
    unit: &Unit,
    arguments: &[String],
    chosen: Chosen,
    about: About,
    digests: Option<&FileDigests>,
) -> Result<Compiled, SourceError> {
    let failed = |error| SourceError::Run { program: compiler.path().to_owned(), error };
    let scratch = Scratch::new();
    let mut command = Command::new(compiler.path());
    command.args(arguments).args(["-S", "-emit-llvm", "-o"]).arg(scratch.path("ll"));
    // In HIP, `-MD` is for the host.
    for word in ["-dependency-file", &scratch.name("d"), "-MT", "out", "-sys-header-deps"] {
        command.args(["-Xclang", word]);
    }
    command.arg(&unit.file).current_dir(&unit.folder).stdin(Stdio::null());
    let output = command.output().map_err(failed)?;
    if !output.status.success() {
        return Err(SourceError::Refused {
            file: unit.file.clone(),
            compiler: compiler.name(),
            diagnostics: String::from_utf8_lossy(&output.stderr).into_owned(),
            hint: hint(unit, &about),
        });
    }
    let text = fs::read(scratch.path("ll"));
    let text = text.map_err(|error| SourceError::Read { path: scratch.path("ll"), error })?;
    let dependencies = fs::read_to_string(scratch.path("d")).unwrap_or_default();
    let mut paths: BTreeSet<PathBuf> =
        dependencies_of(&dependencies).map(|name| unit.folder.join(name)).collect();
    paths.extend(chosen.reads);
    paths.insert(unit.path());
    // Many units share headers: each is read once.
    let own = FileDigests::default();
    let digests = digests.unwrap_or(&own);
    let digest = |path: PathBuf| match digests.of(&path) {
        Some(digest) => Ok((path, digest)),
        None => {
            let error = std::io::ErrorKind::NotFound.into();
            Err(SourceError::Read { path, error })
        }
    };
    let reads: Result<_, SourceError> = paths.into_iter().map(digest).collect();
    Ok(Compiled { text, about, reads: reads?, is_cached: false })
}

/// A possible reason why a source was refused.
fn hint(unit: &Unit, about: &About) -> String {
    match about.headers.starts_with("phalanx's own") {
        true if unit.language == Language::Cuda => {
            ", with phalanx's own CUDA header, which has ordinary kernels in mind: a toolkit \
             (--cuda-path) has the rest"
                .to_owned()
        }
        true => ", with phalanx's own HIP header, which has ordinary kernels in mind: ROCm \
             (--rocm-path) has the rest"
            .to_owned(),
        false if unit.language == Language::Cuda => {
            format!(", with {} (`--cuda-path none` takes phalanx's own)", about.headers)
        }
        false => format!(", with {}", about.headers),
    }
}

/// The names in a make rule: `out: k.cu a\ b.h \` over several lines.
fn dependencies_of(rule: &str) -> impl Iterator<Item = String> {
    let rule = rule.strip_prefix("out:").unwrap_or(rule);
    let mut names = vec![String::new()];
    let mut rest = rule.chars().peekable();
    while let Some(c) = rest.next() {
        let last = names.len() - 1;
        match (c, rest.peek()) {
            ('\\', Some('\n')) => {
                rest.next();
                names.push(String::new());
            }
            ('\\', Some(&next @ (' ' | '#' | '\\'))) => {
                rest.next();
                names[last].push(next);
            }
            ('$', Some('$')) => {
                rest.next();
                names[last].push('$');
            }
            (c, _) if c.is_whitespace() => names.push(String::new()),
            (c, _) => names[last].push(c),
        }
    }
    names.into_iter().filter(|name| !name.is_empty())
}

/// Names of temporary files that are removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Scratch(env::temp_dir().join(format!("phalanx-{}-{count}", process::id())))
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.0.with_extension(extension)
    }

    fn name(&self, extension: &str) -> String {
        self.path(extension).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for extension in ["ll", "d", "text", "yaml"] {
            let _ = fs::remove_file(self.path(extension));
        }
    }
}

/// Converts bitcode to text, by the llvm-dis of the compiler's version or by the compiler.
///
/// # Errors
/// If neither can be run, or if it refuses the file.
pub fn disassemble(compiler: &Compiler, file: &Path) -> Result<Vec<u8>, SourceError> {
    let mut command = match compiler.tool("llvm-dis") {
        Some(tool) => Command::new(tool),
        None => {
            let mut command = Command::new(compiler.path());
            command.args(["-x", "ir", "-S", "-emit-llvm", "-w"]);
            command
        }
    };
    let program = PathBuf::from(command.get_program());
    let output = command.arg(file).args(["-o", "-"]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| SourceError::Run { program, error })?;
    if !output.status.success() {
        return Err(SourceError::Refused {
            file: file.to_owned(),
            compiler: compiler.name(),
            diagnostics: String::from_utf8_lossy(&output.stderr).into_owned(),
            hint: " (it is bitcode, perhaps of a newer LLVM)".to_owned(),
        });
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_rule() {
        let rule = "out: k.cu \\\n  /usr/include/a\\ b.h inc/c.h\n";
        assert_eq!(
            dependencies_of(rule).collect::<Vec<_>>(),
            ["k.cu", "/usr/include/a b.h", "inc/c.h"]
        );
    }
}
