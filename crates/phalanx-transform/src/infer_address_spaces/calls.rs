//! Intrinsics that are overloaded by pointer types, and their declarations.
//!
//! The name of such an intrinsic has a component `p<space>` for each overloaded pointer type. The
//! table here maps these components to arguments. They are the last `p` components of the name:
//! before them the name may have the type of what is loaded or stored, which may be a vector of
//! pointers as well.

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    Const, Function, FunctionHeader, GlobalName, InstId, Type, TypeKind, Value,
    constant::{ConstKind, Int},
};

use super::plan::{Make, Plan, Planner, Rewrite};
use crate::{code::Code, pass::PassError};

/// The arguments to which the pointer components of an intrinsic's name belong, in the order of the
/// name.
fn pointers(code: &Code<'_>, call: InstId) -> Option<&'static [u32]> {
    Some(match code.intrinsic(call)?.base {
        "memcpy" | "memcpy.inline" | "memmove" => &[0, 1],
        "memset" | "memset.inline" | "prefetch" | "masked.load" | "load.to.lds" => &[0],
        "masked.store" => &[1],
        _ => return None,
    })
}

/// Whether a call is `llvm.ptrmask`.
pub(super) fn is_mask(code: &Code<'_>, call: InstId) -> bool {
    code.intrinsic(call).is_some_and(|found| found.base == "ptrmask")
}

/// The pointer arguments of a call that are to be rewritten.
pub(super) fn rewrites(planner: &Planner<'_>, call: InstId) -> Vec<Rewrite> {
    let Some(pointers) = pointers(&planner.code, call) else { return Vec::new() };
    if volatile(&planner.code, call) {
        return Vec::new();
    }
    let names = components(&name_of(&planner.code, call).unwrap_or_default(), pointers.len());
    let is_destination = |position: u32| position == 0 && pointers.len() == 2;
    let rewrite = |(component, &index): (usize, &u32)| {
        let space = planner.target(call, index)?;
        let is_written = is_destination(index)
            || planner.code.intrinsic(call).is_some_and(|found| {
                found.base.starts_with("memset") || found.base == "masked.store"
            });
        let is_constant = planner.model.of(space) == phalanx_analysis::spaces::SpaceSet::CONSTANT;
        let is_fitting = names.get(component).is_some() && !(is_written && is_constant);
        is_fitting.then_some(Rewrite { user: call, index, space })
    };
    pointers.iter().enumerate().filter_map(rewrite).collect()
}

/// Whether a memory intrinsic is volatile, by its last argument if it has such a flag.
fn volatile(code: &Code<'_>, call: InstId) -> bool {
    let has_flag = code.intrinsic(call).is_some_and(|found| found.base.starts_with("mem"));
    let last = code.body.call_args(call).last().copied();
    has_flag && last.and_then(|last| code.int(last)) != Some(0)
}

fn name_of(code: &Code<'_>, call: InstId) -> Option<String> {
    let callee = code.body.const_callee(call)?;
    match code.context.const_data(callee).kind {
        ConstKind::Global(GlobalName::Named(symbol)) => Some(code.context.text(symbol).into()),
        _ => None,
    }
}

/// Positions of the last `count` pointer components of a name; empty if there are fewer.
fn components(name: &str, count: usize) -> Vec<usize> {
    let is_pointer = |part: &str| {
        let digits = part.trim_start_matches(|c: char| c == 'v' || c.is_ascii_digit());
        digits
            .strip_prefix('p')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let parts = name.split('.').enumerate();
    let mut all: Vec<usize> =
        parts.filter(|(_, part)| is_pointer(part)).map(|(at, _)| at).collect();
    all.len().checked_sub(count).map_or_else(Vec::new, |others| all.split_off(others))
}

/// The name of an intrinsic with `count` pointer components, with the spaces of some of them
/// replaced.
fn renamed(name: &str, count: usize, spaces: &[(usize, u32)]) -> String {
    let mut parts: Vec<String> = name.split('.').map(str::to_owned).collect();
    let places = components(name, count);
    for &(component, space) in spaces {
        if let Some(&at) = places.get(component)
            && let Some(end) = parts[at].find('p')
        {
            parts[at] = format!("{}p{space}", &parts[at][..end]);
        }
    }
    parts.join(".")
}

/// The type with its pointers moved to another space.
pub(super) fn retyped(context: &phalanx_ir::Context, ty: Type, space: u32) -> Type {
    match context.type_kind(ty) {
        TypeKind::Vector { len, scalable, .. } => context.type_of_kind(&TypeKind::Vector {
            elem: context.ptr_type(space),
            len: *len,
            scalable: *scalable,
        }),
        _ => context.ptr_type(space),
    }
}

/// The intrinsic to call instead.
pub(super) struct Replacement {
    /// Its name.
    pub(super) name: String,
    /// Its result.
    pub(super) ret: Type,
    /// Its parameters.
    pub(super) params: Vec<Type>,
}

/// The call that replaces a call when its arguments change their spaces.
pub(super) fn replacement(
    code: &Code<'_>,
    call: InstId,
    rewrites: &[Rewrite],
) -> Option<Replacement> {
    let pointers = pointers(code, call)?;
    let place = |rewrite: &Rewrite| {
        let component = pointers.iter().position(|&index| index == rewrite.index)?;
        Some((component, rewrite.space))
    };
    let spaces: Vec<(usize, u32)> = rewrites.iter().filter_map(place).collect();
    let (ret, params, _) =
        Function::split_type(code.context, code.body.call_info(call).function_type)?;
    let mut params = params.to_vec();
    for rewrite in rewrites {
        let param = params.get_mut(rewrite.index as usize)?;
        *param = retyped(code.context, *param, rewrite.space);
    }
    let name = renamed(&name_of(code, call)?, pointers.len(), &spaces);
    Some(Replacement { name, ret, params })
}

/// `llvm.ptrmask` in another space, with its mask in the index type of that space. None if the mask
/// may clear bits that pointers of that space do not have.
pub(super) fn mask(
    planner: &Planner<'_>,
    call: InstId,
    space: u32,
) -> Option<(Replacement, Value)> {
    masked(
        &planner.code,
        planner.pointer_bits(space),
        planner.pointer_bits(planner.generic),
        call,
        space,
    )
}

fn masked(
    code: &Code<'_>,
    to_bits: u32,
    from_bits: u32,
    call: InstId,
    space: u32,
) -> Option<(Replacement, Value)> {
    if !is_mask(code, call) {
        return None;
    }
    let &[address, mask] = code.body.call_args(call) else { return None };
    let context = code.context;
    let TypeKind::Ptr(_) = context.type_kind(code.type_of(address)) else { return None };
    let (mask, mask_type) = match to_bits == from_bits {
        true => (mask, code.type_of(mask)),
        false => {
            let wide = code.int(mask)?;
            let ones = u128::MAX >> (128 - from_bits.min(128));
            if wide >> to_bits != ones >> to_bits {
                return None;
            }
            let ty = context.int_type(to_bits);
            let low = Int::from_u64(to_bits, wide as u64);
            (Value::constant(context.constant(ty, ConstKind::Int(low))), ty)
        }
    };
    let pointer = context.ptr_type(space);
    let bits = match context.type_kind(mask_type) {
        TypeKind::Int(bits) => *bits,
        _ => return None,
    };
    let name = format!("llvm.ptrmask.p{space}.i{bits}");
    Some((Replacement { name, ret: pointer, params: vec![pointer, mask_type] }, mask))
}

impl Planner<'_> {
    fn pointer_bits(&self, space: u32) -> u32 {
        self.layout.pointer_size(space)
    }
}

/// The mask of a copied `llvm.ptrmask` inside of an edit.
pub(super) fn mask_in(
    code: &Code<'_>,
    plan: &Plan,
    call: InstId,
    space: u32,
) -> Option<(Replacement, Value)> {
    masked(
        code,
        plan.layout.pointer_size(space),
        plan.layout.pointer_size(plan.generic),
        call,
        space,
    )
}

/// Declares the intrinsics that a plan calls and that the module does not have.
pub(super) fn declare(
    db: &mut Database,
    function: FunctionInput,
    plan: &Plan,
) -> Result<(), PassError> {
    let module = function.module(db);
    let mut wanted: Vec<(Replacement, InstId)> = Vec::new();
    let code = Code::of(db, function);
    for (call, rewrites) in &plan.calls {
        wanted.extend(replacement(&code, *call, rewrites).map(|new| (new, *call)));
    }
    let mut masks: Vec<(InstId, u32)> = plan
        .made
        .iter()
        .filter(|(_, make)| **make == Make::Copy)
        .map(|(&of, _)| of)
        .filter(|&(inst, _)| is_mask(&code, inst))
        .collect();
    masks.sort_unstable();
    for (inst, space) in masks {
        wanted.extend(mask_in(&code, plan, inst, space).map(|(new, _)| (new, inst)));
    }
    let mut declarations: Vec<FunctionHeader> = Vec::new();
    for (new, like) in wanted {
        let name = GlobalName::Named(code.context.symbol(new.name.as_bytes()));
        let is_known = queries::module_index(db, module).contains(name)
            || declarations.iter().any(|header| header.name == name);
        if is_known {
            continue;
        }
        let mut header = FunctionHeader::new(code.context, name, new.ret, &new.params, false);
        if let Some(ConstKind::Global(old)) =
            code.body.const_callee(like).map(|callee| code.context.const_data(callee).kind.clone())
            && let Some(old) = queries::symbols(db, module).get(&old)
        {
            header.attributes = old.header(db).attributes;
        }
        declarations.push(header);
    }
    for header in declarations {
        db.add_function(module, Function::new(header))
            .map_err(|error| PassError::Other(error.to_string()))?;
    }
    Ok(())
}

/// The address of a function of the module.
pub(super) fn address(context: &phalanx_ir::Context, name: &str) -> Const {
    let name = GlobalName::Named(context.symbol(name.as_bytes()));
    context.constant(Type::PTR, ConstKind::Global(name))
}
