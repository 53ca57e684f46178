//! Memory: one segment that all threads share, one per workgroup, one per thread.
//!
//! A [`Segment`] is a range of addresses with allocations in it; an access must lie inside one of
//! them. Bytes that were never written hold bits that depend on the seed of the segment: reading
//! them is reading `undef`, for which any bits may be chosen. Poison is tracked byte by byte, and
//! so is `undef` if the program follows it.
//!
//! Generic addresses reach all three: shared and private memory appear in *apertures*, ranges of
//! the generic space that no global address lies in. A cast between a specific and the generic
//! space changes the number of the address, so addresses of one byte alias in both spaces.

use phalanx_target::{
    Architecture,
    address_space::{AddressSpace, SpaceKind},
};

use crate::{
    fault::FaultKind,
    shape::{Shape, Shapes},
    unknown::State,
    value::{Value, mask},
};
use phalanx_ir::Type;

/// The memory that an address refers to.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Region {
    /// Shared by all threads.
    Global,
    /// Shared by the threads of a workgroup.
    Shared,
    /// Private to a thread.
    Private,
    /// Any of these, depending on the address.
    Generic,
}

impl Region {
    /// The region of an address space; none when the space is not interpreted.
    #[must_use]
    pub fn of(architecture: Architecture, space: u32) -> Option<Region> {
        Some(match AddressSpace::of(architecture, space).kind() {
            SpaceKind::Generic => Region::Generic,
            // Inputs of the pipeline are placed in global memory for each thread.
            SpaceKind::Global | SpaceKind::Constant | SpaceKind::Parameter | SpaceKind::Input => {
                Region::Global
            }
            SpaceKind::Workgroup | SpaceKind::Cluster => Region::Shared,
            SpaceKind::Private => Region::Private,
            SpaceKind::Region | SpaceKind::Buffer | SpaceKind::Unknown => {
                // Without a target there is only one memory.
                return (space == 0).then_some(Region::Generic);
            }
        })
    }

    /// Its name in messages.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Region::Global => "global",
            Region::Shared => "shared",
            Region::Private => "private",
            Region::Generic => "generic",
        }
    }
}

/// Where shared and private memory appear among generic addresses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Apertures {
    shared: u64,
    private: u64,
    size: u64,
    /// The value of generic null in shared and in private memory, if that is not 0.
    null: Option<[u64; 2]>,
}

impl Apertures {
    /// Apertures for generic pointers of this many bits on an architecture.
    ///
    /// On AMD GPUs address 0 of shared and private memory is an ordinary address, and generic null
    /// is cast to -1 and back (LLVM, *User Guide for AMDGPU Backend*, address spaces). On NVIDIA
    /// GPUs a cast adds or subtracts the start of the memory, for null too (PTX, `cvta`).
    #[must_use]
    pub fn new(bits: u32, architecture: Architecture) -> Apertures {
        let (shared, private, size) = match bits {
            0..=32 => (0xa000_0000, 0xc000_0000, 0x1000_0000),
            _ => (1 << 48, 2 << 48, 1 << 32),
        };
        let below = |start: u64| 0u64.wrapping_sub(start) & mask(bits) as u64;
        let null = match architecture {
            Architecture::Amdgcn => Some([0xffff_ffff; 2]),
            Architecture::Nvptx => Some([below(shared), below(private)]),
            _ => None,
        };
        Apertures { shared, private, size, null }
    }

    /// What generic null becomes in a region.
    #[must_use]
    pub fn null(self, region: Region) -> u64 {
        match region {
            Region::Shared => self.null.map_or(0, |[shared, _]| shared),
            Region::Private => self.null.map_or(0, |[_, private]| private),
            Region::Global | Region::Generic => 0,
        }
    }

    /// The generic form of an address. The null pointer of the region becomes generic null.
    #[must_use]
    pub fn generic(self, region: Region, address: u64) -> u64 {
        match region {
            Region::Shared | Region::Private
                if self.null.is_some() && address == self.null(region) =>
            {
                0
            }
            Region::Shared => self.shared.wrapping_add(address),
            Region::Private => self.private.wrapping_add(address),
            Region::Global | Region::Generic => address,
        }
    }

