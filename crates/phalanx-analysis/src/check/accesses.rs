//! Accesses of memory that take longer than they had to.
//!
//! Global memory is fetched in sectors of 32 bytes. An access is reported when its lanes touch so many that less than half of what is fetched is used
//! ([`Rule::UncoalescedAccess`]).
//!
//! Workgroup memory is divided into banks: lanes that are served together and want different words of one bank are served one after the other
//! ([`Rule::BankConflict`]; [`banks`] says how many that are).
//!
//! What lanes touch is found by [`shape::access`](crate::shape::access). Where it knows the lanes
//! of each wave, its counts are taken, whatever the pattern. Otherwise only accesses with a
//! constant distance between lanes are reported; where the width of waves is not known, for waves
//! of 32 and of 64 lanes. An access that goes anywhere depends on data, and there is nothing to be
//! said of it. If what lanes of a row are apart is a value that is known at run time only (`x * n`,
//! `symbolic`), that is said with the value. O(accesses × lanes).

use phalanx_core::affect::User;
use phalanx_ir::{Opcode, Type, Value, ValueKind, constant::ConstKind};
use phalanx_target::{Architecture, Scope, SourceSet, SpaceKind, address_space::AddressSpace};

pub use super::finding::Symbol;
pub use super::finding::{AccessCost, WaveCost};
use super::{Facts, Finding, Level, Rule, symbolic};
use crate::code::{Code, Numbering};
use crate::shape::{
    access::{Access, Accesses, Pattern, fewest_sectors},
    banks,
};

/// Bytes that are fetched together.
const SECTOR: u32 = 32;
/// Widths of waves that there are.
const WIDTHS: [u32; 2] = [32, 64];

/// Findings about accesses, in the order of the function.
#[must_use]
pub fn findings(facts: Facts<'_>, accesses: &Accesses) -> Vec<Finding> {
    accesses.iter().filter_map(|access| finding(facts, access)).collect()
}

fn finding(facts: Facts<'_>, access: &Access) -> Option<Finding> {
    let body = facts.code.body;
    let address = match body.inst(access.inst).opcode {
        Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => body.operands(access.inst)[0],
        Opcode::Store => body.operands(access.inst)[1],
        _ => return None,
    };
    let cost: fn(&Access, u32) -> Option<(WaveCost, bool)>;
    let rule;
    match space(facts, address)? {
        SpaceKind::Global => (rule, cost) = (Rule::UncoalescedAccess, sectors),
        SpaceKind::Workgroup => (rule, cost) = (Rule::BankConflict, servings),
        _ => return None,
    }
    let waves = match facts.launch.wave_width {
        Some(width) => [cost(access, width), None],
        None => WIDTHS.map(|width| cost(access, width)),
    };
    // What is known at run time only is more than an element, as a rule.
    let is_unknown = rule == Rule::UncoalescedAccess
        && waves.iter().all(Option::is_none)
        && access.pattern == Pattern::Gather;
    let symbol = is_unknown.then(|| symbolic::distance(facts, address)).flatten();
    if symbol.is_none() {
        waves.iter().flatten().find(|(_, is_slow)| *is_slow)?;
    }
    let stride = match access.pattern {
        Pattern::Strided(stride) => Some(stride),
        _ => None,
    };
    let numbering = Numbering::new(facts.code.header);
    let user = User::value(numbering.inst(access.inst));
    let sources = numbering.operand(address).map(|value| facts.divergence.at_use(value, user));
    let waves = waves.map(|wave| wave.map(|(cost, _)| cost));
    Some(Finding {
        sources: sources.unwrap_or(SourceSet::EMPTY) & facts.varying(Scope::Wave),
        access: Some(AccessCost { stride, symbol, size: access.size, waves }),
        ..Finding::new(rule, Level::Note, access.inst, Scope::Wave)
    })
}

/// Sectors, and whether less than half of them is used. A base that could be more fortunate is given the benefit of the doubt.
fn sectors(access: &Access, lanes: u32) -> Option<(WaveCost, bool)> {
    let wanted = lanes.checked_mul(access.size)?;
    let count = match (access.pattern, access.sectors) {
        (Pattern::Strided(stride), _) => {
            fewest_sectors(&strided(stride, lanes), access.size, access.align)
        }
        // As many as the least fortunate base has, which is one more, as a rule.
        (Pattern::Gather, Some(most)) => most.saturating_sub(1),
        _ => return None,
    };
    let cost = WaveCost { lanes, count, least: wanted.div_ceil(SECTOR) };
    Some((cost, count.saturating_mul(SECTOR) > wanted.saturating_mul(2)))
}

/// How often lanes are served, and whether some wait because of a conflict.
fn servings(access: &Access, lanes: u32) -> Option<(WaveCost, bool)> {
    let groups = lanes.div_ceil(banks::served_together(access.size));
    let degree = match (access.bank_degree, access.pattern) {
        (Some(degree), _) => degree,
        (None, Pattern::Strided(stride)) => {
            // The base of the memory is not known, and an access as aligned as is stated.
            let align = if stride % 4 == 0 { access.align } else { 1 };
            banks::degree(&strided(stride, lanes), access.size, align)
        }
        _ => return None,
    };
    let cost = WaveCost { lanes, count: groups.saturating_mul(degree), least: groups };
    Some((cost, degree > 1))
}

/// Offsets of lanes that are so many bytes apart.
fn strided(stride: i64, lanes: u32) -> Vec<i64> {
    (0..i64::from(lanes)).map(|lane| lane.wrapping_mul(stride)).collect()
}

/// Where an address points to, as far as it says so or what it is made from does. The generic space is taken for global memory: the arguments of
/// kernels are.
pub(super) fn space(facts: Facts<'_>, address: Value) -> Option<SpaceKind> {
    space_of(facts.code, facts.target.architecture(), address)
}

/// The same in any function.
pub(super) fn space_of(
    code: Code<'_>,
    architecture: Architecture,
    address: Value,
) -> Option<SpaceKind> {
    let body = code.body;
    let mut at = address;
    // Addresses are made in a few steps, as a rule.
    for _ in 0..32 {
        let ty = type_of(code, at)?;
        let number = code.context.type_kind(ty).address_space()?;
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
            ValueKind::Const(constant) => match &code.context.const_data(constant).kind {
                ConstKind::Expr(expr) => at = Value::constant(*expr.operands.first()?),
                _ => return Some(SpaceKind::Global),
            },
            _ => return Some(SpaceKind::Global),
        }
    }
    None
}

fn type_of(code: Code<'_>, value: Value) -> Option<Type> {
    match value.kind() {
        ValueKind::Inst(inst) => Some(code.body.inst(inst).ty),
        ValueKind::Arg(position) => code.header.params.get(position as usize).copied(),
        ValueKind::Const(constant) => Some(code.context.const_data(constant).ty),
        _ => None,
    }
}
