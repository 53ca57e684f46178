//! [`Cursor`]: where new instructions go.

use smallvec::SmallVec;

use super::{blocks::is_plain, insts::leads_block};
use crate::{
    body::{InstId, raw},
    builder::{BuildError, InstBuilder, Modifiers, NewInst, check},
    context::Context,
    describe,
    edit::{Transaction, store},
    extras::Named,
    flow::BlockId,
    function::FunctionRef,
    inst::Opcode,
    types::Type,
    value::{Value, ValueKind},
};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Position {
    Before(InstId),
    After(InstId),
    Start(BlockId),
    End(BlockId),
    /// In place of the terminator.
    Terminator(BlockId),
}

/// A place in the function under edit. Each method of [`InstBuilder`] inserts one instruction
/// there, the next one after it.
#[derive(Debug)]
pub struct Cursor<'t, 's> {
    edit: &'t mut Transaction<'s>,
    place: Position,
    next: Modifiers,
}

impl<'s> Transaction<'s> {
    fn cursor(&mut self, place: Position) -> Cursor<'_, 's> {
        Cursor { edit: self, place, next: Modifiers::default() }
    }

    /// The place just before an instruction.
    pub fn before(&mut self, inst: InstId) -> Cursor<'_, 's> {
        self.cursor(Position::Before(inst))
    }

    /// The place just after an instruction; after the phis of its block, when it is one.
    pub fn after(&mut self, inst: InstId) -> Cursor<'_, 's> {
        self.cursor(Position::After(inst))
    }

    /// The start of a block, after its phis and pad.
    pub fn at_start(&mut self, block: BlockId) -> Cursor<'_, 's> {
        self.cursor(Position::Start(block))
    }

    /// The end of a block: before its terminator, if it has one.
    pub fn at_end(&mut self, block: BlockId) -> Cursor<'_, 's> {
        self.cursor(Position::End(block))
    }

    /// The place of a block's terminator. The terminator that is inserted replaces the old one, and
    /// phis of its targets are updated: see [`Transaction::redirect_edge`]. As there, no edge may
    /// lead to the entry. The result of the old terminator must not be read.
    pub fn replace_terminator(&mut self, block: BlockId) -> Cursor<'_, 's> {
        self.cursor(Position::Terminator(block))
    }
}

