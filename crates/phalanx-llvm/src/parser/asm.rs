//! Checks the constraints of inline assembly against its function type.
//!
//! A list of constraints is separated by commas: outputs (`=`) first, then inputs and labels (`!`),
//! then clobbers (`~{..}`). The letters of a constraint have a meaning for the target only; the
//! parser checks how many values they need. An output or input with `*` is passed by address and
//! counts as an input.

use phalanx_ir::{Type, TypeKind, constant::InlineAsm};

use super::Parser;
use crate::error::{PResult, Span};

#[derive(Copy, Clone, PartialEq, Eq)]
enum Role {
    Output,
    Input,
    Label,
    Clobber,
}

struct Constraint {
    role: Role,
    indirect: bool,
}

/// One constraint without its comma; None when it is malformed. `before` are the ones to its left.
fn parse_constraint(text: &[u8], before: &[Constraint]) -> Option<Constraint> {
    let (role, mut rest) = match text {
        [b'~', rest @ ..] if rest.is_empty() || rest[0] == b'{' => (Role::Clobber, rest),
        [b'~', ..] => return None,
        [b'=', rest @ ..] => (Role::Output, rest),
        [b'!', rest @ ..] => (Role::Label, rest),
        _ => (Role::Input, text),
    };
    let indirect = rest.first() == Some(&b'*');
    rest = &rest[usize::from(indirect)..];
    let (mut early_clobber, mut commutative) = (false, false);
    loop {
        let (flag, allowed) = match rest.first()? {
            b'&' => (&mut early_clobber, role == Role::Output),
            b'%' => (&mut commutative, role != Role::Clobber),
            b'#' | b'*' => return None,
            _ => break,
        };
        if !allowed || std::mem::replace(flag, true) {
            return None;
        }
        rest = &rest[1..];
    }
    while let [first, tail @ ..] = rest {
        rest = match first {
            b'{' => &tail[memchr::memchr(b'}', tail)? + 1..],
            b'0'..=b'9' => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
                if role != Role::Input || before.get(number)?.role != Role::Output {
                    return None;
                }
                &rest[digits..]
            }
            // Two letters.
            b'^' => tail.get(2..)?,
            // The digit is the number of letters.
            b'@' => {
                let count = tail.first().filter(|byte| byte.is_ascii_digit())?;
                tail.get(1 + usize::from(count - b'0')..)?
            }
            _ => tail,
        };
    }
    Some(Constraint { role, indirect })
}

fn parse_constraints(text: &[u8]) -> Option<Vec<Constraint>> {
    let mut constraints = Vec::new();
    if text.is_empty() {
        return Some(constraints);
    }
    for part in text.split(|&byte| byte == b',') {
        let constraint = parse_constraint(part, &constraints)?;
        constraints.push(constraint);
    }
    Some(constraints)
}

impl Parser<'_> {
    /// Whether the constraints of inline assembly fit its function type.
    pub(crate) fn check_asm(&self, asm: &InlineAsm, span: Span) -> PResult<()> {
        match self.asm_fault(asm) {
            None => Ok(()),
            Some(message) => Err(self.error(span, message)),
        }
    }

    fn asm_fault(&self, asm: &InlineAsm) -> Option<String> {
        let TypeKind::Function { ret, params, vararg } = self.context.type_kind(asm.function_type)
        else {
            return None;
        };
        if *vararg {
            return Some("inline assembly cannot have variable arguments".to_string());
        }
        let Some(constraints) = parse_constraints(self.context.bytes(asm.constraints)) else {
            return Some("malformed constraints of inline assembly".to_string());
        };
        let (mut outputs, mut inputs, mut indirect, mut clobbers, mut labels) = (0, 0, 0, 0, 0);
        for constraint in &constraints {
            match constraint.role {
                Role::Output if inputs > indirect || clobbers > 0 || labels > 0 => {
                    return Some(
                        "an output constraint after an input, clobber or label".to_string(),
                    );
                }
                Role::Input | Role::Label if clobbers > 0 => {
                    return Some("an input or label constraint after a clobber".to_string());
                }
                Role::Output if constraint.indirect => {
                    indirect += 1;
                    inputs += 1;
                }
                Role::Output => outputs += 1,
                Role::Input => inputs += 1,
                Role::Label => labels += 1,
                Role::Clobber => clobbers += 1,
            }
        }
        let fields = match self.context.type_kind(*ret) {
            TypeKind::Struct { .. } | TypeKind::Named(_) => {
                Some(self.struct_fields(*ret).unwrap_or_default().len())
            }
            _ => None,
        };
        let fits = match outputs {
            0 => *ret == Type::VOID,
            1 => fields.is_none(),
            _ => fields == Some(outputs),
        };
        if !fits {
            let ret = self.type_name(*ret);
            return Some(format!("inline assembly with {outputs} outputs cannot return `{ret}`"));
        }
        if params.len() != inputs {
            let found = params.len();
            return Some(format!(
                "inline assembly with {inputs} inputs cannot take {found} arguments"
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints() {
        for good in [
            "",
            "r",
            "=r,r",
            "=&r,0,~{memory}",
            "=*m,*m",
            "^Ui",
            "@3abc",
            "!i",
            "{eax}",
            "r|m",
            "%r",
        ] {
            assert!(parse_constraints(good.as_bytes()).is_some(), "{good}");
        }
        for bad in
            [",", "r,", "=", "~x", "&r", "0", "=r,=0", "#", "{eax", "@9a", "^a", "=&&r", "r,,r"]
        {
            assert!(parse_constraints(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
