//! Keys of converged executions, as plain data.

use phalanx_graph::{CycleId, Cycles, Node};
use phalanx_ir::InstId;
use rustc_hash::FxHashMap;

/// An equivalence class of converged executions.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(pub(super) u32);

impl Key {
    /// The launch, which all threads begin together.
    pub const ROOT: Key = Key(0);

    /// The number of the class, in order of discovery.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

/// The execution that a key identifies.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instance {
    /// The launch.
    Root,
    /// Executions of a block.
    Block {
        /// Number of the function in the program.
        function: usize,
        /// The block.
        node: Node,
        /// The latest header before it, or the call.
        parent: Key,
    },
    /// Calls made by an instruction.
    Call {
        /// The instruction.
        inst: InstId,
        /// The execution of its block.
        at: Key,
    },
    /// Tokens of an `entry` or `anchor`.
    Token {
        /// The instruction.
        inst: InstId,
        /// The call, or the execution of its block.
        of: Key,
    },
    /// Tokens of a `loop`.
    Heart {
        /// The instruction.
        inst: InstId,
        /// The token that it takes.
        of: Key,
        /// How many executions with that token came before.
        round: u32,
    },
}

/// The latest executions of headers in a call, and of hearts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest {
    /// By cycle: the time and key of the latest execution of its header.
    pub(super) headers: Vec<Option<(u32, Key)>>,
    pub(super) time: u32,
    /// How often a heart was executed with each token.
    pub(super) rounds: FxHashMap<(InstId, Key), u32>,
}

impl Latest {
    /// The latest header of a cycle around a block, or the call.
    pub(super) fn parent(&self, cycles: &Cycles, node: Node, context: Key) -> Key {
        let Some(inner) = cycles.innermost(node) else { return context };
        let around = cycles.ancestors(inner);
        let of = |cycle: CycleId| self.headers.get(cycle.index()).copied().flatten();
        around.filter_map(of).max().map_or(context, |(_, key)| key)
    }

    pub(super) fn pass(&mut self, cycles: &Cycles, node: Node, key: Key) {
        if !cycles.is_header(node) {
            return;
        }
        if let Some(cycle) = cycles.innermost(node) {
            if self.headers.is_empty() {
                self.headers.resize(cycles.len(), None);
            }
            self.time += 1;
            self.headers[cycle.index()] = Some((self.time, key));
        }
    }
}
