//! Checksums of results. Results come in any order, so each is mixed alone and the mixed values are added up.

use crate::generate::splitmix64;

/// What one result of W3 adds to the checksum: a key's count in the window that starts at `start` (milliseconds).
///
/// ```
/// use purlin_bench_common::checksum::window_count;
///
/// assert_ne!(window_count(1, 2, 3), window_count(2, 1, 3));
/// ```
#[inline]
pub const fn window_count(key: u64, start: i64, count: u64) -> u64 {
    splitmix64(splitmix64(splitmix64(key) ^ start as u64) ^ count)
}

/// What one result of W1 adds to the checksum: a word and how often it occurs.
///
/// ```
/// use purlin_bench_common::checksum::word_count;
///
/// assert_ne!(word_count("roof", 1), word_count("roof", 2));
/// ```
pub fn word_count(word: &str, count: u64) -> u64 {
    splitmix64(splitmix64(text(word)) ^ count)
}

/// A number for a text: FNV-1a, the same in every process and every language.
///
/// ```
/// assert_eq!(purlin_bench_common::checksum::text("a"), 0xaf63_dc4c_8601_ec8c);
/// ```
pub fn text(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The checksum of all results: their own checksums, added up.
///
/// ```
/// assert_eq!(purlin_bench_common::checksum::of([u64::MAX, 3]), purlin_bench_common::checksum::of([3, u64::MAX]));
/// ```
pub fn of(results: impl IntoIterator<Item = u64>) -> u64 {
    results.into_iter().fold(0, u64::wrapping_add)
}
