//! [`FunctionBuilder`]: blocks, cursor, names, phis.

use rustc_hash::FxHashMap;

use crate::{
    body::InstId,
    builder::{
        call::{CallSpec, Callee},
        check,
        error::BuildError,
        inst::InstBuilder,
        module::{FunctionHandle, ModuleBuilder},
        new_inst::{Modifiers, NewInst},
        variables::Variables,
    },
    context::Context,
    describe,
    flow::BlockId,
    function::{Function, FunctionHeader},
    inst::Opcode,
    metadata::{Attachment, LocalMetadata, MetadataId, kind},
    types::Type,
    value::Value,
    verify::{self, env::Env},
};

/// Where the next instruction goes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Cursor {
    Nowhere,
    End(BlockId),
    Before(InstId),
}

/// Builds one function. See the [module documentation](crate::builder).
#[derive(Debug)]
pub struct FunctionBuilder<'m> {
    module: &'m mut ModuleBuilder,
    /// Place of the function's declaration in the module.
    at: usize,
    pub(super) function: Function,
    pub(super) cursor: Cursor,
    pub(super) next: Modifiers,
    /// The `!dbg` location of the instructions that are made now.
    pub(super) location: Option<MetadataId>,
    /// Incoming pairs of phis. They are put in place at the end: adding one at a time would copy
    /// them each time.
    pub(super) incoming: FxHashMap<InstId, Vec<(Value, BlockId)>>,
    /// Phis in the order they were made.
    pub(super) phis: Vec<InstId>,
    /// By block: where edges come from, one entry for each.
    predecessors: Vec<Vec<BlockId>>,
    pub(super) variables: Variables,
}

impl<'m> FunctionBuilder<'m> {
    pub(super) fn new(module: &'m mut ModuleBuilder, at: usize, function: Function) -> Self {
        let mut builder = FunctionBuilder {
            module,
            at,
            function,
            cursor: Cursor::Nowhere,
            next: Modifiers::default(),
            location: None,
            incoming: FxHashMap::default(),
            phis: Vec::new(),
            predecessors: Vec::new(),
            variables: Variables::default(),
        };
        // Parameters may have been given the same name twice.
        for position in 0..builder.function.header.params.len() as u32 {
            let names = &mut builder.function.extras.names;
            let name = names.arg(position).unwrap_or_default().to_vec();
            names.set_arg(position, b"");
            let name = names.unique(&name);
            names.set_arg(position, &name);
        }
        builder
    }

    /// The module, to declare what the function needs.
    pub fn module(&mut self) -> &mut ModuleBuilder {
        self.module
    }

    /// The function itself, to call or store.
    pub fn reference(&self) -> FunctionHandle {
        self.module.reference(self.at)
    }

    /// The function so far. Incoming values of phis appear when it is finished.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The header, to set what [`crate::builder::FunctionSpec`] does not: personality, section,
    /// comdat ...
    pub fn header_mut(&mut self) -> &mut FunctionHeader {
        &mut self.function.header
    }

    /// The argument with this position. If the function does not have it, using the value is an
    /// error.
    pub fn arg(&self, position: u32) -> Value {
        Value::arg(position.min(Value::LIMIT as u32))
    }

    /// The first arguments, as many as are asked for: `let [data, n] = f.args();`.
    pub fn args<const N: usize>(&self) -> [Value; N] {
        std::array::from_fn(|position| self.arg(position as u32))
    }

    /// Type of a value of this function; none when it is not one.
    pub fn type_of(&self, value: impl Into<Value>) -> Option<Type> {
        let value = value.into();
        verify::view::type_of_checked(
            &self.module.module.context,
            &self.function.header,
            &self.function.body,
            value,
        )
    }

    /// Makes a block at the end of the function; the first one is the entry. An empty name leaves
    /// it unnamed.
    pub fn block(&mut self, name: &str) -> BlockId {
        let block = self.function.flow.create_block();
        self.function.flow.append_block(block);
        self.predecessors.push(Vec::new());
        let names = &mut self.function.extras.names;
        let name = names.unique(name.as_bytes());
        names.set_block(block, &name);
        block
    }

    /// Puts the cursor at the end of a block.
    pub fn switch_to(&mut self, block: BlockId) {
        self.cursor = Cursor::End(block);
    }

    /// Puts the cursor before an instruction.
    pub fn switch_before(&mut self, inst: InstId) {
        self.cursor = Cursor::Before(inst);
    }

    /// The block that the cursor is in.
    pub fn current_block(&self) -> Option<BlockId> {
        let (body, flow) = (&self.function.body, &self.function.flow);
        match self.cursor {
            Cursor::Nowhere => None,
            Cursor::End(block) => is_below(block, flow.id_count()).then_some(block),
            Cursor::Before(inst) => {
                is_below(inst, body.id_count()).then(|| body.block_of(inst)).flatten()
            }
        }
    }

