//! From a collection to a query.

use std::{
    collections::BTreeMap,
    fmt,
    panic::Location,
    path::{Path, PathBuf},
    sync::Arc,
};

use purlin_sdk::{
    BuildError, ClockRef, Element, PCollection, PipelineError, Result, Runner, Step, SystemClock,
};

use super::{
    OutputMode, QueryContext, QueryTrigger, StreamSink, StreamingQuery, WatermarkPolicy,
    checkpoint::Checkpoint,
    collect::Collect,
    driver::{Driver, Position},
    query::QueryShared,
    settings::Settings,
    sinks::{ForEach, ForEachBatch},
};

/// `write_stream()` on collections.
pub trait WriteStream<T> {
    /// The result of a streaming query: say where it goes and how, and start it. Source: Spark's `writeStream`.
    fn write_stream(&self) -> StreamWriter<T>;
}

impl<T: Element> WriteStream<T> for PCollection<T> {
    fn write_stream(&self) -> StreamWriter<T> {
        StreamWriter {
            result: self.clone(),
            sink: None,
            settings: Settings {
                name: None,
                mode: OutputMode::Append,
                trigger: QueryTrigger::default(),
                policy: WatermarkPolicy::default(),
                checkpoint: None,
                no_data_epochs: true,
                kept_progress: 100,
                clock: Arc::new(SystemClock),
            },
        }
    }
}

/// Says how a query's result is shown, when, and where.
#[must_use = "a query does nothing before it is started"]
pub struct StreamWriter<T> {
    result: PCollection<T>,
    sink: Option<Box<dyn StreamSink<T>>>,
    settings: Settings,
}

impl<T: Element> StreamWriter<T> {
    /// What of the result an epoch shows; [`OutputMode::Append`] unless said otherwise.
    pub fn output_mode(mut self, mode: OutputMode) -> StreamWriter<T> {
        self.settings.mode = mode;
        self
    }

    /// When epochs begin; as soon as there is something to do unless said otherwise.
    pub fn trigger(mut self, trigger: QueryTrigger) -> StreamWriter<T> {
        self.settings.trigger = trigger;
        self
    }

    /// The query's name, in progress and logs.
    pub fn query_name(mut self, name: impl Into<String>) -> StreamWriter<T> {
        self.settings.name = Some(name.into());
        self
    }

    /// A folder in which the query writes down where it is, so that it goes on there when it is started again.
    pub fn checkpoint_location(mut self, dir: impl Into<PathBuf>) -> StreamWriter<T> {
        self.settings.checkpoint = Some(dir.into());
        self
    }

    /// What the watermark is when there are several `with_watermark`.
    pub fn watermark_policy(mut self, policy: WatermarkPolicy) -> StreamWriter<T> {
        self.settings.policy = policy;
        self
    }

    /// Whether an epoch runs without data when the watermark has moved and something can be closed by it. On unless said
    /// otherwise.
    pub fn no_data_epochs(mut self, on: bool) -> StreamWriter<T> {
        self.settings.no_data_epochs = on;
        self
    }

    /// How many progress reports [`recent_progress`](StreamingQuery::recent_progress) keeps; 100 unless said otherwise.
    pub fn recent_progress(mut self, reports: usize) -> StreamWriter<T> {
        self.settings.kept_progress = reports.max(1);
        self
    }

    /// The clock that triggers go by; the machine's unless said otherwise.
    pub fn clock(mut self, clock: ClockRef) -> StreamWriter<T> {
        self.settings.clock = clock;
        self
    }

    /// Where the result goes.
    pub fn sink(mut self, sink: impl StreamSink<T>) -> StreamWriter<T> {
        self.sink = Some(Box::new(sink));
        self
    }

    /// Calls `f` on the rows of each epoch, with the epoch's number. An epoch whose end was not noted is given again,
    /// with the same number and the same rows: remember the last number with what you write.
    pub fn for_each_batch(self, f: impl FnMut(Vec<T>, u64) -> Result + Send + 'static) -> StreamWriter<T> {
        self.sink(ForEachBatch::new(f))
    }

