//! Random kernels with nested conditions and loops, and votes whose results are used elsewhere: a
//! challenge for passes that move code.
//!
//! Conditions depend on the thread, on memory of the thread, or on arguments. A vote stands where
//! it is used, before a condition under which it is used, or under a condition behind which it is
//! used. Barriers stand where all threads execute them, between accesses of a thread and of its
//! neighbour. Every loop ends, and threads write to separate places. So the kernels have data races
//! only if a transform makes a mistake.

use std::fmt::Write as _;

use rand::{Rng as _, RngCore, seq::IndexedRandom as _};

struct Writer<'r> {
    text: String,
    next: u32,
    stores: u32,
    block: String,
    is_amd: bool,
    rng: &'r mut dyn RngCore,
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

    /// A condition, and whether all threads agree on it.
    fn condition(&mut self, only_uniform: bool) -> (String, bool) {
        let n = self.number();
        let choice = if only_uniform { 3 } else { self.rng.random_range(0..5u32) };
        let few = self.rng.random_range(1..12u32);
        match choice {
            0 => self.line(&format!("%c{n} = icmp ult i32 %t, {few}")),
            1 => self.line(&format!("%c{n} = icmp slt i32 %t, %a0")),
            2 => {
                self.line(&format!("%d{n} = and i32 %t, {few}"));
                self.line(&format!("%c{n} = icmp eq i32 %d{n}, 0"));
            }
            3 => {
                self.line(&format!("%d{n} = lshr i32 %a1, {}", few % 4));
                self.line(&format!("%c{n} = trunc i32 %d{n} to i1"));
            }
            _ => {
                // The first word is never written.
                self.line(&format!("%l{n} = load i32, ptr addrspace(1) %gp"));
                self.line(&format!("%h{n} = and i32 %t, {}", few % 8));
                self.line(&format!("%k{n} = lshr i32 %l{n}, %h{n}"));
                self.line(&format!("%c{n} = trunc i32 %k{n} to i1"));
            }
        }
        (format!("%c{n}"), choice == 3)
    }

    /// An operation of a wave; its result.
    fn vote(&mut self) -> String {
        let n = self.number();
        match (self.is_amd, self.rng.random_range(0..3u32)) {
            (true, 0) => {
                self.line(&format!("%b{n} = call i64 @llvm.amdgcn.ballot.i64(i1 true)"));
                self.line(&format!("%v{n} = trunc i64 %b{n} to i32"));
            }
            (true, 1) => {
                self.line(&format!("%b{n} = xor i32 %t4, {}", 4 << (n % 3)));
                self.line(&format!("%v{n} = call i32 @llvm.amdgcn.ds.bpermute(i32 %b{n}, i32 %t)"));
            }
            (true, _) => {
                self.line(&format!("%v{n} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %t)"));
            }
            (false, 0) => self.line(&format!(
                "%v{n} = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 {}, i32 31)",
                1 << (n % 3)
            )),
            (false, _) => self
                .line(&format!("%v{n} = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %small)")),
        }
        format!("%v{n}")
    }

    fn store(&mut self, value: &str) {
        let n = self.number();
        self.stores += 1;
        let at = self.stores % 14 + 1;
        self.line(&format!("%p{n} = getelementptr i32, ptr addrspace(1) %own, i32 {at}"));
        self.line(&format!("%o{n} = load i32, ptr addrspace(1) %p{n}"));
        self.line(&format!("%m{n} = mul i32 %o{n}, 7"));
        self.line(&format!("%s{n} = add i32 %m{n}, {value}"));
        self.line(&format!("store i32 %s{n}, ptr addrspace(1) %p{n}"));
    }

    fn barrier(&mut self) {
        match self.is_amd {
            true => self.line("call void @llvm.amdgcn.s.barrier()"),
            false => self.line("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"),
        }
    }

    /// Threads write their own place and read that of a neighbour.
    fn exchange(&mut self) {
        let n = self.number();
        self.line(&format!("%x{n} = add i32 %t, {n}"));
        self.line(&format!("store i32 %x{n}, ptr addrspace(3) %mine"));
        self.barrier();
        self.line(&format!("%y{n} = load i32, ptr addrspace(3) %other"));
        let value = format!("%y{n}");
        self.store(&value);
        self.barrier();
    }

    fn under(&mut self, condition: &str, inside: impl FnOnce(&mut Self)) -> String {
        let n = self.number();
        self.line(&format!("br i1 {condition}, label %then{n}, label %join{n}"));
        let before = std::mem::take(&mut self.block);
        self.start(format!("then{n}"));
        inside(self);
        self.line(&format!("br label %join{n}"));
        self.start(format!("join{n}"));
        before
    }

    fn statements(&mut self, depth: u32, is_uniform: bool) {
        for _ in 0..self.rng.random_range(1..4u32) {
            match self.rng.random_range(0..9u32) {
                0 => {
                    let value = self.vote();
                    self.store(&value);
                }
                // Used under a condition.
                1 | 2 => {
                    let value = self.vote();
                    let (condition, _) = self.condition(false);
                    self.under(&condition, |writer| writer.store(&value));
                }
                // Used behind one.
                3 | 4 => {
                    let (condition, _) = self.condition(false);
                    let mut value = String::new();
                    let mut from = String::new();
                    let before = self.under(&condition, |writer| {
                        value = writer.vote();
                        from.clone_from(&writer.block);
                    });
                    let n = self.number();
                    self.line(&format!("%f{n} = phi i32 [ 0, %{before} ], [ {value}, %{from} ]"));
                    let value = format!("%f{n}");
                    self.store(&value);
                }
                5 if is_uniform => self.exchange(),
                6 if depth < 3 => {
                    let n = self.number();
                    let is_same = self.rng.random_bool(0.5);
                    let rounds = if is_same { "%rounds" } else { "%few" };
                    self.line(&format!("br label %loop{n}"));
                    let before = std::mem::take(&mut self.block);
                    self.start(format!("loop{n}"));
                    let at = self.text.len();
                    self.statements(depth + 1, is_uniform && is_same);
                    self.line(&format!("%i{n}.next = add i32 %i{n}, 1"));
                    self.line(&format!("%i{n}.more = icmp ult i32 %i{n}.next, {rounds}"));
                    self.line(&format!("br i1 %i{n}.more, label %loop{n}, label %done{n}"));
                    let phi = format!(
                        "  %i{n} = phi i32 [ 0, %{before} ], [ %i{n}.next, %{} ]\n",
                        self.block
                    );
                    self.text.insert_str(at, &phi);
                    self.start(format!("done{n}"));
                }
                _ if depth < 3 => {
                    let (condition, is_same) = self.condition(false);
                    self.under(&condition, |writer| {
                        writer.statements(depth + 1, is_uniform && is_same);
                    });
                }
                _ => {}
            }
        }
    }
}

