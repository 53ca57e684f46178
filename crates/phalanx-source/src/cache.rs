//! A cache of compilation results, keyed by the content of all inputs.
//!
//! An entry is a file named by a digest. It holds the digests of the files that were read when it
//! was made, then a payload, then the digest of all that. An entry counts as absent if it is
//! damaged or truncated, or if one of those files has changed. Entries are written under another
//! name and then moved, so that two programs may share a folder. The size of the folder is bounded:
//! the least recently used entries are removed first. Failures are never reported: without a cache
//! everything is compiled again.
//!
//! ```text
//! phalanx-cache 1
//! 5d0c…  kernel.cu          the files that were read
//! 88a1…  include/tile.h
//!
//! …                         the payload
//! 1f3e…                     the digest of everything before
//! ```

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::SystemTime,
};

use crate::{Digest, FileDigests};

/// The first line of an entry.
const HEAD: &str = "phalanx-cache 1\n";
/// How many characters a digest has.
const DIGEST: usize = 32;
/// The size limit of a folder, in bytes, unless another one is given.
const BYTES: u64 = 1 << 30;

/// A folder with entries.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    bytes: u64,
}

/// A stored result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The files that were read, each with the digest of its content.
    pub reads: Vec<(PathBuf, Digest)>,
    /// The result.
    pub payload: Vec<u8>,
}

impl Cache {
    /// The cache in a folder, or in the system's place for caches (`XDG_CACHE_HOME`, else
    /// `~/.cache`); none if the folder cannot be made.
    #[must_use]
    pub fn open(folder: Option<&Path>) -> Option<Cache> {
        let usual = || {
            let base = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
            let base = base.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
            base.map(|base| base.join("phalanx"))
        };
        let folder = folder.map(Path::to_owned).or_else(usual)?;
        fs::create_dir_all(&folder).ok()?;
        // Names in entries and in debug information must not depend on the current folder.
        let folder = fs::canonicalize(folder).ok()?;
        Some(Cache { folder, bytes: BYTES })
    }

    /// The same cache with another size limit.
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> Cache {
        Cache { bytes, ..self }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, key: Digest) -> PathBuf {
        let name = key.to_string();
        self.folder.join(&name[..2]).join(format!("{}.entry", &name[2..]))
    }

    /// The entry of a key, if none of its inputs has changed.
    #[must_use]
    pub fn get(&self, key: Digest, files: &FileDigests) -> Option<Entry> {
        let path = self.path(key);
        let entry = parse(&fs::read(&path).ok()?)?;
        let is_same = |(path, digest): &(PathBuf, Digest)| files.of(path) == Some(*digest);
        if !entry.reads.iter().all(is_same) {
            return None;
        }
        // Marks the entry as used now, for `trim`.
        if let Ok(file) = fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(entry)
    }

    /// Stores an entry. Errors are ignored.
    pub fn put(&self, key: Digest, entry: &Entry) {
        let path = self.path(key);
        if let (Some(folder), Some(bytes)) = (path.parent(), render(entry))
            && fs::create_dir_all(folder).is_ok()
        {
            let _ = write_atomically(&path, &bytes);
        }
    }

    /// Removes the least recently used entries until the size is within the bound.
    pub fn trim(&self) {
        let mut all = Vec::new();
        let mut total = 0;
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for folder in folders.filter(|folder| folder.file_name().len() == 2) {
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let Ok(metadata) = file.metadata() else { continue };
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                total += metadata.len();
                all.push((used, file.path(), metadata.len()));
            }
        }
        if total <= self.bytes {
            return;
        }
        all.sort();
        // Removes a little more than necessary, so that not every new entry causes a removal.
        for (_, path, bytes) in all {
            if total <= self.bytes / 10 * 9 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
    }
}

fn render(entry: &Entry) -> Option<Vec<u8>> {
    let mut out = HEAD.to_owned();
    for (path, digest) in &entry.reads {
        let path = path.to_str().filter(|path| !path.contains('\n'))?;
        out += &format!("{digest} {path}\n");
    }
    out.push('\n');
    let mut out = out.into_bytes();
    out.extend_from_slice(&entry.payload);
    let digest = Digest::of(&out);
    out.extend_from_slice(digest.to_string().as_bytes());
    Some(out)
}