impl<'s> Cursor<'_, 's> {
    /// The transaction.
    pub fn edit(&mut self) -> &mut Transaction<'s> {
        self.edit
    }

    /// A phi without values; they come with [`Transaction::add_phi_input`]. It goes after the phis
    /// of the cursor's block.
    ///
    /// # Errors
    /// When no such phi can be.
    pub fn phi(&mut self, ty: Type) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(Opcode::Phi, &[]).of_type(ty))?.into())
    }

    /// Inserts a copy of an instruction, with its operands and attachments.
    ///
    /// # Errors
    /// When it is a phi, a pad or a terminator: see [`Transaction::clone_blocks`].
    pub fn clone_of(&mut self, inst: InstId) -> Result<InstId, BuildError> {
        self.edit.linked(inst)?;
        let data = *self.edit.body().inst(inst);
        if self.edit.leads_block(inst) || data.opcode.is_terminator() {
            return Err(self.edit.entity(inst.into(), "is only cloned with its block"));
        }
        let (block, before) = self.place(data.opcode)?;
        self.edit.check_room(0, 1)?;
        let operands: SmallVec<[Value; 8]> = self.edit.body().operands(inst).into();
        let modifiers = std::mem::take(&mut self.next);
        let new = self.edit.create_like(data, &operands);
        self.edit.link(block, new, before);
        let attachments = self.edit.extras().attachments_of(inst).collect();
        self.edit.put_attachments(new, attachments);
        let name = match &*modifiers.name {
            b"" => self.edit.extras().names.inst(inst).unwrap_or_default().to_vec(),
            name => name.to_vec(),
        };
        self.finish(new, data.ty, &name);
        Ok(new)
    }

    /// Inserts a copy of an instruction of another function, with these operands in place of its
    /// own: of a pattern that was parsed, for instance. Both functions are built over one context.
    /// Attachments are left out. O(operands).
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use phalanx_ir::{BuildError, Context, InstBuilder, ModuleBuilder, Type, Value};
    /// # use phalanx_ir::{builder::FunctionSpec, edit::{InModule, Transaction}};
    /// # fn main() -> Result<(), BuildError> {
    /// # let mut builder = ModuleBuilder::new(Arc::new(Context::new()));
    /// # let spec = FunctionSpec::new(Type::I32).param(Type::I32, "a").param(Type::I32, "b");
    /// # for name in ["f", "pattern"] {
    /// #     let mut f = builder.define_function(name, &spec)?;
    /// #     let [a, b] = f.args();
    /// #     let entry = f.block("entry");
    /// #     f.switch_to(entry);
    /// #     let sum = if name == "f" { f.add(a, b)? } else { f.mul(a, b)? };
    /// #     f.ret(sum)?;
    /// #     f.finish()?;
    /// # }
    /// # let mut module = builder.finish()?;
    /// // `%0 = mul i32 %a, %b` of the pattern becomes `%1 = mul i32 %b, %b` of the edited function.
    /// let pattern = module.functions[1].clone();
    /// let mul = pattern.body.all_ids().next().expect("it is there");
    /// let mut store = InModule::new(&mut module, 0);
    /// let mut edit = Transaction::new(&mut store);
    /// let ret = edit.body().all_ids().nth(1).expect("it is there");
    /// let new = edit.before(ret).copy_of(pattern.view(), mul, &[Value::arg(1), Value::arg(1)])?;
    /// edit.set_operand(ret, 0, new)?;
    /// edit.commit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When it is a phi, a pad or a terminator, when there is another number of operands, or one of
    /// them is no value of this function or has another type than the operand it replaces.
    pub fn copy_of(
        &mut self,
        source: FunctionRef<'_>,
        inst: InstId,
        operands: &[Value],
    ) -> Result<InstId, BuildError> {
        let data = *source.body.inst(inst);
        let context = self.edit.context();
        let refuse = |message| BuildError::Entity {
            function: describe::global(context, source.header.name),
            entity: format!("{inst:?}"),
            message,
        };
        if leads_block(data.opcode) || data.opcode.is_terminator() {
            return Err(refuse("is only copied with its block"));
        }
        let own = source.body.operands(inst);
        if own.len() != operands.len() {
            return Err(refuse("has another number of operands"));
        }
        for (&old, &new) in own.iter().zip(operands) {
            if matches!(old.kind(), ValueKind::Metadata(_) | ValueKind::Block(_)) {
                if old != new {
                    return Err(refuse("has an operand that cannot be another one"));
                }
            } else if source.value_type(context, old) != self.edit.checked_type(new)? {
                return Err(refuse("has operands of other types"));
            }
        }
        let (block, before) = self.place(data.opcode)?;
        self.edit.check_room(0, 1)?;
        let modifiers = std::mem::take(&mut self.next);
        let new = self.edit.copy_inst(source, inst);
        self.edit.put_operands(new, operands);
        self.edit.link(block, new, before);
        self.finish(new, data.ty, &modifiers.name);
        Ok(new)
    }

    fn finish(&mut self, inst: InstId, ty: Type, name: &[u8]) {
        if ty != Type::VOID && !name.is_empty() {
            self.edit.put_name(Named::Inst(raw(inst)), name);
        }
        if let Position::After(_) = self.place {
            self.place = Position::After(inst);
        }
    }

    /// The block, and the instruction before which the next one is inserted.
    fn place(&self, opcode: Opcode) -> Result<(BlockId, Option<InstId>), BuildError> {
        let body = self.edit.body();
        let block = match self.place {
            Position::Before(inst) | Position::After(inst) => self.edit.linked(inst)?,
            Position::Start(block) | Position::End(block) | Position::Terminator(block) => {
                self.edit.placed(block)?;
                block
            }
        };
        let first_free = || body.block_insts(block).find(|&i| !self.edit.leads_block(i));
        let before = match self.place {
            _ if opcode == Opcode::Phi => {
                body.block_insts(block).find(|&i| body.inst(i).opcode != Opcode::Phi)
            }
            Position::Before(inst) if self.edit.leads_block(inst) => {
                return Err(self.edit.entity(inst.into(), "must stay at the start of its block"));
            }
            Position::Before(inst) => Some(inst),
            Position::After(inst) if self.edit.leads_block(inst) => first_free(),
            Position::After(inst) => body.next(inst),
            Position::Start(_) => first_free(),
            Position::End(_) => body.terminator(block),
            Position::Terminator(_) => None,
        };
        let is_replacing = matches!(self.place, Position::Terminator(_));
        let is_ended = body.terminator(block).is_some();
        let fits = match opcode.is_terminator() {
            true => before.is_none() && (is_replacing || !is_ended),
            false => !is_replacing && (before.is_some() || !is_ended),
        };
        match fits {
            true => {
                let prev = match before {
                    Some(before) => body.prev(before),
                    None if is_replacing => body.terminator(block).and_then(|old| body.prev(old)),
                    None => body.last(block),
                };
                if opcode != Opcode::Ret {
                    self.edit.check_behind(prev)?;
                }
                Ok((block, before))
            }
            false => Err(BuildError::Terminated {
                function: describe::global(self.edit.context(), self.edit.header().name),
                block: describe::block(self.edit.function(), block),
                opcode,
            }),
        }
    }
}

