//! Cases of a `switch`, the phis of their targets, and the values of parallel edges.

use expect_test::{Expect, expect};

use super::{
    edge_tests::{fan, grows_with_edges, incoming},
    tests::{block, named, uses_are_right},
    *,
};
use crate::{InstBuilder, metadata::NodeBuilder};

/// Edits a function whose switch has two cases; returns its cases afterwards and the entries of its
/// phi, or the error.
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), BuildError>, expect: Expect) {
    let mut module = fan(2);
    let before = module.clone();
    let mut store = InModule::new(&mut module, 0);
    let mut transaction = Transaction::new(&mut store);
    transaction.is_used(Value::arg(0));
    let result = edit(&mut transaction).map(|()| told(&transaction));
    match result.and_then(|told| transaction.commit().map(|()| told)) {
        Ok(told) => {
            uses_are_right(&module.functions[0]);
            expect.assert_eq(&told);
        }
        Err(error) => {
            assert!(module == before, "what failed leaves nothing behind");
            expect.assert_eq(&error.to_string());
        }
    }
}

fn told(edit: &Transaction<'_>) -> String {
    let function = edit.function();
    let entry = edit.flow().entry().unwrap();
    let switch = edit.body().terminator(entry).unwrap();
    let value = |v: &Value| describe::value(edit.context(), function, *v);
    let cases = edit.body().operands(switch).iter().zip(edit.flow().successors(entry));
    let cases =
        cases.map(|(case, &to)| format!("{} -> {}", value(case), describe::block(function, to)));
    let phi = incoming(edit);
    let phi =
        phi.iter().map(|(v, from)| format!("{}: {}", describe::block(function, *from), value(v)));
    format!("{}\n{}", cases.collect::<Vec<_>>().join(", "), phi.collect::<Vec<_>>().join(", "))
}

fn int(edit: &Transaction<'_>, value: i32) -> Const {
    edit.context().const_i32(value)
}

