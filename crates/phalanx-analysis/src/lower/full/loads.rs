//! Rules for loads, by [our rules](super), and for where addresses lead.
//!
//! ```text
//! %v = load i32, ptr addrspace(4) %p   ; constant memory: the sources of the address, no others
//! %w = load i32, ptr %p                ; other threads may write there: unknown
//! ```
//!
//! O(1) per load.

use phalanx_core::divergence::{self, Definition};
use phalanx_ir::{
    InstData, InstId, TypeKind, Value,
    inst::{InstFlags, Ordering},
};
use phalanx_target::{SourceSet, address_space::AddressSpace, calling_convention::Entry};

use crate::code::{held, pointer_space};
use crate::lower::{
    calls,
    rule::{Reads, Rule},
};
use crate::memory::origins::is_shared_constant;

use super::FullRules;

impl FullRules<'_> {
    pub(super) fn load(&self, inst: InstId, data: &InstData, address: Value) -> Rule {
        if self.memory.is_some_and(|memory| memory.is_load(inst)) {
            // What the load reads is stated with the versions of private memory.
            return Rule { reads: Reads::Some(0), ..Rule::PURE };
        }
        let timed = data.flags.contains(InstFlags::VOLATILE)
            || data.mem().ordering() != Ordering::NotAtomic;
        if let Some(content) = self.content(address).filter(|_| !timed) {
            let is_pure = content.is_empty();
            let definition =
                Definition { seed: content, transfer: divergence::Transfer::Propagate, is_pure };
            return Rule { reads: Reads::Some(0), ..Rule::new(definition) };
        }
        let seed = self.seed_of_load(address, timed);
        let is_pure = seed.is_empty();
        Rule::new(Definition { seed, transfer: divergence::Transfer::Propagate, is_pure })
    }

    /// The sources of a loaded value besides those of its address.
    pub(in crate::lower) fn seed_of_load(&self, address: Value, timed: bool) -> SourceSet {
        if let Some(sources) = self.built_in(address) {
            return sources;
        }
        match (self.may_be_private(address), timed) {
            (true, _) => SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_WAVE,
            (false, true) if !self.env.lockstep => {
                SourceSet::OPAQUE_THREAD | SourceSet::OPAQUE_WAVE
            }
            (false, false) if self.is_constant_memory(address) || self.is_passed(address) => {
                SourceSet::EMPTY
            }
            (false, _) => SourceSet::OPAQUE_WAVE,
        }
    }

    /// If an address is that of a SPIR-V built-in variable: the sources of what the variable holds.
    pub(super) fn built_in(&self, address: Value) -> Option<SourceSet> {
        let is_spirv = self.env.target.architecture() == phalanx_target::Architecture::Spirv;
        address.as_const().filter(|_| is_spirv).and_then(|at| held(self.code, at))
    }

    /// The sources of what is loaded from a copy that callers have passed by value, at any address
    /// of the copy.
    pub(in crate::lower) fn content(&self, address: Value) -> Option<SourceSet> {
        let is_copy = self.entry == Entry::Call && self.is_passed(address);
        is_copy.then(|| {
            let arguments = 0..self.code.header.params.len() as u32;
            let copies = arguments.filter(|&at| self.is_passed(Value::arg(at)));
            // The sources of all copies: so the rule depends on nothing but the arguments.
            copies.fold(SourceSet::EMPTY, |all, at| {
                all | calls::argument(self.env.calls, at, false, self.context().wave)
            })
        })
    }

    pub(super) fn address_space(&self, address: Value) -> Option<AddressSpace> {
        let ty = match address.kind() {
            phalanx_ir::ValueKind::Inst(inst) => self.code.body.inst(inst).ty,
            phalanx_ir::ValueKind::Arg(position) => self.code.header.params[position as usize],
            phalanx_ir::ValueKind::Const(constant) => self.code.context.const_data(constant).ty,
            _ => return None,
        };
        let context = self.code.context;
        let number = pointer_space(context, ty).or_else(|| match context.type_kind(ty) {
            TypeKind::Vector { elem, .. } => pointer_space(context, *elem),
            _ => None,
        });
        Some(AddressSpace::of(self.env.target.architecture(), number?))
    }

    pub(super) fn may_be_private(&self, address: Value) -> bool {
        let can_be = self
            .address_space(address)
            .is_none_or(|space| self.code.library.may_be_private(space, self.is_kernel()));
        can_be && !self.is_shared(address)
    }

    /// Whether an address is known not to be private by where it comes from.
    pub(super) fn is_shared(&self, address: Value) -> bool {
        match address.as_const() {
            Some(constant) => is_shared_constant(self.code, self.env, constant),
            None => self.memory.is_some_and(|memory| memory.is_shared(address)),
        }
    }

    /// Whether an address leads to what the launch passes by value, which no thread writes.
    pub(super) fn is_passed(&self, address: Value) -> bool {
        self.memory.is_some_and(|memory| memory.is_passed(address))
    }

    pub(super) fn is_constant_memory(&self, address: Value) -> bool {
        self.address_space(address).is_some_and(AddressSpace::is_constant)
    }
}
