//! Stores to global memory whose index has lost the thread: all threads write one address.
//!
//! ```text
//! out[0] = tid;               each thread writes another value to one address
//! out[blockIdx.x] = in[i];    so do the threads of a workgroup
//! if (tid == 0) out[0] = n;   one thread writes
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
//! O(instructions) to choose stores, O(stores that are executed) to compare them.

use phalanx_ir::{InstId, Opcode, Value, inst::InstFlags};
use phalanx_target::{AddressSpace, Architecture, LaunchFacts, Scope, SourceSet, SpaceKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{objects::Access, program::Unit, terms::Val};
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

/// The stores of a function that are looked at, and whether the value is made of what threads load
/// at their own indices.
pub(super) type Stores = FxHashMap<InstId, bool>;

/// The stores of a function whose address is the same in the workgroup and whose value is not.
pub(super) fn stores(unit: Unit<'_>, launch: &LaunchFacts, architecture: Architecture) -> Stores {
    let code = unit.code;
    let varying = phalanx_target::varying(Scope::Workgroup, launch);
    let numbering = Numbering::new(code.header);
    let sources = |value: Value| {
        let number = numbering.operand(value);
        number.map_or(SourceSet::EMPTY, |number| unit.divergence.value(number) & varying)
    };
    let insts = code.flow.order().iter().flat_map(|&block| code.body.block_insts(block));
    let of = |inst: InstId| {
        let data = code.body.inst(inst);
        let is_plain = data.opcode == Opcode::Store
            && !data.flags.contains(InstFlags::ATOMIC)
            && !data.flags.contains(InstFlags::VOLATILE);
        let &[value, pointer] = code.body.operands(inst) else { return None };
        let is_lost = is_plain
            && !is_own(code, pointer, architecture)
            && sources(pointer).is_empty()
            && sources(value).intersects(INDICES);
        is_lost.then(|| (inst, is_loaded(code, value, &sources, architecture)))
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

/// Whether a value is computed from what each thread loads at an index of its own, through an
/// argument of the kernel.
fn is_loaded(
    code: Code<'_>,
    value: Value,
    sources: &dyn Fn(Value) -> SourceSet,
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
                let is_indexed = sources(operands[0]).intersects(INDICES);
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
pub(super) fn pairs(mut stored: Vec<(Access, bool)>) -> Vec<([Access; 2], bool)> {
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
