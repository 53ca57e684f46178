//! The [`Context`]: everything that is interned once and shared by modules and functions.
//!
//! Types, constants, symbols and attribute lists are identified by content: equal content means
//! equal id, within one context. Reading a module again into the same context therefore yields the
//! same ids for what did not change, which is what lets a database replace only the functions that
//! differ.

use crate::{
    attributes::{AttrList, AttrListData, AttrSet, AttrSetData},
    constant::{Const, ConstData, ConstKind, Int, canonical},
    intern::Interner,
    metadata,
    symbol::{Symbol, SyncScope},
    types::{Type, TypeKind},
};

/// The shared, append-only tables. Cheap to look up from any thread; see [`crate::intern`].
#[derive(Debug)]
pub struct Context {
    symbols: Interner<Box<[u8]>>,
    types: Interner<TypeKind>,
    constants: Interner<ConstData>,
    attr_sets: Interner<AttrSetData>,
    attr_lists: Interner<AttrListData>,
}

impl Context {
    /// A context that holds the predefined types and symbols only.
    pub fn new() -> Self {
        let context = Context {
            symbols: Interner::new(),
            types: Interner::new(),
            constants: Interner::new(),
            attr_sets: Interner::new(),
            attr_lists: Interner::new(),
        };
        for (number, kind) in TypeKind::predefined().into_iter().enumerate() {
            let ty = context.type_of_kind(&kind);
            debug_assert_eq!(ty.raw() as usize, number, "predefined types are numbered in order");
        }
        for (number, name) in SyncScope::PREDEFINED.iter().enumerate() {
            let symbol = context.symbol(name.as_bytes());
            debug_assert_eq!(symbol.raw() as usize, number);
        }
        for (number, name) in (metadata::kind::FIRST..).zip(metadata::kind::FIXED) {
            let symbol = context.symbol(name.as_bytes());
            debug_assert_eq!(symbol.raw(), number, "fixed metadata kinds are numbered in order");
        }
        let empty_set = context.attr_set(&AttrSetData::default());
        debug_assert_eq!(empty_set, AttrSet::EMPTY);
        let empty_list = context.attr_list(&AttrListData::default());
        debug_assert_eq!(empty_list, AttrList::EMPTY);
        context
    }

    /// Interns a name or other byte string.
    pub fn symbol(&self, bytes: &[u8]) -> Symbol {
        Symbol::from_raw(self.symbols.intern_with(bytes, |b: &[u8]| Box::<[u8]>::from(b)))
    }

    /// The symbol of these bytes if it exists already.
    pub fn find_symbol(&self, bytes: &[u8]) -> Option<Symbol> {
        self.symbols.find(bytes).map(Symbol::from_raw)
    }

    /// The bytes of a symbol.
    #[inline]
    pub fn bytes(&self, symbol: Symbol) -> &[u8] {
        self.symbols.get(symbol.raw())
    }

    /// The symbol as text, with invalid UTF-8 replaced. For messages and look-ups of ASCII names.
    pub fn text(&self, symbol: Symbol) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.bytes(symbol))
    }

    /// Interns a type.
    pub fn type_of_kind(&self, kind: &TypeKind) -> Type {
        Type::from_raw(self.types.intern(kind))
    }

    /// What a type is.
    #[inline]
    pub fn type_kind(&self, ty: Type) -> &TypeKind {
        self.types.get(ty.raw())
    }

    /// Whether vectors can hold values of this kind.
    pub fn is_vector_element(&self, kind: &TypeKind) -> bool {
        match kind {
            TypeKind::Int(_) | TypeKind::Ptr(_) => true,
            // The one target type that LLVM allows it for.
            TypeKind::Target { name, .. } => self.bytes(*name) == b"llvm.test.vectorelement",
            _ => kind.is_float(),
        }
    }

    /// The integer type `i<bits>`.
    pub fn int_type(&self, bits: u32) -> Type {
        match bits {
            1 => Type::I1,
            8 => Type::I8,
            16 => Type::I16,
            32 => Type::I32,
            64 => Type::I64,
            128 => Type::I128,
            _ => self.type_of_kind(&TypeKind::Int(bits)),
        }
    }

    /// The pointer type of an address space.
    pub fn ptr_type(&self, address_space: u32) -> Type {
        match address_space {
            0..=9 => Type::from_raw(Type::PTR.raw() + address_space),
            _ => self.type_of_kind(&TypeKind::Ptr(address_space)),
        }
    }

    /// Interns a constant, in its canonical form: see [`ConstKind`].
    pub fn constant(&self, ty: Type, kind: ConstKind) -> Const {
        let data = ConstData { ty, kind: canonical(self, ty, kind) };
        Const::from_raw(self.constants.intern(&data))
    }

    /// What a constant is.
    #[inline]
    pub fn const_data(&self, constant: Const) -> &ConstData {
        self.constants.get(constant.raw())
    }

    /// The integer constant of type `ty` with the low bits of `value`.
    pub fn int_const(&self, ty: Type, value: u64) -> Const {
        let bits = match self.type_kind(ty) {
            TypeKind::Int(bits) => *bits,
            _ => 64,
        };
        self.constant(ty, ConstKind::Int(Int::from_u64(bits, value)))
    }

    /// How many constants there are: numbers below it are valid.
    pub fn const_count(&self) -> usize {
        self.constants.len()
    }

    /// How many types there are: numbers below it are valid.
    pub fn type_count(&self) -> usize {
        self.types.len()
    }

    /// How many symbols there are: numbers below it are valid.
    pub fn symbol_count(&self) -> usize {
        self.symbols.len()
    }

    /// How many attribute lists there are: numbers below it are valid.
    pub fn attr_list_count(&self) -> usize {
        self.attr_lists.len()
    }

    /// How many sets of attributes there are: numbers below it are valid.
    pub fn attr_set_count(&self) -> usize {
        self.attr_sets.len()
    }

    /// Interns a set of attributes.
    pub fn attr_set(&self, data: &AttrSetData) -> AttrSet {
        AttrSet::from_raw(self.attr_sets.intern(data))
    }

    /// The attributes of a set.
    #[inline]
    pub fn attr_set_data(&self, set: AttrSet) -> &AttrSetData {
        self.attr_sets.get(set.raw())
    }

    /// Interns an attribute list (function, return value, parameters).
    pub fn attr_list(&self, data: &AttrListData) -> AttrList {
        AttrList::from_raw(self.attr_lists.intern(data))
    }

    /// The sets of an attribute list.
    #[inline]
    pub fn attr_list_data(&self, list: AttrList) -> &AttrListData {
        self.attr_lists.get(list.raw())
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}
