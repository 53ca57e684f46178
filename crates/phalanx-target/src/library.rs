//! Functions of libraries, known by name before they are linked: OpenCL C, SPIR-V, CUDA's
//! libdevice, HIP's device library.
//!
//! # What
//!
//! A front end leaves calls such as `get_local_id(0)` or `barrier(1)` to a library that is linked
//! later. [`find`] says what such a function does. The answer has the same type as that of
//! [`intrinsics::lookup`], so callers can treat both alike. The rows are in `library.tbl`.
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
//! A name is written as in C, or mangled as in C++ (Itanium ABI, a `<source-name>`). Only the name
//! counts, not the types of the parameters: clang mangles those of OpenCL in ways that not all
//! demanglers accept. Names within namespaces and instances of templates always belong to the
//! program.
//!
//! A name says what a function does only if no other function can have it:
//!
//! | names | where |
//! |---|---|
//! | `__spirv_*`, `__nv_*`, `__ockl_*`, `__ocml_*`, `__assertfail` .. | on GPUs: they are reserved |
//! | `vprintf`, `malloc`, `free`, `printf` | on GPUs |
//! | OpenCL's | in OpenCL, and in SPIR-V |
//! | the mangled ones of OpenCL's work-items, sub-groups, workgroups, and `barrier` | on GPUs |
//!
//! Call [`find`] only for functions that the program does not define: a definition takes
//! precedence.
//!
//! # Functions of a driver
//!
//! A driver can describe further functions by an [`Extension`], in the syntax of the tables
//! (`intrinsics/table.rs`). Its rows take precedence over the table. It may also describe a target
//! of the driver's own: [`machine`](crate::machine).
//!
//! # Cost
//!
//! The table is expanded at the first lookup; a lookup is one hash.

use std::{
    fmt,
    sync::{LazyLock, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;

use crate::Architecture;
use crate::intrinsics::{self, Family, Intrinsic, table::Table};
use crate::machine::Machine;

/// The language of a program, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// OpenCL C or C++.
    OpenCl,
    /// Another one, or unknown.
    Other,
}

impl Language {
    /// The language of a module, by its named metadata.
    #[must_use]
    pub fn of_metadata(has: impl Fn(&[u8]) -> bool) -> Language {
        let marks = [&b"opencl.ocl.version"[..], b"opencl.spir.version", b"opencl.cxx.version"];
        match marks.into_iter().any(has) {
            true => Language::OpenCl,
            false => Language::Other,
        }
    }
}

/// What a function of this name does, if the program declares but does not define it; none if
/// nothing is known.
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

/// Functions that a driver describes; these rows take precedence over the table.
///
/// ```
/// use phalanx_target::library::Extension;
///
/// let mine = Extension::parse(
///     "@ agree(data=0)  memory=none convergent willreturn nosync
///          team_any team_max
///      @ -  memory=any convergent willreturn barrier(workgroup,aligned)
///          team_sync",
/// )?;
/// assert!(mine.find(b"team_any").is_some());
/// assert!(mine.find(b"_Z9team_syncv").is_some_and(|row| row.info.barrier.is_some()));
/// # Ok::<(), phalanx_target::library::ExtensionError>(())
/// ```
///
/// A kind (`@`) is followed by the names that behave like it. It says what the result depends on:
/// `propagate` (the operands), `agree` and `collective` (one value for all threads that execute it
/// together), `opaque` (unknown), `-` (no result). It also says which memory is accessed, and more;
/// `intrinsics/table.rs` lists the full syntax. A plain name stands for the function of that name,
/// mangled or not; a mangled name stands for that function alone.
///
/// Rows are kept for the life of the process; equal texts are stored once.
#[derive(Clone, Copy, Default)]
pub struct Extension(Option<&'static Known>);

/// The content of an extension.
#[derive(Debug)]
struct Known {
    functions: Table,
    machine: Option<Machine>,
}

impl Extension {
    /// Reads rows. O(length).
    ///
    /// # Errors
    /// The first line that cannot be read, or a row that describes an intrinsic or contradicts
    /// itself.
    pub fn parse(text: &str) -> Result<Extension, ExtensionError> {
        static KNOWN: LazyLock<Mutex<FxHashMap<Box<str>, &'static Known>>> =
            LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = known.get(text) {
            return Ok(Extension(Some(known)));
        }
        let of_machine = |line: &str| line.trim_start().starts_with('!');
        let described = text.lines().enumerate().filter_map(|(number, line)| {
            let line = line.split('#').next().unwrap_or_default();
            Some((number + 1, line.trim().strip_prefix('!')?.trim()))
        });
        let machine = Machine::parse(&described.collect::<Vec<_>>())
            .map_err(|(line, message)| ExtensionError { line: Some(line), message })?;
        let rows: Vec<&str> =
            text.lines().map(|line| if of_machine(line) { "" } else { line }).collect();
        let table = Table::parse(&rows.join("\n"))
            .map_err(|error| ExtensionError { line: Some(error.line), message: error.message })?;
        for (name, is_overloaded, info) in table.entries() {
            let wrong = match () {
                () if intrinsics::lookup(name.as_bytes()).is_some() => {
                    "is an intrinsic of LLVM 22, of which LLVM says what it does"
                }
                () if is_overloaded => "ends with `*`, which only intrinsics do",
                () if info.barrier.is_some() && !info.convergent => {
                    "is a barrier, so it has to be `convergent`"
                }
                () => continue,
            };
            return Err(ExtensionError { line: None, message: format!("`{name}` {wrong}") });
        }
        let read: &'static Known = Box::leak(Box::new(Known { functions: table, machine }));
        known.insert(text.into(), read);
        Ok(Extension(Some(read)))
    }

    /// The target that it describes, if any.
    #[must_use]
    pub fn machine(&self) -> Option<Machine> {
        self.0?.machine
    }

    /// The description of a function of this name.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<Intrinsic> {
        let table = &self.0?.functions;
        let of = |name: &str| {
            let (base, info) = table.lookup(name)?;
            Some(Intrinsic { family: Family::Library, base, info })
        };
        of(std::str::from_utf8(name).ok()?).or_else(|| of(source_name(name)?))
    }
}

impl PartialEq for Extension {
    /// Whether both were made of the same text.
    fn eq(&self, other: &Extension) -> bool {
        match (self.0, other.0) {
            (Some(own), Some(theirs)) => std::ptr::eq(own, theirs),
            (own, theirs) => own.is_none() && theirs.is_none(),
        }
    }
}

impl Eq for Extension {}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.map(|known| known.functions.entries()).unwrap_or_default();
        f.debug_set().entries(names.iter().map(|(name, ..)| name)).finish()
    }
}

