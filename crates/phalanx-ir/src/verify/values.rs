//! Rules of instructions that compute values: arithmetic, comparisons, conversions, vectors,
//! aggregates.

use crate::{
    inst::{FloatPredicate, InstFlags, IntPredicate, Opcode},
    types::{Type, TypeKind},
    verify::{
        env::Env,
        fault::{Check, Related, ensure},
        types::Types,
        view::InstView,
    },
};

/// Operands of a two-operand operation.
pub(crate) fn binary(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    let (left, right) = (inst.ty(0), inst.ty(1));
    ensure!(left == right, "Both operands to a binary operator are not of the same type!");
    match inst.opcode() {
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::SDiv
        | Opcode::UDiv
        | Opcode::SRem
        | Opcode::URem => {
            ensure!(
                types.is_int_or_vector(left),
                "Integer arithmetic operators only work with integral types!"
            );
            ensure!(
                inst.data.ty == left,
                "Integer arithmetic operators must have same type for operands and result!"
            );
        }
        Opcode::FAdd | Opcode::FSub | Opcode::FMul | Opcode::FDiv | Opcode::FRem => {
            ensure!(
                types.is_float_or_vector(left),
                "Floating-point arithmetic operators only work with floating-point types!"
            );
            ensure!(
                inst.data.ty == left,
                "Floating-point arithmetic operators must have same type for operands and result!"
            );
        }
        Opcode::And | Opcode::Or | Opcode::Xor => {
            ensure!(
                types.is_int_or_vector(left),
                "Logical operators only work with integral types!"
            );
            ensure!(
                inst.data.ty == left,
                "Logical operators must have same type for operands and result!"
            );
        }
        _ => {
            ensure!(types.is_int_or_vector(left), "Shifts only work with integral types!");
            ensure!(inst.data.ty == left, "Shift return type must be same as operands!");
        }
    }
    Ok(())
}

/// Operand of `fneg`.
pub(crate) fn unary(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    ensure!(
        inst.data.ty == inst.ty(0),
        "Unary operators must have same type for operands and result!"
    );
    ensure!(types.is_float_or_vector(inst.ty(0)), "FNeg operator only works with float types!");
    Ok(())
}

/// Operands and predicate of a comparison.
pub(crate) fn compare(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    let ty = inst.ty(0);
    let expected = types.with_lanes(Type::I1, types.lanes(ty));
    if inst.opcode() == Opcode::ICmp {
        ensure!(ty == inst.ty(1), "Both operands to ICmp instruction are not of the same type!");
        ensure!(
            types.is_int_or_vector(ty) || types.is_ptr_or_vector(ty),
            "Invalid operand types for ICmp instruction"
        );
        ensure!(
            usize::from(inst.data.sub) < IntPredicate::ALL.len(),
            "Invalid predicate in ICmp instruction!"
        );
    } else {
        ensure!(ty == inst.ty(1), "Both operands to FCmp instruction are not of the same type!");
        ensure!(types.is_float_or_vector(ty), "Invalid operand types for FCmp instruction");
        ensure!(
            usize::from(inst.data.sub) < FloatPredicate::ALL.len(),
            "Invalid predicate in FCmp instruction!"
        );
    }
    ensure!(inst.data.ty == expected, "Result type of a comparison does not match its operands!");
    Ok(())
}

/// Operands of `select`.
pub(crate) fn select(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    let (condition, on_true, on_false) = (inst.ty(0), inst.ty(1), inst.ty(2));
    let fits = on_true == on_false
        && on_true != Type::TOKEN
        && match types.lanes(condition) {
            Some(lanes) => {
                types.scalar(condition) == Type::I1 && types.lanes(on_true) == Some(lanes)
            }
            None => condition == Type::I1,
        };
    ensure!(fits, "Invalid operands for select instruction!");
    ensure!(on_true == inst.data.ty, "Select values must have same type as select instruction!");
    Ok(())
}

/// Source and destination of a conversion.
pub(crate) fn cast(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    cast_types(env, inst.opcode(), inst.ty(0), inst.data.ty)
}

