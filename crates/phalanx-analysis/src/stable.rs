//! Loads that give the same to all threads that read the same address together, in more than a
//! wave.
//!
//! # What
//!
//! Threads of a wave that are converged at a plain load execute it at once: from one address they
//! read one value. Threads of different waves execute the same instance of a load at different
//! times, so what they read may differ though the address does not: that is
//! [`SourceSet::OPAQUE_WAVE`]. A load is *stable* within a scope if what it reads differs between
//! converged threads of the scope only where the address does.
//!
//! | rule | stable | needs |
//! |---|---|---|
//! | nobody writes the memory while the kernel runs, or no store [happens before](crate::memory::order) the load in the launch | in the grid | nothing: these are [classes of loads](crate::loads::LoadClass) |
//! | no acquire is on a way from the entry of the kernel to the load | in the grid if it is of device memory, else in the workgroup | no races |
//! | nothing but barriers of all threads of the workgroup, and fences, is such an acquire | in the workgroup | no races, and a [model of barriers](BarrierModel) |
//! | it is [ordered]: barriers of the whole workgroup are between it and every write of what it reads | in the workgroup | that threads have come to the same barriers so far |
//!
//! The second and third say what a program is taken for, and are used only where whoever asks says
//! so ([`Assumptions`]).
//!
//! # Why they hold
//!
//! Let converged threads `s` and `t` read different values at one address. Then there is a store
//! `W` that happens before the load in `t` and not in `s`. Without a race the load in `s` happens
//! before `W`.
//!
//! *No acquire.* Nothing that another thread did happens before the load in `t`, so `W` is a store
//! of `t`; and for the same reason nothing that `s` did happens before `W`. Threads of different
//! workgroups read one memory by one address only where that is device memory.
//!
//! *Barriers only.* In both models of barriers what two threads have executed of them are
//! beginnings of one list. Converged threads have executed the same part of it before the load: a
//! barrier instance that is before the load in one thread and behind it in another would lie on a
//! cycle with the load without the header that both count the iterations of, which contradicts that
//! this is the innermost such cycle. Let it be the first `k` of the list. What happens before the
//! load in `t` does so by these `k`, since other acquires reach no load that is asked about: so `W`
//! comes before the `k`th in its own thread, or is a store of `t`. What the load in `s` happens
//! before, by barriers, comes after the `k+1`st; by anything else it is acquired by an operation
//! that, as `W`, comes before the `k`th, and from where a way leads to the load. So it does not
//! happen before `W`.
//!
//! A fence alone acquires nothing: it takes an atomic operation that reads what another thread
//! wrote. These count as acquires, whatever their order; so do calls that may contain one, and
//! volatile loads, if the function has a fence.
//!
//! After an edit of instructions the loads among these are looked at again; an acquire that comes,
//! goes or moves has all looked at again.
//!
//! # Complexity
//!
//! O(instructions + edges).

pub mod ordered;

use std::sync::Arc;

use phalanx_core::divergence::Divergence;
use phalanx_graph::{BitSet, Cfg, Node};
use phalanx_ir::{
    BlockId, GlobalName, InstId, Opcode,
    constant::ConstKind,
    flow::{block_of, node_of},
    inst::{InstFlags, Ordering},
};
use phalanx_target::SourceSet;
use rustc_hash::FxHashMap;

use crate::code::{Code, Numbering, SpaceSet, Surroundings};
use crate::granted::StableLoad;
use crate::listing::relisted;
use crate::memory::{
    effects::call_effects,
    order::{acquires, blocks_behind},
};
use crate::spaces::MemoryKinds;
use crate::variance::{BarrierModel, is_whole_barrier};

/// What programs are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assumptions {
    /// Aligned barriers of workgroups are used rightly.
    pub barriers: Option<BarrierModel>,
    /// No two threads access a byte without order between them, one of them writing, unless both do
    /// so atomically. Elsewhere that is said of the address and the wave only.
    pub race_free: bool,
}

impl Assumptions {
    /// Nothing is assumed.
    pub const NONE: Assumptions = Assumptions { barriers: None, race_free: false };
}

