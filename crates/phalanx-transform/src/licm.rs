//! `licm`: what does not change in a loop moves before it.
//!
//! An instruction moves to the *preheader* of a reducible cycle, a block that leads to the header alone and is the only way into the cycle,
//! when what it reads is defined outside and
//!
//! - it is speculatable, since the loop may not come to it; or
//! - it is a plain load, nothing in the cycle may write what it reads, and it may be executed there: it reads a whole object, or the
//!   header executes it before anything that may not come back.
//!
//! What is said at a load or call that the loop need not come to holds for the rounds that do, and goes if it is more than that
//! the result is poison ([`speculated`](crate::speculated)).
//!
//! Convergent operations are not speculatable and stay. A preheader is made when it is needed: a new block on the edges into a cycle
//! changes nobody's group.
//!
//! Outer cycles come first, so that an instruction moves as far as it can at once. Everything is found first and then done, in one
//! transaction. O(instructions × depth of cycles), and for loads × writes of the cycle, which are looked at up to a bound. Where one of these may write
//! what a load reads as far as its address tells, the walker of MemorySSA is asked.

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{CycleId, Cycles, Dfs, Node};
use phalanx_ir::{
    BlockId, InstBuilder as _, InstId, Opcode, Type, Value,
    edit::Transaction,
    flow::{block_of, node_of},
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    code::Code,
    locations::Locations,
    memory::Memory,
    pass::{Outcome, Pass, PassError},
    speculated::forget_claims,
};

/// How many writes of a cycle a load is compared with.
const WRITES: usize = 64;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct Licm;

/// What leaves a cycle, in order.
#[derive(Debug)]
struct Hoist {
    header: BlockId,
    /// Blocks outside with edges to the header.
    entering: SmallVec<[BlockId; 2]>,
    /// With whether the loop executes them for certain.
    insts: Vec<(InstId, bool)>,
}

impl Pass for Licm {
    fn name(&self) -> &str {
        "licm"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let hoists = search(db, function);
        if hoists.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        let mut locations = Locations::new();
        db.edit(function, |edit| {
            // A preheader may be made on an edge that leaves another.
            let mut made: FxHashMap<(BlockId, BlockId), BlockId> = FxHashMap::default();
            for hoist in &hoists {
                let preheader = preheader(edit, hoist, &mut made)?;
                for &(inst, is_certain) in &hoist.insts {
                    if !is_certain {
                        forget_claims(edit, inst)?;
                    }
                    locations.drop(edit, inst)?;
                    edit.move_to_end(inst, preheader)?;
                }
            }
            Ok::<_, PassError>(())
        })?;
        locations.finish(db, function)?;
        Ok(Outcome::Changed)
    }
}

/// The facts that the search reads.
struct Search<'a> {
    code: Code<'a>,
    memory: Memory<'a>,
    cycles: &'a Cycles,
    /// Before which cycle an instruction will be.
    moved: FxHashMap<InstId, CycleId>,
}

fn search(db: &Database, function: FunctionInput) -> Vec<Hoist> {
    let (Some(cfg), Some(cycles), Some(dfs)) =
        (queries::cfg(db, function), queries::cycles(db, function), queries::dfs(db, function))
    else {
        return Vec::new();
    };
    if cycles.is_empty() {
        return Vec::new();
    }
    let mut search = Search {
        code: Code::of(db, function),
        memory: Memory::new(db, function),
        cycles,
        moved: FxHashMap::default(),
    };
    let mut order: Vec<CycleId> = cycles.iter().collect();
    order.sort_by_key(|&cycle| (cycles.depth(cycle), cycle.raw()));
    let mut hoists = Vec::new();
    for cycle in order {
        if !cycles.is_reducible(cycle) {
            continue;
        }
        let header = cycles.header(cycle);
        let mut entering: SmallVec<[BlockId; 2]> = cfg
            .predecessors(header)
            .iter()
            .filter(|&&node| !cycles.contains(cycle, node))
            .map(|&node| block_of(node))
            .collect();
        entering.sort_unstable_by_key(|b| b.into_raw().into_u32());
        entering.dedup();
        if !entering.iter().all(|&block| search.can_lead_elsewhere(block)) {
            continue;
        }
        let insts = search.cycle(dfs, cycle);
        if !insts.is_empty() {
            hoists.push(Hoist { header: block_of(header), entering, insts });
        }
    }
    hoists
}

