//! Trees, frontiers and cycles against LLVM 22's own, on random graphs written as IR skeletons.
//!
//! Trees and roots must come in LLVM's order too, and so must the cycles of reducible graphs with
//! their blocks; frontiers, and cycles of irreducible graphs, are compared as sets.
//!
//! Needs `opt-22` on the path and says so when it is missing. `PHALANX_ORACLE_GRAPHS` sets how many
//! graphs are compared, `PHALANX_ORACLE_SEED` where the seeds start.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use phalanx_graph::testing::{families, random};
use phalanx_graph::{Cfg, Cycles, Dfs, DomTree, DominanceFrontier, Graph, Node, PostDomTree};

/// Says that nothing was compared. Not by `eprintln!`: the harness shows what tests print that way
/// only when they fail.
fn skipped() {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a check");
    let _ = writeln!(std::io::stderr(), "skipped: opt-22 not found ({test})");
}

/// A function with the graph's shape: `br` on an `i1` argument or `switch` on an `i32` argument.
fn write_function(text: &mut String, name: &str, cfg: &Cfg) {
    let _ = writeln!(text, "define void @{name}(i1 %c, i32 %k) {{");
    for n in cfg.nodes() {
        let _ = write!(text, "b{n}:\n  ");
        let _ = match cfg.successors(n) {
            [] => writeln!(text, "ret void"),
            [s] => writeln!(text, "br label %b{s}"),
            [s, t] => writeln!(text, "br i1 %c, label %b{s}, label %b{t}"),
            [default, cases @ ..] => {
                let _ = write!(text, "switch i32 %k, label %b{default} [");
                for (i, s) in cases.iter().enumerate() {
                    let _ = write!(text, " i32 {i}, label %b{s}");
                }
                writeln!(text, " ]")
            }
        };
    }
    text.push_str("}\n");
}

