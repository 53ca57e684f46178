//! Builds a report from facts: sentences, costs and their order.

use std::{cmp::Reverse, collections::hash_map::Entry as Known};

use phalanx_analysis::check::{
    WaveCost,
    accesses::{Reach, Reached},
    costs::{BranchCost, LoopCost},
};
use phalanx_db::{Database, FunctionInput, queries};
use phalanx_ir::{InstId, Opcode};
use phalanx_target::{Scope, SourceSet, SpaceKind, varying};
use rustc_hash::FxHashMap;

use super::{
    ROUNDS,
    model::{AccessEntry, BranchEntry, Entry, FunctionCosts, LoopEntry, WaveEntry},
};
use crate::check::{Checker, distance};
use crate::explain::words::{Dialect, source};
use crate::source::Location;

/// How many loops around an access multiply its cost.
const LOOPS: u32 = 4;

const NEIGHBOURS: &str = "let lanes that follow each other access what follows each other: exchange \
     the loops or the indices, go through workgroup memory, or make a structure of arrays";
const GATHER: &str = "let lanes of a wave want neighbours: sort or group the indices, or keep the \
     table in workgroup memory";
const COPIES: &str = "let lanes of a wave want different banks: keep a copy of the table for each \
     wave, or shift the copies by a bank";
const BANKS: &str = "make rows one element longer than they have to be, so that columns go through \
     all banks";
const ATOMIC: &str = "let lanes sum up among themselves first, and one of them update memory";
const BRANCH: &str = "let whole waves go one way: group the work by what the branch asks for, or move \
     what both sides do out of it";
const ROUND: &str = "give the lanes of a wave equally many rounds: group the work by length, or let a \
     wave share the rounds of each piece";

/// What a function costs; none for a declaration.
#[must_use]
pub fn performance(
    db: &Database,
    input: FunctionInput,
    checker: &Checker<'_>,
) -> Option<FunctionCosts> {
    let costs = queries::costs(db, input)?;
    let words = Words { db, input, checker, dialect: Dialect::of(db, input.module(db)) };
    let accesses = costs.accesses.iter().map(|(reached, depth)| words.access(reached, *depth));
    let branches = costs.branches.iter().map(|branch| words.branch(branch));
    let mut entries: Vec<Entry> = accesses.chain(branches).collect();
    entries.extend(costs.loops.iter().map(|of| words.round(of)));
    entries.sort_by_key(|entry| {
        (Reverse(entry.cost), entry.location.ir.line, entry.location.ir.column)
    });
    let entries = without_copies(entries);
    let (name, symbol) = checker.function_name();
    let kernel = queries::is_kernel(db, input);
    Some(FunctionCosts { name: name.to_owned(), symbol: symbol.to_owned(), kernel, entries })
}

/// Entries, the most expensive first, without equal entries of one place, which the compiler has
/// unrolled. All loops of one place count as copies, since unrolling leaves a remainder loop.
fn without_copies(entries: Vec<Entry>) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::new();
    let mut places: FxHashMap<_, usize> = FxHashMap::default();
    for entry in entries {
        if entry.location.source.is_none() {
            kept.push(entry);
            continue;
        }
        let Location { source, inlined, inlined_at, .. } = entry.location.clone();
        let place = (source, inlined, inlined_at);
        let message = if entry.kind == "loop" { String::new() } else { entry.message.clone() };
        match places.entry((entry.kind, place, message)) {
            Known::Occupied(at) => kept[*at.get()].copies += 1,
            Known::Vacant(place) => {
                place.insert(kept.len());
                kept.push(entry);
            }
        }
    }
    kept
}

struct Words<'a> {
    db: &'a Database,
    input: FunctionInput,
    checker: &'a Checker<'a>,
    dialect: Dialect,
}

