//! Solving, and delete and rederive.
//!
//! After an edit, the subjects whose rules have changed are examined:
//!
//! 1. *Gain.* What their rules give them now, from the facts that there are, is added, with the
//!    lowest rank above that of a support. So where something new takes the place of what supported
//!    a fact, that fact stays, and with it all that rests on it. Ranks have gaps for that.
//! 2. *Retract.* A fact of such a subject stays if it has a support of lower rank; where no ranks
//!    are kept, if it is a seed. If not it is retracted, and the subjects that may rest on it are
//!    examined in turn.
//! 3. *Derive.* The retracted facts, and those of the subjects examined first, are derived again
//!    from the facts that are left. They get new ranks, and their consequences are drawn.
//!
//! Then the facts are the least that the rules allow. *Each is derivable*: supports go down the
//! ranks to seeds. *Each derivable fact is there*: if the antecedents of a rule hold, its
//! consequence was examined in the third step, or one of the antecedents is new and its
//! consequences were drawn. Where a rule has two antecedents and both are retracted, either one
//! leads to the consequence: facts that were retracted are still [seen](Seen) until the second step
//! is over.
//!
//! **Complexity.** What is retracted or new, times the rules around it. Ranks matter where facts
//! support each other in cycles: without ranks, every fact that is reachable from a changed fact is
//! retracted, and most of them are derived again.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use crate::agenda::Agenda;
use crate::facts::{Facts, LAST_RANK, Seen};
use crate::interrupt;
use crate::rules::{Bits, Rules, Subject};

/// The distance between the ranks of facts that are derived one after the other.
const GAP: u32 = 1 << 5;

/// Whether the order of derivations is kept, which lets [`Fixpoint::repair`] stop early. It costs a
/// list for each subject that gets bits at several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// Facts that rest on each other in circles are common, or what follows from one fact is much.
    Kept,
    /// Chains are short.
    None,
}

/// How much may be done before it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Subjects whose consequences are drawn or withdrawn.
    pub visited: usize,
    /// [`Rules::work`]. [`usize::MAX`] is always too much, so that rules can give up themselves.
    pub work: usize,
}

impl Limits {
    /// Nothing is too much.
    pub const NONE: Limits = Limits { visited: usize::MAX, work: usize::MAX - 1 };
}

/// How an update went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Update {
    /// All facts are as they were.
    Same,
    /// Some are not: see [`Fixpoint::changes`].
    Changed,
    /// It was more than the [`Limits`]. Facts are of no use any more, but [`Fixpoint::changes`]
    /// tells what they were.
    TooMuch,
}

/// A subject of which something else is known than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<S, B> {
    /// The subject.
    pub subject: S,
    /// What it had.
    pub before: B,
}

/// More than the limits.
struct TooMuch;

/// The least solution of some rules.
///
/// It does not own the rules: the caller passes the current rules to each operation.
#[derive(Clone, Debug)]
pub struct Fixpoint<S: Subject, B> {
    facts: Facts<S, B>,
    next_rank: u32,
    /// Subjects with new facts whose consequences have not been drawn, by class.
    agendas: Vec<Agenda>,
    /// Retracted facts whose consequences have not been examined.
    stack: Vec<(S, B)>,
    /// Whatever was retracted, in order.
    lost: Vec<S>,
    buffer: Vec<(S, B)>,
    /// What subjects had when the last update began, where that became something else on the way.
    before: FxHashMap<S, B>,
    keeps_before: bool,
    changes: Vec<Change<S, B>>,
    visited: usize,
    limits: Limits,
}

impl<S: Subject, B: Bits> Fixpoint<S, B> {
    /// No facts.
    #[must_use]
    pub fn new(ranks: Ranks) -> Self {
        Self {
            facts: Facts::new(ranks == Ranks::Kept),
            next_rank: 1,
            agendas: vec![Agenda::default(); S::CLASSES],
            stack: Vec::new(),
            lost: Vec::new(),
            buffer: Vec::new(),
            before: FxHashMap::default(),
            keeps_before: false,
            changes: Vec::new(),
            visited: 0,
            limits: Limits::NONE,
        }
    }

    /// A solution that was kept by itself, without [ranks](Ranks::None), to be repaired.
    #[must_use]
    pub fn of(facts: impl IntoIterator<Item = (S, B)>) -> Self {
        let mut solution = Self::new(Ranks::None);
        solution.assume(facts);
        solution
    }

    /// Adds facts that are known to be part of a solution without [ranks](Ranks::None). Their
    /// consequences are not drawn: they have to be among the facts as well.
    pub fn assume(&mut self, facts: impl IntoIterator<Item = (S, B)>) {
        debug_assert!(!self.facts.has_ranks(), "what is assumed has no rank");
        facts.into_iter().for_each(|(subject, bits)| self.facts.add(subject, bits, 0));
    }

