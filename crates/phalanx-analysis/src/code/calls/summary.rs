//! Summaries of functions, as plain data.

use std::borrow::Cow;

use phalanx_ir::{Context, FunctionHeader, GlobalName, Type, attributes::AttrKind};
use phalanx_target::{LaunchFacts, Scope, SourceSet, varying};

use super::{Effects, Outcome, Through};

/// What an analysis knows of other functions: of callees, and of callers.
pub trait CallFacts {
    /// What a call of a function of the module does; none if that is not known.
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>>;
    /// The sources of an argument; none if not all callers are known. For a structure that is
    /// passed by value or by reference ([`is_known_by_content`]), the sources of its content.
    fn argument(&self, position: u32) -> Option<SourceSet>;
}

/// Call facts of which nothing is known.
#[derive(Clone, Copy, Debug)]
pub struct NoCallFacts;

impl CallFacts for NoCallFacts {
    fn summary(&self, _: GlobalName) -> Option<Cow<'_, Summary>> {
        None
    }

    fn argument(&self, _: u32) -> Option<SourceSet> {
        None
    }
}

/// What a call of a function does. The page of [`summary`](crate::summary) says how it is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The type that the function must be called with for the summary to hold.
    pub ty: Option<Type>,
    /// Whether the summary was found from the code; otherwise it is what attributes say.
    pub is_from_code: bool,
    /// The outcome of the result as a whole.
    pub result: Outcome,
    /// The outcome of each member of a structure; empty if members are not told apart.
    pub members: Box<[Outcome]>,
    /// Whether the function gives a thread the same result whenever it is called with the same
    /// arguments, and does nothing else.
    pub is_timeless: bool,
    /// What the function does besides.
    pub effects: Effects,
    /// What the function does to the memory that its arguments point to, if some of it is tracked.
    pub through: Option<Box<Through>>,
}

impl Summary {
    /// The summary of a function that never returns: the start of the fixpoint.
    #[must_use]
    pub fn bottom(header: &FunctionHeader) -> Summary {
        Summary {
            ty: Some(header.ty),
            is_from_code: true,
            result: Outcome::default(),
            members: Box::default(),
            is_timeless: true,
            effects: Effects::NONE,
            through: None,
        }
    }

    /// What the attributes of a function say whose code is not known.
    ///
    /// If the function is no source of divergence, its result is equal within the wave when the
    /// arguments are, and unknown otherwise.
    #[must_use]
    pub fn of_attributes(
        context: &Context,
        header: &FunctionHeader,
        launch: &LaunchFacts,
    ) -> Summary {
        let attributes = context.function_attrs(header.attributes);
        let result = match attributes.has(AttrKind::NoDivergenceSource) {
            false => Outcome::unknown(),
            true => {
                Outcome::of_uniform_arguments(varying(Scope::Wave, launch), header.params.len())
            }
        };
        Summary {
            ty: Some(header.ty),
            is_from_code: false,
            result,
            members: Box::default(),
            is_timeless: false,
            effects: Effects::of_attributes(attributes),
            through: None,
        }
    }

    /// The outcome of a member of the result, or of the whole.
    #[must_use]
    pub fn outcome(&self, member: Option<u32>) -> &Outcome {
        let member = member.and_then(|member| self.members.get(member as usize));
        member.unwrap_or(&self.result)
    }
}

/// Whether a pointer parameter points to a copy that the call makes.
#[must_use]
pub fn is_copied(context: &Context, header: &FunctionHeader, position: usize) -> bool {
    let attributes = context.param_attrs(header.attributes, position);
    [AttrKind::ByVal, AttrKind::InAlloca, AttrKind::Preallocated]
        .into_iter()
        .any(|kind| attributes.has(kind))
}

/// Whether facts about a pointer parameter are about the memory that it points to: a copy that the
/// call makes, or a structure that is passed by reference.
#[must_use]
pub fn is_known_by_content(context: &Context, header: &FunctionHeader, position: usize) -> bool {
    is_copied(context, header, position)
        || context.param_attrs(header.attributes, position).has(AttrKind::ByRef)
}
