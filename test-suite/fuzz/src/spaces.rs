//! Checks claims about where pointers lead against execution.
//!
//! Random kernels make pointers to all memories and pass them on: by steps, casts, selections,
//! phis, structures, vectors and integers, through private memory, through a constant table, and
//! through functions that select, recur, store and load. Each pointer that a thread computes, and
//! each operand that a test restricts, must point to one of the memories that [`MemoryKinds`]
//! claims.
//!
//! Every pointer stays at the start of an object or inside of it, so each could be accessed.

mod edited;

use std::fmt::{self, Write as _};

use phalanx::{
    Session,
    analysis::{
        memory::PrivateMemory,
        spaces::{Alone, MemoryKinds, SpaceModel, SpaceSet, memory_kinds, memory_kinds_by_rounds},
    },
    db::queries,
    ir::{Body, InstId, Module, Type, TypeKind},
};
use phalanx_simt::{
    Arg, Launch, Observer, Program, Value,
    launch::Order,
    memory::{Apertures, Region},
    observe::Moment,
};
use rand::{Rng as _, RngCore, SeedableRng as _, rngs::SmallRng, seq::IndexedRandom as _};

pub use edited::{Edited, chains, edited};

use crate::oracle::{Kind, Right, with_code};

/// What was checked and what was found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Functions with a body, kernels and others.
    pub functions: u64,
    /// Launches that ended.
    pub launches: u64,
    /// Checked pointers with a claim.
    pub claims: u64,
    /// Claims of one memory.
    pub exact: u64,
    /// Operands for which tests restrict the claim of their value.
    pub refined: u64,
    /// What was claimed and seen to be wrong.
    pub unsound: Vec<String>,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.functions += other.functions;
        self.launches += other.launches;
        self.claims += other.claims;
        self.exact += other.exact;
        self.refined += other.refined;
        self.unsound.extend(other.unsound);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "functions               {:>12}", self.functions)?;
        writeln!(f, "launches that ended     {:>12}", self.launches)?;
        writeln!(f, "claims checked          {:>12}", self.claims)?;
        writeln!(f, "  of one memory         {:>12}", self.exact)?;
        writeln!(f, "  of tested operands    {:>12}", self.refined)?;
        write!(f, "unsound claims          {:>12}", self.unsound.len())
    }
}

const AMDGCN: &str = r#"target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [512 x i32] undef
@dev = addrspace(1) global [8 x i32] [i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8]
@table = addrspace(1) constant [4 x ptr] [ptr addrspacecast (ptr addrspace(1) @dev to ptr), ptr addrspacecast (ptr addrspace(1) getelementptr inbounds (i32, ptr addrspace(1) @dev, i64 0) to ptr), ptr addrspacecast (ptr addrspace(1) @dev to ptr), ptr addrspacecast (ptr addrspace(1) @dev to ptr)]
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i1 @llvm.amdgcn.is.shared(ptr)
declare i1 @llvm.amdgcn.is.private(ptr)
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
"#;

const NVPTX: &str = r#"target triple = "nvptx64-nvidia-cuda"
@lds = internal addrspace(3) global [512 x i32] undef
@dev = addrspace(1) global [8 x i32] [i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8]
@table = addrspace(1) constant [4 x ptr] [ptr addrspacecast (ptr addrspace(1) @dev to ptr), ptr addrspacecast (ptr addrspace(1) @dev to ptr), ptr addrspacecast (ptr addrspace(1) @dev to ptr), ptr addrspacecast (ptr addrspace(1) @dev to ptr)]
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i1 @llvm.nvvm.isspacep.shared(ptr)
declare i1 @llvm.nvvm.isspacep.local(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"#;

const FUNCTIONS: &str = r"define internal ptr @pick(ptr %a, ptr %b, i32 %n) {
  %c = trunc i32 %n to i1
  %p = select i1 %c, ptr %a, ptr %b
  ret ptr %p
}
define internal ptr @descend(ptr %a, ptr %b, i32 %n) {
  %c = icmp ugt i32 %n, 3
  br i1 %c, label %done, label %more
more:
  %m = add i32 %n, 1
  %p = call ptr @descend(ptr %b, ptr %a, i32 %m)
  ret ptr %p
done:
  ret ptr %a
}
define internal i32 @read(ptr %p) {
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
define ptr @outside(ptr %p) {
  ret ptr %p
}
define internal { ptr, ptr } @pair(ptr %a, ptr %b) {
  %x = insertvalue { ptr, ptr } poison, ptr %a, 0
  %y = insertvalue { ptr, ptr } %x, ptr %b, 1
  ret { ptr, ptr } %y
}
";

struct Writer<'r> {
    rng: &'r mut dyn RngCore,
    text: String,
    next: u32,
    /// Names of generic pointers that can be used here.
    pointers: Vec<String>,
    block: String,
    kind: Kind,
    outputs: u32,
    has_tests: bool,
}

