//! Edits of phis, and the updates of phis when edges change.
//!
//! A phi has one entry per edge, and equal values for parallel edges:
//!
//! ```text
//! entry: switch i32 %x, label %join [ i32 1, label %join ]
//! join:  %p = phi i32 [ %a, %entry ], [ %a, %entry ]
//! ```
//!
//! One more edge from `entry` to `join` gets the entry `[ %a, %entry ]` by itself. The value for an
//! edge from another block is not known; `join` is then *pending* until the caller has added it.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::{
    body::{InstId, raw},
    builder::BuildError,
    describe,
    edit::{Transaction, Use},
    flow::{BlockId, Flow},
    inst::Opcode,
    value::Value,
};

impl Transaction<'_> {
    fn phi_block(&self, phi: InstId) -> Result<BlockId, BuildError> {
        let block = self.linked(phi)?;
        match self.body().inst(phi).opcode {
            Opcode::Phi => Ok(block),
            _ => Err(self.entity(phi.into(), "is no phi")),
        }
    }

    pub(super) fn pend(&mut self, block: BlockId) {
        if self.pending.last() != Some(&block) {
            self.pending.push(block);
        }
    }

    /// Gives a phi its value for one more edge from `from`. The commit checks that entries and
    /// edges match.
    ///
    /// # Errors
    /// When it is no phi, or the value has another type.
    pub fn add_phi_input(
        &mut self,
        phi: InstId,
        value: impl Into<Value>,
        from: BlockId,
    ) -> Result<(), BuildError> {
        let value = value.into();
        let block = self.phi_block(phi)?;
        self.placed(from)?;
        if self.checked_type(value)? != self.body().inst(phi).ty {
            return Err(self.entity(value, "has another type than the phi"));
        }
        self.push_input(phi, value, from);
        self.pend(block);
        Ok(())
    }

    /// Removes all entries of a phi for edges from `from`. The commit checks that entries and edges
    /// match.
    ///
    /// # Errors
    /// When it is no phi, or has nothing for such edges.
    pub fn remove_phi_input(&mut self, phi: InstId, from: BlockId) -> Result<(), BuildError> {
        let block = self.phi_block(phi)?;
        let from = Value::block(from);
        match self.take_first(phi, usize::MAX, |b| b == from) {
            true => self.pend(block),
            false => {
                return Err(self.entity(phi.into(), "has no value for an edge from that block"));
            }
        }
        Ok(())
    }

    /// Sets the value of a phi for all edges from `from`.
    ///
    /// # Errors
    /// When it is no phi, has nothing for such edges, or the value has another type.
    pub fn set_phi_input(
        &mut self,
        phi: InstId,
        value: impl Into<Value>,
        from: BlockId,
    ) -> Result<(), BuildError> {
        let value = value.into();
        self.phi_block(phi)?;
        if self.checked_type(value)? != self.body().inst(phi).ty {
            return Err(self.entity(value, "has another type than the phi"));
        }
        let places: SmallVec<[u32; 4]> = (0..)
            .zip(self.body().phi_incoming(phi))
            .filter(|(_, (_, b))| *b == from)
            .map(|(at, _)| at)
            .collect();
        if places.is_empty() {
            return Err(self.entity(phi.into(), "has no value for an edge from that block"));
        }
        for at in places {
            self.put_operand(phi, at, value);
        }
        Ok(())
    }

    /// The value of a phi for one edge was set: if there are parallel edges, the commit checks that
    /// their values agree.
    pub(super) fn pend_parallel(&mut self, phi: InstId, index: u32) {
        let from = self.body().phi_incoming(phi).nth(index as usize).map(|(_, from)| from);
        if let (Some(from), Some(block)) = (from, self.body().block_of(phi))
            && self.flow().successors(from).iter().filter(|&&to| to == block).nth(1).is_some()
        {
            self.pend(block);
        }
    }

    /// Adds to `uses` those of `left` that are the same phi's values for parallel edges. O(uses).
    pub(super) fn take_parallel(&self, uses: &mut Vec<Use>, mut left: Vec<Use>) {
        let from = |u: &Use| {
            let operands = self.body().operands(u.user);
            let is_phi = self.body().inst(u.user).opcode == Opcode::Phi;
            is_phi.then(|| (u.user, operands[operands.len() / 2 + u.index as usize]))
        };
        left.retain(|u| from(u).is_some());
        if !left.is_empty() {
            let taken: FxHashSet<_> = uses.iter().filter_map(from).collect();
            uses.extend(left.into_iter().filter(|u| from(u).is_some_and(|f| taken.contains(&f))));
        }
    }

    /// The value a phi has for edges from a block; none when it is no phi of this function.
    pub fn phi_input(&self, phi: InstId, from: BlockId) -> Option<Value> {
        self.phi_block(phi).ok()?;
        let from = Value::block(from);
        let at = self.body().phi_blocks(phi).iter().position(|&b| b == from)?;
        Some(self.body().phi_values(phi)[at])
    }

    pub(super) fn phis_of(&self, block: BlockId) -> SmallVec<[InstId; 8]> {
        self.body().phis(block).collect()
    }

    /// Removes up to `most` entries that a phi has for edges from blocks for which `which` holds;
    /// returns whether there were any.
    fn take_first(&mut self, phi: InstId, most: usize, which: impl Fn(Value) -> bool) -> bool {
        let blocks = (0..).zip(self.body().phi_blocks(phi));
        let found = blocks.filter(|(_, from)| which(**from)).map(|(at, _)| at);
        let gone: SmallVec<[u32; 4]> = found.take(most).collect();
        self.take_inputs(phi, &gone);
        !gone.is_empty()
    }

    /// Removes the entries of the phis of `block` for edges from blocks for which `which` holds.
    /// O(entries).
    pub(super) fn take_inputs_where(&mut self, block: BlockId, which: impl Fn(BlockId) -> bool) {
        self.take_at_most(block, usize::MAX, |b| b.as_block().is_some_and(&which));
    }

    /// Removes entries of the phis of `block` for `count` edges from `from` that were removed.
    pub(super) fn edges_removed(&mut self, from: BlockId, block: BlockId, count: usize) {
        let from = Value::block(from);
        self.take_at_most(block, count, |b| b == from);
    }

    fn take_at_most(&mut self, block: BlockId, most: usize, which: impl Fn(Value) -> bool) {
        let phis = self.phis_of(block);
        for &phi in &phis {
            self.take_first(phi, most, &which);
        }
        // The removal may have completed a pending block, or made a complete one incomplete.
        if !phis.is_empty() {
            self.pend(block);
        }
    }

    /// Adds entries to the phis of `block` for `count` new edges from `from`, if a parallel edge
    /// says which values they have.
    pub(super) fn edges_added(
        &mut self,
        from: BlockId,
        block: BlockId,
        count: usize,
        is_parallel: bool,
    ) {
        let phis = self.phis_of(block);
        for &phi in phis.iter().filter(|_| is_parallel) {
            if let Some(value) = self.phi_input(phi, from) {
                (0..count).for_each(|_| self.push_input(phi, value, from));
            }
        }
        if !phis.is_empty() {
            self.pend(block);
        }
    }

    /// The edges from `old` to `block` now start in `from`: renames them in the phis of `block`.
    pub(super) fn edges_renamed(&mut self, old: BlockId, from: BlockId, block: BlockId) {
        for phi in self.phis_of(block) {
            let half = self.body().operands(phi).len() / 2;
            for at in half..2 * half {
                if self.body().operands(phi)[at] == Value::block(old) {
                    self.put_operand(phi, at as u32, Value::block(from));
                }
            }
        }
    }

    /// Compares the phis of all pending blocks with their edges. O(entries log entries + edges of
    /// the predecessors).
    pub(super) fn check_pending(&self) -> Result<(), BuildError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut edges = Edges { flow: self.flow(), counts: FxHashMap::default() };
        let mut seen = FxHashSet::default();
        for &block in self.pending.iter().filter(|&&block| seen.insert(block)) {
            // The block may have been removed; then it has no phis.
            for phi in self.body().phis(block) {
                self.check_phi(block, phi, &mut edges)?;
            }
        }
        Ok(())
    }

    /// Checks that a phi has one entry per edge, with equal values for parallel edges.
    fn check_phi(
        &self,
        block: BlockId,
        phi: InstId,
        edges: &mut Edges<'_>,
    ) -> Result<(), BuildError> {
        let mut entries: SmallVec<[(BlockId, Value); 8]> =
            self.body().phi_incoming(phi).map(|(value, from)| (from, value)).collect();
        let total = entries.len();
        entries.sort_unstable_by_key(|&(from, _)| raw(from));
        let wrong = |from, entries, edges| BuildError::Incoming {
            function: describe::global(self.context(), self.header().name),
            phi: describe::value(self.context(), self.function(), phi.into()),
            block: from,
            entries,
            edges,
        };
        let describe = |from| describe::block(self.function(), from);
        for run in entries.chunk_by(|a, b| a.0 == b.0) {
            let (from, value) = run[0];
            let edges = edges.between(from, block);
            if edges != run.len() {
                return Err(wrong(describe(from), run.len(), edges));
            }
            if run.iter().any(|&(_, other)| other != value) {
                return Err(
                    self.entity(phi.into(), "has different values for edges from one block")
                );
            }
        }
        if total != self.flow().in_degree(block) as usize {
            let is_listed =
                |from| entries.binary_search_by_key(&raw(from), |&(b, _)| raw(b)).is_ok();
            let order = self.flow().order().iter();
            let mut found = order.map(|&from| (from, edges.between(from, block)));
            let missing = found.find(|&(from, edges)| edges > 0 && !is_listed(from));
            let (from, edges) =
                missing.map_or_else(Default::default, |(from, edges)| (describe(from), edges));
            return Err(wrong(from, 0, edges));
        }
        Ok(())
    }
}

/// How many edges lead from one block to another; blocks with many successors are counted once.
struct Edges<'f> {
    flow: &'f Flow,
    counts: FxHashMap<BlockId, FxHashMap<BlockId, usize>>,
}

impl Edges<'_> {
    fn between(&mut self, from: BlockId, to: BlockId) -> usize {
        const MANY: usize = 16;
        let successors = self.flow.successors(from);
        if successors.len() < MANY {
            return successors.iter().filter(|&&block| block == to).count();
        }
        let counts = self.counts.entry(from).or_insert_with(|| {
            let mut counts = FxHashMap::default();
            for &block in successors {
                *counts.entry(block).or_default() += 1;
            }
            counts
        });
        counts.get(&to).copied().unwrap_or(0)
    }
}
