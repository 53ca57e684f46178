//! The slow twin of [`Derivations`](super::Derivations), and a checker of chains.
//!
//! The graph of facts and what leads to what is built in full: what each branch brings about comes
//! from an analysis of its own, in which nothing else separates threads ([`of_branch`]). Lengths
//! are those of a breadth-first search in that graph. Quadratic and worse; for tests.

use std::collections::{BTreeMap, VecDeque, btree_map::Entry};

use crate::SourceSet;
use phalanx_graph::{Cfg, Node, PostDomTree};

use super::{Cause, Fact, Link, Separation};
use crate::affect::{User, UserKind, Value};
use crate::divergence::twin::{OfBranch, of_branch};
use crate::divergence::{Divergence, FlowFacts, ValueTable};

/// Everything that leads to something.
#[derive(Debug)]
pub struct Implications<'a> {
    flow: FlowFacts<'a>,
    table: &'a ValueTable,
    answer: &'a Divergence,
    of_branch: BTreeMap<Node, OfBranch>,
    /// How many links the shortest chain of a fact has, by fact and source.
    lengths: BTreeMap<(Fact, SourceSet), usize>,
}

impl<'a> Implications<'a> {
    /// Builds the graph of what holds by `answer`. What branches bring about comes from the twin of
    /// the analysis if `is_slow`, which is exact for reducible control flow, and from the analysis
    /// itself otherwise.
    #[must_use]
    pub fn new(
        flow: FlowFacts<'a>,
        table: &'a ValueTable,
        answer: &'a Divergence,
        is_slow: bool,
    ) -> Self {
        let branches = flow.cfg.nodes().filter(|&node| flow.cfg.is_branch(node));
        let of_branch =
            branches.map(|node| (node, of_branch(flow, table, node, is_slow))).collect();
        let mut found = Self { flow, table, answer, of_branch, lengths: BTreeMap::new() };
        found.search();
        found
    }

    /// The length of the shortest chain from a value, terminator or use to one of the sources.
    #[must_use]
    pub fn length(&self, fact: Fact, sources: SourceSet) -> Option<usize> {
        let own = |fact| {
            let lengths = sources.iter().filter_map(|s| self.lengths.get(&(fact, s)).copied());
            lengths.min()
        };
        match fact {
            Fact::Use(value, _) => {
                let by_value = own(Fact::Value(value)).map(|length| length + 1);
                own(fact).into_iter().chain(by_value).min()
            }
            fact => own(fact),
        }
    }

    /// The same of whether a block is executed, by the definition of control dependence.
    #[must_use]
    pub fn block_lengths(
        &self,
        postdom: &PostDomTree,
        sources: SourceSet,
    ) -> BTreeMap<Node, usize> {
        let cfg = self.flow.cfg;
        let mut lengths: BTreeMap<Node, usize> = BTreeMap::new();
        loop {
            let before = lengths.clone();
            for block in cfg.nodes() {
                for branch in cfg.nodes().filter(|&b| depends(cfg, postdom, block, b)) {
                    let of_way = self.length(Fact::Terminator(branch), sources);
                    let of_block = before.get(&branch).copied();
                    let Some(least) = of_way.into_iter().chain(of_block).min() else { continue };
                    let known = lengths.entry(block).or_insert(usize::MAX);
                    *known = (*known).min(least + 1);
                }
            }
            if lengths == before {
                return lengths;
            }
        }
    }

    fn search(&mut self) {
        let mut work: VecDeque<(Fact, SourceSet)> = VecDeque::new();
        for value in self.table.values() {
            self.add(&mut work, Fact::Value(value), self.table.seed(value), 1);
        }
        let table = self.table;
        for &(block, seed) in table.seeded_terminators() {
            if !self.table.is_fixed_terminator(block) {
                self.add(&mut work, Fact::Terminator(block), seed, 1);
            }
        }
        while let Some((fact, source)) = work.pop_front() {
            let length = self.lengths[&(fact, source)] + 1;
            match fact {
                Fact::Value(value) => {
                    let table = self.table;
                    for &user in table.affects().users(value) {
                        let (reader, sources) = self.reader(user, source);
                        self.add(&mut work, reader, sources, length);
                    }
                }
                Fact::Terminator(block) => {
                    let Some(found) = self.of_branch.get(&block).cloned() else { continue };
                    for value in found.values {
                        self.add(&mut work, Fact::Value(value), source, length);
                    }
                    for (value, user) in found.uses {
                        let use_ = Fact::Use(value, user);
                        self.add(&mut work, use_, source, length);
                        if self.lengths.contains_key(&(use_, source)) {
                            let (reader, sources) = self.reader(user, source);
                            self.add(&mut work, reader, sources, length);
                        }
                    }
                }
                Fact::Use(..) | Fact::Block(_) => {}
            }
        }
    }

    /// Takes note of what holds and is not known yet.
    fn add(
        &mut self,
        work: &mut VecDeque<(Fact, SourceSet)>,
        fact: Fact,
        sources: SourceSet,
        length: usize,
    ) {
        let holds = match fact {
            // Answers do not report versions of memory.
            Fact::Value(value) if !self.table.is_reported(value) => SourceSet::ALL,
            Fact::Value(value) => self.answer.value(value),
            Fact::Use(value, user)
                if !self.table.is_reported(value) || !self.table.is_reported_user(user) =>
            {
                SourceSet::ALL
            }
            Fact::Use(value, user) => self.answer.at_use(value, user),
            Fact::Terminator(block) => self.answer.terminator(block),
            Fact::Block(_) => SourceSet::EMPTY,
        };
        for source in (sources & holds).iter() {
            if let Entry::Vacant(unknown) = self.lengths.entry((fact, source)) {
                unknown.insert(length);
                work.push_back((fact, source));
            }
        }
    }

