//! `cargo xtask faults`: checks that tests notice when a fact is not kept up to date.
//!
//! `test-suite/faults` lists one-line faults of the code that updates facts after edits. All are
//! inserted into a copy of the sources ([`list`]), which is built once. Each is then switched on by
//! itself, and the tests run until one fails. If no test notices a fault, a real change could
//! introduce it unnoticed.
//!
//! ```text
//! $ cargo xtask faults
//! caught  gone-versions-keep-their-rows            phalanx-db memory: stores_come_and_go
//! MISSED  spaces-around-a-loop-are-lost            what comes around a loop is lost
//! ```
//!
//! `--tests` runs all tests on every fault, and prints for each test how many faults it notices,
//! and which of these no other test notices. A test of edits that notices none alone may be
//! redundant.
//!
//! *Cost*: a build of the tests, and a run of most tests for each fault that is missed; about an
//! hour on two processors, with `--tests` more. `--only` selects faults by a part of their names.

mod list;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use cargo_metadata::Message;

use self::list::{Fault, SWITCH};

/// Where the faults stand.
pub(crate) const FOLDER: &str = "test-suite/faults";

/// The crates whose tests run, and for each a part of the names of tests.
const PACKAGES: &[(&str, &str)] = &[
    ("phalanx-fixpoint", ""),
    ("phalanx-graph", ""),
    ("phalanx-core", ""),
    ("phalanx-analysis", ""),
    ("phalanx-db", ""),
    // Edit scripts; the random laws there take long.
    ("phalanx-fuzz", "scripts::"),
];

/// Which faults, and how.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only faults whose names contain this; may be given several times.
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Print the faults, and stop.
    #[arg(long)]
    list: bool,
    /// How many run at a time; as many as there are processors unless told.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Leave out test programs whose names contain this; may be given several times.
    #[arg(long, value_name = "PART")]
    without: Vec<String>,
    /// Run all tests on every fault, and print what each test notices.
    #[arg(long)]
    tests: bool,
}

/// A test program that was built.
#[derive(Clone, Debug)]
struct Program {
    /// Crate and name of the target.
    name: String,
    path: PathBuf,
    /// The folder of its crate, in which it is run.
    folder: PathBuf,
    /// A part of the names of the tests that run.
    tests: &'static str,
    /// The tests that ran without a fault, with the name of the program.
    passed: Vec<String>,
    /// How long it takes without a fault.
    takes: Duration,
}

/// The result of a run.
#[derive(Debug)]
enum Outcome {
    /// The tests that ran.
    Passed(Vec<String>),
    /// The tests that failed, as far as it can be told; not empty.
    Failed(Vec<String>),
}

/// Inserts the faults, builds, and asks the tests about each.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let root = crate::tidy::workspace_root()?;
    let faults = list::read(&root.join(FOLDER))?;
    if options.list {
        faults.iter().for_each(|fault| println!("{:45} {}", fault.name, fault.what));
        return Ok(());
    }
    let is_chosen = |fault: &Fault| {
        options.only.is_empty() || options.only.iter().any(|part| fault.name.contains(part))
    };
    let chosen: Vec<(usize, &Fault)> =
        (1..).zip(&faults).filter(|(_, fault)| is_chosen(fault)).collect();
    ensure!(!chosen.is_empty(), "no fault has such a name");
    let mut programs = build(&root, &faults)?;
    programs.retain(|program| options.without.iter().all(|part| !program.name.contains(part)));
    let jobs = options.jobs.or(thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let programs = passing(programs)?;
    let answers = ask(&chosen, &programs, jobs, options.tests)?;
    if options.tests {
        print!("{}", by_test(&programs, &answers));
    }
    let is_missed = |(fault, by): &&(&Fault, Vec<String>)| by.is_empty() && !fault.is_unnoticed;
    let missed = answers.iter().filter(is_missed).count();
    println!("{} faults, {missed} missed", chosen.len());
    ensure!(missed == 0, "{missed} faults are noticed by no test");
    Ok(())
}

