//! Rules of calls, invokes and callbrs.

use crate::{
    attributes::{AttrKind, AttrList},
    call_conv::CallConv,
    constant::{Const, ConstKind},
    function::FunctionHeader,
    inst::{InstFlags, Opcode},
    intrinsics::{Signature, facts, lookup},
    types::{Type, TypeKind},
    value::{Value, ValueKind},
    verify::{
        attrs::{self, Subject},
        env::Env,
        fault::{Check, Related, ensure},
        inline_asm, intrinsic_values, intrinsics,
        types::{MAX_ALIGN, Types},
        view::InstView,
    },
};

/// The rules of a call that depend on its operands alone.
pub(crate) fn check(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let types = &env.types;
    let Some(info) = inst.call else { return Ok(()) };
    let TypeKind::Function { ret, params, vararg } = types.kind(info.function_type) else {
        return Ok(());
    };
    let is_asm = is_inline_asm(env, inst.callee());
    ensure!(
        types.is_ptr(inst.ty(inst.types.len() - 1)) || is_asm,
        "Called function must be a pointer!"
    );
    ensure!(
        *vararg || info.args as usize == params.len(),
        "Incorrect number of arguments passed to called function!"
    );
    ensure!(
        info.args as usize >= params.len(),
        "Called function requires more parameters than were provided!"
    );
    for ((&param, &ty), &arg) in params.iter().zip(inst.types).zip(inst.operands) {
        ensure!(
            param == ty,
            "Call parameter type does not match function signature!",
            Related::Value(arg),
            Related::Type(param)
        );
    }
    for (&ty, &arg) in inst.types[..info.args as usize].iter().zip(inst.operands) {
        ensure!(
            types.is_first_class(ty) && ty != Type::LABEL,
            "Instruction operands must be first-class values!",
            Related::Value(arg)
        );
    }
    let callee = inst.const_callee().and_then(|constant| env.function_of(constant));
    let is_intrinsic = callee.is_some_and(|header| env.is_intrinsic(header.name));
    if let Some(header) = callee.filter(|_| is_intrinsic) {
        // Debug intrinsics become debug records, and broken records are dropped.
        ensure!(
            header.ty == info.function_type
                || env.name_bytes(header.name).starts_with(b"llvm.dbg."),
            "Intrinsic called with incompatible signature"
        );
    }
    ensure!(is_callable(info.call_conv), "calling convention does not permit calls");
    let subject = Subject {
        ret: *ret,
        params,
        args: info.args as usize,
        vararg: *vararg,
        is_intrinsic,
        is_inline_asm: is_asm,
    };
    attrs::check(env, info.attributes, subject)?;
    if *vararg {
        let is_statepoint = callee_name(env, inst).starts_with(b"llvm.experimental.gc.statepoint");
        let args = &inst.types[..info.args as usize];
        attrs::variable_arguments(env, info.attributes, subject, args, is_statepoint)?;
    }
    let own = types.context.function_attrs(info.attributes);
    let callee_attributes = callee.map_or(AttrList::EMPTY, |header| header.attributes);
    let is_speculatable = |header: &FunctionHeader| {
        // LLVM gives an intrinsic its own attributes, whatever its declaration states.
        let own = is_intrinsic && facts::is_speculatable(env.name_bytes(header.name));
        own || types.context.function_attrs(header.attributes).has(AttrKind::Speculatable)
    };
    ensure!(
        !own.has(AttrKind::Speculatable) || callee.is_some_and(is_speculatable),
        "speculatable attribute may not apply to call sites"
    );
    let known = callee
        .filter(|_| is_intrinsic)
        .and_then(|header| lookup(env.name_bytes(header.name)).signature());
    if is_intrinsic {
        immediates(env, inst, known, callee_attributes)?;
        immediate_ranges(env, inst, callee_attributes)?;
    } else {
        aligned(types, *ret, "return type")?;
        for &ty in &params[..] {
            aligned(types, ty, "argument passed")?;
            ensure!(ty != Type::METADATA, "Function has metadata parameter but isn't an intrinsic");
            ensure!(
                !types.is_token_like(ty),
                "Function has token parameter but isn't an intrinsic"
            );
        }
    }
    if callee.is_none() {
        ensure!(!types.is_token_like(*ret), "Return type cannot be token for indirect call!");
        ensure!(*ret != Type::X86_AMX, "Return type cannot be x86_amx for indirect call!");
    }
    ensure!(*ret != Type::METADATA, "Invalid use of metadata!");
    bundles(env, inst)?;
    let lists = argument_lists(env, inst);
    swift_errors(env, inst, lists, params.len())?;
    preallocated(env, inst, lists)?;
    if let Some(slot) = params.len().checked_sub(1).and_then(|last| inst.args().get(last)) {
        let slot = slot.as_inst().map(|slot| inst.body.inst(slot));
        let is_plain = slot.is_some_and(|slot| {
            slot.opcode == Opcode::Alloca && !slot.flags.contains(InstFlags::IN_ALLOCA)
        });
        ensure!(
            !is_plain || !argument_has(env, lists, params.len() - 1, AttrKind::InAlloca),
            "inalloca argument for call has mismatched alloca"
        );
    }
    if let Some(header) = callee.filter(|_| is_intrinsic) {
        intrinsics::call(env, inst, known, header)?;
        intrinsic_values::call(env, inst, header)?;
    }
    if let Some(ConstKind::InlineAsm(asm)) =
        inst.callee().as_const().map(|callee| &types.context.const_data(callee).kind)
    {
        inline_asm::call(types, asm, info.attributes)?;
    }
    if inst.opcode() == Opcode::Call {
        tail_kind(inst)?;
    } else {
        terminators(env, inst, is_asm, is_intrinsic)?;
    }
    Ok(())
}

