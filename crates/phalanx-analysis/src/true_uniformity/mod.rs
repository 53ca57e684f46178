//! True uniformity: values that are equal over the inactive lanes of a wave as well.
//!
//! # What
//!
//! A uniform value is equal for the threads that compute it together. A transform that moves a
//! computation to a place where other threads are active needs more: would those get the same
//! value?
//!
//! ```text
//! %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()  ; truly uniform: the same for any thread
//! %v = load i32, ptr %p                             ; in the entry block of a kernel, if uniform;
//!                                                   ; not behind a divergent branch
//! ```
//!
//! # Definition
//!
//! A value is *truly uniform* when there is one value of it for each wave of a launch. Each of the
//! wave's threads that computes it, whenever and however often, gets that value; and so would any
//! other thread from operands that it holds. The truly uniform values are the largest set such that
//! each member is
//!
//! 1. an argument of a kernel that is a launch constant; or
//! 2. computed in a kernel, outside of all cycles, in a block that all threads of a wave execute or
//!    none, and uniform in the wave: a load in the entry block; or
//! 3. a pure function of members, or of nothing, whose own sources are known and do not vary in a
//!    wave: the workgroup's index, a sum of members; or a phi that selects nothing, of a member.
//!    Not a load from private memory: other threads have other memory there.
//!
//! In a function that is not a kernel, nothing is known of threads that were not active at the
//! call. So only 3 applies there, and arguments are no members.
//!
//! The largest and the least such set differ only in phis that select themselves.
//!
//! # Algorithm
//!
//! The caller has one value in mind, so nothing is found for other values. The search goes from the
//! value back through what it is a function of. It ends when all of that rests on 1 and 2, or when
//! a value is no member. O(instructions between the value and those), after divergence and control
//! divergence, which are updated after edits.

#[cfg(any(test, feature = "testing"))]
pub mod twin;

use phalanx_core::{
    affect::Value,
    divergence::{Divergence, FlowFacts, SourceSets},
};
use phalanx_ir::{InstId, Value as Operand, flow::node_of};
use phalanx_target::SourceSet;
use rustc_hash::FxHashSet;

use crate::code::{Code, Definition, Environment, Numbering};
use crate::lower::Single;

/// Sources that any thread can name by itself. Other sources are unknown, but equal among the
/// threads that are there.
const NAMED: SourceSet = SourceSet::BLOCK_XYZ
    .union(SourceSet::CLUSTER)
    .union(SourceSet::THREAD_XYZ)
    .union(SourceSet::LANE)
    .union(SourceSet::QUAD)
    .union(SourceSet::WAVE);

/// Facts about a function, and whether it is a kernel.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Its control flow.
    pub flow: FlowFacts<'a>,
    /// What values and terminators depend on.
    pub divergence: &'a Divergence,
    /// What the execution of each block depends on, by number.
    pub control: &'a SourceSets,
    /// The sources that vary in a wave.
    pub varying: SourceSet,
    /// Whether all threads of a wave enter the function together.
    pub is_kernel: bool,
}

/// Whether a value is equal over all lanes of a wave, active or not. A constant is.
#[must_use]
pub fn is_truly_uniform(
    code: Code<'_>,
    env: Environment<'_>,
    known: Known<'_>,
    value: Operand,
) -> bool {
    let numbering = Numbering::new(code.header);
    let Some(value) = numbering.operand(value) else { return true };
    let single = Single::new(code, env);
    let mut search = Search { code, numbering, known, single };
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        let inst = match numbering.definition(value) {
            Definition::Argument(position) => {
                let is_constant = search.single.argument(position).is_empty();
                if known.is_kernel && is_constant {
                    continue;
                }
                return false;
            }
            Definition::Inst(inst) => inst,
        };
        match search.of(inst) {
            Membership::Always => {}
            Membership::AsOperands => search.single.reads(inst, |operand| work.push(operand)),
            Membership::Never => return false,
        }
    }
    true
}

/// Whether a value is truly uniform.
enum Membership {
    Always,
    /// If all of its operands are.
    AsOperands,
    Never,
}

struct Search<'a> {
    code: Code<'a>,
    numbering: Numbering,
    known: Known<'a>,
    single: Single<'a>,
}

impl Search<'_> {
    fn of(&mut self, inst: InstId) -> Membership {
        if self.is_computed_once(inst) {
            return Membership::Always;
        }
        let own = self.single.contribution(inst);
        let is_known = NAMED.contains(own.seed) && !own.seed.intersects(self.known.varying);
        // Loaded values have unknown sources of their own, except from constant memory.
        if !own.is_pure || !is_known {
            return Membership::Never;
        }
        match own.is_fixed {
            true => Membership::Always,
            false => Membership::AsOperands,
        }
    }

    /// Whether each wave computes it at most once, and gets one value.
    fn is_computed_once(&self, inst: InstId) -> bool {
        let Known { flow, divergence, control, varying, is_kernel } = self.known;
        let Some(block) = self.code.body.block_of(inst).map(node_of) else { return false };
        is_kernel
            && flow.dom.is_reachable(block)
            && flow.cycles.innermost(block).is_none()
            && !control[block.index()].intersects(varying)
            && !divergence.value(self.numbering.inst(inst)).intersects(varying)
    }
}
