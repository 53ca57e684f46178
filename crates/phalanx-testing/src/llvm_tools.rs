//! The LLVM 22 programs, and how tests run them and the `phalanx` binary.
//!
//! LLVM is the oracle of many tests, but no test may depend on its installation. [`require`] finds
//! a program on the search path, or reports on standard error that the test is skipped. [`Program`]
//! is an executable with its leading arguments, so that `opt-22` and `phalanx opt` are
//! interchangeable. Every run has a time limit, and ends with its whole process group, since a
//! shell may have started other processes.
#![allow(clippy::disallowed_methods, reason = "tests start programs")]

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};

/// The time limit of a run unless its caller sets another one.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The path of an LLVM 22 program such as `opt`, if it is installed under its versioned name.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let versioned = format!("{name}-22");
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(&versioned)).find(|file| file.is_file())
}

/// Like [`find`]; when the program is missing, says so on standard error, past the capture of the
/// test harness.
#[must_use]
pub fn require(name: &str) -> Option<Program> {
    let found = find(name);
    if found.is_none() {
        skipped(&format!("{name}-22 not found"));
    }
    found.map(|path| Program::new(path).named(&format!("{name}-22")))
}

/// LLVM's own tests, in the folder that `PHALANX_CORPUS` names; if it is not set, reports that as
/// [`require`] does.
#[must_use]
pub fn require_corpus() -> Option<PathBuf> {
    let folder = env::var_os("PHALANX_CORPUS").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        skipped("PHALANX_CORPUS names no folder with LLVM's tests");
    }
    folder
}

/// Says on standard error that the current test is skipped, and why.
pub fn skipped(reason: &str) {
    let current = thread::current();
    let test = current.name().unwrap_or("a check");
    // Not `eprintln!`: the harness shows such output only when a test fails.
    let _ = writeln!(io::stderr(), "skipped: {reason} ({test})");
}

/// An executable with the arguments that always come first.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    path: PathBuf,
    prefix: Vec<OsString>,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Exit status; `None` if a signal or the time limit ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// It took longer than its time limit.
    pub timed_out: bool,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// It ended by itself with status 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status == Some(0)
    }

    /// Neither success nor an orderly refusal: it ended by a signal, at the time limit, or with the
    /// status of a Rust panic.
    #[must_use]
    pub fn crashed(&self) -> bool {
        self.timed_out || self.status.is_none() || self.status == Some(101)
    }

    /// Standard error as text.
    #[must_use]
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// A line that says how it ended, with its first error message.
    #[must_use]
    pub fn summary(&self) -> String {
        let ended = match (self.timed_out, self.status, self.signal) {
            (true, _, _) => "time limit".to_owned(),
            (_, Some(status), _) => format!("status {status}"),
            (_, None, signal) => format!("signal {}", signal.unwrap_or_default()),
        };
        let errors = self.errors();
        let first = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        format!("{ended}: {first}")
    }
}

impl Program {
    /// An executable by its path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Program {
        let path = path.into();
        Program { name: path.display().to_string(), path, prefix: Vec::new() }
    }

    /// The same program under another name in messages.
    #[must_use]
    pub fn named(mut self, name: &str) -> Program {
        name.clone_into(&mut self.name);
        self
    }

    /// The same program with one more leading argument.
    #[must_use]
    pub fn with(mut self, argument: impl Into<OsString>) -> Program {
        self.prefix.push(argument.into());
        self
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The arguments that always come first.
    #[must_use]
    pub fn prefix(&self) -> &[OsString] {
        &self.prefix
    }

    /// Runs it to its end or to the [time limit](TIME_LIMIT).
    ///
    /// # Errors
    /// If it cannot be started. The way it ends is part of the outcome, not an error.
    pub fn run<I, S>(&self, arguments: I, input: &[u8]) -> anyhow::Result<Outcome>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.run_in(None, arguments, input, TIME_LIMIT)
    }

    /// Runs it in a folder and with a time limit.
    ///
    /// # Errors
    /// As for [`run`](Program::run).
    pub fn run_in<I, S>(
        &self,
        folder: Option<&Path>,
        arguments: I,
        input: &[u8],
        limit: Duration,
    ) -> anyhow::Result<Outcome>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(&self.path);
        command.args(&self.prefix).args(arguments);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        run_command(command, input, limit).with_context(|| format!("cannot start {}", self.name))
    }
}

