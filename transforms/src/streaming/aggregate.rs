//! Aggregations of a stream.

mod assign;
mod fold;
mod global;
mod per_key;
mod sessions;
mod windowed;

use purlin_sdk::{CombineFn, Duration, Element, Key, Timestamp};

use super::{TimeWindows, time_of::TimeOf};

pub use global::GlobalAggregate;
pub use per_key::PerKeyAggregate;
pub use sessions::SessionAggregate;
pub use windowed::WindowedAggregate;

/// Combines the rows of a stream per group, from epoch to epoch, by any [`CombineFn`].
///
/// | | takes | gives | final |
/// |---|---|---|---|
/// | [`windowed`](Self::windowed) | `(K, V)` | `((K, TimeWindow), O)` | when the watermark has come to the window's end |
/// | [`sessions`](Self::sessions) | `(K, V)` | `((K, TimeWindow), O)` | when the watermark has come to the session's end |
/// | [`per_key`](Self::per_key) | `(K, V)` | `(K, O)` | never, unless the key [holds the event time](PerKeyAggregate::event_time_in_key) |
/// | [`globally`](Self::globally) | `V` | `O` | never |
///
/// What an epoch shows of it depends on the query's output mode:
/// - **append**: each group once, when it is final. What is never final cannot be in this mode.
/// - **update**: groups that rows of the epoch belong to. Sessions cannot be in this mode.
/// - **complete**: all groups, of all time; then nothing is late, and nothing is forgotten.
///
/// A global aggregation shows its one row in every epoch, also in those without rows.
///
/// A row is late for a group that was final before the epoch before: it is dropped and counted, or
/// [an output](super::AndLateRows). Results have the last time of their window, or the key's event time less a
/// millisecond, as timestamp, so that an aggregation can follow an aggregation. Where the input has no watermark nothing
/// is ever final.
///
/// ```
/// # use purlin_sdk::{Duration, PCollection, Pipeline};
/// use purlin_transforms::{CountFn, streaming::{StreamAggregate, TimeWindow, TimeWindows}};
/// # let p = Pipeline::new();
/// # let clicks = p.create("Clicks", [("home".to_owned(), 1_i64)]);
/// let ten_minutes = TimeWindows::tumbling(Duration::from_minutes(10));
/// let counts: PCollection<((String, TimeWindow), u64)> =
///     clicks.apply("Count", StreamAggregate::windowed(ten_minutes, CountFn::new()));
/// # p.build().unwrap();
/// ```
/// Source: Spark's streaming aggregations.
#[derive(Clone, Copy, Debug)]
pub struct StreamAggregate;

impl StreamAggregate {
    /// Per key and window of the event time.
    pub fn windowed<K: Key, C: CombineFn>(windows: TimeWindows, combine: C) -> WindowedAggregate<K, C> {
        WindowedAggregate { windows, time: TimeOf::Timestamp, combine }
    }

    /// Per key and session: rows of a key that are not further apart than `gap`. A row opens a session from its time to
    /// `gap` later; sessions that overlap or touch are one.
    pub fn sessions<K: Key, C: CombineFn>(gap: Duration, combine: C) -> SessionAggregate<K, C> {
        SessionAggregate::new(std::sync::Arc::new(move |_| gap), Some(gap), combine)
    }

    /// Per key and session, with a gap that each row says itself. A row whose gap is not above zero is in no session,
    /// and dropped.
    pub fn sessions_by<K: Key, C: CombineFn>(
        gap: impl Fn(&(K, C::Input)) -> Duration + Send + Sync + 'static,
        combine: C,
    ) -> SessionAggregate<K, C> {
        SessionAggregate::new(std::sync::Arc::new(gap), None, combine)
    }

    /// Per key.
    pub fn per_key<K: Key, C: CombineFn>(combine: C) -> PerKeyAggregate<K, C> {
        PerKeyAggregate { combine, event_time: None }
    }

    /// All rows.
    pub fn globally<C: CombineFn>(combine: C) -> GlobalAggregate<C> {
        GlobalAggregate { combine }
    }
}

/// The end of the group's window.
fn end<K: Element>((_, window): &(K, super::TimeWindow)) -> Timestamp {
    window.end
}
