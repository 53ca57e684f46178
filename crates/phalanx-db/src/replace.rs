//! Replaces a whole function: for the undo of a committed edit, and for passes that rebuild a
//! function.
//!
//! Parts that are equal to those that are there are not set, so what is known of them stays. A part
//! that differs begins a new history: facts about it are found from scratch.

use phalanx_ir::Function;

use crate::{Database, FunctionInput, ModuleEditError, edit_module::text};

impl Database {
    /// Replaces the code, names and attributes of a function; nothing happens when all of it is
    /// equal. O(function) for the comparison and the verifier.
    ///
    /// # Errors
    /// When the function was removed, the new one is called otherwise or has another type or
    /// address space, or it breaks a rule. Nothing was changed then.
    pub fn replace_function(
        &mut self,
        function: FunctionInput,
        new: Function,
    ) -> Result<(), ModuleEditError> {
        self.check_present(function)?;
        self.alone();
        let module = function.module(self);
        let (old, header) = (function.header(self), &new.header);
        let name = text(module.context(self), old.name);
        if !old.is_same_entity(header) {
            return Err(ModuleEditError::Identity(name));
        }
        let messages = self.broken_rules(module, new.view());
        if !messages.is_empty() {
            return Err(ModuleEditError::Invalid { name, messages });
        }
        let is_definition = !new.is_declaration();
        if self.update_function(function, new) {
            self.set_definition(module, function, is_definition);
            self.forget_use_list_orders(module);
        }
        Ok(())
    }
}
