//! Divides one SSA form of many variables into one form per group of variables.
//!
//! # What
//!
//! [`Ssa::divided`] gives for each group the form that [`Ssa::sparse`] finds for the group alone.
//! The versions of a variable depend only on its own events and on the graph. So dividing
//! recomputes nothing: it only renumbers events, variables and phis within their group.
//!
//! ```text
//! store 1, %x    ; event 0         group 0: event 0
//! store 2, %y    ; event 1         group 1: event 0
//! load %x        ; event 2 reads 0 group 0: event 1 reads 0
//! ```
//!
//! **Complexity.** O(events + entries of phis + groups).

use super::{Events, MemoryPhi, Ssa, Version};

/// The group of a variable or event, and its number there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct GroupNumber {
    /// The group.
    pub(in crate::memory) group: u32,
    /// The number within the group.
    pub(in crate::memory) number: u32,
}

impl Ssa {
    /// The forms of groups `0..groups`. `variables` and `events` give the place of each variable
    /// and each event. The numbers within a group keep the order of the whole form.
    pub(in crate::memory) fn divided(
        &self,
        all: &Events,
        groups: usize,
        (variables, events): (&[GroupNumber], &[GroupNumber]),
    ) -> Vec<(Events, Ssa)> {
        let mut made: Vec<(Events, Ssa)> = vec![<(Events, Ssa)>::default(); groups];
        let mut phis: Vec<u32> = Vec::with_capacity(self.phis.len());
        let mut counts = vec![0; groups];
        for phi in &self.phis {
            let count: &mut u32 = &mut counts[variables[phi.variable as usize].group as usize];
            phis.push(*count);
            *count += 1;
        }
        let version = |version: Version| match version {
            Version::Entry => Version::Entry,
            Version::Def(event) => Version::Def(events[event as usize].number),
            Version::Phi(phi) => Version::Phi(phis[phi as usize]),
        };
        let mut counts = vec![0; groups];
        events.iter().for_each(|place| counts[place.group as usize] += 1);
        let nothing = super::Event { variable: 0, kind: super::EventKind::Use };
        for ((events, ssa), count) in made.iter_mut().zip(counts) {
            events.list = vec![nothing; count];
            ssa.reaching = vec![Version::Entry; count];
        }
        for (number, place) in events.iter().enumerate() {
            let (events, ssa) = &mut made[place.group as usize];
            let mut event = all.list[number];
            event.variable = variables[event.variable as usize].number;
            events.list[place.number as usize] = event;
            ssa.reaching[place.number as usize] = version(self.reaching[number]);
        }
        for phi in &self.phis {
            let place = variables[phi.variable as usize];
            let ssa = &mut made[place.group as usize].1;
            let first = ssa.incoming.len() as u32;
            let entries = self.incoming(phi).iter();
            ssa.incoming.extend(entries.map(|&(pred, before)| (pred, version(before))));
            let end = ssa.incoming.len() as u32;
            ssa.phis.push(MemoryPhi { block: phi.block, variable: place.number, first, end });
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use phalanx_graph::{Cfg, DomTree, DominanceFrontier, Node};

    use super::*;
    use crate::memory::ssa::{Event, EventKind, Frontiers, Pruning};

    /// Of two variables that are written on both sides of a diamond, each has the form that it has
    /// alone, phis included.
    #[test]
    fn a_group_has_the_form_that_it_has_alone() {
        let n = Node::new;
        let cfg = Cfg::new(n(0), [vec![n(1), n(2)], vec![n(3)], vec![n(3)], vec![]]);
        let dom = DomTree::new(&cfg);
        let event = |at, variable, kind| (n(at), Event { variable, kind });
        let by_block = [
            event(0, 1, EventKind::MustDef),
            event(0, 0, EventKind::MustDef),
            event(1, 0, EventKind::MayDef),
            event(2, 1, EventKind::MustDef),
            event(3, 1, EventKind::Use),
            event(3, 0, EventKind::Use),
        ];
        let (all, _) = Events::new(4, &by_block);
        let ssa = Ssa::new(&cfg, &dom, &all, 2, Pruning::Live);
        let variables = [0, 1].map(|group| GroupNumber { group, number: 0 });
        let mut counts = [0; 2];
        let events = by_block.map(|(_, event)| {
            let number = &mut counts[event.variable as usize];
            *number += 1;
            GroupNumber { group: event.variable, number: *number - 1 }
        });
        let frontier = DominanceFrontier::new(&cfg, &dom);
        let graph = Frontiers { cfg: &cfg, dom: &dom, frontier: &|| &frontier };
        for (group, (_, of_group)) in (0..).zip(ssa.divided(&all, 2, (&variables, &events))) {
            let own = by_block.iter().filter(|(_, event)| event.variable == group);
            let own = own.map(|&(at, event)| (at, Event { variable: 0, ..event }));
            let (_, alone) = Ssa::sparse(graph, &own.collect::<Vec<_>>(), 1);
            assert_eq!(of_group.phis().len(), 1);
            assert_eq!(of_group, alone, "group {group}");
        }
    }
}
