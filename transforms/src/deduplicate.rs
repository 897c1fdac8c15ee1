//! Repeats dropped as they come.

use std::marker::PhantomData;

use purlin_derive::KeyedState;
use purlin_sdk::{
    Duration, Element, Emitter, Key, KeyedDoFn, PCollection, PTransform, ProcessContext, Result,
    TimerContext, TimerOf, Timestamp,
    state::{TimeDomain, Timer, Value},
};

/// Lets the first of equal elements pass, at once, and drops those that repeat it within a time: for messages that are
/// delivered more than once.
///
/// ```
/// # use purlin_sdk::{Duration, PCollection, Pipeline};
/// use purlin_transforms::Deduplicate;
/// # let p = Pipeline::new();
/// let clicks = p.create("Clicks", [(7_u64, "home".to_owned()), (7, "home".to_owned())]);
/// let once: PCollection<(u64, String)> = clicks.apply("Once", Deduplicate::values());
/// let by_user: PCollection<(u64, String)> =
///     clicks.apply("ByUser", Deduplicate::keyed_values().event_time(Duration::from_minutes(5)));
/// let by_page: PCollection<(u64, String)> =
///     clicks.apply("ByPage", Deduplicate::with_representative(|(_, page): &(u64, String)| page.clone()));
/// # p.build().unwrap();
/// ```
/// The time is ten minutes of processing time, unless another is said. It counts from the element that passed, and a repeat
/// does not make it longer:
/// - In **event time** a repeat is what has a timestamp before that of the one that passed plus the duration: so also an
///   older one that comes after it, which in turn does not make the time shorter (`b086`). Of elements in the order of
///   their timestamps, timestamps alone decide. What has passed is remembered until the watermark has passed the end of its
///   time; what was late, until the watermark has gone on by the duration.
/// - In **processing time** a repeat is what comes before the end of that time by the run's clock.
///
/// Elements in different windows are no repeats of each other: state is kept per window. In windows that merge, such as
/// sessions, it is a build error, and so is a duration that is not above zero. No element is held back, and neither is the
/// watermark. Where each element is wanted once a window, and not before its end, there is [`Distinct`](crate::Distinct).
///
/// Source: Beam's `Deduplicate`.
#[derive(Clone, Copy, Debug)]
pub struct Deduplicate<S> {
    same: S,
    time: TimeDomain,
    duration: Duration,
}

/// Elements that are equal, see [`Deduplicate::values`].
#[derive(Clone, Copy, Debug)]
pub struct EqualValues;

/// Pairs with one key, see [`Deduplicate::keyed_values`].
#[derive(Clone, Copy, Debug)]
pub struct EqualKeys;

/// Elements of which a closure says the same, see [`Deduplicate::with_representative`].
#[derive(Clone, Copy, Debug)]
pub struct EqualRepresentatives<F>(F);

impl<S> Deduplicate<S> {
    fn of(same: S) -> Deduplicate<S> {
        Deduplicate { same, time: TimeDomain::Processing, duration: Duration::from_minutes(10) }
    }

    /// Within `duration` of event time.
    #[must_use]
    pub fn event_time(self, duration: Duration) -> Deduplicate<S> {
        Deduplicate { time: TimeDomain::Event, duration, ..self }
    }

    /// Within `duration` of processing time.
    #[must_use]
    pub fn processing_time(self, duration: Duration) -> Deduplicate<S> {
        Deduplicate { time: TimeDomain::Processing, duration, ..self }
    }

    #[track_caller]
    fn first<K: Key, V: Element>(&self, pairs: &PCollection<(K, V)>) -> PCollection<(K, V)> {
        let Deduplicate { time, duration, .. } = *self;
        if duration <= Duration::ZERO {
            pairs.pipeline().build_error(format!(
                "it drops what repeats an element within {duration}, which is nothing; give it a longer time"
            ));
        }
        let lateness = pairs.windowing().allowed_lateness;
        pairs.par_do_keyed("First", First { time, duration, lateness, types: PhantomData })
    }
}

impl Deduplicate<EqualValues> {
    /// Elements that are equal repeat each other.
    pub fn values() -> Deduplicate<EqualValues> {
        Deduplicate::of(EqualValues)
    }
}

impl Deduplicate<EqualKeys> {
    /// Pairs that have the same key repeat each other, whatever their values are.
    pub fn keyed_values() -> Deduplicate<EqualKeys> {
        Deduplicate::of(EqualKeys)
    }
}

