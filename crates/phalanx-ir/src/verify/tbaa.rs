//! Rules of `!tbaa`: types of accesses, and the paths to them through enclosing types.
//!
//! A *tag* `!{base, access, offset}` says that a scalar of type `access` is at this offset of
//! `base`. A scalar type is `!{!"name", parent}`, possibly followed by a zero; parents lead up to a
//! root, which has no parent. A structure is `!{!"name", member, offset, ..}` with offsets in
//! order. In the *new format* a type is `!{parent, size, !"name", member, offset, size, ..}`, and
//! the tag has a size too. The oldest format, from before paths, is a scalar type in place of a
//! tag; as in LLVM's reader, it counts as a tag of that type.
//!
//! The path starts at `base` and goes to the member at the offset, and on from there. It has to
//! reach `access`, with an offset of zero left.
//!
//! Results for a node are cached for the next tag, so a function costs O(accesses · depth · log
//! members) plus the size of its types.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    inst::Opcode,
    metadata::{MetadataId, MetadataValue},
    verify::{
        env::Env,
        fault::{Check, Fault, ensure},
    },
};

/// Results for the nodes that tags led to.
#[derive(Default)]
pub(crate) struct Seen {
    tags: FxHashSet<MetadataId>,
    scalars: FxHashMap<MetadataId, bool>,
    /// Width of the offsets of a type that is well-formed; none where it has none.
    types: FxHashMap<MetadataId, Option<usize>>,
}

/// The nodes that a tag refers to.
struct Tag {
    base: MetadataId,
    access: MetadataId,
    offset: (usize, u64),
    is_new: bool,
}

/// Whether instructions of an opcode may have a tag.
pub(crate) fn is_access(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Load
            | Opcode::Store
            | Opcode::Call
            | Opcode::VaArg
            | Opcode::AtomicRmw
            | Opcode::CmpXchg
    )
}

/// The tag of an access.
pub(crate) fn access(env: &Env<'_>, seen: &mut Seen, tag: MetadataId, opcode: Opcode) -> Check {
    let len = env.module.metadata.values(tag).len();
    ensure!(len > 0, "TBAA metadata cannot have 0 operands");
    ensure!(is_access(opcode), "This instruction shall not have a TBAA access tag!");
    if seen.tags.contains(&tag) {
        return Ok(());
    }
    path(env, seen, tag)?;
    seen.tags.insert(tag);
    Ok(())
}

/// A tag that no access has, which must be of today's form.
pub(crate) fn tag(env: &Env<'_>, tag: MetadataId) -> Check {
    let len = env.module.metadata.values(tag).len();
    ensure!(len > 0, "TBAA metadata cannot have 0 operands");
    ensure!(
        has_path(env, tag),
        "Old-style TBAA is no longer allowed, use struct-path TBAA instead"
    );
    path(env, &mut Seen::default(), tag)
}

fn has_path(env: &Env<'_>, tag: MetadataId) -> bool {
    let metadata = &env.module.metadata;
    metadata.values(tag).len() >= 3
        && metadata.element(tag, 0).and_then(MetadataValue::as_node).is_some()
}

fn node(env: &Env<'_>, of: MetadataId, at: usize) -> Option<MetadataId> {
    env.module.metadata.element(of, at).and_then(MetadataValue::as_node)
}

fn is_string(env: &Env<'_>, of: MetadataId, at: usize) -> bool {
    env.module.metadata.element(of, at).and_then(MetadataValue::as_string).is_some()
}

/// Width and value of an integer. An integer of more than 64 bits counts as the largest of 64 bits.
fn number(env: &Env<'_>, of: MetadataId, at: usize) -> Option<(usize, u64)> {
    let types = &env.types;
    let constant = env.module.metadata.element(of, at).and_then(MetadataValue::as_const)?;
    if !types.is_plain_int(constant) {
        return None;
    }
    let bits = types.bits(types.context.const_data(constant).ty)?;
    Some((bits as usize, types.const_int(constant).unwrap_or(u64::MAX)))
}

/// Whether a type is of the new format.
fn is_new(env: &Env<'_>, ty: MetadataId) -> bool {
    env.module.metadata.values(ty).len() >= 3 && node(env, ty, 0).is_some()
}

fn parts(env: &Env<'_>, seen: &mut Seen, tag: MetadataId) -> Result<Option<Tag>, Fault> {
    let len = env.module.metadata.values(tag).len();
    if !has_path(env, tag) {
        // In a tag with three operands the last one says whether the memory is constant, and the
        // first two are the type.
        let is_scalar = if len == 3 {
            is_string(env, tag, 0)
                && node(env, tag, 1).is_some_and(|parent| {
                    env.module.metadata.values(parent).len() < 2 || is_scalar(env, seen, parent)
                })
        } else {
            is_scalar(env, seen, tag)
        };
        ensure!(is_scalar, "Access type node must be a valid scalar type");
        return Ok(None);
    }
    let (base, access) = (node(env, tag, 0), node(env, tag, 1));
    let is_new = access.is_some_and(|access| is_new(env, access));
    if is_new {
        ensure!(len == 4 || len == 5, "Access tag metadata must have either 4 or 5 operands");
        ensure!(number(env, tag, 3).is_some(), "Access size field must be a constant");
    } else {
        ensure!(len < 5, "Struct tag metadata must have either 3 or 4 operands");
    }
    let constant_at = if is_new { 4 } else { 3 };
    if len == constant_at + 1 {
        let Some((_, value)) = number(env, tag, constant_at) else {
            ensure!(false, "Immutability tag on struct tag metadata must be a constant");
            return Ok(None);
        };
        ensure!(value <= 1, "Immutability part of the struct tag metadata must be either 0 or 1");
    }
    let (Some(base), Some(access)) = (base, access) else {
        ensure!(
            false,
            "Malformed struct tag metadata: base and access-type should be non-null and point to Metadata nodes"
        );
        return Ok(None);
    };
    ensure!(is_new || is_scalar(env, seen, access), "Access type node must be a valid scalar type");
    let Some(offset) = number(env, tag, 2) else {
        ensure!(false, "Offset must be constant integer");
        return Ok(None);
    };
    Ok(Some(Tag { base, access, offset, is_new }))
}

