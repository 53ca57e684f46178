//! Determines which identified structure types are printed, and in what order.
//!
//! LLVM writes the definitions of the types it meets on a walk over the module, and numbers those
//! without a name in the same order, so the walk is repeated here: variables (type, initializer),
//! aliases, ifuncs, then functions (type, attributes, personality, prefix and prologue data, and
//! every instruction with its constant operands, source or allocated type, call attributes and
//! metadata), last named metadata. A type is followed by the types in it, depth first, those of one
//! level being claimed before any of them is entered. A type that nothing mentions is not written.
//!
//! O(module), and nothing at all where the module defines no structure.

use phalanx_ir::{
    AttrList, AttrSet, Const, ConstKind, Context, Module, Opcode, Type, TypeKind, Value, ValueKind,
    function::FunctionRef,
    metadata::{DebugRecord, LocalMetadata, MetadataId},
    types::{StructBody, StructName},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::slots::attachments;

/// Structures in the order they are written, and the numbers of those without a name.
#[derive(Debug, Default)]
pub(super) struct StructOrder {
    /// Positions in [`Module::structs`], numbered structures first.
    pub(super) order: Vec<usize>,
    slots: FxHashMap<u32, u32>,
}

impl StructOrder {
    pub(super) fn new(module: &Module, functions: &[FunctionRef<'_>]) -> Self {
        if module.structs.is_empty() {
            return StructOrder::default();
        }
        let mut walk = Walk::new(module);
        walk.module(functions);
        let found = walk.found;
        let name = |&at: &usize| module.structs[at].0;
        let is_numbered = |at: &usize| matches!(name(at), StructName::Numbered(_));
        let (mut order, named): (Vec<_>, Vec<_>) = found.into_iter().partition(is_numbered);
        let mut slots = FxHashMap::default();
        for (slot, at) in order.iter().enumerate() {
            if let StructName::Numbered(number) = name(at) {
                slots.insert(number, slot as u32);
            }
        }
        order.extend(named);
        StructOrder { order, slots }
    }

    /// The number to write for the structure that is held under `number`.
    pub(super) fn slot(&self, number: u32) -> Option<u32> {
        self.slots.get(&number).copied()
    }
}

/// What remains to be done of a constant.
enum Step {
    Constant(Const),
    Type(Type),
}

struct Walk<'a> {
    module: &'a Module,
    context: &'a Context,
    by_name: FxHashMap<StructName, usize>,
    found: Vec<usize>,
    types: FxHashSet<Type>,
    constants: FxHashSet<Const>,
    attributes: FxHashSet<AttrList>,
    nodes: FxHashSet<MetadataId>,
    type_stack: Vec<Type>,
    steps: Vec<Step>,
}

impl<'a> Walk<'a> {
    fn new(module: &'a Module) -> Self {
        Walk {
            module,
            context: &module.context,
            by_name: module.structs.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect(),
            found: Vec::new(),
            types: FxHashSet::default(),
            constants: FxHashSet::default(),
            attributes: FxHashSet::default(),
            nodes: FxHashSet::default(),
            type_stack: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn module(&mut self, functions: &[FunctionRef<'_>]) {
        for variable in &self.module.variables {
            self.ty(variable.ty);
            if let Some(initializer) = variable.initializer {
                self.constant(initializer);
            }
        }
        for alias in self.module.aliases.iter().filter(|alias| !alias.is_ifunc) {
            self.ty(alias.ty);
            self.constant(alias.target);
        }
        for ifunc in self.module.aliases.iter().filter(|alias| alias.is_ifunc) {
            self.ty(ifunc.ty);
        }
        for &function in functions {
            self.function(function);
        }
        for named in self.module.metadata.named() {
            for &node in &named.operands {
                self.node(node);
            }
        }
        // LLVM's order does not include these types; but its reader needs a definition of every
        // name.
        for &function in functions {
            self.records(function);
            for attachment in &function.header.metadata {
                self.node(attachment.node);
            }
        }
        for attachment in self.module.variables.iter().flat_map(|variable| &variable.metadata) {
            self.node(attachment.node);
        }
    }

    /// Constants in debug records.
    fn records(&mut self, function: FunctionRef<'_>) {
        for &block in function.flow.order() {
            for inst in function.body.block_insts(block) {
                for record in function.extras.debug_records_before(inst) {
                    match record {
                        DebugRecord::Variable(variable) => self.local(&variable.value),
                        DebugRecord::Assign(assign) => {
                            self.local(&assign.value);
                            self.local(&assign.address);
                        }
                        DebugRecord::Label { .. } => {}
                    }
                }
            }
        }
    }

    fn function(&mut self, function: FunctionRef<'_>) {
        let header = function.header;
        self.ty(header.ty);
        self.attributes(header.attributes);
        for constant in [header.personality, header.prefix, header.prologue].into_iter().flatten() {
            self.constant(constant);
        }
        let body = function.body;
        for &block in function.flow.order() {
            for inst in body.block_insts(block) {
                let data = body.inst(inst);
                self.ty(data.ty);
                for &operand in body.operands(inst) {
                    self.operand(function, operand);
                }
                if matches!(data.opcode, Opcode::GetElementPtr | Opcode::Alloca) {
                    self.ty(data.element_type());
                }
                if data.opcode.is_call() {
                    self.attributes(body.call_info(inst).attributes);
                }
                for attachment in attachments(self.module, function.extras.attachments_of(inst)) {
                    self.node(attachment.node);
                }
            }
        }
    }

    fn operand(&mut self, function: FunctionRef<'_>, operand: Value) {
        match operand.kind() {
            ValueKind::Const(constant) => self.constant(constant),
            ValueKind::Metadata(id) => self.local(function.body.local_metadata(id)),
            ValueKind::Inst(_) | ValueKind::Arg(_) | ValueKind::Block(_) => {}
        }
    }

    /// Metadata as an operand, or in a debug record.
    fn local(&mut self, metadata: &LocalMetadata) {
        match metadata {
            LocalMetadata::Node(node) => self.node(*node),
            LocalMetadata::Value(value) => {
                if let Some(constant) = value.as_const() {
                    self.constant(constant);
                }
            }
            LocalMetadata::ArgList(values) => {
                for constant in values.iter().filter_map(|value| value.as_const()) {
                    self.constant(constant);
                }
            }
            LocalMetadata::String(_) => {}
        }
    }

    fn attributes(&mut self, list: AttrList) {
        if list == AttrList::EMPTY || !self.attributes.insert(list) {
            return;
        }
        let data = self.context.attr_list_data(list);
        for set in [data.function, data.ret].into_iter().chain(data.params.iter().copied()) {
            self.attribute_set(set);
        }
    }

    fn attribute_set(&mut self, set: AttrSet) {
        for attribute in self.context.attr_set_data(set).attributes() {
            if let phalanx_ir::attributes::Attribute::Type(_, ty) = attribute {
                self.ty(*ty);
            }
        }
    }

    /// A type and, unless it was met before, those in it.
    fn ty(&mut self, ty: Type) {
        if !self.types.insert(ty) {
            return;
        }
        let (module, context) = (self.module, self.context);
        self.type_stack.push(ty);
        while let Some(ty) = self.type_stack.pop() {
            match context.type_kind(ty) {
                TypeKind::Named(name) => {
                    let Some(&at) = self.by_name.get(name) else { continue };
                    self.found.push(at);
                    if let StructBody::Fields { fields, .. } = &module.structs[at].1 {
                        self.claim(fields);
                    }
                }
                TypeKind::Array { elem, .. } | TypeKind::Vector { elem, .. } => {
                    self.claim(&[*elem]);
                }
                TypeKind::Struct { fields, .. } => self.claim(fields),
                TypeKind::Target { types, .. } => self.claim(types),
                TypeKind::Function { ret, params, .. } => {
                    // The result comes first, so it is pushed last.
                    self.claim(params);
                    self.claim(&[*ret]);
                }
                _ => {}
            }
        }
    }

    fn claim(&mut self, types: &[Type]) {
        for &ty in types.iter().rev() {
            if self.types.insert(ty) {
                self.type_stack.push(ty);
            }
        }
    }

    /// A constant and, unless it was met before, those in it.
    fn constant(&mut self, constant: Const) {
        self.steps.push(Step::Constant(constant));
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Type(ty) => self.ty(ty),
                Step::Constant(constant) => self.one_constant(constant),
            }
        }
    }

    fn one_constant(&mut self, constant: Const) {
        let data = self.context.const_data(constant);
        if matches!(data.kind, ConstKind::Global(_) | ConstKind::InlineAsm(_))
            || !self.constants.insert(constant)
        {
            return;
        }
        self.ty(data.ty);
        match &data.kind {
            ConstKind::Aggregate(elements) | ConstKind::PtrAuth(elements) => self.later(elements),
            ConstKind::Splat(element) => self.later(&[*element]),
            ConstKind::Expr(expr) => {
                self.steps.extend(expr.source_type.map(Step::Type));
                self.later(&expr.operands);
            }
            _ => {}
        }
    }

    fn later(&mut self, constants: &[Const]) {
        self.steps.extend(constants.iter().rev().map(|&constant| Step::Constant(constant)));
    }

    /// A metadata node and, unless it was met before, those it refers to.
    fn node(&mut self, node: MetadataId) {
        if self.nodes.contains(&node) {
            return;
        }
        let metadata = &self.module.metadata;
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if self.nodes.insert(node) {
                for constant in metadata.values(node).filter_map(|value| value.as_const()) {
                    self.constant(constant);
                }
                stack.extend(metadata.operands(node).into_iter().rev());
            }
        }
    }
}
