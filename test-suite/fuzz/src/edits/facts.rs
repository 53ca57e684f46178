//! Queries an edited function, and compares its facts with those of a new database.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use phalanx::{
    FunctionId, ModuleId, Session,
    analysis::{
        data_flow::{Edges, Entity},
        explain::Link,
        lower::Code,
        stable::Assumptions,
        variance::BarrierModel,
    },
    db::{Database, FunctionInput, ModuleInput, TargetOverrides, queries},
    ir::{Body, Flow, GlobalName, InstId, Module, Opcode, Value, edit::Use},
    target::SourceSet,
};
use phalanx_analysis::data_flow::twin;
use rand::{Rng, RngCore, seq::SliceRandom};
use rustc_hash::FxHashSet;

use crate::on_demand;

/// Queries whose results are updated incrementally.
const REPAIRED: [fn(&Database, FunctionInput); 14] = [
    |db, f| _ = queries::divergence(db, f),
    |db, f| _ = queries::uniformity(db, f),
    |db, f| _ = queries::control_divergence(db, f),
    |db, f| _ = queries::edge_divergence(db, f),
    |db, f| _ = queries::convergence(db, f),
    |db, f| _ = queries::diagnostics(db, f),
    |db, f| _ = queries::load_classes(db, f),
    |db, f| _ = queries::data_flow(db, f),
    |db, f| _ = queries::classic_memory_ssa(db, f),
    |db, f| _ = queries::memory_accesses(db, f),
    |db, f| _ = queries::private_memory(db, f),
    |db, f| _ = queries::memory_kinds(db, f),
    |db, f| _ = queries::pointer_flow(db, f),
    |db, f| _ = queries::cycles(db, f),
];

/// Asks all incremental queries, so that there is state to update.
pub(crate) fn ask(session: &Session, function: FunctionId) {
    let (db, f) = (session.database(), function.input());
    REPAIRED.iter().for_each(|query| query(db, f));
}

/// Asks some of them.
pub(super) fn ask_some(session: &Session, function: FunctionId, rng: &mut dyn RngCore) {
    let (db, f) = (session.database(), function.input());
    let asked = REPAIRED.iter().filter(|_| rng.random_bool(0.3));
    asked.for_each(|query| query(db, f));
}

/// Threads that query a function until an edit cancels them; each returns whether one did. The
/// machine's timing decides where each is cancelled.
pub(super) fn ask_elsewhere(
    session: &Session,
    function: FunctionId,
    rng: &mut dyn RngCore,
) -> Vec<JoinHandle<bool>> {
    let worker = |_| {
        let (db, f) = (session.database().clone(), function.input());
        let mut queries = REPAIRED;
        queries.shuffle(rng);
        thread::spawn(move || {
            db.try_ask(|db| queries.iter().for_each(|query| query(db, f))).is_err()
        })
    };
    let workers = (0..2).map(worker).collect();
    thread::sleep(Duration::from_micros(rng.random_range(0..2_000)));
    workers
}

/// Checks the conditions after a commit; see the documentation of [`edits`](super).
pub(crate) fn check(session: &Session, module: ModuleId, function: FunctionId) {
    lists_are_right(session.code(function).body, session.code(function).flow);
    let text = session.print(module);
    let mut again = Session::new();
    let read = again.read(&text);
    let read = read.unwrap_or_else(|e| panic!("{e}\n{}", String::from_utf8_lossy(&text)));
    assert_eq!(
        String::from_utf8_lossy(&again.print(read)),
        String::from_utf8_lossy(&text),
        "text of an edited function is stable"
    );
    facts_are_right(session, module, function);
}

fn lists_are_right(body: &Body, flow: &Flow) {
    let (fresh_body, fresh_flow) = (body.clone(), flow.clone());
    for inst in body.all_ids() {
        let sorted = |body: &Body| {
            let mut uses: Vec<Use> = body.uses_of(inst.into()).collect();
            uses.sort();
            uses
        };
        assert_eq!(sorted(body), sorted(&fresh_body), "uses of {inst:?}");
    }
    for &block in flow.order() {
        assert_eq!(flow.in_degree(block), fresh_flow.in_degree(block), "edges into {block:?}");
    }
}

/// Assumptions about loads and barriers.
const ASSUMPTIONS: [Assumptions; 4] = [
    Assumptions::NONE,
    Assumptions { barriers: None, race_free: true },
    Assumptions { barriers: Some(BarrierModel::Strict), race_free: false },
    Assumptions { barriers: Some(BarrierModel::Lenient), race_free: true },
];

