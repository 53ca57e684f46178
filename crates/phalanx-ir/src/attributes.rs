//! Attributes of functions, return values, parameters, calls and globals.
//!
//! A set of attributes and a list of sets (function, result, parameters) are interned: most
//! functions and calls of a module share a few of them, and a handle is four bytes. A set is
//! canonical: attributes are sorted as they are printed (keywords by [`AttrKind`], then strings by
//! their bytes), and there is one per kind and key, the last one that was added. A bit mask of the
//! kinds makes [`AttrSetData::has`] a test of one bit.
//!
//! Sets are made with [`AttrSetBuilder`]; read with [`Context::attr_set_data`] and the accessors
//! below.

mod kind;
mod payload;

use std::cmp::Ordering;

pub use self::{
    kind::{AttrKind, Payload, Positions},
    payload::{
        ALLOC_KINDS, Access, AllocSize, CaptureComponents, Captures, FP_CLASSES, MemoryEffects,
        MemoryLocation, UnwindTable, VScaleRange,
    },
};
use crate::{constant::Const, context::Context, symbol::Symbol, types::Type};

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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Attribute {
    /// A keyword alone.
    Enum(AttrKind),
    /// A keyword and a type.
    Type(AttrKind, Type),
    /// A keyword and a number; accessors of [`AttrSetData`] unpack it.
    Int(AttrKind, u64),
    /// A keyword and a range of integers of one type: from the first up to, not including, the
    /// second.
    Range(AttrKind, Const, Const),
    /// A keyword and ranges of byte offsets, ascending and disjoint.
    Ranges(AttrKind, Box<[(i64, i64)]>),
    /// `"key"` or `"key"="value"`; an empty value counts as none.
    Text(Symbol, Option<Symbol>),
}

impl Attribute {
    /// The keyword's kind; none for a string.
    pub fn kind(&self) -> Option<AttrKind> {
        match *self {
            Attribute::Enum(kind)
            | Attribute::Type(kind, _)
            | Attribute::Int(kind, _)
            | Attribute::Range(kind, ..)
            | Attribute::Ranges(kind, _) => Some(kind),
            Attribute::Text(..) => None,
        }
    }
}

/// The attributes of a set, in the order they are printed, one per kind and key.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct AttrSetData {
    mask: u128,
    attributes: Box<[Attribute]>,
}

impl AttrSetData {
    /// All attributes, in the order they are printed.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Whether an attribute of this kind is present. O(1).
    pub fn has(&self, kind: AttrKind) -> bool {
        self.mask & kind.bit() != 0
    }

    /// The attribute of this kind. O(1).
    pub fn get(&self, kind: AttrKind) -> Option<&Attribute> {
        // Kinds are sorted, so the number of smaller kinds present is the position.
        self.has(kind)
            .then(|| &self.attributes[(self.mask & (kind.bit() - 1)).count_ones() as usize])
    }

    fn int(&self, kind: AttrKind) -> Option<u64> {
        match self.get(kind) {
            Some(&Attribute::Int(_, value)) => Some(value),
            _ => None,
        }
    }

    /// The type an attribute such as `byval` or `sret` names.
    pub fn type_of(&self, kind: AttrKind) -> Option<Type> {
        match self.get(kind) {
            Some(&Attribute::Type(_, ty)) => Some(ty),
            _ => None,
        }
    }

    /// `align`: bytes.
    pub fn align(&self) -> Option<u64> {
        self.int(AttrKind::Align)
    }

    /// `alignstack`: bytes.
    pub fn stack_align(&self) -> Option<u64> {
        self.int(AttrKind::StackAlign)
    }

    /// `dereferenceable`: bytes, at least one.
    pub fn dereferenceable(&self) -> Option<u64> {
        self.int(AttrKind::Dereferenceable)
    }

    /// `dereferenceable_or_null`: bytes, at least one.
    pub fn dereferenceable_or_null(&self) -> Option<u64> {
        self.int(AttrKind::DereferenceableOrNull)
    }

    /// `memory(..)`; none when not stated, which means [`MemoryEffects::UNKNOWN`].
    pub fn memory(&self) -> Option<MemoryEffects> {
        self.int(AttrKind::Memory).map(MemoryEffects::from_raw)
    }

    /// `captures(..)`; none when not stated, which means [`Captures::ALL`].
    pub fn captures(&self) -> Option<Captures> {
        self.int(AttrKind::Captures).map(Captures::from_raw)
    }

    /// `nofpclass(..)`: bits as in [`FP_CLASSES`].
    pub fn no_fp_class(&self) -> u16 {
        self.int(AttrKind::NoFpClass).unwrap_or(0) as u16
    }

    /// `allocsize(..)`
    pub fn alloc_size(&self) -> Option<AllocSize> {
        self.int(AttrKind::AllocSize).map(AllocSize::from_raw)
    }

    /// `vscale_range(..)`
    pub fn vscale_range(&self) -> Option<VScaleRange> {
        self.int(AttrKind::VScaleRange).map(VScaleRange::from_raw)
    }

    /// `range(type low, high)`: two constants of that type; equal ones stand for every value.
    pub fn range(&self) -> Option<(Const, Const)> {
        match self.get(AttrKind::Range) {
            Some(&Attribute::Range(_, low, high)) => Some((low, high)),
            _ => None,
        }
    }

    /// `initializes(..)`
    pub fn initializes(&self) -> &[(i64, i64)] {
        match self.get(AttrKind::Initializes) {
            Some(Attribute::Ranges(_, ranges)) => ranges,
            _ => &[],
        }
    }

