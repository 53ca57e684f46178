//! Parser state: counts of the uses that use-list orders refer to.

use phalanx_ir::{
    Context, GlobalName,
    use_counts::{LocalUseCounts, UseCounts},
};

/// Uses that have been counted.
pub(in crate::parser) struct UseState<'a> {
    pub(in crate::parser) constants: UseCounts<'a>,
    /// How many of the module's entities are in it.
    pub(in crate::parser) variables: usize,
    pub(in crate::parser) aliases: usize,
    pub(in crate::parser) functions: usize,
    /// Uses within a function, and which.
    pub(in crate::parser) local: Option<(GlobalName, LocalUseCounts)>,
}

impl<'a> UseState<'a> {
    pub(in crate::parser) fn new(context: &'a Context) -> Self {
        let constants = UseCounts::new(context);
        UseState { constants, variables: 0, aliases: 0, functions: 0, local: None }
    }
}
