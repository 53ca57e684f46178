//! The positions of instructions in tables.

use phalanx_ir::InstId;

pub(super) fn number(inst: InstId) -> usize {
    inst.into_raw().into_u32() as usize
}

pub(super) fn inst_of(number: usize) -> InstId {
    InstId::from_raw((number as u32).into())
}
