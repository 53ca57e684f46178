//! Changes of a module beside the code of its functions.

use phalanx_db::ModuleEditError;
use phalanx_ir::{FunctionHeader, Module, metadata::Additions};

use super::{FunctionId, ModuleId, Session};

impl Session {
    /// Changes the header of a function: attributes, linkage, convention. Nothing happens when it
    /// stays equal. O(function).
    ///
    /// # Errors
    /// When the id is invalid, when what others know the function by changes (name, parameters,
    /// result, address space), or it breaks a rule with its new header.
    pub fn edit_header(
        &mut self,
        function: FunctionId,
        edit: impl FnOnce(&mut FunctionHeader),
    ) -> Result<(), ModuleEditError> {
        let function = self.function_to_change(function)?;
        self.db.edit_header(function, edit)
    }

    /// Changes what a module has beside its functions: variables, types, metadata, flags. The
    /// functions of the [`Module`] that `edit` gets are elsewhere; [`Session::add_function`] and
    /// [`Session::remove_functions`] change them. Nothing happens when it stays equal. O(module
    /// without its functions) for the verifier, which looks at functions as well where what they
    /// refer to may have changed. [`Session::edit_metadata`] takes less.
    ///
    /// # Errors
    /// When the module breaks a rule that it did not break before, got functions, or has become one
    /// of another context. Then nothing was changed, and the same holds when `edit` panics.
    pub fn edit_shell<R>(
        &mut self,
        module: ModuleId,
        edit: impl FnOnce(&mut Module) -> R,
    ) -> Result<R, ModuleEditError> {
        let module = self.module_there(module);
        self.db.edit_shell(module, edit)
    }

    /// Adds metadata to a module, for attachments of instructions. O(what is added): what is there
    /// stays, so nothing is verified.
    pub fn edit_metadata<R>(
        &mut self,
        module: ModuleId,
        edit: impl FnOnce(&mut Additions<'_>) -> R,
    ) -> R {
        let module = self.module_there(module);
        self.db.edit_metadata(module, edit)
    }
}