    /// The region and address that a generic address refers to.
    #[must_use]
    pub fn resolve(self, address: u64) -> (Region, u64) {
        for (region, start) in [(Region::Shared, self.shared), (Region::Private, self.private)] {
            if let Some(offset) = address.checked_sub(start).filter(|&offset| offset < self.size) {
                return (region, offset);
            }
        }
        (Region::Global, address)
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Allocation {
    start: u64,
    end: u64,
    is_constant: bool,
}

/// A range of memory.
#[derive(Clone, Debug)]
pub struct Segment {
    region: Region,
    bytes: Vec<u8>,
    states: Vec<State>,
    /// The lowest address of an allocation.
    first: u64,
    /// The state of unwritten bytes.
    fresh: State,
    /// By address.
    allocations: Vec<Allocation>,
    /// Whether allocations were freed, to which addresses may still refer.
    has_released: bool,
    seed: u64,
}

/// No allocation lies below, so that null and small offsets from it are caught; except in [memory
/// that begins at 0](Segment::from_zero).
const FIRST: u64 = 64;

/// A larger segment is refused.
const LIMIT: u64 = 1 << 31;

impl Segment {
    /// An empty segment whose unwritten bytes depend on `seed`.
    #[must_use]
    pub fn new(region: Region, seed: u64) -> Segment {
        Segment {
            region,
            bytes: Vec::new(),
            states: Vec::new(),
            first: FIRST,
            fresh: State::Defined,
            allocations: Vec::new(),
            has_released: false,
            seed,
        }
    }

    /// An empty segment in which 0 is an ordinary address, as in the workgroup memory of GPUs: null
    /// of a non-zero address space is an address (LLVM, `NullPointerIsDefined`), and the first
    /// variable is there.
    #[must_use]
    pub fn from_zero(region: Region, seed: u64) -> Segment {
        Segment { first: 0, ..Segment::new(region, seed) }
    }

    /// Makes unwritten bytes `undef` instead of bits of the seed, in existing allocations too.
    pub(crate) fn follow_undef(&mut self) {
        self.fresh = State::Undef;
        self.states.fill(State::Undef);
    }

    /// Allocates memory, and returns its address. A gap follows, so that overruns are caught.
    ///
    /// # Errors
    /// The segment would grow too large.
    pub fn allocate(&mut self, size: u64, align: u64) -> Result<u64, FaultKind> {
        let start = self.end().next_multiple_of(align.max(16));
        let end = start.checked_add(size).filter(|&end| end <= LIMIT);
        let Some(end) = end else {
            return Err(FaultKind::unsupported(format!("an allocation of {size} bytes")));
        };
        let used = (end - self.first) as usize;
        let (mut at, seed) = (self.bytes.len() as u64, self.seed);
        self.bytes.resize_with(used, || {
            at += 1;
            undefined(seed, at)
        });
        self.states.resize(used, self.fresh);
        self.allocations.push(Allocation { start, end, is_constant: false });
        Ok(start)
    }

    fn end(&self) -> u64 {
        // One byte more than the last, so that neighbours do not touch.
        self.allocations.last().map_or(self.first, |last| last.end + 1)
    }

    /// Forbids stores to the allocation that starts at an address.
    pub fn make_constant(&mut self, start: u64) {
        if let Some(found) = self.allocations.iter_mut().find(|a| a.start == start) {
            found.is_constant = true;
        }
    }

    /// How many allocations there are; see [`Segment::release`].
    #[must_use]
    pub fn mark(&self) -> usize {
        self.allocations.len()
    }

    /// Frees all allocations made since a mark.
    pub fn release(&mut self, mark: usize) {
        self.has_released |= mark < self.allocations.len();
        self.allocations.truncate(mark);
        let end = self.allocations.last().map_or(self.first, |last| last.end);
        let used = (end - self.first) as usize;
        self.bytes.truncate(used);
        self.states.truncate(used);
    }

    fn place(
        &self,
        access: &'static str,
        address: u64,
        size: u64,
        writes: bool,
    ) -> Result<usize, FaultKind> {
        let fault =
            |reason| FaultKind::Memory { access, space: self.region.text(), address, size, reason };
        let after = self.allocations.partition_point(|a| a.start <= address);
        let found = after.checked_sub(1).map(|i| self.allocations[i]);
        match found {
            Some(a) if address.checked_add(size).is_some_and(|end| end <= a.end) => {
                if writes && a.is_constant {
                    return Err(fault("the memory is constant"));
                }
                Ok((address - self.first) as usize)
            }
            _ if address < self.first => Err(fault("the address is null")),
            _ => Err(fault("out of bounds")),
        }
    }

    /// Whether two addresses are in one allocation, or at its end; true if they may refer to a
    /// freed allocation.
    fn in_one_object(&self, one: u64, other: u64) -> bool {
        let after = self.allocations.partition_point(|a| a.start <= one);
        let found = after.checked_sub(1).map(|i| self.allocations[i]);
        let has_both = |a: Allocation| one <= a.end && (a.start..=a.end).contains(&other);
        self.has_released || found.is_some_and(has_both)
    }

    /// Bytes, and the state of each.
    ///
    /// # Errors
    /// They are not all in one allocation.
    pub fn read(
        &self,
        access: &'static str,
        address: u64,
        size: u64,
    ) -> Result<(&[u8], &[State]), FaultKind> {
        let at = self.place(access, address, size, false)?;
        let range = at..at + size as usize;
        Ok((&self.bytes[range.clone()], &self.states[range]))
    }

    /// Writes bytes that are not poison.
    ///
    /// # Errors
    /// They are not all in one allocation, or it is constant.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
        let at = self.place("store", address, bytes.len() as u64, true)?;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.states[at..at + bytes.len()].fill(State::Defined);
        Ok(())
    }

    /// Writes bytes that are not poison, to constant memory as well.
    pub(crate) fn set(&mut self, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
        let at = self.place("store", address, bytes.len() as u64, false)?;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.states[at..at + bytes.len()].fill(State::Defined);
        Ok(())
    }

    /// Writes bytes with their states.
    ///
    /// # Errors
    /// As [`Segment::write`].
    pub fn write_raw(
        &mut self,
        address: u64,
        bytes: &[u8],
        states: &[State],
    ) -> Result<(), FaultKind> {
        let at = self.place("store", address, bytes.len() as u64, true)?;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.states[at..at + bytes.len()].copy_from_slice(states);
        Ok(())
    }
}

/// Bits for an unwritten byte.
fn undefined(seed: u64, at: u64) -> u8 {
    let x = (seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x >> 56) as u8
}

/// The memory that outlives a launch.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) global: Segment,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new(0)
    }
}

