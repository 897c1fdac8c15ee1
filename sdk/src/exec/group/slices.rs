//! What one worker has gathered in sliding windows.
//!
//! An element is in many windows and is added once, to the table of its *slice*: the span of time whose elements are in
//! the same windows. A window that closes gets the tables of its slices, shared with the windows that close later, and
//! the bundle that emits the window merges them.
//!
//! A table that is shared does not change any more. What comes later for its slice, which is late for the window that
//! closed, goes into a new one beside it.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{Fold, WindowTable, near::Near};
use crate::{
    Duration, Key, Result, Timestamp,
    exec::{
        WindowReport,
        save::{put, put_len, take, take_len},
    },
    window::{IntervalWindow, Slice, SlidingWindows, TimestampCombiner, Window},
};

/// What is gathered for a slice.
pub(super) struct SliceTable<K, F: Fold> {
    span: Slice,
    // The span again, as far as there are timestamps.
    within: IntervalWindow,
    // How many windows are still to close: of the slice's windows, counted from the last, these come first.
    open: i64,
    // Those of them that closed out of turn.
    closed: Vec<i64>,
    pub(super) table: WindowTable<K, F>,
    shared: Vec<Arc<WindowTable<K, F>>>,
    // What is known of elements' timestamps: the earliest, and whether some element has no say and leaves the result at
    // the window's last timestamp.
    hold: Timestamp,
    at_end: bool,
    reported: Option<(Timestamp, bool)>,
    /// For how many of its windows elements come too late.
    pub(super) late: u64,
    /// Whether those are the ones that have closed, so that what is added here gets into all others and no other.
    pub(super) in_step: bool,
}

/// Where an element belongs.
pub(super) enum Place {
    /// Into this slice.
    Slice(usize),
    /// It is too late for all its windows, so many.
    Late(u64),
}

/// The slices of one worker for one grouping.
pub(super) struct Slices<K, F: Fold> {
    pub(super) windows: SlidingWindows,
    combiner: TimestampCombiner,
    pub(super) all: Vec<SliceTable<K, F>>,
    // By start.
    index: HashMap<i64, usize, FixedState>,
    near: Near,
    // What the slices' lateness was last seen for.
    seen: Option<Timestamp>,
}

impl<K: Key, F: Fold> SliceTable<K, F> {
    fn new(span: Slice, table: WindowTable<K, F>, combiner: TimestampCombiner) -> SliceTable<K, F> {
        let [start, end] = [span.start, span.end].map(Timestamp::saturating_from_millis);
        SliceTable {
            span,
            within: IntervalWindow::new(start, end),
            open: span.windows,
            closed: Vec::new(),
            table,
            shared: Vec::new(),
            hold: Timestamp::MAX,
            at_end: combiner == TimestampCombiner::EndOfWindow,
            reported: None,
            late: 0,
            in_step: true,
        }
    }

    fn is_open(&self, n: i64) -> bool {
        n < self.open && !self.closed.contains(&n)
    }

    /// Looks which of its windows elements come too late for.
    fn judge(&mut self, windows: &SlidingWindows, watermark: Timestamp, lateness: Duration) {
        self.late = late(windows, &self.span, watermark, lateness) as u64;
        self.in_step = self.open + self.late as i64 == self.span.windows && self.closed.is_empty();
    }

    /// Takes in the timestamp of an element. One that is behind the watermark has no say.
    pub(super) fn note_time(&mut self, key: &K, ts: Timestamp, watermark: Timestamp) {
        if ts < watermark {
            self.at_end = true;
        } else {
            self.hold = self.hold.min(ts);
            self.table.note_time(key, ts, watermark, Timestamp::MAX);
        }
    }

    /// Notes that `window` closes; whether it is one of this slice's that are open.
    fn close(&mut self, windows: &SlidingWindows, window: IntervalWindow) -> bool {
        if window.start() > self.within.start() || window.end() < self.within.end() {
            return false;
        }
        // They close in order, the first one first.
        let next = self.open - 1;
        if windows.window_of(&self.span, next) == window {
            self.open = next;
        } else {
            let found = (0..next).find(|n| windows.window_of(&self.span, *n) == window);
            let Some(n) = found.filter(|n| self.is_open(*n)) else { return false };
            self.closed.push(n);
        }
        while let Some(i) = self.closed.iter().position(|n| n + 1 == self.open) {
            self.closed.swap_remove(i);
            self.open -= 1;
        }
        true
    }

    fn share(&mut self, combiner: TimestampCombiner) {
        if !self.table.accs.is_empty() {
            let full = std::mem::replace(&mut self.table, WindowTable::new(combiner));
            self.shared.push(Arc::new(full));
        }
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&(self.span.start, self.open, self.closed.clone()), out)?;
        put(&(self.hold, self.at_end, self.reported), out)?;
        put_len(self.shared.len(), out)?;
        for table in &self.shared {
            table.save_own(out)?;
        }
        self.table.save_own(out)
    }

    fn load(windows: &SlidingWindows, combiner: TimestampCombiner, input: &mut &[u8]) -> Result<Self> {
        let (start, open, closed): (i64, i64, Vec<i64>) = take(input)?;
        let (hold, at_end, reported) = take(input)?;
        let mut shared = Vec::new();
        for _ in 0..take_len(input)? {
            shared.push(Arc::new(WindowTable::load_own(combiner, input)?));
        }
        let table = WindowTable::load_own(combiner, input)?;
        let new = SliceTable::new(windows.slice_of(start), table, combiner);
        Ok(SliceTable { open, closed, shared, hold, at_end, reported, ..new })
    }
}

