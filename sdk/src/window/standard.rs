//! The window functions that Beam names.

use crate::Duration;

/// A window function that every engine of Beam's has, with its parameters.
///
/// Source: `standard_window_fns.proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardWindows {
    /// [`GlobalWindows`](super::GlobalWindows).
    Global,
    /// [`FixedWindows`](super::FixedWindows).
    Fixed {
        /// How long a window is.
        size: Duration,
        /// How much later than the epoch one begins, less than the size.
        offset: Duration,
    },
    /// [`SlidingWindows`](super::SlidingWindows).
    Sliding {
        /// How long a window is.
        size: Duration,
        /// How long after one the next begins.
        period: Duration,
        /// How much later than the epoch one begins, less than the period.
        offset: Duration,
    },
    /// [`Sessions`](super::Sessions).
    Sessions {
        /// After how long without elements a session ends.
        gap: Duration,
    },
}

impl StandardWindows {
    /// `offset` as less than `period`.
    pub(super) fn within(offset: Duration, period: Duration) -> Duration {
        Duration::from_millis(offset.as_millis().rem_euclid(period.as_millis().max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{FixedWindows, GlobalWindows, Sessions, SlidingWindows, WindowFn};

    #[test]
    fn each_function_names_its_parameters() {
        let secs = Duration::from_secs;
        assert_eq!(GlobalWindows.standard(), Some(StandardWindows::Global));
        let fixed = FixedWindows::of(secs(10)).offset(secs(-3));
        assert_eq!(fixed.standard(), Some(StandardWindows::Fixed { size: secs(10), offset: secs(7) }));
        let sliding = SlidingWindows::of(secs(10), secs(5)).offset(secs(12));
        let expected = StandardWindows::Sliding { size: secs(10), period: secs(5), offset: secs(2) };
        assert_eq!(sliding.standard(), Some(expected));
        assert_eq!(Sessions::with_gap(secs(4)).standard(), Some(StandardWindows::Sessions { gap: secs(4) }));
    }
}
