//! Compares queries about single values with tables of the whole function.
//!
//! True uniformity and variance retain no state of their own: after an edit they use the retained
//! state of divergence and look at single instructions. Here they are compared with their
//! definitions, solved for all values at once from the tables of an unedited database.

use phalanx::{
    analysis::{
        User, UserKind,
        lower::{Code, Numbering},
        true_uniformity::twin::truly_uniform,
        variance::state_of,
    },
    db::{Database, FunctionInput, queries},
    ir::{InstId, Opcode, Value, flow::node_of},
    target::SourceSet,
};

/// Queries an edited function, and compares with a new database.
///
/// # Panics
/// If an answer differs.
pub(crate) fn agree(
    (db, edited): (&Database, FunctionInput),
    (cold, fresh): (&Database, FunctionInput),
) {
    let (Some(known), Some(table), Some(variance)) = (
        queries::what_is_known(cold, fresh),
        queries::affect_map(cold, fresh).as_ref(),
        queries::variance(db, edited),
    ) else {
        return;
    };
    let module = fresh.module(cold);
    let code = Code {
        context: module.context(cold),
        header: fresh.header(cold),
        flow: fresh.flow(cold),
        body: fresh.body(cold),
        library: queries::library(cold, module),
    };
    let numbering = Numbering::new(code.header);
    let architecture = queries::target(cold, module).architecture();
    let members = truly_uniform(code, architecture, known, table);
    let mut read = vec![SourceSet::EMPTY; table.len()];
    for value in table.values().filter(|value| table.is_reported(*value)) {
        for user in table.affects().users(value) {
            if let UserKind::Value(statement) = user.kind() {
                read[statement.index()] |= known.divergence.at_use(value, User::value(statement));
            }
        }
    }
    let launch = queries::launch_facts(cold, fresh);
    for (position, _) in code.header.params.iter().enumerate() {
        let argument = Value::arg(position as u32);
        let is_member = members.contains(numbering.argument(position as u32).index());
        assert_eq!(queries::is_truly_uniform(db, edited, argument), is_member, "{argument:?}");
    }
    for &block in code.flow.order() {
        let control = known.control[node_of(block).index()];
        assert_eq!(variance.block(node_of(block)), state_of(control, launch));
        for inst in code.body.block_insts(block) {
            let value = numbering.inst(inst);
            let opcode = code.body.inst(inst).opcode;
            if opcode.is_terminator() {
                continue;
            }
            let is_truly_uniform = queries::is_truly_uniform(db, edited, inst.into());
            let is_member = members.contains(value.index());
            assert_eq!(is_truly_uniform, is_member, "{inst:?}, {opcode:?}");
            let own = known.divergence.value(value);
            assert_eq!(variance.value(value), state_of(own, launch), "{inst:?}, {opcode:?}");
            let statement = state_of(own | control | read[value.index()], launch);
            let answer = queries::statement_variance(db, edited, inst);
            // The memory that a function reads through a pointer is only known together with its
            // caller's memory. Without that, more is read.
            match opcode == Opcode::Call && is_given_memory(cold, fresh, inst) {
                true => assert!(answer.contains(statement), "{inst:?}: {answer} {statement}"),
                false => assert_eq!(answer, statement, "{inst:?}, {opcode:?}"),
            }
        }
    }
}

/// Whether the callee accesses memory through a pointer.
fn is_given_memory(db: &Database, function: FunctionInput, call: InstId) -> bool {
    let module = function.module(db);
    let callee = function.body(db).const_callee(call);
    let name = callee.and_then(|callee| module.context(db).const_data(callee).kind.entity());
    let input = name.and_then(|name| queries::symbols(db, module).get(&name));
    input.is_some_and(|input| queries::summary(db, *input).through.is_some())
}