impl Search<'_> {
    fn can_lead_elsewhere(&self, block: BlockId) -> bool {
        let opcode = self.code.body.terminator(block).map(|t| self.code.body.inst(t).opcode);
        matches!(opcode, Some(Opcode::Br | Opcode::Switch))
    }

    /// What leaves a cycle, each after what it reads.
    fn cycle(&mut self, dfs: &Dfs, cycle: CycleId) -> Vec<(InstId, bool)> {
        let body = self.code.body;
        let mut blocks: Vec<Node> = self.cycles.blocks(cycle).to_vec();
        blocks.sort_unstable_by_key(|&node| dfs.rpo_index(node));
        let writes = self.writes(&blocks);
        let mut insts = Vec::new();
        for &node in &blocks {
            let mut is_certain = node == self.cycles.header(cycle);
            for inst in body.block_insts(block_of(node)) {
                if self.is_movable(cycle, (inst, is_certain), writes.as_deref())
                    && body.operands(inst).iter().all(|&value| self.is_outside(cycle, value))
                    && !self.moved.contains_key(&inst)
                {
                    self.moved.insert(inst, cycle);
                    insts.push((inst, is_certain));
                }
                is_certain = is_certain && self.comes_back(inst);
            }
        }
        insts
    }

    /// Instructions of a cycle that may write; none when there are too many.
    fn writes(&self, blocks: &[Node]) -> Option<Vec<InstId>> {
        let mut writes = Vec::new();
        for &node in blocks {
            for inst in self.code.body.block_insts(block_of(node)) {
                let opcode = self.code.body.inst(inst).opcode;
                let may_write = match opcode {
                    Opcode::Load => self.code.has_order(inst),
                    Opcode::Call => !self.code.call(inst).memory.only_reads(),
                    Opcode::Store
                    | Opcode::Fence
                    | Opcode::AtomicRmw
                    | Opcode::CmpXchg
                    | Opcode::VaArg
                    | Opcode::LandingPad
                    | Opcode::CatchPad
                    | Opcode::CleanupPad => true,
                    opcode => opcode.is_call(),
                };
                if may_write {
                    writes.push(inst);
                }
                if writes.len() > WRITES {
                    return None;
                }
            }
        }
        Some(writes)
    }

    fn is_movable(
        &self,
        cycle: CycleId,
        (inst, is_certain): (InstId, bool),
        writes: Option<&[InstId]>,
    ) -> bool {
        let data = self.code.body.inst(inst);
        if data.ty == Type::VOID || data.ty == Type::TOKEN {
            return false;
        }
        if data.opcode != Opcode::Load {
            return self.code.is_speculatable(inst);
        }
        if self.code.has_order(inst) || !(is_certain || self.memory.is_always_readable(inst)) {
            return false;
        }
        let address = self.code.body.operands(inst)[0];
        self.memory.never_changes(inst)
            || writes.is_some_and(|writes| {
                !writes.iter().any(|&write| self.memory.may_write(write, address))
                    || self.memory.is_written_before(self.cycles, cycle, inst)
            })
    }

    /// Whether what follows is executed when this is.
    fn comes_back(&self, inst: InstId) -> bool {
        match self.code.body.inst(inst).opcode {
            Opcode::Call => self.code.call(inst).comes_back(),
            Opcode::Load | Opcode::Store => {
                !self.code.body.inst(inst).flags.contains(phalanx_ir::InstFlags::VOLATILE)
            }
            _ => true,
        }
    }

    fn is_outside(&self, cycle: CycleId, value: Value) -> bool {
        let Some(inst) = value.as_inst() else { return true };
        if let Some(&before) = self.moved.get(&inst) {
            // The preheader of a cycle is in what is around that cycle.
            return before == cycle || !self.cycles.contains_cycle(cycle, before);
        }
        let block = self.code.body.block_of(inst);
        block.is_some_and(|block| !self.cycles.contains(cycle, node_of(block)))
    }
}

/// The block before a cycle; a new one when there is none.
fn preheader(
    edit: &mut Transaction<'_>,
    hoist: &Hoist,
    made: &mut FxHashMap<(BlockId, BlockId), BlockId>,
) -> Result<BlockId, PassError> {
    let header = hoist.header;
    let from: SmallVec<[BlockId; 2]> = hoist
        .entering
        .iter()
        .map(|&block| made.get(&(block, header)).copied().unwrap_or(block))
        .collect();
    if let [only] = *from
        && edit.flow().successors(only).len() == 1
    {
        return Ok(only);
    }
    let name = edit.extras().names.block(header).unwrap_or_default();
    let name = match name {
        b"" => String::new(),
        name => format!("{}.preheader", String::from_utf8_lossy(name)),
    };
    let after = from.first().copied();
    let new = edit.create_block(&name, after)?;
    edit.at_end(new).br(header)?;
    // The phis of the header get one value for all ways in: a phi where these bring different ones.
    let phis: SmallVec<[InstId; 8]> = edit.body().phis(header).collect();
    let mut merged: SmallVec<[Value; 8]> = SmallVec::new();
    let mut joins: Vec<(InstId, Vec<(Value, BlockId)>)> = Vec::new();
    for &phi in &phis {
        let inputs: Vec<(Value, BlockId)> =
            from.iter().filter_map(|&block| Some((edit.phi_input(phi, block)?, block))).collect();
        match inputs.iter().all(|input| input.0 == inputs[0].0) {
            true => merged.push(inputs[0].0),
            false => {
                let ty = edit.body().inst(phi).ty;
                let join = edit.at_start(new).phi(ty)?;
                merged.push(join);
                joins.extend(join.as_inst().map(|join| (join, inputs)));
            }
        }
    }
    for &block in &from {
        let places: SmallVec<[usize; 4]> = edit
            .flow()
            .successors(block)
            .iter()
            .enumerate()
            .filter(|&(_, &to)| to == header)
            .map(|(at, _)| at)
            .collect();
        for (nth, &at) in places.iter().enumerate() {
            edit.redirect_edge(block, at, new)?;
            if nth == 0 {
                for (join, inputs) in &joins {
                    for &(value, _) in inputs.iter().filter(|input| input.1 == block) {
                        edit.add_phi_input(*join, value, block)?;
                    }
                }
            }
        }
        made.insert((block, header), new);
    }
    for (&phi, value) in phis.iter().zip(merged) {
        edit.add_phi_input(phi, value, new)?;
    }
    Ok(new)
}
