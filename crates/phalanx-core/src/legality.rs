//! Which motions of convergent operations are legal.
//!
//! A *convergent operation* communicates among the threads that execute it together, at some scope:
//! a vote within a wave, a barrier within a workgroup. A transform has to keep, for every
//! convergent operation, the groups of threads that execute it together (LLVM's
//! ConvergentOperations document). Under maximal convergence two predicates on blocks decide most
//! motions:
//!
//! - [`same_set`]: the threads that are together in one block are those that were together in
//!   another;
//! - [`edges`]: threads that are together in a block came by one edge.
//!
//! "Uniform" here means at the scope at which the operation communicates: [`Legality`] is made for
//! a scope, given by the sources that vary in it. The more branches are uniform, the more motions
//! are legal.
//!
//! | question | legal when |
//! |---|---|
//! | [`hoist`](Legality::hoist) | same set, and everybody comes there or the operation may be speculated; out of a cycle: all rounds are made by the group that entered |
//! | [`sink`](Legality::sink), [`cse`](Legality::cse) | same set |
//! | [`duplicate`](Legality::duplicate) into the predecessors | threads in the block came by one edge |
//! | [`merge`](Legality::merge) of both sides of a branch | the branch is uniform |
//! | [`speculate`](Legality::speculate) above a branch | the branch is uniform, and the operation may be speculated |
//! | [`unswitch`](Legality::unswitch) | the branch is uniform, or the cycle has no convergent operation |
//! | [`unroll`](Legality::unroll) | no remainder is left, or all exits are uniform, or the cycle has no convergent operation |
//! | [`peel`](Legality::peel) | one entry |
//! | [`rotate`](Legality::rotate) | one entry, and one block that rounds go on to from the header, in no inner cycle |
//! | [`split_header`](Legality::split_header) | the cycle has no convergent operation |
//!
//! # Rounds
//!
//! Which threads execute a round of a reducible cycle together depends on its header alone. In the
//! first round, these are the threads that entered together. In a later round, they are the threads
//! that came back from the same round, over any edge. So a transform keeps all groups if it
//! satisfies one condition: for each round, all threads that made the round together begin it at
//! the same copy of the header, and pass the copies in the same order.
//!
//! - *Copies of rounds* (peeled, or in turns with exits kept) are whole cycles without the edges
//!   back, which lead to the header of the next copy. Each copy is entered by its header alone, and
//!   by those who made the round before together. Cycles inside of it are what they were, and each
//!   block of it stays in the cycles around, since from it one comes to the next copy, and from
//!   there to where one came before.
//! - *Rotated*, a cycle has the block `N` behind the header `H` as its new header. Its rounds are
//!   counted at `N` instead of at `H`: the same number less one at `H`, as each way from `H` to `N`
//!   is one edge. If several blocks were behind `H`, the new cycle would have several entries; if
//!   `N` were in an inner cycle, the rounds of that one would be told apart by the same header, or
//!   be entered in a new place.
//! - With *a header split in two*, rounds that began over one of the back edges are rounds of an
//!   inner cycle. Threads that came back over different edges from the same round then differ in
//!   the number of the round.
//!
//! # Machines
//!
//! All this is about maximal convergence. On a machine that reconverges at immediate
//! post-dominators a motion is legal as well if no branch mixes rounds there ([`machines`] has the
//! argument), and a split header changes nothing, since no machine of that kind knows of cycles.
//! Answers are for both models, unless [`Legality::under`] asks for one.
//!
//! What a transform of any code has to see to besides is not asked here: that operands are there,
//! that memory is not written between, what may fault, and what may not come back. The last
//! concerns groups as well: `same_set`, and so `hoist`, `sink` and `cse`, are about the graph,
//! where a thread ends in a block without successors only. If a call between the two places may end
//! threads or not come back in some (`llvm.amdgcn.kill`; what is not `willreturn nounwind`), fewer
//! come to the lower one, and the answer is not for them: see [`same_set::between`].

pub mod edges;
pub mod machines;
pub mod same_set;

use std::fmt;

use crate::SourceSet;
use phalanx_graph::{CycleId, Node, Reconvergence};

use crate::divergence::{Divergence, FlowFacts};
use edges::EdgeDivergence;
use machines::{Machines, Rounds};
use same_set::{Arrival, Convergence};