impl Deduplicate<EqualRepresentatives<()>> {
    /// Elements of which `f` says the same repeat each other.
    pub fn with_representative<T, R, F>(f: F) -> Deduplicate<EqualRepresentatives<F>>
    where
        F: Fn(&T) -> R + Clone + Send + 'static,
    {
        Deduplicate::of(EqualRepresentatives(f))
    }
}

impl<T: Key> PTransform<PCollection<T>> for Deduplicate<EqualValues> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        self.first(&input.map("Pair", |x| (x, ()))).map("Value", |(x, ())| x)
    }
}

impl<K: Key, V: Element> PTransform<PCollection<(K, V)>> for Deduplicate<EqualKeys> {
    type Out = PCollection<(K, V)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, V)> {
        self.first(&input)
    }
}

impl<T: Element, R: Key, F> PTransform<PCollection<T>> for Deduplicate<EqualRepresentatives<F>>
where
    F: Fn(&T) -> R + Clone + Send + 'static,
{
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<T> {
        let represent = self.same.0.clone();
        self.first(&input.key_by("Represent", represent)).map("Value", |(_, x)| x)
    }
}

/// That an element passed.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Passed {
    /// What comes before this is a repeat.
    until: Value<Timestamp>,
    #[timer(event)]
    passed: Timer,
    #[timer(processing)]
    over: Timer,
}

/// Lets the first element of each key pass.
struct First<K, V> {
    time: TimeDomain,
    duration: Duration,
    lateness: Duration,
    types: PhantomData<fn(K, V)>,
}

impl<K, V> Clone for First<K, V> {
    fn clone(&self) -> First<K, V> {
        First { ..*self }
    }
}

impl<K: Key, V: Element> KeyedDoFn for First<K, V> {
    type Key = K;
    type Value = V;
    type Output = (K, V);
    type State = Passed;

    fn process(
        &mut self,
        key: &K,
        value: V,
        state: &mut Passed,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, (K, V)>,
    ) -> Result {
        let now = match self.time {
            TimeDomain::Event => cx.timestamp(),
            TimeDomain::Processing => cx.now(),
        };
        if state.until.read().is_some_and(|until| now < *until) {
            return Ok(());
        }
        let until = now + self.duration;
        state.until.write(until);
        out.emit((key.clone(), value));
        match self.time {
            TimeDomain::Event => {
                // The time of a late one may be over already: it is known for as long as another, or none of its repeats
                // would be.
                let known =
                    cx.current_watermark().map_or(until, |watermark| until.max(watermark + self.duration));
                // With the window all of its state goes, and no timer may be set beyond.
                if known > cx.window().expiry(self.lateness) {
                    return Ok(());
                }
                state.passed.without_output_timestamp().set(cx, known)
            }
            TimeDomain::Processing => state.over.without_output_timestamp().set(cx, until),
        }
    }

    fn on_timer(
        &mut self,
        _: TimerOf<Self>,
        _: &K,
        state: &mut Passed,
        _: &TimerContext<'_>,
        _: &mut Emitter<'_, (K, V)>,
    ) -> Result {
        state.until.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::KeyedTester;

    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn first(time: TimeDomain) -> KeyedTester<First<String, i64>> {
        let duration = Duration::from_secs(10);
        KeyedTester::of(First { time, duration, lateness: Duration::ZERO, types: PhantomData })
    }

    #[test]
    fn state_is_gone_when_the_time_is_over_and_the_watermark_is_not_held() {
        let mut events = first(TimeDomain::Event);
        events.at(at(5)).process("a".to_owned(), 1).unwrap();
        events.advance_watermark(at(15)).unwrap();
        assert_eq!((events.states(), events.output_watermark()), (1, at(15)));
        events.advance_watermark(at(16)).unwrap();
        assert_eq!(events.states(), 0);

        let mut processing = first(TimeDomain::Processing);
        processing.at(at(5)).process("a".to_owned(), 1).unwrap();
        processing.advance_watermark(at(1_000)).unwrap();
        assert_eq!((processing.states(), processing.output_watermark()), (1, at(1_000)));
        processing.advance_clock(Duration::from_secs(10)).unwrap();
        assert_eq!(processing.states(), 0);
    }

    #[test]
    fn a_time_beyond_the_window_ends_with_it() {
        let mut events = first(TimeDomain::Event);
        events.window(purlin_sdk::window::Window::interval(at(0), at(10)));
        events.at(at(5)).process("a".to_owned(), 1).unwrap();
        events.at(at(9)).process("a".to_owned(), 2).unwrap();
        assert_eq!(events.main(), [("a".to_owned(), 1)]);
        events.advance_watermark(at(10)).unwrap();
        assert_eq!(events.states(), 0);
    }
}
