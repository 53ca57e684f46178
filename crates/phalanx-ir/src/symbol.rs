//! Interned byte strings and the small ids made of them.

/// An interned byte string: a global's name, an attribute key, a bundle tag, a metadata kind ...
///
/// LLVM names are bytes, not text. The bytes are in the [`crate::Context`] that made the symbol.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Symbol(u32);

impl Symbol {
    /// The symbol with this number in its context.
    pub const fn from_raw(raw: u32) -> Self {
        Symbol(raw)
    }

    /// The number in the context.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

/// How a module-level entity is referred to: `@name` or `@7`.
///
/// References are by name, never by position, so that a body stays equal when its module is read
/// again with other functions added or removed.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GlobalName {
    /// `@name`
    Named(Symbol),
    /// `@7`: the number of an entity without a name.
    Numbered(u32),
}

impl GlobalName {
    /// The name, when there is one.
    pub fn symbol(self) -> Option<Symbol> {
        match self {
            GlobalName::Named(symbol) => Some(symbol),
            GlobalName::Numbered(_) => None,
        }
    }
}

/// A synchronisation scope of an atomic operation: the symbol of its name, `""` being the system
/// scope.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SyncScope(pub Symbol);

impl SyncScope {
    /// Symbols that every context holds from the start, in order.
    pub(crate) const PREDEFINED: [&'static str; 2] = ["", "singlethread"];
    /// All threads of the system: the scope of an operation without `syncscope`.
    pub const SYSTEM: SyncScope = SyncScope(Symbol(0));
    /// `syncscope("singlethread")`.
    pub const SINGLE_THREAD: SyncScope = SyncScope(Symbol(1));
}
