//! Finds the clang to run: the one that is named, or the newest supported one on PATH.
//!
//! Debian names compilers by their version (`clang-22`), others do not. So names with a version are
//! tried first, from the newest on, then `clang`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Digest, Hasher, SourceError};

/// The newest version whose IR is read.
const NEWEST: u32 = 22;
/// The oldest: the first whose pointers are all opaque.
const OLDEST: u32 = 15;

/// A clang.
#[derive(Clone, Debug)]
pub struct Compiler {
    path: PathBuf,
    major: u32,
    version: String,
    identity: Digest,
}

impl Compiler {
    /// The compiler at a path, or the newest one that is installed and supported.
    ///
    /// # Errors
    /// If there is none, or if the named program is no supported clang.
    pub fn find(named: Option<&Path>) -> Result<Compiler, SourceError> {
        if let Some(path) = named {
            let path = match path.components().count() {
                1 => on_path(&path.to_string_lossy()).unwrap_or_else(|| path.to_owned()),
                _ => path.to_owned(),
            };
            return Compiler::ask(&path);
        }
        let mut unusable = None;
        let names = (OLDEST..=NEWEST).rev().map(|major| format!("clang-{major}"));
        for name in names.chain(["clang".to_owned()]) {
            let Some(path) = on_path(&name) else { continue };
            match Compiler::ask(&path) {
                Ok(compiler) => return Ok(compiler),
                Err(error) => unusable = Some(error),
            }
        }
        Err(unusable.unwrap_or_else(|| SourceError::NoClang {
            looked_for: format!("clang-{NEWEST} down to clang-{OLDEST}, and clang"),
        }))
    }

    /// Asks a program for its version.
    fn ask(path: &Path) -> Result<Compiler, SourceError> {
        let failed = |error| SourceError::Run { program: path.to_owned(), error };
        let wrong = |what: String| SourceError::Compiler { path: path.to_owned(), what };
        let output = Command::new(path).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let first = text.lines().next().unwrap_or_default();
        let (major, version) = version_of(first).ok_or_else(|| {
            wrong(format!("`--version` does not say that it is clang: `{first}`"))
        })?;
        if !(OLDEST..=NEWEST).contains(&major) {
            return Err(wrong(format!(
                "clang {version} is not supported: {OLDEST} to {NEWEST} are"
            )));
        }
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let identity = identity_of(&real, &output.stdout);
        Ok(Compiler { path: path.to_owned(), major, version, identity })
    }

    /// The program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first number of its version.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.major
    }

    /// Its name and version, for people: `clang 22.1.8`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("clang {}", self.version)
    }

    /// A digest that distinguishes it from other compilers and from other builds of its version.
    #[must_use]
    pub fn identity(&self) -> Digest {
        self.identity
    }

    /// A tool of the same version: `llvm-dis` beside the compiler, or `llvm-dis-22` on PATH.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        let real = fs::canonicalize(&self.path).ok();
        let beside = real.and_then(|path| Some(path.parent()?.join(name)));
        let beside = beside.filter(|path| path.is_file());
        beside.or_else(|| on_path(&format!("{name}-{}", self.major)))
    }

    /// The folder with the compiler's own headers and libraries.
    #[must_use]
    pub fn resource_folder(&self) -> Option<PathBuf> {
        let output = Command::new(&self.path).arg("-print-resource-dir").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(PathBuf::from(text.trim_end()))
    }
}

/// Path, version, file size and modification time identify a program: a replaced program hardly
/// ever has the same time.
fn identity_of(program: &Path, version: &[u8]) -> Digest {
    let metadata = fs::metadata(program).ok();
    let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
    Hasher::default()
        .with(program.to_string_lossy().as_bytes())
        .with(version)
        .with(format!("{:?} {modified:?}", metadata.map(|metadata| metadata.len())).as_bytes())
        .finish()
}

/// `Debian clang version 22.1.8 (1~deb12u1)`
fn version_of(line: &str) -> Option<(u32, String)> {
    let (_, rest) = line.split_once("clang version ")?;
    let version = rest.split(|c: char| c.is_whitespace() || c == '-' || c == '+').next()?;
    let major = version.split('.').next()?.parse().ok()?;
    Some((major, version.to_owned()))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let of = |line| version_of(line).map(|(major, version)| format!("{major} {version}"));
        let debian = "Debian clang version 22.1.8 (1~deb12u1)";
        assert_eq!(of(debian).as_deref(), Some("22 22.1.8"));
        assert_eq!(of("clang version 19.1.0-rc2").as_deref(), Some("19 19.1.0"));
        let amd = "AMD clang version 18.0.0git (https://x roc-6.2.0)";
        assert_eq!(of(amd).as_deref(), Some("18 18.0.0git"));
        assert_eq!(of("gcc (Debian 12.2.0) 12.2.0"), None);
    }

    #[test]
    fn a_program_that_is_no_clang() {
        let error = Compiler::find(Some(Path::new("/bin/true"))).expect_err("it is not clang");
        assert!(error.to_string().contains("does not say that it is clang"), "{error}");
        let error = Compiler::find(Some(Path::new("/no/such/clang"))).expect_err("not there");
        assert!(error.to_string().starts_with("cannot run /no/such/clang: "), "{error}");
    }
}
