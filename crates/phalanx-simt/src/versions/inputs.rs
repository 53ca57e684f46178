//! Makes up launches from a number: geometry, arguments, and contents of memory.
//!
//! The inputs that a kernel expects are unknown, so launches vary: few and many threads; buffers of
//! small integers, of floating-point numbers, of flags; integer arguments that are small, near the
//! number of threads, or named in the code (a constant of a comparison decides a branch). The
//! caller skips a launch in which the earlier version faults or does not end.
//!
//! O(bytes of the buffers).

use std::fmt::Write as _;

use phalanx_ir::{ConstKind, Type, attributes::AttrKind};
use phalanx_target::{Architecture, Extent, LaunchFacts};

use crate::{
    fault::FaultKind,
    launch::{Arg, Launch},
    memory::{Memory, Region},
    program::Program,
    shape::{FloatKind, Shape},
    value::{Value, mask},
};

/// Bytes of a buffer that an argument points to.
const BYTES: u64 = 1 << 18;

/// Bytes of workgroup memory for an argument or an array without a size.
const SHARED: u64 = 1 << 13;

/// A buffer for an argument.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Position of the argument.
    pub argument: usize,
    /// Address in global memory.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// The description of a launch for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// Workgroups.
    pub grid: [u32; 3],
    /// Threads of a workgroup.
    pub block: [u32; 3],
    /// Lanes of a wave.
    pub wave: u32,
    /// Integer arguments by position.
    pub integers: Vec<(usize, i128)>,
}

/// A generated launch.
pub struct Made {
    /// The launch.
    pub launch: Launch,
    /// Memory, with the buffers in it.
    pub memory: Memory,
    /// Buffers for arguments.
    pub buffers: Vec<Buffer>,
    /// The description of the launch.
    pub described: Described,
}

/// Pseudorandom numbers from a seed (splitmix64).
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(0xd6e8_feb8_6659_fd93).wrapping_add(0x1234_5678_9abc_def1))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn one_of<T: Copy>(&mut self, all: &[T], or: T) -> T {
        match all.len() {
            0 => or,
            n => all[self.below(n as u64) as usize],
        }
    }
}

/// The contents of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filling {
    /// 32-bit integers below a limit.
    Small(u64),
    /// 64-bit integers below a limit.
    Wide(u64),
    /// `float` in eighths.
    Single,
    /// `double` in eighths.
    Double,
    /// Bytes that are zero or one.
    Flags,
    /// Bits.
    Bits,
}

const FILLINGS: &[Filling] = &[
    Filling::Small(64),
    Filling::Single,
    Filling::Small(4),
    Filling::Wide(40),
    Filling::Double,
    Filling::Flags,
    Filling::Bits,
];

fn fill(filling: Filling, size: u64, numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size as usize);
    while (bytes.len() as u64) < size {
        let eighths = |numbers: &mut Numbers| numbers.below(64) as f64 / 8.0 - 3.0;
        match filling {
            Filling::Small(limit) => {
                bytes.extend((numbers.below(limit) as u32).to_le_bytes());
            }
            Filling::Wide(limit) => bytes.extend(numbers.below(limit).to_le_bytes()),
            Filling::Single => bytes.extend((eighths(numbers) as f32).to_le_bytes()),
            Filling::Double => bytes.extend(eighths(numbers).to_le_bytes()),
            Filling::Flags => bytes.extend((numbers.next() & 0x0101_0101_0101_0101).to_le_bytes()),
            Filling::Bits => bytes.extend(numbers.next().to_le_bytes()),
        }
    }
    bytes.truncate(size as usize);
    bytes
}

