//! Rules of instructions that touch memory or compute addresses.

use std::borrow::Cow;

use crate::{
    constant::ConstKind,
    inst::{InstFlags, Opcode, Ordering, RmwOp},
    symbol::SyncScope,
    types::{Type, TypeKind},
    value::Value,
    verify::{
        env::Env,
        fault::{Check, Related, ensure},
        types::{MAX_ALIGN, Types},
        view::InstView,
    },
};

/// `alloca`
pub(crate) fn alloca(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let types = &env.types;
    let allocated = inst.data.element_type();
    ensure!(types.is_sized(allocated), "Cannot allocate unsized type");
    ensure!(types.is_int(inst.ty(0)), "Alloca array size must have integer type");
    check_align(inst)?;
    if inst.data.flags.contains(InstFlags::SWIFT_ERROR) {
        ensure!(types.is_ptr(allocated), "swifterror alloca must have pointer type");
        ensure!(!is_array_allocation(env, inst), "swifterror alloca must not be array allocation");
    }
    let Some(space) = types.kind(inst.data.ty).address_space() else {
        ensure!(false, "Alloca result must be a pointer");
        return Ok(());
    };
    ensure!(!env.amdgpu || space == 5, "alloca on amdgpu must be in addrspace(5)");
    ensure!(!types.contains_group_object(allocated), "Alloca has illegal target extension type");
    Ok(())
}

fn is_array_allocation(env: &Env<'_>, inst: &InstView<'_>) -> bool {
    inst.operands[0].as_const().and_then(|c| env.types.const_int(c)) != Some(1)
}

fn check_align(inst: &InstView<'_>) -> Check {
    let align = inst.data.mem().align().unwrap_or(1);
    ensure!(align <= MAX_ALIGN, "huge alignment values are unsupported");
    Ok(())
}

/// `load`
pub(crate) fn load(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    ensure!(types.is_ptr(inst.ty(0)), "Load operand must be a pointer.");
    check_align(inst)?;
    let ty = inst.data.ty;
    ensure!(types.is_sized(ty), "loading unsized types is not allowed");
    if inst.data.flags.contains(InstFlags::ATOMIC) {
        ensure!(
            !matches!(inst.data.mem().ordering(), Ordering::Release | Ordering::AcqRel),
            "Load cannot have Release ordering"
        );
        ensure!(
            is_atomic_type(types, ty),
            "atomic load operand must have integer, pointer, floating point, or vector type!",
            Related::Type(ty)
        );
        atomic_size(types, ty)?;
        ensure!(
            inst.data.mem().ordering() != Ordering::NotAtomic,
            "atomic load without an ordering!"
        );
    } else {
        not_atomic(inst, "Non-atomic load cannot have SynchronizationScope specified")?;
    }
    Ok(())
}

/// `store`
pub(crate) fn store(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    ensure!(types.is_ptr(inst.ty(1)), "Store operand must be a pointer.");
    check_align(inst)?;
    let ty = inst.ty(0);
    ensure!(types.is_sized(ty), "storing unsized types is not allowed");
    if inst.data.flags.contains(InstFlags::ATOMIC) {
        ensure!(
            !matches!(inst.data.mem().ordering(), Ordering::Acquire | Ordering::AcqRel),
            "Store cannot have Acquire ordering"
        );
        ensure!(
            is_atomic_type(types, ty),
            "atomic store operand must have integer, pointer, floating point, or vector type!",
            Related::Type(ty)
        );
        atomic_size(types, ty)?;
        ensure!(
            inst.data.mem().ordering() != Ordering::NotAtomic,
            "atomic store without an ordering!"
        );
    } else {
        not_atomic(inst, "Non-atomic store cannot have SynchronizationScope specified")?;
    }
    Ok(())
}

fn not_atomic(inst: &InstView<'_>, message: &'static str) -> Check {
    let mem = inst.data.mem();
    ensure!(mem.scope() == SyncScope::SYSTEM, message);
    ensure!(mem.ordering() == Ordering::NotAtomic, "Non-atomic access cannot have an ordering");
    Ok(())
}

fn is_atomic_type(types: &Types<'_>, ty: Type) -> bool {
    let scalar = match types.kind(ty) {
        TypeKind::Vector { elem, scalable: false, .. } => *elem,
        TypeKind::Vector { .. } => return false,
        _ => ty,
    };
    types.is_int(scalar) || types.is_ptr(scalar) || types.is_float(scalar)
}

/// The size of an atomic access must be a power of two of at least eight bits. The size of pointers
/// is not checked, since it depends on the target.
fn atomic_size(types: &Types<'_>, ty: Type) -> Check {
    if let Some(bits) = types.bits(ty) {
        ensure!(bits >= 8, "atomic memory access' size must be byte-sized", Related::Type(ty));
        ensure!(
            bits.is_power_of_two(),
            "atomic memory access' operand must have a power-of-two size",
            Related::Type(ty)
        );
    }
    Ok(())
}

/// `fence`
pub(crate) fn fence(inst: &InstView<'_>) -> Check {
    ensure!(
        matches!(
            inst.data.mem().ordering(),
            Ordering::Acquire | Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
        ),
        "fence instructions may only have acquire, release, acq_rel, or seq_cst ordering."
    );
    Ok(())
}

