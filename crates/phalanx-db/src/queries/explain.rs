//! Queries on why something diverges.

use phalanx_analysis::{
    explain::{Derivations, Fact, Link},
    lower::{self, MemoryVersion, Numbering},
    memory::PrivateMemory,
    stable::Assumptions,
};
use phalanx_core::affect::User;
use phalanx_ir::{BlockId, InstId, Value, ValueKind, flow};
use phalanx_target::{Scope, SourceSet, varying};

use super::called::NO_CALLEES;
use super::divergences::divergence;
use super::facts::affect_map;
use super::graph::{cfg, dom_tree, flow_facts, postdom_tree};
use super::launches::launch_facts;
use super::own_environment::with_code;
use super::within_group::{assumed_divergence, assumed_map};
use crate::FunctionInput;

use salsa::Database as Db;

/// What an explanation is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A value where it is computed.
    Value(Value),
    /// The operand with this position where an instruction reads it.
    Use {
        /// The reader.
        user: InstId,
        /// Position among its operands.
        operand: usize,
    },
    /// The way that the terminator of a block takes.
    Branch(BlockId),
    /// Whether a block is executed.
    Block(BlockId),
}

/// What every fact of [`divergence()`] was derived from.
///
/// *Reads* [`divergence()`], [`affect_map`] and the graph facts. *Changes when* an instruction
/// does. *Cost* as one [`divergence()`] from scratch, and a few words per fact and source. Nothing
/// asks for it but [`explain`].
#[salsa::tracked(returns(ref))]
pub fn derivations(db: &dyn Db, function: FunctionInput) -> Option<Derivations> {
    let table = affect_map(db, function).as_ref()?;
    let answer = divergence(db, function).as_ref()?;
    Some(Derivations::new(flow_facts(db, function)?, table, answer))
}

/// What the values of [`affect_map`] are that stand for versions of private memory, in the order of
/// their numbers.
///
/// *Reads* what [`affect_map`] does. *Costs* as that. Nothing asks for it but explanations.
#[salsa::tracked(returns(ref))]
pub fn memory_versions(db: &dyn Db, function: FunctionInput) -> Vec<MemoryVersion> {
    let graphs = (cfg(db, function), dom_tree(db, function));
    let (Some(cfg), Some(dom)) = graphs else { return Vec::new() };
    let versions = with_code(db, function, NO_CALLEES, |code, env| {
        let memory = PrivateMemory::through_calls(code, env, cfg, dom);
        lower::memory_versions(code, env, &memory)
    });
    versions.unwrap_or_default()
}

/// Whether an argument or instruction is one of a function, and was not erased; whether there is
/// such a constant. So of everything else.
pub(super) fn has_value(db: &dyn Db, function: FunctionInput, value: Value) -> bool {
    match value.kind() {
        ValueKind::Arg(position) => (position as usize) < function.header(db).params.len(),
        ValueKind::Inst(inst) => function.body(db).has(inst),
        ValueKind::Const(constant) => {
            (constant.raw() as usize) < function.module(db).context(db).const_count()
        }
        _ => true,
    }
}

/// What the analysis calls a subject; none for constants and for what the function does not have.
pub fn fact_of(db: &dyn Db, function: FunctionInput, subject: Subject) -> Option<Fact> {
    let body = function.body(db);
    let is_there = match subject {
        Subject::Value(value) => has_value(db, function, value),
        Subject::Use { user, .. } => body.has(user),
        Subject::Branch(block) | Subject::Block(block) => body.first(block).is_some(),
    };
    if !is_there {
        return None;
    }
    let numbering = Numbering::new(function.header(db));
    Some(match subject {
        Subject::Value(value) => Fact::Value(numbering.operand(value)?),
        Subject::Use { user, operand } => {
            let value = numbering.operand(*body.operands(user).get(operand)?)?;
            let user = match body.inst(user).opcode.is_terminator() {
                true => User::terminator(flow::node_of(body.block_of(user)?)),
                false => User::value(numbering.inst(user)),
            };
            Fact::Use(value, user)
        }
        Subject::Branch(block) => Fact::Terminator(flow::node_of(block)),
        Subject::Block(block) => Fact::Block(flow::node_of(block)),
    })
}

/// The same, if it can differ between threads at all: a terminator that is no branch depends on
/// what it returns or decides by, and does not.
fn what_differs(db: &dyn Db, function: FunctionInput, subject: Subject) -> Option<Fact> {
    let fact = fact_of(db, function, subject)?;
    match fact {
        Fact::Terminator(node) => cfg(db, function)?.is_branch(node).then_some(fact),
        _ => Some(fact),
    }
}

/// The shortest chain of causes from a subject to one of `sources`; empty when it depends on none
/// of them. Not a query by itself: it reads [`derivations`].
pub fn explain_sources(
    db: &dyn Db,
    function: FunctionInput,
    subject: Subject,
    sources: SourceSet,
) -> Vec<Link> {
    let chain = || {
        let fact = what_differs(db, function, subject)?;
        let postdom = match fact {
            Fact::Block(_) => postdom_tree(db, function),
            _ => None,
        };
        let table = affect_map(db, function).as_ref()?;
        let known = derivations(db, function).as_ref()?;
        Some(known.of(flow_facts(db, function)?, table, postdom, fact, sources))
    };
    chain().unwrap_or_default()
}

/// As [`explain_sources`], of [`assumed_divergence`]. The second question costs as much as the
/// first: nothing is kept.
pub(crate) fn explain_assumed(
    db: &dyn Db,
    function: FunctionInput,
    subject: Subject,
    sources: SourceSet,
    assumptions: Assumptions,
) -> Vec<Link> {
    let chain = || {
        let fact = what_differs(db, function, subject)?;
        let flow = flow_facts(db, function)?;
        let table = assumed_map(db, function, assumptions)?;
        let answer = assumed_divergence(db, function, assumptions).as_ref()?;
        let postdom = postdom_tree(db, function);
        Some(Derivations::new(flow, &table, answer).of(flow, &table, postdom, fact, sources))
    };
    chain().unwrap_or_default()
}

/// As [`explain_sources`], for what varies within a scope.
pub fn explain(db: &dyn Db, function: FunctionInput, subject: Subject, scope: Scope) -> Vec<Link> {
    explain_sources(db, function, subject, varying(scope, launch_facts(db, function)))
}
