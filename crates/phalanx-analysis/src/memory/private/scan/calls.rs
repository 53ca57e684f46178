//! Calls that are given the address of an object.

use phalanx_graph::Node;
use phalanx_ir::{
    InstId, Opcode,
    attributes::{AttrKind, AttrSetData, Captures, MemoryEffects, MemoryLocation},
};

use super::{SCALAR, Scan};
use crate::code::calls::of_call;
use crate::memory::private::{
    accesses::{Access, Address},
    objects::intrinsic_name,
    touch::{Effect, Passed},
};

impl Scan<'_> {
    pub(super) fn call(&mut self, inst: InstId, block: Node, position: usize, address: Address) {
        let body = self.code.body;
        let arguments = body.call_args(inst);
        if position >= arguments.len() {
            // A bundle's operand, or the callee.
            return self.escape(address);
        }
        if let Some(name) = intrinsic_name(self.code.context, body, inst) {
            let starts = |prefix: &[u8]| name.starts_with(prefix);
            if starts(b"llvm.lifetime.") || starts(b"llvm.prefetch") {
                return;
            }
            let is_copy = starts(b"llvm.memcpy.") || starts(b"llvm.memmove.");
            let is_plain = !starts(b"llvm.memcpy.element")
                && !starts(b"llvm.memmove.element")
                && !starts(b"llvm.memset.element");
            if is_plain && (is_copy || starts(b"llvm.memset.")) && arguments.len() >= 3 {
                let size = self.sizes.integer_operand(arguments[2]);
                let size = size.and_then(|size| u64::try_from(size).ok());
                let effect = match (position, is_copy) {
                    (0, true) => Effect::CopyTo,
                    (0, false) => Effect::Fill,
                    (1, true) => Effect::CopyFrom,
                    _ => return self.escape(address),
                };
                return self.range(inst, block, address, effect, (size, false));
            }
        }
        let context = self.code.context;
        let info = body.call_info(inst);
        let attributes = context.param_attrs(info.attributes, position);
        let of_call = context.function_attrs(info.attributes);
        let memory = of_call.memory().unwrap_or(MemoryEffects::UNKNOWN);
        if attributes.has(AttrKind::ByVal) {
            // The callee gets a copy.
            let size = attributes.type_of(AttrKind::ByVal);
            let size = size.and_then(|ty| self.sizes.store_size(ty));
            return self.range(inst, block, address, Effect::Read, (size, false));
        }
        self.is_plain = false;
        if self.reach.follows_calls && self.pass(inst, position, address) {
            return;
        }
        if !is_not_captured(attributes) {
            return self.escape(address);
        }
        let access = memory.access(MemoryLocation::ArgMem);
        let may_write = access.writes() && !attributes.has(AttrKind::ReadOnly);
        let may_read = access.reads() && !attributes.has(AttrKind::WriteOnly);
        if attributes.has(AttrKind::ReadNone) {
            return;
        }
        // The callee may access any byte of the object.
        let anywhere = Address { offset: None, ..address };
        if may_read {
            self.range(inst, block, anywhere, Effect::Read, (None, false));
        }
        if may_write {
            self.range(inst, block, anywhere, Effect::Clobber, (None, false));
        }
    }

    /// Records an address that is passed to a call. Returns false if no summary says what the
    /// callee does with it.
    fn pass(&mut self, call: InstId, position: usize, address: Address) -> bool {
        let is_followed = self.code.body.inst(call).opcode == Opcode::Call
            && of_call(self.code, self.env.calls, call).is_some_and(|summary| {
                summary.through.as_ref().is_some_and(|through| through.is_followed(position))
            });
        if is_followed {
            let object = self.objects[address.object as usize].alloca;
            let position = position as u32;
            let passed = Passed { call, position, object, offset: address.offset };
            self.passed.push((address.object, passed));
        }
        is_followed
    }

    /// Adds the accesses of a callee through the addresses in `passed[first..]`, according to its
    /// summary.
    pub(super) fn followed(&mut self, call: InstId, block: Node, first: usize) {
        let Some(summary) = of_call(self.code, self.env.calls, call) else { return };
        let Some(through) = &summary.through else { return };
        let given = self.passed.split_off(first);
        let attributes = self.code.body.call_info(call).attributes;
        let is_by_reference = |position: u32| {
            self.code.context.param_attrs(attributes, position as usize).has(AttrKind::ByRef)
        };
        for (object, passed) in &given {
            let anywhere = Address { object: *object, offset: None };
            if given.iter().filter(|(other, _)| other == object).count() > 1 {
                // Two arguments point to the same object, which the summary does not allow for.
                self.range(call, block, anywhere, Effect::Read, (None, false));
                self.range(call, block, anywhere, Effect::Clobber, (None, false));
                continue;
            }
            for part in through.parts_of(passed.position) {
                let range = passed.shift(part.range);
                // Small parts count as scalars and divide the object; larger ones are wide and only
                // touch slots.
                let is_wide = range.is_none_or(|(at, end)| end.saturating_sub(at) > SCALAR);
                let mut access = |effect, is_full| {
                    self.accesses.push(Access {
                        inst: call,
                        block,
                        object: *object,
                        effect,
                        range,
                        is_fixed: range.is_some(),
                        is_wide,
                        is_full,
                        has_address: true,
                    });
                };
                // A structure passed by reference always counts as read.
                if part.is_read || is_by_reference(passed.position) {
                    access(Effect::ReadByCall, false);
                }
                if part.content.is_some() {
                    access(Effect::WriteByCall, part.is_certain);
                }
            }
        }
        // Already sorted, by the order of operands.
        let is_alone = |(object, _): &&(u32, Passed)| {
            given.iter().filter(|(other, _)| other == object).count() == 1
        };
        let alone: Vec<(u32, Passed)> = given.iter().filter(is_alone).copied().collect();
        self.passed.extend(alone);
    }
}

fn is_not_captured(attributes: &AttrSetData) -> bool {
    let address_at_most = |captures: Captures| {
        let components = captures.other.union(captures.ret);
        components.union(phalanx_ir::attributes::CaptureComponents::ADDRESS)
            == phalanx_ir::attributes::CaptureComponents::ADDRESS
    };
    attributes.captures().is_some_and(address_at_most)
}
