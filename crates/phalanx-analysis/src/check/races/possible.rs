//! Looks for a launch that takes a path on which decisions may contradict each other.
//!
//! ```text
//! %row = udiv i32 %group, %n        ; the number of the workgroup and an argument
//! %column = urem i32 %group, %n
//! %a = icmp eq i32 %row, %column    ; assumed to hold
//! %b = icmp eq i32 %row, %x         ; assumed to hold: group 5, n = 4, x = 1
//! ```
//!
//! [`Assumptions`] keeps an interval for each difference of two terms. That does not tell whether
//! decisions about one argument can hold together, if some are about its quotients or remainders.
//! So small numbers are tried for the arguments and for the number of the workgroup, until all
//! decisions hold with them. Such a launch exists, and its threads take the path.
//!
//! # Invariants
//!
//! A launch is found only if each term is computed without wrapping, by operations that are known
//! here. If none is found, the path may be possible all the same. The end of a loop whose number of
//! rounds was chosen is no decision: a launch that is found may execute more rounds. So findings on
//! a path with such a loop are no errors.
//!
//! O([`LAUNCHES`] × terms) for a path, and nothing for paths without such decisions.

use std::collections::BTreeSet;

use phalanx_ir::{Opcode, inst::IntPredicate};
use rustc_hash::FxHashMap;

use super::{
    Launch, LaunchNumber,
    assume::{Assumptions, FAR},
    terms::{Base, Term, Terms, Val},
};

/// How many launches are tried.
const LAUNCHES: u64 = 20_000;
/// Conditions on more arguments than that are not looked at.
const ARGUMENTS: u32 = 6;
/// Conditions that are made from more terms than that are not looked at.
const TERMS: usize = 256;
/// A large argument, such as the length of the data.
const LARGE: i64 = 1 << 20;
/// What is assumed to be far away is at least that far.
const DISTANCE: i64 = 1 << 16;

impl Assumptions {
    /// The numbers of a launch that fulfils all decisions, if one is found: of the arguments and of
    /// the workgroup, as far as decisions are about them.
    pub(super) fn possible_launch(&self, terms: &Terms) -> Option<Launch> {
        let formulas = Formulas::new(self, terms)?;
        let count = formulas.unknown.len() as u32;
        let mut tried = formulas.numbers();
        // As many numbers as there is time for.
        let most = (2..=tried.len()).rev().find(|&most| {
            (most as u64).checked_pow(count).is_some_and(|launches| launches <= LAUNCHES)
        });
        tried.truncate(most.unwrap_or(0));
        let launches = (tried.len() as u64).pow(count);
        let mut values = FxHashMap::default();
        let fulfils = |launch: &u64| {
            let mut rest = *launch as usize;
            for &base in &formulas.unknown {
                values.insert(base, tried[rest % tried.len()]);
                rest /= tried.len();
            }
            formulas.compute(&mut values).is_some() && self.is_fulfilled(&values)
        };
        (0..launches).find(fulfils)?;
        let number = |base: &Base| Some((launch_number(terms, *base)?, *values.get(base)?));
        // A list without one of the numbers would say something else.
        Some(formulas.unknown.iter().map(number).collect::<Option<Launch>>().unwrap_or_default())
    }

    fn is_fulfilled(&self, values: &FxHashMap<Base, i64>) -> bool {
        let value = |base: &Base| values.get(base).copied().unwrap_or(0);
        self.decided().all(|(base, holds)| (value(base) & 1 == 1) == holds)
            && self.between().all(|((a, b), (low, high))| {
                let difference = value(a) - value(b);
                let low = if low >= FAR { DISTANCE } else { low };
                let high = if high <= -FAR { -DISTANCE } else { high };
                (low..=high).contains(&difference)
            })
    }
}

/// The number that a term without operands stands for.
fn launch_number(terms: &Terms, base: Base) -> Option<LaunchNumber> {
    match terms.get(base)? {
        Term::Argument(position) => Some(LaunchNumber::Argument(*position)),
        Term::Block(call, operands) => {
            let named = ["group.id", "groupid", "ctaid"].iter().any(|name| call.contains(name));
            let axis = match (call.rsplit_once('.'), operands.first()) {
                (Some((_, "x")), None) => Some(0),
                (Some((_, "y")), None) => Some(1),
                (Some((_, "z")), None) => Some(2),
                (_, Some(axis)) => axis.as_number().and_then(|axis| usize::try_from(axis).ok()),
                _ => None,
            };
            axis.filter(|axis| named && *axis < 3).map(LaunchNumber::Group)
        }
        _ => None,
    }
}

/// The terms that decisions are about, operands first.
struct Formulas<'t> {
    pure: Vec<(Base, &'t Term)>,
    /// Arguments, and the number of the workgroup.
    unknown: Vec<Base>,
}

