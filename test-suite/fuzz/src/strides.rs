//! Edits kernels full of addresses randomly. After each edit, facts about their accesses must equal
//! those of a new database.
//!
//! A kernel is a sequence of pieces, each of which reads values of earlier ones: rows and columns
//! of matrices, tiles of shared memory, members of structures, loops over a grid and nested loops
//! with steps of all kinds, and values that are frozen, selected, or loaded at a lane's index.
//! Edits are those of [`edits`](crate::edits), and some special ones: alignments, bases, splits of
//! blocks.

use std::fmt::Write as _;

use phalanx::{
    Session,
    db::{Database, queries},
    ir::{Module, Opcode, Value, edit::Transaction},
};
use rand::{Rng as _, RngCore, seq::IndexedRandom as _};

use crate::edits::{Graph, Refused, instructions};

/// Results of the edits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Transactions that were kept.
    pub committed: u64,
    /// Transactions that changed a pattern, or added, moved or removed an access.
    pub other: u64,
    /// How the accesses were computed.
    pub accesses: queries::Ways,
}

impl Tally {
    /// Adds another one.
    pub fn merge(&mut self, other: Tally) {
        self.committed += other.committed;
        self.other += other.other;
        self.accesses.merge(other.accesses);
    }
}

const HEAD: &str = "target triple = \"nvptx64-nvidia-cuda\"
%pair = type { i32, double }
@tile = internal addrspace(3) global [33 x [33 x i32]] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
define ptx_kernel void @f(ptr addrspace(1) align 256 %p, ptr addrspace(1) %q, i32 %n, i32 %m) #0 {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
";

/// The text of a kernel, as it grows.
struct Kernel<'r> {
    rng: &'r mut dyn RngCore,
    text: String,
    /// Names of integers that are there.
    integers: Vec<String>,
    block: String,
    count: usize,
}

