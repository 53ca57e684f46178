//! Decides where threads go at a branch whose condition is not known.
//!
//! A condition may depend on arguments of the kernel, or on the number of the workgroup. Then both
//! sides are tried: a *script* says which side is taken at the first such branch, at the second,
//! and so on. A decision stays in force for all threads and for later conditions:
//!
//! | condition | assumed |
//! |---|---|
//! | `n == 0`, the same in the workgroup | it holds, or it does not |
//! | `group * 64 + tid < n`, different in each thread | it holds for all threads, or for none |
//! | `n < 4` after `n >= 8` | nothing: it does not hold |
//! | `tid == n`, different in each thread | it holds for the first thread that comes, or for none |
//!
//! A comparison is one of two bases and a number: `a - b < number`. The module knows an interval
//! for each difference `a - b`. For a condition that differs between threads, the difference is
//! assumed to be far from everything that threads compare it with: no thread is at the edge of the
//! data. If threads ask whether one is, as by `tid == n - 1` under `tid < n`, the difference is
//! also tried that makes the last of them so. What is found with such a number is not certain.
//!
//! O(1) for each decision.

use std::collections::BTreeMap;

use phalanx_ir::{Opcode, inst::IntPredicate};
use rustc_hash::FxHashMap;

use super::terms::{Base, Term, Terms, Val};

/// A distance larger than all numbers that threads compare a difference with.
pub(super) const FAR: i64 = 1 << 40;
/// Larger than any difference.
const ALL: i64 = i64::MAX / 4;
/// The depth to which conditions that are made of others are taken apart.
const PARTS: u32 = 8;

/// What is taken at a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The condition holds.
    Yes,
    /// It does not.
    No,
    /// The difference that it is about is this number.
    Exactly(i64),
}

/// What is assumed on one path through a kernel.
#[derive(Default)]
pub(super) struct Assumptions {
    /// Conditions that were decided as a whole.
    decided: FxHashMap<Base, bool>,
    /// The interval that a difference is in.
    between: FxHashMap<(Base, Base), (i64, i64)>,
    /// Differences that are assumed to be far from what threads compare them with, by the choice
    /// that did so.
    far: FxHashMap<(Base, Base), usize>,
    /// By such a choice, the difference at which the last thread that asked is at the edge.
    edges: BTreeMap<usize, i64>,
    script: Vec<Side>,
    /// The side that was taken at each choice.
    taken: Vec<Side>,
    /// The arguments that decisions are about: the bases of the first decision, and whether one of
    /// them is derived from the argument.
    about: FxHashMap<Base, ([Base; 2], bool)>,
    /// The number of rounds of some loop was chosen.
    pub(super) has_rounds: bool,
    /// Decisions may contradict each other.
    pub(super) is_doubtful: bool,
    /// The number of choices about conditions of which nothing else is known.
    opaque: u32,
}

impl Assumptions {
    pub(super) fn new(script: Vec<Side>) -> Assumptions {
        Assumptions { script, ..Assumptions::default() }
    }

