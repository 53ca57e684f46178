//! The results of a scan, as plain data: objects, their addresses, and accesses.

use phalanx_graph::Node;
use phalanx_ir::{InstId, Type, TypeKind, Value};

use super::touch::Effect;
use crate::code::Code;

/// Which objects are put into SSA form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory::private) enum Wanted {
    /// All objects.
    #[default]
    All,
    /// Objects in which an address is stored, and objects from which a value that can hold one is
    /// loaded or copied. Integers can hold addresses if the function has `inttoptr`.
    Addresses { has_integers: bool },
}

impl Wanted {
    /// Whether a store of this type makes its object wanted. A store of an integer does not; a load
    /// of the integer does.
    pub(in crate::memory::private) fn is_put(self, code: Code<'_>, ty: Type) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Addresses { .. } => {
                Wanted::Addresses { has_integers: false }.is_among(code, ty)
            }
        }
    }

    /// Whether a load of this type makes its object wanted.
    pub(in crate::memory::private) fn is_among(self, code: Code<'_>, ty: Type) -> bool {
        match (self, code.context.type_kind(ty)) {
            (Wanted::All, _) => true,
            (Wanted::Addresses { has_integers }, TypeKind::Int(bits)) => {
                has_integers && *bits >= 32
            }
            (_, TypeKind::Half | TypeKind::BFloat | TypeKind::Float | TypeKind::Double) => false,
            (_, TypeKind::Vector { elem, .. }) => {
                matches!(code.context.type_kind(*elem), TypeKind::Ptr(_))
            }
            _ => true,
        }
    }
}

/// How far a scan follows addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory::private) struct Reach {
    /// Into callees with a summary, and through slots that hold one address.
    pub(in crate::memory::private) follows_calls: bool,
    /// The memory that arguments point to is an object.
    pub(in crate::memory::private) has_pointees: bool,
    /// Which objects are put into SSA form.
    pub(in crate::memory::private) wanted: Wanted,
}

/// An address computed from an object.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory::private) struct Address {
    pub(in crate::memory::private) object: u32,
    /// The offset in the object, if it is a constant.
    pub(in crate::memory::private) offset: Option<i64>,
}

/// A use of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory::private) struct Access {
    pub(in crate::memory::private) inst: InstId,
    pub(in crate::memory::private) block: Node,
    pub(in crate::memory::private) object: u32,
    pub(in crate::memory::private) effect: Effect,
    /// The first byte and the one after the last, if known.
    pub(in crate::memory::private) range: Option<(i64, i64)>,
    /// Whether the address is at a constant offset.
    pub(in crate::memory::private) is_fixed: bool,
    /// Whether it may touch several slots.
    pub(in crate::memory::private) is_wide: bool,
    /// Whether it overwrites every bit of its range with its operand.
    pub(in crate::memory::private) is_full: bool,
    /// Whether it may store an address, or read one: an access of a type that can hold one, or the
    /// source of a copy.
    pub(in crate::memory::private) has_address: bool,
}

#[derive(Clone, Debug)]
pub(in crate::memory::private) struct Object {
    pub(in crate::memory::private) alloca: InstId,
    pub(in crate::memory::private) is_private: bool,
    /// The instruction that lets the address escape, with that operand.
    pub(in crate::memory::private) witness: Option<(InstId, Value)>,
}

impl Object {
    pub(in crate::memory::private) fn new(alloca: InstId) -> Self {
        Object { alloca, is_private: true, witness: None }
    }
}
