//! W6: a count for each key, told when the key was still for ten seconds of event time.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_derive::KeyedState;
use purlin_sdk::{
    Duration, Emitter, KeyedDoFn, ProcessContext, Result, TimerContext,
    state::{Timer, Value},
};

use super::{
    answers::add_up,
    partitions, run,
    source::{Events, Times},
};
use crate::hand::w6::{STILL_MS, answer};
use crate::{Failure, Outcome, Params};

#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Stay {
    count: Value<u64>,
    #[timer(event)]
    still: Timer,
}

/// Tells a key's count when it was still.
#[derive(Clone, Debug)]
struct Still;

impl KeyedDoFn for Still {
    type Key = u64;
    type Value = ();
    type Output = (u64, u64);
    type State = Stay;

    fn process(
        &mut self,
        _: &u64,
        (): (),
        stay: &mut Stay,
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, (u64, u64)>,
    ) -> Result {
        let count = stay.count.read().copied().unwrap_or(0);
        stay.count.write(count + 1);
        let still = cx.timestamp() + Duration::from_millis(STILL_MS);
        // Elements come in no order: only a later one moves the timer.
        if stay.still.time().is_none_or(|set| set < still) {
            stay.still.set(cx, still)?;
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        timer: StayTimer,
        key: &u64,
        stay: &mut Stay,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, (u64, u64)>,
    ) -> Result {
        let StayTimer::Still = timer;
        if let Some(count) = stay.count.take() {
            out.emit((*key, count));
        }
        Ok(())
    }
}

/// By a keyed DoFn with a value and a timer.
pub fn still(params: &Params) -> Result<Outcome, Failure> {
    let total = Arc::new(AtomicU64::new(0));
    run(params, |p| {
        let counts = Events::read(p, params.keys, params.n, partitions(params), Times::Own)
            .map("Key", |e| (e.key, ()))
            .par_do_keyed("Still", Still);
        add_up(&counts, |(key, count), _| answer(*key, *count), &total);
    })?;
    Ok(Outcome::new(total.load(Ordering::Relaxed), params.n))
}
