//! Compares facts about graphs with their slow twins.

use phalanx_graph::{Cfg, Node, testing::checks};

/// Larger graphs make the twins slow without finding more.
const NODES: usize = 20;

/// Checks that all facts about the graph that the bytes encode equal those of the slow twins.
pub fn graphs(data: &[u8]) {
    let Some(cfg) = graph(data) else { return };
    checks::all(&cfg, fxhash::hash64(data));
    checks::sync(&cfg);
}

/// The first byte says how many nodes there are; then two bytes for each edge.
fn graph(data: &[u8]) -> Option<Cfg> {
    let (&first, edges) = data.split_first()?;
    let nodes = usize::from(first) % NODES + 1;
    let mut lists: Vec<Vec<Node>> = vec![Vec::new(); nodes];
    for edge in edges.chunks_exact(2).take(4 * NODES) {
        let [from, to] = [edge[0], edge[1]].map(|byte| usize::from(byte) % nodes);
        lists[from].push(Node::new(to));
    }
    Some(Cfg::new(Node::new(0), lists))
}