/// Starts the command in a process group of its own, feeds and drains its pipes, and kills the
/// group when time is up.
fn run_command(mut command: Command, input: &[u8], limit: Duration) -> anyhow::Result<Outcome> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let group = format!("-{}", child.id());
    let (mut stdin, mut stdout, mut stderr) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let (done, wait) = mpsc::channel::<()>();
        let watchdog = scope.spawn(move || {
            let late = wait.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            }
            late
        });
        scope.spawn(move || {
            // A program may close the pipe without reading its input; that is no error.
            if let Some(pipe) = stdin.as_mut() {
                let _ = pipe.write_all(input);
            }
        });
        let errors = scope.spawn(move || drain(stderr.as_mut()));
        let out = drain(stdout.as_mut());
        let err = errors.join().unwrap_or_default();
        let status = child.wait()?;
        let _ = done.send(());
        let timed_out = watchdog.join().unwrap_or(false);
        Ok(Outcome {
            status: status.code(),
            signal: status.signal(),
            timed_out,
            stdout: out,
            stderr: err,
        })
    })
}

fn drain(pipe: Option<&mut impl io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// The `phalanx` binary of this workspace, which cargo builds in the profile of the running program
/// (a test or an xtask).
///
/// `PHALANX_BIN` names another binary.
///
/// # Errors
/// When cargo fails.
pub fn phalanx_binary() -> anyhow::Result<Program> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if let Some(path) = env::var_os("PHALANX_BIN") {
        return Ok(Program::new(path).named("phalanx"));
    }
    match BUILT.get_or_init(|| build_phalanx().map_err(|error| format!("{error:#}"))) {
        Ok(path) => Ok(Program::new(path).named("phalanx")),
        Err(message) => bail!("{message}"),
    }
}

fn build_phalanx() -> anyhow::Result<PathBuf> {
    // `<target>/<profile>/deps/<test>` or `<target>/<profile>/<chore>`.
    let here = env::current_exe()?;
    let folder = here
        .ancestors()
        .skip(1)
        .find(|folder| folder.file_name() != Some(OsStr::new("deps")))
        .context("the running program is in no folder")?;
    let target = folder.parent().context("the profile's folder is in the target folder")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    match folder.file_name().and_then(OsStr::to_str) {
        // Builds it as for tests: with the features that libraries have there, so that their builds
        // are reused.
        Some("debug") => {
            command.args(["test", "--quiet", "--no-run", "--workspace", "--test", "starts"]);
        }
        Some(profile) => {
            command.args(["build", "--quiet", "--package", "phalanx-cli", "--bin", "phalanx"]);
            command.args(["--profile", profile]);
        }
        None => bail!("{} is no folder of cargo", folder.display()),
    }
    command.arg("--target-dir").arg(target).current_dir(workspace_root());
    let outcome = run_command(command, &[], Duration::from_secs(1800))?;
    if !outcome.success() {
        bail!("cargo cannot build phalanx: {}", outcome.errors());
    }
    Ok(folder.join(format!("phalanx{}", env::consts::EXE_SUFFIX)))
}

/// The folder of the workspace.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program::new("/bin/sh").named("sh").with("-c").with(script)
    }

    #[test]
    fn output_status_and_input_pass_through() {
        let outcome = shell("cat; echo problem >&2; exit 3").run([""; 0], b"text").expect("sh");
        assert_eq!(outcome.stdout, b"text");
        assert_eq!(outcome.summary(), "status 3: problem");
        assert!(!outcome.success() && !outcome.crashed());
    }

    #[test]
    fn the_time_limit_ends_the_whole_group() {
        let started = std::time::Instant::now();
        let limit = Duration::from_millis(100);
        // The child of the shell keeps the pipes open: the run ends only when the whole group is
        // killed.
        let outcome = shell("sleep 30 & wait").run_in(None, [""; 0], &[], limit).expect("sh");
        assert!(outcome.timed_out && outcome.crashed() && !outcome.success());
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_program_that_ignores_much_input_is_no_error() {
        let outcome = shell("exit 0").run([""; 0], &vec![b'x'; 1 << 20]).expect("sh");
        assert!(outcome.success());
    }

    #[test]
    fn a_missing_program_is_an_error_with_its_name() {
        let error = Program::new("/nonexistent/opt").run([""; 0], &[]).expect_err("no such file");
        assert!(format!("{error:#}").starts_with("cannot start /nonexistent/opt"));
    }
}