/// The copy with all faults, and its test programs.
fn build(root: &Path, faults: &[Fault]) -> anyhow::Result<Vec<Program>> {
    let tree = root.join("target/faults/tree");
    let inserted = list::inserted(root, faults)?;
    copy(root, &tree, &inserted)?;
    println!("== build: {} faults", faults.len());
    let mut command = Command::new("cargo");
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics"]);
    for (package, _) in PACKAGES {
        command.args(["-p", package]);
    }
    // Replaced conditions leave variables unused; lints are checked elsewhere.
    let mut built = command
        .env("RUSTFLAGS", "--cap-lints=allow")
        .env("CARGO_TARGET_DIR", root.join("target/faults/build"))
        .current_dir(&tree)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let output = built.stdout.take().context("cargo says nothing")?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(std::io::BufReader::new(output)) {
        let Message::CompilerArtifact(artifact) = message? else { continue };
        let Some(path) = artifact.executable.filter(|_| artifact.profile.test) else { continue };
        let folder = artifact.manifest_path.parent().context("a manifest is in a folder")?;
        let package = folder.file_name().unwrap_or_default();
        // The folder of `phalanx-fuzz` is `fuzz`.
        let is_it = |(name, _): &&(&str, &str)| name.ends_with(package);
        let (_, tests) = PACKAGES.iter().find(is_it).context("a package that was not asked for")?;
        programs.push(Program {
            name: format!("{package} {}", artifact.target.name),
            path: path.into(),
            folder: folder.into(),
            tests,
            passed: Vec::new(),
            takes: Duration::ZERO,
        });
    }
    ensure!(built.wait()?.success(), "the sources with the faults inserted do not build");
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// Makes the tree a copy of the workspace's files, with some replaced. Files that are up to date
/// are not written, so that cargo builds only what changed.
fn copy(root: &Path, tree: &Path, replaced: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let mut files = crate::tidy::files_of_git(root)?;
    // What is behind a link is copied in its place.
    for link in crate::tidy::linked_folders(root)? {
        for entry in fs::read_dir(root.join(&link))? {
            files.push(link.join(entry?.file_name()));
        }
    }
    let mut kept: BTreeSet<PathBuf> = BTreeSet::new();
    for name in files {
        let text = match replaced.get(name.to_string_lossy().as_ref()) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(root.join(&name))?,
        };
        let to = tree.join(&name);
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
            fs::write(&to, text)?;
        }
        kept.insert(to);
    }
    // Tests of a file that is gone would still be built.
    let mut work = vec![tree.to_owned()];
    while let Some(folder) = work.pop() {
        for entry in fs::read_dir(folder)? {
            let (path, kind) = entry.and_then(|e| Ok((e.path(), e.file_type()?)))?;
            match kind.is_dir() {
                true => work.push(path),
                false if !kept.contains(&path) && path.extension().is_some_and(|e| e == "rs") => {
                    fs::remove_file(path)?;
                }
                false => {}
            }
        }
    }
    Ok(())
}

/// Runs every program without a fault, which gives its time. Those that fail are an error.
fn passing(programs: Vec<Program>) -> anyhow::Result<Vec<Program>> {
    println!("== without faults: {} test programs", programs.len());
    let mut passed = Vec::new();
    for program in programs {
        let started = Instant::now();
        match start(&program, 0, Duration::from_secs(1800))? {
            Outcome::Passed(tests) => {
                passed.push(Program { passed: tests, takes: started.elapsed(), ..program });
            }
            Outcome::Failed(tests) => {
                bail!("{}: {} fails without any fault", program.name, tests[0]);
            }
        }
    }
    // Fast programs run first.
    passed.sort_by_key(|program| program.takes);
    Ok(passed)
}

