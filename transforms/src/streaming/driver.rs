//! What moves a query from epoch to epoch.

mod continuous;
mod epoch;
mod report;
mod triggers;

use std::{any::Any, sync::Arc};

use purlin_sdk::{
    Clock, DoFnError, Duration, Phase, PipelineError, RunHandle, Step, Timestamp, live::LiveEvent,
};

use super::{
    Epoch, Offset, QueryContext, StreamSink, WatermarkPolicy,
    checkpoint::{Checkpoint, EpochLog},
    feed::Feed,
    query::QueryShared,
    settings::Settings,
};

/// Runs on a thread of its own, and tells the pipeline what happens.
pub(crate) struct Driver<T> {
    pub(super) cx: QueryContext,
    pub(super) feeds: Vec<Feed>,
    pub(super) sink: Box<dyn StreamSink<T>>,
    pub(super) sink_step: Step,
    pub(super) settings: Settings,
    pub(super) query: Arc<QueryShared>,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) at: Position,
    /// Whose code is at work.
    pub(super) calling: Option<(Step, Phase)>,
}

/// Where a query is between two epochs.
#[derive(Debug)]
pub(super) struct Position {
    /// The number of the next epoch.
    pub(super) next: u64,
    /// Where each source is.
    pub(super) offsets: Vec<Offset>,
    /// The watermark that the next epoch closes by.
    pub(super) watermark: Timestamp,
    /// The one that the epoch before closed by: by this the next epoch's rows are late.
    pub(super) before: Timestamp,
    /// Whether an epoch has run since the query was started.
    pub(super) ran: bool,
    /// An epoch that was begun before a restart and not done.
    pub(super) again: Option<EpochLog>,
    /// The policy that the query began with, when it goes on.
    pub(super) policy: Option<WatermarkPolicy>,
    /// How far the pipeline's clock was: it runs ahead of the query's, by what epochs let pass, and does not go back.
    pub(super) clock: Timestamp,
    /// When the trigger before was.
    pub(super) last_trigger: Option<Timestamp>,
}

impl Position {
    pub(super) fn start() -> Position {
        Position {
            next: 0,
            offsets: Vec::new(),
            watermark: Timestamp::EPOCH,
            before: Timestamp::EPOCH,
            ran: false,
            again: None,
            policy: None,
            clock: Timestamp::MIN,
            last_trigger: None,
        }
    }
}

/// Why a driver stops before its time.
pub(super) enum Halt {
    /// The pipeline's run is over: it says why.
    RunOver,
    /// Something outside of the pipeline failed.
    Failed(PipelineError),
}

impl From<PipelineError> for Halt {
    fn from(error: PipelineError) -> Halt {
        Halt::Failed(error)
    }
}

/// What a part of the driver's work comes to.
pub(super) type Driven<R = ()> = Result<R, Halt>;

impl<T: Send + 'static> Driver<T> {
    /// Drives the query until it ends.
    pub(crate) fn run(mut self, run: &RunHandle) {
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.work()))
            .unwrap_or_else(|payload| Err(Halt::Failed(self.panicked(&*payload))));
        let failure = match worked {
            Ok(()) => None,
            Err(Halt::RunOver) => None,
            Err(Halt::Failed(error)) => Some(error),
        };
        let script = self.cx.script().clone();
        script.tell(failure.clone().map_or(LiveEvent::Stop, LiveEvent::Fail));
        let ended = run.wait();
        for feed in &mut self.feeds {
            feed.source.stop();
        }
        self.sink.close();
        // Before the end is told: who waits for it may start the query again.
        self.checkpoint = None;
        let end = match (failure, ended) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(_)) => Ok(()),
        };
        self.query.end(end);
    }

    fn work(&mut self) -> Driven {
        self.query.begin();
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.lock()?;
        }
        self.calls(self.sink_step.clone(), Phase::Sink);
        self.sink.open().map_err(|e| self.sink_failed(e))?;
        self.called();
        self.catch_up();
        self.begin()?;
        self.run_trigger()
    }

    /// Where it begins when it does not go on from a checkpoint.
    fn begin(&mut self) -> Driven {
        if self.at.offsets.is_empty() {
            for feed in &mut self.feeds {
                self.calling = Some((feed.step.clone(), Phase::Source));
                let first = feed.source.initial_offset().map_err(|e| feed_failed(&feed.step, e))?;
                self.at.offsets.push(first);
            }
            self.called();
        }
        let known = self.at.offsets.len();
        if known != self.feeds.len() {
            return Err(Halt::Failed(PipelineError::runner(format!(
                "the checkpoint location is of a query with {known} sources, and this one has {}; a changed query needs \
                 another checkpoint location",
                self.feeds.len()
            ))));
        }
        Ok(())
    }

    /// Brings the pipeline's clock to the query's.
    pub(super) fn catch_up(&self) -> Timestamp {
        let script = self.cx.script();
        let now = self.settings.clock.now().max(self.at.clock);
        // Told by the time and not by how far it is: what was told before may not have been worked off.
        script.tell(LiveEvent::Clock(now));
        script.clock().now().max(now)
    }

    /// Waits until the pipeline has worked off all that it was told.
    pub(super) fn settle(&self) -> Driven {
        if self.cx.script().settle() { Ok(()) } else { Err(Halt::RunOver) }
    }

    /// Lets a millisecond of processing time pass as often as an operator may wait for another one.
    pub(super) fn tick(&self, epoch: Epoch) -> Driven {
        for tick in 1..=self.cx.stateful_operators() + 1 {
            self.cx.set_epoch(Epoch { tick, ..epoch });
            let script = self.cx.script();
            script.tell(LiveEvent::Clock(script.clock().now() + Duration::from_millis(1)));
            self.settle()?;
        }
        Ok(())
    }

    pub(super) fn is_ending(&self) -> bool {
        self.query.is_stopping() || self.cx.script().is_draining()
    }

    /// From here on it is code of a sink or a source that is at work, so that a panic is told to be its own.
    pub(super) fn calls(&mut self, step: Step, phase: Phase) {
        self.calling = Some((step, phase));
    }

    pub(super) fn called(&mut self) {
        self.calling = None;
    }

    fn panicked(&mut self, payload: &(dyn Any + Send)) -> PipelineError {
        let (step, phase) = self.calling.take().unzip();
        PipelineError::panic(step, phase, payload)
    }

    /// Gives rows to the sink.
    pub(super) fn give(&mut self, epoch: u64, rows: Vec<T>) -> Driven {
        self.calls(self.sink_step.clone(), Phase::Sink);
        self.sink.add(epoch, rows, self.settings.mode).map_err(|e| self.sink_failed(e))?;
        self.called();
        Ok(())
    }

    pub(super) fn sink_failed(&self, error: DoFnError) -> PipelineError {
        PipelineError::user(self.sink_step.clone(), Phase::Sink, error)
    }
}

pub(super) fn feed_failed(step: &Step, error: DoFnError) -> PipelineError {
    PipelineError::user(step.clone(), Phase::Source, error)
}
