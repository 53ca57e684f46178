//! Bytes as a source of random choices.

use rand::{RngCore, SeedableRng as _, rngs::SmallRng};

/// Yields the bytes of an input, and after them endless bits that depend on all of the bytes.
///
/// A generator that draws from it makes every choice where the fuzzer can change it, and still ends
/// on short inputs.
#[derive(Clone, Debug)]
pub struct Entropy<'a> {
    rest: &'a [u8],
    after: SmallRng,
}

impl<'a> Entropy<'a> {
    /// The choices that an input encodes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Entropy { rest: bytes, after: SmallRng::seed_from_u64(fxhash::hash64(bytes)) }
    }
}

impl RngCore for Entropy<'_> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        let (now, rest) = self.rest.split_at(self.rest.len().min(out.len()));
        self.rest = rest;
        let (given, made) = out.split_at_mut(now.len());
        given.copy_from_slice(now);
        self.after.fill_bytes(made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_come_first_and_the_rest_depends_on_them() {
        let draw = |bytes: &[u8]| {
            let mut entropy = Entropy::new(bytes);
            [entropy.next_u32(), entropy.next_u32(), entropy.next_u32()]
        };
        assert_eq!(draw(&[1, 0, 0, 0, 2, 0, 0, 0])[..2], [1, 2]);
        assert_eq!(draw(b"abc"), draw(b"abc"));
        assert_ne!(draw(b"abc")[1], draw(b"abd")[1]);
    }
}