/// Why an extension cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtensionError {
    /// The line of the mistake, if it is in one.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ExtensionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ExtensionError {}

/// The row of a name, without mangling.
#[must_use]
pub fn row(name: &str) -> Option<Intrinsic> {
    let (base, info) = Family::Library.table().lookup(name)?;
    Some(Intrinsic { family: Family::Library, base, info })
}

/// The names of all rows, without mangling, in alphabetical order. O(rows).
#[must_use]
pub fn names() -> Vec<&'static str> {
    let entries = Family::Library.table().entries();
    let mut names: Vec<&str> = entries.into_iter().map(|(name, ..)| name).collect();
    names.sort_unstable();
    names
}

/// The meaning of a SPIR-V built-in variable (`__spirv_BuiltInLocalInvocationId`): its value is
/// constant in each thread, but differs between threads. None for any other variable.
#[must_use]
pub fn built_in_variable(name: &[u8]) -> Option<Intrinsic> {
    let name = std::str::from_utf8(name).ok()?;
    row(name).filter(|_| name.starts_with("__spirv_BuiltIn"))
}

/// The name of SPIR-V's barriers; their first argument says which threads meet.
pub const CONTROL_BARRIER: &str = "__spirv_ControlBarrier";

/// The properties of a found function, given its first argument, if that is constant. SPIR-V's
/// barriers are distinguished by that scope. For another scope, only that it may be a barrier is
/// known.
#[must_use]
pub fn with_scope(found: Intrinsic, scope: Option<u64>) -> Intrinsic {
    let of_scope = match scope {
        Some(2) => row("__spirv_ControlBarrier.workgroup"),
        Some(3) => row("__spirv_ControlBarrier.subgroup"),
        _ => None,
    };
    of_scope.filter(|_| found.base == CONTROL_BARRIER).unwrap_or(found)
}

/// Whether a name is unlikely to be used for anything else.
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

/// The name in the source of a function that is in no namespace and no instance of a template.
#[must_use]
pub fn source_name(name: &[u8]) -> Option<&str> {
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
    fn rows_of_a_driver_are_read_or_refused() {
        let error = |text| Extension::parse(text).expect_err("it is refused").to_string();
        assert_eq!(error("@ propagate memory=none\n a{b"), "line 2: unbalanced braces in `a{b`");
        assert_eq!(
            error("@ propagate memory=none\n llvm.nvvm.activemask"),
            "`llvm.nvvm.activemask` is an intrinsic of LLVM 22, of which LLVM says what it does"
        );
        // A fork of LLVM has intrinsics for its own target.
        let fork = Extension::parse("@ propagate(x) memory=none\n llvm.toy.tid").expect("rows");
        assert!(fork.find(b"llvm.toy.tid").is_some());
        assert_eq!(
            error("@ - memory=any barrier(workgroup)\n sync"),
            "`sync` is a barrier, so it has to be `convergent`"
        );
        assert_eq!(
            error("@ - memory=any\n f*"),
            "`f*` ends with `*`, which only intrinsics do".replace("f*`", "f`")
        );
        let text = "@ propagate memory=none\n mine _Z6_theirv";
        let [one, other] = [(); 2].map(|()| Extension::parse(text).expect("it is right"));
        assert_eq!(one, other);
        assert_ne!(one, Extension::default());
        for (name, is_known) in
            [("mine", true), ("_Z4minei", true), ("_Z6_theirv", true), ("_Z6_theiri", false)]
        {
            assert_eq!(one.find(name.as_bytes()).is_some(), is_known, "{name}");
        }
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
