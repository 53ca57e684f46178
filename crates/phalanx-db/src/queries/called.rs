//! The functions that are called by name, and their attributes.

use std::sync::Arc;

use phalanx_ir::{GlobalName, InstId, attributes::AttrList, constant::ConstKind};
use rustc_hash::FxHashMap;

use super::code::code;
use super::depends_on::{Changed, DependsOn, is_call};
use crate::FunctionInput;
use crate::queries::module::{function_attributes, symbols};
use crate::retained::{answers::KeptNames, counted_multiset::CountedMultiset, place::Updated};

use salsa::Database as Db;

/// Functions that a function calls by name, sorted, with their attributes.
///
/// *Reads* `header`, `flow`, `body`, [`symbols`], headers of the callees. *Changes when* a callee
/// appears, goes, or changes its attributes. *Cost* O(instructions); of a large function after an
/// edit that of the edit, and O(callees).
#[salsa::tracked(returns(ref))]
pub fn callees(db: &dyn Db, function: FunctionInput) -> Vec<(GlobalName, AttrList)> {
    let names = called(db, function);
    let symbols = symbols(db, function.module(db));
    let attributes = |name: &GlobalName| Some((*name, symbols.get(name)?.header(db).attributes));
    names.iter().filter_map(attributes).collect()
}

/// What a function calls by name, sorted. Not a query.
pub(super) fn called(db: &dyn Db, function: FunctionInput) -> Arc<[GlobalName]> {
    let code = code(db, function);
    let name = |inst: InstId| {
        let callee = code.body.inst(inst).opcode.is_call().then(|| code.body.const_callee(inst))?;
        match code.context.const_data(callee?).kind {
            ConstKind::Global(name) => Some(name),
            _ => None,
        }
    };
    let make = || KeptNames::new(CountedMultiset::new(code, name));
    if !function.is_large(db) {
        return make().names;
    }
    let update = |kept: &mut KeptNames, Changed { own, .. }: Changed<'_>| {
        if own.is_empty() {
            return Updated::Same;
        }
        if kept.counted_multiset.look_again(code, own, name) {
            let counted_multiset = std::mem::take(&mut kept.counted_multiset);
            *kept = KeptNames::new(counted_multiset);
        }
        Updated::CHANGED
    };
    let slot = &function.retained(db).large().callees;
    let names = |kept: &KeptNames| Arc::clone(&kept.names);
    // Nothing else is read.
    slot.update((db, function), 0, DependsOn::Instruction(is_call), update, make, names)
}

/// Attributes of functions, by name.
#[derive(Clone, Copy)]
pub(super) enum Attributes<'a> {
    /// Of these, sorted.
    Of(&'a [(GlobalName, AttrList)]),
    /// Of these or of those, both sorted.
    Either(&'a [(GlobalName, AttrList)], &'a [(GlobalName, AttrList)]),
    /// Of all of the module.
    All(&'a FxHashMap<GlobalName, AttrList>),
}

impl Attributes<'_> {
    pub(super) fn of(self, name: GlobalName) -> Option<AttrList> {
        let find = |list: &[(GlobalName, AttrList)]| {
            let found = list.binary_search_by_key(&name, |&(name, _)| name).ok()?;
            Some(list[found].1)
        };
        match self {
            Attributes::Of(list) => find(list),
            Attributes::Either(these, those) => find(these).or_else(|| find(those)),
            Attributes::All(map) => map.get(&name).copied(),
        }
    }
}

/// The attributes of the functions that a function calls. In a large function, an edit does not
/// tell which ones these are, and a search would cost more than the repair that needs them; so
/// there the result has all functions of the module. Not a query.
///
/// *Reads* [`callees`] or [`function_attributes`].
pub(super) fn attributes_of_callees(db: &dyn Db, function: FunctionInput) -> Attributes<'_> {
    match function.is_large(db) {
        true => Attributes::All(function_attributes(db, function.module(db))),
        false => Attributes::Of(callees(db, function)),
    }
}

/// Our own rules look at no attributes of callees.
pub(super) const NO_CALLEES: &[(GlobalName, AttrList)] = &[];
