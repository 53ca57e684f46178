//! Schedules a launch: which thread advances, which groups are complete, and which barriers open.
//!
//! Threads advance in turns until they stand before an operation that involves other threads. The
//! threads of a wave that stand before the same operation in the same converged execution are a
//! *group*. The group is complete, and performs the operation, when no other live thread of the
//! wave can reach it ([`Keys::can_reach`]). The order of converged executions has no cycles, so
//! some group is complete unless threads wait for a barrier.
//!
//! A barrier opens when all threads of the workgroup that have not ended wait at a barrier of the
//! same number, wherever it stands in the code. A barrier with a count opens when waves with that
//! many threads have come to it. Barriers that count arrivals are in `split`. If no thread can
//! advance and no group is complete, threads hang.
//!
//! On a machine that reconverges at post-dominators ([`crate::reconverge`]) groups have other keys,
//! and one path of a wave runs at a time. Barriers still wait for all threads. So a barrier that
//! only a part of a wave reaches hangs: the waiting path keeps the other paths of its wave from
//! running.

use phalanx_graph::Reconvergence;
use phalanx_ir::{BlockId, InstFlags, InstId, Opcode, ValueKind, inst::Ordering};
use phalanx_target::Architecture;
use rand_like::Sequence;
use rustc_hash::FxHashMap;

use crate::{
    collective::{self, Collective, Lane},
    convergence::{Key, Keys},
    fault::{Failure, Fault, FaultKind, Site, Waiting},
    launch::{Geometry, Launch, Order, Report},
    memory::{Memory, Region, Segment, Touched, View},
    observe::{Access, AccessKind, Moment, Observer},
    program::Program,
    reach::Reach,
    reconverge::Paths,
    split::{Extent, Splits},
    thread::{Frame, Group, Step, Thread},
    together::{MaskedLane, Place},
    unknown::Frozen,
    value::Value,
    world::{Ordered, World},
};

mod barriers;
mod work_groups;

mod rand_like {
    //! A pseudorandom sequence of numbers (splitmix64).

    #[derive(Clone, Debug)]
    pub(super) struct Sequence(pub(super) u64);

    impl Sequence {
        pub(super) fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31) % limit.max(1)
        }
    }
}

/// What a thread is doing.
#[derive(Clone, Debug)]
enum State {
    Running,
    /// It stands before a group operation.
    Waiting {
        group: Group,
        key: Key,
        inst: InstId,
    },
    Ended,
}

struct Seat {
    thread: Thread,
    state: State,
    private: Segment,
    /// How many more blocks it may execute, this one included.
    blocks: Option<u32>,
    /// Whether it entered another block, call or state since groups were checked: only that changes
    /// which instances it can reach.
    has_moved: bool,
}

struct Run<'a, 'o> {
    program: &'a Program<'a>,
    keys: Keys,
    /// The paths of waves, if threads reconverge at post-dominators.
    paths: Option<Paths>,
    memory: &'a mut Memory,
    observer: &'o mut dyn Observer,
    wants_operands: bool,
    wants_accesses: bool,
    packets: [u64; 2],
    report: Report,
    fuel: u64,
    frozen: Frozen,
    geometry: Geometry,
    splits: Splits,
    /// The place of each thread when it came to a barrier that counts arrivals: calls, then the
    /// barrier.
    arrived: FxHashMap<u32, Vec<Place>>,
}

