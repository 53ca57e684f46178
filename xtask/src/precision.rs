//! `cargo xtask precision`: how much of our kernels LLVM 22 and Phalanx call divergent.
//!
//! For each kernel family of the test suite, as clang-22 compiles it: values, branches and loads,
//! and how many of them are called divergent at the scope of a wave by LLVM 22, by us with LLVM's
//! sources and operand rules, and by us with everything. LLVM's answer is computed by our
//! implementation of its rules, which `cargo xtask conformance` compares with `opt-22`. `--by-rule`
//! shows the effect of each family of rules, found by leaving it out. `--seen` shows what differs
//! when the kernels are executed, as recorded by the test that checks claims against execution.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use anyhow::{Context as _, bail};
use phalanx::{
    FunctionId, Session,
    analysis::{
        divergence::Divergence,
        lower::{Family, Numbering},
    },
    db::queries,
    ir::{Opcode, Type, Value, flow::node_of},
    target::{Scope, SourceSet},
};
use phalanx_test_suite::kernels::Manifest;
use rayon::prelude::*;

/// What to print.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// A row per kernel family, not only totals.
    #[arg(long, visible_alias = "by-family")]
    families: bool,
    /// Beside what is called divergent, what is seen to differ within a wave when our kernels are
    /// executed on their inputs: a bound from below on what any sound answer calls divergent.
    #[arg(long)]
    seen: bool,
    /// Levels of optimisation, separated by commas.
    #[arg(long, default_value = "-O0,-O2", value_name = "LEVELS", allow_hyphen_values = true)]
    levels: String,
    /// Functions are called from within their module only. Functions that are never called do not
    /// count: they are copies that inlining has left.
    #[arg(long)]
    whole_program: bool,
    /// What each family of rules gains: percent that would be divergent without it besides.
    #[arg(long)]
    by_rule: bool,
}

/// The answers: LLVM 22, Phalanx with its rules, Phalanx; Phalanx without each family of rules.
const WHO: usize = 3 + Family::ALL.len();

/// The index of the answer of Phalanx, with which the last ones are compared.
const OURS: usize = 2;

/// Values, branches, loads: all, and those called divergent by each.
#[derive(Clone, Copy, Default)]
struct Counts {
    all: [u64; 3],
    divergent: [[u64; 3]; WHO],
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        for what in 0..3 {
            self.all[what] += other.all[what];
            for who in 0..WHO {
                self.divergent[who][what] += other.divergent[who][what];
            }
        }
    }

    fn count(&mut self, what: usize, answers: [bool; WHO]) {
        self.all[what] += 1;
        for (who, is_divergent) in answers.into_iter().enumerate() {
            self.divergent[who][what] += u64::from(is_divergent);
        }
    }

    fn share(&self, who: usize, what: usize) -> f64 {
        100.0 * self.divergent[who][what] as f64 / self.all[what].max(1) as f64
    }

    fn print(&self, name: &str, seen: Option<Seen>) {
        print!("{name:<28}");
        for what in 0..3 {
            print!("{:>8}", self.all[what]);
            (0..=OURS).for_each(|who| print!("{:>7.1}", self.share(who, what)));
            if let Some(seen) = seen {
                print!("{:>7.1}", 100.0 * seen[what] as f64 / self.all[what].max(1) as f64);
            }
        }
        println!();
    }

    fn print_gains(&self, name: &str) {
        for (at, family) in Family::ALL.into_iter().enumerate() {
            print!("{:<28}", format!("{name} {}", family.name()));
            for what in 0..3 {
                let gain = self.share(OURS + 1 + at, what) - self.share(OURS, what);
                print!("{gain:>8.2}");
            }
            println!();
        }
    }
}

/// Values, branches and loads that were seen to differ.
type Seen = [u64; 3];

/// The observations, by compilation and family and by compilation.
type SeenBy = BTreeMap<(String, Option<String>), Seen>;

/// Executes the kernels by their test, which records what it observes.
fn seen(levels: &[&str]) -> anyhow::Result<SeenBy> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let test = ["test", "-q", "-p", "phalanx-fuzz", "--test", "suite"];
    let status = Command::new(cargo).args(test).arg("claims_about_kernels_hold").status()?;
    if !status.success() {
        bail!("the kernels do not run as they should");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = Path::new(&target).join("tmp").join("kernels").join("seen_to_differ.txt");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut found = SeenBy::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [target, level, file, numbers @ ..] = words.as_slice() else { continue };
        let numbers: Vec<u64> = numbers.iter().filter_map(|n| n.parse().ok()).collect();
        if numbers.len() != 12 || !levels.contains(level) {
            continue;
        }
        let family = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
        for key in [Some(family.into_owned()), None] {
            let sum = found.entry((format!("{target} {level}"), key)).or_default();
            sum.iter_mut().zip(&numbers[9..]).for_each(|(sum, more)| *sum += more);
        }
    }
    Ok(found)
}

