//! One timer.

use std::fmt;

use serde::Serialize;

use super::{
    KeyedContext, TellChange, TimerCell, TimerEntry, TimerSetting, timer_setting::Target, undo::Undo,
};
use crate::{
    Duration, Result, Timestamp,
    exec::save::{put, take},
};

/// Whose time a timer goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeDomain {
    /// Event time: the input watermark.
    Event,
    /// Processing time: the run's clock.
    Processing,
}

impl fmt::Display for TimeDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeDomain::Event => "event-time",
            TimeDomain::Processing => "processing-time",
        })
    }
}

/// Calls [`on_timer`](crate::KeyedDoFn::on_timer) back, once, at the time that it is set to.
///
/// A timer belongs to one key and window, like all state. In a struct with `#[derive(KeyedState)]` it is a field with
/// `#[timer(event)]` or `#[timer(processing)]`.
///
/// - An **event-time** timer fires when the input watermark has *passed* its time: one at 10 s does not fire at a
///   watermark of exactly 10 s.
/// - A **processing-time** timer fires when the clock has *come* to its time.
/// - Setting it again replaces what it was set to: it fires once.
/// - One that is set to a time that is over fires at once, when the elements of the bundle are done.
/// - Timers of a key that are due fire in the order of their times, and of equal times in the order in which they were
///   set; event time before processing time. A callback that sets, moves or clears a timer that is due is obeyed.
/// - When its window expires, a processing-time timer that is still pending fires at once, and for the last time.
/// - Until it fires it **holds the output watermark** at its output timestamp, so that what it will emit is not late.
///
/// Before a time is set, options may be given, for that time only:
///
/// ```
/// use purlin_sdk::{Duration, ProcessContext, Result, state::Timer};
///
/// fn wind_up(alarm: &mut Timer, cx: &ProcessContext<'_>) -> Result {
///     let minute = Duration::from_minutes(1);
///     alarm.set(cx, cx.timestamp() + minute)?; // at this time
///     alarm.set_after(cx, minute)?; // a minute from now
///     alarm.align_to(minute).set_after(cx, Duration::ZERO)?; // at the next full minute
///     alarm.with_output_timestamp(cx.timestamp()).set(cx, cx.timestamp() + minute)?;
///     alarm.clear();
///     Ok(())
/// }
/// ```
///
/// Source: Beam's `Timer`.
#[derive(Clone)]
pub struct Timer {
    pub(super) name: &'static str,
    pub(super) time: TimeDomain,
    set: Option<TimerEntry>,
    // What the kernel was told last.
    told: Option<TimerEntry>,
    undo: Undo<Option<TimerEntry>>,
}

impl Timer {
    /// A timer that is not set, for the field `name`.
    #[doc(hidden)]
    pub fn new(name: &'static str, time: TimeDomain) -> Timer {
        Timer { name, time, set: None, told: None, undo: Undo::Off }
    }

    /// Sets it to `time`.
    ///
    /// # Errors
    /// See [`TimerSetting::set`].
    pub fn set(&mut self, cx: &impl KeyedContext, time: Timestamp) -> Result {
        self.setting().set(cx, time)
    }

    /// Sets it to a time from now, see [`TimerSetting::set_after`].
    ///
    /// # Errors
    /// See [`TimerSetting::set`].
    pub fn set_after(&mut self, cx: &impl KeyedContext, after: Duration) -> Result {
        self.setting().set_after(cx, after)
    }

    /// Takes the time that is set back; nothing happens when none is.
    pub fn clear(&mut self) {
        self.put(None);
    }

    pub(super) fn put(&mut self, entry: Option<TimerEntry>) {
        self.undo.change(|| self.set);
        self.set = entry;
    }

    /// Whether it is set, and has not fired.
    pub fn is_set(&self) -> bool {
        self.set.is_some()
    }

    /// The time that it is set to.
    pub fn time(&self) -> Option<Timestamp> {
        self.set.map(|entry| entry.fire)
    }

    /// See [`TimerSetting::align_to`].
    pub fn align_to(&mut self, period: Duration) -> TimerSetting<'_> {
        self.setting().align_to(period)
    }

    /// See [`TimerSetting::offset`].
    pub fn offset(&mut self, offset: Duration) -> TimerSetting<'_> {
        self.setting().offset(offset)
    }

    /// See [`TimerSetting::with_output_timestamp`].
    pub fn with_output_timestamp(&mut self, timestamp: Timestamp) -> TimerSetting<'_> {
        self.setting().with_output_timestamp(timestamp)
    }

    /// See [`TimerSetting::without_output_timestamp`].
    pub fn without_output_timestamp(&mut self) -> TimerSetting<'_> {
        self.setting().without_output_timestamp()
    }

    fn setting(&mut self) -> TimerSetting<'_> {
        TimerSetting::new(Target::Timer(self))
    }
}

impl TimerCell for Timer {
    fn changes(&mut self, tell: &mut TellChange<'_>) {
        if self.told != self.set {
            tell("", self.told, self.set);
            self.told = self.set;
        }
    }

    fn entries(&mut self, tell: &mut dyn FnMut(&str, TimerEntry)) {
        self.told = self.set;
        if let Some(entry) = self.set {
            tell("", entry);
        }
    }

    fn entry(&self, _tag: &str) -> Option<TimerEntry> {
        self.set
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&self.set, out)
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        self.set = take(input)?;
        Ok(())
    }

    fn fire(&mut self, _tag: &str) -> Option<TimerEntry> {
        self.told = None;
        self.undo.change(|| self.set);
        self.set.take()
    }

    fn begin(&mut self) {
        self.undo.begin();
    }

    fn undo(&mut self) {
        if let Some(before) = self.undo.end() {
            self.set = before;
        }
    }

    fn keep(&mut self) {
        self.undo.end();
    }

    fn is_idle(&self) -> bool {
        self.set.is_none()
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn time_domain(&self) -> TimeDomain {
        self.time
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.set {
            Some(entry) => write!(f, "{} timer at {}", self.time, entry.fire),
            None => write!(f, "{} timer, not set", self.time),
        }
    }
}
