//! Rules of garbage collection: safepoints, the values that they relocate, and roots on the stack.
//!
//! ```text
//! %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0,
//!          ptr elementtype(void ()) @f, i32 0, i32 0, i32 0, i32 0)
//!          [ "gc-live"(ptr addrspace(1) %o) ]
//! %n = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 0)
//! ```
//!
//! The operands of a safepoint contain the callee, the number of its arguments and the arguments.
//! The two numbers of a relocation are positions in the `gc-live` bundle of its safepoint.
//! O(operands) for each call.

use crate::{
    attributes::AttrKind,
    constant::ConstKind,
    function::FunctionHeader,
    inst::Opcode,
    types::{Type, TypeKind},
    value::Value,
    verify::{
        env::Env,
        fault::{Check, ensure},
        view::{self, InstView},
    },
};

const STATEPOINT: &[u8] = b"llvm.experimental.gc.statepoint";

/// Flags that a safepoint may have.
const ALL_FLAGS: u64 = 3;

/// A call of an intrinsic of garbage collection; `name` is without `llvm.`
pub(super) fn call(env: &Env<'_>, inst: &InstView<'_>, name: &str) -> Check {
    match name {
        "gcroot" => root(env, inst)?,
        "experimental.gc.statepoint" => {
            has_collector(inst)?;
            return statepoint(env, inst);
        }
        "experimental.gc.result" => {
            has_collector(inst)?;
            return result(env, inst);
        }
        "experimental.gc.relocate" => return relocate(env, inst),
        _ => {}
    }
    has_collector(inst)
}

fn has_collector(inst: &InstView<'_>) -> Check {
    ensure!(inst.header.gc.is_some(), "Enclosing function does not use GC.");
    Ok(())
}

/// `llvm.gcroot`: a stack slot that holds a pointer, or any slot with a description.
fn root(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let slot = inst.args().first().and_then(|slot| slot.as_inst());
    let slot = slot.map(|slot| inst.body.inst(slot)).filter(|slot| slot.opcode == Opcode::Alloca);
    let Some(slot) = slot else {
        ensure!(false, "llvm.gcroot parameter #1 must be an alloca.");
        return Ok(());
    };
    let Some(about) = inst.args().get(1).and_then(|about| about.as_const()) else {
        ensure!(false, "llvm.gcroot parameter #2 must be a constant.");
        return Ok(());
    };
    let is_null =
        matches!(env.types.context.const_data(about).kind, ConstKind::Null | ConstKind::Zero);
    ensure!(
        env.types.is_ptr(slot.element_type()) || !is_null,
        "llvm.gcroot parameter #1 must either be a pointer alloca, or argument #2 must be a non-null constant."
    );
    Ok(())
}

/// An integer operand of 32 bits.
fn number(env: &Env<'_>, inst: &InstView<'_>, at: usize) -> Option<u64> {
    let constant = inst.args().get(at)?.as_const()?;
    env.types.const_int(constant).filter(|_| env.types.is_plain_int(constant))
}

fn statepoint(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let types = &env.types;
    let attributes = inst.call_attributes();
    let patched = number(env, inst, 1).unwrap_or(0);
    ensure!(
        patched <= i32::MAX.unsigned_abs().into(),
        "gc.statepoint number of patchable bytes must be positive"
    );
    let target = types.context.param_attrs(attributes, 2).type_of(AttrKind::ElementType);
    let Some(target) = target else {
        ensure!(false, "gc.statepoint callee argument must have elementtype attribute");
        return Ok(());
    };
    let TypeKind::Function { ret, params, vararg } = types.kind(target) else {
        ensure!(false, "gc.statepoint callee elementtype must be function type");
        return Ok(());
    };
    let count = number(env, inst, 3).and_then(|count| i32::try_from(count).ok());
    let Some(count) = count.and_then(|count| usize::try_from(count).ok()) else {
        ensure!(false, "gc.statepoint number of arguments to underlying call must be positive");
        return Ok(());
    };
    if *vararg {
        ensure!(count >= params.len(), "gc.statepoint mismatch in number of vararg call args");
        ensure!(
            *ret == Type::VOID,
            "gc.statepoint doesn't support wrapping non-void vararg functions yet"
        );
    } else {
        ensure!(count == params.len(), "gc.statepoint mismatch in number of call args");
    }
    ensure!(
        number(env, inst, 4).unwrap_or(0) & !ALL_FLAGS == 0,
        "unknown flag used in gc.statepoint flags argument"
    );
    for (at, &param) in params.iter().enumerate() {
        ensure!(
            inst.types.get(5 + at).is_some_and(|&ty| 5 + at < inst.args().len() && ty == param),
            "gc.statepoint call argument does not match wrapped function type"
        );
        ensure!(
            !*vararg || !types.context.param_attrs(attributes, 5 + at).has(AttrKind::StructRet),
            "Attribute 'sret' cannot be used for vararg call arguments!"
        );
    }
    for (at, what, deprecated) in [
        (5 + count, "transition", "gc.statepoint w/inline transition bundle is deprecated"),
        (6 + count, "deoptimization", "gc.statepoint w/inline deopt operands is deprecated"),
    ] {
        let Some(found) = number(env, inst, at) else {
            ensure!(
                false,
                format!("gc.statepoint number of {what} arguments must be constant integer")
            );
            return Ok(());
        };
        ensure!(found == 0, deprecated);
    }
    ensure!(inst.args().len() == 7 + count, "gc.statepoint too many arguments");
    Ok(())
}

