//! What `phalanx run` watches beside the results: the trace and data races.

use phalanx::{
    ir::{BlockId, inst::Ordering},
    llvm::SourceMap,
    report::diagnostics::{SourceText, render_error, render_note},
    simt::{
        Observer, Races,
        observe::{Access, Moment, Phase},
        races::{Party, Race},
        trace::Trace,
    },
};
use serde_json::json;

use crate::input::Source;

/// Columns of a trace beyond this are left out.
const COLUMNS: usize = 10_000;

/// What is wanted.
pub(super) struct Watch {
    pub(super) trace: Option<Trace>,
    races: Option<Races>,
}

impl Watch {
    pub(super) fn new(trace: bool, races: Option<Races>) -> Watch {
        Watch { trace: trace.then(|| Trace::new(COLUMNS)), races }
    }

    /// Races that were found; none if they were not looked for.
    pub(super) fn races(&self) -> Option<&[Race]> {
        self.races.as_ref().map(Races::found)
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
    }

    fn fence(&mut self, at: Moment<'_>, ordering: Ordering, reach: phalanx::simt::reach::Reach) {
        if let Some(races) = &mut self.races {
            races.fence(at, ordering, reach);
        }
    }

    fn meet(&mut self, threads: &[u32]) {
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

/// Races with the lines that they are about.
pub(super) fn explain(races: &[Race], source: &Source, map: &SourceMap) -> String {
    let text = SourceText { name: &source.module, text: &source.text };
    let mut out = String::new();
    for race in races {
        let place = |party: &Party| map.inst(party.function, party.inst);
        let (region, address) = (race.region.text(), race.address);
        let (first, second) = (&race.first, &race.second);
        let message = format!(
            "data race at {region} address {address:#x}: thread {} {} what thread {} {}, in no order",
            second.thread,
            does(second),
            first.thread,
            does(first),
        );
        out += &render_error(text, place(second), &message);
        let times = match race.count {
            1 => String::new(),
            count => format!("; the two instructions race on {count} bytes in all"),
        };
        let message = format!("thread {} {} here{times}", first.thread, does(first));
        out += &render_note(text, place(first), &message);
    }
    out
}

/// Races for programs.
pub(super) fn json(races: &[Race], source: &Source, map: &SourceMap) -> serde_json::Value {
    let party = |party: &Party| {
        let line = map.inst(party.function, party.inst).map(|offset| {
            let before = source.text.iter().take(offset as usize);
            1 + before.filter(|&&byte| byte == b'\n').count()
        });
        json!({
            "thread": party.thread,
            "line": line,
            "writes": party.writes,
            "atomic": party.is_atomic,
        })
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
