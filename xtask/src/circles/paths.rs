//! Which files of a crate name what other files define.
//!
//! The crate is parsed from its root on, module by module. A path is followed from the module it
//! stands in: through `crate`, `self`, `super`, child modules, imported names and re-exports, to
//! the module that defines the name. Names that lead out of the crate lead nowhere.
//!
//! O(paths × length of re-export chains); a chain that leads back to itself ends after [`FAR`]
//! steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::Uses;

/// How many re-exports a name is followed through.
const FAR: usize = 16;

/// A module: where its text stands, and what its names lead to.
#[derive(Default)]
struct Module {
    file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Names that are defined here.
    defined: BTreeSet<String>,
    /// Names that a `use` brings, and what they stand for.
    imported: Vec<(String, Vec<String>)>,
    /// Paths of which a `use` brings all names.
    globs: Vec<Vec<String>>,
    /// Paths that stand in the module, the ones of `use` included.
    paths: Vec<Vec<String>>,
}

/// Which files of the crate with this root file use which others.
pub(super) fn uses(root: &Path) -> anyhow::Result<Uses> {
    let mut modules: Vec<Module> = Vec::new();
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    let mut work = vec![(root.to_owned(), folder, None::<(usize, String)>)];
    while let Some((file, folder, declared)) = work.pop() {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        let number = add(&mut modules, file.clone(), declared);
        collect(&mut modules, &mut work, (number, &folder), &parsed.items);
    }
    let mut uses: Uses = BTreeMap::new();
    let roots_only: BTreeSet<&Path> = {
        let has_items = |module: &&Module| !module.defined.is_empty();
        let with: BTreeSet<&Path> =
            modules.iter().filter(has_items).map(|module| module.file.as_path()).collect();
        let all = modules.iter().map(|module| module.file.as_path());
        all.filter(|file| !with.contains(file)).collect()
    };
    for (number, module) in modules.iter().enumerate() {
        if roots_only.contains(module.file.as_path()) {
            continue;
        }
        let used = uses.entry(module.file.clone()).or_default();
        for path in &module.paths {
            let Some(at) = defining(&modules, number, path, FAR) else { continue };
            let file = &modules[at].file;
            if *file != module.file && !roots_only.contains(file.as_path()) {
                let ways = ["crate", "self", "super"];
                let named = path.iter().filter(|name| !ways.contains(&name.as_str()));
                let name = named.cloned().collect::<Vec<_>>().join("::");
                used.entry(file.clone()).or_default().insert(name);
            }
        }
    }
    Ok(uses)
}

fn add(modules: &mut Vec<Module>, file: PathBuf, declared: Option<(usize, String)>) -> usize {
    let number = modules.len();
    let parent = declared.as_ref().map(|(parent, _)| *parent);
    modules.push(Module { file, parent, ..Module::default() });
    if let Some((parent, name)) = declared {
        modules[parent].children.insert(name, number);
    }
    number
}

type Work = Vec<(PathBuf, PathBuf, Option<(usize, String)>)>;

/// Collects the items of a module; modules in files of their own are read later.
fn collect(
    modules: &mut Vec<Module>,
    work: &mut Work,
    (number, folder): (usize, &Path),
    items: &[Item],
) {
    let mut inline: Vec<(usize, PathBuf, &[Item])> = vec![(number, folder.to_owned(), items)];
    while let Some((number, folder, items)) = inline.pop() {
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            match item {
                Item::Mod(of) => {
                    let name = of.ident.to_string();
                    let inner = folder.join(&name);
                    if let Some((_, items)) = &of.content {
                        let file = modules[number].file.clone();
                        let child = add(modules, file, Some((number, name)));
                        inline.push((child, inner, items));
                    } else if let Some(file) =
                        file_of(&of.attrs, (&modules[number].file, &folder), &name)
                    {
                        work.push((file, inner, Some((number, name))));
                    }
                }
                Item::Use(of) => import(&mut modules[number], &of.tree, Vec::new()),
                other => {
                    modules[number].defined.extend(name_of(other));
                    let mut paths = Paths(Vec::new());
                    paths.visit_item(other);
                    modules[number].paths.extend(paths.0);
                }
            }
        }
    }
}

/// The file of a module that is declared in a file, and whose own files are in a folder. An
/// attribute `path` counts from where the file is.
fn file_of(
    attributes: &[Attribute],
    (file, folder): (&Path, &Path),
    name: &str,
) -> Option<PathBuf> {
    let named = attributes.iter().find(|attribute| attribute.path().is_ident("path"));
    if let Some(syn::Meta::NameValue(value)) = named.map(|attribute| &attribute.meta)
        && let syn::Expr::Lit(literal) = &value.value
        && let syn::Lit::Str(path) = &literal.lit
    {
        return Some(file.with_file_name(path.value()));
    }
    let files = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
    files.into_iter().find(|file| file.is_file())
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(of) => &of.attrs,
        Item::Enum(of) => &of.attrs,
        Item::Fn(of) => &of.attrs,
        Item::Impl(of) => &of.attrs,
        Item::Macro(of) => &of.attrs,
        Item::Mod(of) => &of.attrs,
        Item::Static(of) => &of.attrs,
        Item::Struct(of) => &of.attrs,
        Item::Trait(of) => &of.attrs,
        Item::Type(of) => &of.attrs,
        Item::Union(of) => &of.attrs,
        Item::Use(of) => &of.attrs,
        _ => &[],
    }
}

