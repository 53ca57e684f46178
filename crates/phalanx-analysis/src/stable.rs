//! Loads that return one value to all threads that read the same address together, in a scope wider
//! than a wave.
//!
//! # What
//!
//! Threads of a wave that are converged at a plain load execute it at once: from one address they
//! read one value. Threads of different waves execute the same instance of a load at different
//! times. So they may read different values from one address: [`SourceSet::OPAQUE_WAVE`]. A load is
//! *stable* within a scope if what it reads differs between converged threads of the scope only
//! where the address does.
//!
//! | rule | stable | needs |
//! |---|---|---|
//! | no thread writes the memory while the kernel runs, or no store [happens before](crate::memory::order) the load in the launch | in the grid | nothing: these are [classes of loads](crate::loads::LoadClass) |
//! | no acquire is on a path from the entry of the kernel to the load | in the grid if it is of device memory, otherwise in the workgroup | no races |
//! | the only acquires on such paths are fences, and barriers of all threads of the workgroup | in the workgroup | no races, and a [model of barriers](BarrierModel) |
//! | it is [ordered]: barriers of the whole workgroup are between it and every write of what it reads | in the workgroup | that threads have come to the same barriers so far |
//!
//! The second and third rule assume something about the program, and are used only if the caller
//! says so ([`Assumptions`]).
//!
//! # Why they hold
//!
//! Let converged threads `s` and `t` read different values at one address. Then there is a store
//! `W` that happens before the load in `t` and not in `s`. Without a race the load in `s` happens
//! before `W`.
//!
//! *No acquire.* No operation of another thread happens before the load in `t`, so `W` is a store
//! of `t`. For the same reason no operation of `s` happens before `W`. Threads of different
//! workgroups read one memory through one address only if that is device memory.
//!
//! *Barriers only.* In both models of barriers, the barriers that two threads have executed are
//! prefixes of one list. Converged threads have executed the same prefix before the load. Otherwise
//! a barrier instance would be before the load in one thread and behind it in another. It would
//! then lie on a cycle with the load, without the header whose iterations both count, which
//! contradicts that this is the innermost such cycle. Let the prefix be the first `k` barriers of
//! the list. What happens before the load in `t` does so by these `k` barriers, since other
//! acquires do not reach a load to which the rule applies. So `W` comes before the `k`th barrier in
//! its own thread, or is a store of `t`. Now look at what the load in `s` happens before. By
//! barriers, it comes after barrier `k+1`. By anything else, some operation acquires it; if that
//! operation comes, as `W` does, before the `k`th barrier, then a path leads from it to the load,
//! which the rule excludes. So the load in `s` does not happen before `W`: a contradiction.
//!
//! A fence alone acquires nothing: it needs an atomic operation that reads what another thread
//! wrote. If the function has a fence, atomic operations of any order count as acquires. So do
//! calls that may contain one, and volatile loads.
//!
//! After an edit of instructions, only the changed loads are looked at again. An acquire that
//! comes, goes or moves causes all loads to be looked at again.
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

use crate::assumed_facts::StableLoad;
use crate::code::{Code, Environment, Numbering, SpaceSet};
use crate::listing::relisted;
use crate::memory::{
    effects::call_effects,
    order::{acquires, blocks_behind},
};
use crate::spaces::MemoryKinds;
use crate::variance::{BarrierModel, is_whole_barrier};

/// What is assumed about programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assumptions {
    /// Aligned barriers of workgroups are used correctly by this model.
    pub barriers: Option<BarrierModel>,
    /// The program has no data races: if two threads access a byte and one of them writes, the
    /// accesses are ordered or both atomic. Everywhere else, the analyses assume this only of one
    /// address and one wave.
    pub race_free: bool,
}

impl Assumptions {
    /// Nothing is assumed.
    pub const NONE: Assumptions = Assumptions { barriers: None, race_free: false };
}

/// A rule that is left out in tests, which must then find an unsound answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// Acquires before a load are ignored.
    Acquires,
    /// Acquires other than barriers of the whole workgroup are ignored.
    Others,
    /// Atomic operations acquire only what their own order says.
    Relaxed,
    /// All memory is treated as device memory.
    Spaces,
    /// At the entry of any function, the thread is assumed to have seen no store of another thread.
    Entry,
}

/// Plain loads that are stable if there are no races, and the facts from which they are found.
///
/// The function has to be a kernel, or be entered only before a thread has seen any store of
/// another thread.
#[derive(Clone, Debug)]
pub struct RaceFree {
    loads: Arc<[StableLoad]>,
    /// Paths over acquires of any kind.
    any: Way,
    /// Paths over acquires that are not barriers of the whole workgroup.
    other: Way,
    has_fence: bool,
    rules: RaceFreeRules,
}

/// The rules in use.
#[derive(Clone, Copy, Debug)]
struct RaceFreeRules {
    assumptions: Assumptions,
    omitted: Option<Omitted>,
}

