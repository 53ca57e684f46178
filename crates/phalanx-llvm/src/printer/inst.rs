//! Instructions.
//!
//! Most instructions have the same form: result, keyword, flags, operands, with only the type of
//! the first one if all have the same type. This module handles the exceptions per opcode; calls
//! are in [`super::calls`].

use phalanx_ir::{
    ConstKind, InstData, InstFlags, InstId, MemInfo, Opcode, Type, TypeKind, Value, ValueKind,
    constant::Int, flow::BlockId, function::FunctionRef, inst::Ordering, symbol::SyncScope,
};
use smallvec::SmallVec;

use super::Writer;

impl<'a> Writer<'a> {
    /// An instruction without spaces before and line break after.
    pub(super) fn inst(&mut self, inst: InstId) {
        let Some(printer) = self.function else { return };
        let function = printer.function;
        let data = function.body.inst(inst);
        if data.ty != Type::VOID {
            self.value(Value::inst(inst));
            self.str(" = ");
        }
        if data.opcode.is_call() {
            self.call(function, inst, data);
        } else {
            self.str(data.opcode.text());
            self.flags(data.opcode, data.flags);
            self.rest(function, inst, data);
        }
        self.attachments(function.extras.attachments_of(inst), ", ");
        if data.opcode == Opcode::Call {
            self.relocation_comment(function, inst);
        }
    }

    /// Flags after the keyword of an instruction or constant expression, each with a space before.
    pub(super) fn flags(&mut self, opcode: Opcode, flags: InstFlags) {
        use InstFlags as F;
        if flags == F::NONE {
            return;
        }
        const FAST_MATH: [(InstFlags, &str); 7] = [
            (F::REASSOC, " reassoc"),
            (F::NNAN, " nnan"),
            (F::NINF, " ninf"),
            (F::NSZ, " nsz"),
            (F::ARCP, " arcp"),
            (F::CONTRACT, " contract"),
            (F::AFN, " afn"),
        ];
        const WRAP: [(InstFlags, &str); 2] = [(F::NUW, " nuw"), (F::NSW, " nsw")];
        const ADDRESS: [(InstFlags, &str); 3] =
            [(F::INBOUNDS, " inbounds"), (F::NUSW, " nusw"), (F::NUW, " nuw")];
        const MEMORY: [(InstFlags, &str); 3] =
            [(F::ATOMIC, " atomic"), (F::WEAK, " weak"), (F::VOLATILE, " volatile")];
        const STACK: [(InstFlags, &str); 2] =
            [(F::IN_ALLOCA, " inalloca"), (F::SWIFT_ERROR, " swifterror")];
        let mut flags = flags;
        if flags.contains(F::FAST) {
            self.str(" fast");
        } else if flags.fast_math() != F::NONE {
            self.flag_words(flags, &FAST_MATH);
        }
        match opcode {
            Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Shl | Opcode::Trunc => {
                self.flag_words(flags, &WRAP);
            }
            Opcode::UDiv | Opcode::SDiv | Opcode::LShr | Opcode::AShr => {
                self.flag_words(flags, &[(F::EXACT, " exact")]);
            }
            Opcode::Or => self.flag_words(flags, &[(F::DISJOINT, " disjoint")]),
            Opcode::ZExt | Opcode::UiToFp => self.flag_words(flags, &[(F::NNEG, " nneg")]),
            Opcode::ICmp => self.flag_words(flags, &[(F::SAME_SIGN, " samesign")]),
            Opcode::GetElementPtr => {
                if flags.contains(F::INBOUNDS) {
                    flags.0 &= !F::NUSW.0;
                }
                self.flag_words(flags, &ADDRESS);
            }
            Opcode::Load | Opcode::Store | Opcode::CmpXchg | Opcode::AtomicRmw => {
                self.flag_words(flags, &MEMORY);
            }
            Opcode::Alloca => self.flag_words(flags, &STACK),
            _ => {}
        }
    }

    fn flag_words(&mut self, flags: InstFlags, words: &[(InstFlags, &str)]) {
        for &(flag, word) in words {
            if flags.contains(flag) {
                self.str(word);
            }
        }
    }