impl Memory {
    /// Empty memory; bits of unwritten bytes depend on the seed.
    #[must_use]
    pub fn new(seed: u64) -> Memory {
        Memory { global: Segment::new(Region::Global, seed) }
    }

    /// A buffer with these contents; its address.
    ///
    /// # Errors
    /// Too much memory is asked for.
    pub fn buffer(&mut self, contents: &[u8]) -> Result<u64, FaultKind> {
        let address = self.global.allocate(contents.len() as u64, 256)?;
        self.global.write(address, contents)?;
        Ok(address)
    }

    /// A buffer with these contents that no thread may write to; its address.
    ///
    /// # Errors
    /// Too much memory is asked for.
    pub fn constant(&mut self, contents: &[u8]) -> Result<u64, FaultKind> {
        let address = self.buffer(contents)?;
        self.global.make_constant(address);
        Ok(address)
    }

    /// Copies bytes into memory from outside, as a host does between launches. Constant memory may
    /// be written too.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn set(&mut self, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
        self.global.set(address, bytes)
    }

    /// Bytes of a buffer.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn bytes(&self, address: u64, size: u64) -> Result<&[u8], FaultKind> {
        Ok(self.global.read("read", address, size)?.0)
    }

    /// The states of the bytes of a buffer.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn states(&self, address: u64, size: u64) -> Result<&[State], FaultKind> {
        Ok(self.global.read("read", address, size)?.1)
    }
}

