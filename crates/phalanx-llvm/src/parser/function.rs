//! Bodies of functions: reads blocks in the order of the text, and resolves forward references at
//! the end.

use phalanx_ir::{
    Extras, Flow, Function, FunctionHeader, InstData, InstId, Type, Value,
    metadata::{Attachment, LocalMetadata},
};

use super::state::{
    attributes::{FnAttrs, GroupPlace},
    locals::PLACEHOLDERS,
};
use super::{Parser, header::Param, keyword::Keyword};
use crate::{
    error::PResult,
    lexer::{Token, TokenKind},
    source_map::FunctionMap,
};

impl Parser<'_> {
    /// The body of a function, at its opening brace.
    pub(crate) fn parse_body(
        &mut self,
        header: FunctionHeader,
        params: &[Param],
        name: Token,
    ) -> PResult<()> {
        self.expect(TokenKind::LBrace)?;
        self.locals.clear();
        self.func.start(self.module.functions.len(), header.ret);
        self.func.vararg = header.vararg;
        self.in_function = true;
        for (position, (param, &ty)) in params.iter().zip(&header.params).enumerate() {
            let position = position as u32;
            let given =
                self.define_local(param.name, Value::arg(position), ty, "this parameter")?;
            if let Some(given) = given {
                self.func.names.set_arg(position, &given);
            }
        }
        if matches!(self.kind(), TokenKind::RBrace) || self.at_kw(Keyword::UseListOrder) {
            return Err(self.error(self.span(), "the body of a function needs at least one block"));
        }
        let mut flow = Flow::new();
        while !self.at(TokenKind::RBrace) && !self.at_kw(Keyword::UseListOrder) {
            self.parse_block(&mut flow)?;
        }
        let (use_list_orders, places) = self.parse_use_list_orders()?;
        self.expect(TokenKind::RBrace)?;
        self.in_function = false;
        self.check_locals()?;
        self.resolve_labels(&header, &mut flow)?;
        self.resolve_values();
        let func = &mut self.func;
        let mut body = std::mem::take(&mut func.body);
        let mut extras = Extras {
            names: std::mem::take(&mut func.names),
            attachments: std::mem::take(&mut func.attachments),
            debug_records: std::mem::take(&mut func.debug_records),
        };
        body.shrink_to_fit();
        flow.shrink_to_fit();
        extras.shrink_to_fit();
        self.source_map.push_function(FunctionMap {
            name: name.start,
            arguments: params.iter().map(|param| param.start).collect(),
            blocks: self.func.block_offsets[..].into(),
            insts: self.func.inst_offsets[..].into(),
        });
        self.module.functions.push(Function { header, flow, body, extras, use_list_orders });
        self.check_use_list_orders(&places)
    }

    fn parse_block(&mut self, flow: &mut Flow) -> PResult<()> {
        let start = self.token.start;
        let label =
            matches!(self.kind(), TokenKind::Label | TokenKind::LabelId).then(|| self.bump());
        let block = flow.create_block();
        flow.append_block(block);
        self.func.block_offsets.push(start);
        if let Some(name) = self.define_label(label, block)? {
            self.func.names.set_block(block, &name);
        }
        loop {
            while self.at(TokenKind::Hash) {
                let record = self.parse_debug_record()?;
                self.func.has_local_metadata = true;
                let next = InstId::from_raw((self.func.body.id_count() as u32).into());
                self.func.debug_records.push((next, record));
            }
            let start = self.token.start;
            let mut name = None;
            if matches!(self.kind(), TokenKind::Local | TokenKind::LocalId) {
                name = Some(self.bump());
                self.expect(TokenKind::Equal)?;
            }
            self.func.operands.clear();
            self.func.has_placeholder = false;
            self.func.ate_comma = false;
            let data = self.parse_instruction()?;
            let inst = self.func.body.push(block, data, &self.func.operands);
            self.func.inst_offsets.push(start);
            if inst.into_raw().into_u32() >= PLACEHOLDERS {
                return Err(self.error(self.span(), "too many instructions in this function"));
            }
            if self.func.has_placeholder {
                self.func.unresolved.push(inst);
            }
            self.finish_instruction(name, inst, &data)?;
            if data.opcode.is_terminator() {
                self.func.successor_ends.push(self.func.successors.len() as u32);
                return Ok(());
            }
        }
    }

    /// Names the result of an instruction and reads its attachments.
    fn finish_instruction(
        &mut self,
        name: Option<Token>,
        inst: InstId,
        data: &InstData,
    ) -> PResult<()> {
        if data.ty == Type::VOID {
            if let Some(name) = name {
                return Err(
                    self.error(name.span(), "an instruction without a result cannot have a name")
                );
            }
        } else {
            let given = self.define_local(name, Value::inst(inst), data.ty, "this instruction")?;
            if let Some(given) = given {
                self.func.names.set_inst(inst, &given);
            }
        }
        if data.opcode == phalanx_ir::Opcode::Phi {
            self.func.phis.push(inst);
        }
        if self.func.ate_comma || self.accept(TokenKind::Comma) {
            let start = self.func.attachments.len();
            loop {
                if !self.at(TokenKind::MetadataVar) {
                    return Err(self.unexpected("a metadata attachment"));
                }
                let attachment = self.parse_attachment()?;
                self.attach(inst, attachment);
                if !self.accept(TokenKind::Comma) {
                    break;
                }
            }
            Self::keep_last_of_each_kind(&mut self.func.attachments, start);
        }
        Ok(())
    }

    /// Attaches a node to an instruction; of two of one kind the later one stays.
    fn attach(&mut self, inst: InstId, attachment: Attachment) {
        let attachments = &mut self.func.attachments;
        let own = attachments.iter_mut().rev().take_while(|(at, _)| *at == inst);
        match own.map(|(_, known)| known).find(|known| known.kind == attachment.kind) {
            Some(known) => *known = attachment,
            None => attachments.push((inst, attachment)),
        }
    }

    /// Metadata as an operand, after the type `metadata`.
    pub(crate) fn parse_metadata_operand(&mut self) -> PResult<Value> {
        let metadata = self.parse_metadata_as_value()?;
        self.func.has_local_metadata |=
            matches!(metadata, LocalMetadata::Value(_) | LocalMetadata::ArgList(_));
        Ok(Value::metadata(self.func.body.add_local_metadata(metadata)))
    }

    /// Puts blocks in the place of labels.
    fn resolve_labels(&mut self, header: &FunctionHeader, flow: &mut Flow) -> PResult<()> {
        let labels = &self.locals.labels;
        let block_of = |label: u32| labels[label as usize].block;
        let mut start = 0;
        let mut blocks = Vec::new();
        for (at, &end) in self.func.successor_ends.iter().enumerate() {
            let run = &self.func.successors[start as usize..end as usize];
            blocks.clear();
            blocks.extend(run.iter().filter_map(|&label| block_of(label)));
            flow.set_successors(flow.order()[at], &blocks);
            start = end;
        }
        for &phi in &self.func.phis {
            let operands = self.func.body.operands_mut(phi);
            let half = operands.len() / 2;
            for operand in &mut operands[half..] {
                let label =
                    operand.as_block().and_then(|label| block_of(label.into_raw().into_u32()));
                *operand = label.map_or(*operand, Value::block);
            }
        }
        for waiting in self.take_waiting_labels(header.name) {
            let found = self.find_label(waiting.label);
            let block = found.and_then(|label| self.locals.labels[label as usize].block);
            let block = block.ok_or_else(|| self.undefined_label(waiting.label))?;
            let ptr = self.context.ptr_type(header.address_space);
            if waiting.ty != ptr {
                return Err(self.type_mismatch(waiting.span, waiting.ty, ptr));
            }
            self.set_block_address(&waiting, block);
        }
        Ok(())
    }

    /// Puts values in the place of placeholders.
    fn resolve_values(&mut self) {
        let locals = &self.locals;
        for &inst in &self.func.unresolved {
            for operand in self.func.body.operands_mut(inst) {
                *operand = locals.resolve(*operand);
            }
        }
        if !self.func.has_local_metadata {
            return;
        }
        let mut resolve = |value: &mut Value| *value = locals.resolve(*value);
        for metadata in self.func.body.local_metadata_mut() {
            metadata.for_each_value_mut(&mut resolve);
        }
        for (_, record) in &mut self.func.debug_records {
            record.for_each_value_mut(&mut resolve);
        }
    }

    /// Remembers attributes of a call that name groups.
    pub(crate) fn wait_for_call_groups(&mut self, call: u32, attributes: FnAttrs) {
        if !attributes.groups.is_empty() {
            self.waiting_attributes.push((self.func.index, GroupPlace::Call(call), attributes));
        }
    }
}
