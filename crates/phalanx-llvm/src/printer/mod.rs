//! Prints a module, a function, an instruction or a value as LLVM IR text.
//!
//! The text is that of LLVM 22 (`llvm-dis`), byte for byte: the same order of entities, the same
//! numbers for entities without a name, the same choice among spellings of a constant, the same
//! spaces and comments. [`print_module`] lists the exceptions.
//!
//! | file | theme |
//! |---|---|
//! | `names` | quoting, escapes, numbers |
//! | `slots` | numbers of globals, locals, attribute groups, metadata |
//! | `structs` | which identified types are written, in which order |
//! | `types`, `constants`, `integer`, `float` | types and constants |
//! | `defaults` | alignments that need not be stated |
//! | `module`, `globals` | a whole module, variables, aliases, comdats |
//! | `function` | headers, blocks |
//! | `inst`, `calls` | instructions |
//! | `attributes`, `metadata`, `debug` | attributes, metadata, debug records |
//!
//! # Cost
//!
//! [`ModulePrinter::new`] visits the entities of the module, but no bodies. Data about the whole
//! module (the order of identified types, the numbers of a whole listing) is computed on first use.
//! [`ModulePrinter::function`] numbers one function, O(its size). After that, printing an
//! instruction is O(its text), allocates only in the output buffer, and may happen in any order and
//! from several threads. No function recurses over types or constants.
//!
//! ```
//! # use phalanx_ir::{Context, Module};
//! # use phalanx_llvm::ModulePrinter;
//! # let module = Module::new(Context::new().into());
//! let printer = ModulePrinter::new(&module);
//! let mut line = Vec::new();
//! for function in &module.functions {
//!     let printer = printer.function(function.view());
//!     for &block in function.flow.order() {
//!         for inst in function.body.block_insts(block) {
//!             line.clear();
//!             printer.inst(inst, &mut line);
//!         }
//!     }
//! }
//! ```

use std::{io, sync::OnceLock};

use phalanx_ir::{
    AttrSet, Const, Context, GlobalName, InstId, Module, Type, Value, ValueKind,
    data_layout::DataLayout,
    function::{BlockId, FunctionRef},
    metadata::MetadataId,
    module::BlockAddress,
};
use rustc_hash::{FxHashMap, FxHashSet};

mod attributes;
mod calls;
mod constants;
mod debug;
mod defaults;
mod float;
mod function;
mod globals;
mod inst;
mod integer;
mod metadata;
mod module;
mod names;
mod slots;
mod structs;
mod types;

use defaults::Bodies;
use slots::{GlobalSlots, LocalSlots, Numbers};
use structs::StructOrder;

/// The text of a module, as `llvm-dis` of LLVM 22 writes it.
///
/// The exceptions: there is no `; ModuleID` line. A `source_filename` is written only if there is
/// one. Use-list orders of the text are written if they still have an index for each use. Module
/// summaries are written as they were read. The comments `; Unknown intrinsic` and `; guid = ..`
/// are not written.
pub fn print_module(module: &Module) -> Vec<u8> {
    let printer = ModulePrinter::new(module);
    let mut out = Vec::new();
    printer.module(&mut out);
    out
}

/// Writes the text of a module; see [`print_module`]. Holds the text of only one function in memory
/// at a time.
///
/// # Errors
/// Errors of the writer.
pub fn write_module(module: &Module, writer: &mut impl io::Write) -> io::Result<()> {
    let printer = ModulePrinter::new(module);
    let mut out = Vec::new();
    printer.module_in_parts(&mut out, 1, &mut |part| {
        writer.write_all(part)?;
        part.clear();
        Ok(())
    })
}

/// Prints parts of one module. Holds the numbers of entities without a name.
#[derive(Debug)]
pub struct ModulePrinter<'m> {
    context: &'m Context,
    module: &'m Module,
    functions: Vec<FunctionRef<'m>>,
    globals: GlobalSlots,
    /// Numbers of entities that are mentioned outside of bodies.
    base: Numbers,
    /// Numbers of the whole module.
    whole: OnceLock<Numbers>,
    struct_order: OnceLock<StructOrder>,
    /// Labels of the blocks whose addresses are taken, by slot.
    block_addresses: OnceLock<Vec<BlockLabel>>,
    bodies: Bodies<'m>,
    layout: DataLayout,
}

