//! Edits of a module: functions, headers, and the shell with globals, types and metadata.
//!
//! The inputs of functions that are removed are used again for functions that are added later, so a
//! driver that clones and drops functions for ever holds no more of them than it ever had at once.
//! A [`FunctionInput`] must not be used after its function was removed.

use std::sync::Arc;

use phalanx_ir::{
    BuildError, Const, Context, Function, FunctionHeader, GlobalName, Module, ValueKind,
    function::FunctionRef,
    metadata::Additions,
    verify::{self, Headers},
};
use phalanx_target::{LaunchStatement, library::Extension};
use rustc_hash::FxHashSet;
use salsa::{Durability, Setter};

use crate::{
    Database, FunctionInput, Mentions, ModuleInput,
    inputs::{FunctionEntry, UNEDITED, is_large},
    marks::Marks,
    part_cell::PartCell,
    queries,
};

/// Why a module cannot be changed so. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleEditError {
    /// There is an entity of this name already.
    #[error("{0} is defined already")]
    Duplicate(String),
    /// Something refers to an entity that is to go.
    #[error("{0} is still referred to")]
    Referenced(String),
    /// It is not of this module, or was removed.
    #[error("{0} is not a function of this module")]
    Stranger(String),
    /// The module was put together of another context.
    #[error("the module is of another context")]
    Context,
    /// A function was put where none are kept.
    #[error("{0} cannot be added with what a module has beside its functions")]
    Elsewhere(String),
    /// Another header is another function's.
    #[error("{0} cannot change its name, its type or its address space")]
    Identity(String),
    /// Launches are said to be what they cannot be.
    #[error("{name} is not launched with {why}")]
    Launch {
        /// Name of the function.
        name: String,
        /// What is stated, and what is known.
        why: String,
    },
    /// The function, or the module, breaks rules.
    #[error("{name} is not well-formed: {}", messages.join("; "))]
    Invalid {
        /// Its name.
        name: String,
        /// One line per broken rule.
        messages: Vec<String>,
    },
}

pub(crate) fn text(context: &Context, name: GlobalName) -> String {
    match name {
        GlobalName::Named(symbol) => format!("@{}", context.text(symbol)),
        GlobalName::Numbered(number) => format!("@{number}"),
    }
}

/// Headers of the functions of a module in the database.
struct InputHeaders<'d>(&'d Database, ModuleInput);

impl Headers for InputHeaders<'_> {
    fn header(&self, at: usize) -> Option<&FunctionHeader> {
        Some(self.1.functions(self.0).get(at)?.input.header(self.0))
    }
}

impl Database {
    /// Adds a function to a module, at the end. O(functions), and O(function) to verify it.
    ///
    /// # Errors
    /// When the module has an entity of its name, or it breaks a rule.
    pub fn add_function(
        &mut self,
        module: ModuleInput,
        function: Function,
    ) -> Result<FunctionInput, ModuleEditError> {
        self.alone();
        let name = function.header.name;
        if queries::module_index(self, module).contains(name) {
            return Err(ModuleEditError::Duplicate(text(module.context(self), name)));
        }
        let entry = self.new_function(module, function);
        let mut entries = module.functions(self).clone();
        entries.push(entry);
        self.set_functions(module, entries);
        let messages = self.broken_rules(module, entry.input.view(self));
        if messages.is_empty() {
            self.forget_use_list_orders(module);
            return Ok(entry.input);
        }
        self.drop_functions(module, &[entry.input]);
        Err(ModuleEditError::Invalid { name: text(module.context(self), name), messages })
    }

    pub(crate) fn broken_rules(
        &self,
        module: ModuleInput,
        function: FunctionRef<'_>,
    ) -> Vec<String> {
        let headers = InputHeaders(self, module);
        let env = (module.shell(self), queries::module_index(self, module), &headers as _);
        let convergent = phalanx_target::intrinsics::is_convergent;
        let errors = verify::function_in(env, convergent, function);
        errors.iter().map(|e| e.message.clone().into_owned()).collect()
    }

