//! Parser state: attributes.

use phalanx_ir::{AttrSet, attributes::AttrKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Function attributes as written: explicit ones, and groups that may be defined later.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FnAttrs {
    /// Attributes that are written there.
    pub(crate) set: AttrSet,
    /// `#N`, in the order of the text.
    pub(crate) groups: SmallVec<[u32; 2]>,
    /// `align N` in a function header; elsewhere it is part of the set.
    pub(crate) align: Option<u64>,
}

/// The resolved attributes of a function header.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct HeaderAttrs {
    /// The attributes.
    pub(crate) set: AttrSet,
    /// The alignment of the function, if a group says one.
    pub(crate) align: Option<u64>,
    /// The section of the function, if an attribute says one.
    pub(crate) section: Option<phalanx_ir::Symbol>,
}

/// Attribute groups, and cached sets.
#[derive(Default)]
pub(crate) struct AttributeState {
    pub(in crate::parser) groups: FxHashMap<u32, AttrSet>,
    /// Sets of one attribute without payload, by kind: most parameters have `noundef` or nothing.
    pub(in crate::parser) single: FxHashMap<AttrKind, AttrSet>,
}

/// Where attributes that name groups belong.
#[derive(Copy, Clone, Debug)]
pub(crate) enum GroupPlace {
    /// The header of a function.
    Header,
    /// An entry of the call shapes of its body.
    Call(u32),
}
