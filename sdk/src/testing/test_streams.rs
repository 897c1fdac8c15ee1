//! Several scripted sources with one order of events.

use std::{any::Any, fmt, panic::Location};

use super::test_stream::{Part, ScriptId};
use crate::{
    Duration, Element, PCollection, PTransform, Pipeline, Step, Tag, Timestamp, graph::Op,
    window::WindowingStrategy,
};

/// Several test streams under one script: each has elements and a watermark of its own, processing time is common, and
/// each event is worked off by the whole pipeline before the next one happens, in whichever stream that is.
///
/// ```
/// # use purlin_sdk::{Duration, Pipeline, Tag, Timestamp, testing::TestStreams};
/// const CLICKS: Tag<String> = Tag::new("clicks");
/// const PRICES: Tag<i64> = Tag::new("prices");
///
/// # let p = Pipeline::new();
/// let at = Timestamp::from_secs;
/// let streams = p.apply(
///     "Streams",
///     TestStreams::new()
///         .stream(CLICKS)
///         .stream(PRICES)
///         .elements(CLICKS, [("home".to_owned(), at(3))])
///         .elements(PRICES, [(7, at(2))])
///         .advance_watermark_to(CLICKS, at(10))
///         .advance_processing_time(Duration::from_secs(60))
///         .end(PRICES)
///         .elements(CLICKS, [("late".to_owned(), at(4))]),
/// );
/// let (clicks, prices) = (streams.tagged(CLICKS), streams.tagged(PRICES));
/// # let _ = (clicks, prices);
/// ```
/// At the end of the script all watermarks go to infinity. Source: Beam's `TestStream` with output tags.
pub struct TestStreams {
    script: ScriptId,
    streams: Vec<Stream>,
    // Of no type: what happens in no stream.
    common: Part<()>,
    events: usize,
    bounded: bool,
    errors: Vec<String>,
}

/// Adds a part to the pipeline and gives its collection, type-erased.
type AddPart = fn(Box<dyn Any + Send>, &Pipeline, Step, bool) -> Option<Box<dyn Any>>;

struct Stream {
    name: &'static str,
    /// A `Part` of the tag's type.
    part: Box<dyn Any + Send>,
    advance: fn(&mut dyn Any, usize, Advance) -> Result<(), String>,
    add: AddPart,
}

/// What may happen to a watermark.
enum Advance {
    To(Timestamp),
    Idle,
    End,
}

fn advance<T: Element>(part: &mut dyn Any, place: usize, how: Advance) -> Result<(), String> {
    let Some(part) = part.downcast_mut::<Part<T>>() else { return Ok(()) };
    match how {
        Advance::To(to) => part.watermark(place, to),
        Advance::Idle => part.idle(place),
        Advance::End => part.end(place),
    }
}

fn add<T: Element>(
    part: Box<dyn Any + Send>,
    pipeline: &Pipeline,
    step: Step,
    bounded: bool,
) -> Option<Box<dyn Any>> {
    let part = part.downcast::<Part<T>>().ok()?;
    Some(Box::new(part.add_to(pipeline, step, bounded)))
}

impl Default for TestStreams {
    fn default() -> TestStreams {
        TestStreams::new()
    }
}

impl TestStreams {
    /// A script without streams.
    pub fn new() -> TestStreams {
        let script = ScriptId::new();
        TestStreams {
            script,
            streams: Vec::new(),
            common: Part::new(script),
            events: 0,
            bounded: false,
            errors: Vec::new(),
        }
    }

    /// Adds a stream, by the name of the tag.
    #[must_use]
    pub fn stream<T: Element>(mut self, tag: Tag<T>) -> TestStreams {
        let name = tag.name();
        if self.streams.iter().any(|s| s.name == name) {
            self.errors.push(format!("the stream `{name}` is there twice"));
        }
        let part = Box::new(Part::<T>::new(self.script));
        self.streams.push(Stream { name, part, advance: advance::<T>, add: add::<T> });
        self
    }

    fn place(&mut self) -> usize {
        self.events += 1;
        self.events - 1
    }

    fn find(&mut self, name: &str) -> Option<&mut Stream> {
        let at = self.streams.iter().position(|s| s.name == name);
        if at.is_none() {
            self.errors.push(format!("there is no stream `{name}`: add it first by `.stream(..)`"));
        }
        self.streams.get_mut(at?)
    }