/// Bytes that an instruction accesses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The actual region: not generic.
    pub region: Region,
    /// The address of the first.
    pub address: u64,
    /// How many.
    pub size: u64,
    /// Whether they are written.
    pub is_store: bool,
    /// Whether the write changes the bytes.
    pub changes: bool,
}

/// All memory that one thread sees.
#[derive(Debug)]
pub struct View<'a> {
    pub(crate) global: &'a mut Segment,
    pub(crate) shared: &'a mut Segment,
    pub(crate) private: &'a mut Segment,
    pub(crate) apertures: Apertures,
    /// Accesses so far, if an observer asks for them.
    pub(crate) touched: Option<Vec<Touched>>,
}

impl View<'_> {
    /// The actual region of an address, and the address there.
    pub(crate) fn resolve(&self, region: Region, address: u64) -> (Region, u64) {
        match region {
            Region::Generic => self.apertures.resolve(address),
            _ => (region, address),
        }
    }

    /// Whether two addresses of a region are in one object, or at its end.
    pub(crate) fn in_one_object(&self, region: Region, one: u64, other: u64) -> bool {
        let [(region, one), (also, other)] = [one, other].map(|at| self.resolve(region, at));
        let segment = match region {
            Region::Shared => &*self.shared,
            Region::Private => &*self.private,
            Region::Global | Region::Generic => &*self.global,
        };
        region == also && segment.in_one_object(one, other)
    }

    /// Records an access of memory that other threads may reach.
    pub(crate) fn touch(&mut self, (region, address): (Region, u64), size: u64, is_store: bool) {
        if let (Some(touched), true) = (&mut self.touched, region != Region::Private) {
            touched.push(Touched { region, address, size, is_store, changes: is_store });
        }
    }

    /// Records a store that is about to be made.
    fn touch_store(&mut self, (region, address): (Region, u64), bytes: &[u8]) {
        if self.touched.is_none() || region == Region::Private {
            return;
        }
        let size = bytes.len() as u64;
        let old = self.segment(region).read("store", address, size);
        let is_same = old.is_ok_and(|(old, states)| {
            old == bytes && states.iter().all(|state| *state == State::Defined)
        });
        let touched = Touched { region, address, size, is_store: true, changes: !is_same };
        self.touched.iter_mut().for_each(|all| all.push(touched));
    }

    pub(crate) fn segment(&mut self, region: Region) -> &mut Segment {
        match region {
            Region::Shared => self.shared,
            Region::Private => self.private,
            Region::Global | Region::Generic => self.global,
        }
    }

    /// Loads a value of a type.
    pub(crate) fn load(
        &mut self,
        shapes: &Shapes,
        ty: Type,
        (region, address): (Region, u64),
    ) -> Result<Value, FaultKind> {
        let (region, address) = self.resolve(region, address);
        let size = shapes.store_size(ty);
        self.touch((region, address), size, false);
        let (bytes, states) = self.segment(region).read("load", address, size)?;
        decode(shapes, ty, bytes, states)
    }

    /// Stores a value of a type.
    pub(crate) fn store(
        &mut self,
        shapes: &Shapes,
        ty: Type,
        value: &Value,
        (region, address): (Region, u64),
    ) -> Result<(), FaultKind> {
        let (region, address) = self.resolve(region, address);
        let size = shapes.store_size(ty) as usize;
        if let (Value::Bits(bits), true) = (value, size <= 16) {
            let bytes = &bits.to_le_bytes()[..size];
            self.touch_store((region, address), bytes);
            return self.segment(region).write(address, bytes);
        }
        let (mut bytes, mut states) = (vec![0; size], vec![State::Defined; size]);
        encode(shapes, ty, value, &mut bytes, &mut states)?;
        self.touch_store((region, address), &bytes);
        self.segment(region).write_raw(address, &bytes, &states)
    }
}

