//! Workgroups at the edge of a grid that are smaller than the others: their threads, the extents
//! that these read, and barriers among them.

use std::{collections::BTreeMap, sync::Arc};

use phalanx_ir::Context;
use phalanx_simt::{Failure, Launch, Observer, Program, Report, Value, observe::Moment, run};
use phalanx_target::Target;

/// Where a thread is, and what the packet and the implicit arguments say of extents along y.
const AMDGCN: &str = r#"target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %gx = call i32 @llvm.amdgcn.workgroup.id.x()
  %gy = call i32 @llvm.amdgcn.workgroup.id.y()
  %packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %at.threads = getelementptr i8, ptr addrspace(4) %packet, i64 16
  %threads = load i32, ptr addrspace(4) %at.threads
  %implicit = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %at.count = getelementptr i8, ptr addrspace(4) %implicit, i64 4
  %count = load i32, ptr addrspace(4) %at.count
  %at.size = getelementptr i8, ptr addrspace(4) %implicit, i64 14
  %size = load i16, ptr addrspace(4) %at.size
  %at.rest = getelementptr i8, ptr addrspace(4) %implicit, i64 20
  %rest = load i16, ptr addrspace(4) %at.rest
  call void @llvm.amdgcn.s.barrier()
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare void @llvm.amdgcn.s.barrier()
"#;

/// What threads computed, by thread; and wave and lane of each.
#[derive(Default)]
struct Reads(BTreeMap<u32, (Vec<u128>, [u32; 2])>);

impl Observer for Reads {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        if let Value::Bits(bits) = value {
            let place = [at.thread.wave, at.thread.lane];
            self.0.entry(at.thread.number).or_insert_with(|| (Vec::new(), place)).0.push(*bits);
        }
    }
}

fn reads(launch: &Launch) -> Result<(Reads, Report), Failure> {
    let module = phalanx_llvm::parse_module(Arc::new(Context::new()), AMDGCN.as_bytes())
        .unwrap_or_else(|e| panic!("{e}"))
        .module;
    let program = Program::new(&module, &Target::new("amdgcn-amd-amdhsa", "")).unwrap();
    let mut memory = program.memory(0).unwrap();
    let mut reads = Reads::default();
    let report = run(&program, "k", launch, &mut memory, &mut reads)?;
    Ok((reads, report))
}

#[test]
fn threads_are_those_of_an_enumeration() {
    for (block, partial) in [([4, 3], [0, 0]), ([4, 3], [3, 0]), ([4, 3], [0, 1]), ([5, 7], [2, 4])]
    {
        let grid = [3u32, 2u32];
        let launch = Launch {
            grid: [grid[0], grid[1], 1],
            block: [block[0], block[1], 1],
            partial: [partial[0], partial[1], 0],
            wave: 8,
            ..Launch::default()
        };
        let (reads, report) = reads(&launch).unwrap();
        let mut expected = Vec::new();
        let extent = |d: usize, at: u32| match partial[d] {
            0 => block[d],
            smaller if at + 1 == grid[d] => smaller,
            _ => block[d],
        };
        let rest = partial[1];
        let whole = if rest == 0 { grid[1] } else { grid[1] - 1 };
        let threads: u32 = (0..grid[1]).map(|y| extent(1, y)).sum();
        for gy in 0..grid[1] {
            for gx in 0..grid[0] {
                let mut number = 0;
                for y in 0..extent(1, gy) {
                    for x in 0..extent(0, gx) {
                        let read = [x, y, gx, gy, threads, whole, block[1], rest];
                        // Waves are full of those who are there.
                        expected.push((read.map(u128::from), [number / 8, number % 8]));
                        number += 1;
                    }
                }
            }
        }
        // The others are addresses.
        let integers = |all: Vec<u128>| [0, 1, 2, 3, 6, 9, 11, 13].map(|at: usize| all[at]);
        let read: Vec<_> =
            reads.0.into_values().map(|(all, place)| (integers(all), place)).collect();
        assert_eq!(read, expected, "{launch:?}");
        // Barriers do not wait for threads that do not exist.
        assert_eq!(report.barriers, 6);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |launch: Launch| match reads(&launch) {
        Err(Failure::Launch(what)) => what,
        other => panic!("{:?}", other.map(|(_, report)| report)),
    };
    let block = [4, 1, 1];
    let larger = Launch { block, partial: [5, 0, 0], ..Launch::default() };
    assert_eq!(refused(larger), "workgroups at the edge of a grid are not larger than others");
    let grid = [2, 1, 1];
    let clusters = Launch { grid, block, cluster: grid, partial: [3, 0, 0], ..Launch::default() };
    assert_eq!(refused(clusters), "clusters have whole workgroups");
}