impl Writer<'_> {
    fn name(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn pointer(&mut self) -> String {
        self.pointers.choose(&mut self.rng).cloned().unwrap_or_else(|| "%gp".to_owned())
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn start(&mut self, block: &str) {
        let _ = writeln!(self.text, "{block}:");
        block.clone_into(&mut self.block);
    }

    fn slot(&self) -> &'static str {
        match self.kind {
            Kind::Amdgcn => "ptr addrspace(5)",
            Kind::Nvptx => "ptr",
        }
    }

    /// Something that makes a pointer from pointers.
    fn make(&mut self) {
        let (n, a, b) = (self.name(), self.pointer(), self.pointer());
        let slot = self.slot();
        let object = self.rng.random_range(0..3u32);
        match self.rng.random_range(0..19u32) {
            0 => self.line(&format!("%p{n} = select i1 %bit, ptr {a}, ptr {b}")),
            1 => {
                self.line(&format!("%f{n} = getelementptr inbounds i32, ptr {a}, i64 4"));
                self.line(&format!("%p{n} = getelementptr inbounds i32, ptr %f{n}, i64 -4"));
            }
            2 | 3 => {
                self.line(&format!("store ptr {a}, {slot} %slot{object}, align 8"));
                self.line(&format!("%p{n} = load ptr, {slot} %slot{object}, align 8"));
            }
            4 | 5 => self.line(&format!("%p{n} = load ptr, {slot} %slot{object}, align 8")),
            6 => {
                self.line(&format!("store ptr {a}, {slot} %slot{object}, align 8"));
                self.line(&format!("%p{n} = freeze ptr {b}"));
            }
            7 => self.line(&format!("%p{n} = call ptr @pick(ptr {a}, ptr {b}, i32 %a0)")),
            8 => self.line(&format!("%p{n} = call ptr @descend(ptr {a}, ptr {b}, i32 %seed)")),
            9 => self.line(&format!("%p{n} = call ptr @outside(ptr {a})")),
            10 => {
                self.line(&format!("%i{n} = ptrtoint ptr {a} to i64"));
                self.line(&format!("%j{n} = add i64 %i{n}, 8"));
                self.line(&format!("%k{n} = sub i64 %j{n}, 8"));
                self.line(&format!("%p{n} = inttoptr i64 %k{n} to ptr"));
            }
            11 => {
                self.line(&format!("%s{n} = call {{ ptr, ptr }} @pair(ptr {a}, ptr {b})"));
                let member = self.rng.random_range(0..2u32);
                self.line(&format!("%p{n} = extractvalue {{ ptr, ptr }} %s{n}, {member}"));
            }
            12 => {
                self.line(&format!("%v{n} = insertelement <2 x ptr> poison, ptr {a}, i32 0"));
                self.line(&format!("%w{n} = insertelement <2 x ptr> %v{n}, ptr {b}, i32 1"));
                self.line(&format!("%p{n} = extractelement <2 x ptr> %w{n}, i32 %bit32"));
            }
            13 => {
                let i = format!(
                    "%t{n} = getelementptr inbounds [4 x ptr], ptr addrspace(1) @table, i32 0, i32 %two"
                );
                self.line(&i);
                self.line(&format!("%p{n} = load ptr, ptr addrspace(1) %t{n}, align 8"));
            }
            14 => {
                let other = (object + 1) % 3;
                let copy = match self.kind {
                    Kind::Amdgcn => "@llvm.memcpy.p5.p5.i64",
                    Kind::Nvptx => "@llvm.memcpy.p0.p0.i64",
                };
                let to = format!("{slot} %slot{object}, {slot} %slot{other}");
                self.line(&format!("call void {copy}({to}, i64 8, i1 false)"));
                self.line(&format!("%p{n} = load ptr, {slot} %slot{object}, align 8"));
            }
            15 => self.of_null(n),
            16 => {
                // The number of the thread's own part of workgroup memory, or of the first part.
                let number = ["%lds.n", "64"].choose(self.rng).copied().unwrap_or("64");
                self.line(&format!("%i{n} = inttoptr i32 {number} to ptr addrspace(3)"));
                self.line(&format!("%p{n} = addrspacecast ptr addrspace(3) %i{n} to ptr"));
            }
            17 => {
                // Null of another space, which is not accessed: only its claim is checked.
                let space = [1, 3, 5].choose(self.rng).copied().unwrap_or(3);
                self.line(&format!("%q{n} = addrspacecast ptr addrspace({space}) null to ptr"));
                self.line(&format!("%r{n} = select i1 %bit, ptr %q{n}, ptr {a}"));
                self.line(&format!("%p{n} = freeze ptr {a}"));
            }
            _ => {
                self.line(&format!("%x{n} = insertvalue {{ i32, ptr }} undef, ptr {a}, 1"));
                self.line(&format!("%y{n} = insertvalue {{ i32, ptr }} %x{n}, i32 1, 0"));
                self.line(&format!("%p{n} = extractvalue {{ i32, ptr }} %y{n}, 1"));
            }
        }
        self.pointers.push(format!("%p{n}"));
    }

    /// An address that is made from the null pointer of a space, and leads into an object.
    fn of_null(&mut self, n: u32) {
        let (space, offset) = match self.kind {
            Kind::Amdgcn if self.rng.random_bool(0.5) => (5, "%frame.n"),
            Kind::Amdgcn | Kind::Nvptx => (3, "%lds.n"),
        };
        let null = match self.rng.random_bool(0.5) {
            true => "null".to_owned(),
            false => format!("inttoptr (i32 0 to ptr addrspace({space}))"),
        };
        let from = format!("ptr addrspace({space}) {null}, i32 {offset}");
        self.line(&format!("%q{n} = getelementptr i8, {from}"));
        self.line(&format!("%p{n} = addrspacecast ptr addrspace({space}) %q{n} to ptr"));
    }

    /// An access through a pointer, of memory that only this thread accesses; loaded values go to
    /// the output.
    fn access(&mut self) {
        let (n, a) = (self.name(), self.pointer());
        match self.rng.random_range(0..4u32) {
            0 => self.line(&format!("%r{n} = call i32 @read(ptr {a})")),
            1 => {
                // Everything but the table's object is the thread's own.
                self.line(&format!("%e{n} = getelementptr inbounds i32, ptr {a}, i32 %two"));
                self.line(&format!("%r{n} = load i32, ptr %e{n}, align 4"));
            }
            _ => self.line(&format!("%r{n} = load i32, ptr {a}, align 4")),
        }
        self.output(n);
    }

    fn output(&mut self, n: u32) {
        if self.outputs == 300 {
            return;
        }
        self.outputs += 1;
        let at = 528 + self.outputs * 64;
        self.line(&format!("%o{n}.i = add i32 %lane, {at}"));
        self.line(&format!("%o{n} = getelementptr inbounds i32, ptr %gp, i32 %o{n}.i"));
        self.line(&format!("store i32 %r{n}, ptr %o{n}, align 4"));
    }

    fn straight(&mut self) {
        for _ in 0..self.rng.random_range(1..5u32) {
            match self.rng.random_bool(0.65) {
                true => self.make(),
                false => self.access(),
            }
        }
    }

    /// Two ways that meet, told apart by data or by a test of a pointer.
    fn diamond(&mut self, depth: u32) {
        let n = self.name();
        let condition = match !self.has_tests || self.rng.random_bool(0.5) {
            true => "%bit".to_owned(),
            false => {
                let a = self.pointer();
                let test = match (self.kind, self.rng.random::<bool>()) {
                    (Kind::Amdgcn, true) => "@llvm.amdgcn.is.shared",
                    (Kind::Amdgcn, false) => "@llvm.amdgcn.is.private",
                    (Kind::Nvptx, true) => "@llvm.nvvm.isspacep.shared",
                    (Kind::Nvptx, false) => "@llvm.nvvm.isspacep.local",
                };
                self.line(&format!("%c{n} = call i1 {test}(ptr {a})"));
                if self.rng.random_bool(0.3) {
                    self.line(&format!("%d{n} = xor i1 %c{n}, true"));
                    // What is tested is used soon.
                    self.pointers.push(a);
                    format!("%d{n}")
                } else {
                    self.pointers.push(a);
                    format!("%c{n}")
                }
            }
        };
        self.line(&format!("br i1 {condition}, label %yes{n}, label %no{n}"));
        let known = self.pointers.len();
        self.start(&format!("yes{n}"));
        self.region(depth);
        let (left, left_end) = (self.pointer(), self.block.clone());
        self.line(&format!("br label %meet{n}"));
        self.pointers.truncate(known);
        self.start(&format!("no{n}"));
        self.region(depth);
        let (right, right_end) = (self.pointer(), self.block.clone());
        self.line(&format!("br label %meet{n}"));
        self.pointers.truncate(known);
        self.start(&format!("meet{n}"));
        self.line(&format!("%p{n} = phi ptr [ {left}, %{left_end} ], [ {right}, %{right_end} ]"));
        self.pointers.push(format!("%p{n}"));
    }

    /// A few rounds in which pointers change places.
    fn rounds(&mut self, depth: u32) {
        let n = self.name();
        let (a, b, before) = (self.pointer(), self.pointer(), self.block.clone());
        self.line(&format!("br label %head{n}"));
        let at = self.text.len();
        self.start(&format!("head{n}"));
        let known = self.pointers.len();
        self.pointers.push(format!("%p{n}"));
        self.pointers.push(format!("%q{n}"));
        let phis = self.text.len();
        self.region(depth);
        let (next, end) = (self.pointer(), self.block.clone());
        self.line(&format!("%n{n} = add i32 %m{n}, 1"));
        self.line(&format!("%c{n} = icmp ult i32 %n{n}, 3"));
        self.line(&format!("br i1 %c{n}, label %head{n}, label %out{n}"));
        let lines = format!(
            "  %m{n} = phi i32 [ 0, %{before} ], [ %n{n}, %{end} ]\n  \
             %p{n} = phi ptr [ {a}, %{before} ], [ %q{n}, %{end} ]\n  \
             %q{n} = phi ptr [ {b}, %{before} ], [ {next}, %{end} ]\n"
        );
        debug_assert!(at <= phis);
        self.text.insert_str(phis, &lines);
        self.pointers.truncate(known + 2);
        self.start(&format!("out{n}"));
    }

    fn region(&mut self, depth: u32) {
        self.straight();
        if depth > 0 {
            for _ in 0..self.rng.random_range(0..3u32) {
                match self.rng.random_bool(0.6) {
                    true => self.diamond(depth - 1),
                    false => self.rounds(depth - 1),
                }
                self.straight();
            }
        }
    }
}

