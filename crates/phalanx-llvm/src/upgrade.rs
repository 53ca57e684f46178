//! Upgrades constructs of older compilers, as LLVM 22 does while it reads.
//!
//! Analyses know only today's intrinsics, and a call of a removed intrinsic would be an unknown
//! call. The upgrade handles constructs that occur in code for GPUs:
//!
//! | module | what |
//! |---|---|
//! | `annotations` | `!nvvm.annotations`: now calling conventions and attributes |
//! | `calls`, `rewrite`, `memory` | intrinsics that have another name or signature today, or are an instruction |
//! | `mangle` | type suffixes of the names of overloaded intrinsics |
//! | `debug` | calls of `llvm.dbg.value` and its like: now debug records |
//!
//! The parser itself handles older spellings of attributes. Constructs that are not listed stay as
//! they are.
//!
//! A declaration whose calls have all been rewritten is removed; declarations for the new calls are
//! added at the end of the module. One pass over the declarations, and one over the calls only if a
//! declaration is old: O(declarations), or O(size of the module).

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

/// Upgrades a module. Its first `written` functions are in the text; the others are intrinsics that
/// it calls without a declaration.
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

/// A metadata operand that is a list of one constant becomes that constant, and a list of `null`
/// becomes empty.
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
