//! W2 with an exchange by key between the filter and the last step.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_sdk::{Emitter, KeyedDoFn, PCollection, ProcessContext, Result};

use super::{
    partitions, run,
    source::{Events, Times},
    w2::WrappingSum,
};
use crate::{
    Failure, Outcome, Params,
    generate::{Event, kept, repriced},
};

/// Takes the price where the key is owned; what has one key is in one place.
#[derive(Clone, Debug)]
struct Price;

impl KeyedDoFn for Price {
    type Key = u64;
    type Value = Event;
    type Output = u64;
    type State = ();

    fn process(
        &mut self,
        _: &u64,
        event: Event,
        (): &mut (),
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, u64>,
    ) -> Result {
        out.emit(event.price);
        Ok(())
    }
}

/// By a DoFn for keyed elements.
pub fn keyed(params: &Params) -> Result<Outcome, Failure> {
    w2x(params, |events| events.key_by("Key", |e| e.key).par_do_keyed("Price", Price))
}

/// By a reshuffle, which spreads elements over workers by no key.
pub fn reshuffled(params: &Params) -> Result<Outcome, Failure> {
    w2x(params, |events| events.reshuffle("Exchange").map("Price", |e| e.price))
}

fn w2x(params: &Params, exchange: fn(&PCollection<Event>) -> PCollection<u64>) -> Result<Outcome, Failure> {
    let sum = Arc::new(AtomicU64::new(0));
    run(params, |p| {
        let total = sum.clone();
        let events = Events::read(p, params.keys, params.n, partitions(params), Times::Constant);
        let kept = events.fused("Chain", |s| s.map("Reprice", repriced).filter("Keep", kept));
        exchange(&kept).combine_globally("Sum", WrappingSum).map("Result", move |x| {
            total.store(x, Ordering::Relaxed);
        });
    })?;
    Ok(Outcome::new(sum.load(Ordering::Relaxed), params.n))
}