/// The value of bytes in memory.
pub(crate) fn decode(
    shapes: &Shapes,
    ty: Type,
    bytes: &[u8],
    states: &[State],
) -> Result<Value, FaultKind> {
    let part = |elem: Type, at: u64| {
        let (at, size) = (at as usize, shapes.store_size(elem) as usize);
        decode(shapes, elem, &bytes[at..at + size], &states[at..at + size])
    };
    Ok(match shapes.of(ty) {
        Shape::Int(_) | Shape::Float(_) | Shape::Ptr { .. } => {
            if let Some(unknown) = State::of_all(states) {
                return Ok(unknown);
            }
            let bits = shapes.bits(ty).unwrap_or(128);
            Value::Bits(number(bytes, bits)? & mask(bits))
        }
        &Shape::Vector { elem, len } => {
            let bits = shapes.bits(elem).unwrap_or(8);
            if bits.is_multiple_of(8) {
                let lane = |i| part(elem, u64::from(i) * u64::from(bits / 8));
                Value::Many((0..len).map(lane).collect::<Result<_, _>>()?)
            } else if let Some(unknown) = State::of_all(states) {
                Value::Many(vec![unknown; len as usize].into())
            } else {
                let all = number(bytes, bits * len)?;
                let lane = |i| Value::Bits(all >> (i * bits) & mask(bits));
                Value::Many((0..len).map(lane).collect())
            }
        }
        &Shape::Array { elem, len, stride } => {
            Value::Many((0..len).map(|i| part(elem, i * stride)).collect::<Result<_, _>>()?)
        }
        Shape::Struct(members) => {
            Value::Many(members.iter().map(|&(ty, at)| part(ty, at)).collect::<Result<_, _>>()?)
        }
        Shape::None => {
            return Err(FaultKind::unsupported(
                "a value of a type that is not interpreted, in memory",
            ));
        }
    })
}

fn number(bytes: &[u8], bits: u32) -> Result<u128, FaultKind> {
    if bits > 128 {
        return Err(FaultKind::unsupported(format!("numbers of {bits} bits")));
    }
    let mut words = [0; 16];
    words[..bytes.len()].copy_from_slice(bytes);
    Ok(u128::from_le_bytes(words))
}

/// The bytes of a value in memory.
pub(crate) fn encode(
    shapes: &Shapes,
    ty: Type,
    value: &Value,
    bytes: &mut [u8],
    states: &mut [State],
) -> Result<(), FaultKind> {
    if let Some(state) = State::of(value) {
        states.fill(state);
        return Ok(());
    }
    let mut part = |elem: Type, at: u64, value: &Value| {
        let (at, size) = (at as usize, shapes.store_size(elem) as usize);
        encode(shapes, elem, value, &mut bytes[at..at + size], &mut states[at..at + size])
    };
    match shapes.of(ty) {
        Shape::Int(_) | Shape::Float(_) | Shape::Ptr { .. } => {
            let bits = value.bits().unwrap_or(0);
            if bytes.len() > 16 {
                return Err(FaultKind::unsupported("numbers of more than 128 bits"));
            }
            let size = bytes.len();
            bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        &Shape::Vector { elem, len } => {
            let bits = shapes.bits(elem).unwrap_or(8);
            if bits.is_multiple_of(8) {
                for i in 0..len {
                    part(elem, u64::from(i * (bits / 8)), &value.element(i as usize))?;
                }
            } else {
                let mut all = 0u128;
                for i in 0..len.min(128 / bits.max(1)) {
                    match value.element(i as usize) {
                        Value::Bits(lane) => all |= lane << (i * bits),
                        // A lane is a part of a byte: the byte has the worst state of its lanes.
                        other => {
                            let state = State::of(&other).unwrap_or(State::Poison);
                            states.iter_mut().for_each(|byte| *byte = state.max(*byte));
                        }
                    }
                }
                let size = bytes.len().min(16);
                bytes[..size].copy_from_slice(&all.to_le_bytes()[..size]);
            }
        }
        &Shape::Array { elem, len, stride } => {
            for i in 0..len {
                part(elem, i * stride, &value.element(i as usize))?;
            }
        }
        Shape::Struct(members) => {
            for (i, &(ty, at)) in members.iter().enumerate() {
                part(ty, at, &value.element(i))?;
            }
        }
        Shape::None => {
            return Err(FaultKind::unsupported(
                "a value of a type that is not interpreted, in memory",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
