//! Loads that give the same to all threads that read the same address together, in more than a wave.
//!
//! # What
//!
//! Threads of a wave that are converged at a plain load execute it at once: from one address they read one value. Threads of different
//! waves execute the same instance of a load at different times, so what they read may differ though the address does not: that is
//! [`SourceSet::OPAQUE_WAVE`]. A load is *stable* within a scope if what it reads differs between converged threads of the scope only where the
//! address does.
//!
//! | rule | stable | needs |
//! |---|---|---|
//! | nobody writes the memory while the kernel runs, or no store [happens before](crate::memory::order) the load in the launch | in the grid | nothing: these are [classes of loads](crate::loads::LoadClass) |
//! | no acquire is on a way from the entry of the kernel to the load | in the grid if it is of device memory, else in the workgroup | no races |
//! | nothing but barriers of all threads of the workgroup, and fences, is such an acquire | in the workgroup | no races, and a [model of barriers](BarrierModel) |
//!
//! The last two say what a program is taken for, and are used only where whoever asks says so ([`Assumptions`]).
//!
//! # Why they hold
//!
//! Let converged threads `s` and `t` read different values at one address. Then there is a store `W` that happens before the load in `t` and not
//! in `s`. Without a race the load in `s` happens before `W`.
//!
//! *No acquire.* Nothing that another thread did happens before the load in `t`, so `W` is a store of `t`; and for the same reason nothing that `s` did happens
//! before `W`. Threads of different workgroups read one memory by one address only where that is device memory.
//!
//! *Barriers only.* In both models of barriers what two threads have executed of them are beginnings of one list. Converged threads have executed the
//! same part of it before the load: a barrier instance that is before the load in one thread and behind it in another would lie on a cycle with the load
//! without the header that both count the iterations of, which contradicts that this is the innermost such cycle. Let it be the first `k` of the list.
//! What happens before the load in `t` does so by these `k`, since other acquires reach no load that is asked about: so `W` comes before the `k`th in its own
//! thread, or is a store of `t`. What the load in `s` happens before, by barriers, comes after the `k+1`st; by anything else it is acquired by an
//! operation that, as `W`, comes before the `k`th, and from where a way leads to the load. So it does not happen before `W`.
//!
//! A fence alone acquires nothing: it takes an atomic operation that reads what another thread wrote. These count as acquires, whatever their order;
//! so do calls that may contain one, and volatile loads, if the function has a fence.
//!
//! # Complexity
//!
//! O(instructions + edges).

use phalanx_graph::{BitSet, Cfg};
use phalanx_ir::{
    BlockId, GlobalName, InstId, Opcode,
    constant::ConstKind,
    flow::node_of,
    inst::{InstFlags, Ordering},
};
use phalanx_target::{SourceSet, intrinsics::lookup};

use crate::lower::{Code, Surroundings};
use crate::memory::{
    effects::call_effects,
    order::{acquires, blocks_behind},
};
use crate::spaces::{MemoryKinds, SpaceSet};
use crate::variance::{BarrierModel, is_whole_barrier};

/// What programs are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assumptions {
    /// Aligned barriers of workgroups are used rightly.
    pub barriers: Option<BarrierModel>,
    /// No two threads access a byte without order between them, one of them writing, unless both do so atomically. Elsewhere that is said of the
    /// address and the wave only.
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

/// Plain loads that are stable without races, in the order of blocks, and what is left of [`SourceSet::OPAQUE_WAVE`]: nothing, or
/// [`SourceSet::OPAQUE_GROUP`] if it is stable in workgroups only. Loads of private memory are not told apart here.
///
/// The function is entered by launches, or before a thread has seen anything that others wrote.
#[must_use]
pub fn race_free_loads(
    code: Code<'_>,
    around: Surroundings<'_>,
    (cfg, kinds): (&Cfg, &MemoryKinds),
    assumptions: Assumptions,
    omitted: Option<Omitted>,
) -> Vec<(InstId, SourceSet)> {
    if !assumptions.race_free {
        return Vec::new();
    }
    let insts = || code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let has_fence = insts().any(|inst| code.body.inst(inst).opcode == Opcode::Fence);
    let mut any = Way::new(code, cfg, |inst| {
        acquires(code, around, inst) && omitted != Some(Omitted::Acquires)
    });
    let mut other = Way::new(code, cfg, |inst| {
        acquires_otherwise(code, around, inst, has_fence, omitted)
            && omitted != Some(Omitted::Others)
    });
    let mut found = Vec::new();
    for &block in code.flow.order() {
        any.enter(block);
        other.enter(block);
        for inst in code.body.block_insts(block) {
            if is_plain_load(code, inst) {
                let device = SpaceSet::GLOBAL | SpaceSet::CONSTANT;
                let is_device = device.contains(kinds.at(code.body, inst, 0).memories())
                    || omitted == Some(Omitted::Spaces);
                if !any.is_passed() {
                    let left = if is_device { SourceSet::EMPTY } else { SourceSet::OPAQUE_GROUP };
                    found.push((inst, left));
                } else if assumptions.barriers.is_some() && !other.is_passed() {
                    found.push((inst, SourceSet::OPAQUE_GROUP));
                }
            }
            any.step(inst);
            other.step(inst);
        }
    }
    found
}

/// Whether [`race_free_loads`] may be others after an instruction was inserted, removed, moved or changed that is, or was, like this. Of what
/// addresses lead to it hears from [`MemoryKinds`].
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

/// Whether an instruction may acquire what others wrote, other than as a barrier of the whole workgroup.
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
    let callee = code.body.const_callee(call).map(|callee| &code.context.const_data(callee).kind);
    let Some(&ConstKind::Global(GlobalName::Named(symbol))) = callee else { return false };
    std::str::from_utf8(code.context.bytes(symbol)).is_ok_and(|name| lookup(name).is_some())
}

/// Whether one of some instructions is on a way from the entry, at a place that moves through a block.
struct Way<F> {
    is: F,
    /// Blocks that one of them reaches by an edge or more.
    behind: BitSet,
    is_passed: bool,
}

impl<F: Fn(InstId) -> bool> Way<F> {
    fn new(code: Code<'_>, cfg: &Cfg, is: F) -> Self {
        let has_one = |block: &&BlockId| code.body.block_insts(**block).any(&is);
        let blocks = code.flow.order().iter().filter(has_one).map(|&block| node_of(block));
        let behind = blocks_behind(cfg, blocks.collect());
        Self { is, behind, is_passed: false }
    }

    fn enter(&mut self, block: BlockId) {
        self.is_passed = self.behind.contains(node_of(block).index());
    }

    fn step(&mut self, inst: InstId) {
        self.is_passed = self.is_passed || (self.is)(inst);
    }

    const fn is_passed(&self) -> bool {
        self.is_passed
    }
}