impl<K: Key, F: Fold> Slices<K, F> {
    pub(super) fn new(windows: SlidingWindows, combiner: TimestampCombiner) -> Slices<K, F> {
        Slices {
            windows,
            combiner,
            all: Vec::new(),
            index: HashMap::with_hasher(FixedState::default()),
            near: Near::new(windows.shortest_slice()),
            seen: None,
        }
    }

    /// Looks what is late at `watermark`.
    pub(super) fn move_to(&mut self, watermark: Timestamp, lateness: Duration) {
        if self.seen != Some(watermark) {
            self.seen = Some(watermark);
            self.all.iter_mut().for_each(|slice| slice.judge(&self.windows, watermark, lateness));
        }
    }

    /// The slice that an element at `ts` belongs to.
    #[inline]
    pub(super) fn place(
        &mut self,
        ts: Timestamp,
        watermark: Timestamp,
        lateness: Duration,
        spare: &mut Vec<WindowTable<K, F>>,
    ) -> Place {
        let guess = self.near.guess(ts);
        if self.all.get(guess).is_some_and(|slice| slice.within.contains(ts)) {
            return Place::Slice(guess);
        }
        let place = self.place_in(self.windows.slice_of(ts.as_millis()), watermark, lateness, spare);
        if let Place::Slice(i) = place {
            self.near.note(ts, i);
        }
        place
    }

    /// The slice `span`.
    pub(super) fn place_in(
        &mut self,
        span: Slice,
        watermark: Timestamp,
        lateness: Duration,
        spare: &mut Vec<WindowTable<K, F>>,
    ) -> Place {
        if let Some(i) = self.index.get(&span.start) {
            return Place::Slice(*i);
        }
        let late = late(&self.windows, &span, watermark, lateness);
        if late == span.windows {
            return Place::Late(late as u64);
        }
        let table = spare.pop().unwrap_or_else(|| WindowTable::new(self.combiner));
        let mut slice = SliceTable::new(span, table, self.combiner);
        slice.open = span.windows - late;
        slice.judge(&self.windows, watermark, lateness);
        Place::Slice(self.push(slice))
    }

    fn push(&mut self, slice: SliceTable<K, F>) -> usize {
        self.index.insert(slice.span.start, self.all.len());
        self.all.push(slice);
        self.all.len() - 1
    }

    /// What was gathered for `window`, in the order of time.
    pub(super) fn take(&mut self, window: &Window) -> Vec<Arc<WindowTable<K, F>>> {
        let Some(window) = window.as_interval() else { return Vec::new() };
        let mut parts = Vec::new();
        let mut i = 0;
        while let Some(slice) = self.all.get_mut(i) {
            if !slice.close(&self.windows, window) {
                i += 1;
                continue;
            }
            slice.share(self.combiner);
            let start = slice.span.start;
            if slice.open > 0 {
                parts.extend(slice.shared.iter().map(|table| (start, table.clone())));
                i += 1;
                continue;
            }
            let gone = self.all.swap_remove(i);
            self.index.remove(&start);
            if let Some(moved) = self.all.get(i) {
                self.index.insert(moved.span.start, i);
            }
            parts.extend(gone.shared.into_iter().map(|table| (start, table)));
        }
        self.seen = None;
        parts.sort_by_key(|(start, _)| *start);
        parts.into_iter().map(|(_, table)| table).collect()
    }

    /// Appends windows that got data since the last report, or data that hold the watermark lower.
    pub(super) fn report(&mut self, group: usize, out: &mut Vec<WindowReport>) {
        for slice in &mut self.all {
            let now = (slice.hold, slice.at_end);
            if slice.reported == Some(now) {
                continue;
            }
            slice.reported = Some(now);
            for n in (0..slice.open).filter(|n| slice.is_open(*n)) {
                let window = Window::Interval(self.windows.window_of(&slice.span, n));
                let end = if slice.at_end { window.result_timestamp() } else { Timestamp::MAX };
                out.push(WindowReport { group, window, hold: slice.hold.min(end) });
            }
        }
    }

    pub(super) fn save(&self, out: &mut Vec<u8>) -> Result {
        put_len(self.all.len(), out)?;
        self.all.iter().try_for_each(|slice| slice.save(out))
    }

    /// What [`Slices::save`] wrote.
    pub(super) fn load(&mut self, input: &mut &[u8]) -> Result {
        for _ in 0..take_len(input)? {
            let slice = SliceTable::load(&self.windows, self.combiner, input)?;
            self.push(slice);
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        let shared = |slice: &SliceTable<K, F>| slice.shared.iter().map(|t| t.accs.len()).sum::<usize>();
        self.all.iter().map(|slice| slice.table.accs.len() + shared(slice)).sum()
    }
}

/// For how many of a slice's windows elements come too late: the ones that began first.
fn late(windows: &SlidingWindows, span: &Slice, watermark: Timestamp, lateness: Duration) -> i64 {
    let expired = |n| Window::Interval(windows.window_of(span, n)).is_expired(lateness, watermark);
    if !expired(span.windows - 1) {
        return 0;
    }
    let (mut open, mut gone) = (0, span.windows - 1);
    // Windows before `open` are not expired, and `gone` is.
    while open < gone {
        let middle = open + (gone - open) / 2;
        if expired(middle) {
            gone = middle;
        } else {
            open = middle + 1;
        }
    }
    span.windows - gone
}
