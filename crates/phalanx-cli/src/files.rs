//! Source files that debug locations name, each read once; and whether they have changed since they
//! were compiled.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use phalanx::report::check::{LinedText, SourceFile, Sources};

use crate::{input::Source, md5::md5};

/// A larger file is not shown.
const MAX_BYTES: u64 = 1 << 26;

/// Reads files on demand.
#[derive(Default)]
pub(crate) struct Files {
    known: Mutex<BTreeMap<(String, String), Option<Known>>>,
    /// The full name of a file, and a text that replaces its contents.
    changed: Option<(PathBuf, Vec<u8>)>,
}

#[derive(Clone)]
struct Known {
    text: Arc<LinedText<'static>>,
    checksum: Arc<str>,
    modified: Option<SystemTime>,
}

impl Files {
    /// The files that a module was compiled from.
    pub(crate) fn of(&self, source: &Source) -> FilesOf<'_> {
        // A module that was compiled just now cannot be older than its source.
        let time = || std::fs::metadata(&source.name).and_then(|module| module.modified()).ok();
        let made = if source.compiled.is_some() { None } else { time() };
        FilesOf { files: self, made }
    }

    /// Files, with the text of one file replaced.
    pub(crate) fn with_changed(path: PathBuf, text: Vec<u8>) -> Files {
        Files { changed: Some((path, text)), ..Files::default() }
    }

    /// What is in a file, where that is a file and not too large.
    fn read(&self, path: &Path) -> Option<(Vec<u8>, Option<SystemTime>)> {
        let metadata = std::fs::metadata(path).ok()?;
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return None;
        }
        let full = self.changed.as_ref().and_then(|_| std::fs::canonicalize(path).ok());
        let bytes = match &self.changed {
            Some((changed, text)) if Some(changed) == full.as_ref() => text.clone(),
            _ => std::fs::read(path).ok()?,
        };
        Some((bytes, metadata.modified().ok()))
    }

    /// Forgets all contents, since files may have changed.
    pub(crate) fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn get(&self, place: &SourceFile) -> Option<Known> {
        let key = (place.file.clone(), place.folder.clone());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return known.clone();
        }
        drop(known);
        // Relative to the current folder, or to the folder in which the compiler ran.
        let paths = [PathBuf::from(&place.file), Path::new(&place.folder).join(&place.file)];
        let found = paths.iter().find_map(|path| {
            let (bytes, modified) = self.read(path)?;
            let checksum = md5(&bytes).into();
            Some(Known { checksum, text: Arc::new(LinedText::new(bytes)), modified })
        });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert(found).clone()
    }
}

/// The files that one module was compiled from.
#[derive(Clone, Copy)]
pub(crate) struct FilesOf<'a> {
    files: &'a Files,
    /// The time of the module, if it was made by an earlier compilation.
    made: Option<SystemTime>,
}

impl FilesOf<'_> {
    /// By the checksum of the file, or if there is none by its time.
    fn has_changed(&self, place: &SourceFile, known: &Known) -> bool {
        match place.checksum.as_str() {
            "" => known.modified.zip(self.made).is_some_and(|(file, module)| file > module),
            checksum => !checksum.eq_ignore_ascii_case(&known.checksum),
        }
    }
}

impl Sources for FilesOf<'_> {
    fn text(&self, place: &SourceFile) -> Option<Arc<LinedText<'static>>> {
        let known = self.files.get(place)?;
        (!self.has_changed(place, &known)).then_some(known.text)
    }

    fn is_stale(&self, place: &SourceFile) -> bool {
        self.files.get(place).is_some_and(|known| self.has_changed(place, &known))
    }
}