/// A random kernel `@f` full of pointers.
#[must_use]
pub fn program(rng: &mut dyn RngCore) -> String {
    program_with(rng, 2, true)
}

/// The same, with regions nested so deep, with tests of addresses or without.
fn program_with(rng: &mut dyn RngCore, depth: u32, has_tests: bool) -> String {
    let kind = if rng.random() { Kind::Amdgcn } else { Kind::Nvptx };
    let mut writer = Writer {
        rng,
        text: String::new(),
        next: 0,
        pointers: Vec::new(),
        block: String::new(),
        kind,
        outputs: 0,
        has_tests,
    };
    let (head, convention, tid, in_frame) = match kind {
        Kind::Amdgcn => (AMDGCN, "amdgpu_kernel", "@llvm.amdgcn.workitem.id", ", addrspace(5)"),
        Kind::Nvptx => (NVPTX, "ptx_kernel", "@llvm.nvvm.read.ptx.sreg.tid", ""),
    };
    writer.text.push_str(head);
    writer.text.push_str(FUNCTIONS);
    let _ = writeln!(writer.text, "define {convention} void @f(ptr %gp, i32 %a0, i32 %a1) {{");
    writer.start("entry");
    writer.line(&format!("%x = call i32 {tid}.x()"));
    writer.line(&format!("%y = call i32 {tid}.y()"));
    writer.line("%row = mul i32 %y, 4");
    writer.line("%lane = add i32 %x, %row");
    writer.line("%seed = add i32 %lane, %a1");
    writer.line("%bit = trunc i32 %seed to i1");
    writer.line("%bit32 = zext i1 %bit to i32");
    writer.line("%two = and i32 %seed, 3");
    for slot in 0..3 {
        writer.line(&format!("%slot{slot} = alloca ptr, align 8{in_frame}"));
    }
    writer.line(&format!("%frame = alloca [8 x i32], align 4{in_frame}"));
    writer.line("%own = mul i32 %lane, 8");
    writer.line(
        "%lds.at = getelementptr inbounds [512 x i32], ptr addrspace(3) @lds, i32 0, i32 %own",
    );
    writer.line("%lds.n = ptrtoint ptr addrspace(3) %lds.at to i32");
    writer.line("%lds.p = addrspacecast ptr addrspace(3) %lds.at to ptr");
    writer.line("%gp.p = getelementptr inbounds i32, ptr %gp, i32 %own");
    let frame = match kind {
        Kind::Amdgcn => {
            writer.line("%frame.n = ptrtoint ptr addrspace(5) %frame to i32");
            writer.line("%frame.p = addrspacecast ptr addrspace(5) %frame to ptr");
            "%frame.p"
        }
        Kind::Nvptx => "%frame",
    };
    for element in 0..8 {
        for (base, tag) in [("%lds.p", "l"), (frame, "f")] {
            writer.line(&format!(
                "%{tag}e{element} = getelementptr inbounds i32, ptr {base}, i32 {element}"
            ));
            writer.line(&format!("store i32 %seed, ptr %{tag}e{element}, align 4"));
        }
    }
    let slot = writer.slot();
    for at in 0..3 {
        let first = [frame, "%lds.p", "%gp.p"].choose(writer.rng).copied().unwrap_or("%gp.p");
        writer.line(&format!("store ptr {first}, {slot} %slot{at}, align 8"));
    }
    writer.pointers = ["%lds.p", frame, "%gp.p"].map(str::to_owned).to_vec();
    writer.region(depth);
    writer.line("ret void");
    writer.text.push_str("}\n");
    writer.text
}

