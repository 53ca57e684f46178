//! Source files that debug locations name, each read once; and whether they are still what was
//! compiled.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use phalanx::report::check::{LinedText, SourceFile, Sources};

use crate::{input::Source, md5::md5};

/// A file that is larger is not shown.
const MAX_BYTES: u64 = 1 << 26;

/// Reads files when they are asked for.
#[derive(Default)]
pub(crate) struct Files {
    known: Mutex<BTreeMap<(String, String), Option<Known>>>,
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
        // What was compiled just now cannot be older than its source.
        let time = || std::fs::metadata(&source.name).and_then(|module| module.modified()).ok();
        let made = if source.compiled.is_some() { None } else { time() };
        FilesOf { files: self, made }
    }

    /// Files may have changed.
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
        // As named from here, or from where the compiler ran.
        let paths = [PathBuf::from(&place.file), Path::new(&place.folder).join(&place.file)];
        let found = paths.iter().find_map(|path| {
            let metadata = std::fs::metadata(path).ok()?;
            let is_text = metadata.is_file() && metadata.len() <= MAX_BYTES;
            let bytes = std::fs::read(path).ok().filter(|_| is_text)?;
            Some(Known {
                checksum: md5(&bytes).into(),
                text: Arc::new(LinedText::new(bytes)),
                modified: metadata.modified().ok(),
            })
        });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert(found).clone()
    }
}

/// The files that one module was compiled from.
#[derive(Clone, Copy)]
pub(crate) struct FilesOf<'a> {
    files: &'a Files,
    /// When the module was made, if it was made before.
    made: Option<SystemTime>,
}

impl FilesOf<'_> {
    /// By its checksum, or where there is none by its time.
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