    /// The string attributes, by key.
    pub fn texts(&self) -> impl Iterator<Item = (Symbol, Option<Symbol>)> + '_ {
        self.attributes[self.mask.count_ones() as usize..].iter().filter_map(|attribute| {
            match *attribute {
                Attribute::Text(key, value) => Some((key, value)),
                _ => None,
            }
        })
    }

    /// Whether a string attribute with this key is present.
    pub fn has_text(&self, key: Symbol) -> bool {
        self.texts().any(|(k, _)| k == key)
    }

    /// The value of a string attribute; none when there is no value.
    pub fn text(&self, key: Symbol) -> Option<Symbol> {
        self.texts().find(|&(k, _)| k == key).and_then(|(_, value)| value)
    }
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

impl AttrListData {
    /// A list, trailing empty sets of parameters dropped.
    pub fn new(function: AttrSet, ret: AttrSet, params: &[AttrSet]) -> Self {
        let len = params.iter().rposition(|&set| set != AttrSet::EMPTY).map_or(0, |last| last + 1);
        AttrListData { function, ret, params: params[..len].into() }
    }

    /// The set of a parameter.
    pub fn param(&self, position: usize) -> AttrSet {
        self.params.get(position).copied().unwrap_or(AttrSet::EMPTY)
    }
}

impl Default for AttrListData {
    fn default() -> Self {
        AttrListData { function: AttrSet::EMPTY, ret: AttrSet::EMPTY, params: Box::default() }
    }
}

impl Context {
    /// Attributes of the function or call that a list is for.
    pub fn function_attrs(&self, list: AttrList) -> &AttrSetData {
        self.attr_set_data(self.attr_list_data(list).function)
    }

    /// Attributes of the result.
    pub fn return_attrs(&self, list: AttrList) -> &AttrSetData {
        self.attr_set_data(self.attr_list_data(list).ret)
    }

    /// Attributes of a parameter.
    pub fn param_attrs(&self, list: AttrList, position: usize) -> &AttrSetData {
        self.attr_set_data(self.attr_list_data(list).param(position))
    }

    /// The value of a string attribute of a function: `Some(b"")` when it is present without one.
    pub fn function_attr_text(&self, list: AttrList, key: &str) -> Option<&[u8]> {
        let set = self.function_attrs(list);
        let key = self.find_symbol(key.as_bytes())?;
        match set.text(key) {
            Some(value) => Some(self.bytes(value)),
            None => set.has_text(key).then_some(&[]),
        }
    }

    /// The list with another set for the function or call itself.
    pub fn with_function_attrs(&self, list: AttrList, function: AttrSet) -> AttrList {
        let data = self.attr_list_data(list);
        if data.function == function {
            return list;
        }
        self.attr_list(&AttrListData { function, ..data.clone() })
    }
}

/// Collects attributes into a set. The last one of a kind or key wins.
#[derive(Clone, Debug, Default)]
pub struct AttrSetBuilder {
    mask: u128,
    /// In the order of addition. Replaced attributes are dropped by `finish`, so that adding stays
    /// O(1).
    attributes: Vec<Attribute>,
}

impl AttrSetBuilder {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The attributes of a set.
    pub fn from_set(data: &AttrSetData) -> Self {
        AttrSetBuilder { mask: data.mask, attributes: data.attributes.to_vec() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Whether an attribute of this kind is present.
    pub fn has(&self, kind: AttrKind) -> bool {
        self.mask & kind.bit() != 0
    }

    /// Adds an attribute, in place of one of the same kind or key.
    pub fn add(&mut self, attribute: Attribute) {
        self.mask |= attribute.kind().map_or(0, AttrKind::bit);
        self.attributes.push(attribute);
    }

    /// Adds all attributes of a set.
    pub fn add_all(&mut self, data: &AttrSetData) {
        self.mask |= data.mask;
        self.attributes.extend_from_slice(&data.attributes);
    }

    /// Removes the attribute of this kind.
    pub fn remove(&mut self, kind: AttrKind) {
        self.attributes.retain(|a| a.kind() != Some(kind));
        self.mask &= !kind.bit();
    }

    /// Removes the string attribute with this key and returns it.
    pub fn remove_text(&mut self, key: Symbol) -> Option<Attribute> {
        let is_it = |attribute: &Attribute| matches!(attribute, Attribute::Text(k, _) if *k == key);
        let last = self.attributes.iter().rfind(|a| is_it(a)).cloned()?;
        self.attributes.retain(|a| !is_it(a));
        Some(last)
    }

    /// The attribute of this kind.
    pub fn get(&self, kind: AttrKind) -> Option<&Attribute> {
        self.attributes.iter().rfind(|a| a.kind() == Some(kind))
    }

    /// The set. O(n log n).
    pub fn finish(mut self, context: &Context) -> AttrSet {
        if self.is_empty() {
            return AttrSet::EMPTY;
        }
        // After the reversal, the last attribute of a kind or key comes first among its equals and
        // is kept.
        self.attributes.reverse();
        self.attributes.sort_by(|a, b| match (a, b) {
            (Attribute::Text(a, _), Attribute::Text(b, _)) => {
                context.bytes(*a).cmp(context.bytes(*b))
            }
            (Attribute::Text(..), _) => Ordering::Greater,
            (_, Attribute::Text(..)) => Ordering::Less,
            _ => a.kind().cmp(&b.kind()),
        });
        self.attributes.dedup_by(|later, kept| match (later, kept) {
            (Attribute::Text(a, _), Attribute::Text(b, _)) => a == b,
            (a, b) => a.kind().is_some() && a.kind() == b.kind(),
        });
        context.attr_set(&AttrSetData { mask: self.mask, attributes: self.attributes.into() })
    }
}

#[cfg(test)]
mod tests;
