//! Modules: functions, variables, aliases, ifuncs, comdats, identified types, metadata.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    attributes::AttrSet,
    body::InstId,
    constant::Const,
    context::Context,
    flow::BlockId,
    function::Function,
    metadata::{Attachment, Metadata},
    symbol::{GlobalName, Symbol},
    text_enum::text_enum,
    types::{StructBody, StructName, Type},
    value::Value,
};

text_enum! {
    /// Linkage; the first kind has no keyword in text.
    Linkage {
        External "external", Private "private", Internal "internal", AvailableExternally "available_externally",
        LinkOnce "linkonce", LinkOnceOdr "linkonce_odr", Weak "weak", WeakOdr "weak_odr", Appending "appending",
        Common "common", ExternWeak "extern_weak",
    }
}

text_enum! {
    /// Visibility; the first kind has no keyword in text.
    Visibility { Default "default", Hidden "hidden", Protected "protected" }
}

text_enum! {
    /// DLL storage class; the first kind has no keyword in text.
    DllStorage { Default "", Import "dllimport", Export "dllexport" }
}

text_enum! {
    /// Whether the address is significant; the first kind has no keyword in text.
    UnnamedAddr { No "", Local "local_unnamed_addr", Global "unnamed_addr" }
}

text_enum! {
    /// How duplicate comdats are chosen among.
    ComdatKind {
        Any "any", ExactMatch "exactmatch", Largest "largest", NoDeduplicate "nodeduplicate", SameSize "samesize",
    }
}

text_enum! {
    /// Models of thread-local storage.
    ThreadLocal {
        GeneralDynamic "generaldynamic", LocalDynamic "localdynamic", InitialExec "initialexec",
        LocalExec "localexec",
    }
}

text_enum! {
    /// Code models of a variable.
    CodeModel { Tiny "tiny", Small "small", Kernel "kernel", Medium "medium", Large "large" }
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalVariable {
    /// `@name`
    pub name: GlobalName,
    /// Type of the value.
    pub ty: Type,
    /// Address space.
    pub address_space: u32,
    /// `constant` rather than `global`.
    pub is_constant: bool,
    /// Initial value; none for a declaration.
    pub initializer: Option<Const>,
    /// Linkage.
    pub linkage: Linkage,
    /// Visibility.
    pub visibility: Visibility,
    /// DLL storage class.
    pub dll: DllStorage,
    /// `dso_local` (`Some(true)`), `dso_preemptable` (`Some(false)`) or neither.
    pub dso_local: Option<bool>,
    /// Thread-local model.
    pub thread_local: Option<ThreadLocal>,
    /// `unnamed_addr`
    pub unnamed_addr: UnnamedAddr,
    /// `externally_initialized`
    pub externally_initialized: bool,
    /// Section.
    pub section: Option<Symbol>,
    /// Partition.
    pub partition: Option<Symbol>,
    /// Comdat, by name.
    pub comdat: Option<Symbol>,
    /// Alignment in bytes.
    pub align: Option<u64>,
    /// Code model.
    pub code_model: Option<CodeModel>,
    /// `no_sanitize_address`, `no_sanitize_hwaddress`, `sanitize_memtag`,
    /// `sanitize_address_dyninit`.
    pub sanitizer: [bool; 4],
    /// Attributes.
    pub attributes: AttrSet,
    /// Metadata attachments.
    pub metadata: Box<[Attachment]>,
}

impl GlobalVariable {
    /// A declaration `@0 = external global ty`, to start from.
    pub fn new(ty: Type) -> Self {
        GlobalVariable {
            name: GlobalName::Numbered(0),
            ty,
            address_space: 0,
            is_constant: false,
            initializer: None,
            linkage: Linkage::External,
            visibility: Visibility::Default,
            dll: DllStorage::Default,
            dso_local: None,
            thread_local: None,
            unnamed_addr: UnnamedAddr::No,
            externally_initialized: false,
            section: None,
            partition: None,
            comdat: None,
            align: None,
            code_model: None,
            sanitizer: [false; 4],
            attributes: AttrSet::EMPTY,
            metadata: Box::default(),
        }
    }
}

/// An alias or an ifunc.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalAlias {
    /// `@name`
    pub name: GlobalName,
    /// Whether this is an `ifunc`.
    pub is_ifunc: bool,
    /// Type of the value.
    pub ty: Type,
    /// Type of the pointer.
    pub ptr_ty: Type,
    /// The aliasee or resolver.
    pub target: Const,
    /// Linkage.
    pub linkage: Linkage,
    /// Visibility.
    pub visibility: Visibility,
    /// DLL storage class.
    pub dll: DllStorage,
    /// `dso_local` (`Some(true)`), `dso_preemptable` (`Some(false)`) or neither.
    pub dso_local: Option<bool>,
    /// Thread-local model.
    pub thread_local: Option<ThreadLocal>,
    /// `unnamed_addr`
    pub unnamed_addr: UnnamedAddr,
    /// Partition.
    pub partition: Option<Symbol>,
    /// Metadata attachments (ifuncs).
    pub metadata: Box<[Attachment]>,
}

/// A `uselistorder` or `uselistorder_bb` directive, carried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UseListOrder {
    /// Which value: of the function, or a constant.
    pub target: UseListTarget,
    /// The permutation.
    pub indices: Box<[u32]>,
}

