//! Divergence with wrong facts about calls, which the oracle has to refute.

use std::borrow::Cow;

use phalanx::{
    analysis::{
        divergence::{Divergence, Rules, solve},
        lower::{self, Code, Environment, OmittedPart, OmittedRead},
        memory::PrivateMemory,
        summary::{
            CallFacts, Dependence, Input, NoCallFacts, Outcome, Summary, Through,
            summarize_without_parting,
        },
    },
    db::{Database, FunctionInput, queries},
    ir::GlobalName,
    target::SourceSet,
};

use super::flow;

/// The wrong fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Functions introduce no sources.
    Sources,
    /// Results depend on no argument.
    Arguments,
    /// Results do not depend on arguments whose dependence is not `Dependence::PLAIN`.
    Collapse,
    /// Threads that return at different places return the same value.
    Parting,
    /// Members of results depend on nothing.
    Members,
    /// No divergent value is passed to functions.
    Passed,
    /// Called functions are called from the last kernel only.
    Launches,
    /// Private memory that functions have written depends on nothing.
    Left,
    /// Initial contents of private memory do not matter to functions.
    Content,
    /// What functions load through pointers to other memory does not matter.
    Loaded,
}

struct WrongFacts<'a> {
    db: &'a Database,
    function: FunctionInput,
    wrong: Wrong,
}

impl WrongFacts<'_> {
    fn outcome(&self, outcome: &mut Outcome) {
        match self.wrong {
            Wrong::Sources => outcome.sources = SourceSet::EMPTY,
            Wrong::Arguments => outcome.arguments.fill(Dependence::NONE),
            Wrong::Collapse => {
                for dependence in &mut outcome.arguments {
                    if *dependence != Dependence::PLAIN {
                        *dependence = Dependence::NONE;
                    }
                }
            }
            _ => {}
        }
    }

    /// What is done through pointers.
    fn through(&self, through: &mut Through) {
        let result = through.result.iter_mut();
        let contents = through.parts.iter_mut().filter_map(|part| part.content.as_mut());
        for outcome in result.chain(contents) {
            self.outcome(outcome);
            for (input, dependence) in through.inputs.iter().zip(&mut outcome.arguments) {
                let is_wrong = match input {
                    Input::Content(_) => self.wrong == Wrong::Content,
                    Input::Loaded(_) => self.wrong == Wrong::Loaded,
                    Input::Argument(_) => false,
                };
                if is_wrong {
                    *dependence = Dependence::NONE;
                }
            }
        }
        for part in &mut through.parts {
            if let (Some(content), Wrong::Left) = (&mut part.content, self.wrong) {
                *content = Outcome::default();
            }
        }
    }
}

impl CallFacts for WrongFacts<'_> {
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>> {
        let symbols = queries::symbols(self.db, self.function.module(self.db));
        let input = *symbols.get(&callee)?;
        let mut summary = queries::summary(self.db, input).clone();
        if self.wrong == Wrong::Parting {
            let postdom = queries::postdom_tree(self.db, input)?;
            let flow = flow(self.db, input)?;
            summary = with_code(self.db, input, self, |code, around| {
                // One level deep: facts about further callees are correct.
                let right = Right { db: self.db, function: input };
                let around = Environment { calls: &right, ..around };
                summarize_without_parting(code, around, flow, postdom)
            });
        }
        self.outcome(&mut summary.result);
        summary.through.iter_mut().for_each(|through| self.through(through));
        for member in &mut summary.members {
            self.outcome(member);
            if self.wrong == Wrong::Members {
                *member = Outcome::default();
            }
        }
        Some(Cow::Owned(summary))
    }

    fn argument(&self, position: u32) -> Option<SourceSet> {
        let known = queries::argument_facts(self.db, self.function).as_ref()?;
        match self.wrong {
            Wrong::Passed => Some(SourceSet::EMPTY),
            _ => known.get(position as usize).copied(),
        }
    }
}

