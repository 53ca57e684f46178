//! Chooses the headers and device libraries for a source.
//!
//! | language | first choice | otherwise |
//! |---|---|---|
//! | CUDA | a toolkit, or the wheels of one (`nvidia-cuda-runtime-cu12` and others) | our header |
//! | HIP | ROCm | our header |
//! | OpenCL | clang's header, and libclc for the target | clang's header alone |
//!
//! A toolkit is found by `--cuda-path` or `--rocm-path`, by the variables `CUDA_PATH`, `CUDA_HOME`
//! and `ROCM_PATH`, in the usual places, or in Python packages. The path `none` selects our header.
//! Clang's own search for toolkits is not used, since it does not know the layout of the wheels;
//! this module makes the arguments for clang.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{Compiler, Language, SourceError, flags::Flags, own};

/// Where to look for headers.
#[derive(Clone, Default, Debug)]
pub struct Headers {
    /// A toolkit of CUDA, or a folder with its wheels; `none` for our header.
    pub cuda_path: Option<PathBuf>,
    /// The folder of ROCm; `none` for our header.
    pub rocm_path: Option<PathBuf>,
    /// Where our header is written; by default the folder of temporary files.
    pub folder: Option<PathBuf>,
}

/// The choice for a source.
#[derive(Default)]
pub(crate) struct Chosen {
    /// Arguments of clang.
    pub(crate) arguments: Vec<String>,
    /// Its name, for people.
    pub(crate) name: String,
    /// Files that are read without being listed among the headers.
    pub(crate) reads: Vec<PathBuf>,
}

impl Chosen {
    fn argument(&mut self, words: &[&str]) {
        self.arguments.extend(words.iter().map(|&word| word.to_owned()));
    }

    /// Links a library of functions.
    fn link(&mut self, library: &Path) {
        let path = library.display().to_string();
        self.argument(&["-Xclang", "-mlink-builtin-bitcode", "-Xclang", &path]);
        self.reads.push(library.to_owned());
    }
}

/// Header folders in a toolkit and in the packages that contain one.
const CUDA_INCLUDE: [&str; 8] = [
    "include",
    "targets/x86_64-linux/include",
    "targets/sbsa-linux/include",
    "cuda_runtime/include",
    "cuda_nvcc/include",
    "cuda_cccl/include",
    "curand/include",
    "cu13/include",
];

/// Places of libdevice in a toolkit and in the packages that contain one.
const LIBDEVICE: [&str; 3] = [
    "nvvm/libdevice/libdevice.10.bc",
    "cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
    "cu13/nvvm/libdevice/libdevice.10.bc",
];

impl Headers {
    /// Chooses for a language and a target.
    pub(crate) fn choose(
        &self,
        language: Language,
        flags: &Flags,
        triple: &str,
        compiler: &Compiler,
        keeps_calls: bool,
    ) -> Result<Chosen, SourceError> {
        match language {
            Language::Cuda => self.cuda(flags),
            Language::Hip => self.hip(flags),
            Language::OpenCl => Ok(open_cl(triple, compiler, keeps_calls)),
        }
    }

    fn cuda(&self, flags: &Flags) -> Result<Chosen, SourceError> {
        let mut chosen = Chosen::default();
        chosen.argument(&["-nocudainc", "-nocudalib"]);
        if flags.brings_headers {
            chosen.name = "no CUDA headers but those of the source".to_owned();
            return Ok(chosen);
        }
        let named = flags.cuda_path.as_ref().map(PathBuf::from).or_else(|| self.cuda_path.clone());
        let toolkit = match named {
            Some(path) if path == Path::new("none") => None,
            Some(path) => Some(Toolkit::at(&path).ok_or_else(|| SourceError::Toolkit {
                path: path.clone(),
                what:
                    "no CUDA toolkit: it has no cuda_runtime.h with crt/host_defines.h".to_owned(),
            })?),
            None => usual_toolkits().iter().find_map(|path| Toolkit::at(path)),
        };
        let own = self.own()?;
        let Some(toolkit) = toolkit else {
            chosen.ours(&own, "CUDA");
            return Ok(chosen);
        };
        for folder in &toolkit.include {
            chosen.argument(&["-isystem", &folder.display().to_string()]);
        }
        chosen.argument(&["-idirafter", &own.optional.display().to_string()]);
        chosen.argument(&["-include", "__clang_cuda_runtime_wrapper.h"]);
        if let Some(library) = &toolkit.libdevice {
            chosen.link(library);
        }
        chosen.name = format!("the CUDA headers in {}", toolkit.folder.display());
        Ok(chosen)
    }

