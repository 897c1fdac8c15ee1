//! Collections that grow.

use std::{fmt, marker::PhantomData};

use purlin_sdk::{
    Duration, Element, Key, PCollection, PTransform, ProcessContext, Result, View, coder::default_coder,
    sdf::ParDoSplittable,
};

mod fingerprint;
mod growth;
mod poll_result;
mod poller;
mod termination;

pub(crate) use fingerprint::Fingerprint;
pub use poll_result::PollResult;
use poller::Poller;
pub use termination::Termination;

/// Asks again and again what there is for each element, and emits what was not there before: the files of a directory, the
/// tables of a database.
///
/// ```
/// # use purlin_sdk::{Duration, PCollection, Pipeline, ProcessContext, Result};
/// use purlin_transforms::{PollResult, Termination, Watch};
/// # fn list(dir: &str) -> Result<Vec<String>> { Ok(vec![dir.to_owned()]) }
/// # let p = Pipeline::new();
/// let files: PCollection<(String, String)> = p.create("Dirs", ["in".to_owned()]).apply(
///     "Watch",
///     Watch::growth_of(|dir: &String, cx: &ProcessContext<'_>| {
///         Ok(PollResult::incomplete_at(cx.now(), list(dir)?).with_watermark(cx.now()))
///     })
///     .with_poll_interval(Duration::from_secs(30))
///     .with_termination_per_input(Termination::after_time_since_new_output(Duration::from_hours(1))),
/// );
/// # p.build().unwrap();
/// ```
/// - What comes out are pairs of an element and an output that its poll found, each output **once** for each element,
///   however many polls find it again, at the timestamp that the poll gave it. Outputs are told apart by `Eq`, or by
///   what [`with_output_key`](Watch::with_output_key) reads from them. Those of one poll come in the order of their
///   timestamps.
/// - What is remembered of an output is a fingerprint of its key, of 128 bits, for as long as its element is polled: the
///   least there can be, since a poll may find it again at any time, also with another timestamp.
/// - An element is polled until a poll says that it is [complete](PollResult::complete), or until the
///   [`Termination`] says so, which is looked at after each poll. By default it is polled for ever.
/// - **The watermark** of an element is its own timestamp at first. A poll moves it to where it says by
///   [`PollResult::with_watermark`]; if it says nothing, to the earliest timestamp of its new outputs. An element that is
///   polled no more holds no watermark.
/// - The output has no end. On drain polling stops.
/// - The interval is a second by default. It begins when a poll is done, and is kept by the run's clock, which is also
///   what `cx.now()` reads.
/// - A poll that fails, fails its bundle, and is tried again only when its error is marked as retryable.
///
/// Source: Beam's `Watch`.
pub struct Watch<F, G> {
    poll: F,
    key: G,
    interval: Duration,
    termination: Termination,
    views: Vec<View<()>>,
}

/// Outputs are their own keys.
#[derive(Clone, Copy, Debug)]
pub struct OwnKey;

impl<F> Watch<F, OwnKey> {
    /// Polls by `poll`, which is given the element, and what every DoFn may ask: the clock, side inputs, options.
    pub fn growth_of<T, O>(poll: F) -> Watch<F, OwnKey>
    where
        F: Fn(&T, &ProcessContext<'_>) -> Result<PollResult<O>> + Clone + Send + 'static,
    {
        let (interval, termination) = (Duration::from_secs(1), Termination::never());
        Watch { poll, key: OwnKey, interval, termination, views: Vec::new() }
    }

    /// Outputs of which `key` says the same are the same; the first one comes out.
    #[must_use]
    pub fn with_output_key<O, K: Key, G>(self, key: G) -> Watch<F, G>
    where
        G: Fn(&O) -> K + Clone + Send + 'static,
    {
        let Watch { poll, interval, termination, views, .. } = self;
        Watch { poll, key, interval, termination, views }
    }
}

impl<F, G> Watch<F, G> {
    /// How long to wait after a poll before the next one. A negative time is none.
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Watch<F, G> {
        self.interval = interval;
        self
    }

    /// When to stop, for each element by itself.
    #[must_use]
    pub fn with_termination_per_input(mut self, termination: Termination) -> Watch<F, G> {
        self.termination = termination;
        self
    }

    /// Lets the poll read `view`, by `cx.side`. May be called several times.
    #[must_use]
    pub fn side<V>(mut self, view: &View<V>) -> Watch<F, G> {
        self.views.push(view.untyped());
        self
    }

    #[track_caller]
    fn poll<T, O, K, H>(self, input: &PCollection<T>, key: H) -> PCollection<(T, O)>
    where
        T: Element,
        O: Element,
        K: Key,
        F: Fn(&T, &ProcessContext<'_>) -> Result<PollResult<O>> + Clone + Send + 'static,
        H: Fn(&O) -> K + Clone + Send + 'static,
    {
        let Watch { poll, interval, termination, views, .. } = self;
        let coder = match default_coder::<K>() {
            Ok(coder) => Some(coder),
            Err(e) => {
                input
                    .pipeline()
                    .build_error(format!("the key that tells its outputs apart has no coder: {e}"));
                None
            }
        };
        let poller = Poller { poll, key, coder, interval, termination, types: PhantomData };
        let par_do = views.iter().fold(ParDoSplittable::of(poller), |par_do, view| par_do.side(view));
        input.par_do_splittable_with("Poll", par_do).main()
    }
}

impl<T: Element, O: Key, F> PTransform<PCollection<T>> for Watch<F, OwnKey>
where
    F: Fn(&T, &ProcessContext<'_>) -> Result<PollResult<O>> + Clone + Send + 'static,
{
    type Out = PCollection<(T, O)>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<(T, O)> {
        self.poll(&input, O::clone)
    }
}

impl<T: Element, O: Element, K: Key, F, G> PTransform<PCollection<T>> for Watch<F, G>
where
    F: Fn(&T, &ProcessContext<'_>) -> Result<PollResult<O>> + Clone + Send + 'static,
    G: Fn(&O) -> K + Clone + Send + 'static,
{
    type Out = PCollection<(T, O)>;

    #[track_caller]
    fn expand(self, input: PCollection<T>) -> PCollection<(T, O)> {
        let key = self.key.clone();
        self.poll(&input, key)
    }
}

impl<F, G> fmt::Debug for Watch<F, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch every {} until {}", self.interval, self.termination)
    }
}
