//! Facts about a function: one method per query.
//!
//! A fact is computed on first request and kept until its inputs change. `docs/queries.md` lists
//! what each query reads and costs.

use super::{FunctionId, Session};
use crate::known::Known;
use crate::view::{DivergenceView, VarianceView};
use phalanx_analysis::{
    Convergence,
    alias::Alias,
    check::Finding,
    data_flow::DataFlow,
    explain::Link,
    loads::{LoadClasses, Root, RootUse},
    memory::MemorySsa,
    shape::access::Accesses,
    spaces::{MemoryKinds, SpaceChain, SpaceSet, SpaceSubject, Specialization},
    stable::Assumptions,
};
use phalanx_core::{
    barriers::BarrierModel,
    divergence::{Divergence, ValueTable},
    legality::Legality,
};
use phalanx_db::queries::{self, CallLink, Subject};
use phalanx_graph::{Cfg, ControlDependence, Cycles, Dfs, DomTree, DominanceFrontier, PostDomTree};
use phalanx_ir::{BlockId, InstId, Value, flow};
use phalanx_target::{Scope, SourceSet};

impl Session {
    /// The control-flow graph; none for a declaration or an [invalid id](FunctionId), as for all
    /// facts below. For a value, an instruction or a block that the function does not have (any
    /// more), answers are the same as if nothing were known.
    pub fn cfg(&self, function: FunctionId) -> Option<&Cfg> {
        queries::cfg(&self.db, self.at(function))
    }

    /// Depth-first numbers and reverse post-order.
    pub fn dfs(&self, function: FunctionId) -> Option<&Dfs> {
        queries::dfs(&self.db, self.at(function))
    }

    /// The dominator tree.
    pub fn dom_tree(&self, function: FunctionId) -> Option<&DomTree> {
        queries::dom_tree(&self.db, self.at(function))
    }

    /// The post-dominator tree.
    pub fn postdom_tree(&self, function: FunctionId) -> Option<&PostDomTree> {
        queries::postdom_tree(&self.db, self.at(function))
    }

    /// Dominance frontiers.
    pub fn dom_frontier(&self, function: FunctionId) -> Option<&DominanceFrontier> {
        queries::dom_frontier(&self.db, self.at(function))
    }

    /// Control dependence.
    pub fn control_dependence(&self, function: FunctionId) -> Option<&ControlDependence> {
        queries::control_dependence(&self.db, self.at(function))
    }

    /// The cycle hierarchy.
    pub fn cycles(&self, function: FunctionId) -> Option<&Cycles> {
        queries::cycles(&self.db, self.at(function))
    }

    /// What affects what, and what each definition contributes by itself.
    pub fn affect_map(&self, function: FunctionId) -> Option<&ValueTable> {
        queries::affect_map(&self.db, self.at(function)).as_ref()
    }

    /// Which memories each pointer may point to. None for a declaration.
    pub fn memory_kinds(&self, function: FunctionId) -> Option<&MemoryKinds> {
        queries::memory_kinds(&self.db, self.at(function)).as_deref()
    }

    /// Why an address may point to each of some memories: a shortest chain for each; memories with
    /// the same chain share it. Costs as much as [`Session::memory_kinds`] from scratch.
    pub fn explain_spaces(
        &self,
        function: FunctionId,
        subject: SpaceSubject,
        memories: SpaceSet,
    ) -> Vec<SpaceChain> {
        queries::explain_spaces(&self.db, self.at(function), subject, memories)
    }

    /// The alias relation of two loads, stores or atomic operations of a function. None if one of
    /// them is another instruction, or for a declaration. Each query follows the addresses upwards;
    /// with the feature `database`, [`queries::with_aliases`] shares that work among several.
    pub fn alias(&self, function: FunctionId, a: InstId, b: InstId) -> Option<Alias> {
        queries::alias(&self.db, self.at(function), a, b)
    }

    /// The addresses that the lanes of a wave access at each load, store and atomic operation. None
    /// for a declaration.
    pub fn memory_accesses(&self, function: FunctionId) -> Option<&Accesses> {
        queries::memory_accesses(&self.db, self.at(function)).as_deref()
    }

    /// Memory in HSSA form: versions of private slots and of classes of memory. None for a
    /// declaration.
    pub fn memory_ssa(&self, function: FunctionId) -> Option<&MemorySsa> {
        queries::memory_ssa(&self.db, self.at(function)).as_deref()
    }

    /// Copies of a function, each for some of its calls, which could access narrower spaces. Visits
    /// all calls in its callers.
    pub fn space_specializations(
        &self,
        function: FunctionId,
    ) -> Vec<Specialization<(FunctionId, InstId)>> {
        let found = queries::space_specializations(&self.db, self.at(function));
        let id = |Specialization { arguments, calls }: Specialization<_>| Specialization {
            arguments,
            calls: calls
                .into_iter()
                .filter_map(|(of, call)| Some((self.id_of(of)?, call)))
                .collect(),
        };
        found.into_iter().map(id).collect()
    }

