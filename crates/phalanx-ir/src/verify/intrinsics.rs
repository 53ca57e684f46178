//! Rules of intrinsics that come from tables: signatures, ranges of arguments.
//!
//! LLVM knows all of its intrinsics, and text need not repeat what it knows. Intrinsics without a
//! table in [`crate::intrinsics`] are still checked against their declaration.

use crate::{
    body::Body,
    constant::ConstKind,
    function::FunctionHeader,
    inst::Opcode,
    intrinsics::{Mismatch, Signature, is_also_older},
    metadata::LocalMetadata,
    module::GlobalIndex,
    types::{Type, TypeKind},
    value::ValueKind,
    verify::{
        attached,
        env::Env,
        fault::{Check, Related, ensure},
        view::InstView,
    },
};

/// The declaration of a called intrinsic, if the intrinsic is known.
fn signature(env: &Env<'_>, known: Option<&Signature>, header: &FunctionHeader) -> Check {
    let Some(signature) = known else { return Ok(()) };
    let context = env.types.context;
    let overloads =
        |ret: Type| signature.overloads(context, ret, &header.params, header.vararg).map(|_| ());
    let mut found = overloads(header.ret);
    if found == Err(Mismatch::Result) {
        // A named or packed structure is accepted for an unnamed one.
        let is_literal =
            matches!(context.type_kind(header.ret), TypeKind::Struct { packed: false, .. });
        let fields = env.types.fields(header.ret).filter(|_| !is_literal);
        if let Some(fields) = fields {
            let kind = TypeKind::Struct { packed: false, fields: fields.into() };
            found = overloads(context.type_of_kind(&kind));
        }
    }
    let message = match found {
        Ok(()) => return Ok(()),
        Err(_) if is_also_older(env.name_bytes(header.name)) => return Ok(()),
        Err(Mismatch::Result) => "Intrinsic has incorrect return type!",
        Err(Mismatch::Parameter) => "Intrinsic has incorrect argument type!",
        Err(Mismatch::Variadic) => "Intrinsic was not defined with variable arguments!",
        Err(Mismatch::NotVariadic) => "Callsite was not defined with variable arguments!",
    };
    ensure!(false, message, Related::Global(header.name));
    Ok(())
}

/// A call of an intrinsic: its declaration, and arguments whose values are restricted.
pub(crate) fn call(
    env: &Env<'_>,
    inst: &InstView<'_>,
    known: Option<&Signature>,
    header: &FunctionHeader,
) -> Check {
    signature(env, known, header)?;
    let name = env.name_bytes(header.name);
    let types = &env.types;
    let integer = |at: usize| {
        inst.args().get(at).and_then(|arg| arg.as_const()).and_then(|c| types.const_int(c))
    };
    let is_one_of = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if is_one_of(&[b"llvm.lifetime.start", b"llvm.lifetime.end"]) {
        // The older form has a size before the pointer; LLVM upgrades it while reading.
        let only = inst.args().first().filter(|_| inst.args().len() == 1);
        let fits = only.is_none_or(|arg| match arg.kind() {
            ValueKind::Inst(def) => is_alloca(inst.body, def),
            ValueKind::Const(c) => types.context.const_data(c).kind == ConstKind::Poison,
            _ => false,
        });
        ensure!(fits, "llvm.lifetime.start/end can only be used on alloca or poison");
    } else if is_one_of(&[b"llvm.va_start"]) {
        ensure!(inst.header.vararg, "va_start called in a non-varargs function");
    } else if is_one_of(&[b"llvm.threadlocal.address"]) {
        let variable = inst.args().first().and_then(|arg| arg.as_const());
        let variable =
            variable.and_then(|variable| match types.context.const_data(variable).kind {
                ConstKind::Global(name) => Some(name),
                _ => None,
            });
        ensure!(
            variable.is_some(),
            "llvm.threadlocal.address first argument must be a GlobalValue"
        );
        let is_thread_local = match variable.and_then(|name| env.global(name)) {
            Some(GlobalIndex::Variable(at)) => env.module.variables[at].thread_local.is_some(),
            Some(GlobalIndex::Alias(at)) => env.module.aliases[at].thread_local.is_some(),
            _ => false,
        };
        ensure!(is_thread_local, "llvm.threadlocal.address operand isThreadLocal() must be true");
    } else if is_one_of(&[b"llvm.is.fpclass."]) {
        let mask = integer(1).unwrap_or(0);
        ensure!(mask & !0x3ff == 0, "unsupported bits for llvm.is.fpclass test mask");
    } else if is_one_of(&[b"llvm.prefetch."]) {
        ensure!(integer(1).is_none_or(|n| n < 2), "rw argument to llvm.prefetch must be 0-1");
        ensure!(integer(2).is_none_or(|n| n < 4), "locality argument to llvm.prefetch must be 0-3");
        ensure!(
            integer(3).is_none_or(|n| n < 2),
            "cache type argument to llvm.prefetch must be 0-1"
        );
    } else if name == b"llvm.experimental.noalias.scope.decl" {
        scope_declaration(env, inst)?;
    } else if name == b"llvm.call.preallocated.arg" {
        ensure!(
            is_setup(env, inst),
            "llvm.call.preallocated.arg token argument must be a llvm.call.preallocated.setup"
        );
    } else if name == b"llvm.call.preallocated.teardown" {
        ensure!(
            is_setup(env, inst),
            "llvm.call.preallocated.teardown token argument must be a llvm.call.preallocated.setup"
        );
    } else if is_one_of(&[b"llvm.get.dynamic.area.offset"]) {
        let bits = env.index.layout.pointer(env.index.alloca_space).size;
        ensure!(
            *types.context.type_kind(header.ret) == TypeKind::Int(bits),
            "get_dynamic_area_offset result type must be scalar integer matching alloca address space width"
        );
    }
    Ok(())
}

/// The scope that a call declares: a list of one scope.
fn scope_declaration(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let list = inst.args().first().and_then(|arg| match arg.kind() {
        ValueKind::Metadata(id) => inst.body.try_local_metadata(id),
        _ => None,
    });
    let Some(list) = list.and_then(LocalMetadata::as_node) else {
        ensure!(false, "!id.scope.list must point to an MDNode");
        return Ok(());
    };
    ensure!(
        env.module.metadata.values(list).len() == 1,
        "!id.scope.list must point to a list with a single scope"
    );
    attached::scopes(env, list)
}

/// Whether the first argument of a call is what `llvm.call.preallocated.setup` gave.
fn is_setup(env: &Env<'_>, inst: &InstView<'_>) -> bool {
    let token = inst.args().first().and_then(|arg| arg.as_inst());
    let callee = token.filter(|&token| inst.body.inst(token).opcode.is_call());
    let callee = callee.and_then(|call| inst.body.const_callee(call));
    callee.is_some_and(|callee| match env.types.context.const_data(callee).kind {
        ConstKind::Global(name) => env.name_bytes(name) == b"llvm.call.preallocated.setup",
        _ => false,
    })
}

fn is_alloca(body: &Body, def: crate::InstId) -> bool {
    body.inst(def).opcode == Opcode::Alloca
}