    /// Whether the block has its terminator.
    pub fn is_terminated(&self, block: BlockId) -> bool {
        self.function.body.terminator(block).is_some()
    }

    /// Declares an intrinsic, or another function, with the types of the arguments, and calls it.
    ///
    /// # Errors
    /// When the name is declared with another type, or the call breaks a rule.
    pub fn call_intrinsic(
        &mut self,
        name: &str,
        ret: Type,
        args: &[Value],
    ) -> Result<Value, BuildError> {
        let mut params = Vec::with_capacity(args.len());
        for &arg in args {
            let ty = self.type_of(arg).ok_or_else(|| self.stray(arg))?;
            params.push(ty);
        }
        let callee = self.module.declare_function(name, ret, &params)?;
        self.call_with(&CallSpec::new(Callee::from(callee)).args(args))
    }

    /// A phi without incoming values; they come with [`FunctionBuilder::add_incoming`].
    ///
    /// It goes after the phis of the cursor's block, wherever in the block the cursor is.
    ///
    /// # Errors
    /// When there is no place for it or no such phi can be.
    pub fn phi(&mut self, ty: Type) -> Result<Value, BuildError> {
        Ok(self.emit(NewInst::new(Opcode::Phi, &[]).of_type(ty))?.into())
    }

    /// Gives a phi its value for an incoming edge. A block with several edges to the phi needs
    /// several entries.
    ///
    /// # Errors
    /// When the first is not a phi of this function, or the second has another type than the phi.
    pub fn add_incoming(
        &mut self,
        phi: Value,
        value: impl Into<Value>,
        from: BlockId,
    ) -> Result<(), BuildError> {
        let value = value.into();
        let context = &self.module.module.context;
        let inst = phi.as_inst().filter(|inst| self.incoming.contains_key(inst));
        let Some(inst) = inst else {
            return Err(self.entity(phi, "is not a phi of this function"));
        };
        if !is_below(from, self.function.flow.id_count()) {
            return Err(self.entity(Value::block(from), "is not a block of this function"));
        }
        let ty = self.type_of(value).ok_or_else(|| self.stray(value))?;
        let wanted = self.function.body.inst(inst).ty;
        if ty != wanted {
            return Err(BuildError::Inst {
                function: describe::global(context, self.function.header.name),
                block: self.block_name(self.function.body.block_of(inst)),
                opcode: Opcode::Phi,
                message: "PHI node operands are not the same type as the result!".into(),
                operands: vec![
                    describe::typed_value(context, self.function.view(), phi),
                    describe::typed_value(context, self.function.view(), value),
                ],
            });
        }
        self.incoming.entry(inst).or_default().push((value, from));
        Ok(())
    }

    /// Names a value or a block; a number is appended when the name is taken. Constants have no
    /// names.
    pub fn set_name(&mut self, value: impl Into<Value>, name: &str) {
        let names = &mut self.function.extras.names;
        let name = names.unique(name.as_bytes());
        match value.into().kind() {
            crate::ValueKind::Inst(inst) => names.set_inst(inst, &name),
            crate::ValueKind::Arg(position) => names.set_arg(position, &name),
            crate::ValueKind::Block(block) => names.set_block(block, &name),
            crate::ValueKind::Const(_) | crate::ValueKind::Metadata(_) => {}
        }
    }

