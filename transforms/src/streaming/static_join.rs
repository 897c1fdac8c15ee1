//! A stream joined with a table.

use std::fmt;

use purlin_sdk::{Element, Emitter, Key, PCollection, PTransform, ParDo, ProcessContext};

use super::{OperatorKind, operators::Handle};

/// Joins each row of a stream with the rows of its key in a table that does not change while the query runs.
///
/// | | a row without partner | gives |
/// |---|---|---|
/// | [`inner`](StaticJoin::inner) | left out | `(K, (L, R))` |
/// | [`outer`](StaticJoin::outer) | with `None` | `(K, (L, Option<R>))` |
/// | [`semi`](StaticJoin::semi) | left out | `(K, L)`, once |
/// | [`anti`](StaticJoin::anti) | by itself; those with a partner are left out | `(K, L)` |
///
/// There is none that gives the rows of the table that have no partner: the stream may bring one yet.
///
/// ```
/// # use purlin_sdk::{PCollection, Pipeline};
/// use purlin_transforms::streaming::StaticJoin;
/// # let p = Pipeline::new();
/// # let clicks = p.create("Clicks", [(7_u64, "home".to_owned())]);
/// let users = p.create("Users", [(7_u64, "Ada".to_owned())]);
/// let named: PCollection<(u64, (String, Option<String>))> = clicks.apply("Name", StaticJoin::outer(&users));
/// # p.build().unwrap();
/// ```
/// The table must fit into memory. It keeps no state, and is legal in append and update mode.
///
/// Source: Spark's stream-static joins.
pub struct StaticJoin<K, R, S> {
    table: PCollection<(K, R)>,
    shape: S,
}

/// See [`StaticJoin::inner`].
#[derive(Clone, Copy, Debug)]
pub struct StaticInner;

/// See [`StaticJoin::outer`].
#[derive(Clone, Copy, Debug)]
pub struct StaticOuter;

/// See [`StaticJoin::semi`] and [`StaticJoin::anti`].
#[derive(Clone, Copy, Debug)]
pub struct StaticFilter {
    with_partner: bool,
}

impl<K: Key, R: Element> StaticJoin<K, R, StaticInner> {
    /// Rows with a partner.
    pub fn inner(table: &PCollection<(K, R)>) -> Self {
        StaticJoin { table: table.clone(), shape: StaticInner }
    }
}

impl<K: Key, R: Element> StaticJoin<K, R, StaticOuter> {
    /// All rows of the stream.
    pub fn outer(table: &PCollection<(K, R)>) -> Self {
        StaticJoin { table: table.clone(), shape: StaticOuter }
    }
}

impl<K: Key, R: Element> StaticJoin<K, R, StaticFilter> {
    /// Rows of the stream that have a partner.
    pub fn semi(table: &PCollection<(K, R)>) -> Self {
        StaticJoin { table: table.clone(), shape: StaticFilter { with_partner: true } }
    }

    /// Rows of the stream that have none.
    pub fn anti(table: &PCollection<(K, R)>) -> Self {
        StaticJoin { table: table.clone(), shape: StaticFilter { with_partner: false } }
    }
}

impl<K: Key, R: Element, S> StaticJoin<K, R, S> {
    /// Emits what `each` makes of a row and its partners.
    #[track_caller]
    fn look_up<L: Element, O: Element>(
        &self,
        rows: &PCollection<(K, L)>,
        each: impl Fn(K, L, &[R], &mut Emitter<'_, O>) + Clone + Send + 'static,
    ) -> PCollection<O> {
        let pipeline = rows.pipeline();
        if !self.table.is_bounded() {
            pipeline.build_error(
                "the table that a stream is joined with is a stream itself; use `StreamJoin` for two streams",
            );
        }
        let view = self.table.view_as_multimap("Table");
        let handle = Handle::new(pipeline);
        let side = view.clone();
        let look_up =
            ParDo::from_fn(move |(key, row): (K, L), cx: &ProcessContext<'_>, out: &mut Emitter<'_, O>| {
                let table = cx.side(&side)?;
                let partners = table.get(&key);
                each(key, row, partners, out);
                Ok(())
            });
        let out = rows.par_do_with("LookUp", look_up.side(&view)).main();
        handle.declare(pipeline, OperatorKind::StaticJoin, vec![rows.id()], vec![out.id()]);
        out
    }
}

impl<K: Key, L: Element, R: Element> PTransform<PCollection<(K, L)>> for StaticJoin<K, R, StaticInner> {
    type Out = PCollection<(K, (L, R))>;

    #[track_caller]
    fn expand(self, rows: PCollection<(K, L)>) -> Self::Out {
        self.look_up(&rows, |key, row, partners, out| {
            for partner in partners {
                out.emit((key.clone(), (row.clone(), partner.clone())));
            }
        })
    }
}

impl<K: Key, L: Element, R: Element> PTransform<PCollection<(K, L)>> for StaticJoin<K, R, StaticOuter> {
    type Out = PCollection<(K, (L, Option<R>))>;

    #[track_caller]
    fn expand(self, rows: PCollection<(K, L)>) -> Self::Out {
        self.look_up(&rows, |key, row, partners, out| {
            for partner in partners {
                out.emit((key.clone(), (row.clone(), Some(partner.clone()))));
            }
            if partners.is_empty() {
                out.emit((key, (row, None)));
            }
        })
    }
}

impl<K: Key, L: Element, R: Element> PTransform<PCollection<(K, L)>> for StaticJoin<K, R, StaticFilter> {
    type Out = PCollection<(K, L)>;

    #[track_caller]
    fn expand(self, rows: PCollection<(K, L)>) -> Self::Out {
        let with_partner = self.shape.with_partner;
        self.look_up(&rows, move |key, row, partners, out| {
            if partners.is_empty() != with_partner {
                out.emit((key, row));
            }
        })
    }
}

impl<K, R, S: fmt::Debug> fmt::Debug for StaticJoin<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticJoin").field("shape", &self.shape).finish_non_exhaustive()
    }
}
