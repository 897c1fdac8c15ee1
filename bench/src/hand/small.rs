//! W8, W9 and W10: starting, looking up, claiming.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{on_shares, source::Source};
use crate::generate::{Event, splitmix64};
use crate::{Failure, Outcome, Params, checksum};

/// W8: a number goes through `n` closures that nothing is known of.
///
/// # Errors
/// None.
pub fn closures(params: &Params) -> Result<Outcome, Failure> {
    let steps: Vec<Box<dyn Fn(u64) -> u64>> =
        (0..params.n).map(|_| Box::new(|x: u64| x + 1) as Box<_>).collect();
    Ok(Outcome::new(black_box(steps).iter().fold(0, |x, step| step(x)), params.n))
}

/// W9: the rate of a key.
pub const fn rate(key: u64) -> u64 {
    splitmix64(key) % 1_000
}

/// W9: what an event adds to the sum.
pub const fn converted(event: &Event, rate: u64) -> u64 {
    event.price * rate
}

/// W9: each event's key is looked up in a table.
///
/// # Errors
/// None.
pub fn looked_up(params: &Params) -> Result<Outcome, Failure> {
    let rates: HashMap<u64, u64, FixedState> = (0..params.keys).map(|key| (key, rate(key))).collect();
    let claims = std::sync::atomic::AtomicU64::new(0);
    let sums = super::on_threads(params.threads.max(1), |_| {
        let (mut source, mut sum) = (Source::new(params), 0_u64);
        while let Some(batch) = source.claim(&claims) {
            for event in source.fill(batch) {
                let rate = rates.get(&event.key).copied().unwrap_or(0);
                sum = sum.wrapping_add(converted(event, rate));
            }
        }
        sum
    });
    Ok(Outcome::new(checksum::of(sums), params.n))
}

/// W10: a range whose end may be moved by another thread, so each position is claimed under a lock.
///
/// # Errors
/// None.
pub fn claimed(params: &Params) -> Result<Outcome, Failure> {
    let sums = on_shares(params.n, params.threads, |share| {
        let (mut at, mut sum) = (share.start, 0_u64);
        let range = black_box(Mutex::new(share));
        loop {
            let mut left = range.lock().unwrap_or_else(PoisonError::into_inner);
            if at >= left.end {
                return sum;
            }
            left.start = at + 1;
            sum = sum.wrapping_add(splitmix64(at));
            at += 1;
        }
    });
    Ok(Outcome::new(checksum::of(sums), params.n))
}
