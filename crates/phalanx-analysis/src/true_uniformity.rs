//! True uniformity: values that are equal over the inactive lanes of a wave as well.
//!
//! # What
//!
//! A uniform value is equal for the threads that compute it together. Whoever moves a computation to a place where other threads are
//! active asks for more: would those get the same?
//!
//! # Definition
//!
//! A value is *truly uniform* when there is one value of it for each wave of a launch: whichever of the wave's threads computes it, whenever and
//! however often, gets that value; and so would any other thread from operands that it holds. It is the largest set such that each member is
//!
//! 1. an argument of a kernel that is a launch constant; or
//! 2. computed in a kernel, outside of all cycles, in a block that all threads of a wave execute or none, and uniform in the wave: a load
//!    in the entry block; or
//! 3. a pure function of members, or of nothing, whose own sources are known and do not vary in a wave: the workgroup's index, a sum of
//!    members; or a phi that selects nothing, of a member. Not a load from private memory: other threads have other memory there.
//!
//! In a function that is not a kernel the threads that were active at the call are all that there are, so only 3 applies there, and to things that
//! are no arguments.
//!
//! Largest or least makes no difference but for phis that select themselves.
//!
//! # Algorithm
//!
//! All values are members until shown otherwise; who is none tells its readers. O(values + uses), after control divergence. Computed when somebody
//! asks.

use phalanx_graph::{BitSet, PostDomTree};
use phalanx_target::SourceSet;

use crate::affect::{UserKind, Value};
use crate::control::control_divergence;
use crate::divergence::{Divergence, Flow, ValueTable};

/// What is known, and of what kind of function.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Its control flow.
    pub flow: Flow<'a>,
    /// The post-dominator tree.
    pub postdom: &'a PostDomTree,
    /// Its values.
    pub table: &'a ValueTable,
    /// What they depend on.
    pub divergence: &'a Divergence,
    /// What varies in a wave.
    pub varying: SourceSet,
    /// How many of the values are arguments; these come first.
    pub arguments: usize,
    /// Whether all threads of a wave enter the function together.
    pub is_kernel: bool,
    /// Whether a value is read from memory that may be other memory in each thread.
    pub is_read_from_private: &'a dyn Fn(Value) -> bool,
}

/// The values that are equal over all lanes of a wave, active or not, by number.
#[must_use]
pub fn truly_uniform(known: Known<'_>) -> BitSet {
    let Known { flow, postdom, table, divergence, varying, arguments, is_kernel, .. } = known;
    let control = control_divergence(flow.cfg, postdom, divergence.terminators());
    // What any thread can name by itself: the rest is unknown but equal among those who are there.
    let named = SourceSet::BLOCK_XYZ
        | SourceSet::CLUSTER
        | SourceSet::THREAD_XYZ
        | SourceSet::LANE
        | SourceSet::WAVE;
    let is_computed_once = |value: Value| {
        let block = table.block(value);
        is_kernel
            && value.index() >= arguments
            && flow.dom.is_reachable(block)
            && flow.cycles.innermost(block).is_none()
            && !control[block.index()].intersects(varying)
            && !divergence.value(value).intersects(varying)
    };
    let mut selects = BitSet::new(table.len());
    for phi in table.all_phis().filter(|phi| phi.is_joinable) {
        selects.insert(phi.value.index());
    }
    // Whether it is one by itself, whatever its operands; whether it is none by itself.
    let mut members = BitSet::new(table.len());
    let mut is_settled = BitSet::new(table.len());
    let mut work = Vec::new();
    for value in table.values() {
        if !table.is_reported(value) {
            // Other threads have other memory, whatever was stored here.
            is_settled.insert(value.index());
            work.push(value);
            continue;
        }
        let seed = table.seed(value);
        let is_known = named.contains(seed) && !seed.intersects(varying);
        let (member, settled) = if value.index() < arguments {
            (is_kernel && seed.is_empty(), true)
        } else if is_computed_once(value) {
            (true, true)
        } else if table.is_phi(value) {
            let selects = selects.contains(value.index());
            (!selects && is_known, selects)
        } else {
            // What ignores its operands is what its sources say.
            let is_private = (known.is_read_from_private)(value);
            let is_member = table.is_pure(value) && is_known && !is_private;
            (is_member, is_private || table.is_fixed(value))
        };
        if member {
            members.insert(value.index());
        } else {
            work.push(value);
        }
        if settled {
            is_settled.insert(value.index());
        }
    }
    while let Some(value) = work.pop() {
        for user in table.affects().users(value) {
            let UserKind::Value(user) = user.kind() else { continue };
            if !is_settled.contains(user.index()) && members.remove(user.index()) {
                work.push(user);
            }
        }
    }
    members
}
