//! The findings that `phalanx check` looks for by default.

use phalanx_analysis::check::Finding;
use phalanx_db::{Database, FunctionInput, queries};

/// The default findings of a function: barriers and operations of groups, address spaces of
/// pointers, loops that wait, and workgroup memory. Findings that need an option (launches,
/// performance, loads) are not included.
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
