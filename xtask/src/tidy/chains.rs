//! Let chains in crates for compilers that do not know them.
//!
//! A crate may state an older Rust than the workspace. Clippy then reports newer library functions
//! (`incompatible_msrv`), but not newer syntax. The newest syntax that our edition tempts us to use
//! is the let chain, which came with Rust 1.88:
//!
//! ```text
//! if is_known && let Some(value) = find() { .. }
//! ```
//!
//! Cost: parses the sources of these crates, O(their size).

use std::{fs, path::Path};

use anyhow::Context as _;
use cargo_metadata::Metadata;
use syn::{
    BinOp, Expr, ExprBinary,
    visit::{self, Visit},
};

/// The first minor version of Rust 1 that has let chains.
const FIRST: u64 = 88;

/// Finds the let chains of every crate whose stated Rust is older than they are.
pub(super) fn check(metadata: &Metadata, findings: &mut Vec<String>) -> anyhow::Result<()> {
    for package in &metadata.packages {
        let is_old = package.rust_version.as_ref().is_some_and(|stated| stated.minor < FIRST);
        let folder = package.manifest_path.parent().context("a manifest is in a folder")?;
        if is_old {
            check_folder(folder.join("src").as_std_path(), package.name.as_str(), findings)?;
        }
    }
    Ok(())
}

fn check_folder(folder: &Path, package: &str, findings: &mut Vec<String>) -> anyhow::Result<()> {
    let mut work = vec![folder.to_owned()];
    while let Some(folder) = work.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                work.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let count = chains_in(&fs::read_to_string(&path)?)
                    .with_context(|| path.display().to_string())?;
                if count > 0 {
                    findings.push(format!(
                        "{package}: {count} let chains in {}, which Rust 1.{} does not know",
                        path.display(),
                        FIRST - 1
                    ));
                }
            }
        }
    }
    Ok(())
}

/// How many conditions of let chains are in a file.
fn chains_in(text: &str) -> syn::Result<usize> {
    let mut count = Count(0);
    count.visit_file(&syn::parse_file(text)?);
    Ok(count.0)
}

struct Count(usize);

impl Visit<'_> for Count {
    fn visit_expr_binary(&mut self, node: &ExprBinary) {
        let is_let = |side: &Expr| matches!(side, Expr::Let(_));
        if matches!(node.op, BinOp::And(_)) && (is_let(&node.left) || is_let(&node.right)) {
            self.0 += 1;
        }
        visit::visit_expr_binary(self, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_told_from_single_lets_and_from_and() {
        let chains = |body: &str| chains_in(&format!("fn f() {{ {body} }}")).expect("it parses");
        assert_eq!(chains("if let Some(a) = b() { a && c }"), 0);
        assert_eq!(chains("if x && let Some(a) = b() {}"), 1);
        assert_eq!(chains("while let Some(a) = b() && a.c() {}"), 1);
        assert_eq!(chains("if let Some(a) = b() { if let Some(c) = a && d {} }"), 1);
    }
}
