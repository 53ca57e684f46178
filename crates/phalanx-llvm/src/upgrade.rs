//! What older compilers wrote differently, brought up to date as LLVM 22 does while it reads.
//!
//! Facts are about today's intrinsics; a call of a name that is gone would be a call of nobody
//! knows what. What is upgraded here is what occurs in code for GPUs:
//!
//! | module | what |
//! |---|---|
//! | `annotations` | `!nvvm.annotations`: now calling conventions and attributes |
//! | `calls`, `rewrite`, `memory` | intrinsics that have another name or signature today, or are an instruction |
//! | `mangle` | type suffixes of the names of overloaded intrinsics |
//! | `debug` | calls of `llvm.dbg.value` and its like: now debug records |
//!
//! Older spellings of attributes are read as today's by the parser itself. What is not listed stays
//! as it is.
//!
//! A declaration whose calls have been rewritten goes; declarations that the new calls need are
//! added at the end of the module. One pass over the declarations, and over the calls only if one
//! of those is old: O(declarations), or O(size of the module).

mod annotations;
mod calls;
mod debug;
mod mangle;
mod memory;
mod rewrite;

use phalanx_ir::{
    GlobalName, Module,
    metadata::{LocalMetadata, MetadataValue, NodeBuilder, NodeKind},
};
use rustc_hash::FxHashSet;

pub(crate) use self::{
    calls::is_old,
    mangle::{is_intrinsic_type, mangled},
};
use crate::{
    error::{PResult, ParseError},
    parser::Parsed,
};

/// Brings a module up to date. Its first `written` functions stand in the text; the others are
/// intrinsics that it calls without a declaration.
///
/// # Errors
/// When debug records and calls that stand for such records are mixed.
pub(crate) fn upgrade(parsed: &mut Parsed, written: usize) -> PResult<()> {
    annotations::annotations(&mut parsed.module);
    unwrap_operands(&mut parsed.module);
    let names = |parsed: &Parsed| -> Vec<GlobalName> {
        parsed.module.functions.iter().map(|function| function.header.name).collect()
    };
    let undeclared: FxHashSet<GlobalName> = names(parsed).drain(written..).collect();
    if let Err((function, inst)) = debug::upgrade(parsed) {
        let start = parsed.source_map.inst(function, inst).unwrap_or_default();
        let span = crate::Span::new(start, start);
        let message = "a call of a debug intrinsic in a module that has debug records";
        return Err(Box::new(ParseError::new(span, message)));
    }
    // Declarations of debug intrinsics are gone.
    let now = names(parsed);
    let written = now.iter().position(|name| undeclared.contains(name)).unwrap_or(now.len());
    calls::upgrade(parsed, written);
    Ok(())
}

/// Metadata of calls that is a list of one constant is the constant, and one of `null` is empty.
fn unwrap_operands(module: &mut Module) {
    let Module { functions, metadata, .. } = module;
    let mut empty = None;
    for operand in functions.iter_mut().flat_map(|f| f.body.local_metadata_mut()) {
        let Some(node) = operand.as_node() else { continue };
        if metadata.node_kind(node) != NodeKind::Tuple || metadata.values(node).len() != 1 {
            continue;
        }
        match metadata.element(node, 0) {
            Some(MetadataValue::Const(constant)) => {
                *operand = LocalMetadata::Value(constant.into());
            }
            Some(MetadataValue::Null) => {
                if empty.is_none() {
                    empty = metadata.add(NodeBuilder::tuple(false, [])).ok();
                }
                *operand = empty.map_or(LocalMetadata::Node(node), LocalMetadata::Node);
            }
            _ => {}
        }
    }
}

/// Takes out the declarations for which `old` holds, and their places.
fn remove_declarations(parsed: &mut Parsed, old: impl Fn(&phalanx_ir::FunctionHeader) -> bool) {
    let functions = std::mem::take(&mut parsed.module.functions);
    let mut kept = Vec::with_capacity(functions.len());
    let mut places = Vec::with_capacity(functions.len());
    for function in functions {
        let gone = function.is_declaration() && old(&function.header);
        places.push(!gone);
        if !gone {
            kept.push(function);
        }
    }
    parsed.module.functions = kept;
    parsed.source_map.retain_functions(&places);
}
