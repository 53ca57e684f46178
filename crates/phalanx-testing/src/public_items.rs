//! The public items of a crate, by module, as text that a test compares with a file.
//!
//! The list is made from the text of the sources: items and methods that are `pub`, in modules that
//! are public or that a public one names in a `pub use`. Of other modules only the methods are
//! listed, since they may be methods of a public type. Fields, variants and required methods of
//! traits are not listed.
//!
//! ```text
//!   phalanx_core::analysis
//!       pub enum Brought
//!       pub fn after(&mut self, source: &dyn Source, changes: &[Change]) -> Outcome
//! ```
//!
//! O(bytes of the sources).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The items of a source as written, on one line each, without private ones and those for tests.
fn items(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut lines = text.lines().peekable();
    let mut is_for_tests = false;
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.starts_with("#[cfg") {
            is_for_tests = trimmed.contains("test") || trimmed.contains("doc");
            continue;
        }
        if trimmed.starts_with("#[") || trimmed.starts_with("//") {
            continue;
        }
        let is_item = trimmed.starts_with("pub ") && !is_field(trimmed);
        if is_item && !is_for_tests {
            let mut item = trimmed.to_owned();
            while !ends(&item) {
                let Some(next) = lines.next() else { break };
                item.push(' ');
                item.push_str(next.trim());
            }
            items.push(head(&item).replace("( ", "(").replace(", )", ")").replace(", }", " }"));
        }
        if line.starts_with("mod tests") || line.starts_with("mod test ") {
            break;
        }
        is_for_tests = false;
    }
    items
}

fn is_field(line: &str) -> bool {
    const ITEMS: [&str; 8] = ["fn", "const", "struct", "enum", "trait", "type", "mod", "use"];
    !line.split_whitespace().nth(1).is_some_and(|word| ITEMS.contains(&word))
}

/// Whether the head of an item is complete.
fn ends(item: &str) -> bool {
    let is_use = item.starts_with("pub use");
    item.ends_with(';') || item.contains(" = ") || (!is_use && item.contains('{'))
}

/// An item without its body or value.
fn head(item: &str) -> &str {
    let end = match item.starts_with("pub use") {
        true => item.find(';'),
        false => item.find([';', '{']).into_iter().chain(item.find(" = ")).min(),
    };
    item[..end.unwrap_or(item.len())].trim_end()
}

/// Whether an item of a text is a method: it is indented there.
fn is_method(item: &str, text: &str) -> bool {
    let head = item.split('(').next().unwrap_or(item);
    (item.starts_with("pub fn") || item.starts_with("pub const fn"))
        && text.lines().any(|line| line.starts_with("    ") && line.trim_start().starts_with(head))
}

/// The file of a module.
fn file(folder: &Path, name: &str) -> PathBuf {
    let flat = folder.join(format!("{name}.rs"));
    if flat.exists() { flat } else { folder.join(name).join("mod.rs") }
}

/// The public items of a crate of this name, from the folder of its sources.
///
/// # Panics
/// If a module has no file.
///
/// Modules are visited in the order of their names.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the list is made from the sources of a crate")]
pub fn list(name: &str, source: &Path) -> String {
    let mut list = String::new();
    let mut work = vec![(name.to_owned(), source.join("lib.rs"), source.to_path_buf(), true)];
    while let Some((path, file_of, folder, is_public)) = work.pop() {
        let text = fs::read_to_string(&file_of).expect("a module has a file");
        let items = items(&text);
        let listed: Vec<&String> =
            items.iter().filter(|item| is_public || is_method(item, &text)).collect();
        if is_public || !listed.is_empty() {
            let _ = writeln!(list, "{path}");
        }
        listed.iter().for_each(|item| _ = writeln!(list, "    {item}"));
        let mut is_for_tests = false;
        let declared = text.lines().filter_map(|line| {
            let is_attribute = line.starts_with("#[");
            let skipped = is_for_tests && !is_attribute;
            is_for_tests = is_attribute && (is_for_tests || line.contains("test"));
            let name = line.strip_prefix("pub mod ").or(line.strip_prefix("mod "))?;
            name.strip_suffix(';').filter(|_| !skipped)
        });
        let is_named = |name: &str| {
            items.iter().any(|item| {
                let target = item.strip_prefix("pub use ").unwrap_or("");
                let target = target.strip_prefix("self::").unwrap_or(target);
                *item == format!("pub mod {name}") || target.starts_with(&format!("{name}::"))
            })
        };
        let mut inner: Vec<&str> = declared.collect();
        inner.sort_unstable();
        for name in inner.into_iter().rev() {
            let (path, is_public) = (format!("{path}::{name}"), is_public && is_named(name));
            work.push((path, file(&folder, name), folder.join(name), is_public));
        }
    }
    list
}
