//! Rules of a function's header: type, convention, attributes, linkage.

use crate::{
    attributes::AttrKind,
    call_conv::CallConv,
    function::{FunctionHeader, FunctionRef},
    intrinsics::{Lookup, lookup},
    module::{DllStorage, Linkage, Visibility},
    types::{Type, TypeKind},
    verify::{
        attrs::{self, Subject},
        constants::Constants,
        env::Env,
        fault::{Check, Fault, Related, ensure},
        metadata, profile,
    },
};

/// Rules of everything of a function except its code.
pub(crate) fn check(
    env: &Env<'_>,
    constants: &mut Constants,
    function: FunctionRef<'_>,
    report: &mut impl FnMut(Fault),
) {
    let header = function.header;
    let mut run = |check: Check| {
        if let Err(fault) = check {
            report(fault);
        }
    };
    run(linkage(function));
    run(signature(env, header));
    let subject = Subject {
        ret: header.ret,
        params: &header.params,
        args: header.params.len(),
        vararg: header.vararg,
        is_intrinsic: env.is_intrinsic(header.name),
        is_inline_asm: false,
    };
    // LLVM overwrites the attributes of a declaration of an intrinsic that it knows.
    let known = lookup(env.name_bytes(header.name));
    if !subject.is_intrinsic || matches!(known, Lookup::Unknown) {
        run(attrs::check(env, header.attributes, subject));
    }
    run(own_attributes(env, function));
    run(convention(env, header));
    run(presence(env, function));
    run(visibility_and_storage(
        header.dll,
        header.visibility,
        header.linkage,
        header.dso_local,
        function.is_declaration(),
    ));
    run(profile::function(env, function));
    run(metadata::of_global(
        env,
        header.name,
        (header.address_space, function.is_declaration()),
        &header.metadata,
    ));
    for constant in [header.prefix, header.prologue, header.personality].into_iter().flatten() {
        run(constants.check(env, constant));
    }
}

fn linkage(function: FunctionRef<'_>) -> Check {
    let header = function.header;
    ensure!(header.linkage != Linkage::Common, "Functions may not have common linkage");
    ensure!(
        header.linkage != Linkage::Appending,
        "Only global variables can have appending linkage!"
    );
    if function.is_declaration() {
        ensure!(
            matches!(header.linkage, Linkage::External | Linkage::ExternWeak),
            "Global is external, but doesn't have external or weak linkage!"
        );
        ensure!(header.comdat.is_none(), "Declaration may not be in a Comdat!");
    } else {
        ensure!(
            header.linkage != Linkage::AvailableExternally || header.comdat.is_none(),
            "Declaration may not be in a Comdat!"
        );
        // Text cannot express this.
        ensure!(header.linkage != Linkage::ExternWeak, "invalid linkage for function definition");
    }
    ensure!(header.align.is_none_or(u64::is_power_of_two), "alignment is not a power of two");
    ensure!(
        header.align.unwrap_or(1) <= crate::verify::types::MAX_ALIGN,
        "huge alignment values are unsupported"
    );
    Ok(())
}

/// Local entities have default visibility and storage class; text cannot express anything else.
pub(crate) fn local_linkage(linkage: Linkage, visibility: Visibility, dll: DllStorage) -> Check {
    if matches!(linkage, Linkage::Private | Linkage::Internal) {
        ensure!(
            visibility == Visibility::Default,
            "GlobalValue with local linkage must have default visibility"
        );
        ensure!(
            dll == DllStorage::Default,
            "GlobalValue with local linkage cannot have a DLL storage class"
        );
    }
    Ok(())
}

/// Rules of visibility, `dllimport` and `dllexport`, for functions and variables.
pub(crate) fn visibility_and_storage(
    dll: DllStorage,
    visibility: Visibility,
    linkage: Linkage,
    dso_local: Option<bool>,
    is_declaration: bool,
) -> Check {
    local_linkage(linkage, visibility, dll)?;
    match dll {
        DllStorage::Default => {}
        DllStorage::Export => ensure!(
            visibility != Visibility::Hidden,
            "dllexport GlobalValue must have default or protected visibility"
        ),
        DllStorage::Import => {
            ensure!(
                visibility == Visibility::Default,
                "dllimport GlobalValue must have default visibility"
            );
            ensure!(dso_local != Some(true), "GlobalValue with DLLImport Storage is dso_local!");
            let is_external = matches!(linkage, Linkage::External | Linkage::ExternWeak);
            ensure!(
                is_declaration && is_external || linkage == Linkage::AvailableExternally,
                "Global is marked as dllimport, but not external"
            );
        }
    }
    Ok(())
}