#[test]
fn a_case_is_added_to_a_block_of_another() {
    check(
        |edit| {
            let [entry, way] = ["entry", "way1"].map(|name| block(edit, name));
            assert_eq!(edit.add_case(entry, int(edit, 7), way)?, 3);
            assert_eq!(edit.case_of(entry, int(edit, 7)), Some(3));
            Ok(())
        },
        expect![[r#"
            %n -> %other, 0 -> %way0, 1 -> %way1, 7 -> %way1
            %way0: %m, %way1: %i3"#]],
    );
}

#[test]
fn an_edge_to_a_phi_needs_a_value() {
    check(
        |edit| {
            let [entry, join] = ["entry", "join"].map(|name| block(edit, name));
            edit.add_case(entry, int(edit, 7), join).map(drop)
        },
        expect!["@f: %p has 0 incoming values for 1 edges from %entry"],
    );
}

/// The second edge gets the value of the first.
#[test]
fn parallel_edges_to_a_phi_agree() {
    check(
        |edit| {
            let [entry, join] = ["entry", "join"].map(|name| block(edit, name));
            let p = named(edit, "p");
            edit.add_case(entry, int(edit, 7), join)?;
            edit.add_phi_input(p, Value::arg(1), entry)?;
            edit.add_case(entry, int(edit, -1), join).map(drop)
        },
        expect![[r#"
            %n -> %other, 0 -> %way0, 1 -> %way1, 7 -> %join, 4294967295 -> %join
            %way0: %m, %way1: %i3, %entry: %m, %entry: %m"#]],
    );
}

#[test]
fn a_case_that_goes_takes_one_edge_along() {
    check(
        |edit| {
            let [entry, join] = ["entry", "join"].map(|name| block(edit, name));
            edit.add_case(entry, int(edit, 7), join)?;
            edit.add_phi_input(named(edit, "p"), Value::arg(1), entry)?;
            edit.add_case(entry, int(edit, 8), join)?;
            let place = edit.case_of(entry, int(edit, 7)).unwrap();
            edit.remove_case(entry, place)?;
            edit.remove_case(entry, 1)?;
            assert_eq!(edit.case_of(entry, int(edit, 0)), None);
            edit.erase_unreachable().map(drop)
        },
        expect![[r#"
            %n -> %other, 1 -> %way1, 8 -> %join
            %way1: %i3, %entry: %m"#]],
    );
}

#[test]
fn a_case_and_the_default_lead_elsewhere() {
    check(
        |edit| {
            let [entry, other, way] = ["entry", "other", "way0"].map(|name| block(edit, name));
            let place = edit.case_of(entry, int(edit, 0)).unwrap();
            edit.redirect_edge(entry, place, other)?;
            edit.redirect_edge(entry, 0, way)
        },
        expect![[r#"
            %n -> %way0, 0 -> %other, 1 -> %way1
            %way0: %m, %way1: %i3"#]],
    );
}

#[test]
fn values_have_one_case_of_their_type() {
    let on = |value: fn(&Context) -> Const, expect| {
        check(
            |edit| {
                let [entry, other] = ["entry", "other"].map(|name| block(edit, name));
                let value = value(edit.context());
                edit.add_case(entry, value, other).map(drop)
            },
            expect,
        );
    };
    on(|c| c.const_i32(1), expect!["@f: 1 has a case already"]);
    on(|c| c.const_zero(Type::I32), expect!["@f: 0 has a case already"]);
    on(|c| c.const_i64(5), expect!["@f: 5 is no integer of the type that is tested"]);
    on(
        |c| c.const_poison(Type::I32),
        expect!["@f: poison is no integer of the type that is tested"],
    );
}

#[test]
fn other_blocks_and_places_have_no_cases() {
    let at = |name: &'static str, place| {
        move |edit: &mut Transaction<'_>| edit.remove_case(block(edit, name), place)
    };
    check(at("entry", 0), expect!["@f: %i0 has no such case"]);
    check(at("entry", 3), expect!["@f: %i0 has no such case"]);
    check(at("way0", 1), expect!["@f: %i2 is no `switch`"]);
    check(
        |edit| {
            let entry = block(edit, "entry");
            edit.add_case(entry, int(edit, 9), entry).map(drop)
        },
        expect!["@f: %entry is the entry of its function"],
    );
}

/// A profile has one weight for each successor.
#[test]
fn a_profile_is_dropped_with_the_number_of_cases() {
    for adds in [false, true] {
        let mut module = fan(2);
        let node = module.metadata.add(NodeBuilder::tuple(false, [])).unwrap();
        let mut store = InModule::new(&mut module, 0);
        let mut edit = Transaction::new(&mut store);
        let [entry, other] = ["entry", "other"].map(|name| block(&edit, name));
        let switch = edit.body().terminator(entry).unwrap();
        for kind in ["prof", "mine"] {
            edit.attach(switch, kind, Some(node)).unwrap();
        }
        match adds {
            true => drop(edit.add_case(entry, int(&edit, 7), other).unwrap()),
            false => edit.remove_case(entry, 1).unwrap(),
        }
        let kinds = edit.extras().attachments_of(switch).map(|a| edit.context().text(a.kind));
        assert_eq!(kinds.collect::<Vec<_>>(), ["mine"]);
    }
}

#[test]
fn cases_come_and_go_in_place() {
    grows_with_edges(|edit| {
        let [entry, other] = ["entry", "other"].map(|name| block(edit, name));
        let cases = edit.flow().successors(entry).len() as i32 - 1;
        for value in 0..cases {
            edit.add_case(entry, int(edit, cases + value), other).unwrap();
        }
        for _ in 0..cases {
            edit.remove_case(entry, 1).unwrap();
        }
        assert_eq!(edit.flow().successors(entry).len() as i32, 1 + cases);
    });
}

/// Two switches, with edges and phis between them: each equals a model that is a list, and an abort
/// takes all back.
#[test]
fn switches_that_were_edited_are_what_lists_would_be() {
    let mut seed = 1u32;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % below
    };
    for round in 0..60 {
        let mut module = fan(2 + round % 5);
        let before = module.clone();
        let mut store = InModule::new(&mut module, 0);
        let mut edit = Transaction::new(&mut store);
        if round % 2 == 0 {
            edit.is_used(Value::arg(0));
            edit.flow().in_degree(edit.flow().entry().unwrap());
        }
        let [entry, way, other, join] =
            ["entry", "way0", "other", "join"].map(|name| block(&edit, name));
        edit.replace_terminator(way).switch(Value::arg(1), join, &[]).unwrap();
        let switches = [entry, way];
        let cases = |edit: &Transaction<'_>, at: BlockId| {
            let switch = edit.body().terminator(at).unwrap();
            let operands = edit.body().operands(switch).iter().copied();
            operands.zip(edit.flow().successors(at).iter().copied()).collect::<Vec<_>>()
        };
        let mut models = switches.map(|at| cases(&edit, at));
        for _ in 0..40 {
            let which = random(2);
            let (at, model) = (switches[which], &mut models[which]);
            let to = [other, join, way][random(3)];
            let value = int(&edit, random(30) as i32);
            let place = random(model.len() + 1);
            let is_there = model[1..].iter().any(|case| case.0 == Value::from(value));
            match random(5) {
                0 => {
                    let may = place > 0 && place < model.len();
                    assert_eq!(edit.remove_case(at, place).is_ok(), may);
                    if may {
                        model.remove(place);
                    }
                }
                1 => {
                    let may = place < model.len();
                    assert_eq!(edit.redirect_edge(at, place, to).is_ok(), may);
                    if may {
                        model[place].1 = to;
                    }
                }
                _ => {
                    assert_eq!(edit.add_case(at, value, to).is_ok(), !is_there);
                    if !is_there {
                        model.push((value.into(), to));
                    }
                }
            }
            assert_eq!(switches.map(|at| cases(&edit, at)), models);
            let fresh = edit.function().to_function();
            for &block in fresh.flow.order() {
                assert_eq!(edit.flow().in_degree(block), fresh.flow.clone().in_degree(block));
            }
            for value in [Value::arg(0), Value::arg(1)] {
                let sorted = |body: &Body| {
                    let mut uses: Vec<Use> = body.uses_of(value).collect();
                    uses.sort();
                    uses
                };
                assert_eq!(sorted(edit.body()), sorted(&fresh.body));
            }
        }
        edit.abort();
        assert!(module == before, "what is taken back leaves nothing behind");
        uses_are_right(&module.functions[0]);
    }
}

/// `which` holds for one of several parallel edges, whichever that is: the values of all of them
/// are replaced.
#[test]
fn uses_for_parallel_edges_are_replaced_together() {
    for chosen in 0..3 {
        check(
            |edit| {
                let [entry, join] = ["entry", "join"].map(|name| block(edit, name));
                let p = named(edit, "p");
                edit.add_case(entry, int(edit, 7), join)?;
                edit.add_phi_input(p, Value::arg(0), entry)?;
                edit.add_case(entry, int(edit, 8), join)?;
                edit.add_case(entry, int(edit, 9), join)?;
                let index = 2 + chosen;
                edit.verifying(false);
                edit.replace_uses_where(Value::arg(0), Value::arg(1), |u| {
                    u.user == p && u.index == index
                })
            },
            expect![[r#"
                %n -> %other, 0 -> %way0, 1 -> %way1, 7 -> %join, 8 -> %join, 9 -> %join
                %way0: %m, %way1: %i3, %entry: %m, %entry: %m, %entry: %m"#]],
        );
    }
}

/// The journal lists the switch as well as its block, since its operands have changed.
#[test]
fn a_switch_with_other_cases_has_changed() {
    let mut module = fan(2);
    for adds in [true, false] {
        let position = module.functions[0].body.journal().position();
        let mut store = InModule::new(&mut module, 0);
        let mut edit = Transaction::new(&mut store);
        let [entry, way] = ["entry", "way1"].map(|name| block(&edit, name));
        let switch = edit.body().terminator(entry).unwrap();
        let seven = int(&edit, 7);
        if adds {
            edit.add_case(entry, seven, way).unwrap();
        } else {
            let place = edit.case_of(entry, seven).unwrap();
            edit.remove_case(entry, place).unwrap();
        }
        edit.commit().unwrap();
        let changes = module.functions[0].body.journal().since(position).unwrap();
        assert!(changes.insts.contains(&switch) && changes.blocks.contains(&entry));
    }
}