    /// Removes functions from a module. A function may be listed twice. O(module): nothing else may
    /// refer to them but metadata, which says null or poison in their place.
    ///
    /// # Errors
    /// When one of them is not of the module, or something that stays refers to it.
    pub fn remove_functions(
        &mut self,
        module: ModuleInput,
        functions: &[FunctionInput],
    ) -> Result<(), ModuleEditError> {
        self.alone();
        let gone: FxHashSet<FunctionInput> = functions.iter().copied().collect();
        let entries = module.functions(self);
        let context = module.context(self);
        let known: FxHashSet<FunctionInput> = entries.iter().map(|e| e.input).collect();
        if let Some(stranger) = functions.iter().find(|f| !known.contains(f)) {
            return Err(self.stranger(*stranger));
        }
        let staying = entries.iter().filter(|e| !gone.contains(&e.input));
        let referenced = references(self, module, staying.map(|e| e.input));
        let mut leaving = entries.iter().filter(|e| gone.contains(&e.input));
        if let Some(entry) = leaving.find(|e| referenced.contains(&e.name)) {
            return Err(ModuleEditError::Referenced(text(context, entry.name)));
        }
        let names = entries.iter().filter(|e| gone.contains(&e.input)).map(|e| e.name).collect();
        self.forget_mentions(module, &gone, &names);
        self.drop_functions(module, functions);
        self.forget_use_list_orders(module);
        Ok(())
    }

    /// Drops what the text of a module says about the order of uses of its entities, which have
    /// become others. Whether there were any.
    pub(crate) fn forget_use_list_orders(&mut self, module: ModuleInput) -> bool {
        let are_there = !module.shell(self).use_list_orders.is_empty();
        if are_there {
            self.change_shell(module, |shell| shell.use_list_orders.clear());
        }
        are_there
    }

    /// Lets metadata that mentions entities mention nothing in their place.
    fn forget_mentions(
        &mut self,
        module: ModuleInput,
        gone: &FxHashSet<FunctionInput>,
        names: &FxHashSet<GlobalName>,
    ) {
        let context = Arc::clone(module.context(self));
        let mentions = |constant: Const| is_made_of(&context, constant, names);
        let is_mentioning = |shell: &Module| {
            let metadata = &shell.metadata;
            let mut values = metadata.ids().flat_map(|id| metadata.values(id));
            values.any(|value| value.as_const().is_some_and(mentions))
        };
        if is_mentioning(module.shell(self)) {
            self.change_shell(module, |shell| shell.metadata.forget(mentions));
        }
        let entries = module.functions(self).iter().filter(|entry| !gone.contains(&entry.input));
        let mentioning = entries.map(|entry| entry.input).filter(|function| {
            let operands = function.body(self).all_local_metadata();
            let operands = operands.flat_map(|operand| operand.values().iter().copied());
            let records = function.extras(self).debug_records.iter();
            let mut values = operands.chain(records.flat_map(|(_, record)| record.values()));
            values.any(|value| value.as_const().is_some_and(mentions))
        });
        let mentioning: Vec<FunctionInput> = mentioning.collect();
        for function in mentioning {
            let done: Result<(), BuildError> = self.edit(function, |edit| {
                edit.verifying(false).forget_constants(mentions);
                Ok(())
            });
            debug_assert!(done.is_ok(), "metadata breaks no rule");
        }
    }

    fn stranger(&self, function: FunctionInput) -> ModuleEditError {
        let context = function.module(self).context(self);
        ModuleEditError::Stranger(text(context, function.header(self).name))
    }

    /// Whether a function is still in its module.
    pub(crate) fn check_present(&self, function: FunctionInput) -> Result<(), ModuleEditError> {
        match self.is_removed(function) {
            true => Err(self.stranger(function)),
            false => Ok(()),
        }
    }