    /// Makes room for `count` subjects of a class at once.
    pub fn grow(&mut self, class: usize, count: usize) {
        self.facts.grow(class, count);
        self.agendas[class].grow(count);
    }

    /// Finds all facts; whatever was known is forgotten. `subjects` are those that may have a seed.
    ///
    /// [`changes`](Self::changes) tells nothing of it.
    pub fn solve<R: Rules<Subject = S, Bits = B>>(
        &mut self,
        rules: &mut R,
        subjects: impl IntoIterator<Item = S>,
        limits: Limits,
    ) -> Update {
        self.facts.clear();
        self.next_rank = 1;
        self.begin(limits, false);
        for subject in subjects {
            let seed = rules.seed(subject);
            self.add(subject, seed);
        }
        match self.run(rules) {
            Ok(()) if self.next_rank == 1 => Update::Same,
            Ok(()) => Update::Changed,
            Err(TooMuch) => self.given_up(),
        }
    }

    /// Brings the facts up to date after rules were changed. `changed` are the subjects that may
    /// have another seed than before, or other support from the same facts: each of them must be
    /// there.
    pub fn repair<R: Rules<Subject = S, Bits = B>>(
        &mut self,
        rules: &mut R,
        changed: &[S],
        limits: Limits,
    ) -> Update {
        self.begin(limits, true);
        self.gain(rules, changed);
        if self.retract(rules, changed).and_then(|()| self.derive(rules, changed)).is_err() {
            return self.given_up();
        }
        let facts = &self.facts;
        self.changes.retain(|change| facts.get(change.subject) != change.before);
        match self.changes.is_empty() {
            true => Update::Same,
            false => Update::Changed,
        }
    }

    /// What the last [`repair`](Self::repair) has changed, in the order of subjects.
    #[must_use]
    pub fn changes(&self) -> &[Change<S, B>] {
        &self.changes
    }

    /// The bits of a subject.
    #[inline]
    #[must_use]
    pub fn get(&self, of: S) -> B {
        self.facts.get(of)
    }

    /// The bits of all subjects of a class, by number.
    pub fn all(&self, class: usize) -> impl ExactSizeIterator<Item = B> {
        self.facts.all(class)
    }

