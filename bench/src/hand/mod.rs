//! The reference: the best single-purpose loops known for each work, and a few lesser ones for scale.
//!
//! They are held to one rule: a source hands over real records. So each record is stored in memory once, 1,024 at a time,
//! and then processed. A loop in which the compiler keeps the event in registers measures no pipeline.

mod exchange;
pub mod small;
mod source;
pub mod w1;
pub mod w2;
pub mod w2x;
pub mod w3;
pub mod w4;
pub mod w5;
pub mod w6;
pub mod w7;

use std::ops::Range;
use std::panic;
use std::thread;

/// Runs `part` on each thread's share of `0..n` and returns what the threads found, in their order.
fn on_shares<T: Send>(n: u64, threads: usize, part: impl Fn(Range<u64>) -> T + Sync) -> Vec<T> {
    let threads = threads.max(1) as u64;
    if threads == 1 {
        return vec![part(0..n)];
    }
    // n * thread may pass u64 for a huge n, u128 never.
    let bound = |thread: u64| (u128::from(n) * u128::from(thread) / u128::from(threads)) as u64;
    on_threads(threads as usize, |thread| part(bound(thread as u64)..bound(thread as u64 + 1)))
}

/// Runs `part` on each of `threads` threads. A panic in one goes on in the caller.
fn on_threads<T: Send>(threads: usize, part: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let part = &part;
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|cause| panic::resume_unwind(cause)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once() {
        for (n, threads) in [(0, 3), (1, 2), (10, 3), (u64::MAX, 7), (5, 0)] {
            let shares = on_shares(n, threads, |share| share);
            assert_eq!(shares.first().map(|share| share.start), Some(0));
            assert_eq!(shares.last().map(|share| share.end), Some(n));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
