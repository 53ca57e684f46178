//! Implements the operations of a toy program in a kernel, with types and memories that depend on
//! the operation's number.

use super::{Kind, Place, out, result_type};
use phalanx_testing::abstract_program::{Operand, Operation};
use std::fmt::Write as _;

/// An operation among the threads of a wave, on data `a` and lanes `b`.
pub(super) fn group_text(out: &mut String, place: Place, value: u32, [a, b]: &[Operand; 2]) {
    let pick = |salt: u64, choices: u64| place.pick(u64::from(value) + (salt << 25), choices);
    let v = format!("%v{value}");
    let reduction = ["umin", "umax", "and", "or", "add", "xor"][pick(1, 6) as usize];
    if place.kind == Kind::Amdgcn {
        let name = "@llvm.amdgcn";
        let _ = match pick(2, 7) {
            0 | 1 => {
                writeln!(out, "  {v} = call i32 {name}.wave.reduce.{reduction}.i32(i32 {a}, i32 0)")
            }
            number @ (2 | 3) => {
                let way = if number == 2 { "permute" } else { "bpermute" };
                let _ = writeln!(out, "  {v}.to = shl i32 {b}, 2");
                writeln!(out, "  {v} = call i32 {name}.ds.{way}(i32 {v}.to, i32 {a})")
            }
            4 => {
                let pattern = [0x041f, 0x001f, 0x8000, 0x80e4, 0x80b1, 0x101f][pick(3, 6) as usize];
                writeln!(out, "  {v} = call i32 {name}.ds.swizzle(i32 {a}, i32 {pattern})")
            }
            5 => {
                // Quads, rows shifted and turned round, mirrors.
                let control =
                    [0x1b, 0, 0x55, 0x111, 0x121, 0x128, 0x140, 0x141][pick(3, 8) as usize];
                let banks = [15, 15, 5][pick(5, 3) as usize];
                let rest = format!("i32 {control}, i32 15, i32 {banks}, i1 {}", pick(4, 2) == 0);
                writeln!(out, "  {v} = call i32 {name}.update.dpp.i32(i32 {b}, i32 {a}, {rest})")
            }
            _ => {
                let _ = writeln!(out, "  {v}.bit = trunc i32 {a} to i1");
                let _ = writeln!(out, "  {v}.b = call i64 {name}.ballot.i64(i1 {v}.bit)");
                writeln!(out, "  {v} = trunc i64 {v}.b to i32")
            }
        };
        return;
    }
    let name = "@llvm.nvvm";
    let bit = |out: &mut String| writeln!(out, "  {v}.bit = trunc i32 {a} to i1");
    let _ = match pick(2, 11) {
        0 | 1 => writeln!(out, "  {v} = call i32 {name}.redux.sync.{reduction}(i32 {a}, i32 -1)"),
        // One segment, or four. An inactive lane must not be read: the requested lane if it is
        // active, otherwise the first one.
        2 | 3 => {
            let segment = [0x1f, 0x1f, 0x181f, 0x1c1f][pick(3, 4) as usize];
            let _ =
                writeln!(out, "  {v}.there = call i32 {name}.vote.ballot.sync(i32 -1, i1 true)");
            let _ = writeln!(out, "  {v}.first = call i32 @llvm.cttz.i32(i32 {v}.there, i1 false)");
            let _ = writeln!(out, "  {v}.wanted = and i32 {b}, 31");
            let _ = writeln!(out, "  {v}.is = lshr i32 {v}.there, {v}.wanted");
            let _ = writeln!(out, "  {v}.ok = trunc i32 {v}.is to i1");
            let _ = writeln!(out, "  {v}.lane = select i1 {v}.ok, i32 {v}.wanted, i32 {v}.first");
            writeln!(
                out,
                "  {v} = call i32 {name}.shfl.sync.idx.i32(i32 -1, i32 {a}, i32 {v}.lane, i32 {segment})"
            )
        }
        4 => {
            let (way, end) = [("up", 0), ("down", 31), ("bfly", 31)][pick(3, 3) as usize];
            let by = [1, 1, 4, 8][pick(4, 4) as usize];
            writeln!(
                out,
                "  {v} = call i32 {name}.shfl.sync.{way}.i32(i32 -1, i32 {a}, i32 {by}, i32 {end})"
            )
        }
        number @ (5 | 6) => {
            let _ = match number {
                5 => writeln!(
                    out,
                    "  {v}.both = call {{ i32, i1 }} {name}.shfl.sync.bfly.i32p(i32 -1, i32 {a}, i32 3, i32 31)"
                ),
                _ => writeln!(
                    out,
                    "  {v}.both = call {{ i32, i1 }} {name}.match.all.sync.i32p(i32 -1, i32 {a})"
                ),
            };
            match pick(3, 2) {
                0 => writeln!(out, "  {v} = extractvalue {{ i32, i1 }} {v}.both, 0"),
                _ => {
                    let _ = writeln!(out, "  {v}.p = extractvalue {{ i32, i1 }} {v}.both, 1");
                    writeln!(out, "  {v} = zext i1 {v}.p to i32")
                }
            }
        }
        7 => writeln!(out, "  {v} = call i32 {name}.match.any.sync.i32(i32 -1, i32 {a})"),
        8 => {
            let _ = bit(out);
            let vote = ["all", "any", "uni"][pick(3, 3) as usize];
            let _ = writeln!(out, "  {v}.v = call i1 {name}.vote.{vote}.sync(i32 -1, i1 {v}.bit)");
            writeln!(out, "  {v} = zext i1 {v}.v to i32")
        }
        9 => {
            let _ = writeln!(out, "  {v}.both = call {{ i32, i1 }} {name}.elect.sync(i32 -1)");
            let _ = writeln!(out, "  {v}.p = extractvalue {{ i32, i1 }} {v}.both, 1");
            writeln!(out, "  {v} = zext i1 {v}.p to i32")
        }
        // No reductions at barriers: an aligned barrier that not all threads reach is undefined.
        _ => writeln!(out, "  {v} = call i32 {name}.activemask()"),
    };
}

