//! How lanes of a wave access memory, what that costs, and which accesses take longer than
//! necessary.
//!
//! ```c
//! out[i] = in[i * w];   // PHX011: 4 * w bytes from lane to lane
//! tile[x * 32] = v;     // PHX012: 32 bank cycles where 1 would do
//! atomicAdd(sum, v);    // PHX044: 32 lanes update one address
//! ```
//!
//! Global memory is fetched in sectors of 32 bytes. An access is reported if less than half of the
//! bytes in the sectors that its lanes touch is used ([`Rule::UncoalescedAccess`]).
//!
//! Workgroup memory is divided into banks. Lanes that are served together and access different
//! words of one bank are served one after the other ([`Rule::BankConflict`]; [`banks`] says how
//! many lanes are served together).
//!
//! Atomic updates of one address by all lanes are executed one after the other
//! ([`Rule::SameAddressAtomic`]), unless a branch before them lets only one lane through.
//!
//! [`shape::access`](crate::shape::access) finds what lanes touch. If it knows the lanes of each
//! wave, its counts are used for any pattern. Otherwise only accesses with a constant distance
//! between lanes have counts; if the width of waves is not known, there is one count for waves of
//! 32 lanes and one for 64. If the distance of lanes in a row is known at run time only (`x * n`,
//! `symbolic`), the finding says so and names the value. If each lane has loaded an index
//! (`a[b[i]]`), the access is a gather. Nothing is known of other accesses. O(accesses × lanes).

use phalanx_core::affect::User;
use phalanx_ir::{InstId, Opcode, Type, Value, ValueKind, constant::ConstKind};
use phalanx_target::{
    Architecture, Extent, Scope, SourceSet, SpaceKind, address_space::AddressSpace,
};
use rustc_hash::FxHashSet;

pub use super::finding::Symbol;
pub use super::finding::{AccessCost, WaveCost};
use super::{Facts, Finding, Level, Rule, few, symbolic, witness::stored};
use crate::code::{Code, Numbering};
use crate::shape::{
    access::{Access, Accesses, Pattern, Within, fewest_sectors},
    banks,
};

/// Bytes that are fetched together.
const SECTOR: u32 = 32;
/// The possible widths of waves.
const WIDTHS: [u32; 2] = [32, 64];
/// How many operations of an address are searched for loads.
const OPERATIONS: usize = 96;

/// How the lanes of a wave access memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// All at one address.
    One,
    /// Without a gap between them.
    Consecutive,
    /// This many bytes from lane to lane.
    Strided(i64),
    /// A number of bytes that is known at run time only.
    Symbolic(Symbol),
    /// At known addresses without one common distance.
    Irregular,
    /// At addresses that depend on what each lane has loaded.
    Gather,
    /// Nothing is known.
    Unknown,
}

/// A load, a store or an atomic of global or workgroup memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// The instruction.
    pub inst: InstId,
    /// Global or workgroup memory.
    pub space: SpaceKind,
    /// How lanes access it.
    pub reach: Reach,
    /// What the access costs.
    pub cost: AccessCost,
    /// The sources of the address that vary in a wave.
    pub sources: SourceSet,
    /// The rule that the access breaks, if any.
    pub rule: Option<Rule>,
}

/// Findings about accesses, in the order of the function.
#[must_use]
pub fn findings(facts: Facts<'_>, accesses: &Accesses) -> Vec<Finding> {
    let finding = |access: &Access| {
        let Reached { inst, cost, sources, rule, .. } = reached(facts, access)?;
        let access = Some(cost);
        Some(Finding { sources, access, ..Finding::new(rule?, Level::Note, inst, Scope::Wave) })
    };
    accesses.iter().filter_map(finding).collect()
}

/// How lanes access memory; none for an access of private or constant memory.
#[must_use]
pub fn reached(facts: Facts<'_>, access: &Access) -> Option<Reached> {
    let body = facts.code.body;
    let opcode = body.inst(access.inst).opcode;
    let address = match opcode {
        Opcode::Load | Opcode::AtomicRmw | Opcode::CmpXchg => body.operands(access.inst)[0],
        Opcode::Store => body.operands(access.inst)[1],
        _ => return None,
    };
    let space = space(facts, address)?;
    let count: fn(&Access, u32) -> Option<(WaveCost, bool)> = match space {
        SpaceKind::Global => sectors,
        SpaceKind::Workgroup => servings,
        _ => return None,
    };
    let reach = reach(facts, access, address);
    let is_atomic = matches!(opcode, Opcode::AtomicRmw | Opcode::CmpXchg);
    let lanes = |width| lanes(facts, access, width);
    let is_shared = is_atomic
        && reach == Reach::One
        && lanes(WIDTHS[1]) > 1
        && !few::lanes_come(facts, access.inst);
    let of_width = |width| match is_shared {
        true => Some((WaveCost { lanes: lanes(width), count: lanes(width), least: 1 }, true)),
        false => count(access, lanes(width)),
    };
    let waves = match facts.launch.wave_width {
        Some(width) => [of_width(width), None],
        None => WIDTHS.map(of_width),
    };
    let is_slow = waves.iter().flatten().any(|(_, is_slow)| *is_slow);
    let rule = match (space, reach) {
        (_, Reach::One) if is_atomic => is_shared.then_some(Rule::SameAddressAtomic),
        // A distance that is known at run time only is usually more than an element.
        (SpaceKind::Global, Reach::Symbolic(_)) => Some(Rule::UncoalescedAccess),
        (_, Reach::Symbolic(_)) => Some(Rule::BankConflict),
        (SpaceKind::Global, _) => is_slow.then_some(Rule::UncoalescedAccess),
        _ => is_slow.then_some(Rule::BankConflict),
    };
    let numbering = Numbering::new(facts.code.header);
    let user = User::value(numbering.inst(access.inst));
    let sources = numbering.operand(address).map(|value| facts.divergence.at_use(value, user));
    let cost = AccessCost {
        stride: if let Reach::Strided(stride) = reach { Some(stride) } else { None },
        symbol: if let Reach::Symbolic(symbol) = reach { Some(symbol) } else { None },
        size: access.size,
        waves: waves.map(|wave| wave.map(|(cost, _)| cost)),
        in_rows: access.within == Within::Row || matches!(reach, Reach::Symbolic(_)),
        assumes_no_wrap: access.assumes_no_wrap || matches!(reach, Reach::Symbolic(_)),
    };
    let sources = sources.unwrap_or(SourceSet::EMPTY) & facts.varying(Scope::Wave);
    Some(Reached { inst: access.inst, space, reach, cost, sources, rule })
}

