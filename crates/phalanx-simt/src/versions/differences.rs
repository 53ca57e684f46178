//! Compares the records of a version before and a version after a transform.
//!
//! # Groups
//!
//! For each operation, count how often each set of threads executed it together. A changed group is
//! a set that occurs less often than before and a set that occurs more often than before, with a
//! thread in common. A set that only disappeared was merged with another, or is dead. A set that is
//! only new was executed ahead of a branch that all its threads take.
//!
//! If all counts are equal, the order counts as well: a loop whose header is split may have the
//! same groups in other rounds. For each thread, the sequences of its sets are compared. They may
//! differ if each place by itself has the sequence of a place before: then operations of one name
//! have only changed places.
//!
//! # Accesses that barriers separate
//!
//! Let `e(a)` be the number of barriers that the thread of access `a` passed before it. Two
//! accesses of a workgroup with `e(a) < e(b)` are separated. The accesses of a thread to one place
//! are matched in their order, if there are as many after as before. A barrier is gone, or was
//! moved across an access, if `e(a) < e(b)` before and `e(a) >= e(b)` after, for two matched
//! accesses. A barrier that moves across code without accesses does not change the order of these
//! numbers. Loads of memory that is never written are ignored.
//!
//! Only pairs that may access the same memory count, and only if one of them writes. Either a
//! barrier separates them or they race; the orders of all other accesses follow from these. A
//! variable in workgroup memory differs from other variables and from buffers, but two buffers may
//! be one buffer in another launch.
//!
//! One pass in the order of `e` before, tracking the largest `e` after: O(accesses log accesses).

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Change, Object, Place,
    record::{Cell, Group, Record, Series, Touch},
};

/// How many accesses of one unit of memory are compared pairwise; further ones are ignored.
const PAIRS: usize = 200;

/// All differences, in a fixed order. Valid after both records are finished.
pub(super) fn between(before: &Record, after: &Record) -> Vec<Change> {
    let mut changes = groups(before, after);
    changes.extend(apart(before, after));
    changes.extend(memory(before, after));
    changes
}

fn groups(before: &Record, after: &Record) -> Vec<Change> {
    type Sets<'a> = Vec<(&'a Group, Place)>;
    let more = |one: &'_ Record, than: &'_ Record| -> Vec<(Group, Place)> {
        let is_more = |group: &Group, count: u32| {
            than.company.get(group).is_none_or(|&(also, _)| also < count)
        };
        let all = one.company.iter().filter(|(group, _)| !before.unsettled.contains(&group.0));
        let mut found: Vec<(Group, Place)> = all
            .filter(|(group, (count, _))| is_more(group, *count))
            .map(|(group, &(_, place))| (group.clone(), place))
            .collect();
        found.sort();
        found
    };
    let (gone, new) = (more(before, after), more(after, before));
    let gone: Sets<'_> = gone.iter().map(|(group, place)| (group, *place)).collect();
    let mut changes: Vec<Change> = Vec::new();
    for ((name, threads), at) in &new {
        let shares = |(group, _): &&(&Group, Place)| {
            group.0 == *name && group.1.iter().any(|thread| threads.binary_search(thread).is_ok())
        };
        if let Some((group, from)) = gone.iter().find(shares) {
            changes.push(Change::Group {
                from: *from,
                at: *at,
                before: group.1.to_vec(),
                after: threads.to_vec(),
                orders: after.orders(*at),
            });
        }
    }
    if gone.is_empty() && new.is_empty() {
        let names = after.sequences.keys().filter(|name| !before.unsettled.contains(*name));
        changes.extend(names.filter_map(|name| order(before, after, name)));
    }
    changes
}

/// The first execution of an operation in which a thread has other companions, if the groups are
/// equal in number.
fn order(before: &Record, after: &Record, name: &str) -> Option<Change> {
    let (old, new) = (before.sequences.get(name)?, after.sequences.get(name)?);
    if before.traces.get(name) == after.traces.get(name) {
        return None;
    }
    old.iter().find_map(|(thread, old)| {
        let mut pairs = old.iter().zip(new.get(thread)?);
        let ((was, from), (is, at)) = pairs.find(|((was, _), (is, _))| was != is)?;
        let (before, orders) = (was.to_vec(), after.orders(*at));
        Some(Change::Group { from: *from, at: *at, before, after: is.to_vec(), orders })
    })
}

/// An access that both versions make.
#[derive(Clone, Copy)]
struct Matched<'a> {
    series: &'a Series,
    before: u32,
    after: u32,
    place: Place,
}

/// Accesses by workgroup, or by wave, with the barriers that count there.
type Matches<'a> = FxHashMap<(u32, u32), Vec<Matched<'a>>>;