impl Kernel<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn name(&mut self, stem: &str) -> String {
        self.count += 1;
        format!("%{stem}{}", self.count)
    }

    /// An integer, one of the last ones mostly.
    fn integer(&mut self) -> String {
        let skipped = match self.rng.random_bool(0.6) {
            true => self.integers.len().saturating_sub(8),
            false => 0,
        };
        self.integers[skipped..].choose(self.rng).cloned().expect("there are arguments")
    }

    fn one_of(&mut self, all: &[&'static str]) -> &'static str {
        all.choose(self.rng).expect("there are some")
    }

    /// An integer from others.
    fn computed(&mut self) -> String {
        let (a, b, to) = (self.integer(), self.integer(), self.name("i"));
        let flags = self.one_of(&["", "nsw ", "nuw ", "nuw nsw "]);
        let small = self.one_of(&["0", "1", "2", "4", "5", "31", "32", "33"]);
        let line = match self.rng.random_range(0..9) {
            0..=2 => format!("{to} = add {flags}i32 {a}, {b}"),
            3 => format!("{to} = sub {flags}i32 {a}, {b}"),
            4 => format!("{to} = mul {flags}i32 {a}, {small}"),
            5 => format!("{to} = and i32 {a}, {small}"),
            6 => format!("{to} = shl {flags}i32 {a}, 2"),
            7 => format!("{to} = freeze i32 {a}"),
            _ => {
                let c = self.name("c");
                self.line(&format!("{c} = icmp slt i32 {a}, {small}"));
                format!("{to} = select i1 {c}, i32 {a}, i32 {b}")
            }
        };
        self.line(&line);
        self.integers.push(to.clone());
        to
    }

    /// An access at an index.
    fn access(&mut self, index: &str) {
        let (at, value) = (self.name("at"), self.name("v"));
        let base = self.one_of(&["%p", "%q"]);
        let kind = self.rng.random_range(0..6);
        let space = if kind == 0 { "ptr addrspace(3)" } else { "ptr addrspace(1)" };
        let address = match kind {
            0 => {
                let column = self.integer();
                format!("[33 x [33 x i32]], {space} @tile, i32 0, i32 {index}, i32 {column}")
            }
            1 => format!("%pair, {space} {base}, i32 {index}, i32 0"),
            2 => format!("i32, {space} {base}, i32 {index}"),
            _ => {
                let wide = self.name("w");
                let cast = self.one_of(&["sext", "zext"]);
                self.line(&format!("{wide} = {cast} i32 {index} to i64"));
                format!("i32, {space} {base}, i64 {wide}")
            }
        };
        self.line(&format!("{at} = getelementptr inbounds {address}"));
        match self.rng.random_bool(0.7) {
            true => {
                self.line(&format!("{value} = load i32, {space} {at}, align 4"));
                self.integers.push(value);
            }
            false => self.line(&format!("store i32 {index}, {space} {at}, align 4")),
        }
    }

    /// A loop with a step, and perhaps one in it.
    fn a_loop(&mut self, depth: usize) {
        let start = match self.rng.random_bool(0.7) {
            true => {
                let (base, of) = (self.integer(), self.name("start"));
                self.line(&format!("{of} = add nsw i32 {base}, %x"));
                of
            }
            false => self.integer(),
        };
        let step = if self.rng.random_bool(0.5) { self.computed() } else { self.integer() };
        let (k, next, more) = (self.name("k"), self.name("next"), self.name("more"));
        let (head, end) = (self.name("head"), self.name("end"));
        let before = std::mem::replace(&mut self.block, head.clone());
        self.line(&format!("br label {head}"));
        let _ = writeln!(self.text, "{}:", &head[1..]);
        let (phi, place) = (self.text.len(), self.integers.len());
        self.integers.push(k.clone());
        self.access(&k);
        for _ in 0..self.rng.random_range(0..3) {
            let index = self.computed();
            self.access(&index);
        }
        if depth > 0 && self.rng.random_bool(0.4) {
            self.a_loop(depth - 1);
        }
        let flags = self.one_of(&["nsw ", "nsw ", ""]);
        self.line(&format!("{next} = add {flags}i32 {k}, {step}"));
        let bound = if self.rng.random_bool(0.7) { "%n".to_owned() } else { self.integer() };
        self.line(&format!("{more} = icmp slt i32 {next}, {bound}"));
        self.line(&format!("br i1 {more}, label {head}, label {end}"));
        let latch = &self.block;
        let phi_text = format!("  {k} = phi i32 [ {start}, {before} ], [ {next}, {latch} ]\n");
        self.text.insert_str(phi, &phi_text);
        let _ = writeln!(self.text, "{}:", &end[1..]);
        self.block = end;
        // Values of a loop are sometimes read behind it.
        let kept = self.rng.random_range(0..3);
        self.integers.truncate(place + kept);
    }
}

/// A random kernel of at least so many instructions.
fn program(rng: &mut dyn RngCore, size: usize) -> String {
    let integers = ["%n", "%m", "%x", "%y", "%b", "%lane"].map(str::to_owned).into();
    let (text, block) = (HEAD.to_owned(), "%entry".to_owned());
    let mut kernel = Kernel { rng, text, integers, block, count: 0 };
    while kernel.text.lines().count() < size {
        match kernel.rng.random_range(0..6) {
            0 | 1 => {
                kernel.computed();
            }
            2..=4 => {
                let index = if kernel.rng.random() { kernel.computed() } else { kernel.integer() };
                kernel.access(&index);
            }
            _ => kernel.a_loop(2),
        }
    }
    let size = kernel.one_of(&[
        "nounwind",
        "\"nvvm.reqntid\"=\"64\"",
        "\"nvvm.reqntid\"=\"32,8\"",
        "\"nvvm.reqntid\"=\"16,4\"",
    ]);
    format!("{}  ret void\n}}\nattributes #0 = {{ {size} }}\n", kernel.text)
}

/// An edit that is about addresses.
fn addresses(edit: &mut Transaction<'_>, rng: &mut dyn RngCore) -> Result<(), Refused> {
    let body = edit.body();
    let of_memory = |inst: &_| {
        let opcode = body.inst(*inst).opcode;
        body.block_of(*inst).is_some()
            && matches!(opcode, Opcode::Load | Opcode::Store | Opcode::GetElementPtr)
    };
    let insts: Vec<_> = body.all_ids().filter(of_memory).collect();
    let Some(&inst) = insts.choose(rng) else { return Ok(()) };
    match body.inst(inst).opcode {
        Opcode::GetElementPtr => {
            let base = Value::arg(rng.random_range(0..2));
            if edit.type_of(body.operands(inst)[0]) == edit.type_of(base) {
                edit.set_operand(inst, 0, base)?;
            }
        }
        _ => edit.set_align(inst, 1 << rng.random_range(0..5))?,
    }
    Ok(())
}

/// Edits a random kernel of at least so many instructions, in so many transactions.
///
/// # Panics
/// When facts about its accesses differ from those from scratch.
#[must_use]
pub fn edited(rng: &mut dyn RngCore, size: usize, rounds: usize) -> Tally {
    let text = program(rng, size);
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = session.function(module, "f").expect("the kernel is called @f");
    let mut tally = Tally::default();
    let mut before = queries::memory_accesses(session.database(), kernel.input()).clone();
    for _ in 0..rounds {
        let done = session.edit(kernel, |edit| {
            edit.verifying(true);
            let graph = Graph::new(edit.flow());
            for _ in 0..rng.random_range(1..3) {
                // Refused operations have changed nothing.
                let _ = match rng.random_bool(0.2) {
                    true => addresses(edit, rng),
                    false => instructions(edit, &graph, rng).map_err(Refused::from),
                };
            }
            if rng.random_bool(0.04) {
                let block = *edit.flow().order().choose(rng).expect("there is an entry");
                let last = edit.body().last(block).expect("blocks are not empty");
                edit.split_before(last, "split")?;
            }
            Ok::<(), Refused>(())
        });
        tally.committed += u64::from(done.is_ok());
        // Sometimes no query follows an edit.
        if rng.random_bool(0.1) {
            continue;
        }
        let mut fresh: Module = module.input().shell(session.database()).clone();
        let entries = module.input().functions(session.database());
        let copies = entries.iter().map(|e| e.input.view(session.database()).to_function());
        fresh.functions = copies.collect();
        let mut db = Database::new();
        let cold = db.load(fresh, None, phalanx::db::TargetOverrides::default());
        let at = entries.iter().position(|e| e.input == kernel.input()).expect("it is in there");
        let (warm, cold) = (kernel.input(), cold.functions(&db)[at].input);
        macro_rules! same {
            ($($query:ident)*) => {$(
                let (known, found) =
                    (queries::$query(session.database(), warm), queries::$query(&db, cold));
                assert!(
                    known == found,
                    "{} is not what it is from scratch\n{known:?}\n{found:?}\n{}",
                    stringify!($query),
                    String::from_utf8_lossy(&session.print(module))
                );
            )*};
        }
        same!(divergence memory_accesses slow_accesses);
        let now = queries::memory_accesses(session.database(), warm);
        tally.other += u64::from(*now != before);
        before.clone_from(now);
    }
    Tally { accesses: queries::access_repairs(session.database(), kernel.input()), ..tally }
}
