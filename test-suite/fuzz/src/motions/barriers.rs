//! Checks the removal of barriers against execution: kernels without a data race must have none
//! after it, and write the same results.
//!
//! In a random kernel, threads write to places of their own in workgroup memory and read those of
//! their neighbours, with barriers, uniform branches and loops in between. Most kernels have too
//! few barriers and race; only the others count.

use std::fmt::Write as _;

use phalanx::{
    Session,
    ir::Module,
    transform::{Manager, Options, Pipeline, Registry},
};
use phalanx_simt::{Reconvergence, races::Races};
use rand::{Rng as _, RngCore, seq::IndexedRandom as _};

use crate::transforms::{launch_watched, module_of};

/// What was compared.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Kernels from which barriers were removed.
    pub changed: u64,
    /// Barriers that were removed.
    pub removed: u64,
    /// Launches without a race, before and after.
    pub launches: u64,
}

impl Tally {
    /// Adds another.
    pub fn merge(&mut self, other: Tally) {
        self.changed += other.changed;
        self.removed += other.removed;
        self.launches += other.launches;
    }
}

struct Writer<'r> {
    text: String,
    block: String,
    next: u32,
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

    fn barrier(&mut self) {
        match (self.is_amd, self.rng.random_range(0..4)) {
            (false, 0) => self.line("call void @llvm.nvvm.barrier.cta.sync.all(i32 0)"),
            (false, _) => self.line("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"),
            (true, 0) => self.line("call void @llvm.amdgcn.s.barrier()"),
            (true, _) => {
                self.line("fence syncscope(\"workgroup\") release");
                self.line("call void @llvm.amdgcn.s.barrier()");
                self.line("fence syncscope(\"workgroup\") acquire");
            }
        }
    }

    fn statement(&mut self, depth: u32) {
        let n = self.number();
        match self.rng.random_range(0..if depth > 0 { 13 } else { 10 }) {
            0..=3 => self.barrier(),
            4 | 5 => {
                self.line(&format!("%w{n} = mul i32 %x, {n}"));
                self.line(&format!("store i32 %w{n}, ptr addrspace(3) %own, align 4"));
            }
            6 | 7 => {
                let from = *["%own", "%left", "%right"].choose(self.rng).unwrap_or(&"%own");
                self.line(&format!("%r{n} = load i32, ptr addrspace(3) {from}, align 4"));
                self.line(&format!("%s{n} = load i32, ptr addrspace(1) %mine, align 4"));
                self.line(&format!("%t{n} = mul i32 %s{n}, 31"));
                self.line(&format!("%u{n} = add i32 %t{n}, %r{n}"));
                self.line(&format!("store i32 %u{n}, ptr addrspace(1) %mine, align 4"));
            }
            8 => self.line(&format!("store i32 {n}, ptr {} %slot, align 4", self.private())),
            9 => self.line(&format!("%q{n} = call i32 @pure(i32 %x)")),
            10 | 11 => {
                let condition = match self.rng.random_range(0..4) {
                    0 => "%divergent",
                    1 => "%uniform.0",
                    _ => "%uniform.1",
                };
                self.line(&format!("br i1 {condition}, label %then{n}, label %else{n}"));
                self.start(format!("then{n}"));
                self.statements(depth - 1);
                self.line(&format!("br label %join{n}"));
                self.start(format!("else{n}"));
                self.statements(depth - 1);
                self.line(&format!("br label %join{n}"));
                self.start(format!("join{n}"));
            }
            _ => {
                let from = self.block.clone();
                self.line(&format!("br label %loop{n}"));
                self.start(format!("loop{n}"));
                self.line(&format!("%i{n} = phi i32 [ 0, %{from} ], [ %j{n}, %latch{n} ]"));
                self.statements(depth - 1);
                self.line(&format!("br label %latch{n}"));
                self.start(format!("latch{n}"));
                self.line(&format!("%j{n} = add i32 %i{n}, 1"));
                self.line(&format!("%c{n} = icmp ult i32 %j{n}, %rounds"));
                self.line(&format!("br i1 %c{n}, label %loop{n}, label %exit{n}"));
                self.start(format!("exit{n}"));
            }
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.rng.random_range(1..7) {
            self.statement(depth);
        }
    }

    fn private(&self) -> &'static str {
        if self.is_amd { "addrspace(5)" } else { "" }
    }
}