impl Words<'_> {
    fn entry(&self, kind: &'static str, inst: InstId, sources: SourceSet, depth: u32) -> Entry {
        let of_wave = varying(Scope::Wave, queries::launch_facts(self.db, self.input));
        Entry {
            kind,
            cost: 0,
            at_most: false,
            depth,
            copies: 1,
            message: String::new(),
            assumed: Vec::new(),
            fix: None,
            depends_on: (sources & of_wave).iter().map(|one| source(one, self.dialect)).collect(),
            location: self.checker.location(inst),
            access: None,
            branch: None,
            round: None,
        }
    }

    fn access(&self, reached: &Reached, depth: u32) -> Entry {
        let Reached { inst, space, reach, cost, .. } = *reached;
        let operation = match self.input.body(self.db).inst(inst).opcode {
            Opcode::Load => "load",
            Opcode::Store => "store",
            _ => "atomic",
        };
        let is_global = space == SpaceKind::Global;
        let is_sum = reach == Reach::One && reached.rule.is_some();
        let unit = match is_global {
            _ if is_sum => "updates",
            true => "transactions",
            false => "bank cycles",
        };
        let distance = cost
            .symbol
            .map(|symbol| distance(symbol.bytes, &self.checker.value_name(symbol.value)));
        let known = cost.waves.into_iter().flatten();
        let (waves, at_most) = match reach {
            // If the addresses are unknown, each lane may need a transaction of its own.
            Reach::Symbolic(_) | Reach::Gather => (self.worst(is_global, cost.size), true),
            _ => (known.collect(), false),
        };
        let spared = waves.first().map_or(0, |wave| wave.count.saturating_sub(wave.least));
        let fix = match reach {
            Reach::One => ATOMIC,
            Reach::Gather if is_global => GATHER,
            Reach::Gather => COPIES,
            _ if is_global => NEIGHBOURS,
            _ => BANKS,
        };
        let where_lanes_are = of_reach(reach, distance.as_deref(), cost.in_rows);
        let space = if is_global { "global" } else { "workgroup" };
        let counts = in_words(&waves, unit, at_most);
        let mut assumed = Vec::new();
        assumed.extend(cost.assumes_no_wrap.then_some("no index wraps"));
        assumed.extend(cost.in_rows.then_some("a wave is in one row of the workgroup"));
        let waves = waves.iter().map(|wave| WaveEntry {
            lanes: wave.lanes,
            count: wave.count,
            least: wave.least,
        });
        Entry {
            cost: weighed(spared, depth),
            at_most,
            message: format!(
                "{operation} of {} bytes of {space} memory, {where_lanes_are}{counts}",
                cost.size
            ),
            assumed,
            fix: (spared > 0 && reached.rule.is_some() || at_most).then_some(fix),
            access: Some(AccessEntry {
                operation,
                space,
                reach: name(reach),
                stride: cost.stride,
                distance,
                size: cost.size,
                unit,
                waves: waves.collect(),
            }),
            ..self.entry("access", inst, reached.sources, depth)
        }
    }

    /// The cost if each lane accesses memory separately, for the known width of waves, or for 32
    /// and 64.
    fn worst(&self, is_global: bool, size: u32) -> Vec<WaveCost> {
        let width = queries::launch_facts(self.db, self.input).wave_width;
        let widths = width.map_or(vec![32, 64], |width| vec![width]);
        let cost = |lanes: u32| WaveCost {
            lanes,
            count: lanes.saturating_mul(size.div_ceil(32)),
            least: if is_global { lanes.saturating_mul(size).div_ceil(32) } else { 1 },
        };
        widths.into_iter().map(cost).collect()
    }

    fn branch(&self, branch: &BranchCost) -> Entry {
        let sides: Vec<String> = branch.sides.iter().map(u32::to_string).collect();
        let extra = branch.extra();
        let what = match extra {
            0 => "lanes part, and one side is empty",
            _ => "lanes part, and a wave executes both sides",
        };
        Entry {
            cost: weighed(extra, branch.depth),
            message: format!("{what}: {} instructions", sides.join(" and ")),
            fix: (extra > 0).then_some(BRANCH),
            branch: Some(BranchEntry { sides: branch.sides.clone() }),
            ..self.entry("branch", branch.inst, branch.sources, branch.depth)
        }
    }

    fn round(&self, of: &LoopCost) -> Entry {
        Entry {
            cost: weighed(of.instructions, of.depth),
            message: format!(
                "lanes leave the loop in different rounds, and wait for the last: {} instructions a \
                 round",
                of.instructions
            ),
            fix: Some(ROUND),
            round: Some(LoopEntry { instructions: of.instructions }),
            ..self.entry("loop", of.exit, of.sources, of.depth)
        }
    }
}

fn weighed(units: u32, depth: u32) -> u64 {
    u64::from(units) * u64::from(ROUNDS).pow(depth.min(LOOPS))
}

const fn name(reach: Reach) -> &'static str {
    match reach {
        Reach::One => "one",
        Reach::Consecutive => "consecutive",
        Reach::Strided(_) => "strided",
        Reach::Symbolic(_) => "symbolic",
        Reach::Irregular => "irregular",
        Reach::Gather => "gather",
        Reach::Unknown => "unknown",
    }
}

fn of_reach(reach: Reach, distance: Option<&str>, in_rows: bool) -> String {
    let row = if in_rows { " of a row" } else { "" };
    match reach {
        Reach::One => format!("one address for all lanes{row}"),
        Reach::Consecutive => format!("lanes{row} follow each other"),
        Reach::Strided(bytes) => format!("{bytes} bytes from lane to lane{row}"),
        Reach::Symbolic(_) => {
            format!("{} bytes from lane to lane{row}", distance.unwrap_or("some"))
        }
        Reach::Irregular => format!("lanes{row} at known places, not at one distance"),
        Reach::Gather => "lanes where loaded data say".to_owned(),
        Reach::Unknown => "it is not known where lanes are".to_owned(),
    }
}

/// `: 32 transactions where 4 would do, for 32 lanes`
fn in_words(waves: &[WaveCost], unit: &str, at_most: bool) -> String {
    let mut said = Vec::new();
    for (number, WaveCost { lanes, count, least }) in waves.iter().enumerate() {
        let at_most = if at_most { "up to " } else { "" };
        let unit = match (number, count) {
            (0, 1) => format!(" {}", unit.strip_suffix('s').unwrap_or(unit)),
            (0, _) => format!(" {unit}"),
            _ => String::new(),
        };
        let least = match count > least {
            true => format!(" where {least} would do"),
            false => String::new(),
        };
        said.push(format!("{at_most}{count}{unit}{least} for {lanes} lanes"));
    }
    if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) }
}
