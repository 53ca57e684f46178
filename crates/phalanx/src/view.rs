//! Facts about one function, in terms of its IR.

use phalanx_analysis::{
    lower::{NotThere, Numbering},
    stable::Assumptions,
    variance::{Variance, state_of},
};
use phalanx_core::{
    affect::UserKind,
    divergence::{Divergence, SourceSets},
};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_graph::{Cfg, CycleId, Node};
use phalanx_ir::{BlockId, InstId, Value, flow};
use phalanx_target::{Scope, SourceSet, varying};

/// Divergence of one function, in terms of its IR.
///
/// A *mask* is the set of sources that something depends on; it is divergent at a scope if the mask
/// contains a source that varies within the scope. All queries are O(1) unless stated otherwise.
/// For entities that the function does not have, masks contain all sources.
#[derive(Copy, Clone, Debug)]
pub struct DivergenceView<'s> {
    facts: &'s Divergence,
    cfg: Option<&'s Cfg>,
    numbering: Numbering,
    db: &'s Database,
    function: FunctionInput,
    /// The assumptions, if the view is about scopes beyond a wave.
    assumed: Option<Assumptions>,
    varying: [SourceSet; Scope::ALL.len()],
}

impl<'s> DivergenceView<'s> {
    pub(crate) fn new(
        db: &'s Database,
        function: FunctionInput,
        facts: &'s Divergence,
        assumed: Option<Assumptions>,
    ) -> Self {
        let launch = queries::launch_facts(db, function);
        DivergenceView {
            facts,
            cfg: queries::cfg(db, function),
            numbering: Numbering::new(function.header(db)),
            db,
            function,
            assumed,
            varying: Scope::ALL.map(|scope| varying(scope, launch)),
        }
    }

    /// The sources that vary within a scope, for launches of this function.
    pub fn varying(&self, scope: Scope) -> SourceSet {
        let at = Scope::ALL.iter().position(|&s| s == scope).unwrap_or(Scope::ALL.len() - 1);
        self.varying[at]
    }

    /// Mask of a value where it is computed; empty for constants.
    pub fn mask(&self, value: Value) -> SourceSet {
        mask_of(self.facts, self.numbering, value)
    }

    /// Whether a value is divergent where it is computed.
    pub fn is_divergent(&self, value: Value, scope: Scope) -> bool {
        self.mask(value).intersects(self.varying(scope))
    }

    /// Whether a value is uniform where it is computed.
    pub fn is_uniform(&self, value: Value, scope: Scope) -> bool {
        !self.is_divergent(value, scope)
    }

    /// Mask of a value where an instruction that is no terminator reads it: temporal divergence
    /// included. O(log uses).
    pub fn mask_at(&self, value: Value, user: InstId) -> SourceSet {
        let count = self.facts.values().len();
        match self.numbering.operand_of(value, count) {
            Err(NotThere) => SourceSet::ALL,
            Ok(_) if !self.numbering.is_below(user, count) => SourceSet::ALL,
            Ok(None) => SourceSet::EMPTY,
            Ok(Some(value)) => {
                self.facts.at_use(value, phalanx_core::User::value(self.numbering.inst(user)))
            }
        }
    }

    /// Mask of the direction that the terminator of a block takes. Empty for a terminator with only
    /// one successor or none, since all threads continue alike, whatever the terminator reads.
    pub fn branch_mask(&self, block: BlockId) -> SourceSet {
        let node = flow::node_of(block);
        match self.facts.terminators().get(node.index()) {
            Some(_) if !is_branch(self.cfg, node) => SourceSet::EMPTY,
            known => known.unwrap_or(SourceSet::ALL),
        }
    }

    /// Whether threads that end a block together can go on to different blocks.
    pub fn is_divergent_branch(&self, block: BlockId, scope: Scope) -> bool {
        self.branch_mask(block).intersects(self.varying(scope))
    }

    /// Mask of whether a block is executed: of all branches that it is control dependent on,
    /// directly or indirectly. The first query after branches changed recomputes the blocks that
    /// they control; at most near-linear in the number of blocks.
    pub fn control_mask(&self, block: BlockId) -> SourceSet {
        let control = match self.assumed {
            None => queries::control_divergence(self.db, self.function).as_ref(),
            Some(assumptions) => {
                queries::assumed_control_divergence(self.db, self.function, assumptions).as_ref()
            }
        };
        let of_block = |control: &SourceSets| control.get(flow::node_of(block).index());
        control.map_or(SourceSet::EMPTY, |control| of_block(control).unwrap_or(SourceSet::ALL))
    }

