//! [`Cursor`]: where new instructions go.

use smallvec::SmallVec;

use super::blocks::is_plain;
use crate::{
    body::{InstId, raw},
    builder::{BuildError, InstBuilder, Modifiers, NewInst, check},
    context::Context,
    describe,
    edit::{Transaction, store},
    extras::Named,
    flow::BlockId,
    inst::Opcode,
    types::Type,
    value::Value,
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
