//! W3: count events per key and tumbling window of 10 s; a window's counts come out when the watermark passes its end.

mod merge;
pub mod sliding;
mod windows;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use self::windows::{Windows, closed_by, results, starts_at, window_of};
use super::exchange::{self, Owner};
use super::on_threads;
use super::source::Source;
use crate::generate::Generator;
use crate::{Failure, Outcome, Params, checksum};

pub use self::windows::WINDOW_MS;

/// The loop: a map per window, emptied and used again when the window closes. Several threads take batches in turn, count
/// for themselves, and merge a window's maps when the last of them has passed its end. Best where many events fold into
/// one result.
///
/// # Errors
/// None.
pub fn merged(params: &Params) -> Result<Outcome, Failure> {
    let checksum = if params.threads > 1 { merge::run(params) } else { alone(params) };
    Ok(Outcome::new(checksum, params.n))
}

/// The same on one thread; several send each event to the one that owns its key. Best where hardly any events fold
/// together, so that merging maps would count everything a second time.
///
/// # Errors
/// None: the threads' channels outlive them.
pub fn exchanged(params: &Params) -> Result<Outcome, Failure> {
    let checksum = if params.threads > 1 { exchange_by_key(params)? } else { alone(params) };
    Ok(Outcome::new(checksum, params.n))
}

/// What one writes first: one map of (window, key), looked through whenever a window closes. One thread only.
///
/// # Errors
/// None.
pub fn naive(params: &Params) -> Result<Outcome, Failure> {
    let mut source = Source::new(params);
    let claims = AtomicU64::new(0);
    let mut counts: HashMap<(i64, u64), u64> = HashMap::new();
    let mut closed = i64::MIN;
    let mut sum = 0_u64;
    let mut close = |counts: &mut HashMap<(i64, u64), u64>, below: i64| {
        if below > closed {
            closed = below;
            counts.retain(|&(window, key), &mut count| {
                if window < below {
                    sum = sum.wrapping_add(checksum::window_count(key, starts_at(window), count));
                }
                window >= below
            });
        }
    };
    while let Some(batch) = source.claim(&claims) {
        for event in source.fill(batch.clone()) {
            *counts.entry((window_of(event.ts), event.key)).or_default() += 1;
        }
        close(&mut counts, closed_by(Generator::watermark(batch.end)));
    }
    close(&mut counts, all_closed(&source));
    Ok(Outcome::new(sum, params.n))
}

/// Counts the windows of the keys that a thread owns. What crosses is a key and a timestamp: all that its owner needs.
#[derive(Debug)]
struct Tumbling {
    windows: Windows,
    sum: u64,
}

impl Owner<(u64, i64)> for Tumbling {
    #[inline]
    fn take(&mut self, (key, ts): (u64, i64)) {
        self.windows.count(key, ts);
    }

    fn advance(&mut self, watermark: i64) {
        let Tumbling { windows, sum } = self;
        windows
            .close(closed_by(watermark), |window, counts| *sum = sum.wrapping_add(results(window, counts)));
    }
}

fn exchange_by_key(params: &Params) -> Result<u64, Failure> {
    let claims = AtomicU64::new(0);
    let owners = exchange::run(
        params.threads,
        || Tumbling { windows: Windows::new(), sum: 0 },
        |worker| {
            let mut source = Source::new(params);
            while let Some(batch) = source.claim(&claims) {
                let watermark = Generator::watermark(batch.start);
                for event in source.fill(batch.clone()) {
                    worker.give(event.key, (event.key, event.ts), watermark)?;
                }
                worker.passed(Generator::watermark(batch.end));
            }
            Ok(())
        },
    )?;
    let last = all_closed(&Source::new(params));
    Ok(checksum::of(owners.into_iter().map(|Tumbling { mut windows, mut sum }| {
        windows.close(last, |window, counts| sum = sum.wrapping_add(results(window, counts)));
        sum
    })))
}

fn alone(params: &Params) -> u64 {
    let mut source = Source::new(params);
    let claims = AtomicU64::new(0);
    let mut windows = Windows::new();
    let mut sum = 0_u64;
    while let Some(batch) = source.claim(&claims) {
        for event in source.fill(batch.clone()) {
            windows.count(event.key, event.ts);
        }
        windows.close(closed_by(Generator::watermark(batch.end)), |window, counts| {
            sum = sum.wrapping_add(results(window, counts));
        });
    }
    windows.close(all_closed(&source), |window, counts| sum = sum.wrapping_add(results(window, counts)));
    sum
}

/// The number below which every window lies that a source's events can be in.
fn all_closed(source: &Source) -> i64 {
    window_of(source.last_time()).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_loops_agree_on_any_number_of_threads() {
        for (n, keys) in [(0, 1), (1, 1), (1_025, 10), (350_000, 100), (350_000, 1_000_000)] {
            let mut params = Params { n, threads: 1, keys, ..Params::default() };
            let expected = naive(&params).unwrap();
            assert_eq!(expected.events, n);
            for threads in 1..5 {
                params.threads = threads;
                for (name, run) in [("merged", merged as crate::Run), ("exchanged", exchanged)] {
                    assert_eq!(run(&params).unwrap(), expected, "{name}: {n} events, {threads} threads");
                }
            }
        }
    }

    #[test]
    fn counts_are_those_of_a_plain_count() {
        let events = Generator::new(3);
        let mut counts: HashMap<(u64, i64), u64> = HashMap::new();
        for event in (0..250_000).map(|index| events.event(index)) {
            *counts.entry((event.key, event.ts.div_euclid(WINDOW_MS) * WINDOW_MS)).or_default() += 1;
        }
        let expected = checksum::of(
            counts.iter().map(|(&(key, start), &count)| checksum::window_count(key, start, count)),
        );
        let params = Params { n: 250_000, threads: 1, keys: 3, ..Params::default() };
        assert_eq!(merged(&params).unwrap().checksum, expected);
    }
}
