//! Random kernels with loops to unroll and branches on repeated conditions.
//!
//! Loops have a constant number of rounds, a uniform one, or a different one for each thread. They
//! test at the top or at the bottom. Some have an exit or a `continue` in the middle, and values
//! from inside are read behind them. Branches often repeat an earlier condition, or test a phi of
//! constants. Votes are everywhere.

use std::fmt::Write as _;

use rand::{Rng as _, RngCore, seq::IndexedRandom as _};

/// Memory slots into which a thread mixes its results.
const SLOTS: u32 = 8;

struct Writer<'r> {
    rng: &'r mut dyn RngCore,
    text: String,
    next: u32,
    /// The block that is being written.
    block: String,
    /// Numbers that may be read here.
    values: Vec<String>,
    /// Conditions that may be read here.
    conditions: Vec<String>,
    budget: u32,
}

/// A random kernel `@f` with these arguments: a buffer, and two uniform numbers.
#[must_use]
pub fn random(rng: &mut dyn RngCore) -> String {
    let mut text = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
define amdgpu_kernel void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {
entry:
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %row = shl i32 %y, 5
  %own = add i32 %x, %row
  %few = and i32 %x, 3
  %bits = and i32 %a1, 7
",
    );
    for slot in 0..SLOTS {
        let _ = writeln!(
            text,
            "  %slot.{slot}.i = add i32 %own, {}\n  %slot.{slot} = getelementptr i32, ptr addrspace(1) %gp, i32 %slot.{slot}.i",
            16 + slot * 64
        );
    }
    let mut conditions = Vec::new();
    for bit in 0..4 {
        let _ = writeln!(
            text,
            "  %uni.{bit}.n = lshr i32 %a1, {bit}\n  %uni.{bit} = trunc i32 %uni.{bit}.n to i1\n  %div.{bit} = icmp ult i32 %x, {}",
            bit * 2 + 1
        );
        conditions.extend([format!("%uni.{bit}"), format!("%div.{bit}")]);
    }
    let values = ["%x", "%a0", "%few", "%bits"].map(str::to_owned).to_vec();
    let block = "entry".to_owned();
    let mut writer = Writer { rng, text, next: 0, block, values, conditions, budget: 14 };
    writer.statements(3);
    writer.text.push_str("  ret void\n}\n");
    writer.text
}