    /// Sets the location of the instructions that are made from now on: a `!DILocation`, which they
    /// get as `!dbg`, or none. Findings about these instructions are then reported at the lines of
    /// the source.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use phalanx_ir::{Context, Type, builder::*, metadata::*, metadata::MetadataValue as Is};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let context = Arc::new(Context::new());
    /// let mut module = ModuleBuilder::new(context.clone());
    /// let text = |text: &str| Is::String(context.symbol(text.as_bytes()));
    ///
    /// // What clang's -gline-tables-only makes: a file, a unit, a program for each function, and places in it.
    /// let metadata = &mut module.module_mut().metadata;
    /// let file = NodeBuilder::new(NodeKind::File, false)
    ///     .with(Field::Filename, text("kernel.toy"))
    ///     .with(Field::Directory, text("/src"));
    /// let file = Is::Node(metadata.add(file)?);
    /// let unit = NodeBuilder::new(NodeKind::CompileUnit, true)
    ///     .with(Field::Language, Is::Int(12)) // DW_LANG_C99
    ///     .with(Field::File, file)
    ///     .with(Field::EmissionKind, Is::Int(2)); // LineTablesOnly
    /// let unit = metadata.add(unit)?;
    /// metadata.add_named(context.symbol(b"llvm.dbg.cu"), &[unit]);
    /// let version = [Is::Const(context.const_i32(2)), text("Debug Info Version"), Is::Const(context.const_i32(3))];
    /// let version = metadata.add(NodeBuilder::tuple(false, version))?;
    /// metadata.add_named(context.symbol(b"llvm.module.flags"), &[version]);
    /// let types = NodeBuilder::new(NodeKind::SubroutineType, false).with(Field::Types, Is::Null);
    /// let types = metadata.add(types)?;
    /// let program = NodeBuilder::new(NodeKind::Subprogram, true)
    ///     .with(Field::Name, text("f"))
    ///     .with(Field::Scope, file)
    ///     .with(Field::File, file)
    ///     .with(Field::Line, Is::Int(1))
    ///     .with(Field::Type, Is::Node(types))
    ///     .with(Field::SpFlags, Is::Int(8)) // DISPFlagDefinition
    ///     .with(Field::Unit, Is::Node(unit));
    /// let program = metadata.add(program)?;
    /// let location = NodeBuilder::new(NodeKind::Location, false)
    ///     .with(Field::Line, Is::Int(3))
    ///     .with(Field::Column, Is::Int(5))
    ///     .with(Field::Scope, Is::Node(program));
    /// let location = metadata.add(location)?;
    ///
    /// let mut f = module.define_function("f", &FunctionSpec::new(Type::VOID))?;
    /// f.header_mut().metadata = Box::new([Attachment { kind: kind::DBG, node: program }]);
    /// let entry = f.block("entry");
    /// f.switch_to(entry);
    /// f.set_location(Some(location));
    /// let end = f.ret_void()?;
    /// assert_eq!(f.function().extras.attachments_of(end).map(|a| a.node).next(), Some(location));
    /// f.finish()?;
    /// module.finish()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_location(&mut self, location: Option<MetadataId>) {
        self.location = location;
    }

    /// Attaches metadata to an instruction.
    pub fn attach(&mut self, inst: InstId, kind: &str, node: MetadataId) {
        let kind = self.module.module.context.symbol(kind.as_bytes());
        self.function.extras.attachments.push((inst, Attachment { kind, node }));
    }

    /// Metadata as an argument of a call.
    pub fn metadata(&mut self, metadata: LocalMetadata) -> Value {
        Value::metadata(self.function.body.add_local_metadata(metadata))
    }

    /// Removes an instruction from the function. If anything still uses it,
    /// [`FunctionBuilder::finish`] fails.
    pub fn erase(&mut self, inst: InstId) {
        if !is_below(inst, self.function.body.id_count()) {
            return;
        }
        if let Some(block) = self.function.body.block_of(inst)
            && self.function.body.terminator(block) == Some(inst)
        {
            self.set_edges(block, &[]);
        }
        self.function.body.unlink(inst);
    }

    /// Where the edges into a block come from, one entry for each.
    pub(super) fn predecessors(&self, block: BlockId) -> &[BlockId] {
        &self.predecessors[block.into_raw().into_u32() as usize]
    }

    fn set_edges(&mut self, block: BlockId, to: &[BlockId]) {
        let number = |block: BlockId| block.into_raw().into_u32() as usize;
        for old in self.function.flow.successors(block) {
            self.predecessors[number(*old)].retain(|&from| from != block);
        }
        to.iter().for_each(|&to| self.predecessors[number(to)].push(block));
        self.function.flow.set_successors(block, to);
    }

    /// Verifies the function and puts it into the module. O(function).
    ///
    /// # Errors
    /// All broken rules. The module keeps the declaration.
    pub fn finish(mut self) -> Result<FunctionHandle, BuildError> {
        self.finish_variables()?;
        for &phi in &self.phis {
            let pairs = self.incoming.get(&phi).map_or(&[][..], |pairs| pairs);
            let values = pairs.iter().map(|&(value, _)| value);
            let blocks = pairs.iter().map(|&(_, block)| Value::block(block));
            let operands: Vec<Value> = values.chain(blocks).collect();
            self.function.body.set_operands(phi, &operands);
        }
        self.function.extras.attachments.sort_by_key(|&(inst, _)| inst);
        self.function.body.shrink_to_fit();
        self.function.flow.shrink_to_fit();
        self.function.extras.shrink_to_fit();
        let module = &self.module.module;
        let mut errors = match self.module.verifies {
            true => verify::function(module, &self.module.index, &self.function),
            false => Vec::new(),
        };
        let name = module.functions[self.at].header.name;
        if self.function.header.name != name {
            errors.push(self.error("Function was renamed while it was built!"));
        }
        if self.function.is_declaration() {
            errors.push(self.error("Function has no blocks!"));
        }
        if !errors.is_empty() {
            let describe = |e| describe::error(module, Some(self.function.view()), e);
            return Err(BuildError::Function {
                function: describe::global(&module.context, name),
                messages: errors.iter().map(describe).collect(),
                errors,
            });
        }
        self.module.module.functions[self.at] = self.function;
        Ok(self.module.reference(self.at))
    }

    fn error(&self, message: &'static str) -> verify::VerifyError {
        verify::VerifyError {
            function: Some(self.function.header.name),
            block: None,
            inst: None,
            message: message.into(),
            related: Vec::new(),
        }
    }

    pub(super) fn stray(&self, value: Value) -> BuildError {
        self.entity(value, "is not a value of this function")
    }

    /// An error of the builder's user.
    pub(super) fn misuse(&self, message: &'static str) -> BuildError {
        let context = &self.module.module.context;
        let function = describe::global(context, self.function.header.name);
        BuildError::Entity { function, entity: "the builder".into(), message }
    }

    pub(super) fn entity(&self, entity: Value, message: &'static str) -> BuildError {
        let context = &self.module.module.context;
        BuildError::Entity {
            function: describe::global(context, self.function.header.name),
            entity: describe::value(context, self.function.view(), entity),
            message,
        }
    }

    fn block_name(&self, block: Option<BlockId>) -> String {
        block.map_or_else(String::new, |block| describe::block(self.function.view(), block))
    }

    /// The place of a new instruction of this opcode: the block, and the instruction that it goes
    /// before.
    fn place(&self, opcode: Opcode) -> Result<(BlockId, Option<InstId>), BuildError> {
        let body = &self.function.body;
        let function = || describe::global(&self.module.module.context, self.function.header.name);
        let block = self
            .current_block()
            .ok_or_else(|| BuildError::NoPlace { function: function(), opcode })?;
        let before = match self.cursor {
            _ if opcode == Opcode::Phi => {
                body.block_insts(block).find(|&inst| body.inst(inst).opcode != Opcode::Phi)
            }
            Cursor::Before(inst) => Some(inst),
            _ => None,
        };
        if opcode.is_terminator() && before.is_some()
            || before.is_none() && self.is_terminated(block)
        {
            return Err(BuildError::Terminated {
                function: function(),
                block: self.block_name(Some(block)),
                opcode,
            });
        }
        Ok((block, before))
    }
}

