//! Rules of operations on lanes: what is claimed of results holds when lanes execute them.

use phalanx_core::analysis::{
    Analysis, Brought, Change, Mistake, Reader, Rule, Sink, Source, verify,
};
use phalanx_core::block_graph::Block;
use phalanx_core::divergence::Definition;
use phalanx_core::{LaunchFacts, Scope, SourceSet, Value, varying};

/// Two operands with these sources, and an operation on them.
struct One {
    operands: [SourceSet; 2],
    rule: Rule,
}

impl Source for One {
    fn entry(&self) -> Block {
        Block::new(0)
    }

    fn block_count(&self) -> usize {
        1
    }

    fn value_count(&self) -> usize {
        3
    }

    fn say_block(&self, block: Block, to: &mut Sink<'_>) {
        (0..3).for_each(|value| self.say_value(Value::new(value), to));
        self.say_end(block, to);
    }

    fn say_value(&self, value: Value, to: &mut Sink<'_>) {
        match self.operands.get(value.index()) {
            Some(sources) => {
                to.value(value, Block::new(0), Definition::source(*sources), None, &[]);
            }
            None => to.operation(value, Block::new(0), self.rule, &[0, 1].map(Value::new)),
        }
    }

    fn say_end(&self, block: Block, to: &mut Sink<'_>) {
        to.end(block, SourceSet::EMPTY, &[]);
    }
}

fn claimed(operands: [SourceSet; 2], rule: Rule) -> SourceSet {
    Analysis::new(&One { operands, rule }).sources(Value::new(2))
}

const LANES: usize = 8;
const WAVES: usize = 3;

/// What threads hold of a value with these sources: by wave and lane.
fn held(sources: SourceSet, seed: usize) -> [[usize; LANES]; WAVES] {
    let of = |wave: usize, lane: usize| {
        let mut held = seed;
        if sources.intersects(SourceSet::WAVE | SourceSet::OPAQUE_WAVE) {
            held = held * 31 + wave * wave + 1;
        }
        if sources.intersects(SourceSet::QUAD) {
            held = held * 19 + lane / 4 * 7 + 1;
        }
        if sources.intersects(SourceSet::OPAQUE_QUAD) {
            held = held * 23 + (wave * 2 + lane / 4) * 5 + seed;
        }
        if sources.intersects(SourceSet::LANE) {
            held = held * 17 + lane * 3 + seed;
        }
        if sources.intersects(SourceSet::X | SourceSet::OPAQUE_THREAD) {
            held = held * 13 + (wave * LANES + lane) * 5 + seed;
        }
        held
    };
    std::array::from_fn(|wave| std::array::from_fn(|lane| of(wave, lane)))
}

/// What a lane gets.
fn executed(rule: Rule, wave: &[[usize; LANES]; 2], number: usize, lane: usize) -> usize {
    let [first, second] = *wave;
    match rule {
        Rule::Pure => first[lane] * 7 + second[lane],
        // Another wave reads when something else is there.
        Rule::Load => (first[lane] * 7 + second[lane]) * 101 + number,
        Rule::Collective => first.iter().zip(&second).map(|(a, b)| a * b).sum(),
        Rule::Agree => first[0] * 7 + second[0],
        Rule::Quad => first[lane & !3] * 7 + second[lane | 3],
        Rule::Match => {
            let like = |other: usize| first[other] == first[lane] && second[other] == second[lane];
            (0..LANES).filter(|other| like(*other)).map(|other| 1 << other).sum()
        }
        Rule::Shuffle { lane: Some(1) } => first[second[lane] % LANES],
        Rule::Shuffle { .. } => first[(lane * 3 + 1) % LANES] * 7 + second[(lane + 1) % LANES],
    }
}

const RULES: [Rule; 8] = [
    Rule::Pure,
    Rule::Load,
    Rule::Collective,
    Rule::Agree,
    Rule::Match,
    Rule::Shuffle { lane: Some(1) },
    Rule::Shuffle { lane: None },
    Rule::Quad,
];

/// How many claims of `claim` are wrong, and how many are right, when lanes execute all rules.
fn count(claim: impl Fn([SourceSet; 2], Rule) -> SourceSet) -> (usize, usize) {
    let sources = [
        SourceSet::EMPTY,
        SourceSet::X,
        SourceSet::LANE,
        SourceSet::QUAD,
        SourceSet::WAVE,
        SourceSet::OPAQUE_QUAD,
        SourceSet::OPAQUE_WAVE,
        SourceSet::OPAQUE_THREAD,
    ];
    let (mut wrong, mut right) = (0, 0);
    let pairs = sources.iter().flat_map(|a| sources.iter().map(|b| [*a, *b]));
    for (operands, rule) in pairs.flat_map(|pair| RULES.map(|rule| (pair, rule))) {
        let claimed = claim(operands, rule);
        for seed in 1..20 {
            let [first, second] = operands.map(|sources| held(sources, seed));
            let results: Vec<Vec<usize>> = (0..WAVES)
                .map(|wave| [first[wave], second[wave]])
                .zip(0..)
                .map(|(wave, at)| (0..LANES).map(|lane| executed(rule, &wave, at, lane)).collect())
                .collect();
            let is_one = |list: &[usize]| list.iter().all(|other| *other == list[0]);
            let in_quads = results.iter().flat_map(|wave| wave.chunks(4)).all(is_one);
            let in_waves = results.iter().all(|wave| is_one(wave));
            let in_group = is_one(&results.concat());
            for (scope, holds) in Scope::ALL.into_iter().zip([in_quads, in_waves, in_group]) {
                if !claimed.intersects(varying(scope, &LaunchFacts::default())) {
                    wrong += usize::from(!holds);
                    right += usize::from(holds);
                }
            }
        }
    }
    (wrong, right)
}

