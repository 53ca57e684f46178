//! Kinds of attachments: `dbg` in `!dbg !7`.
//!
//! A kind is the symbol of its name. The kinds that LLVM 22 numbers itself have the same symbol in
//! every context, so that `attachment.kind == kind::RANGE` is a comparison of numbers.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::symbol::{Symbol, SyncScope};

/// The number of the symbol of the first fixed kind; the fixed kinds follow each other in every
/// context.
pub(crate) const FIRST: u32 = SyncScope::PREDEFINED.len() as u32;

macro_rules! kinds {
    ($($name:ident $text:literal,)*) => {
        /// Names of the fixed kinds, in LLVM's order.
        pub const FIXED: &[&str] = &[$($text),*];

        kinds!(@constants 0; $($name $text)*);
    };
    (@constants $number:expr; $name:ident $text:literal $($rest:tt)*) => {
        #[doc = concat!("`!", $text, "`")]
        pub const $name: Symbol = Symbol::from_raw(FIRST + $number);
        kinds!(@constants $number + 1; $($rest)*);
    };
    (@constants $number:expr;) => {};
}

kinds! {
    DBG "dbg",
    TBAA "tbaa",
    PROF "prof",
    FPMATH "fpmath",
    RANGE "range",
    TBAA_STRUCT "tbaa.struct",
    INVARIANT_LOAD "invariant.load",
    ALIAS_SCOPE "alias.scope",
    NOALIAS "noalias",
    NONTEMPORAL "nontemporal",
    PARALLEL_LOOP_ACCESS "llvm.mem.parallel_loop_access",
    NONNULL "nonnull",
    DEREFERENCEABLE "dereferenceable",
    DEREFERENCEABLE_OR_NULL "dereferenceable_or_null",
    MAKE_IMPLICIT "make.implicit",
    UNPREDICTABLE "unpredictable",
    INVARIANT_GROUP "invariant.group",
    ALIGN "align",
    LOOP "llvm.loop",
    TYPE "type",
    SECTION_PREFIX "section_prefix",
    ABSOLUTE_SYMBOL "absolute_symbol",
    ASSOCIATED "associated",
    CALLEES "callees",
    IRR_LOOP "irr_loop",
    ACCESS_GROUP "llvm.access.group",
    CALLBACK "callback",
    PRESERVE_ACCESS_INDEX "llvm.preserve.access.index",
    VCALL_VISIBILITY "vcall_visibility",
    NOUNDEF "noundef",
    ANNOTATION "annotation",
    NOSANITIZE "nosanitize",
    FUNC_SANITIZE "func_sanitize",
    EXCLUDE "exclude",
    MEMPROF "memprof",
    CALLSITE "callsite",
    KCFI_TYPE "kcfi_type",
    PCSECTIONS "pcsections",
    ASSIGN_ID "DIAssignID",
    CORO_OUTSIDE_FRAME "coro.outside.frame",
    MMRA "mmra",
    NOALIAS_ADDRSPACE "noalias.addrspace",
    CALLEE_TYPE "callee_type",
    NOFREE "nofree",
    CAPTURES "captures",
    ALLOC_TOKEN "alloc_token",
    IMPLICIT_REF "implicit.ref",
}

static INDEX: LazyLock<FxHashMap<&'static [u8], Symbol>> = LazyLock::new(|| {
    (FIRST..).zip(FIXED).map(|(number, name)| (name.as_bytes(), Symbol::from_raw(number))).collect()
});

/// The fixed kind of this name. O(1).
pub fn fixed(name: &[u8]) -> Option<Symbol> {
    INDEX.get(name).copied()
}

/// The number of a fixed kind.
pub(crate) fn fixed_rank(kind: Symbol) -> Option<u32> {
    kind.raw().checked_sub(FIRST).filter(|&number| (number as usize) < FIXED.len())
}