/// Bytes of the buffer: what threads read, and a place of its own for each result.
const BUFFER: usize = (528 + 302 * 64) * 4;

/// Watches pointers.
struct Watch<'w> {
    module: &'w Module,
    /// By function of the program; none for declarations.
    claims: &'w [Option<&'w MemoryKinds>],
    model: SpaceModel,
    apertures: Apertures,
    tally: Tally,
}

impl Watch<'_> {
    /// The memories that a pointer may be said to lead to; none for null and poison.
    fn leads_to(&self, ty: Type, value: &Value) -> Option<SpaceSet> {
        let space = self.module.context.type_kind(ty).address_space()?;
        let bits = u64::try_from(value.bits()?).ok().filter(|&bits| bits != 0)?;
        if Some(space) != self.model.generic() {
            return Some(self.model.of(space));
        }
        Some(match self.apertures.resolve(bits).0 {
            Region::Global | Region::Generic => SpaceSet::GLOBAL | SpaceSet::CONSTANT,
            Region::Shared => SpaceSet::SHARED,
            Region::Private => SpaceSet::PRIVATE,
        })
    }

    fn check(&mut self, claimed: SpaceSet, ty: Type, value: &Value, say: impl FnOnce() -> String) {
        let Some(actual) = self.leads_to(ty, value) else { return };
        if claimed == SpaceSet::ALL {
            return;
        }
        self.tally.claims += 1;
        self.tally.exact += u64::from(claimed.memories().iter().count() == 1);
        if !claimed.meets(actual) {
            self.tally.unsound.push(format!("{} leads to {actual}, not {claimed}", say()));
        }
    }

    fn body(&self, function: usize) -> &Body {
        &self.module.functions[function].body
    }
}

