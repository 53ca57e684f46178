//! Bank conflicts of shared memory.
//!
//! Shared memory is divided into [`BANKS`] banks of [`WORD`] bytes, and consecutive words are in
//! consecutive banks. Hardware serves as many consecutive lanes together as access one word per
//! bank: all of a wave of 32 lanes for words, half of it for 8 bytes, a quarter for 16. Within such
//! a group, lanes that access the same word are served at once, and different words of one bank one
//! after the other.
//!
//! The *degree* is the largest number of different words of one bank in such a group: one if there
//! is no conflict. It is computed for the full wave; fewer active lanes touch no more.
//!
//! Source: NVIDIA, *CUDA C++ Programming Guide*, shared memory of compute capability 5 and later;
//! AMD, *RDNA 3 Instruction Set Architecture*, local data share.
//!
//! O(lanes) for each place that the base of the address can have in a word.

/// The number of banks.
const BANKS: u64 = 32;

/// Bytes of a bank's word.
const WORD: u64 = 4;

/// The number of lanes that are served together if each accesses `size` bytes.
#[must_use]
pub fn served_together(size: u32) -> u32 {
    (BANKS * WORD / u64::from(size.max(1))).clamp(1, BANKS) as u32
}

/// The degree of lanes at these offsets from a base that is a multiple of `align`. Each lane
/// accesses `size` bytes.
#[must_use]
pub fn degree(lanes: &[i64], size: u32, align: u64) -> u32 {
    let together = served_together(size) as usize;
    let size = i128::from(size.max(1));
    let word = i128::from(WORD);
    let step = align.clamp(1, WORD);
    let mut most = 0;
    // Adding whole words to the base only rotates the banks.
    for base in (0..WORD).step_by(step as usize) {
        for group in lanes.chunks(together) {
            let mut words: Vec<i128> = Vec::with_capacity(group.len());
            for &offset in group {
                let first = i128::from(base) + i128::from(offset);
                let (first, last) = (first.div_euclid(word), (first + size - 1).div_euclid(word));
                // No instruction accesses more words than that.
                words.extend((first..=last).take(4096));
            }
            words.sort_unstable();
            words.dedup();
            let mut of_bank = [0; BANKS as usize];
            for word in words {
                of_bank[word.rem_euclid(BANKS.into()) as usize] += 1;
            }
            most = most.max(of_bank.into_iter().max().unwrap_or(0));
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::degree;

    fn strided(stride: i64, size: u32) -> u32 {
        let lanes: Vec<i64> = (0..32).map(|lane| lane * stride).collect();
        degree(&lanes, size, 4)
    }

    #[test]
    fn strides() {
        // The largest common divisor with the number of banks.
        assert_eq!([4, 8, 12, 16, 32, 64, 128].map(|n| strided(n, 4)), [1, 2, 1, 4, 8, 16, 32]);
        // A padded row.
        assert_eq!(strided(132, 4), 1);
        assert_eq!(strided(0, 4), 1);
        assert_eq!(strided(256, 4), 32);
    }

    #[test]
    fn sizes() {
        assert_eq!([(1, 1), (2, 2), (8, 8), (16, 16)].map(|(n, size)| strided(n, size)), [1; 4]);
        // Half a wave at every second word.
        assert_eq!(strided(16, 8), 2);
        assert_eq!(strided(32, 16), 2);
    }

    #[test]
    fn a_base_inside_a_word() {
        // The lanes of a word may be in two.
        let lanes: Vec<i64> = (0..32).map(|lane| lane * 128).collect();
        assert_eq!(degree(&lanes, 4, 1), 32);
        let pairs: Vec<i64> = (0..32).map(|lane| lane / 2 * 2).collect();
        assert_eq!(degree(&pairs, 2, 1), 1);
    }
    #[test]
    fn a_lane_that_reaches_the_base_from_below() {
        // Words -1 and 0, and -33 and -32.
        assert_eq!(degree(&[-2, -130], 4, 4), 2);
    }
}
