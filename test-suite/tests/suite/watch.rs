//! `phalanx check --watch`: its output after each change.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use phalanx_testing::llvm_tools::{self, Program, TIME_LIMIT};

const GUARDED: &str = include_str!("../../check/guarded.ll");

/// Watches a file for one check more than there are changes. Each change is made when the check
/// before it has been shown. Returns the output, without times of the day.
fn watch(folder: &Path, file: &str, changes: &[&dyn Fn()]) -> String {
    let rounds = (changes.len() + 1).to_string();
    let mut child = Command::new(crate::phalanx().path())
        .args(["check", "--watch", "--watch-rounds", &rounds, "--no-cache", file])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let (mut shown, mut changes) = (String::new(), changes.iter());
    while let Some(Ok(line)) = lines.next() {
        let is_last = line.contains(" ms, checked in ");
        let line = match line.split_once(" UTC, ") {
            Some((_, rest)) => rest.to_owned(),
            None => line,
        };
        shown += &format!("{line}\n");
        if is_last && let Some(change) = changes.next() {
            change();
        }
    }
    assert!(child.wait().expect("it ends").success(), "{shown}");
    shown
}

/// Writes a file with an explicit modification time, so that changes within one tick of the clock
/// count, too.
fn write(path: &Path, text: &str, seconds: u64) {
    fs::write(path, text).expect("file");
    let file = fs::File::options().write(true).open(path).expect("file");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
    file.set_modified(time).expect("a time");
}

#[test]
fn a_change_says_what_is_new_and_what_is_gone() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("guarded.ll");
    write(&path, GUARDED, 0);
    let allowed = GUARDED
        .replace("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "fence seq_cst");
    assert_ne!(allowed, GUARDED);
    let shown = watch(
        folder.path(),
        "guarded.ll",
        &[&|| write(&path, &allowed, 1), &|| write(&path, GUARDED, 2)],
    );
    let heads: Vec<&str> = shown.lines().filter(|line| line.starts_with("check ")).collect();
    assert_eq!(
        heads,
        [
            "check 1: guarded.ll",
            "check 2: guarded.ll changed; 1 finding is gone",
            "check 3: guarded.ll changed; 1 finding is new",
        ],
        "{shown}"
    );
    assert!(shown.contains("1 note; judged: 1 kernel, 1 barrier\nguarded.ll: read in "), "{shown}");
}

/// A source is checked again when a header that it includes changes.
#[test]
fn headers_are_watched() {
    if llvm_tools::require("clang").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let (source, header) = (folder.path().join("k.cl"), folder.path().join("limit.h"));
    let kernel = "#include \"limit.h\"\nkernel void k(global int *out) {\n  \
                  if (get_local_id(0) < LIMIT)\n    barrier(CLK_LOCAL_MEM_FENCE);\n  *out = 1;\n}\n";
    write(&source, kernel, 0);
    write(&header, "#define LIMIT 16\n", 0);
    let shown = watch(folder.path(), "k.cl", &[&|| write(&header, "#define LIMIT 100000000\n", 1)]);
    let heads: Vec<&str> = shown.lines().filter(|line| line.starts_with("check ")).collect();
    assert_eq!(heads, ["check 1: k.cl", "check 2: k.cl changed; 1 finding is gone"], "{shown}");
}

/// A terminal is cleared before each check.
#[test]
fn a_terminal_is_cleared() {
    let script = Path::new("/usr/bin/script");
    if !script.is_file() {
        llvm_tools::skipped("no `script`, which gives a program a terminal");
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    write(&folder.path().join("guarded.ll"), GUARDED, 0);
    let command = format!(
        "'{}' check --watch --watch-rounds 1 guarded.ll",
        crate::phalanx().path().display()
    );
    let outcome = Program::new(script)
        .run_in(Some(folder.path()), ["-qec", &command, "/dev/null"], &[], TIME_LIMIT)
        .expect("it starts");
    let shown = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(shown.contains("\u{1b}[2J\u{1b}[3J\u{1b}[H"), "{shown:?}");
}
