//! A [`Session`]: modules, their functions, and every fact about them.

mod facts;
mod handles;
mod ids;
mod log;
mod module_edits;
#[cfg(feature = "transform")]
mod passes;
#[cfg(feature = "report")]
mod reports;

use std::{num::NonZeroUsize, sync::Arc};

pub use self::ids::{FunctionId, ModuleId};
#[cfg(feature = "transform")]
pub use self::passes::{Broken, GaveUp, PassRun};

use phalanx_db::{
    Database, FunctionInput, ModuleEditError, ReloadReport, TargetOverrides,
    queries::{self},
};
use phalanx_ir::{
    BuildError, Context, Function, InstId, Module, ModuleBuilder, edit::Transaction,
    function::FunctionRef,
};
use phalanx_llvm::{ModulePrinter, SourceMap};
use phalanx_target::{LaunchStatement, Target, library::Extension};

use crate::read::{ReadError, parse_in_threads, state_target, verified};

/// Modules under analysis.
///
/// A clone is another handle on the same modules, for another thread. All handles can answer
/// queries at the same time. A change of a module waits until all other handles are dropped.
#[derive(Clone, Debug, Default)]
pub struct Session {
    db: Database,
    context: Arc<Context>,
    verifying: Verifying,
    /// In how many threads modules are read, verified and printed, if that was said.
    threads: Option<NonZeroUsize>,
}

/// When the rules of the IR are checked.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Verifying {
    /// Modules that are read, read again or added; and edits if debug assertions are on.
    #[default]
    Modules,
    /// The same, and every edit.
    Everything,
    /// Never. Facts about invalid code are meaningless.
    Nothing,
}

impl Session {
    /// A session without modules.
    pub fn new() -> Self {
        Self::default()
    }

    /// A session that records which queries run and which cached results are reused: see
    /// [`Session::take_log`].
    pub fn with_event_log() -> Self {
        Session { db: Database::with_event_log(), ..Session::default() }
    }

    /// The types, constants and names of the session; a [`phalanx_ir::builder::ModuleBuilder`]
    /// needs it.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The database below, for queries that have no method here.
    #[cfg(feature = "database")]
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// The database below, for passes of a driver's own in a pipeline: a
    /// [`phalanx_transform::Manager`] runs on it.
    #[cfg(feature = "database")]
    pub fn database_mut(&mut self) -> &mut Database {
        &mut self.db
    }

    /// Reads a module from the text of LLVM IR and verifies it. O(length).
    ///
    /// # Errors
    /// The first mistake in the text, or all broken rules of the IR.
    pub fn read(&mut self, text: &[u8]) -> Result<ModuleId, ReadError> {
        self.read_for(text, TargetOverrides::default())
    }

