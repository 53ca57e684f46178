//! Types, by content.

use crate::symbol::Symbol;

/// An interned type. Equal ids mean equal types, within one [`crate::Context`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Type(u32);

/// How an identified structure type is referred to: `%name` or `%3`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StructName {
    /// `%name`
    Named(Symbol),
    /// `%3`
    Numbered(u32),
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeKind {
    /// `void`
    Void,
    /// `half`: IEEE 16 bit.
    Half,
    /// `bfloat`: brain float, 16 bit.
    BFloat,
    /// `float`: IEEE 32 bit.
    Float,
    /// `double`: IEEE 64 bit.
    Double,
    /// `x86_fp80`
    X86Fp80,
    /// `fp128`: IEEE 128 bit.
    Fp128,
    /// `ppc_fp128`
    PpcFp128,
    /// `label`: a basic block.
    Label,
    /// `metadata`
    Metadata,
    /// `token`
    Token,
    /// `x86_amx`
    X86Amx,
    /// `i<bits>`
    Int(u32),
    /// `ptr addrspace(n)`
    Ptr(u32),
    /// `[len x elem]`
    Array {
        /// Element type.
        elem: Type,
        /// Number of elements.
        len: u64,
    },
    /// `<len x elem>` or `<vscale x len x elem>`
    Vector {
        /// Element type.
        elem: Type,
        /// Number of elements, or its multiple of `vscale`.
        len: u32,
        /// Whether the length is a multiple of `vscale`.
        scalable: bool,
    },
    /// `{ .. }` or `<{ .. }>`
    Struct {
        /// Without padding.
        packed: bool,
        /// Field types.
        fields: Box<[Type]>,
    },
    /// An identified structure; its body is in the module that defines it.
    Named(StructName),
    /// A function type.
    Function {
        /// Return type.
        ret: Type,
        /// Parameter types.
        params: Box<[Type]>,
        /// Whether further arguments may follow.
        vararg: bool,
    },
    /// `target("name", types.., ints..)`
    Target {
        /// The quoted name.
        name: Symbol,
        /// Type parameters.
        types: Box<[Type]>,
        /// Integer parameters.
        ints: Box<[u32]>,
    },
}

macro_rules! predefined {
    ($($(#[$doc:meta])* $name:ident = $kind:expr;)*) => {
        predefined!(@consts 0u32; $($(#[$doc])* $name)*);
        impl TypeKind {
            /// The kinds every context numbers first, in this order.
            pub(crate) fn predefined() -> Vec<TypeKind> {
                vec![$($kind),*]
            }
        }
    };
    (@consts $n:expr; $(#[$doc:meta])* $name:ident $($rest:tt)*) => {
        impl Type { $(#[$doc])* pub const $name: Type = Type($n); }
        predefined!(@consts $n + 1; $($rest)*);
    };
    (@consts $n:expr;) => {};
}

predefined! {
    /// `void`
    VOID = TypeKind::Void;
    /// `half`
    HALF = TypeKind::Half;
    /// `bfloat`
    BFLOAT = TypeKind::BFloat;
    /// `float`
    FLOAT = TypeKind::Float;
    /// `double`
    DOUBLE = TypeKind::Double;
    /// `x86_fp80`
    X86_FP80 = TypeKind::X86Fp80;
    /// `fp128`
    FP128 = TypeKind::Fp128;
    /// `ppc_fp128`
    PPC_FP128 = TypeKind::PpcFp128;
    /// `label`
    LABEL = TypeKind::Label;
    /// `metadata`
    METADATA = TypeKind::Metadata;
    /// `token`
    TOKEN = TypeKind::Token;
    /// `x86_amx`
    X86_AMX = TypeKind::X86Amx;
    /// `i1`
    I1 = TypeKind::Int(1);
    /// `i8`
    I8 = TypeKind::Int(8);
    /// `i16`
    I16 = TypeKind::Int(16);
    /// `i32`
    I32 = TypeKind::Int(32);
    /// `i64`
    I64 = TypeKind::Int(64);
    /// `i128`
    I128 = TypeKind::Int(128);
    /// `ptr`
    PTR = TypeKind::Ptr(0);
    /// `ptr addrspace(1)`
    PTR1 = TypeKind::Ptr(1);
    /// `ptr addrspace(2)`
    PTR2 = TypeKind::Ptr(2);
    /// `ptr addrspace(3)`
    PTR3 = TypeKind::Ptr(3);
    /// `ptr addrspace(4)`
    PTR4 = TypeKind::Ptr(4);
    /// `ptr addrspace(5)`
    PTR5 = TypeKind::Ptr(5);
    /// `ptr addrspace(6)`
    PTR6 = TypeKind::Ptr(6);
    /// `ptr addrspace(7)`
    PTR7 = TypeKind::Ptr(7);
    /// `ptr addrspace(8)`
    PTR8 = TypeKind::Ptr(8);
    /// `ptr addrspace(9)`
    PTR9 = TypeKind::Ptr(9);
}

impl Type {
    /// The type with this number in its context.
    pub const fn from_raw(raw: u32) -> Self {
        Type(raw)
    }

    /// The number in the context.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

impl TypeKind {
    /// Whether this is one of the floating-point types.
    pub fn is_float(&self) -> bool {
        matches!(
            self,
            TypeKind::Half
                | TypeKind::BFloat
                | TypeKind::Float
                | TypeKind::Double
                | TypeKind::X86Fp80
                | TypeKind::Fp128
                | TypeKind::PpcFp128
        )
    }

    /// How many bits an integer or a floating-point number has.
    pub fn number_bits(&self) -> Option<u32> {
        Some(match *self {
            TypeKind::Int(bits) => bits,
            TypeKind::Half | TypeKind::BFloat => 16,
            TypeKind::Float => 32,
            TypeKind::Double => 64,
            TypeKind::X86Fp80 => 80,
            TypeKind::Fp128 | TypeKind::PpcFp128 => 128,
            _ => return None,
        })
    }

    /// The address space of a pointer type.
    pub fn address_space(&self) -> Option<u32> {
        match self {
            TypeKind::Ptr(space) => Some(*space),
            _ => None,
        }
    }
}

/// The body of an identified structure.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StructBody {
    /// `type opaque`
    Opaque,
    /// `type { .. }` or `type <{ .. }>`
    Fields {
        /// Without padding.
        packed: bool,
        /// Field types.
        fields: Box<[Type]>,
    },
}
