//! The shape of a value: a function of the thread plus a function of other values.

use phalanx_core::affect::Value;

use smallvec::SmallVec;

use super::expr::Expr;

/// The largest number of atoms in a form.
pub(crate) const ATOMS: usize = 4;

/// A function of some values, its *atoms*, which are not analysed further.
#[derive(Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Rest {
    /// The atoms in order, each with its factor if the function is a sum of products. Empty: the
    /// function is zero.
    pub(crate) atoms: SmallVec<[(Value, u64); ATOMS]>,
    /// Whether it is that sum; otherwise an unknown function of the atoms.
    pub(crate) is_sum: bool,
    /// The number of low bits that are zero.
    pub(crate) zeros: u8,
    /// Whether the form holds only if an index does not wrap between two lanes of a wave.
    pub(crate) assumes: bool,
}

impl Clone for Rest {
    fn clone(&self) -> Rest {
        // The derived one goes through an iterator.
        Rest { atoms: SmallVec::from_slice(&self.atoms), ..*self }
    }
}

impl Rest {
    /// One atom.
    pub(crate) fn atom(value: Value, zeros: u8) -> Rest {
        Rest { atoms: SmallVec::from_slice(&[(value, 1)]), is_sum: true, zeros, assumes: false }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.atoms.is_empty()
    }

    /// `self + factor * other`. `None` if there are too many atoms.
    pub(crate) fn plus(&self, other: &Rest, factor: u64, mask: u64) -> Option<Rest> {
        if other.is_none() {
            return Some(self.clone());
        }
        if self.is_none() && factor == 1 {
            return Some(other.clone());
        }
        let is_sum = (self.is_none() || self.is_sum) && other.is_sum;
        let zeros = match self.is_none() {
            true => other.zeros,
            false => self.zeros.min(other.zeros),
        };
        let mut atoms: SmallVec<[(Value, u64); ATOMS]> = SmallVec::new();
        // Both are in order.
        let (mut left, mut right) = (&self.atoms[..], &other.atoms[..]);
        loop {
            let (value, by) = match (left, right) {
                ([], []) => break,
                ([first, rest @ ..], []) => {
                    left = rest;
                    *first
                }
                ([first, rest @ ..], [second, ..]) if first.0 < second.0 => {
                    left = rest;
                    *first
                }
                ([first, rest @ ..], [second, others @ ..]) if first.0 == second.0 => {
                    (left, right) = (rest, others);
                    (first.0, first.1.wrapping_add(second.1.wrapping_mul(factor)) & mask)
                }
                (_, [second, others @ ..]) => {
                    right = others;
                    (second.0, second.1.wrapping_mul(factor) & mask)
                }
            };
            match is_sum {
                true if by == 0 => {}
                _ if atoms.len() == ATOMS => return None,
                true => atoms.push((value, by)),
                false => atoms.push((value, 0)),
            }
        }
        if atoms.is_empty() {
            return Some(Rest::default());
        }
        Some(Rest { atoms, is_sum, zeros, assumes: self.assumes || other.assumes })
    }

    /// The product with a number.
    pub(crate) fn times(&self, factor: u64, mask: u64, width: u8) -> Rest {
        if self.is_none() {
            return self.clone();
        }
        let mut rest = self.clone();
        for atom in &mut rest.atoms {
            atom.1 = atom.1.wrapping_mul(factor) & mask;
        }
        if rest.is_sum {
            rest.atoms.retain(|atom| atom.1 != 0);
        }
        rest.zeros = rest.zeros.saturating_add(factor.trailing_zeros() as u8).min(width);
        if factor & mask == 0 {
            rest.atoms.clear();
        }
        rest.normal()
    }

    /// An unknown function of the same atoms, with `zeros` low bits zero.
    pub(crate) fn function(&self, zeros: u8) -> Rest {
        Rest { is_sum: false, zeros, ..self.clone() }.normal()
    }

    /// An unknown function of the atoms of both. `None` if there are too many atoms.
    pub(crate) fn with(&self, other: &Rest) -> Option<Rest> {
        let mut both = self.function(0);
        both.zeros = 0;
        both.assumes |= other.assumes;
        for &(value, _) in &other.atoms {
            if let Err(at) = both.atoms.binary_search_by_key(&value, |atom| atom.0) {
                both.atoms.insert(at, (value, 0));
            }
        }
        (both.atoms.len() <= ATOMS).then(|| both.normal())
    }

