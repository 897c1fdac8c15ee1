//! Making the cut.

use purlin_sdk::{
    Phase, PipelineError, Result, Timestamp,
    batch::ErasedBatch,
    exec::{
        AnyTable, BatchCodec, BundleInput,
        save::{put, take},
    },
    window::Window,
};
use serde::{Deserialize, Serialize};

use super::{
    Cut, SegmentPart,
    header::{Header, SavedGraph, StageHeader},
};
use crate::{
    Engine, StageId,
    live::Live,
    progress::Held,
    state::{Closing, Item, held_at},
};

/// Where an item waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Place {
    /// In its stage's queue.
    Queue,
    /// Until this processing time.
    Parked(Timestamp),
    /// In front of a key group.
    KeyGroup(u32),
}

/// An item but for its batch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ItemHeader {
    pub(super) place: Place,
    pub(super) time: Timestamp,
    pub(super) hold: Timestamp,
    pub(super) idle: bool,
    pub(super) begun: bool,
    pub(super) attempts: u32,
}

impl Place {
    fn of(item: &Item) -> Place {
        item.key_group.map_or(Place::Queue, |n| Place::KeyGroup(n as u32))
    }
}

/// Of a window that closed: where it holds the watermark, how often it was tried, and until when, in processing time, it
/// waits to be tried again.
pub(super) type SavedWindow = (Timestamp, u32, Option<Timestamp>);

/// Items of one stage as bytes, one behind the other.
struct Items<'a> {
    codec: &'a dyn BatchCodec,
    bytes: Vec<u8>,
}

impl Items<'_> {
    fn add(&mut self, header: ItemHeader, batch: &mut dyn ErasedBatch) -> Result {
        put(&header, &mut self.bytes)?;
        self.codec.save(batch, &mut self.bytes)
    }

    fn add_item(&mut self, place: Place, item: &mut Item) -> Result {
        let Item { time, hold, idle, begun, attempts, .. } = *item;
        self.add(ItemHeader { place, time, hold, idle, begun, attempts }, &mut *item.batch)
    }
}

/// The header of an item, from the front of `input`; nothing at its end.
pub(super) fn next_item(input: &mut &[u8]) -> Result<Option<ItemHeader>> {
    if input.is_empty() { Ok(None) } else { take(input).map(Some) }
}

impl Engine {
    pub(super) fn save_header(&mut self, cut: &mut Cut) -> Result<(), PipelineError> {
        let header = self.header()?;
        let mut bytes = Vec::new();
        put(&header, &mut bytes)
            .map_err(|e| PipelineError::runner(format!("a snapshot does not encode: {e}")))?;
        cut.add("", SegmentPart::Header, bytes);
        Ok(())
    }

    fn header(&mut self) -> Result<Header, PipelineError> {
        let graph = match self.cutting.graph.take() {
            Some(graph) => graph,
            None => SavedGraph::of(&self.graph)?,
        };
        self.cutting.graph = Some(graph.clone());
        let stages = self.plan.stages.iter().zip(&self.stages).map(|(stage, state)| StageHeader {
            name: stage.name.clone(),
            element: stage.element.to_owned(),
            input: state.progress.input(),
            output: state.progress.output(),
            in_force: state.in_force,
            windows: state.windows.iter().map(|((_, window), hold)| (window.clone(), *hold)).collect(),
            values_from: state.values_from,
            resting: state
                .resting_groups
                .iter()
                .map(|(n, until)| (*n as u32, *until, state.key_groups[*n].attempts))
                .collect(),
        });
        Ok(Header {
            graph,
            key_groups: self.key_groups as u32,
            now: self.now,
            draining: self.draining,
            metrics: self.metrics.snapshot(),
            streams: self.streams.position(),
            live: self.live.as_ref().map(Live::watermark),
            stages: stages.collect(),
        })
    }

