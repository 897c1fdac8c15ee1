//! Windows of rows.

use purlin_sdk::{
    BundleContext, BundleEmitter, DoFn, Element, Emitter, Key, ProcessContext, Result, Tag,
    metrics::ELEMENTS_IN_NO_WINDOW,
};

use crate::streaming::{
    OutputMode, TimeWindow, TimeWindows, operators::Handle, state_rows::Tally, time_of::TimeOf,
};

/// Gives each row once for each of its windows that is not final.
pub(super) struct Assign<K, V> {
    windows: TimeWindows,
    time: TimeOf<(K, V)>,
    handle: Handle,
    tally: Tally,
}

impl<K, V> Assign<K, V> {
    pub(super) fn new(windows: TimeWindows, time: TimeOf<(K, V)>, handle: Handle) -> Assign<K, V> {
        Assign { windows, time, handle, tally: Tally::default() }
    }

    /// Rows that came too late for all of their windows.
    pub(super) const fn late() -> Tag<(K, V)> {
        Tag::new("late")
    }
}

impl<K, V> Clone for Assign<K, V> {
    fn clone(&self) -> Assign<K, V> {
        Assign::new(self.windows, self.time.clone(), self.handle.clone())
    }
}

impl<K: Key, V: Element> DoFn for Assign<K, V> {
    type Input = (K, V);
    type Output = ((K, TimeWindow), Option<V>);

    fn start_bundle(&mut self, _: &BundleContext<'_>) -> Result {
        self.tally = Tally::default();
        Ok(())
    }

    fn process(
        &mut self,
        row: (K, V),
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, Self::Output>,
    ) -> Result {
        let Some(time) = self.time.get(&row, cx.timestamp()) else {
            cx.counter(ELEMENTS_IN_NO_WINDOW).inc(1);
            return Ok(());
        };
        let epoch = self.handle.epoch();
        let late = self.handle.placed().late(&epoch, 0);
        let late = late.filter(|_| self.time.is_event_time() && epoch.mode != OutputMode::Complete);
        let mut open = 0_usize;
        for window in self.windows.of(time) {
            if late.is_some_and(|late| window.end <= late) {
                self.tally.dropped += 1;
            } else {
                open += 1;
                out.emit(((row.0.clone(), window), Some(row.1.clone())));
            }
        }
        if open == 0 {
            out.emit_to(Self::late(), row);
        }
        Ok(())
    }

    fn finish_bundle(&mut self, cx: &BundleContext<'_>, _: &mut BundleEmitter<'_, Self::Output>) -> Result {
        self.tally.report(cx, &self.handle);
        Ok(())
    }
}