/// Correct facts.
pub(crate) struct Right<'a> {
    pub(crate) db: &'a Database,
    pub(crate) function: FunctionInput,
}

impl CallFacts for Right<'_> {
    fn summary(&self, callee: GlobalName) -> Option<Cow<'_, Summary>> {
        let symbols = queries::symbols(self.db, self.function.module(self.db));
        Some(Cow::Borrowed(queries::summary(self.db, *symbols.get(&callee)?)))
    }

    fn argument(&self, _: u32) -> Option<SourceSet> {
        None
    }
}

pub(crate) fn with_code<R>(
    db: &Database,
    function: FunctionInput,
    calls: &dyn CallFacts,
    run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
) -> R {
    let module = function.module(db);
    let code = Code {
        context: module.context(db),
        header: function.header(db),
        flow: function.flow(db),
        body: function.body(db),
        library: queries::library(db, module),
    };
    let target = queries::target(db, module);
    let around = Environment {
        target,
        layout: queries::type_layout(db, module),
        launch: queries::launch_facts(db, function),
        lockstep: target.is_lockstep(""),
        scratch_is_global: target.scratch_is_global(""),
        permutes_halves: target.permuted_lanes("") != Some(64),
        callee: &|_| None,
        calls,
        node_string: &|_| None,
    };
    run(code, around)
}

/// The divergence that results.
pub(super) fn divergence(
    db: &Database,
    function: FunctionInput,
    wrong: Wrong,
) -> Option<Divergence> {
    let facts = WrongFacts { db, function, wrong };
    let flow = flow(db, function)?;
    let mut launch = queries::launch_facts(db, function);
    if wrong == Wrong::Launches && !queries::is_kernel(db, function) {
        let entries = function.module(db).functions(db).iter().filter(|e| e.is_definition);
        let kernel =
            entries.map(|e| e.input).filter(|&each| queries::is_kernel(db, each)).last()?;
        launch = queries::launch_facts(db, kernel);
    }
    let table = with_code(db, function, &facts, |code, around| {
        let around = Environment { launch, ..around };
        let memory = PrivateMemory::through_calls(code, around, flow.cfg, flow.dom);
        lower::full_with(code, around, &memory, 0)
    });
    Some(solve(flow, &table, Rules::Precise))
}

/// The divergence that results without a part of the analysis of shapes.
pub(super) fn without_part(
    db: &Database,
    function: FunctionInput,
    omitted: OmittedPart,
) -> Option<Divergence> {
    let flow = flow(db, function)?;
    let table = with_code(db, function, &NoCallFacts, |code, around| {
        let memory = PrivateMemory::through_calls(code, around, flow.cfg, flow.dom);
        lower::full_without_part(code, around, &memory, omitted)
    });
    Some(solve(flow, &table, Rules::Precise))
}

/// The divergence that results if calls of the function use no tokens.
pub(super) fn without_tokens(db: &Database, function: FunctionInput) -> Option<Divergence> {
    let flow = flow(db, function)?;
    let mut body = function.body(db).clone();
    for call in body.call_infos_mut() {
        call.bundles = Box::default();
    }
    let facts = Right { db, function };
    let table = with_code(db, function, &facts, |code, around| {
        let code = Code { body: &body, ..code };
        let memory = PrivateMemory::through_calls(code, around, flow.cfg, flow.dom);
        lower::full_with(code, around, &memory, 0)
    });
    Some(solve(flow, &table, Rules::Precise))
}

/// The divergence that results without a dependency of loads from private memory.
pub(super) fn without_read(
    db: &Database,
    function: FunctionInput,
    omitted: OmittedRead,
) -> Option<Divergence> {
    let flow = flow(db, function)?;
    let table = with_code(db, function, &NoCallFacts, |code, around| {
        let memory = PrivateMemory::through_calls(code, around, flow.cfg, flow.dom);
        lower::full_without(code, around, &memory, omitted)
    });
    Some(solve(flow, &table, Rules::Precise))
}