/// The rule of each conversion, for instructions and constant expressions alike.
pub(crate) fn cast_types(env: &Env<'_>, opcode: Opcode, from: Type, to: Type) -> Check {
    let types = &env.types;
    let (int, float, ptr) = (
        |ty| types.is_int_or_vector(ty),
        |ty| types.is_float_or_vector(ty),
        |ty| types.is_ptr_or_vector(ty),
    );
    let same_shape = types.lanes(from) == types.lanes(to);
    let width = |ty: Type| types.bits(types.scalar(ty)).unwrap_or(0);
    match opcode {
        Opcode::Trunc => {
            ensure!(int(from), "Trunc only operates on integer");
            ensure!(int(to), "Trunc only produces integer");
            ensure!(same_shape, "trunc source and destination must both be a vector or neither");
            ensure!(width(from) > width(to), "DestTy too big for Trunc");
        }
        Opcode::ZExt => {
            ensure!(int(from), "ZExt only operates on integer");
            ensure!(int(to), "ZExt only produces an integer");
            ensure!(same_shape, "zext source and destination must both be a vector or neither");
            ensure!(width(from) < width(to), "Type too small for ZExt");
        }
        Opcode::SExt => {
            ensure!(int(from), "SExt only operates on integer");
            ensure!(int(to), "SExt only produces an integer");
            ensure!(same_shape, "sext source and destination must both be a vector or neither");
            ensure!(width(from) < width(to), "Type too small for SExt");
        }
        Opcode::FpTrunc => {
            ensure!(float(from), "FPTrunc only operates on FP");
            ensure!(float(to), "FPTrunc only produces an FP");
            ensure!(same_shape, "fptrunc source and destination must both be a vector or neither");
            ensure!(width(from) > width(to), "DestTy too big for FPTrunc");
        }
        Opcode::FpExt => {
            ensure!(float(from), "FPExt only operates on FP");
            ensure!(float(to), "FPExt only produces an FP");
            ensure!(same_shape, "fpext source and destination must both be a vector or neither");
            ensure!(width(from) < width(to), "DestTy too small for FPExt");
        }
        Opcode::UiToFp | Opcode::SiToFp => {
            let signed = opcode == Opcode::SiToFp;
            let pick = |s, u| if signed { s } else { u };
            ensure!(
                same_shape,
                pick(
                    "SIToFP source and dest must both be vector or scalar",
                    "UIToFP source and dest must both be vector or scalar"
                )
            );
            ensure!(
                int(from),
                pick(
                    "SIToFP source must be integer or integer vector",
                    "UIToFP source must be integer or integer vector"
                )
            );
            ensure!(
                float(to),
                pick(
                    "SIToFP result must be FP or FP vector",
                    "UIToFP result must be FP or FP vector"
                )
            );
        }
        Opcode::FpToUi | Opcode::FpToSi => {
            let signed = opcode == Opcode::FpToSi;
            let pick = |s, u| if signed { s } else { u };
            ensure!(
                same_shape,
                pick(
                    "FPToSI source and dest must both be vector or scalar",
                    "FPToUI source and dest must both be vector or scalar"
                )
            );
            ensure!(
                float(from),
                pick(
                    "FPToSI source must be FP or FP vector",
                    "FPToUI source must be FP or FP vector"
                )
            );
            ensure!(
                int(to),
                pick(
                    "FPToSI result must be integer or integer vector",
                    "FPToUI result must be integer or integer vector"
                )
            );
        }
        Opcode::PtrToInt => {
            ensure!(ptr(from), "PtrToInt source must be pointer");
            ensure!(int(to), "PtrToInt result must be integral");
            ensure!(same_shape, "PtrToInt type mismatch");
        }
        Opcode::PtrToAddr => {
            ensure!(ptr(from), "PtrToAddr source must be pointer");
            ensure!(int(to), "PtrToAddr result must be integral");
            ensure!(same_shape, "PtrToAddr type mismatch");
            let space = types.address_space(from).unwrap_or(0);
            ensure!(
                width(to) == u64::from(env.index.layout.address_bits(space)),
                "PtrToAddr result must be address width"
            );
        }
        Opcode::IntToPtr => {
            ensure!(int(from), "IntToPtr source must be an integral");
            ensure!(ptr(to), "IntToPtr result must be a pointer");
            ensure!(same_shape, "IntToPtr type mismatch");
        }
        Opcode::BitCast => ensure!(bitcast_fits(types, from, to), "Invalid bitcast"),
        Opcode::AddrSpaceCast => {
            ensure!(ptr(from), "AddrSpaceCast source must be a pointer");
            ensure!(ptr(to), "AddrSpaceCast result must be a pointer");
            ensure!(
                types.address_space(from) != types.address_space(to),
                "AddrSpaceCast must be between different address spaces"
            );
            ensure!(same_shape, "AddrSpaceCast vector pointer number of elements mismatch");
        }
        _ => ensure!(false, "Not a conversion!"),
    }
    Ok(())
}

