//! Reconvergence at immediate post-dominators: a wave with a stack of masks.
//!
//! # What
//!
//! Threads of a wave that are together follow one *path*. If they take different edges at the end
//! of block `B`, each side becomes a path of its own until it reaches `join(B)`, the immediate
//! post-dominator of `B` ([`Joins`]). There the sides become one path again. If the sides do not
//! join in the function, they join where the call returns. Paths of a wave run one at a time: a
//! side and all paths that it separates into run before the next side begins.
//!
//! ```text
//!      D        threads 0 and 1 part at D. 0 runs A and waits at J; 1 runs B; then both run J.
//!     / \       If X below A is reached from B as well, each side executes X by itself, though
//!    A   B      under maximal convergence both are together in X.
//!    | X |
//!     \ /
//!      J
//! ```
//!
//! # The key of an instance
//!
//! As under maximal convergence ([`crate::convergence`]), the past of a thread determines which
//! threads it is together with. A branch execution `b` is *open* until its thread reaches
//! `join(b)`. With `P` the previous block execution,
//!
//! ```text
//! key(X) = (X, key(b))   if X = join(b) for open branch executions; b is the first of them
//! key(X) = (X, key(P))   otherwise; (X, the call) if there is no P
//! ```
//!
//! and threads of a wave are together if their keys are equal. A branch that all threads take to
//! one side may count as open: no other path has its keys. Keys are the nodes of a tree. A node
//! determines its open branches, so the stack of a thread is a list through the tree.
//!
//! # Which threads wait
//!
//! A thread *can reach* an instance if the key of the instance descends from the thread's current
//! instance, or from the join of one of its open branches. A thread waits at an instance that
//! another thread can reach: sides wait at their join, and calls wait for all threads that made
//! them. Of the instances that no other thread can reach, the first one in the order in which sides
//! were found runs.
//!
//! Cost: O(log depth) per query, with a pointer from each key to a distant ancestor (Myers,
//! *An applicative random-access stack*, 1983).

use phalanx_graph::{Joins, Node};
use phalanx_ir::{BlockId, InstId, Opcode, flow::block_of, flow::node_of};

use crate::{
    convergence::{Instance, Key, Keys},
    program::Program,
    thread::state::{Frame, Thread},
};

/// A node of the tree of keys.
#[derive(Copy, Clone, Debug)]
struct KeyNode {
    depth: u32,
    parent: Key,
    /// A distant ancestor.
    far: Key,
    /// The innermost open branch when the instance begins: its join, and its key.
    open: Option<(Node, Key)>,
}

/// The tree of keys, and where branches join.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// By number of the key; none for keys of tokens.
    places: Vec<Option<KeyNode>>,
    /// By function, computed on demand.
    joins: Vec<Option<Joins>>,
}

impl Paths {
    fn place(&self, key: Key) -> KeyNode {
        let root = KeyNode { depth: 0, parent: Key::ROOT, far: Key::ROOT, open: None };
        self.places.get(key.number() as usize).copied().flatten().unwrap_or(root)
    }

    /// Adds a key to the tree, below its parent; once.
    fn insert(&mut self, key: Key, parent: Key, open: Option<(Node, Key)>) {
        let at = key.number() as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        if self.places[at].is_none() {
            let above = self.place(parent);
            let middle = self.place(above.far);
            let is_far = above.depth - middle.depth == middle.depth - self.place(middle.far).depth;
            let far = if is_far && above.depth > 0 { middle.far } else { parent };
            self.places[at] = Some(KeyNode { depth: above.depth + 1, parent, far, open });
        }
    }

    /// The ancestor of a key at this depth, or the key itself; none if the key is less deep.
    fn ancestor(&self, mut key: Key, depth: u32) -> Option<Key> {
        loop {
            let place = self.place(key);
            if place.depth <= depth {
                return (place.depth == depth).then_some(key);
            }
            let is_above = self.place(place.far).depth < depth;
            key = if is_above { place.parent } else { place.far };
        }
    }

    fn join(&mut self, program: &Program<'_>, function: usize, branch: Node) -> Option<Node> {
        if self.joins.len() <= function {
            self.joins.resize(function + 1, None);
        }
        if self.joins[function].is_none() {
            let (cfg, _) = program.graph(function)?;
            let body = &program.code(function).body;
            let is_unreachable = |node: Node| {
                let end = body.terminator(block_of(node));
                end.is_none_or(|end| body.inst(end).opcode == Opcode::Unreachable)
            };
            self.joins[function] = Some(Joins::new(cfg, &is_unreachable));
        }
        self.joins[function].as_ref()?.of(branch)
    }