/// The threads of a workgroup.
fn block(facts: &LaunchFacts, wave: u32, number: u32, numbers: &mut Numbers) -> [u32; 3] {
    let shapes = [
        [wave, 1, 1],
        [2 * wave, 1, 1],
        [16, 4, 1],
        [wave + 8, 1, 1],
        [8, 8, 1],
        [4 * wave, 1, 1],
        [4, 4, 4],
        [5, 1, 1],
        [12, 1, 1],
        [20, 1, 1],
        [4, 3, 1],
        [8, 1, 1],
    ];
    let choice = match number {
        0 => shapes[0],
        1 => shapes[1],
        // Few threads diverge like many, and take less time.
        _ if numbers.below(3) > 0 => numbers.one_of(&shapes[7..], shapes[7]),
        _ => numbers.one_of(&shapes, shapes[0]),
    };
    let mut size = [0, 1, 2].map(|d| match facts.workgroup_size[d] {
        Extent::Exactly(n) if n > 0 => n,
        Extent::AtMost(n) if n > 0 => choice[d].min(n),
        _ => choice[d],
    });
    let bound = facts.max_flat_workgroup_size.unwrap_or(u32::MAX).max(1);
    while size.iter().product::<u32>() > bound {
        let largest = (0..3).max_by_key(|&d| size[d]).unwrap_or(0);
        size[largest] = (size[largest] / 2).max(1);
    }
    size
}

/// Integer constants of a kernel, from which arguments are chosen: they include the constants that
/// decide comparisons. O(instructions).
pub(super) fn named(program: &Program<'_>, name: &str) -> Vec<u64> {
    let context = program.context();
    let mut found = Vec::new();
    let Some(function) = program.function(name).map(|code| program.code(code)) else {
        return found;
    };
    for &block in function.flow.order() {
        for inst in function.body.block_insts(block) {
            for operand in function.body.operands(inst) {
                let Some(constant) = operand.as_const() else { continue };
                if let ConstKind::Int(int) = &context.const_data(constant).kind
                    && let Some(value) = int.to_u64()
                    && !found.contains(&value)
                    && found.len() < 256
                {
                    found.push(value);
                }
            }
        }
    }
    found
}

/// The launch with a number, its memory, and a description. It depends on the parameters of the
/// kernel and on `named`, not on its code, so two versions get the same launch.
///
/// # Errors
/// A parameter has a type for which no argument can be made, or there is no such kernel.
pub fn launch(
    program: &Program<'_>,
    name: &str,
    facts: &LaunchFacts,
    (number, named): (u32, &[u64]),
) -> Result<Made, FaultKind> {
    let numbers = &mut Numbers::new(number.into());
    let Some(code) = program.function(name) else {
        return Err(FaultKind::unsupported(format!("a module without @{name}")));
    };
    let function = program.code(code);
    let wave =
        facts.wave_width.filter(|&w| (1..=64).contains(&w)).unwrap_or(match program.architecture {
            Architecture::Amdgcn => 64,
            _ => 32,
        });
    let block = block(facts, wave, number, numbers);
    let grid = [if number % 3 == 2 { 2 } else { 1 }, 1, 1];
    let mut memory = program.memory(number.into())?;
    let (mut args, mut buffers, mut integers) = (Vec::new(), Vec::new(), Vec::new());
    let threads: u32 = block.iter().product();
    let main = FILLINGS[number as usize % FILLINGS.len()];
    for (position, &ty) in function.header.params.iter().enumerate() {
        let filling = if numbers.below(3) == 0 { numbers.one_of(FILLINGS, main) } else { main };
        let arg = match program.shapes.of(ty) {
            Shape::Ptr { space, .. } => {
                match Region::of(program.architecture, *space) {
                    Some(Region::Shared) => Arg::Shared(SHARED),
                    Some(Region::Global | Region::Generic) => {
                        // An argument passed by value lies in memory like the others.
                        let attributes =
                            program.param_attributes(function.header.attributes, position);
                        let inner = attributes
                            .type_of(AttrKind::ByVal)
                            .or(attributes.type_of(AttrKind::ByRef));
                        let (size, filling) = match inner {
                            Some(inner) => (
                                program.shapes.store_size(inner).max(1),
                                numbers.one_of(&[filling, Filling::Small(40)], filling),
                            ),
                            None => (BYTES, filling),
                        };
                        let address = memory.buffer(&fill(filling, size, numbers))?;
                        buffers.push(Buffer { argument: position, address, size });
                        Arg::bits(address)
                    }
                    _ => return Err(FaultKind::unsupported(format!("argument {position}"))),
                }
            }
            _ => {
                let value = scalar(program, ty, (threads, named), numbers, 0)?;
                if let (Shape::Int(bits), Some(value)) = (program.shapes.of(ty), value.bits()) {
                    integers.push((position, signed(value, *bits)));
                }
                Arg::Value(value)
            }
        };
        args.push(arg);
    }
    let launch = Launch {
        grid,
        block,
        wave,
        args,
        shared: SHARED,
        seed: number.into(),
        ..Launch::default()
    };
    let described = Described { grid, block, wave, integers };
    Ok(Made { launch, memory, buffers, described })
}

