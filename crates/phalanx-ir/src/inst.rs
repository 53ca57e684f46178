//! Instructions: opcode, flags and the packed record.
//!
//! An [`InstData`] holds what all instructions have, in 24 bytes. The rest is elsewhere: operands
//! in the pool of the [`Body`](crate::Body), successors of terminators in the
//! [`Flow`](crate::Flow), the shape of a call (convention, attributes, bundles) in a shared
//! [`CallInfo`].
//!
//! ```text
//! %r = load volatile i32, ptr %p, align 4
//!
//! opcode `Load`, flags `VOLATILE`, type `i32`, one operand (%p), word 1: alignment 4, not atomic
//! ```

use crate::{
    attributes::AttrList,
    call_conv::CallConv,
    symbol::{Symbol, SyncScope},
    text_enum::text_enum,
    types::Type,
};

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// Every instruction of LLVM 22.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Opcode { $($(#[$doc])* $name),* }
        impl Opcode {
            /// All opcodes.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name),*];
            /// The keyword of the textual form.
            pub const fn text(self) -> &'static str {
                match self { $(Opcode::$name => $text),* }
            }
            /// The opcode with this keyword.
            pub fn from_text(text: &[u8]) -> Option<Opcode> {
                $(if text == $text.as_bytes() { return Some(Opcode::$name); })*
                None
            }
        }
    };
}

opcodes! {
    /// Return from the function. Operands: the value, if any.
    Ret "ret",
    /// Branch. Operands: the condition, if there are two successors.
    Br "br",
    /// Multi-way branch. Operands: the condition, then one case value per successor after the first
    /// (default) one.
    Switch "switch",
    /// Branch to an address. Operands: the address.
    IndirectBr "indirectbr",
    /// Call with an unwind edge: successors are normal, unwind. Operands as [`Opcode::Call`].
    Invoke "invoke",
    /// Inline assembly with jumps: successors are fall-through, then indirect ones. Operands as
    /// [`Opcode::Call`].
    CallBr "callbr",
    /// Continue unwinding. Operands: the exception.
    Resume "resume",
    /// Dispatch among handlers: successors are the handlers, then the unwind destination if any.
    /// Operands: parent pad.
    CatchSwitch "catchswitch",
    /// Leave a catch pad: one successor. Operands: the pad.
    CatchRet "catchret",
    /// Leave a cleanup pad: at most one successor (none: unwind to caller). Operands: the pad.
    CleanupRet "cleanupret",
    /// Not reached.
    Unreachable "unreachable",
    /// Floating-point negation.
    FNeg "fneg",
    /// Integer addition.
    Add "add",
    /// Floating-point addition.
    FAdd "fadd",
    /// Integer subtraction.
    Sub "sub",
    /// Floating-point subtraction.
    FSub "fsub",
    /// Integer multiplication.
    Mul "mul",
    /// Floating-point multiplication.
    FMul "fmul",
    /// Unsigned division.
    UDiv "udiv",
    /// Signed division.
    SDiv "sdiv",
    /// Floating-point division.
    FDiv "fdiv",
    /// Unsigned remainder.
    URem "urem",
    /// Signed remainder.
    SRem "srem",
    /// Floating-point remainder.
    FRem "frem",
    /// Shift left.
    Shl "shl",
    /// Logical shift right.
    LShr "lshr",
    /// Arithmetic shift right.
    AShr "ashr",
    /// Bitwise and.
    And "and",
    /// Bitwise or.
    Or "or",
    /// Bitwise exclusive or.
    Xor "xor",
    /// Stack allocation. Operands: number of elements. Word 0: allocated type; word 1: [`MemInfo`].
    Alloca "alloca",
    /// Load. Operands: address. Word 1: [`MemInfo`].
    Load "load",
    /// Store. Operands: value, address. Word 1: [`MemInfo`].
    Store "store",
    /// Memory fence. Word 1: [`MemInfo`].
    Fence "fence",
    /// Compare and exchange. Operands: address, expected, new. Word 1: [`MemInfo`].
    CmpXchg "cmpxchg",
    /// Atomic read-modify-write. Operands: address, value. Sub-opcode: [`RmwOp`]. Word 1:
    /// [`MemInfo`].
    AtomicRmw "atomicrmw",
    /// Address computation. Operands: base, indices. Word 0: source element type.
    GetElementPtr "getelementptr",
    /// Truncation.
    Trunc "trunc",
    /// Zero extension.
    ZExt "zext",
    /// Sign extension.
    SExt "sext",
    /// Floating point to unsigned.
    FpToUi "fptoui",
    /// Floating point to signed.
    FpToSi "fptosi",
    /// Unsigned to floating point.
    UiToFp "uitofp",
    /// Signed to floating point.
    SiToFp "sitofp",
    /// Floating-point truncation.
    FpTrunc "fptrunc",
    /// Floating-point extension.
    FpExt "fpext",
    /// Pointer to integer.
    PtrToInt "ptrtoint",
    /// The address part of a pointer.
    PtrToAddr "ptrtoaddr",
    /// Integer to pointer.
    IntToPtr "inttoptr",
    /// Same bits, other type.
    BitCast "bitcast",
    /// Pointer to another address space.
    AddrSpaceCast "addrspacecast",
    /// Clean-up funclet. Operands: parent pad, then arguments.
    CleanupPad "cleanuppad",
    /// Catch funclet. Operands: the catch switch, then arguments.
    CatchPad "catchpad",
    /// Integer comparison. Sub-opcode: [`IntPredicate`].
    ICmp "icmp",
    /// Floating-point comparison. Sub-opcode: [`FloatPredicate`].
    FCmp "fcmp",
    /// Choice by incoming edge. Operands: all values, then all incoming blocks.
    Phi "phi",
    /// Choice by condition. Operands: condition, value if true, value if false.
    Select "select",
    /// Call. Operands: arguments, operands of the bundles in order, callee. Word 0: index of the
    /// [`CallInfo`].
    Call "call",
    /// Next variable argument. Operands: the list.
    VaArg "va_arg",
    /// One lane. Operands: vector, index.
    ExtractElement "extractelement",
    /// Replace a lane. Operands: vector, element, index.
    InsertElement "insertelement",
    /// Permute lanes. Operands: two vectors and the constant mask (a vector of `i32`).
    ShuffleVector "shufflevector",
    /// One member. Operands: aggregate. Words: start and length in [`crate::Body::indices`].
    ExtractValue "extractvalue",
    /// Replace a member. Operands: aggregate, value. Words: start and length in
    /// [`crate::Body::indices`].
    InsertValue "insertvalue",
    /// Exception landing pad. Operands: clauses. Words: start and length in
    /// [`crate::Body::indices`], 1 = filter.
    LandingPad "landingpad",
    /// Stop the spread of undef and poison.
    Freeze "freeze",
}