    /// Encodes what waits at a stage, and lends the rest of what it has.
    pub(super) fn save_stage(&mut self, id: StageId, cut: &mut Cut) -> Result {
        self.enter(id, Phase::Checkpoint);
        let plan = self.plan.clone();
        let stage = &plan.stages[id.0];
        let path = &*stage.name;
        let items = self.items_of(id)?;
        if !items.is_empty() {
            cut.add(path, SegmentPart::Items, items);
        }
        let windows = self.windows_of(id)?;
        if !windows.is_empty() {
            cut.add(path, SegmentPart::Windows, windows);
        }
        self.lend_shards(id, cut);
        let state = &self.stages[id.0];
        if let Some((factory, _)) = stage.view.as_ref().filter(|_| !state.values.is_empty()) {
            let mut bytes = Vec::new();
            for ((_, window), value) in &state.values {
                put(window, &mut bytes)?;
                factory.save_value(value, &mut bytes)?;
            }
            cut.add(path, SegmentPart::Values, bytes);
        }
        for n in 0..self.stages[id.0].key_groups.len() {
            match self.stages[id.0].key_groups[n].state.take() {
                Some(keyed) => self.lend_key_group(id, n, keyed, cut),
                // A bundle has it.
                None => {
                    let bundle = self.in_flight.values().find(|b| b.stage == id && b.key_group == Some(n));
                    let before = bundle.and_then(|b| b.keyed_before.clone()).unwrap_or_default();
                    cut.add(path, SegmentPart::KeyGroup(n as u32), before);
                }
            }
        }
        Ok(())
    }

    /// All that waits for a bundle at stage `id`, and what bundles at work began with.
    fn items_of(&mut self, id: StageId) -> Result<Vec<u8>> {
        let plan = self.plan.clone();
        let mut items = Items { codec: &*plan.stages[id.0].codec, bytes: Vec::new() };
        for bundle in self.in_flight.values_mut().filter(|b| b.stage == id) {
            let (attempts, hold, begun) = (bundle.attempts, bundle.hold, !bundle.fresh);
            let source = matches!(plan.stages[id.0].root, crate::plan::Root::Splittable);
            let least = bundle.least();
            match &mut bundle.backup {
                Some(BundleInput::Batches(batches)) => {
                    for batch in batches {
                        // Behind a transform that assigns a watermark they hold it where it was before them.
                        let time = held_at(batch.min_timestamp()).min(least);
                        let hold = if source { hold } else { time.min(hold) };
                        let place = Place::Queue;
                        let header = ItemHeader { place, time, hold, idle: false, begun, attempts };
                        items.add(header, &mut **batch)?;
                    }
                }
                Some(BundleInput::KeyGroup { batches }) => {
                    let place = bundle.key_group.map_or(Place::Queue, |n| Place::KeyGroup(n as u32));
                    for (batch, Held { time, hold, idle }) in batches.iter_mut().zip(&bundle.batches) {
                        let (time, hold, idle) = (*time, *hold, *idle);
                        items.add(ItemHeader { place, time, hold, idle, begun, attempts }, &mut **batch)?;
                    }
                }
                Some(BundleInput::Window { .. }) | None => {}
            }
        }
        let state = &mut self.stages[id.0];
        for item in &mut state.queue {
            items.add_item(Place::Queue, item)?;
        }
        for (n, group) in state.key_groups.iter_mut().enumerate() {
            for item in &mut group.waiting {
                items.add_item(Place::KeyGroup(n as u32), item)?;
            }
        }
        let blocked = state.blocked.values_mut().flatten();
        for item in blocked.chain(&mut state.in_cut).chain(&mut state.unstable) {
            items.add_item(Place::of(item), item)?;
        }
        for ((at, _), item) in &mut state.parked {
            items.add_item(Place::Parked(*at), item)?;
        }
        Ok(items.bytes)
    }

    /// The windows of a grouping that closed and that nobody has emitted.
    fn windows_of(&self, id: StageId) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut add = |window: &Window, saved: SavedWindow, tables: &[Box<dyn AnyTable>]| {
            put(&(window.clone(), saved, tables.len() as u64), &mut out)?;
            tables.iter().try_for_each(|table| table.save(&mut out))
        };
        for bundle in self.in_flight.values().filter(|b| b.stage == id) {
            if let Some(BundleInput::Window { window, tables }) = &bundle.backup {
                add(window, (bundle.hold, bundle.attempts, None), tables)?;
            }
        }
        let state = &self.stages[id.0];
        // One that still waits for bundles at work need not any more: these count as not started, and see the watermark
        // that has passed it when they do.
        let closed = state.closed.iter().chain(&state.closing).map(|closing| (None, closing));
        let parked = state.parked_windows.iter().map(|((until, _), closing)| (Some(*until), closing));
        for (until, Closing { window, hold, tables, attempts, .. }) in closed.chain(parked) {
            add(window, (*hold, *attempts, until), tables)?;
        }
        Ok(out)
    }
}
