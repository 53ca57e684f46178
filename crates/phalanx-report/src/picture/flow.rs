//! The control-flow graph of a function.
//!
//! A block shows its name and the source lines of its instructions. Its colour says which threads
//! may skip it; the colour of an edge says which threads its branch separates. Headers of cycles
//! have a heavy border, and a block where a divergent branch joins has round corners.

use phalanx_analysis::joins;
use phalanx_db::queries;
use phalanx_graph::Node;
use phalanx_ir::{BlockId, flow};
use phalanx_target::SourceSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::svg::{Look, MOST, PictureEdge, PictureNode, svg};
use crate::explain::Explainer;
use crate::levels::level;

/// The control-flow graph of the function of an explainer as SVG.
///
/// # Errors
/// Why there is none, in a sentence.
pub fn flow(explainer: &Explainer<'_>) -> Result<String, String> {
    let (db, input) = explainer.function();
    let function = input.view(db);
    let order = function.flow.order();
    let too_large =
        || format!("The function has {} blocks; more than {MOST} are not drawn.", order.len());
    let (Some(cfg), Some(cycles), Some(divergence), Some(control)) = (
        queries::cfg(db, input),
        queries::cycles(db, input),
        queries::divergence(db, input),
        queries::control_divergence(db, input),
    ) else {
        return Err("The function has no body.".to_owned());
    };
    if order.len() > MOST {
        return Err(too_large());
    }
    let launch = queries::launch_facts(db, input);
    let look = |sources: SourceSet| Look::of_level(level(sources, launch));
    let of_branch = |node: Node| match cfg.is_branch(node) {
        true => look(divergence.terminator(node)),
        false => Look::Plain,
    };
    let joined: FxHashSet<Node> = match joins::of(function.flow, function.body) {
        Some(joins) => {
            let nodes = order.iter().map(|&block| flow::node_of(block));
            let parting = nodes.filter(|&node| of_branch(node) == Look::Wave);
            parting.filter_map(|node| joins.of(node)).collect()
        }
        None => FxHashSet::default(),
    };
    let mut numbers: FxHashMap<Node, usize> = FxHashMap::default();
    let mut nodes = Vec::new();
    for &block in order {
        let node = flow::node_of(block);
        numbers.insert(node, nodes.len());
        nodes.push(PictureNode {
            text: caption(explainer, block),
            look: look(control[node.index()]),
            is_header: cycles.innermost(node).is_some_and(|cycle| cycles.header(cycle) == node),
            is_join: joined.contains(&node),
        });
    }
    let edges: Vec<PictureEdge> = order
        .iter()
        .flat_map(|&block| {
            let from = flow::node_of(block);
            cfg.successors(from).iter().map(move |&to| (from, to))
        })
        .filter_map(|(from, to)| {
            Some(PictureEdge {
                from: *numbers.get(&from)?,
                to: *numbers.get(&to)?,
                look: of_branch(from),
            })
        })
        .collect();
    svg(&nodes, &edges).ok_or_else(too_large)
}

/// The name of a block, and the lines of the program that its instructions are of.
fn caption(explainer: &Explainer<'_>, block: BlockId) -> String {
    let (db, input) = explainer.function();
    let function = input.view(db);
    let name = explainer.block_name(flow::node_of(block));
    let lines = function.body.block_insts(block).filter_map(|inst| {
        let source = explainer.location(inst).source?;
        (source.line > 0).then_some(source.line)
    });
    let range = lines.fold(None, |range: Option<(u32, u32)>, line| {
        Some(range.map_or((line, line), |(first, last)| (first.min(line), last.max(line))))
    });
    match range {
        Some((first, last)) if first == last => format!("{name}\nline {first}"),
        Some((first, last)) => format!("{name}\nlines {first} to {last}"),
        None => name,
    }
}
