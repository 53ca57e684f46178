//! Checks the reports of `phalanx check --against` about two versions of a program against their
//! execution.
//!
//! The second version of a random program is made by an LLVM pass, by passes of Phalanx, or by a
//! deliberate [mistake](Mistake). Both are executed in launches of this crate, whose geometries,
//! arguments and memory differ from those of the check. A pair *differs* when in one of these
//! launches
//!
//! - a set of threads that executed an operation together is gone, and another with a thread in
//!   common is new, or
//! - the bytes in memory differ, or
//! - only the later version races, faults or hangs.
//!
//! Each pair that differs has to be reported by an error or a warning. Of the pairs that do not
//! differ, at most one in a hundred may be reported. Reports that hold only on hardware that
//! reconverges at post-dominators (PHX024) are counted separately.
//!
//! LLVM passes make mistakes when they do not know that a vote is one: [`hidden`].

pub mod guarded;

use std::fmt::Write as _;

use phalanx::{
    Session,
    ir::{
        InstBuilder as _, InstId, Module,
        edit::{InModule, Transaction},
    },
    report::check::{Checker, LinedText, Side, SourceFile, Sources, against},
    transform::{Manager, Options, Pipeline, Registry, code::Code},
};
use phalanx_simt::{Observer, Reconvergence, races::Races};
use phalanx_testing::llvm_tools::Program;
use rand::{Rng as _, RngCore, seq::IndexedRandom as _};

use crate::{
    motions::{Company, FUEL, Names, Together},
    transforms::{launch_watched, module_of},
};

/// Pipelines of `opt-22`.
pub const LLVM: &[&str] = &[
    "simplifycfg",
    "jump-threading",
    "loop-simplify,loop-rotate",
    "loop-simplify,lcssa,loop-unroll",
    "loop-mssa(licm)",
    "sink",
    "gvn",
    "early-cse<memssa>",
    "loop-mssa(simple-loop-unswitch<nontrivial>)",
    "lowerswitch",
    "loop-simplify",
    "instcombine",
    "simplifycfg<hoist-common-insts;sink-common-insts>",
    "mergereturn,structurizecfg",
    "jump-threading,simplifycfg,gvn,loop-mssa(licm),sink",
    "default<O2>",
];

/// Pipelines of ours.
pub const OURS: &[&str] = &[
    "simplifycfg",
    "licm",
    "jump-threading",
    "loop-unroll<count=2>",
    "move-convergent",
    "licm,move-convergent,early-cse,dce,simplifycfg",
    "combine-ballots",
    "early-cse,dce",
    "remove-redundant-barriers",
];

/// A deliberate mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// An operation moves to the end of a block that dominates its own.
    Hoist,
    /// An operation moves to the start of a block that its own dominates.
    Sink,
    /// An operation is copied to another block.
    Copy,
    /// A barrier is removed.
    Delete,
    /// An operation moves some instructions up or down in its block.
    Shift,
}

impl Mistake {
    /// All kinds.
    pub const ALL: &[Mistake] =
        &[Mistake::Hoist, Mistake::Sink, Mistake::Copy, Mistake::Delete, Mistake::Shift];
}

