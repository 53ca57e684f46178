//! Accesses of memory that take longer than they had to.
//!
//! Global memory is fetched in sectors of 32 bytes. Lanes of a wave whose addresses lie `n` bytes apart touch more of them than the
//! bytes that they want fill. An access is reported when less than half of what is fetched is used ([`Rule::UncoalescedAccess`]).
//!
//! Workgroup memory has 32 banks of 4 bytes; as many lanes as fill them once are served together, lanes that want different words of one bank one after the
//! other. At a distance of `n` words of the size of the access, that is the greatest common divisor of `n` and the number of such words
//! ([`Rule::BankConflict`]).
//!
//! Only accesses with a constant distance between lanes are reported: one that goes anywhere depends on data, and there is nothing to be said of it. What lanes
//! touch is found by [`shape::access`](crate::shape::access). O(accesses).

use phalanx_ir::{Opcode, Type, Value, ValueKind, constant::ConstKind};
use phalanx_target::{Scope, SourceSet, SpaceKind, address_space::AddressSpace};

use super::{Facts, Finding, Level, Rule};
use crate::affect::User;
use crate::lower::Numbering;
use crate::shape::access::{Access, Pattern};

/// Bytes that are fetched together.
const SECTOR: u64 = 32;
/// Bytes of all banks.
const BANKS: u64 = 128;

/// What an access costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCost {
    /// Bytes from one lane to the next.
    pub stride: i64,
    /// Bytes that a lane wants.
    pub size: u32,
    /// Sectors that a wave touches; for workgroup memory, how many lanes want one bank at a time.
    pub count: u64,
}

/// Findings about accesses, in the order of the function.
#[must_use]
pub fn findings(facts: Facts<'_>, accesses: &[Access]) -> Vec<Finding> {
    accesses.iter().filter_map(|access| finding(facts, access)).collect()
}

fn finding(facts: Facts<'_>, access: &Access) -> Option<Finding> {
    let Pattern::Strided(stride) = access.pattern else { return None };
    let body = facts.code.body;
    let address = match body.inst(access.inst).opcode {
        Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => body.operands(access.inst)[0],
        Opcode::Store => body.operands(access.inst)[1],
        _ => return None,
    };
    let distance = stride.unsigned_abs();
    let (rule, count) = match space(facts, address)? {
        SpaceKind::Global => {
            let lanes = u64::from(facts.launch.wave_width.unwrap_or(32));
            let wanted = lanes * u64::from(access.size);
            let span = lanes.saturating_sub(1).checked_mul(distance)?;
            let most = span.saturating_add(u64::from(access.size)).div_ceil(SECTOR);
            let sectors = access.sectors.map_or(most.min(lanes), u64::from);
            (sectors * SECTOR > 2 * wanted).then_some((Rule::UncoalescedAccess, sectors))?
        }
        SpaceKind::Workgroup => {
            let size = u64::from(access.size);
            let is_word = matches!(size, 4 | 8 | 16) && distance.is_multiple_of(size);
            let conflicts = if is_word { gcd(distance / size, BANKS / size) } else { 1 };
            (conflicts > 1).then_some((Rule::BankConflict, conflicts))?
        }
        _ => return None,
    };
    let numbering = Numbering::new(facts.code.header);
    let user = User::value(numbering.inst(access.inst));
    let sources = numbering.operand(address).map(|value| facts.divergence.at_use(value, user));
    Some(Finding {
        sources: sources.unwrap_or(SourceSet::EMPTY) & facts.varying(Scope::Wave),
        access: Some(AccessCost { stride, size: access.size, count }),
        ..Finding::new(rule, Level::Note, access.inst, Scope::Wave)
    })
}

/// Where an address points to, as far as it says so or what it is made from does. The generic space is taken for global memory: the arguments of
/// kernels are.
fn space(facts: Facts<'_>, address: Value) -> Option<SpaceKind> {
    let body = facts.code.body;
    let architecture = facts.target.architecture();
    let mut at = address;
    // Addresses are made in a few steps, as a rule.
    for _ in 0..32 {
        let ty = type_of(facts, at)?;
        let number = facts.code.context.type_kind(ty).address_space()?;
        match AddressSpace::of(architecture, number).kind() {
            SpaceKind::Generic | SpaceKind::Unknown => {}
            kind => return Some(kind),
        }
        match at.kind() {
            ValueKind::Inst(inst) => match body.inst(inst).opcode {
                Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::Freeze => {
                    at = body.operands(inst)[0];
                }
                Opcode::Alloca => return Some(SpaceKind::Private),
                _ => return Some(SpaceKind::Global),
            },
            ValueKind::Const(constant) => match &facts.code.context.const_data(constant).kind {
                ConstKind::Expr(expr) => at = Value::constant(*expr.operands.first()?),
                _ => return Some(SpaceKind::Global),
            },
            _ => return Some(SpaceKind::Global),
        }
    }
    None
}

fn type_of(facts: Facts<'_>, value: Value) -> Option<Type> {
    match value.kind() {
        ValueKind::Inst(inst) => Some(facts.code.body.inst(inst).ty),
        ValueKind::Arg(position) => facts.code.header.params.get(position as usize).copied(),
        ValueKind::Const(constant) => Some(facts.code.context.const_data(constant).ty),
        _ => None,
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
