//! Ids of modules and functions: what they refer to, and the behaviour of invalid ids.
//!
//! An id is a number and a stamp. The number is the place of the function in the session; after the
//! function is removed, another function may reuse the place. The stamp is unique within a process.
//! So an id refers to one function of one session and its clones, and becomes invalid when that
//! function is removed.

use phalanx_db::{FunctionInput, ModuleEditError, ModuleInput, Stamp};
use phalanx_ir::BuildError;

use super::Session;

/// A module of a session. See [`FunctionId`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct ModuleId {
    pub(super) input: ModuleInput,
    stamp: Stamp,
}

/// A function of a session.
///
/// An id is valid in the session that returned it and in clones of that, until the function or its
/// module is removed. Afterwards, and in every other session, it is invalid ("names nothing"):
///
/// | query or change | with an invalid id |
/// |---|---|
/// | facts ([`Session::divergence`], [`Session::diagnostics`] ...) | none, as of a function without code |
/// | a change ([`Session::edit`], [`Session::set_launch`] ...) | an error that says so; nothing is changed |
/// | the code, name or text of the function; everything about a module | a panic that says so |
///
/// [`Session::has_function`] and [`Session::has_module`] tell whether an id is valid.
///
/// ```
/// use phalanx::prelude::*;
///
/// let text = b"define void @f() {\n  ret void\n}\n";
/// let (mut one, mut other) = (Session::new(), Session::new());
/// let [module, twin] = [&mut one, &mut other].map(|session| session.read(text));
/// let (module, _) = (module?, twin?);
/// let function = one.function(module, "f").expect("it is defined");
/// assert!(one.has_function(function) && !other.has_function(function));
/// assert!(other.divergence(function).is_none(), "of another session's function nothing is known");
///
/// one.remove_module(module);
/// let next = one.read(text)?;
/// let again = one.function(next, "f").expect("it is defined");
/// assert!(one.divergence(again).is_some());
/// assert!(one.divergence(function).is_none(), "the old id does not name the new function");
/// # Ok::<(), phalanx::ReadError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionId {
    input: FunctionInput,
    stamp: Stamp,
}

impl ModuleId {
    /// The input of the database.
    #[cfg(feature = "database")]
    pub fn input(self) -> ModuleInput {
        self.input
    }
}

impl FunctionId {
    /// The input of the database. It has no stamp: keep ids, not inputs. The input of a removed
    /// function may be that of another function later.
    #[cfg(feature = "database")]
    pub fn input(self) -> FunctionInput {
        self.input
    }
}

impl Session {
    /// Whether an id is valid: it belongs to this session, and its function was not removed.
    pub fn has_function(&self, function: FunctionId) -> bool {
        self.db.stamp(function.input) == Some(function.stamp)
    }

    /// Whether an id of a module is valid in this session.
    pub fn has_module(&self, module: ModuleId) -> bool {
        self.db.module_stamp(module.input) == Some(module.stamp)
    }

    /// The id of a function of the database; none if it was removed.
    #[cfg(feature = "database")]
    pub fn function_id(&self, input: FunctionInput) -> Option<FunctionId> {
        self.id_of(input)
    }

    /// The id of a module of the database; none if it was removed.
    #[cfg(feature = "database")]
    pub fn module_id(&self, input: ModuleInput) -> Option<ModuleId> {
        self.module_id_of(input)
    }

    pub(super) fn id_of(&self, input: FunctionInput) -> Option<FunctionId> {
        Some(FunctionId { input, stamp: self.db.stamp(input)? })
    }

    pub(super) fn module_id_of(&self, input: ModuleInput) -> Option<ModuleId> {
        Some(ModuleId { input, stamp: self.db.module_stamp(input)? })
    }

    /// The function to query: one without code if the id is invalid.
    pub(super) fn at(&self, function: FunctionId) -> FunctionInput {
        match self.has_function(function) {
            true => function.input,
            false => self.db.function_without_code(),
        }
    }

    /// # Panics
    /// If the id is invalid.
    pub(super) fn function_there(&self, function: FunctionId) -> FunctionInput {
        assert!(
            self.has_function(function),
            "this id names no function of this session: it is of another session, or the function \
             was removed"
        );
        function.input
    }

    /// # Panics
    /// If the id is invalid.
    pub(super) fn module_there(&self, module: ModuleId) -> ModuleInput {
        assert!(
            self.has_module(module),
            "this id names no module of this session: it is of another session, or the module was \
             removed"
        );
        module.input
    }

    pub(super) fn function_to_edit(
        &self,
        function: FunctionId,
    ) -> Result<FunctionInput, BuildError> {
        match self.has_function(function) {
            true => Ok(function.input),
            false => Err(BuildError::Entity {
                function: "an edit".into(),
                entity: "the function".into(),
                message: "is of another session, or was removed",
            }),
        }
    }

    pub(super) fn function_to_change(
        &self,
        function: FunctionId,
    ) -> Result<FunctionInput, ModuleEditError> {
        match self.has_function(function) {
            true => Ok(function.input),
            false => Err(ModuleEditError::Stranger(
                "a function of another session, or one that was removed,".into(),
            )),
        }
    }
}
