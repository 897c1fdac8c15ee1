//! What one worker has gathered for a grouping: a table per window.

use std::{any::Any, sync::Arc};

use foldhash::fast::FixedState;
use hashbrown::{HashMap, hash_map::Entry};

use super::{
    Fold,
    near::Near,
    slices::{Place, Slices},
};
use crate::{
    Duration, Key, Result, Timestamp,
    batch::{Batch, Row, WindowSet, Windows},
    exec::{
        WindowReport,
        save::{put, put_len, room, take, take_len},
    },
    window::{FixedWindows, IntervalWindow, SlidingWindows, TimestampCombiner, Window},
};

/// What one worker has gathered for a grouping.
pub trait Shard: Send {
    /// The typed shard, for its collector.
    fn as_any(&mut self) -> &mut dyn Any;
    /// Takes out what was gathered for `window`.
    fn take(&mut self, window: &Window) -> Option<Box<dyn AnyTable>>;
    /// Takes an emptied table to use again; one of another grouping, or one too many, is dropped.
    fn recycle(&mut self, table: Box<dyn AnyTable>);
    /// Windows that got data since the last report, or data that hold the watermark lower.
    fn report(&mut self, group: usize) -> Vec<WindowReport>;
    /// Appends all that it holds. [`GroupFactory::load_shard`] and [`ViewFactory::load_shard`] read it back.
    ///
    /// [`GroupFactory::load_shard`]: super::GroupFactory::load_shard
    /// [`ViewFactory::load_shard`]: crate::exec::ViewFactory::load_shard
    ///
    /// # Errors
    /// When a key or an accumulator does not encode.
    fn save(&self, out: &mut Vec<u8>) -> Result;
    /// How many accumulators it holds, for the memory budget.
    fn len(&self) -> usize;
    /// Whether it holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What one worker has gathered for one window.
pub trait AnyTable: Send {
    /// The typed table, for the kernel that merges and emits.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// A copy.
    fn copy(&self) -> Box<dyn AnyTable>;
    /// Appends all that it holds. [`GroupFactory::load_table`] and [`ViewFactory::load_table`] read it back.
    ///
    /// [`GroupFactory::load_table`]: super::GroupFactory::load_table
    /// [`ViewFactory::load_table`]: crate::exec::ViewFactory::load_table
    ///
    /// # Errors
    /// When a key or an accumulator does not encode.
    fn save(&self, out: &mut Vec<u8>) -> Result;
}

/// Key to accumulator, for one window.
pub(crate) struct WindowTable<K, F: Fold> {
    pub(super) accs: HashMap<K, F::Acc, FixedState>,
    // Output timestamps by key, kept only where they do not follow from the window.
    pub(super) times: HashMap<K, Timestamp, FixedState>,
    combiner: TimestampCombiner,
    hold: Timestamp,
    reported: Option<Timestamp>,
    // What was gathered per slice: it belongs to the window too, and to others.
    pub(super) parts: Vec<Arc<WindowTable<K, F>>>,
}

impl<K: Key, F: Fold> WindowTable<K, F> {
    pub(super) fn new(combiner: TimestampCombiner) -> WindowTable<K, F> {
        WindowTable {
            combiner,
            accs: HashMap::with_hasher(FixedState::default()),
            times: HashMap::with_hasher(FixedState::default()),
            hold: Timestamp::MAX,
            reported: None,
            parts: Vec::new(),
        }
    }

    /// A table with nothing in it.
    pub(super) fn empty() -> WindowTable<K, F> {
        WindowTable::new(TimestampCombiner::EndOfWindow)
    }

    /// What [`AnyTable::save`] wrote.
    pub(crate) fn load(combiner: TimestampCombiner, input: &mut &[u8]) -> Result<WindowTable<K, F>> {
        let mut table = WindowTable::load_own(combiner, input)?;
        for _ in 0..take_len(input)? {
            table.parts.push(Arc::new(WindowTable::load_own(combiner, input)?));
        }
        Ok(table)
    }

    /// What [`WindowTable::save_own`] wrote.
    pub(super) fn load_own(combiner: TimestampCombiner, input: &mut &[u8]) -> Result<WindowTable<K, F>> {
        let mut table = WindowTable::new(combiner);
        (table.hold, table.reported) = take(input)?;
        let len = take_len(input)?;
        table.accs.reserve(room(len, input));
        for _ in 0..len {
            let key = take(input)?;
            table.accs.insert(key, take(input)?);
        }
        let len = take_len(input)?;
        table.times.reserve(room(len, input));
        for _ in 0..len {
            let key = take(input)?;
            table.times.insert(key, take(input)?);
        }
        Ok(table)
    }

