//! LLVM's whole test tree: every `.ll` file below a folder is read, verified, printed and read
//! back.
//!
//! A file is *valid* if `llvm-as-22` accepts it as it is. If the `RUN:` lines of a file pass it to
//! `split-file`, it is split first, and each `.ll` part of it is an input. For every input:
//!
//! | LLVM | we must |
//! |---|---|
//! | refuses it | refuse it, by the reader or by the verifier |
//! | accepts it | accept it; what we print is what `llvm-dis-22` prints of the same module |
//!
//! ```text
//! cargo xtask conformance --llvm-tests llvm/test --sample 1000 --verdicts llvm-tests.tsv
//! ```
//!
//! LLVM's answers are cached in a file (`--verdicts`), one line for each text: a second run starts
//! LLVM's programs only for new prints. A run that was stopped can be continued. Cost: two short
//! programs for each text without an answer, and for each print that differs from LLVM's.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    hash::Hasher as _,
    io::Write as _,
    panic,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use anyhow::{Context as _, bail};
use phalanx::{
    Invalid, ReadError,
    ir::{Context, verify::Verifier},
};
use phalanx_testing::llvm_tools::{self, Program};
use rayon::prelude::*;

use super::{
    Options,
    llvm_report::{Finding, Kind, Report},
};

/// How many unlisted differences a sample may have.
const UNLISTED: usize = 3;

/// Progress is reported after so many files.
const PROGRESS: usize = 2000;

/// The two LLVM programs.
struct Llvm {
    assembler: Program,
    disassembler: Program,
}

/// LLVM's verdict on a text.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Verdict {
    /// It is a module; the fingerprint of what `llvm-dis` prints.
    Valid(u64),
    /// It is refused: the message.
    Invalid(String),
    /// A program crashed or took too long.
    Unknown,
}

/// One text of the tree.
struct Input {
    /// The path relative to the tree, and the part's name after `#` if the file is split.
    name: String,
    text: Vec<u8>,
}

/// Runs the chore over the tree and prints its report.
pub(super) fn run(folder: &Path, options: &Options) -> anyhow::Result<()> {
    let (Some(assembler), Some(disassembler)) =
        (llvm_tools::require("llvm-as"), llvm_tools::require("llvm-dis"))
    else {
        bail!("conformance needs LLVM 22: llvm-as, llvm-dis")
    };
    let llvm = Llvm { assembler, disassembler };
    let mut files = Vec::new();
    super::corpus::llvm_files(folder, &mut files)?;
    if let Some(path) = &options.again {
        let table =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let names = named(&table);
        files.retain(|(name, _)| names.contains(name.as_str()));
    }
    if let Some(wanted) = options.sample {
        files = sample(files, wanted, options.seed);
    }
    let verdicts = Verdicts::open(options.verdicts.as_deref())?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs.unwrap_or(0))
        // Like the main thread's: the depth of no input may matter.
        .stack_size(8 << 20)
        .build()?;
    // A panic is a finding, with its message; it needs no trace among the progress.
    panic::set_hook(Box::new(|_| {}));
    let (done, started) = (AtomicUsize::new(0), Instant::now());
    let found: Vec<anyhow::Result<(String, usize, Vec<Finding>)>> = pool.install(|| {
        files
            .par_iter()
            // Neighbouring files take similar time, so each worker takes one file at a time.
            .with_max_len(1)
            .map(|(name, path)| {
                let text =
                    fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                let inputs = inputs(name, text);
                let mut findings = Vec::new();
                for input in &inputs {
                    findings.extend(compare(&llvm, &verdicts, input)?);
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if done.is_multiple_of(PROGRESS) {
                    let seconds = started.elapsed().as_secs();
                    eprintln!("llvm-tests: {done} of {} files, {seconds} s", files.len());
                }
                Ok((name.clone(), inputs.len(), findings))
            })
            .collect()
    });
    let _ = panic::take_hook();
    let mut report = Report::default();
    for result in found {
        let (name, count, findings) = result?;
        report.add(&name, count, findings);
    }
    if let Some(path) = &options.findings {
        fs::write(path, report.table())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!("{}", report.render(options.show));
    let unlisted = report.unlisted().count();
    if report.is_over_the_goals() {
        bail!("more differences than the goals allow");
    }
    if options.sample.is_some() && unlisted > UNLISTED {
        bail!("{unlisted} differences that docs/conformance.md does not list");
    }
    Ok(())
}

/// The files that a table of findings names.
fn named(table: &str) -> BTreeSet<&str> {
    let names = table.lines().filter_map(|line| line.split('\t').nth(1));
    names.filter_map(|name| name.split('#').next()).collect()
}

/// A random choice of `wanted` files, in the order of their names.
fn sample(files: Vec<(String, PathBuf)>, wanted: usize, seed: u64) -> Vec<(String, PathBuf)> {
    let mut keyed: Vec<_> = files
        .into_iter()
        .map(|file| (fingerprint(format!("{seed} {}", file.0).as_bytes()), file))
        .collect();
    keyed.sort();
    let mut files: Vec<_> = keyed.into_iter().take(wanted).map(|(_, file)| file).collect();
    files.sort();
    files
}

/// The texts of a file: itself, or the `.ll` parts that `split-file` makes of it.
fn inputs(name: &str, text: Vec<u8>) -> Vec<Input> {
    let is_split = text
        .split(|&byte| byte == b'\n')
        .any(|line| contains(line, b"RUN:") && contains(line, b"split-file "));
    if !is_split {
        return vec![Input { name: name.to_owned(), text }];
    }
    let mut out: Vec<Input> = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if let Some(part) = part_name(line) {
            // Parts keep their line numbers: `split-file` does so on demand, and messages gain.
            out.push(Input { name: format!("{name}#{part}"), text: Vec::new() });
        } else if let Some(input) = out.last_mut() {
            input.text.extend_from_slice(line);
        }
    }
    out.retain(|input| input.name.ends_with(".ll"));
    out
}

