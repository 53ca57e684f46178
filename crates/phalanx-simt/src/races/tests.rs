//! Compares the watch with a slow twin, which builds happens-before as a graph over all events, on
//! random sequences of events.

use super::*;

#[derive(Clone, Debug)]
enum Event {
    Access { thread: u32, address: u64, kind: AccessKind, ordering: Ordering, reach: Reach },
    Fence { thread: u32, ordering: Ordering, reach: Reach },
    Meet(Vec<u32>),
}

impl Event {
    fn is_of(&self, of: u32) -> bool {
        match self {
            Event::Access { thread, .. } | Event::Fence { thread, .. } => *thread == of,
            Event::Meet(threads) => threads.contains(&of),
        }
    }

    fn threads(&self) -> Vec<u32> {
        (0..THREADS).filter(|&thread| self.is_of(thread)).collect()
    }

    fn writes_to(&self, to: u64) -> bool {
        let Event::Access { address, kind, .. } = self else { return false };
        *address == to && *kind != AccessKind::Load
    }
}

const THREADS: u32 = 4;

/// Threads 0 and 1 are of one wave, and of a workgroup with 2; 3 is in another one.
const HOMES: [Home; THREADS as usize] =
    [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [2, 1, 0, 0, 0], [3, 2, 1, 0, 0]];

fn includes((a, of_a): (u32, Reach), (b, of_b): (u32, Reach)) -> bool {
    let is_common =
        |reach: Reach| HOMES[a as usize][reach as usize] == HOMES[b as usize][reach as usize];
    is_common(of_a) && is_common(of_b)
}

const EVENTS: usize = 60;

/// For each event, the events that happen before it.
fn happens_before(events: &[Event]) -> Vec<u64> {
    let mut direct = vec![0u64; events.len()];
    for (e, event) in events.iter().enumerate() {
        for (earlier, other) in events[..e].iter().enumerate() {
            if event.threads().iter().any(|&thread| other.is_of(thread)) {
                direct[e] |= 1 << earlier;
            }
        }
        let &Event::Access { thread, address, kind, ordering, reach } = event else { continue };
        if kind == AccessKind::Store || ordering == Ordering::NotAtomic {
            continue;
        }
        // This event, or every later acquire fence of the thread, happens after the event that it
        // reads from.
        let mut acquiring = vec![];
        if acquires(ordering) {
            acquiring.push((e, reach));
        }
        for (later, other) in events.iter().enumerate().skip(e + 1) {
            if let Event::Fence { thread: t, ordering, reach: of_fence } = other
                && *t == thread
                && acquires(*ordering)
            {
                acquiring.push((later, reach.min(*of_fence)));
            }
        }
        let mut end = e;
        while let Some(w) = (0..end).rev().find(|&w| events[w].writes_to(address)) {
            let Event::Access { thread: writer, kind, ordering, reach, .. } = events[w] else {
                break;
            };
            if ordering == Ordering::NotAtomic {
                break;
            }
            let fences = (0..w).filter_map(|f| match events[f] {
                Event::Fence { thread, ordering, reach: of_fence }
                    if thread == writer && releases(ordering) =>
                {
                    Some((f, reach.min(of_fence)))
                }
                _ => None,
            });
            for (origin, released) in fences.chain(releases(ordering).then_some((w, reach))) {
                for &(a, acquired) in &acquiring {
                    if includes((writer, released), (thread, acquired)) {
                        direct[a] |= 1 << origin;
                    }
                }
            }
            if kind != AccessKind::Modify {
                break;
            }
            end = w;
        }
    }
    let mut before = vec![0u64; events.len()];
    for e in 0..events.len() {
        for earlier in (0..e).filter(|&earlier| direct[e] >> earlier & 1 == 1) {
            before[e] |= 1 << earlier | before[earlier];
        }
    }
    before
}

/// Whether an event races with an earlier one.
fn races(events: &[Event], before: &[u64], e: usize) -> bool {
    let &Event::Access { thread, address, kind, ordering, reach } = &events[e] else {
        return false;
    };
    events[..e].iter().enumerate().any(|(f, other)| {
        let &Event::Access { thread: t, address: a, kind: k, ordering: o, reach: r } = other else {
            return false;
        };
        let writes = kind != AccessKind::Load || k != AccessKind::Load;
        let atomic = ordering != Ordering::NotAtomic
            && o != Ordering::NotAtomic
            && includes((thread, reach), (t, r));
        t != thread && a == address && writes && !atomic && before[e] >> f & 1 == 0
    })
}

struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// How far an operation reaches: everywhere, without scopes.
    fn reach(&mut self, has_scopes: bool) -> Reach {
        use Reach::{Device, Thread, Wave, Workgroup};
        match has_scopes {
            true => [Device, Device, Workgroup, Wave, Thread][self.below(5) as usize],
            false => Device,
        }
    }

    fn event(&mut self, dial: u64, has_scopes: bool) -> Event {
        use Ordering::{AcqRel, Acquire, Monotonic, NotAtomic, Release, SeqCst};
        let thread = self.below(THREADS.into()) as u32;
        match self.below(20) {
            0 => Event::Meet((0..THREADS).filter(|_| self.below(4) > 0).collect()),
            1..=3 => {
                let ordering = [Acquire, Release, AcqRel, SeqCst][self.below(4) as usize];
                Event::Fence { thread, ordering, reach: self.reach(has_scopes) }
            }
            _ => {
                let address = self.below(3);
                // The first address is mostly for data, the others for flags.
                let is_atomic = self.below(10) < if address == 0 { 1 } else { dial };
                let (kind, ordering) = match (is_atomic, self.below(3)) {
                    (false, 0) => (AccessKind::Store, NotAtomic),
                    (false, _) => (AccessKind::Load, NotAtomic),
                    (true, 0) => (AccessKind::Load, [Monotonic, Acquire][self.below(2) as usize]),
                    (true, 1) => (AccessKind::Store, [Monotonic, Release][self.below(2) as usize]),
                    (true, _) => {
                        let all = [Monotonic, Acquire, Release, AcqRel, SeqCst];
                        (AccessKind::Modify, all[self.below(5) as usize])
                    }
                };
                let reach = match ordering {
                    NotAtomic => Reach::Device,
                    _ => self.reach(has_scopes),
                };
                Event::Access { thread, address, kind, ordering, reach }
            }
        }
    }
}

#[test]
fn races_are_those_of_the_graph() {
    let (mut racy, mut ordered) = (0, 0);
    for seed in 0..6000 {
        let mut choices = Choices(seed * 77 + 1);
        let dial = 7 + seed % 4;
        let has_scopes = seed % 2 == 1;
        let events: Vec<Event> = (0..EVENTS).map(|_| choices.event(dial, has_scopes)).collect();
        let before = happens_before(&events);
        // If scopes count and all are wide, the result is the same.
        let mut watch = if seed % 4 == 0 { Races::new() } else { Races::with_scopes() };
        for (thread, home) in (0..).zip(HOMES) {
            watch.thread(thread).home = home;
        }
        for (e, event) in events.iter().enumerate() {
            match event {
                Event::Meet(threads) => watch.barrier(threads),
                Event::Fence { thread, ordering, reach } => watch.order(*thread, *ordering, *reach),
                &Event::Access { thread, address, kind, ordering, reach } => {
                    let party = Party {
                        thread,
                        function: e,
                        inst: InstId::from_raw(0.into()),
                        writes: kind != AccessKind::Load,
                        is_atomic: ordering != Ordering::NotAtomic,
                    };
                    let region = Region::Global;
                    let access = Access {
                        region,
                        address: address * 8,
                        size: 2,
                        kind,
                        ordering,
                        reach,
                        changes: true,
                    };
                    let found = watch.record(party, 0, &access);
                    let expected = races(&events, &before, e);
                    assert_eq!(found, expected, "seed {seed}, event {e} of {events:#?}");
                    // What is named as its partner is one.
                    for race in watch.found.iter().filter(|race| race.second.function == e) {
                        assert_eq!(
                            before[e] >> race.first.function & 1,
                            0,
                            "seed {seed}, event {e}"
                        );
                    }
                    racy += usize::from(found);
                    ordered += usize::from(!found);
                }
            }
        }
    }
    assert!(racy > 20_000 && ordered > 20_000, "{racy} {ordered}");
}

#[test]
fn bytes_in_common_and_spaces() {
    let party = |thread, writes| Party {
        thread,
        function: 0,
        inst: InstId::from_raw(thread.into()),
        writes,
        is_atomic: false,
    };
    let access = |address, size, kind| Access {
        region: Region::Shared,
        address,
        size,
        kind,
        ordering: Ordering::NotAtomic,
        reach: Reach::Device,
        changes: true,
    };
    let mut watch = Races::new();
    assert!(!watch.record(party(0, true), 1, &access(8, 4, AccessKind::Store)));
    assert!(!watch.record(party(1, true), 1, &access(12, 4, AccessKind::Store)));
    assert!(!watch.record(party(2, true), 2, &access(8, 8, AccessKind::Store)), "another group");
    assert!(watch.record(party(3, false), 1, &access(10, 4, AccessKind::Load)));
    let found: Vec<(u32, u32, u64, u64)> = watch
        .found()
        .iter()
        .map(|r| (r.first.thread, r.second.thread, r.address, r.count))
        .collect();
    assert_eq!(found, [(0, 3, 10, 2), (1, 3, 12, 2)]);
}
