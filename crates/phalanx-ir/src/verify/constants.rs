//! Rules of constants: members fit their aggregate, expressions their opcode, names exist.

use rustc_hash::FxHashSet;

use crate::{
    constant::{Const, ConstExpr, ConstKind},
    inst::Opcode,
    module::GlobalIndex,
    symbol::GlobalName,
    types::{Type, TypeKind},
    value::Value,
    verify::{
        env::Env,
        fault::{Check, Related, ensure},
        inline_asm, memory, values,
    },
};

/// The constants checked so far: each is checked once, wherever it occurs.
#[derive(Default)]
pub(crate) struct Constants {
    seen: FxHashSet<Const>,
    work: Vec<Const>,
}

impl Constants {
    /// Checks a constant and everything in it that has not been seen. O(new constants).
    pub(crate) fn check(&mut self, env: &Env<'_>, constant: Const) -> Check {
        if !self.seen.insert(constant) {
            return Ok(());
        }
        self.work.push(constant);
        while let Some(constant) = self.work.pop() {
            if let Err(fault) = self.one(env, constant) {
                self.work.clear();
                return Err(fault);
            }
        }
        Ok(())
    }

    fn one(&mut self, env: &Env<'_>, constant: Const) -> Check {
        let types = &env.types;
        let data = types.context.const_data(constant);
        let ty = data.ty;
        let related = || Related::Value(constant.into());
        let mut parts: &[Const] = &[];
        let type_of = |constant: Const| types.context.const_data(constant).ty;
        let fits = match &data.kind {
            ConstKind::Int(_) => types.is_int(ty),
            ConstKind::Float(_) => types.is_float(ty),
            ConstKind::Null => types.is_ptr(ty),
            ConstKind::NoneToken => ty == Type::TOKEN,
            ConstKind::Zero => {
                types.is_first_class(ty) && ty != Type::LABEL && ty != Type::METADATA
            }
            ConstKind::Undef | ConstKind::Poison => {
                types.is_first_class(ty) && ty != Type::LABEL && ty != Type::METADATA
            }
            ConstKind::Aggregate(elements) => {
                parts = elements;
                match types.kind(ty) {
                    TypeKind::Array { elem, len } => {
                        elements.len() as u64 == *len
                            && elements.iter().all(|&e| type_of(e) == *elem)
                    }
                    TypeKind::Vector { elem, len, scalable } => {
                        !scalable
                            && elements.len() == *len as usize
                            && elements.iter().all(|&e| type_of(e) == *elem)
                    }
                    _ => types.fields(ty).is_some_and(|fields| {
                        fields.len() == elements.len()
                            && fields.iter().zip(elements.iter()).all(|(&f, &e)| f == type_of(e))
                    }),
                }
            }
            ConstKind::Bytes(bytes) => {
                matches!(types.kind(ty), TypeKind::Array { elem, len }
                    if *elem == Type::I8 && *len == bytes.len() as u64)
            }
            ConstKind::Splat(element) => {
                parts = std::slice::from_ref(element);
                types.is_vector(ty) && types.scalar(ty) == type_of(*element)
            }
            ConstKind::Global(name) => {
                let space = address_space(env, *name);
                ensure!(
                    space.is_some(),
                    "Referencing global in another module!",
                    Related::Global(*name)
                );
                types.kind(ty).address_space() == space
            }
            ConstKind::BlockAddress { slot } => {
                (*slot as usize) < env.module.block_addresses.len() && types.is_ptr(ty)
            }
            ConstKind::DsoLocalEquivalent(name) | ConstKind::NoCfi(name) => {
                let space = address_space(env, *name);
                ensure!(
                    space.is_some(),
                    "Referencing global in another module!",
                    Related::Global(*name)
                );
                types.is_ptr(ty)
            }
            ConstKind::PtrAuth(operands) => {
                parts = operands;
                pointer_authentication(env, operands)?;
                operands.len() >= 4 && type_of(operands[0]) == ty
            }
            ConstKind::Expr(expr) => {
                parts = &expr.operands;
                expression(env, expr, ty)?;
                true
            }
            ConstKind::InlineAsm(asm) => {
                inline_asm::check(types, asm)?;
                true
            }
        };
        ensure!(fits, "Constant does not match its type!", related());
        // In reverse, so that the first part is looked at first.
        for &part in parts.iter().rev() {
            if self.seen.insert(part) {
                self.work.push(part);
            }
        }
        Ok(())
    }
}

