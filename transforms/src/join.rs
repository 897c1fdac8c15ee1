//! Joins of two keyed collections.

use purlin_sdk::{
    CoGroupByKey, Element, Emitter, Grouped, Key, PCollection, PTransform, Result, window::AccumulationMode,
};

/// Joins two keyed collections: all pairs of a left and a right value that share key and window.
///
/// The four kinds differ in what becomes of a value without a partner on the other side:
///
/// | | a left value without partner | a right value without partner | gives |
/// |---|---|---|---|
/// | [`inner`](Join::inner) | left out | left out | `(K, (V, W))` |
/// | [`left_outer`](Join::left_outer) | with `None` | left out | `(K, (V, Option<W>))` |
/// | [`right_outer`](Join::right_outer) | left out | with `None` | `(K, (Option<V>, W))` |
/// | [`full_outer`](Join::full_outer) | with `None` | with `None` | `(K, (Option<V>, Option<W>))` |
///
/// ```
/// # use purlin_sdk::{Apply, PCollection, Pipeline};
/// use purlin_transforms::Join;
/// # let p = Pipeline::new();
/// let orders = p.create("Orders", [(1, "tea".to_owned()), (2, "milk".to_owned())]);
/// let payments = p.create("Payments", [(1, 350_i64)]);
/// let paid: PCollection<(i32, (String, i64))> =
///     (orders.clone(), payments.clone()).apply("Paid", Join::inner());
/// let all: PCollection<(i32, (String, Option<i64>))> = (orders, payments).apply("All", Join::left_outer());
/// # p.build().unwrap();
/// ```
/// Both must be in the same windows. The values of a key and window must fit into memory; the pairs that come of them
/// need not. A small collection that all of a large one looks up is cheaper as a side input
/// ([`view_as_multimap`](PCollection::view_as_multimap)).
///
/// # Several panes
///
/// A join is of what one pane has: it is emitted whenever the trigger fires for a key and window, of both sides together.
/// Where a window has several panes (its trigger fires early, or late data are allowed), they must **accumulate**: each pane
/// then has all pairs so far, and takes the place of the one before, also of its values without a partner. With panes that
/// discard, a value and its partner in different panes would never meet, and an outer join would say for good that there is
/// none: that is a build error. (Beam's join library joins such panes each for itself.)
///
/// ```
/// # use purlin_sdk::{Apply, Duration, PCollection, Pipeline, WindowInto, window::FixedWindows};
/// # use purlin_transforms::Join;
/// # let p = Pipeline::new();
/// # let orders = p.create("Orders", [(1, "tea".to_owned())]);
/// # let payments = p.create("Payments", [(1, 350_i64)]);
/// let hours = WindowInto::of(FixedWindows::of(Duration::from_hours(1)))
///     .allowed_lateness(Duration::from_hours(6))
///     .accumulating();
/// let orders = orders.window_into("OrderHours", hours.clone());
/// let payments = payments.window_into("PaymentHours", hours);
/// let so_far = (orders, payments).apply("SoFar", Join::left_outer());
/// # p.build().unwrap();
/// ```
/// Source: Beam's join library for Java.
#[derive(Clone, Copy, Debug)]
pub struct Join;

impl Join {
    /// Only values with a partner.
    pub fn inner() -> InnerJoin {
        InnerJoin
    }

    /// All left values.
    pub fn left_outer() -> LeftOuterJoin {
        LeftOuterJoin
    }

    /// All right values.
    pub fn right_outer() -> RightOuterJoin {
        RightOuterJoin
    }

    /// All values.
    pub fn full_outer() -> FullOuterJoin {
        FullOuterJoin
    }
}

/// See [`Join::inner`].
#[derive(Clone, Copy, Debug)]
pub struct InnerJoin;

/// See [`Join::left_outer`].
#[derive(Clone, Copy, Debug)]
pub struct LeftOuterJoin;

/// See [`Join::right_outer`].
#[derive(Clone, Copy, Debug)]
pub struct RightOuterJoin;

/// See [`Join::full_outer`].
#[derive(Clone, Copy, Debug)]
pub struct FullOuterJoin;

/// What is joined.
type Sides<K, V, W> = (PCollection<(K, V)>, PCollection<(K, W)>);

/// Emits all pairs of the two lists of each key, having made of each list what `left` and `right` make of it.
#[track_caller]
fn pairs<K: Key, V: Element, W: Element, A: Element, B: Element>(
    inputs: Sides<K, V, W>,
    left: fn(Grouped<V>) -> Vec<A>,
    right: fn(Grouped<W>) -> Vec<B>,
) -> PCollection<(K, (A, B))> {
    // They are grouped under the left one's windowing.
    let windowing = inputs.0.windowing();
    if windowing.may_have_several_panes() && windowing.accumulation == AccumulationMode::Discarding {
        inputs.0.pipeline().build_error(
            "it joins windows that may have several panes, which discard: a value and its partner in different panes would \
             never meet, and an outer join would say that there is none. Three ways out: `.accumulating()` where its \
             collections are windowed, or before it, by `WindowInto::same().accumulating()`, so that each pane has all pairs \
             so far; no allowed lateness and no early firings, so that there is one pane; or `CoGroupByKey`, which gives what \
             each pane has, and a DoFn that knows what to make of it",
        );
    }
    let grouped = CoGroupByKey.expand(inputs);
    // Emitted one by one: the pairs of a hot key are too many to gather.
    grouped.flat_map_cx("Pairs", move |(key, (vs, ws)), _, out: &mut Emitter<'_, (K, (A, B))>| -> Result {
        let ws = right(ws);
        for v in left(vs) {
            for w in &ws {
                out.emit((key.clone(), (v.clone(), w.clone())));
            }
        }
        Ok(())
    })
}

/// One `None` for an empty list.
fn optional<T: Element>(group: Grouped<T>) -> Vec<Option<T>> {
    if group.is_empty() { vec![None] } else { group.into_iter().map(Some).collect() }
}

impl<K: Key, V: Element, W: Element> PTransform<Sides<K, V, W>> for InnerJoin {
    type Out = PCollection<(K, (V, W))>;

    #[track_caller]
    fn expand(self, inputs: Sides<K, V, W>) -> Self::Out {
        pairs(inputs, Grouped::into_vec, Grouped::into_vec)
    }
}

impl<K: Key, V: Element, W: Element> PTransform<Sides<K, V, W>> for LeftOuterJoin {
    type Out = PCollection<(K, (V, Option<W>))>;

    #[track_caller]
    fn expand(self, inputs: Sides<K, V, W>) -> Self::Out {
        pairs(inputs, Grouped::into_vec, optional)
    }
}

impl<K: Key, V: Element, W: Element> PTransform<Sides<K, V, W>> for RightOuterJoin {
    type Out = PCollection<(K, (Option<V>, W))>;

    #[track_caller]
    fn expand(self, inputs: Sides<K, V, W>) -> Self::Out {
        pairs(inputs, optional, Grouped::into_vec)
    }
}

impl<K: Key, V: Element, W: Element> PTransform<Sides<K, V, W>> for FullOuterJoin {
    type Out = PCollection<(K, (Option<V>, Option<W>))>;

    #[track_caller]
    fn expand(self, inputs: Sides<K, V, W>) -> Self::Out {
        pairs(inputs, optional, optional)
    }
}
