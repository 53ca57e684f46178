//! All that is found in a function where nothing else is asked for.

use phalanx_analysis::check::Finding;
use phalanx_db::{Database, FunctionInput, queries};

/// The findings of a function: barriers and operations of groups, spaces of pointers, loops that
/// wait, workgroup memory. What is asked for by options of its own (launches, performance, loads)
/// is not among them.
#[must_use]
pub fn findings(db: &Database, function: FunctionInput) -> Vec<Finding> {
    let mut found = queries::diagnostics(db, function).as_deref().unwrap_or_default().to_vec();
    let conflicts = queries::space_conflicts(db, function).as_deref();
    found.extend_from_slice(conflicts.unwrap_or_default());
    found.extend(queries::waiting_loops(db, function).iter().flatten().cloned());
    let memory = queries::workgroup_memory(db, function).as_ref();
    found.extend(memory.iter().flat_map(|memory| memory.findings.iter().cloned()));
    found.extend(queries::pending_copies(db, function));
    found
}