impl InstBuilder for Cursor<'_, '_> {
    fn emit(&mut self, new: NewInst<'_>) -> Result<InstId, BuildError> {
        let modifiers = std::mem::take(&mut self.next);
        let (block, before) = self.place(new.opcode)?;
        let env = store::env(self.edit.store);
        let function = self.edit.function();
        let data = check::check(&env, function, &new, &modifiers).map_err(|fault| {
            let context = self.edit.context();
            let typed = |&value| describe::typed_value(context, function, value);
            BuildError::Inst {
                function: describe::global(context, function.header.name),
                block: describe::block(function, block),
                opcode: new.opcode,
                message: fault.message,
                operands: new.operands.iter().map(typed).collect(),
            }
        })?;
        for (at, &to) in new.successors.iter().enumerate() {
            self.edit.placed(to)?;
            self.edit.check_not_entry(to)?;
            if is_plain(new.opcode, at) {
                self.edit.check_no_pad(to)?;
            }
        }
        let edit = &mut *self.edit;
        let old_terminator = edit.body().terminator(block);
        if new.opcode.is_terminator()
            && let Some(old) = old_terminator
        {
            edit.check_unused(old)?;
            if new.operands.contains(&old.into()) {
                return Err(edit.entity(old.into(), "cannot be read by what takes its place"));
            }
        }
        let inst = edit.create(data, &new);
        edit.link(block, inst, before);
        if new.opcode.is_terminator() {
            if let Some(old) = old_terminator {
                edit.move_debug_records(old, Some(inst));
                edit.remove(old);
            }
            let before: SmallVec<[BlockId; 4]> = edit.flow().successors(block).into();
            edit.put_successors(block, new.successors);
            edit.edges_changed(block, &before, new.successors);
        }
        if new.opcode == Opcode::Phi {
            edit.pend(block);
        }
        self.finish(inst, data.ty, &modifiers.name);
        Ok(inst)
    }

    fn modifiers(&mut self) -> &mut Modifiers {
        &mut self.next
    }

    fn context(&self) -> &Context {
        self.edit.context()
    }
}
