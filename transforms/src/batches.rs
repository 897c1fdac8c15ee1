//! Batches of each key's values.

use std::marker::PhantomData;

use purlin_derive::KeyedState;
use purlin_sdk::{
    Duration, Element, Emitter, Key, KeyedDoFn, PCollection, PTransform, Pipeline, ProcessContext, Result,
    TimerContext, TimerOf, Timestamp,
    coder::ShardedKey,
    state::{Bag, Timer, Value},
};

mod shard;
mod weigh;

use shard::Shard;
use weigh::WeighBy;
pub use weigh::{ByteSizeBy, EncodedSize, Weigh};

/// Groups the values of each key and window into batches, such as for calls to a service that takes many at once.
///
/// ```
/// # use purlin_sdk::{Duration, PCollection, Pipeline, coder::ShardedKey};
/// use purlin_transforms::GroupIntoBatches;
/// # let p = Pipeline::new();
/// let mails = p.create("Mails", [("shop".to_owned(), "hello".to_owned())]);
/// let batches: PCollection<(String, Vec<String>)> = mails.apply("Batches", GroupIntoBatches::of_size(100));
/// let prompt: PCollection<(String, Vec<String>)> = mails.apply(
///     "Prompt",
///     GroupIntoBatches::of_size(100).with_max_buffering_duration(Duration::from_secs(5)),
/// );
/// let spread: PCollection<(ShardedKey<String>, Vec<String>)> =
///     mails.apply("Spread", GroupIntoBatches::of_byte_size(1 << 20).with_sharded_key());
/// # p.build().unwrap();
/// ```
/// - A batch comes out when it has `n` values; when the next value would make it larger than a byte size, or it has that
///   size; when its first value has waited for the longest buffering duration; and, with what it has then, when its
///   window expires: when the watermark has passed the window's end and the allowed lateness.
/// - No batch is empty, none is larger than asked for, except that a value that is larger than the byte size by itself is
///   a batch of its own. Values are in the order in which they came.
/// - A batch has the timestamp of its earliest value, and **holds the watermark** there while it fills up, so that it is
///   not late (`b089`). A value that was behind the watermark when it came has no say in that, unless all of the batch
///   were. So a batch that fills up slowly holds back everything that follows: in the global window of a stream, give
///   it a [longest duration](GroupIntoBatches::with_max_buffering_duration).
/// - State is kept per window, so in windows that merge, such as sessions, it is a build error.
///
/// Source: Beam's `GroupIntoBatches`.
#[derive(Clone, Copy, Debug)]
pub struct GroupIntoBatches<W = EncodedSize> {
    size: Option<usize>,
    bytes: Option<u64>,
    weigh: W,
    longest: Option<Duration>,
}

impl GroupIntoBatches {
    /// Batches of `n` values. None at all is a build error.
    pub fn of_size(n: usize) -> GroupIntoBatches {
        GroupIntoBatches { size: Some(n), bytes: None, weigh: EncodedSize, longest: None }
    }

    /// Batches of up to `bytes` bytes, see [`with_byte_size`](Self::with_byte_size).
    pub fn of_byte_size(bytes: u64) -> GroupIntoBatches {
        GroupIntoBatches { size: None, bytes: Some(bytes), weigh: EncodedSize, longest: None }
    }

    /// Batches of up to `bytes` bytes too, as far as the values' type's default coder writes them. None at all is a build
    /// error.
    #[must_use]
    pub fn with_byte_size(mut self, bytes: u64) -> GroupIntoBatches {
        self.bytes = Some(bytes);
        self
    }

    /// Batches of up to `bytes` bytes too, where `size_of` says how many a value has.
    ///
    /// ```
    /// # use purlin_sdk::Pipeline;
    /// use purlin_transforms::GroupIntoBatches;
    /// # let p = Pipeline::new();
    /// # let pages = p.create("Pages", [("a".to_owned(), "<html>".to_owned())]);
    /// pages.apply("Batches", GroupIntoBatches::of_size(50).with_byte_size_by(1 << 20, |page: &String| page.len() as u64));
    /// # p.build().unwrap();
    /// ```
    #[must_use]
    pub fn with_byte_size_by<V, F>(self, bytes: u64, size_of: F) -> GroupIntoBatches<ByteSizeBy<F>>
    where
        F: Fn(&V) -> u64 + Clone + Send + Sync + 'static,
    {
        let GroupIntoBatches { size, longest, .. } = self;
        GroupIntoBatches { size, bytes: Some(bytes), weigh: ByteSizeBy(size_of), longest }
    }
}

