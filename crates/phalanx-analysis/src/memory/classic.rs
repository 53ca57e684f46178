//! MemorySSA with one variable for all of memory, as LLVM has it.
//!
//! # What
//!
//! Every instruction that may write is a *MemoryDef*, every other one that reads a *MemoryUse*, and where definitions meet there
//! is a *MemoryPhi*. Each names the definition before it; the first one is `liveOnEntry`, which is also that of loads of memory that
//! never changes. Other uses are not optimised: they name the definition before them, not the one that they may read from. That is what the walker is for
//! ([`ClassicMemorySsa::clobber`]), which needs to know what aliases.
//!
//! # How
//!
//! As [`ssa`](super::ssa), with all phis at iterated dominance frontiers, used or not. Definitions are numbered from 1 in
//! the order of blocks, then phis by block. Instructions in blocks that cannot be reached have `liveOnEntry` before them.
//!
//! **Complexity.** O(instructions + blocks + edges). A walk is linear in the definitions that it passes.

mod concern;

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{InstId, Opcode, flow::node_of};
use rustc_hash::FxHashSet;

use super::by_inst::trim;
use super::effects::{MemoryAccess, memory_access};
use super::ssa::{Event, EventKind, Events, Pruning, Ssa, Version};
use crate::lower::{Code, Surroundings};

/// An access as LLVM names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// `liveOnEntry`
    Entry,
    /// The number of a definition or a phi.
    Number(u32),
}

/// What an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassicAccess {
    /// A definition with this number, after another.
    Def(u32, Name),
    /// A use of a definition.
    Use(Name),
}

/// The form of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicMemorySsa {
    events: Events,
    ssa: Ssa,
    /// Uses of what never changes.
    constant: FxHashSet<u32>,
    /// By event.
    insts: Vec<InstId>,
    /// Event by instruction, plus one. Ends with the last instruction that has one.
    event_of: Vec<u32>,
    /// Number by event that is a definition.
    number: Vec<u32>,
    definitions: u32,
}

impl ClassicMemorySsa {
    /// That of a function. `never_changes` says of a load that what it reads is the same whenever it is read; such a use names
    /// `liveOnEntry`.
    #[must_use]
    pub fn new(
        code: Code<'_>,
        around: Surroundings<'_>,
        (cfg, dom): (&Cfg, &DomTree),
        never_changes: impl Fn(InstId) -> bool,
    ) -> Self {
        let mut by_block: Vec<(Node, Event)> = Vec::new();
        let mut listed: Vec<InstId> = Vec::new();
        for &block in code.flow.order() {
            for inst in code.body.block_insts(block) {
                let Some(kind) = kind(code, around, inst) else { continue };
                by_block.push((node_of(block), Event { variable: 0, kind }));
                listed.push(inst);
            }
        }
        let (events, place) = Events::new(cfg.node_count(), &by_block);
        let mut insts = listed.clone();
        let mut number = vec![0; events.len()];
        let mut event_of = vec![0u32; code.body.id_count()];
        let mut definitions = 0;
        for (inst, &event) in listed.iter().zip(&place) {
            insts[event as usize] = *inst;
            event_of[inst.into_raw().into_u32() as usize] = event + 1;
            if events.event(event).kind != EventKind::Use {
                definitions += 1;
                number[event as usize] = definitions;
            }
        }
        let ssa = Ssa::new(cfg, dom, &events, 1, Pruning::None);
        let is_constant = |event: &u32| {
            let inst = insts[*event as usize];
            is_constant_use(code, inst, &never_changes)
        };
        let uses = (0..events.len() as u32).filter(|&e| events.event(e).kind == EventKind::Use);
        let constant: FxHashSet<u32> = uses.filter(is_constant).collect();
        trim(&mut event_of);
        Self { events, ssa, constant, insts, event_of, number, definitions }
    }

    fn event_of(&self, inst: InstId) -> Option<u32> {
        self.event_of.get(inst.into_raw().into_u32() as usize)?.checked_sub(1)
    }

    fn before(&self, event: u32) -> Version {
        match self.constant.contains(&event) {
            true => Version::Entry,
            false => self.ssa.reaching(event),
        }
    }

    fn name(&self, version: Version) -> Name {
        match version {
            Version::Entry => Name::Entry,
            Version::Def(event) => Name::Number(self.number[event as usize]),
            Version::Phi(phi) => Name::Number(self.definitions + 1 + phi),
        }
    }

