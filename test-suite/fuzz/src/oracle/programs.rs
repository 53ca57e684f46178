//! Toy programs as kernels that run.
//!
//! Where a toy program says "fresh for each thread" or "fresh for each group" the kernel computes something that is: a
//! generator of numbers in private memory, an atomic counter, a shuffle, a ballot, a vote. Pure functions become
//! arithmetic, selections, and ways through private and workgroup memory, chosen by the value's number. Private memory holds
//! numbers, structures and an array, which are written in one place and read in another, by the thread itself and by a
//! function that it calls; functions of [`out`] write and read it through pointers. Some blocks have
//! barriers; a launch that hangs there counts as far as it came. There are no data races between threads of a workgroup
//! that a uniform address could show, since answers at that scope assume none.
//!
//! Two of three kernels call functions, which are toy programs as well: they return what is there where they
//! return, one of them a pair, call each other, and come back to themselves as often as an argument says.

mod out;
mod preamble;

use std::fmt::Write as _;

use phalanx_graph::DomTree;
use phalanx_testing::{
    abstract_program::{AbstractProgram, Operand, Operation, Terminator},
    generate::{self, Options, Shape},
};

use preamble::{AMDGCN, AMDGCN_START, NVPTX, NVPTX_START};

/// For which target.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// AMDGPU.
    Amdgcn,
    /// NVPTX.
    Nvptx,
}

/// Which function an operation is in, and which there are to call.
#[derive(Copy, Clone)]
struct Place {
    kind: Kind,
    seed: u64,
    /// How many functions may be called.
    callees: u64,
    /// It is not the kernel.
    is_called: bool,
}

impl Place {
    /// A number below `choices`, by what it is for.
    fn pick(self, what: u64, choices: u64) -> u64 {
        let mixed = self.seed ^ what.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % choices
    }
}

/// The program as a module whose kernel is `@f`.
#[must_use]
pub fn runnable(program: &AbstractProgram, kind: Kind, seed: u64) -> String {
    module_text(program, kind, seed, Helpers::any(seed), &stated(kind, seed))
}

/// As [`runnable`], with two functions of so many blocks that return something; one may call the other.
#[must_use]
pub(crate) fn runnable_with_large(
    program: &AbstractProgram,
    kind: Kind,
    seed: u64,
    blocks: usize,
) -> String {
    let helpers = Helpers { count: 2, is_recursive: false, blocks, shape: Some(Shape::Structured) };
    module_text(program, kind, seed, helpers, &stated(kind, seed))
}

/// As [`runnable`], without functions to call, for launches of any size.
#[must_use]
pub fn runnable_alone(program: &AbstractProgram, kind: Kind, seed: u64) -> String {
    let none = Helpers { count: 0, ..Helpers::any(seed) };
    module_text(program, kind, seed, none, &Default::default())
}

/// The functions that a kernel calls.
#[derive(Clone, Copy)]
struct Helpers {
    count: u64,
    /// Whether each may call any; else only those before it.
    is_recursive: bool,
    blocks: usize,
    shape: Option<Shape>,
}

impl Helpers {
    fn any(seed: u64) -> Helpers {
        let is_recursive = (seed / 3).is_multiple_of(2);
        Helpers { count: seed % 3, is_recursive, blocks: 6, shape: None }
    }
}

fn module_text(
    program: &AbstractProgram,
    kind: Kind,
    seed: u64,
    helpers: Helpers,
    (facts, tail): &(String, String),
) -> String {
    let amd = kind == Kind::Amdgcn;
    let mut text = String::new();
    for number in 0..helpers.count {
        let seed = seed.wrapping_mul(31).wrapping_add(number + 1);
        let callees = if helpers.is_recursive { helpers.count } else { number };
        let Helpers { blocks, shape, .. } = helpers;
        let options = Options { blocks, shape, ..Options::default() };
        let helper = generate::program(seed, options);
        helper_text(&mut text, &helper, Place { kind, seed, callees, is_called: true }, number);
    }
    let convention = if amd { "amdgpu_kernel" } else { "ptx_kernel" };
    let _ = writeln!(
        text,
        "define {convention} void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {facts} {{\nb0:"
    );
    text.push_str(if amd { AMDGCN_START } else { NVPTX_START });
    let place = Place { kind, seed, callees: helpers.count, is_called: false };
    body_text(&mut text, program, place, |text, _| {
        let _ = writeln!(text, "  ret void");
    });
    text.push_str("}\n");
    let preamble = if amd { AMDGCN } else { NVPTX };
    let functions = if text.contains("@o.") { out::functions(amd) } else { String::new() };
    format!("{preamble}{functions}{text}{tail}")
}

/// What some programs say of their launches: on the function, and behind it.
fn stated(kind: Kind, seed: u64) -> (String, String) {
    let sizes = [[32, 1, 1], [64, 1, 1], [8, 4, 2], [16, 4, 1], [33, 2, 1], [64, 2, 1], [4, 1, 1]];
    let Some([x, y, z]) = sizes.get((seed >> 17) as usize % 10) else { return Default::default() };
    let cluster = ["", "", " \"nvvm.cluster_dim\"=\"2,1,1\"", " \"nvvm.cluster_dim\"=\"1,2,1\""];
    let cluster = cluster[(seed >> 23) as usize % cluster.len()];
    match kind {
        Kind::Nvptx => (format!("\"nvvm.reqntid\"=\"{x},{y},{z}\"{cluster}"), String::new()),
        Kind::Amdgcn => {
            // Otherwise workgroups at the edge of the grid may be smaller.
            let are_uniform = seed >> 27 & 1 == 0;
            (
                format!("\"uniform-work-group-size\"=\"{are_uniform}\" !reqd_work_group_size !0"),
                format!("!0 = !{{i32 {x}, i32 {y}, i32 {z}}}\n"),
            )
        }
    }
}