fn signed(value: u128, bits: u32) -> i128 {
    let unused = 128u32.saturating_sub(bits.max(1));
    ((value << unused) as i128) >> unused
}

/// A value for an argument that is no pointer.
fn scalar(
    program: &Program<'_>,
    ty: Type,
    (threads, named): (u32, &[u64]),
    numbers: &mut Numbers,
    depth: u32,
) -> Result<Value, FaultKind> {
    if depth > 8 {
        return Err(FaultKind::unsupported("arguments that nest so deep"));
    }
    Ok(match program.shapes.of(ty) {
        Shape::Int(bits) => {
            let threads = u64::from(threads);
            let value = match numbers.below(10) {
                8 => numbers.one_of(named, 7),
                9 => numbers.one_of(named, 1).wrapping_add(numbers.below(3)).wrapping_sub(1),
                0 => numbers.below(4),
                1 => threads,
                2 => threads.saturating_sub(1 + numbers.below(7)),
                3 => numbers.below(threads),
                4 => threads / 2 + numbers.below(3),
                5 => 1 << numbers.below(8),
                6 => numbers.below(2 * threads + 3),
                _ => numbers.below(9),
            };
            // Sometimes the bits of flags are independent of each other.
            let value = if numbers.below(4) == 0 { numbers.below(256) } else { value };
            let value = if numbers.below(5) == 0 { numbers.next() } else { value };
            Value::Bits(u128::from(value) & mask(*bits))
        }
        Shape::Float(kind) => {
            let value = numbers.below(64) as f64 / 8.0 - 2.0;
            Value::Bits(match kind {
                FloatKind::Single => (value as f32).to_bits().into(),
                FloatKind::Double => value.to_bits().into(),
                FloatKind::BFloat => ((value as f32).to_bits() >> 16).into(),
                FloatKind::Half => [0u128, 0x3c00, 0x4000, 0xbc00][numbers.below(4) as usize],
            })
        }
        &Shape::Vector { elem, len } => {
            let lanes =
                (0..len).map(|_| scalar(program, elem, (threads, named), numbers, depth + 1));
            Value::Many(lanes.collect::<Result<_, _>>()?)
        }
        &Shape::Array { elem, len, .. } if len <= 64 => {
            let lanes =
                (0..len).map(|_| scalar(program, elem, (threads, named), numbers, depth + 1));
            Value::Many(lanes.collect::<Result<_, _>>()?)
        }
        Shape::Struct(members) => {
            let members = members
                .iter()
                .map(|&(ty, _)| scalar(program, ty, (threads, named), numbers, depth + 1));
            Value::Many(members.collect::<Result<_, _>>()?)
        }
        _ => return Err(FaultKind::unsupported("an argument of this type")),
    })
}

impl Described {
    /// `2 workgroups of 64 threads in waves of 32, argument 1 is 40`
    #[must_use]
    pub fn words(&self) -> String {
        let threads: u32 = self.block.iter().product();
        let groups: u32 = self.grid.iter().product();
        let mut text = match groups {
            1 => String::new(),
            n => format!("{n} workgroups of "),
        };
        let _ = write!(text, "{threads} threads");
        if self.block[1..] != [1, 1] {
            let [x, y, z] = self.block;
            let _ = write!(text, " ({x} x {y} x {z})");
        }
        let _ = write!(text, " in waves of {}", self.wave);
        for (position, value) in &self.integers {
            let _ = write!(text, ", argument {position} is {value}");
        }
        text
    }
}
