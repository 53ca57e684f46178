//! The table of attributes that have a keyword: the keyword, the payload and the permitted
//! positions of each.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// What an attribute carries beside its keyword.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Nothing.
    None,
    /// A type: `byval(i32)`.
    Type,
    /// A number, in a form of its own: `align 8`, `memory(read)`.
    Int,
    /// A range of a given type: `range(i32 0, 5)`.
    Range,
    /// Ranges of byte offsets: `initializes((0, 4))`.
    Ranges,
}

/// Where an attribute may stand, as bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Positions(u8);

impl Positions {
    /// On a function or call.
    pub const FUNCTION: Positions = Positions(1);
    /// On a parameter or argument.
    pub const PARAM: Positions = Positions(2);
    /// On a return value.
    pub const RETURN: Positions = Positions(4);

    /// Whether all positions of `other` are allowed.
    pub const fn contains(self, other: Positions) -> bool {
        self.0 & other.0 == other.0
    }

    const fn of(letters: &str) -> Positions {
        let letters = letters.as_bytes();
        let (mut bits, mut at) = (0, 0);
        while at < letters.len() {
            bits |= match letters[at] {
                b'f' => Self::FUNCTION.0,
                b'p' => Self::PARAM.0,
                _ => Self::RETURN.0,
            };
            at += 1;
        }
        Positions(bits)
    }
}

macro_rules! attributes {
    ($($name:ident $text:literal $payload:ident $positions:literal,)*) => {
        /// An attribute with a keyword. The order is the one attributes are printed in.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum AttrKind { $(#[doc = concat!("`", $text, "`")] $name),* }

        const TEXTS: &[&str] = &[$($text),*];
        const PAYLOADS: &[Payload] = &[$(Payload::$payload),*];
        const POSITIONS: &[Positions] = &[$(Positions::of($positions)),*];

        impl AttrKind {
            /// All kinds, in order.
            pub const ALL: &'static [AttrKind] = &[$(AttrKind::$name),*];

        }
    };
}

