//! Dominator and post-dominator trees.

use phalanx_graph::{DomTree, Node, PostDomTree};
use rustc_hash::FxHashMap;

use super::svg::{Look, MOST, PictureEdge, PictureNode, svg};
use crate::llvm::BlockNames;

/// The dominator tree as SVG.
///
/// # Errors
/// Why there is none, in a sentence.
pub fn dom_tree(tree: &DomTree, names: &dyn BlockNames) -> Result<String, String> {
    draw(tree.preorder(), &|node| tree.idom(node), &|node| name(names, node))
}

/// The post-dominator tree as SVG. Its root stands for the end of all threads.
///
/// # Errors
/// Why there is none, in a sentence.
pub fn postdom_tree(tree: &PostDomTree, names: &dyn BlockNames) -> Result<String, String> {
    let exit = tree.virtual_exit();
    let parent = |node| (node != exit).then(|| tree.ipdom(node).unwrap_or(exit));
    let name = |node| if node == exit { "exit".to_owned() } else { name(names, node) };
    draw(tree.subtree(exit), &parent, &name)
}

fn draw(
    all: &[Node],
    parent: &dyn Fn(Node) -> Option<Node>,
    name: &dyn Fn(Node) -> String,
) -> Result<String, String> {
    let numbers: FxHashMap<Node, usize> = all.iter().copied().zip(0..).collect();
    let edges = all.iter().enumerate().filter_map(|(to, &node)| {
        let from = *numbers.get(&parent(node)?)?;
        Some(PictureEdge { from, to, look: Look::Plain })
    });
    let edges: Vec<PictureEdge> = edges.collect();
    let node = |&node: &Node| PictureNode { text: name(node), ..PictureNode::default() };
    let nodes: Vec<PictureNode> = all.iter().map(node).collect();
    svg(&nodes, &edges).ok_or_else(|| match all.len() {
        0 => "there is no graph".to_owned(),
        count => format!("{count} nodes; more than {MOST} are not drawn"),
    })
}

fn name(names: &dyn BlockNames, node: Node) -> String {
    let mut text = Vec::new();
    names.write_operand(node, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