impl<'m> ModulePrinter<'m> {
    /// Prepares to write a module or parts of it. O(entities of the module).
    pub fn new(module: &'m Module) -> Self {
        Self::with_functions(module, module.functions.iter().map(|f| f.view()).collect())
    }

    /// As [`ModulePrinter::new`], with these functions in place of the module's own.
    pub fn with_functions(module: &'m Module, functions: Vec<FunctionRef<'m>>) -> Self {
        let context = &*module.context;
        ModulePrinter {
            context,
            module,
            globals: GlobalSlots::new(module, &functions),
            base: Numbers::of_module(module, &functions),
            functions,
            whole: OnceLock::new(),
            struct_order: OnceLock::new(),
            block_addresses: OnceLock::new(),
            bodies: Bodies(module.structs.iter().map(|(name, body)| (*name, body)).collect()),
            layout: DataLayout::of(module),
        }
    }

    /// The context of the module.
    pub fn context(&self) -> &'m Context {
        self.context
    }

    /// Appends the text of the whole module.
    pub fn module(&self, out: &mut Vec<u8>) {
        self.module_in_threads(out, 1);
    }

    /// As [`ModulePrinter::module`], in at most so many threads. The text does not depend on it.
    pub fn module_in_threads(&self, out: &mut Vec<u8>, threads: usize) {
        // Writing to the buffer does not fail.
        let _ = self.module_in_parts(out, threads, &mut |_| Ok(()));
    }

    fn module_in_parts(
        &self,
        out: &mut Vec<u8>,
        threads: usize,
        part_done: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<()> {
        module::write(self, out, threads, part_done)
    }

    /// Prepares to write parts of one function: numbers its values. O(size of the function).
    pub fn function<'p>(&'p self, function: FunctionRef<'p>) -> FunctionPrinter<'p> {
        FunctionPrinter::new(self, function, Scope::Function)
    }

    /// Appends a type: `<4 x i32>`.
    pub fn type_name(&self, ty: Type, out: &mut Vec<u8>) {
        self.writer(out).ty(ty);
    }

    /// Appends a constant: `i32 7` or `7`.
    pub fn constant(&self, constant: Const, with_type: bool, out: &mut Vec<u8>) {
        let mut writer = self.writer(out);
        match with_type {
            true => writer.typed_constant(constant),
            false => writer.constant(constant),
        }
    }

    /// Appends the name of a global: `@name`.
    pub fn global(&self, name: GlobalName, out: &mut Vec<u8>) {
        self.writer(out).global(name);
    }

    fn writer<'p>(&'p self, out: &'p mut Vec<u8>) -> Writer<'p> {
        Writer { cx: self, function: None, nodes: Scope::Module, out }
    }

    fn whole(&self) -> &Numbers {
        self.whole.get_or_init(|| {
            let mut numbers = self.base.clone();
            for &function in &self.functions {
                numbers.add_function(self.module, None, function);
            }
            numbers
        })
    }

    fn struct_order(&self) -> &StructOrder {
        self.struct_order.get_or_init(|| StructOrder::new(self.module, &self.functions))
    }

    /// Name or number of a block whose address is taken.
    fn block_label(&self, slot: u32, address: BlockAddress) -> (Option<&[u8]>, Option<u32>) {
        let labels = self.block_addresses.get_or_init(|| self.block_labels());
        let label = labels.get(slot as usize).copied().unwrap_or_default();
        let function = label.function.and_then(|at| self.functions.get(at));
        (function.and_then(|f| f.extras.names.block(address.block)), label.number)
    }

    fn block_labels(&self) -> Vec<BlockLabel> {
        let addresses = &self.module.block_addresses;
        let wanted: FxHashSet<GlobalName> = addresses.iter().map(|a| a.function).collect();
        let mut locals: FxHashMap<GlobalName, _> = FxHashMap::default();
        for (at, &function) in self.functions.iter().enumerate() {
            let name = function.header.name;
            if wanted.contains(&name) {
                locals.insert(name, (at, LocalSlots::new(function)));
            }
        }
        let label = |address: &BlockAddress| match locals.get(&address.function) {
            Some((at, slots)) => {
                BlockLabel { function: Some(*at), number: slots.block(address.block) }
            }
            None => BlockLabel::default(),
        };
        addresses.iter().map(label).collect()
    }
}