    /// What follows the flags.
    fn rest(&mut self, function: FunctionRef<'a>, inst: InstId, data: &InstData) {
        let operands = function.body.operands(inst);
        let successors = || match function.body.block_of(inst) {
            Some(block) => function.flow.successors(block),
            None => &[],
        };
        match data.opcode {
            Opcode::Ret if operands.is_empty() => self.str(" void"),
            Opcode::Br => {
                if let Some(&condition) = operands.first() {
                    self.str(" ");
                    self.typed_value(condition);
                    self.str(",");
                }
                self.str(" ");
                self.labels(successors());
            }
            Opcode::Switch => self.switch(operands, successors()),
            Opcode::IndirectBr => {
                self.str(" ");
                self.operand_list(operands, true);
                self.str(", [");
                self.labels(successors());
                self.str("]");
            }
            Opcode::CatchSwitch => self.catch_switch(operands, successors(), data.flags),
            Opcode::CatchRet => {
                self.str(" from ");
                self.operand_list(operands, false);
                self.str(" to ");
                self.labels(successors());
            }
            Opcode::CleanupRet => {
                self.str(" from ");
                self.operand_list(operands, false);
                self.str(" unwind ");
                self.unwind(successors().first().copied());
            }
            Opcode::CatchPad | Opcode::CleanupPad => {
                let (parent, args) = operands.split_at(operands.len().min(1));
                self.str(" within ");
                self.operand_list(parent, false);
                self.str(" [");
                self.operand_list(args, true);
                self.str("]");
            }
            Opcode::LandingPad => self.landing_pad(function, inst, data),
            Opcode::Phi => self.phi(function, inst, data.ty),
            Opcode::Alloca => self.alloca(operands, data),
            Opcode::Load => {
                self.str(" ");
                self.ty(data.ty);
                self.str(", ");
                self.operand_list(operands, true);
                self.memory(data, self.default_align(data.ty));
            }
            Opcode::Store => {
                self.str(" ");
                self.operand_list(operands, true);
                let stored = operands.first().map_or(Type::VOID, |&value| self.type_of(value));
                self.memory(data, self.default_align(stored));
            }
            Opcode::Fence => self.memory(data, None),
            Opcode::CmpXchg | Opcode::AtomicRmw => {
                if data.opcode == Opcode::AtomicRmw {
                    self.str(" ");
                    self.str(data.rmw_op().text());
                }
                self.str(" ");
                self.operand_list(operands, true);
                let held = operands.get(1).map_or(Type::VOID, |&value| self.type_of(value));
                self.memory(data, self.default_atomic_align(held));
            }
            Opcode::GetElementPtr => {
                self.str(" ");
                self.ty(data.element_type());
                self.str(", ");
                // The base is a pointer, or vector of pointers, and indices are integers: types
                // always differ.
                let alike = operands.len() == 1;
                self.maybe_typed(operands, !alike);
            }
            Opcode::ExtractValue | Opcode::InsertValue => {
                self.str(" ");
                self.operand_list(operands, true);
                for &index in function.body.indices(inst) {
                    self.str(", ");
                    self.number(u64::from(index));
                }
            }
            Opcode::ShuffleVector => self.shuffle_vector(operands, data.ty),
            Opcode::VaArg => {
                self.str(" ");
                self.operand_list(operands, true);
                self.str(", ");
                self.ty(data.ty);
            }
            Opcode::ICmp | Opcode::FCmp => {
                self.str(" ");
                self.str(match data.opcode {
                    Opcode::ICmp => data.int_predicate().text(),
                    _ => data.float_predicate().text(),
                });
                self.common(operands, false);
            }
            Opcode::Ret | Opcode::Select => self.common(operands, true),
            opcode if opcode.is_cast() => {
                self.str(" ");
                self.operand_list(operands, true);
                self.str(" to ");
                self.ty(data.ty);
            }
            _ => self.common(operands, false),
        }
    }

    /// Operands after a space, separated by commas: each with its type, or all after the type they
    /// share.
    fn common(&mut self, operands: &[Value], always_typed: bool) {
        let Some((&first, others)) = operands.split_first() else { return };
        self.str(" ");
        let ty = self.type_of(first);
        let typed = always_typed || others.iter().any(|&other| self.type_of(other) != ty);
        self.maybe_typed(operands, typed);
    }

    fn maybe_typed(&mut self, operands: &[Value], typed: bool) {
        if !typed && let Some(&first) = operands.first() {
            self.ty(self.type_of(first));
            self.str(" ");
        }
        self.operand_list(operands, typed);
    }

    /// Operands separated by commas.
    pub(super) fn operand_list(&mut self, operands: &[Value], typed: bool) {
        for (at, &operand) in operands.iter().enumerate() {
            if at > 0 {
                self.str(", ");
            }
            match typed {
                true => self.typed_value(operand),
                false => self.value(operand),
            }
        }
    }

    /// `label %a, label %b`
    pub(super) fn labels(&mut self, blocks: &[BlockId]) {
        for (at, &block) in blocks.iter().enumerate() {
            self.str(if at == 0 { "label " } else { ", label " });
            self.block(block);
        }
    }

    /// `label %a`, or `to caller`.
    fn unwind(&mut self, block: Option<BlockId>) {
        match block {
            Some(block) => self.labels(&[block]),
            None => self.str("to caller"),
        }
    }

    fn switch(&mut self, operands: &[Value], successors: &[BlockId]) {
        let (condition, cases) = operands.split_at(operands.len().min(1));
        let (default, targets) = successors.split_at(successors.len().min(1));
        self.str(" ");
        self.operand_list(condition, true);
        self.str(", ");
        self.labels(default);
        self.str(" [");
        for (&case, &target) in cases.iter().zip(targets) {
            self.str("\n    ");
            self.typed_value(case);
            self.str(", ");
            self.labels(&[target]);
        }
        self.str("\n  ]");
    }

