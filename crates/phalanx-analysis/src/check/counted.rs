//! Loops over the elements of a workgroup whose counter is in a stack slot, as in code that is compiled without optimisation.
//!
//! ```text
//! i = tid; while (i < n) { ...; i = i + 256; }      // 256 threads, n a multiple of 256
//! ```
//!
//! # What
//!
//! [`shape`](crate::shape) knows such loops by the phi of the counter. Here the counter is a slot with two stores and nothing else but loads: one before the loop, of a function of the
//! thread's index that can be evaluated ([`witness`](super::witness)), and one in each round, of a number more. The branch in the header compares what the slot holds with
//! something that is the same for all threads.
//!
//! # Why all decide alike
//!
//! Let the number that is added, and what the counter is compared with, be multiples of a power of two. Threads that were together so far are in one round. There the
//! bits of their counters from that power on differ as they did before the first round, and those below are what they were. So if all threads begin with the same
//! high bits, and compare the low ones alike, all decide alike, whatever wraps.
//!
//! The second store is executed once in each round: its block is in no cycle within the loop and dominates the only block that leads back. The first one is executed each
//! time before the loop is entered: it dominates the header, and is in the cycle around the loop and in none within that.
//!
//! O(uses of the slot, and threads × operations of what the counter begins with).

use phalanx_graph::Node;
use phalanx_ir::{
    InstId, Opcode, Value,
    edit::Use,
    flow::{block_of, node_of},
};
use phalanx_target::Scope;

use super::{
    Facts,
    witness::{self, Expression, OPERATIONS},
};
use crate::lower::Numbering;

/// Whether all threads of a workgroup that come together to the branch at the end of a block go one way, as they have made the same number of rounds.
pub(super) fn is_alike(facts: Facts<'_>, branch: Node, scope: Scope) -> bool {
    scope <= Scope::Workgroup && rounds(facts, branch, scope).unwrap_or(false)
}

fn rounds(facts: Facts<'_>, branch: Node, scope: Scope) -> Option<bool> {
    let (body, cycles) = (facts.code.body, facts.cycles);
    let cycle = cycles.innermost(branch).filter(|&cycle| cycles.header(cycle) == branch)?;
    if cycles.ancestors(cycle).any(|cycle| !cycles.is_reducible(cycle)) {
        return None;
    }
    let terminator = body.terminator(block_of(branch))?;
    if body.inst(terminator).opcode != Opcode::Br {
        return None;
    }
    let compare = here(facts, branch, *body.operands(terminator).first()?)?;
    if body.inst(compare).opcode != Opcode::ICmp {
        return None;
    }
    facts.reads_inst(terminator);
    facts.reads_inst(compare);
    let &[left, right] = body.operands(compare) else { return None };
    let slot = |value: Value| here(facts, branch, value).and_then(|load| slot_of(facts, load));
    let (counter, slot, bound, is_swapped) = match (slot(left), slot(right)) {
        (Some(slot), _) if counts(facts, slot, branch).is_some() => (left, slot, right, false),
        (_, Some(slot)) => (right, slot, left, true),
        _ => return None,
    };
    let (first, step) = counts(facts, slot, branch)?;
    let bits = witness::bits(facts, counter).filter(|_| is_whole(facts, counter, first))?;
    let bound = Bound::new(facts, (branch, scope), bound)?;
    let zeros = step.trailing_zeros().min(bound.zeros);
    // The sign is a high bit.
    if zeros == 0 || zeros >= bits {
        return None;
    }
    let low = (1u64 << zeros) - 1;
    let begin = Expression::new(facts, first)?;
    let threads = witness::all_threads(facts, &begin)?;
    let size = witness::exact_size(facts.launch);
    let predicate = body.inst(compare).int_predicate().unsigned();
    let mut seen = None;
    for thread in threads {
        let value = begin.value(facts, thread, size)?;
        let order = match is_swapped {
            true => (bound.low & low).cmp(&(value & low)),
            false => (value & low).cmp(&(bound.low & low)),
        };
        let decided = (value & !low, predicate.holds(order, order));
        if *seen.get_or_insert(decided) != decided {
            return Some(false);
        }
    }
    Some(true)
}

/// An instruction of a block that gives a value.
fn here(facts: Facts<'_>, block: Node, value: Value) -> Option<InstId> {
    let inst = value.as_inst()?;
    facts.reads_inst(inst);
    (facts.code.body.block_of(inst) == Some(block_of(block))).then_some(inst)
}

/// The slot that an instruction loads from.
fn slot_of(facts: Facts<'_>, load: InstId) -> Option<InstId> {
    let body = facts.code.body;
    if body.inst(load).opcode != Opcode::Load {
        return None;
    }
    facts.reads_slots();
    witness::slot(facts, body.operands(load)[0])
}

