//! How [`PointerFlow`] is made: sets of values and of versions of private memory, then what is done with them.

use phalanx_graph::BitSet;
use phalanx_ir::{InstId, Opcode, Value, flow::node_of};
use rustc_hash::FxHashMap;

use super::done::{mentions, sinks_of};
use super::{
    End, Made, Objects, PointerFlow, Root, STEPS, Sink, concern::matters, is_address, is_pointer,
    number,
};
use crate::{
    loads::Omitted,
    lower::Code,
    memory::{
        PrivateMemory,
        by_inst::trim,
        private::{Effect, Touch},
        ssa::{EventKind, Version},
    },
};

pub(super) fn flow(
    code: Code<'_>,
    private: &PrivateMemory,
    omitted: Option<Omitted>,
) -> PointerFlow {
    let mut build = Build {
        code,
        private,
        omitted,
        flow: PointerFlow::default(),
        nodes: Vec::new(),
        edges: Vec::new(),
    };
    let insts = mattering(code);
    build.arguments();
    build.variables(&insts);
    let pointers: Vec<InstId> =
        insts.iter().copied().filter(|&inst| is_pointer(code, code.body.inst(inst).ty)).collect();
    build.ends(&pointers);
    build.propagate(&pointers);
    build.sinks(&insts);
    build.flow
}

/// The instructions of blocks that are listed and that have to do with pointers, by number.
fn mattering(code: Code<'_>) -> Vec<InstId> {
    let mut is_listed = BitSet::new(code.flow.id_count());
    for &block in code.flow.order() {
        is_listed.insert(node_of(block).index());
    }
    let body = code.body;
    let of_listed = |inst: &InstId| {
        body.block_of(*inst).is_some_and(|block| is_listed.contains(node_of(block).index()))
    };
    body.all_ids().filter(|inst| of_listed(inst) && matters(code, *inst)).collect()
}

struct Build<'a> {
    code: Code<'a>,
    private: &'a PrivateMemory,
    omitted: Option<Omitted>,
    flow: PointerFlow,
    /// What instructions, definitions of private memory and its phis may be based on.
    nodes: Vec<Objects>,
    /// From node to node.
    edges: Vec<(u32, u32)>,
}

