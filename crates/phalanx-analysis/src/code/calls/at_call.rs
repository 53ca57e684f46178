//! What is known of the function that a call names.

use std::borrow::Cow;

use phalanx_ir::{InstId, TypeKind, attributes::AttrKind, constant::ConstKind};
use phalanx_target::{address_space::AddressSpace, calling_convention::Entry};

use super::{CallFacts, Summary, is_copied};
use crate::code::{Code, Environment};

/// The summary of the function that an instruction calls, if the call has the function's own type.
pub(crate) fn of_call<'a>(
    code: Code<'_>,
    facts: &'a dyn CallFacts,
    call: InstId,
) -> Option<Cow<'a, Summary>> {
    let callee = code.body.const_callee(call)?;
    let ConstKind::Global(name) = code.context.const_data(callee).kind else { return None };
    // A function that is called with another type may do anything.
    facts.summary(name).filter(|known| known.ty == Some(code.body.call_info(call).function_type))
}

/// Whether an argument of the function is a pointer that may be the address of private memory.
pub(crate) fn may_be_private_argument(code: Code<'_>, env: Environment<'_>, position: u32) -> bool {
    let (context, header) = (code.context, code.header);
    let architecture = env.target.architecture();
    let ty = header.params.get(position as usize).map(|&ty| context.type_kind(ty));
    let Some(TypeKind::Ptr(space)) = ty else { return false };
    let attributes = context.param_attrs(header.attributes, position as usize);
    code.entry(architecture) == Entry::Call
        && AddressSpace::of(architecture, *space).may_be_private(false)
        && !is_copied(context, header, position as usize)
        && !attributes.has(AttrKind::SwiftError)
}