impl Opcode {
    /// Whether this ends a block.
    #[inline]
    pub const fn is_terminator(self) -> bool {
        (self as u8) <= (Opcode::Unreachable as u8)
    }

    /// Whether this is a two-operand arithmetic or bitwise operation.
    #[inline]
    pub const fn is_binary(self) -> bool {
        (self as u8) >= (Opcode::Add as u8) && (self as u8) <= (Opcode::Xor as u8)
    }

    /// Whether this is a conversion.
    #[inline]
    pub const fn is_cast(self) -> bool {
        (self as u8) >= (Opcode::Trunc as u8) && (self as u8) <= (Opcode::AddrSpaceCast as u8)
    }

    /// Whether this has a callee, arguments and a [`CallInfo`].
    #[inline]
    pub const fn is_call(self) -> bool {
        matches!(self, Opcode::Call | Opcode::Invoke | Opcode::CallBr)
    }
}

/// Flag bits of an instruction. Which bits mean what depends on the opcode, as the constants say.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct InstFlags(pub u16);

impl InstFlags {
    /// No flags.
    pub const NONE: InstFlags = InstFlags(0);
    /// Fast math: `reassoc`.
    pub const REASSOC: InstFlags = InstFlags(1 << 0);
    /// Fast math: `nnan`.
    pub const NNAN: InstFlags = InstFlags(1 << 1);
    /// Fast math: `ninf`.
    pub const NINF: InstFlags = InstFlags(1 << 2);
    /// Fast math: `nsz`.
    pub const NSZ: InstFlags = InstFlags(1 << 3);
    /// Fast math: `arcp`.
    pub const ARCP: InstFlags = InstFlags(1 << 4);
    /// Fast math: `contract`.
    pub const CONTRACT: InstFlags = InstFlags(1 << 5);
    /// Fast math: `afn`.
    pub const AFN: InstFlags = InstFlags(1 << 6);
    /// All fast-math flags: `fast`.
    pub const FAST: InstFlags = InstFlags((1 << 7) - 1);
    /// Integer operations, `trunc`, `getelementptr`: `nuw`.
    pub const NUW: InstFlags = InstFlags(1 << 7);
    /// Integer operations, `trunc`: `nsw`.
    pub const NSW: InstFlags = InstFlags(1 << 8);
    /// Divisions and right shifts: `exact`.
    pub const EXACT: InstFlags = InstFlags(1 << 9);
    /// `or`: `disjoint`.
    pub const DISJOINT: InstFlags = InstFlags(1 << 10);
    /// `zext`, `uitofp`: `nneg`.
    pub const NNEG: InstFlags = InstFlags(1 << 11);
    /// `icmp`: `samesign`.
    pub const SAME_SIGN: InstFlags = InstFlags(1 << 12);
    /// `getelementptr`: `inbounds` (implies `nusw`).
    pub const INBOUNDS: InstFlags = InstFlags(1 << 13);
    /// `getelementptr`: `nusw`.
    pub const NUSW: InstFlags = InstFlags(1 << 14);
    /// Memory operations: `volatile`.
    pub const VOLATILE: InstFlags = InstFlags(1 << 7);
    /// Loads and stores: `atomic`.
    pub const ATOMIC: InstFlags = InstFlags(1 << 8);
    /// `cmpxchg`: `weak`.
    pub const WEAK: InstFlags = InstFlags(1 << 9);
    /// `alloca`: `inalloca`.
    pub const IN_ALLOCA: InstFlags = InstFlags(1 << 10);
    /// `alloca`: `swifterror`.
    pub const SWIFT_ERROR: InstFlags = InstFlags(1 << 11);
    /// Calls: `tail`.
    pub const TAIL: InstFlags = InstFlags(1 << 12);
    /// Calls: `musttail`.
    pub const MUST_TAIL: InstFlags = InstFlags(1 << 13);
    /// Calls: `notail`.
    pub const NO_TAIL: InstFlags = InstFlags(1 << 14);
    /// `landingpad`: `cleanup`. `catchswitch`: has an unwind successor.
    pub const CLEANUP: InstFlags = InstFlags(1 << 15);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn contains(self, other: InstFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: InstFlags) -> InstFlags {
        InstFlags(self.0 | other.0)
    }

