//! Accesses at indices that are data, compared with accesses of whole arrays.
//!
//! ```text
//! bins[t] = 0;                       thread t writes its element
//!                                    no barrier here
//! atomicAdd(&bins[in[i]], 1);        any thread accesses any element
//! ```
//!
//! Data decides which element a thread accesses, so nothing is certain here, and all findings are
//! warnings. There is a finding if the program shows that threads share the array:
//!
//! - the index consists of data alone. A part that differs from thread to thread in a known way, as
//!   in `bins[t][in[i]]`, keeps threads in rows of their own;
//! - threads of other waves access at least two known elements of the array;
//! - if the data is bounded, as a byte is, some of these elements are within its reach;
//! - one of the two accesses writes, and they are not both atomic;
//! - the kernel has a barrier somewhere, so it is meant for several waves.
//!
//! O(accesses), and O(1) for each two instructions that access one object.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::{
    conflicts::Pair,
    conflicts::Verdict,
    objects::{Access, InstInFunction},
    thread::Machine,
};

/// The depth to which an index is looked into for its bounds.
const DEPTH: u32 = 8;

/// The executions of one instruction on one object between two barriers.
struct Executions {
    /// The first execution, and the first one in another wave.
    first: Access,
    far: Option<Access>,
    /// Offsets from the unknown base, at most two.
    offsets: FxHashSet<i64>,
    /// The bytes that are accessed lie in this range of the object, as far as is known.
    bytes: Range<i64>,
    /// Whether all of them are at unknown places.
    is_scattered: bool,
    /// Whether all of them are at known places.
    is_known: bool,
}

/// Pairs of accesses that may meet, of which one has data as its index.
pub(super) fn pairs(machine: &mut Machine<'_, '_>, accesses: &[Access]) -> Vec<Pair> {
    let mut objects: BTreeMap<_, BTreeMap<InstInFunction, Executions>> = BTreeMap::new();
    let width = machine.width;
    for access in accesses {
        let (base, offset) = (access.at.base, access.at.offset);
        let root = machine.root(base);
        let is_scattered = root != base && !machine.terms.is_of_launch_behind(root, base);
        let insts = objects.entry(root).or_default();
        let executions = insts.entry(access.inst).or_insert_with(|| Executions {
            first: *access,
            far: None,
            offsets: FxHashSet::default(),
            bytes: offset..offset,
            is_scattered: true,
            is_known: true,
        });
        let is_far = access.thread / width != executions.first.thread / width;
        if is_far && executions.far.is_none() {
            executions.far = Some(*access);
        }
        if executions.offsets.len() < 2 {
            executions.offsets.insert(offset);
        }
        let most = machine.terms.most(root, base, DEPTH);
        let end = most.and_then(|most| (offset + i64::from(access.size)).checked_add(most));
        let (start, end) = end.map_or((i64::MIN, i64::MAX), |end| (offset, end));
        executions.bytes.start = executions.bytes.start.min(start);
        executions.bytes.end = executions.bytes.end.max(end);
        executions.is_scattered &= is_scattered;
        executions.is_known &= root == base;
    }
    let mut found = Vec::new();
    for insts in objects.values() {
        let scattered = insts.values().filter(|of| of.is_scattered && of.offsets.len() == 1);
        for by_data in scattered {
            let known = insts.values().filter(|of| of.is_known && of.offsets.len() > 1);
            found.extend(known.filter_map(|known| pair(by_data, known)));
        }
    }
    found
}

/// An access whose index is data, and one of another wave at a known element, if they race where
/// they meet.
fn pair(by_data: &Executions, known: &Executions) -> Option<Pair> {
    let (one, other) = (by_data.first, known.far?);
    by_data.far?;
    let meet = by_data.bytes.start < known.bytes.end && known.bytes.start < by_data.bytes.end;
    let is_race = meet && (one.writes || other.writes) && !(one.is_atomic && other.is_atomic);
    // The finding names the element of the access whose place is known.
    let one = Access { at: other.at, ..one };
    let accesses = if one.inst <= other.inst { [one, other] } else { [other, one] };
    (is_race && one.thread != other.thread && one.inst != other.inst)
        .then_some(Pair { verdict: Verdict::Possible, accesses })
}