    /// Sets the key of a thread that enters a block, from another one or by a call.
    pub(crate) fn enter(
        &mut self,
        program: &Program<'_>,
        keys: &mut Keys,
        frame: &mut Frame,
        from: Option<BlockId>,
    ) {
        let (function, node) = (frame.code, frame.node());
        let (mut parent, mut open) = (frame.context, None);
        if let Some(from) = from.map(node_of) {
            parent = frame.now;
            open = self.place(parent).open;
            let is_branch = program.graph(function).is_some_and(|(cfg, _)| cfg.is_branch(from));
            let join = if is_branch { self.join(program, function, from) } else { None };
            // A branch that joins at the same block as an open one before it joins with that one.
            if let Some(join) = join
                && open.is_none_or(|(at, _)| at != join)
            {
                open = Some((join, parent));
            }
            while let Some((_, branch)) = open.filter(|&(join, _)| join == node) {
                parent = branch;
                open = self.place(branch).open;
            }
        }
        let key = keys.intern(Instance::Block { function, node, parent });
        self.insert(key, parent, open);
        frame.now = key;
    }

    /// The key of the call that made a thread's innermost frame.
    pub(crate) fn enter_call(
        &mut self,
        program: &Program<'_>,
        keys: &mut Keys,
        frames: &mut [Frame],
    ) {
        let [.., caller, callee] = frames else { return };
        let at = caller.now;
        let call = keys.intern(Instance::Call { inst: caller.inst, at });
        self.insert(call, at, None);
        callee.context = call;
        self.enter(program, keys, callee, None);
    }

    /// Whether a thread can still execute an instruction in an instance of its block.
    pub(crate) fn can_reach(
        &self,
        program: &Program<'_>,
        keys: &Keys,
        thread: &Thread,
        (key, inst): (Key, InstId),
    ) -> bool {
        let descends = |from: Key, join: Node| {
            let child = self.ancestor(key, self.place(from).depth + 1);
            child.is_some_and(|child| {
                let found = keys.instance(child);
                matches!(found, Instance::Block { node, parent, .. } if (node, parent) == (join, from))
            })
        };
        thread.frames.iter().enumerate().any(|(position, frame)| {
            let depth = self.place(frame.now).depth;
            if self.ancestor(key, depth) == Some(frame.now) {
                let child = self.ancestor(key, depth + 1).map(|child| keys.instance(child));
                let wanted = match child {
                    None => Some(inst),
                    Some(Instance::Call { inst, .. }) => Some(inst),
                    Some(_) => None,
                };
                let Some(wanted) = wanted else { return true };
                // A frame below the top is in the middle of a call instruction.
                let body = &program.code(frame.code).body;
                let is_top = position + 1 == thread.frames.len();
                let mut next = if is_top { Some(frame.inst) } else { body.next(frame.inst) };
                while let Some(at) = next {
                    if at == wanted {
                        return true;
                    }
                    next = body.next(at);
                }
            }
            let mut open = self.place(frame.now).open;
            while let Some((join, branch)) = open {
                if descends(branch, join) {
                    return true;
                }
                open = self.place(branch).open;
            }
            false
        })
    }

    /// The instance that runs, of the live threads of a wave.
    pub(crate) fn running<'t>(
        &self,
        program: &Program<'_>,
        keys: &Keys,
        threads: impl Iterator<Item = &'t Thread>,
    ) -> Option<Key> {
        // One thread for each instance: the others can reach the same instances.
        let mut places: Vec<(&Thread, (Key, InstId))> = Vec::new();
        for thread in threads {
            if let Some(top) = thread.top()
                && places.iter().all(|(_, (key, _))| *key != top.now)
            {
                places.push((thread, (top.now, top.inst)));
            }
        }
        let is_first = |at: (Key, InstId)| {
            let mut others = places.iter().filter(|(_, (key, _))| *key != at.0);
            !others.any(|(thread, _)| self.can_reach(program, keys, thread, at))
        };
        let first = places.iter().map(|&(_, at)| at).filter(|&at| is_first(at));
        first.map(|(key, _)| key).reduce(|a, b| if self.is_before(b, a) { b } else { a })
    }

    /// Whether a key comes first, in the order in which sides were found.
    fn is_before(&self, a: Key, b: Key) -> bool {
        let depth = self.place(a).depth.min(self.place(b).depth);
        let (Some(mut one), Some(mut other)) = (self.ancestor(a, depth), self.ancestor(b, depth))
        else {
            return false;
        };
        if one == other {
            return self.place(a).depth < self.place(b).depth;
        }
        while self.place(one).parent != self.place(other).parent {
            let far = (self.place(one).far, self.place(other).far);
            let near = (self.place(one).parent, self.place(other).parent);
            (one, other) = if far.0 == far.1 { near } else { far };
        }
        one < other
    }
}