/// A rule that is left out: a negative control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// Acquires before a load do not count.
    Acquires,
    /// Only barriers do, of those.
    Others,
    /// Atomic operations acquire only what their own order says.
    Relaxed,
    /// All memory is that of the device.
    Spaces,
    /// Whatever function is entered, nothing has been seen of what others wrote.
    Entry,
}

/// Plain loads that are stable without races, and what that was found from.
///
/// The function is entered by launches, or before a thread has seen anything that others wrote.
#[derive(Clone, Debug)]
pub struct RaceFree {
    loads: Arc<[StableLoad]>,
    /// Over acquires of any kind.
    any: Way,
    /// Over those that are not barriers of the whole workgroup.
    other: Way,
    has_fence: bool,
    rules: Rules,
}

/// What is taken for granted, and left out.
#[derive(Clone, Copy, Debug)]
struct Rules {
    assumptions: Assumptions,
    omitted: Option<Omitted>,
}

impl RaceFree {
    /// Those of a function. O(instructions + edges).
    #[must_use]
    pub fn new(
        code: Code<'_>,
        around: Surroundings<'_>,
        (cfg, kinds): (&Cfg, &MemoryKinds),
        assumptions: Assumptions,
        omitted: Option<Omitted>,
    ) -> Self {
        let rules = Rules { assumptions, omitted };
        let insts = || code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let has_fence = insts().any(|inst| code.body.inst(inst).opcode == Opcode::Fence);
        let any = Way::new(code, cfg, |inst| rules.is_acquire(code, around, inst));
        let other = Way::new(code, cfg, |inst| rules.is_other(code, around, inst, has_fence));
        let mut found = RaceFree { loads: Arc::default(), any, other, has_fence, rules };
        if !assumptions.race_free {
            return found;
        }
        let mut loads = Vec::new();
        for &block in code.flow.order() {
            let ways = [&found.any, &found.other];
            let mut passed = ways.map(|way| way.behind.contains(node_of(block).index()));
            for inst in code.body.block_insts(block) {
                if is_plain_load(code, inst) {
                    loads.extend(rules.left(code, kinds, inst, passed).map(|left| (inst, left)));
                }
                for (passed, way) in passed.iter_mut().zip(ways) {
                    *passed |= way.contains(inst);
                }
            }
        }
        found.loads = loads.into();
        found
    }

    /// In the order of blocks, with what is left of [`SourceSet::OPAQUE_WAVE`]: nothing, or
    /// [`SourceSet::OPAQUE_GROUP`] if it is stable in workgroups only. Loads of private memory are
    /// not told apart here.
    #[must_use]
    pub fn loads(&self) -> &Arc<[StableLoad]> {
        &self.loads
    }

    /// Brings it up to date with instructions that have changed and [concern](concerns) it, and
    /// [blocks](crate::edited::Edited::blocks); where those lead that have not changed is the same.
    /// Whether the loads are others; none if it is to be made anew: an acquire or a fence came,
    /// went, moved or changed; an acquire may move with its block.
    ///
    /// O(loads + length of the blocks of changed ones); where blocks are others, O(blocks + edges)
    /// besides, and the length of those that are no longer behind an acquire, or have come to be.
    #[must_use]
    pub fn follow(
        &mut self,
        code: Code<'_>,
        around: Surroundings<'_>,
        (cfg, kinds): (&Cfg, &MemoryKinds),
        (changed, blocks): (&[InstId], Option<&[BlockId]>),
    ) -> Option<bool> {
        let (rules, body) = (self.rules, code.body);
        let is_told = |block: Node| {
            blocks.is_some_and(|blocks| blocks.binary_search(&block_of(block)).is_ok())
        };
        // Where all blocks in question are looked at again, it may have come from one to another.
        let stays = |way: &Way, inst: InstId, is_one: bool| {
            let (home, now) = (way.homes.get(&inst).copied(), body.block_of(inst).map(node_of));
            match is_one && now.is_some() {
                true => home.is_some_and(is_told) && now.is_some_and(is_told),
                false => home.is_none(),
            }
        };
        let is_as_it_was = |&inst: &InstId| {
            body.inst(inst).opcode != Opcode::Fence
                && stays(&self.any, inst, rules.is_acquire(code, around, inst))
                && stays(&self.other, inst, rules.is_other(code, around, inst, self.has_fence))
        };
        if !changed.iter().all(is_as_it_was) {
            return None;
        }
        let mut changed = changed.to_vec();
        if blocks.is_some() {
            for way in [&mut self.any, &mut self.other] {
                for block in way.follow(code, cfg) {
                    changed.extend(body.block_insts(block_of(block)));
                }
            }
        }
        let look = |inst: InstId| {
            let ways = [&self.any, &self.other];
            let is_looked_at = is_plain_load(code, inst) && rules.assumptions.race_free;
            let passed = || ways.map(|way| way.is_passed(code, inst));
            let left = is_looked_at.then(|| rules.left(code, kinds, inst, passed())).flatten();
            left.map(|left| (inst, left)).into_iter().collect()
        };
        let mut again = changed;
        again.retain(|&inst| body.inst(inst).opcode == Opcode::Load);
        let found = match again.is_empty() {
            true => None,
            false => relisted(code, &self.loads, |(load, _)| *load, &again, look),
        };
        let is_other = found.is_some();
        if let Some(found) = found {
            self.loads = found.into();
        }
        Some(is_other)
    }
}

