//! Test streams: each event happens when the pipeline is quiescent.

use std::collections::{BTreeSet, VecDeque};

use purlin_sdk::{Clock, ManualClock, Timestamp, testing::StreamEvent};

use crate::{Engine, Plan, StageId, plan::Root, state::Item};

/// The test streams of a pipeline.
#[derive(Debug)]
pub(crate) struct Streams {
    streams: Vec<Stream>,
    clock: Option<ManualClock>,
}

#[derive(Debug)]
struct Stream {
    stage: StageId,
    events: VecDeque<StreamEvent>,
    watermark: Timestamp,
    over: bool,
}

impl Streams {
    pub(crate) fn new(plan: &Plan) -> Streams {
        let streams: Vec<Stream> = plan
            .stages
            .iter()
            .enumerate()
            .filter_map(|(i, stage)| match &stage.root {
                Root::TestStream(source) => Some(Stream {
                    stage: StageId(i),
                    events: source.events().into(),
                    watermark: Timestamp::MIN,
                    over: false,
                }),
                _ => None,
            })
            .collect();
        let clock = (!streams.is_empty()).then(|| ManualClock::at(Timestamp::EPOCH));
        Streams { streams, clock }
    }

    pub(crate) fn clock(&self) -> Option<&ManualClock> {
        self.clock.as_ref()
    }

    /// Whether there is any. Then bundles are not cut: what comes as one event stays together, so that a test can say
    /// which panes it sees.
    pub(crate) fn are_there(&self) -> bool {
        !self.streams.is_empty()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.streams.iter().all(|s| s.over)
    }
}

impl Engine {
    /// Lets the next event happen; whether there was one. Called when nothing is pending and nothing runs.
    pub(crate) fn next_event(&mut self) -> bool {
        let Some(stream) = self.streams.streams.iter_mut().find(|s| !s.over) else { return false };
        let stage = stream.stage;
        match stream.events.pop_front() {
            Some(StreamEvent::Elements(batch)) => {
                if !batch.is_empty() {
                    let item = Item::elements(batch);
                    self.waiting_bytes += item.bytes;
                    self.stages[stage.0].push(item);
                    self.ready.insert(stage);
                }
            }
            Some(StreamEvent::Watermark(to)) => {
                let from = std::mem::replace(&mut stream.watermark, to);
                let progress = &mut self.stages[stage.0].progress;
                progress.open(to, to);
                progress.close(from, from);
                self.propagate(BTreeSet::from([stage]));
            }
            Some(StreamEvent::Clock(by)) => {
                if let Some(clock) = &self.streams.clock {
                    clock.advance(by);
                    let now = clock.now();
                    self.unpark(now);
                }
            }
            None => {
                stream.over = true;
                let from = stream.watermark;
                self.stages[stage.0].progress.close(from, from);
                self.propagate(BTreeSet::from([stage]));
            }
        }
        true
    }

    /// Ends the streams where they are.
    pub(crate) fn end_streams(&mut self) {
        self.streams.streams.iter_mut().for_each(|s| s.events.clear());
    }
}