#[test]
fn no_claim_about_lanes_is_refuted() {
    let (wrong, right) = count(claimed);
    assert_eq!(wrong, 0);
    assert!(right > 2000, "{right}");
}

/// The law can fail: each rule taken for another one is found out.
#[test]
fn wrong_rules_are_refuted() {
    for rule in [Rule::Load, Rule::Match, Rule::Quad, RULES[5], RULES[6]] {
        let (wrong, _) = count(|operands, other| match other == rule {
            true => claimed(operands, Rule::Agree),
            false => claimed(operands, other),
        });
        assert!(wrong > 0, "{rule:?}");
    }
}

#[test]
fn operands_count_by_their_positions() {
    let (none, x) = (SourceSet::EMPTY, SourceSet::X);
    let shuffle = Rule::Shuffle { lane: Some(1) };
    // One lane for all: whatever the data are, the wave has one value.
    assert_eq!(claimed([x, none], shuffle), SourceSet::OPAQUE_WAVE);
    assert!(claimed([none, x], shuffle).contains(SourceSet::OPAQUE_THREAD));
    assert_eq!(claimed([x, none], Rule::Agree), SourceSet::OPAQUE_WAVE);
    assert_eq!(claimed([none, none], Rule::Agree), none);
    // One value for each quad, by what its lanes hold.
    assert_eq!(claimed([x, SourceSet::QUAD], Rule::Quad), SourceSet::OPAQUE_QUAD | SourceSet::QUAD);
    // Lanes of a quad that name one lane read one lane.
    let of_quad = SourceSet::OPAQUE_WAVE | SourceSet::OPAQUE_QUAD;
    assert_eq!(claimed([x, SourceSet::QUAD], shuffle), of_quad);
    assert_eq!(claimed([SourceSet::BLOCK_X, none], Rule::Agree), SourceSet::BLOCK_X);
}

/// `b1(v1)` counts rounds until the thread's index `v0` is reached; `b2` has an operation `v4` on
/// what it counted and on `v5`, which is the same for all threads.
struct Counted {
    rule: Rule,
    /// Whether `v5` is said.
    is_whole: bool,
}

impl Source for Counted {
    fn entry(&self) -> Block {
        Block::new(0)
    }

    fn block_count(&self) -> usize {
        3
    }

    fn value_count(&self) -> usize {
        6
    }

    fn say_block(&self, block: Block, to: &mut Sink<'_>) {
        let said: &[usize] = [&[0, 5][..], &[1, 2, 3], &[4]][block.index()];
        said.iter().for_each(|&value| self.say_value(Value::new(value), to));
        self.say_end(block, to);
    }

    fn say_value(&self, value: Value, to: &mut Sink<'_>) {
        let [v0, v1, v5] = [0, 1, 5].map(Value::new);
        let block = Block::new([0, 1, 1, 1, 2, 0][value.index()]);
        match value.index() {
            0 => to.value(value, block, Definition::source(SourceSet::X), None, &[]),
            1 => to.argument(value, block, 0),
            2 => to.operation(value, block, Rule::Pure, &[v1, v0]),
            3 => to.operation(value, block, Rule::Pure, &[v1]),
            4 => to.operation(value, block, self.rule, &[v1, v5]),
            _ if self.is_whole => to.value(value, block, Definition::PURE, None, &[]),
            _ => {}
        }
    }

    fn say_end(&self, block: Block, to: &mut Sink<'_>) {
        let [v2, v3] = [2, 3].map(Value::new);
        match block.index() {
            0 => {
                to.end(block, SourceSet::EMPTY, &[]);
                to.edge(Block::new(1), &[Brought::Constant(0)]);
            }
            1 => {
                to.end(block, SourceSet::EMPTY, &[v2]);
                to.edge(block, &[Brought::Value(v3)]);
                to.edge(Block::new(2), &[]);
            }
            _ => to.end(block, SourceSet::EMPTY, &[]),
        }
    }
}

/// An operand that threads hold of different rounds differs where it is read, whatever the rule
/// makes of it, also after an edit; and each operand has to be said.
#[test]
fn operands_are_read_whatever_becomes_of_them() {
    let shuffles = [Some(0), Some(1), None].map(|lane| Rule::Shuffle { lane });
    let others = [Rule::Pure, Rule::Load, Rule::Collective, Rule::Agree, Rule::Quad, Rule::Match];
    for rule in shuffles.into_iter().chain(others) {
        let of = Counted { rule, is_whole: true };
        let reader = Reader::Value(Value::new(4));
        let mut analysis = Analysis::new(&of);
        assert_eq!(analysis.sources(Value::new(1)), SourceSet::EMPTY);
        assert_eq!(analysis.at_use(Value::new(1), reader), SourceSet::X, "{rule:?}");
        assert_eq!(analysis.at_use(Value::new(5), reader), SourceSet::EMPTY, "{rule:?}");
        let other = Counted { rule: Rule::Collective, is_whole: true };
        let changed = [Change::Value(Value::new(4))];
        analysis.after(&other, &changed);
        assert_eq!(analysis.at_use(Value::new(1), reader), SourceSet::X, "{rule:?}");
        analysis.after(&of, &changed);
        assert_eq!(analysis.at_use(Value::new(1), reader), SourceSet::X, "{rule:?}");
        let wrong = verify(&Counted { rule, is_whole: false });
        assert_eq!(wrong, Err(vec![Mistake::NotSaid(Value::new(5), reader)]), "{rule:?}");
    }
}
