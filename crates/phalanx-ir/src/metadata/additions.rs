//! [`Additions`]: adds metadata to a module without changing what it has.

use crate::{
    context::Context,
    metadata::{MetadataId, NodeBuilder},
    module::Module,
    symbol::Symbol,
    verify::tables,
};

/// Adds nodes to the metadata of a module. Old nodes stay as they are, and each new node refers to
/// existing nodes only, so the module need not be verified again.
#[derive(Debug)]
pub struct Additions<'m> {
    module: &'m mut Module,
    /// How many nodes there were.
    old: usize,
}

impl<'m> Additions<'m> {
    /// Additions to a module.
    pub fn new(module: &'m mut Module) -> Self {
        let old = module.metadata.len();
        Additions { module, old }
    }

    /// The module as it is; its functions may be elsewhere.
    pub fn module(&self) -> &Module {
        self.module
    }

    /// Where names and constants live.
    pub fn context(&self) -> &Context {
        &self.module.context
    }

    /// A node to be defined later: an empty tuple until then.
    pub fn reserve(&mut self) -> MetadataId {
        self.module.metadata.reserve()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// As [`Metadata::add`](crate::metadata::Metadata::add), and when it refers to what the module
    /// or its context does not have.
    pub fn add(&mut self, node: NodeBuilder) -> Result<MetadataId, String> {
        self.check(&node)?;
        self.module.metadata.add(node)
    }

    /// Gives a new node its contents, in place of what it had.
    ///
    /// # Errors
    /// As [`Additions::add`], and when the node was there before.
    pub fn define(&mut self, id: MetadataId, node: NodeBuilder) -> Result<(), String> {
        let at = id.into_raw().into_u32() as usize;
        if !(self.old..self.module.metadata.len()).contains(&at) {
            return Err(format!("!{at} is not a node that was added here"));
        }
        self.check(&node)?;
        self.module.metadata.define(id, node)
    }

    /// Registers a kind of attachment: see
    /// [`Metadata::use_kind`](crate::metadata::Metadata::use_kind).
    pub fn use_kind(&mut self, kind: Symbol) {
        self.module.metadata.use_kind(kind);
    }

    fn check(&self, node: &NodeBuilder) -> Result<(), String> {
        let mut values = node.entries.iter().map(|entry| entry.value());
        match values.find_map(|value| tables::strange_value(self.module, value)) {
            Some(message) => Err(message.to_owned()),
            None => Ok(()),
        }
    }
}
