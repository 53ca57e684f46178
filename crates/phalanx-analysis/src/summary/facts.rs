//! Facts about other functions, for the analysis of one function independent of its callers.

use std::borrow::Cow;

use phalanx_ir::{GlobalName, module::Linkage};
use phalanx_target::SourceSet;

use crate::code::{
    Code,
    calls::{CallFacts, Summary, is_known_by_content},
};

/// Whether a call of a function executes the definition in this module. A linker may replace a weak
/// definition, or take another one that was compiled from the same source in a different way. It
/// cannot if the module is the whole program.
#[must_use]
pub fn is_exact(linkage: Linkage, is_whole: bool) -> bool {
    match linkage {
        Linkage::External | Linkage::Internal | Linkage::Private => true,
        Linkage::LinkOnce | Linkage::LinkOnceOdr | Linkage::Weak | Linkage::WeakOdr => is_whole,
        _ => false,
    }
}

/// Facts about callees, with arguments that have no sources: so a solution has only the sources
/// that the function itself adds.
pub(crate) struct WithoutArguments<'a>(pub(crate) &'a dyn CallFacts, pub(crate) Code<'a>);

impl CallFacts for WithoutArguments<'_> {
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>> {
        self.0.summary(callee)
    }

    fn argument(&self, position: u32) -> Option<SourceSet> {
        match is_known_by_content(self.1.context, self.1.header, position as usize) {
            true => None,
            false => Some(SourceSet::EMPTY),
        }
    }
}