    /// Normalizes: a function that is no sum has no factors.
    fn normal(mut self) -> Rest {
        if self.atoms.is_empty() {
            return Rest { zeros: 0, ..Rest::default() };
        }
        if !self.is_sum {
            self.atoms.iter_mut().for_each(|atom| atom.1 = 0);
        }
        self
    }

    /// The atoms.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.atoms.iter().map(|atom| atom.0)
    }
}

/// The form of a value: `thread + rest`, in arithmetic modulo its width.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    pub(crate) thread: Expr,
    pub(crate) rest: Rest,
    /// Whether the equation holds for signed integers, so that it survives a sign extension.
    pub(crate) is_signed: bool,
    /// Whether it holds for unsigned integers, so that it survives a zero extension.
    pub(crate) is_unsigned: bool,
}

/// The state of the computation of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    New,
    /// It waits for its operands.
    Entered,
    Known,
}

/// The facts about one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Number of its form plus one; zero for an atom.
    pub(crate) form: u32,
    /// The number of low bits that are zero.
    pub(crate) zeros: u8,
    /// The number of bits up to the highest one that can be set; 255 if unknown.
    pub(crate) bits: u8,
    /// Whether it is never poison in some threads only.
    pub(crate) is_defined: bool,
    /// Whether it has been computed.
    pub(crate) progress: Progress,
}

impl Default for Fact {
    fn default() -> Fact {
        Fact { form: 0, zeros: 0, bits: 255, is_defined: false, progress: Progress::New }
    }
}

impl Fact {
    /// An atom without further facts.
    pub(crate) const UNKNOWN: Fact =
        Fact { form: 0, zeros: 0, bits: 255, is_defined: false, progress: Progress::Known };

    #[inline]
    pub(crate) fn is_known(self) -> bool {
        self.progress == Progress::Known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: u64 = 0xff;

    fn sum(atoms: &[(u32, u64)]) -> Rest {
        let atoms = atoms.iter().map(|&(value, by)| (Value::from_raw(value), by)).collect();
        Rest { atoms, is_sum: true, zeros: 0, assumes: false }
    }

    fn plus(a: &Rest, b: &Rest, factor: u64) -> Option<Rest> {
        a.plus(b, factor, MASK)
    }

    #[test]
    fn atoms_of_a_sum_are_in_order_and_added_up() {
        let (a, b) = (sum(&[(1, 2), (4, 1)]), sum(&[(0, 3), (4, 5), (7, 1)]));
        assert_eq!(plus(&a, &b, 2), Some(sum(&[(0, 6), (1, 2), (4, 11), (7, 2)])));
        assert_eq!(plus(&b, &a, 1), Some(sum(&[(0, 3), (1, 2), (4, 6), (7, 1)])));
    }

    #[test]
    fn what_cancels_is_gone() {
        let (a, b) = (sum(&[(1, 1), (4, 3)]), sum(&[(1, 1)]));
        assert_eq!(plus(&a, &b, u64::MAX), Some(sum(&[(4, 3)])));
        assert_eq!(plus(&b, &b, u64::MAX), Some(Rest::default()));
        // In the arithmetic of the width.
        assert_eq!(plus(&sum(&[(1, 0x80)]), &sum(&[(1, 0x80)]), 1), Some(Rest::default()));
    }

    #[test]
    fn functions_of_both_keep_what_they_are_made_from() {
        let function = sum(&[(1, 1)]).function(0);
        let both = plus(&function, &sum(&[(1, 1), (2, 1)]), u64::MAX).expect("they are few");
        assert_eq!(both.values().map(Value::raw).collect::<Vec<_>>(), [1, 2]);
        assert!(!both.is_sum && both.atoms.iter().all(|atom| atom.1 == 0));
    }

    #[test]
    fn only_those_count_that_are_left() {
        let four = sum(&[(1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(plus(&four, &sum(&[(5, 1)]), 1), None);
        let fewer = plus(&four, &sum(&[(3, 1)]), u64::MAX);
        assert_eq!(fewer, Some(sum(&[(1, 1), (2, 1), (4, 1)])));
    }
}
