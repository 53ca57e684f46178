//! Debug records stay before their instruction and mention the right values. The cost of an edit is
//! proportional to the records that it changes, and a transaction takes all changes back.

use std::{collections::BTreeMap, sync::Arc};

use super::*;
use crate::{
    FunctionBuilder, InstBuilder, Module, ModuleBuilder, Opcode,
    builder::FunctionSpec,
    metadata::{DebugRecord, DebugVariable, DebugVariableKind, LocalMetadata, MetadataId},
};

/// `length` additions, with a record behind each that mentions it.
fn chain(length: usize) -> Module {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    let spec = FunctionSpec::new(Type::VOID).param(Type::I32, "n").param(Type::I32, "m");
    let mut f: FunctionBuilder<'_> = module.define_function("f", &spec).unwrap();
    let [n, m] = f.args();
    let entry = f.block("entry");
    f.switch_to(entry);
    let values: Vec<Value> = (0..length).map(|_| f.add(n, m).unwrap()).collect();
    f.ret_void().unwrap();
    f.finish().unwrap();
    let mut module = module.finish().unwrap();
    let function = &mut module.functions[0];
    let node = MetadataId::from_raw(0.into());
    for value in values {
        let record = DebugRecord::Variable(DebugVariable {
            kind: DebugVariableKind::Value,
            value: LocalMetadata::Value(value),
            variable: node,
            expression: node,
            location: node,
        });
        let behind = function.body.next(value.as_inst().unwrap()).unwrap();
        function.extras.set_debug_records(behind, vec![record]);
    }
    module
}

fn additions(edit: &Transaction<'_>) -> Vec<InstId> {
    let body = edit.body();
    body.all_ids().filter(|&i| body.has(i) && body.inst(i).opcode == Opcode::Add).collect()
}

/// Bytes that a transaction holds after an edit of a chain of this length. After an abort, nothing
/// of the edit is left.
fn cost_of(length: usize, change: impl Fn(&mut Transaction<'_>)) -> usize {
    let mut module = chain(length);
    let before = module.clone();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    change(&mut edit);
    let entries = edit.log.entries.iter().map(|entry| match entry {
        undo::Undo::Records(_, records) => size_of_val(&**records),
        undo::Undo::OneRecord(_, _, record) => size_of_val(&**record),
        _ => 0,
    });
    let mentions = edit.mentions.as_ref().map_or(0, Mentions::count);
    let cost = entries.sum::<usize>() + mentions + edit.log.entries.len();
    edit.abort();
    assert!(module == before, "what is taken back leaves nothing behind");
    cost
}

#[track_caller]
fn grows_with_length(change: impl Fn(&mut Transaction<'_>)) {
    let [short, long] = [300, 600].map(|length| cost_of(length, &change));
    assert!(long < 3 * short, "{short} for 300 instructions, {long} for 600");
}

#[test]
fn records_gather_before_what_is_left() {
    grows_with_length(|edit| {
        let all = additions(edit);
        for &inst in &all {
            edit.erase(inst).unwrap();
        }
        let ret = edit.body().all_ids().find(|&i| edit.body().has(i)).unwrap();
        assert_eq!(edit.extras().debug_records_before(ret).count(), all.len());
        let poison = edit.context().const_poison(Type::I32).into();
        let mut records = edit.extras().debug_records_before(ret);
        assert!(records.all(|record| record.values().eq([poison])));
    });
}

#[test]
fn records_stay_where_instructions_move_away() {
    grows_with_length(|edit| {
        let entry = edit.flow().order()[0];
        // The last one has its record before the terminator.
        let all = additions(edit);
        for &inst in &all {
            edit.move_to_end(inst, entry).unwrap();
        }
        for (&inst, value) in all.iter().zip([Value::arg(0), Value::arg(1)].iter().cycle()) {
            edit.replace_all_uses(inst, *value).unwrap();
        }
        let mut records = edit.extras().debug_records.iter();
        assert!(records.all(|(_, record)| record.values().all(|v| v.as_arg().is_some())));
    });
}

/// The records equal a simple model with one list per instruction.
#[test]
fn records_that_were_edited_are_what_lists_would_be() {
    let mut seed = 7u32;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    for _ in 0..30 {
        let mut module = chain(12);
        let before = module.clone();
        let mut store = InModule::new(&mut module, 0);
        let mut edit = Transaction::new(&mut store);
        let mut model: BTreeMap<InstId, Vec<DebugRecord>> = BTreeMap::new();
        for (inst, record) in &edit.extras().debug_records {
            model.entry(*inst).or_default().push(record.clone());
        }
        let gather = |model: &mut BTreeMap<InstId, Vec<DebugRecord>>, from: InstId, to: InstId| {
            let mut records = model.remove(&from).unwrap_or_default();
            records.append(model.entry(to).or_default());
            model.insert(to, records);
        };
        let replace = |model: &mut BTreeMap<InstId, Vec<DebugRecord>>, old: Value, new: Value| {
            for record in model.values_mut().flatten() {
                record.for_each_value_mut(&mut |v| *v = if *v == old { new } else { *v });
            }
        };
        for _ in 0..20 {
            let all = additions(&edit);
            let Some(&inst) = all.get(random(all.len().max(1))) else { break };
            let next = edit.body().next(inst).unwrap();
            let other = all[random(all.len())];
            match random(4) {
                0 => {
                    let poison = edit.context().const_poison(Type::I32).into();
                    edit.erase(inst).unwrap();
                    replace(&mut model, inst.into(), poison);
                    gather(&mut model, inst, next);
                }
                1 => {
                    edit.replace_all_uses(inst, Value::inst(other)).unwrap();
                    replace(&mut model, inst.into(), other.into());
                }
                _ if inst != other => {
                    edit.move_before(inst, other).unwrap();
                    gather(&mut model, inst, next);
                }
                _ => {}
            }
            let listed = model.iter().flat_map(|(&i, list)| list.iter().map(move |r| (i, r)));
            assert!(edit.extras().debug_records.iter().map(|(i, r)| (*i, r)).eq(listed));
        }
        edit.abort();
        assert!(module == before, "what is taken back leaves nothing behind");
    }
}

#[test]
fn what_a_variable_is_can_be_forgotten_and_carried_on() {
    let mut module = chain(3);
    let before = module.clone();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    let all = additions(&edit);
    let first = |edit: &Transaction<'_>, inst| {
        let records = edit.extras().debug_records_before(inst);
        records.flat_map(|record| record.values().collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let poison: Value = edit.context().const_poison(Type::I32).into();
    edit.forget_debug_values(all[1]).unwrap();
    assert_eq!(first(&edit, all[1]), [poison]);
    edit.carry_debug_records(all[1], all[2]).unwrap();
    assert_eq!(first(&edit, all[1]), []);
    assert_eq!(first(&edit, all[2]), [all[1].into(), poison]);
    // Mentions are still found.
    let argument = Value::arg(0);
    edit.replace(all[1], argument).unwrap();
    assert_eq!(first(&edit, all[2]), [argument, poison]);
    edit.abort();
    assert!(module == before, "what is taken back leaves nothing behind");
}