/// A random kernel `@f` with an argument for memory and two integers.
#[must_use]
pub fn random(rng: &mut dyn RngCore) -> String {
    let is_amd = rng.random();
    let [x, y, z] = match is_amd {
        true => ["x", "y", "z"].map(|d| format!("llvm.amdgcn.workitem.id.{d}")),
        false => ["x", "y", "z"].map(|d| format!("llvm.nvvm.read.ptx.sreg.tid.{d}")),
    };
    let (triple, convention) = match is_amd {
        true => ("amdgcn-amd-amdhsa", "amdgpu_kernel"),
        false => ("nvptx64-nvidia-cuda", "ptx_kernel"),
    };
    let declarations: &[&str] = match is_amd {
        true => &[
            "void @llvm.amdgcn.s.barrier()",
            "i64 @llvm.amdgcn.ballot.i64(i1)",
            "i32 @llvm.amdgcn.ds.bpermute(i32, i32)",
            "i32 @llvm.amdgcn.readfirstlane.i32(i32)",
        ],
        false => &[
            "void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
            "i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)",
            "i32 @llvm.nvvm.vote.ballot.sync(i32, i1)",
        ],
    };
    let mut writer =
        Writer { text: String::new(), next: 0, stores: 0, block: "entry".to_owned(), is_amd, rng };
    for declaration in declarations {
        let _ = writeln!(writer.text, "declare {declaration}");
    }
    let start = format!(
        "target triple = \"{triple}\"
@lds = internal addrspace(3) global [1024 x i32] zeroinitializer
declare i32 @{x}()
declare i32 @{y}()
declare i32 @{z}()
{}define {convention} void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {{
entry:
  %x = call i32 @{x}()
  %y = call i32 @{y}()
  %z = call i32 @{z}()
  %row = shl i32 %y, 6
  %plane = shl i32 %z, 8
  %xy = add i32 %x, %row
  %t = add i32 %xy, %plane
  %t4 = shl i32 %t, 2
  %small = icmp ult i32 %t, 4
  %own.i = shl i32 %t, 4
  %own = getelementptr i32, ptr addrspace(1) %gp, i32 %own.i
  %mine = getelementptr [1024 x i32], ptr addrspace(3) @lds, i32 0, i32 %t
  %near = xor i32 %t, 1
  %other = getelementptr [1024 x i32], ptr addrspace(3) @lds, i32 0, i32 %near
  %rounds.n = and i32 %a0, 3
  %rounds = add i32 %rounds.n, 1
  %few.n = and i32 %t, 3
  %few = add i32 %few.n, 1
",
        std::mem::take(&mut writer.text)
    );
    writer.text = start;
    let kinds = [2, 3, 4];
    for _ in 0..*kinds.choose(writer.rng).unwrap_or(&2) {
        writer.statements(0, true);
    }
    writer.line("ret void");
    writer.text.push_str("}\n");
    writer.text
}
