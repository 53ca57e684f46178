//! The output of `-S` must be the module that was read.
//!
//! The outputs of `opt-22 -S` for the original and for our print are compared byte by byte, except
//! for the line that names the module. Inferred data layouts are compared as well: `opt-22` writes
//! the layout of the triple.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use super::{
    Tools,
    report::{Entry, Section},
};

/// Round trips of all files.
pub(super) fn run(
    tools: &Tools,
    title: &str,
    files: &[(String, PathBuf)],
) -> anyhow::Result<Section> {
    let mut section = Section::new(title);
    let found: Vec<anyhow::Result<Section>> =
        files.par_iter().map(|(place, path)| one(tools, place, path)).collect();
    for part in found {
        section.merge(part?);
    }
    Ok(section)
}

fn one(tools: &Tools, place: &str, path: &Path) -> anyhow::Result<Section> {
    let mut section = Section::default();
    let original = fs::read(path)?;
    let Ok(wanted) = canonical(tools, &original)? else {
        section.count("files refused by LLVM", 1);
        return Ok(section);
    };
    section.count("files", 1);
    let printed = tools.printer.run([""; 0], &original)?;
    if !printed.success() {
        section.push(Entry::unexplained(
            place,
            format!("{}: {}", tools.printer.name(), printed.summary()),
        ));
        return Ok(section);
    }
    match canonical(tools, &printed.stdout)? {
        Err(refused) => {
            section.push(Entry::unexplained(place, format!("LLVM refuses our print: {refused}")));
        }
        Ok(found) => {
            if let Some(what) = first_difference(&wanted, &found) {
                section.push(Entry::unexplained(place, what));
            }
        }
    }
    Ok(section)
}

/// The text as LLVM prints it; or why LLVM refuses it.
///
/// The text is given on standard input, so that no file name gets into the module.
fn canonical(tools: &Tools, text: &[u8]) -> anyhow::Result<Result<Vec<u8>, String>> {
    // The corpus has broken modules on purpose; another section checks whether they are refused.
    let printed = tools.opt.run(["-S", "-disable-verify", "-o", "-", "-"], text)?;
    Ok(match printed.success() {
        true => Ok(printed.stdout),
        false => Err(printed.errors().lines().take(3).collect::<Vec<_>>().join("\n")),
    })
}

/// The first line that is not the same, with its number in the original.
pub(super) fn first_difference(wanted: &[u8], found: &[u8]) -> Option<String> {
    let lines = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter(|line| !line.starts_with("; ModuleID")).map(str::to_owned).collect()
    };
    let (wanted, found) = (lines(wanted), lines(found));
    let at = (0..wanted.len().max(found.len())).find(|&at| wanted.get(at) != found.get(at))?;
    let show = |lines: &[String]| {
        lines.get(at).map_or("nothing".to_owned(), |line| format!("`{}`", line.trim()))
    };
    Some(format!("line {}: {} became {}", at + 1, show(&wanted), show(&found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_other_line_is_shown() {
        assert_eq!(first_difference(b"; ModuleID = 'a'\nx\n", b"; ModuleID = 'b'\nx\n"), None);
        let found = first_difference(b"; ModuleID = 'a'\nx\ny\n", b"; ModuleID = 'b'\nx\nz\n");
        assert_eq!(found.as_deref(), Some("line 2: `y` became `z`"));
        assert_eq!(first_difference(b"x\n", b"").as_deref(), Some("line 1: `x` became nothing"));
    }
}