/// Whether a value is the token of a safepoint.
fn is_statepoint(env: &Env<'_>, inst: &InstView<'_>, value: Value) -> bool {
    let body = inst.body;
    let call = value.as_inst().filter(|&def| body.inst(def).opcode.is_call());
    let callee = call.and_then(|call| body.const_callee(call));
    callee.is_some_and(|callee| match env.types.context.const_data(callee).kind {
        ConstKind::Global(name) => env.name_bytes(name).starts_with(STATEPOINT),
        _ => false,
    })
}

fn is_undefined(env: &Env<'_>, value: Value) -> bool {
    let kind = value.as_const().map(|constant| &env.types.context.const_data(constant).kind);
    matches!(kind, Some(ConstKind::Undef | ConstKind::Poison))
}

fn result(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let Some(&token) = inst.args().first() else { return Ok(()) };
    if is_undefined(env, token) {
        return Ok(());
    }
    ensure!(is_statepoint(env, inst, token), "gc.result operand #1 must be from a statepoint");
    let Some(call) = token.as_inst() else { return Ok(()) };
    let attributes = inst.body.call_info(call).attributes;
    let target = env.types.context.param_attrs(attributes, 2).type_of(AttrKind::ElementType);
    if let Some(TypeKind::Function { ret, .. }) = target.map(|target| env.types.kind(target)) {
        ensure!(inst.data.ty == *ret, "gc.result result type does not match wrapped callee");
    }
    Ok(())
}

fn relocate(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let types = &env.types;
    let &[token, ..] = inst.args() else { return Ok(()) };
    let ret = inst.data.ty;
    ensure!(
        types.is_ptr(types.scalar(ret)),
        "gc.relocate must return a pointer or a vector of pointers"
    );
    let on_unwinding =
        token.as_inst().is_some_and(|def| inst.body.inst(def).opcode == Opcode::LandingPad);
    ensure!(
        on_unwinding || is_statepoint(env, inst, token) || is_undefined(env, token),
        "gc relocate is incorrectly tied to the statepoint"
    );
    let (Some(base), Some(derived)) = (number(env, inst, 1), number(env, inst, 2)) else {
        ensure!(number(env, inst, 1).is_some(), "gc.relocate operand #2 must be integer offset");
        ensure!(false, "gc.relocate operand #3 must be integer offset");
        return Ok(());
    };
    let call = token.as_inst().filter(|_| is_statepoint(env, inst, token));
    let Some(call) = call else { return Ok(()) };
    let live = live_values(env, inst, call);
    let at = |position: u64| {
        let position = usize::try_from(position).ok()?;
        let value = *live.get(position)?;
        Some(view::type_of(types, inst.header, inst.body, value))
    };
    let Some(base) = at(base) else {
        ensure!(false, "gc.relocate: statepoint base index out of bounds");
        return Ok(());
    };
    let Some(derived) = at(derived) else {
        ensure!(false, "gc.relocate: statepoint derived index out of bounds");
        return Ok(());
    };
    let is_pointer = |ty: Type| types.is_ptr(types.scalar(ty));
    ensure!(
        is_pointer(base) && is_pointer(derived),
        "gc.relocate: relocated value must be a pointer"
    );
    ensure!(
        types.is_vector(ret) == types.is_vector(derived),
        "gc.relocate: vector relocates to vector and pointer to pointer"
    );
    let space = |ty: Type| types.address_space(types.scalar(ty));
    ensure!(
        space(ret) == space(derived),
        "gc.relocate: relocating a pointer shouldn't change its address space"
    );
    let is_managed = |ty: Type| !has_own_space(env, inst.header) || space(ty) == Some(1);
    ensure!(is_managed(ret), "gc.relocate: must return gc pointer");
    ensure!(
        is_managed(base) && is_managed(derived),
        "gc.relocate: relocated value must be a gc pointer"
    );
    Ok(())
}

/// Collectors whose objects are all in address space 1.
fn has_own_space(env: &Env<'_>, header: &FunctionHeader) -> bool {
    let name = header.gc.map_or(&b""[..], |name| env.types.context.bytes(name));
    matches!(name, b"statepoint-example" | b"coreclr")
}

/// The values that a relocation may name: the `gc-live` bundle of a safepoint, or without one its
/// arguments.
fn live_values<'a>(env: &Env<'_>, inst: &InstView<'a>, call: crate::InstId) -> &'a [Value] {
    let body = inst.body;
    let info = body.call_info(call);
    let operands = body.operands(call);
    let mut from = info.args as usize;
    for &(tag, len) in &info.bundles {
        let to = from + len as usize;
        if env.types.context.bytes(tag) == b"gc-live" {
            return &operands[from..to];
        }
        from = to;
    }
    &operands[..info.args as usize]
}
