//! Source files that debug locations name, each read once; and whether they are still what was
//! compiled.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use phalanx::report::check::{LinedText, SourceFile, Sources};

use super::md5::md5;

/// A file that is larger is not shown.
const MAX_BYTES: u64 = 1 << 26;

/// Reads files when they are asked for.
#[derive(Default)]
pub(super) struct Files {
    known: Mutex<BTreeMap<(String, String), Option<Known>>>,
}

#[derive(Clone)]
struct Known {
    text: Arc<LinedText<'static>>,
    checksum: Arc<str>,
    modified: Option<SystemTime>,
}

impl Files {
    /// Files may have changed.
    pub(super) fn forget(&self) {
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
pub(super) struct FilesOf<'a> {
    pub(super) files: &'a Files,
    /// When the module was made, if it was made before.
    pub(super) made: Option<SystemTime>,
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