    /// Scripts for what was not tried, at the last choice of this script and at those behind it.
    pub(super) fn others(&self) -> impl Iterator<Item = Vec<Side>> + '_ {
        let with = |at: usize, side| self.taken[..at].iter().copied().chain([side]).collect();
        let behind = (self.script.len()..self.taken.len()).map(move |at| with(at, Side::No));
        let edges = self.edges.iter().filter(|(at, _)| **at + 1 >= self.script.len());
        behind.chain(edges.map(move |(&at, &number)| with(at, Side::Exactly(number))))
    }

    /// The conditions that were decided as a whole, and whether they hold.
    pub(super) fn decided(&self) -> impl Iterator<Item = (&Base, bool)> {
        self.decided.iter().map(|(base, &holds)| (base, holds))
    }

    /// The interval of each difference that was decided about.
    pub(super) fn between(&self) -> impl Iterator<Item = (&(Base, Base), (i64, i64))> {
        self.between.iter().map(|(pair, &interval)| (pair, interval))
    }

    /// Whether some launch certainly takes this path, if the kernel is ever executed.
    pub(super) fn is_likely(&self) -> bool {
        self.opaque <= 1
    }

    /// Whether nothing was assumed.
    pub(super) fn is_empty(&self) -> bool {
        self.taken.is_empty() && !self.has_rounds
    }

    fn choose(&mut self) -> Side {
        let choice = self.script.get(self.taken.len()).copied().unwrap_or(Side::Yes);
        self.taken.push(choice);
        choice
    }

    /// Whether a condition holds; `is_one` says that it is the same in all threads of the
    /// workgroup. None if threads may decide it differently.
    pub(super) fn decide(&mut self, terms: &Terms, condition: Val, is_one: bool) -> Option<bool> {
        self.decide_part(terms, condition, is_one, PARTS)
    }

    fn decide_part(
        &mut self,
        terms: &Terms,
        condition: Val,
        is_one: bool,
        depth: u32,
    ) -> Option<bool> {
        if let Some(number) = condition.as_number() {
            return Some(number & 1 == 1);
        }
        let is_negated = condition.offset & 1 == 1;
        let base = condition.base;
        if let Some(&known) = self.decided.get(&base) {
            return Some(known != is_negated);
        }
        let parts = match terms.get(base)? {
            Term::Pure { opcode, operands, .. } => (*opcode, operands.clone()),
            _ => (Opcode::Freeze, Default::default()),
        };
        let depth = depth.checked_sub(1)?;
        let holds = match (parts.0, &parts.1[..]) {
            (Opcode::And, &[a, b]) => {
                self.decide_part(terms, a, is_one, depth)?
                    && self.decide_part(terms, b, is_one, depth)?
            }
            (Opcode::Or, &[a, b]) => {
                self.decide_part(terms, a, is_one, depth)?
                    || self.decide_part(terms, b, is_one, depth)?
            }
            (Opcode::Xor, &[a, b]) if b == Val::number(1) => {
                !self.decide_part(terms, a, is_one, depth)?
            }
            (Opcode::Select, &[a, b, c]) => {
                let chosen = if self.decide_part(terms, a, is_one, depth)? { b } else { c };
                self.decide_part(terms, chosen, is_one, depth)?
            }
            (Opcode::ICmp, _) => self.decide_comparison(terms, base, is_one)?,
            _ if is_one => self.decide_whole(base),
            _ => return None,
        };
        Some(holds != is_negated)
    }

    /// Whether another round of a loop follows, by a condition that is the same in the workgroup:
    /// as far as known, otherwise as wanted.
    pub(super) fn go_round(
        &mut self,
        terms: &Terms,
        condition: Val,
        (stays_if, wanted): (bool, bool),
    ) -> Round {
        let is_negated = condition.offset & 1 == 1;
        let Some((predicate, a, b)) = terms.comparison(condition.base) else {
            return Round::Chosen(wanted);
        };
        let stays_if = stays_if != is_negated;
        let Some(part) = self.part(predicate, a, b) else { return Round::Chosen(wanted) };
        let (stays, leaves) =
            if stays_if { (part.holds, part.fails) } else { (part.fails, part.holds) };
        match (stays, leaves) {
            (Some(_), None) => Round::Known(true),
            (None, Some(_)) => Round::Known(false),
            (Some(interval), Some(_)) if wanted => {
                self.keep(part.pair, part.sign, interval);
                Round::Chosen(true)
            }
            // The end of the loop is not recorded: the number of its rounds is not known.
            _ => Round::Chosen(wanted),
        }
    }

    /// Records what a decision is about. Two decisions about one argument may contradict each other
    /// if one of them is about a quotient, a remainder or the like of the argument.
    fn doubt(&mut self, terms: &Terms, bases: [Base; 2]) {
        for (leaf, is_derived) in bases.iter().flat_map(|&base| terms.leaves(base)) {
            let before = self.about.entry(leaf).or_insert((bases, is_derived));
            let is_other = before.0 != bases;
            self.is_doubtful |= is_other && (before.1 || is_derived);
            before.1 |= is_derived;
        }
    }

    fn decide_whole(&mut self, base: Base) -> bool {
        self.opaque += 1;
        let choice = self.choose() == Side::Yes;
        self.decided.insert(base, choice);
        choice
    }

    fn decide_comparison(&mut self, terms: &Terms, base: Base, is_one: bool) -> Option<bool> {
        let holds = self.decide_between(terms, terms.comparison(base)?, is_one)?;
        if is_one {
            self.decided.insert(base, holds);
        }
        Some(holds)
    }

    /// The same of a comparison that is no term.
    pub(super) fn decide_between(
        &mut self,
        terms: &Terms,
        (predicate, a, b): (IntPredicate, Val, Val),
        is_one: bool,
    ) -> Option<bool> {
        let is_of_launch = terms.is_of_launch(a) && terms.is_of_launch(b);
        if !is_one && !is_of_launch {
            return None;
        }
        let part = self.part(predicate, a, b)?;
        if part.holds.is_none() || part.fails.is_none() {
            if !is_one {
                self.note_edge(predicate, &part);
            }
            return part.holds.or(part.fails).map(|_| part.holds.is_some());
        }
        let at = self.taken.len();
        let side = self.choose();
        let (low, high) = match side {
            Side::Yes => part.holds?,
            Side::No => part.fails?,
            Side::Exactly(number) => (part.sign * number, part.sign * number),
        };
        let (low, high) = match () {
            () if is_one || low == high => (low, high),
            // Far away, on the side where the interval has room.
            () if high > FAR => (low.max(FAR), high),
            () if low < -FAR => (low, high.min(-FAR)),
            () => return None,
        };
        if !is_one {
            match low == high {
                // Whether the host ever passes this number is not known.
                true => self.opaque += 2,
                false => _ = self.far.insert(part.pair, at),
            }
        }
        self.keep(part.pair, part.sign, (low, high));
        self.doubt(terms, [a.base, b.base]);
        match side {
            Side::Exactly(_) => Some(self.part(predicate, a, b)?.holds.is_some()),
            side => Some(side == Side::Yes),
        }
    }

    /// Remembers at which difference a comparison of equality would hold, if it does not because
    /// the difference was assumed to be far away.
    fn note_edge(&mut self, predicate: IntPredicate, part: &Part) {
        if let (IntPredicate::Eq | IntPredicate::Ne, Some(&choice)) =
            (predicate, self.far.get(&part.pair))
        {
            self.edges.insert(choice, part.sign * part.limit);
        }
    }

    /// The intervals of the difference of two bases in which a comparison holds, and in which it
    /// does not.
    fn part(&self, predicate: IntPredicate, a: Val, b: Val) -> Option<Part> {
        let (pair, sign) = match a.base <= b.base {
            true => ((a.base, b.base), 1),
            false => ((b.base, a.base), -1),
        };
        // A comparison of bases with offsets is one of their difference with this number.
        let limit = b.offset.checked_sub(a.offset)?;
        let known = self.between.get(&pair).copied().unwrap_or((-ALL, ALL));
        let (low, high) = if sign == 1 { known } else { (-known.1, -known.0) };
        let (holds, fails) = split(predicate, limit, (low, high));
        Some(Part { pair, sign, limit, holds, fails })
    }

    fn keep(&mut self, pair: (Base, Base), sign: i64, (low, high): (i64, i64)) {
        let interval = if sign == 1 { (low, high) } else { (-high, -low) };
        self.between.insert(pair, interval);
    }
}

