//! Reads and writes the unrolling hints of `!llvm.loop`.
//!
//! The node is attached to the branches that lead back to the header. Its operands, behind itself,
//! are properties: a name, and for some a number. Those that Phalanx reads are
//! `llvm.loop.unroll.disable`, `.enable`, `.full` and `.count`, and `llvm.loop.disable_nonforced`.
//! After unrolling by copies, `llvm.loop.unroll.disable` replaces all unrolling properties of the
//! loop, so that it is not unrolled again.

use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{
    BlockId, Context, Module,
    metadata::{Metadata, MetadataId, MetadataValue, NodeBuilder, kind},
};

use crate::{code::Code, pass::PassError};

const PREFIX: &[u8] = b"llvm.loop.unroll.";
const DISABLE: &str = "llvm.loop.unroll.disable";

/// The unrolling hints of a loop.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Wishes {
    /// Do not unroll.
    pub(super) disable: bool,
    /// Unroll in full, even if the result is large.
    pub(super) full: bool,
    /// Unroll in some way.
    pub(super) enable: bool,
    /// Unroll by this factor.
    pub(super) count: Option<usize>,
}

/// The `!llvm.loop` node of a loop.
fn node(code: &Code<'_>, latches: &[BlockId]) -> Option<MetadataId> {
    latches.iter().find_map(|&latch| {
        let attached: Vec<_> = code.extras.attachments_of(code.body.terminator(latch)?).collect();
        Metadata::attached(&attached, kind::LOOP)
    })
}

/// The name of a property.
fn name<'c>(context: &'c Context, metadata: &Metadata, property: MetadataId) -> Option<&'c [u8]> {
    Some(context.bytes(metadata.element(property, 0)?.as_string()?))
}

impl Wishes {
    /// The hints of a loop, read at its latches.
    pub(super) fn of(
        (db, function): (&Database, FunctionInput),
        code: &Code<'_>,
        latches: &[BlockId],
    ) -> Wishes {
        let mut wishes = Wishes::default();
        let Some(node) = node(code, latches) else { return wishes };
        let metadata = &function.module(db).shell(db).metadata;
        for property in metadata.values(node).filter_map(MetadataValue::as_node) {
            if property == node {
                continue;
            }
            match name(code.context, metadata, property) {
                Some(b"llvm.loop.unroll.disable" | b"llvm.loop.disable_nonforced") => {
                    wishes.disable = true;
                }
                Some(b"llvm.loop.unroll.enable") => wishes.enable = true,
                Some(b"llvm.loop.unroll.full") => wishes.full = true,
                Some(b"llvm.loop.unroll.count") => {
                    let count = metadata.int_element(code.context, property, 1);
                    wishes.count = count.and_then(|count| usize::try_from(count).ok());
                }
                _ => {}
            }
        }
        // `disable_nonforced` does not override an explicit request.
        if wishes.full || wishes.enable || wishes.count.is_some_and(|count| count > 1) {
            wishes.disable = false;
        }
        if wishes.count == Some(1) {
            wishes.disable = true;
        }
        wishes
    }
}

/// A node with the other properties of a loop and `llvm.loop.unroll.disable`.
pub(super) fn unrolled(
    db: &mut Database,
    function: FunctionInput,
    latches: &[BlockId],
) -> Result<MetadataId, PassError> {
    let module = function.module(db);
    let old = node(&Code::of(db, function), latches);
    db.edit_metadata(module, |metadata| {
        let properties = old.map(|old| kept(metadata.module(), old)).unwrap_or_default();
        let word = MetadataValue::String(metadata.context().symbol(DISABLE.as_bytes()));
        let disable = metadata.add(NodeBuilder::tuple(false, [word]))?;
        let new = metadata.reserve();
        let own = [MetadataValue::Node(new)];
        let all = own.into_iter().chain(properties).chain([MetadataValue::Node(disable)]);
        metadata.define(new, NodeBuilder::tuple(true, all))?;
        Ok(new)
    })
    .map_err(PassError::Other)
}

/// The properties of a node that are not about unrolling.
fn kept(module: &Module, node: MetadataId) -> Vec<MetadataValue> {
    let speaks_of_unrolling = |value: &MetadataValue| {
        let property = value.as_node();
        let name = property.and_then(|p| name(&module.context, &module.metadata, p));
        name.is_some_and(|name| name.starts_with(PREFIX))
    };
    let values = module.metadata.values(node);
    values
        .filter(|value| *value != MetadataValue::Node(node) && !speaks_of_unrolling(value))
        .collect()
}