#[allow(clippy::too_many_arguments, reason = "called once, by the launch that owns all of it")]
pub(crate) fn run(
    program: &Program<'_>,
    code: usize,
    launch: &Launch,
    geometry: Geometry,
    args: &[Value],
    shared: &Segment,
    packets: [u64; 2],
    memory: &mut Memory,
    observer: &mut dyn Observer,
) -> Result<Report, Failure> {
    let (wants_operands, wants_accesses) = (observer.wants_operands(), observer.wants_accesses());
    let mut run = Run {
        program,
        keys: Keys::default(),
        paths: (launch.reconvergence == Reconvergence::PostDominator).then(Paths::default),
        memory,
        observer,
        wants_operands,
        wants_accesses,
        packets,
        report: Report::default(),
        fuel: launch.fuel,
        frozen: match launch.follow_frozen {
            Some(ways) => Frozen::Followed(ways),
            None => Frozen::Bits(launch.frozen),
        },
        geometry,
        splits: Splits::default(),
        arrived: FxHashMap::default(),
    };
    let mut groups: Vec<(Vec<Seat>, Segment)> = Vec::new();
    for block in 0..geometry.blocks() {
        let mut seats = Vec::new();
        for index in 0..geometry.threads_of(block) {
            let at = geometry.coordinates(block, index);
            let Some(thread) = Thread::start(program, at, code, args.to_vec()) else {
                return Err(Failure::Launch("the kernel has no code".to_owned()));
            };
            let seed = launch.seed ^ u64::from(at.number).wrapping_mul(0x9e37_79b9);
            let mut private = Segment::new(Region::Private, seed);
            if program.follows_undef() {
                private.follow_undef();
            }
            let mut seat = Seat {
                thread,
                state: State::Running,
                private,
                blocks: launch.blocks,
                has_moved: true,
            };
            run.begin(&mut seat);
            seats.push(seat);
        }
        groups.push((seats, shared.clone()));
    }
    let mut random = Sequence(match launch.order {
        Order::Random(seed) => seed,
        _ => 0,
    });
    loop {
        let mut progress = false;
        let mut live = false;
        for (seats, shared) in &mut groups {
            let before = run.report;
            run.turn(seats, shared, launch, &mut random)?;
            run.release(seats, launch.wave as usize)?;
            // Threads with a later turn may have opened it.
            progress |= run.release_splits(seats)? || run.report != before;
            live |= seats.iter().any(|seat| !matches!(seat.state, State::Ended));
        }
        if !live {
            return Ok(run.report);
        }
        if !progress {
            return Err(Failure::Hang(hanging(program, &groups)));
        }
    }
}

impl Run<'_, '_> {
    fn begin(&mut self, seat: &mut Seat) {
        self.enter(&mut seat.thread, None);
        self.tell_block(seat, None);
    }

    /// Records that a thread enters the block in which it stands.
    fn enter(&mut self, thread: &mut Thread, from: Option<BlockId>) {
        let Some(frame) = thread.frames.last_mut() else { return };
        match &mut self.paths {
            Some(paths) => paths.enter(self.program, &mut self.keys, frame, from),
            None => self.keys.enter(self.program, frame),
        }
    }

    /// Whether a thread can still execute an instruction in an instance.
    fn can_reach(&mut self, thread: &Thread, key: Key, inst: InstId) -> bool {
        match &self.paths {
            Some(paths) => paths.can_reach(self.program, &self.keys, thread, (key, inst)),
            None => self.keys.can_reach(self.program, thread, key, inst),
        }
    }

    /// The instance of each wave that may run; none if all may.
    fn running(&self, seats: &[Seat], wave: usize) -> Vec<Option<Key>> {
        let Some(paths) = &self.paths else { return Vec::new() };
        let of = |seats: &[Seat]| {
            let live = seats.iter().filter(|seat| !matches!(seat.state, State::Ended));
            paths.running(self.program, &self.keys, live.map(|seat| &seat.thread))
        };
        seats.chunks(wave).map(of).collect()
    }

    fn tell_block(&mut self, seat: &Seat, from: Option<BlockId>) {
        let Some(frame) = seat.thread.top() else { return };
        let (function, key) = (frame.code, frame.now);
        let at = Moment { thread: &seat.thread.at, function, inst: frame.inst, key };
        self.observer.block(at, frame.block, from);
        let body = &self.program.functions[function].function.body;
        for phi in body.phis(frame.block) {
            let at = Moment { inst: phi, ..at };
            self.observer.value(at, frame.result(phi));
        }
    }

    /// Every running thread of a workgroup advances.
    fn turn(
        &mut self,
        seats: &mut [Seat],
        shared: &mut Segment,
        &Launch { order, wave, .. }: &Launch,
        random: &mut Sequence,
    ) -> Result<(), Failure> {
        let running = self.running(seats, wave as usize);
        let may_run = |index: usize, seat: &Seat| {
            let key = running.get(index / wave as usize).copied().flatten();
            matches!(seat.state, State::Running)
                && (running.is_empty() || seat.thread.top().map(|top| top.now) == key)
        };
        for index in 0..seats.len() {
            let (index, steps) = match order {
                Order::Lockstep => (index, 1),
                Order::Turns(steps) => (index, steps.max(1)),
                Order::Random(_) => {
                    (random.below(seats.len() as u64) as usize, 1 + random.below(40) as u32)
                }
            };
            let seat = &mut seats[index];
            for _ in 0..steps {
                if !may_run(index, seat) {
                    break;
                }
                self.advance(seat, shared)?;
            }
        }
        // A random turn may miss the only thread that runs.
        if matches!(order, Order::Random(_))
            && let Some(index) = (0..seats.len()).find(|&index| may_run(index, &seats[index]))
        {
            self.advance(&mut seats[index], shared)?;
        }
        Ok(())
    }

