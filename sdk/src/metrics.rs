//! Counters, distributions, gauges, string sets and bounded tries of user code, how many elements went through each
//! transform, and what a run made of them.
//!
//! A metric is named by the transform's path and its own name. Updates of a bundle are added when it commits; those of
//! bundles that failed count as attempted only.

mod bounded_trie;
mod bundle;
mod elements;
mod result;
mod string_set;

pub use bounded_trie::BoundedTrieValue;
pub use bundle::{BoundedTrie, BundleMetrics, Counter, Distribution, Gauge, StringSet};
pub use elements::ElementCounts;
pub use result::{DistributionValue, GaugeValue, MetricValue, Metrics, MetricsSnapshot};
pub use string_set::StringSetValue;

pub(crate) use elements::BundleCounts;

/// Counts elements that went into a transform, for every transform without being asked for. Those of a bundle that is
/// tried again are committed once.
pub const ELEMENTS_IN: &str = "elements_in";

/// Counts elements that came out of a transform, at all of its outputs together.
pub const ELEMENTS_OUT: &str = "elements_out";

/// Counts elements that came too late for their window and were dropped, on each grouping and keyed DoFn.
pub const DROPPED_DUE_TO_LATENESS: &str = "dropped_due_to_lateness";

/// Counts elements that came too late and were not dropped, but came out where the pipeline asked for them: at the late
/// output of a [`GroupByKey`](crate::GroupByKey::with_late_data) or [`KeyedParDo`](crate::KeyedParDo::late_data).
pub const LATE_DATA_OUTPUT: &str = "late_data_output";

/// Counts elements for a window that its trigger had closed, on each grouping.
pub const DROPPED_DUE_TO_CLOSED_WINDOW: &str = "dropped_due_to_closed_window";

/// Counts elements that a window function put into no window.
pub const ELEMENTS_IN_NO_WINDOW: &str = "elements_in_no_window";
