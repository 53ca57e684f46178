//! Giants: the kernels of the manifest, one after the other many times, inlined into one function
//! by LLVM.
//!
//! Giants are like the result of inlining in a compiler: thousands of real loops with loop-carried
//! values, barriers, tiles in workgroup memory, and all stack slots of unoptimized code in one
//! block. Every other integer argument of a kernel is loaded from memory that the kernel before it
//! wrote to, so that the kernels depend on each other.
//!
//! # How
//!
//! Each kernel is read, made an ordinary function that is always inlined, and written again. A
//! kernel `@giant`, made with the builder, has all parameters of these functions and calls one
//! after the other. `llvm-link-22` links the parts, and `opt-22` inlines; a few functions remain,
//! which are recursive or called by their address. No cleanup follows: each kernel keeps the form
//! of its optimization level.
//!
//! Results are cached like the compiled kernels themselves, under a name with a fingerprint of the
//! inputs.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context as _, bail};
use phalanx_ir::{
    CallConv, Context, FunctionHeader, InstBuilder, Module, Type, TypeKind, Value,
    attributes::{AttrKind, AttrSetBuilder, Attribute},
    builder::{FunctionSpec, ModuleBuilder},
    module::{Linkage, Visibility},
};
use phalanx_testing::llvm_tools::{self, Program};

use crate::kernels::{Manifest, Variant};

/// The name of the function.
pub const NAME: &str = "giant";

/// All kernels of a target at a level, repeated this many times, as a file in `folder`: some
/// thousand instructions for each repetition. None if LLVM is not installed, which is reported.
///
/// # Errors
/// A kernel does not compile or cannot be read, or LLVM refuses what is made of it.
pub fn giant(
    manifest: &Manifest,
    (target, level): (&str, &str),
    rounds: usize,
    folder: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let (Some(compiler), Some(link), Some(opt)) =
        (manifest.compiler(), llvm_tools::require("llvm-link"), llvm_tools::require("opt"))
    else {
        return Ok(None);
    };
    let context = Arc::new(Context::new());
    let is_wanted = |v: &Variant| !v.debug && v.target == target && v.level == level;
    let mut parts = Vec::new();
    let mut kernels = Vec::new();
    for variant in manifest.variants().into_iter().filter(is_wanted) {
        let file = manifest.compile(&compiler, &variant, folder)?;
        let parsed = phalanx_llvm::parse_module(Arc::clone(&context), &fs::read(&file)?);
        let mut module = parsed.map_err(|error| anyhow::anyhow!("{error:?}"))?.module;
        kernels.extend(make_callable(&mut module));
        parts.push((variant.name().to_owned(), module));
    }
    let Some((_, first)) = parts.first() else {
        bail!("no kernel is compiled for {target} at {level}")
    };
    let caller = caller(first, &kernels, rounds).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    parts.push((NAME.to_owned(), caller));
    let texts: Vec<(String, Vec<u8>)> = parts
        .into_iter()
        .map(|(name, module)| (name, phalanx_llvm::print_module(&module)))
        .collect();
    let fingerprint = fxhash::hash64(&texts);
    let name = format!("{NAME}.{target}.{}.{rounds}.{fingerprint:016x}", level.trim_matches('-'));
    let output = folder.join(format!("{name}.ll"));
    if !output.is_file() {
        inline(&link, &opt, &texts, &folder.join(name), &output)?;
    }
    Ok(Some(output))
}

/// Makes functions of kernels, has everything inlined, and says which were kernels.
fn make_callable(module: &mut Module) -> Vec<FunctionHeader> {
    let context = Arc::clone(&module.context);
    let mut kernels = Vec::new();
    for function in module.functions.iter_mut().filter(|function| !function.is_declaration()) {
        let header = &mut function.header;
        let set = context.function_attrs(header.attributes);
        let mut attributes = AttrSetBuilder::from_set(set);
        attributes.remove(AttrKind::NoInline);
        attributes.remove(AttrKind::OptimizeNone);
        attributes.add(Attribute::Enum(AttrKind::AlwaysInline));
        header.attributes =
            context.with_function_attrs(header.attributes, attributes.finish(&context));
        header.visibility = Visibility::Default;
        header.comdat = None;
        if [CallConv::AMDGPU_KERNEL, CallConv::PTX_KERNEL].contains(&header.call_conv) {
            kernels.push(header.clone());
            header.call_conv = CallConv::C;
            header.linkage = Linkage::External;
        } else {
            header.linkage = Linkage::Internal;
        }
    }
    kernels
}

