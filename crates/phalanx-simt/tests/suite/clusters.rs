//! Indices of clusters and of workgroups in them, as kernels read them, compared with an
//! enumeration. Also compares which of them differ within a workgroup, a cluster and the grid with
//! the target's table.

use std::{collections::BTreeMap, sync::Arc};

use phalanx_ir::Context;
use phalanx_simt::{Launch, Observer, Program, Value, observe::Moment, run};
use phalanx_target::{Extent, LaunchFacts, Scope, SourceSet, Target, varying};

const NVPTX: &str = r#"target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() {
  %v0 = call i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.clusterid.y()
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()
  %v3 = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.y()
  %v4 = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %v5 = call i32 @llvm.nvvm.read.ptx.sreg.cluster.nctaid.x()
  %v6 = call i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()
  %v7 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v8 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %v9 = call i32 @llvm.nvvm.read.ptx.sreg.nclusterid.y()
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.clusterid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.nclusterid.y()
"#;

const AMDGCN: &str = r#"target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() {
  %v0 = call i32 @llvm.amdgcn.cluster.id.x()
  %v1 = call i32 @llvm.amdgcn.cluster.id.y()
  %v2 = call i32 @llvm.amdgcn.cluster.workgroup.id.x()
  %v3 = call i32 @llvm.amdgcn.cluster.workgroup.id.y()
  %v4 = call i32 @llvm.amdgcn.cluster.workgroup.flat.id()
  %v5 = call i32 @llvm.amdgcn.cluster.workgroup.max.id.x()
  %v6 = call i32 @llvm.amdgcn.cluster.workgroup.max.flat.id()
  %v7 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v8 = call i32 @llvm.amdgcn.workgroup.id.y()
  ret void
}
declare i32 @llvm.amdgcn.cluster.id.x()
declare i32 @llvm.amdgcn.cluster.id.y()
declare i32 @llvm.amdgcn.cluster.workgroup.id.x()
declare i32 @llvm.amdgcn.cluster.workgroup.id.y()
declare i32 @llvm.amdgcn.cluster.workgroup.flat.id()
declare i32 @llvm.amdgcn.cluster.workgroup.max.id.x()
declare i32 @llvm.amdgcn.cluster.workgroup.max.flat.id()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
"#;

/// What each thread read: by thread, in the order of instructions.
#[derive(Default)]
struct Reads(BTreeMap<u32, Vec<u128>>);

impl Observer for Reads {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if let Value::Bits(bits) = value {
            self.0.entry(at.thread.number).or_default().push(*bits);
        }
    }
}

fn reads(text: &str, triple: &str, launch: &Launch) -> Vec<Vec<u32>> {
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), text.as_bytes())
        .unwrap_or_else(|e| panic!("{e}"))
        .module;
    let program = Program::new(&module, &Target::new(triple, "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let mut reads = Reads::default();
    run(&program, "k", launch, &mut memory, &mut reads).unwrap();
    let of_thread = |bits: Vec<u128>| bits.into_iter().map(|bits| bits as u32).collect();
    reads.0.into_values().map(of_thread).collect()
}

/// Grids of clusters: clusters along x and y, and workgroups of each.
fn shapes() -> impl Iterator<Item = ([u32; 2], [u32; 2])> {
    let counts = [[1, 1], [2, 1], [1, 3], [2, 2]];
    let sizes = [[1, 1], [2, 1], [1, 2], [3, 1], [2, 2], [4, 2], [1, 5], [3, 3]];
    counts.into_iter().flat_map(move |count| sizes.into_iter().map(move |size| (count, size)))
}

#[test]
fn indices_are_those_of_an_enumeration() {
    let mut cases = 0;
    for (count, size) in shapes() {
        let grid = [count[0] * size[0], count[1] * size[1], 1];
        let cluster = [size[0], size[1], 1];
        let launch = Launch { grid, cluster, block: [2, 1, 1], ..Launch::default() };
        let (nvptx, amdgcn) = (
            reads(NVPTX, "nvptx64-nvidia-cuda", &launch),
            reads(AMDGCN, "amdgcn-amd-amdhsa", &launch),
        );
        let mut expected: BTreeMap<[u32; 2], [u32; 7]> = BTreeMap::new();
        for at_y in 0..count[1] {
            for at_x in 0..count[0] {
                let mut rank = 0;
                for y in 0..size[1] {
                    for x in 0..size[0] {
                        let block = [at_x * size[0] + x, at_y * size[1] + y];
                        let all = [at_x, at_y, x, y, rank, size[0], size[0] * size[1]];
                        expected.insert(block, all);
                        rank += 1;
                    }
                }
            }
        }
        assert_eq!(nvptx.len(), 2 * expected.len());
        for (read, by_amdgcn) in nvptx.iter().zip(&amdgcn) {
            let expected = expected[&[read[7], read[8]]];
            assert_eq!(read[..7], expected, "{count:?} of {size:?}");
            assert_eq!(read[9], count[1]);
            // The largest index instead of how many there are.
            assert_eq!(by_amdgcn[..5], expected[..5]);
            assert_eq!(by_amdgcn[5..7], [expected[5] - 1, expected[6] - 1]);
            cases += 1;
        }
    }
    assert!(cases > 400, "{cases}");
}

/// Which of the indices differ between threads of one workgroup, one cluster, the grid, over all
/// grids of clusters of a size.
#[test]
fn what_varies_is_what_differs() {
    let sources = [
        (2, SourceSet::CLUSTER),
        (3, SourceSet::CLUSTER),
        (4, SourceSet::CLUSTER),
        (7, SourceSet::BLOCK_X),
        (8, SourceSet::BLOCK_Y),
    ];
    let sizes: Vec<[u32; 2]> = shapes().map(|(_, size)| size).collect();
    for size in sizes {
        let facts = LaunchFacts {
            cluster_size: [Extent::Exactly(size[0]), Extent::Exactly(size[1]), Extent::Exactly(1)],
            ..LaunchFacts::exact(2, 1, 1, 32)
        };
        let mut seen = [SourceSet::EMPTY; 3];
        for (count, _) in shapes().filter(|(_, other)| *other == size) {
            let grid = [count[0] * size[0], count[1] * size[1], 1];
            let cluster = [size[0], size[1], 1];
            let launch = Launch { grid, cluster, block: [2, 1, 1], ..Launch::default() };
            let all = reads(NVPTX, "nvptx64-nvidia-cuda", &launch);
            for a in &all {
                for b in &all {
                    let is_cluster = a[..2] == b[..2];
                    let is_workgroup = a[7..9] == b[7..9];
                    for (_, source) in sources.into_iter().filter(|(at, _)| a[*at] != b[*at]) {
                        seen[2] |= source;
                        if is_cluster {
                            seen[1] |= source;
                        }
                        if is_workgroup {
                            seen[0] |= source;
                        }
                    }
                }
            }
        }
        let ours = SourceSet::CLUSTER | SourceSet::BLOCK_X | SourceSet::BLOCK_Y;
        for (scope, seen) in [Scope::Workgroup, Scope::Cluster, Scope::Grid].into_iter().zip(seen) {
            let said = varying(scope, &facts) & ours;
            match scope {
                // Clusters of one workgroup are alike; that no source tells of.
                Scope::Grid => assert!(said.contains(seen), "{size:?}: {said} {seen}"),
                _ => assert_eq!(said, seen, "{scope:?} of {size:?}"),
            }
        }
    }
}
