//! Rules of inline assembly: its constraints fit its function type.

use crate::{
    attributes::{AttrKind, AttrList},
    constant::InlineAsm,
    types::{Type, TypeKind},
    verify::{
        fault::{Check, ensure},
        types::Types,
    },
};

/// Counts of constraints by kind. Outputs come first, then inputs and labels, then clobbers.
#[derive(Default)]
struct Counts {
    outputs: usize,
    inputs: usize,
    indirect: usize,
    labels: usize,
    clobbers: usize,
}

/// Checks constraints against the function type: outputs are the result, inputs and indirect
/// outputs are the parameters. O(length of the constraints).
pub(crate) fn check(types: &Types<'_>, asm: &InlineAsm) -> Check {
    let TypeKind::Function { ret, params, vararg } = types.kind(asm.function_type) else {
        ensure!(false, "inline asm must have a function type");
        return Ok(());
    };
    ensure!(!vararg, "inline asm cannot be variadic");
    let mut counts = Counts::default();
    let constraints = types.context.bytes(asm.constraints);
    if !constraints.is_empty() {
        for constraint in split(constraints) {
            count(&mut counts, constraint)?;
        }
    }
    match counts.outputs {
        0 => ensure!(*ret == Type::VOID, "inline asm without outputs must return void"),
        1 => ensure!(
            !matches!(types.kind(*ret), TypeKind::Struct { .. } | TypeKind::Named(_)),
            "inline asm with one output cannot return struct"
        ),
        outputs => ensure!(
            types.fields(*ret).is_some_and(|fields| fields.len() == outputs),
            "number of output constraints does not match number of return struct elements"
        ),
    }
    ensure!(
        params.len() == counts.inputs,
        "number of input constraints does not match number of parameters"
    );
    Ok(())
}

/// Checks that exactly the arguments of indirect constraints have an `elementtype` attribute.
/// O(length of the constraints).
pub(crate) fn call(types: &Types<'_>, asm: &InlineAsm, attributes: AttrList) -> Check {
    let constraints = types.context.bytes(asm.constraints);
    let params = types.kind(asm.function_type);
    let TypeKind::Function { params, .. } = params else { return Ok(()) };
    let mut position = 0;
    for constraint in split(constraints) {
        let (is_output, rest) = match constraint {
            [b'~' | b'!', ..] => continue,
            [b'=', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let is_indirect = rest.first() == Some(&b'*');
        if is_output && !is_indirect {
            continue;
        }
        let marks = types.context.param_attrs(attributes, position);
        let is_marked = marks.has(AttrKind::ElementType);
        if is_indirect {
            let is_ptr = params.get(position).is_some_and(|&ty| types.is_ptr(ty));
            ensure!(is_ptr, "Operand for indirect constraint must have pointer type");
            ensure!(is_marked, "Operand for indirect constraint must have elementtype attribute");
        } else {
            ensure!(
                !is_marked,
                "Elementtype attribute can only be applied for indirect constraints"
            );
        }
        position += 1;
    }
    Ok(())
}

/// Splits constraints at commas outside of braces; braces contain names of registers.
fn split(constraints: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut in_braces = false;
    constraints.split(move |&byte| {
        match byte {
            b'{' => in_braces = true,
            b'}' => in_braces = false,
            _ => {}
        }
        byte == b',' && !in_braces
    })
}

fn count(counts: &mut Counts, constraint: &[u8]) -> Check {
    ensure!(!constraint.is_empty(), "failed to parse constraints");
    match constraint[0] {
        b'~' => counts.clobbers += 1,
        b'!' => {
            ensure!(counts.clobbers == 0, "label constraint occurs after clobber constraint");
            counts.labels += 1;
        }
        b'=' => {
            ensure!(
                counts.inputs == counts.indirect && counts.clobbers == 0 && counts.labels == 0,
                "output constraint occurs after input, clobber or label constraint"
            );
            let marks = constraint[1..].iter().take_while(|byte| b"*&%".contains(byte));
            if marks.into_iter().any(|&mark| mark == b'*') {
                counts.indirect += 1;
                counts.inputs += 1;
            } else {
                counts.outputs += 1;
            }
        }
        _ => {
            ensure!(counts.clobbers == 0, "input constraint occurs after clobber constraint");
            counts.inputs += 1;
        }
    }
    Ok(())
}
