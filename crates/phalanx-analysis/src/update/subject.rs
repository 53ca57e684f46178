//! What an updater is asked about, and what it answers.

use phalanx_core::{
    affect::Value,
    divergence::{FlowFacts, repair::Retained},
};
use phalanx_ir::{BlockId, Body, InstId, Opcode};

use crate::assumed_facts::AssumedFacts;
use crate::code::{Code, Environment};
use crate::memory::{Pointees, PrivateMemory, PrivateMemoryUpdater};
use crate::summary::{self, Passes, Seeded};

/// Which inputs an answer is for. Equal numbers must mean equal inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Position in the history of the body.
    pub position: u64,
    /// Identity of the flow facts.
    pub flow: u64,
    /// Identity of everything else: header, target, launch facts, attributes of callees.
    pub env: u64,
}

/// What happened to a body since some position of its history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// Instructions that were inserted, removed, moved, or are another operation or read other
    /// operands.
    pub insts: &'a [InstId],
    /// Whether blocks or edges changed.
    pub flow: bool,
    /// Blocks that are new or gone, have other successors, or hold instructions that another block
    /// held; also those whose terminator has changed. Empty if they are not known.
    pub blocks: &'a [BlockId],
}

impl Changes<'_> {
    /// How much there is to do. Phis do not count where the graph is another one: a split changes
    /// all phis of the blocks behind, which may be hundreds.
    pub(super) fn count(&self, body: &Body) -> usize {
        let is_of_edges =
            |inst: InstId| !self.blocks.is_empty() && body.inst(inst).opcode == Opcode::Phi;
        let insts = self.insts.iter().filter(|inst| !is_of_edges(**inst));
        insts.count() + self.blocks.len()
    }
}

/// Which rules decide what an instruction contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Our own rules, which hold for every execution.
    Full,
    /// The rules of LLVM 22.
    Llvm,
}

/// The function as it is now, with its facts.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its code.
    pub code: Code<'a>,
    /// What is around it.
    pub env: Environment<'a>,
    /// Facts about its control flow.
    pub flow: FlowFacts<'a>,
    /// Identifies code, environment and flow.
    pub stamp: Stamp,
    /// Assumptions besides.
    pub assumed_facts: &'a AssumedFacts,
    /// Its private memory, if the caller has it: what [`PrivateMemory::without_origins`] finds.
    /// None costs time, nothing else.
    pub private: Option<&'a PrivateMemory>,
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// From scratch.
    Solved,
    /// From scratch, and the solution is retained from now on.
    Kept,
    /// By repair, visiting this many subjects. Also after an edit of the control flow.
    Repaired {
        /// See [`Outcome::Repaired`](phalanx_core::divergence::repair::Outcome::Repaired).
        visited: usize,
    },
    /// Derived again from retained tables.
    Rebuilt,
}

/// What an updater computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Divergence,
    /// The results of a [summary](crate::summary): it is also solved with its arguments as the only
    /// sources.
    Results,
    /// What is done [through](crate::summary::through) pointers. The memory that arguments point to
    /// is treated as private, and is a source as arguments are.
    Through,
}

impl Purpose {
    /// The private memory that this purpose needs.
    pub(super) fn memory(self, subject: &Subject<'_>) -> PrivateMemory {
        let Subject { code, env, flow: FlowFacts { cfg, dom, .. }, private, .. } = *subject;
        match (self, private) {
            (Purpose::Through, _) => PrivateMemory::with_pointees(code, env, cfg, dom),
            (_, Some(private)) => private.followed_through_calls(code, env, cfg, dom),
            (_, None) => PrivateMemory::through_calls(code, env, cfg, dom),
        }
    }

    /// The same, in a form that can be updated after edits.
    pub(super) fn updated(
        self,
        memory: PrivateMemory,
        subject: &Subject<'_>,
    ) -> PrivateMemoryUpdater {
        let Subject { code, env, flow, .. } = *subject;
        match self == Purpose::Through || memory.has_pointees() {
            true => PrivateMemoryUpdater::with_pointees(memory, Pointees::new(code, env, flow.dom)),
            false => PrivateMemoryUpdater::new(memory),
        }
    }

    /// The inputs that the function is also solved with, each as the only source.
    pub(super) fn inputs(self, code: Code<'_>, seeded: &Seeded) -> Vec<Option<Value>> {
        match self {
            Purpose::Divergence => Vec::new(),
            Purpose::Results => summary::arguments(code),
            Purpose::Through => {
                seeded.inputs(code).into_iter().map(|(_, value)| Some(value)).collect()
            }
        }
    }
}

/// The retained state that a summary reads, up to date.
#[derive(Clone, Copy)]
pub(crate) struct Answers<'a> {
    /// The solution with the function's own sources.
    pub(crate) own: &'a Retained,
    /// The solutions with one input each as the only source.
    pub(crate) passes: &'a Passes,
    /// Private memory, and whether all of it was looked at again.
    pub(crate) memory: &'a PrivateMemoryUpdater,
    pub(crate) is_whole_new: bool,
    /// The memory that arguments point to, if the purpose is [`Purpose::Through`].
    pub(crate) seeded: &'a Seeded,
    pub(crate) found: Found,
}

/// Why no state is retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Nothing can be told about the function.
    Nothing(Found),
    /// The caller must find the answer from scratch.
    Unknown,
}
