//! The end of a pipeline: what results add to the checksum.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Element, Emitter, PCollection, ProcessContext, Result, window::Window,
};

/// What a result adds.
pub(super) type Answer<T> = fn(&T, &ProcessContext<'_>) -> u64;

/// Adds the checksums of a bundle's results to the total.
#[derive(Clone, Debug)]
struct Answers<T> {
    answer: Answer<T>,
    bundle: u64,
    total: Arc<AtomicU64>,
}

impl<T: Element> DoFn for Answers<T> {
    type Input = T;
    type Output = ();

    fn process(&mut self, result: T, cx: &ProcessContext<'_>, _: &mut Emitter<'_, ()>) -> Result {
        self.bundle = self.bundle.wrapping_add((self.answer)(&result, cx));
        Ok(())
    }

    fn finish_bundle(&mut self, _: &BundleContext<'_>, _: &mut BundleEmitter<'_, ()>) -> Result {
        self.total.fetch_add(std::mem::take(&mut self.bundle), Ordering::Relaxed);
        Ok(())
    }
}

/// Adds up what results are worth.
pub(super) fn add_up<T: Element>(results: &PCollection<T>, answer: Answer<T>, total: &Arc<AtomicU64>) {
    results.par_do("Answers", Answers { answer, bundle: 0, total: total.clone() });
}

/// When the window of a result starts, in milliseconds.
pub(super) fn start(cx: &ProcessContext<'_>) -> i64 {
    if let Window::Interval(window) = cx.window() { window.start().as_millis() } else { 0 }
}
