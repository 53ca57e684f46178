//! What the analysis knows of the world outside of a function: which memories arguments may lead
//! to, which ones callees return, and what variables hold.
//!
//! The answers come from summaries of other functions ([`Returned`]) and from the module's
//! variables. [`Alone`] is for a function outside of which nothing is known.

use phalanx_ir::{Const, GlobalName, Type};

use crate::code::SpaceSet;

/// What is known of a variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableFacts {
    /// The variable is defined in this module, so its address is not null.
    pub is_defined: bool,
    /// The value that the variable always holds, if it never changes and the linker cannot replace
    /// it.
    pub initializer: Option<Const>,
}

/// What is known outside of a function.
pub trait SpaceFacts {
    /// What an argument may lead to, if all callers are known.
    fn argument(&self, position: u32) -> Option<SpaceSet>;
    /// What a function returns, if its code is known.
    fn returned(&self, callee: GlobalName) -> Option<Returned>;
    /// What is known of a variable; none if the name is of something else.
    fn variable(&self, name: GlobalName) -> Option<VariableFacts>;
}

/// Facts for a function outside of which nothing is known.
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
    /// Memories that the result may lead to for any arguments.
    pub own: SpaceSet,
    /// Arguments, one bit for each position, to whose memories the result may lead as well.
    pub arguments: u64,
    /// The type of calls that this holds for.
    pub function_type: Type,
}

impl Returned {
    /// The start of a recursion: a function that has not returned yet.
    #[must_use]
    pub fn bottom(function_type: Type) -> Self {
        Returned { own: SpaceSet::EMPTY, arguments: 0, function_type }
    }
}