pub(crate) fn is_inline_asm(env: &Env<'_>, callee: Value) -> bool {
    let kind = |constant| &env.types.context.const_data(constant).kind;
    callee.as_const().is_some_and(|constant| matches!(kind(constant), ConstKind::InlineAsm(_)))
}

/// Checks that the alignment of a passed value can be represented.
fn aligned(types: &Types<'_>, ty: Type, what: &str) -> Check {
    let bytes = if types.is_vector(ty) { types.least_size(ty) } else { 0 };
    ensure!(
        bytes.checked_next_power_of_two().is_some_and(|bytes| bytes <= MAX_ALIGN),
        format!("Incorrect alignment of {what} to called function!")
    );
    Ok(())
}

/// Conventions of entry points: the hardware calls them, code does not.
fn is_callable(call_conv: CallConv) -> bool {
    !matches!(
        call_conv,
        CallConv::AMDGPU_CS
            | CallConv::AMDGPU_CS_CHAIN
            | CallConv::AMDGPU_CS_CHAIN_PRESERVE
            | CallConv::AMDGPU_ES
            | CallConv::AMDGPU_GS
            | CallConv::AMDGPU_HS
            | CallConv::AMDGPU_KERNEL
            | CallConv::AMDGPU_LS
            | CallConv::AMDGPU_PS
            | CallConv::AMDGPU_VS
            | CallConv::SPIR_KERNEL
    )
}

/// Arguments of parameters that are marked `immarg`, or that must be immediate by the signature.
fn immediates(
    env: &Env<'_>,
    inst: &InstView<'_>,
    known: Option<&Signature>,
    attributes: AttrList,
) -> Check {
    let context = env.types.context;
    let declared = context.attr_list_data(attributes);
    for (at, &arg) in inst.args().iter().enumerate() {
        let is_known = known.is_some_and(|signature| signature.is_immediate(at));
        if is_known || context.attr_set_data(declared.param(at)).has(AttrKind::ImmArg) {
            let is_immediate =
                arg.as_const().is_some_and(|constant| attrs::is_immediate(&env.types, constant));
            ensure!(
                is_immediate,
                "immarg operand has non-immediate parameter",
                Related::Value(arg)
            );
        }
    }
    Ok(())
}

