//! Loops over elements in which all threads of a workgroup make the same number of rounds. The
//! counter begins with the thread's index and grows by what is the same for all threads.
//!
//! ```text
//! i = tid; while (i < n) { ...; i = i + 192; }      // 192 threads, n a multiple of 192
//! ```
//!
//! # What
//!
//! [`shape`](crate::shape) knows such loops if the counter is a phi and the step is a multiple of a
//! power of two. This module handles any step. The counter may also be a stack slot, as in code
//! that is compiled without optimisation. The slot has loads and two stores: one before the loop,
//! and one in each round, which adds something.
//!
//! Each operand of the comparison is split into two parts. One is a function of the thread's index
//! that can be evaluated ([`witness`](super::witness)). The other is a sum of values that are the
//! same for all threads: the rest of the counter's start value, and its steps. An operand that is
//! computed outside of loops is split in the same way.
//!
//! # Why all decide alike
//!
//! Let all that is added, and the bound of the comparison, be multiples of `m`. Threads that were
//! together so far are in one round, so they have added the same. As `m` divides that, the
//! quotients of their numbers by `m` differ as they did before the first round, and the remainders
//! have not changed. So if all threads begin with the same quotient, and compare the remainders
//! alike, all decide alike.
//!
//! If `m` is a power of two, that holds even if something wraps: the quotient is the high bits.
//! Otherwise nothing must wrap. That is so if signed numbers are compared and no sum may wrap
//! (`nsw`): a sum that wraps makes the branch undefined.
//!
//! The second store of the slot is executed once in each round: its block is in no cycle within the
//! loop, and dominates the only block that leads back. The first store is executed each time before
//! the loop is entered: it dominates the header, and is in the cycle around the loop but in no
//! cycle within that. The branch of a phi is in the header or in the only block that leads back.
//!
//! The values that are added are computed in no cycle, or in one that contains the branch as well:
//! threads that are together at the branch were together there.
//!
//! # Both sides shifted
//!
//! `for (i = b + tid; i < e + tid; i += c)`: both sides of the comparison are a function of the
//! thread plus what is the same for all. If the two functions differ by the same number in all
//! threads, the comparison depends only on what is the same for all. That holds if no sum wraps
//! (`nsw`, signed comparison); a sum that wraps is poison.
//!
//! Loops that step by the size of the workgroup, which need not be known, are in [`sizes`].
//!
//! O(uses of the slot, and threads × operations of what the counter begins with).

use phalanx_graph::Node;
use phalanx_ir::{
    InstId, Opcode, Value,
    edit::Use,
    flow::{block_of, node_of},
    inst::{InstFlags, IntPredicate},
};
use phalanx_target::Scope;

use super::{
    Facts, evaluate,
    multiples::{Divisor, divisor},
    sizes::{self, Multiple, Rounds},
    witness::{self, Expression},
};
use crate::code::Numbering;

/// How many sums are taken apart.
const SUMS: usize = 6;

/// The place and scope of a question: threads that come together to a branch.
#[derive(Clone, Copy)]
struct At {
    branch: Node,
    scope: Scope,
}

/// A number, split into a function of the thread and a sum of what is the same for all threads.
struct Number {
    thread: Value,
    /// A divisor of the sum.
    rest: Divisor,
    /// Whether no sum wraps.
    is_exact: bool,
}

/// Whether all threads of a workgroup that come together to the branch at the end of a block go one
/// way, because they have made the same number of rounds.
pub(super) fn is_alike(facts: Facts<'_>, branch: Node, scope: Scope) -> bool {
    let at = At { branch, scope };
    scope <= Scope::Workgroup
        && (rounds(facts, at, false).unwrap_or(false)
            || shifted(facts, at).unwrap_or(false)
            || by_size(facts, at) == Some(Rounds::Same))
}

/// Whether all threads of each wave do, if rows of workgroups consist of whole waves.
pub(super) fn is_alike_in_rows(facts: Facts<'_>, branch: Node, scope: Scope) -> bool {
    scope == Scope::Wave && rounds(facts, At { branch, scope }, true).unwrap_or(false)
}

