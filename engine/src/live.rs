//! Live streams: what happens in them is told while the pipeline runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use purlin_sdk::{
    BuildError, BuildErrors, Clock, PipelineError, RunShared, Timestamp,
    live::{LiveEvent, LiveScript},
};

use crate::{Engine, Plan, StageId, plan::Root, progress::Held, state::Item};

/// The live streams of a pipeline.
#[derive(Debug)]
pub(crate) struct Live {
    script: Arc<LiveScript>,
    /// By their numbers.
    stages: BTreeMap<usize, StageId>,
    watermark: Timestamp,
    /// Whether the script ended the run.
    stopped: bool,
}

impl Live {
    /// Nothing, when there is none.
    ///
    /// # Errors
    /// When the streams are those of several scripts.
    pub(crate) fn new(plan: &Plan) -> Result<Option<Live>, BuildErrors> {
        let mut live: Option<Live> = None;
        let mut errors = Vec::new();
        for (i, stage) in plan.stages.iter().enumerate() {
            let Root::Live(stream) = &stage.root else { continue };
            let live = live.get_or_insert_with(|| Live {
                script: stream.script.clone(),
                stages: BTreeMap::new(),
                watermark: Timestamp::MIN,
                stopped: false,
            });
            if !Arc::ptr_eq(&live.script, &stream.script) {
                let why = "another script feeds it than the other live streams, and a pipeline lives on the time of one: \
                           make all of them from one script";
                errors.push(BuildError::new(stage.step.clone(), why));
            } else if live.stages.insert(stream.number, StageId(i)).is_some() {
                let why = format!("another live stream has its number, {}: give each its own", stream.number);
                errors.push(BuildError::new(stage.step.clone(), why));
            }
        }
        BuildErrors::check(errors)?;
        Ok(live)
    }

    pub(crate) fn script(&self) -> &Arc<LiveScript> {
        &self.script
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    pub(crate) fn watermark(&self) -> Timestamp {
        self.watermark
    }

    /// Goes on from there.
    pub(crate) fn resume(&mut self, watermark: Timestamp) {
        self.watermark = watermark;
    }
}

impl Engine {
    /// To be called when the run has begun: from then on its live streams are fed, if it has any.
    ///
    /// # Errors
    /// When there is nobody to feed them.
    pub fn go_live(&self, run: &Arc<RunShared>) -> Result<(), PipelineError> {
        self.live.as_ref().map_or(Ok(()), |live| live.script.attach(run))
    }

    /// Takes the next event of the live streams; whether there was one.
    pub(crate) fn next_live(&mut self) -> bool {
        let quiet = self.is_quiet() && self.finalizing == 0;
        let Some(live) = &mut self.live else { return false };
        let Some(event) = live.script.next(quiet) else { return false };
        match event {
            LiveEvent::Elements(number, batch) => {
                let Some(stage) = live.stages.get(&number).copied() else {
                    let streams = live.stages.len();
                    let what = format!(
                        "elements came for live stream {number}, and the pipeline has {streams} others"
                    );
                    self.fail(PipelineError::runner(what));
                    return true;
                };
                if !batch.is_empty() {
                    let item = Item::elements(batch);
                    self.waiting_bytes += item.bytes;
                    self.stages[stage.0].push(item);
                    self.ready.insert(stage);
                }
            }
            LiveEvent::Watermark(to) => {
                let from = live.watermark;
                let to = to.max(from);
                live.watermark = to;
                let stages: BTreeSet<StageId> = live.stages.values().copied().collect();
                for stage in &stages {
                    let progress = &mut self.stages[stage.0].progress;
                    progress.open(Held::at(to, to));
                    progress.close(Held::at(from, from));
                }
                self.propagate(stages);
            }
            LiveEvent::Clock(to) => {
                let clock = live.script.clock();
                clock.set(to.max(clock.now()));
                let now = clock.now();
                self.advance_clock(now);
            }
            LiveEvent::Snapshot(told) => match self.snapshot() {
                Ok(snapshot) => told(snapshot.to_bytes()),
                Err(error) => self.fail(error),
            },
            LiveEvent::Fail(error) => self.fail(error),
            LiveEvent::Stop => {
                live.stopped = true;
                self.stop_bundles();
            }
        }
        true
    }

    /// To be called when what [`commit`](Self::commit) returned has been called, if there was anything.
    pub fn finalized(&mut self) {
        self.finalizing = self.finalizing.saturating_sub(1);
    }

    /// Tells the script that the run is over.
    pub(crate) fn end_live(&self) {
        if let Some(live) = &self.live {
            live.script.end();
        }
    }

    /// Whether the run ends where it is.
    pub(crate) fn is_stopped(&self) -> bool {
        self.live.as_ref().is_some_and(Live::is_stopped)
    }
}
