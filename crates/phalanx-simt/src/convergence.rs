//! Which executions of an instruction are converged.
//!
//! Maximal convergence after LLVM's *Convergence And Uniformity* document, in closed form. Let
//! `L(X)` be the latest execution, strictly before an execution of block `X` in the same call, of
//! the header of any cycle that contains `X`. Then the [`Key`] of an execution is
//!
//! ```text
//! key(X) = (X, key(L(X)))   or   (X, the call)   if there is no L(X)
//! ```
//!
//! and two threads are converged where their keys are equal. What a cycle is depends on the
//! hierarchy only in irreducible parts of the graph; the program holds one per function. The key of
//! a call is that of the calling instruction, so threads that make the same call together are
//! together in it.
//!
//! In functions with convergence control tokens, operations that use a token are converged if their
//! tokens are. An `entry` makes one token per call, an `anchor` one per converged execution. A
//! `loop` makes one per token that it takes and number of its execution with that token. A call
//! that uses a token is the same call for threads whose tokens are converged. Instructions that are
//! not convergent keep the keys of their blocks. If a token is used outside of the cycle that made
//! it, these keys are coarser than the groups in which tokens allow execution. So a fact about the
//! coarser groups holds for the finer ones as well.
//!
//! A thread *can reach* an instance if some path from its current place leads there. A group is
//! complete when no other thread can reach its instance. A path that leaves a cycle and enters it
//! again makes another instance, so a path to a block avoids the headers of the cycles around it.
//! Cost: O(cycles around the block) per execution of a block. Whether a thread can reach an
//! instance costs that, and the logarithm of the number of rounds before it ([`Link`]). The paths
//! cost one search of the graph per block that threads wait in.

mod key;

use phalanx_graph::{BitSet, Cfg, Cycles, Node};
use phalanx_ir::{InstId, flow::node_of};
use rustc_hash::FxHashMap;

pub(crate) use key::Latest;
pub use key::{Instance, Key};

use crate::{
    intrinsic::Token,
    program::Program,
    thread::state::{Frame, Thread},
    value::Value,
};

/// All keys of a launch.
#[derive(Debug)]
pub struct Keys {
    numbers: FxHashMap<Instance, Key>,
    instances: Vec<Instance>,
    /// By key.
    links: Vec<Link>,
    /// For a block: the blocks with a path to it that avoids the headers of the cycles around it.
    ways: FxHashMap<(usize, Node), BitSet>,
    /// For two blocks: the blocks with a path to the first that avoids the second.
    token_ways: FxHashMap<(usize, Node, Node), BitSet>,
}

/// The position of an instance in the chain of instances around it: rounds of loops, up to the
/// call.
///
/// A chain of parents is as long as the number of rounds. So each instance also has a jump further
/// up, as in a skew-binary list (Myers, *An applicative random-access stack*, 1983). An ancestor of
/// a given depth is found by O(log depth) jumps.
#[derive(Copy, Clone, Debug)]
struct Link {
    /// The call.
    context: Key,
    parent: Key,
    jump: Key,
    /// How many instances are around it, up to the call.
    depth: u32,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            numbers: FxHashMap::default(),
            instances: vec![Instance::Root],
            links: vec![Link::of_call(Key::ROOT)],
            ways: FxHashMap::default(),
            token_ways: FxHashMap::default(),
        }
    }
}

impl Link {
    const fn of_call(key: Key) -> Link {
        Link { context: key, parent: key, jump: key, depth: 0 }
    }
}

impl Keys {
    /// The key of an instance.
    pub fn intern(&mut self, instance: Instance) -> Key {
        let next = Key(self.instances.len() as u32);
        let key = *self.numbers.entry(instance).or_insert(next);
        if key == next {
            self.instances.push(instance);
            self.links.push(match instance {
                Instance::Root | Instance::Call { .. } => Link::of_call(key),
                Instance::Block { parent: of, .. }
                | Instance::Token { of, .. }
                | Instance::Heart { of, .. } => self.below(of),
            });
        }
        key
    }

    /// The instance that a key identifies.
    #[must_use]
    pub fn instance(&self, key: Key) -> Instance {
        self.instances[key.0 as usize]
    }

    fn link(&self, key: Key) -> Link {
        self.links[key.0 as usize]
    }

    /// The link of an instance with this parent.
    fn below(&self, parent: Key) -> Link {
        let above = self.link(parent);
        let further = self.link(above.jump);
        let is_pair = above.depth - further.depth == further.depth - self.link(further.jump).depth;
        let jump = if is_pair { further.jump } else { parent };
        Link { context: above.context, parent, jump, depth: above.depth + 1 }
    }