/// Where to look for the name of a block, and its number when it has none.
#[derive(Copy, Clone, Default, Debug)]
struct BlockLabel {
    function: Option<usize>,
    number: Option<u32>,
}

/// Which numbers attribute groups and metadata get.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Scope {
    /// Those in a listing of the whole module.
    Module,
    /// Those in a listing in which no other function has a body.
    Function,
}

/// Prints parts of one function. Holds the numbers of values without a name.
///
/// Attribute groups and metadata are numbered as by LLVM when it prints a single instruction. These
/// numbers differ from those in a listing of the module: only entities that this function mentions
/// are numbered.
#[derive(Debug)]
pub struct FunctionPrinter<'a> {
    cx: &'a ModulePrinter<'a>,
    function: FunctionRef<'a>,
    locals: LocalSlots,
    scope: Scope,
    numbers: OnceLock<Numbers>,
}

impl<'a> FunctionPrinter<'a> {
    fn new(cx: &'a ModulePrinter<'a>, function: FunctionRef<'a>, scope: Scope) -> Self {
        let locals = LocalSlots::new(function);
        FunctionPrinter { cx, function, locals, scope, numbers: OnceLock::new() }
    }

    fn writer<'p>(&'p self, out: &'p mut Vec<u8>) -> Writer<'p> {
        Writer { cx: self.cx, function: Some(self), nodes: self.scope, out }
    }

    /// Appends the whole function, line break included. Use-list orders are written if they fit the
    /// uses up to this place of the module. O(function), and O(module before it) if it has any.
    pub fn text(&self, out: &mut Vec<u8>) {
        let mut uses = module::OrderedUses::up_to(self.cx, self.function);
        self.writer(out).function(self, uses.as_mut());
    }

    /// Appends an instruction, without indentation, line break and the debug records before it.
    pub fn inst(&self, inst: InstId, out: &mut Vec<u8>) {
        let mut writer = self.writer(out);
        if self.mentions_nodes(inst) {
            writer.nodes = Scope::Module;
        }
        writer.inst(inst);
    }

    /// Whether this passes metadata to an intrinsic.
    fn mentions_nodes(&self, inst: InstId) -> bool {
        self.function.body.inst(inst).opcode.is_call()
            && slots::metadata_operands(self.function, inst).next().is_some()
    }

    /// Appends a value as an operand: `i32 %x` or `%x`.
    pub fn operand(&self, value: Value, with_type: bool, out: &mut Vec<u8>) {
        let mut writer = self.writer(out);
        match with_type {
            true => writer.typed_value(value),
            false => writer.value(value),
        }
    }

    /// Appends an argument with its type: `i32 %x`.
    pub fn arg(&self, position: u32, out: &mut Vec<u8>) {
        self.operand(Value::arg(position), true, out);
    }

    /// Appends the name of a block as it is: `a b`; its number when it has none.
    pub fn block_name(&self, block: BlockId, out: &mut Vec<u8>) {
        match self.function.extras.names.block(block) {
            Some(name) => out.extend_from_slice(name),
            None => self.writer(out).local_slot(self.locals.block(block)),
        }
    }

    /// Appends the name of a block as in its label: `"a b"`; its number when it has none.
    pub fn block_label(&self, block: BlockId, out: &mut Vec<u8>) {
        match self.function.extras.names.block(block) {
            Some(name) => names::name(name, out),
            None => self.writer(out).local_slot(self.locals.block(block)),
        }
    }

    /// Appends a block as an operand without its type: `%"a b"`, `%7`.
    pub fn block_operand(&self, block: BlockId, out: &mut Vec<u8>) {
        self.operand(Value::block(block), false, out);
    }

    /// Appends a type: `<4 x i32>`.
    pub fn type_name(&self, ty: Type, out: &mut Vec<u8>) {
        self.cx.type_name(ty, out);
    }

    /// The printer of the module that this function belongs to.
    pub fn module_printer(&self) -> &'a ModulePrinter<'a> {
        self.cx
    }

    fn numbers(&self) -> &Numbers {
        self.numbers
            .get_or_init(|| Numbers::of_function(self.cx.module, &self.cx.base, self.function))
    }
}