    /// Changes the header of a function: attributes, linkage, convention. Nothing happens when it
    /// stays equal.
    ///
    /// # Errors
    /// When the function was removed, when what others know it by changes (name, parameters,
    /// result, address space), or it breaks a rule with its new header. O(function).
    pub fn edit_header(
        &mut self,
        function: FunctionInput,
        edit: impl FnOnce(&mut FunctionHeader),
    ) -> Result<(), ModuleEditError> {
        self.alone();
        self.check_present(function)?;
        let module = function.module(self);
        let old = function.header(self);
        let mut new = old.clone();
        edit(&mut new);
        if new == *old {
            return Ok(());
        }
        let name = text(module.context(self), old.name);
        // Constants name it, and have its type; calls pass what it takes.
        if !old.is_same_entity(&new) {
            return Err(ModuleEditError::Identity(name));
        }
        let view = FunctionRef { header: &new, ..function.view(self) };
        let messages = self.broken_rules(module, view);
        if !messages.is_empty() {
            return Err(ModuleEditError::Invalid { name, messages });
        }
        function.set_header(self).to(new);
        self.forget_use_list_orders(module);
        Ok(())
    }

    /// States how a function is launched. Does nothing if the same has been stated already.
    /// Otherwise it invalidates only what depends on launches.
    ///
    /// # Errors
    /// When the module says something else, or the function was removed from it.
    pub fn set_launch(
        &mut self,
        function: FunctionInput,
        launch: LaunchStatement,
    ) -> Result<(), ModuleEditError> {
        self.alone();
        self.check_present(function)?;
        let module = function.module(self);
        if let Some(why) = launch.contradiction(&queries::stated_launch_facts(self, function)) {
            let name = text(module.context(self), function.header(self).name);
            return Err(ModuleEditError::Launch { name, why });
        }
        if function.launch(self) != launch {
            function.set_launch(self).to(launch);
        }
        Ok(())
    }

    /// States that no function of a module but its kernels is entered from outside of it, whatever
    /// linkage says, and that nothing replaces its weak definitions: it is all of a program, or
    /// will be linked to nothing that knows it. Nothing happens when that has been stated already.
    pub fn set_whole(&mut self, module: ModuleInput, is_whole: bool) {
        self.alone();
        if module.is_whole(self) != is_whole {
            module.set_is_whole(self).to(is_whole);
        }
    }

    /// States the effects of functions that a module declares, besides those known by name. Drops
    /// retained state if that changes the facts about one of them. Does nothing if the same has
    /// been stated already.
    pub fn set_extension(&mut self, module: ModuleInput, extension: Extension) {
        self.alone();
        if module.extension(self) == extension {
            return;
        }
        let known = Arc::clone(queries::library(self, module));
        let target = queries::target(self, module).clone();
        module.set_extension(self).with_durability(Durability::HIGH).to(extension);
        if *queries::library(self, module) != known || *queries::target(self, module) != target {
            self.trim(module);
        }
    }

    /// Changes what a module has beside its functions: variables, types, metadata, flags. The
    /// functions of the [`Module`] that `edit` gets are elsewhere, and come and go by
    /// [`Database::add_function`] and [`Database::remove_functions`]. Nothing happens when it stays
    /// equal. O(module without its functions) for the verifier, which looks at functions as well
    /// where what they refer to may have changed ([`Module::extends`]). To add metadata takes less:
    /// see [`Database::edit_metadata`].
    ///
    /// # Errors
    /// When the module breaks a rule that it did not break before, got functions, or has become one
    /// of another context. Nothing was changed then, also when `edit` panics.
    pub fn edit_shell<R>(
        &mut self,
        module: ModuleInput,
        edit: impl FnOnce(&mut Module) -> R,
    ) -> Result<R, ModuleEditError> {
        self.alone();
        let old = module.shell(self);
        let mut new = old.clone();
        let result = edit(&mut new);
        if !Arc::ptr_eq(&new.context, &old.context) {
            return Err(ModuleEditError::Context);
        }
        if let Some(function) = new.functions.first() {
            let name = function.header.name;
            let is_known =
                name.symbol().is_none_or(|name| (name.raw() as usize) < new.context.symbol_count());
            let name = if is_known { text(&new.context, name) } else { String::from("a function") };
            return Err(ModuleEditError::Elsewhere(name));
        }
        if new == *old {
            return Ok(result);
        }
        let functions: Vec<FunctionRef<'_>> =
            module.functions(self).iter().map(|entry| entry.input.view(self)).collect();
        let with_bodies = !new.extends(old);
        let broken = |shell: &Module| {
            let convergent = phalanx_target::intrinsics::is_convergent;
            verify::module_in(shell, &functions, convergent, with_bodies)
        };
        let mut errors = broken(&new);
        if !errors.is_empty() {
            // A module that was not verified when it was read may be edited too.
            let before = broken(old);
            errors.retain(|error| !before.contains(error));
        }
        if !errors.is_empty() {
            let messages = errors.iter().map(|e| verify::told(&new, &functions, e)).collect();
            return Err(ModuleEditError::Invalid { name: "the module".into(), messages });
        }
        let known = Arc::clone(queries::library(self, module));
        module.set_shell(self).to(new);
        if *queries::library(self, module) != known {
            self.trim(module);
        }
        Ok(result)
    }

