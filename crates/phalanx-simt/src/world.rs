//! The surroundings of a thread, and the places of its accesses.

use phalanx_ir::{Type, inst::Ordering};

use crate::{
    fault::FaultKind,
    memory::{Region, View},
    program::Program,
    reach::Reach,
    unknown::Frozen,
    value::Value,
};

/// The ordering of a fence or an atomic, and its reach.
pub(crate) type Ordered = (Ordering, Reach);

/// The surroundings of a thread.
pub(crate) struct World<'a> {
    pub(crate) program: &'a Program<'a>,
    pub(crate) view: View<'a>,
    /// The fence that was executed.
    pub(crate) fence: Option<Ordered>,
    /// The ordering of a library atomic.
    pub(crate) atomic: Option<Ordered>,
    /// Addresses of the dispatch packet and of implicit arguments.
    pub(crate) packets: [u64; 2],
    pub(crate) clock: u64,
    /// The result of freezing poison.
    pub(crate) frozen: Frozen,
    /// The number of branches on unknown frozen values.
    pub(crate) guesses: u64,
}

/// The region and address of an access.
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
