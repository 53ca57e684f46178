//! Random rules and random edits, against the slow twin.
//!
//! Subjects are numbers in three classes. A *rule* takes some bits of one subject, perhaps only
//! those that a second one has as well, moves each to another place, and gives them to a third.
//! Edits replace rules and seeds, among them those of circles, and add subjects.

use std::ops::ControlFlow;

use phalanx_fixpoint::{
    Fixpoint, Limits, Link, Ranks, Rules, Seen, Subject, Update, explain, twin,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// In three classes, the last one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Thing {
    Value(u32),
    Branch(u32),
    Control(u32),
}

impl Subject for Thing {
    const CLASSES: usize = 3;

    fn place(self) -> (usize, u32) {
        match self {
            Thing::Control(i) => (0, i),
            Thing::Branch(i) => (1, i),
            Thing::Value(i) => (2, i),
        }
    }

    fn at(class: usize, number: u32) -> Self {
        [Thing::Control, Thing::Branch, Thing::Value][class](number)
    }
}

/// `to` has the bits of `from` that are in `mask`, and those only that `and` has too if there is
/// one, turned left.
#[derive(Clone, Copy, Debug)]
struct Rule {
    from: Thing,
    and: Option<Thing>,
    mask: u16,
    turn: u32,
    to: Thing,
}

impl Rule {
    fn random(rng: &mut SmallRng, size: u32) -> Self {
        let mut thing = || Thing::at(rng.random_range(0..3), rng.random_range(0..size));
        let (from, to, and) = (thing(), thing(), thing());
        let and = rng.random_bool(0.25).then_some(and);
        let (mask, turn) = if rng.random_bool(0.6) { (u16::MAX, 0) } else { (rng.random(), 3) };
        Self { from, and, mask, turn, to }
    }

    fn image(&self, bits: u16, other: u16) -> u16 {
        (bits & other & self.mask).rotate_left(self.turn)
    }
}

/// What is left out, so that tests are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// `supported` does not look at the last rule.
    Pull,
    /// One rule needs two bits at once.
    Joint,
    /// The second antecedent is not told on.
    Second,
}

struct Program {
    rules: Vec<Rule>,
    seeds: Vec<(Thing, u16)>,
    fault: Fault,
}

impl Program {
    fn random(rng: &mut SmallRng, size: u32) -> Self {
        let rules = (0..size * rng.random_range(2..7)).map(|_| Rule::random(rng, size)).collect();
        let mut seed =
            || (Thing::at(rng.random_range(0..3), rng.random_range(0..size)), rng.random());
        let seeds = (0..3 + size / 8).map(|_| seed()).collect();
        Self { rules, seeds, fault: Fault::None }
    }

    /// Replaces, adds or removes something: who has other support than before.
    fn edit(&mut self, rng: &mut SmallRng, size: u32) -> Thing {
        if rng.random_bool(0.3) {
            let at = rng.random_range(0..self.seeds.len());
            self.seeds[at].1 = if rng.random_bool(0.5) { 0 } else { rng.random() };
            return self.seeds[at].0;
        }
        let at = rng.random_range(0..self.rules.len());
        let to = self.rules[at].to;
        self.rules[at] = Rule { to, ..Rule::random(rng, size) };
        if rng.random_bool(0.3) {
            self.rules[at].mask = 0;
        }
        to
    }
}

impl Rules for Program {
    type Subject = Thing;
    type Bits = u16;
    type Step = usize;

    fn seed(&mut self, of: Thing) -> u16 {
        self.seeds.iter().filter(|seed| seed.0 == of).fold(0, |all, seed| all | seed.1)
    }

