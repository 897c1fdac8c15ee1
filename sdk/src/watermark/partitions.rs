//! The watermark of a collection with several partitions.

use std::{collections::BTreeMap, sync::Arc};

use super::generator::{AnyGenerator, WatermarkOutput};
use crate::{CombinedWatermark, Duration, Key, Timestamp};

/// What a strategy does for a collection; its partitions' type is not known.
pub(crate) trait Assigner<T>: Send {
    /// The pipeline begins.
    fn start(&mut self, now: Timestamp);
    /// An element came.
    fn on_event(&mut self, element: &T, timestamp: Timestamp, now: Timestamp);
    /// The interval is over.
    fn on_periodic_emit(&mut self);
    /// The watermark, and whether nobody should wait for it.
    fn status(&self, now: Timestamp) -> (Timestamp, bool);
    /// When the next partition will be idle if nothing comes.
    fn idle_at(&self, now: Timestamp) -> Option<Timestamp>;
    fn copy(&self) -> Box<dyn Assigner<T>>;
}

type PartitionOf<T, P> = dyn Fn(&T) -> P + Send + Sync;

/// A generator for each partition.
pub(super) struct Partitions<T, P> {
    pub(super) of: Arc<PartitionOf<T, P>>,
    pub(super) prototype: Box<dyn AnyGenerator<T>>,
    pub(super) idleness: Option<Duration>,
    pub(super) partitions: BTreeMap<P, Partition<T>>,
    /// When the pipeline began: idle is also a collection to which nothing ever came.
    pub(super) started: Timestamp,
}

pub(super) struct Partition<T> {
    generator: Box<dyn AnyGenerator<T>>,
    output: WatermarkOutput,
    last: Timestamp,
}

impl<T> Partition<T> {
    pub(super) fn new(generator: Box<dyn AnyGenerator<T>>, now: Timestamp) -> Partition<T> {
        Partition { generator, output: WatermarkOutput::NONE, last: now }
    }
}

impl<T, P> Partitions<T, P> {
    fn is_idle(&self, last: Timestamp, now: Timestamp) -> bool {
        self.idleness.is_some_and(|timeout| now - last > timeout)
    }
}

impl<T: 'static, P: Key + Ord> Assigner<T> for Partitions<T, P> {
    fn start(&mut self, now: Timestamp) {
        self.started = now;
        self.partitions.values_mut().for_each(|partition| partition.last = now);
    }

    fn on_event(&mut self, element: &T, timestamp: Timestamp, now: Timestamp) {
        let Partitions { of, prototype, partitions, .. } = self;
        let partition =
            partitions.entry(of(element)).or_insert_with(|| Partition::new(prototype.copy(), now));
        partition.last = now;
        partition.output.idle = false;
        partition.generator.on_event(element, timestamp, &mut partition.output);
    }

    fn on_periodic_emit(&mut self) {
        for partition in self.partitions.values_mut() {
            partition.generator.on_periodic_emit(&mut partition.output);
        }
    }

    fn status(&self, now: Timestamp) -> (Timestamp, bool) {
        let mut combined = CombinedWatermark::default();
        for Partition { output, last, .. } in self.partitions.values() {
            combined.add(output.watermark, output.idle || self.is_idle(*last, now));
        }
        match combined.value() {
            Some(watermark) => (watermark, combined.is_idle()),
            None => (Timestamp::MIN, self.is_idle(self.started, now)),
        }
    }

    fn idle_at(&self, now: Timestamp) -> Option<Timestamp> {
        let timeout = self.idleness?;
        let begun = self.partitions.is_empty().then_some(self.started);
        let last = self.partitions.values().map(|partition| partition.last).chain(begun);
        let deadlines = last.map(|last| last + timeout + Duration::from_millis(1));
        deadlines.filter(|at| *at > now).min()
    }

    fn copy(&self) -> Box<dyn Assigner<T>> {
        let partitions = self.partitions.iter().map(|(p, Partition { generator, output, last })| {
            (p.clone(), Partition { generator: generator.copy(), output: *output, last: *last })
        });
        Box::new(Partitions {
            of: self.of.clone(),
            prototype: self.prototype.copy(),
            idleness: self.idleness,
            partitions: partitions.collect(),
            started: self.started,
        })
    }
}
