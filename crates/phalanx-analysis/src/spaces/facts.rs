//! What the analysis is told of the world outside of a function: what arguments may lead to, what
//! callees return, what variables hold.
//!
//! The answers come from summaries of other functions ([`Returned`]) and from the module's
//! variables; [`Alone`] is for a function of which nothing else is known.

use phalanx_ir::{Const, GlobalName, Type};

use crate::code::SpaceSet;

/// What is known of a variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableFacts {
    /// It is in this module, so its address is not null.
    pub is_defined: bool,
    /// What it always holds, if it never changes and nobody replaces it.
    pub initializer: Option<Const>,
}

/// What is known outside of a function.
pub trait SpaceFacts {
    /// What an argument may lead to, if all callers are known.
    fn argument(&self, position: u32) -> Option<SpaceSet>;
    /// What a function returns, if its code is known.
    fn returned(&self, callee: GlobalName) -> Option<Returned>;
    /// Of a variable; none if the name is of something else.
    fn variable(&self, name: GlobalName) -> Option<VariableFacts>;
}

/// Nothing is known outside of the function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl SpaceFacts for Alone {
    fn argument(&self, _position: u32) -> Option<SpaceSet> {
        None
    }

    fn returned(&self, _callee: GlobalName) -> Option<Returned> {
        None
    }

    fn variable(&self, _name: GlobalName) -> Option<VariableFacts> {
        None
    }
}

/// Which memories the result of a call may lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Whatever is passed.
    pub own: SpaceSet,
    /// And those of these arguments, by position.
    pub arguments: u64,
    /// For calls of this type.
    pub function_type: Type,
}

impl Returned {
    /// Of a function that has not returned yet: where a recursion begins.
    #[must_use]
    pub fn bottom(function_type: Type) -> Self {
        Returned { own: SpaceSet::EMPTY, arguments: 0, function_type }
    }
}
