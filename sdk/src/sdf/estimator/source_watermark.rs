//! A watermark that adapts to how far out of order the data come.

mod quantile;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::quantile::SlidingQuantile;
use super::{Observing, TimestampObserving, WatermarkEstimator};
use crate::{Duration, Timestamp};

/// The least delay, in milliseconds.
const LEAST: u32 = 50;
/// The greatest delay, in milliseconds: seven days.
const GREATEST: u32 = 7 * 24 * 60 * 60 * 1000;

/// The watermark of a source of which nobody knows how far its outputs come out of order: it is seen from the outputs.
///
/// The *out-of-orderness* of an output is how far its timestamp lies behind the highest one so far, its own among them.
/// The watermark is the highest timestamp less a delay:
///
/// > delay = the 95 % quantile of the last 5,000 out-of-ordernesses, and a margin; at least 50 ms, at most 7 days
///
/// | outputs so far | margin |
/// |---|---|
/// | 1 to 250 | 7 days |
/// | 251 to 500 | 30 s |
/// | 501 to 750 | 10 s |
/// | 751 to 1,000 | 1 s |
/// | more | none |
///
/// So at most about 5 % of the outputs lie behind the watermark, and outputs in perfect order are followed at 50 ms once
/// there were 1,000 of them. The quantile is exact: the least value that at least 95 % of the values do not exceed. The
/// watermark never goes back when the delay grows; it waits.
///
/// It is that of one partition. A source with several gives each its own: [`PerPartition`](super::PerPartition).
/// An output costs `O(log 5,000)`, below 100 ns; the state is up to 5,000 numbers.
///
/// Source: Confluent's [`SOURCE_WATERMARK()`](https://docs.confluent.io/cloud/current/flink/reference/functions/datetime-functions.html#source-watermark).
///
/// ```
/// use purlin_sdk::{Duration, Timestamp, sdf::{SourceWatermark, SourceWatermarkState, TimestampObserving, WatermarkEstimator}};
/// let mut estimator = SourceWatermark::new(SourceWatermarkState::default());
/// for i in 0..=1000 {
///     estimator.observe_timestamp(Timestamp::from_secs(i));
/// }
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(1000) - Duration::from_millis(50));
/// ```
pub struct SourceWatermark {
    highest: Timestamp,
    watermark: Timestamp,
    count: u64,
    recent: SlidingQuantile,
}

/// What a [`SourceWatermark`] knows: it goes along with what is left of a restriction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceWatermarkState {
    highest: Timestamp,
    watermark: Timestamp,
    count: u64,
    /// The last out-of-ordernesses in milliseconds, the oldest first.
    recent: Vec<u32>,
}

impl Default for SourceWatermarkState {
    /// That of a source that has emitted nothing yet.
    fn default() -> SourceWatermarkState {
        SourceWatermarkState {
            highest: Timestamp::MIN,
            watermark: Timestamp::MIN,
            count: 0,
            recent: Vec::new(),
        }
    }
}

impl SourceWatermark {
    /// Up to so many outputs the delay is 7 days: there is no watermark to speak of.
    pub const WARM_UP: u64 = 250;

    /// An estimator that goes on from `state`.
    pub fn new(state: SourceWatermarkState) -> SourceWatermark {
        let SourceWatermarkState { highest, watermark, count, recent } = state;
        let mut values = SlidingQuantile::new();
        recent.into_iter().for_each(|value| values.push(value));
        SourceWatermark { highest, watermark, count, recent: values }
    }

    /// How many outputs it has seen.
    pub fn seen(&self) -> u64 {
        self.count
    }

    /// How far the watermark is put behind the highest timestamp; 7 days before the first output.
    pub fn delay(&self) -> Duration {
        let quantile = self.recent.quantile().unwrap_or(GREATEST);
        let delay = quantile.saturating_add(margin(self.count)).clamp(LEAST, GREATEST);
        Duration::from_millis(i64::from(delay))
    }
}

/// What is added to the quantile once there were `count` outputs, in milliseconds.
fn margin(count: u64) -> u32 {
    match count {
        0..=SourceWatermark::WARM_UP => GREATEST,
        251..=500 => 30_000,
        501..=750 => 10_000,
        751..=1000 => 1000,
        _ => 0,
    }
}

impl WatermarkEstimator for SourceWatermark {
    type State = SourceWatermarkState;
    type Kind = Observing;

    fn current_watermark(&mut self) -> Timestamp {
        self.watermark
    }

    fn state(&self) -> SourceWatermarkState {
        let SourceWatermark { highest, watermark, count, ref recent } = *self;
        SourceWatermarkState { highest, watermark, count, recent: recent.in_order() }
    }
}

impl TimestampObserving for SourceWatermark {
    #[inline]
    fn observe_timestamp(&mut self, ts: Timestamp) {
        self.highest = self.highest.max(ts);
        self.count = self.count.saturating_add(1);
        // More than the greatest delay is as good as that.
        let behind = (self.highest - ts).as_millis();
        self.recent.push(u32::try_from(behind).unwrap_or(GREATEST).min(GREATEST));
        self.watermark = self.watermark.max(self.highest - self.delay());
    }
}

impl Clone for SourceWatermark {
    fn clone(&self) -> SourceWatermark {
        SourceWatermark { recent: self.recent.clone(), ..*self }
    }
}

