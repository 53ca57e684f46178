//! A [`Session`]: modules, their functions, and every fact about them.

use std::sync::Arc;

use phalanx_analysis::{
    Convergence,
    check::Finding,
    data_flow::DataFlow,
    divergence::{Divergence, ValueTable},
    explain::Link,
    legality::Legality,
    loads::{LoadClasses, Root, RootUse},
    memory::{Alias, MemorySsa},
    shape::access::Accesses,
    spaces::{MemoryKinds, SpaceChain, SpaceSet, SpaceSubject, Specialization},
    stable::Assumptions,
    variance::BarrierModel,
};
use phalanx_db::{
    Database, FunctionInput, ModuleEditError, ModuleInput, ReloadReport, TargetOverrides,
    queries::{self, CallLink, Subject},
};
use phalanx_graph::{Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, PostDomTree};
use phalanx_ir::{
    BlockId, BuildError, Context, Function, InstId, Module, Value, edit::Transaction, flow,
    function::FunctionRef,
};
use phalanx_llvm::{ModulePrinter, SourceMap};
use phalanx_target::{LaunchStatement, Scope, SourceSet, Target};

use crate::{
    read::{ReadError, parse_for, state_target, verified},
    view::{DivergenceView, VarianceView},
};

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

    /// The control-flow graph; none for a declaration or a function that was removed, as for all facts below. What is asked of a value, an
    /// instruction or a block that the function does not have, or has no more, is answered as if nothing were known of it.
    pub fn cfg(&self, function: FunctionId) -> Option<&Cfg> {
        queries::cfg(&self.db, function.0)
    }

    /// Depth-first numbers and reverse post-order.
    pub fn dfs(&self, function: FunctionId) -> Option<&Dfs> {
        queries::dfs(&self.db, function.0)
    }

    /// The dominator tree.
    pub fn dom_tree(&self, function: FunctionId) -> Option<&DomTree> {
        queries::dom_tree(&self.db, function.0)
    }

    /// The post-dominator tree.
    pub fn postdom_tree(&self, function: FunctionId) -> Option<&PostDomTree> {
        queries::postdom_tree(&self.db, function.0)
    }

    /// Dominance frontiers.
    pub fn dom_frontier(&self, function: FunctionId) -> Option<&DominanceFrontier> {
        queries::dom_frontier(&self.db, function.0)
    }

    /// Control dependence.
    pub fn control_dependence(&self, function: FunctionId) -> Option<&ControlDependence> {
        queries::control_dependence(&self.db, function.0)
    }

    /// The cycle hierarchy.
    pub fn cycles(&self, function: FunctionId) -> Option<&Cycles> {
        queries::cycles(&self.db, function.0)
    }

    /// What affects what, and what each definition contributes by itself.
    pub fn affect_map(&self, function: FunctionId) -> Option<&ValueTable> {
        queries::affect_map(&self.db, function.0).as_ref()
    }

    /// Which memories each pointer may lead to. None for a declaration.
    pub fn memory_kinds(&self, function: FunctionId) -> Option<&MemoryKinds> {
        queries::memory_kinds(&self.db, function.0).as_deref()
    }

    /// Why an address may lead to each of some memories: a shortest chain for each, one for all that have the same. Costs as much as
    /// [`Session::memory_kinds`] from scratch.
    pub fn explain_spaces(
        &self,
        function: FunctionId,
        subject: SpaceSubject,
        memories: SpaceSet,
    ) -> Vec<SpaceChain> {
        queries::explain_spaces(&self.db, function.0, subject, memories)
    }

    /// How two loads, stores or atomic operations of a function relate. None if one of them is something else, or for a declaration. Each
    /// question looks at what the addresses are made from; [`queries::with_aliases`] shares that among several.
    pub fn alias(&self, function: FunctionId, a: InstId, b: InstId) -> Option<Alias> {
        queries::alias(&self.db, function.0, a, b)
    }

    /// What the lanes of a wave touch at each load, store and atomic operation. None for a declaration.
    pub fn memory_accesses(&self, function: FunctionId) -> Option<&Accesses> {
        queries::memory_accesses(&self.db, function.0).as_deref()
    }

    /// Memory in HSSA form: versions of private slots and of classes of memory. None for a declaration.
    pub fn memory_ssa(&self, function: FunctionId) -> Option<&MemorySsa> {
        queries::memory_ssa(&self.db, function.0).as_deref()
    }

    /// Copies of a function, each for some of its calls, which would access narrower spaces. Costs a look at all calls in its callers.
    pub fn space_specializations(
        &self,
        function: FunctionId,
    ) -> Vec<Specialization<(FunctionId, InstId)>> {
        let found = queries::space_specializations(&self.db, function.0);
        let id = |Specialization { arguments, calls }: Specialization<_>| Specialization {
            arguments,
            calls: calls.into_iter().map(|(of, call)| (FunctionId(of), call)).collect(),
        };
        found.into_iter().map(id).collect()
    }

    /// Accesses and casts that cannot be right where their addresses lead: see [`phalanx_analysis::check::spaces`].
    pub fn space_conflicts(&self, function: FunctionId) -> &[Finding] {
        queries::space_conflicts(&self.db, function.0).as_deref().unwrap_or_default()
    }

    /// What anything directly influences, memory included: Kong's affect map in full.
    pub fn data_flow(&self, function: FunctionId) -> Option<DataFlow<'_>> {
        queries::data_flow(&self.db, function.0)
    }

    /// What diverges, by everything we know.
    pub fn divergence(&self, function: FunctionId) -> Option<DivergenceView<'_>> {
        let facts = queries::divergence(&self.db, function.0).as_ref()?;
        Some(DivergenceView::new(&self.db, function.0, facts, None))
    }

    /// Why something differs between threads of a scope: the shortest chain of causes from it to a source, itself first. Empty
    /// when it is uniform. The first question about a function costs as much as its divergence from scratch, others their chain.
    pub fn explain(&self, function: FunctionId, subject: Subject, scope: Scope) -> Vec<Link> {
        queries::explain(&self.db, function.0, subject, scope)
    }

    /// As [`Session::explain`], for sources of one's choice.
    pub fn explain_sources(
        &self,
        function: FunctionId,
        subject: Subject,
        sources: SourceSet,
    ) -> Vec<Link> {
        queries::explain_sources(&self.db, function.0, subject, sources)
    }

    /// As [`Session::explain_sources`], through calls: into callees, and up to callers where these are known. With assumptions, what
    /// diverges by [`Session::divergence_assuming`].
    pub fn explain_through_calls(
        &self,
        function: FunctionId,
        subject: Subject,
        sources: SourceSet,
        assumed: Option<Assumptions>,
    ) -> Vec<CallLink> {
        queries::explain_through_calls(&self.db, function.0, subject, sources, assumed)
    }

    /// What is wrong with a function, or may be: see [`phalanx_analysis::check`]. Empty for a declaration.
    ///
    /// A [`Checker`](phalanx_report::check::Checker) says it with places and reasons, which are those of the program that was compiled
    /// where [`!dbg`](phalanx_ir::FunctionBuilder::set_location) says so; [`write_text`](phalanx_report::check::write_text) draws it with ANSI colours.
    ///
    /// ```
    /// use phalanx::{prelude::*, report::{check::{Checker, SourceFile, Sources, write_text}, diagnostics::SourceText}};
    ///
    /// /// The files that were compiled: none here.
    /// struct NoFiles;
    /// impl Sources for NoFiles {
    ///     fn text(&self, _file: &str, _folder: &str) -> Option<std::sync::Arc<Vec<u8>>> {
    ///         None
    ///     }
    /// }
    ///
    /// let text = br#"
    /// target triple = "nvptx64-nvidia-cuda"
    /// define ptx_kernel void @k(ptr addrspace(1) %p) {
    ///   %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    ///   %low = icmp ult i32 %x, 16
    ///   br i1 %low, label %wait, label %end
    /// wait:
    ///   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
    ///   br label %end
    /// end:
    ///   store i32 1, ptr addrspace(1) %p
    ///   ret void
    /// }"#;
    /// let mut session = Session::new();
    /// let module = session.read(text)?;
    /// // Of a module that was built, `session.print(module)` takes the place of the text.
    /// let source = SourceText { name: "kernel.ll", text };
    /// let printer = session.printer(module);
    /// let mut out = String::new();
    /// for function in session.functions(module) {
    ///     let checker = Checker::new(session.database(), function.input(), &printer, text, &NoFiles);
    ///     for finding in session.diagnostics(function) {
    ///         let diagnostic = checker.diagnostic(finding);
    ///         assert_eq!((diagnostic.code, diagnostic.location.ir.line), ("PHX001", 8));
    ///         write_text(&diagnostic, source, &NoFiles, &mut out).expect("a string takes anything");
    ///     }
    /// }
    /// assert!(out.contains("thread (0, 0, 0) comes here, thread (16, 0, 0) does not"));
    /// # Ok::<(), phalanx::ReadError>(())
    /// ```
    pub fn diagnostics(&self, function: FunctionId) -> &[Finding] {
        queries::diagnostics(&self.db, function.0).as_deref().unwrap_or_default()
    }

    /// Accesses of memory that take longer than they had to: lanes far apart, and lanes in one bank.
    pub fn slow_accesses(&self, function: FunctionId) -> &[Finding] {
        queries::slow_accesses(&self.db, function.0).as_deref().unwrap_or_default()
    }

    /// Loads that would take a cheaper way but for one obstacle.
    pub fn slow_loads(&self, function: FunctionId) -> &[Finding] {
        queries::slow_loads(&self.db, function.0).as_deref().unwrap_or_default()
    }

    /// Branches that part threads of a wave, and would not for some launches that could be stated.
    pub fn launch_suggestions(&self, function: FunctionId) -> &[Finding] {
        queries::launch_suggestions(&self.db, function.0).as_deref().unwrap_or_default()
    }

    /// What diverges, from the sources that LLVM 22 assumes, with its unsound control rules repaired: what
    /// `print<uniformity>` shows. In the dense form of the analysis; [`Numbering`](phalanx_analysis::lower::Numbering) names its values.
    pub fn uniformity(&self, function: FunctionId) -> Option<&Divergence> {
        queries::uniformity(&self.db, function.0).as_deref()
    }

    /// Which motions are legal of operations that communicate among the threads of a scope; see [`phalanx_analysis::legality`], also on
    /// calls that may not come back, which are not looked at.
    ///
    /// Blocks are nodes there: [`node_of`](flow::node_of) and [`block_of`](flow::block_of) lead from one to the other.
    ///
    /// ```
    /// use phalanx::{analysis::legality::Refusal, ir::flow::{block_of, node_of}, prelude::*};
    ///
    /// let text = br#"
    /// target triple = "amdgcn-amd-amdhsa"
    /// define amdgpu_kernel void @k(i32 %n) {
    /// entry:
    ///   %x = call i32 @llvm.amdgcn.workitem.id.x()
    ///   %low = icmp slt i32 %x, %n
    ///   br i1 %low, label %vote, label %end
    /// vote:
    ///   %all = call i64 @llvm.amdgcn.ballot.i64(i1 true)
    ///   br label %end
    /// end:
    ///   ret void
    /// }"#;
    /// let mut session = Session::new();
    /// let module = session.read(text)?;
    /// let kernel = session.function(module, "k").expect("it is defined above");
    /// let order = session.code(kernel).flow.order();
    /// let [entry, vote] = [order[0], order[1]].map(node_of);
    /// let legality = session.legality(kernel, Scope::Wave).expect("it has a body");
    /// let refused = legality.hoist(vote, entry, true).expect_err("fewer threads vote below the branch");
    /// assert_eq!(refused, Refusal::Separates { branch: entry, below: vote });
    /// let name = |node| session.code(kernel).extras.names.block(block_of(node)).map_or_else(String::new, |name| {
    ///     format!("%{}", String::from_utf8_lossy(name))
    /// });
    /// assert_eq!(refused.describe(&name), "threads part at the divergent branch of %entry, and some do not come to %vote");
    /// # Ok::<(), phalanx::ReadError>(())
    /// ```
    pub fn legality(&self, function: FunctionId, scope: Scope) -> Option<Legality<'_>> {
        queries::legality(&self.db, function.0, scope)
    }

    /// Convergent operations of a function, the threads that each communicates among, and the tokens that control them; see
    /// [`phalanx_analysis::convergence`].
    pub fn convergence(&self, function: FunctionId) -> Option<&Convergence> {
        queries::convergence(&self.db, function.0).as_deref()
    }

    /// Along which dimensions of the thread index values, statements, branches and blocks differ within a workgroup: the interface of
    /// Kong's variance analysis. After an edit it costs what [`Session::divergence`] costs.
    pub fn variance(&self, function: FunctionId) -> Option<VarianceView<'_>> {
        VarianceView::new(&self.db, function.0)
    }

    /// Whether a value is equal over all lanes of a wave, active or not, whenever they compute it: what a computation may be moved on to
    /// where other threads are active. See [`true_uniformity`](phalanx_analysis::true_uniformity). O(what the value is computed from).
    pub fn is_truly_uniform(&self, function: FunctionId, value: Value) -> bool {
        queries::is_truly_uniform(&self.db, function.0, value)
    }

    /// Blocks whose terminators are uniform in each workgroup if aligned barriers are used rightly.
    pub fn invariant_branches(&self, function: FunctionId, model: BarrierModel) -> Vec<BlockId> {
        let nodes = queries::invariant_branches(&self.db, function.0, model).as_deref();
        nodes.unwrap_or_default().iter().map(|&node| flow::block_of(node)).collect()
    }

    /// As [`Session::divergence`], for questions about more than a wave: loads that are [stable](phalanx_analysis::stable) give one value to the threads
    /// that they are stable for, [`Assumptions::NONE`] included; with a model of barriers, [`Session::invariant_branches`] are taken to be uniform in each
    /// workgroup. Of a large function it follows edits, as [`Session::divergence`] does.
    pub fn divergence_assuming(
        &self,
        function: FunctionId,
        assumptions: Assumptions,
    ) -> Option<DivergenceView<'_>> {
        let facts = queries::assumed_divergence(&self.db, function.0, assumptions).as_ref()?;
        Some(DivergenceView::new(&self.db, function.0, facts, Some(assumptions)))
    }

    /// Loads that give one value to more threads than those of a wave that read one address together, and what of
    /// [`SourceSet::OPAQUE_WAVE`] is left for each; see [`phalanx_analysis::stable`].
    pub fn stable_loads(
        &self,
        function: FunctionId,
        assumptions: Assumptions,
    ) -> &[(InstId, SourceSet)] {
        queries::stable_loads(&self.db, function.0, assumptions)
    }

    /// Which loads may take a cheaper way, and why the others may not; see [`phalanx_analysis::loads`].
    pub fn load_classes(&self, function: FunctionId) -> Option<&LoadClasses> {
        queries::load_classes(&self.db, function.0).as_ref()
    }

    /// Loads that one thread may do for its wave, of memory that nobody writes while the kernel runs; in the order of blocks.
    pub fn ldu_candidates(&self, function: FunctionId) -> &[InstId] {
        queries::ldu_candidates(&self.db, function.0)
    }

    /// Where a kernel, with all that it calls, writes through an argument or a variable, and where it loses sight of it.
    pub fn written_by_kernel(&self, kernel: FunctionId, root: Root) -> RootUse {
        queries::written_by_kernel(&self.db, kernel.0, root)
    }
}
