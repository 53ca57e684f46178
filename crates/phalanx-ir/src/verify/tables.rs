//! Checks that everything a module has beside its functions belongs to its context. Other rules of
//! modules rely on this, as those of functions rely on [`integrity`](super::integrity).
//!
//! A number of another context can be detected only if it is out of range here. If a module fails
//! here, no other rule is checked.

use crate::{
    constant::Const,
    context::Context,
    metadata::{Attachment, MetadataId, MetadataValue},
    module::{GlobalAlias, GlobalVariable, Module, UseListTarget},
    symbol::{GlobalName, Symbol},
    types::{StructBody, StructName, Type},
    verify::fault::{Related, VerifyError},
};

/// Why an entity does not belong to a module; none if it does.
type Strange = Option<&'static str>;

struct Tables<'m> {
    module: &'m Module,
    context: &'m Context,
}

/// Why a value cannot be in the metadata of a module, if it cannot.
pub(crate) fn strange_value(module: &Module, value: MetadataValue) -> Option<&'static str> {
    Tables { module, context: &module.context }.value(value)
}

/// Reports references of variables, aliases, types, metadata and the rest to entities that the
/// module or its context does not have. O(references).
pub(crate) fn check(module: &Module) -> Vec<VerifyError> {
    let tables = Tables { module, context: &module.context };
    let mut errors = Vec::new();
    let mut note = |strange: Strange, related: Option<Related>| {
        let Some(message) = strange else { return };
        let (message, related) = (message.into(), related.into_iter().collect());
        errors.push(VerifyError { function: None, block: None, inst: None, message, related });
    };
    let global = |name| tables.global(name).is_none().then_some(Related::Global(name));
    for variable in &module.variables {
        note(tables.variable(variable), global(variable.name));
    }
    for alias in &module.aliases {
        note(tables.alias(alias), global(alias.name));
    }
    for function in &module.functions {
        note(tables.global(function.header.name), None);
    }
    for (name, body) in &module.structs {
        note(tables.structure(*name, body), None);
    }
    for address in &module.block_addresses {
        note(tables.global(address.function), None);
    }
    for order in &module.use_list_orders {
        note(tables.target(&order.target), None);
    }
    note(tables.rest(), None);
    note(tables.metadata(), None);
    errors
}

impl Tables<'_> {
    fn symbol(&self, symbol: Symbol) -> Strange {
        let is_known = (symbol.raw() as usize) < self.context.symbol_count();
        (!is_known).then_some("Referring to a name of another context!")
    }

    fn symbols(&self, symbols: impl IntoIterator<Item = Symbol>) -> Strange {
        symbols.into_iter().find_map(|symbol| self.symbol(symbol))
    }

    fn global(&self, name: GlobalName) -> Strange {
        self.symbols(name.symbol())
    }

    fn ty(&self, ty: Type) -> Strange {
        let is_known = (ty.raw() as usize) < self.context.type_count();
        (!is_known).then_some("Referring to a type of another context!")
    }

    fn constant(&self, constant: Const) -> Strange {
        let is_known = (constant.raw() as usize) < self.context.const_count();
        (!is_known).then_some("Referring to a constant of another context!")
    }

    fn node(&self, node: MetadataId) -> Strange {
        let is_known = (node.into_raw().into_u32() as usize) < self.module.metadata.len();
        (!is_known).then_some("Referring to metadata of another module!")
    }

    fn attachments(&self, list: &[Attachment]) -> Strange {
        list.iter().find_map(|a| self.symbol(a.kind).or_else(|| self.node(a.node)))
    }

    fn variable(&self, variable: &GlobalVariable) -> Strange {
        let names = [variable.section, variable.partition, variable.comdat];
        let is_known = (variable.attributes.raw() as usize) < self.context.attr_set_count();
        self.global(variable.name)
            .or_else(|| self.ty(variable.ty))
            .or_else(|| variable.initializer.and_then(|constant| self.constant(constant)))
            .or_else(|| self.symbols(names.into_iter().flatten()))
            .or((!is_known).then_some("Referring to attributes of another context!"))
            .or_else(|| self.attachments(&variable.metadata))
    }

    fn alias(&self, alias: &GlobalAlias) -> Strange {
        self.global(alias.name)
            .or_else(|| self.ty(alias.ty))
            .or_else(|| self.ty(alias.ptr_ty))
            .or_else(|| self.constant(alias.target))
            .or_else(|| self.symbols(alias.partition))
            .or_else(|| self.attachments(&alias.metadata))
    }

    fn structure(&self, name: StructName, body: &StructBody) -> Strange {
        let name = match name {
            StructName::Named(symbol) => self.symbol(symbol),
            StructName::Numbered(_) => None,
        };
        name.or_else(|| match body {
            StructBody::Opaque => None,
            StructBody::Fields { fields, .. } => fields.iter().find_map(|&ty| self.ty(ty)),
        })
    }

    fn target(&self, target: &UseListTarget) -> Strange {
        match target {
            UseListTarget::Value(value) => value.as_const().and_then(|c| self.constant(c)),
            UseListTarget::Block(function, _) => self.global(*function),
        }
    }

    /// Entities that are only names.
    fn rest(&self) -> Strange {
        let module = self.module;
        let single = [module.source_filename, module.data_layout, module.triple];
        let lines = module.module_asm.iter().chain(&module.summary).copied();
        let comdats = module.comdats.iter().map(|&(name, _)| name);
        self.symbols(single.into_iter().flatten().chain(lines).chain(comdats))
    }

    fn value(&self, value: MetadataValue) -> Strange {
        match value {
            MetadataValue::Node(node) => self.node(node),
            MetadataValue::String(symbol) | MetadataValue::BigInt(symbol) => self.symbol(symbol),
            MetadataValue::Const(constant) => self.constant(constant),
            _ => None,
        }
    }

    fn metadata(&self) -> Strange {
        let metadata = &self.module.metadata;
        let mut values = metadata.ids().flat_map(|id| metadata.values(id));
        let named = || {
            metadata.named().iter().find_map(|named| {
                let nodes = named.operands.iter();
                self.symbol(named.name).or_else(|| nodes.copied().find_map(|node| self.node(node)))
            })
        };
        values.find_map(|value| self.value(value)).or_else(named)
    }
}