/// `cmpxchg`
pub(crate) fn cmpxchg(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    ensure!(types.is_ptr(inst.ty(0)), "cmpxchg operand must be a pointer");
    let ty = inst.ty(1);
    ensure!(
        types.is_int(ty) || types.is_ptr(ty),
        "cmpxchg operand must have integer or pointer type",
        Related::Type(ty)
    );
    atomic_size(types, ty)?;
    ensure!(ty == inst.ty(2), "cmpxchg operands must have the same type", Related::Type(ty));
    check_align(inst)?;
    let at_least_monotonic = |o| !matches!(o, Ordering::NotAtomic | Ordering::Unordered);
    ensure!(at_least_monotonic(inst.data.mem().ordering()), "invalid cmpxchg success ordering");
    let failure = inst.data.mem().failure_ordering();
    ensure!(
        at_least_monotonic(failure) && !matches!(failure, Ordering::Release | Ordering::AcqRel),
        "invalid cmpxchg failure ordering"
    );
    Ok(())
}

/// `atomicrmw`
pub(crate) fn atomicrmw(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    ensure!(types.is_ptr(inst.ty(0)), "atomicrmw operand must be a pointer");
    ensure!(
        inst.data.mem().ordering() != Ordering::Unordered,
        "atomicrmw instructions cannot be unordered."
    );
    ensure!(
        inst.data.mem().ordering() != Ordering::NotAtomic,
        "atomicrmw instructions must be atomic."
    );
    check_align(inst)?;
    ensure!(usize::from(inst.data.sub) < RmwOp::ALL.len(), "Invalid binary operation!");
    let (op, ty) = (inst.data.rmw_op(), inst.ty(1));
    let complain =
        |what: &str| Cow::Owned(format!("atomicrmw {} operand must have {what} type!", op.text()));
    match op {
        RmwOp::Xchg => ensure!(
            types.is_int(ty) || types.is_float(ty) || types.is_ptr(ty),
            complain("integer or floating point"),
            Related::Type(ty)
        ),
        RmwOp::FAdd
        | RmwOp::FSub
        | RmwOp::FMax
        | RmwOp::FMin
        | RmwOp::FMaximum
        | RmwOp::FMinimum => ensure!(
            types.is_float_or_vector(ty) && !types.lanes(ty).is_some_and(|l| l.scalable),
            complain("floating-point or fixed vector of floating-point"),
            Related::Type(ty)
        ),
        _ => ensure!(types.is_int(ty), complain("integer"), Related::Type(ty)),
    }
    atomic_size(types, ty)
}

/// `getelementptr`
pub(crate) fn gep(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    let base = inst.ty(0);
    ensure!(
        types.is_ptr_or_vector(base),
        "GEP base pointer is not a vector or a vector of pointers"
    );
    let source = inst.data.element_type();
    ensure!(types.is_sized(source), "GEP into unsized type!");
    ensure!(
        types.fields(source).is_none_or(|fields| !fields.iter().any(|&f| types.is_scalable(f))),
        "getelementptr cannot target structure that contains scalable vector type"
    );
    ensure!(
        inst.types[1..].iter().all(|&ty| types.is_int_or_vector(ty)),
        "GEP indexes must be integers"
    );
    ensure!(
        gep_element(types, source, &inst.operands[1..]).is_some(),
        "Invalid indices for GEP pointer type!"
    );
    ensure!(
        types.is_ptr_or_vector(inst.data.ty),
        "GEP is not of right type for indices!",
        Related::Type(inst.data.ty)
    );
    if let Some(lanes) = types.lanes(inst.data.ty) {
        ensure!(
            types.lanes(base).is_none_or(|l| l == lanes),
            "Vector GEP result width doesn't match operand's"
        );
        ensure!(
            inst.types[1..].iter().all(|&ty| types.lanes(ty).is_none_or(|l| l == lanes)),
            "Invalid GEP index vector width"
        );
    }
    ensure!(
        types.address_space(base) == types.address_space(inst.data.ty),
        "GEP address space doesn't match type"
    );
    ensure!(
        types.lanes(inst.data.ty) == inst.types.iter().find_map(|&ty| types.lanes(ty)),
        "GEP is not of right type for indices!",
        Related::Type(inst.data.ty)
    );
    Ok(())
}

/// The type that the indices of a `getelementptr` lead to; the first index steps over whole
/// elements.
pub(crate) fn gep_element(types: &Types<'_>, source: Type, indices: &[Value]) -> Option<Type> {
    indices.iter().skip(1).try_fold(source, |ty, &index| match types.kind(ty) {
        TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => Some(*elem),
        TypeKind::Struct { .. } | TypeKind::Named(_) => {
            let index = index.as_const()?;
            let data = types.context.const_data(index);
            let is_fixed = types.lanes(data.ty).is_none_or(|lanes| !lanes.scalable);
            let is_i32 = types.scalar(data.ty) == Type::I32 && is_fixed;
            let is_number = !matches!(data.kind, ConstKind::Undef | ConstKind::Poison);
            let number = types.const_int(index).filter(|_| is_i32 && is_number)?;
            types.member(ty, number)
        }
        _ => None,
    })
}

/// `va_arg`
pub(crate) fn va_arg(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    ensure!(types.is_ptr(inst.ty(0)), "va_arg operand must be a pointer");
    ensure!(types.is_first_class(inst.data.ty), "va_arg requires operand with first class type");
    Ok(())
}

/// Dispatch for all opcodes of this theme.
pub(crate) fn check(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    match inst.opcode() {
        Opcode::Alloca => alloca(env, inst),
        Opcode::Load => load(&env.types, inst),
        Opcode::Store => store(&env.types, inst),
        Opcode::Fence => fence(inst),
        Opcode::CmpXchg => cmpxchg(&env.types, inst),
        Opcode::AtomicRmw => atomicrmw(&env.types, inst),
        Opcode::GetElementPtr => gep(&env.types, inst),
        _ => va_arg(&env.types, inst),
    }
}