    /// Appends what it holds itself.
    pub(super) fn save_own(&self, out: &mut Vec<u8>) -> Result {
        put(&(self.hold, self.reported), out)?;
        put_len(self.accs.len(), out)?;
        for (key, acc) in &self.accs {
            put(key, out)?;
            put(acc, out)?;
        }
        put_len(self.times.len(), out)?;
        for (key, at) in &self.times {
            put(key, out)?;
            put(at, out)?;
        }
        Ok(())
    }

    pub(super) fn emptied(mut self) -> WindowTable<K, F> {
        self.accs.clear();
        self.times.clear();
        WindowTable { accs: self.accs, times: self.times, ..WindowTable::new(self.combiner) }
    }

    /// Takes in the output timestamp that another worker has for `key`.
    pub(super) fn merge_time(&mut self, key: K, ts: Timestamp) {
        let combiner = self.combiner;
        self.times.entry(key).and_modify(|t| *t = combiner.combine(*t, ts)).or_insert(ts);
    }

    /// Takes one key's accumulator out.
    pub(crate) fn take_group(&mut self, key: &K) -> Option<F::Acc> {
        self.accs.remove(key)
    }

    #[inline]
    pub(super) fn add(&mut self, fold: &F, key: K, value: F::Input) {
        match self.accs.entry(key) {
            Entry::Occupied(mut e) => fold.add(e.get_mut(), value),
            Entry::Vacant(e) => {
                let mut acc = fold.create();
                fold.add(&mut acc, value);
                e.insert(acc);
            }
        }
    }

    fn add_all(&mut self, fold: &F, mut pairs: impl Iterator<Item = (K, F::Input)>) {
        if size_of::<K>() > 0 {
            pairs.for_each(|(k, v)| self.add(fold, k, v));
            return;
        }
        // A key that takes no memory is always the same one: it is looked up once.
        let Some((key, value)) = pairs.next() else { return };
        let acc = self.accs.entry(key).or_insert_with(|| fold.create());
        fold.add(acc, value);
        pairs.for_each(|(_, v)| fold.add(acc, v));
    }

    /// Takes in the timestamp of an element. One that is behind the watermark has no say: alone it gives its group the
    /// window's last timestamp.
    pub(super) fn note_time(&mut self, key: &K, ts: Timestamp, watermark: Timestamp, end: Timestamp) {
        if ts < watermark {
            self.hold = self.hold.min(end);
            return;
        }
        self.hold = self.hold.min(ts);
        match self.times.get_mut(key) {
            Some(t) => *t = self.combiner.combine(*t, ts),
            None => {
                self.times.insert(key.clone(), ts);
            }
        }
    }
}

impl<K: Key, F: Fold> AnyTable for WindowTable<K, F> {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn copy(&self) -> Box<dyn AnyTable> {
        Box::new(WindowTable::<K, F> {
            accs: self.accs.clone(),
            times: self.times.clone(),
            combiner: self.combiner,
            hold: self.hold,
            reported: self.reported,
            parts: self.parts.clone(),
        })
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        self.save_own(out)?;
        put_len(self.parts.len(), out)?;
        self.parts.iter().try_for_each(|part| part.save_own(out))
    }
}

struct Open<K, F: Fold> {
    window: Window,
    // The bounds again, where the window is an interval: what the hot path compares with.
    interval: IntervalWindow,
    table: WindowTable<K, F>,
}

/// The tables of one worker for one grouping.
pub(crate) struct WindowTables<K, F: Fold> {
    fold: F,
    combiner: TimestampCombiner,
    open: Vec<Open<K, F>>,
    index: HashMap<Window, usize, FixedState>,
    // The fixed windows that elements come in, and where the tables of those are.
    fixed: Option<(FixedWindows, Near)>,
    slices: Option<Slices<K, F>>,
    // Emptied tables: a window has about as many keys as the one before, so its table need not grow again.
    spare: Vec<WindowTable<K, F>>,
}

/// How many emptied tables a worker keeps.
const SPARE: usize = 4;

/// An interval that contains nothing.
const NOWHERE: IntervalWindow = IntervalWindow::new(Timestamp::MAX, Timestamp::MIN);

impl<K: Key, F: Fold> WindowTables<K, F> {
    pub(crate) fn new(fold: F, combiner: TimestampCombiner) -> WindowTables<K, F> {
        WindowTables {
            fold,
            combiner,
            open: Vec::new(),
            index: HashMap::with_hasher(FixedState::default()),
            fixed: None,
            slices: None,
            spare: Vec::new(),
        }
    }