/// What a use-list order is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UseListTarget {
    /// `uselistorder type value`
    Value(Value),
    /// `uselistorder_bb @function, %block`
    Block(GlobalName, BlockId),
}

/// A target of `blockaddress`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct BlockAddress {
    /// The function.
    pub function: GlobalName,
    /// The block in it.
    pub block: BlockId,
}

/// What a name refers to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum GlobalIndex {
    /// Entry of [`Module::functions`].
    Function(usize),
    /// Entry of [`Module::variables`].
    Variable(usize),
    /// Entry of [`Module::aliases`].
    Alias(usize),
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Where the interned types, constants and names live.
    pub context: Arc<Context>,
    /// `source_filename`
    pub source_filename: Option<Symbol>,
    /// `target datalayout`
    pub data_layout: Option<Symbol>,
    /// `target triple`
    pub triple: Option<Symbol>,
    /// `module asm` lines.
    pub module_asm: Vec<Symbol>,
    /// Identified structure types, in order of definition or first use.
    pub structs: Vec<(StructName, StructBody)>,
    /// Comdats, in order.
    pub comdats: Vec<(Symbol, ComdatKind)>,
    /// Variables, in order.
    pub variables: Vec<GlobalVariable>,
    /// Aliases and ifuncs, in order.
    pub aliases: Vec<GlobalAlias>,
    /// Functions, in order, declarations included.
    pub functions: Vec<Function>,
    /// Targets of `blockaddress` constants, by slot.
    pub block_addresses: Vec<BlockAddress>,
    /// Metadata.
    pub metadata: Metadata,
    /// Module-level use-list orders, carried.
    pub use_list_orders: Vec<UseListOrder>,
    /// Lines of a module summary (`^0 = ..`), carried as text.
    pub summary: Vec<Symbol>,
}

/// Modules can be compared only if they share a context: ids of another context have other
/// meanings.
impl PartialEq for Module {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
            && self.source_filename == other.source_filename
            && self.data_layout == other.data_layout
            && self.triple == other.triple
            && self.module_asm == other.module_asm
            && self.structs == other.structs
            && self.comdats == other.comdats
            && self.variables == other.variables
            && self.aliases == other.aliases
            && self.functions == other.functions
            && self.block_addresses == other.block_addresses
            && self.metadata == other.metadata
            && self.use_list_orders == other.use_list_orders
            && self.summary == other.summary
    }
}

impl Eq for Module {}

impl Module {
    /// An empty module over a context.
    pub fn new(context: Arc<Context>) -> Self {
        Module {
            context,
            source_filename: None,
            data_layout: None,
            triple: None,
            module_asm: Vec::new(),
            structs: Vec::new(),
            comdats: Vec::new(),
            variables: Vec::new(),
            aliases: Vec::new(),
            functions: Vec::new(),
            block_addresses: Vec::new(),
            metadata: Metadata::default(),
            use_list_orders: Vec::new(),
            summary: Vec::new(),
        }
    }

    /// Whether a function that is well-formed in `old` is well-formed in this module too: the
    /// entities that it may refer to exist here with the same properties, and the target is the
    /// same. O(module without its functions).
    pub fn extends(&self, old: &Module) -> bool {
        let is_same = |(new, old): (&GlobalVariable, &GlobalVariable)| {
            let seen = |v: &GlobalVariable| (v.name, v.ty, v.address_space, v.thread_local);
            seen(new) == seen(old)
        };
        Arc::ptr_eq(&self.context, &old.context)
            && (self.data_layout, self.triple) == (old.data_layout, old.triple)
            && self.structs.starts_with(&old.structs)
            && self.comdats.starts_with(&old.comdats)
            && self.variables.len() >= old.variables.len()
            && self.variables.iter().zip(&old.variables).all(is_same)
            && self.aliases.starts_with(&old.aliases)
            && self.block_addresses.starts_with(&old.block_addresses)
            && self.metadata.extends(&old.metadata)
    }

    /// Where each name is defined or declared. O(entities).
    pub fn index(&self) -> FxHashMap<GlobalName, GlobalIndex> {
        let mut index = FxHashMap::default();
        index.extend(
            self.variables.iter().enumerate().map(|(i, v)| (v.name, GlobalIndex::Variable(i))),
        );
        index.extend(self.aliases.iter().enumerate().map(|(i, a)| (a.name, GlobalIndex::Alias(i))));
        index.extend(
            self.functions
                .iter()
                .enumerate()
                .map(|(i, f)| (f.header.name, GlobalIndex::Function(i))),
        );
        index
    }

    /// The function with this name. O(functions).
    pub fn function(&self, name: &str) -> Option<&Function> {
        let symbol = GlobalName::Named(self.context.find_symbol(name.as_bytes())?);
        self.functions.iter().find(|f| f.header.name == symbol)
    }
}

/// A place inside a module, for messages and source maps.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Entity {
    /// Entry of [`Module::functions`].
    Function(u32),
    /// A block of a function.
    Block(u32, BlockId),
    /// An instruction of a function.
    Inst(u32, InstId),
    /// Entry of [`Module::variables`].
    Variable(u32),
    /// Entry of [`Module::aliases`].
    Alias(u32),
}
