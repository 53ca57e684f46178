//! MD5 (RFC 1321): the checksum of source files in debug information. It does not serve security;
//! it shows that a file was edited since it was compiled.

/// How far each step rotates.
const ROTATE: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The checksum of some bytes, in hexadecimal digits.
pub(super) fn md5(bytes: &[u8]) -> String {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let (blocks, rest) = bytes.as_chunks::<64>();
    let mut end = rest.to_vec();
    end.push(0x80);
    end.resize(if rest.len() < 56 { 56 } else { 120 }, 0);
    end.extend((bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in blocks.iter().chain(end.as_chunks::<64>().0) {
        step(&mut state, block);
    }
    let bytes = state.into_iter().flat_map(u32::to_le_bytes);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn step(state: &mut [u32; 4], block: &[u8; 64]) {
    let word = |at: usize| {
        let bytes = &block[4 * at..4 * at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for at in 0..64 {
        let (mixed, from) = match at / 16 {
            0 => ((b & c) | (!b & d), at),
            1 => ((d & b) | (!d & c), (5 * at + 1) % 16),
            2 => (b ^ c ^ d, (3 * at + 5) % 16),
            _ => (c ^ (b | !d), (7 * at) % 16),
        };
        // The fraction of a sine, as the standard defines its table.
        let sine = ((at as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(word(from));
        let rotated = b.wrapping_add(sum.rotate_left(ROTATE[at / 16][at % 4]));
        (a, d, c, b) = (d, c, b, rotated);
    }
    for (sum, new) in state.iter_mut().zip([a, b, c, d]) {
        *sum = sum.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::md5;

    #[test]
    fn as_the_standard_has_it() {
        assert_eq!(md5(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let digits =
            b"12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(md5(digits), "57edf4a22be3c955ac49da2e2107b67a");
        assert_eq!(md5(&[b'a'; 56]), md5("a".repeat(56).as_bytes()));
    }
}
