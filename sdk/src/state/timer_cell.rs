//! What the kernel needs of a timer.

use serde::{Deserialize, Serialize};

use super::TimeDomain;
use crate::{Result, Timestamp};

/// When a timer fires, and what it holds until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerEntry {
    /// The time that must have passed (event time), or come (processing time).
    pub fire: Timestamp,
    /// The timestamp of what it will emit, which holds the output watermark; none when it will emit nothing.
    pub output: Option<Timestamp>,
    /// Timers of one time fire in this order, in which they were set.
    pub order: u64,
}

/// Is told of a timer that has changed: its tag, how it was, how it is.
pub type TellChange<'t> = dyn FnMut(&str, Option<TimerEntry>, Option<TimerEntry>) + 't;

/// A timer or a family of timers, as the kernel sees it. The tag of a timer that is in no family is empty.
pub trait TimerCell {
    /// Tells of each timer that is no longer as it was told before: how it was, and how it is.
    fn changes(&mut self, tell: &mut TellChange<'_>);

    /// Tells of each timer that is set, as if none had been told before.
    fn entries(&mut self, tell: &mut dyn FnMut(&str, TimerEntry));

    /// What a timer is set to.
    fn entry(&self, tag: &str) -> Option<TimerEntry>;

    /// Appends the timers that are set, for a checkpoint.
    ///
    /// # Errors
    /// When they do not encode.
    fn save(&self, out: &mut Vec<u8>) -> Result;

    /// Sets what [`save`](TimerCell::save) wrote. Nothing is told of it yet.
    ///
    /// # Errors
    /// When the bytes are no timers.
    fn load(&mut self, input: &mut &[u8]) -> Result;

    /// The timer fires now and is no longer set.
    fn fire(&mut self, tag: &str) -> Option<TimerEntry>;

    /// A bundle begins that may have to be undone.
    fn begin(&mut self);

    /// The bundle failed: what is set is what was set when it began. Then all is told anew, by `entries`.
    fn undo(&mut self);

    /// The bundle is done.
    fn keep(&mut self);

    /// Whether no timer is set.
    fn is_idle(&self) -> bool;

    /// The field's name.
    fn name(&self) -> &'static str;

    /// Whose time it goes by.
    fn time_domain(&self) -> TimeDomain;
}
