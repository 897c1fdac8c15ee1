//! Windows: how event time is cut up for grouping.
//!
//! A [`WindowFn`] puts each element into windows by its timestamp; grouping then happens per key *and window*. Windows
//! are half-open, `[start, end)`, and `max_timestamp = end - 1 ms`.
//!
//! Source: <https://beam.apache.org/documentation/programming-guide/#windowing>.

mod accumulation;
mod custom;
mod fixed;
mod global;
mod interval;
mod kind;
mod merged;
mod pane;
mod sessions;
mod sliding;
mod standard;
mod strategy;
mod timestamp_combiner;
mod trigger;
mod trigger_kind;
mod window_fn;

pub use accumulation::{AccumulationMode, ClosingBehavior, OnTimeBehavior, ValueKind};
pub use custom::CustomWindow;
pub use fixed::FixedWindows;
pub use global::GlobalWindows;
pub use interval::IntervalWindow;
pub use kind::Window;
pub(crate) use merged::check_merges;
pub use pane::{PaneInfo, PaneTiming};
pub use sessions::Sessions;
pub(crate) use sliding::Slice;
pub use sliding::SlidingWindows;
pub use standard::StandardWindows;
pub use strategy::WindowingStrategy;
pub use timestamp_combiner::TimestampCombiner;
pub(crate) use trigger::Node as TriggerNode;
pub use trigger::Trigger;
pub use trigger_kind::TriggerKind;
pub use window_fn::{AssignContext, MergedWindow, WindowFn, WindowFnSpec};
pub(crate) use window_fn::{check_assigned, check_output_time};
