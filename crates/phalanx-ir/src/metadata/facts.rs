//! Facts in metadata that analyses and targets read, as plain values.
//!
//! Metadata is advice or a promise by the producer; a node of an unexpected shape yields no fact.

use super::{Attachment, Metadata, MetadataId, kind};
use crate::{
    constant::{Const, ConstKind},
    context::Context,
    symbol::Symbol,
};

/// One property of `!nvvm.annotations`: `!{ptr @kernel, !"maxntidx", i32 256}`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NvvmAnnotation {
    /// The function or variable.
    pub entity: Const,
    /// `kernel`, `maxntidx`, `reqntidx` ...
    pub key: Symbol,
    /// The value.
    pub value: u64,
}

/// Half-open ranges of a `!range` attachment: pairs of integer constants of one type.
pub type RangeList = Vec<(Const, Const)>;

impl Metadata {
    /// The node attached with this kind.
    pub fn attached(attachments: &[Attachment], kind: Symbol) -> Option<MetadataId> {
        attachments.iter().find(|a| a.kind == kind).map(|a| a.node)
    }

    /// The integer constant at a position of a tuple, when it fits 64 bits.
    pub fn int_element(&self, context: &Context, node: MetadataId, position: usize) -> Option<u64> {
        match &context.const_data(self.element(node, position)?.as_const()?).kind {
            ConstKind::Int(int) => int.to_u64(),
            _ => None,
        }
    }

    /// Three integers, as in `!reqd_work_group_size !{i32 8, i32 8, i32 1}`.
    pub fn dimensions(&self, context: &Context, node: MetadataId) -> Option<[u64; 3]> {
        let at = |position| self.int_element(context, node, position);
        Some([at(0)?, at(1)?, at(2)?])
    }

    /// The work-group size that a kernel's `!reqd_work_group_size` states.
    pub fn required_work_group_size(
        &self,
        context: &Context,
        attachments: &[Attachment],
    ) -> Option<[u64; 3]> {
        let kind = context.find_symbol(b"reqd_work_group_size")?;
        self.dimensions(context, Self::attached(attachments, kind)?)
    }

    /// All properties in `!nvvm.annotations`, in order. Nodes of another shape are skipped.
    pub fn nvvm_annotations(&self, context: &Context) -> Vec<NvvmAnnotation> {
        let Some(name) = context.find_symbol(b"nvvm.annotations") else { return Vec::new() };
        let mut annotations = Vec::new();
        for &node in self.named_operands(name) {
            let Some(entity) = self.element(node, 0).and_then(|value| value.as_const()) else {
                continue;
            };
            // Key and value pairs follow the entity.
            for position in (1..self.values(node).len()).step_by(2) {
                let key = self.element(node, position).and_then(|value| value.as_string());
                if let (Some(key), Some(value)) =
                    (key, self.int_element(context, node, position + 1))
                {
                    annotations.push(NvvmAnnotation { entity, key, value });
                }
            }
        }
        annotations
    }

    /// The ranges that `!range` promises for a result. None when there is no such promise.
    pub fn range(&self, attachments: &[Attachment]) -> Option<RangeList> {
        let node = Self::attached(attachments, kind::RANGE)?;
        let ends: Option<Vec<Const>> = self.values(node).map(|value| value.as_const()).collect();
        let ends = ends.filter(|ends| !ends.is_empty() && ends.len() % 2 == 0)?;
        Some(ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
    }

    /// Whether a load is marked `!invariant.load`: the memory it reads never changes while it can
    /// be read.
    pub fn is_invariant_load(attachments: &[Attachment]) -> bool {
        Self::attached(attachments, kind::INVARIANT_LOAD).is_some()
    }

    /// The integer value of a module flag: an entry `!{i32 behaviour, !"key", i32 value}` of
    /// `!llvm.module.flags`.
    pub fn module_flag(&self, context: &Context, key: &str) -> Option<u64> {
        let flags = context.find_symbol(b"llvm.module.flags")?;
        let key = context.find_symbol(key.as_bytes())?;
        let node = (self.named_operands(flags).iter()).find(|&&node| {
            self.element(node, 1).and_then(|value| value.as_string()) == Some(key)
        })?;
        self.int_element(context, *node, 2)
    }
}
