//! What is known of other functions, where a function is looked at by itself.

use std::borrow::Cow;

use phalanx_ir::{GlobalName, module::Linkage};
use phalanx_target::SourceSet;

use crate::code::{
    Code,
    calls::{CallFacts, Summary, is_known_by_content},
};

/// Whether a function of the module is the one that is executed, as it stands here: others may be
/// put in place of definitions that are weak, or compiled from the same source in another way. Not
/// where the module is all of the program.
#[must_use]
pub fn is_exact(linkage: Linkage, is_whole: bool) -> bool {
    match linkage {
        Linkage::External | Linkage::Internal | Linkage::Private => true,
        Linkage::LinkOnce | Linkage::LinkOnceOdr | Linkage::Weak | Linkage::WeakOdr => is_whole,
        _ => false,
    }
}

/// The facts of other functions, with no sources from arguments: what a function brings in by
/// itself.
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
