//! `infer-convergence-tokens` and `drop-convergence-tokens`: who executes convergent operations
//! together, from control flow to tokens and back.
//!
//! # Inference
//!
//! Without tokens, operations are converged as far as the cycles of the function allow. Tokens say
//! the same explicitly, so that a transform may change the control flow without preserving its
//! cycles:
//!
//! | where | token |
//! |---|---|
//! | outside of cycles | an `entry` at the start of the function; an `anchor` there if the function is not `convergent` |
//! | in a cycle that is reducible, as are all cycles around it | the heart of the innermost cycle: a `loop` at the start of its header, which takes the token of the cycle around |
//! | in an irreducible cycle | an `anchor` just before the operation |
//!
//! The anchor is the closest choice that the rules allow, since a heart stands in the header of a
//! reducible cycle. Which threads meet in an irreducible cycle is up to the implementation, with an
//! anchor as without. A cycle gets a heart only when something in it uses the token. A function
//! that uses tokens already is left alone.
//!
//! # The way back
//!
//! `drop-convergence-tokens` removes the bundles, the intrinsics that make tokens, and declarations
//! that nothing refers to any more. It leaves a function alone when a token is used outside of the
//! cycle that makes it: without the token, threads that left the cycle in different rounds would be
//! together there.
//!
//! Cost: O(instructions + blocks) and O(convergent operations) edits; dropping a declaration looks
//! at the calls of other functions.

use phalanx_analysis::convergence::{Control, Convergence, TokenKind, escape, tokens::BUNDLE};
use phalanx_db::{Database, FunctionInput, ModuleInput, queries};
use phalanx_graph::{CycleId, Cycles};
use phalanx_ir::{
    BlockId, Const, Function, FunctionHeader, GlobalName, InstId, Symbol, Type, Value,
    attributes::{AttrKind, AttrListData, AttrSetBuilder, Attribute, MemoryEffects},
    builder::{CallSpec, Callee, InstBuilder as _},
    edit::Transaction,
    flow::block_of,
};
use smallvec::SmallVec;

use crate::pass::{Outcome, Pass, PassError};

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct InferConvergenceTokens;

/// See the [module documentation](self).
#[derive(Copy, Clone, Debug, Default)]
pub struct DropConvergenceTokens;

impl Pass for InferConvergenceTokens {
    fn name(&self) -> &str {
        "infer-convergence-tokens"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let Some(plan) = Plan::of(db, function) else { return Ok(Outcome::Unchanged) };
        let module = function.module(db);
        let mut makers = [None; 3];
        for (maker, kind) in makers.iter_mut().zip(TokenKind::ALL) {
            if plan.needs(kind) {
                *maker = Some(declared(db, module, kind)?);
            }
        }
        db.edit(function, |edit| plan.carry_out(edit, makers))?;
        Ok(Outcome::Changed)
    }
}

impl Pass for DropConvergenceTokens {
    fn name(&self) -> &str {
        "drop-convergence-tokens"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let Some(convergence) = queries::convergence(db, function) else {
            return Ok(Outcome::Unchanged);
        };
        let tokens: Vec<InstId> = convergence.tokens().iter().map(|token| token.inst).collect();
        let users = escape::controlled(queries::code(db, function));
        if tokens.is_empty() && users.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        if !escape::escaping(queries::code(db, function)).is_empty() {
            return Ok(Outcome::Unchanged);
        }
        db.edit(function, |edit| {
            let tag = edit.context().symbol(BUNDLE);
            for user in users {
                set_token(edit, user, tag, None)?;
            }
            // An intrinsic that takes a token comes after the one that makes it, and its use is
            // dropped by now.
            tokens.iter().try_for_each(|&token| edit.erase(token).map_err(PassError::from))
        })?;
        drop_declarations(db, function)?;
        Ok(Outcome::Changed)
    }
}

/// Which token an operation gets.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Source {
    /// The token of the function.
    Whole,
    /// The heart of a cycle.
    Heart(CycleId),
    /// An anchor of its own.
    Own,
}

