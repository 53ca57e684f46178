//! What is around a function, as analyses want it: [`Code`] and [`Environment`].
//!
//! [`with_code`] reads each part where it is. That is some ten reads, which costs more than many an
//! edit: of a large function there are copies ([`OwnEnvironment`]), kept in a query that an edit
//! of instructions leaves as it is ([`env`](super::env)).

use std::sync::Arc;

use phalanx_analysis::{
    code::TypeLayout,
    launch,
    lower::{Code, Environment, Library},
    summary::CallFacts,
};
use phalanx_ir::{Body, Context, Flow, FunctionHeader, GlobalName, attributes::AttrList};
use phalanx_target::{LaunchFacts, Target};

use super::known_calls::KnownCalls;
use super::launches::{ModuleFacts, Placed, known_launch};
use super::promises::register_names;
use crate::FunctionInput;
use crate::queries::called::Attributes;

use salsa::Database as Db;

/// Gives the code of a function and what is around it. `callees` are the attributes of functions
/// that it calls, of those that matter, sorted.
pub(super) fn with_code<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: &[(GlobalName, AttrList)],
    run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
) -> Option<R> {
    with_code_and(db, function, callees, &KnownCalls::new(db, function), run)
}

/// As [`with_code`], with what is known of calls.
pub(super) fn with_code_and<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: &[(GlobalName, AttrList)],
    calls: &dyn CallFacts,
    run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
) -> Option<R> {
    with_surroundings(db, function, Attributes::Of(callees), calls, run)
}

/// As [`with_code`], with attributes that may be those of the module.
pub(super) fn with_attributes<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: Attributes<'_>,
    run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
) -> Option<R> {
    with_surroundings(db, function, callees, &KnownCalls::new(db, function), run)
}

fn with_surroundings<R>(
    db: &dyn Db,
    function: FunctionInput,
    callees: Attributes<'_>,
    calls: &dyn CallFacts,
    run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
) -> Option<R> {
    let flow = function.flow(db);
    flow.entry()?;
    Some(with_parts(db, (function, (flow, function.body(db))), (callees, calls), run))
}

/// As [`with_code_and`], with the flow and body of a function that has one.
///
/// *Reads* what [`Placed::new`], [`known_launch`] and [`Moment::new`] do.
pub(super) fn with_parts<R>(
    db: &dyn Db,
    (function, parts): (FunctionInput, (&Flow, &Body)),
    callees_and_calls: (Attributes<'_>, &dyn CallFacts),
    run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
) -> R {
    let place = Placed::new(db, function);
    let Placed { header, facts: ModuleFacts { context, target, layout, library, .. }, .. } = place;
    let env = Known {
        context,
        header,
        target,
        layout,
        launch: &known_launch(db, place),
        library,
        moment: Moment::new(db, place),
    };
    env.with(db, (function, parts), callees_and_calls, run)
}

/// What the processor says of when instructions are executed, where private memory is, and which
/// lanes are permuted.
#[derive(Clone, Copy, Debug)]
struct Moment {
    lockstep: bool,
    scratch_is_global: bool,
    permutes_halves: bool,
}

impl Moment {
    /// *Reads* [`processors`](super::launches::processors) of a function that names none.
    fn new(db: &dyn Db, place: Placed<'_>) -> Moment {
        let ModuleFacts { context, target, .. } = place.facts;
        let of = place.processors(db);
        Moment {
            lockstep: target.is_lockstep(launch::processor(context, place.header.attributes)),
            scratch_is_global: of.scratch_is_global,
            permutes_halves: of.permutes_halves,
        }
    }
}

/// What is around a function, calls aside.
#[derive(Clone, Copy)]
struct Known<'a> {
    context: &'a Context,
    header: &'a FunctionHeader,
    target: &'a Target,
    layout: &'a TypeLayout,
    launch: &'a LaunchFacts,
    library: &'a Library,
    moment: Moment,
}

impl Known<'_> {
    fn with<R>(
        self,
        db: &dyn Db,
        (function, (flow, body)): (FunctionInput, (&Flow, &Body)),
        (callees, calls): (Attributes<'_>, &dyn CallFacts),
        run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
    ) -> R {
        let Known { context, header, target, layout, launch, library, moment } = self;
        let code = Code { context, header, flow, body, library };
        let callee = |name: GlobalName| callees.of(name);
        // Read on demand, so that a function that names no register does not depend on what names
        // them.
        let node_string = |node| {
            let names = register_names(db, function.module(db));
            let at = names.binary_search_by_key(&node, |(node, _)| *node).ok()?;
            Some(names[at].1)
        };
        let Moment { lockstep, scratch_is_global, permutes_halves } = moment;
        let (callee, node_string) = (&callee, &node_string);
        run(
            code,
            Environment {
                target,
                layout,
                launch,
                lockstep,
                scratch_is_global,
                permutes_halves,
                callee,
                calls,
                node_string,
            },
        )
    }
}

/// Copies of what is around a function, so that one read does for all of it.
#[derive(Debug)]
pub(super) struct OwnEnvironment {
    context: Arc<Context>,
    header: FunctionHeader,
    target: Target,
    layout: Arc<TypeLayout>,
    launch: LaunchFacts,
    library: Arc<Library>,
    moment: Moment,
}

impl OwnEnvironment {
    /// *Reads* what [`Placed::new`] and [`known_launch`] do.
    pub(super) fn new(db: &dyn Db, function: FunctionInput) -> Self {
        let place = Placed::new(db, function);
        let Placed { header, facts: ModuleFacts { context, target, layout, library, .. }, .. } =
            place;
        OwnEnvironment {
            context: Arc::clone(context),
            header: header.clone(),
            target: target.clone(),
            layout: Arc::clone(layout),
            launch: known_launch(db, place),
            library: Arc::clone(library),
            moment: Moment::new(db, place),
        }
    }

    /// As [`with_attributes`], of the function whose environment these are, with its flow and
    /// body.
    pub(super) fn with<R>(
        &self,
        db: &dyn Db,
        code: (FunctionInput, (&Flow, &Body)),
        env: (Attributes<'_>, &dyn CallFacts),
        run: impl FnOnce(Code<'_>, Environment<'_>) -> R,
    ) -> R {
        let OwnEnvironment { context, header, target, layout, launch, library, moment } = self;
        Known { context, header, target, layout, launch, library, moment: *moment }
            .with(db, code, env, run)
    }
}

/// The same but for what it calls.
pub(super) fn read_alone(db: &dyn Db, function: FunctionInput) {
    let place = Placed::new(db, function);
    let _ = known_launch(db, place);
}