impl<W> GroupIntoBatches<W> {
    /// No value waits longer than this, in processing time since the first one of its batch came. A duration that is not
    /// above zero is a build error.
    #[must_use]
    pub fn with_max_buffering_duration(mut self, longest: Duration) -> GroupIntoBatches<W> {
        self.longest = Some(longest);
        self
    }

    /// Fills a batch of each key on every worker, instead of one on the worker that has the key: for keys with more values
    /// than one worker can take. The shard is in the key of the batch; which values are in which one is arbitrary.
    #[must_use]
    pub fn with_sharded_key(self) -> GroupIntoShardedBatches<W> {
        GroupIntoShardedBatches(self)
    }

    /// Tells what cannot be.
    #[track_caller]
    fn check(&self, pipeline: &Pipeline) {
        if self.size == Some(0) || self.bytes == Some(0) {
            pipeline
                .build_error("its batches are to have no size at all; one value, or one byte, is the least");
        }
        if let Some(longest) = self.longest.filter(|d| *d <= Duration::ZERO) {
            pipeline.build_error(format!(
                "a value may wait for {longest}, so nothing could be gathered; give it a longer time, or leave \
                 `with_max_buffering_duration` out"
            ));
        }
    }

    #[track_caller]
    fn gather<K: Key, V: Element>(self, input: &PCollection<(K, V)>) -> PCollection<(K, Vec<V>)>
    where
        W: Weigh<V>,
    {
        let pipeline = input.pipeline();
        self.check(pipeline);
        let GroupIntoBatches { size, bytes, weigh, longest } = self;
        let weigh = bytes.and_then(|limit| match weigh.ready() {
            Ok(weigh) => Some((limit, weigh)),
            Err(reason) => {
                pipeline.build_error(format!(
                    "the size of its values is not known, since their type has no coder: {reason}. Say it by \
                     `with_byte_size_by`"
                ));
                None
            }
        });
        let lateness = input.windowing().allowed_lateness;
        input.par_do_keyed("Gather", Gather { size, weigh, longest, lateness, key: PhantomData })
    }
}

/// Batches of each key's values on every worker, see [`GroupIntoBatches::with_sharded_key`].
#[derive(Clone, Copy, Debug)]
pub struct GroupIntoShardedBatches<W>(GroupIntoBatches<W>);

impl<K: Key, V: Element, W: Weigh<V>> PTransform<PCollection<(K, V)>> for GroupIntoBatches<W> {
    type Out = PCollection<(K, Vec<V>)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(K, Vec<V>)> {
        self.gather(&input)
    }
}

impl<K: Key, V: Element, W: Weigh<V>> PTransform<PCollection<(K, V)>> for GroupIntoShardedBatches<W> {
    type Out = PCollection<(ShardedKey<K>, Vec<V>)>;

    #[track_caller]
    fn expand(self, input: PCollection<(K, V)>) -> PCollection<(ShardedKey<K>, Vec<V>)> {
        self.0.gather(&input.par_do("Shard", Shard::new()))
    }
}

/// A batch that fills up.
#[derive(KeyedState)]
#[keyed_state(crate = "purlin_sdk")]
struct Batch<V> {
    values: Bag<V>,
    bytes: Value<u64>,
    /// Whether all of its values came behind the watermark, and the earliest timestamp of those that did not, or else of
    /// all.
    time: Value<(bool, Timestamp)>,
    #[timer(event)]
    expiry: Timer,
    #[timer(processing)]
    flush: Timer,
}

/// Fills batches.
struct Gather<K, V> {
    size: Option<usize>,
    weigh: Option<(u64, WeighBy<V>)>,
    longest: Option<Duration>,
    lateness: Duration,
    key: PhantomData<fn(K)>,
}

impl<K, V> Clone for Gather<K, V> {
    fn clone(&self) -> Gather<K, V> {
        Gather { weigh: self.weigh.clone(), ..*self }
    }
}

impl<K: Key, V: Element> Gather<K, V> {
    /// Emits what there is, if anything.
    fn flush(&self, key: &K, batch: &mut Batch<V>, out: &mut Emitter<'_, (K, Vec<V>)>) {
        if let Some((_, time)) = batch.time.take() {
            out.emit_at((key.clone(), batch.values.take()), time);
        }
        batch.bytes.clear();
        batch.expiry.clear();
        batch.flush.clear();
    }

    fn is_full(&self, batch: &Batch<V>) -> bool {
        let bytes = batch.bytes.read().copied().unwrap_or(0);
        self.size.is_some_and(|n| batch.values.len() >= n)
            || self.weigh.as_ref().is_some_and(|(limit, _)| bytes >= *limit)
    }