/// A module with a kernel that calls all of these in turn, for the target of another one.
fn caller(
    like: &Module,
    kernels: &[FunctionHeader],
    rounds: usize,
) -> Result<Module, phalanx_ir::BuildError> {
    let context = &like.context;
    let mut builder = ModuleBuilder::new(Arc::clone(context));
    if let Some(triple) = like.triple {
        builder.set_triple(&context.text(triple));
    }
    if let Some(layout) = like.data_layout {
        builder.set_data_layout(&context.text(layout));
    }
    let mut callees = Vec::new();
    let mut spec = FunctionSpec::new(Type::VOID);
    for kernel in kernels {
        let name = kernel.name.symbol().map(|name| context.text(name).into_owned());
        let own = FunctionSpec::new(Type::VOID).params(&kernel.params);
        callees.push(builder.declare_function_with(&name.unwrap_or_default(), &own)?);
        spec = spec.params(&kernel.params);
    }
    // The attributes of the target and the launch are those of the first kernel.
    if let Some(first) = kernels.first() {
        let own = context.function_attrs(first.attributes);
        let mut kept = AttrSetBuilder::new();
        let texts = own.attributes().iter().filter(|a| matches!(a, Attribute::Text(..)));
        texts.for_each(|attribute| kept.add(attribute.clone()));
        let attributes =
            context.with_function_attrs(phalanx_ir::AttrList::EMPTY, kept.finish(context));
        spec = spec.call_conv(first.call_conv).attributes(attributes);
    }
    let mut f = builder.define_function(NAME, &spec)?;
    let entry = f.block("entry");
    f.switch_to(entry);
    let mut written: Option<Value> = None;
    for call in 0..rounds * kernels.len() {
        let number = call % kernels.len();
        let before: usize = kernels[..number].iter().map(|kernel| kernel.params.len()).sum();
        let mut arguments = Vec::new();
        for (position, &ty) in kernels[number].params.iter().enumerate() {
            let own = f.arg((before + position) as u32);
            let is_integer = matches!(context.type_kind(ty), TypeKind::Int(_));
            arguments.push(match written {
                Some(address) if is_integer && (call + position) % 2 == 0 => f.load(ty, address)?,
                _ => own,
            });
        }
        f.call(callees[number], &arguments)?;
        let is_global = |ty: &Type| matches!(context.type_kind(*ty), TypeKind::Ptr(0 | 1));
        if let Some(last) = kernels[number].params.iter().rposition(is_global) {
            written = Some(f.arg((before + last) as u32));
        }
    }
    f.ret_void()?;
    f.finish()?;
    builder.finish()
}

/// Links texts and inlines all functions into the giant.
fn inline(
    link: &Program,
    opt: &Program,
    texts: &[(String, Vec<u8>)],
    work: &Path,
    output: &Path,
) -> anyhow::Result<()> {
    static TICKET: AtomicUsize = AtomicUsize::new(0);
    // Another process may create the same file at this time.
    let ticket = TICKET.fetch_add(1, Ordering::Relaxed);
    let work = work.with_added_extension(format!("{}.{ticket}", std::process::id()));
    fs::create_dir_all(&work)?;
    let mut files = Vec::new();
    for (name, text) in texts {
        let file = work.join(format!("{name}.ll"));
        fs::write(&file, text)?;
        files.push(file);
    }
    let linked = work.join("linked.ll");
    let outcome =
        link.run([&["-S".into(), "-o".into(), linked.clone()], &files[..]].concat(), &[])?;
    if !outcome.success() {
        bail!("the kernels cannot be linked: {}", outcome.errors());
    }
    let inlined = work.join("inlined.ll");
    let passes = "-passes=internalize,always-inline,globaldce";
    let kept = format!("-internalize-public-api-list={NAME}");
    let arguments = ["-S", passes, &kept, "-o"].map(PathBuf::from);
    let outcome = opt.run([&arguments[..], &[inlined.clone(), linked]].concat(), &[])?;
    if !outcome.success() {
        bail!("the kernels cannot be inlined: {}", outcome.errors());
    }
    fs::rename(&inlined, output).with_context(|| format!("cannot make {}", output.display()))?;
    fs::remove_dir_all(&work)?;
    Ok(())
}