/// Makes a mistake in a program; none where it cannot be made.
#[must_use]
pub fn mistaken(text: &str, mistake: Mistake, rng: &mut dyn RngCore) -> Option<String> {
    let mut session = Session::new();
    let id = session.read(text.as_bytes()).ok()?;
    let function = session.function(id, "f")?;
    let operations: Vec<InstId> = {
        let code = Code::of(session.database(), function.input());
        let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        all.filter(|&inst| code.is_convergent(inst)).collect()
    };
    let mut module = module_of(&session, id);
    let at = module
        .functions
        .iter()
        .position(|f| f.header.name == session.code(function).header.name)?;
    let mut store = InModule::new(&mut module, at);
    let mut edit = Transaction::new(&mut store);
    let &operation = operations.choose(rng)?;
    let block = edit.body().block_of(operation)?;
    let blocks: Vec<_> = edit.flow().order().to_vec();
    match mistake {
        Mistake::Hoist | Mistake::Sink => {
            let &to = blocks.choose(rng)?;
            if to == block {
                return None;
            }
            match mistake {
                Mistake::Hoist => edit.move_to_end(operation, to).ok()?,
                _ => {
                    let first = edit
                        .body()
                        .block_insts(to)
                        .find(|&inst| edit.body().inst(inst).opcode != phalanx::ir::Opcode::Phi)?;
                    edit.move_before(operation, first).ok()?;
                }
            }
        }
        Mistake::Copy => {
            let &to = blocks.choose(rng)?;
            edit.at_end(to).named("copy").clone_of(operation).ok()?;
        }
        Mistake::Delete => edit.erase(operation).ok()?,
        Mistake::Shift => {
            let insts: Vec<InstId> = edit
                .body()
                .block_insts(block)
                .filter(|&inst| edit.body().inst(inst).opcode != phalanx::ir::Opcode::Phi)
                .collect();
            let &to = insts.choose(rng)?;
            if to == operation {
                return None;
            }
            edit.move_before(operation, to).ok()?;
        }
    }
    if !edit.verify().is_empty() {
        return None;
    }
    edit.commit().ok()?;
    Some(String::from_utf8_lossy(&phalanx::llvm::print_module(&module)).into_owned())
}

/// Operations among threads, as generators spell them.
const OPERATIONS: &[&str] = &[
    "amdgcn.ballot.",
    "amdgcn.ds.bpermute",
    "amdgcn.readfirstlane.",
    "amdgcn.s.barrier",
    "nvvm.shfl.sync.",
    "nvvm.vote.ballot.sync",
    "nvvm.barrier.cta.sync.",
];

/// A program whose votes and barriers are ordinary functions, for LLVM, which would recognise
/// intrinsics whatever their attributes say. See [`shown`].
#[must_use]
pub fn hidden(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let found = OPERATIONS.iter().find(|name| line.contains(&format!("@llvm.{name}")));
        let Some(name) = found else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        let line = line.replace(&format!("@llvm.{name}"), &format!("@hidden.{name}"));
        let attributes = match (line.starts_with("declare"), name.contains("barrier")) {
            (false, _) => "",
            (true, true) => " nounwind willreturn memory(inaccessiblemem: readwrite)",
            (true, false) => " nounwind willreturn speculatable memory(none)",
        };
        let _ = writeln!(out, "{line}{attributes}");
    }
    out
}

/// The program with its intrinsics restored.
#[must_use]
pub fn shown(text: &str) -> String {
    text.replace("@hidden.", "@llvm.")
}

/// The result of LLVM passes on a program; none if they refuse it.
#[must_use]
pub fn by_llvm(opt: &Program, text: &str, passes: &str) -> Option<String> {
    let passes = format!("-passes={passes}");
    let outcome = opt.run(["-S", &passes], text.as_bytes()).ok()?;
    outcome.success().then(|| String::from_utf8_lossy(&outcome.stdout).into_owned())
}

/// The result of Phalanx passes on it.
#[must_use]
pub fn by_us(text: &str, passes: &str) -> Option<String> {
    let mut session = Session::new();
    let module = session.read(text.as_bytes()).ok()?;
    let passes = Pipeline::parse(passes, &Registry::standard()).ok()?;
    let mut manager = Manager::new(Options { verify_each: false, statistics: false });
    manager.run(session.database_mut(), module.input(), &passes, &mut |_, _| {}).ok()?;
    Some(String::from_utf8_lossy(&session.print(module)).into_owned())
}

/// No source files.
struct Nothing;

impl Sources for Nothing {
    fn text(&self, _: &SourceFile) -> Option<std::sync::Arc<LinedText<'static>>> {
        None
    }
}

