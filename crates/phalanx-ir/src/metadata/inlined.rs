//! [`InlinedLocations`]: the locations of code that was inlined.
//!
//! A location of inlined code keeps its line and scope. Its `inlinedAt` names the call through
//! which it was inlined: a distinct copy of the call's location. If code was inlined several times,
//! each call's location names the next in the same way. LLVM's inliner does the same, and a
//! debugger can tell copies of a body apart only by this.
//!
//! The nodes belong to the module, and an edit of a function cannot make them. So they are made
//! first, by [`Additions::inlined`]. O(locations of the body x calls through which they were
//! inlined).

use rustc_hash::FxHashMap;

use super::{Additions, Field, Metadata, MetadataId, MetadataValue, NodeBuilder, NodeKind, kind};
use crate::function::FunctionRef;

/// Code that was inlined through this many calls or more gets no location.
const DEPTH: usize = 256;

/// The locations of an inlined body, by the locations in the original.
#[derive(Clone, Debug, Default)]
pub struct InlinedLocations {
    by_old: FxHashMap<MetadataId, MetadataId>,
    /// The location of code that has none in the original, if the original has no debug
    /// information.
    call: Option<MetadataId>,
}

impl InlinedLocations {
    /// The new location for a location of the body; none if it is left out.
    pub fn of(&self, location: MetadataId) -> Option<MetadataId> {
        self.by_old.get(&location).copied()
    }

    /// Whether all are locations of a module.
    pub(crate) fn are_of(&self, metadata: &Metadata) -> bool {
        let mut all = self.by_old.values().chain(&self.call);
        all.all(|&node| is_location(metadata, node))
    }

    /// The new location for code of the body that has none.
    pub fn of_others(&self) -> Option<MetadataId> {
        self.call
    }
}

fn is_location(metadata: &Metadata, node: MetadataId) -> bool {
    (node.into_raw().into_u32() as usize) < metadata.len()
        && metadata.node_kind(node) == NodeKind::Location
}

impl Additions<'_> {
    /// Makes the locations for a body that replaces a call with the location `call`, each once, for
    /// [`Transaction::insert_body_at`]. Code that was inlined through too many calls gets no
    /// location. If the body belongs to a function without debug information, its code gets the
    /// location of the call.
    ///
    /// # Errors
    /// When `call` is no location, or a node cannot be added.
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
        // New locations of calls inside the body, by the old ones; these are distinct nodes.
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

    /// The calls through which code was inlined, the innermost one first; none if there are too
    /// many or one is no location.
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
