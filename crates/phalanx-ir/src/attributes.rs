//! Attributes of functions, return values, parameters, calls and globals.

use crate::{symbol::Symbol, types::Type};

/// An interned set of attributes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AttrSet(u32);

/// An interned attribute list: one set for the function, one for its result, one per parameter.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AttrList(u32);

impl AttrSet {
    /// No attributes.
    pub const EMPTY: AttrSet = AttrSet(0);

    /// The set with this number in its context.
    pub const fn from_raw(raw: u32) -> Self {
        AttrSet(raw)
    }

    /// The number in the context.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

impl AttrList {
    /// No attributes anywhere.
    pub const EMPTY: AttrList = AttrList(0);

    /// The list with this number in its context.
    pub const fn from_raw(raw: u32) -> Self {
        AttrList(raw)
    }

    /// The number in the context.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

/// One attribute.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Attribute {
    /// `"key"` or `"key"="value"`
    Text(Symbol, Option<Symbol>),
    /// `byval(type)` and the like: keyword and type.
    Type(Symbol, Type),
}

/// The attributes of a set, sorted, without duplicates.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct AttrSetData {
    /// Sorted.
    pub attributes: Box<[Attribute]>,
}

/// The sets of a list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AttrListData {
    /// Of the function or call itself.
    pub function: AttrSet,
    /// Of the result.
    pub ret: AttrSet,
    /// Of the parameters; trailing empty sets are left out.
    pub params: Box<[AttrSet]>,
}

impl Default for AttrListData {
    fn default() -> Self {
        AttrListData { function: AttrSet::EMPTY, ret: AttrSet::EMPTY, params: Box::default() }
    }
}