    /// Whether some threads of a group may execute a block and others not.
    pub fn is_divergent_control(&self, block: BlockId, scope: Scope) -> bool {
        self.control_mask(block).intersects(self.varying(scope))
    }

    /// Cycles that threads can leave in different iterations, with the reasons.
    pub fn divergent_exits(&self) -> &'s [(CycleId, SourceSet)] {
        self.facts.cycles_with_divergent_exit()
    }

    /// Irreducible cycles in which nothing is known about convergence, with the reasons.
    pub fn assumed_divergent(&self) -> &'s [(CycleId, SourceSet)] {
        self.facts.assumed_divergent_cycles()
    }

    /// Uses that are divergent because threads left a cycle in different iterations, except uses by
    /// terminators: the value, its user, the sources.
    pub fn temporal_uses(&self) -> impl Iterator<Item = (Value, InstId, SourceSet)> + 's {
        let numbering = self.numbering;
        let value = move |value| match numbering.definition(value) {
            phalanx_analysis::lower::Definition::Argument(position) => Value::arg(position),
            phalanx_analysis::lower::Definition::Inst(inst) => Value::inst(inst),
        };
        self.facts.temporal_uses().iter().filter_map(move |entry| match entry.user.kind() {
            UserKind::Value(user) => {
                value(user).as_inst().map(|user| (value(entry.value), user, entry.sources))
            }
            UserKind::Terminator(_) => None,
        })
    }

    /// The facts in the dense form of the analysis.
    pub fn facts(&self) -> &'s Divergence {
        self.facts
    }
}

/// The variance of one function within a workgroup, in terms of its IR: subsets of {x, y, z}; see
/// [`phalanx_analysis::variance`].
///
/// All queries are O(1) unless stated otherwise. Entities that the function does not have differ
/// along all dimensions.
#[derive(Copy, Clone, Debug)]
pub struct VarianceView<'s> {
    facts: Variance<'s>,
    cfg: Option<&'s Cfg>,
    numbering: Numbering,
    db: &'s Database,
    function: FunctionInput,
}

impl<'s> VarianceView<'s> {
    pub(crate) fn new(db: &'s Database, function: FunctionInput) -> Option<Self> {
        let facts = queries::variance(db, function)?;
        let (cfg, numbering) = (queries::cfg(db, function), Numbering::new(function.header(db)));
        Some(VarianceView { facts, cfg, numbering, db, function })
    }

    /// Along which dimensions a value differs between threads that compute it together; none for a
    /// constant.
    pub fn value(&self, value: Value) -> SourceSet {
        state_of(mask_of(self.facts.divergence, self.numbering, value), self.facts.launch)
    }

    /// Along which dimensions threads differ in what an instruction, except a terminator, does: in
    /// its operands, and in whether it is executed. O(operands).
    pub fn statement(&self, statement: InstId) -> SourceSet {
        match self.numbering.is_below(statement, self.facts.divergence.values().len()) {
            true => queries::statement_variance(self.db, self.function, statement),
            false => self.unknown(),
        }
    }

    /// Along which dimensions threads differ in their successor at the end of a block; none if
    /// there is only one successor.
    pub fn terminator(&self, block: BlockId) -> SourceSet {
        let node = flow::node_of(block);
        match self.has(block) {
            true if !is_branch(self.cfg, node) => SourceSet::EMPTY,
            true => self.facts.terminator(node),
            false => self.unknown(),
        }
    }

    /// Along which dimensions threads differ in whether they execute a block.
    pub fn block(&self, block: BlockId) -> SourceSet {
        match self.has(block) {
            true => self.facts.block(flow::node_of(block)),
            false => self.unknown(),
        }
    }

    fn has(&self, block: BlockId) -> bool {
        flow::node_of(block).index() < self.facts.control.len()
    }

    fn unknown(&self) -> SourceSet {
        state_of(SourceSet::ALL, self.facts.launch)
    }
}

/// Whether a block has more than one successor, as far as is known.
fn is_branch(cfg: Option<&Cfg>, node: Node) -> bool {
    cfg.is_none_or(|cfg| cfg.is_branch(node))
}

/// Mask of a value where it is computed.
fn mask_of(facts: &Divergence, numbering: Numbering, value: Value) -> SourceSet {
    match numbering.operand_of(value, facts.values().len()) {
        Ok(Some(value)) => facts.value(value),
        Ok(None) => SourceSet::EMPTY,
        Err(NotThere) => SourceSet::ALL,
    }
}
