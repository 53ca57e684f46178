//! Translates command lines of compilers to flags of clang for the device.
//!
//! ```text
//! nvcc -O3 -gencode arch=compute_80,code=sm_80 -Xcompiler -Wall -Iinclude -DN=4 -c -o k.o k.cu
//! ```
//!
//! becomes `-Iinclude -DN=4` for `sm_80`. Flags that affect the meaning of the text are kept:
//! macros, header folders, the language and its version, the target. Flags for speed, warnings,
//! output, linking and host code are dropped; [`crate::compile`] adds its own. Unknown flags are
//! kept, for clang to accept or refuse: hipcc is a wrapper of clang, and nvcc shares many flags
//! with clang.
//!
//! If a command names several architectures, the highest one is used: code that tests
//! `__CUDA_ARCH__` is usually written for new devices first.

use std::path::Path;

use crate::Language;

/// The parsed flags of a command line.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Flags {
    /// Flags for clang.
    pub kept: Vec<String>,
    /// The language, where `-x` names it.
    pub language: Option<Language>,
    /// The processor: `sm_80`, `gfx90a`.
    pub architecture: Option<String>,
    /// The target triple.
    pub triple: Option<String>,
    /// The level of optimization: `-O2`.
    pub level: Option<String>,
    /// No headers of CUDA or HIP are wanted (`-nocudainc`): the source has its own.
    pub brings_headers: bool,
    /// The toolkit of CUDA.
    pub cuda_path: Option<String>,
    /// The folder of ROCm.
    pub rocm_path: Option<String>,
    /// Files to compile.
    pub files: Vec<String>,
}

/// The kind of a compiler, by its program's name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// clang, hipcc, and all others that take gcc's options.
    Clang,
    /// nvcc.
    Nvcc,
}

impl Dialect {
    /// The kind of a program: `/usr/local/cuda/bin/nvcc`, `hipcc`, `ccache nvcc`.
    #[must_use]
    pub fn of_program(program: &str) -> Dialect {
        let stem = Path::new(program).file_stem().and_then(|stem| stem.to_str());
        match stem.is_some_and(|stem| stem.starts_with("nvcc")) {
            true => Dialect::Nvcc,
            false => Dialect::Clang,
        }
    }
}

/// Options without an argument that are dropped, of clang and nvcc alike.
const ALONE: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-emit-llvm",
    "-M",
    "-MM",
    "-MD",
    "-MMD",
    "-MP",
    "-MG",
    "-pipe",
    "-v",
    "-###",
    "-w",
    "-shared",
    "-static",
    "-rdynamic",
    "-pthread",
    "--save-temps",
    "-save-temps",
    "--cuda-host-only",
    "--cuda-device-only",
    "--offload-host-only",
    "--offload-device-only",
    "-nogpulib",
    "-nocudalib",
    "-fopenmp",
    "-Qn",
    "-Qunused-arguments",
    "--hip-link",
];

/// Options with an argument, in the next word or behind `=`, that are dropped.
const WITH_ARGUMENT: &[&str] = &[
    "-o",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-L",
    "-l",
    "-T",
    "-u",
    "-z",
    "-Xarch_host",
    "--serialize-diagnostics",
    "-dumpdir",
    "-ccbin",
    "-wrapper",
];

/// Prefixes of options that are dropped.
const BEGINNINGS: &[&str] = &[
    "-W",
    "-g",
    "-f",
    "-m",
    "-O",
    "-L",
    "-l",
    "-o",
    "-save-temps=",
    "--save-temps=",
    "-fuse-ld=",
    "-stdlib=",
];

/// Options with such a prefix that affect the meaning and are kept.
const MEANING: &[&str] = &[
    "-ffast-math",
    "-fno-fast-math",
    "-fgpu-rdc",
    "-fno-gpu-rdc",
    "-ffp-",
    "-fdeclspec",
    "-fms-",
    "-fexceptions",
    "-fno-exceptions",
    "-frtti",
    "-fno-rtti",
    "-fsigned-char",
    "-funsigned-char",
    "-fshort-",
    "-fnative-half",
    "-fallow-half",
    "-fcuda-",
    "-fgpu-",
    "-fno-gpu-",
    "-fno-cuda-",
    "-fhip-",
    "-fno-hip-",
    "-fmodules",
    "-finclude-default-header",
    "-fdenormal-",
    "-fwrapv",
    "-fno-strict-",
    "-fconvergent-functions",
    "-mllvm",
    "-mwavefrontsize64",
    "-mno-wavefrontsize64",
    "-mcumode",
    "-mno-cumode",
    "-mcode-object-version=",
    "-ftemplate-",
    "-fconstexpr-",
    "-fno-builtin",
    "-fbuiltin",
    "-fnew-",
    "-fsized-",
    "-fchar8_t",
    "-fno-char8_t",
];

