//! Phis and the edges they follow.

use smallvec::SmallVec;

use crate::{
    body::InstId, builder::BuildError, describe, edit::Transaction, flow::BlockId, inst::Opcode,
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
        if !self.pending.contains(&block) {
            self.pending.push(block);
        }
    }

    /// Gives a phi its value for one more edge from `from`. The edges are compared when the transaction is committed.
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

    /// Takes away what a phi has for all edges from `from`. The edges are compared when the transaction is committed.
    ///
    /// # Errors
    /// When it is no phi, or has nothing for such edges.
    pub fn remove_phi_input(&mut self, phi: InstId, from: BlockId) -> Result<(), BuildError> {
        let block = self.phi_block(phi)?;
        if !self.body().phi_incoming(phi).any(|(_, b)| b == from) {
            return Err(self.entity(phi.into(), "has no value for an edge from that block"));
        }
        while self.drop_input(phi, from) {}
        self.pend(block);
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

    /// The value a phi has for edges from a block; none when it is no phi of this function.
    pub fn phi_input(&self, phi: InstId, from: BlockId) -> Option<Value> {
        self.phi_block(phi).ok()?;
        self.body().phi_incoming(phi).find(|(_, b)| *b == from).map(|(value, _)| value)
    }

    pub(super) fn push_input(&mut self, phi: InstId, value: Value, from: BlockId) {
        let (values, blocks) = {
            let operands = self.body().operands(phi);
            operands.split_at(operands.len() / 2)
        };
        let mut new: SmallVec<[Value; 8]> = values.into();
        new.push(value);
        new.extend_from_slice(blocks);
        new.push(Value::block(from));
        self.put_operands(phi, &new);
    }

    /// Takes away one entry of a phi for an edge from `from`; whether there was one.
    fn drop_input(&mut self, phi: InstId, from: BlockId) -> bool {
        let Some(at) = self.body().phi_incoming(phi).position(|(_, b)| b == from) else {
            return false;
        };
        let mut new: SmallVec<[Value; 8]> = self.body().operands(phi).into();
        let half = new.len() / 2;
        new.remove(half + at);
        new.remove(at);
        self.put_operands(phi, &new);
        true
    }

    pub(super) fn phis_of(&self, block: BlockId) -> SmallVec<[InstId; 8]> {
        self.body().phis(block).collect()
    }

    /// Phis of `block` follow one edge that went.
    pub(super) fn edge_removed(&mut self, from: BlockId, block: BlockId) {
        for phi in self.phis_of(block) {
            self.drop_input(phi, from);
        }
        // What was pending may be whole now, or the other way round.
        if self.body().phis(block).next().is_some() {
            self.pend(block);
        }
    }

    /// Phis of `block` follow one edge that came.
    pub(super) fn edge_added(&mut self, from: BlockId, block: BlockId) {
        for phi in self.phis_of(block) {
            if let Some(value) = self.phi_input(phi, from) {
                self.push_input(phi, value, from);
            }
        }
        if self.body().phis(block).next().is_some() {
            self.pend(block);
        }
    }

    /// Phis of `block` read `from` where they read `old`.
    pub(super) fn edges_renamed(&mut self, old: BlockId, from: BlockId, block: BlockId) {
        for phi in self.phis_of(block) {
            let half = self.body().operands(phi).len() / 2;
            for at in 0..half {
                let at = (half + at) as u32;
                if self.body().operands(phi)[at as usize] == Value::block(old) {
                    self.put_operand(phi, at, Value::block(from));
                }
            }
        }
    }

    /// Compares the phis of all pending blocks with their edges.
    pub(super) fn check_pending(&self) -> Result<(), BuildError> {
        for &block in &self.pending {
            // It may be gone.
            for phi in self.body().phis(block) {
                self.check_phi(block, phi)?;
            }
        }
        Ok(())
    }

    /// One entry per edge. O(entries log entries + edges of the predecessors).
    fn check_phi(&self, block: BlockId, phi: InstId) -> Result<(), BuildError> {
        let mut blocks: SmallVec<[BlockId; 8]> =
            self.body().phi_incoming(phi).map(|(_, b)| b).collect();
        let total = blocks.len();
        blocks.sort_unstable_by_key(|b| b.into_raw().into_u32());
        let wrong = |from, entries, edges| BuildError::Incoming {
            function: describe::global(self.context(), self.header().name),
            phi: describe::value(self.context(), self.function(), phi.into()),
            block: from,
            entries,
            edges,
        };
        let describe = |from| describe::block(self.function(), from);
        let edges_from =
            |from: BlockId| self.flow().successors(from).iter().filter(|&&s| s == block).count();
        for run in blocks.chunk_by(|a, b| a == b) {
            let edges = edges_from(run[0]);
            if edges != run.len() {
                return Err(wrong(describe(run[0]), run.len(), edges));
            }
        }
        if total != self.flow().in_degree(block) as usize {
            let is_missing = |&&from: &&BlockId| edges_from(from) > 0 && !blocks.contains(&from);
            let missing = self.flow().order().iter().find(is_missing);
            let from = missing.map_or_else(String::new, |&from| describe(from));
            return Err(wrong(from, 0, missing.map_or(0, |&from| edges_from(from))));
        }
        Ok(())
    }
}
