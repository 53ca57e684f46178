//! The keys of machines that reconverge at post-dominators agree with a stack of masks.

use phalanx_fuzz::stack::{Pairs, groups, run};
use phalanx_graph::{Cfg, Joins, Node};
use phalanx_simt::{Reconvergence, launch::Order};
use phalanx_testing::generate::{Options, Shape};

fn campaign(reconvergence: Reconvergence, seeds: u64) -> (Pairs, usize) {
    let (mut all, mut wrong) = (Pairs::default(), 0);
    for seed in 0..seeds {
        let shape = if seed.is_multiple_of(3) { Shape::Structured } else { Shape::Random };
        let blocks = [5, 7, 9, 12, 15][(seed % 5) as usize];
        let options = Options { shape: Some(shape), blocks, undef: false };
        let order = [Order::Lockstep, Order::Turns(13), Order::Random(seed)][(seed % 3) as usize];
        let Some((execution, joins)) = run(seed, options, reconvergence, order) else { continue };
        let found = Pairs::compare(&execution, &joins);
        if reconvergence == Reconvergence::PostDominator {
            assert_eq!(found.different, 0, "seed {seed}:\n{}", execution.text());
        }
        wrong += usize::from(found.different > 0);
        all.together += found.together;
        all.apart += found.apart;
    }
    (all, wrong)
}

#[test]
fn keys_are_what_the_stack_does() {
    let (all, _) = campaign(Reconvergence::PostDominator, 2000);
    println!("{all:?}");
    assert!(all.together > 10_000 && all.apart > 10_000, "{all:?}");
}

/// A negative control: maximal convergence differs from the stack.
#[test]
fn maximal_convergence_is_not_what_the_stack_does() {
    let (_, wrong) = campaign(Reconvergence::Maximal, 300);
    assert!(wrong > 20, "{wrong} executions");
}

/// Worked out by hand: `3` is reached from both sides before the join `5`.
#[test]
fn a_block_that_both_sides_come_to() {
    let n = Node::new;
    let lists = [vec![1, 2], vec![3], vec![3, 4], vec![5], vec![5], vec![]];
    let cfg = Cfg::new(n(0), lists.map(|to: Vec<usize>| to.into_iter().map(n)));
    let path = |blocks: &[usize]| blocks.iter().copied().map(n).collect::<Vec<Node>>();
    let paths = [path(&[0, 1, 3, 5]), path(&[0, 2, 3, 5]), path(&[0, 2, 4, 5])];
    let found = groups(&paths, &Joins::new(&cfg, &|_| false));
    let together = |a: (usize, usize), b: (usize, usize)| found[a.0][a.1] == found[b.0][b.1];
    assert!(together((1, 1), (2, 1)), "1 and 2 go to 2 together");
    assert!(!together((0, 2), (1, 2)), "3 is executed by each side");
    assert!(together((0, 3), (1, 3)) && together((0, 3), (2, 3)), "5 joins all");
}
