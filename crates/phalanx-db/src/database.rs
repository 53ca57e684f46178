//! The database: salsa's storage, and the log of what ran.

use std::sync::{Arc, Mutex, PoisonError};

use salsa::Revision;

use crate::{
    FunctionInput, edit_log::EditLog, handles::Handles, module_facts::FactsByModule,
    presence::Presence,
};

/// What the database did with a memo.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Did {
    /// The query ran.
    Run,
    /// Salsa checked its inputs and found the memo valid.
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
    pub key: Id,
}

/// The number of what a query is about. Equal numbers in one database mean the same thing.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id(pub(crate) salsa::Id);

type RawLog = Arc<Mutex<Vec<(Did, salsa::DatabaseKeyIndex)>>>;

/// All inputs and memos of one compilation.
///
/// A clone is another handle on the same data, for another thread: queries may run on all handles
/// at once. A change of an input waits until it is the only handle left, so a thread must drop its
/// clones before it edits.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    log: Option<RawLog>,
    presence: Arc<Presence>,
    edits: Arc<EditLog<FunctionInput>>,
    module_facts: Arc<FactsByModule>,
    /// Whether the commit of an edit runs the verifier, unless the edit says otherwise.
    pub(crate) verifies_edits: bool,
    /// Dropped last: when it is gone, so is the handle on the storage.
    handles: Handles,
}

#[salsa::db]
impl salsa::Database for Database {}

impl Database {
    /// An empty database.
    pub fn new() -> Self {
        Self::over(salsa::Storage::new(None), None)
    }

    /// An empty database that records which queries run and which memos are validated: for tests of
    /// incrementality.
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
        Self::over(storage, Some(log))
    }

    fn over(storage: salsa::Storage<Self>, log: Option<RawLog>) -> Self {
        Database {
            storage,
            log,
            presence: Arc::default(),
            edits: Arc::default(),
            module_facts: Arc::default(),
            verifies_edits: cfg!(debug_assertions),
            handles: Handles::default(),
        }
    }

    pub(crate) fn presence(&self) -> &Presence {
        &self.presence
    }

    pub(crate) fn edits(&self) -> &EditLog<FunctionInput> {
        &self.edits
    }

    /// The present revision.
    pub(crate) fn revision(&self) -> Revision {
        salsa::plumbing::current_revision(self)
    }

    /// Functions whose flow or body were edited since a revision, perhaps more than once;
    /// none if anything else may have changed.
    pub(crate) fn edited_since(&self, revision: Revision) -> Option<Vec<FunctionInput>> {
        self.edits().between(revision, self.revision())
    }

    /// Where [`queries::module_divergent_branches`](crate::queries::module_divergent_branches) and
    /// [`queries::rounds_around`](crate::queries::rounds_around) have facts between questions.
    pub(crate) fn module_facts(&self) -> &FactsByModule {
        &self.module_facts
    }

    pub(crate) fn handles(&self) -> &Handles {
        &self.handles
    }

    /// Says whether the commit of an edit runs the verifier on its function. It does where debug
    /// assertions are on, unless this says otherwise. An edit may still say otherwise for itself.
    pub fn set_verifying_edits(&mut self, verifies: bool) {
        self.verifies_edits = verifies;
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
                key: Id(key.key_index()),
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
