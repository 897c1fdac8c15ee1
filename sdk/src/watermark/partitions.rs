//! The watermark of a collection with several partitions.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use super::generator::{AnyGenerator, WarmUp, WatermarkOutput};
use crate::{
    CombinedWatermark, Duration, Key, Result, Timestamp,
    exec::save::{check, put, put_len, take, take_len},
};

/// What a strategy does for a collection; its partitions' type is not known.
pub(crate) trait Assigner<T>: Send {
    /// The pipeline begins.
    fn start(&mut self, now: Timestamp);
    /// The pipeline goes on after it stood still for so long: that nothing came meanwhile says nothing.
    fn resume(&mut self, now: Timestamp, stood_still: Duration);
    /// An element came.
    fn on_event(&mut self, element: &T, timestamp: Timestamp, now: Timestamp);
    /// The interval is over.
    fn on_periodic_emit(&mut self);
    /// The watermark, and whether nobody should wait for it.
    fn status(&self, now: Timestamp) -> (Timestamp, bool);
    /// When the next partition will be idle if nothing comes.
    fn idle_at(&self, now: Timestamp) -> Option<Timestamp>;
    /// How its partitions stand, for people.
    fn standing(&self, now: Timestamp) -> Standing;
    /// What elements and ticks do from now on can be undone.
    fn begin(&mut self);
    /// Goes back to where it began.
    fn undo(&mut self);
    /// What was done since it began stays.
    fn keep(&mut self);
    /// Whether it can be kept in a checkpoint.
    fn check(&self) -> Result;
    /// Appends what its generators have seen.
    fn save(&self, out: &mut Vec<u8>) -> Result;
    /// Goes on from what was saved, where it is new. Partitions that are known now and were not then begin.
    fn load(&mut self, input: &mut &[u8]) -> Result;
}

/// How the partitions of a collection stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) partitions: usize,
    /// Those that nobody waits for.
    pub(crate) idle: usize,
    /// Those without a watermark that are not idle.
    pub(crate) silent: usize,
    /// How far the one is that holds the watermark most, if it needs elements first.
    pub(crate) warm_up: Option<WarmUp>,
}

type PartitionOf<T, P> = dyn Fn(&T) -> P + Send + Sync;

/// A generator for each partition.
pub(super) struct Partitions<T, P> {
    of: Arc<PartitionOf<T, P>>,
    prototype: Box<dyn AnyGenerator<T>>,
    idleness: Option<Duration>,
    partitions: BTreeMap<P, Partition<T>>,
    /// When the pipeline began: idle is also a collection to which nothing ever came.
    started: Timestamp,
    /// What changed since it began is here as it was before, where that can be undone; one that was not there is nothing.
    before: Option<BTreeMap<P, Option<Before<T>>>>,
}

struct Partition<T> {
    generator: Box<dyn AnyGenerator<T>>,
    output: WatermarkOutput,
    last: Timestamp,
}

/// A partition as it was.
struct Before<T> {
    /// Nothing where it is as it was: its window may be long, and copying it cost more than the bundle.
    generator: Option<Box<dyn AnyGenerator<T>>>,
    output: WatermarkOutput,
    last: Timestamp,
}

impl<T> Partition<T> {
    fn new(generator: Box<dyn AnyGenerator<T>>, now: Timestamp) -> Partition<T> {
        Partition { generator, output: WatermarkOutput::NONE, last: now }
    }

    fn before(&self) -> Before<T> {
        Before { generator: None, output: self.output, last: self.last }
    }
}

impl<T, P: Key + Ord> Partitions<T, P> {
    pub(super) fn new(
        known: impl IntoIterator<Item = P>,
        of: Arc<PartitionOf<T, P>>,
        prototype: Box<dyn AnyGenerator<T>>,
        idleness: Option<Duration>,
    ) -> Partitions<T, P> {
        let known = known.into_iter().map(|p| (p, Partition::new(prototype.copy(), Timestamp::MIN)));
        let partitions = known.collect();
        Partitions { of, prototype, idleness, partitions, started: Timestamp::MIN, before: None }
    }

    fn is_idle(&self, last: Timestamp, now: Timestamp) -> bool {
        self.idleness.is_some_and(|timeout| now - last > timeout)
    }
}

