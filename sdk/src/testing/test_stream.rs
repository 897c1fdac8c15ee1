//! A source whose elements, watermark and clock are scripted.

use std::{panic::Location, sync::Arc};

use crate::{
    Duration, Element, PCollection, PTransform, Pipeline, Step, Timestamp,
    batch::{AnyBatch, Batch, Meta, Row, WindowSet},
    graph::Op,
    window::{PaneInfo, Window, WindowingStrategy},
};

/// One thing that happens in a [`TestStream`].
#[derive(Debug)]
pub enum StreamEvent {
    /// Elements arrive.
    Elements(AnyBatch),
    /// The watermark moves.
    Watermark(Timestamp),
    /// Processing time passes.
    Clock(Duration),
}

/// Gives the engine the events of a test stream.
pub trait TestStreamSource: Send + Sync {
    /// The events, in their order.
    fn events(&self) -> Vec<StreamEvent>;
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
/// A pipeline with a test stream runs on the stream's clock, which starts at the epoch. Source: Beam's `TestStream`.
#[derive(Clone, Debug)]
pub struct TestStream<T> {
    events: Vec<Event<T>>,
    watermark: Timestamp,
    errors: Vec<String>,
}

#[derive(Clone, Debug)]
enum Event<T> {
    Elements(Vec<(T, Timestamp)>),
    Watermark(Timestamp),
    Clock(Duration),
}

impl<T> Default for TestStream<T> {
    fn default() -> TestStream<T> {
        TestStream { events: Vec::new(), watermark: Timestamp::MIN, errors: Vec::new() }
    }
}

impl<T: Element> TestStream<T> {
    /// A stream in which nothing happens.
    pub fn new() -> TestStream<T> {
        TestStream::default()
    }

    /// An element arrives, with the watermark as its timestamp.
    #[must_use]
    pub fn element(self, value: T) -> TestStream<T> {
        let at = self.watermark;
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
        let values: Vec<_> = values.into_iter().collect();
        if let Some((_, at)) = values.iter().find(|(_, at)| *at >= Timestamp::MAX) {
            self.errors.push(format!("an element cannot have the timestamp {at}: time ends there"));
        }
        self.events.push(Event::Elements(values));
        self
    }

    /// The watermark moves on to `watermark`.
    #[must_use]
    pub fn advance_watermark_to(mut self, watermark: Timestamp) -> TestStream<T> {
        if watermark < self.watermark {
            self.errors.push(format!("the watermark cannot go back from {} to {watermark}", self.watermark));
        }
        if watermark >= Timestamp::MAX {
            self.errors.push("the watermark goes to infinity by itself, at the end of the stream".to_owned());
        }
        self.watermark = watermark;
        self.events.push(Event::Watermark(watermark));
        self
    }

    /// Processing time passes.
    #[must_use]
    pub fn advance_processing_time(mut self, by: Duration) -> TestStream<T> {
        if by <= Duration::ZERO {
            self.errors.push(format!("processing time can only go forward, not by {by}"));
        }
        self.events.push(Event::Clock(by));
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
        let node = pipeline.add(step, vec![], Op::TestStream(Arc::new(self)));
        pipeline.output(node, WindowingStrategy::global(), false)
    }
}

impl<T: Element> TestStreamSource for TestStream<T> {
    fn events(&self) -> Vec<StreamEvent> {
        let erase = |event: &Event<T>| match event {
            Event::Watermark(at) => StreamEvent::Watermark(*at),
            Event::Clock(by) => StreamEvent::Clock(*by),
            Event::Elements(values) => {
                let mut batch = Batch::default();
                for (value, at) in values {
                    let meta = Meta::constant(*at, WindowSet::One(Window::Global), PaneInfo::NO_FIRING);
                    batch.push(value.clone(), Row::of(&meta, 0));
                }
                StreamEvent::Elements(Box::new(batch))
            }
        };
        self.events.iter().map(erase).collect()
    }

    fn output(&self) -> AnyBatch {
        Box::new(Batch::<T>::default())
    }
}
