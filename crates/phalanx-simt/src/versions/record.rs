//! Records one launch, as far as two versions of a kernel have to agree on it.
//!
//! The record has three tables: groups of threads by operation and converged execution; accesses to
//! memory that threads share, each with the number of barriers that its thread had passed; and
//! bytes in memory at the end. Accesses are divided into units of [`UNIT`] bytes, so that a load of
//! four elements is comparable with four loads.
//!
//! O(1) per execution of an operation, O(bytes) per access.

use std::{
    collections::BTreeMap,
    hash::{Hash as _, Hasher as _},
    rc::Rc,
};

use phalanx_ir::inst::Ordering;
use phalanx_target::Scope;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::{Object, Operations, Place, Version, inputs::Buffer};
use crate::{
    convergence::Key,
    memory::{Memory, Region},
    observe::{Access, AccessKind, Moment, Observer, Phase},
    races::Races,
    reach::Reach,
    unknown::State,
    value::Value,
};

/// The size of a unit of memory.
const UNIT: u64 = 4;

/// With more accesses than this, accesses are not compared.
const ACCESSES: usize = 2_000_000;

/// Threads that are together, in ascending order.
pub(super) type Threads = Rc<[u32]>;

/// An operation's name, and threads that executed it together.
pub(super) type Group = (String, Threads);

/// For each thread, its groups, execution by execution.
pub(super) type Sequences = BTreeMap<u32, Vec<(Threads, Place)>>;

/// A unit of memory.
pub(super) type Cell = (Object, u64);

/// The reads, or the writes, of a thread in a unit.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Series {
    pub(super) cell: Cell,
    pub(super) thread: u32,
    pub(super) writes: bool,
}

/// An access: the number of barriers of the workgroup and of the wave that the thread had passed,
/// and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touch {
    pub(super) workgroup: u32,
    pub(super) wave: u32,
    pub(super) place: Place,
}

#[derive(Clone, Copy, Default, Debug)]
struct Passed {
    workgroup: u32,
    wave: u32,
}

/// An operation, the converged execution of its block, and the wave or workgroup.
type Execution = (Place, Key, u32);

struct Range {
    region: Region,
    start: u64,
    end: u64,
    object: Object,
}

/// Bytes of an object at the end, and which of them do not depend on the schedule.
#[derive(Debug)]
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    pub(super) certain: Vec<bool>,
}

/// What happened in a launch.
pub(super) struct Record {
    operations: Operations,
    objects: Vec<Range>,
    groups: FxHashMap<Execution, Vec<u32>>,
    /// For each thread, its executions in order.
    events: BTreeMap<u32, Vec<Execution>>,
    passed: FxHashMap<u32, Passed>,
    /// Workgroup and wave of each thread.
    pub(super) home: FxHashMap<u32, (u32, u32)>,
    kept: usize,
    pub(super) accesses: FxHashMap<Series, Vec<Touch>>,
    /// How often each group executed each operation, and one place of it.
    pub(super) company: FxHashMap<Group, (u32, Place)>,
    /// By name of the operation.
    pub(super) sequences: BTreeMap<String, Sequences>,
    /// By name: the sequence of groups at each place, as sorted fingerprints.
    pub(super) traces: BTreeMap<String, Vec<u64>>,
    /// Operations whose groups depend on the order in which threads advance.
    pub(super) unsettled: FxHashSet<String>,
    pub(super) memory: Vec<(Object, Bytes)>,
    /// The race detector, if the launch is watched for races.
    races: Option<Races>,
    has_atomics: bool,
}

