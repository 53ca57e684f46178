//! Converts numbers of any length between radices, for integer constants of up to 2²³ bits.
//!
//! Groups of a few digits are converted digit by digit. Then neighbours are combined: two
//! neighbours `low` and `high`, of `k` digits in the old radix `b`, give `low + high · bᵏ`; two
//! such results give `low + high · b²ᵏ`, and so on until one number is left. This needs only
//! multiplication in the new radix. Karatsuba's method multiplies by three products of half the
//! length in place of four, which makes the whole O(n^1.585) for n digits (A. Karatsuba, Y. Ofman,
//! *Multiplication of many-digital numbers by automatic computers*, 1962).
//!
//! Digits are as large as possible: column sums of products of digits below 10¹⁸, or below 2⁵⁶, fit
//! in 128 bits without a carry. Numbers are lists of digits, the least significant first.

/// The largest power of ten that a digit may be less than.
pub(crate) const DECIMAL: u64 = 10_u64.pow(DECIMAL_DIGITS as u32);
/// How many decimal digits a digit below [`DECIMAL`] is.
pub(crate) const DECIMAL_DIGITS: usize = 18;
/// Seven bytes.
pub(crate) const BINARY: u64 = 1 << BINARY_BITS;
/// How many bits a digit below [`BINARY`] is.
pub(crate) const BINARY_BITS: usize = 56;

/// Up to this length of the shorter number each digit is multiplied by each. Sums of so many
/// products fit 128 bits.
const SCHOOLBOOK: usize = 40;

/// The number that has `digits` in the radix `from`, in the radix `to`, without what is above the
/// lowest `limit` digits.
///
/// Leading zeroes are removed. O(n^1.585) in the digits; digits beyond `limit` cost no more than
/// that.
pub(crate) fn convert(digits: &[u64], from: u64, to: u64, limit: usize) -> Vec<u64> {
    let arithmetic = Arithmetic { radix: to, limit };
    let mut numbers: Vec<Vec<u64>> =
        digits.chunks(SCHOOLBOOK).map(|digits| arithmetic.small(digits, from)).collect();
    let mut power = vec![0; SCHOOLBOOK];
    power.push(1);
    let mut power = arithmetic.small(&power, from);
    while numbers.len() > 1 {
        let pairs = numbers.chunks_mut(2).map(|pair| match pair {
            [low, high] => {
                let product = arithmetic.product(high, &power);
                arithmetic.sum(product, low)
            }
            _ => std::mem::take(&mut pair[0]),
        });
        numbers = pairs.collect();
        if numbers.len() > 1 {
            power = arithmetic.product(&power, &power);
        }
    }
    numbers.pop().unwrap_or_default()
}

/// Cuts a number at a length and takes away zeroes at the top.
fn trimmed(mut number: Vec<u64>, limit: usize) -> Vec<u64> {
    number.truncate(limit);
    while number.last() == Some(&0) {
        number.pop();
    }
    number
}

/// Numbers of a radix, cut at a length.
struct Arithmetic {
    radix: u64,
    limit: usize,
}

impl Arithmetic {
    /// The number of a few digits in another radix, digit after digit.
    fn small(&self, digits: &[u64], from: u64) -> Vec<u64> {
        let mut out = Vec::with_capacity(digits.len() + 1);
        for &digit in digits.iter().rev() {
            let mut carry = u128::from(digit);
            for digit in &mut out {
                carry += u128::from(*digit) * u128::from(from);
                *digit = (carry % u128::from(self.radix)) as u64;
                carry /= u128::from(self.radix);
            }
            while carry > 0 && out.len() < self.limit {
                out.push((carry % u128::from(self.radix)) as u64);
                carry /= u128::from(self.radix);
            }
        }
        trimmed(out, self.limit)
    }

    fn product(&self, left: &[u64], right: &[u64]) -> Vec<u64> {
        trimmed(multiply(left, right, self.radix), self.limit)
    }

    fn sum(&self, mut left: Vec<u64>, right: &[u64]) -> Vec<u64> {
        left.resize(left.len().max(right.len()) + 1, 0);
        add(&mut left, right, self.radix);
        trimmed(left, self.limit)
    }
}

