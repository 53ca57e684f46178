//! Observations of `phalanx run` besides the results: the trace, data races, and reads of unwritten
//! memory.

use phalanx::{
    ir::{BlockId, inst::Ordering},
    simt::{
        Observer, Races, Together, Unwritten,
        memory::Region,
        observe::{Access, Moment, Phase},
        races::{Party, Race},
        together::{Broken, MaskedLane, Place, Rule},
        trace::Trace,
        unwritten::UnwrittenRead,
    },
};
use serde_json::{Value, json};

use super::places::Places;

/// Columns of a trace beyond this are left out.
const COLUMNS: usize = 10_000;

/// What is to be observed, and the observers.
pub(super) struct Watch {
    pub(super) trace: Option<Trace>,
    races: Option<Races>,
    unwritten: Option<Unwritten>,
    together: Option<Together>,
}

impl Watch {
    pub(super) fn new(trace: bool, races: Option<Races>) -> Watch {
        let unwritten = races.is_some().then(Unwritten::default);
        let together = races.is_some().then(Together::default);
        Watch { trace: trace.then(|| Trace::new(COLUMNS)), races, unwritten, together }
    }

    /// The observed races; none if they were not looked for.
    pub(super) fn races(&self) -> Option<&[Race]> {
        self.races.as_ref().map(Races::found)
    }

    /// The observed reads of unwritten memory, likewise.
    pub(super) fn unwritten(&self) -> Option<&[UnwrittenRead]> {
        self.unwritten.as_ref().map(Unwritten::found)
    }

    /// The observed violations of rules for operations that threads execute together, likewise.
    pub(super) fn broken(&self) -> Option<&[Broken]> {
        self.together.as_ref().map(Together::found)
    }

    /// Whether there is nothing to report.
    pub(super) fn is_silent(&self) -> bool {
        self.races().unwrap_or_default().is_empty()
            && self.unwritten().unwrap_or_default().is_empty()
            && self.broken().unwrap_or_default().is_empty()
    }
}

impl Observer for Watch {
    fn block(&mut self, at: Moment<'_>, block: BlockId, from: Option<BlockId>) {
        if let Some(trace) = &mut self.trace {
            trace.block(at, block, from);
        }
    }

    fn wants_accesses(&self) -> bool {
        self.races.is_some()
    }

    fn access(&mut self, at: Moment<'_>, access: &Access) {
        if let Some(races) = &mut self.races {
            races.access(at, access);
        }
        if let Some(unwritten) = &mut self.unwritten {
            unwritten.access(at, access);
        }
    }

    fn fence(&mut self, at: Moment<'_>, ordering: Ordering, reach: phalanx::simt::reach::Reach) {
        if let Some(races) = &mut self.races {
            races.fence(at, ordering, reach);
        }
    }

    fn apart(&mut self, one: (u32, Place), other: (u32, Place)) {
        if let Some(together) = &mut self.together {
            together.apart(one, other);
        }
    }

    fn masked(&mut self, place: Place, lanes: &[MaskedLane], absent: &[(u32, u32)]) {
        if let Some(together) = &mut self.together {
            together.masked(place, lanes, absent);
        }
    }

    fn meet(&mut self, threads: &[u32]) {
        if let Some(together) = &mut self.together {
            threads.iter().for_each(|&thread| together.comes(thread));
        }
        if let Some(races) = &mut self.races {
            races.meet(threads);
        }
    }

    fn arrive(&mut self, thread: u32, phase: Phase) {
        if let Some(races) = &mut self.races {
            races.arrive(thread, phase);
        }
    }

    fn pass(&mut self, thread: u32, phase: Phase) {
        if let Some(races) = &mut self.races {
            races.pass(thread, phase);
        }
    }
}

/// `atomically writes`
fn does(party: &Party) -> String {
    let verb = if party.writes { "writes" } else { "reads" };
    format!("{}{verb}", if party.is_atomic { "atomically " } else { "" })
}

