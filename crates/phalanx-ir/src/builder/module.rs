//! [`ModuleBuilder`]: declarations, variables, types.

use std::sync::Arc;

use crate::{
    attributes::AttrList,
    builder::{error::BuildError, function::FunctionBuilder},
    call_conv::CallConv,
    constant::Const,
    context::Context,
    describe,
    function::{Function, FunctionHeader},
    module::{GlobalIndex, GlobalVariable, Linkage, Module},
    symbol::GlobalName,
    types::{StructBody, StructName, Type, TypeKind},
    verify::{ModuleIndex, Verifier},
};

/// A function of the module, to call or to take the address of.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct FunctionHandle {
    name: GlobalName,
    address: Const,
    function_type: Type,
    call_conv: CallConv,
}

impl FunctionHandle {
    /// Its name.
    pub fn name(self) -> GlobalName {
        self.name
    }

    /// Its address.
    pub fn address(self) -> Const {
        self.address
    }

    /// Its type.
    pub fn function_type(self) -> Type {
        self.function_type
    }

    /// Its calling convention.
    pub fn call_conv(self) -> CallConv {
        self.call_conv
    }
}

/// The properties of a function except its name and code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionSpec {
    ret: Type,
    params: Vec<(Type, Box<[u8]>)>,
    vararg: bool,
    call_conv: CallConv,
    attributes: AttrList,
    linkage: Linkage,
    address_space: u32,
}

impl FunctionSpec {
    /// A function without parameters, of external linkage and C convention.
    pub fn new(ret: Type) -> FunctionSpec {
        FunctionSpec {
            ret,
            params: Vec::new(),
            vararg: false,
            call_conv: CallConv::C,
            attributes: AttrList::EMPTY,
            linkage: Linkage::External,
            address_space: 0,
        }
    }

    /// With one parameter more; an empty name leaves it unnamed.
    #[must_use]
    pub fn param(mut self, ty: Type, name: &str) -> FunctionSpec {
        self.params.push((ty, name.as_bytes().into()));
        self
    }

    /// With unnamed parameters.
    #[must_use]
    pub fn params(mut self, types: &[Type]) -> FunctionSpec {
        self.params.extend(types.iter().map(|&ty| (ty, Box::default())));
        self
    }

    /// With variable arguments.
    #[must_use]
    pub fn vararg(mut self) -> FunctionSpec {
        self.vararg = true;
        self
    }

    /// With a calling convention.
    #[must_use]
    pub fn call_conv(mut self, call_conv: CallConv) -> FunctionSpec {
        self.call_conv = call_conv;
        self
    }

    /// With attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: AttrList) -> FunctionSpec {
        self.attributes = attributes;
        self
    }

    /// With a linkage.
    #[must_use]
    pub fn linkage(mut self, linkage: Linkage) -> FunctionSpec {
        self.linkage = linkage;
        self
    }

    /// In an address space of code.
    #[must_use]
    pub fn address_space(mut self, address_space: u32) -> FunctionSpec {
        self.address_space = address_space;
        self
    }

    fn header(&self, context: &Context, name: GlobalName) -> FunctionHeader {
        let params: Vec<Type> = self.params.iter().map(|&(ty, _)| ty).collect();
        FunctionHeader {
            call_conv: self.call_conv,
            attributes: self.attributes,
            linkage: self.linkage,
            address_space: self.address_space,
            ..FunctionHeader::new(context, name, self.ret, &params, self.vararg)
        }
    }
}

/// Builds a module. See the [module documentation](crate::builder).
#[derive(Clone, Debug)]
pub struct ModuleBuilder {
    pub(super) module: Module,
    pub(super) index: ModuleIndex,
    pub(super) verifies: bool,
}

impl ModuleBuilder {
    /// An empty module over a context.
    pub fn new(context: Arc<Context>) -> Self {
        Self::extend(Module::new(context))
    }

    /// Extends an existing module. O(entities).
    pub fn extend(module: Module) -> Self {
        let index = ModuleIndex::new(&module);
        ModuleBuilder { module, index, verifies: true }
    }