impl<T: 'static, P: Key + Ord> Assigner<T> for Partitions<T, P> {
    fn start(&mut self, now: Timestamp) {
        self.started = now;
        self.partitions.values_mut().for_each(|partition| partition.last = now);
    }

    fn resume(&mut self, now: Timestamp, stood_still: Duration) {
        let resumed = |at: Timestamp| if at == Timestamp::MIN { now } else { now.min(at + stood_still) };
        self.started = resumed(self.started);
        self.partitions.values_mut().for_each(|partition| partition.last = resumed(partition.last));
    }

    fn on_event(&mut self, element: &T, timestamp: Timestamp, now: Timestamp) {
        let Partitions { of, prototype, partitions, before, .. } = self;
        let p = of(element);
        if let Some(before) = before {
            let there = partitions.get(&p);
            let was = before.entry(p.clone()).or_insert_with(|| there.map(Partition::before));
            if let (Some(was), Some(there)) = (was, there) {
                was.generator.get_or_insert_with(|| there.generator.copy());
            }
        }
        let partition = partitions.entry(p).or_insert_with(|| Partition::new(prototype.copy(), now));
        partition.last = now;
        partition.output.idle = false;
        partition.generator.on_event(element, timestamp, &mut partition.output);
    }

    fn on_periodic_emit(&mut self) {
        for (p, partition) in &mut self.partitions {
            if let Some(before) = &mut self.before {
                let was = before.entry(p.clone()).or_insert_with(|| Some(partition.before()));
                if let Some(was) = was.as_mut().filter(|_| partition.generator.changes_by_ticks()) {
                    was.generator.get_or_insert_with(|| partition.generator.copy());
                }
            }
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

    fn standing(&self, now: Timestamp) -> Standing {
        let awake = || {
            let all = self.partitions.values();
            all.filter(|partition| !partition.output.idle && !self.is_idle(partition.last, now))
        };
        let least = awake().min_by_key(|partition| partition.output.watermark);
        Standing {
            partitions: self.partitions.len(),
            idle: self.partitions.len() - awake().count(),
            silent: awake().filter(|partition| partition.output.watermark == Timestamp::MIN).count(),
            warm_up: least.and_then(|partition| partition.generator.warms_up()),
        }
    }

    fn begin(&mut self) {
        self.before = Some(BTreeMap::new());
    }

    fn undo(&mut self) {
        for (p, was) in self.before.take().into_iter().flatten() {
            match (self.partitions.entry(p), was) {
                (Entry::Occupied(partition), None) => drop(partition.remove()),
                (Entry::Occupied(mut partition), Some(Before { generator, output, last })) => {
                    let partition = partition.get_mut();
                    (partition.output, partition.last) = (output, last);
                    if let Some(generator) = generator {
                        partition.generator = generator;
                    }
                }
                // Its function panicked before it was there.
                (Entry::Vacant(_), _) => {}
            }
        }
    }

    fn keep(&mut self) {
        self.before = None;
    }

    fn check(&self) -> Result {
        check::<P>("partition")?;
        self.prototype.check()
    }

    fn save(&self, out: &mut Vec<u8>) -> Result {
        put(&self.started, out)?;
        put_len(self.partitions.len(), out)?;
        for (p, Partition { generator, output, last }) in &self.partitions {
            put(p, out)?;
            put(&(output.watermark, output.idle, *last), out)?;
            generator.save(out)?;
        }
        Ok(())
    }

    fn load(&mut self, input: &mut &[u8]) -> Result {
        self.started = take(input)?;
        for _ in 0..take_len(input)? {
            let p = take(input)?;
            let (watermark, idle, last) = take(input)?;
            let generator = self.prototype.load(input)?;
            let output = WatermarkOutput { watermark, idle };
            self.partitions.insert(p, Partition { generator, output, last });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, watermark::WatermarkStrategy};

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn restored<T: Element>(strategy: &WatermarkStrategy<T>, from: &dyn Assigner<T>) -> Box<dyn Assigner<T>> {
        let mut bytes = Vec::new();
        from.save(&mut bytes).unwrap();
        let mut assigner = strategy.assigner();
        let mut rest = &bytes[..];
        assigner.load(&mut rest).unwrap();
        assert!(rest.is_empty());
        // All of them would take long where there is a long window.
        for end in 0..bytes.len().min(100) {
            assert!(strategy.assigner().load(&mut &bytes[..end]).is_err(), "cut at {end}");
        }
        assigner
    }

    fn strategies() -> Vec<WatermarkStrategy<i64>> {
        let all = vec![
            WatermarkStrategy::source_watermark(),
            WatermarkStrategy::for_bounded_out_of_orderness(Duration::from_secs(5)),
            WatermarkStrategy::for_monotonous_timestamps(),
            WatermarkStrategy::for_punctuated(|n, ts| (n % 3 == 0).then_some(ts)),
        ];
        all.into_iter()
            .map(|s| s.with_partitions([0, 1], |n| n % 4).with_idleness(Duration::from_secs(9)))
            .collect()
    }

    /// One that is saved and loaded again and again says what one says that is not, also in mid-warm-up.
    #[test]
    fn it_goes_on_from_what_was_saved() {
        for strategy in strategies() {
            strategy.assigner().check().unwrap();
            let (mut whole, mut parts) = (strategy.assigner(), strategy.assigner());
            whole.start(at(0));
            parts.start(at(0));
            let mut rng = fastrand::Rng::with_seed(5);
            for i in 0..1300 {
                let (n, ts, now) = (rng.i64(0..3), at(i - rng.i64(0..20)), at(i / 100));
                for assigner in [&mut whole, &mut parts] {
                    assigner.on_event(&n, ts, now);
                    assigner.on_periodic_emit();
                }
                if i % 60 == 7 {
                    parts = restored(&strategy, &*parts);
                }
                assert_eq!(whole.status(now), parts.status(now), "after {i} of {strategy:?}");
                assert_eq!(whole.standing(now), parts.standing(now), "after {i} of {strategy:?}");
            }
        }
    }

    #[test]
    fn what_failed_is_undone() {
        for strategy in strategies() {
            let mut assigner = strategy.assigner();
            assigner.start(at(0));
            (0..900).for_each(|i| assigner.on_event(&(i % 3), at(i), at(0)));
            assigner.on_periodic_emit();
            let saved = |assigner: &dyn Assigner<i64>| {
                let mut bytes = Vec::new();
                assigner.save(&mut bytes).unwrap();
                bytes
            };
            let before = saved(&*assigner);
            for again in 0..2 {
                assigner.begin();
                assigner.on_periodic_emit();
                // One of these partitions is new.
                (0..9).for_each(|n| assigner.on_event(&n, at(5000), at(3)));
                assigner.on_periodic_emit();
                assert_ne!(saved(&*assigner), before);
                if again == 0 {
                    assigner.undo();
                    assert_eq!(saved(&*assigner), before, "{strategy:?}");
                } else {
                    assigner.keep();
                    assigner.undo();
                    assert_ne!(saved(&*assigner), before, "{strategy:?}");
                }
            }
        }
    }

    /// What it did not hear while it stood still does not make it idle, and what was idle stays so.
    #[test]
    fn standing_still_is_not_being_idle() {
        let strategy = WatermarkStrategy::for_monotonous_timestamps()
            .with_partitions([0, 1], |n: &i64| *n)
            .with_idleness(Duration::from_secs(10));
        let mut assigner = strategy.assigner();
        assigner.start(at(0));
        assigner.on_event(&0, at(100), at(12));
        assigner.on_periodic_emit();
        // Saved at 15 s, when the second one is idle; gone on with an hour later.
        let mut assigner = restored(&strategy, &*assigner);
        let hour = Duration::from_secs(3600);
        assigner.resume(at(15) + hour, hour);
        assert_eq!(assigner.status(at(15) + hour), (at(100), false));
        assert_eq!(assigner.standing(at(15) + hour).idle, 1);
        assert!(assigner.status(at(23) + hour).1);
    }

    #[test]
    fn partitions_that_are_known_now_begin() {
        let strategy = |known: Vec<i64>| {
            WatermarkStrategy::for_monotonous_timestamps().with_partitions(known, |n: &i64| *n)
        };
        let mut assigner = strategy(vec![0]).assigner();
        assigner.on_event(&0, at(50), at(0));
        assigner.on_periodic_emit();
        let assigner = restored(&strategy(vec![0, 1]), &*assigner);
        assert_eq!(assigner.status(at(0)), (Timestamp::MIN, false));
        assert_eq!(assigner.standing(at(0)), Standing { partitions: 2, silent: 1, ..Standing::default() });
    }
}
