//! The smallest scope whose threads differ, as a number that colours are chosen by.
//!
//! | level | means |
//! |---|---|
//! | 3 | differs between threads of a wave |
//! | 2 | one value for a wave, differs in a workgroup |
//! | 1 | one value for a workgroup, differs in the launch |
//! | 0 | the same for all threads |

use phalanx_target::{LaunchFacts, Scope, SourceSet, varying};

/// The smallest scope whose threads differ, as a number.
pub(crate) fn level(sources: SourceSet, launch: &LaunchFacts) -> u8 {
    let scopes = [(Scope::Wave, 3), (Scope::Workgroup, 2), (Scope::Grid, 1)];
    let found = scopes.into_iter().find(|&(scope, _)| sources.intersects(varying(scope, launch)));
    found.map_or(0, |(_, level)| level)
}

/// The scope of a level.
pub(crate) const fn scope_of(level: u8) -> Scope {
    match level {
        3 => Scope::Wave,
        2 => Scope::Workgroup,
        _ => Scope::Grid,
    }
}
