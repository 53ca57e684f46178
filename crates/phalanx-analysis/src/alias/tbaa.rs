//! Type-based aliasing: what `!tbaa` on two accesses says about them.
//!
//! # What
//!
//! The front end promises that memory is accessed as the type that is in it. An access has a *tag*:
//! the type of the object that the access path begins with, the type that is accessed, and the
//! offset of that in the object. Types are nodes of a tree. A scalar names its parent; the chain of
//! parents leads over `char`, which may be anything, to a root that stands for the language. A
//! structure names its fields and their offsets.
//!
//! Let the *parent* of a type at an offset be the field there, with the offset inside of it; for a
//! scalar, the scalar above it. Two tags may be of one byte if one of them is reached from the
//! other by parents. So an `int` of a structure may alias an `int` and a `char`, but no `float` and
//! no `int` of another structure (LLVM's language reference, "tbaa metadata").
//!
//! If a tag is of the scalar itself, not of a path to it, offsets are not compared. Types under
//! different roots come from different languages, which promise nothing about each other. A
//! malformed node, and the form with sizes, promise nothing either.
//!
//! # Complexity
//!
//! O(depth of the types · fields), at most [`STEPS`] steps.

use phalanx_ir::{
    Context,
    metadata::{Metadata, MetadataId},
};

/// How many steps from a type to the root are looked at.
const STEPS: usize = 64;

/// The tag of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessTag {
    base: MetadataId,
    access: MetadataId,
    offset: u64,
}

/// The types of a module, in its metadata.
#[derive(Clone, Copy, Debug)]
pub struct Tbaa<'a> {
    context: &'a Context,
    metadata: &'a Metadata,
}

impl<'a> Tbaa<'a> {
    /// The types in a module's metadata.
    #[must_use]
    pub fn new(context: &'a Context, metadata: &'a Metadata) -> Self {
        Self { context, metadata }
    }

    /// The tag that a node represents, if it is one.
    #[must_use]
    pub fn tag(&self, node: MetadataId) -> Option<AccessTag> {
        let at = |position| self.metadata.element(node, position);
        let (base, access) = (at(0)?.as_node()?, at(1)?.as_node()?);
        let offset = self.metadata.int_element(self.context, node, 2)?;
        let is_named = |node| self.metadata.element(node, 0).and_then(|name| name.as_string());
        (is_named(base).is_some() && is_named(access).is_some()).then_some(AccessTag {
            base,
            access,
            offset,
        })
    }

    /// Whether two accesses may touch one byte, as far as their types say.
    #[must_use]
    pub fn may_alias(&self, a: AccessTag, b: AccessTag) -> bool {
        let is_promised = match (self.root(a.access), self.root(b.access)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        };
        !is_promised || a == b || self.reaches(a, b) || self.reaches(b, a)
    }

    /// Whether a tag is reached from another by parents.
    fn reaches(&self, from: AccessTag, to: AccessTag) -> bool {
        let (mut ty, mut offset) = (from.base, from.offset);
        for _ in 0..STEPS {
            if ty == to.base {
                return offset == to.offset || ty == from.access || to.base == to.access;
            }
            match self.parent(ty, offset) {
                Some(above) => (ty, offset) = above,
                None => return false,
            }
        }
        true
    }

    fn root(&self, mut ty: MetadataId) -> Option<MetadataId> {
        for _ in 0..STEPS {
            match self.parent(ty, 0) {
                Some((above, _)) => ty = above,
                None => return Some(ty),
            }
        }
        None
    }

    /// The field of a structure at an offset, or the parent of a scalar.
    fn parent(&self, ty: MetadataId, offset: u64) -> Option<(MetadataId, u64)> {
        let count = self.metadata.values(ty).len();
        let node = |position| self.metadata.element(ty, position)?.as_node();
        let begin = |position| self.metadata.int_element(self.context, ty, position);
        if count == 2 {
            return Some((node(1)?, offset));
        }
        let mut found = None;
        for field in (1..count.saturating_sub(1)).step_by(2) {
            match begin(field + 1) {
                Some(first) if first <= offset || found.is_none() => {
                    found = Some((node(field)?, offset.saturating_sub(first)));
                }
                _ => break,
            }
        }
        found
    }
}
