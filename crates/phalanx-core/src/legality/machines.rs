//! Which machines a motion is legal for: two models of reconvergence.
//!
//! | model | threads that part are together again |
//! |---|---|
//! | [`Reconvergence::Maximal`] | as early as the rounds of cycles allow: what LLVM's `convergent` means |
//! | [`Reconvergence::PostDominator`] | at the immediate post-dominator of the branch: a stack of masks |
//!
//! A motion is *legal under a model* if every convergent operation keeps its groups in executions
//! under that model. Facts of uniformity are about maximal convergence; what they say of the second
//! model follows from two properties of the graph ([`Joins`]).
//!
//! # Definitions
//!
//! Let `D` be a branch that is divergent within a wave. Its *region* is what is reached from it
//! without passing `join(D)`, its immediate post-dominator.
//!
//! - `D` *mixes rounds* if an entry of a cycle around `join(D)` is in its region.
//! - A block is *parted* by `D` if two sides of `D` lead to it within the region.
//! - A graph *keeps groups whole* for some blocks if no divergent branch mixes rounds, and none
//!   parts one of these blocks.
//!
//! # What follows
//!
//! 1. *If no divergent branch mixes rounds, threads that are together at the second machine are so
//!    under maximal convergence.* By induction over an execution: threads stay together by a step
//!    that they make together, or meet at `join(D)` after they were together at `D`. On the way to
//!    the join they pass no entry of a cycle around it, so the latest header of each such cycle is
//!    the one that came before `D`, in all of them. Hence what is uniform under maximal convergence
//!    is uniform here, and what is divergent here is divergent there.
//! 2. *If groups are kept whole for `X`, both models have the same groups at `X`.* Let two threads
//!    be converged at `X` under maximal convergence but not under the second model. Let `D` be the
//!    last branch before `X` at which they part under the second model. If neither thread has
//!    passed `join(D)` when it comes to `X`, they reach `X` from different sides of `D` within the
//!    region, so `X` is parted. If one thread has passed it, the other passes the join later, in a
//!    cycle around both `X` and the join. On its way it passes an entry of that cycle, so `D` mixes
//!    rounds.
//!
//! So a transform that is legal under maximal convergence is legal under both models if it keeps
//! the graph and no branch mixes rounds (single operations move: [`Legality`](super::Legality)), or
//! if groups are kept whole for all convergent operations in the graph before and in the graph
//! after ([`Machine::whole`]).
//!
//! ```text
//!      D            D     jump threading: %vote was whole behind %join, where the sides of D
//!     / \          / \    joined; now both sides lead to it before they join, at %end
//!    P   Q        P   Q
//!     \ /         |   |
//!     join   =>   |  join
//!     /  \         \ /  \
//!   vote  |       vote   |
//!     \   |         \    |
//!      end           end
//! ```
//!
//! # Calls
//!
//! Threads that come to a call together are together in the callee. If the caller mixes rounds,
//! they may have been apart under maximal convergence, and an argument that is uniform there need
//! not be so here. If a callee mixes rounds around a convergent operation, what it returns need not
//! be uniform either. So facts hold on the second machine if no branch mixes rounds in the function
//! itself, in callers of which the facts are used, and in callees with convergent operations;
//! [`Rounds::Elsewhere`] says that one of the others does.
//!
//! Cost: O(divergent branches × sides × blocks), bounded; beyond the bound the answer is no.

use phalanx_graph::{Cycles, Joins, Node, Reconvergence};

use super::Refusal;

/// For which machines a motion has to be legal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Machines {
    /// Under either model.
    #[default]
    All,
    /// Under one.
    Only(Reconvergence),
}

impl Machines {
    /// Whether a motion has to be legal under a model.
    #[must_use]
    pub fn include(self, model: Reconvergence) -> bool {
        matches!(self, Machines::All) || self == Machines::Only(model)
    }

    /// By the name of the model that alone counts.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Machines> {
        match name {
            "all" => Some(Machines::All),
            "maximal" => Some(Machines::Only(Reconvergence::Maximal)),
            "post-dominator" => Some(Machines::Only(Reconvergence::PostDominator)),
            _ => None,
        }
    }
}

/// Whether machines that reconverge at post-dominators let threads of several rounds meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounds {
    /// No divergent branch mixes rounds.
    Apart,
    /// One does.
    Mixed {
        /// Where threads part.
        branch: Node,
        /// Where they join.
        join: Node,
    },
    /// None does here, but one does in a function that calls this one, or that it calls.
    Elsewhere,
    /// The graph is too large to tell.
    Unknown,
}

/// A graph as a machine that reconverges at post-dominators sees it.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// Where branches join.
    pub joins: &'a Joins,
    /// The cycles.
    pub cycles: &'a Cycles,
    /// Whether threads of a wave that end a block together can go different ways.
    pub is_divergent: &'a dyn Fn(Node) -> bool,
}

impl Machine<'_> {
    /// Whether rounds are mixed.
    #[must_use]
    pub fn rounds(self) -> Rounds {
        match self.joins.mixing(self.cycles, self.is_divergent) {
            Ok(None) => Rounds::Apart,
            Ok(Some((branch, join))) => Rounds::Mixed { branch, join },
            Err(_) => Rounds::Unknown,
        }
    }

    /// Whether groups are kept whole for these blocks.
    ///
    /// # Errors
    /// Why not.
    pub fn whole(self, blocks: &[Node]) -> Result<(), Refusal> {
        if blocks.is_empty() {
            return Ok(());
        }
        self.rounds().are_apart()?;
        let parted = self.joins.parted(blocks, self.is_divergent);
        let parted = parted.map_err(|_| Refusal::TooLarge)?;
        match blocks.iter().zip(parted).find_map(|(&block, by)| Some((block, by?))) {
            Some((block, branch)) => Err(Refusal::Parted { branch, block }),
            None => Ok(()),
        }
    }
}

impl Rounds {
    /// Whether facts of uniformity hold on such a machine.
    ///
    /// # Errors
    /// Why not.
    pub fn are_apart(self) -> Result<(), Refusal> {
        match self {
            Rounds::Apart => Ok(()),
            Rounds::Mixed { branch, join } => Err(Refusal::MixesRounds { branch, join }),
            Rounds::Elsewhere => Err(Refusal::MixesRoundsElsewhere),
            Rounds::Unknown => Err(Refusal::TooLarge),
        }
    }
}