    /// Adds metadata to a module, for attachments of instructions. O(what is added): what is there
    /// stays, so nothing is verified.
    pub fn edit_metadata<R>(
        &mut self,
        module: ModuleInput,
        edit: impl FnOnce(&mut Additions<'_>) -> R,
    ) -> R {
        self.change_shell(module, |shell| edit(&mut Additions::new(shell)))
    }

    /// Changes the shell in place. The caller guarantees that the module stays valid.
    fn change_shell<R>(&mut self, module: ModuleInput, edit: impl FnOnce(&mut Module) -> R) -> R {
        let empty = Module::new(Arc::clone(module.context(self)));
        let shell = module.set_shell(self).to(empty);
        let mut guard = PutShell { db: self, module, shell: Some(shell) };
        guard.shell.as_mut().map(edit).expect("the shell is here until the guard is dropped")
    }

    /// Takes functions out of the list and keeps their inputs for others.
    pub(crate) fn drop_functions(&mut self, module: ModuleInput, functions: &[FunctionInput]) {
        let gone: FxHashSet<FunctionInput> = functions.iter().copied().collect();
        let mut entries = module.functions(self).clone();
        entries.retain(|e| !gone.contains(&e.input));
        if entries.len() != module.functions(self).len() {
            self.set_functions(module, entries);
        }
        for &function in functions {
            queries::drop_kept(self, function);
            self.set_mentions(function, Mentions::default());
            function.set_held_flow(self).to(PartCell::new(Default::default()));
            function.set_held_body(self).to(PartCell::new(Default::default()));
            self.set_size(function, false);
            self.set_marks(function, Marks::default(), UNEDITED);
            function.set_held_extras(self).to(PartCell::new(Default::default()));
            function.set_use_list_orders(self).to(Vec::new());
        }
        functions.iter().for_each(|&function| self.presence().leave_function(function));
    }

    /// An input for a function: one that is free, or a new one.
    pub(crate) fn new_function(
        &mut self,
        module: ModuleInput,
        function: Function,
    ) -> FunctionEntry {
        let (name, is_definition) = (function.header.name, !function.is_declaration());
        let free = self.presence().free_function();
        let input = match free {
            None => FunctionInput::from_function(self, module, function),
            Some(input) => {
                let Function { header, flow, body, extras, use_list_orders } = function;
                let high = Durability::HIGH;
                input.set_module(self).with_durability(high).to(module);
                self.set_mentions(input, Mentions::of(module.context(self), &body));
                self.set_size(input, is_large(&body));
                input.set_header(self).with_durability(high).to(header);
                input.set_held_flow(self).with_durability(UNEDITED).to(PartCell::new(flow));
                input.set_held_body(self).with_durability(UNEDITED).to(PartCell::new(body));
                self.set_marks(input, Marks::of(module.context(self), &extras), UNEDITED);
                input
                    .set_held_extras(self)
                    .with_durability(Durability::LOW)
                    .to(PartCell::new(extras));
                input.set_use_list_orders(self).with_durability(high).to(use_list_orders);
                input.set_launch(self).with_durability(high).to(LaunchStatement::default());
                input
            }
        };
        self.presence().enter_function(input);
        FunctionEntry { name, input, is_definition }
    }

    /// Says in the list whether a function has a body. O(functions), where that is another than
    /// before.
    pub(crate) fn set_definition(
        &mut self,
        module: ModuleInput,
        function: FunctionInput,
        is_definition: bool,
    ) {
        let is_stale = |e: &FunctionEntry| e.input == function && e.is_definition != is_definition;
        let Some(at) = module.functions(self).iter().position(is_stale) else { return };
        let mut entries = module.functions(self).clone();
        entries[at].is_definition = is_definition;
        self.set_functions(module, entries);
    }

    /// Sets the list of functions. Drops retained state if that changes which functions are known
    /// by name, since the state was computed with the former ones.
    pub(crate) fn set_functions(&mut self, module: ModuleInput, entries: Vec<FunctionEntry>) {
        let before = Arc::clone(queries::library(self, module));
        module.set_functions(self).to(entries);
        if *queries::library(self, module) != before {
            self.trim(module);
        }
    }

    /// Drops the retained state of all functions of a module. Later queries may build it again.
    pub fn trim(&self, module: ModuleInput) {
        for entry in module.functions(self) {
            queries::drop_kept(self, entry.input);
        }
        self.module_facts().lock().remove(&module);
    }
}

/// Puts the shell of a module back, also when the edit panics.
struct PutShell<'d> {
    db: &'d mut Database,
    module: ModuleInput,
    shell: Option<Module>,
}

