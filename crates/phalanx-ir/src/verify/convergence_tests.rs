//! Compares the tree of token stacks with stacks that are vectors.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    PopTo(usize, usize),
    Common(usize, usize),
    Trim(usize, u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..1000usize).prop_map(Step::Push),
        2 => (0..1000usize, 0..1000usize).prop_map(|(a, b)| Step::PopTo(a, b)),
        2 => (0..1000usize, 0..1000usize).prop_map(|(a, b)| Step::Common(a, b)),
        1 => (0..1000usize, 0..60u32).prop_map(|(a, b)| Step::Trim(a, b)),
    ];
    prop::collection::vec(step, 1..200)
}

fn token(number: usize) -> InstId {
    InstId::from_raw((number as u32).into())
}

proptest! {
    #[test]
    fn stacks_in_a_tree_are_stacks(steps in steps()) {
        let mut tree = TokenTree::default();
        let mut pushed = 0;
        let mut stacks: Vec<(Stack, Vec<InstId>)> = vec![(TokenTree::EMPTY, Vec::new())];
        for step in steps {
            let pick = |at: usize| stacks[at % stacks.len()].clone();
            let next = match step {
                Step::Push(at) => {
                    let (stack, mut twin) = pick(at);
                    let token = token(pushed);
                    pushed += 1;
                    twin.push(token);
                    (tree.push(stack, token), twin)
                }
                Step::PopTo(at, wanted) => {
                    let ((stack, mut twin), token) = (pick(at), token(wanted % (pushed + 1)));
                    let popped = tree.pop_to(stack, token);
                    prop_assert_eq!(popped.is_some(), twin.contains(&token));
                    let Some(popped) = popped else { continue };
                    while twin.last() != Some(&token) {
                        twin.pop();
                    }
                    (popped, twin)
                }
                Step::Common(a, b) => {
                    let ((a, mut twin), (b, other)) = (pick(a), pick(b));
                    twin.retain(|token| other.contains(token));
                    (tree.common(a, b), twin)
                }
                Step::Trim(at, length) => {
                    let (stack, mut twin) = pick(at);
                    twin.truncate(length as usize);
                    let kept = twin.clone();
                    (tree.trim(stack, |token| kept.contains(&token)), twin)
                }
            };
            prop_assert_eq!(tree.depth(next.0) as usize, next.1.len());
            let mut walk = next.0;
            for &token in next.1.iter().rev() {
                prop_assert_eq!(tree.entries[walk as usize - 1].token, token);
                walk = tree.below(walk);
            }
            prop_assert_eq!(walk, TokenTree::EMPTY);
            stacks.push(next);
        }
    }
}

#[test]
fn deep_stacks_are_walked_in_few_steps() {
    // Ten thousand tokens; a step per token and query would be a hundred million.
    let mut tree = TokenTree::default();
    let mut stack = TokenTree::EMPTY;
    for number in 0..10_000 {
        stack = tree.push(stack, token(number));
    }
    for number in 0..10_000 {
        let popped = tree.pop_to(stack, token(number)).expect("on the stack");
        assert_eq!(tree.depth(popped) as usize, number + 1);
        assert_eq!(tree.common(popped, stack), popped);
    }
    let longest = (0..10_000u32)
        .map(|depth| {
            let (mut at, mut steps) = (stack, 0);
            while tree.depth(at) > depth {
                let jump = tree.jump(at);
                at = if tree.depth(jump) >= depth { jump } else { tree.below(at) };
                steps += 1;
            }
            steps
        })
        .max();
    assert!(longest.is_some_and(|steps| steps < 60), "{longest:?}");
}
