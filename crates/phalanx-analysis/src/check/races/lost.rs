//! Stores to global memory whose index has lost the thread or the workgroup: all write one address.
//!
//! ```text
//! out[0] = tid;               each thread writes another value to one address
//! out[blockIdx.x] = in[i];    so do the threads of a workgroup
//! if (tid == 0) out[0] = n;   one thread writes
//! out[tid] = in[i];           each workgroup writes other values to the same addresses
//! ```
//!
//! The analysis looks at plain stores whose address is the same in the workgroup and whose value is
//! not, by divergence ([`stores`]). The kernel is executed for each thread. So it sees guards such
//! as `tid == 0`, and leaves out stores under a condition on data. For two threads that write one
//! address between two barriers
//!
//! | what they write | verdict |
//! |---|---|
//! | numbers that differ | they write different values |
//! | values made of what they load from memory at their own indices | they may write different values |
//! | anything else: what lanes exchange, or read from workgroup memory | no finding |
//!
//! A sum that all threads have after a reduction is of the last kind.
//!
//! The same is asked of workgroups: the address does not depend on the number of the workgroup, the
//! value does, and no condition chooses one of them ([`is_of_one_group`]). Barriers do not order
//! workgroups, so one execution of the store is enough ([`of_groups`]).
//!
//! O(instructions) to choose stores, O(stores that are executed) to compare them.

use std::collections::BTreeMap;

use phalanx_ir::{
    InstId, Opcode, Value,
    inst::{InstFlags, IntPredicate},
};
use phalanx_target::{AddressSpace, Architecture, LaunchFacts, Scope, SourceSet, SpaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    assume::Assumptions,
    objects::Access,
    program::Unit,
    terms::{Base, Term, Terms, Val},
};
use crate::code::{Code, Numbering};

/// How many instructions behind a stored value are looked at.
const STEPS: usize = 32;

/// The sources that depend on the place of a thread in its workgroup.
const INDICES: SourceSet = SourceSet::X
    .union(SourceSet::Y)
    .union(SourceSet::Z)
    .union(SourceSet::LANE)
    .union(SourceSet::QUAD)
    .union(SourceSet::WAVE);

/// Who writes different values to one address by a store: threads of a workgroup, or workgroups.
#[derive(Clone, Copy, Default)]
pub(super) struct Lost {
    /// None if threads of a workgroup do not. Otherwise, whether the value is made of what each
    /// thread loads at an index of its own.
    of_threads: Option<bool>,
    /// None if workgroups do not. Otherwise, whether the value is made of what each workgroup loads
    /// at an index of its own.
    of_groups: Option<bool>,
}

/// The stores of a function that are looked at.
pub(super) type Stores = FxHashMap<InstId, Lost>;

/// The stores of a function whose address is the same in the workgroup, or in all workgroups, and
/// whose value is not.
pub(super) fn stores(unit: Unit<'_>, launch: &LaunchFacts, architecture: Architecture) -> Stores {
    let code = unit.code;
    let in_group = phalanx_target::varying(Scope::Workgroup, launch);
    let in_grid = phalanx_target::varying(Scope::Grid, launch) - INDICES;
    let numbering = Numbering::new(code.header);
    let sources = |value: Value| {
        let number = numbering.operand(value);
        number.map_or(SourceSet::EMPTY, |number| unit.divergence.value(number))
    };
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let of = |inst: InstId| {
        let data = code.body.inst(inst);
        let is_plain = data.opcode == Opcode::Store
            && !data.flags.contains(InstFlags::ATOMIC)
            && !data.flags.contains(InstFlags::VOLATILE);
        let &[value, pointer] = code.body.operands(inst) else { return None };
        if !is_plain || is_own(code, pointer, architecture) {
            return None;
        }
        let lost = |varying: SourceSet, indices: SourceSet| {
            let is_lost = !sources(pointer).intersects(varying)
                && sources(value).intersects(varying & indices);
            let sources = |value: Value| sources(value) & varying;
            is_lost.then(|| is_loaded(code, value, (&sources, indices), architecture))
        };
        let lost = Lost {
            of_threads: lost(in_group, INDICES),
            of_groups: lost(in_grid, SourceSet::BLOCK_XYZ),
        };
        (lost.of_threads.is_some() || lost.of_groups.is_some()).then_some((inst, lost))
    };
    insts.filter_map(of).collect()
}

/// Whether a pointer is to private or workgroup memory, by its type or its base.
fn is_own(code: Code<'_>, pointer: Value, architecture: Architecture) -> bool {
    let ty = match (pointer.as_inst(), pointer.as_arg()) {
        (Some(inst), _) => Some(code.body.inst(inst).ty),
        (_, Some(position)) => code.header.params.get(position as usize).copied(),
        _ => None,
    };
    let is_slot = pointer.as_inst().is_some_and(|inst| opcode(code, inst) == Opcode::Alloca);
    let space = ty.and_then(|ty| code.context.type_kind(ty).address_space());
    let kind = space.map(|space| AddressSpace::of(architecture, space).kind());
    is_slot || matches!(kind, Some(SpaceKind::Private | SpaceKind::Workgroup))
}

fn opcode(code: Code<'_>, inst: InstId) -> Opcode {
    code.body.inst(inst).opcode
}

