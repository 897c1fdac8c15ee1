//! W6: a count for each key, told when the key was still for ten seconds of event time: a map, and a timer wheel.

use std::sync::atomic::AtomicU64;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::exchange::{self, Owner};
use super::source::Source;
use crate::generate::{Generator, splitmix64};
use crate::{Failure, Outcome, Params, checksum};

/// How long a key must be still, in milliseconds.
pub const STILL_MS: i64 = 10_000;

/// How long a slot of the wheel is, in milliseconds.
const SLOT_MS: i64 = 64;

/// What a result adds to the checksum. What is one stay or two depends on how far the watermark is behind, so counts are
/// added up by a weight.
pub const fn answer(key: u64, count: u64) -> u64 {
    splitmix64(key).wrapping_mul(count)
}

/// Keys, when each will have been still, and a wheel of keys by that time.
#[derive(Debug)]
struct Still {
    keys: HashMap<u64, (u64, i64), FixedState>,
    wheel: Vec<Vec<u64>>,
    /// Slots below this have fired.
    next: i64,
    firing: Vec<u64>,
    sum: u64,
}

impl Still {
    fn new(threads: usize) -> Self {
        // What lies ahead of the watermark: ten seconds of stillness, five of disorder, and what others are behind.
        let slots = 512 * threads.max(1).next_power_of_two();
        let first = Generator::watermark(0).div_euclid(SLOT_MS);
        Self {
            keys: HashMap::default(),
            wheel: vec![Vec::new(); slots],
            next: first,
            firing: Vec::new(),
            sum: 0,
        }
    }

    fn finish(&mut self) -> u64 {
        let open = self.keys.drain().map(|(key, (count, _))| answer(key, count));
        self.sum.wrapping_add(checksum::of(open))
    }

    #[inline]
    fn slot(&self, time: i64) -> usize {
        time.div_euclid(SLOT_MS) as usize & (self.wheel.len() - 1)
    }
}

impl Owner<(u64, i64)> for Still {
    #[inline]
    fn take(&mut self, (key, ts): (u64, i64)) {
        let still = ts + STILL_MS;
        match self.keys.entry(key) {
            Entry::Occupied(mut known) => {
                let (count, until) = known.get_mut();
                *count += 1;
                // The wheel learns of it when the old time comes.
                *until = still.max(*until);
            }
            Entry::Vacant(new) => {
                new.insert((1, still));
                let slot = self.slot(still);
                self.wheel[slot].push(key);
            }
        }
    }

    fn advance(&mut self, watermark: i64) {
        while (self.next + 1) * SLOT_MS <= watermark {
            let slot = self.slot(self.next * SLOT_MS);
            self.next += 1;
            std::mem::swap(&mut self.firing, &mut self.wheel[slot]);
            let mut firing = std::mem::take(&mut self.firing);
            for key in firing.drain(..) {
                match self.keys.entry(key) {
                    Entry::Occupied(known) if known.get().1 < watermark => {
                        self.sum = self.sum.wrapping_add(answer(key, known.remove().0));
                    }
                    Entry::Occupied(known) => {
                        let until = known.get().1;
                        let slot = self.slot(until);
                        self.wheel[slot].push(key);
                    }
                    Entry::Vacant(_) => {}
                }
            }
            self.firing = firing;
        }
    }
}

/// The loop; several threads send each event to the one that owns its key.
///
/// # Errors
/// None: the threads' channels outlive them.
pub fn still(params: &Params) -> Result<Outcome, Failure> {
    let claims = AtomicU64::new(0);
    if params.threads < 2 {
        let (mut source, mut still) = (Source::new(params), Still::new(1));
        while let Some(batch) = source.claim(&claims) {
            for event in source.fill(batch.clone()) {
                still.take((event.key, event.ts));
            }
            still.advance(Generator::watermark(batch.end));
        }
        return Ok(Outcome::new(still.finish(), params.n));
    }
    let owners = exchange::run(
        params.threads,
        || Still::new(params.threads),
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
    Ok(Outcome::new(checksum::of(owners.into_iter().map(|mut still| still.finish())), params.n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_are_told_and_keys_leave_when_they_are_still() {
        let mut params = Params { n: 500_000, threads: 1, keys: 2_000, ..Params::default() };
        let events = Generator::new(params.keys);
        let expected = checksum::of((0..params.n).map(|i| answer(events.event(i).key, 1)));
        for threads in 1..4 {
            params.threads = threads;
            assert_eq!(still(&params).unwrap().checksum, expected, "{threads} threads");
        }
        let mut still = Still::new(1);
        still.take((7, 0));
        still.take((7, 5_000));
        still.advance(STILL_MS + 1_000);
        assert_eq!(still.keys.len(), 1, "it came again");
        still.advance(STILL_MS + 6_000);
        assert!(still.keys.is_empty());
    }
}
