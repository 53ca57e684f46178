//! Why something diverges: the shortest chain of causes from it to a source.
//!
//! # What
//!
//! Every rule of the divergence analysis has one antecedent, so a fact, "this depends on source
//! `s`", is derived along a chain: of values that read one another, of branches that bring
//! different values to a phi, of branches that let threads leave a cycle in different iterations.
//! Among all chains from a fact back to a definition that introduces a source this is one with the
//! fewest links.
//!
//! # Definition
//!
//! Facts are [`Fact::Value`] and [`Fact::Terminator`], each for one source. One leads to another
//! when
//!
//! | cause | leads to | because |
//! |---|---|---|
//! | (none) | value, terminator | it introduces the source ([`Cause::Source`]) |
//! | value | value, terminator | it is an operand ([`Cause::Operand`]) |
//! | terminator | phi | threads that it separates bring different values ([`Cause::Join`]) |
//! | terminator | who reads a value outside of its cycle | threads leave in different iterations ([`Cause::Temporal`]) |
//! | terminator | value in an irreducible cycle | convergence there is unknown ([`Cause::Assumed`]) |
//! | terminator | block | it is control dependent ([`Cause::Control`]) |
//! | block | block | likewise, through a branch in it |
//!
//! "Which terminator leads to what" is the relation that
//! [`SyncDependence`](phalanx_graph::sync::SyncDependence) answers for one branch at a time. A
//! chain exists if and only if the analysis says that the fact holds, and every link is one of
//! these by itself; `check` (for tests) verifies both from the definition.
//!
//! # Algorithm
//!
//! One breadth-first pass over the rules that writes down what each fact was derived from
//! (`search`); a chain is read off backwards (`chain`). Equal lengths are decided by the order of
//! the tables, so answers are the same every time. Ways to a join are looked for when a chain is
//! made, and only for its links (`ways`).
//!
//! # Complexity
//!
//! The pass takes the time of one analysis from scratch, and a few words of memory per fact and
//! source. It runs at the first query. A chain takes O(its length), and O(blocks + edges) for each
//! join on it.

mod chain;
#[cfg(any(test, feature = "testing"))]
pub mod check;
mod search;
mod ways;

use crate::SourceSet;
use phalanx_graph::{CycleId, Node};

use crate::affect::{User, UserKind, Value};
use crate::divergence::{Divergence, FlowFacts, ValueTable};

/// All derivations of a function, see the [module documentation](self). Answers
/// [`Derivations::of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivations {
    entries: Vec<search::Entry>,
    /// First entry of each value, terminator: [`search::NONE`] where there is none. Entries of one
    /// fact are linked by `next`.
    values: Vec<u32>,
    terminators: Vec<u32>,
    /// Entries of uses, sorted by value and user.
    uses: Vec<(Value, User, u32)>,
    /// By entry: the next one about the same value or terminator.
    next: Vec<u32>,
}

/// Something that can depend on sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// A value where it is computed.
    Value(Value),
    /// A value at one of its users.
    Use(Value, User),
    /// The way that a block's terminator takes.
    Terminator(Node),
    /// Whether a block is executed.
    Block(Node),
}

/// One link of a chain: what depends on which source, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What.
    pub fact: Fact,
    /// The source: one. It can be another than in the next link where an operation turns one source
    /// into another.
    pub source: SourceSet,
    /// Why. The next link is about what it names.
    pub cause: Cause,
}

/// Why something depends on a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// It introduces the source.
    Source,
    /// It reads the value.
    Operand(Value),
    /// Threads that separated at a branch bring different values to the phi.
    Join(Separation),
    /// It reads the value outside of the cycle around it, after threads left in different
    /// iterations.
    Temporal {
        /// The value that is read.
        value: Value,
        /// The outermost cycle that is left.
        cycle: Option<CycleId>,
        /// By which threads separated.
        separation: Separation,
    },
    /// Threads run apart in the irreducible cycle around it.
    Assumed {
        /// The cycle.
        cycle: CycleId,
        /// By which threads separated.
        separation: Separation,
    },
    /// Whether the block is executed is decided at the end of a block, whose terminator is
    /// divergent; or which is itself executed by some threads only, if `by_block`.
    Control {
        /// The block that decides.
        branch: Node,
        /// Whether the next link is about the execution of `branch` and not about the way it takes.
        by_block: bool,
    },
}