/// Why a motion is not legal, or not known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The lower place can be reached without the upper one.
    NotDominated {
        /// The upper place.
        above: Node,
        /// The lower place.
        below: Node,
    },
    /// The places are in different cycles, so one is executed in more rounds than the other.
    OtherCycle {
        /// The upper place.
        above: Node,
        /// The lower place.
        below: Node,
    },
    /// Threads of several rounds meet at the header of a cycle.
    Header {
        /// The header.
        header: Node,
    },
    /// Threads part at a divergent branch, and some do not come to the lower place.
    Separates {
        /// Where they part.
        branch: Node,
        /// The lower place.
        below: Node,
    },
    /// The place need not be reached, and the operation may not be executed where it was not.
    NotReached {
        /// The lower place.
        below: Node,
    },
    /// The branch is divergent.
    DivergentBranch {
        /// It ends this block.
        branch: Node,
    },
    /// Threads that are together in the block came by different edges.
    DivergentEdges {
        /// The block.
        block: Node,
    },
    /// The blocks are not the two sides of one branch.
    NotSides {
        /// One of the blocks.
        block: Node,
    },
    /// The operation may not be executed where it was not.
    NotSpeculatable,
    /// Threads leave the cycle in different rounds.
    DivergentExit {
        /// Header of the cycle.
        header: Node,
    },
    /// The place is not the one block from which threads enter the cycle, or it leads elsewhere,
    /// too.
    NotBefore {
        /// The place.
        place: Node,
        /// Header of the cycle.
        header: Node,
    },
    /// The cycle has several entries, so it is not known which threads meet in it.
    Irreducible {
        /// Header of the cycle.
        header: Node,
    },
    /// Rounds go on from the header to several blocks, or into an inner cycle.
    NoSecondHeader {
        /// Header of the cycle.
        header: Node,
    },
    /// A convergent operation is in the cycle.
    HasConvergent {
        /// Header of the cycle.
        header: Node,
        /// A block with such an operation.
        block: Node,
    },
    /// The function has no such block.
    NoSuchBlock {
        /// The block.
        block: Node,
    },
    /// On machines that reconverge at post-dominators, threads of several rounds meet, so that
    /// facts of uniformity are not for them.
    MixesRounds {
        /// Where threads part.
        branch: Node,
        /// Where they join.
        join: Node,
    },
    /// The same happens in a function that calls this one, or that it calls.
    MixesRoundsElsewhere,
    /// On machines that reconverge at post-dominators, the sides of a branch come to the block
    /// apart.
    Parted {
        /// Where threads part.
        branch: Node,
        /// The block.
        block: Node,
    },
    /// The function has too many divergent branches and blocks.
    TooLarge,
    /// Too many blocks are between the two places.
    TooFar {
        /// The upper place.
        above: Node,
        /// The lower place.
        below: Node,
    },
}

impl Refusal {
    /// The reason in a sentence, with names for blocks.
    pub fn describe(self, name: &dyn Fn(Node) -> String) -> String {
        match self {
            Self::NotDominated { above, below } => {
                format!("{} is reached without {}", name(below), name(above))
            }
            Self::OtherCycle { above, below } => {
                format!("{} and {} are in different cycles", name(above), name(below))
            }
            Self::Header { header } => {
                format!(
                    "{} is the header of a cycle, where threads of several rounds meet",
                    name(header)
                )
            }
            Self::Separates { branch, below } => format!(
                "threads part at the divergent branch of {}, and some do not come to {}",
                name(branch),
                name(below)
            ),
            Self::NotReached { below } => format!(
                "{} need not be reached, and the operation may not be executed where it was not",
                name(below)
            ),
            Self::DivergentBranch { branch } => {
                format!("the branch of {} is divergent", name(branch))
            }
            Self::DivergentEdges { block } => {
                format!("threads that are together in {} came by different edges", name(block))
            }
            Self::NotSides { block } => {
                format!(
                    "{} is entered by more than the one branch, or takes part in a cycle",
                    name(block)
                )
            }
            Self::NotSpeculatable => {
                "the operation may not be executed where it was not".to_owned()
            }
            Self::DivergentExit { header } => {
                format!("threads leave the cycle of {} in different rounds", name(header))
            }
            Self::NotBefore { place, header } => {
                format!(
                    "{} is not the one block before the cycle of {}, or leads elsewhere, too",
                    name(place),
                    name(header)
                )
            }
            Self::Irreducible { header } => {
                format!("the cycle of {} has several entries", name(header))
            }
            Self::NoSecondHeader { header } => format!(
                "rounds do not go on from {} to one block that could be the header",
                name(header)
            ),
            Self::HasConvergent { header, block } => format!(
                "{} in the cycle of {} has a convergent operation",
                name(block),
                name(header)
            ),
            Self::MixesRounds { branch, join } => format!(
                "where threads join at post-dominators, those that part at the divergent branch of {} join at {} after different numbers of rounds",
                name(branch),
                name(join)
            ),
            Self::MixesRoundsElsewhere => {
                "where threads join at post-dominators, a function that calls this one, or that it calls, lets threads join after different numbers of rounds".to_owned()
            }
            Self::Parted { branch, block } => format!(
                "where threads join at post-dominators, the sides of the divergent branch of {} come to {} apart",
                name(branch),
                name(block)
            ),
            Self::TooLarge => "the function is too large to tell where threads join".to_owned(),
            Self::NoSuchBlock { block } => format!("there is no block {block}"),
            Self::TooFar { above, below } => {
                format!("too many blocks are between {} and {}", name(above), name(below))
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&|node| node.to_string()))
    }
}

