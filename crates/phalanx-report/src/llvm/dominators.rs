//! `print<domtree>`, `print<postdomtree>`, `print<domfrontier>`.

use std::io::Write as _;

use phalanx_graph::{Cfg, DomTree, Node, PostDomTree};

use super::BlockNames;

/// What LLVM prints for depth-first numbers that nobody asked for.
const NO_NUMBERS: &str = "{4294967295,4294967295}";

/// The dominator tree, a node per line, depth first. O(blocks).
pub fn print_dom_tree(name: &[u8], tree: &DomTree, names: &dyn BlockNames, out: &mut Vec<u8>) {
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
    out: &mut Vec<u8>,
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

/// The dominance frontier of each reachable block, in block order; members in LLVM's order, which its tests read.
///
/// That order comes from how LLVM collects a frontier: first the successors that a block does not immediately dominate,
/// then, child by child in the tree and the last child first, the members of the child's frontier that the block does not strictly dominate.
/// O(blocks + edges + size of the frontiers).
pub fn print_dom_frontier(
    name: &[u8],
    (cfg, tree): (&Cfg, &DomTree),
    order: &[Node],
    names: &dyn BlockNames,
    out: &mut Vec<u8>,
) {
    let mut frontiers: Vec<Vec<Node>> = vec![Vec::new(); cfg.node_count()];
    // In whose frontier a block was met last.
    let mut met_by: Vec<Option<Node>> = vec![None; cfg.node_count()];
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
        for child in tree.children(node).collect::<Vec<_>>().into_iter().rev() {
            for &member in &frontiers[child.index()] {
                if !tree.strictly_dominates(node, member) {
                    add(member);
                }
            }
        }
        frontiers[node.index()] = members;
    }
    out.extend_from_slice(b"DominanceFrontier for function: ");
    out.extend_from_slice(name);
    out.push(b'\n');
    for &node in order.iter().filter(|&&node| tree.is_reachable(node)) {
        out.extend_from_slice(b"  DomFrontier for BB ");
        names.write_operand(node, out);
        out.extend_from_slice(b" is:\t");
        for &member in &frontiers[node.index()] {
            out.push(b' ');
            names.write_operand(member, out);
        }
        out.push(b'\n');
    }
}

fn title(kind: &str, name: &[u8], inner: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b" for function: ");
    out.extend_from_slice(name);
    out.extend_from_slice(b"\n=============================--------------------------------\n");
    out.extend_from_slice(inner.as_bytes());
    out.extend_from_slice(b": DFSNumbers invalid: 0 slow queries.\n");
}

fn tree_line(level: u32, out: &mut Vec<u8>) {
    let indent = 2 * (level as usize + 1);
    out.resize(out.len() + indent, b' ');
    write!(out, "[{}] ", level + 1).expect("writing to a vector does not fail");
}

fn end_of_tree_line(level: u32, out: &mut Vec<u8>) {
    writeln!(out, " {NO_NUMBERS} [{level}]").expect("writing to a vector does not fail");
}
