//! Kernels that write and read memory through generic pointers, and deliberately wrong facts about
//! them.
//!
//! Each thread has a part of the workgroup's memory, of a buffer, and of its frame. It reaches each
//! part by pointers of its space, by generic pointers that are known to point there, and by generic
//! pointers that may point to two of the parts, or anywhere. Functions store and load on its
//! behalf. Between barriers, its own or those of a function, it reads what its neighbour wrote.
//!
//! There are no races: threads touch their own parts but for what stands between barriers.

use std::fmt::Write as _;

use phalanx::{
    FunctionId, Session,
    analysis::{
        data_flow::{DataFlow, Edges, MemoryFlow, Reached},
        loads::written_by_call,
        memory::{MemorySsa, Reach},
        spaces::SpaceSet,
    },
    db::queries,
};
use phalanx_simt::{Arg, Launch, launch::Order, memory::Memory};
use rand::{Rng as _, RngCore, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

use super::{Tally, check, reached_from};
use crate::oracle::{Kind, Right, with_code};

/// Words of each memory that a thread has.
const WORDS: u32 = 2;

/// Which threads there can be at most.
const THREADS: u32 = 8;

const AMDGCN: &str = r#"target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [16 x i32] undef
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define internal void @sync() {
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  ret void
}
"#;

const NVPTX: &str = r#"target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [16 x i32] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal void @sync() {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
"#;

const FUNCTIONS: &str = r"define internal void @put(ptr %p, i32 %v) {
  store i32 %v, ptr %p, align 4
  ret void
}
define internal i32 @get(ptr %p) {
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
define internal void @put.lds(i32 %at, i32 %v) {
  %p = getelementptr inbounds [16 x i32], ptr addrspace(3) @lds, i32 0, i32 %at
  store i32 %v, ptr addrspace(3) %p, align 4
  ret void
}
define internal i32 @twice(i32 %v) {
  %w = add i32 %v, %v
  ret i32 %w
}
define ptr @outside(ptr %p) {
  ret ptr %p
}
define void @keep(ptr %p) {
  ret void
}
";

/// Which facts are falsified, for negative controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoilt {
    /// This memory is removed wherever an address may point to it and others.
    Memory(SpaceSet),
    /// What functions write.
    Calls,
    /// All facts except types are dropped: sound, but less precise.
    Everything,
}

struct Writer<'r> {
    rng: &'r mut dyn RngCore,
    text: String,
    next: u32,
    /// Types and names of addresses of words.
    addresses: Vec<(&'static str, String)>,
    values: Vec<String>,
}

impl Writer<'_> {
    fn name(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn value(&mut self) -> String {
        self.values.choose(&mut self.rng).cloned().unwrap_or_else(|| "%a0".to_owned())
    }

    fn address(&mut self) -> (&'static str, String) {
        self.addresses.choose(&mut self.rng).cloned().unwrap_or_else(|| ("ptr", "%g0".to_owned()))
    }

    fn generic(&mut self) -> String {
        let generic: Vec<String> =
            self.addresses.iter().filter(|(ty, _)| *ty == "ptr").map(|(_, p)| p.clone()).collect();
        generic.choose(&mut self.rng).cloned().unwrap_or_else(|| "%g0".to_owned())
    }

    fn step(&mut self) {
        let n = self.name();
        match self.rng.random_range(0..12u32) {
            0..=3 => {
                let (value, (ty, p)) = (self.value(), self.address());
                self.line(&format!("store i32 {value}, {ty} {p}, align 4"));
            }
            4..=6 => {
                let (ty, p) = self.address();
                self.line(&format!("%v{n} = load i32, {ty} {p}, align 4"));
                self.values.push(format!("%v{n}"));
            }
            7 => {
                let (value, p) = (self.value(), self.generic());
                self.line(&format!("call void @put(ptr {p}, i32 {value})"));
            }
            8 => {
                let p = self.generic();
                self.line(&format!("%v{n} = call i32 @get(ptr {p})"));
                self.values.push(format!("%v{n}"));
            }
            9 => {
                let value = self.value();
                match self.rng.random::<bool>() {
                    true => self.line(&format!("call void @put.lds(i32 %own, i32 {value})")),
                    false => {
                        self.line(&format!("%v{n} = call i32 @twice(i32 {value})"));
                        self.values.push(format!("%v{n}"));
                    }
                }
            }
            _ => self.choose_address(),
        }
    }

    fn choose_address(&mut self) {
        let (n, a, b) = (self.name(), self.generic(), self.generic());
        self.line(&format!("%q{n} = select i1 %bit, ptr {a}, ptr {b}"));
        self.addresses.push(("ptr", format!("%q{n}")));
    }

    fn straight(&mut self) {
        for _ in 0..self.rng.random_range(2..7u32) {
            self.step();
        }
    }

    /// Two ways that meet, told apart by the number of the thread.
    fn diamond(&mut self) {
        let n = self.name();
        self.line(&format!("br i1 %bit, label %yes{n}, label %no{n}"));
        let known = (self.addresses.len(), self.values.len());
        for way in ["yes", "no"] {
            let _ = writeln!(self.text, "{way}{n}:");
            self.straight();
            self.line(&format!("br label %meet{n}"));
            self.addresses.truncate(known.0);
            self.values.truncate(known.1);
        }
        let _ = writeln!(self.text, "meet{n}:");
    }

    /// Reads what the neighbour wrote, between barriers.
    fn exchange(&mut self) {
        let n = self.name();
        self.line("call void @sync()");
        self.line(&format!("%v{n} = load i32, ptr addrspace(3) %next, align 4"));
        self.line("call void @sync()");
        self.values.push(format!("%v{n}"));
    }
}

