//! What is known of a batch's elements beside their values.

use serde::{Deserialize, Serialize};

use super::{Column, Firing, WindowSet, Windows};
use crate::{
    Timestamp,
    window::{PaneInfo, ValueKind, Window},
};

/// Timestamps, windows and panes of a batch's elements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meta {
    /// Event times.
    pub times: Column<Timestamp>,
    /// Windows.
    pub windows: Windows,
    /// Panes, and what each element does to the result that a reader keeps.
    pub panes: Column<Firing>,
}

impl Default for Meta {
    fn default() -> Meta {
        Meta {
            times: Column::Const(Timestamp::MIN),
            windows: Windows::Const(WindowSet::One(Window::Global)),
            panes: Column::Const(PaneInfo::NO_FIRING.into()),
        }
    }
}

/// What is known of one element: a row of another batch, with parts of it replaced.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The columns.
    pub meta: &'a Meta,
    /// The row in them.
    pub index: usize,
    /// Instead of the row's timestamp.
    pub timestamp: Option<Timestamp>,
    /// Instead of the row's windows: this one.
    pub window: Option<&'a Window>,
    /// Instead of the row's kind.
    pub kind: Option<ValueKind>,
}

impl<'a> Row<'a> {
    /// Row `index` of `meta` as it is.
    #[inline]
    pub fn of(meta: &'a Meta, index: usize) -> Row<'a> {
        Row { meta, index, timestamp: None, window: None, kind: None }
    }

    /// The element's timestamp.
    #[inline]
    pub fn time(&self) -> Timestamp {
        self.timestamp.unwrap_or_else(|| self.meta.times.get(self.index))
    }

    /// The element's windows.
    pub fn windows(&self) -> WindowSet {
        match self.window {
            Some(w) => WindowSet::One(w.clone()),
            None => self.meta.windows.get(self.index, self.meta.times.get(self.index)),
        }
    }

    /// The pane that it came from.
    pub fn pane(&self) -> PaneInfo {
        self.meta.panes.get(self.index).pane
    }

    /// What it does to the result that a reader keeps.
    pub fn kind(&self) -> ValueKind {
        self.firing().kind
    }

    /// Pane and kind.
    #[inline]
    pub fn firing(&self) -> Firing {
        let firing = self.meta.panes.get(self.index);
        self.kind.map_or(firing, |kind| Firing { kind, ..firing })
    }
}

impl Meta {
    /// The same for every element.
    pub fn constant(timestamp: Timestamp, windows: WindowSet, firing: impl Into<Firing>) -> Meta {
        let panes = Column::Const(firing.into());
        Meta { times: Column::Const(timestamp), windows: Windows::Const(windows), panes }
    }

    /// Whether the columns say the same of every element.
    #[inline]
    pub fn is_constant(&self) -> bool {
        matches!(self.times, Column::Const(_))
            && matches!(self.panes, Column::Const(_))
            && !matches!(self.windows, Windows::Each(_))
    }

    /// The timestamps, when they are all that differs between elements.
    #[inline]
    pub fn only_times_differ(&self) -> Option<&[Timestamp]> {
        match &self.times {
            Column::Each(times)
                if matches!(self.panes, Column::Const(_)) && !matches!(self.windows, Windows::Each(_)) =>
            {
                Some(times)
            }
            _ => None,
        }
    }

    /// Takes the column of timestamps out as an empty vector, for its buffer.
    pub fn take_times(&mut self) -> Vec<Timestamp> {
        match std::mem::replace(&mut self.times, Column::Const(Timestamp::MIN)) {
            Column::Each(mut times) => {
                times.clear();
                times
            }
            Column::Const(_) => Vec::with_capacity(super::BATCH_SIZE),
        }
    }

    /// Whether its columns are for `len` elements.
    pub(crate) fn is_of(&self, len: usize) -> bool {
        let windows = match &self.windows {
            Windows::Each(sets) => sets.len() == len,
            _ => true,
        };
        windows && self.times.is_of(len) && self.panes.is_of(len)
    }

    /// Whether some element may be in several windows, or in none.
    pub fn may_be_in_several_windows(&self) -> bool {
        match &self.windows {
            Windows::Const(set) => !matches!(set, WindowSet::One(_)),
            Windows::Fixed(_) => false,
            Windows::Sliding(_) => true,
            Windows::Each(sets) => sets.iter().any(|set| !matches!(set, WindowSet::One(_))),
        }
    }

    /// The window that all elements are in, and in no other; nothing if there is none, or where that is not known.
    pub fn only_window(&self) -> Option<&Window> {
        match &self.windows {
            Windows::Const(WindowSet::One(window)) => Some(window),
            _ => None,
        }
    }

    /// Whether element `i` is in `window` alone, which another element of this batch is in. It may say no where the
    /// answer is yes: it only looks.
    #[inline]
    pub fn is_also_in(&self, i: usize, window: &Window) -> bool {
        match (&self.windows, window) {
            (Windows::Const(WindowSet::One(w)), window) => w == window,
            (Windows::Fixed(_), Window::Interval(w)) => w.contains(self.times.get(i)),
            (Windows::Each(sets), window) => matches!(&sets[i], WindowSet::One(w) if w == window),
            _ => false,
        }
    }

    /// Gives the elements new timestamps; their windows stay as they are.
    pub fn set_times(&mut self, len: usize, times: Column<Timestamp>) {
        if self.windows.follow_times() {
            let Meta { times, windows, .. } = self;
            windows.materialise(len, |i| times.get(i));
        }
        self.times = times;
    }

