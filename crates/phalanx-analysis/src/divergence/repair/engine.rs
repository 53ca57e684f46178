//! Delete and rederive, for any rules with one antecedent.
//!
//! After an edit, the subjects whose rules have changed are examined:
//!
//! 1. *Retract.* A fact of such a subject stays if it has a support of lower rank. If not it is retracted, and the
//!    subjects that may rest on it are examined in turn.
//! 2. *Derive.* Whatever was retracted or examined at first is derived again from what is left, with new ranks, and
//!    told on.
//!
//! When nothing is left to do, the facts are the least that the rules allow: what is left after the first step is
//! derivable, since supports go down the ranks to axioms; and everything derivable is derived, since a rule whose
//! antecedent holds and whose consequence does not has a consequence that was retracted or examined, or an antecedent
//! that was told on.
//!
//! **Complexity.** What is retracted or new, times the rules around it. Ranks matter: without them the whole forward
//! cone of a changed fact that lies on a cycle would go.

use super::agenda::Agenda;
use super::facts::{Facts, LAST_RANK, Subject};

/// Rules, and the facts that they are about. Bits never interact.
pub(super) trait Rules {
    fn facts(&self) -> &Facts;
    fn facts_mut(&mut self) -> &mut Facts;
    /// Of the bits in `want`, those that an axiom or a fact with a rank below the limit gives the subject.
    fn supported(&mut self, subject: Subject, want: u16, limit: u32) -> u16;
    /// Appends everything that the bits of a subject give others. May be given twice, but must hold.
    fn consequences(&mut self, of: Subject, bits: u16, to: &mut Vec<(Subject, u16)>);
    /// How many supports have been looked at.
    fn work(&self) -> usize;
}

/// A fact could not be derived or kept within the bounds: start from scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GivenUp;

/// Nothing is too much; but work that is [`usize::MAX`] is, so that rules can give up themselves.
pub(super) const NO_BOUNDS: (usize, usize) = (usize::MAX, usize::MAX - 1);

/// The machinery of one set of facts. Empty between runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Engine {
    next_rank: u32,
    values: Agenda,
    branches: Agenda,
    controls: Agenda,
    stack: Vec<(Subject, u16)>,
    lost: Vec<Subject>,
    buffer: Vec<(Subject, u16)>,
    /// What the subjects that changed had before, possibly several times, the oldest first; not kept when everything is new.
    before: Vec<(Subject, u16)>,
    keeps_before: bool,
    /// Subjects whose consequences were drawn or withdrawn, since this was last set to zero.
    pub(super) visited: usize,
    /// Bounds on `visited` and on [`Rules::work`].
    pub(super) bounds: (usize, usize),
}

impl Engine {
    /// An engine with a rank for each derivation from the first on.
    pub(super) fn new() -> Self {
        Self { next_rank: 1, bounds: NO_BOUNDS, ..Self::default() }
    }

    /// Makes room for subjects.
    pub(super) fn grow(&mut self, facts: &mut Facts, values: usize, branches: usize) {
        // All of them grow together.
        if facts.values.len() >= values && facts.branches.len() >= branches {
            return;
        }
        facts.values.grow(values);
        facts.branches.grow(branches);
        self.values.grow(values);
        self.branches.grow(branches);
    }

    /// Repairs the facts after the rules of these subjects have changed.
    pub(super) fn repair(
        &mut self,
        rules: &mut impl Rules,
        changed: &[Subject],
    ) -> Result<(), GivenUp> {
        self.visited = 0;
        self.stack.clear();
        self.lost.clear();
        let result = self.retract(rules, changed).and_then(|()| self.derive(rules, changed));
        if result.is_err() {
            self.values.clear();
            self.branches.clear();
            self.controls.clear();
        }
        result
    }

    fn is_beyond(&self, rules: &impl Rules) -> bool {
        self.visited > self.bounds.0 || rules.work() > self.bounds.1
    }

