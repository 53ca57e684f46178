//! The threads of a workgroup, one by one.
//!
//! To see how a function of thread indices varies, it is evaluated for all threads: it is uniform
//! in waves if it is equal in each wave of the workgroup. That is exact and needs no theory of
//! carries and borrows. It costs at most one step per thread of a workgroup; most functions that
//! vary do so in the first two lanes.
//!
//! **Which threads.** If all extents are known: those of one workgroup. If the last extent is only
//! bounded: those of the largest workgroup, since a smaller one has the first of its waves, the
//! last one perhaps cut short. If rows are whole waves: one row, which is enough for functions of
//! x. Otherwise the function counts as varying.
//!
//! Threads are numbered `x + dx * (y + dy * z)` and cut into waves of consecutive numbers.

use phalanx_target::{Extent, LaunchFacts, SourceSet, target::Architecture};

/// The largest number of threads that are enumerated.
const THREADS: u64 = 2048;

/// The largest extent of a workgroup, on devices that have a bound.
const HARDWARE: u32 = 1024;

/// Known facts about the threads of a workgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The largest index by dimension, and the largest lane.
    last: [u64; 4],
    /// The exact extent by dimension, if known.
    exact: [Option<u32>; 3],
    wave: Option<u32>,
    /// The extents to enumerate for any function.
    all: Option<[u32; 3]>,
    /// The extent of rows, if they are whole waves.
    row: Option<u32>,
}

/// A thread: x, y, z, lane.
pub(crate) type Thread = [u32; 4];

/// A class of waves with the same differences between the indices of their threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waves {
    /// For each lane, the difference of its indices from those of the first lane.
    pub(crate) steps: Vec<[i32; 4]>,
    /// The thread of the first lane of each wave.
    pub(crate) firsts: Vec<Thread>,
}

impl Waves {
    /// The threads of the wave whose first thread is `first`.
    pub(crate) fn threads(&self, first: Thread) -> impl Iterator<Item = Thread> {
        self.steps
            .iter()
            .map(move |step| std::array::from_fn(|i| first[i].wrapping_add_signed(step[i])))
    }
}

/// How a function of the thread varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variation {
    /// One value in all threads of all workgroups.
    Constant(u64),
    /// One value in each wave, equal in waves of the same number in all workgroups.
    Wave,
    /// One value in each quad, equal in quads of the same number in waves of the same number.
    Quad,
    /// Any variation.
    Any,
}

/// The four sources that a function of the thread can have, in the order of [`Thread`].
pub(crate) const SOURCES: [SourceSet; 4] =
    [SourceSet::X, SourceSet::Y, SourceSet::Z, SourceSet::LANE];

impl Geometry {
    /// The geometry that follows from launch facts.
    #[must_use]
    pub fn new(launch: &LaunchFacts, architecture: Architecture) -> Geometry {
        let limit = match architecture {
            Architecture::Nvptx | Architecture::Amdgcn => HARDWARE,
            _ => u32::MAX,
        };
        let exact = [0, 1, 2].map(|dim: usize| match launch.workgroup_size[dim] {
            Extent::Exactly(n) if n > 0 && launch.uniform_work_group_size => Some(n),
            _ => None,
        });
        let bound = [0, 1, 2].map(|dim: usize| match exact[dim] {
            Some(n) => n,
            None => {
                let others = (0..3).filter(|&other| other != dim).filter_map(|other| exact[other]);
                let others = others.fold(1, u32::saturating_mul);
                launch.max_extent(dim).min(limit / others).max(1)
            }
        });
        let wave = launch.linear_wave_width();
        let known = exact.iter().take_while(|extent| extent.is_some()).count();
        let is_prefix = bound.iter().skip(known + 1).all(|&extent| extent == 1);
        let threads = bound.iter().fold(1u64, |all, &n| all.saturating_mul(n.into()));
        let fits = bound.iter().all(|&n| u64::from(n) <= THREADS) && threads <= THREADS;
        let row = exact[0]
            .zip(wave)
            .filter(|&(n, width)| n.is_multiple_of(width) && u64::from(n) <= THREADS);
        let lanes = wave.unwrap_or(HARDWARE).max(1);
        Geometry {
            last: [bound[0], bound[1], bound[2], lanes].map(|n| u64::from(n) - 1),
            exact,
            wave,
            all: (is_prefix && fits).then_some(bound),
            row: row.map(|(n, _)| n),
        }
    }