    /// The call that an instance is part of.
    fn context(&self, key: Key) -> Key {
        self.link(key).context
    }

    /// The ancestor of an instance that has this depth; the instance itself, if that is its depth.
    fn at_depth(&self, mut key: Key, depth: u32) -> Key {
        while self.link(key).depth > depth {
            let Link { parent, jump, .. } = self.link(key);
            key = if self.link(jump).depth >= depth { jump } else { parent };
        }
        key
    }

    /// Sets the key of a frame whose thread enters a block.
    pub(crate) fn enter(&mut self, program: &Program<'_>, frame: &mut Frame) {
        let Some((_, cycles)) = program.graph(frame.code) else { return };
        let node = frame.node();
        let parent = frame.latest.parent(cycles, node, frame.context);
        let key = self.intern(Instance::Block { function: frame.code, node, parent });
        frame.now = key;
        frame.latest.pass(cycles, node, key);
    }

    /// The key of the call that made a thread's innermost frame, perhaps with a token.
    pub(crate) fn enter_call(
        &mut self,
        program: &Program<'_>,
        frames: &mut [Frame],
        token: Option<Key>,
    ) {
        let [.., caller, callee] = frames else { return };
        let at = token.unwrap_or(caller.now);
        callee.context = self.intern(Instance::Call { inst: caller.inst, at });
        self.enter(program, callee);
    }

    /// The token that a token intrinsic makes.
    pub(crate) fn token(
        &mut self,
        frame: &mut Frame,
        token: Token,
        given: Option<&Value>,
    ) -> Value {
        let inst = frame.inst;
        let key = match (token, given) {
            (Token::Entry, _) => self.intern(Instance::Token { inst, of: frame.context }),
            (Token::Loop, Some(Value::Bits(of))) => {
                let of = Key(*of as u32);
                let rounds = frame.latest.rounds.entry((inst, of)).or_default();
                let round = *rounds;
                *rounds += 1;
                self.intern(Instance::Heart { inst, of, round })
            }
            (Token::Anchor | Token::Loop, _) => {
                self.intern(Instance::Token { inst, of: frame.now })
            }
        };
        Value::Bits(key.0.into())
    }

    /// The key of a token value.
    pub(crate) fn of_token(&self, value: &Value) -> Option<Key> {
        let number = u32::try_from(value.bits()?).ok()?;
        ((number as usize) < self.instances.len()).then_some(Key(number))
    }

    /// Whether a thread can still execute an instruction in an instance: of its block, or with a
    /// token.
    pub(crate) fn can_reach(
        &mut self,
        program: &Program<'_>,
        thread: &Thread,
        key: Key,
        inst: InstId,
    ) -> bool {
        match self.instance(key) {
            Instance::Root => false,
            Instance::Block { .. } => self.can_reach_point(program, thread, key, inst),
            Instance::Call { inst, at } => self.can_reach(program, thread, at, inst),
            Instance::Token { .. } | Instance::Heart { .. } => {
                self.can_reach_with(program, thread, key, inst)
            }
        }
    }

    /// Whether a thread can still reach an instruction in an instance of its block.
    fn can_reach_point(
        &mut self,
        program: &Program<'_>,
        thread: &Thread,
        key: Key,
        inst: InstId,
    ) -> bool {
        let here = thread.frames.iter().position(|frame| frame.now == key);
        if let Some(position) = here {
            let frame = &thread.frames[position];
            let is_top = position + 1 == thread.frames.len();
            // A frame below the top is in the middle of a call instruction.
            let body = &program.functions[frame.code].function.body;
            let mut next = if is_top { Some(frame.inst) } else { body.next(frame.inst) };
            while let Some(at) = next {
                if at == inst {
                    return true;
                }
                next = body.next(at);
            }
        }
        self.can_reach_block(program, thread, key)
    }