fn path(env: &Env<'_>, seen: &mut Seen, tag: MetadataId) -> Check {
    let Some(Tag { base, access, offset: (bits, mut offset), is_new }) = parts(env, seen, tag)?
    else {
        return Ok(());
    };
    let (mut at, mut came_by) = (base, false);
    let mut walked = FxHashSet::default();
    while env.module.metadata.values(at).len() >= 2 {
        ensure!(walked.insert(at), "Cycle detected in struct path");
        let width = base_type(env, seen, at, is_new)?;
        came_by |= at == access;
        if at == access || is_scalar(env, seen, at) {
            ensure!(offset == 0, "Offset not zero at the point of scalar access");
        }
        let fits = match width {
            Some(width) => width == bits || width == 0 && offset == 0,
            None => is_new,
        };
        ensure!(fits, "Access bit-width not the same as description bit-width");
        if is_new && came_by {
            break;
        }
        let Some(next) = member(env, at, &mut offset, is_new)? else { break };
        at = next;
    }
    ensure!(came_by, "Did not see access type in access path!");
    Ok(())
}

/// Whether a node is a scalar type: it and all its ancestors have a name and nothing but a parent.
fn is_scalar(env: &Env<'_>, seen: &mut Seen, ty: MetadataId) -> bool {
    let metadata = &env.module.metadata;
    let mut walked = Vec::new();
    let mut at = ty;
    let answer = loop {
        if let Some(&known) = seen.scalars.get(&at) {
            break known;
        }
        // A node on a cycle counts as no scalar type until the opposite is known.
        seen.scalars.insert(at, false);
        walked.push(at);
        let len = metadata.values(at).len();
        if !(len == 2 || len == 3) || !is_string(env, at, 0) {
            break false;
        }
        if len == 3 && number(env, at, 2).is_none_or(|(_, offset)| offset != 0) {
            break false;
        }
        let Some(parent) = node(env, at, 1) else { break false };
        if metadata.values(parent).len() < 2 {
            break true;
        }
        at = parent;
    };
    for node in walked {
        seen.scalars.insert(node, answer);
    }
    answer
}

/// A type on a path: the width of its offsets, 0 for a scalar, none if it has no members.
fn base_type(
    env: &Env<'_>,
    seen: &mut Seen,
    ty: MetadataId,
    is_new: bool,
) -> Result<Option<usize>, Fault> {
    let len = env.module.metadata.values(ty).len();
    if len == 2 {
        // LLVM has no message for this.
        ensure!(is_scalar(env, seen, ty), "Access type node must be a valid scalar type");
        return Ok(Some(0));
    }
    if let Some(&width) = seen.types.get(&ty) {
        return Ok(width);
    }
    if is_new {
        ensure!(
            len.is_multiple_of(3),
            "Access tag nodes must have the number of operands that is a multiple of 3!"
        );
        ensure!(number(env, ty, 1).is_some(), "Type size nodes must be constants!");
    } else {
        ensure!(len % 2 == 1, "Struct tag nodes must have an odd number of operands!");
        ensure!(is_string(env, ty, 0), "Struct tag nodes have a string as their first operand");
    }
    let (first, step) = layout(is_new);
    let (mut width, mut previous) = (None, 0);
    for at in (first..len).step_by(step) {
        ensure!(node(env, ty, at).is_some(), "Incorrect field entry in struct type node!");
        let Some((bits, offset)) = number(env, ty, at + 1) else {
            ensure!(false, "Offset entries must be constants!");
            return Ok(None);
        };
        ensure!(
            *width.get_or_insert(bits) == bits,
            "Bitwidth between the offsets and struct type entries must match"
        );
        ensure!(previous <= offset, "Offsets must be increasing!");
        previous = offset;
        ensure!(
            !is_new || number(env, ty, at + 2).is_some(),
            "Member size entries must be constants!"
        );
    }
    seen.types.insert(ty, width);
    Ok(width)
}

/// Where the members of a type begin, and how many operands each is.
fn layout(is_new: bool) -> (usize, usize) {
    if is_new { (3, 3) } else { (1, 2) }
}

/// The member at an offset of a well-formed type, and the remaining offset.
fn member(
    env: &Env<'_>,
    ty: MetadataId,
    offset: &mut u64,
    is_new: bool,
) -> Result<Option<MetadataId>, Fault> {
    let len = env.module.metadata.values(ty).len();
    if len == 2 {
        return Ok(node(env, ty, 1));
    }
    let (first, step) = layout(is_new);
    let start = |member: usize| number(env, ty, first + member * step + 1).map_or(0, |(_, n)| n);
    // Binary search for the first member behind the offset: members are in order.
    let (mut low, mut high) = (0, (len - first) / step);
    if high == 0 {
        // A type of the new format without members leads only to its parent.
        *offset = offset.wrapping_sub(number(env, ty, 1).map_or(0, |(_, size)| size));
        return Ok(node(env, ty, 0));
    }
    while low < high {
        let middle = low.midpoint(high);
        if start(middle) > *offset { high = middle } else { low = middle + 1 }
    }
    ensure!(low > 0, "Could not find TBAA parent in struct type node");
    *offset -= start(low - 1);
    Ok(node(env, ty, first + (low - 1) * step))
}