/// Options that are kept with their argument.
const KEPT_WITH_ARGUMENT: &[&str] = &[
    "-I",
    "-D",
    "-U",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-imacros",
    "-isysroot",
    "-Xclang",
    "-mllvm",
    "--sysroot",
    "-Xarch_device",
    "-std",
    "-resource-dir",
    "-iprefix",
    "-iwithprefix",
];

impl Flags {
    /// Parses flags of clang, without its name.
    #[must_use]
    pub fn of_clang(words: &[String]) -> Flags {
        let mut flags = Flags::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            flags.clang_word(word, &mut rest);
        }
        flags
    }

    /// Parses the arguments of a compiler.
    #[must_use]
    pub fn of(dialect: Dialect, words: &[String]) -> Flags {
        match dialect {
            Dialect::Clang => Flags::of_clang(words),
            Dialect::Nvcc => Flags::of_nvcc(words),
        }
    }

    /// Adds flags that take precedence over these.
    pub fn add(&mut self, other: Flags) {
        self.kept.extend(other.kept);
        self.language = other.language.or(self.language);
        self.brings_headers |= other.brings_headers;
        for (own, added) in [
            (&mut self.architecture, other.architecture),
            (&mut self.triple, other.triple),
            (&mut self.level, other.level),
            (&mut self.cuda_path, other.cuda_path),
            (&mut self.rocm_path, other.rocm_path),
        ] {
            if added.is_some() {
                *own = added;
            }
        }
    }

    fn clang_word<'w>(&mut self, word: &'w str, rest: &mut impl Iterator<Item = &'w str>) {
        // Clang accepts many options both as `-option=value` and as `--option value`.
        let value = |names: &[&str]| {
            names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('='))
        };
        if !word.starts_with('-') || word == "-" {
            self.files.push(word.to_owned());
        } else if word == "-x" {
            self.language = rest.next().and_then(Language::of_option).or(self.language);
        } else if let Some(language) = word.strip_prefix("-x") {
            self.language = Language::of_option(language).or(self.language);
        } else if let Some(names) = value(&["--cuda-gpu-arch", "--offload-arch", "-mcpu"]) {
            names.split(',').for_each(|name| self.architecture(name));
        } else if let Some(triple) = value(&["--target", "-target"]) {
            self.triple = Some(triple.to_owned());
        } else if word == "-target" || word == "--target" {
            self.triple = rest.next().map(str::to_owned);
        } else if let Some(path) = value(&["--cuda-path"]) {
            self.cuda_path = Some(path.to_owned());
        } else if let Some(path) = value(&["--rocm-path"]) {
            self.rocm_path = Some(path.to_owned());
        } else if word == "-nocudainc" || word == "-nogpuinc" {
            self.brings_headers = true;
        } else if is_level(word) {
            self.level = Some(word.to_owned());
        } else if KEPT_WITH_ARGUMENT.contains(&word) {
            self.kept.push(word.to_owned());
            self.kept.extend(rest.next().map(str::to_owned));
        } else if WITH_ARGUMENT.contains(&word) {
            rest.next();
        } else if !ALONE.contains(&word)
            && (MEANING.iter().any(|start| word.starts_with(start))
                || !BEGINNINGS.iter().any(|start| word.starts_with(start)))
        {
            self.kept.push(word.to_owned());
        }
    }

    /// Parses the arguments of nvcc, without its name.
    #[must_use]
    pub fn of_nvcc(words: &[String]) -> Flags {
        let mut flags = Flags::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) if name.starts_with('-') => (name, Some(value)),
                _ => (word, None),
            };
            let mut value = || attached.or_else(|| rest.next()).unwrap_or_default().to_owned();
            match name {
                "-arch" | "--gpu-architecture" | "-code" | "--gpu-code" => {
                    flags.cuda_architectures(&value());
                }
                "-gencode" | "--generate-code" => flags.cuda_architectures(&value()),
                "-x" | "--x" => {
                    flags.language = Language::of_option(&value()).or(flags.language);
                }
                "-std" | "--std" => {
                    let value = value();
                    flags.kept.push(format!("-std={value}"));
                }
                "-I" | "--include-path" => flags.each("-I", &value()),
                "-isystem" | "--system-include" => {
                    let value = value();
                    flags.kept.extend(["-isystem".to_owned(), value]);
                }
                "-include" | "--pre-include" => {
                    let value = value();
                    flags.kept.extend(["-include".to_owned(), value]);
                }
                "-D" | "--define-macro" => flags.each("-D", &value()),
                "-U" | "--undefine-macro" => flags.each("-U", &value()),
                "-rdc" | "--relocatable-device-code" => {
                    if value() == "true" {
                        flags.kept.push("-fgpu-rdc".to_owned());
                    }
                }
                "-dc" | "--device-c" => flags.kept.push("-fgpu-rdc".to_owned()),
                "-use_fast_math" | "--use_fast_math" => {
                    flags.kept.push("-ffast-math".to_owned());
                    flags.kept.push("-fcuda-approx-transcendentals".to_owned());
                }
                "-fmad" | "--fmad" => {
                    if value() == "false" {
                        flags.kept.push("-ffp-contract=off".to_owned());
                    }
                }
                "-Xcompiler" | "--compiler-options" => {
                    // Macros and folders for the host compiler apply to the device too.
                    let value = value();
                    let words = value.split(',').flat_map(str::split_whitespace);
                    let kept =
                        |w: &&str| ["-D", "-U", "-I"].iter().any(|start| w.starts_with(start));
                    flags.kept.extend(words.filter(kept).map(str::to_owned));
                }
                _ if NVCC_WITH_ARGUMENT.contains(&name) => {
                    value();
                }
                _ if NVCC_ALONE.contains(&name) => {}
                // Other options are clang's too, or clang refuses them.
                _ => flags.clang_word(word, &mut rest),
            }
        }
        flags.level = None;
        flags
    }

    /// Adds an option for each value: `-D A,B` is two.
    fn each(&mut self, option: &str, values: &str) {
        // A comma within a value is escaped or in parentheses; such values are not split.
        match values.contains(['\\', '(']) {
            true => self.kept.push(format!("{option}{values}")),
            false => self.kept.extend(values.split(',').map(|value| format!("{option}{value}"))),
        }
    }

    /// `arch=compute_80,code=[sm_80,compute_80]`
    fn cuda_architectures(&mut self, text: &str) {
        let names = text.split([',', '=', '[', ']', '"', ' ']);
        for name in names {
            let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"));
            if let Some(number) = number {
                self.architecture(&format!("sm_{number}"));
            }
        }
    }

    /// Keeps the highest of several architectures.
    fn architecture(&mut self, name: &str) {
        // `gfx90a:xnack+` is a processor with features; `native` names none.
        let name = name.split(':').next().unwrap_or_default();
        let known = name.starts_with("sm_") || name.starts_with("gfx");
        let old = self.architecture.as_deref();
        if known && old.is_none_or(|old| number(old) <= number(name)) {
            self.architecture = Some(name.to_owned());
        }
    }
}