attributes! {
    AllocAlign "allocalign" None "p",
    AllocatedPointer "allocptr" None "p",
    AlwaysInline "alwaysinline" None "f",
    Builtin "builtin" None "f",
    Cold "cold" None "f",
    Convergent "convergent" None "f",
    CoroDestroyOnlyWhenComplete "coro_only_destroy_when_complete" None "f",
    CoroElideSafe "coro_elide_safe" None "f",
    DeadOnReturn "dead_on_return" None "p",
    DeadOnUnwind "dead_on_unwind" None "p",
    DisableSanitizerInstrumentation "disable_sanitizer_instrumentation" None "f",
    FnRetThunkExtern "fn_ret_thunk_extern" None "f",
    Hot "hot" None "f",
    HybridPatchable "hybrid_patchable" None "f",
    ImmArg "immarg" None "p",
    InReg "inreg" None "pr",
    InlineHint "inlinehint" None "f",
    JumpTable "jumptable" None "f",
    MinSize "minsize" None "f",
    MustProgress "mustprogress" None "f",
    Naked "naked" None "f",
    Nest "nest" None "p",
    NoAlias "noalias" None "pr",
    NoBuiltin "nobuiltin" None "f",
    NoCallback "nocallback" None "f",
    NoCfCheck "nocf_check" None "f",
    NoCreateUndefOrPoison "nocreateundeforpoison" None "f",
    NoDivergenceSource "nodivergencesource" None "f",
    NoDuplicate "noduplicate" None "f",
    NoExt "noext" None "pr",
    NoFree "nofree" None "fp",
    NoImplicitFloat "noimplicitfloat" None "f",
    NoInline "noinline" None "f",
    NoMerge "nomerge" None "f",
    NoProfile "noprofile" None "f",
    NoRecurse "norecurse" None "f",
    NoRedZone "noredzone" None "f",
    NoReturn "noreturn" None "f",
    NoSanitizeBounds "nosanitize_bounds" None "f",
    NoSanitizeCoverage "nosanitize_coverage" None "f",
    NoSync "nosync" None "f",
    NoUndef "noundef" None "pr",
    NoUnwind "nounwind" None "f",
    NonLazyBind "nonlazybind" None "f",
    NonNull "nonnull" None "pr",
    NullPointerIsValid "null_pointer_is_valid" None "f",
    OptForFuzzing "optforfuzzing" None "f",
    OptimizeForDebugging "optdebug" None "f",
    OptimizeForSize "optsize" None "f",
    OptimizeNone "optnone" None "f",
    PresplitCoroutine "presplitcoroutine" None "f",
    ReadNone "readnone" None "p",
    ReadOnly "readonly" None "p",
    Returned "returned" None "p",
    ReturnsTwice "returns_twice" None "f",
    SignExt "signext" None "pr",
    SafeStack "safestack" None "f",
    SanitizeAddress "sanitize_address" None "f",
    SanitizeAllocToken "sanitize_alloc_token" None "f",
    SanitizeHwAddress "sanitize_hwaddress" None "f",
    SanitizeMemTag "sanitize_memtag" None "f",
    SanitizeMemory "sanitize_memory" None "f",
    SanitizeNumericalStability "sanitize_numerical_stability" None "f",
    SanitizeRealtime "sanitize_realtime" None "f",
    SanitizeRealtimeBlocking "sanitize_realtime_blocking" None "f",
    SanitizeThread "sanitize_thread" None "f",
    SanitizeType "sanitize_type" None "f",
    ShadowCallStack "shadowcallstack" None "f",
    SkipProfile "skipprofile" None "f",
    Speculatable "speculatable" None "f",
    SpeculativeLoadHardening "speculative_load_hardening" None "f",
    StackProtect "ssp" None "f",
    StackProtectReq "sspreq" None "f",
    StackProtectStrong "sspstrong" None "f",
    StrictFp "strictfp" None "f",
    SwiftAsync "swiftasync" None "p",
    SwiftError "swifterror" None "p",
    SwiftSelf "swiftself" None "p",
    WillReturn "willreturn" None "f",
    Writable "writable" None "p",
    WriteOnly "writeonly" None "p",
    ZeroExt "zeroext" None "pr",
    ByRef "byref" Type "p",
    ByVal "byval" Type "p",
    ElementType "elementtype" Type "p",
    InAlloca "inalloca" Type "p",
    Preallocated "preallocated" Type "fp",
    StructRet "sret" Type "p",
    Align "align" Int "pr",
    AllocKind "allockind" Int "f",
    AllocSize "allocsize" Int "f",
    Captures "captures" Int "p",
    Dereferenceable "dereferenceable" Int "pr",
    DereferenceableOrNull "dereferenceable_or_null" Int "pr",
    Memory "memory" Int "f",
    NoFpClass "nofpclass" Int "pr",
    StackAlign "alignstack" Int "fpr",
    UwTable "uwtable" Int "f",
    VScaleRange "vscale_range" Int "f",
    Range "range" Range "pr",
    Initializes "initializes" Ranges "p",
}

static INDEX: LazyLock<FxHashMap<&'static [u8], AttrKind>> =
    LazyLock::new(|| AttrKind::ALL.iter().map(|&kind| (kind.text().as_bytes(), kind)).collect());

impl AttrKind {
    /// The kind with this keyword. O(1).
    pub fn from_text(text: &[u8]) -> Option<AttrKind> {
        INDEX.get(text).copied()
    }

    /// The keyword.
    pub const fn text(self) -> &'static str {
        TEXTS[self as usize]
    }

    /// What it carries.
    pub const fn payload(self) -> Payload {
        PAYLOADS[self as usize]
    }

    /// Where it may stand.
    pub const fn positions(self) -> Positions {
        POSITIONS[self as usize]
    }

    /// The bit of this kind in a set's mask.
    pub(super) const fn bit(self) -> u128 {
        1 << self as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_a_mask_and_orders_payloads_as_printed() {
        assert!(AttrKind::ALL.len() <= 128);
        let order = |payload| match payload {
            Payload::None => 0,
            Payload::Type => 1,
            Payload::Int => 2,
            Payload::Range => 3,
            Payload::Ranges => 4,
        };
        assert!(AttrKind::ALL.is_sorted_by_key(|kind| order(kind.payload())));
        for (number, &kind) in AttrKind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(AttrKind::from_text(kind.text().as_bytes()), Some(kind));
        }
        assert_eq!(AttrKind::from_text(b"nocapture"), None);
    }
}