    /// The fast-math bits.
    pub const fn fast_math(self) -> InstFlags {
        InstFlags(self.0 & Self::FAST.0)
    }
}

impl std::ops::BitOrAssign for InstFlags {
    fn bitor_assign(&mut self, other: InstFlags) {
        self.0 |= other.0;
    }
}

impl std::fmt::Debug for InstFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

text_enum! {
    /// Predicates of `icmp`.
    IntPredicate {
        Eq "eq", Ne "ne", Ugt "ugt", Uge "uge", Ult "ult", Ule "ule", Sgt "sgt", Sge "sge", Slt "slt", Sle "sle",
    }
}

impl IntPredicate {
    /// Whether the predicate holds for two numbers whose unsigned and signed comparisons give these
    /// results.
    #[must_use]
    pub fn holds(self, unsigned: std::cmp::Ordering, signed: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => unsigned.is_eq(),
            Self::Ne => unsigned.is_ne(),
            Self::Ugt => unsigned.is_gt(),
            Self::Uge => unsigned.is_ge(),
            Self::Ult => unsigned.is_lt(),
            Self::Ule => unsigned.is_le(),
            Self::Sgt => signed.is_gt(),
            Self::Sge => signed.is_ge(),
            Self::Slt => signed.is_lt(),
            Self::Sle => signed.is_le(),
        }
    }

    /// The unsigned predicate of the same comparison.
    #[must_use]
    pub const fn unsigned(self) -> Self {
        match self {
            Self::Slt => Self::Ult,
            Self::Sle => Self::Ule,
            Self::Sgt => Self::Ugt,
            Self::Sge => Self::Uge,
            other => other,
        }
    }
}

text_enum! {
    /// Predicates of `fcmp`.
    FloatPredicate {
        False "false", Oeq "oeq", Ogt "ogt", Oge "oge", Olt "olt", Ole "ole", One "one", Ord "ord",
        Ueq "ueq", Ugt "ugt", Uge "uge", Ult "ult", Ule "ule", Une "une", Uno "uno", True "true",
    }
}

text_enum! {
    /// Operations of `atomicrmw`.
    RmwOp {
        Xchg "xchg", Add "add", Sub "sub", And "and", Nand "nand", Or "or", Xor "xor", Max "max", Min "min",
        UMax "umax", UMin "umin", FAdd "fadd", FSub "fsub", FMax "fmax", FMin "fmin", FMaximum "fmaximum",
        FMinimum "fminimum", UIncWrap "uinc_wrap", UDecWrap "udec_wrap", USubCond "usub_cond", USubSat "usub_sat",
    }
}

text_enum! {
    /// Memory orderings; the first stands for "not atomic".
    Ordering {
        NotAtomic "", Unordered "unordered", Monotonic "monotonic", Acquire "acquire", Release "release",
        AcqRel "acq_rel", SeqCst "seq_cst",
    }
}