/// Checks that immediates are in the range that the intrinsic or its declaration states.
fn immediate_ranges(env: &Env<'_>, inst: &InstView<'_>, attributes: AttrList) -> Check {
    let types = &env.types;
    let number = |at: usize| {
        let constant = inst.args().get(at).and_then(|arg| arg.as_const())?;
        signed(types, constant)
    };
    let in_range = |at: usize, low: i64, high: i64| {
        let Some(found) = number(at) else { return Ok(()) };
        ensure!(
            low <= found && found < high,
            format!("immarg value {found} out of range [{low}, {high})"),
            Related::Value(inst.args()[at])
        );
        Ok(())
    };
    for range in facts::immediate_ranges(callee_name(env, inst)) {
        in_range(range.argument, range.low, range.high)?;
    }
    let declared = &types.context.attr_list_data(attributes).params;
    for (at, &set) in declared.iter().enumerate() {
        let set = types.context.attr_set_data(set);
        let ends = set.range().filter(|_| set.has(AttrKind::ImmArg));
        let ends = ends.and_then(|(low, high)| Some((signed(types, low)?, signed(types, high)?)));
        if let Some((low, high)) = ends {
            in_range(at, low, high)?;
        }
    }
    Ok(())
}

/// An integer of at most 64 bits, by its sign.
pub(crate) fn signed(types: &Types<'_>, constant: Const) -> Option<i64> {
    let bits = types.bits(types.context.const_data(constant).ty).filter(|bits| *bits <= 64)?;
    let value = types.const_int(constant)?;
    let unused = 64 - bits as u32;
    Some((value << unused).cast_signed() >> unused)
}

/// Bundles that may occur once, and LLVM's message for a second one.
const SINGLE_BUNDLES: [(&[u8], &str); 9] = [
    (b"deopt", "Multiple deopt operand bundles"),
    (b"gc-transition", "Multiple gc-transition operand bundles"),
    (b"funclet", "Multiple funclet operand bundles"),
    (b"cfguardtarget", "Multiple CFGuardTarget operand bundles"),
    (b"ptrauth", "Multiple ptrauth operand bundles"),
    (b"kcfi", "Multiple kcfi operand bundles"),
    (b"preallocated", "Multiple preallocated operand bundles"),
    (b"gc-live", "Multiple gc-live operand bundles"),
    (b"clang.arc.attachedcall", "Multiple \"clang.arc.attachedcall\" operand bundles"),
];

/// Whether an operand is what a `clang.arc.attachedcall` bundle calls: it may be an intrinsic.
pub(crate) fn is_attached_call(env: &Env<'_>, inst: &InstView<'_>, at: usize) -> bool {
    let Some(call) = inst.call else { return false };
    let context = env.types.context;
    let Some(&operand) = inst.operands.get(at) else { return false };
    at >= call.args as usize
        && inst.bundles().any(|(tag, operands)| {
            context.bytes(tag) == b"clang.arc.attachedcall" && operands.contains(&operand)
        })
}