/// Compiles, reads and counts; prints the table.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let manifest = Manifest::read()?;
    let Some(compiler) = manifest.compiler() else { bail!("clang-22 is needed") };
    let folder = std::path::absolute(Path::new("target").join("precision"))?;
    let levels: Vec<&str> = options.levels.split(',').collect();
    let chosen: Vec<_> = manifest
        .variants()
        .into_iter()
        .filter(|variant| !variant.debug && levels.contains(&variant.level.as_str()))
        .collect();
    let rows: Vec<(String, String, Counts)> = chosen
        .par_iter()
        .map(|variant| {
            let path = manifest.compile(&compiler, variant, &folder)?;
            let text = fs::read(&path).with_context(|| path.display().to_string())?;
            let counts = count(&text, options).with_context(|| path.display().to_string())?;
            let family = Path::new(&variant.file).file_stem().unwrap_or_default();
            let way = format!("{} {}", variant.target, variant.level);
            Ok((way, family.to_string_lossy().into_owned(), counts))
        })
        .collect::<anyhow::Result<_>>()?;
    let seen = if options.seen { seen(&levels)? } else { SeenBy::new() };
    let width = if options.seen { 36 } else { 29 };
    println!("{:<28}{:^width$}{:^width$}{:^width$}", "", "values", "branches", "loads");
    print!("{:<28}", "divergent, %");
    for _ in 0..3 {
        print!("{:>8}{:>7}{:>7}{:>7}", "all", "LLVM", "rules", "ours");
        if options.seen {
            print!("{:>7}", "seen");
        }
    }
    println!();
    let seen_of = |way: &str, family: Option<&str>| {
        let key = (way.to_owned(), family.map(str::to_owned));
        options.seen.then(|| seen.get(&key).copied().unwrap_or_default())
    };
    let mut families: BTreeMap<(&str, &str), Counts> = BTreeMap::new();
    let mut ways: BTreeMap<&str, Counts> = BTreeMap::new();
    for (way, family, counts) in &rows {
        families.entry((way, family)).or_default().add(counts);
        ways.entry(way).or_default().add(counts);
    }
    if options.families {
        for ((way, family), counts) in &families {
            let seen = seen_of(way, Some(family));
            counts.print(&format!("{way} {family}"), seen);
        }
    }
    for (way, counts) in &ways {
        counts.print(way, seen_of(way, None));
    }
    if options.by_rule {
        println!("\n{:<28}{:>8}{:>8}{:>8}", "gained, %", "values", "branches", "loads");
        if options.families {
            for ((way, family), counts) in &families {
                counts.print_gains(&format!("{way} {family}"));
            }
        }
        ways.iter().for_each(|(way, counts)| counts.print_gains(way));
    }
    Ok(())
}

fn count(text: &[u8], options: &Options) -> anyhow::Result<Counts> {
    let mut session = Session::new();
    let module =
        session.read(text).map_err(|error| anyhow::anyhow!("{}", error.render("kernel", text)))?;
    session.set_whole(module, options.whole_program);
    let mut counts = Counts::default();
    let db = session.database();
    let is_dead = |function: &FunctionId| {
        let place = queries::call_place(db, function.input());
        options.whole_program && place.is_closed && place.callers.is_empty()
    };
    for function in session.functions(module).filter(|f| !is_dead(f)) {
        count_function(&session, function, options, &mut counts);
    }
    Ok(counts)
}

fn count_function(session: &Session, function: FunctionId, options: &Options, counts: &mut Counts) {
    let (db, input) = (session.database(), function.input());
    let Some(ours) = session.divergence(function) else { return };
    let Some(llvm) = queries::exact_llvm_uniformity(db, input) else { return };
    let Some(rules) = queries::uniformity(db, input) else { return };
    let varying = ours.varying(Scope::Wave);
    let without = |family| match options.by_rule {
        true => queries::divergence_without(db, input, family),
        false => None,
    };
    let lacking = Family::ALL.map(without);
    let answers = |ask: &dyn Fn(&Divergence) -> SourceSet| -> [bool; WHO] {
        std::array::from_fn(|who| match who {
            0 => !ask(&llvm).is_empty(),
            1 => !ask(rules).is_empty(),
            OURS => ask(ours.facts()).intersects(varying),
            _ => lacking[who - OURS - 1].as_ref().is_some_and(|of| ask(of).intersects(varying)),
        })
    };
    let numbering = Numbering::new(session.code(function).header);
    let of = |facts: &Divergence, value: Value| -> SourceSet {
        numbering.operand(value).map_or(SourceSet::EMPTY, |number| facts.value(number))
    };
    let code = session.code(function);
    for &block in code.flow.order() {
        for inst in code.body.block_insts(block) {
            let opcode = code.body.inst(inst).opcode;
            let value = Value::from(inst);
            let answers = answers(&|facts| of(facts, value));
            if code.body.inst(inst).ty != Type::VOID {
                counts.count(0, answers);
            }
            if opcode == Opcode::Load {
                counts.count(2, answers);
            }
        }
        if code.flow.successors(block).len() > 1 {
            let node = node_of(block);
            let answers = answers(&|facts| facts.terminator(node));
            counts.count(1, answers);
        }
    }
}