/// Whether all threads of a workgroup make the same number of rounds if their counter does not
/// wrap.
pub(super) fn is_alike_unless_wraps(facts: Facts<'_>, branch: Node, scope: Scope) -> bool {
    scope <= Scope::Workgroup && by_size(facts, At { branch, scope }).is_some()
}

/// The integer comparison that decides a branch, if it is in the same block, and its operands.
fn comparison(facts: Facts<'_>, branch: Node) -> Option<(InstId, [Value; 2])> {
    let body = facts.code.body;
    let terminator = body.terminator(block_of(branch))?;
    facts.reads_inst(terminator);
    if body.inst(terminator).opcode != Opcode::Br {
        return None;
    }
    let compare = here(facts, branch, *body.operands(terminator).first()?)?;
    let &[left, right] = body.operands(compare) else { return None };
    (body.inst(compare).opcode == Opcode::ICmp).then_some((compare, [left, right]))
}

fn is_unsigned(predicate: IntPredicate) -> bool {
    matches!(
        predicate,
        IntPredicate::Ugt | IntPredicate::Uge | IntPredicate::Ult | IntPredicate::Ule
    )
}

/// Whether both sides of a comparison are shifted alike.
fn shifted(facts: Facts<'_>, at: At) -> Option<bool> {
    let (compare, sides) = comparison(facts, at.branch)?;
    let data = facts.code.body.inst(compare);
    if is_unsigned(data.int_predicate()) && !data.flags.contains(InstFlags::SAME_SIGN) {
        return None;
    }
    let [left, right] = [number(facts, at, sides[0])?, number(facts, at, sides[1])?];
    if !left.is_exact || !right.is_exact {
        return None;
    }
    // Two loads from a slot that is written once give one value.
    if sizes::resolved(facts, left.thread) == sizes::resolved(facts, right.thread) {
        return Some(true);
    }
    let expressions = [left.thread, right.thread].map(|value| Expression::new(facts, value));
    let [Some(one), Some(other)] = expressions else { return None };
    let bits = [witness::bits(facts, left.thread)?, witness::bits(facts, right.thread)?];
    let size = witness::exact_size(facts.launch);
    let mut seen = None;
    // One row of threads is enough only if both sides depend on the same index alone.
    let threads = witness::all_threads(facts, &one.with(&other))?;
    for thread in threads {
        let one = evaluate::signed(one.value(facts, thread, size)?, bits[0]);
        let other = evaluate::signed(other.value(facts, thread, size)?, bits[1]);
        let difference = i128::from(one) - i128::from(other);
        if *seen.get_or_insert(difference) != difference {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether the thread's index is compared with a multiple of the workgroup's size, as before a loop
/// that tests at its end: `t < m * d` is `0 < m`.
fn first_by_size(
    facts: Facts<'_>,
    at: At,
    (predicate, counter, bound): (IntPredicate, Value, Value),
) -> Option<Rounds> {
    let axis = sizes::index_axis(facts, counter)?;
    let kind = sizes::multiple(facts, bound, axis)?;
    let is_right = kind == Multiple::Unsigned || !is_unsigned(predicate);
    (is_right && is_one(facts, at, bound)).then_some(Rounds::Same)
}

/// Whether a counter begins with the thread's index, grows by the size of the workgroup, and is
/// compared with a multiple of that.
fn by_size(facts: Facts<'_>, at: At) -> Option<Rounds> {
    let (compare, [left, right]) = comparison(facts, at.branch)?;
    let predicate = facts.code.body.inst(compare).int_predicate();
    let (counter, bound) = match predicate {
        IntPredicate::Ult | IntPredicate::Slt | IntPredicate::Uge | IntPredicate::Sge => {
            (left, right)
        }
        IntPredicate::Ugt | IntPredicate::Sgt | IntPredicate::Ule | IntPredicate::Sle => {
            (right, left)
        }
        _ => return None,
    };
    let first = first_by_size(facts, at, (predicate, counter, bound));
    if first.is_some() {
        return first;
    }
    let body = facts.code.body;
    let inst = counter.as_inst()?;
    facts.reads_inst(inst);
    let (start, sum, step) = match body.inst(inst).opcode {
        Opcode::Phi => counted_by_phi(facts, at.branch, inst)?,
        Opcode::Load => counted_by_slot(facts, at.branch, inst)?,
        // The next value of the counter, which loops that test at the bottom compare.
        Opcode::Add => {
            let is_phi = |inst: &InstId| body.inst(*inst).opcode == Opcode::Phi;
            let mut phis = body.operands(inst).iter().filter_map(|of| of.as_inst()).filter(is_phi);
            let found = counted_by_phi(facts, at.branch, phis.next()?)?;
            if found.1 != inst {
                return None;
            }
            found
        }
        _ => return None,
    };
    let axis = sizes::index_axis(facts, start)?;
    let is_by_size = body.inst(sum).opcode == Opcode::Add && sizes::is_size(facts, step, axis);
    let kind = sizes::multiple(facts, bound, axis)?;
    let is_right = kind == Multiple::Unsigned || !is_unsigned(predicate);
    if !is_by_size || !is_right || !is_one(facts, at, bound) {
        return None;
    }
    let is_exact = body.inst(sum).flags.contains(InstFlags::NSW);
    Some(if is_exact { Rounds::Same } else { Rounds::UnlessWraps })
}

/// Whether all threads decide alike; if `in_rows`, those of each wave of rows of whole waves.
fn rounds(facts: Facts<'_>, at: At, in_rows: bool) -> Option<bool> {
    let body = facts.code.body;
    let (compare, [left, right]) = comparison(facts, at.branch)?;
    let bits = witness::bits(facts, left)?;
    let (number, bound, is_swapped) = match bound(facts, at, right) {
        Some(bound) => (number(facts, at, left)?, bound, false),
        None => (number(facts, at, right)?, bound(facts, at, left)?, true),
    };
    let data = body.inst(compare);
    // For numbers of one sign, signed and unsigned comparison agree.
    let is_signed = data.flags.contains(InstFlags::SAME_SIGN) || !is_unsigned(data.int_predicate());
    let begin = Expression::new(facts, number.thread)?;
    let groups = match (at.scope, facts.launch.wave_width) {
        (Scope::Wave, Some(width)) if in_rows || witness::exact_size(facts.launch).is_some() => {
            let threads = match witness::exact_size(facts.launch) {
                Some(size) => witness::threads(size),
                None if begin.is_of_row() => witness::row(0, facts.launch.max_extent(0).min(1024)),
                None => return None,
            };
            threads.chunks(width.max(1) as usize).map(<[_]>::to_vec).collect()
        }
        _ => vec![witness::all_threads(facts, &begin)?],
    };
    let compared = Compared {
        begin,
        groups,
        bits: witness::bits(facts, number.thread)?.min(bits),
        low: bound.low,
        is_swapped,
        predicate: data.int_predicate().unsigned(),
    };
    let common = number.rest.common(bound.rest);
    // The sign is a high bit.
    let is_within = common.zeros > 0 && common.zeros < compared.bits.min(u64::BITS - 1);
    if is_within && compared.is_one(facts, 1 << common.zeros)? {
        return Some(true);
    }
    let of = i64::try_from(common.number).ok().filter(|&of| of > 1);
    match of.filter(|_| number.is_exact && is_signed) {
        Some(of) => compared.is_one(facts, of),
        None => Some(false),
    }
}

/// A comparison of the part that can be evaluated, for any multiples on both sides.
struct Compared {
    begin: Expression,
    /// Groups of threads that have to decide alike.
    groups: Vec<Vec<[u32; 3]>>,
    bits: u32,
    /// The bound, without its multiple.
    low: i64,
    is_swapped: bool,
    predicate: IntPredicate,
}

impl Compared {
    /// Whether all threads decide alike, whatever multiples of `of` are added on both sides.
    fn is_one(&self, facts: Facts<'_>, of: i64) -> Option<bool> {
        let low = self.low.rem_euclid(of);
        for group in &self.groups {
            if !self.is_one_of(facts, (low, of), group)? {
                return Some(false);
            }
        }
        Some(true)
    }

    fn is_one_of(
        &self,
        facts: Facts<'_>,
        (low, of): (i64, i64),
        group: &[[u32; 3]],
    ) -> Option<bool> {
        let size = witness::exact_size(facts.launch);
        let mut seen = None;
        for &thread in group {
            let value = evaluate::signed(self.begin.value(facts, thread, size)?, self.bits);
            let order = match self.is_swapped {
                true => low.cmp(&value.rem_euclid(of)),
                false => value.rem_euclid(of).cmp(&low),
            };
            let decided = (value.div_euclid(of), self.predicate.holds(order, order));
            if *seen.get_or_insert(decided) != decided {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// The instruction that gives a value, if it is in a block.
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

/// What a slot holds before the loop of a header; the sum that is stored in a round; and what that
/// adds.
fn counts(facts: Facts<'_>, slot: InstId, header: Node) -> Option<(Value, InstId, Value)> {
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
    if !matches!(body.inst(sum).opcode, Opcode::Add | Opcode::Sub) {
        return None;
    }
    // A load in this round gives what the last round has stored, or what was there before the
    // first.
    let load = old.as_inst().filter(|&load| slot_of(facts, load) == Some(slot))?;
    let is_of_round = cycles.contains(cycle, block(load)?);
    (is_of_round && is_whole(facts, old, start)).then_some((start, sum, more))
}

/// Whether two values have one type, so that a load of one gives all that was stored as the other.
fn is_whole(facts: Facts<'_>, a: Value, b: Value) -> bool {
    witness::type_of(facts, a).is_some_and(|ty| witness::type_of(facts, b) == Some(ty))
}

/// The bound of a comparison.
struct Bound {
    /// A divisor of the bound, or of the bound without `low`.
    rest: Divisor,
    low: i64,
}

fn bound(facts: Facts<'_>, at: At, value: Value) -> Option<Bound> {
    if let Some(number) = witness::constant(facts, value) {
        let low = evaluate::signed(number, witness::bits(facts, value)?);
        return Some(Bound { rest: Divisor::ZERO, low });
    }
    is_one(facts, at, value).then(|| Bound { rest: divisor(facts, value), low: 0 })
}

/// Whether threads that are together at a branch have the same value.
fn is_one(facts: Facts<'_>, at: At, value: Value) -> bool {
    if value.as_const().is_some() {
        return true;
    }
    let numbering = Numbering::new(facts.code.header);
    let Some(number) = numbering.operand(value) else { return false };
    let sources = facts.divergence.value(number);
    facts.reads_value(number, sources);
    let is_of_round = || {
        let Some(inst) = value.as_inst() else { return true };
        facts.reads_inst(inst);
        let Some(block) = facts.code.body.block_of(inst).map(node_of) else { return false };
        let cycle = facts.cycles.innermost(block);
        cycle.is_none_or(|cycle| facts.cycles.contains(cycle, at.branch))
    };
    !sources.intersects(facts.varying(at.scope)) && is_of_round()
}

/// Splits a number that a branch compares.
fn number(facts: Facts<'_>, at: At, value: Value) -> Option<Number> {
    let mut all = Number { thread: value, rest: Divisor::ZERO, is_exact: true };
    let mut is_counted = false;
    for _ in 0..SUMS {
        if Expression::new(facts, all.thread).is_some() {
            return Some(all);
        }
        let inst = all.thread.as_inst()?;
        facts.reads_inst(inst);
        let data = facts.code.body.inst(inst);
        let operands = facts.code.body.operands(inst);
        let is_load = data.opcode == Opcode::Load;
        if let Some(stored) = is_load.then(|| witness::stored(facts, inst)).flatten() {
            all.thread = stored;
            continue;
        }
        match data.opcode {
            Opcode::Add | Opcode::Sub => all = all.without(facts, at, inst)?,
            Opcode::Or if data.flags.contains(InstFlags::DISJOINT) => {
                all = all.without(facts, at, inst)?;
            }
            Opcode::SExt => all.thread = operands[0],
            Opcode::ZExt => {
                all.is_exact &= data.flags.contains(InstFlags::NNEG);
                all.thread = operands[0];
            }
            // Only one counter: threads in one round of this loop may be in different rounds of
            // another loop.
            Opcode::Phi | Opcode::Load if !is_counted => {
                is_counted = true;
                let counted = match data.opcode {
                    Opcode::Phi => counted_by_phi(facts, at.branch, inst)?,
                    _ => counted_by_slot(facts, at.branch, inst)?,
                };
                all = all.before_rounds(facts, at, counted)?;
            }
            _ => return None,
        }
    }
    None
}

impl Number {
    /// Removes from a sum the operand that is the same for all.
    fn without(self, facts: Facts<'_>, at: At, sum: InstId) -> Option<Number> {
        let data = facts.code.body.inst(sum);
        let &[left, right] = facts.code.body.operands(sum) else { return None };
        let (thread, more) = match data.opcode {
            _ if is_one(facts, at, right) => (left, right),
            Opcode::Add | Opcode::Or if is_one(facts, at, left) => (right, left),
            _ => return None,
        };
        Some(Number { thread, ..self.added(facts, sum, more) })
    }

    /// Goes from a counter to its value before the first round; what a round adds is the same for
    /// all.
    fn before_rounds(
        self,
        facts: Facts<'_>,
        at: At,
        (start, sum, more): (Value, InstId, Value),
    ) -> Option<Number> {
        let is_same = is_one(facts, at, more);
        is_same.then(|| Number { thread: start, ..self.added(facts, sum, more) })
    }

    fn added(self, facts: Facts<'_>, sum: InstId, more: Value) -> Number {
        let data = facts.code.body.inst(sum);
        // A sum of numbers that have no bit in common does not carry.
        let is_exact = data.opcode == Opcode::Or || data.flags.contains(InstFlags::NSW);
        let rest = self.rest.common(divisor(facts, more));
        Number { rest, is_exact: self.is_exact && is_exact, ..self }
    }
}

/// In the loop of a branch: the value of a phi before the first round, the sum that it has after a
/// round, and what that adds.
fn counted_by_phi(facts: Facts<'_>, branch: Node, phi: InstId) -> Option<(Value, InstId, Value)> {
    let (body, cycles) = (facts.code.body, facts.cycles);
    let header = node_of(body.block_of(phi)?);
    let cycle = cycles.innermost(branch).filter(|&cycle| cycles.header(cycle) == header)?;
    if !cycles.is_canonical(cycle) {
        return None;
    }
    let is_back = |block: Node| cycles.contains(cycle, block);
    let mut entries = body.phi_incoming(phi);
    let (Some(first), Some(second), None) = (entries.next(), entries.next(), entries.next()) else {
        return None;
    };
    let (start, (next, back)) = match (is_back(node_of(first.1)), is_back(node_of(second.1))) {
        (false, true) => (first.0, second),
        (true, false) => (second.0, first),
        _ => return None,
    };
    if branch != header && branch != node_of(back) {
        return None;
    }
    let sum = next.as_inst()?;
    facts.reads_inst(sum);
    let &[old, more] = body.operands(sum) else { return None };
    let is_sum = body.inst(sum).opcode == Opcode::Add && more == Value::inst(phi);
    let [old, more] = if is_sum { [more, old] } else { [old, more] };
    let is_counter = matches!(body.inst(sum).opcode, Opcode::Add | Opcode::Sub);
    (is_counter && old == Value::inst(phi)).then_some((start, sum, more))
}

/// The same for a slot that is loaded from in the header.
fn counted_by_slot(facts: Facts<'_>, branch: Node, load: InstId) -> Option<(Value, InstId, Value)> {
    let cycles = facts.cycles;
    let cycle = cycles.innermost(branch).filter(|&cycle| cycles.header(cycle) == branch)?;
    if !cycles.is_canonical(cycle) {
        return None;
    }
    let load = here(facts, branch, load.into())?;
    let found = counts(facts, slot_of(facts, load)?, branch)?;
    is_whole(facts, load.into(), found.0).then_some(found)
}
