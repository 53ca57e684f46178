//! Watching loads and stores of a launch.

use phalanx::{
    analysis::loads::{Load, LoadClass},
    ir::{InstId, inst::Ordering},
    target::Scope,
};
use phalanx_simt::{
    Observer, Races,
    convergence::Key,
    memory::Region,
    observe::{Access, AccessKind, Moment, Phase},
};
use rustc_hash::FxHashMap;

use super::LoadTally;
use crate::oracle::group;

/// The claims about a load, and what was observed.
struct Claim {
    load: Load,
    text: String,
    executed: bool,
    wrong: Option<&'static str>,
}

/// See the [module documentation](super).
#[derive(Default)]
pub(super) struct Watch {
    claims: FxHashMap<(usize, InstId), Claim>,
    races: Races,
    /// By byte of global memory: the threads that wrote it, and in which stretch.
    writes: FxHashMap<u64, Vec<(u32, u32)>>,
    /// By byte: a load that claims that the byte is never written.
    read: FxHashMap<u64, (usize, InstId)>,
    /// The address of the first thread of a converged group, by wave.
    first: FxHashMap<(usize, InstId, Key, u32), u64>,
    /// Loads whose addresses differed within a group in this launch.
    different: Vec<(usize, InstId)>,
    /// Whether a thread may have synchronised with another one of its wave: an atomic access was
    /// executed.
    is_ordered_otherwise: bool,
    /// Launches without a race.
    pub(super) clean: u64,
}

impl Watch {
    pub(super) fn claim(&mut self, function: usize, load: Load, text: String) {
        let claim = Claim { load, text, executed: false, wrong: None };
        self.claims.insert((function, load.inst), claim);
    }

    /// Ends a launch. The value of a racing load may differ between threads, and so may values
    /// computed from it. The same is true if threads of a wave execute a load one after the other,
    /// with atomic accesses of theirs in between. Machines execute the load at once for all of
    /// them, which the analysis assumes.
    pub(super) fn end_run(&mut self, is_lockstep: bool) {
        let is_clean = self.races.found().is_empty();
        self.clean += u64::from(is_clean);
        let is_at_once = is_lockstep || !self.is_ordered_otherwise;
        for place in self.different.drain(..).filter(|_| is_clean && is_at_once) {
            if let Some(claim) = self.claims.get_mut(&place) {
                claim.wrong = Some("the address is not one for the wave");
            }
        }
        self.races = Races::new();
        self.is_ordered_otherwise = false;
        self.writes.clear();
        self.read.clear();
        self.first.clear();
    }

    pub(super) fn judge(&self, tally: &mut LoadTally) {
        let mut wrong = Vec::new();
        for claim in self.claims.values().filter(|claim| claim.executed) {
            tally.loads += 1;
            for class in claim.load.classes() {
                tally.claims[class as usize] += 1;
            }
            wrong.extend(claim.wrong.map(|what| format!("{what}: {}", claim.text)));
        }
        wrong.sort();
        tally.wrong.extend(wrong);
    }

    fn load(&mut self, at: Moment<'_>, access: &Access) {
        let place = (at.function, at.inst);
        let Some(claim) = self.claims.get_mut(&place) else { return };
        claim.executed = true;
        let (scalar, ldu) = (claim.load.is(LoadClass::Scalar), claim.load.is(LoadClass::Ldu));
        let is_claimed = scalar || ldu || claim.load.is(LoadClass::NonCoherent);
        if is_claimed && access.region != Region::Global {
            claim.wrong = Some("it reads no device memory");
        }
        if scalar && (access.size < 4 || !access.address.is_multiple_of(4)) {
            claim.wrong = Some("it reads no whole word");
        }
        if ldu && !access.address.is_multiple_of(access.size) {
            claim.wrong = Some("its address is not aligned to its size");
        }
        if scalar || ldu {
            let key = (at.function, at.inst, at.key, group(&at, Scope::Wave));
            if *self.first.entry(key).or_insert(access.address) != access.address {
                self.different.push(place);
            }
        }
        let now = at.thread.number;
        let is_read_only = claim.load.is(LoadClass::NonCoherent) || ldu;
        for byte in access.address..access.address + access.size {
            let writes = self.writes.get(&byte).map_or(&[][..], Vec::as_slice);
            if is_read_only {
                self.read.insert(byte, place);
                if !writes.is_empty() {
                    claim.wrong = Some("the memory was written before");
                }
            }
            let is_seen =
                |&(thread, stretch): &(u32, u32)| self.races.is_before(thread, stretch, now);
            if scalar && writes.iter().any(is_seen) {
                claim.wrong = Some("a store happens before the load");
            }
        }
    }

    fn store(&mut self, at: Moment<'_>, access: &Access) {
        let thread = at.thread.number;
        let stretch = self.races.stretch(thread);
        for byte in access.address..access.address + access.size {
            let writes = self.writes.entry(byte).or_default();
            if !writes.contains(&(thread, stretch)) {
                writes.push((thread, stretch));
            }
            if let Some(claim) = self.read.get(&byte).and_then(|place| self.claims.get_mut(place)) {
                claim.wrong = Some("the memory is written later");
            }
        }
    }
}

impl Observer for Watch {
    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, at: Moment<'_>, access: &Access) {
        self.is_ordered_otherwise |= access.ordering != Ordering::NotAtomic;
        match access.kind {
            AccessKind::Load => self.load(at, access),
            AccessKind::Store | AccessKind::Modify if access.region == Region::Global => {
                self.store(at, access);
            }
            AccessKind::Store | AccessKind::Modify => {}
        }
        self.races.access(at, access);
    }

    fn fence(&mut self, at: Moment<'_>, ordering: Ordering, reach: phalanx_simt::reach::Reach) {
        self.races.fence(at, ordering, reach);
    }

    fn meet(&mut self, threads: &[u32]) {
        self.races.meet(threads);
    }

    fn arrive(&mut self, thread: u32, phase: Phase) {
        self.races.arrive(thread, phase);
    }

    fn pass(&mut self, thread: u32, phase: Phase) {
        self.races.pass(thread, phase);
    }
}
