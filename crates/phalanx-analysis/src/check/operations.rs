//! The operations of a function that rules are about.

use phalanx_graph::Node;
use phalanx_ir::{GlobalName, InstId};
use phalanx_target::Scope;

use super::sites::{self, Calls, called};
use crate::code::Code;
use crate::listing::relisted;

/// An operation among threads, for comparisons of two versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The call.
    pub inst: InstId,
    /// Its block.
    pub block: Node,
    /// The name of the callee; empty if the call does not name it.
    pub name: String,
    /// Whether all threads of a workgroup or more wait for each other.
    pub is_barrier: bool,
    /// The threads that communicate or wait.
    pub scope: Scope,
}

/// All operations among threads, calls of functions that may have one included, in the order of the
/// text. O(instructions).
#[must_use]
pub fn operations(code: Code<'_>, calls: Calls<'_>) -> Vec<Operation> {
    let operation = |site: sites::Site| {
        let name = called(code, site.inst).and_then(GlobalName::symbol);
        let scope = match site.kind {
            sites::SiteKind::Barrier { barrier, .. } => barrier.scope,
            sites::SiteKind::Group { .. } => Scope::Wave,
            _ => Scope::Workgroup,
        };
        Operation {
            inst: site.inst,
            block: site.block,
            name: name.map_or_else(
                || sites::named_in_assembly(code, &site, calls),
                |name| code.context.text(name).into_owned(),
            ),
            is_barrier: !matches!(
                site.kind,
                sites::SiteKind::Group { .. } | sites::SiteKind::Unknown
            ),
            scope,
        }
    };
    let all = sites::sites(code, calls).into_iter();
    all.filter(|site| site.kind != sites::SiteKind::Arguments).map(operation).collect()
}

/// The operations of a function that rules are about, in the order of the text. They depend only on
/// calls, on their places, and on callees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sites(pub(super) Vec<sites::Site>);

impl Sites {
    /// The operations of a function. O(instructions).
    #[must_use]
    pub fn new(code: Code<'_>, calls: Calls<'_>) -> Sites {
        Sites(sites::sites(code, calls))
    }

    /// The operations after these instructions have changed. None if they are the same. See
    /// [`relisted`] for the cost.
    #[must_use]
    pub fn after(&self, code: Code<'_>, calls: Calls<'_>, changed: &[InstId]) -> Option<Sites> {
        let look = |inst| sites::sites_at(code, inst, calls).into_iter().collect();
        relisted(code, &self.0, |site| site.inst, changed, look).map(Sites)
    }

    /// Whether the function has no operation that a rule is about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