    /// As [`Session::read`], for another triple or processor than the text names.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn read_for(
        &mut self,
        text: &[u8],
        target: TargetOverrides,
    ) -> Result<ModuleId, ReadError> {
        let (module, source_map) = self.verified(self.parse(text, &target)?)?;
        Ok(self.loaded(module, source_map, target))
    }

    /// As [`Session::read_for`] without the verifier: for text that is known to be valid, or that
    /// is to be inspected anyway. Facts about an invalid module are meaningless, but asking for
    /// them is safe as long as its control flow is sound.
    ///
    /// # Errors
    /// The first mistake in the text.
    pub fn read_unverified(
        &mut self,
        text: &[u8],
        target: TargetOverrides,
    ) -> Result<ModuleId, ReadError> {
        let (module, source_map) = self.parse(text, &target)?;
        Ok(self.loaded(module, source_map, target))
    }

    fn parse(
        &self,
        text: &[u8],
        target: &TargetOverrides,
    ) -> Result<(Module, Option<SourceMap>), ReadError> {
        let parsed = parse_in_threads(&self.context, text, target, self.threads())
            .map_err(|error| ReadError::Parse(Box::new(error)))?;
        Ok((parsed.module, Some(parsed.source_map)))
    }

    /// Reads a module again after its text changed. Functions are matched by name, and facts of
    /// those that did not change stay valid. O(length).
    ///
    /// # Errors
    /// As [`Session::read`]; the session is then as it was.
    pub fn reread(&mut self, module: ModuleId, text: &[u8]) -> Result<ReloadReport, ReadError> {
        let input = self.module_there(module);
        let (new, source_map) = self.verified(self.parse(text, input.overrides(&self.db))?)?;
        Ok(self.db.reload(input, new, source_map))
    }

    /// Adds a module that was built over [`Session::context`], and verifies it. Like a module that
    /// is read, it gets the driver's triple, if there is one, and the data layout of its target
    /// unless it states one. O(size).
    ///
    /// # Errors
    /// All broken rules of the IR.
    ///
    /// # Panics
    /// When the module belongs to another context.
    pub fn add(
        &mut self,
        mut module: Module,
        target: TargetOverrides,
    ) -> Result<ModuleId, ReadError> {
        assert!(
            Arc::ptr_eq(&self.context, &module.context),
            "a module is built over the context of the session that it is added to"
        );
        state_target(&mut module, &target);
        let (module, source_map) = self.verified((module, None))?;
        Ok(self.loaded(module, source_map, target))
    }

    fn verified(
        &self,
        module: (Module, Option<SourceMap>),
    ) -> Result<(Module, Option<SourceMap>), ReadError> {
        match self.verifying {
            Verifying::Nothing => Ok(module),
            Verifying::Modules | Verifying::Everything => verified(module, self.threads()),
        }
    }

    fn loaded(
        &mut self,
        module: Module,
        source_map: Option<SourceMap>,
        target: TargetOverrides,
    ) -> ModuleId {
        let input = self.db.load(module, source_map, target);
        self.module_id_of(input).expect("it was loaded just now")
    }

    /// Reads, verifies and prints modules in at most so many threads: of this handle, and of its
    /// clones from now on. One, unless this is called. What comes out does not depend on it.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = Some(threads);
    }

    fn threads(&self) -> usize {
        self.threads.map_or(1, NonZeroUsize::get)
    }

    /// Sets when the rules of the IR are checked, for this handle and clones that are made later.
    pub fn set_verifying(&mut self, verifying: Verifying) {
        self.verifying = verifying;
        self.db.set_verifying_edits(match verifying {
            Verifying::Modules => cfg!(debug_assertions),
            Verifying::Everything => true,
            Verifying::Nothing => false,
        });
    }

    /// A builder of a module for [`Session::add`]. The module is verified once, when it is added:
    /// the builder checks operands and types at each step, and leaves rules about whole functions
    /// (dominance, phis) to [`Session::add`].
    pub fn builder(&self) -> ModuleBuilder {
        let mut builder = ModuleBuilder::new(Arc::clone(&self.context));
        builder.verifying(false);
        builder
    }

    /// Removes a module with all of its functions, and frees their memory. Their ids become
    /// invalid. Returns whether the module existed.
    ///
    /// What remains is an empty place per function, which functions of later modules reuse, and one
    /// entry in [`Session::context`] for each type, constant and name that was ever used.
    pub fn remove_module(&mut self, module: ModuleId) -> bool {
        let is_there = self.has_module(module);
        if is_there {
            self.db.remove_module(module.input);
        }
        is_there
    }

    /// Adds a function at the end of a module: see [`Database::add_function`]. The function may be
    /// a header without code. An edit can then add blocks and instructions, by the methods of a
    /// builder.
    ///
    /// ```
    /// use phalanx::ir::{BuildError, Function, FunctionHeader, GlobalName, InstBuilder, Type};
    /// use phalanx::prelude::*;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut session = Session::new();
    /// let module = session.read(b"")?;
    /// let context = session.context();
    /// let name = GlobalName::Named(context.symbol(b"twice"));
    /// let header = FunctionHeader::new(context, name, Type::I32, &[Type::I32], false);
    /// let twice = session.add_function(module, Function::new(header))?;
    /// session.edit(twice, |edit| {
    ///     let entry = edit.create_block("entry", None)?;
    ///     let mut here = edit.at_end(entry);
    ///     let sum = here.named("sum").add(Value::arg(0), Value::arg(0))?;
    ///     here.ret(sum)?;
    ///     Ok::<_, BuildError>(())
    /// })?;
    /// let text = String::from_utf8(session.print(module))?;
    /// assert!(text.contains("define i32 @twice(i32 %0) {\nentry:\n  %sum = add i32 %0, %0\n  ret i32 %sum\n}"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the module has an entity of its name, or it breaks a rule.
    pub fn add_function(
        &mut self,
        module: ModuleId,
        function: Function,
    ) -> Result<FunctionId, ModuleEditError> {
        let module = self.module_there(module);
        let function = self.db.add_function(module, function)?;
        Ok(self.id_of(function).expect("it was added just now"))
    }

    /// Removes functions from their modules, if only they themselves and metadata refer to them.
    /// Their ids become invalid.
    ///
    /// # Errors
    /// When a function was removed already, or something that stays refers to one. Then nothing is
    /// removed.
    pub fn remove_functions(
        &mut self,
        module: ModuleId,
        functions: &[FunctionId],
    ) -> Result<(), ModuleEditError> {
        let module = self.module_there(module);
        let there = functions.iter().map(|&function| self.function_to_change(function));
        let there: Vec<FunctionInput> = there.collect::<Result<_, _>>()?;
        self.db.remove_functions(module, &there)
    }

    /// Functions of a module that have a body, in order.
    pub fn functions(&self, module: ModuleId) -> impl Iterator<Item = FunctionId> + '_ {
        let entries = self.module_there(module).functions(&self.db).iter();
        let definitions = entries.filter(|entry| entry.is_definition);
        definitions.filter_map(|entry| self.id_of(entry.input))
    }

    /// The function with this name, declaration or definition. O(functions) once, then O(1).
    pub fn function(&self, module: ModuleId, name: &str) -> Option<FunctionId> {
        let symbol = self.context.find_symbol(name.as_bytes())?;
        let symbols = queries::symbols(&self.db, self.module_there(module));
        let found = symbols.get(&phalanx_ir::GlobalName::Named(symbol)).copied()?;
        self.id_of(found)
    }

    /// The module's target.
    pub fn target(&self, module: ModuleId) -> &Target {
        queries::target(&self.db, self.module_there(module))
    }

    /// The parts of a function: header, flow, body, extras.
    pub fn code(&self, function: FunctionId) -> FunctionRef<'_> {
        self.function_there(function).view(&self.db)
    }

    /// The name of a function.
    pub fn name(&self, function: FunctionId) -> String {
        let mut out = Vec::new();
        match self.function_there(function).header(&self.db).name {
            phalanx_ir::GlobalName::Named(symbol) => {
                out.extend_from_slice(self.context.bytes(symbol));
            }
            phalanx_ir::GlobalName::Numbered(number) => {
                out.extend_from_slice(number.to_string().as_bytes());
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Whether threads start in the function.
    pub fn is_kernel(&self, function: FunctionId) -> bool {
        queries::is_kernel(&self.db, self.at(function))
    }

    /// Edits a function in a transaction. If `edit` returns `Ok` and all rules are satisfied, its
    /// changes are kept; otherwise they are undone. Facts that are asked for afterwards are updated
    /// incrementally. See [`phalanx_ir::edit`].
    ///
    /// Waits until all other handles on the session are dropped.
    ///
    /// # Errors
    /// The error of `edit`, or of [`Transaction::commit`].
    pub fn edit<R, E: From<BuildError>>(
        &mut self,
        function: FunctionId,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let function = self.function_to_edit(function)?;
        self.db.edit(function, edit)
    }

    /// Replaces the code, names and attributes of a function. Parts that are equal stay as they
    /// are, with their facts.
    ///
    /// This is how to undo a commit: save the function before, and put it back.
    ///
    /// ```
    /// use phalanx::{ir::BuildError, prelude::*};
    ///
    /// let mut session = Session::new();
    /// let module = session.read(b"define i32 @f(i32 %n) {\n  %a = add i32 %n, 1\n  ret i32 %a\n}\n")?;
    /// let function = session.function(module, "f").expect("it is defined");
    /// let (before, text) = (session.code(function).to_function(), session.print(module));
    /// session.edit(function, |edit| {
    ///     let add = edit.body().all_ids().next().expect("it is there");
    ///     edit.replace(add, Value::arg(0))
    /// })?;
    /// assert_ne!(session.print(module), text);
    /// session.replace_function(function, before)?;
    /// assert_eq!(session.print(module), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the id is invalid, the function has another name or type, or it breaks a rule. Then
    /// nothing is changed.
    pub fn replace_function(
        &mut self,
        function: FunctionId,
        new: Function,
    ) -> Result<(), ModuleEditError> {
        let function = self.function_to_change(function)?;
        self.db.replace_function(function, new)
    }

    /// States how a function is launched, if the module does not say. See [`Database::set_launch`].
    ///
    /// # Errors
    /// When the statement contradicts the module.
    pub fn set_launch(
        &mut self,
        function: FunctionId,
        launch: LaunchStatement,
    ) -> Result<(), ModuleEditError> {
        let function = self.function_to_change(function)?;
        self.db.set_launch(function, launch)
    }

    /// States that only kernels of a module are entered from outside, whatever linkage says. Then
    /// all callers of its other functions are known. See [`Database::set_whole`].
    pub fn set_whole(&mut self, module: ModuleId, is_whole: bool) {
        self.db.set_whole(self.module_there(module), is_whole);
    }

    /// States what functions do that a module only declares, besides those that are known by name.
    /// All later queries and transforms use it; retained facts are recomputed where such a function
    /// is declared.
    ///
    /// ```
    /// use phalanx::{prelude::*, target::library::Extension};
    ///
    /// let text = br#"
    /// target triple = "nvptx64-nvidia-cuda"
    /// declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    /// declare i32 @team_max(i32)
    /// define ptx_kernel void @k(ptr addrspace(1) %out) {
    ///   %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    ///   %max = call i32 @team_max(i32 %tid)
    ///   store i32 %max, ptr addrspace(1) %out
    ///   ret void
    /// }
    /// "#;
    /// let mut session = Session::new();
    /// let module = session.read(text)?;
    /// let kernel = session.function(module, "k").expect("it is defined above");
    /// let entry = session.code(kernel).flow.entry().expect("it has a body");
    /// let max = session.code(kernel).body.block_insts(entry).nth(1).expect("it is there");
    ///
    /// let is_uniform = |session: &Session| {
    ///     let divergence = session.divergence(kernel).expect("it has a body");
    ///     divergence.is_uniform(Value::inst(max), Scope::Wave)
    /// };
    /// assert!(!is_uniform(&session), "nothing is known of the function");
    /// let rows = "@ agree(data=0)  memory=none convergent willreturn\n team_max";
    /// session.set_extension(module, Extension::parse(rows)?);
    /// assert!(is_uniform(&session), "all lanes get the largest of what they have");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_extension(&mut self, module: ModuleId, extension: Extension) {
        self.db.set_extension(self.module_there(module), extension);
    }

    /// The text of a module. O(size).
    pub fn print(&self, module: ModuleId) -> Vec<u8> {
        let mut out = Vec::new();
        self.printer(module).module_in_threads(&mut out, self.threads());
        out
    }

    /// Prints a module and parts of it; reports are made with it. O(functions and globals).
    pub fn printer(&self, module: ModuleId) -> ModulePrinter<'_> {
        let module = self.module_there(module);
        let functions = module.functions(&self.db).iter().map(|entry| entry.input.view(&self.db));
        ModulePrinter::with_functions(module.shell(&self.db), functions.collect())
    }

    /// The text of one instruction, without indentation; empty if the function does not have this
    /// instruction (any more).
    pub fn print_inst(&self, function: FunctionId, inst: InstId) -> String {
        let function = self.at(function);
        let (module, code) = (function.module(&self.db), function.view(&self.db));
        if !code.body.has(inst) {
            return String::new();
        }
        let printer = ModulePrinter::with_functions(module.shell(&self.db), vec![code]);
        let mut out = Vec::new();
        printer.function(code).inst(inst, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}
