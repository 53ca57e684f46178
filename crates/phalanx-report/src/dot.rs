//! Graphs in DOT, for `dot`, `xdot` and their like.
//!
//! One `digraph` per function and kind. Names are quoted and escaped; output is by block number, so
//! the same input gives the same bytes.

use std::fmt::Write as _;

use phalanx_graph::{Cfg, CycleId, Cycles, DomTree, Node, PostDomTree};

use crate::{indent::indentation, llvm::BlockNames};

/// How a node or edge is to look.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// As any other.
    Plain,
    /// Divergent.
    Divergent,
}

/// Colours that differ in grey and for colour-blind readers.
const DIVERGENT_FILL: &str = "#f6c8a8";
const DIVERGENT_EDGE: &str = "#b5500b";

/// The control-flow graph. `blocks` tells which blocks are under divergent control, `branches`
/// which branch divergently.
pub fn cfg_dot(
    name: &[u8],
    cfg: &Cfg,
    order: &[Node],
    names: &dyn BlockNames,
    (blocks, branches): (&dyn Fn(Node) -> Mark, &dyn Fn(Node) -> Mark),
) -> String {
    let mut out = open("CFG", name);
    for &node in order {
        node_line(&mut out, "  ", node, names, blocks(node));
    }
    edges(&mut out, cfg, order, branches);
    out.push_str("}\n");
    out
}

/// The control-flow graph with each cycle as a box; boxes nest as cycles do.
pub fn cycles_dot(
    name: &[u8],
    (cfg, cycles): (&Cfg, &Cycles),
    order: &[Node],
    names: &dyn BlockNames,
    exits: &dyn Fn(CycleId) -> Mark,
) -> String {
    let mut out = open("cycles", name);
    for &node in order.iter().filter(|&&node| cycles.innermost(node).is_none()) {
        node_line(&mut out, "  ", node, names, Mark::Plain);
    }
    enum Step {
        Open(CycleId),
        Close,
    }
    let mut steps: Vec<Step> = cycles.top_level().map(Step::Open).collect();
    steps.reverse();
    let mut depth = 1;
    while let Some(step) = steps.pop() {
        let cycle = match step {
            Step::Close => {
                depth -= 1;
                writeln!(out, "{}}}", indentation(depth)).expect("a string can be written to");
                continue;
            }
            Step::Open(cycle) => cycle,
        };
        let indent = indentation(depth);
        let kind = if cycles.is_reducible(cycle) { "cycle" } else { "irreducible cycle" };
        let exit = if exits(cycle) == Mark::Divergent { ", divergent exit" } else { "" };
        let colour = if exit.is_empty() { "#666666" } else { DIVERGENT_EDGE };
        writeln!(
            out,
            "{indent}subgraph cluster_{} {{\n{indent}  label=\"{kind}, depth {}{exit}\"; color=\"{colour}\";",
            cycles.header(cycle).raw(),
            cycles.depth(cycle),
        )
        .expect("a string can be written to");
        depth += 1;
        let inner = indentation(depth);
        for &node in cycles.blocks(cycle).iter().filter(|&&n| cycles.innermost(n) == Some(cycle)) {
            node_line(&mut out, &inner, node, names, Mark::Plain);
        }
        steps.push(Step::Close);
        let first = steps.len();
        steps.extend(cycles.children(cycle).map(Step::Open));
        steps[first..].reverse();
    }
    edges(&mut out, cfg, order, &|_| Mark::Plain);
    out.push_str("}\n");
    out
}

/// The dominator tree.
pub fn dom_tree_dot(name: &[u8], tree: &DomTree, names: &dyn BlockNames) -> String {
    let mut out = open("dominator tree", name);
    for &node in tree.preorder() {
        node_line(&mut out, "  ", node, names, Mark::Plain);
        if let Some(parent) = tree.idom(node) {
            writeln!(out, "  n{} -> n{};", parent.raw(), node.raw())
                .expect("a string can be written to");
        }
    }
    out.push_str("}\n");
    out
}

/// The post-dominator tree below its virtual exit.
pub fn postdom_tree_dot(name: &[u8], tree: &PostDomTree, names: &dyn BlockNames) -> String {
    let mut out = open("post-dominator tree", name);
    let exit = tree.virtual_exit();
    writeln!(out, "  n{} [label=\"exit\", shape=ellipse];", exit.raw())
        .expect("a string can be written to");
    for &node in tree.subtree(exit).iter().filter(|&&node| node != exit) {
        node_line(&mut out, "  ", node, names, Mark::Plain);
        let parent = tree.ipdom(node).unwrap_or(exit);
        writeln!(out, "  n{} -> n{};", parent.raw(), node.raw())
            .expect("a string can be written to");
    }
    out.push_str("}\n");
    out
}

/// A graph of values: lines of text, edges by index, and which of them are divergent.
pub fn values_dot(name: &[u8], nodes: &[(Vec<u8>, Mark)], edges: &[(usize, usize)]) -> String {
    let mut out = open("affect map", name);
    for (number, (text, mark)) in nodes.iter().enumerate() {
        writeln!(out, "  v{number} [label=\"{}\"{}];", escape(text), fill(*mark))
            .expect("a string can be written to");
    }
    for &(from, to) in edges {
        writeln!(out, "  v{from} -> v{to};").expect("a string can be written to");
    }
    out.push_str("}\n");
    out
}

fn open(kind: &str, name: &[u8]) -> String {
    let title = format!("{kind} of {}", escape(name));
    format!(
        "digraph \"{title}\" {{\n  label=\"{title}\"; labelloc=t; fontname=\"monospace\";\n  node [shape=box, fontname=\"monospace\"];\n"
    )
}

fn node_line(out: &mut String, indent: &str, node: Node, names: &dyn BlockNames, mark: Mark) {
    let mut text = Vec::new();
    names.write_name(node, &mut text);
    writeln!(out, "{indent}n{} [label=\"{}\"{}];", node.raw(), escape(&text), fill(mark))
        .expect("a string can be written to");
}

fn fill(mark: Mark) -> String {
    match mark {
        Mark::Plain => String::new(),
        Mark::Divergent => format!(", style=filled, fillcolor=\"{DIVERGENT_FILL}\""),
    }
}

fn edges(out: &mut String, cfg: &Cfg, order: &[Node], branches: &dyn Fn(Node) -> Mark) {
    for &node in order {
        let style = match branches(node) {
            Mark::Plain => String::new(),
            Mark::Divergent => format!(" [color=\"{DIVERGENT_EDGE}\", penwidth=2]"),
        };
        for &target in cfg.successors(node) {
            writeln!(out, "  n{} -> n{}{style};", node.raw(), target.raw())
                .expect("a string can be written to");
        }
    }
}

fn escape(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace('\\', "\\\\").replace('"', "\\\"")
}
