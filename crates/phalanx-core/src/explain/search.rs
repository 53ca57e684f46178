//! The derivation of every fact, shortest first.
//!
//! The [rules of the analysis](Consequences), applied breadth first: all facts of one length are
//! known before any longer one, and each is written down with what it was derived from. A fact can
//! be derived several times, each time for sources that it did not have yet, so there are at most
//! as many entries as facts times sources.
//!
//! What is between a branch and the values that it reaches (divergent exits, cycles assumed
//! divergent, meetings further on) is derived in the same step as the branch: it has no length of
//! its own. So the length of a derivation depends on which value follows from which branch, and not
//! on how that is found out.
//!
//! In a region that is assumed divergent, a branch whose two sides leave the region separates its
//! exits. This is the only rule with two antecedents; the entry names the later one. All other
//! consequences of such a branch either hold already or are omitted by the rules. Those that hold
//! are derived as well, since they may give a shorter chain to a use. The search never derives a
//! fact that the analysis has not found.

use crate::SourceSet;
use phalanx_graph::{CycleId, Node};
use rustc_hash::FxHashMap;

use crate::affect::{User, UserKind, Value};
use crate::divergence::consequences::{Consequences, ControlFact, Sink};
use crate::divergence::{Divergence, FlowFacts, ValueTable};

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derived {
    /// A value where it is computed.
    Value(Value),
    /// The direction of the terminator of a block.
    Terminator(Node),
    /// What a user sees of a value computed in a cycle, because of when threads left.
    Use(Value, User),
    /// Something about control flow.
    Control(ControlFact),
}

/// One derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fact: Derived,
    /// What is new in it.
    pub(super) sources: SourceSet,
    /// The entry that it follows from; [`NONE`] for what introduces the sources itself.
    pub(super) cause: u32,
    /// How many values and branches there are between it and what introduces the sources.
    pub(super) length: u32,
}

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// All derivations of a function, in order of length.
pub(super) fn derivations(
    flow: FlowFacts<'_>,
    table: &ValueTable,
    answer: &Divergence,
) -> Vec<Entry> {
    let mut rules = Consequences::new(flow, table, None);
    let mut search = Search::new(flow, table, answer);
    for (value, &seed) in table.values().zip(table.seeds()) {
        search.depends(value, seed);
    }
    for &(block, seed) in table.seeded_terminators() {
        search.terminator(block, seed);
    }
    let mut at = 0;
    loop {
        // What has no length goes first: it belongs to the length at hand.
        if let Some(entry) = search.waiting.pop() {
            search.follow(&mut rules, entry);
        } else if at < search.longer.len() {
            let entry = search.longer[at];
            at += 1;
            search.follow(&mut rules, entry);
        } else {
            rules.finish();
            return search.entries;
        }
    }
}

struct Search<'a> {
    flow: FlowFacts<'a>,
    table: &'a ValueTable,
    /// What holds: nothing else is derived.
    answer: &'a Divergence,
    entries: Vec<Entry>,
    /// Entries to be followed: values, terminators and uses, first in first out.
    longer: Vec<u32>,
    /// Entries to be followed before any of these.
    waiting: Vec<u32>,
    /// Blocks at whose ends threads separate by the entry being followed.
    apart: Vec<(Node, SourceSet)>,
    /// The entry being followed.
    cause: u32,
    values: Vec<SourceSet>,
    terminators: Vec<SourceSet>,
    uses: FxHashMap<(Value, User), SourceSet>,
}

impl<'a> Search<'a> {
    fn new(flow: FlowFacts<'a>, table: &'a ValueTable, answer: &'a Divergence) -> Self {
        Self {
            flow,
            table,
            answer,
            entries: Vec::new(),
            longer: Vec::new(),
            waiting: Vec::new(),
            apart: Vec::new(),
            cause: NONE,
            values: vec![SourceSet::EMPTY; table.len()],
            terminators: vec![SourceSet::EMPTY; table.block_count()],
            uses: FxHashMap::default(),
        }
    }

