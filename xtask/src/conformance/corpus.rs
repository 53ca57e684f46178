//! LLVM's tests, with the known facts about each: target, processor, whether LLVM 22 accepts it.
//!
//! `ORACLE.tsv` in the folder states these facts for the files that it lists. For other files the
//! target is determined in the same way: the triple of the first `RUN:` line, else the file's own,
//! else one by the name of the folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use phalanx_testing::lit;

/// A file of the corpus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CorpusFile {
    pub(super) path: PathBuf,
    /// Relative to the folder.
    pub(super) name: String,
    pub(super) triple: String,
    pub(super) cpu: Option<String>,
    /// What `ORACLE.tsv` says of it; empty if it does not list the file.
    pub(super) status: String,
}

impl CorpusFile {
    /// The command-line arguments for its target.
    pub(super) fn target(&self) -> Vec<String> {
        target_arguments(&self.triple, self.cpu.as_deref())
    }
}

/// `-mtriple` and `-mcpu`.
pub(super) fn target_arguments(triple: &str, cpu: Option<&str>) -> Vec<String> {
    let mut out = Vec::new();
    if !triple.is_empty() {
        out.push(format!("-mtriple={triple}"));
    }
    out.extend(cpu.map(|cpu| format!("-mcpu={cpu}")));
    out
}

/// All `.ll` files below a folder, in the order of their names.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<CorpusFile>> {
    let table = match fs::read_to_string(folder.join("ORACLE.tsv")) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context("cannot read ORACLE.tsv"),
    };
    let mut out = Vec::new();
    llvm_files(folder, &mut out)?;
    out.into_iter().map(|(name, path)| describe(name, path, &table)).collect()
}

/// All `.ll` files below a folder: the name relative to it, and the path; in the order of names.
pub(super) fn llvm_files(folder: &Path, out: &mut Vec<(String, PathBuf)>) -> anyhow::Result<()> {
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        for entry in
            fs::read_dir(&here).with_context(|| format!("cannot read {}", here.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ll") {
                let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
                out.push((name, path));
            }
        }
    }
    out.sort();
    Ok(())
}

fn describe(name: String, path: PathBuf, table: &str) -> anyhow::Result<CorpusFile> {
    // The output of a pass has the target of the original file.
    let original = name.strip_suffix(".inferas.ll").unwrap_or(&name).to_owned();
    let row =
        table.lines().map(|row| row.split('\t').collect::<Vec<_>>()).find(|row| row[0] == original);
    if let Some(row) = row {
        let column = |at: usize| row.get(at).copied().unwrap_or_default().trim().to_owned();
        let cpu = column(2).strip_prefix("-mcpu=").map(str::to_owned);
        return Ok(CorpusFile { path, name, triple: column(1), cpu, status: column(3) });
    }
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (triple, cpu) = guess_target(&name, &String::from_utf8_lossy(&bytes));
    Ok(CorpusFile { path, name, triple, cpu, status: String::new() })
}

/// The triple and processor that the file asks for.
fn guess_target(name: &str, source: &str) -> (String, Option<String>) {
    let tools = ["opt", "llc", "llvm-as"];
    let command = lit::run_lines(source)
        .into_iter()
        .map(|line| line.command)
        .find(|command| command.split_whitespace().any(|word| tools.contains(&word)))
        .unwrap_or_default();
    let own =
        source.lines().find_map(|line| line.strip_prefix("target triple = \"")?.strip_suffix('"'));
    let asked = option(&command, "mtriple").or_else(|| option(&command, "march"));
    let triple = match asked.as_deref().or(own) {
        Some("nvptx64") => "nvptx64-nvidia-cuda".to_owned(),
        Some("nvptx") => "nvptx-nvidia-cuda".to_owned(),
        Some(triple) => lit::known_triples(triple),
        None if name.contains("AMDGPU") => "amdgcn--".to_owned(),
        None => "nvptx64-nvidia-cuda".to_owned(),
    };
    let cpu = option(&command, "mcpu").filter(|cpu| !cpu.starts_with("sm_"));
    (triple, cpu)
}

/// The value of `-name=value` or `-name value`.
fn option(command: &str, name: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        let Some(rest) =
            word.trim_start_matches('-').strip_prefix(name).filter(|_| word.starts_with('-'))
        else {
            continue;
        };
        if let Some(value) = rest.strip_prefix('=') {
            return Some(value.to_owned());
        }
        if rest.is_empty() {
            return words.next().map(str::to_owned);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_guessed_from_commands_then_the_file_then_the_folder() {
        let of = |name, source| guess_target(name, source);
        let cpu = Some("gfx900".to_owned());
        let run = "; RUN: opt -mtriple amdgpu9.00-- -mcpu=gfx900 %s\ntarget triple = \"x\"\n";
        assert_eq!(of("a.ll", run), ("amdgcn--".to_owned(), cpu));
        assert_eq!(
            of("a.ll", "; RUN: llc -march=nvptx %s -mcpu=sm_20"),
            ("nvptx-nvidia-cuda".to_owned(), None)
        );
        assert_eq!(of("a.ll", "; RUN: opt %s\ntarget triple = \"amdgcn-x\"\n").0, "amdgcn-x");
        assert_eq!(of("AMDGPU/a.ll", "; RUN: opt %s").0, "amdgcn--");
        assert_eq!(of("a.ll", "").0, "nvptx64-nvidia-cuda");
    }

    #[test]
    fn the_table_comes_first() {
        let table = "a.ll\tamdgcn--\t-mcpu=gfx900\tok\nb.ll\tnvptx\t\tdoes not parse: x\n";
        let file = describe("a.inferas.ll".into(), "a.inferas.ll".into(), table);
        assert!(file.is_err(), "not in the table and not on disk");
        let file = describe("a.ll.inferas.ll".into(), "x".into(), table).expect("listed");
        assert_eq!(file.target(), ["-mtriple=amdgcn--", "-mcpu=gfx900"]);
        let file = describe("b.ll".into(), "b.ll".into(), table).expect("listed");
        assert_eq!((file.cpu, file.status.as_str()), (None, "does not parse: x"));
    }
}
