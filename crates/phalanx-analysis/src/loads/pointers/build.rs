//! How [`PointerFlow`] is made: sets of values and of versions of private memory, then what is done with them.

use std::sync::Arc;

use phalanx_graph::BitSet;
use phalanx_ir::{InstId, Opcode, Value, flow::node_of};
use rustc_hash::FxHashMap;

use super::doers::{Doers, Done, merged};
use super::done::{mentions, sinks_of};
use super::follow::Tables;
use super::nodes::{Held, Input, Nodes};
use super::{End, Made, Objects, PointerFlow, Root, Roots, Sink, is_pointer, matters, number};
use crate::{
    loads::Omitted,
    lower::Code,
    memory::{
        PrivateMemory,
        pages::Pages,
        private::{Effect, readers::Place},
    },
};

/// That of a function, and what it is repaired from if that is wanted.
pub(super) fn flow(
    code: Code<'_>,
    private: &PrivateMemory,
    omitted: Option<Omitted>,
    is_kept: bool,
) -> (PointerFlow, Option<Tables>) {
    let is_listed = listed(code);
    let insts = mattering(code, &is_listed);
    let mut build = Build { code, private, flow: PointerFlow::default(), edges: Vec::new() };
    build.roots(&insts);
    let pointers: Vec<InstId> =
        insts.iter().copied().filter(|&inst| is_pointer(code, code.body.inst(inst).ty)).collect();
    build.ends(&pointers);
    let held = build.propagate(&pointers);
    let doers = build.sinks(&insts, &held, omitted, is_kept);
    let tables = doers.map(|doers| Tables::new(private, is_listed, held, doers));
    (build.flow, tables)
}

/// The blocks that are listed.
pub(super) fn listed(code: Code<'_>) -> BitSet {
    let mut is_listed = BitSet::new(code.flow.id_count());
    for &block in code.flow.order() {
        is_listed.insert(node_of(block).index());
    }
    is_listed
}

/// The instructions of blocks that are listed and that have to do with pointers, by number.
fn mattering(code: Code<'_>, is_listed: &BitSet) -> Vec<InstId> {
    let body = code.body;
    let of_listed = |inst: &InstId| {
        body.block_of(*inst).is_some_and(|block| is_listed.contains(node_of(block).index()))
    };
    body.all_ids().filter(|inst| of_listed(inst) && matters(code, *inst)).collect()
}

struct Build<'a> {
    code: Code<'a>,
    private: &'a PrivateMemory,
    flow: PointerFlow,
    /// From node to node, by number: instructions, then versions of private memory.
    edges: Vec<(u32, u32)>,
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

    /// Where chains of steps end.
    fn ends(&mut self, pointers: &[InstId]) {
        let (code, count) = (self.code, self.code.body.id_count());
        let is_load = |inst: &&InstId| code.body.inst(**inst).opcode == Opcode::Load;
        for &load in pointers.iter().filter(is_load).filter(|&&load| self.private.is_load(load)) {
            self.flow.held.insert(load);
        }
        let mut ends = vec![End::NotTold; count];
        let mut is_done = BitSet::new(count);
        let mut chain: Vec<InstId> = Vec::new();
        for &inst in pointers {
            let mut at = Value::inst(inst);
            let end = loop {
                let Some(step) = at.as_inst() else { break Some(at) };
                if !is_done.insert(number(step)) {
                    break match ends[number(step)] {
                        // It is in the chain itself.
                        End::NotTold if chain.contains(&step) => None,
                        End::NotTold => Some(at),
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

    /// Finds the sets of what is made from several, and of what private memory holds.
    fn propagate(&mut self, pointers: &[InstId]) -> Held {
        let (count, private) = (self.code.body.id_count(), self.private);
        let mut sets = vec![Objects::NONE; count + private.version_count()];
        for &inst in pointers {
            self.node(Place::Value(inst), number(inst), &mut sets);
        }
        for at in 0..private.version_count() {
            self.node(Place::Content(at as u32), count + at, &mut sets);
        }
        self.edges.sort_unstable();
        let is_set = |node: &u32| sets[*node as usize] != Objects::NONE;
        let mut work: Vec<u32> = (0..sets.len() as u32).filter(is_set).collect();
        while let Some(node) = work.pop() {
            let set = sets[node as usize];
            let first = self.edges.partition_point(|(from, _)| *from < node);
            for &(_, to) in self.edges[first..].iter().take_while(|(from, _)| *from == node) {
                let grown = sets[to as usize].union(set);
                if std::mem::replace(&mut sets[to as usize], grown) != grown {
                    work.push(to);
                }
            }
        }
        let content = sets.split_off(count);
        self.flow.sets = Pages::new(&sets);
        Held { content }
    }

    /// Notes what comes into a node: edges, and what it is based on besides.
    fn node(&mut self, place: Place, into: usize, sets: &mut [Objects]) {
        let nodes = Nodes { code: self.code, private: self.private, flow: &self.flow };
        let (count, edges) = (self.code.body.id_count(), &mut self.edges);
        nodes.inputs(place, &mut |input| match input {
            Input::Objects(objects) => sets[into] = sets[into].union(objects),
            Input::Node(Place::Value(inst)) => edges.push((number(inst) as u32, into as u32)),
            Input::Node(Place::Content(at)) => edges.push((count as u32 + at, into as u32)),
        });
    }

    /// What is done first with which objects, and who does what if that is to be kept.
    fn sinks(
        &mut self,
        insts: &[InstId],
        held: &Held,
        omitted: Option<Omitted>,
        is_kept: bool,
    ) -> Option<Doers> {
        let mut doers = is_kept.then(Doers::default);
        let mut seen: FxHashMap<Sink, Objects> = FxHashMap::default();
        let mut firsts = Vec::new();
        for &inst in insts {
            let done = done_by(self.code, self.private, (&self.flow, held), inst, omitted);
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

/// What an instruction does with pointers, its own operands and what it reads of private memory.
pub(super) fn done_by(
    code: Code<'_>,
    private: &PrivateMemory,
    (flow, held): (&PointerFlow, &Held),
    inst: InstId,
    omitted: Option<Omitted>,
) -> Done {
    let read = match omitted {
        Some(Omitted::Slots) => None,
        _ => read_otherwise(code, private, (flow, held), inst),
    };
    let read = read.map(|objects| (objects, Sink::Escape));
    merged(read.into_iter().chain(sinks_of(code, flow, private, inst)))
}

/// Pointers in private memory that an instruction reads otherwise than as the pointers that they are.
fn read_otherwise(
    code: Code<'_>,
    private: &PrivateMemory,
    (flow, held): (&PointerFlow, &Held),
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
            let objects = held.at(private, private.reaching(touch));
            let has_others = flow.all_roots().len() > Objects::ROOTS;
            if objects.has_roots() || has_others && objects.has_unknown() {
                read = read.union(objects);
            }
        }
    }
    (read != Objects::NONE).then_some(read)
}
