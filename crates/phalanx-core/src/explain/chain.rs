//! Chains, read off the derivations backwards.

use crate::SourceSet;
use phalanx_graph::sync::SyncView;
use phalanx_graph::{Node, PostDomTree};

use super::search::{Derived, Entry, NONE};
use super::ways::ways;
use super::{Cause, Derivations, Fact, Link, Separation};
use crate::affect::{User, Value};
use crate::control::Walk;
use crate::divergence::consequences::ControlFact;
use crate::divergence::{FlowFacts, ValueTable};

impl Derivations {
    pub(super) fn from_entries(entries: Vec<Entry>, table: &ValueTable) -> Self {
        let mut values = vec![NONE; table.len()];
        let mut terminators = vec![NONE; table.block_count()];
        let mut next = vec![NONE; entries.len()];
        let mut uses = Vec::new();
        for (number, entry) in entries.iter().enumerate().rev() {
            let first = match entry.fact {
                Derived::Value(value) => &mut values[value.index()],
                Derived::Terminator(block) => &mut terminators[block.index()],
                Derived::Use(value, user) => {
                    uses.push((value, user, number as u32));
                    continue;
                }
                _ => continue,
            };
            next[number] = std::mem::replace(first, number as u32);
        }
        uses.sort_unstable();
        Self { entries, values, terminators, uses, next }
    }

    /// The shortest chain from a fact to a source, one of `sources`; empty if it depends on none of
    /// them.
    ///
    /// A chain about a block needs the post-dominator tree; without it the answer is empty.
    #[must_use]
    pub fn of(
        &self,
        flow: FlowFacts<'_>,
        table: &ValueTable,
        postdom: Option<&PostDomTree>,
        fact: Fact,
        sources: SourceSet,
    ) -> Vec<Link> {
        let mut reader = Reader { known: self, flow, table, chain: Vec::new() };
        match fact {
            Fact::Value(value) => {
                if let Some(entry) = self.value(value, sources) {
                    reader.read(fact, entry, sources);
                }
            }
            Fact::Terminator(block) => {
                if let Some(entry) = self.terminator(block, sources) {
                    reader.read(fact, entry, sources);
                }
            }
            Fact::Use(value, user) => reader.read_use(value, user, sources),
            Fact::Block(block) => {
                if let Some(postdom) = postdom {
                    reader.read_block(postdom, block, sources);
                }
            }
        }
        reader.chain
    }

    /// How many links the chain of a value or a terminator has.
    pub(super) fn length(&self, entry: u32) -> u32 {
        self.entries[entry as usize].length + 1
    }

    fn first(&self, mut entry: u32, sources: SourceSet) -> Option<u32> {
        while entry != NONE {
            if self.entries[entry as usize].sources.intersects(sources) {
                return Some(entry);
            }
            entry = self.next[entry as usize];
        }
        None
    }

    pub(super) fn value(&self, value: Value, sources: SourceSet) -> Option<u32> {
        self.first(*self.values.get(value.index())?, sources)
    }

    pub(super) fn terminator(&self, block: Node, sources: SourceSet) -> Option<u32> {
        self.first(*self.terminators.get(block.index())?, sources)
    }

    fn use_(&self, value: Value, user: User, sources: SourceSet) -> Option<u32> {
        let from = self.uses.partition_point(|&(v, u, _)| (v, u) < (value, user));
        let mut of_use = self.uses[from..].iter().take_while(|&&(v, u, _)| (v, u) == (value, user));
        of_use.find(|use_| self.entries[use_.2 as usize].sources.intersects(sources)).map(|u| u.2)
    }
}

struct Reader<'a> {
    known: &'a Derivations,
    flow: FlowFacts<'a>,
    table: &'a ValueTable,
    chain: Vec<Link>,
}

/// What lies between a derived value and the branch that it follows from.
struct Trail {
    /// The entry of the terminator.
    end: u32,
    separation: Separation,
    /// Whether the value follows from its cycle being assumed divergent at once.
    is_assumed: bool,
}