/// The report of the check: code, level, message.
///
/// # Errors
/// One of the texts cannot be read.
pub fn reported(
    before: &str,
    after: &str,
) -> Result<Vec<(&'static str, &'static str, String)>, String> {
    let [mut old, mut new] = [Session::new(), Session::new()];
    let read = |session: &mut Session, text: &str| {
        session.read(text.as_bytes()).map_err(|error| format!("{error}\n{text}"))
    };
    let (old_module, new_module) = (read(&mut old, before)?, read(&mut new, after)?);
    let selected: Vec<_> = new.functions(new_module).map(|function| function.input()).collect();
    let printer = new.printer(new_module);
    let lines = LinedText::new(after.as_bytes());
    let checker = |function| Checker::new(new.database(), function, &printer, &lines, &Nothing);
    let sides = (
        Side { db: old.database(), module: old_module.input() },
        Side { db: new.database(), module: new_module.input() },
    );
    let found = against(sides.0, sides.1, &selected, &checker);
    Ok(found.diagnostics.into_iter().map(|d| (d.code, d.level, d.message)).collect())
}

/// Watches groups and races at once.
struct Both<'w> {
    together: Together<'w>,
    races: Races,
}

impl Observer for Both<'_> {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn value(&mut self, at: phalanx_simt::observe::Moment<'_>, value: &phalanx_simt::Value) {
        self.together.value(at, value);
    }

    fn access(
        &mut self,
        at: phalanx_simt::observe::Moment<'_>,
        access: &phalanx_simt::observe::Access,
    ) {
        self.races.access(at, access);
    }

    fn fence(
        &mut self,
        at: phalanx_simt::observe::Moment<'_>,
        ordering: phalanx::ir::inst::Ordering,
        reach: phalanx_simt::reach::Reach,
    ) {
        self.races.fence(at, ordering, reach);
    }

    fn meet(&mut self, threads: &[u32]) {
        self.races.meet(threads);
    }
}

/// Which launches are compared, by whether the earlier version races in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launches {
    /// Launches without a race: everything must be as before.
    Ordered,
    /// Launches with a race: bytes may differ, groups must be as before.
    Racing,
}

/// How two versions differ in launches of a kernel `@f`; `Some(None)` if they do not differ, none
/// if no launch can be compared.
#[must_use]
pub fn differ(
    before: &str,
    after: &str,
    seed: u64,
    launches: u64,
    which: Launches,
) -> Option<Option<String>> {
    let mut names = Names::default();
    let mut ready = |text: &str| -> Option<(Module, crate::motions::Classes)> {
        let mut session = Session::new();
        let module = session.read(text.as_bytes()).ok()?;
        let function = session.function(module, "f")?;
        let classes = names.classes(&Code::of(session.database(), function.input()));
        Some((module_of(&session, module), classes))
    };
    let (old, new) = (ready(before)?, ready(after)?);
    let run = |(module, classes): &(Module, crate::motions::Classes), seed: u64, fuel: u64| {
        let watch = |f| Both {
            together: Together::new(f, classes, Reconvergence::Maximal),
            races: Races::new(),
        };
        let (bytes, both) = launch_watched(module, (seed, Reconvergence::Maximal), fuel, watch)?;
        Some((bytes, both.together.company(), both.races.found().len()))
    };
    let mut any = false;
    for number in 0..launches {
        let seed = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let Some((bytes, groups, races)) = run(&old, seed, FUEL) else { continue };
        if (races > 0) != (which == Launches::Racing) {
            continue;
        }
        any = true;
        let Some((new_bytes, new_groups, races)) = run(&new, seed, 5 * FUEL) else {
            return Some(Some("no longer ends well".to_owned()));
        };
        if which == Launches::Racing {
            match regrouped(&groups, &new_groups) {
                Some(what) => return Some(Some(what)),
                None => continue,
            }
        }
        if races > 0 {
            return Some(Some("races".to_owned()));
        }
        if bytes != new_bytes {
            return Some(Some("other bytes".to_owned()));
        }
        if let Some(what) = regrouped(&groups, &new_groups) {
            return Some(Some(what));
        }
    }
    any.then_some(None)
}

