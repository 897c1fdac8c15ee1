//! Rows that came too late, as an output.

use purlin_sdk::{PCollection, PTransform};

/// An operator that can give its late rows. Implemented by the operators of this module.
pub trait LateRows<In>: PTransform<In> + Sized {
    /// A late row.
    type Late;

    /// Applies it.
    fn expand_with_late(self, input: In) -> (Self::Out, PCollection<Self::Late>);
}

/// The operator with a second output, of rows that came too late for all that they belong to: see
/// [`and_late_rows`](crate::streaming::AndLateRows).
///
/// ```
/// # use purlin_sdk::{Duration, Pipeline, Timestamp};
/// use purlin_transforms::{CountFn, streaming::{StreamAggregate, TimeWindows, AndLateRows}};
/// # let p = Pipeline::new();
/// # let clicks = p.create("Clicks", [("home".to_owned(), 1_i64)]);
/// let minutes = TimeWindows::tumbling(Duration::from_minutes(1));
/// let (counts, late) = clicks.apply("Count", AndLateRows(StreamAggregate::windowed(minutes, CountFn::new())));
/// # p.build().unwrap();
/// ```
/// They are counted in any case, as [`ROWS_DROPPED_BY_WATERMARK`](super::ROWS_DROPPED_BY_WATERMARK).
#[derive(Clone, Copy, Debug)]
pub struct AndLateRows<X>(pub X);

impl<In, X: LateRows<In>> PTransform<In> for AndLateRows<X> {
    type Out = (X::Out, PCollection<X::Late>);

    #[track_caller]
    fn expand(self, input: In) -> Self::Out {
        self.0.expand_with_late(input)
    }
}
