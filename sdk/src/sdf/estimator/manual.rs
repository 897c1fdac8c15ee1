//! A watermark that the DoFn sets.

use std::{error::Error, fmt};

use super::{ManualWatermark, Plain, WatermarkEstimator};
use crate::Timestamp;

/// The watermark of a source that knows it, from its own protocol or by its own rule: `process` sets it.
///
/// Before it is first set it is the state, [`Timestamp::MIN`] by default. It cannot be set back, and a value above
/// [`Timestamp::MAX`] is refused where the timestamp is made.
///
/// Source: Beam's `WatermarkEstimators.Manual`.
///
/// ```
/// use purlin_sdk::{Timestamp, sdf::{Manual, ManualWatermark, WatermarkEstimator}};
/// let mut estimator = Manual::default();
/// estimator.set_watermark(Timestamp::from_secs(20)).unwrap();
/// let refused = estimator.set_watermark(Timestamp::from_secs(10)).unwrap_err();
/// assert_eq!(refused.to_string(), "the watermark cannot go back from 1970-01-01T00:00:20Z to 1970-01-01T00:00:10Z");
/// assert_eq!(estimator.current_watermark(), Timestamp::from_secs(20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manual(Timestamp);

impl Manual {
    /// An estimator that goes on from `state`, the watermark so far.
    pub const fn new(state: Timestamp) -> Manual {
        Manual(state)
    }
}

impl Default for Manual {
    fn default() -> Manual {
        Manual(Timestamp::MIN)
    }
}

impl WatermarkEstimator for Manual {
    type State = Timestamp;
    type Kind = Plain;

    fn current_watermark(&mut self) -> Timestamp {
        self.0
    }

    fn state(&self) -> Timestamp {
        self.0
    }
}

impl ManualWatermark for Manual {
    fn set_watermark(&mut self, ts: Timestamp) -> Result<(), WatermarkError> {
        if ts < self.0 {
            return Err(WatermarkError::backwards(self.0, ts));
        }
        self.0 = ts;
        Ok(())
    }
}

/// A watermark that was to go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatermarkError {
    current: Timestamp,
    requested: Timestamp,
}

impl WatermarkError {
    /// The error of a watermark at `current` that was to be set to `requested`, which is lower.
    pub const fn backwards(current: Timestamp, requested: Timestamp) -> WatermarkError {
        WatermarkError { current, requested }
    }

    /// The watermark so far, which stays.
    pub const fn current(&self) -> Timestamp {
        self.current
    }

    /// What it was to be set to.
    pub const fn requested(&self) -> Timestamp {
        self.requested
    }
}

impl fmt::Display for WatermarkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the watermark cannot go back from {} to {}", self.current, self.requested)
    }
}

impl Error for WatermarkError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::check_estimator_laws;

    #[test]
    fn b008_refuses_to_go_back_even_from_zero() {
        let mut estimator = Manual::default();
        estimator.set_watermark(Timestamp::EPOCH).unwrap();
        let refused = estimator.set_watermark(Timestamp::from_secs(-5)).unwrap_err();
        assert_eq!((refused.current(), refused.requested()), (Timestamp::EPOCH, Timestamp::from_secs(-5)));
        let text = refused.to_string();
        assert!(text.contains("1970-01-01T00:00:00Z") && text.contains("1969-12-31T23:59:55Z"), "{text}");
        assert_eq!(estimator.current_watermark(), Timestamp::EPOCH);

        estimator.set_watermark(Timestamp::from_secs(20)).unwrap();
        assert!(estimator.set_watermark(Timestamp::from_secs(10)).is_err());
        assert_eq!(estimator.current_watermark(), Timestamp::from_secs(20));

        // Above MAX there is no timestamp to set it to; the error names the bounds.
        let above = Timestamp::from_millis(Timestamp::MAX.as_millis() + 1).unwrap_err().to_string();
        assert!(above.contains(&Timestamp::MAX.as_millis().to_string()), "{above}");
    }

    #[test]
    fn the_same_value_again_is_no_error() {
        let mut estimator = Manual::new(Timestamp::MAX);
        assert_eq!(estimator.set_watermark(Timestamp::MAX), Ok(()));
    }

    #[test]
    fn obeys_the_laws() {
        let times = [0, -5, 20, 10].map(Timestamp::from_secs);
        let set = |e: &mut Manual, ts| _ = e.set_watermark(ts);
        assert_eq!(check_estimator_laws(Manual::new, Timestamp::MIN, &times, set), Ok(()));
    }
}
