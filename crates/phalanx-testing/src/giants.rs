//! Families of large functions, as LLVM IR text.
//!
//! Each family is one shape of control flow at any size, chosen because some algorithm of a
//! compiler is super-linear on it: long chains, deep nests, many exits, irreducible cycles, wide
//! switches. The text is one amdgcn kernel. In the divergent mode, conditions depend on the
//! work-item id; in the uniform mode, only on a kernel argument.
//!
//! The same family, size and mode give the same text.

mod family;

use std::fmt::Write as _;

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

pub use family::Family;

/// What the conditions of a function depend on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The work-item id.
    Divergent,
    /// A kernel argument.
    Uniform,
}

/// A family at a size.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Giant {
    /// The shape.
    pub family: Family,
    /// How often it repeats, at least 1.
    pub size: usize,
    /// What its conditions depend on.
    pub mode: Mode,
}

const HEAD: &str = "\
target datalayout = \"e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-\
p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-\
v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9\"
target triple = \"amdgcn-amd-amdhsa\"

declare i32 @llvm.amdgcn.workitem.id.x()

";

const TAIL: &str = "}

attributes #0 = { nounwind \"target-cpu\"=\"gfx90a\" \"uniform-work-group-size\"=\"false\" }
";

impl Giant {
    /// A family at a size, divergent.
    #[must_use]
    pub const fn new(family: Family, size: usize) -> Self {
        Giant { family, size, mode: Mode::Divergent }
    }

    /// The text of the module.
    #[must_use]
    pub fn text(self) -> String {
        let mut writer =
            Writer { out: String::from(HEAD), rng: StdRng::seed_from_u64(self.size as u64) };
        writer.line("define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) #0 {");
        writer.line("entry:");
        writer.line("  %tid = call i32 @llvm.amdgcn.workitem.id.x()");
        writer.line(match self.mode {
            Mode::Divergent => "  %s = add i32 %tid, %n",
            Mode::Uniform => "  %s = add i32 %n, 7",
        });
        writer.body(self.family, self.size.max(1));
        writer.out += TAIL;
        writer.out
    }
}

struct Writer {
    out: String,
    rng: StdRng,
}

