//! `cargo xtask docs`: renders the book of `docs/` to `target/book`, and checks every link.
//!
//! The pages are an mdBook: `docs/SUMMARY.md` lists them, `docs/book.toml` configures the
//! rendering. `xtask/book` renders them by mdBook's library, so that nothing has to be installed.
//! It is built once, in a minute, and then takes a tenth of a second. Links are checked in the
//! rendered pages, anchors included, and in the pages outside of the book (`README.md`,
//! `CONTRIBUTING.md`, `CHANGELOG.md`). A page that the summary does not list is an error, since
//! readers would not find it. Network links are counted, not opened.
//!
//! ```text
//! 62 pages, 1410 links to pages and anchors, 9 to the network, 0 dead: target/book/index.html
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};

/// Pages of the repository that are not pages of the book.
const BESIDE: [&str; 3] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Renders and checks.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = crate::tidy::workspace_root()?;
    let out = root.join("target/book");
    render(&root, &out)?;
    let pages = rendered(&out)?;
    let mut links = Links::default();
    for (page, text) in &pages {
        links.of_page(&out, page, text, &pages);
    }
    for name in BESIDE {
        let text = fs::read_to_string(root.join(name)).context(name)?;
        links.of_markdown(&root, name, &text, &pages);
    }
    for page in markdown(&root.join("docs"))? {
        if !pages.contains_key(&page.with_extension("html")) && page != Path::new("SUMMARY.md") {
            links.dead.insert(format!("docs/{}: docs/SUMMARY.md does not list it", page.display()));
        }
    }
    for dead in &links.dead {
        println!("{dead}");
    }
    println!(
        "{} pages, {} links to pages and anchors, {} to the network, {} dead: {}",
        pages.len(),
        links.inside,
        links.network,
        links.dead.len(),
        out.join("index.html").display(),
    );
    if !links.dead.is_empty() {
        bail!("the book has dead links");
    }
    Ok(())
}

/// Renders the pages, by a program that is built beside the workspace.
fn render(root: &Path, out: &Path) -> anyhow::Result<()> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--manifest-path", "xtask/book/Cargo.toml"])
        .args(["--target-dir", "target/book-tool", "--", "docs"])
        .arg(out)
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    match status.success() {
        true => Ok(()),
        false => bail!("the book cannot be rendered"),
    }
}

/// Texts of the rendered pages by their path in the book. mdBook's own pages are left out: the page
/// with all chapters for printing, its list of chapters, and the error page.
fn rendered(out: &Path) -> anyhow::Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    for path in files(out, "html")? {
        if !["print.html", "toc.html", "404.html"].iter().any(|own| path == Path::new(own)) {
            let text = fs::read_to_string(out.join(&path))?;
            pages.insert(path, text);
        }
    }
    Ok(pages)
}

/// Pages of the source.
fn markdown(docs: &Path) -> anyhow::Result<Vec<PathBuf>> {
    files(docs, "md")
}

