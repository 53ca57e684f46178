//! Which accesses between two barriers race.
//!
//! Two accesses of different threads that overlap race if one of them writes, and they are not both
//! atomic. What threads of one wave do in turns is told apart:
//!
//! | threads | instructions | verdict |
//! |---|---|---|
//! | of different waves | any | a race |
//! | of one wave, in lockstep | one store, of different values | a race |
//! | | others | ordered |
//! | of one wave, scheduled one by one | one store | a race |
//! | | others, without a meeting of the lanes in between | a race that lockstep hides |
//!
//! Two threads that write one value do no harm, and neither does a read by one of them.
//!
//! ```text
//! thread 0:  tile[0] = a;   x = tile[1];      tile[1]: written by thread 1 and read by thread 0
//! thread 1:  tile[1] = b;   x = tile[2];
//! ```
//!
//! Accesses of many threads to one address by one instruction are one entry, with three of the
//! threads: two of one wave and one of another, as far as there are such. That is enough to find
//! threads of different waves for any two entries, and different threads of one wave.
//!
//! O(n log n) for n accesses, and O(1) for each two entries that overlap; these are bounded.

use phalanx_ir::InstId;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{objects::Access, terms::Val};

/// So many pairs of overlapping entries are looked at between two barriers.
const PAIRS: usize = 1 << 18;

/// How two accesses race.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Verdict {
    /// Lanes of a wave do, unless they execute in lockstep.
    WithinWave,
    /// They do unless they write the same.
    Possible,
    /// They do.
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

/// How waves are made, and how they execute.
#[derive(Clone, Copy)]
pub(super) struct Waves<'a> {
    pub(super) width: u32,
    pub(super) lockstep: bool,
    /// Whether all threads store the same by an instruction.
    pub(super) stores_one: &'a dyn Fn(&Access) -> bool,
}

/// What threads write: the thread, where, and which value.
type Written = FxHashSet<(u32, Val, Val)>;

/// Accesses of one instruction to one address, by some of the threads.
struct Entry {
    accesses: SmallVec<[Access; 3]>,
}

/// Puts the pairs of accesses down that race. False if not all were looked at.
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

/// The first thread, another of its wave, and one of another wave.
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

/// Whether a thread reads what another one writes, and has written the same itself.
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

/// What two stores of different threads do to each other; nothing if they write the same.
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