/// The name in a separator of parts: `//--- name` or the like of other comment signs.
fn part_name(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (before, name) = line.split_once("--- ")?;
    let is_comment = !before.is_empty() && before.chars().all(|c| "/;#".contains(c));
    is_comment.then(|| name.trim().to_owned())
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}

/// A number for a text; the same in every run.
fn fingerprint(text: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(text);
    hasher.finish()
}

/// A module's text without the lines that name the file.
fn without_names(text: &[u8]) -> Vec<u8> {
    let keeps = |line: &&[u8]| {
        !line.starts_with(b"; ModuleID") && !line.starts_with(b"source_filename = \"<stdin>\"")
    };
    let kept: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').filter(keeps).collect();
    kept.concat().trim_ascii_start().to_vec()
}

/// The lines of a text that state data layouts, and the others.
fn without_layout(text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let states = |line: &&[u8]| line.starts_with(b"target datalayout");
    let (layout, rest): (Vec<&[u8]>, Vec<&[u8]>) =
        text.split_inclusive(|&byte| byte == b'\n').partition(states);
    (layout.concat(), rest.concat())
}

impl Llvm {
    /// What LLVM prints of a text, or its message; `None` if a program crashes.
    fn canonical(&self, text: &[u8]) -> anyhow::Result<Option<Result<Vec<u8>, String>>> {
        let bitcode = self.assembler.run(["-o", "-", "-"], text)?;
        if bitcode.crashed() {
            return Ok(None);
        }
        if !bitcode.success() {
            let errors = bitcode.errors();
            let useful = |line: &&str| {
                let is_warning = line.contains("warning: ");
                !line.trim().is_empty() && !is_warning && !line.contains("assembly parsed, but")
            };
            let first = errors.lines().find(useful).unwrap_or("no message");
            let first = first.trim_start_matches("llvm-as-22: ").trim_start_matches("<stdin>:");
            return Ok(Some(Err(first.replace('\t', " "))));
        }
        let listing = self.disassembler.run(["-o", "-", "-"], &bitcode.stdout)?;
        if listing.success() {
            return Ok(Some(Ok(without_names(&listing.stdout))));
        }
        // Bitcode with some data layouts is written but not read.
        let (layout, rest) = without_layout(text);
        let bitcode = self.assembler.run(["-o", "-", "-"], &rest)?;
        let listing = self.disassembler.run(["-o", "-", "-"], &bitcode.stdout)?;
        let without = without_names(&listing.stdout);
        Ok(listing.success().then(|| Ok([layout, without].concat())))
    }

