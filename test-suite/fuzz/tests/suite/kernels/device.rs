//! A device as a host uses it: buffers, launches, and the contents of the buffers afterwards.
//!
//! Inputs are constant: a kernel that writes to one is stopped. A device can have a [`Defect`],
//! which every check has to detect.

use std::{collections::BTreeSet, fmt::Debug, marker::PhantomData};

use phalanx_fuzz::oracle::Claims;
use phalanx_ir::InstId;
use phalanx_simt::{
    Arg, Launch, Memory, Observer, Program, Races, Silent,
    launch::Order,
    memory::Region,
    races::{Party, Race},
    run,
};

/// The result of a check: why the results are wrong.
pub(crate) type Outcome = Result<(), String>;

/// Something that buffers consist of.
pub(crate) trait Plain: Copy + PartialEq + Debug {
    const SIZE: usize;
    fn bytes(self) -> Vec<u8>;
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($ty:ty)*) => {$(
        impl Plain for $ty {
            const SIZE: usize = size_of::<$ty>();
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn of(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("so many bytes"))
            }
        }
    )*};
}
plain!(u8 i16 u16 i32 u32 i64 u64 f32 f64);

/// Elements in global memory.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    pub(crate) address: u64,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

/// A defect of the device, which checks have to detect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defect {
    /// Launches do nothing.
    Idle,
    /// The output buffer with this number has a wrong bit whenever it is read.
    WrongBit(usize),
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given {
    Bits(u128),
    /// So many bytes of workgroup memory.
    Shared(u64),
}

impl<T> From<Buffer<T>> for Given {
    fn from(buffer: Buffer<T>) -> Given {
        Given::Bits(buffer.address.into())
    }
}

impl From<i32> for Given {
    fn from(value: i32) -> Given {
        Given::Bits((value as u32).into())
    }
}

impl From<u32> for Given {
    fn from(value: u32) -> Given {
        Given::Bits(value.into())
    }
}

impl From<u64> for Given {
    fn from(value: u64) -> Given {
        Given::Bits(value.into())
    }
}

impl From<f32> for Given {
    fn from(value: f32) -> Given {
        Given::Bits(value.to_bits().into())
    }
}

impl From<f64> for Given {
    fn from(value: f64) -> Given {
        Given::Bits(value.to_bits().into())
    }
}

/// Arguments of any kinds.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { &[$($crate::kernels::device::Given::from($arg)),*] };
}
pub(crate) use args;

/// Executes kernels of one compiled file.
pub(crate) struct Device<'p> {
    program: &'p Program<'p>,
    memory: Memory,
    wave: u32,
    order: Order,
    defect: Option<Defect>,
    /// Addresses of buffers that kernels write to.
    outputs: Vec<u64>,
    launched: BTreeSet<String>,
    /// Kernels in which threads raced, if that is watched.
    racy: Option<BTreeSet<String>>,
    /// Pairs of accesses of workgroup memory that raced, with their kernels.
    shared_races: BTreeSet<(String, [InstId; 2])>,
    /// Kernels, and the workgroups in which they were launched.
    groups: BTreeSet<(String, [u32; 3])>,
    /// Claims about the kernels.
    claims: Option<&'p mut Claims>,
}

impl<'p> Device<'p> {
    pub(crate) fn new(
        program: &'p Program<'p>,
        wave: u32,
        order: Order,
        defect: Option<Defect>,
    ) -> Self {
        let memory = program.memory(7).expect("variables can be initialised");
        let (outputs, launched) = (Vec::new(), BTreeSet::new());
        Device {
            program,
            memory,
            wave,
            order,
            defect,
            outputs,
            launched,
            racy: None,
            shared_races: BTreeSet::new(),
            groups: BTreeSet::new(),
            claims: None,
        }
    }

    /// The same, watching for races.
    pub(crate) fn watching(self) -> Self {
        Device { racy: Some(BTreeSet::new()), ..self }
    }

    /// The same, checking claims against the execution.
    pub(crate) fn holding(self, claims: &'p mut Claims) -> Self {
        Device { claims: Some(claims), ..self }
    }

    /// Kernels in which threads raced.
    pub(crate) fn racy(&self) -> impl Iterator<Item = &str> {
        self.racy.iter().flatten().map(String::as_str)
    }

    /// Pairs of accesses of workgroup memory that raced, with their kernels.
    pub(crate) fn shared_races(&self) -> &BTreeSet<(String, [InstId; 2])> {
        &self.shared_races
    }

    /// Kernels, and the workgroups in which they were launched.
    pub(crate) fn groups(&self) -> &BTreeSet<(String, [u32; 3])> {
        &self.groups
    }

    /// How many buffers there are that kernels write to.
    pub(crate) fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// Kernels that were launched so far.
    pub(crate) fn launched(&self) -> &BTreeSet<String> {
        &self.launched
    }

    /// A buffer that kernels only read.
    pub(crate) fn input<T: Plain>(&mut self, contents: &[T]) -> Buffer<T> {
        let address = self.memory.constant(&bytes(contents)).expect("there is memory");
        Buffer { address, len: contents.len(), of: PhantomData }
    }

    /// A buffer that kernels write to.
    pub(crate) fn buffer<T: Plain>(&mut self, contents: &[T]) -> Buffer<T> {
        let address = self.memory.buffer(&bytes(contents)).expect("there is memory");
        self.outputs.push(address);
        Buffer { address, len: contents.len(), of: PhantomData }
    }

