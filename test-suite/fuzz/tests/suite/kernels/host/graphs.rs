//! Graphs, sparse matrices, lists and trees.

use std::collections::BTreeSet;

use super::{Case, case, floats, fractions, numbers};
use crate::kernels::device::{args, ensure};

pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![bfs_level(), bfs_frontier(), shortest_paths(), components(), list_sum()];
    all.extend(sparse_products());
    all.extend(trees());
    all
}

/// A graph in compressed sparse rows.
struct Graph {
    row: Vec<i32>,
    edge: Vec<i32>,
}

impl Graph {
    fn random(seed: u32, nodes: usize, degree: u32) -> Graph {
        let (mut row, mut edge) = (vec![0], Vec::new());
        for (node, degree) in numbers(seed, nodes, degree).into_iter().enumerate() {
            edge.extend(numbers(seed + 100 + node as u32, degree as usize, nodes as u32));
            row.push(edge.len() as i32);
        }
        Graph { row, edge }
    }

    fn edges(&self, node: usize) -> std::ops::Range<usize> {
        self.row[node] as usize..self.row[node + 1] as usize
    }

    fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.edges(node).map(|e| self.edge[e] as usize)
    }
}

fn bfs_level() -> Case {
    case("opencl/graph", &["bfs_level"], |device| {
        let nodes = 60;
        let graph = Graph::random(1, nodes, 5);
        let mut levels = vec![-1; nodes];
        (levels[0], levels[7]) = (0, 0);
        let (row, edge) = (device.input(&graph.row), device.input(&graph.edge));
        let (level, changed) = (device.buffer(&levels), device.buffer(&[0i32]));
        for depth in 0..5 {
            device.set(changed, &[0]);
            let args = args![row, edge, level, changed, depth, nodes as i32];
            device.line("bfs_level", 2, 32, args)?;
            let mut fresh = 0;
            for v in (0..nodes).filter(|&v| levels[v] == depth).collect::<Vec<_>>() {
                for w in graph.neighbours(v) {
                    if levels[w] < 0 {
                        levels[w] = depth + 1;
                        fresh = 1;
                    }
                }
            }
            device.expect(level, &levels)?;
            device.expect(changed, &[fresh])?;
        }
        Ok(())
    })
}

/// Which warp finds a node first is unspecified, and so is the order of the next frontier.
fn bfs_frontier() -> Case {
    case("cuda/bfs_frontier", &["bfs_frontier"], |device| {
        let nodes = 200;
        let graph = Graph::random(2, nodes, 60);
        let mut levels = vec![-1; nodes];
        let frontier = [3i32, 50, 11, 120, 77];
        frontier.iter().for_each(|&v| levels[v as usize] = 4);
        let (row, edge) = (device.input(&graph.row), device.input(&graph.edge));
        let (level, queue) = (device.buffer(&levels), device.input(&frontier));
        let (next, size) = (device.buffer(&vec![-1i32; nodes]), device.buffer(&[0i32]));
        let args = args![row, edge, level, queue, 5, next, size, 5];
        device.line("bfs_frontier", 1, 96, args)?;
        let reached = frontier.iter().flat_map(|&v| graph.neighbours(v as usize));
        let fresh: BTreeSet<usize> = reached.filter(|&w| levels[w] < 0).collect();
        fresh.iter().for_each(|&w| levels[w] = 5);
        device.expect(level, &levels)?;
        device.expect(size, &[fresh.len() as i32])?;
        let mut found = device.read(next);
        let rest = found.split_off(fresh.len());
        found.sort_unstable();
        let expected: Vec<i32> = fresh.iter().map(|&w| w as i32).collect();
        ensure(found == expected, || format!("the frontier is {found:?}, not {expected:?}"))?;
        ensure(rest.iter().all(|&w| w == -1), || "behind the frontier is something".to_owned())
    })
}

