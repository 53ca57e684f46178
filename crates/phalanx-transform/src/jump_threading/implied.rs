//! What a comparison of integers implies about another comparison.
//!
//! | operands | how the implication is found |
//! |---|---|
//! | both compare the same two values | intersect the sets of orders (less, equal, greater) for which each holds |
//! | both compare the same value with a constant | intersect the intervals in which each holds |
//!
//! O(1).

use phalanx_ir::{InstId, Opcode, TypeKind, Value, inst::IntPredicate};
use smallvec::{SmallVec, smallvec};

use crate::code::Code;

/// A comparison.
#[derive(Copy, Clone, Debug)]
struct Comparison {
    predicate: IntPredicate,
    left: Value,
    right: Value,
    bits: u32,
}

impl Comparison {
    fn of(code: &Code<'_>, inst: InstId) -> Option<Comparison> {
        let data = code.body.inst(inst);
        let &[left, right] = code.body.operands(inst) else { return None };
        if data.opcode != Opcode::ICmp {
            return None;
        }
        match *code.context.type_kind(code.type_of(left)) {
            TypeKind::Int(bits @ 1..=127) => {
                Some(Comparison { predicate: data.int_predicate(), left, right, bits })
            }
            _ => None,
        }
    }

    /// The orders of the operands for which the comparison holds, as bits: less, equal, greater,
    /// for unsigned numbers first and then for signed ones.
    fn orders(&self) -> u16 {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let mut set = 0;
        for (u, unsigned) in [Less, Equal, Greater].into_iter().enumerate() {
            for (s, signed) in [Less, Equal, Greater].into_iter().enumerate() {
                let is_possible = (unsigned == Equal) == (signed == Equal);
                if is_possible && self.predicate.holds(unsigned, signed) {
                    set |= 1 << (3 * u + s);
                }
            }
        }
        set
    }

    /// The orders for the comparison with its operands swapped.
    fn swapped_orders(&self) -> u16 {
        let orders = self.orders();
        (0..9u16).filter(|at| orders & 1 << at != 0).fold(0, |set, at| set | 1 << (8 - at))
    }

    /// The values of the left side, as unsigned numbers, for which the comparison holds; both ends
    /// are inclusive.
    fn numbers(&self, right: u128) -> Intervals {
        use IntPredicate as P;
        let max = u128::MAX >> (128 - self.bits);
        let half = 1u128 << (self.bits - 1);
        // Signed numbers are in the order of unsigned numbers with the sign bit flipped.
        let (signed, at) = match self.predicate {
            P::Slt | P::Sle | P::Sgt | P::Sge => (true, right ^ half),
            _ => (false, right),
        };
        let some = |first: Option<u128>, last: Option<u128>| -> Intervals {
            match (first, last) {
                (Some(first), Some(last)) if first <= last => smallvec![(first, last)],
                _ => SmallVec::new(),
            }
        };
        let after = || (at < max).then(|| at + 1);
        let found: Intervals = match self.predicate {
            P::Eq => some(Some(at), Some(at)),
            P::Ne => {
                let mut both = some(Some(0), at.checked_sub(1));
                both.extend(some(after(), Some(max)));
                both
            }
            P::Ult | P::Slt => some(Some(0), at.checked_sub(1)),
            P::Ule | P::Sle => some(Some(0), Some(at)),
            P::Ugt | P::Sgt => some(after(), Some(max)),
            P::Uge | P::Sge => some(Some(at), Some(max)),
        };
        if !signed {
            return found;
        }
        // Flips the sign bit back, in intervals that do not cross the middle.
        let mut turned = Intervals::new();
        for (first, last) in found {
            if first < half {
                turned.push((first + half, last.min(half - 1) + half));
            }
            if last >= half {
                turned.push((first.max(half) - half, last - half));
            }
        }
        turned
    }
}

type Intervals = SmallVec<[(u128, u128); 2]>;