impl Record {
    /// An empty record. If it looks for races and finds one, memory is not certain.
    pub(super) fn new(version: Version<'_>, buffers: &[Buffer], looks_for_races: bool) -> Self {
        let mut objects: Vec<Range> = version
            .program
            .placed()
            .map(|(region, start, size, name)| Range {
                region,
                start,
                end: start + size,
                object: Object::Variable(name),
            })
            .collect();
        objects.extend(buffers.iter().map(|buffer| Range {
            region: Region::Global,
            start: buffer.address,
            end: buffer.address + buffer.size,
            object: Object::Argument(buffer.argument),
        }));
        objects.sort_by_key(|range| (range.region, range.start));
        Record {
            operations: version.operations.clone(),
            objects,
            groups: FxHashMap::default(),
            events: BTreeMap::new(),
            passed: FxHashMap::default(),
            home: FxHashMap::default(),
            kept: 0,
            accesses: FxHashMap::default(),
            company: FxHashMap::default(),
            sequences: BTreeMap::new(),
            traces: BTreeMap::new(),
            unsettled: FxHashSet::default(),
            memory: Vec::new(),
            races: looks_for_races.then(Races::new),
            has_atomics: false,
        }
    }

    /// The variables in workgroup memory.
    pub(super) fn workgroup_variables(&self) -> impl Iterator<Item = &Object> {
        self.objects
            .iter()
            .filter(|range| range.region == Region::Shared)
            .map(|range| &range.object)
    }

    /// The object at an address, and where in it.
    fn locate(&self, region: Region, address: u64) -> Cell {
        let after =
            self.objects.partition_point(|range| (range.region, range.start) <= (region, address));
        let found = after.checked_sub(1).map(|at| &self.objects[at]);
        match found.filter(|range| range.region == region && address < range.end) {
            Some(range) => (range.object.clone(), (address - range.start) / UNIT),
            None => (Object::Other(region.text()), address / UNIT),
        }
    }

    /// Completes the record when the launch is over.
    pub(super) fn finish(&mut self, memory: &Memory) {
        let mut together: FxHashMap<Execution, Threads> = FxHashMap::default();
        for (execution, mut threads) in std::mem::take(&mut self.groups) {
            threads.sort_unstable();
            let threads: Threads = threads.into();
            let place = execution.0;
            let name = self.operations[&place].name.clone();
            let entry = self.company.entry((name, Rc::clone(&threads))).or_insert((0, place));
            // The least place, whatever the order of the table.
            *entry = (entry.0 + 1, entry.1.min(place));
            together.insert(execution, threads);
        }
        let mut traces: BTreeMap<Place, FxHasher> = BTreeMap::new();
        for (thread, events) in std::mem::take(&mut self.events) {
            for execution in events {
                let (place, threads) = (execution.0, &together[&execution]);
                (thread, threads).hash(traces.entry(place).or_default());
                let name = &self.operations[&place].name;
                let sequences = self.sequences.entry(name.clone()).or_default();
                sequences.entry(thread).or_default().push((Rc::clone(threads), place));
            }
        }
        for (place, trace) in traces {
            let name = &self.operations[&place].name;
            self.traces.entry(name.clone()).or_default().push(trace.finish());
        }
        self.traces.values_mut().for_each(|traces| traces.sort_unstable());
        let is_racy = self.races.as_ref().is_some_and(|races| !races.found().is_empty());
        for range in self.objects.iter().filter(|range| range.region == Region::Global) {
            let size = range.end - range.start;
            let (Ok(bytes), Ok(states)) =
                (memory.bytes(range.start, size), memory.states(range.start, size))
            else {
                continue;
            };
            let is_poison = |state: &State| *state == State::Poison;
            let certain = states.iter().map(|state| !is_poison(state) && !is_racy).collect();
            self.memory.push((range.object.clone(), Bytes { bytes: bytes.to_vec(), certain }));
        }
        if self.kept > ACCESSES {
            self.accesses.clear();
        }
    }

    /// Whether the result is independent of the order in which threads advance: no race was found,
    /// and no access is atomic.
    pub(super) fn is_settled(&self) -> bool {
        !self.has_atomics && self.races.as_ref().is_some_and(|races| races.found().is_empty())
    }

