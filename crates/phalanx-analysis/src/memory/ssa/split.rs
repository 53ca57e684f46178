//! Renumbers events after a block was split. The versions stay the same.
//!
//! Events are numbered in the order of block numbers, and the new block has the last number. So the
//! events that moved to it get the last numbers, and those behind them move up:
//!
//! ```text
//! block       a  a  a  b  c           a  b  c  a2 a2
//! event       0  1  2  3  4           0  1  2  3  4
//!                ^ split               numbers.of(1) = 3, numbers.of(3) = 1
//! ```
//!
//! **Complexity.** O(events + entries of phis).

use phalanx_graph::Node;

use super::{Events, Ssa, Version};

/// New numbers of events after `first..end` moved behind all `count` events.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct Renumbered {
    first: u32,
    end: u32,
    count: u32,
}

impl Renumbered {
    /// The new number of the event with this old number.
    pub(in crate::memory) fn of(self, event: u32) -> u32 {
        let Renumbered { first, end, count } = self;
        match event {
            _ if event < first => event,
            _ if event < end => event + (count - end),
            _ => event - (end - first),
        }
    }

    /// Reorders a table by event to the new numbers.
    pub(in crate::memory) fn rotate<T>(self, by_event: &mut [T]) {
        by_event[self.first as usize..].rotate_left((self.end - self.first) as usize);
    }

    fn version(self, version: Version) -> Version {
        match version {
            Version::Def(event) => Version::Def(self.of(event)),
            other => other,
        }
    }
}

impl Events {
    /// Moves the events of block `old` to block `new`, which is behind all others, except the first
    /// `kept` ones.
    pub(in crate::memory) fn split(&mut self, (old, new): (Node, Node), kept: u32) -> Renumbered {
        let of = self.of(old);
        let numbers =
            Renumbered { first: of.start + kept, end: of.end, count: self.list.len() as u32 };
        let moved = numbers.end - numbers.first;
        if moved > 0 {
            numbers.rotate(&mut self.list);
            self.start[old.index() + 1..].iter_mut().for_each(|start| *start -= moved);
            self.start.resize(new.index() + 1, numbers.count - moved);
            self.start.push(numbers.count);
        }
        numbers
    }
}

impl Ssa {
    /// Applies the new numbers of events.
    pub(in crate::memory) fn renumber(&mut self, numbers: Renumbered) {
        numbers.rotate(&mut self.reaching);
        let incoming = self.incoming.iter_mut().map(|(_, version)| version);
        for version in self.reaching.iter_mut().chain(incoming) {
            *version = numbers.version(*version);
        }
    }
}
