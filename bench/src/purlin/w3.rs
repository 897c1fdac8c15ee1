//! W3: count per key and tumbling window.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_sdk::{
    BundleContext, BundleEmitter, CombineFn, DoFn, Duration, Emitter, ProcessContext, Result, WindowInto,
    window::{FixedWindows, SlidingWindows, Window},
};

use super::{
    direct, partitions, run,
    source::{Events, Times},
};
use crate::{Failure, Outcome, Params, checksum::window_count};

#[derive(Clone, Debug)]
struct Count;

impl CombineFn for Count {
    type Input = ();
    type Accumulator = u64;
    type Output = u64;

    fn create(&self) -> u64 {
        0
    }

    fn add_input(&self, n: &mut u64, (): ()) {
        *n += 1;
    }

    fn merge(&self, n: &mut u64, other: u64) {
        *n += other;
    }

    fn extract(&self, n: u64) -> u64 {
        n
    }
}

/// Adds the checksums of a bundle's results to the total.
#[derive(Clone, Debug)]
struct Checksum {
    bundle: u64,
    total: Arc<AtomicU64>,
}

impl DoFn for Checksum {
    type Input = (u64, u64);
    type Output = ();

    fn process(
        &mut self,
        (key, count): (u64, u64),
        cx: &ProcessContext<'_>,
        _: &mut Emitter<'_, ()>,
    ) -> Result {
        if let Window::Interval(w) = cx.window() {
            self.bundle = self.bundle.wrapping_add(window_count(key, w.start().as_millis(), count));
        }
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, _: &mut BundleEmitter<'_, ()>) -> Result {
        self.total.fetch_add(std::mem::take(&mut self.bundle), Ordering::Relaxed);
        Ok(())
    }
}

/// Counts per key and window of 10 seconds.
pub fn tumbling(params: &Params) -> Result<Outcome, Failure> {
    counted(params, FixedWindows::of(Duration::from_secs(10)))
}

/// Counts per key and window of 10 seconds on the direct runner.
pub fn tumbling_direct(params: &Params) -> Result<Outcome, Failure> {
    tumbling(&direct(params))
}

/// Counts per key and window of 10 seconds, one starting every second.
pub fn sliding(params: &Params) -> Result<Outcome, Failure> {
    counted(params, SlidingWindows::of(Duration::from_secs(10), Duration::from_secs(1)))
}

fn counted(params: &Params, windows: impl Into<WindowInto>) -> Result<Outcome, Failure> {
    let total = Arc::new(AtomicU64::new(0));
    run(params, |p| {
        Events::read(p, params.keys, params.n, partitions(params), Times::Own)
            .window_into("Windows", windows)
            .map("Key", |e| (e.key, ()))
            .combine_per_key("Count", Count)
            .par_do("Checksum", Checksum { bundle: 0, total: total.clone() });
    })?;
    Ok(Outcome::new(total.load(Ordering::Relaxed), params.n))
}
