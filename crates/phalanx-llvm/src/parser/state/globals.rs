//! Parser state: variables, functions and other names of the module.

use std::borrow::Cow;

use phalanx_ir::{
    BlockId, Const, GlobalName, Symbol, Type,
    module::{DllStorage, GlobalIndex, Linkage, Visibility},
};
use rustc_hash::FxHashMap;

use super::attributes::FnAttrs;
use crate::{error::Span, lexer::Token};

/// The known names of a module.
#[derive(Default)]
pub(crate) struct GlobalState<'a> {
    pub(in crate::parser) named: FxHashMap<Cow<'a, [u8]>, u32>,
    pub(in crate::parser) numbered: FxHashMap<u32, u32>,
    pub(in crate::parser) entries: Vec<GlobalEntry>,
    pub(in crate::parser) next_number: u32,
    pub(in crate::parser) comdats: FxHashMap<Symbol, Comdat>,
    /// Slots by function and block.
    pub(in crate::parser) block_addresses: FxHashMap<(GlobalName, Label<'a>), u32>,
    /// Slots that wait for the body of a function.
    pub(in crate::parser) waiting: FxHashMap<GlobalName, Vec<WaitingLabel>>,
    /// Blocks by name, of functions that are complete; built on demand.
    pub(in crate::parser) labels: FxHashMap<usize, FxHashMap<Box<[u8]>, BlockId>>,
    /// Globals that summaries for link-time optimisation name.
    pub(in crate::parser) summarized: Vec<(Symbol, Span)>,
    /// Operands of `dso_local_equivalent`.
    pub(crate) must_be_functions: Vec<(GlobalName, Span)>,
    /// Calls of functions that are not declared so far: for the entry of the written name and the
    /// entry that is called, the place of the last such call.
    pub(in crate::parser) undeclared_calls: FxHashMap<(u32, u32), u32>,
    /// Calls whose callee turned out to be another function: the entry and its constant, the type
    /// of the calls, and the actual callee.
    pub(in crate::parser) renamed: Vec<(usize, Const, Type, Const)>,
    /// Old intrinsics that are called with several types: the entry of the name, the type, and its
    /// entry.
    pub(in crate::parser) old_calls: Vec<(usize, Type, usize)>,
    /// How many functions the text has; functions behind them are intrinsics without a declaration.
    pub(in crate::parser) written_functions: usize,
    /// Attributes of variables that name groups.
    pub(crate) waiting_attributes: Vec<(usize, FnAttrs)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(in crate::parser) enum Label<'a> {
    Named(Cow<'a, [u8]>),
    Numbered(u32),
}

/// A `blockaddress` whose block is not known yet.
pub(crate) struct WaitingLabel {
    pub(in crate::parser) slot: u32,
    /// The label.
    pub(crate) label: Token,
    /// The type the constant was given, and where the function is named.
    pub(crate) ty: Type,
    pub(crate) span: Span,
}

#[derive(Copy, Clone, Default)]
pub(in crate::parser) struct Comdat {
    pub(in crate::parser) mention: Span,
    pub(in crate::parser) defined: bool,
}

pub(in crate::parser) struct GlobalEntry {
    pub(in crate::parser) name: GlobalName,
    /// The type of its address.
    pub(in crate::parser) ty: Type,
    pub(in crate::parser) constant: Const,
    /// Where it was first mentioned.
    pub(in crate::parser) mention: Span,
    pub(in crate::parser) definition: Option<GlobalIndex>,
    /// The function type it is called with, when all its mentions are such calls.
    pub(in crate::parser) called_as: Option<Type>,
}

/// What stands before a global of any kind.
pub(crate) struct Preamble {
    pub(crate) linkage: Linkage,
    /// Where a linkage is written.
    pub(crate) linkage_span: Option<Span>,
    pub(crate) visibility: Visibility,
    pub(crate) dll: DllStorage,
    pub(crate) dso_local: Option<bool>,
}
