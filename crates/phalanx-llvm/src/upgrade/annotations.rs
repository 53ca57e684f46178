//! Upgrades `!nvvm.annotations`.
//!
//! These annotations state properties of functions for which LLVM has calling conventions and
//! attributes today:
//!
//! | annotation | becomes |
//! |---|---|
//! | `!{ptr @f, !"kernel", i32 1}` | calling convention `ptx_kernel` |
//! | `!"maxntidx"`, `!"maxntidy"`, `!"maxntidz"` | `"nvvm.maxntid"="x,y,z"` |
//! | `!"reqntidx"`, `!"reqntidy"`, `!"reqntidz"` | `"nvvm.reqntid"="x,y,z"` |
//!
//! The nodes stay where they are; reading them again changes nothing. O(annotations + functions).

use phalanx_ir::{
    CallConv, GlobalName, Module,
    attributes::{AttrSetBuilder, Attribute},
    constant::ConstKind,
};
use rustc_hash::FxHashMap;

/// What the annotations of one function say.
#[derive(Copy, Clone, Default)]
struct Annotated {
    is_kernel: bool,
    max_threads: [Option<u64>; 3],
    required_threads: [Option<u64>; 3],
}

/// Takes over what `!nvvm.annotations` says.
pub(super) fn annotations(module: &mut Module) {
    let context = &*module.context;
    let mut annotated: FxHashMap<GlobalName, Annotated> = FxHashMap::default();
    for annotation in module.metadata.nvvm_annotations(context) {
        let ConstKind::Global(name) = context.const_data(annotation.entity).kind else { continue };
        let entry = annotated.entry(name).or_default();
        match context.bytes(annotation.key) {
            b"kernel" => entry.is_kernel |= annotation.value == 1,
            b"maxntidx" => entry.max_threads[0] = Some(annotation.value),
            b"maxntidy" => entry.max_threads[1] = Some(annotation.value),
            b"maxntidz" => entry.max_threads[2] = Some(annotation.value),
            b"reqntidx" => entry.required_threads[0] = Some(annotation.value),
            b"reqntidy" => entry.required_threads[1] = Some(annotation.value),
            b"reqntidz" => entry.required_threads[2] = Some(annotation.value),
            _ => {}
        }
    }
    if annotated.is_empty() {
        return;
    }
    for function in &mut module.functions {
        let Some(entry) = annotated.get(&function.header.name) else { continue };
        if entry.is_kernel {
            function.header.call_conv = CallConv::PTX_KERNEL;
        }
        let attributes = context.function_attrs(function.header.attributes);
        let mut builder = AttrSetBuilder::from_set(attributes);
        for (key, sizes) in
            [("nvvm.maxntid", entry.max_threads), ("nvvm.reqntid", entry.required_threads)]
        {
            let Some(last) = sizes.iter().rposition(Option::is_some) else { continue };
            let sizes: Vec<String> =
                sizes[..=last].iter().map(|size| size.unwrap_or(1).to_string()).collect();
            let value = context.symbol(sizes.join(",").as_bytes());
            builder.add(Attribute::Text(context.symbol(key.as_bytes()), Some(value)));
        }
        let set = builder.finish(context);
        function.header.attributes = context.with_function_attrs(function.header.attributes, set);
    }
}
