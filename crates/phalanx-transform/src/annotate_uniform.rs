//! `annotate-uniform`: tells AMDGPU's backend what is uniform in the wave.
//!
//! Branches on which all threads of a wave agree get `!amdgpu.uniform`, and so do addresses of
//! loads that are equal for the whole wave: the mark that LLVM's `amdgpu-annotate-uniform` gives.
//! The facts come from `divergence`. The pass removes marks that do not hold. The mark of an
//! address counts for all loads at it. So an address that is loaded both in a loop and behind it
//! gets no mark if threads leave the loop in different rounds: behind the loop they hold values of
//! different rounds. The pass leaves `!amdgpu.noclobber` alone: that mark needs proof that memory
//! was not written, which [`mark-loads`](crate::mark_loads) has.
//!
//! # Machines
//!
//! A mark has to hold for each group of threads that the machine lets execute the instruction
//! together. Facts of uniformity are facts about maximal convergence. They hold on a machine that
//! reconverges at post-dominators if no branch mixes rounds
//! ([`machines`](phalanx_core::legality::machines)). If a branch does, the pass removes all marks
//! of the function and adds none, unless `machines=maximal` says that the target reconverges
//! maximally.
//!
//! ```text
//! h:                                   ; threads leave the inner loop in different rounds, and a
//!   %i = phi i32 [..]                  ; stack of masks lets them wait in %low
//!   br i1 %goes.on, label %h, label %low
//! low:
//!   %odd = trunc i32 %i to i1          ; so %i differs among those that are there together
//!   br i1 %odd, ..                     ; no mark, but with machines=maximal
//! ```
//!
//! Run this pass last: other passes remove marks that may no longer hold, and add none. The pass
//! does nothing for other targets.
//!
//! Cost: O(branches + loads), and one transaction that changes no instruction.

use phalanx_analysis::lower::Numbering;
use phalanx_core::{User, legality::machines::Machines};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{
    InstId, Opcode,
    flow::node_of,
    metadata::{Metadata, MetadataId, NodeBuilder, NodeKind},
};
use phalanx_target::{Architecture, Scope, varying};
use rustc_hash::FxHashSet;

use crate::{
    code::Code,
    pass::{Outcome, Parameters, Pass, PassError},
};

/// The mark.
pub(crate) const UNIFORM: &str = "amdgpu.uniform";

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct AnnotateUniform {
    /// For which machines marks have to hold.
    pub machines: Machines,
}

impl AnnotateUniform {
    /// With what a pipeline says.
    ///
    /// # Errors
    /// When a parameter is not known.
    pub fn with_parameters(parameters: &Parameters) -> Result<AnnotateUniform, String> {
        Ok(AnnotateUniform { machines: parameters.machines_alone("annotate-uniform")? })
    }
}

impl Pass for AnnotateUniform {
    fn name(&self) -> &str {
        "annotate-uniform"
    }

    fn runs_on_optnone(&self) -> bool {
        true
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let module = function.module(db);
        if queries::target(db, module).architecture() != Architecture::Amdgcn {
            return Ok(Outcome::Unchanged);
        }
        let Some((uniform, stale)) = marks(db, function, self.machines) else {
            return Ok(Outcome::Unchanged);
        };
        if uniform.is_empty() && stale.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        let node = match uniform.is_empty() {
            true => None,
            false => Some(empty_node(db, function, &[UNIFORM])?),
        };
        db.edit(function, |edit| {
            for &inst in &stale {
                edit.attach(inst, UNIFORM, None)?;
            }
            for &inst in &uniform {
                edit.attach(inst, UNIFORM, node)?;
            }
            Ok::<_, PassError>(())
        })?;
        Ok(Outcome::Changed)
    }
}

