//! Which metadata and attributes must be removed when an instruction is executed where it was not
//! before.
//!
//! Some metadata only makes the result poison where it does not hold; it stays, since the result is
//! not read there. Other metadata must be removed, since it was about the former executions only.
//! It causes undefined behaviour where it does not hold (`!noundef`, `!invariant.load`, `noundef`
//! of an argument or a result), or describes aliases on paths that reach the instruction.
//! `!amdgpu.uniform` is removed as well: an address that was equal for the former threads may
//! differ among more threads.

use phalanx_ir::{
    Context, InstId, Symbol, Value,
    attributes::{AttrKind, AttrListData, AttrSet, AttrSetBuilder},
    edit::Transaction,
    metadata::kind,
};
use smallvec::SmallVec;

use crate::{annotate_uniform::UNIFORM, pass::PassError};

/// Metadata that makes poison at worst, or has no meaning.
const HARMLESS: [Symbol; 7] = [
    kind::DBG,
    kind::ANNOTATION,
    kind::PROF,
    kind::FPMATH,
    kind::RANGE,
    kind::NONNULL,
    kind::ALIGN,
];

/// Attributes of arguments or results that cause undefined behaviour where they do not hold.
pub(crate) const DEMANDS: [AttrKind; 3] =
    [AttrKind::NoUndef, AttrKind::Dereferenceable, AttrKind::DereferenceableOrNull];

/// Removes from an instruction the metadata and attributes that hold for its former executions
/// only.
///
/// For a call, this removes attributes of the call site. Attributes of the declaration stay, so a
/// call whose declaration demands something is not speculatable
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

/// The attributes without those of [`DEMANDS`].
fn modest(context: &Context, set: AttrSet) -> AttrSet {
    let said = context.attr_set_data(set);
    if !DEMANDS.iter().any(|&demand| said.has(demand)) {
        return set;
    }
    let mut rest = AttrSetBuilder::from_set(said);
    DEMANDS.iter().for_each(|&demand| rest.remove(demand));
    rest.finish(context)
}

/// Removes all attachments of an instruction, except for some kinds.
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

/// Removes the mark of a uniform branch or address.
pub(crate) fn forget_uniform(edit: &mut Transaction<'_>, inst: InstId) -> Result<(), PassError> {
    if is_uniform(edit, inst) {
        edit.attach(inst, UNIFORM, None)?;
    }
    Ok(())
}

/// Replaces an instruction by a value. A uniform-address mark counts for all loads at the address,
/// and the value now serves more loads: the mark stays only if both have it.
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
