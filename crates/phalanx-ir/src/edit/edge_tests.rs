//! Edges and the phis of their targets: the cost of an edit is proportional to the edges that it
//! changes, and a transaction can take all of them back.

use std::sync::Arc;

use super::{
    tests::{block, named, uses_are_right},
    *,
};
use crate::{Function, FunctionBuilder, InstBuilder, Module, ModuleBuilder, builder::FunctionSpec};

/// A switch to `ways` blocks, all of which branch to the join; its phi has another value for each.
pub(super) fn fan(ways: usize) -> Module {
    let context = Arc::new(Context::new());
    let mut module = ModuleBuilder::new(Arc::clone(&context));
    let spec = FunctionSpec::new(Type::I32).param(Type::I32, "n").param(Type::I32, "m");
    let mut f: FunctionBuilder<'_> = module.define_function("f", &spec).unwrap();
    let [n, m] = f.args();
    let [entry, other, join] = ["entry", "other", "join"].map(|b| f.block(b));
    let blocks: Vec<BlockId> = (0..ways).map(|at| f.block(&format!("way{at}"))).collect();
    f.switch_to(entry);
    let cases: Vec<(Const, BlockId)> =
        (0..).zip(&blocks).map(|(case, &to)| (context.const_i32(case), to)).collect();
    f.switch(n, other, &cases).unwrap();
    f.switch_to(other);
    let zero = context.const_i32(0);
    f.ret(zero).unwrap();
    let mut values = Vec::new();
    for (at, &way) in blocks.iter().enumerate() {
        f.switch_to(way);
        values.push(if at % 3 == 0 { m } else { f.add(n, context.const_i32(at as i32)).unwrap() });
        f.br(join).unwrap();
    }
    f.switch_to(join);
    let p = f.named("p").phi(Type::I32).unwrap();
    for (&value, &from) in values.iter().zip(&blocks) {
        f.add_incoming(p, value, from).unwrap();
    }
    f.ret(p).unwrap();
    f.finish().unwrap();
    module.finish().unwrap()
}

pub(super) fn incoming(edit: &Transaction<'_>) -> Vec<(Value, BlockId)> {
    edit.body().phi_incoming(named(edit, "p")).collect()
}

/// Bytes that a transaction holds for its undo log, and operands that it made.
fn cost(edit: &Transaction<'_>) -> usize {
    let entries = edit.log.entries.iter().map(|entry| match entry {
        undo::Undo::Taken(_, _, taken) => size_of_val(&**taken),
        undo::Undo::Order(order) => size_of_val(&**order),
        _ => 0,
    });
    let start = edit.log.body.map_or(0, |start| start.operands());
    entries.sum::<usize>()
        + edit.log.entries.len() * size_of::<undo::Undo>()
        + (edit.body().pool.len() - start) * size_of::<Value>()
}