impl RaceFree {
    /// Finds the loads of a function. O(instructions + edges).
    #[must_use]
    pub fn new(
        code: Code<'_>,
        env: Environment<'_>,
        (cfg, kinds): (&Cfg, &MemoryKinds),
        assumptions: Assumptions,
        omitted: Option<Omitted>,
    ) -> Self {
        let rules = RaceFreeRules { assumptions, omitted };
        let insts = || code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let has_fence = insts().any(|inst| code.body.inst(inst).opcode == Opcode::Fence);
        let any = Way::new(code, cfg, |inst| rules.is_acquire(code, env, inst));
        let other = Way::new(code, cfg, |inst| rules.is_other(code, env, inst, has_fence));
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

    /// The loads in the order of the text, each with what replaces [`SourceSet::OPAQUE_WAVE`]:
    /// nothing, or [`SourceSet::OPAQUE_GROUP`] if the load is stable in workgroups only. Loads of
    /// private memory are not told apart here.
    #[must_use]
    pub fn loads(&self) -> &Arc<[StableLoad]> {
        &self.loads
    }

    /// Updates the loads after changes of instructions that [affect](depends_on) them, and of
    /// [blocks](crate::edited::Edited::blocks); the addresses of unchanged loads have to lead where
    /// they led. Returns whether the list of loads has changed. Returns None if it has to be made
    /// anew, since an acquire or a fence came, went, moved or changed; an acquire may move together
    /// with its block.
    ///
    /// O(loads + length of the blocks of changed ones). If blocks have changed, also O(blocks +
    /// edges) and the length of all blocks that come to be, or are no longer, behind an acquire.
    #[must_use]
    pub fn update(
        &mut self,
        code: Code<'_>,
        env: Environment<'_>,
        (cfg, kinds): (&Cfg, &MemoryKinds),
        (changed, blocks): (&[InstId], Option<&[BlockId]>),
    ) -> Option<bool> {
        let (rules, body) = (self.rules, code.body);
        let is_told = |block: Node| {
            blocks.is_some_and(|blocks| blocks.binary_search(&block_of(block)).is_ok())
        };
        // If all blocks in question are looked at again, an acquire may have moved from one to
        // another.
        let stays = |way: &Way, inst: InstId, is_one: bool| {
            let (home, now) = (way.homes.get(&inst).copied(), body.block_of(inst).map(node_of));
            match is_one && now.is_some() {
                true => home.is_some_and(is_told) && now.is_some_and(is_told),
                false => home.is_none(),
            }
        };
        let is_as_it_was = |&inst: &InstId| {
            body.inst(inst).opcode != Opcode::Fence
                && stays(&self.any, inst, rules.is_acquire(code, env, inst))
                && stays(&self.other, inst, rules.is_other(code, env, inst, self.has_fence))
        };
        if !changed.iter().all(is_as_it_was) {
            return None;
        }
        let mut changed = changed.to_vec();
        if blocks.is_some() {
            for way in [&mut self.any, &mut self.other] {
                for block in way.update(code, cfg) {
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

impl RaceFreeRules {
    fn is_acquire(self, code: Code<'_>, env: Environment<'_>, inst: InstId) -> bool {
        self.omitted != Some(Omitted::Acquires) && acquires(code, env, inst)
    }

    fn is_other(self, code: Code<'_>, env: Environment<'_>, inst: InstId, has_fence: bool) -> bool {
        self.omitted != Some(Omitted::Others)
            && acquires_otherwise(code, env, inst, has_fence, self.omitted)
    }

    /// What replaces `OPAQUE_WAVE` at a plain load, if the load is stable in a scope wider than a
    /// wave. `passed` says for both kinds of acquires whether one is on a path to the load.
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

/// Adds to `loads` what memory spaces tell: loads that read no memory of one thread only. The rule
/// of the load looks only at what its address is made from, and takes private memory for possible
/// (`answer` has [`SourceSet::OPAQUE_THREAD`]). Other entries stay as they are.
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

/// Whether [`RaceFree`] may change after an instruction was inserted, removed, moved or changed
/// that is, or was, like this one. Changes of where addresses lead are seen in [`MemoryKinds`]
/// instead.
#[must_use]
pub fn depends_on(code: Code<'_>, inst: InstId) -> bool {
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
    env: Environment<'_>,
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
            reads_for_fence || acquires(code, env, inst)
        }
        _ if is_whole_barrier(code, inst) => false,
        opcode if opcode.is_call() => {
            acquires(code, env, inst)
                || reads_for_fence
                    && !is_intrinsic(code, inst)
                    && call_effects(code, env, inst) != phalanx_ir::attributes::MemoryEffects::NONE
        }
        _ => acquires(code, env, inst),
    }
}

fn is_intrinsic(code: Code<'_>, call: InstId) -> bool {
    code.called_intrinsic(call).is_some()
}

/// The name of the function that is called.
fn called_name<'a>(code: Code<'a>, call: InstId) -> Option<&'a [u8]> {
    let callee = code.body.const_callee(call).map(|callee| &code.context.const_data(callee).kind);
    match callee {
        Some(&ConstKind::Global(GlobalName::Named(symbol))) => Some(code.context.bytes(symbol)),
        _ => None,
    }
}

/// Whether one of a set of instructions is on a path from the entry.
#[derive(Clone, Debug)]
struct Way {
    /// The instructions, and their blocks.
    homes: FxHashMap<InstId, Node>,
    /// Blocks to which a path of at least one edge leads from one of them.
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

    /// Updates the blocks of the instructions, in a changed graph. Returns the blocks that have
    /// come to be, or are no longer, behind one.
    fn update(&mut self, code: Code<'_>, cfg: &Cfg) -> Vec<Node> {
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

    /// Whether one of them is on a path to an instruction.
    fn is_passed(&self, code: Code<'_>, inst: InstId) -> bool {
        let body = code.body;
        let block = body.block_of(inst).map(|block| node_of(block).index());
        let mut above = std::iter::successors(body.prev(inst), |&at| body.prev(at));
        block.is_none_or(|block| self.behind.contains(block)) || above.any(|at| self.contains(at))
    }
}
