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

use serde::{Deserialize, Serialize};

use crate::{Engine, Plan, StageId, plan::Root, progress::Held, state::Item};

/// The test streams of a pipeline.
#[derive(Debug)]
pub(crate) struct Streams {
    /// They run one after another.
    scripts: Vec<Script>,
    clock: Option<ManualClock>,
}

/// How far test streams have come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StreamPosition {
    scripts: Vec<ScriptPosition>,
    now: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ScriptPosition {
    /// Events that are to happen yet.
    left: u64,
    /// Of each stream, where its watermark is and whether it is over.
    streams: Vec<(Timestamp, bool)>,
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
    idle: bool,
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
            scripts[at].streams.push(Stream {
                stage: StageId(i),
                watermark: Timestamp::MIN,
                idle: false,
                over: false,
            });
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

    /// How far they have come.
    pub(crate) fn position(&self) -> StreamPosition {
        let scripts = self.scripts.iter().map(|script| ScriptPosition {
            left: script.events.len() as u64,
            streams: script.streams.iter().map(|s| (s.watermark, s.over)).collect(),
        });
        StreamPosition { scripts: scripts.collect(), now: self.clock.as_ref().map(Clock::now) }
    }

    /// Goes on from `position`, which is one of the same scripts.
    pub(crate) fn resume(&mut self, position: &StreamPosition) {
        for (script, at) in self.scripts.iter_mut().zip(&position.scripts) {
            while script.events.len() as u64 > at.left {
                script.events.pop_front();
            }
            for (stream, (watermark, over)) in script.streams.iter_mut().zip(&at.streams) {
                (stream.watermark, stream.over) = (*watermark, *over);
            }
        }
        if let (Some(clock), Some(now)) = (&self.clock, position.now) {
            clock.set(now);
        }
    }

    /// Where the stream at `stage` holds its watermark; nothing when it is over.
    pub(crate) fn holds(&self, stage: StageId) -> Option<Timestamp> {
        let streams = self.scripts.iter().flat_map(|s| &s.streams);
        streams.filter(|s| s.stage == stage && !s.over).map(|s| s.watermark).next()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.scripts.iter().all(Script::is_over)
    }
}

impl Stream {
    /// What it does to the watermark of its stage.
    fn held(&self) -> Held {
        Held { idle: self.idle, ..Held::at(self.watermark, self.watermark) }
    }

    /// Ends it, and says what it held.
    fn end(&mut self) -> Held {
        self.over = true;
        self.held()
    }

    /// Moves it, and says what it held and what it holds now.
    fn go_on(&mut self, watermark: Timestamp, idle: bool) -> (Held, Held) {
        let before = self.held();
        (self.watermark, self.idle) = (watermark, idle);
        (before, self.held())
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
                    let (from, to) = stream.go_on(stream.watermark, false);
                    let item = Item::elements(batch);
                    self.waiting_bytes += item.bytes;
                    let state = &mut self.stages[stage.0];
                    state.push(item);
                    state.progress.open(to);
                    state.progress.close(from);
                    self.ready.insert(stage);
                    if from.idle {
                        self.propagate(BTreeSet::from([stage]));
                    }
                }
            }
            Some(StreamEvent::Watermark(to)) => {
                let (from, to) = stream.go_on(to, false);
                let progress = &mut self.stages[stage.0].progress;
                progress.open(to);
                progress.close(from);
                self.propagate(BTreeSet::from([stage]));
            }
            Some(StreamEvent::Idle) => {
                let (from, to) = stream.go_on(stream.watermark, true);
                let progress = &mut self.stages[stage.0].progress;
                progress.open(to);
                progress.close(from);
                self.propagate(BTreeSet::from([stage]));
            }
            Some(StreamEvent::Clock(by)) => {
                if let Some(clock) = &self.streams.clock {
                    clock.advance(by);
                    let now = clock.now();
                    self.advance_clock(now);
                }
            }
            Some(StreamEvent::Mark(told)) => return Happened::Mark(stage, told),
            Some(StreamEvent::End) => {
                let from = stream.end();
                self.stages[stage.0].progress.close(from);
                self.propagate(BTreeSet::from([stage]));
            }
            None => {
                // The end of the script is the end of all that is still open.
                let open = script.streams.iter_mut().filter(|s| !s.over);
                let ended: Vec<_> = open.map(|s| (s.stage, s.end())).collect();
                for (stage, from) in &ended {
                    self.stages[stage.0].progress.close(*from);
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