/// What an edit of a function with `ways` edges costs. After an abort, nothing of it is left.
fn cost_of(ways: usize, change: impl Fn(&mut Transaction<'_>)) -> usize {
    let mut module = fan(ways);
    let before = module.clone();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    edit.is_used(Value::arg(0));
    change(&mut edit);
    let cost = cost(&edit);
    edit.abort();
    assert!(module == before, "what is taken back leaves nothing behind");
    cost
}

/// Twice as many edges cost about twice as much.
#[track_caller]
pub(super) fn grows_with_edges(change: impl Fn(&mut Transaction<'_>)) {
    let [few, many] = [500, 1000].map(|ways| cost_of(ways, &change));
    assert!(many < 3 * few, "{few} bytes for 500 edges, {many} for 1000");
}

#[test]
fn edges_of_a_phi_come_and_go_in_place() {
    grows_with_edges(|edit| {
        let (p, all) = (named(edit, "p"), incoming(edit));
        for &(_, from) in &all {
            edit.remove_phi_input(p, from).unwrap();
        }
        assert_eq!(incoming(edit), []);
        for &(value, from) in &all {
            edit.add_phi_input(p, value, from).unwrap();
        }
        assert_eq!(incoming(edit), all);
    });
}

#[test]
fn edges_of_a_switch_are_logged_one_by_one() {
    grows_with_edges(|edit| {
        let [entry, other] = ["entry", "other"].map(|name| block(edit, name));
        for at in 1..edit.flow().successors(entry).len() {
            edit.redirect_edge(entry, at, other).unwrap();
        }
        assert!(edit.flow().successors(entry).iter().all(|&to| to == other));
    });
}

#[test]
fn a_switch_that_is_replaced_takes_its_edges_from_a_phi_at_once() {
    grows_with_edges(|edit| {
        let [entry, join] = ["entry", "join"].map(|name| block(edit, name));
        edit.redirect_edge(entry, 1, join).unwrap();
        edit.add_phi_input(named(edit, "p"), Value::arg(0), entry).unwrap();
        for at in 2..edit.flow().successors(entry).len() {
            edit.redirect_edge(entry, at, join).unwrap();
        }
        edit.replace_terminator(entry).br(join).unwrap();
        assert_eq!(incoming(edit).iter().filter(|(_, from)| *from == entry).count(), 1);
    });
}

#[test]
fn blocks_that_are_erased_take_their_edges_along_at_once() {
    grows_with_edges(|edit| {
        let [entry, other, join] = ["entry", "other", "join"].map(|name| block(edit, name));
        edit.replace_terminator(entry).br(join).unwrap();
        let ways = incoming(edit).len();
        edit.add_phi_input(named(edit, "p"), Value::arg(0), entry).unwrap();
        assert_eq!(edit.erase_unreachable().unwrap(), ways + 1);
        assert_eq!(incoming(edit), [(Value::arg(0), entry)]);
        assert!(!edit.flow().order().contains(&other));
    });
}

/// The entries keep their order and the lists of uses stay exact, whatever edges come and go.
#[test]
fn a_phi_that_was_edited_is_what_a_list_would_be() {
    let mut seed = 1u32;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    for round in 0..60 {
        let mut module = fan(1 + round % 7);
        let before = module.clone();
        let mut store = InModule::new(&mut module, 0);
        let mut edit = Transaction::new(&mut store);
        if round % 2 == 0 {
            edit.is_used(Value::arg(0));
        }
        let p = named(&edit, "p");
        let mut model = incoming(&edit);
        let blocks: Vec<BlockId> = edit.flow().order().to_vec();
        for _ in 0..40 {
            let from = blocks[random(blocks.len())];
            match random(3) {
                0 => {
                    let is_there = model.iter().any(|&(_, b)| b == from);
                    assert_eq!(edit.remove_phi_input(p, from).is_ok(), is_there);
                    model.retain(|&(_, b)| b != from);
                }
                _ => {
                    let value = [Value::arg(0), Value::arg(1), p.into()][random(3)];
                    edit.add_phi_input(p, value, from).unwrap();
                    model.push((value, from));
                }
            }
            assert_eq!(incoming(&edit), model);
            let function: Function = edit.function().to_function();
            for value in [Value::arg(0), Value::arg(1), p.into()] {
                let sorted = |body: &Body| {
                    let mut uses: Vec<Use> = body.uses_of(value).collect();
                    uses.sort();
                    uses
                };
                assert_eq!(sorted(edit.body()), sorted(&function.body));
            }
        }
        edit.abort();
        assert!(module == before, "what is taken back leaves nothing behind");
        uses_are_right(&module.functions[0]);
    }
}

/// Two phis side by side: the room of one is not taken by the other.
#[test]
fn empty_phis_have_no_room_in_common() {
    let mut module = fan(2);
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    let join = block(&edit, "join");
    let [a, b] = [0, 1].map(|_| edit.at_start(join).phi(Type::I32).unwrap().as_inst().unwrap());
    let ways = ["way0", "way1"].map(|name| block(&edit, name));
    let rounds = [(a, 0), (b, 1), (a, 0), (b, 0)];
    for (phi, value) in rounds {
        for way in ways {
            edit.add_phi_input(phi, Value::arg(value), way).unwrap();
        }
        let all = |phi| edit.body().phi_incoming(phi).collect::<Vec<_>>();
        assert_eq!(all(phi), ways.map(|way| (Value::arg(value), way)));
        for way in ways {
            edit.remove_phi_input(phi, way).unwrap();
        }
    }
    for (phi, value) in [(a, 0), (b, 1)] {
        for way in ways {
            edit.add_phi_input(phi, Value::arg(value), way).unwrap();
        }
    }
    edit.commit().unwrap();
    uses_are_right(&module.functions[0]);
}

/// A list of blocks that was taken before the edit still names them while blocks are added and
/// removed. After an abort, the blocks stand in their former order.
#[test]
fn the_order_of_blocks_is_taken_back() {
    let mut module = fan(4);
    let before = module.functions[0].flow.order().to_vec();
    let mut store = InModule::new(&mut module, 0);
    let mut edit = Transaction::new(&mut store);
    let order = edit.flow().order().to_vec();
    let join = block(&edit, "join");
    for &way in &order[3..] {
        edit.split_edge(way, 0, "edge").unwrap();
        edit.move_block_after(way, join).unwrap();
        edit.merge_successor(way).unwrap();
    }
    let late = edit.create_block("late", Some(join)).unwrap();
    edit.at_end(late).unreachable().unwrap();
    edit.erase_block(late).unwrap();
    assert_eq!(order, before);
    assert_ne!(edit.flow().order(), before);
    edit.abort();
    assert_eq!(module.functions[0].flow.order(), before);
}