impl Drop for PutShell<'_> {
    fn drop(&mut self) {
        if let Some(shell) = self.shell.take() {
            self.module.set_shell(self.db).to(shell);
        }
    }
}

/// Whether a constant is one of some entities, or made of them.
fn is_made_of(context: &Context, constant: Const, names: &FxHashSet<GlobalName>) -> bool {
    let mut work = vec![constant];
    let mut seen: FxHashSet<Const> = FxHashSet::default();
    while let Some(constant) = work.pop() {
        let kind = &context.const_data(constant).kind;
        if kind.entity().is_some_and(|name| names.contains(&name)) {
            return true;
        }
        work.extend(kind.parts().iter().copied().filter(|&part| seen.insert(part)));
    }
    false
}

/// Names of all entities that functions and the shell refer to.
fn references(
    db: &Database,
    module: ModuleInput,
    functions: impl Iterator<Item = FunctionInput>,
) -> FxHashSet<GlobalName> {
    let (shell, context) = (module.shell(db), module.context(db));
    let mut names: FxHashSet<GlobalName> =
        shell.block_addresses.iter().map(|a| a.function).collect();
    let mut seen: FxHashSet<Const> = FxHashSet::default();
    let mut work: Vec<Const> = Vec::new();
    work.extend(shell.variables.iter().filter_map(|v| v.initializer));
    work.extend(shell.aliases.iter().map(|a| a.target));
    for function in functions {
        let (header, body) = (function.header(db), function.body(db));
        work.extend(header.prefix.iter().chain(&header.prologue).chain(&header.personality));
        for inst in body.all_ids().filter(|&inst| body.block_of(inst).is_some()) {
            let constants = body.operands(inst).iter().filter_map(|operand| match operand.kind() {
                ValueKind::Const(constant) => Some(constant),
                _ => None,
            });
            work.extend(constants.filter(|&c| !seen.contains(&c)));
        }
        while let Some(constant) = work.pop() {
            if seen.insert(constant) {
                let kind = &context.const_data(constant).kind;
                names.extend(kind.entity());
                work.extend_from_slice(kind.parts());
            }
        }
    }
    while let Some(constant) = work.pop() {
        if seen.insert(constant) {
            let kind = &context.const_data(constant).kind;
            names.extend(kind.entity());
            work.extend_from_slice(kind.parts());
        }
    }
    names
}