/// What `opt-22` prints for the module, or `None` when there is no `opt-22`.
#[expect(clippy::disallowed_methods, reason = "the oracle is a program")]
fn ask(module: &str) -> Option<String> {
    let passes = "-passes=print<domtree>,print<postdomtree>,print<cycles>,print<domfrontier>";
    let mut child = Command::new("opt-22")
        .args(["-disable-output", passes, "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take().expect("piped");
    let module = module.to_owned();
    let writer = std::thread::spawn(move || input.write_all(module.as_bytes()));
    let output = child.wait_with_output().expect("opt-22 runs");
    writer.join().expect("writer").expect("opt-22 reads its input");
    assert!(output.status.success(), "opt-22: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stderr).expect("names are ASCII"))
}

type Set = BTreeSet<Node>;
type Parents = BTreeMap<Node, Option<Node>>;

/// A cycle: its header and other entries, all blocks in the order printed, depth, parent's header.
type CycleLine = (Node, Set, Vec<Node>, usize, Option<Node>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Facts {
    idom: Parents,
    ipdom: Parents,
    /// Depth-first order of the trees: children of one node in the order printed.
    dom_order: Vec<Node>,
    postdom_order: Vec<Node>,
    roots: Vec<Node>,
    cycles: Vec<CycleLine>,
    frontier: BTreeMap<Node, Set>,
}

impl Facts {
    fn sort_cycles(&mut self) {
        self.cycles.iter_mut().for_each(|line| line.2.sort_unstable());
        self.cycles.sort_unstable();
    }
}

fn node(name: &str) -> Option<Node> {
    name.trim_start_matches('%').strip_prefix('b')?.parse().ok().map(Node::new)
}

fn nodes(names: &str) -> Vec<Node> {
    names.split_whitespace().filter_map(node).collect()
}

/// Reads the printed facts by function name.
fn parse(printed: &str) -> BTreeMap<String, Facts> {
    let mut all: BTreeMap<String, Facts> = BTreeMap::new();
    let (mut section, mut name) = ("", String::new());
    // The nodes from the root to the line before, or the headers around it.
    let mut path: Vec<Option<Node>> = Vec::new();
    for line in printed.lines() {
        if let Some((title, function)) = line.split_once(" for function: ") {
            section = title;
            name = function.to_owned();
            path.clear();
            continue;
        }
        let facts = all.entry(name.clone()).or_default();
        match section {
            "DominatorTree" | "PostDominatorTree" => {
                let post = section == "PostDominatorTree";
                if let Some(roots) = line.strip_prefix("Roots:") {
                    if post {
                        facts.roots = nodes(roots);
                    }
                } else if let Some((level, rest)) =
                    line.trim_start().strip_prefix('[').and_then(|l| l.split_once(']'))
                {
                    let level: usize = level.parse().expect("level");
                    let this = rest.split_whitespace().next().and_then(node);
                    path.truncate(level - 1);
                    if let Some(this) = this {
                        let (tree, order) = if post {
                            (&mut facts.ipdom, &mut facts.postdom_order)
                        } else {
                            (&mut facts.idom, &mut facts.dom_order)
                        };
                        order.push(this);
                        tree.insert(this, path.last().copied().flatten());
                    }
                    path.push(this);
                }
            }
            "CycleInfo" => {
                let line = line.trim_start().strip_prefix("depth=").expect("a cycle");
                let (depth, rest) = line.split_once(": entries(").expect("entries");
                let (entries, others) = rest.split_once(')').expect("entries");
                let depth: usize = depth.parse().expect("depth");
                let mut blocks = nodes(entries);
                let entries: Set = blocks.iter().copied().collect();
                blocks.extend(nodes(others));
                let header = blocks[0];
                path.truncate(depth - 1);
                let parent = path.last().copied().flatten();
                path.push(Some(header));
                facts.cycles.push((header, entries, blocks, depth, parent));
            }
            "DominanceFrontier" => {
                let line = line.trim_start().strip_prefix("DomFrontier for BB ").expect("a block");
                let (block, targets) = line.split_once(" is:").expect("targets");
                let targets = nodes(targets).into_iter().collect();
                facts.frontier.insert(node(block).expect("a block"), targets);
            }
            other => panic!("unknown section {other}"),
        }
    }
    all
}

fn compute(cfg: &Cfg) -> Facts {
    let (dom, postdom) = (DomTree::new(cfg), PostDomTree::new(cfg));
    let frontiers = DominanceFrontier::new(cfg, &dom);
    let cycles = Cycles::new(cfg);
    Facts {
        idom: dom.preorder().iter().map(|&n| (n, dom.idom(n))).collect(),
        ipdom: cfg.nodes().map(|n| (n, postdom.ipdom(n))).collect(),
        dom_order: dom.preorder().to_vec(),
        postdom_order: postdom.as_dom_tree().preorder()[1..].to_vec(),
        roots: postdom.roots().to_vec(),
        cycles: cycles
            .iter()
            .map(|c| {
                (
                    cycles.header(c),
                    cycles.entries(c).collect(),
                    cycles.blocks(c).to_vec(),
                    cycles.depth(c) as usize,
                    cycles.parent(c).map(|up| cycles.header(up)),
                )
            })
            .collect(),
        frontier: dom
            .preorder()
            .iter()
            .map(|&n| (n, frontiers.frontier(&dom, n).into_iter().collect()))
            .collect(),
    }
}

/// Compares all graphs with one run of `opt-22`; false when there is none.
fn compare(graphs: &[(String, Cfg)]) -> bool {
    let mut module = String::new();
    for (name, cfg) in graphs {
        write_function(&mut module, name, cfg);
    }
    let Some(printed) = ask(&module) else { return false };
    let mut answers = parse(&printed);
    for (name, cfg) in graphs {
        let mut theirs = answers.remove(name).expect("an answer for each function");
        let mut ours = compute(cfg);
        if !Cycles::new(cfg).all_reducible() {
            // LLVM's order depends on how it looks again at the entries of nested cycles.
            ours.sort_cycles();
            theirs.sort_cycles();
        }
        if ours != theirs {
            let mut text = String::new();
            write_function(&mut text, name, cfg);
            panic!("{name} differs\n{text}\nours:   {ours:#?}\ntheirs: {theirs:#?}");
        }
    }
    true
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn random_graphs_agree_with_llvm() {
    let first = setting("PHALANX_ORACLE_SEED", 0);
    let count = setting("PHALANX_ORACLE_GRAPHS", 2000);
    let (mut compared, mut irreducible, mut endless, mut unreachable) = (0, 0, 0, 0);
    let mut at = first;
    while at < first + count {
        let end = (at + 500).min(first + count);
        let graphs: Vec<(String, Cfg)> = (at..end)
            .map(|seed| {
                let size = 4 + (seed % 40) as usize;
                let cfg = random::with_fresh_entry(&random::any_graph(seed, size));
                (format!("seed{seed}"), cfg)
            })
            .collect();
        if !compare(&graphs) {
            skipped();
            return;
        }
        for (_, cfg) in &graphs {
            compared += 1;
            irreducible += u32::from(!Cycles::new(cfg).all_reducible());
            let postdom = PostDomTree::new(cfg);
            endless += u32::from(postdom.roots().iter().any(|&r| !cfg.successors(r).is_empty()));
            unreachable += u32::from(Dfs::new(cfg).reachable_count() < cfg.node_count());
        }
        at = end;
    }
    eprintln!(
        "compared {compared} graphs with opt-22: {irreducible} irreducible, {endless} with endless \
         loops, {unreachable} with unreachable nodes"
    );
}

#[test]
fn families_agree_with_llvm() {
    let graphs: Vec<(String, Cfg)> = families::ALL
        .iter()
        .flat_map(|f| {
            [3, 10, 60].map(|n| (format!("{}.{n}", f.name.replace('-', "_")), (f.with_nodes)(n)))
        })
        .filter(|(_, cfg)| cfg.predecessors(Graph::entry(cfg)).is_empty())
        .collect();
    if !compare(&graphs) {
        skipped();
    }
}
