//! The environment of a function: what rules may ask about its module.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    constant::{Const, ConstKind},
    data_layout::DataLayout,
    function::FunctionHeader,
    module::{GlobalIndex, Module},
    symbol::GlobalName,
    verify::types::{StructIndex, Types},
};

/// The entities of a module by name: all that verifying a function needs of its module.
///
/// O(entities) to make, and usable for all functions of the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModuleIndex {
    pub(crate) globals: FxHashMap<GlobalName, GlobalIndex>,
    pub(crate) structs: StructIndex,
    /// Whether the triple names an AMD GPU.
    pub(crate) amdgpu: bool,
    pub(crate) layout: DataLayout,
    /// Address space of stack objects, as the data layout or else the triple says.
    pub(crate) alloca_space: u32,
}

impl ModuleIndex {
    /// The index of a module. Of several entities with the same name, the first one counts.
    pub fn new(module: &Module) -> Self {
        Self::with_functions(module, module.functions.iter().map(|f| f.header.name))
    }

    /// As [`ModuleIndex::new`], for a module whose functions are stored elsewhere; their names, in
    /// order.
    pub fn with_functions(module: &Module, functions: impl Iterator<Item = GlobalName>) -> Self {
        let mut index = ModuleIndex::default();
        let variables = module.variables.iter().map(|v| v.name);
        let aliases = module.aliases.iter().map(|a| a.name);
        for (at, name) in variables.enumerate() {
            index.globals.entry(name).or_insert(GlobalIndex::Variable(at));
        }
        for (at, name) in aliases.enumerate() {
            index.globals.entry(name).or_insert(GlobalIndex::Alias(at));
        }
        for (at, name) in functions.enumerate() {
            index.globals.entry(name).or_insert(GlobalIndex::Function(at));
        }
        for (at, (name, _)) in module.structs.iter().enumerate() {
            index.structs.entry(*name).or_insert(at as u32);
        }
        index.read_target(module);
        index
    }

    /// The entity of a name. O(1).
    pub fn find(&self, name: GlobalName) -> Option<GlobalIndex> {
        self.globals.get(&name).copied()
    }

    /// Whether the module has an entity of this name.
    pub fn contains(&self, name: GlobalName) -> bool {
        self.globals.contains_key(&name)
    }

    /// Copies what triple and data layout state.
    pub(crate) fn read_target(&mut self, module: &Module) {
        // The names may belong to another context, which the verifier reports later.
        let count = module.context.symbol_count();
        let is_known = |symbol: &crate::Symbol| (symbol.raw() as usize) < count;
        if ![module.triple, module.data_layout].iter().flatten().all(is_known) {
            return;
        }
        let triple = module.triple.map_or(&b""[..], |triple| module.context.bytes(triple));
        self.amdgpu =
            [&b"amdgcn"[..], b"amdgpu", b"r600"].iter().any(|arch| triple.starts_with(arch));
        self.layout = DataLayout::of(module);
        self.alloca_space = match module.data_layout {
            None if self.amdgpu => 5,
            _ => self.layout.alloca_space(),
        };
    }
}

/// Headers of the functions of a module, by the position that a [`ModuleIndex`] knows them at.
pub trait Headers {
    /// The header at a position; none when there is no such function.
    fn header(&self, at: usize) -> Option<&FunctionHeader>;
}

impl Headers for Module {
    fn header(&self, at: usize) -> Option<&FunctionHeader> {
        Some(&self.functions.get(at)?.header)
    }
}

/// The environment of a function while its rules are checked.
pub(crate) struct Env<'a> {
    pub(crate) types: Types<'a>,
    pub(crate) module: &'a Module,
    pub(crate) index: &'a ModuleIndex,
    headers: &'a dyn Headers,
    pub(crate) amdgpu: bool,
    /// Intrinsics that are used other than by calling them with their own type. Filled only when a
    /// whole module is verified.
    pub(crate) misused: FxHashSet<GlobalName>,
    /// Whether the intrinsic of this name is a convergent operation.
    pub(crate) convergent_intrinsic: fn(&[u8]) -> bool,
}

impl<'a> Env<'a> {
    pub(crate) fn new(module: &'a Module, index: &'a ModuleIndex) -> Self {
        Env::over(module, index, module)
    }

    /// As [`Env::new`], with the functions stored elsewhere.
    pub(crate) fn over(
        module: &'a Module,
        index: &'a ModuleIndex,
        headers: &'a dyn Headers,
    ) -> Self {
        Env {
            types: Types::new(&module.context, &module.structs, &index.structs),
            module,
            index,
            headers,
            amdgpu: index.amdgpu,
            misused: FxHashSet::default(),
            convergent_intrinsic: |_| false,
        }
    }

    /// The entity of a name.
    pub(crate) fn global(&self, name: GlobalName) -> Option<GlobalIndex> {
        self.index.globals.get(&name).copied()
    }

    /// The header of the function at a position of the index.
    pub(crate) fn header(&self, at: usize) -> Option<&'a FunctionHeader> {
        self.headers.header(at)
    }

    /// The header of the function a constant names.
    pub(crate) fn function_of(&self, constant: Const) -> Option<&'a FunctionHeader> {
        match &self.types.context.const_data(constant).kind {
            ConstKind::Global(name) => self.function(*name),
            _ => None,
        }
    }

    /// The header of the function with this name.
    pub(crate) fn function(&self, name: GlobalName) -> Option<&'a FunctionHeader> {
        match self.global(name)? {
            GlobalIndex::Function(at) => self.headers.header(at),
            _ => None,
        }
    }

    /// The bytes of a name, or nothing for a numbered entity.
    pub(crate) fn name_bytes(&self, name: GlobalName) -> &'a [u8] {
        name.symbol().map_or(b"", |symbol| self.types.context.bytes(symbol))
    }

    /// Whether the name is reserved for intrinsics.
    pub(crate) fn is_intrinsic(&self, name: GlobalName) -> bool {
        self.name_bytes(name).starts_with(b"llvm.")
    }
}
