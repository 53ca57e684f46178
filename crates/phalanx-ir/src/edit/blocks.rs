//! Edits of blocks and edges.
//!
//! ```text
//! a: br i1 %c, label %b, label %d               a:   br i1 %c, label %new, label %d
//! b: %p = phi i32 [ %v, %a ], [ %w, %d ]        new: br label %b
//!                                               b:   %p = phi i32 [ %v, %new ], [ %w, %d ]
//! ```
//!
//! [`Transaction::split_edge`] makes the right side of the left one; other edits of edges update
//! phis in the same way.

use smallvec::SmallVec;

use crate::{
    body::{InstId, raw},
    builder::{BuildError, NewInst, check},
    edit::Transaction,
    extras::Named,
    flow::BlockId,
    inst::{InstData, InstFlags, Opcode, OperandRange},
    types::Type,
    value::Value,
};

impl Transaction<'_> {
    /// Whether a block exists and is in the function.
    pub(super) fn is_placed(&self, block: BlockId) -> bool {
        (raw(block) as usize) < self.flow().id_count()
            && (self.body().first(block).is_some() || self.open.contains(&block))
    }

    pub(super) fn placed(&self, block: BlockId) -> Result<(), BuildError> {
        match self.is_placed(block) {
            true => Ok(()),
            false => Err(BuildError::Entity {
                function: crate::describe::global(self.context(), self.header().name),
                entity: format!("{:?}", Value::block(block)),
                message: "is not a block of this function",
            }),
        }
    }

    fn position(&self, block: BlockId) -> usize {
        let order = self.flow().order();
        order.iter().position(|&b| b == block).unwrap_or(order.len())
    }

    /// Makes an empty block after another, or at the end. It must get a terminator before the
    /// commit.
    ///
    /// # Errors
    /// When `after` is not a block of the function, or there are [as many](Value::LIMIT) as there
    /// can be.
    pub fn create_block(
        &mut self,
        name: &str,
        after: Option<BlockId>,
    ) -> Result<BlockId, BuildError> {
        let at = match after {
            Some(after) => {
                self.placed(after)?;
                self.position(after) + 1
            }
            None => self.flow().order().len(),
        };
        self.check_room(1, 0)?;
        Ok(self.block_at(at, name))
    }

    /// Whether this many more blocks and instructions can get ids.
    pub(super) fn check_room(&self, blocks: usize, insts: usize) -> Result<(), BuildError> {
        let (blocks, insts) = (self.flow().id_count() + blocks, self.body().id_count() + insts);
        match check::excess(blocks, insts) {
            None => Ok(()),
            Some(message) => Err(BuildError::Entity {
                function: crate::describe::global(self.context(), self.header().name),
                entity: String::from("there would be"),
                message,
            }),
        }
    }

    pub(super) fn block_at(&mut self, at: usize, name: &str) -> BlockId {
        let block = self.new_block();
        self.place_block(at, block);
        self.put_name(Named::Block(raw(block)), name.as_bytes());
        block
    }

    /// Moves a block in the order of the text to just after another.
    ///
    /// # Errors
    /// When one of them is not a block of the function, or the first is the entry.
    pub fn move_block_after(&mut self, block: BlockId, after: BlockId) -> Result<(), BuildError> {
        self.placed(block)?;
        self.placed(after)?;
        self.check_not_entry(block)?;
        if block != after {
            let at = self.position(block);
            self.displace_block(at);
            self.place_block(self.position(after) + 1, block);
        }
        Ok(())
    }

    /// Checks that a block is not the entry: no edge may lead there, and it always stays the first
    /// block.
    pub(super) fn check_not_entry(&self, block: BlockId) -> Result<(), BuildError> {
        match self.flow().entry() == Some(block) {
            true => Err(self.entity(Value::block(block), "is the entry of its function")),
            false => Ok(()),
        }
    }

    /// Checks that a block does not begin with a pad: only unwind edges lead to pads.
    pub(super) fn check_no_pad(&self, block: BlockId) -> Result<(), BuildError> {
        let first =
            self.body().block_insts(block).find(|&i| self.body().inst(i).opcode != Opcode::Phi);
        match first.filter(|&inst| self.leads_block(inst)) {
            Some(_) => Err(self.entity(Value::block(block), "is only entered by unwinding")),
            None => Ok(()),
        }
    }

    fn check_no_address(&self, block: BlockId) -> Result<(), BuildError> {
        let name = self.header().name;
        let addresses = &self.module().block_addresses;
        match addresses.iter().any(|a| a.function == name && a.block == block) {
            true => Err(self.entity(Value::block(block), "has its address taken")),
            false => Ok(()),
        }
    }

    /// Makes a `br` to a block, in no block yet.
    fn branch(&mut self, to: BlockId) -> InstId {
        let data = InstData {
            opcode: Opcode::Br,
            sub: 0,
            flags: InstFlags::NONE,
            ty: Type::VOID,
            operands: OperandRange::default(),
            words: [0; 2],
        };
        let targets = [to];
        self.create(data, &NewInst::new(Opcode::Br, &[]).to(&targets))
    }

    /// Splits a block: the instructions from `inst` on move to a new block after it, and the old
    /// block branches there.
    ///
    /// # Errors
    /// When `inst` must stay at the start of its block.
    pub fn split_before(&mut self, inst: InstId, name: &str) -> Result<BlockId, BuildError> {
        let block = self.linked(inst)?;
        if self.leads_block(inst) {
            return Err(self.entity(inst.into(), "must stay at the start of its block"));
        }
        self.terminator(block)?;
        self.check_behind(self.body().prev(inst))?;
        self.check_room(1, 1)?;
        let new = self.block_at(self.position(block) + 1, name);
        self.split_list(inst, new);
        let successors: SmallVec<[BlockId; 4]> = self.flow().successors(block).into();
        let branch = self.branch(new);
        self.link(block, branch, None);
        self.put_successors(new, &successors);
        self.put_successors(block, &[new]);
        self.follow_moved_edges(block, new, &successors);
        Ok(new)
    }

    fn follow_moved_edges(&mut self, old: BlockId, new: BlockId, successors: &[BlockId]) {
        let mut successors: SmallVec<[BlockId; 4]> = successors.into();
        successors.sort_unstable_by_key(|&b| raw(b));
        successors.dedup();
        for to in successors {
            self.edges_renamed(old, new, to);
        }
    }

    /// Puts a new block on an edge; `index` is the successor's place in the terminator.
    ///
    /// # Errors
    /// When there is no such edge, or it cannot be split: an edge to a pad, or one that an address
    /// or inline assembly takes.
    pub fn split_edge(
        &mut self,
        block: BlockId,
        index: usize,
        name: &str,
    ) -> Result<BlockId, BuildError> {
        let (to, _) = self.plain_edge(block, index)?;
        self.check_room(1, 1)?;
        let new = self.block_at(self.position(block) + 1, name);
        let branch = self.branch(to);
        self.link(new, branch, None);
        self.put_successors(new, &[to]);
        self.put_successor(block, index, new);
        let terminator = self.terminator(block)?;
        self.touch(terminator);
        for phi in self.phis_of(to) {
            let half = self.body().operands(phi).len() / 2;
            let entry = self.body().phi_incoming(phi).position(|(_, b)| b == block);
            if let Some(at) = entry {
                self.put_operand(phi, (half + at) as u32, Value::block(new));
            }
        }
        Ok(new)
    }

    /// The target and the terminator of an edge that may be changed by itself.
    fn plain_edge(&self, block: BlockId, index: usize) -> Result<(BlockId, InstId), BuildError> {
        let terminator = self.terminator(block)?;
        let Some(&to) = self.flow().successors(block).get(index) else {
            return Err(self.entity(Value::block(block), "has no such successor"));
        };
        // A terminator that jumps to an address names its targets elsewhere too.
        let opcode = self.body().inst(terminator).opcode;
        let is_free = is_plain(opcode, index) && (opcode != Opcode::CallBr || index == 0);
        match is_free && opcode != Opcode::IndirectBr {
            true => Ok((to, terminator)),
            false => {
                Err(self.entity(terminator.into(), "has an edge that cannot be changed by itself"))
            }
        }
    }

    /// Redirects an edge to another block. `index` is the successor's place in the terminator: of a
    /// `switch`, 0 is the default, and the cases follow in order. Phis of the old target lose the
    /// value of the edge. Phis of the new target need one, by [`Transaction::add_phi_input`],
    /// unless there is a parallel edge already.
    ///
    /// # Errors
    /// When there is no such edge, it cannot be changed, or the new target is the entry or begins
    /// with a pad.
    pub fn redirect_edge(
        &mut self,
        block: BlockId,
        index: usize,
        to: BlockId,
    ) -> Result<(), BuildError> {
        let (old, terminator) = self.plain_edge(block, index)?;
        self.placed(to)?;
        self.check_not_entry(to)?;
        self.check_no_pad(to)?;
        if old == to {
            return Ok(());
        }
        let is_parallel = self.flow().successors(block).contains(&to);
        self.put_successor(block, index, to);
        self.touch(terminator);
        self.edges_removed(block, old, 1);
        self.edges_added(block, to, 1, is_parallel);
        Ok(())
    }

    /// Updates phis of the targets after a terminator was replaced.
    pub(super) fn edges_changed(&mut self, block: BlockId, old: &[BlockId], new: &[BlockId]) {
        let old = old.iter().map(|&to| (to, true));
        let mut edges: SmallVec<[(BlockId, bool); 8]> =
            old.chain(new.iter().map(|&to| (to, false))).collect();
        edges.sort_unstable_by_key(|&(to, _)| raw(to));
        for run in edges.chunk_by(|a, b| a.0 == b.0) {
            let to = run[0].0;
            let before = run.iter().filter(|edge| edge.1).count();
            let after = run.len() - before;
            if after < before {
                self.edges_removed(block, to, before - after);
            } else if before < after {
                self.edges_added(block, to, after - before, before > 0);
            }
        }
    }

    /// Merges the only successor of a block into it. Its phis are replaced by their only value.
    ///
    /// # Errors
    /// When the block does not branch to exactly one other block, that has other predecessors, is
    /// the entry, or has its address taken.
    pub fn merge_successor(&mut self, block: BlockId) -> Result<(), BuildError> {
        let gone = self.absorb_successor(block)?;
        self.drop_blocks(&[gone]);
        Ok(())
    }

    /// Merges successors into blocks as [`Transaction::merge_successor`] does, into each as long as
    /// `which` holds; returns how many. A block that was merged away is skipped. O(blocks +
    /// instructions moved), where single calls would be quadratic.
    ///
    /// # Errors
    /// As [`Transaction::merge_successor`]; what was merged before stays merged.
    pub fn merge_successors(
        &mut self,
        blocks: &[BlockId],
        mut which: impl FnMut(&Self, BlockId) -> bool,
    ) -> Result<usize, BuildError> {
        let mut gone = Vec::new();
        let mut done = Ok(());
        'all: for &block in blocks {
            while self.body().first(block).is_some() && which(self, block) {
                match self.absorb_successor(block) {
                    Ok(merged) => gone.push(merged),
                    Err(error) => {
                        done = Err(error);
                        break 'all;
                    }
                }
            }
        }
        self.drop_blocks(&gone);
        done.map(|()| gone.len())
    }

    /// Moves the instructions of the only successor of a block into it; the successor becomes
    /// empty.
    fn absorb_successor(&mut self, block: BlockId) -> Result<BlockId, BuildError> {
        let terminator = self.terminator(block)?;
        let successors = self.flow().successors(block);
        let &[next] = successors else {
            return Err(self.entity(Value::block(block), "has not exactly one successor"));
        };
        if self.body().inst(terminator).opcode != Opcode::Br {
            return Err(self.entity(terminator.into(), "is no plain branch"));
        }
        if next == block || self.flow().in_degree(next) != 1 {
            return Err(self.entity(Value::block(next), "has other predecessors"));
        }
        self.check_not_entry(next)?;
        self.check_no_address(next)?;
        self.terminator(next)?;
        let phis = self.phis_of(next);
        self.check_not_circular(&phis)?;
        for phi in phis {
            let Some((value, _)) = self.body().phi_incoming(phi).next() else { continue };
            self.replace_all_uses(phi, value)?;
            self.remove(phi);
        }
        self.move_debug_records(terminator, self.body().first(next));
        self.put_attachments(terminator, Vec::new());
        self.unlink(terminator);
        self.join_lists(block, next);
        let successors: SmallVec<[BlockId; 4]> = self.flow().successors(next).into();
        self.put_successors(next, &[]);
        self.put_successors(block, &successors);
        self.follow_moved_edges(next, block, &successors);
        Ok(next)
    }

    /// Checks that the phis of a block with one incoming edge do not all stand for each other, as
    /// they may in unreachable code. O(phis).
    fn check_not_circular(&self, phis: &[InstId]) -> Result<(), BuildError> {
        // The only value of each phi, and the start of the last walk that passed it.
        let mut next: rustc_hash::FxHashMap<InstId, (Value, Option<InstId>)> =
            rustc_hash::FxHashMap::default();
        for &phi in phis {
            let Some((value, _)) = self.body().phi_incoming(phi).next() else {
                return Err(self.entity(phi.into(), "has no value for its only edge"));
            };
            next.insert(phi, (value, None));
        }
        for &first in phis {
            let mut at = first;
            while let Some((value, followed)) = next.get_mut(&at) {
                match followed.replace(first) {
                    None => {}
                    Some(from) if from == first => {
                        return Err(self.entity(at.into(), "reads itself alone"));
                    }
                    // An earlier walk left the block from here.
                    Some(_) => break,
                }
                let Some(inst) = value.as_inst() else { break };
                at = inst;
            }
        }
        Ok(())
    }

    /// Removes empty blocks from the function.
    fn drop_blocks(&mut self, gone: &[BlockId]) {
        match *gone {
            [] => return,
            [block] => {
                let at = self.position(block);
                self.displace_block(at);
            }
            _ => self.displace_blocks(gone),
        }
        for &block in gone {
            self.put_name(Named::Block(raw(block)), b"");
            self.open.remove(&block);
        }
    }

    /// Erases a block that no other block leads to, with its instructions.
    ///
    /// # Errors
    /// When it has predecessors, is the entry, has its address taken, or something outside reads
    /// one of its instructions.
    pub fn erase_block(&mut self, block: BlockId) -> Result<(), BuildError> {
        self.placed(block)?;
        self.check_not_entry(block)?;
        let own = self.flow().successors(block).iter().filter(|&&s| s == block).count();
        if self.flow().in_degree(block) as usize != own {
            return Err(self.entity(Value::block(block), "has predecessors"));
        }
        self.erase_blocks(&[block])
    }

    /// Erases all blocks that are unreachable from the entry; returns how many. O(blocks + edges).
    ///
    /// # Errors
    /// When one of them has its address taken.
    pub fn erase_unreachable(&mut self) -> Result<usize, BuildError> {
        let Some(cfg) = self.flow().cfg() else { return Ok(0) };
        let dfs = phalanx_graph::Dfs::new(&cfg);
        let gone: Vec<BlockId> = self
            .flow()
            .order()
            .iter()
            .copied()
            .filter(|&block| !dfs.is_reachable(crate::flow::node_of(block)))
            .collect();
        if !gone.is_empty() {
            self.erase_blocks(&gone)?;
        }
        Ok(gone.len())
    }

    /// Erases blocks that have no predecessors but each other.
    fn erase_blocks(&mut self, gone: &[BlockId]) -> Result<(), BuildError> {
        let set: rustc_hash::FxHashSet<BlockId> = gone.iter().copied().collect();
        for &block in gone {
            self.check_no_address(block)?;
        }
        // A phi outside may read a value of an erased block, along an edge that is erased too.
        let is_outside = |u: crate::edit::Use| {
            let outside = self.body().block_of(u.user).is_some_and(|b| !set.contains(&b));
            let phi = self.body().inst(u.user).opcode == Opcode::Phi;
            let edge = phi
                && self
                    .body()
                    .phi_incoming(u.user)
                    .nth(u.index as usize)
                    .is_some_and(|(_, from)| set.contains(&from));
            outside && !edge
        };
        for &block in gone {
            for inst in self.body().block_insts(block) {
                if let Some(found) = self.uses_of(inst).find(|&u| is_outside(u)) {
                    return Err(BuildError::Used {
                        function: crate::describe::global(self.context(), self.header().name),
                        entity: crate::describe::value(
                            self.context(),
                            self.function(),
                            inst.into(),
                        ),
                        user: crate::describe::value(
                            self.context(),
                            self.function(),
                            found.user.into(),
                        ),
                    });
                }
            }
        }
        let successors = gone.iter().flat_map(|&block| self.flow().successors(block));
        let mut targets: Vec<BlockId> =
            successors.copied().filter(|to| !set.contains(to)).collect();
        targets.sort_unstable_by_key(|&b| raw(b));
        targets.dedup();
        for to in targets {
            self.take_inputs_where(to, |from| set.contains(&from));
        }
        for &block in gone {
            self.put_successors(block, &[]);
        }
        for &block in gone {
            let insts: Vec<InstId> = self.body().block_insts(block).collect();
            for inst in insts {
                if self.body().inst(inst).ty != Type::VOID {
                    self.erase_mentions(inst);
                }
                self.move_debug_records(inst, None);
                self.put_attachments(inst, Vec::new());
                self.put_name(Named::Inst(raw(inst)), b"");
                self.unlink(inst);
            }
        }
        self.drop_blocks(gone);
        Ok(())
    }
}

/// Whether an edge is taken otherwise than by unwinding; `index` is the successor's place in the
/// terminator.
pub(super) fn is_plain(opcode: Opcode, index: usize) -> bool {
    match opcode {
        Opcode::Br | Opcode::Switch | Opcode::IndirectBr | Opcode::CallBr | Opcode::CatchRet => {
            true
        }
        Opcode::Invoke => index == 0,
        _ => false,
    }
}