fn complement(intervals: &Intervals, max: u128) -> Intervals {
    let mut sorted = intervals.clone();
    sorted.sort_unstable();
    let (mut rest, mut next) = (Intervals::new(), Some(0));
    for (first, last) in sorted {
        if let Some(start) = next
            && start < first
        {
            rest.push((start, first - 1));
        }
        next = (last < max).then(|| last + 1);
    }
    rest.extend(next.map(|start| (start, max)));
    rest
}

fn intersect(one: &Intervals, other: &Intervals) -> bool {
    one.iter().any(|a| other.iter().any(|b| a.0.max(b.0) <= a.1.min(b.1)))
}

/// Whether a comparison holds, given that another one does or does not.
pub(crate) fn implied(
    code: &Code<'_>,
    (known, holds): (InstId, bool),
    asked: InstId,
) -> Option<bool> {
    let (known, asked) = (Comparison::of(code, known)?, Comparison::of(code, asked)?);
    if known.bits != asked.bits {
        return None;
    }
    let judge = |with: bool, without: bool| match (with, without) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    };
    // Combinations of unsigned and signed order that can occur: equal numbers are equal in both.
    const ALL: u16 = 0b101_010_101;
    let of_known = if holds { known.orders() } else { ALL & !known.orders() };
    let of_asked = match () {
        () if (known.left, known.right) == (asked.left, asked.right) => Some(asked.orders()),
        () if (known.left, known.right) == (asked.right, asked.left) => {
            Some(asked.swapped_orders())
        }
        () => None,
    };
    if let Some(of_asked) = of_asked {
        return judge(of_known & of_asked != 0, of_known & !of_asked != 0);
    }
    if known.left != asked.left {
        return None;
    }
    let max = u128::MAX >> (128 - known.bits);
    let where_known = known.numbers(code.int(known.right)?);
    let where_known = if holds { where_known } else { complement(&where_known, max) };
    let where_asked = asked.numbers(code.int(asked.right)?);
    judge(
        intersect(&where_known, &where_asked),
        intersect(&where_known, &complement(&where_asked, max)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [IntPredicate; 10] = [
        IntPredicate::Eq,
        IntPredicate::Ne,
        IntPredicate::Ult,
        IntPredicate::Ule,
        IntPredicate::Ugt,
        IntPredicate::Uge,
        IntPredicate::Slt,
        IntPredicate::Sle,
        IntPredicate::Sgt,
        IntPredicate::Sge,
    ];

    fn with(predicate: IntPredicate) -> Comparison {
        Comparison { predicate, left: Value::arg(0), right: Value::arg(1), bits: 4 }
    }

    fn holds(predicate: IntPredicate, a: u128, b: u128) -> bool {
        let signed = |n: u128| n ^ 8;
        predicate.holds(a.cmp(&b), signed(a).cmp(&signed(b)))
    }

    /// All numbers of four bits.
    #[test]
    fn intervals_are_those_of_the_predicate() {
        for predicate in ALL {
            for b in 0..16u128 {
                let numbers = with(predicate).numbers(b);
                let rest = complement(&numbers, 15);
                for a in 0..16u128 {
                    let is_in = |set: &Intervals| set.iter().any(|i| i.0 <= a && a <= i.1);
                    assert_eq!(is_in(&numbers), holds(predicate, a, b), "{predicate:?} {a} {b}");
                    assert_eq!(is_in(&rest), !holds(predicate, a, b), "{predicate:?} {a} {b}");
                }
            }
        }
    }

    #[test]
    fn orders_are_those_of_the_predicate() {
        for predicate in ALL {
            let (there, back) = (with(predicate).orders(), with(predicate).swapped_orders());
            for (a, b) in (0..16u128).flat_map(|a| (0..16u128).map(move |b| (a, b))) {
                let place = |a: u128, b: u128| {
                    3 * (a.cmp(&b) as i8 + 1) + ((a ^ 8).cmp(&(b ^ 8)) as i8 + 1)
                };
                assert_eq!(there >> place(a, b) & 1 == 1, holds(predicate, a, b));
                assert_eq!(back >> place(b, a) & 1 == 1, holds(predicate, a, b));
            }
        }
    }
}
