//! W2 with an exchange by key between the filter and the last step.

use std::sync::atomic::AtomicU64;

use super::exchange::{Owner, run};
use super::source::Source;
use super::w2::constant_times;
use crate::generate::{Event, kept, repriced};
use crate::{Failure, Outcome, Params, checksum};

/// Adds up the prices of the keys that a thread owns.
#[derive(Debug, Default)]
struct Sum(u64);

impl Owner<Event> for Sum {
    #[inline]
    fn take(&mut self, event: Event) {
        self.0 = self.0.wrapping_add(event.price);
    }

    fn advance(&mut self, _: i64) {}
}

/// The loop. On one thread there is nothing to exchange.
///
/// # Errors
/// None: the threads' channels outlive them.
pub fn exchanged(params: &Params) -> Result<Outcome, Failure> {
    if params.threads < 2 {
        return constant_times(params);
    }
    let claims = AtomicU64::new(0);
    let sums = run(params.threads, Sum::default, |worker| {
        let mut source = Source::new(params);
        while let Some(batch) = source.claim(&claims) {
            for event in source.fill(batch) {
                let event = repriced(*event);
                if kept(&event) {
                    worker.give(event.key, event, 0)?;
                }
            }
            worker.passed(0);
        }
        Ok(())
    })?;
    Ok(Outcome::new(checksum::of(sums.into_iter().map(|sum| sum.0)), params.n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_changes_no_sum() {
        for n in [0, 1, 1_025, 300_000] {
            let mut params = Params { n, threads: 1, keys: 1_000, ..Params::default() };
            let expected = constant_times(&params).unwrap();
            for threads in 1..4 {
                params.threads = threads;
                assert_eq!(exchanged(&params).unwrap(), expected, "{n} events, {threads} threads");
            }
        }
    }
}
