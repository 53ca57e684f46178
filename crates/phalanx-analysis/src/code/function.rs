//! A function, and what is known around it: the input of every analysis, in plain data.

use phalanx_ir::{
    Body, Context, Flow, FunctionHeader, GlobalName, Symbol, Type, Value, ValueKind,
    attributes::AttrList, metadata::MetadataId,
};
use phalanx_target::LaunchFacts;

use super::calls::CallFacts;
use super::{Library, TypeLayout};

/// The parts of a function that analyses may read: all but names, metadata and debug records.
#[derive(Copy, Clone, Debug)]
pub struct Code<'a> {
    /// Interned types, constants, names.
    pub context: &'a Context,
    /// Type, convention, attributes.
    pub header: &'a FunctionHeader,
    /// Blocks and successors.
    pub flow: &'a Flow,
    /// Instructions.
    pub body: &'a Body,
    /// Functions that the module only declares, and that are known by name.
    pub library: &'a Library,
}

/// What is known about the environment of a function.
#[derive(Copy, Clone)]
pub struct Environment<'a> {
    /// The target.
    pub target: &'a phalanx_target::Target,
    /// Sizes of types.
    pub layout: &'a TypeLayout,
    /// What is known of launches.
    pub launch: &'a LaunchFacts,
    /// Whether converged threads of a wave execute each instruction at one moment.
    pub lockstep: bool,
    /// Whether private memory has addresses of its own in the generic space, different for each
    /// lane.
    pub scratch_is_global: bool,
    /// Whether operations that permute lanes of a wave of 64 do so within halves of it, or may.
    pub permutes_halves: bool,
    /// Attributes of a function of the module, by name.
    pub callee: &'a dyn Fn(GlobalName) -> Option<AttrList>,
    /// Summaries of the functions that are called, and facts from the callers.
    pub calls: &'a dyn CallFacts,
    /// The string in a metadata node of the module, if that is all it holds.
    pub node_string: &'a dyn Fn(MetadataId) -> Option<Symbol>,
}

/// The address space of a pointer type. Those of small spaces have fixed numbers.
#[inline]
pub(crate) fn pointer_space(context: &Context, ty: Type) -> Option<u32> {
    match ty.raw().wrapping_sub(Type::PTR.raw()) {
        space @ 0..=9 => Some(space),
        _ => context.type_kind(ty).address_space(),
    }
}

/// The type of an operand; none of blocks and metadata.
pub(crate) fn value_type(code: Code<'_>, value: Value) -> Option<Type> {
    match value.kind() {
        ValueKind::Inst(inst) => Some(code.body.inst(inst).ty),
        ValueKind::Arg(position) => code.header.params.get(position as usize).copied(),
        ValueKind::Const(constant) => Some(code.context.const_data(constant).ty),
        _ => None,
    }
}
