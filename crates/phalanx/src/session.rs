//! A [`Session`]: modules, their functions, and every fact about them.

mod facts;

use std::sync::Arc;

use phalanx_db::{
    Database, FunctionInput, ModuleEditError, ModuleInput, ReloadReport, TargetOverrides,
    queries::{self},
};
use phalanx_ir::{
    BuildError, Context, Function, InstId, Module, edit::Transaction, function::FunctionRef,
};
use phalanx_llvm::{ModulePrinter, SourceMap};
use phalanx_target::{LaunchStatement, Target, library::Extension};

use crate::read::{ReadError, parse_for, state_target, verified};

/// Modules under analysis.
///
/// A clone is another handle on the same modules, for another thread; facts may be asked on all of them at once. Changing a
/// module waits until all other handles are gone.
#[derive(Clone, Debug, Default)]
pub struct Session {
    db: Database,
    context: Arc<Context>,
}

/// A module of a session.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct ModuleId(pub(crate) ModuleInput);

impl ModuleId {
    /// The input of the database.
    pub fn input(self) -> ModuleInput {
        self.0
    }
}

/// A function of a session.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionId(pub(crate) FunctionInput);

impl FunctionId {
    /// The input of the database.
    pub fn input(self) -> FunctionInput {
        self.0
    }
}

impl Session {
    /// A session without modules.
    pub fn new() -> Self {
        Self::default()
    }

    /// A session that records which queries run and which answers are found to be still good: see [`Database::take_log`].
    pub fn with_event_log() -> Self {
        Session { db: Database::with_event_log(), context: Arc::default() }
    }

    /// Where types, constants and names live: what a [`phalanx_ir::builder::ModuleBuilder`] is made over.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The database below, for queries that have no method here.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// The database below, to add and remove functions and to change headers and globals: what a
    /// [`phalanx_transform::Manager`] runs on.
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
        let (module, source_map) = verified(self.parse(text, &target)?)?;
        Ok(ModuleId(self.db.load(module, source_map, target)))
    }

    /// As [`Session::read_for`] without the verifier: for text that is known to be good, or meant to be looked at anyway.
    /// Facts about a module that breaks rules mean nothing, but asking for them is safe as far as its control flow is sound.
    ///
    /// # Errors
    /// The first mistake in the text.
    pub fn read_unverified(
        &mut self,
        text: &[u8],
        target: TargetOverrides,
    ) -> Result<ModuleId, ReadError> {
        let (module, source_map) = self.parse(text, &target)?;
        Ok(ModuleId(self.db.load(module, source_map, target)))
    }

    fn parse(
        &self,
        text: &[u8],
        target: &TargetOverrides,
    ) -> Result<(Module, Option<SourceMap>), ReadError> {
        let parsed = parse_for(&self.context, text, target)
            .map_err(|error| ReadError::Parse(Box::new(error)))?;
        Ok((parsed.module, Some(parsed.source_map)))
    }

    /// Reads a module again after its text changed. Functions are matched by name, and facts of those that did not change
    /// stay valid. O(length).
    ///
    /// # Errors
    /// As [`Session::read`]; the session is then as it was.
    pub fn reread(&mut self, module: ModuleId, text: &[u8]) -> Result<ReloadReport, ReadError> {
        let (new, source_map) = verified(self.parse(text, module.0.overrides(&self.db))?)?;
        Ok(self.db.reload(module.0, new, source_map))
    }

    /// Adds a module that was built over [`Session::context`], and verifies it. As text that is read, it has the driver's triple, if there
    /// is one, and the data layout of its target unless it states one. O(size).
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
        let (module, source_map) = verified((module, None))?;
        Ok(ModuleId(self.db.load(module, source_map, target)))
    }

    /// Adds a function to a module, at the end: see [`Database::add_function`]. It need not have its code yet. One without code is made of a header
    /// alone, and gets blocks and instructions in an edit, by the methods that a builder has.
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
        self.db.add_function(module.0, function).map(FunctionId)
    }

    /// Functions of a module that have a body, in order.
    pub fn functions(&self, module: ModuleId) -> impl Iterator<Item = FunctionId> + '_ {
        let entries = module.0.functions(&self.db).iter();
        entries.filter(|entry| entry.is_definition).map(|entry| FunctionId(entry.input))
    }

    /// The function with this name, declaration or definition. O(functions) once, then O(1).
    pub fn function(&self, module: ModuleId, name: &str) -> Option<FunctionId> {
        let symbol = self.context.find_symbol(name.as_bytes())?;
        let symbols = queries::symbols(&self.db, module.0);
        symbols.get(&phalanx_ir::GlobalName::Named(symbol)).copied().map(FunctionId)
    }

    /// The module's target.
    pub fn target(&self, module: ModuleId) -> &Target {
        queries::target(&self.db, module.0)
    }

    /// The parts of a function: header, flow, body, extras.
    pub fn code(&self, function: FunctionId) -> FunctionRef<'_> {
        function.0.view(&self.db)
    }

    /// The name of a function.
    pub fn name(&self, function: FunctionId) -> String {
        let mut out = Vec::new();
        match function.0.header(&self.db).name {
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
        queries::is_kernel(&self.db, function.0)
    }

    /// Edits a function in a transaction: what `edit` did is kept when it returns `Ok` and all rules are satisfied, and taken back
    /// otherwise. Facts that are asked afterwards are repaired. See [`phalanx_ir::edit`].
    ///
    /// Waits until all other handles on the session are gone.
    ///
    /// # Errors
    /// That of `edit`, or of [`Transaction::commit`].
    pub fn edit<R, E: From<BuildError>>(
        &mut self,
        function: FunctionId,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.db.edit(function.0, edit)
    }

    /// States how a function is launched, where the module does not say. See [`Database::set_launch`].
    ///
    /// # Errors
    /// When the module says something else.
    pub fn set_launch(
        &mut self,
        function: FunctionId,
        launch: LaunchStatement,
    ) -> Result<(), ModuleEditError> {
        self.db.set_launch(function.0, launch)
    }

    /// States that no function of a module but its kernels is entered from outside of it, whatever linkage says. Then what is passed to
    /// functions is known. See [`Database::set_whole`].
    pub fn set_whole(&mut self, module: ModuleId, is_whole: bool) {
        self.db.set_whole(module.0, is_whole);
    }

    /// States what functions do that a module only declares, besides those that are known by name.
    /// All that is asked afterwards follows it, transforms included; facts that are kept are found
    /// anew where such a function is declared.
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
        self.db.set_extension(module.0, extension);
    }

    /// The text of a module. O(size).
    pub fn print(&self, module: ModuleId) -> Vec<u8> {
        let mut out = Vec::new();
        self.printer(module).module(&mut out);
        out
    }

    /// What prints a module and parts of it, and what reports are made with. O(functions and globals).
    pub fn printer(&self, module: ModuleId) -> ModulePrinter<'_> {
        let functions = module.0.functions(&self.db).iter().map(|entry| entry.input.view(&self.db));
        ModulePrinter::with_functions(module.0.shell(&self.db), functions.collect())
    }

    /// The text of one instruction, without indentation; empty where the function has none of this number, or has it no more.
    pub fn print_inst(&self, function: FunctionId, inst: InstId) -> String {
        let module = function.0.module(&self.db);
        let code = self.code(function);
        if !code.body.has(inst) {
            return String::new();
        }
        let printer = ModulePrinter::with_functions(module.shell(&self.db), vec![code]);
        let mut out = Vec::new();
        printer.function(code).inst(inst, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}