    /// What an instruction is; nothing if it touches no memory.
    #[must_use]
    pub fn access(&self, inst: InstId) -> Option<ClassicAccess> {
        let event = self.event_of(inst)?;
        let before = self.name(self.before(event));
        Some(match self.events.event(event).kind {
            EventKind::Use => ClassicAccess::Use(before),
            _ => ClassicAccess::Def(self.number[event as usize], before),
        })
    }

    /// The phi of a block, and what comes in from each predecessor.
    #[must_use]
    pub fn phi(&self, block: Node) -> Option<(Name, Vec<(Node, Name)>)> {
        let number = self.ssa.phis_of(block).next()?;
        let entries = self.ssa.incoming(&self.ssa.phis()[number]).iter();
        let entries = entries.map(|&(pred, version)| (pred, self.name(version))).collect();
        Some((self.name(Version::Phi(number as u32)), entries))
    }

    /// How many definitions, uses and phis there are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let definitions = self.definitions as usize;
        (definitions, self.events.len() - definitions, self.ssa.phis().len())
    }

    /// The nearest definition before an instruction that may write what it is asked about: the walker.
    ///
    /// `may_clobber` says so of a definition. The walk goes up over definitions that do not, and over a phi if all ways into it come
    /// to one and the same definition; else the answer is the phi. At most `limit` definitions are passed, beyond that the
    /// answer is the one that was reached: further down than need be, never wrong.
    pub fn clobber(
        &self,
        inst: InstId,
        limit: usize,
        mut may_clobber: impl FnMut(InstId) -> bool,
    ) -> Option<Clobber> {
        let start = self.before(self.event_of(inst)?);
        let mut left = limit;
        let mut seen: Vec<u32> = Vec::new();
        let mut at = start;
        loop {
            at = self.up(at, &mut left, &mut may_clobber);
            let Version::Phi(phi) = at else { break };
            // Everything that comes into the phi, phis that were passed on the way aside.
            let mut single: Option<Version> = None;
            let mut stack = vec![phi];
            seen.clear();
            seen.push(phi);
            let mut is_one = true;
            while let Some(phi) = stack.pop() {
                for &(_, version) in self.ssa.incoming(&self.ssa.phis()[phi as usize]) {
                    let version = self.up(version, &mut left, &mut may_clobber);
                    match version {
                        Version::Phi(next) if seen.contains(&next) => {}
                        Version::Phi(next) if seen.len() < PHIS => {
                            seen.push(next);
                            stack.push(next);
                        }
                        other => {
                            is_one &= single.is_none_or(|single| single == other);
                            single = Some(other);
                        }
                    }
                }
            }
            match single {
                // What stopped for want of steps is no clobber, and must not be taken for the only way in.
                Some(version) if is_one && left > 0 => at = version,
                _ => break,
            }
            if !matches!(at, Version::Phi(_)) {
                break;
            }
        }
        Some(match at {
            Version::Entry => Clobber::Entry,
            Version::Def(event) => Clobber::Def(self.insts[event as usize]),
            Version::Phi(phi) => Clobber::Phi(self.ssa.phis()[phi as usize].block),
        })
    }

    fn up(
        &self,
        mut at: Version,
        left: &mut usize,
        may_clobber: &mut impl FnMut(InstId) -> bool,
    ) -> Version {
        while let Version::Def(event) = at {
            if *left == 0 || may_clobber(self.insts[event as usize]) {
                break;
            }
            *left -= 1;
            at = self.ssa.reaching(event);
        }
        at
    }
}

/// What an instruction does to the variable.
fn kind(code: Code<'_>, around: Surroundings<'_>, inst: InstId) -> Option<EventKind> {
    match memory_access(code, around, inst) {
        MemoryAccess::None => None,
        MemoryAccess::Read => Some(EventKind::Use),
        MemoryAccess::Write => Some(EventKind::MayDef),
    }
}

/// Whether a use names `liveOnEntry` whatever is defined before it.
fn is_constant_use(code: Code<'_>, inst: InstId, never_changes: &dyn Fn(InstId) -> bool) -> bool {
    code.body.inst(inst).opcode == Opcode::Load && never_changes(inst)
}

/// How many phis a walk goes through at once.
const PHIS: usize = 64;

/// What a walk found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clobber {
    /// Nothing in the function writes it before.
    Entry,
    /// This instruction may.
    Def(InstId),
    /// Different ones may, on different ways to this block.
    Phi(Node),
}
