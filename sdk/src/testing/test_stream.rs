//! A source whose elements, watermark and clock are scripted.

use std::{
    fmt,
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    Duration, Element, PCollection, PTransform, Pipeline, Step, Timestamp,
    batch::{AnyBatch, Batch, Meta, Row, WindowSet},
    graph::Op,
    window::{PaneInfo, Window, WindowingStrategy},
};

/// One thing that happens in a [`TestStream`].
pub enum StreamEvent {
    /// Elements arrive.
    Elements(AnyBatch),
    /// The watermark moves.
    Watermark(Timestamp),
    /// Nobody waits for the watermark any more until something comes.
    Idle,
    /// The watermark goes to infinity: nothing more comes.
    End,
    /// Processing time passes.
    Clock(Duration),
    /// The test is told that everything before has been worked off.
    Mark(Arc<dyn Fn() + Send + Sync>),
}

impl fmt::Debug for StreamEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamEvent::Elements(batch) => write!(f, "{} elements", batch.len()),
            StreamEvent::Watermark(at) => write!(f, "Watermark({at})"),
            StreamEvent::Idle => f.write_str("Idle"),
            StreamEvent::End => f.write_str("End"),
            StreamEvent::Clock(by) => write!(f, "Clock({by})"),
            StreamEvent::Mark(_) => f.write_str("Mark"),
        }
    }
}

/// Tells one script from another: the events of one script happen in the order of their places, those of another
/// script after all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScriptId(u64);

impl ScriptId {
    pub(super) fn new() -> ScriptId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        ScriptId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Gives the engine the events of a test stream.
pub trait TestStreamSource: Send + Sync {
    /// The script that the stream is part of.
    fn script(&self) -> ScriptId;
    /// The events, each with its place in the script.
    fn events(&self) -> Vec<(usize, StreamEvent)>;
    /// An empty batch of the stream's element type.
    fn output(&self) -> AnyBatch;
}

/// A source for tests: elements arrive, the watermark moves and processing time passes as scripted, and each event is
/// worked off by the whole pipeline before the next one happens. At the end the watermark goes to infinity.
///
/// ```
/// # use purlin_sdk::{Duration, Pipeline, Timestamp, testing::TestStream};
/// # let p = Pipeline::new();
/// let at = Timestamp::from_secs;
/// let clicks = p.apply(
///     "Clicks",
///     TestStream::new()
///         .element_at("early".to_owned(), at(3))
///         .advance_watermark_to(at(10))
///         .element_at("late".to_owned(), at(4))
///         .advance_processing_time(Duration::from_secs(60)),
/// );
/// ```
/// A pipeline with a test stream runs on the stream's clock, which starts at the epoch. Several test streams in one
/// pipeline run one after another; for several with one script, see [`TestStreams`](super::TestStreams). Source: Beam's
/// `TestStream`.
#[derive(Clone, Debug)]
pub struct TestStream<T> {
    part: Part<T>,
    events: usize,
    bounded: bool,
    errors: Vec<String>,
}

impl<T> Default for TestStream<T> {
    fn default() -> TestStream<T> {
        TestStream { part: Part::new(ScriptId::new()), events: 0, bounded: false, errors: Vec::new() }
    }
}

impl<T: Element> TestStream<T> {
    /// A stream in which nothing happens.
    pub fn new() -> TestStream<T> {
        TestStream::default()
    }

    fn place(&mut self) -> usize {
        self.events += 1;
        self.events - 1
    }

    /// An element arrives, with the watermark as its timestamp.
    #[must_use]
    pub fn element(self, value: T) -> TestStream<T> {
        let at = self.part.watermark;
        self.element_at(value, at)
    }

    /// An element arrives.
    #[must_use]
    pub fn element_at(self, value: T, timestamp: Timestamp) -> TestStream<T> {
        self.elements([(value, timestamp)])
    }

    /// Elements arrive together, as one bundle.
    #[must_use]
    pub fn elements(mut self, values: impl IntoIterator<Item = (T, Timestamp)>) -> TestStream<T> {
        let place = self.place();
        let done = self.part.elements(place, values);
        self.errors.extend(done.err());
        self
    }

    /// The watermark moves on to `watermark`.
    #[must_use]
    pub fn advance_watermark_to(mut self, watermark: Timestamp) -> TestStream<T> {
        let place = self.place();
        let done = self.part.watermark(place, watermark);
        self.errors.extend(done.err());
        self
    }

    /// The stream becomes idle: its watermark stays, and nobody waits for it until the next element or watermark.
    #[must_use]
    pub fn idle(mut self) -> TestStream<T> {
        let place = self.place();
        let done = self.part.idle(place);
        self.errors.extend(done.err());
        self
    }

    /// Processing time passes.
    #[must_use]
    pub fn advance_processing_time(mut self, by: Duration) -> TestStream<T> {
        let place = self.place();
        let done = self.part.clock(place, by);
        self.errors.extend(done.err());
        self
    }

    /// Calls `told` once everything before has been worked off, so that a test can tell what came of which event. It
    /// holds up the run: it should only note something.
    ///
    /// ```
    /// # use std::sync::{Arc, atomic::{AtomicI64, Ordering}};
    /// # use purlin_sdk::{Pipeline, Timestamp, testing::TestStream};
    /// # let p = Pipeline::new();
    /// let events = Arc::new(AtomicI64::new(0));
    /// let (counter, seen) = (events.clone(), events);
    /// p.apply(
    ///     "Clicks",
    ///     TestStream::new().element(1).mark(move || { counter.fetch_add(1, Ordering::SeqCst); }).element(2),
    /// )
    /// .map("Number", move |click| (click, seen.load(Ordering::SeqCst)));
    /// ```
    #[must_use]
    pub fn mark(mut self, told: impl Fn() + Send + Sync + 'static) -> TestStream<T> {
        let place = self.place();
        self.part.mark(place, told);
        self
    }

