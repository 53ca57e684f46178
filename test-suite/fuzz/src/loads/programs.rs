//! Random kernels that load and store.
//!
//! The kernel `@f` takes five pointers to 1024 bytes of global memory each and a small number. `%r`
//! is `noalias readonly`, `%w` and `%q` are `noalias`, `%a` and `%b` may point to the same memory.
//! The kernels keep the promises of attributes. There are constant and other variables, functions
//! that read, write, retain or pass on their arguments, and one that waits at a barrier.
//!
//! Programs consist of nested conditions and loops. Barriers stand where all threads of a workgroup
//! execute them.

use std::fmt::Write as _;

use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

/// The text of a program from a seed.
#[must_use]
pub fn random_text(seed: u64) -> String {
    let mut rng = SmallRng::seed_from_u64(seed);
    let is_amdgcn = seed.is_multiple_of(2);
    // What pointers of the kernel look like: generic ones only where the host passes such.
    let pointer = if is_amdgcn || rng.random_bool(0.5) { "ptr addrspace(1)" } else { "ptr" };
    let is_silent = rng.random_bool(0.2);
    let has_mixed_notes = rng.random_bool(0.3);
    let mut make = Make {
        is_silent,
        rng,
        pointer,
        is_amdgcn,
        out: String::new(),
        ints: vec!["%n".into(), "%x".into(), "%y".into(), "3".into()],
        pointers: ["%r", "%w", "%q", "%a", "%b"].map(|name| (name.to_owned(), name != "%r")).into(),
        slots: Vec::new(),
        entry: String::new(),
        has_mixed_notes,
        next: 0,
        block: "entry".into(),
    };
    for (name, is_written) in [("table", false), ("quiet", false), ("loud", true), ("seen", true)] {
        let text = match pointer {
            "ptr" => format!("addrspacecast (ptr addrspace(1) @{name} to ptr)"),
            _ => format!("@{name}"),
        };
        make.pointers.push((text, is_written));
    }
    make.statements(0, true);
    make.finish()
}

/// Functions that read, each with callers of its own.
const READERS: u32 = 4;

struct Make {
    rng: SmallRng,
    pointer: &'static str,
    is_amdgcn: bool,
    /// Nothing is stored, so nothing races.
    is_silent: bool,
    out: String,
    /// What can be named here.
    ints: Vec<String>,
    /// Pointers, and whether something may be stored there.
    pointers: Vec<(String, bool)>,
    /// Private slots with a pointer, and whether something may be stored there.
    slots: Vec<(String, bool)>,
    /// What stands at the start of the kernel.
    entry: String,
    /// Whether the function that normally stores to workgroup memory also gets pointers to global
    /// memory.
    has_mixed_notes: bool,
    next: u32,
    /// The block that is being filled.
    block: String,
}