impl Rules {
    fn is_acquire(self, code: Code<'_>, around: Surroundings<'_>, inst: InstId) -> bool {
        self.omitted != Some(Omitted::Acquires) && acquires(code, around, inst)
    }

    fn is_other(
        self,
        code: Code<'_>,
        around: Surroundings<'_>,
        inst: InstId,
        has_fence: bool,
    ) -> bool {
        self.omitted != Some(Omitted::Others)
            && acquires_otherwise(code, around, inst, has_fence, self.omitted)
    }

    /// What is left at a plain load, if it is stable in more than a wave; `passed` says of both
    /// kinds of acquires whether one is on a way to it.
    fn left(
        self,
        code: Code<'_>,
        kinds: &MemoryKinds,
        load: InstId,
        passed: [bool; 2],
    ) -> Option<SourceSet> {
        let device = SpaceSet::GLOBAL | SpaceSet::CONSTANT;
        let is_device = || {
            self.omitted == Some(Omitted::Spaces)
                || device.contains(kinds.at(code.body, load, 0).memories())
        };
        match passed {
            [false, _] if is_device() => Some(SourceSet::EMPTY),
            [false, _] => Some(SourceSet::OPAQUE_GROUP),
            [true, false] if self.assumptions.barriers.is_some() => Some(SourceSet::OPAQUE_GROUP),
            _ => None,
        }
    }
}

/// Loads of which more is known with where addresses lead: that they read no memory of one thread
/// only, though the rule of the load, which looks at what its address is made from, takes that for
/// possible, as `answer` tells. Others are as they are in the list.
#[must_use]
pub fn with_shared(
    code: Code<'_>,
    kinds: &MemoryKinds,
    answer: &Divergence,
    loads: &[StableLoad],
) -> Vec<StableLoad> {
    let numbering = Numbering::new(code.header);
    let of_many = SpaceSet::GLOBAL | SpaceSet::CONSTANT | SpaceSet::SHARED | SpaceSet::PEERS;
    let is_shared = |&load: &InstId| {
        is_plain_load(code, load)
            && answer.value(numbering.inst(load)).contains(SourceSet::OPAQUE_THREAD)
            && of_many.contains(kinds.at(code.body, load, 0).memories())
    };
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let mut all = loads.to_vec();
    for load in insts.filter(is_shared) {
        match loads.binary_search_by_key(&number(load), |(load, _)| number(*load)) {
            Ok(at) => all[at].1 |= SourceSet::OPAQUE_THREAD,
            Err(_) => all.push((load, SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_WAVE)),
        }
    }
    all.sort_unstable_by_key(|(load, _)| number(*load));
    all
}

fn number(load: InstId) -> u32 {
    load.into_raw().into_u32()
}