/// Whether a `bitcast` keeps all bits: same size, and pointers only to pointers of the same address
/// space.
fn bitcast_fits(types: &Types<'_>, from: Type, to: Type) -> bool {
    if !types.is_first_class(from)
        || !types.is_first_class(to)
        || types.is_aggregate(from)
        || types.is_aggregate(to)
    {
        return false;
    }
    match (types.is_ptr_or_vector(from), types.is_ptr_or_vector(to)) {
        (true, true) => {
            let same_space = types.address_space(from) == types.address_space(to);
            // A vector of one lane and a scalar have the same bits.
            let lanes = |ty| {
                types
                    .lanes(ty)
                    .filter(|l| *l != crate::verify::types::Lanes { len: 1, scalable: false })
            };
            same_space && lanes(from) == lanes(to)
        }
        (false, false) => {
            let scalable = |ty| types.lanes(ty).is_some_and(|l| l.scalable);
            let sizes = (types.bits(from), types.bits(to));
            match sizes {
                (Some(a), Some(b)) => a == b && scalable(from) == scalable(to),
                (None, None) => from == to,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Operands of `extractelement`, `insertelement` and `shufflevector`.
pub(crate) fn vector(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    let vector = inst.ty(0);
    match inst.opcode() {
        Opcode::ExtractElement => ensure!(
            types.is_vector(vector) && types.is_int(inst.ty(1)),
            "Invalid extractelement operands!"
        ),
        Opcode::InsertElement => ensure!(
            types.is_vector(vector)
                && types.scalar(vector) == inst.ty(1)
                && types.is_int(inst.ty(2)),
            "Invalid insertelement operands!"
        ),
        _ => ensure!(shuffle_fits(types, inst), "Invalid shufflevector operands!"),
    }
    Ok(())
}

/// Two vectors of one type and a constant mask whose lanes all exist.
fn shuffle_fits(types: &Types<'_>, inst: &InstView<'_>) -> bool {
    use crate::constant::ConstKind;
    let (Some(source), Some(mask_lanes)) = (types.lanes(inst.ty(0)), types.lanes(inst.ty(2)))
    else {
        return false;
    };
    let Some(mask) = inst.operands[2].as_const() else { return false };
    if inst.ty(0) != inst.ty(1)
        || types.scalar(inst.ty(2)) != Type::I32
        || source.scalable != mask_lanes.scalable
    {
        return false;
    }
    let limit = u64::from(source.len) * 2;
    let lane_fits = |lane: &ConstKind| match lane {
        ConstKind::Undef | ConstKind::Poison | ConstKind::Zero => true,
        ConstKind::Int(int) => int.to_u64().is_some_and(|n| n < limit),
        _ => false,
    };
    let kind_of = |constant| &types.context.const_data(constant).kind;
    match kind_of(mask) {
        ConstKind::Zero | ConstKind::Undef | ConstKind::Poison => true,
        _ if source.scalable => false,
        ConstKind::Aggregate(lanes) => lanes.iter().all(|&lane| lane_fits(kind_of(lane))),
        ConstKind::Splat(lane) => lane_fits(kind_of(*lane)),
        _ => false,
    }
}

/// Operands of `extractvalue` and `insertvalue`.
pub(crate) fn aggregate(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    let member = types.at_indices(inst.ty(0), inst.indices).filter(|_| !inst.indices.is_empty());
    if inst.opcode() == Opcode::ExtractValue {
        ensure!(member == Some(inst.data.ty), "Invalid ExtractValueInst operands!");
    } else {
        ensure!(member == Some(inst.ty(1)), "Invalid InsertValueInst operands!");
    }
    Ok(())
}

/// Incoming values of a phi; where they come from is a rule of the flow.
pub(crate) fn phi(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    ensure!(!env.types.is_token_like(inst.data.ty), "PHI nodes cannot have token type!");
    let values = inst.types.len() / 2;
    ensure!(
        inst.types[..values].iter().all(|&ty| ty == inst.data.ty),
        "PHI node operands are not the same type as the result!"
    );
    Ok(())
}

/// Flags that the opcode does not know.
pub(crate) fn flags(types: &Types<'_>, inst: &InstView<'_>) -> Check {
    let known = known_flags(inst.opcode());
    ensure!(
        known.contains(inst.data.flags),
        "Instruction has flags that its opcode does not know!"
    );
    let may_lack_float = matches!(inst.opcode(), Opcode::Phi | Opcode::Select | Opcode::Call);
    if may_lack_float && inst.data.flags.fast_math() != InstFlags::NONE {
        ensure!(
            is_fast_math_type(types, inst.data.ty),
            "fast-math flags on a result that is not floating point!",
            Related::Type(inst.data.ty)
        );
    }
    Ok(())
}

/// Floating point, vectors, arrays and uniform literal structures of it.
fn is_fast_math_type(types: &Types<'_>, ty: Type) -> bool {
    let mut ty = ty;
    if let TypeKind::Struct { fields, .. } = types.kind(ty) {
        match fields.split_first() {
            Some((first, rest)) if rest.iter().all(|field| field == first) => ty = *first,
            _ => return false,
        }
    }
    while let TypeKind::Array { elem, .. } = types.kind(ty) {
        ty = *elem;
    }
    types.is_float_or_vector(ty)
}

fn known_flags(opcode: Opcode) -> InstFlags {
    let all = |flags: &[InstFlags]| flags.iter().fold(InstFlags::NONE, |all, &f| all.with(f));
    match opcode {
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Shl | Opcode::Trunc => {
            all(&[InstFlags::NUW, InstFlags::NSW])
        }
        Opcode::UDiv | Opcode::SDiv | Opcode::LShr | Opcode::AShr => InstFlags::EXACT,
        Opcode::Or => InstFlags::DISJOINT,
        Opcode::ZExt => InstFlags::NNEG,
        Opcode::UiToFp | Opcode::SiToFp => all(&[InstFlags::NNEG, InstFlags::FAST]),
        Opcode::ICmp => InstFlags::SAME_SIGN,
        Opcode::GetElementPtr => all(&[InstFlags::NUW, InstFlags::INBOUNDS, InstFlags::NUSW]),
        Opcode::FNeg
        | Opcode::FAdd
        | Opcode::FSub
        | Opcode::FMul
        | Opcode::FDiv
        | Opcode::FRem
        | Opcode::FpTrunc
        | Opcode::FpExt
        | Opcode::FCmp
        | Opcode::Phi
        | Opcode::Select => InstFlags::FAST,
        Opcode::Call => {
            all(&[InstFlags::FAST, InstFlags::TAIL, InstFlags::MUST_TAIL, InstFlags::NO_TAIL])
        }
        Opcode::Load | Opcode::Store => all(&[InstFlags::VOLATILE, InstFlags::ATOMIC]),
        Opcode::CmpXchg => all(&[InstFlags::VOLATILE, InstFlags::WEAK]),
        Opcode::AtomicRmw => InstFlags::VOLATILE,
        Opcode::Alloca => all(&[InstFlags::IN_ALLOCA, InstFlags::SWIFT_ERROR]),
        Opcode::LandingPad | Opcode::CatchSwitch => InstFlags::CLEANUP,
        _ => InstFlags::NONE,
    }
}
