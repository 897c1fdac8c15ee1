//! Test streams: each event happens when the pipeline is quiescent.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    sync::Arc,
};

use purlin_sdk::{
    Clock, ManualClock, Phase, Timestamp,
    testing::{ScriptId, StreamEvent},
};

use crate::{Engine, Plan, StageId, plan::Root, state::Item};

/// The test streams of a pipeline.
#[derive(Debug)]
pub(crate) struct Streams {
    /// They run one after another.
    scripts: Vec<Script>,
    clock: Option<ManualClock>,
}

/// Streams whose events have one order.
#[derive(Debug)]
struct Script {
    id: ScriptId,
    streams: Vec<Stream>,
    /// What happens, and in which of the streams.
    events: VecDeque<(usize, StreamEvent)>,
}

#[derive(Debug)]
struct Stream {
    stage: StageId,
    watermark: Timestamp,
    over: bool,
}

/// Tells a test that everything before has been worked off.
pub(crate) type Mark = Arc<dyn Fn() + Send + Sync>;

/// What the next event was.
pub(crate) enum Happened {
    /// There is none.
    Nothing,
    /// Something that the pipeline works off.
    Event,
    /// Something that the test is to be told, without the engine's lock.
    Mark(StageId, Mark),
}

impl fmt::Debug for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Happened::Nothing => "nothing",
            Happened::Event => "an event",
            Happened::Mark(..) => "a mark",
        })
    }
}

impl Streams {
    pub(crate) fn new(plan: &Plan) -> Streams {
        let mut scripts: Vec<Script> = Vec::new();
        let mut placed = Vec::new();
        for (i, stage) in plan.stages.iter().enumerate() {
            let Root::TestStream(source) = &stage.root else { continue };
            let id = source.script();
            let at = scripts.iter().position(|s| s.id == id).unwrap_or_else(|| {
                scripts.push(Script { id, streams: Vec::new(), events: VecDeque::new() });
                placed.push(Vec::new());
                scripts.len() - 1
            });
            let n = scripts[at].streams.len();
            scripts[at].streams.push(Stream { stage: StageId(i), watermark: Timestamp::MIN, over: false });
            placed[at].extend(source.events().into_iter().map(|(place, event)| (place, n, event)));
        }
        for (script, mut events) in scripts.iter_mut().zip(placed) {
            events.sort_by_key(|(place, ..)| *place);
            script.events = events.into_iter().map(|(_, n, event)| (n, event)).collect();
        }
        let clock = (!scripts.is_empty()).then(|| ManualClock::at(Timestamp::EPOCH));
        Streams { scripts, clock }
    }

    pub(crate) fn clock(&self) -> Option<&ManualClock> {
        self.clock.as_ref()
    }

    /// Whether there is any. Then bundles are not cut: what comes as one event stays together, so that a test can say
    /// which panes it sees.
    pub(crate) fn are_there(&self) -> bool {
        !self.scripts.is_empty()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.scripts.iter().all(Script::is_over)
    }
}

impl Stream {
    /// Ends it, and says where its watermark was.
    fn end(&mut self) -> Timestamp {
        self.over = true;
        self.watermark
    }
}

impl Script {
    fn is_over(&self) -> bool {
        self.streams.iter().all(|s| s.over)
    }
}

impl Engine {
    /// Lets the next event happen. Called when nothing is pending and nothing runs.
    pub(crate) fn next_event(&mut self) -> Happened {
        let Some(script) = self.streams.scripts.iter_mut().find(|s| !s.is_over()) else {
            return Happened::Nothing;
        };
        let event = script.events.pop_front();
        let (n, event) = event.map_or((0, None), |(n, event)| (n, Some(event)));
        let Some(stream) = script.streams.get_mut(n) else { return Happened::Nothing };
        let stage = stream.stage;
        self.at.set(Some((stage, Phase::Coder)));
        match event {
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
            Some(StreamEvent::Mark(told)) => return Happened::Mark(stage, told),
            Some(StreamEvent::End) => {
                let from = stream.end();
                self.stages[stage.0].progress.close(from, from);
                self.propagate(BTreeSet::from([stage]));
            }
            None => {
                // The end of the script is the end of all that is still open.
                let open = script.streams.iter_mut().filter(|s| !s.over);
                let ended: Vec<_> = open.map(|s| (s.stage, s.end())).collect();
                for (stage, from) in &ended {
                    self.stages[stage.0].progress.close(*from, *from);
                }
                self.propagate(ended.into_iter().map(|(stage, _)| stage).collect());
            }
        }
        Happened::Event
    }

    /// Ends the streams where they are.
    pub(crate) fn end_streams(&mut self) {
        self.streams.scripts.iter_mut().for_each(|s| s.events.clear());
    }
}