/// A random kernel `@f`.
#[must_use]
pub fn program(rng: &mut dyn RngCore) -> String {
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let (head, convention, tid, slot) = match kind {
        Kind::Amdgcn => {
            let tid = "@llvm.amdgcn.workitem.id.x";
            (AMDGCN, "amdgpu_kernel", tid, "ptr addrspace(5)")
        }
        Kind::Nvptx => (NVPTX, "ptx_kernel", "@llvm.nvvm.read.ptx.sreg.tid.x", "ptr"),
    };
    let mut writer =
        Writer { rng, text: String::new(), next: 0, addresses: Vec::new(), values: Vec::new() };
    writer.text.push_str(head);
    writer.text.push_str(FUNCTIONS);
    let _ = writeln!(writer.text, "define {convention} void @f(ptr %gp, i32 %a0, i32 %a1) {{");
    writer.line(&format!("%lane = call i32 {tid}()"));
    writer.line("%bit = trunc i32 %lane to i1");
    writer.line(&format!("%own = mul i32 %lane, {WORDS}"));
    writer.line("%near = xor i32 %lane, 1");
    writer.line(&format!("%next.at = mul i32 %near, {WORDS}"));
    writer.line(
        "%next = getelementptr inbounds [16 x i32], ptr addrspace(3) @lds, i32 0, i32 %next.at",
    );
    let in_frame = if kind == Kind::Amdgcn { ", addrspace(5)" } else { "" };
    writer.line(&format!("%frame = alloca [{WORDS} x i32], align 4{in_frame}"));
    writer.line(&format!("%slot = alloca ptr, align 8{in_frame}"));
    let at = "getelementptr inbounds";
    for word in 0..WORDS {
        let lines = [
            format!("%w{word} = add i32 %own, {word}"),
            format!("%l{word} = {at} [16 x i32], ptr addrspace(3) @lds, i32 0, i32 %w{word}"),
            format!("%lg{word} = addrspacecast ptr addrspace(3) %l{word} to ptr"),
            format!("%g{word} = {at} i32, ptr %gp, i32 %w{word}"),
            format!("%gd{word} = addrspacecast ptr %g{word} to ptr addrspace(1)"),
            format!("%f{word} = {at} i32, {slot} %frame, i32 {word}"),
        ];
        lines.iter().for_each(|line| writer.line(line));
        let mut add = |ty, name: &str| writer.addresses.push((ty, format!("%{name}{word}")));
        add("ptr addrspace(3)", "l");
        add("ptr", "lg");
        add("ptr", "g");
        add("ptr addrspace(1)", "gd");
        if kind == Kind::Amdgcn {
            add("ptr addrspace(5)", "f");
            add("ptr", "fg");
            writer.line(&format!("%fg{word} = addrspacecast ptr addrspace(5) %f{word} to ptr"));
        } else {
            add("ptr", "f");
        }
        let seed = ["%lane", "%a0", "7"].choose(writer.rng).copied().unwrap_or("7");
        writer.line(&format!("store i32 {seed}, ptr addrspace(3) %l{word}, align 4"));
        writer.line(&format!("store i32 %lane, {slot} %f{word}, align 4"));
    }
    // For all that is known, others may access the frame.
    let frame = if kind == Kind::Amdgcn { "%fg0" } else { "%f0" };
    if writer.rng.random() {
        writer.line(&format!("call void @keep(ptr {frame})"));
    }
    let kept = ["%lg1", "%g1", frame].choose(writer.rng).copied().unwrap_or(frame);
    writer.line(&format!("store ptr {kept}, {slot} %slot, align 8"));
    writer.line(&format!("%back = load ptr, {slot} %slot, align 8"));
    writer.line("%any = call ptr @outside(ptr %lg0)");
    writer.addresses.push(("ptr", "%back".to_owned()));
    writer.addresses.push(("ptr", "%any".to_owned()));
    writer.values = ["%a0", "%a1", "%lane"].map(str::to_owned).to_vec();
    for _ in 0..2 {
        writer.choose_address();
    }
    for _ in 0..writer.rng.random_range(2..6u32) {
        match writer.rng.random_range(0..3u32) {
            0 => writer.straight(),
            1 => writer.diamond(),
            _ => writer.exchange(),
        }
    }
    writer.straight();
    // What is left everywhere.
    for word in 0..WORDS {
        for (ty, name) in [("ptr addrspace(3)", "l"), ("ptr addrspace(1)", "gd"), (slot, "f")] {
            writer.line(&format!("%{name}.end{word} = load i32, {ty} %{name}{word}, align 4"));
        }
    }
    writer.line("ret void");
    writer.text.push_str("}\n");
    writer.text
}