/// A random kernel with barriers.
#[must_use]
pub fn random(rng: &mut dyn RngCore) -> String {
    let is_amd = rng.random();
    let (triple, x, convention, private) = match is_amd {
        true => {
            ("amdgcn-amd-amdhsa", "llvm.amdgcn.workitem.id.x", "amdgpu_kernel", ", addrspace(5)")
        }
        false => ("nvptx64-nvidia-cuda", "llvm.nvvm.read.ptx.sreg.tid.x", "ptx_kernel", ""),
    };
    let y = format!("{}y", x.trim_end_matches('x'));
    let mut writer =
        Writer { text: String::new(), block: "entry".to_owned(), next: 0, is_amd, rng };
    let _ = write!(
        writer.text,
        "target triple = \"{triple}\"
@lds = internal addrspace(3) global [64 x i32] zeroinitializer
declare i32 @{x}()
declare i32 @{y}()
{}
define internal i32 @pure(i32 %n) memory(none) nounwind willreturn {{
  %m = mul i32 %n, 3
  ret i32 %m
}}
define {convention} void @f(ptr addrspace(1) %gp, i32 %a0, i32 %a1) {{
entry:
  %slot = alloca i32, align 4{private}
  %x = call i32 @{x}()
  %y = call i32 @{y}()
  %row = shl i32 %y, 3
  %place = add i32 %x, %row
  %own.i = and i32 %place, 63
  %own = getelementptr i32, ptr addrspace(3) @lds, i32 %own.i
  %left.i = xor i32 %own.i, 1
  %left = getelementptr i32, ptr addrspace(3) @lds, i32 %left.i
  %right.i = xor i32 %own.i, 4
  %right = getelementptr i32, ptr addrspace(3) @lds, i32 %right.i
  %mine.i = add i32 %own.i, 64
  %mine = getelementptr i32, ptr addrspace(1) %gp, i32 %mine.i
  %divergent = trunc i32 %x to i1
  %uniform.0 = trunc i32 %a1 to i1
  %a1.1 = lshr i32 %a1, 1
  %uniform.1 = trunc i32 %a1.1 to i1
  %rounds = and i32 %a0, 3
  store i32 %x, ptr addrspace(3) %own, align 4
",
        match is_amd {
            true => "declare void @llvm.amdgcn.s.barrier()",
            false =>
                "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\ndeclare void @llvm.nvvm.barrier.cta.sync.all(i32)",
        }
    );
    // Mostly not at once a race.
    writer.barrier();
    writer.statements(2);
    writer.line("ret void");
    writer.text.push_str("}\n");
    writer.text
}

/// A kernel runs before and after a pipeline.
///
/// # Errors
/// What is not as it has to be.
pub fn check(
    registry: &Registry,
    text: &str,
    pipeline: &str,
    seed: u64,
    launches: u64,
) -> Result<Tally, String> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).map_err(|error| format!("{error}\n{text}"))?;
    let before = module_of(&session, module);
    let passes = Pipeline::parse(pipeline, registry).map_err(|error| error.to_string())?;
    let mut manager = Manager::new(Options { verify_each: true, statistics: true });
    manager
        .run(session.database_mut(), module.input(), &passes, &mut |_, _| {})
        .map_err(|error| error.to_string())?;
    let removed: u64 = manager.statistics().steps.iter().map(|step| step.erased).sum();
    let mut tally = Tally { changed: u64::from(removed > 0), removed, launches: 0 };
    if removed == 0 {
        return Ok(tally);
    }
    let after = module_of(&session, module);
    let run = |module: &Module, seed: u64| {
        launch_watched(module, (seed, Reconvergence::Maximal), 20_000, |_| Races::new())
            .map(|(bytes, races)| (bytes, races.found().len()))
    };
    for number in 0..launches {
        let seed = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let Some((old, 0)) = run(&before, seed) else { continue };
        let printed = String::from_utf8_lossy(&session.print(module)).into_owned();
        let say = |what: &str| Err(format!("{what}, launch {seed}\n{text}\n; becomes\n{printed}"));
        match run(&after, seed) {
            None => return say("no longer ends well"),
            Some((_, races)) if races > 0 => return say("races"),
            Some((new, _)) if new != old => return say("other results"),
            Some(_) => tally.launches += 1,
        }
    }
    Ok(tally)
}
