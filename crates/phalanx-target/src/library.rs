//! Functions of libraries, known by name before they are linked: OpenCL C, SPIR-V, CUDA's
//! libdevice, HIP's device library.
//!
//! # What
//!
//! A front end leaves calls such as `get_local_id(0)` or `barrier(1)` to a library that is linked
//! later. [`find`] says what such a function does, in the terms in which
//! [`intrinsics::lookup`](crate::intrinsics::lookup) says it of intrinsics, so that whoever reads
//! one reads the other. The rows are in `library.tbl`.
//!
//! ```
//! use phalanx_target::{Architecture, library::{self, Language}};
//!
//! let found = library::find(b"_Z7barrierj", Architecture::Amdgcn, Language::OpenCl).unwrap();
//! assert_eq!(found.base, "barrier");
//! assert!(found.info.barrier.is_some());
//! // The same name in a program of another language is a function of that program.
//! assert_eq!(library::find(b"_Z3minii", Architecture::Amdgcn, Language::Other), None);
//! ```
//!
//! # Names
//!
//! A name is written as in C, or mangled as in C++ (Itanium ABI, a `<source-name>`); only the name
//! counts, not the types of the parameters, which demanglers do not all accept as clang writes them
//! for OpenCL. Names within namespaces and instances of templates are nobody's but the program's.
//!
//! A name says what a function does only where it can be nobody else's:
//!
//! | names | where |
//! |---|---|
//! | `__spirv_*`, `__nv_*`, `__ockl_*`, `__ocml_*`, `__assertfail` .. | on GPUs: they are reserved |
//! | `vprintf`, `malloc`, `free`, `printf` | on GPUs |
//! | OpenCL's | in OpenCL, and in SPIR-V |
//! | of these the mangled ones of work-items, sub-groups, workgroups, and `barrier` | on GPUs |
//!
//! Whoever asks has made sure that the program does not define the function: a definition says what
//! it does.
//!
//! # Cost
//!
//! The table is expanded on the first question; a lookup is one hash.

use crate::Architecture;
use crate::intrinsics::{Family, Intrinsic};

/// What a program was written in, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// OpenCL C or C++.
    OpenCl,
    /// Another one, or unknown.
    Other,
}

impl Language {
    /// The language of a module, by what named metadata nodes it has.
    #[must_use]
    pub fn of_metadata(has: impl Fn(&[u8]) -> bool) -> Language {
        let marks = [&b"opencl.ocl.version"[..], b"opencl.spir.version", b"opencl.cxx.version"];
        match marks.into_iter().any(has) {
            true => Language::OpenCl,
            false => Language::Other,
        }
    }
}

/// What a function of this name does that the program declares and does not define; none if nothing
/// is known.
#[must_use]
pub fn find(name: &[u8], architecture: Architecture, language: Language) -> Option<Intrinsic> {
    let source = source_name(name)?;
    let is_mangled = source.len() != name.len();
    let is_gpu = architecture != Architecture::Generic;
    let is_opencl = language == Language::OpenCl || architecture == Architecture::Spirv;
    let is_known = match source {
        _ if source.starts_with("__") => is_gpu,
        "vprintf" | "malloc" | "free" | "printf" => is_gpu && !is_mangled,
        _ if is_opencl => true,
        _ => is_gpu && is_mangled && is_distinct(source),
    };
    if !is_known {
        return None;
    }
    row(source)
}

/// The row of a name, without mangling.
#[must_use]
pub fn row(name: &str) -> Option<Intrinsic> {
    let (base, info) = Family::Library.table().lookup(name)?;
    Some(Intrinsic { family: Family::Library, base, info })
}

/// The name of SPIR-V's barriers, of which an argument tells the threads.
pub const CONTROL_BARRIER: &str = "__spirv_ControlBarrier";

/// A function that was found, called with this scope as first argument, if it is a constant:
/// SPIR-V's barriers are told apart by that. Of one of another scope nothing is known but that it
/// may be a barrier.
#[must_use]
pub fn with_scope(found: Intrinsic, scope: Option<u64>) -> Intrinsic {
    let of_scope = match scope {
        Some(2) => row("__spirv_ControlBarrier.workgroup"),
        Some(3) => row("__spirv_ControlBarrier.subgroup"),
        _ => None,
    };
    of_scope.filter(|_| found.base == CONTROL_BARRIER).unwrap_or(found)
}

/// Whether a name is hardly ever that of something else.
fn is_distinct(name: &str) -> bool {
    const PREFIXES: [&str; 9] = [
        "get_local_",
        "get_global_",
        "get_group_id",
        "get_num_groups",
        "get_sub_group_",
        "sub_group_",
        "intel_sub_group_",
        "work_group_",
        "async_work_group_",
    ];
    name == "barrier"
        || name == "wait_group_events"
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The name that the source has, of a function in no namespace that is no instance of a template.
fn source_name(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name).ok()?;
    let Some(mangled) = name.strip_prefix("_Z") else { return Some(name) };
    let digits = mangled.len() - mangled.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = mangled[..digits].parse().ok()?;
    let rest = &mangled[digits..];
    let (source, parameters) = rest.split_at_checked(length)?;
    // `I` begins the arguments of a template.
    (!parameters.is_empty() && !parameters.starts_with('I')).then_some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_program_are_its_own() {
        let find = |name: &str, language| find(name.as_bytes(), Architecture::Nvptx, language);
        for name in [
            "_Z3minii",                // min(int, int)
            "_ZN3foo7barrierEj",       // foo::barrier(unsigned)
            "_Z12get_local_idIjEmT_",  // get_local_id<unsigned>(unsigned)
            "_Z99get_local_idj",       // a length that is wrong
            "_Z12get_local_id",        // a variable
            "_Z99999999999999999999x", // a length that is no number
            "get_local_id",
            "barrier",
            "_Z",
        ] {
            assert_eq!(find(name, Language::Other), None, "{name}");
        }
        assert!(find("_Z12get_local_idj", Language::Other).is_some());
        assert!(find("_Z3minii", Language::OpenCl).is_some());
        assert!(find("get_local_id", Language::OpenCl).is_some());
        assert!(find("__nv_sinf", Language::Other).is_some());
    }

    #[test]
    fn nothing_is_known_where_there_are_no_threads() {
        for name in ["_Z12get_local_idj", "__nv_sinf", "malloc", "_Z22__spirv_ControlBarrierjjj"] {
            assert_eq!(
                find(name.as_bytes(), Architecture::Generic, Language::Other),
                None,
                "{name}"
            );
        }
    }
}
