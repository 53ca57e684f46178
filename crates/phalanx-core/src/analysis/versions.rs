//! Which content of a slot every load of it reads: static single assignment form of one slot.
//!
//! # What
//!
//! ```text
//!   b0:  store s, 1
//!        branch id -> b1, b2
//!   b1:  store s, 2
//!        jump b2
//!   b2:                          join: 1 from b0, 2 from b1
//!        v = load s              reads the join
//! ```
//!
//! Contents meet at the iterated dominance frontier of the blocks that change the slot (Cytron and
//! others, *Efficiently Computing Static Single Assignment Form*, 1991). Joins and updates from
//! which no load is reached are left out. A slot is solved by itself, so that a change of a store
//! costs what its own slot has.
//!
//! # Cost
//!
//! With `k` events, joins and predecessors of joins: O(k log k), and the part of the frontiers that
//! the search looks at.

use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};
use rustc_hash::{FxHashMap, FxHashSet};

use super::slots::SlotEvent;
use super::{Brought, Value};

/// What a slot holds at some point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// What a store put there, or anything whatever.
    Stored(Brought),
    /// What this update made of the content before it: its node, and its number among the updates
    /// of the slot there.
    Update(Node, u32),
    /// What comes to this node by its edges.
    Join(Node),
}

const NOTHING: Content = Content::Stored(Brought::Undef);

/// Contents of one slot, as far as loads read them.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Joins with what comes from each predecessor, by node.
    pub(super) joins: Vec<(Node, Vec<(Node, Content)>)>,
    /// Updates with what was there before, by node and number.
    pub(super) updates: Vec<((Node, u32), Content)>,
    /// Loads, in the order of their nodes and of execution.
    pub(super) loads: Vec<(Value, Content)>,
}

/// A place where the content is asked for, or becomes another.
struct Point<'a> {
    node: Node,
    events: &'a [SlotEvent],
    enter: Content,
    leave: Content,
}

impl Versions {
    /// Finds the contents, given the events of each block that has some.
    pub(super) fn new(
        cfg: &Cfg,
        dom: &DomTree,
        frontier: &DominanceFrontier,
        events: &[(Node, &[SlotEvent])],
    ) -> Self {
        let changes = |events: &[SlotEvent]| events.iter().any(SlotEvent::is_change);
        let changed = events.iter().filter(|(_, events)| changes(events)).map(|(node, _)| *node);
        let joins = frontier.iterated_frontier(dom, changed);
        let points = points(cfg, dom, events, &joins);
        let mut found = Self::default();
        for point in &points {
            let mut content = point.enter;
            let mut updates = 0;
            for event in point.events {
                match event {
                    SlotEvent::Load(value) => found.loads.push((*value, content)),
                    SlotEvent::Update(..) => found.updates.push(((point.node, updates), content)),
                    SlotEvent::Kill | SlotEvent::Store(_) => {}
                }
                content = after(event, content, point.node, &mut updates);
            }
        }
        let leave: FxHashMap<Node, Content> =
            points.iter().map(|point| (point.node, point.leave)).collect();
        for join in joins {
            let mut from: Vec<Node> = cfg.predecessors(join).to_vec();
            from.sort_unstable();
            from.dedup();
            // An edge from where no thread comes brings nothing.
            let entry = |pred: Node| (pred, leave.get(&pred).copied().unwrap_or(NOTHING));
            found.joins.push((join, from.into_iter().map(entry).collect()));
        }
        found.drop_unread();
        found
    }

    /// Drops the joins and updates from which no load is reached.
    fn drop_unread(&mut self) {
        let joins: FxHashMap<Node, &[(Node, Content)]> =
            self.joins.iter().map(|(node, entries)| (*node, entries.as_slice())).collect();
        let updates: FxHashMap<(Node, u32), Content> = self.updates.iter().copied().collect();
        let mut read: FxHashSet<Content> = FxHashSet::default();
        let mut work: Vec<Content> = self.loads.iter().map(|(_, content)| *content).collect();
        while let Some(content) = work.pop() {
            if !read.insert(content) {
                continue;
            }
            match content {
                Content::Stored(_) => {}
                Content::Update(node, number) => work.push(updates[&(node, number)]),
                Content::Join(node) => work.extend(joins[&node].iter().map(|entry| entry.1)),
            }
        }
        self.joins.retain(|(node, _)| read.contains(&Content::Join(*node)));
        self.updates.retain(|((node, number), _)| read.contains(&Content::Update(*node, *number)));
        self.updates.sort_unstable_by_key(|update| update.0);
    }
}

/// The content after an event.
fn after(event: &SlotEvent, before: Content, node: Node, updates: &mut u32) -> Content {
    match event {
        SlotEvent::Load(_) => before,
        SlotEvent::Kill => NOTHING,
        SlotEvent::Store(brought) => Content::Stored(*brought),
        SlotEvent::Update(..) => {
            *updates += 1;
            Content::Update(node, *updates - 1)
        }
    }
}

/// All places with events, all joins and their predecessors, in the preorder of the tree, with the
/// contents there. Places that no thread reaches are left out.
fn points<'a>(
    cfg: &Cfg,
    dom: &DomTree,
    events: &[(Node, &'a [SlotEvent])],
    joins: &[Node],
) -> Vec<Point<'a>> {
    let of: FxHashMap<Node, &[SlotEvent]> = events.iter().copied().collect();
    let before = joins.iter().flat_map(|join| cfg.predecessors(*join));
    let all = events.iter().map(|(node, _)| node).chain(joins).chain(before);
    let mut all: Vec<(u32, Node)> =
        all.filter_map(|node| dom.tin(*node).map(|tin| (tin, *node))).collect();
    all.sort_unstable();
    all.dedup();
    let mut points: Vec<Point<'a>> = Vec::with_capacity(all.len());
    // Where the subtrees end that the walk is in, and what their roots leave.
    let mut env: Vec<(u32, Content)> = Vec::new();
    for (tin, node) in all {
        while env.last().is_some_and(|(end, _)| *end <= tin) {
            env.pop();
        }
        let enter = match joins.binary_search(&node) {
            Ok(_) => Content::Join(node),
            Err(_) => env.last().map_or(NOTHING, |(_, content)| *content),
        };
        let events = of.get(&node).copied().unwrap_or(&[]);
        let mut updates = 0;
        let leave =
            events.iter().fold(enter, |content, event| after(event, content, node, &mut updates));
        env.push((dom.tout(node).unwrap_or(tin), leave));
        points.push(Point { node, events, enter, leave });
    }
    points
}