fn launch(rng: &mut SmallRng, memory: &mut Memory) -> Option<Launch> {
    let contents: Vec<u8> = (0..THREADS * WORDS * 4).map(|_| rng.random()).collect();
    let buffer = memory.buffer(&contents).ok()?;
    let orders = [Order::Lockstep, Order::Turns(7), Order::Random(rng.random())];
    Some(Launch {
        block: [*[THREADS, 6].choose(rng).unwrap_or(&THREADS), 1, 1],
        wave: *[4, 8, 32].choose(rng).unwrap_or(&8),
        args: vec![Arg::bits(buffer), Arg::bits(3u32), Arg::bits(u128::from(rng.random::<u32>()))],
        fuel: 20_000,
        order: *orders.choose(rng).unwrap_or(&Order::Lockstep),
        seed: rng.random(),
        ..Launch::default()
    })
}

/// What an argument influences, from less than what is known.
fn spoilt_flow(
    session: &Session,
    of: FunctionId,
    spoilt: Spoilt,
    argument: usize,
) -> Option<Reached> {
    let (db, function) = (session.database(), of.input());
    let graph = (queries::cfg(db, function)?, session.dom_tree(of)?);
    let kinds = queries::memory_kinds(db, function).as_ref()?;
    let private = queries::private_memory(db, function).as_ref()?;
    with_code(db, function, &Right { db, function }, |code, around| {
        let leads_to = |inst, position| {
            let set = kinds.at(code.body, inst, position);
            match spoilt {
                Spoilt::Memory(memory) if !set.without(memory).memories().is_empty() => {
                    set.without(memory)
                }
                Spoilt::Everything => SpaceSet::ALL,
                _ => set,
            }
        };
        let written = |call| match spoilt {
            Spoilt::Calls => Some(SpaceSet::EMPTY),
            Spoilt::Everything => None,
            Spoilt::Memory(memory) => {
                let called = |name, _| {
                    let callee = *queries::symbols(db, function.module(db)).get(&name)?;
                    queries::written_spaces(db, callee)
                };
                let written = written_by_call(code, around, kinds, &called, call)?;
                let rest = written.without(memory);
                Some(if rest.is_empty() { written } else { rest })
            }
        };
        let reach = Reach { leads_to: &leads_to, written_by: &written };
        let memory = MemorySsa::new(code, around, graph, private.clone(), reach);
        let flow = MemoryFlow::new(memory.private());
        Some(reached_from(DataFlow::new(code, &memory, &flow), argument, Edges::All))
    })
}

/// Runs a random program in pairs of launches, and compares with its data flow, computed from
/// correct or falsified facts.
///
/// # Panics
/// The program is refused.
#[must_use]
pub fn check_random(seed: u64, pairs: u32, spoilt: Option<Spoilt>) -> (Tally, String) {
    let text = program(&mut SmallRng::seed_from_u64(seed));
    let reached = |session: &Session, of: FunctionId, argument| match spoilt {
        Some(spoilt) => spoilt_flow(session, of, spoilt, argument),
        None => Some(reached_from(session.data_flow(of)?, argument, Edges::All)),
    };
    let tally = check(&text, (seed, pairs), &reached, &launch);
    (tally.unwrap_or_else(|| panic!("a generated program is refused:\n{text}")), text)
}