    /// All facts, as rules read them.
    #[must_use]
    pub fn seen(&self) -> Seen<'_, S, B> {
        Seen::all(&self.facts)
    }

    /// How many subjects had consequences drawn or withdrawn in the last update.
    #[must_use]
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// Gives what is known of subjects to others, with its ranks, or to none. All are taken away
    /// before any is given. What others had is forgotten.
    ///
    /// For edits after which subjects have other numbers. The next repair has to name the subjects
    /// that had support from a subject that is gone.
    pub fn renumber(&mut self, moves: impl IntoIterator<Item = (S, Option<S>)>) {
        let moves = moves.into_iter().filter(|(old, new)| Some(*old) != *new);
        let mut taken = Vec::new();
        for (old, new) in moves {
            // Most have nothing, and nothing to lose.
            let is_empty = |facts: &Facts<S, B>, of| facts.get(of) == B::NONE;
            if !is_empty(&self.facts, old) || new.is_some_and(|new| !is_empty(&self.facts, new)) {
                taken.push((new, self.facts.take(old)));
            }
        }
        for (new, groups) in taken {
            let Some(new) = new else { continue };
            self.facts.remove(new, B::ALL);
            for (bits, rank) in groups {
                self.facts.add(new, bits, rank);
            }
        }
    }

    pub(crate) fn facts(&self) -> &Facts<S, B> {
        &self.facts
    }

    fn begin(&mut self, limits: Limits, keeps_before: bool) {
        self.limits = limits;
        self.visited = 0;
        self.stack.clear();
        self.lost.clear();
        self.before.clear();
        self.changes.clear();
        self.keeps_before = keeps_before;
    }

    fn given_up(&mut self) -> Update {
        self.agendas.iter_mut().for_each(Agenda::clear);
        self.note_changes();
        Update::TooMuch
    }

    fn note_changes(&mut self) {
        let all = self.before.drain();
        self.changes.extend(all.map(|(subject, before)| Change { subject, before }));
        self.changes.sort_unstable_by_key(|change| change.subject);
    }

    fn count<R: Rules>(&mut self, rules: &R) -> Result<(), TooMuch> {
        self.visited += 1;
        if self.visited.is_multiple_of(256) {
            interrupt::poll();
        }
        match self.visited > self.limits.visited || rules.work() > self.limits.work {
            true => Err(TooMuch),
            false => Ok(()),
        }
    }

    /// Adds what the rules of these subjects give them from the facts that there are, each with the
    /// lowest rank that is above that of a support. What rests on a fact that is then retracted is
    /// retracted as well.
    fn gain<R: Rules<Subject = S, Bits = B>>(&mut self, rules: &mut R, changed: &[S]) {
        if !self.facts.has_ranks() {
            return;
        }
        for &subject in changed {
            let missing = B::ALL.minus(self.facts.get(subject));
            let mut gained = rules.supported(subject, missing, Seen::all(&self.facts));
            while gained != B::NONE {
                // Below `low` nothing supports any of it, below `rank` something does.
                let (mut low, mut rank) = (0, self.next_rank);
                let mut bits = gained;
                while low + 1 < rank {
                    let limit = low + (rank - low) / 2;
                    match rules.supported(subject, gained, Seen::below(&self.facts, limit)) {
                        found if found == B::NONE => low = limit,
                        found => (rank, bits) = (limit, found),
                    }
                }
                self.add_at(subject, bits, rank);
                self.next_rank = self.next_rank.max(rank + 1);
                gained = gained.minus(bits);
            }
        }
    }

    fn retract<R: Rules<Subject = S, Bits = B>>(
        &mut self,
        rules: &mut R,
        changed: &[S],
    ) -> Result<(), TooMuch> {
        for &subject in changed {
            self.examine(rules, subject, B::ALL);
        }
        while let Some((subject, lost)) = self.stack.pop() {
            self.count(rules)?;
            let mut buffer = std::mem::take(&mut self.buffer);
            let seen = Seen::with_retracted(&self.facts, &self.before);
            let facts = &self.facts;
            let _ = rules.gives(subject, lost, seen, &mut |next, bits, _| {
                if facts.get(next).common(bits) != B::NONE {
                    buffer.push((next, bits));
                }
                ControlFlow::Continue(())
            });
            buffer.drain(..).for_each(|(next, bits)| self.examine(rules, next, bits));
            self.buffer = buffer;
        }
        Ok(())
    }

    /// Retracts those of the bits that have no support of lower rank.
    fn examine<R: Rules<Subject = S, Bits = B>>(&mut self, rules: &mut R, subject: S, bits: B) {
        let mut lost = B::NONE;
        let mut n = 0;
        while let Some((group, rank)) = self.facts.group(subject, n) {
            let want = group.common(bits);
            if want != B::NONE {
                let seen = Seen::below(&self.facts, rank);
                lost = lost.union(want.minus(rules.supported(subject, want, seen)));
            }
            n += 1;
        }
        if lost != B::NONE {
            self.note(subject);
            self.facts.remove(subject, lost);
            self.stack.push((subject, lost));
            self.lost.push(subject);
        }
    }

    fn note(&mut self, subject: S) {
        if self.keeps_before {
            self.before.entry(subject).or_insert_with(|| self.facts.get(subject));
        }
    }

    fn derive<R: Rules<Subject = S, Bits = B>>(
        &mut self,
        rules: &mut R,
        changed: &[S],
    ) -> Result<(), TooMuch> {
        let lost = std::mem::take(&mut self.lost);
        for &subject in lost.iter().chain(changed) {
            let missing = B::ALL.minus(self.facts.get(subject));
            let found = rules.supported(subject, missing, Seen::all(&self.facts));
            self.add(subject, found);
        }
        self.lost = lost;
        self.run(rules)?;
        self.note_changes();
        Ok(())
    }

    /// Adds facts; their consequences are drawn later.
    fn add(&mut self, subject: S, bits: B) {
        let new = bits.minus(self.facts.get(subject));
        if new == B::NONE {
            return;
        }
        self.add_at(subject, new, self.next_rank);
        self.next_rank += GAP;
    }

    fn add_at(&mut self, subject: S, new: B, rank: u32) {
        self.note(subject);
        self.facts.add(subject, new, rank);
        let (class, number) = subject.place();
        self.agendas[class].insert(number as usize);
    }

    /// Draws consequences until there are none.
    fn run<R: Rules<Subject = S, Bits = B>>(&mut self, rules: &mut R) -> Result<(), TooMuch> {
        while let Some(subject) = self.next() {
            self.count(rules)?;
            if self.next_rank > LAST_RANK {
                return Err(TooMuch);
            }
            let mut buffer = std::mem::take(&mut self.buffer);
            let seen = Seen::all(&self.facts);
            let _ = rules.gives(subject, self.facts.get(subject), seen, &mut |next, bits, _| {
                buffer.push((next, bits));
                ControlFlow::Continue(())
            });
            buffer.drain(..).for_each(|(next, bits)| self.add(next, bits));
            self.buffer = buffer;
        }
        Ok(())
    }

    fn next(&mut self) -> Option<S> {
        let mut agendas = self.agendas.iter_mut().enumerate();
        agendas.find_map(|(class, agenda)| Some(S::at(class, agenda.take()? as u32)))
    }
}