/// The function `@h` with a number. The last parameter says how deep calls may go on.
fn helper_text(text: &mut String, program: &AbstractProgram, place: Place, number: u64) {
    let amd = place.kind == Kind::Amdgcn;
    let ty = result_type(number);
    let _ = writeln!(
        text,
        "define internal {ty} @h{number}(ptr addrspace(1) %gp, i32 %a0, i32 %a1, i32 %depth) {{\nentry:"
    );
    text.push_str(if amd { AMDGCN_START } else { NVPTX_START });
    text.push_str("  %deeper = sub i32 %depth, 1\n  %stop = icmp slt i32 %depth, 1\n");
    text.push_str("  br i1 %stop, label %bottom, label %b0\nbottom:\n");
    let give = |text: &mut String, block: &str, first: &str, second: &str| {
        let _ = match ty {
            "i32" => writeln!(text, "  ret i32 {first}"),
            _ => {
                let _ = writeln!(text, "  %{block}.p = insertvalue {ty} poison, i32 {first}, 0");
                let _ =
                    writeln!(text, "  %{block}.q = insertvalue {ty} %{block}.p, i32 {second}, 1");
                writeln!(text, "  ret {ty} %{block}.q")
            }
        };
    };
    give(text, "bottom", "%a1", "%a0");
    text.push_str("b0:\n");
    let cfg = program.cfg();
    let dom = DomTree::new(&cfg);
    body_text(text, program, place, |text, number| {
        // Whatever is computed on every way here.
        let mut above: Vec<String> = ["%a0", "%a1", "1", "2", "%seed.0"].map(String::from).to_vec();
        let mut at = Some(phalanx_graph::Node::new(number));
        while let Some(node) = at {
            let operations = program.blocks[node.index()].operations.iter();
            let numbers = operations.filter(|(_, o)| !matches!(o, Operation::Test(_)));
            above.extend(numbers.map(|(value, _)| format!("%v{value}")));
            at = dom.idom(node);
        }
        let choose = |what: u64| {
            let at = place.pick(what + number as u64 * 7, above.len() as u64);
            above[at as usize].clone()
        };
        give(text, &format!("r{number}"), &choose(1 << 20), &choose(1 << 21));
    });
    text.push_str("}\n");
    if ty == "i32" {
        // The same by a call that may unwind.
        let arguments = "(ptr addrspace(1) %gp, i32 %a0, i32 %a1, i32 %depth)";
        let _ = writeln!(
            text,
            "define internal i32 @i{number}{arguments} personality ptr null {{\n  \
             %r = invoke i32 @h{number}{arguments} to label %ok unwind label %pad\nok:\n  ret i32 %r\npad:\n  \
             %caught = landingpad {{ ptr, i32 }} cleanup\n  resume {{ ptr, i32 }} %caught\n}}"
        );
    }
}

fn result_type(helper: u64) -> &'static str {
    if helper == 1 { "{ i32, i32 }" } else { "i32" }
}

fn body_text(
    text: &mut String,
    program: &AbstractProgram,
    place: Place,
    give: impl Fn(&mut String, usize),
) {
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
                operation_text(&mut rest, place, *value, operation);
            }
        }
        text.push_str(&rest);
        let _ = match &block.terminator {
            Terminator::Return => {
                give(text, number);
                Ok(())
            }
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
}

/// An operation among the threads of a wave, on data `a` and with lanes `b`, whatever these are.
fn group_text(out: &mut String, place: Place, value: u32, [a, b]: &[Operand; 2]) {
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
                let pattern = [0x041f, 0x001f, 0x8000, 0x80e4][pick(3, 4) as usize];
                writeln!(out, "  {v} = call i32 {name}.ds.swizzle(i32 {a}, i32 {pattern})")
            }
            5 => {
                // Quads, rows shifted and turned round, mirrors.
                let control = [0x1b, 0x111, 0x121, 0x140, 0x141][pick(3, 5) as usize];
                let rest = format!("i32 {control}, i32 15, i32 15, i1 {}", pick(4, 2) == 0);
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
        // One segment, or four. Who is not there must not be read: the lane that is asked for, or else the first.
        2 | 3 => {
            let segment = [0x1f, 0x1f, 0x181f][pick(3, 3) as usize];
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
            writeln!(
                out,
                "  {v} = call i32 {name}.shfl.sync.{way}.i32(i32 -1, i32 {a}, i32 1, i32 {end})"
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
        // No reductions at barriers: one that is aligned and not reached by all means nothing.
        _ => writeln!(out, "  {v} = call i32 {name}.activemask()"),
    };
}

/// A call of one of the functions there are.
fn call_text(out: &mut String, place: Place, value: u32, [a, b]: &[Operand; 2]) {
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

fn operation_text(out: &mut String, place: Place, value: u32, operation: &Operation) {
    let pick = |choices: u64| place.pick(u64::from(value), choices);
    let amd = place.kind == Kind::Amdgcn;
    // In the others values stay in registers, where the rules of control flow are tried harder.
    let in_memory = place.seed % 3 == 1;
    let v = format!("%v{value}");
    let _ = match operation {
        Operation::Phi(_) => Ok(()),
        Operation::Argument(number) => writeln!(out, "  {v} = add i32 %a{number}, 0"),
        Operation::ThreadId => {
            let call = match (pick(9), amd) {
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