    fn hip(&self, flags: &Flags) -> Result<Chosen, SourceError> {
        let mut chosen = Chosen::default();
        if flags.brings_headers {
            chosen.argument(&["-nogpuinc", "-nogpulib"]);
            chosen.name = "no HIP headers but those of the source".to_owned();
            return Ok(chosen);
        }
        let is_rocm = |path: &Path| path.join("include/hip/hip_runtime.h").is_file();
        let named = flags.rocm_path.as_ref().map(PathBuf::from).or_else(|| self.rocm_path.clone());
        let rocm = match named {
            Some(path) if path == Path::new("none") => None,
            Some(path) if is_rocm(&path) => Some(path),
            Some(path) => {
                let what = "no ROCm: it has no include/hip/hip_runtime.h".to_owned();
                return Err(SourceError::Toolkit { path, what });
            }
            None => {
                let usual = env::var_os("ROCM_PATH").map(PathBuf::from);
                let usual = usual.into_iter().chain(["/opt/rocm".into(), "/usr".into()]);
                usual.into_iter().find(|path| is_rocm(path))
            }
        };
        match rocm {
            Some(path) => {
                chosen.argument(&[&format!("--rocm-path={}", path.display())]);
                chosen.name = format!("the HIP headers in {}", path.display());
            }
            None => {
                chosen.argument(&["-nogpuinc", "-nogpulib"]);
                chosen.ours(&self.own()?, "HIP");
            }
        }
        Ok(chosen)
    }

    fn own(&self) -> Result<own::Own, SourceError> {
        let folder = self.folder.clone().unwrap_or_else(env::temp_dir);
        own::write(&folder).map_err(|error| SourceError::Run { program: folder, error })
    }
}

impl Chosen {
    fn ours(&mut self, own: &own::Own, language: &str) {
        self.argument(&["-isystem", &own.include.display().to_string()]);
        self.argument(&["-include", own::MAIN]);
        self.name = format!("phalanx's own {language} header, as no toolkit was found");
    }
}

fn open_cl(triple: &str, compiler: &Compiler, keeps_calls: bool) -> Chosen {
    let mut chosen = Chosen::default();
    chosen.argument(&["-nogpulib", "-Xclang", "-finclude-default-header"]);
    match libclc(triple, compiler).filter(|_| !keeps_calls) {
        Some(library) => {
            chosen.link(&library);
            if triple.starts_with("amdgcn") {
                // The offset of the grid is read from where code objects up to version 4 store it.
                chosen.argument(&["-mcode-object-version=4"]);
            }
            chosen.name = format!("clang's OpenCL header and {}", library.display());
        }
        None => chosen.name = format!("clang's OpenCL header, without libclc for {triple}"),
    }
    chosen
}

/// The library of OpenCL's functions for a target.
fn libclc(triple: &str, compiler: &Compiler) -> Option<PathBuf> {
    let beside = fs::canonicalize(compiler.path()).ok();
    let prefix = beside.as_deref().and_then(Path::parent).and_then(Path::parent);
    let mut folders: Vec<PathBuf> =
        ["/usr/lib/clc", "/usr/share/clc", "/usr/local/share/clc"].map(PathBuf::from).into();
    folders.extend(prefix.map(|prefix| prefix.join("share/clc")));
    folders.extend(prefix.map(|prefix| prefix.join("lib/clc")));
    // The names for NVIDIA contain another word for the system.
    let names = match triple.starts_with("nvptx") {
        true => vec![format!("{triple}.bc"), "nvptx64--nvidiacl.bc".to_owned()],
        false => vec![format!("{triple}.bc")],
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in &folders {
        files.extend(names.iter().map(|name| folder.join(name)));
    }
    files.into_iter().find(|file| file.is_file()).or_else(|| {
        let file = compiler.resource_folder()?.join("lib").join(triple).join("libclc.bc");
        file.is_file().then_some(file)
    })
}

/// A toolkit of CUDA.
struct Toolkit {
    folder: PathBuf,
    include: Vec<PathBuf>,
    libdevice: Option<PathBuf>,
}

impl Toolkit {
    /// The toolkit in a folder: an installed one, or Python packages that contain one.
    fn at(folder: &Path) -> Option<Toolkit> {
        [folder.to_owned(), folder.join("nvidia")].into_iter().find_map(|folder| {
            let include = CUDA_INCLUDE.map(|name| folder.join(name));
            let include: Vec<PathBuf> = include.into_iter().filter(|path| path.is_dir()).collect();
            let has = |name: &str| include.iter().any(|folder| folder.join(name).is_file());
            let is_toolkit = has("cuda_runtime.h") && has("crt/host_defines.h");
            let libdevice = LIBDEVICE.map(|name| folder.join(name));
            let libdevice = libdevice.into_iter().find(|path| path.is_file());
            is_toolkit.then_some(Toolkit { folder, include, libdevice })
        })
    }
}

/// The usual places of toolkits, the most reliable one first.
fn usual_toolkits() -> Vec<PathBuf> {
    let variables = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"].into_iter().filter_map(env::var_os);
    let mut places: Vec<PathBuf> = variables.map(PathBuf::from).collect();
    places.extend(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));
    let python = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(env::var_os);
    let mut python: Vec<PathBuf> = python.map(PathBuf::from).collect();
    python.push("/usr/local".into());
    python.extend(env::var_os("HOME").map(|home| PathBuf::from(home).join(".local")));
    for prefix in python {
        let versions = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        let is_python = |path: &PathBuf| path.to_string_lossy().contains("/python");
        let mut versions: Vec<PathBuf> =
            versions.map(|entry| entry.path()).filter(is_python).collect();
        versions.sort();
        for version in versions.into_iter().rev() {
            places.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
        }
    }
    places
}