    fn advance(&mut self, seat: &mut Seat, shared: &mut Segment) -> Result<(), Failure> {
        self.step(seat, shared)?;
        if matches!(seat.state, State::Ended) {
            for extent in [Extent::Workgroup, Extent::Cluster] {
                let (name, threads) = self.barrier_of(extent, &seat.thread);
                let opened = self.splits.end(name, seat.thread.at.number, threads);
                self.tell_opened(opened);
            }
        }
        Ok(())
    }

    fn step(&mut self, seat: &mut Seat, shared: &mut Segment) -> Result<(), Failure> {
        if self.report.steps >= self.fuel {
            return Err(Failure::Fuel(self.fuel));
        }
        self.report.steps += 1;
        let Some(frame) = seat.thread.top() else {
            seat.state = State::Ended;
            return Ok(());
        };
        let (function, inst, key) = (frame.code, frame.inst, frame.now);
        if self.wants_operands {
            self.tell_operands(seat);
        }
        let mut world = World {
            program: self.program,
            view: View {
                global: &mut self.memory.global,
                shared,
                private: &mut seat.private,
                apertures: self.program.apertures,
                touched: self.wants_accesses.then(Vec::new),
            },
            fence: None,
            atomic: None,
            packets: self.packets,
            clock: self.report.steps,
            frozen: self.frozen,
            guesses: 0,
        };
        let site = seat.thread.site(self.program);
        let thread = seat.thread.at.number;
        let fault = |kind| Failure::Fault(Fault { kind, thread, site });
        let step = seat.thread.step(&mut world).map_err(fault)?;
        let (touched, fence) = (world.view.touched.take(), world.fence);
        let atomic = world.atomic;
        self.report.guesses += world.guesses;
        if let Some(touched) = touched {
            let at = Moment { thread: &seat.thread.at, function, inst, key };
            self.tell_accesses(at, &touched, (fence, atomic));
        }
        seat.has_moved |= step != Step::Done;
        match step {
            Step::Done => self.tell_value(seat, function, inst, key),
            Step::Branch { from } => self.branch(seat, function, inst, key, from),
            Step::Call => {
                let token = self.call_token(&seat.thread).map_err(fault)?;
                let token = token.and_then(|token| self.keys.of_token(&token));
                let frames = &mut seat.thread.frames;
                match &mut self.paths {
                    Some(paths) => paths.enter_call(self.program, &mut self.keys, frames),
                    None => self.keys.enter_call(self.program, frames, token),
                }
                self.tell_block(seat, None);
            }
            Step::Return { call, from } => {
                if let Some(frame) = seat.thread.top() {
                    let (function, key) = (frame.code, frame.now);
                    self.tell_value(seat, function, call, key);
                    if let Some(from) = from {
                        self.branch(seat, function, call, key, from);
                    }
                }
            }
            Step::Exit => seat.state = State::Ended,
            Step::Group(Group::Token(token)) => {
                let given = self.control_token(&seat.thread).map_err(fault)?;
                if let Some(frame) = seat.thread.frames.last_mut() {
                    let value = self.keys.token(frame, token, given.as_ref());
                    seat.thread.finish(self.program, value);
                }
            }
            Step::Group(group) => {
                let token = self.control_token(&seat.thread).map_err(fault)?;
                // A machine with a stack of masks ignores tokens.
                let token = token.filter(|_| self.paths.is_none());
                let key = token.and_then(|token| self.keys.of_token(&token)).unwrap_or(key);
                seat.state = State::Waiting { group, key, inst };
                if let Group::Split(split) = group {
                    self.split(seat, split)?;
                }
            }
        }
        Ok(())
    }

