//! Which objects pointers are made from, and what is done through them.
//!
//! # What
//!
//! A *root* is an argument that is a pointer, or a variable of the module. A value is *based on* a root when it is made from its address by
//! steps, casts, phis and selections (LLVM Language Reference, *Pointer Aliasing Rules*). For each value that is a pointer
//! [`PointerFlow::of`] is the set of all that it may be based on: roots, stack slots, and anything else (loaded from memory, an
//! integer, the result of a call). For each root it is known where memory is written through what is based on it, and where such a
//! pointer leaves what can be followed: it *escapes* when it is stored, returned, made an integer, or
//! passed to code that may keep it.
//!
//! # How
//!
//! Sets of at most 64 members, propagated forward along the edges of pointers until nothing changes. A function with more roots
//! has a last member for all further ones, which counts as unknown. Each set grows at most 64 times, by a few steps as a rule:
//! O(instructions + operands) in practice.
//!
//! **Invariant.** Whatever is done with a pointer and is neither followed nor a read is an escape.

use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Type, TypeKind, Value, ValueKind,
    attributes::{AttrKind, CaptureComponents},
    constant::ConstKind,
};
use phalanx_target::intrinsics::{Location, lookup};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::lower::Code;
use crate::memory::value_type;

/// What pointers are made from, as far as a function can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// An argument, by position.
    Argument(u32),
    /// A variable of the module, or another entity that has an address.
    Variable(GlobalName),
}

/// A set of what a pointer may be based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Objects(u64);

impl Objects {
    /// Nothing: null, poison, what is never computed.
    pub const NONE: Objects = Objects(0);
    const UNKNOWN: Objects = Objects(1);
    const SLOT: Objects = Objects(2);
    /// The first bit that is a root's.
    const FIRST: u32 = 2;
    /// How many roots are told apart.
    const ROOTS: usize = 62;

    const fn root(number: usize) -> Objects {
        if number < Self::ROOTS {
            Objects(1 << (Self::FIRST + number as u32))
        } else {
            Self::UNKNOWN
        }
    }

    /// Whether it may be based on something else than roots and stack slots.
    #[must_use]
    pub const fn has_unknown(self) -> bool {
        self.0 & Self::UNKNOWN.0 != 0
    }

    /// Whether it may be based on a stack slot.
    #[must_use]
    pub const fn has_slot(self) -> bool {
        self.0 & Self::SLOT.0 != 0
    }

    /// Whether there is nothing that is in both.
    #[must_use]
    pub const fn is_disjoint(self, other: Objects) -> bool {
        self.0 & other.0 == 0
    }

    const fn union(self, other: Objects) -> Objects {
        Objects(self.0 | other.0)
    }

    fn numbers(self) -> impl Iterator<Item = usize> {
        let bits = self.0 >> Self::FIRST;
        (0..Self::ROOTS).filter(move |number| bits >> number & 1 != 0)
    }
}

/// What is done with a pointer that is not followed further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    Write,
    Escape,
    /// Passed to a function of the module that is called with this type, as this argument.
    Passed(GlobalName, Type, u32),
}

/// What is done with an argument by those that it is passed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PassedUse {
    /// Memory may be written through it.
    pub writes: bool,
    /// It may be kept.
    pub escapes: bool,
}

impl PassedUse {
    /// Anything.
    pub const UNKNOWN: PassedUse = PassedUse { writes: true, escapes: true };
}

/// What a function of the module does with an argument; the type is that with which it is called.
pub type Passed<'a> = &'a dyn Fn(GlobalName, Type, u32) -> PassedUse;

/// Where memory is written through a root, and where it gets lost. The first place of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RootUse {
    /// Something writes.
    pub written: Option<InstId>,
    /// A pointer goes where it is not followed.
    pub escapes: Option<InstId>,
}

/// See the [module documentation](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointerFlow {
    roots: Vec<Root>,
    /// By instruction.
    sets: Vec<Objects>,
    /// By argument.
    arguments: Vec<Objects>,
    sinks: Vec<(InstId, Objects, Sink)>,
}

fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

/// Whether values of a type are pointers or vectors of them.
fn is_pointer(code: Code<'_>, ty: Type) -> bool {
    match code.context.type_kind(ty) {
        TypeKind::Ptr(_) => true,
        TypeKind::Vector { elem, .. } => matches!(code.context.type_kind(*elem), TypeKind::Ptr(_)),
        _ => false,
    }
}

/// The operands that a pointer is made from; none when it is made from something else.
fn made_from<'a>(code: Code<'a>, inst: InstId) -> Option<&'a [Value]> {
    let body = code.body;
    let operands = body.operands(inst);
    match body.inst(inst).opcode {
        Opcode::GetElementPtr
        | Opcode::AddrSpaceCast
        | Opcode::BitCast
        | Opcode::Freeze
        | Opcode::ExtractElement => operands.get(..1),
        Opcode::Select => operands.get(1..),
        Opcode::InsertElement | Opcode::ShuffleVector => operands.get(..2),
        Opcode::Phi => Some(body.phi_values(inst)),
        _ => None,
    }
}

impl PointerFlow {
    /// That of a function.
    #[must_use]
    pub fn new(code: Code<'_>) -> Self {
        let mut build = Build { code, flow: PointerFlow::default(), names: FxHashMap::default() };
        build.arguments();
        build.propagate();
        build.sinks();
        build.flow
    }

