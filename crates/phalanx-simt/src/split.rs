//! Barriers that count arrivals, so that arriving and waiting are two operations.
//!
//! AMD's `s_barrier_signal` and `s_barrier_wait` with the number of the workgroup's barrier, of
//! which `s_barrier` is both, and PTX's `barrier.cluster.arrive` and `.wait`.
//!
//! **Meaning.** A barrier goes through *phases*. An arrival is counted in the phase that it comes
//! in. When as many are counted as there are threads, those apart that have ended without arriving,
//! the phase is over, the count is zero, and the next one begins. Who waits has a *ticket*: the
//! phase of its last arrival, or if it has not arrived since it waited last, the phase in which it
//! begins to wait. It goes on when that phase is over.
//!
//! So if each thread alternates between arriving and waiting, no thread goes on before all have
//! arrived. If a thread does not alternate, its extra arrivals are counted in place of those of
//! other threads, as in hardware. PTX calls that undefined. A phase that ends *early*, before all
//! threads have arrived, is reported. Who waits without having arrived waits for others to arrive
//! without it.
//!
//! Threads are counted, not waves: like other barriers here, one is not passed for those of a wave
//! that have gone elsewhere.
//!
//! Source: AMD, *RDNA 4 Instruction Set Architecture*, `S_BARRIER_SIGNAL`, `S_BARRIER_WAIT`; *PTX
//! ISA*, `barrier.cluster`.
//!
//! An arrival is O(1), or O(threads) where some have ended.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::observe::Phase;

/// What an operation does.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Half {
    /// Arrives. Unless it is relaxed, what the thread did before comes before what others do who
    /// wait.
    Arrive { relaxed: bool },
    /// Arrives, and says whether the wave is the first of the phase.
    ArriveFirst,
    /// Waits.
    Wait,
    /// Arrives and waits.
    Both,
}

/// Whose barrier it is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// The workgroup's, of a call without arguments or of one whose first is -1.
    Workgroup,
    /// The cluster's.
    Cluster,
}

/// A split barrier of the program's text.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    pub(crate) extent: Extent,
    pub(crate) half: Half,
    /// Whether the first argument, if there is one, says which barrier it is.
    pub(crate) has_number: bool,
}

/// A barrier: whether it is a cluster's, and the number of the workgroup or cluster.
pub(crate) type Name = (bool, u32);

/// One barrier.
#[derive(Debug, Default)]
struct Barrier {
    /// The number of the phase.
    phase: u64,
    count: u32,
    arrived: FxHashSet<u32>,
    /// Who arrived by [`Half::Both`].
    whole: FxHashSet<u32>,
    /// The wave that came first: workgroup and number.
    first: Option<(u32, u32)>,
    /// Who has ended.
    ended: FxHashSet<u32>,
}

/// Why a thread may go on.
#[derive(Copy, Clone, Debug)]
struct Ticket {
    phase: u64,
    /// Whether the others of the phase have been told as those who meet.
    has_met: bool,
}

/// A phase is over.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    /// Threads that had not come, and have not ended.
    pub(crate) missing: u32,
    /// Those who waited, if all did; else nobody.
    pub(crate) meeting: Vec<u32>,
    /// Those of them who waited, if others did not.
    pub(crate) waited: Vec<u32>,
    /// Which phase.
    pub(crate) phase: Phase,
}

/// An arrival.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Whether no other wave came before.
    pub(crate) is_first: bool,
    /// In which phase.
    pub(crate) phase: Phase,
    /// Whether the phase is over.
    pub(crate) opened: Option<Opened>,
}

/// All barriers of a launch.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    barriers: FxHashMap<Name, Barrier>,
    tickets: FxHashMap<(Name, u32), Ticket>,
}

impl Splits {
    /// Thread `number` of a wave arrives at a barrier of so many threads.
    pub(crate) fn arrive(
        &mut self,
        name: Name,
        number: u32,
        wave: (u32, u32),
        threads: u32,
        is_whole: bool,
    ) -> Arrival {
        let barrier = self.barriers.entry(name).or_default();
        let phase = barrier.phase;
        barrier.count += 1;
        barrier.arrived.insert(number);
        if is_whole {
            barrier.whole.insert(number);
        }
        let is_first = *barrier.first.get_or_insert(wave) == wave;
        self.tickets.insert((name, number), Ticket { phase, has_met: false });
        let opened = self.open(name, threads);
        Arrival { is_first, phase: told(name, phase), opened }
    }

    /// A thread has ended, of the workgroup or cluster that this is the barrier of.
    pub(crate) fn end(&mut self, name: Name, number: u32, threads: u32) -> Option<Opened> {
        self.barriers.entry(name).or_default().ended.insert(number);
        self.open(name, threads)
    }

    /// Begins the next phase if all have come.
    fn open(&mut self, name: Name, threads: u32) -> Option<Opened> {
        let barrier = self.barriers.get_mut(&name)?;
        let ended = barrier.ended.len() as u32;
        if barrier.count == 0 || barrier.count + ended < threads {
            return None;
        }
        let absent = barrier.ended.difference(&barrier.arrived).count() as u32;
        if barrier.count + absent < threads {
            return None;
        }
        let phase = told(name, barrier.phase);
        let missing = threads.saturating_sub(absent + barrier.arrived.len() as u32);
        let mut waited: Vec<u32> = barrier.whole.drain().collect();
        waited.sort_unstable();
        let is_meeting = waited.len() == barrier.count as usize;
        barrier.phase += 1;
        (barrier.count, barrier.first) = (0, None);
        barrier.arrived.clear();
        for number in &waited {
            if let Some(ticket) = self.tickets.get_mut(&(name, *number)) {
                ticket.has_met = is_meeting;
            }
        }
        let (meeting, waited) =
            if is_meeting { (waited, Vec::new()) } else { (Vec::new(), waited) };
        Some(Opened { missing, meeting, waited, phase })
    }

    /// A thread begins to wait.
    pub(crate) fn wait(&mut self, name: Name, number: u32) {
        let phase = self.barriers.entry(name).or_default().phase;
        self.tickets.entry((name, number)).or_insert(Ticket { phase, has_met: false });
    }

    /// Whether a thread that waits goes on; and if the others have not been told as those who meet,
    /// whom it goes on after.
    pub(crate) fn pass(&mut self, name: Name, number: u32) -> Option<Option<Phase>> {
        let ticket = *self.tickets.get(&(name, number))?;
        let barrier = self.barriers.get(&name)?;
        if ticket.phase >= barrier.phase {
            return None;
        }
        self.tickets.remove(&(name, number));
        Some((!ticket.has_met).then(|| told(name, ticket.phase)))
    }
}

fn told((is_cluster, instance): Name, number: u64) -> Phase {
    Phase { is_cluster, instance, number }
}