    fn verdict(&self, text: &[u8]) -> anyhow::Result<Verdict> {
        Ok(match self.canonical(text)? {
            None => Verdict::Unknown,
            Some(Ok(listing)) => Verdict::Valid(fingerprint(&listing)),
            Some(Err(message)) => Verdict::Invalid(message),
        })
    }
}

/// LLVM's answers, in memory and in a file that grows.
struct Verdicts {
    known: BTreeMap<(String, u64), Verdict>,
    file: Option<Mutex<File>>,
}

impl Verdicts {
    fn open(path: Option<&Path>) -> anyhow::Result<Verdicts> {
        let Some(path) = path else {
            return Ok(Verdicts { known: BTreeMap::new(), file: None });
        };
        let known = fs::read_to_string(path).unwrap_or_default();
        let known = known.lines().filter_map(parse_line).collect();
        let file = File::options().create(true).append(true).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Verdicts { known, file: Some(Mutex::new(file)) })
    }

    /// LLVM's verdict on a text of this name.
    fn of(&self, llvm: &Llvm, name: &str, text: &[u8]) -> anyhow::Result<Verdict> {
        let key = (name.to_owned(), fingerprint(text));
        if let Some(verdict) = self.known.get(&key) {
            return Ok(verdict.clone());
        }
        let verdict = llvm.verdict(text)?;
        if let Some(mut file) = self.file.as_ref().and_then(|file| file.lock().ok()) {
            let (word, rest) = match &verdict {
                Verdict::Valid(print) => ("valid", format!("{print:016x}")),
                Verdict::Invalid(message) => ("invalid", message.clone()),
                Verdict::Unknown => ("unknown", String::new()),
            };
            // One write: other workers' lines come before or behind it.
            file.write_all(format!("{}\t{:016x}\t{word}\t{rest}\n", key.0, key.1).as_bytes())?;
        }
        Ok(verdict)
    }
}

fn parse_line(line: &str) -> Option<((String, u64), Verdict)> {
    let mut columns = line.split('\t');
    let name = columns.next()?.to_owned();
    let of = u64::from_str_radix(columns.next()?, 16).ok()?;
    let (word, rest) = (columns.next()?, columns.next()?);
    let verdict = match word {
        "valid" => Verdict::Valid(u64::from_str_radix(rest, 16).ok()?),
        "invalid" => Verdict::Invalid(rest.to_owned()),
        "unknown" => Verdict::Unknown,
        _ => return None,
    };
    Some(((name, of), verdict))
}

/// Our print of a text, or why it is refused.
fn ours(text: &[u8]) -> Result<Vec<u8>, String> {
    let context = Arc::new(Context::new());
    let parsed = phalanx::llvm::parse_module(context, text).map_err(|error| {
        let (line, column) = error.line_col(text);
        format!("{line}:{column}: {error}")
    })?;
    let errors = Verifier::new(&parsed.module)
        .with_convergent_intrinsics(phalanx::target::intrinsics::is_convergent)
        .module();
    if !errors.is_empty() {
        let invalid = Invalid { module: parsed.module, source_map: None, errors };
        return Err(ReadError::Verify(Box::new(invalid)).to_string());
    }
    Ok(phalanx::llvm::print_module(&parsed.module))
}

/// Whether LLVM reads the same module from our print as from its own, or writes the same bitcode:
/// some of its data has no textual form, and some bitcode cannot be listed.
fn same_as_own_print(
    llvm: &Llvm,
    verdicts: &Verdicts,
    input: &Input,
    ours: &[u8],
) -> anyhow::Result<bool> {
    let bitcode = |text: &[u8]| llvm.assembler.run(["-o", "-", "-"], text).map(|run| run.stdout);
    if bitcode(&input.text)? == bitcode(ours)? {
        return Ok(true);
    }
    let own = llvm.canonical(&input.text)?.and_then(Result::ok).unwrap_or_default();
    let again = verdicts.of(llvm, &format!("{} as LLVM prints it", input.name), &own)?;
    Ok(again == verdicts.of(llvm, &format!("{} as printed", input.name), ours)?)
}