/// Writes one line of text; formatting to a string cannot fail.
macro_rules! w {
    ($writer:expr, $($arg:tt)*) => {{ let _ = writeln!($writer.out, $($arg)*); }};
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.out += line;
        self.out.push('\n');
    }

    fn finish(&mut self, value: &str) {
        w!(self, "  store i32 {value}, ptr addrspace(1) %p\n  ret void");
    }

    fn below(&mut self, limit: i32) -> i32 {
        self.rng.random_range(-limit..limit)
    }

    fn body(&mut self, family: Family, n: usize) {
        match family {
            Family::Line => self.straight(n),
            Family::Diamonds => self.diamonds(n),
            Family::Nest => self.nest(n, false),
            Family::NestBig => self.nest(n, true),
            Family::Ladder => self.ladder(n, false),
            Family::LadderLoop => self.ladder(n, true),
            Family::Switch => self.switch(n),
            Family::Interpreter => self.interpreter(n),
            Family::RandomLocal => self.random(n, true),
            Family::RandomGlobal => self.random(n, false),
            Family::EarlyExit => self.early_exit(n),
            Family::Breaks => self.breaks(n),
            Family::Infinite => self.infinite(n),
            Family::SequentialLoops => self.loops(n, 1),
            Family::SequentialNests => self.loops(n, 2),
            Family::SequentialDeepNests => self.loops(n, 4),
            Family::NestedIf => self.nested_if(n),
            Family::Unreachable => self.unreachable(n, false),
            Family::UnreachableOwn => self.unreachable(n, true),
            Family::Memory => self.memory(n),
        }
    }

    fn straight(&mut self, n: usize) {
        const OPS: [&str; 6] = ["add", "xor", "mul", "sub", "and", "or"];
        let mut value = "%s".to_string();
        for i in 0..n {
            let op = OPS[i % 6];
            if i % 3 == 0 && i > 0 {
                let other = self.rng.random_range(i.saturating_sub(50)..i);
                w!(self, "  %v{i} = {op} i32 {value}, %v{other}");
            } else {
                let constant = self.rng.random_range(1..1 << 12);
                w!(self, "  %v{i} = {op} i32 {value}, {constant}");
            }
            value = format!("%v{i}");
        }
        self.finish(&value);
    }

    fn diamonds(&mut self, n: usize) {
        let mut value = "%s".to_string();
        w!(self, "  br label %h0");
        for i in 0..n {
            let bound = self.below(1000);
            w!(
                self,
                "h{i}:\n  %c{i} = icmp slt i32 {value}, {bound}\n  br i1 %c{i}, label %a{i}, label %b{i}"
            );
            w!(self, "a{i}:\n  %x{i} = add i32 {value}, {}\n  br label %j{i}", i + 1);
            w!(self, "b{i}:\n  %y{i} = xor i32 {value}, {}\n  br label %j{i}", i + 3);
            w!(
                self,
                "j{i}:\n  %v{i} = phi i32 [ %x{i}, %a{i} ], [ %y{i}, %b{i} ]\n  br label %h{}",
                i + 1
            );
            value = format!("%v{i}");
        }
        w!(self, "h{n}:");
        self.finish(&value);
    }

    fn nest(&mut self, n: usize, big: bool) {
        w!(self, "  br label %h0");
        for i in 0..n {
            let before = match i {
                0 => "entry".to_string(),
                _ => format!("{}{}", if big { "d" } else { "h" }, i - 1),
            };
            w!(self, "h{i}:\n  %i{i} = phi i32 [ 0, %{before} ], [ %n{i}, %l{i} ]");
            if big {
                w!(
                    self,
                    "  %q{i} = icmp eq i32 %i{i}, %s\n  br i1 %q{i}, label %t{i}, label %d{i}"
                );
                w!(self, "t{i}:\n  %u{i} = add i32 %i{i}, 5\n  br label %d{i}");
                w!(self, "d{i}:\n  %z{i} = phi i32 [ %u{i}, %t{i} ], [ %i{i}, %h{i} ]");
            }
            match i + 1 < n {
                true => w!(self, "  br label %h{}", i + 1),
                false => w!(self, "  br label %body"),
            }
        }
        w!(self, "body:\n  store volatile i32 %s, ptr addrspace(1) %p\n  br label %l{}", n - 1);
        for i in (0..n).rev() {
            w!(self, "l{i}:\n  %n{i} = add i32 %i{i}, 1\n  %c{i} = icmp slt i32 %n{i}, %s");
            match i {
                0 => w!(self, "  br i1 %c0, label %h0, label %exit"),
                _ => w!(self, "  br i1 %c{i}, label %h{i}, label %l{}", i - 1),
            }
        }
        w!(self, "exit:");
        self.finish("%n0");
    }

    fn ladder(&mut self, n: usize, around: bool) {
        w!(self, "  %c = icmp slt i32 %s, 3\n  br i1 %c, label %a0, label %b0");
        let last = n - 1;
        for i in 0..n {
            let (mut left, right) = match i {
                0 => ("[ %s, %entry ]".to_string(), "[ %s, %entry ]".to_string()),
                _ => (format!("[ %x{0}, %a{0} ]", i - 1), format!("[ %y{0}, %b{0} ]", i - 1)),
            };
            if around && i == 0 {
                left += &format!(", [ %x{last}, %a{last} ]");
            }
            let next = |side: &str, end: &str| {
                if i < last { format!("{side}{}", i + 1) } else { end.to_string() }
            };
            let (a, b) = (next("a", if around { "a0" } else { "exit" }), next("b", "exit"));
            let (low, high) = (self.below(99), self.below(99));
            w!(
                self,
                "a{i}:\n  %p{i} = phi i32 {left}, [ %y{i}, %b{i} ]\n  %x{i} = add i32 %p{i}, {}",
                i + 1
            );
            w!(self, "  %e{i} = icmp sgt i32 %x{i}, {low}\n  br i1 %e{i}, label %b{i}, label %{a}");
            w!(
                self,
                "b{i}:\n  %q{i} = phi i32 {right}, [ %x{i}, %a{i} ]\n  %y{i} = xor i32 %q{i}, {}",
                i + 7
            );
            w!(
                self,
                "  %f{i} = icmp slt i32 %y{i}, {high}\n  br i1 %f{i}, label %a{i}, label %{b}"
            );
        }
        w!(self, "exit:");
        if around {
            self.finish(&format!("%y{last}"));
        } else {
            w!(self, "  %r = phi i32 [ %x{last}, %a{last} ], [ %y{last}, %b{last} ]");
            self.finish("%r");
        }
    }

    fn cases(&mut self, n: usize) {
        for i in 0..n {
            w!(self, "    i32 {}, label %c{i}", i * 3);
        }
        w!(self, "  ]");
    }

    fn switch(&mut self, n: usize) {
        w!(self, "  switch i32 %s, label %exit [");
        self.cases(n);
        for i in 0..n {
            w!(self, "c{i}:\n  %x{i} = mul i32 %n, {}\n  br label %exit", i + 1);
        }
        self.out += "exit:\n  %r = phi i32 [ %s, %entry ]";
        for i in 0..n {
            let _ = write!(self.out, ", [ %x{i}, %c{i} ]");
        }
        self.out.push('\n');
        self.finish("%r");
    }

    fn interpreter(&mut self, n: usize) {
        self.out += "  br label %loop\nloop:\n  %pc = phi i32 [ %s, %entry ]";
        for i in 0..n {
            let _ = write!(self.out, ", [ %x{i}, %c{i} ]");
        }
        w!(self, "\n  switch i32 %pc, label %exit [");
        self.cases(n);
        for i in 0..n {
            w!(self, "c{i}:\n  %x{i} = add i32 %pc, {}\n  br label %loop", i + 1);
        }
        w!(self, "exit:");
        self.finish("%pc");
    }

    fn random(&mut self, n: usize, local: bool) {
        let mut successors: Vec<Vec<usize>> = Vec::with_capacity(n);
        let mut predecessors = vec![Vec::new(); n];
        for i in 0..n {
            let mut targets = Vec::new();
            if i + 1 < n {
                targets.push(i + 1);
                if self.rng.random_bool(0.7) {
                    let target = if !local {
                        self.rng.random_range(1..n)
                    } else if self.rng.random_bool(0.85) {
                        i + self.rng.random_range(2..=20)
                    } else {
                        i.saturating_sub(self.rng.random_range(0..=20))
                    };
                    let target = target.clamp(1, n - 1);
                    if target != i + 1 {
                        targets.push(target);
                    }
                }
            }
            for &target in &targets {
                predecessors[target].push(i);
            }
            successors.push(targets);
        }
        w!(self, "  br label %b0");
        for i in 0..n {
            let mut incoming: Vec<String> =
                predecessors[i].iter().map(|p| format!("%w{p}, %b{p}")).collect();
            if i == 0 {
                incoming.insert(0, "%s, %entry".to_string());
            }
            w!(self, "b{i}:\n  %v{i} = phi i32 [ {} ]", incoming.join(" ], [ "));
            // One web of phis is fed by constants only.
            let constants: Vec<String> = incoming
                .iter()
                .map(|pair| {
                    let block = pair.rsplit('%').next().unwrap_or("entry");
                    format!("{}, %{block}", self.rng.random_range(0..10))
                })
                .collect();
            w!(
                self,
                "  %u{i} = phi i32 [ {} ]\n  %w{i} = add i32 %v{i}, %u{i}",
                constants.join(" ], [ ")
            );
            match successors[i][..] {
                [] => self.finish(&format!("%w{i}")),
                [only] => w!(self, "  br label %b{only}"),
                [one, other, ..] => {
                    let condition =
                        if self.rng.random_bool(0.5) { format!("%v{i}") } else { "%n".to_string() };
                    let bound = self.below(99);
                    w!(self, "  %c{i} = icmp slt i32 {condition}, {bound}");
                    w!(self, "  br i1 %c{i}, label %b{one}, label %b{other}");
                }
            }
        }
    }

    fn early_exit(&mut self, n: usize) {
        let mut value = "%s".to_string();
        w!(self, "  br label %b0");
        for i in 0..n {
            let wanted = self.rng.random_range(0..10_000);
            w!(
                self,
                "b{i}:\n  %x{i} = add i32 {value}, {}\n  %c{i} = icmp eq i32 %x{i}, {wanted}",
                i + 1
            );
            w!(self, "  br i1 %c{i}, label %exit, label %b{}", i + 1);
            value = format!("%x{i}");
        }
        w!(self, "b{n}:\n  br label %exit");
        self.out += "exit:\n  %r = phi i32 ";
        for i in 0..n {
            let _ = write!(self.out, "[ %x{i}, %b{i} ], ");
        }
        w!(self, "[ {value}, %b{n} ]");
        self.finish("%r");
    }

    fn breaks(&mut self, n: usize) {
        let mut value = "%iv".to_string();
        w!(
            self,
            "  br label %h\nh:\n  %iv = phi i32 [ %s, %entry ], [ %nx, %latch ]\n  br label %b0"
        );
        for i in 0..n {
            let wanted = self.rng.random_range(0..10_000);
            w!(
                self,
                "b{i}:\n  %x{i} = add i32 {value}, {}\n  %c{i} = icmp eq i32 %x{i}, {wanted}",
                i + 1
            );
            w!(self, "  br i1 %c{i}, label %o{i}, label %b{}", i + 1);
            value = format!("%x{i}");
        }
        w!(
            self,
            "b{n}:\n  br label %latch\nlatch:\n  %nx = add i32 {value}, 1\n  %cl = icmp slt i32 %nx, 100000"
        );
        w!(self, "  br i1 %cl, label %h, label %exit");
        for i in 0..n {
            w!(self, "o{i}:\n  %z{i} = mul i32 %x{i}, 3\n  br label %exit");
        }
        self.out += "exit:\n  %r = phi i32 [ %nx, %latch ]";
        for i in 0..n {
            let _ = write!(self.out, ", [ %z{i}, %o{i} ]");
        }
        self.out.push('\n');
        self.finish("%r");
    }

    fn infinite(&mut self, n: usize) {
        w!(self, "  br label %b0");
        for i in 0..n {
            w!(
                self,
                "b{i}:\n  %c{i} = icmp eq i32 %s, {i}\n  br i1 %c{i}, label %l{i}, label %b{}",
                i + 1
            );
            w!(self, "l{i}:\n  store volatile i32 {i}, ptr addrspace(1) %p\n  br label %l{i}");
        }
        w!(self, "b{n}:");
        self.finish("%s");
    }

    fn loops(&mut self, n: usize, depth: usize) {
        w!(self, "  br label %h0_0");
        let mut last = "entry".to_string();
        for k in 0..n {
            for d in 0..depth {
                let before = if d == 0 { last.clone() } else { format!("h{k}_{}", d - 1) };
                w!(
                    self,
                    "h{k}_{d}:\n  %i{k}_{d} = phi i32 [ 0, %{before} ], [ %n{k}_{d}, %l{k}_{d} ]"
                );
                match d + 1 < depth {
                    true => w!(self, "  br label %h{k}_{}", d + 1),
                    false => w!(self, "  br label %l{k}_{d}"),
                }
            }
            for d in (0..depth).rev() {
                w!(
                    self,
                    "l{k}_{d}:\n  %n{k}_{d} = add i32 %i{k}_{d}, 1\n  %c{k}_{d} = icmp slt i32 %n{k}_{d}, %s"
                );
                let next = match d {
                    0 if k + 1 < n => format!("h{}_0", k + 1),
                    0 => "exit".to_string(),
                    _ => format!("l{k}_{}", d - 1),
                };
                w!(self, "  br i1 %c{k}_{d}, label %h{k}_{d}, label %{next}");
            }
            last = format!("l{k}_0");
        }
        w!(self, "exit:");
        self.finish(&format!("%n{}_0", n - 1));
    }

    fn nested_if(&mut self, n: usize) {
        w!(self, "  br label %h0");
        for i in 0..n {
            let before = if i == 0 { "%s".to_string() } else { format!("%x{}", i - 1) };
            let bound = self.below(99);
            w!(
                self,
                "h{i}:\n  %x{i} = add i32 {before}, {}\n  %c{i} = icmp slt i32 %x{i}, {bound}",
                i + 1
            );
            w!(self, "  br i1 %c{i}, label %h{}, label %j{i}", i + 1);
        }
        w!(self, "h{n}:\n  br label %j{}", n - 1);
        for i in (0..n).rev() {
            let inner = match i + 1 < n {
                true => format!("[ %r{0}, %j{0} ]", i + 1),
                false => format!("[ %x{}, %h{n} ]", n - 1),
            };
            let next = if i == 0 { "exit".to_string() } else { format!("j{}", i - 1) };
            w!(self, "j{i}:\n  %r{i} = phi i32 {inner}, [ %x{i}, %h{i} ]\n  br label %{next}");
        }
        w!(self, "exit:");
        self.finish("%r0");
    }

    fn unreachable(&mut self, n: usize, own: bool) {
        let mut value = "%s".to_string();
        w!(self, "  br label %h0");
        for i in 0..n {
            let default = if own { format!("u{i}") } else { "u".to_string() };
            w!(
                self,
                "h{i}:\n  %m{i} = urem i32 {value}, 3\n  switch i32 %m{i}, label %{default} ["
            );
            w!(self, "    i32 0, label %a{i}\n    i32 1, label %b{i}\n    i32 2, label %j{i}\n  ]");
            w!(self, "a{i}:\n  %x{i} = add i32 {value}, {}\n  br label %j{i}", i + 1);
            w!(self, "b{i}:\n  %y{i} = xor i32 {value}, {}\n  br label %j{i}", i + 3);
            w!(
                self,
                "j{i}:\n  %v{i} = phi i32 [ %x{i}, %a{i} ], [ %y{i}, %b{i} ], [ {value}, %h{i} ]"
            );
            w!(self, "  br label %h{}", i + 1);
            if own {
                w!(self, "u{i}:\n  unreachable");
            }
            value = format!("%v{i}");
        }
        w!(self, "h{n}:");
        self.finish(&value);
        if !own {
            w!(self, "u:\n  unreachable");
        }
    }

    fn memory(&mut self, n: usize) {
        w!(self, "  %slot = alloca [64 x i32], align 4, addrspace(5)");
        w!(self, "  store i32 %s, ptr addrspace(5) %slot, align 4");
        for i in 0..n {
            let from = self.rng.random_range(0..64);
            w!(self, "  %i{i} = load i32, ptr addrspace(5) %slot, align 4");
            w!(self, "  %w{i} = sext i32 %i{i} to i64");
            w!(self, "  %a{i} = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %w{i}");
            w!(self, "  %l{i} = load i32, ptr addrspace(1) %a{i}, align 4");
            w!(
                self,
                "  %f{i} = getelementptr inbounds [64 x i32], ptr addrspace(5) %slot, i32 0, i32 {from}"
            );
            w!(self, "  %m{i} = mul nsw i32 %l{i}, {}", i % 97);
            w!(self, "  store i32 %m{i}, ptr addrspace(5) %f{i}, align 4");
            w!(self, "  %t{i} = call i32 @llvm.amdgcn.workitem.id.x(), !range !0");
        }
        w!(self, "  %v = load i32, ptr addrspace(5) %slot, align 4");
        self.finish("%v");
        self.out += "}\n!0 = !{i32 0, i32 1024}\ndefine void @unused() {\n  ret void\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm_tools::require;

    #[test]
    fn llvm_takes_every_family() {
        let Some(assembler) = require("llvm-as") else { return };
        for &family in Family::ALL {
            for (size, mode) in [(1, Mode::Uniform), (2, Mode::Divergent), (30, Mode::Divergent)] {
                let text = Giant { family, size, mode }.text();
                let run =
                    assembler.run(["-disable-output"], text.as_bytes()).expect("llvm-as runs");
                assert!(run.success(), "{} {size}: {}", family.name(), run.errors());
            }
        }
    }

    #[test]
    fn names_are_names() {
        for &family in Family::ALL {
            assert_eq!(Family::from_name(family.name()), Some(family));
        }
    }
}