    /// What a value may be based on.
    #[must_use]
    pub fn of(&self, code: Code<'_>, value: Value) -> Objects {
        match value.kind() {
            ValueKind::Inst(inst) => self.sets.get(number(inst)).copied().unwrap_or_default(),
            ValueKind::Arg(position) => {
                self.arguments.get(position as usize).copied().unwrap_or(Objects::UNKNOWN)
            }
            ValueKind::Const(constant) => entities(code, constant).iter().fold(
                match has_number(code, constant) {
                    true => Objects::UNKNOWN,
                    false => Objects::NONE,
                },
                |all, name| all.union(self.find(Root::Variable(*name))),
            ),
            _ => Objects::UNKNOWN,
        }
    }

    fn find(&self, root: Root) -> Objects {
        let number = self.roots.iter().position(|&other| other == root);
        number.map_or(Objects::UNKNOWN, Objects::root)
    }

    /// The roots of a set.
    pub fn roots(&self, set: Objects) -> impl Iterator<Item = Root> + '_ {
        set.numbers().filter_map(|number| self.roots.get(number).copied())
    }

    /// All roots.
    #[must_use]
    pub fn all_roots(&self) -> &[Root] {
        &self.roots
    }

    /// What is done through a root. `passed` says what a function does with an argument.
    pub fn uses(&self, root: Root, passed: Passed<'_>) -> RootUse {
        let set = self.find(root);
        let mut found = RootUse::default();
        for &(inst, objects, sink) in &self.sinks {
            if objects.is_disjoint(set) {
                continue;
            }
            let done = match sink {
                Sink::Write => PassedUse { writes: true, escapes: false },
                Sink::Escape => PassedUse { writes: false, escapes: true },
                Sink::Passed(callee, ty, position) => passed(callee, ty, position),
            };
            if done.writes {
                found.written = found.written.or(Some(inst));
            }
            if done.escapes {
                found.escapes = found.escapes.or(Some(inst));
            }
        }
        // A root without a bit of its own may be used anywhere.
        if set.has_unknown() {
            let anywhere = self.sinks.first().map(|sink| sink.0);
            found.written = found.written.or(anywhere);
            found.escapes = found.escapes.or(anywhere);
        }
        found
    }
}

/// Entities that a constant is made of.
pub(crate) fn entities(code: Code<'_>, constant: Const) -> Vec<GlobalName> {
    let mut names = Vec::new();
    visit(code, constant, |kind| names.extend(kind.entity()));
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether an address may be made from a number, or of code.
fn has_number(code: Code<'_>, constant: Const) -> bool {
    let mut is_plain = true;
    visit(code, constant, |kind| {
        is_plain &= match kind {
            ConstKind::Expr(expr) => matches!(
                expr.opcode,
                Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::BitCast
            ),
            ConstKind::BlockAddress { .. } | ConstKind::PtrAuth(_) => false,
            _ => true,
        };
    });
    !is_plain
}

fn visit(code: Code<'_>, constant: Const, mut see: impl FnMut(&ConstKind)) {
    let mut seen: FxHashSet<Const> = FxHashSet::default();
    let mut work = vec![constant];
    while let Some(constant) = work.pop() {
        if seen.insert(constant) {
            let kind = &code.context.const_data(constant).kind;
            see(kind);
            work.extend_from_slice(kind.parts());
        }
    }
}

struct Build<'a> {
    code: Code<'a>,
    flow: PointerFlow,
    names: FxHashMap<GlobalName, usize>,
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

    fn propagate(&mut self) {
        let (body, code) = (self.code.body, self.code);
        self.flow.sets = vec![Objects::NONE; body.id_count()];
        let mut edges: Vec<(InstId, InstId)> = Vec::new();
        let mut work: Vec<InstId> = Vec::new();
        for &block in code.flow.order() {
            for inst in body.block_insts(block) {
                let data = body.inst(inst);
                if !is_pointer(code, data.ty) {
                    continue;
                }
                let mut set = Objects::NONE;
                match made_from(code, inst) {
                    Some(operands) => {
                        for &operand in operands {
                            match operand.as_inst() {
                                Some(from) => edges.push((from, inst)),
                                None => set = set.union(self.operand(operand)),
                            }
                        }
                        // A vector of numbers that is cast.
                        let is_address = |&operand: &Value| {
                            value_type(code, operand).is_some_and(|ty| is_pointer(code, ty))
                        };
                        if !operands.iter().all(is_address) {
                            set = set.union(Objects::UNKNOWN);
                        }
                    }
                    None if data.opcode == Opcode::Alloca => set = Objects::SLOT,
                    None => set = Objects::UNKNOWN,
                }
                if set != Objects::NONE {
                    self.flow.sets[number(inst)] = set;
                    work.push(inst);
                }
            }
        }
        edges.sort_unstable_by_key(|(from, to)| (number(*from), number(*to)));
        while let Some(inst) = work.pop() {
            let set = self.flow.sets[number(inst)];
            let first = edges.partition_point(|(from, _)| number(*from) < number(inst));
            for &(_, to) in edges[first..].iter().take_while(|(from, _)| *from == inst) {
                let grown = self.flow.sets[number(to)].union(set);
                if std::mem::replace(&mut self.flow.sets[number(to)], grown) != grown {
                    work.push(to);
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
                match data.opcode {
                    // A read is nothing that is done, but what is read has to be known.
                    Opcode::Load => {
                        self.operand(operands[0]);
                    }
                    Opcode::ICmp => {}
                    Opcode::Store => {
                        self.sink(inst, operands[0], Sink::Escape);
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

/// Whether what is kept of a pointer lets somebody access what it points to.
#[must_use]
pub const fn has_provenance(kept: CaptureComponents) -> bool {
    kept.contains(CaptureComponents::READ_PROVENANCE)
}