/// Instructions that need a mark and have none, and those that have one and should not.
fn marks(
    db: &Database,
    function: FunctionInput,
    machines: Machines,
) -> Option<(Vec<InstId>, Vec<InstId>)> {
    let facts = queries::divergence(db, function).as_ref()?;
    let varying = varying(Scope::Wave, queries::launch_facts(db, function));
    let (flow, body, extras) = (function.flow(db), function.body(db), function.extras(db));
    let context = function.module(db).context(db);
    let mut wanted = uniform_addresses(db, function, machines);
    let holds = queries::facts_hold(db, function, machines);
    for &block in flow.order() {
        let branch = body.terminator(block).filter(|&t| body.inst(t).opcode == Opcode::Br);
        let is_uniform = holds && !facts.terminator(node_of(block)).intersects(varying);
        wanted.extend(branch.filter(|_| is_uniform));
    }
    let kind = context.symbol(UNIFORM.as_bytes());
    let marked: FxHashSet<InstId> =
        extras.attachments.iter().filter(|(_, a)| a.kind == kind).map(|&(inst, _)| inst).collect();
    let sorted = |set: &FxHashSet<InstId>, without: &FxHashSet<InstId>| {
        let mut list: Vec<InstId> = set.difference(without).copied().collect();
        list.sort_unstable_by_key(|inst| inst.into_raw().into_u32());
        list
    };
    Some((sorted(&wanted, &marked), sorted(&marked, &wanted)))
}

/// Addresses that are equal for the whole wave at each load, and at each call that may load there,
/// under all of these reconvergence models.
pub(crate) fn uniform_addresses(
    db: &Database,
    function: FunctionInput,
    machines: Machines,
) -> FxHashSet<InstId> {
    let mut uniform = FxHashSet::default();
    if !queries::facts_hold(db, function, machines) {
        return uniform;
    }
    let Some(facts) = queries::divergence(db, function) else { return uniform };
    let varying = varying(Scope::Wave, queries::launch_facts(db, function));
    let numbering = Numbering::new(function.header(db));
    let code = Code::of(db, function);
    let is_uniform = |address: InstId, user: InstId| {
        let (value, user) = (numbering.inst(address), User::value(numbering.inst(user)));
        !(facts.value(value) | facts.at_use(value, user)).intersects(varying)
    };
    let mut varies = FxHashSet::default();
    for inst in code.flow.order().iter().flat_map(|&block| code.body.block_insts(block)) {
        match code.body.inst(inst).opcode {
            Opcode::Load => {
                let Some(address) = code.body.operands(inst)[0].as_inst() else { continue };
                let set = if is_uniform(address, inst) { &mut uniform } else { &mut varies };
                set.insert(address);
            }
            opcode if opcode.is_call() && !code.call(inst).memory.is_none() => {
                let passed = code.body.call_args(inst).iter().filter_map(|value| value.as_inst());
                varies.extend(passed.filter(|&address| !is_uniform(address, inst)));
            }
            _ => {}
        }
    }
    uniform.retain(|address| !varies.contains(address));
    uniform
}

/// The node `!{}` of the module, for attachments of these kinds; a new one when there is none.
pub(crate) fn empty_node(
    db: &mut Database,
    function: FunctionInput,
    kinds: &[&str],
) -> Result<MetadataId, PassError> {
    let module = function.module(db);
    let metadata = &module.shell(db).metadata;
    let is_empty_tuple = |metadata: &Metadata, id: MetadataId| {
        metadata.node_kind(id) == NodeKind::Tuple
            && !metadata.is_distinct(id)
            && metadata.values(id).len() == 0
    };
    if let Some(id) = metadata.ids().find(|&id| is_empty_tuple(metadata, id)) {
        return Ok(id);
    }
    let context = module.context(db);
    let kinds: Vec<_> = kinds.iter().map(|kind| context.symbol(kind.as_bytes())).collect();
    let added = db.edit_metadata(module, |metadata| {
        kinds.into_iter().for_each(|kind| metadata.use_kind(kind));
        metadata.add(NodeBuilder::tuple(false, []))
    });
    added.map_err(PassError::Other)
}
