//! The database: salsa's storage, and the log of what ran.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

use crate::FunctionInput;

/// What the database did with a memo.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Did {
    /// The query ran.
    Run,
    /// Its inputs were looked at and the memo was found valid.
    Validate,
}

/// One line of the event log: what happened, the query's name, the number of its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogEntry {
    /// Ran, or was validated.
    pub did: Did,
    /// Name of the query.
    pub query: String,
    /// The key: for a query on a function, the number of its [`crate::FunctionInput`].
    pub key: salsa::Id,
}

/// Inputs of functions that were removed, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Free {
    list: Vec<FunctionInput>,
    /// The same ones: each is given out once.
    set: FxHashSet<FunctionInput>,
}

impl Free {
    pub(crate) fn push(&mut self, input: FunctionInput) {
        if self.set.insert(input) {
            self.list.push(input);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<FunctionInput> {
        let input = self.list.pop()?;
        self.set.remove(&input);
        Some(input)
    }

    pub(crate) fn contains(&self, input: FunctionInput) -> bool {
        self.set.contains(&input)
    }
}

type RawLog = Arc<Mutex<Vec<(Did, salsa::DatabaseKeyIndex)>>>;

/// All inputs and memos of one compilation.
///
/// A clone is another handle on the same data, for another thread: queries may run on all handles at once. A change
/// of an input waits until it is the only handle left, so a thread must drop its clones before it edits.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    log: Option<RawLog>,
    free: Arc<Mutex<Free>>,
}

#[salsa::db]
impl salsa::Database for Database {}

impl Database {
    /// An empty database.
    pub fn new() -> Self {
        Database { storage: salsa::Storage::new(None), log: None, free: Arc::default() }
    }

    /// An empty database that records which queries run and which memos are validated: for tests of incrementality.
    pub fn with_event_log() -> Self {
        let log = RawLog::default();
        let sink = Arc::clone(&log);
        let callback = move |event: salsa::Event| {
            let entry = match event.kind {
                salsa::EventKind::WillExecute { database_key } => (Did::Run, database_key),
                salsa::EventKind::DidValidateMemoizedValue { database_key } => {
                    (Did::Validate, database_key)
                }
                _ => return,
            };
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        };
        let storage = salsa::Storage::new(Some(Box::new(callback)));
        Database { storage, log: Some(log), free: Arc::default() }
    }

    /// Whether a function was removed from its module.
    pub(crate) fn is_removed(&self, function: FunctionInput) -> bool {
        self.free().contains(function)
    }

    pub(crate) fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happened since the last call, in order; empty for a database without a log.
    pub fn take_log(&self) -> Vec<LogEntry> {
        let Some(log) = &self.log else { return Vec::new() };
        let raw = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
        raw.into_iter()
            .map(|(did, key)| LogEntry {
                did,
                query: salsa::Database::ingredient_debug_name(self, key.ingredient_index())
                    .into_owned(),
                key: key.key_index(),
            })
            .collect()
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}