/// The product, as long as both together.
fn multiply(left: &[u64], right: &[u64], radix: u64) -> Vec<u64> {
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    if short.len() <= SCHOOLBOOK {
        return columns(short, long, radix);
    }
    let mut out = vec![0; short.len() + long.len()];
    if long.len() > 2 * short.len() {
        // Halving would halve the longer one only.
        for (at, part) in long.chunks(short.len()).enumerate() {
            add(&mut out[at * short.len()..], &multiply(short, part, radix), radix);
        }
        return out;
    }
    let half = long.len().div_ceil(2);
    let (low_a, high_a) = long.split_at(half);
    let (low_b, high_b) = short.split_at(half.min(short.len()));
    let low = multiply(low_a, low_b, radix);
    let high = multiply(high_a, high_b, radix);
    // (low_a + high_a) · (low_b + high_b) is the mixed products together with the two that are
    // there already.
    let mut mixed = multiply(&both(low_a, high_a, radix), &both(low_b, high_b, radix), radix);
    subtract(&mut mixed, &low, radix);
    subtract(&mut mixed, &high, radix);
    let mixed = trimmed(mixed, usize::MAX);
    add(&mut out, &low, radix);
    add(&mut out[half..], &mixed, radix);
    add(&mut out[2 * half..], &trimmed(high, usize::MAX), radix);
    out
}

/// Each digit by each: the sum of a column is carried when all of it is there.
fn columns(short: &[u64], long: &[u64], radix: u64) -> Vec<u64> {
    let mut out = Vec::with_capacity(short.len() + long.len());
    let mut carry = 0_u128;
    for at in 0..short.len() + long.len() {
        let first = (at + 1).saturating_sub(long.len());
        let last = short.len().min(at + 1);
        for down in first..last {
            carry += u128::from(short[down]) * u128::from(long[at - down]);
        }
        out.push((carry % u128::from(radix)) as u64);
        carry /= u128::from(radix);
    }
    out
}

/// The sum of two numbers, with a digit for the carry.
fn both(left: &[u64], right: &[u64], radix: u64) -> Vec<u64> {
    let mut out = left.to_vec();
    out.resize(left.len().max(right.len()) + 1, 0);
    add(&mut out, right, radix);
    out
}

/// Adds to a number that has room for the sum.
fn add(number: &mut [u64], addend: &[u64], radix: u64) {
    let mut carry = 0;
    for (at, digit) in number.iter_mut().enumerate() {
        if at >= addend.len() && carry == 0 {
            break;
        }
        let sum = *digit + addend.get(at).unwrap_or(&0) + carry;
        carry = u64::from(sum >= radix);
        *digit = if carry == 1 { sum - radix } else { sum };
    }
}

/// Subtracts from a number that is no less.
fn subtract(number: &mut [u64], subtrahend: &[u64], radix: u64) {
    let mut borrow = 0;
    for (at, digit) in number.iter_mut().enumerate() {
        if at >= subtrahend.len() && borrow == 0 {
            break;
        }
        let taken = subtrahend.get(at).unwrap_or(&0) + borrow;
        borrow = u64::from(*digit < taken);
        *digit = if borrow == 1 { *digit + radix - taken } else { *digit - taken };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits that look like chance.
    fn digits(count: usize, radix: u64, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            // Runs of the largest and of the least digit make the longest carries.
            match state >> 61 {
                0 | 1 => radix - 1,
                2 => 0,
                _ => (state >> 3) % radix,
            }
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn products_are_those_of_each_digit_by_each() {
        for (left, right) in [(41, 41), (41, 83), (90, 50), (200, 41), (333, 300), (64, 4000)] {
            for radix in [DECIMAL, BINARY] {
                let (left, right) = (digits(left, radix, 1), digits(right, radix, 2));
                let (short, long) =
                    if left.len() < right.len() { (&left, &right) } else { (&right, &left) };
                // Column sums of a longer number would not fit; row by row they do.
                let mut wanted = vec![0; left.len() + right.len()];
                for (at, &digit) in short.iter().enumerate() {
                    add(&mut wanted[at..], &columns(&[digit], long, radix), radix);
                }
                assert_eq!(multiply(&left, &right, radix), wanted);
            }
        }
    }

    #[test]
    fn there_and_back() {
        for count in [0, 1, 2, 3, 5, 40, 41, 100, 1000] {
            let number = trimmed(digits(count, BINARY, 7), usize::MAX);
            let decimal = convert(&number, BINARY, DECIMAL, usize::MAX);
            assert!(decimal.iter().all(|&digit| digit < DECIMAL));
            assert_eq!(convert(&decimal, DECIMAL, BINARY, usize::MAX), number);
        }
    }

    #[test]
    fn what_is_above_the_limit_is_cut_off() {
        let number = digits(300, DECIMAL, 3);
        let whole = convert(&number, DECIMAL, BINARY, usize::MAX);
        for limit in [1, 2, 50, 299, 400] {
            let wanted = trimmed(whole[..limit.min(whole.len())].to_vec(), limit);
            assert_eq!(convert(&number, DECIMAL, BINARY, limit), wanted);
        }
    }
}
