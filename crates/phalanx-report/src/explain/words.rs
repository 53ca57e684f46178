//! What sources and links are called in a sentence.

use phalanx_target::{Scope, SourceSet};

/// What a source is, as in "it depends on ...".
pub(crate) fn source(source: SourceSet) -> &'static str {
    match source {
        SourceSet::X => "the thread's index x",
        SourceSet::Y => "the thread's index y",
        SourceSet::Z => "the thread's index z",
        SourceSet::LANE => "the number of the lane",
        SourceSet::WAVE => "the number of the wave",
        SourceSet::BLOCK_X => "the workgroup's index x",
        SourceSet::BLOCK_Y => "the workgroup's index y",
        SourceSet::BLOCK_Z => "the workgroup's index z",
        SourceSet::CLUSTER => "the workgroup's rank in its cluster",
        SourceSet::OPAQUE_WAVE => "something that is only known to be equal within a wave",
        SourceSet::OPAQUE_GROUP => "something that is only known to be equal within a workgroup",
        _ => "something that may differ between any two threads",
    }
}

/// The threads of a scope.
pub(crate) fn threads(scope: &str) -> String {
    let scope = Scope::from_name(scope).unwrap_or(Scope::Workgroup);
    format!("threads of {}", of(scope))
}

/// `a wave`, `the launch`
pub(crate) fn of(scope: Scope) -> String {
    match scope {
        Scope::Grid => "the launch".to_owned(),
        _ => format!("a {}", scope.name()),
    }
}