/// Alignment, orderings and scope of a memory operation, packed into one word.
///
/// Bits 0-5: log2 of the alignment plus one (0: not stated); 6-8: ordering; 9-11: ordering on
/// failure; 12-31: symbol of the scope.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct MemInfo(u32);

impl MemInfo {
    /// No alignment stated, not atomic, system scope.
    pub const PLAIN: MemInfo = MemInfo(0);

    /// Unpacks a word made by [`MemInfo::raw`].
    pub const fn from_raw(raw: u32) -> Self {
        MemInfo(raw)
    }

    /// The packed word.
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// With an alignment in bytes, which must be a power of two of at most 2^32.
    #[must_use]
    pub fn with_align(self, align: Option<u64>) -> Self {
        debug_assert!(
            align.is_none_or(|a| a.is_power_of_two() && a <= 1 << 32),
            "no alignment: {align:?}"
        );
        // The mask keeps even an invalid alignment from overwriting the neighbouring fields.
        let code = align.map_or(0, |a| (a.trailing_zeros() + 1) & 0x3f);
        MemInfo(self.0 & !0x3f | code)
    }

    /// With orderings; `failure` is for `cmpxchg` only.
    #[must_use]
    pub fn with_orderings(self, success: Ordering, failure: Ordering) -> Self {
        MemInfo(self.0 & !0xfc0 | (success as u32) << 6 | (failure as u32) << 9)
    }

    /// With a synchronisation scope. None when the scope's symbol has a number beyond 2^20.
    #[must_use]
    pub fn with_scope(self, scope: SyncScope) -> Option<Self> {
        (scope.0.raw() < 1 << 20).then(|| MemInfo(self.0 & 0xfff | scope.0.raw() << 12))
    }

    /// The stated alignment in bytes.
    #[inline]
    pub fn align(self) -> Option<u64> {
        (self.0 & 0x3f).checked_sub(1).map(|log| 1 << log)
    }

    /// The ordering (of success).
    #[inline]
    pub fn ordering(self) -> Ordering {
        Ordering::from_number((self.0 >> 6 & 7) as u8)
    }

    /// The ordering on failure of a `cmpxchg`.
    pub fn failure_ordering(self) -> Ordering {
        Ordering::from_number((self.0 >> 9 & 7) as u8)
    }

    /// The synchronisation scope.
    pub fn scope(self) -> SyncScope {
        SyncScope(Symbol::from_raw(self.0 >> 12))
    }
}

impl std::fmt::Debug for MemInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemInfo")
            .field("align", &self.align())
            .field("ordering", &self.ordering())
            .field("failure", &self.failure_ordering())
            .field("scope", &self.scope())
            .finish()
    }
}

/// A run of operands in [`crate::Body`]'s pool.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OperandRange {
    /// First entry.
    pub start: u32,
    /// Number of entries.
    pub len: u32,
}

/// One instruction: 24 bytes. Operands are in the body's pool, successors in the function's flow.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct InstData {
    /// Which operation.
    pub opcode: Opcode,
    /// Predicate of comparisons, operation of `atomicrmw`; else 0.
    pub sub: u8,
    /// Flags.
    pub flags: InstFlags,
    /// Type of the result; `void` when there is none.
    pub ty: Type,
    /// Operands.
    pub operands: OperandRange,
    /// Two more words, as each opcode says.
    pub words: [u32; 2],
}

impl InstData {
    /// Alignment, orderings and scope of a memory operation.
    #[inline]
    pub fn mem(&self) -> MemInfo {
        MemInfo::from_raw(self.words[1])
    }

    /// Allocated type of an `alloca`, source element type of a `getelementptr`.
    pub fn element_type(&self) -> Type {
        Type::from_raw(self.words[0])
    }

    /// Predicate of an `icmp`.
    pub fn int_predicate(&self) -> IntPredicate {
        IntPredicate::from_number(self.sub)
    }

    /// Predicate of an `fcmp`.
    pub fn float_predicate(&self) -> FloatPredicate {
        FloatPredicate::from_number(self.sub)
    }

    /// Operation of an `atomicrmw`.
    pub fn rmw_op(&self) -> RmwOp {
        RmwOp::from_number(self.sub)
    }
}

/// What calls of one shape share: function type, convention, attributes, bundles.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CallInfo {
    /// Type of the callee.
    pub function_type: Type,
    /// Calling convention.
    pub call_conv: CallConv,
    /// Attributes of the call site.
    pub attributes: AttrList,
    /// Number of arguments; bundle operands follow them.
    pub args: u32,
    /// Operand bundles: tag and number of operands.
    pub bundles: Box<[(Symbol, u32)]>,
}
