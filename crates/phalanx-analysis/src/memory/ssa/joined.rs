//! Joins two SSA forms of different variables of one graph.
//!
//! # What
//!
//! [`Ssa::joined`] gives the form that [`Ssa::new`] finds for the variables of both parts together.
//! The versions of a variable depend only on its own events and on the graph. So joining recomputes
//! nothing: it only renumbers events, variables and phis.
//!
//! # How
//!
//! The caller gives the new number of each event and each variable; one without a number is left
//! out. Phis are sorted by block and variable in both parts, so a merge sorts them in the result.
//! The new variable numbers have to keep the order within each part.
//!
//! **Complexity.** O(events + entries of phis).

use phalanx_graph::Node;

use super::{Event, EventKind, Events, MemoryPhi, Ssa, Version};

/// Stands in place of a number for an event or variable that is left out.
pub(in crate::memory) const LEFT_OUT: u32 = u32::MAX;

/// An SSA form, and the new numbers of its events and variables.
#[derive(Clone, Copy)]
pub(in crate::memory) struct Part<'a> {
    pub(in crate::memory) events: &'a Events,
    pub(in crate::memory) ssa: &'a Ssa,
    /// The new number by event.
    pub(in crate::memory) event: &'a [u32],
    /// The new number by variable.
    pub(in crate::memory) variable: &'a [u32],
}

impl Part<'_> {
    fn variable(&self, old: u32) -> Option<u32> {
        self.variable.get(old as usize).copied().filter(|&new| new != LEFT_OUT)
    }

    /// Kept phis: block, new number of the variable, old number of the phi.
    fn phis(&self) -> impl Iterator<Item = (Node, u32, u32)> {
        let numbered = self.ssa.phis.iter().zip(0..);
        numbered.filter_map(|(phi, at)| Some((phi.block, self.variable(phi.variable)?, at)))
    }
}

impl Ssa {
    /// Joins two parts. `start` has the first event of each block, and then the number of events.
    /// `None` if the numbers of the parts do not fit together.
    pub(in crate::memory) fn joined(
        start: Vec<u32>,
        parts: [Part<'_>; 2],
    ) -> Option<(Events, Self)> {
        let count = *start.last()? as usize;
        let (phis, number) = merged(parts);
        let mut ssa = Ssa { reaching: vec![Version::Entry; count], ..Ssa::default() };
        let nothing = Event { variable: LEFT_OUT, kind: EventKind::Use };
        let mut list = vec![nothing; count];
        for (part, number) in parts.iter().zip(&number) {
            let renamed = |version| renamed(version, part.event, number);
            for (old, &new) in part.event.iter().enumerate().filter(|(_, new)| **new != LEFT_OUT) {
                let event = part.events.event(old as u32);
                *list.get_mut(new as usize)? =
                    Event { variable: part.variable(event.variable)?, ..event };
                ssa.reaching[new as usize] = renamed(part.ssa.reaching[old])?;
            }
        }
        for (of, block, variable, old) in phis {
            let part = &parts[of];
            let first = ssa.incoming.len() as u32;
            for (pred, version) in part.ssa.incoming(&part.ssa.phis[old as usize]) {
                ssa.incoming.push((*pred, renamed(*version, part.event, &number[of])?));
            }
            let end = ssa.incoming.len() as u32;
            ssa.phis.push(MemoryPhi { block, variable, first, end });
        }
        Some((Events { start, list }, ssa))
    }
}

/// Renumbers a version. `None` if its event or phi is left out.
fn renamed(version: Version, event: &[u32], phi: &[u32]) -> Option<Version> {
    let of = |numbers: &[u32], old: u32| {
        numbers.get(old as usize).copied().filter(|&new| new != LEFT_OUT)
    };
    Some(match version {
        Version::Entry => Version::Entry,
        Version::Def(old) => Version::Def(of(event, old)?),
        Version::Phi(old) => Version::Phi(of(phi, old)?),
    })
}

/// Merges the phis of both parts, sorted by block and variable. Each one has its part (0 or 1),
/// block, new variable and old number. The second result maps old to new numbers, for each part.
#[expect(clippy::type_complexity)]
fn merged(parts: [Part<'_>; 2]) -> (Vec<(usize, Node, u32, u32)>, [Vec<u32>; 2]) {
    let mut number = parts.map(|part| vec![LEFT_OUT; part.ssa.phis.len()]);
    let mut phis = Vec::with_capacity(parts.iter().map(|part| part.ssa.phis.len()).sum());
    let [mut one, mut other] = [parts[0].phis().peekable(), parts[1].phis().peekable()];
    loop {
        let is_first = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) => (a.0, a.1) < (b.0, b.1),
            (a, _) => a.is_some(),
        };
        let (of, next) = if is_first { (0, one.next()) } else { (1, other.next()) };
        let Some((block, variable, old)) = next else { return (phis, number) };
        number[of][old as usize] = phis.len() as u32;
        phis.push((of, block, variable, old));
    }
}
