//! W5: how long a result takes. Events are due 100,000 a second; a result's latency counts from when its event was due,
//! or its window ended, so that a source that falls behind is not excused.

use std::time::{Duration, Instant};

use crate::generate::splitmix64;
use crate::{Failure, Latency, Outcome, Params, checksum};

/// Nanoseconds between events.
const APART_NS: u64 = 10_000;

/// How long a window is, in milliseconds.
pub const WINDOW_MS: i64 = 10;

/// How many keys are counted in a window.
pub const KEYS: u64 = 10;

/// How long the source sleeps when it has nothing to do.
pub const NAP: Duration = Duration::from_millis(1);

/// When an event is due, after the start.
pub const fn due(id: u64) -> Duration {
    Duration::from_nanos(id * APART_NS)
}

/// How many events are due at a time after the start.
pub const fn due_by(since_start: Duration) -> u64 {
    (since_start.as_nanos() / APART_NS as u128) as u64 + 1
}

/// The event time of an event, in milliseconds after the start.
pub const fn time(id: u64) -> i64 {
    (id * APART_NS / 1_000_000) as i64
}

/// The percentiles of latencies in microseconds.
pub fn percentiles(mut us: Vec<u32>) -> Option<Latency> {
    us.sort_unstable();
    let at = |hundredths: usize| {
        us.get(us.len().saturating_sub(1) * hundredths / 100).map(|us| f64::from(*us) / 1e3)
    };
    Some(Latency { p50_ms: at(50)?, p99_ms: at(99)? })
}

/// A latency in microseconds.
pub fn since(start: Instant, then: Duration) -> u32 {
    u32::try_from(start.elapsed().saturating_sub(then).as_micros()).unwrap_or(u32::MAX)
}

/// Each event is a result.
///
/// # Errors
/// None.
pub fn each(params: &Params) -> Result<Outcome, Failure> {
    let (mut sum, mut latencies) = (0_u64, Vec::with_capacity(params.n as usize));
    paced(params.n, |start, id| {
        sum = sum.wrapping_add(splitmix64(id));
        latencies.push(since(start, due(id)));
    });
    Ok(Outcome { latency: percentiles(latencies), ..Outcome::new(sum, params.n) })
}

/// Each key's count in a window is a result.
///
/// # Errors
/// None.
pub fn windowed(params: &Params) -> Result<Outcome, Failure> {
    let (mut sum, mut latencies, mut window) = (0_u64, Vec::new(), 0_i64);
    let mut counts = [0_u64; KEYS as usize];
    let mut close = |start: Instant, window: i64, counts: &mut [u64; KEYS as usize]| {
        let end = Duration::from_millis(((window + 1) * WINDOW_MS) as u64);
        for (key, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            sum = sum.wrapping_add(checksum::window_count(key as u64, window * WINDOW_MS, *count));
            latencies.push(since(start, end));
            *count = 0;
        }
    };
    let mut last = None;
    paced(params.n, |start, id| {
        let of = time(id) / WINDOW_MS;
        if of != window {
            close(start, window, &mut counts);
            window = of;
        }
        counts[(id % KEYS) as usize] += 1;
        last = Some(start);
    });
    if let Some(start) = last {
        close(start, window, &mut counts);
    }
    Ok(Outcome { latency: percentiles(latencies), ..Outcome::new(sum, params.n) })
}

/// Hands over each event when it is due, or as soon after that as it wakes.
fn paced(n: u64, mut event: impl FnMut(Instant, u64)) {
    let (start, mut next) = (Instant::now(), 0);
    while next < n {
        let due = due_by(start.elapsed()).min(n);
        if next == due {
            std::thread::sleep(NAP);
        }
        while next < due {
            event(start, next);
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_all_results() {
        let latency = percentiles((1..=1_000).rev().collect()).unwrap();
        assert_eq!((latency.p50_ms, latency.p99_ms), (0.5, 0.99));
        assert_eq!(percentiles(Vec::new()), None);
    }

    #[test]
    fn an_event_is_due_at_its_time() {
        assert_eq!((due_by(Duration::ZERO), due_by(Duration::from_nanos(19_999))), (1, 2));
        assert_eq!((time(99), time(100)), (0, 1));
    }
}