    /// Calls `f` on each row.
    pub fn for_each(self, f: impl FnMut(T) -> Result + Send + 'static) -> StreamWriter<T> {
        self.sink(ForEach::new(f))
    }

    /// Declares the query: it starts when the pipeline is run. For pipelines that are launched as a program; everything
    /// that is wrong with the query is told then.
    #[track_caller]
    pub fn declare(self) -> StreamingQuery {
        let StreamWriter { result, sink, mut settings } = self;
        let pipeline = result.pipeline().clone();
        let cx = QueryContext::of(&pipeline);
        let opened = settings
            .checkpoint
            .as_deref()
            .map(|dir| Opened::at(dir, &settings, cx.operators().settings()))
            .transpose();
        let opened = opened.unwrap_or_else(|e| {
            pipeline.build_error(e.to_string());
            None
        });
        let Opened { checkpoint, id, at, state } = opened.unwrap_or_default();
        // A query goes on by the policy that it began with.
        settings.policy = at.policy.unwrap_or(settings.policy);
        state.into_iter().for_each(|state| cx.script().go_on_from(state));
        let query = QueryShared::new(
            id,
            settings.name.clone(),
            cx.script().clone(),
            settings.clock.clone(),
            settings.kept_progress,
        );
        let (mode, trigger) = (settings.mode, settings.trigger);
        let id = result.id();
        if cx.declare() {
            pipeline.build_error(
                "it has a streaming query already: build another pipeline for another query, or give the rows of this \
                 one to several places in `for_each_batch`",
            );
        }
        result.par_do("WriteStream", Collect::new(cx.clone()));
        let step = Step::new("WriteStream", Location::caller());
        let mut wrong = Vec::new();
        match &sink {
            None => wrong.push("it has no sink: say `for_each_batch`, `for_each` or `sink`".to_owned()),
            Some(sink) => wrong.extend(sink.refuses(mode, trigger)),
        }
        wrong.extend(trigger.refused());
        let wrong: Vec<_> = wrong.into_iter().map(|why| BuildError::new(step.clone(), why)).collect();
        let looked_at = cx.clone();
        pipeline.check(move |graph| {
            let mut errors = wrong.clone();
            errors.extend(looked_at.check(graph, id, mode, trigger));
            errors
        });
        if let Some(sink) = sink {
            let driver = Driver {
                feeds: cx.take_sources(),
                sink,
                sink_step: step,
                settings,
                query: query.clone(),
                checkpoint,
                at,
                calling: None,
                cx: cx.clone(),
            };
            cx.script().drive(move |run| driver.run(&run));
        }
        StreamingQuery(query)
    }

    /// Declares the query and starts the pipeline on `runner`.
    ///
    /// # Errors
    /// What is wrong with the query, all at once: an output mode that does not fit what it does, with the reason and the
    /// modes that do.
    #[track_caller]
    pub fn start(self, runner: &dyn Runner) -> Result<StreamingQuery, PipelineError> {
        let pipeline = self.result.pipeline().clone();
        let query = self.declare();
        pipeline.run_on(runner)?;
        Ok(query)
    }
}

/// A checkpoint location, and what was found there.
struct Opened {
    checkpoint: Option<Checkpoint>,
    id: String,
    at: Position,
    state: Option<Vec<u8>>,
}

impl Default for Opened {
    /// A query without one.
    fn default() -> Opened {
        let id = uuid::Uuid::new_v4().to_string();
        Opened { checkpoint: None, id, at: Position::start(), state: None }
    }
}

impl Opened {
    fn at(
        dir: &Path,
        settings: &Settings,
        operators: BTreeMap<String, String>,
    ) -> Result<Opened, PipelineError> {
        let (mut checkpoint, id) = Checkpoint::open(dir, operators)?;
        let (at, state) = checkpoint.resume(settings)?.unwrap_or((Position::start(), None));
        Ok(Opened { checkpoint: Some(checkpoint), id, at, state })
    }
}

impl<T> fmt::Debug for StreamWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("mode", &self.settings.mode).finish_non_exhaustive()
    }
}