    /// Writes down a fact that follows from the entry at hand.
    fn push(&mut self, fact: Derived, sources: SourceSet) {
        let number = self.entries.len() as u32;
        let has_length =
            matches!(fact, Derived::Value(_) | Derived::Terminator(_) | Derived::Use(..));
        let length = match self.entries.get(self.cause as usize) {
            Some(cause) => cause.length + u32::from(has_length),
            None => 0,
        };
        self.entries.push(Entry { fact, sources, cause: self.cause, length });
        match has_length {
            true => self.longer.push(number),
            false => self.waiting.push(number),
        }
    }

    /// The sources of a value. Answers do not report versions of memory.
    fn holds(&self, value: Value) -> SourceSet {
        match self.table.is_reported(value) {
            true => self.answer.value(value),
            false => SourceSet::ALL,
        }
    }

    fn holds_at(&self, value: Value, user: User) -> SourceSet {
        match self.table.is_reported(value) && self.table.is_reported_user(user) {
            true => self.answer.at_use(value, user),
            false => SourceSet::ALL,
        }
    }

    /// A value depends on sources.
    fn depends(&mut self, value: Value, sources: SourceSet) {
        let new = sources.difference(self.values[value.index()]) & self.holds(value);
        if !new.is_empty() {
            self.values[value.index()] |= new;
            self.push(Derived::Value(value), new);
        }
    }

    fn terminator(&mut self, block: Node, sources: SourceSet) {
        let sources = self.table.terminator_transfer(block, sources);
        let new =
            sources.difference(self.terminators[block.index()]) & self.answer.terminator(block);
        if !new.is_empty() && !self.table.is_fixed_terminator(block) {
            self.terminators[block.index()] |= new;
            self.push(Derived::Terminator(block), new);
        }
    }

    /// A user sees sources in an operand.
    fn user(&mut self, user: User, sources: SourceSet) {
        match user.kind() {
            UserKind::Value(value) => self.depends(value, self.table.transfer(value, sources)),
            UserKind::Terminator(block) => self.terminator(block, sources),
        }
    }

    fn follow(&mut self, rules: &mut Consequences<'a>, number: u32) {
        self.cause = number;
        let Entry { fact, sources, .. } = self.entries[number as usize];
        match fact {
            Derived::Value(value) => {
                let table = self.table;
                for &user in table.affects().users(value) {
                    self.user(user, sources);
                }
            }
            Derived::Terminator(block) if self.flow.cfg.is_branch(block) => {
                self.apart.push((block, sources));
            }
            Derived::Terminator(_) => {}
            // Its reader was told when it was found.
            Derived::Use(..) => {}
            Derived::Control(fact) => rules.follow(self, fact, sources),
        }
        for (block, sources) in std::mem::take(&mut self.apart) {
            rules.separate(self, block, sources);
        }
    }
}

impl Sink for Search<'_> {
    fn value(&self, value: Value) -> SourceSet {
        self.values[value.index()]
    }

    fn mark(&mut self, value: Value, sources: SourceSet) {
        if !self.table.is_fixed(value) {
            self.depends(value, sources);
        }
    }

    fn read(&mut self, value: Value, user: User, sources: SourceSet) {
        let holds = self.holds_at(value, user);
        let known = self.uses.entry((value, user)).or_default();
        let new = sources.difference(*known) & holds;
        if new.is_empty() {
            return;
        }
        *known |= new;
        let number = self.entries.len() as u32;
        self.push(Derived::Use(value, user), new);
        // The use and its reader are one step: the entry of the reader follows from that of the
        // use.
        let length = self.entries[number as usize].length;
        let cause = std::mem::replace(&mut self.cause, number);
        let before = self.entries.len();
        self.user(user, new);
        for entry in &mut self.entries[before..] {
            entry.length = length;
        }
        self.cause = cause;
    }

    fn read_apart(&mut self, value: Value, user: User, _: CycleId, sources: SourceSet) {
        self.read(value, user, sources);
    }

    fn found(&mut self, fact: ControlFact, sources: SourceSet) {
        self.push(Derived::Control(fact), sources);
    }

    fn separated(&mut self, block: Node, sources: SourceSet) {
        self.apart.push((block, sources));
    }
}
