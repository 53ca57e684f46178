//! What a function knows of others, as plain data.

use std::borrow::Cow;

use phalanx_ir::{Context, FunctionHeader, GlobalName, Type, attributes::AttrKind};
use phalanx_target::{LaunchFacts, Scope, SourceSet, varying};

use super::{Effects, Outcome, Through};

/// What a function knows of others: of those that it calls, and of those that call it.
pub trait CallFacts {
    /// What a call of a function of the module does; none when it is not known.
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>>;
    /// The sources of an argument; none when not all callers are known. Of a structure that is
    /// passed by value or by reference ([`is_known_by_content`]) those of its content.
    fn argument(&self, position: u32) -> Option<SourceSet>;
}

/// Nothing is known of calls.
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

/// What a call of a function does. The page of [`summary`](crate::summary) says
/// how it is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The type that it must be called with.
    pub ty: Option<Type>,
    /// Whether it was found from the code; else it is what attributes say.
    pub is_from_code: bool,
    /// Of the result as a whole.
    pub result: Outcome,
    /// Of each member of a structure; empty when they are not told apart.
    pub members: Box<[Outcome]>,
    /// Whether it gives a thread the same result whenever it is called with the same arguments, and
    /// does nothing else.
    pub is_timeless: bool,
    /// What it does besides.
    pub effects: Effects,
    /// What it does with what its arguments point to, if some are followed.
    pub through: Option<Box<Through>>,
}

impl Summary {
    /// Nothing returns: where a fixpoint begins.
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

    /// What its attributes say of a function whose code is not known.
    ///
    /// A result that is no source of divergence is one for the wave when the arguments are; from
    /// others it may be anything.
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

/// Whether a pointer parameter is to a copy that the call makes.
#[must_use]
pub fn is_copied(context: &Context, header: &FunctionHeader, position: usize) -> bool {
    let attributes = context.param_attrs(header.attributes, position);
    [AttrKind::ByVal, AttrKind::InAlloca, AttrKind::Preallocated]
        .into_iter()
        .any(|kind| attributes.has(kind))
}

/// Whether what is known of a pointer parameter is known of what it points to: a copy that the
/// call makes, or a structure that is passed by reference.
#[must_use]
pub fn is_known_by_content(context: &Context, header: &FunctionHeader, position: usize) -> bool {
    is_copied(context, header, position)
        || context.param_attrs(header.attributes, position).has(AttrKind::ByRef)
}