    /// Whether every element has the same timestamp, windows and pane as every element of `other`, without looking
    /// at each.
    #[inline]
    pub fn same_constants(&self, other: &Meta) -> bool {
        matches!((&self.times, &other.times), (Column::Const(a), Column::Const(b)) if a == b)
            && matches!((&self.windows, &other.windows), (Windows::Const(a), Windows::Const(b)) if a == b)
            && matches!((&self.panes, &other.panes), (Column::Const(a), Column::Const(b)) if a == b)
    }

    /// Adds `n` elements like `row` behind `len` elements.
    #[inline]
    pub fn append(&mut self, len: usize, row: Row<'_>, n: usize) {
        if n == 0 {
            return;
        }
        self.append_windows(len, row, n);
        self.times.push_n(len, row.time(), n);
        self.panes.push_n(len, row.firing(), n);
    }

    /// Adds one element like `row`, but in the windows `set`, behind `len` elements.
    pub fn append_in(&mut self, len: usize, row: Row<'_>, set: &WindowSet) {
        let Meta { times, windows, .. } = self;
        windows.push_n(len, |i| times.get(i), set, 1);
        self.times.push_n(len, row.time(), 1);
        self.panes.push_n(len, row.firing(), 1);
    }

    #[inline]
    fn append_windows(&mut self, len: usize, row: Row<'_>, n: usize) {
        // Windows that follow from the timestamp keep doing so as long as neither is replaced.
        let theirs = &row.meta.windows;
        if theirs.follow_times() && row.timestamp.is_none() && row.window.is_none() {
            if self.windows.follow_as(theirs) {
                return;
            }
            if len == 0 {
                self.windows.clone_from(theirs);
                return;
            }
        }
        let Meta { times, windows, .. } = self;
        if let (Windows::Const(ours), Windows::Const(theirs), None) =
            (&*windows, &row.meta.windows, row.window)
            && ours == theirs
        {
            return;
        }
        windows.push_n(len, |i| times.get(i), &row.windows(), n);
    }

    /// Adds the `n` elements of `other` behind `len` elements.
    pub fn extend(&mut self, len: usize, other: &Meta, n: usize) {
        if n == 0 {
            return;
        }
        if len == 0 {
            *self = other.clone();
            return;
        }
        let Meta { times, windows, .. } = self;
        match (&mut *windows, &other.windows) {
            (Windows::Const(a), Windows::Const(b)) if a == b => {}
            (ours, theirs) if ours.follow_as(theirs) => {}
            (ours, theirs) => {
                let sets = ours.materialise(len, |i| times.get(i));
                sets.extend((0..n).map(|i| theirs.get(i, other.times.get(i))));
            }
        }
        self.times.extend(len, &other.times, n);
        self.panes.extend(len, &other.panes, n);
    }

    /// Keeps the first `at` elements and returns the rest.
    pub fn split_off(&mut self, at: usize) -> Meta {
        let windows = match &mut self.windows {
            Windows::Each(sets) => Windows::Each(sets.split_off(at)),
            other => other.clone(),
        };
        Meta { times: self.times.split_off(at), windows, panes: self.panes.split_off(at) }
    }

    /// Forgets the elements and keeps the buffers.
    pub fn clear(&mut self) {
        self.times.clear();
        self.panes.clear();
        if let Windows::Each(sets) = &mut self.windows {
            sets.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duration, batch::Batch, window::FixedWindows};

    fn at(ms: i64) -> Timestamp {
        Timestamp::saturating_from_millis(ms)
    }

    fn fixed(times: &[i64]) -> Meta {
        Meta {
            times: Column::Each(times.iter().map(|t| at(*t)).collect()),
            windows: Windows::Fixed(FixedWindows::of(Duration::from_millis(10))),
            panes: Column::Const(PaneInfo::NO_FIRING.into()),
        }
    }

    #[test]
    fn a_new_timestamp_does_not_move_an_element_to_another_window() {
        let source = fixed(&[1, 25]);
        let mut batch = Batch::default();
        batch.push('a', Row::of(&source, 0));
        assert!(matches!(batch.meta.windows, Windows::Fixed(_)));
        batch.push('b', Row { timestamp: Some(at(11)), ..Row::of(&source, 0) });
        batch.push('c', Row::of(&source, 1));
        let windows: Vec<_> = (0..3).map(|i| Row::of(&batch.meta, i).windows()).collect();
        let expected = |s: i64| WindowSet::One(Window::interval(at(s), at(s + 10)));
        assert_eq!(windows, [expected(0), expected(0), expected(20)]);
        assert_eq!((0..3).map(|i| batch.meta.times.get(i).as_millis()).collect::<Vec<_>>(), [1, 11, 25]);
    }

    #[test]
    fn appending_mixed_batches_keeps_every_row() {
        let mut a = Batch { values: vec![1], meta: Meta::default() };
        let mut b = Batch { values: vec![2, 3], meta: fixed(&[5, 15]) };
        a.append_clone(&b);
        a.append(&mut b);
        assert!(b.is_empty());
        assert_eq!(a.values, [1, 2, 3, 2, 3]);
        let tail = a.meta.split_off(3);
        assert_eq!(Row::of(&a.meta, 0).windows(), WindowSet::One(Window::Global));
        assert_eq!(Row::of(&tail, 1).windows(), WindowSet::One(Window::interval(at(10), at(20))));
        assert_eq!(a.meta.times.get(2), at(15));
    }
}