/// Rounds until nothing changes. The effect of one round depends on the order of threads, the final
/// result does not.
fn shortest_paths() -> Case {
    case("opencl/graph", &["sssp_relax"], |device| {
        let nodes = 50;
        let graph = Graph::random(3, nodes, 8);
        let weights: Vec<u32> =
            numbers(4, graph.edge.len(), 30).iter().map(|&n| n as u32 + 1).collect();
        let mut distances = vec![u32::MAX; nodes];
        let source = (0..nodes).find(|&v| graph.edges(v).len() > 3).expect("a node with edges");
        distances[source] = 0;
        let (row, edge) = (device.input(&graph.row), device.input(&graph.edge));
        let (weight, distance) = (device.input(&weights), device.buffer(&distances));
        let changed = device.buffer(&[1i32]);
        let mut rounds = 0;
        while device.read(changed) != [0] {
            device.set(changed, &[0]);
            let args = args![row, edge, weight, distance, changed, nodes as i32];
            device.line("sssp_relax", 2, 32, args)?;
            rounds += 1;
            ensure(rounds <= nodes, || "there is always something to relax".to_owned())?;
        }
        // Dijkstra.
        let mut settled = vec![false; nodes];
        while let Some(v) = (0..nodes)
            .filter(|&v| !settled[v] && distances[v] != u32::MAX)
            .min_by_key(|&v| distances[v])
        {
            settled[v] = true;
            for e in graph.edges(v) {
                let w = graph.edge[e] as usize;
                distances[w] = distances[w].min(distances[v] + weights[e]);
            }
        }
        assert!(settled.iter().filter(|&&s| s).count() > 20, "most nodes are reached");
        device.expect(distance, &distances)
    })
}

/// Hooking and jumping until nothing changes: every node knows the smallest of its component.
fn components() -> Case {
    case("opencl/graph", &["components_hook", "components_jump"], |device| {
        let nodes = 60usize;
        let ends = numbers(5, 100, nodes as u32);
        let (edge, changed) = (device.input(&ends), device.buffer(&[1i32]));
        let parent = device.buffer(&(0..nodes as i32).collect::<Vec<_>>());
        let mut rounds = 0;
        while device.read(changed) != [0] {
            device.set(changed, &[0]);
            device.line("components_hook", 1, 32, args![edge, parent, changed, 50])?;
            device.line("components_jump", 2, 32, args![parent, nodes as i32])?;
            rounds += 1;
            ensure(rounds <= nodes, || "there is always something to join".to_owned())?;
        }
        let mut smallest: Vec<i32> = (0..nodes as i32).collect();
        for _ in 0..nodes {
            for pair in ends.chunks(2) {
                let (a, b) = (pair[0] as usize, pair[1] as usize);
                let low = smallest[a].min(smallest[b]);
                (smallest[a], smallest[b]) = (low, low);
            }
        }
        device.expect(parent, &smallest)
    })
}

fn list_sum() -> Case {
    case("opencl/linked_list", &["list_sum"], |device| {
        let (lists, limit) = (32usize, 6);
        let lengths = numbers(1, lists, 12);
        let total: i32 = lengths.iter().sum();
        let values: Vec<i32> = numbers(2, total as usize, 100).iter().map(|n| n - 25).collect();
        // A node is its value and the address of the next; nodes of a list are far apart.
        let nodes = device.input(&vec![0u64; 2 * total as usize]);
        let place = |k: usize| k * 7 % total as usize;
        assert!(total % 7 != 0, "places are taken once");
        let address = |k: usize| nodes.address + 16 * place(k) as u64;
        let (mut contents, mut heads, mut sums) = (vec![0u64; 2 * total as usize], vec![], vec![]);
        let mut next = 0;
        for &length in &lengths {
            let list = next..next + length as usize;
            heads.push(if list.is_empty() { 0 } else { address(list.start) });
            for k in list.clone() {
                contents[2 * place(k)] = u64::from(values[k] as u32);
                contents[2 * place(k) + 1] = if k + 1 < list.end { address(k + 1) } else { 0 };
            }
            next = list.end;
            sums.push(values[list].iter().filter(|&&v| v >= 0).take(limit).sum());
        }
        device.set(nodes, &contents);
        let (heads, out) = (device.input(&heads), device.buffer(&vec![-1i32; lists]));
        device.line("list_sum", 1, 32, args![heads, out, limit as i32])?;
        device.expect(out, &sums)
    })
}

/// Sums of 32 lanes, each with every 32nd entry of the row, folded in halves.
fn row_by_lanes(terms: &[f32]) -> f32 {
    let lane = |lane: usize| terms.iter().skip(lane).step_by(32).fold(0f32, |sum, t| t + sum);
    let mut lanes: Vec<f32> = (0..32).map(lane).collect();
    for half in [16, 8, 4, 2, 1] {
        (0..half).for_each(|lane| lanes[lane] += lanes[lane + half]);
    }
    lanes[0]
}

