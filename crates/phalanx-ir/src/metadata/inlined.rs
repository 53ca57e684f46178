//! [`InlinedLocations`]: where code comes from that was inlined.
//!
//! A location of inlined code keeps its line and scope, and says in `inlinedAt` by which call it
//! has come: a distinct copy of the call's location, behind the calls by which it had come to where
//! it was. That is how LLVM's inliner has it, and the only way for a debugger to tell one copy of a
//! body from another.
//!
//! Nodes are the module's, which an edit of a function cannot make: they are made first, by
//! [`Additions::inlined`]. O(locations of the body x calls by which they have come).

use rustc_hash::FxHashMap;

use super::{Additions, Field, Metadata, MetadataId, MetadataValue, NodeBuilder, NodeKind, kind};
use crate::function::FunctionRef;

/// By how many calls code may have come.
const DEPTH: usize = 256;

/// The locations of a body, as they are where it was inlined.
#[derive(Clone, Debug, Default)]
pub struct InlinedLocations {
    by_old: FxHashMap<MetadataId, MetadataId>,
    /// Of what has none, since nothing is known of where the body comes from.
    call: Option<MetadataId>,
}

impl InlinedLocations {
    /// What a location of the body is; none if it is left out.
    pub fn of(&self, location: MetadataId) -> Option<MetadataId> {
        self.by_old.get(&location).copied()
    }

    /// Whether all are locations of a module.
    pub(crate) fn are_of(&self, metadata: &Metadata) -> bool {
        let mut all = self.by_old.values().chain(&self.call);
        all.all(|&node| is_location(metadata, node))
    }

    /// The location of what has none in the body.
    pub fn of_others(&self) -> Option<MetadataId> {
        self.call
    }
}

fn is_location(metadata: &Metadata, node: MetadataId) -> bool {
    (node.into_raw().into_u32() as usize) < metadata.len()
        && metadata.node_kind(node) == NodeKind::Location
}

impl Additions<'_> {
    /// Makes the locations for a body that takes the place of a call at this location, each once,
    /// for [`Transaction::insert_body_at`]. What came by more calls than anybody counts has none.
    /// Code of a function without debug information is where the call was.
    ///
    /// # Errors
    /// When the location of the call is none, or a node cannot be added.
    ///
    /// [`Transaction::insert_body_at`]: crate::edit::Transaction::insert_body_at
    pub fn inlined(
        &mut self,
        body: FunctionRef<'_>,
        call: MetadataId,
    ) -> Result<InlinedLocations, String> {
        if !self.is_location(call) {
            return Err(String::from("the location of the call is none"));
        }
        let mut found = InlinedLocations::default();
        if !body.header.metadata.iter().any(|attachment| attachment.kind == kind::DBG) {
            found.call = Some(call);
        }
        let attached = body.extras.attachments.iter();
        let attached = attached.filter(|(_, a)| a.kind == kind::DBG).map(|(_, a)| a.node);
        let recorded = body.extras.debug_records.iter().map(|(_, record)| record.location());
        let mut site: Option<MetadataId> = None;
        // The same of calls that are on the way: these are distinct.
        let mut sites: FxHashMap<MetadataId, MetadataId> = FxHashMap::default();
        for location in attached.chain(recorded) {
            if found.by_old.contains_key(&location) {
                continue;
            }
            let Some(frames) = self.frames(location) else { continue };
            let mut at = match site {
                Some(site) => site,
                None => self.copy(call, true, self.inlined_at(call))?,
            };
            site = Some(at);
            for &frame in frames.iter().rev() {
                at = match sites.get(&frame) {
                    Some(&known) => known,
                    None => self.copy(frame, true, Some(at))?,
                };
                sites.insert(frame, at);
            }
            let is_distinct = self.module().metadata.is_distinct(location);
            let new = self.copy(location, is_distinct, Some(at))?;
            found.by_old.insert(location, new);
        }
        Ok(found)
    }

    fn is_location(&self, node: MetadataId) -> bool {
        is_location(&self.module().metadata, node)
    }

    fn inlined_at(&self, location: MetadataId) -> Option<MetadataId> {
        self.module().metadata.field(location, Field::InlinedAt).and_then(MetadataValue::as_node)
    }

    /// The calls by which code has come, the last one first; none if it is not known.
    fn frames(&self, location: MetadataId) -> Option<Vec<MetadataId>> {
        let mut frames = Vec::new();
        let mut at = location;
        while self.is_location(at) && frames.len() < DEPTH {
            let Some(next) = self.inlined_at(at) else { return Some(frames) };
            frames.push(next);
            at = next;
        }
        None
    }

    fn copy(
        &mut self,
        location: MetadataId,
        is_distinct: bool,
        inlined_at: Option<MetadataId>,
    ) -> Result<MetadataId, String> {
        let mut builder = NodeBuilder::new(NodeKind::Location, is_distinct);
        let fields = self.module().metadata.fields(location);
        let kept = fields.filter(|(field, _)| *field != Field::InlinedAt);
        let at = inlined_at.map(|at| (Field::InlinedAt, MetadataValue::Node(at)));
        for (field, value) in kept.chain(at) {
            let place = NodeKind::Location.fields().iter().position(|f| f.name == field);
            if let Some(place) = place {
                builder.set_at(place, value);
            }
        }
        self.add(builder)
    }
}