/// The lines of a module without their order and the numbers of attribute groups.
fn in_any_order(listing: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(listing);
    let without_number =
        |piece: &str| piece.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.split('#').map(without_number).collect::<Vec<_>>().join("#"))
        .collect();
    lines.sort_unstable();
    lines
}

fn compare(llvm: &Llvm, verdicts: &Verdicts, input: &Input) -> anyhow::Result<Option<Finding>> {
    let verdict = verdicts.of(llvm, &input.name, &input.text)?;
    let finding = |kind, what: String| {
        Ok(Some(Finding { kind, name: input.name.clone(), bytes: input.text.len(), what }))
    };
    let printed = match panic::catch_unwind(|| ours(&input.text)) {
        Ok(printed) => printed,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            return finding(Kind::Crash, text.unwrap_or("a panic").to_owned());
        }
    };
    match (verdict, printed) {
        (Verdict::Unknown, _) | (Verdict::Invalid(_), Err(_)) => Ok(None),
        (Verdict::Invalid(message), Ok(_)) => finding(Kind::Accepted, message),
        (Verdict::Valid(_), Err(message)) => finding(Kind::Refused, message),
        (Verdict::Valid(print), Ok(text)) => {
            if fingerprint(&without_names(&text)) == print {
                return Ok(None);
            }
            match verdicts.of(llvm, &format!("{} as printed", input.name), &text)? {
                Verdict::Unknown => finding(Kind::Unreadable, "LLVM crashes".to_owned()),
                Verdict::Invalid(message) => finding(Kind::Unreadable, message),
                Verdict::Valid(found) if found == print => Ok(None),
                Verdict::Valid(_) if same_as_own_print(llvm, verdicts, input, &text)? => Ok(None),
                Verdict::Valid(_) => {
                    let [wanted, found] = [llvm.canonical(&input.text)?, llvm.canonical(&text)?]
                        .map(|listing| listing.and_then(Result::ok).unwrap_or_default());
                    let what = super::roundtrip::first_difference(&wanted, &found);
                    let is_order = in_any_order(&wanted) == in_any_order(&found);
                    let kind = if is_order { Kind::Reordered } else { Kind::Changed };
                    finding(kind, what.unwrap_or_else(|| "white space".to_owned()))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_files_are_parts() {
        let text = b"; RUN: split-file %s %t\n;--- a.ll\nx\n//--- b.txt\ny\n;--- c.ll\nz\n";
        let parts = inputs("d/f.ll", text.to_vec());
        let parts: Vec<(&str, &[u8])> =
            parts.iter().map(|part| (part.name.as_str(), part.text.as_slice())).collect();
        assert_eq!(parts, [("d/f.ll#a.ll", b"x\n".as_slice()), ("d/f.ll#c.ll", b"z\n")]);
        let whole = inputs("f.ll", b";--- a.ll\nx\n".to_vec());
        assert_eq!(whole.len(), 1, "nobody splits it");
    }

    #[test]
    fn answers_survive_in_their_file() {
        let line = "d/f.ll\t00000000000000ff\tinvalid\t3:1: error: x";
        let verdict = Verdict::Invalid("3:1: error: x".to_owned());
        assert_eq!(parse_line(line), Some((("d/f.ll".to_owned(), 255), verdict)));
        assert_eq!(parse_line("d/f.ll\tff\tval"), None, "a line that was cut off");
    }

    #[test]
    fn a_sample_is_the_same_each_time() {
        let files: Vec<_> = (0..50).map(|n| (format!("{n}.ll"), PathBuf::new())).collect();
        let one = sample(files.clone(), 10, 1);
        assert_eq!(one.len(), 10);
        assert_eq!(one, sample(files.clone(), 10, 1));
        assert_ne!(one, sample(files, 10, 2));
    }
}
