//! A time for a timer: the options, and what is allowed.

use std::fmt;

use super::{KeyedContext, TimeDomain, Timer, TimerEntry, TimerFamily, TimerScope};
use crate::{DoFnError, Duration, Result, Timestamp};

/// A timer that is about to be set, with options for that.
#[must_use = "a timer is set by `set` or `set_after`"]
pub struct TimerSetting<'t> {
    target: Target<'t>,
    period: Option<Duration>,
    offset: Duration,
    output: Output,
}

pub(super) enum Target<'t> {
    Timer(&'t mut Timer),
    Tagged(&'t mut TimerFamily, String),
}

/// What was said of the output timestamp.
#[derive(Clone, Copy)]
enum Output {
    Default,
    At(Timestamp),
    None,
}

impl<'t> TimerSetting<'t> {
    pub(super) fn new(target: Target<'t>) -> TimerSetting<'t> {
        TimerSetting { target, period: None, offset: Duration::ZERO, output: Output::Default }
    }

    /// Rounds the time up, so that with the offset added it is a multiple of `period` since 1970: with a period of a
    /// minute and an offset of one second, it fires one second before the next full minute, as in Beam.
    pub fn align_to(mut self, period: Duration) -> TimerSetting<'t> {
        self.period = Some(period);
        self
    }

    /// Moves the time by `offset`; with [`align_to`](Self::align_to), it moves the other way, see there.
    pub fn offset(mut self, offset: Duration) -> TimerSetting<'t> {
        self.offset = offset;
        self
    }

    /// Gives what it will emit this timestamp, at which it holds the output watermark until then.
    ///
    /// Without it, an event-time timer has its own time, and a processing-time timer the timestamp of the element, or
    /// the output timestamp of the timer, for which it is set; as has an event-time timer whose own time lies before that by
    /// more than the DoFn's `allowed_timestamp_skew`.
    pub fn with_output_timestamp(mut self, timestamp: Timestamp) -> TimerSetting<'t> {
        self.output = Output::At(timestamp);
        self
    }

    /// It will emit nothing, which is then an error, and holds no watermark.
    pub fn without_output_timestamp(mut self) -> TimerSetting<'t> {
        self.output = Output::None;
        self
    }

    /// Sets it to `time`.
    ///
    /// # Errors
    /// - An event-time timer, or the output timestamp, lies after the window's expiry (its end and the allowed
    ///   lateness): the state will be gone.
    /// - The output timestamp of an event-time timer lies after the time at which it fires.
    /// - An output timestamp that was given lies before the element's (in `on_timer`: before the firing timer's output
    ///   timestamp) by more than the DoFn's `allowed_timestamp_skew`.
    /// - In `on_window_expiration`: no timer can be set there.
    pub fn set(self, cx: &impl KeyedContext, time: Timestamp) -> Result {
        let scope = cx.timer_scope()?;
        let offset = self.offset;
        self.put(&scope, time, offset, false)
    }

    /// Sets it to `after` from now: for a processing-time timer from when the bundle began by the clock, for an
    /// event-time timer from the input watermark, or while there is none, from the element's timestamp. As in Beam, an
    /// event-time timer fires no later than its window expires.
    ///
    /// How far the watermark is depends on the run: for a timer that does not, say `set(cx, cx.timestamp() + after)`,
    /// or in `on_timer` `set(cx, cx.fire_timestamp() + after)`.
    ///
    /// # Errors
    /// See [`set`](Self::set).
    pub fn set_after(self, cx: &impl KeyedContext, after: Duration) -> Result {
        let scope = cx.timer_scope()?;
        let now = match self.time() {
            TimeDomain::Processing => scope.now,
            TimeDomain::Event => scope.watermark.or(scope.timestamp).unwrap_or(Timestamp::MIN),
        };
        let offset = self.offset + after;
        self.put(&scope, now, offset, true)
    }

    /// Takes the time that it is set to back.
    pub fn clear(self) {
        match self.target {
            Target::Timer(timer) => timer.clear(),
            Target::Tagged(family, tag) => family.clear(&tag),
        }
    }

    /// Whether it is set, and has not fired.
    pub fn is_set(&self) -> bool {
        match &self.target {
            Target::Timer(timer) => timer.is_set(),
            Target::Tagged(family, tag) => family.is_set(tag),
        }
    }

    fn time(&self) -> TimeDomain {
        match &self.target {
            Target::Timer(timer) => timer.time,
            Target::Tagged(family, _) => family.time,
        }
    }

    fn put(self, scope: &TimerScope<'_>, from: Timestamp, offset: Duration, relative: bool) -> Result {
        let entry = self.entry(scope, from, offset, relative).map_err(|what| {
            DoFnError::msg(format!("the {} {self:?} of `{}` cannot be set: {what}", self.time(), scope.path))
        })?;
        match self.target {
            Target::Timer(timer) => timer.put(Some(entry)),
            Target::Tagged(family, tag) => family.put(tag, entry),
        }
        Ok(())
    }

    /// What it is set to, or why it cannot be.
    fn entry(
        &self,
        scope: &TimerScope<'_>,
        from: Timestamp,
        offset: Duration,
        relative: bool,
    ) -> Result<TimerEntry, String> {
        let TimerScope { expiry, window, .. } = scope;
        let event = self.time() == TimeDomain::Event;
        let mut fire = match self.period {
            None => from + offset,
            Some(period) if period > Duration::ZERO => aligned(from, offset, period),
            Some(period) => {
                return Err(format!("it is to be aligned to {period}, which is no period of time"));
            }
        };
        if event && fire > *expiry {
            if !relative {
                return Err(format!(
                    "it is to fire at {fire}, after the state of {window} expires at {expiry}; set it no later, or allow \
                     more lateness"
                ));
            }
            fire = *expiry;
        }
        let output = match self.output {
            Output::None => None,
            Output::Default if event => default_output(scope, fire),
            // What was set by a timer that may not emit may not emit either. An element may lie behind its window's end.
            Output::Default => scope.timestamp.map(|timestamp| timestamp.min(*expiry)),
            Output::At(output) => Some(self.checked_output(scope, output)?),
        };
        if let Some(output) = output {
            if event && output > fire && matches!(self.output, Output::At(_)) {
                return Err(format!(
                    "its output timestamp, {output}, lies after the time at which it fires, {fire}"
                ));
            }
            if output > *expiry {
                return Err(format!(
                    "its output timestamp, {output}, lies after {window} expires at {expiry}"
                ));
            }
        }
        let order = scope.order.get();
        scope.order.set(order + 1);
        Ok(TimerEntry { fire, output, order })
    }

    /// An output timestamp that was given.
    fn checked_output(&self, scope: &TimerScope<'_>, output: Timestamp) -> Result<Timestamp, String> {
        match scope.timestamp {
            None => Err(format!(
                "its output timestamp, {output}, is not held by anything: it is set by a timer without an output \
                 timestamp"
            )),
            Some(input) if output < input && output < input - scope.skew => Err(format!(
                "its output timestamp, {output}, lies before the input's, {input}, by more than the allowed skew of {}; \
                 set a later one or override `allowed_timestamp_skew`",
                scope.skew
            )),
            Some(_) => Ok(output),
        }
    }
}