    /// Holds the watermark at the earliest value, once there is one more at the element's timestamp.
    fn hold(&self, batch: &mut Batch<V>, cx: &ProcessContext<'_>) -> Result {
        let window = cx.window();
        let ts = cx.timestamp().min(window.max_timestamp());
        let this = (cx.current_watermark().is_some_and(|watermark| ts < watermark), ts);
        let before = batch.time.read().copied();
        if before.is_some_and(|before| before <= this) {
            return Ok(());
        }
        batch.time.write(this);
        let expiry = window.expiry(self.lateness);
        batch.expiry.with_output_timestamp(ts).set(cx, expiry)?;
        match (self.longest, batch.flush.time()) {
            (Some(_), Some(set)) => batch.flush.with_output_timestamp(ts).set(cx, set),
            (Some(longest), None) => batch.flush.with_output_timestamp(ts).set_after(cx, longest),
            (None, _) => Ok(()),
        }
    }
}

impl<K: Key, V: Element> KeyedDoFn for Gather<K, V> {
    type Key = K;
    type Value = V;
    type Output = (K, Vec<V>);
    type State = Batch<V>;

    fn process(
        &mut self,
        key: &K,
        value: V,
        batch: &mut Batch<V>,
        cx: &ProcessContext<'_>,
        out: &mut Emitter<'_, (K, Vec<V>)>,
    ) -> Result {
        if let Some((limit, weigh)) = &self.weigh {
            let weight = weigh(&value)?;
            let bytes = batch.bytes.read().copied().unwrap_or(0);
            let (bytes, overflows) = match bytes.checked_add(weight) {
                Some(sum) if sum <= *limit => (sum, false),
                _ => (weight, true),
            };
            if overflows {
                self.flush(key, batch, out);
            }
            batch.bytes.write(bytes);
        }
        self.hold(batch, cx)?;
        batch.values.add(value);
        if self.is_full(batch) {
            self.flush(key, batch, out);
        }
        Ok(())
    }

    fn on_timer(
        &mut self,
        _: TimerOf<Self>,
        key: &K,
        batch: &mut Batch<V>,
        _: &TimerContext<'_>,
        out: &mut Emitter<'_, (K, Vec<V>)>,
    ) -> Result {
        self.flush(key, batch, out);
        Ok(())
    }

    /// The earliest value may be earlier than the one that fills the batch; the watermark was held for it.
    fn allowed_timestamp_skew(&self) -> Duration {
        Duration::MAX
    }
}

#[cfg(test)]
mod tests {
    use purlin_sdk::testing::KeyedTester;

    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn gather(size: usize, longest: Option<i64>) -> Gather<String, i64> {
        let longest = longest.map(Duration::from_secs);
        Gather { size: Some(size), weigh: None, longest, lateness: Duration::ZERO, key: PhantomData }
    }

    #[test]
    fn b089_the_watermark_stays_at_the_earliest_value_until_the_flush() {
        let mut batches = KeyedTester::of(gather(10, Some(60)));
        for second in [2, 1, 3] {
            batches.at(at(second)).process("k".to_owned(), second).unwrap();
        }
        batches.advance_watermark(at(100)).unwrap();
        assert_eq!(batches.output_watermark(), at(1));
        batches.advance_clock(Duration::from_millis(59_999)).unwrap();
        assert_eq!((batches.output_watermark(), batches.main().len()), (at(1), 0));
        batches.advance_clock(Duration::from_millis(1)).unwrap();
        assert_eq!(batches.output_watermark(), at(100));
        assert_eq!(batches.main_with_times(), [(("k".to_owned(), vec![2, 1, 3]), at(1))]);
        assert_eq!(batches.states(), 0);
    }

    #[test]
    fn a_batch_that_fills_up_lets_the_watermark_go_and_the_next_one_has_its_own_time() {
        let mut batches = KeyedTester::of(gather(2, Some(60)));
        batches.at(at(5)).process("k".to_owned(), 1).unwrap();
        batches.advance_watermark(at(100)).unwrap();
        batches.advance_clock(Duration::from_secs(50)).unwrap();
        batches.at(at(110)).process("k".to_owned(), 2).unwrap();
        assert_eq!(batches.main_with_times(), [(("k".to_owned(), vec![1, 2]), at(5))]);
        batches.at(at(120)).process("k".to_owned(), 3).unwrap();
        batches.advance_clock(Duration::from_secs(50)).unwrap();
        assert_eq!(batches.main(), []);
        batches.advance_clock(Duration::from_secs(10)).unwrap();
        assert_eq!(batches.main_with_times(), [(("k".to_owned(), vec![3]), at(120))]);
    }
}
