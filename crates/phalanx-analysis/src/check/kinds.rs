//! Kinds of barriers: which threads have to come to one together, and how many it waits for.
//!
//! | barrier | waits | has to come together |
//! |---|---|---|
//! | of the workgroup, the cluster | all threads of it that have not ended | all these |
//! | of some threads: a number of them (`barrier.cta.sync.count`), or those that have joined (AMD's named ones) | these threads | the threads of a wave if it is *aligned*, otherwise no group |
//! | of some threads, if the number is that of all threads and no other barrier is counted with it | all threads of the workgroup | all these |
//! | AMD's of the cluster, where it is split: one wave of each workgroup signals | each thread that comes | no group |
//! | arrival, where a barrier is split (`arrive`, `signal`) | no thread | as for the whole barrier: other threads wait for those that do not come |
//! | wait, where it is split | each thread that comes | no group, or a wave if it is aligned: all threads have arrived, so a thread that waits goes on |
//!
//! Objects in memory that count arrivals (`mbarrier`) are not among them: the program decides which
//! threads arrive, and waiting is a loop.
//!
//! **How many.** Threads come to a barrier wave by wave, and each wave counts with its full width,
//! even the last one of a workgroup. So PTX requires a number that is a multiple of the width. If
//! no workgroup has as many threads, those that come wait for ever ([`Rule::WrongBarrierCount`]).
//! O(barriers).
//!
//! Source: *PTX ISA* 8.x, `barrier{.cta}`, `barrier.cluster`, `mbarrier`; AMD, *RDNA 4 Instruction
//! Set Architecture*, `S_BARRIER_*`.

use phalanx_ir::{TypeKind, constant::ConstKind};
use phalanx_target::{
    Scope,
    intrinsics::{Barrier, BarrierPhase, Family, Intrinsic},
};
use rustc_hash::FxHashMap;

use super::finding::CountFault;
use super::{
    Facts, Finding, Level, Rule,
    sites::{Argument, Site, SiteKind, inline_assembly, integer, intrinsic},
    witness::exact_size,
};
use crate::code::{Code, read_assembly};

/// The barrier that a call executes, with the details that depend on arguments: which of AMD's
/// barriers it is, and for how many threads a PTX barrier waits.
pub(super) fn of_call(
    code: Code<'_>,
    intrinsic: Intrinsic,
    mut barrier: Barrier,
    arguments: &[Argument],
) -> SiteKind {
    let constant = |at: usize| match *arguments.get(at)? {
        Argument::Value(value) => integer(code, value),
        Argument::Integer(number) => Some(number as u32 as u64),
        Argument::Computed => None,
    };
    let (mut number, mut threads) = (None, None);
    match (intrinsic.family, intrinsic.base) {
        (Family::Amdgcn, "s.barrier.signal" | "s.barrier.signal.isfirst" | "s.barrier.wait") => {
            let signal = match arguments.first() {
                Some(&Argument::Value(value)) => signed(code, value),
                Some(&Argument::Integer(number)) => Some(number),
                _ => None,
            };
            match signal {
                Some(-1) => {}
                // One wave of each workgroup signals; the program decides which.
                Some(-3) => {
                    barrier.scope = Scope::Cluster;
                    barrier.partial = true;
                }
                // Named barriers of the program have members; the others are for debuggers.
                other => {
                    barrier.partial = true;
                    number = other.map(|number| number as u64);
                }
            }
        }
        // The argument is an object of the program.
        (Family::Amdgcn, "s.barrier.signal.var") => barrier.partial = true,
        (Family::Nvvm, _) if barrier.scope == Scope::Workgroup => {
            number = constant(0);
            threads = barrier.partial.then(|| constant(1)).flatten();
        }
        _ => {}
    }
    SiteKind::Barrier { barrier, number, threads }
}

/// An integer constant with its sign.
fn signed(code: Code<'_>, value: phalanx_ir::Value) -> Option<i64> {
    let data = code.context.const_data(value.as_const()?);
    let (ConstKind::Int(int), TypeKind::Int(bits)) = (&data.kind, code.context.type_kind(data.ty))
    else {
        return None;
    };
    let unused = 64u32.checked_sub(*bits)?;
    Some((int.to_u64()? << unused) as i64 >> unused)
}