    fn tell_accesses(
        &mut self,
        at: Moment<'_>,
        touched: &[Touched],
        (fence, atomic): (Option<Ordered>, Option<Ordered>),
    ) {
        if let Some((ordering, reach)) = fence {
            self.observer.fence(at, ordering, reach);
        }
        let data = self.program.functions[at.function].function.body.inst(at.inst);
        let (ordering, kind) = match (data.opcode, touched) {
            (Opcode::AtomicRmw, _) | (Opcode::CmpXchg, [_, _]) => {
                (data.mem().ordering(), Some(AccessKind::Modify))
            }
            (Opcode::CmpXchg, _) => (data.mem().failure_ordering(), None),
            (Opcode::Load | Opcode::Store, _) => (data.mem().ordering(), None),
            _ => {
                let ordering = atomic.map_or(Ordering::NotAtomic, |(ordering, _)| ordering);
                let is_update = atomic.is_some() && touched.len() == 2;
                (ordering, is_update.then_some(AccessKind::Modify))
            }
        };
        let reach = match (ordering, atomic) {
            (Ordering::NotAtomic, _) => Reach::Device,
            (_, Some((_, reach))) => reach,
            _ => self.program.reach(data.mem().scope()),
        };
        // A read-modify-write is reported as one access: both parts touch the same bytes.
        for touched in if kind.is_some() { &touched[..touched.len().min(1)] } else { touched } {
            let &Touched { region, address, size, is_store, changes } = touched;
            let kind = kind.unwrap_or(if is_store { AccessKind::Store } else { AccessKind::Load });
            // PTX: a volatile access is a relaxed one with system scope.
            let is_relaxed = self.program.architecture == Architecture::Nvptx
                && matches!(data.opcode, Opcode::Load | Opcode::Store)
                && data.flags.contains(InstFlags::VOLATILE)
                && size.is_power_of_two()
                && size <= 8;
            let ordering = match ordering {
                Ordering::NotAtomic if is_relaxed => Ordering::Monotonic,
                ordering => ordering,
            };
            let access = Access { region, address, size, kind, ordering, reach, changes };
            self.observer.access(at, &access);
        }
    }

    fn branch(&mut self, seat: &mut Seat, function: usize, inst: InstId, key: Key, from: BlockId) {
        let Some(frame) = seat.thread.frames.last_mut() else { return };
        if let Some(blocks) = &mut seat.blocks {
            *blocks = blocks.saturating_sub(1);
            if *blocks == 0 {
                seat.state = State::Ended;
                return;
            }
        }
        let at = Moment { thread: &seat.thread.at, function, inst, key };
        self.observer.branch(at, frame.block);
        self.enter(&mut seat.thread, Some(from));
        self.tell_block(seat, Some(from));
    }

    /// The token in the `convergencectrl` bundle of the call that a thread stands before.
    fn control_token(&self, thread: &Thread) -> Result<Option<Value>, FaultKind> {
        self.token_in(thread.top())
    }

    /// The same for the call that began the innermost frame.
    fn call_token(&self, thread: &Thread) -> Result<Option<Value>, FaultKind> {
        self.token_in(thread.frames.iter().rev().nth(1))
    }

    fn token_in(&self, frame: Option<&Frame>) -> Result<Option<Value>, FaultKind> {
        let Some(frame) = frame else { return Ok(None) };
        let code = &self.program.functions[frame.code];
        if !code.is_controlled {
            return Ok(None);
        }
        let body = &code.function.body;
        let context = self.program.context();
        for (tag, operands) in body.bundles(frame.inst) {
            if context.bytes(tag) == b"convergencectrl"
                && let [token] = operands
            {
                return frame.operand(self.program, *token).map(Some);
            }
        }
        Ok(None)
    }

    fn tell_value(&mut self, seat: &Seat, function: usize, inst: InstId, key: Key) {
        let Some(frame) = seat.thread.top().filter(|frame| frame.code == function) else { return };
        let at = Moment { thread: &seat.thread.at, function, inst, key };
        self.observer.value(at, frame.result(inst));
    }

    fn tell_meeting(&mut self, seats: &[Seat], members: &[usize]) {
        let threads: Vec<u32> = members.iter().map(|&i| seats[i].thread.at.number).collect();
        self.observer.meet(&threads);
    }

    /// Reports the masks of lanes, and the live lanes of their wave that are absent.
    fn tell_masks(
        &mut self,
        seats: &[Seat],
        members: &[usize],
        (lanes, position): (&[Lane], usize),
    ) {
        let Some(frame) = seats[members[0]].thread.top() else { return };
        let place = (frame.code, frame.inst);
        let masked = |(lane, &member): (&Lane, &usize)| {
            let mask = lane.args.get(position).and_then(Value::bits)?;
            Some(MaskedLane { thread: seats[member].thread.at.number, lane: lane.number, mask })
        };
        let masked: Vec<MaskedLane> = lanes.iter().zip(members).filter_map(masked).collect();
        let others = seats.iter().enumerate().filter(|(index, seat)| {
            !members.contains(index) && !matches!(seat.state, State::Ended)
        });
        let absent: Vec<(u32, u32)> =
            others.map(|(_, seat)| (seat.thread.at.number, seat.thread.at.lane)).collect();
        self.observer.masked(place, &masked, &absent);
    }

