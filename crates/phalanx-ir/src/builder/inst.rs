//! [`InstBuilder`]: one method per kind of instruction, for any place that can take instructions.

use smallvec::SmallVec;

use crate::{
    body::InstId,
    builder::{
        call::{CallSpec, Callee},
        error::BuildError,
        new_inst::{Modifiers, NewInst, call_inst, ordered},
    },
    constant::Const,
    context::Context,
    flow::BlockId,
    inst::{FloatPredicate, InstFlags, IntPredicate, Opcode, Ordering, RmwOp},
    symbol::SyncScope,
    types::Type,
    value::Value,
};

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $opcode:ident;)*) => {
        $(
            $(#[$doc])*
            fn $name(
                &mut self,
                left: impl Into<Value>,
                right: impl Into<Value>,
            ) -> Result<Value, BuildError> {
                self.binary(Opcode::$opcode, left, right)
            }
        )*
    };
}

macro_rules! casts {
    ($($(#[$doc:meta])* $name:ident $opcode:ident;)*) => {
        $(
            $(#[$doc])*
            fn $name(&mut self, value: impl Into<Value>, to: Type) -> Result<Value, BuildError> {
                self.cast(Opcode::$opcode, value, to)
            }
        )*
    };
}

/// A place where instructions can be inserted.
///
/// Implementors provide the insertion ([`InstBuilder::emit`]); the methods provide the kinds of
/// instructions. A method fails, and inserts nothing, when its operands break a rule of the
/// instruction. Values and constants can both be operands.
pub trait InstBuilder: Sized {
    /// Inserts a checked instruction at the cursor.
    ///
    /// # Errors
    /// When the instruction breaks a rule or there is no place for it. All other methods fail in
    /// the same way.
    fn emit(&mut self, inst: NewInst<'_>) -> Result<InstId, BuildError>;

    /// Properties of the next instruction.
    fn modifiers(&mut self) -> &mut Modifiers;

    /// Where types, constants and names live.
    fn context(&self) -> &Context;

    /// Names the result of the next instruction. A number is appended when the name is taken.
    fn named(&mut self, name: &str) -> &mut Self {
        self.modifiers().name = name.as_bytes().to_vec();
        self
    }

    /// Gives the next instruction flags, in addition to those it has already been given.
    fn flagged(&mut self, flags: InstFlags) -> &mut Self {
        self.modifiers().flags |= flags;
        self
    }

    /// Gives the next memory operation an alignment in bytes, a power of two.
    fn aligned(&mut self, bytes: u64) -> &mut Self {
        self.modifiers().align = Some(bytes);
        self
    }

    // Arithmetic.

    /// Any two-operand operation.
    fn binary(
        &mut self,
        opcode: Opcode,
        left: impl Into<Value>,
        right: impl Into<Value>,
    ) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(opcode, &[left.into(), right.into()]))?.into())
    }

    binary! {
        /// `add`
        add Add;
        /// `sub`
        sub Sub;
        /// `mul`
        mul Mul;
        /// `udiv`
        udiv UDiv;
        /// `sdiv`
        sdiv SDiv;
        /// `urem`
        urem URem;
        /// `srem`
        srem SRem;
        /// `shl`
        shl Shl;
        /// `lshr`
        lshr LShr;
        /// `ashr`
        ashr AShr;
        /// `and`
        and And;
        /// `or`
        or Or;
        /// `xor`
        xor Xor;
        /// `fadd`
        fadd FAdd;
        /// `fsub`
        fsub FSub;
        /// `fmul`
        fmul FMul;
        /// `fdiv`
        fdiv FDiv;
        /// `frem`
        frem FRem;
    }

    /// `fneg`
    fn fneg(&mut self, value: impl Into<Value>) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(Opcode::FNeg, &[value.into()]))?.into())
    }

    /// `icmp`
    fn icmp(
        &mut self,
        predicate: IntPredicate,
        left: impl Into<Value>,
        right: impl Into<Value>,
    ) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::ICmp, &[left.into(), right.into()]);
        inst.sub = predicate as u8;
        Ok(self.emit(inst)?.into())
    }

    /// `fcmp`
    fn fcmp(
        &mut self,
        predicate: FloatPredicate,
        left: impl Into<Value>,
        right: impl Into<Value>,
    ) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::FCmp, &[left.into(), right.into()]);
        inst.sub = predicate as u8;
        Ok(self.emit(inst)?.into())
    }

    /// Any conversion.
    fn cast(
        &mut self,
        opcode: Opcode,
        value: impl Into<Value>,
        to: Type,
    ) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(opcode, &[value.into()]).of_type(to))?.into())
    }

    casts! {
        /// `trunc`
        trunc Trunc;
        /// `zext`
        zext ZExt;
        /// `sext`
        sext SExt;
        /// `fptrunc`
        fptrunc FpTrunc;
        /// `fpext`
        fpext FpExt;
        /// `fptoui`
        fptoui FpToUi;
        /// `fptosi`
        fptosi FpToSi;
        /// `uitofp`
        uitofp UiToFp;
        /// `sitofp`
        sitofp SiToFp;
        /// `ptrtoint`
        ptrtoint PtrToInt;
        /// `ptrtoaddr`
        ptrtoaddr PtrToAddr;
        /// `inttoptr`
        inttoptr IntToPtr;
        /// `bitcast`
        bitcast BitCast;
        /// `addrspacecast`
        addrspacecast AddrSpaceCast;
    }

    /// `select`
    fn select(
        &mut self,
        condition: impl Into<Value>,
        on_true: impl Into<Value>,
        on_false: impl Into<Value>,
    ) -> Result<Value, BuildError> {
        let operands = [condition.into(), on_true.into(), on_false.into()];
        Ok(self.emit(NewInst::new(Opcode::Select, &operands))?.into())
    }

    /// `freeze`
    fn freeze(&mut self, value: impl Into<Value>) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(Opcode::Freeze, &[value.into()]))?.into())
    }

    // Vectors and aggregates.

    /// `extractelement`
    fn extract_element(
        &mut self,
        vector: impl Into<Value>,
        index: impl Into<Value>,
    ) -> Result<Value, BuildError> {
        let operands = [vector.into(), index.into()];
        Ok(self.emit(NewInst::new(Opcode::ExtractElement, &operands))?.into())
    }

    /// `insertelement`
    fn insert_element(
        &mut self,
        vector: impl Into<Value>,
        element: impl Into<Value>,
        index: impl Into<Value>,
    ) -> Result<Value, BuildError> {
        let operands = [vector.into(), element.into(), index.into()];
        Ok(self.emit(NewInst::new(Opcode::InsertElement, &operands))?.into())
    }

    /// `shufflevector`; lane `-1` is poison.
    fn shuffle_vector(
        &mut self,
        left: impl Into<Value>,
        right: impl Into<Value>,
        lanes: &[i32],
    ) -> Result<Value, BuildError> {
        let mask = self.context().const_mask(lanes);
        let operands = [left.into(), right.into(), mask.into()];
        Ok(self.emit(NewInst::new(Opcode::ShuffleVector, &operands))?.into())
    }

    /// `extractvalue`
    fn extract_value(
        &mut self,
        aggregate: impl Into<Value>,
        indices: &[u32],
    ) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::ExtractValue, &[aggregate.into()]);
        inst.indices = indices;
        Ok(self.emit(inst)?.into())
    }

    /// `insertvalue`
    fn insert_value(
        &mut self,
        aggregate: impl Into<Value>,
        value: impl Into<Value>,
        indices: &[u32],
    ) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::InsertValue, &[aggregate.into(), value.into()]);
        inst.indices = indices;
        Ok(self.emit(inst)?.into())
    }

    // Memory.

    /// `alloca` of one object, in the given address space (5 on AMD GPUs).
    fn alloca(&mut self, ty: Type, address_space: u32) -> Result<Value, BuildError> {
        let one = self.context().const_i32(1);
        self.alloca_array(ty, one, address_space)
    }

    /// `alloca` of several objects.
    fn alloca_array(
        &mut self,
        ty: Type,
        count: impl Into<Value>,
        address_space: u32,
    ) -> Result<Value, BuildError> {
        let pointer = self.context().ptr_type(address_space);
        let mut inst = NewInst::new(Opcode::Alloca, &[count.into()]).of_type(pointer);
        inst.element_type = Some(ty);
        Ok(self.emit(inst)?.into())
    }

    /// `load`
    fn load(&mut self, ty: Type, address: impl Into<Value>) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(Opcode::Load, &[address.into()]).of_type(ty))?.into())
    }

    /// `store`
    fn store(
        &mut self,
        value: impl Into<Value>,
        address: impl Into<Value>,
    ) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::Store, &[value.into(), address.into()]))
    }

    /// `load atomic`. An alignment must have been given with [`InstBuilder::aligned`].
    fn atomic_load(
        &mut self,
        ty: Type,
        address: impl Into<Value>,
        ordering: Ordering,
        scope: SyncScope,
    ) -> Result<Value, BuildError> {
        self.flagged(InstFlags::ATOMIC);
        let mut inst = NewInst::new(Opcode::Load, &[address.into()]).of_type(ty);
        inst.mem = ordered(ordering, Ordering::NotAtomic, scope)?;
        Ok(self.emit(inst)?.into())
    }

    /// `store atomic`. An alignment must have been given with [`InstBuilder::aligned`].
    fn atomic_store(
        &mut self,
        value: impl Into<Value>,
        address: impl Into<Value>,
        ordering: Ordering,
        scope: SyncScope,
    ) -> Result<InstId, BuildError> {
        self.flagged(InstFlags::ATOMIC);
        let mut inst = NewInst::new(Opcode::Store, &[value.into(), address.into()]);
        inst.mem = ordered(ordering, Ordering::NotAtomic, scope)?;
        self.emit(inst)
    }

    /// `fence`
    fn fence(&mut self, ordering: Ordering, scope: SyncScope) -> Result<InstId, BuildError> {
        let mut inst = NewInst::new(Opcode::Fence, &[]);
        inst.mem = ordered(ordering, Ordering::NotAtomic, scope)?;
        self.emit(inst)
    }

    /// `cmpxchg`: the pair of the old value and whether it was the expected one.
    fn cmpxchg(
        &mut self,
        address: impl Into<Value>,
        expected: impl Into<Value>,
        new: impl Into<Value>,
        orderings: (Ordering, Ordering),
        scope: SyncScope,
    ) -> Result<Value, BuildError> {
        let operands = [address.into(), expected.into(), new.into()];
        let mut inst = NewInst::new(Opcode::CmpXchg, &operands);
        inst.mem = ordered(orderings.0, orderings.1, scope)?;
        Ok(self.emit(inst)?.into())
    }

    /// `atomicrmw`: the old value.
    fn atomic_rmw(
        &mut self,
        op: RmwOp,
        address: impl Into<Value>,
        value: impl Into<Value>,
        ordering: Ordering,
        scope: SyncScope,
    ) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::AtomicRmw, &[address.into(), value.into()]);
        inst.sub = op as u8;
        inst.mem = ordered(ordering, Ordering::NotAtomic, scope)?;
        Ok(self.emit(inst)?.into())
    }

    /// `getelementptr`
    fn gep(
        &mut self,
        element_type: Type,
        base: impl Into<Value>,
        indices: &[Value],
    ) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::GetElementPtr, &[base.into()]);
        inst.operands.extend_from_slice(indices);
        inst.element_type = Some(element_type);
        Ok(self.emit(inst)?.into())
    }

    /// `getelementptr` to a field of the structure that `base` points to.
    fn struct_gep(
        &mut self,
        structure: Type,
        base: impl Into<Value>,
        field: u32,
    ) -> Result<Value, BuildError> {
        let context = self.context();
        let (zero, field) = (context.const_i32(0), context.int_const(Type::I32, u64::from(field)));
        self.gep(structure, base, &[zero.into(), field.into()])
    }

    /// `getelementptr` by a number of bytes.
    fn ptr_add(
        &mut self,
        base: impl Into<Value>,
        bytes: impl Into<Value>,
    ) -> Result<Value, BuildError> {
        self.gep(Type::I8, base, &[bytes.into()])
    }

    /// `va_arg`
    fn va_arg(&mut self, list: impl Into<Value>, ty: Type) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(Opcode::VaArg, &[list.into()]).of_type(ty))?.into())
    }

    // Calls.

    /// `call` with arguments alone.
    fn call(&mut self, callee: impl Into<Callee>, args: &[Value]) -> Result<Value, BuildError> {
        self.call_with(&CallSpec::new(callee).args(args))
    }

    /// `call` with bundles or attributes. Tail kinds are flags: [`InstBuilder::flagged`].
    fn call_with(&mut self, call: &CallSpec) -> Result<Value, BuildError> {
        Ok(self.emit(call_inst(Opcode::Call, call, &[]))?.into())
    }

    /// `invoke`
    fn invoke(
        &mut self,
        call: &CallSpec,
        normal: BlockId,
        unwind: BlockId,
    ) -> Result<Value, BuildError> {
        Ok(self.emit(call_inst(Opcode::Invoke, call, &[normal, unwind]))?.into())
    }

    /// `callbr`
    fn callbr(
        &mut self,
        call: &CallSpec,
        fall_through: BlockId,
        indirect: &[BlockId],
    ) -> Result<Value, BuildError> {
        let successors: SmallVec<[BlockId; 4]> =
            [fall_through].into_iter().chain(indirect.iter().copied()).collect();
        Ok(self.emit(call_inst(Opcode::CallBr, call, &successors))?.into())
    }

    // Terminators.

    /// `ret`
    fn ret(&mut self, value: impl Into<Value>) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::Ret, &[value.into()]))
    }

    /// `ret void`
    fn ret_void(&mut self) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::Ret, &[]))
    }

    /// `br`
    fn br(&mut self, target: BlockId) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::Br, &[]).to(&[target]))
    }

    /// `br` on a condition.
    fn cond_br(
        &mut self,
        condition: impl Into<Value>,
        on_true: BlockId,
        on_false: BlockId,
    ) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::Br, &[condition.into()]).to(&[on_true, on_false]))
    }

    /// `switch`
    fn switch(
        &mut self,
        value: impl Into<Value>,
        default: BlockId,
        cases: &[(Const, BlockId)],
    ) -> Result<InstId, BuildError> {
        let mut inst = NewInst::new(Opcode::Switch, &[value.into()]);
        inst.operands.extend(cases.iter().map(|&(case, _)| Value::from(case)));
        let targets = cases.iter().map(|&(_, target)| target);
        let successors: SmallVec<[BlockId; 8]> = [default].into_iter().chain(targets).collect();
        self.emit(inst.to(&successors))
    }

    /// `indirectbr`
    fn indirect_br(
        &mut self,
        address: impl Into<Value>,
        targets: &[BlockId],
    ) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::IndirectBr, &[address.into()]).to(targets))
    }

    /// `unreachable`
    fn unreachable(&mut self) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::Unreachable, &[]))
    }

    // Exception handling.

    /// `landingpad`: `catch` clauses are pointers, `filter` clauses (`true`) arrays of them.
    fn landing_pad(
        &mut self,
        ty: Type,
        cleanup: bool,
        clauses: &[(bool, Value)],
    ) -> Result<Value, BuildError> {
        if cleanup {
            self.flagged(InstFlags::CLEANUP);
        }
        let mut inst = NewInst::new(Opcode::LandingPad, &[]).of_type(ty);
        inst.operands.extend(clauses.iter().map(|&(_, value)| value));
        let kinds: SmallVec<[u32; 8]> = clauses.iter().map(|&(f, _)| u32::from(f)).collect();
        inst.indices = &kinds;
        Ok(self.emit(inst)?.into())
    }

    /// `resume`
    fn resume(&mut self, exception: impl Into<Value>) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::Resume, &[exception.into()]))
    }

    /// `catchswitch`; the parent is a pad or `none`.
    fn catch_switch(
        &mut self,
        parent: impl Into<Value>,
        handlers: &[BlockId],
        unwind: Option<BlockId>,
    ) -> Result<Value, BuildError> {
        if unwind.is_some() {
            self.flagged(InstFlags::CLEANUP);
        }
        let successors: SmallVec<[BlockId; 4]> = handlers.iter().copied().chain(unwind).collect();
        Ok(self.emit(NewInst::new(Opcode::CatchSwitch, &[parent.into()]).to(&successors))?.into())
    }

    /// `catchpad` of a `catchswitch`.
    fn catch_pad(&mut self, switch: impl Into<Value>, args: &[Value]) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::CatchPad, &[switch.into()]);
        inst.operands.extend_from_slice(args);
        Ok(self.emit(inst)?.into())
    }

    /// `cleanuppad`; the parent is a pad or `none`.
    fn cleanup_pad(
        &mut self,
        parent: impl Into<Value>,
        args: &[Value],
    ) -> Result<Value, BuildError> {
        let mut inst = NewInst::new(Opcode::CleanupPad, &[parent.into()]);
        inst.operands.extend_from_slice(args);
        Ok(self.emit(inst)?.into())
    }

    /// `catchret`
    fn catch_ret(&mut self, pad: impl Into<Value>, to: BlockId) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::CatchRet, &[pad.into()]).to(&[to]))
    }

    /// `cleanupret`
    fn cleanup_ret(
        &mut self,
        pad: impl Into<Value>,
        unwind: Option<BlockId>,
    ) -> Result<InstId, BuildError> {
        self.emit(NewInst::new(Opcode::CleanupRet, &[pad.into()]).to(unwind.as_slice()))
    }
}
