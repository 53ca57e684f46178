//! Builds [`PointerFlow`]: the sets of values and of versions of private memory, then what is done
//! with them.

use std::sync::Arc;

use phalanx_fixpoint::{Bits, Fixpoint, Limits, Ranks};
use phalanx_graph::BitSet;
use phalanx_ir::{InstId, Opcode, Value, flow::node_of};
use rustc_hash::FxHashMap;

use super::doers::{Doers, Done, merged};
use super::done::{mentions, sinks_of};
use super::flow::{End, Made, Objects, PointerFlow, Root, Roots, Sink, matters};
use super::nodes::Input;
use super::sets::{SetRules, Sets, Users, held_at, is_there};
use super::update::Tables;
use crate::{
    code::Code,
    loads::Omitted,
    memory::{
        PrivateMemory,
        origins::{is_pointer, number},
        pages::Pages,
        private::{Effect, readers::ReaderNode},
    },
};

/// The flow of a function and, if `is_kept`, the tables that it is repaired from.
pub(super) fn flow(
    code: Code<'_>,
    private: &PrivateMemory,
    omitted: Option<Omitted>,
    is_kept: bool,
) -> (PointerFlow, Option<Tables>) {
    let is_listed = listed(code);
    let insts = mattering(code, &is_listed);
    let mut build = Build { code, private, flow: PointerFlow::default() };
    build.roots(&insts);
    let pointers: Vec<InstId> =
        insts.iter().copied().filter(|&inst| is_pointer(code, code.body.inst(inst).ty)).collect();
    build.ends(&pointers);
    let sets = build.propagate(&pointers, &is_listed);
    let doers = build.sinks(&insts, &sets, omitted, is_kept);
    let tables = doers.map(|doers| Tables::new(private, is_listed, sets, doers));
    (build.flow, tables)
}

/// The set of blocks that are listed.
pub(super) fn listed(code: Code<'_>) -> BitSet {
    let mut is_listed = BitSet::new(code.flow.id_count());
    for &block in code.flow.order() {
        is_listed.insert(node_of(block).index());
    }
    is_listed
}

/// The instructions of listed blocks that concern pointers, by number.
fn mattering(code: Code<'_>, is_listed: &BitSet) -> Vec<InstId> {
    let body = code.body;
    let is_there = |inst: &InstId| is_there(code, is_listed, *inst);
    body.all_ids().filter(|inst| is_there(inst) && matters(code, *inst)).collect()
}

struct Build<'a> {
    code: Code<'a>,
    private: &'a PrivateMemory,
    flow: PointerFlow,
}

