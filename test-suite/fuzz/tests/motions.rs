//! Motions of convergent operations on random programs: whoever was together stays together.

use std::sync::Arc;

use phalanx::{
    db::{Database, FunctionInput},
    transform::{Outcome, Pass, PassError, Registry, code::Code},
};
use phalanx_fuzz::motions::{
    PIPELINES, Tally, barriers, check,
    instances::{self, Question},
    voting,
};
use rand::{SeedableRng as _, rngs::SmallRng};

/// Random programs through one pipeline.
fn campaign(pipeline: (&str, bool), seeds: std::ops::Range<u64>, blocks: usize) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let text = voting(&mut SmallRng::seed_from_u64(seed), blocks);
        let tally = check(&Registry::standard(), &text, pipeline, seed, 2);
        all.merge(tally.unwrap_or_else(|error| panic!("{error}")));
    }
    all
}

#[test]
fn pipelines() {
    for &pipeline in PIPELINES {
        let tally = campaign(pipeline, 0..150, 12);
        println!("{}: {tally:?}", pipeline.0);
        assert!(tally.changed > 10 && tally.launches > 10 && tally.groups > 100, "{tally:?}");
    }
}

#[test]
fn kernels_without_races_have_none_with_fewer_barriers() {
    let mut all = barriers::Tally::default();
    for seed in 0..400 {
        let text = barriers::random(&mut SmallRng::seed_from_u64(seed));
        let pipeline = "remove-redundant-barriers";
        let tally = barriers::check(&Registry::standard(), &text, pipeline, seed, 3);
        all.merge(tally.unwrap_or_else(|error| panic!("{error}")));
    }
    println!("{all:?}");
    assert!(all.changed > 100 && all.launches > 100 && all.removed > 200, "{all:?}");
}

/// Removes every second barrier.
struct RemovesBarriers;

impl Pass for RemovesBarriers {
    fn name(&self) -> &str {
        "removes-barriers"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let code = Code::of(db, function);
        let all = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
        let barriers: Vec<_> = all.filter(|&i| code.is_convergent(i)).skip(1).step_by(2).collect();
        db.edit(function, |edit| barriers.iter().try_for_each(|&barrier| edit.erase(barrier)))?;
        Ok(Outcome::changed(!barriers.is_empty()))
    }
}

/// A check that cannot fail is no check.
#[test]
fn a_pass_that_removes_too_much_is_found_out() {
    let mut registry = Registry::standard();
    registry.add(Arc::new(RemovesBarriers));
    let is_found = |seed: u64| {
        let text = barriers::random(&mut SmallRng::seed_from_u64(seed));
        barriers::check(&registry, &text, "removes-barriers", seed, 3).is_err()
    };
    let found = (0..100).filter(|&seed| is_found(seed)).count();
    println!("{found} of 100");
    assert!(found >= 5, "{found} of 100");
}

fn single_motions(
    seeds: std::ops::Range<u64>,
    distort: &dyn Fn(Question) -> bool,
) -> instances::Tally {
    let mut all = instances::Tally::default();
    for seed in seeds {
        all.merge(instances::check_random(seed, distort));
    }
    all
}

#[test]
fn legal_motions_keep_all_groups() {
    let tally = single_motions(0..40, &|_| false);
    println!("{tally}");
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    let legal = Question::ALL.iter().filter(|&&question| tally.of(question).legal > 0).count();
    assert!(legal > 8, "{tally}");
}

/// A check that cannot fail is no check: whatever is allowed wrongly is found out.
#[test]
fn motions_that_are_not_legal_are_found_out() {
    // Unswitching is refused rarely; copies of rounds only for their form, which changes no group.
    let questions = Question::ALL.into_iter().take(7);
    for question in questions {
        let is_found =
            |seed| !instances::check_random(seed, &|other| other == question).wrong.is_empty();
        assert!((0..60).any(is_found), "{question:?}");
    }
}

/// Moves votes to the entry, which is wrong.
struct MovesVotes;

impl Pass for MovesVotes {
    fn name(&self) -> &str {
        "moves-votes"
    }

    fn run(&self, db: &mut Database, function: FunctionInput) -> Result<Outcome, PassError> {
        let code = Code::of(db, function);
        let Some(entry) = code.flow.entry() else { return Ok(Outcome::Unchanged) };
        let is_there = |inst| {
            code.body.operands(inst).iter().all(|operand| {
                operand.as_inst().is_none_or(|of| code.body.block_of(of) == Some(entry))
            })
        };
        let others = code.flow.order().iter().filter(|&&block| block != entry);
        let votes: Vec<_> = others
            .flat_map(|&block| code.body.block_insts(block))
            .filter(|&i| code.is_convergent(i) && code.call(i).memory.is_none() && is_there(i))
            .collect();
        db.edit(function, |edit| votes.iter().try_for_each(|&vote| edit.move_to_end(vote, entry)))?;
        Ok(Outcome::changed(!votes.is_empty()))
    }
}

#[test]
fn a_pass_that_moves_too_much_is_found_out() {
    let mut registry = Registry::standard();
    registry.add(Arc::new(MovesVotes));
    let is_found = |seed: u64| {
        let text = voting(&mut SmallRng::seed_from_u64(seed), 12);
        check(&registry, &text, ("moves-votes", false), seed, 2).is_err()
    };
    let found = (0..60).filter(|&seed| is_found(seed)).count();
    assert!(found >= 5, "{found} of 60");
}