/// Checks that facts of the edited function equal those of a new database.
pub(crate) fn facts_are_right(session: &Session, module: ModuleId, function: FunctionId) {
    let mut fresh: Module = module.input().shell(session.database()).clone();
    let entries = module.input().functions(session.database());
    fresh.functions =
        entries.iter().map(|e| e.input.view(session.database()).to_function()).collect();
    let mut db = Database::new();
    let cold = db.load(fresh, None, TargetOverrides::default());
    db.set_whole(cold, module.input().is_whole(session.database()));
    for (number, entry) in entries.iter().enumerate() {
        let stated = entry.input.launch(session.database());
        let input = cold.functions(&db)[number].input;
        db.set_launch(input, stated).expect("what was stated of it can be stated of its like");
    }
    let at = entries.iter().position(|e| e.input == function.input());
    let at = at.expect("the function is in its module");
    for (number, entry) in entries.iter().enumerate().filter(|(_, e)| e.is_definition) {
        let of_both = [(session.database(), entry), (&db, &cold.functions(&db)[number])];
        let [warm, cold] = of_both.map(|(db, entry)| {
            let calls = (
                queries::argument_facts(db, entry.input).clone(),
                queries::argument_spaces(db, entry.input).clone(),
                *queries::returned_spaces(db, entry.input),
            );
            let facts = (queries::summary(db, entry.input), queries::divergence(db, entry.input));
            (calls, facts, queries::load_classes(db, entry.input))
        });
        // Functions are identified by their inputs, which differ between databases; nothing
        // compared here names one.
        assert!(warm == cold, "after an edit of function {at}, what is known of function {number}");
    }
    let cold = cold.functions(&db)[at].input;
    let (warm_db, warm) = (session.database(), function.input());
    macro_rules! same {
        ($($query:ident)*) => {
            $(assert!(
                queries::$query(warm_db, warm) == queries::$query(&db, cold),
                "{} of the edited function is not what it is from scratch",
                stringify!($query)
            );)*
        };
    }
    same!(cfg dfs dom_tree postdom_tree dom_frontier control_dependence cycles);
    same!(divergence uniformity control_divergence edge_divergence diagnostics);
    same!(launch_suggestions memory_accesses slow_accesses convergence memory_kinds load_classes launch_facts);
    same!(space_conflicts mixed_spaces);
    same!(private_memory address_memory memory_ssa classic_memory_ssa pointer_flow);
    same!(slow_loads parameter_uses unchanged_arguments written_spaces starts_at_launch);
    same!(own_barriers callees promised_loads);
    same!(branch_divergence divergent_branches ldu_candidates memory_versions variables_written);
    same!(llvm_affect_map group_operations barrier_blocks synchronizes barriers_are_judged is_kernel);
    for model in [BarrierModel::Strict, BarrierModel::Lenient] {
        let branches = |db, function| queries::invariant_branches(db, function, model);
        assert!(branches(warm_db, warm) == branches(&db, cold), "invariant branches by {model:?}");
    }
    single_answers_are_right((warm_db, warm), (&db, cold));
    module_answers_are_right((warm_db, module.input()), (&db, cold.module(&db)));
    for assumptions in ASSUMPTIONS {
        let loads = |db, function| queries::stable_loads(db, function, assumptions);
        assert!(loads(warm_db, warm) == loads(&db, cold), "stable loads assuming {assumptions:?}");
        let found = queries::assumed_divergence(warm_db, warm, assumptions);
        // By the definition, whatever shortcut or incremental update was used.
        let defined = queries::assumed_divergence_from_scratch(&db, cold, assumptions);
        assert!(found.as_deref() == defined.as_ref(), "divergence assuming {assumptions:?}");
        let control = |db, f| queries::assumed_control_divergence(db, f, assumptions);
        assert!(control(warm_db, warm) == control(&db, cold), "control assuming {assumptions:?}");
    }
    data_flow_is_right((warm_db, warm), (&db, cold));
    on_demand::agree((warm_db, warm), (&db, cold));
    let chains = [(warm_db, warm), (&db, cold)].map(|(db, function)| chains(db, function));
    assert!(chains[0] == chains[1], "reasons through calls are not what they are from scratch");
}

/// A function, and a module, with the database that is asked about it.
type Of<'a> = (&'a Database, FunctionInput);
type OfModule<'a> = (&'a Database, ModuleInput);

