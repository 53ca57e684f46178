//! Split barriers, which count arrivals: arriving and waiting are two operations.
//!
//! AMD's `s_barrier_signal` and `s_barrier_wait` with the number of the workgroup's barrier
//! (`s_barrier` does both), and PTX's `barrier.cluster.arrive` and `.wait`.
//!
//! **Meaning.** A barrier goes through *phases*. An arrival is counted in the current phase. A
//! phase is over when the count equals the number of threads, not counting threads that ended
//! without arriving. Then the count is reset and the next phase begins. A waiting thread has a
//! *ticket*: the phase of its last arrival. If it has not arrived since its last wait, the ticket
//! is the phase in which it begins to wait. It continues when that phase is over.
//!
//! So if each thread alternates between arriving and waiting, no thread continues before all have
//! arrived. If a thread does not alternate, its extra arrivals are counted in place of those of
//! other threads, as in hardware. PTX calls that undefined. A phase that ends *early*, before all
//! threads have arrived, is reported. A thread that waits without having arrived waits until enough
//! others arrive without it.
//!
//! The barrier counts threads, not waves. As with other barriers here, arriving threads do not
//! stand in for threads of their wave that took another path.
//!
//! Source: AMD, *RDNA 4 Instruction Set Architecture*, `S_BARRIER_SIGNAL`, `S_BARRIER_WAIT`; *PTX
//! ISA*, `barrier.cluster`.
//!
//! An arrival is O(1), or O(threads) where some have ended.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::observe::Phase;

/// A half of the barrier, or both.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Half {
    /// Arrives. Unless it is relaxed, earlier actions of the thread happen before later actions of
    /// threads that wait.
    Arrive { relaxed: bool },
    /// Arrives, and returns whether the wave is the first of the phase.
    ArriveFirst,
    /// Waits.
    Wait,
    /// Arrives and waits.
    Both,
}

/// The threads of the barrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// The workgroup: a call without arguments, or with -1 as the first.
    Workgroup,
    /// The cluster.
    Cluster,
}

/// A split barrier of the program's text.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    pub(crate) extent: Extent,
    pub(crate) half: Half,
    /// Whether the first argument, if there is one, is the number of the barrier.
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
    /// Threads that arrived by [`Half::Both`].
    whole: FxHashSet<u32>,
    /// The wave that came first: workgroup and number.
    first: Option<(u32, u32)>,
    /// Threads that have ended.
    ended: FxHashSet<u32>,
}

/// The condition for a waiting thread to continue.
#[derive(Copy, Clone, Debug)]
struct Ticket {
    phase: u64,
    /// Whether the phase was already reported by [`meet`](crate::observe::Observer::meet).
    has_met: bool,
}

/// A phase is over.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    /// Threads that had neither arrived nor ended.
    pub(crate) missing: u32,
    /// The waiting threads, if all waited; otherwise empty.
    pub(crate) meeting: Vec<u32>,
    /// The waiting threads, if some did not wait.
    pub(crate) waited: Vec<u32>,
    /// The phase.
    pub(crate) phase: Phase,
}

/// An arrival.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Whether no other wave arrived earlier.
    pub(crate) is_first: bool,
    /// Its phase.
    pub(crate) phase: Phase,
    /// Set if it completes the phase.
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

    /// Records that a thread of the barrier's workgroup or cluster has ended.
    pub(crate) fn end(&mut self, name: Name, number: u32, threads: u32) -> Option<Opened> {
        self.barriers.entry(name).or_default().ended.insert(number);
        self.open(name, threads)
    }

    /// Begins the next phase if all threads have arrived.
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

    /// Records that a thread begins to wait.
    pub(crate) fn wait(&mut self, name: Name, number: u32) {
        let phase = self.barriers.entry(name).or_default().phase;
        self.tickets.entry((name, number)).or_insert(Ticket { phase, has_met: false });
    }

    /// Whether a waiting thread continues; and the phase that it synchronises with, unless that was
    /// reported as a meeting.
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