/// Whether [`RaceFree`] may be another after an instruction was inserted, removed, moved or changed
/// that is, or was, like this. Of what addresses lead to it hears from [`MemoryKinds`].
#[must_use]
pub fn concerns(code: Code<'_>, inst: InstId) -> bool {
    let data = code.body.inst(inst);
    match data.opcode {
        Opcode::Load | Opcode::Fence | Opcode::AtomicRmw | Opcode::CmpXchg => true,
        Opcode::Store => data.mem().ordering() != Ordering::NotAtomic,
        opcode => opcode.is_call(),
    }
}

fn is_plain_load(code: Code<'_>, inst: InstId) -> bool {
    let data = code.body.inst(inst);
    data.opcode == Opcode::Load
        && !data.flags.contains(InstFlags::VOLATILE)
        && data.mem().ordering() == Ordering::NotAtomic
}

/// Whether an instruction may acquire what others wrote, other than as a barrier of the whole
/// workgroup.
fn acquires_otherwise(
    code: Code<'_>,
    around: Surroundings<'_>,
    inst: InstId,
    has_fence: bool,
    omitted: Option<Omitted>,
) -> bool {
    let data = code.body.inst(inst);
    let reads_for_fence = has_fence && omitted != Some(Omitted::Relaxed);
    match data.opcode {
        Opcode::Fence => false,
        Opcode::Load if data.mem().ordering() == Ordering::NotAtomic => {
            reads_for_fence && data.flags.contains(InstFlags::VOLATILE)
        }
        Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => {
            reads_for_fence || acquires(code, around, inst)
        }
        _ if is_whole_barrier(code, inst) => false,
        opcode if opcode.is_call() => {
            acquires(code, around, inst)
                || reads_for_fence
                    && !is_intrinsic(code, inst)
                    && call_effects(code, around, inst)
                        != phalanx_ir::attributes::MemoryEffects::NONE
        }
        _ => acquires(code, around, inst),
    }
}

fn is_intrinsic(code: Code<'_>, call: InstId) -> bool {
    code.called_intrinsic(call).is_some()
}

/// The name that is called.
fn called_name<'a>(code: Code<'a>, call: InstId) -> Option<&'a [u8]> {
    let callee = code.body.const_callee(call).map(|callee| &code.context.const_data(callee).kind);
    match callee {
        Some(&ConstKind::Global(GlobalName::Named(symbol))) => Some(code.context.bytes(symbol)),
        _ => None,
    }
}

/// Whether one of some instructions is on a way from the entry.
#[derive(Clone, Debug)]
struct Way {
    /// The acquires, and the blocks in which they are.
    homes: FxHashMap<InstId, Node>,
    /// Blocks that one of them reaches by an edge or more.
    behind: BitSet,
}

impl Way {
    fn new(code: Code<'_>, cfg: &Cfg, is: impl Fn(InstId) -> bool) -> Self {
        let mut homes = FxHashMap::default();
        for &block in code.flow.order() {
            let insts = code.body.block_insts(block).filter(|&inst| is(inst));
            homes.extend(insts.map(|inst| (inst, node_of(block))));
        }
        let behind = blocks_behind(cfg, homes.values().copied().collect());
        Self { homes, behind }
    }

    /// Looks again at where they are, in a graph that is another one. Blocks that are behind one
    /// and were not, or the other way round.
    fn follow(&mut self, code: Code<'_>, cfg: &Cfg) -> Vec<Node> {
        for (inst, home) in &mut self.homes {
            *home = code.body.block_of(*inst).map_or(*home, node_of);
        }
        let behind = blocks_behind(cfg, self.homes.values().copied().collect());
        let before = std::mem::replace(&mut self.behind, behind);
        let is = |set: &BitSet, at: usize| at < set.universe() && set.contains(at);
        let is_other = |at: &usize| is(&before, *at) != is(&self.behind, *at);
        (0..cfg.node_count()).filter(is_other).map(Node::new).collect()
    }

    fn contains(&self, inst: InstId) -> bool {
        self.homes.contains_key(&inst)
    }

    /// Whether one is on a way to an instruction.
    fn is_passed(&self, code: Code<'_>, inst: InstId) -> bool {
        let body = code.body;
        let block = body.block_of(inst).map(|block| node_of(block).index());
        let mut above = std::iter::successors(body.prev(inst), |&at| body.prev(at));
        block.is_none_or(|block| self.behind.contains(block)) || above.any(|at| self.contains(at))
    }
}