/// Whether another round of a loop follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Round {
    /// Known from earlier decisions.
    Known(bool),
    /// Chosen.
    Chosen(bool),
}

/// The intervals of a difference in which a comparison holds, and in which it does not.
struct Part {
    pair: (Base, Base),
    sign: i64,
    /// The number that the difference is compared with.
    limit: i64,
    holds: Interval,
    fails: Interval,
}

type Interval = Option<(i64, i64)>;

/// The parts of an interval in which a comparison with a number holds, and in which it does not.
/// Unsigned comparisons are treated as signed ones: sizes are not negative.
fn split(predicate: IntPredicate, limit: i64, (low, high): (i64, i64)) -> (Interval, Interval) {
    let part = |low: i64, high: i64| (low <= high).then_some((low, high));
    let below = part(low, high.min(limit - 1));
    let above = part(low.max(limit + 1), high);
    let up_to = part(low, high.min(limit));
    let from = part(low.max(limit), high);
    let at = part(low.max(limit), high.min(limit));
    // An interval cannot leave out its middle; the condition itself is recorded as decided.
    let other = match limit {
        _ if limit == low => above,
        _ if limit == high => below,
        _ => part(low, high),
    };
    match predicate {
        IntPredicate::Slt | IntPredicate::Ult => (below, from),
        IntPredicate::Sle | IntPredicate::Ule => (up_to, above),
        IntPredicate::Sgt | IntPredicate::Ugt => (above, up_to),
        IntPredicate::Sge | IntPredicate::Uge => (from, below),
        IntPredicate::Eq => (at, other),
        IntPredicate::Ne => (other, at),
    }
}