/// Types of result and parameters.
fn signature(env: &Env<'_>, header: &FunctionHeader) -> Check {
    let types = &env.types;
    let is_intrinsic = env.is_intrinsic(header.name);
    let ret = header.ret;
    let is_function = matches!(types.kind(ret), TypeKind::Function { .. });
    ensure!(
        types.is_aggregate(ret) || !is_function && ret != Type::LABEL && ret != Type::METADATA,
        "Functions cannot return aggregate values!"
    );
    let sret = (0..header.params.len())
        .any(|at| types.context.param_attrs(header.attributes, at).has(AttrKind::StructRet));
    ensure!(!sret || ret == Type::VOID, "Invalid struct return type!");
    for (at, &ty) in header.params.iter().enumerate() {
        let arg = || Related::Value(crate::Value::arg(at as u32));
        ensure!(types.is_param_type(ty), "Function arguments must have first-class types!", arg());
        if !is_intrinsic {
            ensure!(ty != Type::METADATA, "Function takes metadata but isn't an intrinsic", arg());
            ensure!(!types.is_token_like(ty), "Function takes token but isn't an intrinsic", arg());
            ensure!(ty != Type::X86_AMX, "Function takes x86_amx but isn't an intrinsic", arg());
        }
    }
    if !is_intrinsic {
        ensure!(!types.is_token_like(ret), "Function returns a token but isn't an intrinsic");
        ensure!(ret != Type::X86_AMX, "Function returns a x86_amx but isn't an intrinsic");
    }
    Ok(())
}

/// Attributes that are for calls only, and attributes that `naked` excludes.
fn own_attributes(env: &Env<'_>, function: FunctionRef<'_>) -> Check {
    let header = function.header;
    let own = env.types.context.function_attrs(header.attributes);
    ensure!(!own.has(AttrKind::Builtin), "Attribute 'builtin' can only be applied to a callsite.");
    ensure!(
        !own.has(AttrKind::JumpTable) || header.unnamed_addr == crate::module::UnnamedAddr::Global,
        "Attribute 'jumptable' requires 'unnamed_addr'"
    );
    if own.has(AttrKind::Naked) && !function.is_declaration() {
        let body = function.body;
        let uses_argument = function
            .flow
            .order()
            .iter()
            .flat_map(|&block| body.block_insts(block))
            .flat_map(|inst| body.operands(inst))
            .find(|operand| operand.as_arg().is_some());
        if let Some(&argument) = uses_argument {
            ensure!(false, "cannot use argument of naked function", Related::Value(argument));
        }
    }
    Ok(())
}

/// Rules of calling conventions, in particular of the entry points of GPU programs.
fn convention(env: &Env<'_>, header: &FunctionHeader) -> Check {
    let types = &env.types;
    let param = |at: usize| types.context.param_attrs(header.attributes, at);
    let conv = header.call_conv;
    let returns_nothing = matches!(
        conv,
        CallConv::AMDGPU_KERNEL
            | CallConv::SPIR_KERNEL
            | CallConv::AMDGPU_CS_CHAIN
            | CallConv::AMDGPU_CS_CHAIN_PRESERVE
    );
    let is_shader = matches!(
        conv,
        CallConv::AMDGPU_VS
            | CallConv::AMDGPU_HS
            | CallConv::AMDGPU_GS
            | CallConv::AMDGPU_PS
            | CallConv::AMDGPU_CS
    );
    if conv == CallConv::X86_INTR {
        ensure!(
            header.params.is_empty() || param(0).has(AttrKind::ByVal),
            "Calling convention parameter requires byval"
        );
    }
    ensure!(
        !returns_nothing || header.ret == Type::VOID,
        "Calling convention requires void return type"
    );
    if returns_nothing || is_shader {
        for (at, &ty) in header.params.iter().enumerate() {
            let set = param(at);
            ensure!(!set.has(AttrKind::StructRet), "Calling convention does not allow sret");
            if conv == CallConv::SPIR_KERNEL {
                continue;
            }
            ensure!(!set.has(AttrKind::ByVal), "Calling convention disallows byval");
            ensure!(!set.has(AttrKind::Preallocated), "Calling convention disallows preallocated");
            ensure!(!set.has(AttrKind::InAlloca), "Calling convention disallows inalloca");
            ensure!(
                !set.has(AttrKind::ByRef)
                    || types.address_space(ty) != Some(env.index.alloca_space),
                "Calling convention disallows stack byref"
            );
        }
    }
    let fixed = returns_nothing
        || is_shader
        || matches!(
            conv,
            CallConv::FAST
                | CallConv::COLD
                | CallConv::INTEL_OCL_BI
                | CallConv::PTX_KERNEL
                | CallConv::PTX_DEVICE
        );
    ensure!(
        !fixed || !header.vararg,
        "Calling convention does not support varargs or perfect forwarding!"
    );
    Ok(())
}

/// Rules for declarations and for definitions.
fn presence(env: &Env<'_>, function: FunctionRef<'_>) -> Check {
    let header = function.header;
    if function.is_declaration() {
        ensure!(
            header.personality.is_none(),
            "Function declaration shouldn't have a personality routine"
        );
    } else {
        ensure!(!env.is_intrinsic(header.name), "llvm intrinsics cannot be defined!");
    }
    ensure!(!env.misused.contains(&header.name), "Invalid user of intrinsic instruction!");
    Ok(())
}
