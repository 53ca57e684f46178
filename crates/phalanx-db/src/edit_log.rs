//! Which functions were edited since an answer about a whole module was found.
//!
//! Asking every function of a module whether its answer is still good costs a microsecond for each,
//! after an edit of one. The log says which one it was:
//!
//! ```text
//! revision   3 ------- 4 ------- 6        7
//!            |  edit f |  edit g |  other |        since(3) at 6: f, g
//!                                                  since(3) at 7: not known
//! ```
//!
//! An entry covers the revisions that one edit of instructions, blocks or names has made. Whatever
//! else is set, such as a header, a call or the list of functions, is not logged: it leaves a gap,
//! and nothing is known across a gap. So a new kind of change cannot be forgotten here.
//!
//! Cost: O(1) per edit, O(edits since) per question; at most [`LIMIT`] entries.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use salsa::Revision;

/// The largest number of recorded edits. After more edits than that, querying every function costs
/// less per edit than the edits did.
const LIMIT: usize = 4096;

/// The last edits of all modules, in order; `F` names a function.
#[derive(Debug)]
pub(crate) struct EditLog<F>(Mutex<VecDeque<Entry<F>>>);

/// Edits of one function, from one revision to another.
#[derive(Copy, Clone, Debug)]
struct Entry<F> {
    before: Revision,
    after: Revision,
    /// None if only names or metadata were edited, which no fact of a module is about.
    function: Option<F>,
}

impl<F> Default for EditLog<F> {
    fn default() -> Self {
        EditLog(Mutex::default())
    }
}

impl<F: Copy + PartialEq> EditLog<F> {
    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry<F>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that all that was set between two revisions are parts of one function; of none if they
    /// are names and metadata alone.
    pub(crate) fn note(&self, before: Revision, after: Revision, function: Option<F>) {
        let mut entries = self.entries();
        match entries.back_mut() {
            _ if before == after => return,
            Some(last) if last.after == before && last.function == function => last.after = after,
            _ => entries.push_back(Entry { before, after, function }),
        }
        if entries.len() > LIMIT {
            entries.pop_front();
        }
    }

    /// The functions with other code between two revisions; none if something else happened, too.
    pub(crate) fn between(&self, from: Revision, to: Revision) -> Option<Vec<F>> {
        let entries = self.entries();
        let first = entries.partition_point(|entry| entry.after <= from);
        let mut reached = from;
        let mut edited = Vec::new();
        for entry in entries.range(first..) {
            if entry.before > reached {
                return None;
            }
            reached = entry.after;
            edited.extend(entry.function);
        }
        (reached == to).then_some(edited)
    }
}