impl InstBuilder for FunctionBuilder<'_> {
    fn emit(&mut self, new: NewInst<'_>) -> Result<InstId, BuildError> {
        let modifiers = std::mem::take(&mut self.next);
        let (block, before) = self.place(new.opcode)?;
        let (module, function) = (&self.module.module, self.function.view());
        let env = Env::new(module, &self.module.index);
        let data = check::check(&env, function, &new, &modifiers).map_err(|fault| {
            let context = &self.module.module.context;
            let typed = |&value| describe::typed_value(context, self.function.view(), value);
            BuildError::Inst {
                function: describe::global(context, self.function.header.name),
                block: self.block_name(Some(block)),
                opcode: new.opcode,
                message: fault.message,
                operands: new.operands.iter().map(typed).collect(),
            }
        })?;
        let sealed = |to: &&BlockId| self.variables.is_sealed(**to);
        if let Some(&to) = new.successors.iter().find(sealed) {
            return Err(self.entity(Value::block(to), "is sealed: no edge may lead to it any more"));
        }
        let body = &mut self.function.body;
        let inst = check::create(body, data, &new);
        match before {
            Some(before) => body.insert_before(inst, before),
            None => body.append(block, inst),
        }
        if new.opcode.is_terminator() {
            self.set_edges(block, new.successors);
        }
        if new.opcode == Opcode::Phi {
            self.phis.push(inst);
            let (values, blocks) = new.operands.split_at(new.operands.len() / 2);
            let blocks = blocks.iter().filter_map(|block| block.as_block());
            self.incoming.insert(inst, values.iter().copied().zip(blocks).collect());
        }
        if data.ty != Type::VOID {
            let names = &mut self.function.extras.names;
            let name = names.unique(&modifiers.name);
            names.set_inst(inst, &name);
        }
        if let Some(node) = self.location {
            self.function.extras.attachments.push((inst, Attachment { kind: kind::DBG, node }));
        }
        Ok(inst)
    }

    fn modifiers(&mut self) -> &mut Modifiers {
        &mut self.next
    }

    fn context(&self) -> &Context {
        &self.module.module.context
    }
}

fn is_below<T>(id: la_arena::Idx<T>, count: usize) -> bool {
    (id.into_raw().into_u32() as usize) < count
}