/// nvcc's options with an argument that are dropped.
const NVCC_WITH_ARGUMENT: &[&str] = &[
    "-Xptxas",
    "--ptxas-options",
    "-Xnvlink",
    "--nvlink-options",
    "-Xcudafe",
    "--cudafe-options",
    "-Xlinker",
    "--linker-options",
    "-Xarchive",
    "--archive-options",
    "-ccbin",
    "--compiler-bindir",
    "-maxrregcount",
    "--maxrregcount",
    "-t",
    "--threads",
    "-diag-suppress",
    "--diag-suppress",
    "-diag-error",
    "--diag-error",
    "-diag-warn",
    "--diag-warn",
    "-odir",
    "--output-directory",
    "-o",
    "--output-file",
    "-MF",
    "--dependency-output",
    "-MT",
    "--dependency-target-name",
    "-optf",
    "--options-file",
    "-m",
    "--machine",
    "-cudart",
    "--cudart",
    "-cudadevrt",
    "-default-stream",
    "--default-stream",
    "-ftz",
    "--ftz",
    "-prec-div",
    "--prec-div",
    "-prec-sqrt",
    "--prec-sqrt",
    "-O",
    "--optimize",
    "-Werror",
    "-lib",
    "-L",
    "--library-path",
    "-l",
    "--library",
    "-ewp",
    "-Ofc",
    "--split-compile",
    "-split-compile",
    "-allow-unsupported-compiler-version",
    "--time",
    "-time",
    "--keep-dir",
    "-keep-dir",
    "-jump-table-density",
    "--relocatable-ptx",
    "--device-entity-has-hidden-visibility",
    "-static-global-template-stub",
    "--static-global-template-stub",
];

