//! The kernel sources and their manifest, `kernels/kernels.toml`.
//!
//! A [`Variant`] is one way to compile one source: a target, a level, with or without debug
//! information. The output of clang is cached in a folder of the caller's choice, under a name with
//! a fingerprint of all inputs. So a second request, in this process or a later one, costs nothing,
//! and an edited kernel is compiled again.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, bail};
use phalanx_testing::llvm_tools::{self, Program};

/// The manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    folder: PathBuf,
    compiler: String,
    common: Vec<String>,
    levels: Vec<String>,
    debug: Vec<String>,
    kernels: Vec<Kernel>,
    fingerprint: u64,
}

/// A source.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Kernel {
    file: String,
    language: String,
    /// Name of each target and its flags, those of language and kernel included.
    targets: Vec<(String, Vec<String>)>,
}

/// One way to compile one source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The source, relative to the folder of the manifest.
    pub file: String,
    /// `amdgcn` or `nvptx`.
    pub target: String,
    /// `-O0` and so on.
    pub level: String,
    /// With debug information.
    pub debug: bool,
    name: String,
    arguments: Vec<String>,
}

impl Variant {
    /// `<stem>.<target>.<language>.O<n>[.g]`
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same at another level of optimization, whether the manifest lists it or not.
    #[must_use]
    pub fn at_level(&self, level: &str) -> Variant {
        let replaced = |text: &String| match *text == self.level {
            true => level.to_owned(),
            false => text.clone(),
        };
        Variant {
            name: self.name.replace(&self.level.replace('-', "."), &level.replace('-', ".")),
            arguments: self.arguments.iter().map(replaced).collect(),
            level: level.to_owned(),
            ..self.clone()
        }
    }
}

impl Manifest {
    /// Reads the manifest of this crate.
    ///
    /// # Errors
    /// It is missing or not as its comments say.
    pub fn read() -> anyhow::Result<Manifest> {
        Manifest::read_from(&crate::folder().join("kernels"))
    }

    /// Reads the manifest of the sources on which `phalanx check` is tested.
    ///
    /// # Errors
    /// As [`Manifest::read`].
    pub fn read_checks() -> anyhow::Result<Manifest> {
        Manifest::read_from(&crate::folder().join("check"))
    }

    /// The folder that files are named from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn read_from(folder: &Path) -> anyhow::Result<Manifest> {
        let path = folder.join("kernels.toml");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let table: toml::Table = text.parse()?;
        let languages =
            table.get("language").and_then(toml::Value::as_table).context("no [language]")?;
        let listed =
            table.get("kernel").and_then(toml::Value::as_array).context("no [[kernel]]")?;
        let mut kernels = Vec::new();
        for entry in listed {
            let entry = entry.as_table().context("[[kernel]] is no table")?;
            kernels.push(kernel(entry, languages)?);
        }
        Ok(Manifest {
            folder: folder.to_owned(),
            compiler: string(&table, "compiler")?,
            common: strings(&table, "common")?,
            levels: strings(&table, "levels")?,
            debug: strings(&table, "debug")?,
            kernels,
            fingerprint: fingerprint_of_folder(folder)?,
        })
    }

    /// Every kernel for each of its targets at each level, without and with debug information.
    #[must_use]
    pub fn variants(&self) -> Vec<Variant> {
        let mut out = Vec::new();
        for kernel in &self.kernels {
            for target in 0..kernel.targets.len() {
                for level in 0..self.levels.len() {
                    out.extend(
                        [false, true].map(|debug| self.variant(kernel, target, level, debug)),
                    );
                }
            }
        }
        out
    }

    /// One way for each kernel, such that all targets, levels and kinds of debug information occur.
    #[must_use]
    pub fn sample(&self) -> Vec<Variant> {
        let ways = self.levels.len() * 2;
        let pick = |(number, kernel): (usize, &Kernel)| {
            let way = number % ways;
            let target = (number / ways) % kernel.targets.len();
            self.variant(kernel, target, way / 2, way % 2 == 1)
        };
        self.kernels.iter().enumerate().map(pick).collect()
    }

    fn variant(&self, kernel: &Kernel, target: usize, level: usize, debug: bool) -> Variant {
        let (target, flags) = &kernel.targets[target];
        let level = &self.levels[level];
        let stem = Path::new(&kernel.file).file_stem().unwrap_or_default().to_string_lossy();
        let suffix = if debug { ".g" } else { "" };
        let mut arguments = self.common.clone();
        arguments.extend(flags.iter().cloned());
        arguments.push(level.clone());
        if debug {
            arguments.extend(self.debug.iter().cloned());
        }
        Variant {
            file: kernel.file.clone(),
            target: target.clone(),
            level: level.clone(),
            debug,
            name: format!(
                "{stem}.{target}.{}.{}{suffix}",
                kernel.language,
                level.trim_start_matches('-')
            ),
            arguments,
        }
    }

    /// The compiler, if it is installed; otherwise reports that something is skipped.
    #[must_use]
    pub fn compiler(&self) -> Option<Program> {
        llvm_tools::require(self.compiler.trim_end_matches("-22"))
    }

    /// The IR of the variant, as a file in `folder`.
    ///
    /// # Errors
    /// The compiler refuses the source or the folder cannot be written.
    pub fn compile(
        &self,
        compiler: &Program,
        variant: &Variant,
        folder: &Path,
    ) -> anyhow::Result<PathBuf> {
        static TICKET: AtomicUsize = AtomicUsize::new(0);
        let fingerprint = fxhash::hash64(&(self.fingerprint, &variant.arguments, &variant.file));
        let output = folder.join(format!("{}.{fingerprint:016x}.ll", variant.name));
        if output.is_file() {
            return Ok(output);
        }
        fs::create_dir_all(folder)?;
        // Another process may create the same file at this time: the file gets its name only when
        // it is complete.
        let ticket = TICKET.fetch_add(1, Ordering::Relaxed);
        let partial =
            folder.join(format!("{}.{}.{ticket}.partial", variant.name, std::process::id()));
        let last = ["-o".to_owned(), partial.display().to_string(), variant.file.clone()];
        let arguments = variant.arguments.iter().chain(&last);
        let outcome =
            compiler.run_in(Some(&self.folder), arguments, &[], llvm_tools::TIME_LIMIT)?;
        if !outcome.success() {
            bail!("{} does not compile: {}", variant.name, outcome.errors());
        }
        fs::rename(&partial, &output)?;
        Ok(output)
    }
}

