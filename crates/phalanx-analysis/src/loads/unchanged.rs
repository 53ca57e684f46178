//! Whether memory stays unchanged while the kernel runs, by what its address is based on.
//!
//! [`loads`](super) has the argument. An argument of a function that is no kernel stands for what
//! its callers pass, all of which must be known: it is unchanged if all of these are. What the
//! function itself does with the pointer counts for the kernel that passes it.
//!
//! O(sinks) per root, once.

use phalanx_ir::{GlobalName, Type, TypeKind, Value, attributes::AttrKind};
use phalanx_target::{
    Architecture,
    address_space::{AddressSpace, SpaceKind},
};

use super::{
    Omitted, PointerFlow, Refusal, Root, VariableUse, clobbers,
    pointers::{Passed, PassedUse},
};
use crate::code::{Code, SpaceSet, value_type};

/// Facts about a function, and about what writes its memory.
#[derive(Clone, Copy)]
pub struct Writers<'a> {
    /// What pointers are based on.
    pub pointers: &'a PointerFlow,
    /// Whether threads start in the function, and nothing calls it.
    pub is_kernel: bool,
    /// What may write a variable.
    pub variable: &'a dyn Fn(GlobalName) -> VariableUse,
    /// What callees do with arguments.
    pub passed: Passed<'a>,
    /// Whether all callers are known, and what they pass is unchanged.
    pub is_unchanged_argument: &'a dyn Fn(u32) -> bool,
    /// Whether kernels of the module may run while an earlier grid still writes: some kernel waits
    /// for such grids (programmatic dependent launch).
    pub earlier_grids: bool,
    /// A rule that is left out, in tests only.
    pub omitted: Option<Omitted>,
}

/// Answers about one function, with a cache.
pub struct Unchanged<'a> {
    code: Code<'a>,
    architecture: Architecture,
    facts: Writers<'a>,
    /// The answers so far.
    known: Vec<(Root, Option<Refusal>)>,
}

impl<'a> Unchanged<'a> {
    /// Answers about a function.
    #[must_use]
    pub fn new(code: Code<'a>, architecture: Architecture, facts: Writers<'a>) -> Self {
        Self { code, architecture, facts, known: Vec::new() }
    }

    /// Why a thread may write what an address leads to, none if no thread does. `memories` are
    /// those that the address may lead to.
    pub fn of(&mut self, address: Value, memories: SpaceSet) -> Option<Refusal> {
        let memories = memories.memories();
        if !memories.is_empty() && SpaceSet::CONSTANT.contains(memories) {
            return None;
        }
        if kind_of(self.code, self.architecture, value_type(self.code, address))
            == SpaceKind::Constant
        {
            return None;
        }
        let pointers = self.facts.pointers;
        let set = pointers.of(self.code, address);
        if set.has_unknown() {
            return Some(Refusal::Origin(clobbers::base(self.code, address)));
        }
        if set.has_slot() {
            return Some(Refusal::Space(memories));
        }
        pointers.roots(set).find_map(|root| self.of_root(root))
    }

    /// The answers about roots so far.
    pub(super) fn known(&self) -> &[(Root, Option<Refusal>)] {
        &self.known
    }

    pub(super) fn of_root(&mut self, root: Root) -> Option<Refusal> {
        if let Some((_, known)) = self.known.iter().find(|(other, _)| *other == root) {
            return *known;
        }
        let answer = match root {
            Root::Argument(position) => self.of_argument(position),
            Root::Variable(name) => match (self.facts.variable)(name) {
                VariableUse::Constant | VariableUse::NeverWritten => None,
                VariableUse::Written(function) => {
                    Some(Refusal::VariableWritten { variable: name, function })
                }
                VariableUse::Visible | VariableUse::Unknown => Some(Refusal::Visible(name)),
            },
        };
        self.known.push((root, answer));
        answer
    }

    fn omits(&self, rule: Omitted) -> bool {
        self.facts.omitted == Some(rule)
    }

    fn of_argument(&self, position: u32) -> Option<Refusal> {
        let Code { context, header, .. } = self.code;
        let ty = header.params.get(position as usize).copied();
        if kind_of(self.code, self.architecture, ty) == SpaceKind::Constant {
            return None;
        }
        if is_copied(self.code, position) {
            return Some(Refusal::Space(SpaceSet::PRIVATE | SpaceSet::PARAMETER));
        }
        if !self.facts.is_kernel {
            let is_known =
                (self.facts.is_unchanged_argument)(position) || self.omits(Omitted::Callers);
            return (!is_known).then_some(Refusal::OfCall(position));
        }
        let attributes = context.param_attrs(header.attributes, position as usize);
        // The uses in the kernel come first: attributes cannot make up for a write.
        let only_reads = attributes.has(AttrKind::ReadOnly) || attributes.has(AttrKind::ReadNone);
        let used = if only_reads { None } else { self.written(position) };
        let is_apart = attributes.has(AttrKind::NoAlias) || self.omits(Omitted::Aliases);
        let changes = used.or((!is_apart).then_some(Refusal::Aliased(position)));
        changes.or(self.facts.earlier_grids.then_some(Refusal::EarlierGrids))
    }

    /// Where the function writes through an argument, or where the argument escapes.
    fn written(&self, position: u32) -> Option<Refusal> {
        let ignored = |_: GlobalName, _: Type, _: u32| PassedUse::default();
        let passed: Passed<'_> = match self.omits(Omitted::Calls) {
            true => &ignored,
            false => self.facts.passed,
        };
        let uses = self.facts.pointers.uses(Root::Argument(position), passed);
        let written = uses.written.filter(|_| !self.omits(Omitted::Writes));
        match (written, uses.escapes) {
            (Some(by), _) => Some(Refusal::Written { argument: position, by }),
            (None, Some(by)) => Some(Refusal::Escapes { argument: position, by }),
            (None, None) => None,
        }
    }
}

/// Whether an argument points to a copy that is made for the call.
fn is_copied(code: Code<'_>, position: u32) -> bool {
    let attributes = code.context.param_attrs(code.header.attributes, position as usize);
    [
        AttrKind::ByVal,
        AttrKind::ByRef,
        AttrKind::InAlloca,
        AttrKind::Preallocated,
        AttrKind::StructRet,
    ]
    .iter()
    .any(|&kind| attributes.has(kind))
}

/// The space of pointers of a type, or of vectors of them.
pub(super) fn kind_of(code: Code<'_>, architecture: Architecture, ty: Option<Type>) -> SpaceKind {
    let context = code.context;
    let number = ty.and_then(|ty| match context.type_kind(ty) {
        TypeKind::Vector { elem, .. } => context.type_kind(*elem).address_space(),
        kind => kind.address_space(),
    });
    number.map_or(SpaceKind::Unknown, |number| AddressSpace::of(architecture, number).kind())
}