/// Runs the programs on each fault until one notices it, or all of them; prints the results.
/// Returns for each fault the tests that notice it, in the order of faults.
fn ask<'a>(
    chosen: &[(usize, &'a Fault)],
    programs: &[Program],
    jobs: usize,
    all: bool,
) -> anyhow::Result<Vec<(&'a Fault, Vec<String>)>> {
    let next = AtomicUsize::new(0);
    // The program that caught the previous fault runs first.
    let caught_by: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let answers: Mutex<BTreeMap<usize, (&Fault, Vec<String>)>> = Mutex::new(BTreeMap::new());
    let worker = || -> anyhow::Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(number, fault)) = chosen.get(at) else { return Ok(()) };
            let first = caught_by.lock().expect("no panic").clone();
            let rest = (0..programs.len()).filter(|at| !first.contains(at));
            let mut found = Vec::new();
            for at in first.iter().rev().copied().chain(rest) {
                let program = &programs[at];
                let limit = program.takes * 10 + Duration::from_secs(60);
                let Outcome::Failed(tests) = start(program, number, limit)? else { continue };
                found.extend(tests.iter().map(|test| format!("{}: {test}", program.name)));
                if !all {
                    let mut known = caught_by.lock().expect("no panic");
                    known.retain(|other| *other != at);
                    known.push(at);
                    break;
                }
            }
            let (mark, text) = match found.first() {
                Some(by) => ("caught", by.as_str()),
                None if fault.is_unnoticed => ("known ", fault.what.as_str()),
                None => ("MISSED", fault.what.as_str()),
            };
            println!("{mark}  {:45} {text}", fault.name);
            answers.lock().expect("no panic").insert(number, (fault, found));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    Ok(answers.into_inner().expect("no panic").into_values().collect())
}

/// What each test notices: how many faults, and the names of those that no other test notices.
fn by_test(programs: &[Program], answers: &[(&Fault, Vec<String>)]) -> String {
    let ran = programs.iter().flat_map(|program| {
        program.passed.iter().map(|test| (format!("{}: {test}", program.name), (0, Vec::new())))
    });
    let mut tests: BTreeMap<String, (usize, Vec<&str>)> = ran.collect();
    for (fault, by) in answers {
        for test in by {
            let (count, alone) = tests.entry(test.clone()).or_default();
            *count += 1;
            alone.extend((by.len() == 1).then_some(fault.name.as_str()));
        }
    }
    let line = |(test, (count, alone)): (String, (usize, Vec<&str>))| {
        let names: String = alone.iter().map(|name| format!(" {name}")).collect();
        format!("{test}: {count} faults, {} by it alone{names}\n", alone.len())
    };
    tests.into_iter().map(line).collect()
}

/// Runs a test program with a fault switched on; 0 is none.
fn start(program: &Program, number: usize, limit: Duration) -> anyhow::Result<Outcome> {
    let cannot = || format!("cannot start {}", program.path.display());
    let mut command = Command::new(&program.path);
    command
        .args((!program.tests.is_empty()).then_some(program.tests))
        .env(SWITCH, number.to_string())
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env_remove("UPDATE_EXPECT")
        .env("RUST_TEST_THREADS", "1")
        .env("RUST_MIN_STACK", (64 << 20).to_string())
        .current_dir(&program.folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().with_context(cannot)?;
    let mut output = child.stdout.take().context("a test program has an output")?;
    let read = thread::spawn(move || {
        let mut text = Vec::new();
        output.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let text = read.join().expect("no panic")?;
    Ok(match status {
        Some(status) if status.success() => Outcome::Passed(ended(&text, "ok")),
        Some(_) => match ended(&text, "FAILED") {
            failed if failed.is_empty() => Outcome::Failed(vec!["a crash".to_owned()]),
            failed => Outcome::Failed(failed),
        },
        None => Outcome::Failed(vec!["no end".to_owned()]),
    })
}

/// The tests that ended in a way, by the output of a test program.
fn ended(output: &str, how: &str) -> Vec<String> {
    let tests = output.lines().filter(|line| line.starts_with("test ") && line.ends_with(how));
    tests.filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect()
}