    fn retract(&mut self, rules: &mut impl Rules, changed: &[Subject]) -> Result<(), GivenUp> {
        for &subject in changed {
            self.examine(rules, subject, u16::MAX);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some((subject, lost)) = self.stack.pop() {
            self.visited += 1;
            if self.is_beyond(rules) {
                return Err(GivenUp);
            }
            buffer.clear();
            rules.consequences(subject, lost, &mut buffer);
            for &(next, bits) in &buffer {
                if rules.facts().get(next) & bits != 0 {
                    self.examine(rules, next, bits);
                }
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    /// Retracts those of the bits that have no support of lower rank.
    fn examine(&mut self, rules: &mut impl Rules, subject: Subject, bits: u16) {
        let mut lost = 0;
        let mut n = 0;
        loop {
            let (column, i) = rules.facts().column(subject);
            let Some((group, rank)) = column.group(i, n) else { break };
            let want = group & bits;
            if want != 0 {
                lost |= want & !rules.supported(subject, want, rank);
            }
            n += 1;
        }
        if lost != 0 {
            self.note(rules, subject);
            let (column, i) = rules.facts_mut().column_mut(subject);
            column.remove(i, lost);
            self.stack.push((subject, lost));
            self.lost.push(subject);
        }
    }

    fn note(&mut self, rules: &impl Rules, subject: Subject) {
        if self.keeps_before {
            self.before.push((subject, rules.facts().get(subject)));
        }
    }

    /// From now on what subjects had before is kept, or nothing is.
    pub(super) fn keep_before(&mut self, keeps: bool) {
        self.before.clear();
        self.keeps_before = keeps;
    }

    /// What the subjects that changed had when it was begun to keep that, each once, in order.
    pub(super) fn before(&mut self) -> &[(Subject, u16)] {
        // What was kept first is the oldest: the order of equal ones must stay.
        self.before.sort_by_key(|(subject, _)| *subject);
        self.before.dedup_by_key(|(subject, _)| *subject);
        &self.before
    }

    fn derive(&mut self, rules: &mut impl Rules, changed: &[Subject]) -> Result<(), GivenUp> {
        let lost = std::mem::take(&mut self.lost);
        let first = self.next_rank;
        for &subject in lost.iter().chain(changed) {
            let missing = !rules.facts().get(subject);
            let found = rules.supported(subject, missing, u32::MAX);
            self.add(rules, subject, found);
        }
        self.lost = lost;
        match self.next_rank == first {
            // Nothing is new.
            true => Ok(()),
            false => self.run(rules),
        }
    }

    /// Adds axioms or derived facts, to be told on.
    pub(super) fn add(&mut self, rules: &mut impl Rules, subject: Subject, bits: u16) {
        let new = bits & !rules.facts().get(subject);
        if new == 0 {
            return;
        }
        self.note(rules, subject);
        let (column, i) = rules.facts_mut().column_mut(subject);
        column.add(i, new, self.next_rank);
        self.next_rank += 1;
        match subject {
            Subject::Value(i) => self.values.insert(i as usize),
            Subject::Branch(i) => self.branches.insert(i as usize),
            Subject::Control(i) => {
                self.controls.grow(i as usize + 1);
                self.controls.insert(i as usize);
            }
        }
    }

    /// Draws consequences until there are none.
    pub(super) fn run(&mut self, rules: &mut impl Rules) -> Result<(), GivenUp> {
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(subject) = self.next() {
            self.visited += 1;
            if self.is_beyond(rules) || self.next_rank > LAST_RANK {
                return Err(GivenUp);
            }
            buffer.clear();
            let bits = rules.facts().get(subject);
            rules.consequences(subject, bits, &mut buffer);
            for &(next, bits) in &buffer {
                self.add(rules, next, bits);
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    fn next(&mut self) -> Option<Subject> {
        if let Some(i) = self.controls.take() {
            return Some(Subject::Control(i as u32));
        }
        if let Some(i) = self.branches.take() {
            return Some(Subject::Branch(i as u32));
        }
        self.values.take().map(|i| Subject::Value(i as u32))
    }
}