    fn tell_operands(&mut self, seat: &Seat) {
        let Some(frame) = seat.thread.top() else { return };
        let body = &self.program.functions[frame.code].function.body;
        let (function, inst, key) = (frame.code, frame.inst, frame.now);
        let at = Moment { thread: &seat.thread.at, function, inst, key };
        for (position, operand) in body.operands(inst).iter().enumerate() {
            if let ValueKind::Inst(of) = operand.kind() {
                self.observer.operand(at, position, of, frame.result(of));
            }
        }
    }

    /// Lets complete groups perform their operations, and satisfied barriers open.
    fn release(&mut self, seats: &mut [Seat], wave: usize) -> Result<(), Failure> {
        for seats in seats.chunks_mut(wave) {
            self.release_groups(seats)?;
        }
        self.release_barriers(seats)?;
        self.release_work_group(seats)
    }

    fn release_groups(&mut self, seats: &mut [Seat]) -> Result<(), Failure> {
        if !seats.iter().any(|seat| seat.has_moved) {
            return Ok(());
        }
        seats.iter_mut().for_each(|seat| seat.has_moved = false);
        // Sorted by execution and instruction, so that results do not depend on hashing.
        let mut groups: Vec<((Key, InstId), Vec<usize>)> = Vec::new();
        for (index, seat) in seats.iter().enumerate() {
            let State::Waiting { group: Group::Collective(_), key, inst } = seat.state else {
                continue;
            };
            match groups.iter_mut().find(|(of, _)| *of == (key, inst)) {
                Some((_, members)) => members.push(index),
                None => groups.push(((key, inst), vec![index])),
            }
        }
        for ((key, inst), members) in groups {
            let mut others = seats.iter().enumerate().filter(|(index, seat)| {
                !members.contains(index) && !matches!(seat.state, State::Ended)
            });
            if others.any(|(_, seat)| self.can_reach(&seat.thread, key, inst)) {
                continue;
            }
            self.perform(seats, &members)?;
        }
        Ok(())
    }

    fn perform(&mut self, seats: &mut [Seat], members: &[usize]) -> Result<(), Failure> {
        let first = &seats[members[0]];
        let State::Waiting { group: Group::Collective(kind), .. } = first.state else {
            return Ok(());
        };
        let (site, thread) = (first.thread.site(self.program), first.thread.at.number);
        let width = first.thread.at.wave_size;
        let fault = |kind| Failure::Fault(Fault { kind, thread, site });
        let mut lanes = Vec::with_capacity(members.len());
        let mut types = Vec::new();
        for &member in members {
            let thread = &seats[member].thread;
            let (args, arg_types) = thread.call_arguments(self.program).map_err(fault)?;
            lanes.push(Lane { number: thread.at.lane, args });
            types = arg_types;
        }
        let results = match kind {
            Collective::Driver(number) => {
                let at = |&member: &usize| seats[member].thread.at;
                let threads: Vec<_> = members.iter().map(at).collect();
                self.program.call_driver_together(number, &threads, &lanes)
            }
            _ => collective::perform(kind, &self.program.shapes, &types, width, &lanes),
        };
        let results = results.map_err(fault)?;
        self.report.groups += 1;
        if self.wants_accesses {
            if let Some(position) = kind.mask() {
                self.tell_masks(seats, members, (&lanes, position));
            }
            if matches!(kind, Collective::Meet | Collective::MeetMasked) {
                self.tell_meeting(seats, members);
            }
        }
        for (&member, result) in members.iter().zip(results) {
            self.resume(&mut seats[member], result);
        }
        Ok(())
    }

    /// Lets a waiting thread continue with the result.
    fn resume(&mut self, seat: &mut Seat, result: Value) {
        // For an operation with a token, the group is the converged execution.
        let State::Waiting { key, .. } = seat.state else { return };
        seat.state = State::Running;
        seat.has_moved = true;
        let Some(frame) = seat.thread.top() else { return };
        let (function, inst) = (frame.code, frame.inst);
        seat.thread.finish(self.program, result);
        self.tell_value(seat, function, inst, key);
    }
}

/// The waiting threads by place, in order.
fn hanging(program: &Program<'_>, groups: &[(Vec<Seat>, Segment)]) -> Vec<Waiting> {
    let mut out: Vec<(Site, Vec<u32>)> = Vec::new();
    for seat in groups.iter().flat_map(|(seats, _)| seats) {
        if matches!(seat.state, State::Ended) {
            continue;
        }
        let Some(site) = seat.thread.site(program) else { continue };
        match out.iter_mut().find(|(at, _)| *at == site) {
            Some((_, threads)) => threads.push(seat.thread.at.number),
            None => out.push((site, vec![seat.thread.at.number])),
        }
    }
    out.into_iter().map(|(site, threads)| Waiting { site, threads }).collect()
}