    /// Elements arrive in a stream together, as one bundle.
    #[must_use]
    pub fn elements<T: Element>(
        mut self,
        tag: Tag<T>,
        values: impl IntoIterator<Item = (T, Timestamp)>,
    ) -> TestStreams {
        let place = self.place();
        let Some(stream) = self.find(tag.name()) else { return self };
        let done = match stream.part.downcast_mut::<Part<T>>() {
            Some(part) => part.elements(place, values),
            None => Err(format!("the stream `{}` has elements of another type", tag.name())),
        };
        self.errors.extend(done.err());
        self
    }

    /// The watermark of a stream moves on to `watermark`.
    #[must_use]
    pub fn advance_watermark_to<T: Element>(self, tag: Tag<T>, watermark: Timestamp) -> TestStreams {
        self.advance(tag.name(), Advance::To(watermark))
    }

    /// A stream becomes idle: its watermark stays, and nobody waits for it until its next element or watermark.
    #[must_use]
    pub fn idle<T: Element>(self, tag: Tag<T>) -> TestStreams {
        self.advance(tag.name(), Advance::Idle)
    }

    /// A stream ends: its watermark goes to infinity.
    #[must_use]
    pub fn end<T: Element>(self, tag: Tag<T>) -> TestStreams {
        self.advance(tag.name(), Advance::End)
    }

    fn advance(mut self, name: &str, how: Advance) -> TestStreams {
        let place = self.place();
        let Some(stream) = self.find(name) else { return self };
        let done = (stream.advance)(&mut *stream.part, place, how);
        self.errors.extend(done.err());
        self
    }

    /// Processing time passes.
    #[must_use]
    pub fn advance_processing_time(mut self, by: Duration) -> TestStreams {
        let place = self.place();
        let done = self.common.clock(place, by);
        self.errors.extend(done.err());
        self
    }

    /// Calls `told` once everything before has been worked off, as [`TestStream::mark`](super::TestStream::mark) does.
    #[must_use]
    pub fn mark(mut self, told: impl Fn() + Send + Sync + 'static) -> TestStreams {
        let place = self.place();
        self.common.mark(place, told);
        self
    }

    /// Lets the streams count as such that have an end, so that the global window may be grouped.
    #[must_use]
    pub fn bounded(mut self) -> TestStreams {
        self.bounded = true;
        self
    }
}

impl PTransform<Pipeline> for TestStreams {
    type Out = TestStreamOutputs;

    #[track_caller]
    fn expand(self, pipeline: Pipeline) -> TestStreamOutputs {
        let step = pipeline.name("Script", Location::caller());
        for error in &self.errors {
            pipeline.error(&step, error.clone());
        }
        self.common.add_to(&pipeline, step.clone(), true);
        let mut streams = Vec::new();
        for stream in self.streams {
            let step = pipeline.name(stream.name, Location::caller());
            streams
                .extend((stream.add)(stream.part, &pipeline, step, self.bounded).map(|pc| (stream.name, pc)));
        }
        TestStreamOutputs { pipeline, step, streams }
    }
}

impl fmt::Debug for TestStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.streams.iter().map(|s| s.name);
        write!(f, "{} events in ", self.events)?;
        f.debug_list().entries(names).finish()
    }
}

/// The collections of [`TestStreams`].
pub struct TestStreamOutputs {
    pipeline: Pipeline,
    step: Step,
    streams: Vec<(&'static str, Box<dyn Any>)>,
}

impl TestStreamOutputs {
    /// The collection of the stream `tag`. One that is not in the script, or has elements of another type, is a build
    /// error.
    #[track_caller]
    pub fn tagged<T: Element>(&self, tag: Tag<T>) -> PCollection<T> {
        let named = self.streams.iter().find(|(name, _)| *name == tag.name());
        if let Some(pc) = named.and_then(|(_, pc)| pc.downcast_ref::<PCollection<T>>()) {
            return pc.clone();
        }
        let at = Step::new(self.step.path(), Location::caller());
        let what = match named {
            Some(_) => "has elements of another type",
            None => "is not in the script: add it by `.stream(..)`",
        };
        self.pipeline.error(&at, format!("the stream `{}` {what}", tag.name()));
        // A stand-in, so that building goes on and finds what else is wrong.
        let step = Step::new(format!("{}/{}", self.step.path(), tag.name()), Location::caller());
        let node = self.pipeline.add(step, vec![], Op::Impulse);
        self.pipeline.output(node, WindowingStrategy::global(), true)
    }
}

impl fmt::Debug for TestStreamOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "streams of {}", self.step)
    }
}