impl Build<'_> {
    fn arguments(&mut self) {
        for (position, &ty) in self.code.header.params.iter().enumerate() {
            let set = match is_pointer(self.code, ty) {
                true => {
                    self.flow.roots.push(Root::Argument(position as u32));
                    Objects::root(self.flow.roots.len() - 1)
                }
                false => Objects::NONE,
            };
            self.flow.arguments.push(set);
        }
    }

    fn variables(&mut self, insts: &[InstId]) {
        for &inst in insts {
            for name in mentions(self.code, inst) {
                let next = self.flow.roots.len();
                if *self.flow.variables.entry(name).or_insert(next) == next {
                    self.flow.roots.push(Root::Variable(name));
                    self.flow.mentioned.push(inst);
                }
            }
        }
    }

    /// The node of a version, unless it is what memory holds at the entry: nothing that is defined.
    fn version(&self, version: Version) -> Option<usize> {
        let insts = self.code.body.id_count();
        match version {
            Version::Entry => None,
            Version::Def(event) => Some(insts + event as usize),
            Version::Phi(phi) => Some(insts + self.private.events().len() + phi as usize),
        }
    }

    /// What a version may be based on.
    fn held(&self, version: Version) -> Objects {
        self.version(version).map_or(Objects::NONE, |node| self.nodes[node])
    }

    /// Finds the sets of what is made from several, and of what private memory holds.
    fn propagate(&mut self, pointers: &[InstId]) {
        let (body, private) = (self.code.body, self.private);
        let phis = private.ssa().phis();
        self.nodes = vec![Objects::NONE; body.id_count() + private.events().len() + phis.len()];
        for &inst in pointers {
            self.value(inst);
        }
        for touch in private.touches() {
            self.definition(touch);
        }
        for (number, phi) in phis.iter().enumerate() {
            let into = body.id_count() + private.events().len() + number;
            for &(_, version) in private.ssa().incoming(phi) {
                let from = self.version(version);
                self.edges.extend(from.map(|from| (from as u32, into as u32)));
            }
        }
        self.edges.sort_unstable();
        let is_set = |node: &u32| self.nodes[*node as usize] != Objects::NONE;
        let mut work: Vec<u32> = (0..self.nodes.len() as u32).filter(is_set).collect();
        while let Some(node) = work.pop() {
            let set = self.nodes[node as usize];
            let first = self.edges.partition_point(|(from, _)| *from < node);
            for &(_, to) in self.edges[first..].iter().take_while(|(from, _)| *from == node) {
                let grown = self.nodes[to as usize].union(set);
                if std::mem::replace(&mut self.nodes[to as usize], grown) != grown {
                    work.push(to);
                }
            }
        }
        self.flow.sets = self.nodes[..body.id_count()].to_vec();
        trim(&mut self.flow.sets);
    }

    /// Where chains of steps end.
    fn ends(&mut self, pointers: &[InstId]) {
        let (code, count) = (self.code, self.code.body.id_count());
        let is_load = |inst: &&InstId| code.body.inst(**inst).opcode == Opcode::Load;
        for &load in pointers.iter().filter(is_load).filter(|&&load| self.private.is_load(load)) {
            self.flow.held.insert(load);
        }
        self.flow.ends = vec![End::Itself; count];
        let mut is_done = BitSet::new(count);
        let mut chain: Vec<InstId> = Vec::new();
        for &inst in pointers {
            let mut at = Value::inst(inst);
            let end = loop {
                let Some(step) = at.as_inst() else { break Some(at) };
                if !is_done.insert(number(step)) {
                    break match self.flow.ends[number(step)] {
                        // It is in the chain itself.
                        End::Itself if chain.contains(&step) => None,
                        End::Itself => Some(at),
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
                self.flow.ends[number(step)] = end.map_or(End::Nowhere, End::At);
            }
        }
    }

    /// What comes into a pointer that is made from several others, or held: edges from what it is made from, and what else it is based on.
    fn value(&mut self, inst: InstId) {
        let (code, private) = (self.code, self.private);
        let into = number(inst);
        let mut set = Objects::NONE;
        match self.flow.made(code, inst) {
            Some(Made::Join(operands)) => {
                for &operand in operands {
                    set = set.union(self.input(operand, into));
                }
                // A vector of numbers that is cast.
                if !operands.iter().all(|&operand| is_address(code, operand)) {
                    set = set.union(Objects::UNKNOWN);
                }
            }
            Some(Made::Held) => {
                for touch in private.of(inst) {
                    let from = self.version(private.reaching(touch));
                    self.edges.extend(from.map(|from| (from as u32, into as u32)));
                }
            }
            _ => return,
        }
        self.nodes[into] = set;
    }

    /// Adds an edge from where a chain of steps ends, if a set is found for that; all else is based on this.
    fn input(&mut self, operand: Value, into: usize) -> Objects {
        let Some(end) = self.flow.end(self.code, operand, STEPS) else { return Objects::NONE };
        if let Some(inst) = end.as_inst()
            && let Some(Made::Join(_) | Made::Held) = self.flow.made(self.code, inst)
        {
            self.edges.push((number(inst) as u32, into as u32));
            return Objects::NONE;
        }
        self.flow.of(self.code, end)
    }

    /// What a definition of private memory leaves there.
    fn definition(&mut self, touch: &Touch) {
        let (body, code, private) = (self.code.body, self.code, self.private);
        let kind = private.events().event(touch.event).kind;
        let Some(into) = self.version(Version::Def(touch.event)).filter(|_| kind != EventKind::Use)
        else {
            return;
        };
        let operands = body.operands(touch.inst);
        let written = match touch.effect {
            Effect::Store => operands.first(),
            Effect::Fill => operands.get(1),
            _ => None,
        };
        let set = match (touch.effect, written) {
            (_, Some(&value)) => {
                match is_address(code, value) || value.as_const().is_some() {
                    true => self.input(value, into),
                    // A number, or several things at once: what these are made from is not followed.
                    false => Objects::UNKNOWN,
                }
            }
            (Effect::CopyTo, _) => {
                let sources = private.of(touch.inst).iter();
                let mut is_known = false;
                for from in sources.filter(|touch| touch.effect == Effect::CopyFrom) {
                    is_known = true;
                    let from = self.version(private.reaching(from));
                    self.edges.extend(from.map(|from| (from as u32, into as u32)));
                }
                if is_known { Objects::NONE } else { Objects::UNKNOWN }
            }
            _ => Objects::UNKNOWN,
        };
        self.nodes[into] = self.nodes[into].union(set);
        if kind != EventKind::MustDef {
            let from = self.version(private.reaching(touch));
            self.edges.extend(from.map(|from| (from as u32, into as u32)));
        }
    }

    /// What is done first with which objects.
    fn sinks(&mut self, insts: &[InstId]) {
        let mut seen: FxHashMap<Sink, Objects> = FxHashMap::default();
        for &inst in insts {
            let read = self.read_otherwise(inst).map(|objects| (objects, Sink::Escape));
            let done = sinks_of(self.code, &self.flow, self.private, inst);
            for (objects, sink) in read.into_iter().chain(done) {
                let known = seen.entry(sink).or_default();
                let first = objects.minus(*known);
                *known = known.union(objects);
                if first != Objects::NONE {
                    self.flow.sinks.push((inst, first, sink));
                }
            }
        }
    }

    /// Pointers in private memory that an instruction reads otherwise than as the pointers that they are.
    fn read_otherwise(&self, inst: InstId) -> Option<Objects> {
        if self.omitted == Some(Omitted::Slots) {
            return None;
        }
        let private = self.private;
        let touches = private.of(inst);
        let is_copied = touches.iter().any(|touch| touch.effect == Effect::CopyTo);
        let is_pointer = is_pointer(self.code, self.code.body.inst(inst).ty);
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
                let objects = self.held(private.reaching(touch));
                let has_others = self.flow.roots.len() > Objects::ROOTS;
                if objects.has_roots() || has_others && objects.has_unknown() {
                    read = read.union(objects);
                }
            }
        }
        (read != Objects::NONE).then_some(read)
    }
}
