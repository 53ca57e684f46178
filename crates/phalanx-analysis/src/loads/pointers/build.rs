//! How [`PointerFlow`] is made: sets of values and of versions of private memory, then what is done with them.

use phalanx_ir::{
    GlobalName, InstId, Opcode, Value, ValueKind, attributes::AttrKind, constant::ConstKind,
};
use phalanx_target::intrinsics::{Location, lookup};
use rustc_hash::FxHashMap;

use super::{
    Objects, PassedUse, PointerFlow, Root, Sink, concern::matters, entities, has_number,
    has_provenance, is_pointer, made_from, number,
};
use crate::{
    loads::Omitted,
    lower::Code,
    memory::{
        PrivateMemory,
        by_inst::trim,
        private::{Effect, Touch},
        ssa::{EventKind, Version},
        value_type,
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
        names: FxHashMap::default(),
        nodes: Vec::new(),
        edges: Vec::new(),
    };
    build.arguments();
    build.propagate();
    build.sinks();
    trim(&mut build.flow.sets);
    build.flow
}

struct Build<'a> {
    code: Code<'a>,
    private: &'a PrivateMemory,
    omitted: Option<Omitted>,
    flow: PointerFlow,
    names: FxHashMap<GlobalName, usize>,
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

    fn variable(&mut self, name: GlobalName) -> Objects {
        let next = self.flow.roots.len();
        let number = *self.names.entry(name).or_insert(next);
        if number == next {
            self.flow.roots.push(Root::Variable(name));
        }
        Objects::root(number)
    }

    /// What an operand may be based on now.
    fn operand(&mut self, operand: Value) -> Objects {
        let ValueKind::Const(constant) = operand.kind() else {
            return self.flow.of(self.code, operand);
        };
        let numbered = has_number(self.code, constant);
        let start = if numbered { Objects::UNKNOWN } else { Objects::NONE };
        let names = entities(self.code, constant);
        names.into_iter().fold(start, |all, name| all.union(self.variable(name)))
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

    fn propagate(&mut self) {
        let (body, code) = (self.code.body, self.code);
        let private = self.private;
        let phis = private.ssa().phis();
        self.nodes = vec![Objects::NONE; body.id_count() + private.events().len() + phis.len()];
        for &block in code.flow.order() {
            for inst in body.block_insts(block) {
                if is_pointer(code, body.inst(inst).ty) {
                    self.value(inst);
                }
            }
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
    }

    /// What comes into a pointer: edges from what it is made from, and what else it is based on.
    fn value(&mut self, inst: InstId) {
        let (body, code) = (self.code.body, self.code);
        let into = number(inst);
        let mut set = Objects::NONE;
        match made_from(code, inst) {
            Some(operands) => {
                for &operand in operands {
                    set = set.union(self.input(operand, into));
                }
                // A vector of numbers that is cast.
                let is_address = |&operand: &Value| {
                    value_type(code, operand).is_some_and(|ty| is_pointer(code, ty))
                };
                if !operands.iter().all(is_address) {
                    set = set.union(Objects::UNKNOWN);
                }
            }
            None if body.inst(inst).opcode == Opcode::Alloca => set = Objects::SLOT,
            None if body.inst(inst).opcode == Opcode::Load && self.private.is_load(inst) => {
                for touch in self.private.of(inst) {
                    let from = self.version(self.private.reaching(touch));
                    self.edges.extend(from.map(|from| (from as u32, into as u32)));
                }
            }
            None => set = Objects::UNKNOWN,
        }
        self.nodes[into] = self.nodes[into].union(set);
    }

    /// Adds an edge from an instruction; what is not one is based on this.
    fn input(&mut self, operand: Value, into: usize) -> Objects {
        match operand.as_inst() {
            Some(from) => {
                self.edges.push((number(from) as u32, into as u32));
                Objects::NONE
            }
            None => self.operand(operand),
        }
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
                let is_address = value_type(code, value).is_some_and(|ty| is_pointer(code, ty));
                match is_address || value.as_const().is_some() {
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

    /// Pointers in private memory that an instruction reads otherwise than as the pointers that they are.
    fn read_otherwise(&mut self, inst: InstId) {
        if self.omitted == Some(Omitted::Slots) {
            return;
        }
        let private = self.private;
        let touches = private.of(inst);
        let is_copied = touches.iter().any(|touch| touch.effect == Effect::CopyTo);
        let is_pointer = is_pointer(self.code, self.code.body.inst(inst).ty);
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
                    self.flow.sinks.push((inst, objects, Sink::Escape));
                }
            }
        }
    }

    fn sinks(&mut self) {
        let (body, code) = (self.code.body, self.code);
        for &block in code.flow.order() {
            for inst in body.block_insts(block) {
                let data = body.inst(inst);
                let operands = body.operands(inst);
                if matters(code, inst) {
                    self.flow.concerned.insert(inst);
                }
                self.read_otherwise(inst);
                match data.opcode {
                    // A read is nothing that is done, but what is read has to be known.
                    Opcode::Load => {
                        self.operand(operands[0]);
                    }
                    Opcode::ICmp => {}
                    Opcode::Store => {
                        let touches = self.private.of(inst);
                        if !touches.iter().any(|touch| touch.effect == Effect::Store) {
                            self.sink(inst, operands[0], Sink::Escape);
                        }
                        self.sink(inst, operands[1], Sink::Write);
                    }
                    Opcode::AtomicRmw | Opcode::CmpXchg => {
                        self.sink(inst, operands[0], Sink::Write);
                        operands[1..].iter().for_each(|&o| self.sink(inst, o, Sink::Escape));
                    }
                    opcode if opcode.is_call() => self.call(inst),
                    _ => {
                        // Indices of a step are no pointers, and what a step is made of is followed.
                        let followed = match is_pointer(code, data.ty) {
                            true => made_from(code, inst).unwrap_or_default(),
                            false => &[],
                        };
                        for operand in operands.iter().filter(|o| !followed.contains(o)) {
                            self.sink(inst, *operand, Sink::Escape);
                        }
                    }
                }
            }
        }
    }

    /// Notes what is done with an operand, if it is a pointer or made of pointers.
    fn sink(&mut self, inst: InstId, operand: Value, sink: Sink) {
        let objects = match operand.kind() {
            ValueKind::Const(_) | ValueKind::Inst(_) | ValueKind::Arg(_) => self.operand(operand),
            ValueKind::Metadata(_) | ValueKind::Block(_) => return,
        };
        if objects != Objects::NONE {
            self.flow.sinks.push((inst, objects, sink));
        }
    }

    fn text(&self, name: GlobalName) -> Option<&[u8]> {
        name.symbol().map(|symbol| self.code.context.bytes(symbol))
    }

    /// What an intrinsic does with an argument; none if it is no intrinsic.
    fn intrinsic(&self, name: GlobalName, position: usize) -> Option<PassedUse> {
        let text = self.text(name)?;
        let info = lookup(std::str::from_utf8(text).ok()?)?.info;
        let is = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| text.starts_with(prefix));
        let writes = PassedUse { writes: true, escapes: false };
        Some(match (info.memory.reads, info.memory.writes) {
            _ if is(&[b"llvm.memcpy.", b"llvm.memmove.", b"llvm.memset."]) => match position {
                0 => writes,
                _ => PassedUse::default(),
            },
            _ if is(&[b"llvm.lifetime.", b"llvm.prefetch."]) => PassedUse::default(),
            _ if is(&[b"llvm.masked.store", b"llvm.masked.scatter"]) => match position {
                1 => writes,
                _ => PassedUse::UNKNOWN,
            },
            // What only reads what it is given gives that.
            (true, false) if info.memory.location == Location::Argument => PassedUse::default(),
            _ if !info.has_result && !info.memory.writes_memory() => PassedUse::default(),
            _ => PassedUse::UNKNOWN,
        })
    }

    fn call(&mut self, call: InstId) {
        let Code { context, body, .. } = self.code;
        let info = body.call_info(call);
        let callee = body.const_callee(call).map(|callee| &context.const_data(callee).kind);
        let name = match callee {
            Some(&ConstKind::Global(name)) => Some(name),
            _ => None,
        };
        let nobody = GlobalName::Numbered(u32::MAX);
        for (position, &argument) in body.call_args(call).iter().enumerate() {
            let attributes = context.param_attrs(info.attributes, position);
            if attributes.has(AttrKind::ByVal) {
                continue;
            }
            let reads = attributes.has(AttrKind::ReadOnly) || attributes.has(AttrKind::ReadNone);
            let is_kept = attributes.captures().is_none_or(|captures| {
                has_provenance(captures.other) || has_provenance(captures.ret)
            });
            if reads && !is_kept {
                continue;
            }
            let anything = [Sink::Write, Sink::Escape];
            let passed =
                [Sink::Passed(name.unwrap_or(nobody), info.function_type, position as u32)];
            let sinks = match (name, name.and_then(|name| self.intrinsic(name, position))) {
                (None, _) => &anything[..],
                (_, Some(PassedUse { writes: false, escapes: false })) => &[],
                (_, Some(PassedUse { escapes: false, .. })) => &anything[..1],
                (_, Some(_)) => &anything[..],
                (Some(_), None) => &passed[..],
            };
            sinks.iter().for_each(|&sink| self.sink(call, argument, sink));
        }
        // What is said of a pointer does nothing with it.
        if name.is_some_and(|name| self.text(name).is_some_and(|text| text == b"llvm.assume")) {
            return;
        }
        for (_, operands) in body.bundles(call) {
            operands.iter().for_each(|&operand| {
                self.sink(call, operand, Sink::Escape);
                self.sink(call, operand, Sink::Write);
            });
        }
        if name.is_none() {
            self.sink(call, body.callee(call), Sink::Escape);
        }
    }
}
