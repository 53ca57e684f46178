//! `licm`: moves loop-invariant instructions before the loop.
//!
//! The *preheader* of a cycle is a block that leads to the header alone and is the only way into
//! the cycle. An instruction moves to the preheader of a reducible cycle when its operands are
//! defined outside and
//! - it is speculatable, since the loop may not execute it; or
//! - it is a plain load, nothing in the cycle may write what it reads, and it may be executed in
//!   the preheader: it reads a whole object, or the header executes it before anything that may not
//!   return.
//!
//! Metadata and attributes of a load or call hold only for the rounds that execute it. If the loop
//! may not execute it, the pass removes those that would cause undefined behaviour; those that only
//! make a result poison stay ([`speculated`](crate::speculated)).
//!
//! Convergent operations are not speculatable and stay. The pass makes a preheader when it needs
//! one: a new block on the edges into a cycle changes no group of threads.
//!
//! An instruction moves as far out as it can in one step. An instruction that may leave a cycle may
//! also leave the cycles inside it. So one walk through the instructions finds for each the
//! outermost cycle that does not define its operands; only for loads does the search continue
//! inwards from there. The pass finds all moves first and then makes them in one transaction.
//!
//! O(instructions × log(depth of cycles)). For loads also a bounded number of writes of each cycle
//! that is tried. Where a write may alias the load by its address, the walker of MemorySSA decides.

use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, CycleId, Cycles, Node};
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

/// The instructions that leave a cycle, in order.
#[derive(Debug)]
struct Hoist {
    header: BlockId,
    /// Blocks outside with edges to the header.
    entering: Entering,
    /// Instructions, and whether the loop always executes them.
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
            // Another preheader of this transaction may have split the edge.
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
    /// The entry block, which is in no cycle.
    outside: Node,
    /// By cycle: instructions that may write; none if there are too many.
    writes: Vec<Option<Vec<InstId>>>,
    /// By cycle: whether it can have a preheader.
    can_be_left: Vec<bool>,
    /// The cycle before which an instruction will be placed.
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
    let code = Code::of(db, function);
    let entering: Vec<Option<Entering>> =
        cycles.iter().map(|cycle| entering(code, cfg, cycles, cycle)).collect();
    let mut search = Search {
        code,
        memory: Memory::new(db, function),
        cycles,
        outside: cfg.entry(),
        writes: writes(code, cycles),
        can_be_left: entering.iter().map(Option::is_some).collect(),
        moved: FxHashMap::default(),
    };
    let mut nodes: Vec<Node> =
        cycles.top_level().flat_map(|cycle| cycles.blocks(cycle)).copied().collect();
    nodes.sort_unstable_by_key(|&node| dfs.rpo_index(node));
    let mut insts: Vec<Vec<(InstId, bool)>> = vec![Vec::new(); cycles.len()];
    for node in nodes {
        search.block(node, &mut insts);
    }
    let mut order: Vec<CycleId> = cycles.iter().collect();
    order.sort_by_key(|&cycle| (cycles.depth(cycle), cycle.raw()));
    let hoist = |cycle: CycleId| {
        let insts = std::mem::take(&mut insts[cycle.index()]);
        let entering = entering[cycle.index()].clone().filter(|_| !insts.is_empty())?;
        Some(Hoist { header: block_of(cycles.header(cycle)), entering, insts })
    };
    order.into_iter().filter_map(hoist).collect()
}

/// Blocks outside of a cycle with edges to its header.
type Entering = SmallVec<[BlockId; 2]>;

/// The entering blocks of a cycle that can have a preheader.
fn entering(code: Code<'_>, cfg: &Cfg, cycles: &Cycles, cycle: CycleId) -> Option<Entering> {
    if !cycles.is_reducible(cycle) {
        return None;
    }
    let preds = cfg.predecessors(cycles.header(cycle)).iter();
    let mut entering: Entering =
        preds.filter(|&&node| !cycles.contains(cycle, node)).map(|&node| block_of(node)).collect();
    entering.sort_unstable_by_key(|b| b.into_raw().into_u32());
    entering.dedup();
    let can_lead_elsewhere = |&block: &BlockId| {
        let opcode = code.body.terminator(block).map(|t| code.body.inst(t).opcode);
        matches!(opcode, Some(Opcode::Br | Opcode::Switch))
    };
    entering.iter().all(can_lead_elsewhere).then_some(entering)
}

/// By cycle, instructions that may write; none for cycles with too many. O(blocks + instructions).
fn writes(code: Code<'_>, cycles: &Cycles) -> Vec<Option<Vec<InstId>>> {
    let mut all: Vec<Option<Vec<InstId>>> = vec![Some(Vec::new()); cycles.len()];
    let add = |all: &mut Vec<Option<Vec<InstId>>>, cycle: CycleId, new: Option<&[InstId]>| {
        let slot = &mut all[cycle.index()];
        let known = slot.take();
        *slot = known.zip(new).and_then(|(mut known, new)| {
            known.extend_from_slice(new);
            (known.len() <= WRITES).then_some(known)
        });
    };
    for &node in cycles.top_level().flat_map(|cycle| cycles.blocks(cycle)) {
        let Some(cycle) = cycles.innermost(node) else { continue };
        let insts = code.body.block_insts(block_of(node));
        for inst in insts.filter(|&inst| may_write(code, inst)) {
            add(&mut all, cycle, Some(&[inst]));
        }
    }
    // Cycles come before those in them.
    for cycle in cycles.iter().rev() {
        if let Some(around) = cycles.parent(cycle) {
            let own = all[cycle.index()].clone();
            add(&mut all, around, own.as_deref());
        }
    }
    all
}

