//! MemorySSA with one variable for all of memory, as LLVM has it.
//!
//! # What
//!
//! Every instruction that may write is a *MemoryDef*, every other one that reads a *MemoryUse*, and
//! where definitions meet there is a *MemoryPhi*. Each names the definition before it; the first
//! one is `liveOnEntry`. Loads of memory that never changes name `liveOnEntry`, too. Other uses are
//! not optimised: they name the definition directly before them, even if it cannot write what they
//! read. The walker ([`ClassicMemorySsa::clobber`]) finds the definition that may write it; its
//! caller says what aliases.
//!
//! # How
//!
//! A [form](super::form) of two variables, with all phis at iterated dominance frontiers, used or
//! not. One variable is memory; the other is memory that never changes, which has no definitions.
//! Definitions are named by their instructions. The numbers that LLVM gives them are computed only
//! for printing ([`ClassicMemorySsa::numbers`]). Instructions in unreachable blocks have
//! `liveOnEntry` before them.
//!
//! **Complexity.** O(instructions + blocks + edges). A walk is linear in the definitions that it
//! passes.

mod update;

use phalanx_graph::{Cfg, DomTree, Node};
use phalanx_ir::{Body, Flow, InstId, Opcode};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::effects::{MemoryAccess, memory_access};
use super::form::{Does, Form, Touch};
use super::ssa::Pruning;
use crate::code::{Code, Environment};

pub use super::form::Version;

/// The number of the variable for memory.
const MEMORY: u8 = 0;
/// The number of the variable for memory that never changes.
const CONSTANT: u8 = 1;

/// The kind of access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassicAccess {
    /// A definition, with the version before it.
    Def(Version),
    /// A use, with the version that it names.
    Use(Version),
}

/// The MemorySSA form of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassicMemorySsa {
    form: Form,
}

impl ClassicMemorySsa {
    /// The form of a function. `never_changes` says whether a load reads memory that never changes;
    /// such a use names `liveOnEntry`.
    #[must_use]
    pub fn new(
        code: Code<'_>,
        env: Environment<'_>,
        graph: (&Cfg, &DomTree),
        never_changes: impl Fn(InstId) -> bool,
    ) -> Self {
        let does = |inst| does(code, env, inst, &never_changes);
        Self { form: Form::new(code.body, graph, (2, Pruning::None), does) }
    }

    fn touch(&self, inst: InstId) -> Option<Touch> {
        self.form.of(inst).next()
    }

    /// The access of an instruction. `None` if it touches no memory.
    #[must_use]
    pub fn access(&self, inst: InstId) -> Option<ClassicAccess> {
        let touch = self.touch(inst)?;
        Some(match touch.defines {
            true => ClassicAccess::Def(touch.before),
            false => ClassicAccess::Use(touch.before),
        })
    }

