//! W2: map, filter, map, sum.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_sdk::{CombineFn, PCollection};

use super::{
    direct, partitions, run,
    source::{Events, Times},
};
use crate::{
    Failure, Outcome, Params,
    generate::{Event, kept, repriced},
};

/// Adds up, and wraps as the hand-written loop does.
#[derive(Clone, Debug)]
pub(super) struct WrappingSum;

impl CombineFn for WrappingSum {
    type Input = u64;
    type Accumulator = u64;
    type Output = u64;

    fn create(&self) -> u64 {
        0
    }

    fn add_input(&self, sum: &mut u64, x: u64) {
        *sum = sum.wrapping_add(x);
    }

    fn merge(&self, sum: &mut u64, other: u64) {
        *sum = sum.wrapping_add(other);
    }

    fn extract(&self, sum: u64) -> u64 {
        sum
    }
}

/// The chain as one fused run, all events at one time.
pub fn fused(params: &Params) -> Result<Outcome, Failure> {
    w2(params, Times::Constant, fused_chain)
}

/// The chain as one fused run, a timestamp an event.
pub fn fused_own_times(params: &Params) -> Result<Outcome, Failure> {
    w2(params, Times::Own, fused_chain)
}

/// The chain as plain transforms, all events at one time.
pub fn plain(params: &Params) -> Result<Outcome, Failure> {
    w2(params, Times::Constant, plain_chain)
}

/// The chain as plain transforms, a timestamp an event.
pub fn plain_own_times(params: &Params) -> Result<Outcome, Failure> {
    w2(params, Times::Own, plain_chain)
}

/// The chain as plain transforms on the direct runner.
pub fn plain_direct(params: &Params) -> Result<Outcome, Failure> {
    plain(&direct(params))
}

fn fused_chain(events: &PCollection<Event>) -> PCollection<u64> {
    events.fused("Chain", |s| s.map("Reprice", repriced).filter("Keep", kept).map("Price", |e| e.price))
}

fn plain_chain(events: &PCollection<Event>) -> PCollection<u64> {
    events.map("Reprice", repriced).filter("Keep", kept).map("Price", |e: Event| e.price)
}

fn w2(
    params: &Params,
    times: Times,
    chain: fn(&PCollection<Event>) -> PCollection<u64>,
) -> Result<Outcome, Failure> {
    let sum = Arc::new(AtomicU64::new(0));
    run(params, |p| {
        let total = sum.clone();
        let events = Events::read(p, params.keys, params.n, partitions(params), times);
        chain(&events).combine_globally("Sum", WrappingSum).map("Result", move |x| {
            total.store(x, Ordering::Relaxed);
        });
    })?;
    Ok(Outcome::new(sum.load(Ordering::Relaxed), params.n))
}
