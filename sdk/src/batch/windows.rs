//! The windows of a batch's elements.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    window::{FixedWindows, SlidingWindows, Window},
};

/// The windows of one element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowSet {
    /// One window, as nearly always.
    One(Window),
    /// None (a gap between sliding windows), or several.
    Many(Arc<[Window]>),
}

impl WindowSet {
    /// The set of these windows.
    pub fn of(windows: &[Window]) -> WindowSet {
        match windows {
            [one] => WindowSet::One(one.clone()),
            many => WindowSet::Many(many.into()),
        }
    }

    /// The windows as a slice.
    pub fn as_slice(&self) -> &[Window] {
        match self {
            WindowSet::One(w) => std::slice::from_ref(w),
            WindowSet::Many(ws) => ws,
        }
    }
}

/// The windows of a batch's elements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Windows {
    /// Every element is in these.
    Const(WindowSet),
    /// Each element is in the fixed window that its timestamp lies in.
    Fixed(FixedWindows),
    /// Each element is in the sliding windows that its timestamp lies in.
    Sliding(SlidingWindows),
    /// A set an element.
    Each(Vec<WindowSet>),
}

impl Windows {
    /// The windows of element `i`, whose timestamp is `ts`.
    pub fn get(&self, i: usize, ts: Timestamp) -> WindowSet {
        match self {
            Windows::Const(set) => set.clone(),
            Windows::Fixed(fixed) => WindowSet::One(fixed.window_of(ts).into()),
            Windows::Sliding(sliding) => sliding.set_of(ts),
            Windows::Each(sets) => sets[i].clone(),
        }
    }

    /// Whether an element's windows follow from its timestamp.
    #[inline]
    pub fn follow_times(&self) -> bool {
        matches!(self, Windows::Fixed(_) | Windows::Sliding(_))
    }

    /// Whether both say that windows follow from the timestamp, in the same way.
    #[inline]
    pub(super) fn follow_as(&self, other: &Windows) -> bool {
        match (self, other) {
            (Windows::Fixed(a), Windows::Fixed(b)) => a == b,
            (Windows::Sliding(a), Windows::Sliding(b)) => a == b,
            _ => false,
        }
    }

    /// Adds `n` times `set` behind `len` elements with timestamps `times`.
    pub(super) fn push_n(
        &mut self,
        len: usize,
        times: impl Fn(usize) -> Timestamp,
        set: &WindowSet,
        n: usize,
    ) {
        match self {
            Windows::Const(c) if c == set => return,
            Windows::Const(_) | Windows::Fixed(_) | Windows::Sliding(_) if len == 0 => {
                *self = Windows::Const(set.clone());
                return;
            }
            _ => {}
        }
        let sets = self.materialise(len, times);
        sets.resize(len + n, set.clone());
    }

    /// Turns the column into one set an element, `len` of them.
    pub(super) fn materialise(
        &mut self,
        len: usize,
        times: impl Fn(usize) -> Timestamp,
    ) -> &mut Vec<WindowSet> {
        if !matches!(self, Windows::Each(_)) {
            let sets = (0..len).map(|i| self.get(i, times(i))).collect();
            *self = Windows::Each(sets);
        }
        match self {
            Windows::Each(sets) => sets,
            _ => unreachable!("just made a set an element"),
        }
    }
}