impl<'t> Formulas<'t> {
    /// None if something else has a part in a decision.
    fn new(assumed: &Assumptions, terms: &'t Terms) -> Option<Formulas<'t>> {
        let mut work: Vec<Base> = assumed.decided().map(|(base, _)| *base).collect();
        work.extend(assumed.between().flat_map(|((a, b), _)| [*a, *b]));
        let mut seen: BTreeSet<Base> = BTreeSet::new();
        while let Some(base) = work.pop() {
            if base == Base::NONE || !seen.insert(base) {
                continue;
            }
            if seen.len() > TERMS {
                return None;
            }
            if let Term::Pure { operands, .. } = terms.get(base)? {
                work.extend(operands.iter().map(|operand| operand.base));
            }
        }
        let mut formulas = Formulas { pure: Vec::new(), unknown: Vec::new() };
        // A term has a larger number than its operands.
        for base in seen {
            match terms.get(base)? {
                Term::Argument(_) | Term::Block(..) => formulas.unknown.push(base),
                term @ Term::Pure { .. } => formulas.pure.push((base, term)),
                _ => return None,
            }
        }
        (formulas.unknown.len() <= ARGUMENTS as usize).then_some(formulas)
    }

    /// The numbers that are tried, the more promising ones first.
    fn numbers(&self) -> Vec<i64> {
        let mut numbers = vec![1, 0, LARGE, 2, 3];
        let operands = self.pure.iter().flat_map(|(_, term)| match term {
            Term::Pure { operands, .. } => &operands[..],
            _ => &[],
        });
        let named: BTreeSet<i64> =
            operands.map(|operand| operand.offset.saturating_abs()).collect();
        numbers.extend(named.iter().copied().filter(|number| *number < LARGE).take(8));
        numbers.extend([4, 5, 6, 7, 8, 16, 64]);
        numbers.extend(named.iter().filter(|number| **number < LARGE).take(8).map(|one| one + 1));
        let mut seen = BTreeSet::new();
        numbers.retain(|number| seen.insert(*number));
        numbers
    }

    /// Computes all terms from the unknown ones.
    fn compute(&self, values: &mut FxHashMap<Base, i64>) -> Option<()> {
        for (base, term) in &self.pure {
            let Term::Pure { opcode, sub, operands, .. } = term else { return None };
            let value = |operand: &Val| match operand.base {
                Base::NONE => Some(operand.offset),
                base => values.get(&base)?.checked_add(operand.offset),
            };
            let operands: Option<Vec<i64>> = operands.iter().map(value).collect();
            let result = pure(*opcode, *sub, &operands?)?;
            // What does not wrap in 32 bits does not in more, either.
            if i32::try_from(result).is_err() {
                return None;
            }
            values.insert(*base, result);
        }
        Some(())
    }
}

/// The result of an operation, if it does not wrap and its bits do not depend on the type.
fn pure(opcode: Opcode, sub: u8, operands: &[i64]) -> Option<i64> {
    let are_positive = operands.iter().all(|&operand| operand >= 0);
    match (opcode, operands) {
        (Opcode::Add, &[a, b]) => a.checked_add(b),
        (Opcode::Sub, &[a, b]) => a.checked_sub(b),
        (Opcode::Mul, &[a, b]) => a.checked_mul(b),
        (Opcode::Shl, &[a, by]) if (0..32).contains(&by) => a.checked_mul(1 << by),
        (Opcode::LShr | Opcode::AShr, &[a, by]) if are_positive && by < 32 => Some(a >> by),
        (Opcode::UDiv | Opcode::SDiv, &[a, b]) if are_positive => a.checked_div(b),
        (Opcode::URem | Opcode::SRem, &[a, b]) if are_positive => a.checked_rem(b),
        (Opcode::And, &[a, b]) if are_positive => Some(a & b),
        (Opcode::Or, &[a, b]) if are_positive => Some(a | b),
        (Opcode::Xor, &[a, b]) if are_positive => Some(a ^ b),
        (Opcode::Select, &[condition, a, b]) => Some(if condition & 1 == 1 { a } else { b }),
        (Opcode::ICmp, &[a, b]) => {
            let unsigned = (a as u64).cmp(&(b as u64));
            Some(i64::from(IntPredicate::from_number(sub).holds(unsigned, a.cmp(&b))))
        }
        // Of a truth value, the sign is the number.
        (Opcode::SExt, &[a]) if sub == 1 => Some(-(a & 1)),
        (Opcode::SExt, &[a]) => Some(a),
        (Opcode::ZExt | Opcode::Trunc, &[a]) if a >= 0 => Some(a),
        (Opcode::Freeze, &[a]) => Some(a),
        _ => None,
    }
}