fn parse(bytes: &[u8]) -> Option<Entry> {
    let (body, end) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
    let digest = Digest::parse(std::str::from_utf8(end).ok()?)?;
    if Digest::of(body) != digest {
        return None;
    }
    let mut rest = body.strip_prefix(HEAD.as_bytes())?;
    let mut reads = Vec::new();
    loop {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        rest = &rest[end + 1..];
        if line.is_empty() {
            return Some(Entry { reads, payload: rest.to_vec() });
        }
        let (digest, path) = line.split_at_checked(DIGEST)?;
        reads.push((PathBuf::from(path.strip_prefix(' ')?), Digest::parse(digest)?));
    }
}

/// Writes a file so that other programs see all of it or nothing.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let other = path.with_extension(format!("{}-{count}.tmp", process::id()));
    let written = fs::write(&other, bytes).and_then(|()| fs::rename(&other, path));
    if written.is_err() {
        let _ = fs::remove_file(&other);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(reads: &[&Path], payload: &[u8]) -> Entry {
        let digest = |path: &Path| Digest::of(&fs::read(path).expect("file"));
        let reads = reads.iter().map(|path| (path.to_path_buf(), digest(path))).collect();
        Entry { reads, payload: payload.to_vec() }
    }

    #[test]
    fn an_entry_holds_while_what_was_read_stays() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::open(Some(&folder.path().join("cache"))).expect("cache");
        let source = folder.path().join("k.cu");
        fs::write(&source, "a").expect("source");
        let (key, stored) = (Digest::of(b"key"), entry(&[&source], b"define\n\nx"));
        cache.put(key, &stored);
        assert_eq!(cache.get(key, &FileDigests::default()), Some(stored));
        assert_eq!(cache.get(Digest::of(b"other"), &FileDigests::default()), None);
        fs::write(&source, "b").expect("source");
        assert_eq!(cache.get(key, &FileDigests::default()), None);
        fs::remove_file(&source).expect("source");
        assert_eq!(cache.get(key, &FileDigests::default()), None);
    }

    #[test]
    fn a_damaged_entry_is_not_there() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::open(Some(folder.path())).expect("cache");
        let key = Digest::of(b"key");
        cache.put(key, &entry(&[], b"payload"));
        let path = cache.path(key);
        let good = fs::read(&path).expect("entry");
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).expect("entry");
            assert_eq!(cache.get(key, &FileDigests::default()), None, "cut to {length}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, bad).expect("entry");
            assert_eq!(cache.get(key, &FileDigests::default()), None, "changed at {at}");
        }
        fs::write(&path, good).expect("entry");
        assert!(cache.get(key, &FileDigests::default()).is_some());
    }

    #[test]
    fn its_size_is_bounded() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::open(Some(folder.path())).expect("cache").with_bytes(5000);
        let key = |number: u32| Digest::of(&number.to_le_bytes());
        for number in 0..10 {
            cache.put(key(number), &entry(&[], &[b'x'; 900]));
            let file = fs::File::options().append(true).open(cache.path(key(number)));
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number.into());
            file.expect("entry").set_modified(time).expect("time");
        }
        // The oldest entry is used once more.
        assert!(cache.get(key(0), &FileDigests::default()).is_some());
        cache.trim();
        let kept = (0..10).filter(|&n| cache.get(key(n), &FileDigests::default()).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), [0, 7, 8, 9]);
    }

    #[test]
    fn many_write_one_entry() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::open(Some(folder.path())).expect("cache");
        let (key, stored) = (Digest::of(b"key"), entry(&[], &[7; 100_000]));
        cache.put(key, &stored);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        cache.put(key, &stored);
                        let found = cache.get(key, &FileDigests::default());
                        assert!(found.is_some_and(|found| found == stored));
                    }
                });
            }
        });
        let left = fs::read_dir(cache.path(key).parent().expect("folder")).expect("folder").count();
        assert_eq!(left, 1, "no file is left behind");
    }
}