/// Compares queries about some single instructions that retain no state.
fn single_answers_are_right(warm: Of<'_>, cold: Of<'_>) {
    const SOME: usize = 16;
    let (flow, body) = (cold.1.flow(cold.0), cold.1.body(cold.0));
    let insts: Vec<InstId> =
        flow.order().iter().flat_map(|&block| body.block_insts(block)).collect();
    let every = insts.len().div_ceil(SOME).max(1);
    for &inst in insts.iter().step_by(every) {
        let subject = queries::Subject::Value(Value::inst(inst));
        let of = |(db, function): Of<'_>| {
            (
                queries::fact_of(db, function, subject),
                queries::explain_sources(db, function, subject, SourceSet::ALL),
            )
        };
        assert!(of(warm) == of(cold), "what is said of {inst:?}, and why");
    }
    let loads = insts.iter().filter(|&&inst| body.inst(inst).opcode == Opcode::Load);
    for &load in loads.take(SOME) {
        let clobber = |(db, function): Of<'_>| queries::nearest_clobber(db, function, load);
        assert!(clobber(warm) == clobber(cold), "who writes what {load:?} reads");
    }
}

/// Compares facts about all functions of a module.
fn module_answers_are_right(warm: OfModule<'_>, cold: OfModule<'_>) {
    let branches = |(db, module): OfModule<'_>| queries::module_divergent_branches(db, module);
    assert_eq!(branches(warm), branches(cold), "divergent branches of the module");
    let written = |(db, module): OfModule<'_>| queries::written_variables(db, module).clone();
    assert!(written(warm) == written(cold), "written variables of the module");
    let alignments = |(db, module): OfModule<'_>| queries::variable_alignments(db, module).clone();
    assert!(alignments(warm) == alignments(cold), "alignments of variables");
    let bottom_up = |(db, module): OfModule<'_>| -> Vec<GlobalName> {
        let graph = queries::call_graph(db, module);
        graph.bottom_up().map(|function| function.header(db).name).collect()
    };
    assert_eq!(bottom_up(warm), bottom_up(cold), "order of the call graph");
}

/// Compares the data flow with its definition, computed for the same function in a new database.
fn data_flow_is_right(warm: Of<'_>, cold: Of<'_>) {
    let flow = queries::data_flow(warm.0, warm.1).expect("it has a body");
    let memory = queries::memory_ssa(cold.0, cold.1).as_ref().expect("it has a body");
    let code = Code {
        context: cold.1.module(cold.0).context(cold.0),
        header: cold.1.header(cold.0),
        flow: cold.1.flow(cold.0),
        body: cold.1.body(cold.0),
        library: queries::library(cold.0, cold.1.module(cold.0)),
    };
    let defined = twin::edges(code, memory);
    let users = |from| flow.users(from).map(move |(to, edge)| (from, to, edge));
    let found: Vec<_> = flow.entities().flat_map(users).collect();
    assert!(found == defined, "data flow of the edited function is not what it is from scratch");
    // From the first argument and the last instruction.
    let last = flow.entities().take_while(|entity| matches!(entity, Entity::Value(_))).last();
    let from: Vec<Entity> = flow.entities().take(1).chain(last).collect();
    let mut reached: FxHashSet<Entity> = from.iter().copied().collect();
    let mut work = from.clone();
    while let Some(entity) = work.pop() {
        let first = defined.partition_point(|(from, ..)| *from < entity);
        let users = defined[first..].iter().take_while(|(from, ..)| *from == entity);
        work.extend(users.map(|(_, to, _)| *to).filter(|to| reached.insert(*to)));
    }
    let mut reached: Vec<Entity> = reached.into_iter().collect();
    reached.sort_unstable();
    let found: Vec<Entity> = flow.reached(from, Edges::All).iter().collect();
    assert_eq!(found, reached, "what is reached in the edited function");
}

/// Explanations of call results: by function, the text of each link. Only for the first calls,
/// since each explanation asks for others.
fn chains(db: &Database, function: FunctionInput) -> Vec<(GlobalName, Link, bool)> {
    const CALLS: usize = 4;
    let (flow, body) = (function.flow(db), function.body(db));
    let insts = flow.order().iter().flat_map(|&block| body.block_insts(block));
    let calls = insts.filter(|&inst| body.inst(inst).opcode == Opcode::Call);
    let calls =
        calls.filter(|&inst| function.mentions(db).calls().iter().any(|(at, _)| *at == inst));
    let chain = |inst: InstId| {
        let subject = queries::Subject::Value(Value::inst(inst));
        queries::explain_through_calls(db, function, subject, SourceSet::ALL, None)
    };
    let links = calls.take(CALLS).flat_map(chain);
    let named = |link: queries::CallLink| {
        let is_last = link.passage == queries::Passage::No;
        (link.function.header(db).name, link.link, is_last)
    };
    links.map(named).collect()
}