impl Writer<'_> {
    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn start(&mut self, block: String) {
        let _ = writeln!(self.text, "{block}:");
        self.block = block;
    }

    fn value(&mut self) -> String {
        match self.rng.random_range(0..4) {
            0 => self.rng.random_range(0..6).to_string(),
            _ => self.values.choose(self.rng).cloned().unwrap_or_default(),
        }
    }

    fn condition(&mut self) -> String {
        if self.rng.random_bool(0.4) {
            let n = self.number();
            let predicate = ["ult", "eq", "ugt", "slt", "ne"].choose(self.rng).unwrap_or(&"ult");
            let value = self.values.choose(self.rng).cloned().unwrap_or_default();
            let constant = self.rng.random_range(0..5);
            self.line(&format!("%c{n} = icmp {predicate} i32 {value}, {constant}"));
            self.conditions.push(format!("%c{n}"));
        }
        self.conditions.choose(self.rng).cloned().unwrap_or_default()
    }

    fn mix(&mut self, value: &str) {
        let n = self.number();
        let slot = self.rng.random_range(0..SLOTS);
        self.line(&format!("%old{n} = load i32, ptr addrspace(1) %slot.{slot}, align 4"));
        self.line(&format!("%mul{n} = mul i32 %old{n}, 31"));
        self.line(&format!("%mix{n} = add i32 %mul{n}, {value}"));
        self.line(&format!("store i32 %mix{n}, ptr addrspace(1) %slot.{slot}, align 4"));
    }

    fn vote(&mut self) {
        let n = self.number();
        let bit = match self.rng.random_range(0..3) {
            0 => "true".to_owned(),
            _ => self.conditions.choose(self.rng).cloned().unwrap_or_default(),
        };
        self.line(&format!("%vote{n} = call i64 @llvm.amdgcn.ballot.i64(i1 {bit})"));
        self.line(&format!("%told{n} = trunc i64 %vote{n} to i32"));
        self.mix(&format!("%told{n}"));
    }

    fn compute(&mut self) {
        let n = self.number();
        let (a, b) = (self.value(), self.value());
        let op = ["add", "sub", "mul", "xor", "and"].choose(self.rng).unwrap_or(&"add");
        self.line(&format!("%v{n} = {op} i32 {a}, {b}"));
        self.values.push(format!("%v{n}"));
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.rng.random_range(1..=4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let is_nested = depth > 0 && self.budget > 0;
        match self.rng.random_range(0..if is_nested { 10 } else { 4 }) {
            0 | 1 => self.vote(),
            2 => self.compute(),
            3 => {
                let value = self.value();
                self.mix(&value);
            }
            4..=6 => self.branch(depth),
            _ => self.repeat(depth),
        }
    }

    /// Both sides of a branch, and a phi behind them that may decide another.
    fn branch(&mut self, depth: u32) {
        self.budget = self.budget.saturating_sub(1);
        let n = self.number();
        let condition = self.condition();
        self.line(&format!("br i1 {condition}, label %then{n}, label %else{n}"));
        let (values, conditions) = (self.values.clone(), self.conditions.clone());
        let mut ends = Vec::new();
        for side in ["then", "else"] {
            self.start(format!("{side}{n}"));
            if self.rng.random_bool(0.8) {
                self.statements(depth - 1);
            }
            let value = match self.rng.random_bool(0.6) {
                true => self.rng.random_range(0..3).to_string(),
                false => self.value(),
            };
            ends.push((self.block.clone(), value));
            self.line(&format!("br label %join{n}"));
            self.values.clone_from(&values);
            self.conditions.clone_from(&conditions);
        }
        self.start(format!("join{n}"));
        let entry = |(block, value): &(String, String)| format!("[ {value}, %{block} ]");
        let entries: Vec<String> = ends.iter().map(entry).collect();
        self.line(&format!("%phi{n} = phi i32 {}", entries.join(", ")));
        self.values.push(format!("%phi{n}"));
        if self.rng.random_bool(0.5) {
            self.line(&format!("%p{n} = icmp eq i32 %phi{n}, {}", self.next % 3));
            // Listed twice, so that it is chosen twice as often.
            self.conditions.extend([format!("%p{n}"), format!("%p{n}")]);
        }
    }

    fn repeat(&mut self, depth: u32) {
        self.budget = self.budget.saturating_sub(1);
        let n = self.number();
        let bound = match self.rng.random_range(0..6) {
            0 => "%few".to_owned(),
            1 => "%bits".to_owned(),
            _ => self.rng.random_range(1..5).to_string(),
        };
        let (at_top, start) = (self.rng.random::<bool>(), self.value());
        self.line(&format!("br label %loop{n}"));
        let before = self.block.clone();
        self.start(format!("loop{n}"));
        let _ = writeln!(self.text, "  @phis{n}");
        self.line(&format!("%here{n} = add i32 %i{n}, {}", n % 5));
        self.values.extend([format!("%i{n}"), format!("%s{n}"), format!("%here{n}")]);
        if self.rng.random_bool(0.3) {
            self.vote();
        }
        // Values known here are known behind the loop, whose exits are here or below.
        let (values, conditions) = (self.values.clone(), self.conditions.clone());
        let mut ends: Vec<(String, String)> = Vec::new();
        if at_top {
            self.line(&format!("%t{n} = icmp ult i32 %i{n}, {bound}"));
            self.line(&format!("br i1 %t{n}, label %body{n}, label %exit{n}"));
            self.start(format!("body{n}"));
        }
        self.statements(depth - 1);
        if self.rng.random_bool(0.3) {
            let condition = self.condition();
            self.line(&format!("br i1 {condition}, label %exit{n}, label %on{n}"));
            self.start(format!("on{n}"));
            self.statements(depth - 1);
        }
        if self.rng.random_bool(0.25) {
            // Continues with the next round. A test at the top bounds their number, or nothing
            // does: then the kernel runs out of fuel.
            let (condition, value) = (self.condition(), self.value());
            let m = self.number();
            self.line(&format!("%skip{m} = add i32 %i{n}, 1"));
            ends.push((self.block.clone(), format!("%skip{m} {value}")));
            self.line(&format!("br i1 {condition}, label %loop{n}, label %late{n}"));
            self.start(format!("late{n}"));
            self.statements(depth - 1);
        }
        let value = self.value();
        self.line(&format!("%next{n} = add i32 %i{n}, 1"));
        ends.push((self.block.clone(), format!("%next{n} {value}")));
        match at_top {
            true => self.line(&format!("br label %loop{n}")),
            false => {
                self.line(&format!("%t{n} = icmp ult i32 %next{n}, {bound}"));
                self.line(&format!("br i1 %t{n}, label %loop{n}, label %exit{n}"));
            }
        }
        let (mut counts, mut sums) =
            (format!("[ 0, %{before} ]"), format!("[ {start}, %{before} ]"));
        for (block, both) in &ends {
            let Some((count, value)) = both.split_once(' ') else { continue };
            let _ = write!(counts, ", [ {count}, %{block} ]");
            let _ = write!(sums, ", [ {value}, %{block} ]");
        }
        let phis = format!("%i{n} = phi i32 {counts}\n  %s{n} = phi i32 {sums}");
        self.text = self.text.replace(&format!("@phis{n}\n"), &format!("{phis}\n"));
        self.values = values;
        self.conditions = conditions;
        self.start(format!("exit{n}"));
    }
}