impl Build<'_> {
    fn roots(&mut self, insts: &[InstId]) {
        let mut roots = Roots::default();
        for (position, &ty) in self.code.header.params.iter().enumerate() {
            let set = match is_pointer(self.code, ty) {
                true => {
                    roots.all.push(Root::Argument(position as u32));
                    Objects::root(roots.all.len() - 1)
                }
                false => Objects::NONE,
            };
            roots.arguments.push(set);
        }
        for &inst in insts {
            for name in mentions(self.code, inst) {
                let next = roots.all.len();
                if *roots.variables.entry(name).or_insert(next) == next {
                    roots.all.push(Root::Variable(name));
                    roots.mentioned.push(inst);
                }
            }
        }
        self.flow.roots = Arc::new(roots);
    }

    /// Finds where chains of steps end.
    fn ends(&mut self, pointers: &[InstId]) {
        let (code, count) = (self.code, self.code.body.id_count());
        let is_load = |inst: &&InstId| code.body.inst(**inst).opcode == Opcode::Load;
        for &load in pointers.iter().filter(is_load).filter(|&&load| self.private.is_load(load)) {
            self.flow.held.insert(load);
        }
        let mut ends = vec![End::Unstated; count];
        let mut is_done = BitSet::new(count);
        let mut chain: Vec<InstId> = Vec::new();
        for &inst in pointers {
            let mut at = Value::inst(inst);
            let end = loop {
                let Some(step) = at.as_inst() else { break Some(at) };
                if !is_done.insert(number(step)) {
                    break match ends[number(step)] {
                        // The step is in the chain itself.
                        End::Unstated if chain.contains(&step) => None,
                        End::Unstated => Some(at),
                        End::At(end) => Some(end),
                        End::Nowhere => None,
                    };
                }
                match self.flow.made(code, step) {
                    Some(Made::Step(from)) => {
                        chain.push(step);
                        at = from;
                    }
                    _ => break Some(at),
                }
            };
            for step in chain.drain(..) {
                ends[number(step)] = end.map_or(End::Nowhere, End::At);
            }
        }
        self.flow.ends = Pages::new(&ends);
    }

    /// Finds the sets of pointers that are made from several, and of versions of private memory.
    fn propagate(&mut self, pointers: &[InstId], is_listed: &BitSet) -> Sets {
        let (code, private) = (self.code, self.private);
        let values = pointers.iter().map(|&inst| ReaderNode::Value(inst));
        let versions = (0..private.version_count() as u32).map(ReaderNode::Content);
        let mut rules = SetRules {
            code,
            private,
            flow: &self.flow,
            is_listed,
            users: Users::Listed(Vec::new()),
            looked_at: 0,
        };
        let mut edges: Vec<(ReaderNode, ReaderNode)> = Vec::new();
        for place in values.clone().chain(versions.clone()) {
            rules.inputs(place, &mut |input| match input {
                Input::Objects(_) => {}
                Input::Node(from) => edges.push((from, place)),
            });
        }
        edges.sort_unstable();
        edges.dedup();
        rules.users = Users::Listed(edges);
        let mut sets = Fixpoint::new(Ranks::None);
        sets.grow(ReaderNode::VALUES, code.body.id_count());
        let _ = sets.solve(&mut rules, values.chain(versions), Limits::NONE);
        self.flow.sets = Pages::new(&sets.all(ReaderNode::VALUES).collect::<Vec<_>>());
        sets
    }

    /// Finds the first instruction with each use of each object and, if wanted, all instructions
    /// with each use.
    fn sinks(
        &mut self,
        insts: &[InstId],
        sets: &Sets,
        omitted: Option<Omitted>,
        is_kept: bool,
    ) -> Option<Doers> {
        let mut doers = is_kept.then(Doers::default);
        let mut seen: FxHashMap<Sink, Objects> = FxHashMap::default();
        let mut firsts = Vec::new();
        for &inst in insts {
            let done = done_by(self.code, self.private, (&self.flow, sets), inst, omitted);
            for &(objects, sink) in &done {
                let known = seen.entry(sink).or_default();
                let first = objects.minus(*known);
                *known = known.union(objects);
                if first != Objects::NONE {
                    firsts.push((inst, first, sink));
                }
            }
            if let Some(doers) = &mut doers {
                doers.note(inst, &done);
            }
        }
        self.flow.firsts = firsts;
        doers
    }
}

/// The uses that an instruction makes of pointers: of its operands, and of pointers in private
/// memory that it reads.
pub(super) fn done_by(
    code: Code<'_>,
    private: &PrivateMemory,
    (flow, sets): (&PointerFlow, &Sets),
    inst: InstId,
    omitted: Option<Omitted>,
) -> Done {
    let read = match omitted {
        Some(Omitted::Slots) => None,
        _ => read_otherwise(code, private, (flow, sets), inst),
    };
    let read = read.map(|objects| (objects, Sink::Escape));
    merged(read.into_iter().chain(sinks_of(code, flow, private, inst)))
}

/// Pointers in private memory that an instruction reads other than as the pointers that they are.
fn read_otherwise(
    code: Code<'_>,
    private: &PrivateMemory,
    (flow, sets): (&PointerFlow, &Sets),
    inst: InstId,
) -> Option<Objects> {
    let touches = private.of(inst);
    let is_copied = touches.iter().any(|touch| touch.effect == Effect::CopyTo);
    let is_pointer = is_pointer(code, code.body.inst(inst).ty);
    let mut read = Objects::NONE;
    for touch in touches {
        let is_followed = match touch.effect {
            Effect::Load => is_pointer,
            Effect::CopyFrom => is_copied,
            Effect::Store
            | Effect::Fill
            | Effect::CopyTo
            | Effect::Clobber
            | Effect::WriteByCall => true,
            Effect::Read | Effect::ReadByCall | Effect::Return => false,
        };
        if !is_followed {
            let objects = held_at(sets, private, private.reaching(touch));
            let has_others = flow.all_roots().len() > Objects::ROOTS;
            if objects.has_roots() || has_others && objects.has_unknown() {
                read = read.union(objects);
            }
        }
    }
    (read != Objects::NONE).then_some(read)
}

impl PointerFlow {
    /// The flow of a function; `private` is the memory that only the function reaches.
    #[must_use]
    pub fn new(code: Code<'_>, private: &PrivateMemory) -> Self {
        flow(code, private, None, false).0
    }

    /// The same without a rule. Tests use it to see that they find the error.
    #[must_use]
    pub fn new_without(code: Code<'_>, private: &PrivateMemory, omitted: Option<Omitted>) -> Self {
        flow(code, private, omitted, false).0
    }
}
