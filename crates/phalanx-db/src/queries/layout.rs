//! Blocks of a function that is edited, and what has changed of the function since an answer was
//! found.
//!
//! An answer that is kept beside the memos counts for a position in the history of the body and for
//! a [`Layout`]. From both, [`since`] tells what has become of the function: instructions as the
//! journal has them, and where blocks or edges are others also those that stand in them, or that
//! are reached now and were not.
//!
//! Several answers share a layout and are updated over the same edits. So the last difference is
//! retained with the layout.
//!
//! **Complexity.** O(blocks + edges) for a layout, O(blocks) for the difference of two, once;
//! O(changes) where blocks are the same.

use std::sync::{Arc, Mutex};

use phalanx_analysis::edited::Edited;
use phalanx_graph::{BitSet, Cfg, Node};
use phalanx_ir::{
    BlockId, InstId, Opcode,
    edit::Changes,
    flow::{Flow, block_of, node_of},
};

use super::graph_facts;
use crate::FunctionInput;
use crate::retained::{
    layout::{Between, Layout, NOWHERE},
    place::{fresh, locked},
};

use salsa::Database as Db;

/// What has changed since an answer was found.
#[derive(Debug)]
pub(crate) enum Since<'j> {
    /// Instructions.
    Insts(Changes<'j>),
    /// Blocks or edges as well.
    Blocks(Arc<Between>),
}

impl Since<'_> {
    pub(super) fn edited(&self) -> Edited<'_> {
        match self {
            Since::Insts(changes) => Edited::insts(&changes.insts),
            Since::Blocks(between) => {
                let Between { insts, own, blocks } = &**between;
                Edited { insts, own, blocks: Some(blocks) }
            }
        }
    }
}

impl Layout {
    fn new(flow: &Flow, cfg: Option<Arc<Cfg>>) -> Self {
        let mut ranks = vec![NOWHERE; flow.id_count()];
        for (&block, rank) in flow.order().iter().zip(0..) {
            ranks[node_of(block).index()] = rank;
        }
        let mut reached = BitSet::new(flow.id_count());
        let mut work: Vec<BlockId> = flow.entry().into_iter().collect();
        work.iter().for_each(|&block| _ = reached.insert(node_of(block).index()));
        while let Some(block) = work.pop() {
            let next = flow.successors(block).iter().copied();
            work.extend(next.filter(|&next| reached.insert(node_of(next).index())));
        }
        Layout { number: fresh(), cfg, ranks, reached, last: Mutex::default() }
    }

    /// Whether another layout is equal.
    fn is_same(&self, other: &Self) -> bool {
        self.ranks == other.ranks && self.cfg == other.cfg
    }

    /// A number that no other layout has.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn rank(&self, at: usize) -> u32 {
        self.ranks.get(at).copied().unwrap_or(NOWHERE)
    }

    fn is_gone_or_reached(&self, block: BlockId) -> bool {
        let at = node_of(block).index();
        self.rank(at) == NOWHERE || self.is_reached(at)
    }

    fn is_reached(&self, at: usize) -> bool {
        at < self.ranks.len() && self.reached.contains(at)
    }

    /// Blocks of which an edit does not say that it touched them, and that are listed or reached
    /// otherwise than before.
    fn others(&self, old: &Self, touched: &[BlockId]) -> Vec<BlockId> {
        let mut is_touched = BitSet::new(self.ranks.len().max(old.ranks.len()));
        touched.iter().for_each(|&block| _ = is_touched.insert(node_of(block).index()));
        let left = || (0..is_touched.universe()).filter(|&at| !is_touched.contains(at));
        debug_assert!(self.has_order_of(old, left()), "a block that is moved is touched");
        let is_other = |&at: &usize| {
            let is_listed = [self, old].map(|layout| layout.rank(at) != NOWHERE);
            is_listed[0] != is_listed[1] || self.is_reached(at) != old.is_reached(at)
        };
        left().filter(is_other).map(|at| block_of(Node::new(at))).collect()
    }

    /// Whether those of these blocks that are listed in both have one order.
    fn has_order_of(&self, old: &Self, blocks: impl Iterator<Item = usize>) -> bool {
        let both = blocks.map(|at| (old.rank(at), self.rank(at)));
        let mut both: Vec<_> =
            both.filter(|(old, now)| *old != NOWHERE && *now != NOWHERE).collect();
        both.sort_unstable();
        both.is_sorted_by_key(|(_, now)| *now)
    }
}

/// Blocks, edges, and the order of the blocks.
///
/// *Reads* `flow`, `cfg`. *Changes when* `flow` is set. *Cost* O(blocks + edges).
#[salsa::tracked(returns(ref), no_eq)]
pub(crate) fn block_layout(db: &dyn Db, function: FunctionInput) -> Arc<Layout> {
    let graph = graph_facts(db, function).as_ref();
    Arc::new(Layout::new(function.flow(db), graph.map(|graph| Arc::clone(graph.cfg()))))
}

/// The changes since a position in the history of the body, with the layout of blocks at that time.
/// `None` if the history does not reach back so far, or does not explain the new layout.
///
/// *Reads* `body`, [`block_layout`]; where it is another, `flow`.
pub(super) fn since<'db>(
    db: &'db dyn Db,
    function: FunctionInput,
    (position, old): (u64, &Layout),
) -> Option<Since<'db>> {
    let now = block_layout(db, function);
    let journal = function.body(db).journal();
    let is_flow_the_same = || {
        // A transaction that is taken back sets an equal `flow` again.
        let changes = journal.since(position);
        changes.is_some_and(|changes| changes.blocks.is_empty()) && now.is_same(old)
    };
    if now.number == old.number || is_flow_the_same() {
        return journal.since(position).map(Since::Insts);
    }
    let places = (old.number, position, journal.position());
    if let Some((known, between)) = &*locked(&now.last)
        && *known == places
    {
        return between.clone().map(Since::Blocks);
    }
    let between = between(db, function, now, (position, old)).map(Arc::new);
    *locked(&now.last) = Some((places, between.clone()));
    between.map(Since::Blocks)
}