/// A call of one of the functions there are.
pub(super) fn call_text(out: &mut String, place: Place, value: u32, [a, b]: &[Operand; 2]) {
    let number = place.pick(u64::from(value) + (1 << 22), place.callees);
    let v = format!("%v{value}");
    let depth = match (place.is_called, place.pick(u64::from(value) + (1 << 23), 4)) {
        (true, _) => "%deeper".into(),
        (false, 0) => {
            let _ = writeln!(out, "  {v}.depth = and i32 %seed.0, 1");
            format!("{v}.depth")
        }
        (false, constant) => constant.min(2).to_string(),
    };
    let arguments = format!("(ptr addrspace(1) %gp, i32 {a}, i32 {b}, i32 {depth})");
    let ty = result_type(number);
    let _ = match ty {
        "i32" => {
            let way = if place.pick(u64::from(value) + (1 << 22), 3) == 0 { 'i' } else { 'h' };
            writeln!(out, "  {v} = call i32 @{way}{number}{arguments}")
        }
        _ => {
            let _ = writeln!(out, "  {v}.both = call {ty} @h{number}{arguments}");
            let member = place.pick(u64::from(value) + (1 << 24), 2);
            writeln!(out, "  {v} = extractvalue {ty} {v}.both, {member}")
        }
    };
}