/// A buffer and what is needed to write into it. All parts of the printer are methods of this.
struct Writer<'a> {
    cx: &'a ModulePrinter<'a>,
    /// The function that local values belong to.
    function: Option<&'a FunctionPrinter<'a>>,
    /// Which numbers of metadata nodes to write.
    nodes: Scope,
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// What is written.
    fn module(&self) -> &'a Module {
        self.cx.module
    }

    /// Where the interned types, constants and names live.
    fn context(&self) -> &'a Context {
        self.cx.context
    }

    /// The number of a metadata node; none for one that is written in place.
    fn metadata_slot(&self, node: MetadataId) -> Option<u32> {
        match self.function {
            Some(function) if self.nodes == Scope::Function => {
                self.cx.base.node(node).or_else(|| function.numbers().node(node))
            }
            _ => self.cx.whole().node(node),
        }
    }

    /// The number of an attribute group.
    fn attr_group_slot(&self, set: AttrSet) -> Option<u32> {
        match self.function {
            Some(function) if function.scope == Scope::Function => {
                self.cx.base.group(set).or_else(|| function.numbers().group(set))
            }
            _ => self.cx.whole().group(set),
        }
    }

    /// ` #7`, or nothing for the empty set.
    fn attr_group(&mut self, set: AttrSet) {
        if set != AttrSet::EMPTY {
            self.str(" #");
            let slot = self.attr_group_slot(set);
            self.local_slot(slot);
        }
    }

    /// `@name`
    fn global(&mut self, name: GlobalName) {
        match name {
            GlobalName::Named(symbol) => self.name(b'@', self.cx.context.bytes(symbol)),
            GlobalName::Numbered(number) => {
                self.out.push(b'@');
                self.number(u64::from(self.cx.globals.get(number)));
            }
        }
    }

    /// A number, or LLVM's mark for what should have one and has none.
    fn local_slot(&mut self, slot: Option<u32>) {
        match slot {
            Some(slot) => self.number(u64::from(slot)),
            None => self.str("<badref>"),
        }
    }

    /// `%name`, `%7`
    fn local(&mut self, name: Option<&[u8]>, slot: Option<u32>) {
        match (name, slot) {
            (Some(name), _) => self.name(b'%', name),
            (None, Some(slot)) => {
                self.out.push(b'%');
                self.number(u64::from(slot));
            }
            (None, None) => self.str("<badref>"),
        }
    }

    /// `%block`
    fn block(&mut self, block: BlockId) {
        match self.function {
            Some(f) => self.local(f.function.extras.names.block(block), f.locals.block(block)),
            None => self.str("<badref>"),
        }
    }

    /// The block of a `blockaddress`, which may belong to another function.
    fn block_address_label(&mut self, slot: u32, address: BlockAddress) {
        if let Some(f) = self.function
            && f.function.header.name == address.function
        {
            return self.block(address.block);
        }
        let (name, number) = self.cx.block_label(slot, address);
        self.local(name, number);
    }

    /// A value without its type.
    fn value(&mut self, value: Value) {
        match (value.kind(), self.function) {
            (ValueKind::Const(constant), _) => self.constant(constant),
            (ValueKind::Inst(inst), Some(f)) => {
                self.local(f.function.extras.names.inst(inst), f.locals.inst(inst));
            }
            (ValueKind::Arg(position), Some(f)) => {
                self.local(f.function.extras.names.arg(position), f.locals.arg(position));
            }
            (ValueKind::Block(block), _) => self.block(block),
            (ValueKind::Metadata(id), Some(_)) => self.local_metadata(id),
            (_, None) => self.str("<badref>"),
        }
    }

    /// A value after its type.
    fn typed_value(&mut self, value: Value) {
        if let ValueKind::Const(constant) = value.kind() {
            return self.typed_constant(constant);
        }
        self.ty(self.type_of(value));
        self.out.push(b' ');
        self.value(value);
    }

    /// The type of a value.
    fn type_of(&self, value: Value) -> Type {
        match (value.kind(), self.function) {
            (ValueKind::Const(constant), _) => self.cx.context.const_data(constant).ty,
            (_, Some(f)) => f.function.value_type(self.cx.context, value),
            (ValueKind::Block(_), None) => Type::LABEL,
            _ => Type::METADATA,
        }
    }
}