impl fmt::Debug for SourceWatermark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceWatermark")
            .field("watermark", &self.watermark)
            .field("highest", &self.highest)
            .field("count", &self.count)
            .field("delay", &self.delay())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::check_estimator_laws;

    fn new() -> SourceWatermark {
        SourceWatermark::new(SourceWatermarkState::default())
    }

    fn restored(estimator: &SourceWatermark) -> SourceWatermark {
        let json = serde_json::to_string(&estimator.state()).unwrap();
        SourceWatermark::new(serde_json::from_str(&json).unwrap())
    }

    /// How far the watermark is behind the last of `n` outputs in order.
    fn lag_after(n: i64) -> Duration {
        let mut estimator = new();
        // Days apart, so that a lower delay is never hidden by a watermark that was ahead already.
        (1..=n).for_each(|day| estimator.observe_timestamp(Timestamp::EPOCH + Duration::from_days(10 * day)));
        Timestamp::EPOCH + Duration::from_days(10 * n) - estimator.current_watermark()
    }

    #[test]
    fn the_lag_of_ordered_data_falls_in_steps() {
        assert_eq!(new().current_watermark(), Timestamp::MIN);
        for (from, to, lag) in [
            (1, 250, Duration::from_days(7)),
            (251, 500, Duration::from_secs(30)),
            (501, 750, Duration::from_secs(10)),
            (751, 1000, Duration::from_secs(1)),
            (1001, 7000, Duration::from_millis(50)),
        ] {
            assert_eq!([from, to].map(lag_after), [lag, lag], "{from} to {to}");
        }
    }

    /// The share of 100,000 outputs that lie behind the watermark before them, in percent, and the last delay in ms.
    fn late(jitter: impl Fn(&mut fastrand::Rng) -> i64) -> (f64, i64) {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut estimator = new();
        let mut late = 0;
        for i in 0..100_000 {
            let ts = Timestamp::saturating_from_millis(1_700_000_000_000 + 10 * i - jitter(&mut rng));
            late += u32::from(ts < estimator.current_watermark());
            estimator.observe_timestamp(ts);
        }
        (f64::from(late) / 1000.0, estimator.delay().as_millis())
    }

    #[test]
    fn one_in_twenty_is_late_whatever_the_jitter() {
        let (share, delay) = late(|rng| rng.i64(0..10_000));
        assert!((4.0..6.0).contains(&share), "{share} % are late at a delay of {delay} ms");
        assert!((9000..10_000).contains(&delay), "{delay}");
        // Most are nearly on time, a few are far behind.
        let (share, _) = late(|rng| (-rng.f64().max(1e-9).ln() * 2000.0) as i64);
        assert!((4.0..6.0).contains(&share), "{share} % are late");
        // All within the least delay.
        assert_eq!(late(|rng| rng.i64(0..20)), (0.0, 50));
    }

    #[test]
    fn the_state_survives_being_split_and_restored() {
        let mut rng = fastrand::Rng::with_seed(3);
        let (mut whole, mut parts) = (new(), new());
        for i in 0..12_000 {
            let ts = Timestamp::saturating_from_millis(20 * i - rng.i64(0..3000));
            whole.observe_timestamp(ts);
            parts.observe_timestamp(ts);
            if rng.u8(..) == 0 {
                // Both parts of a split begin with the state; each goes on with its own.
                let other = restored(&parts);
                parts = restored(&parts);
                assert_eq!(other.state(), parts.state());
            }
            assert_eq!(whole.current_watermark(), parts.current_watermark(), "after {i}");
        }
        assert_eq!(whole.state(), parts.state());
        assert_eq!(whole.state().recent.len(), 5000);
    }

    #[test]
    fn nothing_wraps_at_the_ends_of_time() {
        let mut estimator = new();
        for ts in [Timestamp::MIN, Timestamp::MAX, Timestamp::MIN, Timestamp::EPOCH] {
            estimator.observe_timestamp(ts);
        }
        assert_eq!(estimator.current_watermark(), Timestamp::MAX - Duration::from_days(7));
        for _ in 0..10_000 {
            estimator.observe_timestamp(Timestamp::MIN);
        }
        // Also all at the very beginning: the delay is the greatest there is.
        assert_eq!(estimator.delay(), Duration::from_days(7));
    }

    #[test]
    fn b059_it_goes_by_the_data_and_not_by_a_clock() {
        // There is no clock that it could go by: asked as often as one likes, it stays where the data are.
        let mut estimator = new();
        for secs in 1..=5 {
            estimator.observe_timestamp(Timestamp::from_secs(secs));
            for _ in 0..3 {
                assert!(estimator.current_watermark() <= Timestamp::from_secs(secs));
            }
        }
    }

    #[test]
    fn obeys_the_laws() {
        let day = 86_400;
        let times = [0, 30 * day, 10 * day, 31 * day, -5].map(Timestamp::from_secs);
        let feed = TimestampObserving::observe_timestamp;
        let warm = {
            let mut estimator = new();
            (0..1000).for_each(|i| estimator.observe_timestamp(Timestamp::from_secs(i)));
            estimator.state()
        };
        for state in [SourceWatermarkState::default(), warm] {
            assert_eq!(check_estimator_laws(SourceWatermark::new, state, &times, feed), Ok(()));
        }
    }
}
