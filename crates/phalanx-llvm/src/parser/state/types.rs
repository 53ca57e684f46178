//! Parser state: types.

use std::borrow::Cow;

use phalanx_ir::{Symbol, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Span;

/// The named types of a module.
#[derive(Default)]
pub(crate) struct TypeState<'a> {
    pub(in crate::parser) named: FxHashMap<Cow<'a, [u8]>, TypeEntry>,
    pub(in crate::parser) numbered: FxHashMap<u32, TypeEntry>,
    /// Entry of [`phalanx_ir::Module::structs`], by type.
    pub(in crate::parser) bodies: FxHashMap<Type, usize>,
    /// Types known to have a size.
    pub(in crate::parser) sized: FxHashSet<Type>,
    /// Address spaces of `alloca`, globals and functions, from the data layout: what their names in
    /// text stand for.
    pub(crate) address_spaces: AddressSpaces,
    pub(in crate::parser) frames: Vec<OpenFrame>,
    pub(in crate::parser) parts: Vec<Type>,
}

/// What a data layout says about address spaces.
#[derive(Clone, Default)]
pub(crate) struct AddressSpaces {
    pub(crate) alloca: u32,
    pub(crate) globals: u32,
    pub(crate) program: u32,
    /// Names that the layout gives.
    pub(crate) named: Vec<(Box<[u8]>, u32)>,
}

#[derive(Copy, Clone)]
pub(in crate::parser) struct TypeEntry {
    pub(in crate::parser) ty: Type,
    /// Where it was first mentioned.
    pub(in crate::parser) mention: Span,
    pub(in crate::parser) defined: bool,
}

/// An open bracket; its parts begin at `base` of the stack of parts.
#[derive(Copy, Clone)]
pub(in crate::parser) enum Frame {
    Array { len: u64 },
    Vector { len: u32, scalable: bool },
    Struct { packed: bool, base: usize },
    Params { ret: Type, base: usize },
    Target { name: Symbol, base: usize, start: u32 },
}

/// A frame, and where its current part begins.
pub(in crate::parser) struct OpenFrame {
    pub(in crate::parser) frame: Frame,
    pub(in crate::parser) part: u32,
}
