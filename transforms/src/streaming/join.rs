//! Joins of two streams.

mod held;
mod pairs;
mod shape;

use std::{fmt, marker::PhantomData, sync::Arc};

use purlin_sdk::{
    Duration, Element, Emitter, Key, KeyedParDo, PCollection, PTransform, ParDo, ProcessContext, Timestamp,
};
use serde::{Deserialize, Serialize};

use self::{
    pairs::{Pairs, Rules},
    shape::Shape,
};
use super::{
    JoinRules, LateRows, OperatorKind,
    operators::Handle,
    time_of::{ReadTime, TimeOf, read_time},
};

pub use shape::{StreamFullOuter, StreamInner, StreamLeftOuter, StreamLeftSemi, StreamRightOuter};

/// Joins two keyed streams: a row meets all rows of its key that the other side had, has, and will have.
///
/// | | a left row without partner | a right row without partner | gives |
/// |---|---|---|---|
/// | [`inner`](StreamJoin::inner) | left out | left out | `(K, (L, R))` |
/// | [`left_outer`](StreamJoin::left_outer) | with `None` | left out | `(K, (L, Option<R>))` |
/// | [`right_outer`](StreamJoin::right_outer) | left out | with `None` | `(K, (Option<L>, R))` |
/// | [`full_outer`](StreamJoin::full_outer) | with `None` | with `None` | `(K, (Option<L>, Option<R>))` |
/// | [`left_semi`](StreamJoin::left_semi) | left out | left out | `(K, L)`, once, with its first partner |
///
/// ```
/// # use purlin_sdk::{Apply, Duration, PCollection, Pipeline};
/// use purlin_transforms::streaming::StreamJoin;
/// # let p = Pipeline::new();
/// # let shown = p.create("Shown", [("ad".to_owned(), 1_i64)]);
/// # let clicked = p.create("Clicked", [("ad".to_owned(), 2_i64)]);
/// // A click belongs to what was shown up to an hour before.
/// let within_an_hour = StreamJoin::left_outer().within(Duration::ZERO, Duration::from_hours(1));
/// let clicks: PCollection<(String, (i64, Option<i64>))> = (shown, clicked).apply("Clicks", within_an_hour);
/// # p.build().unwrap();
/// ```
/// # How long rows are kept
/// For ever, unless something says when no partner can come any more, and both sides have a watermark:
/// - [`within`](Self::within) a range of event time: a left row is kept until the watermark is past its time and the end
///   of the range, a right one until it is past its time less the beginning of the range;
/// - the event time [in the key](Self::event_time_in_key): until the watermark has come to it.
///
/// An outer row without a partner comes out when it is no longer kept, and not before. Rows of a side with a watermark
/// that are at or before it are late: they are dropped and counted, or [an output](super::AndLateRows).
///
/// # Event time of the result
/// A result has the timestamp of its left row, or where there is none, of the right one. Rows come out after their time,
/// so what follows a join sees a watermark that is as far behind as rows are kept. Joins and deduplications that follow
/// must be told which time they go by (`event_time`), since the result has two.
///
/// Source: Spark's stream-stream joins.
pub struct StreamJoin<K, L, R, S> {
    earliest: Option<Duration>,
    latest: Option<Duration>,
    condition: Option<Condition<L, R>>,
    in_key: Option<ReadTime<K>>,
    null: Option<NullKey<K>>,
    left: TimeOf<(K, L)>,
    right: TimeOf<(K, R)>,
    shape: PhantomData<fn() -> S>,
}

/// Whether a pair belongs together.
type Condition<L, R> = Arc<dyn Fn(&L, &R) -> bool + Send + Sync>;

/// Whether a key has no partners.
type NullKey<K> = Arc<dyn Fn(&K) -> bool + Send + Sync>;

/// A row of one of two sides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JoinSide<L, R> {
    /// Of the left side.
    Left(L),
    /// Of the right side.
    Right(R),
}

macro_rules! kinds {
    ($($shape:ident $name:ident $text:literal)*) => {
        $(
            impl<K: Key, L: Element, R: Element> StreamJoin<K, L, R, $shape> {
                #[doc = $text]
                pub fn $name() -> Self {
                    StreamJoin::new()
                }
            }
        )*
    };
}

kinds! {
    StreamInner inner "Only rows with a partner."
    StreamLeftOuter left_outer "All left rows."
    StreamRightOuter right_outer "All right rows."
    StreamFullOuter full_outer "All rows."
    StreamLeftSemi left_semi "Left rows with a partner, each once."
}

impl<K: Key, L: Element, R: Element, S> StreamJoin<K, L, R, S> {
    fn new() -> Self {
        StreamJoin {
            earliest: None,
            latest: None,
            condition: None,
            in_key: None,
            null: None,
            left: TimeOf::Timestamp,
            right: TimeOf::Timestamp,
            shape: PhantomData,
        }
    }

    /// A right row belongs to a left one only when its event time is at least `earliest` and at most `latest` after the
    /// left one's. Both may be below zero. Rows without an event time belong to none.
    #[must_use]
    pub fn within(self, earliest: Duration, latest: Duration) -> Self {
        self.not_before(earliest).not_after(latest)
    }