    /// Lets the stream count as one that has an end, so that the global window may be grouped.
    #[must_use]
    pub fn bounded(mut self) -> TestStream<T> {
        self.bounded = true;
        self
    }
}

impl<T: Element> PTransform<Pipeline> for TestStream<T> {
    type Out = PCollection<T>;

    #[track_caller]
    fn expand(self, pipeline: Pipeline) -> PCollection<T> {
        let step: Step = pipeline.name("Stream", Location::caller());
        for error in &self.errors {
            pipeline.error(&step, error.clone());
        }
        self.part.add_to(&pipeline, step, self.bounded)
    }
}

/// One stream of a script.
#[derive(Clone, Debug)]
pub(super) struct Part<T> {
    script: ScriptId,
    events: Vec<(usize, Event<T>)>,
    watermark: Timestamp,
}

#[derive(Clone)]
enum Event<T> {
    Elements(Vec<(T, Timestamp)>),
    Watermark(Timestamp),
    Idle,
    End,
    Clock(Duration),
    Mark(Arc<dyn Fn() + Send + Sync>),
}

impl<T> fmt::Debug for Event<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Elements(values) => write!(f, "{} elements", values.len()),
            Event::Watermark(at) => write!(f, "Watermark({at})"),
            Event::Idle => f.write_str("Idle"),
            Event::End => f.write_str("End"),
            Event::Clock(by) => write!(f, "Clock({by})"),
            Event::Mark(_) => f.write_str("Mark"),
        }
    }
}

impl<T> Part<T> {
    pub(super) fn new(script: ScriptId) -> Part<T> {
        Part { script, events: Vec::new(), watermark: Timestamp::MIN }
    }

    pub(super) fn watermark(&mut self, place: usize, watermark: Timestamp) -> Result<(), String> {
        let before = std::mem::replace(&mut self.watermark, watermark);
        self.events.push((place, Event::Watermark(watermark)));
        if watermark < before {
            return Err(format!("the watermark cannot go back from {before} to {watermark}"));
        }
        if watermark >= Timestamp::MAX {
            return Err("the watermark goes to infinity by itself, at the end of the stream".to_owned());
        }
        Ok(())
    }

    pub(super) fn idle(&mut self, place: usize) -> Result<(), String> {
        self.events.push((place, Event::Idle));
        match self.watermark {
            Timestamp::MAX => Err("a stream that has ended cannot be idle".to_owned()),
            _ => Ok(()),
        }
    }

    pub(super) fn end(&mut self, place: usize) -> Result<(), String> {
        self.events.push((place, Event::End));
        match std::mem::replace(&mut self.watermark, Timestamp::MAX) {
            Timestamp::MAX => Err("a stream ends only once".to_owned()),
            _ => Ok(()),
        }
    }

    pub(super) fn clock(&mut self, place: usize, by: Duration) -> Result<(), String> {
        self.events.push((place, Event::Clock(by)));
        match by > Duration::ZERO {
            true => Ok(()),
            false => Err(format!("processing time can only go forward, not by {by}")),
        }
    }

    pub(super) fn mark(&mut self, place: usize, told: impl Fn() + Send + Sync + 'static) {
        self.events.push((place, Event::Mark(Arc::new(told))));
    }
}

impl<T: Element> Part<T> {
    pub(super) fn elements(
        &mut self,
        place: usize,
        values: impl IntoIterator<Item = (T, Timestamp)>,
    ) -> Result<(), String> {
        let values: Vec<_> = values.into_iter().collect();
        let beyond = values.iter().find(|(_, at)| *at >= Timestamp::MAX).map(|(_, at)| *at);
        self.events.push((place, Event::Elements(values)));
        if let Some(at) = beyond {
            return Err(format!("an element cannot have the timestamp {at}: time ends there"));
        }
        if self.watermark >= Timestamp::MAX {
            return Err("elements cannot arrive in a stream that has ended".to_owned());
        }
        Ok(())
    }

    pub(super) fn add_to(self, pipeline: &Pipeline, step: Step, bounded: bool) -> PCollection<T> {
        let node = pipeline.add(step, vec![], Op::TestStream(Arc::new(self)));
        pipeline.output(node, WindowingStrategy::global(), bounded)
    }
}

impl<T: Element> TestStreamSource for Part<T> {
    fn script(&self) -> ScriptId {
        self.script
    }

    fn events(&self) -> Vec<(usize, StreamEvent)> {
        let erase = |(place, event): &(usize, Event<T>)| {
            let event = match event {
                Event::Elements(values) => StreamEvent::Elements(batch_of(values)),
                Event::Watermark(at) => StreamEvent::Watermark(*at),
                Event::Idle => StreamEvent::Idle,
                Event::End => StreamEvent::End,
                Event::Clock(by) => StreamEvent::Clock(*by),
                Event::Mark(told) => StreamEvent::Mark(told.clone()),
            };
            (*place, event)
        };
        self.events.iter().map(erase).collect()
    }

    fn output(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}

fn batch_of<T: Element>(values: &[(T, Timestamp)]) -> AnyBatch {
    let mut batch = Batch::default();
    for (value, at) in values {
        let meta = Meta::constant(*at, WindowSet::One(Window::Global), PaneInfo::NO_FIRING);
        batch.push(value.clone(), Row::of(&meta, 0));
    }
    Box::new(batch)
}
