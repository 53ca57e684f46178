//! Rules of intrinsics of AMD's GPUs beyond types and immediates.
//!
//! ```text
//! call i32 (ptr, ...) @llvm.amdgcn.call.whole.wave(ptr @f, i32 %x)
//! ```
//!
//! calls a function of another convention, whose first parameter is the mask of active lanes. The
//! operands of matrix products are vectors that hold the registers of their formats. O(operands).

use crate::{
    attributes::AttrKind,
    call_conv::CallConv,
    types::{Type, TypeKind},
    verify::{
        env::Env,
        fault::{Check, ensure},
        view::InstView,
    },
};

/// A call of an intrinsic; `name` is without `llvm.amdgcn.`
pub(super) fn call(env: &Env<'_>, inst: &InstView<'_>, name: &str) -> Check {
    match name {
        "call.whole.wave" => whole_wave(env, inst),
        "init.exec.from.input" => {
            let argument = inst.args().first().and_then(|value| value.as_arg());
            let context = env.types.context;
            ensure!(
                argument.is_some_and(|at| context
                    .param_attrs(inst.header.attributes, at as usize)
                    .has(AttrKind::InReg)),
                "only inreg arguments to the parent function are valid as inputs to this intrinsic"
            );
            Ok(())
        }
        "s.prefetch.data" => {
            let space = inst.types.first().and_then(|&ty| env.types.address_space(ty));
            ensure!(
                space.is_none_or(|space| matches!(space, 0 | 1 | 4) || space > 9),
                "llvm.amdgcn.s.prefetch.data only supports global or constant memory"
            );
            Ok(())
        }
        "mfma.scale.f32.16x16x128.f8f6f4" | "mfma.scale.f32.32x32x64.f8f6f4" => {
            let formats =
                [(3, "cbsz"), (4, "blgp")].map(|(at, name)| (at, format!("{name} format")));
            product(env, inst, &formats, [0, 1], ([8, 6, 4], "4, 6 or 8"))
        }
        "wmma.f32.16x16x128.f8f6f4"
        | "wmma.scale.f32.16x16x128.f8f6f4"
        | "wmma.scale16.f32.16x16x128.f8f6f4" => {
            let formats = [0, 2].map(|at| (at, "matrix format".to_owned()));
            product(env, inst, &formats, [1, 3], ([16, 12, 8], "8, 12 or 16"))
        }
        _ => Ok(()),
    }
}

/// A matrix product: where the formats and the matrices are, and how many registers formats of 8, 6
/// and 4 bits take.
fn product(
    env: &Env<'_>,
    inst: &InstView<'_>,
    formats: &[(usize, String); 2],
    matrices: [usize; 2],
    (sizes, wanted): ([u32; 3], &str),
) -> Check {
    let mut registers = [0; 2];
    for ((at, name), registers) in formats.iter().zip(&mut registers) {
        let number = inst.args().get(*at).and_then(|value| value.as_const());
        let number = number.and_then(|constant| env.types.const_int(constant));
        ensure!(number.is_none_or(|number| number <= 4), format!("invalid value for {name}"));
        *registers = match number.unwrap_or(4) {
            0 | 1 => sizes[0],
            2 | 3 => sizes[1],
            _ => sizes[2],
        };
    }
    let length = |at: usize| match env.types.kind(inst.ty(at)) {
        TypeKind::Vector { elem, len, scalable: false } if *elem == Type::I32 => Some(*len),
        _ => None,
    };
    for at in matrices {
        ensure!(
            length(at).is_some_and(|len| sizes.contains(&len)),
            format!("operand {at} must be {wanted} element i32 vector")
        );
    }
    for (at, registers) in matrices.into_iter().zip(registers) {
        // Further registers are ignored.
        ensure!(length(at).is_some_and(|len| len >= registers), "invalid vector type for format");
    }
    Ok(())
}

/// A call that switches all lanes on.
fn whole_wave(env: &Env<'_>, inst: &InstView<'_>) -> Check {
    let context = env.types.context;
    let callee = inst.args().first().and_then(|callee| callee.as_const());
    let Some(header) = callee.and_then(|callee| env.function_of(callee)) else {
        ensure!(false, "Indirect whole wave calls are not allowed");
        return Ok(());
    };
    ensure!(
        header.call_conv == CallConv::AMDGPU_GFX_WHOLE_WAVE,
        "Callee must have the amdgpu_gfx_whole_wave calling convention"
    );
    ensure!(!header.vararg, "Variadic whole wave calls are not allowed");
    ensure!(
        inst.args().len() == header.params.len(),
        "Call argument count must match callee argument count"
    );
    ensure!(header.params.first() == Some(&Type::I1), "Callee must have i1 as its first argument");
    let in_reg = |list, at| context.param_attrs(list, at).has(AttrKind::InReg);
    for (at, &param) in header.params.iter().enumerate().skip(1) {
        ensure!(inst.ty(at) == param, "Argument types must match");
        ensure!(
            in_reg(inst.call_attributes(), at) == in_reg(header.attributes, at),
            "Argument inreg attributes must match"
        );
    }
    Ok(())
}