/// A set that is gone and one that is new, of one operation, with a thread in common.
fn regrouped(before: &Company, after: &Company) -> Option<String> {
    let more = |one: &Company, than: &Company| -> Vec<(u32, Vec<u32>)> {
        let all = one.iter().filter(|(group, count)| than.get(*group).is_none_or(|n| n < *count));
        all.map(|(group, _)| group.clone()).collect()
    };
    let (gone, new) = (more(before, after), more(after, before));
    new.iter().find_map(|(class, threads)| {
        let shares = |other: &&(u32, Vec<u32>)| {
            other.0 == *class && other.1.iter().any(|thread| threads.contains(thread))
        };
        let was = gone.iter().find(shares)?;
        Some(format!("other groups: {:?} before, {threads:?} after", was.1))
    })
}

/// What was compared.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Pairs that differ and are reported.
    pub right: u64,
    /// Pairs that do not differ and are not reported.
    pub silent: u64,
    /// Pairs that differ and are not reported.
    pub missed: Vec<String>,
    /// Pairs that do not differ and are reported.
    pub false_alarms: Vec<String>,
    /// Pairs that are only reported for hardware that joins threads at post-dominators.
    pub parted: u64,
    /// Pairs in which a barrier was moved by mistake, and which are reported for that only: the
    /// check has seen it in a launch, but no launch of this crate shows it.
    pub moved: u64,
    /// Pairs whose groups differ, as is reported, but only in launches in which the earlier version
    /// races.
    pub racing: u64,
    /// Pairs of which no launch can be compared.
    pub unknown: u64,
    /// Pairs in which the check could not execute the kernel.
    pub not_executed: u64,
}

impl Tally {
    /// Adds a pair, made by `how`.
    pub fn add(&mut self, before: &str, after: &str, how: &str, seed: u64) {
        let mut difference = differ(before, after, seed, 8, Launches::Ordered);
        if difference.is_none() {
            self.unknown += 1;
            return;
        }
        let found = match reported(before, after) {
            Ok(found) => found,
            Err(error) => panic!("{how}: {error}"),
        };
        let is_mistake = Mistake::ALL.iter().any(|mistake| how == format!("{mistake:?}"));
        let is_loud = |code: &str| {
            found.iter().any(|(c, level, _)| *level != "note" && (*c == code || code.is_empty()))
        };
        let others = found.iter().any(|(c, level, _)| *level != "note" && *c != "PHX024");
        self.not_executed += u64::from(found.iter().any(|(code, ..)| *code == "PHX026"));
        if others && difference == Some(None) {
            // The check has seen the reported difference in a launch; finding it here may take more
            // launches.
            difference = differ(before, after, !seed, 100, Launches::Ordered).or(difference);
        }
        let told: Vec<String> = found.iter().map(|(c, _, m)| format!("{c}: {m}")).collect();
        let say = |what: &str| {
            format!("{how}, seed {seed}: {what}; told {told:?}\n{before}\n; becomes\n{after}")
        };
        match difference {
            None => {}
            Some(Some(_)) if is_loud("") => self.right += 1,
            Some(Some(what)) => self.missed.push(say(&what)),
            Some(None)
                if is_mistake
                    && found.iter().all(|(code, ..)| ["PHX020", "PHX022"].contains(code))
                    && others =>
            {
                self.moved += 1;
            }
            Some(None)
                if is_loud("PHX020")
                    && matches!(
                        differ(before, after, !seed, 100, Launches::Racing),
                        Some(Some(_))
                    ) =>
            {
                self.racing += 1;
            }
            Some(None) if others => self.false_alarms.push(say("nothing differs")),
            Some(None) if is_loud("PHX024") => self.parted += 1,
            Some(None) => self.silent += 1,
        }
    }

    /// In one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{} right, {} silent, {} missed, {} false alarms, {} parted, {} moved, {} racing, {} unknown, {} not executed",
            self.right,
            self.silent,
            self.missed.len(),
            self.false_alarms.len(),
            self.parted,
            self.moved,
            self.racing,
            self.unknown,
            self.not_executed
        )
    }
}

/// A random program with votes and barriers, of one of three kinds.
#[must_use]
pub fn program(rng: &mut dyn RngCore) -> String {
    match rng.random_range(0..10u32) {
        0 | 1 => crate::motions::barriers::random(rng),
        2 | 3 => {
            let blocks = rng.random_range(4..14);
            crate::motions::voting(rng, blocks)
        }
        _ => guarded::random(rng),
    }
}
