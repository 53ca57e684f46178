//! Source files that debug locations name, each read once.

use std::{cell::RefCell, collections::BTreeMap, path::Path, sync::Arc};

use phalanx::report::check::Sources;

/// A file that is larger is not shown.
const MAX_BYTES: u64 = 1 << 26;

/// A text, or that there is none.
type Text = Option<Arc<Vec<u8>>>;

/// Reads files when they are asked for.
#[derive(Default)]
pub(super) struct Files {
    known: RefCell<BTreeMap<(String, String), Text>>,
}

impl Files {
    /// Files may have changed.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
    }
}

impl Sources for Files {
    fn text(&self, file: &str, folder: &str) -> Text {
        let key = (file.to_owned(), folder.to_owned());
        let mut known = self.known.borrow_mut();
        let read = || {
            // As named from here, or from where the compiler ran.
            let paths = [Path::new(file).to_owned(), Path::new(folder).join(file)];
            paths.iter().find_map(|path| {
                let metadata = std::fs::metadata(path).ok()?;
                let is_text = metadata.is_file() && metadata.len() <= MAX_BYTES;
                std::fs::read(path).ok().filter(|_| is_text).map(Arc::new)
            })
        };
        known.entry(key).or_insert_with(read).clone()
    }
}
