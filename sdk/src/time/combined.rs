//! One watermark of several.

use super::Timestamp;

/// The watermark of several things of which each has one: the least, without those that are idle.
///
/// When all of them are idle it is the greatest, so that it does not depend on the order in which they became so. What
/// is finished is not to be added: it is neither waited for nor idle.
///
/// Source: Flink's [idle sources](https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/datastream/event-time/generating_watermarks/#dealing-with-idle-sources).
///
/// ```
/// use purlin_sdk::{CombinedWatermark, Timestamp};
/// let mut combined = CombinedWatermark::default();
/// assert_eq!(combined.value(), None);
/// combined.add(Timestamp::from_secs(5), true);
/// combined.add(Timestamp::from_secs(4), true);
/// assert_eq!((combined.value(), combined.is_idle()), (Some(Timestamp::from_secs(5)), true));
/// combined.add(Timestamp::from_secs(7), false);
/// assert_eq!((combined.value(), combined.is_idle()), (Some(Timestamp::from_secs(7)), false));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CombinedWatermark {
    active: Option<Timestamp>,
    idle: Option<Timestamp>,
}

impl CombinedWatermark {
    /// Adds one, idle or not.
    pub fn add(&mut self, watermark: Timestamp, idle: bool) {
        if idle {
            self.idle = Some(self.idle.map_or(watermark, |greatest| greatest.max(watermark)));
        } else {
            self.active = Some(self.active.map_or(watermark, |least| least.min(watermark)));
        }
    }

    /// The watermark; nothing when there is none to combine.
    pub fn value(&self) -> Option<Timestamp> {
        self.active.or(self.idle)
    }

    /// Whether one of them is not idle.
    pub fn is_active(&self) -> bool {
        self.active.is_some()
    }

    /// Whether there are some, and all of them are idle.
    pub fn is_idle(&self) -> bool {
        self.active.is_none() && self.idle.is_some()
    }
}
