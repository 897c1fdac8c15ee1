//! The events of W2 and W3: a pure function of an event's index, so that every system sees the same data and any thread
//! can make any part of it.

/// How far an event's timestamp may lie behind the event's turn, in milliseconds (exclusive).
pub const JITTER_MS: i64 = 5_000;

/// How many events pass in one millisecond of event time.
pub const EVENTS_PER_MS: u64 = 10;

/// How many events lie between two watermarks, and how many a source hands over at a time.
pub const BATCH: u64 = 1_024;

/// Mixes `x` so that neighbouring inputs give unrelated outputs: one step of SplitMix64 (Steele, Lea and Flood, 2014),
/// with `x` as the state.
///
/// ```
/// // The first number of the reference implementation seeded with 0.
/// assert_eq!(purlin_bench_common::generate::splitmix64(0), 0xe220_a839_7b1d_cdaf);
/// ```
#[inline]
pub const fn splitmix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps a uniform `x` onto `0..bound` without a division (Lemire's multiply and shift).
#[inline]
pub const fn below(x: u64, bound: u64) -> u64 {
    ((x as u128 * bound as u128) >> 64) as u64
}

/// One event: 32 bytes, plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// Its index.
    pub id: u64,
    /// Its key, uniform over the generator's keys.
    pub key: u64,
    /// Its event time in milliseconds.
    pub ts: i64,
    /// A price from 1 to 1,000,000.
    pub price: u64,
}

/// The first step of W2: the price at a rate of 908 in 1000.
#[inline]
pub const fn repriced(event: Event) -> Event {
    Event { price: event.price * 908 / 1_000, ..event }
}

/// The second step of W2: whether the event stays.
#[inline]
pub const fn kept(event: &Event) -> bool {
    !event.key.is_multiple_of(4)
}

/// Makes events with a given number of keys.
///
/// ```
/// use purlin_bench_common::generate::Generator;
///
/// let events = Generator::new(10_000);
/// assert_eq!(events.event(77), events.event(77));
/// // No event is late: what comes at or after an index lies at or after its watermark.
/// assert!(events.event(1_000_000).ts >= Generator::watermark(1_000_000));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Generator {
    keys: u64,
}

impl Generator {
    /// A generator whose keys are uniform over `0..keys`; no keys count as one.
    pub const fn new(keys: u64) -> Self {
        Self { keys: if keys == 0 { 1 } else { keys } }
    }

    /// The event at an index.
    #[inline]
    pub const fn event(&self, index: u64) -> Event {
        let first = splitmix64(index);
        // The second number keeps time and price independent of the key.
        let second = splitmix64(first);
        let jitter = ((second >> 32) * JITTER_MS as u64) >> 32;
        let price = 1 + (((second & 0xffff_ffff) * 1_000_000) >> 32);
        Event { id: index, key: below(first, self.keys), ts: Self::turn(index) - jitter as i64, price }
    }

    /// The watermark ahead of the event at `index`: that event and all later ones have timestamps at or after it.
    #[inline]
    pub const fn watermark(index: u64) -> i64 {
        Self::turn(index) - JITTER_MS
    }

    /// The event time at which the event at `index` has its turn. A tenth of a u64 always fits an i64.
    const fn turn(index: u64) -> i64 {
        (index / EVENTS_PER_MS) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_32_bytes() {
        assert_eq!(size_of::<Event>(), 32);
    }

    #[test]
    fn no_event_is_late() {
        let events = Generator::new(7);
        for index in 0..100_000 {
            let ts = events.event(index).ts;
            assert!(ts >= Generator::watermark(index), "event {index} at {ts}");
            assert!(ts <= (index / EVENTS_PER_MS) as i64, "event {index} at {ts}");
        }
    }

    #[test]
    fn keys_and_jitter_are_uniform() {
        let events = Generator::new(10);
        let (mut keys, mut jitters) = ([0_u32; 10], [0_u32; 10]);
        for index in 0..100_000_u64 {
            let event = events.event(index);
            keys[event.key as usize] += 1;
            jitters[((index as i64 / 10 - event.ts) / 500) as usize] += 1;
        }
        // 10,000 expected in each; five standard deviations are 474.
        for count in keys.into_iter().chain(jitters) {
            assert!(count.abs_diff(10_000) < 474, "{keys:?} {jitters:?}");
        }
    }

    #[test]
    fn the_ends_of_the_index_do_not_wrap() {
        let event = Generator::new(u64::MAX).event(u64::MAX);
        assert!(event.ts > 0 && event.ts >= Generator::watermark(u64::MAX));
        assert_eq!(Generator::new(0).event(3).key, 0);
    }
}
