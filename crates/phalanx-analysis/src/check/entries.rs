//! The arguments that single threads call a function with.
//!
//! # What
//!
//! [`walk`](super::walk) executes a function for one thread and does not know the arguments. If
//! callers are known, their walks up to the call give what the thread passes ([`Entry`]). A walk
//! that starts with an entry continues where the walk in the caller has ended:
//!
//! ```text
//! kernel:  call @sync(i32 %odd)             ; thread 0 passes 0, thread 1 passes 1
//! @sync:   call @barrier.cta.sync.all(%n)   ; so they wait at two barriers
//! ```
//!
//! If two threads come to one call with different numbers, that is enough for an error, whatever
//! other callers do. So each call is looked at by itself ([`Entries`]). If a kernel of this module
//! calls a function wrongly, the function has an error even if other modules call it as well.
//!
//! Other calls may show that nothing is wrong. [`passes_one`] says that a call passes one value in
//! all threads that come together. If all calls of a function do, the argument is the same for all.
//!
//! # Invariants
//!
//! - An entry is the thread's *first* arrival at the call. [`Entry::rounds`] are the rounds of the
//!   cycles around the call, so arrivals in the callee are compared only if both threads came in
//!   the same round.
//! - A thread has no entry if it does not come to the call, or if nothing is known of it. A thread
//!   that goes another way and has not ended is known to stay away.
//! - No entry is made for a thread that no launch of the kernel has.
//!
//! **Complexity.** A walk per thread and call, for at most [`CALLS`] calls, through at most
//! [`DEPTH`] functions.

use phalanx_graph::Node;
use phalanx_ir::{InstId, flow::node_of};
use phalanx_target::Scope;

use super::facts::{Entries, Entry};
use super::{
    Facts,
    members::ends,
    numbers::is_one,
    sites::{Site, SiteKind},
    walk::{Arrival, Came, Walks},
    witness::{self, Decision},
};

/// How many calls of a function are looked at.
pub const CALLS: usize = 8;
/// Through how many functions arguments are tracked upwards.
pub const DEPTH: usize = 4;

/// What these threads come to a call with, from the facts about the caller: once for each call of
/// the caller, or once if its own callers are not known. An entry is left out if none of `threads`
/// has a known argument.
#[must_use]
pub fn entries(facts: Facts<'_>, call: InstId, threads: &[[u32; 3]], scope: Scope) -> Vec<Entries> {
    let Some(block) = facts.code.body.block_of(call).map(node_of) else { return Vec::new() };
    let site = Site { inst: call, block, kind: SiteKind::Arguments, in_assembly: None };
    let walks = Walks::new(facts, &site, scope);
    let mut found = Vec::new();
    let outer = facts.passed.entries(threads, scope);
    let outer: Vec<Option<&Entries>> = match outer.is_empty() {
        true => vec![None],
        false => outer.iter().map(Some).collect(),
    };
    for outer in outer {
        let known = at_call(facts, &walks, threads, outer);
        found.extend(known.filter(|known| !known.come.is_empty()));
    }
    found.truncate(CALLS);
    found
}

fn at_call(
    facts: Facts<'_>,
    walks: &Walks<'_>,
    threads: &[[u32; 3]],
    outer: Option<&Entries>,
) -> Option<Entries> {
    let exists = |thread: &[u32; 3]| (0..3).all(|at| thread[at] < facts.launch.max_extent(at));
    let mut found = Entries::default();
    for (index, &thread) in threads.iter().enumerate().filter(|(_, thread)| exists(thread)) {
        let has_ended = |block| facts.is_kernel && ends(facts, block);
        match walks.of(thread, outer) {
            Came::Comes(arrivals) => {
                let first = arrivals.into_iter().next();
                let first = first.filter(|first| first.arguments.iter().any(Option::is_some));
                if let Some(Arrival { rounds, arguments, is_sure }) = first {
                    found.come.insert(thread, Entry { rounds, arguments, is_sure });
                }
            }
            Came::NotCalled => _ = found.away.insert(thread),
            Came::StaysAway(block) if !has_ended(block) => _ = found.away.insert(thread),
            Came::StaysAway(_) | Came::Unknown => {}
        }
        // If nothing is known of the first threads, nothing is known of the others.
        if index > 1 && found.come.is_empty() && found.away.is_empty() {
            return None;
        }
    }
    Some(found)
}

/// Whether all threads of a group that come to a call together pass one value, and all of a group
/// come if one does.
///
/// Groups are those of a scope. If the size of workgroups is not known, the threads of a wave are
/// assumed to be in a row of whole waves, as in [`numbers`](super::numbers).
#[must_use]
pub fn passes_one(facts: Facts<'_>, call: InstId, argument: usize, scope: Scope) -> bool {
    let body = facts.code.body;
    let Some(&value) = body.call_args(call).get(argument) else { return false };
    let Some(block) = body.block_of(call).map(node_of) else { return false };
    let parts = |branch: Node| {
        let is_together = || witness::decision(facts, branch, scope) != Decision::Unknown;
        !facts.parting(branch, scope).is_empty() && !is_together()
    };
    let branches = facts.control.iterated_controllers(facts.postdom, [block]);
    !branches.into_iter().any(parts) && is_one(facts, (call, value), scope)
}