    /// The largest index along x, y, z, or of a lane.
    pub(crate) fn last(&self, dim: usize) -> u64 {
        self.last[dim]
    }

    /// The extent along a dimension, if it is the same in all workgroups.
    pub(crate) fn exact(&self, dim: usize) -> Option<u32> {
        self.exact[dim]
    }

    /// Threads in a wave.
    pub(crate) fn wave(&self) -> Option<u32> {
        self.wave
    }

    /// Extents whose threads represent all workgroups, for functions of these sources.
    fn extents(&self, sources: SourceSet) -> Option<[u32; 3]> {
        if sources.intersects(SourceSet::LANE) && self.wave.is_none() {
            return None;
        }
        if self.all.is_some() {
            return self.all;
        }
        let of_row = SourceSet::X | SourceSet::LANE;
        match (self.row, self.wave) {
            (Some(row), _) if of_row.contains(sources) => Some([row, 1, 1]),
            (_, Some(width)) if sources == SourceSet::LANE => Some([width, 1, 1]),
            _ => None,
        }
    }

    /// The waves that represent all workgroups, for functions of these sources, grouped into
    /// classes. `None` if they are not known.
    pub(crate) fn waves(&self, sources: SourceSet) -> Option<Vec<Waves>> {
        let extents = self.extents(sources)?;
        let width = self.wave? as usize;
        let mut threads = Threads::new(extents, self.wave);
        let mut found: Vec<Waves> = Vec::new();
        let mut steps: Vec<[i32; 4]> = Vec::with_capacity(width);
        while let Some(first) = threads.next() {
            let step = |thread: Thread| std::array::from_fn(|i| thread[i] as i32 - first[i] as i32);
            steps.clear();
            steps.push([0; 4]);
            steps.extend(threads.by_ref().take(width - 1).map(step));
            match found.iter_mut().find(|waves| waves.steps == steps) {
                Some(waves) => waves.firsts.push(first),
                None => found.push(Waves { steps: steps.clone(), firsts: vec![first] }),
            }
        }
        Some(found)
    }

    /// How a function of these sources varies. `value` gives `None` for a thread in which the
    /// function has no value.
    pub(crate) fn variation(
        &self,
        sources: SourceSet,
        mut value: impl FnMut(Thread) -> Option<u64>,
    ) -> Variation {
        if sources.is_empty() {
            return value([0; 4]).map_or(Variation::Any, Variation::Constant);
        }
        let Some(extents) = self.extents(sources) else { return Variation::Any };
        let width = self.wave.unwrap_or(u32::MAX);
        let (mut first, mut of_wave, mut of_quad) = (None, 0, 0);
        let (mut is_constant, mut is_wave, mut is_quad) =
            (true, self.wave.is_some(), self.wave.is_some());
        for (number, thread) in Threads::new(extents, self.wave).enumerate() {
            let Some(found) = value(thread) else { return Variation::Any };
            let lane = number as u32 % width;
            if lane == 0 {
                of_wave = found;
            }
            if lane.is_multiple_of(4) {
                of_quad = found;
            }
            is_constant &= *first.get_or_insert(found) == found;
            is_wave &= of_wave == found;
            is_quad &= of_quad == found;
            if !is_constant && !is_wave && !is_quad {
                return Variation::Any;
            }
        }
        match first {
            Some(found) if is_constant => Variation::Constant(found),
            Some(_) if is_wave => Variation::Wave,
            Some(_) if is_quad => Variation::Quad,
            _ => Variation::Any,
        }
    }
}

/// Threads of a workgroup in order.
struct Threads {
    next: Thread,
    extents: [u32; 3],
    wave: u32,
}

impl Threads {
    fn new(extents: [u32; 3], wave: Option<u32>) -> Self {
        Threads { next: [0; 4], extents, wave: wave.unwrap_or(u32::MAX) }
    }
}

impl Iterator for Threads {
    type Item = Thread;

    fn next(&mut self) -> Option<Thread> {
        let thread = self.next;
        if thread[2] >= self.extents[2] {
            return None;
        }
        let [x, y, z, lane] = &mut self.next;
        *lane = (*lane + 1) % self.wave;
        *x += 1;
        if *x == self.extents[0] {
            *x = 0;
            *y += 1;
            if *y == self.extents[1] {
                *y = 0;
                *z += 1;
            }
        }
        Some(thread)
    }
}