fn kernel(entry: &toml::Table, languages: &toml::Table) -> anyhow::Result<Kernel> {
    let file = string(entry, "file")?;
    let language = string(entry, "language")?;
    let of_language = languages
        .get(&language)
        .and_then(toml::Value::as_table)
        .with_context(|| format!("{file}: no [language.{language}]"))?;
    let of_targets = of_language
        .get("targets")
        .and_then(toml::Value::as_table)
        .with_context(|| format!("no [language.{language}.targets]"))?;
    let own = if entry.contains_key("flags") { strings(entry, "flags")? } else { Vec::new() };
    let mut targets = Vec::new();
    for target in strings(entry, "targets")? {
        let mut flags = strings(of_language, "flags")?;
        flags.extend(strings(of_targets, &target).with_context(|| file.clone())?);
        flags.extend(own.iter().cloned());
        targets.push((target, flags));
    }
    if targets.is_empty() {
        bail!("{file}: no targets");
    }
    Ok(Kernel { file, language, targets })
}

fn string(table: &toml::Table, key: &str) -> anyhow::Result<String> {
    let value = table.get(key).and_then(toml::Value::as_str);
    value.map(str::to_owned).with_context(|| format!("`{key}` is missing or no string"))
}

fn strings(table: &toml::Table, key: &str) -> anyhow::Result<Vec<String>> {
    let list = table.get(key).and_then(toml::Value::as_array);
    let list = list.with_context(|| format!("`{key}` is missing or no list"))?;
    let texts: Option<Vec<String>> =
        list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    texts.with_context(|| format!("`{key}` holds something besides strings"))
}

/// A fingerprint of the names and contents of sources and headers, since a kernel may include any
/// header.
fn fingerprint_of_folder(folder: &Path) -> anyhow::Result<u64> {
    let mut files = Vec::new();
    for language in fs::read_dir(folder)? {
        let path = language?.path();
        if path.is_dir() {
            for file in fs::read_dir(path)? {
                files.push(file?.path());
            }
        }
    }
    files.sort();
    let mut contents = Vec::new();
    for file in files {
        contents.push((file.file_name().map(ToOwned::to_owned), fs::read(&file)?));
    }
    Ok(fxhash::hash64(&contents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_listed_once_and_exists() {
        let manifest = Manifest::read().expect("manifest");
        let mut files: Vec<&str> =
            manifest.kernels.iter().map(|kernel| kernel.file.as_str()).collect();
        assert!(files.len() >= 25, "{} kernels", files.len());
        for file in &files {
            assert!(manifest.folder.join(file).is_file(), "{file}");
        }
        files.sort_unstable();
        let mut present = Vec::new();
        for (language, extension) in [("cuda", "cu"), ("opencl", "cl")] {
            for entry in fs::read_dir(manifest.folder.join(language)).expect("folder") {
                let path = entry.expect("entry").path();
                if path.extension().is_some_and(|e| e == extension) {
                    present
                        .push(format!("{language}/{}", path.file_name().expect("file").display()));
                }
            }
        }
        present.sort();
        assert_eq!(files, present);
    }

    #[test]
    fn variants_have_names_of_their_own_and_the_sample_has_every_kind() {
        let manifest = Manifest::read().expect("manifest");
        let variants = manifest.variants();
        let mut names: Vec<&str> = variants.iter().map(Variant::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), variants.len());
        let sample = manifest.sample();
        assert_eq!(sample.len(), manifest.kernels.len());
        for target in ["amdgcn", "nvptx"] {
            for level in &manifest.levels {
                for debug in [false, true] {
                    let found = sample
                        .iter()
                        .any(|v| v.target == target && v.level == *level && v.debug == debug);
                    assert!(found, "{target} {level} {debug}");
                }
            }
        }
    }

    #[test]
    fn a_broken_manifest_is_an_error_that_says_where() {
        let entry: toml::Table =
            "file = 'a.cl'\nlanguage = 'x'\ntargets = ['t']".parse().expect("toml");
        let none = toml::Table::new();
        let error = kernel(&entry, &none).expect_err("no such language");
        assert_eq!(error.to_string(), "a.cl: no [language.x]");
        let languages: toml::Table =
            "[x]\nflags = ['-x', 3]\n[x.targets]\nt = []".parse().expect("toml");
        let error = kernel(&entry, &languages).expect_err("3 is no string");
        assert_eq!(error.to_string(), "`flags` holds something besides strings");
    }
}