    fn gives(
        &mut self,
        of: Thing,
        bits: u16,
        seen: Seen<'_, Thing, u16>,
        tell: &mut impl FnMut(Thing, u16, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (number, rule) in self.rules.iter().enumerate() {
            let others = |of: Option<Thing>| of.map_or(u16::MAX, |of| seen.get(of));
            let mut image = 0;
            if rule.from == of {
                image |= rule.image(bits, others(rule.and));
            }
            if rule.and == Some(of) && self.fault != Fault::Second {
                image |= rule.image(bits, others(Some(rule.from)));
            }
            if self.fault == Fault::Joint && number == 0 && image.count_ones() < 2 {
                image = 0;
            }
            if image != 0 {
                tell(rule.to, image, number)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn supported(&mut self, of: Thing, want: u16, seen: Seen<'_, Thing, u16>) -> u16 {
        let rules = &self.rules[..self.rules.len() - usize::from(self.fault == Fault::Pull)];
        let mut found = self.seeds.iter().filter(|seed| seed.0 == of).fold(0, |all, s| all | s.1);
        for rule in rules.iter().filter(|rule| rule.to == of) {
            let and = rule.and.map_or(u16::MAX, |and| seen.get(and));
            found |= rule.image(seen.get(rule.from), and);
        }
        found & want
    }
}

fn subjects(size: u32) -> Vec<Thing> {
    (0..3).flat_map(|class| (0..size).map(move |i| Thing::at(class, i))).collect()
}

fn bits_of(solution: &Fixpoint<Thing, u16>, subjects: &[Thing]) -> Vec<u16> {
    subjects.iter().map(|subject| solution.get(*subject)).collect()
}

#[test]
fn repair_finds_the_least_solution() {
    let (mut kept, mut grown) = (0, 0);
    for seed in 0..60 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut size = rng.random_range(1..24);
        let ranks = if seed % 2 == 0 { Ranks::Kept } else { Ranks::None };
        let mut program = Program::random(rng, size);
        let mut solution = Fixpoint::new(ranks);
        let _ = solution.solve(&mut program, subjects(size), Limits::NONE);
        twin::check(&mut program, &solution, &subjects(size)).unwrap();
        for edit in 0..25 {
            if rng.random_bool(0.1) {
                size += 1;
                grown += 1;
            }
            let count = if rng.random_bool(0.8) { 1 } else { 4 };
            let changed: Vec<Thing> = (0..count).map(|_| program.edit(rng, size)).collect();
            let all = subjects(size);
            let before = bits_of(&solution, &all);
            let update = solution.repair(&mut program, &changed, Limits::NONE);
            if let Err(wrong) = twin::check(&mut program, &solution, &all) {
                panic!("program {seed}, edit {edit}: {wrong}");
            }
            // What is told of changes is what has changed.
            let after = bits_of(&solution, &all);
            let mut changes = solution.changes().to_vec();
            changes.sort_by_key(|change| all.iter().position(|of| *of == change.subject));
            let differ = all.iter().zip(before.iter().zip(&after)).filter(|(_, (b, a))| b != a);
            let told = changes.iter().map(|change| (change.subject, change.before));
            assert!(told.eq(differ.map(|(of, (before, _))| (*of, *before))));
            assert_eq!(update == Update::Same, changes.is_empty());
            kept += u32::from(update == Update::Same);
        }
    }
    assert!(kept > 100 && grown > 50, "{kept} {grown}");
}

/// Whether the twin finds fault with some program.
fn finds(fault: Fault) -> bool {
    (0..40).any(|seed| {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut program = Program { fault, ..Program::random(rng, 6) };
        let mut solution = Fixpoint::new(Ranks::Kept);
        let _ = solution.solve(&mut program, subjects(6), Limits::NONE);
        twin::check(&mut program, &solution, &subjects(6)).is_err()
    })
}

#[test]
fn the_twin_finds_faults_of_rules() {
    assert!(!finds(Fault::None));
    assert!(finds(Fault::Pull));
    assert!(finds(Fault::Joint));
    assert!(finds(Fault::Second));
}

#[test]
fn ranks_keep_repair_local() {
    // A circle that is entered at two places. With ranks what comes first in it holds the second
    // up.
    const N: u32 = 1000;
    let give = |from: u32, to: u32| {
        let (from, to) = (Thing::Value(from), Thing::Value(to));
        Rule { from, and: None, mask: 1, turn: 0, to }
    };
    let mut visited = Vec::new();
    for ranks in [Ranks::Kept, Ranks::None] {
        let seeds = vec![(Thing::Value(0), 1), (Thing::Value(N), 1)];
        let circle = (0..N).map(|i| give(i, (i + 1) % N));
        let rules = circle.chain([give(N, 5)]).collect();
        let mut program = Program { rules, seeds, fault: Fault::None };
        let mut solution = Fixpoint::new(ranks);
        let _ = solution.solve(&mut program, subjects(N + 1), Limits::NONE);
        program.rules[N as usize].mask = 0;
        let limits = Limits { visited: 100, ..Limits::NONE };
        let is_local = solution.repair(&mut program, &[Thing::Value(5)], limits);
        visited.push((is_local, solution.visited()));
    }
    assert_eq!(visited, [(Update::Same, 0), (Update::TooMuch, 101)]);
}

#[test]
fn what_is_put_into_a_chain_leaves_the_rest_as_it_is() {
    const N: u32 = 1000;
    let value = Thing::Value;
    let give =
        |from: u32, to: u32| Rule { from: value(from), and: None, mask: 1, turn: 0, to: value(to) };
    let rules = (0..N).map(|i| give(i, i + 1)).collect();
    let mut program = Program { rules, seeds: vec![(value(0), 1)], fault: Fault::None };
    let mut solution = Fixpoint::new(Ranks::Kept);
    let _ = solution.solve(&mut program, subjects(N + 1), Limits::NONE);
    // Each time between the last one and what follows.
    let mut last = 5;
    for new in N + 1..N + 10 {
        let at = program.rules.iter().position(|rule| rule.from == value(last)).unwrap();
        let Thing::Value(next) = program.rules[at].to else { unreachable!("all are values") };
        program.rules[at].to = value(new);
        program.rules.push(give(new, next));
        let update = solution.repair(&mut program, &[value(next), value(new)], Limits::NONE);
        assert_eq!((update, solution.visited()), (Update::Changed, 1), "{new}");
        last = new;
    }
    twin::check(&mut program, &solution, &subjects(N + 10)).unwrap();
}

#[test]
fn what_rests_on_something_new_is_told_of_the_other_antecedent() {
    let value = Thing::Value;
    let give =
        |from: u32, to: u32| Rule { from: value(from), and: None, mask: 1, turn: 0, to: value(to) };
    // 3 rests on 2 at first, then on 4, which is new, and on 1, which goes.
    let seeds = vec![(value(0), 1), (value(1), 1), (value(2), 1)];
    let mut program = Program { rules: vec![give(2, 3)], seeds, fault: Fault::None };
    let mut solution = Fixpoint::new(Ranks::Kept);
    let _ = solution.solve(&mut program, subjects(5), Limits::NONE);
    program.rules = vec![Rule { and: Some(value(1)), ..give(4, 3) }, give(0, 4)];
    program.seeds[1].1 = 0;
    let changed = [value(3), value(4), value(1)];
    assert_eq!(solution.repair(&mut program, &changed, Limits::NONE), Update::Changed);
    twin::check(&mut program, &solution, &subjects(5)).unwrap();
}

#[test]
fn what_is_too_much_is_told_with_what_was() {
    let mut given_up = 0;
    for seed in 0..100 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut program = Program::random(rng, 12);
        let mut solution = Fixpoint::new(Ranks::Kept);
        let all = subjects(12);
        let _ = solution.solve(&mut program, all.clone(), Limits::NONE);
        let before = bits_of(&solution, &all);
        let changed: Vec<Thing> = (0..5).map(|_| program.edit(rng, 12)).collect();
        let limits = Limits { visited: 3, ..Limits::NONE };
        if solution.repair(&mut program, &changed, limits) == Update::TooMuch {
            given_up += 1;
            let mut after: Vec<u16> = bits_of(&solution, &all);
            for change in solution.changes() {
                let at = all.iter().position(|of| *of == change.subject).unwrap();
                after[at] = change.before;
            }
            assert_eq!(after, before, "{seed}");
            // Nothing is left behind for the next.
            let _ = solution.solve(&mut program, all.clone(), Limits::NONE);
        }
        twin::check(&mut program, &solution, &all).unwrap();
    }
    assert!(given_up > 20, "{given_up}");
}

#[test]
fn facts_follow_their_subjects_to_other_numbers() {
    for seed in 0..60 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut program = Program::random(rng, 10);
        let mut solution = Fixpoint::new(Ranks::Kept);
        let all = subjects(10);
        let _ = solution.solve(&mut program, all.clone(), Limits::NONE);
        // Values are turned by one, and the last is none any more.
        let last = Thing::Value(9);
        let renumbered = |thing: Thing| match thing {
            Thing::Value(9) => Thing::Value(99),
            Thing::Value(i) => Thing::Value(i + 1),
            other => other,
        };
        let mut changed = vec![Thing::Value(0)];
        for rule in &mut program.rules {
            if [Some(rule.from), Some(rule.to), rule.and].contains(&Some(last)) {
                rule.mask = 0;
                changed.push(renumbered(rule.to));
            }
            (rule.from, rule.to) = (renumbered(rule.from), renumbered(rule.to));
            rule.and = rule.and.map(renumbered);
        }
        program.seeds.iter_mut().for_each(|seed| seed.0 = renumbered(seed.0));
        program.seeds.retain(|seed| seed.0 != Thing::Value(99));
        changed.retain(|thing| *thing != Thing::Value(99));
        let to = |i| (i < 9).then_some(Thing::Value(i + 1));
        solution.renumber((0..10).map(|i| (Thing::Value(i), to(i))));
        let _ = solution.repair(&mut program, &changed, Limits::NONE);
        twin::check(&mut program, &solution, &all).unwrap();
    }
}

/// Whether each link follows from the one before, by its step.
fn holds(
    program: &mut Program,
    solution: &Fixpoint<Thing, u16>,
    chain: &[Link<Thing, u16, usize>],
) {
    let first = &chain[0];
    assert!(first.step.is_none() && program.seed(first.subject) & first.bit != 0);
    for pair in chain.windows(2) {
        let mut is_given = false;
        let _ =
            program.gives(pair[0].subject, pair[0].bit, solution.seen(), &mut |to, bits, by| {
                let is_own = to == pair[1].subject && Some(by) == pair[1].step;
                is_given |= is_own && bits & pair[1].bit != 0;
                ControlFlow::Continue(())
            });
        assert!(is_given);
    }
}

#[test]
fn chains_are_shortest_and_hold() {
    let mut lengths = [0; 40];
    for seed in 0..25 {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let mut program = Program::random(rng, 8);
        let mut solution = Fixpoint::new(Ranks::None);
        let all = subjects(8);
        let _ = solution.solve(&mut program, all.clone(), Limits::NONE);
        // How far each fact is from a seed, by rounds.
        let mut far: Vec<(Thing, u16)> = Vec::new();
        let mut near: Vec<(Thing, u16)> = all.iter().map(|&of| (of, program.seed(of))).collect();
        for (round, count) in lengths.iter_mut().enumerate().skip(1) {
            for &(of, bits) in &near {
                for bit in phalanx_fixpoint::Bits::each(bits) {
                    let chain = explain(&mut program, &solution, all.clone(), (of, bit)).unwrap();
                    holds(&mut program, &solution, &chain);
                    assert_eq!(chain.len(), round, "{seed} {of:?} {bit}");
                    *count += 1;
                }
            }
            far.append(&mut near);
            let mut next: Vec<(Thing, u16)> = Vec::new();
            for &(of, bits) in &far {
                let _ = program.gives(of, bits, solution.seen(), &mut |to, bits, _| {
                    let known = far.iter().chain(&next).filter(|(of, _)| *of == to);
                    let new = bits & !known.fold(0, |all, (_, bits)| all | bits);
                    next.push((to, new));
                    ControlFlow::Continue(())
                });
            }
            next.retain(|(_, bits)| *bits != 0);
            if next.is_empty() {
                break;
            }
            near = next;
        }
        for &of in &all {
            let missing = !solution.get(of);
            let bit = phalanx_fixpoint::Bits::first(missing);
            if bit != 0 {
                assert_eq!(explain(&mut program, &solution, all.clone(), (of, bit)), None);
            }
        }
    }
    assert!(lengths[3] > 20 && lengths[6] > 0, "{lengths:?}");
}
