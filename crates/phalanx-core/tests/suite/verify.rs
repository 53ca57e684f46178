//! What an adapter says wrongly is listed, each kind of mistake once; random programs have none.

use expect_test::{Expect, expect};
use phalanx_core::analysis::{Analysis, Brought, Sink, Slot, SlotEvent, Source, verify};
use phalanx_core::block_graph::Block;
use phalanx_core::divergence::Definition;
use phalanx_core::{SourceSet, Value};
use phalanx_testing::block_arguments::generate;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::analysis::Said;

/// `b0` computes `v0` and branches on it to `b1` and `b2`; both go to `b3(v1)`, which computes
/// `v2`. A test changes what one block says.
struct Diamond<'a> {
    /// Says the block, and whether it has done so.
    instead: &'a dyn Fn(usize, &mut Sink<'_>) -> bool,
}

fn block(number: usize) -> Block {
    Block::new(number)
}

fn value(number: usize) -> Value {
    Value::new(number)
}

impl Source for Diamond<'_> {
    fn entry(&self) -> Block {
        block(0)
    }

    fn block_count(&self) -> usize {
        4
    }

    fn value_count(&self) -> usize {
        4
    }

    fn say_block(&self, at: Block, to: &mut Sink<'_>) {
        if (self.instead)(at.index(), to) {
            return;
        }
        match at.index() {
            0 => {
                to.value(value(0), at, Definition::source(SourceSet::LANE), None, &[]);
                to.end(at, SourceSet::EMPTY, &[value(0)]);
                to.edge(block(1), &[]);
                to.edge(block(2), &[]);
            }
            1 | 2 => {
                to.end(at, SourceSet::EMPTY, &[]);
                to.edge(block(3), &[Brought::Constant(1)]);
            }
            _ => {
                to.argument(value(1), at, 0);
                to.value(value(2), at, Definition::PURE, None, &[value(0), value(1)]);
                to.end(at, SourceSet::EMPTY, &[]);
            }
        }
    }

    fn say_value(&self, _: Value, _: &mut Sink<'_>) {}

    fn say_end(&self, _: Block, _: &mut Sink<'_>) {}
}

#[expect(clippy::needless_pass_by_value, reason = "`expect!` is written at the call")]
fn check(instead: impl Fn(usize, &mut Sink<'_>) -> bool, expected: Expect) {
    let mistakes = verify(&Diamond { instead: &instead }).err().unwrap_or_default();
    let text: Vec<String> = mistakes.iter().map(|mistake| format!("{mistake}\n")).collect();
    expected.assert_eq(&text.concat());
}

#[test]
fn nothing_is_wrong() {
    check(|_, _| false, expect![[""]]);
}

#[test]
fn numbers_that_are_too_large() {
    check(
        |at, to| {
            if at == 1 {
                to.value(value(9), block(1), Definition::PURE, None, &[]);
                to.end(block(1), SourceSet::EMPTY, &[]);
                to.edge(block(7), &[]);
            }
            at == 1
        },
        expect![[r#"
            b7 is not below the count of blocks
            v9 is not below the count of values
        "#]],
    );
}

#[test]
fn a_value_that_is_read_and_not_said() {
    check(
        |at, to| {
            if at == 1 {
                to.slot(block(1), Slot::new(0), SlotEvent::Store(Brought::Value(value(3))));
                to.end(block(1), SourceSet::EMPTY, &[]);
                to.edge(block(3), &[Brought::Value(value(3))]);
            }
            at == 1
        },
        expect![[r#"
            v3, which v1 reads, is not said
            v3, which the end of b1 reads, is not said
        "#]],
    );
}

#[test]
fn a_value_of_another_branch() {
    check(
        |at, to| {
            if at == 2 {
                to.value(value(3), block(2), Definition::PURE, None, &[]);
                to.end(block(2), SourceSet::EMPTY, &[]);
                to.edge(block(3), &[Brought::Value(value(3))]);
            } else if at == 1 {
                to.end(block(1), SourceSet::EMPTY, &[value(3)]);
                to.edge(block(3), &[Brought::Undef]);
            }
            at == 1 || at == 2
        },
        expect![[r#"
            v3 of b2 does not dominate the end of b1 in b1, which reads it
        "#]],
    );
}

#[test]
fn ends_and_edges_of_other_blocks() {
    check(
        |at, to| {
            match at {
                1 => to.edge(block(3), &[Brought::Undef]),
                2 => {
                    to.end(block(2), SourceSet::EMPTY, &[]);
                    to.end(block(1), SourceSet::EMPTY, &[]);
                    to.end(block(2), SourceSet::EMPTY, &[]);
                }
                _ => {}
            }
            at == 1 || at == 2
        },
        expect![[r#"
            b1 says the end or slots of another block, or an edge before its own end
            b2 says the end or slots of another block, or an edge before its own end
            b3 is said, and no path leads to it from the entry
            the end of b2 is said twice
        "#]],
    );
}

#[test]
fn a_block_without_an_end_and_an_edge_that_brings_too_little() {
    check(
        |at, to| {
            if at == 2 {
                to.end(block(2), SourceSet::EMPTY, &[]);
                to.edge(block(3), &[]);
            }
            at == 1 || at == 2
        },
        expect![[r#"
            the end of b1 is not said
            an edge of b2 brings nothing to argument 0 of b3
        "#]],
    );
}

/// An argument that is said as a value, and an edge that brings too much: either way what an edge
/// brings would not count.
#[test]
fn edges_that_bring_to_no_argument() {
    check(
        |at, to| {
            if at == 1 {
                to.end(block(1), SourceSet::EMPTY, &[]);
                to.edge(block(3), &[Brought::Constant(1), Brought::Value(value(0))]);
            } else if at == 3 {
                to.value(value(1), block(3), Definition::PURE, None, &[]);
                to.end(block(3), SourceSet::EMPTY, &[]);
            }
            at == 1 || at == 3
        },
        expect![[r#"
            an edge of b1 brings something to argument 0 of b3, which is not said
            an edge of b1 brings something to argument 1 of b3, which is not said
            an edge of b2 brings something to argument 0 of b3, which is not said
        "#]],
    );
}

/// Of two values that are said as one argument, the first takes nothing from edges: it is unknown.
#[test]
fn the_first_of_two_values_in_one_position_is_unknown() {
    let instead = |at: usize, to: &mut Sink<'_>| {
        if at == 3 {
            to.argument(value(1), block(3), 0);
            to.argument(value(2), block(3), 0);
            to.end(block(3), SourceSet::EMPTY, &[]);
        }
        at == 3
    };
    let analysis = Analysis::new(&Diamond { instead: &instead });
    let sources = [1, 2].map(|number| analysis.sources(value(number)));
    assert_eq!(sources, [SourceSet::OPAQUE_THREAD, SourceSet::EMPTY]);
}

#[test]
fn a_block_that_is_said_and_not_reached() {
    check(
        |at, to| {
            if at == 0 {
                to.value(value(0), block(0), Definition::source(SourceSet::LANE), None, &[]);
                to.end(block(0), SourceSet::EMPTY, &[]);
                to.edge(block(2), &[]);
            }
            at == 0
        },
        expect![[r#"
            b1 is said, and no path leads to it from the entry
        "#]],
    );
}

#[test]
fn what_is_said_twice() {
    check(
        |at, to| {
            if at == 1 {
                to.value(value(0), block(1), Definition::PURE, None, &[]);
                to.argument(value(3), block(3), 0);
                to.end(block(1), SourceSet::EMPTY, &[]);
                to.edge(block(3), &[Brought::Undef]);
            }
            at == 1
        },
        expect![[r#"
            v0 is said twice, in b0 and in b1
            argument 0 of b3 is said twice
        "#]],
    );
}

#[test]
fn random_programs_have_no_mistakes() {
    for seed in 0..200 {
        let program = generate::program(&mut SmallRng::seed_from_u64(seed), 12);
        assert_eq!(verify(&Said::new(&program)), Ok(()), "seed {seed}");
    }
}
