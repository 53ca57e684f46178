//! The language of a source file.

use std::{fs, io::Read as _, path::Path};

/// A language for GPUs that clang compiles.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Language {
    /// CUDA C++.
    Cuda,
    /// HIP C++.
    Hip,
    /// OpenCL C, or C++ for OpenCL.
    OpenCl,
}

/// How many bytes of a file are searched for words of a language.
const LOOKED_AT: u64 = 1 << 20;

impl Language {
    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Language::Cuda => "CUDA",
            Language::Hip => "HIP",
            Language::OpenCl => "OpenCL",
        }
    }

    /// Its name for clang's `-x`.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            Language::Cuda => "cuda",
            Language::Hip => "hip",
            Language::OpenCl => "cl",
        }
    }

    /// The language that an argument of `-x` names; nvcc calls CUDA `cu`.
    #[must_use]
    pub fn of_option(option: &str) -> Option<Language> {
        match option {
            "cuda" | "cu" | "cuda-cpp-output" => Some(Language::Cuda),
            "hip" | "hip-cpp-output" => Some(Language::Hip),
            "cl" | "clcpp" => Some(Language::OpenCl),
            _ => None,
        }
    }

    /// Whether a file may be a source, by its name.
    #[must_use]
    pub fn is_source(file: &Path) -> bool {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(
            extension,
            Some("cu" | "hip" | "cl" | "clcpp" | "cpp" | "cc" | "cxx" | "c++" | "c" | "C" | "cuh")
        )
    }

    /// The language of a file, by its name; of a C++ file, by the words in it.
    #[must_use]
    pub fn of_file(file: &Path) -> Option<Language> {
        match file.extension()?.to_str()? {
            // Projects for both compile the same file. It counts as CUDA unless HIP is named.
            "cu" | "cuh" => Some(Language::Cuda),
            "hip" => Some(Language::Hip),
            "cl" | "clcpp" => Some(Language::OpenCl),
            _ if Language::is_source(file) => {
                let mut text = Vec::new();
                fs::File::open(file).ok()?.take(LOOKED_AT).read_to_end(&mut text).ok()?;
                Language::of_text(&String::from_utf8_lossy(&text))
            }
            _ => None,
        }
    }

    /// The language of a text, by words that only one language has.
    fn of_text(text: &str) -> Option<Language> {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["hip/hip_runtime.h", "hip_runtime", "hipLaunchKernelGGL"]) {
            Some(Language::Hip)
        } else if has(&["__global__", "cuda_runtime.h"]) {
            Some(Language::Cuda)
        } else if has(&["__kernel", "get_global_id(", "get_local_id("]) {
            Some(Language::OpenCl)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts() {
        assert_eq!(Language::of_file(Path::new("a/b.cu")), Some(Language::Cuda));
        assert_eq!(Language::of_file(Path::new("b.cl")), Some(Language::OpenCl));
        assert_eq!(Language::of_file(Path::new("no/such.cpp")), None);
        assert_eq!(Language::of_text("#include <hip/hip_runtime.h>"), Some(Language::Hip));
        assert_eq!(Language::of_text("__global__ void k() {}"), Some(Language::Cuda));
        assert_eq!(
            Language::of_text("kernel void k() { get_local_id(0); }"),
            Some(Language::OpenCl)
        );
        assert_eq!(Language::of_text("int main() {}"), None);
    }
}