impl Observer for Watch<'_> {
    fn value(&mut self, at: Moment<'_>, value: &Value) {
        let Some(kinds) = self.claims.get(at.function).copied().flatten() else { return };
        let ty = self.body(at.function).inst(at.inst).ty;
        if matches!(self.module.context.type_kind(ty), TypeKind::Ptr(_)) {
            let claimed = kinds.of(at.inst.into());
            self.check(claimed, ty, value, || format!("@{} {:?}", at.function, at.inst));
        }
    }

    fn wants_operands(&self) -> bool {
        true
    }

    fn operand(&mut self, at: Moment<'_>, position: usize, of: InstId, value: &Value) {
        let Some(kinds) = self.claims.get(at.function).copied().flatten() else { return };
        let ty = self.body(at.function).inst(of).ty;
        let claimed = kinds.at(self.body(at.function), at.inst, position as u32);
        if claimed != kinds.of(of.into()) {
            self.tally.refined += 1;
            self.check(claimed, ty, value, || format!("operand of {:?}", at.inst));
        }
    }
}

/// Runs a program and checks the claims about another one with the same instructions: the program
/// itself, or one that differs in some operands, so that the claims are wrong.
///
/// # Panics
/// When the program is none.
#[must_use]
pub fn check(text: &str, claimed: &str, seed: u64, launches: u64) -> Tally {
    let mut session = Session::new();
    let id = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let of = session.read(claimed.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{claimed}"));
    let db = session.database();
    let entries = id.input().functions(db);
    let mut module: Module = id.input().shell(db).clone();
    module.functions = entries.iter().map(|e| e.input.view(db).to_function()).collect();
    let triple = module.triple.map(|t| module.context.text(t).into_owned()).unwrap_or_default();
    let target = phalanx::target::Target::new(&triple, "");
    let program = Program::new(&module, &target).expect("the program is interpreted");
    let functions = of.input().functions(db);
    let claims: Vec<Option<&MemoryKinds>> =
        functions.iter().map(|e| queries::memory_kinds(db, e.input).as_deref()).collect();
    let bodies = claims.iter().flatten().count() as u64;
    let mut tally = Tally { functions: bodies, ..Tally::default() };
    for number in 0..launches {
        let rng = &mut SmallRng::seed_from_u64(seed.wrapping_add(number));
        let Ok(mut memory) = program.memory(rng.random()) else { continue };
        let contents: Vec<u8> = (0..BUFFER).map(|_| rng.random()).collect();
        let Ok(buffer) = memory.buffer(&contents) else { continue };
        let orders = [Order::Lockstep, Order::Turns(7), Order::Random(rng.random())];
        let launch = Launch {
            block: *[[8, 1, 1], [5, 1, 1], [4, 2, 1]].choose(rng).unwrap_or(&[8, 1, 1]),
            wave: *[4, 8, 32].choose(rng).unwrap_or(&8),
            args: vec![
                Arg::bits(buffer),
                Arg::bits(u128::from(rng.random_range(0..16u32))),
                Arg::bits(u128::from(rng.random_range(0..4u32))),
            ],
            fuel: 200_000,
            order: *orders.choose(rng).unwrap_or(&Order::Lockstep),
            seed: rng.random(),
            ..Launch::default()
        };
        let mut watch = Watch {
            module: &module,
            claims: &claims,
            model: SpaceModel::new(target.architecture()),
            apertures: Apertures::new(64, target.architecture()),
            tally: Tally::default(),
        };
        let ended = phalanx_simt::run(&program, "f", &launch, &mut memory, &mut watch).is_ok();
        watch.tally.launches = u64::from(ended);
        tally.merge(watch.tally);
    }
    for unsound in &mut tally.unsound {
        let _ = write!(unsound, "\n{text}");
    }
    tally
}

/// A random program with the claims that are made.
#[must_use]
pub fn run(rng: &mut dyn RngCore, launches: u64) -> Tally {
    let text = program(rng);
    check(&text, &text, rng.next_u64(), launches)
}

/// Checks the random program of a seed; gives its text if a claim is wrong.
#[must_use]
pub fn check_random(seed: u64, launches: u64) -> (Tally, Option<String>) {
    let text = program(&mut SmallRng::seed_from_u64(seed));
    let tally = check(&text, &text, seed, launches);
    let wrong = (!tally.unsound.is_empty()).then_some(text);
    (tally, wrong)
}

/// Compares the solver with plain rounds, for each function of a random program. Returns how many
/// functions were compared.
///
/// # Panics
/// When they differ.
#[must_use]
pub fn twins(rng: &mut dyn RngCore) -> usize {
    let text = program(rng);
    let mut session = Session::new();
    let id = session.read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let db = session.database();
    let mut compared = 0;
    for entry in id.input().functions(db).iter().filter(|entry| entry.is_definition) {
        let function = entry.input;
        let (Some(cfg), Some(dom)) = (queries::cfg(db, function), queries::dom_tree(db, function))
        else {
            continue;
        };
        let right = Right { db, function };
        let (fast, slow) = with_code(db, function, &right, |code, around| {
            let memory = PrivateMemory::without_origins(code, around, cfg, dom);
            let graph = (cfg, dom);
            (
                memory_kinds(code, around, graph, &memory, &Alone),
                memory_kinds_by_rounds(code, around, graph, &memory, &Alone),
            )
        });
        assert!(fast == slow, "{text}");
        compared += 1;
    }
    compared
}