    /// Whether a thread can still begin an instance of a block: the instance itself, or the
    /// innermost round around it that is the thread's next round of its loop.
    ///
    /// The rounds around the instance belong to the cycles around the block. Of each cycle at most
    /// one can be the thread's next round: the one whose parent is the parent of that round.
    fn can_reach_block(&mut self, program: &Program<'_>, thread: &Thread, key: Key) -> bool {
        let Instance::Block { function, node, .. } = self.instance(key) else { return false };
        let context = self.context(key);
        let Some(frame) = thread.frames.iter().find(|frame| frame.context == context) else {
            // The thread is not in that call: can it still make the call?
            return match self.instance(context) {
                Instance::Call { inst, at } => self.can_reach(program, thread, at, inst),
                _ => false,
            };
        };
        let Some((cfg, cycles)) = program.graph(function) else { return false };
        let around = cycles.innermost(node).into_iter().flat_map(|cycle| cycles.ancestors(cycle));
        let nodes = std::iter::once(node).chain(around.map(|cycle| cycles.header(cycle)));
        let next = nodes.filter_map(|node| {
            let parent = frame.latest.parent(cycles, node, frame.context);
            let depth = self.link(parent).depth + 1;
            let round = self.at_depth(key, depth);
            let is_next = self.instance(round) == Instance::Block { function, node, parent };
            is_next.then_some((depth, node))
        });
        let Some((_, node)) = next.max_by_key(|(depth, _)| *depth) else { return false };
        let ways = self
            .ways
            .entry((function, node))
            .or_insert_with(|| ways_to(cfg, node, |n| heads_around(cycles, n, node)));
        ways.contains(frame.node().index())
    }

    /// Whether a thread can still execute an instruction with a token.
    ///
    /// Either the thread holds the token and has a path to the instruction that does not make the
    /// token anew. Or it can still reach the place where the token is made: that execution of an
    /// `anchor`, or that round of a `loop` with the token that the `loop` took.
    fn can_reach_with(
        &mut self,
        program: &Program<'_>,
        thread: &Thread,
        mut token: Key,
        mut inst: InstId,
    ) -> bool {
        let context = self.context(token);
        let Some(position) = thread.frames.iter().position(|frame| frame.context == context) else {
            return match self.instance(context) {
                Instance::Call { inst, at } => self.can_reach(program, thread, at, inst),
                _ => false,
            };
        };
        let frame = &thread.frames[position];
        let is_top = position + 1 == thread.frames.len();
        loop {
            let (def, of, round) = match self.instance(token) {
                Instance::Token { inst, of } => (inst, of, None),
                Instance::Heart { inst, of, round } => (inst, of, Some(round)),
                _ => return false,
            };
            let holds = *frame.result(def) == Value::Bits(token.0.into());
            if holds && self.can_come_to(program, frame, is_top, (def, inst)) {
                return true;
            }
            match (round, self.instance(of)) {
                (Some(round), _) => {
                    let done = frame.latest.rounds.get(&(def, of)).copied().unwrap_or(0);
                    if done > round {
                        return false;
                    }
                }
                (None, Instance::Block { .. }) => {
                    return self.can_reach_point(program, thread, of, def);
                }
                // An `entry` is executed once in each call.
                (None, _) => return *frame.result(def) == Value::Unit,
            }
            (token, inst) = (of, def);
        }
    }

    /// Whether there is a path from the place of a frame to an instruction on which a token is not
    /// made anew.
    fn can_come_to(
        &mut self,
        program: &Program<'_>,
        frame: &Frame,
        is_top: bool,
        (def, inst): (InstId, InstId),
    ) -> bool {
        let body = &program.functions[frame.code].function.body;
        let Some((cfg, _)) = program.graph(frame.code) else { return false };
        let (Some(home), Some(block)) = (body.block_of(def), body.block_of(inst)) else {
            return false;
        };
        // A frame below the top is in the middle of a call instruction.
        let mut next = if is_top { Some(frame.inst) } else { body.next(frame.inst) };
        while let Some(at) = next {
            if at == inst {
                return true;
            }
            if at == def {
                return false;
            }
            next = body.next(at);
        }
        if home == block {
            // A thread that enters the block makes the token anew first.
            return false;
        }
        let (home, block) = (node_of(home), node_of(block));
        let ways = self
            .token_ways
            .entry((frame.code, block, home))
            .or_insert_with(|| ways_to(cfg, block, |node| node == home));
        ways.contains(frame.node().index())
    }
}

/// Whether a block heads a cycle that contains another block.
fn heads_around(cycles: &Cycles, header: Node, node: Node) -> bool {
    cycles.is_header(header) && cycles.innermost(header).is_some_and(|c| cycles.contains(c, node))
}

/// Blocks with a path of at least one edge to a block that passes no stopped block.
fn ways_to(cfg: &Cfg, to: Node, is_stopped: impl Fn(Node) -> bool) -> BitSet {
    let mut found = BitSet::new(cfg.node_count());
    let mut pending: Vec<Node> = cfg.predecessors(to).to_vec();
    while let Some(node) = pending.pop() {
        if found.insert(node.index()) && !is_stopped(node) {
            pending.extend(cfg.predecessors(node));
        }
    }
    found
}