/// Races, and reads of unwritten memory, with the lines that they are about.
pub(super) fn explain(watch: &Watch, places: &Places<'_>) -> String {
    let mut out = String::new();
    for race in watch.races().unwrap_or_default() {
        let at = |party: &Party| Some((party.function, party.inst));
        let (first, second) = (&race.first, &race.second);
        let message = format!(
            "data race at {}: thread {} {} what thread {} {}, in no order",
            places.memory(race.region, race.address),
            second.thread,
            does(second),
            first.thread,
            does(first),
        );
        out += &places.error(at(second), &message);
        let times = match race.count {
            1 => String::new(),
            count => format!("; the two instructions race on {count} bytes in all"),
        };
        let message = format!("thread {} {} here{times}", first.thread, does(first));
        out += &places.note(at(first), &message);
    }
    for broken in watch.broken().unwrap_or_default() {
        out += &places.error(Some(broken.place), &sentence(broken));
        if let Some(other) = broken.other {
            let message = format!("thread {} waits here", broken.threads[1]);
            out += &places.note(Some(other), &message);
        }
    }
    for read in watch.unwritten().unwrap_or_default() {
        let what = places.memory(Region::Shared, read.address);
        let times = match read.count {
            1 => String::new(),
            count => format!("; the instruction does so {count} times"),
        };
        let message =
            format!("thread {} reads {what}, which no thread has written{times}", read.thread);
        out += &places.error(Some((read.function, read.inst)), &message);
    }
    out
}

/// What is wrong with an operation that threads execute together.
fn sentence(broken: &Broken) -> String {
    let ([thread, other], [mask, others]) = (broken.threads, broken.masks);
    match broken.rule {
        Rule::OneBarrier => {
            format!("threads of a workgroup wait at different barriers: thread {thread} waits here")
        }
        Rule::OwnMask => {
            format!("thread {thread} executes this with the mask {mask:#010x}, which it is not in")
        }
        Rule::OneMask => format!(
            "threads {thread} and {other} execute this with different masks: {mask:#010x} and \
             {others:#010x}"
        ),
        Rule::NamedLanes => format!(
            "the mask {mask:#010x} of thread {thread} includes thread {other}, which does not \
             execute this and has not ended"
        ),
    }
}

/// Broken rules as JSON.
pub(super) fn json_broken(broken: &[Broken], places: &Places<'_>) -> Value {
    let place = |(function, inst): Place| {
        let (line, source) = places.json(function, inst);
        let mut out = json!({ "line": line });
        add_source(&mut out, source);
        out
    };
    let one = |broken: &Broken| {
        let mut out = json!({
            "rule": match broken.rule {
                Rule::OneBarrier => "one-barrier",
                Rule::OwnMask => "own-mask",
                Rule::OneMask => "one-mask",
                Rule::NamedLanes => "named-lanes",
            },
            "message": sentence(broken),
            "threads": broken.threads,
            "at": place(broken.place),
        });
        if let Some(other) = broken.other {
            out["other"] = place(other);
        }
        out
    };
    broken.iter().map(one).collect()
}

/// Races as JSON.
pub(super) fn json(races: &[Race], places: &Places<'_>) -> Value {
    let party = |party: &Party| {
        let (line, source) = places.json(party.function, party.inst);
        let mut out = json!({
            "thread": party.thread,
            "line": line,
            "writes": party.writes,
            "atomic": party.is_atomic,
        });
        add_source(&mut out, source);
        out
    };
    let race = |race: &Race| {
        json!({
            "space": race.region.text(),
            "address": race.address,
            "bytes": race.count,
            "first": party(&race.first),
            "second": party(&race.second),
        })
    };
    races.iter().map(race).collect()
}

/// Reads of unwritten memory as JSON.
pub(super) fn json_unwritten(reads: &[UnwrittenRead], places: &Places<'_>) -> Value {
    let read = |read: &UnwrittenRead| {
        let (line, source) = places.json(read.function, read.inst);
        let mut out = json!({
            "thread": read.thread,
            "line": line,
            "address": read.address,
            "times": read.count,
        });
        add_source(&mut out, source);
        out
    };
    reads.iter().map(read).collect()
}

fn add_source(out: &mut Value, source: Value) {
    if !source.is_null() {
        out["source"] = source;
    }
}
