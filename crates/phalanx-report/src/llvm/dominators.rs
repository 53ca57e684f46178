//! `print<domtree>`, `print<postdomtree>`, `print<domfrontier>`.

use std::io::Write as _;

use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node, PostDomTree};

use super::{BlockNames, Text};

/// What LLVM prints for depth-first numbers that were not computed.
const NO_NUMBERS: &str = "{4294967295,4294967295}";

/// The dominator tree, a node per line, depth first. O(blocks).
pub fn print_dom_tree(name: &[u8], tree: &DomTree, names: &dyn BlockNames, out: &mut Text<'_>) {
    title("DominatorTree", name, "Inorder Dominator Tree", out);
    for &node in tree.preorder() {
        let level = tree.level(node).unwrap_or(0);
        tree_line(level, out);
        names.write_operand(node, out);
        end_of_tree_line(level, out);
    }
    out.extend_from_slice(b"Roots: ");
    names.write_operand(tree.root(), out);
    out.extend_from_slice(b" \n");
}

/// The post-dominator tree below its virtual exit. O(blocks).
pub fn print_postdom_tree(
    name: &[u8],
    tree: &PostDomTree,
    names: &dyn BlockNames,
    out: &mut Text<'_>,
) {
    title("PostDominatorTree", name, "Inorder PostDominator Tree", out);
    let exit = tree.virtual_exit();
    for &node in tree.subtree(exit) {
        let level = tree.level(node);
        tree_line(level, out);
        if node == exit {
            out.extend_from_slice(b" <<exit node>>");
        } else {
            names.write_operand(node, out);
        }
        end_of_tree_line(level, out);
    }
    out.extend_from_slice(b"Roots: ");
    for &root in tree.roots() {
        names.write_operand(root, out);
        out.push(b' ');
    }
    out.push(b'\n');
}

/// Frontiers with more members than this together are not held in memory at once.
const MANY: usize = 1 << 22;

/// The dominance frontier of each reachable block, in block order; members in LLVM's order, which
/// its tests read.
///
/// That order comes from how LLVM collects a frontier: first the successors that a block does not
/// immediately dominate, then, child by child in the tree and the last child first, the members of
/// the child's frontier that the block does not strictly dominate. So members come in the order in
/// which a walk of the subtree, last children first, first meets an edge to them.
///
/// O(blocks + edges + members). Where there are millions of members, O(k log k) per block with k
/// edges to its frontier, and no more memory than that.
pub fn print_dom_frontier(
    name: &[u8],
    (cfg, tree, frontiers): (&Cfg, &DomTree, &DominanceFrontier),
    order: &[Node],
    names: &dyn BlockNames,
    out: &mut Text<'_>,
) {
    out.extend_from_slice(b"DominanceFrontier for function: ");
    out.extend_from_slice(name);
    out.push(b'\n');
    let all = all_frontiers(cfg, tree, MANY);
    let mut one = OneFrontier::new(cfg, tree, frontiers);
    for &node in order.iter().filter(|&&node| tree.is_reachable(node)) {
        out.extend_from_slice(b"  DomFrontier for BB ");
        names.write_operand(node, out);
        out.extend_from_slice(b" is:\t");
        let members = match &all {
            Some(all) => &all[node.index()],
            None => one.of(node),
        };
        for &member in members {
            out.push(b' ');
            names.write_operand(member, out);
        }
        out.push(b'\n');
        out.end_of_line();
    }
}

