//! Translates names of the module to names of the program that was compiled.
//!
//! | in the module | in the program |
//! |---|---|
//! | `_Z6reduceIfLi64EEvPKT_PS0_i` | `reduce<float, 64>` |
//! | `__clang_ocl_kern_imp_scan` | `scan` |
//! | `llvm.nvvm.shfl.sync.down.f32` | `__shfl_down_sync` |
//!
//! Debug information has priority: it has names with template arguments, as they were written.
//! Names without debug information are demangled. For operations the source has priority: the word
//! at the call is the user's own (see [`LinedText::called_at`]).
//!
//! [`LinedText::called_at`]: crate::source::LinedText::called_at

use phalanx_db::{Database, FunctionInput, ModuleInput};
use phalanx_ir::{
    GlobalName,
    metadata::{Field, MetadataId, MetadataValue, NodeKind, kind},
};

use crate::source::OPENCL_BODY;

/// How many scopes are looked at from a place to its function.
const SCOPES: usize = 64;

/// The name of a function in its program, by its name in the module.
#[must_use]
pub fn demangled(symbol: &str) -> String {
    if let Some(kernel) = symbol.strip_prefix(OPENCL_BODY) {
        return kernel.to_owned();
    }
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    if !symbol.starts_with("_Z") {
        return symbol.to_owned();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let name = cpp_demangle::Symbol::new(symbol).ok();
    name.and_then(|name| name.demangle_with_options(&options).ok())
        .unwrap_or_else(|| symbol.to_owned())
}

/// The name of a function of a module in its program.
#[must_use]
pub fn source_name(db: &Database, function: FunctionInput) -> String {
    let GlobalName::Named(symbol) = function.header(db).name else {
        return symbol_name(db, function.module(db), function.header(db).name);
    };
    let module = function.module(db);
    let symbol = module.context(db).text(symbol);
    // In C++ only the symbol has the namespaces and classes around a name.
    let full = demangled(&symbol);
    match debug_name(db, function) {
        Some(name) if full == symbol || !full.contains("::") => name,
        _ => full,
    }
}

/// The name that debug information has.
fn debug_name(db: &Database, function: FunctionInput) -> Option<String> {
    let module = function.module(db);
    let mut attached = function.header(db).metadata.iter();
    let node = attached.find(|attached| attached.kind == kind::DBG)?.node;
    let metadata = &module.shell(db).metadata;
    let symbol = metadata.field(node, Field::Name).and_then(MetadataValue::as_string)?;
    Some(module.context(db).text(symbol).into_owned())
}

/// Whether debug information names a copy of a function that was inlined into another one.
/// O(metadata).
pub(super) fn has_inlined_copy(db: &Database, function: FunctionInput) -> bool {
    let metadata = &function.module(db).shell(db).metadata;
    let mut attached = function.header(db).metadata.iter();
    let Some(own) = attached.find(|attached| attached.kind == kind::DBG) else { return false };
    let node = |of, field| metadata.field(of, field).and_then(MetadataValue::as_node);
    let is_of_own = |location: MetadataId| {
        let mut scope = node(location, Field::Scope);
        for _ in 0..SCOPES {
            match scope {
                Some(at) if at != own.node => scope = node(at, Field::Scope),
                found => return found.is_some(),
            }
        }
        false
    };
    let is_inlined = |location: &MetadataId| {
        metadata.node_kind(*location) == NodeKind::Location
            && node(*location, Field::InlinedAt).is_some()
    };
    metadata.ids().filter(is_inlined).any(is_of_own)
}

/// The name in the module.
#[must_use]
pub fn symbol_name(db: &Database, module: ModuleInput, name: GlobalName) -> String {
    match name {
        GlobalName::Named(symbol) => module.context(db).text(symbol).into_owned(),
        GlobalName::Numbered(number) => number.to_string(),
    }
}

/// What CUDA calls the operation of an intrinsic.
pub(super) fn of_intrinsic(intrinsic: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 21] = [
        ("shfl.sync.idx", "__shfl_sync"),
        ("shfl.sync.up", "__shfl_up_sync"),
        ("shfl.sync.down", "__shfl_down_sync"),
        ("shfl.sync.bfly", "__shfl_xor_sync"),
        ("vote.any.sync", "__any_sync"),
        ("vote.all.sync", "__all_sync"),
        ("vote.uni.sync", "__uni_sync"),
        ("vote.ballot.sync", "__ballot_sync"),
        ("match.any.sync", "__match_any_sync"),
        ("match.all.sync", "__match_all_sync"),
        ("redux.sync.add", "__reduce_add_sync"),
        ("redux.sync.min", "__reduce_min_sync"),
        ("redux.sync.max", "__reduce_max_sync"),
        ("redux.sync.umin", "__reduce_min_sync"),
        ("redux.sync.umax", "__reduce_max_sync"),
        ("redux.sync.and", "__reduce_and_sync"),
        ("redux.sync.or", "__reduce_or_sync"),
        ("redux.sync.xor", "__reduce_xor_sync"),
        ("bar.warp.sync", "__syncwarp"),
        ("activemask", "__activemask"),
        ("barrier.cta.sync.aligned.all", "__syncthreads"),
    ];
    let name = intrinsic.strip_prefix("llvm.nvvm.")?;
    NAMES.iter().find(|(start, _)| name.starts_with(start)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs() {
        for (symbol, name) in [
            ("_Z6reduceIfLi64EEvPKT_PS0_i", "reduce<float, 64>"),
            ("_ZN12_GLOBAL__N_15helloEPi", "(anonymous namespace)::hello"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("__clang_ocl_kern_imp_scan", "scan"),
            ("saxpy", "saxpy"),
            ("_Zbroken", "_Zbroken"),
        ] {
            assert_eq!(demangled(symbol), name);
        }
        assert_eq!(of_intrinsic("llvm.nvvm.shfl.sync.down.i32"), Some("__shfl_down_sync"));
        assert_eq!(of_intrinsic("llvm.amdgcn.s.barrier"), None);
    }
}
