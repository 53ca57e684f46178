//! What names say: functions that a module declares and that are known by name (OpenCL's, SPIR-V's,
//! CUDA's, HIP's), and kernels that functions of the module call.

use std::{collections::BTreeSet, sync::Arc};

use phalanx_analysis::lower::Library;
use phalanx_ir::{GlobalName, module::GlobalVariable};
use phalanx_target::{
    Architecture,
    address_space::AddressSpace,
    calling_convention::{self, Entry},
    library::{Language, built_in_variable},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{aliases, target};
use crate::ModuleInput;

use salsa::Database as Db;

/// Functions that a module declares and that are known by name, none that it defines; and
/// [`called_kernels`].
///
/// *Reads* `functions`, `context`, `extension`, [`target`], [`language`], [`called_kernels`], and
/// of SPIR-V [`built_in_spaces`]. *Changes when* such a declaration appears, goes or gets a body,
/// the module becomes one of another language, or a kernel is called first or no longer. *Cost*
/// O(functions).
#[salsa::tracked(returns(ref))]
pub fn library(db: &dyn Db, module: ModuleInput) -> Arc<Library> {
    let (context, architecture) = (module.context(db), target(db, module).architecture());
    let declared = module.functions(db).iter().filter(|entry| !entry.is_definition);
    let declared = declared.map(|entry| entry.name);
    let written = (architecture, language(db, module));
    let library = Library::new(context, written, module.extension(db), declared)
        .with_called_kernels(called_kernels(db, module).keys().copied().collect());
    Arc::new(match architecture {
        Architecture::Spirv => {
            let spaces = built_in_spaces(db, module).iter();
            library.with_built_in_spaces(spaces.map(|&space| AddressSpace::of(architecture, space)))
        }
        _ => library,
    })
}

/// Address spaces of SPIR-V's variables that tell a thread where it is, sorted.
///
/// *Reads* `context`, `shell`. *Changes when* the first variable of a space appears, or the last
/// one goes. *Cost* O(variables).
#[salsa::tracked(returns(ref))]
pub(crate) fn built_in_spaces(db: &dyn Db, module: ModuleInput) -> Vec<u32> {
    let context = module.context(db);
    let is_built_in = |variable: &&GlobalVariable| {
        let name = variable.name.symbol().map(|name| context.bytes(name));
        name.is_some_and(|name| built_in_variable(name).is_some())
    };
    let variables = module.shell(db).variables.iter().filter(is_built_in);
    let spaces: BTreeSet<u32> = variables.map(|variable| variable.address_space).collect();
    spaces.into_iter().collect()
}

/// What a module was written in.
///
/// *Reads* `shell`. *Changes when* the module becomes one of another language. *Cost* O(named
/// metadata).
#[salsa::tracked(returns(copy))]
pub(crate) fn language(db: &dyn Db, module: ModuleInput) -> Language {
    let (context, shell) = (module.context(db), module.shell(db));
    let named = || shell.metadata.named().iter();
    Language::of_metadata(|name| named().any(|named| context.bytes(named.name) == name))
}

/// Kernels that functions of the module call: these are functions as well, to which other things
/// are passed than at a launch. With each whether all calls of it are by name.
///
/// *Reads* `functions`, `mentions` and headers of functions, [`aliases`], [`target`]. *Changes
/// when* a kernel is called first or no longer. *Cost* O(functions + calls), where there are
/// kernels.
#[salsa::tracked(returns(ref))]
pub(crate) fn called_kernels(db: &dyn Db, module: ModuleInput) -> FxHashMap<GlobalName, bool> {
    let architecture = target(db, module).architecture();
    let definitions = || module.functions(db).iter().filter(|entry| entry.is_definition);
    let is_kernel = |convention| calling_convention::entry(convention, architecture) != Entry::Call;
    let kernels: FxHashSet<GlobalName> = definitions()
        .filter(|entry| is_kernel(entry.input.header(db).call_conv))
        .map(|entry| entry.name)
        .collect();
    if kernels.is_empty() {
        return FxHashMap::default();
    }
    let aliases = aliases(db, module);
    let called = definitions().flat_map(|entry| entry.input.mentions(db).callees());
    let called = called.map(|name| *aliases.get(name).unwrap_or(name));
    let mut found: FxHashMap<GlobalName, bool> =
        called.filter(|name| kernels.contains(name)).map(|name| (name, true)).collect();
    if !found.is_empty() {
        let taken = definitions().flat_map(|entry| entry.input.mentions(db).taken());
        for name in taken.map(|name| *aliases.get(&name).unwrap_or(&name)) {
            found.entry(name).and_modify(|by_name| *by_name = false);
        }
    }
    found
}
