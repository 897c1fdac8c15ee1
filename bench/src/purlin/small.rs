//! W8, W9 and W10: starting, looking up, claiming.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_sdk::{
    DoFn, Emitter, MapView, ParDo, ProcessContext, Result, Timestamp, View,
    sdf::{
        Claims, Continuation, Manual, OffsetRange, OffsetRangeTracker, SdfContext, SplittableDoFn,
        WatermarkStateOf,
    },
};

use super::{
    answers::add_up,
    partitions, run,
    source::{Events, Times},
    w2::WrappingSum,
};
use crate::generate::{Event, splitmix64};
use crate::hand::small::{converted, rate};
use crate::{Failure, Outcome, Params};

/// W8: a number goes through `n` transforms.
pub fn transforms(params: &Params) -> Result<Outcome, Failure> {
    let total = Arc::new(AtomicU64::new(0));
    run(params, |p| {
        let mut numbers = p.create("Zero", [0_u64]);
        for step in 0..params.n {
            numbers = numbers.map(&format!("Add{step}"), |x| x + 1);
        }
        add_up(&numbers, |x, _| *x, &total);
    })?;
    Ok(Outcome::new(total.load(Ordering::Relaxed), params.n))
}

/// Converts a price by the rate of its key.
#[derive(Clone, Debug)]
struct Convert(View<MapView<u64, u64>>);

impl DoFn for Convert {
    type Input = Event;
    type Output = u64;

    fn process(&mut self, event: Event, cx: &ProcessContext<'_>, out: &mut Emitter<'_, u64>) -> Result {
        let rate = cx.side(&self.0)?.get(&event.key).copied().unwrap_or(0);
        out.emit(converted(&event, rate));
        Ok(())
    }
}

/// W9: each event's key is looked up in a side input.
pub fn looked_up(params: &Params) -> Result<Outcome, Failure> {
    let sum = Arc::new(AtomicU64::new(0));
    run(params, |p| {
        let total = sum.clone();
        let rates = p.create("Rates", (0..params.keys).map(|key| (key, rate(key)))).view_as_map("AsMap");
        Events::read(p, params.keys, params.n, partitions(params), Times::Constant)
            .par_do_with("Convert", ParDo::of(Convert(rates.clone())).side(&rates))
            .main()
            .combine_globally("Sum", WrappingSum)
            .map("Result", move |x| total.store(x, Ordering::Relaxed));
    })?;
    Ok(Outcome::new(sum.load(Ordering::Relaxed), params.n))
}

/// Claims each position and emits their sum.
#[derive(Clone, Debug)]
struct Claim {
    n: u64,
}

impl SplittableDoFn for Claim {
    type Input = u64;
    type Output = u64;
    type Tracker = OffsetRangeTracker;
    type Estimator = Manual;

    fn initial_restriction(&self, _: &u64, _: &SdfContext<'_>) -> Result<OffsetRange> {
        Ok(OffsetRange::new(0, self.n as i64))
    }

    fn new_tracker(&self, _: &u64, range: OffsetRange, _: &SdfContext<'_>) -> Result<OffsetRangeTracker> {
        Ok(OffsetRangeTracker::new(range))
    }

    fn initial_watermark_state(
        &self,
        _: &u64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<WatermarkStateOf<Self>> {
        Ok(Timestamp::MIN)
    }

    fn new_watermark_estimator(
        &self,
        state: WatermarkStateOf<Self>,
        _: &u64,
        _: &OffsetRange,
        _: &SdfContext<'_>,
    ) -> Result<Manual> {
        Ok(Manual::new(state))
    }

    fn process(
        &mut self,
        _: &u64,
        claims: &Claims<'_, Self>,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, u64>,
    ) -> Result<Continuation> {
        let (mut at, mut sum) = (claims.restriction().start, 0_u64);
        while claims.try_claim(at) {
            sum = sum.wrapping_add(splitmix64(at as u64));
            at += 1;
        }
        out.emit(sum);
        Ok(Continuation::Stop)
    }
}

/// W10: `n` claims of a splittable DoFn that does next to nothing.
pub fn claimed(params: &Params) -> Result<Outcome, Failure> {
    let total = Arc::new(AtomicU64::new(0));
    run(params, |p| {
        let sums = p.create("One", [0_u64]).par_do_splittable("Claim", Claim { n: params.n });
        add_up(&sums, |sum, _| *sum, &total);
    })?;
    Ok(Outcome::new(total.load(Ordering::Relaxed), params.n))
}
