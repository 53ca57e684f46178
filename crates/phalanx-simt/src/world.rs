//! What a thread sees besides itself, and where its accesses go.

use phalanx_ir::{Type, inst::Ordering};

use crate::{
    fault::FaultKind,
    memory::{Region, View},
    program::Program,
    reach::Reach,
    unknown::Frozen,
    value::Value,
};

/// How a fence or an atomic orders, and among which threads.
pub(crate) type Ordered = (Ordering, Reach);

/// What a thread sees besides itself.
pub(crate) struct World<'a> {
    pub(crate) program: &'a Program<'a>,
    pub(crate) view: View<'a>,
    /// The fence that was executed.
    pub(crate) fence: Option<Ordered>,
    /// How an atomic of a library is ordered.
    pub(crate) atomic: Option<Ordered>,
    /// Addresses of the dispatch packet and of implicit arguments.
    pub(crate) packets: [u64; 2],
    pub(crate) clock: u64,
    /// What frozen poison is.
    pub(crate) frozen: Frozen,
    /// Branches on what is frozen.
    pub(crate) guesses: u64,
}

/// Where an access goes.
pub(crate) fn place(
    program: &Program<'_>,
    ty: Type,
    address: &Value,
    access: &'static str,
) -> Result<(Region, u64), FaultKind> {
    match address {
        Value::Bits(bits) => Ok((program.region(ty)?, *bits as u64)),
        _ => Err(FaultKind::undefined(format!("`{access}` at a poison address"))),
    }
}
