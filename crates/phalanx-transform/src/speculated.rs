//! What goes when an instruction is executed where it was not before.
//!
//! Some of what is said at an instruction makes a result poison that is not as it says: nobody
//! reads it there. The rest is undefined behaviour when the instruction is executed and it does not
//! hold (`!noundef`, `!invariant.load`, `noundef` of an argument or a result), or says something
//! about aliases on ways that come to the instruction. It was said of the executions that were
//! there, so it goes. So does `!amdgpu.uniform`: what was one address for the threads that computed
//! it need not be one for all that do now.

use phalanx_ir::{
    Context, InstId, Symbol, Value,
    attributes::{AttrKind, AttrListData, AttrSet, AttrSetBuilder},
    edit::Transaction,
    metadata::kind,
};
use smallvec::SmallVec;

use crate::{annotate_uniform::UNIFORM, pass::PassError};

/// What makes poison at worst, or means nothing.
const HARMLESS: [Symbol; 7] = [
    kind::DBG,
    kind::ANNOTATION,
    kind::PROF,
    kind::FPMATH,
    kind::RANGE,
    kind::NONNULL,
    kind::ALIGN,
];

/// Of an argument or a result: what is undefined behaviour where it does not hold.
pub(crate) const DEMANDS: [AttrKind; 3] =
    [AttrKind::NoUndef, AttrKind::Dereferenceable, AttrKind::DereferenceableOrNull];

/// Takes from an instruction what was said of the executions that it had, and need not be true of
/// others.
///
/// Of a call that is what the call says. What the declaration says stays, so one whose declaration
/// demands something is not speculatable
/// ([`Code::is_speculatable`](crate::code::Code::is_speculatable)).
pub(crate) fn forget_claims(edit: &mut Transaction<'_>, inst: InstId) -> Result<(), PassError> {
    forget(edit, inst, &HARMLESS)?;
    if edit.body().inst(inst).opcode.is_call() {
        let mut info = edit.body().call_info(inst).clone();
        let context = edit.context();
        let said = context.attr_list_data(info.attributes).clone();
        let params: Vec<AttrSet> = said.params.iter().map(|&set| modest(context, set)).collect();
        let data = AttrListData::new(said.function, modest(context, said.ret), &params);
        if data != said {
            info.attributes = context.attr_list(&data);
            edit.set_call_info(inst, info)?;
        }
    }
    Ok(())
}

/// Attributes without what demands something.
fn modest(context: &Context, set: AttrSet) -> AttrSet {
    let said = context.attr_set_data(set);
    if !DEMANDS.iter().any(|&demand| said.has(demand)) {
        return set;
    }
    let mut rest = AttrSetBuilder::from_set(said);
    DEMANDS.iter().for_each(|&demand| rest.remove(demand));
    rest.finish(context)
}

/// Takes all attachments from an instruction, but of some kinds.
pub(crate) fn forget(
    edit: &mut Transaction<'_>,
    inst: InstId,
    but: &[Symbol],
) -> Result<(), PassError> {
    let kinds: SmallVec<[String; 4]> = edit
        .extras()
        .attachments_of(inst)
        .filter(|attachment| !but.contains(&attachment.kind))
        .map(|attachment| edit.context().text(attachment.kind).into_owned())
        .collect();
    for kind in kinds {
        edit.attach(inst, &kind, None)?;
    }
    Ok(())
}

/// Takes the mark of a uniform branch or address from an instruction.
pub(crate) fn forget_uniform(edit: &mut Transaction<'_>, inst: InstId) -> Result<(), PassError> {
    if is_uniform(edit, inst) {
        edit.attach(inst, UNIFORM, None)?;
    }
    Ok(())
}

/// Lets a value take the place of an instruction. A mark of a uniform address is of all loads at
/// it, those that the value gets thereby included: it stays where both have one.
pub(crate) fn replace(
    edit: &mut Transaction<'_>,
    inst: InstId,
    by: Value,
) -> Result<(), PassError> {
    if let Some(by) = by.as_inst()
        && !is_uniform(edit, inst)
    {
        forget_uniform(edit, by)?;
    }
    Ok(edit.replace(inst, by)?)
}

fn is_uniform(edit: &Transaction<'_>, inst: InstId) -> bool {
    edit.extras().attachments_of(inst).any(|a| edit.context().text(a.kind) == UNIFORM)
}
