//! Toy programs as kernels that run.
//!
//! Where a toy program says "fresh for each thread" or "fresh for each group" the kernel computes something that is: a
//! generator of numbers in private memory, an atomic counter, a shuffle, a ballot, a vote. Pure functions become
//! arithmetic, selections, and ways through private and workgroup memory, chosen by the value's number. Private memory holds
//! numbers, structures and an array, which are written in one place and read in another, by the thread itself and by a
//! function that it calls. Some blocks have
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
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal void @set(ptr addrspace(5) %to, i32 %what) {
  store i32 %what, ptr addrspace(5) %to, align 4
  ret void
}
define internal i32 @next(ptr addrspace(5) %state) {
  %old = load i32, ptr addrspace(5) %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr addrspace(5) %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
b0:
  %state = alloca i32, align 4, addrspace(5)
  %seed.x = call i32 @llvm.amdgcn.workitem.id.x()
  %seed.y = call i32 @llvm.amdgcn.workitem.id.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr addrspace(5) %state, align 4
  %slot = alloca i32, align 4, addrspace(5)
  %m = alloca i32, align 4, addrspace(5)
  %gen = addrspacecast ptr addrspace(1) %gp to ptr
  %pub = alloca i32, align 4, addrspace(5)
  %pub.gen = addrspacecast ptr addrspace(5) %pub to ptr
  store i32 %seed.0, ptr addrspace(5) %pub, align 4
  %k = alloca i32, align 4, addrspace(5)
  %one = alloca { i32, i32, i32 }, align 4, addrspace(5)
  %two = alloca { i32, i32, i32 }, align 4, addrspace(5)
  %row = alloca [4 x i32], align 4, addrspace(5)
  %one.1 = getelementptr { i32, i32, i32 }, ptr addrspace(5) %one, i32 0, i32 1
  %one.2 = getelementptr { i32, i32, i32 }, ptr addrspace(5) %one, i32 0, i32 2
  %two.1 = getelementptr { i32, i32, i32 }, ptr addrspace(5) %two, i32 0, i32 1
  store i32 %a0, ptr addrspace(5) %m, align 4
  store i32 %a1, ptr addrspace(5) %k, align 4
  call void @llvm.memset.p5.i64(ptr addrspace(5) %one, i8 1, i64 12, i1 false)
  call void @llvm.memset.p5.i64(ptr addrspace(5) %two, i8 2, i64 12, i1 false)
  call void @llvm.memset.p5.i64(ptr addrspace(5) %row, i8 3, i64 16, i1 false)
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
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
@lds = internal addrspace(3) global [64 x i32] undef
define internal void @set(ptr %to, i32 %what) {
  store i32 %what, ptr %to, align 4
  ret void
}
define internal i32 @next(ptr %state) {
  %old = load i32, ptr %state, align 4
  %scaled = mul i32 %old, 1664525
  %new = add i32 %scaled, 1013904223
  store i32 %new, ptr %state, align 4
  %out = lshr i32 %new, 13
  ret i32 %out
}
define ptx_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
b0:
  %state = alloca i32, align 4
  %seed.x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %seed.y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %seed.xy = mul i32 %seed.y, 7919
  %seed.0 = add i32 %seed.x, %seed.xy
  %seed = mul i32 %seed.0, 747796405
  store i32 %seed, ptr %state, align 4
  %slot = alloca i32, align 4
  %m = alloca i32, align 4
  %gen = addrspacecast ptr addrspace(1) %gp to ptr
  %pub.gen = alloca i32, align 4
  store i32 %seed.0, ptr %pub.gen, align 4
  %k = alloca i32, align 4
  %one = alloca { i32, i32, i32 }, align 4
  %two = alloca { i32, i32, i32 }, align 4
  %row = alloca [4 x i32], align 4
  %one.1 = getelementptr { i32, i32, i32 }, ptr %one, i32 0, i32 1
  %one.2 = getelementptr { i32, i32, i32 }, ptr %one, i32 0, i32 2
  %two.1 = getelementptr { i32, i32, i32 }, ptr %two, i32 0, i32 1
  store i32 %a0, ptr %m, align 4
  store i32 %a1, ptr %k, align 4
  call void @llvm.memset.p0.i64(ptr %one, i8 1, i64 12, i1 false)
  call void @llvm.memset.p0.i64(ptr %two, i8 2, i64 12, i1 false)
  call void @llvm.memset.p0.i64(ptr %row, i8 3, i64 16, i1 false)
  %own.i = and i32 %seed.0, 63
  %own = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.i
"#;

/// The program as a module whose kernel is `@f`.
#[must_use]
pub fn runnable(program: &AbstractProgram, kind: Kind, seed: u64) -> String {
    let mut text = String::from(if kind == Kind::Amdgcn { AMDGCN } else { NVPTX });
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
    text
}

fn operation_text(out: &mut String, kind: Kind, value: u32, operation: &Operation, seed: u64) {
    let pick = |choices: u64| {
        let mixed = seed ^ u64::from(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % choices
    };
    let amd = kind == Kind::Amdgcn;
    // In the others values stay in registers, where the rules of control flow are tried harder.
    let in_memory = seed % 3 == 1;
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
        // From device memory, or through a pointer that may be private.
        Operation::Pure(_, [a, b]) if in_memory && pick(17) < 2 => {
            let _ = writeln!(out, "  {v}.i = and i32 {a}, 7");
            let _ = writeln!(out, "  {v}.at = getelementptr i32, ptr %gen, i32 {v}.i");
            let from = if pick(17) == 0 {
                "at"
            } else {
                let _ = writeln!(out, "  {v}.c = trunc i32 {b} to i1");
                let _ = writeln!(out, "  {v}.p = select i1 {v}.c, ptr {v}.at, ptr %pub.gen");
                "p"
            };
            writeln!(out, "  {v} = load i32, ptr {v}.{from}, align 4")
        }
        Operation::Pure(_, [a, b]) if in_memory && pick(3) == 0 => {
            private(out, amd, &v, (a, b), pick)
        }
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

/// Writes one place of private memory and reads another, or the same.
fn private(
    out: &mut String,
    amd: bool,
    v: &str,
    (a, b): (&Operand, &Operand),
    pick: impl Fn(u64) -> u64,
) -> std::fmt::Result {
    let (p, n) = if amd { ("ptr addrspace(5)", "p5") } else { ("ptr", "p0") };
    let place = |choice: u64| ["m", "k", "one", "one.1", "one.2", "two", "two.1"][choice as usize];
    let to = place(pick(77) % 7);
    match pick(13) {
        // A part, so that the old content counts.
        0 => {
            writeln!(out, "  {v}.t = trunc i32 {a} to i16")?;
            writeln!(out, "  store i16 {v}.t, {p} %{to}, align 2")?;
        }
        1 | 2 => {
            writeln!(out, "  {v}.i = and i32 {a}, 3")?;
            writeln!(out, "  {v}.at = getelementptr [4 x i32], {p} %row, i32 0, i32 {v}.i")?;
            writeln!(out, "  store i32 {b}, {p} {v}.at, align 4")?;
        }
        3 => writeln!(
            out,
            "  call void @llvm.memcpy.{n}.{n}.i64({p} %two, {p} %one, i64 8, i1 false)"
        )?,
        4 => writeln!(
            out,
            "  call void @llvm.memcpy.{n}.{n}.i64({p} %one.1, {p} %two, i64 8, i1 false)"
        )?,
        5 => writeln!(out, "  call void @set({p} captures(none) %one.2, i32 {a})")?,
        6 if amd => {
            writeln!(out, "  {v}.flat = addrspacecast {p} %k to ptr")?;
            writeln!(out, "  store i32 {a}, ptr {v}.flat, align 4")?;
        }
        7 => writeln!(out, "  call void @llvm.memset.{n}.i64({p} %two.1, i8 7, i64 4, i1 false)")?,
        8 => {
            writeln!(out, "  {v}.b = trunc i32 {b} to i8")?;
            writeln!(out, "  call void @llvm.memset.{n}.i64({p} %row, i8 {v}.b, i64 8, i1 false)")?;
        }
        // Reads only.
        9 => {}
        _ => writeln!(out, "  store i32 {a}, {p} %{to}, align 4")?,
    }
    match pick(17) {
        0..3 => {
            writeln!(out, "  {v}.j = and i32 {b}, 3")?;
            writeln!(out, "  {v}.from = getelementptr [4 x i32], {p} %row, i32 0, i32 {v}.j")?;
            writeln!(out, "  {v} = load i32, {p} {v}.from, align 4")
        }
        3 => {
            writeln!(out, "  {v}.from = getelementptr i8, {p} %row, i32 8")?;
            writeln!(out, "  {v} = load i32, {p} {v}.from, align 4")
        }
        choice => writeln!(out, "  {v} = load i32, {p} %{}, align 4", place(choice % 7)),
    }
}