    /// What a user makes of a source in an operand.
    fn reader(&self, user: User, source: SourceSet) -> (Fact, SourceSet) {
        match user.kind() {
            UserKind::Value(value) => (Fact::Value(value), self.table.transfer(value, source)),
            UserKind::Terminator(block) if self.table.is_fixed_terminator(block) => {
                (Fact::Terminator(block), SourceSet::EMPTY)
            }
            UserKind::Terminator(block) => (Fact::Terminator(block), source),
        }
    }

    /// Checks that every link of a chain about `fact` holds by itself, and that it ends in a
    /// source.
    ///
    /// # Errors
    /// The first link that does not, in words.
    pub fn check(
        &self,
        postdom: &PostDomTree,
        fact: Fact,
        sources: SourceSet,
        chain: &[Link],
    ) -> Result<(), String> {
        let first = chain.first().ok_or("no chain")?;
        if first.fact != fact || !sources.contains(first.source) {
            return Err(format!("the chain is about {:?} of {:?}", first.fact, first.source));
        }
        for (at, link) in chain.iter().enumerate() {
            let next = chain.get(at + 1);
            if link.source.len() != 1 || link.cause.antecedent() != next.map(|next| next.fact) {
                return Err(format!("link {at} leads elsewhere: {link:?}"));
            }
            let before = next.map_or(SourceSet::EMPTY, |next| next.source);
            if !self.holds(postdom, link, before) {
                return Err(format!("link {at} does not hold: {link:?} from {before:?}"));
            }
        }
        Ok(())
    }

    fn holds(&self, postdom: &PostDomTree, link: &Link, before: SourceSet) -> bool {
        let is_kept = link.source == before;
        match (&link.cause, link.fact) {
            (Cause::Source, Fact::Value(value)) => self.table.seed(value).contains(link.source),
            (Cause::Source, Fact::Terminator(block)) => {
                let mut seeded = self.table.seeded_terminators().iter();
                seeded.any(|&(b, s)| b == block && s.contains(link.source))
            }
            (Cause::Operand(operand), Fact::Value(value)) => {
                let reads = self.table.affects().users(*operand).contains(&User::value(value));
                reads && self.table.transfer(value, before).contains(link.source)
            }
            (Cause::Operand(operand), Fact::Terminator(block)) => {
                let users = self.table.affects().users(*operand);
                is_kept && users.contains(&User::terminator(block))
            }
            (Cause::Operand(operand), Fact::Use(value, user)) => {
                is_kept && *operand == value && self.table.affects().users(value).contains(&user)
            }
            (Cause::Join(separation), Fact::Value(phi)) => {
                is_kept
                    && self.table.is_phi(phi)
                    && self.brings(separation.branch, |found| found.values.contains(&phi))
                    && self.has_ways(separation, phi)
            }
            (Cause::Assumed { cycle, separation }, Fact::Value(value)) => {
                is_kept
                    && !self.flow.cycles.is_reducible(*cycle)
                    && self.flow.cycles.contains(*cycle, self.table.block(value))
                    && self.brings(separation.branch, |found| found.values.contains(&value))
            }
            (Cause::Temporal { value, separation, .. }, fact) => {
                let (user, kept) = match fact {
                    Fact::Use(_, user) => (user, is_kept),
                    Fact::Value(user) => {
                        let image = self.table.transfer(user, before);
                        (User::value(user), image.contains(link.source))
                    }
                    Fact::Terminator(block) => (User::terminator(block), is_kept),
                    Fact::Block(_) => return false,
                };
                let brings = |found: &OfBranch| found.uses.contains(&(*value, user));
                kept && self.brings(separation.branch, brings)
            }
            (Cause::Control { branch, .. }, Fact::Block(block)) => {
                is_kept && depends(self.flow.cfg, postdom, block, *branch)
            }
            _ => false,
        }
    }

    /// Whether a branch brings something about by itself.
    fn brings(&self, branch: Node, is_in: impl Fn(&OfBranch) -> bool) -> bool {
        self.of_branch.get(&branch).is_some_and(is_in)
    }

    /// Whether the ways to a join are ways, begin differently and bring different values.
    fn has_ways(&self, separation: &Separation, phi: Value) -> bool {
        let Some([one, other]) = &separation.ways else { return true };
        let block = self.table.block(phi);
        let incoming = self.table.phis(block).find(|p| p.value == phi).map(|p| p.incoming);
        let Some(incoming) = incoming else { return false };
        let is_way = |way: &[Node]| {
            way.first() == Some(&separation.branch)
                && way.last() == Some(&block)
                && way.len() >= 2
                && way.windows(2).all(|w| self.flow.cfg.successors(w[0]).contains(&w[1]))
        };
        let key = |way: &[Node]| {
            let pred = way[way.len() - 2];
            incoming.iter().find(|entry| entry.pred == pred).map(|entry| entry.key)
        };
        is_way(one) && is_way(other) && one != other && key(one) != key(other)
    }
}

/// Whether a block is control dependent on a branch: it is passed on all ways from some successor,
/// but not on all from the branch.
fn depends(cfg: &Cfg, postdom: &PostDomTree, block: Node, branch: Node) -> bool {
    cfg.is_branch(branch)
        && cfg.successors(branch).iter().any(|&s| postdom.post_dominates(block, s))
        && !postdom.strictly_post_dominates(block, branch)
}
