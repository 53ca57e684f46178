//! Keywords of the parser, numbered, with a lookup table built at compile time.
//!
//! Keywords of attributes and metadata are not included: their parsers compare bytes.

macro_rules! keywords {
    ($($name:ident $text:literal,)*) => {
        /// A word that the parser knows; [`Keyword::None`] is every other word.
        #[derive(Copy, Clone, PartialEq, Eq, Debug)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub(crate) enum Keyword { $($name,)* None }

        const TEXTS: &[&[u8]] = &[$($text.as_bytes()),*];
        const KEYWORDS: &[Keyword] = &[$(Keyword::$name),*];
    };
}

keywords! {
    // Instructions, in the order of `Opcode`.
    Ret "ret", Br "br", Switch "switch", IndirectBr "indirectbr", Invoke "invoke", CallBr "callbr",
    Resume "resume", CatchSwitch "catchswitch", CatchRet "catchret", CleanupRet "cleanupret",
    Unreachable "unreachable", FNeg "fneg", Add "add", FAdd "fadd", Sub "sub", FSub "fsub", Mul "mul",
    FMul "fmul", UDiv "udiv", SDiv "sdiv", FDiv "fdiv", URem "urem", SRem "srem", FRem "frem", Shl "shl",
    LShr "lshr", AShr "ashr", And "and", Or "or", Xor "xor", Alloca "alloca", Load "load", Store "store",
    Fence "fence", CmpXchg "cmpxchg", AtomicRmw "atomicrmw", GetElementPtr "getelementptr", Trunc "trunc",
    ZExt "zext", SExt "sext", FpToUi "fptoui", FpToSi "fptosi", UiToFp "uitofp", SiToFp "sitofp",
    FpTrunc "fptrunc", FpExt "fpext", PtrToInt "ptrtoint", PtrToAddr "ptrtoaddr", IntToPtr "inttoptr",
    BitCast "bitcast", AddrSpaceCast "addrspacecast", CleanupPad "cleanuppad", CatchPad "catchpad",
    ICmp "icmp", FCmp "fcmp", Phi "phi", Select "select", Call "call", VaArg "va_arg",
    ExtractElement "extractelement", InsertElement "insertelement", ShuffleVector "shufflevector",
    ExtractValue "extractvalue", InsertValue "insertvalue", LandingPad "landingpad", Freeze "freeze",

    // Types.
    Void "void", Half "half", BFloat "bfloat", Float "float", Double "double", X86Fp80 "x86_fp80",
    Fp128 "fp128", PpcFp128 "ppc_fp128", Label "label", Metadata "metadata", Token "token",
    X86Amx "x86_amx", Ptr "ptr", X "x", VScale "vscale", Target "target", Opaque "opaque", Type "type",

    // Constants.
    True "true", False "false", Null "null", None_ "none", Undef "undef", Poison "poison",
    ZeroInitializer "zeroinitializer", C "c", Splat "splat", BlockAddress "blockaddress",
    DsoLocalEquivalent "dso_local_equivalent", NoCfi "no_cfi", PtrAuth "ptrauth", InRange "inrange",
    Asm "asm", SideEffect "sideeffect", AlignStack "alignstack", IntelDialect "inteldialect",
    Unwind "unwind",

    // Flags of instructions.
    Nuw "nuw", Nsw "nsw", Exact "exact", Disjoint "disjoint", NNeg "nneg", SameSign "samesign",
    InBounds "inbounds", Nusw "nusw", Fast "fast", Reassoc "reassoc", NNan "nnan", NInf "ninf", Nsz "nsz",
    Arcp "arcp", Contract "contract", Afn "afn", Volatile "volatile", Atomic "atomic", Weak "weak",
    InAlloca "inalloca", SwiftError "swifterror", Tail "tail", MustTail "musttail", NoTail "notail",
    Align "align", AddrSpace "addrspace", SyncScope "syncscope", Unordered "unordered",
    Monotonic "monotonic", Acquire "acquire", Release "release", AcqRel "acq_rel", SeqCst "seq_cst",
    To "to", Within "within", From "from", Caller "caller", Cleanup "cleanup", Catch "catch",
    Filter "filter", UseListOrder "uselistorder", UseListOrderBb "uselistorder_bb",

    // Predicates.
    Eq "eq", Ne "ne", Ugt "ugt", Uge "uge", Ult "ult", Ule "ule", Sgt "sgt", Sge "sge", Slt "slt",
    Sle "sle", Oeq "oeq", Ogt "ogt", Oge "oge", Olt "olt", Ole "ole", One "one", Ord "ord", Ueq "ueq",
    Une "une", Uno "uno",

    // Module level.
    Define "define", Declare "declare", Global "global", Constant "constant", Alias "alias", Ifunc "ifunc",
    Module "module", SourceFilename "source_filename", Triple "triple", DataLayout "datalayout",
    Attributes "attributes", Comdat "comdat", Section "section", Partition "partition",
    CodeModel "code_model", Gc "gc", Prefix "prefix", Prologue "prologue", Personality "personality",
    UnnamedAddr "unnamed_addr", LocalUnnamedAddr "local_unnamed_addr",
    ExternallyInitialized "externally_initialized", ThreadLocal "thread_local", DsoLocal "dso_local",
    DsoPreemptable "dso_preemptable", DllImport "dllimport", DllExport "dllexport", Default "default",
    Hidden "hidden", Protected "protected", External "external", Private "private", Internal "internal",
    AvailableExternally "available_externally", LinkOnce "linkonce", LinkOnceOdr "linkonce_odr",
    WeakOdr "weak_odr", Appending "appending", Common "common", ExternWeak "extern_weak",
    NoSanitizeAddress "no_sanitize_address", NoSanitizeHwAddress "no_sanitize_hwaddress",
    SanitizeMemTag "sanitize_memtag", SanitizeAddressDynInit "sanitize_address_dyninit",
    Any "any", ExactMatch "exactmatch", Largest "largest", NoDeduplicate "nodeduplicate",
    SameSize "samesize", Cc "cc",
}