/// The name of an item. Items without names count as a definition.
fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(of) => of.ident.to_string(),
        Item::Enum(of) => of.ident.to_string(),
        Item::Fn(of) => of.sig.ident.to_string(),
        Item::Impl(_) => "impl".to_owned(),
        Item::Macro(of) => {
            of.ident.as_ref().map_or_else(|| "macro".to_owned(), ToString::to_string)
        }
        Item::Static(of) => of.ident.to_string(),
        Item::Struct(of) => of.ident.to_string(),
        Item::Trait(of) => of.ident.to_string(),
        Item::Type(of) => of.ident.to_string(),
        Item::Union(of) => of.ident.to_string(),
        _ => return None,
    })
}

/// Splits a `use` tree into one path for each leaf.
fn import(module: &mut Module, tree: &UseTree, before: Vec<String>) {
    let mut work = vec![(tree, before)];
    while let Some((tree, before)) = work.pop() {
        let with = |name: &dyn ToString| {
            let mut path = before.clone();
            path.push(name.to_string());
            path
        };
        let mut named = |name: String, path: Vec<String>| {
            // `use a::{self}` names `a`.
            let path = match path.split_last() {
                Some((last, rest)) if last == "self" && !rest.is_empty() => rest.to_vec(),
                _ => path,
            };
            let name = if name == "self" { path.last().cloned().unwrap_or(name) } else { name };
            module.paths.push(path.clone());
            module.imported.push((name, path));
        };
        match tree {
            UseTree::Path(of) => work.push((&of.tree, with(&of.ident))),
            UseTree::Name(of) => named(of.ident.to_string(), with(&of.ident)),
            UseTree::Rename(of) => named(of.rename.to_string(), with(&of.ident)),
            UseTree::Glob(_) => module.globs.push(before),
            UseTree::Group(of) => {
                work.extend(of.items.iter().map(|tree| (tree, before.clone())));
            }
        }
    }
}

/// The paths of an item.
struct Paths(Vec<Vec<String>>);

impl Visit<'_> for Paths {
    fn visit_path(&mut self, path: &syn::Path) {
        self.0.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    /// `pub(super)` names a module, but takes nothing from it.
    fn visit_visibility(&mut self, _: &syn::Visibility) {}

    fn visit_item(&mut self, item: &Item) {
        // What a function uses inside is used by the module.
        if let Item::Use(of) = item {
            let mut module = Module::default();
            import(&mut module, &of.tree, Vec::new());
            self.0.extend(module.paths);
        }
        visit::visit_item(self, item);
    }
}

/// The module that defines the item of a path, if it is in this crate. For `Type::name` it is the
/// module of the type.
fn defining(modules: &[Module], from: usize, path: &[String], far: usize) -> Option<usize> {
    let far = far.checked_sub(1)?;
    let (first, mut rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => 0,
        "self" => from,
        "super" => modules[from].parent?,
        _ => {
            rest = path;
            from
        }
    };
    // A child module that is named alone counts as the file that it stands in.
    let mut is_inside = rest.len() < path.len();
    while let Some((name, behind)) = rest.split_first() {
        let module = &modules[at];
        if name == "super" {
            at = module.parent?;
        } else if let Some(&child) = module.children.get(name) {
            at = child;
        } else if module.defined.contains(name) {
            return Some(at);
        } else if let Some((_, known)) = module.imported.iter().find(|(of, _)| of == name) {
            let mut whole = known.clone();
            whole.extend_from_slice(behind);
            return match known == path {
                true => None,
                false => defining(modules, at, &whole, far),
            };
        } else {
            let mut globs = module.globs.iter();
            return globs.find_map(|glob| {
                let mut whole = glob.clone();
                whole.extend_from_slice(rest);
                defining(modules, at, &whole, far)
            });
        }
        is_inside = true;
        rest = behind;
    }
    is_inside.then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is ours");
            fs::write(path, text).expect("it is ours");
        }
        let uses = uses(&folder.path().join("lib.rs")).expect("it parses");
        let short =
            |path: &Path| path.strip_prefix(folder.path()).expect("in it").display().to_string();
        let edges = uses.iter().flat_map(|(from, to)| to.keys().map(move |to| (from, to)));
        edges.map(|(from, to)| format!("{} -> {}", short(from), short(to))).collect()
    }

    #[test]
    fn a_use_leads_to_the_definition_behind_re_exports() {
        let edges = crate_of(&[
            ("lib.rs", "mod a; mod b; pub use b::*;"),
            ("a.rs", "use crate::Thing; fn f(_: Thing) {}"),
            ("b/mod.rs", "mod c; pub use c::{self as d, Thing};"),
            ("b/c.rs", "pub struct Thing; #[cfg(test)] mod tests { use crate::a::f; }"),
        ]);
        assert_eq!(edges, ["a.rs -> b/c.rs"]);
    }

    #[test]
    fn who_may_see_an_item_is_no_use() {
        let edges = crate_of(&[
            ("lib.rs", "mod a; pub fn f() { a::g(); }"),
            ("a.rs", "pub(super) fn g() {} pub(in crate::a) struct S { pub(crate) n: u32 }"),
        ]);
        assert_eq!(edges, ["lib.rs -> a.rs"]);
    }

    #[test]
    fn paths_in_code_count_and_inline_modules_are_their_file() {
        let edges = crate_of(&[
            ("lib.rs", "mod a; mod b; pub struct Root;"),
            ("a.rs", "pub mod inner { pub fn g() { super::super::b::h(); std::mem::drop(1); } }"),
            ("b.rs", "pub fn h() { use super::a::inner; inner::g(); let _ = super::Root; }"),
        ]);
        assert_eq!(edges, ["a.rs -> b.rs", "b.rs -> a.rs", "b.rs -> lib.rs"]);
    }
}
