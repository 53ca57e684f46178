//! parts
#![allow(clippy::print_stdout, reason = "a bench prints")]
mod programs;
#[path = "../tests/support/mod.rs"]
mod support;
use phalanx_analysis::divergence::{Flow, Rules, solve};
use phalanx_graph::sync::{SyncDependence, SyncView};
use phalanx_graph::{Cfg, Cycles, DomTree, PostDomTree};
use phalanx_target::SourceSet;
use programs::inlined;
use std::time::Instant;

fn main() {
    for size in [10_000, 100_000, 1_000_000] {
        let program = inlined(size);
        let t = Instant::now();
        let table = support::table(&program, |_| SourceSet::X);
        println!("{size} table {:?}", t.elapsed());
        for _ in 0..3 {
            let lists: Vec<Vec<_>> =
                program.blocks.iter().map(|b| b.terminator.targets().to_vec()).collect();
            let t = Instant::now();
            let cfg = Cfg::new(phalanx_graph::Node::new(0), lists);
            let a = t.elapsed();
            let t = Instant::now();
            let dom = DomTree::new(&cfg);
            let b = t.elapsed();
            let t = Instant::now();
            let _p = PostDomTree::new(&cfg);
            let c = t.elapsed();
            let t = Instant::now();
            let cycles = Cycles::new(&cfg);
            let d = t.elapsed();
            let t = Instant::now();
            let sync = SyncDependence::new(&cfg, &dom, &cycles);
            let _v = SyncView::new(&sync, &cfg, &dom, &cycles);
            let e = t.elapsed();
            let flow = Flow { cfg: &cfg, dom: &dom, cycles: &cycles, sync: &sync };
            let t = Instant::now();
            let r = solve(flow, &table, Rules::Precise);
            let f = t.elapsed();
            let t = Instant::now();
            let _r = solve(flow, &table, Rules::Precise);
            let g = t.elapsed();
            println!(
                "blocks {} edges {} cfg {a:?} dom {b:?} postdom {c:?} cycles {d:?} reduced {e:?} solve cold {f:?} warm {g:?} slots {} div {}",
                cfg.node_count(),
                cfg.edge_count(),
                sync.filled_slots(),
                r.terminators().iter().filter(|s| !s.is_empty()).count()
            );
        }
    }
}