/// What a slot holds before the loop of a header, and how much it grows in each round.
fn counts(facts: Facts<'_>, slot: InstId, header: Node) -> Option<(Value, u64)> {
    let (body, cycles) = (facts.code.body, facts.cycles);
    let cycle = cycles.innermost(header)?;
    let mut stores: Vec<InstId> = Vec::new();
    let mut addresses = vec![slot];
    while let Some(address) = addresses.pop() {
        for Use { user, index } in body.uses_of(address.into()) {
            match body.inst(user).opcode {
                Opcode::Load => {}
                Opcode::AddrSpaceCast => addresses.push(user),
                Opcode::Store if index == 1 && stores.len() < 2 => stores.push(user),
                Opcode::Call if witness::is_marker(facts, user) => {}
                _ => return None,
            }
        }
    }
    let block = |inst: InstId| body.block_of(inst).map(node_of);
    let is_within = |&store: &InstId| block(store).is_some_and(|at| cycles.contains(cycle, at));
    let (within, before): (Vec<InstId>, Vec<InstId>) = stores.iter().partition(|s| is_within(s));
    let (&[again], &[first]) = (&within[..], &before[..]) else { return None };
    let (last, at) = (block(again)?, block(first)?);
    let is_before = facts.dom.dominates(at, header) && cycles.innermost(at) == cycles.parent(cycle);
    let mut backs = facts.cfg.predecessors(header).iter().filter(|&&p| cycles.contains(cycle, p));
    let back = *backs.next()?;
    let is_once = backs.next().is_none()
        && last != header
        && cycles.innermost(last) == Some(cycle)
        && facts.dom.dominates(last, back);
    if !is_before || !is_once {
        return None;
    }
    let (sum, start) = (body.operands(again)[0].as_inst()?, body.operands(first)[0]);
    facts.reads_inst(sum);
    let &[old, more] = body.operands(sum) else { return None };
    let step = match body.inst(sum).opcode {
        Opcode::Add => witness::constant(facts, more)?,
        Opcode::Sub => witness::constant(facts, more)?.wrapping_neg(),
        _ => return None,
    };
    // What is loaded in this round is what the last round has stored, or what was there before the first.
    let load = old.as_inst().filter(|&load| slot_of(facts, load) == Some(slot))?;
    let is_of_round = cycles.contains(cycle, block(load)?);
    (is_of_round && is_whole(facts, old, start) && step != 0).then_some((start, step))
}

/// Whether two values have one type, so that a load of one gives all that was stored as the other.
fn is_whole(facts: Facts<'_>, a: Value, b: Value) -> bool {
    witness::type_of(facts, a).is_some_and(|ty| witness::type_of(facts, b) == Some(ty))
}

/// What a counter is compared with: how many low bits are known, and what they are.
struct Bound {
    zeros: u32,
    low: u64,
}

impl Bound {
    fn new(facts: Facts<'_>, (branch, scope): (Node, Scope), value: Value) -> Option<Bound> {
        if let Some(low) = witness::constant(facts, value) {
            return Some(Bound { zeros: u64::BITS, low });
        }
        let inst = here(facts, branch, value)?;
        let number = Numbering::new(facts.code.header).inst(inst);
        let sources = facts.divergence.value(number);
        facts.reads_value(number, sources);
        let is_one = !sources.intersects(facts.varying(scope));
        is_one.then(|| Bound { zeros: zeros(facts, value), low: 0 })
    }
}

/// How many low bits of a value are zero, at least.
fn zeros(facts: Facts<'_>, value: Value) -> u32 {
    let body = facts.code.body;
    let (mut at, mut known) = (value, 0);
    for _ in 0..OPERATIONS {
        if let Some(number) = witness::constant(facts, at) {
            return known + number.trailing_zeros();
        }
        let Some(inst) = at.as_inst() else { return known };
        facts.reads_inst(inst);
        let operands = body.operands(inst);
        let by = || witness::constant(facts, operands[1]);
        match body.inst(inst).opcode {
            Opcode::Load => match witness::stored(facts, inst) {
                Some(value) => at = value,
                None => return known,
            },
            Opcode::SExt | Opcode::ZExt | Opcode::Trunc => at = operands[0],
            Opcode::Mul => match by() {
                Some(number) => {
                    known += number.trailing_zeros();
                    at = operands[0];
                }
                None => return known,
            },
            Opcode::Shl => return known + by().map_or(0, |number| number.min(64) as u32),
            Opcode::And => return known + by().map_or(0, u64::trailing_zeros),
            _ => return known,
        }
    }
    known
}