const SLOTS: usize = 1024;

/// Number of a word in the table; cheap, and spread well enough over these words.
const fn slot_of(word: &[u8]) -> usize {
    let len = word.len();
    let (first, middle, last) = (word[0] as usize, word[len / 2] as usize, word[len - 1] as usize);
    let second = word[if len > 1 { 1 } else { 0 }] as usize;
    (first.wrapping_mul(37)
        ^ second.wrapping_mul(401)
        ^ middle.wrapping_mul(1277)
        ^ last.wrapping_mul(83))
    .wrapping_add(len * 59)
        % SLOTS
}

/// Open addressing with linear probing: entry is one more than the keyword's number, 0 is free.
const TABLE: [u16; SLOTS] = {
    let mut table = [0u16; SLOTS];
    let mut at = 0;
    while at < TEXTS.len() {
        let mut slot = slot_of(TEXTS[at]);
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = at as u16 + 1;
        at += 1;
    }
    table
};

impl Keyword {
    /// The keyword that a non-empty word is.
    #[inline]
    pub(crate) fn of(word: &[u8]) -> Keyword {
        let mut slot = slot_of(word);
        loop {
            let Some(at) = (TABLE[slot] as usize).checked_sub(1) else { return Keyword::None };
            if TEXTS[at] == word {
                return KEYWORDS[at];
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// How it is written.
    pub(crate) fn text(self) -> &'static str {
        TEXTS
            .get(self as usize)
            .map_or("word", |text| std::str::from_utf8(text).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use phalanx_ir::Opcode;

    use super::*;

    #[test]
    fn every_keyword_is_found() {
        let mut probes = 0;
        for (&text, &keyword) in TEXTS.iter().zip(KEYWORDS) {
            assert_eq!(Keyword::of(text), keyword);
            let mut slot = slot_of(text);
            while KEYWORDS[TABLE[slot] as usize - 1] != keyword {
                slot = (slot + 1) % SLOTS;
                probes += 1;
            }
        }
        assert_eq!(Keyword::of(b"ptrx"), Keyword::None);
        assert_eq!(Keyword::of(b"z"), Keyword::None);
        assert!(probes < TEXTS.len() / 2, "{probes} extra probes for {} words", TEXTS.len());
    }

    #[test]
    fn the_first_keywords_are_the_opcodes_in_order() {
        for (at, opcode) in Opcode::ALL.iter().enumerate() {
            assert_eq!(KEYWORDS[at].text(), opcode.text());
        }
    }
}