/// What is to be inserted.
struct Plan {
    /// The intrinsic that makes the token of the function, if that token is used.
    whole: Option<TokenKind>,
    entry: BlockId,
    /// Cycles that get hearts, outer ones first: the block of the heart, and the token that it
    /// takes.
    hearts: Vec<(CycleId, BlockId, Source)>,
    operations: Vec<(InstId, Source)>,
}

impl Plan {
    /// None when there is nothing to do.
    fn of(db: &Database, function: FunctionInput) -> Option<Plan> {
        let convergence = queries::convergence(db, function).as_ref()?;
        let cycles = queries::cycles(db, function)?;
        if convergence.control() != Control::Uncontrolled {
            return None;
        }
        let attributes =
            function.module(db).context(db).function_attrs(function.header(db).attributes);
        let is_convergent = attributes.has(AttrKind::Convergent);
        let entry = function.flow(db).entry()?;
        Some(Plan::new(convergence, cycles, entry, is_convergent))
    }

    fn new(convergence: &Convergence, cycles: &Cycles, entry: BlockId, convergent: bool) -> Plan {
        let is_regular = regular(cycles);
        let source = |cycle: Option<CycleId>| match cycle {
            None => Source::Whole,
            Some(cycle) if is_regular[cycle.index()] => Source::Heart(cycle),
            Some(_) => Source::Own,
        };
        let operations: Vec<(InstId, Source)> =
            convergence.operations().iter().map(|o| (o.inst, source(o.cycle))).collect();
        // Cycles with an operation that a heart controls, and all cycles around them.
        let mut has_heart = vec![false; cycles.len()];
        for &(_, source) in &operations {
            let Source::Heart(cycle) = source else { continue };
            for around in cycles.ancestors(cycle) {
                if std::mem::replace(&mut has_heart[around.index()], true) {
                    break;
                }
            }
        }
        let mut with_heart: Vec<CycleId> =
            cycles.iter().filter(|cycle| has_heart[cycle.index()]).collect();
        with_heart.sort_by_key(|&cycle| (cycles.depth(cycle), cycle.raw()));
        let hearts: Vec<_> = with_heart
            .into_iter()
            .map(|c| (c, block_of(cycles.header(c)), source(cycles.parent(c))))
            .collect();
        let of_whole = operations.iter().map(|o| o.1).chain(hearts.iter().map(|h| h.2));
        let is_used = of_whole.into_iter().any(|source| source == Source::Whole);
        let kind = if convergent { TokenKind::Entry } else { TokenKind::Anchor };
        Plan { whole: is_used.then_some(kind), entry, hearts, operations }
    }

    fn needs(&self, kind: TokenKind) -> bool {
        let has_own = || self.operations.iter().any(|&(_, source)| source == Source::Own);
        match kind {
            TokenKind::Loop => !self.hearts.is_empty(),
            TokenKind::Anchor => self.whole == Some(kind) || has_own(),
            TokenKind::Entry => self.whole == Some(kind),
        }
    }

    fn carry_out(
        &self,
        edit: &mut Transaction<'_>,
        makers: [Option<Callee>; 3],
    ) -> Result<(), PassError> {
        let tag = edit.context().symbol(BUNDLE);
        let made = |kind: TokenKind| {
            let at = TokenKind::ALL.iter().position(|&k| k == kind).unwrap_or_default();
            makers[at].ok_or_else(|| PassError::Other(format!("{} is missing", kind.name())))
        };
        let whole = match self.whole {
            Some(kind) => {
                let spec = CallSpec::new(made(kind)?);
                Some(edit.at_start(self.entry).named("token").call_with(&spec)?)
            }
            None => None,
        };
        let mut of_heart: rustc_hash::FxHashMap<CycleId, Value> = Default::default();
        for &(cycle, header, given) in &self.hearts {
            let given = match given {
                Source::Heart(outer) => of_heart.get(&outer).copied(),
                _ => whole,
            };
            let Some(given) = given else { continue };
            let spec = CallSpec::new(made(TokenKind::Loop)?);
            let spec = spec.bundle(edit.context(), "convergencectrl", &[given]);
            of_heart.insert(cycle, edit.at_start(header).named("heart").call_with(&spec)?);
        }
        for &(inst, source) in &self.operations {
            let token = match source {
                Source::Whole => whole,
                Source::Heart(cycle) => of_heart.get(&cycle).copied(),
                Source::Own => {
                    let spec = CallSpec::new(made(TokenKind::Anchor)?);
                    Some(edit.before(inst).named("anchor").call_with(&spec)?)
                }
            };
            set_token(edit, inst, tag, token)?;
        }
        Ok(())
    }
}