fn may_write(code: Code<'_>, inst: InstId) -> bool {
    match code.body.inst(inst).opcode {
        Opcode::Load => code.has_order(inst),
        Opcode::Call => !code.call(inst).memory.only_reads(),
        Opcode::Store
        | Opcode::Fence
        | Opcode::AtomicRmw
        | Opcode::CmpXchg
        | Opcode::VaArg
        | Opcode::LandingPad
        | Opcode::CatchPad
        | Opcode::CleanupPad => true,
        opcode => opcode.is_call(),
    }
}

impl Search<'_> {
    /// Finds the instructions of a block that leave cycles, each after its operands.
    fn block(&mut self, node: Node, insts: &mut [Vec<(InstId, bool)>]) {
        let body = self.code.body;
        let Some(innermost) = self.cycles.innermost(node) else { return };
        let mut is_certain = node == self.cycles.header(innermost);
        for inst in body.block_insts(block_of(node)) {
            if let Some(cycle) = self.outermost_left(innermost, (inst, is_certain)) {
                self.moved.insert(inst, cycle);
                // The header runs in every round of its own cycle only, not of those around it.
                insts[cycle.index()].push((inst, is_certain && cycle == innermost));
            }
            is_certain = is_certain && self.comes_back(inst);
        }
    }

    /// The outermost cycle that an instruction leaves, of `innermost` and the cycles around it.
    fn outermost_left(
        &self,
        innermost: CycleId,
        (inst, is_certain): (InstId, bool),
    ) -> Option<CycleId> {
        let is_load = self.code.body.inst(inst).opcode == Opcode::Load;
        let leaves = |cycle: CycleId| {
            self.can_be_left[cycle.index()]
                && (!is_load
                    || self.is_load_movable(cycle, (inst, is_certain && cycle == innermost)))
        };
        if !is_load && !self.is_movable(inst) {
            return None;
        }
        let mut outermost = self.cycles.outermost_without(innermost, self.outside)?;
        for &operand in self.code.body.operands(inst) {
            let Some(at) = self.place(operand) else { continue };
            let around_it = self.cycles.outermost_without(innermost, at)?;
            if self.cycles.contains_cycle(outermost, around_it) {
                outermost = around_it;
            }
        }
        if leaves(outermost) {
            return Some(outermost);
        }
        // Going outwards, a load that cannot leave a cycle cannot leave the cycles around it.
        let inside = self.cycles.ancestors(innermost);
        let inside = inside.take_while(|&cycle| cycle != outermost);
        let inside = inside.filter(|cycle| self.can_be_left[cycle.index()]);
        match is_load {
            true => inside.take_while(|&cycle| leaves(cycle)).last(),
            false => inside.last(),
        }
    }

    /// A block in the innermost cycle that will contain a value after all moves; none if no cycle
    /// will.
    fn place(&self, value: Value) -> Option<Node> {
        let inst = value.as_inst()?;
        match self.moved.get(&inst) {
            // The preheader of a cycle is in the parent of the cycle, as is the header of the
            // parent.
            Some(&before) => Some(self.cycles.header(self.cycles.parent(before)?)),
            None => self.code.body.block_of(inst).map(node_of),
        }
    }

    /// Whether an instruction that is no load may be executed before a cycle.
    fn is_movable(&self, inst: InstId) -> bool {
        let ty = self.code.body.inst(inst).ty;
        ty != Type::VOID && ty != Type::TOKEN && self.code.is_speculatable(inst)
    }

    /// Whether a load may be executed before a cycle.
    fn is_load_movable(&self, cycle: CycleId, (inst, is_certain): (InstId, bool)) -> bool {
        if self.code.has_order(inst) || !(is_certain || self.memory.is_always_readable(inst)) {
            return false;
        }
        let address = self.code.body.operands(inst)[0];
        self.memory.never_changes(inst)
            || self.writes[cycle.index()].as_ref().is_some_and(|writes| {
                !writes.iter().any(|&write| self.memory.may_write(write, address))
                    || self.memory.is_written_before(self.cycles, cycle, inst)
            })
    }

    /// Whether execution always continues behind an instruction.
    fn comes_back(&self, inst: InstId) -> bool {
        match self.code.body.inst(inst).opcode {
            Opcode::Call => self.code.call(inst).comes_back(),
            Opcode::Load | Opcode::Store => {
                !self.code.body.inst(inst).flags.contains(phalanx_ir::InstFlags::VOLATILE)
            }
            _ => true,
        }
    }
}

/// The preheader of a cycle; made if there is none.
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
    // The phis of the header get one value for all entering edges: a new phi if these bring
    // different values.
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