/// nvcc's options without an argument that are dropped.
const NVCC_ALONE: &[&str] = &[
    "-G",
    "--device-debug",
    "-lineinfo",
    "--generate-line-info",
    "-g",
    "--debug",
    "-c",
    "-dw",
    "--expt-relaxed-constexpr",
    "-expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "-expt-extended-lambda",
    "--extended-lambda",
    "-extended-lambda",
    "-extra-device-vectorization",
    "--extra-device-vectorization",
    "-restrict",
    "--restrict",
    "-ptx",
    "--ptx",
    "-cubin",
    "-fatbin",
    "--keep",
    "-keep",
    "-forward-unknown-to-host-compiler",
    "--forward-unknown-to-host-compiler",
    "-forward-unknown-opts",
    "-dlink",
    "--dlto",
    "-dlto",
    "-m64",
    "-m32",
    "--compile",
    "-allow-unsupported-compiler",
    "--allow-unsupported-compiler",
    "-res-usage",
    "--resource-usage",
    "-src-in-ptx",
    "--source-in-ptx",
    "-w",
    "--disable-warnings",
    "-display-error-number",
    "--display-error-number",
    "-no-compress",
    "-compress-mode",
    "--dryrun",
    "-v",
    "--verbose",
    "-M",
    "-MM",
    "-MD",
    "-MMD",
    "-MP",
    "-shared",
    "-link",
    "--use-local-env",
    "-use-local-env",
];

fn is_level(word: &str) -> bool {
    matches!(word, "-O0" | "-O1" | "-O2" | "-O3" | "-Os" | "-Oz" | "-Og" | "-O" | "-Ofast")
}

/// The number in the name of a processor; AMD uses letters as digits.
fn number(architecture: &str) -> u32 {
    let digits = architecture.trim_start_matches(|c: char| !c.is_ascii_digit());
    match architecture.starts_with("gfx") {
        true => u32::from_str_radix(digits, 16).unwrap_or(0),
        false => digits.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &Expect) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let flags = Flags::of(Dialect::of_program(&words[0]), &words[1..]);
        let language = flags.language.map_or("-", Language::name);
        let architecture = flags.architecture.as_deref().unwrap_or("-");
        let level = flags.level.as_deref().unwrap_or("-");
        let (kept, files) = (flags.kept.join(" "), flags.files.join(" "));
        expected.assert_eq(&format!("{kept} | {language} {architecture} {level} | {files}"));
    }

    #[test]
    fn what_decides_about_the_meaning_is_kept() {
        check(
            "clang++ -O3 -g -Wall -Werror -Iinc -I more -DN=4 -std=c++17 -fPIC -MD -MF k.d -c -o k.o k.cu",
            &expect!["-Iinc -I more -DN=4 -std=c++17 | - - -O3 | k.cu"],
        );
        check(
            "clang -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx900 -Xclang -finclude-default-header k",
            &expect!["-cl-std=CL2.0 -Xclang -finclude-default-header | OpenCL gfx900 - | k"],
        );
    }

    #[test]
    fn nvcc_is_translated() {
        check(
            "/usr/local/cuda/bin/nvcc -forward-unknown-to-host-compiler -ccbin g++ -DA=1 --include-path=inc,more \
             -O3 -DNDEBUG -std=c++17 --generate-code=arch=compute_75,code=[compute_75,sm_75] \
             --generate-code=arch=compute_86,code=[sm_86] --expt-relaxed-constexpr -Xcompiler=-fPIC,-DHOST \
             -use_fast_math -lineinfo -MD -MT k.o -MF k.d -x cu -rdc=true -c k.cu -o k.o",
            &expect![
                "-DA=1 -Iinc -Imore -DNDEBUG -std=c++17 -DHOST -ffast-math -fcuda-approx-transcendentals -fgpu-rdc | CUDA sm_86 - | k.cu"
            ],
        );
        check(
            "nvcc -arch sm_90a -Xptxas -v --threads 4 -isystem sys k.cu",
            &expect!["-isystem sys | - sm_90a - | k.cu"],
        );
    }

    #[test]
    fn hipcc_is_clang() {
        check(
            "hipcc --offload-arch=gfx906:xnack- --offload-arch=gfx1030 -fgpu-rdc -std=c++20 -x hip k.cpp -o k.o",
            &expect!["-fgpu-rdc -std=c++20 | HIP gfx1030 - | k.cpp"],
        );
    }
}