    /// The same, but elements in `windows` are gathered per slice.
    #[must_use]
    pub(super) fn sliced(self, windows: SlidingWindows) -> WindowTables<K, F> {
        WindowTables { slices: Some(Slices::new(windows, self.combiner)), ..self }
    }

    /// With what [`Shard::save`] wrote.
    pub(crate) fn load(mut self, input: &mut &[u8]) -> Result<WindowTables<K, F>> {
        for _ in 0..take_len(input)? {
            let window: Window = take(input)?;
            let table = WindowTable::load_own(self.combiner, input)?;
            let i = self.open_window(&window);
            self.open[i].table = table;
        }
        if let Some(slices) = &mut self.slices {
            slices.load(input)?;
        }
        Ok(self)
    }

    /// Folds all of `batch` in, except for windows that are expired; returns how many elements those were.
    pub(super) fn fold(
        &mut self,
        batch: &mut Batch<(K, F::Input)>,
        watermark: Timestamp,
        lateness: Duration,
    ) -> u64 {
        let Batch { values, meta } = batch;
        let plain = self.combiner == TimestampCombiner::EndOfWindow;
        match &meta.windows {
            Windows::Const(WindowSet::One(w)) => {
                if w.is_expired(lateness, watermark) {
                    let late = values.iter().map(|(_, v)| self.fold.weight(v)).sum::<u64>();
                    values.clear();
                    return late;
                }
                let i = self.open_window(w);
                let (fold, open) = (&self.fold, &mut self.open[i]);
                if plain {
                    open.table.hold = w.result_timestamp();
                    open.table.add_all(fold, values.drain(..));
                } else {
                    for (i, (k, v)) in values.drain(..).enumerate() {
                        open.table.note_time(&k, meta.times.get(i), watermark, w.result_timestamp());
                        open.table.add(fold, k, v);
                    }
                }
                0
            }
            Windows::Fixed(fixed) => {
                let fixed = *fixed;
                if self.fixed.as_ref().is_none_or(|(last, _)| *last != fixed) {
                    self.fixed = Some((fixed, Near::new(fixed.size().as_millis())));
                }
                let mut late = 0;
                for (i, (k, v)) in values.drain(..).enumerate() {
                    let ts = meta.times.get(i);
                    let Some(at) = self.fixed_window(fixed, ts, watermark, lateness) else {
                        late += self.fold.weight(&v);
                        continue;
                    };
                    let open = &mut self.open[at];
                    if !plain {
                        open.table.note_time(&k, ts, watermark, open.window.result_timestamp());
                    }
                    open.table.add(&self.fold, k, v);
                }
                late
            }
            _ => {
                if let Some(slices) = &mut self.slices {
                    slices.move_to(watermark, lateness);
                }
                let mut late = 0;
                for (i, (k, v)) in values.drain(..).enumerate() {
                    late += self.fold_row(Row::of(meta, i), k, v, watermark, lateness);
                }
                late
            }
        }
    }

    /// The open window of `fixed` that holds `ts`; nothing if it is expired.
    #[inline]
    fn fixed_window(
        &mut self,
        fixed: FixedWindows,
        ts: Timestamp,
        watermark: Timestamp,
        lateness: Duration,
    ) -> Option<usize> {
        let guess = self.fixed.as_ref().map_or(0, |(_, near)| near.guess(ts));
        if self.open.get(guess).is_some_and(|o| o.interval.contains(ts)) {
            return Some(guess);
        }
        let window = Window::Interval(fixed.window_of(ts));
        if window.is_expired(lateness, watermark) {
            return None;
        }
        let i = self.open_window(&window);
        if self.combiner == TimestampCombiner::EndOfWindow {
            self.open[i].table.hold = window.result_timestamp();
        }
        if let Some((_, near)) = &mut self.fixed {
            near.note(ts, i);
        }
        Some(i)
    }

    /// Folds one element in that may be in several windows; for how many of them it is too late.
    #[inline]
    fn fold_row(
        &mut self,
        row: Row<'_>,
        key: K,
        value: F::Input,
        watermark: Timestamp,
        lateness: Duration,
    ) -> u64 {
        let Some(place) = self.slice_of(&row, watermark, lateness) else {
            return self.fold_into_set(row, key, value, watermark, lateness);
        };
        let slice = match (place, &mut self.slices) {
            (Place::Slice(i), Some(slices)) if slices.all[i].in_step => &mut slices.all[i],
            (Place::Late(windows), _) => return windows * self.fold.weight(&value),
            _ => return self.fold_into_set(row, key, value, watermark, lateness),
        };
        let late = if slice.late > 0 { slice.late * self.fold.weight(&value) } else { 0 };
        if self.combiner != TimestampCombiner::EndOfWindow {
            slice.note_time(&key, row.time(), watermark);
        }
        slice.table.add(&self.fold, key, value);
        late
    }