fn between(
    db: &dyn Db,
    function: FunctionInput,
    now: &Layout,
    (position, old): (u64, &Layout),
) -> Option<Between> {
    let (body, flow) = (function.body(db), function.flow(db));
    // If the history lists no blocks although the flow is another one, the changed blocks are
    // unknown.
    let changes = body.journal().since(position).filter(|changes| !changes.blocks.is_empty())?;
    let mut blocks = now.others(old, &changes.blocks);
    blocks.extend_from_slice(&changes.blocks);
    blocks.sort_unstable();
    let mut own = changes.insts.into_owned();
    let mut insts = own.clone();
    let is_phi = |inst: &InstId| body.inst(*inst).opcode == Opcode::Phi;
    // An instruction that moved between reachable blocks is as reachable as before.
    let stays_reached =
        |block: &BlockId| now.is_gone_or_reached(*block) && old.is_gone_or_reached(*block);
    let are_reached = changes.blocks.iter().all(stays_reached);
    for &block in &blocks {
        insts.extend(body.block_insts(block));
        if !are_reached || changes.blocks.binary_search(&block).is_err() {
            own.extend(body.block_insts(block));
        }
        for &next in flow.successors(block) {
            insts.extend(body.block_insts(next).take_while(is_phi));
        }
    }
    for list in [&mut insts, &mut own] {
        list.sort_unstable_by_key(|inst| inst.into_raw().into_u32());
        list.dedup();
    }
    Some(Between { insts, own, blocks })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use phalanx_ir::{BuildError, Context, Value, edit::Transaction};

    use super::*;
    use crate::{Database, TargetOverrides};

    const TEXT: &str = "
        define void @f(i1 %c) {
        entry:
          br i1 %c, label %a, label %b
        a:
          br label %b
        b:
          %p = phi i32 [ 0, %entry ], [ 1, %a ]
          br label %e
        e:
          ret void
        }";

    type Edit = fn(&mut Transaction<'_>, [BlockId; 4]) -> Result<(), BuildError>;

    fn loaded() -> (Database, FunctionInput) {
        let mut db = Database::new();
        let context = Arc::new(Context::new());
        let parsed = phalanx_llvm::parse_module(context, TEXT.as_bytes()).expect("it is valid");
        let module = db.load(parsed.module, None, TargetOverrides::default());
        let function = module.functions(&db)[0].input;
        (db, function)
    }

    /// Blocks and instructions that are told of after an edit, by number.
    fn told(edit: Edit) -> Option<(Vec<usize>, Vec<u32>)> {
        let (mut db, function) = loaded();
        let old = Arc::clone(block_layout(&db, function));
        let position = function.body(&db).journal().position();
        let order: Vec<BlockId> = function.flow(&db).order().to_vec();
        let blocks = [order[0], order[1], order[2], order[3]];
        db.edit(function, |transaction| edit(transaction, blocks)).expect("it breaks no rule");
        let since = since(&db, function, (position, &old))?;
        let Edited { insts, blocks, .. } = since.edited();
        let blocks = blocks?.iter().map(|&block| node_of(block).index()).collect();
        Some((blocks, insts.iter().map(|inst| inst.into_raw().into_u32()).collect()))
    }

    #[test]
    fn without_an_edit_of_blocks_there_are_none() {
        assert_eq!(told(|_, _| Ok(())), None);
    }

    #[test]
    fn an_edit_that_is_taken_back_is_none() {
        let (mut db, function) = loaded();
        let old = Arc::clone(block_layout(&db, function));
        let position = function.body(&db).journal().position();
        let aborted = db.edit(function, |edit| {
            let block = edit.flow().order()[2];
            let last = edit.body().terminator(block).expect("it has one");
            edit.split_before(last, "").map(drop)?;
            Err::<(), BuildError>(edit.set_operand(last, 9, Value::arg(0)).expect_err("too many"))
        });
        assert!(aborted.is_err());
        let since = since(&db, function, (position, &old)).expect("nothing has changed");
        let Edited { insts, blocks, .. } = since.edited();
        assert!(insts.is_empty() && blocks.is_none());
    }

    #[test]
    fn both_parts_of_a_block_that_was_split() {
        let found = told(|edit, [.., b, _]| {
            let last = edit.body().terminator(b).expect("it has one");
            edit.split_before(last, "").map(drop)
        });
        assert_eq!(found, Some((vec![2, 4], vec![2, 3, 5])));
    }

    #[test]
    fn what_is_reached_no_longer() {
        // The phi behind changes, too.
        let found = told(|edit, [entry, _, b, _]| edit.redirect_edge(entry, 0, b));
        assert_eq!(found, Some((vec![0, 1], vec![0, 1, 2])));
    }

    #[test]
    fn a_block_that_stands_elsewhere() {
        let found = told(|edit, [entry, a, ..]| edit.move_block_after(a, entry));
        assert_eq!(found, Some((vec![1], vec![1, 2])));
        let found = told(|edit, [_, a, _, e]| edit.move_block_after(a, e));
        assert_eq!(found, Some((vec![1], vec![1, 2])));
    }
}
