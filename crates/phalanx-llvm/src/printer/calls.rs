//! Calls, invokes and `callbr`.

use phalanx_ir::{
    AttrSet, CallConv, ConstKind, Function, InstData, InstFlags, InstId, Opcode, TypeKind, Value,
    constant::Int, function::FunctionRef,
};

use super::Writer;

impl<'a> Writer<'a> {
    /// A call without its metadata.
    pub(super) fn call(&mut self, function: FunctionRef<'a>, inst: InstId, data: &InstData) {
        let body = function.body;
        let info = body.call_info(inst);
        let attributes = self.context().attr_list_data(info.attributes);
        for (flag, word) in [
            (InstFlags::MUST_TAIL, "musttail "),
            (InstFlags::TAIL, "tail "),
            (InstFlags::NO_TAIL, "notail "),
        ] {
            if data.flags.contains(flag) {
                self.str(word);
            }
        }
        self.str(data.opcode.text());
        self.flags(data.opcode, data.flags);
        if info.call_conv != CallConv::C {
            self.str(" ");
            self.call_conv(info.call_conv);
        }
        if attributes.ret != AttrSet::EMPTY {
            self.str(" ");
            self.attributes(attributes.ret);
        }
        let callee = body.callee(inst);
        self.call_address_space(callee);
        self.str(" ");
        match Function::split_type(self.context(), info.function_type) {
            Some((_, _, true)) => self.ty(info.function_type),
            _ => self.ty(data.ty),
        }
        self.str(" ");
        self.value(callee);
        self.str("(");
        let args = body.call_args(inst);
        for (at, &arg) in args.iter().enumerate() {
            if at > 0 {
                self.str(", ");
            }
            self.call_arg(arg, attributes.params.get(at).copied().unwrap_or(AttrSet::EMPTY));
        }
        if data.flags.contains(InstFlags::MUST_TAIL) && function.header.vararg {
            self.str(if args.is_empty() { "..." } else { ", ..." });
        }
        self.str(")");
        self.attr_group(attributes.function);
        self.bundles(function, inst);
        self.call_successors(function, inst, data.opcode);
    }

    /// An argument; its attributes stand between type and value.
    fn call_arg(&mut self, arg: Value, attributes: AttrSet) {
        if attributes == AttrSet::EMPTY {
            return self.typed_value(arg);
        }
        self.ty(self.type_of(arg));
        self.str(" ");
        self.attributes(attributes);
        self.str(" ");
        self.value(arg);
    }

    /// ` addrspace(n)` of the callee; space 0 is written only where another is the program's.
    fn call_address_space(&mut self, callee: Value) {
        if let TypeKind::Ptr(space) = *self.context().type_kind(self.type_of(callee))
            && (space != 0 || self.cx.layout.program_space() != 0)
        {
            self.str(" addrspace(");
            self.number(u64::from(space));
            self.str(")");
        }
    }

    fn bundles(&mut self, function: FunctionRef<'a>, inst: InstId) {
        if function.body.call_info(inst).bundles.is_empty() {
            return;
        }
        for (at, (tag, operands)) in function.body.bundles(inst).enumerate() {
            self.str(if at == 0 { " [ " } else { ", " });
            self.quoted(tag);
            self.str("(");
            self.operand_list(operands, true);
            self.str(")");
        }
        self.str(" ]");
    }

    fn call_successors(&mut self, function: FunctionRef<'a>, inst: InstId, opcode: Opcode) {
        let successors =
            function.body.block_of(inst).map_or(&[][..], |b| function.flow.successors(b));
        let (first, others) = successors.split_at(successors.len().min(1));
        if opcode == Opcode::Call {
            return;
        }
        self.str("\n          to ");
        self.labels(first);
        if opcode == Opcode::Invoke {
            self.str(" unwind ");
            self.labels(others);
        } else {
            self.str(" [");
            self.labels(others);
            self.str("]");
        }
    }

    /// The comment after a `gc.relocate`: which base and derived pointer it takes from its
    /// statepoint.
    pub(super) fn relocation_comment(&mut self, function: FunctionRef<'a>, inst: InstId) {
        let Some((base, derived)) = self.relocated(function, inst) else { return };
        self.str(" ; (");
        self.value(base);
        self.str(", ");
        self.value(derived);
        self.str(")");
    }

    /// Base and derived pointer of a `gc.relocate`, which names them by their positions in the
    /// `gc-live` bundle.
    fn relocated(&self, function: FunctionRef<'a>, inst: InstId) -> Option<(Value, Value)> {
        let context = self.context();
        let ConstKind::Global(name) = context.const_data(function.body.const_callee(inst)?).kind
        else {
            return None;
        };
        if !context.bytes(name.symbol()?).starts_with(b"llvm.experimental.gc.relocate.") {
            return None;
        }
        let &[token, base, derived] = function.body.call_args(inst) else { return None };
        let statepoint = token.as_inst()?;
        if !function.body.inst(statepoint).opcode.is_call() {
            return None;
        }
        let live = |(tag, operands): (_, &'a [Value])| {
            (context.bytes(tag) == b"gc-live").then_some(operands)
        };
        let live = function.body.bundles(statepoint).find_map(live)?;
        let at = |position: Value| match &context.const_data(position.as_const()?).kind {
            ConstKind::Int(Int::Small(at)) => live.get(usize::try_from(*at).ok()?).copied(),
            _ => None,
        };
        Some((at(base)?, at(derived)?))
    }
}