fn apart(before: &Record, after: &Record) -> Vec<Change> {
    let writes = before.accesses.keys().filter(|series| series.writes);
    let written: FxHashSet<&Cell> = writes.map(|series| &series.cell).collect();
    let mut by_workgroup: Matches<'_> = Matches::default();
    let mut by_wave: Matches<'_> = Matches::default();
    for (series, old) in &before.accesses {
        let Some(new) = after.accesses.get(series).filter(|new| new.len() == old.len()) else {
            continue;
        };
        if !written.contains(&series.cell) {
            continue;
        }
        let (workgroup, wave) = before.home.get(&series.thread).copied().unwrap_or_default();
        for (old, new) in old.iter().zip(new) {
            let place = new.place;
            let of = |before, after| Matched { series, before, after, place };
            let all = |touch: &Touch| touch.workgroup + touch.wave;
            let whole = of(old.workgroup, new.workgroup);
            by_workgroup.entry((workgroup, 0)).or_default().push(whole);
            if old.wave > 0 {
                by_wave.entry((workgroup, wave)).or_default().push(of(all(old), all(new)));
            }
        }
    }
    let shared: FxHashSet<&Object> = before.workgroup_variables().collect();
    let mut changes = Vec::new();
    for matches in [by_workgroup, by_wave] {
        let mut groups: Vec<_> = matches.into_iter().collect();
        groups.sort_unstable_by_key(|(group, _)| *group);
        for (_, mut matched) in groups {
            matched
                .sort_by(|a, b| (a.before, a.place, a.series).cmp(&(b.before, b.place, b.series)));
            changes.extend(conflict(&matched).or_else(|| first_pair(&matched, &shared)));
        }
    }
    changes
}

fn change(first: Matched<'_>, second: Matched<'_>, conflicts: bool) -> Change {
    Change::Apart {
        first: (first.series.thread, first.place),
        second: (second.series.thread, second.place),
        conflicts,
    }
}

/// Two accesses that a barrier separated before and does not separate now. Their memory may be the
/// same in another launch, and one of them writes.
fn first_pair(matched: &[Matched<'_>], shared: &FxHashSet<&Object>) -> Option<Change> {
    let mut kinds: BTreeMap<Option<&Object>, Vec<Matched<'_>>> = BTreeMap::new();
    for &access in matched {
        let object = &access.series.cell.0;
        // In another launch two arguments may be one buffer, or the address of a variable.
        kinds.entry(shared.get(object).copied()).or_default().push(access);
    }
    kinds.values().find_map(|matched| first_pair_of(matched))
}

/// The same within memory all of which may be one object.
fn first_pair_of(matched: &[Matched<'_>]) -> Option<Change> {
    let is_later = |access: &Matched<'_>| access.after;
    let (mut latest, mut latest_write) = (None::<Matched<'_>>, None::<Matched<'_>>);
    for same in matched.chunk_by(|a, b| a.before == b.before) {
        let lost = same.iter().find_map(|second| {
            let first = if second.series.writes { latest } else { latest_write };
            Some((first.filter(|first| first.after >= second.after)?, *second))
        });
        if let Some((first, second)) = lost {
            return Some(change(first, second, false));
        }
        let writes = same.iter().filter(|access| access.series.writes).copied();
        latest_write = latest_write.into_iter().chain(writes).max_by_key(is_later);
        latest = latest.into_iter().chain(same.iter().copied()).max_by_key(is_later);
    }
    None
}

/// Two such accesses of the same bytes by different threads, one of which writes.
fn conflict(matched: &[Matched<'_>]) -> Option<Change> {
    let mut cells: FxHashMap<&Cell, Vec<Matched<'_>>> = FxHashMap::default();
    let mut order = Vec::new();
    for &access in matched {
        let cell = cells.entry(&access.series.cell).or_insert_with(|| {
            order.push(&access.series.cell);
            Vec::new()
        });
        if cell.len() < PAIRS {
            cell.push(access);
        }
    }
    for cell in order {
        let accesses = &cells[cell];
        if accesses.iter().all(|access| access.series.thread == accesses[0].series.thread) {
            continue;
        }
        for (at, &second) in accesses.iter().enumerate() {
            let is_lost = |first: &&Matched<'_>| {
                first.before < second.before
                    && first.after >= second.after
                    && first.series.thread != second.series.thread
                    && (first.series.writes || second.series.writes)
            };
            if let Some(&first) = accesses[..at].iter().find(is_lost) {
                return Some(change(first, second, true));
            }
        }
    }
    None
}

fn memory(before: &Record, after: &Record) -> Vec<Change> {
    let mut changes = Vec::new();
    for (object, old) in &before.memory {
        let Some((_, new)) = after.memory.iter().find(|(also, _)| also == object) else { continue };
        let differs = |&at: &usize| {
            old.certain[at] && (old.bytes.get(at) != new.bytes.get(at) || !new.certain[at])
        };
        if old.bytes.len() == new.bytes.len()
            && let Some(offset) = (0..old.bytes.len()).find(differs)
        {
            changes.push(Change::Memory { object: object.clone(), offset: offset as u64 });
        }
    }
    changes
}