/// Files below a folder with an extension, by their path in it, in order.
fn files(folder: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut work) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = work.pop() {
        for entry in fs::read_dir(&next).with_context(|| next.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                work.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path.strip_prefix(folder)?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Links that were seen, and what is wrong with them.
#[derive(Default)]
struct Links {
    inside: usize,
    network: usize,
    dead: BTreeSet<String>,
}

impl Links {
    /// Adds the links of a rendered page.
    fn of_page(&mut self, out: &Path, page: &Path, text: &str, pages: &BTreeMap<PathBuf, String>) {
        for link in ["href=\"", "src=\""].iter().flat_map(|start| between(text, start, '"')) {
            self.one(out, page, &link.replace("&amp;", "&"), pages);
        }
    }

    /// Adds the links of a Markdown page outside of the book: they lead to files of the repository,
    /// or into the book if they name one of its pages.
    fn of_markdown(
        &mut self,
        root: &Path,
        name: &str,
        text: &str,
        pages: &BTreeMap<PathBuf, String>,
    ) {
        for link in between(text, "](", ')') {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            if is_network(link) {
                self.network += 1;
                continue;
            }
            self.inside += 1;
            if !path.is_empty() && !root.join(path).exists() {
                self.dead.insert(format!("{name}: `{link}`: there is no such file"));
            }
            let page =
                path.strip_prefix("docs/").map(|page| Path::new(page).with_extension("html"));
            if let (false, Some(text)) = (anchor.is_empty(), page.and_then(|page| pages.get(&page)))
                && !has_anchor(text, anchor)
            {
                self.dead.insert(format!("{name}: `{link}`: the page has no such heading"));
            }
        }
    }

    fn one(&mut self, out: &Path, page: &Path, link: &str, pages: &BTreeMap<PathBuf, String>) {
        if is_network(link) {
            self.network += 1;
            return;
        }
        self.inside += 1;
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = match path {
            "" => Some(page.to_owned()),
            _ => inside(page, path),
        };
        let problem = match target {
            None => "it leads out of the book",
            Some(target) if !out.join(&target).is_file() => "there is no such page",
            Some(target) => match pages.get(&target) {
                Some(text) if !anchor.is_empty() && !has_anchor(text, anchor) => {
                    "the page has no such heading"
                }
                _ => return,
            },
        };
        let source = page.with_extension("md");
        self.dead.insert(format!("docs/{}: `{link}`: {problem}", source.display()));
    }
}

fn is_network(link: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|start| link.starts_with(start))
}

fn has_anchor(page: &str, anchor: &str) -> bool {
    page.contains(&format!("id=\"{anchor}\""))
}

/// Where a relative link of a page leads in the book; none if that is outside of it.
fn inside(page: &Path, link: &str) -> Option<PathBuf> {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// What stands between each mention of `start` and the next `end`.
fn between<'a>(text: &'a str, start: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(move |rest| rest.split_once(end)).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with the links of a page `a/page.html`, beside which are two others.
    fn dead(text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("folder");
        let texts = [("a/page.html", text), ("a/b.html", "<h2 id=\"part\">"), ("c.html", "")];
        fs::create_dir(folder.path().join("a")).expect("folder");
        let mut pages = BTreeMap::new();
        for (name, text) in texts {
            fs::write(folder.path().join(name), text).expect("file");
            pages.insert(PathBuf::from(name), text.to_owned());
        }
        let mut links = Links::default();
        links.of_page(folder.path(), Path::new("a/page.html"), text, &pages);
        links.dead.into_iter().collect()
    }

    #[test]
    fn links_that_lead_somewhere() {
        let text = "<h1 id=\"x\"><a href=\"#x\"><a href=\"b.html#part\"><img src=\"../c.html\">
            <a href=\"https://example.org/none\">";
        assert_eq!(dead(text), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere() {
        let text =
            "<a href=\"#y\"><a href=\"b.html#none\"><img src=\"c.html\"><a href=\"../../d\">";
        assert_eq!(
            dead(text),
            [
                "docs/a/page.md: `#y`: the page has no such heading",
                "docs/a/page.md: `../../d`: it leads out of the book",
                "docs/a/page.md: `b.html#none`: the page has no such heading",
                "docs/a/page.md: `c.html`: there is no such page",
            ]
        );
    }

    #[test]
    fn links_of_pages_beside_the_book() {
        let folder = tempfile::tempdir().expect("folder");
        fs::create_dir(folder.path().join("docs")).expect("folder");
        fs::write(folder.path().join("docs/b.md"), "# Part").expect("file");
        let pages = BTreeMap::from([(PathBuf::from("b.html"), "<h1 id=\"part\">".to_owned())]);
        let text = "[a](docs/b.md) [b](docs/b.md#part) [c](docs/b.md#other) [d](docs/c.md)";
        let mut links = Links::default();
        links.of_markdown(folder.path(), "README.md", text, &pages);
        let dead: Vec<String> = links.dead.into_iter().collect();
        assert_eq!(
            dead,
            [
                "README.md: `docs/b.md#other`: the page has no such heading",
                "README.md: `docs/c.md`: there is no such file",
            ]
        );
    }
}