fn sparse_products() -> Vec<Case> {
    fn check(
        (file, kernel): (&'static str, &'static str),
        kernels: &'static [&'static str],
        (rows, degree): (usize, u32),
        (grid, block): (u32, u32),
        sum: fn(&[f32]) -> f32,
    ) -> Case {
        case(file, kernels, move |device| {
            let graph = Graph::random(6, rows, degree);
            let (values, xs) = (fractions(7, graph.edge.len()), fractions(8, rows));
            let (row, column) = (device.input(&graph.row), device.input(&graph.edge));
            let (value, x) = (device.input(&values), device.input(&xs));
            let y = device.buffer(&vec![-1f32; rows]);
            device.line(kernel, grid, block, args![row, column, value, x, y, rows as i32])?;
            let expected = (0..rows).map(|r| {
                let term = |e: usize| values[e] * xs[graph.edge[e] as usize];
                sum(&graph.edges(r).map(term).collect::<Vec<_>>())
            });
            device.expect(y, &expected.collect::<Vec<_>>())
        })
    }
    let scalar =
        check(("opencl/spmv", "spmv_scalar"), &["spmv_scalar"], (60, 8), (2, 32), |terms| {
            terms.iter().fold(0.0, |sum, term| sum + term)
        });
    let vector =
        check(("opencl/spmv", "spmv_vector"), &["spmv_vector"], (9, 90), (3, 128), row_by_lanes);
    let warp = check(("cuda/spmv", "spmv_warp"), &["spmv_warp"], (10, 90), (3, 128), row_by_lanes);
    let uniform = case("cuda/spmv", &["spmv_ldu"], |device| {
        let (matrix, vector) = (floats(9, 3 * 20), floats(10, 20));
        let (m, x) = (device.input(&matrix), device.input(&vector));
        let y = device.buffer(&[-1f32; 60]);
        device.line("spmv_ldu", 3, 32, args![m, x, y, 20])?;
        let expected = (0..60).map(|at| matrix[at / 20 * 20] * vector[at % 20]);
        device.expect(y, &expected.collect::<Vec<_>>())
    });
    vec![scalar, vector, warp, uniform]
}

/// A search tree as the kernels have it: key, left and right child of each node.
fn search_tree(keys: &[i32]) -> Vec<[i32; 3]> {
    let mut nodes: Vec<[i32; 3]> = vec![];
    for &key in keys {
        let new = nodes.len() as i32;
        let mut at = 0;
        while at != new {
            let side = if key < nodes[at as usize][0] { 1 } else { 2 };
            let next = &mut nodes[at as usize][side];
            if *next < 0 {
                *next = new;
            }
            at = *next;
        }
        nodes.push([key, -1, -1]);
    }
    nodes
}

fn trees() -> Vec<Case> {
    let depth = case("cuda/recursion", &["tree_depth"], |device| {
        let nodes = search_tree(&numbers(1, 80, 1000));
        // Children come after their parents.
        let mut depths = vec![0; nodes.len()];
        for (at, &[_, left, right]) in nodes.iter().enumerate().rev() {
            let of = |child: i32| usize::try_from(child).map_or(0, |child| depths[child]);
            depths[at] = 1 + of(left).max(of(right));
        }
        let mut starts: Vec<i32> = numbers(2, 60, 80);
        (starts[0], starts[33]) = (0, -1);
        let (tree, roots) = (device.input(&nodes.concat()), device.input(&starts));
        let out = device.buffer(&[-1i32; 64]);
        device.line("tree_depth", 2, 32, args![tree, roots, out, 60])?;
        let depth = |i: usize| match starts.get(i) {
            Some(&root) => usize::try_from(root).map_or(0, |root| depths[root]),
            None => -1,
        };
        device.expect(out, &(0..64).map(depth).collect::<Vec<_>>())
    });
    let search = case("cuda/recursion", &["tree_search"], |device| {
        let keys = numbers(3, 100, 500);
        let nodes = search_tree(&keys);
        let lows = numbers(4, 60, 400);
        let highs: Vec<i32> = numbers(5, 60, 200).iter().zip(&lows).map(|(n, l)| n + l).collect();
        let (tree, low, high) =
            (device.input(&nodes.concat()), device.input(&lows), device.input(&highs));
        let out = device.buffer(&[-1i32; 64]);
        device.line("tree_search", 2, 32, args![tree, 0, low, high, out, 60])?;
        let count = |i: usize| match i {
            60.. => -1,
            _ => keys.iter().filter(|key| (lows[i]..=highs[i]).contains(key)).count() as i32,
        };
        device.expect(out, &(0..64).map(count).collect::<Vec<_>>())
    });
    vec![depth, search]
}