    /// Where among the slices a row belongs; nowhere if it is in a single window, or in others than those.
    #[inline]
    fn slice_of(&mut self, row: &Row<'_>, watermark: Timestamp, lateness: Duration) -> Option<Place> {
        let slices = self.slices.as_mut()?;
        match &row.meta.windows {
            Windows::Sliding(windows) if *windows == slices.windows => {
                Some(slices.place(row.time(), watermark, lateness, &mut self.spare))
            }
            Windows::Const(WindowSet::Many(set)) => {
                let span = slices.windows.slice_in(set)?;
                Some(slices.place_in(span, watermark, lateness, &mut self.spare))
            }
            Windows::Each(sets) => {
                let WindowSet::Many(set) = &sets[row.index] else { return None };
                let span = slices.windows.slice_in(set)?;
                Some(slices.place_in(span, watermark, lateness, &mut self.spare))
            }
            _ => None,
        }
    }

    fn fold_into_set(
        &mut self,
        row: Row<'_>,
        key: K,
        value: F::Input,
        watermark: Timestamp,
        lateness: Duration,
    ) -> u64 {
        let weight = self.fold.weight(&value);
        let set = row.windows();
        let (live, late): (Vec<_>, Vec<_>) =
            set.as_slice().iter().partition(|w| !w.is_expired(lateness, watermark));
        let mut owned = Some((key, value));
        for (n, window) in live.iter().enumerate() {
            let pair = if n + 1 == live.len() { owned.take() } else { owned.clone() };
            let Some((k, v)) = pair else { break };
            let i = self.open_window(window);
            let open = &mut self.open[i];
            match self.combiner {
                TimestampCombiner::EndOfWindow => open.table.hold = window.result_timestamp(),
                _ => open.table.note_time(&k, row.time(), watermark, window.result_timestamp()),
            }
            open.table.add(&self.fold, k, v);
        }
        late.len() as u64 * weight
    }

    fn open_window(&mut self, window: &Window) -> usize {
        if let Some(i) = self.index.get(window) {
            return *i;
        }
        let i = self.open.len();
        let interval = window.as_interval().unwrap_or(NOWHERE);
        let table = self.spare.pop().unwrap_or_else(|| WindowTable::new(self.combiner));
        self.open.push(Open { window: window.clone(), interval, table });
        self.index.insert(window.clone(), i);
        i
    }
}

impl<K: Key, F: Fold> Shard for WindowTables<K, F> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn take(&mut self, window: &Window) -> Option<Box<dyn AnyTable>> {
        let parts = self.slices.as_mut().map(|slices| slices.take(window)).unwrap_or_default();
        let own = self.index.remove(window).map(|i| {
            let taken = self.open.swap_remove(i);
            if let Some(moved) = self.open.get(i) {
                self.index.insert(moved.window.clone(), i);
            }
            taken.table
        });
        match own {
            None if parts.is_empty() => None,
            own => {
                let own = own.unwrap_or_else(|| WindowTable::new(self.combiner));
                Some(Box::new(WindowTable { parts, ..own }))
            }
        }
    }

    fn recycle(&mut self, table: Box<dyn AnyTable>) {
        if self.spare.len() >= SPARE {
            return;
        }
        if let Ok(table) = table.into_any().downcast::<WindowTable<K, F>>() {
            self.spare.push(table.emptied());
        }
    }

    fn report(&mut self, group: usize) -> Vec<WindowReport> {
        let mut reports = Vec::new();
        for open in &mut self.open {
            let hold = open.table.hold;
            if open.table.reported.is_none_or(|r| hold < r) {
                open.table.reported = Some(hold);
                reports.push(WindowReport { group, window: open.window.clone(), hold });
            }
        }
        if let Some(slices) = &mut self.slices {
            slices.report(group, &mut reports);
        }
        reports
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put_len(self.open.len(), out)?;
        for open in &self.open {
            put(&open.window, out)?;
            open.table.save_own(out)?;
        }
        match &self.slices {
            Some(slices) => slices.save(out),
            None => Ok(()),
        }
    }

    fn len(&self) -> usize {
        let open: usize = self.open.iter().map(|o| o.table.accs.len()).sum();
        open + self.slices.as_ref().map_or(0, Slices::len)
    }
}
