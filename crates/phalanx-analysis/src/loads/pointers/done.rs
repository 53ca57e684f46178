//! The uses that one instruction makes of pointers, and the variables that it mentions.
//!
//! O(operands).

use phalanx_ir::{
    Const, GlobalName, InstId, Opcode, Value, ValueKind, attributes::AttrKind, constant::ConstKind,
};
use phalanx_target::intrinsics::{Location, lookup};
use smallvec::SmallVec;

use super::flow::{
    Made, Objects, PassedUse, PointerFlow, Sink, entities, has_provenance, names_something,
};
use crate::{
    code::Code,
    memory::{PrivateMemory, private::Effect},
};

/// The variables that an instruction mentions in places where pointers may be.
pub(super) fn mentions(code: Code<'_>, inst: InstId) -> SmallVec<[GlobalName; 2]> {
    let body = code.body;
    let mut names = SmallVec::new();
    let mut visit = |operands: &[Value]| {
        for constant in operands.iter().filter_map(|operand| operand.as_const()) {
            if names_something(code, constant) {
                names.extend(entities(code, constant));
            }
        }
    };
    match body.inst(inst).opcode.is_call() {
        // The callee of a direct call is not a use of a pointer.
        true => {
            visit(body.call_args(inst));
            body.bundles(inst).for_each(|(_, operands)| visit(operands));
            if body.const_callee(inst).is_none_or(|callee| is_computed(code, callee)) {
                visit(&[body.callee(inst)]);
            }
        }
        false => visit(body.operands(inst)),
    }
    names
}

/// Whether a callee is a constant other than a name.
fn is_computed(code: Code<'_>, callee: Const) -> bool {
    !matches!(code.context.const_data(callee).kind, ConstKind::Global(_))
}

/// The uses that an instruction makes of pointers.
pub(super) fn sinks_of(
    code: Code<'_>,
    flow: &PointerFlow,
    private: &PrivateMemory,
    inst: InstId,
) -> SmallVec<[(Objects, Sink); 2]> {
    let mut done = Done { code, flow, private, found: SmallVec::new() };
    done.inst(inst);
    done.found
}

/// Collects the uses that an instruction makes of pointers.
struct Done<'a> {
    code: Code<'a>,
    flow: &'a PointerFlow,
    private: &'a PrivateMemory,
    found: SmallVec<[(Objects, Sink); 2]>,
}

impl Done<'_> {
    fn inst(&mut self, inst: InstId) {
        let (body, code) = (self.code.body, self.code);
        let operands = body.operands(inst);
        match body.inst(inst).opcode {
            // A read counts as no use.
            Opcode::Load | Opcode::ICmp => {}
            Opcode::Store => {
                let touches = self.private.of(inst);
                if !touches.iter().any(|touch| touch.effect == Effect::Store) {
                    self.sink(operands[0], Sink::Escape);
                }
                self.sink(operands[1], Sink::Write);
            }
            Opcode::AtomicRmw | Opcode::CmpXchg => {
                self.sink(operands[0], Sink::Write);
                operands[1..].iter().for_each(|&operand| self.sink(operand, Sink::Escape));
            }
            opcode if opcode.is_call() => self.call(inst),
            _ => {
                // Indices of a step are no pointers; the sets track the base of a step.
                let from;
                let followed = match self.flow.made(code, inst) {
                    Some(Made::Step(value)) => {
                        from = [value];
                        &from[..]
                    }
                    Some(Made::Join(values)) => values,
                    _ => &[],
                };
                for &operand in operands.iter().filter(|operand| !followed.contains(operand)) {
                    self.sink(operand, Sink::Escape);
                }
            }
        }
    }

    /// Records a use of an operand, if it is a pointer or is made of pointers.
    fn sink(&mut self, operand: Value, sink: Sink) {
        let objects = match operand.kind() {
            ValueKind::Const(_) | ValueKind::Inst(_) | ValueKind::Arg(_) => {
                self.flow.of(self.code, operand)
            }
            ValueKind::Metadata(_) | ValueKind::Block(_) => return,
        };
        if objects != Objects::NONE {
            self.found.push((objects, sink));
        }
    }

    fn text(&self, name: GlobalName) -> Option<&[u8]> {
        name.symbol().map(|symbol| self.code.context.bytes(symbol))
    }

    /// What an intrinsic does with an argument; none if the name is of no intrinsic.
    fn intrinsic(&self, name: GlobalName, position: usize) -> Option<PassedUse> {
        let text = self.text(name)?;
        let info = lookup(text)?.info;
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
            // An intrinsic that only reads its argument.
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
            sinks.iter().for_each(|&sink| self.sink(argument, sink));
        }
        // A statement about a pointer is no use of it.
        if name.is_some_and(|name| self.text(name).is_some_and(|text| text == b"llvm.assume")) {
            return;
        }
        for (_, operands) in body.bundles(call) {
            operands.iter().for_each(|&operand| {
                self.sink(operand, Sink::Escape);
                self.sink(operand, Sink::Write);
            });
        }
        if name.is_none() {
            self.sink(body.callee(call), Sink::Escape);
        }
    }
}