/// Whether a value is computed from what each thread or workgroup loads at an index of its own,
/// through an argument of the kernel.
fn is_loaded(
    code: Code<'_>,
    value: Value,
    (sources, indices): (&dyn Fn(Value) -> SourceSet, SourceSet),
    architecture: Architecture,
) -> bool {
    let mut work = vec![value];
    let mut has_load = false;
    for _ in 0..STEPS {
        let Some(value) = work.pop() else { return has_load };
        if sources(value).is_empty() {
            continue;
        }
        let Some(inst) = value.as_inst() else { return false };
        let operands = code.body.operands(inst);
        match opcode(code, inst) {
            Opcode::Load => {
                let is_indexed = sources(operands[0]).intersects(indices);
                if !is_indexed || !is_of_argument(code, operands[0], architecture) {
                    return false;
                }
                has_load = true;
            }
            of if of.is_binary() || of.is_cast() || of == Opcode::FNeg => {
                work.extend_from_slice(operands);
            }
            _ => return false,
        }
    }
    false
}

/// Whether the base of an address is an argument, possibly by way of a stack slot.
fn is_of_argument(code: Code<'_>, pointer: Value, architecture: Architecture) -> bool {
    let mut at = pointer;
    for _ in 0..STEPS {
        if is_own(code, at, architecture) {
            return false;
        }
        let Some(inst) = at.as_inst() else { return at.as_arg().is_some() };
        match opcode(code, inst) {
            Opcode::GetElementPtr | Opcode::AddrSpaceCast => at = code.body.operands(inst)[0],
            Opcode::Load => return true,
            _ => return false,
        }
    }
    false
}

/// Pairs of threads that write one address by one of these stores, and whether they write different
/// numbers; without pairs that may write the same.
pub(super) fn pairs(stored: &[(Access, Lost)]) -> Vec<([Access; 2], bool)> {
    let of_threads = |&(access, lost): &(Access, Lost)| Some((access, lost.of_threads?));
    let mut stored: Vec<(Access, bool)> = stored.iter().filter_map(of_threads).collect();
    let key = |access: &Access| (access.inst, access.at.base, access.at.offset, access.size);
    stored.sort_by_key(|(access, _)| (key(access), access.thread, access.count));
    let mut pairs = Vec::new();
    let mut told: FxHashSet<(usize, InstId)> = FxHashSet::default();
    for group in stored.chunk_by(|(one, _), (other, _)| key(one) == key(other)) {
        let (first, is_loaded) = group[0];
        let of_others = || group[1..].iter().map(|(access, _)| *access);
        let mut others = of_others().filter(|access| access.thread != first.thread);
        let differs = |one: Val, other: Val| one.base == other.base && one.offset != other.offset;
        let certain = of_others().find(|access| {
            let values = first.value.zip(access.value);
            access.thread != first.thread && values.is_some_and(|(a, b)| differs(a, b))
        });
        let pair = match certain {
            Some(other) => Some(([first, other], true)),
            None if is_loaded => others.next().map(|other| ([first, other], false)),
            None => None,
        };
        if let Some(pair) = pair.filter(|_| told.insert(first.inst)) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Stores by which workgroups write different values to one address, and whether these certainly
/// differ: the first execution of each.
pub(super) fn of_groups(terms: &Terms, stored: &[(Access, Lost)]) -> Vec<(Access, bool)> {
    let mut found: BTreeMap<(usize, InstId), (Access, bool)> = BTreeMap::new();
    for &(access, lost) in stored {
        let Some(is_loaded) = lost.of_groups else { continue };
        let is_certain = access.value.is_some_and(|value| {
            terms.is_of_launch(value)
                && terms.leaves(value.base).iter().any(|(leaf, _)| is_group(terms, *leaf))
        });
        let known = found.get(&access.inst);
        if (is_loaded || is_certain) && known.is_none_or(|(_, known)| is_certain && !known) {
            found.insert(access.inst, (access, is_certain));
        }
    }
    found.into_values().collect()
}

/// Whether a term is the number of the workgroup, or that of its first thread in the grid.
fn is_group(terms: &Terms, base: Base) -> bool {
    matches!(terms.get(base), Some(Term::Block(..) | Term::Register("get_global_id", _)))
}

/// Whether what was decided on a path may hold in one workgroup only.
///
/// A bound by an argument, as in `blockIdx.x < n`, holds in many.
pub(super) fn is_of_one_group(terms: &Terms, assumed: &Assumptions) -> bool {
    // Whether the number of the workgroup has a part in these, and whether an argument has.
    let parts = |bases: &[Base]| {
        let leaves = bases.iter().flat_map(|&base| terms.leaves(base));
        let (mut has_group, mut has_argument) = (false, false);
        for (leaf, _) in leaves {
            has_group |= is_group(terms, leaf);
            has_argument |= matches!(terms.get(leaf), Some(Term::Argument(_)));
        }
        (has_group, has_argument)
    };
    assumed.decided().any(|(&base, holds)| {
        let (has_group, has_argument) = parts(&[base]);
        let chooses = match terms.comparison(base) {
            Some((IntPredicate::Eq, ..)) => holds,
            Some((IntPredicate::Ne, ..)) => !holds,
            Some(_) => !has_argument,
            None => true,
        };
        has_group && chooses
    }) || assumed.between().any(|(&(a, b), (low, high))| {
        let (has_group, has_argument) = parts(&[a, b]);
        has_group && (low == high || !has_argument)
    })
}