    fn catch_switch(&mut self, operands: &[Value], successors: &[BlockId], flags: InstFlags) {
        let (handlers, unwind) = match successors.split_last() {
            Some((&unwind, handlers)) if flags.contains(InstFlags::CLEANUP) => {
                (handlers, Some(unwind))
            }
            _ => (successors, None),
        };
        self.str(" within ");
        self.operand_list(operands, false);
        self.str(" [");
        self.labels(handlers);
        self.str("] unwind ");
        self.unwind(unwind);
    }

    fn landing_pad(&mut self, function: FunctionRef<'a>, inst: InstId, data: &InstData) {
        self.str(" ");
        self.ty(data.ty);
        if data.flags.contains(InstFlags::CLEANUP) {
            self.str("\n          cleanup");
        }
        let clauses = function.body.operands(inst).iter().zip(function.body.indices(inst));
        for (&clause, &is_filter) in clauses {
            self.str(if is_filter == 1 { "\n          filter " } else { "\n          catch " });
            self.typed_value(clause);
        }
    }

    fn phi(&mut self, function: FunctionRef<'a>, inst: InstId, ty: Type) {
        self.str(" ");
        self.ty(ty);
        for (at, (value, block)) in function.body.phi_incoming(inst).enumerate() {
            self.str(if at == 0 { " [ " } else { ", [ " });
            self.value(value);
            self.str(", ");
            self.block(block);
            self.str(" ]");
        }
        if function.body.operands(inst).is_empty() {
            self.str(" ");
        }
    }

    fn alloca(&mut self, operands: &[Value], data: &InstData) {
        self.str(" ");
        self.ty(data.element_type());
        if let Some(&count) = operands.first()
            && !self.is_one(count)
        {
            self.str(", ");
            self.typed_value(count);
        }
        self.align(", align ", data.mem().align().or_else(|| self.default_stack_align(data)));
        if let TypeKind::Ptr(space @ 1..) = *self.context().type_kind(data.ty) {
            self.str(", addrspace(");
            self.number(u64::from(space));
            self.str(")");
        }
    }

    /// Whether this is `i32 1`, the number of elements that is not written.
    fn is_one(&self, value: Value) -> bool {
        let ValueKind::Const(constant) = value.kind() else { return false };
        let data = self.context().const_data(constant);
        data.ty == Type::I32 && data.kind == ConstKind::Int(Int::Small(1))
    }

    fn shuffle_vector(&mut self, operands: &[Value], ty: Type) {
        self.str(" ");
        let (vectors, mask) = operands.split_at(operands.len().min(2));
        self.operand_list(vectors, true);
        for &mask in mask {
            let scalable =
                matches!(self.context().type_kind(ty), TypeKind::Vector { scalable: true, .. });
            match self.lanes(mask) {
                Some(lanes) => self.shuffle_mask(&lanes, scalable),
                None => {
                    self.str(", ");
                    self.typed_value(mask);
                }
            }
        }
    }

    /// The lanes a constant mask names; -1 where it is poison or undefined.
    fn lanes(&self, mask: Value) -> Option<SmallVec<[i32; 16]>> {
        let context = self.context();
        let data = context.const_data(mask.as_const()?);
        let TypeKind::Vector { len, .. } = *context.type_kind(data.ty) else { return None };
        let lane = |constant| match &context.const_data(constant).kind {
            ConstKind::Int(int) => int.to_u64().and_then(|lane| i32::try_from(lane).ok()),
            ConstKind::Undef | ConstKind::Poison => Some(-1),
            _ => None,
        };
        let repeated = |lane| SmallVec::from_elem(lane, len as usize);
        match &data.kind {
            ConstKind::Zero => Some(repeated(0)),
            ConstKind::Undef | ConstKind::Poison => Some(repeated(-1)),
            ConstKind::Splat(element) => lane(*element).map(repeated),
            ConstKind::Aggregate(elements) => elements.iter().map(|&e| lane(e)).collect(),
            _ => None,
        }
    }

    /// Scope, orderings and alignment.
    fn memory(&mut self, data: &InstData, default_align: Option<u64>) {
        let mem = data.mem();
        if mem.ordering() != Ordering::NotAtomic {
            self.scope(mem);
            self.str(" ");
            self.str(mem.ordering().text());
            if data.opcode == Opcode::CmpXchg {
                self.str(" ");
                self.str(mem.failure_ordering().text());
            }
        }
        self.align(", align ", mem.align().or(default_align));
    }

    fn scope(&mut self, mem: MemInfo) {
        if mem.scope() != SyncScope::SYSTEM {
            self.str(" syncscope(");
            self.quoted(mem.scope().0);
            self.str(")");
        }
    }
}
