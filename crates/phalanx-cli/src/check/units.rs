//! The items to be checked: files, folders, projects; and their parallel processing.
//!
//! As many threads as there are workers check units. Results are printed in the order of the
//! command line, so the output does not depend on timing.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::Context as _;
use phalanx_source::{Unit, units};

use super::normal;
use crate::{args::CheckArgs, terminal::Terminal};

/// How deep folders are searched.
const DEPTH: usize = 32;

/// Something to be checked.
pub(super) enum Item {
    /// A module or a source, as it was named.
    File(PathBuf),
    /// A unit of a project.
    Unit(Box<Unit>),
}

/// Everything that the command line names.
pub(super) fn items(args: &CheckArgs, terminal: &Terminal) -> anyhow::Result<Vec<Item>> {
    let mut items = Vec::new();
    for path in &args.files {
        if !path.is_dir() {
            items.push(Item::File(path.clone()));
            continue;
        }
        let before = items.len();
        in_folder(path, 0, &mut items)?;
        if items.len() == before {
            let what = "it has no file that ends in .cu, .hip, .cl, .ll or .bc";
            anyhow::bail!("nothing to check in {}: {what}", path.display());
        }
    }
    if let Some(project) = &args.project {
        let found = units(project)?;
        if found.units.is_empty() {
            let what = "it has no source with code for a device";
            anyhow::bail!("nothing to check in {}: {what}", project.display());
        }
        if found.others > 0 {
            terminal.note(&format!("{} sources have no code for a device", found.others));
        }
        let here = std::env::current_dir().unwrap_or_default();
        let mut units = found.units;
        for pattern in &args.skip {
            let before = units.len();
            units.retain(|unit| !is_named(&here, pattern, &unit.path()));
            match before - units.len() {
                0 => anyhow::bail!("--skip {pattern} names no source of the project"),
                1 => terminal.note(&format!("--skip {pattern} leaves out 1 source")),
                some => terminal.note(&format!("--skip {pattern} leaves out {some} sources")),
            }
        }
        let more = |mut unit: Unit| {
            // Options of the command line come last, so they take precedence.
            let added = phalanx_source::flags::Flags::of_clang(&args.source.flags);
            unit.flags.add(added);
            Item::Unit(Box::new(unit))
        };
        items.extend(units.into_iter().map(more));
    }
    Ok(items)
}

/// Whether a pattern matches a file, relative to a folder; a pattern that ends in `*` is a prefix.
fn is_named(folder: &Path, pattern: &str, path: &Path) -> bool {
    let full = normal(&folder.join(pattern.trim_end_matches('*')));
    let path = normal(path);
    match pattern.ends_with('*') {
        true => path.to_string_lossy().starts_with(&*full.to_string_lossy()),
        false => path == full,
    }
}

/// Sources and modules in a folder, by their names, in the order of these.
fn in_folder(folder: &Path, depth: usize, items: &mut Vec<Item>) -> anyhow::Result<()> {
    let read = || format!("cannot read {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(read)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        let extension = path.extension().and_then(|extension| extension.to_str());
        if is_hidden || path.is_symlink() && path.is_dir() {
            continue;
        }
        if path.is_dir() {
            if depth < DEPTH {
                in_folder(&path, depth + 1, items)?;
            }
        } else if matches!(extension, Some("cu" | "hip" | "cl" | "ll" | "bc")) {
            items.push(Item::File(path));
        }
    }
    Ok(())
}

/// Processes all items on several threads; results are in the order of the items.
pub(super) fn work_off<R: Send>(
    items: &[Item],
    terminal: &Terminal,
    work: impl Fn(&Item) -> R + Sync,
) -> Vec<R> {
    if let [item] = items {
        return vec![work(item)];
    }
    let bar = terminal.bar("checking", "files", items.len());
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(at)
        {
            let result = work(item);
            if let Ok(mut slot) = results[at].lock() {
                *slot = Some(result);
            }
            bar.inc(1);
        }
    };
    thread::scope(|scope| {
        for _ in 1..rayon::current_num_threads().min(items.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    bar.finish_and_clear();
    let results = results.into_iter().map(|slot| slot.into_inner().unwrap_or_default());
    results.flatten().collect()
}
