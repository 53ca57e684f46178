//! What every `llvm.*` intrinsic does, as far as uniformity, convergence and code motion depend on
//! it.
//!
//! # What
//!
//! [`lookup`] maps the name of a callee, overload suffix and all, to its [`IntrinsicInfo`]. There
//! are two independent classifications of the result:
//!
//! * [`IntrinsicInfo::result`], a [`Transfer`]: what Phalanx assumes. Soundness comes first: if an
//!   intrinsic may exchange values between threads or read memory, and no rule covers it, its
//!   result is [`Transfer::OPAQUE`].
//! * [`IntrinsicInfo::llvm`]: what LLVM 22's uniformity analysis for AMDGPU says, right or wrong,
//!   so that its output can be reproduced. (For NVPTX the answer is the same for every call and
//!   needs no table; see [`llvm_rules`](crate::llvm_rules).)
//!
//! The remaining properties are LLVM's own attributes of the declaration.
//!
//! # Invariants
//!
//! * The tables list every intrinsic that LLVM 22 has for these families and nothing else. Names,
//!   overloads, effects and LLVM's classification are compared with the installed LLVM in the
//!   tests.
//! * A name that starts with `llvm.` and is not found is one that LLVM 22 does not have; treat it
//!   as an unknown call ([`IntrinsicInfo::unknown`]).
//!
//! # Cost
//!
//! A table is expanded on the first lookup in its family. A lookup is one hash per component of the
//! mangled suffix.

pub(crate) mod table;

use std::cell::RefCell;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use self::table::Table;
use crate::sources::Scope;
use crate::transfer::Transfer;

/// What LLVM's uniformity analysis assumes about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LlvmUniformity {
    /// Divergent if an operand is.
    #[default]
    Default,
    /// Uniform, even with divergent operands, and inside cycles in which threads run apart.
    AlwaysUniform,
    /// Divergent, even with uniform operands.
    NeverUniform,
}

/// Which memory an intrinsic touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// None.
    None,
    /// What its pointer arguments point to.
    Argument,
    /// State that the program cannot address: mode registers, counters, queues.
    Inaccessible,
    /// Both of the above.
    ArgumentOrInaccessible,
    /// Anything.
    Any,
}

/// Memory effect in the sense of LLVM's `memory(...)` attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryEffect {
    /// Where.
    pub location: Location,
    /// Memory may be read.
    pub reads: bool,
    /// Memory may be written.
    pub writes: bool,
}

impl MemoryEffect {
    /// `memory(none)`.
    pub const NONE: MemoryEffect =
        MemoryEffect { location: Location::None, reads: false, writes: false };
    /// Reads and writes anything.
    pub const ANY: MemoryEffect =
        MemoryEffect { location: Location::Any, reads: true, writes: true };

    /// Whether memory is neither read nor written.
    #[must_use]
    pub const fn is_none(self) -> bool {
        !self.reads && !self.writes
    }

    /// Whether memory that the program can address may be written.
    #[must_use]
    pub const fn writes_memory(self) -> bool {
        self.writes && !matches!(self.location, Location::Inaccessible)
    }

    /// Whether memory that the program can address may be read.
    #[must_use]
    pub const fn reads_memory(self) -> bool {
        self.reads && !matches!(self.location, Location::Inaccessible)
    }
}

/// Which half of a split barrier an intrinsic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierPhase {
    /// Arrives and waits.
    Both,
    /// Arrives only.
    Arrive,
    /// Waits only.
    Wait,
}

/// An execution barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// The threads that meet.
    pub scope: Scope,
    /// Which half it is.
    pub phase: BarrierPhase,
    /// Undefined unless all threads of the scope that take part execute the same barrier together.
    pub aligned: bool,
    /// Only some threads of the scope take part; a thread count or a member mask says which.
    pub partial: bool,
}

impl Barrier {
    /// Whether executing the barrier implies that all threads of its scope execute it together.
    /// Then branches that decide whether it is executed can be assumed uniform.
    #[must_use]
    pub const fn proves_uniform_control(self) -> bool {
        self.aligned && !self.partial && matches!(self.phase, BarrierPhase::Both)
    }
}

/// The role of an operand that must be the same in all threads that execute an operation together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The number of a lane or thread.
    Lane,
    /// A distance between lanes.
    Distance,
    /// The value that is written for all.
    Value,
    /// A set of lanes.
    Mask,
    /// The number of a barrier.
    Barrier,
    /// How many threads or waves are members of a barrier.
    Members,
    /// An address of memory.
    Address,
    /// A number of elements or events.
    Count,
    /// A distance in memory.
    Stride,
}

