//! Executes kernels, and observes which values differ among units.
//!
//! The units of a plane execute in step, under a mask; planes execute one after another. An
//! instance of a statement is named by the rounds of the loops around it: two units execute it
//! together if they do so in the same rounds, which is what maximal convergence means for
//! structured control flow. What planes load from shared memory differs.

use std::hash::{Hash as _, Hasher as _};

use phalanx_pliron::Scope;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::programs::{Body, Is, Kernel, Number, Statement, WORDS};

/// After so many rounds of one loop nothing more is observed of a plane.
const MOST_ROUNDS: u32 = 10;

/// How many units and cubes there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) cubes: u32,
    pub(crate) dim: [u32; 2],
    pub(crate) plane: u32,
}

/// A value, or the side of an `if`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Value(Number),
    If(usize),
}

/// What differed among units of a scope.
#[derive(Default)]
pub(crate) struct Observed {
    seen: FxHashMap<(Subject, u64, Scope, u32), u32>,
    differs: FxHashSet<(Subject, Scope)>,
}

impl Observed {
    /// Adds what another one has seen.
    pub(crate) fn unite(&mut self, other: &Self) {
        self.differs.extend(&other.differs);
    }

    pub(crate) fn differs(&self, subject: Subject, scope: Scope) -> bool {
        self.differs.contains(&(subject, scope))
    }
}

/// A plane that executes.
struct Plane<'a> {
    launch: Launch,
    seed: u64,
    cube: u32,
    number: u32,
    /// By unit of the plane.
    registers: Vec<Vec<u32>>,
    /// Units that have not returned.
    left: u32,
    observed: &'a mut Observed,
}

/// The loops around a statement took too long.
struct TooLong;

