//! W2: reprice, keep three events of four, take the price, sum.

use std::hint::black_box;
use std::ops::Range;

use super::on_shares;
use crate::generate::{BATCH, Event, Generator, kept, repriced};
use crate::{Failure, Outcome, Params, checksum};

/// What an event adds to the sum after all steps.
#[inline]
const fn price(event: Event) -> u64 {
    let event = repriced(event);
    if kept(&event) { event.price } else { 0 }
}

/// The loop, with events that have no times of their own.
///
/// # Errors
/// None.
pub fn constant_times(params: &Params) -> Result<Outcome, Failure> {
    let events = Generator::new(params.keys);
    Ok(sum_of_shares(params, |share| {
        let mut stored = Vec::with_capacity(BATCH as usize);
        let mut sum = 0_u64;
        for batch in batches(share) {
            stored.clear();
            stored.extend(batch.map(|index| events.event(index)));
            // The events are in memory now, as they are when a source hands them over.
            for event in black_box(&stored) {
                sum = sum.wrapping_add(price(*event));
            }
        }
        sum
    }))
}

/// The loop, with a timestamp stored beside each event.
///
/// # Errors
/// None.
pub fn own_times(params: &Params) -> Result<Outcome, Failure> {
    let events = Generator::new(params.keys);
    Ok(sum_of_shares(params, |share| {
        let mut stored = Vec::with_capacity(BATCH as usize);
        let mut times = Vec::with_capacity(BATCH as usize);
        let mut sum = 0_u64;
        for batch in batches(share) {
            stored.clear();
            stored.extend(batch.map(|index| events.event(index)));
            times.clear();
            times.extend(stored.iter().map(|event: &Event| event.ts));
            black_box(&times);
            for event in black_box(&stored) {
                sum = sum.wrapping_add(price(*event));
            }
        }
        sum
    }))
}

/// The loop in which no event ever reaches memory: what the generator and the arithmetic cost, and no pipeline can have.
///
/// # Errors
/// None.
pub fn unstored(params: &Params) -> Result<Outcome, Failure> {
    let events = Generator::new(params.keys);
    Ok(sum_of_shares(params, |share| checksum::of(share.map(|index| price(events.event(index))))))
}

fn sum_of_shares(params: &Params, share: impl Fn(Range<u64>) -> u64 + Sync) -> Outcome {
    let sums = on_shares(params.n, params.threads, share);
    Outcome::new(checksum::of(sums), params.n)
}

/// Cuts a range into batches.
fn batches(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    range.step_by(BATCH as usize).map(move |start| start..end.min(start.saturating_add(BATCH)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_loops_agree_on_any_number_of_threads() {
        for n in [0, 1, 1_023, 1_024, 1_025, 10_000] {
            let mut params = Params { n, threads: 1, keys: 100, ..Params::default() };
            let expected = unstored(&params).unwrap();
            assert_eq!(expected.events, n);
            for threads in 1..4 {
                params.threads = threads;
                for run in [constant_times, own_times, unstored] {
                    assert_eq!(run(&params).unwrap(), expected, "{n} events, {threads} threads");
                }
            }
        }
    }

    #[test]
    fn steps_do_what_they_say() {
        let event = Event { id: 0, key: 4, ts: 0, price: 1_000 };
        assert_eq!(price(event), 0);
        assert_eq!(price(Event { key: 5, ..event }), 908);
    }
}