    /// The versions that come into the phi of a block, one from each distinct predecessor. `None`
    /// if the block has no phi.
    #[must_use]
    pub fn phi(&self, block: Node) -> Option<impl ExactSizeIterator<Item = (Node, Version)> + '_> {
        self.form.incoming(MEMORY, block)
    }

    /// The numbers of definitions, uses and phis. O(accesses).
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let all = self.form.touches().count();
        let definitions = self.form.touches().filter(|touch| touch.defines).count();
        (definitions, all - definitions, self.form.phis(MEMORY).len())
    }

    /// The numbers of definitions as LLVM has them: from 1 in the order of blocks, then phis by
    /// block. O(function).
    #[must_use]
    pub fn numbers(&self, flow: &Flow, body: &Body) -> FxHashMap<Version, u32> {
        let insts = flow.order().iter().flat_map(|&block| body.block_insts(block));
        let is_definition = |inst: &InstId| self.touch(*inst).is_some_and(|touch| touch.defines);
        let definitions = insts.filter(is_definition).map(Version::Def);
        definitions.chain(self.form.phis(MEMORY).map(Version::Phi)).zip(1..).collect()
    }

    /// The walker: the nearest definition before an instruction that may write what it accesses.
    ///
    /// `may_clobber` says whether a definition may write it. The walk goes up over definitions that
    /// do not, and over a phi if all ways into it lead to the same definition. Otherwise the answer
    /// is the phi. The walk passes at most `limit` definitions; then it returns the version that it
    /// has reached. That version is correct, but may be later than necessary.
    pub fn clobber(
        &self,
        inst: InstId,
        limit: usize,
        mut may_clobber: impl FnMut(InstId) -> bool,
    ) -> Option<Clobber> {
        let mut at = self.touch(inst)?.before;
        let mut left = limit;
        let mut seen: Vec<Node> = Vec::new();
        loop {
            at = self.up(at, &mut left, &mut may_clobber);
            let Version::Phi(phi) = at else { break };
            // All versions that come into the phi, directly or over other phis.
            let mut single: Option<Version> = None;
            let mut stack = vec![phi];
            seen.clear();
            seen.push(phi);
            let mut is_one = true;
            'ways: while let Some(phi) = stack.pop() {
                for (_, version) in self.phi(phi).into_iter().flatten() {
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
                            if !is_one {
                                break 'ways;
                            }
                        }
                    }
                }
            }
            match single {
                // If the budget is used up, a version may be no clobber, so it does not count as
                // the only one.
                Some(version) if is_one && left > 0 => at = version,
                _ => break,
            }
            if !matches!(at, Version::Phi(_)) {
                break;
            }
        }
        Some(at.into())
    }

    /// Whether a definition before `inst` may write what it accesses, on a way to it from an
    /// instruction that dominates it: `is_above` says which definitions and phis come before that
    /// instruction, or are it. The walk ends there, so it costs what stands in between. It passes
    /// at most `limit` definitions; then the answer is true.
    pub fn is_clobbered(
        &self,
        inst: InstId,
        limit: usize,
        is_above: impl Fn(Clobber) -> bool,
        mut may_clobber: impl FnMut(InstId) -> bool,
    ) -> bool {
        let Some(touch) = self.touch(inst) else { return true };
        let mut left = limit;
        let mut seen: SmallVec<[Node; 8]> = SmallVec::new();
        let mut stack: SmallVec<[Version; 8]> = smallvec![touch.before];
        while let Some(mut at) = stack.pop() {
            while !is_above(Clobber::from(at)) {
                match at {
                    Version::Entry => break,
                    Version::Def(definition) => {
                        if left == 0 || may_clobber(definition) {
                            return true;
                        }
                        left -= 1;
                        at = self.touch(definition).map_or(Version::Entry, |touch| touch.before);
                    }
                    Version::Phi(phi) => {
                        if !seen.contains(&phi) {
                            if seen.len() == PHIS {
                                return true;
                            }
                            seen.push(phi);
                            let incoming = self.phi(phi).into_iter().flatten();
                            stack.extend(incoming.map(|(_, version)| version));
                        }
                        break;
                    }
                }
            }
        }
        false
    }

    fn up(
        &self,
        mut at: Version,
        left: &mut usize,
        may_clobber: &mut impl FnMut(InstId) -> bool,
    ) -> Version {
        while let Version::Def(inst) = at {
            if *left == 0 || may_clobber(inst) {
                break;
            }
            *left -= 1;
            at = self.touch(inst).map_or(Version::Entry, |touch| touch.before);
        }
        at
    }
}

/// What an instruction does to the variables.
fn does(
    code: Code<'_>,
    env: Environment<'_>,
    inst: InstId,
    never_changes: &dyn Fn(InstId) -> bool,
) -> Does {
    match memory_access(code, env, inst) {
        MemoryAccess::None => Does::NOTHING,
        MemoryAccess::Read => {
            let is_constant = code.body.inst(inst).opcode == Opcode::Load && never_changes(inst);
            let variable = if is_constant { CONSTANT } else { MEMORY };
            Does { uses: 1 << variable, defines: 0 }
        }
        MemoryAccess::Write => Does { uses: 0, defines: 1 << MEMORY },
    }
}

/// The largest number of phis that a walk passes at once.
const PHIS: usize = 64;

/// The result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clobber {
    /// No instruction of the function writes it before.
    Entry,
    /// This instruction may.
    Def(InstId),
    /// Different instructions may, on different paths to this block.
    Phi(Node),
}

impl From<Version> for Clobber {
    fn from(version: Version) -> Self {
        match version {
            Version::Entry => Clobber::Entry,
            Version::Def(inst) => Clobber::Def(inst),
            Version::Phi(block) => Clobber::Phi(block),
        }
    }
}