impl Make {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "  {text}");
    }

    fn label(&mut self, name: String) {
        let _ = writeln!(self.out, "{name}:");
        self.block = name;
    }

    fn int(&mut self) -> String {
        let at = self.rng.random_range(0..self.ints.len());
        self.ints[at].clone()
    }

    /// A pointer that may be read, or also written.
    fn some_pointer(&mut self, writes: bool) -> (String, bool) {
        let fit: Vec<_> =
            self.pointers.iter().filter(|(_, is_written)| *is_written || !writes).collect();
        let at = self.rng.random_range(0..fit.len());
        fit[at].clone()
    }

    /// The address of a word not far from a pointer.
    fn word(&mut self, base: &str) -> String {
        let (number, pointer) = (self.fresh(), self.pointer);
        let index = match self.rng.random_range(0..4) {
            0 | 1 => self.rng.random_range(0..8u32).to_string(),
            _ => {
                let int = self.int();
                self.line(&format!("%m{number} = and i32 {int}, 7"));
                format!("%m{number}")
            }
        };
        self.line(&format!("%p{number} = getelementptr i32, {pointer} {base}, i32 {index}"));
        format!("%p{number}")
    }

    fn statements(&mut self, depth: u32, meets: bool) {
        let count = self.rng.random_range(if depth == 0 { 5..18 } else { 1..6 });
        for _ in 0..count {
            self.statement(depth, meets);
        }
    }

    fn statement(&mut self, depth: u32, meets: bool) {
        let pointer = self.pointer;
        match self.rng.random_range(0..33u32) {
            7..10 | 12 | 15 if self.is_silent => self.load(),
            0..7 => self.load(),
            7..10 => {
                let (base, _) = self.some_pointer(true);
                let (address, value) = (self.word(&base), self.int());
                self.line(&format!("store i32 {value}, {pointer} {address}"));
            }
            10 if meets => {
                let barrier = match self.is_amdgcn {
                    true => "call void @llvm.amdgcn.s.barrier()",
                    false => "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
                };
                let call = if self.rng.random_bool(0.3) { "call void @meets()" } else { barrier };
                self.line(call);
            }
            11 => {
                let kind = ["acquire", "release", "seq_cst"][self.rng.random_range(0..3)];
                self.line(&format!("fence {kind}"));
            }
            12 => {
                let kind =
                    ["monotonic", "acquire", "release", "seq_cst"][self.rng.random_range(0..4)];
                let (base, number) = (self.some_pointer(true).0, self.fresh());
                let value = self.int();
                self.line(&format!(
                    "%v{number} = atomicrmw add {pointer} {base}, i32 {value} {kind}"
                ));
                self.ints.push(format!("%v{number}"));
            }
            13 => {
                let ((one, w1), (two, w2)) = (self.some_pointer(false), self.some_pointer(false));
                let (condition, number) = (self.condition(), self.fresh());
                self.line(&format!(
                    "%s{number} = select i1 {condition}, {pointer} {one}, {pointer} {two}"
                ));
                self.pointers.push((format!("%s{number}"), w1 && w2));
            }
            14 => {
                let ((base, _), number) = (self.some_pointer(false), self.fresh());
                let which = self.rng.random_range(0..READERS);
                self.line(&format!("%v{number} = call i32 @reads{which}({pointer} {base})"));
                self.ints.push(format!("%v{number}"));
            }
            15 => {
                let name = ["writes", "passes"][self.rng.random_range(0..2)];
                let ((base, _), value) = (self.some_pointer(true), self.int());
                self.line(&format!("call void @{name}({pointer} {base}, i32 {value})"));
            }
            16 => self.keep(),
            17 | 18 if depth < 3 => self.branch(depth),
            19 | 20 if depth < 3 => self.repeat(depth, meets),
            21 => {
                // A pointer from which others are made by constant steps.
                let ((base, is_written), int, number) =
                    (self.some_pointer(false), self.int(), self.fresh());
                self.line(&format!("%m{number} = and i32 {int}, 7"));
                self.line(&format!(
                    "%e{number} = getelementptr i32, {pointer} {base}, i32 %m{number}"
                ));
                self.pointers.push((format!("%e{number}"), is_written));
            }
            22..24 => self.slot(),
            24..27 if !self.slots.is_empty() => self.use_slot(),
            27 | 28 => self.note(),
            29 => self.odd_load(),
            30 => self.tile(),
            _ => self.load(),
        }
    }

    /// A private slot, with a pointer in it.
    fn slot(&mut self) {
        let ((base, is_written), number) = (self.some_pointer(false), self.fresh());
        let (pointer, space, slot) = (self.pointer, self.slots(), self.slot_type());
        let _ = writeln!(self.entry, "  %z{number} = alloca {pointer}{space}");
        self.line(&format!("store {pointer} {base}, {slot} %z{number}"));
        self.slots.push((format!("%z{number}"), is_written));
    }

    fn use_slot(&mut self) {
        let (name, is_written) = self.slots[self.rng.random_range(0..self.slots.len())].clone();
        let (pointer, space, slot, number) =
            (self.pointer, self.slots(), self.slot_type(), self.fresh());
        match self.rng.random_range(0..10u32) {
            // Another pointer, which may be treated likewise.
            0 | 1 => {
                let (base, _) = self.some_pointer(is_written);
                self.line(&format!("store {pointer} {base}, {slot} {name}"));
            }
            2 => {
                self.line(&format!("%g{number} = load i64, {slot} {name}"));
                self.line(&format!("%k{number} = inttoptr i64 %g{number} to {pointer}"));
                self.pointers.push((format!("%k{number}"), is_written));
            }
            3 => {
                let _ = writeln!(self.entry, "  %z{number} = alloca {pointer}{space}");
                let p = if self.is_amdgcn { "p5.p5" } else { "p0.p0" };
                self.line(&format!(
                    "call void @llvm.memcpy.{p}.i64({slot} %z{number}, {slot} {name}, i64 8, i1 false)"
                ));
                self.slots.push((format!("%z{number}"), is_written));
            }
            4 | 5 if is_written && !self.is_silent => {
                let value = self.int();
                self.line(&format!(
                    "call void @through({slot} captures(none) {name}, i32 {value})"
                ));
            }
            6 => {
                self.line(&format!("%k{number} = load volatile {pointer}, {slot} {name}"));
                self.pointers.push((format!("%k{number}"), is_written));
            }
            _ => {
                self.line(&format!("%k{number} = load {pointer}, {slot} {name}"));
                self.pointers.push((format!("%k{number}"), is_written));
            }
        }
    }

    /// A store by a generic pointer, as a rule to memory of the workgroup.
    fn note(&mut self) {
        const SHARED: &str = "addrspacecast (ptr addrspace(3) @local to ptr)";
        let value = self.int();
        if self.has_mixed_notes && !self.is_silent {
            let ((base, _), number) = (self.some_pointer(true), self.fresh());
            let cast = match self.pointer {
                "ptr" => format!("select i1 true, ptr {base}, ptr {base}"),
                pointer => format!("addrspacecast {pointer} {base} to ptr"),
            };
            self.line(&format!("%n{number} = {cast}"));
            self.line(&format!("call void @notes(ptr %n{number}, i32 {value})"));
        } else if self.rng.random_bool(0.5) {
            self.line(&format!("call void @notes(ptr {SHARED}, i32 {value})"));
        } else {
            self.line(&format!("store i32 {value}, ptr {SHARED}"));
        }
    }

    /// Memory of the workgroup: each thread stores its part, or one part is read.
    fn tile(&mut self) {
        let (number, value) = (self.fresh(), self.int());
        let at = |index: &str| {
            format!("%p{number} = getelementptr i32, ptr addrspace(3) @local, i32 {index}")
        };
        if self.rng.random_bool(0.4) && !self.is_silent {
            self.line(&at("%x"));
            self.line(&format!("store i32 {value}, ptr addrspace(3) %p{number}"));
        } else {
            let index = self.rng.random_range(0..4u32).to_string();
            self.line(&at(&index));
            self.line(&format!("%v{number} = load i32, ptr addrspace(3) %p{number}"));
            self.ints.push(format!("%v{number}"));
        }
    }

    /// A load of another size, or at an address that is aligned to less.
    fn odd_load(&mut self) {
        let (base, _) = self.some_pointer(false);
        let (number, pointer) = (self.fresh(), self.pointer);
        let (step, align) =
            [(0, 4), (8, 4), (1, 1), (2, 2), (6, 2), (4, 4)][self.rng.random_range(0..6)];
        let bytes = [1u32, 2, 4, 8][self.rng.random_range(0..4)];
        let bits = 8 * bytes;
        self.line(&format!("%o{number} = getelementptr i8, {pointer} {base}, i32 {step}"));
        let align = align.min(bytes);
        self.line(&format!("%w{number} = load i{bits}, {pointer} %o{number}, align {align}"));
        let cast = match bits.cmp(&32) {
            std::cmp::Ordering::Less => "zext",
            std::cmp::Ordering::Equal => "bitcast",
            std::cmp::Ordering::Greater => "trunc",
        };
        self.line(&format!("%v{number} = {cast} i{bits} %w{number} to i32"));
        self.ints.push(format!("%v{number}"));
    }

    const fn slot_type(&self) -> &'static str {
        if self.is_amdgcn { "ptr addrspace(5)" } else { "ptr" }
    }

    fn load(&mut self) {
        let (base, _) = self.some_pointer(false);
        let (address, number, pointer) = (self.word(&base), self.fresh(), self.pointer);
        self.line(&format!("%v{number} = load i32, {pointer} {address}"));
        self.ints.push(format!("%v{number}"));
    }

    /// A pointer goes through memory, and is written through or not.
    fn keep(&mut self) {
        let ((base, is_written), number, pointer) =
            (self.some_pointer(true), self.fresh(), self.pointer);
        self.line(&format!("%h{number} = alloca {pointer}{}", self.slots()));
        let slot = self.slot_type();
        self.line(&format!("store {pointer} {base}, {slot} %h{number}"));
        self.line(&format!("%k{number} = load {pointer}, {slot} %h{number}"));
        self.pointers.push((format!("%k{number}"), is_written));
    }

    const fn slots(&self) -> &'static str {
        if self.is_amdgcn { ", addrspace(5)" } else { "" }
    }

    fn condition(&mut self) -> String {
        let (int, number) = (self.int(), self.fresh());
        let bound = self.rng.random_range(0..6u32);
        self.line(&format!("%c{number} = icmp ult i32 {int}, {bound}"));
        format!("%c{number}")
    }

    fn branch(&mut self, depth: u32) {
        let (condition, number) = (self.condition(), self.fresh());
        let (then, end) = (format!("then{number}"), format!("end{number}"));
        self.line(&format!("br i1 {condition}, label %{then}, label %{end}"));
        self.label(then);
        let known = (self.ints.len(), self.pointers.len(), self.slots.len());
        self.statements(depth + 1, false);
        self.ints.truncate(known.0);
        self.pointers.truncate(known.1);
        self.slots.truncate(known.2);
        self.line(&format!("br label %{end}"));
        self.label(end);
    }

    /// A loop with a pointer that walks.
    fn repeat(&mut self, depth: u32, meets: bool) {
        let (number, pointer, before) = (self.fresh(), self.pointer, self.block.clone());
        let (start, is_written) = self.some_pointer(false);
        let is_uniform = self.rng.random_bool(0.7);
        let rounds = if is_uniform { "%n".to_owned() } else { self.int() };
        self.line(&format!("%few{number} = and i32 {rounds}, 3"));
        self.line(&format!("br label %loop{number}"));
        self.label(format!("loop{number}"));
        let known = (self.ints.len(), self.pointers.len(), self.slots.len());
        // The latch is named beforehand: the body ends there.
        self.line(&format!(
            "%i{number} = phi i32 [ 0, %{before} ], [ %j{number}, %latch{number} ]"
        ));
        self.line(&format!(
            "%t{number} = phi {pointer} [ {start}, %{before} ], [ %u{number}, %latch{number} ]"
        ));
        self.ints.push(format!("%i{number}"));
        self.pointers.push((format!("%t{number}"), is_written));
        self.statements(depth + 1, meets && is_uniform);
        self.line(&format!("br label %latch{number}"));
        self.label(format!("latch{number}"));
        self.line(&format!("%u{number} = getelementptr i32, {pointer} %t{number}, i32 1"));
        self.line(&format!("%j{number} = add i32 %i{number}, 1"));
        self.line(&format!("%d{number} = icmp ule i32 %j{number}, %few{number}"));
        self.line(&format!("br i1 %d{number}, label %loop{number}, label %out{number}"));
        self.ints.truncate(known.0);
        self.pointers.truncate(known.1);
        self.slots.truncate(known.2);
        self.label(format!("out{number}"));
    }

    fn finish(self) -> String {
        let pointer = self.pointer;
        let (head, kernel, index, barrier, group) = match self.is_amdgcn {
            true => (
                "target triple = \"amdgcn-amd-amdhsa\"\ntarget datalayout = \
                 \"e-p:64:64-p1:64:64-p3:32:32-p5:32:32-A5-G1\"\n\
                 declare i32 @llvm.amdgcn.workitem.id.x()\ndeclare void @llvm.amdgcn.s.barrier()\n\
                 declare i32 @llvm.amdgcn.readfirstlane.i32(i32)",
                "amdgpu_kernel",
                "@llvm.amdgcn.workitem.id.x()",
                "@llvm.amdgcn.s.barrier()",
                "call i32 @llvm.amdgcn.readfirstlane.i32(i32 %x)",
            ),
            false => (
                "target triple = \"nvptx64-nvidia-cuda\"\n\
                 declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
                 declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n\
                 declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
                "ptx_kernel",
                "@llvm.nvvm.read.ptx.sreg.tid.x()",
                "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
                "call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
            ),
        };
        let words = "[256 x i32]";
        let slot = self.slot_type();
        let mut readers = String::new();
        for which in 0..READERS {
            let _ = write!(
                readers,
                "define internal i32 @reads{which}({pointer} %p) {{\n  %v = load i32, {pointer} %p\n  ret i32 %v\n}}\n"
            );
        }
        format!(
            "{head}
@table = internal addrspace(1) constant {words} zeroinitializer
@quiet = internal addrspace(1) global {words} zeroinitializer
@loud = internal addrspace(1) global {words} zeroinitializer
@seen = addrspace(1) global {words} zeroinitializer
@local = internal addrspace(3) global {words} undef
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
{readers}define internal void @notes(ptr %p, i32 %v) {{
  store i32 %v, ptr %p
  ret void
}}
define internal void @through({slot} %s, i32 %v) {{
  %p = load {pointer}, {slot} %s
  store i32 %v, {pointer} %p
  ret void
}}
define internal void @writes({pointer} %p, i32 %v) {{
  store i32 %v, {pointer} %p
  ret void
}}
define internal void @passes({pointer} %p, i32 %v) {{
  %q = getelementptr i32, {pointer} %p, i32 2
  call void @writes({pointer} %q, i32 %v)
  ret void
}}
define internal void @meets() {{
  call void {barrier}
  ret void
}}
define {kernel} void @f({pointer} noalias readonly %r, {pointer} noalias %w, {pointer} noalias %q, {pointer} %a, {pointer} %b, i32 %n) {{
entry:
{}  %x = call i32 {index}
  %y = {group}
{}  ret void
}}
",
            self.entry, self.out
        )
    }
}