    /// Whether `finish` verifies functions and the module; the default is to do so. A session
    /// verifies what it is given, so the builder need not do it for one.
    pub fn verifying(&mut self, verifies: bool) -> &mut Self {
        self.verifies = verifies;
        self
    }

    /// Where types, constants and names live.
    pub fn context(&self) -> &Arc<Context> {
        &self.module.context
    }

    /// The module so far.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Sets `target triple`.
    pub fn set_triple(&mut self, triple: &str) {
        self.module.triple = Some(self.module.context.symbol(triple.as_bytes()));
        self.index.read_target(&self.module);
    }

    /// Sets `target datalayout`.
    pub fn set_data_layout(&mut self, layout: &str) {
        self.module.data_layout = Some(self.module.context.symbol(layout.as_bytes()));
        self.index.read_target(&self.module);
    }

    /// Sets `source_filename`.
    pub fn set_source_filename(&mut self, name: &str) {
        self.module.source_filename = Some(self.module.context.symbol(name.as_bytes()));
    }

    /// Declares a function, or finds it when it is there with the same type.
    ///
    /// # Errors
    /// When the name is taken by something else.
    pub fn declare_function(
        &mut self,
        name: &str,
        ret: Type,
        params: &[Type],
    ) -> Result<FunctionHandle, BuildError> {
        self.declare_function_with(name, &FunctionSpec::new(ret).params(params))
    }

    /// As [`ModuleBuilder::declare_function`], with convention, attributes and so on.
    ///
    /// # Errors
    /// When the name is taken by something else.
    pub fn declare_function_with(
        &mut self,
        name: &str,
        spec: &FunctionSpec,
    ) -> Result<FunctionHandle, BuildError> {
        let name = self.named(name);
        let header = spec.header(&self.module.context, name);
        let at = match self.index.globals.get(&name) {
            None => self.add_function(header),
            Some(&GlobalIndex::Function(at)) if self.header(at).ty == header.ty => at,
            Some(_) => return Err(self.duplicate(name, true)),
        };
        Ok(self.reference(at))
    }

