//! Random kernels with `undef`, poison and frozen values in every place where a pass could
//! mishandle them.
//!
//! A kernel consists of statements: operations, loads and stores, branches with an arm or two,
//! switches, loops that end, blocks that several branches share, and code that is never executed.
//! Each thread writes to an area of its own, so results do not depend on the order of threads.
//!
//! The generator tracks whether each value is *certain*: neither poison nor `undef` in any launch.
//! Where poison is undefined behaviour (conditions, divisors, arguments that are `noundef`) it
//! nearly always takes a certain value, since otherwise most programs would be undefined.
//! Everywhere else, and in code that is not executed, it takes any value. Some values look
//! uncertain but are not, on purpose: `select i1 %g, i1 %p, i1 false` where `%p` is poison only
//! without `%g`, a division behind a test of its divisor, `undef` from an edge that is never taken.
//!
//! ```text
//! %v3 = shl nuw i32 %v1, %v2                        ; often poison
//! %v4 = freeze i32 %v3
//! br i1 %v5, label %b1, label %b2                   ; certain
//! b1: ... %v6 = udiv i32 poison, %v4 ...            ; where %v4 is no zero
//! b3: %v9 = phi i32 [ %v6, %b1 ], [ undef, %b2 ]
//! ```
//!
//! Invariant: the text depends on the choices only. Statements nest up to [`DEPTH`], so recursion
//! here is bounded.

use std::fmt::Write as _;

use rand::{Rng as _, RngCore, seq::IndexedRandom as _};

use super::operations::Ty;
use crate::oracle::programs::Kind;

/// Statements nest no deeper.
const DEPTH: u32 = 3;

/// Bytes that all threads read, at the start of the buffer.
pub const INPUT: u64 = 64;

/// Bytes that each thread has for itself behind them.
pub const AREA: u64 = 256;

/// A value that can be named.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) text: String,
    pub(super) ty: Ty,
    pub(super) is_certain: bool,
}

/// How certain an operand has to be.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// Any value.
    Any,
    /// Poison would be undefined behaviour.
    Certain,
}

/// A kernel that is being written.
pub(super) struct Writer<'r> {
    pub(super) rng: &'r mut dyn RngCore,
    pub(super) out: String,
    pub(super) kind: Kind,
    pub(super) scope: Vec<Known>,
    /// Operations so far, to be repeated.
    pub(super) history: Vec<Known>,
    /// Conditions of branches, to branch on again.
    pub(super) conditions: Vec<String>,
    values: u32,
    blocks: u32,
    /// The block that is being written.
    pub(super) block: String,
    /// Whether the current code is never executed.
    is_dead: bool,
    /// How many statements may follow.
    budget: u32,
    depth: u32,
}

/// A random kernel `@f`, of some `size` statements.
#[must_use]
pub fn random(rng: &mut dyn RngCore, size: u32) -> String {
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let mut writer = Writer {
        rng,
        out: String::new(),
        kind,
        scope: Vec::new(),
        history: Vec::new(),
        conditions: Vec::new(),
        values: 0,
        blocks: 0,
        block: "entry".to_owned(),
        is_dead: false,
        budget: size,
        depth: 0,
    };
    writer.start();
    while writer.budget > 0 {
        writer.statement();
    }
    writer.finish();
    writer.out
}

const HELPERS: &str = "
define internal i32 @picks(i1 noundef %c, i32 %x, i32 %y) convergent {
  %r = select i1 %c, i32 %x, i32 %y
  ret i32 %r
}
define internal noundef i32 @sure(i32 noundef %x, i32 %y) memory(none) nounwind willreturn {
  %f = freeze i32 %y
  %r = add i32 %x, %f
  ret i32 %r
}
define internal i32 @ways(i32 %x, i32 noundef %y) {
  %c = icmp ult i32 %y, 3
  br i1 %c, label %few, label %many
few:
  %s = add nuw i32 %x, 5
  br label %end
many:
  br label %end
end:
  %r = phi i32 [ %s, %few ], [ undef, %many ]
  ret i32 %r
}
!0 = !{}
!1 = !{i32 0, i32 64}
";

const SHARED: &str = "
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.abs.i32(i32, i1)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.usub.sat.i32(i32, i32)
declare { i32, i1 } @llvm.uadd.with.overflow.i32(i32, i32)
declare i32 @llvm.bitreverse.i32(i32 noundef)
declare void @llvm.assume(i1)
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
";