/// The scope whose threads have to come to an operation together, if there is one. See
/// [`calls_are_known`].
pub(super) fn together<'a>(
    facts: Facts<'_>,
    site: &Site,
    counted: impl FnOnce() -> &'a Counted,
    calls_are_known: bool,
) -> Option<Scope> {
    let SiteKind::Barrier { barrier, .. } = site.kind else {
        return matches!(site.kind, SiteKind::Call(_)).then_some(Scope::Workgroup);
    };
    let of_wave = barrier.aligned.then_some(Scope::Wave);
    match barrier.phase {
        BarrierPhase::Wait => of_wave,
        BarrierPhase::Both
            if barrier.partial && calls_are_known && is_everybody(facts, site, counted) =>
        {
            Some(barrier.scope)
        }
        _ if barrier.partial => of_wave,
        BarrierPhase::Both | BarrierPhase::Arrive => Some(barrier.scope),
    }
}

/// The number of threads, rounded up to whole waves: each wave counts with its full width.
fn in_waves(facts: Facts<'_>, threads: u64) -> u64 {
    let width = facts.launch.wave_width.unwrap_or(1).max(1);
    threads.checked_next_multiple_of(width.into()).unwrap_or(threads)
}

/// How many operations of a function wait, and at which barriers.
#[derive(Debug, Default)]
pub(super) struct Counted {
    all: usize,
    /// By number of the barrier.
    numbered: FxHashMap<u64, usize>,
    /// At a barrier whose number is not known, or in a callee.
    others: usize,
}

impl Counted {
    /// Counts these operations, which wait. O(operations).
    pub(super) fn new(waiting: &[&Site]) -> Self {
        let mut counted = Counted { all: waiting.len(), ..Counted::default() };
        for site in waiting {
            match site.kind {
                SiteKind::Barrier { number: Some(number), .. } => {
                    *counted.numbered.entry(number).or_default() += 1;
                }
                _ => counted.others += 1,
            }
        }
        counted
    }

    /// Whether no other operation waits at the barrier with this number.
    fn is_alone(&self, number: Option<u64>) -> bool {
        let at_number = number.and_then(|number| self.numbered.get(&number));
        self.all == 1 || (self.others == 0 && at_number == Some(&1))
    }
}

/// Whether a barrier is for exactly the threads of each workgroup, and no other one is counted with
/// it.
fn is_everybody<'a>(facts: Facts<'_>, site: &Site, counted: impl FnOnce() -> &'a Counted) -> bool {
    let SiteKind::Barrier { number, threads, .. } = site.kind else { return false };
    let size = exact_size(facts.launch).map(|size| size.map(u64::from).iter().product());
    size.is_some()
        && size.map(|size| in_waves(facts, size)) == threads
        && counted().is_alone(number)
}

/// Whether only operations of the target are called; false if no barrier is for a number of
/// threads. A barrier for as many threads as a workgroup has is for all of them only if no other
/// threads may come to it: by another function, or by a barrier that is counted with it.
/// O(instructions).
pub(super) fn calls_are_known(facts: Facts<'_>, waiting: &[&Site]) -> bool {
    let is_counted = |site: &&Site| match site.kind {
        SiteKind::Barrier { barrier, threads, .. } => barrier.partial && threads.is_some(),
        _ => false,
    };
    let code = facts.code;
    let architecture = facts.target.architecture();
    let is_intrinsic = |inst| {
        intrinsic(code, inst).is_some()
            || inline_assembly(code, inst)
                .is_some_and(|asm| !read_assembly(code, asm, architecture).may_hide_barrier())
    };
    let mut insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    waiting.iter().any(is_counted)
        && insts.all(|inst| !code.body.inst(inst).opcode.is_call() || is_intrinsic(inst))
}

/// Barriers that wait for a number of threads that cannot come.
pub(super) fn counts(facts: Facts<'_>, sites: &[Site]) -> Vec<Finding> {
    let finding = |site: &Site| {
        let SiteKind::Barrier { threads: Some(threads), .. } = site.kind else { return None };
        let width = facts.launch.wave_width.filter(|&width| width > 1);
        let most = facts.launch.max_threads();
        let most = most.filter(|&most| threads > in_waves(facts, most));
        let fault = match (width, most) {
            (Some(width), _) if threads == 0 || threads % u64::from(width) != 0 => {
                CountFault::NoWholeWaves { threads, width }
            }
            (_, Some(most)) => CountFault::TooMany { threads, most },
            _ => return None,
        };
        let found =
            Finding::new(Rule::WrongBarrierCount, Level::Error, site.inst, Scope::Workgroup);
        Some(Finding { fault: Some(fault), ..found })
    };
    sites.iter().filter_map(finding).collect()
}
