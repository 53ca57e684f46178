//! What is read of a module as a whole: its target, the layout of its types, its functions by name.
//!
//! Small projections of high durability, which stay equal when what they leave out changes.

use std::sync::Arc;

use phalanx_ir::{
    GlobalName, attributes::AttrList, constant::ConstKind, module::Linkage, verify::ModuleIndex,
};
use phalanx_target::Target;
use rustc_hash::FxHashMap;

use crate::{FunctionInput, ModuleInput};

use phalanx_analysis::code::TypeLayout;
use salsa::Database as Db;

/// The target of a module: the driver's triple and processor, or else the module's own.
///
/// *Reads* `shell`, `overrides`, `extension`. *Changes when* the triple or the processor do, or
/// what a driver says of its own target. *Cost* O(1).
#[salsa::tracked(returns(ref))]
pub fn target(db: &dyn Db, module: ModuleInput) -> Target {
    let overrides = module.overrides(db);
    let own = module.shell(db).triple.map(|triple| module.context(db).text(triple).into_owned());
    let triple = overrides.triple.clone().or(own).unwrap_or_default();
    Target::new(&triple, overrides.cpu.as_deref().unwrap_or_default())
        .described(module.extension(db).machine())
}

/// Other names of entities: aliases that no other module can replace, each with the entity that it
/// resolves to.
///
/// *Reads* `shell`. *Changes when* an alias does. *Cost* O(aliases).
#[salsa::tracked(returns(ref))]
pub(crate) fn aliases(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, GlobalName> {
    let (context, all) = (module.context(db), &module.shell(db).aliases);
    let named = |target| match context.const_data(target).kind {
        ConstKind::Global(name) => Some(name),
        _ => None,
    };
    let kept =
        |linkage| matches!(linkage, Linkage::External | Linkage::Internal | Linkage::Private);
    let direct: FxHashMap<GlobalName, GlobalName> = (all.iter())
        .filter(|alias| kept(alias.linkage) && !alias.is_ifunc)
        .filter_map(|alias| Some((alias.name, named(alias.target)?)))
        .collect();
    let end = |mut name: GlobalName| {
        // The verifier refuses those that stand for themselves; a module need not have been
        // verified.
        for _ in 0..=direct.len() {
            match direct.get(&name) {
                Some(&next) => name = next,
                None => return Some(name),
            }
        }
        None
    };
    let is_replaced = |name: &GlobalName| all.iter().any(|a| a.name == *name);
    let ends = direct.keys().filter_map(|&name| Some((name, end(name)?)));
    ends.filter(|(_, end)| !is_replaced(end)).collect()
}

/// Functions of a module by name, those of [`aliases`] included.
///
/// *Reads* `functions`, [`aliases`]. *Changes when* a function or an alias of one is added or
/// removed. *Cost* O(functions).
#[salsa::tracked(returns(ref))]
pub fn symbols(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, FunctionInput> {
    let entries = module.functions(db).iter().map(|entry| (entry.name, entry.input));
    let mut symbols: FxHashMap<GlobalName, FunctionInput> = entries.collect();
    for (&name, end) in aliases(db, module) {
        if let Some(&function) = symbols.get(end) {
            symbols.insert(name, function);
        }
    }
    symbols
}

/// Where the entities of a module are, by name: what the rules of instructions look at.
///
/// *Reads* `shell`, `functions`. *Changes when* an entity is added or removed. *Cost* O(entities).
#[salsa::tracked(returns(ref))]
pub fn module_index(db: &dyn Db, module: ModuleInput) -> ModuleIndex {
    let functions = module.functions(db).iter().map(|entry| entry.name);
    ModuleIndex::with_functions(module.shell(db), functions)
}

/// Attributes of the functions of a module, by name.
///
/// *Reads* [`symbols`], headers. *Changes when* a function is added or removed, or changes its
/// attributes. *Cost* O(functions).
#[salsa::tracked(returns(ref))]
pub(crate) fn function_attributes(
    db: &dyn Db,
    module: ModuleInput,
) -> FxHashMap<GlobalName, AttrList> {
    let functions = symbols(db, module).iter();
    functions.map(|(&name, function)| (name, function.header(db).attributes)).collect()
}

/// Sizes of types: the data layout of a module and the bodies of its structures.
///
/// *Reads* `shell`. *Changes when* the data layout or a structure does. *Cost* O(structures).
#[salsa::tracked(returns(ref))]
pub fn type_layout(db: &dyn Db, module: ModuleInput) -> Arc<TypeLayout> {
    Arc::new(TypeLayout::of(module.shell(db)))
}