impl Writer<'_> {
    pub(super) fn line(&mut self, text: &str) {
        self.out.push_str("  ");
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A name that nothing has yet.
    pub(super) fn name(&mut self) -> String {
        self.values += 1;
        format!("%v{}", self.values)
    }

    /// Gives the right-hand side of an assignment a name.
    pub(super) fn value(&mut self, ty: Ty, is_certain: bool, text: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {text}"));
        self.scope.push(Known { text: name.clone(), ty, is_certain });
        self.history.push(Known { text: text.to_owned(), ty, is_certain });
        name
    }

    /// Whether all names in a text are in scope here.
    pub(super) fn is_seen(&self, text: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.';
        text.split('%').skip(1).all(|rest| {
            let name = rest.split(|c| !is_part(c)).next().unwrap_or_default();
            self.scope.iter().any(|known| known.text.strip_prefix('%') == Some(name))
        })
    }

    /// Computes something again, often with other promises.
    fn again(&mut self) {
        let recent = &self.history[self.history.len().saturating_sub(25)..];
        let Some(known) = recent.choose(self.rng).cloned() else { return self.operation() };
        if !self.is_seen(&known.text)
            || known.text.contains("call i") && known.text.contains("llvm.nv")
        {
            return self.operation();
        }
        let text = self.with_other_promises(&known.text);
        self.value(known.ty, known.is_certain && text == known.text, &text);
    }

    /// The operation with flags added or removed.
    pub(super) fn with_other_promises(&mut self, text: &str) -> String {
        const FLAGS: &[(&str, &str)] = &[
            ("add ", "nsw "),
            ("add ", "nuw "),
            ("sub ", "nuw "),
            ("mul ", "nsw "),
            ("shl ", "nuw "),
            ("lshr ", "exact "),
            ("udiv ", "exact "),
            ("or ", "disjoint "),
            ("zext ", "nneg "),
            ("icmp ", "samesign "),
            ("trunc ", "nuw "),
            ("fadd ", "nnan "),
        ];
        if self.chance(0.3) {
            return text.to_owned();
        }
        let Some(&(op, flag)) = FLAGS
            .iter()
            .filter(|(op, _)| text.starts_with(op))
            .collect::<Vec<_>>()
            .choose(self.rng)
            .copied()
        else {
            return match text.strip_suffix(", !noundef !0").or(text.strip_suffix(", !range !1")) {
                Some(plain) => plain.to_owned(),
                None => text.to_owned(),
            };
        };
        let rest = &text[op.len()..];
        match FLAGS.iter().find_map(|(_, flag)| rest.strip_prefix(flag)) {
            Some(plain) => format!("{op}{plain}"),
            // Comparisons for equality have this one too.
            None => format!("{op}{flag}{rest}"),
        }
    }

    pub(super) fn chance(&mut self, of: f64) -> bool {
        self.rng.random_bool(of)
    }

    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.rng.random_range(0..end)
    }

    pub(super) fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all.choose(self.rng).copied().unwrap_or_default()
    }

    /// An operand of a type, and whether it is certain.
    pub(super) fn operand(&mut self, ty: Ty, need: Need) -> (String, bool) {
        // Operations on poison are poison, so most operands stay certain.
        let is_loose = need == Need::Any && self.chance(0.7) || self.is_dead || self.chance(0.006);
        if is_loose && self.chance(0.1) {
            return (self.one_of(&["undef", "poison"]).to_owned(), false);
        }
        if self.chance(if ty == Ty::I1 { 0.03 } else { 0.12 }) {
            return self.constant(ty, is_loose);
        }
        let fits = |known: &&Known| known.ty == ty && (is_loose || known.is_certain);
        let all: Vec<&Known> = self.scope.iter().filter(fits).collect();
        // New values are read more often.
        let recent = &all[all.len().saturating_sub(6)..];
        let chosen = if self.rng.random_bool(0.6) { recent } else { &all[..] };
        match chosen.choose(self.rng) {
            Some(known) => (known.text.clone(), known.is_certain),
            None => self.constant(ty, is_loose),
        }
    }

    pub(super) fn constant(&mut self, ty: Ty, is_loose: bool) -> (String, bool) {
        let numbers = ["0", "1", "-1", "2", "3", "7", "31", "32", "255", "-128"];
        match ty {
            Ty::I1 => (self.one_of(&["true", "false"]).to_owned(), true),
            Ty::I8 => (self.one_of(&["0", "1", "-1", "7", "8", "-128"]).to_owned(), true),
            Ty::I32 | Ty::I64 => (self.one_of(&numbers).to_owned(), true),
            Ty::Float => (self.one_of(&["0.0", "1.0", "-2.5"]).to_owned(), true),
            Ty::Ints | Ty::Bits => {
                let mut lanes = Vec::new();
                let mut is_certain = true;
                let lane = ty.lane();
                for _ in 0..4 {
                    let is_open = is_loose && self.chance(0.3);
                    is_certain &= !is_open;
                    let text = match is_open {
                        true => self.one_of(&["undef", "poison"]).to_owned(),
                        false => self.constant(lane, false).0,
                    };
                    lanes.push(format!("{} {text}", lane.text()));
                }
                (format!("<{}>", lanes.join(", ")), is_certain)
            }
        }
    }

    pub(super) fn label(&mut self) -> String {
        self.blocks += 1;
        format!("b{}", self.blocks)
    }

    /// Ends a block and begins another.
    pub(super) fn begin(&mut self, label: &str) {
        let _ = writeln!(self.out, "{label}:");
        label.clone_into(&mut self.block);
    }

    pub(super) fn jump(&mut self, to: &str) {
        self.line(&format!("br label %{to}"));
    }

    /// A condition to branch on; often one that was branched on before.
    pub(super) fn condition(&mut self) -> String {
        let seen: Vec<String> =
            self.conditions.iter().filter(|c| self.is_seen(c)).cloned().collect();
        if let Some(known) = seen.choose(self.rng).cloned()
            && self.chance(0.25)
        {
            return match self.below(3) {
                0 => self.value(Ty::I1, true, &format!("xor i1 {known}, true")),
                1 => {
                    let (other, _) = self.operand(Ty::I1, Need::Certain);
                    let op = self.one_of(&["and", "or", "xor"]);
                    self.value(Ty::I1, true, &format!("{op} i1 {known}, {other}"))
                }
                _ => known,
            };
        }
        self.operand(Ty::I1, Need::Certain).0
    }

    pub(super) fn branch(&mut self, condition: &str, yes: &str, no: &str) {
        if condition.starts_with('%') {
            self.conditions.push(condition.to_owned());
        }
        self.line(&format!("br i1 {condition}, label %{yes}, label %{no}"));
    }

    fn start(&mut self) {
        let (triple, convention, id, private) = match self.kind {
            Kind::Amdgcn => {
                ("amdgcn-amd-amdhsa", "amdgpu_kernel", "llvm.amdgcn.workitem.id.", ", addrspace(5)")
            }
            Kind::Nvptx => {
                ("nvptx64-nvidia-cuda", "ptx_kernel", "llvm.nvvm.read.ptx.sreg.tid.", "")
            }
        };
        let _ = writeln!(self.out, "target triple = \"{triple}\"");
        let _ = writeln!(self.out, "declare i32 @{id}x()\ndeclare i32 @{id}y()");
        let groups = match self.kind {
            Kind::Amdgcn => {
                "declare i64 @llvm.amdgcn.ballot.i64(i1)\n\
                 declare i32 @llvm.amdgcn.readfirstlane.i32(i32)\n\
                 declare void @llvm.amdgcn.s.barrier()"
            }
            Kind::Nvptx => {
                "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n\
                 declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n\
                 declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)"
            }
        };
        let _ = writeln!(self.out, "{groups}{SHARED}");
        let _ = writeln!(self.out, "@lds = internal addrspace(3) global [64 x i32] undef");
        let _ = writeln!(
            self.out,
            "define {convention} void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {{\nentry:"
        );
        for text in [
            &format!("%slot = alloca i32, align 4{private}"),
            &format!("%arr = alloca [4 x i32], align 16{private}"),
            &format!("%x = call i32 @{id}x()"),
            &format!("%y = call i32 @{id}y()"),
            "%row = mul i32 %y, 4",
            "%own.n = add i32 %x, %row",
            &format!("%own.b = mul i32 %own.n, {AREA}"),
            &format!("%own.i = add i32 %own.b, {INPUT}"),
            "%own = getelementptr i8, ptr addrspace(1) %gp, i32 %own.i",
            "%gen = addrspacecast ptr addrspace(1) %own to ptr",
            "%lds.at = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %own.n",
            "%in.0 = load i32, ptr addrspace(1) %gp, align 4",
            "%in.p = getelementptr i32, ptr addrspace(1) %gp, i32 %own.n",
            "%in.1 = load i32, ptr addrspace(1) %in.p, align 4, !noundef !0",
            "%few = and i32 %in.1, 7",
            "%odd = trunc i32 %in.1 to i1",
            "%less = icmp slt i32 %in.1, %a1",
            "%uni = icmp ult i32 %a0, 8",
        ] {
            self.line(text);
        }
        for (text, ty) in [
            ("%own.n", Ty::I32),
            ("%in.0", Ty::I32),
            ("%in.1", Ty::I32),
            ("%few", Ty::I32),
            ("%a0", Ty::I32),
            ("%a1", Ty::I32),
            ("%odd", Ty::I1),
            ("%less", Ty::I1),
            ("%uni", Ty::I1),
        ] {
            self.scope.push(Known { text: text.to_owned(), ty, is_certain: true });
        }
    }

    /// Stores some of what is known, and ends the module.
    fn finish(&mut self) {
        for slot in 40..48 {
            let (value, _) = self.operand(Ty::I32, Need::Any);
            self.line(&format!(
                "%end{slot} = getelementptr i32, ptr addrspace(1) %own, i32 {slot}"
            ));
            self.line(&format!("store i32 {value}, ptr addrspace(1) %end{slot}, align 4"));
        }
        self.line("ret void");
        self.out.push('}');
        self.out.push_str(HELPERS);
    }

    /// Some statements, whose values are not visible behind them.
    pub(super) fn arm(&mut self, is_dead: bool) {
        let (depth, was_dead) = (self.depth, self.is_dead);
        self.depth += 1;
        self.is_dead |= is_dead;
        let count = if self.chance(0.3) { 0 } else { 1 + self.below(4) };
        for _ in 0..count {
            self.statement();
        }
        (self.depth, self.is_dead) = (depth, was_dead);
    }

    pub(super) fn statement(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        let is_deep = self.depth >= DEPTH || self.budget == 0;
        match self.below(if is_deep { 64 } else { 100 }) {
            0..=34 => {
                self.operation();
                self.keep();
            }
            35..=40 => {
                self.again();
                self.keep();
            }
            41..=44 => self.store(),
            45..=51 => self.load(),
            52..=55 => self.call(),
            56..=57 => self.talk(),
            58..=63 => {
                self.logic();
                self.keep();
            }
            64..=68 => self.diamond(),
            69..=71 => self.dead_arm(),
            72..=75 => self.guarded_division(),
            76..=80 => self.rounds(),
            81..=83 => self.cases(),
            84..=86 => self.shared_arm(),
            87..=89 => self.twins(),
            90..=95 => self.guarded(),
            _ => self.chosen_way(),
        }
    }

    pub(super) fn store_to(&mut self, slot: u32) {
        let name = self.name();
        let (value, _) = self.operand(Ty::I32, Need::Any);
        self.line(&format!("{name} = getelementptr i32, ptr addrspace(1) %own, i32 {slot}"));
        self.line(&format!("store i32 {value}, ptr addrspace(1) {name}, align 4"));
    }

    /// Stores what was computed last, often, so that it is seen.
    pub(super) fn keep(&mut self) {
        let Some(known) = self.scope.last().cloned() else { return };
        if !self.chance(0.6) || known.ty == Ty::Float {
            return;
        }
        let name = self.name();
        let slot = 20 + self.below(20);
        self.line(&format!("{name} = getelementptr i32, ptr addrspace(1) %own, i32 {slot}"));
        let ty = known.ty.text();
        match known.ty {
            Ty::I1 | Ty::I8 | Ty::Bits => {
                self.line(&format!("store {ty} {}, ptr addrspace(1) {name}, align 1", known.text));
            }
            _ => {
                self.line(&format!("store {ty} {}, ptr addrspace(1) {name}, align 4", known.text));
            }
        }
    }

    /// Whether the current code may be executed by only some threads, or never.
    pub(super) fn is_inside(&self) -> bool {
        self.depth > 0
    }
}
