//! W3 with sliding windows of 10 s that start every second: a map for each second (a pane), and a window's ten panes
//! merged when the watermark passes its end.

use std::sync::atomic::AtomicU64;

use super::windows::Counts;
use super::{Owner, Source, exchange};
use crate::generate::Generator;
use crate::{Failure, Outcome, Params, checksum};

/// How long a pane is, and how far apart windows start, in milliseconds.
const PANE_MS: i64 = 1_000;

/// How many panes a window has.
const PANES: i64 = 10;

/// How many panes a ring holds on one thread: those of the oldest open window, and those that events lie ahead of it.
/// Threads that wait for others run ahead, the further the more there are. A power of two.
const RING: usize = 32;

/// The panes of one thread. Pane `p` is `[p s, p + 1 s)`, window `w` has the panes from `w - 9` to `w`.
#[derive(Debug)]
struct Panes {
    ring: Vec<Counts>,
    /// Windows whose last pane lies below this are closed.
    next: i64,
    merged: Counts,
    sum: u64,
}

impl Panes {
    fn new(threads: usize) -> Self {
        // The first events lie up to 5 s before time 0.
        Self {
            ring: vec![Counts::default(); RING * threads.max(1).next_power_of_two()],
            next: -6,
            merged: Counts::default(),
            sum: 0,
        }
    }

    #[inline]
    fn place(&self, pane: i64) -> usize {
        pane as usize & (self.ring.len() - 1)
    }

    #[inline]
    fn count(&mut self, key: u64, ts: i64) {
        let pane = ts.div_euclid(PANE_MS);
        debug_assert!(pane >= self.next && pane < self.next - PANES + self.ring.len() as i64, "pane {pane}");
        let at = self.place(pane);
        *self.ring[at].entry(key).or_insert(0) += 1;
    }

    /// Closes all windows whose last pane lies below a number.
    fn close(&mut self, below: i64) {
        while self.next < below {
            let last = self.next;
            for pane in last - PANES + 1..=last {
                for (key, count) in &self.ring[self.place(pane)] {
                    *self.merged.entry(*key).or_insert(0) += count;
                }
            }
            let start = (last - PANES + 1) * PANE_MS;
            let results = self.merged.drain().map(|(key, count)| checksum::window_count(key, start, count));
            self.sum = self.sum.wrapping_add(checksum::of(results));
            let first = self.place(last - PANES + 1);
            self.ring[first].clear();
            self.next += 1;
        }
    }

    /// Closes what is left when no event lies after a time.
    fn finish(&mut self, last_time: i64) -> u64 {
        self.close(last_time.div_euclid(PANE_MS) + PANES);
        self.sum
    }
}

impl Owner<(u64, i64)> for Panes {
    #[inline]
    fn take(&mut self, (key, ts): (u64, i64)) {
        self.count(key, ts);
    }

    fn advance(&mut self, watermark: i64) {
        self.close(watermark.div_euclid(PANE_MS));
    }
}

/// The loop; several threads send each event to the one that owns its key.
///
/// # Errors
/// None: the threads' channels outlive them.
pub fn panes(params: &Params) -> Result<Outcome, Failure> {
    let claims = AtomicU64::new(0);
    let last_time = Source::new(params).last_time();
    if params.threads < 2 {
        let (mut source, mut panes) = (Source::new(params), Panes::new(1));
        while let Some(batch) = source.claim(&claims) {
            for event in source.fill(batch.clone()) {
                panes.count(event.key, event.ts);
            }
            panes.advance(Generator::watermark(batch.end));
        }
        return Ok(Outcome::new(panes.finish(last_time), params.n));
    }
    let owners = exchange::run(
        params.threads,
        || Panes::new(params.threads),
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
    let sums = owners.into_iter().map(|mut panes| panes.finish(last_time));
    Ok(Outcome::new(checksum::of(sums), params.n))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn panes_count_what_a_plain_count_in_ten_windows_does() {
        for n in [0, 1, 150_000, 600_000] {
            let mut params = Params { n, threads: 1, keys: 50, ..Params::default() };
            let events = Generator::new(params.keys);
            let mut counts: HashMap<(u64, i64), u64> = HashMap::new();
            for event in (0..n).map(|index| events.event(index)) {
                let last = event.ts.div_euclid(PANE_MS);
                for first in last - PANES + 1..=last {
                    *counts.entry((event.key, first * PANE_MS)).or_default() += 1;
                }
            }
            let results =
                counts.iter().map(|(&(key, start), &count)| checksum::window_count(key, start, count));
            let expected = Outcome::new(checksum::of(results), n);
            for threads in 1..4 {
                params.threads = threads;
                assert_eq!(panes(&params).unwrap(), expected, "{n} events, {threads} threads");
            }
        }
    }
}
