//! Debug locations of instructions that a transform moves or merges.
//!
//! The rules are LLVM's ("How to Update Debug Info"). An instruction that stays in its block, or is
//! copied with it, keeps its location; so does one that replaces an equal instruction further down.
//! An instruction that is executed where it was not before loses its location: otherwise a debugger
//! would stop at a line that is not executed. An instruction that replaces several on different
//! paths gets what their locations have in common: the scope, and the line if it is the same.
//!
//! With debug information, a call of a function must have a location, since the call may be
//! inlined. If it would lose its location, it gets line 0 of its function.
//!
//! Locations are metadata nodes of the module, which a transaction cannot make. So [`Locations`]
//! records changes during the transaction and makes the nodes after it. O(instructions recorded *
//! depth of scopes).

use phalanx_db::{Database, FunctionInput};
use phalanx_ir::{
    InstId,
    edit::Transaction,
    metadata::{
        Additions, Field, Metadata, MetadataId, MetadataValue, NodeBuilder, NodeKind, kind,
    },
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{code::Code, pass::PassError};

/// How many scopes, and how many levels of inlining, are followed.
const DEPTH: usize = 256;

/// Locations that are still to be made. See the [module documentation](self).
#[derive(Debug, Default)]
pub(crate) struct Locations {
    noted: FxHashMap<InstId, Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    /// Its own location, and those of the instructions that it replaces.
    all: SmallVec<[MetadataId; 2]>,
    /// Whether the location has no line.
    is_dropped: bool,
}

impl Locations {
    /// Nothing recorded yet.
    pub(crate) fn new() -> Locations {
        Locations::default()
    }

    /// Records that an instruction is executed where it was not before.
    pub(crate) fn drop(
        &mut self,
        edit: &mut Transaction<'_>,
        inst: InstId,
    ) -> Result<(), PassError> {
        let Some(own) = location(edit, inst) else { return Ok(()) };
        let code = Code::in_edit(edit);
        if code.body.inst(inst).opcode.is_call() && code.intrinsic(inst).is_none() {
            let noted = self.noted.entry(inst).or_default();
            noted.is_dropped = true;
            noted.all.push(own);
            return Ok(());
        }
        self.noted.remove(&inst);
        Ok(edit.attach(inst, "dbg", None)?)
    }

    /// Records that an instruction replaces another one, which still exists.
    pub(crate) fn merge(
        &mut self,
        edit: &mut Transaction<'_>,
        kept: InstId,
        other: InstId,
    ) -> Result<(), PassError> {
        let (Some(own), Some(theirs)) = (location(edit, kept), location(edit, other)) else {
            return self.drop(edit, kept);
        };
        let others = self.noted.remove(&other).unwrap_or_default();
        // If something is recorded for the kept instruction, its own location is part of that.
        if own != theirs || !others.all.is_empty() {
            let noted = self.noted.entry(kept).or_default();
            noted.all.extend([own, theirs]);
            noted.all.extend(others.all);
            noted.is_dropped |= others.is_dropped;
        }
        Ok(())
    }

    /// Makes the recorded locations.
    pub(crate) fn finish(
        self,
        db: &mut Database,
        function: FunctionInput,
    ) -> Result<(), PassError> {
        let body = function.body(db);
        let mut noted: Vec<(InstId, Noted)> =
            self.noted.into_iter().filter(|&(inst, _)| body.block_of(inst).is_some()).collect();
        if noted.is_empty() {
            return Ok(());
        }
        noted.sort_unstable_by_key(|&(inst, _)| inst);
        let module = function.module(db);
        let made = db.edit_metadata(module, |metadata| {
            let mut known = FxHashMap::default();
            let mut made: Vec<(InstId, Option<MetadataId>)> = Vec::new();
            for (inst, mut noted) in noted {
                noted.all.sort_unstable();
                noted.all.dedup();
                let key = (noted.all.clone(), noted.is_dropped);
                let node = match known.get(&key) {
                    Some(&node) => node,
                    None => common(metadata, &noted)?,
                };
                known.insert(key, node);
                made.push((inst, node));
            }
            Ok::<_, String>(made)
        });
        let made = made.map_err(PassError::Other)?;
        db.edit(function, |edit| {
            made.into_iter().try_for_each(|(inst, node)| Ok(edit.attach(inst, "dbg", node)?))
        })
    }
}

/// Gives an instruction the location of another.
pub(crate) fn copy(edit: &mut Transaction<'_>, from: InstId, to: InstId) -> Result<(), PassError> {
    let node = location(edit, from);
    Ok(edit.attach(to, "dbg", node)?)
}

fn location(edit: &Transaction<'_>, inst: InstId) -> Option<MetadataId> {
    edit.extras().attachments_of(inst).find(|a| a.kind == kind::DBG).map(|a| a.node)
}

/// The common part of the recorded locations.
fn common(additions: &mut Additions<'_>, noted: &Noted) -> Result<Option<MetadataId>, String> {
    let Some((&first, others)) = noted.all.split_first() else { return Ok(None) };
    if noted.is_dropped {
        let metadata = &additions.module().metadata;
        let outermost = frames(metadata, first).first().copied();
        let scope = outermost.and_then(|at| subprogram(metadata, scope(metadata, at)?));
        return scope.map(|scope| add(additions, [0, 0], scope, None)).transpose();
    }
    let mut result = first;
    for &other in others {
        match merged(additions, result, other)? {
            Some(merged) => result = merged,
            None => return Ok(None),
        }
    }
    Ok(Some(result))
}

/// The common part of two locations, from the function itself down to inlined code.
fn merged(
    additions: &mut Additions<'_>,
    one: MetadataId,
    other: MetadataId,
) -> Result<Option<MetadataId>, String> {
    if one == other {
        return Ok(Some(one));
    }
    let metadata = &additions.module().metadata;
    let (ours, theirs) = (frames(metadata, one), frames(metadata, other));
    let mut result: Option<MetadataId> = None;
    for (a, b) in ours.into_iter().zip(theirs) {
        let metadata = &additions.module().metadata;
        if a == b && node(metadata, a, Field::InlinedAt) == result {
            result = Some(a);
            continue;
        }
        let Some(scope) = common_scope(metadata, a, b) else { break };
        let same = |field| Some(int(metadata, a, field)).filter(|&n| n == int(metadata, b, field));
        let line = same(Field::Line);
        let column = line.and(same(Field::Column));
        let place = [line.unwrap_or(0), column.unwrap_or(0)];
        result = Some(add(additions, place, scope, result)?);
    }
    let metadata = &additions.module().metadata;
    match (result, scope(metadata, one)) {
        (None, Some(scope)) => {
            let inlined_at = node(metadata, one, Field::InlinedAt);
            add(additions, [0, 0], scope, inlined_at).map(Some)
        }
        _ => Ok(result),
    }
}

fn add(
    additions: &mut Additions<'_>,
    [line, column]: [i64; 2],
    scope: MetadataId,
    inlined_at: Option<MetadataId>,
) -> Result<MetadataId, String> {
    let mut builder = NodeBuilder::new(NodeKind::Location, false);
    let places = |field| NodeKind::Location.fields().iter().position(|f| f.name == field);
    let values = [
        (Field::Line, Some(MetadataValue::Int(line))),
        (Field::Column, Some(MetadataValue::Int(column))),
        (Field::Scope, Some(MetadataValue::Node(scope))),
        (Field::InlinedAt, inlined_at.map(MetadataValue::Node)),
    ];
    for (field, value) in values {
        if let (Some(place), Some(value)) = (places(field), value) {
            builder.set_at(place, value);
        }
    }
    additions.add(builder)
}

fn node(metadata: &Metadata, of: MetadataId, field: Field) -> Option<MetadataId> {
    metadata.field(of, field).and_then(MetadataValue::as_node)
}

fn int(metadata: &Metadata, of: MetadataId, field: Field) -> i64 {
    match metadata.field(of, field) {
        Some(MetadataValue::Int(value)) => value,
        _ => 0,
    }
}

fn scope(metadata: &Metadata, location: MetadataId) -> Option<MetadataId> {
    node(metadata, location, Field::Scope)
}

/// A location and the call sites through which its code was inlined, outermost first.
fn frames(metadata: &Metadata, location: MetadataId) -> Vec<MetadataId> {
    let outwards = |&at: &MetadataId| node(metadata, at, Field::InlinedAt);
    let mut frames: Vec<MetadataId> =
        std::iter::successors(Some(location), outwards).take(DEPTH).collect();
    frames.reverse();
    frames
}

/// A scope and its enclosing scopes, up to its subprogram.
fn around(metadata: &Metadata, scope: MetadataId) -> impl Iterator<Item = MetadataId> + '_ {
    let outwards = |&at: &MetadataId| match metadata.node_kind(at) {
        NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => node(metadata, at, Field::Scope),
        _ => None,
    };
    std::iter::successors(Some(scope), outwards).take(DEPTH)
}

fn subprogram(metadata: &Metadata, scope: MetadataId) -> Option<MetadataId> {
    around(metadata, scope).find(|&at| metadata.node_kind(at) == NodeKind::Subprogram)
}

/// The innermost common scope of two locations in one subprogram.
fn common_scope(metadata: &Metadata, a: MetadataId, b: MetadataId) -> Option<MetadataId> {
    let (ours, theirs) = (scope(metadata, a)?, scope(metadata, b)?);
    let theirs: SmallVec<[MetadataId; 8]> = around(metadata, theirs).collect();
    around(metadata, ours).find(|at| theirs.contains(at))
}

#[cfg(test)]
mod tests;
