//! Which accesses between two barriers race.
//!
//! Two accesses of different threads that overlap race if one of them writes, and they are not both
//! atomic. For threads of one wave, the verdict depends on how the wave executes:
//!
//! | threads | instructions | verdict |
//! |---|---|---|
//! | of different waves | any | a race |
//! | of one wave, in lockstep | one store, of different values | a race |
//! | | others | ordered |
//! | of one wave, scheduled independently | one store | a race |
//! | | others, without a meeting of the lanes in between | a race that lockstep hides |
//!
//! If two threads write the same value, that is no race, and neither is a read by one of them.
//!
//! ```text
//! thread 0:  tile[0] = a;   x = tile[1];      tile[1]: written by thread 1 and read by thread 0
//! thread 1:  tile[1] = b;   x = tile[2];
//! ```
//!
//! Accesses of many threads to one address by one instruction are merged into one entry. The entry
//! has three of the threads, as far as there are such: two of one wave and one of another. That is
//! enough to find threads of different waves for any two entries, and different threads of one
//! wave.
//!
//! O(n log n) for n accesses, and O(1) for each two entries that overlap; these are bounded.

use phalanx_ir::InstId;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{objects::Access, terms::Val};

/// How many pairs of overlapping entries are looked at between two barriers.
const PAIRS: usize = 1 << 18;

/// How two accesses race.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Verdict {
    /// Lanes of a wave race, unless they execute in lockstep.
    WithinWave,
    /// The accesses race unless they write the same value.
    Possible,
    /// The accesses race.
    Certain,
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) verdict: Verdict,
    pub(super) accesses: [Access; 2],
}

/// Pairs by the places of their accesses.
pub(super) type Pairs = FxHashMap<([(usize, InstId); 2], bool), Pair>;

/// How waves are formed, and how they execute.
#[derive(Clone, Copy)]
pub(super) struct Waves<'a> {
    pub(super) width: u32,
    pub(super) lockstep: bool,
    /// Whether all threads store the same value by an instruction.
    pub(super) stores_one: &'a dyn Fn(&Access) -> bool,
}

/// Writes: the thread, the address, and the value.
type Written = FxHashSet<(u32, Val, Val)>;

/// Accesses of one instruction to one address, by some of the threads.
struct Entry {
    accesses: SmallVec<[Access; 3]>,
}

/// Adds the pairs of accesses that race. Returns false if not all pairs were looked at.
pub(super) fn pairs(mut accesses: Vec<Access>, waves: Waves<'_>, found: &mut Pairs) -> bool {
    let key = |access: &Access| {
        let Access { at, size, inst, writes, value, meetings, .. } = *access;
        (at.base, at.offset, size, inst.0, inst.1, access.place, writes, value, meetings)
    };
    accesses.sort_by_key(|access| (key(access), access.thread));
    let writes = accesses.iter().filter(|access| access.writes);
    let written: Written =
        writes.filter_map(|access| Some((access.thread, access.at, access.value?))).collect();
    let mut entries: Vec<Entry> = Vec::new();
    for group in accesses.chunk_by(|a, b| key(a) == key(b)) {
        entries.push(entry(group, waves.width));
    }
    let mut left = PAIRS;
    let mut active: Vec<usize> = Vec::new();
    for at in 0..entries.len() {
        let access = entries[at].accesses[0];
        active.retain(|&other| entries[other].accesses[0].overlaps(&access));
        active.push(at);
        for &other in &active {
            let Some(less) = left.checked_sub(1) else { return false };
            left = less;
            let is_possible = entries[other].accesses[0].writes || access.writes;
            if is_possible {
                look(&entries[other], &entries[at], (waves, &written), found);
            }
        }
    }
    true
}

/// The entry of accesses by one instruction: the first thread, another one of its wave, and one of
/// another wave.
fn entry(group: &[Access], width: u32) -> Entry {
    let first = group[0];
    let mut accesses: SmallVec<[Access; 3]> = SmallVec::new();
    accesses.push(first);
    let wave = |access: &Access| access.thread / width;
    let near = group.iter().find(|a| a.thread != first.thread && wave(a) == wave(&first));
    let far = group.iter().find(|a| wave(a) != wave(&first));
    accesses.extend(near.into_iter().chain(far).copied());
    Entry { accesses }
}

fn look(one: &Entry, other: &Entry, (waves, written): (Waves<'_>, &Written), found: &mut Pairs) {
    for &a in &one.accesses {
        for &b in &other.accesses {
            let Some(verdict) = verdict(&a, &b, waves) else { continue };
            if finds_its_own(&a, &b, written) || finds_its_own(&b, &a, written) {
                continue;
            }
            let is_in_order = a.inst <= b.inst;
            let accesses = if is_in_order { [a, b] } else { [b, a] };
            let key = (accesses.map(|access| access.inst), verdict == Verdict::WithinWave);
            let pair = Pair { verdict, accesses };
            let known = found.entry(key).or_insert(pair);
            if known.verdict < verdict {
                *known = pair;
            }
        }
    }
}

/// Whether a thread reads what another thread writes, and has written the same value itself.
fn finds_its_own(read: &Access, write: &Access, written: &Written) -> bool {
    let is_read = !read.writes && write.writes && read.at == write.at;
    is_read && write.value.is_some_and(|value| written.contains(&(read.thread, read.at, value)))
}

fn verdict(a: &Access, b: &Access, waves: Waves<'_>) -> Option<Verdict> {
    let is_race = a.thread != b.thread
        && (a.writes || b.writes)
        && !(a.is_atomic && b.is_atomic)
        && a.overlaps(b);
    if !is_race {
        return None;
    }
    let both_write = a.writes && b.writes;
    let is_one = a.inst == b.inst;
    let values = match both_write {
        true => difference(a, b, waves)?,
        false => Verdict::Certain,
    };
    if a.thread / waves.width != b.thread / waves.width {
        return Some(values);
    }
    match (waves.lockstep, is_one && both_write) {
        (true, true) => {
            let is_together = a.count == b.count;
            (is_together && values == Verdict::Certain).then_some(values)
        }
        (true, false) => None,
        (false, true) => Some(values),
        (false, false) => (a.meetings == b.meetings).then_some(Verdict::WithinWave),
    }
}

/// The verdict about two stores of different threads; none if they write the same value.
fn difference(a: &Access, b: &Access, waves: Waves<'_>) -> Option<Verdict> {
    let is_same_place = a.at == b.at && a.size == b.size;
    if !is_same_place {
        return Some(Verdict::Certain);
    }
    match (a.value, b.value) {
        (Some(x), Some(y)) if x == y => None,
        (Some(x), Some(y)) if x.base == y.base => Some(Verdict::Certain),
        _ if a.inst != b.inst => Some(Verdict::Certain),
        _ if (waves.stores_one)(a) => None,
        _ => Some(Verdict::Possible),
    }
}