impl Role {
    /// Every role with its name in tables and its name in messages.
    const ALL: [(Role, &'static str, &'static str); 9] = [
        (Role::Lane, "lane", "lane number"),
        (Role::Distance, "distance", "distance between lanes"),
        (Role::Value, "value", "value"),
        (Role::Mask, "mask", "mask"),
        (Role::Barrier, "barrier", "barrier"),
        (Role::Members, "members", "number of members"),
        (Role::Address, "address", "address"),
        (Role::Count, "count", "count"),
        (Role::Stride, "stride", "stride"),
    ];

    pub(crate) fn from_name(name: &str) -> Option<Role> {
        Role::ALL.iter().find(|(_, of, _)| *of == name).map(|(role, ..)| *role)
    }

    /// Its name in messages.
    #[must_use]
    pub fn text(self) -> &'static str {
        Role::ALL.iter().find(|(role, ..)| *role == self).map_or("", |(.., text)| *text)
    }
}

/// Operands that must be the same in all threads that execute an operation together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SameOperands {
    /// The threads for which this holds: those of a wave or workgroup.
    pub scope: Scope,
    /// Positions and roles.
    operands: [Option<(u8, Role)>; SameOperands::MOST],
}

impl SameOperands {
    const MOST: usize = 4;

    /// None.
    pub const NONE: SameOperands =
        SameOperands { scope: Scope::Wave, operands: [None; SameOperands::MOST] };

    /// Operands with these positions and roles, at most four.
    pub(crate) fn new(scope: Scope, operands: &[(u8, Role)]) -> Option<SameOperands> {
        let mut all = SameOperands { scope, ..SameOperands::NONE };
        for (at, &operand) in operands.iter().enumerate() {
            *all.operands.get_mut(at)? = Some(operand);
        }
        Some(all)
    }

    /// Positions and roles.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Role)> + use<> {
        self.operands.into_iter().flatten().map(|(at, role)| (usize::from(at), role))
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.operands[0].is_none()
    }
}

/// The properties of an intrinsic in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntrinsicInfo {
    /// It returns something other than `void`.
    pub has_result: bool,
    /// Sources of the result; of result 0 if a struct is returned. Meaningless without a result.
    pub result: Transfer,
    /// Sources of results 1 and up of a returned struct.
    pub further_results: Transfer,
    /// Which memory is touched.
    pub memory: MemoryEffect,
    /// The execution barrier it is, if it is one.
    pub barrier: Option<Barrier>,
    /// The operation depends on which threads execute it together; it must not be made
    /// control-dependent on more conditions. Includes a few intrinsics that LLVM does not mark.
    pub convergent: bool,
    /// LLVM marks it `convergent`.
    pub llvm_convergent: bool,
    /// Operands that must be the same in all threads that execute it together; otherwise the
    /// behaviour is undefined.
    pub same: SameOperands,
    /// It can be executed where it was not before, without undefined behaviour.
    pub speculatable: bool,
    /// It returns.
    pub willreturn: bool,
    /// It does not return.
    pub noreturn: bool,
    /// It does not synchronise with other threads through memory.
    pub nosync: bool,
    /// It must not be copied.
    pub noduplicate: bool,
    /// What LLVM's AMDGPU target says about its uniformity.
    pub llvm: LlvmUniformity,
}

impl IntrinsicInfo {
    /// The properties of a function of which nothing is known.
    #[must_use]
    pub const fn unknown() -> IntrinsicInfo {
        IntrinsicInfo {
            has_result: true,
            result: Transfer::OPAQUE,
            further_results: Transfer::OPAQUE,
            memory: MemoryEffect::ANY,
            barrier: None,
            convergent: true,
            llvm_convergent: true,
            same: SameOperands::NONE,
            speculatable: false,
            willreturn: false,
            noreturn: false,
            nosync: false,
            noduplicate: false,
            llvm: LlvmUniformity::Default,
        }
    }

    /// The rule for result `index` of a returned struct; 0 for a result that is not a struct.
    #[must_use]
    pub const fn result_at(&self, index: usize) -> &Transfer {
        if index == 0 { &self.result } else { &self.further_results }
    }

    /// Whether a call is a pure function of its operands and of the thread that executes it. In a
    /// loop in which the operands do not change, it then gives each thread the same value in every
    /// iteration.
    #[must_use]
    pub const fn is_invariant_with_operands(&self) -> bool {
        self.memory.is_none()
            && !self.convergent
            && self.result.is_timeless()
            && self.further_results.is_timeless()
    }
}

/// The families of intrinsics that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `llvm.*`, of no target.
    Generic,
    /// `llvm.amdgcn.*`.
    Amdgcn,
    /// `llvm.nvvm.*`.
    Nvvm,
    /// `llvm.spv.*`.
    Spirv,
    /// `llvm.r600.*`.
    R600,
    /// Functions of libraries, which are no intrinsics: see [`library`](crate::library).
    Library,
}

impl Family {
    /// Every family of intrinsics.
    pub const ALL: [Family; 5] =
        [Family::Generic, Family::Amdgcn, Family::Nvvm, Family::Spirv, Family::R600];