/// All frontiers in LLVM's order, unless they have more than `limit` members.
fn all_frontiers(cfg: &Cfg, tree: &DomTree, limit: usize) -> Option<Vec<Vec<Node>>> {
    let mut frontiers: Vec<Vec<Node>> = vec![Vec::new(); cfg.node_count()];
    // The block whose frontier each block was added to last.
    let mut met_by: Vec<Option<Node>> = vec![None; cfg.node_count()];
    let mut total = 0;
    // Children before parents.
    for &node in tree.preorder().iter().rev() {
        let mut members = Vec::new();
        let mut add = |member: Node| {
            if met_by[member.index()].replace(node) != Some(node) {
                members.push(member);
            }
        };
        for &successor in cfg.successors(node) {
            if tree.idom(successor) != Some(node) {
                add(successor);
            }
        }
        let mut children: Vec<Node> = tree.children(node).collect();
        children.reverse();
        for child in children {
            for &member in &frontiers[child.index()] {
                if !tree.strictly_dominates(node, member) {
                    add(member);
                }
            }
        }
        total += members.len();
        if total > limit {
            return None;
        }
        frontiers[node.index()] = members;
    }
    Some(frontiers)
}

/// Frontiers in LLVM's order, one at a time.
struct OneFrontier<'a> {
    cfg: &'a Cfg,
    tree: &'a DomTree,
    frontiers: &'a DominanceFrontier,
    /// The position of each node in the preorder of the tree that visits the last child first.
    walk: Vec<u32>,
    /// The block whose frontier each block was added to last.
    met_by: Vec<Option<Node>>,
    members: Vec<Node>,
}

impl<'a> OneFrontier<'a> {
    fn new(cfg: &'a Cfg, tree: &'a DomTree, frontiers: &'a DominanceFrontier) -> Self {
        let mut walk = vec![0; cfg.node_count()];
        let mut pending = vec![tree.root()];
        let mut next = 0;
        while let Some(node) = pending.pop() {
            walk[node.index()] = next;
            next += 1;
            pending.extend(tree.children(node));
        }
        let met_by = vec![None; cfg.node_count()];
        OneFrontier { cfg, tree, frontiers, walk, met_by, members: Vec::new() }
    }

    fn of(&mut self, node: Node) -> &[Node] {
        let place = |&(from, to): &(Node, Node)| {
            let mut successors = self.cfg.successors(from).iter();
            (self.walk[from.index()], successors.position(|&successor| successor == to))
        };
        let mut edges: Vec<(Node, Node)> = self.frontiers.frontier_edges(self.tree, node).collect();
        edges.sort_by_cached_key(place);
        self.members.clear();
        for (_, member) in edges {
            if self.met_by[member.index()].replace(node) != Some(node) {
                self.members.push(member);
            }
        }
        &self.members
    }
}

fn title(kind: &str, name: &[u8], inner: &str, out: &mut Text<'_>) {
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b" for function: ");
    out.extend_from_slice(name);
    out.extend_from_slice(b"\n=============================--------------------------------\n");
    out.extend_from_slice(inner.as_bytes());
    out.extend_from_slice(b": DFSNumbers invalid: 0 slow queries.\n");
}

fn tree_line(level: u32, out: &mut Text<'_>) {
    let indent = 2 * (level as usize + 1);
    out.extend(std::iter::repeat_n(b' ', indent));
    write!(**out, "[{}] ", level + 1).expect("writing to a vector does not fail");
}

fn end_of_tree_line(level: u32, out: &mut Text<'_>) {
    writeln!(**out, " {NO_NUMBERS} [{level}]").expect("writing to a vector does not fail");
    out.end_of_line();
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_graph::testing::random::any_graph;

    #[test]
    fn frontiers_come_in_one_order_however_many_there_are() {
        for seed in 0..300 {
            let cfg = any_graph(seed, 24);
            let tree = DomTree::new(&cfg);
            let frontiers = DominanceFrontier::new(&cfg, &tree);
            let all = all_frontiers(&cfg, &tree, usize::MAX).unwrap();
            let mut one = OneFrontier::new(&cfg, &tree, &frontiers);
            for &node in tree.preorder() {
                assert_eq!(all[node.index()], one.of(node), "seed {seed}, {node}");
            }
            let total: usize = all.iter().map(Vec::len).sum();
            assert!(total == 0 || all_frontiers(&cfg, &tree, total - 1).is_none());
        }
    }
}
