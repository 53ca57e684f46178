//! Edits of instructions: operands, flags, opcodes, places, names, attachments.

use smallvec::SmallVec;

use crate::{
    body::{Body, InstId, raw},
    builder::BuildError,
    describe,
    edit::{Transaction, store},
    extras::Named,
    flow::{BlockId, node_of},
    inst::{CallInfo, FloatPredicate, InstData, InstFlags, IntPredicate, Opcode},
    metadata::{Attachment, MetadataId},
    symbol::Symbol,
    types::Type,
    value::{Value, ValueKind},
    verify::{
        fault::Fault,
        integrity, rules,
        types::MAX_ALIGN,
        view::{self, InstView, OperandTypes, type_of},
    },
};

/// What an instruction would be after a change.
pub(super) struct Plan<'p> {
    pub(super) data: InstData,
    pub(super) operands: &'p [Value],
    pub(super) call: Option<&'p CallInfo>,
}

/// Whether only phis and pads may stand before an instruction with this opcode.
pub(super) const fn leads_block(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Phi
            | Opcode::LandingPad
            | Opcode::CatchPad
            | Opcode::CleanupPad
            | Opcode::CatchSwitch
    )
}

impl Transaction<'_> {
    /// Whether an instruction exists and is in a block.
    pub(super) fn linked(&self, inst: InstId) -> Result<BlockId, BuildError> {
        let body = self.body();
        let block = ((raw(inst) as usize) < body.id_count()).then(|| body.block_of(inst)).flatten();
        block
            .ok_or_else(|| self.entity(Value::inst(inst), "is not an instruction of this function"))
    }

    /// Whether a value exists and was not erased; its type.
    pub(super) fn checked_type(&self, value: Value) -> Result<Type, BuildError> {
        self.type_of(value).ok_or_else(|| BuildError::Entity {
            function: describe::global(self.context(), self.header().name),
            entity: format!("{value:?}"),
            message: "is not a value of this function",
        })
    }

    fn fault(&self, inst: InstId, operands: &[Value], fault: Fault) -> BuildError {
        let (context, function) = (self.context(), self.function());
        let block = self.body().block_of(inst);
        BuildError::Inst {
            function: describe::global(context, function.header.name),
            block: block.map_or_else(String::new, |block| describe::block(function, block)),
            opcode: self.body().inst(inst).opcode,
            message: fault.message,
            operands: operands
                .iter()
                .map(|&v| describe::typed_value(context, function, v))
                .collect(),
        }
    }

    /// Checks an instruction against all rules that its operands decide.
    pub(super) fn check_plan(&self, inst: InstId, plan: &Plan<'_>) -> Result<(), BuildError> {
        let env = store::env(self.store);
        let (header, body) = (self.header(), self.body());
        let types: OperandTypes =
            plan.operands.iter().map(|&v| type_of(&env.types, header, body, v)).collect();
        let old = view::view(header, body, inst, &[]);
        let view = InstView {
            data: &plan.data,
            operands: plan.operands,
            types: &types,
            call: plan.call.or(old.call),
            indices: old.indices,
            header,
            body,
        };
        let shape = integrity::Shape {
            data: &plan.data,
            call: view.call,
            indices: view.indices.len(),
            successors: None,
        };
        let fault = |fault| self.fault(inst, plan.operands, fault);
        if let Some(message) = shape.fault(&env) {
            return Err(fault(Fault::new(message, Vec::new())));
        }
        rules::check(&env, &view).map_err(fault)
    }

    /// Changes one operand to a value of the same type.
    ///
    /// Operands are numbered as the [opcode](Opcode) orders them. The incoming blocks of a phi
    /// follow the edges and cannot be set.
    ///
    /// # Errors
    /// When there is no such operand, or the instruction cannot have the value there: its own
    /// result, unless it is a phi or is not reached.
    pub fn set_operand(
        &mut self,
        inst: InstId,
        index: u32,
        value: impl Into<Value>,
    ) -> Result<(), BuildError> {
        let value = value.into();
        // Each part is read once in the common case, where nothing is wrong: reading is most of the
        // cost.
        let body = self.body();
        if !body.has(inst) {
            self.linked(inst)?;
        }
        let data = *body.inst(inst);
        let operands = body.operands(inst);
        let values = if data.opcode == Opcode::Phi { operands.len() / 2 } else { operands.len() };
        if index as usize >= values {
            return Err(self.entity(inst.into(), "has no such operand to set"));
        }
        let old = operands[index as usize];
        if old == value {
            return Ok(());
        }
        let ty = match value.as_inst() {
            Some(of) if body.has(of) => body.inst(of).ty,
            _ => self.checked_type(value)?,
        };
        self.check_not_itself(inst, value)?;
        self.check_not_parent((inst, data.opcode), old)?;
        if !self.is_simple((body, data.opcode), old, value, ty) {
            let mut operands: SmallVec<[Value; 8]> = operands.into();
            operands[index as usize] = value;
            self.check_plan(inst, &Plan { data, operands: &operands, call: None })?;
        }
        self.put_operand(inst, index, value);
        if data.opcode == Opcode::Phi {
            self.pend_parallel(inst, index);
        }
        Ok(())
    }

    /// Whether the types are all that needs a check.
    pub(super) fn is_simple(
        &self,
        (body, opcode): (&Body, Opcode),
        old: Value,
        new: Value,
        ty: Type,
    ) -> bool {
        let is_variable = matches!(new.kind(), ValueKind::Inst(_) | ValueKind::Arg(_));
        let has_same_type = || match old.kind() {
            ValueKind::Inst(old) => body.inst(old).ty == ty,
            ValueKind::Arg(_) => self.type_of(old) == Some(ty),
            _ => false,
        };
        let is_free = opcode.is_binary()
            || opcode.is_cast()
            || matches!(
                opcode,
                Opcode::ICmp
                    | Opcode::FCmp
                    | Opcode::Select
                    | Opcode::Phi
                    | Opcode::FNeg
                    | Opcode::Freeze
                    | Opcode::Load
                    | Opcode::Store
                    | Opcode::GetElementPtr
            );
        // A pointer may be a `swifterror` slot, which has rules of its own.
        is_free && is_variable && ty != Type::PTR && has_same_type()
    }

    /// Checks that an instruction does not read its own result: only a phi may, or unreachable
    /// code.
    pub(super) fn check_not_itself(&self, user: InstId, operand: Value) -> Result<(), BuildError> {
        if operand != user.into() || self.body().inst(user).opcode == Opcode::Phi {
            return Ok(());
        }
        let is_executed = || {
            let (cfg, block) = (self.flow().cfg()?, self.body().block_of(user)?);
            Some(phalanx_graph::Dfs::new(&cfg).is_reachable(node_of(block)))
        };
        match is_executed() {
            Some(true) => Err(self.entity(operand, "would read itself")),
            _ => Ok(()),
        }
    }

    /// Checks that a `catchpad` keeps its `catchswitch`: another one is refused as its operand.
    pub(super) fn check_not_parent(
        &self,
        (user, opcode): (InstId, Opcode),
        operand: Value,
    ) -> Result<(), BuildError> {
        let is_switch = |of| self.body().inst(of).opcode == Opcode::CatchSwitch;
        match opcode == Opcode::CatchPad && operand.as_inst().is_some_and(is_switch) {
            true => Err(self.entity(user.into(), "stays with its `catchswitch`")),
            false => Ok(()),
        }
    }

    pub(super) fn check_erasable(&self, inst: InstId) -> Result<(), BuildError> {
        let opcode = self.body().inst(inst).opcode;
        if opcode.is_terminator() {
            return Err(self.entity(inst.into(), "is a terminator, which can only be replaced"));
        }
        let block = self.body().block_of(inst);
        let is_entered = block.is_some_and(|block| self.flow().in_degree(block) > 0);
        match opcode != Opcode::Phi && self.leads_block(inst) && is_entered {
            true => Err(self.entity(inst.into(), "is what its block is entered by unwinding with")),
            false => Ok(()),
        }
    }

    pub(super) fn check_unused(&self, inst: InstId) -> Result<(), BuildError> {
        match self.uses_of(inst).find(|u| u.user != inst) {
            Some(found) => Err(BuildError::Used {
                function: describe::global(self.context(), self.header().name),
                entity: describe::value(self.context(), self.function(), inst.into()),
                user: describe::value(self.context(), self.function(), found.user.into()),
            }),
            None => Ok(()),
        }
    }

    /// Removes an instruction from the function. Debug records before it stay in their place; its
    /// attachments and its name are removed.
    ///
    /// # Errors
    /// When something reads it, or it is a terminator: see [`Transaction::replace_terminator`].
    /// When it is a pad and edges lead to its block.
    pub fn erase(&mut self, inst: InstId) -> Result<(), BuildError> {
        self.linked(inst)?;
        self.check_erasable(inst)?;
        self.check_unused(inst)?;
        self.remove(inst);
        Ok(())
    }

    /// Erases without checks.
    pub(super) fn remove(&mut self, inst: InstId) {
        if self.body().inst(inst).ty != Type::VOID {
            self.erase_mentions(inst);
        }
        self.move_debug_records(inst, self.body().next(inst));
        self.put_attachments(inst, Vec::new());
        self.put_name(Named::Inst(raw(inst)), b"");
        self.unlink(inst);
    }

    /// Moves an instruction to just before another, in the same or another block.
    ///
    /// # Errors
    /// When one of them cannot stand there: phis come first, terminators last, and both stay where
    /// they are, as a `musttail` call does before its return.
    pub fn move_before(&mut self, inst: InstId, before: InstId) -> Result<(), BuildError> {
        self.linked(inst)?;
        let block = self.linked(before)?;
        self.check_movable(inst)?;
        if inst == before {
            return Ok(());
        }
        if self.leads_block(before) {
            return Err(self.entity(before.into(), "must stay at the start of its block"));
        }
        self.check_behind(self.body().prev(before))?;
        self.move_debug_records(inst, self.body().next(inst));
        self.relink(inst, block, Some(before));
        Ok(())
    }

    /// Moves an instruction to just before the terminator of a block.
    ///
    /// # Errors
    /// As [`Transaction::move_before`], or when the block has no terminator.
    pub fn move_to_end(&mut self, inst: InstId, block: BlockId) -> Result<(), BuildError> {
        let terminator = self.terminator(block)?;
        self.move_before(inst, terminator)
    }

    /// Whether only phis and pads may stand before an instruction.
    pub(super) fn leads_block(&self, inst: InstId) -> bool {
        leads_block(self.body().inst(inst).opcode)
    }

    fn is_must_tail(&self, inst: InstId) -> bool {
        let data = self.body().inst(inst);
        data.opcode == Opcode::Call && data.flags.contains(InstFlags::MUST_TAIL)
    }

    /// Checks that `prev` is no `musttail` call: only its return may follow that.
    pub(super) fn check_behind(&self, prev: Option<InstId>) -> Result<(), BuildError> {
        match prev.filter(|&inst| self.is_must_tail(inst)) {
            Some(call) => Err(self.entity(call.into(), "must stay just before its return")),
            None => Ok(()),
        }
    }

    fn check_movable(&self, inst: InstId) -> Result<(), BuildError> {
        let is_fixed = self.leads_block(inst)
            || self.body().inst(inst).opcode.is_terminator()
            || self.is_must_tail(inst);
        match is_fixed {
            true => Err(self.entity(inst.into(), "stays where it is in its block")),
            false => Ok(()),
        }
    }

    /// The terminator of a block.
    pub(super) fn terminator(&self, block: BlockId) -> Result<InstId, BuildError> {
        self.placed(block)?;
        let found = self.body().terminator(block);
        found.ok_or_else(|| self.entity(Value::block(block), "has no terminator"))
    }

    /// Replaces all flags of an instruction.
    ///
    /// # Errors
    /// When the opcode does not know one of them.
    pub fn set_flags(&mut self, inst: InstId, flags: InstFlags) -> Result<(), BuildError> {
        self.change(inst, |data| data.flags = flags)
    }

    /// Changes the opcode of an instruction; operands and result type stay. Its flags are dropped.
    ///
    /// # Errors
    /// When there is no such operation.
    pub fn set_opcode(&mut self, inst: InstId, opcode: Opcode) -> Result<(), BuildError> {
        self.linked(inst)?;
        let old = self.body().inst(inst).opcode;
        if !(old.is_binary() && opcode.is_binary() || old.is_cast() && opcode.is_cast()) {
            return Err(self.entity(inst.into(), "cannot become another kind of operation"));
        }
        self.change(inst, |data| {
            data.opcode = opcode;
            data.flags = InstFlags::NONE;
        })
    }

    /// Sets the predicate of an `icmp`.
    ///
    /// # Errors
    /// When the instruction is no `icmp`.
    pub fn set_int_predicate(
        &mut self,
        inst: InstId,
        predicate: IntPredicate,
    ) -> Result<(), BuildError> {
        self.expect(inst, &[Opcode::ICmp], "is no `icmp`")?;
        self.change(inst, |data| data.sub = predicate as u8)
    }

    /// Sets the predicate of an `fcmp`.
    ///
    /// # Errors
    /// When the instruction is no `fcmp`.
    pub fn set_float_predicate(
        &mut self,
        inst: InstId,
        predicate: FloatPredicate,
    ) -> Result<(), BuildError> {
        self.expect(inst, &[Opcode::FCmp], "is no `fcmp`")?;
        self.change(inst, |data| data.sub = predicate as u8)
    }

    /// Sets the alignment of a memory operation in bytes, a power of two.
    ///
    /// # Errors
    /// When the instruction has none, or cannot have this one.
    pub fn set_align(&mut self, inst: InstId, align: u64) -> Result<(), BuildError> {
        let memory =
            [Opcode::Load, Opcode::Store, Opcode::Alloca, Opcode::AtomicRmw, Opcode::CmpXchg];
        self.expect(inst, &memory, "has no alignment")?;
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(self.entity(inst.into(), "cannot have such an alignment"));
        }
        self.change(inst, |data| data.words[1] = data.mem().with_align(Some(align)).raw())
    }

    /// Replaces the shape of a call: attributes of the call site, convention.
    ///
    /// # Errors
    /// When it is no call, or its operands do not fit the shape.
    pub fn set_call_info(&mut self, inst: InstId, info: CallInfo) -> Result<(), BuildError> {
        self.linked(inst)?;
        let data = *self.body().inst(inst);
        if !data.opcode.is_call() {
            return Err(self.entity(inst.into(), "is no call"));
        }
        let operands: SmallVec<[Value; 8]> = self.body().operands(inst).into();
        self.check_plan(inst, &Plan { data, operands: &operands, call: Some(&info) })?;
        let at = self.body_to_change().add_call_info(info);
        self.put_record(inst, InstData { words: [at, 0], ..data });
        Ok(())
    }

    /// Replaces the operand bundles of a call; everything else of it stays.
    ///
    /// # Errors
    /// When it is no call, or must not have such bundles.
    pub fn set_bundles(
        &mut self,
        call: InstId,
        bundles: &[(Symbol, &[Value])],
    ) -> Result<(), BuildError> {
        self.linked(call)?;
        let mut data = *self.body().inst(call);
        if !data.opcode.is_call() {
            return Err(self.entity(call.into(), "is no call"));
        }
        for &value in bundles.iter().flat_map(|(_, list)| *list) {
            self.checked_type(value)?;
        }
        let mut info = self.body().call_info(call).clone();
        let old = self.body().operands(call);
        let args = info.args as usize;
        let bundled: usize = info.bundles.iter().map(|&(_, len)| len as usize).sum();
        let mut operands: SmallVec<[Value; 8]> = old[..args].into();
        operands.extend(bundles.iter().flat_map(|(_, list)| list.iter().copied()));
        operands.extend_from_slice(&old[args + bundled..]);
        info.bundles = bundles.iter().map(|&(tag, list)| (tag, list.len() as u32)).collect();
        data.operands.len = operands.len() as u32;
        self.check_plan(call, &Plan { data, operands: &operands, call: Some(&info) })?;
        let at = self.body_to_change().add_call_info(info);
        self.put_operands(call, &operands);
        let data = *self.body().inst(call);
        self.put_record(call, InstData { words: [at, data.words[1]], ..data });
        Ok(())
    }

    fn expect(
        &self,
        inst: InstId,
        opcodes: &[Opcode],
        message: &'static str,
    ) -> Result<(), BuildError> {
        self.linked(inst)?;
        match opcodes.contains(&self.body().inst(inst).opcode) {
            true => Ok(()),
            false => Err(self.entity(inst.into(), message)),
        }
    }

    fn change(
        &mut self,
        inst: InstId,
        change: impl FnOnce(&mut InstData),
    ) -> Result<(), BuildError> {
        self.linked(inst)?;
        let old = *self.body().inst(inst);
        let mut data = old;
        change(&mut data);
        if data == old {
            return Ok(());
        }
        let operands: SmallVec<[Value; 8]> = self.body().operands(inst).into();
        self.check_plan(inst, &Plan { data, operands: &operands, call: None })?;
        self.put_record(inst, data);
        Ok(())
    }

    /// Names an instruction, argument or block. If the name is taken, a number is appended; the
    /// empty name removes the name.
    ///
    /// # Errors
    /// When there is no such entity, or it has no name to give: constants, instructions without
    /// result.
    pub fn set_name(&mut self, value: impl Into<Value>, name: &str) -> Result<(), BuildError> {
        let value = value.into();
        let ty = self.checked_type(value)?;
        let named = match value.kind() {
            ValueKind::Inst(inst) if ty != Type::VOID => Named::Inst(raw(inst)),
            ValueKind::Arg(position) => Named::Arg(position),
            ValueKind::Block(block) => Named::Block(raw(block)),
            _ => return Err(self.entity(value, "has no name")),
        };
        self.put_name(named, name.as_bytes());
        Ok(())
    }

    /// Attaches metadata to an instruction and replaces an attachment of the same kind; `None`
    /// removes it.
    ///
    /// # Errors
    /// When the instruction is not in the function, or the module has no such metadata.
    pub fn attach(
        &mut self,
        inst: InstId,
        kind: &str,
        node: Option<MetadataId>,
    ) -> Result<(), BuildError> {
        self.linked(inst)?;
        let count = self.module().metadata.len();
        if node.is_some_and(|node| node.into_raw().into_u32() as usize >= count) {
            return Err(
                self.entity(inst.into(), "cannot have metadata that its module does not have")
            );
        }
        let kind = self.context().symbol(kind.as_bytes());
        let mut list: Vec<Attachment> = self.extras().attachments_of(inst).collect();
        let place = list.iter().position(|a| a.kind == kind);
        match (place, node) {
            (Some(at), Some(node)) => list[at].node = node,
            (Some(at), None) => drop(list.remove(at)),
            (None, Some(node)) => list.push(Attachment { kind, node }),
            (None, None) => {}
        }
        self.put_attachments(inst, list);
        Ok(())
    }
}
