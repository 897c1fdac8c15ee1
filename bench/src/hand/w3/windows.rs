//! The open windows of one thread: a ring of maps, a window's place in it found by its number.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::checksum;

/// How long a window is, in milliseconds.
pub const WINDOW_MS: i64 = 10_000;

/// Counts by key. Every map hashes alike, so a merge walks both maps in the same order.
pub(super) type Counts = HashMap<u64, u64, FixedState>;

/// The number of the window with a timestamp: windows are `[number * 10 s, (number + 1) * 10 s)`.
#[inline]
pub(super) const fn window_of(ts: i64) -> i64 {
    ts.div_euclid(WINDOW_MS)
}

/// When a window starts, in milliseconds.
pub(super) const fn starts_at(window: i64) -> i64 {
    window.saturating_mul(WINDOW_MS)
}

/// The windows that a watermark closes are those below this number: a window's last millisecond must lie below it.
pub(super) const fn closed_by(watermark: i64) -> i64 {
    window_of(watermark)
}

/// Empties a window's counts into what they add to the checksum.
pub(super) fn results(window: i64, counts: &mut Counts) -> u64 {
    let start = starts_at(window);
    checksum::of(counts.drain().map(|(key, count)| checksum::window_count(key, start, count)))
}

/// The number of a place that holds no window.
const NONE: i64 = i64::MIN;

#[derive(Debug)]
struct Place {
    window: i64,
    counts: Counts,
}

impl Place {
    fn empty() -> Self {
        Self { window: NONE, counts: Counts::default() }
    }
}

/// Open windows.
#[derive(Debug)]
pub(super) struct Windows {
    /// A power of two of them.
    ring: Vec<Place>,
    /// Windows below this are closed. The first events lie up to 5 s before time 0.
    next: i64,
}

impl Windows {
    pub(super) fn new() -> Self {
        Self { ring: (0..4).map(|_| Place::empty()).collect(), next: -1 }
    }

    /// Counts an event.
    #[inline]
    pub(super) fn count(&mut self, key: u64, ts: i64) {
        let window = window_of(ts);
        let mut at = self.place(window);
        if self.ring[at].window != window {
            at = self.open(window);
        }
        *self.ring[at].counts.entry(key).or_insert(0) += 1;
    }

    /// Closes all windows below a number, in order, open or not. Who takes the counts leaves the map empty.
    #[inline]
    pub(super) fn close(&mut self, below: i64, mut closed: impl FnMut(i64, &mut Counts)) {
        while self.next < below {
            let at = self.place(self.next);
            if self.ring[at].window == self.next {
                closed(self.next, &mut self.ring[at].counts);
                self.ring[at].window = NONE;
            } else {
                closed(self.next, &mut Counts::default());
            }
            self.next += 1;
        }
    }

    #[inline]
    fn place(&self, window: i64) -> usize {
        window as usize & (self.ring.len() - 1)
    }

    /// Finds a place for a window that has none; if another is there, the ring is too small for what is open.
    #[cold]
    fn open(&mut self, window: i64) -> usize {
        while self.ring[self.place(window)].window != NONE {
            let more = 2 * self.ring.len();
            let places = std::mem::replace(&mut self.ring, (0..more).map(|_| Place::empty()).collect());
            for place in places {
                if place.window != NONE {
                    let at = self.place(place.window);
                    self.ring[at] = place;
                }
            }
        }
        let at = self.place(window);
        self.ring[at].window = window;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closes_when_its_last_millisecond_lies_below_the_watermark() {
        assert_eq!(closed_by(9_999), 0);
        assert_eq!(closed_by(10_000), 1);
        assert_eq!(closed_by(-1), -1);
    }

    #[test]
    fn the_ring_grows_when_many_windows_are_open() {
        let mut windows = Windows::new();
        for window in (-1..40).rev() {
            for _ in 0..window + 2 {
                windows.count(7, window * WINDOW_MS);
            }
        }
        let mut seen = Vec::new();
        windows.close(50, |window, counts| seen.push((window, counts.drain().next())));
        let expected: Vec<_> =
            (-1..50).map(|window| (window, (window < 40).then_some((7, (window + 2) as u64)))).collect();
        assert_eq!(seen, expected);
    }
}