fn reach(facts: Facts<'_>, access: &Access, address: Value) -> Reach {
    match access.pattern {
        Pattern::Broadcast => Reach::One,
        Pattern::Consecutive => Reach::Consecutive,
        Pattern::Strided(stride) => Reach::Strided(stride),
        Pattern::Gather if access.sectors.is_some() => Reach::Irregular,
        Pattern::Gather => match symbolic::distance(facts, address) {
            Some(symbol) => Reach::Symbolic(symbol),
            None if is_loaded(facts, address) => Reach::Gather,
            None => Reach::Unknown,
        },
    }
}

/// How many lanes of a wave a pattern is about: those of a row if it holds within rows.
fn lanes(facts: Facts<'_>, access: &Access, width: u32) -> u32 {
    match (access.within, facts.launch.workgroup_size[0]) {
        (Within::Row, Extent::Exactly(row)) => row.clamp(1, width),
        _ => width,
    }
}

/// Whether an address is computed from a value that each lane has loaded, or got from an atomic.
fn is_loaded(facts: Facts<'_>, address: Value) -> bool {
    let body = facts.code.body;
    let numbering = Numbering::new(facts.code.header);
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut work = vec![address];
    while let Some(value) = work.pop() {
        let Some(inst) = value.as_inst() else { continue };
        let sources = facts.divergence.value(numbering.inst(inst));
        let is_new = seen.len() < OPERATIONS && seen.insert(value);
        if !is_new || !sources.intersects(facts.varying(Scope::Wave)) {
            continue;
        }
        match body.inst(inst).opcode {
            Opcode::Load => match stored(facts, inst) {
                Some(value) => work.push(value),
                None => return true,
            },
            Opcode::AtomicRmw | Opcode::CmpXchg => return true,
            _ => work.extend(body.operands(inst)),
        }
    }
    false
}

/// The number of sectors, and whether less than half of their bytes is used. If the base is not
/// known, the best possible one is assumed.
fn sectors(access: &Access, lanes: u32) -> Option<(WaveCost, bool)> {
    let of_stride = |stride| fewest_sectors(&strided(stride, lanes), access.size, access.align);
    let (wanted, count) = match (access.pattern, access.sectors) {
        (Pattern::Broadcast, _) => (access.size, of_stride(0)),
        (Pattern::Consecutive, _) => {
            (lanes.checked_mul(access.size)?, of_stride(access.size.into()))
        }
        (Pattern::Strided(stride), _) => (lanes.checked_mul(access.size)?, of_stride(stride)),
        // `most` is for the worst base, which usually takes one sector more than the best.
        (Pattern::Gather, Some(most)) => {
            (lanes.checked_mul(access.size)?, most.saturating_sub(1).max(1))
        }
        _ => return None,
    };
    let cost = WaveCost { lanes, count, least: wanted.div_ceil(SECTOR) };
    Some((cost, count.saturating_mul(SECTOR) > wanted.saturating_mul(2).max(SECTOR)))
}

/// How often lanes are served, and whether some wait because of a conflict.
fn servings(access: &Access, lanes: u32) -> Option<(WaveCost, bool)> {
    let groups = lanes.div_ceil(banks::served_together(access.size));
    let of_stride = |stride: i64| {
        // The base of the memory is not known; the access is as aligned as the instruction states.
        let align = if stride % 4 == 0 { access.align } else { 1 };
        banks::degree(&strided(stride, lanes), access.size, align)
    };
    let degree = match (access.bank_degree, access.pattern) {
        (Some(degree), _) => degree,
        (None, Pattern::Broadcast) => of_stride(0),
        (None, Pattern::Consecutive) => of_stride(access.size.into()),
        (None, Pattern::Strided(stride)) => of_stride(stride),
        (None, Pattern::Gather) => return None,
    };
    let cost = WaveCost { lanes, count: groups.saturating_mul(degree), least: groups };
    let is_plain = access.bank_degree.is_none()
        && matches!(access.pattern, Pattern::Broadcast | Pattern::Consecutive);
    Some((cost, degree > 1 && !is_plain))
}

/// The offsets of lanes that are `stride` bytes apart.
fn strided(stride: i64, lanes: u32) -> Vec<i64> {
    (0..i64::from(lanes)).map(|lane| lane.wrapping_mul(stride)).collect()
}

/// The memory that an address points to, as far as its type or the types of its bases tell. The
/// generic space counts as global memory: arguments of kernels point there.
pub(super) fn space(facts: Facts<'_>, address: Value) -> Option<SpaceKind> {
    space_of(facts.code, facts.target.architecture(), address)
}

/// The same for any function.
pub(super) fn space_of(
    code: Code<'_>,
    architecture: Architecture,
    address: Value,
) -> Option<SpaceKind> {
    let body = code.body;
    let mut at = address;
    // Addresses are usually made in a few steps.
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