impl std::error::Error for Refusal {}

/// How a cycle is unrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unroll {
    /// Every round keeps its exits: the copies stand for the same rounds.
    WithExits,
    /// Exits of some copies are dropped, and what is left over runs in a cycle of its own.
    WithRemainder,
}

/// Answers for one function and one scope. See the [module documentation](self).
#[derive(Clone, Copy, Debug)]
pub struct Legality<'a> {
    /// The control flow.
    pub flow: FlowFacts<'a>,
    /// What diverges.
    pub divergence: &'a Divergence,
    /// Which threads arrive over which edge.
    pub edges: &'a EdgeDivergence,
    /// The sources that vary within the scope of the operation.
    pub varying: SourceSet,
    /// Whether machines that reconverge at post-dominators mix rounds.
    pub rounds: Rounds,
    /// Which machines a motion has to be legal for.
    pub machines: Machines,
}

impl Legality<'_> {
    /// The same questions for some machines.
    #[must_use]
    pub fn under(self, machines: Machines) -> Self {
        Legality { machines, ..self }
    }

    /// Whether facts of uniformity hold on all machines that are asked for.
    fn facts_hold(&self) -> Result<(), Refusal> {
        match self.machines.include(Reconvergence::PostDominator) {
            true => self.rounds.are_apart(),
            false => Ok(()),
        }
    }

    /// Whether there are such blocks.
    fn have(&self, blocks: &[Node]) -> Result<(), Refusal> {
        let count = self.flow.cfg.node_count();
        match blocks.iter().find(|block| block.index() >= count) {
            Some(&block) => Err(Refusal::NoSuchBlock { block }),
            None => Ok(()),
        }
    }

    /// Whether threads of a group can leave a block different ways.
    #[must_use]
    pub fn is_divergent(&self, block: Node) -> bool {
        if self.have(&[block]).is_err() {
            return true;
        }
        self.flow.cfg.is_branch(block) && self.divergence.terminator(block).intersects(self.varying)
    }

    /// See [`same_set`]. O(blocks between), bounded.
    ///
    /// # Errors
    /// Why not; so below.
    pub fn same_set(&self, above: Node, below: Node) -> Result<(), Refusal> {
        self.arrival(above, below).map(|_| ())
    }

    fn arrival(&self, above: Node, below: Node) -> Result<Arrival, Refusal> {
        self.have(&[above, below])?;
        if above != below {
            self.facts_hold()?;
        }
        let FlowFacts { cfg, dom, cycles, .. } = self.flow;
        let is_divergent = |node: Node| self.is_divergent(node);
        Convergence { cfg, dom, cycles, is_divergent: &is_divergent }.arrival(above, below)
    }

    /// Whether an operation may move up, or out of the cycle that it is in to a place before it.
    ///
    /// Out of a cycle its result must be the same in every round: operands do not change in it, and
    /// memory is not read.
    ///
    /// # Errors
    /// Why not.
    pub fn hoist(&self, from: Node, to: Node, is_speculatable: bool) -> Result<(), Refusal> {
        self.have(&[from, to])?;
        let cycles = self.flow.cycles;
        let (inner, outer) = (cycles.innermost(from), cycles.innermost(to));
        let arrival = match inner {
            Some(cycle) if inner != outer && !cycles.contains(cycle, to) => {
                self.out_of(cycle, from, to)?
            }
            _ => self.arrival(to, from)?,
        };
        match arrival {
            Arrival::Possible if !is_speculatable => Err(Refusal::NotReached { below: from }),
            _ => Ok(()),
        }
    }

    /// All rounds of the cycle are made by the group that was in `to` before, and each of them
    /// comes to `from`.
    fn out_of(&self, cycle: CycleId, from: Node, to: Node) -> Result<Arrival, Refusal> {
        let FlowFacts { cfg, cycles, .. } = self.flow;
        let header = cycles.header(cycle);
        if !cycles.is_reducible(cycle) {
            return Err(Refusal::Irreducible { header });
        }
        let mut before = cfg.predecessors(header).iter().filter(|&&p| !cycles.contains(cycle, p));
        let leads_elsewhere = cfg.successors(to).iter().any(|&next| next != header);
        if before.any(|&pred| pred != to) || leads_elsewhere {
            return Err(Refusal::NotBefore { place: to, header });
        }
        // A group that loses threads by an exit makes the later rounds with fewer.
        let leaves =
            |exit: &(CycleId, SourceSet)| exit.0 == cycle && exit.1.intersects(self.varying);
        let is_left = cycles.exit_edges(cycle).any(|(from, _)| self.is_divergent(from));
        if is_left || self.divergence.cycles_with_divergent_exit().iter().any(leaves) {
            return Err(Refusal::DivergentExit { header });
        }
        self.arrival(header, from)
    }

    /// Whether an operation may move down.
    ///
    /// # Errors
    /// Why not.
    pub fn sink(&self, from: Node, to: Node) -> Result<(), Refusal> {
        self.same_set(from, to)
    }

    /// Whether an operation may be replaced by an equal one further up.
    ///
    /// # Errors
    /// Why not.
    pub fn cse(&self, first: Node, second: Node) -> Result<(), Refusal> {
        self.same_set(first, second)
    }

    /// Whether the operations of a block may be copied into its predecessors, as jump threading and
    /// tail duplication do.
    ///
    /// # Errors
    /// Why not.
    pub fn duplicate(&self, block: Node) -> Result<(), Refusal> {
        self.have(&[block])?;
        self.facts_hold()?;
        match self.edges.into_block(block).intersects(self.varying) {
            true => Err(Refusal::DivergentEdges { block }),
            false => Ok(()),
        }
    }

    /// Whether equal operations in two blocks may become one in the block whose branch leads to
    /// both, or in the block where both lead.
    ///
    /// # Errors
    /// Why not.
    pub fn merge(&self, one: Node, other: Node) -> Result<(), Refusal> {
        self.have(&[one, other])?;
        let FlowFacts { cfg, cycles, .. } = self.flow;
        let &[branch] = cfg.predecessors(one) else {
            return Err(Refusal::NotSides { block: one });
        };
        if cfg.predecessors(other) != [branch] || one == other {
            return Err(Refusal::NotSides { block: other });
        }
        for block in [one, other] {
            if cycles.innermost(block) != cycles.innermost(branch) || cycles.is_header(block) {
                return Err(Refusal::NotSides { block });
            }
        }
        self.uniform(branch)
    }

    /// Whether an operation may move from a side of a branch to above it, to be executed whichever
    /// way the branch goes.
    ///
    /// # Errors
    /// Why not.
    pub fn speculate(&self, side: Node, is_speculatable: bool) -> Result<(), Refusal> {
        self.have(&[side])?;
        let FlowFacts { cfg, cycles, .. } = self.flow;
        if !is_speculatable {
            return Err(Refusal::NotSpeculatable);
        }
        match cfg.predecessors(side) {
            &[branch] if cycles.innermost(side) == cycles.innermost(branch) => self.uniform(branch),
            _ => Err(Refusal::NotSides { block: side }),
        }
    }

    fn uniform(&self, branch: Node) -> Result<(), Refusal> {
        self.facts_hold()?;
        match self.is_divergent(branch) {
            true => Err(Refusal::DivergentBranch { branch }),
            false => Ok(()),
        }
    }

    /// Whether a branch that does not change in a cycle may be taken before it, with a copy of the
    /// cycle for each side.
    ///
    /// # Errors
    /// Why not.
    pub fn unswitch(
        &self,
        cycle: CycleId,
        branch: Node,
        is_convergent: &dyn Fn(Node) -> bool,
    ) -> Result<(), Refusal> {
        self.without_convergent(cycle, is_convergent).or_else(|_| self.uniform(branch))?;
        // Threads that part before the copies come to what is behind different exits apart.
        match self.stacks_depend_on(is_convergent) {
            true => self.uniform(branch),
            false => Ok(()),
        }
    }

    /// Whether a cycle may be unrolled.
    ///
    /// # Errors
    /// Why not.
    pub fn unroll(
        &self,
        cycle: CycleId,
        how: Unroll,
        is_convergent: &dyn Fn(Node) -> bool,
    ) -> Result<(), Refusal> {
        let is_free = self.without_convergent(cycle, is_convergent).is_ok()
            && !self.stacks_depend_on(is_convergent);
        if how == Unroll::WithExits || is_free {
            return self.peel(cycle);
        }
        let header = self.flow.cycles.header(cycle);
        self.peel(cycle)?;
        match self.flow.cycles.exit_edges(cycle).any(|(from, _)| self.is_divergent(from)) {
            true => Err(Refusal::DivergentExit { header }),
            false => Ok(()),
        }
    }

    /// Whether the first round of a cycle may be made before it.
    ///
    /// See [rounds](self#rounds) on why the number of latches does not matter.
    ///
    /// # Errors
    /// Why not.
    pub fn peel(&self, cycle: CycleId) -> Result<(), Refusal> {
        self.facts_hold()?;
        let cycles = self.flow.cycles;
        match cycles.is_reducible(cycle) {
            true => Ok(()),
            false => Err(Refusal::Irreducible { header: cycles.header(cycle) }),
        }
    }

    /// Whether a copy of a cycle's header may be made before it, so that rounds begin behind the
    /// header and end with it.
    ///
    /// The block behind the header becomes the header, so there has to be one, that is in no inner
    /// cycle. See [rounds](self#rounds).
    ///
    /// # Errors
    /// Why not.
    pub fn rotate(&self, cycle: CycleId) -> Result<(), Refusal> {
        self.peel(cycle)?;
        let FlowFacts { cfg, cycles, .. } = self.flow;
        let header = cycles.header(cycle);
        let mut next: Vec<Node> = cfg.successors(header).to_vec();
        next.retain(|&to| cycles.contains(cycle, to));
        next.sort_unstable();
        next.dedup();
        match next[..] {
            [only] if cycles.innermost(only) == Some(cycle) => Ok(()),
            _ => Err(Refusal::NoSecondHeader { header }),
        }
    }

    /// Whether the header of a cycle may be split, so that two cycles with headers of their own
    /// come of it.
    ///
    /// # Errors
    /// Why not.
    pub fn split_header(
        &self,
        cycle: CycleId,
        is_convergent: &dyn Fn(Node) -> bool,
    ) -> Result<(), Refusal> {
        if self.machines == Machines::Only(Reconvergence::PostDominator) {
            return self.peel(cycle);
        }
        self.without_convergent(cycle, is_convergent)
    }

    /// Whether machines that reconverge at post-dominators are asked for, and there is a convergent
    /// operation. O(blocks).
    fn stacks_depend_on(&self, is_convergent: &dyn Fn(Node) -> bool) -> bool {
        self.machines.include(Reconvergence::PostDominator)
            && self.flow.cfg.nodes().any(is_convergent)
    }

    /// O(blocks of the cycle).
    fn without_convergent(
        &self,
        cycle: CycleId,
        is_convergent: &dyn Fn(Node) -> bool,
    ) -> Result<(), Refusal> {
        let cycles = self.flow.cycles;
        match cycles.blocks(cycle).iter().find(|&&block| is_convergent(block)) {
            Some(&block) => Err(Refusal::HasConvergent { header: cycles.header(cycle), block }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