pub(super) fn operation_text(out: &mut String, place: Place, value: u32, operation: &Operation) {
    let pick = |choices: u64| place.pick(u64::from(value), choices);
    let amd = place.kind == Kind::Amdgcn;
    // In the other programs values stay in registers, which exercises the rules of control flow
    // more.
    let in_memory = place.seed % 3 == 1;
    let v = format!("%v{value}");
    let _ = match operation {
        Operation::Phi(_) => Ok(()),
        Operation::Argument(number) => writeln!(out, "  {v} = add i32 %a{number}, 0"),
        Operation::ThreadId => {
            let call = match (pick(11), amd) {
                (0, true) => "@llvm.amdgcn.workitem.id.y()",
                (0, false) => "@llvm.nvvm.read.ptx.sreg.tid.y()",
                (1, true) => "@llvm.amdgcn.workgroup.id.x()",
                (1, false) => "@llvm.nvvm.read.ptx.sreg.ctaid.x()",
                (2, true) => "@llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)",
                (2, false) => "@llvm.nvvm.read.ptx.sreg.laneid()",
                (3, true) => "@llvm.amdgcn.cluster.workgroup.id.x()",
                (3, false) => "@llvm.nvvm.read.ptx.sreg.cluster.ctarank()",
                (4, true) => "@llvm.amdgcn.cluster.id.x()",
                (4, false) => "@llvm.nvvm.read.ptx.sreg.clusterid.x()",
                (5, true) => "@llvm.amdgcn.cluster.workgroup.max.id.x()",
                (5, false) => "@llvm.nvvm.read.ptx.sreg.cluster.nctaid.x()",
                (_, true) => "@llvm.amdgcn.workitem.id.x()",
                (_, false) => "@llvm.nvvm.read.ptx.sreg.tid.x()",
            };
            match pick(11) {
                // The number of the quad: in the wave, and in a workgroup of one dimension.
                choice @ (2 | 9 | 10) if place.seed.is_multiple_of(2) => {
                    let cut = if choice == 9 { "and" } else { "lshr" };
                    let by = if choice == 9 { -4 } else { 2 };
                    let _ = writeln!(out, "  {v}.id = call i32 {call}");
                    writeln!(out, "  {v} = {cut} i32 {v}.id, {by}")
                }
                _ => writeln!(out, "  {v} = call i32 {call}"),
            }
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
        Operation::Pure(_, operands) if place.callees > 0 && (4..8).contains(&pick(11)) => {
            call_text(out, place, value, operands);
            Ok(())
        }
        Operation::Pure(_, operands) if pick(11) == 8 => {
            group_text(out, place, value, operands);
            Ok(())
        }
        Operation::Pure(_, [a, b]) if pick(11) >= 9 || place.callees == 0 && pick(11) == 4 => {
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

/// A value of the thread's indices, most of which may cancel out, and of other values.
pub(super) fn of_indices(
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
    match pick(9) {
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
        7 => {
            // Poison in threads from the 33rd on.
            let shift = ["lshr", "shl", "ashr"][(pick(27) / 9) as usize];
            let _ = writeln!(out, "  {v}.bit = {shift} i32 1, {v}.{of}");
            let _ = writeln!(out, "  {v}.frozen = freeze i32 {v}.bit");
            let _ = writeln!(out, "  {v}.few = icmp ult i32 {v}.frozen, 2");
            writeln!(out, "  {v} = select i1 {v}.few, i32 {a}, i32 {b}")
        }
        _ => {
            let _ = writeln!(out, "  {v}.back = sub i32 {v}.sum, {v}.row");
            writeln!(out, "  {v} = freeze i32 {v}.back")
        }
    }
}

/// Writes one place of private memory and reads another, or the same.
pub(super) fn private(
    out: &mut String,
    amd: bool,
    v: &str,
    (a, b): (&Operand, &Operand),
    pick: impl Fn(u64) -> u64,
) -> std::fmt::Result {
    let (p, n) = if amd { ("ptr addrspace(5)", "p5") } else { ("ptr", "p0") };
    let place = |choice: u64| ["m", "k", "one", "one.1", "one.2", "two", "two.1"][choice as usize];
    let to = place(pick(77) % 7);
    if pick(31) < 15 {
        out::call_text(out, amd, v, (a, b), &pick)?;
    }
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