fn mix(parts: &[u64]) -> u64 {
    let mut hasher = FxHasher::default();
    parts.hash(&mut hasher);
    let h = hasher.finish();
    let h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

pub(crate) fn execute(kernel: &Kernel, launch: Launch, seed: u64, observed: &mut Observed) {
    observed.seen.clear();
    let units = launch.dim[0] * launch.dim[1];
    for cube in 0..launch.cubes {
        for number in 0..units.div_ceil(launch.plane) {
            let own = launch.plane.min(units - number * launch.plane);
            let registers = vec![vec![0; kernel.types.len()]; own as usize];
            let left = (1 << own) - 1;
            let mut plane =
                Plane { launch, seed, cube, number, registers, left, observed: &mut *observed };
            let _ = plane.body(&kernel.body, left, 0);
        }
    }
}

impl Plane<'_> {
    fn units(&self, mask: u32) -> impl Iterator<Item = usize> + use<> {
        (0..self.registers.len()).filter(move |unit| mask >> unit & 1 == 1)
    }

    fn note(&mut self, subject: Subject, path: u64, what: u32) {
        let of_cube = self.cube << 8 | self.number;
        for (scope, group) in
            [(Scope::Wave, of_cube), (Scope::Workgroup, self.cube), (Scope::Grid, 0)]
        {
            let seen = self.observed.seen.entry((subject, path, scope, group)).or_insert(what);
            if *seen != what {
                self.observed.differs.insert((subject, scope));
            }
        }
    }

    fn set(&mut self, unit: usize, value: Number, path: u64, what: u32) {
        self.registers[unit][value as usize] = what;
        self.note(Subject::Value(value), path, what);
    }

    /// All at once.
    fn copy(&mut self, mask: u32, path: u64, from: &[Number], to: &[Number]) {
        for unit in self.units(mask) {
            let read: Vec<u32> = from.iter().map(|of| self.registers[unit][*of as usize]).collect();
            for (to, what) in to.iter().zip(read) {
                self.set(unit, *to, path, what);
            }
        }
    }

    fn body(&mut self, body: &Body, mask: u32, path: u64) -> Result<(), TooLong> {
        for statement in &body.statements {
            let mask = mask & self.left;
            match statement {
                _ if mask == 0 => return Ok(()),
                Statement::Let(value, is) => self.compute(mask, path, *value, is),
                Statement::Store(to, from) => {
                    for unit in self.units(mask) {
                        let registers = &mut self.registers[unit];
                        registers[*to as usize] = registers[*from as usize];
                    }
                }
                Statement::If { number, by, sides, results } => {
                    let mut taken = [0; 2];
                    for unit in self.units(mask) {
                        let side = usize::from(self.registers[unit][*by as usize] == 0);
                        taken[side] |= 1 << unit;
                        self.note(Subject::If(*number), path, side as u32);
                    }
                    for (side, mask) in sides.iter().zip(taken) {
                        self.body(side, mask, path)?;
                    }
                    for (side, mask) in sides.iter().zip(taken) {
                        self.copy(mask & self.left, path, &side.yields, results);
                    }
                }
                Statement::For { bounds, init, body, results } => {
                    self.range(mask, path, *bounds, init, body, results)?;
                }
                Statement::While { init, before, after, results } => {
                    self.rounds(mask, path, init, before, after, results)?;
                }
            }
        }
        if body.returns {
            self.left &= !mask;
        }
        Ok(())
    }

    /// The path of a round of a loop, which is known by an argument of its body.
    fn round(path: u64, of: &Body, round: u32) -> Result<u64, TooLong> {
        match round < MOST_ROUNDS {
            true => Ok(mix(&[path, u64::from(of.arguments[0]), u64::from(round)])),
            false => Err(TooLong),
        }
    }

    /// What units carry out of a loop, each from its last round.
    fn leave(&mut self, mask: u32, path: u64, held: &[Vec<u32>], results: &[Number]) {
        for unit in self.units(mask & self.left) {
            for (result, what) in results.iter().zip(&held[unit]) {
                self.set(unit, *result, path, *what);
            }
        }
    }

    fn read(&self, unit: usize, values: &[Number]) -> Vec<u32> {
        values.iter().map(|value| self.registers[unit][*value as usize]).collect()
    }

    fn range(
        &mut self,
        mask: u32,
        path: u64,
        bounds: [Number; 3],
        init: &[Number],
        body: &Body,
        results: &[Number],
    ) -> Result<(), TooLong> {
        let mut held: Vec<Vec<u32>> = vec![Vec::new(); self.registers.len()];
        let mut at: Vec<u32> = vec![0; self.registers.len()];
        let [start, end, step] = bounds.map(|bound| bound as usize);
        for unit in self.units(mask) {
            held[unit] = self.read(unit, init);
            at[unit] = self.registers[unit][start];
        }
        let mut inside = mask;
        for round in 0.. {
            inside &= self.left;
            for unit in self.units(inside) {
                if at[unit] >= self.registers[unit][end] {
                    inside &= !(1 << unit);
                }
            }
            if inside == 0 {
                break;
            }
            let within = Self::round(path, body, round)?;
            for unit in self.units(inside) {
                let what: Vec<u32> = std::iter::once(at[unit]).chain(held[unit].clone()).collect();
                for (argument, what) in body.arguments.iter().zip(what) {
                    self.set(unit, *argument, within, what);
                }
            }
            self.body(body, inside, within)?;
            for unit in self.units(inside & self.left) {
                held[unit] = self.read(unit, &body.yields);
                at[unit] += self.registers[unit][step];
            }
        }
        self.leave(mask, path, &held, results);
        Ok(())
    }

    fn rounds(
        &mut self,
        mask: u32,
        path: u64,
        init: &[Number],
        before: &Body,
        after: &Body,
        results: &[Number],
    ) -> Result<(), TooLong> {
        let mut held: Vec<Vec<u32>> = vec![Vec::new(); self.registers.len()];
        let mut inside = mask;
        for round in 0.. {
            let within = Self::round(path, before, round)?;
            self.copy(
                inside,
                within,
                if round == 0 { init } else { &after.yields },
                &before.arguments,
            );
            self.body(before, inside, within)?;
            inside &= self.left;
            let (more, carried) = before.yields.split_first().expect("it yields a condition");
            for unit in self.units(inside) {
                held[unit] = self.read(unit, carried);
                if self.registers[unit][*more as usize] == 0 {
                    inside &= !(1 << unit);
                }
            }
            if inside == 0 {
                break;
            }
            self.copy(inside, within, carried, &after.arguments);
            self.body(after, inside, within)?;
            inside &= self.left;
            if inside == 0 {
                break;
            }
        }
        self.leave(mask, path, &held, results);
        Ok(())
    }

    fn compute(&mut self, mask: u32, path: u64, value: Number, is: &Is) {
        let units: Vec<usize> = self.units(mask).collect();
        let results: Vec<u32> =
            units.iter().map(|&unit| self.result(unit, mask, path, is)).collect();
        for (unit, what) in units.into_iter().zip(results) {
            self.set(unit, value, path, what);
        }
    }

    fn result(&self, unit: usize, mask: u32, path: u64, is: &Is) -> u32 {
        let of = |unit: usize, value: &Number| self.registers[unit][*value as usize];
        match is {
            Is::Builtin(name) => self.builtin(unit, name),
            Is::Constant(of) => *of,
            Is::Scalar(of) => (mix(&[self.seed, u64::from(*of)]) & 3) as u32,
            Is::Pure(name, reads) => pure(name, &self.read(unit, reads)),
            Is::Plane(name, reads) => self.plane(unit, mask, name, reads),
            Is::Broadcast(value, lane) => {
                let units: Vec<usize> = self.units(mask).collect();
                of(units[*lane as usize % units.len()], value)
            }
            Is::Shared(name, at) => {
                let first = mask.trailing_zeros() as usize;
                let (reader, own) = match *name {
                    "plane.uniform_load" => (first, 0),
                    "atomic.i_add" => (unit, unit as u64 + 1),
                    _ => (unit, 0),
                };
                let word = u64::from(of(reader, at) % WORDS);
                let plane = u64::from(self.cube << 8 | self.number);
                (mix(&[self.seed, plane, path, word, own]) & 3) as u32
            }
            Is::Variable => 0,
            Is::Load(variable) => of(unit, variable),
        }
    }

    fn builtin(&self, unit: usize, name: &str) -> u32 {
        let Launch { cubes, dim: [x, y], plane } = self.launch;
        let own = self.number * plane + unit as u32;
        match name {
            "UnitPos" => own,
            "UnitPosX" => own % x,
            "UnitPosY" => own / x,
            "UnitPosPlane" => unit as u32,
            "PlanePos" => self.number,
            "CubePos" | "CubePosX" => self.cube,
            "CubeDim" => x * y,
            "CubeCount" => cubes,
            "PlaneDim" => plane,
            "AbsolutePos" => self.cube * x * y + own,
            "AbsolutePosX" => self.cube * x + own % x,
            _ => unreachable!("{name}"),
        }
    }

    fn plane(&self, unit: usize, mask: u32, name: &str, reads: &[Number]) -> u32 {
        let units: Vec<usize> = self.units(mask).collect();
        let of = |unit: usize, at: usize| self.registers[unit][reads[at] as usize];
        let position = units.iter().position(|&other| other == unit).expect("it takes part");
        let to = |at: usize| of(units[at % units.len()], 0);
        let all = || units.iter().map(|&unit| of(unit, 0));
        let below = |count: usize| units[..count].iter().map(|&unit| of(unit, 0));
        let add = |a: u32, b: u32| a.wrapping_add(b);
        match name {
            "elect" => u32::from(position == 0),
            "i_sum" => all().fold(0, add),
            "i_prod" => all().fold(1, u32::wrapping_mul),
            "inclusive_i_sum" => below(position + 1).fold(0, add),
            "exclusive_i_sum" => below(position).fold(0, add),
            "inclusive_i_prod" => below(position + 1).fold(1, u32::wrapping_mul),
            "u_min" => all().min().unwrap_or(0),
            "u_max" => all().max().unwrap_or(0),
            "all" => u32::from(all().all(|of| of != 0)),
            "any" => u32::from(all().any(|of| of != 0)),
            "ballot" => units.iter().fold(0, |mask, &unit| mask | (of(unit, 0) & 1) << unit),
            "shuffle" => to(of(unit, 1) as usize),
            "shuffle_xor" => to(position ^ (of(unit, 1) & 7) as usize),
            "shuffle_up" => to(position + units.len() * 4 - (of(unit, 1) & 3) as usize),
            "shuffle_down" => to(position + (of(unit, 1) & 3) as usize),
            _ => unreachable!("{name}"),
        }
    }
}

fn pure(name: &str, read: &[u32]) -> u32 {
    let [a, b] = [read[0], read[1]];
    match name {
        "math.i_add" => a.wrapping_add(b),
        "math.i_mul" => a.wrapping_mul(b),
        "bitwise.xor" => a ^ b,
        "bitwise.and" => a & b,
        "cmp.u_min" => a.min(b),
        "cmp.u_less_than" => u32::from(a < b),
        "cmp.i_equal" => u32::from(a == b),
        "cmp.i_not_equal" => u32::from(a != b),
        "cube.bool_and" => a & b,
        "cube.bool_or" => a | b,
        "cube.select" => read[if a != 0 { 1 } else { 2 }],
        _ => unreachable!("{name}"),
    }
}
