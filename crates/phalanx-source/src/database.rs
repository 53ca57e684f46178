//! The translation units with device code of a `compile_commands.json`.
//!
//! CMake, Meson, Bear and others write such a file: an array of entries with `directory`, `file`,
//! and `arguments` or `command`. A unit is for a device if its compiler is nvcc or hipcc, if `-x`
//! names a language for devices, or if its file has the extension of one. Files of options
//! (`@file`, `--options-file file`) are read.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    Language, SourceError, Unit,
    flags::{Dialect, Flags},
};

/// How deeply files of options may be nested.
const DEPTH: usize = 8;

/// The units of a list of commands.
#[derive(Clone, Default, Debug)]
pub struct Units {
    /// Units with code for a device, in the order of the list.
    pub units: Vec<Unit>,
    /// How many other units there are.
    pub others: usize,
}

/// Reads a list of commands; `path` is the file, or the folder that it is in.
///
/// # Errors
/// If it cannot be read, or is no list of commands.
pub fn units(path: &Path) -> Result<Units, SourceError> {
    let path = match path.is_dir() {
        true => path.join("compile_commands.json"),
        false => path.to_owned(),
    };
    let text = fs::read_to_string(&path)
        .map_err(|error| SourceError::Read { path: path.clone(), error })?;
    let wrong = |what: String| SourceError::Database { path: path.clone(), what };
    let list: Value = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("no list of compile commands: {error}")))?;
    let list = list.as_array().ok_or_else(|| wrong("no list of compile commands".to_owned()))?;
    let base = path.parent().unwrap_or(Path::new(""));
    let base = match std::env::current_dir() {
        Ok(here) => here.join(base),
        Err(_) => base.to_owned(),
    };
    let mut out = Units::default();
    for (at, entry) in list.iter().enumerate() {
        let of = |what: &str| wrong(format!("entry {at} has no `{what}`"));
        let field = |name: &str| entry.get(name).and_then(Value::as_str);
        let file = PathBuf::from(field("file").ok_or_else(|| of("file"))?);
        let folder = base.join(field("directory").unwrap_or(""));
        let words = match (entry.get("arguments").and_then(Value::as_array), field("command")) {
            (Some(words), _) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            (None, Some(command)) => split(command),
            (None, None) => return Err(of("command")),
        };
        match unit(file, folder, &words) {
            // One file compiled twice with the same flags is one unit.
            Some(unit) if out.units.contains(&unit) => {}
            Some(unit) => out.units.push(unit),
            None => out.others += 1,
        }
    }
    Ok(out)
}

fn unit(file: PathBuf, folder: PathBuf, words: &[String]) -> Option<Unit> {
    // `ccache nvcc ...`
    let is_launcher = |word: &&String| {
        let stem = Path::new(word.as_str()).file_stem().and_then(|stem| stem.to_str());
        matches!(stem, Some("ccache" | "sccache" | "distcc" | "env"))
    };
    let start = words.iter().take_while(is_launcher).count();
    let (program, arguments) = words.get(start..)?.split_first()?;
    let dialect = Dialect::of_program(program);
    let arguments = with_files(arguments, &folder, 0);
    let mut flags = Flags::of(dialect, &arguments);
    flags.files.clear();
    // The defaults determine the optimization level, not the build.
    flags.level = None;
    let is_hipcc = program.ends_with("hipcc") || program.ends_with("hipcc.bin");
    let language = match (flags.language, dialect) {
        (Some(language), _) => Some(language),
        // nvcc compiles files other than `.cu` for the host only.
        (None, Dialect::Nvcc) => Language::of_file(&file).filter(|&l| l == Language::Cuda),
        (None, Dialect::Clang) if is_hipcc => Some(Language::Hip),
        (None, Dialect::Clang) => {
            let extension = file.extension().and_then(|extension| extension.to_str());
            let is_named = matches!(extension, Some("cu" | "hip" | "cl"));
            Language::of_file(&file).filter(|_| is_named)
        }
    }?;
    Some(Unit { file, folder, language, flags })
}

/// The words of a command, with those of files of options in place.
fn with_files(words: &[String], folder: &Path, depth: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let named = match word.as_str() {
            "--options-file" | "-optf" => rest.next().map(String::as_str),
            other => other.strip_prefix('@').or_else(|| other.strip_prefix("--options-file=")),
        };
        let text =
            named.filter(|_| depth < DEPTH).map(|name| fs::read_to_string(folder.join(name)));
        match text {
            Some(Ok(text)) => out.extend(with_files(&split(&text), folder, depth + 1)),
            _ => out.push(word.clone()),
        }
    }
    out
}

/// Splits a command into words as a shell does: quotes and backslashes, no variables.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = rest.next();
                // Within quotes a backslash is literal unless it escapes something.
                if quote.is_some() && !matches!(next, Some('"' | '\\' | '$' | '`')) {
                    word.get_or_insert_default().push('\\');
                }
                word.get_or_insert_default().extend(next);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn words_of_a_shell() {
        let words = split(r#"nvcc -D'A="x y"' -DB=\"s\" "-I a b" '' c\ d "e\f""#);
        assert_eq!(words, ["nvcc", "-DA=\"x y\"", "-DB=\"s\"", "-I a b", "", "c d", "e\\f"]);
    }

    #[test]
    fn units_for_devices() {
        let folder = tempfile::tempdir().expect("folder");
        let list = r#"[
            {"directory": "d", "file": "a.cu", "command": "ccache nvcc -arch=sm_70 --options-file o.rsp -c a.cu"},
            {"directory": "d", "file": "host.cpp", "command": "g++ -c host.cpp"},
            {"directory": "d", "file": "b.cpp", "arguments": ["hipcc", "-DX=a b", "-c", "b.cpp"]},
            {"directory": "d", "file": "b.cpp", "arguments": ["hipcc", "-DX=a b", "-c", "b.cpp"]},
            {"directory": "d", "file": "c.cpp", "arguments": ["clang++", "-x", "cuda", "c.cpp"]}
        ]"#;
        fs::create_dir(folder.path().join("d")).expect("folder");
        fs::write(folder.path().join("d/o.rsp"), "-Isome -DY").expect("options");
        fs::write(folder.path().join("compile_commands.json"), list).expect("list");
        let found = units(folder.path()).expect("it is a list");
        let mut text = format!("{} others\n", found.others);
        for unit in &found.units {
            let (name, kept) = (unit.language.name(), unit.flags.kept.join(" "));
            text += &format!("{} {name} {kept}\n", unit.file.display());
        }
        expect![[r#"
            1 others
            a.cu CUDA -Isome -DY
            b.cpp HIP -DX=a b
            c.cpp CUDA 
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn what_is_no_list() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("compile_commands.json");
        for (text, says) in [
            ("{}", "no list of compile commands"),
            ("[{\"command\": \"x\"}]", "entry 0 has no `file`"),
            ("[{\"file\": \"x\"}]", "entry 0 has no `command`"),
        ] {
            fs::write(&file, text).expect("list");
            let error = units(folder.path()).expect_err("it is no list");
            assert!(error.to_string().ends_with(says), "{error}");
        }
        let error = units(&folder.path().join("nowhere")).expect_err("it is not there");
        assert!(error.to_string().starts_with("cannot read "), "{error}");
    }
}
