//! A keyed DoFn whose methods are closures, with a cell of each kind that cases need.

use std::{fmt, sync::Arc};

use purlin_derive::KeyedState;
use purlin_sdk::{
    Emitter, KeyedDoFn, PCollection, Pipeline, ProcessContext, Result, Runner, TimerContext, Timestamp,
    state::{Bag, Timer, TimerFamily, Value},
    testing::TestStream,
};

use super::support::{Log, run};

/// The state of a probe.
#[derive(KeyedState, Debug)]
#[keyed_state(crate = "purlin_sdk")]
pub struct Cells {
    /// A number.
    pub n: Value<i64>,
    /// Numbers.
    pub bag: Bag<i64>,
    /// Event-time timers.
    #[timer(event)]
    pub a: Timer,
    /// Likewise.
    #[timer(event)]
    pub b: Timer,
    /// Likewise.
    #[timer(event)]
    pub c: Timer,
    /// Processing-time timers.
    #[timer(processing)]
    pub p: Timer,
    /// Likewise.
    #[timer(processing)]
    pub q: Timer,
    /// Event-time timers by tags.
    #[timer(event)]
    pub tags: TimerFamily,
    /// More of them.
    #[timer(event)]
    pub more: TimerFamily,
    /// Processing-time timers by tags.
    #[timer(processing)]
    pub ptags: TimerFamily,
}

impl Cells {
    /// Adds one to the number, and gives it as it is then.
    pub fn count(&mut self) -> i64 {
        let n = self.n.read().copied().unwrap_or(0) + 1;
        self.n.write(n);
        n
    }
}

type Process =
    dyn Fn(&str, i64, &mut Cells, &ProcessContext<'_>, &mut Emitter<'_, String>) -> Result + Send + Sync;
type OnTimer =
    dyn Fn(CellsTimer, &str, &mut Cells, &TimerContext<'_>, &mut Emitter<'_, String>) -> Result + Send + Sync;
type OnExpiration =
    dyn Fn(&str, &mut Cells, &TimerContext<'_>, &mut Emitter<'_, String>) -> Result + Send + Sync;

/// A keyed DoFn of closures. Without one for timers, each emits its name.
#[derive(Clone)]
pub struct Probe {
    process: Arc<Process>,
    on_timer: Arc<OnTimer>,
}

impl Probe {
    /// A probe that does this with each element.
    pub fn new(
        process: impl Fn(&str, i64, &mut Cells, &ProcessContext<'_>, &mut Emitter<'_, String>) -> Result
        + Send
        + Sync
        + 'static,
    ) -> Probe {
        Probe {
            process: Arc::new(process),
            on_timer: Arc::new(|timer, _, _, _, out| {
                out.emit(format!("{timer:?}"));
                Ok(())
            }),
        }
    }

    /// Does this when a timer fires.
    #[must_use]
    pub fn when_due(
        mut self,
        on_timer: impl Fn(CellsTimer, &str, &mut Cells, &TimerContext<'_>, &mut Emitter<'_, String>) -> Result
        + Send
        + Sync
        + 'static,
    ) -> Probe {
        self.on_timer = Arc::new(on_timer);
        self
    }

    /// Does this when a window expires.
    pub fn when_expired(
        self,
        on_expiration: impl Fn(&str, &mut Cells, &TimerContext<'_>, &mut Emitter<'_, String>) -> Result
        + Send
        + Sync
        + 'static,
    ) -> Expiring {
        Expiring { probe: self, on_expiration: Arc::new(on_expiration) }
    }
}

impl KeyedDoFn for Probe {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Cells;

    fn process(
        &mut self,
        key: &String,
        value: i64,
        state: &mut Cells,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        (self.process)(key, value, state, cx, out)
    }

    fn on_timer(
        &mut self,
        timer: CellsTimer,
        key: &String,
        state: &mut Cells,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        (self.on_timer)(timer, key, state, cx, out)
    }
}

/// A [`Probe`] that is told when windows expire.
#[derive(Clone)]
pub struct Expiring {
    probe: Probe,
    on_expiration: Arc<OnExpiration>,
}

impl KeyedDoFn for Expiring {
    type Key = String;
    type Value = i64;
    type Output = String;
    type State = Cells;
    const ON_WINDOW_EXPIRATION: bool = true;

    fn process(
        &mut self,
        key: &String,
        value: i64,
        state: &mut Cells,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        self.probe.process(key, value, state, cx, out)
    }

    fn on_timer(
        &mut self,
        timer: CellsTimer,
        key: &String,
        state: &mut Cells,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        self.probe.on_timer(timer, key, state, cx, out)
    }

    fn on_window_expiration(
        &mut self,
        key: &String,
        state: &mut Cells,
        cx: &TimerContext<'_>,
        out: &mut Emitter<'_, String>,
    ) -> Result {
        (self.on_expiration)(key, state, cx, out)
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

impl fmt::Debug for Expiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expiring")
    }
}

/// A scripted stream of elements with keys.
pub type Keyed = TestStream<(String, i64)>;

/// An element for the key `k`.
pub fn k(value: i64) -> (String, i64) {
    ("k".to_owned(), value)
}

/// What came out in the order in which it came, with its timestamps, of what `build` makes of the stream.
pub fn outputs(
    runner: &dyn Runner,
    stream: &Keyed,
    build: impl FnOnce(PCollection<(String, i64)>) -> PCollection<String>,
) -> Vec<(String, Timestamp)> {
    let log = Log::default();
    run(runner, |p: &Pipeline| {
        let out = build(p.apply("Stream", stream.clone())).map_cx("Time", |x, cx| Ok((x, cx.timestamp())));
        log.note("Collect", &out);
    });
    log.take()
}

/// Only what came out, without timestamps.
pub fn values(outputs: Vec<(String, Timestamp)>) -> Vec<String> {
    outputs.into_iter().map(|(value, _)| value).collect()
}