/// Cycles that are reducible, and all cycles around them are reducible, too.
fn regular(cycles: &Cycles) -> Vec<bool> {
    let mut all: Vec<CycleId> = cycles.iter().collect();
    all.sort_by_key(|&cycle| cycles.depth(cycle));
    let mut is_regular = vec![false; cycles.len()];
    for cycle in all {
        let around = cycles.parent(cycle).is_none_or(|outer| is_regular[outer.index()]);
        is_regular[cycle.index()] = around && cycles.is_reducible(cycle);
    }
    is_regular
}

/// Gives a call a token in place of the one that it has.
fn set_token(
    edit: &mut Transaction<'_>,
    call: InstId,
    tag: Symbol,
    token: Option<Value>,
) -> Result<(), PassError> {
    type List = SmallVec<[Value; 2]>;
    let old = edit.body().bundles(call).filter(|&(name, _)| name != tag);
    let mut bundles: SmallVec<[(Symbol, List); 1]> =
        old.map(|(name, list)| (name, list.into())).collect();
    bundles.extend(token.map(|token| (tag, List::from_slice(&[token]))));
    let bundles: SmallVec<[(Symbol, &[Value]); 1]> =
        bundles.iter().map(|(name, list)| (*name, &list[..])).collect();
    Ok(edit.set_bundles(call, &bundles)?)
}

/// One of the intrinsics, declared if it is not yet.
fn declared(db: &mut Database, module: ModuleInput, kind: TokenKind) -> Result<Callee, PassError> {
    let context = std::sync::Arc::clone(module.context(db));
    let name = GlobalName::Named(context.symbol(kind.name().as_bytes()));
    let mut header = FunctionHeader::new(&context, name, Type::TOKEN, &[], false);
    let (address, ty): (Const, Type) = (context.const_global(name, 0), header.ty);
    if !queries::symbols(db, module).contains_key(&name) {
        let mut attributes = AttrSetBuilder::new();
        for kind in [
            AttrKind::Convergent,
            AttrKind::NoCallback,
            AttrKind::NoFree,
            AttrKind::NoSync,
            AttrKind::NoUnwind,
            AttrKind::WillReturn,
        ] {
            attributes.add(Attribute::Enum(kind));
        }
        attributes.add(Attribute::Int(AttrKind::Memory, MemoryEffects::NONE.raw()));
        let none = AttrSetBuilder::new().finish(&context);
        let list = AttrListData::new(attributes.finish(&context), none, &[]);
        header.attributes = context.attr_list(&list);
        let done = db.add_function(module, Function::new(header));
        done.map_err(|error| PassError::Other(error.to_string()))?;
    }
    Ok(Callee::indirect(address.into(), ty))
}

/// Removes the declarations of token intrinsics that nothing in the module refers to.
fn drop_declarations(db: &mut Database, function: FunctionInput) -> Result<(), PassError> {
    let module = function.module(db);
    let context = module.context(db);
    let entries = module.functions(db);
    let here = entries.iter().position(|entry| entry.input == function).unwrap_or_default();
    let mut unused = Vec::new();
    for kind in TokenKind::ALL {
        let Some(symbol) = context.find_symbol(kind.name().as_bytes()) else { continue };
        let name = GlobalName::Named(symbol);
        let Some(&declaration) = queries::symbols(db, module).get(&name) else { continue };
        // The pass visits functions in order, so the next one is the likeliest to use tokens still.
        let others = entries[here..].iter().chain(&entries[..here]);
        let mut calls = others.flat_map(|entry| entry.input.mentions(db).calls());
        if !calls.any(|&(_, called)| called == name) {
            unused.push(declaration);
        }
    }
    if unused.is_empty() {
        return Ok(());
    }
    // An invalid module may take the address of an intrinsic; that declaration stays.
    let _ = db.remove_functions(module, &unused);
    Ok(())
}
