//! Attachments that analyses read, as an input beside the extras.
//!
//! Names, locations and most metadata matter to no analysis. So what analyses read of the extras is
//! an input of its own, which is set only when an edit makes it different, and no query reads the
//! extras. An edit of other metadata invalidates nothing.
//!
//! ```text
//! %v = load i32, ptr %p, !dbg !4, !invariant.load !5      a mark of %v: what it loads never changes
//! fence acquire, !mmra !6                                 a mark of the fence
//! ```
//!
//! Cost: O(attachments) when a mark comes or goes; O(changed attachments) after other edits.

use phalanx_ir::{
    Context, Extras, InstId, Symbol,
    metadata::{Attachment, kind},
};

/// Attached beside `!invariant.load` where a transform of ours put that: it is a conclusion, and
/// proves nothing.
pub const OUR_INVARIANT: &str = "phalanx.invariant.load";

/// What the attachments of an instruction say.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mark {
    /// `!invariant.load`
    pub(crate) is_invariant: bool,
    /// Whether Phalanx put `!invariant.load` there itself.
    pub(crate) is_ours: bool,
    /// `!mmra`: a fence orders some memory only.
    pub(crate) is_partial: bool,
}

impl Mark {
    /// The mark that the attachments of one instruction make; `ours` is the kind of our own.
    fn of(ours: Option<Symbol>, attachments: impl Iterator<Item = Attachment>) -> Mark {
        attachments.fold(Mark::default(), |mark, attachment| Mark {
            is_invariant: mark.is_invariant || attachment.kind == kind::INVARIANT_LOAD,
            is_ours: mark.is_ours || Some(attachment.kind) == ours,
            is_partial: mark.is_partial || attachment.kind == kind::MMRA,
        })
    }
}

/// The marks of a function, sorted by instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks(Vec<(InstId, Mark)>);

impl Marks {
    /// The marks that the extras of a function make.
    pub(crate) fn of(context: &Context, extras: &Extras) -> Marks {
        let ours = ours(context);
        let by_inst = extras.attachments.chunk_by(|a, b| a.0 == b.0);
        let marks = by_inst.map(|of| (of[0].0, Mark::of(ours, of.iter().map(|(_, a)| *a))));
        Marks(marks.filter(|(_, mark)| *mark != Mark::default()).collect())
    }

    /// Whether the attachments of these instructions say something else now.
    pub(crate) fn differ(
        &self,
        context: &Context,
        extras: &Extras,
        mut insts: impl Iterator<Item = InstId>,
    ) -> bool {
        let ours = ours(context);
        insts.any(|inst| Mark::of(ours, extras.attachments_of(inst)) != self.at(inst))
    }

    /// The mark of an instruction; nothing is set if it has none.
    pub(crate) fn at(&self, inst: InstId) -> Mark {
        let at = self.0.binary_search_by_key(&inst, |(of, _)| *of);
        at.map_or(Mark::default(), |at| self.0[at].1)
    }

    /// Instructions that have a mark, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (InstId, Mark)> {
        self.0.iter().copied()
    }
}

fn ours(context: &Context) -> Option<Symbol> {
    context.find_symbol(OUR_INVARIANT.as_bytes())
}
