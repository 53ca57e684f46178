//! What a scan finds, as plain data: objects, addresses of them, and what is done with these.

use phalanx_graph::Node;
use phalanx_ir::{InstId, Type, TypeKind, Value};

use super::touch::Effect;
use crate::code::Code;

/// Which objects are put into SSA form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory::private) enum Wanted {
    /// All.
    #[default]
    All,
    /// Those in which an address is put, and those from which something is loaded that can hold
    /// one, or copied. In integers they matter if some are made pointers.
    Addresses { has_integers: bool },
}

impl Wanted {
    /// Whether a store of a type is to what is wanted: of integers, a load says so.
    pub(in crate::memory::private) fn is_put(self, code: Code<'_>, ty: Type) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Addresses { .. } => {
                Wanted::Addresses { has_integers: false }.is_among(code, ty)
            }
        }
    }

    /// Whether a load of a type is of what is wanted.
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

/// How far objects are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory::private) struct Reach {
    /// Into functions that are called and of which a summary is known, and through slots that hold
    /// one address.
    pub(in crate::memory::private) follows_calls: bool,
    /// What arguments point to is taken for objects.
    pub(in crate::memory::private) has_pointees: bool,
    /// Which of them are put into SSA form.
    pub(in crate::memory::private) wanted: Wanted,
}

/// An address made from an object.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory::private) struct Address {
    pub(in crate::memory::private) object: u32,
    /// Where in the object, if it is a constant.
    pub(in crate::memory::private) offset: Option<i64>,
}

/// A use of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory::private) struct Access {
    pub(in crate::memory::private) inst: InstId,
    pub(in crate::memory::private) block: Node,
    pub(in crate::memory::private) object: u32,
    pub(in crate::memory::private) effect: Effect,
    /// First byte and the one after the last, if they are known.
    pub(in crate::memory::private) range: Option<(i64, i64)>,
    /// Whether the address is at a constant offset.
    pub(in crate::memory::private) is_fixed: bool,
    /// Whether it may touch several slots.
    pub(in crate::memory::private) is_wide: bool,
    /// Whether it writes every bit of its range with what it is given.
    pub(in crate::memory::private) is_full: bool,
    /// Whether it may put an address there or give one that was: an access of a type that can hold
    /// one, or the source of a copy.
    pub(in crate::memory::private) has_address: bool,
}

#[derive(Clone, Debug)]
pub(in crate::memory::private) struct Object {
    pub(in crate::memory::private) alloca: InstId,
    pub(in crate::memory::private) is_private: bool,
    /// Who lets the address escape, and the address.
    pub(in crate::memory::private) witness: Option<(InstId, Value)>,
}

impl Object {
    pub(in crate::memory::private) fn new(alloca: InstId) -> Self {
        Object { alloca, is_private: true, witness: None }
    }
}