    /// A right row's event time is at least `earliest` after the left one's. By itself this says only how long right rows
    /// are kept.
    #[must_use]
    pub fn not_before(self, earliest: Duration) -> Self {
        StreamJoin { earliest: Some(earliest), ..self }
    }

    /// A right row's event time is at most `latest` after the left one's. By itself this says only how long left rows are
    /// kept.
    #[must_use]
    pub fn not_after(self, latest: Duration) -> Self {
        StreamJoin { latest: Some(latest), ..self }
    }

    /// Only pairs that `condition` says yes to.
    #[must_use]
    pub fn on(mut self, condition: impl Fn(&L, &R) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(Arc::new(condition));
        self
    }

    /// The event time of both sides is in the key, where `time` reads it; the end of a window that is in the key will do.
    #[must_use]
    pub fn event_time_in_key<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&K) -> M + Send + Sync + 'static,
    ) -> Self {
        self.in_key = Some(read_time(time));
        self
    }

    /// A key that `is_null` says yes to has no partners, not even of the same key.
    #[must_use]
    pub fn null_key(mut self, is_null: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self {
        self.null = Some(Arc::new(is_null));
        self
    }

    /// The event time of a left row is what `time` reads, and not its timestamp: see
    /// [`WindowedAggregate::event_time`](super::WindowedAggregate::event_time).
    #[must_use]
    pub fn left_event_time<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&(K, L)) -> M + Send + Sync + 'static,
    ) -> Self {
        self.left = TimeOf::Event(read_time(time));
        self
    }

    /// The event time of a right row is what `time` reads, and not its timestamp.
    #[must_use]
    pub fn right_event_time<M: Into<Option<Timestamp>>>(
        mut self,
        time: impl Fn(&(K, R)) -> M + Send + Sync + 'static,
    ) -> Self {
        self.right = TimeOf::Event(read_time(time));
        self
    }
}

/// What is joined.
type Sides<K, L, R> = (PCollection<(K, L)>, PCollection<(K, R)>);

impl<K: Key, L: Element, R: Element, S: Shape<K, L, R>> PTransform<Sides<K, L, R>>
    for StreamJoin<K, L, R, S>
{
    type Out = PCollection<S::Out>;

    #[track_caller]
    fn expand(self, sides: Sides<K, L, R>) -> Self::Out {
        self.expand_with_late(sides).0
    }
}

impl<K: Key, L: Element, R: Element, S: Shape<K, L, R>> LateRows<Sides<K, L, R>> for StreamJoin<K, L, R, S> {
    type Late = (K, JoinSide<L, R>);

    #[track_caller]
    fn expand_with_late(self, (left, right): Sides<K, L, R>) -> (Self::Out, PCollection<Self::Late>) {
        let StreamJoin {
            earliest, latest, condition, in_key, null, left: left_time, right: right_time, ..
        } = self;
        let pipeline = left.pipeline();
        if let (Some(earliest), Some(latest)) = (earliest, latest)
            && earliest > latest
        {
            pipeline.build_error(format!(
                "it joins rows whose times are at least {earliest} and at most {latest} apart, which none are; turn the \
                 two around"
            ));
        }
        let handle = Handle::new(pipeline);
        let rules = JoinRules {
            how: S::HOW,
            earliest,
            latest,
            event_time_in_key: in_key.is_some(),
            event_time_told: [left_time.is_told(), right_time.is_told()],
        };
        let lefts = timed(&left, "Left", left_time, JoinSide::Left);
        let rights = timed(&right, "Right", right_time, JoinSide::Right);
        let late = Pairs::<K, L, R, S>::late();
        let pairs = Pairs::<K, L, R, S>::new(Rules { rules, condition, in_key, null }, handle.clone());
        let joined =
            lefts.flatten_with("Both", [rights]).par_do_keyed_with("Pairs", KeyedParDo::of(pairs).tag(late));
        let main = joined.main();
        let inputs = vec![left.id(), right.id()];
        handle.declare(pipeline, OperatorKind::StreamJoin(rules), inputs, vec![main.id()]);
        (main, joined.tagged(late))
    }
}

/// The rows of one side, with their event times.
type Timed<K, L, R> = PCollection<(K, (Option<Timestamp>, JoinSide<L, R>))>;

#[track_caller]
fn timed<K: Key, V: Element, L: Element, R: Element>(
    rows: &PCollection<(K, V)>,
    name: &str,
    time: TimeOf<(K, V)>,
    side: fn(V) -> JoinSide<L, R>,
) -> Timed<K, L, R> {
    let timed = ParDo::from_fn(move |row: (K, V), cx: &ProcessContext<'_>, out: &mut Emitter<'_, _>| {
        let at = time.get(&row, cx.timestamp());
        out.emit((row.0, (at, side(row.1))));
        Ok(())
    });
    rows.par_do_with(name, timed).main()
}

impl<K, L, R, S> fmt::Debug for StreamJoin<K, L, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamJoin")
            .field("earliest", &self.earliest)
            .field("latest", &self.latest)
            .field("event_time_in_key", &self.in_key.is_some())
            .finish_non_exhaustive()
    }
}