/// How threads separated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separation {
    /// The block at whose end they did.
    pub branch: Node,
    /// The edge by which they left a cycle in different iterations, if that matters: the last such.
    pub exit: Option<(Node, Node)>,
    /// The irreducible cycle in which they then ran apart, if that matters.
    pub apart_in: Option<CycleId>,
    /// Two ways from the branch to the join, from its block to that of the phi, that bring
    /// different values. They share no block in between where such are found by trying one way
    /// first. Empty where threads meet after some rounds of a cycle only.
    pub ways: Option<[Vec<Node>; 2]>,
}

impl Cause {
    /// The fact that it is about; none for a source.
    #[must_use]
    pub fn antecedent(&self) -> Option<Fact> {
        match self {
            Cause::Source => None,
            Cause::Operand(value) => Some(Fact::Value(*value)),
            Cause::Join(separation)
            | Cause::Temporal { separation, .. }
            | Cause::Assumed { separation, .. } => Some(Fact::Terminator(separation.branch)),
            Cause::Control { branch, by_block: true } => Some(Fact::Block(*branch)),
            Cause::Control { branch, by_block: false } => Some(Fact::Terminator(*branch)),
        }
    }
}

impl Fact {
    /// What it is about in a few words, with names for blocks and values.
    #[must_use]
    pub fn describe(
        self,
        block: &dyn Fn(Node) -> String,
        value: &dyn Fn(Value) -> String,
    ) -> String {
        match self {
            Self::Value(of) => value(of),
            Self::Use(of, user) => match user.kind() {
                UserKind::Value(by) => format!("{}, read by {}", value(of), value(by)),
                UserKind::Terminator(at) => {
                    format!("{}, read at the end of {}", value(of), block(at))
                }
            },
            Self::Terminator(of) => format!("the way that threads take from {}", block(of)),
            Self::Block(of) => format!("whether a thread executes {}", block(of)),
        }
    }
}

impl Link {
    /// The link in a sentence, with names for blocks and values.
    ///
    /// ```text
    /// v4 depends on {x}: it reads v3
    /// v3 depends on {x}: threads that part at the end of b0 bring it different values
    /// the way that threads take from b0 depends on {x}: it reads v0
    /// v0 depends on {x}: it is the source
    /// ```
    #[must_use]
    pub fn describe(
        &self,
        block: &dyn Fn(Node) -> String,
        value: &dyn Fn(Value) -> String,
    ) -> String {
        let fact = self.fact.describe(block, value);
        let parted = |separation: &Separation| {
            let exit = separation.exit.map(|(from, to)| {
                format!(
                    ", and leave a cycle from {} to {} in different rounds",
                    block(from),
                    block(to)
                )
            });
            let exit = exit.unwrap_or_default();
            format!("threads that part at the end of {}{exit}", block(separation.branch))
        };
        let cause = match &self.cause {
            Cause::Source => "it is the source".to_owned(),
            Cause::Operand(read) => match self.fact {
                Fact::Use(..) => "the value does where it is computed".to_owned(),
                _ => format!("it reads {}", value(*read)),
            },
            Cause::Join(separation) => format!("{} bring it different values", parted(separation)),
            Cause::Temporal { value: read, separation, .. } => {
                format!("{} read {} of their last round", parted(separation), value(*read))
            }
            Cause::Assumed { separation, .. } => format!(
                "{} may be in different rounds of the cycle with several entries around it",
                parted(separation)
            ),
            Cause::Control { branch, by_block: false } => {
                format!("{} decides it by the way that threads take from it", block(*branch))
            }
            Cause::Control { branch, by_block: true } => {
                format!("{} decides it, which not all threads execute", block(*branch))
            }
        };
        format!("{fact} depends on {}: {cause}", self.source)
    }
}

impl Derivations {
    /// Derives everything that holds by the precise rules: `answer` is what they say about the
    /// table. See [complexity](self#complexity).
    #[must_use]
    pub fn new(flow: FlowFacts<'_>, table: &ValueTable, answer: &Divergence) -> Self {
        Self::from_entries(search::derivations(flow, table, answer), table)
    }
}
