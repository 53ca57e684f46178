//! What facts about memory read of the functions that are called, of variables, and of attachments.
//!
//! Each is a small projection of inputs of high durability, independent of the body. So a function
//! with retained facts does not search its instructions for calls after an edit. Callees are known
//! from [`Mentions`](crate::Mentions). These leave out intrinsics; a module declares few of them,
//! so each query covers all intrinsics of the module.

use phalanx_analysis::code::TypeSizes;
use phalanx_ir::{
    GlobalName, InstId, Symbol, attributes::AttrList, metadata::MetadataId, module::GlobalVariable,
};
use phalanx_target::{AddressSpace, SpaceKind};

use super::called::Attributes;
use super::{symbols, target, type_layout};
use crate::{FunctionInput, ModuleInput};

use salsa::Database as Db;

/// Functions by name, sorted, and what is known of each.
pub(super) type ByName<T> = Vec<(GlobalName, T)>;

/// Intrinsics that a module declares, sorted.
///
/// *Reads* `functions`. *Changes when* one comes or goes. *Cost* O(functions).
#[salsa::tracked(returns(ref))]
pub(super) fn intrinsics(db: &dyn Db, module: ModuleInput) -> ByName<FunctionInput> {
    let context = module.context(db);
    let is_intrinsic = |name: GlobalName| {
        name.symbol().is_some_and(|symbol| context.bytes(symbol).starts_with(b"llvm."))
    };
    let entries = module.functions(db).iter().filter(|entry| is_intrinsic(entry.name));
    let mut found: Vec<_> = entries.map(|entry| (entry.name, entry.input)).collect();
    found.sort_unstable_by_key(|(name, _)| *name);
    found
}

/// Nodes of metadata that are one string, with it, in a module that reads registers, which it names
/// so; sorted.
///
/// *Reads* `functions`, and `shell` if a register is read. *Changes when* such a node comes or
/// goes. *Cost* O(functions + nodes).
#[salsa::tracked(returns(ref))]
pub(super) fn register_names(db: &dyn Db, module: ModuleInput) -> Vec<(MetadataId, Symbol)> {
    let context = module.context(db);
    let is_reading = |(name, _): &(GlobalName, FunctionInput)| {
        let name = name.symbol().map(|symbol| context.bytes(symbol));
        name.is_some_and(|name| name.starts_with(b"llvm.read_register"))
    };
    if !intrinsics(db, module).iter().any(is_reading) {
        return Vec::new();
    }
    let metadata = &module.shell(db).metadata;
    let string = |node| {
        let single = metadata.element(node, 0).filter(|_| metadata.values(node).len() == 1)?;
        Some((node, single.as_string()?))
    };
    metadata.ids().filter_map(string).collect()
}

/// Functions that a function calls by name, sorted; intrinsics are left out.
pub(super) fn called(
    db: &dyn Db,
    function: FunctionInput,
) -> impl Iterator<Item = (GlobalName, FunctionInput)> {
    let symbols = symbols(db, function.module(db));
    let names = function.mentions(db).callees().iter().copied();
    names.filter_map(|name| Some((name, *symbols.get(&name)?)))
}

/// Attributes of the intrinsics of a module.
///
/// *Reads* `functions`, headers of intrinsics. *Changes when* one comes, goes or changes its
/// attributes. *Cost* O(intrinsics).
#[salsa::tracked(returns(ref))]
fn intrinsic_attributes(db: &dyn Db, module: ModuleInput) -> ByName<AttrList> {
    let all = intrinsics(db, module).iter();
    all.map(|(name, input)| (*name, input.header(db).attributes)).collect()
}

/// Attributes of the functions that a function calls, but for intrinsics.
///
/// *Reads* `mentions`, [`symbols`], headers of the callees. *Changes when* a callee appears, goes
/// or changes its attributes. *Cost* O(calls).
#[salsa::tracked(returns(ref))]
fn called_attributes(db: &dyn Db, function: FunctionInput) -> ByName<AttrList> {
    called(db, function).map(|(name, input)| (name, input.header(db).attributes)).collect()
}

/// Attributes of all that a function calls, as [`callees`](super::callees) has them. Not a query.
pub(super) fn promises(db: &dyn Db, function: FunctionInput) -> Attributes<'_> {
    let intrinsics = intrinsic_attributes(db, function.module(db));
    Attributes::Either(called_attributes(db, function), intrinsics)
}

/// Variables of a module that never change, sorted.
///
/// *Reads* `shell`. *Changes when* one comes or goes. *Cost* O(variables).
#[salsa::tracked(returns(ref))]
pub(super) fn constant_variables(db: &dyn Db, module: ModuleInput) -> Vec<GlobalName> {
    let variables = module.shell(db).variables.iter().filter(|variable| variable.is_constant);
    let mut names: Vec<GlobalName> = variables.map(|variable| variable.name).collect();
    names.sort_unstable();
    names
}

/// Variables of workgroup memory that the module gives no place, as they have no size or are
/// defined elsewhere, sorted.
///
/// *Reads* `shell`, [`target`], [`type_layout`]. *Changes when* one comes or goes. *Cost*
/// O(variables).
#[salsa::tracked(returns(ref))]
pub(super) fn added_variables(db: &dyn Db, module: ModuleInput) -> Vec<GlobalName> {
    let (architecture, layout) = (target(db, module).architecture(), type_layout(db, module));
    let mut sizes = TypeSizes::new(module.context(db), layout);
    let is_added = |variable: &&GlobalVariable| {
        let space = AddressSpace::of(architecture, variable.address_space);
        space.kind() == SpaceKind::Workgroup
            && (variable.initializer.is_none()
                || sizes.stride(variable.ty).is_none_or(|size| size == 0))
    };
    let variables = module.shell(db).variables.iter().filter(is_added);
    let mut names: Vec<GlobalName> = variables.map(|variable| variable.name).collect();
    names.sort_unstable();
    names
}

/// Instructions that are marked `!invariant.load`, sorted.
///
/// *Reads* `marks`. *Changes when* a mark comes or goes. *Cost* O(marks).
#[salsa::tracked(returns(ref))]
pub(super) fn invariant_marks(db: &dyn Db, function: FunctionInput) -> Vec<InstId> {
    let marked = function.marks(db).iter().filter(|(_, mark)| mark.is_invariant);
    marked.map(|(inst, _)| inst).collect()
}

/// What is in one of two sorted lists only.
pub(super) fn in_one_only(a: &[InstId], b: &[InstId]) -> Vec<InstId> {
    let number = |inst: &InstId| inst.into_raw().into_u32();
    let is_in = |list: &[InstId], inst: &InstId| list.binary_search_by_key(&number(inst), number);
    let only_a = a.iter().filter(|inst| is_in(b, inst).is_err());
    only_a.chain(b.iter().filter(|inst| is_in(a, inst).is_err())).copied().collect()
}