impl Reader<'_> {
    fn entry(&self, number: u32) -> Entry {
        self.known.entries[number as usize]
    }

    /// The chain of an entry about `fact`, for one of the sources.
    fn read(&mut self, fact: Fact, mut number: u32, sources: SourceSet) {
        let (mut fact, mut source) = (fact, lowest(self.entry(number).sources & sources));
        loop {
            let (cause, next) = self.cause_of(number);
            let antecedent = cause.antecedent();
            self.chain.push(Link { fact, source, cause });
            let Some(next_fact) = antecedent else { return };
            source = self.source_before(number, source);
            (fact, number) = (next_fact, next);
        }
    }

    /// The source of the cause that became `source` in an entry.
    fn source_before(&self, number: u32, source: SourceSet) -> SourceSet {
        let entry = self.entry(number);
        if entry.cause == NONE {
            return source;
        }
        let before = self.entry(entry.cause);
        let mut from = before.sources.iter();
        let found = match (entry.fact, before.fact) {
            (Derived::Value(value), Derived::Value(_) | Derived::Use(..)) => {
                from.find(|&from| self.table.transfer(value, from).contains(source))
            }
            (Derived::Terminator(block), Derived::Value(_) | Derived::Use(..)) => {
                from.find(|&from| self.table.terminator_transfer(block, from).contains(source))
            }
            _ => None,
        };
        found.unwrap_or(source)
    }

    /// Why the entry holds, and the entry that this is about.
    fn cause_of(&self, number: u32) -> (Cause, u32) {
        let entry = self.entry(number);
        if entry.cause == NONE {
            return (Cause::Source, NONE);
        }
        let before = self.entry(entry.cause);
        let block = match entry.fact {
            Derived::Value(value) => match before.fact {
                Derived::Value(operand) => return (Cause::Operand(operand), entry.cause),
                _ => self.table.block(value),
            },
            Derived::Terminator(block) => match before.fact {
                Derived::Value(operand) => return (Cause::Operand(operand), entry.cause),
                _ => block,
            },
            _ => Node::from_raw(0),
        };
        match (entry.fact, before.fact) {
            (Derived::Use(value, user), _) => {
                self.temporal(number, value, self.table.block_of(user))
            }
            (_, Derived::Use(value, _)) => self.temporal(entry.cause, value, block),
            _ => {
                let mut trail = self.trail(entry.cause);
                let cause = match (trail.separation.apart_in, trail.is_assumed) {
                    (Some(cycle), true) if self.flow.cycles.contains(cycle, block) => {
                        Cause::Assumed { cycle, separation: trail.separation }
                    }
                    _ => {
                        if let Derived::Value(phi) = entry.fact {
                            let branch = trail.separation.branch;
                            trail.separation.ways = ways(self.flow.cfg, self.table, branch, phi);
                        }
                        Cause::Join(trail.separation)
                    }
                };
                (cause, trail.end)
            }
        }
    }

    fn temporal(&self, use_: u32, value: Value, place: Node) -> (Cause, u32) {
        let trail = self.trail(self.entry(use_).cause);
        let cycles = self.flow.cycles;
        let inner = cycles.innermost(self.table.block(value));
        let left = inner.and_then(|inner| cycles.outermost_without(inner, place));
        let by_exit = trail.separation.exit.and_then(|(from, to)| {
            let inner = inner.filter(|&inner| cycles.contains(inner, from));
            inner.or_else(|| cycles.innermost(from)).and_then(|c| cycles.outermost_without(c, to))
        });
        let cycle = by_exit.or(left).or(inner);
        (Cause::Temporal { value, cycle, separation: trail.separation }, trail.end)
    }

    /// From an entry that is none about values back to the branch.
    fn trail(&self, from: u32) -> Trail {
        let view = SyncView::new(self.flow.sync, self.flow.cfg, self.flow.dom, self.flow.cycles);
        let mut separation =
            Separation { branch: Node::from_raw(0), exit: None, apart_in: None, ways: None };
        let is_assumed = matches!(self.entry(from).fact, Derived::Control(ControlFact::Assumed(_)));
        let mut at = from;
        loop {
            let entry = self.entry(at);
            match entry.fact {
                Derived::Terminator(branch) => {
                    separation.branch = branch;
                    return Trail { end: at, separation, is_assumed };
                }
                Derived::Control(ControlFact::Exit(edge)) => {
                    separation.exit.get_or_insert_with(|| view.ends(edge));
                }
                Derived::Control(ControlFact::Assumed(cycle)) => {
                    separation.apart_in.get_or_insert(cycle);
                }
                _ => {}
            }
            at = entry.cause;
        }
    }

    /// What a user sees: the value itself, or when threads left the cycle around it, whatever is
    /// shorter.
    fn read_use(&mut self, value: Value, user: User, sources: SourceSet) {
        let fact = Fact::Use(value, user);
        let by_value = self.known.value(value, sources);
        let by_time = self.known.use_(value, user, sources);
        let is_value = match (by_value, by_time) {
            (Some(a), Some(b)) => self.entry(a).length < self.entry(b).length,
            (value, _) => value.is_some(),
        };
        match (by_value, by_time) {
            (Some(entry), _) if is_value => {
                let source = lowest(self.entry(entry).sources & sources);
                self.chain.push(Link { fact, source, cause: Cause::Operand(value) });
                self.read(Fact::Value(value), entry, sources);
            }
            (_, Some(entry)) => self.read(fact, entry, sources),
            _ => {}
        }
    }

    /// Whether a block is executed: breadth first from divergent branches, which are as far away as
    /// their own chains are long.
    fn read_block(&mut self, postdom: &PostDomTree, target: Node, sources: SourceSet) {
        let cfg = self.flow.cfg;
        let mut far: Vec<(u32, Node)> = cfg
            .nodes()
            .filter(|&node| cfg.is_branch(node))
            .filter_map(|node| {
                Some((self.known.length(self.known.terminator(node, sources)?), node))
            })
            .collect();
        far.sort_unstable();
        let mut walk = Walk::new(cfg, postdom);
        let mut controlled_by: Vec<Option<(Node, bool)>> = vec![None; cfg.node_count()];
        let mut is_done = vec![false; cfg.node_count()];
        // Blocks that are executed by some threads only, in order of distance.
        let mut found: std::collections::VecDeque<(u32, Node)> = std::collections::VecDeque::new();
        let mut terminators = far.into_iter().peekable();
        while controlled_by[target.index()].is_none() {
            let by_block = match (terminators.peek(), found.front()) {
                (Some(terminator), Some(block)) => block.0 < terminator.0,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => return,
            };
            let next = if by_block { found.pop_front() } else { terminators.next() };
            let Some((distance, branch)) = next else { return };
            if std::mem::replace(&mut is_done[branch.index()], true) {
                continue;
            }
            walk.edges_of(branch, &mut |block| {
                controlled_by[block.index()] = Some((branch, by_block));
                if cfg.is_branch(block) {
                    found.push_back((distance + 1, block));
                }
            });
        }
        let mut at = target;
        let mut passed = Vec::new();
        while let Some((branch, by_block)) = controlled_by[at.index()] {
            passed.push((at, branch, by_block));
            if !by_block {
                break;
            }
            at = branch;
        }
        let Some(&(_, branch, _)) = passed.last() else { return };
        let Some(entry) = self.known.terminator(branch, sources) else { return };
        let source = lowest(self.entry(entry).sources & sources);
        for (block, branch, by_block) in passed {
            let cause = Cause::Control { branch, by_block };
            self.chain.push(Link { fact: Fact::Block(block), source, cause });
        }
        self.read(Fact::Terminator(branch), entry, sources);
    }
}

fn lowest(sources: SourceSet) -> SourceSet {
    sources.iter().next().unwrap_or_default()
}