/// Address space of the pointer that a name stands for; none when the module has no such entity.
fn address_space(env: &Env<'_>, name: GlobalName) -> Option<u32> {
    let module = env.module;
    Some(match env.global(name)? {
        GlobalIndex::Function(at) => env.header(at)?.address_space,
        GlobalIndex::Variable(at) => module.variables.get(at)?.address_space,
        GlobalIndex::Alias(at) => env.types.kind(module.aliases.get(at)?.ptr_ty).address_space()?,
    })
}

fn pointer_authentication(env: &Env<'_>, operands: &[Const]) -> Check {
    let types = &env.types;
    let type_at = |at: usize| operands.get(at).map(|&c| types.context.const_data(c).ty);
    ensure!(
        type_at(0).is_some_and(|ty| types.is_ptr(ty)),
        "signed ptrauth constant base pointer must have pointer type"
    );
    let is_number = |at: usize| operands.get(at).is_none_or(|&c| types.is_plain_int(c));
    ensure!(
        type_at(1) == Some(Type::I32) && is_number(1),
        "signed ptrauth constant key must be i32 constant integer"
    );
    ensure!(
        type_at(2) == Some(Type::I64) && is_number(2),
        "signed ptrauth constant discriminator must be i64 constant integer"
    );
    ensure!(
        type_at(3).is_some_and(|ty| types.is_ptr(ty)),
        "signed ptrauth constant address discriminator must be a pointer"
    );
    let is_symbol = |&constant: &Const| {
        matches!(types.context.const_data(constant).kind, ConstKind::Global(_) | ConstKind::Null)
    };
    ensure!(
        operands.get(4).is_none_or(is_symbol),
        "signed ptrauth constant deactivation symbol must be a global value or null"
    );
    Ok(())
}

fn expression(env: &Env<'_>, expr: &ConstExpr, ty: Type) -> Check {
    let types = &env.types;
    let type_of = |constant: &Const| types.context.const_data(*constant).ty;
    let operands = &expr.operands;
    let fits = match expr.opcode {
        opcode if opcode.is_cast() => {
            ensure!(operands.len() == 1, "Invalid operands of a constant expression!");
            return values::cast_types(env, opcode, type_of(&operands[0]), ty);
        }
        opcode if opcode.is_binary() => {
            operands.len() == 2
                && operands.iter().all(|operand| type_of(operand) == ty)
                && types.is_int_or_vector(ty)
        }
        Opcode::GetElementPtr => {
            let Some(source) = expr.source_type else {
                ensure!(false, "Invalid operands of a constant expression!");
                return Ok(());
            };
            ensure!(types.is_sized(source), "GEP into unsized type!");
            let is_scalable = |&ty: &Type| types.is_scalable(ty);
            ensure!(
                !is_scalable(&source)
                    && !types.fields(source).unwrap_or(&[]).iter().any(is_scalable),
                "invalid base element for constant getelementptr"
            );
            let values: Vec<Value> = operands.iter().map(|&c| c.into()).collect();
            values.first().is_some_and(|_| types.is_ptr_or_vector(type_of(&operands[0])))
                && operands[1..].iter().all(|index| types.is_int_or_vector(type_of(index)))
                && memory::gep_element(types, source, &values[1..]).is_some()
                && types.address_space(ty) == types.address_space(type_of(&operands[0]))
        }
        Opcode::ExtractElement | Opcode::InsertElement | Opcode::ShuffleVector => {
            operands.first().is_some_and(|vector| types.is_vector(type_of(vector)))
        }
        _ => false,
    };
    ensure!(fits, "Invalid operands of a constant expression!");
    Ok(())
}