    /// Begins a function's definition. It enters the module when its builder finishes.
    ///
    /// The name may have been declared before, with the same type. If the definition is given up, a
    /// declaration remains.
    ///
    /// # Errors
    /// When the name is defined already or has another type.
    pub fn define_function(
        &mut self,
        name: &str,
        spec: &FunctionSpec,
    ) -> Result<FunctionBuilder<'_>, BuildError> {
        let symbol = self.named(name);
        let header = spec.header(&self.module.context, symbol);
        let at = match self.index.globals.get(&symbol) {
            None => {
                let declaration = FunctionHeader { linkage: Linkage::External, ..header.clone() };
                self.add_function(declaration)
            }
            Some(&GlobalIndex::Function(at)) => {
                if !self.module.functions[at].is_declaration() {
                    return Err(self.duplicate(symbol, false));
                }
                if self.header(at).ty != header.ty {
                    return Err(self.duplicate(symbol, true));
                }
                at
            }
            Some(_) => return Err(self.duplicate(symbol, false)),
        };
        let mut function = Function::new(header);
        for (position, (_, name)) in spec.params.iter().enumerate() {
            function.extras.names.set_arg(position as u32, name);
        }
        Ok(FunctionBuilder::new(self, at, function))
    }

    /// Adds a variable and returns its address.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use phalanx_ir::{Context, GlobalVariable, Type, builder::{BuildError, ModuleBuilder}, module::Linkage};
    /// # fn main() -> Result<(), BuildError> {
    /// # let context = Arc::new(Context::new());
    /// let mut module = ModuleBuilder::new(context.clone());
    /// let tile = GlobalVariable {
    ///     address_space: 3,
    ///     linkage: Linkage::Internal,
    ///     initializer: Some(context.const_poison(context.array_type(Type::FLOAT, 256))),
    ///     ..GlobalVariable::new(context.array_type(Type::FLOAT, 256))
    /// };
    /// let tile = module.add_variable("tile", tile)?;
    /// assert_eq!(context.const_data(tile).ty, Type::PTR3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the name is taken.
    pub fn add_variable(
        &mut self,
        name: &str,
        variable: GlobalVariable,
    ) -> Result<Const, BuildError> {
        let name = self.named(name);
        if self.index.globals.contains_key(&name) {
            return Err(self.duplicate(name, false));
        }
        let address = self.module.context.const_global(name, variable.address_space);
        self.index.globals.insert(name, GlobalIndex::Variable(self.module.variables.len()));
        self.module.variables.push(GlobalVariable { name, ..variable });
        Ok(address)
    }

    /// Defines an identified structure type, or gives a declared one its fields.
    ///
    /// # Errors
    /// When the name has fields already.
    pub fn define_struct(&mut self, name: &str, fields: &[Type]) -> Result<Type, BuildError> {
        let body = StructBody::Fields { packed: false, fields: fields.into() };
        self.set_struct(name, body)
    }

    /// Declares an identified structure type whose fields are unknown or come later.
    pub fn declare_struct(&mut self, name: &str) -> Type {
        let name = StructName::Named(self.module.context.symbol(name.as_bytes()));
        self.struct_entry(name);
        self.module.context.type_of_kind(&TypeKind::Named(name))
    }

    fn set_struct(&mut self, name: &str, body: StructBody) -> Result<Type, BuildError> {
        let symbol = StructName::Named(self.module.context.symbol(name.as_bytes()));
        let at = self.struct_entry(symbol);
        let slot = &mut self.module.structs[at].1;
        if *slot != StructBody::Opaque {
            return Err(BuildError::DuplicateName { name: format!("%{name}"), other_type: false });
        }
        *slot = body;
        Ok(self.module.context.type_of_kind(&TypeKind::Named(symbol)))
    }

    fn struct_entry(&mut self, name: StructName) -> usize {
        let structs = &mut self.module.structs;
        *self.index.structs.entry(name).or_insert_with(|| {
            structs.push((name, StructBody::Opaque));
            structs.len() as u32 - 1
        }) as usize
    }

    /// The function with a name.
    pub fn function(&self, name: &str) -> Option<FunctionHandle> {
        let symbol = self.module.context.find_symbol(name.as_bytes())?;
        match self.index.globals.get(&GlobalName::Named(symbol))? {
            &GlobalIndex::Function(at) => Some(self.reference(at)),
            _ => None,
        }
    }

    /// Changes parts of the module that have no method here: metadata, comdats, aliases.
    ///
    /// Entities that were declared before must keep their positions in their lists.
    pub fn module_mut(&mut self) -> &mut Module {
        &mut self.module
    }

    /// Verifies the module and returns it. O(module).
    ///
    /// # Errors
    /// All broken rules.
    pub fn finish(self) -> Result<Module, BuildError> {
        let errors = match self.verifies {
            true => Verifier::new(&self.module).module(),
            false => Vec::new(),
        };
        if errors.is_empty() {
            return Ok(self.module);
        }
        let find = |name: Option<GlobalName>| {
            self.module.functions.iter().find(|f| Some(f.header.name) == name).map(Function::view)
        };
        let messages = errors.iter().map(|e| {
            let function = find(e.function);
            let text = describe::error(&self.module, function, e);
            match e.function {
                Some(name) => format!("{}: {text}", describe::global(&self.module.context, name)),
                None => text,
            }
        });
        Err(BuildError::Module { messages: messages.collect(), errors })
    }

    fn named(&self, name: &str) -> GlobalName {
        GlobalName::Named(self.module.context.symbol(name.as_bytes()))
    }

    fn header(&self, at: usize) -> &FunctionHeader {
        &self.module.functions[at].header
    }

    fn add_function(&mut self, header: FunctionHeader) -> usize {
        let at = self.module.functions.len();
        self.index.globals.insert(header.name, GlobalIndex::Function(at));
        self.module.functions.push(Function::new(header));
        at
    }

    pub(super) fn reference(&self, at: usize) -> FunctionHandle {
        let header = self.header(at);
        FunctionHandle {
            name: header.name,
            address: self.module.context.const_global(header.name, header.address_space),
            function_type: header.ty,
            call_conv: header.call_conv,
        }
    }

    fn duplicate(&self, name: GlobalName, other_type: bool) -> BuildError {
        BuildError::DuplicateName { name: describe::global(&self.module.context, name), other_type }
    }
}