    /// Copies from the host.
    pub(crate) fn set<T: Plain>(&mut self, buffer: Buffer<T>, contents: &[T]) {
        assert!(contents.len() <= buffer.len, "the buffer is shorter");
        self.memory.set(buffer.address, &bytes(contents)).expect("it is a buffer");
    }

    /// Copies from the host to a variable of the program.
    pub(crate) fn set_variable<T: Plain>(&mut self, name: &str, contents: &[T]) -> Outcome {
        let (address, size) = self.program.variable(name).ok_or(format!("no variable {name}"))?;
        assert_eq!(size as usize, contents.len() * T::SIZE, "size of {name}");
        self.memory.set(address, &bytes(contents)).map_err(|e| e.to_string())
    }

    /// Copies to the host.
    pub(crate) fn read<T: Plain>(&self, buffer: Buffer<T>) -> Vec<T> {
        let size = (buffer.len * T::SIZE) as u64;
        let bytes = self.memory.bytes(buffer.address, size).expect("it is a buffer");
        let mut bytes = bytes.to_vec();
        if let Some(Defect::WrongBit(number)) = self.defect
            && self.outputs.get(number) == Some(&buffer.address)
        {
            let element = buffer.len / 2;
            bytes[element * T::SIZE] ^= 1;
        }
        bytes.chunks(T::SIZE).map(T::of).collect()
    }

    /// Runs a kernel on so many workgroups of so many threads.
    pub(crate) fn launch(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[Given],
    ) -> Outcome {
        self.launch_partly(kernel, grid, block, [0; 3], args)
    }

    /// The same with smaller workgroups at the edge of the grid.
    pub(crate) fn launch_partly(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        partial: [u32; 3],
        args: &[Given],
    ) -> Outcome {
        self.launched.insert(kernel.to_owned());
        if self.defect == Some(Defect::Idle) {
            return Ok(());
        }
        let arg = |given: &Given| match *given {
            Given::Bits(bits) => Arg::bits(bits),
            Given::Shared(bytes) => Arg::Shared(bytes),
        };
        let launch = Launch {
            grid,
            block,
            partial,
            wave: self.wave,
            args: args.iter().map(arg).collect(),
            order: self.order,
            fuel: 16_000_000,
            ..Launch::default()
        };
        let (mut races, mut silent) = (Races::new(), Silent);
        let observer: &mut dyn Observer = match (&mut self.claims, self.racy.is_some()) {
            (Some(claims), _) => {
                claims.next_run();
                &mut **claims
            }
            (None, true) => &mut races,
            (None, false) => &mut silent,
        };
        let report = run(self.program, kernel, &launch, &mut self.memory, observer);
        if let (Some(racy), false) = (&mut self.racy, races.found().is_empty()) {
            racy.insert(kernel.to_owned());
        }
        // Lanes of an AMD wave run in lockstep.
        let wave = |party: Party| party.thread / self.wave;
        let is_ordered = |race: &Race| {
            self.wave == 64
                && block.iter().product::<u32>() % 64 == 0
                && wave(race.first) == wave(race.second)
        };
        let shared =
            races.found().iter().filter(|race| race.region == Region::Shared && !is_ordered(race));
        let pairs = shared.map(|race| (kernel.to_owned(), [race.first.inst, race.second.inst]));
        self.shared_races.extend(pairs);
        self.groups.insert((kernel.to_owned(), block));
        report.map(drop).map_err(|failure| format!("{kernel}: {failure}"))
    }

    /// Runs a kernel on a line of workgroups.
    pub(crate) fn line(&mut self, kernel: &str, grid: u32, block: u32, args: &[Given]) -> Outcome {
        self.launch(kernel, [grid, 1, 1], [block, 1, 1], args)
    }

    /// A buffer has to hold exactly this, to the bit.
    pub(crate) fn expect<T: Plain>(&self, buffer: Buffer<T>, expected: &[T]) -> Outcome {
        same(&self.read(buffer), expected)
    }
}

fn bytes<T: Plain>(contents: &[T]) -> Vec<u8> {
    contents.iter().flat_map(|&element| element.bytes()).collect()
}

/// Two lists have to be the same, to the bit.
pub(crate) fn same<T: Plain>(found: &[T], expected: &[T]) -> Outcome {
    if found.len() != expected.len() {
        return Err(format!("{} elements where {} are expected", found.len(), expected.len()));
    }
    let differs = |&i: &usize| found[i].bytes() != expected[i].bytes();
    match (0..found.len()).find(differs) {
        Some(i) => Err(format!("element {i} is {:?}, not {:?}", found[i], expected[i])),
        None => Ok(()),
    }
}

/// Something that has to hold.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(what()) }
}

/// Checks that the elements consist of the pieces: each piece in its order and contiguous, pieces
/// in any order.
pub(crate) fn pieces<T: Plain>(found: &[T], pieces: &[Vec<T>]) -> Outcome {
    let mut missing: Vec<&Vec<T>> = pieces.iter().filter(|piece| !piece.is_empty()).collect();
    let mut rest = found;
    while !rest.is_empty() {
        let at = found.len() - rest.len();
        let next = missing.iter().position(|piece| rest.starts_with(piece));
        let next = next.ok_or_else(|| format!("no piece begins at element {at}: {rest:?}"))?;
        rest = &rest[missing.swap_remove(next).len()..];
    }
    ensure(missing.is_empty(), || format!("{} pieces are missing", missing.len()))
}