fn bundles(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let mut seen = [false; SINGLE_BUNDLES.len()];
    for (tag, operands) in inst.bundles() {
        let tag = env.types.context.bytes(tag);
        let Some(at) = SINGLE_BUNDLES.iter().position(|&(name, _)| name == tag) else { continue };
        ensure!(!std::mem::replace(&mut seen[at], true), SINGLE_BUNDLES[at].1);
        match tag {
            b"funclet" => {
                ensure!(operands.len() == 1, "Expected exactly one funclet bundle operand");
                let is_pad = operands[0].as_inst().is_some_and(|pad| {
                    matches!(inst.body.inst(pad).opcode, Opcode::CatchPad | Opcode::CleanupPad)
                });
                ensure!(is_pad, "Funclet bundle operands should correspond to a FuncletPadInst");
            }
            b"cfguardtarget" => {
                ensure!(operands.len() == 1, "Expected exactly one cfguardtarget bundle operand");
            }
            b"ptrauth" => {
                ensure!(operands.len() == 2, "Expected exactly two ptrauth bundle operands");
            }
            b"clang.arc.attachedcall" => {
                let (ret, context) = (inst.data.ty, env.types.context);
                let never_returns =
                    context.function_attrs(inst.call_attributes()).has(AttrKind::NoReturn);
                ensure!(
                    env.types.is_ptr(ret) || ret == Type::VOID && never_returns,
                    "a call with operand bundle \"clang.arc.attachedcall\" must call a function returning a pointer or a non-returning function that has a void return type"
                );
                let function = operands.first().and_then(|function| function.as_const());
                ensure!(
                    operands.len() == 1
                        && function.is_some_and(|function| env.function_of(function).is_some()),
                    "operand bundle \"clang.arc.attachedcall\" requires one function as an argument"
                );
            }
            b"kcfi" => ensure!(operands.len() == 1, "Expected exactly one kcfi bundle operand"),
            b"preallocated" => {
                ensure!(operands.len() == 1, "Expected exactly one preallocated bundle operand");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a value is a `swifterror` slot: such a parameter or such an `alloca`.
pub(crate) fn is_swift_error(env: &Env<'_>, inst: &InstView<'_>, value: Value) -> bool {
    match value.kind() {
        ValueKind::Arg(at) => {
            let attributes = inst.header.attributes;
            attributes != AttrList::EMPTY
                && env.types.context.param_attrs(attributes, at as usize).has(AttrKind::SwiftError)
        }
        ValueKind::Inst(def) => {
            let def = inst.body.inst(def);
            def.opcode == Opcode::Alloca && def.flags.contains(InstFlags::SWIFT_ERROR)
        }
        _ => false,
    }
}

/// Arguments of parameters that are marked `swifterror` are such slots.
fn swift_errors(env: &Env<'_>, inst: &InstView<'_>, lists: [AttrList; 2], fixed: usize) -> Check {
    for (at, &arg) in inst.args().iter().enumerate().take(fixed) {
        let is_marked = argument_has(env, lists, at, AttrKind::SwiftError);
        let message = match arg.kind() {
            ValueKind::Arg(_) => "swifterror argument for call has mismatched parameter",
            ValueKind::Inst(def) if inst.body.inst(def).opcode == Opcode::Alloca => {
                "swifterror argument for call has mismatched alloca"
            }
            _ => "swifterror argument should come from an alloca or parameter",
        };
        ensure!(!is_marked || is_swift_error(env, inst, arg), message, Related::Value(arg));
    }
    Ok(())
}

/// What gives attributes to the arguments of a call: the call, and the function that is called.
fn argument_lists(env: &Env<'_>, inst: &InstView<'_>) -> [AttrList; 2] {
    let callee = inst.const_callee().and_then(|constant| env.function_of(constant));
    // If the call has another function type, the attributes of the function do not apply.
    let callee = callee.filter(|header| {
        header.ty == inst.call.map(|call| call.function_type).unwrap_or(header.ty)
    });
    let declared = callee.map_or(AttrList::EMPTY, |header| header.attributes);
    [inst.call_attributes(), declared]
}

/// Whether an argument has an attribute by one of these lists.
fn argument_has(env: &Env<'_>, lists: [AttrList; 2], at: usize, kind: AttrKind) -> bool {
    let context = env.types.context;
    lists.iter().any(|&list| list != AttrList::EMPTY && context.param_attrs(list, at).has(kind))
}

/// Arguments marked `preallocated` are in the bundle of that name, or the call takes over those of
/// its caller.
fn preallocated(env: &Env<'_>, inst: &InstView<'_>, lists: [AttrList; 2]) -> Check {
    let context = env.types.context;
    let attributes = inst.call_attributes();
    ensure!(
        !context.function_attrs(attributes).has(AttrKind::Preallocated)
            || callee_name(env, inst) == b"llvm.call.preallocated.arg",
        "preallocated as a call site attribute can only be on llvm.call.preallocated.arg"
    );
    let is_marked = |at| argument_has(env, lists, at, AttrKind::Preallocated);
    if !(0..inst.args().len()).any(is_marked) {
        return Ok(());
    }
    let has_bundle = inst.bundles().any(|(tag, _)| context.bytes(tag) == b"preallocated");
    ensure!(
        has_bundle != inst.data.flags.contains(InstFlags::MUST_TAIL),
        "preallocated operand either requires a preallocated bundle or the call to be musttail (but not both)"
    );
    Ok(())
}

/// What may be done with a `swifterror` slot.
pub(crate) fn swift_error_use(env: &Env<'_>, inst: &InstView<'_>, at: usize) -> Check {
    match inst.opcode() {
        Opcode::Load => {}
        Opcode::Store => {
            ensure!(at == 1, "swifterror value should be the second operand when used by stores");
        }
        opcode if opcode.is_call() => {
            let lists = argument_lists(env, inst);
            ensure!(
                at < inst.args().len() && argument_has(env, lists, at, AttrKind::SwiftError),
                "swifterror value when used in a callsite should be marked with swifterror attribute"
            );
        }
        _ => ensure!(
            false,
            "swifterror value can only be loaded and stored from, or as a swifterror argument!"
        ),
    }
    Ok(())
}

/// At most one of `tail`, `musttail` and `notail`.
fn tail_kind(inst: &InstView<'_>) -> Check {
    let kinds = [InstFlags::TAIL, InstFlags::MUST_TAIL, InstFlags::NO_TAIL];
    ensure!(
        kinds.iter().filter(|&&kind| inst.data.flags.contains(kind)).count() <= 1,
        "A call is at most one of tail, musttail and notail!"
    );
    Ok(())
}

/// What `invoke` and `callbr` may call.
fn terminators(env: &Env<'_>, inst: &InstView<'_>, is_asm: bool, is_intrinsic: bool) -> Check {
    if inst.opcode() == Opcode::CallBr {
        let name = callee_name(env, inst);
        ensure!(
            is_asm || name == b"llvm.amdgcn.kill",
            "Callbr currently only supports asm-goto and selected intrinsics"
        );
    } else if is_intrinsic {
        let name = callee_name(env, inst);
        ensure!(
            INVOCABLE.iter().any(|prefix| name.starts_with(prefix)),
            "Cannot invoke an intrinsic other than donothing, patchpoint, statepoint, coro_resume, coro_destroy, clang.arc.attachedcall or wasm.(re)throw"
        );
    }
    Ok(())
}

const INVOCABLE: [&[u8]; 11] = [
    b"llvm.donothing",
    b"llvm.seh.try.begin",
    b"llvm.seh.try.end",
    b"llvm.seh.scope.begin",
    b"llvm.seh.scope.end",
    b"llvm.coro.resume",
    b"llvm.coro.destroy",
    b"llvm.coro.await.suspend",
    b"llvm.experimental.patchpoint",
    b"llvm.experimental.gc.statepoint",
    b"llvm.wasm.",
];

/// The name of a directly called function; empty otherwise.
pub(crate) fn callee_name<'a>(env: &Env<'a>, inst: &InstView<'_>) -> &'a [u8] {
    let name = inst.const_callee().and_then(|c| match &env.types.context.const_data(c).kind {
        ConstKind::Global(name) => Some(*name),
        _ => None,
    });
    name.map_or(b"", |name| env.name_bytes(name))
}

/// Whether the call is convergent: its effect depends on which threads execute it together.
pub(crate) fn is_convergent(env: &Env<'_>, inst: &InstView<'_>) -> bool {
    let context = env.types.context;
    if context.function_attrs(inst.call_attributes()).has(AttrKind::Convergent) {
        return true;
    }
    let Some(header) = inst.const_callee().and_then(|constant| env.function_of(constant)) else {
        return false;
    };
    context.function_attrs(header.attributes).has(AttrKind::Convergent) || {
        let name = env.name_bytes(header.name);
        name.starts_with(b"llvm.")
            && (name.starts_with(b"llvm.experimental.convergence.")
                || (env.convergent_intrinsic)(name))
    }
}

/// Attributes that the two ends of a `musttail` call must agree on, because they shape the frame.
const ABI_ATTRIBUTES: [AttrKind; 11] = [
    AttrKind::StructRet,
    AttrKind::ByVal,
    AttrKind::InAlloca,
    AttrKind::InReg,
    AttrKind::StackAlign,
    AttrKind::SwiftSelf,
    AttrKind::SwiftAsync,
    AttrKind::SwiftError,
    AttrKind::Preallocated,
    AttrKind::ByRef,
    AttrKind::Align,
];

/// A `musttail` call against the function it is in and the return that must follow it.
pub(crate) fn must_tail(env: &Env<'_>, inst: &InstView<'_>, call: crate::InstId) -> Check {
    let types = &env.types;
    let Some(info) = inst.call else { return Ok(()) };
    ensure!(!is_inline_asm(env, inst.callee()), "cannot use musttail call with inline asm");
    let TypeKind::Function { ret, params, vararg } = types.kind(info.function_type) else {
        return Ok(());
    };
    let caller = inst.header;
    ensure!(caller.vararg == *vararg, "cannot guarantee tail call due to mismatched varargs");
    let congruent = |a: Type, b: Type| {
        a == b
            || types.is_ptr(a)
                && types.is_ptr(b)
                && types.address_space(a) == types.address_space(b)
    };
    ensure!(
        congruent(caller.ret, *ret),
        "cannot guarantee tail call due to mismatched return types"
    );
    ensure!(
        caller.call_conv == info.call_conv,
        "cannot guarantee tail call due to mismatched calling conv"
    );
    // The call, an optional bitcast of its result, and the return of that.
    let body = inst.body;
    let mut result = call;
    let mut next = body.next(call);
    if let Some(cast) = next.filter(|&next| body.inst(next).opcode == Opcode::BitCast) {
        ensure!(
            body.operands(cast)[0] == Value::inst(call),
            "bitcast following musttail call must use the call",
            Related::Inst(cast)
        );
        result = cast;
        next = body.next(cast);
    }
    let ret_inst = next.filter(|&next| body.inst(next).opcode == Opcode::Ret);
    let Some(ret_inst) = ret_inst else {
        ensure!(false, "musttail call must precede a ret with an optional bitcast");
        return Ok(());
    };
    let returns_it = match body.operands(ret_inst).first() {
        None => true,
        Some(&value) => {
            value == Value::inst(result)
                || matches!(value.kind(), ValueKind::Const(c)
                    if matches!(types.context.const_data(c).kind, ConstKind::Undef | ConstKind::Poison))
        }
    };
    ensure!(returns_it, "musttail call result must be returned", Related::Inst(ret_inst));
    must_tail_signature(env, inst, info.attributes, params, congruent)
}

fn must_tail_signature(
    env: &Env<'_>,
    inst: &InstView<'_>,
    attributes: AttrList,
    params: &[Type],
    congruent: impl Fn(Type, Type) -> bool,
) -> Check {
    let (caller, context) = (inst.header, env.types.context);
    let conv = inst.call_conv();
    if conv == CallConv::TAIL || conv == CallConv::SWIFT_TAIL {
        // These conventions pop their own arguments, so the signatures may differ, but nothing may
        // be on the frame.
        let name = if conv == CallConv::TAIL { "tailcc" } else { "swifttailcc" };
        let frame = [
            AttrKind::InAlloca,
            AttrKind::InReg,
            AttrKind::SwiftError,
            AttrKind::Preallocated,
            AttrKind::ByRef,
        ];
        for (list, count, side) in [
            (caller.attributes, caller.params.len(), "caller"),
            (attributes, params.len(), "callee"),
        ] {
            for at in 0..count {
                let set = context.param_attrs(list, at);
                if let Some(kind) = frame.into_iter().find(|&kind| set.has(kind)) {
                    ensure!(
                        false,
                        format!("{} attribute not allowed in {name} musttail {side}", kind.text())
                    );
                }
            }
        }
        ensure!(!caller.vararg, format!("cannot guarantee {name} tail call for varargs function"));
        return Ok(());
    }
    let is_intrinsic = callee_name(env, inst).starts_with(b"llvm.");
    if !is_intrinsic {
        ensure!(
            caller.params.len() == params.len(),
            "cannot guarantee tail call due to mismatched parameter counts"
        );
        ensure!(
            caller.params.iter().zip(params).all(|(&a, &b)| congruent(a, b)),
            "cannot guarantee tail call due to mismatched parameter types"
        );
    }
    for (at, &arg) in inst.args().iter().take(caller.params.len()).enumerate() {
        let (ours, theirs) =
            (context.param_attrs(caller.attributes, at), context.param_attrs(attributes, at));
        let is_frame = |set: &crate::attributes::AttrSetData| {
            set.has(AttrKind::ByVal) || set.has(AttrKind::ByRef)
        };
        for kind in ABI_ATTRIBUTES {
            // Alignment counts only where it is the alignment of something on the frame.
            if kind == AttrKind::Align && !(is_frame(ours) || is_frame(theirs)) {
                continue;
            }
            ensure!(
                ours.get(kind) == theirs.get(kind),
                "cannot guarantee tail call due to mismatched ABI impacting function attributes",
                Related::Value(arg)
            );
        }
    }
    Ok(())
}
