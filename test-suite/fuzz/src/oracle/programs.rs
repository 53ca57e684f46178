//! Toy programs as kernels that run.
//!
//! Where a toy program says "fresh for each thread" or "fresh for each group" the kernel computes something that is: a
//! generator of numbers in private memory, an atomic counter, a shuffle, a ballot, a vote. Pure functions become
//! arithmetic, selections, and ways through private and workgroup memory, chosen by the value's number. Some blocks have
//! barriers; a launch that hangs there counts as far as it came. There are no data races between threads of a workgroup
//! that a uniform address could show, since answers at that scope assume none.

use std::fmt::Write as _;

use phalanx_testing::abstract_program::{AbstractProgram, Operand, Operation, Terminator};

/// For which target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// AMDGPU.
    Amdgcn,
    /// NVPTX.
    Nvptx,
}

const AMDGCN: &str = r#"target triple = "amdgcn-amd-amdhsa"
@counter = addrspace(1) global i32 0
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal i32 @next(ptr addrspace(5) %state) {
  %old = load i32, ptr addrspace(5) %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr addrspace(5) %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) FACTS {
b0:
  %state = alloca i32, align 4, addrspace(5)
  %seed.x = call i32 @llvm.amdgcn.workitem.id.x()
  %seed.y = call i32 @llvm.amdgcn.workitem.id.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr addrspace(5) %state, align 4
  %slot = alloca i32, align 4, addrspace(5)
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
"#;

const NVPTX: &str = r#"target triple = "nvptx64-nvidia-cuda"
@counter = addrspace(1) global i32 0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal i32 @next(ptr %state) {
  %old = load i32, ptr %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) FACTS {
b0:
  %state = alloca i32, align 4
  %seed.x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %seed.y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr %state, align 4
  %slot = alloca i32, align 4
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
"#;

/// The program as a module whose kernel is `@f`.
#[must_use]
pub fn runnable(program: &AbstractProgram, kind: Kind, seed: u64) -> String {
    text_of(program, kind, seed, stated(kind, seed))
}

/// As [`runnable`], for launches of any size.
#[must_use]
pub(crate) fn runnable_anyhow(program: &AbstractProgram, kind: Kind, seed: u64) -> String {
    text_of(program, kind, seed, Default::default())
}

fn text_of(
    program: &AbstractProgram,
    kind: Kind,
    seed: u64,
    (facts, tail): (String, String),
) -> String {
    let head = if kind == Kind::Amdgcn { AMDGCN } else { NVPTX };
    let mut text = head.replacen("FACTS", &facts, 1);
    let cfg = program.cfg();
    for (number, block) in program.blocks.iter().enumerate() {
        if number > 0 {
            let _ = writeln!(text, "b{number}:");
        }
        let mut rest = String::new();
        for (value, operation) in &block.operations {
            if let Operation::Phi(entries) = operation {
                let mut incoming = Vec::new();
                for pred in cfg.predecessors(phalanx_graph::Node::new(number)) {
                    if let Some((_, operand)) = entries.iter().find(|entry| entry.0 == *pred) {
                        incoming.push(format!("[ {operand}, %b{pred} ]"));
                    }
                }
                let _ = writeln!(text, "  %v{value} = phi i32 {}", incoming.join(", "));
            } else {
                operation_text(&mut rest, kind, *value, operation, seed);
            }
        }
        text.push_str(&rest);
        let _ = match &block.terminator {
            Terminator::Return => writeln!(text, "  ret void"),
            Terminator::Jump(to) => writeln!(text, "  br label %b{to}"),
            Terminator::Branch(condition, [yes, no]) => {
                writeln!(text, "  br i1 {condition}, label %b{yes}, label %b{no}")
            }
            Terminator::Switch(condition, to) => {
                let cases: Vec<String> = to[1..]
                    .iter()
                    .enumerate()
                    .map(|(i, to)| format!("i32 {i}, label %b{to}"))
                    .collect();
                // Few different values, so that all ways are taken.
                let _ = writeln!(text, "  %s{number} = and i32 {condition}, 3");
                writeln!(text, "  switch i32 %s{number}, label %b{} [ {} ]", to[0], cases.join(" "))
            }
        };
    }
    text.push_str("}\n");
    text.push_str(&tail);
    text
}

/// What some programs say of their launches: on the function, and behind it.
fn stated(kind: Kind, seed: u64) -> (String, String) {
    let sizes = [[32, 1, 1], [64, 1, 1], [8, 4, 2], [16, 4, 1], [33, 2, 1], [64, 2, 1], [4, 1, 1]];
    let Some([x, y, z]) = sizes.get((seed >> 17) as usize % 10) else { return Default::default() };
    match kind {
        Kind::Nvptx => (format!("\"nvvm.reqntid\"=\"{x},{y},{z}\""), String::new()),
        Kind::Amdgcn => (
            "\"uniform-work-group-size\"=\"true\" !reqd_work_group_size !0".to_owned(),
            format!("!0 = !{{i32 {x}, i32 {y}, i32 {z}}}\n"),
        ),
    }
}

fn operation_text(out: &mut String, kind: Kind, value: u32, operation: &Operation, seed: u64) {
    let pick = |choices: u64| {
        let mixed = seed ^ u64::from(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % choices
    };
    let amd = kind == Kind::Amdgcn;
    let v = format!("%v{value}");
    let _ = match operation {
        Operation::Phi(_) => Ok(()),
        Operation::Argument(number) => writeln!(out, "  {v} = add i32 %a{number}, 0"),
        Operation::ThreadId => {
            let call = match (pick(4), amd) {
                (0, true) => "@llvm.amdgcn.workitem.id.y()",
                (0, false) => "@llvm.nvvm.read.ptx.sreg.tid.y()",
                (1, true) => "@llvm.amdgcn.workgroup.id.x()",
                (1, false) => "@llvm.nvvm.read.ptx.sreg.ctaid.x()",
                (2, true) => "@llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)",
                (2, false) => "@llvm.nvvm.read.ptx.sreg.laneid()",
                (_, true) => "@llvm.amdgcn.workitem.id.x()",
                (_, false) => "@llvm.nvvm.read.ptx.sreg.tid.x()",
            };
            writeln!(out, "  {v} = call i32 {call}")
        }
        Operation::Uniform => match pick(5) {
            3 => {
                let barrier = match amd {
                    true => "@llvm.amdgcn.s.barrier()",
                    false => "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
                };
                let _ = writeln!(out, "  call void {barrier}");
                writeln!(out, "  {v} = load volatile i32, ptr addrspace(1) %gp, align 4")
            }
            4 if !amd => {
                let _ = writeln!(out, "  {v}.bit = trunc i32 %seed.0 to i1");
                let _ = writeln!(
                    out,
                    "  {v}.any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 {v}.bit)"
                );
                writeln!(out, "  {v} = zext i1 {v}.any to i32")
            }
            0 => writeln!(out, "  {v} = load volatile i32, ptr addrspace(1) %gp, align 4"),
            1 => {
                let at = format!("%v{value}.at");
                let _ = writeln!(
                    out,
                    "  {at} = getelementptr i32, ptr addrspace(1) %gp, i32 {}",
                    value % 16
                );
                writeln!(out, "  {v} = load i32, ptr addrspace(1) {at}, align 4")
            }
            _ => {
                let bit = format!("%v{value}.bit");
                let _ = writeln!(out, "  {bit} = trunc i32 %seed.0 to i1");
                if amd {
                    let _ = writeln!(out, "  {v}.b = call i64 @llvm.amdgcn.ballot.i64(i1 {bit})");
                    writeln!(out, "  {v} = trunc i64 {v}.b to i32")
                } else {
                    writeln!(out, "  {v} = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 {bit})")
                }
            }
        },
        Operation::AlwaysUniform(a) if amd && pick(3) == 0 => {
            writeln!(out, "  {v} = call i32 @llvm.amdgcn.readlane.i32(i32 {a}, i32 0)")
        }
        Operation::AlwaysUniform(a) if amd => {
            writeln!(out, "  {v} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 {a})")
        }
        Operation::AlwaysUniform(a) => {
            writeln!(out, "  {v} = call i32 @llvm.nvvm.redux.sync.umin(i32 {a}, i32 -1)")
        }
        Operation::Divergent => match pick(6) {
            3 if amd => {
                let _ = writeln!(out, "  {v}.to = shl i32 %seed.y, 2");
                writeln!(out, "  {v} = call i32 @llvm.amdgcn.ds.bpermute(i32 {v}.to, i32 %seed.0)")
            }
            4 if amd => writeln!(
                out,
                "  {v} = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %seed.0, i32 273, i32 15, i32 15, i1 true)"
            ),
            3 | 4 => writeln!(
                out,
                "  {v} = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %seed.0, i32 1, i32 31)"
            ),
            0 => writeln!(
                out,
                "  {v} = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic, align 4"
            ),
            _ if amd => writeln!(out, "  {v} = call i32 @next(ptr addrspace(5) %state)"),
            _ => writeln!(out, "  {v} = call i32 @next(ptr %state)"),
        },
        // Through memory: private, or a place of one's own in the workgroup's.
        Operation::Pure(_, [a, b]) if pick(11) < 2 => {
            let place = match (pick(11), amd) {
                (0, true) => "ptr addrspace(5) %slot",
                (0, false) => "ptr %slot",
                _ => "ptr addrspace(3) %own",
            };
            let _ = writeln!(out, "  {v}.sum = add i32 {a}, {b}");
            let _ = writeln!(out, "  store i32 {v}.sum, {place}, align 4");
            writeln!(out, "  {v} = load i32, {place}, align 4")
        }
        Operation::Pure(_, [a, b]) if pick(11) == 4 || pick(11) == 5 => {
            of_indices(out, &v, [a, b], pick)
        }
        Operation::Pure(_, [a, b]) if pick(11) == 2 => {
            writeln!(out, "  {v} = call i32 @llvm.umin.i32(i32 {a}, i32 {b})")
        }
        Operation::Pure(_, [a, b]) if pick(11) == 3 => {
            let _ = writeln!(out, "  {v}.less = icmp ult i32 {a}, {b}");
            writeln!(out, "  {v} = select i1 {v}.less, i32 {a}, i32 %a0")
        }
        Operation::Pure(_, [a, b]) => {
            let operation = ["add", "xor", "sub", "mul", "add", "or"][pick(6) as usize];
            writeln!(out, "  {v} = {operation} i32 {a}, {b}")
        }
        Operation::Test(a) => {
            // A bit, so that both ways are taken.
            let bit = if let Operand::Constant(_) = a { 0 } else { pick(3) };
            let _ = writeln!(out, "  {v}.s = lshr i32 {a}, {bit}");
            writeln!(out, "  {v} = trunc i32 {v}.s to i1")
        }
    };
}

/// Something of the thread's indices, of which little may be left, and of other values.
fn of_indices(
    out: &mut String,
    v: &str,
    [a, b]: [&Operand; 2],
    pick: impl Fn(u64) -> u64,
) -> std::fmt::Result {
    let flags = ["", "", "nsw ", "nuw nsw "][pick(4) as usize];
    let _ = writeln!(out, "  {v}.row = mul i32 %seed.y, {}", [8, 16, 32, 33, 64][pick(5) as usize]);
    let _ = writeln!(out, "  {v}.flat = add {flags}i32 {v}.row, %seed.x");
    let _ = writeln!(out, "  {v}.aligned = shl i32 {a}, {}", pick(8));
    let _ = writeln!(out, "  {v}.sum = add {flags}i32 {v}.aligned, {v}.flat");
    let of = ["flat", "sum"][pick(2) as usize];
    match pick(8) {
        0 | 1 => writeln!(out, "  {v} = lshr i32 {v}.{of}, {}", 1 + pick(7)),
        2 => writeln!(out, "  {v} = and i32 {v}.{of}, {}", [-32, -64, 7, 63, 31][pick(5) as usize]),
        3 => writeln!(out, "  {v} = sub i32 {v}.sum, {v}.flat"),
        4 => writeln!(out, "  {v} = udiv i32 {v}.{of}, {}", [32, 64, 33, 12][pick(4) as usize]),
        5 => {
            let bound = [32, 64, 128, 200][pick(4) as usize];
            let _ = writeln!(out, "  {v}.less = icmp slt i32 {v}.{of}, {bound}");
            writeln!(out, "  {v} = select i1 {v}.less, i32 {a}, i32 {b}")
        }
        6 => {
            let _ = writeln!(out, "  {v}.odd = trunc i32 {v}.flat to i1");
            let _ = writeln!(out, "  {v}.one = mul i32 {a}, 3");
            let _ = writeln!(out, "  {v}.other = mul i32 {a}, 3");
            writeln!(out, "  {v} = select i1 {v}.odd, i32 {v}.one, i32 {v}.other")
        }
        _ => {
            let _ = writeln!(out, "  {v}.back = sub i32 {v}.sum, {v}.row");
            writeln!(out, "  {v} = freeze i32 {v}.back")
        }
    }
}
