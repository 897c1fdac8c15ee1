//! What is remembered of a key.

use serde::{Deserialize, Serialize};

/// 128 bits that stand for the bytes of a key. That two keys out of 10^12 share them has a chance of less than 10^-14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Fingerprint(u64, u64);

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

impl Fingerprint {
    /// MurmurHash3 for 64-bit machines with 128 bits, seed 0: the same on all machines and in all versions, since it is
    /// kept in restrictions. Source: <https://github.com/aappleby/smhasher>, which put it in the public domain.
    pub(crate) fn of(bytes: &[u8]) -> Fingerprint {
        let (mut h1, mut h2) = (0_u64, 0_u64);
        let (blocks, tail) = bytes.as_chunks::<16>();
        for block in blocks {
            let (k1, k2) = words(block);
            h1 = (h1 ^ scatter1(k1))
                .rotate_left(27)
                .wrapping_add(h2)
                .wrapping_mul(5)
                .wrapping_add(0x52dc_e729);
            h2 = (h2 ^ scatter2(k2))
                .rotate_left(31)
                .wrapping_add(h1)
                .wrapping_mul(5)
                .wrapping_add(0x3849_5ab5);
        }
        let mut last = [0; 16];
        last[..tail.len()].copy_from_slice(tail);
        let (k1, k2) = words(&last);
        // Of what is not there nothing is left: zero is scattered to zero.
        h1 ^= scatter1(k1);
        h2 ^= scatter2(k2);
        h1 ^= bytes.len() as u64;
        h2 ^= bytes.len() as u64;
        h1 = h1.wrapping_add(h2);
        h2 = h2.wrapping_add(h1);
        h1 = mix(h1);
        h2 = mix(h2);
        h1 = h1.wrapping_add(h2);
        h2 = h2.wrapping_add(h1);
        Fingerprint(h1, h2)
    }

    /// Half of the bits.
    pub(crate) fn half(self) -> u64 {
        self.0
    }
}

fn words(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

fn scatter1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scatter2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_murmur3() {
        for (text, h1, h2) in [
            ("", 0, 0),
            ("hello", 0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19),
            ("The quick brown fox jumps over the lazy dog", 0xe34b_bc7b_bc07_1b6c, 0x7a43_3ca9_c49a_9347),
        ] {
            assert_eq!(Fingerprint::of(text.as_bytes()), Fingerprint(h1, h2), "{text}");
        }
    }
}