/// The output timestamp of an event-time timer: its own time, unless nothing holds the watermark there any more. Then it
/// is the input's, as if it were emitted at once, which it is.
fn default_output(scope: &TimerScope<'_>, fire: Timestamp) -> Option<Timestamp> {
    match scope.timestamp {
        Some(input) if fire < input - scope.skew => Some(input.min(scope.expiry)),
        // What was set by a timer that may not emit has nothing to go by.
        None if scope.watermark.is_some_and(|watermark| fire < watermark) => None,
        _ => Some(fire),
    }
}

/// The first time from `from` on that is a multiple of `period` when `offset` is added.
fn aligned(from: Timestamp, offset: Duration, period: Duration) -> Timestamp {
    let millis = i128::from(from.as_millis()) + i128::from(offset.as_millis());
    let over = millis.rem_euclid(i128::from(period.as_millis()));
    if over == 0 {
        return from;
    }
    // Less than a period, which is within i64.
    from + Duration::from_millis((i128::from(period.as_millis()) - over) as i64)
}

impl fmt::Debug for TimerSetting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Timer(timer) => write!(f, "timer `{}`", timer.name),
            Target::Tagged(family, tag) => write!(f, "timer `{}` with the tag `{tag}`", family.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{
        state::{TimerCell, sealed::Sealed},
        window::Window,
    };

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn secs(n: i64) -> Duration {
        Duration::from_secs(n)
    }

    /// An element at 5 s in [0 s, 10 s), which is kept for another 10 s; the clock is at 1,000 s.
    #[derive(Default)]
    struct Place {
        watermark: Option<Timestamp>,
        skew: Duration,
        in_silent_timer: bool,
        order: Cell<u64>,
    }

    impl Sealed for Place {
        fn timer_scope(&self) -> Result<TimerScope<'_>> {
            Ok(TimerScope {
                path: "Cart",
                window: Window::interval(at(0), at(10)),
                expiry: Window::interval(at(0), at(10)).expiry(secs(10)),
                timestamp: (!self.in_silent_timer).then(|| at(5)),
                skew: self.skew,
                watermark: self.watermark,
                now: at(1000),
                order: &self.order,
            })
        }
    }

    fn event() -> Timer {
        Timer::new("alarm", TimeDomain::Event)
    }

    fn processing() -> Timer {
        Timer::new("flush", TimeDomain::Processing)
    }

    fn set(timer: &mut Timer) -> (i64, Option<i64>) {
        let entry = timer.fire("").unwrap();
        (entry.fire.as_millis(), entry.output.map(Timestamp::as_millis))
    }

    #[test]
    fn a_timer_has_its_own_time_or_the_input_s_as_output_timestamp() {
        let cx = Place::default();
        let (mut alarm, mut flush) = (event(), processing());
        alarm.set(&cx, at(7)).unwrap();
        assert_eq!(set(&mut alarm), (7000, Some(7000)));
        alarm.with_output_timestamp(at(6)).set(&cx, at(7)).unwrap();
        assert_eq!(set(&mut alarm), (7000, Some(6000)));
        alarm.without_output_timestamp().set(&cx, at(7)).unwrap();
        assert_eq!(set(&mut alarm), (7000, None));
        flush.set(&cx, at(2000)).unwrap();
        assert_eq!(set(&mut flush), (2_000_000, Some(5000)));
        // The past is allowed, and what it emits is no earlier than what was there when it was set.
        alarm.set(&cx, at(-7)).unwrap();
        assert_eq!(set(&mut alarm), (-7000, Some(5000)));
        let cx = Place { skew: secs(20), ..Place::default() };
        alarm.set(&cx, at(-7)).unwrap();
        assert_eq!(set(&mut alarm), (-7000, Some(-7000)));
        // Where nothing says what is held, only what the watermark has not passed may be emitted.
        let cx = Place { watermark: Some(at(3)), in_silent_timer: true, ..Place::default() };
        alarm.set(&cx, at(7)).unwrap();
        assert_eq!(set(&mut alarm), (7000, Some(7000)));
        alarm.set(&cx, at(2)).unwrap();
        assert_eq!(set(&mut alarm), (2000, None));
    }

    #[test]
    fn from_now_is_from_the_watermark_or_the_clock() {
        let (mut alarm, mut flush) = (event(), processing());
        alarm.set_after(&Place::default(), secs(2)).unwrap();
        assert_eq!(set(&mut alarm), (7000, Some(7000)));
        let cx = Place { watermark: Some(at(3)), ..Place::default() };
        alarm.offset(secs(1)).set_after(&cx, secs(2)).unwrap();
        assert_eq!(set(&mut alarm), (6000, Some(6000)));
        flush.set_after(&cx, secs(2)).unwrap();
        assert_eq!(set(&mut flush), (1_002_000, Some(5000)));
    }

    #[test]
    fn aligned_times_are_rounded_up_before_the_offset() {
        let cx = Place { watermark: Some(at(3)), ..Place::default() };
        let mut alarm = event();
        alarm.align_to(secs(4)).set_after(&cx, Duration::ZERO).unwrap();
        assert_eq!(set(&mut alarm).0, 4000);
        alarm.align_to(secs(4)).offset(secs(1)).set_after(&cx, Duration::ZERO).unwrap();
        assert_eq!(set(&mut alarm).0, 3000);
        alarm.align_to(secs(10)).offset(secs(1)).set(&cx, at(3)).unwrap();
        assert_eq!(set(&mut alarm).0, 9000);
        assert_eq!(aligned(at(-3), Duration::ZERO, secs(10)), at(0));
        assert_eq!(aligned(Timestamp::MAX, Duration::MAX, Duration::MAX), Timestamp::MAX);
        assert_eq!(aligned(Timestamp::MIN, Duration::MIN, Duration::from_millis(1)), Timestamp::MIN);
        // Beyond the expiry, a relative one is brought back; one that is not is refused.
        alarm.align_to(secs(60)).set_after(&cx, secs(0)).unwrap();
        assert_eq!(set(&mut alarm).0, 19_999);
        assert!(alarm.align_to(secs(60)).set(&cx, at(3)).is_err());
    }

    #[track_caller]
    fn refused(done: Result, parts: &[&str]) {
        let text = done.unwrap_err().to_string();
        for part in parts {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }

    #[test]
    fn b072_what_cannot_be_set_is_told_with_transform_and_timer() {
        let cx = Place::default();
        let mut alarm = event();
        alarm.set(&cx, Timestamp::saturating_from_millis(19_999)).unwrap();
        alarm.clear();
        refused(alarm.set(&cx, at(20)), &["timer `alarm` of `Cart`", "expires at 1970-01-01T00:00:19.999Z"]);
        refused(
            alarm.with_output_timestamp(at(8)).set(&cx, at(7)),
            &["lies after the time at which it fires"],
        );
        refused(
            alarm.with_output_timestamp(at(4)).set(&cx, at(7)),
            &["allowed skew", "allowed_timestamp_skew"],
        );
        refused(alarm.align_to(Duration::ZERO).set(&cx, at(7)), &["no period"]);
        assert!(!alarm.is_set());
        let cx = Place { skew: secs(1), ..cx };
        alarm.with_output_timestamp(at(4)).set(&cx, at(7)).unwrap();
        let mut flush = processing();
        refused(flush.with_output_timestamp(at(20)).set(&cx, at(7)), &["`flush`", "expires at"]);
        let mut per = TimerFamily::new("per", TimeDomain::Event);
        refused(per.tag("a").set(&cx, at(20)), &["timer `per` with the tag `a` of `Cart`"]);
    }

    #[test]
    fn a_timer_that_may_not_emit_sets_none_that_may() {
        let cx = Place { in_silent_timer: true, ..Place::default() };
        let mut flush = processing();
        flush.set(&cx, at(2000)).unwrap();
        assert_eq!(set(&mut flush), (2_000_000, None));
        refused(flush.with_output_timestamp(at(6)).set(&cx, at(2000)), &["not held"]);
    }

    #[test]
    fn changes_are_told_once_and_against_what_was_told_before() {
        fn told(cell: &mut dyn TimerCell) -> Vec<String> {
            let mut all = Vec::new();
            let secs =
                |e: Option<TimerEntry>| e.map_or("-".into(), |e| (e.fire.as_millis() / 1000).to_string());
            cell.changes(&mut |tag, was, is| all.push(format!("{tag} {} {}", secs(was), secs(is))));
            all
        }
        let cx = Place::default();
        let mut alarm = event();
        alarm.set(&cx, at(6)).unwrap();
        alarm.set(&cx, at(7)).unwrap();
        assert_eq!(told(&mut alarm), [" - 7"]);
        assert_eq!(told(&mut alarm), Vec::<String>::new());
        alarm.set(&cx, at(8)).unwrap();
        alarm.clear();
        assert_eq!(told(&mut alarm), [" 7 -"]);
        alarm.set(&cx, at(6)).unwrap();
        alarm.clear();
        assert_eq!(told(&mut alarm), Vec::<String>::new());

        let mut per = TimerFamily::new("per", TimeDomain::Event);
        per.tag("a").set(&cx, at(6)).unwrap();
        per.tag("b").set(&cx, at(6)).unwrap();
        per.tag("a").set(&cx, at(7)).unwrap();
        assert_eq!(told(&mut per), ["a - 7", "b - 6"]);
        per.clear("b");
        per.tag("b").set(&cx, at(9)).unwrap();
        assert_eq!(per.fire("a").map(|e| e.fire), Some(at(7)));
        assert_eq!(told(&mut per), ["b 6 9"]);
        per.clear_all();
        assert_eq!(told(&mut per), ["b 9 -"]);
        assert_eq!(per.tags().count(), 0);
    }
}