    /// Loops in which threads may wait for others in vain: see [`phalanx_analysis::check::spins`].
    pub fn waiting_loops(&self, function: FunctionId) -> &[Finding] {
        queries::waiting_loops(&self.db, self.at(function)).as_deref().unwrap_or_default()
    }

    /// Races in workgroup memory, and invalid accesses of it: see
    /// [`phalanx_analysis::check::races`]. Empty for a function that is no kernel.
    pub fn workgroup_memory(&self, function: FunctionId) -> &[Finding] {
        let found = queries::workgroup_memory(&self.db, self.at(function)).as_ref();
        found.map_or(&[], |found| &found.findings)
    }

    /// Accesses and casts that are invalid for the memories that their addresses point to: see
    /// [`phalanx_analysis::check::spaces`].
    pub fn space_conflicts(&self, function: FunctionId) -> &[Finding] {
        queries::space_conflicts(&self.db, self.at(function)).as_deref().unwrap_or_default()
    }

    /// Direct influences of everything, memory included: Kong's affect map in full.
    pub fn data_flow(&self, function: FunctionId) -> Option<DataFlow<'_>> {
        queries::data_flow(&self.db, self.at(function))
    }

    /// The divergence of a function, with all sources.
    pub fn divergence(&self, function: FunctionId) -> Option<DivergenceView<'_>> {
        let facts = queries::divergence(&self.db, self.at(function)).as_ref()?;
        Some(DivergenceView::new(&self.db, self.at(function), facts, None))
    }

    /// The facts about a function as it is now, for use while it is edited. Later edits do not
    /// change them. O(values) for a small function. For a function whose facts are updated
    /// incrementally, copies only a few pointers.
    ///
    /// ```
    /// use phalanx::{ir::{BuildError, Opcode}, prelude::*};
    ///
    /// # let text = b"define i32 @f(i32 %n) {\n  %a = add i32 %n, %n\n  %b = mul i32 %a, %n\n  ret i32 %b\n}\n";
    /// let mut session = Session::new();
    /// let module = session.read(text)?;
    /// let function = session.function(module, "f").expect("it is defined");
    /// let known = session.known(function).expect("it has a body");
    /// session.edit(function, |edit| {
    ///     for inst in edit.body().all_ids().collect::<Vec<_>>() {
    ///         // Of what is made in the edit nothing is known: it is divergent.
    ///         if known.is_uniform(inst, Scope::Wave) && edit.body().inst(inst).opcode == Opcode::Mul {
    ///             edit.set_name(inst, "scalar")?;
    ///         }
    ///     }
    ///     Ok::<_, BuildError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn known(&self, function: FunctionId) -> Option<Known> {
        Known::new(&self.db, self.at(function))
    }

    /// Why something differs between threads of a scope: the shortest chain of causes from the
    /// subject to a source, the subject first. Empty when it is uniform. The first query about a
    /// function costs as much as its divergence from scratch, later ones cost the length of their
    /// chain.
    pub fn explain(&self, function: FunctionId, subject: Subject, scope: Scope) -> Vec<Link> {
        queries::explain(&self.db, self.at(function), subject, scope)
    }

    /// As [`Session::explain`], for the given sources.
    pub fn explain_sources(
        &self,
        function: FunctionId,
        subject: Subject,
        sources: SourceSet,
    ) -> Vec<Link> {
        queries::explain_sources(&self.db, self.at(function), subject, sources)
    }

    /// As [`Session::explain_sources`], through calls: into callees, and up to callers if these are
    /// known. With assumptions, explains [`Session::divergence_assuming`].
    pub fn explain_through_calls(
        &self,
        function: FunctionId,
        subject: Subject,
        sources: SourceSet,
        assumed: Option<Assumptions>,
    ) -> Vec<CallLink<FunctionId>> {
        let links =
            queries::explain_through_calls(&self.db, self.at(function), subject, sources, assumed);
        let id = |of| self.id_of(of).expect("a chain goes through functions that are there");
        links.into_iter().map(|link| link.map(id)).collect()
    }

    /// Findings about a function: see [`phalanx_analysis::check`]. Empty for a declaration.
    ///
    /// A checker ([`Session::checker`]) turns them into diagnostics with places and
    /// reasons. The places are those of the compiled program if
    /// [`!dbg`](phalanx_ir::FunctionBuilder::set_location) states them.
    /// [`write_text`](phalanx_report::check::write_text) prints a diagnostic with ANSI colours.
    ///
    /// ```
    /// use phalanx::{prelude::*, report::check::{LinedText, ModuleText, SourceFile, Sources, write_text}};
    ///
    /// /// The files that were compiled: none here.
    /// struct NoFiles;
    /// impl Sources for NoFiles {
    ///     fn text(&self, _place: &SourceFile) -> Option<std::sync::Arc<LinedText<'static>>> {
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
    /// let lines = LinedText::new(&text[..]);
    /// let source = ModuleText { name: "kernel.ll", text: &lines };
    /// let printer = session.printer(module);
    /// let mut out = String::new();
    /// for function in session.functions(module) {
    ///     let checker = session.checker(function, &printer, &lines, &NoFiles);
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
        queries::diagnostics(&self.db, self.at(function)).as_deref().unwrap_or_default()
    }

    /// Memory accesses that take more transactions than necessary: lanes far apart, and bank
    /// conflicts.
    pub fn slow_accesses(&self, function: FunctionId) -> &[Finding] {
        queries::slow_accesses(&self.db, self.at(function)).as_deref().unwrap_or_default()
    }

    /// Loads that could use a cheaper instruction but for one obstacle.
    pub fn slow_loads(&self, function: FunctionId) -> &[Finding] {
        queries::slow_loads(&self.db, self.at(function)).as_deref().unwrap_or_default()
    }

    /// Branches that separate threads of a wave, but would not for certain launches.
    pub fn launch_suggestions(&self, function: FunctionId) -> &[Finding] {
        queries::launch_suggestions(&self.db, self.at(function)).as_deref().unwrap_or_default()
    }

    /// Divergence with the sources that LLVM 22 assumes, and with LLVM's unsound control rules
    /// corrected: the result of `print<uniformity>`. In the dense form of the analysis;
    /// [`Numbering`](phalanx_analysis::lower::Numbering) names its values.
    pub fn uniformity(&self, function: FunctionId) -> Option<&Divergence> {
        queries::uniformity(&self.db, self.at(function)).as_deref()
    }

    /// Which motions of operations that communicate among the threads of a scope are legal; see
    /// [`phalanx_core::legality`]. That page also covers calls that may not return, which are
    /// ignored here.
    ///
    /// Blocks are nodes there: [`node_of`](flow::node_of) and [`block_of`](flow::block_of) convert
    /// between them.
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
        queries::legality(&self.db, self.at(function), scope)
    }

    /// Convergent operations of a function, the threads that each communicates among, and the
    /// tokens that control them; see [`phalanx_analysis::convergence`].
    pub fn convergence(&self, function: FunctionId) -> Option<&Convergence> {
        queries::convergence(&self.db, self.at(function)).as_deref()
    }

    /// Along which dimensions of the thread index values, statements, branches and blocks differ
    /// within a workgroup: the interface of Kong's variance analysis. After an edit it costs as
    /// much as [`Session::divergence`].
    pub fn variance(&self, function: FunctionId) -> Option<VarianceView<'_>> {
        VarianceView::new(&self.db, self.at(function))
    }

    /// Whether a value is equal over all lanes of a wave, active or not, whenever they compute it.
    /// Only such a value may be used by computations that move to where other threads are active.
    /// See [`true_uniformity`](phalanx_analysis::true_uniformity). O(what the value is computed
    /// from).
    pub fn is_truly_uniform(&self, function: FunctionId, value: Value) -> bool {
        queries::is_truly_uniform(&self.db, self.at(function), value)
    }

    /// Blocks whose terminators are uniform in each workgroup if aligned barriers are used
    /// correctly.
    pub fn invariant_branches(&self, function: FunctionId, model: BarrierModel) -> Vec<BlockId> {
        let nodes = queries::invariant_branches(&self.db, self.at(function), model).as_deref();
        nodes.unwrap_or_default().iter().map(|&node| flow::block_of(node)).collect()
    }

    /// As [`Session::divergence`], for scopes beyond a wave. Loads that are
    /// [stable](phalanx_analysis::stable) give one value to the threads that they are stable for,
    /// even with [`Assumptions::NONE`]. With a model of barriers, [`Session::invariant_branches`]
    /// are assumed to be uniform in each workgroup. For a large function the result is updated
    /// incrementally, like [`Session::divergence`].
    pub fn divergence_assuming(
        &self,
        function: FunctionId,
        assumptions: Assumptions,
    ) -> Option<DivergenceView<'_>> {
        let facts =
            queries::assumed_divergence(&self.db, self.at(function), assumptions).as_ref()?;
        Some(DivergenceView::new(&self.db, self.at(function), facts, Some(assumptions)))
    }

    /// Loads that give one value not only to threads of a wave that read one address together, but
    /// to more threads; and the part of [`SourceSet::OPAQUE_WAVE`] that remains for each; see
    /// [`phalanx_analysis::stable`].
    pub fn stable_loads(
        &self,
        function: FunctionId,
        assumptions: Assumptions,
    ) -> &[(InstId, SourceSet)] {
        queries::stable_loads(&self.db, self.at(function), assumptions)
    }

    /// Which loads may use a cheaper instruction, and why the others may not; see
    /// [`phalanx_analysis::loads`].
    pub fn load_classes(&self, function: FunctionId) -> Option<&LoadClasses> {
        queries::load_classes(&self.db, self.at(function)).as_ref()
    }

    /// Loads that one thread may execute for its wave, since their memory is not written while the
    /// kernel runs; in the order of blocks.
    pub fn ldu_candidates(&self, function: FunctionId) -> &[InstId] {
        queries::ldu_candidates(&self.db, self.at(function))
    }

    /// Where a kernel, including its callees, writes through an argument or a variable, and where
    /// the analysis loses track of it.
    pub fn written_by_kernel(&self, kernel: FunctionId, root: Root) -> RootUse {
        queries::written_by_kernel(&self.db, self.at(kernel), root)
    }
}