    /// The prefix of the names of the family.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Family::Generic => "llvm.",
            Family::Amdgcn => "llvm.amdgcn.",
            Family::Nvvm => "llvm.nvvm.",
            Family::Spirv => "llvm.spv.",
            Family::R600 => "llvm.r600.",
            Family::Library => "",
        }
    }

    pub(crate) fn table(self) -> &'static Table {
        static GENERIC: LazyLock<Table> =
            LazyLock::new(|| load(include_str!("intrinsics/generic.tbl")));
        static AMDGCN: LazyLock<Table> =
            LazyLock::new(|| load(include_str!("intrinsics/amdgcn.tbl")));
        static NVVM: LazyLock<Table> = LazyLock::new(|| load(include_str!("intrinsics/nvvm.tbl")));
        static SPIRV: LazyLock<Table> = LazyLock::new(|| load(include_str!("intrinsics/spv.tbl")));
        static R600: LazyLock<Table> = LazyLock::new(|| load(include_str!("intrinsics/r600.tbl")));
        static LIBRARY: LazyLock<Table> = LazyLock::new(|| load(include_str!("library.tbl")));
        match self {
            Family::Generic => &GENERIC,
            Family::Amdgcn => &AMDGCN,
            Family::Nvvm => &NVVM,
            Family::Spirv => &SPIRV,
            Family::R600 => &R600,
            Family::Library => &LIBRARY,
        }
    }

    /// All intrinsics of the family, sorted by name.
    #[must_use]
    pub fn entries(self) -> Vec<Entry> {
        let entries = self.table().entries();
        entries
            .into_iter()
            .map(|(base, overloaded, info)| Entry { family: self, base, overloaded, info })
            .collect()
    }
}

/// A mistake in a table is a bug of this crate, since the tables are compiled in; tests read all of
/// them.
fn load(text: &str) -> Table {
    Table::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The family.
    pub family: Family,
    /// The name without the family's prefix and without overload suffix.
    pub base: &'static str,
    /// Whether type suffixes follow the name.
    pub overloaded: bool,
    /// The properties.
    pub info: &'static IntrinsicInfo,
}

/// An intrinsic found by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intrinsic {
    /// The family.
    pub family: Family,
    /// The name without the family's prefix and without overload suffix: `readfirstlane`.
    pub base: &'static str,
    /// The properties.
    pub info: &'static IntrinsicInfo,
}

/// Whether LLVM takes a function of this name for an intrinsic, known or not.
#[must_use]
pub fn is_intrinsic_name(name: impl AsRef<[u8]>) -> bool {
    name.as_ref().starts_with(PREFIX)
}

const PREFIX: &[u8] = b"llvm.";

/// The intrinsic called `name` (without the `@`), such as `llvm.amdgcn.readfirstlane.i32`.
///
/// As in LLVM, the longest known name counts, and a suffix after it is allowed only on overloaded
/// intrinsics. The suffix itself is not checked: LLVM corrects a wrong one when it reads IR.
///
/// An analysis looks up the name of each call several times, and a program has few different names.
/// So each thread caches recent results by the whole name.
#[must_use]
pub fn lookup(name: impl AsRef<[u8]>) -> Option<Intrinsic> {
    let name = name.as_ref();
    // Other names are not cached, since a program can have many functions.
    is_intrinsic_name(name).then(|| known(name))?
}

fn known(name: &[u8]) -> Option<Intrinsic> {
    /// The cache is cleared when it has this many names; only generated names can fill it.
    const KNOWN: usize = 1024;
    thread_local! {
        static FOUND: RefCell<FxHashMap<Box<[u8]>, Option<Intrinsic>>> = RefCell::default();
    }
    FOUND.with_borrow_mut(|found| {
        if let Some(known) = found.get(name) {
            return *known;
        }
        if found.len() == KNOWN {
            found.clear();
        }
        let intrinsic = std::str::from_utf8(name).ok().and_then(find);
        found.insert(name.into(), intrinsic);
        intrinsic
    })
}

/// As [`lookup`], without the cache.
fn find(name: &str) -> Option<Intrinsic> {
    let rest = name.strip_prefix("llvm.")?;
    let (family, rest) = match rest.split_once('.') {
        Some(("amdgcn", rest)) => (Family::Amdgcn, rest),
        Some(("nvvm", rest)) => (Family::Nvvm, rest),
        Some(("spv", rest)) => (Family::Spirv, rest),
        Some(("r600", rest)) => (Family::R600, rest),
        _ => (Family::Generic, rest),
    };
    let (base, info) = family.table().lookup(rest)?;
    Some(Intrinsic { family, base, info })
}

/// Whether a name is that of an intrinsic that is convergent whatever its declaration says.
#[must_use]
pub fn is_convergent(name: &[u8]) -> bool {
    lookup(name).is_some_and(|intrinsic| intrinsic.info.llvm_convergent)
}

#[cfg(test)]
mod tests;