    /// Whether an operation orders accesses.
    pub(super) fn orders(&self, place: Place) -> bool {
        self.operations.get(&place).is_some_and(|operation| operation.orders)
    }

    /// Operations that were executed. Valid after [`Record::finish`].
    pub(super) fn executed(&self) -> FxHashSet<Place> {
        let all = self.sequences.values().flat_map(BTreeMap::values).flatten();
        all.map(|&(_, place)| place).collect()
    }

    /// Keeps only what another launch of the same version with the same input did as well.
    pub(super) fn keep_common(&mut self, other: &Record) {
        let names = self.sequences.keys().chain(other.sequences.keys());
        let differs = |name: &&String| self.sequences.get(*name) != other.sequences.get(*name);
        self.unsettled.extend(names.filter(differs).cloned());
        let barriers = |touches: &[Touch]| -> Vec<(u32, u32)> {
            touches.iter().map(|touch| (touch.workgroup, touch.wave)).collect()
        };
        self.accesses.retain(|series, touches| {
            other.accesses.get(series).is_some_and(|also| barriers(also) == barriers(touches))
        });
        for ((_, own), (_, others)) in self.memory.iter_mut().zip(&other.memory) {
            for (at, certain) in own.certain.iter_mut().enumerate() {
                *certain &= own.bytes.get(at) == others.bytes.get(at)
                    && others.certain.get(at) == Some(&true);
            }
        }
    }
}

impl Observer for Record {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn value(&mut self, at: Moment<'_>, _: &Value) {
        let place = (at.function, at.inst);
        let Some(operation) = self.operations.get(&place) else { return };
        let (thread, workgroup, wave) = (at.thread.number, at.thread.workgroup(), at.thread.wave);
        let is_of_wave = operation.scope == Scope::Wave;
        if operation.orders {
            let passed = self.passed.entry(thread).or_default();
            match is_of_wave {
                true => passed.wave += 1,
                false => passed.workgroup += 1,
            }
        }
        let group = match operation.scope {
            Scope::Wave => workgroup << 8 | wave,
            Scope::Workgroup => workgroup,
            _ => 0,
        };
        self.groups.entry((place, at.key, group)).or_default().push(thread);
        self.events.entry(thread).or_default().push((place, at.key, group));
        self.home.insert(thread, (workgroup, wave));
    }

    fn fence(&mut self, at: Moment<'_>, ordering: Ordering, reach: Reach) {
        if let Some(races) = &mut self.races {
            races.fence(at, ordering, reach);
        }
    }

    fn meet(&mut self, threads: &[u32]) {
        if let Some(races) = &mut self.races {
            races.meet(threads);
        }
    }

    fn arrive(&mut self, thread: u32, phase: Phase) {
        if let Some(races) = &mut self.races {
            races.arrive(thread, phase);
        }
    }

    fn pass(&mut self, thread: u32, phase: Phase) {
        if let Some(races) = &mut self.races {
            races.pass(thread, phase);
        }
    }

    fn access(&mut self, at: Moment<'_>, access: &Access) {
        if let Some(races) = &mut self.races {
            races.access(at, access);
        }
        self.has_atomics |= access.ordering != Ordering::NotAtomic;
        self.kept += 1;
        if self.kept > ACCESSES {
            return;
        }
        let thread = at.thread.number;
        self.home.entry(thread).or_insert((at.thread.workgroup(), at.thread.wave));
        let passed = self.passed.get(&thread).copied().unwrap_or_default();
        let touch =
            Touch { workgroup: passed.workgroup, wave: passed.wave, place: (at.function, at.inst) };
        let mut address = access.address;
        let end = access.address.saturating_add(access.size);
        while address < end {
            let cell = self.locate(access.region, address);
            let writes = access.kind != AccessKind::Load;
            let series = Series { cell, thread, writes };
            self.accesses.entry(series).or_default().push(touch);
            address = (address / UNIT + 1) * UNIT;
        }
    }
}
