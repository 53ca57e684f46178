//! The graph of a function without edges to blocks that are never executed.
//!
//! A block that is nothing but `unreachable` ends the function where threads never are
//! ([`is_undefined`]), and so does a loop without an exit. Optimizers leave such blocks behind, for
//! example as the default of a `switch`. For post-dominance such a block is an exit of the
//! function, so every block after the `switch` would be control dependent on it. The checks ask
//! what threads do, so they use the graph without these blocks.
//!
//! **Invariant.** The retained state depends only on the graph and these blocks, and both are
//! compared. So it needs no query.
//!
//! **Complexity.** O(instructions of the ends of the function) where there is no such block, or
//! these are the same as before; O(blocks) if blocks changed; else O(blocks + edges), and the
//! graph's facts as of [`graph_facts`].

use std::sync::Arc;

use phalanx_analysis::check::{ends, is_undefined};
use phalanx_graph::Node;

use super::answer_state::blocks_version;
use super::{code, graph_facts};
use crate::FunctionInput;
use crate::retained::{
    answers::Cut,
    graph::RetainedGraph,
    place::{fresh, locked},
    state::KeptCut,
};

use salsa::Database as Db;

/// The graph of a function without edges to blocks that are never executed. `None` if there are no
/// such blocks, or no way around them.
///
/// *Reads* `flow`, `body`, [`graph_facts`], and [`blocks_version`] of a large function.
pub(super) fn cut(db: &dyn Db, function: FunctionInput) -> Option<Cut> {
    let cfg = graph_facts(db, function).as_ref()?.cfg();
    let code = code(db, function);
    let undefined = |ends: &[Node]| -> Vec<Node> {
        let ends = ends.iter().copied();
        ends.filter(|&node| node != cfg.entry() && is_undefined(code, cfg, node)).collect()
    };
    if !function.is_large(db) {
        let undefined = undefined(&ends(cfg));
        let graph = (!undefined.is_empty()).then(|| code.flow.cfg_without(&undefined)).flatten()?;
        return Some(Cut { graph: RetainedGraph::default().advance(graph), number: fresh() });
    }
    let slot = &function.retained(db).large().cut;
    let blocks = blocks_version(db, function);
    let known = locked(&slot.kept).take().filter(|kept| kept.blocks == blocks);
    let ends = known.as_ref().map_or_else(|| ends(cfg).into(), |kept| Arc::clone(&kept.ends));
    let undefined = undefined(&ends);
    let cut = match known {
        Some(kept) if kept.undefined == undefined => kept.cut,
        _ if undefined.is_empty() => None,
        _ => {
            let graph = slot.graph.advance(code.flow.cfg_without(&undefined)?);
            Some(Cut { graph, number: fresh() })
        }
    };
    let kept = KeptCut { blocks, ends, undefined, cut: cut.clone() };
    *locked(&slot.kept) = Some(kept);
    cut
}
