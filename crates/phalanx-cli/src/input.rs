//! Reading files and standard input.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use crate::file_kind;

/// Text of a file and what it is called in messages.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: Vec<u8>,
}

/// The largest file: offsets in a source map have 32 bits.
const MAX_BYTES: u64 = u32::MAX as u64;

/// Reads a file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> anyhow::Result<Source> {
    let from_stdin = is_stdin(path);
    let name = if from_stdin { "<stdin>".to_owned() } else { path.display().to_string() };
    let mut text = Vec::new();
    if from_stdin {
        std::io::stdin()
            .lock()
            .take(MAX_BYTES + 1)
            .read_to_end(&mut text)
            .context("cannot read standard input")?;
    } else {
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        if let Ok(metadata) = file.metadata() {
            if metadata.is_dir() {
                bail!("cannot read {name}: it is a folder");
            }
            text.reserve_exact(metadata.len().min(MAX_BYTES) as usize + 1);
        }
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut text)
            .with_context(|| format!("cannot read {name}"))?;
    }
    if text.len() as u64 > MAX_BYTES {
        bail!("{name} is larger than 4 GiB");
    }
    if let Some(what) = file_kind::recognize(&text) {
        bail!("{name} is {what}");
    }
    Ok(Source { name, text })
}

/// Refuses paths that name standard input more than once: it is empty the second time.
pub(crate) fn read_stdin_once<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> anyhow::Result<()> {
    if paths.into_iter().filter(|path| is_stdin(path)).count() > 1 {
        bail!("standard input (`-`) can be read only once");
    }
    Ok(())
}

/// Whether a path stands for standard input or output.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}
